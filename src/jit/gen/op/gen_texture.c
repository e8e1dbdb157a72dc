/*
 * Texture and surface instructions: operands go to memory as they lie in vectors, 32 lanes each,
 * and a function of the runtime does the work for the warp (jit_rt_tex.c).
 */
#include "jit/gen/access/gen_access.h"
#include "jit/gen/op/gen_products.h"

#include <assert.h>
#include <string.h>

#include "model/texture.h"

enum { HANDLES = 2 * 8 * GEN_LANES, WORD = 2 * 4 * GEN_LANES }; /* bytes of 32 lanes */

static bool is_used(struct gen *g, const struct ir_value *v)
{
    return !gen_uses_find(g) || g->uses.first[v->id + 1] != g->uses.first[v->id];
}

/* Results behind the last one that is used are not made: nvcc's vectors of floats have four. */
static struct ir_tex needed(struct gen *g, const struct ir_instr *in)
{
    struct ir_tex tex = *ir_ext_tex(in);
    bool is_fetch = tex.what == IR_TEX_FETCH && tex.vec == in->ndst;
    while (is_fetch && tex.vec > 1 && !is_used(g, in->dst[tex.vec - 1]))
        tex.vec--;
    return tex;
}

static bool is_uniform(struct gen *g, struct ir_value *const *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (gen_shape(g, v[i])->kind != IR_SHAPE_UNIFORM)
            return false;
    }
    return true;
}

/* Handles that all lanes share are there once. */
static void handles_store(struct gen *g, const struct ir_instr *in, uint32_t n, LLVMValueRef room)
{
    if (!is_uniform(g, in->src, n)) {
        gen_registers_store(g, in, 0, n, IR_B64, room);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        LLVMBuildStore(g->b, gen_scalar(g, in->src[i]), gen_gep(g, room, (uint64_t)i * HANDLES));
}

void gen_tex(struct gen *g, const struct ir_instr *in)
{
    const struct ir_tex tex = needed(g, in);
    bool sampler = (tex.flags >> IR_TEX_SAMPLER & 1) != 0;
    uint32_t first = sampler ? 2 : 1;
    bool one = is_uniform(g, in->src, first);
    LLVMValueRef room = gen_registers_room(g, GEN_OPERANDS, in->nsrc);
    LLVMValueRef out = gen_registers_room(g, GEN_RESULTS, HD_MAX(in->ndst, 1u));
    LLVMValueRef words = gen_gep(g, room, (uint64_t)first * HANDLES);
    uint64_t what;
    memcpy(&what, &tex, sizeof(what));
    handles_store(g, in, first, room);
    gen_registers_store(g, in, first, in->nsrc, IR_B32, words);
    LLVMValueRef args[] = {gen_i64(g, what),
                           LLVMBuildOr(g->b, gen_mma_how(g), gen_i32(g, one ? JIT_TEX_ONE : 0), ""),
                           room,
                           sampler ? gen_gep(g, room, HANDLES) : LLVMConstNull(g->t->ptr),
                           words,
                           out};
    gen_call_here(g, "jit_rt_tex", args, HD_COUNT_OF(args));
    gen_registers_load(g, in, IR_B32, out);
}
