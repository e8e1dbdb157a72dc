/*
 * Vectors of matrix products, for each level of them: private to jit_rt_mma_vec.c and
 * jit_rt_mma_window_vec.c, which give the bits of ir_eval_mma(). Its sums run in the order of k.
 *
 * A vector of sums is a column, with a row in each lane. So the factor from a is a vector, too, and
 * that from b is one number for all lanes, which instructions read from memory however it lies.
 *
 * In registers lane 4 * g + t has row g and columns that t says. Four vectors of them, one after
 * the other, become vectors for t = 0 .. 3 when each part of 128 bits is transposed, and back in
 * the same way. Lane 4 * p + q has then row q * PARTS + p, for a, c and d alike.
 *
 * Integers of 8 bits and less are multiplied as f32, where their sums are exact: 64 products of two
 * 8-bit numbers have 22 bits.
 */
#ifndef HD_JIT_RT_JIT_RT_MMA_VEC_H
#define HD_JIT_RT_JIT_RT_MMA_VEC_H

#include "jit/rt/jit_rt_mma.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
#define LEVEL(name)  name##_avx512
#define V(name)      _mm512_##name
#define AND(a, b)    _mm512_and_si512(a, b)
#define OR(a, b)     _mm512_or_si512(a, b)
#define TO_WORDS(x)  _mm512_castps_si512(x)
#define TO_FLOATS(x) _mm512_castsi512_ps(x)
typedef __m512 floats;
typedef __m512i words;
enum { WIDTH = 16 };
#else
#define LEVEL(name)  name##_avx2
#define V(name)      _mm256_##name
#define AND(a, b)    _mm256_and_si256(a, b)
#define OR(a, b)     _mm256_or_si256(a, b)
#define TO_WORDS(x)  _mm256_castps_si256(x)
#define TO_FLOATS(x) _mm256_castsi256_ps(x)
typedef __m256 floats;
typedef __m256i words;
enum { WIDTH = 8 };
#endif

enum {
    LANES = 32,
    PARTS = WIDTH / 4,
    ROWS = 16, /* of a tile; eight with m8 */
    COLUMNS = 8,
    PER_WORD_MAX = 8, /* elements */
    NAN_BITS = 0x7fffffff
};

typedef float lanes[LANES]; /* a register: bits of any kind */

/* Vectors stay in registers when nothing that holds them is indexed by a variable. */
#define EACH_4(X) X(0) X(1) X(2) X(3)
#define EACH_8(X) EACH_4(X) X(4) X(5) X(6) X(7)

INLINE words all(uint32_t bits)
{
    return V(set1_epi32)((int)bits);
}

/* ---- what the levels do differently */

#if defined(__AVX512F__)

/* Lower and upper halves of words, f16, as f32. */
INLINE void halves_split(words x, floats *out_low, floats *out_high)
{
    static const uint16_t order[LANES] = {0,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20,
                                          22, 24, 26, 28, 30, 1,  3,  5,  7,  9,  11,
                                          13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
    words y = _mm512_permutexvar_epi16(_mm512_loadu_si512(order), x);
    *out_low = _mm512_cvtph_ps(_mm512_castsi512_si256(y));
    *out_high = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(y, 1));
}

INLINE floats nan_replace(floats x, uint32_t bits)
{
    __mmask16 is = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_mask_mov_ps(x, is, TO_FLOATS(all(bits)));
}

INLINE words if_negative(words x, words then, words otherwise)
{
    return _mm512_mask_mov_epi32(otherwise, _mm512_movepi32_mask(x), then);
}

#else

INLINE void halves_split(words x, floats *out_low, floats *out_high)
{
    const words order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
    words y = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(x, order), 0xd8);
    *out_low = _mm256_cvtph_ps(_mm256_castsi256_si128(y));
    *out_high = _mm256_cvtph_ps(_mm256_extracti128_si256(y, 1));
}

