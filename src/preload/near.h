/*
 * Jumps made at run time for functions too short to hold one: placed within reach of a short branch
 * from there. They live in pages that are writable until near_seal() and executable from then on,
 * for the rest of the process. Single-threaded: the caller serialises.
 */
#ifndef HD_PRELOAD_NEAR_H
#define HD_PRELOAD_NEAR_H

#include "base/compiler.h"

/* A jump to `target` placed within patch_near_range_B() of `addr`; 0 when no page is free there. */
uintptr_t near_jump(uintptr_t addr, uintptr_t target);

void near_seal(void);

#endif
