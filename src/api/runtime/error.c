/* Error codes: names and texts, the driver's codes as the runtime's, the thread's last error. */
#include "runtime.h"

struct error_row {
    int value;
    const char *name, *text;
};

static const struct error_row rows[] = {
#define X(name, value, text) {value, #name, text},
#include "api/cudart_errors.def"
#undef X
};

/* The table and the public header describe the same enumeration. */
#define X(name, value, text) _Static_assert((int)name == value, #name);
#include "api/cudart_errors.def"
#undef X

/* The rows are in ascending order of their values; a test checks it. */
static const struct error_row *find(int value)
{
    size_t low = 0, high = HD_COUNT_OF(rows);
    assert(rows[0].value == 0 && rows[high - 1].value > rows[0].value);
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (rows[mid].value < value)
            low = mid + 1;
        else
            high = mid;
    }
    return low < HD_COUNT_OF(rows) && rows[low].value == value ? &rows[low] : NULL;
}

/*
 * Since 10.1 the runtime numbers what it shares with the driver as the driver does. A number that
 * only the driver knows becomes "unknown error".
 */
cudaError_t rt_from_driver(CUresult result)
{
    return find((int)result) ? (cudaError_t)(int)result : cudaErrorUnknown;
}

const char *rt_cudaGetErrorName(cudaError_t error)
{
    const struct error_row *row = find((int)error);
    return row ? row->name : "unrecognized error code";
}

const char *rt_cudaGetErrorString(cudaError_t error)
{
    const struct error_row *row = find((int)error);
    return row ? row->text : "unrecognized error code";
}

/* Errors that leave the context unusable are not cleared by asking for them. */
static bool is_sticky(cudaError_t error)
{
    switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
        return true;
    default:
        return false;
    }
}

/* The program asks: what failed in this thread so far was seen. */
static void error_seen(struct rt_thread *t)
{
    if (HD_UNLIKELY(t->unseen)) {
        assert(t->unseen <= atomic_load(&rt.unseen));
        atomic_fetch_sub(&rt.unseen, t->unseen);
        t->unseen = 0;
    }
}

cudaError_t rt_cudaPeekAtLastError(void)
{
    struct rt_thread *t = &rt_thread;
    error_seen(t);
    return t->last_error;
}

cudaError_t rt_cudaGetLastError(void)
{
    struct rt_thread *t = &rt_thread;
    cudaError_t error = t->last_error;
    error_seen(t);
    if (HD_UNLIKELY(error) && !is_sticky(error))
        t->last_error = cudaSuccess;
    return error;
}

/* ---- the log of errors, which is the driver's */

cudaError_t rt_cudaLogsRegisterCallback(cudaLogsCallback_t func, void *user,
                                        cudaLogsCallbackHandle *out)
{
    /* The levels have the driver's numbers. */
    _Static_assert((int)cudaLogLevelError == CU_LOG_LEVEL_ERROR, "levels");
    _Static_assert((int)cudaLogLevelWarning == CU_LOG_LEVEL_WARNING, "levels");
    return rt_result(cuLogsRegisterCallback((CUlogsCallback)func, user, out));
}

cudaError_t rt_cudaLogsUnregisterCallback(cudaLogsCallbackHandle callback)
{
    return rt_result(cuLogsUnregisterCallback(callback));
}

cudaError_t rt_cudaLogsCurrent(cudaLogIterator *iterator, unsigned flags)
{
    return rt_result(cuLogsCurrent(iterator, flags));
}

cudaError_t rt_cudaLogsDumpToFile(cudaLogIterator *iterator, const char *path, unsigned flags)
{
    return rt_result(cuLogsDumpToFile(iterator, path, flags));
}

cudaError_t rt_cudaLogsDumpToMemory(cudaLogIterator *iterator, char *buffer, size_t *size,
                                    unsigned flags)
{
    return rt_result(cuLogsDumpToMemory(iterator, buffer, size, flags));
}
