/* Barriers in shared memory (model/mbarrier.h). */
#include "lower/lower_async.h"

#include <assert.h>

#include "model/mbarrier.h"

typedef struct ir_value *val;

/* ---- what may be written */

enum kind { OTHER, ARRIVES, TX, WAITS };

static enum kind kind_of(const struct ptx_form *form)
{
    switch (form->op) {
    case PTX_OP_MBARRIER_ARRIVE:
    case PTX_OP_MBARRIER_ARRIVE_DROP:
        return ARRIVES;
    case PTX_OP_MBARRIER_EXPECT_TX:
    case PTX_OP_MBARRIER_COMPLETE_TX:
        return TX;
    case PTX_OP_MBARRIER_TEST_WAIT:
    case PTX_OP_MBARRIER_TRY_WAIT:
        return WAITS;
    default:
        return OTHER;
    }
}

static bool order_is_known(const struct ptx_form *form)
{
    static const unsigned strong[] = {
        [ARRIVES] = PTX_SEM_RELEASE, [TX] = PTX_SEM_RELAXED, [WAITS] = PTX_SEM_ACQUIRE};
    enum kind kind = kind_of(form);
    if (form->sem == PTX_SEM_NONE)
        return form->scope == PTX_SCOPE_NONE;
    return kind != OTHER && (form->sem == PTX_SEM_RELAXED || form->sem == strong[kind]) &&
           (form->scope == PTX_SCOPE_CTA || form->scope == PTX_SCOPE_CLUSTER);
}

static bool space_is_known(const struct ptx_form *form)
{
    enum ptx_space space = ptx_form_space(form);
    bool remote = kind_of(form) == ARRIVES || kind_of(form) == TX;
    if (form->nspaces > 1)
        return false;
    return space == PTX_SPACE_GENERIC || space == PTX_SPACE_SHARED ||
           space == PTX_SPACE_SHARED_CTA || (remote && space == PTX_SPACE_SHARED_CLUSTER);
}

static bool modifiers_are_known(const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    bool no_complete = ptx_form_has(form, PTX_MOD_NOCOMPLETE);
    bool expects = ptx_form_has(form, PTX_MOD_EXPECT_TX), arrives = kind_of(form) == ARRIVES;
    bool remote = ptx_form_space(form) == PTX_SPACE_SHARED_CLUSTER;
    if (ptx_form_has(form, PTX_MOD_PARITY) && kind_of(form) != WAITS)
        return false;
    if (ptx_form_has(form, PTX_MOD_NOINC) && form->op != PTX_OP_CP_ASYNC_MBARRIER_ARRIVE)
        return false;
    if ((no_complete || expects) && (!arrives || in->nops != 3 || (no_complete && expects)))
        return false;
    return !no_complete || (!remote && form->scope != PTX_SCOPE_CLUSTER);
}

static bool is_known(struct lower_fn *f, const struct ptx_insn *in)
{
    const char *why = NULL;
    if (in->form->ntypes != 1 || ptx_form_type(in->form) != PTX_TYPE_B64)
        why = "a barrier is .b64";
    else if (!space_is_known(in->form))
        why = "a barrier is in shared memory, and waited for in the block's own";
    else if (!order_is_known(in->form))
        why = "this order, or order without scope, does not exist here";
    else if (!modifiers_are_known(in))
        why = "modifiers that do not exist here, or not together";
    if (why)
        lower_fail(f, HD_BAD_PTX, why);
    return !why;
}

/* ---- operations */

static struct ir_instr *emit(struct lower_fn *f, const struct ptx_insn *in,
                             const struct ptx_operand *at, enum ir_mbarrier op, val operand,
                             enum ir_type result)
{
    enum ir_space space = lower_space(ptx_form_space(in->form));
    int64_t offset;
    val src[] = {lower_address(f, at, &space, &offset), operand};
    if (space != IR_SPACE_GENERIC && !ir_space_is_shared(space))
        lower_fail(f, HD_BAD_PTX, "the variable is in another state space");
    struct ir_instr *r = lower_emit(f, IR_OP_MBARRIER, IR_VOID, 2, src, result != IR_VOID);
    r->imm = op;
    r->mem.space = space;
    r->mem.offset = offset;
    r->mem.sem = lower_sem(in->form);
    r->mem.scope = in->form->scope == PTX_SCOPE_NONE ? IR_SCOPE_CTA : lower_scope(in->form);
    if (result != IR_VOID)
        r->dst[0]->type = result;
    return r;
}

