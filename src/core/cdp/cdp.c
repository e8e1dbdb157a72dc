/* The device runtime's state of a grid: its life, and how its children are submitted (cdp.h). */
#include "core/cdp/cdp.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "core/context.h"
#include "core/debug/debug.h"
#include "core/device.h"
#include "core/mem/memory.h"
#include "core/stream/stream_parts.h"

/* ---- life */

static struct core_cdp *cdp_create(const struct core_cdp_call *call)
{
    struct core_cdp *cdp = hd_new(struct core_cdp);

    if (!cdp)
        return NULL;
    cdp->ctx = call->ctx;
    cdp->module = call->module;
    cdp->depth = call->queue->depth + 1;
    hd_lock_init(&cdp->lock, HD_RANK_LEAF, "cdp");
    hd_map_init(&cdp->launches);
    hd_map_init(&cdp->errors);
    return cdp;
}

struct core_cdp *core_cdp_look(const struct core_cdp_call *call)
{
    return atomic_load_explicit(call->children, memory_order_acquire);
}

struct core_cdp *core_cdp_get(const struct core_cdp_call *call)
{
    void *found = core_cdp_look(call);
    struct core_cdp *made;

    if (found)
        return found;
    made = cdp_create(call);
    if (!made || atomic_compare_exchange_strong(call->children, &found, made))
        return made;
    core_cdp_destroy(made); /* another thread was first */
    return found;
}

static void launch_free(struct core_cdp *cdp, struct core_cdp_launch *launch)
{
    atomic_fetch_sub(&cdp->ctx->pending_launches, 1);
    core_memory_free_own(launch->buffer_va);
    hd_free(launch);
}

void core_cdp_destroy(struct core_cdp *cdp)
{
    struct hd_map_iter it = {0};

    while (hd_map_next(&cdp->launches, &it))
        launch_free(cdp, it.value);
    hd_map_fini(&cdp->launches);
    hd_map_fini(&cdp->errors);
    for (size_t i = 0; i < cdp->texts.len; i++)
        core_memory_free_own(cdp->texts.at[i]);
    hd_vec_fini(&cdp->texts);
    hd_vec_fini(&cdp->commands);
    hd_vec_fini(&cdp->objects);
    hd_lock_fini(&cdp->lock);
    hd_free(cdp);
}

const struct core_entry *core_cdp_entry(const struct core_cdp_call *call, uint64_t func)
{
    uint64_t index = (func >> 4) - 1;

    if (!func || func != HAL_FUNC_HANDLE(index))
        return NULL;
    return core_image_find_index(call->module->image, index);
}

bool core_cdp_add(struct core_cdp *cdp, const struct core_cdp_command *command)
{
    bool added;

    hd_lock_acquire(&cdp->lock);
    added = hd_vec_push(&cdp->commands, *command);
    hd_lock_release(&cdp->lock);
    return added;
}

/* ---- submission */

/*
 * Where a grid's children go: a queue, and another one behind it when its ring is full, since
 * whoever submits must not wait for the device.
 */
struct submitter {
    struct core_cdp *cdp;
    struct hal_queue *queue;        /* NULL: none yet */
    int priority;                   /* of the parent's */
    const struct hal_queue *parent; /* whose multiprocessors it uses */
    uint32_t grid_id;
};

static enum hd_status queue_next(struct submitter *s)
{
    struct core_context *ctx = s->cdp->ctx;
    struct hal_queue *before = s->queue;
    union hal_packet wait;
    struct hal_sms sms;
    enum hd_status status;

    hd_lock_acquire(&ctx->lock);
    status = core_queue_take_locked(ctx, s->priority, &s->queue);
    if (status == HD_OK && before)
        core_queue_give_locked(ctx, before);
    hd_lock_release(&ctx->lock);
    if (status != HD_OK) {
        s->queue = before;
        return status;
    }
    s->queue->depth = s->cdp->depth;
    hal_queue_sms_set(s->queue, hal_queue_sms(s->parent, &sms) ? &sms : NULL);
    if (!before)
        return HD_OK;
    wait = core_wait_packet(before, hal_queue_submitted(before));
    return s->queue->ops->submit(s->queue, &wait, 1);
}

