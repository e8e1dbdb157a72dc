/* CUDA arrays: creation, what they are, and copies between them and memory. */
#include "runtime.h"

#include <string.h>

/* ---- channels and formats */

/* Kinds that say the whole format: unsigned and signed fractions. */
static const struct {
    enum cudaChannelFormatKind kind;
    CUarray_format format;
    unsigned bits, channels;
} fractions[] = {
    {cudaChannelFormatKindUnsignedNormalized8X1, CU_AD_FORMAT_UNORM_INT8X1, 8, 1},
    {cudaChannelFormatKindUnsignedNormalized8X2, CU_AD_FORMAT_UNORM_INT8X2, 8, 2},
    {cudaChannelFormatKindUnsignedNormalized8X4, CU_AD_FORMAT_UNORM_INT8X4, 8, 4},
    {cudaChannelFormatKindUnsignedNormalized16X1, CU_AD_FORMAT_UNORM_INT16X1, 16, 1},
    {cudaChannelFormatKindUnsignedNormalized16X2, CU_AD_FORMAT_UNORM_INT16X2, 16, 2},
    {cudaChannelFormatKindUnsignedNormalized16X4, CU_AD_FORMAT_UNORM_INT16X4, 16, 4},
    {cudaChannelFormatKindSignedNormalized8X1, CU_AD_FORMAT_SNORM_INT8X1, 8, 1},
    {cudaChannelFormatKindSignedNormalized8X2, CU_AD_FORMAT_SNORM_INT8X2, 8, 2},
    {cudaChannelFormatKindSignedNormalized8X4, CU_AD_FORMAT_SNORM_INT8X4, 8, 4},
    {cudaChannelFormatKindSignedNormalized16X1, CU_AD_FORMAT_SNORM_INT16X1, 16, 1},
    {cudaChannelFormatKindSignedNormalized16X2, CU_AD_FORMAT_SNORM_INT16X2, 16, 2},
    {cudaChannelFormatKindSignedNormalized16X4, CU_AD_FORMAT_SNORM_INT16X4, 16, 4},
};

static const struct {
    enum cudaChannelFormatKind kind;
    int bits;
    CUarray_format format;
} plain[] = {
    {cudaChannelFormatKindUnsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8},
    {cudaChannelFormatKindUnsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16},
    {cudaChannelFormatKindUnsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32},
    {cudaChannelFormatKindSigned, 8, CU_AD_FORMAT_SIGNED_INT8},
    {cudaChannelFormatKindSigned, 16, CU_AD_FORMAT_SIGNED_INT16},
    {cudaChannelFormatKindSigned, 32, CU_AD_FORMAT_SIGNED_INT32},
    {cudaChannelFormatKindFloat, 16, CU_AD_FORMAT_HALF},
    {cudaChannelFormatKindFloat, 32, CU_AD_FORMAT_FLOAT},
};

/* Channels that have bits are the first ones and all alike; 0: they are not. */
static unsigned array_channels_of(const struct cudaChannelFormatDesc *d)
{
    unsigned n = !d->y && !d->z && !d->w ? 1 : !d->z && !d->w ? 2 : 4;
    bool alike = (n < 2 || d->y == d->x) && (n < 4 || (d->z == d->x && d->w == d->x));

    return alike && d->x > 0 ? n : 0;
}

cudaError_t rt_channel_format(const struct cudaChannelFormatDesc *d, CUarray_format *out_format,
                              unsigned *out_channels)
{
    if (d->f > cudaChannelFormatKindFloat) {
        for (size_t i = 0; i < HD_COUNT_OF(fractions); i++) {
            if (fractions[i].kind != d->f)
                continue;
            *out_format = fractions[i].format;
            *out_channels = fractions[i].channels;
            return cudaSuccess;
        }
        return rt_fail(d->f <= cudaChannelFormatKindUnsignedNormalized1010102 &&
                               d->f != cudaChannelFormatKindNone
                           ? cudaErrorNotSupported
                           : cudaErrorInvalidChannelDescriptor);
    }
    *out_channels = array_channels_of(d);
    for (size_t i = 0; *out_channels && i < HD_COUNT_OF(plain); i++) {
        if (plain[i].kind == d->f && plain[i].bits == d->x) {
            *out_format = plain[i].format;
            return cudaSuccess;
        }
    }
    return rt_fail(cudaErrorInvalidChannelDescriptor);
}

