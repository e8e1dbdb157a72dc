/* Reader of the text form: blocks and instructions. */
#include "ir/ir_read.h"

#include <assert.h>
#include <ctype.h>

#include "base/mem.h"
#include "ir/ir_ext.h"
#include "ir/ir_names.h"

static enum hd_status body_no_memory(const struct ir_reader *r)
{
    return hd_error(HD_NO_MEMORY, "%s:%u: no memory for IR", r->name, r->lex.line);
}

/* ---- blocks */

static bool body_block_number(struct hd_str text, uint64_t *out)
{
    struct hd_str digits = {text.ptr + 2, text.len - 2};

    return text.len > 2 && hd_str_starts(text, "bb") && hd_str_to_u64(digits, 10, out);
}

/* The block named by the current word, made on first mention. */
static enum hd_status read_block_ref(struct ir_reader *r, struct ir_block **out)
{
    uint64_t id;

    if (r->lex.kind != IR_TOK_WORD || !body_block_number(r->lex.text, &id) ||
        id > (uint64_t)(r->lex.end - r->lex.at) + r->blocks.len + 4096)
        return ir_read_error(r, "a block");
    ir_lex_next(&r->lex);
    while (r->blocks.len <= id)
        if (!hd_vec_push(&r->blocks, (struct ir_block *)NULL))
            return body_no_memory(r);
    if (!r->blocks.at[id])
        r->blocks.at[id] = ir_block_create(r->func);
    *out = r->blocks.at[id];
    return HD_OK;
}

static enum hd_status read_label(struct ir_reader *r)
{
    struct ir_block *block;

    HD_TRY(read_block_ref(r, &block));
    HD_TRY(ir_read_punct(r, ':'));
    if (block->first || r->block == block)
        return ir_read_error(r, "a new block");
    if (!hd_vec_push(&r->order, block))
        return body_no_memory(r);
    r->block = block;
    return HD_OK;
}

/* ---- the dotted word of an operation */

/* Splits off the part before the first dot. */
static struct hd_str body_word_cut(struct hd_str *rest)
{
    const char *dot = memchr(rest->ptr, '.', rest->len);
    struct hd_str head = {rest->ptr, dot ? (size_t)(dot - rest->ptr) : rest->len};

    rest->ptr += head.len + (dot != NULL);
    rest->len -= head.len + (dot != NULL);
    return head;
}

/* The longest operation name that the word starts with. */
static bool body_op_lookup(struct hd_str word, enum ir_op *out_op, struct hd_str *out_rest)
{
    size_t best = 0;

    for (unsigned op = 0; op < IR_OP_COUNT; op++) {
        const char *name = ir_op_infos[op].name;
        size_t len = strlen(name);
        if (len <= best || !hd_str_starts(word, name) || (word.len > len && word.ptr[len] != '.'))
            continue;
        best = len;
        *out_op = (enum ir_op)op;
    }
    *out_rest = (struct hd_str){word.ptr + best, word.len - best};
    if (best && out_rest->len) {
        out_rest->ptr++;
        out_rest->len--;
    }
    return best != 0;
}

/* ---- take_FIELD() for every field of group WORD or MEMWORD: is the word its value? */

static bool take_type(struct ir_instr *instr, struct hd_str word)
{
    for (unsigned t = 1; instr->type == IR_VOID && t < IR_TYPE_COUNT; t++) {
        if (!hd_str_is(word, ir_type_name((enum ir_type)t)))
            continue;
        instr->type = (enum ir_type)t;
        return true;
    }
    return false;
}

static bool take_type2(struct ir_instr *instr, struct hd_str word)
{
    for (unsigned t = 1; instr->type2 == IR_VOID && t < IR_TYPE_COUNT; t++) {
        if (!hd_str_is(word, ir_type_name((enum ir_type)t)))
            continue;
        instr->type2 = (enum ir_type)t;
        return true;
    }
    return false;
}

static bool take_rnd(struct ir_instr *instr, struct hd_str word)
{
    int i = ir_read_lookup(word, ir_rnd_names, IR_RND_COUNT_);

    if (i >= 0)
        instr->rnd = (enum ir_rnd)i;
    return i >= 0;
}

