/*
 * Streams: a queue each, plus the order that CUDA promises between the legacy default stream and
 * the blocking ones. Order is made of WAIT packets on other queues' `retired`, only where something
 * is unfinished.
 */
#include <assert.h>

#include "base/list.h"
#include "base/mem.h"
#include "core/graph/capture.h"
#include "core/cdp/cdp.h"
#include "core/graph/graph_condition.h"
#include "core/stream/green.h"
#include "core/stream/retire.h"
#include "core/notify.h"
#include "hal/hal.h"

#define MAX_WAITS 64 /* in front of one submission; more are submitted separately */
#define GRID_IDS  64u

/* ---- life */

/* To the multiprocessors of the device, or to those of them that `green` has. */
static void queue_limit(struct hal_queue *queue, const struct core_device *device,
                        const struct core_green *green)
{
    struct hal_sms sms = {0};

    if (!green && device->parts == 1) {
        hal_queue_sms_set(queue, NULL);
        return;
    }
    for (uint32_t sm = 0; sm < (uint32_t)device->units; sm++)
        if (!green || core_sms_has(&green->sms, sm))
            hal_sms_add(&sms, device->sm_first + sm);
    hal_queue_sms_set(queue, &sms);
}

enum hd_status core_queue_take_locked(struct core_context *ctx, int priority,
                                      struct hal_queue **out_queue)
{
    struct hal_device *hal = ctx->device->hal;

    assert(hd_lock_held(&ctx->lock));
    priority = HD_MIN(0, HD_MAX(priority, hal->info.priority_greatest));
    for (size_t i = 0; i < ctx->idle_queues.len; i++) {
        struct hal_queue *queue = ctx->idle_queues.at[i];

        if (hal_queue_is_idle(queue) && queue->priority == priority) {
            *out_queue = queue;
            core_retire_settle(); /* its stamps are read before it is used again */
            queue->depth = 0;
            queue_limit(queue, ctx->device, NULL);
            ctx->idle_queues.at[i] = hd_vec_last(&ctx->idle_queues);
            ctx->idle_queues.len--;
            return HD_OK;
        }
    }
    /* Room for its return, so that finalising a stream cannot fail. */
    if (!hd_vec_reserve(&ctx->idle_queues, ctx->nqueues + 1))
        return hd_error(HD_NO_MEMORY, "stream");
    HD_TRY(hal->ops->queue_create(ctx->domain, priority, out_queue));
    queue_limit(*out_queue, ctx->device, NULL);
    ctx->nqueues++;
    return HD_OK;
}

void core_queue_give_locked(struct core_context *ctx, struct hal_queue *queue)
{
    assert(hd_lock_held(&ctx->lock));
    assert(ctx->idle_queues.len < ctx->nqueues);
    if (!hd_vec_push(&ctx->idle_queues, queue))
        assert(!"there is room for every queue");
}

static bool stream_is_blocking(const struct core_stream *stream)
{
    return !(stream->flags & CORE_STREAM_NON_BLOCKING);
}

static bool stream_is_legacy(const struct core_stream *stream)
{
    return stream == stream->ctx->legacy;
}

/* The default stream that it orders with: its context's, or its green context's. */
static struct core_stream *default_of(struct core_stream *stream)
{
    if (stream->is_default)
        return stream;
    return stream->home ? stream->home : stream->ctx->legacy;
}

/* Stands for all blocking streams that order with it. */
static bool stream_is_default(const struct core_stream *stream)
{
    return stream->is_default || stream_is_legacy(stream);
}

static void stream_link_locked(struct core_context *ctx, struct core_stream *stream)
{
    assert(hd_lock_held(&ctx->lock));
    hd_list_push(&ctx->streams, stream);
    if (stream_is_blocking(stream))
        atomic_fetch_add(&ctx->nblocking, 1);
}

static enum hd_status gate_pass_locked(struct core_stream *stream, const struct core_gate *gate)
{
    union hal_packet wait;

    if (!gate->queue || hal_queue_retired(gate->queue) >= gate->position)
        return HD_OK;
    wait = core_wait_packet(gate->queue, gate->position);
    return core_stream_submit_locked(stream, &wait, 1);
}

/* A new stream waits for what all streams were made to wait for. Never blocks: it is empty. */
static enum hd_status gates_pass_locked(struct core_context *ctx, struct core_stream *stream)
{
    enum hd_status status;

