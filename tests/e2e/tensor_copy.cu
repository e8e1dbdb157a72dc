// Tensor copies as CUDA programs write them: maps from cuTensorMapEncodeTiled, found through the runtime,
// in __grid_constant__ parameters, constant and global memory; cuda::barrier; libcu++'s cuda::ptx; and a map that
// the kernel changes itself. Says PASS, or what is wrong.
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace cde = cuda::device::experimental;
namespace ptx = cuda::ptx;
typedef cuda::barrier<cuda::thread_scope_block> block_barrier;

enum { W = 96, H = 80, TILE = 32 };

static void check(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) {
        printf("%s: %s\n", what, cudaGetErrorString(e));
        exit(1);
    }
}

static CUtensorMap encode(void *at, CUtensorMapDataType type, unsigned size, unsigned w, unsigned h,
                          unsigned box_w, unsigned box_h, CUtensorMapSwizzle swizzle)
{
    typedef CUresult encode_fn(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                               const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                               CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result),
          "cudaGetDriverEntryPointByVersion");
    if (result != cudaDriverEntryPointSuccess)
        exit(2);
    CUtensorMap map;
    cuuint64_t dim[] = {w, h}, stride[] = {w * size};
    cuuint32_t box[] = {box_w, box_h}, step[] = {1, 1};
    CUresult r = ((encode_fn *)found)(&map, type, 2, at, dim, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (r)
        printf("cuTensorMapEncodeTiled: %d\n", (int)r), exit(1);
    return map;
}

// The programming guide's kernel: a tile comes in, every element grows, the tile goes back.
__global__ void grow(const __grid_constant__ CUtensorMap map, int x0, int y0)
{
    __shared__ alignas(128) int tile[TILE][TILE];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ block_barrier bar;
    int x = x0 + blockIdx.x * TILE, y = y0 + blockIdx.y * TILE;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    block_barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_global_to_shared(&tile, &map, x, y, bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(tile));
    } else {
        token = bar.arrive();
    }
    bar.wait(std::move(token));
    for (int i = threadIdx.x; i < TILE * TILE; i += blockDim.x)
        tile[i / TILE][i % TILE] += 1000;
    cde::fence_proxy_async_shared_cta();
    __syncthreads();
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_shared_to_global(&map, x, y, &tile);
        cde::cp_async_bulk_commit_group();
        cde::cp_async_bulk_wait_group_read<0>();
    }
    __syncthreads();
    if (threadIdx.x == 0)
        (&bar)->~block_barrier();
}

// The guide's transposition of a swizzled tile of 8 x 8 vectors.
__global__ void transpose(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out)
{
    __shared__ alignas(1024) int4 from[8][8], to[8][8];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ block_barrier bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    block_barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_global_to_shared(&from[0][0], &in, 0, 0, bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(from));
    } else {
        token = bar.arrive();
    }
    bar.wait(std::move(token));
    for (int j = threadIdx.x; j < 8; j += blockDim.x)
        for (int i = 0; i < 8; i++)
            to[j][j ^ i] = from[i][i ^ j];
    cde::fence_proxy_async_shared_cta();
    __syncthreads();
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_shared_to_global(&out, 0, 0, &to[0][0]);
        cde::cp_async_bulk_commit_group();
        cde::cp_async_bulk_wait_group_read<0>();
    }
}

__constant__ CUtensorMap constant_map;
__device__ CUtensorMap global_map;

// Sums of bf16 through cuda::ptx: tiles from one map are added into another, both in memory.
__global__ void accumulate(int turns)
{
    __shared__ alignas(1024) __nv_bfloat16 tile[64][64];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    for (int i = 0; i < turns; i++) {
        if (threadIdx.x == 0) {
            int32_t at[2] = {(i & 1) * 64, (int)blockIdx.x * 64};
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, sizeof(tile));
            ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, &tile[0][0], &constant_map, at, &bar);
        }
        while (!ptx::mbarrier_try_wait_parity(&bar, i & 1))
            ;
        if (threadIdx.x == 0) {
            int32_t at[2] = {0, (int)blockIdx.x * 64};
            ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_add, &global_map, at, &tile[0][0]);
            ptx::cp_async_bulk_commit_group();
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{});
        }
        __syncthreads();
    }
}

