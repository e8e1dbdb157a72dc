/*
 * Texture and surface references: what is read through the variables of a module is what texture
 * objects with the same settings give; what is said can be asked for; wrong calls change nothing.
 */
#include <sys/mman.h>

#include <unistd.h>

#include "api/driver/cuda_abi.h"
#include "tap.h"

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)
#define invalid(call, ...) eq_u64((call), CUDA_ERROR_INVALID_VALUE, __VA_ARGS__)

enum { THREADS = 64, W = 16, H = 8 };

/* Each thread fetches at a place of its own, between and outside of texels too. */
#define FETCH(name, more, from)                                                                    \
    ".visible .entry " name "(.param .u64 out" more ", .param .f32 scale) {\n"                     \
    ".reg .b64 o, h; .reg .b32 i; .reg .f32 x, y, k, f<4>; mov.u32 i, %tid.x;\n"                   \
    "ld.param.u64 o, [out]; mad.wide.u32 o, i, 16, o; ld.param.f32 k, [scale];\n"                  \
    "cvt.rn.f32.u32 x, i; fma.rn.f32 x, x, 0f3ED9999A, 0fC0A00000;\n" /* 0.425, -5 */              \
    "mul.f32 y, x, 0f3F2B851F; mul.f32 x, x, k; mul.f32 y, y, k;\n" from                           \
    "st.global.v4.f32 [o], {f0, f1, f2, f3}; ret; }\n"
#define OBJECT "ld.param.u64 h, [object];"
#define TEX2D  "tex.2d.v4.f32.f32 {f0, f1, f2, f3}, "

static const char unified[] =
    ".version 9.0\n.target sm_90\n.address_size 64\n"
    ".global .texref t;\n.global .texref l;\n.global .surfref s;\n.global .u64 number;\n"
    ".global .texref given = {addr_mode_0 = mirror, addr_mode_1 = wrap, filter_mode = linear, "
    "normalized_coords = 1, width = 5};\n" FETCH("by_t", "", TEX2D "[t, {x, y}];")
        FETCH("by_given", "", TEX2D "[given, {x, y}];")
            FETCH("by_address", "", "mov.u64 h, t;" TEX2D "[h, {x, y}];")
                FETCH("by_object", ", .param .u64 object", OBJECT TEX2D "[h, {x, y}];")
                    FETCH("by_l", "",
                          "cvt.rzi.s32.f32 i, x; tex.1d.v4.f32.s32 {f0, f1, f2, f3}, [l, {i}];")
                        FETCH("by_linear", ", .param .u64 object",
                              OBJECT "cvt.rzi.s32.f32 i, x; tex.1d.v4.f32.s32 {f0, f1, f2, f3}, "
                                     "[h, {i}];") ".visible .entry surface(.param .u64 out) { .reg "
                                                  ".b64 o; .reg .b32 i, x, v, w;\n"
                                                  "mov.u32 i, %tid.x; ld.param.u64 o, [out]; "
                                                  "mad.wide.u32 o, i, 16, o; and.b32 x, i, 15;\n"
                                                  "shl.b32 x, x, 2; shr.u32 w, i, 4; "
                                                  "sust.b.2d.b32.trap [s, {x, w}], i;\n"
                                                  "suld.b.2d.b32.trap v, [s, {x, w}]; "
                                                  "suq.width.b32 x, [s]; txq.height.b32 w, [t];\n"
                                                  "st.global.v4.u32 [o], {v, x, w, i}; ret; }\n";

static const char independent[] =
    ".version 9.4\n.target sm_90, texmode_independent\n.address_size 64\n.global .texref t;\n"
    ".global .samplerref plain;\n"
    ".global .samplerref wraps = {addr_mode_0 = wrap, addr_mode_1 = mirror};\n"
    ".global .samplerref texels = {addr_mode_0 = clamp_to_border, addr_mode_1 = clamp_to_edge, "
    "filter_mode = linear, force_unnormalized_coords = 1};\n" FETCH(
        "plain_", "", TEX2D "[t, plain, {x, y}];") FETCH("wraps_", "", TEX2D "[t, wraps, {x, y}];")
        FETCH("texels_", "", TEX2D "[t, texels, {x, y}];");

