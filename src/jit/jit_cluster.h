/*
 * The shared windows of a cluster, for functions that generated code calls: who reaches into
 * another CTA (multicast copies, remote barriers, pairs of CTAs) finds it here.
 *
 * `address` is a host address, as generated code hands it to functions. The layout is that of
 * struct ir_window (ir.h). CTAs of ordinary launches are clusters of one, so no case is special.
 * Kernels whose ir_window.clusters is not set know nothing of the others: an operation that reaches
 * them must be one that ir_instr_sees_cluster() knows.
 */
#ifndef HD_JIT_JIT_CLUSTER_H
#define HD_JIT_JIT_CLUSTER_H

#include "jit/jit.h"

/* How many CTAs the cluster has; ranks are less. */
static inline uint32_t jit_cluster_ctas(const struct jit_cta *cta)
{
    return cta->launch->cluster_ctas;
}

/* Start of the shared window of a CTA of the cluster. */
static inline char *jit_cluster_window(const struct jit_cta *cta, uint32_t rank)
{
    assert(rank < jit_cluster_ctas(cta));
    return cta->cluster + rank * IR_CLUSTER_STRIDE_B;
}

/* The CTA in whose window an address is, if it is in one. */
static inline uint64_t jit_cluster_rank_of(const struct jit_cta *cta, uint64_t address)
{
    return (address - (uint64_t)(uintptr_t)cta->cluster) >> IR_CLUSTER_SHIFT;
}

/* How far into its CTA's window. */
static inline uint64_t jit_cluster_offset_of(const struct jit_cta *cta, uint64_t address)
{
    return (address - (uint64_t)(uintptr_t)cta->cluster) & (IR_CLUSTER_STRIDE_B - 1);
}

/* Are these bytes in one window of the cluster, the own one or another? */
static inline bool jit_cluster_holds(const struct jit_cta *cta, uint64_t address, uint64_t size_B)
{
    uint64_t offset = jit_cluster_offset_of(cta, address), all_B = cta->launch->shared_B;

    return jit_cluster_rank_of(cta, address) < jit_cluster_ctas(cta) && offset <= all_B &&
           size_B <= all_B - offset;
}

#endif
