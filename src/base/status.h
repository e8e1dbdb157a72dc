/*
 * Status codes and errors.
 *
 * A fallible function returns enum hd_status. The error is born where it is found:
 *
 *     return hd_error(HD_BAD_PTX, "line %u: expected ',' but found '%.*s'", line, n, tok);
 *
 * hd_error() logs the message once (at debug level "error"; users see it through the API's error
 * log) and keeps it as the calling thread's last message, so whoever turns the status into a CUDA
 * error or a tool's exit code can show the text. Callers pass the status on and do not log again.
 */
#ifndef HD_BASE_STATUS_H
#define HD_BASE_STATUS_H

#include "base/compiler.h"

/* name, value, text. Values are stable: they appear in --json output and in cache files. */
#define HD_STATUS_LIST(X)                                                                          \
    X(OK, 0, "success")                                                                            \
    X(NO_MEMORY, 1, "out of host memory")                                                          \
    X(BAD_PTX, 2, "malformed PTX")                                                                 \
    X(BAD_IMAGE, 3, "malformed device image")                                                      \
    X(NO_IMAGE, 4, "no usable device image")                                                       \
    X(NOT_SUPPORTED, 5, "not supported")                                                           \
    X(BAD_ARG, 6, "invalid argument")                                                              \
    X(NOT_FOUND, 7, "not found")                                                                   \
    X(BUSY, 8, "busy")                                                                             \
    X(IO, 9, "input/output error")                                                                 \
    X(BAD_IR, 10, "invalid IR")                                                                    \
    X(NO_DEVICE_MEMORY, 11, "out of device memory")                                                \
    X(LAUNCH_LIMIT, 12, "launch exceeds a device limit")                                           \
    X(ILLEGAL_ADDRESS, 13, "illegal device address")                                               \
    X(MISALIGNED, 14, "misaligned device address")                                                 \
    X(TRAP, 15, "kernel executed a trap")                                                          \
    X(ASSERT, 16, "device-side assertion failed")                                                  \
    X(STACK_OVERFLOW, 17, "device stack overflow")                                                 \
    X(TIMEOUT, 18, "timed out")                                                                    \
    X(UNRESOLVED, 19, "unresolved external symbol")                                                \
    X(JIT, 20, "code generation failed")                                                           \
    X(CORRUPT, 21, "corrupt data")                                                                 \
    X(BAD_VERSION, 22, "unsupported version")                                                      \
    X(INTERNAL, 23, "internal error")                                                              \
    X(CANCELLED, 24, "cancelled")                                                                  \
    X(BAD_HANDLE, 25, "invalid handle")                                                            \
    X(BAD_STATE, 26, "not in the state that the operation needs")                                  \
    X(UPDATE_FAILED, 27, "an executable graph cannot be updated in this way")                      \
    X(CAPTURE_FORBIDS, 28, "not permitted while a stream is capturing")                            \
    X(CAPTURE_INVALID, 29, "the capture failed before")                                            \
    X(CAPTURE_MERGE, 30, "two captures would be merged")                                           \
    X(CAPTURE_UNMATCHED, 31, "the capture did not begin in this stream")                           \
    X(CAPTURE_UNJOINED, 32, "captured work does not lead back to the stream")                      \
    X(CAPTURE_ISOLATION, 33, "a dependency crosses the border of a capture")                       \
    X(CAPTURE_IMPLICIT, 34, "a dependency on the legacy stream while a stream is capturing")       \
    X(CAPTURED_EVENT, 35, "the event was last recorded in a capturing stream")                     \
    X(CAPTURE_THREAD, 36, "the capture began in another thread")                                   \
    X(BAD_CLUSTER, 37, "invalid cluster size")                                                     \
    X(ILLEGAL_INSTRUCTION, 38, "illegal instruction")                                              \
    X(NATIVE, 39, "a native kernel failed")

enum hd_status {
#define X(name, value, text) HD_##name = value,
    HD_STATUS_LIST(X)
#undef X
};

/* The table's text for a status; "unknown status" for a value outside it. Never NULL. */
const char *hd_status_text(enum hd_status status);
/* The table's name ("BAD_PTX"), for --json. Never NULL. */
const char *hd_status_name(enum hd_status status);

/* Records and logs an error with its place in the message; returns `status` unchanged. */
enum hd_status hd_error(enum hd_status status, const char *fmt, ...) HD_PRINTF(2, 3) HD_MUST_CHECK;

/* The calling thread's last error message; "" when there was none. Valid until the next hd_error(). */
const char *hd_error_message(void);
void hd_error_clear(void);
/* How many errors were born in the calling thread: tells whether the message is new. */
uint32_t hd_error_count(void);

/* Returns from the enclosing function when `expr` is not HD_OK. */
#define HD_TRY(expr)                                                                               \
    do {                                                                                           \
        enum hd_status hd_try_status_ = (expr);                                                    \
        if (HD_UNLIKELY(hd_try_status_ != HD_OK))                                                  \
            return hd_try_status_;                                                                 \
    } while (0)

#endif
