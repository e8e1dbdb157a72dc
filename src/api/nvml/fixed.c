/* What is the same for each device at all times. */
#include <sched.h>
#include <string.h>

#include "api/nvml/ml.h"

/* A function that says one number of every device. */
#define FIXED(name, type, value)                                                                   \
    HD_EXPORT nvmlReturn_t name(nvmlDevice_t device, type *out)                                    \
    {                                                                                              \
        unsigned index;                                                                            \
                                                                                                   \
        ML_TRY(ml_index(device, &index));                                                          \
        if (!out)                                                                                  \
            return NVML_ERROR_INVALID_ARGUMENT;                                                    \
        *out = (value);                                                                            \
        return NVML_SUCCESS;                                                                       \
    }

FIXED(nvmlDeviceGetBrand, nvmlBrandType_t, NVML_BRAND_UNKNOWN)
FIXED(nvmlDeviceGetBusType, nvmlBusType_t, 0)
FIXED(nvmlDeviceGetBoardId, unsigned, index)
FIXED(nvmlDeviceGetModuleId, unsigned, index)
FIXED(nvmlDeviceGetMultiGpuBoard, unsigned, 0)
FIXED(nvmlDeviceGetNumFans, unsigned, 0)
FIXED(nvmlDeviceGetMaxMigDeviceCount, unsigned, 0)
FIXED(nvmlDeviceIsMigDeviceHandle, unsigned, 0)
FIXED(nvmlDeviceGetPerformanceState, nvmlPstates_t, 0)
FIXED(nvmlDeviceGetPowerState, nvmlPstates_t, 0)
FIXED(nvmlDeviceGetDisplayActive, nvmlEnableState_t, NVML_FEATURE_DISABLED)
FIXED(nvmlDeviceGetDisplayMode, nvmlEnableState_t, NVML_FEATURE_DISABLED)
FIXED(nvmlDeviceGetAccountingMode, nvmlEnableState_t, NVML_FEATURE_DISABLED)
FIXED(nvmlDeviceGetPersistenceMode, nvmlEnableState_t, NVML_FEATURE_ENABLED)
FIXED(nvmlDeviceGetVirtualizationMode, nvmlGpuVirtualizationMode_t, 0)

static nvmlReturn_t give_number(unsigned *out, unsigned value)
{
    ML_TRY(ml_ready());
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = value;
    return NVML_SUCCESS;
}

HD_EXPORT nvmlReturn_t nvmlUnitGetCount(unsigned int *unitCount)
{
    return give_number(unitCount, 0);
}

HD_EXPORT nvmlReturn_t nvmlGetExcludedDeviceCount(unsigned int *deviceCount)
{
    return give_number(deviceCount, 0);
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned int *busWidth)
{
    unsigned index;

    ML_TRY(ml_index(device, &index));
    return busWidth ? ml_attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, busWidth)
                    : NVML_ERROR_INVALID_ARGUMENT;
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t *mode)
{
    unsigned index;
    unsigned value;

    ML_TRY(ml_index(device, &index));
    if (!mode)
        return NVML_ERROR_INVALID_ARGUMENT;
    ML_TRY(ml_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, &value));
    *mode = (nvmlComputeMode_t)value;
    return NVML_SUCCESS;
}

/* Kernels use the page tables of the process. */
HD_EXPORT nvmlReturn_t nvmlDeviceGetAddressingMode(nvmlDevice_t device,
                                                   nvmlDeviceAddressingMode_t *mode)
{
    unsigned index;
    unsigned does = 0;

    ML_TRY(ml_index(device, &index));
    if (!mode)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (mode->version != nvmlDeviceAddressingMode_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    ML_TRY(ml_attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, &does));
    mode->value = does ? 2 : 0;
    return NVML_SUCCESS;
}

