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

/* One side of a box: where its first byte is, and the way from row to row. */
struct side {
    CUdeviceptr at;
    uint64_t pitch_B, slice_B;
    bool is_device;
};

/* What a call says about one side. */
struct side_args {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t pitch_B, height, x_B, y, z;
    size_t width_B, rows, slices; /* of the box */
};

static CUresult copy_side_in_memory(const struct side_args *a, CUdeviceptr base, struct side *out)
{
    out->pitch_B = a->pitch_B ? a->pitch_B : a->width_B + a->x_B;
    out->slice_B = out->pitch_B * (a->height ? a->height : a->rows + a->y);
    out->at = base + a->z * out->slice_B + a->y * out->pitch_B + a->x_B;
    out->is_device = a->type == CU_MEMORYTYPE_DEVICE;
    return CUDA_SUCCESS;
}

static bool copy_fits(uint64_t at, uint64_t size, uint64_t extent)
{
    return at <= extent && size <= extent - at;
}

/* Rows have no more bytes than the array has texels, whatever lies between them. */
static CUresult copy_side_in_array(const struct side_args *a, struct side *out)
{
    const char *const api_name_ = "copy";
    API_HANDLE(array, array, a->array);
    const struct core_array_level *l = &array->level[0];
    uint64_t row_B = (uint64_t)l->width * array->texel_B;

    if (array->is_mipmapped)
        return drv_error(CUDA_ERROR_INVALID_HANDLE, "copy: a mipmapped array is copied by level");
    if (a->x_B % array->texel_B || a->width_B % array->texel_B ||
        !copy_fits(a->x_B, a->width_B, row_B) || !copy_fits(a->y, a->rows, l->height) ||
        !copy_fits(a->z, a->slices, l->depth))
        return drv_error(CUDA_ERROR_INVALID_VALUE,
                         "copy: %zu bytes x %zu x %zu at (%zu,%zu,%zu) are not whole texels inside "
                         "of an array of %llu bytes x %u x %u",
                         a->width_B, a->rows, a->slices, a->x_B, a->y, a->z,
                         (unsigned long long)row_B, l->height, l->depth);
    *out = (struct side){.at = l->base + a->z * l->slice_B + a->y * l->pitch_B + a->x_B,
                         .pitch_B = l->pitch_B,
                         .slice_B = l->slice_B,
                         .is_device = true};
    return CUDA_SUCCESS;
}

static CUresult copy_side_of(const struct side_args *a, struct side *out)
{
    switch (a->type) {
    case CU_MEMORYTYPE_HOST:
        return copy_side_in_memory(a, HOST(a->host), out);
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
        return copy_side_in_memory(a, a->device, out);
    case CU_MEMORYTYPE_ARRAY:
        return copy_side_in_array(a, out);
    default:
        return drv_error(CUDA_ERROR_INVALID_VALUE, "memory type %d", (int)a->type);
    }
}

static CUresult copy_source_of(const CUDA_MEMCPY3D *c, struct side *out)
{
    return copy_side_of(&(struct side_args){c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray,
                                            c->srcPitch, c->srcHeight, c->srcXInBytes, c->srcY,
                                            c->srcZ, c->WidthInBytes, c->Height, c->Depth},
                        out);
}

static CUresult copy_destination_of(const CUDA_MEMCPY3D *c, struct side *out)
{
    return copy_side_of(&(struct side_args){c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray,
                                            c->dstPitch, c->dstHeight, c->dstXInBytes, c->dstY,
                                            c->dstZ, c->WidthInBytes, c->Height, c->Depth},
                        out);
}

CUresult drv_copy_decode(const CUDA_MEMCPY3D *c, struct core_copy *out_copy)
{
    const char *const api_name_ = "copy";
    struct side dst = {0}, src = {0};
    struct core_copy copy = {0};
    CUresult result;

    API_CHECK(!c->srcLOD && !c->dstLOD);
    result = copy_source_of(c, &src);
    if (result == CUDA_SUCCESS)
        result = copy_destination_of(c, &dst);
    if (result != CUDA_SUCCESS)
        return result;
    copy.width_B = c->WidthInBytes;
    copy.height = c->Height;
    copy.depth = c->Depth;
    copy.src = src.at;
    copy.src_pitch_B = src.pitch_B;
    copy.src_slice_B = src.slice_B;
    copy.dst = dst.at;
    copy.dst_pitch_B = dst.pitch_B;
    copy.dst_slice_B = dst.slice_B;
    copy.dst_is_device = dst.is_device;
    copy.src_is_device = src.is_device;
    copy.names_array =
        c->srcMemoryType == CU_MEMORYTYPE_ARRAY || c->dstMemoryType == CU_MEMORYTYPE_ARRAY;
    *out_copy = copy;
    return CUDA_SUCCESS;
}