    assert(hd_lock_held(&ctx->lock));
    hd_lock_acquire(&stream->lock);
    status = gate_pass_locked(stream, &ctx->gate);
    if (status == HD_OK && stream->green)
        status = gate_pass_locked(stream, &stream->green->gate);
    hd_lock_release(&stream->lock);
    return status;
}

/* A context's first stream is its legacy stream, which is in no list. */
static enum hd_status stream_open_locked(struct core_context *ctx, struct core_stream *stream)
{
    assert(hd_lock_held(&ctx->lock));
    if (ctx->closing)
        return hd_error(HD_BAD_ARG, "the context was destroyed");
    HD_TRY(core_queue_take_locked(ctx, stream->priority, &stream->queue));
    if (stream->green)
        queue_limit(stream->queue, ctx->device, stream->green);
    stream->id = ++ctx->next_id;
    stream->queue->context_id = ctx->id;
    stream->queue->stream_id = stream->id;
    stream->queue->ordinal = (uint32_t)ctx->device->ordinal;
    if (ctx->legacy) {
        core_context_ref(ctx);
        stream_link_locked(ctx, stream);
    }
    return gates_pass_locked(ctx, stream);
}

enum hd_status core_stream_create(struct core_context *ctx, unsigned flags, int priority,
                                  struct core_stream **out_stream)
{
    return core_stream_create_green(ctx, NULL, flags, priority, out_stream);
}

uint32_t core_stream_sms(const struct core_stream *stream)
{
    return stream->green ? stream->green->nsms : (uint32_t)stream->ctx->device->units;
}

/* As taps have them. */
static uint32_t tap_flags(const struct core_stream *stream)
{
    return (stream->flags & CORE_STREAM_NON_BLOCKING ? HEDDLE_STREAM_NON_BLOCKING : 0) |
           (stream->flags & CORE_STREAM_PER_THREAD ? HEDDLE_STREAM_PER_THREAD : 0) |
           (stream->is_default ? HEDDLE_STREAM_DEFAULT : 0);
}

/* Of a green context the first stream is its default stream. */
static void stream_join_green(struct core_stream *stream, struct core_green *green)
{
    struct core_stream *home = core_stream_lookup(green->default_stream);

    stream->green = core_green_ref(green);
    stream->home = home;
    stream->is_default = !green->default_stream;
}

enum hd_status core_stream_create_green(struct core_context *ctx, struct core_green *green,
                                        unsigned flags, int priority,
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
    if (green)
        stream_join_green(stream, green);
    hd_lock_acquire(&ctx->lock);
    status = stream_open_locked(ctx, stream);
    if (status == HD_OK)
        core_object_publish(&stream->object);
    if (status == HD_OK && ctx->legacy)
        *out_stream = core_stream_ref(stream);
    else if (status == HD_OK)
        *out_stream = stream; /* the owner's reference */
    hd_lock_release(&ctx->lock);
    if (status != HD_OK)
        core_stream_unref(stream);
    else if (tap_wants(HEDDLE_KIND(OBJECT)) && !stream_is_legacy(stream) && ctx->legacy)
        core_notify_stream(ctx, core_stream_handle(stream), tap_flags(stream));
    return status;
}

bool core_stream_destroy(struct core_stream *stream)
{
    assert(!stream_is_legacy(stream));
    if (!core_object_retire(&stream->object))
        return false;
    core_capture_abandon(stream);
    if (tap_wants(HEDDLE_KIND(OBJECT)))
        core_notify_object(CORE_STREAM, stream->ctx, core_stream_handle(stream), true);
    core_stream_unref(stream);
    return true;
}

static void stream_free_locked(struct core_context *ctx, struct core_stream *stream)
{
    if (stream != ctx->legacy && stream_is_blocking(stream))
        atomic_fetch_sub(&ctx->nblocking, 1);
    core_queue_give_locked(ctx, stream->queue);
    hd_free(stream->attributes);
    hd_vec_fini(&stream->awaited);
    hd_lock_fini(&stream->lock);
    core_handle_free(stream);
}

void core_streams_reap_locked(struct core_context *ctx)
{
    struct core_stream **link = &ctx->draining_streams;

    assert(hd_lock_held(&ctx->lock));
    while (*link) {
        struct core_stream *stream = *link;

        if (hal_queue_is_idle(stream->queue)) {
            *link = stream->next;
            stream_free_locked(ctx, stream);
        } else {
            link = &stream->next;
        }
    }
}

