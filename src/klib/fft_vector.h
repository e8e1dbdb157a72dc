/*
 * Vectors of one level of instruction sets: FFT_REAL (float or double) and FFT_BYTES (of a vector)
 * come from the command line. Shuffles that the transforms need; loads and stores of lanes.
 */
#ifndef HD_KLIB_FFT_VECTOR_H
#define HD_KLIB_FFT_VECTOR_H

#include <string.h>

#include "base/compiler.h"
#include "klib/fft_plan.h"
#include "klib/halves.h"

#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

typedef FFT_REAL real;
enum { WIDTH = FFT_BYTES / sizeof(real) };
typedef real vec __attribute__((vector_size(FFT_BYTES)));
typedef real vec_unaligned
    __attribute__((vector_size(FFT_BYTES), aligned(sizeof(real)), may_alias));

struct complex_vec {
    vec re, im;
};

/* ---- shuffles; the compiler has to see lists of constants */

#define LIST_2(F, h) F(0, h), F(1, h)
#define LIST_4(F, h) LIST_2(F, h), F(2, h), F(3, h)
#define LIST_8(F, h) LIST_4(F, h), F(4, h), F(5, h), F(6, h), F(7, h)
#define LIST_16(F, h)                                                                              \
    LIST_8(F, h), F(8, h), F(9, h), F(10, h), F(11, h), F(12, h), F(13, h), F(14, h), F(15, h)
#define LIST_OF(width)       LIST_OF_(width)
#define LIST_OF_(width)      LIST_##width
#define LIST                 LIST_OF(FFT_WIDTH)
#define SHUFFLED(a, b, F, h) __builtin_shufflevector(a, b, LIST(F, h))

#define EVEN(i, h)  (2 * (i))
#define ODD(i, h)   (2 * (i) + 1)
#define ZIP(i, h)   ((h) * (WIDTH / 2) + (i) / 2 + (i) % 2 * WIDTH)
#define LEFT(i, h)  ((i) & (h) ? WIDTH + (i) - (h) : (i))
#define RIGHT(i, h) ((i) & (h) ? WIDTH + (i) : (i) + (h))
#define BACK(i, h)  (WIDTH - 1 - (i))

_Static_assert(WIDTH == FFT_WIDTH, "the preprocessor's number");

#define TRANSPOSE_STEP(rows, h)                                                                    \
    if ((h) < WIDTH) {                                                                             \
        UNROLL                                                                                     \
        for (int i = 0; i < WIDTH; i++)                                                            \
            if (!(i & (h))) {                                                                      \
                vec a = rows[i], b = rows[i + (h)];                                                \
                rows[i] = SHUFFLED(a, b, LEFT, h);                                                 \
                rows[i + (h)] = SHUFFLED(a, b, RIGHT, h);                                          \
            }                                                                                      \
    }

INLINE void transpose(vec rows[WIDTH]){TRANSPOSE_STEP(rows, 1)
#if FFT_WIDTH > 2
                                           TRANSPOSE_STEP(rows, 2)
#endif
#if FFT_WIDTH > 4
                                               TRANSPOSE_STEP(rows, 4)
#endif
#if FFT_WIDTH > 8
                                                   TRANSPOSE_STEP(rows, 8)
#endif
}

INLINE struct complex_vec times(struct complex_vec a, vec re, vec im)
{
    return (struct complex_vec){a.re * re - a.im * im, a.re * im + a.im * re};
}

/* A number in every lane. */
INLINE vec all(real x)
{
    return x - (vec){0};
}

INLINE struct complex_vec split(const real *from)
{
    vec a = *(const vec_unaligned *)from, b = *(const vec_unaligned *)(from + WIDTH);

    return (struct complex_vec){SHUFFLED(a, b, EVEN, 0), SHUFFLED(a, b, ODD, 0)};
}

INLINE void join(real *to, vec re, vec im)
{
    *(vec_unaligned *)to = SHUFFLED(re, im, ZIP, 0);
    *(vec_unaligned *)(to + WIDTH) = SHUFFLED(re, im, ZIP, 1);
}

/* ---- numbers in memory */

/* Lines of one side. Offsets and steps count scalars. */
struct side {
    char *at;
    uint8_t type;       /* enum klib_fft_type */
    bool is_complex;    /* else without imaginary parts */
    bool swapped;       /* real and imaginary parts change places: a transform is its inverse so */
    int64_t step;       /* from a number of a line to the next */
    int64_t im;         /* from a real part to the imaginary one */
    int64_t off[WIDTH]; /* of each lane's line */
    int lanes;
};

INLINE real scalar_at(const struct side *s, int64_t i)
{
    switch (s->type) {
    case KLIB_FFT_F16:
        return klib_f32_of_f16(((const uint16_t *)s->at)[i]);
    case KLIB_FFT_BF16:
        return klib_f32_of_bf16(((const uint16_t *)s->at)[i]);
    default:
        return ((const real *)s->at)[i];
    }
}

INLINE void put_scalar(const struct side *s, int64_t i, real x)
{
    switch (s->type) {
    case KLIB_FFT_F16:
        ((uint16_t *)s->at)[i] = klib_f16_of_f32((float)x);
        break;
    case KLIB_FFT_BF16:
        ((uint16_t *)s->at)[i] = klib_bf16_of_f32((float)x);
        break;
    default:
        ((real *)s->at)[i] = x;
    }
}

