/* Initialisation, version, call bookkeeping, and what does nothing by definition. */
#include "api/driver/driver.h"
#include "core/forked.h"

static _Atomic bool initialised;

static void in_child(void)
{
    atomic_store(&initialised, false);
}

__attribute__((constructor)) static void fork_init(void)
{
    (void)pthread_atfork(NULL, NULL, in_child);
}

bool drv_is_initialised(void)
{
    return atomic_load_explicit(&initialised, memory_order_acquire);
}

CUresult drv_cuInit(unsigned flags)
{
    enum hd_status status;

    API_CALL_ANY(cuInit);
    API_CHECK(flags == 0);
    if (core_is_forked())
        return drv_error(CUDA_ERROR_NOT_INITIALIZED,
                         "cuInit: a forked child cannot use CUDA when its parent did before the "
                         "fork; start it with exec, or use CUDA in the children only");
    core_fork_mark();
    status = core_init();
    if (status != HD_OK)
        return status == HD_NOT_FOUND || status == HD_BAD_ARG ? CUDA_ERROR_NO_DEVICE
                                                              : drv_result(status);
    if (!atomic_exchange(&initialised, true))
        drv_inject();
    return CUDA_SUCCESS;
}

/* For NVML, which looks at devices and uses none: children may still use CUDA. */
HD_EXPORT CUresult heddle_devices_open(void)
{
    enum hd_status status = core_init();

    return status == HD_NOT_FOUND || status == HD_BAD_ARG ? CUDA_ERROR_NO_DEVICE
                                                          : drv_result(status);
}

CUresult drv_cuDriverGetVersion(int *version)
{
    API_CALL_ANY(cuDriverGetVersion);
    API_CHECK(version);
    *version = DRV_VERSION;
    return CUDA_SUCCESS;
}

/* Marks a region for an external profiler; without one there is nothing to do. */
CUresult drv_cuProfilerStart(void)
{
    API_CALL(cuProfilerStart);
    API_CONTEXT(ctx);
    return CUDA_SUCCESS;
}

CUresult drv_cuProfilerStop(void)
{
    API_CALL(cuProfilerStop);
    API_CONTEXT(ctx);
    return CUDA_SUCCESS;
}

CUresult drv_cuProfilerInitialize(const char *config, const char *output, int mode)
{
    API_CALL(cuProfilerInitialize);
    (void)config, (void)output, (void)mode;
    return drv_error(CUDA_ERROR_NOT_SUPPORTED, "cuProfilerInitialize: there is no profiler");
}
