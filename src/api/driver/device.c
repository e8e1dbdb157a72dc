/* Devices: there is one. */
#include <strings.h>

#include "api/driver/driver.h"

bool drv_device_ok(CUdevice dev)
{
    return dev == 0 && core_device_get() != NULL;
}

HD_EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    API_CALL(cuDeviceGet);
    API_CHECK(device);
    API_DEVICE(ordinal);
    *device = ordinal;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuDeviceGetCount(int *count)
{
    API_CALL(cuDeviceGetCount);
    API_CHECK(count);
    *count = 1;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
    API_CALL(cuDeviceGetName);
    API_CHECK(name && len > 0);
    API_DEVICE(dev);
    snprintf(name, (size_t)len, "%s", core_device_get()->name);
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    API_CALL(cuDeviceGetUuid_v2);
    API_CHECK(uuid);
    API_DEVICE(dev);
    memcpy(uuid->bytes, core_device_get()->uuid, sizeof(uuid->bytes));
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    return cuDeviceGetUuid_v2(uuid, dev);
}

/* A Windows notion. */
HD_EXPORT CUresult cuDeviceGetLuid(char *luid, unsigned *node_mask, CUdevice dev)
{
    API_CALL(cuDeviceGetLuid);
    API_CHECK(luid && node_mask);
    API_DEVICE(dev);
    return CUDA_ERROR_NOT_SUPPORTED;
}

HD_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    API_CALL(cuDeviceTotalMem_v2);
    API_CHECK(bytes);
    API_DEVICE(dev);
    *bytes = core_device_get()->memory_B;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice dev)
{
    API_CALL(cuDeviceGetAttribute);
    API_CHECK(value);
    API_DEVICE(dev);
    return drv_result(core_device_attribute(core_device_get(), (int)attribute, value));
}

static int attribute(int number)
{
    int value = 0;

    (void)!core_device_attribute(core_device_get(), number, &value);
    return value;
}

HD_EXPORT CUresult cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
    API_CALL(cuDeviceGetProperties);
    API_CHECK(prop);
    API_DEVICE(dev);
    *prop = (CUdevprop){
        .maxThreadsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .maxThreadsDim = {attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
                          attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                          attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)},
        .maxGridSize = {attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
                        attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                        attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)},
        .sharedMemPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        .totalConstantMemory = attribute(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
        .SIMDWidth = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        .memPitch = attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH),
        .regsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        .clockRate = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        .textureAlign = attribute(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT),
    };
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    API_CALL(cuDeviceComputeCapability);
    API_CHECK(major && minor);
    API_DEVICE(dev);
    *major = core_device_get()->cc_major;
    *minor = core_device_get()->cc_minor;
    return CUDA_SUCCESS;
}

static void pci_id(char *out, size_t size)
{
    snprintf(out, size, "0000:%02X:00.0", core_device_get()->pci_bus);
}

HD_EXPORT CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
{
    API_CALL(cuDeviceGetPCIBusId);
    API_CHECK(id && len > 0);
    API_DEVICE(dev);
    pci_id(id, (size_t)len);
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *id)
{
    char own[16];

    API_CALL(cuDeviceGetByPCIBusId);
    API_CHECK(dev && id);
    pci_id(own, sizeof(own));
    /* The domain and the function may be left out. */
    if (strncasecmp(own, id, strlen(own)) && strncasecmp(own + 5, id, 5))
        return drv_error(CUDA_ERROR_INVALID_DEVICE, "there is no device at %s", id);
    *dev = 0;
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
    API_CALL(cuDeviceCanAccessPeer);
    API_CHECK(can);
    API_DEVICE(dev);
    API_DEVICE(peer);
    *can = 0; /* a device is not its own peer */
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attr, CUdevice src,
                                           CUdevice dst)
{
    API_CALL(cuDeviceGetP2PAttribute);
    API_CHECK(value);
    (void)attr;
    API_DEVICE(src);
    API_DEVICE(dst);
    return drv_error(CUDA_ERROR_INVALID_DEVICE, "source and destination are the same device");
}

/* ---- primary context */

HD_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
    API_CALL(cuDevicePrimaryCtxRetain);
    API_CHECK(ctx);
    API_DEVICE(dev);
    return drv_result(core_primary_retain(core_device_get(), (struct core_context **)ctx));
}

HD_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    enum hd_status status;

    API_CALL(cuDevicePrimaryCtxRelease_v2);
    API_DEVICE(dev);
    status = core_primary_release(core_device_get());
    return status == HD_BAD_ARG ? CUDA_ERROR_INVALID_CONTEXT : drv_result(status);
}

HD_EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
    return cuDevicePrimaryCtxRelease_v2(dev);
}

HD_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned flags)
{
    struct core_device *d = core_device_get();

    API_CALL(cuDevicePrimaryCtxSetFlags_v2);
    API_DEVICE(dev);
    API_CHECK(!(flags & ~(unsigned)CU_CTX_FLAGS_MASK));
    hd_lock_acquire(&d->lock);
    d->primary_flags = flags;
    if (d->primary)
        d->primary->flags = flags;
    hd_lock_release(&d->lock);
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned flags)
{
    return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

HD_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned *flags, int *active)
{
    struct core_device *d = core_device_get();

    API_CALL(cuDevicePrimaryCtxGetState);
    API_CHECK(flags && active);
    API_DEVICE(dev);
    hd_lock_acquire(&d->lock);
    *flags = d->primary_flags;
    *active = d->primary_refs > 0;
    hd_lock_release(&d->lock);
    return CUDA_SUCCESS;
}

HD_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    API_CALL(cuDevicePrimaryCtxReset_v2);
    API_DEVICE(dev);
    return drv_result(core_primary_reset(core_device_get()));
}

HD_EXPORT CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
    return cuDevicePrimaryCtxReset_v2(dev);
}
