/* One instruction of one thread: values, control flow, calls; the rest is dispatched. */
#include <assert.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "interp/interp_priv.h"

enum {
    FEW_PHIS = 64,  /* more take their copies from the heap */
    PURE_SRC = 128, /* the most that a pure operation has: pack.b128 of 128 preds */
    CALL_B = 64,    /* stack charged per call: return address and saved registers */
};

/* ---- frames */

bool interp_enter(struct interp_thread *t, const struct ir_func *func, uint64_t charge_B)
{
    uint64_t regs_B = ((uint64_t)func->nvalues + func->nregs) * sizeof(struct ir_bits);
    struct interp_frame *f = hd_alloc(sizeof *f + regs_B + func->nregs * sizeof(uint32_t));
    if (!f)
        return false;
    f->caller = t->frame;
    f->depth = t->frame ? t->frame->depth + 1 : 1;
    f->func = func;
    f->pc = func->blocks[0]->first;
    f->caller_sp = t->sp;
    f->local_base = hd_align_up(t->sp + charge_B, func->module->frame_align_B);
    t->sp = f->local_base + ir_func_frame_B(func);
    t->frame = f;
    return true;
}

static void step_frame_leave(struct interp_thread *t)
{
    struct interp_frame *f = t->frame;
    assert(f);
    t->sp = f->caller_sp;
    t->frame = f->caller;
    hd_free(f);
}

void interp_leave_all(struct interp_thread *t)
{
    while (t->frame)
        step_frame_leave(t);
}

static enum interp_step step_thread_end(struct interp_thread *t)
{
    assert(t->state == INTERP_RUN && t->cta->live > 0);
    interp_leave_all(t);
    t->state = INTERP_ENDED;
    t->cta->live--;
    interp_thread_gone(t);
    if (!t->cta->live)
        interp_tensor_end(t);
    return INTERP_JUMPED;
}

/* ---- control flow */

/* Which operand phis take on the edge that leaves `from` by its successor number `edge`. */
static uint32_t step_pred_index(const struct ir_block *from, uint32_t edge)
{
    const struct ir_block *to = from->succs[edge];
    uint32_t same = 0;
    for (uint32_t i = 0; i < edge; i++)
        same += from->succs[i] == to;
    for (uint32_t i = 0; i < to->npreds; i++) {
        if (to->preds[i] == from && same-- == 0)
            return i;
    }
    return 0;
}

/* Phis of a block happen at once: read all, then write all. */
static enum interp_step step_jump(struct interp_thread *t, uint32_t edge)
{
    const struct ir_block *from = t->frame->pc->block, *to = from->succs[edge];
    assert(edge < from->nsuccs);
    uint32_t pred = step_pred_index(from, edge), n = 0;
    struct ir_bits small[FEW_PHIS], *values = small, *big = NULL;
    const struct ir_instr *phi = to->first;
    for (; phi && phi->op == IR_OP_PHI; phi = phi->next)
        n++;
    if (n > FEW_PHIS) {
        values = big = hd_alloc_array(n, sizeof *big);
        if (!big)
            return interp_fail(t, HD_NO_MEMORY, "no memory for %u phis", n);
    }
    n = 0;
    for (phi = to->first; phi && phi->op == IR_OP_PHI; phi = phi->next)
        values[n++] = *interp_reg(t, phi->src[pred]);
    n = 0;
    for (phi = to->first; phi && phi->op == IR_OP_PHI; phi = phi->next)
        *interp_reg(t, phi->dst[0]) = values[n++];
    hd_free(big);
    assert(phi); /* a terminator at least */
    t->frame->pc = phi;
    return INTERP_JUMPED;
}

static enum interp_step step_call(struct interp_thread *t, const struct ir_func *callee,
                                  uint32_t first_arg)
{
    const struct ir_instr *in = t->frame->pc;
    struct interp_frame *caller = t->frame;
    const struct interp_run *run = t->cta->run;
    if (callee->is_declaration)
        return interp_fail(t, HD_UNRESOLVED, "call of undefined function %s", callee->name);
    if (in->nsrc - first_arg != callee->proto.nparams || in->ndst > callee->proto.nresults)
        return interp_fail(t, HD_NOT_SUPPORTED, "call of %s with another signature", callee->name);
    uint64_t charge_B = run->window.recursive ? CALL_B : 0;
    uint64_t need =
        hd_align_up(t->sp + charge_B, callee->module->frame_align_B) + ir_func_frame_B(callee);
    if (need > run->local_B)
        return interp_fail(t, HD_STACK_OVERFLOW, "stack of %llu bytes overflows in call of %s",
                           (unsigned long long)run->local_B, callee->name);
    if (!interp_enter(t, callee, charge_B))
        return interp_fail(t, HD_NO_MEMORY, "no memory to call %s", callee->name);
    for (uint32_t i = 0; i < callee->proto.nparams; i++)
        t->frame->regs[callee->args[i]->id] = caller->regs[in->src[first_arg + i]->id];
    return INTERP_JUMPED;
}

