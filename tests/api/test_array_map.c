/*
 * Arrays whose memory is mapped later: deferred ones as a whole, sparse ones by tiles, in stream
 * order; arrays in external memory. Wrong calls.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/driver/cuda_abi.h"
#include "tap.h"

#define success(call, ...)      eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)
#define fails(call, error, ...) eq_u64((call), CUDA_ERROR_##error, __VA_ARGS__)
#define TILE_B                  65536u
#define POOL_B                  ((size_t)4 << 20)

/* Adds 1 to a texel of a surface. */
static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry next(.param .u64 surface, .param .u32 column,\n"
                          "                     .param .u32 row)\n"
                          "{ .reg .b64 s; .reg .b32 x, y, v;\n"
                          "  ld.param.u64 s, [surface];\n"
                          "  ld.param.u32 x, [column]; ld.param.u32 y, [row];\n"
                          "  suld.b.2d.b32.trap v, [s, {x, y}]; add.u32 v, v, 1;\n"
                          "  sust.b.2d.b32.trap [s, {x, y}], v; ret; }\n";

static const CUmemAllocationProp pool_prop = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
    .allocFlags = {.usage = CU_MEM_CREATE_USAGE_TILE_POOL}};

static CUstream stream;
static CUmemGenericAllocationHandle pool;

/* ---- texels of 32 bits, in a box of a level */

struct box {
    size_t x, y, z, width, height, depth;
};

static CUDA_MEMCPY3D box_copy(CUarray array, const struct box *b, uint32_t *texels, bool in)
{
    CUDA_MEMCPY3D c = {.WidthInBytes = 4 * b->width, .Height = b->height, .Depth = b->depth};

    c.srcMemoryType = in ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    c.dstMemoryType = in ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    if (in) {
        c.srcHost = texels;
        c.srcPitch = 4 * b->width;
        c.srcHeight = b->height;
        c.dstArray = array;
        c.dstXInBytes = 4 * b->x;
        c.dstY = b->y;
        c.dstZ = b->z;
    } else {
        c.dstHost = texels;
        c.dstPitch = 4 * b->width;
        c.dstHeight = b->height;
        c.srcArray = array;
        c.srcXInBytes = 4 * b->x;
        c.srcY = b->y;
        c.srcZ = b->z;
    }
    return c;
}

static uint32_t value_at(size_t x, size_t y, size_t z, uint32_t salt)
{
    return (uint32_t)(x * 2654435761u ^ y * 40503u ^ z * 2246822519u ^ salt) | 1;
}

static uint32_t *box_alloc(const struct box *b)
{
    uint32_t *texels = calloc(b->width * b->height * b->depth, 4);

    if (!texels)
        abort();
    return texels;
}

static void box_write(CUarray array, const struct box *b, uint32_t salt)
{
    uint32_t *texels = box_alloc(b);
    size_t i = 0;

    for (size_t z = 0; z < b->depth; z++)
        for (size_t y = 0; y < b->height; y++)
            for (size_t x = 0; x < b->width; x++)
                texels[i++] = value_at(b->x + x, b->y + y, b->z + z, salt);
    CUDA_MEMCPY3D c = box_copy(array, b, texels, true);
    success(cuMemcpy3D_v2(&c), "write texels");
    free(texels);
}

/* `hole`: where zeroes are; salt 0: nowhere anything else. */
static void box_check(CUarray array, const struct box *b, uint32_t salt, const struct box *hole,
                      const char *what)
{
    uint32_t *texels = box_alloc(b);
    size_t i = 0, wrong = 0;

    CUDA_MEMCPY3D c = box_copy(array, b, texels, false);
    success(cuMemcpy3D_v2(&c), "read texels");
    for (size_t z = b->z; z < b->z + b->depth; z++)
        for (size_t y = b->y; y < b->y + b->height; y++)
            for (size_t x = b->x; x < b->x + b->width; x++) {
                bool zero = !salt || (hole && x - hole->x < hole->width &&
                                      y - hole->y < hole->height && z - hole->z < hole->depth);

                wrong += texels[i++] != (zero ? 0 : value_at(x, y, z, salt));
            }
    eq_u64(wrong, 0, "texels: %s", what);
    free(texels);
}

/* ---- arrays and changes */

