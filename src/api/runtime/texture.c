/* Texture and surface objects, in the driver's terms and back. */
#include "runtime.h"

#include <string.h>

/* ---- resources */

static cudaError_t resource_make(CUDA_RESOURCE_DESC *out, const struct cudaResourceDesc *d)
{
    memset(out, 0, sizeof(*out));
    out->resType = (CUresourcetype)d->resType;
    out->flags = d->flags;
    switch (d->resType) {
    case cudaResourceTypeArray:
        out->res.array.hArray = (CUarray)d->res.array.array;
        return cudaSuccess;
    case cudaResourceTypeMipmappedArray:
        out->res.mipmap.hMipmappedArray = (CUmipmappedArray)d->res.mipmap.mipmap;
        return cudaSuccess;
    case cudaResourceTypeLinear:
        out->res.linear.devPtr = rt_va(d->res.linear.devPtr);
        out->res.linear.sizeInBytes = d->res.linear.sizeInBytes;
        return rt_channel_format(&d->res.linear.desc, &out->res.linear.format,
                                 &out->res.linear.numChannels);
    case cudaResourceTypePitch2D:
        out->res.pitch2D.devPtr = rt_va(d->res.pitch2D.devPtr);
        out->res.pitch2D.width = d->res.pitch2D.width;
        out->res.pitch2D.height = d->res.pitch2D.height;
        out->res.pitch2D.pitchInBytes = d->res.pitch2D.pitchInBytes;
        return rt_channel_format(&d->res.pitch2D.desc, &out->res.pitch2D.format,
                                 &out->res.pitch2D.numChannels);
    }
    return rt_fail(cudaErrorInvalidValue);
}

static void resource_report(struct cudaResourceDesc *out, const CUDA_RESOURCE_DESC *d)
{
    memset(out, 0, sizeof(*out));
    out->resType = (enum cudaResourceType)d->resType;
    out->flags = d->flags;
    switch (d->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        out->res.array.array = (cudaArray_t)d->res.array.hArray;
        return;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        out->res.mipmap.mipmap = (cudaMipmappedArray_t)d->res.mipmap.hMipmappedArray;
        return;
    case CU_RESOURCE_TYPE_LINEAR:
        out->res.linear.devPtr = (void *)(uintptr_t)d->res.linear.devPtr;
        out->res.linear.sizeInBytes = d->res.linear.sizeInBytes;
        out->res.linear.desc = rt_format_channels(d->res.linear.format, d->res.linear.numChannels);
        return;
    default:
        out->res.pitch2D.devPtr = (void *)(uintptr_t)d->res.pitch2D.devPtr;
        out->res.pitch2D.width = d->res.pitch2D.width;
        out->res.pitch2D.height = d->res.pitch2D.height;
        out->res.pitch2D.pitchInBytes = d->res.pitch2D.pitchInBytes;
        out->res.pitch2D.desc =
            rt_format_channels(d->res.pitch2D.format, d->res.pitch2D.numChannels);
        return;
    }
}

/* ---- samplers */

static unsigned flags_make(const struct cudaTextureDesc *d)
{
    return (d->readMode == cudaReadModeElementType ? (unsigned)CU_TRSF_READ_AS_INTEGER : 0) |
           (d->normalizedCoords ? (unsigned)CU_TRSF_NORMALIZED_COORDINATES : 0) |
           (d->sRGB ? (unsigned)CU_TRSF_SRGB : 0) |
           (d->disableTrilinearOptimization ? (unsigned)CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION
                                            : 0) |
           (d->seamlessCubemap ? (unsigned)CU_TRSF_SEAMLESS_CUBEMAP : 0);
}

static CUDA_TEXTURE_DESC texture_make(const struct cudaTextureDesc *d)
{
    CUDA_TEXTURE_DESC out = {.filterMode = (CUfilter_mode)d->filterMode,
                             .flags = flags_make(d),
                             .maxAnisotropy = d->maxAnisotropy,
                             .mipmapFilterMode = (CUfilter_mode)d->mipmapFilterMode,
                             .mipmapLevelBias = d->mipmapLevelBias,
                             .minMipmapLevelClamp = d->minMipmapLevelClamp,
                             .maxMipmapLevelClamp = d->maxMipmapLevelClamp};

    for (unsigned i = 0; i < 3; i++)
        out.addressMode[i] = (CUaddress_mode)d->addressMode[i];
    memcpy(out.borderColor, d->borderColor, sizeof(out.borderColor));
    return out;
}