static CUmodule module;
static CUdeviceptr out;
static CUarray floats, bytes;

static CUresult run(CUmodule where, const char *name, uint64_t object, bool takes_object,
                    float scale, float got[THREADS][4])
{
    void *params[] = {&out, &object, &scale}, *without[] = {&out, &scale};
    CUfunction f;
    CUresult result = cuModuleGetFunction(&f, where, name);

    result = result ? result : cuMemsetD8_v2(out, 0xee, THREADS * 16);
    result = result ? result
                    : cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL,
                                     takes_object ? params : without, NULL);
    return result ? result : cuMemcpyDtoH_v2(got, out, THREADS * 16);
}

/* What an object of these settings gives, against a kernel that names a variable. */
static void same_as_object(CUmodule where, const char *kernel, CUarray array,
                           const CUDA_TEXTURE_DESC *desc, float scale, const char *what)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    float want[THREADS][4], got[THREADS][4];
    CUtexObject object;

    success(cuTexObjectCreate(&object, &resource, desc, NULL), "an object");
    success(run(module, "by_object", object, true, scale, want), "read by it");
    success(run(where, kernel, 0, false, scale, got), "read by %s", kernel);
    eq_mem(got, want, sizeof(want), "%s: %s", kernel, what);
    success(cuTexObjectDestroy(object), "destroy");
}

static void array_make(CUarray *array, CUarray_format format, unsigned channels, size_t texel_B)
{
    CUDA_ARRAY3D_DESCRIPTOR desc = {.Width = W,
                                    .Height = H,
                                    .Format = format,
                                    .NumChannels = channels,
                                    .Flags = 2 /* surfaces */};
    uint8_t host[W * H * 16];
    uint64_t random = 7;

    for (size_t i = 0; i < sizeof(host); i++)
        host[i] = (uint8_t)(tap_random(&random) & 0x3f);
    success(cuArray3DCreate_v2(array, &desc), "an array");
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = host,
                          .srcPitch = W * texel_B,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = *array,
                          .WidthInBytes = W * texel_B,
                          .Height = H};
    success(cuMemcpy2D_v2(&copy), "fill it");
}

/* ---- settings */

