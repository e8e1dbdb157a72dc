/*
 * Products of matrices in cuBLAS: types of elements, sizes beyond a block and a slice of k, the
 * order of streams, graphs, groups, and what is refused.
 */
#include <cublas_v2.h>
#include <complex.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

#include "klib/halves.h"
#include "klib/klib.h"
#include "support/tap.h"

static cublasHandle_t handle;
static bool is_interp; /* a device that has products alone, and is slow */

static int small(void)
{
    static uint32_t state = 4321;

    state = state * 1664525 + 1013904223;
    return (int)(state >> 24) % 5 - 2;
}

static size_t size_of(cudaDataType type)
{
    switch (type) {
    case CUDA_R_16F:
    case CUDA_R_16BF:
        return 2;
    case CUDA_R_8I:
        return 1;
    case CUDA_R_64F:
        return 8;
    default:
        return 4;
    }
}

static double get(cudaDataType type, const void *p, int i)
{
    switch (type) {
    case CUDA_R_16F:
        return klib_f32_of_f16(((const uint16_t *)p)[i]);
    case CUDA_R_16BF:
        return klib_f32_of_bf16(((const uint16_t *)p)[i]);
    case CUDA_R_8I:
        return ((const int8_t *)p)[i];
    case CUDA_R_32I:
        return ((const int32_t *)p)[i];
    case CUDA_R_64F:
        return ((const double *)p)[i];
    default:
        return ((const float *)p)[i];
    }
}

static void put(cudaDataType type, void *p, int i, double v)
{
    switch (type) {
    case CUDA_R_16F:
        ((uint16_t *)p)[i] = klib_f16_of_f32((float)v);
        break;
    case CUDA_R_16BF:
        ((uint16_t *)p)[i] = klib_bf16_of_f32((float)v);
        break;
    case CUDA_R_8I:
        ((int8_t *)p)[i] = (int8_t)v;
        break;
    case CUDA_R_32I:
        ((int32_t *)p)[i] = (int32_t)v;
        break;
    case CUDA_R_64F:
        ((double *)p)[i] = v;
        break;
    default:
        ((float *)p)[i] = (float)v;
    }
}

static void *matrix(cudaDataType type, int cells)
{
    void *p;

    if (cudaMalloc(&p, (size_t)cells * size_of(type)))
        exit(1);
    for (int i = 0; i < cells; i++)
        put(type, p, i, small());
    return p;
}

struct shape {
    int m, n, k;
    cublasOperation_t ta, tb;
};

/* C = alpha op(A) op(B) + beta C, of small whole numbers: exact but for the type of C. */
static void check(const char *what, cudaDataType ab, cudaDataType c, cublasComputeType_t compute,
                  struct shape s)
{
    int lda = (s.ta == CUBLAS_OP_N ? s.m : s.k) + 1, ldb = (s.tb == CUBLAS_OP_N ? s.k : s.n) + 2;
    int ldc = s.m + 3;
    void *pa = matrix(ab, lda * HD_MAX(s.m, s.k)), *pb = matrix(ab, ldb * HD_MAX(s.n, s.k));
    void *pc = matrix(c, ldc * s.n);
    double *want = malloc((size_t)(ldc * s.n) * sizeof(*want));
    union {
        uint16_t h;
        float f;
        double d;
        int32_t i;
    } alpha, beta;
    cudaDataType factors = compute == CUBLAS_COMPUTE_16F   ? CUDA_R_16F
                           : compute == CUBLAS_COMPUTE_32I ? CUDA_R_32I
                           : compute == CUBLAS_COMPUTE_64F ? CUDA_R_64F
                                                           : CUDA_R_32F;
    bool same = true;

    put(factors, &alpha, 0, 2);
    put(factors, &beta, 0, -1);
    for (int j = 0; j < s.n; j++)
        for (int i = 0; i < ldc; i++) {
            double sum = 0, old = get(c, pc, i + j * ldc);
            for (int q = 0; i < s.m && q < s.k; q++)
                sum += get(ab, pa, s.ta == CUBLAS_OP_N ? i + q * lda : q + i * lda) *
                       get(ab, pb, s.tb == CUBLAS_OP_N ? q + j * ldb : j + q * ldb);
            want[i + j * ldc] = i < s.m ? 2 * sum - old : old; /* what is between columns stays */
        }
    cublasStatus_t status = cublasGemmEx(handle, s.ta, s.tb, s.m, s.n, s.k, &alpha, pa, ab, lda, pb,
                                         ab, ldb, &beta, pc, c, ldc, compute, CUBLAS_GEMM_DEFAULT);
    cudaDeviceSynchronize();
    for (int i = 0; i < ldc * s.n && same; i++) {
        uint64_t cell = 0;
        put(c, &cell, 0, want[i]);
        same = get(c, pc, i) == get(c, &cell, 0);
        if (!same)
            diag("[%d, %d]: %g, not %g", i % ldc, i / ldc, get(c, pc, i), get(c, &cell, 0));
    }
    ok(!status && same, "%s, %d x %d x %d, %d %d", what, s.m, s.n, s.k, s.ta, s.tb);
    free(want);
    cudaFree(pa);
    cudaFree(pb);
    cudaFree(pc);
}

