/* Launches in streams, into captures, or on the calling thread. */
#include "base/log.h"
#include "core/context.h"
#include "core/debug/counted.h"
#include "core/device.h"
#include "core/graph/capture.h"
#include "core/stream/launch.h"
#include "hal/hal.h"
#include "heddle/native.h"
#include "san/san.h"

/* How long a stream does not get on before a launch call returns that would wait for it. */
#define SETTLE_NS      UINT64_C(3000000000)
#define SETTLE_STEP_NS UINT64_C(20000000)

/*
 * A launch that is run again and again changes memory that the host may look at. So nobody goes on
 * before it is over, but for a stream that does not get on: what it waits for may come later.
 */
void core_launch_settle(struct core_stream *stream)
{
    struct hal_device *hal = stream->ctx->device->hal;
    struct hal_queue *queue = stream->queue;
    uint64_t position = hal_queue_submitted(queue), quiet_ns = 0;

    if (HD_LIKELY(!san_holds_launches()))
        return;
    while (quiet_ns < SETTLE_NS &&
           hal->ops->wait(hal, &queue->ring->retired, position, SETTLE_STEP_NS) == HD_TIMEOUT)
        quiet_ns = san_is_running() ? 0 : quiet_ns + SETTLE_STEP_NS;
}

/* On this thread; without WAIT only if the stream is idle. */
static HD_NOINLINE enum hd_status launch_inline(const struct core_function *f,
                                                struct core_stream *stream, union hal_packet *p,
                                                const void *params)
{
    bool waits = (f->native->flags & HEDDLE_NATIVE_WAIT) != 0;
    struct hal_native_end end;

    p->head.flags |= HAL_FLAG_CALLER;
    HD_TRY(core_stream_submit_caller(stream, p, waits, params, f->entry->params_B));
    if (!(p->head.flags & HAL_FLAG_CALLER))
        return HD_OK;
    stream->queue->ops->run(stream->queue, p->dispatch.grid_id, &end);
    return end.status == HD_OK ? HD_OK : hd_error(end.status, "%s", end.message);
}

enum hd_status core_launch(struct core_function *f, struct core_stream *stream,
                           const struct core_launch *l)
{
    struct hal_device *hal = f->module->ctx->device->hal;
    struct hal_kernel *kernel;
    union hal_packet p;
    uint8_t params[CORE_PARAMS_MAX_B + 4];

    if (core_stream_is_capturing(stream)) {
        struct core_body body;

        HD_TRY(core_body_kernel(f, core_function_handle(f), l, &body));
        return core_capture_add(stream, &body);
    }
    if (HD_UNLIKELY(l->for_graphs))
        return hd_error(HD_BAD_ARG, "%s: an attribute of graph nodes, outside of a capture",
                        f->entry->name);
    HD_TRY(core_launch_check(f, l));
    if (l->cooperative)
        HD_TRY(core_launch_check_cooperative(f, l, core_stream_sms(stream)));
    HD_TRY(core_launch_pack(f->entry, l, params));
    core_launch_packet(f, l, &p);
    kernel = core_kernel_choose(f, &p.dispatch);
    HD_TRY(hal->ops->kernel_prepare(
        kernel, p.dispatch.grid,
        (const uint32_t[3]){p.dispatch.block[0], p.dispatch.block[1], p.dispatch.block[2]}));
    if (HD_UNLIKELY(f->native && f->native->flags & HEDDLE_NATIVE_INLINE))
        HD_TRY(launch_inline(f, stream, &p, params));
    else
        HD_TRY(core_stream_submit(stream, &p, 1, params, f->entry->params_B, NULL));
    if (hd_debug(HD_DEBUG_SYNC))
        return core_stream_synchronize(stream);
    core_launch_settle(stream);
    return HD_OK;
}
