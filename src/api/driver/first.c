/*
 * The first versions of calls, whose device addresses and sizes have 32 bits. Addresses of today's
 * memory do not fit them, so what a program gets by them is told when it is asked for. Those that
 * it chooses itself may fit: memory of the host that it registers.
 */
#include "api/driver/driver.h"

/* A number of today as one of then. */
static CUresult narrow(CUresult result, unsigned long long value, unsigned *out)
{
    if (result != CUDA_SUCCESS)
        return result;
    if (value > UINT32_MAX)
        return drv_error(CUDA_ERROR_OUT_OF_MEMORY, "0x%llx does not fit the 32 bits of this call",
                         value);
    *out = (unsigned)value;
    return CUDA_SUCCESS;
}

CUresult drv_cuDeviceTotalMem(unsigned *bytes, CUdevice dev)
{
    size_t size_B = 0;
    CUresult result;

    API_CALL(cuDeviceTotalMem);
    API_CHECK(bytes);
    result = drv_cuDeviceTotalMem_v2(&size_B, dev);
    *bytes = (unsigned)HD_MIN(size_B, UINT32_MAX); /* as much of it as can be told */
    return result;
}

CUresult drv_cuMemGetInfo(unsigned *free_B, unsigned *total_B)
{
    size_t unused = 0, total = 0;
    CUresult result;

    API_CALL(cuMemGetInfo);
    API_CHECK(free_B && total_B);
    result = drv_cuMemGetInfo_v2(&unused, &total);
    *free_B = (unsigned)HD_MIN(unused, UINT32_MAX);
    *total_B = (unsigned)HD_MIN(total, UINT32_MAX);
    return result;
}

CUresult drv_cuMemAlloc(CUdeviceptr_v1 *ptr, unsigned size_B)
{
    CUdeviceptr wide = 0;
    CUresult result;

    API_CALL(cuMemAlloc);
    API_CHECK(ptr);
    result = drv_cuMemAlloc_v2(&wide, size_B);
    result = narrow(result, wide, ptr);
    if (result != CUDA_SUCCESS && wide)
        (void)drv_cuMemFree_v2(wide);
    return result;
}

CUresult drv_cuMemAllocPitch(CUdeviceptr_v1 *ptr, unsigned *pitch_B, unsigned width_B,
                             unsigned height, unsigned elem_B)
{
    CUdeviceptr wide = 0;
    size_t pitch = 0;
    CUresult result;

    API_CALL(cuMemAllocPitch);
    API_CHECK(ptr && pitch_B);
    result = drv_cuMemAllocPitch_v2(&wide, &pitch, width_B, height, elem_B);
    result = narrow(result, pitch, pitch_B);
    result = narrow(result, wide, ptr);
    if (result != CUDA_SUCCESS && wide)
        (void)drv_cuMemFree_v2(wide);
    return result;
}

CUresult drv_cuMemFree(CUdeviceptr_v1 ptr)
{
    return drv_cuMemFree_v2(ptr);
}

CUresult drv_cuMemGetAddressRange(CUdeviceptr_v1 *base, unsigned *size_B, CUdeviceptr_v1 ptr)
{
    CUdeviceptr wide_base = 0;
    size_t wide_B = 0;
    CUresult result = drv_cuMemGetAddressRange_v2(&wide_base, &wide_B, ptr);

    if (base)
        result = narrow(result, wide_base, base);
    return size_B ? narrow(result, wide_B, size_B) : result;
}

CUresult drv_cuMemAllocHost(void **ptr, unsigned size_B)
{
    return drv_cuMemAllocHost_v2(ptr, size_B);
}

CUresult drv_cuMemHostRegister(void *ptr, size_t size_B, unsigned flags)
{
    return drv_cuMemHostRegister_v2(ptr, size_B, flags);
}

CUresult drv_cuMemHostGetDevicePointer(CUdeviceptr_v1 *dev_ptr, void *ptr, unsigned flags)
{
    CUdeviceptr wide = 0;
    CUresult result;

    API_CALL(cuMemHostGetDevicePointer);
    API_CHECK(dev_ptr);
    result = drv_cuMemHostGetDevicePointer_v2(&wide, ptr, flags);
    return narrow(result, wide, dev_ptr);
}

