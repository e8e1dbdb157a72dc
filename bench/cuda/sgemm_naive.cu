/* Matrix product, one thread per element, everything from global memory. */
#include "gemm_main.h"

__global__ void sgemm_naive(const float *__restrict__ A, const float *__restrict__ B,
                            float *__restrict__ C, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0;

    for (int k = 0; k < n; k++)
        s += A[y * n + k] * B[k * n + x];
    C[y * n + x] = s;
}

int main(int argc, char **argv)
{
    return gemm_main("sgemm_naive", argc, argv, [](float *a, float *b, float *c, int n) {
        sgemm_naive<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n);
    });
}
