/*
 * Private to src/lower: the state of one function on its way from PTX to IR.
 *
 * SSA is built directly: a register read in a block that does not define it asks the predecessors
 * (one: on the fly, several: an empty phi that lower_ssa_finish() fills when every block is done).
 * Blocks are known before any instruction is lowered, so no phi waits for unknown predecessors;
 * they are lowered dominators first, wherever the text has them, so a single predecessor is done.
 */
#ifndef HD_LOWER_LOWER_PRIV_H
#define HD_LOWER_LOWER_PRIV_H

#include "lower/lower.h"

struct lower_link {
    struct ir_module *module;
    const struct ptx_module *ptx;
    struct hd_map vars;  /* u64 key struct ptx_var* -> struct ir_var* */
    struct hd_map funcs; /* u64 key struct ptx_func* -> struct ir_func* */
    /* Shared by the modules of a program: u64 key struct ir_func* -> struct ptx_func* that
     * defines it. */
    struct hd_map *bodies;
};

/* A run of instructions without control flow inside. */
struct lower_block {
    struct ir_block *ir;
    const struct ptx_stmt *first; /* statement to start at */
    const struct ptx_stmt *end;   /* exclusive; NULL = end of the body */
    bool guarded;                 /* holds one guarded instruction; its guard was tested before */
};

struct lower_phi {
    struct ir_instr *phi;
    uint32_t reg;
};

struct lower_fn {
    struct lower_link *link;
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
    struct hd_map labels; /* u64 key label index -> block index + 1 */
    uint32_t *files;      /* by PTX file number: IR file */
    uint32_t nfiles;
    const struct ptx_insn *insn;
    enum hd_status status; /* first error */
};

/* lower_ssa.c */
struct ir_value *lower_reg_read(struct lower_fn *f, uint32_t reg);
void lower_reg_write(struct lower_fn *f, uint32_t reg, struct ir_value *v);
enum hd_status lower_ssa_finish(struct lower_fn *f);

/* lower_operand.c */
enum ir_type lower_type(enum ptx_type type); /* IR_VOID: no such type in the slice */
enum ir_space lower_space(enum ptx_space space);
struct ir_value *lower_src(struct lower_fn *f, const struct ptx_operand *op, enum ir_type type);
struct ir_value *lower_const(struct lower_fn *f, enum ir_type type, uint64_t bits);
struct ir_value *lower_pred(struct lower_fn *f, const struct ptx_operand *op); /* with !p */
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

/* lower_arith.c, lower_mem.c, lower_warp.c, lower_call.c: false = not theirs. */
bool lower_arith(struct lower_fn *f, const struct ptx_insn *in);
bool lower_float(struct lower_fn *f, const struct ptx_insn *in);
bool lower_mem(struct lower_fn *f, const struct ptx_insn *in);
bool lower_warp(struct lower_fn *f, const struct ptx_insn *in);
bool lower_call(struct lower_fn *f, const struct ptx_insn *in);
void lower_ret(struct lower_fn *f);
enum hd_status lower_proto(const struct ptx_var *params, const struct ptx_var *rets,
                           struct hd_arena *arena, struct ir_proto *out);
void lower_entry_args(struct lower_fn *f);

/* lower_module.c: does some module define it? */
bool lower_func_defined(const struct lower_link *link, const struct ir_func *func);
bool lower_var_defined(const struct ir_var *var);

/* lower_flow.c */
enum hd_status lower_function(struct lower_link *link, const struct ptx_func *ptx,
                              struct ir_func *ir);

/* lower_support.c: the slice, as one table. */
bool lower_in_slice(const struct ptx_insn *insn, const char **out_why);

struct ir_instr *lower_emit(struct lower_fn *f, enum ir_op op, enum ir_type type, uint32_t nsrc,
                            struct ir_value *const *src, uint32_t ndst);
struct ir_value *lower_op(struct lower_fn *f, enum ir_op op, enum ir_type type, uint32_t nsrc,
                          struct ir_value *const *src);
/* Remembers the first error, with the instruction's text and place. */
void lower_fail(struct lower_fn *f, enum hd_status status, const char *why);

#endif
