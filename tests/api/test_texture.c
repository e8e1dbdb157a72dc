/*
 * Arrays, textures and surfaces through the driver API and PTX. What fetches must give is computed
 * here, in double precision, from the formulas of the CUDA C++ Programming Guide ("Texture
 * Fetching"): fractions of texels have 8 bits.
 */
#include <math.h>
#include <stdio.h>

#include "api/driver/cuda_abi.h"
#include "tap.h"

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)

enum { THREADS = 256, WIDTH = 13, HEIGHT = 7, DEPTH = 5, WORDS = 8 };

/* Thread t has words 8 * t to 8 * t + 7 of `in` as floats %f and bits %r, and four results. */
#define KERNEL(name, body)                                                                         \
    ".visible .entry " name "(.param .u64 object, .param .u64 in, .param .u64 out) {\n"            \
    "    .reg .b64 %t, %i, %o, %x; .reg .b32 %n, %r<8>, %d<4>; .reg .f32 %f<8>, %e<4>;\n"          \
    "    .reg .b64 %q<2>; .reg .b16 %h<4>; .reg .pred %p;\n"                                       \
    "    ld.param.u64 %t, [object]; ld.param.u64 %i, [in]; ld.param.u64 %o, [out];\n"              \
    "    mov.u32 %n, %tid.x; mul.wide.u32 %x, %n, 32; add.u64 %i, %i, %x;\n"                       \
    "    mul.wide.u32 %x, %n, 16; add.u64 %o, %o, %x;\n"                                           \
    "    ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%i];\n"                                           \
    "    ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%i+16];\n"                                        \
    "    mov.b32 %f0, %r0; mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3;\n"                \
    "    mov.b32 %f4, %r4; mov.b32 %f5, %r5; mov.b32 %f6, %r6; mov.b32 %f7, %r7;\n"                \
    "    mov.b32 %d0, 0; mov.b32 %d1, 0; mov.b32 %d2, 0; mov.b32 %d3, 0;\n" body                   \
    "    st.global.v4.b32 [%o], {%d0, %d1, %d2, %d3};\n    ret;\n}\n"
#define TO     "{%d0, %d1, %d2, %d3}"
#define FLOATS "mov.b32 %d0, %e0; mov.b32 %d1, %e1; mov.b32 %d2, %e2; mov.b32 %d3, %e3;\n"
#define TEX(name, form, operands)                                                                  \
    KERNEL(name, form ".f32.f32 {%e0, %e1, %e2, %e3}, [%t, " operands ";\n" FLOATS)

/* clang-format off */
static const char ptx[] =
    ".version 8.8\n.target sm_90\n.address_size 64\n"
    TEX("tex1d", "tex.1d.v4", "{%f0}]")
    TEX("tex2d", "tex.2d.v4", "{%f0, %f1}]")
    TEX("tex3d", "tex.3d.v4", "{%f0, %f1, %f2, %f2}]")
    TEX("texa1d", "tex.a1d.v4", "{%r3, %f0}]")
    TEX("texa2d", "tex.a2d.v4", "{%r3, %f0, %f1, %f1}]")
    TEX("texcube", "tex.cube.v4", "{%f0, %f1, %f2, %f2}]")
    TEX("texlevel", "tex.level.2d.v4", "{%f0, %f1}], %f3")
    TEX("texgrad", "tex.grad.2d.v4", "{%f0, %f1}], {%f4, %f5}, {%f6, %f7}")
    TEX("texoffset", "tex.2d.v4", "{%f0, %f1}], {%r4, %r5}")
    TEX("texsampler", "tex.2d.v4", "%t, {%f0, %f1}]")
    TEX("gather", "tld4.g.2d.v4", "{%f0, %f1}]")
    KERNEL("texel", "tex.1d.v4.u32.s32 " TO ", [%t, {%r3}];\n")
    KERNEL("half", "tex.2d.v2.f16x2.f32 {%d0, %d1}|%p, [%t, {%f0, %f1}];\n"
                   "selp.b32 %d2, 1, 0, %p;\n")
    KERNEL("query", "txq.width.b32 %d0, [%t]; txq.height.b32 %d1, [%t];\n"
                    "txq.num_mipmap_levels.b32 %d2, [%t]; txq.level.width.b32 %d3, [%t], 1;\n")
    KERNEL("is", "istypep.texref %p, %t; selp.b32 %d0, 1, 0, %p;\n"
                 "istypep.surfref %p, %t; selp.b32 %d1, 1, 0, %p;\n")
    KERNEL("load", "suld.b.2d.b32.clamp %d0, [%t, {%r0, %r1}];\n"
                   "suld.b.2d.b32.zero %d1, [%t, {%r0, %r1}];\n")
    KERNEL("store", "sust.b.2d.b32.zero [%t, {%r0, %r1}], %r2;\n")
    KERNEL("trap", "sust.b.2d.b32.trap [%t, {%r0, %r1}], %r2;\n")
    KERNEL("wide", "mov.b64 %q0, {%r4, %r5}; mov.b64 %q1, {%r6, %r7};\n"
                   "sust.b.2d.v2.b64.trap [%t, {%r0, %r1}], {%q0, %q1};\n"
                   "suld.b.2d.v2.b64.trap {%q1, %q0}, [%t, {%r0, %r1}];\n"
                   "mov.b64 {%d0, %d1}, %q1; mov.b64 {%d2, %d3}, %q0;\n")
    KERNEL("format", "sust.p.2d.v4.b32.zero [%t, {%r0, %r1}], {%r4, %r5, %r6, %r7};\n")
    KERNEL("reduce", "sured.b.add.2d.u32.clamp [%t, {%r0, %r1}], %r2;\n"
                     "sured.p.max.2d.b32.zero [%t, {%r4, %r5}], %r2;\n")
    KERNEL("suquery", "suq.width.b32 %d0, [%t]; suq.height.b32 %d1, [%t];\n");