static CUDA_ARRAY3D_DESCRIPTOR desc_make(size_t width, size_t height, size_t depth, unsigned flags)
{
    return (CUDA_ARRAY3D_DESCRIPTOR){.Width = width,
                                     .Height = height,
                                     .Depth = depth,
                                     .Format = CU_AD_FORMAT_UNSIGNED_INT32,
                                     .NumChannels = 1,
                                     .Flags = flags};
}

static CUarray array_make(size_t width, size_t height, size_t depth, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR desc = desc_make(width, height, depth, flags);
    CUarray array = NULL;

    success(cuArray3DCreate_v2(&array, &desc), "array of %zu x %zu x %zu", width, height, depth);
    return array;
}

static CUarrayMapInfo change_make(CUarray array)
{
    CUarrayMapInfo info = {.resourceType = CU_RESOURCE_TYPE_ARRAY, .deviceBitMask = 1};

    info.resource.array = array;
    info.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
    return info;
}

static void memory_set(CUarrayMapInfo *info, CUmemGenericAllocationHandle memory, uint64_t offset)
{
    info->memOperationType = CU_MEM_OPERATION_TYPE_MAP;
    info->memHandle.memHandle = memory;
    info->offset = offset;
}

static void part_set(CUarrayMapInfo *info, unsigned level, unsigned layer, const struct box *b)
{
    info->subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
    info->subresource.sparseLevel.level = level;
    info->subresource.sparseLevel.layer = layer;
    info->subresource.sparseLevel.offsetX = (unsigned)b->x;
    info->subresource.sparseLevel.offsetY = (unsigned)b->y;
    info->subresource.sparseLevel.offsetZ = (unsigned)b->z;
    info->subresource.sparseLevel.extentWidth = (unsigned)b->width;
    info->subresource.sparseLevel.extentHeight = (unsigned)b->height;
    info->subresource.sparseLevel.extentDepth = (unsigned)b->depth;
}

static CUresult apply(CUarrayMapInfo *info)
{
    CUresult result = cuMemMapArrayAsync(info, 1, stream);

    return result ? result : cuStreamSynchronize(stream);
}

static CUmemGenericAllocationHandle pool_make(void)
{
    CUmemGenericAllocationHandle handle = 0;

    success(cuMemCreate(&handle, POOL_B, &pool_prop, 0), "memory for tiles");
    return handle;
}

static size_t free_B(void)
{
    size_t left = 0, total;

    success(cuMemGetInfo_v2(&left, &total), "how much memory there is");
    return left;
}

/* ---- deferred mapping */

static void test_deferred(void)
{
    const struct box all = {0, 0, 0, 300, 200, 1};
    CUDA_ARRAY_MEMORY_REQUIREMENTS need;
    CUmemGenericAllocationHandle memory;
    size_t before_B = free_B();
    CUarrayMapInfo one_info, two_info;
    CUarray one, two;

    one = array_make(300, 200, 0, CUDA_ARRAY3D_DEFERRED_MAPPING);
    two = array_make(300, 200, 0, CUDA_ARRAY3D_DEFERRED_MAPPING);
    eq_u64(free_B(), before_B, "arrays without memory cost none");
    success(cuArrayGetMemoryRequirements(&need, one, 0), "requirements");
    ok(need.size >= 300 * 200 * 4 && need.size % need.alignment == 0 && need.size < POOL_B / 2,
       "%zu bytes, aligned to %zu", need.size, need.alignment);
    box_check(one, &all, 0, NULL, "nothing is mapped");
    memory = pool_make();
    eq_u64(free_B(), before_B - POOL_B, "the pool does");
    one_info = change_make(one);
    memory_set(&one_info, memory, need.alignment);
    success(apply(&one_info), "map");
    box_write(one, &all, 77);
    box_check(one, &all, 77, NULL, "mapped");
    two_info = change_make(two);
    memory_set(&two_info, memory, need.alignment);
    success(apply(&two_info), "the same memory in another array");
    box_check(two, &all, 77, NULL, "is the same memory");
    box_write(two, &all, 78);
    box_check(one, &all, 78, NULL, "also later");
    success(cuMemRelease(memory), "release");
    box_check(one, &all, 78, NULL, "what is mapped stays");
    one_info = change_make(one);
    success(apply(&one_info), "unmap");
    box_check(one, &all, 0, NULL, "zeroes again");
    box_check(two, &all, 78, NULL, "the other has it");
    eq_u64(free_B(), before_B - POOL_B, "the memory is in use");
    success(cuArrayDestroy(two), "destroy");
    eq_u64(free_B(), before_B, "now it is free");
    success(apply(&one_info), "unmap what is not mapped");
    success(cuArrayDestroy(one), "destroy");
}

