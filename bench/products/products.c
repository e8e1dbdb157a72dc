/*
 * Products of matrices by cuBLAS beside oneDNN's own, which is the whole product in one call of its
 * matmul, with its threads. Each pair of runs is one after the other; medians of some pairs.
 *
 *     heddle run bench/out/products [-c] [-m PAIRS] [SIZE...]
 *
 * Lines: type, n, ops, cuBLAS's and oneDNN's microseconds, GF/s, how many times as fast cuBLAS is.
 * Then short calls: cuBLAS's with a wait, beside the engine's alone. oneDNN is what HEDDLE_ONEDNN
 * names, else libdnnl.so.3 of the loader; with `off` that is compared with OpenBLAS.
 * HEDDLE_THREADS=1 OMP_NUM_THREADS=1 compares one thread; with -c by processor time of the process,
 * which other programs disturb less.
 */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "measure.h"

/* ---- oneDNN */

struct arg {
    int what;
    void *memory;
};
static struct {
    int (*engine_create)(void **, int, size_t);
    int (*stream_create)(void **, void *, unsigned);
    int (*stream_wait)(void *);
    int (*memory_desc_create_with_strides)(void **, int, const int64_t *, int, const int64_t *);
    int (*memory_create)(void **, void *, void *, void *);
    int (*matmul_primitive_desc_create)(void **, void *, void *, void *, void *, void *, void *);
    int (*primitive_create)(void **, void *);
    int (*primitive_execute)(void *, void *, int, const struct arg *);
    int (*gemm_s8s8s32)(char, char, char, int64_t, int64_t, int64_t, float, const int8_t *, int64_t,
                        int8_t, const int8_t *, int64_t, int8_t, float, int32_t *, int64_t,
                        const int32_t *);
    int (*get_effective_cpu_isa)(void);
    const int *(*version)(void);
    void *engine, *stream;
} dnnl;