void core_stream_finalise(struct core_stream *stream)
{
    struct core_context *ctx = stream->ctx;
    bool has_ctx = !stream_is_legacy(stream);

    core_capture_abandon(stream); /* a call may have begun one after it was destroyed */
    core_capture_stream_fini(stream);
    core_stream_unref(stream->home);
    core_green_unref(stream->green); /* the pointer stays, to be compared */
    if (!stream->queue) {            /* was never opened */
        hd_lock_fini(&stream->lock);
        core_handle_free(stream);
        return;
    }
    hd_lock_acquire(&ctx->lock);
    assert(has_ctx == (stream->link != NULL));
    if (has_ctx) {
        hd_list_remove(stream);
        core_streams_reap_locked(ctx);
    }
    if (!has_ctx || hal_queue_is_idle(stream->queue)) { /* a context drains its own queues */
        stream_free_locked(ctx, stream);
    } else {
        stream->next = ctx->draining_streams;
        ctx->draining_streams = stream;
    }
    hd_lock_release(&ctx->lock);
    if (has_ctx)
        core_context_unref(ctx);
}

/* ---- attributes */

static bool attributes_make_locked(struct core_stream *stream)
{
    assert(hd_lock_held(&stream->lock));
    if (!stream->attributes)
        stream->attributes =
            hd_alloc_array(CORE_STREAM_ATTRIBUTE_MAX, sizeof(stream->attributes[0]));
    return stream->attributes != NULL;
}

enum hd_status core_stream_attribute_set(struct core_stream *stream, unsigned number,
                                         const void *value)
{
    bool made;

    assert(number < CORE_STREAM_ATTRIBUTE_MAX);
    hd_lock_acquire(&stream->lock);
    made = attributes_make_locked(stream);
    if (made)
        memcpy(stream->attributes[number], value, CORE_STREAM_ATTRIBUTE_B);
    hd_lock_release(&stream->lock);
    return made ? HD_OK : hd_error(HD_NO_MEMORY, "stream attributes");
}

void core_stream_attribute_get(struct core_stream *stream, unsigned number, void *out_value)
{
    assert(number < CORE_STREAM_ATTRIBUTE_MAX);
    hd_lock_acquire(&stream->lock);
    if (stream->attributes)
        memcpy(out_value, stream->attributes[number], CORE_STREAM_ATTRIBUTE_B);
    else
        memset(out_value, 0, CORE_STREAM_ATTRIBUTE_B);
    hd_lock_release(&stream->lock);
}

enum hd_status core_stream_attributes_copy(struct core_stream *to, struct core_stream *from)
{
    uint8_t value[CORE_STREAM_ATTRIBUTE_B];

    /* One by one: two streams' locks are never held together. */
    for (unsigned i = 0; i < CORE_STREAM_ATTRIBUTE_MAX; i++) {
        core_stream_attribute_get(from, i, value);
        HD_TRY(core_stream_attribute_set(to, i, value));
    }
    return HD_OK;
}

/* ---- order between streams */

union hal_packet core_wait_packet(struct hal_queue *queue, uint64_t position)
{
    union hal_packet p = {.sem = {.head.op = HAL_OP_WAIT, .value = position}};

    p.sem.address = (uintptr_t)&queue->ring->retired;
    return p;
}

enum hd_status core_stream_submit_locked(struct core_stream *stream,
                                         const union hal_packet *packets, unsigned n)
{
    struct hal_queue *queue = stream->queue;
    struct hal_device *hal = queue->device;

    assert(hd_lock_held(&stream->lock) && n > 0 && n <= HAL_RING_SLOTS);
    if (HD_UNLIKELY(core_retire_any()))
        HD_TRY(core_retire_room(queue, n));
    for (;;) {
        enum hd_status status = queue->ops->submit(queue, packets, n);

        if (status != HD_BUSY)
            return status;
        HD_TRY(hal->ops->wait(hal, &queue->ring->retired,
                              hal_queue_submitted(queue) + n - HAL_RING_SLOTS, UINT64_MAX));
    }
}

/* 8 KiB: only what is used is written. */
struct waits {
    unsigned n;
    union hal_packet packets[MAX_WAITS];
};

static enum hd_status waits_submit_locked(struct core_stream *legacy, struct waits *waits)
{
    unsigned n = waits->n;

    waits->n = 0;
    return n ? core_stream_submit_locked(legacy, waits->packets, n) : HD_OK;
}

