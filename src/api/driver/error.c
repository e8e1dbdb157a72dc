/* Results: translation, names, texts. */
#include <stdarg.h>

#include "api/driver/driver.h"

/* hd_status, CUresult */
#define STATUS_LIST(X)                                                                             \
    X(OK, CUDA_SUCCESS)                                                                            \
    X(NO_MEMORY, CUDA_ERROR_OUT_OF_MEMORY)                                                         \
    X(BAD_PTX, CUDA_ERROR_INVALID_PTX)                                                             \
    X(BAD_IMAGE, CUDA_ERROR_INVALID_IMAGE)                                                         \
    X(NO_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU)                                                      \
    X(NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED)                                                     \
    X(BAD_ARG, CUDA_ERROR_INVALID_VALUE)                                                           \
    X(NOT_FOUND, CUDA_ERROR_NOT_FOUND)                                                             \
    X(BUSY, CUDA_ERROR_NOT_READY)                                                                  \
    X(IO, CUDA_ERROR_OPERATING_SYSTEM)                                                             \
    X(BAD_IR, CUDA_ERROR_UNKNOWN)                                                                  \
    X(NO_DEVICE_MEMORY, CUDA_ERROR_OUT_OF_MEMORY)                                                  \
    X(LAUNCH_LIMIT, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)                                       \
    X(ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS)                                                 \
    X(MISALIGNED, CUDA_ERROR_MISALIGNED_ADDRESS)                                                   \
    X(TRAP, CUDA_ERROR_LAUNCH_FAILED)                                                              \
    X(ASSERT, CUDA_ERROR_ASSERT)                                                                   \
    X(STACK_OVERFLOW, CUDA_ERROR_HARDWARE_STACK_ERROR)                                             \
    X(TIMEOUT, CUDA_ERROR_LAUNCH_TIMEOUT)                                                          \
    X(UNRESOLVED, CUDA_ERROR_INVALID_PTX)                                                          \
    X(JIT, CUDA_ERROR_INVALID_SOURCE)                                                              \
    X(CORRUPT, CUDA_ERROR_INVALID_IMAGE)                                                           \
    X(BAD_VERSION, CUDA_ERROR_UNSUPPORTED_PTX_VERSION)                                             \
    X(INTERNAL, CUDA_ERROR_UNKNOWN)

CUresult drv_result(enum hd_status status)
{
    static const CUresult results[] = {
#define X(name, result) [HD_##name] = result,
        STATUS_LIST(X)
#undef X
    };

    if (HD_LIKELY(status == HD_OK))
        return CUDA_SUCCESS;
    return (unsigned)status < HD_COUNT_OF(results) ? results[status] : CUDA_ERROR_UNKNOWN;
}

CUresult drv_error(CUresult result, const char *fmt, ...)
{
    char text[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    (void)!hd_error(HD_BAD_ARG, "%s", text);
    return result;
}

const char *heddle_error_message(void)
{
    return hd_error_message();
}

struct result_row {
    CUresult value;
    const char *name, *text;
};

static const struct result_row *result_find(CUresult value)
{
    static const struct result_row rows[] = {
#define X(name, number, text) {name, #name, text},
#include "api/cuda_errors.def"
#undef X
    };

    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (rows[i].value == value)
            return &rows[i];
    return NULL;
}

HD_EXPORT CUresult cuGetErrorName(CUresult error, const char **name)
{
    const struct result_row *row = result_find(error);

    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    *name = row ? row->name : NULL;
    return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

HD_EXPORT CUresult cuGetErrorString(CUresult error, const char **text)
{
    const struct result_row *row = result_find(error);

    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = row ? row->text : NULL;
    return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
