/* Reads that meet no write: src/analysis/conflicts.h. */
#include "analysis/conflicts.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "analysis/alike.h"
#include "ir/probe.h"

/* Sets of roots: bits by number, and two of what is no root. */
#define WINDOW  (1ull << 62) /* shared or local memory, the heap of kernels */
#define UNKNOWN (1ull << 63)

struct flow { /* of pointers */
    const struct ir_func *f;
    struct hd_arena arena;
    uint64_t *of; /* by value id: a set */
    struct ir_root roots[IR_ROOTS_MAX];
    uint32_t nroots;
};

static uint64_t conflicts_root(struct flow *fl, enum ir_root_kind kind, uint32_t at)
{
    uint32_t i = 0;

    while (i < fl->nroots && (fl->roots[i].kind != kind || fl->roots[i].at != at))
        i++;
    if (i == IR_ROOTS_MAX)
        return UNKNOWN;
    if (i == fl->nroots)
        fl->roots[fl->nroots++] = (struct ir_root){kind, at};
    return 1ull << i;
}

/* ---- what a value of 64 bits may be an address of */

static uint64_t conflicts_all_sources(const struct flow *fl, const struct ir_instr *in)
{
    uint64_t set = 0;

    for (uint32_t s = 0; s < in->nsrc; s++)
        set |= fl->of[in->src[s]->id];
    return set;
}

static uint64_t conflicts_of_load(struct flow *fl, const struct ir_instr *in, uint32_t d)
{
    uint64_t at;

    if (in->mem.space != IR_SPACE_PARAM || !ir_value_const(in->src[0], &at) ||
        ir_type_bits(in->type) != 64)
        return UNKNOWN;
    return conflicts_root(fl, IR_ROOT_PARAM, (uint32_t)(at + (uint64_t)in->mem.offset + 8ull * d));
}

static uint64_t conflicts_of_var(struct flow *fl, const struct ir_var *var)
{
    if (var->space == IR_SPACE_GLOBAL || var->space == IR_SPACE_CONST)
        return conflicts_root(fl, IR_ROOT_VAR, var->index);
    return WINDOW;
}

/* A product or shifted number is an index, unless it puts back what was shifted out. */
static uint64_t conflicts_of_scaled(const struct flow *fl, const struct ir_instr *in)
{
    const struct ir_instr *from = in->src[0]->instr;
    uint64_t count;

    if (in->op == IR_OP_SHL && !(ir_value_const(in->src[1], &count) && count < 32))
        return UNKNOWN;
    return from && (from->op == IR_OP_SHR || from->op == IR_OP_DIV) ? conflicts_all_sources(fl, in)
                                                                    : 0;
}

static uint64_t conflicts_of_result(struct flow *fl, const struct ir_instr *in, uint32_t d)
{
    if (ir_type_bits(in->dst[d]->type) < 64)
        return 0;
    switch (in->op) {
    case IR_OP_CONST:
    case IR_OP_UNDEF:
    case IR_OP_SREG:
    case IR_OP_MULWIDE:
    case IR_OP_MULHI:
        return 0;
    case IR_OP_LD:
        return conflicts_of_load(fl, in, d);
    case IR_OP_VARADDR:
        return conflicts_of_var(fl, in->var);
    case IR_OP_CVTA:
    case IR_OP_CVTA_TO:
        return in->mem.space == IR_SPACE_GLOBAL || in->mem.space == IR_SPACE_CONST
                   ? conflicts_all_sources(fl, in)
                   : conflicts_all_sources(fl, in) | WINDOW;
    case IR_OP_CVT: /* of fewer bits: a number */
        return ir_type_bits(in->type2) < 64 ? 0 : conflicts_all_sources(fl, in);
    case IR_OP_MUL:
    case IR_OP_SHL:
        return conflicts_of_scaled(fl, in);
    case IR_OP_BUILTIN:
        return in->imm == IR_BUILTIN_MALLOC ? WINDOW : UNKNOWN;
    case IR_OP_ALLOCA:
    case IR_OP_STACKSAVE:
        return WINDOW;
    case IR_OP_PHI:
    case IR_OP_SELECT:
    case IR_OP_ADD:
    case IR_OP_SUB:
    case IR_OP_ADDC:
    case IR_OP_SUBC:
    case IR_OP_MIN:
    case IR_OP_MAX:
    case IR_OP_AND:
    case IR_OP_OR:
    case IR_OP_XOR:
    case IR_OP_NOT:
    case IR_OP_NEG:
    case IR_OP_SHR:
    case IR_OP_DIV:
    case IR_OP_REM:
        return conflicts_all_sources(fl, in);
    default:
        return ir_op_has(in->op, IR_F_FLOAT) ? 0 : UNKNOWN;
    }
}

static bool conflicts_flow_once(struct flow *fl)
{
    bool changed = false;

    for (uint32_t b = 0; b < fl->f->nblocks; b++) {
        ir_foreach_instr(in, fl->f->blocks[b]) {
            for (uint32_t d = 0; d < in->ndst; d++) {
                uint64_t *of = &fl->of[in->dst[d]->id], set = *of | conflicts_of_result(fl, in, d);
                changed |= set != *of;
                *of = set;
            }
        }
    }
    return changed;
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

/* UNKNOWN: anywhere. */
static uint64_t conflicts_written_by(const struct flow *fl, const struct ir_instr *in)
{
    uint64_t set;

    if (in->op == IR_OP_CALL || in->op == IR_OP_CALLI)
        return UNKNOWN;
    if (in->op == IR_OP_BUILTIN && in->imm == IR_BUILTIN_RUNTIME)
        return UNKNOWN;
    if (!conflicts_writes(in->op))
        return 0;
    if (!conflicts_writes_by_address(in->op))
        return UNKNOWN;
    if (conflicts_is_window(in->mem.space))
        return 0;
    set = fl->of[in->src[0]->id];
    return set ? set : UNKNOWN;
}

static void conflicts_find_writes(const struct flow *fl, struct ir_conflicts *c)
{
    uint64_t set = 0;

    for (uint32_t b = 0; b < fl->f->nblocks; b++)
        ir_foreach_instr(in, fl->f->blocks[b])
            set |= conflicts_written_by(fl, in);
    c->knows_writes = !(set & UNKNOWN);
    for (uint32_t i = 0; i < fl->nroots; i++)
        if (set >> i & 1)
            c->written[c->nwritten++] = fl->roots[i];
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
    uint64_t set = fl->of[in->src[0]->id];
    return !set || set & (WINDOW | UNKNOWN);
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

static const struct ir_launch_facts any_launch = {.group = 16, .warps = 1};

/* Do all threads of a CTA come from barrier to barrier together? */
static bool conflicts_stops_are_alike(struct flow *fl)
{
    struct ir_shapes shapes;
    struct ir_alike alike;

    return ir_shapes_compute(fl->f, any_launch, &fl->arena, &shapes) == HD_OK &&
           !shapes.needs_dispatch && !shapes.rejoins &&
           ir_alike_compute(fl->f, &shapes, any_launch, &fl->arena, &alike) == HD_OK && alike.stops;
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
    fl.of = hd_arena_array(&fl.arena, uint64_t, kernel->nvalues + 1);
    if (hd_arena_status(&fl.arena) == HD_OK) {
        while (conflicts_flow_once(&fl))
            ;
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