static struct cudaChannelFormatDesc array_channels_make(int bits, unsigned n,
                                                        enum cudaChannelFormatKind kind)
{
    return rt_cudaCreateChannelDesc(bits, n > 1 ? bits : 0, n > 2 ? bits : 0, n > 3 ? bits : 0,
                                    kind);
}

struct cudaChannelFormatDesc rt_format_channels(CUarray_format format, unsigned channels)
{
    for (size_t i = 0; i < HD_COUNT_OF(plain); i++)
        if (plain[i].format == format)
            return array_channels_make(plain[i].bits, channels, plain[i].kind);
    for (size_t i = 0; i < HD_COUNT_OF(fractions); i++)
        if (fractions[i].format == format)
            return array_channels_make((int)fractions[i].bits, channels, fractions[i].kind);
    return array_channels_make(0, 1, cudaChannelFormatKindNone);
}

/* ---- creation */

static cudaError_t array_make_desc(CUDA_ARRAY3D_DESCRIPTOR *out,
                                   const struct cudaChannelFormatDesc *d, struct cudaExtent extent,
                                   unsigned flags)
{
    if (!d)
        return rt_fail(cudaErrorInvalidValue);
    *out = (CUDA_ARRAY3D_DESCRIPTOR){
        .Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};
    return rt_channel_format(d, &out->Format, &out->NumChannels);
}

cudaError_t rt_cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                                 struct cudaExtent extent, unsigned int flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    RT_TRY(rt_enter());
    if (!array)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(array_make_desc(&d, desc, extent, flags));
    RT_CALL(cuArray3DCreate_v2((CUarray *)array, &d));
}

cudaError_t rt_cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                               size_t width, size_t height, unsigned int flags)
{
    return rt_cudaMalloc3DArray(array, desc, (struct cudaExtent){width, height, 0}, flags);
}

cudaError_t rt_cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray,
                                        const struct cudaChannelFormatDesc *desc,
                                        struct cudaExtent extent, unsigned int numLevels,
                                        unsigned int flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    RT_TRY(rt_enter());
    if (!mipmappedArray)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(array_make_desc(&d, desc, extent, flags));
    RT_CALL(cuMipmappedArrayCreate((CUmipmappedArray *)mipmappedArray, &d, numLevels));
}

/* Programs of CUDA 12 have no reserved words at the end: they are not looked at. */
cudaError_t rt_cudaExternalMemoryGetMappedMipmappedArray(
    cudaMipmappedArray_t *mipmap, cudaExternalMemory_t extMem,
    const struct cudaExternalMemoryMipmappedArrayDesc *mipmapDesc)
{
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC desc = {.offset = 0};
    RT_TRY(rt_enter());
    if (!mipmapDesc)
        return rt_fail(cudaErrorInvalidValue);
    desc.offset = mipmapDesc->offset;
    desc.numLevels = mipmapDesc->numLevels;
    RT_TRY(array_make_desc(&desc.arrayDesc, &mipmapDesc->formatDesc, mipmapDesc->extent,
                           mipmapDesc->flags));
    return rt_result(cuExternalMemoryGetMappedMipmappedArray((CUmipmappedArray *)mipmap,
                                                             (CUexternalMemory)extMem, &desc));
}

cudaError_t rt_cudaFreeArray(cudaArray_t array)
{
    RT_TRY(rt_enter());
    return array ? rt_result(cuArrayDestroy((CUarray)array)) : cudaSuccess;
}

cudaError_t rt_cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray)
{
    RT_TRY(rt_enter());
    return mipmappedArray ? rt_result(cuMipmappedArrayDestroy((CUmipmappedArray)mipmappedArray))
                          : cudaSuccess;
}

cudaError_t rt_cudaGetMipmappedArrayLevel(cudaArray_t *levelArray,
                                          cudaMipmappedArray_const_t mipmappedArray,
                                          unsigned int level)
{
    RT_CALL(
        cuMipmappedArrayGetLevel((CUarray *)levelArray, (CUmipmappedArray)mipmappedArray, level));
}

/* ---- what an array is */

static cudaError_t array_describe(cudaArray_const_t array, CUDA_ARRAY3D_DESCRIPTOR *out)
{
    RT_CALL(cuArray3DGetDescriptor_v2(out, (CUarray)array));
}