static void test_types(void)
{
    static const struct {
        const char *name;
        cudaDataType ab, c;
        cublasComputeType_t compute;
    } types[] = {
        {"halves", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F},
        {"halves with factors of halves", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F},
        {"halves to floats", CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
        {"bfloat16", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F},
        {"bfloat16 to floats", CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_16BF},
        {"bytes", CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I},
        {"bytes to floats", CUDA_R_8I, CUDA_R_32F, CUBLAS_COMPUTE_32F},
        {"floats", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32},
        {"doubles", CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F},
    };
    static const struct shape shapes[] = {
        {3, 4, 5, CUBLAS_OP_N, CUBLAS_OP_N},      {1, 1, 1, CUBLAS_OP_T, CUBLAS_OP_C},
        {17, 33, 1100, CUBLAS_OP_T, CUBLAS_OP_N}, {33, 17, 1030, CUBLAS_OP_N, CUBLAS_OP_T},
        {260, 301, 40, CUBLAS_OP_N, CUBLAS_OP_N}, {301, 260, 7, CUBLAS_OP_T, CUBLAS_OP_T},
        {6, 5, 0, CUBLAS_OP_N, CUBLAS_OP_N}};
    static const struct shape small_shapes[] = {{3, 4, 5, CUBLAS_OP_N, CUBLAS_OP_N},
                                                {17, 33, 20, CUBLAS_OP_T, CUBLAS_OP_N},
                                                {70, 5, 17, CUBLAS_OP_T, CUBLAS_OP_T},
                                                {6, 5, 0, CUBLAS_OP_N, CUBLAS_OP_N}};
    size_t n = is_interp ? HD_COUNT_OF(small_shapes) : HD_COUNT_OF(shapes);

    for (size_t t = 0; t < HD_COUNT_OF(types); t++)
        for (size_t s = 0; s < n; s++)
            check(types[t].name, types[t].ab, types[t].c, types[t].compute,
                  is_interp ? small_shapes[s] : shapes[s]);
}

/* C = i A^H B + C for two problems, 3 x 2 x 4, by steps and by lists; small whole numbers. */
static void test_complex(void)
{
    enum { M = 3, N = 2, K = 4, PROBLEMS = 2 };
    double complex *a, *b, *c, **lists, want[PROBLEMS * M * N];
    const double complex alpha = I, one = 1;
    bool same = true;

    if (cudaMalloc((void **)&a, sizeof(*a) * PROBLEMS * K * M) ||
        cudaMalloc((void **)&b, sizeof(*b) * PROBLEMS * K * N) ||
        cudaMalloc((void **)&c, sizeof(*c) * PROBLEMS * M * N) ||
        cudaMalloc((void **)&lists, sizeof(*lists) * 3 * PROBLEMS))
        exit(1);
    for (int i = 0; i < PROBLEMS * K * M; i++)
        a[i] = small() + small() * I;
    for (int i = 0; i < PROBLEMS * K * N; i++)
        b[i] = small() + small() * I;
    for (int i = 0; i < PROBLEMS * M * N; i++)
        want[i] = c[i] = small() + small() * I;
    for (int p = 0; p < PROBLEMS; p++) {
        lists[p] = a + p * K * M;
        lists[PROBLEMS + p] = b + p * K * N;
        lists[2 * PROBLEMS + p] = c + p * M * N;
        for (int i = 0; i < M * N * K; i++) /* twice */
            want[p * M * N + i / K] += 2 * I * conj(a[p * K * M + i / K % M * K + i % K]) *
                                       b[p * K * N + i / K / M * K + i % K];
    }
    ok(!cublasZgemmStridedBatched(handle, CUBLAS_OP_C, CUBLAS_OP_N, M, N, K,
                                  (const cuDoubleComplex *)&alpha, (cuDoubleComplex *)a, K, K * M,
                                  (cuDoubleComplex *)b, K, K * N, (const cuDoubleComplex *)&one,
                                  (cuDoubleComplex *)c, M, M * N, PROBLEMS) &&
           !cublasZgemmBatched(
               handle, CUBLAS_OP_C, CUBLAS_OP_N, M, N, K, (const cuDoubleComplex *)&alpha,
               (const cuDoubleComplex *const *)lists, K,
               (const cuDoubleComplex *const *)(lists + PROBLEMS), K, (const cuDoubleComplex *)&one,
               (cuDoubleComplex *const *)(lists + 2 * PROBLEMS), M, PROBLEMS) &&
           !cudaDeviceSynchronize(),
       "complex products by steps and by lists");
    for (int i = 0; i < PROBLEMS * M * N; i++)
        same &= c[i] == want[i];
    ok(same, "are right");
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    cudaFree(lists);
}

/* What has no kernel there says so. */
static void test_refused_there(void)
{
    float x[1] = {1}, *y = matrix(CUDA_R_32F, 1);

    eq_u64(cublasSaxpy(handle, 1, x, y, 1, y, 1), CUBLAS_STATUS_NOT_SUPPORTED,
           "other routines are refused on this device");
    cudaFree(y);
}

/* Bytes at their ends: sums that floats do not hold. */
static void test_large_sums(void)
{
    enum { K_ALL = 5000 };
    int8_t *a, *b;
    int32_t *c, one = 1, none = 0;

    if (cudaMalloc((void **)&a, K_ALL) || cudaMalloc((void **)&b, K_ALL) ||
        cudaMalloc((void **)&c, sizeof(*c)))
        exit(1);
    memset(a, -128, K_ALL);
    memset(b, -128, K_ALL);
    a[0] = 127;
    eq_u64(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, K_ALL, &one, a, CUDA_R_8I, K_ALL, b,
                        CUDA_R_8I, K_ALL, &none, c, CUDA_R_32I, 1, CUBLAS_COMPUTE_32I,
                        CUBLAS_GEMM_DEFAULT),
           CUBLAS_STATUS_SUCCESS, "bytes at their ends");
    cudaDeviceSynchronize();
    eq_u64((uint32_t)c[0], (K_ALL - 1) * 16384 - 127 * 128, "are summed exactly");
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
}

