/* CUDA arrays and mipmapped arrays. */
#include "api/driver/driver.h"

/* ---- arrays */

struct core_array_desc drv_array_desc(const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
    return (struct core_array_desc){.width = desc->Width,
                                    .height = desc->Height,
                                    .depth = desc->Depth,
                                    .format = (unsigned)desc->Format,
                                    .channels = desc->NumChannels,
                                    .flags = desc->Flags};
}

static CUresult create(struct core_context *ctx, const CUDA_ARRAY3D_DESCRIPTOR *desc,
                       unsigned nlevels, void **out_handle)
{
    const struct core_array_desc d = drv_array_desc(desc);
    struct core_array *array;
    enum hd_status status = core_array_create(ctx, &d, nlevels, &array);

    if (status != HD_OK)
        return drv_result(status);
    DRV_GIVE(array, out_handle, array);
    return CUDA_SUCCESS;
}

CUresult drv_cuArray3DCreate_v2(CUarray *handle, const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
    API_CALL(cuArray3DCreate_v2);
    API_CHECK(handle && desc);
    API_CONTEXT(ctx);
    return create(ctx, desc, 0, (void **)handle);
}

CUresult drv_cuArrayCreate_v2(CUarray *handle, const CUDA_ARRAY_DESCRIPTOR *desc)
{
    CUDA_ARRAY3D_DESCRIPTOR d;

    API_CALL(cuArrayCreate_v2);
    API_CHECK(handle && desc);
    API_CONTEXT(ctx);
    d = (CUDA_ARRAY3D_DESCRIPTOR){.Width = desc->Width,
                                  .Height = desc->Height,
                                  .Format = desc->Format,
                                  .NumChannels = desc->NumChannels};
    return create(ctx, &d, 0, (void **)handle);
}

/* Its memory goes, so the device must be done with it. */
static CUresult destroy(struct core_context *ctx, struct core_array *array)
{
    enum hd_status status = core_context_synchronize(ctx);

    if (status == HD_OK && !core_array_destroy(array))
        return CUDA_ERROR_INVALID_HANDLE;
    return drv_result(status);
}

CUresult drv_cuArrayDestroy(CUarray handle)
{
    API_CALL(cuArrayDestroy);
    API_CONTEXT(ctx);
    API_ARRAY(array, handle, false);
    API_CHECK(!array->is_level);
    return destroy(array->ctx, array);
}

CUresult drv_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *desc, CUarray handle)
{
    API_CALL(cuArray3DGetDescriptor_v2);
    API_CHECK(desc);
    API_CONTEXT(ctx);
    API_ARRAY(array, handle, false);
    const struct core_array_desc *d = &array->desc;
    *desc = (CUDA_ARRAY3D_DESCRIPTOR){.Width = d->width,
                                      .Height = d->height,
                                      .Depth = d->depth,
                                      .Format = (CUarray_format)d->format,
                                      .NumChannels = d->channels,
                                      .Flags = d->flags};
    return CUDA_SUCCESS;
}

CUresult drv_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *desc, CUarray handle)
{
    API_CALL(cuArrayGetDescriptor_v2);
    API_CHECK(desc);
    API_CONTEXT(ctx);
    API_ARRAY(array, handle, false);
    *desc = (CUDA_ARRAY_DESCRIPTOR){.Width = array->desc.width,
                                    .Height = array->desc.height,
                                    .Format = (CUarray_format)array->desc.format,
                                    .NumChannels = array->desc.channels};
    return CUDA_SUCCESS;
}

/* ---- planes, which no array has */

CUresult drv_cuArrayGetPlane(CUarray *plane, CUarray handle, unsigned index)
{
    API_CALL(cuArrayGetPlane);
    API_CHECK(plane);
    API_CONTEXT(ctx);
    API_ARRAY(array, handle, false);
    return drv_error(CUDA_ERROR_INVALID_VALUE, "plane %u of an array without planes", index);
}

/* ---- mipmapped arrays */

CUresult drv_cuMipmappedArrayCreate(CUmipmappedArray *handle, const CUDA_ARRAY3D_DESCRIPTOR *desc,
                                    unsigned nlevels)
{
    API_CALL(cuMipmappedArrayCreate);
    API_CHECK(handle && desc);
    API_CHECK(nlevels > 0);
    API_CONTEXT(ctx);
    return create(ctx, desc, nlevels, (void **)handle);
}

CUresult drv_cuMipmappedArrayDestroy(CUmipmappedArray handle)
{
    API_CALL(cuMipmappedArrayDestroy);
    API_CONTEXT(ctx);
    API_ARRAY(array, handle, true);
    return destroy(array->ctx, array);
}

CUresult drv_cuMipmappedArrayGetLevel(CUarray *level, CUmipmappedArray handle, unsigned index)
{
    struct core_array *found;
    enum hd_status status;

    API_CALL(cuMipmappedArrayGetLevel);
    API_CHECK(level);
    API_CONTEXT(ctx);
    API_ARRAY(array, handle, true);
    status = core_array_level(array, index, &found);
    if (status != HD_OK)
        return drv_result(status);
    DRV_GIVE(array, level, found);
    return CUDA_SUCCESS;
}

/* ---- limits */

CUresult drv_cuDeviceGetTexture1DLinearMaxWidth(size_t *width, CUarray_format format,
                                                unsigned channels, CUdevice ordinal)
{
    struct core_texel texel;
    enum hd_status status;

    API_CALL(cuDeviceGetTexture1DLinearMaxWidth);
    API_CHECK(width);
    API_DEVICE(device, ordinal);
    status = core_texel_check((unsigned)format, channels, &texel);
    if (status == HD_OK)
        *width = (size_t)device->attributes[CORE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH];
    return drv_result(status);
}
