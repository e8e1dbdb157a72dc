/* Reads that meet no write: src/analysis/conflicts.h. */
#include "analysis/conflicts.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "analysis/alike.h"
#include "analysis/facts.h"
#include "ir/probe.h"

_Static_assert((int)IR_ROOTS_MAX == (int)FACTS_ROOTS_MAX, "all of them may be written");

struct flow {
    const struct ir_func *f;
    struct hd_arena arena;
    struct facts facts; /* where pointers come from */
};

static uint64_t conflicts_roots(const struct flow *fl, const struct ir_value *address)
{
    return fl->facts.of[address->id].roots;
}

static bool conflicts_is_window_var(const struct facts_root *root)
{
    return root->kind == FACTS_ROOT_ALLOCA ||
           (root->kind == FACTS_ROOT_VAR && root->var->space != IR_SPACE_GLOBAL &&
            root->var->space != IR_SPACE_CONST);
}

/* Does it come from shared or local memory, or one does not know where from? */
static bool conflicts_may_be_own(const struct flow *fl, uint64_t roots)
{
    if (!roots || roots & (FACTS_ROOTS_OWN | FACTS_ROOTS_UNKNOWN))
        return true;
    for (uint32_t i = 0; i < fl->facts.nroots; i++)
        if ((roots >> i & 1) && conflicts_is_window_var(&fl->facts.roots[i]))
            return true;
    return false;
}

/* ---- what is written */

static bool conflicts_writes(enum ir_op op)
{
    return ir_op_has(op, IR_F_STORE) && op != IR_OP_TEX; /* surfaces are no memory of pointers */
}

static bool conflicts_is_window(enum ir_space space)
{
    return space != IR_SPACE_GLOBAL && space != IR_SPACE_GENERIC;
}

static bool conflicts_writes_by_address(enum ir_op op)
{
    return op == IR_OP_ST || op == IR_OP_ATOM || op == IR_OP_STMATRIX || op == IR_OP_COPY ||
           op == IR_OP_MBARRIER;
}

/* Roots; FACTS_ROOTS_UNKNOWN: anywhere. */
static uint64_t conflicts_written_by(const struct flow *fl, const struct ir_instr *in)
{
    uint64_t set;

    if (in->op == IR_OP_CALL || in->op == IR_OP_CALLI)
        return FACTS_ROOTS_UNKNOWN;
    if (in->op == IR_OP_BUILTIN && in->imm == IR_BUILTIN_RUNTIME)
        return FACTS_ROOTS_UNKNOWN;
    if (!conflicts_writes(in->op))
        return 0;
    if (!conflicts_writes_by_address(in->op))
        return FACTS_ROOTS_UNKNOWN;
    if (conflicts_is_window(in->mem.space))
        return 0;
    set = conflicts_roots(fl, in->src[0]);
    return set ? set : FACTS_ROOTS_UNKNOWN;
}

static void conflicts_find_writes(const struct flow *fl, struct ir_conflicts *c)
{
    uint64_t set = 0;

    for (uint32_t b = 0; b < fl->f->nblocks; b++)
        ir_foreach_instr(in, fl->f->blocks[b])
            set |= conflicts_written_by(fl, in);
    c->knows_writes = !(set & FACTS_ROOTS_UNKNOWN);
    for (uint32_t i = 0; i < fl->facts.nroots; i++) {
        const struct facts_root *root = &fl->facts.roots[i];
        if (!(set >> i & 1) || conflicts_is_window_var(root))
            continue;
        c->written[c->nwritten++] = root->kind == FACTS_ROOT_PARAM
                                        ? (struct ir_root){IR_ROOT_PARAM, root->offset_B}
                                        : (struct ir_root){IR_ROOT_VAR, root->var->index};
    }
}

/* ---- intervals between barriers */

/* An instruction after which nothing can be said of shared memory. */
static bool conflicts_spoils_intervals(const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_CALL:
    case IR_OP_CALLI:
    case IR_OP_ASYNC:
    case IR_OP_COPY:
    case IR_OP_REDUCE:
    case IR_OP_TENSORCOPY:
    case IR_OP_MULTIMEM:
    case IR_OP_TENSOR:
    case IR_OP_TENSOR_WARP:
        return true;
    case IR_OP_BAR:
        return !ir_bar_is_whole(in);
    default:
        return conflicts_writes(in->op) && in->mem.space == IR_SPACE_SHARED_CLUSTER;
    }
}

static bool conflicts_may_be_shared(const struct flow *fl, const struct ir_instr *in)
{
    if (in->mem.space != IR_SPACE_GENERIC)
        return ir_space_is_shared(in->mem.space);
    return conflicts_may_be_own(fl, conflicts_roots(fl, in->src[0]));
}

static bool conflicts_is_plain_read(const struct ir_instr *probe)
{
    enum ir_op op = ir_probe_op(probe);

    return probe->mem.space == IR_SPACE_SHARED && probe->mem.sem == IR_SEM_WEAK &&
           (op == IR_OP_LD || op == IR_OP_LDMATRIX);
}

