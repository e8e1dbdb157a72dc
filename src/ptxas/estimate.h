/*
 * What a kernel needs of a GPU, estimated from its IR: the most 32-bit values that are alive at
 * once. An assembler reorders instructions, keeps some values in uniform registers and recomputes
 * others, so its numbers differ.
 */
#ifndef HD_PTXAS_ESTIMATE_H
#define HD_PTXAS_ESTIMATE_H

#include "ir/ir.h"

struct ptxas_estimate {
    unsigned registers; /* not above the limit */
    unsigned spilled;   /* what it leaves over */
    unsigned barriers;
    uint64_t stack_B, shared_B;
    bool uses_doubles;
};

/* limit: registers per thread that the caller allows. HD_NO_MEMORY. */
enum hd_status ptxas_estimate(const struct ir_func *kernel, unsigned limit,
                              struct ptxas_estimate *out) HD_MUST_CHECK;

#endif
