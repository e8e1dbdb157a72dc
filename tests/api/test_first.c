/*
 * Calls of the first version: arrays and boxes of copies with 32 bits, launches that are set up
 * call by call. Device addresses of 32 bits are those of memory that the program places itself.
 */
#include <sys/mman.h>

#include "driver_fixture.h"

enum { LOW_B = 1 << 16 };

static unsigned char *low; /* memory of the host below 4 GiB, registered */

static CUdeviceptr_v1 low_at(size_t offset)
{
    return (CUdeviceptr_v1)(uintptr_t)(low + offset);
}

static void low_create(void)
{
    CUdeviceptr_v1 ptr = 0;

    low = mmap(NULL, LOW_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    ok(low != MAP_FAILED, "memory below 4 GiB");
    success(cuMemHostRegister(low, LOW_B, CU_MEMHOSTREGISTER_DEVICEMAP), "registered");
    success(cuMemHostGetDevicePointer(&ptr, low, 0), "its address fits 32 bits");
    eq_u64(ptr, low_at(0), "and is the host's");
}

static void low_destroy(void)
{
    success(cuMemHostUnregister(low), "unregistered");
    munmap(low, LOW_B);
}

static void test_linear(void)
{
    unsigned char bytes[16];
    CUdeviceptr_v1 base = 0;
    unsigned size_B = 0;

    success(cuMemsetD8(low_at(0), 0x11, 64), "memset");
    success(cuMemsetD2D16(low_at(64), 8, 0x2233, 2, 2), "memset of rows");
    memset(bytes, 0x44, sizeof(bytes));
    success(cuMemcpyHtoD(low_at(16), bytes, 8), "to the device");
    success(cuMemcpyDtoD(low_at(32), low_at(12), 8), "on it");
    memset(bytes, 0, sizeof(bytes));
    success(cuMemcpyDtoH(bytes, low_at(32), 8), "from it");
    eq_mem(bytes, "\x11\x11\x11\x11\x44\x44\x44\x44", 8, "what was copied");
    ok(low[64] == 0x33 && low[67] == 0x22 && !low[68] && low[72] == 0x33, "two rows of two");
    success(cuMemGetAddressRange(&base, &size_B, low_at(100)), "its range");
    eq_u64(base, low_at(0), "begins there");
    eq_u64(size_B, LOW_B, "and is as long");
}

static void test_linear_async(void)
{
    unsigned char in[8] = "to there", out[8] = {0};
    CUstream stream;

    success(cuStreamCreate(&stream, 0), "stream");
    success(cuMemsetD16(low_at(128), 0x5566, 4), "memset");
    success(cuMemsetD2D8(low_at(136), 8, 0x77, 4, 2), "memset of rows");
    success(cuMemcpyHtoDAsync(low_at(512), in, 8, stream), "to the device");
    success(cuMemcpyDtoDAsync(low_at(520), low_at(512), 8, stream), "on it");
    success(cuMemcpyDtoHAsync(out, low_at(520), 8, stream), "from it");
    success(cuStreamSynchronize(stream), "wait");
    eq_mem(out, in, 8, "copied three times");
    ok(low[128] == 0x66 && low[135] == 0x55, "four of two bytes");
    ok(low[136] == 0x77 && low[139] == 0x77 && !low[140] && low[147] == 0x77, "two rows of four");
    success(cuMemcpyPeer((uintptr_t)low + 528, NULL, (uintptr_t)low + 512, NULL, 8), "peers");
    eq_mem(low + 528, in, 8, "are this device");
    success(cuStreamWriteValue64(stream, (uintptr_t)low + 1024, 7, 0), "write");
    success(cuStreamWaitValue64(stream, (uintptr_t)low + 1024, 7, CU_STREAM_WAIT_VALUE_EQ), "wait");
    success(cuStreamSynchronize(stream), "which ends");
    eq_u64(*(uint64_t *)(low + 1024), 7, "written");
    success(cuStreamDestroy(stream), "destroy");
}

/* What is not where 32 bits reach. */
static void test_far(CUmodule module)
{
    CUdeviceptr_v1 ptr = 1;
    unsigned size_B = 0;

    eq_u64(cuMemAllocPitch(&ptr, &size_B, 100, 4, 4), CUDA_ERROR_OUT_OF_MEMORY, "rows");
    eq_u64(cuModuleGetGlobal(&ptr, &size_B, module, "table"), CUDA_ERROR_OUT_OF_MEMORY,
           "a variable");
    eq_u64(ptr, 1, "nothing is told");
    success(cuModuleGetGlobal(NULL, &size_B, module, "table"), "its size alone");
    eq_u64(size_B, 64, "fits");
    eq_u64(cuModuleGetGlobal(NULL, &size_B, module, "none"), CUDA_ERROR_NOT_FOUND, "no variable");
}

/* ---- arrays */

static void test_array_row(void)
{
    CUDA_ARRAY_DESCRIPTOR_v1 desc = {16, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1}, got = {0};
    CUarray a, b;
    unsigned in[16], out[16] = {0};
    CUstream stream;

    for (unsigned i = 0; i < 16; i++)
        in[i] = 100 + i;
    success(cuArrayCreate(&a, &desc), "array");
    success(cuArrayCreate(&b, &desc), "another");
    success(cuArrayGetDescriptor(&got, a), "its descriptor");
    eq_mem(&got, &desc, sizeof(got), "as it was made");
    success(cuMemcpyHtoA(a, 0, in, sizeof(in)), "host to array");
    success(cuMemcpyAtoA(b, 8, a, 4, 32), "array to array");
    success(cuMemcpyAtoH(out, b, 8, 32), "array to host");
    eq_mem(out, in + 1, 32, "eight of them");
    success(cuMemcpyAtoD(low_at(256), a, 0, 64), "array to device");
    eq_mem(low + 256, in, 64, "all");
    success(cuMemsetD32(low_at(256), 7, 1), "another first one");
    success(cuMemcpyDtoA(b, 4, low_at(256), 8), "device to array");
    success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    success(cuMemcpyAtoHAsync(out, b, 4, 8, stream), "array to host in a stream");
    success(cuMemcpyHtoAAsync(a, 60, in, 4, stream), "host to array in a stream");
    success(cuStreamSynchronize(stream), "wait");
    ok(out[0] == 7 && out[1] == 101, "what was copied");
    success(cuMemcpyAtoH(out, a, 60, 4), "the last one");
    eq_u64(out[0], 100, "is the first");
    eq_u64(cuMemcpyAtoH(out, a, 60, 8), CUDA_ERROR_INVALID_VALUE, "beyond the end");
    eq_u64(cuMemcpyAtoD(0, a, 0, 4), CUDA_ERROR_INVALID_VALUE, "to no address");
    success(cuStreamDestroy(stream), "destroy");
    success(cuArrayDestroy(a), "destroy");
    success(cuArrayDestroy(b), "destroy");
    eq_u64(cuMemcpyAtoH(out, a, 0, 4), CUDA_ERROR_INVALID_HANDLE, "an array that is gone");
    eq_u64(cuArrayGetDescriptor(&got, a), CUDA_ERROR_INVALID_HANDLE, "an array that is gone");
    desc.NumChannels = 3;
    eq_u64(cuArrayCreate(&a, &desc), CUDA_ERROR_INVALID_VALUE, "three channels");
}

static void test_array_3d(void)
{
    const CUDA_ARRAY3D_DESCRIPTOR_v1 desc = {
        8, 4, 2, CU_AD_FORMAT_UNSIGNED_INT8, 2, CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_ARRAY3D_DESCRIPTOR_v1 got = {0};
    CUDA_MEMCPY3D_v1 c = {0};
    unsigned char in[128], out[128] = {0};
    CUarray a;

    for (unsigned i = 0; i < 128; i++)
        in[i] = (unsigned char)i;
    success(cuArray3DCreate(&a, &desc), "array");
    success(cuArray3DGetDescriptor(&got, a), "its descriptor");
    eq_mem(&got, &desc, sizeof(got), "as it was made");
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = in;
    c.srcPitch = 16;
    c.srcHeight = 4;
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = a;
    c.WidthInBytes = 16;
    c.Height = 4;
    c.Depth = 2;
    success(cuMemcpy3D(&c), "host to array");
    c = (CUDA_MEMCPY3D_v1){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                           .srcArray = a,
                           .srcXInBytes = 2,
                           .srcY = 1,
                           .srcZ = 1,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = out,
                           .dstPitch = 8,
                           .dstHeight = 2,
                           .WidthInBytes = 4,
                           .Height = 2,
                           .Depth = 1};
    success(cuMemcpy3DAsync(&c, NULL), "a part of it back");
    success(cuCtxSynchronize(), "wait");
    eq_mem(out, in + 64 + 16 + 2, 4, "its first row");
    eq_mem(out + 8, in + 64 + 32 + 2, 4, "its second row");
    c.srcZ = 2;
    eq_u64(cuMemcpy3D(&c), CUDA_ERROR_INVALID_VALUE, "beyond the last slice");
    c.srcZ = 0;
    c.srcLOD = 1;
    eq_u64(cuMemcpy3D(&c), CUDA_ERROR_INVALID_VALUE, "a level");
    eq_u64(cuMemcpy3D(NULL), CUDA_ERROR_INVALID_VALUE, "null");
    success(cuArrayDestroy(a), "destroy");
}

static void test_boxes(void)
{
    CUDA_MEMCPY2D_v1 c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcPitch = 8,
                          .srcXInBytes = 1,
                          .srcY = 1,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = low_at(1024),
                          .dstPitch = 32,
                          .dstXInBytes = 2,
                          .dstY = 3,
                          .WidthInBytes = 4,
                          .Height = 2};
    unsigned char in[32], out[8] = {0};

    for (unsigned i = 0; i < 32; i++)
        in[i] = (unsigned char)(i + 1);
    memset(low + 1024, 0, 256);
    c.srcHost = in;
    success(cuMemcpy2D(&c), "host to device");
    eq_mem(low + 1024 + 3 * 32 + 2, in + 9, 4, "the first row");
    eq_mem(low + 1024 + 4 * 32 + 2, in + 17, 4, "the second row");
    ok(!low[1024 + 3 * 32 + 1] && !low[1024 + 3 * 32 + 6], "and nothing beside them");
    c = (CUDA_MEMCPY2D_v1){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = low_at(1024 + 3 * 32 + 2),
                           .srcPitch = 32,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = out,
                           .dstPitch = 4,
                           .WidthInBytes = 4,
                           .Height = 2};
    success(cuMemcpy2DUnaligned(&c), "device to host");
    eq_mem(out + 4, in + 17, 4, "the second row");
    memset(out, 0, sizeof(out));
    success(cuMemcpy2DAsync(&c, NULL), "in a stream");
    success(cuCtxSynchronize(), "wait");
    eq_mem(out, in + 9, 4, "the first row");
    c.srcDevice = 0x1000;
    eq_u64(cuMemcpy2D(&c), CUDA_ERROR_INVALID_VALUE, "memory of nobody");
    c.srcMemoryType = (CUmemorytype)9;
    eq_u64(cuMemcpy2DUnaligned(&c), CUDA_ERROR_INVALID_VALUE, "a type of memory that is none");
    eq_u64(cuMemcpy2DAsync(NULL, NULL), CUDA_ERROR_INVALID_VALUE, "null");
}

/* ---- launches */

struct sums {
    CUdeviceptr a, b, c;
    float *host;
};

enum { COUNT = 256 };

static struct sums sums_create(void)
{
    struct sums s;

    success(cuMemAllocManaged(&s.a, 3 * COUNT * sizeof(float), CU_MEM_ATTACH_GLOBAL), "memory");
    s.b = s.a + COUNT * sizeof(float);
    s.c = s.b + COUNT * sizeof(float);
    s.host = (float *)(uintptr_t)s.a;
    for (unsigned i = 0; i < COUNT; i++) {
        s.host[i] = (float)i;
        s.host[COUNT + i] = 1000;
        s.host[2 * COUNT + i] = -1;
    }
    return s;
}

static unsigned sums_done(struct sums *s)
{
    unsigned n = 0;

    success(cuCtxSynchronize(), "wait");
    for (unsigned i = 0; i < COUNT; i++)
        n += s->host[2 * COUNT + i] == (float)i + 1000;
    return n;
}

/* Block and parameters of `add`. */
static void add_setup(CUfunction add, struct sums *s, unsigned n)
{
    success(cuFuncSetBlockShape(add, 32, 1, 1), "block");
    success(cuFuncSetSharedSize(add, 64), "shared memory");
    success(cuParamSetv(add, 0, &s->a, 24), "three addresses");
    success(cuParamSeti(add, 24, n), "a number");
    success(cuParamSetSize(add, 28), "size");
}

static void test_launch(CUmodule module)
{
    CUfunction add = driver_function(module, "add");
    struct sums s = sums_create();
    CUstream stream;

    eq_u64(cuLaunch(add), CUDA_ERROR_INVALID_VALUE, "nothing was said");
    add_setup(add, &s, COUNT);
    success(cuLaunch(add), "one block");
    eq_u64(sums_done(&s), 32, "its sums");
    success(cuLaunchGrid(add, 2, 1), "two, as was said before");
    eq_u64(sums_done(&s), 64, "their sums");
    success(cuParamSeti(add, 24, 100), "another number");
    success(cuLaunchGrid(add, 8, 1), "all blocks");
    eq_u64(sums_done(&s), 100, "as many as were asked for");
    success(cuParamSeti(add, 24, COUNT), "all of them");
    success(cuParamSetSize(add, 32), "rounded up");
    success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    success(cuLaunchGridAsync(add, 8, 1, stream), "in a stream");
    success(cuParamSetv(add, 0, &s.b, 8), "what is said later is for later launches");
    eq_u64(sums_done(&s), COUNT, "all sums");
    success(cuStreamDestroy(stream), "destroy");
    success(cuMemFree_v2(s.a), "free");
}

static void test_launch_bad(CUmodule module)
{
    CUfunction add = driver_function(module, "add");
    struct sums s = sums_create();

    add_setup(add, &s, COUNT);
    eq_u64(cuFuncSetBlockShape(add, 0, 1, 1), CUDA_ERROR_INVALID_VALUE, "no threads");
    eq_u64(cuFuncSetBlockShape(add, 32, -1, 1), CUDA_ERROR_INVALID_VALUE, "less than none");
    eq_u64(cuFuncSetBlockShape(add, 1024, 2, 1), CUDA_ERROR_INVALID_VALUE, "too many");
    eq_u64(cuParamSeti(add, -4, 0), CUDA_ERROR_INVALID_VALUE, "before the parameters");
    eq_u64(cuParamSeti(add, 28, 0), CUDA_ERROR_INVALID_VALUE, "behind them");
    eq_u64(cuParamSetf(add, 25, 0), CUDA_ERROR_INVALID_VALUE, "half behind them");
    eq_u64(cuParamSetv(add, 0, NULL, 4), CUDA_ERROR_INVALID_VALUE, "null");
    eq_u64(cuParamSetv(add, 8, &s.a, UINT32_MAX), CUDA_ERROR_INVALID_VALUE, "all memory");
    eq_u64(cuParamSetSize(add, 1u << 20), CUDA_ERROR_INVALID_VALUE, "too large");
    eq_u64(cuLaunchGrid(add, 0, 1), CUDA_ERROR_INVALID_VALUE, "no blocks");
    eq_u64(cuLaunchGrid(add, 1, -1), CUDA_ERROR_INVALID_VALUE, "less than none");
    success(cuParamSetSize(add, 24), "too small");
    eq_u64(cuLaunch(add), CUDA_ERROR_INVALID_VALUE, "is told by the launch");
    success(cuParamSetSize(add, 28), "as it was");
    success(cuFuncSetSharedSize(add, 1u << 30), "too much shared memory");
    eq_u64(cuLaunch(add), CUDA_ERROR_INVALID_VALUE, "is told by the launch");
    success(cuFuncSetSharedSize(add, 0), "none");
    eq_u64(cuParamSetTexRef(add, 0, NULL), CUDA_ERROR_INVALID_VALUE, "texture unit 0");
    eq_u64(cuParamSetTexRef(add, CU_PARAM_TR_DEFAULT, NULL), CUDA_ERROR_INVALID_HANDLE,
           "no reference");
    eq_u64(cuLaunch((CUfunction)&s), CUDA_ERROR_INVALID_HANDLE, "no function");
    eq_u64(cuFuncSetBlockShape(NULL, 1, 1, 1), CUDA_ERROR_INVALID_HANDLE, "no function");
    eq_u64(cuLaunchGridAsync(add, 1, 1, (CUstream)&s), CUDA_ERROR_INVALID_HANDLE, "no stream");
    success(cuLaunchGrid(add, 8, 1), "none of it was taken");
    eq_u64(sums_done(&s), COUNT, "all sums");
    success(cuMemFree_v2(s.a), "free");
}

/* A captured launch has what was said when it was captured. */
static void test_launch_captured(CUmodule module)
{
    CUfunction add = driver_function(module, "add");
    struct sums s = sums_create();
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;

    add_setup(add, &s, 64);
    success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    success(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "capture");
    success(cuLaunchGridAsync(add, 8, 1, stream), "launch");
    success(cuStreamEndCapture(stream, &graph), "end");
    success(cuParamSeti(add, 24, 1), "another number");
    eq_u64(sums_done(&s), 0, "nothing ran");
    success(cuGraphInstantiateWithFlags(&exec, graph, 0), "instantiate");
    success(cuGraphLaunch(exec, stream), "launch");
    eq_u64(sums_done(&s), 64, "the sums");
    success(cuGraphExecDestroy(exec), "destroy");
    success(cuGraphDestroy(graph), "destroy");
    success(cuStreamDestroy(stream), "destroy");
    success(cuMemFree_v2(s.a), "free");
}

int main(void)
{
    CUcontext ctx;
    CUmodule module;
    CUfunction add;

    setenv("HEDDLE_MEMORY", "64M", 1);
    success(cuInit(0), "cuInit");
    success(cuCtxCreate(&ctx, 0, 0), "context");
    success(cuModuleLoadData(&module, driver_ptx), "module");
    low_create();
    test_linear();
    test_linear_async();
    test_far(module);
    test_array_row();
    test_array_3d();
    test_boxes();
    low_destroy();
    test_launch(module);
    test_launch_bad(module);
    test_launch_captured(module);
    add = driver_function(module, "add");
    success(cuModuleUnload(module), "unload");
    eq_u64(cuLaunch(add), CUDA_ERROR_INVALID_HANDLE, "a function that is gone");
    eq_u64(cuParamSetf(add, 0, 1), CUDA_ERROR_INVALID_HANDLE, "a function that is gone");
    success(cuCtxDestroy(ctx), "destroy");
    return done();
}
