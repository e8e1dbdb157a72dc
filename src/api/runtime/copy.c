/* Copies and fills. */
#include "runtime.h"

#include <limits.h>

/*
 * The direction is checked by taking the driver's entry point for it: a copy to the host that names
 * device memory nobody allocated is an error, whatever the address.
 */
cudaError_t rt_copy(void *dst, const void *src, size_t size_B, enum cudaMemcpyKind kind)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        RT_CALL(cuMemcpyHtoD_v2(rt_va(dst), src, size_B));
    case cudaMemcpyDeviceToHost:
        RT_CALL(cuMemcpyDtoH_v2(dst, rt_va(src), size_B));
    case cudaMemcpyDeviceToDevice:
        RT_CALL(cuMemcpyDtoD_v2(rt_va(dst), rt_va(src), size_B));
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        RT_CALL(cuMemcpy(rt_va(dst), rt_va(src), size_B));
    }
    return rt_fail(cudaErrorInvalidMemcpyDirection);
}

cudaError_t rt_copy_async(void *dst, const void *src, size_t size_B, enum cudaMemcpyKind kind,
                          cudaStream_t stream)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        RT_CALL(cuMemcpyHtoDAsync_v2(rt_va(dst), src, size_B, stream));
    case cudaMemcpyDeviceToHost:
        RT_CALL(cuMemcpyDtoHAsync_v2(dst, rt_va(src), size_B, stream));
    case cudaMemcpyDeviceToDevice:
        RT_CALL(cuMemcpyDtoDAsync_v2(rt_va(dst), rt_va(src), size_B, stream));
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        RT_CALL(cuMemcpyAsync(rt_va(dst), rt_va(src), size_B, stream));
    }
    return rt_fail(cudaErrorInvalidMemcpyDirection);
}

cudaError_t rt_cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                          CUstream null_stream)
{
    if (null_stream)
        return rt_wait(rt_cudaMemcpyAsync(dst, src, count, kind, null_stream), null_stream);
    return rt_copy(dst, src, count, kind);
}

cudaError_t rt_cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                               cudaStream_t stream)
{
    return rt_copy_async(dst, src, count, kind, stream);
}

/* Memory types of destination and source; NULL when there is no such direction. */
static const CUmemorytype *copy_memory_types(enum cudaMemcpyKind kind)
{
    static const CUmemorytype types[][2] = {
        [cudaMemcpyHostToHost] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST},
        [cudaMemcpyHostToDevice] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST},
        [cudaMemcpyDeviceToHost] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE},
        [cudaMemcpyDeviceToDevice] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE},
        [cudaMemcpyDefault] = {CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED},
    };
    return (unsigned)kind < HD_COUNT_OF(types) ? types[kind] : NULL;
}

static cudaError_t make_copy_2d(CUDA_MEMCPY2D *out_copy, void *dst, size_t dpitch, const void *src,
                                size_t spitch, size_t width, size_t height,
                                enum cudaMemcpyKind kind)
{
    const CUmemorytype *types = copy_memory_types(kind);
    if (!types)
        return rt_fail(cudaErrorInvalidMemcpyDirection);
    if (height > 1 && (width > dpitch || width > spitch))
        return rt_fail(cudaErrorInvalidPitchValue);
    *out_copy = (CUDA_MEMCPY2D){
        .srcMemoryType = types[1],
        .srcHost = src,
        .srcDevice = rt_va(src),
        .srcPitch = spitch,
        .dstMemoryType = types[0],
        .dstHost = dst,
        .dstDevice = rt_va(dst),
        .dstPitch = dpitch,
        .WidthInBytes = width,
        .Height = height,
    };
    return cudaSuccess;
}

cudaError_t rt_cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                            size_t height, enum cudaMemcpyKind kind, CUstream null_stream)
{
    CUDA_MEMCPY2D copy;
    if (null_stream)
        return rt_wait(
            rt_cudaMemcpy2DAsync(dst, dpitch, src, spitch, width, height, kind, null_stream),
            null_stream);
    RT_TRY(make_copy_2d(&copy, dst, dpitch, src, spitch, width, height, kind));
    if (!width || !height)
        return rt_enter();
    RT_CALL(cuMemcpy2DUnaligned_v2(&copy));
}

