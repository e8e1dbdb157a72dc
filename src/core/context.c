/* Contexts, and the primary one of a device. */
#include <assert.h>

#include "base/mem.h"
#include "core/context.h"
#include "core/current.h"
#include "core/debug/coredump.h"
#include "core/device.h"
#include "core/mem/memory_parts.h"
#include "core/module/module.h"
#include "core/notify.h"
#include "core/stream/event.h"
#include "core/stream/retire.h"
#include "core/stream/stream_parts.h"
#include "core/texture/array.h"
#include "core/texture/texture_object.h"
#include "hal/hal.h"
#include "registry/registry.h"

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

/* The first live object of a list of the context, with a reference, or NULL. */
#define FIRST(list, name)                                                                          \
    static struct core_##name *first_##name(struct core_context *ctx)                              \
    {                                                                                              \
        struct core_##name *first;                                                                 \
                                                                                                   \
        hd_lock_acquire(&ctx->lock);                                                               \
        for (first = ctx->list; first && !core_##name##_ref_live(first); first = first->next)      \
            ;                                                                                      \
        hd_lock_release(&ctx->lock);                                                               \
        return first;                                                                              \
    }
FIRST(modules, module)
FIRST(events, event)
FIRST(streams, stream)
FIRST(arrays, array)
FIRST(textures, texture)
#undef FIRST

/* Destroys what the context owns, but the legacy stream and the queues: it can be used again. */
static void context_clear(struct core_context *ctx)
{
    struct core_module *module;
    struct core_event *event;
    struct core_stream *stream;
    struct core_array *array;
    struct core_texture *texture;

    hal_domain_stop(ctx->domain, hal_stop_grace_ns());
    while ((module = first_module(ctx))) {
        core_module_destroy(module);
        core_module_unref(module);
    }
    while ((event = first_event(ctx))) {
        core_event_destroy(event);
        core_event_unref(event);
    }
    while ((stream = first_stream(ctx))) {
        core_stream_destroy(stream);
        core_stream_unref(stream);
    }
    while ((texture = first_texture(ctx))) {
        core_texture_destroy(texture);
        core_texture_unref(texture);
    }
    while ((array = first_array(ctx))) {
        core_array_destroy(array);
        core_array_unref(array);
    }
    core_memory_release_context(ctx);
    atomic_store(&ctx->dumped, false);
    hd_lock_acquire(&ctx->lock);
    ctx->peers.len = 0;
    ctx->gate = (struct core_gate){0};
    hd_lock_release(&ctx->lock);
    core_thread_prune();
}

/* ---- other processes see it: registry/registry.h */

static void count_context(struct core_context *ctx, int more)
{
    reg_count(&ctx->device->use->contexts, (uint64_t)more);
}

enum hd_status core_context_create(struct core_device *device, unsigned flags,
                                   struct core_context **out_ctx)
{
    struct core_context *ctx = core_handle_alloc(CORE_CONTEXT);
    enum hd_status status;

    if (!ctx)
        return hd_error(HD_NO_MEMORY, "context");
    context_init(ctx, device, flags);
    /*
     * From the device's first context on. No queue of it exists before, so nothing has been
     * counted.
     */
    struct reg_use *use = reg_claim(device->uuid);
    hd_lock_acquire(&core_memory_lock);
    if (use && device->use != use) {
        device->use = use;
        atomic_store(&use->memory_B, core_pool_used_locked(device->pool));
    }
    hd_lock_release(&core_memory_lock);
    status = device->hal->ops->domain_create(device->hal, &ctx->domain);
    if (status == HD_OK) {
        ctx->fault_status = &ctx->domain->fault->status;
        ctx->domain->owner = ctx;
        ctx->domain->use = device->use;
    }
    if (status == HD_OK)
        status = core_dump_context(ctx, flags);
    if (status == HD_OK)
        status = core_stream_create(ctx, 0, 0, &ctx->legacy);
    if (status != HD_OK) {
        core_context_unref(ctx);
        return status;
    }
    core_object_publish(&ctx->object);
    count_context(ctx, 1);
    *out_ctx = core_context_ref(ctx);
    if (tap_wants(HEDDLE_KIND(OBJECT)))
        core_notify_object(CORE_CONTEXT, ctx, core_context_handle(ctx), false);
    return HD_OK;
}

bool core_context_destroy(struct core_context *ctx)
{
    if (!core_object_retire(&ctx->object))
        return false;
    hd_lock_acquire(&ctx->lock);
    ctx->closing = true;
    hd_lock_release(&ctx->lock);
    context_clear(ctx);
    count_context(ctx, -1);
    if (tap_wants(HEDDLE_KIND(OBJECT)))
        core_notify_object(CORE_CONTEXT, ctx, core_context_handle(ctx), true);
    core_context_unref(ctx);
    return true;
}

/* Nobody has a reference, so no stream, event or module of it has one either. */
void core_context_finalise(struct core_context *ctx)
{
    assert(!ctx->streams && !ctx->modules && !ctx->events && !ctx->arrays && !ctx->textures);
    if (ctx->legacy) {
        core_object_retire(&ctx->legacy->object);
        core_stream_unref(ctx->legacy);
    }
    /*
     * A call that had a reference until now may have submitted after core_context_destroy() waited.
     */
    for (struct core_stream *s = ctx->draining_streams; s; s = s->next)
        (void)!core_queue_wait(s->queue);
    for (size_t i = 0; i < ctx->idle_queues.len; i++)
        (void)!core_queue_wait(ctx->idle_queues.at[i]);
    hd_lock_acquire(&ctx->lock);
    core_streams_reap_locked(ctx);
    core_events_reap_locked(ctx);
    hd_lock_release(&ctx->lock);
    assert(!ctx->draining_streams && !ctx->draining_events);
    assert(ctx->idle_queues.len == ctx->nqueues);
    while (ctx->idle_queues.len) {
        struct hal_queue *queue = hd_vec_pop(&ctx->idle_queues);

        core_retire_forget(queue->ring);
        queue->ops->destroy(queue);
    }
    hd_vec_fini(&ctx->idle_queues);
    hd_vec_fini(&ctx->peers);
    hd_free(ctx->dump);
    if (ctx->domain)
        ctx->device->hal->ops->domain_destroy(ctx->domain);
    hd_lock_fini(&ctx->lock);
    core_handle_free(ctx);
}

/*
 * ---- the primary context: one per device, counted
 *
 * It is made once and keeps its handle: the last release resets it, as the manual puts it, so that
 * a thread to which it is current, and a program that has kept the handle, find it when it is
 * retained again (cuda-api-wrappers counts on both). In between no call takes it for a context.
 */

static void context_close(struct core_context *ctx, bool closing)
{
    hd_lock_acquire(&ctx->lock);
    ctx->closing = closing;
    hd_lock_release(&ctx->lock);
}

static void context_primary_reset(struct core_context *ctx)
{
    context_clear(ctx);
    ctx->device->hal->ops->domain_reset(ctx->domain);
    ctx->id = atomic_fetch_add(&next_context_id, 1) + 1;
}

static enum hd_status context_primary_create(struct core_device *device)
{
    enum hd_status status = core_context_create(device, device->primary_flags, &device->primary);

    if (status == HD_OK)
        device->primary->primary = true;
    return status;
}

enum hd_status core_primary_retain(struct core_device *device, struct core_context **out_ctx)
{
    enum hd_status status = HD_OK;

    hd_lock_acquire(&device->lock);
    if (!device->primary)
        status = context_primary_create(device);
    else if (!device->primary_refs) {
        struct core_context *ctx = device->primary;
        ctx->flags = ctx->device->primary_flags;
        context_close(ctx, false);
        core_object_revive(&ctx->object);
        count_context(ctx, 1);
        if (tap_wants(HEDDLE_KIND(OBJECT)))
            core_notify_object(CORE_CONTEXT, ctx, core_context_handle(ctx), false);
    }
    if (status == HD_OK) {
        device->primary_refs++;
        *out_ctx = core_context_ref(device->primary);
    }
    hd_lock_release(&device->lock);
    return status;
}

enum hd_status core_primary_release(struct core_device *device)
{
    enum hd_status status = HD_OK;

    hd_lock_acquire(&device->lock);
    if (!device->primary_refs)
        status = hd_error(HD_BAD_ARG, "the primary context is not retained");
    else if (--device->primary_refs == 0) {
        /* Like core_context_destroy(), but for the reference. */
        struct core_context *ctx = device->primary;
        bool retired = core_object_retire(&ctx->object);

        assert(retired);
        (void)retired;
        context_close(ctx, true);
        context_primary_reset(ctx);
        count_context(ctx, -1);
        if (tap_wants(HEDDLE_KIND(OBJECT)))
            core_notify_object(CORE_CONTEXT, ctx, core_context_handle(ctx), true);
    }
    hd_lock_release(&device->lock);
    return status;
}

enum hd_status core_primary_reset(struct core_device *device)
{
    hd_lock_acquire(&device->lock);
    if (device->primary_refs)
        context_primary_reset(device->primary);
    hd_lock_release(&device->lock);
    return HD_OK;
}

const char *core_context_failure(const struct core_context *ctx)
{
    return core_context_status(ctx) == HD_OK ? "" : ctx->domain->fault->message;
}

/* ---- limits */

#define X(name, value, max, doc)                                                                   \
    _Static_assert((int)CORE_LIMIT_##name == (int)HAL_LIMIT_##name, "one table");
#include "limits.def"
#undef X

enum hd_status core_context_limit_set(struct core_context *ctx, enum core_limit limit,
                                      uint64_t value)
{
    assert(limit < CORE_LIMIT_COUNT);
    return hal_limit_set(ctx->domain, (enum hal_limit)limit, value);
}

uint64_t core_context_limit(const struct core_context *ctx, enum core_limit limit)
{
    assert(limit < CORE_LIMIT_COUNT);
    return hal_limit_get(ctx->domain, (enum hal_limit)limit);
}

/* ---- peers */

static size_t context_peer_find_locked(const struct core_context *ctx,
                                       const struct core_context *peer)
{
    size_t i = 0;

    assert(hd_lock_held(&ctx->lock));
    while (i < ctx->peers.len && ctx->peers.at[i] != peer->id)
        i++;
    return i;
}

static enum hd_status context_peer_check(const struct core_context *ctx,
                                         const struct core_context *peer)
{
    if (ctx->device == peer->device)
        return hd_error(HD_BAD_ARG, "both contexts are on device %d", ctx->device->ordinal);
    return HD_OK;
}

enum hd_status core_peer_enable(struct core_context *ctx, struct core_context *peer)
{
    enum hd_status status = HD_OK;

    HD_TRY(context_peer_check(ctx, peer));
    hd_lock_acquire(&ctx->lock);
    if (context_peer_find_locked(ctx, peer) < ctx->peers.len)
        status = hd_error(HD_BUSY, "peer access is enabled already");
    else if (!hd_vec_push(&ctx->peers, peer->id))
        status = hd_error(HD_NO_MEMORY, "peer access");
    hd_lock_release(&ctx->lock);
    return status;
}

enum hd_status core_peer_disable(struct core_context *ctx, struct core_context *peer)
{
    enum hd_status status = HD_OK;
    size_t i;

    HD_TRY(context_peer_check(ctx, peer));
    hd_lock_acquire(&ctx->lock);
    i = context_peer_find_locked(ctx, peer);
    if (i < ctx->peers.len) {
        ctx->peers.at[i] = hd_vec_last(&ctx->peers);
        ctx->peers.len--;
    } else {
        status = hd_error(HD_NOT_FOUND, "peer access was not enabled");
    }
    hd_lock_release(&ctx->lock);
    return status;
}