/* What others have done is seen with it; bytes are only counted. */
static void report(struct lower_fn *f, const struct lower_memref *p, enum ir_mbarrier op,
                   val operand)
{
    bool arrives = ir_mbarrier_of_cast(op) == IR_MBARRIER_ARRIVE;
    val src[] = {p->address, operand};
    struct ir_instr *r = lower_emit(f, IR_OP_MBARRIER, IR_VOID, 2, src, 0);
    r->imm = op;
    lower_access_set(r, p, 1);
    r->mem.sem = arrives ? IR_SEM_RELEASE : IR_SEM_RELAXED;
    r->mem.scope = IR_SCOPE_CLUSTER;
}

void lower_cast(struct lower_fn *f, const struct ptx_operand *at, enum ptx_space space,
                enum ir_mbarrier op, val ctas, val number)
{
    struct lower_memref p = lower_cluster_memref(f, at, space);
    val wide = lower_fit(f, ctas, IR_U32, IR_B64);
    val high = lower_op2(f, IR_OP_SHL, IR_U64, wide, lower_const(f, IR_B32, 32));
    assert(ir_mbarrier_of_cast(op) != op);
    report(f, &p, op, lower_op2(f, IR_OP_OR, IR_B64, high, number));
}

void lower_complete_tx(struct lower_fn *f, const struct ptx_operand *at, enum ptx_space space,
                       val bytes)
{
    struct lower_memref p = lower_memref_of(f, at, space);
    report(f, &p, IR_MBARRIER_COMPLETE_TX, bytes);
}

void lower_arrive(struct lower_fn *f, const struct ptx_operand *at, enum ptx_space space,
                  val number)
{
    struct lower_memref p = lower_memref_of(f, at, space);
    report(f, &p, IR_MBARRIER_ARRIVE, number);
}

/* A number of arrivals or bytes, as b64; one when there is no operand. */
static val number(struct lower_fn *f, const struct ptx_insn *in, uint32_t at)
{
    if (at >= in->nops)
        return lower_const(f, IR_B64, 1);
    if (in->ops[at].kind != PTX_OPND_INT && !lower_is_reg(f, &in->ops[at], 32))
        lower_fail(f, HD_BAD_PTX, "the number has 32 bits");
    return lower_fit(f, lower_src(f, &in->ops[at], IR_U32), IR_U32, IR_B64);
}

bool lower_do_mbarrier_init(struct lower_fn *f, const struct ptx_insn *in)
{
    if (is_known(f, in))
        emit(f, in, &in->ops[0], IR_MBARRIER_INIT, number(f, in, 1), IR_VOID);
    return true;
}

/* From here on the memory may be used for something else. */
bool lower_do_mbarrier_inval(struct lower_fn *f, const struct ptx_insn *in)
{
    if (is_known(f, in))
        emit(f, in, &in->ops[0], IR_MBARRIER_INVAL, lower_const(f, IR_B64, 0), IR_VOID);
    return true;
}

bool lower_do_mbarrier_tx(struct lower_fn *f, const struct ptx_insn *in)
{
    bool expects = in->form->op == PTX_OP_MBARRIER_EXPECT_TX;
    if (is_known(f, in))
        emit(f, in, &in->ops[0], expects ? IR_MBARRIER_EXPECT_TX : IR_MBARRIER_COMPLETE_TX,
             number(f, in, 1), IR_VOID);
    return true;
}

static const char *arrival_refusal(const struct lower_fn *f, const struct ptx_insn *in)
{
    bool remote = ptx_form_space(in->form) == PTX_SPACE_SHARED_CLUSTER;
    bool sink = in->ops[0].kind == PTX_OPND_SINK;
    const struct ptx_operand *count = in->nops == 3 ? &in->ops[2] : NULL;
    if (in->nops < 2 || (!sink && !lower_is_reg(f, &in->ops[0], 64)) ||
        in->ops[1].kind != PTX_OPND_ADDR)
        return "wants a state of 64 bits or _, and a barrier";
    if (remote && !sink)
        return "arriving at another block gives no state";
    if (count && count->kind == PTX_OPND_INT && !ptx_form_has(in->form, PTX_MOD_EXPECT_TX) &&
        (int64_t)count->u.bits <= 0)
        return "a number of arrivals is positive";
    return NULL;
}

/*
 * mbarrier.arrive[_drop]{.expect_tx} state, [barrier] {, number}. With .noComplete the program
 * promises that the phase does not end.
 */
