/*
 * Trees in shared memory, warp by warp without loops.
 *
 * Between the barriers of a tree some threads add words of shared memory, and it is known which:
 * addresses are made of thread numbers and constants alone. When the number of each warp is a
 * constant as well, all that such regions store and load again is taken out of registers
 * (gen_promote.c), from barrier to barrier, and only what is in memory behind the last one is
 * stored.
 *
 * So a run of regions one behind the other, each of them straight and with a test of thread numbers
 * against a constant that bounds how many warps have work, is unrolled: heddle_run_cta calls the
 * body for each warp of each region in turn, as its loops would (gen_cta.c). CTAs that have fewer
 * warps take the loops.
 *
 * A fault of such a region leaves shared memory as it was before the run: nobody looks at it then.
 */
#include "jit/gen/flow/gen_flow.h"
#include "jit/gen/find/gen_walk.h"

#include <assert.h>

/*
 * LLVM takes as long as for so many instructions, and registers hold only so much (USUAL_WORK; or
 * what tuning chose). A run of one or two regions has little that is stored and loaded again.
 */
enum { USUAL_WORK = 6000, MIN_REGIONS = 3, MAX_STEPS = 64, MAX_DEPTH = 24 };

struct unroll {
    struct gen *g;
    struct gen_walk walk;
    const struct ir_instr **starts; /* by region: behind its suspend point; NULL: region 0 */
    uint32_t *work;                 /* by region: instructions of all its warps; 0 = not one */
};

/* Is it a constant of each lane when the warp's number is one? */
static bool is_fixed(struct gen *g, const struct ir_value *v, unsigned depth)
{
    const struct ir_instr *in = v->instr;
    if (!in || depth > MAX_DEPTH || (g->shapes.temporal && g->shapes.temporal[v->id]))
        return false;
    if (in->op == IR_OP_CONST)
        return true;
    if (in->op == IR_OP_SREG)
        return in->imm == IR_SREG_TID_X;
    if (in->op == IR_OP_VARADDR)
        return in->var->space == IR_SPACE_SHARED && !g->unit->clusters;
    if (!ir_op_has(in->op, IR_F_PURE) || ir_op_has(in->op, IR_F_FLOAT) || in->op == IR_OP_PHI)
        return false;
    for (uint32_t s = 0; s < in->nsrc; s++) {
        if (!is_fixed(g, in->src[s], depth + 1))
            return false;
    }
    return true;
}

/* May the region have it? Accesses are of words at known places, or outside of shared memory. */
static bool op_fits(struct gen *g, const struct ir_instr *in)
{
    uint32_t unused;
    if (in->op == IR_OP_CBR)
        return gen_bound_edge(g, in, &unused) >= 0;
    if (in->op != IR_OP_LD && in->op != IR_OP_ST)
        return in->op == IR_OP_BR || in->op == IR_OP_SREG || ir_op_has(in->op, IR_F_PURE);
    if (in->mem.sem != IR_SEM_WEAK || in->mem.vec > 1 || ir_type_bits(in->type) != 32)
        return false;
    if (in->mem.space == IR_SPACE_SHARED)
        return is_fixed(g, in->src[0], 0);
    return in->mem.space == IR_SPACE_GLOBAL || in->mem.space == IR_SPACE_PARAM;
}

/* How many instructions lie before the next suspend point, all ways together; 0: the region is
 * none. */
static uint32_t region_size(struct unroll *u, const struct ir_instr *start)
{
    const struct ir_instr *in;
    uint32_t n = 0, accesses = 0;
    gen_walk_from(&u->walk, start);
    while ((in = gen_walk_next(&u->walk))) {
        if (in->op == IR_OP_BAR)
            continue;
        if (!op_fits(u->g, in))
            return 0;
        n++;
        accesses += in->op == IR_OP_LD || in->op == IR_OP_ST;
    }
    return accesses ? n : 0;
}

