/* Copies and memset. */
#include "api/driver/driver.h"

/* Which side must be memory that the device knows. */
enum copy_kind { COPY_ANY = 0, COPY_TO_DEVICE = 1, COPY_FROM_DEVICE = 2, COPY_DEVICE = 3 };

static CUresult copy_run(struct core_context *ctx, struct core_copy *copy, enum copy_kind kind,
                         CUstream handle, bool async)
{
    assert(ctx && kind <= COPY_DEVICE);
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

    API_CALL_NAMED(name);
    API_CONTEXT(ctx);
    return copy_run(ctx, &copy, kind, stream, async);
}

#define HOST(ptr) ((CUdeviceptr)(uintptr_t)(ptr))

CUresult drv_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t size_B, CUstream null_stream)
{
    return copy_1d("cuMemcpy", dst, src, size_B, COPY_ANY, null_stream, false);
}

CUresult drv_cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t size_B, CUstream null_stream)
{
    return copy_1d("cuMemcpyHtoD_v2", dst, HOST(src), size_B, COPY_TO_DEVICE, null_stream, false);
}

CUresult drv_cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t size_B, CUstream null_stream)
{
    return copy_1d("cuMemcpyDtoH_v2", HOST(dst), src, size_B, COPY_FROM_DEVICE, null_stream, false);
}

CUresult drv_cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t size_B, CUstream null_stream)
{
    return copy_1d("cuMemcpyDtoD_v2", dst, src, size_B, COPY_DEVICE, null_stream, false);
}

CUresult drv_cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,
                          size_t size_B, CUstream null_stream)
{
    return copy_1d("cuMemcpyPeer", dst, src, size_B, COPY_DEVICE, null_stream, false);
}

CUresult drv_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t size_B, CUstream stream)
{
    return copy_1d("cuMemcpyAsync", dst, src, size_B, COPY_ANY, stream, true);
}

CUresult drv_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t size_B, CUstream stream)
{
    return copy_1d("cuMemcpyHtoDAsync_v2", dst, HOST(src), size_B, COPY_TO_DEVICE, stream, true);
}

CUresult drv_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t size_B, CUstream stream)
{
    return copy_1d("cuMemcpyDtoHAsync_v2", HOST(dst), src, size_B, COPY_FROM_DEVICE, stream, true);
}

CUresult drv_cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t size_B, CUstream stream)
{
    return copy_1d("cuMemcpyDtoDAsync_v2", dst, src, size_B, COPY_DEVICE, stream, true);
}

CUresult drv_cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src,
                               CUcontext src_ctx, size_t size_B, CUstream stream)
{
    return copy_1d("cuMemcpyPeerAsync", dst, src, size_B, COPY_DEVICE, stream, true);
}

/* ---- boxes */

/* Address of one side of a 2D or 3D copy. */
static CUresult side_base(CUmemorytype type, const void *host, CUdeviceptr device, CUdeviceptr *out)
{
    assert(out);
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

    API_CALL_NAMED(name);
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
    return copy_run(ctx, &copy, box_kind(c->dstMemoryType, c->srcMemoryType), stream, async);
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

CUresult drv_cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy, CUstream null_stream)
{
    return copy_2d("cuMemcpy2D_v2", copy, null_stream, false);
}

CUresult drv_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy, CUstream null_stream)
{
    return copy_2d("cuMemcpy2DUnaligned_v2", copy, null_stream, false);
}

CUresult drv_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    return copy_2d("cuMemcpy2DAsync_v2", copy, stream, true);
}

CUresult drv_cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy, CUstream null_stream)
{
    return copy_3d("cuMemcpy3D_v2", copy, null_stream, false);
}

CUresult drv_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    return copy_3d("cuMemcpy3DAsync_v2", copy, stream, true);
}

/* ---- memset */

static CUresult fill(const char *name, CUdeviceptr dst, size_t pitch_B, unsigned value,
                     unsigned elem_B, size_t width, size_t height, CUstream handle, bool async)
{
    assert(elem_B == 1 || elem_B == 2 || elem_B == 4);
    API_CALL_NAMED(name);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    API_CHECK(width <= SIZE_MAX / elem_B);
    return drv_result(core_fill(stream, dst, pitch_B, value, elem_B, width, height, async));
}

/* One row of `count` elements. */
static CUresult fill_row(const char *name, CUdeviceptr dst, unsigned value, unsigned elem_B,
                         size_t count, CUstream stream, bool async)
{
    return fill(name, dst, 0, value, elem_B, count, 1, stream, async);
}

CUresult drv_cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t count, CUstream null_stream)
{
    return fill_row("cuMemsetD8_v2", dst, value, sizeof(value), count, null_stream, false);
}

CUresult drv_cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream)
{
    return fill_row("cuMemsetD8Async", dst, value, sizeof(value), count, stream, true);
}

CUresult drv_cuMemsetD2D8_v2(CUdeviceptr dst, size_t pitch_B, unsigned char value, size_t width,
                             size_t height, CUstream null_stream)
{
    return fill("cuMemsetD2D8_v2", dst, pitch_B, value, sizeof(value), width, height, null_stream,
                false);
}

CUresult drv_cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch_B, unsigned char value, size_t width,
                               size_t height, CUstream stream)
{
    return fill("cuMemsetD2D8Async", dst, pitch_B, value, sizeof(value), width, height, stream,
                true);
}

CUresult drv_cuMemsetD16_v2(CUdeviceptr dst, unsigned short value, size_t count,
                            CUstream null_stream)
{
    return fill_row("cuMemsetD16_v2", dst, value, sizeof(value), count, null_stream, false);
}

CUresult drv_cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t count, CUstream stream)
{
    return fill_row("cuMemsetD16Async", dst, value, sizeof(value), count, stream, true);
}

CUresult drv_cuMemsetD2D16_v2(CUdeviceptr dst, size_t pitch_B, unsigned short value, size_t width,
                              size_t height, CUstream null_stream)
{
    return fill("cuMemsetD2D16_v2", dst, pitch_B, value, sizeof(value), width, height, null_stream,
                false);
}

CUresult drv_cuMemsetD2D16Async(CUdeviceptr dst, size_t pitch_B, unsigned short value, size_t width,
                                size_t height, CUstream stream)
{
    return fill("cuMemsetD2D16Async", dst, pitch_B, value, sizeof(value), width, height, stream,
                true);
}

CUresult drv_cuMemsetD32_v2(CUdeviceptr dst, unsigned value, size_t count, CUstream null_stream)
{
    return fill_row("cuMemsetD32_v2", dst, value, sizeof(value), count, null_stream, false);
}

CUresult drv_cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t count, CUstream stream)
{
    return fill_row("cuMemsetD32Async", dst, value, sizeof(value), count, stream, true);
}

CUresult drv_cuMemsetD2D32_v2(CUdeviceptr dst, size_t pitch_B, unsigned value, size_t width,
                              size_t height, CUstream null_stream)
{
    return fill("cuMemsetD2D32_v2", dst, pitch_B, value, sizeof(value), width, height, null_stream,
                false);
}

CUresult drv_cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch_B, unsigned value, size_t width,
                                size_t height, CUstream stream)
{
    return fill("cuMemsetD2D32Async", dst, pitch_B, value, sizeof(value), width, height, stream,
                true);
}