static void test_deferred_mipmap(void)
{
    const struct box all = {0, 0, 0, 128, 64, 1}, half = {0, 0, 0, 64, 32, 1};
    CUDA_ARRAY3D_DESCRIPTOR desc = desc_make(128, 64, 0, CUDA_ARRAY3D_DEFERRED_MAPPING);
    CUDA_ARRAY_MEMORY_REQUIREMENTS need;
    CUmipmappedArray mipmap;
    CUarray levels[2];
    CUarrayMapInfo info;

    success(cuMipmappedArrayCreate(&mipmap, &desc, 2), "mipmapped array");
    success(cuMipmappedArrayGetMemoryRequirements(&need, mipmap, 0), "requirements");
    ok(need.size >= (128 * 64 + 64 * 32) * 4, "%zu bytes", need.size);
    for (unsigned i = 0; i < 2; i++)
        success(cuMipmappedArrayGetLevel(&levels[i], mipmap, i), "level");
    info = change_make(NULL);
    info.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    info.resource.mipmap = mipmap;
    memory_set(&info, pool, 0);
    success(apply(&info), "map");
    box_write(levels[0], &all, 5);
    box_write(levels[1], &half, 6);
    box_check(levels[0], &all, 5, NULL, "level 0");
    box_check(levels[1], &half, 6, NULL, "level 1");
    fails(cuArrayGetMemoryRequirements(&need, levels[0], 0), INVALID_VALUE, "of a level");
    info.resourceType = CU_RESOURCE_TYPE_ARRAY;
    info.resource.array = levels[0];
    fails(apply(&info), INVALID_VALUE, "a level alone");
    success(cuMipmappedArrayDestroy(mipmap), "destroy");
}

/* ---- sparse arrays */

static CUDA_ARRAY_SPARSE_PROPERTIES properties(CUarray array)
{
    CUDA_ARRAY_SPARSE_PROPERTIES p = {0};

    success(cuArrayGetSparseProperties(&p, array), "sparse properties");
    eq_u64((uint64_t)p.tileExtent.width * p.tileExtent.height * p.tileExtent.depth * 4, TILE_B,
           "a tile of %u x %u x %u", p.tileExtent.width, p.tileExtent.height, p.tileExtent.depth);
    return p;
}

/* Tiles in any order, some twice, of an array that is no multiple of them. */
static void test_sparse(void)
{
    const struct box all = {0, 0, 0, 5000, 37, 1};
    CUarray array = array_make(5000, 37, 0, CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_SURFACE_LDST);
    CUDA_ARRAY_SPARSE_PROPERTIES p = properties(array);
    size_t w = p.tileExtent.width, h = p.tileExtent.height;
    struct box edge, tile = {0, h, 0, w, h, 1}, other = {0, 3 * h, 0, w, h, 1};
    CUarrayMapInfo info = change_make(array);
    uint32_t *left, *right;
    CUDA_MEMCPY3D c;

    eq_u64(p.flags, 0, "it has no mip tail");
    eq_u64(p.miptailFirstLevel + p.miptailSize, 0, "nothing of it");
    ok(w < 5000 && h < 37 && 37 % h, "several tiles, and an edge");
    box_check(array, &all, 0, NULL, "nothing is mapped");
    part_set(&info, 0, 0, &all);
    memory_set(&info, pool, 0);
    success(apply(&info), "map all of it");
    box_write(array, &all, 9);
    box_check(array, &all, 9, NULL, "all of it");
    info = change_make(array);
    part_set(&info, 0, 0, &tile);
    success(apply(&info), "unmap a tile");
    box_check(array, &all, 9, &tile, "but for the tile");
    memory_set(&info, pool, POOL_B - TILE_B);
    success(apply(&info), "map another one");
    part_set(&info, 0, 0, &other);
    success(apply(&info), "the same at another place");
    box_write(array, &tile, 10);
    left = box_alloc(&tile);
    right = box_alloc(&other);
    c = box_copy(array, &tile, left, false);
    success(cuMemcpy3D_v2(&c), "read");
    c = box_copy(array, &other, right, false);
    success(cuMemcpy3D_v2(&c), "read");
    eq_mem(left, right, w * h * 4, "both places show the same");
    free(left);
    free(right);
    edge = (struct box){5000 / w * w, 36 / h * h, 0, 5000 % w, 37 - 36 / h * h, 1};
    box_check(array, &edge, 9, NULL, "the edge is as it was");
    info = change_make(array);
    part_set(&info, 0, 0, &edge);
    success(apply(&info), "unmap the edge");
    box_check(array, &edge, 0, NULL, "zeroes");
    edge.width = w;
    edge.height = h;
    part_set(&info, 0, 0, &edge);
    success(apply(&info), "by whole tiles");
    success(cuArrayDestroy(array), "destroy");
}

