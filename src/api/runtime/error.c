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

RT_API(cudaGetErrorName)
const char *cudaGetErrorName(cudaError_t error)
{
    const struct error_row *row = find((int)error);
    return row ? row->name : "unrecognized error code";
}

RT_API(cudaGetErrorString)
const char *cudaGetErrorString(cudaError_t error)
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

RT_API(cudaPeekAtLastError)
cudaError_t cudaPeekAtLastError(void)
{
    return rt_thread.last_error;
}

RT_API(cudaGetLastError)
cudaError_t cudaGetLastError(void)
{
    cudaError_t error = rt_thread.last_error;
    if (!is_sticky(error))
        rt_thread.last_error = cudaSuccess;
    return error;
}
