/*
 * Handles of devices: each is the address of the device's slot in a table, so that any other
 * pointer is refused without being read.
 */
#include <string.h>

#include "api/nvml/ml.h"

enum { MAX_DEVICES = 64 };

struct nvmlDevice_st {
    char unused;
};

static struct nvmlDevice_st slots[MAX_DEVICES];

unsigned ml_device_count(void)
{
    CUuuid uuid;
    int bus;

    return HD_MIN(heddle_device_identity(UINT32_MAX, &uuid, &bus), (unsigned)MAX_DEVICES);
}

void ml_uuid(unsigned index, CUuuid *out_uuid)
{
    int bus;

    memset(out_uuid, 0, sizeof(*out_uuid));
    (void)heddle_device_identity(index, out_uuid, &bus);
}

nvmlDevice_t ml_device_at(unsigned index)
{
    return &slots[index];
}

nvmlReturn_t ml_index(nvmlDevice_t device, unsigned *index)
{
    uintptr_t offset = (uintptr_t)device - (uintptr_t)slots;

    ML_TRY(ml_ready());
    if (!device || offset >= ml_device_count() * sizeof(slots[0]))
        return NVML_ERROR_INVALID_ARGUMENT;
    *index = (unsigned)(offset / sizeof(slots[0]));
    return NVML_SUCCESS;
}

nvmlReturn_t ml_attribute(CUdevice_attribute what, unsigned *out)
{
    int value = 0;

    ML_TRY(ml_result(heddle_device_attribute(&value, what)));
    *out = (unsigned)value;
    return NVML_SUCCESS;
}
