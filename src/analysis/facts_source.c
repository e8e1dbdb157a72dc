/* Ranges of what has no sources: constants, special registers, addresses. */
#include "analysis/facts_impl.h"

struct facts_range facts_rule_const(const struct facts_op *o)
{
    return facts_exactly_of(o->in->imm, o->w);
}

struct facts_range facts_rule_undef(const struct facts_op *o)
{
    return facts_exactly_of(0, o->w);
}

struct facts_range facts_rule_sreg(const struct facts_op *o)
{
    return o->f ? o->f->sregs[o->in->imm] : facts_any_of(o->w);
}

/* Threads of a block that a launch may have, the greatest product of the three sizes: launches of
 * more are refused (core/stream/launch_check.c). */
static uint64_t threads_max(const struct ir_func *func)
{
    const uint32_t *n = func->reqntid[0] ? func->reqntid : func->maxntid;
    const uint64_t threads = (uint64_t)n[0] * HD_MAX(n[1], 1u) * HD_MAX(n[2], 1u);
    return func->is_kernel && threads && threads < 1024 ? threads : 1024;
}

/* Technical specifications per compute capability, CUDA C++ Programming Guide. */
static struct facts_range bounded(uint64_t least, uint64_t most, uint64_t multiple)
{
    struct facts_range r = facts_any_of(32);
    r.least = least;
    r.most = most;
    r.zeros |= multiple - 1;
    return facts_closed(r, 32);
}

struct facts_range facts_sreg_range(const struct ir_func *func, struct ir_launch_facts l,
                                    enum ir_sreg sreg)
{
    const uint64_t threads = threads_max(func);
    const bool one_d = l.extents == IR_BLOCK_1D;
    const uint64_t row = l.extents == IR_BLOCK_X32 || (one_d && l.full)          ? 32
                         : l.extents == IR_BLOCK_X16 || l.extents == IR_BLOCK_16 ? 16
                                                                                 : 1;
    const bool one_row = l.extents == IR_BLOCK_16 || (l.extents == IR_BLOCK_X32 && l.warps > 1);
    switch (sreg) {
    case IR_SREG_TID_X:
        return bounded(0, one_row ? row - 1 : HD_MAX(threads, row) - 1, 1);
    case IR_SREG_TID_Y:
        return bounded(0, one_d ? 0 : threads - 1, 1);
    case IR_SREG_TID_Z:
        return bounded(0, one_d ? 0 : HD_MIN(threads, 64u) - 1, 1);
    case IR_SREG_NTID_X:
        return one_row ? bounded(row, row, 1) : bounded(row, HD_MAX(threads, row), row);
    case IR_SREG_NTID_Y:
        return bounded(1, one_d ? 1 : threads, 1);
    case IR_SREG_NTID_Z:
        return bounded(1, one_d ? 1 : HD_MIN(threads, 64u), 1);
    case IR_SREG_LANEID:
    case IR_SREG_WARPID:
        return bounded(0, 31, 1);
    case IR_SREG_NWARPID:
        return bounded(0, 32, 1);
    case IR_SREG_CTAID_X:
    case IR_SREG_NCTAID_X:
        return bounded(sreg == IR_SREG_NCTAID_X, INT32_MAX, 1);
    case IR_SREG_CTAID_Y:
    case IR_SREG_CTAID_Z:
        return bounded(0, UINT16_MAX, 1);
    case IR_SREG_NCTAID_Y:
    case IR_SREG_NCTAID_Z:
        return bounded(1, UINT16_MAX, 1);
    case IR_SREG_CLUSTER_CTARANK:
        return bounded(0, IR_CLUSTER_MAX_CTAS - 1, 1);
    case IR_SREG_CLUSTER_NCTARANK:
        return bounded(0, IR_CLUSTER_MAX_CTAS, 1);
    default:
        return facts_any_of(HD_MIN(ir_type_bits(ir_sreg_type(sreg)), 64u));
    }
}

/* Offsets in windows are below all numbers that matter; what is global lies anywhere. */
struct facts_range facts_rule_varaddr(const struct facts_op *o)
{
    const struct ir_var *var = o->in->var;
    const uint64_t align = HD_MAX(var->align_B, 1u);
    struct facts_range base = facts_any_of(64);
    if (ir_space_is_shared(var->space) || var->space == IR_SPACE_LOCAL)
        base.most = INT32_MAX >> 1;
    if (hd_is_pow2(align))
        base.zeros |= align - 1;
    base = facts_closed(base, 64);
    return facts_shifted(&base, (int64_t)o->in->imm, 64);
}

/* Windows start at multiples of IR_WINDOW_ALIGN_B. */
static struct facts_range from_window(const struct facts_op *o)
{
    const struct facts_range *a = &o->src[0];
    const uint64_t below = IR_WINDOW_ALIGN_B - 1;
    if (!ir_space_is_window(o->in->mem.space))
        return o->sw == 64 ? *a : facts_of_bits(a->zeros & facts_mask(o->sw), a->ones, 64);
    return facts_of_bits(a->zeros & below, a->ones & below, 64);
}

struct facts_range facts_rule_cvta(const struct facts_op *o)
{
    return from_window(o);
}

struct facts_range facts_rule_cvta_to(const struct facts_op *o)
{
    return from_window(o);
}

struct facts_range facts_rule_stack(const struct facts_op *o)
{
    struct facts_range r = facts_any_of(64);
    if (o->in->imm && hd_is_pow2(o->in->imm) && o->in->imm <= IR_LOCAL_ALIGN_MAX_B)
        r.zeros |= o->in->imm - 1;
    return facts_closed(r, 64);
}
