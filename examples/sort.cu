/* Radix sort, 4 bits per pass: count digits per block, scan the counts on the device, scatter
 * stably. */
#include "example.h"

#define RADIX 16
#define BLOCK 256

/* counts[digit * blocks + block]: the layout in which one scan gives every block its place for
 * every digit. */
__global__ void count_digits(const unsigned *keys, int n, int shift, unsigned *counts)
{
    __shared__ unsigned local[RADIX];
    int i = blockIdx.x * BLOCK + threadIdx.x;

    if (threadIdx.x < RADIX)
        local[threadIdx.x] = 0;
    __syncthreads();
    if (i < n)
        atomicAdd(&local[keys[i] >> shift & (RADIX - 1)], 1u);
    __syncthreads();
    if (threadIdx.x < RADIX)
        counts[threadIdx.x * gridDim.x + blockIdx.x] = local[threadIdx.x];
}

/* Exclusive prefix sum in place by one block; each thread owns a contiguous piece. */
__global__ void scan_counts(unsigned *counts, int n)
{
    __shared__ unsigned sums[BLOCK];
    int t = threadIdx.x, piece = (n + BLOCK - 1) / BLOCK;
    int first = min(t * piece, n), last = min(first + piece, n);
    unsigned sum = 0;

    for (int i = first; i < last; i++)
        sum += counts[i];
    sums[t] = sum;
    for (int d = 1; d < BLOCK; d *= 2) {
        __syncthreads();
        unsigned left = t >= d ? sums[t - d] : 0;
        __syncthreads();
        sums[t] += left;
    }
    sum = sums[t] - sum;
    for (int i = first; i < last; i++) {
        unsigned c = counts[i];

        counts[i] = sum;
        sum += c;
    }
}

/* Stable: a key's rank among equal digits of its block is the number of such keys before it. */
__global__ void scatter(const unsigned *keys, unsigned *sorted, int n, int shift,
                        const unsigned *places)
{
    __shared__ unsigned char digits[BLOCK];
    int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    unsigned digit = i < n ? keys[i] >> shift & (RADIX - 1) : RADIX, rank = 0;

    digits[t] = (unsigned char)digit;
    __syncthreads();
    for (int j = 0; j < t; j++)
        rank += digits[j] == digit;
    if (i < n)
        sorted[places[digit * gridDim.x + blockIdx.x] + rank] = keys[i];
}

int main()
{
    const int n = 100000, blocks = (n + BLOCK - 1) / BLOCK;
    const size_t size_B = n * sizeof(unsigned);
    unsigned *keys = (unsigned *)malloc(size_B), *dev_in, *dev_out, *dev_counts;
    unsigned long long sum_before = 0, sum_after = 0;
    int inversions = 0;

    for (int i = 0; i < n; i++) {
        keys[i] = ((unsigned)i ^ 0x5bd1e995u) * 2654435761u;
        sum_before += keys[i];
    }
    CHECK(cudaMalloc(&dev_in, size_B));
    CHECK(cudaMalloc(&dev_out, size_B));
    CHECK(cudaMalloc(&dev_counts, RADIX * blocks * sizeof(unsigned)));
    CHECK(cudaMemcpy(dev_in, keys, size_B, cudaMemcpyHostToDevice));
    for (int shift = 0; shift < 32; shift += 4) {
        unsigned *swap = dev_in;

        count_digits<<<blocks, BLOCK>>>(dev_in, n, shift, dev_counts);
        scan_counts<<<1, BLOCK>>>(dev_counts, RADIX * blocks);
        scatter<<<blocks, BLOCK>>>(dev_in, dev_out, n, shift, dev_counts);
        dev_in = dev_out;
        dev_out = swap;
    }
    CHECK_KERNEL();
    CHECK(cudaMemcpy(keys, dev_in, size_B, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        sum_after += keys[i];
        inversions += i > 0 && keys[i - 1] > keys[i];
    }
    CHECK(cudaFree(dev_in));
    CHECK(cudaFree(dev_out));
    CHECK(cudaFree(dev_counts));
    free(keys);
    return verdict(inversions == 0 && sum_before == sum_after, "sort: %d keys, %d inversions", n,
                   inversions);
}
