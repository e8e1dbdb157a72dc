/*
 * What the CTAs of a launch have in tensor memory (model/tensor.h), by what probes tell: which
 * columns are allocated, and which cells something has written. memcheck hears of what the device
 * would refuse and of what is left when all threads have ended, initcheck of reads of what nothing
 * wrote; that is reported here, in their names.
 *
 * A pair of blocks works in both memories, so they belong to the launch, under one lock, and are
 * found by the number of the CTA.
 */
#ifndef HD_SAN_TENSOR_MEMORY_H
#define HD_SAN_TENSOR_MEMORY_H

#include "san/tool.h"

/* False: no memory. */
bool san_tensor_memory_begin(struct san_launch *launch);
void san_tensor_memory_end(struct san_launch *launch);
void san_tensor_memory_cta_end(struct san_cta *cta);

/* TENSOR or TENSOR_WARP. HD_OK, or what the CTA fails with. */
enum hd_status san_tensor_memory_access(struct san_cta *cta, const struct san_sync *at);
/* The last thread of the CTA ends. */
enum hd_status san_tensor_memory_left(struct san_cta *cta);

#endif
