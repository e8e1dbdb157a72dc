/*
 * Which loops may wait for another thread.
 *
 * Nanosleep makes every loop around it suspect. A volatile, relaxed or acquiring load, an atomic,
 * the test of an mbarrier or an allocation of tensor memory does so for loops whose end depends on
 * what it read: that is taken from a backward walk over the operands of the branches that leave the
 * loop, which also follows what chooses between the operands of a phi. Additions are not followed
 * (a queue's `while (atomicAdd(&next, 1) < n)` moves on with each turn) unless they add nothing and
 * so only poll.
 *
 * One pattern that depends on its atomic is exempt: the retry loop
 *
 *     old = *p;
 *     do { seen = old; old = atomicCAS(p, seen, f(seen)); } while (old != seen);
 *
 * A swap fails only because another one succeeded since the value was read, and lanes execute it
 * one after the other, so of the lanes at one address at least one leaves in every second turn:
 * nobody waits for code after the loop. A lock (compare with a constant until it is free) has no
 * such property.
 */
#include "analysis/spin.h"

struct spin_walk {
    const struct ir_func *func;
    const struct ir_loops *loops;
    struct hd_arena *arena;
    uint32_t loop;
    uint64_t *seen; /* values, by id */
    const struct ir_value **work;
    uint32_t nwork;
    bool all_branches; /* the conditions of all branches of the loop are in */
};

static bool in_loop(const struct ir_loops *loops, uint32_t loop, uint32_t block)
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
static bool tests_success(const struct ir_value *v, const struct ir_instr *cas, bool *out_eq)
{
    const struct ir_instr *in = v->instr;

    if (in && in->op == IR_OP_NOT && in->src[0]->type == IR_PRED) {
        bool fine = tests_success(in->src[0], cas, out_eq);
        *out_eq = !*out_eq;
        return fine;
    }
    if (!in || in->op != IR_OP_SETP || (in->cmp != IR_EQ && in->cmp != IR_NE))
        return false;
    *out_eq = in->cmp == IR_EQ;
    return (in->src[0] == cas->dst[0] && in->src[1] == cas->src[1]) ||
           (in->src[1] == cas->dst[0] && in->src[0] == cas->src[1]);
}

static bool leaves_on_success(const struct ir_func *func, const struct ir_loops *loops,
                              uint32_t loop, const struct ir_instr *cas)
{
    for (uint32_t b = loops->loops[loop].header; b <= loops->loops[loop].last; b++) {
        const struct ir_block *block = func->blocks[b];
        bool eq = false;
        if (block->last->op != IR_OP_CBR || !in_loop(loops, loop, b) ||
            !tests_success(block->last->src[0], cas, &eq))
            continue;
        if (!in_loop(loops, loop, block->succs[eq ? 0 : 1]->id))
            return true;
    }
    return false;
}

static bool same_place(const struct ir_instr *ld, const struct ir_instr *cas)
{
    return ld->op == IR_OP_LD && ld->src[0] == cas->src[0] && ld->mem.offset == cas->mem.offset &&
           ld->mem.space == cas->mem.space;
}

/* Is what the swap expects read again in every turn: by the last swap, or by a load? */
static bool expects_latest(const struct ir_loops *loops, uint32_t loop, const struct ir_instr *cas)
{
    const struct ir_instr *def = cas->src[1]->instr;

    if (!def || !in_loop(loops, loop, def->block->id))
        return false;
    if (same_place(def, cas))
        return true;
    if (def->op != IR_OP_PHI)
        return false;
    for (uint32_t p = 0; p < def->nsrc; p++) {
        const struct ir_value *v = def->src[p];
        if (in_loop(loops, loop, def->block->preds[p]->id) && v != cas->dst[0] &&
            !(v->instr && same_place(v->instr, cas) && in_loop(loops, loop, v->instr->block->id)))
            return false;
    }
    return true;
}

static bool is_retry(const struct ir_func *func, const struct ir_loops *loops, uint32_t loop,
                     const struct ir_instr *in)
{
    return in->op == IR_OP_ATOM && in->mem.atom == IR_ATOM_CAS && in->ndst &&
           loops->loop_of[in->block->id] == loop && expects_latest(loops, loop, in) &&
           leaves_on_success(func, loops, loop, in);
}

/* The load that a retry loop begins each turn with. */
static bool feeds_retry(const struct ir_func *func, const struct ir_loops *loops, uint32_t loop,
                        const struct ir_instr *ld)
{
    for (uint32_t b = loops->loops[loop].header; b <= loops->loops[loop].last; b++) {
        if (loops->loop_of[b] != loop)
            continue;
        ir_foreach_instr(in, func->blocks[b]) {
            if (in->op == IR_OP_ATOM && in->mem.atom == IR_ATOM_CAS && in->src[1] == ld->dst[0] &&
                is_retry(func, loops, loop, in))
                return true;
        }
    }
    return false;
}

/* ---- does the end of a loop depend on what an instruction read? */

