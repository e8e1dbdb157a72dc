/*
 * The observer of launches that are counted. Compiled code adds to the counters of its CTA
 * (ir_probe_cta.counts) and tells of accesses, the interpreter tells of everything, lane by lane.
 */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "count/private.h"

static const struct ir_module *module_of(const struct count_launch *launch)
{
    return launch->about.kernel->module;
}

/* ---- launches */

static void *launch_begin(const struct ir_probe_launch *about)
{
    struct count_launch *launch = hd_new(struct count_launch);

    if (!launch)
        return NULL;
    launch->about = *about;
    launch->nthreads = about->block[0] * about->block[1] * about->block[2];
    launch->nwords = ir_count_words(module_of(launch));
    launch->begin_ns = hd_clock_ns(CLOCK_MONOTONIC);
    hd_lock_init(&launch->lock, HD_RANK_LEAF, "counters");
    launch->sweep = count_sweep_create(module_of(launch));
    launch->total = hd_alloc_array(launch->nwords + 1, sizeof(uint64_t));
    if (launch->sweep && launch->total)
        return launch;
    count_sweep_destroy(launch->sweep);
    hd_free(launch->total);
    hd_free(launch);
    return NULL;
}

static void launch_end(void *arg)
{
    struct count_launch *launch = arg;
    struct count_slab *slab;

    while ((slab = launch->free)) {
        launch->free = slab->next;
        for (size_t i = 0; i < launch->nwords; i++)
            launch->total[i] += slab->words[i];
        hd_free(slab);
    }
    ir_count_settle(module_of(launch), launch->total);
    count_file_write(launch, launch->total);
    count_sweep_destroy(launch->sweep);
    hd_lock_fini(&launch->lock);
    hd_free(launch->total);
    hd_free(launch);
}

/* ---- CTAs */

static struct count_slab *slab_take(struct count_launch *launch)
{
    struct count_slab *slab;

    hd_lock_acquire(&launch->lock);
    slab = launch->free;
    if (slab)
        launch->free = slab->next;
    hd_lock_release(&launch->lock);
    return slab ? slab : hd_alloc(sizeof(*slab) + launch->nwords * sizeof(uint64_t));
}

static bool cta_begin(struct ir_probe_cta *base)
{
    struct count_launch *launch = base->launch;
    struct count_cta *cta = hd_new(struct count_cta);

    if (!cta)
        return false;
    *cta = (struct count_cta){.launch = launch, .base = base, .slab = slab_take(launch)};
    if (!cta->slab) {
        hd_free(cta);
        return false;
    }
    base->own = cta;
    base->counts = cta->slab->words;
    return true;
}

static void cta_end(struct ir_probe_cta *base)
{
    struct count_cta *cta = base->own;
    struct count_launch *launch = cta->launch;

    count_trace_finish(cta);
    hd_lock_acquire(&launch->lock);
    cta->slab->next = launch->free;
    launch->free = cta->slab;
    hd_lock_release(&launch->lock);
    hd_free(cta);
}

/* ---- accesses: which space */

struct access {
    struct count_cta *cta;
    uint32_t instr, warp;
    bool is_atomic;
};

