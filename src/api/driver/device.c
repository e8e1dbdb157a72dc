/* Devices and their primary contexts. */
#include <assert.h>

#include "api/driver/driver.h"

CUresult drv_cuDeviceGet(CUdevice *device, int ordinal)
{
    API_CALL(cuDeviceGet);
    API_CHECK(device);
    API_DEVICE(d, ordinal);
    *device = d->ordinal;
    return CUDA_SUCCESS;
}

CUresult drv_cuDeviceGetCount(int *count)
{
    API_CALL(cuDeviceGetCount);
    API_CHECK(count);
    *count = (int)core_device_count();
    return CUDA_SUCCESS;
}

CUresult drv_cuDeviceGetName(char *name, int len, CUdevice dev)
{
    API_CALL(cuDeviceGetName);
    API_CHECK(name && len > 0);
    API_DEVICE(d, dev);
    snprintf(name, (size_t)len, "%s", d->name);
    return CUDA_SUCCESS;
}

CUresult drv_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    API_CALL(cuDeviceGetUuid_v2);
    API_CHECK(uuid);
    API_DEVICE(d, dev);
    memcpy(uuid->bytes, d->uuid, sizeof(uuid->bytes));
    return CUDA_SUCCESS;
}

CUresult drv_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    return drv_cuDeviceGetUuid_v2(uuid, dev);
}

/* A Windows notion. */
CUresult drv_cuDeviceGetLuid(char *luid, unsigned *node_mask, CUdevice dev)
{
    API_CALL(cuDeviceGetLuid);
    API_CHECK(luid && node_mask);
    API_DEVICE(d, dev);
    (void)d;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult drv_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    API_CALL(cuDeviceTotalMem_v2);
    API_CHECK(bytes);
    API_DEVICE(d, dev);
    *bytes = d->memory_B;
    return CUDA_SUCCESS;
}

CUresult drv_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice dev)
{
    API_CALL(cuDeviceGetAttribute);
    API_CHECK(value);
    API_DEVICE(d, dev);
    return drv_result(core_device_attribute(d, (int)attribute, value));
}

HD_EXPORT void heddle_device_attributes(CUdevice device, int values[CU_DEVICE_ATTRIBUTE_MAX])
{
    const struct core_device *d = core_device_at(device);

    assert(d);
    values[0] = 0; /* there is no attribute 0 */
    for (int i = 1; i < CU_DEVICE_ATTRIBUTE_MAX; i++)
        (void)!core_device_attribute(d, i, &values[i]);
}

HD_EXPORT unsigned heddle_device_identity(unsigned index, CUuuid *uuid, int *pci_bus)
{
    return core_device_identity(index, (uint8_t *)uuid->bytes, pci_bus);
}

HD_EXPORT const char *heddle_device_name(void)
{
    const struct core_device *d = core_device_at(0);

    return d ? d->name : "";
}

