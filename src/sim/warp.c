/* Lanes together, special registers, predicates as bits. */
#include "sim/sim_private.h"

#include <sched.h>

#include "interp/interp_shared.h"
#include "model/eval_private.h"

static void set_ureg(struct sim_warp *w, uint32_t reg, uint32_t value)
{
    if (reg != ISA_URZ)
        w->ureg[reg] = value;
}

static void set_upred(struct sim_warp *w, unsigned pred, bool value)
{
    if (pred != ISA_PT)
        w->upred = (uint8_t)((w->upred & ~(1u << pred)) | (unsigned)value << pred);
}

static bool has_uniform_result(const struct sim_op *op)
{
    return sim_field(op->insn, ISA_FIELD_UD, -1) >= 0;
}

/* One value for all lanes, to registers or a uniform register. */
static void put_alike(struct sim_warp *w, const struct sim_op *op, uint32_t mask, uint32_t value)
{
    if (has_uniform_result(op)) {
        set_ureg(w, op->d, value);
        return;
    }
    SIM_FOR_LANES(lane, mask) w->regs[op->d * SIM_LANES + lane] = value;
}

/* ---- special registers */

static enum ir_sreg sreg_of(int64_t number)
{
    switch (number) {
#define SR(n, name)                                                                                \
    case n:                                                                                        \
        return IR_SREG_##name;
#include "isa/sregs.def"
#undef SR
    default:
        return IR_SREG_COUNT;
    }
}

static bool is_tid(enum ir_sreg sreg)
{
    return sreg >= IR_SREG_TID_X && sreg <= IR_SREG_TID_Z;
}

static bool is_alike(enum ir_sreg sreg)
{
    return sreg != IR_SREG_LANEID && !is_tid(sreg) && sreg != IR_SREG_LANEMASK_EQ &&
           sreg != IR_SREG_LANEMASK_LT && sreg != IR_SREG_LANEMASK_LE &&
           sreg != IR_SREG_LANEMASK_GT && sreg != IR_SREG_LANEMASK_GE;
}

enum sim_step sim_exec_s2r(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const struct sim_run *run = w->run;
    const struct sim_cta *cta = w->cta;
    enum ir_sreg sreg = sreg_of(sim_field(op->insn, ISA_FIELD_SR, 0));
    unsigned leader = (unsigned)__builtin_ctz(mask);
    uint32_t tid[3] = {0};
    struct interp_thread_ids ids = {.launch = run->launch,
                                    .cluster = run->cluster,
                                    .ctaid = cta->id,
                                    .tid = tid,
                                    .lane = leader,
                                    .warp = w->index,
                                    .nwarps = cta->nwarps,
                                    .smid = cta->smid,
                                    .rank = cta->rank,
                                    .steps = run->steps,
                                    .shared_B = run->shared_B};
    bool alike = is_alike(sreg) || has_uniform_result(op);
    uint64_t value = 0;

    SIM_FOR_LANES(lane, mask)
    {
        uint32_t *d = w->regs + op->d * SIM_LANES + lane;

        if (lane == leader || !alike) {
            ids.lane = lane;
            if (is_tid(sreg))
                ir_thread_index(run->launch->block, w->index * SIM_LANES + lane, tid);
            value = interp_sreg_at(&ids, sreg);
        }
        if (has_uniform_result(op)) {
            set_ureg(w, op->d, (uint32_t)value);
            return SIM_NEXT;
        }
        for (unsigned k = 0; k < op->nd; k++)
            d[k * SIM_LANES] = (uint32_t)(value >> 32 * k);
    }
    return SIM_NEXT;
}

/* ---- votes */

enum sim_step sim_exec_vote(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    enum { ALL, ANY, EQ };
    uint32_t votes = mask & sim_pred(w, op, op->pa, op->pa_not);
    unsigned how = isa_mod_value(op->insn, ISA_MOD_VOTE);
    bool answer = how == ALL   ? votes == mask
                  : how == ANY ? votes != 0
                               : votes == 0 || votes == mask;

    put_alike(w, op, mask, votes);
    if (has_uniform_result(op))
        set_upred(w, op->pd, answer);
    else
        sim_set_pred(w, op, op->pd, mask, answer ? UINT32_MAX : 0);
    return SIM_NEXT;
}

static int shfl_from(unsigned how, int lane, int b, uint32_t c, bool *out_valid)
{
    enum { IDX, UP, DOWN, BFLY };
    int segment = (int)(c >> 8 & 31), bound = (lane & segment) | (int)(c & 31 & ~c >> 8);
    int from;

    switch (how) {
    case UP:
        from = lane - b;
        break;
    case DOWN:
        from = lane + b;
        break;
    case BFLY:
        from = lane ^ b;
        break;
    default:
        from = (lane & segment) | (b & ~segment);
        break;
    }
    *out_valid = how == UP ? from >= bound : from <= bound;
    return *out_valid ? from : lane;
}

enum sim_step sim_exec_shfl(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const uint32_t *a = sim_src_rows(w, op, 0), *b = sim_src_rows(w, op, 1);
    const uint32_t *c = sim_src_rows(w, op, 2);
    uint32_t lane_number = (uint32_t)sim_field(op->insn, ISA_FIELD_LANE, 0);
    uint32_t lanes = (uint32_t)sim_field(op->insn, ISA_FIELD_LANES, 0), valid_lanes = 0;
    unsigned how = isa_mod_value(op->insn, ISA_MOD_SHFL);

    SIM_FOR_LANES(lane, mask)
    {
        uint32_t distance = op->insn->op == ISA_SHFL_I ? lane_number : b[lane] & 31;
        bool valid;
        int from = shfl_from(how, (int)lane, (int)distance,
                             op->insn->op == ISA_SHFL_R ? c[lane] : lanes, &valid);
        /* A source that does not take part is undefined in PTX: the lane keeps its own value. */
        bool present = from >= 0 && from < SIM_LANES && (mask >> from & 1);

        w->scratch[0][lane] = a[present ? (unsigned)from : lane];
        valid_lanes |= (uint32_t)valid << lane;
    }
    sim_blend(w, w->regs + op->d * SIM_LANES, w->scratch[0], 1, mask);
    sim_set_pred(w, op, op->pd, mask, valid_lanes);
    return SIM_NEXT;
}

