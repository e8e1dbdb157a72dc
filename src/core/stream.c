/*
 * Streams: a queue each, plus the order that CUDA promises between the legacy default stream and
 * the blocking ones. Order is made of WAIT packets on other queues' `retired`, only where something
 * is unfinished.
 */
#include <unistd.h>
#include <sys/syscall.h>

#include "base/mem.h"
#include "core/core.h"

#define MAX_WAITS 64 /* in front of one submission; more are submitted separately */

/* ---- life */

/* A queue that nobody uses and that is idle, or a new one. The caller holds ctx->lock. */
static enum hd_status queue_take_locked(struct core_context *ctx, struct hal_queue **out_queue)
{
    struct hal_device *hal = ctx->device->hal;

    for (size_t i = 0; i < ctx->idle_queues.len; i++) {
        if (hal_queue_is_idle(ctx->idle_queues.at[i])) {
            *out_queue = ctx->idle_queues.at[i];
            ctx->idle_queues.at[i] = ctx->idle_queues.at[--ctx->idle_queues.len];
            return HD_OK;
        }
    }
    /* Room for its return, so that destroying a stream cannot fail. */
    if (!hd_vec_reserve(&ctx->idle_queues, ctx->idle_queues.len + ctx->next_id + 2))
        return hd_error(HD_NO_MEMORY, "stream");
    return hal->ops->queue_create(hal, &ctx->fault, out_queue);
}

static bool stream_is_blocking(const struct core_stream *stream)
{
    return !(stream->flags & CORE_STREAM_NON_BLOCKING);
}

enum hd_status core_stream_create(struct core_context *ctx, unsigned flags, int priority,
                                  struct core_stream **out_stream)
{
    struct core_stream *stream = core_handle_alloc(CORE_STREAM);
    enum hd_status status;

    if (!stream)
        return hd_error(HD_NO_MEMORY, "stream");
    hd_lock_init(&stream->lock, HD_RANK_STREAM, "stream");
    stream->ctx = ctx;
    stream->flags = flags;
    stream->priority = priority;
    hd_lock_acquire(&ctx->lock);
    status = queue_take_locked(ctx, &stream->queue);
    stream->id = ++ctx->next_id;
    if (status == HD_OK && ctx->legacy) {
        stream->next = ctx->streams;
        ctx->streams = stream;
        if (stream_is_blocking(stream))
            atomic_fetch_add(&ctx->nblocking, 1);
    }
    hd_lock_release(&ctx->lock);
    if (status != HD_OK) {
        hd_lock_fini(&stream->lock);
        core_handle_free(stream);
        return status;
    }
    *out_stream = stream;
    return HD_OK;
}

void core_stream_destroy(struct core_stream *stream)
{
    struct core_context *ctx = stream->ctx;

    hd_lock_acquire(&ctx->lock);
    for (struct core_stream **link = &ctx->streams; *link; link = &(*link)->next) {
        if (*link == stream) {
            *link = stream->next;
            if (stream_is_blocking(stream))
                atomic_fetch_sub(&ctx->nblocking, 1);
            break;
        }
    }
    (void)!hd_vec_push(&ctx->idle_queues, stream->queue);
    hd_lock_release(&ctx->lock);
    hd_lock_fini(&stream->lock);
    core_handle_free(stream);
}

enum hd_status core_stream_per_thread(struct core_context *ctx, struct core_stream **out_stream)
{
    static __thread struct core_stream *last;
    static __thread uint64_t last_ctx;
    uint64_t self = (uint64_t)syscall(SYS_gettid);
    struct core_stream *stream;

    if (last && last_ctx == ctx->id) {
        *out_stream = last;
        return HD_OK;
    }
    hd_lock_acquire(&ctx->lock);
    for (stream = ctx->streams; stream && stream->thread != self; stream = stream->next)
        ;
    hd_lock_release(&ctx->lock);
    if (!stream) {
        HD_TRY(core_stream_create(ctx, 0, 0, &stream));
        stream->thread = self;
    }
    last = *out_stream = stream;
    last_ctx = ctx->id;
    return HD_OK;
}

/* ---- order between streams */

static union hal_packet wait_packet(struct hal_queue *queue, uint64_t position)
{
    union hal_packet p = {.sem = {.head.op = HAL_OP_WAIT, .value = position}};

    p.sem.address = (uintptr_t)&queue->ring->retired;
    return p;
}

static enum hd_status submit_locked(struct core_stream *stream, const union hal_packet *packets,
                                    unsigned n)
{
    struct hal_queue *queue = stream->queue;
    struct hal_device *hal = queue->device;
    const struct core_tap *tap = atomic_load_explicit(&core_tap, memory_order_acquire);

    if (HD_UNLIKELY(tap && tap->packet))
        for (unsigned i = 0; i < n; i++)
            tap->packet(stream, &packets[i]);
    for (;;) {
        enum hd_status status = queue->ops->submit(queue, packets, n);

        if (status != HD_BUSY)
            return status;
        HD_TRY(hal->ops->wait(hal, &queue->ring->retired,
                              hal_queue_submitted(queue) + n - queue->ring->slots, UINT64_MAX));
    }
}

