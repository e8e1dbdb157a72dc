/*
 * Products of cuBLASLt and cuBLAS with the sums of a GPU's tensor cores (HEDDLE_MMA): beside a
 * model of its own, and beside a kernel of mma.sync, bit for bit.
 */
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>
#include <math.h>

#include "support/tap.h"

static struct {
    const char *name;
    int kept, step_B, kept_fp8;
} arch;

static uint32_t state = 1;

static unsigned below(unsigned n)
{
    state = state * 1664525 + 1013904223;
    return (unsigned)((uint64_t)(state >> 8) * n >> 24);
}

/* ---- the model: sums are aligned to the largest exponent, cut, added, cut */

struct kind {
    const char *name, *mma;
    cudaDataType type;
    int exponent, mantissa, size_B;
};
static const struct kind kinds[] = {
    {"f16", "m16n8k16.row.col.f32.f16.f16.f32", CUDA_R_16F, 5, 10, 2},
    {"bf16", "m16n8k16.row.col.f32.bf16.bf16.f32", CUDA_R_16BF, 8, 7, 2},
    {"e4m3", "m16n8k32.row.col.f32.e4m3.e4m3.f32", CUDA_R_8F_E4M3, 4, 3, 1},
    {"e5m2", "m16n8k32.row.col.f32.e5m2.e4m3.f32", CUDA_R_8F_E5M2, 5, 2, 1},
};

/* What it is multiplied by: e5m2 by e4m3, as cuBLASLt has it. */
static const struct kind *other(const struct kind *t)
{
    return t->type == CUDA_R_8F_E5M2 ? t - 1 : t;
}

static unsigned code_at(const struct kind *t, const void *p, int64_t i)
{
    return t->size_B == 1 ? ((const uint8_t *)p)[i] : ((const uint16_t *)p)[i];
}

static double decode(const struct kind *t, unsigned code, int *exponent)
{
    const int bias = (1 << (t->exponent - 1)) - 1;
    int e = (int)(code >> t->mantissa) & ((1 << t->exponent) - 1);
    double m = code & ((1u << t->mantissa) - 1);
    double x = e ? ldexp(m + (1 << t->mantissa), e - bias - t->mantissa)
                 : ldexp(m, 1 - bias - t->mantissa);

    *exponent = x != 0 ? (e ? e : 1) - bias : -126;
    return code >> (t->exponent + t->mantissa) & 1 ? -x : x;
}

static double cut(double x, int bits)
{
    int e;

    if (x == 0)
        return 0;
    frexp(x, &e);
    e = HD_MAX(e - 1, -126) - bits;
    return ldexp(trunc(ldexp(x, -e)), e);
}

/* To nearest even. */
static double half(double x)
{
    int e;

    if (x == 0)
        return 0;
    frexp(x, &e);
    e = HD_MAX(e - 1, -14) - 10;
    return ldexp(rint(ldexp(x, -e)), e);
}

static double model(const struct kind *t, const void *a, const void *b, int64_t a_at,
                    int64_t a_step, int64_t b_at, int64_t b_step, int k, bool halves)
{
    const int kept = t->size_B == 1 ? arch.kept_fp8 : arch.kept, step = arch.step_B / t->size_B;
    double c = 0;

    for (int first = 0; first < k; first += step) {
        double x[64] = {c}, sum = 0;
        int e[64], n = 1, most;
        frexp(c, &e[0]);
        most = c == 0 ? -126 : HD_MAX(e[0] - 1, halves ? -14 : -126);
        for (int i = first; i < HD_MIN(first + step, k); i++, n++) {
            int ea, eb;
            x[n] = decode(t, code_at(t, a, a_at + i * a_step), &ea);
            x[n] *= decode(other(t), code_at(t, b, b_at + i * b_step), &eb);
            most = HD_MAX(most, ea + eb);
        }
        for (int i = 0; i < n; i++)
            sum += trunc(ldexp(x[i], kept - most));
        c = ldexp(sum, most - kept);
        c = halves ? half(c) : cut(c, kept == 13 ? 13 : 23);
    }
    return c;
}

/* ---- data */