enum sim_step sim_exec_match(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const uint32_t *a = sim_src_rows(w, op, 0);
    bool wide = op->src[0].n > 1, all_mode = isa_mod_value(op->insn, ISA_MOD_MATCH);
    uint32_t all_lanes = 0;

    SIM_FOR_LANES(lane, mask)
    {
        uint32_t same = 0;

        SIM_FOR_LANES(other, mask)
        if (a[other] == a[lane] && (!wide || a[SIM_LANES + other] == a[SIM_LANES + lane]))
            same |= 1u << other;
        all_lanes |= (uint32_t)(same == mask) << lane;
        w->scratch[0][lane] = all_mode && same != mask ? 0 : same;
    }
    sim_blend(w, w->regs + op->d * SIM_LANES, w->scratch[0], 1, mask);
    sim_set_pred(w, op, op->pd, mask, all_lanes);
    return SIM_NEXT;
}

enum sim_step sim_exec_redux(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    enum { U32, S32, F32, F32_NAN };
    const uint32_t *a = sim_src_rows(w, op, 0);
    unsigned type = isa_mod_value(op->insn, ISA_MOD_REDUX_TYPE);
    enum ir_redux what = (enum ir_redux)isa_mod_value(op->insn, ISA_MOD_REDUX);
    uint32_t clear = isa_mod_value(op->insn, ISA_MOD_REDUX_ABS) ? 1u << 31 : 0;
    struct ir_instr in = {.type = IR_F32, .mods = type == F32_NAN ? (uint32_t)IR_MOD_NAN : 0};
    const struct ir_fp f = {&in, ir_fp_format(IR_F32), HD_FP_RN, false};
    unsigned first = (unsigned)__builtin_ctz(mask);
    uint32_t r = a[first] & ~clear;

    if (type == F32_NAN || type == F32)
        r = (uint32_t)ir_fp_min(&f, r, r, what == IR_REDUX_MAX); /* one NaN alone is canonical */
    SIM_FOR_LANES(lane, mask & (mask - 1))
    {
        uint32_t x = a[lane] & ~clear;

        if (type == F32 || type == F32_NAN)
            r = (uint32_t)ir_fp_min(&f, r, x, what == IR_REDUX_MAX);
        else
            r = ir_eval_redux(what, type == S32 ? IR_S32 : IR_U32, r, x);
    }
    put_alike(w, op, mask, r);
    return SIM_NEXT;
}

enum sim_step sim_exec_elect(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    put_alike(w, op, mask, (uint32_t)__builtin_ctz(mask));
    sim_set_pred(w, op, op->pd, mask, mask & (0 - mask));
    return SIM_NEXT;
}

/* ---- predicates and uniform registers */

static uint32_t predicates_of(const struct sim_warp *w, const struct sim_op *op, unsigned lane)
{
    uint32_t bits = 0;

    if (op->is_uniform)
        return w->upred & 127u;
    for (unsigned p = 0; p < ISA_PT; p++)
        bits |= (w->pred[p] >> lane & 1) << p;
    return bits;
}

enum sim_step sim_exec_p2r(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    unsigned at = 8 * isa_mod_value(op->insn, ISA_MOD_BYTE);
    const uint32_t *a, *b;

    if (op->has_uniform_source && !sim_fetch_uniform(w, op, mask))
        return SIM_STOP;
    a = sim_src_rows(w, op, 0);
    b = sim_src_rows(w, op, 1);
    SIM_FOR_LANES(lane, mask)
    {
        uint32_t named = (b[lane] & 255) << at;
        uint32_t value = (a[lane] & ~named) | ((predicates_of(w, op, lane) << at) & named);

        if (op->is_uniform)
            set_ureg(w, op->d, value);
        else
            w->scratch[0][lane] = value;
    }
    if (!op->is_uniform)
        sim_blend(w, w->regs + op->d * SIM_LANES, w->scratch[0], 1, mask);
    return SIM_NEXT;
}

enum sim_step sim_exec_r2p(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    unsigned at = 8 * isa_mod_value(op->insn, ISA_MOD_BYTE);
    const uint32_t *a, *b;

    if (op->has_uniform_source && !sim_fetch_uniform(w, op, mask))
        return SIM_STOP;
    a = sim_src_rows(w, op, 0);
    b = sim_src_rows(w, op, 1);
    SIM_FOR_LANES(lane, mask)
    for (unsigned p = 0; p < ISA_PT; p++)
        if (b[lane] >> p & 1)
            sim_set_pred(w, op, p, 1u << lane, a[lane] >> at >> p & 1 ? UINT32_MAX : 0);
    return SIM_NEXT;
}

enum sim_step sim_exec_r2ur(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const uint32_t *a = sim_src_rows(w, op, 0);
    uint32_t value = a[__builtin_ctz(mask)];
    bool same = true;

    SIM_FOR_LANES(lane, mask) same = same && a[lane] == value;
    set_ureg(w, op->d, value);
    sim_set_pred(w, op, op->pd, mask, same ? UINT32_MAX : 0);
    return SIM_NEXT;
}

/* Others have their turn. */
enum sim_step sim_exec_nanosleep(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    (void)op, (void)mask;
    sched_yield();
    sim_group_of(w)->pc++;
    return SIM_STOP;
}
