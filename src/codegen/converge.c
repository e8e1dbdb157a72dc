/*
 * Convergence barriers. A branch that sends lanes of a warp different ways has its meeting point at
 * its immediate post-dominator P; lanes that only end do not come. Lanes are remembered before the
 * branch; of a branch in a loop that does not hold P, before the loop: those that leave it earlier
 * wait for those that stay. P post-dominates the loop's header then, as paths from the branch lead
 * there. From a loop that may wait for another thread, which may be one of the warp that left it
 * already, lanes go on as they come: they meet where the loop's surroundings do. So do lanes with a
 * barrier of the CTA on their way: those that wait there may need those that would wait for them.
 * And so do lanes of some branches where more are nested than there are barriers.
 */
#include <string.h>

#include "codegen/mc.h"

struct state {
    const struct ir_func *func;
    const struct ir_shapes *shapes;
    struct converge *out;
    uint32_t *work, *seen, search; /* of reaches(): blocks seen in the search of this number */
};

/* Do its lanes come to where the others do? */
static bool stays(const struct ir_shapes *shapes, const struct ir_block *b)
{
    return !shapes->exit_only[b->id] && !shapes->side_exit[b->id];
}

static bool splits(const struct state *s, const struct ir_block *b)
{
    uint32_t staying = 0;

    if (!s->shapes->divergent_branch[b->id])
        return false;
    for (uint32_t i = 0; i < b->nsuccs; i++)
        staying += stays(s->shapes, b->succs[i]) || s->shapes->side_exit[b->id];
    return staying > 1;
}

static bool loop_holds(const struct ir_loop *loop, uint32_t block)
{
    return block >= loop->header && block <= loop->last;
}

/* Does a lane wait there for others that need not be in its warp? Functions may. */
static bool waits(const struct ir_block *b)
{
    ir_foreach_instr(in, b) {
        if (in->op == IR_OP_BAR && ir_bar_waits((enum ir_bar)in->imm))
            return true;
        if (in->op == IR_OP_CALL || in->op == IR_OP_CALLI)
            return true;
    }
    return false;
}

/*
 * Can `to` be reached from behind `from` without passing through `without`? With IR_NO_BLOCK: does
 * a lane wait on such a way?
 */
static bool reaches(struct state *s, uint32_t from, uint32_t to, uint32_t without)
{
    uint32_t n = 0;

    s->search++;
    s->work[n++] = from;
    while (n) {
        const struct ir_block *b = s->func->blocks[s->work[--n]];

        for (uint32_t i = 0; i < b->nsuccs; i++) {
            uint32_t next = b->succs[i]->id;

            if (next == to)
                return true;
            if (next == without || s->seen[next] == s->search)
                continue;
            if (to == IR_NO_BLOCK && waits(s->func->blocks[next]))
                return true;
            s->seen[next] = s->search;
            s->work[n++] = next;
        }
    }
    return false;
}

/*
 * Would lanes be remembered once more, before they have met? In a cycle that is no natural loop
 * there is no place before it.
 */
static bool comes_again(struct state *s, uint32_t block, const struct converge_point *p)
{
    const struct ir_loops *loops = &s->shapes->loops;
    const struct ir_block *at = s->func->blocks[p->at];

    if (!loops->irreducible)
        return false;
    if (!p->at_entry)
        return reaches(s, block, block, p->meet);
    for (uint32_t i = 0; i < at->npreds; i++) {
        uint32_t from = at->preds[i]->id;

        if (!loop_holds(&loops->loops[loops->loop_of[p->at]], from) &&
            reaches(s, block, from, p->meet))
            return true;
    }
    return false;
}

/* False: lanes that leave there do not wait for others. */
static bool point_of(struct state *s, uint32_t block, struct converge_point *out)
{
    const struct ir_loops *loops = &s->shapes->loops;
    struct converge_point p = {.at = block, .meet = s->shapes->postdom.idom[block]};

    if (p.meet == IR_NO_BLOCK)
        return false;
    for (uint32_t l = loops->loop_of[block]; l != IR_NO_BLOCK; l = loops->loops[l].parent) {
        if (loop_holds(&loops->loops[l], p.meet))
            break;
        if (loops->loops[l].spin_suspect)
            return false;
        p.at = loops->loops[l].header;
        p.at_entry = true;
    }
    *out = p;
    return !comes_again(s, block, &p) && !reaches(s, block, IR_NO_BLOCK, p.meet);
}

/* Are the lanes of `p` all held for the same place by `outer` already? */
static bool is_covered(struct state *s, const struct converge_point *p,
                       const struct converge_point *outer)
{
    if (outer->meet != p->meet || !ir_dominates(&s->shapes->dom, outer->at, p->at))
        return false;
    if (outer->at == p->at)
        return outer->at_entry || !p->at_entry;
    return !reaches(s, p->meet, p->at, outer->at);
}

