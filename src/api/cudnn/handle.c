/*
 * libcudnn.so.9: handles, versions, errors and the log. A handle is made without a context: XLA
 * makes one before it knows whether it needs it.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "api/cudnn/dnn.h"
#include "api/cudnn/refuse.h"
#include "base/mem.h"

/* CUDA 13.0, whose runtime Heddle's is. */
#define CUDART_VERSION_OF_US 13000

/* clang-format off */
static const struct lib_status statuses[] = {
#define ROW(name) {name, #name},
    ROW(CUDNN_STATUS_SUCCESS)
    ROW(CUDNN_STATUS_NOT_INITIALIZED)
    ROW(CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH)
    ROW(CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH)
    ROW(CUDNN_STATUS_DEPRECATED)
    ROW(CUDNN_STATUS_LICENSE_ERROR)
    ROW(CUDNN_STATUS_RUNTIME_IN_PROGRESS)
    ROW(CUDNN_STATUS_RUNTIME_FP_OVERFLOW)
    ROW(CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED)
    ROW(CUDNN_STATUS_BAD_PARAM)
    ROW(CUDNN_STATUS_INVALID_VALUE)
    ROW(CUDNN_STATUS_BAD_PARAM_NULL_POINTER)
    ROW(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER)
    ROW(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED)
    ROW(CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND)
    ROW(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT)
    ROW(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH)
    ROW(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH)
    ROW(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES)
    ROW(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE)
    ROW(CUDNN_STATUS_BAD_PARAM_CUDA_GRAPH_MISMATCH)
    ROW(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE)
    ROW(CUDNN_STATUS_NOT_SUPPORTED)
    ROW(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN)
    ROW(CUDNN_STATUS_NOT_SUPPORTED_SHAPE)
    ROW(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE)
    ROW(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT)
    ROW(CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER)
    ROW(CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART)
    ROW(CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH)
    ROW(CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING)
    ROW(CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE)
    ROW(CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT)
    ROW(CUDNN_STATUS_NOT_SUPPORTED_PADDING)
    ROW(CUDNN_STATUS_NOT_SUPPORTED_BAD_LAUNCH_PARAM)
    ROW(CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API)
    ROW(CUDNN_STATUS_NOT_SUPPORTED_INVALID_DYNAMIC_SHAPE)
    ROW(CUDNN_STATUS_INTERNAL_ERROR)
    ROW(CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED)
    ROW(CUDNN_STATUS_INTERNAL_ERROR_UNEXPECTED_VALUE)
    ROW(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED)
    ROW(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
    ROW(CUDNN_STATUS_INTERNAL_ERROR_BAD_LAUNCH_PARAM)
    ROW(CUDNN_STATUS_INTERNAL_ERROR_TEXTURE_CREATION_FAILED)
    ROW(CUDNN_STATUS_EXECUTION_FAILED)
    ROW(CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER)
    ROW(CUDNN_STATUS_EXECUTION_FAILED_CUBLAS)
    ROW(CUDNN_STATUS_EXECUTION_FAILED_CUDART)
    ROW(CUDNN_STATUS_EXECUTION_FAILED_CURAND)
#undef ROW
};
/* clang-format on */

const struct lib_info dnn_info = {.name = "cuDNN",
                                  .version = {CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCHLEVEL},
                                  .cudart = CUDART_VERSION_OF_US,
                                  .statuses = statuses,
                                  .nstatuses = HD_COUNT_OF(statuses),
                                  .unknown = "CUDNN_UNKNOWN_STATUS",
                                  .level_variable = "CUDNN_LOGLEVEL_DBG",
                                  .destination_variable = "CUDNN_LOGDEST_DBG"};

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    if (!handle)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *handle = hd_new(struct cudnnContext);
    if (!*handle)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    lib_handle_init(&(*handle)->base, &dnn_info);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    if (!handle)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    hd_free(handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t streamId)
{
    if (!handle)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    handle->base.stream = streamId;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *streamId)
{
    if (!handle || !streamId)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *streamId = handle->base.stream;
    return CUDNN_STATUS_SUCCESS;
}

size_t cudnnGetVersion(void)
{
    return CUDNN_VERSION;
}

size_t cudnnGetCudartVersion(void)
{
    return (size_t)dnn_info.cudart;
}

cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int *value)
{
    if (!value)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    return lib_property(&dnn_info, (int)type, value) ? CUDNN_STATUS_SUCCESS
                                                     : CUDNN_STATUS_BAD_PARAM;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    return lib_status_name(&dnn_info, (int)status);
}

void cudnnGetLastErrorString(char *message, size_t max_size)
{
    lib_error_take(message, max_size);
}

