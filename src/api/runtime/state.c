/* Process and thread state: the driver's initialisation, current devices, contexts, last errors. */
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/demangle.h"
#include "base/log.h"

struct rt_state rt = {.lock = HD_LOCK_INIT(RUNTIME, "rt.lock")};
HD_THREAD_LOCAL struct rt_thread rt_thread;

static pthread_once_t init_once = PTHREAD_ONCE_INIT;
static _Atomic bool is_begun; /* init_driver() */
static CUresult init_result;

/*
 * Registered when the driver is first used, so after the program's constructors registered theirs:
 * handlers run in reverse, so fat binaries unregistered at exit find `exiting` set and leave the
 * driver alone, whatever it still runs.
 */
static void at_exit(void)
{
    unsigned unseen = atomic_load(&rt.unseen);

    atomic_store(&rt.exiting, true);
    if (unseen)
        hd_log("%u kernel launch%s failed and the program did not ask for the error: its results "
               "are not those of its kernels; the first was %s",
               unseen, unseen == 1 ? "" : "es", rt.unseen_first);
}

cudaError_t rt_launched(const void *func, cudaError_t error)
{
    struct rt_kernel *kernel;

    if (HD_LIKELY(error == cudaSuccess))
        return cudaSuccess;
    kernel = rt_map_get(&rt_registry.kernels, func);
    rt_thread.unseen++;
    if (!atomic_fetch_add(&rt.unseen, 1)) {
        struct hd_buf name;
        hd_buf_init(&name);
        hd_demangle_or_name(kernel ? kernel->name : "an unknown function", HD_DEMANGLE_FULL, &name);
        snprintf(rt.unseen_first, sizeof(rt.unseen_first), "%s: %s",
                 name.ptr ? name.ptr : "a kernel", rt_cudaGetErrorName(error));
        hd_buf_fini(&name);
    }
    return error;
}

static void read_limits(void)
{
    static const CUdevice_attribute grid[3] = {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
                                               CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
                                               CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z};
    static const CUdevice_attribute block[3] = {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
                                                CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
                                                CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z};
    int value = 0;
    for (int i = 0; i < 3; i++) {
        if (cuDeviceGetAttribute(&value, grid[i], 0) == CUDA_SUCCESS)
            rt.limits.grid[i] = (unsigned)value;
        if (cuDeviceGetAttribute(&value, block[i], 0) == CUDA_SUCCESS)
            rt.limits.block[i] = (unsigned)value;
    }
    if (cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0) == CUDA_SUCCESS)
        rt.limits.threads = (unsigned)value;
}

/* What the parent did not ask for is not the child's to tell; nor is its driver (core/forked.h). */
static void in_child(void)
{
    atomic_store(&rt.unseen, 0);
    rt_thread.unseen = 0;
    if (atomic_load(&is_begun)) {
        atomic_store(&rt.is_ready, false);
        init_result = CUDA_ERROR_NOT_INITIALIZED;
    }
}

__attribute__((constructor)) static void fork_init(void)
{
    (void)pthread_atfork(NULL, NULL, in_child);
}

static void init_driver(void)
{
    atomic_store(&is_begun, true);
    atexit(at_exit);
    init_result = cuInit(0);
    if (init_result == CUDA_SUCCESS)
        init_result = cuDeviceGetCount(&rt.device_count);
    if (init_result == CUDA_SUCCESS && rt.device_count <= 0)
        init_result = CUDA_ERROR_NO_DEVICE;
    rt.device_count = HD_MIN(rt.device_count, RT_MAX_DEVICES);
    if (init_result == CUDA_SUCCESS)
        read_limits();
    atomic_store_explicit(&rt.is_ready, init_result == CUDA_SUCCESS, memory_order_release);
}

cudaError_t rt_init(void)
{
    pthread_once(&init_once, init_driver);
    return rt_result(init_result);
}

cudaError_t rt_primary(int device, CUcontext *out_ctx)
{
    RT_TRY(rt_init());
    if (device < 0 || device >= rt.device_count)
        return rt_fail(cudaErrorInvalidDevice);
    *out_ctx = atomic_load(&rt.primary[device]);
    if (*out_ctx)
        return cudaSuccess;
    hd_lock_acquire(&rt.lock);
    assert(device < RT_MAX_DEVICES);
    CUresult result = CUDA_SUCCESS;
    *out_ctx = atomic_load(&rt.primary[device]);
    if (!*out_ctx)
        result = cuDevicePrimaryCtxRetain(out_ctx, device);
    if (result == CUDA_SUCCESS)
        atomic_store(&rt.primary[device], *out_ctx);
    hd_lock_release(&rt.lock);
    return rt_result(result);
}

cudaError_t rt_context_slow(CUcontext *out_ctx)
{
    /* The first call of a thread, or of the process: cuCtxGetCurrent() fails before cuInit(). */
    RT_TRY(rt_init());
    if (cuCtxGetCurrent(out_ctx) == CUDA_SUCCESS && *out_ctx)
        return *out_ctx = heddle_context_base(*out_ctx), cudaSuccess;
    RT_TRY(rt_primary(rt_device(), out_ctx));
    assert(*out_ctx);
    return rt_result(cuCtxSetCurrent(*out_ctx));
}

int rt_device(void)
{
    return rt_thread.has_device ? rt_thread.device : atomic_load(&rt.first_device);
}

cudaError_t rt_fail(cudaError_t error)
{
    assert(error != cudaSuccess);
    /* "Not ready" is an answer: cudaGetLastError() does not tell it (Programming Guide). */
    if (error != cudaErrorNotReady)
        rt_thread.last_error = error;
    return error;
}

cudaError_t rt_missing(const char *name, _Atomic bool *logged)
{
    assert(name && logged);
    if (!atomic_exchange(logged, true))
        hd_log("%s is not implemented", name);
    return rt_fail(cudaErrorNotSupported);
}

cudaError_t rt_refused(const char *name, const char *why, _Atomic bool *logged)
{
    if (!atomic_exchange(logged, true))
        hd_log("%s: %s", name, why);
    return rt_fail(cudaErrorNotSupported);
}
