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

#include <immintrin.h>
#include <string.h>

#include "tcore/tcore_lanes.h"

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

/* Fragments of a step, and where its products are in them. */
struct operand {
    const struct tcore_a *a;
    const struct tcore_b *b;
    unsigned k, n, step, group, row;
};

/* Exponents of products, the largest of each sum, less `bias` and `shift` up. */
INLINE words exponents(bool is_wide, const struct operand *p, unsigned col, int bias,
                       unsigned shift)
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
static HD_NOINLINE bool small_are_some(bool is_wide, const struct operand *p, unsigned col, words c,
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
INLINE words negatives(const struct operand *p, unsigned col, words c)
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
INLINE bool starts_make(const struct tcore_form *f, const struct operand *p, unsigned first,
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
INLINE void products_add(const struct operand *p, unsigned first, unsigned n, struct start *s)
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

INLINE bool step_add(const struct tcore_form *f, const struct operand *p, bool is_half,
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
        struct operand p = {.a = pairs[i].a, .b = pairs[i].b, .row = row};
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

INLINE bool short_step_add(const struct tcore_form *f, const struct operand *p, floats *c)
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
        struct operand p = {.a = pairs[i].a, .b = pairs[i].b, .row = row};
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

INLINE bool whole_step_add(const struct tcore_form *f, const struct operand *p, bool is_half,
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
        struct operand p = {.a = pairs[i].a, .b = pairs[i].b, .row = row};
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
        if (HD_MAX(pairs[i].a->most, pairs[i].b->most) == 255 ||
            pairs[i].a->most + pairs[i].b->most > 2 * F32_BIAS + MOST)
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
