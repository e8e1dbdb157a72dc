/* requires: nothing. keeps: cfg. breaks: liveness, shapes. */
#include "opt/passes.h"

#include <assert.h>

/* The only value (but for itself) that comes in. */
static struct ir_value *phi_copy(const struct ir_instr *phi)
{
    struct ir_value *only = NULL;

    for (uint32_t i = 0; i < phi->nsrc; i++) {
        if (phi->src[i] == phi->dst[0] || phi->src[i] == only)
            continue;
        if (only)
            return NULL;
        only = phi->src[i];
    }
    return only;
}

static struct ir_value *select_copy(const struct ir_instr *instr)
{
    uint64_t pred;

    if (instr->src[1] == instr->src[2])
        return instr->src[1];
    if (ir_value_const(instr->src[0], &pred))
        return instr->src[pred ? 1 : 2];
    return NULL;
}

static struct ir_value *unpack_copy(const struct ir_instr *instr)
{
    const struct ir_instr *pack = instr->src[0]->instr;

    if (instr->src[0]->type == instr->dst[0]->type)
        return instr->src[0];
    if (pack && pack->op == IR_OP_PACK && pack->src[0]->type == instr->dst[0]->type)
        return pack->src[instr->imm];
    return NULL;
}

/* pack(unpack(x, 0), unpack(x, 1), ..) */
static struct ir_value *pack_copy(const struct ir_instr *instr)
{
    struct ir_value *whole = NULL;

    assert(instr->nsrc);
    if (instr->nsrc == 1)
        return instr->src[0];
    for (uint32_t i = 0; i < instr->nsrc; i++) {
        const struct ir_instr *piece = instr->src[i]->instr;
        if (!piece || piece->op != IR_OP_UNPACK || piece->imm != i ||
            (whole && piece->src[0] != whole))
            return NULL;
        whole = piece->src[0];
    }
    return whole->type == instr->dst[0]->type ? whole : NULL;
}

/*
 * Addresses of variables in shared or local memory fit into 32 bits: to those and back, as
 * compilers write cvta, changes nothing.
 */
static bool is_window_address(const struct ir_value *value)
{
    const struct ir_instr *in = value->instr;

    return in && in->op == IR_OP_VARADDR && ir_space_is_window(in->var->space) &&
           in->imm <= in->var->size_B;
}

/* Integer conversions that keep, or bring back, the bits. */
static struct ir_value *cvt_copy(const struct ir_instr *instr)
{
    const struct ir_value *src = instr->src[0];
    const struct ir_instr *inner = src->instr;

    if (!opt_type_is_int(instr->type) || !opt_type_is_int(instr->type2) ||
        ir_has(instr, IR_MOD_SAT))
        return NULL;
    if (ir_type_bits(instr->type) == ir_type_bits(instr->type2))
        return instr->src[0];
    /* trunc(extend(x)) */
    if (inner && inner->op == IR_OP_CVT && !ir_has(inner, IR_MOD_SAT) &&
        opt_type_is_int(inner->type) && opt_type_is_int(inner->type2) &&
        ir_type_bits(inner->type2) == ir_type_bits(instr->type) &&
        ir_type_bits(inner->type) > ir_type_bits(inner->type2))
        return inner->src[0];
    /* extend(trunc(variable)) */
    if (inner && inner->op == IR_OP_CVT && instr->type2 == IR_U32 && !ir_has(inner, IR_MOD_SAT) &&
        opt_type_is_int(inner->type) && ir_type_bits(inner->type) == 32 &&
        ir_type_bits(instr->type) == 64 && is_window_address(inner->src[0]))
        return inner->src[0];
    return NULL;
}

/* Global and constant addresses are generic addresses. */
static struct ir_value *cvta_copy(const struct ir_instr *instr)
{
    enum ir_space space = instr->mem.space;

    if (instr->src[0]->type != IR_B64)
        return NULL;
    if (space == IR_SPACE_GLOBAL || space == IR_SPACE_CONST || space == IR_SPACE_GENERIC)
        return instr->src[0];
    return NULL;
}

/* Operations that undo themselves: of another one of the kind, what that was made of. */
static struct ir_value *undone_copy(const struct ir_instr *instr)
{
    const struct ir_instr *first = instr->src[0]->instr;

    return first && first->op == instr->op ? first->src[0] : NULL;
}

static struct ir_value *copy_of(const struct ir_instr *instr)
{
    switch (instr->op) {
    case IR_OP_PHI:
        return phi_copy(instr);
    case IR_OP_SELECT:
        return select_copy(instr);
    case IR_OP_PACK:
        return pack_copy(instr);
    case IR_OP_UNPACK:
        return unpack_copy(instr);
    case IR_OP_CVT:
        return cvt_copy(instr);
    case IR_OP_CVTA:
    case IR_OP_CVTA_TO:
        return cvta_copy(instr);
    case IR_OP_NOT:
    case IR_OP_NEG:
    case IR_OP_BREV:
        return undone_copy(instr);
    default:
        return NULL;
    }
}

bool ir_opt_copy(struct ir_func *func)
{
    struct opt_replace r;
    bool again = true;

    if (!opt_replace_init(&r, func))
        return false;
    /* A phi may become trivial when one further down did: usually two rounds. */
    for (unsigned round = 0; again && round < 8; round++) {
        again = false;
        for (uint32_t b = 0; b < func->nblocks; b++) {
            ir_foreach_instr_safe(instr, func->blocks[b]) {
                struct ir_value *copy;
                opt_replace_sources(&r, instr);
                copy = copy_of(instr);
                if (!copy || copy == instr->dst[0])
                    continue;
                assert(copy->type == instr->dst[0]->type);
                opt_replace_set(&r, instr->dst[0], copy);
                ir_instr_remove(instr);
                again = true;
            }
        }
    }
    return opt_replace_fini(&r);
}
