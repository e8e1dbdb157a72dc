/* Texture and surface objects. */
#include "api/driver/driver.h"

/* What a program said, to be given again. */
struct description {
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
    CUDA_RESOURCE_VIEW_DESC view;
    bool has_view;
};
_Static_assert(sizeof(struct description) <= CORE_TEXTURE_API_B,
               "an object keeps what it was told");

#define HANDLE(object) ((const void *)(uintptr_t)(object))

/* ---- resources */

static void linear_read(const CUDA_RESOURCE_DESC *r, struct core_texture_desc *out)
{
    out->va = r->res.linear.devPtr;
    out->size_B = r->res.linear.sizeInBytes;
    out->format = (unsigned)r->res.linear.format;
    out->channels = r->res.linear.numChannels;
}

static void pitch_read(const CUDA_RESOURCE_DESC *r, struct core_texture_desc *out)
{
    out->va = r->res.pitch2D.devPtr;
    out->format = (unsigned)r->res.pitch2D.format;
    out->channels = r->res.pitch2D.numChannels;
    out->width = r->res.pitch2D.width;
    out->height = r->res.pitch2D.height;
    out->pitch_B = r->res.pitch2D.pitchInBytes;
}

static void view_read(const CUDA_RESOURCE_VIEW_DESC *v, struct core_texture_desc *out)
{
    out->has_view = v != NULL;
    if (!v)
        return;
    out->view_format = (unsigned)v->format;
    out->view_width = v->width;
    out->view_height = v->height;
    out->view_depth = v->depth;
    out->first_level = v->firstMipmapLevel;
    out->last_level = v->lastMipmapLevel;
    out->first_layer = v->firstLayer;
    out->last_layer = v->lastLayer;
}

/* The array of a resource, with a reference; NULL where the type has none. */
static CUresult array_of(const CUDA_RESOURCE_DESC *r, struct core_array **out_array)
{
    bool mipmapped = r->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    const void *handle =
        mipmapped ? (const void *)r->res.mipmap.hMipmappedArray : (const void *)r->res.array.hArray;

    *out_array = NULL;
    if (r->resType != CU_RESOURCE_TYPE_ARRAY && !mipmapped)
        return CUDA_SUCCESS;
    *out_array = core_array_lookup(handle);
    if (*out_array && (*out_array)->is_mipmapped == mipmapped)
        return CUDA_SUCCESS;
    return drv_error(CUDA_ERROR_INVALID_HANDLE, "%p is not a live %sarray", handle,
                     mipmapped ? "mipmapped " : "");
}

/* ---- textures */

CUresult drv_cuTexObjectCreate(CUtexObject *object, const CUDA_RESOURCE_DESC *resource,
                               const CUDA_TEXTURE_DESC *texture,
                               const CUDA_RESOURCE_VIEW_DESC *view)
{
    __attribute__((cleanup(core_array_unref_at))) struct core_array *array = NULL;
    struct core_texture_desc desc = {0};
    struct core_texture *made;
    struct description given = {0};
    enum hd_status status;
    CUresult result;

    API_CALL(cuTexObjectCreate);
    API_CHECK(object && resource && texture);
    API_CHECK((unsigned)resource->resType <= CU_RESOURCE_TYPE_PITCH2D && !resource->flags);
    API_CONTEXT(ctx);
    result = array_of(resource, &array);
    if (result != CUDA_SUCCESS)
        return result;
    desc.resource = (enum core_resource)resource->resType;
    desc.array = array;
    if (resource->resType == CU_RESOURCE_TYPE_LINEAR)
        linear_read(resource, &desc);
    else if (resource->resType == CU_RESOURCE_TYPE_PITCH2D)
        pitch_read(resource, &desc);
    struct core_texture_desc *out = &desc;
    for (unsigned i = 0; i < 3; i++)
        out->address[i] = (unsigned)texture->addressMode[i];
    out->filter = (unsigned)texture->filterMode;
    out->mip_filter = (unsigned)texture->mipmapFilterMode;
    out->flags = texture->flags;
    out->anisotropy = texture->maxAnisotropy;
    out->bias = texture->mipmapLevelBias;
    out->min_level = texture->minMipmapLevelClamp;
    out->max_level = texture->maxMipmapLevelClamp;
    memcpy(out->border, texture->borderColor, sizeof(out->border));
    view_read(view, &desc);
    given.resource = *resource;
    given.texture = *texture;
    given.has_view = view != NULL;
    if (view)
        given.view = *view;
    status = core_texture_create(ctx, &desc, &given, sizeof(given), &made);
    if (status != HD_OK)
        return drv_result(status);
    *object = (CUtexObject)(uintptr_t)core_texture_handle(made);
    core_texture_unref(made);
    return CUDA_SUCCESS;
}

