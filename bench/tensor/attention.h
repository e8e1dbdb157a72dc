/*
 * What the programs of attention share: softmax(q k' / sqrt(d)) v for some heads, all of them
 * matrices of bf16 by rows of d, and its check. A line for each:  name,median_ms,GFLOP/s,PASS|FAIL
 */
#pragma once
#include "../common/bench.h"

enum { ATTENTION_HEADS = 4, ATTENTION_SEQ = 2048 };

static inline float attention_value(uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &word, sizeof(value));
    return value;
}

static inline uint16_t attention_bits(float value)
{
    uint32_t word;

    memcpy(&word, &value, sizeof(word));
    return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

/* [head][row][d] each; out is written by what is measured. */
struct attention_case {
    long seq;
    int d;
    uint16_t *q, *k, *v, *out;
};

static inline size_t attention_elements(const attention_case &c)
{
    return (size_t)ATTENTION_HEADS * c.seq * c.d;
}

static inline uint16_t *attention_fill(size_t n, unsigned seed, float size)
{
    uint16_t *x = (uint16_t *)malloc(n * sizeof(*x));

    if (!x)
        exit(3);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        x[i] = attention_bits(((float)(seed >> 8) / 16777216.0f - 0.5f) * size);
    }
    return x;
}

/* Scores between about -4 and 4, so that some keys matter more than others. */
static inline attention_case attention_create(long seq, int d)
{
    attention_case c = {seq, d, NULL, NULL, NULL, NULL};
    size_t n = attention_elements(c);

    c.q = attention_fill(n, 1, 4), c.k = attention_fill(n, 2, 4), c.v = attention_fill(n, 3, 2);
    c.out = attention_fill(n, 4, 0);
    return c;
}

static inline void attention_destroy(attention_case &c)
{
    free(c.q), free(c.k), free(c.v), free(c.out);
}

static inline double attention_flops(const attention_case &c)
{
    return 4.0 * ATTENTION_HEADS * c.seq * c.seq * c.d;
}

/* Row `row` of all heads' rows in double precision. Weights are rounded to bf16 on the way, and so
 * is the result. */
static inline int attention_row_right(const attention_case &c, double *weight, size_t row)
{
    size_t first = row / c.seq * c.seq;
    double total = 0;

    for (long j = 0; j < c.seq; j++) {
        double score = 0;
        for (int e = 0; e < c.d; e++)
            score += (double)attention_value(c.q[row * c.d + e]) *
                     attention_value(c.k[(first + j) * c.d + e]);
        weight[j] = exp(score / sqrt((double)c.d));
        total += weight[j];
    }
    for (int e = 0; e < c.d; e++) {
        double want = 0, size = 0, have = attention_value(c.out[row * c.d + e]);
        for (long j = 0; j < c.seq; j++) {
            double part = weight[j] / total * attention_value(c.v[(first + j) * c.d + e]);
            want += part, size += fabs(part);
        }
        if (!(fabs(have - want) <= 0x1p-8 * size))
            return 0;
    }
    return 1;
}

/* Some rows of each head; a prime distance reaches every place in a tile. */
static inline int attention_right(const attention_case &c)
{
    double *weight = (double *)malloc(c.seq * sizeof(*weight));
    int right = 1;

    for (size_t row = 0; row < (size_t)ATTENTION_HEADS * c.seq; row += 101)
        right &= attention_row_right(c, weight, row);
    free(weight);
    return right;
}