static enum interp_step step_call_indirect(struct interp_thread *t)
{
    struct interp_run *run = t->cta->run;
    uint64_t handle = interp_src(t, 0), index = (handle >> 4) - 1;
    if ((handle & 15) || index >= run->nfuncs || !run->funcs[index] || run->funcs[index]->is_kernel)
        return interp_fail(t, HD_ILLEGAL_ADDRESS, "indirect call through %#llx",
                           (unsigned long long)handle);
    return step_call(t, run->funcs[index], 1);
}

/* Results go from frame to frame while both are there; step_call() checked that there are
 * enough. */
static enum interp_step step_ret(struct interp_thread *t)
{
    const struct interp_frame *from = t->frame;
    struct interp_frame *to = from->caller;
    if (!to)
        return step_thread_end(t);
    const struct ir_instr *site = to->pc;
    assert(site->ndst <= from->pc->nsrc);
    for (uint32_t i = 0; i < site->ndst; i++)
        to->regs[site->dst[i]->id] = from->regs[from->pc->src[i]->id];
    if (t->cta->debug)
        interp_debug_return(t);
    step_frame_leave(t);
    to->pc = site->next;
    return INTERP_JUMPED;
}

/* ---- values that depend on more than bits */

static enum interp_step step_var_address(struct interp_thread *t)
{
    const struct ir_instr *in = t->frame->pc;
    const struct interp_launch *l = t->cta->run->launch;
    const struct ir_var *var = in->var;
    uint64_t base = var->window_offset;
    if (var->space == IR_SPACE_LOCAL)
        base += t->frame->local_base;
    else if (var->space == IR_SPACE_SHARED)
        base += interp_own_window(t);
    else {
        if (!l->ops || !l->ops->var_address)
            return interp_fail(t, HD_UNRESOLVED, "variable %s has no address", var->name);
        base = l->ops->var_address(l->ctx, var);
    }
    interp_set(t, 0, base + in->imm);
    return INTERP_NEXT;
}

static enum interp_step step_func_address(struct interp_thread *t)
{
    interp_set(t, 0, INTERP_FUNC_HANDLE(t->frame->pc->callee->index));
    return INTERP_NEXT;
}

static enum interp_step step_stack_alloc(struct interp_thread *t)
{
    uint64_t size_B = interp_src(t, 0);
    uint64_t at = interp_push_local(t, size_B, t->frame->pc->imm);
    if (at == UINT64_MAX)
        return interp_fail(t, HD_STACK_OVERFLOW, "no stack for %llu bytes",
                           (unsigned long long)size_B);
    interp_set(t, 0, at);
    return INTERP_NEXT;
}

static enum interp_step step_pure(struct interp_thread *t)
{
    const struct ir_instr *in = t->frame->pc;
    struct ir_bits src[PURE_SRC], out;
    assert(in->nsrc <= PURE_SRC && in->ndst == 1);
    for (uint32_t i = 0; i < in->nsrc; i++)
        src[i] = *interp_reg(t, in->src[i]);
    bool is_known = ir_eval(in, src, &out);
    assert(is_known); /* step_once() asks for the rows of the table it is made from */
    (void)is_known;
    *interp_reg(t, in->dst[0]) = out;
    return INTERP_NEXT;
}

/* Operations with one result that is a function of a few 64-bit numbers. */
static enum interp_step step_set(struct interp_thread *t, uint64_t value)
{
    interp_set(t, 0, value);
    return INTERP_NEXT;
}

static enum interp_step step_note(struct interp_thread *t)
{
    interp_note(t);
    return INTERP_NEXT;
}

static enum interp_step step_yield(void)
{
    sched_yield();
    return INTERP_NEXT;
}

static enum interp_step step_fence(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return INTERP_NEXT;
}

static enum interp_step step_control(struct interp_thread *t)
{
    const struct ir_instr *in = t->frame->pc;
    switch (in->op) {
    case IR_OP_BR:
        return step_jump(t, 0);
    case IR_OP_CBR:
        return step_jump(t, (interp_src(t, 0) & 1) ? 0 : 1);
    case IR_OP_SWITCH:
        return step_jump(t, (uint32_t)HD_MIN(interp_src(t, 0), (uint64_t)in->block->nsuccs - 1));
    case IR_OP_RET:
        return step_ret(t);
    case IR_OP_EXIT:
        return step_thread_end(t);
    case IR_OP_TRAP:
        return interp_fail(t, HD_TRAP, in->imm ? "breakpoint" : "trap");
    default:
        assert(in->op == IR_OP_UNREACHABLE);
        return interp_fail(t, HD_TRAP, "reached code marked unreachable");
    }
}