cudaError_t rt_cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
                                unsigned int *flags, cudaArray_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    RT_TRY(array_describe(array, &d));
    if (desc)
        *desc = rt_format_channels(d.Format, d.NumChannels);
    if (extent)
        *extent = (struct cudaExtent){d.Width, d.Height, d.Depth};
    if (flags)
        *flags = d.Flags;
    return cudaSuccess;
}

cudaError_t rt_cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    RT_TRY(rt_enter());
    if (!desc)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(array_describe(array, &d));
    *desc = rt_format_channels(d.Format, d.NumChannels);
    return cudaSuccess;
}

_Static_assert(sizeof(struct cudaArrayMemoryRequirements) ==
                       sizeof(CUDA_ARRAY_MEMORY_REQUIREMENTS) &&
                   sizeof(struct cudaArraySparseProperties) == sizeof(CUDA_ARRAY_SPARSE_PROPERTIES),
               "the same bytes");

cudaError_t rt_cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *requirements,
                                              cudaArray_t array, int device)
{
    RT_CALL(cuArrayGetMemoryRequirements((void *)requirements, (CUarray)array, device));
}

cudaError_t
rt_cudaMipmappedArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *requirements,
                                           cudaMipmappedArray_t mipmap, int device)
{
    RT_CALL(cuMipmappedArrayGetMemoryRequirements((void *)requirements, (CUmipmappedArray)mipmap,
                                                  device));
}

cudaError_t rt_cudaArrayGetPlane(cudaArray_t *plane, cudaArray_t array, unsigned int index)
{
    RT_CALL(cuArrayGetPlane((CUarray *)plane, (CUarray)array, index));
}

cudaError_t rt_cudaArrayGetSparseProperties(struct cudaArraySparseProperties *properties,
                                            cudaArray_t array)
{
    RT_CALL(cuArrayGetSparseProperties((void *)properties, (CUarray)array));
}

cudaError_t rt_cudaMipmappedArrayGetSparseProperties(struct cudaArraySparseProperties *properties,
                                                     cudaMipmappedArray_t mipmap)
{
    RT_CALL(cuMipmappedArrayGetSparseProperties((void *)properties, (CUmipmappedArray)mipmap));
}

cudaError_t rt_cudaDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements,
                                                    const struct cudaChannelFormatDesc *fmtDesc,
                                                    int device)
{
    CUarray_format format;
    unsigned channels;
    RT_TRY(rt_enter());
    if (!fmtDesc)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_channel_format(fmtDesc, &format, &channels));
    RT_CALL(cuDeviceGetTexture1DLinearMaxWidth(maxWidthInElements, format, channels, device));
}

static size_t array_format_bits(CUarray_format format)
{
    for (size_t i = 0; i < HD_COUNT_OF(plain); i++)
        if (plain[i].format == format)
            return (size_t)plain[i].bits;
    for (size_t i = 0; i < HD_COUNT_OF(fractions); i++)
        if (fractions[i].format == format)
            return fractions[i].bits;
    return 0;
}

cudaError_t rt_array_texel_B(cudaArray_const_t array, size_t *out_size_B)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    RT_TRY(array_describe(array, &d));
    *out_size_B = array_format_bits(d.Format) * d.NumChannels / 8;
    return cudaSuccess;
}

/* ---- boxes of two dimensions */

#define FROM_ARRAY(array, x, y)                                                                    \
    .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = (CUarray)(array), .srcXInBytes = (x),        \
    .srcY = (y)
#define TO_ARRAY(array, x, y)                                                                      \
    .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = (CUarray)(array), .dstXInBytes = (x),        \
    .dstY = (y)

/* How the side that is no array is named: its memory type by the direction. */
static cudaError_t array_host_side(enum cudaMemcpyKind kind, bool to_array, CUmemorytype *out_type)
{
    bool device = kind == cudaMemcpyDeviceToDevice;

    if (kind != cudaMemcpyDefault && !device &&
        kind != (to_array ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost))
        return rt_fail(cudaErrorInvalidMemcpyDirection);
    *out_type = kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED
                : device                  ? CU_MEMORYTYPE_DEVICE
                                          : CU_MEMORYTYPE_HOST;
    return cudaSuccess;
}

