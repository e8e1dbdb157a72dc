/*
 * Heddle's IR: SSA over one thread's view of a kernel (SIMT). Both backends and the reference
 * interpreter consume it.
 *
 * - A module owns variables and functions; a function owns blocks; a block owns instructions, the
 *   last of which is a terminator. Everything lives in the module's arena and dies with it.
 * - A value is a result of exactly one instruction, or a function argument. It has a width and a
 *   dense id (func->nvalues); side tables are arrays indexed by id.
 * - The program is written for one thread. Which values agree between lanes is what analyses find
 *   out (analysis/shape.h); nothing in the IR itself is vector or masked.
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

#include <assert.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "base/str.h"
#include "base/vec.h"

enum HD_PACKED ir_type {
#define X(name, text, bits, lanes, kind, element) IR_##name,
#include "ir_types.def"
#undef X
    IR_TYPE_COUNT
};

enum HD_PACKED ir_op {
#define X(name, text, dst, src, types, mods, flags, doc) IR_OP_##name,
#include "ir_ops.def"
#undef X
    IR_OP_COUNT
};

/* The lists of spec/ir_enums.def. */
#include "ir_enums.def"
#define IR_ENUMERATOR(id, ...) id,
enum HD_PACKED ir_space { IR_SPACE_LIST(IR_ENUMERATOR) };
enum HD_PACKED ir_rnd { IR_RND_LIST(IR_ENUMERATOR) };
enum HD_PACKED ir_cmp { IR_CMP_LIST(IR_ENUMERATOR) };
enum HD_PACKED ir_atom { IR_ATOM_LIST(IR_ENUMERATOR) };
enum HD_PACKED ir_sem { IR_SEM_LIST(IR_ENUMERATOR) };
enum HD_PACKED ir_scope { IR_SCOPE_LIST(IR_ENUMERATOR) };
enum HD_PACKED ir_cache { IR_CACHE_LIST(IR_ENUMERATOR) };
enum ir_linkage { IR_LINK_LIST(IR_ENUMERATOR) };
enum ir_prmt { IR_PRMT_LIST(IR_ENUMERATOR) };
enum ir_testp { IR_TESTP_LIST(IR_ENUMERATOR) };
enum ir_bar { IR_BAR_LIST(IR_ENUMERATOR) };
enum ir_shfl { IR_SHFL_LIST(IR_ENUMERATOR) };
enum ir_vote { IR_VOTE_LIST(IR_ENUMERATOR) };
enum ir_redux { IR_REDUX_LIST(IR_ENUMERATOR) };
enum ir_match { IR_MATCH_LIST(IR_ENUMERATOR) };
enum ir_tile { IR_TILE_LIST(IR_ENUMERATOR) };
enum ir_mma_flag { IR_MMA_LIST(IR_ENUMERATOR) };
enum ir_tensor_op { IR_TENSOR_OP_LIST(IR_ENUMERATOR) };
enum ir_tensor_shape { IR_TENSOR_SHAPE_LIST(IR_ENUMERATOR) };
enum ir_tensor_kind { IR_TENSOR_KIND_LIST(IR_ENUMERATOR) };
enum ir_tensor_flag { IR_TENSOR_FLAG_LIST(IR_ENUMERATOR) };
enum ir_tex_what { IR_TEX_WHAT_LIST(IR_ENUMERATOR) };
enum ir_tex_geometry { IR_TEX_GEOMETRY_LIST(IR_ENUMERATOR) };
enum ir_tex_lod { IR_TEX_LOD_LIST(IR_ENUMERATOR) };
enum ir_tex_clamp { IR_TEX_CLAMP_LIST(IR_ENUMERATOR) };
enum ir_tex_query { IR_TEX_QUERY_LIST(IR_ENUMERATOR) };
enum ir_tex_flag { IR_TEX_FLAG_LIST(IR_ENUMERATOR) };
enum ir_level { IR_LEVEL_LIST(IR_ENUMERATOR) };
enum ir_policy { IR_POLICY_LIST(IR_ENUMERATOR) };