/* What is smaller than a tile is one mip tail. */
static void test_small(void)
{
    const struct box all = {0, 0, 0, 50, 60, 1};
    CUarray array = array_make(50, 60, 0, CUDA_ARRAY3D_SPARSE);
    CUDA_ARRAY_SPARSE_PROPERTIES p = properties(array);
    CUarrayMapInfo info = change_make(array);

    eq_u64(p.flags, CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL, "a mip tail");
    ok(p.miptailSize >= 50 * 60 * 4 && p.miptailSize % TILE_B == 0, "of %llu bytes", p.miptailSize);
    info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
    info.subresource.miptail.size = p.miptailSize;
    memory_set(&info, pool, 3 * TILE_B);
    success(apply(&info), "map");
    box_write(array, &all, 3);
    box_check(array, &all, 3, NULL, "mapped");
    info = change_make(array);
    info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
    info.subresource.miptail.size = p.miptailSize;
    success(apply(&info), "unmap");
    box_check(array, &all, 0, NULL, "zeroes");
    success(cuArrayDestroy(array), "destroy");
}

static void test_sparse_mipmap(void)
{
    CUDA_ARRAY3D_DESCRIPTOR desc = desc_make(8192, 64, 0, CUDA_ARRAY3D_SPARSE);
    CUDA_ARRAY_SPARSE_PROPERTIES p;
    CUmipmappedArray mipmap;
    CUarray levels[6];
    CUarrayMapInfo infos[2];
    struct box whole[6], tile;

    success(cuMipmappedArrayCreate(&mipmap, &desc, 6), "mipmapped array");
    success(cuMipmappedArrayGetSparseProperties(&p, mipmap), "sparse properties");
    ok(p.miptailFirstLevel >= 2 && p.miptailFirstLevel < 6 && p.miptailSize &&
           p.flags == CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL,
       "the mip tail begins at level %u", p.miptailFirstLevel);
    for (unsigned i = 0; i < 6; i++) {
        success(cuMipmappedArrayGetLevel(&levels[i], mipmap, i), "level");
        whole[i] = (struct box){0, 0, 0, 8192u >> i, 64u >> i, 1};
    }
    infos[0] = change_make(NULL);
    infos[0].resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    infos[0].resource.mipmap = mipmap;
    infos[1] = infos[0];
    tile = (struct box){p.tileExtent.width, 0, 0, p.tileExtent.width, p.tileExtent.height, 1};
    part_set(&infos[0], 1, 0, &tile);
    memory_set(&infos[0], pool, 0);
    infos[1].subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
    infos[1].subresource.miptail.size = p.miptailSize;
    memory_set(&infos[1], pool, TILE_B);
    success(cuMemMapArrayAsync(infos, 2, stream), "a tile and the tail");
    success(cuStreamSynchronize(stream), "synchronize");
    box_write(levels[1], &tile, 21);
    for (unsigned i = p.miptailFirstLevel; i < 6; i++)
        box_write(levels[i], &whole[i], 22 + i);
    box_check(levels[1], &tile, 21, NULL, "the tile");
    for (unsigned i = p.miptailFirstLevel; i < 6; i++)
        box_check(levels[i], &whole[i], 22 + i, NULL, "a level of the tail");
    box_check(levels[0], &whole[0], 0, NULL, "not mapped");
    part_set(&infos[0], p.miptailFirstLevel, 0, &tile);
    fails(apply(&infos[0]), INVALID_VALUE, "no tiles in the tail");
    fails(cuArrayGetSparseProperties(&p, levels[0]), INVALID_VALUE, "of a level");
    success(cuMipmappedArrayDestroy(mipmap), "destroy");
}

