/*
 * requires: linked. keeps: nothing of the cfg. breaks: dominance, liveness, shapes.
 *
 * A divergent branch costs masks and two passes; a handful of pure operations and selects cost
 * less. Arms with expensive operations stay branches: skipping them can pay.
 */
#include "opt/passes.h"

#include <assert.h>

#define MAX_ARM     8 /* operations per arm, constants not counted */
#define MAX_SELECTS 4

static bool is_cheap(const struct ir_instr *instr)
{
    switch (instr->op) {
    case IR_OP_DIV:
    case IR_OP_REM:
    case IR_OP_FDIV:
    case IR_OP_FSQRT:
    case IR_OP_FSIN:
    case IR_OP_FCOS:
    case IR_OP_FEX2:
    case IR_OP_FLG2:
    case IR_OP_FTANH:
    case IR_OP_FNS:
    case IR_OP_PHI:
        return false;
    case IR_OP_FRCP:
    case IR_OP_FRSQRT:
        return instr->type == IR_F32;
    default:
        return ir_op_has(instr->op, IR_F_PURE);
    }
}

/* May what is in front of its last instruction run always? */
static bool is_light(const struct ir_block *block)
{
    unsigned cost = 0;

    for (const struct ir_instr *instr = block->first; instr != block->last; instr = instr->next) {
        if (!is_cheap(instr))
            return false;
        cost += instr->op != IR_OP_CONST;
    }
    return cost <= MAX_ARM;
}

/* A block that only goes to one block, and may run always. */
static bool is_way(const struct ir_block *head, const struct ir_block *arm)
{
    return arm != head && arm->nsuccs == 1 && arm->last->op == IR_OP_BR && arm->succs[0] != arm &&
           is_light(arm);
}

/* One that only `head` leads to. */
static bool is_arm(const struct ir_block *head, const struct ir_block *arm)
{
    return arm->npreds == 1 && is_way(head, arm);
}

static unsigned count_phis(const struct ir_block *block)
{
    unsigned n = 0;

    for (const struct ir_instr *phi = block->first; phi && phi->op == IR_OP_PHI; phi = phi->next)
        n++;
    return n;
}

static uint32_t pred_index(const struct ir_block *block, const struct ir_block *pred)
{
    uint32_t i = 0;

    while (i < block->npreds && block->preds[i] != pred)
        i++;
    return i;
}

static void hoist(struct ir_block *head, struct ir_block *arm)
{
    assert(arm->npreds == 1 && arm->preds[0] == head);
    while (arm->first != arm->last)
        ir_instr_move_before(arm->first, head->last);
}

/* head -> {on_true, on_false} -> join, where one of the two may be the join itself. */
static void convert(struct ir_block *head, struct ir_block *on_true, struct ir_block *on_false,
                    struct ir_block *join)
{
    struct ir_value *pred = head->last->src[0];
    struct ir_block *true_edge = on_true == join ? head : on_true;
    struct ir_block *false_edge = on_false == join ? head : on_false;
    uint32_t t = pred_index(join, true_edge), f = pred_index(join, false_edge);
    struct ir_builder b;

    assert(t < join->npreds && f < join->npreds && t != f);
    assert(head->last->op == IR_OP_CBR && on_true != on_false);
    if (on_true != join)
        hoist(head, on_true);
    if (on_false != join)
        hoist(head, on_false);
    b = opt_before(head->last);
    for (struct ir_instr *phi = join->first; phi && phi->op == IR_OP_PHI; phi = phi->next) {
        struct ir_value *merged = phi->src[t];
        if (phi->src[t] != phi->src[f])
            merged = ir_build3(&b, IR_OP_SELECT, phi->dst[0]->type, pred, phi->src[t], phi->src[f]);
        phi->src[t] = phi->src[f] = merged;
    }
    /* Both edges now carry the same values: drop one, the head takes the other. */
    opt_edge_remove(false_edge, join);
    if (true_edge != head)
        ir_block_replace_pred(join, true_edge, head);
    if (on_true != join)
        on_true->npreds = on_true->nsuccs = 0;
    if (on_false != join)
        on_false->npreds = on_false->nsuccs = 0;
    head->last->op = IR_OP_BR;
    head->last->nsrc = 0;
    ir_block_set_succs(head, 1, &join);
}

/*
 * if (a || b): head goes to the arm or to `second`, which goes to the arm or to where that leads.
 * Returns that; NULL: it is something else.
 */
static struct ir_block *short_circuit(const struct ir_block *head, const struct ir_block *second,
                                      const struct ir_block *arm)
{
    if (second == head || second == arm || second->npreds != 1 || second->last->op != IR_OP_CBR ||
        arm->npreds != 2 || !is_way(head, arm) || !is_light(second))
        return NULL;
    struct ir_block *join = arm->succs[0];
    bool fits = (second->succs[0] == arm && second->succs[1] == join) ||
                (second->succs[1] == arm && second->succs[0] == join);
    bool apart = join != head && join != second;
    return fits && apart && count_phis(join) && count_phis(join) <= MAX_SELECTS ? join : NULL;
}

/* When `block` goes to `to`. */
static struct ir_value *condition(struct ir_builder *b, const struct ir_block *block,
                                  const struct ir_block *to)
{
    struct ir_value *pred = block->last->src[0];

    return block->succs[0] == to ? pred : ir_build1(b, IR_OP_NOT, IR_PRED, pred);
}

/* One branch for both: a || b is computed, and then there is a single arm. */
static bool try_join(struct ir_block *head)
{
    if (head->last->op != IR_OP_CBR)
        return false;
    struct ir_block *arm = head->succs[0], *second = head->succs[1];
    struct ir_block *join = short_circuit(head, second, arm);
    if (!join) {
        arm = head->succs[1];
        second = head->succs[0];
        join = short_circuit(head, second, arm);
    }
    if (!join)
        return false;
    hoist(head, second);
    struct ir_builder b = opt_before(head->last);
    struct ir_value *first = condition(&b, head, arm);
    head->last->src[0] = ir_build2(&b, IR_OP_OR, IR_PRED, first, condition(&b, second, arm));
    opt_edge_remove(second, arm);
    ir_block_replace_pred(join, second, head);
    second->npreds = second->nsuccs = 0;
    ir_block_set_succs(head, 2, (struct ir_block *const[]){arm, join});
    return true;
}

static bool try_convert(struct ir_block *head)
{
    struct ir_block *t, *f, *join;
    bool arm_t, arm_f;

    if (head->last->op != IR_OP_CBR)
        return false;
    t = head->succs[0];
    f = head->succs[1];
    if (t == f)
        return false;
    arm_t = is_arm(head, t);
    arm_f = is_arm(head, f);
    if (arm_t && arm_f && t->succs[0] == f->succs[0])
        join = t->succs[0];
    else if (arm_t && t->succs[0] == f)
        join = f;
    else if (arm_f && f->succs[0] == t)
        join = t;
    else
        return false;
    if (join == head || !count_phis(join) || count_phis(join) > MAX_SELECTS)
        return false;
    convert(head, t, f, join);
    return true;
}

bool ir_opt_if_convert(struct ir_func *func)
{
    bool changed = false;

    /* From the end: inner conditionals become straight code before the outer ones are looked at. */
    for (uint32_t b = func->nblocks; b-- > 0;) {
        if (b == 0 || func->blocks[b]->npreds) {
            changed |= try_join(func->blocks[b]);
            changed |= try_convert(func->blocks[b]);
        }
    }
    if (changed)
        ir_func_compact(func);
    return changed;
}
