/*
 * What the programs of this folder measure with: a clock, medians, and calls that must succeed.
 */
#ifndef HD_BENCH_PRODUCTS_MEASURE_H
#define HD_BENCH_PRODUCTS_MEASURE_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CK(call)                                                                                   \
    do {                                                                                           \
        int code = (int)(call);                                                                    \
        if (code) {                                                                                \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, code);                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Another one with -c: the process's, which other programs disturb less. */
static clockid_t clock_used = CLOCK_MONOTONIC;

static double now_us(void)
{
    struct timespec t;

    clock_gettime(clock_used, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts the values. */
static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), compare);
    return v[n / 2];
}

#endif
