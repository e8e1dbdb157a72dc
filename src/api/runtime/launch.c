/* Launching kernels: the call configuration that <<<>>> pushes, checks, the launch functions. */
#include "runtime.h"

#include <limits.h>
#include <stdlib.h>

/* Nonzero makes the stub skip the launch. Arguments of a launch may themselves launch: a stack. */
unsigned int rt___cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared_B,
                                            struct CUstream_st *stream)
{
    struct rt_thread *t = &rt_thread;
    if (t->nconfigs == HD_COUNT_OF(t->configs))
        return (unsigned)rt_fail(cudaErrorMissingConfiguration);
    assert(t->nconfigs < HD_COUNT_OF(t->configs));
    t->configs[t->nconfigs++] = (struct rt_call_config){grid, block, shared_B, stream};
    return 0;
}

cudaError_t rt___cudaPopCallConfiguration(struct dim3 *grid, struct dim3 *block, size_t *shared_B,
                                          void *stream)
{
    struct rt_thread *t = &rt_thread;
    if (!grid || !block || !shared_B || !stream)
        return rt_fail(cudaErrorInvalidValue);
    if (!t->nconfigs)
        return rt_fail(cudaErrorMissingConfiguration);
    assert(t->nconfigs <= HD_COUNT_OF(t->configs));
    const struct rt_call_config *config = &t->configs[--t->nconfigs];
    *grid = config->grid;
    *block = config->block;
    *shared_B = config->shared_B;
    *(cudaStream_t *)stream = config->stream;
    return cudaSuccess;
}

/* 1 to the limit; 0 wraps around. */
static bool dims_fit(dim3 d, const unsigned limit[3])
{
    return d.x - 1 < limit[0] && d.y - 1 < limit[1] && d.z - 1 < limit[2];
}

/* The driver calls all of these an invalid value; the runtime tells them apart. */
cudaError_t rt_check_dims(dim3 grid, dim3 block, size_t shared_B)
{
    assert(rt.limits.threads); /* rt_init() read them */
    if (HD_UNLIKELY(!dims_fit(grid, rt.limits.grid) || !dims_fit(block, rt.limits.block) ||
                    (uint64_t)block.x * block.y * block.z > rt.limits.threads))
        return rt_fail(cudaErrorInvalidConfiguration);
    return HD_LIKELY(shared_B <= INT_MAX) ? cudaSuccess : rt_fail(cudaErrorInvalidValue);
}

static cudaError_t launch(const void *func, dim3 grid, dim3 block, void **args, size_t shared_B,
                          cudaStream_t stream)
{
    CUfunction driver_func;
    RT_TRY(rt_function(func, &driver_func));
    RT_TRY(rt_check_dims(grid, block, shared_B));
    return rt_result(cuLaunchKernel(driver_func, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                    (unsigned)shared_B, stream, args, NULL));
}

cudaError_t rt_cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                                size_t sharedMem, cudaStream_t stream)
{
    return rt_launched(func, launch(func, gridDim, blockDim, args, sharedMem, stream));
}

cudaError_t rt___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                                  size_t shared_B, cudaStream_t stream)
{
    return rt_launched(kernel, launch(kernel, grid, block, args, shared_B, stream));
}

static cudaError_t launch_cooperative(const void *func, dim3 grid, dim3 block, void **args,
                                      size_t shared_B, cudaStream_t stream)
{
    CUfunction driver_func;
    RT_TRY(rt_function(func, &driver_func));
    RT_TRY(rt_check_dims(grid, block, shared_B));
    return rt_result(cuLaunchCooperativeKernel(driver_func, grid.x, grid.y, grid.z, block.x,
                                               block.y, block.z, (unsigned)shared_B, stream, args));
}

cudaError_t rt_cudaLaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim,
                                           void **args, size_t sharedMem, cudaStream_t stream)
{
    return rt_launched(func, launch_cooperative(func, gridDim, blockDim, args, sharedMem, stream));
}

/* The function in the context of the stream, which need not be the current one. */
static cudaError_t function_for(const void *func, cudaStream_t stream, CUfunction *out_func)
{
    CUcontext ctx, popped;
    RT_TRY(rt_result(cuStreamGetCtx(stream, &ctx)));
    RT_TRY(rt_result(cuCtxPushCurrent_v2(ctx)));
    cudaError_t error = rt_function(func, out_func);
    (void)cuCtxPopCurrent_v2(&popped);
    return error;
}