/* clang-format on */

static CUmodule module;
static CUdeviceptr in_va, out_va;
static union {
    float f[THREADS][WORDS];
    int32_t i[THREADS][WORDS];
    uint32_t u[THREADS][WORDS];
} in;
static union {
    float f[THREADS][4];
    uint32_t u[THREADS][4];
} out;
static uint64_t state;

static CUresult run(const char *name, unsigned long long object)
{
    CUfunction func;
    void *params[] = {&object, &in_va, &out_va};
    CUresult result = cuModuleGetFunction(&func, module, name);

    result = result ? result : cuMemcpyHtoD_v2(in_va, &in, sizeof(in));
    if (!result)
        result = cuLaunchKernel(func, 1, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL);
    return result ? result : cuMemcpyDtoH_v2(&out, out_va, sizeof(out));
}

/* ---- textures of floats, four channels, and their host copy */

static float texels[2 * DEPTH * 6][HEIGHT * 2][WIDTH * 2][4];

static double random_unit(void)
{
    return (double)(tap_random(&state) >> 11) * 0x1p-53;
}

static CUarray array_make(size_t width, size_t height, size_t depth, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {width, height, depth, CU_AD_FORMAT_FLOAT, 4, flags};
    CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .srcHost = texels,
                       .srcPitch = sizeof(texels[0][0]),
                       .srcHeight = HEIGHT * 2,
                       .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                       .WidthInBytes = width * 16,
                       .Height = height ? height : 1,
                       .Depth = depth ? depth : 1};
    float *all = &texels[0][0][0][0];
    CUarray array = NULL;

    for (size_t i = 0; i < sizeof(texels) / sizeof(float); i++)
        all[i] = (float)(random_unit() * 2 - 1);
    success(cuArray3DCreate_v2(&array, &d), "an array of %zu x %zu x %zu", width, height, depth);
    c.dstArray = array;
    success(cuMemcpy3D_v2(&c), "filled");
    return array;
}

static CUtexObject texture_make(const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *desc)
{
    CUtexObject object = 0;

    success(cuTexObjectCreate(&object, resource, desc, NULL), "a texture object");
    return object;
}

static CUDA_RESOURCE_DESC of_array(CUarray array)
{
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};

    r.res.array.hArray = array;
    return r;
}

/* ---- the guide's formulas */

struct image {
    int extent[3], dimensions, layer;
    CUaddress_mode mode;
    bool linear, normalized;
    const float *border;
};

static double texel(const struct image *m, const int at[3], int channel)
{
    int p[3] = {0};

    for (int d = 0; d < m->dimensions; d++) {
        int n = m->extent[d], i = at[d];

        p[d] = i < 0 ? 0 : i >= n ? n - 1 : i; /* the coordinate was folded before */
        if (m->mode == CU_TR_ADDRESS_MODE_WRAP)
            p[d] = (i % n + n) % n;
        if (m->mode == CU_TR_ADDRESS_MODE_BORDER && p[d] != i)
            return m->border[channel];
    }
    return texels[m->dimensions == 3 ? p[2] : m->layer][p[1]][p[0]][channel];
}