static bool take_cmp(struct ir_instr *instr, struct hd_str word)
{
    int i = ir_op_has(instr->op, IR_F_CMP) ? ir_read_lookup(word, ir_cmp_names, IR_CMP_COUNT_) : -1;

    if (i >= 0)
        instr->cmp = (enum ir_cmp)i;
    return i >= 0;
}

static bool take_mods(struct ir_instr *instr, struct hd_str word)
{
    int i = ir_read_lookup(word, ir_mod_names, IR_MOD_COUNT);

    if (i >= 0)
        instr->mods |= 1u << i;
    return i >= 0;
}

static bool take_space(struct ir_instr *instr, struct hd_str word)
{
    int i = ir_op_has(instr->op, IR_F_SPACE) ? ir_read_lookup(word, ir_space_names, IR_SPACE_COUNT_)
                                             : -1;

    if (i >= 0)
        instr->mem.space = (enum ir_space)i;
    return i >= 0;
}

static bool take_atom(struct ir_instr *instr, struct hd_str word)
{
    int i = ir_op_combines(instr->op) ? ir_read_lookup(word, ir_atom_names, IR_ATOM_COUNT_) : -1;

    if (i >= 0)
        instr->mem.atom = (enum ir_atom)i;
    return i >= 0;
}

static bool take_sem(struct ir_instr *instr, struct hd_str word)
{
    int i = ir_read_lookup(word, ir_sem_names, IR_SEM_COUNT_);

    if (i >= 0)
        instr->mem.sem = (enum ir_sem)i;
    return i >= 0;
}

static bool take_scope(struct ir_instr *instr, struct hd_str word)
{
    int i = ir_read_lookup(word, ir_scope_names, IR_SCOPE_COUNT_);

    if (i >= 0)
        instr->mem.scope = (enum ir_scope)i;
    return i >= 0;
}

static bool take_cache(struct ir_instr *instr, struct hd_str word)
{
    int i = ir_read_lookup(word, ir_cache_names, IR_CACHE_COUNT_);

    if (i >= 0)
        instr->mem.cache = (enum ir_cache)i;
    return i >= 0;
}

static bool take_vec(struct ir_instr *instr, struct hd_str word)
{
    if (word.len != 2 || word.ptr[0] != 'v' || word.ptr[1] < '2' || word.ptr[1] > '8')
        return false;
    instr->mem.vec = (uint8_t)(word.ptr[1] - '0');
    return true;
}

/* The variant of the operation that imm stands for. */
static bool take_variant(struct ir_instr *instr, struct hd_str word)
{
    const char *const *names;
    size_t count = ir_imm_names(instr->op, &names);
    int i = count ? ir_read_lookup(word, names, count) : -1;

    if (i >= 0)
        instr->imm = (uint64_t)i;
    return i >= 0;
}

static bool take_word(struct ir_instr *instr, struct hd_str word)
{
    return take_variant(instr, word)
#define WORD(type, name)    || take_##name(instr, word)
#define MEMWORD(type, name) || take_##name(instr, word)
#include "ir_fields.def"
        ;
}

static enum hd_status read_op(struct ir_reader *r, struct ir_instr *instr)
{
    struct hd_str rest;

    if (r->lex.kind != IR_TOK_WORD || !body_op_lookup(r->lex.text, &instr->op, &rest))
        return ir_read_error(r, "an operation");
    while (rest.len)
        if (!take_word(instr, body_word_cut(&rest)))
            return ir_read_error(r, "other modifiers");
    ir_lex_next(&r->lex);
    return HD_OK;
}

/* ---- operands */

struct operands {
    HD_VEC(struct ir_value *) src;
    HD_VEC(struct ir_value *) dst;
    HD_VEC(struct ir_block *) succs;
    HD_VEC(struct ir_block *) from; /* phi */
};

static void body_operands_fini(struct operands *o)
{
    hd_vec_fini(&o->src);
    hd_vec_fini(&o->dst);
    hd_vec_fini(&o->succs);
    hd_vec_fini(&o->from);
}

