/*
 * Prefetches where the next access is known and the host does not see it coming.
 *
 * Loops whose threads jump: `for (i = id; i < n; i += gridDim.x * blockDim.x)`. A warp runs all its
 * turns in a row, so its loads are a large, regular distance apart: too far for the host's
 * prefetchers, and a turn with work in it is too long for the next load to start early. The
 * distance is read off the loop's induction.
 *
 * The first accesses of a CTA that has barriers: a worker takes CTAs in the order of their numbers,
 * and what the next ones load would only be asked for behind all that this one computes. The
 * distance is the address's derivative by the CTA's number.
 *
 * A wrong guess costs time and nothing else, so no proof is asked for.
 */
#include "jit/gen/gen.h"

enum {
    NEAR_B = 2048,   /* constant distances below this are left to the host */
    CTA_NEAR_B = 16, /* those from a CTA to the next one */
    CTAS_AHEAD = 2,
};

/* Is it one of the first accesses of a CTA whose warps wait for each other? */
static bool opens_cta(const struct gen *g)
{
    return g->body.by_region && g->shapes.loops.loop_of[g->nodes[g->cur].block->id] == IR_NO_BLOCK;
}

/* `times` steps in bytes (i64); NULL: not known here, or too near to matter. */
static LLVMValueRef distance_of(struct gen *g, const struct gen_step *step, int64_t nearest_B,
                                int64_t times)
{
    if (!step->value)
        return step->constant >= nearest_B || step->constant <= -nearest_B
                   ? gen_i64(g, (uint64_t)(step->constant * times))
                   : NULL;
    if (!gen_value_available(g, step->value))
        return NULL;
    LLVMValueRef x = gen_scalar(g, step->value);
    if (LLVMTypeOf(x) == g->t->i32)
        x = LLVMBuildSExt(g->b, x, g->t->i64, "");
    return LLVMBuildMul(g->b, x, gen_i64(g, (uint64_t)(step->scale * times)), "");
}

/* Does the next turn of the loop load from far away? */
static bool jumps(struct gen *g, const struct ir_instr *in, struct gen_step *out)
{
    return in->op == IR_OP_LD && in->mem.space == IR_SPACE_GLOBAL &&
           gen_step_of(g, in->src[0], GEN_BY_TURN, out);
}

bool gen_prefetch_jumps(struct gen *g, const struct ir_instr *in)
{
    struct gen_step step;
    return jumps(g, in, &step) && step.value;
}

static LLVMValueRef distance(struct gen *g, const struct ir_instr *in)
{
    struct gen_step step;
    if (jumps(g, in, &step))
        return distance_of(g, &step, NEAR_B, 1);
    if (opens_cta(g) && gen_step_of(g, in->src[0], GEN_BY_CTA, &step))
        return distance_of(g, &step, CTA_NEAR_B, CTAS_AHEAD);
    return NULL;
}

void gen_prefetch_next(struct gen *g, const struct ir_instr *in,
                       LLVMValueRef const base[GEN_HALVES], int64_t offset)
{
    LLVMValueRef far;
    if (!gen_does(g, GEN_PASS_PREFETCH) || in->mem.space != IR_SPACE_GLOBAL ||
        g->unit->path == JIT_GENERIC || !(far = distance(g, in)))
        return;
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef at = LLVMBuildAdd(g->b, base[h], far, "");
        at = LLVMBuildAdd(g->b, at, gen_i64(g, (uint64_t)offset), "");
        LLVMValueRef p = LLVMBuildIntToPtr(g->b, at, g->t->ptr, "");
        LLVMValueRef args[] = {p, gen_i32(g, in->op == IR_OP_ST), gen_i32(g, 3), gen_i32(g, 1)};
        gen_intrinsic(g, "llvm.prefetch", &g->t->ptr, 1, args, 4);
    }
}
