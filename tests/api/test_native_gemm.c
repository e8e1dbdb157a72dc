/*
 * A library of native kernels (native_gemm.h): products of matrices by the helpers of generated
 * code and by the PTX in their place have the same bits, launched, inline and in a graph.
 */
#include "api/driver/cuda_abi.h"
#include "native_gemm.h"
#include "tap.h"

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)

enum { M = 128, N = 64, K = 160 };
static uint32_t m = M, n = N, k = K; /* less for the interpreter */

static uint32_t native_c[M * N], ptx_c[M * N];
static CUdeviceptr a, b, c;

/* Small numbers and fractions, all of them finite. */
static void fill(CUdeviceptr to, enum gemm_kind kind, size_t count, uint64_t *random)
{
    for (size_t i = 0; i < count; i++) {
        int64_t x = (int64_t)(tap_random(random) % 255) - 127;
        float f = (float)x / 16.0f * (float)(1 + tap_random(random) % 3);
        uint32_t bits;

        memcpy(&bits, &f, sizeof(bits));
        if (kind == GEMM_S8)
            ((int8_t *)(uintptr_t)to)[i] = (int8_t)x;
        else if (kind == GEMM_BF16)
            ((uint16_t *)(uintptr_t)to)[i] = (uint16_t)(bits >> 16);
        else
            ((float *)(uintptr_t)to)[i] = f;
    }
}

static CUresult launch(CUfunction f, CUstream stream)
{
    void *params[] = {&a, &b, &c, &n, &k};

    return cuLaunchKernel(f, n / 64, m / 64, 1, 32, 1, 1, 0, stream, params, NULL);
}

static void take(uint32_t *to)
{
    success(cuCtxSynchronize(), "done");
    success(cuMemcpyDtoH_v2(to, c, sizeof(native_c)), "read back");
    success(cuMemsetD8_v2(c, 0xff, sizeof(native_c)), "and forgotten");
}

static void test_kind(enum gemm_kind kind, uint32_t flags, const char *ptx)
{
    const char *name = gemm_kinds[kind].name;
    const struct heddle_native desc = {.size_B = sizeof(desc),
                                       .flags = flags,
                                       .name = name,
                                       .function = gemm_kinds[kind].function,
                                       .ptx = ptx,
                                       .tile_ns = gemm_kinds[kind].tile_ns};
    struct heddle_native_kernel *kernel;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    CUfunction f;

    diag("%s, flags %u", name, flags);
    success(heddle_native_register(&desc, &kernel), "registered");
    success(heddle_native_get_function(kernel, &f), "as a function");
    success(launch(f, NULL), "launched");
    take(native_c);
    eq_mem(native_c, ptx_c, sizeof(ptx_c), "%s: every bit as of the PTX", name);
    success(cuStreamCreate(&stream, 0), "stream");
    success(cuStreamBeginCapture_v2(stream, 0), "capture");
    success(launch(f, stream), "captured");
    success(cuStreamEndCapture(stream, &graph), "captured");
    success(cuGraphInstantiateWithFlags(&exec, graph, 0), "instantiated");
    success(cuGraphLaunch(exec, stream), "launched");
    take(native_c);
    eq_mem(native_c, ptx_c, sizeof(ptx_c), "%s: in a graph, too", name);
    success(cuGraphExecDestroy(exec), "destroyed");
    success(cuGraphDestroy(graph), "destroyed");
    success(cuStreamDestroy_v2(stream), "destroyed");
    success(heddle_native_unregister(kernel), "unregistered");
}

static void test_product(enum gemm_kind kind, uint64_t *random)
{
    struct hd_buf ptx;
    CUmodule module;
    CUfunction f;

    fill(a, kind, (size_t)m * k, random);
    fill(b, kind, (size_t)n * k, random);
    hd_buf_init(&ptx);
    gemm_ptx(&ptx, kind);
    success(cuModuleLoadData(&module, ptx.ptr), "the PTX by itself");
    success(cuModuleGetFunction(&f, module, gemm_kinds[kind].name), "its kernel");
    success(launch(f, NULL), "launched");
    take(ptx_c);
    test_kind(kind, 0, ptx.ptr);
    test_kind(kind, HEDDLE_NATIVE_ANY_THREAD, ptx.ptr);
    test_kind(kind, HEDDLE_NATIVE_INLINE | HEDDLE_NATIVE_WAIT, ptx.ptr);
    success(cuModuleUnload(module), "unloaded");
    hd_buf_fini(&ptx);
}

int main(void)
{
    uint64_t random = tap_seed();
    enum jit_path path;
    CUcontext ctx;

    if (jit_path_get(&path) != HD_OK)
        return skip_all("this host does not have HEDDLE_CPU");
    if (getenv("HEDDLE_DEVICE") && !strcmp(getenv("HEDDLE_DEVICE"), "interp"))
        m = 64, k = 32;
    success(cuInit(0), "init");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    success(cuMemAllocManaged(&a, (size_t)M * K * 4, 1), "a");
    success(cuMemAllocManaged(&b, (size_t)N * K * 4, 1), "b");
    success(cuMemAlloc_v2(&c, sizeof(native_c)), "c");
    success(cuMemsetD8_v2(c, 0xff, sizeof(native_c)), "of something else");
    for (int kind = 0; kind < GEMM_KINDS; kind++)
        test_product((enum gemm_kind)kind, &random);
    success(cuCtxDestroy_v2(ctx), "the end");
    return done();
}
