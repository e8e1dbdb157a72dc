/*
 * Products in tensor memory with vectors along n: rows of d in registers, sixteen chains of fused
 * multiply-adds at a time, each in the order of k.
 */
#include "jit/rt/jit_rt_mma.h"

#include "model/tensor.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))
#define AVX2   __attribute__((target("avx2,fma,f16c")))

#define QNAN 0x7fffffff

AVX512 INLINE __m512 canonical_512(__m512 x)
{
    __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_castsi512_ps(
        _mm512_mask_mov_epi32(_mm512_castps_si512(x), nan, _mm512_set1_epi32(QNAN)));
}

AVX2 INLINE __m256 canonical_256(__m256 x)
{
    __m256 nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    return _mm256_blendv_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(QNAN)), nan);
}

/*
 * A tile of d: rows of three or of one vector. The sums stay in registers, so nothing is indexed by
 * a variable: ROWS_n(X) for each of n rows, of which r is the number.
 */
#define ROWS_1(X) X(0)
#define ROWS_4(X) X(0) X(1) X(2) X(3)
#define ROWS_8(X) ROWS_4(X) X(4) X(5) X(6) X(7)

#define LOAD_3(r)                                                                                  \
    float *d##r = p->d[row + (r)] + col;                                                           \
    const float *a##r = p->a[row + (r)];                                                           \
    VEC sum##r##0 = LOAD(d##r), sum##r##1 = LOAD(d##r + WIDTH), sum##r##2 = LOAD(d##r + 2 * WIDTH);
#define ADD_3(r)                                                                                   \
    x = SET(a##r[k]);                                                                              \
    sum##r##0 = FMA(x, b0, sum##r##0);                                                             \
    sum##r##1 = FMA(x, b1, sum##r##1);                                                             \
    sum##r##2 = FMA(x, b2, sum##r##2);
#define STORE_3(r)                                                                                 \
    STORE(d##r, CANONICAL(sum##r##0));                                                             \
    STORE(d##r + WIDTH, CANONICAL(sum##r##1));                                                     \
    STORE(d##r + 2 * WIDTH, CANONICAL(sum##r##2));
#define TILE_3(name, ATTRIBUTE, ROWS)                                                              \
    ATTRIBUTE INLINE void name(const struct ir_tensor_product *p, unsigned row, unsigned col)      \
    {                                                                                              \
        const float *b = p->b + col;                                                               \
        ROWS(LOAD_3)                                                                               \
        for (unsigned k = 0; k < p->k; k++, b += p->ldb) {                                         \
            VEC b0 = LOAD(b), b1 = LOAD(b + WIDTH), b2 = LOAD(b + 2 * WIDTH), x;                   \
            ROWS(ADD_3)                                                                            \
        }                                                                                          \
        ROWS(STORE_3)                                                                              \
    }

#define LOAD_1(r)                                                                                  \
    float *d##r = p->d[row + (r)] + col;                                                           \
    const float *a##r = p->a[row + (r)];                                                           \
    VEC sum##r = LOAD(d##r);
#define ADD_1(r)   sum##r = FMA(SET(a##r[k]), b0, sum##r);
#define STORE_1(r) STORE(d##r, CANONICAL(sum##r));
#define TILE_1(name, ATTRIBUTE, ROWS)                                                              \
    ATTRIBUTE INLINE void name(const struct ir_tensor_product *p, unsigned row, unsigned col)      \
    {                                                                                              \
        const float *b = p->b + col;                                                               \
        ROWS(LOAD_1)                                                                               \
        for (unsigned k = 0; k < p->k; k++, b += p->ldb) {                                         \
            VEC b0 = LOAD(b);                                                                      \
            ROWS(ADD_1)                                                                            \
        }                                                                                          \
        ROWS(STORE_1)                                                                              \
    }

#define VEC       __m512
#define WIDTH     16
#define LOAD      _mm512_loadu_ps
#define STORE     _mm512_storeu_ps
#define SET       _mm512_set1_ps
#define FMA       _mm512_fmadd_ps
#define CANONICAL canonical_512
TILE_3(tile_512_8x3, AVX512, ROWS_8)
TILE_3(tile_512_1x3, AVX512, ROWS_1)
TILE_1(tile_512_8x1, AVX512, ROWS_8)
TILE_1(tile_512_1x1, AVX512, ROWS_1)
#undef VEC
#undef WIDTH
#undef LOAD
#undef STORE
#undef SET
#undef FMA
#undef CANONICAL
#define VEC       __m256
#define WIDTH     8
#define LOAD      _mm256_loadu_ps
#define STORE     _mm256_storeu_ps
#define SET       _mm256_set1_ps
#define FMA       _mm256_fmadd_ps
#define CANONICAL canonical_256
TILE_3(tile_256_4x3, AVX2, ROWS_4)
TILE_3(tile_256_1x3, AVX2, ROWS_1)
TILE_1(tile_256_8x1, AVX2, ROWS_8)
TILE_1(tile_256_1x1, AVX2, ROWS_1)

/* Columns are a multiple of eight. */
AVX512 static void product_avx512(const struct ir_tensor_product *p)
{
    unsigned row, col;
    for (col = 0; col + 48 <= p->n; col += 48) {
        for (row = 0; row + 8 <= p->m; row += 8)
            tile_512_8x3(p, row, col);
        for (; row < p->m; row++)
            tile_512_1x3(p, row, col);
    }
    for (; col + 16 <= p->n; col += 16) {
        for (row = 0; row + 8 <= p->m; row += 8)
            tile_512_8x1(p, row, col);
        for (; row < p->m; row++)
            tile_512_1x1(p, row, col);
    }
    for (row = 0; col < p->n && row < p->m; row++)
        tile_256_1x1(p, row, col);
}

AVX2 static void product_avx2(const struct ir_tensor_product *p)
{
    unsigned row, col;
    for (col = 0; col + 24 <= p->n; col += 24) {
        for (row = 0; row + 4 <= p->m; row += 4)
            tile_256_4x3(p, row, col);
        for (; row < p->m; row++)
            tile_256_1x3(p, row, col);
    }
    for (; col < p->n; col += 8) {
        for (row = 0; row + 8 <= p->m; row += 8)
            tile_256_8x1(p, row, col);
        for (; row < p->m; row++)
            tile_256_1x1(p, row, col);
    }
}

const struct ir_tensor_fast *jit_tensor_fast(enum jit_path path)
{
    static const struct ir_tensor_fast avx512 = {jit_panel_read, product_avx512};
    static const struct ir_tensor_fast avx2 = {jit_panel_read, product_avx2};
    return path == JIT_AVX512 ? &avx512 : path == JIT_AVX2 ? &avx2 : NULL;
}

#else

const struct ir_tensor_fast *jit_tensor_fast(enum jit_path path)
{
    (void)path;
    return NULL;
}

#endif
