/*
 * Kernels that count what they execute (src/count): a second form of a kernel, made when a launch
 * that is to be counted first wants it, and which of the two a launch takes.
 *
 * Threads: any.
 */
#ifndef HD_CORE_DEBUG_COUNTED_H
#define HD_CORE_DEBUG_COUNTED_H

#include "base/compiler.h"

struct core_function;

struct hal_dispatch;
/*
 * What the packet of a launch runs: the kernel that counts, if somebody wants this launch counted,
 * or what core_debug_choose() says. Asked once for each launch; of graphs when their program is
 * made.
 */
struct hal_kernel *core_kernel_choose(struct core_function *function, struct hal_dispatch *p);

/* From the program's first call on: NVTX ranges are noted, where launches are chosen by them. */
enum hd_status core_counted_start(void) HD_MUST_CHECK;

#endif