static CUresult copy_3d(const char *name, const CUDA_MEMCPY3D *c, CUstream handle, bool async)
{
    struct core_copy copy;
    CUresult result;

    API_CALL_NAMED(name);
    API_CHECK(c);
    API_CONTEXT_OR(ctx, drv_stream_owner(handle));
    result = drv_copy_decode(c, &copy);
    if (result != CUDA_SUCCESS)
        return result;
    API_STREAM(ctx, stream, handle);
    copy.async = async;
    return drv_result(core_copy(stream, &copy));
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
        .srcArray = c->srcArray,
        .srcPitch = c->srcPitch,
        .dstXInBytes = c->dstXInBytes,
        .dstY = c->dstY,
        .dstMemoryType = c->dstMemoryType,
        .dstHost = c->dstHost,
        .dstDevice = c->dstDevice,
        .dstArray = c->dstArray,
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

/* Whose memory it is, but an array's; there is one memory, and programs leave it out. */
static bool copy_peer_ok(CUmemorytype type, CUcontext handle)
{
    __attribute__((cleanup(core_context_unref_at))) struct core_context *ctx = NULL;

    if (type == CU_MEMORYTYPE_ARRAY || !handle)
        return true;
    ctx = core_context_find(handle, NULL);
    return ctx != NULL;
}

static CUresult copy_peer(const char *name, const CUDA_MEMCPY3D_PEER *c, CUstream stream,
                          bool async)
{
    CUDA_MEMCPY3D box;

    API_CALL_NAMED(name);
    API_CHECK(c);
    if (!copy_peer_ok(c->dstMemoryType, c->dstContext) ||
        !copy_peer_ok(c->srcMemoryType, c->srcContext))
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "%s: %p to %p: a context that is not live",
                         name, (void *)c->srcContext, (void *)c->dstContext);
    box = (CUDA_MEMCPY3D){
        .srcXInBytes = c->srcXInBytes,
        .srcY = c->srcY,
        .srcZ = c->srcZ,
        .srcLOD = c->srcLOD,
        .srcMemoryType = c->srcMemoryType,
        .srcHost = c->srcHost,
        .srcDevice = c->srcDevice,
        .srcArray = c->srcArray,
        .srcPitch = c->srcPitch,
        .srcHeight = c->srcHeight,
        .dstXInBytes = c->dstXInBytes,
        .dstY = c->dstY,
        .dstZ = c->dstZ,
        .dstLOD = c->dstLOD,
        .dstMemoryType = c->dstMemoryType,
        .dstHost = c->dstHost,
        .dstDevice = c->dstDevice,
        .dstArray = c->dstArray,
        .dstPitch = c->dstPitch,
        .dstHeight = c->dstHeight,
        .WidthInBytes = c->WidthInBytes,
        .Height = c->Height,
        .Depth = c->Depth,
    };
    return copy_3d(name, &box, stream, async);
}

CUresult drv_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy, CUstream null_stream)
{
    return copy_peer("cuMemcpy3DPeer", copy, null_stream, false);
}

CUresult drv_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    return copy_peer("cuMemcpy3DPeerAsync", copy, stream, true);
}

/* ---- arrays of one dimension */

/* One side is an array, at an offset; so may be the other. */
static CUresult copy_row(const char *name, CUDA_MEMCPY3D *row, size_t size_B, CUstream stream,
                         bool async)
{
    row->WidthInBytes = size_B;
    row->Height = row->Depth = 1;
    return copy_3d(name, row, stream, async);
}

#define FROM_ARRAY(array, offset)                                                                  \
    .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = (array), .srcXInBytes = (offset)
#define TO_ARRAY(array, offset)                                                                    \
    .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = (array), .dstXInBytes = (offset)

CUresult drv_cuMemcpyAtoA_v2(CUarray dst, size_t dst_offset, CUarray src, size_t src_offset,
                             size_t size_B, CUstream null_stream)
{
    CUDA_MEMCPY3D row = {FROM_ARRAY(src, src_offset), TO_ARRAY(dst, dst_offset)};

    return copy_row("cuMemcpyAtoA_v2", &row, size_B, null_stream, false);
}

CUresult drv_cuMemcpyAtoD_v2(CUdeviceptr dst, CUarray src, size_t offset, size_t size_B,
                             CUstream null_stream)
{
    CUDA_MEMCPY3D row = {FROM_ARRAY(src, offset), .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                         .dstDevice = dst};

    return copy_row("cuMemcpyAtoD_v2", &row, size_B, null_stream, false);
}

CUresult drv_cuMemcpyDtoA_v2(CUarray dst, size_t offset, CUdeviceptr src, size_t size_B,
                             CUstream null_stream)
{
    CUDA_MEMCPY3D row = {TO_ARRAY(dst, offset), .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                         .srcDevice = src};

    return copy_row("cuMemcpyDtoA_v2", &row, size_B, null_stream, false);
}

