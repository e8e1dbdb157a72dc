/* Giving work to streams, each behind what it has to come behind, and waiting for it. */
#include <assert.h>

#include "base/mem.h"
#include "core/context.h"
#include "core/graph/capture.h"
#include "core/mem/mempool_parts.h"
#include "core/notify.h"
#include "core/stream/retire.h"
#include "core/stream/stream_parts.h"
#include "hal/hal.h"

#define GRID_IDS 64u

/* Unique in the context; taken from it in blocks, because launches are many. */
uint32_t core_grid_id(struct core_context *ctx, uint32_t *id)
{
    if (*id % GRID_IDS == 0)
        *id = atomic_fetch_add(&ctx->grid_id_blocks, 1) * GRID_IDS;
    return ++*id;
}

uint32_t core_grid_ids(struct core_context *ctx, uint32_t n)
{
    return atomic_fetch_add(&ctx->grid_id_blocks, (n + GRID_IDS - 1) / GRID_IDS) * GRID_IDS;
}

enum hd_status core_stream_params_locked(struct core_stream *stream, struct hal_dispatch *p,
                                         const void *params, uint32_t params_B)
{
    struct hal_queue *queue = stream->queue;
    struct hal_device *hal = queue->device;

    assert(hd_lock_held(&stream->lock));
    p->params_B = params_B;
    if (params_B <= HAL_INLINE_PARAMS_B) {
        memcpy(p->params, params, params_B);
        return HD_OK;
    }
    for (;;) {
        void *at = hal_queue_params(queue, p, NULL, params_B);

        if (at) {
            memcpy(at, params, params_B);
            return HD_OK;
        }
        if (hal_queue_is_idle(queue))
            return hd_error(HD_BAD_ARG, "%u bytes of kernel parameters are too many", params_B);
        HD_TRY(
            hal->ops->wait(hal, &queue->ring->retired, hal_queue_retired(queue) + 1, UINT64_MAX));
    }
}

/* With what tells that the packets are complete. */
static enum hd_status submit_notified_locked(struct core_stream *stream, struct core_retirement *r,
                                             const union hal_packet *packets, unsigned n)
{
    uint64_t position = hal_queue_submitted(stream->queue) + 1;
    union hal_packet call;
    enum hd_status status;

    if (core_retirement_is_lazy(r))
        core_retirement_prepare(r, stream->queue->ring, position);
    status = core_stream_submit_locked(stream, packets, n);
    if (core_retirement_is_lazy(r)) {
        core_retirement_settle_later(r, status == HD_OK);
        return status;
    }
    call = core_retirement_call(r, stream->queue->ring, position);
    if (status == HD_OK)
        status = core_stream_submit_locked(stream, &call, 1);
    if (status != HD_OK)
        hd_free(r);
    return status;
}

static void submit_number_locked(struct core_stream *stream, union hal_packet *p)
{
    if (p->head.op == HAL_OP_DISPATCH && !p->dispatch.grid_id)
        p->dispatch.grid_id = core_grid_id(stream->ctx, &stream->grid_id);
}

static inline enum hd_status submit_in_order(struct core_stream *stream, union hal_packet *packets,
                                             unsigned n, bool if_idle, const void *params,
                                             uint32_t params_B, uint64_t *out_position)
{
    struct core_retirement *notified = NULL;
    enum hd_status status;

    HD_TRY(core_capture_check_stream(stream));
    if (tap_wants(HEDDLE_KIND_ALL)) {
        /* Listeners know a grid by its number, so it has one before they are told. */
        hd_lock_acquire(&stream->lock);
        submit_number_locked(stream, &packets[0]);
        hd_lock_release(&stream->lock);
        notified = core_notify_packets(stream, packets, n, params);
    }
    status = core_order_acquire(stream);
    if (status == HD_OK && packets[0].head.op == HAL_OP_DISPATCH) {
        submit_number_locked(stream, &packets[0]);
        status = core_stream_params_locked(stream, &packets[0].dispatch, params, params_B);
        if (if_idle && !hal_queue_is_idle(stream->queue))
            packets[0].head.flags &= (uint16_t)~HAL_FLAG_CALLER;
    }
    if (HD_LIKELY(!notified) && status == HD_OK)
        status = core_stream_submit_locked(stream, packets, n);
    else if (status == HD_OK)
        status = submit_notified_locked(stream, notified, packets, n);
    else
        hd_free(notified);
    if (status == HD_OK && out_position)
        *out_position = hal_queue_submitted(stream->queue);
    hd_lock_release(&stream->lock);
    return status;
}

enum hd_status core_stream_submit(struct core_stream *stream, union hal_packet *packets, unsigned n,
                                  const void *params, uint32_t params_B, uint64_t *out_position)
{
    return submit_in_order(stream, packets, n, false, params, params_B, out_position);
}

enum hd_status core_stream_submit_caller(struct core_stream *stream, union hal_packet *packet,
                                         bool waits, const void *params, uint32_t params_B)
{
    assert(packet->head.op == HAL_OP_DISPATCH && packet->head.flags & HAL_FLAG_CALLER);
    return submit_in_order(stream, packet, 1, !waits, params, params_B, NULL);
}

enum hd_status core_stream_mark(struct core_stream *stream, uint64_t *out_position)
{
    enum hd_status status;

    HD_TRY(core_capture_check_stream(stream));
    status = core_order_acquire(stream);
    *out_position = hal_queue_submitted(stream->queue);
    hd_lock_release(&stream->lock);
    return status;
}

enum hd_status core_stream_call(struct core_stream *stream, void (*func)(void *), void *arg,
                                bool always)
{
    union hal_packet p = {.host_call = {.head.op = HAL_OP_HOST_CALL}};

    p.head.flags = always ? HAL_FLAG_ALWAYS : 0;
    p.host_call.func = (uintptr_t)func;
    p.host_call.arg = (uintptr_t)arg;
    return core_stream_submit(stream, &p, 1, NULL, 0, NULL);
}

/* ---- waiting */

enum hd_status core_stream_synchronize(struct core_stream *stream)
{
    struct core_context *ctx = stream->ctx;
    struct hal_device *hal = ctx->device->hal;
    enum hd_status status = core_capture_check_stream(stream);

    HD_TRY(status);
    /* The legacy stream stands for everything that orders with it. */
    if (core_stream_is_default(stream) && atomic_load(&ctx->nblocking)) {
        status = core_order_legacy_acquire(stream);
        hd_lock_release(&stream->lock);
    }
    HD_TRY(status);
    HD_TRY(core_queue_wait(stream->queue));
    hal->ops->printf_flush(ctx->domain);
    core_mempools_settle();
    return core_context_status(ctx);
}

void core_stream_awaited(struct core_stream *stream, const _Atomic uint64_t *semaphore,
                         uint64_t value)
{
    size_t i = 0;

    hd_lock_acquire(&stream->lock);
    while (i < stream->awaited.len && stream->awaited.at[i].semaphore != semaphore)
        i++;
    if (i < stream->awaited.len)
        stream->awaited.at[i].value = HD_MAX(stream->awaited.at[i].value, value);
    else /* short of memory, a pool will not know that it could reuse something */
        (void)!hd_vec_push(&stream->awaited, (struct core_awaited){semaphore, value});
    hd_lock_release(&stream->lock);
}

enum hd_status core_stream_query(struct core_stream *stream)
{
    HD_TRY(core_capture_check_stream(stream));
    HD_TRY(core_context_status(stream->ctx));
    return hal_queue_is_idle(stream->queue) ? HD_OK : HD_BUSY;
}