/* NaN in what a factor of 0 multiplies is not read. */
static void test_zero_beta(void)
{
    float *c, one = 1, none = 0;

    if (cudaMalloc((void **)&c, 4 * sizeof(float)))
        exit(1);
    for (int i = 0; i < 4; i++)
        c[i] = __builtin_nanf("");
    float *a = matrix(CUDA_R_32F, 4);
    ok(!cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, 2, a, 2, &none, c, 2) &&
           !cudaDeviceSynchronize() && c[0] == a[0] * a[0] + a[2] * a[1],
       "with a factor of 0 the old matrix is not read");
    uint16_t *h = matrix(CUDA_R_16F, 4);
    uint16_t *hc = matrix(CUDA_R_16F, 4);
    memset(hc, 0xff, 8);
    ok(!cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, h, CUDA_R_16F, 2, h,
                     CUDA_R_16F, 2, &none, hc, CUDA_R_16F, 2, CUBLAS_COMPUTE_32F,
                     CUBLAS_GEMM_DEFAULT) &&
           !cudaDeviceSynchronize() && klib_f32_of_f16(hc[0]) == klib_f32_of_f16(hc[0]),
       "nor is it of halves");
    cudaFree(a);
    cudaFree(c);
    cudaFree(h);
    cudaFree(hc);
}

/* y doubles, ten times, between copies in one stream; then the same as a graph. */
static void test_order(void)
{
    enum { SIZE = 64 };
    float two = 2, none = 0, host[SIZE], back[SIZE];
    float *x = matrix(CUDA_R_32F, SIZE), *y = matrix(CUDA_R_32F, SIZE);
    float *eye = matrix(CUDA_R_32F, SIZE * SIZE);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    for (int i = 0; i < SIZE * SIZE; i++)
        eye[i] = i % (SIZE + 1) == 0;
    for (int i = 0; i < SIZE; i++)
        host[i] = (float)i;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cublasSetStream(handle, stream);
    for (int way = 0; way < 2; way++) {
        if (way)
            cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
        bool pass = !cudaMemcpyAsync(x, host, sizeof(host), cudaMemcpyDefault, stream);
        for (int i = 0; i < 5; i++) {
            pass &=
                !cublasSgemv(handle, CUBLAS_OP_N, SIZE, SIZE, &two, eye, SIZE, x, 1, &none, y, 1);
            pass &= !cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, SIZE, 1, SIZE, &two, eye, SIZE,
                                 y, SIZE, &none, x, SIZE);
        }
        pass &= !cudaMemcpyAsync(back, x, sizeof(back), cudaMemcpyDefault, stream);
        if (way) {
            pass &= !cudaStreamEndCapture(stream, &graph) && !cudaGraphInstantiate(&exec, graph, 0);
            host[3] = 7;
            two = 0; /* factors are those of the capture */
            pass &= !cudaGraphLaunch(exec, stream) && !cudaGraphLaunch(exec, stream);
        }
        pass &= !cudaStreamSynchronize(stream);
        for (int i = 0; i < SIZE; i++)
            pass &= back[i] == 1024 * host[i];
        ok(pass, way ? "captured, and launched twice" : "in the order of a stream");
    }
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cublasSetStream(handle, NULL);
    cudaStreamDestroy(stream);
    cudaFree(x);
    cudaFree(y);
    cudaFree(eye);
}