static void texture_report(struct cudaTextureDesc *out, const CUDA_TEXTURE_DESC *d)
{
    *out = (struct cudaTextureDesc){
        .filterMode = (enum cudaTextureFilterMode)d->filterMode,
        .readMode = d->flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType
                                                       : cudaReadModeNormalizedFloat,
        .sRGB = (d->flags & CU_TRSF_SRGB) != 0,
        .normalizedCoords = (d->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0,
        .maxAnisotropy = d->maxAnisotropy,
        .mipmapFilterMode = (enum cudaTextureFilterMode)d->mipmapFilterMode,
        .mipmapLevelBias = d->mipmapLevelBias,
        .minMipmapLevelClamp = d->minMipmapLevelClamp,
        .maxMipmapLevelClamp = d->maxMipmapLevelClamp,
        .disableTrilinearOptimization = (d->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0,
        .seamlessCubemap = (d->flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0};
    for (unsigned i = 0; i < 3; i++)
        out->addressMode[i] = (enum cudaTextureAddressMode)d->addressMode[i];
    memcpy(out->borderColor, d->borderColor, sizeof(out->borderColor));
}

/* The runtime's and the driver's are laid out alike. */
_Static_assert(sizeof(struct cudaResourceViewDesc) == sizeof(CUDA_RESOURCE_VIEW_DESC),
               "views are copied as they are");

/* ---- textures */

cudaError_t rt_cudaCreateTextureObject(cudaTextureObject_t *pTexObject,
                                       const struct cudaResourceDesc *pResDesc,
                                       const struct cudaTextureDesc *pTexDesc,
                                       const struct cudaResourceViewDesc *pResViewDesc)
{
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
    CUDA_RESOURCE_VIEW_DESC view;
    RT_TRY(rt_enter());
    if (!pTexObject || !pResDesc || !pTexDesc)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(resource_make(&resource, pResDesc));
    texture = texture_make(pTexDesc);
    if (pResViewDesc)
        memcpy(&view, pResViewDesc, sizeof(view));
    RT_CALL(cuTexObjectCreate(pTexObject, &resource, &texture, pResViewDesc ? &view : NULL));
}

cudaError_t rt_cudaDestroyTextureObject(cudaTextureObject_t texObject)
{
    RT_TRY(rt_enter());
    return texObject ? rt_result(cuTexObjectDestroy(texObject)) : cudaSuccess;
}

cudaError_t rt_cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *pResDesc,
                                                cudaTextureObject_t texObject)
{
    CUDA_RESOURCE_DESC d;
    RT_TRY(rt_enter());
    if (!pResDesc)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_result(cuTexObjectGetResourceDesc(&d, texObject)));
    resource_report(pResDesc, &d);
    return cudaSuccess;
}

cudaError_t rt_cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *pTexDesc,
                                               cudaTextureObject_t texObject)
{
    CUDA_TEXTURE_DESC d;
    RT_TRY(rt_enter());
    if (!pTexDesc)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_result(cuTexObjectGetTextureDesc(&d, texObject)));
    texture_report(pTexDesc, &d);
    return cudaSuccess;
}

cudaError_t rt_cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *pResViewDesc,
                                                    cudaTextureObject_t texObject)
{
    CUDA_RESOURCE_VIEW_DESC d;
    RT_TRY(rt_enter());
    if (!pResViewDesc)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_result(cuTexObjectGetResourceViewDesc(&d, texObject)));
    memcpy(pResViewDesc, &d, sizeof(d));
    return cudaSuccess;
}

/* ---- surfaces */

cudaError_t rt_cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject,
                                       const struct cudaResourceDesc *pResDesc)
{
    CUDA_RESOURCE_DESC resource;
    RT_TRY(rt_enter());
    if (!pSurfObject || !pResDesc)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(resource_make(&resource, pResDesc));
    RT_CALL(cuSurfObjectCreate(pSurfObject, &resource));
}

cudaError_t rt_cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject)
{
    RT_TRY(rt_enter());
    return surfObject ? rt_result(cuSurfObjectDestroy(surfObject)) : cudaSuccess;
}

cudaError_t rt_cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *pResDesc,
                                                cudaSurfaceObject_t surfObject)
{
    CUDA_RESOURCE_DESC d;
    RT_TRY(rt_enter());
    if (!pResDesc)
        return rt_fail(cudaErrorInvalidValue);
    RT_TRY(rt_result(cuSurfObjectGetResourceDesc(&d, surfObject)));
    resource_report(pResDesc, &d);
    return cudaSuccess;
}