bool lower_do_mbarrier_arrive(struct lower_fn *f, const struct ptx_insn *in)
{
    bool drops = in->form->op == PTX_OP_MBARRIER_ARRIVE_DROP;
    bool expects = ptx_form_has(in->form, PTX_MOD_EXPECT_TX);
    const char *why = arrival_refusal(f, in);
    if (why)
        lower_fail(f, HD_BAD_PTX, why);
    if (why || !is_known(f, in))
        return true;
    bool used = in->ops[0].kind != PTX_OPND_SINK;
    if (expects)
        emit(f, in, &in->ops[1], IR_MBARRIER_EXPECT_TX, number(f, in, 2), IR_VOID);
    val count = expects ? lower_const(f, IR_B64, 1) : number(f, in, 2);
    struct ir_instr *r = emit(f, in, &in->ops[1], drops ? IR_MBARRIER_DROP : IR_MBARRIER_ARRIVE,
                              count, used ? IR_B64 : IR_VOID);
    if (used)
        lower_dst(f, &in->ops[0], r->dst[0], IR_B64);
    return true;
}

static const char *wait_refusal(const struct lower_fn *f, const struct ptx_insn *in)
{
    bool parity = ptx_form_has(in->form, PTX_MOD_PARITY);
    const struct ptx_operand *phase = &in->ops[2];
    if (!lower_is_reg(f, &in->ops[0], 1))
        return "a test gives a predicate";
    if (phase->kind == PTX_OPND_INT ? parity && phase->u.bits > 1
                                    : !lower_is_reg(f, phase, parity ? 32 : 64))
        return "a phase is a state of 64 bits, or with .parity 0 or 1";
    if (in->nops > 3 && in->ops[3].kind != PTX_OPND_INT && !lower_is_reg(f, &in->ops[3], 32))
        return "the number has 32 bits";
    return NULL;
}

/*
 * mbarrier.{test,try}_wait{.parity} p, [barrier], phase {, time}. A try may give up early, so it is
 * a test: programs go round until it succeeds, and such loops let others run (analysis/spin.c).
 */
bool lower_do_mbarrier_wait(struct lower_fn *f, const struct ptx_insn *in)
{
    bool parity = ptx_form_has(in->form, PTX_MOD_PARITY);
    const char *why = wait_refusal(f, in);
    if (why)
        lower_fail(f, HD_BAD_PTX, why);
    if (why || !is_known(f, in))
        return true;
    enum ir_type t = parity ? IR_U32 : IR_B64;
    val phase = lower_fit(f, lower_src(f, &in->ops[2], t), t, IR_B64);
    struct ir_instr *r = emit(f, in, &in->ops[1],
                              parity ? IR_MBARRIER_TEST_PARITY : IR_MBARRIER_TEST, phase, IR_PRED);
    lower_dst(f, &in->ops[0], r->dst[0], IR_PRED);
    return true;
}

/* mbarrier.pending_count.b64 count, state */
bool lower_do_mbarrier_pending(struct lower_fn *f, const struct ptx_insn *in)
{
    if (in->form->nspaces || ptx_form_type(in->form) != PTX_TYPE_B64) {
        lower_fail(f, HD_BAD_PTX, "a state is .b64, and in a register");
        return true;
    }
    val shift[] = {lower_src(f, &in->ops[1], IR_B64),
                   lower_const(f, IR_B32, IR_MBARRIER_PENDING_AT)};
    val shifted = lower_op(f, IR_OP_SHR, IR_U64, 2, shift);
    val mask[] = {lower_fit(f, shifted, IR_U64, IR_B32),
                  lower_const(f, IR_B32, (1u << IR_MBARRIER_COUNT_BITS) - 1)};
    lower_dst(f, &in->ops[0], lower_op(f, IR_OP_AND, IR_B32, 2, mask), IR_U32);
    return true;
}

/*
 * cp.async.mbarrier.arrive{.noinc}: an arrival when the copies are done, which they are. Without
 * .noinc it was not counted on, so nothing changes; the barrier must be there all the same. Who
 * waits there, waits for the copies.
 */
bool lower_do_mbarrier_copied(struct lower_fn *f, const struct ptx_insn *in)
{
    bool counts = ptx_form_has(in->form, PTX_MOD_NOINC);
    lower_report_async(f, IR_ASYNC_COMMIT, 0);
    lower_report_async(f, IR_ASYNC_WAIT, 0);
    if (is_known(f, in))
        emit(f, in, &in->ops[0], counts ? IR_MBARRIER_ARRIVE : IR_MBARRIER_COMPLETE_TX,
             lower_const(f, IR_B64, counts), IR_VOID);
    return true;
}