static void add(struct state *s, struct converge_point p)
{
    struct converge *out = s->out;

    for (uint32_t i = 0; i < out->npoints; i++)
        if (is_covered(s, &p, &out->points[i]))
            return;
    for (uint32_t i = 0; i < out->npoints; i++)
        while (i < out->npoints && is_covered(s, &out->points[i], &p))
            out->points[i] = out->points[--out->npoints];
    out->points[out->npoints++] = p;
}

/* Outer ones first: those whose meeting point comes later, and of one place for longer. */
static bool is_outer(const struct state *s, const struct converge_point *a,
                     const struct converge_point *b)
{
    const struct ir_dom *postdom = &s->shapes->postdom;

    if (a->meet != b->meet)
        return ir_dominates(postdom, a->meet, b->meet);
    return ir_dominates(&s->shapes->dom, a->at, b->at);
}

static void sort(const struct state *s)
{
    struct converge_point *points = s->out->points;

    for (uint32_t i = 1; i < s->out->npoints; i++) {
        struct converge_point p = points[i];
        uint32_t k = i;

        for (; k && is_outer(s, &p, &points[k - 1]); k--)
            points[k] = points[k - 1];
        points[k] = p;
    }
}

/*
 * Adds `by` to the blocks at whose end a point's barrier is kept, which are those that are seen:
 * all from which its meeting point can be reached without remembering lanes anew.
 */
static void count_region(struct state *s, const struct converge_point *p, int32_t *count,
                         int32_t by)
{
    const struct ir_loops *loops = &s->shapes->loops;
    const struct ir_loop *loop = p->at_entry ? &loops->loops[loops->loop_of[p->at]] : NULL;
    uint32_t n = 0;

    s->search++;
    s->work[n++] = p->meet;
    while (n) {
        const struct ir_block *b = s->func->blocks[s->work[--n]];

        for (uint32_t i = 0; i < b->npreds; i++) {
            uint32_t from = b->preds[i]->id;

            if (s->seen[from] == s->search || (loop && b->id == p->at && !loop_holds(loop, from)))
                continue;
            s->seen[from] = s->search;
            count[from] += by;
            if (loop || from != p->at)
                s->work[n++] = from;
        }
    }
}

/*
 * Takes points away where more than CONVERGE_MOST lie over a block, beginning with the one that has
 * most: those whose lanes meet least often, inner ones first. True: it did.
 */
static bool limit(struct state *s, int32_t *count)
{
    const struct ir_loops *loops = &s->shapes->loops;
    struct converge *out = s->out;

    for (uint32_t i = 0; i < out->npoints; i++)
        count_region(s, &out->points[i], count, 1);
    for (bool any = false;; any = true) {
        uint32_t most = 0;

        for (uint32_t b = 1; b < s->func->nblocks; b++)
            most = count[b] > count[most] ? b : most;
        if (count[most] <= CONVERGE_MOST)
            return any;
        for (uint32_t depth = 0; count[most] > CONVERGE_MOST; depth++)
            for (uint32_t i = out->npoints; i-- > 0 && count[most] > CONVERGE_MOST;) {
                uint32_t l = loops->loop_of[out->points[i].meet];

                if ((l == IR_NO_BLOCK ? 0 : loops->loops[l].depth) != depth)
                    continue;
                count_region(s, &out->points[i], count, 0);
                if (s->seen[most] != s->search)
                    continue;
                count_region(s, &out->points[i], count, -1);
                out->npoints--;
                memmove(&out->points[i], &out->points[i + 1],
                        (out->npoints - i) * sizeof(*out->points));
            }
    }
}

enum hd_status converge_compute(const struct ir_func *func, struct hd_arena *arena,
                                struct converge *out)
{
    const struct ir_launch_facts facts = {.group = 32, .warps = 1, .extents = IR_BLOCK_ANY};
    struct ir_shapes *shapes = hd_arena_new(arena, struct ir_shapes);
    struct state s = {.func = func, .shapes = shapes, .out = out};
    bool apart = false;
    int32_t *count;

    HD_TRY(ir_shapes_compute(func, facts, arena, shapes));
    *out =
        (struct converge){.points = hd_arena_array(arena, struct converge_point, func->nblocks + 1),
                          .apart = shapes->divergent,
                          .shapes = shapes};
    s.work = hd_arena_array(arena, uint32_t, func->nblocks);
    s.seen = hd_arena_array(arena, uint32_t, func->nblocks);
    count = hd_arena_array(arena, int32_t, func->nblocks);
    if (!out->points || !s.work || !s.seen || !count)
        return hd_error(HD_NO_MEMORY, "function %s: no memory", func->name);
    for (uint32_t b = 0; b < func->nblocks; b++) {
        struct converge_point p;

        if (!splits(&s, func->blocks[b]))
            continue;
        if (point_of(&s, b, &p))
            add(&s, p);
        else
            apart = true;
    }
    sort(&s);
    apart |= out->npoints > CONVERGE_MOST && limit(&s, count);
    /* Where they meet again is not known then. */
    for (uint32_t b = 0; apart && b < func->nblocks; b++)
        shapes->divergent[b] = true;
    return hd_arena_status(arena);
}
