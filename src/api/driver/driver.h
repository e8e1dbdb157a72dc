/*
 * Common to the driver API's files: every entry point decodes, checks, calls core and translates
 * the status. One file per CUDA object.
 *
 *     HD_EXPORT CUresult cuFoo(CUbar bar)
 *     {
 *         API_CALL(cuFoo);             // initialised? tells the tap
 *         API_CONTEXT(ctx);            // the current context, healthy
 *         API_CHECK(bar);              // CUDA_ERROR_INVALID_VALUE for null
 *         return drv_result(core_foo(ctx, bar));
 *     }
 */
#ifndef HD_API_DRIVER_DRIVER_H
#define HD_API_DRIVER_DRIVER_H

#include "api/driver/cuda_abi.h"
#include "core/core.h"

#define DRV_VERSION 13000

/* Translates; the message stays readable through heddle_error_message(). */
CUresult drv_result(enum hd_status status);
/* Logs the message and returns the code. */
CUresult drv_error(CUresult result, const char *fmt, ...) HD_PRINTF(2, 3);
/* What an entry point that is not implemented returns; logs its name once. */
CUresult drv_missing(const char *name, _Atomic bool *logged);

struct drv_call {
    const char *name;
    const struct core_tap *tap;
    uint64_t correlation;
};
void drv_call_begin(struct drv_call *call);
void drv_call_end(struct drv_call *call);

/* True after a successful cuInit(). */
bool drv_is_initialised(void);
/* Ordinals are 0. */
bool drv_device_ok(CUdevice dev);

/* Opens a call that may come before cuInit(). */
#define API_CALL_ANY(name_)                                                                        \
    __attribute__((cleanup(drv_call_end), unused)) struct drv_call drv_call_ = {                   \
        #name_, atomic_load_explicit(&core_tap, memory_order_acquire), 0};                         \
    if (HD_UNLIKELY(drv_call_.tap != NULL))                                                        \
    drv_call_begin(&drv_call_)
#define API_CALL(name_)                                                                            \
    API_CALL_ANY(name_);                                                                           \
    if (HD_UNLIKELY(!drv_is_initialised()))                                                        \
    return CUDA_ERROR_NOT_INITIALIZED
#define API_CHECK(cond)                                                                            \
    do {                                                                                           \
        if (HD_UNLIKELY(!(cond)))                                                                  \
            return drv_error(CUDA_ERROR_INVALID_VALUE, "%s: invalid argument: %s", drv_call_.name, \
                             #cond);                                                               \
    } while (0)
#define API_DEVICE(dev)                                                                            \
    if (!drv_device_ok(dev))                                                                       \
    return drv_error(CUDA_ERROR_INVALID_DEVICE, "%s: there is no device %d", drv_call_.name, (dev))
/* Declares `ctx`: the calling thread's context. */
#define API_CONTEXT_ANY(ctx)                                                                       \
    struct core_context *ctx = core_current();                                                     \
    if (HD_UNLIKELY(!core_handle_is(CORE_CONTEXT, ctx)))                                           \
    return drv_no_context(ctx)
/* The same, and it has not faulted. */
#define API_CONTEXT(ctx)                                                                           \
    API_CONTEXT_ANY(ctx);                                                                          \
    if (HD_UNLIKELY(core_context_status(ctx) != HD_OK))                                            \
    return drv_result(core_context_status(ctx))
#define API_HANDLE(kind, handle)                                                                   \
    do {                                                                                           \
        if (HD_UNLIKELY(!core_handle_is(CORE_##kind, (handle))))                                   \
            return drv_error(CUDA_ERROR_INVALID_HANDLE, "%s: %p is not a handle of this kind",     \
                             drv_call_.name, (const void *)(handle));                              \
    } while (0)

CUresult drv_no_context(struct core_context *ctx);
/* The stream behind a handle: null and the two special values included. */
CUresult drv_stream(struct core_context *ctx, CUstream handle, struct core_stream **out_stream);
#define API_STREAM(ctx, stream, handle)                                                            \
    struct core_stream *stream;                                                                    \
    do {                                                                                           \
        CUresult stream_result_ = drv_stream((ctx), (handle), &stream);                            \
        if (HD_UNLIKELY(stream_result_ != CUDA_SUCCESS))                                           \
            return stream_result_;                                                                 \
    } while (0)
/* A function in the current context from a CUfunction or a CUkernel. */
CUresult drv_function(struct core_context *ctx, const void *handle,
                      struct core_function **out_function);
#define API_FUNCTION(ctx, function, handle)                                                        \
    struct core_function *function;                                                                \
    do {                                                                                           \
        CUresult function_result_ = drv_function((ctx), (handle), &function);                      \
        if (HD_UNLIKELY(function_result_ != CUDA_SUCCESS))                                         \
            return function_result_;                                                               \
    } while (0)

/* Stream 0 of the _ptsz entry points. */
#define PER_THREAD(stream) ((stream) ? (stream) : CU_STREAM_PER_THREAD)

/* An entry point for the per-thread default stream: name, parameters, the call behind it. */
#define DRV_PER_THREAD(symbol, params, call)                                                       \
    HD_EXPORT CUresult symbol params;                                                              \
    HD_EXPORT CUresult symbol params                                                               \
    {                                                                                              \
        return call;                                                                               \
    }

/* Attributes of functions and kernels (function.c). */
CUresult drv_function_attribute(const struct core_function *f, int attribute, int *out_value);
CUresult drv_function_attribute_set(struct core_function *f, int attribute, int value);
CUresult drv_param_info(const struct ir_func *func, size_t index, size_t *offset, size_t *size);
/* Reads a file into memory; the caller frees it with hd_free. */
CUresult drv_read_file(const char *path, char **out_bytes, size_t *out_size);

/* Text of the calling thread's last error, "" when there was none. */
HD_EXPORT const char *heddle_error_message(void);

#endif
