/*
 * Heddle's IR: SSA over one thread's view of a kernel (SIMT). Both backends and the reference
 * interpreter consume it.
 *
 * - A module owns variables and functions; a function owns blocks; a block owns instructions, the
 *   last of which is a terminator. Everything lives in the module's arena and dies with it.
 * - A value is a result of exactly one instruction, or a function argument. It has a width and a
 *   dense id (func->nvalues); side tables are arrays indexed by id.
 * - The program is written for one thread. Which values agree between lanes is what analyses find
 *   out (ir/shape.h); nothing in the IR itself is vector or masked.
 * - Types: values carry PRED or B8..B128; instructions say how bits are read (spec/ir_types.def).
 * - Addresses: global, const and generic are 64-bit host addresses in one address space. shared and
 *   local are offsets into the CTA's and the thread's window (b32 or b64 values); CVTA makes them
 *   generic, CVTA_TO takes them back. param (kernel parameters) is an offset into the parameter
 *   block.
 * - Function parameters are SSA arguments. PTX byte-array parameters are split by the lowering into
 *   chunks of their alignment (at most 8 bytes); caller and callee agree because both see the
 *   declaration.
 * - Local (stack) variables are ir_var of space LOCAL owned by a function.
 * - Instruction guards do not exist: the lowering turns @p into select or control flow.
 *
 * Threads: a module is built by one thread; once handed over it is immutable except through passes
 * that run before the first launch. Analyses and JIT may then read it concurrently.
 */
#ifndef HD_IR_IR_H
#define HD_IR_IR_H

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "base/str.h"
#include "base/vec.h"

enum ir_type {
#define X(name, text, bits, lanes, kind) IR_##name,
#include "ir_types.def"
#undef X
    IR_TYPE_COUNT
};

enum ir_op {
#define X(name, text, nsrc, ndst, result, types, flags, doc) IR_OP_##name,
#include "ir_ops.def"
#undef X
    IR_OP_COUNT
};

enum ir_space {
    IR_SPACE_GENERIC,
    IR_SPACE_GLOBAL,
    IR_SPACE_CONST,
    IR_SPACE_SHARED,
    IR_SPACE_LOCAL,
    IR_SPACE_PARAM
};
/* clang-format off */
/* RNI.. round to an integral value in floating point or on the way to an integer. */
enum ir_rnd {
    IR_RND_NONE, IR_RN, IR_RZ, IR_RM, IR_RP, IR_RNA,
    IR_RNI, IR_RZI, IR_RMI, IR_RPI, IR_APPROX, IR_FULL
};
/* The unordered forms, NUM and NAN are for FSETP only. */
enum ir_cmp {
    IR_EQ, IR_NE, IR_LT, IR_LE, IR_GT, IR_GE,
    IR_EQU, IR_NEU, IR_LTU, IR_LEU, IR_GTU, IR_GEU, IR_NUM, IR_NAN
};
enum ir_prmt {
    IR_PRMT_IDX, IR_PRMT_F4E, IR_PRMT_B4E, IR_PRMT_RC8, IR_PRMT_ECL, IR_PRMT_ECR, IR_PRMT_RC16
};
enum ir_testp {
    IR_TESTP_FINITE, IR_TESTP_INFINITE, IR_TESTP_NUMBER,
    IR_TESTP_NOTANUMBER, IR_TESTP_NORMAL, IR_TESTP_SUBNORMAL
};
enum ir_bar { IR_BAR_SYNC, IR_BAR_ARRIVE, IR_BAR_RED_POPC, IR_BAR_RED_AND, IR_BAR_RED_OR };
enum ir_shfl { IR_SHFL_UP, IR_SHFL_DOWN, IR_SHFL_BFLY, IR_SHFL_IDX };
enum ir_vote { IR_VOTE_ALL, IR_VOTE_ANY, IR_VOTE_UNI, IR_VOTE_BALLOT };
enum ir_redux {
    IR_REDUX_ADD, IR_REDUX_MIN, IR_REDUX_MAX, IR_REDUX_AND, IR_REDUX_OR, IR_REDUX_XOR
};
enum ir_atom {
    IR_ATOM_ADD, IR_ATOM_MIN, IR_ATOM_MAX, IR_ATOM_INC, IR_ATOM_DEC,
    IR_ATOM_AND, IR_ATOM_OR, IR_ATOM_XOR, IR_ATOM_EXCH, IR_ATOM_CAS
};
enum ir_sem {
    IR_SEM_WEAK, IR_SEM_RELAXED, IR_SEM_ACQUIRE, IR_SEM_RELEASE, IR_SEM_ACQ_REL, IR_SEM_SC,
    IR_SEM_VOLATILE
};
enum ir_scope { IR_SCOPE_CTA, IR_SCOPE_CLUSTER, IR_SCOPE_GPU, IR_SCOPE_SYS };
enum ir_cache {
    IR_CACHE_DEFAULT, IR_CACHE_CA, IR_CACHE_CG, IR_CACHE_CS, IR_CACHE_LU,
    IR_CACHE_CV, IR_CACHE_WB, IR_CACHE_WT, IR_CACHE_NC
};
/*
 * System functions a kernel may call. Sources:
 *   VPRINTF(format b64, args b64) -> b32      both generic addresses; args is a packed argument buffer
 *   ASSERTFAIL(message b64, file b64, line b32, function b64, charsize b64)
 *   MALLOC(size_B b64) -> b64                 FREE(ptr b64)
 */