static double folded(const struct image *m, double x, int extent)
{
    if (!m->normalized)
        return x;
    if (m->mode == CU_TR_ADDRESS_MODE_WRAP)
        x -= floor(x);
    if (m->mode == CU_TR_ADDRESS_MODE_MIRROR)
        x = fmod(floor(x), 2) ? 1 - (x - floor(x)) : x - floor(x);
    return x * extent;
}

static double fetch(const struct image *m, const float *x, int channel)
{
    int first[3] = {0}, n = m->linear ? 1 << m->dimensions : 1;
    double alpha[3] = {0}, sum = 0;

    for (int d = 0; d < m->dimensions; d++) {
        double u = folded(m, x[d], m->extent[d]), b = m->linear ? u - 0.5 : u;
        double fixed = m->linear ? floor(b * 256 + 0.5) / 256 : floor(b);

        first[d] = (int)floor(fixed);
        alpha[d] = fixed - floor(fixed);
    }
    for (int i = 0; i < n; i++) {
        int at[3] = {first[0] + (i & 1), first[1] + (i >> 1 & 1), first[2] + (i >> 2)};
        double weight = 1;

        for (int d = 0; d < m->dimensions; d++)
            weight *= i >> d & 1 ? alpha[d] : 1 - alpha[d];
        sum += weight * texel(m, at, channel);
    }
    return sum;
}

/* A coordinate that is far enough from where rounding decides. */
static float coordinate(const struct image *m, int extent)
{
    double u = floor((random_unit() * 4 - 1.5) * extent * 256) / 256 + 0.00125;

    return (float)(m->normalized ? u / extent : u);
}

static unsigned compare(const struct image *m)
{
    unsigned wrong = 0;

    for (unsigned t = 0; t < THREADS; t++) {
        struct image own = *m;

        own.layer = m->layer < 0 ? in.i[t][3] : m->layer;
        for (int c = 0; c < 4; c++) {
            double want = fetch(&own, in.f[t], c), got = out.f[t][c];

            if (fabs(got - want) > 1e-6 && wrong++ < 2)
                diag("thread %u channel %d at %g %g %g: got %.9g, want %.9g", t, c, in.f[t][0],
                     in.f[t][1], in.f[t][2], got, want);
        }
    }
    return wrong;
}

static void test_fetch(const char *kernel, CUarray array, const int extent[3], int dimensions,
                       bool layered)
{
    static const float border[4] = {0.25f, -0.5f, 0.75f, 2.0f};
    CUDA_RESOURCE_DESC resource = of_array(array);

    for (unsigned i = 0; i < 16; i++) {
        CUDA_TEXTURE_DESC d = {.filterMode = (CUfilter_mode)(i & 1),
                               .flags = i & 2 ? CU_TRSF_NORMALIZED_COORDINATES : 0};
        struct image m = {{extent[0], extent[1], extent[2]},
                          dimensions,
                          layered ? -1 : 0,
                          (CUaddress_mode)(i >> 2),
                          i & 1,
                          i & 2,
                          border};
        CUtexObject object;

        for (int k = 0; k < 3; k++)
            d.addressMode[k] = m.mode;
        memcpy(d.borderColor, border, sizeof(border));
        if (!m.normalized && m.mode != CU_TR_ADDRESS_MODE_BORDER)
            m.mode = CU_TR_ADDRESS_MODE_CLAMP;
        for (unsigned t = 0; t < THREADS; t++) {
            for (int k = 0; k < dimensions; k++)
                in.f[t][k] = coordinate(&m, extent[k]);
            in.i[t][3] = (int)(tap_random(&state) % DEPTH);
        }
        object = texture_make(&resource, &d);
        success(run(kernel, object), "%s runs", kernel);
        eq_u64(compare(&m), 0, "%s: mode %u, %s, %s coordinates", kernel, i >> 2,
               i & 1 ? "linear" : "point", i & 2 ? "normalised" : "texel");
        success(cuTexObjectDestroy(object), "destroyed");
    }
}

