/* Devices: their records and what can be asked about them. */
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "api/cupti/cupti.h"
#include "api/cupti/profiler.h"

static uint32_t ask(CUdevice device, CUdevice_attribute attribute)
{
    int value = 0;

    return cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS ? (uint32_t)value : 0;
}

static void limits_fill(CUpti_ActivityDevice5 *r, CUdevice device)
{
    r->constantMemorySize = ask(device, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
    r->l2CacheSize = ask(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    r->numThreadsPerWarp = ask(device, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    r->coreClockRate = ask(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    r->numMemcpyEngines = ask(device, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
    r->numMultiprocessors = ask(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    r->maxWarpsPerMultiprocessor =
        ask(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / 32;
    r->maxBlocksPerMultiprocessor = ask(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    r->maxSharedMemoryPerMultiprocessor =
        ask(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    r->maxRegistersPerMultiprocessor =
        ask(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    r->maxRegistersPerBlock = ask(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    r->maxSharedMemoryPerBlock = ask(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    r->maxThreadsPerBlock = ask(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    r->maxBlockDimX = ask(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
    r->maxBlockDimY = ask(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
    r->maxBlockDimZ = ask(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
    r->maxGridDimX = ask(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
    r->maxGridDimY = ask(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
    r->maxGridDimZ = ask(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
    r->computeCapabilityMajor = ask(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    r->computeCapabilityMinor = ask(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    r->eccEnabled = ask(device, CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
}

static void device_fill(CUpti_ActivityDevice5 *r, CUdevice device)
{
    char name[128] = "";
    size_t memory_B = 0;
    CUuuid uuid = {0};

    (void)cuDeviceGetName(name, sizeof(name), device);
    (void)cuDeviceTotalMem(&memory_B, device);
    (void)cuDeviceGetUuid(&uuid, device);
    limits_fill(r, device);
    r->flags = CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS;
    r->globalMemorySize = memory_B;
    /* kHz, twice a clock, bits: kB/s as the manual has it */
    r->globalMemoryBandwidth = (uint64_t)ask(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) * 2 *
                               ask(device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
    r->id = (uint32_t)device;
    r->uuid = uuid;
    r->name = cupti_name_keep(name);
    r->isCudaVisible = 1;
}

/* All devices, at once: they neither come nor go. */
void cupti_record_devices(void)
{
    int n = 0;

    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&n) != CUDA_SUCCESS)
        return;
    for (int device = 0; device < n; device++) {
        CUpti_ActivityDevice5 filled = {.kind = CUPTI_ACTIVITY_KIND_DEVICE}, *r;

        device_fill(&filled, (CUdevice)device);
        r = cupti_record_begin(CUPTI_ACTIVITY_KIND_DEVICE);
        if (!r)
            continue;
        *r = filled;
        cupti_record_end();
    }
}

CUPTI_EXPORT(cuptiDeviceSupported)
CUptiResult cuptiDeviceSupported(CUdevice dev, int *support)
{
    int n = 0;

    if (!support)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&n) != CUDA_SUCCESS || dev < 0 || dev >= n)
        return cupti_result(CUPTI_ERROR_INVALID_DEVICE);
    *support = 1;
    return CUPTI_SUCCESS;
}

/* Every capability that a device of Heddle's may identify as. */
CUPTI_EXPORT(cuptiComputeCapabilitySupported)
CUptiResult cuptiComputeCapabilitySupported(int major, int minor, int *support)
{
    if (!support)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    *support = (major > 7 || (major == 7 && minor >= 5)) && major <= 12;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiDeviceVirtualizationMode)
CUptiResult cuptiDeviceVirtualizationMode(CUdevice dev, CUpti_DeviceVirtualizationMode *mode)
{
    int support;

    if (!mode)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    *mode = CUPTI_DEVICE_VIRTUALIZATION_MODE_NONE;
    return cuptiDeviceSupported(dev, &support);
}

/* The chips that devices of a capability have; of the newest ones the first. */
#define CHIP_LIST(X)                                                                               \
    X(75, "TU104")                                                                                 \
    X(80, "GA100")                                                                                 \
    X(86, "GA102")                                                                                 \
    X(89, "AD102")                                                                                 \
    X(90, "GH100")                                                                                 \
    X(100, "GB100")                                                                                \
    X(103, "GB110")                                                                                \
    X(120, "GB202")

static const uint32_t capabilities[] = {
#define X(capability, chip) capability,
    CHIP_LIST(X)
#undef X
};

static const char *const chips[] = {
#define X(capability, chip) chip,
    CHIP_LIST(X)
#undef X
};

const char *const *cupti_chips(size_t *out_count)
{
    *out_count = HD_COUNT_OF(chips);
    return chips;
}

bool cupti_is_chip(const char *name)
{
    for (size_t i = 0; i < HD_COUNT_OF(chips); i++)
        if (!strcmp(chips[i], name))
            return true;
    return false;
}

static const char *chip_of(uint32_t major, uint32_t minor)
{
    for (size_t i = 0; i < HD_COUNT_OF(chips); i++)
        if (capabilities[i] == major * 10 + minor)
            return chips[i];
    return NULL;
}

CUPTI_EXPORT(cuptiDeviceGetChipName)
CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *pParams)
{
    CUdevice device;
    int support;

    if (!CUPTI_IS_PARAMS(pParams, pChipName))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    device = (CUdevice)pParams->deviceIndex;
    if (cuptiDeviceSupported(device, &support) != CUPTI_SUCCESS)
        return CUPTI_ERROR_INVALID_DEVICE;
    pParams->pChipName = chip_of(ask(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                                 ask(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    return cupti_result(pParams->pChipName ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_DEVICE);
}