enum ir_builtin { IR_BUILTIN_VPRINTF, IR_BUILTIN_ASSERTFAIL, IR_BUILTIN_MALLOC, IR_BUILTIN_FREE };

/* name, text, type */
#define IR_SREG_LIST(X)                                                                            \
    X(TID_X, "tid.x", B32) X(TID_Y, "tid.y", B32) X(TID_Z, "tid.z", B32)                           \
    X(NTID_X, "ntid.x", B32) X(NTID_Y, "ntid.y", B32) X(NTID_Z, "ntid.z", B32)                     \
    X(CTAID_X, "ctaid.x", B32) X(CTAID_Y, "ctaid.y", B32) X(CTAID_Z, "ctaid.z", B32)               \
    X(NCTAID_X, "nctaid.x", B32) X(NCTAID_Y, "nctaid.y", B32) X(NCTAID_Z, "nctaid.z", B32)         \
    X(LANEID, "laneid", B32) X(WARPID, "warpid", B32) X(NWARPID, "nwarpid", B32)                   \
    X(SMID, "smid", B32) X(NSMID, "nsmid", B32) X(GRIDID, "gridid", B64)                           \
    X(LANEMASK_EQ, "lanemask_eq", B32) X(LANEMASK_LE, "lanemask_le", B32)                          \
    X(LANEMASK_LT, "lanemask_lt", B32) X(LANEMASK_GE, "lanemask_ge", B32)                          \
    X(LANEMASK_GT, "lanemask_gt", B32)                                                             \
    X(CLOCK, "clock", B32) X(CLOCK_HI, "clock_hi", B32) X(CLOCK64, "clock64", B64)                 \
    X(GLOBALTIMER, "globaltimer", B64) X(GLOBALTIMER_LO, "globaltimer_lo", B32)                    \
    X(GLOBALTIMER_HI, "globaltimer_hi", B32)                                                       \
    X(ENVREG1, "envreg1", B32) X(ENVREG2, "envreg2", B32)                                          \
    X(DYNAMIC_SMEM_SIZE, "dynamic_smem_size", B32) X(TOTAL_SMEM_SIZE, "total_smem_size", B32)
/* clang-format on */

enum ir_sreg {
#define X(name, text, type) IR_SREG_##name,
    IR_SREG_LIST(X)
#undef X
        IR_SREG_COUNT
};

struct ir_block;
struct ir_func;
struct ir_instr;
struct ir_module;

struct ir_value {
    uint32_t id;
    enum ir_type type;      /* PRED, B8..B128 */
    struct ir_instr *instr; /* defining instruction; NULL for a function argument */
    uint32_t index;         /* which result of instr, or which argument of the function */
};

/* Fields of LD, ST, ATOM, FENCE, CVTA, CVTA_TO, ISSPACEP. */
struct ir_mem {
    enum ir_space space;
    enum ir_atom atom;
    enum ir_sem sem;
    enum ir_scope scope;
    enum ir_cache cache;
    uint8_t vec;    /* elements: 1, 2, 4 or 8; 0 is read as 1 */
    bool noftz;     /* atom.add.noftz.* */
    int64_t offset; /* bytes added to the address */
};

