/*
 * Matrix products of f64 with vectors: the bits of ir_eval_mma(). Lane 4 * g + t of a register has
 * row g, so a vector of four lanes has a row: of sums its even columns or its odd ones, of a four
 * elements along k. Columns of b are transposed, four at a time.
 */
#include "jit/rt/jit_rt_mma.h"

#include <assert.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define AVX2   __attribute__((target("avx2,fma")))

enum { LANES = 32, K_MAX = 16, QUAD = 4 };

typedef double lanes[LANES];

#define EACH_4(X) X(0) X(1) X(2) X(3)

/* Four columns of b, the next but one each, as rows of k. */
AVX2 INLINE void b_transpose(const double *column, __m256d out[QUAD])
{
    __m256d x0 = _mm256_loadu_pd(column), x1 = _mm256_loadu_pd(column + 2 * QUAD);
    __m256d x2 = _mm256_loadu_pd(column + 4 * QUAD), x3 = _mm256_loadu_pd(column + 6 * QUAD);
    __m256d y0 = _mm256_unpacklo_pd(x0, x1), y1 = _mm256_unpackhi_pd(x0, x1);
    __m256d y2 = _mm256_unpacklo_pd(x2, x3), y3 = _mm256_unpackhi_pd(x2, x3);
    out[0] = _mm256_permute2f128_pd(y0, y2, 0x20);
    out[1] = _mm256_permute2f128_pd(y1, y3, 0x20);
    out[2] = _mm256_permute2f128_pd(y0, y2, 0x31);
    out[3] = _mm256_permute2f128_pd(y1, y3, 0x31);
}

AVX2 INLINE __m256d canonical(__m256d x)
{
    const __m256d nan = _mm256_castsi256_pd(_mm256_set1_epi64x((long long)0xfff8000000000000));
    return _mm256_blendv_pd(x, nan, _mm256_cmp_pd(x, x, _CMP_UNORD_Q));
}

/* Four rows from `at` on, a lane's number: their chains run side by side. */
#define ROW_LOAD(r)                                                                                \
    __m256d even##r = _mm256_loadu_pd(c[0] + at + (r) * QUAD);                                     \
    __m256d odd##r = _mm256_loadu_pd(c[1] + at + (r) * QUAD);
#define ROW_ADD(r)                                                                                 \
    x = _mm256_broadcast_sd(&a[k / QUAD * step][at + (r) * QUAD + k % QUAD]);                      \
    even##r = _mm256_fmadd_pd(x, b[k][0], even##r);                                                \
    odd##r = _mm256_fmadd_pd(x, b[k][1], odd##r);
#define ROW_STORE(r)                                                                               \
    _mm256_storeu_pd(d[0] + at + (r) * QUAD, canonical(even##r));                                  \
    _mm256_storeu_pd(d[1] + at + (r) * QUAD, canonical(odd##r));

AVX2 INLINE void rows_multiply(const lanes *a, unsigned step, unsigned k_count, __m256d (*b)[2],
                               unsigned at, const lanes *c, lanes *d)
{
    EACH_4(ROW_LOAD)
    for (unsigned k = 0; k < k_count; k++) {
        __m256d x;
        EACH_4(ROW_ADD)
    }
    EACH_4(ROW_STORE)
}

AVX2 static void multiply(const struct ir_mma *mma, const lanes *src, lanes *dst)
{
    const unsigned row_groups = mma->m / 8u, k_groups = mma->k / QUAD;
    const lanes *a = src, *b_regs = a + row_groups * k_groups, *c = b_regs + k_groups;
    __m256d b[K_MAX][2];
    assert(mma->n == 8 && mma->k <= K_MAX);
    for (unsigned i = 0; i < k_groups; i++) {
        __m256d even[QUAD], odd[QUAD];
        b_transpose(b_regs[i], even);
        b_transpose(b_regs[i] + QUAD, odd);
        for (unsigned j = 0; j < QUAD; j++) {
            b[i * QUAD + j][0] = even[j];
            b[i * QUAD + j][1] = odd[j];
        }
    }
    for (unsigned i = 0; i < row_groups; i++, a++, c += 2, dst += 2) {
        rows_multiply(a, row_groups, mma->k, b, 0, c, dst);
        rows_multiply(a, row_groups, mma->k, b, LANES / 2, c, dst);
    }
}

void jit_mma_doubles(const struct ir_mma *mma, const void *src, void *dst)
{
    assert(mma->rnd <= IR_RP);
    const unsigned rounding = mma->rnd == IR_RZ   ? _MM_ROUND_TOWARD_ZERO
                              : mma->rnd == IR_RM ? _MM_ROUND_DOWN
                              : mma->rnd == IR_RP ? _MM_ROUND_UP
                                                  : _MM_ROUND_NEAREST;
    if (rounding != _MM_ROUND_NEAREST)
        _MM_SET_ROUNDING_MODE(rounding);
    multiply(mma, src, dst);
    if (rounding != _MM_ROUND_NEAREST)
        _MM_SET_ROUNDING_MODE(_MM_ROUND_NEAREST);
}

#endif