static enum hd_status read_results(struct ir_reader *r, struct operands *o)
{
    while (r->lex.kind == IR_TOK_VALUE) {
        struct ir_value *value;
        HD_TRY(ir_read_value(r, &value));
        HD_TRY(ir_read_punct(r, ':'));
        if (value->type != IR_VOID)
            return ir_read_error(r, "a value that is not defined yet");
        HD_TRY(ir_read_type(r, &value->type));
        if (!hd_vec_push(&o->dst, value))
            return body_no_memory(r);
        if (!ir_lex_is(&r->lex, ','))
            return ir_read_punct(r, '=');
        ir_lex_next(&r->lex);
    }
    return HD_OK;
}

static enum hd_status address_offset(struct ir_reader *r, struct ir_instr *instr)
{
    return ir_read_offset(r, &instr->mem.offset);
}

/* "[%5+16]" or "[bb1: %3]" */
static enum hd_status read_bracket(struct ir_reader *r, struct ir_instr *instr, struct operands *o)
{
    struct ir_block *from;
    struct ir_value *value;

    ir_lex_next(&r->lex);
    if (instr->op == IR_OP_PHI) {
        HD_TRY(read_block_ref(r, &from));
        HD_TRY(ir_read_punct(r, ':'));
        if (!hd_vec_push(&o->from, from))
            return body_no_memory(r);
    }
    HD_TRY(ir_read_value(r, &value));
    if (!hd_vec_push(&o->src, value))
        return body_no_memory(r);
    if (instr->op != IR_OP_PHI) {
#define ADDRESS(type, name) HD_TRY(address_##name(r, instr));
#include "ir_fields.def"
    }
    return ir_read_punct(r, ']');
}

/*
 * ---- operand_FIELD() for every field of group REF, EXT or OPERAND: reads it when the current
 * token is its beginning, else leaves *taken false.
 */

static enum hd_status body_fixup_instr(struct ir_reader *r, struct ir_instr *instr)
{
    struct ir_fixup fixup = {.instr = instr, .line = r->lex.line};

    HD_TRY(ir_read_name(r, IR_TOK_SYMBOL, &fixup.name));
    return hd_vec_push(&r->fixups, fixup) ? HD_OK : body_no_memory(r);
}

static enum hd_status read_local_var(struct ir_reader *r, struct ir_instr *instr)
{
    struct ir_var *var = r->func->vars;
    uint64_t index;

    if (!hd_str_to_u64(r->lex.text, 10, &index))
        return ir_read_error(r, "the number of a variable");
    while (var && index--)
        var = var->next;
    if (!var)
        return ir_read_error(r, "the number of a variable");
    instr->var = var;
    ir_lex_next(&r->lex);
    return HD_OK;
}

static enum hd_status operand_var(struct ir_reader *r, struct ir_instr *instr, bool *taken)
{
    if (r->lex.kind == IR_TOK_LOCAL) {
        *taken = true;
        return read_local_var(r, instr);
    }
    if (r->lex.kind != IR_TOK_SYMBOL || instr->op != IR_OP_VARADDR)
        return HD_OK;
    *taken = true;
    return body_fixup_instr(r, instr);
}

static enum hd_status operand_callee(struct ir_reader *r, struct ir_instr *instr, bool *taken)
{
    if (r->lex.kind != IR_TOK_SYMBOL || instr->op == IR_OP_VARADDR)
        return HD_OK;
    *taken = true;
    return body_fixup_instr(r, instr);
}

static enum hd_status operand_ext(struct ir_reader *r, struct ir_instr *instr, bool *taken)
{
    if (!ir_lex_is(&r->lex, '('))
        return HD_OK;
    *taken = true;
    switch (instr->op) {
#define X(op_, name, type)                                                                         \
    case IR_OP_##op_:                                                                              \
        return ir_ext_read_##name(r, instr);
#include "ir_ext.def"
#undef X
    default:
        return ir_read_error(r, "an operand");
    }
}

/* NAME=NUMBER */
static enum hd_status read_named(struct ir_reader *r, const char *name, uint64_t *out, bool *taken)
{
    if (!ir_lex_is_word(&r->lex, name))
        return HD_OK;
    *taken = true;
    ir_lex_next(&r->lex);
    HD_TRY(ir_read_punct(r, '='));
    return ir_read_u64(r, out);
}

static enum hd_status operand_imm(struct ir_reader *r, struct ir_instr *instr, bool *taken)
{
    const char *const *names;
    size_t count = ir_imm_names(IR_OP_SREG, &names);
    int i;