HD_EXPORT nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *gpmSupport)
{
    unsigned index;

    ML_TRY(ml_index(device, &index));
    if (!gpmSupport)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (gpmSupport->version != 1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    gpmSupport->isSupportedDevice = 0;
    return NVML_SUCCESS;
}

/* ---- where devices are: all on the CPUs of this process */

static nvmlReturn_t two_devices(nvmlDevice_t device1, nvmlDevice_t device2, unsigned indices[2])
{
    ML_TRY(ml_index(device1, &indices[0]));
    return ml_index(device2, &indices[1]);
}

HD_EXPORT nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t device1, nvmlDevice_t device2,
                                             int *onSameBoard)
{
    unsigned indices[2];

    ML_TRY(two_devices(device1, device2, indices));
    if (!onSameBoard)
        return NVML_ERROR_INVALID_ARGUMENT;
    *onSameBoard = 0;
    return NVML_SUCCESS;
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device1,
                                                           nvmlDevice_t device2,
                                                           nvmlGpuTopologyLevel_t *pathInfo)
{
    unsigned indices[2];

    ML_TRY(two_devices(device1, device2, indices));
    if (!pathInfo)
        return NVML_ERROR_INVALID_ARGUMENT;
    *pathInfo = indices[0] == indices[1] ? NVML_TOPOLOGY_INTERNAL : NVML_TOPOLOGY_NODE;
    return NVML_SUCCESS;
}

/* The devices but `without`, as far as there is room; *count becomes how many there are. */
static nvmlReturn_t give_devices(unsigned without, unsigned *count, nvmlDevice_t *devices)
{
    unsigned n = 0, room = *count;

    for (unsigned i = 0; i < ml_device_count(); i++) {
        if (i == without)
            continue;
        if (devices && n < room)
            devices[n] = ml_device_at(i);
        n++;
    }
    *count = n;
    return NVML_SUCCESS;
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device,
                                                        nvmlGpuTopologyLevel_t level,
                                                        unsigned int *count,
                                                        nvmlDevice_t *deviceArray)
{
    unsigned index;

    ML_TRY(ml_index(device, &index));
    if (!count || (*count && !deviceArray) || level > NVML_TOPOLOGY_SYSTEM)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (level == NVML_TOPOLOGY_NODE)
        return give_devices(index, count, deviceArray);
    *count = 0;
    return NVML_SUCCESS;
}

HD_EXPORT nvmlReturn_t nvmlSystemGetTopologyGpuSet(unsigned int cpuNumber, unsigned int *count,
                                                   nvmlDevice_t *deviceArray)
{
    (void)cpuNumber;
    ML_TRY(ml_ready());
    if (!count || (*count && !deviceArray))
        return NVML_ERROR_INVALID_ARGUMENT;
    return give_devices(UINT32_MAX, count, deviceArray);
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device1, nvmlDevice_t device2,
                                              nvmlGpuP2PCapsIndex_t p2pIndex,
                                              nvmlGpuP2PStatus_t *p2pStatus)
{
    unsigned indices[2];

    ML_TRY(two_devices(device1, device2, indices));
    if (!p2pStatus || p2pIndex > 4) /* read, write, NVLink, atomics, PCI */
        return NVML_ERROR_INVALID_ARGUMENT;
    *p2pStatus = indices[0] != indices[1] && p2pIndex != 2 ? NVML_P2P_STATUS_OK
                                                           : NVML_P2P_STATUS_NOT_SUPPORTED;
    return NVML_SUCCESS;
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int cpuSetSize,
                                                unsigned long *cpuSet)
{
    unsigned index;
    cpu_set_t mask;

    ML_TRY(ml_index(device, &index));
    if (!cpuSet || !cpuSetSize)
        return NVML_ERROR_INVALID_ARGUMENT;
    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof(mask), &mask))
        return NVML_ERROR_UNKNOWN;
    size_t words = HD_MIN(cpuSetSize, sizeof(mask) / sizeof(*cpuSet));
    memset(cpuSet, 0, cpuSetSize * sizeof(*cpuSet));
    memcpy(cpuSet, &mask, words * sizeof(*cpuSet));
    return NVML_SUCCESS;
}

/* Scopes: 0 a memory node, 1 a socket. */
HD_EXPORT nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device,
                                                           unsigned int cpuSetSize,
                                                           unsigned long *cpuSet,
                                                           nvmlAffinityScope_t scope)
{
    return scope > 1 ? NVML_ERROR_INVALID_ARGUMENT
                     : nvmlDeviceGetCpuAffinity(device, cpuSetSize, cpuSet);
}

/* One node: devices do not choose where their memory is. */
HD_EXPORT nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int nodeSetSize,
                                                   unsigned long *nodeSet,
                                                   nvmlAffinityScope_t scope)
{
    unsigned index;

    ML_TRY(ml_index(device, &index));
    if (!nodeSet || !nodeSetSize || scope > 1)
        return NVML_ERROR_INVALID_ARGUMENT;
    memset(nodeSet, 0, nodeSetSize * sizeof(*nodeSet));
    nodeSet[0] = 1;
    return NVML_SUCCESS;
}