static void test_geometries(void)
{
    static const int extent[] = {WIDTH, HEIGHT, DEPTH};
    CUarray array = array_make(WIDTH, 0, 0, 0);

    test_fetch("tex1d", array, extent, 1, false);
    success(cuArrayDestroy(array), "destroyed");
    array = array_make(WIDTH, HEIGHT, 0, 0);
    test_fetch("tex2d", array, extent, 2, false);
    test_fetch("texsampler", array, extent, 2, false);
    success(cuArrayDestroy(array), "destroyed");
    array = array_make(WIDTH, HEIGHT, DEPTH, 0);
    test_fetch("tex3d", array, extent, 3, false);
    success(cuArrayDestroy(array), "destroyed");
    array = array_make(WIDTH, 0, DEPTH, CUDA_ARRAY3D_LAYERED);
    test_fetch("texa1d", array, extent, 1, true);
    success(cuArrayDestroy(array), "destroyed");
    array = array_make(WIDTH, HEIGHT, DEPTH, CUDA_ARRAY3D_LAYERED);
    test_fetch("texa2d", array, extent, 2, true);
    success(cuArrayDestroy(array), "destroyed");
}

/* Faces by the guide's table, away from their edges. */
static void test_cube(void)
{
    static const int sign[6][2] = {{0, 1}, {0, -1}, {1, 1}, {1, -1}, {2, 1}, {2, -1}};
    CUarray array = array_make(HEIGHT, HEIGHT, 6, CUDA_ARRAY3D_CUBEMAP);
    CUDA_RESOURCE_DESC resource = of_array(array);
    CUDA_TEXTURE_DESC d = {.flags = CU_TRSF_NORMALIZED_COORDINATES};
    CUtexObject object = texture_make(&resource, &d);
    unsigned wrong = 0;

    for (unsigned t = 0; t < THREADS; t++) {
        const int *face = sign[t % 6];

        for (int k = 0; k < 3; k++)
            in.f[t][k] = (float)(random_unit() * 1.9 - 0.95);
        in.f[t][face[0]] = (float)face[1];
    }
    success(run("texcube", object), "texcube runs");
    for (unsigned t = 0; t < THREADS; t++) {
        float x = in.f[t][0], y = in.f[t][1], z = in.f[t][2];
        const float st[6][2] = {{-z, -y}, {z, -y}, {x, z}, {x, -z}, {x, -y}, {-x, -y}};
        int s = (int)floor((st[t % 6][0] + 1) / 2 * HEIGHT);
        int v = (int)floor((st[t % 6][1] + 1) / 2 * HEIGHT);

        wrong += memcmp(out.f[t], texels[t % 6][v][s], 16) != 0;
    }
    eq_u64(wrong, 0, "cube: six faces");
    success(cuTexObjectDestroy(object), "destroyed");
    success(cuArrayDestroy(array), "destroyed");
}

/* ---- integers as fractions, memory without an array, offsets, gathers, queries */

static void coordinates_of_texels(void)
{
    for (unsigned t = 0; t < THREADS; t++) {
        in.f[t][0] = (float)(t % WIDTH) + 0.5f;
        in.f[t][1] = (float)(t / WIDTH % HEIGHT) + 0.5f;
        in.i[t][3] = (int32_t)t - 8;
        in.i[t][4] = (int32_t)(t % 5) - 2;
        in.i[t][5] = (int32_t)(t % 3) - 1;
    }
}

static int inside(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static void test_offsets_and_gather(void)
{
    CUarray array = array_make(WIDTH, HEIGHT, 0, CUDA_ARRAY3D_TEXTURE_GATHER);
    CUDA_RESOURCE_DESC resource = of_array(array);
    CUDA_TEXTURE_DESC d = {.addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP}};
    CUtexObject object = texture_make(&resource, &d);
    unsigned wrong = 0;

    coordinates_of_texels();
    success(run("texoffset", object), "texoffset runs");
    for (unsigned t = 0; t < THREADS; t++) {
        int x = inside((int)in.f[t][0] + in.i[t][4], WIDTH);
        int y = inside((int)in.f[t][1] + in.i[t][5], HEIGHT);

        wrong += memcmp(out.f[t], texels[0][y][x], 16) != 0;
    }
    eq_u64(wrong, 0, "offsets count texels");
    success(run("gather", object), "gather runs");
    for (unsigned t = 0; t < THREADS; t++) {
        static const int order[4][2] = {{0, 0}, {1, 0}, {1, -1}, {0, -1}};
        /* In the middle of a texel it and those before it are the footprint's second ones. */
        for (int k = 0; k < 4; k++) {
            int x = inside((int)in.f[t][0] + order[k][0], WIDTH);
            int y = inside((int)in.f[t][1] + order[k][1] + 1, HEIGHT);

            wrong += out.f[t][k] != texels[0][y][x][1];
        }
    }
    eq_u64(wrong, 0, "tld4.g: the second channel of four texels, against the clock");
    success(run("half", object), "half runs");
    for (unsigned t = 0; t < THREADS; t++) {
        float f = texels[0][(int)in.f[t][1]][(int)in.f[t][0]][0];
        unsigned bits = out.u[t][0] & 0xffff;
        double half = ldexp(1024 + (bits & 1023), (int)(bits >> 10 & 31) - 25);

        half = bits & 0x8000 ? -half : half;
        wrong += fabs(half - f) > 0x1p-11 || out.u[t][2] != 1;
    }
    eq_u64(wrong, 0, "f16x2, and resident");
    success(cuTexObjectDestroy(object), "destroyed");
    success(cuArrayDestroy(array), "destroyed");
}