    if (instr->op == IR_OP_SREG) {
        i = r->lex.kind == IR_TOK_WORD ? ir_read_lookup(r->lex.text, names, count) : -1;
        if (i < 0)
            return ir_read_error(r, "a special register");
        *taken = true;
        instr->imm = (uint64_t)i;
        ir_lex_next(&r->lex);
        return HD_OK;
    }
    if (instr->op != IR_OP_CONST || r->lex.kind != IR_TOK_WORD || !isdigit(*r->lex.text.ptr))
        return read_named(r, "imm", &instr->imm, taken);
    *taken = true;
    return ir_read_u64(r, &instr->imm);
}

static enum hd_status operand_imm_hi(struct ir_reader *r, struct ir_instr *instr, bool *taken)
{
    return read_named(r, "hi", &instr->imm_hi, taken);
}

static enum hd_status read_field(struct ir_reader *r, struct ir_instr *instr)
{
    bool taken = false;

#define TRY(name)                                                                                  \
    if (!taken)                                                                                    \
        HD_TRY(operand_##name(r, instr, &taken));
#define REF(type, name)     TRY(name)
#define EXT(type, name)     TRY(name)
#define OPERAND(type, name) TRY(name)
#include "ir_fields.def"
#undef TRY
    return taken ? HD_OK : ir_read_error(r, "an operand");
}

static enum hd_status read_operand(struct ir_reader *r, struct ir_instr *instr, struct operands *o)
{
    struct ir_value *value;
    struct ir_block *succ;
    uint64_t id;

    if (r->lex.kind == IR_TOK_VALUE) {
        HD_TRY(ir_read_value(r, &value));
        return hd_vec_push(&o->src, value) ? HD_OK : body_no_memory(r);
    }
    if (ir_lex_is(&r->lex, '['))
        return read_bracket(r, instr, o);
    if (r->lex.kind == IR_TOK_WORD && body_block_number(r->lex.text, &id)) {
        HD_TRY(read_block_ref(r, &succ));
        return hd_vec_push(&o->succs, succ) ? HD_OK : body_no_memory(r);
    }
    return read_field(r, instr);
}

/* ---- srcloc_FIELD() for every field of group SRCLOC */

static enum hd_status srcloc_file(struct ir_reader *r, struct ir_srcloc *srcloc)
{
    return ir_read_u32(r, &srcloc->file);
}

static enum hd_status srcloc_line(struct ir_reader *r, struct ir_srcloc *srcloc)
{
    HD_TRY(ir_read_punct(r, ':'));
    return ir_read_u32(r, &srcloc->line);
}

static enum hd_status srcloc_col(struct ir_reader *r, struct ir_srcloc *srcloc)
{
    if (!ir_lex_is(&r->lex, ':'))
        return HD_OK;
    ir_lex_next(&r->lex);
    return ir_read_u32(r, &srcloc->col);
}

/* Calls are listed before the functions, callers first. */
static enum hd_status srcloc_inlined(struct ir_reader *r, struct ir_srcloc *srcloc)
{
    uint64_t index;

    if (r->lex.kind != IR_TOK_SYMBOL || r->lex.line_start)
        return HD_OK;
    if (!hd_str_to_u64(r->lex.text, 10, &index) || !index || index > r->module->inlines.len)
        return ir_read_error(r, "the number of an inlined call");
    srcloc->inlined = (uint32_t)index;
    ir_lex_next(&r->lex);
    return HD_OK;
}

enum hd_status ir_read_srcloc(struct ir_reader *r, struct ir_srcloc *srcloc)
{
    HD_TRY(ir_read_punct(r, '!'));
#define SRCLOC(type, name) HD_TRY(srcloc_##name(r, srcloc));
#include "ir_fields.def"
    return HD_OK;
}

static enum hd_status read_operands(struct ir_reader *r, struct ir_instr *instr, struct operands *o)
{
    bool any = false;

    while (!r->lex.line_start && r->lex.kind != IR_TOK_END) {
        if (ir_lex_is(&r->lex, '!'))
            return ir_read_srcloc(r, &instr->srcloc);
        if (any)
            HD_TRY(ir_read_punct(r, ','));
        HD_TRY(read_operand(r, instr, o));
        any = true;
    }
    return HD_OK;
}

/* The first phi of a block tells the order of its operands; link_cfg puts them into canonical
 * order. */
static enum hd_status take_phi_order(struct ir_reader *r, struct operands *o)
{
    struct ir_block *block = r->block;

