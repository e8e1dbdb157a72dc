/* What the tests of going back look at; they find places by the comments "mark:". Three warps, barriers, branches, atomics. */
#include <stdio.h>
#include <stdlib.h>

__device__ int total;

__device__ __noinline__ int mix(int v, int k)
{
    return v * 5 + k; /* mark: mix */
}

extern "C" __global__ void walk(int *out, int n)
{
    __shared__ int turns, box[96];
    int v = threadIdx.x, slow = 0; /* mark: first */
    int seen[3] = {0, 0, 0};
    if (v == 0)
        turns = 0;
    __syncthreads();
    for (int k = 0; k < n; k++) {
        v = mix(v, k); /* mark: body */
        seen[k % 3] += 1; /* mark: count */
        if (k % 4 == 3)
            slow = slow + v % 7 + 1; /* mark: slow */
        if (k % 8 == 5 && threadIdx.x % 2) /* mark: odd */
            atomicAdd(&turns, 1);
        box[threadIdx.x] = v;
        __syncthreads();
        v += box[95 - threadIdx.x];
        if (k % 16 == 9 && threadIdx.x == 70)
            total += turns; /* mark: total */
        __syncthreads();
    }
    out[threadIdx.x] = v + slow + seen[1] + turns; /* mark: end */
}

extern "C" __global__ void astray(int *p, int n)
{
    int at = 0;
    for (int k = 0; k < n; k++)
        at = k == n - 1 ? 1 << 30 : k; /* mark: stray */
    p[(long)at * 4096] = n; /* mark: fault */
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 40;
    int *out, sum = 0;
    cudaMallocManaged(&out, 96 * sizeof(int));
    if (argc > 2) {
        astray<<<1, 32>>>(out, n);
        printf("astray %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
        return 0;
    }
    walk<<<1, 96>>>(out, n);
    cudaDeviceSynchronize();
    for (int i = 0; i < 96; i++)
        sum = sum * 31 + out[i];
    printf("walk %d\n", sum);
    return 0;
}
