/* Rows of spec/ptx_*.def as C tables, and the hash tables over them. */
#include "ptx/ptx_table.h"

#include <assert.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct type_row {
    const char *name;
    uint16_t bits;
    uint8_t type_class;
};

static const struct type_row type_rows[PTX_TYPE_COUNT] = {
    [PTX_TYPE_NONE] = {"", 0, PTX_CLASS_NONE},
#define PTX_TYPE(id, name, bits, class_) [PTX_TYPE_##id] = {name, bits, PTX_CLASS_##class_},
#include "ptx_types.def"
#undef PTX_TYPE
};

static const char *const space_names[PTX_SPACE_COUNT] = {[PTX_SPACE_GENERIC] = "",
#define X(id, name) [PTX_SPACE_##id] = name,
                                                         PTX_SPACE_LIST(X)
#undef X
};

struct mod_row {
    const char *text;
    uint8_t mod_class;
};

static const struct mod_row mod_rows[PTX_MOD_COUNT] = {
    [PTX_MOD_NONE] = {"", PTX_MC_OWN},
#define PTX_MOD(id, text, class_, lowering) [PTX_MOD_##id] = {text, PTX_MC_##class_},
#include "ptx_mods.def"
#undef PTX_MOD
    [PTX_MOD_TYPE] = {"<type>", PTX_MC_TYPE},
    [PTX_MOD_SPACE] = {"<space>", PTX_MC_SPACE},
    [PTX_MOD_SHAPE] = {"<shape>", PTX_MC_SHAPE},
};