static void walk_push(struct spin_walk *w, const struct ir_value *v)
{
    uint64_t bit = 1ull << (v->id % 64);

    if ((w->seen[v->id / 64] & bit) || !v->instr ||
        !in_loop(w->loops, w->loop, v->instr->block->id))
        return;
    w->seen[v->id / 64] |= bit;
    w->work[w->nwork++] = v;
}

static void push_branches(struct spin_walk *w, bool leaving_only)
{
    for (uint32_t b = w->loops->loops[w->loop].header; b <= w->loops->loops[w->loop].last; b++) {
        const struct ir_block *block = w->func->blocks[b];
        bool leaves = false;
        if (block->nsuccs < 2 || !in_loop(w->loops, w->loop, b))
            continue;
        for (uint32_t s = 0; s < block->nsuccs; s++)
            leaves |= !in_loop(w->loops, w->loop, block->succs[s]->id);
        if (leaves || !leaving_only)
            walk_push(w, block->last->src[0]);
    }
}

/* Several ways lead here from inside the loop, so branches choose the value. */
static bool is_choice(const struct spin_walk *w, const struct ir_instr *phi)
{
    unsigned inside = 0;

    for (uint32_t p = 0; p < phi->nsrc; p++)
        inside += in_loop(w->loops, w->loop, phi->block->preds[p]->id);
    return inside > 1;
}

static bool walk_init(struct spin_walk *w)
{
    uint32_t n = w->func->nvalues;

    w->seen = hd_arena_array(w->arena, uint64_t, n / 64 + 1);
    w->work = hd_arena_array(w->arena, const struct ir_value *, n + 1);
    return w->seen && w->work;
}

static bool end_depends_on(struct spin_walk *w, const struct ir_instr *read)
{
    if (!walk_init(w))
        return true;
    push_branches(w, true);
    while (w->nwork) {
        const struct ir_instr *in = w->work[--w->nwork]->instr;
        if (in == read)
            return true;
        for (uint32_t s = 0; s < in->nsrc; s++)
            walk_push(w, in->src[s]);
        if (in->op == IR_OP_PHI && !w->all_branches && is_choice(w, in)) {
            w->all_branches = true;
            push_branches(w, false);
        }
    }
    return false;
}

/* ---- */

/* Additions that change nothing poll. */
static bool adds_nothing(const struct ir_instr *in)
{
    uint64_t x;

    return ir_value_const(in->src[1], &x) && x == 0;
}

static bool is_followed(const struct ir_instr *in)
{
    switch (in->mem.atom) {
    case IR_ATOM_ADD:
        return adds_nothing(in);
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
static bool reads_anew(const struct ir_instr *in)
{
    return in->op == IR_OP_LD && (in->mem.sem == IR_SEM_RELAXED || in->mem.sem == IR_SEM_ACQUIRE ||
                                  in->mem.sem == IR_SEM_VOLATILE || in->mem.sem == IR_SEM_SC);
}

/* Tensor memory, which another warp may have to give back. */
static bool allocates(const struct ir_instr *in)
{
    return in->op == IR_OP_TENSOR_WARP && ir_ext_tensor_warp(in)->op == IR_TENSOR_ALLOC;
}

bool ir_polls(const struct ir_instr *in)
{
    bool looks = in->op == IR_OP_ATOM || in->op == IR_OP_MBARRIER || in->op == IR_OP_MULTIMEM ||
                 allocates(in);

    return reads_anew(in) || (looks && in->ndst) || in->op == IR_OP_NANOSLEEP;
}

bool ir_spin_waits(const struct ir_func *func, const struct ir_loops *loops, uint32_t loop,
                   const struct ir_instr *in, struct hd_arena *arena)
{
    struct spin_walk walk = {.func = func, .loops = loops, .arena = arena, .loop = loop};

    switch (in->op) {
    case IR_OP_LD:
        return reads_anew(in) && !feeds_retry(func, loops, loop, in) && end_depends_on(&walk, in);
    case IR_OP_NANOSLEEP:
        return true;
    case IR_OP_MBARRIER:
    case IR_OP_TENSOR_WARP:
        return (in->op == IR_OP_MBARRIER ? in->ndst : allocates(in)) && end_depends_on(&walk, in);
    case IR_OP_ATOM:
        return in->ndst && is_followed(in) && !is_retry(func, loops, loop, in) &&
               end_depends_on(&walk, in);
    default:
        return false;
    }
}

void ir_loops_mark_spins(const struct ir_func *func, struct hd_arena *arena, struct ir_loops *loops)
{
    for (uint32_t i = 0; i < func->nblocks; i++) {
        if (loops->loop_of[i] == IR_NO_BLOCK)
            continue;
        ir_foreach_instr(in, func->blocks[i]) {
            for (uint32_t l = loops->loop_of[i]; l != IR_NO_BLOCK; l = loops->loops[l].parent)
                loops->loops[l].spin_suspect |=
                    !loops->loops[l].spin_suspect && ir_spin_waits(func, loops, l, in, arena);
        }
    }
}
