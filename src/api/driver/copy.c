/* Copies and memset. */
#include "api/driver/driver.h"

/* Which side must be memory that the device knows. */
enum copy_kind { COPY_ANY = 0, COPY_TO_DEVICE = 1, COPY_FROM_DEVICE = 2, COPY_DEVICE = 3 };

static CUresult copy_run(struct core_copy *copy, enum copy_kind kind, CUstream handle, bool async)
{
    struct core_context *ctx = core_current();

    API_STREAM(ctx, stream, handle);
    copy->dst_is_device = (kind & COPY_TO_DEVICE) != 0;
    copy->src_is_device = (kind & COPY_FROM_DEVICE) != 0;
    copy->async = async;
    return drv_result(core_copy(stream, copy));
}

static CUresult copy_1d(const char *name, CUdeviceptr dst, CUdeviceptr src, size_t size_B,
                        enum copy_kind kind, CUstream stream, bool async)
{
    struct core_copy copy = {.dst = dst, .src = src, .width_B = size_B, .height = 1, .depth = 1};

    API_CALL(cuMemcpy);
    drv_call_.name = name;
    API_CONTEXT(ctx);
    return copy_run(&copy, kind, stream, async);
}

#define HOST(ptr) ((CUdeviceptr)(uintptr_t)(ptr))

