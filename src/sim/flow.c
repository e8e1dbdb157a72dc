/* Instructions of control flow: branches, calls, where lanes meet again, and the end. */
#include "sim/sim_private.h"

static enum sim_step step_of_current(const struct sim_warp *w)
{
    return w->ngroups && w->groups[w->current].wait == SIM_RUNS ? SIM_JUMPED : SIM_STOP;
}

enum sim_step sim_exec_bssy(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint32_t *held = w->barriers[op->insn->operands[0].value];

    SIM_FOR_LANES(lane, mask) held[lane] = mask;
    return SIM_NEXT;
}

enum sim_step sim_exec_bsync(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint32_t barrier = (uint32_t)op->insn->operands[0].value, held = 0;
    uint32_t lanes = mask & sim_pred(w, op, op->pa, op->pa_not);

    if (!lanes)
        return SIM_NEXT;
    SIM_FOR_LANES(lane, lanes) held |= w->barriers[barrier][lane] & w->live;
    if (lanes == sim_group_of(w)->mask && !(held & ~lanes)) { /* all are here */
        sim_lanes_let_go(w, barrier, lanes);
        return SIM_NEXT;
    }
    if (sim_lanes_wait(w, lanes, SIM_AT_BSYNC, barrier) == SIM_NEXT) {
        sim_group_of(w)->pc++;
        sim_groups_settle(w);
        return step_of_current(w);
    }
    sim_groups_settle(w);
    return step_of_current(w);
}

enum sim_step sim_exec_break(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint32_t barrier = (uint32_t)op->insn->operands[0].value;
    uint32_t lanes = mask & sim_pred(w, op, op->pa, op->pa_not);
    bool all = isa_mod_value(op->insn, ISA_MOD_BREAK_KIND);

    if (!lanes)
        return SIM_NEXT;
    for (uint32_t b = all ? 0 : barrier; b <= (all ? 15 : barrier); b++) {
        uint32_t *held = w->barriers[b], members = 0;

        SIM_FOR_LANES(lane, lanes) members |= held[lane];
        SIM_FOR_LANES(lane, members) held[lane] &= ~lanes;
        SIM_FOR_LANES(lane, lanes) held[lane] = 0;
    }
    sim_group_of(w)->pc++;
    sim_groups_settle(w);
    return step_of_current(w);
}

enum sim_step sim_exec_bmov(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint32_t *held = w->barriers[sim_field(op->insn, ISA_FIELD_HELD, 0)];
    uint32_t *d = w->regs + op->d * SIM_LANES;
    const uint32_t *b = sim_src_rows(w, op, 1);

    if (isa_mod_value(op->insn, ISA_MOD_BARRIER_MOVE)) {
        sim_blend(w, held, b, 1, mask);
        return SIM_NEXT;
    }
    SIM_FOR_LANES(lane, mask) d[lane] = held[lane] & w->live;
    return SIM_NEXT;
}

/* Lanes with different masks wait for different meetings. */
enum sim_step sim_exec_warpsync(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const uint32_t *b;
    enum sim_step step = SIM_NEXT;

    if (op->has_uniform_source && !sim_fetch_uniform(w, op, mask))
        return SIM_STOP;
    b = sim_src_rows(w, op, 1);
    for (uint32_t left = mask; left;) {
        unsigned first = (unsigned)__builtin_ctz(left);
        uint32_t want = b[first] | 1u << first, same = 0;

        SIM_FOR_LANES(lane, left) same |= (uint32_t)((b[lane] | 1u << lane) == want) << lane;
        left &= ~same;
        if (same == mask && same == sim_group_of(w)->mask && !(want & w->live & ~same))
            return SIM_NEXT; /* all are here */
        step = sim_lanes_wait(w, same, SIM_AT_WARPSYNC, want);
    }
    if (step == SIM_NEXT)
        sim_group_of(w)->pc++;
    sim_groups_settle(w);
    return step_of_current(w);
}

/* ---- branches */

static enum sim_step branch(struct sim_warp *w, uint32_t lanes, uint32_t pc)
{
    struct sim_group *g = sim_group_of(w);

    if (!lanes)
        return SIM_NEXT;
    if (lanes == g->mask) {
        g->pc = pc;
        return SIM_JUMPED;
    }
    sim_group_split(w, w->current, lanes)->pc = pc;
    return SIM_NEXT;
}

enum sim_step sim_exec_bra(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint32_t lanes = mask & sim_pred(w, op, op->pa, op->pa_not);

    if (op->target > w->run->program->nops)
        return sim_fail(w, (unsigned)__builtin_ctz(mask), HD_ILLEGAL_ADDRESS,
                        "branch out of the code");
    return branch(w, lanes, op->target);
}

