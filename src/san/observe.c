/*
 * The observer of devices: what probes tell becomes accesses and synchronisation, which the tools
 * see, in the order of their table.
 *
 * Copies are made where they are issued (docs/decisions/0091), so both of their sides are accesses
 * of the thread that issues them, and nothing here waits for them.
 */
#include "san/san.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "san/host.h"
#include "san/lanes.h"
#include "san/options.h"
#include "san/payload.h"
#include "san/tensor.h"
#include "san/tensor_memory.h"
#include "san/tool.h"

enum { WARP = 32 };

static const struct san_tool *const tools[SAN_TOOL_COUNT] = {
#define X(NAME, name) &san_##name,
    SAN_TOOL_LIST(X)
#undef X
};

static struct ir_observer observer; /* below */

static struct {
    unsigned tools; /* bits 1 << enum san_tool_id */
    unsigned probes;
    _Atomic uint64_t taken;    /* launches that the filters take */
    _Atomic uint64_t launches; /* that were observed */
    _Atomic uint32_t running;  /* that are run again: schedcheck's */
} all;

static bool observe_is_on(unsigned set, unsigned tool)
{
    return set >> tool & 1;
}

/* ---- runs: schedcheck's */

static bool observe_wants_runs(void *own)
{
    struct san_launch *launch = own;

    if (!observe_is_on(launch->tools, SAN_SCHEDCHECK) || !san_schedcheck.wants_runs(launch))
        return false;
    assert(!launch->is_running);
    launch->is_running = true;
    atomic_fetch_add(&all.running, 1);
    return true;
}

static void observe_stops_running(struct san_launch *launch)
{
    if (launch->is_running) {
        uint32_t before = atomic_fetch_sub(&all.running, 1);
        assert(before > 0);
        (void)before;
    }
    launch->is_running = false;
}

/* The others see the first run only. */
static const struct ir_schedule *observe_next_run(void *own, enum hd_status ended)
{
    struct san_launch *launch = own;

    assert(launch->is_running && observe_is_on(launch->tools, SAN_SCHEDCHECK));
    if (!launch->tools_first) {
        launch->tools_first = launch->tools;
        launch->tools = 1u << SAN_SCHEDCHECK;
    }
    return san_schedcheck.next_run(launch, ended);
}

static void observe_give_up(void *own, bool waits)
{
    observe_stops_running(own);
    san_schedcheck.give_up(own, waits);
}

/* ---- the process */

enum hd_status san_start(void)
{
    unsigned set;

    HD_TRY(san_record_start());
    set = san_record_is_on() ? san_options()->tools : 0;
    for (unsigned i = 0; i < SAN_TOOL_COUNT; i++) {
        if (!observe_is_on(set, i))
            continue;
        assert((unsigned)tools[i]->id == i);
        if (tools[i]->start && !tools[i]->start())
            return hd_error(HD_NO_MEMORY, "no memory for the checker");
        all.probes |= tools[i]->wants ? tools[i]->wants() : tools[i]->probes;
    }
    all.tools = set;
    observer.wants_conflicts = set == 1u << SAN_RACECHECK;
    if (observe_is_on(all.tools, SAN_SCHEDCHECK)) {
        observer.wants_runs = observe_wants_runs;
        observer.next_run = observe_next_run;
        observer.give_up = observe_give_up;
    }
    return san_host_start(tools, set);
}

unsigned san_probes(void)
{
    return all.probes;
}

bool san_holds_launches(void)
{
    return observe_is_on(all.tools, SAN_SCHEDCHECK);
}

bool san_is_running(void)
{
    return atomic_load(&all.running) != 0;
}

bool san_is_bounding(void)
{
    return observe_is_on(all.tools, SAN_MEMCHECK);
}

uint64_t san_padding_B(void)
{
    return san_is_bounding() ? san_options()->padding_B : 0;
}

bool san_closes_pages(void)
{
    return observe_is_on(all.tools, SAN_RACECHECK) && san_options()->racecheck_host_wait_s;
}

void san_thread(const struct san_cta *cta, uint32_t warp, uint32_t lane, uint32_t out[3])
{
    uint32_t linear = warp * WARP + lane;

    assert(lane < WARP && linear < cta->launch->nthreads);
    ir_thread_index(cta->launch->about.block, linear, out);
}

