/*
 * AVX-512's names for what these sources use of it, on hosts without: vectors of 64 bytes that the
 * compiler (clang) makes two or four registers of. Masks are bits, as there.
 */
#pragma once
#include <immintrin.h>

#ifndef __AVX512F__
#pragma clang diagnostic ignored "-Wpsabi" /* nothing here is called from elsewhere */
#undef _mm512_shuffle_epi32                /* macros of immintrin.h */
#undef _mm512_shuffle_i32x4
#undef _mm512_mask_cmp_ps_mask
#undef _mm512_mask_i32gather_ps
typedef float wide_f __attribute__((vector_size(64)));
typedef unsigned wide_u __attribute__((vector_size(64)));
typedef int wide_i __attribute__((vector_size(64)));
typedef float wide_f_at __attribute__((vector_size(64), aligned(4)));
typedef unsigned wide_u_at __attribute__((vector_size(64), aligned(4)));

#define __m512    wide_f
#define __m512i   wide_u
#define __mmask16 unsigned short

#define _mm512_setzero_ps()       ((wide_f){0})
#define _mm512_setzero_si512()    ((wide_u){0})
#define _mm512_set1_ps(x)         ((wide_f){0} + (float)(x))
#define _mm512_set1_epi32(x)      ((wide_u){0} + (unsigned)(x))
#define _mm512_load_ps(p)         (*(const wide_f_at *)(p))
#define _mm512_loadu_ps(p)        (*(const wide_f_at *)(p))
#define _mm512_storeu_ps(p, v)    (*(wide_f_at *)(p) = (v))
#define _mm512_loadu_si512(p)     (*(const wide_u_at *)(p))
#define _mm512_storeu_si512(p, v) (*(wide_u_at *)(p) = (v))
#define _mm512_add_ps(a, b)       ((a) + (b))
#define _mm512_sub_ps(a, b)       ((a) - (b))
#define _mm512_mul_ps(a, b)       ((a) * (b))
#define _mm512_div_ps(a, b)       ((a) / (b))
#define _mm512_fmadd_ps(a, b, c)  wide_fmadd(a, b, c)
#define _mm512_add_epi32(a, b)    ((a) + (b))
#define _mm512_cvtepi32_ps(v)     __builtin_convertvector((wide_i)(v), wide_f)
#define _mm512_min_epu32(a, b)    __builtin_elementwise_min(a, b)
#define _mm512_max_epu32(a, b)    __builtin_elementwise_max(a, b)
#define _mm512_stream_ps(p, v)    wide_stream(p, (wide_u)(v))
#define _mm512_stream_si512(p, v) wide_stream(p, v)
#define _mm512_reduce_add_ps(v)   wide_sum(v)
#define _mm512_set_epi32(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)                           \
    ((wide_u){p, o, n, m, l, k, j, i, h, g, f, e, d, c, b, a})

/* In each quarter of 128 bits; by numbers of 32 bits. */
#define WIDE_QUARTERS(a, b, w, x, y, z)                                                            \
    __builtin_shufflevector(a, b, w, x, y, z, (w) + 4, (x) + 4, (y) + 4, (z) + 4, (w) + 8,         \
                            (x) + 8, (y) + 8, (z) + 8, (w) + 12, (x) + 12, (y) + 12, (z) + 12)
#define _mm512_unpacklo_epi32(a, b) WIDE_QUARTERS(a, b, 0, 16, 1, 17)
#define _mm512_unpackhi_epi32(a, b) WIDE_QUARTERS(a, b, 2, 18, 3, 19)
#define _mm512_unpacklo_epi64(a, b) WIDE_QUARTERS(a, b, 0, 1, 16, 17)
#define _mm512_unpackhi_epi64(a, b) WIDE_QUARTERS(a, b, 2, 3, 18, 19)
#define _mm512_shuffle_epi32(v, how)                                                               \
    WIDE_QUARTERS(v, v, (how) & 3, (how) >> 2 & 3, (how) >> 4 & 3, (how) >> 6 & 3)
