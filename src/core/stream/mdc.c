/*
 * Multi-device cooperative launches (mdc): grids on several devices that can wait for each other,
 * by cuLaunchCooperativeKernelMultiDevice() (docs/decisions/0101-multi-device-launches.md). What
 * they share is in managed memory, one record per grid, whose address a kernel asks for:
 *
 *     kernel: cudaCGGetIntrinsicHandle() ─► core_cdp_Mdc(): packet's number, queue ─► record
 *
 * A launch lives until the streams of all its grids have come past them. The threads of all grids
 * meet at the counter (compile/groups.c).
 */
#include <assert.h>

#include "base/mem.h"
#include "core/cdp/cdp_calls.h"
#include "core/context.h"
#include "core/device.h"
#include "core/graph/capture.h"
#include "core/notify.h"
#include "core/stream/event.h"

/* What a kernel reads: compile/groups.c knows the offsets. */
struct record {
    uint32_t size_B; /* a grid's own workspace has another one */
    uint32_t rank, ngrids, reserved;
    uint64_t grid_threads, all_threads;
    uint64_t counter_va; /* of threads that came to a meeting */
    uint64_t reserved2[3];
};
_Static_assert(sizeof(struct record) == 64 && offsetof(struct record, counter_va) == 32,
               "compile/groups.c");

/* In memory: the counter, in a record's room, and the records. */
struct mdc {
    struct mdc *next;
    uint16_t number; /* in the packets */
    unsigned n;
    _Atomic unsigned left;    /* grids that are not over, and one while it is launched */
    struct core_context *ctx; /* whose memory it is */
    uint64_t va;
    struct hal_queue *queues[]; /* of the grids, by rank */
};

static struct hd_lock lock = HD_LOCK_INIT(LEAF, "mdc");
static struct mdc *all; /* lock */

/* ---- life */

static struct mdc *find_locked(uint16_t number)
{
    struct mdc *mdc = all;

    while (mdc && mdc->number != number)
        mdc = mdc->next;
    return mdc;
}

/* False: all numbers are taken. */
static bool mdc_enter(struct mdc *mdc)
{
    static uint16_t last;
    uint16_t first;

    hd_lock_acquire(&lock);
    first = ++last;
    while (!last || find_locked(last))
        if (++last == first)
            break;
    mdc->number = find_locked(last) ? 0 : last;
    if (mdc->number) {
        mdc->next = all;
        all = mdc;
    }
    hd_lock_release(&lock);
    return mdc->number;
}

/* Memory of a context that is gone went with it. */
static void mdc_drop(void *arg)
{
    struct mdc *mdc = arg;

    if (atomic_fetch_sub(&mdc->left, 1) > 1)
        return;
    struct mdc **link = &all;
    hd_lock_acquire(&lock);
    while (*link && *link != mdc)
        link = &(*link)->next;
    if (*link)
        *link = mdc->next;
    hd_lock_release(&lock);
    if (mdc->va && core_context_is_live(mdc->ctx))
        core_memory_free_own(mdc->va);
    core_context_unref(mdc->ctx);
    hd_free(mdc);
}

static struct record *record_of(const struct mdc *mdc, unsigned rank)
{
    return (struct record *)(uintptr_t)mdc->va + 1 + rank;
}

static uint64_t grid_threads(const struct core_launch *l)
{
    return (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] * l->block[0] * l->block[1] * l->block[2];
}

static enum hd_status mdc_create(const struct core_mdc_grid *grids, unsigned n,
                                 struct mdc **out_mdc)
{
    struct mdc *mdc = hd_alloc(sizeof(*mdc) + n * sizeof(struct hal_queue *));
    enum hd_status status;

    if (!mdc)
        return hd_error(HD_NO_MEMORY, "launch on %u devices", n);
    mdc->n = n;
    mdc->left = 1;
    mdc->ctx = core_context_ref(grids[0].stream->ctx);
    for (unsigned i = 0; i < n; i++)
        mdc->queues[i] = grids[i].stream->queue;
    status = core_memory_alloc_own(mdc->ctx, (n + 1) * sizeof(struct record), CORE_MEM_MANAGED,
                                   HEDDLE_MEMORY_OWN, &mdc->va);
    if (status == HD_OK && !mdc_enter(mdc))
        status = hd_error(HD_NO_MEMORY, "too many launches on several devices");
    if (status != HD_OK) {
        mdc_drop(mdc);
        return status;
    }
    memset(record_of(mdc, 0) - 1, 0, (n + 1) * sizeof(struct record));
    for (unsigned i = 0; i < n; i++)
        *record_of(mdc, i) = (struct record){.size_B = sizeof(struct record),
                                             .rank = i,
                                             .ngrids = n,
                                             .grid_threads = grid_threads(&grids[i].launch),
                                             .all_threads = n * grid_threads(&grids[i].launch),
                                             .counter_va = mdc->va};
    *out_mdc = mdc;
    return HD_OK;
}

/* ---- what kernels ask */

