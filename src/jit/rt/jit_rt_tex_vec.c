/* Which texture fetches are made with vectors (jit_rt_tex_fetch.c), and with which. */
#include "jit/rt/jit_rt_tex.h"

static jit_tex_fetch_fn *fetch_of(enum jit_path path)
{
#if defined(__x86_64__)
    if (path == JIT_AVX512)
        return jit_tex_fetch_avx512;
    if (path == JIT_AVX2)
        return jit_tex_fetch_avx2;
#else
    (void)path;
#endif
    return jit_tex_fetch_generic;
}

/* Offsets of 32 bits reach it all. */
static bool is_small(const struct ir_texture *t)
{
    const struct ir_texture_level *l = &t->level[0];
    return l->slice_B * l->depth < INT32_MAX && !(l->base % 4) && l->pitch_B <= INT32_MAX;
}

bool jit_tex_vectors(const struct ir_tex *op, const struct ir_texture *t, enum jit_path path,
                     const uint32_t (*words)[32], uint32_t (*out)[32])
{
    bool integers = op->flags == 1u << IR_TEX_INTEGERS;
    if (op->what != IR_TEX_FETCH || op->lod != IR_TEX_BASE || op->geometry > IR_TEX_A2D ||
        op->type == IR_F16 || op->type == IR_F16X2 || t->srgb || !is_small(t))
        return false;
    if (integers ? !t->is_linear || op->geometry != IR_TEX_1D : op->flags != 0)
        return false;
    fetch_of(path)(op, t, words, out);
    return true;
}
