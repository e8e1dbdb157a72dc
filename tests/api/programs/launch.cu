/* Launches: attributes, cooperative grids, clusters, dependent launches, wrong configurations. */
#include "check.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

enum { N = 256, BLOCKS = 4 };

static __global__ void put(int *words, int value, int step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    words[i] = value + i * step;
}

/* Each block reads what the next one wrote before the barrier. */
static __global__ void rotate(int *words, int *out)
{
    cg::grid_group grid = cg::this_grid();
    words[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x;
    grid.sync();
    int next = (blockIdx.x + 1) % gridDim.x;
    out[blockIdx.x * blockDim.x + threadIdx.x] = words[next * blockDim.x + threadIdx.x];
}

static __global__ void cluster_size(unsigned int *out)
{
    unsigned int n;
    asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(n));
    if (threadIdx.x == 0)
        out[blockIdx.x] = n;
}

static __global__ void early(int *words)
{
    words[threadIdx.x] = 5;
    cudaTriggerProgrammaticLaunchCompletion();
}

static __global__ void late(const int *words, int *out)
{
    cudaGridDependencySynchronize();
    out[threadIdx.x] = words[threadIdx.x] + 1;
}

static __global__ void shared_sum(int *out)
{
    extern __shared__ int cells[];
    cells[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (unsigned i = 0; i < blockDim.x; i++)
            sum += cells[i];
        *out = sum;
    }
}

static int *words, *out, to[N * BLOCKS];

static void fetch(const int *device, int n)
{
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(to, device, n * sizeof(int), cudaMemcpyDeviceToHost));
}

static void forms(void)
{
    cudaLaunchConfig_t config = {};
    int value = 3, step = 2;
    void *args[] = {&words, &value, &step};

    put<<<BLOCKS, N>>>(words, 1, 1);
    fetch(words, N * BLOCKS);
    EQ(check_wrong(to, N * BLOCKS, 1, 1), 0);
    OK(cudaLaunchKernel(put, dim3(BLOCKS), dim3(N), args, 0, 0));
    fetch(words, N * BLOCKS);
    EQ(check_wrong(to, N * BLOCKS, 3, 2), 0);
    config.gridDim = dim3(BLOCKS);
    config.blockDim = dim3(N);
    OK(cudaLaunchKernelEx(&config, put, words, 4, (short)7)); /* converted as in a call */
    fetch(words, N * BLOCKS);
    EQ(check_wrong(to, N * BLOCKS, 4, 7), 0);
    OK(cudaLaunchKernelExC(&config, (const void *)put, args));
    fetch(words, N * BLOCKS);
    EQ(check_wrong(to, N * BLOCKS, 3, 2), 0);

    cudaFunction_t function = NULL;
    CUlaunchConfig driver = {};
    OK(cudaGetFuncBySymbol(&function, (const void *)put));
    driver.gridDimX = BLOCKS;
    driver.gridDimY = driver.gridDimZ = driver.blockDimY = driver.blockDimZ = 1;
    driver.blockDimX = N;
    step = 1;
    OK(cuLaunchKernelEx(&driver, function, args, NULL));
    fetch(words, N * BLOCKS);
    EQ(check_wrong(to, N * BLOCKS, 3, 1), 0);

    OK(cudaFuncSetAttribute(shared_sum, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10));
    shared_sum<<<1, N, 64 << 10>>>(out);
    fetch(out, 1);
    EQ(to[0], N * (N - 1) / 2);
}