/* Whole quarters: two of a, two of b. */
#define WIDE_QUARTER(n) 4 * (n), 4 * (n) + 1, 4 * (n) + 2, 4 * (n) + 3
#define _mm512_shuffle_i32x4(a, b, how)                                                            \
    __builtin_shufflevector(a, b, WIDE_QUARTER((how) & 3), WIDE_QUARTER((how) >> 2 & 3),           \
                            WIDE_QUARTER(4 + ((how) >> 4 & 3)),                                    \
                            WIDE_QUARTER(4 + ((how) >> 6 & 3)))

#define _mm512_mask_add_epi32(v, m, a, b)           wide_select(v, (a) + (b), m)
#define _mm512_mask_max_epu32(v, m, a, b)           wide_select(v, _mm512_max_epu32(a, b), m)
#define _mm512_mask_cmp_ps_mask(m, a, b, op)        wide_le(m, a, b, op)
#define _mm512_mask_storeu_epi32(p, m, v)           wide_store(p, m, v)
#define _mm512_maskz_loadu_epi32(m, p)              wide_load(m, p)
#define _mm512_maskz_loadu_ps(m, p)                 ((wide_f)wide_load(m, p))
#define _mm512_mask_i32gather_ps(v, m, i, p, scale) wide_gather(v, m, i, p, scale)

static inline wide_f wide_fmadd(wide_f a, wide_f b, wide_f c)
{
    return __builtin_elementwise_fma(a, b, c);
}

static inline void wide_stream(void *p, wide_u v)
{
    __m256i half[2];

    __builtin_memcpy(half, &v, sizeof(v));
    _mm256_stream_si256(p, half[0]);
    _mm256_stream_si256((__m256i *)p + 1, half[1]);
}

static inline float wide_sum(wide_f v)
{
    float half[8], sum = 0;

    for (int i = 0; i < 8; i++)
        half[i] = v[i] + v[i + 8];
    for (int i = 0; i < 4; i++)
        half[i] += half[i + 4];
    for (int i = 0; i < 4; i++)
        sum += half[i];
    return sum;
}

/* All ones where the mask has a bit. */
static inline wide_u wide_lanes(unsigned mask)
{
    const wide_u bit = {1u << 0,  1u << 1,  1u << 2,  1u << 3, 1u << 4,  1u << 5,
                        1u << 6,  1u << 7,  1u << 8,  1u << 9, 1u << 10, 1u << 11,
                        1u << 12, 1u << 13, 1u << 14, 1u << 15};

    return (wide_u)((((wide_u){0} + mask) & bit) != 0);
}

static inline wide_u wide_select(wide_u off, wide_u on, unsigned mask)
{
    wide_u lanes = wide_lanes(mask);

    return (on & lanes) | (off & ~lanes);
}

static inline unsigned short wide_le(unsigned mask, wide_f a, wide_f b, int op)
{
    wide_i is = a <= b;
    __m256 half[2];

    (void)op; /* _CMP_LE_OQ, the only one that is used */
    __builtin_memcpy(half, &is, sizeof(is));
    return (unsigned short)(mask & ((unsigned)_mm256_movemask_ps(half[0]) |
                                    (unsigned)_mm256_movemask_ps(half[1]) << 8));
}

static inline void wide_store(void *p, unsigned mask, wide_u v)
{
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            ((unsigned *)p)[i] = v[i];
}

static inline wide_u wide_load(unsigned mask, const void *p)
{
    wide_u lanes = wide_lanes(mask), v;
    __m256i half[2];

    __builtin_memcpy(half, &lanes, sizeof(half));
    half[0] = _mm256_maskload_epi32((const int *)p, half[0]);
    half[1] = _mm256_maskload_epi32((const int *)p + 8, half[1]);
    __builtin_memcpy(&v, half, sizeof(v));
    return v;
}

static inline wide_f wide_gather(wide_f off, unsigned mask, wide_u index, const void *p, int scale)
{
    wide_u lanes = wide_lanes(mask);
    wide_f v;
    __m256 out[2], on[2], was[2];
    __m256i at[2];

    (void)scale; /* 4 */
    __builtin_memcpy(at, &index, sizeof(at));
    __builtin_memcpy(on, &lanes, sizeof(on));
    __builtin_memcpy(was, &off, sizeof(was));
    for (int i = 0; i < 2; i++)
        out[i] = _mm256_mask_i32gather_ps(was[i], p, at[i], on[i], 4);
    __builtin_memcpy(&v, out, sizeof(v));
    return v;
}
#endif