/* How a copy is made: at once, or in a stream. */
struct how {
    cudaStream_t stream;
    bool async;
};

static cudaError_t array_box_copy(const CUDA_MEMCPY2D *box, struct how how)
{
    if (!box->WidthInBytes || !box->Height)
        return rt_enter();
    if (how.async)
        RT_CALL(cuMemcpy2DAsync_v2(box, how.stream));
    RT_CALL(cuMemcpy2DUnaligned_v2(box));
}

static cudaError_t to_array(cudaArray_t dst, size_t x_B, size_t y, const void *src, size_t spitch,
                            size_t width_B, size_t height, enum cudaMemcpyKind kind, struct how how)
{
    CUDA_MEMCPY2D box = {TO_ARRAY(dst, x_B, y), .srcHost = src,          .srcDevice = rt_va(src),
                         .srcPitch = spitch,    .WidthInBytes = width_B, .Height = height};
    RT_TRY(array_host_side(kind, true, &box.srcMemoryType));
    if (height > 1 && width_B > spitch)
        return rt_fail(cudaErrorInvalidPitchValue);
    return array_box_copy(&box, how);
}

static cudaError_t from_array(void *dst, size_t dpitch, cudaArray_const_t src, size_t x_B, size_t y,
                              size_t width_B, size_t height, enum cudaMemcpyKind kind,
                              struct how how)
{
    CUDA_MEMCPY2D box = {FROM_ARRAY(src, x_B, y), .dstHost = dst,          .dstDevice = rt_va(dst),
                         .dstPitch = dpitch,      .WidthInBytes = width_B, .Height = height};
    RT_TRY(array_host_side(kind, false, &box.dstMemoryType));
    if (height > 1 && width_B > dpitch)
        return rt_fail(cudaErrorInvalidPitchValue);
    return array_box_copy(&box, how);
}

/* A synchronous call whose default stream is the thread's is one in that stream, waited for. */
static struct how array_at_once(CUstream null_stream)
{
    return (struct how){null_stream, null_stream != NULL};
}

static cudaError_t array_finished(cudaError_t error, CUstream null_stream)
{
    return null_stream ? rt_wait(error, null_stream) : error;
}

cudaError_t rt_cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
                                   size_t spitch, size_t width, size_t height,
                                   enum cudaMemcpyKind kind, CUstream null_stream)
{
    return array_finished(to_array(dst, wOffset, hOffset, src, spitch, width, height, kind,
                                   array_at_once(null_stream)),
                          null_stream);
}

cudaError_t rt_cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                        const void *src, size_t spitch, size_t width, size_t height,
                                        enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return to_array(dst, wOffset, hOffset, src, spitch, width, height, kind,
                    (struct how){stream, true});
}

cudaError_t rt_cudaMemcpy2DFromArray(void *dst, size_t dpitch, cudaArray_const_t src,
                                     size_t wOffset, size_t hOffset, size_t width, size_t height,
                                     enum cudaMemcpyKind kind, CUstream null_stream)
{
    return array_finished(from_array(dst, dpitch, src, wOffset, hOffset, width, height, kind,
                                     array_at_once(null_stream)),
                          null_stream);
}

cudaError_t rt_cudaMemcpy2DFromArrayAsync(void *dst, size_t dpitch, cudaArray_const_t src,
                                          size_t wOffset, size_t hOffset, size_t width,
                                          size_t height, enum cudaMemcpyKind kind,
                                          cudaStream_t stream)
{
    return from_array(dst, dpitch, src, wOffset, hOffset, width, height, kind,
                      (struct how){stream, true});
}

cudaError_t rt_cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                        cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
                                        size_t width, size_t height, enum cudaMemcpyKind kind,
                                        CUstream null_stream)
{
    const CUDA_MEMCPY2D box = {TO_ARRAY(dst, wOffsetDst, hOffsetDst),
                               FROM_ARRAY(src, wOffsetSrc, hOffsetSrc), .WidthInBytes = width,
                               .Height = height};
    if (kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return rt_fail(cudaErrorInvalidMemcpyDirection);
    return array_finished(array_box_copy(&box, array_at_once(null_stream)), null_stream);
}

/* ---- bytes of an array as if its rows were one: what the calls without a box copy */

struct rows {
    size_t row_B, x_B, y;
};

static cudaError_t array_rows_of(cudaArray_const_t array, size_t x_B, size_t y, struct rows *out)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    RT_TRY(array_describe(array, &d));
    *out = (struct rows){d.Width * d.NumChannels * array_format_bits(d.Format) / 8, x_B, y};
    return x_B < out->row_B ? cudaSuccess : rt_fail(cudaErrorInvalidValue);
}

