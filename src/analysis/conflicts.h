/*
 * Which reads of a kernel need no look by somebody who looks for races: analysis of a kernel with
 * probes (ir/probe.h).
 *
 * Shared memory. In an interval between two barriers of the whole CTA in which nobody writes, reads
 * meet nobody. All threads are in the same interval if control between barriers is alike in all
 * warps (analysis/alike.h), and an interval is what can be reached from its barrier without another
 * one.
 *
 * Global memory. What a kernel writes goes by addresses that it makes from pointers among its
 * parameters and from variables. If all are known, memory that none of those points into is only
 * read while the kernel runs, unless it writes out of bounds.
 *
 * Anything that is not understood makes the answer "may meet": calls that access memory, partial
 * barriers, copies that are asynchronous, pointers that come from memory, tensor copies.
 */
#ifndef HD_ANALYSIS_CONFLICTS_H
#define HD_ANALYSIS_CONFLICTS_H

#include "ir/ir.h"

/* What written addresses are made from. */
enum ir_root_kind {
    IR_ROOT_PARAM, /* at: offset in the parameter block of 64 bits that may be a pointer */
    IR_ROOT_VAR,   /* at: ir_var.index */
};
struct ir_root {
    enum ir_root_kind kind;
    uint32_t at;
};
enum { IR_ROOTS_MAX = 62 };

struct ir_conflicts {
    bool knows_writes; /* `written` has everything that global memory is written by */
    uint32_t nwritten;
    struct ir_root written[IR_ROOTS_MAX];
    uint32_t nprobes; /* numbers of probes are below */
    /* By number: a weak load of shared memory that meets no write. NULL: none. */
    bool *is_quiet;
};

/* Of a kernel whose module has probes; NULL: no memory. */
struct ir_conflicts *ir_conflicts_create(const struct ir_func *kernel);
void ir_conflicts_destroy(struct ir_conflicts *conflicts);

#endif