static void test_memory(void)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_LINEAR};
    CUDA_TEXTURE_DESC d = {.flags = CU_TRSF_READ_AS_INTEGER};
    unsigned char bytes[100 * 2];
    CUdeviceptr va;
    CUtexObject object;
    unsigned wrong = 0;

    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)tap_random(&state);
    success(cuMemAlloc_v2(&va, 4096), "memory");
    success(cuMemcpyHtoD_v2(va, bytes, sizeof(bytes)), "filled");
    resource.res.linear.devPtr = va;
    resource.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT8;
    resource.res.linear.numChannels = 2;
    resource.res.linear.sizeInBytes = sizeof(bytes);
    object = texture_make(&resource, &d);
    coordinates_of_texels();
    success(run("texel", object), "texel runs");
    for (unsigned t = 0; t < THREADS; t++) {
        int i = in.i[t][3];
        bool is = i >= 0 && i < 100;

        wrong += out.u[t][0] != (is ? bytes[2 * i] : 0) ||
                 out.u[t][1] != (is ? bytes[2 * i + 1] : 0) || out.u[t][3] != is;
    }
    eq_u64(wrong, 0, "tex1Dfetch: texels, zeroes outside");
    success(cuTexObjectDestroy(object), "destroyed");

    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = va;
    resource.res.pitch2D.format = CU_AD_FORMAT_SIGNED_INT8;
    resource.res.pitch2D.numChannels = 1;
    resource.res.pitch2D.width = WIDTH;
    resource.res.pitch2D.height = 4;
    resource.res.pitch2D.pitchInBytes = 32;
    d = (CUDA_TEXTURE_DESC){.addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP}};
    object = texture_make(&resource, &d);
    success(run("tex2d", object), "tex2d runs");
    for (unsigned t = 0; t < THREADS; t++) {
        int x = inside((int)in.f[t][0], WIDTH), y = inside((int)in.f[t][1], 4);
        float want = (float)(signed char)bytes[32 * y + x] / 127.0f;

        wrong += out.f[t][0] != (want < -1 ? -1 : want) || out.f[t][1] != 0 || out.f[t][3] != 1;
    }
    eq_u64(wrong, 0, "memory with a pitch: bytes as fractions");
    resource.res.pitch2D.pitchInBytes = 33;
    eq_u64(cuTexObjectCreate(&object, &resource, &d, NULL), CUDA_ERROR_INVALID_VALUE,
           "a pitch that is not aligned");
    success(cuMemFree_v2(va), "freed");
}

