/*
 * Launches of the first version: block, shared memory and parameters are said one by one,
 * and the function keeps them. The documentation lets cuLaunchKernel() forget them: this one does
 * not.
 */
#include "base/mem.h"
#include "core/texture/texref.h"

#include "api/driver/driver.h"

/* ---- what the function keeps */

CUresult drv_cuFuncSetBlockShape(CUfunction func, int x, int y, int z)
{
    const struct core_launch one = {.grid = {1, 1, 1},
                                    .block = {(uint32_t)x, (uint32_t)y, (uint32_t)z}};

    API_CALL(cuFuncSetBlockShape);
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, func);
    if (!core_launch_fits(ctx->device, &one))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "cuFuncSetBlockShape: blocks of (%d,%d,%d)", x,
                         y, z);
    return drv_result(core_setup_block(function, one.block));
}

CUresult drv_cuFuncSetSharedSize(CUfunction func, unsigned size_B)
{
    API_CALL(cuFuncSetSharedSize);
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, func);
    return drv_result(core_setup_smem(function, size_B));
}

CUresult drv_cuParamSetSize(CUfunction func, unsigned size_B)
{
    API_CALL(cuParamSetSize);
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, func);
    return drv_result(core_setup_params(function, size_B));
}

static CUresult param_set(const char *name, CUfunction func, int offset_B, const void *bytes,
                          unsigned size_B)
{
    API_CALL_NAMED(name);
    API_CHECK(offset_B >= 0 && bytes);
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, func);
    return drv_result(core_setup_param(function, (uint32_t)offset_B, bytes, size_B));
}

CUresult drv_cuParamSeti(CUfunction func, int offset_B, unsigned value)
{
    return param_set("cuParamSeti", func, offset_B, &value, sizeof(value));
}

CUresult drv_cuParamSetf(CUfunction func, int offset_B, float value)
{
    return param_set("cuParamSetf", func, offset_B, &value, sizeof(value));
}

CUresult drv_cuParamSetv(CUfunction func, int offset_B, void *bytes, unsigned size_B)
{
    return param_set("cuParamSetv", func, offset_B, bytes, size_B);
}

/* The kernel finds a module's reference by itself. */
CUresult drv_cuParamSetTexRef(CUfunction func, int unit, CUtexref handle)
{
    API_CALL(cuParamSetTexRef);
    API_CHECK(unit == CU_PARAM_TR_DEFAULT);
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, func);
    API_HANDLE(texref, ref, (const void *)handle);
    (void)function;
    API_CHECK(ref->has_module && !ref->is_surface);
    return CUDA_SUCCESS;
}

/* ---- launches */

static CUresult launch(const char *name, CUfunction func, int width, int height, CUstream stream)
{
    HD_AUTOFREE struct core_setup *setup = NULL;

    API_CALL_NAMED(name);
    API_CHECK(width > 0 && height > 0);
    API_CONTEXT(ctx);
    API_FUNCTION(ctx, function, func);
    setup = core_setup_copy(function);
    if (!setup)
        return drv_error(CUDA_ERROR_OUT_OF_MEMORY, "%s: parameters", name);
    return drv_launch_run(
        ctx, func, stream,
        &(struct core_launch){.grid = {(uint32_t)width, (uint32_t)height, 1},
                              .block = {setup->block[0], setup->block[1], setup->block[2]},
                              .dynamic_smem_B = setup->dynamic_smem_B,
                              .buffer = setup->params,
                              .buffer_B = setup->params_B},
        NULL, NULL);
}

CUresult drv_cuLaunch(CUfunction func)
{
    return launch("cuLaunch", func, 1, 1, NULL);
}

CUresult drv_cuLaunchGrid(CUfunction func, int width, int height)
{
    return launch("cuLaunchGrid", func, width, height, NULL);
}

CUresult drv_cuLaunchGridAsync(CUfunction func, int width, int height, CUstream stream)
{
    return launch("cuLaunchGridAsync", func, width, height, stream);
}
