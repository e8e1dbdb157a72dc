/*
 * What the host's processor has, as three levels of instruction sets: those that the code generator
 * (jit.h) and our own loops distinguish. A level has all that the ones before it have. Looked up,
 * never concluded from a model's name.
 *
 * HEDDLE_HOST_CPU hides what is beyond a level, so that tests see what they would on such a host.
 * HEDDLE_CPU chooses among what is left.
 *
 * Threads: any.
 */
#ifndef HD_BASE_HOST_H
#define HD_BASE_HOST_H

#include "base/compiler.h"

enum hd_host_level {
    HD_HOST_GENERIC, /* what every host of the architecture has */
    HD_HOST_AVX2,    /* AVX2, FMA, F16C */
    HD_HOST_AVX512,  /* AVX-512 F, BW, CD, DQ and VL */
};

/* "generic", "avx2", "avx512" */
const char *hd_host_level_name(enum hd_host_level level);

/* Has this host, less what HEDDLE_HOST_CPU hides, all of `level`? */
bool hd_host_has(enum hd_host_level level);

#endif
