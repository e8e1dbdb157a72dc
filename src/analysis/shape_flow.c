/*
 * What divergent branches do to control flow.
 *
 * The graph that counts is the CFG without edges that only end lanes: edges to blocks that do
 * nothing but end the kernel, and edges from the main path into side blocks (those that cannot
 * reach the main exit). In it every block of the main path reaches the main exit, so a divergent
 * branch has a post-dominator where the lanes that are still alive meet again.
 *
 * Between the two, labels travel along the edges in layout order: a block that two labels reach is
 * a join (disjoint paths). Inside a loop, propagation stops at the header. When the meeting point
 * lies outside the loop, lanes leave the loop at different times: then every exit edge is a path of
 * its own, and propagation goes on in the loop around.
 */
#include "analysis/shape_impl.h"

#include <assert.h>

#define NONE IR_NO_BLOCK

/* ---- ends */

/* Does the edge end its lanes (or take them away for good)? */
static bool flow_edge_ends(const struct shape_state *s, uint32_t from, uint32_t to)
{
    return s->exit_only[to] || (s->side[to] && !s->side[from]);
}

/* Marks what can reach block `to`, leaving out edges to exit-only blocks. Returns how many. */
static uint32_t flow_mark_reaching(const struct shape_state *s, uint32_t to, bool *reaches,
                                   uint32_t *stack)
{
    uint32_t depth = 0, count = 0;

    reaches[to] = true;
    stack[depth++] = to;
    while (depth) {
        const struct ir_block *block = s->func->blocks[stack[--depth]];
        count++;
        for (uint32_t p = 0; p < block->npreds; p++) {
            uint32_t id = block->preds[p]->id;
            if (reaches[id])
                continue;
            assert(depth < s->func->nblocks);
            reaches[id] = true;
            stack[depth++] = id;
        }
    }
    return count;
}

/* A block where the kernel may end: nothing follows it but exit-only blocks. */
static bool flow_is_end(const struct shape_state *s, const struct ir_block *block)
{
    if (s->exit_only[block->id] || block->last->op == IR_OP_TRAP ||
        block->last->op == IR_OP_UNREACHABLE)
        return false;
    for (uint32_t i = 0; i < block->nsuccs; i++)
        if (!s->exit_only[block->succs[i]->id])
            return false;
    return true;
}

/* How much speaks for a path being the main one: where all lanes have to meet, above all. */
static uint64_t flow_path_weight(const struct shape_state *s, const bool *reaches, uint32_t count)
{
    uint64_t n = s->func->nblocks, barriers = 0;

    for (uint32_t i = 0; i < n; i++)
        barriers += reaches[i] && ir_block_has(s->func->blocks[i], IR_OP_BAR);
    return count + barriers * n;
}

/*
 * The end that most barriers and blocks lead to (the last of them in layout) is the main one; what
 * cannot reach it is on the side. Trying every end would be quadratic, so only the last few are
 * looked at.
 */
static bool flow_find_sides(struct shape_state *s)
{
    uint64_t best = 0;
    uint32_t n = s->func->nblocks, tries = 0;
    uint32_t *stack = hd_arena_array(&s->tmp, uint32_t, n);
    bool *main_path = hd_arena_array(&s->tmp, bool, n);

    if (!stack || !main_path)
        return false;
    for (uint32_t i = n; i-- > 0 && tries < 16;) {
        bool *reaches;
        uint64_t weight;
        if (!flow_is_end(s, s->func->blocks[i]))
            continue;
        reaches = hd_arena_array(&s->tmp, bool, n);
        if (!reaches)
            return false;
        weight = flow_path_weight(s, reaches, flow_mark_reaching(s, i, reaches, stack));
        if (weight > best) {
            best = weight;
            main_path = reaches;
        }
        tries++;
    }
    for (uint32_t i = 0; best && i < n; i++)
        s->side[i] = !main_path[i] && !s->exit_only[i];
    return true;
}

static bool flow_find_ends(struct shape_state *s)
{
    uint32_t n = s->func->nblocks;

    s->exit_only = hd_arena_array(s->arena, bool, n);
    s->side = hd_arena_array(s->arena, bool, n);
    if (!s->exit_only || !s->side)
        return false;
    s->out->exit_only = s->exit_only;
    s->out->side_exit = s->side;
    if (!s->func->is_kernel)
        return true;
    for (uint32_t i = 1; i < n; i++) {
        const struct ir_instr *only = s->func->blocks[i]->first;
        s->exit_only[i] =
            only == s->func->blocks[i]->last && (only->op == IR_OP_RET || only->op == IR_OP_EXIT);
    }
    if (!flow_find_sides(s))
        return false;
    /* Endless loops on the main path have no end: nothing is on the side of them then. */
    if (s->side[0]) {
        for (uint32_t i = 0; i < s->func->nblocks; i++)
            s->side[i] = false;
    }
    return true;
}

