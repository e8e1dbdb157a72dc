/* Threads that wait for each other for ever; the argument says how. Prints the error. */
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

__device__ int lock;
__device__ volatile int never;

/* Warp 0 waits for bytes that nobody copies, the others for warp 0. */
__global__ void mbarrier()
{
    __shared__ unsigned long long bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar);

    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at));
        asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], 16; }" ::"r"(at));
    }
    __syncthreads();
    if (threadIdx.x < 32)
        asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra again; }" ::"r"(at));
    __syncthreads();
}

/* Whoever gets the lock keeps it. */
__global__ void keep_lock()
{
    if (threadIdx.x == 0)
        while (atomicCAS(&lock, 0, 1))
            ;
}

/* Warp 1 waits where nobody else comes. */
__global__ void lonely_barrier()
{
    if (threadIdx.x >= 32 && threadIdx.x < 64)
        asm volatile("bar.sync 3, 96;");
}

/* The same, while another warp polls. */
__global__ void barrier_and_poll()
{
    if (threadIdx.x < 32)
        while (!never)
            ;
    __syncthreads();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    if (!strcmp(how, "mbarrier"))
        mbarrier<<<1, 96>>>();
    else if (!strcmp(how, "keep_lock"))
        keep_lock<<<2, 32>>>();
    else if (!strcmp(how, "lonely_barrier"))
        lonely_barrier<<<1, 96>>>();
    else if (!strcmp(how, "barrier_and_poll"))
        barrier_and_poll<<<1, 96>>>();
    else
        return 2;
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