/* Numbers whose exponents differ by up to `spread`. */
static void fill(const struct kind *t, void *p, int64_t n, unsigned spread)
{
    const unsigned bias = (1u << (t->exponent - 1)) - 1;

    for (int64_t i = 0; i < n; i++) {
        unsigned e = bias + 1 - below(HD_MIN(spread, bias));
        unsigned code =
            below(2) << (t->exponent + t->mantissa) | e << t->mantissa | below(1u << t->mantissa);
        if (!below(16))
            code = below(2) << (t->exponent + t->mantissa);
        if (t->size_B == 1)
            ((uint8_t *)p)[i] = (uint8_t)code;
        else
            ((uint16_t *)p)[i] = (uint16_t)code;
    }
}

static CUdeviceptr to_device(const void *p, size_t size_B)
{
    CUdeviceptr d = 0;

    if (cuMemAlloc(&d, size_B) || cuMemcpyHtoD(d, p, size_B))
        abort();
    return d;
}

/* ---- products */

enum { M = 45, N = 21, K = 301, MAX = 64 * 512 };

static cublasLtHandle_t handle;

static cublasStatus_t multiply(const struct kind *t, bool ta, bool tb, int m, int n, int k,
                               CUdeviceptr a, CUdeviceptr b, CUdeviceptr d)
{
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t la, lb, ld;
    cublasOperation_t op = CUBLAS_OP_T;
    const float one = 1, zero = 0;

    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    if (ta)
        cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &op, sizeof(op));
    if (tb)
        cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSB, &op, sizeof(op));
    cublasLtMatrixLayoutCreate(&la, t->type, (uint64_t)(ta ? k : m), (uint64_t)(ta ? m : k),
                               ta ? k : m);
    cublasLtMatrixLayoutCreate(&lb, other(t)->type, (uint64_t)(tb ? n : k), (uint64_t)(tb ? k : n),
                               tb ? n : k);
    cublasLtMatrixLayoutCreate(&ld, CUDA_R_32F, (uint64_t)m, (uint64_t)n, m);
    cublasStatus_t status =
        cublasLtMatmul(handle, desc, &one, (void *)(uintptr_t)a, la, (void *)(uintptr_t)b, lb,
                       &zero, (void *)(uintptr_t)d, ld, (void *)(uintptr_t)d, ld, NULL, NULL, 0, 0);
    cublasLtMatrixLayoutDestroy(la), cublasLtMatrixLayoutDestroy(lb);
    cublasLtMatrixLayoutDestroy(ld), cublasLtMatmulDescDestroy(desc);
    return status;
}

static void test_layouts(const struct kind *t)
{
    static uint16_t a[MAX], b[MAX];
    static float d[M * N];
    CUdeviceptr at_d = to_device(d, sizeof(d));

    for (int layout = 0; layout < 4; layout++) {
        /* fp8 on a GPU is 'T' and 'N'; here all are. */
        const bool ta = layout & 1, tb = layout & 2;
        unsigned wrong = 0;
        fill(t, a, M * K, layout % 2 ? 4 : 14);
        fill(other(t), b, N * K, layout % 2 ? 4 : 14);
        CUdeviceptr at_a = to_device(a, sizeof(a)), at_b = to_device(b, sizeof(b));
        eq_u64(multiply(t, ta, tb, M, N, K, at_a, at_b, at_d), CUBLAS_STATUS_SUCCESS,
               "%s, layout %d", t->name, layout);
        cuMemcpyDtoH(d, at_d, sizeof(d));
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                float want = (float)model(t, a, b, ta ? i * K : i, ta ? 1 : M, tb ? j : j * K,
                                          tb ? N : 1, K, false);
                if (d[i + j * M] != want && !wrong++)
                    diag("%d %d: got %a, want %a", i, j, d[i + j * M], want);
            }
        eq_u64(wrong, 0, "%s, layout %d: sums of %s", t->name, layout, arch.name);
        cuMemFree(at_a), cuMemFree(at_b);
    }
    cuMemFree(at_d);
}

