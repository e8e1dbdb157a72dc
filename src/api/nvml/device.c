/*
 * What a device is. A handle is the address of the device's slot in a table, so that any other
 * pointer is refused without being read.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api/nvml/ml.h"

enum { MAX_DEVICES = 64, UUID_TEXT_B = 64 };

struct nvmlDevice_st {
    char unused;
};

static struct nvmlDevice_st slots[MAX_DEVICES];

nvmlReturn_t ml_device_count(unsigned *count)
{
    int n = 0;
    CUresult result = cuDeviceGetCount(&n);

    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NO_DEVICE &&
        result != CUDA_ERROR_NOT_INITIALIZED)
        return ml_result(result);
    *count = n > MAX_DEVICES ? MAX_DEVICES : (unsigned)n;
    return NVML_SUCCESS;
}

nvmlDevice_t ml_device_at(unsigned index)
{
    return &slots[index];
}

nvmlReturn_t ml_ordinal(nvmlDevice_t device, CUdevice *ordinal)
{
    uintptr_t offset = (uintptr_t)device - (uintptr_t)slots;
    unsigned count = 0;

    ML_TRY(ml_ready());
    ML_TRY(ml_device_count(&count));
    if (!device || offset >= count * sizeof(slots[0]))
        return NVML_ERROR_INVALID_ARGUMENT;
    return ml_result(cuDeviceGet(ordinal, (int)(offset / sizeof(slots[0]))));
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *deviceCount)
{
    ML_TRY(ml_ready());
    return deviceCount ? ml_device_count(deviceCount) : NVML_ERROR_INVALID_ARGUMENT;
}
ML_ALIAS(nvmlDeviceGetCount, nvmlDeviceGetCount_v2);

HD_EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    unsigned count = 0;

    ML_TRY(ml_ready());
    ML_TRY(ml_device_count(&count));
    if (!device || index >= count)
        return NVML_ERROR_INVALID_ARGUMENT;
    *device = &slots[index];
    return NVML_SUCCESS;
}
ML_ALIAS(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2);

/* GPU-8-4-4-4-12 */
static nvmlReturn_t uuid_text(CUdevice ordinal, char text[UUID_TEXT_B])
{
    CUuuid uuid;
    size_t len = (size_t)snprintf(text, UUID_TEXT_B, "GPU-");

    ML_TRY(ml_result(cuDeviceGetUuid_v2(&uuid, ordinal)));
    for (int i = 0; i < 16; i++)
        len += (size_t)snprintf(text + len, UUID_TEXT_B - len, "%s%02x",
                                i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                                (unsigned char)uuid.bytes[i]);
    return NVML_SUCCESS;
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    unsigned count = 0;
    char text[UUID_TEXT_B];

    ML_TRY(ml_ready());
    ML_TRY(ml_device_count(&count));
    if (!uuid || !device)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; i < count; i++) {
        ML_TRY(uuid_text((CUdevice)i, text));
        if (!strcmp(text, uuid)) {
            *device = &slots[i];
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

/* domain:bus:device.function; the driver takes shorter forms, too. */
HD_EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device)
{
    CUdevice ordinal;

    ML_TRY(ml_ready());
    if (!pciBusId || !device)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (cuDeviceGetByPCIBusId(&ordinal, pciBusId) != CUDA_SUCCESS)
        return NVML_ERROR_NOT_FOUND;
    *device = &slots[ordinal];
    return NVML_SUCCESS;
}
ML_ALIAS(nvmlDeviceGetHandleByPciBusId, nvmlDeviceGetHandleByPciBusId_v2);

HD_EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
    CUdevice ordinal;
    char text[128] = "";

    ML_TRY(ml_ordinal(device, &ordinal));
    ML_TRY(ml_result(cuDeviceGetName(text, sizeof(text), ordinal)));
    return ml_give_text(name, length, text);
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
    CUdevice ordinal;

    ML_TRY(ml_ordinal(device, &ordinal));
    if (!index)
        return NVML_ERROR_INVALID_ARGUMENT;
    *index = (unsigned)ordinal;
    return NVML_SUCCESS;
}

/* Of /dev/nvidia<minor>, the names that `heddle run` shows. */
HD_EXPORT nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minorNumber)
{
    return nvmlDeviceGetIndex(device, minorNumber);
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
    CUdevice ordinal;
    char text[UUID_TEXT_B];

    ML_TRY(ml_ordinal(device, &ordinal));
    ML_TRY(uuid_text(ordinal, text));
    return ml_give_text(uuid, length, text);
}

nvmlReturn_t ml_attribute(CUdevice ordinal, CUdevice_attribute what, unsigned *out)
{
    int value = 0;

    ML_TRY(ml_result(cuDeviceGetAttribute(&value, what, ordinal)));
    *out = (unsigned)value;
    return NVML_SUCCESS;
}

