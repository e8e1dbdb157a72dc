/* Results: translation, names, texts. */
#include <stdarg.h>

#include "api/driver/caller.h"
#include "api/driver/driver.h"
#include "base/log.h"
#include "base/map.h"
#include "heddle/native.h"

/*
 * hd_status, CUresult, and whether drv_code_result() says it: not what a program asks for, nor a
 * kernel's fault, which the device has said.
 */
#define STATUS_LIST(X)                                                                             \
    X(OK, CUDA_SUCCESS, QUIET)                                                                     \
    X(NO_MEMORY, CUDA_ERROR_OUT_OF_MEMORY, SAY)                                                    \
    X(BAD_PTX, CUDA_ERROR_INVALID_PTX, SAY)                                                        \
    X(BAD_IMAGE, CUDA_ERROR_INVALID_IMAGE, SAY)                                                    \
    X(NO_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU, SAY)                                                 \
    X(NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED, SAY)                                                \
    X(BAD_ARG, CUDA_ERROR_INVALID_VALUE, SAY)                                                      \
    X(NOT_FOUND, CUDA_ERROR_NOT_FOUND, QUIET)                                                      \
    X(BUSY, CUDA_ERROR_NOT_READY, QUIET)                                                           \
    X(IO, CUDA_ERROR_OPERATING_SYSTEM, SAY)                                                        \
    X(BAD_IR, CUDA_ERROR_UNKNOWN, SAY)                                                             \
    X(NO_DEVICE_MEMORY, CUDA_ERROR_OUT_OF_MEMORY, SAY)                                             \
    X(LAUNCH_LIMIT, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, SAY)                                  \
    X(ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS, QUIET)                                          \
    X(MISALIGNED, CUDA_ERROR_MISALIGNED_ADDRESS, QUIET)                                            \
    X(TRAP, CUDA_ERROR_LAUNCH_FAILED, QUIET)                                                       \
    X(NATIVE, CUDA_ERROR_LAUNCH_FAILED, QUIET)                                                     \
    X(ILLEGAL_INSTRUCTION, CUDA_ERROR_ILLEGAL_INSTRUCTION, QUIET)                                  \
    X(ASSERT, CUDA_ERROR_ASSERT, QUIET)                                                            \
    X(STACK_OVERFLOW, CUDA_ERROR_HARDWARE_STACK_ERROR, QUIET)                                      \
    X(TIMEOUT, CUDA_ERROR_LAUNCH_TIMEOUT, QUIET)                                                   \
    X(UNRESOLVED, CUDA_ERROR_INVALID_PTX, SAY)                                                     \
    X(JIT, CUDA_ERROR_INVALID_SOURCE, SAY)                                                         \
    X(CORRUPT, CUDA_ERROR_INVALID_IMAGE, SAY)                                                      \
    X(BAD_VERSION, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, SAY)                                        \
    X(CANCELLED, CUDA_ERROR_CONTEXT_IS_DESTROYED, QUIET)                                           \
    X(BAD_CLUSTER, CUDA_ERROR_INVALID_CLUSTER_SIZE, SAY)                                           \
    X(INTERNAL, CUDA_ERROR_UNKNOWN, SAY)                                                           \
    X(BAD_HANDLE, CUDA_ERROR_INVALID_HANDLE, SAY)                                                  \
    X(BAD_STATE, CUDA_ERROR_ILLEGAL_STATE, SAY)                                                    \
    X(UPDATE_FAILED, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, QUIET)                                  \
    X(CAPTURE_FORBIDS, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, SAY)                                 \
    X(CAPTURE_INVALID, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, SAY)                                 \
    X(CAPTURE_MERGE, CUDA_ERROR_STREAM_CAPTURE_MERGE, SAY)                                         \
    X(CAPTURE_UNMATCHED, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, SAY)                                 \
    X(CAPTURE_UNJOINED, CUDA_ERROR_STREAM_CAPTURE_UNJOINED, SAY)                                   \
    X(CAPTURE_ISOLATION, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, SAY)                                 \
    X(CAPTURE_IMPLICIT, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, SAY)                                   \
    X(CAPTURED_EVENT, CUDA_ERROR_CAPTURED_EVENT, SAY)                                              \
    X(CAPTURE_THREAD, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, SAY)

CUresult drv_result(enum hd_status status)
{
    static const CUresult results[] = {
#define X(name, result, say) [HD_##name] = result,
        STATUS_LIST(X)
#undef X
    };

    if (HD_LIKELY(status == HD_OK))
        return CUDA_SUCCESS;
    assert((unsigned)status < HD_COUNT_OF(results) && results[status] != CUDA_SUCCESS);
    return (unsigned)status < HD_COUNT_OF(results) ? results[status] : CUDA_ERROR_UNKNOWN;
}

static bool is_said(enum hd_status status)
{
    enum { QUIET, SAY };
    static const uint8_t said[] = {
#define X(name, result, say) [HD_##name] = say,
        STATUS_LIST(X)
#undef X
    };

    return (unsigned)status < HD_COUNT_OF(said) && said[status];
}

/* Is this text new? Remembers as many as anybody reads. */
static bool is_news(const char *text)
{
    static _Atomic uint64_t seen[16];
    uint64_t hash = hd_hash(text, strlen(text), 0) | 1;

    for (size_t i = 0; i < HD_COUNT_OF(seen); i++) {
        uint64_t empty = 0;

        if (atomic_compare_exchange_strong(&seen[i], &empty, hash))
            return true;
        if (empty == hash)
            return false;
    }
    return false;
}

static HD_THREAD_LOCAL bool is_quiet;

/* For whom: heddle/native.h. */
HD_EXPORT int heddle_native_quiet(int is_on)
{
    bool was = is_quiet;

    is_quiet = is_on != 0;
    return was;
}

bool drv_is_quiet(void)
{
    return is_quiet;
}

CUresult drv_code_failure(const char *name, enum hd_status status)
{
    assert(name && status != HD_OK);
    if (HD_UNLIKELY(is_said(status)) && !is_quiet && !hd_debug(HD_DEBUG_ERROR) &&
        is_news(hd_error_message()))
        hd_log("%s: %s", name, hd_error_message());
    return drv_result(status);
}

void drv_error_note(CUresult result)
{
    drv_caller.result = (int)result;
    drv_caller.result_count = hd_error_count();
}

CUresult drv_error(CUresult result, const char *fmt, ...)
{
    char text[256];
    va_list args;

    assert(result != CUDA_SUCCESS);
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    (void)!hd_error(HD_BAD_ARG, "%s", text);
    drv_error_note(result);
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

const char *drv_result_name(CUresult result)
{
    const struct result_row *row = result_find(result);

    return row ? row->name : "unknown";
}

const char *drv_result_text(CUresult result)
{
    const struct result_row *row = result_find(result);

    return row ? row->text : "unknown";
}

CUresult drv_cuGetErrorName(CUresult error, const char **name)
{
    const struct result_row *row = result_find(error);

    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    *name = row ? row->name : NULL;
    return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult drv_cuGetErrorString(CUresult error, const char **text)
{
    const struct result_row *row = result_find(error);

    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = row ? row->text : NULL;
    return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
