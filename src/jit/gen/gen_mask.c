/*
 * Masks as vectors and as bits, which lanes they have, and values of such lanes.
 */
#include "jit/gen/flow/gen_flow.h"

#include <assert.h>
#include <string.h>

LLVMValueRef gen_bits(struct gen *g, LLVMValueRef mask)
{
    assert(gen_is_mask(g, mask));
    return LLVMBuildBitCast(g->b, mask, g->t->bits, "");
}

LLVMValueRef gen_no_bits(struct gen *g)
{
    return gen_ci(g->t->bits, 0);
}

LLVMValueRef gen_full_bits(struct gen *g)
{
    return LLVMConstAllOnes(g->t->bits);
}

LLVMValueRef gen_mask_from_bits(struct gen *g, LLVMValueRef bits)
{
    assert(gen_is_bits(g, bits));
    return LLVMBuildBitCast(g->b, bits, g->t->mask, "");
}

LLVMValueRef gen_mask_or_full(struct gen *g, int h)
{
    assert(!g->mask[h] || gen_is_mask(g, g->mask[h]));
    return g->mask[h] ? g->mask[h] : gen_splat_const(g, g->t->i1, 1);
}

LLVMValueRef gen_mask_bits(struct gen *g, int h)
{
    return g->mask[h] ? gen_bits(g, g->mask[h]) : gen_full_bits(g);
}

void gen_masks_or_full(struct gen *g, LLVMValueRef out[GEN_HALVES])
{
    for (int h = 0; h < gen_halves(g); h++)
        out[h] = gen_mask_or_full(g, h);
}

void gen_masks_copy(LLVMValueRef to[GEN_HALVES], LLVMValueRef const from[GEN_HALVES])
{
    memcpy(to, from, GEN_HALVES * sizeof(*to));
}

LLVMValueRef gen_bits_of_all(struct gen *g, LLVMValueRef const mask[GEN_HALVES])
{
    LLVMValueRef all = LLVMBuildZExt(g->b, gen_bits(g, mask[0]), g->t->all, "");
    for (int h = 1; h < gen_halves(g); h++) {
        LLVMValueRef bits = LLVMBuildZExt(g->b, gen_bits(g, mask[h]), g->t->all, "");
        bits = LLVMBuildShl(g->b, bits, gen_ci(g->t->all, (uint64_t)h * GEN_LANES), "");
        all = LLVMBuildOr(g->b, all, bits, "");
    }
    return all;
}

LLVMValueRef gen_mask_all(struct gen *g)
{
    LLVMValueRef mask[GEN_HALVES];
    gen_masks_or_full(g, mask);
    return gen_bits_of_all(g, mask);
}

LLVMValueRef gen_bits_of_warp(struct gen *g, LLVMValueRef low, LLVMValueRef high)
{
    low = LLVMBuildZExt(g->b, low, g->t->i32, "");
    high = LLVMBuildZExt(g->b, high, g->t->i32, "");
    return LLVMBuildOr(g->b, low, LLVMBuildShl(g->b, high, gen_i32(g, GEN_LANES), ""), "");
}

LLVMValueRef gen_mask_of_warp(struct gen *g, int w)
{
    LLVMValueRef low = gen_mask_bits(g, 2 * w), at;
    if (!gen_is_half(g))
        return gen_bits_of_warp(g, low, gen_mask_bits(g, 2 * w + 1));
    at = LLVMBuildAnd(g->b, g->half_index, gen_i32(g, 1), "");
    at = LLVMBuildMul(g->b, at, gen_i32(g, GEN_LANES), "");
    return LLVMBuildShl(g->b, LLVMBuildZExt(g->b, low, g->t->i32, ""), at, "");
}

LLVMValueRef gen_mask32(struct gen *g)
{
    (void)gen_singly(g);
    return gen_mask_of_warp(g, 0);
}

/* A slot of masks, which stay in mask registers from iteration to iteration of a loop. */
static bool holds_mask(struct gen *g, LLVMValueRef slot)
{
    return LLVMIsAAllocaInst(slot) && LLVMGetAllocatedType(slot) == g->t->mask;
}

LLVMValueRef gen_bits_load(struct gen *g, LLVMValueRef slot)
{
    if (holds_mask(g, slot))
        return gen_bits(g, LLVMBuildLoad2(g->b, g->t->mask, slot, ""));
    return LLVMBuildLoad2(g->b, g->t->bits, slot, "");
}

