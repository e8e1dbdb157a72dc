/* Texture and surface references, which variables of modules name: how and what they read. */
#include "core/texture/texref.h"

#include "api/driver/driver.h"

enum { OVERRIDE_FORMAT = 1, FLAGS_ALL = 0x73 }; /* CU_TRSA_OVERRIDE_FORMAT, CU_TRSF_* */

/* Declares `ref`, of the wanted kind, and `state`: what it says. */
#define API_REFERENCE(handle, surface)                                                             \
    API_HANDLE(texref, ref, (const void *)(handle));                                               \
    API_CHECK(ref->is_surface == (surface));                                                       \
    struct core_texref_state state = core_texref_get(ref)

static CUresult texref_set(struct core_texref *ref, const struct core_texref_state *state)
{
    return drv_result(core_texref_set(ref, state));
}

/* Nothing is bound but what is said next. */
static void texref_unbind(struct core_texref_state *state)
{
    state->array = NULL;
    state->desc.array = NULL;
    state->desc.va = 0;
    state->is_bound = false;
}

static CUresult texref_not_bound(const char *call)
{
    return drv_error(CUDA_ERROR_INVALID_VALUE, "%s: nothing of the kind is bound", call);
}

/* ---- life */

static CUresult texref_give_of_module(CUmodule handle, const char *name, bool is_surface,
                                      const char *api_name_, struct core_texref **out_ref)
{
    API_HANDLE(module, module, handle);
    return drv_result(core_module_texref(module, name, is_surface, out_ref));
}

CUresult drv_cuModuleGetTexRef(CUtexref *out, CUmodule hmod, const char *name)
{
    struct core_texref *ref;
    CUresult result;

    API_CALL(cuModuleGetTexRef);
    API_CHECK(out && name);
    result = texref_give_of_module(hmod, name, false, api_name_, &ref);
    if (result == CUDA_SUCCESS)
        DRV_GIVE(texref, out, ref);
    return result;
}

CUresult drv_cuModuleGetSurfRef(CUsurfref *out, CUmodule hmod, const char *name)
{
    struct core_texref *ref;
    CUresult result;

    API_CALL(cuModuleGetSurfRef);
    API_CHECK(out && name);
    result = texref_give_of_module(hmod, name, true, api_name_, &ref);
    if (result == CUDA_SUCCESS)
        DRV_GIVE(texref, out, ref);
    return result;
}

CUresult drv_cuTexRefCreate(CUtexref *out)
{
    struct core_texref *ref;
    enum hd_status status;

    API_CALL(cuTexRefCreate);
    API_CHECK(out);
    API_CONTEXT(ctx);
    status = core_texref_create(ctx, &ref);
    if (status == HD_OK)
        DRV_GIVE(texref, out, ref);
    return drv_result(status);
}

CUresult drv_cuTexRefDestroy(CUtexref handle)
{
    API_CALL(cuTexRefDestroy);
    API_HANDLE(texref, ref, (const void *)handle);
    if (!core_texref_destroy(ref))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "cuTexRefDestroy: it is a module's");
    return CUDA_SUCCESS;
}

/* ---- arrays */

static CUresult texref_array_bind(struct core_texref *ref, struct core_texref_state *state,
                                  const void *handle, bool is_mipmapped)
{
    __attribute__((cleanup(core_array_unref_at))) struct core_array *array =
        core_array_lookup(handle);

    if (!array || array->is_mipmapped != is_mipmapped)
        return drv_error(CUDA_ERROR_INVALID_HANDLE, "%p is not a live %sarray", handle,
                         is_mipmapped ? "mipmapped " : "");
    texref_unbind(state);
    state->array = array;
    state->desc.array = array;
    state->desc.resource = is_mipmapped ? CORE_RESOURCE_MIPMAP : CORE_RESOURCE_ARRAY;
    state->is_bound = true;
    return texref_set(ref, state);
}

CUresult drv_cuTexRefSetArray(CUtexref handle, CUarray array, unsigned flags)
{
    API_CALL(cuTexRefSetArray);
    API_CHECK(flags == OVERRIDE_FORMAT);
    API_REFERENCE(handle, false);
    return texref_array_bind(ref, &state, array, false);
}

CUresult drv_cuTexRefSetMipmappedArray(CUtexref handle, CUmipmappedArray array, unsigned flags)
{
    API_CALL(cuTexRefSetMipmappedArray);
    API_CHECK(flags == OVERRIDE_FORMAT);
    API_REFERENCE(handle, false);
    return texref_array_bind(ref, &state, array, true);
}

CUresult drv_cuSurfRefSetArray(CUsurfref handle, CUarray array, unsigned flags)
{
    API_CALL(cuSurfRefSetArray);
    API_CHECK(!flags);
    API_REFERENCE(handle, true);
    return texref_array_bind(ref, &state, array, false);
}

CUresult drv_cuTexRefGetArray(CUarray *out, CUtexref handle)
{
    API_CALL(cuTexRefGetArray);
    API_CHECK(out);
    API_REFERENCE(handle, false);
    if (!state.array || state.array->is_mipmapped)
        return texref_not_bound(api_name_);
    *out = core_array_handle(state.array);
    return CUDA_SUCCESS;
}

