/* requires: nothing. keeps: cfg, dominance. breaks: liveness, shapes. */
#include "opt/passes.h"

#include "analysis/analysis.h"

#include <assert.h>
#include <stdlib.h>

/*
 * A loop that has been unrolled computes one element behind the other, such as four times the
 * operations of expf(). A core looks for what it can do among the operations that its schedulers
 * hold: where chains are long, that is one chain and a part of the next. Side by side, an operation
 * of each chain behind the other, it is an operation of every chain.
 *
 * So the operations of a block are put into the order in which they could start at best, as far as
 * there are registers for what is not needed yet, and stay like that where a model of a core is
 * through with them sooner. Stores, and loads of what somebody may write, keep their order; nothing
 * passes what lanes do together or what has other effects.
 */

/* The model: vectors of 16 lanes on Zen 5, two for each operation of a warp. */
enum {
    LATENCY = 4,        /* cycles until another operation can have the result */
    ISSUE = 3,          /* operations that begin in two cycles: three vectors in a cycle */
    SCHEDULER = 55,     /* operations that wait for operands */
    WAITING_MAX = 1024, /* with those that take no unit of the core */
    VALUES = 14,        /* for which there are registers */
    ITERATIONS = 3,     /* of the block, one behind the other */
    GAIN_PERCENT = 5    /* for less the order stays */
};

/* Operations of a block that are looked at, at most and at least that compute. */
enum { OPS_MAX = 1024, OPS_MIN = 16, NONE = UINT32_MAX };

struct need {
    uint32_t op;
    bool is_operand; /* else it only has to stay behind it */
};

struct op {
    struct ir_instr *in;
    uint32_t first, nneeds; /* in `needs` of the segment */
    uint32_t users;         /* operands of others that are not placed yet */
    uint32_t level;         /* cycles until it could start at best */
    uint32_t work; /* how many operations of the core it is, each of which needs the last */
    bool is_held;  /* its result takes a register */
    bool leaves;   /* and is needed behind the segment */
    bool placed;
};

struct segment {
    struct ir_func *func;
    struct ir_uses uses;         /* in the whole function */
    uint32_t *number;            /* of the operation that makes a value */
    uint32_t *comes;             /* number of the segment that a value came into */
    uint32_t nsegments, outside; /* how many values come into this one */
    struct op ops[OPS_MAX];
    uint32_t nops;
    struct need *needs;
    uint32_t nneeds, needs_cap;
    uint32_t order[OPS_MAX], sorted[OPS_MAX];
    uint32_t last_write, read_from;
    uint32_t waiting[WAITING_MAX], nwaiting, nworking, cycle; /* of the model */
    uint32_t done[ITERATIONS * OPS_MAX];                      /* when a result is there */
    bool failed;
};

/* ---- what waits for what */

static void need(struct segment *s, struct op *op, uint32_t other, bool is_operand)
{
    if (s->nneeds == s->needs_cap) {
        uint32_t cap = s->needs_cap ? 2 * s->needs_cap : 4 * OPS_MAX;
        struct need *more = realloc(s->needs, cap * sizeof(*more));
        if (!more) {
            s->failed = true;
            return;
        }
        s->needs = more;
        s->needs_cap = cap;
    }
    s->needs[s->nneeds++] = (struct need){other, is_operand};
    op->nneeds++;
}

enum memory { NO_MEMORY, UNWRITTEN, READS, WRITES, ORDERS };

static enum memory weave_memory_of(const struct ir_instr *in)
{
    bool weak = in->mem.sem == IR_SEM_WEAK;
    if (in->op == IR_OP_LD && weak)
        return ir_has(in, IR_MOD_NC) ? UNWRITTEN : READS;
    if (in->op == IR_OP_ST && weak)
        return WRITES;
    return ir_op_has(in->op, IR_F_PURE) && in->op != IR_OP_PHI ? NO_MEMORY : ORDERS;
}

/* ---- operations */

/* How many of the core one is, roughly: those of base/float/approx.h. */
static uint32_t weave_work_of(const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_FEX2:
    case IR_OP_FRSQRT:
    case IR_OP_FTANH:
        return 10;
    case IR_OP_FLG2:
    case IR_OP_FSIN:
    case IR_OP_FCOS:
        return 13;
    case IR_OP_FDIV:
    case IR_OP_FRCP:
    case IR_OP_FSQRT:
        return 4;
    default:
        return ir_has(in, IR_MOD_SAT) ? 3 : 1;
    }
}

