/*
 * Which loops may wait for another thread.
 *
 * Nanosleep makes every loop around it suspect. A volatile, relaxed or acquiring load, an atomic,
 * the test of an mbarrier or an allocation of tensor memory does so for loops whose end depends on
 * what it read: that is taken from a backward walk over the operands of the branches that leave the
 * loop, which also follows what chooses between the operands of a phi, and what a loop with a
 * barrier stores to shared memory (`if (t == 0) s = *flag; __syncthreads(); if (s) break;`).
 * Additions are not followed (a queue's `while (atomicAdd(&next, 1) < n)` moves on with each
 * iteration) unless they add nothing and so only poll.
 *
 * One pattern that depends on its atomic is exempt: the retry loop
 *
 *     old = *p;
 *     do { seen = old; old = atomicCAS(p, seen, f(seen)); } while (old != seen);
 *
 * A swap fails only because another one succeeded since the value was read, and lanes execute it
 * one after the other, so of the lanes at one address at least one leaves in every second
 * iteration: nobody waits for code after the loop. A lock (compare with a constant until it is
 * free) has no such property.
 */
#include "analysis/spin.h"

static bool spin_in_loop(const struct ir_loops *loops, uint32_t loop, uint32_t block)
{
    uint32_t l = loops->loop_of[block];

    while (l != IR_NO_BLOCK && l != loop)
        l = loops->loops[l].parent;
    return l == loop && l != IR_NO_BLOCK;
}

/* ---- the retry loop */

/*
 * `v` compares the result of `cas` with what it was compared with: true means equal when
 * *out_eq.
 */
static bool spin_tests_success(const struct ir_value *v, const struct ir_instr *cas, bool *out_eq)
{
    const struct ir_instr *in = v->instr;

    if (in && in->op == IR_OP_NOT && in->src[0]->type == IR_PRED) {
        bool fine = spin_tests_success(in->src[0], cas, out_eq);
        *out_eq = !*out_eq;
        return fine;
    }
    if (!in || in->op != IR_OP_SETP || (in->cmp != IR_EQ && in->cmp != IR_NE))
        return false;
    *out_eq = in->cmp == IR_EQ;
    return (in->src[0] == cas->dst[0] && in->src[1] == cas->src[1]) ||
           (in->src[1] == cas->dst[0] && in->src[0] == cas->src[1]);
}

static bool spin_same_place(const struct ir_instr *ld, const struct ir_instr *cas)
{
    return ld->op == IR_OP_LD && ld->src[0] == cas->src[0] && ld->mem.offset == cas->mem.offset &&
           ld->mem.space == cas->mem.space;
}

/* Is what the swap expects read again in every iteration: by the last swap, or by a load? */
static bool spin_expects_latest(const struct ir_loops *loops, uint32_t loop,
                                const struct ir_instr *cas)
{
    const struct ir_instr *def = cas->src[1]->instr;

    if (!def || !spin_in_loop(loops, loop, def->block->id))
        return false;
    if (spin_same_place(def, cas))
        return true;
    if (def->op != IR_OP_PHI)
        return false;
    for (uint32_t p = 0; p < def->nsrc; p++) {
        const struct ir_value *v = def->src[p];
        if (spin_in_loop(loops, loop, def->block->preds[p]->id) && v != cas->dst[0] &&
            !(v->instr && spin_same_place(v->instr, cas) &&
              spin_in_loop(loops, loop, v->instr->block->id)))
            return false;
    }
    return true;
}

static bool spin_is_retry(const struct ir_func *func, const struct ir_loops *loops, uint32_t loop,
                          const struct ir_instr *in)
{
    if (in->op != IR_OP_ATOM || in->mem.atom != IR_ATOM_CAS || !in->ndst ||
        loops->loop_of[in->block->id] != loop || !spin_expects_latest(loops, loop, in))
        return false;
    for (uint32_t b = loops->loops[loop].header; b <= loops->loops[loop].last; b++) {
        const struct ir_block *block = func->blocks[b];
        bool eq = false;
        if (block->last->op != IR_OP_CBR || !spin_in_loop(loops, loop, b) ||
            !spin_tests_success(block->last->src[0], in, &eq))
            continue;
        if (!spin_in_loop(loops, loop, block->succs[eq ? 0 : 1]->id))
            return true;
    }
    return false;
}

/* ---- what is known of one loop */

static void spin_walk_push(struct ir_spins *s, const struct ir_value *v)
{
    if (s->ends[v->id] == s->mark || !v->instr ||
        !spin_in_loop(s->loops, s->loop, v->instr->block->id))
        return;
    s->ends[v->id] = s->mark;
    s->work[s->nwork++] = v;
}

