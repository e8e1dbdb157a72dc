/*
 * Keyword tables of the PTX front end, built once from the rows in spec/ (thread-safe). Private to
 * ptx/.
 *
 * One hash table holds every dotted word: a word such as "b" or "param" may be a modifier, a type,
 * a state space and a directive at once, so an entry has one field per role, zero where it has
 * none. A second one holds opcode components as a trie: (parent node, component) -> node.
 */
#ifndef HD_PTX_PTX_TABLE_H
#define HD_PTX_PTX_TABLE_H

#include "ptx/ptx.h"

/* clang-format off */
#define PTX_MOD_CLASS_LIST(X)                                                                      \
    X(TYPE) X(SPACE)                                                                               \
    X(SHAPE) X(ROUND) X(ROUNDI) X(FTZ) X(SAT) X(SATFINITE) X(RELU) X(NAN) X(APPROX) X(HALF)        \
    X(CC) X(CMP) X(SUBOP) X(VEC) X(SEM) X(SCOPE) X(CACHE) X(VOLATILE) X(MMIO) X(NC) X(EVICT)       \
    X(PREFETCH) X(LEVEL) X(SYNC) X(ALIGNED) X(UNI) X(NOFTZ) X(ASYNC) X(COMPLETION) X(MULTICAST)    \
    X(CTAGROUP) X(KIND) X(BLOCKSCALE) X(SPARSE) X(COLLECTOR) X(GEOM) X(TENSORMODE) X(TEXMODE)      \
    X(COMPONENT) X(CLAMP) X(LAYOUT) X(FRAG) X(TIMES) X(TMEMSHAPE) X(TMEMWARP) X(TRANS) X(PACK)     \
    X(VOTE) X(SHFL) X(PRMT) X(TESTP) X(READ) X(PARITY) X(NOINC) X(OWN) X(QUERY) X(TMAPFIELD)       \
    X(SCALED)
/* clang-format on */

enum ptx_mod_class {
#define X(id) PTX_MC_##id,
    PTX_MOD_CLASS_LIST(X)
#undef X
        PTX_MC_COUNT
};
_Static_assert(PTX_MC_COUNT <= 64, "modifier classes are bits of a uint64_t");

enum ptx_dir {
    PTX_DIR_NONE,
#define PTX_DIR(id, name, doc) PTX_DIR_##id,
#include "ptx_dirs.def"
#undef PTX_DIR
    PTX_DIR_COUNT
};

struct ptx_word {
    const char *text;
    uint8_t len;
    uint8_t type;  /* enum ptx_type */
    uint8_t space; /* enum ptx_space */
    uint8_t dir;   /* enum ptx_dir */
    uint16_t mod;  /* enum ptx_mod */
};

/* The entry of a dotted word, given without its dot; NULL when it is none. */
const struct ptx_word *ptx_word_find(const char *text, size_t len);
/* Class of a modifier row; TYPE, SPACE, SHAPE for the three with payload. */
enum ptx_mod_class ptx_mod_class(enum ptx_mod mod);

/* A modifier, type, space or shape as it is written after its dot; `buf` may hold it. */
const char *ptx_mod_text(const struct ptx_mod_use *use, char *buf, size_t size);
/*
 * The numbers of operands that the rows of spec/ptx_forms.def allow a form, one bit each; bit 0:
 * they leave that to spec/ptx_ops.def, as opcodes without rows do. 0 with the reason in `why`: its
 * modifiers and types do not go together.
 */
uint32_t ptx_syntax_operands(const struct ptx_form *form, char *why, size_t size);

/* Opcode trie: 0 is the root and also "no such node". */
unsigned ptx_op_node_child(unsigned node, const char *text, size_t len);
enum ptx_op ptx_op_node_op(unsigned node); /* PTX_OP_NONE for a mere prefix */

/* Special register of this name, with the number in its family. PTX_SREG_NONE when unknown. */
enum ptx_sreg ptx_sreg_find(const char *text, size_t len, uint32_t *out_number);

/* A "%d"-locale-proof strtod of a NUL-terminated text. */
double ptx_strtod(const char *text);

static inline uint32_t ptx_hash_step(uint32_t hash, char c)
{
    return (hash ^ (uint8_t)c) * 0x01000193u;
}
#define PTX_HASH_SEED 0x811c9dc5u

static inline uint32_t ptx_hash_bytes(uint32_t hash, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        hash = ptx_hash_step(hash, text[i]);
    return hash;
}

/* FNV's low bits mix poorly for short names that differ in the last digit. */
static inline uint32_t ptx_hash_slot(uint32_t hash)
{
    return hash ^ (hash >> 15);
}

#endif