enum way { ONE_BY_ONE, ACROSS, ALONG };

/* Whole vectors are across lanes, or along the lines. */
INLINE enum way way_of(const struct side *s)
{
    if (s->type == KLIB_FFT_F16 || s->type == KLIB_FFT_BF16 || !s->is_complex || s->im != 1)
        return ONE_BY_ONE;
    bool is_across = true;
    for (int l = 1; l < s->lanes; l++)
        is_across &= s->off[l] == s->off[0] + 2 * l;
    return is_across && (s->lanes > 1 || s->step != 2) ? ACROSS : s->step == 2 ? ALONG : ONE_BY_ONE;
}

INLINE void put_lanes(vec *x, int64_t k, vec re, vec im, bool swapped)
{
    x[2 * k] = swapped ? im : re;
    x[2 * k + 1] = swapped ? re : im;
}

static void load_one_by_one(vec *x, const struct side *s, int64_t from, int64_t len)
{
    for (int64_t k = from; k < len; k++) {
        vec re = {0}, im = {0};
        for (int l = 0; l < s->lanes; l++) {
            int64_t i = s->off[l] + k * s->step;
            re[l] = scalar_at(s, i);
            if (s->is_complex)
                im[l] = scalar_at(s, i + s->im);
        }
        put_lanes(x, k, re, im, s->swapped);
    }
}

static void load_along(vec *x, const struct side *s, int64_t len)
{
    vec re[WIDTH], im[WIDTH];
    int64_t k;

    for (k = 0; k + WIDTH <= len; k += WIDTH) {
        for (int l = 0; l < WIDTH; l++) {
            struct complex_vec c = {{0}, {0}};
            if (l < s->lanes)
                c = split((const real *)s->at + s->off[l] + 2 * k);
            re[l] = c.re;
            im[l] = c.im;
        }
        transpose(re);
        transpose(im);
        for (int i = 0; i < WIDTH; i++)
            put_lanes(x, k + i, re[i], im[i], s->swapped);
    }
    load_one_by_one(x, s, k, len);
}

/* Numbers of lines, as pairs of vectors; lanes that have no line are 0. */
static void load(vec *x, const struct side *s, int64_t len)
{
    const real *at = (const real *)s->at + s->off[0];

    switch (way_of(s)) {
    case ACROSS:
        if (s->lanes == WIDTH) {
            for (int64_t k = 0; k < len; k++, at += s->step) {
                struct complex_vec c = split(at);
                put_lanes(x, k, c.re, c.im, s->swapped);
            }
            break;
        }
        for (int64_t k = 0; k < len; k++, at += s->step) {
            real part[2 * WIDTH] = {0};
            memcpy(part, at, (size_t)s->lanes * 2 * sizeof(real));
            struct complex_vec c = split(part);
            put_lanes(x, k, c.re, c.im, s->swapped);
        }
        break;
    case ALONG:
        load_along(x, s, len);
        break;
    case ONE_BY_ONE:
        load_one_by_one(x, s, 0, len);
        break;
    }
}

static void store_one_by_one(const vec *x, const struct side *s, int64_t from, int64_t len)
{
    for (int64_t k = from; k < len; k++) {
        vec re = x[2 * k + s->swapped], im = x[2 * k + !s->swapped];
        for (int l = 0; l < s->lanes; l++) {
            int64_t i = s->off[l] + k * s->step;
            put_scalar(s, i, re[l]);
            if (s->is_complex)
                put_scalar(s, i + s->im, im[l]);
        }
    }
}

static void store_along(const vec *x, const struct side *s, int64_t len)
{
    vec re[WIDTH], im[WIDTH];
    int64_t k;

    for (k = 0; k + WIDTH <= len; k += WIDTH) {
        for (int i = 0; i < WIDTH; i++) {
            re[i] = x[2 * (k + i) + s->swapped];
            im[i] = x[2 * (k + i) + !s->swapped];
        }
        transpose(re);
        transpose(im);
        for (int l = 0; l < s->lanes; l++)
            join((real *)s->at + s->off[l] + 2 * k, re[l], im[l]);
    }
    store_one_by_one(x, s, k, len);
}

static void store(const vec *x, const struct side *s, int64_t len)
{
    real *at = (real *)s->at + s->off[0];

    switch (way_of(s)) {
    case ACROSS:
        if (s->lanes == WIDTH) {
            for (int64_t k = 0; k < len; k++, at += s->step)
                join(at, x[2 * k + s->swapped], x[2 * k + !s->swapped]);
            break;
        }
        for (int64_t k = 0; k < len; k++, at += s->step) {
            real part[2 * WIDTH];
            join(part, x[2 * k + s->swapped], x[2 * k + !s->swapped]);
            memcpy(at, part, (size_t)s->lanes * 2 * sizeof(real));
        }
        break;
    case ALONG:
        store_along(x, s, len);
        break;
    case ONE_BY_ONE:
        store_one_by_one(x, s, 0, len);
        break;
    }
}

#endif
