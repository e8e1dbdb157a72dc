#include <cstdio>
#include <cuda_runtime.h>

#include "twice.h"

__device__ __managed__ int counter = 5;
static __managed__ float table[4] = {1, 2, 3, 4};

__global__ void __launch_bounds__(64) add(int *sum)
{
    atomicAdd(sum, twice(threadIdx.x) + counter);
    if (threadIdx.x < 4)
        table[threadIdx.x] *= 2;
}

int main()
{
    int *sum;
    auto apply = [] __host__ __device__(int x) { return x + 1; };
    counter = apply(counter);
    cudaMallocManaged(&sum, sizeof(*sum));
    *sum = 0;
    add<<<1, 64>>>(sum);
    cudaError_t status = cudaDeviceSynchronize();
    bool right = *sum == 63 * 64 + 64 * 6 && table[3] == 8 && counter == 6;
    std::printf("%s: %d %g %d: %s\n", cudaGetErrorString(status), *sum, table[3], counter, right ? "right" : "wrong");
    return right ? 0 : 1;
}