static void spin_push_branches(struct ir_spins *s, bool leaving_only)
{
    for (uint32_t b = s->loops->loops[s->loop].header; b <= s->loops->loops[s->loop].last; b++) {
        const struct ir_block *block = s->func->blocks[b];
        bool leaves = false;
        s->steps++;
        if (block->nsuccs < 2 || !spin_in_loop(s->loops, s->loop, b))
            continue;
        for (uint32_t i = 0; i < block->nsuccs; i++)
            leaves |= !spin_in_loop(s->loops, s->loop, block->succs[i]->id);
        if (leaves || !leaving_only)
            spin_walk_push(s, block->last->src[0]);
    }
}

/* Several ways lead here from inside the loop, so branches choose the value. */
static bool spin_is_choice(const struct ir_spins *s, const struct ir_instr *phi)
{
    unsigned inside = 0;

    for (uint32_t p = 0; p < phi->nsrc; p++)
        inside += spin_in_loop(s->loops, s->loop, phi->block->preds[p]->id);
    return inside > 1;
}

static bool spin_has_barrier(struct ir_spins *s)
{
    for (uint32_t b = s->loops->loops[s->loop].header; b <= s->loops->loops[s->loop].last; b++) {
        s->steps++;
        if (spin_in_loop(s->loops, s->loop, b) && ir_block_has(s->func->blocks[b], IR_OP_BAR))
            return true;
    }
    return false;
}

static bool spin_may_be_shared(const struct ir_instr *in)
{
    return ir_space_is_shared(in->mem.space) || in->mem.space == IR_SPACE_GENERIC;
}

/* What the loop stores to shared memory. */
static void spin_push_stores(struct ir_spins *s)
{
    for (uint32_t b = s->loops->loops[s->loop].header; b <= s->loops->loops[s->loop].last; b++) {
        if (!spin_in_loop(s->loops, s->loop, b))
            continue;
        ir_foreach_instr(in, s->func->blocks[b]) {
            s->steps++;
            for (uint32_t i = 1; in->op == IR_OP_ST && spin_may_be_shared(in) && i < in->nsrc; i++)
                spin_walk_push(s, in->src[i]);
        }
    }
}

/* Marks the values that the end of the loop depends on. */
static void spin_ends_find(struct ir_spins *s)
{
    bool all_branches = false, asked_stores = false;

    spin_push_branches(s, true);
    while (s->nwork) {
        const struct ir_instr *in = s->work[--s->nwork]->instr;
        s->steps += 1 + in->nsrc;
        for (uint32_t i = 0; i < in->nsrc; i++)
            spin_walk_push(s, in->src[i]);
        bool reads_stores = false;
        if (!asked_stores && in->op == IR_OP_LD && spin_may_be_shared(in)) {
            asked_stores = true;
            reads_stores = spin_has_barrier(s);
        }
        if (reads_stores)
            spin_push_stores(s);
        if (!all_branches && (reads_stores || (in->op == IR_OP_PHI && spin_is_choice(s, in)))) {
            all_branches = true;
            spin_push_branches(s, false);
        }
    }
}

/* All that the loop reads is asked about together, so only the last loop is remembered. */
static void spin_loop_look(struct ir_spins *s, uint32_t loop)
{
    if (s->mark && s->loop == loop)
        return;
    s->loop = loop;
    s->mark++;
    spin_ends_find(s);
    /* Marks what the loop's own retries expect. */
    for (uint32_t b = s->loops->loops[s->loop].header; b <= s->loops->loops[s->loop].last; b++) {
        s->steps++;
        if (s->loops->loop_of[b] != s->loop)
            continue;
        ir_foreach_instr(in, s->func->blocks[b]) {
            s->steps++;
            if (spin_is_retry(s->func, s->loops, s->loop, in))
                s->expected[in->src[1]->id] = s->mark;
        }
    }
}

static bool spin_end_depends_on(struct ir_spins *s, uint32_t loop, const struct ir_instr *read)
{
    spin_loop_look(s, loop);
    for (uint32_t d = 0; d < read->ndst; d++)
        if (s->ends[read->dst[d]->id] == s->mark)
            return true;
    return false;
}

/* The load that a retry loop begins each iteration with. */
static bool spin_feeds_retry(struct ir_spins *s, uint32_t loop, const struct ir_instr *ld)
{
    spin_loop_look(s, loop);
    return s->expected[ld->dst[0]->id] == s->mark;
}

/* ---- */