/* The operations of spec/ir_semantics.def as labels of a switch. */
#define ROW(name, ...) case IR_OP_##name:
#define ANY            ROW
#define INT            ROW
#define FLT            ROW
#define FLP            ROW

static enum interp_step step_once(struct interp_thread *t)
{
    const struct ir_instr *in = t->frame->pc;
    switch (in->op) { /* without a default: what nobody executes does not compile */
#include "ir_semantics.def"
        return step_pure(t);
    case IR_OP_SREG:
        return step_set(t, interp_sreg(t, (enum ir_sreg)in->imm));
    case IR_OP_VARADDR:
        return step_var_address(t);
    case IR_OP_FUNCADDR:
        return step_func_address(t);
    case IR_OP_LD:
        return interp_load(t);
    case IR_OP_ST:
        return interp_store(t);
    case IR_OP_ATOM:
        return interp_atom(t);
    case IR_OP_COPY:
        return interp_copy(t);
    case IR_OP_REDUCE:
        return interp_reduce(t);
    case IR_OP_MBARRIER:
        return interp_mbarrier(t);
    case IR_OP_TENSOR:
        return interp_tensor_thread(t);
    case IR_OP_TEX:
        return interp_tex(t);
    case IR_OP_TENSORCOPY:
        return interp_tensor_copy(t);
    case IR_OP_MULTIMEM:
        return interp_multimem(t);
    case IR_OP_FENCE:
        return step_fence();
    case IR_OP_CVTA:
        return step_set(t, interp_to_generic(t, in->mem.space, interp_src(t, 0)));
    case IR_OP_CVTA_TO:
        return step_set(t, interp_from_generic(t, in->mem.space, interp_src(t, 0)));
    case IR_OP_ISSPACEP:
        return step_set(t, interp_is_space(t, in->mem.space, interp_src(t, 0)));
    case IR_OP_ALLOCA:
        return step_stack_alloc(t);
    case IR_OP_STACKSAVE:
        return step_set(t, t->sp);
    case IR_OP_STACKRESTORE:
        t->sp = HD_MAX(HD_MIN(interp_src(t, 0), t->sp), t->frame->local_base);
        return INTERP_NEXT;
    case IR_OP_BAR:
        return interp_barrier(t);
    case IR_OP_WARPSYNC:
    case IR_OP_SHFL:
    case IR_OP_VOTE:
    case IR_OP_MATCH:
    case IR_OP_REDUX:
    case IR_OP_ELECT:
    case IR_OP_MMA:
    case IR_OP_LDMATRIX:
    case IR_OP_STMATRIX:
    case IR_OP_MOVMATRIX:
    case IR_OP_TENSOR_WARP:
        return interp_collective(t);
    case IR_OP_ACTIVEMASK:
        return interp_activemask(t);
    case IR_OP_NANOSLEEP:
        return step_yield();
    case IR_OP_CALL:
        return step_call(t, in->callee, 0);
    case IR_OP_CALLI:
        return step_call_indirect(t);
    case IR_OP_BUILTIN:
        return interp_builtin(t);
    case IR_OP_PROBE:
    case IR_OP_PROBE_ACCESS:
        return interp_probe(t);
    case IR_OP_NOTE:
        return step_note(t);
    case IR_OP_PREFETCH:
    case IR_OP_APPLYPRIORITY:
    case IR_OP_DISCARD:
    case IR_OP_PMEVENT:
    case IR_OP_ASYNC:
        return INTERP_NEXT;
    case IR_OP_BR:
    case IR_OP_CBR:
    case IR_OP_SWITCH:
    case IR_OP_RET:
    case IR_OP_EXIT:
    case IR_OP_TRAP:
    case IR_OP_UNREACHABLE:
        return step_control(t);
    case IR_OP_PHI: /* step_jump() did it on the way in */
    case IR_OP_COUNT:
        break;
    }
    assert(!"an operation");
    return INTERP_NEXT;
}

#undef ROW
#undef ANY
#undef INT
#undef FLT
#undef FLP

void interp_step(struct interp_thread *t)
{
    assert(t->state == INTERP_RUN && t->frame && t->frame->pc);
    t->cta->run->steps++;
    t->cta->run->at = t;
    t->frame->done++;
    if (step_once(t) == INTERP_NEXT)
        t->frame->pc = t->frame->pc->next;
}