static void test_arrays(void)
{
    CUDA_TEXTURE_DESC desc = {.addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP,
                                              CU_TR_ADDRESS_MODE_CLAMP}};
    float border[4] = {1, 2, 3, 4}, asked[4] = {0};
    CUaddress_mode mode = 0;
    CUfilter_mode filter = 0;
    CUtexref t, again;
    CUarray got;
    unsigned flags = 0;
    int channels = 0;
    CUarray_format format = 0;

    success(cuModuleGetTexRef(&t, module, "t"), "the reference");
    success(cuModuleGetTexRef(&again, module, "t"), "once more");
    ok(t == again, "it is the same one");
    invalid(cuTexRefGetArray(&got, t), "nothing is bound");
    success(cuTexRefSetArray(t, floats, CU_TRSA_OVERRIDE_FORMAT), "bind");
    success(cuTexRefGetArray(&got, t), "ask");
    ok(got == floats, "the array");
    success(cuTexRefGetFormat(&format, &channels, t), "ask");
    ok(format == CU_AD_FORMAT_FLOAT && channels == 4, "its format");
    same_as_object(module, "by_t", floats, &desc, 1, "as it is");
    same_as_object(module, "by_address", floats, &desc, 1, "by the variable's address");
    success(cuTexRefSetFilterMode(t, CU_TR_FILTER_MODE_LINEAR), "filter");
    success(cuTexRefGetFilterMode(&filter, t), "ask");
    eq_u64(filter, CU_TR_FILTER_MODE_LINEAR, "filter");
    desc.filterMode = CU_TR_FILTER_MODE_LINEAR;
    same_as_object(module, "by_t", floats, &desc, 1, "filtered");
    success(cuTexRefSetAddressMode(t, 1, CU_TR_ADDRESS_MODE_BORDER), "address mode");
    success(cuTexRefGetAddressMode(&mode, t, 1), "ask");
    eq_u64(mode, CU_TR_ADDRESS_MODE_BORDER, "address mode");
    success(cuTexRefSetBorderColor(t, border), "border");
    success(cuTexRefGetBorderColor(asked, t), "ask");
    eq_mem(asked, border, sizeof(border), "border");
    desc.addressMode[1] = CU_TR_ADDRESS_MODE_BORDER;
    memcpy(desc.borderColor, border, sizeof(border));
    same_as_object(module, "by_t", floats, &desc, 1, "with a border");
    success(cuTexRefSetFlags(t, CU_TRSF_NORMALIZED_COORDINATES), "flags");
    success(cuTexRefSetAddressMode(t, 0, CU_TR_ADDRESS_MODE_WRAP), "wrapped");
    success(cuTexRefGetFlags(&flags, t), "ask");
    eq_u64(flags, CU_TRSF_NORMALIZED_COORDINATES, "flags");
    desc.flags = CU_TRSF_NORMALIZED_COORDINATES;
    desc.addressMode[0] = CU_TR_ADDRESS_MODE_WRAP;
    same_as_object(module, "by_t", floats, &desc, 0.0625f, "normalised");
    success(cuTexRefSetArray(t, bytes, CU_TRSA_OVERRIDE_FORMAT), "another array");
    same_as_object(module, "by_t", bytes, &desc, 0.0625f, "fractions");
    success(cuTexRefSetMaxAnisotropy(t, 4), "anisotropy");
    success(cuTexRefGetMaxAnisotropy(&channels, t), "ask");
    eq_u64((unsigned)channels, 4, "anisotropy");
}

static void test_levels(void)
{
    CUDA_ARRAY3D_DESCRIPTOR desc = {W, H, 0, CU_AD_FORMAT_FLOAT, 4, 0};
    CUfilter_mode filter = 0;
    CUmipmappedArray levels, got = NULL;
    float bias = 0, min = 0, max = 0;
    CUtexref t;

    success(cuModuleGetTexRef(&t, module, "t"), "the reference");
    success(cuMipmappedArrayCreate(&levels, &desc, 2), "two levels");
    invalid(cuTexRefGetMipmappedArray(&got, t), "none are bound");
    success(cuTexRefSetMipmappedArray(t, levels, CU_TRSA_OVERRIDE_FORMAT), "bind");
    success(cuTexRefGetMipmappedArray(&got, t), "ask");
    ok(got == levels, "the levels");
    success(cuTexRefSetMipmapFilterMode(t, CU_TR_FILTER_MODE_LINEAR), "filter between them");
    success(cuTexRefGetMipmapFilterMode(&filter, t), "ask");
    eq_u64(filter, CU_TR_FILTER_MODE_LINEAR, "filter");
    success(cuTexRefSetMipmapLevelBias(t, 0.5f), "bias");
    success(cuTexRefGetMipmapLevelBias(&bias, t), "ask");
    ok(bias == 0.5f, "bias");
    success(cuTexRefSetMipmapLevelClamp(t, 0.25f, 1), "range");
    success(cuTexRefGetMipmapLevelClamp(&min, &max, t), "ask");
    ok(min == 0.25f && max == 1, "range");
    invalid(cuTexRefSetMipmapFilterMode(t, (CUfilter_mode)7), "no filter");
    invalid(cuTexRefGetMipmapLevelClamp(NULL, &max, t), "nowhere");
    success(cuTexRefSetArray(t, floats, CU_TRSA_OVERRIDE_FORMAT), "one level again");
    success(cuTexRefSetMipmapFilterMode(t, CU_TR_FILTER_MODE_POINT), "as it was");
    success(cuTexRefSetMipmapLevelBias(t, 0), "as it was");
    success(cuMipmappedArrayDestroy(levels), "destroy");
}

