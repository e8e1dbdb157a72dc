/*
 * Clusters: their addresses and their barrier, and what says how grids and warps share the machine.
 */
#include "lower/lower_async.h"

typedef struct ir_value *val;

/* ---- addresses of other blocks: their rank is in bits of its own (struct ir_window) */

/* Fails for .u32 without a space: a generic address does not fit. */
static bool takes_address(struct lower_fn *f, const struct ptx_insn *in)
{
    bool fits = in->form->nspaces || lower_form_type(in) == IR_U64;
    if (!fits)
        lower_fail_form(f, "generic addresses have 64 bits");
    return fits;
}

/* The operand as an address of .shared::cluster. */
static val window_address(struct lower_fn *f, const struct ptx_insn *in,
                          const struct ptx_operand *op)
{
    val a = lower_src(f, op, lower_form_type(in));
    if (in->form->nspaces || op->kind == PTX_OPND_SYM)
        return a;
    struct ir_instr *r = lower_emit(f, IR_OP_CVTA_TO, IR_VOID, 1, &a, 1);
    r->mem.space = IR_SPACE_SHARED_CLUSTER;
    return r->dst[0];
}

/* mapa d, a, rank: where block `rank` has what a block has at a. */
bool lower_do_mapa(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_type t = lower_form_type(in);
    if (!takes_address(f, in))
        return true;
    val mask = lower_const(f, t, IR_CLUSTER_STRIDE_B - 1);
    val offset = lower_op2(f, IR_OP_AND, t, window_address(f, in, &in->ops[1]), mask);
    val rank = lower_fit(f, lower_src(f, &in->ops[2], IR_U32), IR_U32, t);
    rank = lower_op2(f, IR_OP_SHL, t, rank, lower_const(f, IR_B32, IR_CLUSTER_SHIFT));
    struct lower_memref at = {.address = lower_op2(f, IR_OP_ADD, t, offset, rank),
                              .space = IR_SPACE_SHARED_CLUSTER};
    lower_dst(f, &in->ops[0], in->form->nspaces ? at.address : lower_generic(f, &at), t);
    return true;
}

bool lower_do_getctarank(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_type t = lower_form_type(in);
    if (!takes_address(f, in))
        return true;
    val shift = lower_const(f, IR_B32, IR_CLUSTER_SHIFT);
    val rank = lower_op2(f, IR_OP_SHR, t, window_address(f, in, &in->ops[1]), shift);
    lower_dst(f, &in->ops[0], lower_fit(f, rank, t, IR_B32), IR_U32);
    return true;
}

/* ---- barrier.cluster */

static struct ir_instr *cluster_fence(struct lower_fn *f, enum ir_sem sem)
{
    struct ir_instr *r = lower_emit(f, IR_OP_FENCE, IR_VOID, 0, NULL, 0);
    r->mem.sem = sem;
    r->mem.scope = IR_SCOPE_CLUSTER;
    return r;
}

bool lower_do_cluster_arrive(struct lower_fn *f, const struct ptx_insn *in)
{
    unsigned sem = in->form->sem;
    if (sem != PTX_SEM_NONE && sem != PTX_SEM_RELEASE && sem != PTX_SEM_RELAXED)
        lower_fail(f, HD_BAD_PTX, "who arrives releases, or is .relaxed");
    if (sem != PTX_SEM_RELAXED)
        cluster_fence(f, IR_SEM_RELEASE);
    lower_emit(f, IR_OP_BAR, IR_VOID, 0, NULL, 0)->imm = IR_BAR_CLUSTER_ARRIVE;
    return true;
}

bool lower_do_cluster_wait(struct lower_fn *f, const struct ptx_insn *in)
{
    if (in->form->sem != PTX_SEM_NONE && in->form->sem != PTX_SEM_ACQUIRE)
        lower_fail(f, HD_BAD_PTX, "who waits acquires");
    lower_emit(f, IR_OP_BAR, IR_VOID, 0, NULL, 0)->imm = IR_BAR_CLUSTER_WAIT;
    return true;
}

/* ---- grids and warps */

/* A grid starts when those before it are over: nothing is waited for, and nobody let go. */
bool lower_do_griddepcontrol(struct lower_fn *f, const struct ptx_insn *in)
{
    bool waits = ptx_form_has(in->form, PTX_MOD_WAIT);
    if (waits == ptx_form_has(in->form, PTX_MOD_LAUNCH_DEPENDENTS))
        lower_fail(f, HD_BAD_PTX, "it is .wait or .launch_dependents");
    else if (waits)
        cluster_fence(f, IR_SEM_ACQUIRE)->mem.scope = IR_SCOPE_GPU;
    return true;
}