/* symbol, parameters, dst, src, kind: a synchronous form and its _ptds twin */
#define COPY_SYNC(symbol, symbol_ptds, params, dst, src, kind)                                     \
    HD_EXPORT CUresult symbol params                                                               \
    {                                                                                              \
        return copy_1d(#symbol, dst, src, size_B, kind, NULL, false);                              \
    }                                                                                              \
    DRV_PER_THREAD(symbol_ptds, params,                                                            \
                   copy_1d(#symbol, dst, src, size_B, kind, CU_STREAM_PER_THREAD, false))
#define COPY_ASYNC(symbol, params, dst, src, kind)                                                 \
    HD_EXPORT CUresult symbol params                                                               \
    {                                                                                              \
        return copy_1d(#symbol, dst, src, size_B, kind, stream, true);                             \
    }                                                                                              \
    DRV_PER_THREAD(symbol##_ptsz, params,                                                          \
                   copy_1d(#symbol, dst, src, size_B, kind, PER_THREAD(stream), true))

COPY_SYNC(cuMemcpy, cuMemcpy_ptds, (CUdeviceptr dst, CUdeviceptr src, size_t size_B), dst, src,
          COPY_ANY)
COPY_SYNC(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds, (CUdeviceptr dst, const void *src, size_t size_B),
          dst, HOST(src), COPY_TO_DEVICE)
COPY_SYNC(cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds, (void *dst, CUdeviceptr src, size_t size_B),
          HOST(dst), src, COPY_FROM_DEVICE)
COPY_SYNC(cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds, (CUdeviceptr dst, CUdeviceptr src, size_t size_B),
          dst, src, COPY_DEVICE)
COPY_SYNC(cuMemcpyPeer, cuMemcpyPeer_ptds,
          (CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t size_B),
          dst, src, COPY_DEVICE)

COPY_ASYNC(cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t size_B, CUstream stream), dst,
           src, COPY_ANY)
COPY_ASYNC(cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void *src, size_t size_B, CUstream stream),
           dst, HOST(src), COPY_TO_DEVICE)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, (void *dst, CUdeviceptr src, size_t size_B, CUstream stream),
           HOST(dst), src, COPY_FROM_DEVICE)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, (CUdeviceptr dst, CUdeviceptr src, size_t size_B, CUstream stream),
           dst, src, COPY_DEVICE)
COPY_ASYNC(cuMemcpyPeerAsync,
           (CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t size_B,
            CUstream stream),
           dst, src, COPY_DEVICE)

/* ---- boxes */

/* Address of one side of a 2D or 3D copy. */
static CUresult side_base(CUmemorytype type, const void *host, CUdeviceptr device, CUdeviceptr *out)
{
    switch (type) {
    case CU_MEMORYTYPE_HOST:
        *out = HOST(host);
        return CUDA_SUCCESS;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
        *out = device;
        return CUDA_SUCCESS;
    case CU_MEMORYTYPE_ARRAY:
        return drv_error(CUDA_ERROR_NOT_SUPPORTED, "copies with CUDA arrays");
    default:
        return drv_error(CUDA_ERROR_INVALID_VALUE, "memory type %d", (int)type);
    }
}

static enum copy_kind box_kind(CUmemorytype dst, CUmemorytype src)
{
    return (enum copy_kind)((dst == CU_MEMORYTYPE_DEVICE ? COPY_TO_DEVICE : 0) |
                            (src == CU_MEMORYTYPE_DEVICE ? COPY_FROM_DEVICE : 0));
}

static CUresult copy_3d(const char *name, const CUDA_MEMCPY3D *c, CUstream stream, bool async)
{
    struct core_copy copy = {0};
    CUdeviceptr dst = 0, src = 0;
    CUresult result;

    API_CALL(cuMemcpy3D);
    drv_call_.name = name;
    API_CHECK(c);
    API_CHECK(!c->srcLOD && !c->dstLOD);
    API_CONTEXT(ctx);
    result = side_base(c->srcMemoryType, c->srcHost, c->srcDevice, &src);
    if (result == CUDA_SUCCESS)
        result = side_base(c->dstMemoryType, c->dstHost, c->dstDevice, &dst);
    if (result != CUDA_SUCCESS)
        return result;
    copy.width_B = c->WidthInBytes;
    copy.height = c->Height;
    copy.depth = c->Depth;
    copy.src_pitch_B = c->srcPitch ? c->srcPitch : c->WidthInBytes + c->srcXInBytes;
    copy.dst_pitch_B = c->dstPitch ? c->dstPitch : c->WidthInBytes + c->dstXInBytes;
    copy.src_slice_B = copy.src_pitch_B * (c->srcHeight ? c->srcHeight : c->Height + c->srcY);
    copy.dst_slice_B = copy.dst_pitch_B * (c->dstHeight ? c->dstHeight : c->Height + c->dstY);
    copy.src = src + c->srcZ * copy.src_slice_B + c->srcY * copy.src_pitch_B + c->srcXInBytes;
    copy.dst = dst + c->dstZ * copy.dst_slice_B + c->dstY * copy.dst_pitch_B + c->dstXInBytes;
    return copy_run(&copy, box_kind(c->dstMemoryType, c->srcMemoryType), stream, async);
}

static CUresult copy_2d(const char *name, const CUDA_MEMCPY2D *c, CUstream stream, bool async)
{
    CUDA_MEMCPY3D box;

    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    box = (CUDA_MEMCPY3D){
        .srcXInBytes = c->srcXInBytes,
        .srcY = c->srcY,
        .srcMemoryType = c->srcMemoryType,
        .srcHost = c->srcHost,
        .srcDevice = c->srcDevice,
        .srcPitch = c->srcPitch,
        .dstXInBytes = c->dstXInBytes,
        .dstY = c->dstY,
        .dstMemoryType = c->dstMemoryType,
        .dstHost = c->dstHost,
        .dstDevice = c->dstDevice,
        .dstPitch = c->dstPitch,
        .WidthInBytes = c->WidthInBytes,
        .Height = c->Height,
        .Depth = 1,
    };
    return copy_3d(name, &box, stream, async);
}

HD_EXPORT CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy)
{
    return copy_2d("cuMemcpy2D_v2", copy, NULL, false);
}
DRV_PER_THREAD(cuMemcpy2D_v2_ptds, (const CUDA_MEMCPY2D *copy),
               copy_2d("cuMemcpy2D_v2", copy, CU_STREAM_PER_THREAD, false))

HD_EXPORT CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy)
{
    return copy_2d("cuMemcpy2DUnaligned_v2", copy, NULL, false);
}
DRV_PER_THREAD(cuMemcpy2DUnaligned_v2_ptds, (const CUDA_MEMCPY2D *copy),
               copy_2d("cuMemcpy2DUnaligned_v2", copy, CU_STREAM_PER_THREAD, false))

HD_EXPORT CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    return copy_2d("cuMemcpy2DAsync_v2", copy, stream, true);
}
DRV_PER_THREAD(cuMemcpy2DAsync_v2_ptsz, (const CUDA_MEMCPY2D *copy, CUstream stream),
               copy_2d("cuMemcpy2DAsync_v2", copy, PER_THREAD(stream), true))