    if (!block->preds) {
        block->preds = hd_arena_array(&r->module->arena, struct ir_block *, o->from.len + 1);
        if (!block->preds)
            return body_no_memory(r);
        block->npreds = (uint32_t)o->from.len;
        if (o->from.len)
            memcpy(block->preds, o->from.at, o->from.len * sizeof(*o->from.at));
    }
    if (o->from.len != block->npreds || o->from.len != o->src.len ||
        (o->from.len && memcmp(block->preds, o->from.at, o->from.len * sizeof(*o->from.at)) != 0))
        return ir_read_error(r, "phi operands in the order of the block's first phi");
    return HD_OK;
}

static enum hd_status body_finish_instr(struct ir_reader *r, const struct ir_instr *fields,
                                        struct ir_instr *instr, struct operands *o)
{
    struct hd_arena *arena = &r->module->arena;

    assert(!fields->src && !fields->dst && !fields->block);
    *instr = *fields;
    instr->src = hd_arena_array(arena, struct ir_value *, o->src.len + 1);
    instr->dst = hd_arena_array(arena, struct ir_value *, o->dst.len + 1);
    if (!instr->src || !instr->dst)
        return body_no_memory(r);
    instr->nsrc = (uint32_t)o->src.len;
    instr->ndst = (uint32_t)o->dst.len;
    for (uint32_t i = 0; i < instr->nsrc; i++)
        instr->src[i] = o->src.at[i];
    for (uint32_t i = 0; i < instr->ndst; i++) {
        instr->dst[i] = o->dst.at[i];
        instr->dst[i]->instr = instr;
        instr->dst[i]->index = i;
    }
    if (instr->op == IR_OP_PHI)
        HD_TRY(take_phi_order(r, o));
    ir_instr_append(r->block, instr);
    if (o->succs.len)
        ir_block_set_succs(r->block, (uint32_t)o->succs.len, o->succs.at);
    return HD_OK;
}

static enum hd_status read_instr(struct ir_reader *r)
{
    /* Fix-ups point at the instruction, so it has its final address from the start. */
    struct ir_instr *instr = hd_arena_new(&r->module->arena, struct ir_instr);
    struct operands o = {0};
    enum hd_status status = read_results(r, &o);

    if (status == HD_OK)
        status = read_op(r, instr);
    if (status == HD_OK)
        status = read_operands(r, instr, &o);
    if (status == HD_OK) {
        struct ir_instr fields = *instr;
        status = body_finish_instr(r, &fields, instr, &o);
    }
    body_operands_fini(&o);
    return status;
}

/* Blocks take the order of their labels; every block that is named must be there. */
static enum hd_status body_finish_blocks(struct ir_reader *r)
{
    struct ir_func *func = r->func;

    if (r->order.len != func->nblocks)
        return hd_error(HD_BAD_IR, "%s:%u: %s names blocks that are not there", r->name,
                        r->lex.line, func->name);
    for (uint32_t i = 0; i < func->nblocks; i++)
        func->blocks[i] = r->order.at[i];
    for (uint32_t i = 0; i < func->nblocks; i++) {
        struct ir_block *block = func->blocks[i];
        block->id = i;
        if (!block->last)
            return hd_error(HD_BAD_IR, "%s:%u: %s has an empty block", r->name, r->lex.line,
                            func->name);
    }
    func->nvalues = (uint32_t)r->values.len;
    ir_func_link_cfg(func);
    return hd_arena_status(&r->module->arena);
}

enum hd_status ir_read_body(struct ir_reader *r)
{
    uint64_t number;

    r->block = NULL;
    while (!ir_lex_is(&r->lex, '}')) {
        if (r->lex.kind == IR_TOK_END)
            return ir_read_error(r, "`}`");
        if (r->lex.kind == IR_TOK_WORD && body_block_number(r->lex.text, &number))
            HD_TRY(read_label(r));
        else if (!r->block)
            return ir_read_error(r, "a block label");
        else
            HD_TRY(read_instr(r));
    }
    ir_lex_next(&r->lex);
    return body_finish_blocks(r);
}
