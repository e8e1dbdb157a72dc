/* What is common to the profilers. */
#include <assert.h>
#include <cuda.h>
#include <string.h>

#include "api/cupti/profiler.h"
#include "heddle/sample.h"

struct availability {
    char magic[8];
    uint32_t version, pad;
    char chip[CUPTI_CHIP_NAME_B];
};
_Static_assert(sizeof(struct availability) == 32, "profiler.h says so");

#define AVAILABILITY_MAGIC   "HDLAVLB"
#define AVAILABILITY_VERSION 1u

CUPTI_EXPORT(cuptiProfilerInitialize)
CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *pParams)
{
    if (!CUPTI_IS_PARAMS(pParams, pPriv))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    return cupti_result(cuInit(0) == CUDA_SUCCESS ? CUPTI_SUCCESS : CUPTI_ERROR_NOT_INITIALIZED);
}

CUPTI_EXPORT(cuptiProfilerDeInitialize)
CUptiResult cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params *pParams)
{
    return cupti_result(CUPTI_IS_PARAMS(pParams, pPriv) ? CUPTI_SUCCESS
                                                        : CUPTI_ERROR_INVALID_PARAMETER);
}

/* ---- availability */

CUcontext cupti_profiled_context(CUcontext ctx)
{
    if (!ctx && cuCtxGetCurrent(&ctx) != CUDA_SUCCESS)
        return NULL;
    return ctx && cupti_context_of(ctx).id ? ctx : NULL;
}

void cupti_context_wait(CUcontext ctx)
{
    CUcontext popped;

    if (cuCtxPushCurrent(ctx) != CUDA_SUCCESS)
        return;
    (void)cuCtxSynchronize();
    (void)cuCtxPopCurrent(&popped);
}

const char *cupti_availability_chip(const void *image)
{
    const struct availability *a = image;

    return !memcmp(a->magic, AVAILABILITY_MAGIC, sizeof(a->magic)) &&
                   a->version == AVAILABILITY_VERSION && memchr(a->chip, '\0', sizeof(a->chip))
               ? a->chip
               : NULL;
}

static CUptiResult availability_fill(CUcontext ctx, struct availability *out)
{
    CUpti_Device_GetChipName_Params chip = {.structSize = sizeof(chip),
                                            .deviceIndex = cupti_context_of(ctx).device};
    CUptiResult result = cuptiDeviceGetChipName(&chip);

    if (result != CUPTI_SUCCESS)
        return result;
    assert(chip.pChipName);
    *out = (struct availability){.magic = AVAILABILITY_MAGIC, .version = AVAILABILITY_VERSION};
    memcpy(out->chip, chip.pChipName, strnlen(chip.pChipName, sizeof(out->chip) - 1));
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiProfilerGetCounterAvailability)
CUptiResult
cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params *pParams)
{
    struct availability image;
    CUcontext ctx;
    CUptiResult result;

    if (!CUPTI_IS_PARAMS(pParams, pCounterAvailabilityImage))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    ctx = cupti_profiled_context(pParams->ctx);
    if (!ctx)
        return cupti_result(CUPTI_ERROR_INVALID_CONTEXT);
    if (pParams->pCounterAvailabilityImage) {
        if (pParams->counterAvailabilityImageSize < sizeof(image))
            return cupti_result(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
        result = availability_fill(ctx, &image);
        if (result != CUPTI_SUCCESS)
            return result;
        memcpy(pParams->pCounterAvailabilityImage, &image, sizeof(image));
    }
    pParams->counterAvailabilityImageSize = sizeof(image);
    return CUPTI_SUCCESS;
}

/* ---- support */

static bool is_there(CUpti_Profiler_API api)
{
    return api == CUPTI_PROFILER_RANGE_PROFILING ||
           (api == CUPTI_PROFILER_PC_SAMPLING && heddle_sample_can());
}

CUPTI_EXPORT(cuptiProfilerDeviceSupported)
CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params *pParams)
{
    const CUpti_Profiler_Support_Level yes = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    CUpti_Profiler_API api = CUPTI_PROFILER_RANGE_PROFILING;
    CUptiResult result;
    int support;

    if (!CUPTI_IS_PARAMS(pParams, wsl))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    if (CUPTI_HAS(pParams, api))
        api = pParams->api;
    if ((unsigned)api >= CUPTI_PROFILER_UNKNOWN)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    result = cuptiDeviceSupported(pParams->cuDevice, &support);
    if (result != CUPTI_SUCCESS)
        return result;
    pParams->isSupported = is_there(api) ? yes : CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
    pParams->architecture = pParams->isSupported;
    pParams->sli = pParams->vGpu = pParams->confidentialCompute = yes;
    pParams->cmp = pParams->wsl = yes;
    return CUPTI_SUCCESS;
}
