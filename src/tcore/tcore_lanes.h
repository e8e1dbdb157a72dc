/*
 * Operations on vectors of words, floats and doubles, for each level: private to tcore_vec.c. A
 * vector of words or floats has WIDTH of them, and stands beside two of doubles.
 */
#ifndef HD_TCORE_TCORE_LANES_H
#define HD_TCORE_TCORE_LANES_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

#define EACH_4(X) X(0) X(1) X(2) X(3)
#define EACH_8(X) EACH_4(X) X(4) X(5) X(6) X(7)

/* Exponents in words: what is added to them, and the least that is looked at. Where all terms of a
 * sum are smaller, and not zero, the reference is asked. */
enum {
    NARROW_BIAS = 78,
    WIDE_BIAS = 126,
    NARROW_FLOOR = 2 * NARROW_BIAS - 62,
    WIDE_FLOOR = 2 * WIDE_BIAS - 60,
    F32_BIAS = 127,
    F64_BIAS = 1023,
    F64_SHIFT = 52 - 32, /* of the exponent, in the upper word */
    F32_SHIFT = 23
};
#define NARROW_SCALE (2 * NARROW_BIAS - F64_BIAS)
#define WIDE_SCALE   (2 * WIDE_BIAS - F64_BIAS)
#define SINGLE_SCALE (2 * NARROW_BIAS - F32_BIAS)
#define NARROW_TINY  0x1p-120
#define WIDE_TINY    0x1p-220
#define LARGER       (1 + 0x1p-30)
#define MOST         90 /* of exponents: no sum leaves f32 */
#define F64_EXPONENT 0x7ff00000u
#define F32_EXPONENT 0x7f800000u
#define SIGN         0x80000000u
#define BEYOND_F32   0x1fffffffll /* bits of a double */

#if defined(__AVX512F__)

#define V(name) _mm512_##name
typedef __m512i words;
typedef __m512 floats;
typedef __m512d doubles;
#define WIDTH 16 /* words */
enum { PASS = 8 };