static int open_onednn(void)
{
    const char *path = getenv("HEDDLE_ONEDNN");
    void *library = dlopen(path && *path && strcmp(path, "off") != 0 ? path : "libdnnl.so.3",
                           RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return 0;
#define GET(name) *(void **)&dnnl.name = dlsym(library, "dnnl_" #name)
    GET(engine_create);
    GET(stream_create);
    GET(stream_wait);
    GET(memory_desc_create_with_strides);
    GET(memory_create);
    GET(matmul_primitive_desc_create);
    GET(primitive_create);
    GET(primitive_execute);
    GET(gemm_s8s8s32);
    GET(get_effective_cpu_isa);
    GET(version);
#undef GET
    CK(dnnl.engine_create(&dnnl.engine, 1, 0));
    CK(dnnl.stream_create(&dnnl.stream, dnnl.engine, 1));
    const int *v = dnnl.version();
    printf("# oneDNN %d.%d.%d, instruction sets 0x%x\n", v[0], v[1], v[2],
           (unsigned)dnnl.get_effective_cpu_isa());
    return 1;
}

/* ---- one product */

struct type {
    const char *name;
    cudaDataType ab, c;
    cublasComputeType_t compute;
    int dnnl_ab, dnnl_c;
    size_t ab_B, c_B;
};

static const struct type types[] = {
    {"f32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 3, 3, 4, 4},
    {"bf16", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 2, 2, 2, 2},
    {"bf16 to f32", CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 2, 3, 2, 4},
    {"f16", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 1, 1, 2, 2},
    {"int8", CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, 5, 4, 1, 4},
};

/* The product of oneDNN's for what cuBLAS gets: matrices by columns are transposed ones by rows. */
static void *primitive_of(const struct type *t, int64_t n, int ta, int tb, const void *a,
                          const void *b, void *c, struct arg *args)
{
    const int64_t dims[] = {n, n}, rows[] = {n, 1}, columns[] = {1, n};
    void *da, *db, *dc, *desc, *primitive;

    CK(dnnl.memory_desc_create_with_strides(&da, 2, dims, t->dnnl_ab, ta ? columns : rows));
    CK(dnnl.memory_desc_create_with_strides(&db, 2, dims, t->dnnl_ab, tb ? columns : rows));
    CK(dnnl.memory_desc_create_with_strides(&dc, 2, dims, t->dnnl_c, rows));
    if (dnnl.matmul_primitive_desc_create(&desc, dnnl.engine, db, da, NULL, dc, NULL))
        return NULL;
    CK(dnnl.primitive_create(&primitive, desc));
    args[0].what = 1;
    args[1].what = 33;
    args[2].what = 17;
    CK(dnnl.memory_create(&args[0].memory, db, dnnl.engine, (void *)b));
    CK(dnnl.memory_create(&args[1].memory, da, dnnl.engine, (void *)a));
    CK(dnnl.memory_create(&args[2].memory, dc, dnnl.engine, c));
    return primitive;
}

enum { PAIRS_MAX = 1000 };

static void product(cublasHandle_t handle, const struct type *t, int n, int ta, int tb, int pairs)
{
    static double ours[PAIRS_MAX], theirs[PAIRS_MAX], ratios[PAIRS_MAX];
    size_t cells = (size_t)n * (size_t)n;
    void *a, *b, *c, *d;
    const float one = 1, zero = 0;
    const int32_t whole_one = 1, whole_zero = 0;
    int whole = t->c == CUDA_R_32I;
    struct arg args[3];

    CK(cudaMalloc(&a, cells * t->ab_B));
    CK(cudaMalloc(&b, cells * t->ab_B));
    CK(cudaMalloc(&c, cells * t->c_B));
    CK(cudaMalloc(&d, cells * t->c_B));
    for (size_t i = 0; i < cells; i++) { /* between 1 and 2, or small whole numbers */
        uint32_t x = (uint32_t)i * 2654435761u >> 9;
        if (t->ab_B == 4) {
            ((float *)a)[i] = 1 + (float)x * 0x1p-23f;
            ((float *)b)[i] = 2 - (float)x * 0x1p-23f;
        } else if (t->ab_B == 2) {
            ((uint16_t *)a)[i] = (uint16_t)((t->dnnl_ab == 2 ? 0x3f80 : 0x3c00) + x % 128);
            ((uint16_t *)b)[i] = (uint16_t)((t->dnnl_ab == 2 ? 0x3f80 : 0x3c00) + x / 256 % 128);
        } else {
            ((int8_t *)a)[i] = (int8_t)(x % 11);
            ((int8_t *)b)[i] = (int8_t)(x / 256 % 13);
        }
    }
    void *primitive = primitive_of(t, n, ta, tb, a, b, d, args);
    for (int i = -2; i < pairs; i++) {
        double t0 = now_us();
        CK(cublasGemmEx(handle, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, n,
                        n, n, whole ? (const void *)&whole_one : &one, a, t->ab, n, b, t->ab, n,
                        whole ? (const void *)&whole_zero : &zero, c, t->c, n, t->compute,
                        CUBLAS_GEMM_DEFAULT));
        CK(cudaDeviceSynchronize());
        double t1 = now_us();
        if (primitive) {
            CK(dnnl.primitive_execute(primitive, dnnl.stream, 3, args));
            CK(dnnl.stream_wait(dnnl.stream));
        }
        double t2 = now_us();
        if (i < 0)
            continue;
        ours[i] = t1 - t0;
        theirs[i] = t2 - t1;
        ratios[i] = theirs[i] / ours[i];
    }
    double u = median(ours, pairs), v = median(theirs, pairs), flops = 2e-3 * n * (double)cells;
    printf("%s, %d, %c%c, ", t->name, n, ta ? 'T' : 'N', tb ? 'T' : 'N');
    if (primitive)
        printf("%.1f, %.1f us, %.1f, %.1f GF/s, %.2f; best %.1f, %.1f us, %.2f\n", u, v, flops / u,
               flops / v, median(ratios, pairs), ours[0], theirs[0], theirs[0] / ours[0]);
    else
        printf("%.1f us, %.1f GF/s; oneDNN has none here\n", u, flops / u);
    fflush(stdout);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    cudaFree(d);
}

/* Calls of n x n bytes with a wait each, beside oneDNN's gemm in a loop. */
static void short_calls(cublasHandle_t handle, int n)
{
    enum { BATCHES = 200, CALLS = 50 };
    static double ours[BATCHES], theirs[BATCHES];
    const int32_t one = 1, zero = 0;
    int8_t *a, *b;
    int32_t *c;

    CK(cudaMalloc((void **)&a, (size_t)(n * n)));
    CK(cudaMalloc((void **)&b, (size_t)(n * n)));
    CK(cudaMalloc((void **)&c, (size_t)(n * n) * 4));
    memset(a, 1, (size_t)(n * n));
    memset(b, 2, (size_t)(n * n));
    for (int i = 0; i < BATCHES; i++) {
        double t0 = now_us();
        for (int k = 0; k < CALLS; k++) {
            CK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, CUDA_R_8I, n, b,
                            CUDA_R_8I, n, &zero, c, CUDA_R_32I, n, CUBLAS_COMPUTE_32I,
                            CUBLAS_GEMM_DEFAULT));
            CK(cudaStreamSynchronize(0));
        }
        double t1 = now_us();
        for (int k = 0; k < CALLS; k++)
            CK(dnnl.gemm_s8s8s32('N', 'N', 'F', n, n, n, 1, b, n, 0, a, n, 0, 0, c, n, &zero));
        ours[i] = (t1 - t0) / CALLS;
        theirs[i] = (now_us() - t1) / CALLS;
    }
    qsort(ours, BATCHES, sizeof(*ours), compare);
    qsort(theirs, BATCHES, sizeof(*theirs), compare);
    printf("short int8, %d, %.2f, %.2f us, %.2f more\n", n, ours[BATCHES / 4], theirs[BATCHES / 4],
           ours[BATCHES / 4] - theirs[BATCHES / 4]);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
}

int main(int argc, char **argv)
{
    static const int usual[] = {512, 1024, 2048}, few[] = {8, 16, 32, 64};
    int pairs = 15, first = 1, count;
    cublasHandle_t handle;

    if (argc > first && !strcmp(argv[first], "-c")) {
        clock_used = CLOCK_PROCESS_CPUTIME_ID;
        first++;
    }
    if (argc > first + 1 && !strcmp(argv[first], "-m")) {
        pairs = atoi(argv[first + 1]);
        first += 2;
    }
    if (pairs < 1 || pairs > PAIRS_MAX) {
        fprintf(stderr, "products: 1 to %d pairs\n", PAIRS_MAX);
        return 2;
    }
    CK(cublasCreate(&handle));
    if (!open_onednn()) {
        fprintf(stderr, "products: oneDNN is not there: HEDDLE_ONEDNN=/path/of/libdnnl.so.3\n");
        return 2;
    }
    count = argc > first ? argc - first : (int)(sizeof(usual) / sizeof(*usual));
    for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++)
        for (int i = 0; i < count; i++) {
            int n = argc > first ? atoi(argv[first + i]) : usual[i];
            product(handle, &types[t], n, 0, 0, pairs);
            if (i == 0)
                product(handle, &types[t], n, 1, 0, pairs);
        }
    for (size_t i = 0; i < sizeof(few) / sizeof(*few); i++)
        short_calls(handle, few[i]);
    cublasDestroy(handle);
    return 0;
}
