/* Occupancy: how many blocks and clusters fit, and which block size is best. */
#include "check.h"

static __global__ void plain(int *out)
{
    out[threadIdx.x] = 1;
}

static __global__ void __launch_bounds__(128) bounded(int *out)
{
    out[threadIdx.x] = 1;
}

static __global__ void with_shared(int *out)
{
    extern __shared__ int cells[];
    cells[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = cells[threadIdx.x ^ 1];
}

static __global__ void big_static(int *out)
{
    __shared__ int cells[8 << 10];
    cells[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = cells[threadIdx.x ^ 1];
}

static size_t smem_of(int block_size)
{
    return (size_t)block_size * 16;
}

static void blocks(const cudaDeviceProp *prop)
{
    int n = -1, m = -1;
    CUfunction function = NULL;
    size_t size_B = 0;

    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, plain, 256, 0));
    TRUE(n >= 1 && n * 256 <= prop->maxThreadsPerMultiProcessor);
    TRUE(n <= prop->maxBlocksPerMultiProcessor);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        &m, plain, 256, 0, cudaOccupancyDisableCachingOverride));
    EQ(m, n);
    OK(cudaGetFuncBySymbol(&function, (const void *)plain));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&m, function, 256, 0));
    EQ(m, n);

    /* Shared memory limits, too. */
    int opt_in = (int)prop->sharedMemPerBlockOptin;
    OK(cudaFuncSetAttribute(with_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, opt_in));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, with_shared, 32, opt_in));
    EQ(n, 1);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&m, with_shared, 32, opt_in / 8));
    TRUE(m > 1);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, big_static, 32, 0));
    TRUE(n >= 1 && n * (32 << 10) <= (int)prop->sharedMemPerMultiprocessor);
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&size_B, with_shared, 2, 32));
    TRUE(size_B > 0 && 2 * size_B <= prop->sharedMemPerMultiprocessor);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, with_shared, 32, size_B));
    TRUE(n >= 2);

    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, bounded, 256, 0));
    EQ(n, 0); /* more threads than the kernel allows */
    FAILS(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, plain, 0, 0), cudaErrorInvalidValue);
    FAILS(cudaOccupancyMaxActiveBlocksPerMultiprocessor((int *)NULL, plain, 32, 0),
          cudaErrorInvalidValue);
    FAILS(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&n, function, 32, 0, 0x80),
          CUDA_ERROR_INVALID_VALUE);
}

static void best_size(const cudaDeviceProp *prop)
{
    int grid = 0, block = 0, driver_grid = 0, driver_block = 0;
    CUfunction function = NULL;

    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain));
    TRUE(block > 0 && block <= prop->maxThreadsPerBlock && block % 32 == 0);
    TRUE(grid >= prop->multiProcessorCount);
    OK(cudaGetFuncBySymbol(&function, (const void *)plain));
    OK(cuOccupancyMaxPotentialBlockSize(&driver_grid, &driver_block, function, NULL, 0, 0));
    EQ(driver_block, block);
    EQ(driver_grid, grid);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain, 0, 96));
    TRUE(block > 0 && block <= 96);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded));
    TRUE(block > 0 && block <= 128);
    OK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, with_shared, smem_of));
    TRUE(block > 0 && smem_of(block) <= prop->sharedMemPerBlockOptin);
}

static void clusters(void)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    int size = 0, n = 0;

    config.gridDim = dim3(8);
    config.blockDim = dim3(64);
    OK(cudaOccupancyMaxPotentialClusterSize(&size, plain, &config));
    TRUE(size >= 8); /* portable */
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    OK(cudaOccupancyMaxActiveClusters(&n, plain, &config));
    TRUE(n >= 1);
    CUlaunchAttribute driver_attribute = {};
    CUlaunchConfig driver = {};
    CUfunction function = NULL;
    int m = 0;
    OK(cudaGetFuncBySymbol(&function, (const void *)plain));
    driver_attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    driver_attribute.value.clusterDim.x = 2;
    driver_attribute.value.clusterDim.y = driver_attribute.value.clusterDim.z = 1;
    driver.gridDimX = 8;
    driver.blockDimX = 64;
    driver.gridDimY = driver.gridDimZ = driver.blockDimY = driver.blockDimZ = 1;
    driver.attrs = &driver_attribute;
    driver.numAttrs = 1;
    OK(cuOccupancyMaxActiveClusters(&m, function, &driver));
    EQ(m, n);
    FAILS(cuOccupancyMaxActiveClusters(NULL, function, &driver), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
    static cudaDeviceProp prop;

    OK(cudaGetDeviceProperties(&prop, 0));
    blocks(&prop);
    best_size(&prop);
    clusters();
    return finish();
}