/* Vendor and device of PCI are 0: there is none. */
HD_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    CUdevice ordinal;
    nvmlPciInfo_t info = {0};

    ML_TRY(ml_ordinal(device, &ordinal));
    if (!pci)
        return NVML_ERROR_INVALID_ARGUMENT;
    ML_TRY(ml_attribute(ordinal, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, &info.domain));
    ML_TRY(ml_attribute(ordinal, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, &info.bus));
    ML_TRY(ml_attribute(ordinal, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, &info.device));
    (void)snprintf(info.busIdLegacy, sizeof(info.busIdLegacy), "%04X:%02X:%02X.0",
                   info.domain & 0xffff, info.bus & 0xff, info.device & 0xff);
    (void)snprintf(info.busId, sizeof(info.busId), "%08X:%02X:%02X.0", info.domain, info.bus & 0xff,
                   info.device & 0xff);
    *pci = info;
    return NVML_SUCCESS;
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t *pci)
{
    nvmlPciInfo_t info;

    ML_TRY(nvmlDeviceGetPciInfo_v3(device, &info));
    if (!pci)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (pci->version != nvmlPciInfoExt_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    *pci = (nvmlPciInfoExt_t){.version = nvmlPciInfoExt_v1,
                              .domain = info.domain,
                              .bus = info.bus,
                              .device = info.device};
    memcpy(pci->busId, info.busId, sizeof(pci->busId));
    return NVML_SUCCESS;
}

/* The first two versions end behind pciSubSystemId, or in reserved words. */
HD_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci);
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    nvmlPciInfo_t info;

    ML_TRY(nvmlDeviceGetPciInfo_v3(device, &info));
    if (!pci)
        return NVML_ERROR_INVALID_ARGUMENT;
    memcpy(pci, &info, offsetof(nvmlPciInfo_t, busId));
    return NVML_SUCCESS;
}
ML_ALIAS(nvmlDeviceGetPciInfo, nvmlDeviceGetPciInfo_v2);

HD_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    CUdevice ordinal;
    struct ml_usage usage;
    size_t total_B;

    ML_TRY(ml_ordinal(device, &ordinal));
    if (!memory)
        return NVML_ERROR_INVALID_ARGUMENT;
    ML_TRY(ml_result(cuDeviceTotalMem_v2(&total_B, ordinal)));
    ml_usage_get(ordinal, &usage);
    uint64_t used_B = HD_MIN(usage.memory_B, total_B);
    *memory = (nvmlMemory_t){.total = total_B, .free = total_B - used_B, .used = used_B};
    return NVML_SUCCESS;
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    nvmlMemory_t m;

    ML_TRY(nvmlDeviceGetMemoryInfo(device, &m));
    if (!memory)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (memory->version != nvmlMemory_v2)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    memory->total = m.total;
    memory->reserved = 0;
    memory->free = m.free;
    memory->used = m.used;
    return NVML_SUCCESS;
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major,
                                                          int *minor)
{
    CUdevice ordinal;
    unsigned first, second;

    ML_TRY(ml_ordinal(device, &ordinal));
    if (!major || !minor)
        return NVML_ERROR_INVALID_ARGUMENT;
    ML_TRY(ml_attribute(ordinal, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &first));
    ML_TRY(ml_attribute(ordinal, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &second));
    *major = (int)first;
    *minor = (int)second;
    return NVML_SUCCESS;
}

/* The host reaches all of the memory. */
HD_EXPORT nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device,
                                                   nvmlBAR1Memory_t *bar1Memory)
{
    nvmlMemory_t m;

    ML_TRY(nvmlDeviceGetMemoryInfo(device, &m));
    if (!bar1Memory)
        return NVML_ERROR_INVALID_ARGUMENT;
    *bar1Memory = (nvmlBAR1Memory_t){m.total, m.free, m.used};
    return NVML_SUCCESS;
}

/* From the first compute capability of each, the newest first. */
HD_EXPORT nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device,
                                                 nvmlDeviceArchitecture_t *arch)
{
    static const struct {
        int cc;
        nvmlDeviceArchitecture_t arch;
    } rows[] = {
        {100, NVML_DEVICE_ARCH_BLACKWELL}, {90, NVML_DEVICE_ARCH_HOPPER},
        {89, NVML_DEVICE_ARCH_ADA},        {80, NVML_DEVICE_ARCH_AMPERE},
        {75, NVML_DEVICE_ARCH_TURING},     {70, NVML_DEVICE_ARCH_VOLTA},
    };
    int major, minor;

    ML_TRY(nvmlDeviceGetCudaComputeCapability(device, &major, &minor));
    if (!arch)
        return NVML_ERROR_INVALID_ARGUMENT;
    *arch = NVML_DEVICE_ARCH_UNKNOWN;
    for (size_t i = 0; i < HD_COUNT_OF(rows) && *arch == NVML_DEVICE_ARCH_UNKNOWN; i++)
        if (major * 10 + minor >= rows[i].cc)
            *arch = rows[i].arch;
    return NVML_SUCCESS;
}
