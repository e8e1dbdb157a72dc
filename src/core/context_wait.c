/* Waiting for all work of a context. */
#include "core/context.h"
#include "core/device.h"
#include "core/mem/mempool.h"
#include "core/stream/stream_parts.h"
#include "hal/hal.h"

struct queues {
    HD_VEC(struct hal_queue *) vec;
};

static enum hd_status queue_note(struct queues *queues, struct hal_queue *queue)
{
    if (hal_queue_is_idle(queue) || hd_vec_push(&queues->vec, queue))
        return HD_OK;
    return hd_error(HD_NO_MEMORY, "list of busy streams");
}

bool core_context_is_idle(struct core_context *ctx)
{
    bool idle = hal_queue_is_idle(ctx->legacy->queue);

    hd_lock_acquire(&ctx->lock);
    for (struct core_stream *s = ctx->streams; s && idle; s = s->next)
        idle = hal_queue_is_idle(s->queue);
    for (struct core_stream *s = ctx->draining_streams; s && idle; s = s->next)
        idle = hal_queue_is_idle(s->queue);
    for (size_t i = 0; i < ctx->idle_queues.len && idle; i++)
        idle = hal_queue_is_idle(ctx->idle_queues.at[i]);
    hd_lock_release(&ctx->lock);
    return idle;
}

enum hd_status core_context_synchronize(struct core_context *ctx)
{
    struct hal_device *hal = ctx->device->hal;
    struct queues queues = {0};
    enum hd_status status = HD_OK;

    if (atomic_load(&ctx->nqueues) > 1) {
        /*
         * Streams may be destroyed while we wait; queues stay, because the caller has the context.
         */
        hd_lock_acquire(&ctx->lock);
        for (struct core_stream *s = ctx->streams; s && status == HD_OK; s = s->next)
            status = queue_note(&queues, s->queue);
        for (struct core_stream *s = ctx->draining_streams; s && status == HD_OK; s = s->next)
            status = queue_note(&queues, s->queue);
        for (size_t i = 0; i < ctx->idle_queues.len && status == HD_OK; i++)
            status = queue_note(&queues, ctx->idle_queues.at[i]);
        hd_lock_release(&ctx->lock);
    }
    if (status == HD_OK)
        status = core_queue_wait(ctx->legacy->queue);
    for (size_t i = 0; i < queues.vec.len && status == HD_OK; i++)
        status = core_queue_wait(queues.vec.at[i]);
    hd_vec_fini(&queues.vec);
    hal->ops->printf_flush(ctx->domain);
    core_mempools_settle();
    return status == HD_OK ? core_context_status(ctx) : status;
}