HD_EXPORT CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy)
{
    return copy_3d("cuMemcpy3D_v2", copy, NULL, false);
}
DRV_PER_THREAD(cuMemcpy3D_v2_ptds, (const CUDA_MEMCPY3D *copy),
               copy_3d("cuMemcpy3D_v2", copy, CU_STREAM_PER_THREAD, false))

HD_EXPORT CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    return copy_3d("cuMemcpy3DAsync_v2", copy, stream, true);
}
DRV_PER_THREAD(cuMemcpy3DAsync_v2_ptsz, (const CUDA_MEMCPY3D *copy, CUstream stream),
               copy_3d("cuMemcpy3DAsync_v2", copy, PER_THREAD(stream), true))

/* ---- memset */

static CUresult fill(const char *name, CUdeviceptr dst, size_t pitch_B, unsigned value,
                     unsigned elem_B, size_t width, size_t height, CUstream handle, bool async)
{
    struct core_block block;
    enum hd_status status;

    API_CALL(cuMemset);
    drv_call_.name = name;
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    API_CHECK(width <= SIZE_MAX / elem_B);
    status = core_fill(stream, dst, pitch_B, value, elem_B, width, height);
    /* Memory that the host can see is filled when a synchronous call returns. */
    if (status == HD_OK && !async && core_memory_find(dst, &block) && block.kind != CORE_MEM_DEVICE)
        status = core_stream_synchronize(stream);
    return drv_result(status);
}

#define MEMSET(bits, type)                                                                         \
    HD_EXPORT CUresult cuMemsetD##bits##_v2(CUdeviceptr dst, type value, size_t count)             \
    {                                                                                              \
        return fill("cuMemsetD" #bits, dst, 0, value, bits / 8, count, 1, NULL, false);            \
    }                                                                                              \
    DRV_PER_THREAD(                                                                                \
        cuMemsetD##bits##_v2_ptds, (CUdeviceptr dst, type value, size_t count),                    \
        fill("cuMemsetD" #bits, dst, 0, value, bits / 8, count, 1, CU_STREAM_PER_THREAD, false))   \
    HD_EXPORT CUresult cuMemsetD##bits##Async(CUdeviceptr dst, type value, size_t count,           \
                                              CUstream stream)                                     \
    {                                                                                              \
        return fill("cuMemsetD" #bits "Async", dst, 0, value, bits / 8, count, 1, stream, true);   \
    }                                                                                              \
    DRV_PER_THREAD(cuMemsetD##bits##Async_ptsz,                                                    \
                   (CUdeviceptr dst, type value, size_t count, CUstream stream),                   \
                   cuMemsetD##bits##Async(dst, value, count, PER_THREAD(stream)))                  \
    HD_EXPORT CUresult cuMemsetD2D##bits##_v2(CUdeviceptr dst, size_t pitch_B, type value,         \
                                              size_t width, size_t height)                         \
    {                                                                                              \
        return fill("cuMemsetD2D" #bits, dst, pitch_B, value, bits / 8, width, height, NULL,       \
                    false);                                                                        \
    }                                                                                              \
    DRV_PER_THREAD(cuMemsetD2D##bits##_v2_ptds,                                                    \
                   (CUdeviceptr dst, size_t pitch_B, type value, size_t width, size_t height),     \
                   fill("cuMemsetD2D" #bits, dst, pitch_B, value, bits / 8, width, height,         \
                        CU_STREAM_PER_THREAD, false))                                              \
    HD_EXPORT CUresult cuMemsetD2D##bits##Async(CUdeviceptr dst, size_t pitch_B, type value,       \
                                                size_t width, size_t height, CUstream stream)      \
    {                                                                                              \
        return fill("cuMemsetD2D" #bits "Async", dst, pitch_B, value, bits / 8, width, height,     \
                    stream, true);                                                                 \
    }                                                                                              \
    DRV_PER_THREAD(                                                                                \
        cuMemsetD2D##bits##Async_ptsz,                                                             \
        (CUdeviceptr dst, size_t pitch_B, type value, size_t width, size_t height,                 \
         CUstream stream),                                                                         \
        cuMemsetD2D##bits##Async(dst, pitch_B, value, width, height, PER_THREAD(stream)))

MEMSET(8, unsigned char)
MEMSET(16, unsigned short)
MEMSET(32, unsigned)