static void test_levels(void)
{
    CUDA_ARRAY3D_DESCRIPTOR desc = {16, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0}, level_desc;
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY};
    CUDA_TEXTURE_DESC d = {.flags = CU_TRSF_NORMALIZED_COORDINATES,
                           .mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR,
                           .maxMipmapLevelClamp = 10};
    CUmipmappedArray mipmap = NULL;
    CUtexObject object;
    CUarray level;
    unsigned wrong = 0;

    success(cuMipmappedArrayCreate(&mipmap, &desc, 99), "a mipmapped array");
    for (unsigned i = 0; i < 5; i++) {
        float values[16 * 8];
        CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = values,
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY};

        for (unsigned k = 0; k < 16 * 8; k++)
            values[k] = (float)(i * i);
        success(cuMipmappedArrayGetLevel(&level, mipmap, i), "level %u", i);
        success(cuArray3DGetDescriptor_v2(&level_desc, level), "described");
        eq_u64(level_desc.Width, 16u >> i, "its width");
        c.dstArray = level;
        c.WidthInBytes = level_desc.Width * 4;
        c.Height = level_desc.Height;
        success(cuMemcpy2D_v2(&c), "filled");
    }
    eq_u64(cuMipmappedArrayGetLevel(&level, mipmap, 5), CUDA_ERROR_INVALID_VALUE, "level 5 of 5");
    resource.res.mipmap.hMipmappedArray = mipmap;
    object = texture_make(&resource, &d);
    for (unsigned t = 0; t < THREADS; t++) {
        in.f[t][0] = in.f[t][1] = 0.4f;
        in.f[t][3] = (float)t / 32 - 1;
        in.f[t][4] = ldexpf(1, (int)(t % 4)) / 16;
        in.f[t][5] = in.f[t][6] = in.f[t][7] = 0;
    }
    success(run("texlevel", object), "texlevel runs");
    for (unsigned t = 0; t < THREADS; t++) {
        double lod = fmin(fmax(in.f[t][3], 0), 4), whole = floor(lod), part = lod - whole;
        double want = (1 - part) * whole * whole + part * (whole + 1) * (whole + 1);

        wrong += fabs(out.f[t][0] - (part > 0 ? want : whole * whole)) > 1e-5;
    }
    eq_u64(wrong, 0, "between levels, clamped to those there are");
    success(run("texgrad", object), "texgrad runs");
    for (unsigned t = 0; t < THREADS; t++)
        wrong += out.f[t][0] != (float)(t % 4 * (t % 4));
    eq_u64(wrong, 0, "levels by gradients");
    success(run("query", object), "query runs");
    ok(out.u[9][0] == 16 && out.u[9][1] == 8 && out.u[9][2] == 5 && out.u[9][3] == 8, "queries");
    success(run("is", object), "is runs");
    ok(out.u[9][0] == 1 && out.u[9][1] == 0, "a texture is one, and no surface");
    success(cuTexObjectDestroy(object), "destroyed");
    success(cuMipmappedArrayDestroy(mipmap), "destroyed");
    eq_u64(cuArray3DGetDescriptor_v2(&level_desc, level), CUDA_ERROR_INVALID_HANDLE,
           "its levels are gone, too");
}

/* ---- surfaces */

static CUarray surface_make(CUarray_format format, unsigned channels, CUsurfObject *out_object)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {16, 16, 0, format, channels, CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_RESOURCE_DESC resource;
    CUarray array = NULL;

    success(cuArray3DCreate_v2(&array, &d), "an array for surfaces");
    resource = of_array(array);
    success(cuSurfObjectCreate(out_object, &resource), "a surface object");
    return array;
}

static void surface_read(CUarray array, void *to, size_t row_B)
{
    CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                       .srcArray = array,
                       .dstMemoryType = CU_MEMORYTYPE_HOST,
                       .dstHost = to,
                       .dstPitch = row_B,
                       .WidthInBytes = row_B,
                       .Height = 16};

    success(cuMemcpy2D_v2(&c), "read");
}