cudnnStatus_t cudnnGraphVersionCheck(void)
{
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnOpsVersionCheck(void)
{
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCnnVersionCheck(void)
{
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnAdvVersionCheck(void)
{
    return CUDNN_STATUS_SUCCESS;
}

size_t cudnnGetMaxDeviceVersion(void)
{
    return 1210; /* compute capability 12.1 */
}

/* Kernels tell what goes wrong by the stream's error: nothing is kept beside that. */
cudnnStatus_t cudnnQueryRuntimeError(cudnnHandle_t handle, cudnnStatus_t *rstatus,
                                     cudnnErrQueryMode_t mode, cudnnRuntimeTag_t *tag)
{
    (void)tag;
    DNN_NEEDS(handle, rstatus);
    DNN_CHECK(mode <= CUDNN_ERRQUERY_BLOCKING, "mode %d", (int)mode);
    *rstatus = mode == CUDNN_ERRQUERY_BLOCKING ? dnn_status(lib_wait(&handle->base))
                                               : CUDNN_STATUS_SUCCESS;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- the log */

static struct {
    pthread_mutex_t lock;
    unsigned mask;
    void *user;
    cudnnCallback_t function;
} callback = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void tell(void *user, enum lib_level level, const char *message)
{
    /* As lib_level has them, from "error" on. */
    cudnnSeverity_t severity = (cudnnSeverity_t)level;
    struct timespec now;

    (void)user;
    pthread_mutex_lock(&callback.lock);
    cudnnCallback_t function = callback.mask & 1u << severity ? callback.function : NULL;
    void *callers = callback.user;
    pthread_mutex_unlock(&callback.lock);
    if (!function)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    cudnnDebug_t debug = {.cudnn_version = CUDNN_VERSION,
                          .time_sec = (unsigned)now.tv_sec,
                          .time_usec = (unsigned)(now.tv_nsec / 1000),
                          .pid = (unsigned long long)getpid(),
                          .tid = (unsigned long long)gettid()};
    function(severity, callers, &debug, message);
}

cudnnStatus_t cudnnSetCallback(unsigned mask, void *udata, cudnnCallback_t fptr)
{
    pthread_mutex_lock(&callback.lock);
    callback.mask = mask;
    callback.user = udata;
    callback.function = fptr;
    pthread_mutex_unlock(&callback.lock);
    lib_callback_set(fptr && mask ? tell : NULL, NULL,
                     mask & CUDNN_SEV_INFO_EN      ? LIB_LEVEL_INFO
                     : mask & CUDNN_SEV_WARNING_EN ? LIB_LEVEL_WARNING
                                                   : LIB_LEVEL_ERROR);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetCallback(unsigned *mask, void **udata, cudnnCallback_t *fptr)
{
    DNN_NEEDS(mask, udata, fptr);
    pthread_mutex_lock(&callback.lock);
    *mask = callback.mask;
    *udata = callback.user;
    *fptr = callback.function;
    pthread_mutex_unlock(&callback.lock);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- for the other files */

cudnnStatus_t dnn_fail(cudnnStatus_t status, const char *function, const char *fmt, ...)
{
    char text[200];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    lib_error(&dnn_info, "%s: %s", function, text);
    return status;
}

cudnnStatus_t dnn_status(int cuda_result)
{
    switch (cuda_result) {
    case CUDA_SUCCESS:
        return CUDNN_STATUS_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY:
        return CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
    case CUDA_ERROR_NOT_SUPPORTED:
        return CUDNN_STATUS_NOT_SUPPORTED;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_NO_DEVICE:
        return CUDNN_STATUS_NOT_INITIALIZED;
    default:
        return CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER;
    }
}

cudnnStatus_t dnn_alloc(void **out_address, size_t size_B)
{
    CUdeviceptr address = 0;
    int result = lib_context();

    if (!result)
        result = cuMemAlloc(&address, HD_MAX(size_B, 1));
    *out_address = (void *)address;
    return dnn_status(result);
}

void dnn_free(void *address)
{
    if (address)
        (void)cuMemFree((CUdeviceptr)address);
}

const struct klib_dnn *dnn_klib(void)
{
    const struct klib *klib = lib_klib(&dnn_info);

    return klib ? klib->dnn : NULL;
}

cudnnStatus_t dnn_op(cudnnHandle_t handle, struct klib_dnn_op *op)
{
    static struct lib_kernel kernels[KLIB_DNN_KERNELS];
    const struct klib_dnn *klib = dnn_klib();
    uint64_t tiles;

    if (!klib)
        return CUDNN_STATUS_INTERNAL_ERROR;
    uint64_t ns = klib->op_plan(op, lib_threads(), &tiles);
    return dnn_launch(handle, &kernels[op->kernel], klib->names[op->kernel], klib->op, op,
                      sizeof(*op), tiles, ns);
}

cudnnStatus_t dnn_launch(cudnnHandle_t handle, struct lib_kernel *kernel, const char *name,
                         heddle_native_fn *function, const void *params, size_t params_B,
                         uint64_t tiles, uint64_t ns)
{
    if (!tiles)
        return CUDNN_STATUS_SUCCESS;
    lib_log(&dnn_info, LIB_LEVEL_INFO, "%s: %llu tiles", name, (unsigned long long)tiles);
    int result =
        lib_launch(&handle->base, kernel, name, function, params, (uint32_t)params_B, tiles, ns);
    if (result)
        lib_error(&dnn_info, "%s: the launch fails with CUDA's error %d", name, result);
    return dnn_status(result);
}

cudnnStatus_t cudnn_refuse(const char *name, _Atomic bool *said)
{
    lib_refuse(&dnn_info, name, said);
    return CUDNN_STATUS_NOT_SUPPORTED;
}