static void test_groups(void)
{
    enum { GROUPS = 2, ALL = 3 };
    cublasOperation_t ops[GROUPS] = {CUBLAS_OP_N, CUBLAS_OP_T};
    int m[GROUPS] = {2, 3}, n[GROUPS] = {2, 2}, k[GROUPS] = {3, 2}, ld[GROUPS] = {4, 4};
    int sizes[GROUPS] = {1, 2};
    float alpha[GROUPS] = {1, 2}, beta[GROUPS] = {0, 1}, want[ALL][16];
    float **a, **b, **c;
    bool same = true;

    if (cudaMalloc((void **)&a, ALL * sizeof(*a)) || cudaMalloc((void **)&b, ALL * sizeof(*b)) ||
        cudaMalloc((void **)&c, ALL * sizeof(*c)))
        exit(1);
    for (int p = 0; p < ALL; p++) {
        int g = p > 0;
        a[p] = matrix(CUDA_R_32F, 16);
        b[p] = matrix(CUDA_R_32F, 16);
        c[p] = matrix(CUDA_R_32F, 16);
        memcpy(want[p], c[p], sizeof(want[p]));
        for (int i = 0; i < m[g]; i++)
            for (int j = 0; j < n[g]; j++) {
                float sum = 0;
                for (int q = 0; q < k[g]; q++)
                    sum += (g ? a[p][q + i * 4] : a[p][i + q * 4]) * b[p][q + j * 4];
                want[p][i + j * 4] = alpha[g] * sum + (g ? want[p][i + j * 4] : 0);
            }
    }
    cublasOperation_t none[GROUPS] = {CUBLAS_OP_N, CUBLAS_OP_N};
    eq_u64(cublasSgemmGroupedBatched(handle, ops, none, m, n, k, alpha, (const float *const *)a, ld,
                                     (const float *const *)b, ld, beta, c, ld, GROUPS, sizes),
           CUBLAS_STATUS_SUCCESS, "groups of products");
    cudaDeviceSynchronize();
    for (int p = 0; p < ALL; p++)
        for (int i = 0; i < 16; i++)
            same &= c[p][i] == want[p][i];
    ok(same, "each with its shape and factors");
}

/* The kernel itself, by several threads at once: as the device's threads call it for tiles. */
enum { THREADS = 4, CALLS = 8000, EDGE = 104 }; /* of 100 it takes no such memory */
static const struct klib *klib;

static void *multiply_often(void *arg)
{
    float *p = malloc(3 * EDGE * EDGE * sizeof(*p)), v = (float)(1 + (intptr_t)arg);
    struct klib_matrix a = {p, EDGE, 0, KLIB_F32, 'N', false}, b = a, c = a;
    uintptr_t wrong = 0;

    b.address = p + EDGE * EDGE;
    c.address = p + 2 * EDGE * EDGE;
    for (int i = 0; i < 2 * EDGE * EDGE; i++)
        p[i] = i < EDGE * EDGE ? v : 1;
    struct klib_gemm g = {.a = a,
                          .b = b,
                          .c = c,
                          .m = EDGE,
                          .n = EDGE,
                          .k = EDGE,
                          .row_blocks = 1,
                          .column_blocks = 1};
    memcpy(g.alpha.value, &(float){1}, sizeof(float));
    for (int q = 0; q < CALLS; q++) {
        struct heddle_native_call call = {.size_B = sizeof(call), .last = 1, .params = &g};
        wrong += klib->gemm(&call) != 0;
        for (int i = 2 * EDGE * EDGE; i < 3 * EDGE * EDGE; i += 7)
            if (p[i] != v * EDGE) {
                wrong++;
                break;
            }
    }
    free(p);
    return (void *)wrong;
}