HD_EXPORT CUresult heddle_device_memory(size_t *out_total_B)
{
    const struct core_device *d = core_device_at(0);

    *out_total_B = d ? d->memory_B : 0;
    return d ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

HD_EXPORT CUresult heddle_device_attribute(int *out_value, CUdevice_attribute what)
{
    const struct core_device *d = core_device_at(0);

    return d ? drv_result(core_device_attribute(d, (int)what, out_value)) : CUDA_ERROR_NO_DEVICE;
}

static int attribute(const struct core_device *d, int number)
{
    int value = 0;

    (void)!core_device_attribute(d, number, &value);
    return value;
}

CUresult drv_cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
    API_CALL(cuDeviceGetProperties);
    API_CHECK(prop);
    API_DEVICE(d, dev);
    *prop = (CUdevprop){
        .maxThreadsPerBlock = attribute(d, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .maxThreadsDim = {attribute(d, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
                          attribute(d, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                          attribute(d, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)},
        .maxGridSize = {attribute(d, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
                        attribute(d, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                        attribute(d, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)},
        .sharedMemPerBlock = attribute(d, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        .totalConstantMemory = attribute(d, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
        .SIMDWidth = attribute(d, CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        .memPitch = attribute(d, CU_DEVICE_ATTRIBUTE_MAX_PITCH),
        .regsPerBlock = attribute(d, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        .clockRate = attribute(d, CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        .textureAlign = attribute(d, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT),
    };
    return CUDA_SUCCESS;
}

CUresult drv_cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    API_CALL(cuDeviceComputeCapability);
    API_CHECK(major && minor);
    API_DEVICE(d, dev);
    *major = d->cc_major;
    *minor = d->cc_minor;
    return CUDA_SUCCESS;
}

static void device_pci_id(const struct core_device *d, char *out, size_t size)
{
    assert(d->pci_bus >= 0 && d->pci_bus < 256); /* two digits */
    snprintf(out, size, "0000:%02X:00.0", d->pci_bus);
}

CUresult drv_cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
{
    API_CALL(cuDeviceGetPCIBusId);
    API_CHECK(id && len > 0);
    API_DEVICE(d, dev);
    device_pci_id(d, id, (size_t)len);
    return CUDA_SUCCESS;
}

/* domain:bus:device.function, the first or the last may be missing. Ours are devices 0, functions
 * 0. */
static bool device_pci_read(const char *id, unsigned *out_bus)
{
    unsigned domain, device, function = 0;
    int end = 0;

    if (sscanf(id, "%x:%x:%x%n", &domain, out_bus, &device, &end) == 3)
        return !domain && !device &&
               (!id[end] || (sscanf(id + end, ".%x", &function) == 1 && !function));
    return sscanf(id, "%x:%x.%x", out_bus, &device, &function) == 3 && !device && !function;
}

CUresult drv_cuDeviceGetByPCIBusId(CUdevice *dev, const char *id)
{
    struct core_device *d;
    unsigned bus;

    API_CALL(cuDeviceGetByPCIBusId);
    API_CHECK(dev && id);
    bool is_ours = device_pci_read(id, &bus);
    for (int i = 0; is_ours && (d = core_device_at(i)); i++)
        if ((unsigned)d->pci_bus == bus) {
            *dev = i;
            return CUDA_SUCCESS;
        }
    return drv_error(CUDA_ERROR_INVALID_DEVICE, "there is no device at %s", id);
}

/* All devices map all memory (core/mem/backing.h); a device is not its own peer. */
CUresult drv_cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
    API_CALL(cuDeviceCanAccessPeer);
    API_CHECK(can);
    API_DEVICE(from, dev);
    API_DEVICE(to, peer);
    *can = from != to;
    return CUDA_SUCCESS;
}

CUresult drv_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attr, CUdevice src,
                                     CUdevice dst)
{
    API_CALL(cuDeviceGetP2PAttribute);
    API_CHECK(value);
    API_DEVICE(from, src);
    API_DEVICE(to, dst);
    if (from == to)
        return drv_error(CUDA_ERROR_INVALID_DEVICE, "source and destination are the same device");
    switch (attr) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
        *value = 0;
        return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
        *value = 1;
        return CUDA_SUCCESS;
    default:
        return drv_error(CUDA_ERROR_INVALID_VALUE, "there is no peer attribute %d", (int)attr);
    }
}

/* ---- primary context */

CUresult drv_cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice dev)
{
    struct core_context *ctx;
    enum hd_status status;

    API_CALL(cuDevicePrimaryCtxRetain);
    API_CHECK(out);
    API_DEVICE(d, dev);
    status = core_primary_retain(d, &ctx);
    if (status == HD_OK)
        DRV_GIVE(context, out, ctx);
    return drv_result(status);
}

CUresult drv_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    enum hd_status status;

    API_CALL(cuDevicePrimaryCtxRelease_v2);
    API_DEVICE(d, dev);
    status = core_primary_release(d);
    return status == HD_BAD_ARG ? CUDA_ERROR_INVALID_CONTEXT : drv_result(status);
}

CUresult drv_cuDevicePrimaryCtxRelease(CUdevice dev)
{
    return drv_cuDevicePrimaryCtxRelease_v2(dev);
}

CUresult drv_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned flags)
{
    API_CALL(cuDevicePrimaryCtxSetFlags_v2);
    API_DEVICE(d, dev);
    API_CHECK(drv_context_flags_ok(flags));
    hd_lock_acquire(&d->lock);
    assert(hd_lock_held(&d->lock));
    d->primary_flags = flags;
    if (d->primary_refs)
        d->primary->flags = flags;
    hd_lock_release(&d->lock);
    return CUDA_SUCCESS;
}

CUresult drv_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned flags)
{
    return drv_cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult drv_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned *flags, int *active)
{
    API_CALL(cuDevicePrimaryCtxGetState);
    API_CHECK(flags && active);
    API_DEVICE(d, dev);
    hd_lock_acquire(&d->lock);
    *flags = d->primary_flags;
    assert(!d->primary_refs || d->primary);
    *active = d->primary_refs > 0;
    hd_lock_release(&d->lock);
    return CUDA_SUCCESS;
}

CUresult drv_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    API_CALL(cuDevicePrimaryCtxReset_v2);
    API_DEVICE(d, dev);
    return drv_result(core_primary_reset(d));
}

CUresult drv_cuDevicePrimaryCtxReset(CUdevice dev)
{
    return drv_cuDevicePrimaryCtxReset_v2(dev);
}