/* The legacy stream waits for what blocking streams were given so far. */
static enum hd_status order_legacy(struct core_stream *legacy)
{
    struct core_context *ctx = legacy->ctx;
    union hal_packet waits[MAX_WAITS];
    enum hd_status status = HD_OK;
    unsigned n = 0;

    hd_lock_acquire(&ctx->lock);
    hd_lock_acquire(&legacy->lock);
    for (struct core_stream *s = ctx->streams; s && status == HD_OK; s = s->next) {
        uint64_t position = hal_queue_submitted(s->queue);

        if (!stream_is_blocking(s) || atomic_load(&s->waited_by_legacy) >= position ||
            hal_queue_retired(s->queue) >= position)
            continue;
        atomic_store(&s->waited_by_legacy, position);
        waits[n++] = wait_packet(s->queue, position);
        if (n == MAX_WAITS) {
            status = submit_locked(legacy, waits, n);
            n = 0;
        }
    }
    if (n && status == HD_OK)
        status = submit_locked(legacy, waits, n);
    hd_lock_release(&legacy->lock);
    hd_lock_release(&ctx->lock);
    return status;
}

/* A blocking stream waits for what the legacy stream was given so far. */
static enum hd_status order_blocking_locked(struct core_stream *stream)
{
    struct hal_queue *legacy = stream->ctx->legacy->queue;
    uint64_t position = hal_queue_submitted(legacy);
    union hal_packet wait;

    if (stream->legacy_waited >= position || hal_queue_retired(legacy) >= position)
        return HD_OK;
    stream->legacy_waited = position;
    wait = wait_packet(legacy, position);
    return submit_locked(stream, &wait, 1);
}

/* Parameters that do not fit the packet go to the queue's ring. */
static enum hd_status place_params(struct core_stream *stream, struct hal_dispatch *p,
                                   const void *params, uint32_t params_B)
{
    struct hal_queue *queue = stream->queue;
    struct hal_device *hal = queue->device;

    p->params_B = params_B;
    if (params_B <= HAL_INLINE_PARAMS_B) {
        memcpy(p->params, params, params_B);
        return HD_OK;
    }
    for (;;) {
        void *at = hal_queue_params(queue, params_B, &p->params_ring_B);

        if (at) {
            memcpy(at, params, params_B);
            p->params_va = (uintptr_t)at;
            return HD_OK;
        }
        if (hal_queue_is_idle(queue))
            return hd_error(HD_BAD_ARG, "%u bytes of kernel parameters are too many", params_B);
        HD_TRY(
            hal->ops->wait(hal, &queue->ring->retired, hal_queue_retired(queue) + 1, UINT64_MAX));
    }
}

enum hd_status core_stream_submit(struct core_stream *stream, union hal_packet *packets, unsigned n,
                                  const void *params, uint32_t params_B)
{
    struct core_context *ctx = stream->ctx;
    enum hd_status status = HD_OK;

    if (stream == ctx->legacy) {
        if (atomic_load(&ctx->nblocking))
            HD_TRY(order_legacy(stream));
        hd_lock_acquire(&stream->lock);
    } else {
        hd_lock_acquire(&stream->lock);
        if (stream_is_blocking(stream))
            status = order_blocking_locked(stream);
    }
    if (status == HD_OK && packets[0].head.op == HAL_OP_DISPATCH)
        status = place_params(stream, &packets[0].dispatch, params, params_B);
    if (status == HD_OK)
        status = submit_locked(stream, packets, n);
    hd_lock_release(&stream->lock);
    return status;
}

/* ---- waiting */

enum hd_status core_stream_synchronize(struct core_stream *stream)
{
    struct core_context *ctx = stream->ctx;
    struct hal_device *hal = ctx->device->hal;
    struct hal_queue *queue = stream->queue;

    /* The legacy stream stands for everything that orders with it. */
    if (stream == ctx->legacy && atomic_load(&ctx->nblocking))
        HD_TRY(order_legacy(stream));
    HD_TRY(hal->ops->wait(hal, &queue->ring->retired, hal_queue_submitted(queue), UINT64_MAX));
    hal->ops->printf_flush(hal);
    return core_context_status(ctx);
}

enum hd_status core_stream_query(struct core_stream *stream)
{
    HD_TRY(core_context_status(stream->ctx));
    return hal_queue_is_idle(stream->queue) ? HD_OK : HD_BUSY;
}

enum hd_status core_stream_call(struct core_stream *stream, void (*func)(void *), void *arg,
                                bool always)
{
    union hal_packet p = {.host_call = {.head.op = HAL_OP_HOST_CALL, .always = always}};

    p.host_call.func = (uintptr_t)func;
    p.host_call.arg = (uintptr_t)arg;
    return core_stream_submit(stream, &p, 1, NULL, 0);
}
