/* Launches. */
#include "api/driver/driver.h"

/* The `extra` form: a packed buffer. */
static CUresult decode_extra(void **extra, struct core_launch *launch)
{
    const size_t *size = NULL;

    for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            launch->buffer = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = extra[1];
        else
            return drv_error(CUDA_ERROR_INVALID_VALUE, "unknown word in extra");
    }
    launch->buffer_B = size ? *size : 0;
    return CUDA_SUCCESS;
}

static CUresult launch_run(struct core_context *ctx, CUfunction func, CUstream handle,
                           struct core_launch *launch, void **params, void **extra)
{
    CUresult result;

    API_FUNCTION(ctx, function, func);
    API_STREAM(ctx, stream, handle);
    if (params && extra)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "both params and extra are given");
    launch->params = params;
    result = decode_extra(extra, launch);
    if (result != CUDA_SUCCESS)
        return result;
    return drv_result(core_launch(function, stream, launch));
}

HD_EXPORT CUresult cuLaunchKernel(CUfunction func, unsigned gx, unsigned gy, unsigned gz,
                                  unsigned bx, unsigned by, unsigned bz, unsigned smem_B,
                                  CUstream stream, void **params, void **extra)
{
    struct core_launch launch = {
        .grid = {gx, gy, gz}, .block = {bx, by, bz}, .dynamic_smem_B = smem_B};

    API_CALL(cuLaunchKernel);
    API_CONTEXT(ctx);
    return launch_run(ctx, func, stream, &launch, params, extra);
}
DRV_PER_THREAD(cuLaunchKernel_ptsz,
               (CUfunction func, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                unsigned bz, unsigned smem_B, CUstream stream, void **params, void **extra),
               cuLaunchKernel(func, gx, gy, gz, bx, by, bz, smem_B, PER_THREAD(stream), params,
                              extra))

HD_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction func, unsigned gx, unsigned gy, unsigned gz,
                                             unsigned bx, unsigned by, unsigned bz, unsigned smem_B,
                                             CUstream stream, void **params)
{
    struct core_launch launch = {
        .grid = {gx, gy, gz}, .block = {bx, by, bz}, .dynamic_smem_B = smem_B, .cooperative = true};

    API_CALL(cuLaunchCooperativeKernel);
    API_CONTEXT(ctx);
    return launch_run(ctx, func, stream, &launch, params, NULL);
}
DRV_PER_THREAD(cuLaunchCooperativeKernel_ptsz,
               (CUfunction func, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                unsigned bz, unsigned smem_B, CUstream stream, void **params),
               cuLaunchCooperativeKernel(func, gx, gy, gz, bx, by, bz, smem_B, PER_THREAD(stream),
                                         params))

/*
 * Hints (cache windows, priority, carveout, programmatic serialisation, which only allows more
 * overlap) are taken; what would change results is refused.
 */
static CUresult decode_attribute(const CUlaunchAttribute *a, struct core_launch *launch)
{
    switch (a->id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        launch->cooperative = a->value.cooperative != 0;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        if (a->value.clusterDim.x <= 1 && a->value.clusterDim.y <= 1 && a->value.clusterDim.z <= 1)
            return CUDA_SUCCESS;
        return drv_error(CUDA_ERROR_NOT_SUPPORTED, "launch attribute: clusters");
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        return drv_error(CUDA_ERROR_NOT_SUPPORTED, "launch attribute %d", (int)a->id);
    default:
        return CUDA_SUCCESS;
    }
}

HD_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction func, void **params,
                                    void **extra)
{
    struct core_launch launch = {0};

    API_CALL(cuLaunchKernelEx);
    API_CHECK(config);
    API_CHECK(!config->numAttrs || config->attrs);
    API_CONTEXT(ctx);
    launch = (struct core_launch){
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .dynamic_smem_B = config->sharedMemBytes,
    };
    for (unsigned i = 0; i < config->numAttrs; i++) {
        CUresult result = decode_attribute(&config->attrs[i], &launch);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return launch_run(ctx, func, config->hStream, &launch, params, extra);
}

static CUresult launch_ex_per_thread(const CUlaunchConfig *config, CUfunction func, void **params,
                                     void **extra)
{
    CUlaunchConfig changed;

    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    changed = *config;
    changed.hStream = PER_THREAD(config->hStream);
    return cuLaunchKernelEx(&changed, func, params, extra);
}
DRV_PER_THREAD(cuLaunchKernelEx_ptsz,
               (const CUlaunchConfig *config, CUfunction func, void **params, void **extra),
               launch_ex_per_thread(config, func, params, extra))

HD_EXPORT CUresult cuLaunchHostFunc(CUstream handle, CUhostFn func, void *arg)
{
    API_CALL(cuLaunchHostFunc);
    API_CHECK(func);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    return drv_result(core_stream_call(stream, func, arg, false));
}
DRV_PER_THREAD(cuLaunchHostFunc_ptsz, (CUstream stream, CUhostFn func, void *arg),
               cuLaunchHostFunc(PER_THREAD(stream), func, arg))

/* ---- occupancy */

HD_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, CUfunction func, int block_size, size_t smem_B, unsigned flags)
{
    API_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags);
    API_CHECK(blocks);
    API_CHECK(block_size > 0);
    API_CHECK(!(flags & ~1u));
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, func);
    *blocks = core_occupancy(function, block_size, smem_B);
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction func,
                                                               int block_size, size_t smem_B)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, func, block_size, smem_B,
                                                                0);
}

/* The block size that keeps most threads resident; the larger one of equals. */
HD_EXPORT CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *min_grid, int *block_size,
                                                             CUfunction func,
                                                             CUoccupancyB2DSize smem_of,
                                                             size_t smem_B, int limit,
                                                             unsigned flags)
{
    int best_threads = 0, max, per_sm;

    API_CALL(cuOccupancyMaxPotentialBlockSizeWithFlags);
    API_CHECK(min_grid && block_size);
    API_CHECK(!(flags & ~1u));
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, func);
    max = (int)function->info.max_threads;
    if (limit > 0 && limit < max)
        max = limit;
    *block_size = *min_grid = 0;
    for (int size = (max + 31) / 32 * 32; size > 0; size -= 32) {
        int threads = HD_MIN(size, max);

        per_sm = core_occupancy(function, threads, smem_of ? smem_of(threads) : smem_B);
        if (per_sm * threads > best_threads) {
            best_threads = per_sm * threads;
            *block_size = threads;
            *min_grid = per_sm * ctx->device->units;
        }
    }
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuOccupancyMaxPotentialBlockSize(int *min_grid, int *block_size, CUfunction func,
                                                    CUoccupancyB2DSize smem_of, size_t smem_B,
                                                    int limit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(min_grid, block_size, func, smem_of, smem_B,
                                                     limit, 0);
}

HD_EXPORT CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *smem_B, CUfunction func,
                                                           int blocks, int block_size)
{
    API_CALL(cuOccupancyAvailableDynamicSMemPerBlock);
    API_CHECK(smem_B && blocks > 0 && block_size > 0);
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, func);
    *smem_B = core_occupancy_smem(function, blocks, block_size);
    return CUDA_SUCCESS;
}