/* Addresses of the first version: memory of the host below 4 GiB. */
static void test_first_addresses(void)
{
    CUDA_ARRAY_DESCRIPTOR_v1 first = {8, 4, CU_AD_FORMAT_FLOAT, 1};
    CUDA_ARRAY_DESCRIPTOR desc = {8, 4, CU_AD_FORMAT_FLOAT, 1};
    CUdeviceptr_v1 asked = 0;
    unsigned offset = 1;
    CUtexref l, t;
    char *low =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

    ok(low != MAP_FAILED, "memory below 4 GiB");
    success(cuMemHostRegister_v2(low, 4096, CU_MEMHOSTREGISTER_DEVICEMAP), "registered");
    success(cuModuleGetTexRef(&l, module, "l"), "the reference");
    success(cuTexRefSetFormat(l, CU_AD_FORMAT_FLOAT, 2), "format");
    success(cuTexRefSetAddress(&offset, l, (CUdeviceptr_v1)(uintptr_t)low, 128), "bind");
    eq_u64(offset, 0, "no offset");
    success(cuTexRefGetAddress(&asked, l), "ask");
    eq_u64(asked, (uintptr_t)low, "the address");
    success(cuModuleGetTexRef(&t, module, "t"), "the reference");
    success(cuTexRefSetAddress2D(t, &first, (CUdeviceptr_v1)(uintptr_t)low, 32), "rows");
    success(cuTexRefGetAddress(&asked, t), "ask");
    eq_u64(asked, (uintptr_t)low, "the address");
    success(cuTexRefSetAddress2D_v2(t, &desc, (uintptr_t)low + 512, 32), "other rows");
    success(cuTexRefGetAddress(&asked, t), "ask");
    eq_u64(asked, (uintptr_t)low + 512, "their address");
    invalid(cuTexRefSetAddress2D_v2(t, &desc, (uintptr_t)low, 16), "a pitch below the width");
    success(cuTexRefSetArray(t, floats, CU_TRSA_OVERRIDE_FORMAT), "an array again");
    success(cuMemHostUnregister(low), "unregister");
    munmap(low, 4096);
}

/* What the initialiser says counts until calls say otherwise. */
static void test_given(void)
{
    CUDA_TEXTURE_DESC desc = {.addressMode = {CU_TR_ADDRESS_MODE_MIRROR, CU_TR_ADDRESS_MODE_WRAP,
                                              CU_TR_ADDRESS_MODE_CLAMP},
                              .filterMode = CU_TR_FILTER_MODE_LINEAR,
                              .flags = CU_TRSF_NORMALIZED_COORDINATES};
    CUtexref given;

    success(cuModuleGetTexRef(&given, module, "given"), "the reference");
    success(cuTexRefSetArray(given, floats, CU_TRSA_OVERRIDE_FORMAT), "bind");
    same_as_object(module, "by_given", floats, &desc, 0.0625f, "as its initialiser says");
}

