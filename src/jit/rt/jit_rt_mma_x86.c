/* Which matrix products are made with vectors (jit_rt_mma_vec.c), and with which. */
#include "jit/rt/jit_rt_mma.h"

#include "model/tensor_core.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum { K_MAX = 64, TILE_MAX = 256, MXCSR_DEFAULT = 0x1f80 };

static bool has(const struct ir_mma *mma, enum ir_mma_flag flag)
{
    return (mma->flags >> flag & 1) != 0;
}

static bool is_here(const struct ir_mma *mma)
{
    if (has(mma, IR_MMA_SPARSE) || has(mma, IR_MMA_QUADS) || mma->scales || mma->a == IR_B1)
        return false;
    if (mma->a == IR_F64)
        return mma->rnd <= IR_RP;
    return mma->k <= K_MAX && mma->m * mma->n <= TILE_MAX &&
           (mma->a != IR_E2M1 || has(mma, IR_MMA_BYTES));
}

/* Eight rows are one of the smaller vectors. */
static void multiply(const struct ir_mma *mma, enum jit_path path, const void *src, void *dst)
{
    if (mma->a == IR_F64)
        jit_mma_doubles(mma, src, dst);
    else if (path == JIT_AVX512 && mma->m > 8)
        jit_mma_multiply_avx512(mma, src, dst);
    else
        jit_mma_multiply_avx2(mma, src, dst);
}

/* Changing the mode takes as long as a good part of a product. */
bool jit_mma_vectors(const struct ir_mma *mma, uint32_t how, const void *src, void *dst)
{
    enum jit_path path = (enum jit_path)(how & ~(uint32_t)JIT_FLUSHES);
    if (path == JIT_GENERIC || !is_here(mma))
        return false;
    if (ir_core_makes(mma->a))
        return jit_core_multiply(mma, path, src, dst);
    if (how & JIT_FLUSHES) {
        unsigned mode = _mm_getcsr();
        _mm_setcsr(MXCSR_DEFAULT);
        multiply(mma, path, src, dst);
        _mm_setcsr(mode);
    } else
        multiply(mma, path, src, dst);
    return true;
}

bool jit_mma_window(const struct ir_mma *mma, uint32_t how, const struct ir_matrix_access *at,
                    const void *src, void *dst)
{
    enum jit_path path = (enum jit_path)(how & ~(uint32_t)JIT_FLUSHES);
    unsigned mode;
    bool done;
    if (path == JIT_GENERIC || has(mma, IR_MMA_SPARSE) || mma->a == IR_B1)
        return false;
    if (ir_core_makes(mma->a))
        return jit_core_window(mma, path, at, src, dst);
    mode = _mm_getcsr();
    _mm_setcsr(MXCSR_DEFAULT);
    if (path == JIT_AVX512)
        done = jit_mma_window_avx512(mma, at, src, dst);
    else
        done = jit_mma_window_avx2(mma, at, src, dst);
    _mm_setcsr(mode);
    return done;
}

#else

bool jit_mma_vectors(const struct ir_mma *mma, uint32_t how, const void *src, void *dst)
{
    (void)mma, (void)how, (void)src, (void)dst;
    return false;
}

bool jit_mma_window(const struct ir_mma *mma, uint32_t how, const struct ir_matrix_access *at,
                    const void *src, void *dst)
{
    (void)mma, (void)how, (void)at, (void)src, (void)dst;
    return false;
}

#endif
