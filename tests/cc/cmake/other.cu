#include "parts.h"

static __device__ int hidden = 7;

__device__ int other(int x)
{
    return part(x) + 1000;
}

static __global__ void kernel(int *result)
{
    *result = other(2) + hidden;
}

int other_on_host(int *result)
{
    int ten = 10;
    cudaMemcpyToSymbol(hidden, &ten, sizeof(ten));
    kernel<<<1, 1>>>(result);
    return cudaDeviceSynchronize();
}
