#include "core/debug/checkpoint.h"

#include <time.h>

#include "core/calls.h"
#include "core/context.h"
#include "core/debug/report.h"
#include "core/handle.h"
#include "hal/hal.h"

#define LOOK_AGAIN_NS 50000

static enum core_checkpoint_state state; /* of the thread that serves */

static void state_set(enum core_checkpoint_state next)
{
    state = next;
    core_control_show(next);
}

static enum hd_status state_expect(enum core_checkpoint_state expected)
{
    static const char *const names[] = {"running", "locked", "checkpointed"};

    if (state == expected)
        return HD_OK;
    return hd_error(HD_BAD_STATE, "it is %s, not %s", names[state], names[expected]);
}

static bool contexts_are_idle(void)
{
    struct core_context *ctx;
    bool idle = true;

    for (uint32_t at = 0; idle && (ctx = core_handle_next(CORE_CONTEXT, &at));) {
        idle = core_context_is_idle(ctx);
        core_context_unref(ctx);
    }
    return idle;
}

/*
 * Waits for the work of all contexts, HD_TIMEOUT. It only looks: who waits for a device may execute
 * kernels, and this thread takes no signals of their faults.
 */
static enum hd_status contexts_settle(uint64_t deadline_ns)
{
    const struct timespec pause = {0, LOOK_AGAIN_NS};

    while (!contexts_are_idle()) {
        if (hal_time_ns() >= deadline_ns)
            return HD_TIMEOUT;
        nanosleep(&pause, NULL);
    }
    return HD_OK;
}

static enum hd_status process_lock(uint32_t timeout_ms)
{
    uint64_t deadline_ns =
        timeout_ms ? hal_time_ns() + (uint64_t)timeout_ms * 1000000u : UINT64_MAX;
    enum hd_status status;

    HD_TRY(state_expect(CORE_PROCESS_RUNNING));
    status = core_calls_stop(deadline_ns);
    if (status == HD_OK) {
        status = contexts_settle(deadline_ns);
        if (status != HD_OK)
            core_calls_resume();
    }
    if (status == HD_TIMEOUT)
        return hd_error(HD_BUSY, "its calls and its work did not end within %u ms", timeout_ms);
    if (status == HD_OK)
        state_set(CORE_PROCESS_LOCKED);
    return status;
}

static enum hd_status process_checkpoint(void)
{
    HD_TRY(state_expect(CORE_PROCESS_LOCKED));
    state_set(CORE_PROCESS_CHECKPOINTED);
    return HD_OK;
}

static enum hd_status process_restore(const struct core_control_request *request)
{
    HD_TRY(state_expect(CORE_PROCESS_CHECKPOINTED));
    if (request->npairs > CORE_DEVICES_MAX)
        return hd_error(HD_BAD_ARG, "%u pairs of devices", request->npairs);
    if (request->npairs)
        HD_TRY(core_devices_replace(request->pairs, request->npairs));
    state_set(CORE_PROCESS_LOCKED);
    return HD_OK;
}

static enum hd_status process_unlock(void)
{
    HD_TRY(state_expect(CORE_PROCESS_LOCKED));
    state_set(CORE_PROCESS_RUNNING);
    core_calls_resume();
    return HD_OK;
}

/*
 * Executes a request in this process. HD_BAD_STATE: not in the state that the diagram asks for;
 * HD_BUSY: calls or work did not end in time, the process runs on; HD_BAD_ARG: pairs that do not
 * say for each device which one takes its place; HD_NOT_SUPPORTED: by the system.
 */
static enum hd_status serve(const struct core_control_request *request, struct hd_buf *out_text)
{
    switch (request->op) {
    case CORE_CONTROL_REPORT:
        return core_report(out_text, CORE_CONTROL_TEXT_B);
    case CORE_CONTROL_LOCK:
        return process_lock(request->timeout_ms);
    case CORE_CONTROL_CHECKPOINT:
        return process_checkpoint();
    case CORE_CONTROL_RESTORE:
        return process_restore(request);
    case CORE_CONTROL_UNLOCK:
        return process_unlock();
    default:
        return hd_error(HD_BAD_ARG, "request %u is unknown", request->op);
    }
}

enum hd_status core_checkpoint_init(void)
{
    return core_control_start(serve);
}