static const struct record *record_find_locked(uint16_t number, const struct hal_queue *queue)
{
    struct mdc *mdc = number ? find_locked(number) : NULL;

    for (unsigned i = 0; mdc && i < mdc->n; i++)
        if (mdc->queues[i] == queue)
            return record_of(mdc, i);
    return NULL;
}

/* 0 in a grid that is of no such launch. The one that calls is the queue's oldest packet. */
uint64_t core_cdp_Mdc(const struct core_cdp_call *call)
{
    struct hal_ring *ring = call->queue->ring;
    const union hal_packet *p = hal_ring_packet(ring, hal_ring_retired(ring) + 1);
    const struct record *record;

    if (p->head.op != HAL_OP_DISPATCH)
        return 0;
    hd_lock_acquire(&lock);
    record = record_find_locked(p->dispatch.mdc, call->queue);
    hd_lock_release(&lock);
    return (uintptr_t)record;
}

/* ---- launching */

static bool is_same_kernel(const struct core_function *a, const struct core_function *b)
{
    return !strcmp(a->entry->name, b->entry->name) &&
           !memcmp(core_image_key(a->module->image), core_image_key(b->module->image), 16);
}

static bool is_same_shape(const struct core_launch *a, const struct core_launch *b)
{
    return !memcmp(a->grid, b->grid, sizeof(a->grid)) &&
           !memcmp(a->block, b->block, sizeof(a->block)) && a->dynamic_smem_B == b->dynamic_smem_B;
}

/* Once one grid is launched, the others must be. */
static enum hd_status check_grid(const struct core_mdc_grid *grids, unsigned i)
{
    uint8_t params[CORE_PARAMS_MAX_B];

    for (unsigned j = 0; j < i; j++) {
        const struct core_mdc_grid *first = &grids[j];
        const struct core_mdc_grid *other = &grids[i];
        if (first->stream->ctx->device == other->stream->ctx->device)
            return hd_error(HD_BAD_ARG, "two grids of one launch on device %d",
                            other->stream->ctx->device->ordinal);
        if (!is_same_kernel(first->function, other->function))
            return hd_error(HD_BAD_ARG, "%s and %s: all devices launch the same kernel",
                            first->function->entry->name, other->function->entry->name);
        if (!is_same_shape(&first->launch, &other->launch))
            return hd_error(HD_BAD_ARG, "%s: all devices launch the same grid",
                            first->function->entry->name);
    }
    if (core_stream_is_capturing(grids[i].stream))
        return core_capture_refuse_stream(grids[i].stream);
    HD_TRY(core_context_status(grids[i].stream->ctx));
    HD_TRY(core_launch_check(grids[i].function, &grids[i].launch));
    return core_launch_pack(grids[i].function->entry, &grids[i].launch, params);
}

/* All streams wait for where `stream` is now. */
static enum hd_status wait_for(struct core_stream *stream, const struct core_mdc_grid *grids,
                               unsigned n)
{
    struct core_event *event;
    enum hd_status status;

    HD_TRY(core_event_create(stream->ctx, CORE_EVENT_DISABLE_TIMING, &event));
    status = core_event_record(event, stream, false);
    for (unsigned i = 0; i < n && status == HD_OK; i++)
        if (grids[i].stream != stream)
            status = core_event_wait(grids[i].stream, event, false);
    core_event_destroy(event);
    core_event_unref(event);
    return status;
}

static enum hd_status all_wait(const struct core_mdc_grid *grids, unsigned n)
{
    enum hd_status status = HD_OK;

    for (unsigned i = 0; i < n && status == HD_OK; i++)
        status = wait_for(grids[i].stream, grids, n);
    return status;
}

static enum hd_status grid_launch(struct mdc *mdc, const struct core_mdc_grid *grid)
{
    struct core_launch launch = grid->launch;

    launch.mdc = mdc->number;
    HD_TRY(core_launch(grid->function, grid->stream, &launch));
    atomic_fetch_add(&mdc->left, 1);
    return core_stream_call(grid->stream, mdc_drop, mdc, true);
}

/* Should one be missing, the others do not wait for it. */
static void mdc_free(struct mdc *mdc)
{
    __atomic_store_n((uint64_t *)(uintptr_t)mdc->va, UINT64_MAX / 2, __ATOMIC_SEQ_CST);
}

enum hd_status core_launch_mdc(const struct core_mdc_grid *grids, unsigned n, unsigned flags)
{
    enum hd_status status = HD_OK;
    struct mdc *mdc = NULL;

    assert(n);
    for (unsigned i = 0; i < n; i++)
        HD_TRY(check_grid(grids, i));
    if (!(flags & CORE_MDC_NO_PRE_SYNC))
        HD_TRY(all_wait(grids, n));
    HD_TRY(mdc_create(grids, n, &mdc));
    assert(mdc);
    for (unsigned i = 0; i < n && status == HD_OK; i++)
        status = grid_launch(mdc, &grids[i]);
    if (status != HD_OK)
        mdc_free(mdc);
    mdc_drop(mdc);
    HD_TRY(status);
    return flags & CORE_MDC_NO_POST_SYNC ? HD_OK : all_wait(grids, n);
}