/*
 * System functions a kernel may call. Sources:
 *   VPRINTF(format b64, args b64) -> b32      generic addresses; args is a packed argument buffer
 *   ASSERTFAIL(message b64, file b64, line b32, function b64, charsize b64)
 *   MALLOC(size_B b64) -> b64                 FREE(ptr b64)
 *   RUNTIME(call b64, args b64) -> b64        ir/device_runtime.h; generic address of its words
 */
enum ir_mbarrier { IR_MBARRIER_LIST(IR_ENUMERATOR) };
enum ir_async { IR_ASYNC_LIST(IR_ENUMERATOR) };
enum ir_builtin { IR_BUILTIN_LIST(IR_ENUMERATOR) };
#undef IR_ENUMERATOR

enum ir_sreg {
#define X(name, text, type, scope, ptx, part, doc) IR_SREG_##name,
#include "ir_sregs.def"
#undef X
    IR_SREG_COUNT
};

/* Who reads the same value: column `scope` of spec/ir_sregs.def. */
enum ir_sreg_scope {
    IR_SREG_LANE,
    IR_SREG_WARP,
    IR_SREG_CTA,
    IR_SREG_CLUSTER,
    IR_SREG_GRID,
    IR_SREG_VOLATILE
};

/* Bits of instr->mods. */
enum ir_mod_bit {
#define X(name, text, doc) IR_MOD_BIT_##name,
#include "ir_mods.def"
    IR_MOD_COUNT
};
enum ir_mod {
#define X(name, text, doc) IR_MOD_##name = 1 << IR_MOD_BIT_##name,
#include "ir_mods.def"
    /* Sets of them: one of each at most, but for the last. */
    IR_MODS_L1 = IR_MOD_L1_EVICT_NORMAL | IR_MOD_L1_EVICT_UNCHANGED | IR_MOD_L1_EVICT_FIRST |
                 IR_MOD_L1_EVICT_LAST | IR_MOD_L1_NO_ALLOCATE,
    IR_MODS_L2_EVICT = IR_MOD_L2_EVICT_NORMAL | IR_MOD_L2_EVICT_UNCHANGED | IR_MOD_L2_EVICT_FIRST |
                       IR_MOD_L2_EVICT_LAST,
    IR_MODS_L2_SIZE = IR_MOD_L2_64B | IR_MOD_L2_128B | IR_MOD_L2_256B,
    IR_MODS_HINTS = 0
#define CACHE_HINT(name, text, doc) | IR_MOD_##name
#include "ir_mods.def"
};
_Static_assert(IR_MODS_HINTS == (IR_MODS_L1 | IR_MODS_L2_EVICT | IR_MODS_L2_SIZE),
               "every hint is of one of these sets");

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

/* Where an access goes and how it is ordered; operations with flag SPACE or ORDER. */
struct ir_mem {
#define MEM(type, name) type name;
#include "ir_fields.def"
};

/* Where an instruction comes from. */
struct ir_srcloc {
#define SRCLOC(type, name) type name;
#include "ir_fields.def"
};

