/*
 * wgmma as kernels for sm_90a are built: a warp of its own fetches swizzled tiles of a and b by tensor maps into a ring
 * of stages, and a group of four warps multiplies them; each stage has an mbarrier for when it is full and one for when
 * it is empty. Says PASS, or what is wrong.
 */
#include <cuda.h>
#include <cuda_fp16.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

enum { M = 192, N = 128, K = 448, TM = 64, TN = 64, TK = 64, STAGES = 3, STEPS = K / TK, CONSUMERS = 128 };

struct stage {
    __half a[TM * TK], b[TN * TK];
};

#define REGS_8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])

__device__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ void barrier_init(uint64_t *bar, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(count) : "memory");
}

__device__ void barrier_wait(uint64_t *bar, unsigned parity)
{
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }" ::"r"(shared_address(bar)), "r"(parity)
                 : "memory");
}

__device__ void tile_fetch(void *to, const CUtensorMap *map, int k, int row, uint64_t *bar)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)), "l"(map),
                 "r"(k), "r"(row), "r"(shared_address(bar)) : "memory");
}

__device__ uint64_t descriptor(const void *tile)
{
    return (shared_address(tile) & 0x3ffff) >> 4 | 1ull << 16 | (uint64_t)(1024 >> 4) << 32 | 1ull << 62;
}

__device__ void produce(const CUtensorMap *a, const CUtensorMap *b, stage *ring, uint64_t *full, uint64_t *empty)
{
    for (int step = 0; step < STEPS; step++) {
        int s = step % STAGES, turn = step / STAGES;
        if (turn)
            barrier_wait(&empty[s], turn - 1 & 1);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&full[s])), "r"((unsigned)sizeof(stage)) : "memory");
        tile_fetch(ring[s].a, a, step * TK, blockIdx.y * TM, &full[s]);
        tile_fetch(ring[s].b, b, step * TK, blockIdx.x * TN, &full[s]);
    }
}

__device__ void consume(float *c, stage *ring, uint64_t *full, uint64_t *empty)
{
    float d[32] = {};
    for (int step = 0; step < STEPS; step++) {
        int s = step % STAGES;
        barrier_wait(&full[s], step / STAGES & 1);
        uint64_t a = descriptor(ring[s].a), b = descriptor(ring[s].b);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int k = 0; k < TK / 16; k++)
            asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
                         "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;"
                         : REGS_8(0), REGS_8(8), REGS_8(16), REGS_8(24) : "l"(a + 2 * k), "l"(b + 2 * k));
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&empty[s])) : "memory");
    }
    for (int i = 0; i < 32; i++) {
        int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8, col = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
        c[(blockIdx.y * TM + row) * N + blockIdx.x * TN + col] = d[i];
    }
}

__global__ void gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float *c)
{
    extern __shared__ unsigned char window[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    stage *ring = (stage *)(window + (1024 - shared_address(window) % 1024) % 1024);

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++)
            barrier_init(&full[i], 1), barrier_init(&empty[i], CONSUMERS);
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x < CONSUMERS)
        consume(c, ring, full, empty);
    else if (threadIdx.x == CONSUMERS)
        produce(&a, &b, ring, full, empty);
}

static CUtensorMap map_of(void *p, int rows)
{
    typedef CUresult encode(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                            const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
    const cuuint64_t size[2] = {K, (cuuint64_t)rows}, row_B = K * sizeof(__half);
    const cuuint32_t box[2] = {TK, TM}, step[2] = {1, 1};
    cudaDriverEntryPointQueryResult found;
    CUtensorMap map;
    void *call;

    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &call, 12000, cudaEnableDefault, &found) != cudaSuccess || found != cudaDriverEntryPointSuccess ||
        ((encode *)call)(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, p, size, &row_B, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                         CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
        printf("no tensor map\n"), exit(1);
    return map;
}

static __half a[M * K], b[N * K];
static float c[M * N];

static void *fill(__half *x, size_t n)
{
    void *p;
    for (size_t i = 0; i < n; i++)
        x[i] = __float2half((float)(rand() % 9 - 4));
    cudaMalloc(&p, n * sizeof(*x));
    cudaMemcpy(p, x, n * sizeof(*x), cudaMemcpyHostToDevice);
    return p;
}

int main()
{
    const int window_B = STAGES * (int)sizeof(stage) + 1024;
    CUtensorMap map_a = map_of(fill(a, M * K), M), map_b = map_of(fill(b, N * K), N);
    float *dc;
    int wrong = 0;

    cudaMalloc(&dc, sizeof(c));
    cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, window_B);
    gemm<<<dim3(N / TN, M / TM), CONSUMERS + 32, window_B>>>(map_a, map_b, dc);
    cudaError_t status = cudaMemcpy(c, dc, sizeof(c), cudaMemcpyDeviceToHost);
    for (int i = 0; i < M * N; i++) {
        float want = 0;
        for (int k = 0; k < K; k++)
            want += __half2float(a[i / N * K + k]) * __half2float(b[i % N * K + k]);
        wrong += c[i] != want;
    }
    if (status != cudaSuccess || wrong)
        printf("%s, %d of %d wrong\n", cudaGetErrorString(status), wrong, M * N);
    else
        puts("PASS");
}
