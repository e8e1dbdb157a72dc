#include <cstdio>

#include "parts.h"

static __global__ void kernel(int *result)
{
    *result = other(3) + offset;
}

int main()
{
    int *result, first = 0;
    calls = 40;
    cudaMallocManaged(&result, sizeof(*result));
    kernel<<<1, 1>>>(result);
    cudaError_t status = cudaDeviceSynchronize();
    first = *result;
    int failed = other_on_host(result);
    bool right = status == cudaSuccess && !failed && first == 1210 && *result == 1115 && calls == 42;
    std::printf("%s: %d %d, %d calls: %s\n", cudaGetErrorString(status), first, *result, calls, right ? "right" : "wrong");
    return right ? 0 : 1;
}