/* Three dimensions, and layers: slices are mapped one by one. */
static void test_slices(void)
{
    CUarray solid = array_make(2048, 16, 4, CUDA_ARRAY3D_SPARSE);
    CUarray layered = array_make(2048, 16, 4, CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_LAYERED);
    CUDA_ARRAY_SPARSE_PROPERTIES p = properties(solid);
    struct box some = {0, 0, 1, p.tileExtent.width, p.tileExtent.height, 2}, one = some;
    const struct box rest = {0, 0, 3, 2048, 16, 1};
    CUarrayMapInfo info = change_make(solid);

    part_set(&info, 0, 0, &some);
    memory_set(&info, pool, 0);
    success(apply(&info), "two slices");
    box_write(solid, &some, 31);
    box_check(solid, &some, 31, NULL, "of the solid");
    box_check(solid, &rest, 0, NULL, "not of the rest");
    info.resource.array = layered;
    fails(apply(&info), INVALID_VALUE, "layers are no depth");
    one.z = 0;
    one.depth = 1;
    part_set(&info, 0, 2, &one);
    memory_set(&info, pool, TILE_B);
    success(apply(&info), "the second slice as a layer");
    one.z = 2;
    {
        uint32_t *a = box_alloc(&one), *b = box_alloc(&one);
        CUDA_MEMCPY3D c = box_copy(layered, &one, a, false);

        success(cuMemcpy3D_v2(&c), "read");
        c = box_copy(solid, &one, b, false);
        success(cuMemcpy3D_v2(&c), "read");
        eq_mem(a, b, TILE_B, "the same texels");
        free(a);
        free(b);
    }
    one.z = 0;
    part_set(&info, 0, 4, &one);
    fails(apply(&info), INVALID_VALUE, "there is no such layer");
    success(cuArrayDestroy(solid), "destroy");
    success(cuArrayDestroy(layered), "destroy");
}

/* ---- order */

static void test_order(void)
{
    const struct box all = {0, 0, 0, 64, 64, 1};
    CUarray array = array_make(64, 64, 0, CUDA_ARRAY3D_DEFERRED_MAPPING);
    CUmemGenericAllocationHandle memory = pool_make();
    CUarrayMapInfo map = change_make(array), unmap = change_make(array);
    uint32_t *texels = box_alloc(&all);
    CUgraph graph = NULL;
    CUDA_MEMCPY3D c;
    void *pinned;
    size_t wrong = 0;

    success(cuMemHostAlloc(&pinned, 64 * 64 * 4, 0), "pinned memory");
    success(cuMemHostRegister_v2(texels, 64 * 64 * 4, 0), "register");
    for (size_t i = 0; i < 64 * 64; i++)
        texels[i] = 7;
    *(_Atomic uint32_t *)pinned = 0;
    memory_set(&map, memory, 0);
    success(cuStreamWaitValue32_v2(stream, (uintptr_t)pinned, 1, CU_STREAM_WAIT_VALUE_EQ), "hold");
    success(cuMemMapArrayAsync(&map, 1, stream), "map");
    c = box_copy(array, &all, texels, true);
    success(cuMemcpy3DAsync_v2(&c, stream), "write");
    c = box_copy(array, &all, texels, false);
    success(cuMemcpy3DAsync_v2(&c, stream), "read");
    success(cuMemMapArrayAsync(&unmap, 1, stream), "unmap");
    success(cuMemRelease(memory), "release before it happens");
    *(_Atomic uint32_t *)pinned = 1;
    success(cuStreamSynchronize(stream), "synchronize");
    for (size_t i = 0; i < 64 * 64; i++)
        wrong += texels[i] != 7;
    eq_u64(wrong, 0, "the copies were between");
    box_check(array, &all, 0, NULL, "unmapped behind them");
    success(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "capture");
    fails(cuMemMapArrayAsync(&unmap, 1, stream), STREAM_CAPTURE_UNSUPPORTED, "not captured");
    fails(cuStreamEndCapture(stream, &graph), STREAM_CAPTURE_INVALIDATED, "that ends it");
    success(cuMemHostUnregister(texels), "unregister");
    free(texels);
    success(cuArrayDestroy(array), "destroy");
    success(cuMemFreeHost(pinned), "free");
}