static cudaError_t driver_params_of(const struct cudaLaunchParams *p, CUDA_LAUNCH_PARAMS *out)
{
    CUfunction func;
    RT_TRY(function_for(p->func, p->stream, &func));
    RT_TRY(rt_check_dims(p->gridDim, p->blockDim, p->sharedMem));
    *out = (CUDA_LAUNCH_PARAMS){.function = func,
                                .gridDimX = p->gridDim.x,
                                .gridDimY = p->gridDim.y,
                                .gridDimZ = p->gridDim.z,
                                .blockDimX = p->blockDim.x,
                                .blockDimY = p->blockDim.y,
                                .blockDimZ = p->blockDim.z,
                                .sharedMemBytes = (unsigned)p->sharedMem,
                                .hStream = p->stream,
                                .kernelParams = p->args};
    return cudaSuccess;
}

cudaError_t rt_cudaLaunchCooperativeKernelMultiDevice(struct cudaLaunchParams *list, unsigned n,
                                                      unsigned flags)
{
    int ndevices;
    RT_TRY(rt_cudaGetDeviceCount(&ndevices));
    if (!list || !n || n > (unsigned)ndevices)
        return rt_fail(cudaErrorInvalidValue);
    CUDA_LAUNCH_PARAMS *params = calloc(n, sizeof(*params));
    if (!params)
        return rt_fail(cudaErrorMemoryAllocation);
    cudaError_t error = cudaSuccess;
    for (unsigned i = 0; i < n && !error; i++)
        error = driver_params_of(&list[i], &params[i]);
    if (!error)
        error = rt_result(cuLaunchCooperativeKernelMultiDevice(params, n, flags));
    free(params);
    return rt_launched(list[0].func, error);
}

_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute),
               "same layout, both public");

static CUlaunchConfig driver_config_of(const cudaLaunchConfig_t *config, cudaStream_t stream)
{
    return (CUlaunchConfig){
        .gridDimX = config->gridDim.x,
        .gridDimY = config->gridDim.y,
        .gridDimZ = config->gridDim.z,
        .blockDimX = config->blockDim.x,
        .blockDimY = config->blockDim.y,
        .blockDimZ = config->blockDim.z,
        .sharedMemBytes = (unsigned)config->dynamicSmemBytes,
        .hStream = stream,
        .attrs = (CUlaunchAttribute *)config->attrs,
        .numAttrs = config->numAttrs,
    };
}

static cudaError_t launch_ex(const cudaLaunchConfig_t *config, const void *func, void **args,
                             cudaStream_t stream)
{
    CUfunction driver_func;
    RT_TRY(rt_function(func, &driver_func));
    RT_TRY(rt_check_dims(config->gridDim, config->blockDim, config->dynamicSmemBytes));
    const CUlaunchConfig driver_config = driver_config_of(config, stream);
    return rt_result(cuLaunchKernelEx(&driver_config, driver_func, args, NULL));
}

cudaError_t rt_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args,
                                   CUstream null_stream)
{
    if (!config)
        return rt_fail(cudaErrorInvalidValue);
    return rt_launched(
        func, launch_ex(config, func, args, config->stream ? config->stream : null_stream));
}

cudaError_t rt_cudaOccupancyMaxActiveClusters(int *numClusters, const void *func,
                                              const cudaLaunchConfig_t *launchConfig)
{
    CUfunction f;
    if (!launchConfig)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_function(func, &f));
    const CUlaunchConfig config = driver_config_of(launchConfig, launchConfig->stream);
    return rt_result(cuOccupancyMaxActiveClusters(numClusters, f, &config));
}

cudaError_t rt_cudaOccupancyMaxPotentialClusterSize(int *clusterSize, const void *func,
                                                    const cudaLaunchConfig_t *launchConfig)
{
    CUfunction f;
    if (!launchConfig)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_function(func, &f));
    const CUlaunchConfig config = driver_config_of(launchConfig, launchConfig->stream);
    return rt_result(cuOccupancyMaxPotentialClusterSize(clusterSize, f, &config));
}

cudaError_t rt_cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn_, void *userData)
{
    RT_CALL(cuLaunchHostFunc(stream, fn_, userData));
}