CUresult drv_cuModuleGetGlobal(CUdeviceptr_v1 *ptr, unsigned *size_B, CUmodule module,
                               const char *name)
{
    CUdeviceptr wide = 0;
    size_t wide_B = 0;
    CUresult result = drv_cuModuleGetGlobal_v2(&wide, &wide_B, module, name);

    if (ptr)
        result = narrow(result, wide, ptr);
    return size_B ? narrow(result, wide_B, size_B) : result;
}

/* ---- copies and memset: the same with smaller numbers */

#define FORWARD(name, params, call)                                                                \
    CUresult drv_##name params                                                                     \
    {                                                                                              \
        return drv_##name##_v2 call;                                                               \
    }

FORWARD(cuMemcpyHtoD, (CUdeviceptr_v1 dst, const void *src, unsigned size_B),
        (dst, src, size_B, NULL))
FORWARD(cuMemcpyDtoH, (void *dst, CUdeviceptr_v1 src, unsigned size_B), (dst, src, size_B, NULL))
FORWARD(cuMemcpyDtoD, (CUdeviceptr_v1 dst, CUdeviceptr_v1 src, unsigned size_B),
        (dst, src, size_B, NULL))
FORWARD(cuMemcpyHtoDAsync, (CUdeviceptr_v1 dst, const void *src, unsigned size_B, CUstream stream),
        (dst, src, size_B, stream))
FORWARD(cuMemcpyDtoHAsync, (void *dst, CUdeviceptr_v1 src, unsigned size_B, CUstream stream),
        (dst, src, size_B, stream))
FORWARD(cuMemcpyDtoDAsync,
        (CUdeviceptr_v1 dst, CUdeviceptr_v1 src, unsigned size_B, CUstream stream),
        (dst, src, size_B, stream))
FORWARD(cuMemsetD8, (CUdeviceptr_v1 dst, unsigned char value, unsigned count),
        (dst, value, count, NULL))
FORWARD(cuMemsetD16, (CUdeviceptr_v1 dst, unsigned short value, unsigned count),
        (dst, value, count, NULL))
FORWARD(cuMemsetD32, (CUdeviceptr_v1 dst, unsigned value, unsigned count),
        (dst, value, count, NULL))
FORWARD(cuMemsetD2D8,
        (CUdeviceptr_v1 dst, unsigned pitch_B, unsigned char value, unsigned width,
         unsigned height),
        (dst, pitch_B, value, width, height, NULL))
FORWARD(cuMemsetD2D16,
        (CUdeviceptr_v1 dst, unsigned pitch_B, unsigned short value, unsigned width,
         unsigned height),
        (dst, pitch_B, value, width, height, NULL))
FORWARD(cuMemsetD2D32,
        (CUdeviceptr_v1 dst, unsigned pitch_B, unsigned value, unsigned width, unsigned height),
        (dst, pitch_B, value, width, height, NULL))

/* ---- arrays: no extent of one has more than 32 bits */

CUresult drv_cuArray3DCreate(CUarray *handle, const CUDA_ARRAY3D_DESCRIPTOR_v1 *desc)
{
    API_CALL(cuArray3DCreate);
    API_CHECK(handle && desc);
    return drv_cuArray3DCreate_v2(handle,
                                  &(CUDA_ARRAY3D_DESCRIPTOR){.Width = desc->Width,
                                                             .Height = desc->Height,
                                                             .Depth = desc->Depth,
                                                             .Format = desc->Format,
                                                             .NumChannels = desc->NumChannels,
                                                             .Flags = desc->Flags});
}

CUresult drv_cuArrayCreate(CUarray *handle, const CUDA_ARRAY_DESCRIPTOR_v1 *desc)
{
    API_CALL(cuArrayCreate);
    API_CHECK(handle && desc);
    return drv_cuArrayCreate_v2(handle, &(CUDA_ARRAY_DESCRIPTOR){.Width = desc->Width,
                                                                 .Height = desc->Height,
                                                                 .Format = desc->Format,
                                                                 .NumChannels = desc->NumChannels});
}