/* Kernels read and write where nothing is mapped, and where something is. */
static void test_kernel(void)
{
    CUarray array = array_make(4096, 64, 0, CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_SURFACE_LDST);
    CUDA_ARRAY_SPARSE_PROPERTIES p = properties(array);
    struct box tile = {0, p.tileExtent.height, 0, p.tileExtent.width, p.tileExtent.height, 1};
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUarrayMapInfo info = change_make(array);
    unsigned x = 4 * 5, y = p.tileExtent.height + 1;
    struct box texel = {5, y, 0, 1, 1, 1};
    CUsurfObject surface;
    CUmodule module;
    CUfunction next;
    void *params[] = {&surface, &x, &y};
    uint32_t value = 0;
    CUDA_MEMCPY3D c;

    success(cuModuleLoadData(&module, ptx), "module");
    success(cuModuleGetFunction(&next, module, "next"), "function");
    resource.res.array.hArray = array;
    success(cuSurfObjectCreate(&surface, &resource), "surface");
    part_set(&info, 0, 0, &tile);
    memory_set(&info, pool, 0);
    success(apply(&info), "map");
    value = 41;
    c = box_copy(array, &texel, &value, true);
    success(cuMemcpy3D_v2(&c), "write");
    success(cuLaunchKernel(next, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL), "launch");
    success(cuStreamSynchronize(stream), "synchronize");
    c = box_copy(array, &texel, &value, false);
    success(cuMemcpy3D_v2(&c), "read");
    eq_u64(value, 42, "the kernel saw it and changed it");
    info = change_make(array);
    part_set(&info, 0, 0, &tile);
    success(apply(&info), "unmap");
    success(cuLaunchKernel(next, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL), "launch");
    success(cuStreamSynchronize(stream), "what is not mapped is no fault");
    success(cuSurfObjectDestroy(surface), "destroy");
    success(cuModuleUnload(module), "unload");
    success(cuArrayDestroy(array), "destroy");
}

/* ---- wrong calls */

static void test_create_bad(void)
{
    static const struct {
        size_t width, height, depth;
        unsigned flags;
    } bad[] = {
        {64, 0, 0, CUDA_ARRAY3D_SPARSE},
        {64, 0, 0, CUDA_ARRAY3D_DEFERRED_MAPPING},
        {64, 0, 4, CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_LAYERED},
        {64, 64, 6, CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_CUBEMAP},
        {64, 64, 0, CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING},
    };
    CUDA_ARRAY_MEMORY_REQUIREMENTS need;
    CUDA_ARRAY_SPARSE_PROPERTIES p;
    CUarray plain = array_make(64, 64, 0, 0), none;

    for (size_t i = 0; i < HD_COUNT_OF(bad); i++) {
        CUDA_ARRAY3D_DESCRIPTOR d =
            desc_make(bad[i].width, bad[i].height, bad[i].depth, bad[i].flags);

        fails(cuArray3DCreate_v2(&none, &d), INVALID_VALUE, "array %zu", i);
    }
    fails(cuArrayGetMemoryRequirements(&need, plain, 0), INVALID_VALUE, "of a plain array");
    fails(cuArrayGetSparseProperties(&p, plain), INVALID_VALUE, "of a plain array");
    fails(cuArrayGetSparseProperties(NULL, plain), INVALID_VALUE, "null");
    fails(cuArrayGetMemoryRequirements(&need, plain, 99), INVALID_DEVICE, "no device");
    success(cuArrayDestroy(plain), "destroy");
    fails(cuArrayGetSparseProperties(&p, plain), INVALID_HANDLE, "stale");
}