/* ---- launches */

/* The filters take it, and it is not one of those before or after. */
static bool observe_is_wanted(const char *kernel)
{
    const struct san_options *o = san_options();
    uint64_t n;

    if (!san_options_take(o, kernel))
        return false;
    n = atomic_fetch_add(&all.taken, 1);
    return n >= o->launch_skip && (!o->launch_count || n - o->launch_skip < o->launch_count);
}

static bool observe_tools_launch(struct san_launch *launch)
{
    for (unsigned i = 0; i < SAN_TOOL_COUNT; i++) {
        const struct san_tool *tool = tools[i];

        if (!observe_is_on(all.tools, i) || (launch->is_quiet && !tool->sees_all))
            continue;
        if (tool->launch_begin && !tool->launch_begin(launch))
            return false;
        launch->tools |= 1u << i;
    }
    return true;
}

static void observe_launch_end(void *own)
{
    struct san_launch *launch = own;

    observe_stops_running(launch);
    launch->tools |= launch->tools_first;
    for (unsigned i = 0; i < SAN_TOOL_COUNT; i++)
        if (observe_is_on(launch->tools, i) && tools[i]->launch_end)
            tools[i]->launch_end(launch);
    san_tensor_memory_end(launch);
    san_record_settle();
    hd_free(launch);
}

static void *observe_launch_begin(const struct ir_probe_launch *about)
{
    struct san_launch *launch = hd_new(struct san_launch);

    if (!launch)
        return NULL;
    launch->about = *about;
    launch->nthreads = about->block[0] * about->block[1] * about->block[2];
    launch->number = atomic_fetch_add(&all.launches, 1) + 1;
    launch->from = san_host_stack(about->correlation, &launch->stack) ? &launch->stack : NULL;
    launch->is_quiet = !observe_is_wanted(about->kernel->name);
    if (!observe_tools_launch(launch) || !san_tensor_memory_begin(launch)) {
        observe_launch_end(launch);
        return NULL;
    }
    return launch;
}

static bool observe_cta_begin(struct ir_probe_cta *base)
{
    struct san_launch *launch = base->launch;
    struct san_cta *cta = hd_new(struct san_cta);
    const uint32_t *c = launch->about.cluster;

    if (!cta)
        return false;
    cta->base = base;
    cta->launch = launch;
    assert(base->index <
           (uint64_t)launch->about.grid[0] * launch->about.grid[1] * launch->about.grid[2]);
    cta->rank =
        base->ctaid[0] % c[0] + c[0] * (base->ctaid[1] % c[1] + c[1] * (base->ctaid[2] % c[2]));
    base->own = cta;
    for (unsigned i = 0; i < SAN_TOOL_COUNT; i++) {
        if (!observe_is_on(launch->tools, i) || !tools[i]->cta_begin)
            continue;
        if (!tools[i]->cta_begin(cta)) {
            while (i--)
                if (observe_is_on(launch->tools, i) && tools[i]->cta_end)
                    tools[i]->cta_end(cta);
            hd_free(cta);
            return false;
        }
    }
    return true;
}

static void observe_cta_end(struct ir_probe_cta *base)
{
    struct san_cta *cta = base->own;

    assert(cta && cta->base == base);
    for (unsigned i = 0; i < SAN_TOOL_COUNT; i++)
        if (observe_is_on(cta->launch->tools, i) && tools[i]->cta_end)
            tools[i]->cta_end(cta);
    san_tensor_memory_cta_end(cta);
    hd_free(cta);
}

/* ---- accesses */

static enum hd_status observe_report_access(struct san_cta *cta, const struct san_access *access)
{
    enum hd_status status = HD_OK, said;

    assert(access->lanes && access->size_B);
    for (unsigned i = 0; i < SAN_TOOL_COUNT; i++) {
        if (!observe_is_on(cta->launch->tools, i) || !tools[i]->access)
            continue;
        said = tools[i]->access(cta, access);
        status = status == HD_OK ? said : status;
    }
    return status;
}

/* The first error of several. */
static enum hd_status observe_first_error(enum hd_status a, enum hd_status b)
{
    return a == HD_OK ? b : a;
}

