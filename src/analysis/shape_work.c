/* What is computed again: the work list, and what a loop puts there that lanes leave apart. */
#include "analysis/shape_impl.h"

#include <assert.h>

#define NONE IR_NO_BLOCK

/* ---- work list */

void shape_enqueue(struct shape_state *s, struct ir_instr *instr)
{
    uint32_t id;

    if (!instr->ndst) {
        id = instr->block->id;
        if (!ir_op_has(instr->op, IR_F_TERM) || s->branch_queued[id] ||
            s->out->divergent_branch[id])
            return;
        s->branch_queued[id] = true;
        assert(s->nbranches < s->func->nblocks);
        s->branches[s->nbranches++] = id;
        return;
    }
    id = instr->dst[0]->id;
    if (s->queued[id])
        return;
    s->queued[id] = true;
    assert(s->nwork <= s->func->nvalues);
    s->work[s->nwork++] = instr;
}

void shape_enqueue_users(struct shape_state *s, uint32_t id)
{
    for (uint32_t u = s->uses.first[id]; u < s->uses.first[id + 1]; u++)
        shape_enqueue(s, s->uses.users[u]);
}

void shape_requeue_block(struct shape_state *s, uint32_t block, bool phis_only)
{
    ir_foreach_instr(instr, s->func->blocks[block]) {
        if (phis_only && instr->op != IR_OP_PHI)
            return;
        if (instr->ndst &&
            (instr->op == IR_OP_PHI || ir_op_has(instr->op, IR_F_CONV) || s->dispatch))
            shape_enqueue(s, instr);
    }
}

/* ---- loops that lanes leave at different times */

bool shape_loop_contains(const struct ir_loops *loops, uint32_t loop, uint32_t block)
{
    uint32_t inner = loops->loop_of[block];

    while (inner != NONE && loops->loops[inner].depth > loops->loops[loop].depth)
        inner = loops->loops[inner].parent;
    return inner == loop;
}

/*
 * A value of the loop is needed outside: what a phi reads on an edge out of the loop is not meant.
 */
static bool used_outside(const struct shape_state *s, uint32_t loop, const struct ir_value *value,
                         bool side_only)
{
    const struct ir_loops *loops = &s->out->loops;

    for (uint32_t u = s->uses.first[value->id]; u < s->uses.first[value->id + 1]; u++) {
        const struct ir_instr *user = s->uses.users[u];
        const struct ir_block *at = user->block;
        if (side_only && !s->side[at->id])
            continue;
        if (user->op != IR_OP_PHI) {
            if (!shape_loop_contains(loops, loop, at->id))
                return true;
            continue;
        }
        for (uint32_t i = 0; i < user->nsrc; i++)
            if (user->src[i] == value && !shape_loop_contains(loops, loop, at->preds[i]->id))
                return true;
    }
    return false;
}

static void mark_temporal(struct shape_state *s, uint32_t loop, bool side_only)
{
    const struct ir_loop *l = &s->out->loops.loops[loop];

    assert(loop < s->out->loops.nloops && l->header <= l->last);
    for (uint32_t b = l->header; b <= l->last; b++) {
        if (!shape_loop_contains(&s->out->loops, loop, b))
            continue;
        ir_foreach_instr(instr, s->func->blocks[b]) {
            for (uint32_t d = 0; d < instr->ndst; d++) {
                const struct ir_value *value = instr->dst[d];
                if (s->out->temporal[value->id] || !used_outside(s, loop, value, side_only))
                    continue;
                s->out->temporal[value->id] = true;
                shape_enqueue(s, instr);
            }
        }
    }
}

void shape_loop_diverged(struct shape_state *s, uint32_t loop)
{
    mark_temporal(s, loop, false);
}

void shape_loop_side_exit(struct shape_state *s, uint32_t loop)
{
    if (!s->out->divergent_loop[loop])
        mark_temporal(s, loop, true);
}
