/*
 * Warps that have nothing of their own compute what the first ones do, as in what Triton makes of
 * small tiles: all load, the first ones store in place. A race by the rules, which GPUs win by
 * timing: the last ones have loaded before the first ones store.
 */
#include <cstdio>

enum { TILE = 64, COPIES = 4, STEPS = 3 };

/* sums[warp]: of what that warp has seen. */
__global__ void add_in_place(float *at, const float *other, float *sums)
{
    __shared__ float parts[TILE * COPIES];
    int t = threadIdx.x % TILE;
    float sum = 0;

    for (int i = 0; i < STEPS; i++) {
        float x = at[i * TILE + t] + other[i * TILE + t];
        sum += x;
        if (threadIdx.x < TILE)
            at[i * TILE + t] = x;
    }
    parts[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x < COPIES) {
        float all = 0;
        for (int i = 0; i < TILE; i++)
            all += parts[threadIdx.x * TILE + i];
        sums[threadIdx.x] = all;
    }
}

int main()
{
    float *at, *other, *sums;
    int bad = 0;

    cudaMallocManaged(&at, TILE * STEPS * sizeof(float));
    cudaMallocManaged(&other, TILE * STEPS * sizeof(float));
    cudaMallocManaged(&sums, COPIES * sizeof(float));
    for (int i = 0; i < TILE * STEPS; i++) {
        at[i] = (float)i;
        other[i] = 1;
    }
    add_in_place<<<1, TILE * COPIES>>>(at, other, sums);
    cudaDeviceSynchronize();
    for (int i = 0; i < TILE * STEPS; i++)
        bad += at[i] != (float)(i + 1);
    for (int i = 0; i < COPIES; i++)
        bad += sums[i] != (float)(TILE * STEPS * (TILE * STEPS + 1) / 2);
    printf("%s %d wrong, %g %g %s\n", bad ? "FAIL" : "PASS", bad, sums[0], sums[COPIES - 1],
           cudaGetErrorString(cudaGetLastError()));
    return bad != 0;
}
