// Boxes of 32 x 32 words go out of shared memory: one of which 16 x 4 lie in the tensor, one whole that is added.
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>

enum { W = 64, H = 64, TILE = 32 };

__global__ void store(const __grid_constant__ CUtensorMap map)
{
    __shared__ __align__(128) int tile[TILE * TILE];

    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x)
        return;
    unsigned from = (unsigned)__cvta_generic_to_shared(tile);
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {48, 60}], [%1];" ::"l"(&map), "r"(from) : "memory");
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {0, 0}], [%1];" ::"l"(&map), "r"(from) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
}

int main()
{
    CUtensorMap map;
    int *memory;
    cuuint64_t dim[] = {W, H}, stride[] = {W * sizeof *memory};
    cuuint32_t box[] = {TILE, TILE}, step[] = {1, 1};

    cudaMalloc(&memory, W * H * sizeof *memory);
    cudaMemset(memory, 0, W * H * sizeof *memory);
    if (cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, memory, dim, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                               CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))
        return 1;
    store<<<1, 64>>>(map);
    puts(cudaGetErrorString(cudaDeviceSynchronize()));
}