/* Waits for what the streams of a list were given so far. */
static enum hd_status waits_add_locked(struct core_stream *legacy, struct waits *waits,
                                       struct core_stream *list)
{
    for (struct core_stream *s = list; s; s = s->next) {
        uint64_t position = hal_queue_submitted(s->queue);

        if (!stream_is_blocking(s) || s == legacy || default_of(s) != legacy ||
            atomic_load(&s->waited_by_legacy) >= position ||
            hal_queue_retired(s->queue) >= position || hal_inside_queue(s->queue, position))
            continue;
        atomic_store(&s->waited_by_legacy, position);
        waits->packets[waits->n++] = core_wait_packet(s->queue, position);
        if (waits->n == MAX_WAITS)
            HD_TRY(waits_submit_locked(legacy, waits));
    }
    return HD_OK;
}

/*
 * The legacy stream waits for what blocking streams were given so far, destroyed ones included. Its
 * lock is held afterwards, also on failure.
 */
static enum hd_status order_legacy_acquire(struct core_stream *legacy)
{
    struct core_context *ctx = legacy->ctx;
    struct waits waits;
    enum hd_status status;

    assert(stream_is_default(legacy));
    waits.n = 0;
    hd_lock_acquire(&ctx->lock);
    hd_lock_acquire(&legacy->lock);
    status = waits_add_locked(legacy, &waits, ctx->streams);
    if (status == HD_OK)
        status = waits_add_locked(legacy, &waits, ctx->draining_streams);
    if (status == HD_OK)
        status = waits_submit_locked(legacy, &waits);
    core_streams_reap_locked(ctx);
    hd_lock_release(&ctx->lock);
    return status;
}

/* A blocking stream waits for what the legacy stream was given so far. */
static enum hd_status order_blocking_locked(struct core_stream *stream)
{
    struct hal_queue *legacy = default_of(stream)->queue;
    uint64_t position = hal_queue_submitted(legacy);
    union hal_packet wait;

    assert(hd_lock_held(&stream->lock));
    if (stream->legacy_waited >= position || hal_queue_retired(legacy) >= position ||
        hal_inside_queue(legacy, position))
        return HD_OK;
    stream->legacy_waited = position;
    wait = core_wait_packet(legacy, position);
    return core_stream_submit_locked(stream, &wait, 1);
}

/* The stream's lock, which is held afterwards also on failure, and its place among the others. */
static enum hd_status order_acquire(struct core_stream *stream)
{
    bool legacy = stream_is_default(stream);

    if (legacy && atomic_load(&stream->ctx->nblocking))
        return order_legacy_acquire(stream);
    hd_lock_acquire(&stream->lock);
    return legacy || !stream_is_blocking(stream) ? HD_OK : order_blocking_locked(stream);
}

/* Unique in the context; taken from it in blocks, because launches are many. */
uint32_t core_grid_id(struct core_context *ctx, uint32_t *id)
{
    if (*id % GRID_IDS == 0)
        *id = atomic_fetch_add(&ctx->grid_id_blocks, 1) * GRID_IDS;
    return ++*id;
}

