/* What lanes of a warp do together: which space an access is in, and what it adds to counters. */
#include <assert.h>

#include "count/private.h"
#include "model/multimem.h"

enum { LANE_MAX_B = 16 /* that a lane copies by cp.async */ };

struct access {
    struct count_cta *cta;
    uint32_t instr, warp;
    bool is_atomic;
};

static void in_space(const struct access *by, enum ir_count_space space, uint32_t lanes,
                     uint64_t size_B, const uint64_t *address)
{
    const struct ir_module *m = count_module(by->cta->launch);
    const struct ir_count_access access = {
        .words = by->cta->slab->words + ir_count_access_word(m, by->instr, space),
        .space = space,
        .is_atomic = by->is_atomic,
        .lanes = lanes,
        .size_B = size_B,
        .address = address,
    };

    assert(by->instr < m->counted.len && space < IR_COUNT_SPACES);
    if (lanes && size_B)
        ir_count_access(&access);
}

static uint64_t va(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static uint64_t shared_B(const struct count_launch *launch)
{
    const uint32_t *c = launch->about.cluster;
    uint64_t ctas = (uint64_t)c[0] * c[1] * c[2];

    return ctas > 1 ? ctas * IR_CLUSTER_STRIDE_B : HD_MAX(launch->about.shared_B, 1u);
}

static uint32_t rank_of(const struct count_cta *cta)
{
    const uint32_t *c = cta->launch->about.cluster;
    const uint32_t *id = cta->base->ctaid;

    assert(c[0] && c[1] && c[2]);
    return (id[2] % c[2] * c[1] + id[1] % c[1]) * c[0] + id[0] % c[0];
}

/* Where the windows of the CTA's cluster may begin. */
static uint64_t shared_va(const struct count_cta *cta)
{
    return va(cta->base->shared) - rank_of(cta) * IR_CLUSTER_STRIDE_B;
}

static uint64_t local_B(const struct count_cta *cta)
{
    return cta->base->local ? cta->base->local_B * cta->launch->nthreads : 0;
}

/* Of an offset from the window of rank 0. */
static enum ir_count_space shared_space(const struct count_cta *cta, uint64_t offset)
{
    const uint32_t *c = cta->launch->about.cluster;
    bool is_other = c[0] * c[1] * c[2] > 1 && offset >> IR_CLUSTER_SHIFT != rank_of(cta);

    return is_other ? IR_COUNT_IN_CLUSTER : IR_COUNT_IN_SHARED;
}

enum ir_count_space count_space_of(const struct count_cta *cta, uint64_t address)
{
    uint64_t from_shared = address - shared_va(cta);

    if (from_shared < shared_B(cta->launch))
        return shared_space(cta, from_shared);
    return address - va(cta->base->local) < local_B(cta) ? IR_COUNT_IN_LOCAL : IR_COUNT_IN_GLOBAL;
}

static void each_space(const struct access *by, const uint32_t lanes_of[IR_COUNT_SPACES],
                       uint64_t size_B, const uint64_t *address)
{
    for (uint32_t s = 0; s < IR_COUNT_SPACES; s++)
        in_space(by, (enum ir_count_space)s, lanes_of[s], size_B, address);
}

/* Generic addresses: those of each kind together. Parameters are none of the spaces. */
static void generic(const struct access *by, uint32_t lanes, uint64_t size_B,
                    const uint64_t *address)
{
    const struct count_cta *cta = by->cta;
    const uint64_t params = va(cta->launch->about.params);
    const uint64_t params_B = cta->launch->about.kernel->param_size_B;
    uint64_t offset[COUNT_WARP];
    uint32_t of[IR_COUNT_SPACES] = {0};

    for (uint32_t m = lanes; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        uint64_t at = offset[lane] = address[lane];
        enum ir_count_space space = count_space_of(cta, at);

        if (space == IR_COUNT_IN_SHARED || space == IR_COUNT_IN_CLUSTER)
            offset[lane] = at - shared_va(cta);
        else if (space == IR_COUNT_IN_LOCAL)
            offset[lane] = (at - va(cta->base->local)) % cta->base->local_B;
        else if (at - params < params_B)
            continue;
        of[space] |= 1u << lane;
    }
    each_space(by, of, size_B, offset);
}

/* Of the windows of a cluster, side by side. */
static void cluster(const struct access *by, uint32_t lanes, uint64_t size_B,
                    const uint64_t *address)
{
    uint32_t of[IR_COUNT_SPACES] = {0};

    for (uint32_t m = lanes; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        of[shared_space(by->cta, address[lane])] |= 1u << lane;
    }
    each_space(by, of, size_B, address);
}

static void anywhere(const struct access *by, enum ir_space space, uint32_t lanes, uint64_t size_B,
                     const uint64_t *address)
{
    if (space == IR_SPACE_GENERIC)
        generic(by, lanes, size_B, address);
    else if (space == IR_SPACE_SHARED_CLUSTER)
        cluster(by, lanes, size_B, address);
    else if (ir_space_is_shared(space))
        in_space(by, IR_COUNT_IN_SHARED, lanes, size_B, address);
    else if (space == IR_SPACE_LOCAL)
        in_space(by, IR_COUNT_IN_LOCAL, lanes, size_B, address);
    else
        in_space(by, IR_COUNT_IN_GLOBAL, lanes, size_B, address);
}

/* Each lane has a size of its own: those of one size together. */
static void sized(const struct access *by, enum ir_space space, uint32_t lanes,
                  const uint64_t *size_B, const uint64_t *address)
{
    assert(size_B && address);
    while (lanes) {
        uint64_t one_B = size_B[__builtin_ctz(lanes)];
        uint32_t same = 0;
        for (uint32_t m = lanes; m; m &= m - 1)
            same |= (uint32_t)(size_B[__builtin_ctz(m)] == one_B) << __builtin_ctz(m);
        lanes &= ~same;
        /* More than a lane copies: by the warp, whose lanes say the same (tensormap). */
        anywhere(by, space, one_B > LANE_MAX_B ? same & -same : same, one_B, address);
    }
}

/* Of a matrix the lanes that have rows. */
static uint32_t row_lanes(uint32_t registers)
{
    return registers >= 4 ? ~0u : (1u << 8 * registers) - 1;
}

static uint64_t size_of(const struct ir_counted *counted, const struct ir_instr *probe)
{
    const struct ir_instr in = {.imm = counted->imm, .type = probe->type, .mem = probe->mem};
    struct ir_multimem m;

    if (ir_probe_op(probe) != IR_OP_MULTIMEM)
        return ir_probe_size_B(probe);
    m = ir_multimem_of(&in);
    return (uint64_t)m.register_B * m.registers;
}

static void access_probe(struct count_cta *cta, uint32_t warp, uint32_t lanes,
                         const struct ir_instr *probe, const uint64_t *const *operands)
{
    enum ir_op op = ir_probe_op(probe);
    uint32_t instr = ir_probe_its_imm(probe);
    assert(instr < count_module(cta->launch)->counted.len);
    const struct ir_counted *counted = &count_module(cta->launch)->counted.at[instr];
    const struct access by = {
        .cta = cta,
        .instr = instr,
        .warp = warp,
        .is_atomic =
            op == IR_OP_ATOM || (op == IR_OP_MULTIMEM && counted->classes & IR_COUNT_REDUCTION),
    };

    if (op == IR_OP_COPY) {
        /* cp.async: what is written beyond what is read is zero. */
        sized(&by, IR_SPACE_GENERIC, lanes, operands[2], operands[1]);
        sized(&by, probe->mem.space, lanes, operands[3], operands[0]);
        return;
    }
    if (op == IR_OP_LDMATRIX || op == IR_OP_STMATRIX)
        lanes &= row_lanes(counted->registers);
    anywhere(&by, probe->mem.space, lanes, size_of(counted, probe), operands[0]);
}

/* ---- probes of lanes together */

void count_together(struct count_cta *cta, uint32_t warp, uint32_t lanes,
                    const struct ir_instr *probe, const uint64_t *const *operands)
{
    const struct ir_module *m = count_module(cta->launch);
    uint64_t *words = cta->slab->words;
    uint32_t number = ir_probe_its_imm(probe), taken;

    assert(lanes && warp * COUNT_WARP < cta->launch->nthreads);
    if (probe->op == IR_OP_PROBE_ACCESS) {
        access_probe(cta, warp, lanes, probe, operands);
    } else if (ir_probe_op(probe) == IR_OP_NOTE) {
        assert(number < m->count_groups.len);
        words += ir_count_group_word(number);
        words[IR_COUNT_WARPS]++;
        words[IR_COUNT_LANES] += (uint64_t)__builtin_popcount(lanes);
    } else {
        assert(number < m->counted.len);
        words += ir_count_instr_word(m, number);
        taken = 0;
        for (uint32_t k = lanes; k; k &= k - 1)
            taken |= (uint32_t)(operands[0][__builtin_ctz(k)] & 1) << __builtin_ctz(k);
        words[IR_COUNT_TAKEN] += (uint64_t)__builtin_popcount(taken);
        words[IR_COUNT_DIVERGENT] += taken && taken != lanes;
    }
}
