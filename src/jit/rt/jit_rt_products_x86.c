/* Which products that stand together are made with vectors (jit_rt_products_vec.c). */
#include "jit/rt/jit_rt_products.h"

#include "model/tensor_core.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "ir/ir.h"

enum { MXCSR_DEFAULT = 0x1f80 };

/*
 * The sum of a pair is one of three terms, whose order and rounding Intel's manual describes: first
 * the upper product, then the lower one, each rounded. Numbers that tell this from other ways.
 */
__attribute__((target("avx512f,avx512vl,avx512bf16"))) static bool halves_are_chained(void)
{
    static const struct {
        float c;
        uint16_t a_low, a_high;
        float sum;
    } cases[] = {
        {0x1p24f, 0x3f80, 0x3f80, 0x1p24f},        /* 1 and 1: each is lost */
        {0x1p24f, 0x4000, 0x3f80, 0x1.000002p24f}, /* 1 is lost, then 2 is added */
    };
    const __m128bh ones = (__m128bh)_mm_set1_epi32(0x3f803f80);
    for (size_t i = 0; i < HD_COUNT_OF(cases); i++) {
        uint32_t word = (uint32_t)cases[i].a_high << 16 | cases[i].a_low;
        __m128bh a = (__m128bh)_mm_set1_epi32((int)word);
        float sum = _mm_cvtss_f32(_mm_dpbf16_ps(_mm_set1_ps(cases[i].c), a, ones));
        if (memcmp(&sum, &cases[i].sum, sizeof(sum)) != 0)
            return false;
    }
    return true;
}

typedef void make(const struct jit_products_task *t);

static make *find_best(void)
{
    if (!jit_uses(JIT_AVX512, "vnni"))
        return jit_products_avx512;
    return jit_uses(JIT_AVX512, "bf16") && halves_are_chained() ? jit_products_avx512_bf16
                                                                : jit_products_avx512_vnni;
}

static make *best(enum jit_path path)
{
    static make *_Atomic found;
    if (path != JIT_AVX512)
        return jit_products_avx2;
    if (!found)
        found = find_best();
    return found;
}

bool jit_products_have_dots(const struct ir_mma *mma, uint32_t how)
{
    if ((how & ~(uint32_t)JIT_FLUSHES) != JIT_AVX512 || ir_core_makes(mma->a))
        return false;
    make *here = best(JIT_AVX512);
    if (!ir_type_is_float(mma->a))
        return here != jit_products_avx512 && (mma->a != IR_U8 || mma->b != IR_U8);
    return here == jit_products_avx512_bf16 && mma->d == IR_F32 && mma->a != IR_F16 &&
           mma->a != IR_TF32;
}

bool jit_products_vectors(const struct jit_products_task *t, uint32_t how)
{
    enum jit_path path = (enum jit_path)(how & ~(uint32_t)JIT_FLUSHES);
    if (path == JIT_GENERIC)
        return false;
    if (ir_core_makes(t->mma->a))
        return jit_core_products(t, path);
    if (!(how & JIT_FLUSHES)) {
        best(path)(t);
        return true;
    }
    unsigned mode = _mm_getcsr();
    _mm_setcsr(MXCSR_DEFAULT);
    best(path)(t);
    _mm_setcsr(mode);
    return true;
}

#else

bool jit_products_have_dots(const struct ir_mma *mma, uint32_t how)
{
    (void)mma, (void)how;
    return false;
}

bool jit_products_vectors(const struct jit_products_task *t, uint32_t how)
{
    (void)t, (void)how;
    return false;
}

#endif