static void in_space(const struct access *by, enum ir_count_space space, uint32_t lanes,
                     uint64_t size_B, const uint64_t *address)
{
    const struct ir_module *m = module_of(by->cta->launch);
    const struct ir_count_access access = {
        .words = by->cta->slab->words + ir_count_access_word(m, by->instr, space),
        .space = space,
        .is_atomic = by->is_atomic,
        .lanes = lanes,
        .size_B = size_B,
        .address = address,
    };

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

/* Where the windows of the CTA's cluster may begin. */
static uint64_t shared_va(const struct count_cta *cta)
{
    const uint32_t *c = cta->launch->about.cluster;
    const uint32_t *id = cta->base->ctaid;
    uint64_t rank = (id[2] % c[2] * c[1] + id[1] % c[1]) * (uint64_t)c[0] + id[0] % c[0];

    return va(cta->base->shared) - rank * IR_CLUSTER_STRIDE_B;
}

/* Generic addresses: those of each kind together. Parameters are none of the spaces. */
static void generic(const struct access *by, uint32_t lanes, uint64_t size_B,
                    const uint64_t *address)
{
    const struct count_cta *cta = by->cta;
    const struct ir_probe_cta *base = cta->base;
    const uint64_t params_B = cta->launch->about.kernel->param_size_B;
    uint64_t shared = shared_va(cta), window_B = shared_B(cta->launch);
    uint64_t local_B = base->local ? base->local_B * cta->launch->nthreads : 0;
    uint64_t offset[COUNT_WARP];
    uint32_t of[IR_COUNT_SPACES] = {0};

    for (uint32_t m = lanes; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        uint64_t at = offset[lane] = address[lane];
        if (at - shared < window_B) {
            of[IR_COUNT_IN_SHARED] |= 1u << lane;
            offset[lane] = at - shared;
        } else if (at - va(base->local) < local_B) {
            of[IR_COUNT_IN_LOCAL] |= 1u << lane;
            offset[lane] = (at - va(base->local)) % base->local_B;
        } else if (at - va(cta->launch->about.params) >= params_B) {
            of[IR_COUNT_IN_GLOBAL] |= 1u << lane;
        }
    }
    for (uint32_t s = 0; s < IR_COUNT_SPACES; s++)
        in_space(by, (enum ir_count_space)s, of[s], size_B, offset);
}

static void anywhere(const struct access *by, enum ir_space space, uint32_t lanes, uint64_t size_B,
                     const uint64_t *address)
{
    if (space == IR_SPACE_GENERIC)
        generic(by, lanes, size_B, address);
    else if (ir_space_is_shared(space))
        in_space(by, IR_COUNT_IN_SHARED, lanes, size_B, address);
    else if (space == IR_SPACE_LOCAL)
        in_space(by, IR_COUNT_IN_LOCAL, lanes, size_B, address);
    else
        in_space(by, IR_COUNT_IN_GLOBAL, lanes, size_B, address);
}

/* From global memory to shared; each lane has a size. */
static void copy(const struct access *by, const struct ir_instr *probe, uint32_t lanes,
                 const uint64_t *const *operands)
{
    while (lanes) {
        uint64_t size_B = operands[2][__builtin_ctz(lanes)];
        uint32_t same = 0;
        for (uint32_t m = lanes; m; m &= m - 1)
            same |= (uint32_t)(operands[2][__builtin_ctz(m)] == size_B) << __builtin_ctz(m);
        lanes &= ~same;
        if (!size_B || size_B > 16)
            continue;
        anywhere(by, IR_SPACE_GENERIC, same, size_B, operands[1]);
        anywhere(by, probe->mem.space, same, size_B, operands[0]);
    }
}

/* Of a matrix the lanes that have rows. */
static uint32_t row_lanes(const struct ir_instr *probe)
{
    const struct ir_instr *in = ir_probed(probe);
    uint32_t n = in->op == IR_OP_LDMATRIX ? in->ndst : in->nsrc - 1;

    return n >= 4 ? ~0u : (1u << 8 * n) - 1;
}

static void access_probe(struct count_cta *cta, uint32_t warp, uint32_t lanes,
                         const struct ir_instr *probe, const uint64_t *const *operands)
{
    enum ir_op op = ir_probe_op(probe);
    const struct access by = {
        .cta = cta,
        .instr = ir_probe_its_imm(probe),
        .warp = warp,
        .is_atomic = op == IR_OP_ATOM,
    };

    if (op == IR_OP_COPY) {
        copy(&by, probe, lanes, operands);
        return;
    }
    if (op == IR_OP_LDMATRIX || op == IR_OP_STMATRIX)
        lanes &= row_lanes(probe);
    anywhere(&by, probe->mem.space, lanes, ir_probe_size_B(probe), operands[0]);
}

/* ---- probes */

static uint32_t holding(uint32_t lanes, const uint64_t *p)
{
    uint32_t holds = 0;

    for (uint32_t m = lanes; m; m &= m - 1)
        holds |= (uint32_t)(p[__builtin_ctz(m)] & 1) << __builtin_ctz(m);
    return holds;
}

void count_together(struct count_cta *cta, uint32_t warp, uint32_t lanes,
                    const struct ir_instr *probe, const uint64_t *const *operands)
{
    const struct ir_module *m = module_of(cta->launch);
    uint64_t *words = cta->slab->words;
    uint32_t number = ir_probe_its_imm(probe), taken;

    if (probe->op == IR_OP_PROBE_ACCESS) {
        access_probe(cta, warp, lanes, probe, operands);
    } else if (ir_probe_op(probe) == IR_OP_NOTE) {
        words += ir_count_group_word(number);
        words[IR_COUNT_WARPS]++;
        words[IR_COUNT_LANES] += (uint64_t)__builtin_popcount(lanes);
    } else {
        words += ir_count_instr_word(m, number);
        taken = holding(lanes, operands[0]);
        words[IR_COUNT_TAKEN] += (uint64_t)__builtin_popcount(taken);
        words[IR_COUNT_DIVERGENT] += taken && taken != lanes;
    }
}

static enum hd_status probe_told(struct ir_probe_cta *base, uint32_t warp, uint32_t lanes,
                                 const struct ir_instr *probe, const uint64_t *const *operands)
{
    struct count_cta *cta = base->own;

    assert(lanes && cta->base == base);
    /* Only who tells lane by lane tells of groups, and does so first. */
    if (!cta->traces && ir_probe_op(probe) != IR_OP_NOTE) {
        count_together(cta, warp, lanes, probe, operands);
        return HD_OK;
    }
    for (uint32_t m = lanes; m; m &= m - 1)
        if (!count_trace_add(cta, warp, (uint32_t)__builtin_ctz(m), probe, operands))
            return hd_error(HD_NO_MEMORY, "kernel %s: no memory for its counters",
                            cta->launch->about.kernel->name);
    return HD_OK;
}

static const struct ir_observer observer = {
    .adds_up = true,
    .launch_begin = launch_begin,
    .launch_end = launch_end,
    .cta_begin = cta_begin,
    .cta_end = cta_end,
    .probe = probe_told,
};

const struct ir_observer *count_observer(void)
{
    return count_is_on() ? &observer : NULL;
}
