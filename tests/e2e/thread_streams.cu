// Built with --default-stream per-thread: kernels of two threads run side by side in stream 0, and
// the first one ends when the second one has run.
#include <cstdio>
#include <thread>
#include <cuda_runtime.h>

__global__ void wait_for(volatile int *flag)
{
    while (!*flag) {
    }
}

__global__ void set(volatile int *flag)
{
    *flag = 1;
}

int main()
{
    int *flag;
    cudaMallocManaged(&flag, sizeof *flag);
    *flag = 0;
    wait_for<<<1, 1>>>(flag);
    std::thread([&] {
        set<<<1, 1>>>(flag);
        cudaStreamSynchronize(0);
    }).join();
    cudaError_t status = cudaStreamSynchronize(0);
    printf("%s %d\n", status == cudaSuccess && *flag ? "PASS" : "FAIL", *flag);
}