/* HD_BUSY, without a message: the ring has no room for the packet or its parameters. */
static enum hd_status packet_try(struct submitter *s, union hal_packet *p, const void *params,
                                 uint32_t params_B)
{
    struct hal_queue *queue = s->queue;

    if (hal_queue_submitted(queue) + 1 - hal_queue_retired(queue) > HAL_RING_SLOTS)
        return HD_BUSY;
    if (params_B > HAL_INLINE_PARAMS_B) {
        void *at = hal_queue_params(queue, &p->dispatch, NULL, params_B);

        if (!at)
            return HD_BUSY;
        memcpy(at, params, params_B);
    } else if (params_B) {
        memcpy(p->dispatch.params, params, params_B);
    }
    return queue->ops->submit(queue, p, 1);
}

static enum hd_status packet_submit(struct submitter *s, union hal_packet *p, const void *params,
                                    uint32_t params_B)
{
    enum hd_status status;

    if (!s->queue)
        HD_TRY(queue_next(s));
    status = packet_try(s, p, params, params_B);
    if (status != HD_BUSY)
        return status;
    HD_TRY(queue_next(s));
    status = packet_try(s, p, params, params_B);
    return status == HD_BUSY ? hd_error(HD_INTERNAL, "a launch that fits no empty queue") : status;
}

/* The parameters are read from where the kernel has written them. */
static enum hd_status function_submit(struct submitter *s, struct core_function *f,
                                      const struct core_launch *l)
{
    struct hal_device *hal = s->cdp->ctx->device->hal;
    uint8_t params[CORE_PARAMS_MAX_B + 4];
    union hal_packet p;

    HD_TRY(core_launch_check(f, l));
    if (f->native)
        return hd_error(HD_NOT_SUPPORTED, "kernel %s is native: kernels cannot launch it",
                        f->entry->name);
    HD_TRY(core_launch_pack(f->entry, l, params));
    core_launch_packet(f, l, &p);
    HD_TRY(hal->ops->kernel_prepare(core_debug_choose(f, &p.dispatch), l->grid, l->block));
    p.dispatch.params_B = f->entry->params_B;
    p.dispatch.grid_id = core_grid_id(s->cdp->ctx, &s->grid_id);
    return packet_submit(s, &p, params, f->entry->params_B);
}

static enum hd_status launch_submit(struct submitter *s, struct core_cdp_launch *l)
{
    struct core_function *function;
    enum hd_status status;

    HD_TRY(core_module_function_at(s->cdp->module, l->entry->position, &function));
    l->launch.buffer = (const void *)(uintptr_t)l->buffer_va;
    l->launch.buffer_B = l->buffer_B;
    status = function_submit(s, function, &l->launch);
    core_function_unref(function);
    return status;
}

static enum hd_status command_submit(struct submitter *s, struct core_cdp_command *command)
{
    if (!command->launch)
        return packet_submit(s, &command->packet, NULL, 0);
    return launch_submit(s, command->launch);
}

static enum hd_status commands_submit(struct submitter *s, bool tail)
{
    struct core_cdp *cdp = s->cdp;

    for (size_t i = 0; i < cdp->commands.len; i++)
        if (cdp->commands.at[i].tail == tail)
            HD_TRY(command_submit(s, &cdp->commands.at[i]));
    return HD_OK;
}

/* The grid is over: nobody else uses its struct core_cdp. */
void core_cdp_submit(struct hal_queue *parent, void *children, union hal_packet *out_wait)
{
    struct submitter s = {.cdp = children, .priority = parent->priority, .parent = parent};
    struct core_context *ctx = s.cdp->ctx;
    enum hd_status status = HD_OK;

    if (core_context_status(ctx) == HD_OK)
        status = commands_submit(&s, false);
    if (core_context_status(ctx) == HD_OK && status == HD_OK)
        status = commands_submit(&s, true);
    if (status != HD_OK)
        hal_domain_fail(ctx->domain, status, 0, NULL, hd_error_message());
    *out_wait = core_wait_packet(parent, 0); /* holds */
    if (s.queue)
        *out_wait = core_wait_packet(s.queue, hal_queue_submitted(s.queue));
    core_cdp_destroy(s.cdp);
    if (!s.queue)
        return;
    hd_lock_acquire(&ctx->lock);
    core_queue_give_locked(ctx, s.queue);
    hd_lock_release(&ctx->lock);
}