CUresult drv_cuMemcpyAtoH_v2(void *dst, CUarray src, size_t offset, size_t size_B,
                             CUstream null_stream)
{
    CUDA_MEMCPY3D row = {FROM_ARRAY(src, offset), .dstMemoryType = CU_MEMORYTYPE_HOST,
                         .dstHost = dst};

    return copy_row("cuMemcpyAtoH_v2", &row, size_B, null_stream, false);
}

CUresult drv_cuMemcpyAtoHAsync_v2(void *dst, CUarray src, size_t offset, size_t size_B,
                                  CUstream stream)
{
    CUDA_MEMCPY3D row = {FROM_ARRAY(src, offset), .dstMemoryType = CU_MEMORYTYPE_HOST,
                         .dstHost = dst};

    return copy_row("cuMemcpyAtoHAsync_v2", &row, size_B, stream, true);
}

CUresult drv_cuMemcpyHtoA_v2(CUarray dst, size_t offset, const void *src, size_t size_B,
                             CUstream null_stream)
{
    CUDA_MEMCPY3D row = {TO_ARRAY(dst, offset), .srcMemoryType = CU_MEMORYTYPE_HOST,
                         .srcHost = src};

    return copy_row("cuMemcpyHtoA_v2", &row, size_B, null_stream, false);
}

CUresult drv_cuMemcpyHtoAAsync_v2(CUarray dst, size_t offset, const void *src, size_t size_B,
                                  CUstream stream)
{
    CUDA_MEMCPY3D row = {TO_ARRAY(dst, offset), .srcMemoryType = CU_MEMORYTYPE_HOST,
                         .srcHost = src};

    return copy_row("cuMemcpyHtoAAsync_v2", &row, size_B, stream, true);
}

/* ---- memset */

static CUresult copy_fill(const char *name, CUdeviceptr dst, size_t pitch_B, unsigned value,
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
static CUresult copy_fill_row(const char *name, CUdeviceptr dst, unsigned value, unsigned elem_B,
                              size_t count, CUstream stream, bool async)
{
    return copy_fill(name, dst, 0, value, elem_B, count, 1, stream, async);
}

CUresult drv_cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t count, CUstream null_stream)
{
    return copy_fill_row("cuMemsetD8_v2", dst, value, sizeof(value), count, null_stream, false);
}

CUresult drv_cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream)
{
    return copy_fill_row("cuMemsetD8Async", dst, value, sizeof(value), count, stream, true);
}

CUresult drv_cuMemsetD2D8_v2(CUdeviceptr dst, size_t pitch_B, unsigned char value, size_t width,
                             size_t height, CUstream null_stream)
{
    return copy_fill("cuMemsetD2D8_v2", dst, pitch_B, value, sizeof(value), width, height,
                     null_stream, false);
}

CUresult drv_cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch_B, unsigned char value, size_t width,
                               size_t height, CUstream stream)
{
    return copy_fill("cuMemsetD2D8Async", dst, pitch_B, value, sizeof(value), width, height, stream,
                     true);
}

CUresult drv_cuMemsetD16_v2(CUdeviceptr dst, unsigned short value, size_t count,
                            CUstream null_stream)
{
    return copy_fill_row("cuMemsetD16_v2", dst, value, sizeof(value), count, null_stream, false);
}

CUresult drv_cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t count, CUstream stream)
{
    return copy_fill_row("cuMemsetD16Async", dst, value, sizeof(value), count, stream, true);
}

CUresult drv_cuMemsetD2D16_v2(CUdeviceptr dst, size_t pitch_B, unsigned short value, size_t width,
                              size_t height, CUstream null_stream)
{
    return copy_fill("cuMemsetD2D16_v2", dst, pitch_B, value, sizeof(value), width, height,
                     null_stream, false);
}

CUresult drv_cuMemsetD2D16Async(CUdeviceptr dst, size_t pitch_B, unsigned short value, size_t width,
                                size_t height, CUstream stream)
{
    return copy_fill("cuMemsetD2D16Async", dst, pitch_B, value, sizeof(value), width, height,
                     stream, true);
}

CUresult drv_cuMemsetD32_v2(CUdeviceptr dst, unsigned value, size_t count, CUstream null_stream)
{
    return copy_fill_row("cuMemsetD32_v2", dst, value, sizeof(value), count, null_stream, false);
}

CUresult drv_cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t count, CUstream stream)
{
    return copy_fill_row("cuMemsetD32Async", dst, value, sizeof(value), count, stream, true);
}

CUresult drv_cuMemsetD2D32_v2(CUdeviceptr dst, size_t pitch_B, unsigned value, size_t width,
                              size_t height, CUstream null_stream)
{
    return copy_fill("cuMemsetD2D32_v2", dst, pitch_B, value, sizeof(value), width, height,
                     null_stream, false);
}

CUresult drv_cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch_B, unsigned value, size_t width,
                                size_t height, CUstream stream)
{
    return copy_fill("cuMemsetD2D32Async", dst, pitch_B, value, sizeof(value), width, height,
                     stream, true);
}
