/* See histogram.h. */
#include "requests/histogram.h"

#include <math.h>

uint64_t requests_total(const struct requests_counts *counts)
{
    uint64_t total = 0;

    for (unsigned b = 0; b < REQUESTS_BUCKETS; b++)
        total += counts->at[b];
    return total;
}

uint64_t requests_quantile_ns(const struct requests_counts *counts, double quantile)
{
    uint64_t total = requests_total(counts), sum = 0;
    double rank = ceil(quantile * (double)total);

    for (unsigned b = 0; total && b < REQUESTS_BUCKETS; b++) {
        sum += counts->at[b];
        if (sum && (double)sum >= rank)
            return requests_bucket_ns(b);
    }
    return total ? REQUESTS_MAX_NS : 0;
}

uint64_t requests_below(const struct requests_counts *counts, uint64_t ns)
{
    uint64_t sum = 0;

    for (unsigned b = 0; b < REQUESTS_BUCKETS && requests_bucket_ns(b) <= ns; b++)
        sum += counts->at[b];
    return sum;
}