static void test_surfaces(void)
{
    uint32_t words[16][16], was[16][16];
    unsigned char bytes[16][16][4];
    CUsurfObject object;
    CUarray array = surface_make(CU_AD_FORMAT_UNSIGNED_INT32, 1, &object);
    unsigned wrong = 0;

    for (unsigned t = 0; t < THREADS; t++) {
        in.i[t][0] = (int32_t)(t % 16 * 4) - 8;
        in.i[t][1] = (int32_t)(t / 16) - 2;
        in.u[t][2] = t + 1;
        in.i[t][4] = 3;
        in.i[t][5] = 4;
    }
    success(cuMemsetD32_v2(in_va, 0, 1), "set");
    success(run("store", object), "store runs");
    surface_read(array, words, 64);
    for (int y = 0; y < 14; y++)
        for (int x = 0; x < 14; x++)
            wrong += words[y][x] != (uint32_t)((y + 2) * 16 + x + 2) + 1;
    eq_u64(wrong, 0, "what is inside is stored, what is not is not");
    success(run("load", object), "load runs");
    for (unsigned t = 0; t < THREADS; t++) {
        int x = in.i[t][0] / 4, y = in.i[t][1];
        bool is = x >= 0 && y >= 0 && in.i[t][0] >= 0;

        wrong += out.u[t][0] != words[inside(y, 16)][inside(in.i[t][0] < 0 ? -1 : x, 16)] ||
                 out.u[t][1] != (is ? words[y][x] : 0);
    }
    eq_u64(wrong, 0, "loads are clamped, or zero outside");
    memcpy(was, words, sizeof(was));
    success(run("reduce", object), "reduce runs");
    surface_read(array, words, 64);
    ok(words[4][3] >= THREADS, "a maximum of all threads");
    for (int y = 1; y < 13; y++)
        for (int x = 1; x < 13; x++)
            wrong += words[y][x] != was[y][x] + (uint32_t)((y + 2) * 16 + x + 2) + 1 &&
                     !(y == 4 && x == 3);
    eq_u64(wrong, 0, "sums");
    success(run("suquery", object), "suquery runs");
    ok(out.u[0][0] == 16 && out.u[0][1] == 16, "extents");
    success(cuSurfObjectDestroy(object), "destroyed");
    success(cuArrayDestroy(array), "destroyed");

    array = surface_make(CU_AD_FORMAT_UNORM_INT8X4, 4, &object);
    for (unsigned t = 0; t < THREADS; t++) {
        in.i[t][0] = (int32_t)(t % 16);
        in.i[t][1] = (int32_t)(t / 16);
        in.f[t][4] = (float)t / 255.0f;
        in.f[t][5] = 2.0f;
        in.f[t][6] = -1.0f;
        in.f[t][7] = 0.5f;
    }
    success(run("format", object), "format runs");
    surface_read(array, bytes, 64);
    for (unsigned t = 0; t < THREADS; t++) {
        const unsigned char *b = bytes[t / 16][t % 16];

        wrong += b[0] != t || b[1] != 255 || b[2] != 0 || b[3] != 128;
    }
    eq_u64(wrong, 0, "sust.p makes bytes of fractions");
    success(cuSurfObjectDestroy(object), "destroyed");
    success(cuArrayDestroy(array), "destroyed");

    array = surface_make(CU_AD_FORMAT_FLOAT, 4, &object);
    for (unsigned t = 0; t < THREADS; t++)
        in.i[t][0] = (int32_t)(t % 16 * 16);
    success(run("wide", object), "wide runs");
    for (unsigned t = 0; t < THREADS; t++)
        wrong += memcmp(out.u[t], &in.u[t][4], 16) != 0;
    eq_u64(wrong, 0, "128 bits");
    success(cuSurfObjectDestroy(object), "destroyed");
    success(cuArrayDestroy(array), "destroyed");
}

/* ---- errors */

static void test_bad_arguments(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {8, 8, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0}, bad;
    CUDA_TEXTURE_DESC texture = {.filterMode = CU_TR_FILTER_MODE_LINEAR};
    CUDA_RESOURCE_DESC resource;
    CUarray array = NULL, other;
    CUtexObject object;
    char row[64];

    success(cuArray3DCreate_v2(&array, &d), "an array");
#define REFUSED(expected, text, ...)                                                               \
    (bad = d, __VA_ARGS__, eq_u64(cuArray3DCreate_v2(&other, &bad), expected, text))
    REFUSED(CUDA_ERROR_INVALID_VALUE, "no width", bad.Width = 0);
    REFUSED(CUDA_ERROR_INVALID_VALUE, "three channels", bad.NumChannels = 3);
    REFUSED(CUDA_ERROR_INVALID_VALUE, "no format", bad.Format = (CUarray_format)7);
    REFUSED(CUDA_ERROR_INVALID_VALUE, "too wide", bad.Width = 1u << 20);
    REFUSED(CUDA_ERROR_INVALID_VALUE, "no layers", bad.Flags = CUDA_ARRAY3D_LAYERED);
    REFUSED(CUDA_ERROR_INVALID_VALUE, "five faces", bad.Flags = CUDA_ARRAY3D_CUBEMAP,
            bad.Depth = 5);
    REFUSED(CUDA_ERROR_INVALID_VALUE, "a gather of volumes", bad.Depth = 2,
            bad.Flags = CUDA_ARRAY3D_TEXTURE_GATHER);
    REFUSED(CUDA_ERROR_INVALID_VALUE, "sparse rows", bad.Flags = CUDA_ARRAY3D_SPARSE,
            bad.Height = 0);
    REFUSED(CUDA_ERROR_NOT_SUPPORTED, "blocks", bad.Format = CU_AD_FORMAT_BC1_UNORM);
    eq_u64(cuArrayCreate_v2(NULL, NULL), CUDA_ERROR_INVALID_VALUE, "nothing");
    eq_u64(cuMipmappedArrayCreate((CUmipmappedArray *)&other, &d, 0), CUDA_ERROR_INVALID_VALUE,
           "no levels");
    eq_u64(cuMemcpyHtoA_v2(array, 8, row, 32), CUDA_ERROR_INVALID_VALUE, "past the end of a row");
    eq_u64(cuMemcpyHtoA_v2(array, 2, row, 4), CUDA_ERROR_INVALID_VALUE, "half a texel");
    success(cuMemcpyHtoA_v2(array, 8, row, 24), "inside of it");
    resource = of_array(array);
    eq_u64(cuTexObjectCreate(&object, &resource, &texture, NULL), CUDA_ERROR_INVALID_VALUE,
           "integers are not filtered");
    eq_u64(cuSurfObjectCreate(&object, &resource), CUDA_ERROR_INVALID_VALUE,
           "an array that is not for surfaces");
    texture.filterMode = CU_TR_FILTER_MODE_POINT;
    texture.addressMode[1] = (CUaddress_mode)9;
    texture.flags = CU_TRSF_READ_AS_INTEGER;
    eq_u64(cuTexObjectCreate(&object, &resource, &texture, NULL), CUDA_ERROR_INVALID_VALUE,
           "no address mode");
    texture.addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
    success(cuTexObjectCreate(&object, &resource, &texture, NULL), "a texture");
    eq_u64(cuSurfObjectDestroy(object), CUDA_ERROR_INVALID_HANDLE, "it is no surface");
    success(cuTexObjectDestroy(object), "destroyed");
    eq_u64(cuTexObjectDestroy(object), CUDA_ERROR_INVALID_HANDLE, "destroyed twice");
    success(cuArrayDestroy(array), "destroyed");
    eq_u64(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE, "destroyed twice");
    eq_u64(cuTexObjectCreate(&object, &resource, &texture, NULL), CUDA_ERROR_INVALID_HANDLE,
           "of an array that is gone");
}