INLINE floats nan_replace(floats x, uint32_t bits)
{
    return _mm256_blendv_ps(x, TO_FLOATS(all(bits)), _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

INLINE words if_negative(words x, words then, words otherwise)
{
    return TO_WORDS(_mm256_blendv_ps(TO_FLOATS(otherwise), TO_FLOATS(then), TO_FLOATS(x)));
}

#endif

INLINE words halves_join(floats low, floats high)
{
    words x = V(cvtepu16_epi32)(V(cvtps_ph)(low, _MM_FROUND_TO_NEAREST_INT));
    words y = V(cvtepu16_epi32)(V(cvtps_ph)(high, _MM_FROUND_TO_NEAREST_INT));
    return OR(x, V(slli_epi32)(y, 16));
}

/* ---- registers and vectors of rows */

INLINE void transpose(floats x[4])
{
    floats y0 = V(unpacklo_ps)(x[0], x[1]), y1 = V(unpackhi_ps)(x[0], x[1]);
    floats y2 = V(unpacklo_ps)(x[2], x[3]), y3 = V(unpackhi_ps)(x[2], x[3]);
    x[0] = V(shuffle_ps)(y0, y2, 0x44);
    x[1] = V(shuffle_ps)(y0, y2, 0xee);
    x[2] = V(shuffle_ps)(y1, y3, 0x44);
    x[3] = V(shuffle_ps)(y1, y3, 0xee);
}

/*
 * Where vector q of the rows from `row` on is, in registers of eight rows that are `step` apart.
 */
INLINE unsigned quad_at(unsigned step, unsigned row, unsigned q)
{
    unsigned lane = (row + q * PARTS) * 4;
    return lane / LANES * step * LANES + lane % LANES;
}

INLINE void rows_load(const lanes *regs, unsigned step, unsigned row, floats out[4])
{
#define LOAD(q) out[q] = V(loadu_ps)(regs[0] + quad_at(step, row, q));
    EACH_4(LOAD)
#undef LOAD
    transpose(out);
}

INLINE void rows_store(floats x[4], lanes *regs, unsigned step, unsigned row)
{
    transpose(x);
#define STORE(q) V(storeu_ps)(regs[0] + quad_at(step, row, q), x[q]);
    EACH_4(STORE)
#undef STORE
}

/* ---- elements to f32 */

struct element {
    unsigned box; /* bits from one to the next in a word */
    enum { HALF, UPPER_HALF, TF32, SMALL_FLOAT, SIGNED, UNSIGNED } kind;
    /* Of floats of up to 8 bits: where in its byte it is, and its fields. */
    unsigned shift, bits, frac_bits, bias;
    bool has_nan; /* which is the largest magnitude */
};

INLINE struct element element_of(enum ir_type type)
{
    switch (type) {
    case IR_F16:
        return (struct element){16, HALF, 0, 0, 0, 0, false};
    case IR_BF16:
        return (struct element){16, UPPER_HALF, 0, 0, 0, 0, false};
    case IR_TF32:
        return (struct element){32, TF32, 0, 0, 0, 0, false};
    case IR_E5M2:
        return (struct element){8, SMALL_FLOAT, 0, 8, 2, 15, false};
    case IR_E4M3:
        return (struct element){8, SMALL_FLOAT, 0, 8, 3, 7, true};
    case IR_E3M2:
        return (struct element){8, SMALL_FLOAT, 0, 6, 2, 3, false};
    case IR_E2M3:
        return (struct element){8, SMALL_FLOAT, 0, 6, 3, 1, false};
    case IR_E2M1:
        return (struct element){8, SMALL_FLOAT, 2, 4, 1, 1, false};
    default:
        return (struct element){.box = ir_type_bits(type),
                                .kind = ir_type_is_signed(type) ? SIGNED : UNSIGNED};
    }
}

/*
 * Bytes 0 and 2 as f16, but for the difference of the biases; denormals are what they should be.
 * Adding one to NaN's magnitude carries, which sets the exponent's upper bit.
 */
INLINE words small_to_halves(const struct element *e, words x)
{
    uint32_t ones = 0x10001, sign = ones << (e->bits - 1), rest = sign - ones;
    unsigned up = 10 - e->frac_bits;
    words magnitude = AND(x, all(rest)), carry = AND(V(add_epi32)(magnitude, all(ones)), all(sign));
    if (e->has_nan)
        magnitude = OR(magnitude, carry);
    return OR(V(slli_epi32)(magnitude, up), V(slli_epi32)(AND(x, all(sign)), 16 - e->bits));
}

INLINE void smalls_widen(const struct element *e, words x, floats out[4])
{
    const floats scale = V(set1_ps)((float)(1u << (15 - e->bias)));
    words odd = V(srli_epi32)(x, 8 + e->shift);
    halves_split(small_to_halves(e, V(srli_epi32)(x, e->shift)), &out[0], &out[2]);
    halves_split(small_to_halves(e, odd), &out[1], &out[3]);
#define SCALE(j) out[j] = V(mul_ps)(out[j], scale);
    EACH_4(SCALE)
#undef SCALE
}

/* Element `j` of words. */
INLINE floats element_get(const struct element *e, words x, unsigned j)
{
    words top = V(slli_epi32)(x, 32 - (j + 1) * e->box);
    switch (e->kind) {
    case UPPER_HALF:
        return TO_FLOATS(AND(top, all(0xffff0000)));
    case TF32:
        return TO_FLOATS(AND(x, all(0xffffe000)));
    case SIGNED:
        return V(cvtepi32_ps)(V(srai_epi32)(top, 32 - e->box));
    default:
        return V(cvtepi32_ps)(V(srli_epi32)(top, 32 - e->box));
    }
}

/* All elements of words: 32 / e->box vectors. */
INLINE void widen(const struct element *e, words x, floats out[PER_WORD_MAX])
{
#define GET(j)                                                                                     \
    if ((j) < 32 / e->box)                                                                         \
        out[j] = element_get(e, x, j);
    if (e->kind == HALF)
        halves_split(x, &out[0], &out[1]);
    else if (e->kind == SMALL_FLOAT)
        smalls_widen(e, x, out);
    else {
        EACH_8(GET)
    }
#undef GET
}

/* Stored `step` apart. */
INLINE void widen_store(const struct element *e, words x, float *to, unsigned step)
{
    floats y[PER_WORD_MAX] = {V(setzero_ps)()};
    widen(e, x, y);
#define STORE(j)                                                                                   \
    if ((j) < 32 / e->box)                                                                         \
        V(storeu_ps)(to + (j) * step, y[j]);
    EACH_8(STORE)
#undef STORE
}

#define ELEMENT_TYPES(X)                                                                           \
    X(F16) X(BF16) X(TF32) X(E4M3) X(E5M2) X(E3M2) X(E2M3) X(E2M1) X(S8) X(U8) X(S4) X(U4)

/* Rows of a from registers: by k, in the order of rows_load(). */
INLINE void a_widen(const struct element *e, const lanes *regs, unsigned rows, unsigned k,
                    float (*out)[ROWS])
{
    const unsigned per = 32 / e->box;
    for (unsigned i = 0; i < k; i += 4 * per, regs += rows / 8, out += 4 * per) {
        for (unsigned row = 0; row < rows; row += WIDTH) {
            floats x[4];
            rows_load(regs, 1, row, x);
#define WIDEN(t) widen_store(e, TO_WORDS(x[t]), out[(t) * per] + row, ROWS);
            EACH_4(WIDEN)
#undef WIDEN
        }
    }
}

/* ---- sums: vectors of the columns of a tile */

struct tile {
    const lanes *c;
    lanes *d;
    enum ir_type c_type, d_type;
    bool clamps;
};

/* Registers 0 and 2 (if there are 16 rows) have the even columns, 1 and 3 the odd ones. */
INLINE void singles_load(const lanes *c, unsigned row, floats sum[COLUMNS])
{
    floats even[4], odd[4];
    rows_load(c, 2, row, even);
    rows_load(c + 1, 2, row, odd);
#define COLUMN(t) sum[2 * (t)] = even[t], sum[2 * (t) + 1] = odd[t];
    EACH_4(COLUMN)
#undef COLUMN
}

INLINE void halves_load(const lanes *c, unsigned row, floats sum[COLUMNS])
{
    floats x[4];
    rows_load(c, 1, row, x);
#define COLUMN(t) halves_split(TO_WORDS(x[t]), &sum[2 * (t)], &sum[2 * (t) + 1]);
    EACH_4(COLUMN)
#undef COLUMN
}

INLINE void sums_load(const struct tile *t, unsigned row, floats sum[COLUMNS])
{
    if (t->c_type == IR_F32) {
        singles_load(t->c, row, sum);
    } else if (t->c_type == IR_F16) {
        halves_load(t->c, row, sum);
    } else {
#define ZERO(i) sum[i] = V(setzero_ps)();
        EACH_8(ZERO) /* c is added to the sum of products */
#undef ZERO
    }
}

INLINE void singles_store(const floats sum[COLUMNS], lanes *d, unsigned row)
{
    floats even[4], odd[4];
#define COLUMN(t)                                                                                  \
    even[t] = nan_replace(sum[2 * (t)], NAN_BITS);                                                 \
    odd[t] = nan_replace(sum[2 * (t) + 1], NAN_BITS);
    EACH_4(COLUMN)
#undef COLUMN
    rows_store(even, d, 2, row);
    rows_store(odd, d + 1, 2, row);
}

/* A NaN of f32 whose upper bits make 0x7fff of it. */
INLINE void halves_store(const floats sum[COLUMNS], lanes *d, unsigned row)
{
    floats x[4];
#define COLUMN(t)                                                                                  \
    x[t] = TO_FLOATS(halves_join(nan_replace(sum[2 * (t)], NAN_BITS),                              \
                                 nan_replace(sum[2 * (t) + 1], NAN_BITS)));
    EACH_4(COLUMN)
#undef COLUMN
    rows_store(x, d, 1, row);
}

/* The sum of two numbers whose sum has neither's sign left the range. */
INLINE words clamped_sum(words a, words c)
{
    words sum = V(add_epi32)(a, c);
    words left = AND(TO_WORDS(V(xor_ps)(TO_FLOATS(a), TO_FLOATS(sum))),
                     TO_WORDS(V(xor_ps)(TO_FLOATS(c), TO_FLOATS(sum))));
    return if_negative(left, if_negative(c, all(0x80000000), all(0x7fffffff)), sum);
}

/* The columns of one parity. */
INLINE void integers_store(const struct tile *t, unsigned row, unsigned odd, floats x[4])
{
    transpose(x);
    for (unsigned q = 0; q < 4; q++) {
        unsigned at = quad_at(2, row, q);
        words a = V(cvttps_epi32)(x[q]), c = TO_WORDS(V(loadu_ps)(t->c[odd] + at));
        words sum = t->clamps ? clamped_sum(a, c) : V(add_epi32)(a, c);
        V(storeu_ps)(t->d[odd] + at, TO_FLOATS(sum));
    }
}

INLINE void sums_store(const struct tile *t, unsigned row, const floats sum[COLUMNS])
{
    if (t->d_type == IR_F32) {
        singles_store(sum, t->d, row);
    } else if (t->d_type == IR_F16) {
        halves_store(sum, t->d, row);
    } else {
        floats even[4] = {sum[0], sum[2], sum[4], sum[6]},
               odd[4] = {sum[1], sum[3], sum[5], sum[7]};
        integers_store(t, row, 0, even);
        integers_store(t, row, 1, odd);
    }
}

/* Registers of c and d in a tile of `rows`. */
INLINE unsigned sum_registers(enum ir_type type, unsigned rows)
{
    return rows / (type == IR_F16 ? 8 : 4);
}

/* Adds one k: `step` is from a column of b to the next. */
INLINE void sums_add(floats a, const float *b, unsigned step, floats sum[COLUMNS])
{
#define ADD(i) sum[i] = V(fmadd_ps)(a, V(set1_ps)(b[(i) * step]), sum[i]);
    EACH_8(ADD)
#undef ADD
}

#endif