CUresult drv_cuTexRefGetMipmappedArray(CUmipmappedArray *out, CUtexref handle)
{
    API_CALL(cuTexRefGetMipmappedArray);
    API_CHECK(out);
    API_REFERENCE(handle, false);
    if (!state.array || !state.array->is_mipmapped)
        return texref_not_bound(api_name_);
    *out = core_array_handle(state.array);
    return CUDA_SUCCESS;
}

CUresult drv_cuSurfRefGetArray(CUarray *out, CUsurfref handle)
{
    API_CALL(cuSurfRefGetArray);
    API_CHECK(out);
    API_REFERENCE(handle, true);
    if (!state.array)
        return texref_not_bound(api_name_);
    *out = core_array_handle(state.array);
    return CUDA_SUCCESS;
}

/* ---- memory */

/* What is not aligned is read from before it, and the program is told how far before. */
CUresult drv_cuTexRefSetAddress_v2(size_t *offset, CUtexref handle, CUdeviceptr dptr, size_t bytes)
{
    size_t before = dptr % CORE_TEXTURE_ALIGN_B;
    CUresult result;

    API_CALL(cuTexRefSetAddress_v2);
    API_CHECK(offset || !before);
    API_REFERENCE(handle, false);
    texref_unbind(&state);
    state.desc.resource = CORE_RESOURCE_LINEAR;
    state.desc.va = dptr - before;
    state.desc.size_B = bytes + before;
    state.is_bound = true;
    result = texref_set(ref, &state);
    if (result == CUDA_SUCCESS && offset)
        *offset = before;
    return result;
}

CUresult drv_cuTexRefSetAddress2D_v3(CUtexref handle, const CUDA_ARRAY_DESCRIPTOR *desc,
                                     CUdeviceptr dptr, size_t pitch)
{
    API_CALL(cuTexRefSetAddress2D_v3);
    API_CHECK(desc);
    API_REFERENCE(handle, false);
    texref_unbind(&state);
    state.desc.resource = CORE_RESOURCE_PITCH2D;
    state.desc.va = dptr;
    state.desc.width = desc->Width;
    state.desc.height = desc->Height;
    state.desc.format = (unsigned)desc->Format;
    state.desc.channels = desc->NumChannels;
    state.desc.pitch_B = pitch;
    state.is_bound = true;
    return texref_set(ref, &state);
}

CUresult drv_cuTexRefSetAddress2D_v2(CUtexref handle, const CUDA_ARRAY_DESCRIPTOR *desc,
                                     CUdeviceptr dptr, size_t pitch)
{
    return drv_cuTexRefSetAddress2D_v3(handle, desc, dptr, pitch);
}

CUresult drv_cuTexRefGetAddress_v2(CUdeviceptr *out, CUtexref handle)
{
    API_CALL(cuTexRefGetAddress_v2);
    API_CHECK(out);
    API_REFERENCE(handle, false);
    if (!state.desc.va)
        return texref_not_bound(api_name_);
    *out = state.desc.va;
    return CUDA_SUCCESS;
}

/* ---- how it reads: each a field, said and asked for */

CUresult drv_cuTexRefSetFormat(CUtexref handle, CUarray_format format, int channels)
{
    struct core_texel texel;

    API_CALL(cuTexRefSetFormat);
    API_REFERENCE(handle, false);
    if (core_texel_check((unsigned)format, (unsigned)channels, &texel) != HD_OK)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "cuTexRefSetFormat: format %d of %d channels",
                         (int)format, channels);
    state.desc.format = (unsigned)format;
    state.desc.channels = (unsigned)channels;
    return texref_set(ref, &state);
}

CUresult drv_cuTexRefGetFormat(CUarray_format *format, int *channels, CUtexref handle)
{
    API_CALL(cuTexRefGetFormat);
    API_REFERENCE(handle, false);
    if (format)
        *format = (CUarray_format)(state.array ? state.array->desc.format : state.desc.format);
    if (channels)
        *channels = (int)(state.array ? state.array->desc.channels : state.desc.channels);
    return CUDA_SUCCESS;
}

CUresult drv_cuTexRefSetAddressMode(CUtexref handle, int dim, CUaddress_mode mode)
{
    API_CALL(cuTexRefSetAddressMode);
    API_CHECK(dim >= 0 && dim < 3 && (unsigned)mode <= CU_TR_ADDRESS_MODE_BORDER);
    API_REFERENCE(handle, false);
    state.desc.address[dim] = (unsigned)mode;
    return texref_set(ref, &state);
}

CUresult drv_cuTexRefGetAddressMode(CUaddress_mode *mode, CUtexref handle, int dim)
{
    API_CALL(cuTexRefGetAddressMode);
    API_CHECK(mode && dim >= 0 && dim < 3);
    API_REFERENCE(handle, false);
    *mode = (CUaddress_mode)state.desc.address[dim];
    return CUDA_SUCCESS;
}