static void test_accounting(void)
{
    CUDA_ARRAY_DESCRIPTOR d = {1024, 1024, CU_AD_FORMAT_FLOAT, 4};
    size_t before, during, after, total;
    CUarray array = NULL;

    success(cuMemGetInfo_v2(&before, &total), "free before");
    success(cuArrayCreate_v2(&array, &d), "16 MiB");
    success(cuMemGetInfo_v2(&during, &total), "free meanwhile");
    success(cuArrayDestroy(array), "destroyed");
    success(cuMemGetInfo_v2(&after, &total), "free again");
    ok(before - during >= 16u << 20 && after == before, "arrays are accounted");
}

/* Each in a context of its own, which is lost. */
static void test_fault(const char *kernel, unsigned long long (*object)(void), const char *what)
{
    CUcontext ctx;

    success(cuCtxCreate_v2(&ctx, 0, 0), "a context");
    success(cuModuleLoadData(&module, ptx), "the module");
    success(cuMemAlloc_v2(&in_va, sizeof(in)), "memory");
    success(cuMemAlloc_v2(&out_va, sizeof(out)), "memory");
    memset(&in, 0, sizeof(in));
    in.i[77][0] = in.i[77][1] = 1 << 20;
    eq_u64(run(kernel, object()), CUDA_ERROR_ILLEGAL_ADDRESS, "%s", what);
    (void)cuCtxDestroy_v2(ctx);
}

static unsigned long long stale(void)
{
    CUarray array = array_make(4, 4, 0, 0);
    CUDA_RESOURCE_DESC resource = of_array(array);
    CUDA_TEXTURE_DESC d = {0};
    CUtexObject object = texture_make(&resource, &d);

    (void)cuTexObjectDestroy(object);
    return object;
}

static unsigned long long nothing(void)
{
    return 0;
}

static unsigned long long surface(void)
{
    CUsurfObject object = 0;

    (void)surface_make(CU_AD_FORMAT_UNSIGNED_INT32, 1, &object);
    return object;
}

int main(void)
{
    CUcontext ctx;

    if (tap_lacks(getenv("HEDDLE_CPU")))
        return skip_all("this CPU lacks the level");
    state = tap_seed();
    success(cuInit(0), "initialised");
    success(cuCtxCreate_v2(&ctx, 0, 0), "a context");
    success(cuModuleLoadData(&module, ptx), "the module");
    success(cuMemAlloc_v2(&in_va, sizeof(in)), "memory");
    success(cuMemAlloc_v2(&out_va, sizeof(out)), "memory");
    test_geometries();
    test_cube();
    test_offsets_and_gather();
    test_memory();
    test_levels();
    test_surfaces();
    test_bad_arguments();
    test_accounting();
    (void)cuCtxDestroy_v2(ctx);
    test_fault("tex2d", stale, "a texture that was destroyed");
    test_fault("tex2d", nothing, "no texture");
    test_fault("tex2d", surface, "a surface is no texture");
    test_fault("trap", surface, "a store outside of a surface");
    return done();
}
