/*
 * Sums of tensor cores with vectors, compiled for each level.
 *
 * A term is cut by the addition itself: a sum of doubles that holds 1.5 * 2^52 units of the last
 * bit that is kept, and that is rounded down, loses of each product what lies below that bit. That
 * is one fused multiply-add for each product. Terms are to be cut towards zero, though: so each is
 * made larger, by less than its own last bit. Then one above zero is cut as it should be, and one
 * below zero to one unit less, be it whole or not: as many units are added at first as there are
 * such terms. Their number is that of the bits in which signs differ, which is why a zero is
 * replaced by a number that is too small to count.
 *
 * Exponents of four products, or of two where they have eight bits, are in a word: the sum of two
 * words has those of products. Sums are multiplied by 2^scale, so that a double's exponent is as
 * high as a product's in such a word, and lack a bit of the 53: the last one, which c has set, does
 * for c what makes the products larger. Denormals count as zero, which a zero with that bit is.
 *
 * Sums of short results (of 13 bits) fit f32, and so do their products.
 */
#include "tcore/tcore.h"

#include <assert.h>
#include <immintrin.h>
#include <string.h>

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

/* ---- fragments */

#define M(name)    _mm256_##name
#define NAME(name) eight_##name
#define WORDS      __m256i
#define FLOATS     __m256
#include "tcore/tcore_prepare.inc"

#if defined(__AVX512F__)
#define M(name)    _mm512_##name
#define NAME(name) sixteen_##name
#define WORDS      __m512i
#define FLOATS     __m512
#include "tcore/tcore_prepare.inc"
#endif