static bool flow_skip_edge(const void *context, uint32_t from, uint32_t to)
{
    return flow_edge_ends(context, from, to);
}

bool shape_flow_init(struct shape_state *s)
{
    uint32_t n = s->func->nblocks;

    s->classic = hd_arena_array(&s->tmp, bool, n);
    s->left_for = hd_arena_array(&s->tmp, bool, n);
    s->branch_queued = hd_arena_array(&s->tmp, bool, n);
    s->branches = hd_arena_array(&s->tmp, uint32_t, n);
    s->label = hd_arena_array(&s->tmp, uint32_t, n);
    s->label_epoch = hd_arena_array(&s->tmp, uint32_t, n);
    s->out->divergent = hd_arena_array(s->arena, bool, n);
    s->out->divergent_branch = hd_arena_array(s->arena, bool, n);
    s->out->divergent_join = hd_arena_array(s->arena, bool, n);
    s->out->divergent_loop = hd_arena_array(s->arena, bool, (size_t)s->out->loops.nloops + 1);
    if (!s->classic || !s->left_for || !s->branch_queued || !s->branches || !s->label ||
        !s->label_epoch || !s->out->divergent || !s->out->divergent_branch ||
        !s->out->divergent_join || !s->out->divergent_loop || !flow_find_ends(s))
        return false;
    return ir_postdom_compute(s->func, flow_skip_edge, s, s->arena, &s->out->postdom) == HD_OK;
}

/* ---- marking */

static bool flow_in_scope(const struct shape_state *s, uint32_t loop, uint32_t block)
{
    return loop == NONE || shape_loop_contains(&s->out->loops, loop, block);
}

static void flow_mark_divergent(struct shape_state *s, uint32_t block)
{
    s->classic[block] = true;
    if (s->out->divergent[block])
        return;
    s->out->divergent[block] = true;
    shape_requeue_block(s, block, false);
}

static void flow_mark_join(struct shape_state *s, uint32_t block)
{
    if (s->out->divergent_join[block])
        return;
    s->out->divergent_join[block] = true;
    shape_requeue_block(s, block, true);
}

/* Some lanes go into side blocks at `block`: all they can run is divergent and may mix paths. */
static void flow_mark_side(struct shape_state *s, uint32_t from, uint32_t block)
{
    uint32_t loop = s->out->loops.loop_of[from], depth = 0;
    uint32_t *stack;

    for (; loop != NONE && !shape_loop_contains(&s->out->loops, loop, block);
         loop = s->out->loops.loops[loop].parent)
        shape_loop_side_exit(s, loop);
    if (s->left_for[block])
        return;
    stack = hd_arena_array(&s->tmp, uint32_t, s->func->nblocks);
    if (!stack)
        return;
    stack[depth++] = block;
    s->left_for[block] = true;
    while (depth) {
        const struct ir_block *at = s->func->blocks[stack[--depth]];
        flow_mark_divergent(s, at->id);
        if (at->npreds > 1)
            flow_mark_join(s, at->id);
        for (uint32_t i = 0; i < at->nsuccs; i++) {
            uint32_t to = at->succs[i]->id;
            if (s->exit_only[to] || s->left_for[to])
                continue;
            s->left_for[to] = true;
            assert(depth < s->func->nblocks); /* each once */
            stack[depth++] = to;
        }
    }
}

/* ---- label propagation */

struct propagation {
    struct shape_state *s;
    uint32_t scope;      /* loop, or NONE for the function */
    uint32_t stop;       /* block where all lanes meet, or NONE */
    uint32_t first;      /* lowest labelled block */
    uint32_t count;      /* labelled blocks not yet visited */
    bool next_iteration; /* some path goes round the loop before it meets the others */
    bool left;           /* some path leaves the loop */
};

/* Follows one edge of the region. */
static void flow_label_edge(struct propagation *p, uint32_t from, uint32_t to, uint32_t label)
{
    struct shape_state *s = p->s;

    if (flow_edge_ends(s, from, to)) {
        if (s->side[to])
            flow_mark_side(s, from, to);
        return;
    }
    if (!flow_in_scope(s, p->scope, to)) {
        p->left = true;
        return;
    }
    p->next_iteration |= p->scope != NONE && to == s->out->loops.loops[p->scope].header;
    if (s->label_epoch[to] != s->epoch) {
        s->label_epoch[to] = s->epoch;
        assert(to < s->func->nblocks && label < 3 * s->func->nblocks);
        s->label[to] = label;
        p->first = HD_MIN(p->first, to);
        p->count++;
    } else if (s->label[to] != label) {
        s->label[to] = 2 * s->func->nblocks + to; /* a label of its own from here on */
        flow_mark_join(s, to);
    }
}