INLINE words words_and(words a, words b)
{
    return _mm512_and_si512(a, b);
}
INLINE words words_or(words a, words b)
{
    return _mm512_or_si512(a, b);
}
INLINE words words_xor(words a, words b)
{
    return _mm512_xor_si512(a, b);
}
INLINE words words_andnot(words a, words b)
{
    return _mm512_andnot_si512(a, b);
}
INLINE words words_load(const uint32_t *from)
{
    return _mm512_load_si512(from);
}
INLINE bool some(words x)
{
    return _mm512_test_epi32_mask(x, x) != 0;
}
INLINE words less(words a, words b) /* with signs */
{
    return _mm512_movm_epi32(_mm512_cmplt_epi32_mask(a, b));
}
INLINE words equal(words a, words b)
{
    return _mm512_movm_epi32(_mm512_cmpeq_epi32_mask(a, b));
}
/* x, and the sign of y. */
INLINE words with_sign(words x, words y)
{
    return _mm512_ternarylogic_epi32(x, y, _mm512_set1_epi32(INT32_MIN), 0xf8);
}
/* The upper words of doubles. */
INLINE words uppers(doubles low, doubles high)
{
    const words order =
        _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_epi32(_mm512_castpd_si512(low), order, _mm512_castpd_si512(high));
}
/* Doubles of such lower and upper words. */
INLINE void joined(words lower, words upper, doubles *low, doubles *high)
{
    const words first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const words second =
        _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    *low = _mm512_castsi512_pd(_mm512_permutex2var_epi32(lower, first, upper));
    *high = _mm512_castsi512_pd(_mm512_permutex2var_epi32(lower, second, upper));
}
INLINE doubles without_lower(doubles x)
{
    return _mm512_castsi512_pd(
        _mm512_and_si512(_mm512_castpd_si512(x), _mm512_set1_epi64((int64_t)0xffffffff00000000)));
}
/* Cut to f32's fraction; the last bit is `last`. */
INLINE doubles cut(doubles x, int64_t last)
{
    return _mm512_castsi512_pd(_mm512_ternarylogic_epi64(
        _mm512_castpd_si512(x), _mm512_set1_epi64(~BEYOND_F32), _mm512_set1_epi64(last), 0xea));
}
INLINE doubles low_doubles(floats x)
{
    return _mm512_cvtps_pd(_mm512_castps512_ps256(x));
}
INLINE doubles high_doubles(floats x)
{
    return _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
}
INLINE floats singles(doubles low, doubles high)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high),
                              1);
}
/* The last bit says whether something was cut: a later rounding to nearest is then right. */
INLINE floats made_odd(floats x, doubles low, doubles high)
{
    __mmask16 is_cut = (__mmask16)(_mm512_cmp_pd_mask(low_doubles(x), low, _CMP_NEQ_UQ) |
                                   _mm512_cmp_pd_mask(high_doubles(x), high, _CMP_NEQ_UQ) << 8);
    words y = _mm512_castps_si512(x);
    return _mm512_castsi512_ps(_mm512_mask_or_epi32(y, is_cut, y, _mm512_set1_epi32(1)));
}
INLINE floats as_half(floats x)
{
    return _mm512_cvtph_ps(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
INLINE words of_floats(floats x)
{
    return _mm512_castps_si512(x);
}
INLINE floats to_floats(words x)
{
    return _mm512_castsi512_ps(x);
}
/* What tcore_prepare.inc does with sixteen lanes. */
#define _mm512_setzero_si _mm512_setzero_si512
INLINE __m512i sixteen_bits(__m512 x)
{
    return _mm512_castps_si512(x);
}
INLINE __m512 sixteen_floats(__m512i x)
{
    return _mm512_castsi512_ps(x);
}
INLINE __m512i sixteen_and(__m512i a, __m512i b)
{
    return _mm512_and_si512(a, b);
}
INLINE __m512i sixteen_or(__m512i a, __m512i b)
{
    return _mm512_or_si512(a, b);
}
INLINE void sixteen_store(uint32_t *to, __m512i x)
{
    _mm512_storeu_si512(to, x);
}
INLINE __m512i sixteen_unless_zero(__m512i x, __m512i y)
{
    return _mm512_maskz_mov_epi32(_mm512_test_epi32_mask(x, x), y);
}
INLINE __m512 sixteen_tiny_for_zero(__m512 x, float tiny)
{
    __mmask16 is_zero = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_EQ_OQ);
    return _mm512_mask_or_ps(x, is_zero, x, _mm512_set1_ps(tiny));
}
INLINE __m512i sixteen_narrow(__m512i e, int least)
{
    __m512i x = _mm512_max_epu8(e, _mm512_set1_epi8((char)least));
    return _mm512_maskz_sub_epi8(_mm512_test_epi8_mask(e, e), x,
                                 _mm512_set1_epi8(F32_BIAS - NARROW_BIAS));
}
/* As doubles, multiplied. Zeros become tiny, unless that is 0. */
INLINE __m512d doubles_of(__m256 x, double tiny, double by)
{
    __m512d y = _mm512_cvtps_pd(x);
    if (tiny != 0) {
        __mmask8 is_zero = _mm512_cmp_pd_mask(y, _mm512_setzero_pd(), _CMP_EQ_OQ);
        y = _mm512_mask_or_pd(y, is_zero, y, _mm512_set1_pd(tiny));
    }
    return by == 1 ? y : _mm512_mul_pd(y, _mm512_set1_pd(by));
}
INLINE void sixteen_doubles_store(__m512 x, double tiny, double by, double *to)
{
    _mm512_storeu_pd(to, doubles_of(_mm512_castps512_ps256(x), tiny, by));
    _mm512_storeu_pd(to + 8, doubles_of(_mm512_extractf32x8_ps(x, 1), tiny, by));
}
INLINE void eight_doubles_store(__m256 x, double tiny, double by, double *to)
{
    _mm512_storeu_pd(to, doubles_of(x, tiny, by));
}

#else

#define V(name) _mm256_##name
typedef __m256i words;
typedef __m256 floats;
typedef __m256d doubles;
#define WIDTH   8 /* words */
enum { PASS = 4 };

INLINE words words_and(words a, words b)
{
    return _mm256_and_si256(a, b);
}
INLINE words words_or(words a, words b)
{
    return _mm256_or_si256(a, b);
}
INLINE words words_xor(words a, words b)
{
    return _mm256_xor_si256(a, b);
}
INLINE words words_andnot(words a, words b)
{
    return _mm256_andnot_si256(a, b);
}
INLINE words words_load(const uint32_t *from)
{
    return _mm256_load_si256((const __m256i *)(const void *)from);
}
INLINE bool some(words x)
{
    return !_mm256_testz_si256(x, x);
}
INLINE words less(words a, words b)
{
    return _mm256_cmpgt_epi32(b, a);
}
INLINE words equal(words a, words b)
{
    return _mm256_cmpeq_epi32(a, b);
}
INLINE words with_sign(words x, words y)
{
    return _mm256_or_si256(x, _mm256_and_si256(y, _mm256_set1_epi32(INT32_MIN)));
}
INLINE words uppers(doubles low, doubles high)
{
    __m256 x = _mm256_shuffle_ps(_mm256_castpd_ps(low), _mm256_castpd_ps(high), 0xdd);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(x), 0xd8);
}
INLINE void joined(words lower, words upper, doubles *low, doubles *high)
{
    words x = _mm256_permute4x64_epi64(lower, 0xd8), y = _mm256_permute4x64_epi64(upper, 0xd8);
    *low = _mm256_castsi256_pd(_mm256_unpacklo_epi32(x, y));
    *high = _mm256_castsi256_pd(_mm256_unpackhi_epi32(x, y));
}
INLINE doubles without_lower(doubles x)
{
    return _mm256_and_pd(x, _mm256_castsi256_pd(_mm256_set1_epi64x((int64_t)0xffffffff00000000)));
}
INLINE doubles cut(doubles x, int64_t last)
{
    x = _mm256_and_pd(x, _mm256_castsi256_pd(_mm256_set1_epi64x(~BEYOND_F32)));
    return _mm256_or_pd(x, _mm256_castsi256_pd(_mm256_set1_epi64x(last)));
}
INLINE doubles low_doubles(floats x)
{
    return _mm256_cvtps_pd(_mm256_castps256_ps128(x));
}
INLINE doubles high_doubles(floats x)
{
    return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
}
INLINE floats singles(doubles low, doubles high)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(low)), _mm256_cvtpd_ps(high),
                                1);
}
INLINE floats made_odd(floats x, doubles low, doubles high)
{
    words is_cut = uppers(_mm256_cmp_pd(low_doubles(x), low, _CMP_NEQ_UQ),
                          _mm256_cmp_pd(high_doubles(x), high, _CMP_NEQ_UQ));
    return _mm256_or_ps(x, _mm256_castsi256_ps(_mm256_srli_epi32(is_cut, 31)));
}
INLINE floats as_half(floats x)
{
    return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
INLINE words of_floats(floats x)
{
    return _mm256_castps_si256(x);
}
INLINE floats to_floats(words x)
{
    return _mm256_castsi256_ps(x);
}
INLINE __m256d doubles_of(__m256d x, double tiny, double by)
{
    if (tiny != 0) {
        __m256d is_zero = _mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_EQ_OQ);
        x = _mm256_or_pd(x, _mm256_and_pd(_mm256_set1_pd(tiny), is_zero));
    }
    return by == 1 ? x : _mm256_mul_pd(x, _mm256_set1_pd(by));
}
INLINE void eight_doubles_store(__m256 x, double tiny, double by, double *to)
{
    _mm256_storeu_pd(to, doubles_of(low_doubles(x), tiny, by));
    _mm256_storeu_pd(to + 4, doubles_of(high_doubles(x), tiny, by));
}

