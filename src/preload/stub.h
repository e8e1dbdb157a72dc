/*
 * Small functions made at run time: one per entry point that our library lacks, and jumps for
 * functions too short to hold one. They live in pages that are writable until stub_seal() and
 * executable from then on, for the rest of the process. Single-threaded.
 */
#ifndef HD_PRELOAD_STUB_H
#define HD_PRELOAD_STUB_H

#include "base/compiler.h"

/* A function that logs `name` on its first call and returns cudaErrorNotSupported; 0 when memory is
 * short. The name is copied. */
uintptr_t stub_not_supported(const char *name);

/* A jump to `target` placed within patch_near_range_B() of `addr`; 0 when no page is free there. */
uintptr_t stub_near_jump(uintptr_t addr, uintptr_t target);

void stub_seal(void);

#endif
