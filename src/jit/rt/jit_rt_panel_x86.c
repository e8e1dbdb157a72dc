/*
 * Matrices in shared memory to f32 with vectors: eight elements of a line at a time, eight lines
 * transposed where the other direction is wanted. The elements are ir_mma_float()'s.
 */
#include "jit/rt/jit_rt_mma.h"

#include <assert.h>

#include "model/matrix.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define AVX2   __attribute__((target("avx2,fma,f16c")))

enum { BLOCK = 8 };

/* Floats of 8 bits as f16, whose denormals are right. e4m3 differs in bias and in NaN. */
AVX2 INLINE __m256 e5m2(__m128i bytes)
{
    return _mm256_cvtph_ps(_mm_slli_epi16(_mm_cvtepu8_epi16(bytes), 8));
}

AVX2 INLINE __m256 e4m3(__m128i bytes)
{
    __m128i x = _mm_cvtepu8_epi16(bytes), magnitude = _mm_and_si128(x, _mm_set1_epi16(0x7f));
    __m128i sign = _mm_slli_epi16(_mm_srli_epi16(x, 7), 15);
    __m128i nan = _mm_cmpeq_epi16(magnitude, _mm_set1_epi16(0x7f));
    __m256 y = _mm256_cvtph_ps(_mm_or_si128(_mm_slli_epi16(magnitude, 7), sign));
    y = _mm256_mul_ps(y, _mm256_set1_ps(256.0f));
    return _mm256_or_ps(y, _mm256_castsi256_ps(_mm256_cvtepi16_epi32(nan)));
}

AVX2 INLINE __m256 decode(enum ir_type type, const char *from, const char *next)
{
    __m128i low = type == IR_F16 || type == IR_BF16 || type == IR_TF32
                      ? _mm_loadu_si128((const __m128i *)(const void *)from)
                      : _mm_loadl_epi64((const __m128i *)(const void *)from);
    switch (type) {
    case IR_F16:
        return _mm256_cvtph_ps(low);
    case IR_BF16:
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(low), 16));
    case IR_TF32: {
        __m128i high = _mm_loadu_si128((const __m128i *)(const void *)next);
        __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
        return _mm256_castsi256_ps(_mm256_and_si256(both, _mm256_set1_epi32(~0x1fff)));
    }
    case IR_E4M3:
        return e4m3(low);
    case IR_E5M2:
        return e5m2(low);
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

/* Are pieces of eight lines, of which the first is at `first`, in the window for certain? */
INLINE bool lines_are_inside(const struct ir_matrix_panel *p, uint32_t first)
{
    uint32_t last = (first + (BLOCK - 1) * p->from.run_B) | (p->from.run_B - IR_MATRIX_PIECE_B);
    return (uint64_t)last + IR_MATRIX_PIECE_B <= p->window.size_B;
}

#define LINE(first, i) (window + ir_matrix_swizzled(&p->from, (first) + (i) * run_B))
#define DECODE(i)      x[i] = decode(type, LINE(at, i), LINE(next, i));
#define STORE(i)       _mm256_storeu_ps(out + (i) * stride, x[i]);

/* Lines run along k, or each is of one k; they are transposed if the panel has them otherwise. */
AVX2 INLINE bool block(const struct ir_matrix_panel *p, enum ir_type type, unsigned bits,
                       unsigned o, unsigned k)
{
    const bool trans = p->from.trans, transposes = (p->k_stride == 1) == trans;
    const unsigned stride = p->k_stride != 1 ? p->k_stride : p->outer_stride;
    const unsigned line = trans ? k : p->first + o, along = trans ? p->first + o : k;
    const unsigned byte = along * bits / 8, piece = byte / IR_MATRIX_PIECE_B;
    const uint32_t at = ir_matrix_plain(&p->from, line, piece), run_B = p->from.run_B;
    const uint32_t next = type == IR_TF32 ? ir_matrix_plain(&p->from, line, piece + 1) : at;
    const char *window = p->window.base + byte % IR_MATRIX_PIECE_B;
    float *out = p->out + o * p->outer_stride + k * p->k_stride;
    __m256 x[BLOCK];
    if (!lines_are_inside(p, at) || !lines_are_inside(p, next))
        return false;
    EACH_8(DECODE)
    if (transposes)
        transpose(x);
    EACH_8(STORE)
    return true;
}

AVX2 INLINE bool read(const struct ir_matrix_panel *p, enum ir_type type, unsigned bits)
{
    for (unsigned o = 0; o < p->outer; o += BLOCK) {
        for (unsigned k = 0; k < p->inner; k += BLOCK) {
            if (!block(p, type, bits, o, k))
                return false;
        }
    }
    return true;
}

#define CASE(type, bits)                                                                           \
    case type:                                                                                     \
        return read(p, type, bits);

AVX2 bool jit_panel_read(const struct ir_matrix_panel *p)
{
    assert((p->k_stride == 1) != (p->outer_stride == 1));
    if (p->outer % BLOCK || p->inner % BLOCK || p->first % BLOCK)
        return false;
    switch (p->type) {
        CASE(IR_F16, 16)
        CASE(IR_BF16, 16)
        CASE(IR_TF32, 32)
        CASE(IR_E4M3, 8)
        CASE(IR_E5M2, 8)
        CASE(IR_S8, 8)
        CASE(IR_U8, 8)
    default:
        return false;
    }
}

#endif
