/* faults CASE: one bad kernel; prints the error that the runtime reports and that it stays. */
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void misaligned(char *p, int *out)
{
    *out = *(int *)(p + threadIdx.x + 1);
}
__global__ void misaligned_atomic(char *p)
{
    atomicAdd((int *)(p + 2), 1);
}
__global__ void null_store(int *p)
{
    p[threadIdx.x] = 1;
}
__global__ void far_load(int *p, int *out)
{
    *out = p[threadIdx.x + (1ll << 34)];
}
__global__ void far_atomic(int *p)
{
    atomicAdd(p + (1ll << 34), 1);
}
__device__ __noinline__ int deep(int *p, int n)
{
    volatile int frame[16];
    frame[n & 15] = n;
    return deep(p, n + 1) + frame[p[n & 15] & 15];
}
__global__ void endless_recursion(int *p)
{
    *p = deep(p, threadIdx.x);
}
__global__ void trapped()
{
    __trap();
}
typedef int function(int);
__global__ void wild_call(function **table, int *out)
{
    *out = table[0](1);
}
typedef int waiter(volatile int *, int);
static __device__ __noinline__ int waits(volatile int *p, int want)
{
    while (*p == want)
        ;
    return 1;
}
static __device__ __noinline__ int stores(volatile int *p, int want)
{
    *p = want;
    return 2;
}
static __device__ __noinline__ int recurses(volatile int *p, int n);
__device__ waiter *const table[3] = {waits, stores, recurses};
static __device__ __noinline__ int recurses(volatile int *p, int n)
{
    return table[2](p, n + 1) + table[*p & 0](p, n);
}
/* Called functions may wait, so the warp has a stack of its own when it faults. */
__global__ void from_waiter(int which, int *p, int *bad, int *out)
{
    *out = table[0](p, 0);
    *out = table[which](bad, 1);
}
__global__ void fine(int *p)
{
    *p = 7;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *p, h = 0;

    cudaMalloc(&p, 4096);
    cudaMemset(p, 0x5a, 4096);
    if (!strcmp(name, "misaligned"))
        misaligned<<<1, 32>>>((char *)p, p);
    else if (!strcmp(name, "misaligned_atomic"))
        misaligned_atomic<<<1, 32>>>((char *)p);
    else if (!strcmp(name, "null_store"))
        null_store<<<1, 32>>>(nullptr);
    else if (!strcmp(name, "far_load"))
        far_load<<<1, 32>>>(p, p);
    else if (!strcmp(name, "far_atomic"))
        far_atomic<<<1, 32>>>(p);
    else if (!strcmp(name, "endless_recursion"))
        endless_recursion<<<2, 64>>>(p);
    else if (!strcmp(name, "trap"))
        trapped<<<1, 1>>>();
    else if (!strcmp(name, "wild_call"))
        wild_call<<<1, 32>>>((function **)p, p);
    else if (!strcmp(name, "null_store_in_waiter"))
        from_waiter<<<1, 64>>>(1, p, nullptr, p + 1);
    else if (!strcmp(name, "endless_recursion_in_waiter"))
        from_waiter<<<1, 64>>>(2, p, p, p + 1);
    cudaError_t first = cudaDeviceSynchronize();
    fine<<<1, 1>>>(p);
    cudaError_t then = cudaDeviceSynchronize();
    cudaError_t copy = cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost);
    bool sticky = first == then && copy == first;
    printf("%s %s\n", cudaGetErrorName(first), sticky ? "sticky" : "gone");
    return 0;
}