static void cooperative(void)
{
    void *args[] = {&words, &out};
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};

    OK(cudaLaunchCooperativeKernel(rotate, dim3(BLOCKS), dim3(N), args));
    fetch(out, N * BLOCKS);
    for (int b = 0; b < BLOCKS; b++)
        EQ(check_wrong(to + b * N, N, (b + 1) % BLOCKS, 0), 0);
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    config.gridDim = dim3(2);
    config.blockDim = dim3(N);
    config.attrs = &attribute;
    config.numAttrs = 1;
    OK(cudaLaunchKernelEx(&config, rotate, words, out));
    fetch(out, 2 * N);
    EQ(check_wrong(to, N, 1, 0), 0);
    EQ(check_wrong(to + N, N, 0, 0), 0);
    FAILS(cudaLaunchCooperativeKernel(rotate, dim3(1 << 20), dim3(N), args),
          cudaErrorCooperativeLaunchTooLarge);
    cudaFunction_t function = NULL;
    OK(cudaGetFuncBySymbol(&function, (const void *)rotate));
    OK(cuLaunchCooperativeKernel(function, 2, 1, 1, N, 1, 1, 0, NULL, args));
    OK(cuCtxSynchronize());
}

static void clusters(void)
{
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};

    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.gridDim = dim3(BLOCKS);
    config.blockDim = dim3(32);
    config.attrs = &attribute;
    config.numAttrs = 1;
    OK(cudaLaunchKernelEx(&config, cluster_size, (unsigned int *)out));
    fetch(out, BLOCKS);
    EQ(check_wrong(to, BLOCKS, 2, 0), 0);
    attribute.val.clusterDim.x = 3; /* does not divide the grid */
    TRUE(cudaLaunchKernelEx(&config, cluster_size, (unsigned int *)out) != cudaSuccess);
    cudaGetLastError();
    attribute.val.clusterDim.x = 64; /* larger than any may be */
    config.gridDim = dim3(64);
    TRUE(cudaLaunchKernelEx(&config, cluster_size, (unsigned int *)out) != cudaSuccess);
    cudaGetLastError();
    OK(cudaDeviceSynchronize());
}

static void dependent(void)
{
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = {};
    cudaStream_t stream = NULL;
    cudaEvent_t event = NULL;

    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    early<<<1, N, 0, stream>>>(words);
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    attributes[1].id = cudaLaunchAttributeLaunchCompletionEvent;
    attributes[1].val.launchCompletionEvent.event = event;
    config.gridDim = dim3(1);
    config.blockDim = dim3(N);
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = 2;
    OK(cudaLaunchKernelEx(&config, late, (const int *)words, out));
    OK(cudaEventSynchronize(event));
    fetch(out, N);
    EQ(check_wrong(to, N, 6, 0), 0);
    attributes[0].id = (cudaLaunchAttributeID)99;
    config.numAttrs = 1;
    FAILS(cudaLaunchKernelEx(&config, late, (const int *)words, out), cudaErrorInvalidValue);
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
}

static void wrong(void)
{
    int value = 0, step = 0;
    void *args[] = {&words, &value, &step};

    FAILS(cudaLaunchKernel((const void *)&value, dim3(1), dim3(1), args, 0, 0),
          cudaErrorInvalidDeviceFunction);
    FAILS(cudaLaunchKernel(put, dim3(1), dim3(1, 1, 65), args, 0, 0),
          cudaErrorInvalidConfiguration);
    FAILS(cudaLaunchKernel(put, dim3(1, 1 << 17), dim3(1), args, 0, 0),
          cudaErrorInvalidConfiguration);
    FAILS(cudaLaunchKernel(put, dim3(1), dim3(0), args, 0, 0), cudaErrorInvalidConfiguration);
    FAILS(cudaLaunchKernelExC(NULL, (const void *)put, args), cudaErrorInvalidValue);
    FAILS(cudaFuncSetAttribute(shared_sum, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 24),
          cudaErrorInvalidValue);
    FAILS(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL), CUDA_ERROR_INVALID_HANDLE);
    OK(cudaDeviceSynchronize());
}

int main(void)
{
    OK(cudaMalloc(&words, sizeof(to)));
    OK(cudaMalloc(&out, sizeof(to)));
    forms();
    cooperative();
    clusters();
    dependent();
    wrong();
    OK(cudaFree(words));
    OK(cudaFree(out));
    return finish();
}
