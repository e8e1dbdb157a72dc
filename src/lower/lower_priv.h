/*
 * Private to src/lower: the state of one function on its way from PTX to IR.
 *
 * SSA is built directly: a register read in a block that does not define it has the value of a
 * dominator, or of an empty phi that lower_ssa_finish() fills when every block is done. Blocks are
 * known before any instruction is lowered; they are lowered dominators first, wherever the text has
 * them, so dominators are done.
 */
#ifndef HD_LOWER_LOWER_PRIV_H
#define HD_LOWER_LOWER_PRIV_H

#include "base/lock.h"
#include "analysis/analysis.h"
#include "lower/lower.h"

/* By function number: the definition that counts. */
struct lower_body {
    struct ir_func *decl;
    const struct ptx_func *ptx;      /* NULL: nobody defines it */
    const struct ptx_module *module; /* of `ptx`, for messages and file names */
};

/* Immutable once created, but for what `lock` guards. */
struct lower_program {
    struct ir_module *decls;
    struct hd_map vars;        /* u64 key struct ptx_var* -> struct ir_var* in decls */
    struct hd_map funcs;       /* u64 key struct ptx_func* -> struct ir_func* in decls */
    struct hd_map definitions; /* u64 key struct ir_var* in decls -> its struct ptx_var* */
    HD_VEC(struct lower_body) bodies;
    struct hd_lock lock;
    bool ptx_lines;               /* lower_program_keep_ptx_lines() */
    bool notes;                   /* lower_program_keep_notes() */
    bool counts;                  /* lower_program_keep_counts() */
    bool asyncs;                  /* lower_program_keep_asyncs() */
    bool taken_known;             /* address_taken of all declarations is complete */
    struct lower_reach **reaches; /* by function number; NULL: not scanned yet (lower_sizes.c) */
};

/* One module in the making; module->arena.failed when memory ran out. */
struct lower_job {
    struct lower_program *program;
    struct ir_module *module;
    /* u64 key struct ir_var* in decls, or struct ptx_var* of a function -> struct ir_var* */
    struct hd_map vars;
    struct hd_map funcs;              /* u64 key struct ir_func* in decls -> struct ir_func* */
    struct hd_map wanted;             /* u64 key: functions that are or will be in `waiting` */
    HD_VEC(struct ir_func *) waiting; /* from `next`: their bodies are still to be made */
    size_t next;
    HD_VEC(const struct ir_proto *) indirect; /* signatures called through pointers */
    lower_refused_fn
        *refused; /* lower_survey(): is told, with `user`; NULL: the first error ends */
    void *user;
    bool reported;  /* of the body that is being lowered */
    bool is_kernel; /* one and what it reaches: all of it has the same .cta_group */
    enum ptx_mod cta_group;
};

/* A run of instructions without control flow inside. */
struct lower_block {
    struct ir_block *ir;
    const struct ptx_stmt *first; /* statement to start at */
    const struct ptx_stmt *end;   /* exclusive; NULL = end of the body */
    bool guarded;                 /* holds one guarded instruction; its guard was tested before */
    uint32_t counted;             /* of a guarded one: its number in ir_module.counted */
};

struct lower_phi {
    struct ir_instr *phi;
    uint32_t reg;
};

struct lower_fn {
    struct lower_job *job;
    const struct ptx_module *unit;
    const struct ptx_func *ptx;
    struct ir_func *ir;
    struct ir_builder b;
    struct hd_arena arena;
    uint32_t nregs;          /* PTX registers, then the carry flag */
    enum ir_type *reg_types; /* by register: value type */
    HD_VEC(struct lower_block) blocks;
    size_t *order; /* indices of blocks, in the order of lowering: dominators first */
    struct lower_block *cur;
    struct hd_map defs; /* u64 key block id << 32 | register -> struct ir_value* */
    HD_VEC(struct lower_phi) phis;
    struct hd_map noted; /* u64 key struct ir_value*: a register's; see ir_module.has_notes */
    HD_VEC(struct ir_instr *) waits; /* lower_tensor.c: each becomes a loop */
    enum ptx_mod cta_group; /* of the tcgen05 instructions so far; NONE: there are none. See job */
    struct lower_ssa *ssa;
    struct hd_map labels; /* u64 key label index -> block index + 1 */
    uint32_t *files;      /* by PTX file number: IR file; 0 = not looked up yet */
    uint32_t nfiles;
    uint32_t unit_file; /* the PTX as a file of the IR; 0 = not looked up yet */
    const struct ptx_insn *insn;
    struct ir_var *runtime_words; /* lower_runtime.c; NULL: not needed yet */
    enum hd_status status;        /* first error */
};