static bool observe_inside(uint64_t address, uint64_t base, uint64_t size_B)
{
    return address - base < size_B;
}

/* Windows of the cluster lie side by side; of another CTA's the offset and its rank + 1. */
static uint32_t observe_peer_of(const struct san_cta *cta, uint64_t from_rank_0)
{
    uint32_t rank = (uint32_t)(from_rank_0 >> IR_CLUSTER_SHIFT);

    return rank == cta->rank ? 0 : rank + 1;
}

static uint32_t observe_cluster_ctas(const struct san_cta *cta)
{
    const uint32_t *c = cta->launch->about.cluster;

    return c[0] * c[1] * c[2];
}

/* The lanes whose peer is that of the first one, out of `lanes`; addresses become offsets. */
static uint32_t observe_same_peer(const struct san_cta *cta, uint32_t lanes,
                                  const uint64_t *from_rank_0, uint32_t *peer, uint64_t *offset)
{
    uint32_t same = 0;

    *peer = observe_peer_of(cta, from_rank_0[__builtin_ctz(lanes)]);
    for (uint32_t l = 0; l < WARP; l++) {
        if (!(lanes >> l & 1) || observe_peer_of(cta, from_rank_0[l]) != *peer)
            continue;
        same |= 1u << l;
        offset[l] = from_rank_0[l] & (IR_CLUSTER_STRIDE_B - 1);
    }
    return same;
}

static enum hd_status observe_shared_of_cluster(struct san_cta *cta,
                                                const struct san_access *access)
{
    struct san_access a = *access;
    const uint64_t *from_rank_0 = a.address;
    uint32_t left = a.lanes;
    uint64_t offset[WARP];
    enum hd_status status = HD_OK;

    a.space = IR_SPACE_SHARED;
    a.address = offset;
    while (left) {
        a.lanes = observe_same_peer(cta, left, from_rank_0, &a.peer, offset);
        assert(a.lanes); /* the first of those that are left */
        left &= ~a.lanes;
        status = observe_first_error(status, observe_report_access(cta, &a));
    }
    return status;
}

/* Offsets of a window. Kernels that look into other CTAs count from the window of rank 0. */
static enum hd_status observe_shared_access(struct san_cta *cta, const struct san_access *a)
{
    if (observe_cluster_ctas(cta) > 1 || a->space != IR_SPACE_SHARED)
        return observe_shared_of_cluster(cta, a);
    return observe_report_access(cta, a);
}

/* ---- generic addresses: what they are of */

struct kinds {
    uint32_t shared, local, param; /* lanes */
};

