/*
 * Regions that only the first warps work in.
 *
 * In `if (tid < k) ...` between two barriers, as every tree in shared memory has it, a warp none of
 * whose threads passes the test does nothing, nor do the warps behind it: their thread numbers are
 * higher. So the loop over the warps ends there (gen_cta.c). This holds when all warps come to the
 * test alike, when nothing that can be seen happens before it, and nothing on the way past it to
 * the next suspend point: pure operations and loads, and values that go through the CTA's areas,
 * which the warps before have written.
 */
#include "jit/gen/flow/gen_flow.h"
#include "jit/gen/find/gen_walk.h"

#include <assert.h>

enum { MAX_BLOCKS = 4096, MAX_THREADS = 1024 };

/* Grows with the number of the warp, and does not wrap: a small multiple of tid.x. */
static bool grows(const struct gen *g, const struct ir_value *v)
{
    enum jit_launch_class cls = jit_launch_class_single(g->unit->cls);
    const struct ir_instr *in = v->instr;
    uint64_t c;
    for (unsigned depth = 0; in && depth < 3; depth++) {
        if (in->op == IR_OP_SREG)
            return in->imm == IR_SREG_TID_X && (cls == JIT_CLASS_1D || cls == JIT_CLASS_1D_FULL);
        bool scaled = in->op == IR_OP_SHL && ir_value_const(in->src[1], &c) && c < 6;
        bool moved = ir_is_plain_add(in) && ir_value_const(in->src[1], &c) && c < 1 << 20;
        if (ir_type_bits(in->type) != 32 || !(scaled || moved))
            return false;
        in = in->src[0]->instr;
    }
    return false;
}

/* The edge that higher warps take out of a branch on `cmp`, whose source `s` grows; -1: neither. */
static int edge_of_higher(const struct ir_instr *cmp, uint32_t s)
{
    uint64_t c;
    bool with_zero = s == 0 && ir_value_const(cmp->src[1], &c) && c == 0;
    switch (cmp->cmp) {
    case IR_LT:
    case IR_LE:
        return s == 0;
    case IR_GT:
    case IR_GE:
        return s == 1;
    case IR_EQ: /* 0 is the least thread number */
        return with_zero ? 1 : -1;
    case IR_NE:
        return with_zero ? 0 : -1;
    default:
        return -1;
    }
}

static int edge_past_work(const struct gen *g, const struct ir_instr *branch)
{
    const struct ir_instr *cmp = branch->op == IR_OP_CBR ? branch->src[0]->instr : NULL;
    if (!cmp || cmp->op != IR_OP_SETP || cmp->nsrc != 2)
        return -1;
    for (uint32_t s = 0; s < 2; s++) {
        if (grows(g, cmp->src[s]) && g->cta_uniform[cmp->src[1 - s]->id])
            return edge_of_higher(cmp, s);
    }
    return -1;
}

/* The edge of threads for which tid.x is below *out_threads or not: the higher ones'; -1: none. */
int gen_bound_edge(const struct gen *g, const struct ir_instr *branch, uint32_t *out_threads)
{
    int past = edge_past_work(g, branch);
    const struct ir_instr *cmp = past < 0 ? NULL : branch->src[0]->instr;
    uint64_t c;
    uint32_t s = cmp && grows(g, cmp->src[0]) ? 0 : 1;
    if (!cmp || cmp->src[s]->instr->op != IR_OP_SREG || !ir_value_const(cmp->src[1 - s], &c) ||
        c >= MAX_THREADS)
        return -1;
    bool with_equal =
        s == 0 ? cmp->cmp == IR_LE || cmp->cmp == IR_GT : cmp->cmp == IR_GE || cmp->cmp == IR_LT;
    bool is_zero = cmp->cmp == IR_EQ || cmp->cmp == IR_NE;
    *out_threads = (uint32_t)c + (with_equal || is_zero);
    return past;
}

/* Nothing is lost when a warp does not come here, and all that come go on alike. */
bool gen_bound_is_nothing(const struct gen *g, const struct ir_instr *in)
{
    if (in->op == IR_OP_CBR || in->op == IR_OP_SWITCH)
        return g->cta_uniform[in->src[0]->id];
    if (in->op == IR_OP_LD)
        return in->mem.sem == IR_SEM_WEAK;
    return in->op == IR_OP_BR || in->op == IR_OP_RET || in->op == IR_OP_EXIT ||
           in->op == IR_OP_SREG || ir_op_has(in->op, IR_F_PURE);
}

