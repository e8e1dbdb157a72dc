/*
 * What this host is measured with: loops of multiply-adds that depend on nothing but themselves,
 * and sweeps over memory, by the widest vectors that the device uses for kernels.
 */
#ifndef HEDDLE_TOOLS_ROOFLINE_LOOPS_H
#define HEDDLE_TOOLS_ROOFLINE_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/* Sweeps work on multiples of so many bytes, at addresses that are multiples of 64. */
#define ROOFLINE_STEP_B 1024u

struct roofline_loops {
    const char *vectors;        /* "512 bits" */
    unsigned sp_flop, dp_flop;  /* of a turn */
    void (*sp)(uint64_t turns); /* multiply-adds in f32 */
    void (*dp)(uint64_t turns); /* and f64 */
    void (*read)(const void *from, size_t size_B);
    /* to[i] += from[i]: reads both, writes one; size_B of each. */
    void (*update)(void *to, const void *from, size_t size_B);
};

/* The vectors that code of that path (avx512, avx2, generic) has, if this host has them; else
 * narrower ones. */
const struct roofline_loops *roofline_loops_of(const char *path);

#endif
