/*
 * What cuTensorMapEncode..() refuses, what a kernel may not do with tensor maps, and maps that a
 * kernel changes.
 *
 *     test_api_tensor_bad DEVICE KERNELS
 */
#include <stdio.h>

#include "api/driver/cuda_abi.h"
#include "tap.h"

static CUdevice dev;
static CUcontext ctx;
static CUmodule module;
static CUdeviceptr memory;
static const char *kernels; /* a file */

/* ---- arguments */

struct tiled {
    CUtensorMapDataType type;
    cuuint32_t rank;
    uintptr_t address;
    cuuint64_t dim[5], stride_B[4];
    cuuint32_t box[5], step[5];
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion l2;
    CUtensorMapFloatOOBfill fill;
};

static const struct tiled good = {.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                                  .rank = 3,
                                  .address = 4096,
                                  .dim = {40, 9, 5},
                                  .stride_B = {96, 960},
                                  .box = {16, 4, 2},
                                  .step = {1, 2, 1},
                                  .swizzle = CU_TENSOR_MAP_SWIZZLE_32B};

static CUresult encode(const struct tiled *t, CUtensorMap *out)
{
    return cuTensorMapEncodeTiled(out, t->type, t->rank, (void *)t->address, t->dim, t->stride_B,
                                  t->box, t->step, t->interleave, t->swizzle, t->l2, t->fill);
}

#define REFUSED(what, ...)                                                                         \
    do {                                                                                           \
        struct tiled t = good;                                                                     \
        __VA_ARGS__;                                                                               \
        eq_u64(encode(&t, &map), CUDA_ERROR_INVALID_VALUE, "refused: %s", what);                   \
    } while (0)
#define TAKEN(what, ...)                                                                           \
    do {                                                                                           \
        struct tiled t = good;                                                                     \
        __VA_ARGS__;                                                                               \
        eq_u64(encode(&t, &map), CUDA_SUCCESS, "taken: %s", what);                                 \
    } while (0)

