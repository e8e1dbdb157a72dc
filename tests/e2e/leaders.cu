/*
 * Lanes with one index add to a sum of their warp, whose leader adds it to memory, as nvdiffrast
 * does: without barriers, for GPUs keep warps together where nothing branches.
 */
#include <cstdio>

enum { THREADS = 256, BLOCKS = 4, ROUNDS = 2, INDICES = 16 };

__global__ void add(float *out, const int *index, const float *value)
{
    __shared__ float sums[THREADS];

    for (int k = 0; k < ROUNDS; k++) {
        int at = index[blockIdx.x * THREADS + threadIdx.x] + k;
        int first = __ffs(__match_any_sync(0xffffffffu, at)) - 1;
        bool is_leader = threadIdx.x % 32 == first;
        float *sum = &sums[threadIdx.x / 32 * 32 + first];

        if (is_leader)
            *sum = 0;
        atomicAdd(sum, value[threadIdx.x]);
        if (is_leader)
            atomicAdd(&out[at], *sum);
    }
}

int main()
{
    float *out, *value, want[INDICES + ROUNDS] = {};
    int *index, bad = 0;

    cudaMallocManaged(&out, sizeof(want));
    cudaMallocManaged(&value, THREADS * sizeof(*value));
    cudaMallocManaged(&index, BLOCKS * THREADS * sizeof(*index));
    for (int i = 0; i < INDICES + ROUNDS; i++)
        out[i] = 0;
    for (int i = 0; i < BLOCKS * THREADS; i++) {
        index[i] = (i * 7919 >> 3) % INDICES;
        value[i % THREADS] = (float)(i % THREADS);
        for (int k = 0; k < ROUNDS; k++)
            want[index[i] + k] += (float)(i % THREADS);
    }
    add<<<BLOCKS, THREADS>>>(out, index, value);
    if (cudaDeviceSynchronize() != cudaSuccess)
        return printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    for (int i = 0; i < INDICES + ROUNDS; i++)
        bad += out[i] != want[i];
    printf(bad ? "FAIL: %d wrong\n" : "PASS\n", bad);
    return bad != 0;
}