static void test_memory(void)
{
    CUDA_ARRAY_DESCRIPTOR image = {W, H, CU_AD_FORMAT_FLOAT, 4};
    CUDA_RESOURCE_DESC linear = {.resType = CU_RESOURCE_TYPE_LINEAR};
    CUDA_TEXTURE_DESC desc = {0};
    float want[THREADS][4], got[THREADS][4];
    CUdeviceptr memory, asked = 0;
    CUtexObject object;
    CUtexref l, t;
    size_t offset = 1;

    success(cuMemAlloc_v2(&memory, 8192), "memory");
    success(cuMemsetD32_v2(memory, 0x3f000000, 1024), "halves");
    success(cuMemsetD32_v2(memory + 2048, 0x40000000, 512), "and twos from row 4 on");
    success(cuModuleGetTexRef(&l, module, "l"), "the reference");
    success(cuTexRefSetFormat(l, CU_AD_FORMAT_FLOAT, 2), "format");
    success(cuTexRefSetAddress_v2(&offset, l, memory, 128), "bind");
    eq_u64(offset, 0, "no offset");
    success(cuTexRefGetAddress_v2(&asked, l), "ask");
    eq_u64(asked, memory, "address");
    linear.res.linear.devPtr = memory;
    linear.res.linear.format = CU_AD_FORMAT_FLOAT;
    linear.res.linear.numChannels = 2;
    linear.res.linear.sizeInBytes = 128;
    success(cuTexObjectCreate(&object, &linear, &desc, NULL), "an object");
    success(run(module, "by_linear", object, true, 1, want), "read by it");
    success(run(module, "by_l", 0, false, 1, got), "read by l");
    eq_mem(got, want, sizeof(want), "linear memory");
    success(cuTexRefSetAddress_v2(&offset, l, memory + 264, 64), "an address that is not aligned");
    eq_u64(offset, 8, "is told");
    invalid(cuTexRefSetAddress_v2(NULL, l, memory + 264, 64), "or refused");
    success(cuTexObjectDestroy(object), "destroy");
    success(cuModuleGetTexRef(&t, module, "t"), "the reference");
    success(cuTexRefSetFlags(t, 0), "texels");
    success(cuTexRefSetFilterMode(t, CU_TR_FILTER_MODE_POINT), "no filter");
    success(cuTexRefSetAddress2D_v3(t, &image, memory, W * 16 * 2), "an image in memory");
    success(run(module, "by_t", 0, false, 1, got), "read by t");
    ok(got[13][0] == 0.5f && got[29][0] == 2.0f, "its rows: %g %g", (double)got[13][0],
       (double)got[29][0]);
    success(cuMemFree_v2(memory), "free");
}

static void test_surface(void)
{
    uint32_t got[THREADS][4];
    CUsurfref s;
    CUarray asked;
    CUtexref t;

    success(cuModuleGetSurfRef(&s, module, "s"), "the surface");
    invalid(cuSurfRefGetArray(&asked, s), "nothing is bound");
    success(cuSurfRefSetArray(s, bytes, 0), "bind");
    success(cuSurfRefGetArray(&asked, s), "ask");
    ok(asked == bytes, "the array");
    success(cuModuleGetTexRef(&t, module, "t"), "and a texture");
    success(cuTexRefSetArray(t, floats, CU_TRSA_OVERRIDE_FORMAT), "bind");
    success(run(module, "surface", 0, false, 0, (float(*)[4])got), "store and load");
    ok(got[37][0] == 37 && got[37][1] == W && got[37][2] == H, "stored, and queried: %u %u %u",
       got[37][0], got[37][1], got[37][2]);
}