/* The first product has opened it, by a path of its own. */
static int find_klib(struct dl_phdr_info *info, size_t size, void *out_path)
{
    if (!strstr(info->dlpi_name, "libheddle-klib.so"))
        return 0;
    *(const char **)out_path = info->dlpi_name;
    return 1;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    uintptr_t wrong = 0;
    const struct klib *(*entry)(void) = NULL;
    const char *path = NULL;

    (void)dl_iterate_phdr(find_klib, (void *)&path);
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    if (library)
        *(void **)&entry = dlsym(library, KLIB_ENTRY);
    ok(entry, "the kernel library is there");
    if (!entry)
        return;
    klib = entry();
    for (intptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, multiply_often, (void *)i))
            exit(1);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (uintptr_t)result;
    }
    eq_u64(wrong, 0, "%d products of %d threads at once", THREADS * CALLS, THREADS);
}

static void test_errors(void)
{
    float one = 1, *a = matrix(CUDA_R_32F, 16), result;
    int info = 1;
    cublasMath_t mode;

    eq_u64(cublasSgemm(NULL, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, 2, a, 2, &one, a, 2),
           CUBLAS_STATUS_NOT_INITIALIZED, "no handle");
    eq_u64(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 2, 2, &one, a, 3, a, 2, &one, a, 4),
           CUBLAS_STATUS_INVALID_VALUE, "a leading dimension that is too small");
    eq_u64(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, -2, 2, &one, a, 4, a, 2, &one, a, 4),
           CUBLAS_STATUS_INVALID_VALUE, "a negative size");
    eq_u64(cublasSgemm(handle, (cublasOperation_t)7, CUBLAS_OP_N, 2, 2, 2, &one, a, 2, a, 2, &one,
                       a, 2),
           CUBLAS_STATUS_INVALID_VALUE, "no such operation");
    eq_u64(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, NULL, a, 2, a, 2, &one, a, 2),
           CUBLAS_STATUS_INVALID_VALUE, "no factor");
    eq_u64(cublasSgemv(handle, CUBLAS_OP_N, 2, 2, &one, a, 2, a, 0, &one, a, 1),
           CUBLAS_STATUS_INVALID_VALUE, "an increment of 0");
    eq_u64(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 0, 2, 2, &one, NULL, 1, NULL, 2, &one,
                       NULL, 1),
           CUBLAS_STATUS_SUCCESS, "nothing to do");
    eq_u64(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, CUDA_R_16F, 2, a,
                        CUDA_R_32F, 2, &one, a, CUDA_R_32F, 2, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT),
           CUBLAS_STATUS_NOT_SUPPORTED, "types that do not go together");
    eq_u64(cublasSgemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, CUDA_C_32F, 1, a,
                         CUDA_C_32F, 1, &one, a, CUDA_C_32F, 1),
           CUBLAS_STATUS_NOT_SUPPORTED, "complex elements with real factors");
    cuComplex z = {1, 0};
    eq_u64(cublasCgemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &z, a, CUDA_R_32F, 1, a,
                         CUDA_R_32F, 1, &z, a, CUDA_R_32F, 1),
           CUBLAS_STATUS_NOT_SUPPORTED, "and real ones with complex factors");
    eq_u64(cublasSgetrsBatched(handle, CUBLAS_OP_N, 2, 2, NULL, 1, NULL, NULL, 2, &info, 0),
           CUBLAS_STATUS_INVALID_VALUE, "a wrong argument");
    eq_u64((uint64_t)-info, 5, "whose number is told");
    eq_u64(cublasSnrm2(handle, 3, a, 1, NULL), CUBLAS_STATUS_INVALID_VALUE, "no result");
    eq_u64(cublasSdot(handle, 0, a, 1, a, 1, &result), CUBLAS_STATUS_SUCCESS, "of no elements");
    ok(result == 0, "is 0");
    eq_u64(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH), CUBLAS_STATUS_SUCCESS, "a mode");
    ok(!cublasGetMathMode(handle, &mode) && mode == CUBLAS_TF32_TENSOR_OP_MATH, "is kept");
    eq_str(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED",
           "names");
    cudaFree(a);
}

int main(void)
{
    const char *device = getenv("HEDDLE_DEVICE");

    is_interp = device && !strcmp(device, "interp");
    if (cublasCreate(&handle))
        return 1;
    test_types();
    test_complex();
    test_large_sums();
    test_zero_beta();
    if (is_interp) {
        test_refused_there();
        cublasDestroy(handle);
        return done();
    }
    test_order();
    test_groups();
    test_threads();
    test_errors();
    cublasDestroy(handle);
    return done();
}
