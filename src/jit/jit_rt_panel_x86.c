/*
 * Matrices in shared memory to f32 with vectors: eight elements of a line at a time, eight lines
 * transposed where the other direction is wanted. The elements are ir_mma_float()'s.
 */
#include "jit/jit_rt_mma.h"

#include <assert.h>

#include "ir/matrix.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define AVX2   __attribute__((target("avx2,fma,f16c")))

enum { BLOCK = 8 };

struct line {
    const char *at[2]; /* where its next eight elements are: tf32 needs two pieces */
};

/* Floats of 8 bits: the exponent is moved by a product, which makes denormals right, too. */
AVX2 INLINE __m256 small_floats(__m256i bits, unsigned frac, unsigned bias, int infinity, int nan)
{
    __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7f));
    __m256i sign = _mm256_slli_epi32(_mm256_and_si256(bits, _mm256_set1_epi32(0x80)), 24);
    __m256 scale = _mm256_castsi256_ps(_mm256_set1_epi32((int)((254 - bias) << 23)));
    __m256 x = _mm256_castsi256_ps(_mm256_slli_epi32(magnitude, (int)(23 - frac)));
    __m256i out = _mm256_castps_si256(_mm256_mul_ps(x, scale));
    __m256i is_infinity = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(infinity - 1));
    __m256i is_nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(nan - 1));
    out = _mm256_or_si256(out, _mm256_and_si256(is_infinity, _mm256_set1_epi32(0x7f800000)));
    out = _mm256_or_si256(out, _mm256_and_si256(is_nan, _mm256_set1_epi32(0x7fffffff)));
    return _mm256_castsi256_ps(_mm256_or_si256(out, sign));
}

AVX2 INLINE __m256 decode(enum ir_type type, const struct line *l)
{
    __m128i low = type == IR_F16 || type == IR_BF16 || type == IR_TF32
                      ? _mm_loadu_si128((const __m128i *)(const void *)l->at[0])
                      : _mm_loadl_epi64((const __m128i *)(const void *)l->at[0]);
    switch (type) {
    case IR_F16:
        return _mm256_cvtph_ps(low);
    case IR_BF16:
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(low), 16));
    case IR_TF32: {
        __m128i high = _mm_loadu_si128((const __m128i *)(const void *)l->at[1]);
        __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
        return _mm256_castsi256_ps(_mm256_and_si256(both, _mm256_set1_epi32(~0x1fff)));
    }
    case IR_E4M3:
        return small_floats(_mm256_cvtepu8_epi32(low), 3, 7, 0x80, 0x7f);
    case IR_E5M2:
        return small_floats(_mm256_cvtepu8_epi32(low), 2, 15, 0x7c, 0x7d);
    case IR_S8:
        return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(low));
    default:
        return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(low));
    }
}

/* Nothing here is indexed by a variable, so all stays in registers. */
#define EACH_8(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

#define PAIR(a, b)                                                                                 \
    y##a = _mm256_unpacklo_ps(x[a], x[b]);                                                         \
    y##b = _mm256_unpackhi_ps(x[a], x[b]);