/* Integers are addresses and counters as a rule, unless they are made of floats. */
static bool weave_computes(const struct segment *s, const struct op *op)
{
    if (ir_op_has(op->in->op, IR_F_FLOAT))
        return true;
    for (uint32_t i = 0; i < op->nneeds && op->in->op != IR_OP_ST; i++) {
        struct need n = s->needs[op->first + i];
        if (n.is_operand && s->ops[n.op].work)
            return true;
    }
    return false;
}

static uint32_t weave_number_of(const struct segment *s, const struct ir_value *v)
{
    uint32_t n = s->number[v->id];
    return n < s->nops && s->ops[n].in == v->instr ? n : NONE;
}

static void weave_op_add(struct segment *s, struct ir_instr *in)
{
    struct op *op = &s->ops[s->nops];
    *op = (struct op){.in = in, .first = s->nneeds};
    for (uint32_t i = 0; i < in->nsrc; i++) {
        uint32_t n = weave_number_of(s, in->src[i]);
        if (n == NONE)
            continue;
        need(s, op, n, true);
        s->ops[n].users++;
    }
    /* Writes keep their order, and reads stay behind a write and in front of the next one. */
    enum memory m = weave_memory_of(op->in);
    if ((m == READS || m == WRITES) && s->last_write != NONE)
        need(s, op, s->last_write, false);
    if (m == WRITES) {
        for (uint32_t i = s->read_from; i < s->nops; i++) {
            if (s->ops[i].in->op == IR_OP_LD)
                need(s, op, i, false);
        }
        s->last_write = s->read_from = s->nops;
    }
    op->work = weave_computes(s, op) ? weave_work_of(in) : 0;
    op->is_held = in->ndst && (op->work || in->op == IR_OP_LD);
    for (uint32_t i = 0; i < in->nsrc && op->work; i++) {
        /* Constants may be operands in memory. */
        const struct ir_value *v = in->src[i];
        bool constant = v->instr && v->instr->op == IR_OP_CONST;
        if (!constant && weave_number_of(s, v) == NONE && s->comes[v->id] != s->nsegments) {
            s->comes[v->id] = s->nsegments;
            s->outside++;
        }
    }
    for (uint32_t i = 0; i < op->nneeds; i++) {
        const struct op *before = &s->ops[s->needs[op->first + i].op];
        op->level = HD_MAX(op->level, before->level + before->work * LATENCY);
    }
    for (uint32_t d = 0; d < in->ndst; d++)
        s->number[in->dst[d]->id] = s->nops;
    s->nops++;
}

/* ---- the other order */

static bool weave_is_ready(const struct segment *s, const struct op *op)
{
    for (uint32_t i = 0; i < op->nneeds; i++) {
        if (!s->ops[s->needs[op->first + i].op].placed)
            return false;
    }
    return true;
}

/* The one that could start first; where registers are short the first of the program. */
static uint32_t weave_choose(const struct segment *s, uint32_t from, bool is_short)
{
    uint32_t best = NONE;
    for (uint32_t i = from; i < s->nops && !(is_short && best != NONE); i++) {
        const struct op *op = &s->ops[i];
        bool better = best == NONE || op->level < s->ops[best].level;
        if (!op->placed && better && weave_is_ready(s, op))
            best = i;
    }
    assert(best != NONE);
    return best;
}

/* By how much the number of values in registers changes. */
static int weave_place(struct segment *s, struct op *op)
{
    int change = op->is_held && (op->users || op->leaves);
    op->placed = true;
    for (uint32_t i = 0; i < op->nneeds; i++) {
        struct need n = s->needs[op->first + i];
        struct op *operand = &s->ops[n.op];
        if (n.is_operand && !--operand->users)
            change -= operand->is_held && !operand->leaves;
    }
    return change;
}

static void weave_sort(struct segment *s)
{
    int live = 0, room = VALUES - (int)HD_MIN(s->outside, (uint32_t)VALUES);
    for (uint32_t n = 0, from = 0; n < s->nops; n++) {
        while (s->ops[from].placed)
            from++;
        s->sorted[n] = weave_choose(s, from, live >= room);
        live += weave_place(s, &s->ops[s->sorted[n]]);
    }
}

/* ---- how long it takes */

