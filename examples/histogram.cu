/* Histogram of a text's letters: each block counts in shared memory, where atomics are cheap,
 * and adds its counts to
 * the global ones at the end. */
#include "example.h"

#define BINS 256

__global__ void histogram(const unsigned char *text, int n, unsigned *counts)
{
    __shared__ unsigned local[BINS];

    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[text[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        if (local[b])
            atomicAdd(&counts[b], local[b]);
}

int main()
{
    const char *phrase = "in a loom the heddle is what guides each warp thread ";
    const int n = 500000, length = (int)strlen(phrase);
    unsigned char *text = (unsigned char *)malloc(n), *dev_text;
    unsigned want[BINS] = {0}, got[BINS], *dev_counts;
    int most = 0;

    for (int i = 0; i < n; i++) {
        text[i] = (unsigned char)phrase[i % length];
        want[text[i]]++;
    }
    CHECK(cudaMalloc(&dev_text, n));
    CHECK(cudaMalloc(&dev_counts, sizeof(got)));
    CHECK(cudaMemcpy(dev_text, text, n, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(dev_counts, 0, sizeof(got)));

    histogram<<<32, 192>>>(dev_text, n, dev_counts);
    CHECK_KERNEL();

    CHECK(cudaMemcpy(got, dev_counts, sizeof(got), cudaMemcpyDeviceToHost));
    for (int b = 'a'; b <= 'z'; b++)
        if (got[b] > got[most])
            most = b;
    CHECK(cudaFree(dev_text));
    CHECK(cudaFree(dev_counts));
    free(text);
    return verdict(!memcmp(got, want, sizeof(got)),
                   "histogram: %d letters, most frequent '%c' (%u)", n, most, got[most]);
}