#define QUAD(a, b, c, d)                                                                           \
    x[a] = _mm256_shuffle_ps(y##a, y##c, 0x44);                                                    \
    x[b] = _mm256_shuffle_ps(y##a, y##c, 0xee);                                                    \
    x[c] = _mm256_shuffle_ps(y##b, y##d, 0x44);                                                    \
    x[d] = _mm256_shuffle_ps(y##b, y##d, 0xee);
#define CROSS(a, b)                                                                                \
    y##a = _mm256_permute2f128_ps(x[a], x[b], 0x20);                                               \
    y##b = _mm256_permute2f128_ps(x[a], x[b], 0x31);
#define BACK(a) x[a] = y##a;

AVX2 INLINE void transpose(__m256 x[BLOCK])
{
    __m256 y0, y1, y2, y3, y4, y5, y6, y7;
    PAIR(0, 1)
    PAIR(2, 3)
    PAIR(4, 5)
    PAIR(6, 7)
    QUAD(0, 1, 2, 3)
    QUAD(4, 5, 6, 7)
    CROSS(0, 4)
    CROSS(1, 5)
    CROSS(2, 6)
    CROSS(3, 7)
    EACH_8(BACK)
}

/* The columns of a tile as fragments have them: even ones, then odd ones. */
static const uint8_t paired[BLOCK] = {0, 2, 4, 6, 1, 3, 5, 7};

/* Elements `at` .. + 7 of a line; false: they are outside of the window. */
INLINE bool line_find(const struct ir_matrix_panel *p, unsigned line, unsigned at, unsigned bits,
                      struct line *out)
{
    unsigned byte = at * bits / 8, within = byte % IR_MATRIX_PIECE_B;
    for (unsigned i = 0; i < (bits == 32 ? 2u : 1u); i++) {
        uint32_t offset = ir_matrix_piece(&p->from, line, byte / IR_MATRIX_PIECE_B + i);
        const char *piece = ir_matrix_at(&p->window, offset);
        if (!piece)
            return false;
        out->at[i] = piece + within;
    }
    return true;
}

#define STORE(i) _mm256_storeu_ps(out + (i) * stride, x[i]);

/* Lines run along k. */
#define LINE_OF_ROW(i)                                                                             \
    if (!line_find(p, p->first + o + (is_paired ? paired[i] : (i)), k, bits, &l))                  \
        return false;                                                                              \
    x[i] = decode(type, &l);

AVX2 INLINE bool block_of_rows(const struct ir_matrix_panel *p, enum ir_type type, unsigned bits,
                               unsigned o, unsigned k)
{
    const unsigned stride = p->k_stride != 1 ? p->k_stride : p->outer_stride;
    const bool is_paired = p->paired;
    float *out = p->out + o * p->outer_stride + k * p->k_stride;
    struct line l;
    __m256 x[BLOCK];
    EACH_8(LINE_OF_ROW)
    if (p->k_stride != 1)
        transpose(x);
    EACH_8(STORE)
    return true;
}

/* Each line is of one k. */
#define LINE_OF_K(i)                                                                               \
    if (!line_find(p, k + (i), p->first + o, bits, &l))                                            \
        return false;                                                                              \
    x[i] = decode(type, &l);                                                                       \
    if (p->paired)                                                                                 \
        x[i] = _mm256_permutevar8x32_ps(x[i], order);

AVX2 INLINE bool block_of_lines(const struct ir_matrix_panel *p, enum ir_type type, unsigned bits,
                                unsigned o, unsigned k)
{
    const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    const unsigned stride = p->k_stride == 1 ? p->outer_stride : p->k_stride;
    float *out = p->out + o * p->outer_stride + k * p->k_stride;
    struct line l;
    __m256 x[BLOCK];
    EACH_8(LINE_OF_K)
    if (p->k_stride == 1)
        transpose(x);
    EACH_8(STORE)
    return true;
}

AVX2 INLINE bool read(const struct ir_matrix_panel *p, enum ir_type type)
{
    unsigned bits = ir_type_bits(type);
    for (unsigned o = 0; o < p->outer; o += BLOCK) {
        for (unsigned k = 0; k < p->inner; k += BLOCK) {
            if (p->from.trans ? !block_of_lines(p, type, bits, o, k)
                              : !block_of_rows(p, type, bits, o, k))
                return false;
        }
    }
    return true;
}

#define CASE(type)                                                                                 \
    case type:                                                                                     \
        return read(p, type);

AVX2 bool jit_panel_read(const struct ir_matrix_panel *p)
{
    assert((p->k_stride == 1 || p->outer_stride == 1) && !(p->paired && p->k_stride == 1));
    if (p->outer % BLOCK || p->inner % BLOCK)
        return false;
    switch (p->type) {
        CASE(IR_F16)
        CASE(IR_BF16)
        CASE(IR_TF32)
        CASE(IR_E4M3)
        CASE(IR_E5M2)
        CASE(IR_S8)
        CASE(IR_U8)
    default:
        return false;
    }
}

#endif
