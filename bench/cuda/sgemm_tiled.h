/* Matrix product with TS x TS tiles of A and B in shared memory; the including file defines TS. */
#include "gemm_main.h"

__global__ void sgemm_tiled(const float *__restrict__ A, const float *__restrict__ B,
                            float *__restrict__ C, int n)
{
    __shared__ float as[TS][TS], bs[TS][TS];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * TS + tx, y = blockIdx.y * TS + ty;
    float s = 0;

    for (int k0 = 0; k0 < n; k0 += TS) {
        as[ty][tx] = A[y * n + k0 + tx];
        bs[ty][tx] = B[(k0 + ty) * n + x];
        __syncthreads();
        for (int k = 0; k < TS; k++)
            s += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    C[y * n + x] = s;
}