static void test_bad(void)
{
    CUarray array = array_make(4096, 64, 0, CUDA_ARRAY3D_SPARSE);
    CUarray plain = array_make(64, 64, 0, 0);
    CUDA_ARRAY_SPARSE_PROPERTIES p = properties(array);
    struct box tile = {0, 0, 0, p.tileExtent.width, p.tileExtent.height, 1};
    CUmemAllocationProp prop = pool_prop;
    CUmemGenericAllocationHandle other;
    CUarrayMapInfo good = change_make(array), info;

    part_set(&good, 0, 0, &tile);
    memory_set(&good, pool, 0);
#define BAD(what, change)                                                                          \
    do {                                                                                           \
        info = good;                                                                               \
        change;                                                                                    \
        fails(apply(&info), INVALID_VALUE, what);                                                  \
    } while (0)
    BAD("flags", info.flags = 1);
    BAD("reserved words", info.reserved[1] = 1);
    BAD("no device", info.deviceBitMask = 0);
    BAD("several devices", info.deviceBitMask = 3);
    BAD("no operation", info.memOperationType = (CUmemOperationType)0);
    BAD("unmapping with memory", info.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP);
    BAD("an offset in a tile", info.offset = 4096);
    BAD("an offset behind the memory", info.offset = POOL_B);
    BAD("linear memory", info.resourceType = CU_RESOURCE_TYPE_LINEAR);
    BAD("no part", info.subresourceType = (CUarraySparseSubresourceType)2);
    BAD("a plain array", info.resource.array = plain);
    BAD("an offset of texels", info.subresource.sparseLevel.offsetX = 1);
    BAD("a part of a tile", info.subresource.sparseLevel.extentHeight--);
    BAD("nothing", info.subresource.sparseLevel.extentWidth = 0);
    BAD("past the end", info.subresource.sparseLevel.offsetY = 64);
    BAD("a level", info.subresource.sparseLevel.level = 1);
    BAD("a layer", info.subresource.sparseLevel.layer = 1);
    BAD("a depth", info.subresource.sparseLevel.extentDepth = 2);
    BAD("no mip tail", {
        info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
        info.subresource.miptail.layer = 0;
        info.subresource.miptail.offset = 0;
        info.subresource.miptail.size = TILE_B;
    });
    prop.allocFlags.usage = 0;
    success(cuMemCreate(&other, POOL_B, &prop, 0), "memory");
    BAD("not made for tiles", info.memHandle.memHandle = other);
    success(cuMemRelease(other), "release");
    info = good;
    info.memHandle.memHandle = other;
    fails(apply(&info), INVALID_HANDLE, "stale memory");
    info = good;
    info.resource.array = (CUarray)(uintptr_t)&info;
    fails(apply(&info), INVALID_HANDLE, "garbage");
    info = good;
    info.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    fails(apply(&info), INVALID_HANDLE, "no mipmapped array");
    fails(cuMemMapArrayAsync(NULL, 1, stream), INVALID_VALUE, "null");
    fails(cuMemMapArrayAsync(&good, 0, stream), INVALID_VALUE, "nothing");
    fails(cuMemMapArrayAsync(&good, 1, (CUstream)&info), INVALID_HANDLE, "garbage stream");
    prop.allocFlags.usage = 0x80;
    fails(cuMemCreate(&other, POOL_B, &prop, 0), NOT_SUPPORTED, "memory for something else");
    success(apply(&good), "that is all there is to it");
    success(cuArrayDestroy(plain), "destroy");
    success(cuArrayDestroy(array), "destroy");
    fails(apply(&good), INVALID_HANDLE, "stale");
#undef BAD
}

/* ---- external memory */