static uint64_t observe_va(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static struct kinds observe_kinds_of(const struct san_cta *cta, const struct san_access *a)
{
    const struct ir_probe_cta *base = cta->base;
    const struct ir_probe_launch *about = &cta->launch->about;
    uint64_t shared = observe_va(base->shared), window_B = HD_MAX(about->shared_B, 1);
    uint64_t params_B = about->kernel->param_size_B;
    struct kinds kinds = {0};

    if (observe_cluster_ctas(cta) > 1) {
        shared -= cta->rank * IR_CLUSTER_STRIDE_B;
        window_B = observe_cluster_ctas(cta) * IR_CLUSTER_STRIDE_B;
    }
    for (uint32_t l = 0; l < WARP; l++) {
        uint64_t at = a->address[l];
        uint64_t local = observe_va(base->local) + (a->warp * WARP + l) * base->local_B;

        kinds.shared |= (uint32_t)observe_inside(at, shared, window_B) << l;
        kinds.local |= (uint32_t)(base->local && observe_inside(at, local, base->local_B)) << l;
        kinds.param |= (uint32_t)observe_inside(at, observe_va(about->params), params_B) << l;
    }
    kinds.shared &= a->lanes;
    kinds.local &= a->lanes;
    kinds.param &= a->lanes;
    return kinds;
}

/* The lanes of one kind, whose window begins at base + lane * step. */
static enum hd_status observe_window_access(struct san_cta *cta, struct san_access a,
                                            uint32_t lanes, enum ir_space space, uint64_t base,
                                            uint64_t step)
{
    uint64_t offset[WARP];

    if (!lanes)
        return HD_OK;
    for (uint32_t l = 0; l < WARP; l++)
        offset[l] = a.address[l] - base - l * step;
    a.address = offset;
    a.lanes = lanes;
    a.space = space;
    return space == IR_SPACE_SHARED ? observe_shared_access(cta, &a)
                                    : observe_report_access(cta, &a);
}

static enum hd_status observe_generic_access(struct san_cta *cta, struct san_access a)
{
    const struct kinds kinds = observe_kinds_of(cta, &a);
    uint32_t elsewhere = a.lanes & ~(kinds.shared | kinds.local | kinds.param);
    uint64_t first_local =
        observe_va(cta->base->local) + a.warp * (uint64_t)WARP * cta->base->local_B;
    uint64_t shared = observe_va(cta->base->shared);
    enum hd_status status;

    if (observe_cluster_ctas(cta) > 1)
        shared -= cta->rank * IR_CLUSTER_STRIDE_B;
    status = observe_window_access(cta, a, kinds.shared, IR_SPACE_SHARED, shared, 0);
    status = observe_first_error(status, observe_window_access(cta, a, kinds.local, IR_SPACE_LOCAL,
                                                               first_local, cta->base->local_B));
    status = observe_first_error(status,
                                 observe_window_access(cta, a, kinds.param, IR_SPACE_PARAM,
                                                       observe_va(cta->launch->about.params), 0));
    if (!elsewhere)
        return status;
    a.lanes = elsewhere;
    a.space = IR_SPACE_GLOBAL;
    return observe_first_error(status, observe_report_access(cta, &a));
}

static enum hd_status observe_resolve(struct san_cta *cta, const struct san_access *a)
{
    if (a->space == IR_SPACE_GENERIC)
        return observe_generic_access(cta, *a);
    return ir_space_is_shared(a->space) ? observe_shared_access(cta, a)
                                        : observe_report_access(cta, a);
}

/* ---- what an operation accesses */

static enum san_what observe_what_of(enum ir_op op)
{
    switch (op) {
    case IR_OP_ST:
    case IR_OP_STMATRIX:
    case IR_OP_COPY:
    case IR_OP_TENSORCOPY:
        return SAN_WRITE;
    case IR_OP_ATOM:
    case IR_OP_REDUCE:
    case IR_OP_MBARRIER:
        return SAN_ATOMIC;
    default:
        return SAN_READ;
    }
}

/* Of a matrix the lanes that have rows: eight for each register. */
static uint32_t observe_row_lanes(const struct ir_instr *probe)
{
    uint32_t registers = ir_probe_its_imm(probe) >> IR_PROBE_REGISTERS_AT;

    return registers >= 4 ? ~0u : (1u << 8 * registers) - 1;
}

/* Each lane has a size of its own: those of one size together. */
static enum hd_status observe_access_sized(struct san_cta *cta, struct san_access a,
                                           const uint64_t *size_B)
{
    uint32_t left = a.lanes;
    enum hd_status status = HD_OK;

    while (left) {
        a.size_B = size_B[__builtin_ctz(left)];
        a.lanes = 0;
        for (uint32_t l = 0; l < WARP; l++)
            a.lanes |= (uint32_t)(left >> l & 1 && size_B[l] == a.size_B) << l;
        assert(a.lanes & left);
        left &= ~a.lanes;
        if (a.size_B)
            status = observe_first_error(status, observe_resolve(cta, &a));
    }
    return status;
}

/* Lanes that copy the same bytes to the same place are a copy by one: instructions of a whole warp
 * (tensormap.cp_fenceproxy) come as such, and nobody could tell which lane it was. */
static uint32_t observe_copying_lanes(uint32_t lanes, const uint64_t *const *operands)
{
    uint32_t first = (uint32_t)__builtin_ctz(lanes), same = 0;

    for (uint32_t l = 0; l < WARP; l++) {
        bool is_same = true;
        for (unsigned i = 0; operands[i]; i++)
            is_same &= operands[i][l] == operands[i][first];
        same |= (uint32_t)is_same << l;
    }
    return lanes & ~same ? lanes : 1u << first;
}

/* Reads from the generic address src1, src2 bytes, then what becomes of them. */
static enum hd_status observe_copy_access(struct san_cta *cta, struct san_access a,
                                          const uint64_t *const *operands)
{
    const struct ir_instr *probe = a.probe;
    bool is_copy = ir_probe_op(probe) == IR_OP_COPY;
    uint64_t unit_B = is_copy ? ir_probe_its_imm(probe) & ~(uint32_t)IR_COPY_CASTS : 16;
    struct san_access from = a;
    enum hd_status status;

    if (is_copy)
        from.lanes = a.lanes = observe_copying_lanes(a.lanes, operands);
    from.what = SAN_READ;
    from.space = IR_SPACE_GENERIC;
    from.address = operands[1];
    from.align_B = a.align_B = unit_B;
    status = observe_access_sized(cta, from, operands[2]);
    return observe_first_error(status, observe_access_sized(cta, a, operands[is_copy ? 3 : 2]));
}

/* ---- tensor copies (tensor.h) */

static enum hd_status observe_any_part(void *user, const struct san_access *part)
{
    return observe_resolve(user, part);
}

static enum hd_status observe_sync_probe(struct san_cta *cta, const struct san_sync *at);

static enum hd_status observe_tensor_barrier(void *user, const struct san_sync *at)
{
    return observe_sync_probe(user, at);
}

/* ---- operations with a payload (payload.h) */

static enum hd_status observe_payload_part(void *user, const struct san_access *part)
{
    return observe_report_access(user, part);
}

static enum hd_status observe_payload_refused(void *user, const struct san_refusal *refusal)
{
    struct san_cta *cta = user;
    enum hd_status status = HD_OK;

    for (unsigned i = 0; i < SAN_TOOL_COUNT; i++)
        if (observe_is_on(cta->launch->tools, i) && tools[i]->refused)
            status = observe_first_error(status, tools[i]->refused(cta, refusal));
    return status;
}

static enum hd_status observe_multimem_access(struct san_cta *cta, const struct san_access *a)
{
    const struct san_payload_to to = {observe_any_part, observe_payload_refused, cta};

    return san_multimem_access(cta, a, &to);
}

static bool observe_has_payload(enum ir_op op)
{
    return op == IR_OP_TEX || op == IR_OP_MMA || op == IR_OP_TENSOR || op == IR_OP_TENSOR_WARP;
}

static enum hd_status observe_tensor_memory_probe(struct san_cta *cta, const struct san_sync *at)
{
    enum hd_status status = san_tensor_memory_access(cta, at);

    for (unsigned i = 0; i < SAN_TOOL_COUNT && status == HD_OK; i++)
        if (observe_is_on(cta->launch->tools, i) && tools[i]->tensor)
            status = tools[i]->tensor(cta, at);
    return status;
}

static enum hd_status observe_payload_probe(struct san_cta *cta, const struct san_sync *at)
{
    const struct san_payload_to to = {observe_payload_part, observe_payload_refused, cta};
    const struct san_access a = {
        .probe = at->probe,
        .number = at->number,
        .warp = at->warp,
        .lanes = at->lanes,
        .operands = at->operands,
    };

    switch (ir_probe_op(at->probe)) {
    case IR_OP_TEX:
        return san_texture_access(cta, &a, &to);
    case IR_OP_TENSOR:
        return observe_first_error(san_matrix_access(cta, &a, &to),
                                   observe_tensor_memory_probe(cta, at));
    case IR_OP_TENSOR_WARP:
        return observe_tensor_memory_probe(cta, at);
    default:
        return san_matrix_access(cta, &a, &to);
    }
}

static enum hd_status observe_access_probe(struct san_cta *cta, uint32_t warp, uint32_t lanes,
                                           const struct ir_instr *probe,
                                           const uint64_t *const *operands)
{
    enum ir_op op = ir_probe_op(probe);
    struct san_access a = {
        .probe = probe,
        .number = ir_probe_number(probe),
        .warp = warp,
        .lanes = lanes,
        .what = observe_what_of(op),
        .space = probe->mem.space,
        .address = operands[0],
        .operands = operands,
    };

    if (op == IR_OP_MULTIMEM)
        return observe_multimem_access(cta, &a);
    a.is_async = op == IR_OP_COPY || op == IR_OP_REDUCE || op == IR_OP_TENSORCOPY;
    if (op == IR_OP_TENSORCOPY) {
        const struct san_tensor_to to = {observe_any_part, observe_tensor_barrier, cta};
        enum hd_status status = HD_OK;

        san_foreach_lane(lane, a.lanes)
            status = observe_first_error(status, san_tensor_lane(cta, &a, lane, &to));
        return status;
    }
    if (a.is_async)
        return observe_copy_access(cta, a, operands);
    if (op == IR_OP_LDMATRIX || op == IR_OP_STMATRIX)
        a.lanes &= observe_row_lanes(probe);
    a.size_B = a.align_B = op == IR_OP_MBARRIER ? 8 : ir_probe_size_B(probe);
    return a.lanes ? observe_resolve(cta, &a) : HD_OK;
}

/* ---- everything else */

static enum hd_status observe_heap_probe(struct san_cta *cta, const struct san_sync *at)
{
    bool allocates = ir_probe_its_imm(at->probe) == IR_BUILTIN_MALLOC;
    enum hd_status status = HD_OK;

    /* Also of launches that the filters do not take: others use what those allocate. */
    for (unsigned i = 0; i < SAN_TOOL_COUNT; i++) {
        if (!observe_is_on(all.tools, i))
            continue;
        if (allocates && tools[i]->heap_alloc)
            tools[i]->heap_alloc(cta, at, at->operands[1], at->operands[0]);
        if (!allocates && tools[i]->heap_free)
            status = observe_first_error(status, tools[i]->heap_free(cta, at, at->operands[0]));
    }
    return status;
}

static enum hd_status observe_sync_probe(struct san_cta *cta, const struct san_sync *at)
{
    enum hd_status status = HD_OK;

    for (unsigned i = 0; i < SAN_TOOL_COUNT; i++)
        if (observe_is_on(cta->launch->tools, i) && tools[i]->sync)
            status = observe_first_error(status, tools[i]->sync(cta, at));
    return status;
}

static enum hd_status observe_threads_end(struct san_cta *cta, const struct san_sync *at)
{
    assert(!(cta->ended_lanes[at->warp] & at->lanes)); /* a thread ends once */
    cta->ended_lanes[at->warp] |= at->lanes;
    cta->ended += (uint32_t)__builtin_popcount(at->lanes);
    assert(cta->ended <= cta->launch->nthreads);
    return cta->ended == cta->launch->nthreads ? san_tensor_memory_left(cta) : HD_OK;
}

static enum hd_status observe_probe_reported(struct ir_probe_cta *base, uint32_t warp,
                                             uint32_t lanes, const struct ir_instr *probe,
                                             const uint64_t *const *operands)
{
    struct san_cta *cta = base->own;
    const struct san_sync at = {.probe = probe,
                                .number = ir_probe_number(probe),
                                .warp = warp,
                                .lanes = lanes,
                                .operands = operands};
    enum hd_status status = HD_OK;

    assert(lanes && cta->base == base && warp * WARP < cta->launch->nthreads);
    if (ir_probe_op(probe) == IR_OP_BUILTIN)
        return observe_heap_probe(cta, &at);
    if (!cta->launch->tools)
        return HD_OK;
    if (observe_has_payload(ir_probe_op(probe)))
        return observe_payload_probe(cta, &at);
    if (ir_probe_op(probe) == IR_OP_EXIT)
        status = observe_threads_end(cta, &at);
    if (probe->op == IR_OP_PROBE_ACCESS)
        status = observe_access_probe(cta, warp, lanes, probe, operands);
    if (probe->op == IR_OP_PROBE || ir_probe_op(probe) == IR_OP_MBARRIER)
        status = observe_first_error(status, observe_sync_probe(cta, &at));
    return status;
}

static struct ir_observer observer = {
    .launch_begin = observe_launch_begin,
    .launch_end = observe_launch_end,
    .cta_begin = observe_cta_begin,
    .cta_end = observe_cta_end,
    .probe = observe_probe_reported,
};

const struct ir_observer *san_observer(void)
{
    return all.probes ? &observer : NULL;
}