CUresult drv_cuTexRefSetFlags(CUtexref handle, unsigned flags)
{
    API_CALL(cuTexRefSetFlags);
    API_CHECK(!(flags & ~(unsigned)FLAGS_ALL));
    API_REFERENCE(handle, false);
    state.desc.flags = flags;
    return texref_set(ref, &state);
}

CUresult drv_cuTexRefSetBorderColor(CUtexref handle, float *color)
{
    API_CALL(cuTexRefSetBorderColor);
    API_CHECK(color);
    API_REFERENCE(handle, false);
    memcpy(state.desc.border, color, sizeof(state.desc.border));
    return texref_set(ref, &state);
}

CUresult drv_cuTexRefGetBorderColor(float *color, CUtexref handle)
{
    API_CALL(cuTexRefGetBorderColor);
    API_CHECK(color);
    API_REFERENCE(handle, false);
    memcpy(color, state.desc.border, sizeof(state.desc.border));
    return CUDA_SUCCESS;
}

CUresult drv_cuTexRefSetMipmapLevelClamp(CUtexref handle, float least, float most)
{
    API_CALL(cuTexRefSetMipmapLevelClamp);
    API_REFERENCE(handle, false);
    state.desc.min_level = least;
    state.desc.max_level = most;
    return texref_set(ref, &state);
}

CUresult drv_cuTexRefGetMipmapLevelClamp(float *least, float *most, CUtexref handle)
{
    API_CALL(cuTexRefGetMipmapLevelClamp);
    API_CHECK(least && most);
    API_REFERENCE(handle, false);
    *least = state.desc.min_level;
    *most = state.desc.max_level;
    return CUDA_SUCCESS;
}

/* call, its type, the field, the largest value */
#define SET_FIELD(call, type, field, is_good)                                                      \
    CUresult drv_##call(CUtexref handle, type value)                                               \
    {                                                                                              \
        API_CALL(call);                                                                            \
        API_CHECK(is_good);                                                                        \
        API_REFERENCE(handle, false);                                                              \
        state.desc.field = value;                                                                  \
        return texref_set(ref, &state);                                                            \
    }
#define GET_FIELD(call, type, field)                                                               \
    CUresult drv_##call(type *out, CUtexref handle)                                                \
    {                                                                                              \
        API_CALL(call);                                                                            \
        API_CHECK(out);                                                                            \
        API_REFERENCE(handle, false);                                                              \
        *out = (type)state.desc.field;                                                             \
        return CUDA_SUCCESS;                                                                       \
    }
SET_FIELD(cuTexRefSetFilterMode, CUfilter_mode, filter, (unsigned)value <= CU_TR_FILTER_MODE_LINEAR)
SET_FIELD(cuTexRefSetMipmapFilterMode, CUfilter_mode, mip_filter,
          (unsigned)value <= CU_TR_FILTER_MODE_LINEAR)
SET_FIELD(cuTexRefSetMaxAnisotropy, unsigned, anisotropy, true)
SET_FIELD(cuTexRefSetMipmapLevelBias, float, bias, true)
GET_FIELD(cuTexRefGetFilterMode, CUfilter_mode, filter)
GET_FIELD(cuTexRefGetMipmapFilterMode, CUfilter_mode, mip_filter)
GET_FIELD(cuTexRefGetMaxAnisotropy, int, anisotropy)
GET_FIELD(cuTexRefGetMipmapLevelBias, float, bias)
GET_FIELD(cuTexRefGetFlags, unsigned, flags)

/* ---- of the first version: addresses of 32 bits */

CUresult drv_cuTexRefSetAddress(unsigned *offset, CUtexref handle, CUdeviceptr_v1 dptr,
                                unsigned bytes)
{
    size_t wide = 0;
    CUresult result = drv_cuTexRefSetAddress_v2(&wide, handle, dptr, bytes);

    if (result == CUDA_SUCCESS && offset)
        *offset = (unsigned)wide;
    return result;
}

CUresult drv_cuTexRefSetAddress2D(CUtexref handle, const CUDA_ARRAY_DESCRIPTOR_v1 *desc,
                                  CUdeviceptr_v1 dptr, unsigned pitch)
{
    CUDA_ARRAY_DESCRIPTOR wide = {0};

    API_CALL(cuTexRefSetAddress2D);
    API_CHECK(desc);
    wide.Width = desc->Width;
    wide.Height = desc->Height;
    wide.Format = desc->Format;
    wide.NumChannels = desc->NumChannels;
    return drv_cuTexRefSetAddress2D_v3(handle, &wide, dptr, pitch);
}

CUresult drv_cuTexRefGetAddress(CUdeviceptr_v1 *out, CUtexref handle)
{
    CUdeviceptr wide = 0;
    CUresult result;

    API_CALL(cuTexRefGetAddress);
    API_CHECK(out);
    result = drv_cuTexRefGetAddress_v2(&wide, handle);
    if (result == CUDA_SUCCESS && wide > UINT32_MAX)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "cuTexRefGetAddress: 0x%llx has no 32 bits",
                         (unsigned long long)wide);
    *out = (CUdeviceptr_v1)wide;
    return result;
}