/* Sums of f16. */
static void test_halves(void)
{
    const struct kind *t = &kinds[0];
    static uint16_t a[M * K], b[N * K], d[M * N];
    const uint16_t one = 0x3c00, zero = 0;
    cublasHandle_t blas;
    unsigned wrong = 0;
    int e;

    fill(t, a, M * K, 8);
    fill(other(t), b, N * K, 8);
    CUdeviceptr at_a = to_device(a, sizeof(a)), at_b = to_device(b, sizeof(b)),
                at_d = to_device(d, sizeof(d));
    cublasCreate(&blas);
    eq_u64(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, (void *)(uintptr_t)at_a,
                        CUDA_R_16F, M, (void *)(uintptr_t)at_b, CUDA_R_16F, K, &zero,
                        (void *)(uintptr_t)at_d, CUDA_R_16F, M, CUBLAS_COMPUTE_16F,
                        CUBLAS_GEMM_DEFAULT),
           CUBLAS_STATUS_SUCCESS, "f16 with sums of f16");
    cuMemcpyDtoH(d, at_d, sizeof(d));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double want = model(t, a, b, i, M, j * K, 1, K, true),
                   got = decode(t, d[i + j * M], &e);
            if (got != want && !wrong++)
                diag("%d %d: got %a, want %a", i, j, got, want);
        }
    eq_u64(wrong, 0, "f16 with sums of f16: sums of %s", arch.name);
    cublasDestroy(blas);
    cuMemFree(at_a), cuMemFree(at_b), cuMemFree(at_d);
}

/* A warp's tile: rows of a and columns of b lie along k, `k_B` bytes. */
static const char *text =
    ".version 8.4\n.target sm_89\n.address_size 64\n"
    ".visible .entry tile(.param .u64 pa, .param .u64 pb, .param .u64 pd, .param .u32 pk)\n"
    "{ .reg .b64 %%a, %%a8, %%b, %%d, %%x; .reg .b32 %%t, %%g, %%q, %%k, %%i, %%u, %%r<6>;\n"
    "  .reg .f32 %%f<4>; .reg .pred %%p;\n"
    "  ld.param.u64 %%a, [pa]; ld.param.u64 %%b, [pb]; ld.param.u64 %%d, [pd]; ld.param.u32 %%k, "
    "[pk];\n"
    "  mov.u32 %%t, %%tid.x; shr.u32 %%g, %%t, 2; and.b32 %%q, %%t, 3; shl.b32 %%q, %%q, 2;\n"
    "  mad.lo.u32 %%u, %%g, %%k, %%q; cvt.u64.u32 %%x, %%u; add.u64 %%a, %%a, %%x; add.u64 %%b, "
    "%%b, %%x;\n"
    "  shl.b32 %%u, %%k, 3; cvt.u64.u32 %%x, %%u; add.u64 %%a8, %%a, %%x;\n"
    "  mov.f32 %%f0, 0f00000000; mov.f32 %%f1, %%f0; mov.f32 %%f2, %%f0; mov.f32 %%f3, %%f0;\n"
    "  mov.u32 %%i, 0;\n"
    "loop:\n"
    "  ld.global.b32 %%r0, [%%a]; ld.global.b32 %%r1, [%%a8]; ld.global.b32 %%r2, [%%a+16];\n"
    "  ld.global.b32 %%r3, [%%a8+16]; ld.global.b32 %%r4, [%%b]; ld.global.b32 %%r5, [%%b+16];\n"
    "  mma.sync.aligned.%s {%%f0,%%f1,%%f2,%%f3}, {%%r0,%%r1,%%r2,%%r3}, {%%r4,%%r5},\n"
    "    {%%f0,%%f1,%%f2,%%f3};\n"
    "  add.u64 %%a, %%a, 32; add.u64 %%a8, %%a8, 32; add.u64 %%b, %%b, 32; add.u32 %%i, %%i, 32;\n"
    "  setp.lt.u32 %%p, %%i, %%k; @%%p bra loop;\n"
    "  shl.b32 %%u, %%g, 5; mad.lo.u32 %%u, %%q, 2, %%u; cvt.u64.u32 %%x, %%u; add.u64 %%d, %%d, "
    "%%x;\n"
    "  st.global.v2.f32 [%%d], {%%f0,%%f1}; st.global.v2.f32 [%%d+256], {%%f2,%%f3}; ret; }\n";

