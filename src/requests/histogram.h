/*
 * Durations, counted in buckets whose width grows with them: exact up to 128 ns, and 64 buckets for
 * each power of two above, so that a bucket's ends differ by at most a 64th. Each value is counted,
 * none is lost; what is longer than REQUESTS_MAX_NS (2.4 hours) counts as that.
 *
 * Bucket b holds what is longer than requests_bucket_ns(b - 1) and at most requests_bucket_ns(b).
 * Powers of two from 128 ns are such ends, so "at most 2^k ns" can be counted exactly as well.
 *
 * The form is that of HdrHistogram (hdrhistogram.org).
 */
#ifndef HD_REQUESTS_HISTOGRAM_H
#define HD_REQUESTS_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/compiler.h"

enum {
    REQUESTS_STEP_BITS = 6, /* buckets of a power of two, as a power of two */
    REQUESTS_EXACT = 2 << REQUESTS_STEP_BITS,
    REQUESTS_LAST_BITS = 43,
    REQUESTS_BUCKETS =
        REQUESTS_EXACT + ((REQUESTS_LAST_BITS - REQUESTS_STEP_BITS - 1) << REQUESTS_STEP_BITS),
};
#define REQUESTS_MAX_NS ((uint64_t)1 << REQUESTS_LAST_BITS)

static inline unsigned requests_bucket_of(uint64_t ns)
{
    uint64_t v = HD_MIN(ns, REQUESTS_MAX_NS);

    v -= v > 0;
    if (v < REQUESTS_EXACT)
        return (unsigned)v;
    unsigned shift = 63 - (unsigned)__builtin_clzll(v) - REQUESTS_STEP_BITS;
    return (shift << REQUESTS_STEP_BITS) + (unsigned)(v >> shift);
}

/* The longest duration that the bucket holds. */
static inline uint64_t requests_bucket_ns(unsigned bucket)
{
    if (bucket < REQUESTS_EXACT)
        return (uint64_t)bucket + 1;
    unsigned shift = (bucket >> REQUESTS_STEP_BITS) - 1;
    uint64_t v = (bucket & ((1u << REQUESTS_STEP_BITS) - 1)) + (1u << REQUESTS_STEP_BITS);
    return (v + 1) << shift;
}

struct requests_counts {
    uint64_t at[REQUESTS_BUCKETS];
};

uint64_t requests_total(const struct requests_counts *counts);
/*
 * The duration that the part `quantile` of all do not exceed: the end of its bucket, so at most a
 * 64th (and 1 ns) more than the exact one. 0 when there are none.
 */
uint64_t requests_quantile_ns(const struct requests_counts *counts, double quantile);
/* How many took at most so long; exact for powers of two from 128 ns. */
uint64_t requests_below(const struct requests_counts *counts, uint64_t ns);

#endif