static const struct ptx_op_info op_rows[PTX_OP_COUNT] = {
    [PTX_OP_NONE] = {.name = "", .sig = "", .own = "", .doc = ""},
#define PTX_OP(id, name_, min, max, sig_, classes_, own_, ptx_ver, sm_, doc_, lowering, guard)     \
    [PTX_OP_##id] = {name_, min, max, ptx_ver, sm_, sig_, classes_, own_, doc_},
#include "ptx_ops.def"
#undef PTX_OP
};

static const struct ptx_sreg_info sreg_rows[PTX_SREG_COUNT] = {
    [PTX_SREG_NONE] = {.name = "", .doc = ""},
#define PTX_SREG(id, name_, type_, comps_, count_, doc_)                                           \
    [PTX_SREG_##id] = {name_, PTX_TYPE_##type_, comps_, count_, doc_},
#include "ptx_sregs.def"
#undef PTX_SREG
};

static const char *const dir_names[PTX_DIR_COUNT] = {
    [PTX_DIR_NONE] = "",
#define PTX_DIR(id, name, doc) [PTX_DIR_##id] = name,
#include "ptx_dirs.def"
#undef PTX_DIR
};

/* ---- hash tables ---- */

#define WORD_SLOTS 2048u
#define NODE_SLOTS 2048u
#define MAX_NODES  512u

struct op_node {
    const char *text; /* component */
    uint8_t len;
    uint16_t parent;
    uint16_t op;
};

static struct ptx_word words[WORD_SLOTS];
static struct op_node nodes[MAX_NODES]; /* 0 is the root */
static unsigned node_count = 1;
static uint16_t node_slots[NODE_SLOTS];
static locale_t c_locale;
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static struct ptx_word *word_slot(const char *text, size_t len)
{
    uint32_t slot = ptx_hash_slot(ptx_hash_bytes(PTX_HASH_SEED, text, len)) % WORD_SLOTS;
    while (words[slot].text && (words[slot].len != len || memcmp(words[slot].text, text, len) != 0))
        slot = (slot + 1) % WORD_SLOTS;
    return &words[slot];
}

static struct ptx_word *word_add(const char *text)
{
    struct ptx_word *word = word_slot(text, strlen(text));
    assert(strlen(text) < 256 && (!word->text || !strcmp(word->text, text)));
    word->text = text;
    word->len = (uint8_t)strlen(text);
    return word;
}

static uint16_t *node_slot(unsigned parent, const char *text, size_t len)
{
    uint32_t hash = ptx_hash_bytes(PTX_HASH_SEED + parent * 0x9e3779b1u, text, len);
    uint32_t slot = ptx_hash_slot(hash) % NODE_SLOTS;
    while (node_slots[slot]) {
        const struct op_node *node = &nodes[node_slots[slot]];
        if (node->parent == parent && node->len == len && memcmp(node->text, text, len) == 0)
            break;
        slot = (slot + 1) % NODE_SLOTS;
    }
    return &node_slots[slot];
}

static void op_add(unsigned op)
{
    unsigned node = 0;
    const char *text = op_rows[op].name;
    while (*text) {
        size_t len = strcspn(text, ".");
        uint16_t *slot = node_slot(node, text, len);
        if (!*slot) {
            assert(node_count < HD_COUNT_OF(nodes) && len < 256);
            nodes[node_count] = (struct op_node){text, (uint8_t)len, (uint16_t)node, PTX_OP_NONE};
            *slot = (uint16_t)node_count++;
        }
        node = *slot;
        text += len + (text[len] == '.');
    }
    nodes[node].op = (uint16_t)op;
}

static void tables_build(void)
{
    for (unsigned i = 1; i < PTX_TYPE_COUNT; i++)
        word_add(type_rows[i].name)->type = (uint8_t)i;
    for (unsigned i = 1; i < PTX_SPACE_COUNT; i++)
        word_add(space_names[i])->space = (uint8_t)i;
    for (unsigned i = 1; i < PTX_DIR_COUNT; i++)
        word_add(dir_names[i])->dir = (uint8_t)i;
    for (unsigned i = 1; i < PTX_MOD_TYPE; i++)
        word_add(mod_rows[i].text)->mod = (uint16_t)i;
    for (unsigned i = 1; i < PTX_OP_COUNT; i++)
        op_add(i);
    c_locale = newlocale(LC_ALL_MASK, "C", NULL);
}

static void tables_init(void)
{
    pthread_once(&tables_once, tables_build);
}

const struct ptx_word *ptx_word_find(const char *text, size_t len)
{
    tables_init();
    const struct ptx_word *word = word_slot(text, len);
    return word->text ? word : NULL;
}

unsigned ptx_op_node_child(unsigned node, const char *text, size_t len)
{
    tables_init();
    return *node_slot(node, text, len);
}

enum ptx_op ptx_op_node_op(unsigned node)
{
    assert(node < node_count);
    return (enum ptx_op)nodes[node].op;
}

double ptx_strtod(const char *text)
{
    tables_init();
    return c_locale ? strtod_l(text, NULL, c_locale) : strtod(text, NULL);
}

enum ptx_sreg ptx_sreg_find(const char *text, size_t len, uint32_t *out_number)
{
    *out_number = 0;
    for (unsigned i = 1; i < PTX_SREG_COUNT; i++) {
        size_t name_len = strlen(sreg_rows[i].name);
        if (len < name_len || memcmp(text, sreg_rows[i].name, name_len) != 0)
            continue;
        if (sreg_rows[i].count == 1 && len == name_len)
            return (enum ptx_sreg)i;
        uint64_t number;
        struct hd_str tail = {text + name_len, len - name_len};
        if (sreg_rows[i].count > 1 && tail.len && tail.len <= 2 &&
            hd_str_to_u64(tail, 10, &number) && number < sreg_rows[i].count) {
            *out_number = (uint32_t)number;
            return (enum ptx_sreg)i;
        }
    }
    return PTX_SREG_NONE;
}

/* ---- names and attributes ---- */

enum ptx_mod_class ptx_mod_class(enum ptx_mod mod)
{
    assert(mod > PTX_MOD_NONE && mod < PTX_MOD_COUNT);
    return (enum ptx_mod_class)mod_rows[mod].mod_class;
}

const struct ptx_op_info *ptx_op_info(enum ptx_op op)
{
    assert(op > PTX_OP_NONE && op < PTX_OP_COUNT);
    return &op_rows[op];
}

const char *ptx_opcode_name(enum ptx_op op)
{
    return op_rows[op].name;
}

const char *ptx_mod_name(enum ptx_mod mod)
{
    assert(mod < PTX_MOD_COUNT);
    return mod_rows[mod].text;
}

const char *ptx_mod_text(const struct ptx_mod_use *use, char *buf, size_t size)
{
    if (use->id == PTX_MOD_TYPE)
        return ptx_type_name((enum ptx_type)use->m);
    if (use->id == PTX_MOD_SPACE)
        return ptx_space_name((enum ptx_space)use->m);
    if (use->id != PTX_MOD_SHAPE)
        return ptx_mod_name((enum ptx_mod)use->id);
    if (use->k)
        snprintf(buf, size, "m%un%uk%u", use->m, use->n, use->k);
    else
        snprintf(buf, size, "m%un%u", use->m, use->n);
    return buf;
}

const char *ptx_type_name(enum ptx_type type)
{
    return type_rows[type].name;
}

unsigned ptx_type_bits(enum ptx_type type)
{
    assert(type < PTX_TYPE_COUNT);
    return type_rows[type].bits;
}

enum ptx_type_class ptx_type_class(enum ptx_type type)
{
    return (enum ptx_type_class)type_rows[type].type_class;
}

const char *ptx_space_name(enum ptx_space space)
{
    assert(space < PTX_SPACE_COUNT);
    return space_names[space];
}

const struct ptx_sreg_info *ptx_sreg_info(enum ptx_sreg sreg)
{
    assert(sreg > PTX_SREG_NONE && sreg < PTX_SREG_COUNT);
    return &sreg_rows[sreg];
}

enum ptx_type ptx_type_from_name(struct hd_str name)
{
    const struct ptx_word *word = ptx_word_find(name.ptr, name.len);
    return word ? (enum ptx_type)word->type : PTX_TYPE_NONE;
}

enum ptx_op ptx_op_from_name(struct hd_str name)
{
    unsigned node = 0;
    for (size_t at = 0; at < name.len;) {
        const char *dot = memchr(name.ptr + at, '.', name.len - at);
        size_t len = dot ? (size_t)(dot - name.ptr) - at : name.len - at;
        node = ptx_op_node_child(node, name.ptr + at, len);
        if (!node)
            return PTX_OP_NONE;
        at += len + 1;
    }
    return ptx_op_node_op(node);
}