static void test_samplers(void)
{
    CUDA_TEXTURE_DESC plain = {.addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP,
                                               CU_TR_ADDRESS_MODE_CLAMP},
                               .flags = CU_TRSF_NORMALIZED_COORDINATES};
    CUDA_TEXTURE_DESC wraps = plain, texels = plain;
    CUmodule two;
    CUtexref t;

    wraps.addressMode[0] = CU_TR_ADDRESS_MODE_WRAP;
    wraps.addressMode[1] = CU_TR_ADDRESS_MODE_MIRROR;
    texels.flags = 0;
    texels.addressMode[0] = CU_TR_ADDRESS_MODE_BORDER;
    texels.filterMode = CU_TR_FILTER_MODE_LINEAR;
    success(cuModuleLoadData(&two, independent), "a module with samplers");
    success(cuModuleGetTexRef(&t, two, "t"), "the reference");
    eq_u64(cuModuleGetTexRef(&t, two, "plain"), CUDA_ERROR_NOT_FOUND, "a sampler is no texture");
    success(cuTexRefSetFlags(t, CU_TRSF_NORMALIZED_COORDINATES), "normalised");
    success(cuTexRefSetArray(t, floats, CU_TRSA_OVERRIDE_FORMAT), "bind");
    same_as_object(two, "plain_", floats, &plain, 0.0625f, "a sampler that says nothing");
    same_as_object(two, "wraps_", floats, &wraps, 0.0625f, "one that wraps and mirrors");
    same_as_object(two, "texels_", floats, &texels, 1, "one whose coordinates are texels");
    success(cuTexRefSetFlags(t, 0), "not normalised");
    plain.flags = 0;
    same_as_object(two, "wraps_", floats, &plain, 1, "then nothing wraps");
    success(cuModuleUnload(two), "unload");
    eq_u64(cuTexRefSetFlags(t, 0), CUDA_ERROR_INVALID_HANDLE, "the reference is gone");
}

/* ---- launches of the first version: the kernel is given its reference */

static void test_launch(void)
{
    float want[THREADS][4], got[THREADS][4];
    CUfunction f;
    CUtexref t, own;
    CUsurfref s;

    success(cuModuleGetTexRef(&t, module, "t"), "the reference");
    success(cuTexRefSetArray(t, floats, CU_TRSA_OVERRIDE_FORMAT), "bind");
    success(run(module, "by_t", 0, false, 0.5f, want), "as launched today");
    success(cuModuleGetFunction(&f, module, "by_t"), "the kernel");
    success(cuMemsetD8_v2(out, 0xee, sizeof(got)), "nothing there");
    success(cuFuncSetBlockShape(f, THREADS, 1, 1), "block");
    success(cuParamSetv(f, 0, &out, sizeof(out)), "address");
    success(cuParamSetf(f, 8, 0.5f), "scale");
    success(cuParamSetSize(f, 12), "size");
    success(cuParamSetTexRef(f, CU_PARAM_TR_DEFAULT, t), "reference");
    success(cuLaunchGrid(f, 1, 1), "launch");
    success(cuMemcpyDtoH_v2(got, out, sizeof(got)), "what it read");
    eq_mem(got, want, sizeof(want), "the same");
    invalid(cuParamSetTexRef(f, 0, t), "a texture unit");
    success(cuTexRefCreate(&own), "a reference of nobody");
    invalid(cuParamSetTexRef(f, CU_PARAM_TR_DEFAULT, own), "no kernel reads by it");
    success(cuTexRefDestroy(own), "destroy");
    eq_u64(cuParamSetTexRef(f, CU_PARAM_TR_DEFAULT, own), CUDA_ERROR_INVALID_HANDLE, "gone");
    success(cuModuleGetSurfRef(&s, module, "s"), "a surface");
    invalid(cuParamSetTexRef(f, CU_PARAM_TR_DEFAULT, (CUtexref)(void *)s), "is no texture");
}

/* ---- what is wrong */

