/* Tiled matrix product: every block stages tiles of A and B in shared memory, so that each
 * element is read from
 * global memory n / TILE times instead of n times. */
#include "example.h"

#define TILE 16

__global__ void matmul(const float *A, const float *B, float *C, int n)
{
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0;

    for (int k0 = 0; k0 < n; k0 += TILE) {
        /* Threads beyond the matrix load zeros: they still have to reach the barriers. */
        tile_a[ty][tx] = row < n && k0 + tx < n ? A[row * n + k0 + tx] : 0.0f;
        tile_b[ty][tx] = col < n && k0 + ty < n ? B[(k0 + ty) * n + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads(); /* before the next round overwrites the tiles */
    }
    if (row < n && col < n)
        C[row * n + col] = sum;
}

int main()
{
    const int n = 250; /* not a multiple of TILE on purpose */
    const size_t size_B = (size_t)n * n * sizeof(float);
    float *A = (float *)malloc(size_B), *B = (float *)malloc(size_B), *C = (float *)malloc(size_B);
    float *dev_A, *dev_B, *dev_C;
    double worst = 0;

    for (int i = 0; i < n * n; i++) {
        A[i] = (float)(i % 17) / 8 - 1;
        B[i] = (float)(i % 23) / 11 - 1;
    }
    CHECK(cudaMalloc(&dev_A, size_B));
    CHECK(cudaMalloc(&dev_B, size_B));
    CHECK(cudaMalloc(&dev_C, size_B));
    CHECK(cudaMemcpy(dev_A, A, size_B, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dev_B, B, size_B, cudaMemcpyHostToDevice));

    dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);

    matmul<<<grid, block>>>(dev_A, dev_B, dev_C, n);
    CHECK_KERNEL();
    CHECK(cudaMemcpy(C, dev_C, size_B, cudaMemcpyDeviceToHost));

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double want = 0;

            for (int k = 0; k < n; k++)
                want += (double)A[i * n + k] * B[k * n + j];
            worst = fmax(worst, fabs(C[i * n + j] - want));
        }
    CHECK(cudaFree(dev_A));
    CHECK(cudaFree(dev_B));
    CHECK(cudaFree(dev_C));
    free(A);
    free(B);
    free(C);
    return verdict(worst < 1e-3, "matmul: %d x %d, largest error %.2g", n, n, worst);
}
