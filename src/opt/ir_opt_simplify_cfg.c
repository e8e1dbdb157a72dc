/* requires: linked. keeps: nothing of the cfg. breaks: dominance, liveness, shapes. */
#include "opt/passes.h"

#include <assert.h>

/* ---- branches whose way is known */

static void become_br(struct ir_block *block, struct ir_block *target)
{
    assert(ir_op_has(block->last->op, IR_F_TERM) && !block->last->ndst);
    block->last->op = IR_OP_BR;
    block->last->nsrc = 0;
    ir_block_set_succs(block, 1, &target);
}

static bool has_phi(const struct ir_block *block)
{
    return block->first->op == IR_OP_PHI;
}

/* Keeps the edge in slot `keep`; the others go. */
static void keep_edge(struct ir_block *block, uint32_t keep)
{
    struct ir_block *target = block->succs[keep];

    assert(keep < block->nsuccs);
    for (uint32_t i = 0; i < block->nsuccs; i++)
        if (i != keep && block->succs[i] != target)
            opt_edge_remove(block, block->succs[i]);
    /* Several edges to the target: callers made sure that its phis do not care which one stays. */
    for (uint32_t i = 0; i < block->nsuccs; i++)
        if (i != keep && block->succs[i] == target)
            opt_edge_remove(block, target);
    become_br(block, target);
}

/* Do all edges from `block` to `to` carry the same values? */
static bool same_operands(const struct ir_block *block, const struct ir_block *to)
{
    for (const struct ir_instr *phi = to->first; phi && phi->op == IR_OP_PHI; phi = phi->next) {
        const struct ir_value *value = NULL;
        for (uint32_t i = 0; i < to->npreds; i++) {
            if (to->preds[i] != block)
                continue;
            if (value && phi->src[i] != value)
                return false;
            value = phi->src[i];
        }
    }
    return true;
}

static uint32_t edges_to(const struct ir_block *block, const struct ir_block *to)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < block->nsuccs; i++)
        n += block->succs[i] == to;
    return n;
}

static bool fold_branch(struct ir_block *block)
{
    const struct ir_instr *last = block->last;
    uint32_t keep = 0;
    uint64_t c;

    if (last->op != IR_OP_CBR && last->op != IR_OP_SWITCH)
        return false;
    if (ir_value_const(last->src[0], &c)) {
        if (last->op == IR_OP_CBR)
            keep = c ? 0 : 1;
        else
            keep = c < block->nsuccs ? (uint32_t)c : block->nsuccs - 1;
        if (edges_to(block, block->succs[keep]) > 1 && !same_operands(block, block->succs[keep]))
            return false;
        keep_edge(block, keep);
        return true;
    }
    if (edges_to(block, block->succs[0]) != block->nsuccs || !same_operands(block, block->succs[0]))
        return false;
    keep_edge(block, 0);
    return true;
}

/* ---- a block that only one block leads to, and that leads only there */

/* Appends `next` to `block`. The phis of `next` have one operand: they are copies. */
static bool merge_chain(struct opt_replace *r, struct ir_block *block)
{
    struct ir_block *next;

    if (block->nsuccs != 1 || block->last->op != IR_OP_BR)
        return false;
    next = block->succs[0];
    if (next == block || next->npreds != 1 || next == block->func->blocks[0])
        return false;
    ir_instr_remove(block->last);
    while (next->first) {
        struct ir_instr *instr = next->first;
        if (instr->op == IR_OP_PHI) {
            opt_replace_set(r, instr->dst[0], instr->src[0]);
            ir_instr_remove(instr);
            continue;
        }
        ir_instr_append(block, instr);
    }
    assert(!next->first && !next->last && ir_op_has(block->last->op, IR_F_TERM));
    for (uint32_t i = 0; i < next->nsuccs; i++)
        ir_block_replace_pred(next->succs[i], next, block);
    block->succs = next->succs;
    block->nsuccs = next->nsuccs;
    next->nsuccs = 0;
    next->npreds = 0;
    return true;
}

/* ---- blocks that do nothing but go on */

static bool retarget(struct ir_block *pred, struct ir_block *empty, struct ir_block *target)
{
    uint32_t at = 0;

    while (target->preds[at] != empty)
        at++;
    assert(at < target->npreds);
    for (uint32_t i = 0; i < pred->nsuccs; i++) {
        if (pred->succs[i] != empty)
            continue;
        if (!opt_edge_add(pred, target, at))
            return false;
        pred->succs[i] = target;
    }
    return true;
}

/*
 * Not when a predecessor already branches to the target and its phis would have to tell two edges
 * of one branch apart.
 */
static bool can_skip(const struct ir_block *empty, const struct ir_block *target)
{
    if (target == empty || empty == empty->func->blocks[0] || !empty->npreds || has_phi(empty))
        return false;
    if (!has_phi(target))
        return true;
    for (uint32_t i = 0; i < empty->npreds; i++)
        if (edges_to(empty->preds[i], target) || edges_to(empty->preds[i], empty) > 1)
            return false;
    return true;
}

static bool skip_empty(struct ir_block *empty)
{
    struct ir_block *target;

    if (empty->first != empty->last || empty->last->op != IR_OP_BR)
        return false;
    target = empty->succs[0];
    if (!can_skip(empty, target))
        return false;
    for (uint32_t i = 0; i < empty->npreds; i++) {
        if (i && empty->preds[i] == empty->preds[i - 1])
            continue;
        if (!retarget(empty->preds[i], empty, target)) {
            opt_failed(empty->func);
            return false;
        }
    }
    opt_edge_remove(empty, target);
    assert(empty->nsuccs == 1 && empty->first == empty->last);
    empty->npreds = 0;
    empty->nsuccs = 0;
    empty->last->op = IR_OP_UNREACHABLE;
    return true;
}

bool ir_opt_simplify_cfg(struct ir_func *func)
{
    struct opt_replace r;
    bool changed = false;

    if (!opt_replace_init(&r, func))
        return false;
    for (uint32_t b = 0; b < func->nblocks; b++)
        changed |= fold_branch(func->blocks[b]);
    if (changed)
        ir_func_compact(func); /* unreachable predecessors would hide chains */
    opt_replace_fini(&r);
    if (func->module->arena.failed || !opt_replace_init(&r, func))
        return changed;
    for (uint32_t b = 0; b < func->nblocks; b++)
        changed |= skip_empty(func->blocks[b]);
    for (uint32_t b = 0; b < func->nblocks; b++)
        while ((b == 0 || func->blocks[b]->npreds) && merge_chain(&r, func->blocks[b]))
            changed = true;
    opt_replace_fini(&r);
    if (changed)
        ir_func_compact(func);
    return changed;
}
