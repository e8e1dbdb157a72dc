/* printf and assert in device code. `hello -assert` shows what a failing assertion does: the
 * launch fails, the host
 * learns about it when it synchronises, and the process goes on. */
#include "example.h"
#include <assert.h>

__global__ void hello(int *greetings)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (threadIdx.x == 0)
        printf("hello from block %d of %d: %s, %.3f, %c, %llx\n", blockIdx.x, gridDim.x, "a string",
               1.0 / (blockIdx.x + 1), 'A' + (int)blockIdx.x, 0xfeedull + blockIdx.x);
    assert(i < (int)(gridDim.x * blockDim.x));
    atomicAdd(greetings, 1);
}

__global__ void fail(int limit)
{
    assert((int)threadIdx.x < limit);
}

int main(int argc, char **argv)
{
    int greetings = 0, *dev_greetings;

    CHECK(cudaMalloc(&dev_greetings, sizeof(int)));
    CHECK(cudaMemset(dev_greetings, 0, sizeof(int)));
    hello<<<2, 32>>>(dev_greetings);
    CHECK_KERNEL();
    CHECK(cudaMemcpy(&greetings, dev_greetings, sizeof(int), cudaMemcpyDeviceToHost));
    if (argc > 1 && !strcmp(argv[1], "-assert")) {
        fail<<<1, 8>>>(7);
        cudaError_t status = cudaDeviceSynchronize();

        return verdict(status == cudaErrorAssert, "hello: the assertion gave \"%s\"",
                       cudaGetErrorString(status));
    }
    CHECK(cudaFree(dev_greetings));
    return verdict(greetings == 64, "hello: %d threads", greetings);
}
