/*
 * Inside the Fourier transforms: what a plan consists of, and what is compiled for each level of
 * instruction sets and for float and double (fft_lanes.c).
 *
 * Lanes: WIDTH lines at once, one in each lane of vectors. A number of all of them is a pair of
 * vectors, real and imaginary parts. A core is a transform of lanes, of some length.
 *
 * A line alone of length n1 n2 is a matrix of n1 rows: a core transforms its columns, WIDTH at a
 * time; they are turned by roots of unity and transposed; another core transforms the rows.
 *
 * A length with a prime factor above FFT_PRIME_MAX is a convolution with a chirp (Bluestein's
 * algorithm), of lanes as of a line alone.
 */
#ifndef HD_KLIB_FFT_PLAN_H
#define HD_KLIB_FFT_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "klib/fft.h"

enum { FFT_STAGES = 40, FFT_PRIME_MAX = 31 };

/* Stockham's: s transforms of length radix * m side by side become s * radix of length m. */
struct fft_stage {
    uint32_t radix;
    int64_t m, s;
    size_t turns;  /* in roots: radix - 1 complex numbers for each of m */
    size_t powers; /* in roots, of an odd radix: its own roots of unity */
};

struct fft_core {
    int64_t n;
    int64_t span; /* numbers that a buffer of it has to hold */
    unsigned nstages;
    struct fft_stage stages[FFT_STAGES];
    void *roots;
    /* Bluestein's: */
    struct fft_core *inner;
    void *chirp, *filter; /* n, inner->n complex numbers */
};

struct fft_line {
    int64_t n;
    size_t scratch_B;
    int64_t n1, n2;
    struct fft_core *columns, *rows; /* of length n1, n2 */
    /* The root for row k and column g WIDTH + l is fixed[k][l] moving[g][k]. */
    void *fixed;  /* for each row a pair of vectors */
    void *moving; /* complex numbers */
    /* Bluestein's: */
    struct fft_line *inner;
    void *chirp, *filter;
};

struct fft_ops;

struct klib_fft_plan {
    struct klib_fft_plan *next;
    unsigned references;
    int64_t n;
    uint8_t kind, type;
    bool alone;
    bool has_line; /* else: lanes */
    const struct fft_ops *ops;
    int64_t length; /* of the complex transform: n, n / 2 for real numbers where n is even */
    struct fft_core *core;
    struct fft_line *line;
    void *half; /* roots of unity of order n, length + 1 of them: of real numbers, n even */
    size_t scratch_B;
};

struct fft_ops {
    unsigned width;
    size_t real_B;
    /* Lines [first, last), in lanes or alone. */
    void (*lines)(const struct klib_fft *p, int64_t first, int64_t last, void *scratch);
    /* Parts of a line alone, which hand over through p->work. */
    void (*columns)(const struct klib_fft *p, int64_t first, int64_t last, void *scratch);
    void (*rows)(const struct klib_fft *p, int64_t first, int64_t last, void *scratch);
    void (*halves)(const struct klib_fft *p, int64_t first, int64_t last);
    /* Of n complex numbers one after the other, for plans of others. */
    void (*line)(const struct fft_line *line, const void *from, void *to, void *scratch);
};

/* Beside the numbers themselves. */
static inline int64_t fft_ceil(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Of a pass with several kernels: the complex numbers that halves() and the others exchange come
 * first, then the transposed matrix. */
static inline size_t fft_exchange_B(const struct klib_fft_plan *plan)
{
    size_t whole = (size_t)plan->length * 2 * plan->ops->real_B;
    return plan->kind == KLIB_FFT_C2C ? 0 : (whole + 63) / 64 * 64;
}

extern const struct fft_ops klib_fft_f32_generic, klib_fft_f64_generic;
extern const struct fft_ops klib_fft_f32_avx2, klib_fft_f64_avx2;
extern const struct fft_ops klib_fft_f32_avx512, klib_fft_f64_avx512;

#endif