struct ir_instr {
#define FIELD(type, name) type name;
#include "ir_fields.def"
    struct ir_mem mem;
    struct ir_srcloc srcloc;
    uint32_t nsrc;
    uint32_t ndst;
    struct ir_value **src;
    struct ir_value **dst;
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
bool ir_proto_equals(const struct ir_proto *a, const struct ir_proto *b);

/*
 * What an MMA computes: d (m x n) = a (m x k) * b (k x n) + c. Registers have 32 bits, or 64 where
 * elements have; a register holds e elements side by side, lowest bits first. Rows come in groups
 * of 16 (or of 8: m8), columns in groups of 8, groups of columns inside those of rows. In register
 * number r of such a group lane 4 * g + t has
 *
 *   a     of row g (+ 8 for odd r, not with m8) columns e * t .. e * t + e - 1, and 4 * e more for
 *         every other register
 *   b     the same with rows and columns exchanged: of column g rows e * (t + 4 * r) ..
 *   c, d  columns 2 * t and 2 * t + 1, of row g first, then of row g + 8
 *
 * which are the fragments of mma.sync in the PTX ISA, and fragments for wmma.
 *
 *   flags     bits 1 << enum ir_mma_flag:
 *   SPARSE    a has k / 2 columns; metadata say which of k they are: 2 of 4 elements (of tf32 1 of
 *             2; of 4 bits 2 pairs of 4)
 *   ORDERED   with metadata in ascending order
 *   BYTES     elements have a byte each: 6 bits at its bottom, 4 bits in its middle
 *   QUADS     m8n8k4 of f16: lanes 4 * q .. and 16 + 4 * q .. have matrices of their own, a by
 *             rows, b by columns unless A_COLUMNS, B_ROWS
 *   XOR, AND  sums count the ones of a ^ b, a & b
 *   SAT       integer sums are clamped at the end
 *   MINUS     products are subtracted
 *   A_WINDOW, B_WINDOW  the matrix is in shared memory (model/matrix.h), transposed with A_COLUMNS,
 *             B_ROWS; instead of its registers there are two of a descriptor. b is whole; of a are
 *             the warp's 16 rows, which is the number of the warp modulo four times 16
 *
 * Sources: a, b, c; metadata if sparse; if there are scales, for a and for b each: scales, number
 * of their first byte, number of the lanes of four that have them. These are b32.
 */
struct ir_mma {
    uint16_t m, n, k;
    uint16_t flags;
    enum ir_type a, b, c, d; /* of elements */
    enum ir_type scale;      /* UE8M0, UE4M3; VOID = not scaled */
    uint8_t scales;          /* of a row of a, of a column of b: each for k / scales elements */
    uint8_t selector;        /* SPARSE: which lanes of each four have the metadata */
    enum ir_rnd rnd;         /* of f64 */
};

/* What a TENSOR or TENSOR_WARP does; registers are b32. model/tensor.h says more. */
struct ir_tensor {
    uint8_t op;        /* enum ir_tensor_op */
    uint8_t shape;     /* enum ir_tensor_shape; of ld, st, cp */
    uint8_t num;       /* repetitions of it; of ld, st */
    uint8_t kind;      /* enum ir_tensor_kind; of mma */
    uint8_t scales;    /* of a row of a: 1, 2, 4; of kinds that have some */
    uint8_t scale_d;   /* what is added to is divided by this power of two */
    uint16_t flags;    /* bits 1 << enum ir_tensor_flag */
    uint32_t offset;   /* of 16x32bx2: columns from one half to the other */
    enum ir_type type; /* of a reduction; VOID: there is none */
    uint8_t unused[3];
};

/* How many registers of a fragment: operand 'a', 'b', 'c', 'd'; 's': sources of the instruction. */
unsigned ir_mma_registers(const struct ir_mma *mma, char operand);
/* Where element `j` of a register of `lane` is in the matrix; `operand` as above. */
struct ir_mma_coord {
    unsigned row, col;
};
struct ir_mma_coord ir_mma_coord_of(const struct ir_mma *mma, char operand, unsigned reg,
                                    unsigned lane, unsigned j);
/* Do lanes of this selector have metadata of this shape? */
bool ir_mma_selector_fits(const struct ir_mma *mma);
/* Of the fragments; 32 or 64. */
unsigned ir_mma_register_bits(const struct ir_mma *mma);

/*
 * What a texture or surface instruction does: src/model/texture.h. In 8 bytes, which generated code
 * hands over as a number.
 */
struct ir_tex {
    uint8_t what;     /* enum ir_tex_what */
    uint8_t geometry; /* enum ir_tex_geometry */
    uint8_t lod;      /* enum ir_tex_lod */
    uint8_t clamp;    /* enum ir_tex_clamp, of surfaces */
    uint8_t select;   /* TLD4: component; queries: enum ir_tex_query; reductions: enum ir_atom */
    uint8_t flags;    /* bits enum ir_tex_flag */
    uint8_t type;     /* enum ir_type: of a result or of what is stored */
    uint8_t vec;      /* how many of them */
};
_Static_assert(sizeof(struct ir_tex) == 8, "code hands it over in one word");

/* Code of `func` that was inlined: the place of the call. */
struct ir_inline {
    const char *func; /* as the source language calls it; may be empty */
    struct ir_srcloc at;
};

/* A named place in the parameter block of a kernel. */
struct ir_param {
    const char *name;
    uint32_t offset_B;
    uint32_t size_B;
    uint32_t align_B;
};

/* Of a NOTE with a source: different values of the register meet here; it may have none. */
#define IR_NOTE_JOIN ((uint64_t)1 << 32)

struct ir_func {
    struct ir_module *module;
    const char *name;
    /*
     * Number in the program: what function handles and kernel requests are made of. Dense over the
     * whole program, of which a module may hold a part; in a whole module the order of creation.
     */
    uint32_t index;
    /* Its address is taken somewhere in the program, maybe outside of this module. */
    bool address_taken;
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
    uint32_t reqnctapercluster[3]; /* every launch has clusters of this size */
    uint32_t maxclusterrank;       /* most CTAs of a cluster */
    bool explicitcluster;          /* every launch must say its cluster size */
    bool blocksareclusters;        /* launches count clusters, not CTAs */
    struct ir_block **blocks;      /* blocks[0] is the entry; layout order */
    uint32_t nblocks;
    uint32_t blocks_cap;
    uint32_t nvalues;
    struct ir_var *vars; /* function-scope LOCAL and SHARED variables */
    struct ir_var *last_var;
    uint32_t nregs; /* NOTEs with a source name PTX registers below this */
    struct ir_func *next;
    uint32_t unit; /* which of the linked PTX modules its body is in */
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

/* What a variable names an object of: eight bytes with its handle (model/texture.h). */
enum ir_reference { IR_REF_NONE, IR_REF_TEXTURE, IR_REF_SAMPLER, IR_REF_SURFACE };
extern const char *const ir_reference_names[];

struct ir_var {
    const char *name;
    uint32_t index; /* module scope: number in the program, like ir_func.index */
    enum ir_space space;
    enum ir_linkage linkage;
    uint64_t size_B; /* 0 for dynamic shared memory (.extern .shared x[]) */
    uint32_t align_B;
    bool managed;
    bool is_dynamic_shared;
    enum ir_reference reference; /* with it `init` is a struct ir_reference_init, or NULL */
    uint8_t *init;               /* init_B bytes, the rest of the variable is zero */
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

/* An instruction of the PTX that is counted, and a run of them (ir/count.h). */
struct ir_counted {
    struct ir_srcloc srcloc;
    const char *function, *form; /* where it is written; "ld.global.f32" */
    uint32_t ptx_line;
    uint64_t classes; /* set of enum ir_count_class */
    /* Of a matrix product in registers or wgmma, for each lane: */
    uint32_t ops;      /* multiplications and additions */
    uint32_t window_B; /* bytes of the matrices that it reads from shared memory */
    /* Of the operation that a probe stands for, from where it cannot be told by looking there: */
    uint64_t imm;
    uint8_t registers; /* of LDMATRIX and STMATRIX */
    union {
        struct ir_tex tex;
        struct ir_tensor tensor;
    } what;
    /* Of what is one load or store of shared or global memory by the lanes that come to it: how
     * many bytes; else 0. */
    uint32_t access_B;
    bool is_shared;
};
struct ir_count_group {
    uint32_t first, count; /* in ir_module.count_items */
};

struct ir_module {
    struct hd_arena arena;
    const char *name;
    unsigned sm; /* .target, e.g. 75 */
    bool debug;
    bool has_notes;        /* for debuggers: interpreted as it is, never optimised */
    bool runs_apart;       /* warps run one by one, in any order: IR_PROBE_APART */
    bool has_probes;       /* ir/probe.h */
    bool has_counts;       /* some of them count: ir/count.h */
    bool keeps_units;      /* functions of one unit are not inlined into those of another */
    struct ir_func *funcs; /* in source order */
    struct ir_func *last_func;
    struct ir_var *vars; /* module scope */
    struct ir_var *last_var;
    uint32_t nfuncs, nvars; /* index of the next one that is created: above all in use */
    uint32_t frame_align_B; /* of all stack frames: ir_align_frames() */
    struct hd_map symbols;  /* name -> struct ir_symbol */
    HD_VEC(const char *) files;
    HD_VEC(struct ir_inline) inlines;
    HD_VEC(struct ir_counted) counted; /* what these say: ir/count.h */
    HD_VEC(uint32_t) count_items;      /* of all groups */
    HD_VEC(struct ir_count_group) count_groups;
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
    IR_F_RND = 1 << 8,
    IR_F_CMP = 1 << 9,
    IR_F_TYPE2 = 1 << 10,
    IR_F_SPACE = 1 << 11,
    IR_F_ADDR = 1 << 12,
    IR_F_ORDER = 1 << 13,
    IR_F_IMM = 1 << 14,
    IR_F_HINT = 1 << 15,
    IR_F_FLOAT = 1 << 16,
};

struct ir_op_info {
    const char *name; /* text form */
    const char *dst;  /* widths of results and sources: ir_operand_type() */
    const char *src;
    uint64_t types; /* set of enum ir_type, see ir_tables.c; VOID alone: the row has no type */
    uint32_t mods;  /* set of enum ir_mod */
    uint32_t flags; /* enum ir_op_flag */
    const char *doc;
};

extern const struct ir_op_info ir_op_infos[IR_OP_COUNT];

const char *ir_type_name(enum ir_type type);
unsigned ir_type_bits(enum ir_type type);
enum ir_type ir_type_of_bits(unsigned bits);     /* of values; IR_VOID: there is none so wide */
unsigned ir_type_lanes(enum ir_type type);       /* 1 for all but packed types */
enum ir_type ir_type_element(enum ir_type type); /* of one lane; the type itself if not packed */
bool ir_type_is_signed(enum ir_type type);
bool ir_type_is_float(enum ir_type type);
/* PRED, B8 .. B128 of the same width. */
enum ir_type ir_type_value(enum ir_type type);
/* Are its addresses offsets into a window: b32 or b64? */
bool ir_space_is_window(enum ir_space space);
/* Does instr->mem.atom say what they do? */
static inline bool ir_op_combines(enum ir_op op)
{
    return op == IR_OP_ATOM || op == IR_OP_REDUCE || op == IR_OP_MULTIMEM;
}
/* Of the own CTA, or of any in its cluster (struct ir_window, clusters). */
static inline bool ir_space_is_shared(enum ir_space space)
{
    return space == IR_SPACE_SHARED || space == IR_SPACE_SHARED_CLUSTER;
}
/* n: bytes of a copy; groups that a wait leaves, at most IR_ASYNC_MAX. */
enum { IR_ASYNC_MAX = 1 << 16, IR_ASYNC_BITS = 3 };
static inline uint64_t ir_async_imm(enum ir_async what, uint64_t n)
{
    return (uint64_t)what | (n < IR_ASYNC_MAX ? n : IR_ASYNC_MAX) << IR_ASYNC_BITS;
}
/* Do the threads of a CTA meet at such a barrier? */
static inline bool ir_bar_meets(enum ir_bar bar)
{
    return bar == IR_BAR_SYNC || bar >= IR_BAR_RED_POPC;
}
/* Does a thread wait there? */
static inline bool ir_bar_waits(enum ir_bar bar)
{
    return bar != IR_BAR_ARRIVE && bar != IR_BAR_CLUSTER_ARRIVE;
}
/* Is it the barrier of the cluster? */
static inline bool ir_bar_is_cluster(enum ir_bar bar)
{
    return bar == IR_BAR_CLUSTER_ARRIVE || bar == IR_BAR_CLUSTER_WAIT;
}
const char *ir_sreg_name(enum ir_sreg sreg);
enum ir_type ir_sreg_type(enum ir_sreg sreg); /* B32 or B64 */
enum ir_sreg_scope ir_sreg_scope(enum ir_sreg sreg);

static inline bool ir_op_has(enum ir_op op, enum ir_op_flag flag)
{
    return (ir_op_infos[op].flags & flag) != 0;
}

/* ---- operand widths: strings `dst` and `src` of the table, one letter per operand */

/* The fewest operands, and the most (UINT32_MAX: any number). */
uint32_t ir_operands_min(const char *roles);
uint32_t ir_operands_max(const char *roles);
/* As many as every instruction of the row has; -1: the number varies. */
int ir_operands_fixed(const char *roles);
/* Letter of operand `index`; 0 when there is no such operand. */
char ir_operand_role(const char *roles, uint32_t index);
/*
 * The width that a letter stands for in an instruction of these types: PRED, B8 .. B128, or VOID
 * for letters `a` and `v`, which the types do not decide.
 */
enum ir_type ir_role_type(char role, enum ir_type type, enum ir_type type2);
/* Of a source or result of an instruction; VOID as above. */
enum ir_type ir_src_type(const struct ir_instr *instr, uint32_t index);
enum ir_type ir_dst_type(const struct ir_instr *instr, uint32_t index);

/* ---- the fields of spec/ir_fields.def at once (ir_fields.c) */

/*
 * The fields of group WORD in eight bytes: with `imm` all that a pure operation computes from,
 * besides its sources. Generated code hands it to ir_eval().
 */
uint64_t ir_instr_words(const struct ir_instr *instr);
void ir_instr_set_words(struct ir_instr *instr, uint64_t words);
/* Everything but operands, results and place in source and block is equal. */
bool ir_instr_same(const struct ir_instr *a, const struct ir_instr *b);
uint64_t ir_instr_hash(const struct ir_instr *instr); /* of what ir_instr_same() compares */
/* All fields, place included, are those of `from`; operands, results and block stay. */
void ir_instr_copy_fields(struct ir_instr *to, const struct ir_instr *from);
/* Another operation in the same place, all other fields empty; operands and results stay. */
void ir_instr_become(struct ir_instr *instr, enum ir_op op, enum ir_type type);

/* The payload of an instruction of a row of spec/ir_ext.def: ir_ext_proto(calli) .. */
#define X(op_, name, type)                                                                         \
    static inline const type *ir_ext_##name(const struct ir_instr *instr)                          \
    {                                                                                              \
        assert(instr->op == IR_OP_##op_);                                                          \
        return instr->ext;                                                                         \
    }
#include "ir_ext.def"
#undef X

static inline bool ir_has(const struct ir_instr *instr, enum ir_mod mod)
{
    return (instr->mods & (uint32_t)mod) != 0;
}

static inline void ir_set_mod(struct ir_instr *instr, enum ir_mod mod, bool on)
{
    instr->mods = on ? instr->mods | (uint32_t)mod : instr->mods & ~(uint32_t)mod;
}

/* Is it done by all lanes of a warp together, at one place (PTX: .aligned)? */
static inline bool ir_op_is_matrix(enum ir_op op)
{
    return op == IR_OP_MMA || op == IR_OP_LDMATRIX || op == IR_OP_STMATRIX ||
           op == IR_OP_MOVMATRIX || op == IR_OP_TENSOR_WARP;
}

/* May an instruction of this operation be of this type? */
static inline bool ir_op_takes(enum ir_op op, enum ir_type type)
{
    uint64_t types = ir_op_infos[op].types;

    return types == 1ull << IR_VOID || (types >> type & 1) != 0;
}

/* ---- module life (ir_module.c) */

enum hd_status ir_module_create(const char *name, struct ir_module **out_module) HD_MUST_CHECK;
void ir_module_destroy(struct ir_module *module);
struct ir_func *ir_module_find_func(const struct ir_module *module, const char *name);
struct ir_var *ir_module_find_var(const struct ir_module *module, const char *name);
/* NULL when the module holds no function of this index. */
struct ir_func *ir_module_func_at(const struct ir_module *module, uint32_t index);
/*
 * The instructions of a module have numbers, from 1 on, in the order of functions, blocks and
 * instructions (ir_number.c). They hold as long as the module is not changed: generated code says
 * by them where it came from. 0 stands for none.
 */
uint32_t ir_func_first_number(const struct ir_func *func);
/* By block: the number of its first instruction. */
void ir_func_block_numbers(const struct ir_func *func, uint32_t *out_first);
/* How many there are: the last number. */
uint32_t ir_module_size(const struct ir_module *module);
/* NULL when there is no such instruction. O(instructions). */
const struct ir_instr *ir_module_instr_at(const struct ir_module *module, uint32_t number);
/* Gives the function or variable its number in a program that this module is a part of. */
void ir_func_set_index(struct ir_func *func, uint32_t index);
void ir_var_set_index(struct ir_var *var, uint32_t index);
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
/* Likewise of a call that code was inlined at; `func` is copied. 0 when memory ran out. */
/*
 * For messages. The source file of a place, "?" when it is not known; the place with the calls that
 * it was inlined at: "a.cuh:5, in f() inlined at b.cu:9"; what an instruction does: "write of 4
 * bytes (st.global.u32)", "trap".
 */
const char *ir_source_file(const struct ir_module *module, const struct ir_srcloc *srcloc);
void ir_print_source(const struct ir_module *module, const struct ir_srcloc *srcloc,
                     struct hd_buf *out);
void ir_print_access(const struct ir_instr *instr, struct hd_buf *out);
uint32_t ir_module_inline(struct ir_module *module, const char *func, const struct ir_srcloc *at);

/* ---- building (ir_build.c): appends at the end of a block, or before an instruction */

struct ir_builder {
    struct ir_func *func;
    struct ir_block *block;
    struct ir_instr *before; /* NULL = append */
    struct ir_srcloc srcloc; /* stamped on new instructions */
};

struct ir_block *ir_block_create(struct ir_func *func);
void ir_block_set_succs(struct ir_block *block, uint32_t n, struct ir_block *const *succs);
/*
 * An instruction at the insertion point with its sources copied and `ndst` results of the width
 * that the table gives. For role `v` the caller sets dst[i]->type. Fields not passed are zero.
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
/*
 * A new block with the instruction, which is no phi, and everything behind it; it gets the old
 * block's successors, which has none then, and no terminator. Preds must be linked.
 */
struct ir_block *ir_block_split_before(struct ir_instr *instr);
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

/* The sum of its two sources modulo its width: an ADD, neither saturating nor packed. */
static inline bool ir_is_plain_add(const struct ir_instr *instr)
{
    return instr->op == IR_OP_ADD && !ir_has(instr, IR_MOD_SAT) && ir_type_lanes(instr->type) == 1;
}

#define ir_foreach_instr(it, block_) for (struct ir_instr *it = (block_)->first; it; it = it->next)
/* The current instruction may be removed in the body. */
#define ir_foreach_instr_safe(it, block_)                                                          \
    for (struct ir_instr *it = (block_)->first, *it##_next = it ? it->next : NULL; it;             \
         it = it##_next, it##_next = it ? it->next : NULL)
#define ir_foreach_func(it, module_) for (struct ir_func *it = (module_)->funcs; it; it = it->next)

static inline bool ir_block_has(const struct ir_block *block, enum ir_op op)
{
    ir_foreach_instr(in, block)
        if (in->op == op)
            return true;
    return false;
}

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

/* Windows, and the frames in them, start and end at multiples of this on every device. */
#define IR_WINDOW_ALIGN_B 16u
/* No variable of a stack gets more: windows of CTAs start on a page. */
#define IR_LOCAL_ALIGN_MAX_B 4096u

/*
 * Of a shared window, in host memory too: patterns of swizzled tensor copies repeat after so many
 * bytes, and programs take them from generic addresses as well as from offsets.
 */
enum { IR_SHARED_ALIGN_B = 1024 };

/*
 * Shared windows of a cluster's CTAs lie side by side, at this distance, in the order of their
 * ranks. Kernels that look beyond their CTA (ir_window.clusters) count addresses of both shared
 * spaces from the window of rank 0, so a 32-bit address has the rank in bits 24 and up: those of
 * the own CTA are good in the cluster, mapa replaces bits, and clearing bit 24 leads from the odd
 * CTA of a pair to the even one, on which CUTLASS relies. Other kernels count from the own window.
 */
enum { IR_CLUSTER_SHIFT = 24, IR_CLUSTER_MAX_CTAS = 16 };
#define IR_CLUSTER_STRIDE_B (UINT64_C(1) << IR_CLUSTER_SHIFT)

/* A multicast copy, in its imm; whose CTAs are in bits from here on of its mask of bytes. */
enum { IR_COPY_CASTS = 64, IR_COPY_RANKS_AT = 16 };
/* Where CTA `rank` has what some CTA has at this address, both counted from rank 0's window. */
static inline uint64_t ir_cluster_address(uint64_t address, uint32_t rank)
{
    return (address & (IR_CLUSTER_STRIDE_B - 1)) + rank * IR_CLUSTER_STRIDE_B;
}

/* Does it ask for, or reach into, another CTA of its cluster? */
bool ir_instr_sees_cluster(const struct ir_instr *instr);

struct ir_window {
    uint64_t shared_B;         /* static shared memory of the kernel and everything it may call */
    uint64_t dynamic_offset_B; /* where dynamic shared memory starts: the CTA's window is this long
                                  plus the launch's dynamic bytes. May exceed shared_B. */
    uint64_t local_B;          /* local bytes per thread: the kernel and the deepest call path */
    uint32_t local_align_B;    /* of each thread's part; local_B is a multiple */
    bool recursive;            /* a cycle or an indirect call below, or it allocates of its stack */
    bool clusters;             /* the kernel, or what it may call, looks beyond its CTA */
};

/* What launches of a kernel have to provide, as far as its PTX tells: lower_kernel_sizes(). */
struct ir_kernel_sizes {
    uint64_t shared_B; /* static shared memory */
    uint64_t local_B;  /* stack per thread, before anything of it is kept in registers */
    bool is_doubtful;  /* something that it names may be refused: lowering it tells */
};
/*
 * Gives every shared variable its offset (one layout for the module: callees are shared between
 * kernels) and every local variable its offset in its function's stack frame. Call after linking.
 */
enum hd_status ir_layout_windows(struct ir_module *module) HD_MUST_CHECK;
/* One alignment for all frames of the module, so that whatever lies in one is aligned wherever it
 * starts. ir_layout_windows() and reading a module do it. */
void ir_align_frames(struct ir_module *module);
/* Bytes of a function's own frame: its local variables, a multiple of the module's frame_align_B,
 * where each frame starts. After ir_layout_windows(). */
uint64_t ir_func_frame_B(const struct ir_func *func);
enum hd_status ir_kernel_window(const struct ir_func *kernel, struct ir_window *out_window)
    HD_MUST_CHECK;
/* The shared window of a launch with so many dynamic bytes. */
static inline uint64_t ir_window_shared_B(const struct ir_window *window, uint32_t dynamic_B)
{
    uint64_t end_B = window->dynamic_offset_B + dynamic_B;

    return dynamic_B ? HD_MAX(window->shared_B, end_B) : window->shared_B;
}

/* ---- numbers of threads and CTAs: x first */

static inline void ir_thread_index(const uint32_t block[3], uint32_t number, uint32_t out[3])
{
    assert(number < block[0] * block[1] * block[2]);
    out[0] = number % block[0];
    out[1] = number / block[0] % block[1];
    out[2] = number / block[0] / block[1];
}
static inline uint64_t ir_cta_number(const uint32_t grid[3], const uint32_t ctaid[3])
{
    return ((uint64_t)ctaid[2] * grid[1] + ctaid[1]) * grid[0] + ctaid[0];
}

#endif
