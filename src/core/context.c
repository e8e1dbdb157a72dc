/* Contexts, the primary one, and the calling thread's stack of them. */
#include "base/mem.h"
#include "core/core.h"

#define STACK_DEPTH 64

static __thread struct core_context *stack[STACK_DEPTH];
static __thread unsigned depth; /* entries; the current one is the last */

struct core_context *core_current(void)
{
    return depth ? stack[depth - 1] : NULL;
}

void core_current_set(struct core_context *ctx)
{
    if (!ctx) {
        depth -= depth > 0;
        return;
    }
    depth += depth == 0;
    stack[depth - 1] = ctx;
}

enum hd_status core_current_push(struct core_context *ctx)
{
    if (depth == STACK_DEPTH)
        return hd_error(HD_LAUNCH_LIMIT, "more than %d contexts pushed", STACK_DEPTH);
    stack[depth++] = ctx;
    return HD_OK;
}

struct core_context *core_current_pop(void)
{
    return depth ? stack[--depth] : NULL;
}

/* ---- life */

static _Atomic uint64_t next_context_id;

static void context_init(struct core_context *ctx, struct core_device *device, unsigned flags)
{
    ctx->device = device;
    ctx->id = atomic_fetch_add(&next_context_id, 1) + 1;
    ctx->flags = flags;
    ctx->api_version = 3020;
    hd_lock_init(&ctx->lock, HD_RANK_CONTEXT, "context");
}

/* Everything that belongs to the context; the struct stays. */
static void context_clear(struct core_context *ctx)
{
    (void)!core_context_synchronize(ctx);
    while (ctx->modules)
        core_module_destroy(ctx->modules);
    while (ctx->events)
        core_event_destroy(ctx->events);
    while (ctx->streams)
        core_stream_destroy(ctx->streams);
    if (ctx->legacy)
        core_stream_destroy(ctx->legacy);
    ctx->legacy = NULL;
    while (ctx->idle_queues.len) {
        struct hal_queue *queue = hd_vec_pop(&ctx->idle_queues);
        queue->ops->destroy(queue);
    }
    hd_vec_fini(&ctx->idle_queues);
    core_memory_release_context(ctx);
}

static enum hd_status context_open(struct core_context *ctx)
{
    return core_stream_create(ctx, 0, 0, &ctx->legacy);
}

enum hd_status core_context_create(struct core_device *device, unsigned flags,
                                   struct core_context **out_ctx)
{
    struct core_context *ctx = core_handle_alloc(CORE_CONTEXT);
    enum hd_status status;

    if (!ctx)
        return hd_error(HD_NO_MEMORY, "context");
    context_init(ctx, device, flags);
    status = context_open(ctx);
    if (status != HD_OK) {
        core_context_destroy(ctx);
        return status;
    }
    *out_ctx = ctx;
    return HD_OK;
}

void core_context_destroy(struct core_context *ctx)
{
    context_clear(ctx);
    hd_lock_fini(&ctx->lock);
    core_handle_free(ctx);
}

/* ---- the primary context: one per device, counted */

enum hd_status core_primary_retain(struct core_device *device, struct core_context **out_ctx)
{
    enum hd_status status = HD_OK;

    hd_lock_acquire(&device->lock);
    if (!device->primary_refs) {
        status = core_context_create(device, device->primary_flags, &device->primary);
        if (status == HD_OK)
            device->primary->primary = true;
    }
    if (status == HD_OK) {
        device->primary_refs++;
        *out_ctx = device->primary;
    }
    hd_lock_release(&device->lock);
    return status;
}

enum hd_status core_primary_release(struct core_device *device)
{
    enum hd_status status = HD_OK;

    hd_lock_acquire(&device->lock);
    if (!device->primary_refs) {
        status = hd_error(HD_BAD_ARG, "the primary context is not retained");
    } else if (--device->primary_refs == 0) {
        core_context_destroy(device->primary);
        device->primary = NULL;
    }
    hd_lock_release(&device->lock);
    return status;
}

enum hd_status core_primary_reset(struct core_device *device)
{
    enum hd_status status = HD_OK;

    hd_lock_acquire(&device->lock);
    if (device->primary) {
        struct core_context *ctx = device->primary;

        context_clear(ctx);
        memset(&ctx->fault, 0, sizeof(ctx->fault));
        atomic_store(&ctx->nblocking, 0);
        ctx->id = atomic_fetch_add(&next_context_id, 1) + 1;
        status = context_open(ctx);
        if (status != HD_OK) /* no default stream: nothing works until the next reset */
            hal_fault_raise(&ctx->fault, status, 0, hd_error_message());
    }
    hd_lock_release(&device->lock);
    return status;
}

/* ---- waiting */

static enum hd_status wait_for(struct core_context *ctx, struct core_stream *stream)
{
    struct hal_device *hal = ctx->device->hal;
    struct hal_queue *queue = stream->queue;

    return hal->ops->wait(hal, &queue->ring->retired, hal_queue_submitted(queue), UINT64_MAX);
}

enum hd_status core_context_synchronize(struct core_context *ctx)
{
    struct hal_device *hal = ctx->device->hal;
    HD_VEC(struct hal_queue *) queues = {0};
    enum hd_status status = HD_OK;

    /* Streams may be destroyed while we wait; queues stay. */
    hd_lock_acquire(&ctx->lock);
    for (struct core_stream *s = ctx->streams; s && status == HD_OK; s = s->next)
        if (!hal_queue_is_idle(s->queue) && !hd_vec_push(&queues, s->queue))
            status = HD_NO_MEMORY;
    for (size_t i = 0; i < ctx->idle_queues.len && status == HD_OK; i++)
        if (!hal_queue_is_idle(ctx->idle_queues.at[i]) &&
            !hd_vec_push(&queues, ctx->idle_queues.at[i]))
            status = HD_NO_MEMORY;
    hd_lock_release(&ctx->lock);
    if (status == HD_OK && ctx->legacy)
        status = wait_for(ctx, ctx->legacy);
    for (size_t i = 0; i < queues.len && status == HD_OK; i++)
        status = hal->ops->wait(hal, &queues.at[i]->ring->retired,
                                hal_queue_submitted(queues.at[i]), UINT64_MAX);
    hd_vec_fini(&queues);
    hal->ops->printf_flush(hal);
    return status == HD_OK ? core_context_status(ctx) : status;
}