/* Additions that change nothing poll. */
static bool spin_adds_nothing(const struct ir_instr *in)
{
    uint64_t x;

    return ir_value_const(in->src[1], &x) && x == 0;
}

static bool spin_is_followed(const struct ir_instr *in)
{
    switch (in->mem.atom) {
    case IR_ATOM_ADD:
        return spin_adds_nothing(in);
    case IR_ATOM_INC:
    case IR_ATOM_DEC:
        return false;
    case IR_ATOM_MIN:
    case IR_ATOM_MAX:
    case IR_ATOM_AND:
    case IR_ATOM_OR:
    case IR_ATOM_XOR:
    case IR_ATOM_EXCH:
    case IR_ATOM_CAS:
        break;
    }
    return true;
}

/* Reads in a way that others' writes are to be seen by. */
static bool spin_reads_anew(const struct ir_instr *in)
{
    return in->op == IR_OP_LD && (in->mem.sem == IR_SEM_RELAXED || in->mem.sem == IR_SEM_ACQUIRE ||
                                  in->mem.sem == IR_SEM_VOLATILE || in->mem.sem == IR_SEM_SC);
}

/* Tensor memory, which another warp may have to give back. */
static bool spin_allocates(const struct ir_instr *in)
{
    return in->op == IR_OP_TENSOR_WARP && ir_ext_tensor_warp(in)->op == IR_TENSOR_ALLOC;
}

bool ir_polls(const struct ir_instr *in)
{
    bool looks = in->op == IR_OP_ATOM || in->op == IR_OP_MBARRIER || in->op == IR_OP_MULTIMEM ||
                 spin_allocates(in);

    return spin_reads_anew(in) || (looks && in->ndst) || in->op == IR_OP_NANOSLEEP;
}

bool ir_spins_init(struct ir_spins *s, const struct ir_func *func, const struct ir_loops *loops,
                   struct hd_arena *arena)
{
    size_t n = func->nvalues + 1;

    *s = (struct ir_spins){.func = func, .loops = loops};
    s->ends = hd_arena_array(arena, uint32_t, n);
    s->expected = hd_arena_array(arena, uint32_t, n);
    s->work = hd_arena_array(arena, const struct ir_value *, n);
    return s->ends && s->expected && s->work;
}

bool ir_spins_wait(struct ir_spins *s, uint32_t loop, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_LD:
        return spin_reads_anew(in) && !spin_feeds_retry(s, loop, in) &&
               spin_end_depends_on(s, loop, in);
    case IR_OP_NANOSLEEP:
        return true;
    case IR_OP_MBARRIER:
    case IR_OP_TENSOR_WARP:
        return (in->op == IR_OP_MBARRIER ? in->ndst : spin_allocates(in)) &&
               spin_end_depends_on(s, loop, in);
    case IR_OP_ATOM:
        return in->ndst && spin_is_followed(in) && !spin_is_retry(s->func, s->loops, loop, in) &&
               spin_end_depends_on(s, loop, in);
    default:
        return false;
    }
}

/* Does something in the loop, or in one inside it, wait? */
static bool spin_loop_waits(struct ir_spins *s, uint32_t loop)
{
    for (uint32_t b = s->loops->loops[loop].header; b <= s->loops->loops[loop].last; b++) {
        s->steps++;
        if (!spin_in_loop(s->loops, loop, b))
            continue;
        ir_foreach_instr(in, s->func->blocks[b]) {
            s->steps++;
            if (ir_spins_wait(s, loop, in))
                return true;
        }
    }
    return false;
}

void ir_spins_mark(struct ir_spins *s, struct ir_loops *loops)
{
    assert(loops == s->loops);
    for (uint32_t l = 0; l < loops->nloops; l++)
        loops->loops[l].spin_suspect |= spin_loop_waits(s, l);
}

bool ir_spin_waits(const struct ir_func *func, const struct ir_loops *loops, uint32_t loop,
                   const struct ir_instr *in, struct hd_arena *arena)
{
    struct ir_spins spins;

    return !ir_spins_init(&spins, func, loops, arena) || ir_spins_wait(&spins, loop, in);
}

void ir_loops_mark_spins(const struct ir_func *func, struct hd_arena *arena, struct ir_loops *loops)
{
    struct ir_spins spins;

    if (!loops->nloops)
        return;
    if (ir_spins_init(&spins, func, loops, arena)) {
        ir_spins_mark(&spins, loops);
        return;
    }
    for (uint32_t l = 0; l < loops->nloops; l++)
        loops->loops[l].spin_suspect = true;
}
