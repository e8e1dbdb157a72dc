/*
 * Sums as a GPU's tensor cores make them (model/tensor_core.h), with vectors of rows: private to
 * jit_rt_mma_vec.c and jit_rt_mma_window_vec.c. In a mode that rounds towards zero.
 *
 * A term is cut when it becomes an integer, in units of the last bit that is kept. Integers of
 * eight products fit 32 bits; the eights are added as doubles, exactly. Units and products fit f32
 * where exponents are ordinary. Where they are not, and where there is no number, the model is
 * asked.
 */
#ifndef HD_JIT_RT_JIT_RT_CORE_VEC_H
#define HD_JIT_RT_JIT_RT_CORE_VEC_H

#include "jit/rt/jit_rt_mma_vec.h"
#include "model/tensor_core.h"

enum {
    CORE_K_MAX = 64,
    CORE_EIGHT = 8,    /* products that fit 32 bits */
    CORE_LEAST = -100, /* exponents whose units fit f32 */
    CORE_MOST = 120,
    CORE_F32_LEAST = -126,
    CORE_F16_LEAST = -14
};

/* A tile of rows and eight columns: factors, and what they are aligned by. */
struct core_panels {
    float a[CORE_K_MAX][ROWS] __attribute__((aligned(64)));
    int32_t a_exponent[CORE_K_MAX][ROWS] __attribute__((aligned(64)));
    float b[CORE_K_MAX * COLUMNS] __attribute__((aligned(64)));
    int32_t b_exponent[CORE_K_MAX * COLUMNS] __attribute__((aligned(64)));
};

/*
 * Where an element of b is: by k, or as fragments have it, whose words have elements of `per` k. A
 * word of four lanes has a column, lane by lane the next k.
 */
INLINE unsigned core_b_at(unsigned per, unsigned k, unsigned col)
{
    if (!per)
        return k * COLUMNS + col;
    return (k / (4 * per) * per + k % per) * LANES + k / per % 4 + 4 * col;
}

struct core {
    struct ir_core_rule rule;
    enum ir_type c_type, d_type;
    unsigned k;
    unsigned per; /* of b: core_b_at() */
};

#if defined(__AVX512F__)
typedef __m512d doubles;

INLINE doubles low_doubles(words x)
{
    return _mm512_cvtepi32_pd(_mm512_castsi512_si256(x));
}

INLINE doubles high_doubles(words x)
{
    return _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(x, 1));
}

INLINE floats singles_of(doubles low, doubles high)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high),
                              1);
}

/* The last bit says whether something was cut: a later rounding to nearest is then right. */
INLINE floats made_odd(floats x, doubles low, doubles high)
{
    __mmask16 is_cut = (__mmask16)(_mm512_cmp_pd_mask(_mm512_cvtps_pd(_mm512_castps512_ps256(x)),
                                                      low, _CMP_NEQ_UQ) |
                                   _mm512_cmp_pd_mask(_mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)),
                                                      high, _CMP_NEQ_UQ)
                                       << 8);
    return TO_FLOATS(_mm512_mask_or_epi32(TO_WORDS(x), is_cut, TO_WORDS(x), all(1)));
}

INLINE bool some(words x)
{
    return _mm512_test_epi32_mask(x, x) != 0;
}

INLINE words greater(words x, words y)
{
    return _mm512_movm_epi32(_mm512_cmpgt_epi32_mask(x, y));
}

INLINE words equal(words x, words y)
{
    return _mm512_movm_epi32(_mm512_cmpeq_epi32_mask(x, y));
}

#else
typedef __m256d doubles;

INLINE doubles low_doubles(words x)
{
    return _mm256_cvtepi32_pd(_mm256_castsi256_si128(x));
}

INLINE doubles high_doubles(words x)
{
    return _mm256_cvtepi32_pd(_mm256_extracti128_si256(x, 1));
}

INLINE floats singles_of(doubles low, doubles high)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(low)), _mm256_cvtpd_ps(high),
                                1);
}

INLINE floats made_odd(floats x, doubles low, doubles high)
{
    const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    __m256d l = _mm256_cmp_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(x)), low, _CMP_NEQ_UQ);
    __m256d h = _mm256_cmp_pd(_mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)), high, _CMP_NEQ_UQ);
    __m256i is_cut =
        _mm256_blend_epi32(_mm256_permutevar8x32_epi32(_mm256_castpd_si256(l), order),
                           _mm256_permutevar8x32_epi32(_mm256_castpd_si256(h), order), 0xf0);
    return TO_FLOATS(OR(TO_WORDS(x), AND(is_cut, all(1))));
}

INLINE bool some(words x)
{
    return !_mm256_testz_si256(x, x);
}

INLINE words greater(words x, words y)
{
    return _mm256_cmpgt_epi32(x, y);
}

INLINE words equal(words x, words y)
{
    return _mm256_cmpeq_epi32(x, y);
}

#endif

/* ir_core_exponent(): only denormals of f32 have no exponent here, and count as zeros do. */
INLINE words core_exponents(floats x, int least)
{
    words field = AND(V(srli_epi32)(TO_WORDS(x), 23), all(0xff));
    words e = V(max_epi32)(V(sub_epi32)(field, all(127)), all((uint32_t)least));
    words zero = equal(field, all(0));
    return OR(AND(zero, all((uint32_t)IR_CORE_ZERO_EXPONENT)),
              TO_WORDS(V(andnot_ps)(TO_FLOATS(zero), TO_FLOATS(e))));
}

/* Infinite, or no number. */
INLINE words core_strange(floats x)
{
    return equal(AND(TO_WORDS(x), all(0x7f800000)), all(0x7f800000));
}