#endif

/* What tcore_prepare.inc does with eight lanes. */
#define _mm256_setzero_si _mm256_setzero_si256
INLINE __m256i eight_bits(__m256 x)
{
    return _mm256_castps_si256(x);
}
INLINE __m256 eight_floats(__m256i x)
{
    return _mm256_castsi256_ps(x);
}
INLINE __m256i eight_and(__m256i a, __m256i b)
{
    return _mm256_and_si256(a, b);
}
INLINE __m256i eight_or(__m256i a, __m256i b)
{
    return _mm256_or_si256(a, b);
}
INLINE void eight_store(uint32_t *to, __m256i x)
{
    _mm256_storeu_si256((__m256i *)(void *)to, x);
}
INLINE __m256i eight_unless_zero(__m256i x, __m256i y)
{
    return _mm256_andnot_si256(_mm256_cmpeq_epi32(x, _mm256_setzero_si256()), y);
}
INLINE __m256 eight_tiny_for_zero(__m256 x, float tiny)
{
    __m256 is_zero = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_EQ_OQ);
    return _mm256_or_ps(x, _mm256_and_ps(is_zero, _mm256_set1_ps(tiny)));
}
INLINE __m256i eight_narrow(__m256i e, int least)
{
    __m256i zero = _mm256_cmpeq_epi8(e, _mm256_setzero_si256());
    __m256i x = _mm256_max_epu8(e, _mm256_set1_epi8((char)least));
    return _mm256_andnot_si256(zero, _mm256_sub_epi8(x, _mm256_set1_epi8(F32_BIAS - NARROW_BIAS)));
}

INLINE words all(uint32_t bits)
{
    return V(set1_epi32)((int)bits);
}

/* Bits of words. */
INLINE words popcount(words x)
{
#if defined(__AVX512VPOPCNTDQ__)
    return _mm512_popcnt_epi32(x);
#else
    const words half = all(0x0f0f0f0f);
    /* Of numbers of four bits, again and again. */
#if defined(__AVX512F__)
    const words bits =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
#else
    const words bits =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
#endif
    words low = V(shuffle_epi8)(bits, words_and(x, half));
    words high = V(shuffle_epi8)(bits, words_and(V(srli_epi32)(x, 4), half));
    words pairs = V(maddubs_epi16)(V(add_epi8)(low, high), all(0x01010101));
    return V(madd_epi16)(pairs, all(0x00010001));
#endif
}

#endif
