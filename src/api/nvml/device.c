/* What a device is, and which there are. */
#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/nvml/ml.h"
#include "base/str.h"

enum { UUID_TEXT_B = sizeof("GPU-") - 1 + HD_UUID_TEXT_B };

static int bus_of(unsigned index)
{
    CUuuid uuid;
    int bus = 0;

    (void)heddle_device_identity(index, &uuid, &bus);
    return bus;
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *deviceCount)
{
    ML_TRY(ml_ready());
    if (!deviceCount)
        return NVML_ERROR_INVALID_ARGUMENT;
    *deviceCount = ml_device_count();
    return NVML_SUCCESS;
}
ML_ALIAS(nvmlDeviceGetCount, nvmlDeviceGetCount_v2);

HD_EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    ML_TRY(ml_ready());
    if (!device || index >= ml_device_count())
        return NVML_ERROR_INVALID_ARGUMENT;
    *device = ml_device_at(index);
    return NVML_SUCCESS;
}
ML_ALIAS(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2);

/* GPU-8-4-4-4-12 */
static void uuid_text(unsigned index, char text[UUID_TEXT_B])
{
    CUuuid uuid;

    ml_uuid(index, &uuid);
    (void)snprintf(text, UUID_TEXT_B, "GPU-");
    hd_uuid_text((const uint8_t *)uuid.bytes, text + strlen("GPU-"));
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    char text[UUID_TEXT_B];

    ML_TRY(ml_ready());
    if (!uuid || !device)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; i < ml_device_count(); i++) {
        uuid_text(i, text);
        if (!strcmp(text, uuid)) {
            *device = ml_device_at(i);
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

/* Where devices are: in domain 0, each on a bus of its own, of which it is device 0. */
static nvmlReturn_t pci_place(unsigned index, nvmlPciInfo_t *info)
{
    ML_TRY(ml_attribute(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, &info->domain));
    ML_TRY(ml_attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, &info->device));
    info->bus = (unsigned)bus_of(index);
    return NVML_SUCCESS;
}

/* [domain:]bus:device[.function], in hexadecimal digits; nothing behind it. */
static bool bus_id_read(const char *text, unsigned out[3])
{
    unsigned n[4] = {0}, count = 0;
    char separator = ':';

    for (;;) {
        char *end;
        unsigned long value = strtoul(text, &end, 16);

        if (!isxdigit((unsigned char)*text) || value > UINT32_MAX || count == 4)
            return false;
        if (separator != '.')
            n[count++] = (unsigned)value;
        else if (value)
            return false;
        if (!*end || separator == '.')
            break;
        separator = *end;
        if (separator != ':' && separator != '.')
            return false;
        text = end + 1;
    }
    if (count < 2 || count > 3)
        return false;
    memcpy(out, count == 3 ? n : (unsigned[3]){0, n[0], n[1]}, 3 * sizeof(*out));
    return true;
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device)
{
    unsigned asked[3];

    ML_TRY(ml_ready());
    if (!pciBusId || !device)
        return NVML_ERROR_INVALID_ARGUMENT;
    bool is_id = bus_id_read(pciBusId, asked);
    for (unsigned i = 0; is_id && i < ml_device_count(); i++) {
        nvmlPciInfo_t info;

        ML_TRY(pci_place(i, &info));
        if (info.domain == asked[0] && info.bus == asked[1] && info.device == asked[2]) {
            *device = ml_device_at(i);
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}
ML_ALIAS(nvmlDeviceGetHandleByPciBusId, nvmlDeviceGetHandleByPciBusId_v2);

HD_EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
    unsigned index;
    char text[128] = "";

    ML_TRY(ml_index(device, &index));
    snprintf(text, sizeof(text), "%s", heddle_device_name());
    return ml_give_text(name, length, text);
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
    unsigned number;

    ML_TRY(ml_index(device, &number));
    if (!index)
        return NVML_ERROR_INVALID_ARGUMENT;
    *index = number;
    return NVML_SUCCESS;
}

/* Of /dev/nvidia<minor>, the names that `heddle run` shows. */
HD_EXPORT nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minorNumber)
{
    return nvmlDeviceGetIndex(device, minorNumber);
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
    unsigned index;
    char text[UUID_TEXT_B];

    ML_TRY(ml_index(device, &index));
    uuid_text(index, text);
    return ml_give_text(uuid, length, text);
}

/* Vendor and device of PCI are 0: there is none. */
HD_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    unsigned index;
    nvmlPciInfo_t info = {0};

    ML_TRY(ml_index(device, &index));
    if (!pci)
        return NVML_ERROR_INVALID_ARGUMENT;
    ML_TRY(pci_place(index, &info));
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
    unsigned index;
    struct ml_usage usage;
    size_t total_B;

    ML_TRY(ml_index(device, &index));
    if (!memory)
        return NVML_ERROR_INVALID_ARGUMENT;
    ML_TRY(ml_result(heddle_device_memory(&total_B)));
    ml_usage_get(index, &usage);
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
    unsigned index;
    unsigned first, second;

    ML_TRY(ml_index(device, &index));
    if (!major || !minor)
        return NVML_ERROR_INVALID_ARGUMENT;
    ML_TRY(ml_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &first));
    ML_TRY(ml_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &second));
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