/* The way of a warp that no test lets in; how many threads pass some test, 0: not known. */
static uint32_t threads_at_work(struct unroll *u, const struct ir_instr *in)
{
    struct gen *g = u->g;
    uint32_t most = 0, n;
    for (unsigned step = 0; step < MAX_STEPS;) {
        if (in->op == IR_OP_BAR)
            return gen_bound_suspend_is_nothing(g, in) ? most : 0;
        bool parts = in->op == IR_OP_CBR;
        int past = parts ? gen_bound_edge(g, in, &n) : 0;
        if (past < 0 || (!parts && !gen_bound_is_nothing(g, in)))
            return 0;
        most = parts ? HD_MAX(most, n) : most;
        bool ends = in == in->block->last;
        step += ends;
        in = ends ? in->block->succs[past]->first : in->next;
    }
    return 0;
}

static uint32_t count_regions(const struct ir_func *f)
{
    uint32_t n = 1;
    for (uint32_t b = 0; b < f->nblocks; b++) {
        ir_foreach_instr(in, f->blocks[b])
            n += in->op == IR_OP_BAR;
    }
    return n;
}

static void starts_find(struct unroll *u)
{
    const struct ir_func *f = u->g->func;
    uint32_t region = 0;
    for (uint32_t b = 0; b < f->nblocks; b++) {
        ir_foreach_instr(in, f->blocks[b])
            if (in->op == IR_OP_BAR)
                u->starts[++region] = in->next;
    }
}

static void region_look(struct unroll *u, uint32_t region)
{
    struct gen_regions *r = &u->g->body.regions;
    uint32_t size = 0, threads = 0;
    if (u->starts[region] && r->first[region + 1] - r->first[region] == 1)
        size = region_size(u, u->starts[region]);
    if (size)
        threads = threads_at_work(u, u->starts[region]);
    r->warps[region] = (threads + 31) / 32;
    u->work[region] = size * r->warps[region];
}

/* The run that begins with `region`. */
static void run_find(struct unroll *u, uint32_t region, uint32_t nregions)
{
    struct gen_regions *r = &u->g->body.regions;
    uint32_t chosen = u->g->unit->req->unrolled, max_work = chosen ? chosen : USUAL_WORK;
    uint32_t last = region, work = u->work[region], most = r->warps[region];
    while (last + 1 < nregions && u->work[last + 1] && r->to[r->first[last]] == last &&
           work + u->work[last + 1] <= max_work) {
        last++;
        work += u->work[last];
        most = HD_MAX(most, r->warps[last]);
    }
    if (last - region + 1 >= MIN_REGIONS && most > 1)
        r->unrolled_to[region] = last;
    u->g->body.unrolled |= r->unrolled_to[region] > 0;
}

static bool is_candidate(const struct gen *g)
{
    enum jit_launch_class cls = jit_launch_class_single(g->unit->cls);
    bool in_line = cls == JIT_CLASS_1D || cls == JIT_CLASS_1D_FULL;
    return in_line && gen_does(g, GEN_PASS_UNROLL) && gen_does(g, GEN_PASS_PATTERN) &&
           g->unit->avx512 && g->body.by_region && !g->body.leaves_early &&
           !g->body.alive_in_memory && !gen_is_coarse(g) && !gen_is_half(g) &&
           !g->unit->req->strict && !g->func->module->has_counts && !g->unit->facts.has_votes;
}

void gen_unroll_find(struct gen *g)
{
    struct unroll u = {.g = g};
    if (!is_candidate(g) || !gen_walk_init(g, &u.walk))
        return;
    uint32_t nregions = count_regions(g->func);
    u.starts = hd_arena_array(&g->arena, const struct ir_instr *, nregions);
    u.work = hd_arena_array(&g->arena, uint32_t, nregions);
    if (!u.starts || !u.work)
        return;
    starts_find(&u);
    for (uint32_t r = 0; r < nregions; r++)
        region_look(&u, r);
    for (uint32_t r = 0; r < nregions; r++) {
        if (u.work[r])
            run_find(&u, r, nregions);
        r = HD_MAX(r, g->body.regions.unrolled_to[r]);
    }
    if (g->body.unrolled)
        gen_fired(g, GEN_PASS_UNROLL);
}
