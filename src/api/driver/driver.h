/*
 * Common to the driver API's files: every entry point decodes, checks, calls core and translates
 * the status. One file per CUDA object.
 *
 *     CUresult drv_cuFoo(CUbar bar)
 *     {
 *         API_CALL(cuFoo);             // initialised?
 *         API_CONTEXT(ctx);            // the current context, healthy
 *         API_CHECK(bar);              // CUDA_ERROR_INVALID_VALUE for null
 *         return drv_result(core_foo(ctx, bar));
 *     }
 *
 * drv_cuFoo() is what its row in spec/api/driver.def names; the exported cuFoo(), which tells the
 * taps and calls it, is generated (driver_entries.c), and so are the _ptsz and _ptds twins. The
 * function of a twin without a stream parameter gets one more, `null_stream`: what stream 0 means.
 * Inside the library call drv_cuFoo(): the exported one would look like a call of the program.
 *
 * The API_ macros below return from the function they stand in, with a CUresult; those that declare
 * something say so.
 */
#ifndef HD_API_DRIVER_DRIVER_H
#define HD_API_DRIVER_DRIVER_H

#include <assert.h>

#include "api/driver/cuda_abi.h"
#include "core/core.h"
#include "core/graph/capture.h"
#include "core/stream/green.h"
#include "core/notify.h"

#define DRV_VERSION 13000

/* Translates; the message stays readable through heddle_error_message(). */
CUresult drv_result(enum hd_status status);
/*
 * The same for what loads or launches code. A program that does not check would run on without its
 * kernels, so the reason goes to the log, each text once; `name` is the entry point.
 */
CUresult drv_code_failure(const char *name, enum hd_status status);
/* Has this thread asked not to be told what fails (heddle_native_quiet)? */
bool drv_is_quiet(void);
static inline CUresult drv_code_result(const char *name, enum hd_status status)
{
    return HD_LIKELY(status == HD_OK) ? CUDA_SUCCESS : drv_code_failure(name, status);
}
/* Of a result; "unknown" for what is none. */
const char *drv_result_name(CUresult result);
const char *drv_result_text(CUresult result);
/* Logs the message and returns the code. */
CUresult drv_error(CUresult result, const char *fmt, ...) HD_PRINTF(2, 3);
/* The error that was born last is that of this result (caller.c). */
void drv_error_note(CUresult result);
/* What an entry point that is not implemented returns; logs its name once. */
CUresult drv_missing(const char *name, _Atomic bool *logged);

extern const struct heddle_entry driver_entries[]; /* by enum driver_entry */

/* True after a successful cuInit(), and not in a child of such a process. */
bool drv_is_initialised(void);
/* Opens the tool that CUDA_INJECTION64_PATH names (inject.c). */
void drv_inject(void);

/* Opens an entry point: its name for messages. It may come before cuInit(). */
#define API_CALL_ANY(symbol) const char *const api_name_ HD_UNUSED = #symbol
/* The same for a body behind several symbols, and the driver must be initialised. */
#define API_CALL_NAMED(name)                                                                       \
    const char *const api_name_ HD_UNUSED = (name);                                                \
    do {                                                                                           \
        if (HD_UNLIKELY(!drv_is_initialised()))                                                    \
            return CUDA_ERROR_NOT_INITIALIZED;                                                     \
    } while (0)
