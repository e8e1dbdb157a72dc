/*
 * Loops that may wait for another thread, and that lanes leave separately, but which need no
 * dispatch mode.
 *
 * On a GPU a lane that has left such a loop may run ahead and do what the others wait for. In the
 * structured sweep it stands still until they have left, too. Nobody can tell when all that it does
 * before it has to meet them anyway is to compute and to read:
 *
 *     while ((word = *status) == NOTHING)      // each lane its own
 *         ;
 *     known = __ballot_sync(~0u, word >= PREFIX);
 *
 * So from the loop, and from loops around it that lanes leave separately, on to an operation that
 * all lanes of the warp or of the CTA take part in, nothing may have an effect. What lies before it
 * in the layout is over when the sweep gets to the loop. Lanes that go to an end of their own run
 * later than the others; no branch on the way to the loop may lead to such.
 */
#include "analysis/alike.h"
#include "analysis/shape_impl.h"

#include <assert.h>

struct rejoin {
    struct shape_state *s;
    bool *seen; /* by block */
    uint32_t *stack, depth;
};

static bool is_quiet(const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_LD:
    case IR_OP_FENCE:
    case IR_OP_NANOSLEEP:
    case IR_OP_PHI:
    case IR_OP_SREG:
    case IR_OP_VARADDR:
    case IR_OP_BR:
    case IR_OP_CBR:
    case IR_OP_SWITCH:
        return true;
    default:
        return ir_op_has(in->op, IR_F_PURE);
    }
}

static bool is_all_lanes(const struct ir_value *members)
{
    uint64_t c;
    return ir_value_const(members, &c) && c == UINT32_MAX;
}

/* Does each lane that has not ended wait here for all others that have not? */
static bool meets(const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_WARPSYNC:
        return is_all_lanes(in->src[0]);
    case IR_OP_VOTE:
    case IR_OP_MATCH:
    case IR_OP_REDUX:
        return is_all_lanes(in->src[1]);
    case IR_OP_SHFL:
        return is_all_lanes(in->src[3]);
    case IR_OP_BAR:
        return ir_bar_is_whole(in);
    default:
        return false;
    }
}

/* Where all living lanes go on together after `block`; IR_NO_BLOCK: nowhere. */
static uint32_t join_of(const struct ir_shapes *shapes, uint32_t block)
{
    uint32_t b = shapes->postdom.idom[block];
    while (b != IR_NO_BLOCK && shapes->divergent[b])
        b = shapes->postdom.idom[b];
    return b;
}

static void arrive(struct rejoin *r, uint32_t block)
{
    if (!r->seen[block])
        r->stack[r->depth++] = block;
    r->seen[block] = true;
}

static bool walk_init(struct rejoin *r)
{
    uint32_t n = r->s->func->nblocks;

    r->depth = 0;
    r->seen = hd_arena_array(&r->s->tmp, bool, n);
    r->stack = hd_arena_array(&r->s->tmp, uint32_t, n);
    return r->seen && r->stack;
}

/* The first block that lanes may come back to while others are in the loop. */
static uint32_t first_again(const struct ir_shapes *shapes, uint32_t loop, uint32_t join)
{
    const struct ir_loop *loops = shapes->loops.loops;
    uint32_t first = loops[loop].header;

    for (loop = loops[loop].parent; loop != IR_NO_BLOCK; loop = loops[loop].parent) {
        uint32_t header = loops[loop].header;
        if (shapes->divergent[header] && join_of(shapes, header) == join)
            first = HD_MIN(first, header);
    }
    return first;
}

/* From `first` on, all blocks whose lanes go on at `join`. */
static bool region_is_quiet(const struct rejoin *r, uint32_t first, uint32_t join)
{
    const struct ir_shapes *shapes = r->s->out;

    for (uint32_t b = first; b < r->s->func->nblocks; b++) {
        const struct ir_block *block = r->s->func->blocks[b];
        if (!shapes->divergent[b] || join_of(shapes, b) != join)
            continue;
        ir_foreach_instr(in, block)
            if (!is_quiet(in))
                return false;
        for (uint32_t i = 0; i < block->nsuccs; i++)
            if (shapes->exit_only[block->succs[i]->id] || shapes->side_exit[block->succs[i]->id])
                return false;
    }
    return true;
}

/* Up to the meeting, if there is one; false: there is something to be seen before it. */
static bool block_leads_on(const struct rejoin *r, const struct ir_block *block, bool *out_meets)
{
    *out_meets = false;
    ir_foreach_instr(in, block) {
        *out_meets = meets(in) && !r->s->out->divergent[block->id];
        if (*out_meets)
            return true;
        if (!is_quiet(in))
            return false;
    }
    return true;
}

/* Do all ways from the join lead to a meeting, with nothing to be seen before it? */
static bool leads_to_meeting(struct rejoin *r, uint32_t join)
{
    if (!walk_init(r))
        return false;
    arrive(r, join);
    while (r->depth) {
        const struct ir_block *block = r->s->func->blocks[r->stack[--r->depth]];
        bool met;
        if (!block_leads_on(r, block, &met))
            return false;
        for (uint32_t i = 0; !met && i < block->nsuccs; i++)
            arrive(r, block->succs[i]->id);
    }
    return true;
}

static bool all_come_to(struct rejoin *r, uint32_t header)
{
    if (!walk_init(r))
        return false;
    arrive(r, header);
    while (r->depth) {
        const struct ir_block *block = r->s->func->blocks[r->stack[--r->depth]];
        bool leaves = false;
        for (uint32_t i = 0; i < block->nsuccs; i++) {
            uint32_t to = block->succs[i]->id;
            leaves |= r->s->out->side_exit[to] && !r->s->out->exit_only[to];
        }
        if (leaves)
            return false;
        for (uint32_t i = 0; i < block->npreds; i++)
            arrive(r, block->preds[i]->id);
    }
    return true;
}

bool shape_rejoins(struct shape_state *s, uint32_t loop)
{
    struct rejoin r = {.s = s};
    uint32_t header = s->out->loops.loops[loop].header;
    uint32_t join = join_of(s->out, header);

    assert(s->out->loops.loops[loop].spin_suspect);
    return s->func->is_kernel && s->out->divergent[header] && join != IR_NO_BLOCK &&
           region_is_quiet(&r, first_again(s->out, loop, join), join) &&
           leads_to_meeting(&r, join) && all_come_to(&r, header);
}