static int sealed_file(size_t size_B)
{
    int fd = memfd_create("external", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || ftruncate(fd, (off_t)size_B) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
        abort();
    return fd;
}

static void test_external(void)
{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC handle = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD};
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC desc = {.offset = 4096, .numLevels = 2};
    const struct box all = {0, 0, 0, 20, 10, 1}, half = {0, 0, 0, 10, 5, 1};
    int fd = sealed_file(16384), other = dup(fd);
    size_t before_B = free_B();
    CUmipmappedArray mipmap, none;
    CUarray levels[2];
    CUexternalMemory memory;
    uint32_t seen = 0;

    handle.handle.fd = fd;
    handle.size = 16384;
    success(cuImportExternalMemory(&memory, &handle), "import");
    desc.arrayDesc = desc_make(20, 10, 0, CUDA_ARRAY3D_COLOR_ATTACHMENT);
    success(cuExternalMemoryGetMappedMipmappedArray(&mipmap, memory, &desc), "map");
    for (unsigned i = 0; i < 2; i++)
        success(cuMipmappedArrayGetLevel(&levels[i], mipmap, i), "level");
    box_write(levels[0], &all, 50);
    box_write(levels[1], &half, 51);
    box_check(levels[0], &all, 50, NULL, "level 0");
    box_check(levels[1], &half, 51, NULL, "level 1");
    eq_u64(free_B(), before_B, "it is no memory of the device");
    /* Rows are multiples of 64 bytes, levels one after another. */
    ok(pread(other, &seen, 4, 4096 + 128 * 3 + 4 * 7) == 4, "look at the file");
    eq_u64(seen, value_at(7, 3, 0, 50), "a texel");
    ok(pread(other, &seen, 4, 4096 + 128 * 10 + 64 * 2 + 4) == 4, "look at the file");
    eq_u64(seen, value_at(1, 2, 0, 51), "a texel of level 1");
    desc.numLevels = 0;
    fails(cuExternalMemoryGetMappedMipmappedArray(&none, memory, &desc), INVALID_VALUE,
          "no levels");
    desc.numLevels = 1;
    desc.offset = 4097;
    fails(cuExternalMemoryGetMappedMipmappedArray(&none, memory, &desc), INVALID_VALUE,
          "an odd offset");
    desc.offset = 16384 - 640;
    fails(cuExternalMemoryGetMappedMipmappedArray(&none, memory, &desc), INVALID_VALUE,
          "past the end");
    desc.offset = 0;
    desc.arrayDesc.Flags = CUDA_ARRAY3D_SPARSE;
    fails(cuExternalMemoryGetMappedMipmappedArray(&none, memory, &desc), INVALID_VALUE, "sparse");
    desc.arrayDesc.Flags = 0;
    fails(cuExternalMemoryGetMappedMipmappedArray(NULL, memory, &desc), INVALID_VALUE, "null");
    success(cuDestroyExternalMemory(memory), "destroy the memory");
    fails(cuExternalMemoryGetMappedMipmappedArray(&none, memory, &desc), INVALID_HANDLE, "stale");
    box_check(levels[0], &all, 50, NULL, "what is mapped stays");
    success(cuMipmappedArrayDestroy(mipmap), "destroy");
    fails(cuMipmappedArrayDestroy(mipmap), INVALID_HANDLE, "twice");
    close(other);
}

/* A context that ends takes its arrays along, and what they have mapped. */
static void test_context_end(void)
{
    CUmemGenericAllocationHandle memory = pool_make();
    size_t before_B = free_B();
    CUcontext ctx, other;
    CUarrayMapInfo info;
    CUarray array;

    success(cuCtxGetCurrent(&ctx), "current");
    success(cuCtxCreate_v2(&other, 0, 0), "another context");
    array = array_make(300, 200, 0, CUDA_ARRAY3D_DEFERRED_MAPPING);
    info = change_make(array);
    memory_set(&info, memory, 0);
    success(cuMemMapArrayAsync(&info, 1, NULL), "map");
    success(cuMemRelease(memory), "release");
    success(cuCtxDestroy_v2(other), "destroy");
    success(cuCtxSetCurrent(ctx), "back");
    eq_u64(free_B(), before_B + POOL_B, "the memory is free");
}

int main(void)
{
    CUcontext ctx;
    int value = 0;

    success(cuInit(0), "cuInit");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    success(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, 0),
            "attribute");
    eq_u64((unsigned)value, 1, "sparse arrays are told");
    success(
        cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, 0),
        "attribute");
    eq_u64((unsigned)value, 1, "deferred mapping, too");
    pool = pool_make();
    test_deferred();
    test_deferred_mipmap();
    test_sparse();
    test_small();
    test_sparse_mipmap();
    test_slices();
    test_order();
    test_kernel();
    test_create_bad();
    test_bad();
    test_external();
    test_context_end();
    success(cuMemRelease(pool), "release");
    success(cuCtxDestroy_v2(ctx), "destroy");
    return done();
}