static void test_tiled(void)
{
    _Alignas(64) CUtensorMap maps[2];
    _Alignas(64) CUtensorMap map;

    TAKEN("a tensor of three dimensions", (void)t);
    eq_u64(encode(&good, (CUtensorMap *)((char *)maps + 16)), CUDA_SUCCESS,
           "taken: a map of the host's that is not aligned");
    eq_u64(encode(&good, &map), CUDA_SUCCESS, "and one that is");
    eq_mem((char *)maps + 16, &map, sizeof(map), "they are the same");
    REFUSED("no dimension", t.rank = 0);
    REFUSED("six dimensions", t.rank = 6);
    REFUSED("type", t.type = (CUtensorMapDataType)16);
    REFUSED("interleave", t.interleave = (CUtensorMapInterleave)3);
    REFUSED("swizzle", t.swizzle = (CUtensorMapSwizzle)7);
    REFUSED("L2 promotion", t.l2 = (CUtensorMapL2promotion)4);
    REFUSED("fill", t.fill = (CUtensorMapFloatOOBfill)2);
    REFUSED("address", t.address += 8);
    REFUSED("empty dimension", t.dim[1] = 0);
    REFUSED("dimension above 2^32", t.dim[1] = (1ull << 32) + 1);
    TAKEN("dimension of 2^32", t.dim[2] = 1ull << 32);
    REFUSED("stride", t.stride_B[1] = 968);
    REFUSED("stride of 2^40", t.stride_B[1] = 1ull << 40);
    REFUSED("empty box", t.box[2] = 0);
    REFUSED("box of 257", t.box[1] = 257);
    REFUSED("box of 65537", t.box[1] = 65537);
    TAKEN("box of 256", t.box[1] = 256);
    REFUSED("box of 12 bytes", t.box[0] = 6);
    REFUSED("row wider than the swizzle", t.box[0] = 32);
    TAKEN("row as wide as the swizzle", t.box[0] = 64, t.swizzle = CU_TENSOR_MAP_SWIZZLE_128B);
    REFUSED("no element stride", t.step[1] = 0);
    REFUSED("element stride of 9", t.step[1] = 9);
    TAKEN("element stride of dimension 0, which is ignored", t.step[0] = 0);
    REFUSED("NaN for integers", t.type = CU_TENSOR_MAP_DATA_TYPE_UINT16,
            t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
    REFUSED("interleave of two dimensions", t.rank = 2,
            t.interleave = CU_TENSOR_MAP_INTERLEAVE_16B);
    REFUSED("interleave of 32 bytes without its swizzle",
            t.interleave = CU_TENSOR_MAP_INTERLEAVE_32B, t.swizzle = CU_TENSOR_MAP_SWIZZLE_NONE);
    TAKEN("interleave of 32 bytes", t.interleave = CU_TENSOR_MAP_INTERLEAVE_32B);
    REFUSED("interleave of 32 bytes at 16", t.interleave = CU_TENSOR_MAP_INTERLEAVE_32B,
            t.address += 16);
    REFUSED("element stride of dimension 0", t.interleave = CU_TENSOR_MAP_INTERLEAVE_16B,
            t.step[0] = 0);
}

static void test_packed(void)
{
    _Alignas(64) CUtensorMap map;
#define PACKED(what, check, ...)                                                                   \
    check(what, t.type = CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B, t.dim[0] = 256,                    \
          t.stride_B[0] = 192, t.stride_B[1] = 1920, t.box[0] = 128,                               \
          t.swizzle = CU_TENSOR_MAP_SWIZZLE_128B, ##__VA_ARGS__)
    PACKED("elements of 6 bits", TAKEN);
    PACKED("128 elements of 6 bits", REFUSED, t.box[0] = 64);
    PACKED("a multiple of 128 of them", REFUSED, t.dim[0] = 192);
    PACKED("their strides", REFUSED, t.stride_B[1] = 1936);
    PACKED("their address", REFUSED, t.address += 16);
    PACKED("their swizzle", REFUSED, t.swizzle = CU_TENSOR_MAP_SWIZZLE_64B);
    PACKED("their atoms", REFUSED, t.swizzle = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B);
    PACKED("their interleave", REFUSED, t.interleave = CU_TENSOR_MAP_INTERLEAVE_16B);
    PACKED("4 bits in large atoms", REFUSED, t.type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B,
           t.swizzle = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B);
    REFUSED("an odd number of 4 bits", t.type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B, t.dim[0] = 41,
            t.box[0] = 32);
}

static CUresult images(int lower, int upper, cuuint32_t channels, cuuint32_t pixels)
{
    _Alignas(64) CUtensorMap map;
    const int l[] = {lower}, u[] = {upper};
    return cuTensorMapEncodeIm2col(&map, good.type, 3, (void *)good.address, good.dim,
                                   good.stride_B, l, u, channels, pixels, good.step,
                                   good.interleave, good.swizzle, good.l2, good.fill);
}

static CUresult wide(CUtensorMapIm2ColWideMode mode, cuuint32_t pixels, CUtensorMapSwizzle swizzle)
{
    _Alignas(64) CUtensorMap map;
    return cuTensorMapEncodeIm2colWide(&map, good.type, 3, (void *)good.address, good.dim,
                                       good.stride_B, 0, 0, 16, pixels, good.step, good.interleave,
                                       mode, swizzle, good.l2, good.fill);
}

static void test_images(void)
{
    const CUresult no = CUDA_ERROR_INVALID_VALUE;
    const CUtensorMapIm2ColWideMode w = CU_TENSOR_MAP_IM2COL_WIDE_MODE_W,
                                    w128 = CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128;

    eq_u64(images(-1, 1, 16, 64), CUDA_SUCCESS, "taken: images");
    eq_u64(images(-40000, 1, 16, 64), no, "refused: a corner");
    eq_u64(images(4, -5, 16, 64), no, "refused: an empty box of pixels");
    eq_u64(images(-1, 1, 0, 64), no, "refused: no channels");
    eq_u64(images(-1, 1, 264, 64), no, "refused: too many channels");
    eq_u64(images(-1, 1, 16, 1025), no, "refused: too many pixels");
    eq_u64(wide(w, 64, CU_TENSOR_MAP_SWIZZLE_64B), CUDA_SUCCESS, "taken: pixels along W");
    eq_u64(wide(w128, 0, CU_TENSOR_MAP_SWIZZLE_64B), CUDA_SUCCESS, "taken: 128 of them");
    eq_u64(wide(w, 0, CU_TENSOR_MAP_SWIZZLE_64B), no, "refused: none of them");
    eq_u64(wide(w, 64, CU_TENSOR_MAP_SWIZZLE_NONE), no, "refused: without swizzle");
    eq_u64(wide((CUtensorMapIm2ColWideMode)2, 64, CU_TENSOR_MAP_SWIZZLE_64B), no, "refused: mode");
}

static void test_move(void)
{
    _Alignas(64) CUtensorMap map;
    _Alignas(64) CUtensorMap want;
    struct tiled t = good;

    encode(&t, &map);
    t.address += 4096;
    encode(&t, &want);
    eq_u64(cuTensorMapReplaceAddress(&map, (void *)t.address), CUDA_SUCCESS, "another address");
    eq_mem(&map, &want, sizeof(map), "as if it had been encoded so");
    eq_u64(cuTensorMapReplaceAddress(&map, (void *)8), CUDA_ERROR_INVALID_VALUE, "misaligned");
    memset(&map, 0xab, sizeof(map));
    eq_u64(cuTensorMapReplaceAddress(&map, NULL), CUDA_ERROR_INVALID_VALUE, "no map");
}

/* ---- kernels */

static void begin(void)
{
    if (cuCtxCreate_v2(&ctx, 0, dev) || cuModuleLoad(&module, kernels) ||
        cuMemAlloc_v2(&memory, 1 << 16))
        abort();
}

static CUresult run(const char *name, unsigned threads, CUdeviceptr map, uint64_t second)
{
    void *params[] = {&map, &second};
    CUfunction kernel;
    CUresult r = cuModuleGetFunction(&kernel, module, name);

    r = r ? r : cuLaunchKernel(kernel, 1, 1, 1, threads, 1, 1, 0, NULL, params, NULL);
    return r ? r : cuCtxSynchronize();
}

enum { MAP = 1024, OUT = 4096, TENSOR = 8192 }; /* in `memory` */

static struct tiled wanted(void)
{
    struct tiled t = good;
    t.rank = 2;
    t.address = memory + TENSOR;
    t.box[1] = 8;
    t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    return t;
}

static void put_map(const struct tiled *t)
{
    _Alignas(64) CUtensorMap map;
    if (encode(t, &map) || cuMemcpyHtoD_v2(memory + MAP, &map, sizeof(map)))
        abort();
}

static void loaded(unsigned char *out)
{
    eq_u64(run("load", 1, memory + MAP, memory + OUT), CUDA_SUCCESS, "a copy");
    eq_u64(cuMemcpyDtoH_v2(out, memory + OUT, 128), CUDA_SUCCESS, "what it got");
}

static void test_change(void)
{
    unsigned char tensor[4096], want[128], got[128];
    struct tiled t;

    begin();
    for (unsigned i = 0; i < sizeof(tensor); i++)
        tensor[i] = (unsigned char)(i * 7 + i / 96);
    cuMemcpyHtoD_v2(memory + TENSOR, tensor, sizeof(tensor));
    t = wanted();
    put_map(&t);
    loaded(want);
    ok(!memcmp(want, "\xf7\x7f\xf7\x7f", 4), "the row before the tensor is NaN");
    ok(memcmp(want, want + 32, 32) != 0, "the next is not");
    t = (struct tiled){.address = memory,
                       .rank = 1,
                       .dim = {64},
                       .box = {32},
                       .step = {1},
                       .swizzle = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B};
    put_map(&t);
    eq_u64(run("change", 32, memory + MAP, memory + TENSOR), CUDA_SUCCESS, "all fields change");
    loaded(got);
    eq_mem(got, want, sizeof(want), "the copy by the changed map");
    cuMemsetD8_v2(memory + MAP, 0, sizeof(CUtensorMap));
    memset(got, 0, sizeof(got));
    eq_u64(run("change", 32, memory + MAP, memory + TENSOR), CUDA_SUCCESS, "zeros become a map");
    loaded(got);
    eq_mem(got, want, sizeof(want), "the copy by it");
    eq_u64(run("spoil", 1, memory + MAP, 65544), CUDA_SUCCESS, "a field gets a wrong value");
    eq_u64(run("load", 1, memory + MAP, memory + OUT), CUDA_ERROR_ILLEGAL_INSTRUCTION,
           "which the copy finds");
    cuCtxDestroy_v2(ctx);
}

static void fails(const char *name, CUdeviceptr offset, CUresult want, const char *what)
{
    struct tiled t;

    begin();
    t = wanted();
    put_map(&t);
    eq_u64(run(name, 1, offset ? memory + offset : 0, memory + OUT), want, "%s", what);
    eq_u64(cuCtxSynchronize(), want, "and that stays");
    cuCtxDestroy_v2(ctx);
}

static void test_faults(void)
{
    const CUresult bad = CUDA_ERROR_ILLEGAL_INSTRUCTION;

    fails("load", OUT, bad, "memory that is no map");
    fails("load", MAP + 16, CUDA_ERROR_MISALIGNED_ADDRESS, "a map that is not aligned");
    fails("load", 0, CUDA_ERROR_ILLEGAL_ADDRESS, "a map that is nowhere");
    fails("three", MAP, bad, "another number of dimensions");
    fails("images", MAP, bad, "another mode");
    fails("before", MAP, bad, "a copy to before the tensor");
    fails("shifted", MAP, CUDA_ERROR_MISALIGNED_ADDRESS, "a box that is not aligned");
    fails("outside", MAP, CUDA_ERROR_ILLEGAL_ADDRESS, "a box outside of shared memory");
}

int main(int argc, char **argv)
{
    setenv("HEDDLE_MEMORY", "256M", 1);
    setenv("HEDDLE_CACHE", "off", 1);
    if (argc < 3)
        return 2;
    setenv("HEDDLE_DEVICE", argv[1], 1);
    kernels = argv[2];
    if (!ok(!cuInit(0) && !cuDeviceGet(&dev, 0), "device"))
        return done();
    test_tiled();
    test_packed();
    test_images();
    test_move();
    test_change();
    test_faults();
    return done();
}