/* Threads have all registers that they want. */
bool lower_do_setmaxnreg(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    uint64_t n = in->ops[0].kind == PTX_OPND_INT ? in->ops[0].u.bits : 0;
    if ((form->subop != PTX_SUBOP_INC && form->subop != PTX_SUBOP_DEC) || !form->sync ||
        !form->aligned)
        lower_fail(f, HD_BAD_PTX, "it is .inc or .dec, .sync.aligned");
    else if (n < 24 || n > 256 || n % 8)
        lower_fail(f, HD_BAD_PTX, "the number is 24 to 256, a multiple of 8");
    return true;
}

/* ---- clusterlaunchcontrol: a request for another block's work, which nobody grants */

enum { ANSWER_B = 16 };

static void give_answer(struct lower_fn *f, const struct ptx_insn *in, enum ptx_space space)
{
    struct lower_memref at = lower_memref_of(f, &in->ops[0], space);
    val zero = lower_const(f, IR_B64, 0);
    val ops[] = {at.address, zero, zero};
    lower_access_set(lower_emit(f, IR_OP_ST, IR_B64, 3, ops, 0), &at, 2);
    lower_complete_tx(f, &in->ops[1], space, lower_const(f, IR_B64, ANSWER_B));
}

/* try_cancel [answer], [barrier]: 16 bytes, all zero, of which the barrier hears. */
bool lower_do_try_cancel(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    enum ptx_space space = ptx_form_space(form);
    if (form->nspaces > 1 || (form->nspaces && space != PTX_SPACE_SHARED_CTA) ||
        ptx_form_type(form) != PTX_TYPE_B128 || !ptx_form_has(form, PTX_MOD_ASYNC) ||
        !ptx_form_has(form, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES)) {
        lower_fail(f, HD_BAD_PTX, "it tells an mbarrier in shared memory, about 16 bytes there");
        return true;
    }
    if (ptx_form_has(form, PTX_MOD_MULTICAST_CLUSTER_ALL)) {
        /* In every CTA of the cluster, at the same places. */
        struct lower_memref at = lower_cluster_memref(f, &in->ops[0], space);
        val one = lower_const(f, IR_B32, 1), n = ir_build_sreg(&f->b, IR_SREG_CLUSTER_NCTARANK);
        val ctas = lower_op2(f, IR_OP_SUB, IR_B32, lower_op2(f, IR_OP_SHL, IR_U32, one, n), one);
        lower_zeros_cast(f, &at, ctas);
        lower_cast(f, &in->ops[1], space, IR_MBARRIER_CAST_TX, ctas,
                   lower_const(f, IR_B64, ANSWER_B));
    } else
        give_answer(f, in, space);
    return true;
}

/* Word 0: was a block taken over? Words 1 to 3: which. */
static val answer_word(struct lower_fn *f, val answer, unsigned word)
{
    struct ir_instr *r = lower_emit(f, IR_OP_UNPACK, IR_B32, 1, &answer, 1);
    r->imm = word;
    return r->dst[0];
}

static bool query_first(struct lower_fn *f, const struct ptx_insn *in, val answer)
{
    const struct ptx_operand *to = &in->ops[0];
    if (to->kind != PTX_OPND_VEC || to->nitems != 4 || in->form->vec != 4)
        return false;
    for (unsigned i = 0; i < 4; i++)
        lower_dst(f, &to->items[i],
                  i < 3 ? answer_word(f, answer, 1 + i) : lower_const(f, IR_B32, 0), IR_B32);
    return true;
}

bool lower_do_query_cancel(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    static const enum ptx_mod parts[] = {PTX_MOD_GET_FIRST_CTAID_X, PTX_MOD_GET_FIRST_CTAID_Y,
                                         PTX_MOD_GET_FIRST_CTAID_Z};
    bool asks = ptx_form_has(form, PTX_MOD_IS_CANCELED);
    bool known = form->ntypes == 2 && form->types[1] == PTX_TYPE_B128 &&
                 form->types[0] == (asks ? PTX_TYPE_PRED : PTX_TYPE_B32);
    val answer = known ? lower_src(f, &in->ops[1], IR_B128) : NULL;
    if (known && asks) {
        lower_dst(f, &in->ops[0], lower_is_not_zero(f, answer_word(f, answer, 0)), IR_PRED);
        return true;
    }
    for (unsigned i = 0; known && i < 3; i++) {
        if (ptx_form_has(form, parts[i])) {
            lower_dst(f, &in->ops[0], answer_word(f, answer, 1 + i), IR_B32);
            return true;
        }
    }
    if (!known || !ptx_form_has(form, PTX_MOD_GET_FIRST_CTAID) || !query_first(f, in, answer))
        lower_fail(f, HD_BAD_PTX, "it asks for a predicate, or words, of 128 bits");
    return true;
}
