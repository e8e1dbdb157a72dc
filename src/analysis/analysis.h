/*
 * Data-flow analyses over one function: uses, liveness, waiting. Dominance and loops, which the IR
 * itself needs, are in ir/cfg.h; shapes in analysis/shape.h. Each result is a snapshot: valid until
 * the function changes. All are computed into a caller-owned arena and never change the function.
 * They need a compacted function (ir_func_compact).
 */
#ifndef HD_ANALYSIS_ANALYSIS_H
#define HD_ANALYSIS_ANALYSIS_H

#include "ir/cfg.h"

/* Does a thread that waits for another one in a loop do so by this instruction? */
bool ir_polls(const struct ir_instr *in);
/* Is there a loop in the module that may wait for another thread? Also when memory is short. */
bool ir_may_wait(const struct ir_module *module);

/*
 * Who reads a value: users of value id are users[first[id]] .. users[first[id + 1] - 1], in layout
 * order, an instruction once per operand that it reads. Valid until an instruction changes.
 */
struct ir_uses {
    uint32_t *first; /* nvalues + 1 */
    struct ir_instr **users;
};

/*
 * Live values at block boundaries: ids in rising order. Phi operands are live out of their edge's
 * source. Memory goes with the number of live values, not with blocks times values.
 */
struct ir_live_set {
    const uint32_t *ids;
    uint32_t n;
};
struct ir_liveness {
    uint32_t words; /* of a bit set by value id, for ir_live_bits() */
    size_t
        *in_first; /* nblocks + 1: block b's ids are in[in_first[b]] .. in[in_first[b + 1] - 1] */
    size_t *out_first; /* likewise */
    uint32_t *in;
    uint32_t *out;
};
static inline struct ir_live_set ir_live_in(const struct ir_liveness *l, uint32_t block)
{
    return (struct ir_live_set){l->in + l->in_first[block],
                                (uint32_t)(l->in_first[block + 1] - l->in_first[block])};
}
static inline struct ir_live_set ir_live_out(const struct ir_liveness *l, uint32_t block)
{
    return (struct ir_live_set){l->out + l->out_first[block],
                                (uint32_t)(l->out_first[block + 1] - l->out_first[block])};
}
/* The same as a bit set of l->words words, all of which are written. */
void ir_live_bits(const struct ir_liveness *l, struct ir_live_set set, uint64_t *out_bits);
static inline bool ir_live_test(const uint64_t *bits, uint32_t id)
{
    return (bits[id / 64] >> (id % 64)) & 1;
}

enum hd_status ir_uses_compute(const struct ir_func *func, struct hd_arena *arena,
                               struct ir_uses *out) HD_MUST_CHECK;
/* Needs no order of blocks; a use that its definition does not dominate is live up to the entry. */
enum hd_status ir_liveness_compute(const struct ir_func *func, struct hd_arena *arena,
                                   struct ir_liveness *out) HD_MUST_CHECK;

#endif
