/*
 * Private to src/opt: every pass. Each returns whether it changed anything, leaves the function
 * valid, compacted if it changed the CFG, and reports lack of memory through the module's arena
 * (arena.failed), which the runner checks.
 */
#ifndef HD_OPT_PASSES_H
#define HD_OPT_PASSES_H

#include "analysis/analysis.h"

/*
 * name, scope (MODULE or FUNC), doc. ir_lower_*: required. Order here is documentation only; the
 * pipelines are in pipeline.c (common) and target_*.c (of a device).
 */
#define OPT_PASS_LIST(X)                                                                           \
    X(ir_lower_inline, MODULE, "inlines direct calls bottom-up, except recursion")                 \
    X(ir_opt_dead_funcs, MODULE, "drops functions that no kernel can reach")                       \
    X(ir_opt_slots, FUNC, "turns local variables with constant addresses into SSA values")         \
    X(ir_opt_copy, FUNC, "removes copies, trivial phis, pack/unpack pairs and identity casts")     \
    X(ir_opt_fold, FUNC, "folds constants, applies integer identities, cheapens operations")       \
    X(ir_opt_space, FUNC,                                                                          \
      "makes generic accesses that can only be shared or local accesses of that")                  \
    X(ir_opt_cse, FUNC, "merges equal computations where one dominates the other")                 \
    X(ir_opt_address, FUNC, "moves constants out of addresses into the memory operations")         \
    X(ir_opt_simplify_cfg, FUNC, "folds branches, merges chains, removes empty blocks")            \
    X(ir_opt_if_convert, FUNC, "turns small pure diamonds and triangles into selects")             \
    X(ir_opt_reroll, FUNC, "rolls up unrolled loops that gather, where lanes run one by one")      \
    X(ir_opt_agree, FUNC, "makes versions of loops for when the lanes of a warp go together")      \
    X(ir_opt_close_loops, FUNC, "gives loop values that are used outside a phi at the exit")       \
    X(ir_opt_products, FUNC, "brings matrix products together")                                    \
    X(ir_opt_weave, FUNC, "puts long chains of operations side by side")                           \
    X(ir_opt_dce, FUNC, "removes computations whose results nobody needs")

enum opt_pass {
#define X(name, scope, doc) OPT_PASS_##name,
    OPT_PASS_LIST(X)
#undef X
        OPT_PASS_COUNT
};

/* A row of a pipeline. Groups are consecutive steps of equal number. */
struct opt_step {
    unsigned group;
    unsigned rounds; /* at most, of the group */
    enum opt_pass pass;
};

/* target_cpu.c; the launch is of whole warps of one dimension, in vectors of 16 lanes. */
#define OPT_CPU_STEPS 10
extern const struct opt_step opt_cpu_steps[OPT_CPU_STEPS];
extern const struct ir_launch_facts opt_cpu_launch;

#define OPT_ARG_MODULE      struct ir_module *module
#define OPT_ARG_FUNC        struct ir_func *func
#define X(name, scope, doc) bool name(OPT_ARG_##scope);
OPT_PASS_LIST(X)
#undef X

/* ---- opt_util.c: what several passes need */

/* Map of values to replacements, by id, resolved on lookup. NULL `map`: memory ran out. */
struct opt_replace {
    struct ir_func *func;
    struct ir_value **map;
    uint32_t n; /* ids at or above have no entry */
    bool changed;
};

bool opt_replace_init(struct opt_replace *r, struct ir_func *func);
struct ir_value *opt_replace_get(struct opt_replace *r, struct ir_value *value);
void opt_replace_set(struct opt_replace *r, struct ir_value *from, struct ir_value *to);
/* Rewrites the sources of one instruction. */
void opt_replace_sources(struct opt_replace *r, struct ir_instr *instr);
/* Rewrites the whole function and frees the map. Returns whether anything was replaced. */
bool opt_replace_fini(struct opt_replace *r);

/* A builder in front of an instruction, with its source place. */
struct ir_builder opt_before(struct ir_instr *instr);
/* Makes `instr` a constant in place. */
void opt_make_const(struct ir_instr *instr, uint64_t bits, uint64_t bits_hi);
/* All ones of the width. */
uint64_t opt_mask(enum ir_type type);
bool opt_type_is_int(enum ir_type type);
/* opt_bound.c: what the value can be, and at most, unsigned. */
struct opt_range {
    uint64_t least, greatest;
};
struct opt_range opt_range(const struct ir_value *v);
uint64_t opt_bound(const struct ir_value *v);
/* Iterations of a loop of one block whose counter starts at another number in each thread, if they
 * are as many for all; 0: that is not known, or it is no such loop. */
uint64_t opt_trip_count(const struct ir_block *b);
bool opt_is_never_negative(const struct ir_value *v);
/* x with all bits below its highest one. */
uint64_t opt_filled(uint64_t x);
/* Can it be removed when its results are unused? */
bool opt_removable(const struct ir_instr *instr);
/* May its first two sources trade places? Not in f64, where the first NaN operand is the result. */
bool opt_commutes(const struct ir_instr *instr);
/* The module ran out of memory somewhere. */
void opt_failed(struct ir_func *func);

/*
 * Takes one edge block -> block->succs[slot] away: the successor's phis lose the operand. The
 * caller sets the successors. Links are kept exact.
 */
void opt_edge_remove(struct ir_block *from, struct ir_block *to);
/* Adds `from` to the predecessors of `to`; its phis get a copy of operand `like`. */
bool opt_edge_add(struct ir_block *from, struct ir_block *to, uint32_t like);

#endif