struct ir_instr {
    enum ir_op op;
    enum ir_type type;  /* how sources and result are read; for CVT the destination type */
    enum ir_type type2; /* CVT: source type; DP4A: second source's signedness */
    enum ir_rnd rnd;
    enum ir_cmp cmp;
    bool ftz;
    bool sat;
    uint32_t nsrc;
    uint32_t ndst;
    struct ir_value **src;
    struct ir_value **dst;
    uint64_t imm;
    uint64_t imm_hi;
    struct ir_mem mem;
    struct ir_var *var;           /* VARADDR */
    struct ir_func *callee;       /* CALL, FUNCADDR */
    const struct ir_proto *proto; /* CALLI */
    uint32_t file;                /* debug place: index into module->files + 1, 0 = none */
    uint32_t line;
    struct ir_block *block;
    struct ir_instr *prev;
    struct ir_instr *next;
};

struct ir_block {
    uint32_t id; /* dense; position in func->blocks */
    struct ir_func *func;
    struct ir_instr *first; /* phis first */
    struct ir_instr *last;  /* the terminator once complete */
    struct ir_block **succs;
    uint32_t nsuccs;
    struct ir_block **preds; /* maintained by ir_func_link_cfg(); the order of PHI operands */
    uint32_t npreds;
};

struct ir_proto {
    uint32_t nparams;
    uint32_t nresults;
    const enum ir_type *params; /* value types after chunking */
    const enum ir_type *results;
};

/* A named place in the parameter block of a kernel. */
struct ir_param {
    const char *name;
    uint32_t offset_B;
    uint32_t size_B;
    uint32_t align_B;
};

enum ir_linkage { IR_LINK_LOCAL, IR_LINK_VISIBLE, IR_LINK_WEAK, IR_LINK_EXTERN, IR_LINK_COMMON };

struct ir_func {
    struct ir_module *module;
    const char *name;
    enum ir_linkage linkage;
    bool is_kernel;
    bool noreturn;
    bool is_declaration; /* no body: an extern that linking did not (yet) resolve */
    /* Kernels: the parameter block. Arguments (values) are empty for kernels. */
    struct ir_param *params;
    uint32_t nparams;
    uint32_t param_size_B;
    /* Device functions: argument values and result types. */
    struct ir_value **args;
    struct ir_proto proto;
    /* Launch bounds; 0 = not given. */
    uint32_t maxntid[3];
    uint32_t reqntid[3];
    uint32_t minnctapersm;
    uint32_t maxnreg;
    struct ir_block **blocks; /* blocks[0] is the entry; layout order */
    uint32_t nblocks;
    uint32_t blocks_cap;
    uint32_t nvalues;
    struct ir_var *vars; /* function-scope LOCAL and SHARED variables */
    struct ir_var *last_var;
    struct ir_func *next;
};

/* A place in a variable's initial image that holds an address. */
struct ir_reloc {
    uint64_t offset_B;
    uint32_t size_B; /* 4 or 8, or 1 for PTX's mask(): the byte (address >> shift) & 0xff */
    uint32_t shift;
    bool generic;
    struct ir_var *var; /* one of var and func */
    struct ir_func *func;
    int64_t addend;
    struct ir_reloc *next;
};

struct ir_var {
    const char *name;
    enum ir_space space;
    enum ir_linkage linkage;
    uint64_t size_B; /* 0 for dynamic shared memory (.extern .shared x[]) */
    uint32_t align_B;
    bool managed;
    bool is_dynamic_shared;
    uint8_t *init; /* init_B bytes, the rest of the variable is zero */
    uint64_t init_B;
    struct ir_reloc *relocs;
    uint64_t window_offset; /* shared and local: set by ir_layout_windows() */
    struct ir_module *module;
    struct ir_func *func; /* owner of a function-scope variable, else NULL */
    struct ir_var *next;
};

struct ir_symbol {
    struct ir_func *func; /* one of both */
    struct ir_var *var;
};

struct ir_module {
    struct hd_arena arena;
    const char *name;
    unsigned sm; /* .target, e.g. 75 */
    bool debug;
    struct ir_func *funcs; /* in source order */
    struct ir_func *last_func;
    struct ir_var *vars; /* module scope */
    struct ir_var *last_var;
    struct hd_map symbols; /* name -> struct ir_symbol */
    HD_VEC(const char *) files;
};

/* ---- tables (ir_tables.c) */