/* lower_ssa.c */
/* Blocks are there, linked, those that cannot be reached emptied; no instruction is lowered yet. */
enum hd_status lower_ssa_begin(struct lower_fn *f);
struct ir_value *lower_reg_read(struct lower_fn *f, uint32_t reg);
void lower_reg_write(struct lower_fn *f, uint32_t reg, struct ir_value *v);
enum hd_status lower_ssa_finish(struct lower_fn *f);

/* lower_tensor.c: allocations that have to wait are made again. Blocks are linked. */
void lower_tensor_waits(struct lower_fn *f);

/* lower_operand.c */
enum ir_type lower_type(enum ptx_type type); /* IR_VOID: no such type in the slice */
/* The first type of the instruction, packed integers too: they are types of operations only. */
enum ir_type lower_form_type(const struct ptx_insn *in);
enum ir_space lower_space(enum ptx_space space);
struct ir_value *lower_src(struct lower_fn *f, const struct ptx_operand *op, enum ir_type type);
struct ir_value *lower_const(struct lower_fn *f, enum ir_type type, uint64_t bits);
struct ir_value *lower_pred(struct lower_fn *f, const struct ptx_operand *op); /* with !p */
/* b32 as a predicate */
struct ir_value *lower_is_not_zero(struct lower_fn *f, struct ir_value *v);
/* Cuts or extends (by the sign of `type`) to `to`. */
struct ir_value *lower_fit(struct lower_fn *f, struct ir_value *v, enum ir_type type,
                           enum ir_type to);
/* Writes a result of `type` to a register, vector, pair or sink; honours the guard by select. */
void lower_dst(struct lower_fn *f, const struct ptx_operand *op, struct ir_value *v,
               enum ir_type type);
/* Address operand: value plus constant offset; *out_space becomes LOCAL for .param variables of
 * functions. */
struct ir_value *lower_address(struct lower_fn *f, const struct ptx_operand *op,
                               enum ir_space *space, int64_t *out_offset);
struct ir_value *lower_var_address(struct lower_fn *f, const struct ptx_var *var, int64_t offset);

/*
 * lower_ops.c: the rows of spec/ptx_ops.def. `run` is lower_do_NAME() of the column "lowering", in
 * lower_simple.c, lower_arith.c, lower_float.c, lower_cvt.c, lower_video.c, lower_mem.c,
 * lower_async.c, lower_bulk.c, lower_multimem.c, lower_cluster.c, lower_mbarrier.c, lower_hint.c,
 * lower_warp.c, lower_matrix.c, lower_texture.c, lower_wmma.c, lower_wgmma.c, lower_tensor_copy.c,
 * lower_call.c or lower_flow.c; NULL: not supported. False: not with these types.
 */
typedef bool lower_run_fn(struct lower_fn *f, const struct ptx_insn *in);
/* lower_count.c: a set of enum ir_count_class. */
uint64_t lower_count_classes(const struct ptx_form *form);

enum lower_guard { LOWER_GUARD_SELECT, LOWER_GUARD_AROUND, LOWER_GUARD_END };
#define LOWER_NO_OP IR_OP_COUNT
struct lower_op {
    lower_run_fn *run;
    enum ir_op int_op, float_op; /* of rows IR(int, float); LOWER_NO_OP: not with these types */
    enum lower_guard guard;
};
extern const struct lower_op lower_ops[PTX_OP_COUNT];
#define lower_do_IR(int_, float_) lower_do_simple
#define PTX_OP(id, name, min, max, sig, classes, own, ptx_ver, sm, doc, lowering, guard)           \
    lower_run_fn lower_do_##lowering;
#include "ptx_ops.def"
#undef PTX_OP
/* Likewise the rows of spec/ptx_mods.def. */
struct lower_mod {
    bool is_lowered;
    uint32_t ir; /* enum ir_mod, of rows IR(name) */
};
extern const struct lower_mod lower_mods[PTX_MOD_COUNT];

/* lower_mem.c: as written; weak, and of the GPU, where nothing is. */
enum ir_sem lower_sem(const struct ptx_form *form);
enum ir_scope lower_scope(const struct ptx_form *form);

/* lower_operand.c: is it a register of that many bits? Predicates have one. */
bool lower_is_reg(const struct lower_fn *f, const struct ptx_operand *op, unsigned bits);

/* lower_simple.c */
/* The instruction as that one operation, without writing its result; and the writing. */
struct ir_instr *lower_simple_emit(struct lower_fn *f, const struct ptx_insn *in, enum ir_op op);
void lower_simple_dst(struct lower_fn *f, const struct ptx_insn *in, struct ir_instr *r);
/* Both; false for LOWER_NO_OP. */
bool lower_simple(struct lower_fn *f, const struct ptx_insn *in, enum ir_op op);
enum ir_rnd lower_rounding(const struct ptx_form *form);

/* lower_hint.c */
/*
 * Operand `at`, behind all others, when the instruction has a cache policy: *n sources become one
 * more. lower_access_hints() then says so in the instruction, and what else of caches it says.
 */
