/*
 * Checkpoints of processes, this one's and others' (core/debug/checkpoint.h). The calls work
 * without cuInit() and while calls wait: that the other process does not use CUDA is what they
 * report.
 */
#include "api/driver/driver.h"
#include "core/debug/control.h"

/* What is reserved is zero in all arguments. */
#define ALL_ZERO(member) bytes_are_zero(&(member), sizeof(member))

static bool bytes_are_zero(const void *at, size_t size_B)
{
    const unsigned char *bytes = at;
    bool zero = true;

    for (size_t i = 0; i < size_B; i++)
        zero = zero && !bytes[i];
    return zero;
}

static CUresult result_of(enum hd_status status)
{
    switch (status) {
    case HD_NOT_FOUND:
        return CUDA_ERROR_NOT_INITIALIZED;
    case HD_IO:
        return CUDA_ERROR_NOT_PERMITTED;
    default:
        return drv_result(status);
    }
}

static CUresult ask(int pid, const struct core_control_request *request)
{
    return result_of(core_control_ask(pid, request, NULL));
}

CUresult drv_cuCheckpointProcessGetState(int pid, CUprocessState *state)
{
    struct core_control_view view;

    API_CALL_ANY(cuCheckpointProcessGetState);
    API_CHECK(pid > 0 && state);
    API_TRY(result_of(core_control_look(pid, &view)));
    *state = (CUprocessState)view.state;
    return CUDA_SUCCESS;
}

CUresult drv_cuCheckpointProcessGetRestoreThreadId(int pid, int *tid)
{
    struct core_control_view view;

    API_CALL_ANY(cuCheckpointProcessGetRestoreThreadId);
    API_CHECK(pid > 0 && tid);
    API_TRY(result_of(core_control_look(pid, &view)));
    *tid = view.tid;
    return CUDA_SUCCESS;
}

CUresult drv_cuCheckpointProcessLock(int pid, CUcheckpointLockArgs *args)
{
    struct core_control_request request = {.op = CORE_CONTROL_LOCK};

    API_CALL_ANY(cuCheckpointProcessLock);
    API_CHECK(pid > 0);
    API_CHECK(!args || (!args->reserved0 && ALL_ZERO(args->reserved1)));
    if (args)
        request.timeout_ms = args->timeoutMs;
    return ask(pid, &request);
}

CUresult drv_cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs *args)
{
    struct core_control_request request = {.op = CORE_CONTROL_CHECKPOINT};

    API_CALL_ANY(cuCheckpointProcessCheckpoint);
    API_CHECK(pid > 0);
    API_CHECK(!args || ALL_ZERO(args->reserved));
    return ask(pid, &request);
}

CUresult drv_cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs *args)
{
    struct core_control_request request = {.op = CORE_CONTROL_RESTORE};

    API_CALL_ANY(cuCheckpointProcessRestore);
    API_CHECK(pid > 0);
    API_CHECK(!args || (ALL_ZERO(args->reserved) && !args->reserved1));
    if (args && args->gpuPairsCount) {
        API_CHECK(args->gpuPairs && args->gpuPairsCount <= CORE_DEVICES_MAX);
        request.npairs = args->gpuPairsCount;
        for (unsigned i = 0; i < request.npairs; i++) {
            memcpy(request.pairs[i].old_uuid, args->gpuPairs[i].oldUuid.bytes, 16);
            memcpy(request.pairs[i].new_uuid, args->gpuPairs[i].newUuid.bytes, 16);
        }
    }
    return ask(pid, &request);
}

CUresult drv_cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs *args)
{
    struct core_control_request request = {.op = CORE_CONTROL_UNLOCK};

    API_CALL_ANY(cuCheckpointProcessUnlock);
    API_CHECK(pid > 0);
    API_CHECK(!args || ALL_ZERO(args->reserved));
    return ask(pid, &request);
}

/* heddle ps */
int heddle_process_report(int pid, char *text, size_t text_B)
{
    const struct core_control_request request = {.op = CORE_CONTROL_REPORT};
    struct hd_buf got;

    hd_buf_init(&got);
    enum hd_status status = core_control_ask(pid, &request, &got);
    if (status == HD_OK && got.failed)
        status = hd_error(HD_NO_MEMORY, "a report");
    if (status == HD_OK)
        snprintf(text, text_B, "%s", got.ptr ? got.ptr : "");
    hd_buf_fini(&got);
    return (int)status;
}