/* Of n numbers, a multiple of eight. False: some are strange. */
static inline bool core_align(const float *x, unsigned n, int least, int32_t *out)
{
    words strange = all(0);
    for (unsigned i = 0; i < n; i += WIDTH) {
        floats y = V(loadu_ps)(x + i);
        V(storeu_ps)((float *)(void *)(out + i), TO_FLOATS(core_exponents(y, least)));
        strange = OR(strange, core_strange(y));
    }
    return !some(strange);
}

/* Is there a term but zeros, in lanes of small exponents? Then their units do not fit. */
static HD_NOINLINE bool core_has_small(const struct core_panels *p, unsigned per, unsigned first,
                                       unsigned n, unsigned row, unsigned col, floats sum,
                                       words small)
{
    const words magnitude = all(0x7fffffff);
    words is = greater(AND(TO_WORDS(sum), magnitude), all(0));
    for (unsigned k = first; k < first + n; k++) {
        words a = greater(AND(TO_WORDS(V(load_ps)(p->a[k] + row)), magnitude), all(0));
        words b =
            greater(AND(TO_WORDS(V(set1_ps)(p->b[core_b_at(per, k, col)])), magnitude), all(0));
        is = OR(is, AND(a, b));
    }
    return some(AND(is, small));
}

/* 2 to the power of small integers. */
INLINE floats core_power(words e)
{
    return TO_FLOATS(V(slli_epi32)(V(add_epi32)(e, all(127)), 23));
}

/* One step for a column. False: the model is to be asked. */
INLINE bool core_step(const struct core *c, const struct core_panels *p, unsigned per,
                      unsigned first, unsigned n, unsigned row, unsigned col, int least,
                      floats *sum)
{
    words most = core_exponents(*sum, least);
#pragma GCC unroll 16
    for (unsigned k = first; k < first + n; k++) {
        words a = TO_WORDS(V(load_ps)((const float *)(const void *)(p->a_exponent[k] + row)));
        most = V(max_epi32)(most,
                            V(add_epi32)(a, all((uint32_t)p->b_exponent[core_b_at(per, k, col)])));
    }
    words small = greater(all((uint32_t)CORE_LEAST), most);
    if (some(greater(most, all(CORE_MOST))) ||
        (some(small) && core_has_small(p, per, first, n, row, col, *sum, small)))
        return false;
    most = V(max_epi32)(most, all((uint32_t)CORE_LEAST));
    const words fraction = all(c->rule.fraction);
    const floats unit = core_power(V(sub_epi32)(fraction, most));
    words eight = V(cvttps_epi32)(V(mul_ps)(*sum, unit)); /* c, which is added to the first ones */
    doubles low = V(setzero_pd)(), high = low;
#pragma GCC unroll 4
    for (unsigned k = first; k < first + n; k += CORE_EIGHT) {
        const unsigned last = k + CORE_EIGHT < first + n ? k + CORE_EIGHT : first + n;
#pragma GCC unroll 8
        for (unsigned i = k; i < last; i++) {
            floats b = V(set1_ps)(p->b[core_b_at(per, i, col)]);
            floats product = V(mul_ps)(V(load_ps)(p->a[i] + row), b);
            eight = V(add_epi32)(eight, V(cvttps_epi32)(V(mul_ps)(product, unit)));
        }
        low = V(add_pd)(low, low_doubles(eight));
        high = V(add_pd)(high, high_doubles(eight));
        eight = all(0);
    }
    floats x = singles_of(low, high);
    if (c->d_type == IR_F16)
        x = made_odd(x, low, high);
    x = V(mul_ps)(x, core_power(V(sub_epi32)(most, fraction)));
    if (c->d_type == IR_F16) {
        floats other;
        halves_split(halves_join(x, x), &x, &other);
    } else if (c->rule.is_short)
        x = TO_FLOATS(AND(TO_WORDS(x), all(0xffffffffu << IR_CORE_SHORT_BITS)));
    *sum = x;
    return true;
}

/* Columns, one after the other; steps of the usual sizes become code without loops. */
INLINE bool core_columns(const struct core *c, const struct core_panels *p, unsigned per,
                         unsigned row, floats sum[COLUMNS])
{
    const int least = c->d_type == IR_F16 ? CORE_F16_LEAST : CORE_F32_LEAST;
    const int c_least = c->c_type == IR_F16 ? CORE_F16_LEAST : CORE_F32_LEAST;
    for (unsigned first = 0; first < c->k; first += c->rule.step) {
        const unsigned n = c->k - first < c->rule.step ? c->k - first : c->rule.step;
        const int low = first ? least : c_least;
        for (unsigned col = 0; col < COLUMNS; col++) {
            floats *s = &sum[col];
            if (!(n == 32   ? core_step(c, p, per, first, 32, row, col, low, s)
                  : n == 16 ? core_step(c, p, per, first, 16, row, col, low, s)
                  : n == 8  ? core_step(c, p, per, first, 8, row, col, low, s)
                            : core_step(c, p, per, first, n, row, col, low, s)))
                return false;
        }
    }
    return true;
}

/* The sums of a tile's rows from `row` on. */
static bool core_sums(const struct core *c, const struct core_panels *p, unsigned row,
                      floats sum[COLUMNS])
{
    switch (c->per) {
    case 0:
        return core_columns(c, p, 0, row, sum);
    case 1:
        return core_columns(c, p, 1, row, sum);
    case 2:
        return core_columns(c, p, 2, row, sum);
    default:
        return core_columns(c, p, 4, row, sum);
    }
}

#endif