/* The largest byte. */
INLINE unsigned largest(__m256i x)
{
    __m128i y = _mm_max_epu8(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    y = _mm_max_epu8(y, _mm_shuffle_epi32(y, 0x4e));
    y = _mm_max_epu8(y, _mm_shuffle_epi32(y, 0xb1));
    y = _mm_max_epu8(y, _mm_srli_epi32(y, 16));
    y = _mm_max_epu8(y, _mm_srli_epi32(y, 8));
    return (unsigned)_mm_cvtsi128_si32(y) & 0xff;
}

/* Code without questions for the usual forms. */
INLINE struct tcore_form usual(const struct tcore_form *f, bool is_wide, enum tcore_how how)
{
    struct tcore_form form = *f;
    form.is_wide = is_wide;
    form.how = (uint8_t)how;
    return form;
}

INLINE void a_prepare(const struct tcore_form *f, const float (*x)[TCORE_ROWS], struct tcore_a *a)
{
#if defined(__AVX512F__)
    __m512i most = sixteen_prepare(f, x[0], TCORE_ROWS, f->a_least, false, a->x[0], a->s[0],
                                   a->exponent[0], a->sign[0], a->some[0]);
    a->most =
        largest(_mm256_max_epu8(_mm512_castsi512_si256(most), _mm512_extracti64x4_epi64(most, 1)));
#else
    __m256i most = _mm256_setzero_si256();
    for (unsigned row = 0; row < TCORE_ROWS; row += 8)
        most =
            _mm256_max_epu8(most, eight_prepare(f, x[0] + row, TCORE_ROWS, f->a_least, false,
                                                a->x[0] + row, a->s[0] + row, a->exponent[0] + row,
                                                a->sign[0] + row, a->some[0] + row));
    a->most = largest(most);
#endif
}

INLINE void b_prepare(const struct tcore_form *f, const float (*x)[TCORE_COLUMNS],
                      struct tcore_b *b)
{
    b->most = largest(eight_prepare(f, x[0], TCORE_COLUMNS, f->b_least, true, b->x[0], b->s[0],
                                    b->exponent[0], b->sign[0], b->some[0]));
}

#define FORMS(X)                                                                                   \
    X(false, TCORE_DOUBLES)                                                                        \
    X(true, TCORE_DOUBLES) X(false, TCORE_SHORT) X(false, TCORE_WHOLE) X(true, TCORE_WHOLE)
#define PREPARE(name, type, lanes)                                                                 \
    static void name##_any(const struct tcore_form *f, const float(*x)[lanes], struct type *out)   \
    {                                                                                              \
        FORMS(name##_AS)                                                                           \
    }
#define AS(name, wide, manner)                                                                     \
    if (f->is_wide == (wide) && f->how == (manner)) {                                              \
        const struct tcore_form form = usual(f, wide, manner);                                     \
        name(&form, x, out);                                                                       \
    }
#define a_prepare_AS(wide, manner) AS(a_prepare, wide, manner)
#define b_prepare_AS(wide, manner) AS(b_prepare, wide, manner)
PREPARE(a_prepare, tcore_a, TCORE_ROWS)
PREPARE(b_prepare, tcore_b, TCORE_COLUMNS)

/* ---- steps */

/* Where a step's products are. */
struct place {
    const struct tcore_a *a;
    const struct tcore_b *b;
    unsigned k, n, step, group, row;
};

/* Exponents of products, the largest of each sum, less `bias` and `shift` up. */
INLINE words exponents(bool is_wide, const struct place *p, unsigned col, int bias, unsigned shift)
{
    const unsigned groups = (p->n + (is_wide ? 1 : 3)) / (is_wide ? 2 : 4);
    words most = is_wide ? V(set1_epi16)(WIDE_FLOOR) : V(set1_epi8)(NARROW_FLOOR);
    for (unsigned g = p->group; g < p->group + groups; g++) {
        words a = words_load(p->a->exponent[g] + p->row), b = all(p->b->exponent[g][col]);
        if (is_wide)
            most = V(max_epi16)(most, V(add_epi16)(a, b));
        else
            most = V(max_epu8)(most, V(add_epi8)(a, b));
    }
    if (is_wide) {
        most = V(max_epi16)(most, V(srli_epi32)(most, 16));
        if (bias)
            most = V(sub_epi16)(most, all((uint32_t)bias));
        return V(slli_epi32)(most, shift); /* the upper half leaves */
    }
    most = V(max_epu8)(most, V(slli_epi32)(most, 16));
    most = V(max_epu8)(most, V(slli_epi32)(most, 8));
    most = words_and(most, all(0xff000000));
    return V(srli_epi32)(most, 24 - shift);
}

/* Lanes whose terms are all small: is there one that isn't zero? */
static HD_NOINLINE bool small_are_some(bool is_wide, const struct place *p, unsigned col, words c,
                                       words small)
{
    words zero = equal(V(add_epi32)(c, c), all(0));
    if (is_wide) {
        words terms =
            words_and(words_load(p->a->some[p->step] + p->row), all(p->b->some[p->step][col]));
        zero = words_and(zero, equal(terms, all(0)));
    }
    return some(words_and(small, words_xor(zero, all(UINT32_MAX))));
}

/* How many terms are negative: of products and c. */
INLINE words negatives(const struct place *p, unsigned col, words c)
{
    words differ =
        words_xor(words_load(p->a->sign[p->step] + p->row), all(p->b->sign[p->step][col]));
    if (p->n < 32)
        return popcount(with_sign(differ, c));
    return V(add_epi32)(popcount(differ), V(srli_epi32)(c, 31));
}

struct start {
    doubles sum[PASS][2], base[PASS][2];
};

/* c of each of a pass's columns, and where its sum starts. */
INLINE bool starts_make(const struct tcore_form *f, const struct place *p, unsigned first,
                        bool is_half, doubles (*c)[2], struct start *out)
{
    const uint32_t add = (uint32_t)(52 - f->rule.fraction) << F64_SHIFT | 1u << (F64_SHIFT - 1);
    const words floor = all((uint32_t)(f->is_wide ? WIDE_FLOOR : NARROW_FLOOR) << F64_SHIFT);
    words low_most = all(INT32_MAX);
    for (unsigned i = 0; i < PASS; i++) {
        words upper = uppers(c[i][0], c[i][1]), e = words_and(upper, all(F64_EXPONENT));
        if (is_half) { /* denormals of f16 */
            words zero = equal(e, all(0));
            words least = all((uint32_t)(2 * NARROW_BIAS + TCORE_HALF_LEAST) << F64_SHIFT);
            e = V(max_epi32)(e, words_andnot(zero, least));
        }
        e = V(max_epi32)(e, exponents(f->is_wide, p, first + i, 0, F64_SHIFT));
        low_most = V(min_epi32)(low_most, e);
        doubles low, high;
        joined(negatives(p, first + i, upper), V(add_epi32)(e, all(add)), &low, &high);
        out->base[i][0] = without_lower(low);
        out->base[i][1] = without_lower(high);
        out->sum[i][0] = V(add_pd)(low, c[i][0]);
        out->sum[i][1] = V(add_pd)(high, c[i][1]);
    }
    if (HD_LIKELY(!some(equal(low_most, floor))))
        return true;
    for (unsigned i = 0; i < PASS; i++) {
        words upper = uppers(c[i][0], c[i][1]);
        words e = V(max_epi32)(words_and(upper, all(F64_EXPONENT)),
                               exponents(f->is_wide, p, first + i, 0, F64_SHIFT));
        if (small_are_some(f->is_wide, p, first + i, upper, equal(e, floor)))
            return false;
    }
    return true;
}

/* Products of a step. Sums stay in registers: nothing that holds them is indexed by a variable. */
INLINE void products_add(const struct place *p, unsigned first, unsigned n, struct start *s)
{
    const double *a = p->a->x[p->k] + p->row, *b = p->b->x[p->k] + first;
#define LOAD(i) doubles low##i = s->sum[i][0], high##i = s->sum[i][1];
#define ADD(i)                                                                                     \
    y = V(set1_pd)(b[i]);                                                                          \
    low##i = V(fmadd_pd)(low, y, low##i);                                                          \
    high##i = V(fmadd_pd)(high, y, high##i);
#define STORE(i) s->sum[i][0] = low##i, s->sum[i][1] = high##i;
#if defined(__AVX512F__)
#define EACH_OF_PASS EACH_8
#else
#define EACH_OF_PASS EACH_4
#endif
    EACH_OF_PASS(LOAD)
#pragma GCC unroll 4
    for (unsigned k = 0; k < n; k++, a += TCORE_ROWS, b += TCORE_COLUMNS) {
        doubles low = V(load_pd)(a), high = V(load_pd)(a + WIDTH / 2), y;
        EACH_OF_PASS(ADD)
    }
    EACH_OF_PASS(STORE)
#undef LOAD
#undef ADD
#undef STORE
}

/* Sums of f16, rounded, as numbers with a last bit. False: one is infinite. */
INLINE bool halves_make(doubles *low, doubles *high)
{
    const doubles down = V(set1_pd)(0x1p867), up = V(set1_pd)(0x1p-867);
    doubles x = V(mul_pd)(*low, down), y = V(mul_pd)(*high, down);
    floats z = as_half(made_odd(singles(x, y), x, y));
    *low = V(mul_pd)(low_doubles(z), up);
    *high = V(mul_pd)(high_doubles(z), up);
    words e = words_and(of_floats(z), all(F32_EXPONENT));
    *low = cut(*low, 1);
    *high = cut(*high, 1);
    return !some(equal(e, all(F32_EXPONENT)));
}

INLINE bool step_add(const struct tcore_form *f, const struct place *p, bool is_half,
                     doubles (*c)[2])
{
    for (unsigned first = 0; first < TCORE_COLUMNS; first += PASS) {
        struct start s;
        if (!starts_make(f, p, first, is_half, c + first, &s))
            return false;
        switch (p->n) {
        case 4:
            products_add(p, first, 4, &s);
            break;
        case 8:
            products_add(p, first, 8, &s);
            break;
        case 16:
            products_add(p, first, 16, &s);
            break;
        default:
            products_add(p, first, p->n, &s);
        }
        for (unsigned i = 0; i < PASS; i++) {
            doubles low = V(sub_pd)(s.sum[i][0], s.base[i][0]);
            doubles high = V(sub_pd)(s.sum[i][1], s.base[i][1]);
            if (!f->d_is_half) {
                low = cut(low, 1);
                high = cut(high, 1);
            } else if (!halves_make(&low, &high))
                return false;
            c[first + i][0] = low;
            c[first + i][1] = high;
        }
    }
    return true;
}

/* Is c of a tile ordinary? Twice a number less one has no sign, and makes zero the largest. */
INLINE bool sums_are_usual(float (*sum)[TCORE_ROWS])
{
    words least = all(UINT32_MAX), most = all(0);
    for (unsigned i = 0; i < TCORE_COLUMNS * TCORE_ROWS; i += WIDTH) {
        words x = of_floats(V(loadu_ps)(sum[0] + i)), twice = V(add_epi32)(x, x);
        most = V(max_epu32)(most, twice);
        least = V(min_epu32)(least, V(add_epi32)(twice, all(UINT32_MAX)));
    }
    const words normal = all((2u << F32_SHIFT) - 1),
                limit = all((2u * (MOST + F32_BIAS)) << F32_SHIFT);
    return !some(words_or(words_xor(equal(V(min_epu32)(least, normal), normal), all(UINT32_MAX)),
                          words_xor(equal(V(max_epu32)(most, limit), limit), all(UINT32_MAX))));
}

static bool pair_is_usual(const struct tcore_pair *pair)
{
    return pair->a->most < 255 && pair->b->most < 255 &&
           (int)pair->a->most + (int)pair->b->most - 2 * F32_BIAS <= MOST;
}

INLINE bool rows_add(const struct tcore_form *f, const struct tcore_pair *pairs, unsigned n,
                     unsigned row, const float (*sum)[TCORE_ROWS], float (*out)[TCORE_ROWS])
{
    const double up = f->is_wide ? 0x1p-771 : 0x1p-867, down = f->is_wide ? 0x1p771 : 0x1p867;
    doubles c[TCORE_COLUMNS][2];
    bool is_half = f->c_is_half;

    for (unsigned i = 0; i < TCORE_COLUMNS; i++) {
        floats x = V(add_ps)(V(loadu_ps)(sum[i] + row), V(setzero_ps)()); /* no negative zero */
        c[i][0] = cut(V(mul_pd)(low_doubles(x), V(set1_pd)(up)), 1);
        c[i][1] = cut(V(mul_pd)(high_doubles(x), V(set1_pd)(up)), 1);
    }
    for (unsigned i = 0; i < n; i++) {
        struct place p = {.a = pairs[i].a, .b = pairs[i].b, .row = row};
        for (; p.k < f->k; p.k += p.n, p.step++) {
            p.n = f->k - p.k < f->rule.step ? f->k - p.k : f->rule.step;
            if (!step_add(f, &p, is_half, c))
                return false;
            p.group += (p.n + (f->is_wide ? 1 : 3)) / (f->is_wide ? 2 : 4);
            is_half = f->d_is_half;
        }
    }
    for (unsigned i = 0; i < TCORE_COLUMNS; i++)
        V(storeu_ps)(out[i] + row, singles(V(mul_pd)(cut(c[i][0], 0), V(set1_pd)(down)),
                                           V(mul_pd)(cut(c[i][1], 0), V(set1_pd)(down))));
    return true;
}

/* ---- short results: as above, with f32, and c is cut by itself */

INLINE bool short_step_add(const struct tcore_form *f, const struct place *p, floats *c)
{
    const uint32_t add =
        (uint32_t)(F32_SHIFT - f->rule.fraction) << F32_SHIFT | 1u << (F32_SHIFT - 1);
    const words floor = all((uint32_t)NARROW_FLOOR << F32_SHIFT);
    floats sum[TCORE_COLUMNS], base[TCORE_COLUMNS];
    words least_e = all(INT32_MAX);
    const float *a = p->a->s[p->k] + p->row, *b = p->b->s[p->k];

    for (unsigned i = 0; i < TCORE_COLUMNS; i++) {
        words bits = of_floats(c[i]), e = words_and(bits, all(F32_EXPONENT));
        e = V(max_epi32)(e, exponents(false, p, i, 0, F32_SHIFT));
        least_e = V(min_epi32)(least_e, e);
        words at = V(add_epi32)(e, all(add)), sign = words_and(bits, all(SIGN));
        floats of_c = to_floats(words_or(at, sign));
        floats kept = V(sub_ps)(V(add_ps)(c[i], of_c), of_c);
        base[i] = to_floats(at);
        sum[i] = V(add_ps)(to_floats(V(add_epi32)(at, negatives(p, i, all(0)))), kept);
    }
    if (HD_UNLIKELY(some(equal(least_e, floor)))) {
        for (unsigned i = 0; i < TCORE_COLUMNS; i++) {
            words bits = of_floats(c[i]), e = words_and(bits, all(F32_EXPONENT));
            e = V(max_epi32)(e, exponents(false, p, i, 0, F32_SHIFT));
            if (small_are_some(false, p, i, bits, equal(e, floor)))
                return false;
        }
    }
#define LOAD(i) floats sum##i = sum[i];
#define ADD(i)  sum##i = V(fmadd_ps)(x, V(set1_ps)(b[i]), sum##i);
#define SUBTRACT(i)                                                                                \
    x = V(sub_ps)(sum##i, base[i]);                                                                \
    c[i] = to_floats(words_and(of_floats(x), all(0xffffffffu << TCORE_SHORT_BITS)));
    EACH_8(LOAD)
    floats x;
#pragma GCC unroll 4
    for (unsigned k = 0; k < p->n; k++, a += TCORE_ROWS, b += TCORE_COLUMNS) {
        x = V(load_ps)(a);
        EACH_8(ADD)
    }
    EACH_8(SUBTRACT)
#undef LOAD
#undef ADD
#undef SUBTRACT
    return true;
}

INLINE bool short_rows_add(const struct tcore_form *f, const struct tcore_pair *pairs, unsigned n,
                           unsigned row, const float (*sum)[TCORE_ROWS], float (*out)[TCORE_ROWS])
{
    floats c[TCORE_COLUMNS];

    for (unsigned i = 0; i < TCORE_COLUMNS; i++)
        c[i] =
            V(mul_ps)(V(add_ps)(V(loadu_ps)(sum[i] + row), V(setzero_ps)()), V(set1_ps)(0x1p29f));
    for (unsigned i = 0; i < n; i++) {
        struct place p = {.a = pairs[i].a, .b = pairs[i].b, .row = row};
        for (; p.k < f->k; p.k += p.n, p.step++) {
            p.n = f->k - p.k < f->rule.step ? f->k - p.k : f->rule.step;
            if (!short_step_add(f, &p, c))
                return false;
            p.group += (p.n + 3) / 4;
        }
    }
    for (unsigned i = 0; i < TCORE_COLUMNS; i++)
        V(storeu_ps)(out[i] + row, V(mul_ps)(c[i], V(set1_ps)(0x1p-29f)));
    return true;
}

/* ---- up to eight products in a step: 32 bits hold their sum, of terms that conversions cut */

/* Rounded to f16, and whether one is infinite. */
INLINE bool whole_halves_make(bool is_wide, words sum, floats unit, floats *out)
{
    const floats down = V(set1_ps)(is_wide ? 1 : 0x1p-29f), up = V(set1_ps)(is_wide ? 1 : 0x1p29f);
    floats x = V(cvtepi32_ps)(sum);
    words is_whole = equal(V(cvttps_epi32)(x), sum);
    x = to_floats(words_or(of_floats(x), words_andnot(is_whole, all(1))));
    x = as_half(V(mul_ps)(V(mul_ps)(x, unit), down));
    *out = V(mul_ps)(x, up);
    return !some(equal(words_and(of_floats(x), all(F32_EXPONENT)), all(F32_EXPONENT)));
}

INLINE bool whole_step_add(const struct tcore_form *f, const struct place *p, bool is_half,
                           floats *c)
{
    const int bias = f->is_wide ? 2 * WIDE_BIAS - F32_BIAS : 0;
    const words floor = all((uint32_t)(f->is_wide ? WIDE_FLOOR - bias : NARROW_FLOOR) << F32_SHIFT);
    words e[TCORE_COLUMNS], least_e = all(INT32_MAX);
    const float *a = p->a->s[p->k] + p->row, *b = p->b->s[p->k];

    for (unsigned i = 0; i < TCORE_COLUMNS; i++) {
        e[i] = words_and(of_floats(c[i]), all(F32_EXPONENT));
        if (is_half) {
            words zero = equal(e[i], all(0));
            words least = all((uint32_t)(2 * NARROW_BIAS + TCORE_HALF_LEAST) << F32_SHIFT);
            e[i] = V(max_epi32)(e[i], words_andnot(zero, least));
        }
        e[i] = V(max_epi32)(e[i], exponents(f->is_wide, p, i, bias, F32_SHIFT));
        least_e = V(min_epi32)(least_e, e[i]);
    }
    if (HD_UNLIKELY(some(equal(least_e, floor)))) {
        for (unsigned i = 0; i < TCORE_COLUMNS; i++)
            if (small_are_some(f->is_wide, p, i, of_floats(c[i]), equal(e[i], floor)))
                return false;
    }
    /* What makes the last bit that is kept 1. */
#define START(i)                                                                                   \
    floats unit##i = to_floats(                                                                    \
        V(sub_epi32)(all((uint32_t)(2 * F32_BIAS + f->rule.fraction) << F32_SHIFT), e[i]));        \
    words sum##i = V(cvttps_epi32)(V(mul_ps)(c[i], unit##i));
#define ADD(i)                                                                                     \
    y = V(mul_ps)(V(mul_ps)(x, V(set1_ps)(b[i])), unit##i);                                        \
    sum##i = V(add_epi32)(sum##i, V(cvttps_epi32)(y));
#define END(i)                                                                                     \
    y = to_floats(V(sub_epi32)(e[i], all((uint32_t)f->rule.fraction << F32_SHIFT)));               \
    if (!f->d_is_half)                                                                             \
        c[i] = V(mul_ps)(V(cvtepi32_ps)(sum##i), y);                                               \
    else if (!whole_halves_make(f->is_wide, sum##i, y, &c[i]))                                     \
        return false;
    EACH_8(START)
    floats x, y;
#pragma GCC unroll 8
    for (unsigned k = 0; k < p->n; k++, a += TCORE_ROWS, b += TCORE_COLUMNS) {
        x = V(load_ps)(a);
        EACH_8(ADD)
    }
    EACH_8(END)
#undef START
#undef ADD
#undef END
    return true;
}

INLINE bool whole_rows_add(const struct tcore_form *f, const struct tcore_pair *pairs, unsigned n,
                           unsigned row, const float (*sum)[TCORE_ROWS], float (*out)[TCORE_ROWS])
{
    const floats up = V(set1_ps)(f->is_wide ? 1 : 0x1p29f);
    const floats down = V(set1_ps)(f->is_wide ? 1 : 0x1p-29f);
    floats c[TCORE_COLUMNS];
    bool is_half = f->c_is_half;

    for (unsigned i = 0; i < TCORE_COLUMNS; i++)
        c[i] = V(mul_ps)(V(loadu_ps)(sum[i] + row), up);
    for (unsigned i = 0; i < n; i++) {
        struct place p = {.a = pairs[i].a, .b = pairs[i].b, .row = row};
        for (; p.k < f->k; p.k += p.n, p.step++) {
            p.n = f->k - p.k < f->rule.step ? f->k - p.k : f->rule.step;
            if (!(p.n == 8   ? (p.n = 8, whole_step_add(f, &p, is_half, c))
                  : p.n == 4 ? (p.n = 4, whole_step_add(f, &p, is_half, c))
                             : whole_step_add(f, &p, is_half, c)))
                return false;
            p.group += (p.n + (f->is_wide ? 1 : 3)) / (f->is_wide ? 2 : 4);
            is_half = f->d_is_half;
        }
    }
    for (unsigned i = 0; i < TCORE_COLUMNS; i++)
        V(storeu_ps)(out[i] + row, V(mul_ps)(c[i], down));
    return true;
}

#define ROWS_ADD(name, function, is_wide, how)                                                     \
    static HD_NOINLINE bool name(const struct tcore_form *f, const struct tcore_pair *pairs,       \
                                 unsigned n, unsigned row, const float(*sum)[TCORE_ROWS],          \
                                 float(*out)[TCORE_ROWS])                                          \
    {                                                                                              \
        const struct tcore_form form = usual(f, is_wide, how);                                     \
        return function(&form, pairs, n, row, sum, out);                                           \
    }
ROWS_ADD(narrow_doubles_add, rows_add, false, TCORE_DOUBLES)
ROWS_ADD(wide_doubles_add, rows_add, true, TCORE_DOUBLES)
ROWS_ADD(short_add, short_rows_add, false, TCORE_SHORT)
ROWS_ADD(narrow_whole_add, whole_rows_add, false, TCORE_WHOLE)
ROWS_ADD(wide_whole_add, whole_rows_add, true, TCORE_WHOLE)

static bool pairs_add(const struct tcore_form *f, const struct tcore_pair *pairs, unsigned n,
                      float (*sum)[TCORE_ROWS])
{
    float out[TCORE_COLUMNS][TCORE_ROWS] __attribute__((aligned(64)));

    if (!sums_are_usual(sum))
        return false;
    for (unsigned i = 0; i < n; i++)
        if (!pair_is_usual(&pairs[i]))
            return false;
    for (unsigned row = 0; row < TCORE_ROWS; row += WIDTH) {
        const float(*from)[TCORE_ROWS] = (const float(*)[TCORE_ROWS])sum;
        float(*to)[TCORE_ROWS] = WIDTH == TCORE_ROWS ? sum : out;
        if (!(f->how == TCORE_SHORT ? short_add(f, pairs, n, row, from, to)
              : f->how == TCORE_WHOLE
                  ? (f->is_wide ? wide_whole_add : narrow_whole_add)(f, pairs, n, row, from, to)
                  : (f->is_wide ? wide_doubles_add : narrow_doubles_add)(f, pairs, n, row, from,
                                                                         to)))
            return false;
    }
    if (WIDTH < TCORE_ROWS)
        memcpy(sum, out, sizeof(out));
    return true;
}

const struct tcore_vectors TCORE_VECTORS = {
    .prepare_a = a_prepare_any, .prepare_b = b_prepare_any, .add = pairs_add};