/* Each lane to its own address; those that go to the same go together. */
static enum sim_step branch_to(struct sim_warp *w, uint32_t mask,
                               const uint64_t addresses[SIM_LANES], const char *what)
{
    uint32_t nops = w->run->program->nops;

    for (uint32_t left = mask; left;) {
        unsigned first = (unsigned)__builtin_ctz(left);
        uint64_t address = addresses[first];
        uint32_t same = 0;

        if (address % ISA_WORD_BYTES || !address || address / ISA_WORD_BYTES >= nops)
            return sim_fail(w, first, HD_ILLEGAL_ADDRESS, "%s %#llx, where no code is", what,
                            (unsigned long long)address);
        SIM_FOR_LANES(lane, left) same |= (uint32_t)(addresses[lane] == address) << lane;
        left &= ~same;
        if (branch(w, same, (uint32_t)(address / ISA_WORD_BYTES)) == SIM_JUMPED)
            return SIM_JUMPED;
    }
    return SIM_NEXT;
}

static void pair_addresses(const struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                           uint64_t add, uint64_t out[SIM_LANES])
{
    const uint32_t *a = sim_src_rows(w, op, 0);

    SIM_FOR_LANES(lane, mask) out[lane] = sim_pair(a, lane) + add;
}

enum sim_step sim_exec_brx(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint64_t next = (uint64_t)(sim_group_of(w)->pc + 1) * ISA_WORD_BYTES, to[SIM_LANES];

    pair_addresses(w, op, mask, next + (uint64_t)sim_field(op->insn, ISA_FIELD_OFFSET32, 0), to);
    return branch_to(w, mask, to, "branch to");
}

enum sim_step sim_exec_jmx(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint64_t to[SIM_LANES];

    pair_addresses(w, op, mask, (uint64_t)sim_field(op->insn, ISA_FIELD_OFFSET32, 0), to);
    return branch_to(w, mask, to, "branch to");
}

static void put_address(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                        uint64_t address)
{
    uint32_t *d = w->regs + op->d * SIM_LANES;

    SIM_FOR_LANES(lane, mask)
    {
        d[lane] = (uint32_t)address;
        d[SIM_LANES + lane] = (uint32_t)(address >> 32);
    }
}

enum sim_step sim_exec_call(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    put_address(w, op, mask, (uint64_t)(sim_group_of(w)->pc + 1) * ISA_WORD_BYTES);
    if (op->target >= w->run->program->nops)
        return sim_fail(w, (unsigned)__builtin_ctz(mask), HD_ILLEGAL_ADDRESS,
                        "call out of the code");
    return branch(w, mask, op->target);
}

enum sim_step sim_exec_call_ind(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint64_t to[SIM_LANES];

    pair_addresses(w, op, mask, 0, to);
    put_address(w, op, mask, (uint64_t)(sim_group_of(w)->pc + 1) * ISA_WORD_BYTES);
    return branch_to(w, mask, to, "indirect call through");
}

enum sim_step sim_exec_ret(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint64_t to[SIM_LANES];

    pair_addresses(w, op, mask, 0, to);
    return branch_to(w, mask, to, "return to");
}

enum sim_step sim_exec_lepc(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    put_address(w, op, mask, (uint64_t)op->target * ISA_WORD_BYTES);
    return SIM_NEXT;
}

enum sim_step sim_exec_exit(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint32_t lanes = mask & sim_pred(w, op, op->pa, op->pa_not);
    struct sim_group *g = sim_group_of(w);

    if (!lanes)
        return SIM_NEXT;
    w->live &= ~lanes;
    g->mask &= ~lanes;
    if (g->mask)
        g->pc++;
    else
        sim_group_remove(w, w->current);
    sim_groups_settle(w);
    sim_lanes_gone(w, lanes);
    return step_of_current(w);
}

enum sim_step sim_exec_yield(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    if (!(mask & sim_pred(w, op, op->pa, op->pa_not)))
        return SIM_NEXT;
    sim_group_of(w)->pc++;
    return SIM_STOP;
}

enum sim_step sim_exec_nop(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    (void)w, (void)op, (void)mask;
    return SIM_NEXT;
}

enum sim_step sim_exec_bpt(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    enum { TRAP, BREAKPOINT, ASSERT, STACK };
    unsigned lane = (unsigned)__builtin_ctz(mask);
    int64_t number = sim_field(op->insn, ISA_FIELD_IMM16, 0);

    switch (isa_mod_value(op->insn, ISA_MOD_TRAP_KIND)) {
    case BREAKPOINT:
        return sim_fail(w, lane, HD_TRAP, "breakpoint");
    case ASSERT:
        return sim_fail(w, lane, HD_ASSERT, "assertion failed");
    case STACK:
        return sim_fail(w, lane, HD_STACK_OVERFLOW, "stack of %llu bytes overflows",
                        (unsigned long long)w->run->local_B);
    default:
        return sim_fail(w, lane, HD_TRAP,
                        number == ISA_TRAP_UNREACHABLE ? "reached code marked unreachable"
                                                       : "trap");
    }
}

enum sim_step sim_exec_end(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    (void)op;
    return sim_fail(w, (unsigned)__builtin_ctz(mask), HD_ILLEGAL_ADDRESS,
                    "execution behind the end of the code");
}