bool gen_bound_suspend_is_nothing(struct gen *g, const struct ir_instr *stop)
{
    const struct gen_live_set *set = gen_live_at(g, stop);
    return stop->imm < IR_BAR_RED_POPC && set && !gen_live_saves(g, set);
}

/*
 * The edge past the work; -1: the branch does not bound its region. *out_stop: where the region
 * begins, when it is one whose every way leads to the branch.
 */
static int bounds(struct gen *g, struct gen_walk *w, const struct ir_instr *branch,
                  const struct ir_instr **out_stop)
{
    const struct ir_instr *in;
    unsigned nsuspends = 0;
    bool parts = false;
    int past = edge_past_work(g, branch);
    if (past < 0)
        return -1;
    gen_walk_back_from(w, branch);
    while ((in = gen_walk_next(w))) {
        if (in->op != IR_OP_BAR && !gen_bound_is_nothing(g, in))
            return -1;
        *out_stop = in->op == IR_OP_BAR ? in : *out_stop;
        nsuspends += in->op == IR_OP_BAR;
        parts |= in->op == IR_OP_CBR || in->op == IR_OP_SWITCH;
    }
    if (nsuspends != 1 || parts || w->came_to_start)
        *out_stop = NULL;
    gen_walk_from(w, branch->block->succs[past]->first);
    while ((in = gen_walk_next(w))) {
        if (in->op == IR_OP_BAR ? !gen_bound_suspend_is_nothing(g, in)
                                : !gen_bound_is_nothing(g, in))
            return -1;
    }
    return past;
}

/* Does a test that bounds() took send every warp but the first past the work? */
static bool passes_first_only(struct gen *g, const struct ir_instr *branch)
{
    const struct ir_instr *cmp = branch->src[0]->instr;
    uint64_t c;
    uint32_t s = grows(g, cmp->src[0]) ? 0 : 1;
    const struct ir_instr *tid = cmp->src[s]->instr;
    if (tid->op != IR_OP_SREG || !ir_value_const(cmp->src[1 - s], &c))
        return false;
    return c < g->unit->halves * GEN_LANES;
}

static void note_first_only(struct gen *g, const struct ir_instr *stop)
{
    const struct gen_live_set *set = gen_live_at(g, stop);
    if (set)
        g->body.regions.first_only[gen_live_number(g, set) + 1] = true;
}

void gen_bound_find(struct gen *g)
{
    struct gen_walk walk;
    if (!gen_does(g, GEN_PASS_BOUND) || !g->body.by_region || g->body.leaves_early ||
        g->unit->req->strict || g->func->nblocks > MAX_BLOCKS || !gen_walk_init(g, &walk))
        return;
    for (uint32_t n = 0; n < g->nnodes; n++) {
        struct gen_node *node = &g->nodes[n];
        const struct ir_instr *stop = NULL;
        int past = node->divergent ? -1 : bounds(g, &walk, node->block->last, &stop);
        node->bounds = past >= 0;
        if (node->bounds && stop && passes_first_only(g, node->block->last))
            note_first_only(g, stop);
        node->work = past == 0;
        g->body.bounded |= node->bounds;
    }
    if (!g->body.bounded)
        return;
    gen_fired(g, GEN_PASS_BOUND);
    g->bound = gen_alloca(g, g->t->i32, 0, "bound");
    LLVMBuildStore(g->b, gen_i32(g, 0), g->bound);
}

void gen_bound_note(struct gen *g, LLVMValueRef works)
{
    assert(g->nodes[g->cur].bounds && gen_is_one(g, works));
    LLVMValueRef x = LLVMBuildSelect(g->b, works, gen_i32(g, 0), gen_i32(g, GEN_BOUND), "");
    LLVMBuildStore(g->b, x, g->bound);
}

/* The state to return, with the note. */
LLVMValueRef gen_bound_state(struct gen *g, LLVMValueRef state)
{
    if (!g->body.bounded)
        return state;
    return LLVMBuildOr(g->b, state, LLVMBuildLoad2(g->b, g->t->i32, g->bound, ""), "");
}