void lower_policy_source(struct lower_fn *f, const struct ptx_insn *in, uint32_t at,
                         struct ir_value **src, uint32_t *n);
void lower_access_hints(struct ir_instr *r, const struct ptx_form *form);

/* lower_cvt.c: which types convert, and with which words and operands */
bool lower_cvt_types(const struct ptx_form *form);
bool lower_cvt_variant(const struct ptx_insn *in);

/* lower_float.c: what integers leave to it */
lower_run_fn lower_float_min_max;
/* Of one type, of f32x2, or of halves and f32. */
bool lower_float(struct lower_fn *f, const struct ptx_insn *in, enum ir_op op);
void lower_ret(struct lower_fn *f);
/* lower_proto.c: what crosses a call of a parameter: so many values of this type */
enum ir_type lower_chunk_type(const struct ptx_var *var);
uint32_t lower_chunk_count(const struct ptx_var *var);
enum hd_status lower_proto(const struct ptx_var *params, const struct ptx_var *rets,
                           struct hd_arena *arena, struct ir_proto *out);
void lower_entry_args(struct lower_fn *f);

void lower_fail_unresolved(struct lower_fn *f, struct hd_str name);

/* lower_link.c */
/* Does some module define function number `index`? */
bool lower_program_has_body(const struct lower_program *program, uint32_t index);
struct ir_func *lower_func_decl(const struct lower_program *program, const struct ptx_func *func);
bool lower_var_defined(const struct ir_var *var);
void lower_var_fill(struct ir_var *ir, const struct ptx_var *v);

/* lower_program.c: what a name stands for, in the module being made; NULL when nobody defines it.
 * `is_called`: its address is not enough, the body is needed. */
struct ir_var *lower_find_var(struct lower_fn *f, const struct ptx_var *var);
struct ir_func *lower_find_func(struct lower_fn *f, const struct ptx_func *func, bool is_called);

/* lower_runtime.c: calls of the CUDA runtime in kernels. */
bool lower_is_runtime_call(struct hd_str name);
/* The result, or NULL when the declaration does not fit. */
struct ir_value *lower_runtime_call(struct lower_fn *f, struct hd_str name,
                                    const struct ir_proto *proto, uint32_t n,
                                    struct ir_value **args);
struct ir_value *lower_current_graph_exec(struct lower_fn *f);

/* lower_flow.c */
enum hd_status lower_function(struct lower_job *job, const struct lower_body *body,
                              struct ir_func *ir);

/* lower_vector.c: the instruction with vector registers as the lists of their elements. */
const struct ptx_insn *lower_spread(struct lower_fn *f, const struct ptx_insn *in);

/* lower_support.c: the slice, as one table. */
bool lower_in_slice(const struct ptx_insn *insn, const char **out_why);

struct ir_instr *lower_emit(struct lower_fn *f, enum ir_op op, enum ir_type type, uint32_t nsrc,
                            struct ir_value *const *src, uint32_t ndst);
struct ir_value *lower_op(struct lower_fn *f, enum ir_op op, enum ir_type type, uint32_t nsrc,
                          struct ir_value *const *src);

static inline struct ir_value *lower_op1(struct lower_fn *f, enum ir_op op, enum ir_type t,
                                         struct ir_value *a)
{
    return lower_op(f, op, t, 1, (struct ir_value *[]){a});
}

static inline struct ir_value *lower_op2(struct lower_fn *f, enum ir_op op, enum ir_type t,
                                         struct ir_value *a, struct ir_value *b)
{
    return lower_op(f, op, t, 2, (struct ir_value *[]){a, b});
}

static inline struct ir_value *lower_op3(struct lower_fn *f, enum ir_op op, enum ir_type t,
                                         struct ir_value *a, struct ir_value *b, struct ir_value *c)
{
    return lower_op(f, op, t, 3, (struct ir_value *[]){a, b, c});
}

/* Remembers the first error, with the instruction's text and place. */
void lower_fail(struct lower_fn *f, enum hd_status status, const char *why);
/* The same for what no operands would make supported. */
void lower_fail_form(struct lower_fn *f, const char *why);

/* lower_enter.c: known by name and number, which is enough for an address; or its body, too */
struct ir_var *lower_enter_var(struct lower_job *job, const struct ir_var *decl);
struct ir_func *lower_enter_func(struct lower_job *job, const struct ir_func *decl);
struct ir_func *lower_want_func(struct lower_job *job, const struct ir_func *decl);

/* lower_program.c: marks in the declarations whose address is taken, by a look into every body
 * once, when the first kernel that calls through a pointer asks. */
enum hd_status lower_find_taken(struct lower_program *program);

/* lower_sizes.c */
void lower_reaches_destroy(struct lower_program *program);

/* lower_names.c: of the function that a line was inlined from. */
const char *lower_inlined_name(struct lower_fn *f, const struct ptx_loc *loc);

#endif