/* Parameters that do not fit the packet go to the queue's ring. */
static enum hd_status place_params_locked(struct core_stream *stream, struct hal_dispatch *p,
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
static enum hd_status submit_told_locked(struct core_stream *stream, struct core_retirement *r,
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

static void grid_number_locked(struct core_stream *stream, union hal_packet *p)
{
    if (p->head.op == HAL_OP_DISPATCH && !p->dispatch.grid_id)
        p->dispatch.grid_id = core_grid_id(stream->ctx, &stream->grid_id);
}

/* Listeners know a grid by its number, so it has one before they are told. */
static struct core_retirement *tell_packets(struct core_stream *stream, union hal_packet *packets,
                                            unsigned n)
{
    hd_lock_acquire(&stream->lock);
    grid_number_locked(stream, &packets[0]);
    hd_lock_release(&stream->lock);
    return core_notify_packets(stream, packets, n);
}

static inline enum hd_status submit_in_order(struct core_stream *stream, union hal_packet *packets,
                                             unsigned n, bool if_idle, const void *params,
                                             uint32_t params_B, uint64_t *out_position)
{
    struct core_retirement *told = NULL;
    enum hd_status status;

    HD_TRY(core_capture_check_stream(stream));
    if (tap_wants(HEDDLE_KIND_ALL))
        told = tell_packets(stream, packets, n);
    status = order_acquire(stream);
    if (status == HD_OK && packets[0].head.op == HAL_OP_DISPATCH) {
        grid_number_locked(stream, &packets[0]);
        status = place_params_locked(stream, &packets[0].dispatch, params, params_B);
        if (if_idle && !hal_queue_is_idle(stream->queue))
            packets[0].head.flags &= (uint16_t)~HAL_FLAG_CALLER;
    }
    if (HD_LIKELY(!told) && status == HD_OK)
        status = core_stream_submit_locked(stream, packets, n);
    else if (status == HD_OK)
        status = submit_told_locked(stream, told, packets, n);
    else
        hd_free(told);
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

/* ---- programs of packets */

struct core_run core_run_begin(struct core_context *ctx, struct core_program *program)
{
    uint32_t blocks = (program->ngrids + GRID_IDS - 1) / GRID_IDS;

    core_copy_count(ctx, &program->bytes);
    return (struct core_run){.program = program,
                             .grid_id = atomic_fetch_add(&ctx->grid_id_blocks, blocks) * GRID_IDS};
}

bool core_run_is_over(const struct core_run *run)
{
    return run->step == run->program->steps.len;
}

static const struct core_step *run_step(const struct core_run *run)
{
    assert(!core_run_is_over(run));
    return &run->program->steps.at[run->step];
}

/* Packets of the current step have been submitted. */
static void run_advance(struct core_run *run, uint32_t n)
{
    run->done += n;
    if (run->done < run_step(run)->count)
        return;
    run->done = 0;
    run->step++;
}

static void packets_number(union hal_packet *packets, uint32_t n, uint32_t *grid_id)
{
    for (uint32_t i = 0; i < n; i++)
        if (packets[i].head.op == HAL_OP_DISPATCH)
            packets[i].dispatch.grid_id = ++*grid_id;
}

/* Parts that leave the device something to do while the next one is copied. */
static enum hd_status packets_run_locked(struct core_stream *stream,
                                         const union hal_packet *packets, uint32_t n)
{
    enum { PART = HAL_RING_SLOTS / 4 };

    for (uint32_t done = 0; done < n; done += PART)
        HD_TRY(core_stream_submit_locked(stream, packets + done, HD_MIN(n - done, (uint32_t)PART)));
    return HD_OK;
}

static enum hd_status join_locked(struct core_stream *stream, struct core_branch *branch)
{
    union hal_packet join;

    core_branch_join_packet(branch, &join);
    return core_stream_submit_locked(stream, &join, 1);
}

static enum hd_status step_run_locked(struct core_stream *stream, struct core_run *run,
                                      const struct core_step *step, uint32_t n)
{
    union hal_packet *packets = NULL;

    if (n) /* a program of other steps has no packets at all */
        packets = run->program->packets.at + step->first + run->done;
    switch (step->kind) {
    case CORE_STEP_DISPATCH:
        HD_TRY(place_params_locked(stream, &packets->dispatch, step->params, step->params_B));
        packets_number(packets, 1, &run->grid_id);
        return core_stream_submit_locked(stream, packets, 1);
    case CORE_STEP_PACKETS:
        packets_number(packets, n, &run->grid_id);
        return packets_run_locked(stream, packets, n);
    case CORE_STEP_RECORD:
        return core_event_record_locked(step->event, stream);
    case CORE_STEP_WAIT:
        return core_event_wait_locked(stream, step->event);
    case CORE_STEP_SEMAPHORES:
        return core_extsem_ops_run(stream, step->semaphores, true);
    case CORE_STEP_JOIN:
        return join_locked(stream, step->branch);
    }
    assert(!"a step has a kind");
    return HD_INTERNAL;
}

static enum hd_status after_locked(struct core_stream *stream, const _Atomic uint64_t *semaphore,
                                   uint64_t value)
{
    union hal_packet p = {.sem = {.head.op = HAL_OP_WAIT, .value = value}};

    if (!semaphore || semaphore == &stream->queue->ring->retired ||
        atomic_load_explicit(semaphore, memory_order_acquire) >= value)
        return HD_OK;
    p.sem.address = (uintptr_t)semaphore;
    return core_stream_submit_locked(stream, &p, 1);
}

static enum hd_status join_told(struct core_stream *stream, struct core_branch *branch)
{
    union hal_packet join;

    core_branch_join_packet(branch, &join);
    return core_stream_submit(stream, &join, 1, NULL, 0, NULL);
}

static enum hd_status packets_told(struct core_stream *stream, struct core_run *run,
                                   const struct core_step *step, uint32_t n)
{
    const struct heddle_graph *graph = &run->program->graph;

    for (uint32_t i = 0; i < n; i++) {
        union hal_packet p = run->program->packets.at[step->first + run->done + i];
        const void *params = step->params ? step->params : p.dispatch.params;
        bool is_grid = p.head.op == HAL_OP_DISPATCH;
        uint32_t params_B = step->params ? step->params_B : is_grid ? p.dispatch.params_B : 0;

        packets_number(&p, 1, &run->grid_id);
        core_notify_node(graph, run->program->nodes.at[step->first + run->done + i]);
        HD_TRY(core_stream_submit(stream, &p, 1, params, params_B, NULL));
    }
    return HD_OK;
}

/* Packet by packet, each of which is told. */
static enum hd_status step_told(struct core_stream *stream, struct core_run *run,
                                const struct core_step *step, uint32_t n)
{
    switch (step->kind) {
    case CORE_STEP_RECORD:
        return core_event_record(step->event, stream, false);
    case CORE_STEP_WAIT:
        return core_event_wait(stream, step->event, false);
    case CORE_STEP_SEMAPHORES:
        return core_extsem_ops_run(stream, step->semaphores, false);
    case CORE_STEP_JOIN:
        return join_told(stream, step->branch);
    case CORE_STEP_DISPATCH:
    case CORE_STEP_PACKETS:
        return packets_told(stream, run, step, n);
    }
    assert(!"a step has a kind");
    return HD_INTERNAL;
}

typedef enum hd_status step_fn(struct core_stream *stream, struct core_run *run,
                               const struct core_step *step, uint32_t n);

static enum hd_status part_run(struct core_stream *stream, struct core_run *run,
                               struct core_part part, step_fn *submit)
{
    while (!core_run_is_over(run) && part.packets && part.params_B >= run_step(run)->params_B) {
        const struct core_step *step = run_step(run);
        uint32_t n = HD_MIN(step->count - run->done, part.packets);

        HD_TRY(submit(stream, run, step, n));
        part.packets -= HD_MAX(n, 1);
        part.params_B -= step->params_B;
        run_advance(run, n);
    }
    return HD_OK;
}

enum hd_status core_stream_run(struct core_stream *stream, struct core_run *run,
                               struct core_part part, const _Atomic uint64_t *after,
                               uint64_t after_value, uint64_t *out_position)
{
    bool told = tap_wants(HEDDLE_KIND_ALL);
    enum hd_status status;

    HD_TRY(core_capture_check_stream(stream));
    status = order_acquire(stream);
    if (status == HD_OK)
        status = after_locked(stream, after, after_value);
    if (status == HD_OK && !told)
        status = part_run(stream, run, part, step_run_locked);
    *out_position = hal_queue_submitted(stream->queue);
    hd_lock_release(&stream->lock);
    if (!told || status != HD_OK)
        return status;
    status = part_run(stream, run, part, step_told);
    core_notify_node(NULL, 0);
    *out_position = hal_queue_submitted(stream->queue);
    return status;
}

enum hd_status core_stream_mark(struct core_stream *stream, uint64_t *out_position)
{
    enum hd_status status;

    HD_TRY(core_capture_check_stream(stream));
    status = order_acquire(stream);
    *out_position = hal_queue_submitted(stream->queue);
    hd_lock_release(&stream->lock);
    return status;
}

/* ---- waiting */

enum hd_status core_stream_synchronize(struct core_stream *stream)
{
    struct core_context *ctx = stream->ctx;
    struct hal_device *hal = ctx->device->hal;
    struct hal_queue *queue = stream->queue;

    enum hd_status status = core_capture_check_stream(stream);

    HD_TRY(status);
    /* The legacy stream stands for everything that orders with it. */
    if (stream_is_default(stream) && atomic_load(&ctx->nblocking)) {
        status = order_legacy_acquire(stream);
        hd_lock_release(&stream->lock);
    }
    HD_TRY(status);
    HD_TRY(hal->ops->wait(hal, &queue->ring->retired, hal_queue_submitted(queue), UINT64_MAX));
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

enum hd_status core_stream_host(struct core_stream *stream, void (*func)(void *), void *arg)
{
    struct core_body body = core_body_host(func, arg);

    if (core_stream_is_capturing(stream))
        return core_capture_add(stream, &body);
    return core_stream_call(stream, func, arg, false);
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
