/* What fails, for tests of core dumps; they find places by the comments "mark:". */
#include <assert.h>
#include <stdio.h>
#include <string.h>

struct pair {
    int a;
    float b[2];
};

__device__ int counter = 41;
__constant__ int table[4] = {2, 3, 5, 7};

__device__ __noinline__ void put(int *to, int value, pair *p)
{
    int doubled = 2 * value;
    p->a = doubled;
    *to = doubled; /* mark: put */
}

extern "C" __global__ void kern(int *out, char *bad, int n)
{
    __shared__ int tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    pair p = {i, {0.5f, 1.5f}};
    tile[threadIdx.x] = 100 * blockIdx.x + threadIdx.x;
    if (threadIdx.x >= 32)
        __syncthreads(); /* mark: wait */
    int *to = i == n ? (int *)bad : out + i;
    put(to, i + table[1], &p); /* mark: call */
    if (threadIdx.x < 32)
        __syncthreads();
    out[i] += tile[threadIdx.x] + p.a + counter;
}

extern "C" __global__ void stops(int *out, int how)
{
    int lane = threadIdx.x;
    if (how == 't' && lane == 3)
        __trap(); /* mark: trap */
    if (how == 'a')
        assert(lane != 5); /* mark: assert */
    out[lane] = lane;
}

/* Waits for what nobody writes. */
extern "C" __global__ void spin(volatile int *flag)
{
    int mine = threadIdx.x + 10;
    atomicAdd_system((int *)flag + 1, 1);
    while (!*flag) { /* mark: spin */
    }
    flag[2] = mine;
}

static void wait_for(volatile int *flag)
{
    spin<<<2, 32>>>(flag);
    while (flag[1] < 64) {
    }
    printf("runs\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "wild";
    int *out, *flag;
    cudaMallocManaged(&flag, 3 * sizeof(int));
    memset(flag, 0, 3 * sizeof(int));
    cudaMalloc(&out, 256 * sizeof(int));
    cudaMemset(out, 0x11, 256 * sizeof(int));
    if (!strcmp(what, "wild"))
        kern<<<4, 64>>>(out, (char *)0x12345678a000, 69);
    else if (!strcmp(what, "misaligned"))
        kern<<<4, 64>>>(out, (char *)out + 2, 69);
    else if (!strcmp(what, "beyond"))
        kern<<<4, 64>>>(out, (char *)(out + 256), 69);
    else if (!strcmp(what, "spin"))
        wait_for(flag);
    else if (!strcmp(what, "fine"))
        kern<<<4, 64>>>(out, NULL, -1);
    else
        stops<<<1, 32>>>(out, what[0]);
    printf("%s: %s\n", what, cudaGetErrorString(cudaDeviceSynchronize()));
    int last = 0;
    cudaMemcpy(&last, out + 255, 4, cudaMemcpyDeviceToHost);
    printf("last %d\n", last);
    return 0;
}