static int test_grow()
{
    static int host[H][W];
    int *device, bad = 0;
    check(cudaMalloc(&device, sizeof(host)), "cudaMalloc");
    for (int i = 0; i < W * H; i++)
        host[i / W][i % W] = i;
    check(cudaMemcpy(device, host, sizeof(host), cudaMemcpyHostToDevice), "cudaMemcpy");
    CUtensorMap map = encode(device, CU_TENSOR_MAP_DATA_TYPE_INT32, 4, W, H, TILE, TILE, CU_TENSOR_MAP_SWIZZLE_NONE);
    grow<<<dim3(2, 2), 128>>>(map, 8, 48);
    check(cudaDeviceSynchronize(), "grow");
    check(cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost), "cudaMemcpy");
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            bad += host[y][x] != y * W + x + (x >= 8 && x < 72 && y >= 48 ? 1000 : 0);
    return bad;
}

static int test_transpose()
{
    int4 host[8][8], *device;
    check(cudaMalloc(&device, 2 * sizeof(host)), "cudaMalloc");
    for (int i = 0; i < 64; i++)
        host[i / 8][i % 8] = make_int4(i, 100 + i, 200 + i, 300 + i);
    check(cudaMemcpy(device, host, sizeof(host), cudaMemcpyHostToDevice), "cudaMemcpy");
    CUtensorMap in = encode(device, CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 32, 8, 32, 8, CU_TENSOR_MAP_SWIZZLE_128B);
    CUtensorMap out = encode(device + 64, CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 32, 8, 32, 8, CU_TENSOR_MAP_SWIZZLE_128B);
    transpose<<<1, 8>>>(in, out);
    check(cudaMemcpy(host, device + 64, sizeof(host), cudaMemcpyDeviceToHost), "transpose");
    int wrong = 0;
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++)
            wrong += host[y][x].x != x * 8 + y || host[y][x].w != 300 + x * 8 + y;
    return wrong;
}

static int test_accumulate()
{
    enum { ROWS = 128, TURNS = 5 };
    static __nv_bfloat16 in[ROWS][128], out[ROWS][64];
    __nv_bfloat16 *device;
    int bad = 0;
    check(cudaMalloc(&device, sizeof(in) + sizeof(out)), "cudaMalloc");
    for (int i = 0; i < ROWS * 128; i++)
        in[i / 128][i % 128] = __float2bfloat16((float)(i % 7 - 3));
    memset(out, 0, sizeof(out));
    check(cudaMemcpy(device, in, sizeof(in), cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaMemcpy(device + ROWS * 128, out, sizeof(out), cudaMemcpyHostToDevice), "cudaMemcpy");
    CUtensorMap from = encode(device, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, 128, ROWS, 64, 64, CU_TENSOR_MAP_SWIZZLE_128B);
    CUtensorMap to = encode(device + ROWS * 128, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, 64, ROWS, 64, 64,
                            CU_TENSOR_MAP_SWIZZLE_128B);
    check(cudaMemcpyToSymbol(constant_map, &from, sizeof(from)), "cudaMemcpyToSymbol");
    check(cudaMemcpyToSymbol(global_map, &to, sizeof(to)), "cudaMemcpyToSymbol");
    accumulate<<<ROWS / 64, 64>>>(TURNS);
    check(cudaMemcpy(out, device + ROWS * 128, sizeof(out), cudaMemcpyDeviceToHost), "accumulate");
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < 64; x++) {
            float want = 0;
            for (int i = 0; i < TURNS; i++)
                want += __bfloat162float(in[y][x + (i & 1) * 64]);
            bad += __bfloat162float(out[y][x]) != want;
        }
    return bad;
}

int main()
{
    int bad = 0, n;
    bad += n = test_grow();
    if (n)
        printf("grow: %d wrong\n", n);
    bad += n = test_transpose();
    if (n)
        printf("transpose: %d wrong\n", n);
    bad += n = test_accumulate();
    if (n)
        printf("accumulate: %d wrong\n", n);
    if (!bad)
        printf("PASS\n");
    return bad != 0;
}