enum ir_op_flag {
    IR_F_PURE = 1 << 0,
    IR_F_COMM = 1 << 1,
    IR_F_LOAD = 1 << 2,
    IR_F_STORE = 1 << 3,
    IR_F_ATOM = 1 << 4,
    IR_F_CONV = 1 << 5,
    IR_F_EFFECT = 1 << 6,
    IR_F_TERM = 1 << 7,
    IR_F_FTZ = 1 << 8,
    IR_F_SAT = 1 << 9,
    IR_F_RND = 1 << 10,
};

/* clang-format off */
/* Column `result` of spec/ir_ops.def. */
enum ir_result {
    IR_RES_T, IR_RES_T2, IR_RES_P, IR_RES_W, IR_RES_B32, IR_RES_B64, IR_RES_N, IR_RES_V
};
/* clang-format on */

struct ir_op_info {
    const char *name; /* text form */
    int nsrc;         /* -1 = varies */
    int ndst;
    enum ir_result result;
    unsigned types; /* bit set, see ir_tables.c */
    unsigned flags; /* enum ir_op_flag */
    const char *doc;
};

extern const struct ir_op_info ir_op_infos[IR_OP_COUNT];

const char *ir_type_name(enum ir_type type);
unsigned ir_type_bits(enum ir_type type);
bool ir_type_is_signed(enum ir_type type);
bool ir_type_is_float(enum ir_type type);
/* PRED, B8 .. B128 of the same width. */
enum ir_type ir_type_value(enum ir_type type);
const char *ir_sreg_name(enum ir_sreg sreg);
enum ir_type ir_sreg_type(enum ir_sreg sreg); /* B32 or B64 */

static inline bool ir_op_has(enum ir_op op, enum ir_op_flag flag)
{
    return (ir_op_infos[op].flags & flag) != 0;
}

/* ---- module life (ir_module.c) */

enum hd_status ir_module_create(const char *name, struct ir_module **out_module) HD_MUST_CHECK;
void ir_module_destroy(struct ir_module *module);
struct ir_func *ir_module_find_func(const struct ir_module *module, const char *name);
struct ir_var *ir_module_find_var(const struct ir_module *module, const char *name);
/* Adds to the module and its symbols; names are copied. A second symbol of one name: the caller's
 * bug. */
struct ir_func *ir_func_create(struct ir_module *module, const char *name);
/* owner NULL: module scope (entered into the symbols). */
struct ir_var *ir_var_create(struct ir_module *module, struct ir_func *owner, const char *name,
                             enum ir_space space);
/* Sets the signature and creates argument values (device functions). Arrays are copied. */
void ir_func_set_proto(struct ir_func *func, uint32_t nparams, const enum ir_type *params,
                       uint32_t nresults, const enum ir_type *results);
/* Index + 1 of a source file name, adding it. */
uint32_t ir_module_file(struct ir_module *module, const char *path);

/* ---- building (ir_build.c): appends at the end of a block, or before an instruction */

struct ir_builder {
    struct ir_func *func;
    struct ir_block *block;
    struct ir_instr *before; /* NULL = append */
    uint32_t file, line;     /* stamped on new instructions */
};

struct ir_block *ir_block_create(struct ir_func *func);
void ir_block_set_succs(struct ir_block *block, uint32_t n, struct ir_block *const *succs);
/*
 * An instruction at the insertion point with its sources copied and `ndst` results of the width
 * that the table gives. For result kind V the caller sets dst[i]->type. Fields not passed are zero.
 */
struct ir_instr *ir_build_instr(struct ir_builder *b, enum ir_op op, enum ir_type type,
                                uint32_t nsrc, struct ir_value *const *src, uint32_t ndst);
struct ir_value *ir_build_const(struct ir_builder *b, enum ir_type type, uint64_t bits);
struct ir_value *ir_build1(struct ir_builder *b, enum ir_op op, enum ir_type type,
                           struct ir_value *a);
struct ir_value *ir_build2(struct ir_builder *b, enum ir_op op, enum ir_type type,
                           struct ir_value *a, struct ir_value *c);
struct ir_value *ir_build3(struct ir_builder *b, enum ir_op op, enum ir_type type,
                           struct ir_value *a, struct ir_value *c, struct ir_value *d);
struct ir_value *ir_build_sreg(struct ir_builder *b, enum ir_sreg sreg);
struct ir_value *ir_build_setp(struct ir_builder *b, enum ir_op setp_op, enum ir_type type,
                               enum ir_cmp cmp, struct ir_value *a, struct ir_value *c);