struct intervals {
    const struct flow *flow;
    bool *seen; /* by block: its beginning is in this interval */
    const struct ir_block **stack;
    uint32_t depth;
    bool *quiet, *meets; /* by number of the probe: a read; of an interval with a write */
};

/* One stretch up to a barrier or the end of the block; what of it is wanted goes on. */
typedef void stretch_fn(struct intervals *iv, const struct ir_instr *in, void *user);

static void conflicts_walk(struct intervals *iv, const struct ir_instr *from, stretch_fn *each,
                           void *user)
{
    const struct ir_instr *in = from;

    memset(iv->seen, 0, iv->flow->f->nblocks * sizeof(bool));
    iv->depth = 0;
    for (;;) {
        const struct ir_block *block = in->block;
        for (; in && in->op != IR_OP_BAR; in = in->next)
            each(iv, in, user);
        for (uint32_t s = 0; !in && s < block->nsuccs; s++) {
            if (!iv->seen[block->succs[s]->id])
                iv->stack[iv->depth++] = block->succs[s];
            iv->seen[block->succs[s]->id] = true;
        }
        if (!iv->depth)
            return;
        in = iv->stack[--iv->depth]->first;
    }
}

static void conflicts_look_for_write(struct intervals *iv, const struct ir_instr *in, void *user)
{
    bool *has_write = user;

    *has_write |= conflicts_writes(in->op) && in->op != IR_OP_MBARRIER &&
                  conflicts_may_be_shared(iv->flow, in);
}

static void conflicts_mark_reads(struct intervals *iv, const struct ir_instr *in, void *user)
{
    const bool *has_write = user;

    if (in->op == IR_OP_PROBE_ACCESS && conflicts_is_plain_read(in)) {
        iv->quiet[ir_probe_number(in)] = true;
        iv->meets[ir_probe_number(in)] |= *has_write;
    }
}

static void conflicts_interval(struct intervals *iv, const struct ir_instr *from)
{
    bool has_write = false;

    conflicts_walk(iv, from, conflicts_look_for_write, &has_write);
    conflicts_walk(iv, from, conflicts_mark_reads, &has_write);
}

enum { WORK_MAX = 1 << 22 }; /* barriers times blocks */

static bool conflicts_intervals_fit(const struct ir_func *f)
{
    uint64_t barriers = 1;

    for (uint32_t b = 0; b < f->nblocks; b++) {
        ir_foreach_instr(in, f->blocks[b]) {
            barriers += in->op == IR_OP_BAR;
            if (conflicts_spoils_intervals(in))
                return false;
        }
    }
    return barriers * f->nblocks <= WORK_MAX;
}

/* Do all threads of a CTA come from barrier to barrier together? */
static bool conflicts_stops_are_alike(struct flow *fl)
{
    const struct ir_shapes *shapes = &fl->facts.shapes;
    struct ir_alike alike;

    return !shapes->needs_dispatch && !shapes->rejoins &&
           ir_alike_compute(fl->f, shapes, fl->facts.launch, &fl->arena, &alike) == HD_OK &&
           alike.stops;
}

/* Without memory nothing is known to be quiet. */
static void conflicts_find_quiet(struct flow *fl, struct ir_conflicts *c)
{
    struct intervals iv = {.flow = fl};

    if (!conflicts_intervals_fit(fl->f) || !conflicts_stops_are_alike(fl))
        return;
    iv.seen = hd_arena_array(&fl->arena, bool, fl->f->nblocks);
    iv.stack = hd_arena_array(&fl->arena, const struct ir_block *, fl->f->nblocks);
    iv.meets = hd_arena_array(&fl->arena, bool, c->nprobes);
    iv.quiet = hd_alloc_array(c->nprobes, sizeof(bool));
    c->is_quiet = iv.quiet;
    if (hd_arena_status(&fl->arena) != HD_OK || !iv.quiet)
        return;
    conflicts_interval(&iv, fl->f->blocks[0]->first);
    for (uint32_t b = 0; b < fl->f->nblocks; b++)
        ir_foreach_instr(in, fl->f->blocks[b])
            if (in->op == IR_OP_BAR)
                conflicts_interval(&iv, in->next);
    for (uint32_t i = 0; i < c->nprobes; i++)
        iv.quiet[i] &= !iv.meets[i];
}

struct ir_conflicts *ir_conflicts_create(const struct ir_func *kernel)
{
    struct ir_conflicts *c = hd_new(struct ir_conflicts);
    struct flow fl = {.f = kernel};

    assert(kernel->is_kernel && kernel->nblocks);
    if (!c)
        return NULL;
    c->nprobes = ir_module_size(kernel->module) + 1;
    hd_arena_init(&fl.arena);
    if (facts_compute(kernel, NULL, &fl.arena, &fl.facts) == HD_OK) {
        conflicts_find_writes(&fl, c);
        conflicts_find_quiet(&fl, c);
    }
    hd_arena_fini(&fl.arena);
    return c;
}

void ir_conflicts_destroy(struct ir_conflicts *conflicts)
{
    if (!conflicts)
        return;
    hd_free(conflicts->is_quiet);
    hd_free(conflicts);
}