cudaError_t rt_cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                                 size_t width, size_t height, enum cudaMemcpyKind kind,
                                 cudaStream_t stream)
{
    CUDA_MEMCPY2D copy;
    RT_TRY(make_copy_2d(&copy, dst, dpitch, src, spitch, width, height, kind));
    if (!width || !height)
        return rt_enter();
    RT_CALL(cuMemcpy2DAsync_v2(&copy, stream));
}

/* One side of a box: an array, whose place counts texels, or memory, whose place counts bytes. */
struct side {
    cudaArray_t array;
    struct cudaPos pos;
    struct cudaPitchedPtr ptr;
    CUmemorytype type;
    size_t unit_B;
};

static cudaError_t copy_side_read(struct side *side)
{
    if (!side->array == !side->ptr.ptr)
        return rt_fail(cudaErrorInvalidValue);
    if (!side->array)
        return cudaSuccess;
    side->type = CU_MEMORYTYPE_ARRAY;
    return rt_array_texel_B(side->array, &side->unit_B);
}

/* Of a single row the pitch is not looked at, and may be 0. */
static bool copy_exceeds_pitch(const struct side *side, struct cudaExtent extent_B)
{
    return (extent_B.height > 1 || extent_B.depth > 1) && !side->array &&
           extent_B.width > side->ptr.pitch;
}

/* Where an array takes part, the extent counts its texels. */
static cudaError_t copy_make_box(CUDA_MEMCPY3D *out_copy, struct side *dst, struct side *src,
                                 struct cudaExtent extent)
{
    RT_TRY(copy_side_read(src));
    RT_TRY(copy_side_read(dst));
    extent.width *= src->array ? src->unit_B : dst->unit_B;
    if (copy_exceeds_pitch(src, extent) || copy_exceeds_pitch(dst, extent))
        return rt_fail(cudaErrorInvalidPitchValue);
    *out_copy = (CUDA_MEMCPY3D){
        .srcXInBytes = src->pos.x * src->unit_B,
        .srcY = src->pos.y,
        .srcZ = src->pos.z,
        .srcMemoryType = src->type,
        .srcHost = src->ptr.ptr,
        .srcDevice = rt_va(src->ptr.ptr),
        .srcArray = (CUarray)src->array,
        .srcPitch = src->ptr.pitch,
        .srcHeight = src->ptr.ysize,
        .dstXInBytes = dst->pos.x * dst->unit_B,
        .dstY = dst->pos.y,
        .dstZ = dst->pos.z,
        .dstMemoryType = dst->type,
        .dstHost = dst->ptr.ptr,
        .dstDevice = rt_va(dst->ptr.ptr),
        .dstArray = (CUarray)dst->array,
        .dstPitch = dst->ptr.pitch,
        .dstHeight = dst->ptr.ysize,
        .WidthInBytes = extent.width,
        .Height = extent.height,
        .Depth = extent.depth,
    };
    return cudaSuccess;
}

cudaError_t rt_make_copy_3d(CUDA_MEMCPY3D *out_copy, const struct cudaMemcpy3DParms *p)
{
    RT_TRY(rt_enter());
    if (!p)
        return rt_fail(cudaErrorInvalidValue);
    const CUmemorytype *types = copy_memory_types(p->kind);
    if (!types)
        return rt_fail(cudaErrorInvalidMemcpyDirection);
    struct side dst = {p->dstArray, p->dstPos, p->dstPtr, types[0], 1};
    struct side src = {p->srcArray, p->srcPos, p->srcPtr, types[1], 1};
    return copy_make_box(out_copy, &dst, &src, p->extent);
}

cudaError_t rt_cudaMemcpy3D(const struct cudaMemcpy3DParms *p, CUstream null_stream)
{
    CUDA_MEMCPY3D copy;
    if (null_stream)
        return rt_wait(rt_cudaMemcpy3DAsync(p, null_stream), null_stream);
    RT_TRY(rt_make_copy_3d(&copy, p));
    RT_CALL(cuMemcpy3D_v2(&copy));
}

cudaError_t rt_cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    CUDA_MEMCPY3D copy;
    RT_TRY(rt_make_copy_3d(&copy, p));
    RT_CALL(cuMemcpy3DAsync_v2(&copy, stream));
}