static void flow_propagate(struct propagation *p)
{
    struct shape_state *s = p->s;
    uint32_t header = p->scope == NONE ? NONE : s->out->loops.loops[p->scope].header;
    uint32_t end = header == NONE ? s->func->nblocks : s->out->loops.loops[p->scope].last + 1;

    for (uint32_t b = p->first; b < end && p->count; b++) {
        const struct ir_block *block = s->func->blocks[b];
        if (s->label_epoch[b] != s->epoch)
            continue;
        p->count--;
        if (b == p->stop || b == header)
            continue;
        flow_mark_divergent(s, b);
        for (uint32_t i = 0; i < block->nsuccs; i++) {
            uint32_t to = block->succs[i]->id;
            /* A back edge inside the region brings the label that its header handed out. */
            if (to <= b && to != header)
                continue;
            flow_label_edge(p, b, to, s->label[b]);
        }
    }
}

/* Every edge out of a loop that lanes leave at different times is a path of its own. */
static void flow_seed_exits(struct propagation *p, uint32_t loop)
{
    struct shape_state *s = p->s;
    const struct ir_loop *l = &s->out->loops.loops[loop];
    uint32_t label = 0;

    for (uint32_t b = l->header; b <= l->last; b++) {
        const struct ir_block *block = s->func->blocks[b];
        if (!shape_loop_contains(&s->out->loops, loop, b))
            continue;
        flow_mark_divergent(s, b);
        for (uint32_t i = 0; i < block->nsuccs; i++) {
            uint32_t to = block->succs[i]->id;
            if (shape_loop_contains(&s->out->loops, loop, to))
                continue;
            if (!flow_edge_ends(s, b, to)) {
                flow_mark_join(s, to);
                shape_requeue_block(s, to, true); /* operands may come from this loop */
            }
            flow_label_edge(p, b, to, label++ % (2 * s->func->nblocks));
        }
    }
}

static void flow_seed_branch(struct propagation *p, uint32_t block)
{
    const struct ir_block *b = p->s->func->blocks[block];

    for (uint32_t i = 0; i < b->nsuccs; i++) {
        uint32_t to = b->succs[i]->id;
        if (flow_edge_ends(p->s, block, to))
            continue;
        flow_label_edge(p, block, to, to);
        for (uint32_t k = 0; k < i; k++) {
            if (b->succs[k]->id == to)
                flow_mark_join(p->s, to); /* two edges, two operands */
        }
    }
}

/* Runs the propagation from branch `block`, or from the exits of `loop` if there is one. */
static void flow_spread(struct propagation *p, uint32_t block, uint32_t loop)
{
    p->s->epoch++;
    p->first = UINT32_MAX;
    p->count = 0;
    if (loop == NONE)
        flow_seed_branch(p, block);
    else
        flow_seed_exits(p, loop);
    flow_propagate(p);
}

/*
 * Edges of `block` along which its lanes stay in the game; those that end lanes are handled here.
 */
static uint32_t flow_living_succs(struct shape_state *s, uint32_t block)
{
    const struct ir_block *b = s->func->blocks[block];
    uint32_t first = NONE, distinct = 0;

    for (uint32_t i = 0; i < b->nsuccs; i++) {
        uint32_t to = b->succs[i]->id;
        if (flow_edge_ends(s, block, to)) {
            if (s->side[to])
                flow_mark_side(s, block, to);
            continue;
        }
        if (to == first)
            continue;
        first = distinct++ ? first : to;
    }
    return distinct;
}

/*
 * Do all lanes stay together from one iteration of loop p->scope to the next? When some go round
 * before they reach the meeting point, they meet at the header, unless others leave the loop
 * meanwhile.
 */
static bool flow_meets_in_scope(struct propagation *p, uint32_t block, uint32_t from_loop)
{
    const struct ir_loops *loops = &p->s->out->loops;

    if (p->scope == NONE)
        return true;
    if (p->stop == NONE || !shape_loop_contains(loops, p->scope, p->stop))
        return false;
    if (p->stop == loops->loops[p->scope].header || !p->next_iteration)
        return true;
    while (p->stop != NONE && shape_loop_contains(loops, p->scope, p->stop))
        p->stop = p->s->out->postdom.idom[p->stop];
    p->left = false;
    flow_spread(p, block, from_loop);
    return !p->left;
}

void shape_flow_branch(struct shape_state *s, uint32_t block)
{
    struct ir_loops *loops = &s->out->loops;
    uint32_t from_loop = NONE;
    struct propagation p = {
        .s = s, .scope = loops->loop_of[block], .stop = s->out->postdom.idom[block]};

    if (flow_living_succs(s, block) < 2)
        return;
    for (;;) {
        p.next_iteration = p.left = false;
        flow_spread(&p, block, from_loop);
        if (flow_meets_in_scope(&p, block, from_loop))
            return;
        from_loop = p.scope;
        assert(from_loop != NONE); /* out of all loops everybody meets */
        if (s->out->divergent_loop[from_loop])
            return;
        s->out->divergent_loop[from_loop] = true;
        shape_loop_diverged(s, from_loop);
        p.scope = loops->loops[from_loop].parent;
    }
}
