/*
 * Copies between arrays, memory of the device and of the host, byte by byte; and what the driver
 * tells of objects that were made of arrays.
 */
#include "driver_fixture.h"

#define invalid(call, ...) eq_u64((call), CUDA_ERROR_INVALID_VALUE, __VA_ARGS__)

enum { N = 32, SIZE_B = N * 4 };

static CUarray row_create(void)
{
    CUDA_ARRAY_DESCRIPTOR desc = {N, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1};
    CUarray array = NULL;

    success(cuArrayCreate_v2(&array, &desc), "an array of one row");
    return array;
}

static void test_copies(void)
{
    unsigned in[N], out[N] = {0};
    CUarray a = row_create(), b = row_create();
    CUdeviceptr at;
    CUstream stream;

    for (unsigned i = 0; i < N; i++)
        in[i] = 1000 + i;
    success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    success(cuMemAlloc_v2(&at, SIZE_B), "memory");
    success(cuMemcpyHtoD_v2(at, in, SIZE_B), "fill it");
    success(cuMemcpyDtoA_v2(a, 0, at, SIZE_B), "device to array");
    success(cuMemcpyAtoH_v2(out, a, 0, SIZE_B), "array to host");
    eq_mem(out, in, SIZE_B, "all of it");
    success(cuMemcpyAtoA_v2(b, 8, a, 4, 64), "array to array");
    memset(out, 0, sizeof(out));
    success(cuMemcpyAtoHAsync_v2(out, b, 8, 64, stream), "array to host");
    success(cuStreamSynchronize(stream), "wait");
    eq_mem(out, in + 1, 64, "sixteen of them");
    success(cuMemcpyHtoAAsync_v2(b, 16, in, 32, stream), "host to array");
    success(cuStreamSynchronize(stream), "wait");
    success(cuMemcpyAtoD_v2(at, b, 16, 32), "array to device");
    success(cuMemcpyDtoH_v2(out, at, 32), "look");
    eq_mem(out, in, 32, "eight of them");
    invalid(cuMemcpyDtoA_v2(a, SIZE_B - 4, at, 8), "beyond the array's end");
    invalid(cuMemcpyAtoA_v2(a, 0, b, SIZE_B, 4), "from beyond it");
    invalid(cuMemcpyAtoD_v2(at + SIZE_B - 4, a, 0, 8), "beyond the memory's end");
    success(cuArrayDestroy(b), "destroy");
    eq_u64(cuMemcpyAtoH_v2(out, b, 0, 4), CUDA_ERROR_INVALID_HANDLE, "an array that is gone");
    success(cuArrayDestroy(a), "destroy");
    success(cuMemFree_v2(at), "free");
    success(cuStreamDestroy(stream), "destroy");
}

static void test_objects(void)
{
    CUDA_ARRAY3D_DESCRIPTOR desc = {
        N, 4, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY}, got = {0};
    CUDA_RESOURCE_VIEW_DESC view = {.format = CU_RES_VIEW_FORMAT_UINT_1X32,
                                    .width = N,
                                    .height = 4},
                            seen = {0};
    CUDA_TEXTURE_DESC how = {.flags = CU_TRSF_READ_AS_INTEGER};
    CUtexObject plain, viewed;
    CUsurfObject surface;
    CUarray array;

    success(cuArray3DCreate_v2(&array, &desc), "array");
    resource.res.array.hArray = array;
    success(cuTexObjectCreate(&plain, &resource, &how, NULL), "a texture");
    success(cuTexObjectCreate(&viewed, &resource, &how, &view), "another, with a view");
    success(cuSurfObjectCreate(&surface, &resource), "a surface");
    success(cuTexObjectGetResourceDesc(&got, plain), "ask");
    ok(got.resType == CU_RESOURCE_TYPE_ARRAY && got.res.array.hArray == array, "the array");
    memset(&got, 0, sizeof(got));
    success(cuSurfObjectGetResourceDesc(&got, surface), "ask");
    ok(got.resType == CU_RESOURCE_TYPE_ARRAY && got.res.array.hArray == array, "the array");
    success(cuTexObjectGetResourceViewDesc(&seen, viewed), "ask");
    ok(seen.format == view.format && seen.width == N && seen.height == 4, "the view");
    invalid(cuTexObjectGetResourceViewDesc(&seen, plain), "there is none");
    invalid(cuTexObjectGetResourceDesc(NULL, plain), "nowhere");
    success(cuSurfObjectDestroy(surface), "destroy");
    success(cuTexObjectDestroy(plain), "destroy");
    success(cuTexObjectDestroy(viewed), "destroy");
    success(cuArrayDestroy(array), "destroy");
}

int main(void)
{
    CUcontext ctx;

    setenv("HEDDLE_MEMORY", "64M", 1);
    success(cuInit(0), "init");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    test_copies();
    test_objects();
    success(cuCtxDestroy(ctx), "destroy");
    return done();
}