#define API_CALL(symbol) API_CALL_NAMED(#symbol)
#define API_CHECK(cond)                                                                            \
    do {                                                                                           \
        if (HD_UNLIKELY(!(cond)))                                                                  \
            return drv_error(CUDA_ERROR_INVALID_VALUE, "%s: invalid argument: %s", api_name_,      \
                             #cond);                                                               \
    } while (0)
/* Declares `device`: that of the ordinal. */
#define API_DEVICE(device, ordinal)                                                                \
    struct core_device *device = core_device_at(ordinal);                                          \
    do {                                                                                           \
        if (HD_UNLIKELY(!device))                                                                  \
            return drv_error(CUDA_ERROR_INVALID_DEVICE, "%s: there is no device %d", api_name_,    \
                             (ordinal));                                                           \
    } while (0)
/* Declares `ctx`: the calling thread's context. */
#define API_CONTEXT_ANY(ctx)                                                                       \
    struct core_context *ctx = core_current();                                                     \
    do {                                                                                           \
        if (HD_UNLIKELY(!ctx || !core_context_is_live(ctx)))                                       \
            return drv_no_context(ctx);                                                            \
    } while (0)
/* The same, and it has not faulted. */
#define API_CONTEXT(ctx)                                                                           \
    API_CONTEXT_ANY(ctx);                                                                          \
    do {                                                                                           \
        if (HD_UNLIKELY(core_context_status(ctx) != HD_OK))                                        \
            return drv_result(core_context_status(ctx));                                           \
    } while (0)
/*
 * The same. Where no context is current, that of what the call is about, a reference or NULL: calls
 * of one allocation or stream need no other (cuda-api-wrappers frees and waits so).
 */
#define API_CONTEXT_OR(ctx, owner)                                                                 \
    __attribute__((cleanup(core_context_unref_at))) struct core_context *ctx##_owner_ =            \
        core_current() ? NULL : (owner);                                                           \
    struct core_context *ctx = ctx##_owner_ ? ctx##_owner_ : core_current();                       \
    do {                                                                                           \
        if (HD_UNLIKELY(!ctx || !core_context_is_live(ctx)))                                       \
            return drv_no_context(ctx);                                                            \
        if (HD_UNLIKELY(core_context_status(ctx) != HD_OK))                                        \
            return drv_result(core_context_status(ctx));                                           \
    } while (0)
/* The live context of a stream, with a reference; NULL for the default streams and for none. */
struct core_context *drv_stream_owner(CUstream stream);
/* Declares `object`, a reference to what the handle names; dropped when the block ends. */
#define API_HANDLE(kind, object, handle)                                                           \
    __attribute__((cleanup(core_##kind##_unref_at))) struct core_##kind *object =                  \
        core_##kind##_lookup(handle);                                                              \
    do {                                                                                           \
        if (HD_UNLIKELY(!object))                                                                  \
            return drv_error(CUDA_ERROR_INVALID_HANDLE, "%s: %p is not a live " #kind, api_name_,  \
                             (const void *)(handle));                                              \
    } while (0)
/* The same for a CUcontext, a green context's included. */
#define API_ANY_CONTEXT(ctx, handle)                                                               \
    __attribute__((cleanup(core_context_unref_at))) struct core_context *ctx =                     \
        core_context_find((handle), NULL);                                                         \
    do {                                                                                           \
        if (HD_UNLIKELY(!ctx))                                                                     \
            return drv_error(CUDA_ERROR_INVALID_CONTEXT, "%s: %p is not a live context",           \
                             api_name_, (const void *)(handle));                                   \
    } while (0)
/* Stores the handle of an object and drops the reference that came with it. */
#define DRV_GIVE(kind, out, object)                                                                \
    do {                                                                                           \
        *(out) = core_##kind##_handle(object);                                                     \
        core_##kind##_unref(object);                                                               \
    } while (0)

/* Goes on if the call succeeded. */
#define API_TRY(call)                                                                              \
    do {                                                                                           \
        CUresult api_result_ = (call);                                                             \
        if (HD_UNLIKELY(api_result_ != CUDA_SUCCESS))                                              \
            return api_result_;                                                                    \
    } while (0)

CUresult drv_no_context(struct core_context *ctx);
/* Flags of a context: those that exist, and at most one way to wait. */
bool drv_context_flags_ok(unsigned flags);
/*
 * The stream behind a handle: null and the two special values included, which are borrowed from the
 * context and the thread. *out_ref is what has to be dropped, or NULL.
 */
CUresult drv_stream(struct core_context *ctx, CUstream handle, struct core_stream **out_stream,
                    struct core_stream **out_ref);
#define API_STREAM(ctx, stream, handle)                                                            \
    struct core_stream *stream;                                                                    \
    __attribute__((cleanup(core_stream_unref_at))) struct core_stream *stream##_ref_ = NULL;       \
    do {                                                                                           \
        CUresult stream_result_ = drv_stream((ctx), (handle), &stream, &stream##_ref_);            \
        if (HD_UNLIKELY(stream_result_ != CUDA_SUCCESS))                                           \
            return stream_result_;                                                                 \
    } while (0)
/* A new stream's handle; priorities beyond the range are cut. `green`: NULL or of the context. */
CUresult drv_stream_create(struct core_context *ctx, struct core_green *green, unsigned flags,
                           int priority, CUstream *out);
/* CUDA_SUCCESS, or CUDA_ERROR_CONTEXT_IS_DESTROYED: the stream's green context is gone. */
CUresult drv_stream_alive(const struct core_stream *stream);
/* A function in the current context from a CUfunction or a CUkernel, with a reference. */
CUresult drv_function(struct core_context *ctx, const void *handle,
                      struct core_function **out_function);
#define API_FUNCTION(ctx, function, handle)                                                        \
    __attribute__((cleanup(core_function_unref_at))) struct core_function *function = NULL;        \
    do {                                                                                           \
        CUresult function_result_ = drv_function((ctx), (handle), &function);                      \
        if (HD_UNLIKELY(function_result_ != CUDA_SUCCESS))                                         \
            return function_result_;                                                               \
    } while (0)

/* The same, with its properties. */
#define API_DESCRIBED_FUNCTION(ctx, function, handle)                                              \
    API_FUNCTION(ctx, function, handle);                                                           \
    do {                                                                                           \
        enum hd_status loaded_status_ = core_function_describe(function);                          \
        if (HD_UNLIKELY(loaded_status_ != HD_OK))                                                  \
            return drv_result(loaded_status_);                                                     \
    } while (0)

/* An array, or a mipmapped one: both are of one kind. */
#define API_ARRAY(array, handle, mipmapped)                                                        \
    API_HANDLE(array, array, handle);                                                              \
    do {                                                                                           \
        if (HD_UNLIKELY(array->is_mipmapped != (mipmapped)))                                       \
            return drv_error(CUDA_ERROR_INVALID_HANDLE, "%s: %p is %s mipmapped array", api_name_, \
                             (const void *)(handle), (mipmapped) ? "no" : "a");                    \
    } while (0)

/* What is asked of an array (array.c). */
struct core_array_desc drv_array_desc(const CUDA_ARRAY3D_DESCRIPTOR *desc);
/* A pool's properties (mempool.c). */
CUresult drv_mempool_props(const CUmemPoolProps *props, struct core_mempool_props *out_props);
/* An operation of a stream on memory, and back (mem_op.c). */
#define DRV_MEM_OPS_MAX 256u
CUresult drv_mem_op_decode(const CUstreamBatchMemOpParams *params, struct core_mem_op *out_op);
void drv_mem_op_encode(const struct core_mem_op *op, CUstreamBatchMemOpParams *out_params);
/* A box as core copies it (copy.c). */
CUresult drv_copy_decode(const CUDA_MEMCPY3D *box, struct core_copy *out_copy);
/* A launch with everything but its parameters, unless they are in a buffer (launch.c). */
CUresult drv_launch_run(struct core_context *ctx, CUfunction func, CUstream handle,
                        struct core_launch *launch, void **params, void **extra);
/* The packed buffer of the `extra` form (launch.c). */
CUresult drv_launch_extra(void **extra, struct core_launch *launch);
/* What a launch attribute makes of a launch; events cannot be in it (launch.c). */
CUresult drv_launch_attribute(const CUlaunchAttribute *attribute, struct core_launch *launch);

/* Attributes of functions and kernels (function.c). */
/* Describes a function and hands it out; takes the caller's reference. */
CUresult drv_function_give(struct core_function *function, CUfunction *out_func);
CUresult drv_function_attribute(struct core_function *f, int attribute, int *out_value);
CUresult drv_function_attribute_set(struct core_function *f, int attribute, int value);
CUresult drv_param_info(const struct core_entry *entry, size_t index, size_t *offset, size_t *size);
/* Reads a file into memory; the caller frees it with hd_free. */
CUresult drv_read_file(const char *path, char **out_bytes, size_t *out_size);

/* Text of the calling thread's last error, "" when there was none. */
HD_EXPORT const char *heddle_error_message(void);
/* What runs in another process: core/debug/report.h. 0, or an enum hd_status. */
HD_EXPORT int heddle_process_report(int pid, char *text, size_t text_B);

#endif