/* Of an operation of iteration `iteration`. */
static bool weave_is_done(const struct segment *s, const struct op *op, uint32_t iteration)
{
    for (uint32_t i = 0; i < op->nneeds; i++) {
        if (s->done[iteration * s->nops + s->needs[op->first + i].op] > s->cycle)
            return false;
    }
    return true;
}

/* Two cycles of the core, in which what waits longest comes first. */
static void weave_cycles_run(struct segment *s)
{
    uint32_t kept = 0, begun = 0;
    for (uint32_t i = 0; i < s->nwaiting; i++) {
        uint32_t at = s->waiting[i];
        const struct op *op = &s->ops[at % s->nops];
        if ((op->work && begun >= ISSUE) || !weave_is_done(s, op, at / s->nops)) {
            s->waiting[kept++] = at;
            continue;
        }
        s->done[at] = s->cycle + op->work * LATENCY;
        begun += op->work;
        s->nworking -= op->work;
    }
    s->nwaiting = kept;
    s->cycle += 2;
}

/* Some iterations in this order; what goes from one to the next is taken to be there. */
static uint32_t weave_cycles(struct segment *s, const uint32_t *order)
{
    s->nwaiting = s->nworking = s->cycle = 0;
    for (uint32_t i = 0; i < ITERATIONS * s->nops; i++) {
        uint32_t at = i - i % s->nops + order[i % s->nops];
        while (s->nworking >= SCHEDULER || s->nwaiting == WAITING_MAX)
            weave_cycles_run(s);
        s->done[at] = UINT32_MAX;
        s->waiting[s->nwaiting++] = at;
        s->nworking += s->ops[order[i % s->nops]].work;
    }
    while (s->nwaiting)
        weave_cycles_run(s);
    return s->cycle;
}

/* ---- segments: from one instruction that nothing passes to the next */

static void weave_segment_begins(struct segment *s)
{
    s->nops = s->nneeds = s->read_from = s->outside = 0;
    s->nsegments++;
    s->last_write = NONE;
}

/* In front of the instruction behind it. */
static bool weave_segment_ends(struct segment *s, struct ir_instr *end)
{
    uint32_t n = s->nops, compute = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct op *op = &s->ops[i];
        compute += op->work;
        uint32_t uses = 0;
        for (uint32_t d = 0; d < op->in->ndst; d++)
            uses += s->uses.first[op->in->dst[d]->id + 1] - s->uses.first[op->in->dst[d]->id];
        op->leaves = uses > op->users;
        s->order[i] = i;
    }
    bool better = false;
    if (compute >= OPS_MIN && !s->failed) {
        weave_sort(s);
        uint32_t before = weave_cycles(s, s->order), after = weave_cycles(s, s->sorted);
        better = after * 100 < before * (100 - GAIN_PERCENT);
    }
    for (uint32_t i = 0; better && i < n; i++)
        ir_instr_move_before(s->ops[s->sorted[i]].in, end);
    weave_segment_begins(s);
    return better;
}

static bool weave(struct segment *s, struct ir_block *block)
{
    bool changed = false;
    weave_segment_begins(s);
    ir_foreach_instr_safe(in, block) {
        bool ends = weave_memory_of(in) == ORDERS;
        if (ends || s->nops == OPS_MAX)
            changed |= weave_segment_ends(s, in);
        if (!ends)
            weave_op_add(s, in);
    }
    return changed;
}

static bool weave_segments_init(struct segment *s, struct ir_func *func, struct hd_arena *arena)
{
    s->func = func;
    s->number = hd_arena_array(arena, uint32_t, func->nvalues + 1);
    s->comes = hd_arena_array(arena, uint32_t, func->nvalues + 1);
    return s->number && s->comes && ir_uses_compute(func, arena, &s->uses) == HD_OK;
}

bool ir_opt_weave(struct ir_func *func)
{
    struct segment *s = calloc(1, sizeof(*s));
    struct hd_arena arena;
    bool changed = false;
    hd_arena_init(&arena);
    bool fine = s && weave_segments_init(s, func, &arena);
    for (uint32_t b = 0; fine && b < func->nblocks; b++)
        changed |= weave(s, func->blocks[b]);
    if (!fine || s->failed)
        opt_failed(func);
    if (s)
        free(s->needs);
    free(s);
    hd_arena_fini(&arena);
    return changed;
}
