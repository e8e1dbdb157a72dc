/*
 * Loads of lanes that lie a constant distance apart, all of them active.
 *
 * A gather takes 12 cycles for 16 lanes on some CPUs, 27 on those whose microcode hides stale
 * data, and there it also waits for every store before it. Known distances need no index: 16 plain
 * loads put together cost about 16 cycles everywhere and wait for nothing. Every second element is
 * two vectors.
 */
#include "jit/gen/gen.h"

#include <assert.h>

static LLVMValueRef load_at(struct gen *g, LLVMTypeRef type, LLVMValueRef ptr, int64_t offset,
                            unsigned align)
{
    LLVMValueRef x = LLVMBuildLoad2(g->b, type, gen_gep(g, ptr, (uint64_t)offset), "");
    LLVMSetAlignment(x, align);
    return x;
}

/* Both vectors end at elements that lanes read, so they touch no page that the lanes do not. */
static LLVMValueRef every_second(struct gen *g, LLVMTypeRef elem, LLVMValueRef ptr, uint64_t size_B)
{
    LLVMTypeRef vt = gen_vec(g, elem);
    unsigned lanes = gen_half_lanes(g);
    unsigned align = (unsigned)size_B;
    LLVMValueRef low = load_at(g, vt, ptr, 0, align), pick[GEN_LANES_MAX];
    LLVMValueRef high = load_at(g, vt, ptr, (int64_t)((lanes - 1) * size_B), align);
    for (unsigned l = 0; l < lanes / 2; l++) {
        pick[l] = gen_i32(g, 2 * l);
        pick[l + lanes / 2] = gen_i32(g, lanes + 2 * l + 1);
    }
    return LLVMBuildShuffleVector(g->b, low, high, LLVMConstVector(pick, lanes), "");
}

LLVMValueRef gen_load_strided(struct gen *g, LLVMTypeRef elem, LLVMValueRef ptr, int64_t stride,
                              uint64_t size_B)
{
    assert(stride && LLVMGetIntTypeWidth(elem) == 8 * size_B);
    if (stride == (int64_t)(2 * size_B))
        return every_second(g, elem, ptr, size_B);
    LLVMValueRef v = LLVMGetPoison(gen_vec(g, elem));
    for (unsigned l = 0; l < gen_half_lanes(g); l++) {
        LLVMValueRef x = load_at(g, elem, ptr, stride * (int64_t)l, (unsigned)size_B);
        v = LLVMBuildInsertElement(g->b, v, x, gen_i32(g, l), "");
    }
    return v;
}