void gen_bits_store(struct gen *g, LLVMValueRef bits, LLVMValueRef slot)
{
    LLVMBuildStore(g->b, holds_mask(g, slot) ? gen_mask_from_bits(g, bits) : bits, slot);
}

LLVMValueRef gen_any_bits(struct gen *g, LLVMValueRef const bits[GEN_HALVES])
{
    LLVMValueRef any = bits[0];
    for (int h = 1; h < gen_halves(g); h++) {
        assert(gen_is_bits(g, bits[h]));
        any = LLVMBuildOr(g->b, any, bits[h], "");
    }
    return LLVMBuildICmp(g->b, LLVMIntNE, any, gen_no_bits(g), "");
}

LLVMValueRef gen_any_in(struct gen *g, LLVMValueRef const mask[GEN_HALVES])
{
    LLVMValueRef bits[GEN_HALVES];
    for (int h = 0; h < gen_halves(g); h++)
        bits[h] = gen_bits(g, mask[h]);
    return gen_any_bits(g, bits);
}

LLVMValueRef gen_any_stored(struct gen *g, LLVMValueRef const slot[GEN_HALVES])
{
    LLVMValueRef bits[GEN_HALVES];
    for (int h = 0; h < gen_halves(g); h++)
        bits[h] = gen_bits_load(g, slot[h]);
    return gen_any_bits(g, bits);
}

LLVMValueRef gen_all_active(struct gen *g)
{
    LLVMValueRef all = gen_mask_bits(g, 0);
    for (int h = 1; h < gen_halves(g); h++)
        all = LLVMBuildAnd(g->b, all, gen_mask_bits(g, h), "");
    return LLVMBuildICmp(g->b, LLVMIntEQ, all, gen_full_bits(g), "");
}

void gen_mask_set_alive(struct gen *g)
{
    for (int h = 0; h < gen_halves(g); h++)
        g->mask[h] =
            g->alive_known_full ? NULL : gen_mask_from_bits(g, gen_bits_load(g, g->alive[h]));
}

void gen_refresh_mask(struct gen *g)
{
    assert(g->alive_known_full || g->body.alive_in_memory); /* by a call, or in dispatch mode */
    if (g->alive_known_full)
        return;
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef alive = gen_mask_from_bits(g, gen_bits_load(g, g->alive[h]));
        g->mask[h] = g->mask[h] ? LLVMBuildAnd(g->b, g->mask[h], alive, "") : alive;
    }
}

/* ---- the value of one lane */

LLVMValueRef gen_pick_lane(struct gen *g, LLVMValueRef const x[GEN_HALVES], LLVMValueRef lane)
{
    assert(LLVMTypeOf(lane) == g->t->i32);
    LLVMValueRef in_half = LLVMBuildAnd(g->b, lane, gen_i32(g, GEN_LANES - 1), "");
    LLVMValueRef one = LLVMBuildExtractElement(g->b, x[0], in_half, "");
    for (int h = 1; h < gen_halves(g); h++) {
        LLVMValueRef its = LLVMBuildExtractElement(g->b, x[h], in_half, "");
        LLVMValueRef first = gen_i32(g, (uint64_t)h * GEN_LANES);
        one = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntUGE, lane, first, ""), its, one, "");
    }
    return one;
}

static LLVMValueRef first_lane(struct gen *g)
{
    LLVMValueRef args[] = {gen_mask_all(g), gen_ci(g->t->i1, 0)};
    LLVMValueRef lane = gen_intrinsic(g, "llvm.cttz", &g->t->all, 1, args, 2);
    return LLVMBuildIntCast2(g->b, lane, g->t->i32, false, "");
}

LLVMValueRef gen_pick_active(struct gen *g, LLVMValueRef const x[GEN_HALVES])
{
    return gen_pick_lane(g, x, first_lane(g));
}

LLVMValueRef gen_pick_last(struct gen *g, LLVMValueRef const x[GEN_HALVES])
{
    LLVMValueRef args[] = {gen_mask_all(g), gen_ci(g->t->i1, 0)};
    LLVMValueRef lane = gen_intrinsic(g, "llvm.ctlz", &g->t->all, 1, args, 2);
    lane = LLVMBuildXor(g->b, lane, gen_ci(g->t->all, g->unit->halves * GEN_LANES - 1), "");
    return gen_pick_lane(g, x, LLVMBuildIntCast2(g->b, lane, g->t->i32, false, ""));
}