CUresult drv_cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR_v1 *desc, CUarray handle)
{
    CUDA_ARRAY3D_DESCRIPTOR wide;
    CUresult result;

    API_CALL(cuArray3DGetDescriptor);
    API_CHECK(desc);
    result = drv_cuArray3DGetDescriptor_v2(&wide, handle);
    if (result == CUDA_SUCCESS)
        *desc = (CUDA_ARRAY3D_DESCRIPTOR_v1){.Width = (unsigned)wide.Width,
                                             .Height = (unsigned)wide.Height,
                                             .Depth = (unsigned)wide.Depth,
                                             .Format = wide.Format,
                                             .NumChannels = wide.NumChannels,
                                             .Flags = wide.Flags};
    return result;
}

CUresult drv_cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR_v1 *desc, CUarray handle)
{
    CUDA_ARRAY_DESCRIPTOR wide;
    CUresult result;

    API_CALL(cuArrayGetDescriptor);
    API_CHECK(desc);
    result = drv_cuArrayGetDescriptor_v2(&wide, handle);
    if (result == CUDA_SUCCESS)
        *desc = (CUDA_ARRAY_DESCRIPTOR_v1){.Width = (unsigned)wide.Width,
                                           .Height = (unsigned)wide.Height,
                                           .Format = wide.Format,
                                           .NumChannels = wide.NumChannels};
    return result;
}

FORWARD(cuMemcpyAtoA, (CUarray dst, unsigned to, CUarray src, unsigned from, unsigned size_B),
        (dst, to, src, from, size_B, NULL))
FORWARD(cuMemcpyAtoD, (CUdeviceptr_v1 dst, CUarray src, unsigned from, unsigned size_B),
        (dst, src, from, size_B, NULL))
FORWARD(cuMemcpyDtoA, (CUarray dst, unsigned to, CUdeviceptr_v1 src, unsigned size_B),
        (dst, to, src, size_B, NULL))
FORWARD(cuMemcpyAtoH, (void *dst, CUarray src, unsigned from, unsigned size_B),
        (dst, src, from, size_B, NULL))
FORWARD(cuMemcpyHtoA, (CUarray dst, unsigned to, const void *src, unsigned size_B),
        (dst, to, src, size_B, NULL))
FORWARD(cuMemcpyAtoHAsync,
        (void *dst, CUarray src, unsigned from, unsigned size_B, CUstream stream),
        (dst, src, from, size_B, stream))
FORWARD(cuMemcpyHtoAAsync,
        (CUarray dst, unsigned to, const void *src, unsigned size_B, CUstream stream),
        (dst, to, src, size_B, stream))

/* ---- boxes: today's have the same members */

#define SIDE_2D(X, side)                                                                           \
    X(side##XInBytes)                                                                              \
    X(side##Y) X(side##MemoryType) X(side##Host) X(side##Device) X(side##Array) X(side##Pitch)
#define SIDE_3D(X, side) SIDE_2D(X, side) X(side##Z) X(side##LOD) X(side##Height)
#define SAME(member)     .member = c->member,

#define BOX_2D(name, params, ...)                                                                  \
    CUresult drv_##name params                                                                     \
    {                                                                                              \
        API_CALL(name);                                                                            \
        API_CHECK(c);                                                                              \
        return drv_##name##_v2(&(CUDA_MEMCPY2D){SIDE_2D(SAME, src) SIDE_2D(SAME, dst)              \
                                                    SAME(WidthInBytes) SAME(Height)},              \
                               __VA_ARGS__);                                                       \
    }

BOX_2D(cuMemcpy2D, (const CUDA_MEMCPY2D_v1 *c), NULL)
BOX_2D(cuMemcpy2DUnaligned, (const CUDA_MEMCPY2D_v1 *c), NULL)
BOX_2D(cuMemcpy2DAsync, (const CUDA_MEMCPY2D_v1 *c, CUstream stream), stream)

#define BOX_3D(name, params, ...)                                                                  \
    CUresult drv_##name params                                                                     \
    {                                                                                              \
        API_CALL(name);                                                                            \
        API_CHECK(c);                                                                              \
        return drv_##name##_v2(&(CUDA_MEMCPY3D){SIDE_3D(SAME, src) SIDE_3D(SAME, dst)              \
                                                    SAME(WidthInBytes) SAME(Height) SAME(Depth)},  \
                               __VA_ARGS__);                                                       \
    }

BOX_3D(cuMemcpy3D, (const CUDA_MEMCPY3D_v1 *c), NULL)
BOX_3D(cuMemcpy3DAsync, (const CUDA_MEMCPY3D_v1 *c, CUstream stream), stream)
