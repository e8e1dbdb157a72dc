/*
 * What a block-wide reduction returns is read from shared memory after its last barrier, and the
 * next one writes there without another: a race by the rules, which GPUs win by timing.
 */
#include <cstdio>

__device__ int warp_sum(int v)
{
    for (int d = 16; d; d >>= 1)
        v += __shfl_xor_sync(~0u, v, d);
    return v;
}

__device__ int block_sum(int v)
{
    __shared__ int part[32];

    v = warp_sum(v);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = warp_sum(threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0);
        if (threadIdx.x == 0)
            part[0] = v;
    }
    __syncthreads();
    return part[0];
}

__global__ void two_sums(int *out)
{
    int a = block_sum(1);
    int b = block_sum(a);

    out[threadIdx.x] = a * 10000 + b;
}

/* Several elements at once, in a loop, and lanes that have left before. */
__global__ void means(double *out, int rounds, int n)
{
    __shared__ double2 pair;
    double sum = 0;

    if (threadIdx.x >= n)
        return;
    if (threadIdx.x == 0)
        pair = make_double2(1, 2);
    __syncthreads();
    for (int i = 0; i < rounds; i++) {
        double2 now = pair;
        sum += now.x * now.y;
        if (threadIdx.x == 0)
            pair = make_double2(now.x + 1, now.y + 2);
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

/* What the left neighbour left there one step before: a pipeline, one stage per thread. */
__global__ void pipeline(int *out, int steps)
{
    __shared__ int s[161];
    int t = threadIdx.x + blockDim.x * threadIdx.y;

    s[t + 1] = t;
    if (t == 0)
        s[0] = 0;
    __syncthreads();
    for (int i = 0; i < steps; i++) {
        int left = s[t];
        s[t + 1] = left + 1;
        __syncthreads();
    }
    out[t] = s[t + 1];
}

/* The same to the right, and the kernel's end is the loop's. */
__global__ void to_the_left(int *s, int steps)
{
    __shared__ int line[161];
    int t = threadIdx.x;

    if (t >= 161)
        return;
    line[t] = t;
    __syncthreads();
    for (int i = 0; i < steps; i++) {
        int right = t < 160 ? line[t + 1] : 1000 + i;
        line[t] = right;
        if (i == steps - 1)
            s[t] = right;
        __syncthreads();
    }
}

static int pipeline_is_wrong(dim3 block)
{
    int *out, bad = 0;

    cudaMallocManaged(&out, 160 * sizeof(int));
    pipeline<<<1, block>>>(out, 40);
    cudaDeviceSynchronize();
    for (int t = 0; t < 160; t++)
        bad += out[t] != (t < 40 ? t + 1 : t); /* t - 40 + 40 */
    cudaFree(out);
    return bad;
}

static int to_the_left_is_wrong()
{
    int *out, bad = 0;

    cudaMallocManaged(&out, 161 * sizeof(int));
    to_the_left<<<1, 192>>>(out, 40);
    cudaDeviceSynchronize();
    for (int t = 0; t < 161; t++)
        bad += out[t] != (t + 40 <= 160 ? t + 40 : 1000 + t + 40 - 161);
    cudaFree(out);
    return bad;
}

int main()
{
    int *ints, bad = 0;
    double *doubles, want = 0;

    cudaMallocManaged(&ints, 256 * sizeof(int));
    cudaMallocManaged(&doubles, 256 * sizeof(double));
    two_sums<<<1, 256>>>(ints);
    means<<<1, 256>>>(doubles, 5, 200);
    cudaDeviceSynchronize();
    for (int i = 1; i <= 5; i++)
        want += i * 2.0 * i;
    for (int t = 0; t < 256; t++)
        bad += ints[t] != 256 * 10000 + 256 * 256;
    for (int t = 0; t < 200; t++)
        bad += doubles[t] != want;
    bad += pipeline_is_wrong(dim3(160)) + pipeline_is_wrong(dim3(32, 5)) +
           pipeline_is_wrong(dim3(16, 10)) + to_the_left_is_wrong();
    printf("%s %d wrong, %d %g %s\n", bad ? "FAIL" : "PASS", bad, ints[255], doubles[199],
           cudaGetErrorString(cudaGetLastError()));
    return bad != 0;
}
