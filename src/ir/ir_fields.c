/* What derives from the list of an instruction's fields, spec/ir_fields.def. */
#include "ir/ir.h"

#include <assert.h>
#include "ir/ir_ext.h"

/* ---- words */

struct ir_words {
#define WORD(type, name) type name;
#include "ir_fields.def"
};
_Static_assert(sizeof(struct ir_words) == 8, "generated code hands the words over in one register");

uint64_t ir_instr_words(const struct ir_instr *instr)
{
    struct ir_words words = {0};
    uint64_t bits;

#define WORD(type, name) words.name = instr->name;
#include "ir_fields.def"
    memcpy(&bits, &words, sizeof(bits));
    return bits;
}

void ir_instr_set_words(struct ir_instr *instr, uint64_t bits)
{
    struct ir_words words;

    memcpy(&words, &bits, sizeof(words));
#define WORD(type, name) instr->name = words.name;
#include "ir_fields.def"
}

/* ---- equality */

static bool ext_same(const struct ir_instr *a, const struct ir_instr *b)
{
    if (a->ext == b->ext)
        return true;
    if (!a->ext || !b->ext || a->op != b->op)
        return false;
    switch (a->op) {
#define X(op_, name, type)                                                                         \
    case IR_OP_##op_:                                                                              \
        return ir_ext_same_##name(a->ext, b->ext);
#include "ir_ext.def"
#undef X
    default:
        return false;
    }
}

bool ir_instr_same(const struct ir_instr *a, const struct ir_instr *b)
{
#define MEANS(type, name, path) &&a->path == b->path
    return ext_same(a, b)
#include "ir_fields.def"
        ;
}

static uint64_t mix(uint64_t hash, uint64_t bits)
{
    hash = (hash ^ bits) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

uint64_t ir_instr_hash(const struct ir_instr *instr)
{
    uint64_t hash = instr->ext != NULL;

#define MEANS(type, name, path) hash = mix(hash, (uint64_t)(uintptr_t)instr->path);
#include "ir_fields.def"
    return hash;
}

/* ---- copying and clearing */

void ir_instr_copy_fields(struct ir_instr *to, const struct ir_instr *from)
{
    assert(to != from);
#define X(type, name, path) to->path = from->path;
#include "ir_fields.def"
}

void ir_instr_become(struct ir_instr *instr, enum ir_op op, enum ir_type type)
{
#define MEANS(type_, name, path) instr->path = (type_)0;
#include "ir_fields.def"
    instr->ext = NULL;
    instr->op = op;
    instr->type = type;
}
