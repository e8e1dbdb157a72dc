/* The sums' type of a product as a cudaDataType, as programs before CUDA 11 say it. */
#include <cstdio>
#include <cublas_v2.h>

enum { N = 3, BATCH = 2 };

/* a * b by columns, for each of the batch. */
static int wrong(const float *c, const float *a, const float *b)
{
    int bad = 0;
    for (int i = 0; i < N * N * BATCH; i++) {
        int first = i / (N * N) * N * N, row = i % N, col = i / N % N;
        float sum = 0;
        for (int k = 0; k < N; k++)
            sum += a[first + k * N + row] * b[first + col * N + k];
        bad += c[i] != sum;
    }
    return bad;
}

int main()
{
    enum { ALL = N * N * BATCH };
    const cublasOperation_t plain = CUBLAS_OP_N;
    const cudaDataType real = CUDA_R_32F;
    const cublasGemmAlgo_t algo = CUBLAS_GEMM_DEFAULT;
    const float one = 1, zero = 0;
    cublasHandle_t handle;
    float *a, *b, *c;
    void **at;
    int bad = 0;

    bad += cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS;
    cudaMallocManaged(&a, ALL * sizeof(*a));
    cudaMallocManaged(&b, ALL * sizeof(*b));
    cudaMallocManaged(&c, ALL * sizeof(*c));
    cudaMallocManaged(&at, 3 * BATCH * sizeof(*at));
    for (int i = 0; i < ALL; i++)
        a[i] = (float)(i % 7 - 3), b[i] = (float)(i % 5 - 2), c[i] = -1;
    for (int i = 0; i < BATCH; i++)
        at[i] = a + i * N * N, at[BATCH + i] = b + i * N * N, at[2 * BATCH + i] = c + i * N * N;

    for (int i = 0; i < BATCH; i++)
        bad += cublasGemmEx(handle, plain, plain, N, N, N, &one, at[i], real, N, at[BATCH + i], real, N, &zero,
                            at[2 * BATCH + i], real, N, CUDA_R_32F, algo) != CUBLAS_STATUS_SUCCESS;
    cudaDeviceSynchronize();
    bad += wrong(c, a, b);

    cudaMemset(c, 0xff, ALL * sizeof(*c));
    bad += cublasGemmStridedBatchedEx(handle, plain, plain, N, N, N, &one, a, real, N, N * N, b, real, N, N * N, &zero, c, real, N,
                                      N * N, BATCH, CUDA_R_32F, algo) != CUBLAS_STATUS_SUCCESS;
    cudaDeviceSynchronize();
    bad += wrong(c, a, b);

    cudaMemset(c, 0xff, ALL * sizeof(*c));
    bad += cublasGemmBatchedEx(handle, plain, plain, N, N, N, &one, at, real, N, at + BATCH, real, N, &zero, at + 2 * BATCH, real, N,
                               BATCH, CUDA_R_32F, algo) != CUBLAS_STATUS_SUCCESS;
    cudaDeviceSynchronize();
    bad += wrong(c, a, b);

    /* What no sums are made in. */
    bad += cublasGemmEx(handle, plain, plain, N, N, N, &one, a, real, N, b, real, N, &zero, c, real, N, CUDA_R_8I, algo) !=
           CUBLAS_STATUS_NOT_SUPPORTED;
    cublasComputeType_t sums;
    cublasSetMathMode(handle, (cublasMath_t)(CUBLAS_PEDANTIC_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
    bad += cublasMigrateComputeType(handle, CUDA_C_64F, &sums) != CUBLAS_STATUS_SUCCESS || sums != CUBLAS_COMPUTE_64F_PEDANTIC;
    puts(bad ? "wrong" : "all right");
    return bad != 0;
}