struct ir_value *ir_build_cvt(struct ir_builder *b, enum ir_type to, enum ir_type from,
                              enum ir_rnd rnd, struct ir_value *a);
void ir_build_br(struct ir_builder *b, struct ir_block *target);
void ir_build_cbr(struct ir_builder *b, struct ir_value *pred, struct ir_block *if_true,
                  struct ir_block *if_false);
/* A phi at the head of `block` with block->npreds operands, all NULL: fill phi->src. Preds must be
 * linked. */
struct ir_instr *ir_build_phi(struct ir_block *block, enum ir_type type);

void ir_instr_remove(struct ir_instr *instr);
/* Moves an instruction (or a removed one) to the end of a block. */
void ir_instr_append(struct ir_block *block, struct ir_instr *instr);
void ir_instr_move_before(struct ir_instr *instr, struct ir_instr *before);
/* Replaces every use of `from` in the function (linear scan). */
void ir_value_replace(struct ir_func *func, struct ir_value *from, struct ir_value *to);
/* map[id] is the replacement of value id or NULL; chains are followed. */
void ir_values_replace(struct ir_func *func, struct ir_value **map);
/*
 * Recomputes preds from succs. Phi operands follow their edge: an edge that is gone loses its
 * operand, the others keep theirs. An edge that is new gets NULL, which the caller must fill.
 * A block that is twice a successor of the same block is one predecessor twice.
 */
void ir_func_link_cfg(struct ir_func *func);
/* One edge from -> block now comes from `to`: keeps phi operands when an edge is split or moved. */
void ir_block_replace_pred(struct ir_block *block, struct ir_block *from, struct ir_block *to);
/*
 * Drops unreachable blocks, renumbers values and blocks densely, and orders blocks in reverse
 * postorder with every loop contiguous (its header first).
 */
void ir_func_compact(struct ir_func *func);

static inline bool ir_value_const(const struct ir_value *v, uint64_t *out_bits)
{
    if (!v->instr || v->instr->op != IR_OP_CONST)
        return false;
    *out_bits = v->instr->imm;
    return true;
}

#define ir_foreach_instr(it, block_) for (struct ir_instr *it = (block_)->first; it; it = it->next)
/* The current instruction may be removed in the body. */
#define ir_foreach_instr_safe(it, block_)                                                          \
    for (struct ir_instr *it = (block_)->first, *it##_next = it ? it->next : NULL; it;             \
         it = it##_next, it##_next = it ? it->next : NULL)
#define ir_foreach_func(it, module_) for (struct ir_func *it = (module_)->funcs; it; it = it->next)

/* ---- text form (ir_print.c, ir_read.c): inverse of each other on valid modules */

void ir_print_module(const struct ir_module *module, struct hd_buf *out);
void ir_print_func(const struct ir_func *func, struct hd_buf *out);
void ir_print_instr(const struct ir_instr *instr, struct hd_buf *out); /* one line, no newline */
enum hd_status ir_read_module(const char *text, size_t len, const char *name,
                              struct ir_module **out_module) HD_MUST_CHECK;

/* ---- checks (ir_validate.c): HD_BAD_IR with function, block and instruction in the message */

enum hd_status ir_validate(const struct ir_module *module) HD_MUST_CHECK;
enum hd_status ir_validate_func(const struct ir_func *func) HD_MUST_CHECK;

/* ---- windows (ir_layout.c): offsets of shared and local variables */

struct ir_window {
    uint64_t shared_B;         /* static shared memory of the kernel and everything it may call */
    uint64_t dynamic_offset_B; /* where dynamic shared memory starts: the CTA's window is this long
                                  plus the launch's dynamic bytes. May exceed shared_B. */
    uint64_t local_B;          /* local bytes per thread: the kernel and the deepest call path */
    bool recursive;            /* a cycle or an indirect call below, or it allocates of its stack */
};

/*
 * Gives every shared variable its offset (one layout for the module: callees are shared between
 * kernels) and every local variable its offset in its function's stack frame. Call after linking.
 */
enum hd_status ir_layout_windows(struct ir_module *module) HD_MUST_CHECK;
/* Bytes of a function's own frame: its local variables, a multiple of 16. After
 * ir_layout_windows(). */
uint64_t ir_func_frame_B(const struct ir_func *func);
enum hd_status ir_kernel_window(const struct ir_func *kernel, struct ir_window *out_window)
    HD_MUST_CHECK;

#endif
