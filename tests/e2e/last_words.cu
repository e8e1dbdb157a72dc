/* What a kernel printed before it failed is shown, in front of what failed. */
#include <cstdio>

__global__ void fails(int *nowhere)
{
    printf("thread %d\n", threadIdx.x);
    if (nowhere)
        *nowhere = 1;
    else
        __trap();
}

int main(int argc, char **)
{
    fails<<<1, 2>>>(argc > 1 ? (int *)8 : nullptr);
    puts(cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