static void test_wrong(void)
{
    float got[THREADS][4];
    CUtexref t, own;
    CUsurfref s;
    CUmodule bad;
    CUarray ints;
    CUfilter_mode filter = CU_TR_FILTER_MODE_LINEAR;

    success(cuModuleGetTexRef(&t, module, "t"), "the reference");
    success(cuModuleGetSurfRef(&s, module, "s"), "the surface");
    eq_u64(cuModuleGetTexRef(&own, module, "nobody"), CUDA_ERROR_NOT_FOUND, "no such name");
    eq_u64(cuModuleGetTexRef(&own, module, "number"), CUDA_ERROR_NOT_FOUND, "a number");
    eq_u64(cuModuleGetTexRef(&own, module, "s"), CUDA_ERROR_NOT_FOUND, "a surface");
    eq_u64(cuModuleGetSurfRef(&s, module, "t"), CUDA_ERROR_NOT_FOUND, "a texture");
    invalid(cuTexRefSetArray(t, floats, 0), "flags");
    invalid(cuSurfRefSetArray(s, bytes, 1), "flags");
    invalid(cuTexRefSetArray((CUtexref)(void *)s, floats, 1), "a surface as texture");
    eq_u64(cuTexRefSetArray(t, NULL, 1), CUDA_ERROR_INVALID_HANDLE, "no array");
    eq_u64(cuTexRefSetMipmappedArray(t, (CUmipmappedArray)(void *)floats, 1),
           CUDA_ERROR_INVALID_HANDLE, "no mipmapped array");
    invalid(cuTexRefSetFormat(t, (CUarray_format)77, 1), "no format");
    invalid(cuTexRefSetFormat(t, CU_AD_FORMAT_FLOAT, 3), "three channels");
    invalid(cuTexRefSetAddressMode(t, 3, CU_TR_ADDRESS_MODE_CLAMP), "a fourth dimension");
    invalid(cuTexRefSetFilterMode(t, (CUfilter_mode)2), "no filter");
    invalid(cuTexRefSetFlags(t, 4), "no flag");
    invalid(cuTexRefSetAddress_v2(NULL, t, out, (size_t)1 << 40), "more memory than there is");
    array_make(&ints, CU_AD_FORMAT_UNSIGNED_INT32, 1, 4);
    success(cuTexRefSetArray(t, ints, CU_TRSA_OVERRIDE_FORMAT), "integers");
    invalid(cuTexRefSetFilterMode(t, CU_TR_FILTER_MODE_LINEAR), "integers are not filtered");
    success(cuTexRefGetFilterMode(&filter, t), "ask");
    eq_u64(filter, CU_TR_FILTER_MODE_POINT, "and nothing has changed");
    invalid(cuTexRefDestroy(t), "a module's reference");
    success(cuTexRefCreate(&own), "one of our own");
    success(cuTexRefSetArray(own, floats, CU_TRSA_OVERRIDE_FORMAT), "bind");
    success(cuTexRefDestroy(own), "destroy");
    eq_u64(cuTexRefDestroy(own), CUDA_ERROR_INVALID_HANDLE, "twice");
    eq_u64(cuModuleLoadData(&bad, ".version 9.0\n.target sm_90\n.address_size 64\n"
                                  ".global .samplerref s = {addr_mode_0 = sideways};"),
           CUDA_ERROR_INVALID_PTX, "an address mode that there is not");
    eq_u64(cuModuleLoadData(&bad, ".version 9.0\n.target sm_90\n.address_size 64\n"
                                  ".global .samplerref s = {width = 4};"),
           CUDA_ERROR_INVALID_PTX, "a field that samplers have not");
    success(cuModuleLoadData(&bad, unified), "a module whose references name nothing");
    eq_u64(run(bad, "by_t", 0, false, 1, got), CUDA_ERROR_ILLEGAL_ADDRESS, "is a fault");
}

int main(void)
{
    CUcontext ctx;

    setenv("HEDDLE_CACHE", "off", 1);
    if (tap_lacks(getenv("HEDDLE_CPU")))
        return skip_all("this CPU lacks the level");
    success(cuInit(0), "cuInit");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    success(cuModuleLoadData(&module, unified), "load");
    success(cuMemAlloc_v2(&out, THREADS * 16), "results");
    array_make(&floats, CU_AD_FORMAT_FLOAT, 4, 16);
    array_make(&bytes, CU_AD_FORMAT_UNSIGNED_INT8, 4, 4);
    test_arrays();
    test_levels();
    test_first_addresses();
    test_given();
    test_memory();
    test_surface();
    test_samplers();
    test_launch();
    test_wrong();
    cuCtxDestroy_v2(ctx);
    return done();
}