/* A texture, or a surface: both are of one kind. */
#define API_OBJECT(texture, object, surface)                                                       \
    API_HANDLE(texture, texture, HANDLE(object));                                                  \
    do {                                                                                           \
        if (HD_UNLIKELY(texture->is_surface != (surface)))                                         \
            return drv_error(CUDA_ERROR_INVALID_HANDLE, "%s: 0x%llx is a %s object", api_name_,    \
                             (unsigned long long)(object), (surface) ? "texture" : "surface");     \
    } while (0)

/* A kernel that runs may still read by it. */
static CUresult destroy(struct core_texture *texture)
{
    enum hd_status status = core_context_synchronize(texture->ctx);

    if (!core_texture_destroy(texture))
        return CUDA_ERROR_INVALID_HANDLE;
    return drv_result(status);
}

CUresult drv_cuTexObjectDestroy(CUtexObject object)
{
    API_CALL(cuTexObjectDestroy);
    API_CONTEXT(ctx);
    API_OBJECT(texture, object, false);
    return destroy(texture);
}

static const struct description *description_of(const struct core_texture *texture)
{
    return (const struct description *)(const void *)texture->api;
}

CUresult drv_cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *desc, CUtexObject object)
{
    API_CALL(cuTexObjectGetResourceDesc);
    API_CHECK(desc);
    API_OBJECT(texture, object, false);
    *desc = description_of(texture)->resource;
    return CUDA_SUCCESS;
}

CUresult drv_cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *desc, CUtexObject object)
{
    API_CALL(cuTexObjectGetTextureDesc);
    API_CHECK(desc);
    API_OBJECT(texture, object, false);
    *desc = description_of(texture)->texture;
    return CUDA_SUCCESS;
}

CUresult drv_cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *desc, CUtexObject object)
{
    API_CALL(cuTexObjectGetResourceViewDesc);
    API_CHECK(desc);
    API_OBJECT(texture, object, false);
    API_CHECK(description_of(texture)->has_view);
    *desc = description_of(texture)->view;
    return CUDA_SUCCESS;
}

/* ---- surfaces */

CUresult drv_cuSurfObjectCreate(CUsurfObject *object, const CUDA_RESOURCE_DESC *resource)
{
    __attribute__((cleanup(core_array_unref_at))) struct core_array *array = NULL;
    struct core_texture *made;
    struct description given = {0};
    enum hd_status status;
    CUresult result;

    API_CALL(cuSurfObjectCreate);
    API_CHECK(object && resource);
    API_CHECK(resource->resType == CU_RESOURCE_TYPE_ARRAY && !resource->flags);
    API_CONTEXT(ctx);
    result = array_of(resource, &array);
    if (result != CUDA_SUCCESS)
        return result;
    given.resource = *resource;
    status = core_surface_create(ctx, array, &given, sizeof(given), &made);
    if (status != HD_OK)
        return drv_result(status);
    *object = (CUsurfObject)(uintptr_t)core_texture_handle(made);
    core_texture_unref(made);
    return CUDA_SUCCESS;
}

CUresult drv_cuSurfObjectDestroy(CUsurfObject object)
{
    API_CALL(cuSurfObjectDestroy);
    API_CONTEXT(ctx);
    API_OBJECT(texture, object, true);
    return destroy(texture);
}

CUresult drv_cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *desc, CUsurfObject object)
{
    API_CALL(cuSurfObjectGetResourceDesc);
    API_CHECK(desc);
    API_OBJECT(texture, object, true);
    *desc = description_of(texture)->resource;
    return CUDA_SUCCESS;
}
