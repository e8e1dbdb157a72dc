/* Initialisation, version, call bookkeeping, and what does nothing by definition. */
#include "api/driver/driver.h"

static _Atomic bool initialised;

bool drv_is_initialised(void)
{
    return atomic_load_explicit(&initialised, memory_order_acquire);
}

CUresult drv_cuInit(unsigned flags)
{
    enum hd_status status;

    API_CALL_ANY(cuInit);
    API_CHECK(flags == 0);
    status = core_init();
    if (status != HD_OK)
        return status == HD_NOT_FOUND || status == HD_BAD_ARG ? CUDA_ERROR_NO_DEVICE
                                                              : drv_result(status);
    if (!atomic_exchange(&initialised, true))
        drv_inject();
    return CUDA_SUCCESS;
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
