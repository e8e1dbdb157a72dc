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

/* Constant distances below this are left to the host. */
#define NEAR_B 2048

/* What is added to `v` in a turn of the loop: constant + value * scale; false = not found. */
struct step {
    const struct ir_value *value; /* uniform; NULL = none */
    int64_t scale, constant;
};

static bool is_uniform(struct gen *g, const struct ir_value *v)
{
    return gen_shape(g, v)->kind == IR_SHAPE_UNIFORM;
}

static bool const_of(const struct ir_value *v, int64_t *out)
{
    uint64_t bits;
    if (!ir_value_const(v, &bits))
        return false;
    *out = ir_type_bits(v->type) == 32 ? (int32_t)bits : (int64_t)bits;
    return true;
}

/* A phi of the loop's header that the latch adds to. */
static bool step_of_phi(struct gen *g, const struct ir_instr *phi, struct step *out)
{
    const struct ir_loops *loops = &g->shapes.loops;
    uint32_t block = g->nodes[g->cur].block->id, loop = loops->loop_of[block];
    if (loop == IR_NO_BLOCK || loops->loops[loop].header != phi->block->id)
        return false;
    for (uint32_t p = 0; p < phi->nsrc; p++) {
        const struct ir_instr *next = phi->src[p]->instr;
        if (phi->block->preds[p]->id < phi->block->id || !next || !ir_is_plain_add(next))
            continue;
        unsigned other = next->src[0] == phi->dst[0] ? 1 : 0;
        if (next->src[1 - other] != phi->dst[0] || !is_uniform(g, next->src[other]))
            continue;
        *out = (struct step){.scale = 1};
        if (!const_of(next->src[other], &out->constant))
            out->value = next->src[other];
        return true;
    }
    return false;
}

static bool step_of(struct gen *g, const struct ir_value *v, unsigned depth, struct step *out)
{
    const struct ir_instr *in = v->instr;
    int64_t k = 1;
    if (!in || depth > 8)
        return false;
    switch (in->op) {
    case IR_OP_PHI:
        return step_of_phi(g, in, out);
    case IR_OP_ADD:
        for (unsigned s = 0; s < 2 && ir_is_plain_add(in); s++) {
            if (is_uniform(g, in->src[s]) && step_of(g, in->src[1 - s], depth + 1, out))
                return true;
        }
        return false;
    case IR_OP_CVT:
        return !ir_type_is_float(in->type) && !ir_type_is_float(in->type2) &&
               step_of(g, in->src[0], depth + 1, out);
    case IR_OP_SHL:
        if (!const_of(in->src[1], &k) || k < 0 || k > 31)
            return false;
        k = 1ll << k;
        break;
    case IR_OP_MUL:
    case IR_OP_MULWIDE:
        if (!const_of(in->src[1], &k))
            return false;
        break;
    default:
        return false;
    }
    if (!step_of(g, in->src[0], depth + 1, out))
        return false;
    out->scale *= k;
    out->constant *= k;
    return true;
}

/* ---- from one CTA to the next */

#define CTAS_AHEAD 2

static bool per_cta(struct gen *g, const struct ir_value *v, unsigned depth, struct step *out);

/* Of a sum or of bits that are put together; false: neither depends on the CTA, or not known. */
static bool per_cta_sum(struct gen *g, const struct ir_instr *in, unsigned depth, struct step *out)
{
    struct step more;
    bool first = per_cta(g, in->src[0], depth, out);
    if (!per_cta(g, in->src[1], depth, first ? &more : out))
        return first;
    if (!first)
        return true;
    if (out->value || more.value)
        return false;
    out->constant += more.constant;
    return true;
}

static bool per_cta_product(struct gen *g, const struct ir_instr *in, unsigned depth,
                            struct step *out)
{
    int64_t k = 1;
    unsigned s = per_cta(g, in->src[0], depth, out) ? 0 : 1;
    if (s && !per_cta(g, in->src[1], depth, out))
        return false;
    const struct ir_value *by = in->src[1 - s];
    if (const_of(by, &k)) {
        out->scale *= k;
        out->constant *= k;
        return true;
    }
    if (out->value || !is_uniform(g, by))
        return false;
    *out = (struct step){.value = by, .scale = out->constant};
    return true;
}

/* How far `v` moves from a CTA to the next one; false: not at all, or not known. */
static bool per_cta(struct gen *g, const struct ir_value *v, unsigned depth, struct step *out)
{
    const struct ir_instr *in = v->instr;
    int64_t k;
    if (!in || depth > 10)
        return false;
    switch (in->op) {
    case IR_OP_SREG:
        *out = (struct step){.scale = 1, .constant = 1};
        return in->imm == IR_SREG_CTAID_X;
    case IR_OP_ADD:
    case IR_OP_OR:
        return ir_type_lanes(in->type) == 1 && per_cta_sum(g, in, depth + 1, out);
    case IR_OP_SUB:
    case IR_OP_CVTA_TO:
    case IR_OP_CVTA:
        return per_cta(g, in->src[0], depth + 1, out);
    case IR_OP_CVT:
        return !ir_type_is_float(in->type) && !ir_type_is_float(in->type2) &&
               per_cta(g, in->src[0], depth + 1, out);
    case IR_OP_MUL:
    case IR_OP_MULWIDE:
        return per_cta_product(g, in, depth + 1, out);
    case IR_OP_SHL:
        if (!const_of(in->src[1], &k) || k < 0 || k > 31 || !per_cta(g, in->src[0], depth + 1, out))
            return false;
        out->scale *= (int64_t)1 << k;
        out->constant *= (int64_t)1 << k;
        return true;
    default:
        return false;
    }
}

/* Is it one of the first accesses of a CTA whose warps wait for each other? */
static bool opens_cta(const struct gen *g)
{
    return g->body.by_region &&
           g->shapes.loops.loop_of[g->nodes[g->cur].block->id] == IR_NO_BLOCK;
}

/* ---- both */

/* The distance in bytes (i64) of `times` steps; NULL: not known here, or too near to matter. */
static LLVMValueRef distance_of(struct gen *g, const struct step *step, int64_t nearest_B,
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

static LLVMValueRef distance(struct gen *g, const struct ir_instr *in)
{
    const struct ir_value *address = in->src[0];
    struct step step;
    if (in->op == IR_OP_LD && step_of(g, address, 0, &step))
        return distance_of(g, &step, NEAR_B, 1);
    if (opens_cta(g) && per_cta(g, address, 0, &step))
        return distance_of(g, &step, GEN_LANES, CTAS_AHEAD);
    return NULL;
}

void gen_prefetch_next(struct gen *g, const struct ir_instr *in, LLVMValueRef const base[2],
                       int64_t offset)
{
    LLVMValueRef far;
    if (!gen_optional(g) || in->mem.space != IR_SPACE_GLOBAL || g->unit->path == JIT_GENERIC ||
        !(far = distance(g, in)))
        return;
    for (int h = 0; h < 2; h++) {
        LLVMValueRef at = LLVMBuildAdd(g->b, base[h], far, "");
        at = LLVMBuildAdd(g->b, at, gen_i64(g, (uint64_t)offset), "");
        LLVMValueRef p = LLVMBuildIntToPtr(g->b, at, g->t->ptr, "");
        LLVMValueRef args[] = {p, gen_i32(g, in->op == IR_OP_ST), gen_i32(g, 3), gen_i32(g, 1)};
        gen_intrinsic(g, "llvm.prefetch", &g->t->ptr, 1, args, 4);
    }
}
