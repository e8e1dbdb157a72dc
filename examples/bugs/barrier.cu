/* Waits for threads that have gone: two warps stop at one barrier, the other two at another. */
#include <cstdio>

__device__ void wait_for(int barrier, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

__global__ void exchange(int *v)
{
    __shared__ int box[128];
    int t = threadIdx.x;
    box[t] = v[t];
    if (t < 64)
        wait_for(1, 128); /* bug: the others wait at barrier 2 */
    else
        wait_for(2, 128);
    v[t] = box[127 - t];
}

int main()
{
    int *v;
    cudaMallocManaged(&v, 128 * sizeof(int));
    exchange<<<1, 128>>>(v);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
