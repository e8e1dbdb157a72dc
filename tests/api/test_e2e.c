/*
 * From PTX text to results through libcuda's entry points with nothing replaced: compile, code
 * generation or interpreter (HEDDLE_DEVICE), launch, and a wild access at the end.
 */
#include "api/driver/cuda_abi.h"
#include "tap.h"

#define N 5000

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .global .align 4 .u32 factor = 3;\n"
                          ".visible .entry fma(.param .u64 a, .param .u64 b, .param .u32 n)\n"
                          "{\n"
                          "  .reg .pred p; .reg .b32 r<8>; .reg .b64 d<8>; .reg .f32 f<4>;\n"
                          "  ld.param.u64 d1, [a]; ld.param.u64 d2, [b]; ld.param.u32 r1, [n];\n"
                          "  mov.u32 r2, %ctaid.x; mov.u32 r3, %ntid.x; mov.u32 r4, %tid.x;\n"
                          "  mad.lo.s32 r5, r2, r3, r4;\n"
                          "  setp.ge.s32 p, r5, r1;\n"
                          "  @p bra DONE;\n"
                          "  mul.wide.s32 d3, r5, 4;\n"
                          "  cvta.to.global.u64 d1, d1; cvta.to.global.u64 d2, d2;\n"
                          "  add.s64 d4, d1, d3; add.s64 d5, d2, d3;\n"
                          "  ld.global.f32 f1, [d4]; ld.global.f32 f2, [d5];\n"
                          "  ld.global.u32 r6, [factor]; cvt.rn.f32.u32 f3, r6;\n"
                          "  fma.rn.f32 f2, f1, f3, f2;\n"
                          "  st.global.f32 [d5], f2;\n"
                          "DONE:\n"
                          "  ret;\n"
                          "}\n";

static void test_fma(CUfunction func)
{
    static float a[N], b[N];
    CUdeviceptr da, db;
    int n = N;
    void *params[] = {&da, &db, &n};
    unsigned wrong = 0;

    for (int i = 0; i < N; i++)
        a[i] = (float)i, b[i] = 1;
    success(cuMemAlloc_v2(&da, sizeof(a)), "alloc");
    success(cuMemAlloc_v2(&db, sizeof(b)), "alloc");
    success(cuMemcpyHtoD_v2(da, a, sizeof(a)), "HtoD");
    success(cuMemcpyHtoD_v2(db, b, sizeof(b)), "HtoD");
    success(cuLaunchKernel(func, (N + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, params, NULL),
            "launch");
    success(cuMemcpyDtoH_v2(b, db, sizeof(b)), "DtoH");
    for (int i = 0; i < N; i++)
        wrong += b[i] != (float)(3 * i + 1);
    eq_u64(wrong, 0, "results");
    da = 16;
    success(cuLaunchKernel(func, 1, 1, 1, 128, 1, 1, 0, NULL, params, NULL), "wild launch");
    eq_u64(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS, "is found out");
}

int main(void)
{
    CUcontext ctx;
    CUmodule module;
    CUfunction func;

    success(cuInit(0), "cuInit");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    if (!success(cuModuleLoadData(&module, ptx), "module") ||
        !success(cuModuleGetFunction(&func, module, "fma"), "function"))
        return done();
    test_fma(func);
    success(cuCtxDestroy_v2(ctx), "destroy");
    return done();
}