/* The next box of at most count bytes: the rest of a row, whole rows, or the start of one. */
static void array_rows_next(const struct rows *r, size_t count, size_t *out_width_B,
                            size_t *out_height)
{
    bool whole = !r->x_B && count >= r->row_B;

    *out_width_B = whole ? r->row_B : HD_MIN(count, r->row_B - r->x_B);
    *out_height = whole ? count / r->row_B : 1;
}

static void array_rows_advance(struct rows *r, size_t width_B, size_t height)
{
    r->x_B += width_B;
    r->y += r->x_B == r->row_B ? height : 0;
    r->x_B = r->x_B == r->row_B ? 0 : r->x_B;
}

static cudaError_t bytes_to_array(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
                                  size_t count, enum cudaMemcpyKind kind, struct how how)
{
    struct rows r;
    size_t width_B, height;
    RT_TRY(array_rows_of(dst, wOffset, hOffset, &r));
    for (const char *from = src; count; count -= width_B * height, from += width_B * height) {
        array_rows_next(&r, count, &width_B, &height);
        RT_TRY(to_array(dst, r.x_B, r.y, from, width_B, width_B, height, kind, how));
        array_rows_advance(&r, width_B, height);
    }
    return cudaSuccess;
}

static cudaError_t bytes_from_array(void *dst, cudaArray_const_t src, size_t wOffset,
                                    size_t hOffset, size_t count, enum cudaMemcpyKind kind,
                                    struct how how)
{
    struct rows r;
    size_t width_B, height;
    RT_TRY(array_rows_of(src, wOffset, hOffset, &r));
    for (char *to = dst; count; count -= width_B * height, to += width_B * height) {
        array_rows_next(&r, count, &width_B, &height);
        RT_TRY(from_array(to, width_B, src, r.x_B, r.y, width_B, height, kind, how));
        array_rows_advance(&r, width_B, height);
    }
    return cudaSuccess;
}

cudaError_t rt_cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
                                 size_t count, enum cudaMemcpyKind kind, CUstream null_stream)
{
    return array_finished(
        bytes_to_array(dst, wOffset, hOffset, src, count, kind, array_at_once(null_stream)),
        null_stream);
}

cudaError_t rt_cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                      const void *src, size_t count, enum cudaMemcpyKind kind,
                                      cudaStream_t stream)
{
    return bytes_to_array(dst, wOffset, hOffset, src, count, kind, (struct how){stream, true});
}

cudaError_t rt_cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset,
                                   size_t count, enum cudaMemcpyKind kind, CUstream null_stream)
{
    return array_finished(
        bytes_from_array(dst, src, wOffset, hOffset, count, kind, array_at_once(null_stream)),
        null_stream);
}

cudaError_t rt_cudaMemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t wOffset,
                                        size_t hOffset, size_t count, enum cudaMemcpyKind kind,
                                        cudaStream_t stream)
{
    return bytes_from_array(dst, src, wOffset, hOffset, count, kind, (struct how){stream, true});
}

/* Both sides have rows of their own: what fits both goes at once. */
cudaError_t rt_cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                      cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
                                      size_t count, enum cudaMemcpyKind kind, CUstream null_stream)
{
    struct rows to, from;
    size_t width_B, height;
    RT_TRY(array_rows_of(dst, wOffsetDst, hOffsetDst, &to));
    RT_TRY(array_rows_of(src, wOffsetSrc, hOffsetSrc, &from));
    for (; count; count -= width_B) {
        size_t most = HD_MIN(count, HD_MIN(to.row_B - to.x_B, from.row_B - from.x_B));
        array_rows_next(&to, most, &width_B, &height);
        RT_TRY(rt_cudaMemcpy2DArrayToArray(dst, to.x_B, to.y, src, from.x_B, from.y, width_B, 1,
                                           kind, null_stream));
        array_rows_advance(&to, width_B, 1);
        array_rows_advance(&from, width_B, 1);
    }
    return cudaSuccess;
}
