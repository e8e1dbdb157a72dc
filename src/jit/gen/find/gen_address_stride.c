/*
 * Strides of addresses, as scalar evolution finds them: how far one moves from one iteration of a
 * loop, one thread or one CTA to the next, read off the operations that make it. Bits that are put
 * together count as a sum, and nothing is taken to wrap: those who ask only choose between ways to
 * do the same, so no proof is asked for.
 */
#include "jit/gen/gen.h"

enum { DEPTH = 12 };

static bool step_of(struct gen *g, const struct ir_value *v, enum gen_stride_by by, unsigned depth,
                    struct gen_address_stride *out);

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

/* What the latch adds to a phi of the header of the loop around the current node. */
static bool step_of_iteration(struct gen *g, const struct ir_instr *phi,
                              struct gen_address_stride *out)
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
        *out = (struct gen_address_stride){.scale = 1};
        if (!const_of(next->src[other], &out->constant))
            out->value = next->src[other];
        return true;
    }
    return false;
}

/*
 * A value that goes round a loop starts a thread or a CTA apart and stays so; where ways meet, it
 * is taken to be apart when it is so on all of them.
 */
static bool step_of_phi(struct gen *g, const struct ir_instr *phi, enum gen_stride_by by,
                        unsigned depth, struct gen_address_stride *out)
{
    bool found = false;
    if (by == GEN_BY_ITERATION)
        return step_of_iteration(g, phi, out);
    for (uint32_t p = 0; p < phi->nsrc; p++) {
        struct gen_address_stride one;
        if (phi->block->preds[p]->id >= phi->block->id)
            continue;
        if (!step_of(g, phi->src[p], by, depth, &one))
            return false;
        if (found &&
            (one.value != out->value || one.scale != out->scale || one.constant != out->constant))
            return false;
        *out = one;
        found = true;
    }
    return found;
}

static bool step_of_sreg(enum ir_sreg r, enum gen_stride_by by, struct gen_address_stride *out)
{
    *out = (struct gen_address_stride){.scale = 1, .constant = 1};
    return by == GEN_BY_CTA      ? r == IR_SREG_CTAID_X
           : by == GEN_BY_THREAD ? r == IR_SREG_TID_X || r == IR_SREG_LANEID
                                 : false;
}

static bool step_of_sum(struct gen *g, const struct ir_instr *in, enum gen_stride_by by,
                        unsigned depth, struct gen_address_stride *out)
{
    struct gen_address_stride more;
    bool first = step_of(g, in->src[0], by, depth, out);
    if (!step_of(g, in->src[1], by, depth, first ? &more : out))
        return first;
    if (!first)
        return true;
    if (out->value || more.value)
        return false;
    out->constant += more.constant;
    return true;
}

static bool scaled(struct gen_address_stride *step, int64_t k)
{
    step->scale *= k;
    step->constant *= k;
    return true;
}

static bool step_of_product(struct gen *g, const struct ir_instr *in, enum gen_stride_by by,
                            unsigned depth, struct gen_address_stride *out)
{
    int64_t k;
    unsigned s = step_of(g, in->src[0], by, depth, out) ? 0 : 1;
    if (s && !step_of(g, in->src[1], by, depth, out))
        return false;
    const struct ir_value *factor = in->src[1 - s];
    if (const_of(factor, &k))
        return scaled(out, k);
    if (out->value || !is_uniform(g, factor))
        return false;
    *out = (struct gen_address_stride){.value = factor, .scale = out->constant};
    return true;
}

static bool step_of(struct gen *g, const struct ir_value *v, enum gen_stride_by by, unsigned depth,
                    struct gen_address_stride *out)
{
    const struct ir_instr *in = v->instr;
    int64_t k;
    if (!in || depth++ == DEPTH)
        return false;
    switch (in->op) {
    case IR_OP_PHI:
        return step_of_phi(g, in, by, depth, out);
    case IR_OP_SREG:
        return step_of_sreg((enum ir_sreg)in->imm, by, out);
    case IR_OP_ADD:
    case IR_OP_OR:
        return ir_type_lanes(in->type) == 1 && step_of_sum(g, in, by, depth, out);
    case IR_OP_CVTA:
    case IR_OP_CVTA_TO:
        return step_of(g, in->src[0], by, depth, out);
    case IR_OP_CVT:
        return !ir_type_is_float(in->type) && !ir_type_is_float(in->type2) &&
               step_of(g, in->src[0], by, depth, out);
    case IR_OP_MUL:
    case IR_OP_MULWIDE:
        return step_of_product(g, in, by, depth, out);
    case IR_OP_SHL:
        return const_of(in->src[1], &k) && k >= 0 && k < 32 &&
               step_of(g, in->src[0], by, depth, out) && scaled(out, (int64_t)1 << k);
    default:
        return false;
    }
}

bool gen_address_stride_of(struct gen *g, const struct ir_value *v, enum gen_stride_by by,
                           struct gen_address_stride *out)
{
    return step_of(g, v, by, 0, out);
}