static void test_kernel(const struct kind *t)
{
    enum { ROWS = 16, COLUMNS = 8, BYTES = 512 };
    static uint16_t a[ROWS * BYTES], b[COLUMNS * BYTES];
    float by_kernel[ROWS * COLUMNS] = {0}, by_library[ROWS * COLUMNS] = {0};
    const int k = BYTES / t->size_B;
    char ptx[4096];
    unsigned k_B = BYTES, wrong = 0;
    CUmodule module;
    CUfunction tile;

    snprintf(ptx, sizeof(ptx), text, t->mma);
    fill(t, a, ROWS * k, 10);
    fill(other(t), b, COLUMNS * k, 10);
    CUdeviceptr at_a = to_device(a, sizeof(a)), at_b = to_device(b, sizeof(b)),
                at_d = to_device(by_kernel, sizeof(by_kernel)),
                at_e = to_device(by_library, sizeof(by_library));
    void *args[] = {&at_a, &at_b, &at_d, &k_B};
    if (!ok(!cuModuleLoadData(&module, ptx) && !cuModuleGetFunction(&tile, module, "tile") &&
                !cuLaunchKernel(tile, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL),
            "a kernel of mma.sync %s", t->mma))
        return;
    eq_u64(multiply(t, true, false, ROWS, COLUMNS, k, at_a, at_b, at_e), CUBLAS_STATUS_SUCCESS,
           "the same product");
    cuCtxSynchronize();
    cuMemcpyDtoH(by_kernel, at_d, sizeof(by_kernel));
    cuMemcpyDtoH(by_library, at_e, sizeof(by_library));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            if (by_kernel[i * COLUMNS + j] != by_library[i + j * ROWS] && !wrong++)
                diag("%d %d: mma.sync %a, cuBLASLt %a", i, j, by_kernel[i * COLUMNS + j],
                     by_library[i + j * ROWS]);
    eq_u64(wrong, 0, "mma.sync and cuBLASLt, %s: the same bits", t->name);
    cuModuleUnload(module);
    cuMemFree(at_a), cuMemFree(at_b), cuMemFree(at_d), cuMemFree(at_e);
}

/* What is no number, and infinite, comes out as such. */
static void test_strange(void)
{
    const uint16_t a[4] = {0x7c00, 0x3c00, 0x7e00, 0x3c00}, b[2] = {0x3c00, 0x3c00};
    float d[2] = {0};
    CUdeviceptr at_a = to_device(a, sizeof(a)), at_b = to_device(b, sizeof(b)),
                at_d = to_device(d, sizeof(d));

    multiply(&kinds[0], true, false, 2, 1, 2, at_a, at_b, at_d);
    cuCtxSynchronize();
    cuMemcpyDtoH(d, at_d, sizeof(d));
    ok(isinf(d[0]) && d[0] > 0 && isnan(d[1]), "infinity and NaN");
    cuMemFree(at_a), cuMemFree(at_b), cuMemFree(at_d);
}

int main(void)
{
    const char *name = getenv("HEDDLE_MMA");
    CUdevice device;
    CUcontext context;

#define X(row, machine, another, bits, bytes, fp8, fp8_wgmma)                                      \
    if (name && !strcmp(name, #row))                                                               \
        arch.name = #row, arch.kept = bits, arch.step_B = bytes, arch.kept_fp8 = fp8_wgmma;
#include "tensor_cores.def"
#undef X
    if (!ok(arch.name != NULL, "HEDDLE_MMA is an architecture"))
        return done();
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) ||
        cuCtxSetCurrent(context) || cublasLtCreate(&handle))
        return 1;
    for (size_t i = 0; i < HD_COUNT_OF(kinds); i++) {
        test_layouts(&kinds[i]);
        /* An H100's mma.sync keeps more bits of products of fp8 than its wgmma. */
        if (kinds[i].size_B == 2 || strcmp(arch.name, "sm_90") != 0)
            test_kernel(&kinds[i]);
    }
    test_halves();
    test_strange();
    cublasLtDestroy(handle);
    return done();
}
