/*
 * Vectors of 32-bit elements for jit_rt_tex_fetch.c, as wide as the level has them that it is
 * compiled for. What has an instruction there that the compiler does not find has its intrinsic.
 */
#ifndef HD_JIT_RT_JIT_RT_TEX_LEVEL_H
#define HD_JIT_RT_JIT_RT_TEX_LEVEL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
enum { VECTOR_B = 64 };
#elif defined(__AVX2__)
#include <immintrin.h>
enum { VECTOR_B = 32 };
#else
enum { VECTOR_B = 16 };
#endif

#define INLINE static inline __attribute__((always_inline))

enum { PART = VECTOR_B / 4 }; /* lanes */

typedef int32_t vi __attribute__((vector_size(VECTOR_B)));
typedef float vf __attribute__((vector_size(VECTOR_B)));
typedef uint8_t bytes __attribute__((vector_size(PART)));
typedef uint16_t shorts __attribute__((vector_size(2 * PART)));

INLINE vf load_f(const void *at)
{
    vf v;
    memcpy(&v, at, sizeof(v));
    return v;
}

INLINE vi load_i(const void *at)
{
    vi v;
    memcpy(&v, at, sizeof(v));
    return v;
}

/* Small numbers, a word for each. */
INLINE vi load_bytes(const void *at)
{
    bytes v;
    memcpy(&v, at, sizeof(v));
    return __builtin_convertvector(v, vi);
}

INLINE vi load_shorts(const void *at)
{
    shorts v;
    memcpy(&v, at, sizeof(v));
    return __builtin_convertvector(v, vi);
}

INLINE vi pick(vi mask, vi a, vi b)
{
    return (a & mask) | (b & ~mask);
}

INLINE vf pick_f(vi mask, vf a, vf b)
{
    return (vf)pick(mask, (vi)a, (vi)b);
}

INLINE vi all(int32_t x)
{
    return x - (vi){0};
}

INLINE vf all_f(float x)
{
    return x - (vf){0};
}

INLINE vf to_float(vi x)
{
    return __builtin_convertvector(x, vf);
}

/* Of what fits an int. */
INLINE vi to_int(vf x)
{
    return __builtin_convertvector(x, vi);
}

/*
 * For each level: words at byte offsets from base, multiples of 4; whether all elements are alike;
 * the even and odd elements of two vectors; the smaller and the larger of numbers, no NaNs; the
 * number below, as a float and as an int that it fits.
 */
#define PICKED(a, b, ...) ((vi)__builtin_shufflevector(a, b, __VA_ARGS__))
#if defined(__AVX512F__)
#define LANES_OF 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define EVENS    0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODDS     1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define BELOW    (_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)

INLINE vi gather(const char *base, vi offset)
{
    return (vi)_mm512_i32gather_epi32((__m512i)offset, base, 1);
}

INLINE bool are_alike(vi a, vi b)
{
    return _mm512_cmpneq_epi32_mask((__m512i)a, (__m512i)b) == 0;
}

INLINE vi least(vi a, vi b)
{
    return (vi)_mm512_min_epi32((__m512i)a, (__m512i)b);
}

INLINE vi most(vi a, vi b)
{
    return (vi)_mm512_max_epi32((__m512i)a, (__m512i)b);
}

INLINE vf least_f(vf a, vf b)
{
    return (vf)_mm512_min_ps((__m512)a, (__m512)b);
}

INLINE vf most_f(vf a, vf b)
{
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
}

INLINE vf floor_f(vf x)
{
    return (vf)_mm512_roundscale_ps((__m512)x, BELOW);
}

INLINE vi floor_i(vf x)
{
    return (vi)_mm512_cvt_roundps_epi32((__m512)x, BELOW);
}
#elif defined(__AVX2__)
#define LANES_OF 0, 1, 2, 3, 4, 5, 6, 7
#define EVENS    0, 2, 4, 6, 8, 10, 12, 14
#define ODDS     1, 3, 5, 7, 9, 11, 13, 15

INLINE vi gather(const char *base, vi offset)
{
    return (vi)_mm256_i32gather_epi32((const int *)(const void *)base, (__m256i)offset, 1);
}

INLINE bool are_alike(vi a, vi b)
{
    return _mm256_movemask_epi8((__m256i)(a == b)) == -1;
}

INLINE vi least(vi a, vi b)
{
    return (vi)_mm256_min_epi32((__m256i)a, (__m256i)b);
}

INLINE vi most(vi a, vi b)
{
    return (vi)_mm256_max_epi32((__m256i)a, (__m256i)b);
}

INLINE vf least_f(vf a, vf b)
{
    return (vf)_mm256_min_ps((__m256)a, (__m256)b);
}

INLINE vf most_f(vf a, vf b)
{
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
}

INLINE vf floor_f(vf x)
{
    return (vf)_mm256_floor_ps((__m256)x);
}

INLINE vi floor_i(vf x)
{
    return to_int(floor_f(x));
}
#else
#define LANES_OF 0, 1, 2, 3
#define EVENS    0, 2, 4, 6
#define ODDS     1, 3, 5, 7

INLINE vi gather(const char *base, vi offset)
{
    vi out;
    for (unsigned i = 0; i < PART; i++)
        memcpy((char *)&out + 4 * i, base + offset[i], 4);
    return out;
}

INLINE bool are_alike(vi a, vi b)
{
    vi same = a == b;
    return (same[0] & same[1] & same[2] & same[3]) != 0;
}

INLINE vi least(vi a, vi b)
{
    return pick(b < a, b, a);
}

INLINE vi most(vi a, vi b)
{
    return pick(b > a, b, a);
}

INLINE vf least_f(vf a, vf b)
{
    return pick_f(b < a, b, a);
}

INLINE vf most_f(vf a, vf b)
{
    return pick_f(b > a, b, a);
}

INLINE vf floor_f(vf x)
{
    vi small = (x > -0x1p23f) & (x < 0x1p23f);
    vf whole = to_float(to_int((vf)((vi)x & small)));
    whole -= (vf)((vi)all_f(1.0f) & (vi)(whole > x));
    return pick_f(small, whole, x);
}

INLINE vi floor_i(vf x)
{
    vi whole = to_int(x);
    return whole + (to_float(whole) > x);
}
#endif

INLINE vi evens(vi a, vi b)
{
    return PICKED(a, b, EVENS);
}

INLINE vi odds(vi a, vi b)
{
    return PICKED(a, b, ODDS);
}

#endif
