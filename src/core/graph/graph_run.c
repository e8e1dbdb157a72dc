/* Programs of packets (graph_program.c) go into a stream: step by step, and in parts if need be. */
#include <assert.h>

#include "core/graph/capture.h"
#include "core/stream/event.h"
#include "core/stream/retire.h"
#include "core/stream/stream_parts.h"
#include "hal/hal.h"
#include "tap/tap.h"

struct core_run core_run_begin(struct core_context *ctx, struct core_program *program)
{
    core_copy_count(ctx, &program->bytes);
    return (struct core_run){.program = program, .grid_id = core_grid_ids(ctx, program->ngrids)};
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

/* WAIT for one more run than before. */
static union hal_packet run_join(struct core_join *join)
{
    union hal_packet p = {.sem = {.head.op = HAL_OP_WAIT, .value = ++join->joined}};

    p.sem.address = (uintptr_t)&join->done;
    return p;
}

static enum hd_status step_run_locked(struct core_stream *stream, struct core_run *run,
                                      const struct core_step *step, uint32_t n)
{
    union hal_packet *packets = NULL, join;

    if (n) /* a program of other steps has no packets at all */
        packets = run->program->packets.at + step->first + run->done;
    switch (step->kind) {
    case CORE_STEP_DISPATCH:
        HD_TRY(core_stream_params_locked(stream, &packets->dispatch, step->params, step->params_B));
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
        join = run_join(step->join);
        return core_stream_submit_locked(stream, &join, 1);
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

static enum hd_status packets_notified(struct core_stream *stream, struct core_run *run,
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
static enum hd_status step_notified(struct core_stream *stream, struct core_run *run,
                                    const struct core_step *step, uint32_t n)
{
    union hal_packet join;

    switch (step->kind) {
    case CORE_STEP_RECORD:
        return core_event_record(step->event, stream, false);
    case CORE_STEP_WAIT:
        return core_event_wait(stream, step->event, false);
    case CORE_STEP_SEMAPHORES:
        return core_extsem_ops_run(stream, step->semaphores, false);
    case CORE_STEP_JOIN:
        join = run_join(step->join);
        return core_stream_submit(stream, &join, 1, NULL, 0, NULL);
    case CORE_STEP_DISPATCH:
    case CORE_STEP_PACKETS:
        return packets_notified(stream, run, step, n);
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
        /* Packets of the current step have been submitted. */
        run->done += n;
        if (run->done >= run_step(run)->count) {
            run->done = 0;
            run->step++;
        }
    }
    return HD_OK;
}

enum hd_status core_stream_run(struct core_stream *stream, struct core_run *run,
                               struct core_part part, const _Atomic uint64_t *after,
                               uint64_t after_value, uint64_t *out_position)
{
    bool notified = tap_wants(HEDDLE_KIND_ALL);
    enum hd_status status;

    HD_TRY(core_capture_check_stream(stream));
    status = core_order_acquire(stream);
    if (status == HD_OK)
        status = after_locked(stream, after, after_value);
    if (status == HD_OK && !notified)
        status = part_run(stream, run, part, step_run_locked);
    *out_position = hal_queue_submitted(stream->queue);
    hd_lock_release(&stream->lock);
    if (!notified || status != HD_OK)
        return status;
    status = part_run(stream, run, part, step_notified);
    core_notify_node(NULL, 0);
    *out_position = hal_queue_submitted(stream->queue);
    return status;
}