/* The devices say whose memory it is; addresses and arrays do that, too. */
static cudaError_t make_copy_peer(CUDA_MEMCPY3D *out_copy, const struct cudaMemcpy3DPeerParms *p)
{
    CUcontext unused;
    if (!p)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_primary(p->dstDevice, &unused));
    RT_TRY(rt_primary(p->srcDevice, &unused));
    RT_TRY(rt_enter());
    struct side dst = {p->dstArray, p->dstPos, p->dstPtr, CU_MEMORYTYPE_UNIFIED, 1};
    struct side src = {p->srcArray, p->srcPos, p->srcPtr, CU_MEMORYTYPE_UNIFIED, 1};
    return copy_make_box(out_copy, &dst, &src, p->extent);
}

cudaError_t rt_cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
    CUDA_MEMCPY3D copy;
    RT_TRY(make_copy_peer(&copy, p));
    RT_CALL(cuMemcpy3DAsync_v2(&copy, stream));
}

cudaError_t rt_cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p, CUstream null_stream)
{
    CUDA_MEMCPY3D copy;
    if (null_stream)
        return rt_wait(rt_cudaMemcpy3DPeerAsync(p, null_stream), null_stream);
    RT_TRY(make_copy_peer(&copy, p));
    RT_CALL(cuMemcpy3D_v2(&copy));
}

cudaError_t rt_cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice,
                              size_t count)
{
    CUcontext to, from;
    RT_TRY(rt_primary(dstDevice, &to));
    RT_TRY(rt_primary(srcDevice, &from));
    RT_CALL(cuMemcpyPeer(rt_va(dst), to, rt_va(src), from, count));
}

cudaError_t rt_cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice,
                                   size_t count, cudaStream_t stream)
{
    CUcontext to, from;
    RT_TRY(rt_primary(dstDevice, &to));
    RT_TRY(rt_primary(srcDevice, &from));
    RT_CALL(cuMemcpyPeerAsync(rt_va(dst), to, rt_va(src), from, count, stream));
}

cudaError_t rt_cudaMemset(void *devPtr, int value, size_t count, CUstream null_stream)
{
    if (null_stream)
        return rt_wait(rt_cudaMemsetAsync(devPtr, value, count, null_stream), null_stream);
    RT_CALL(cuMemsetD8_v2(rt_va(devPtr), (unsigned char)value, count));
}

cudaError_t rt_cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
    RT_CALL(cuMemsetD8Async(rt_va(devPtr), (unsigned char)value, count, stream));
}

cudaError_t rt_cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width, size_t height,
                            CUstream null_stream)
{
    if (null_stream)
        return rt_wait(rt_cudaMemset2DAsync(devPtr, pitch, value, width, height, null_stream),
                       null_stream);
    RT_CALL(cuMemsetD2D8_v2(rt_va(devPtr), pitch, (unsigned char)value, width, height));
}

cudaError_t rt_cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width, size_t height,
                                 cudaStream_t stream)
{
    RT_CALL(cuMemsetD2D8Async(rt_va(devPtr), pitch, (unsigned char)value, width, height, stream));
}

cudaError_t rt_cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value,
                                 struct cudaExtent extent, cudaStream_t stream)
{
    size_t slice_B, span_B;
    if (!extent.width || !extent.height || !extent.depth)
        return rt_enter();
    if (extent.depth == 1)
        return rt_cudaMemset2DAsync(pitchedDevPtr.ptr, pitchedDevPtr.pitch, value, extent.width,
                                    extent.height, stream);
    if (extent.width > pitchedDevPtr.pitch || extent.height > pitchedDevPtr.ysize ||
        __builtin_mul_overflow(pitchedDevPtr.pitch, pitchedDevPtr.ysize, &slice_B) ||
        __builtin_mul_overflow(slice_B, extent.depth, &span_B))
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_enter());
    /* The last one first: when it lies behind the memory's end, nothing has been filled yet. */
    for (size_t z = extent.depth; z-- > 0;)
        RT_TRY(rt_result(cuMemsetD2D8Async(rt_va(pitchedDevPtr.ptr) + z * slice_B,
                                           pitchedDevPtr.pitch, (unsigned char)value, extent.width,
                                           extent.height, stream)));
    return cudaSuccess;
}

cudaError_t rt_cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value,
                            struct cudaExtent extent, CUstream null_stream)
{
    if (null_stream)
        return rt_wait(rt_cudaMemset3DAsync(pitchedDevPtr, value, extent, null_stream),
                       null_stream);
    RT_TRY(rt_cudaMemset3DAsync(pitchedDevPtr, value, extent, NULL));
    return rt_cudaStreamSynchronize(NULL);
}
