/* wgmma: a product of f16 matrices, b by bulk copies that an mbarrier counts, both swizzled. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_fp16.h>

enum { M = 128, N = 128, K = 192, TM = 64, TN = 64, TK = 64, TILE_B = TM * TK * 2 };

#define REGS_8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])

__device__ uint64_t descriptor(uint32_t address)
{
    return (address & 0x3ffff) >> 4 | 1ull << 16 | (uint64_t)(1024 >> 4) << 32 | 1ull << 62;
}

__global__ void gemm(const __half *a, const unsigned char *b_tiles, float *c)
{
    __shared__ alignas(1024) unsigned char sa[TILE_B], sb[TILE_B];
    __shared__ alignas(8) uint64_t full;
    uint32_t at_a = (uint32_t)__cvta_generic_to_shared(sa), at_b = (uint32_t)__cvta_generic_to_shared(sb);
    uint32_t bar = (uint32_t)__cvta_generic_to_shared(&full), t = threadIdx.x;
    float d[32];
    if (t == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
    __syncthreads();
    for (int k = 0; k < K; k += TK) {
        if (t == 0) {
            const unsigned char *from = b_tiles + (size_t)(blockIdx.x * (K / TK) + k / TK) * TILE_B;
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(TILE_B) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at_b), "l"(from),
                         "r"(TILE_B), "r"(bar) : "memory");
        }
        for (int i = t; i < TM * 8; i += 128) {
            int row = i / 8, piece = i % 8;
            memcpy(sa + row * 128 + ((piece ^ row % 8) * 16), a + (blockIdx.y * TM + row) * K + k + piece * 8, 16);
        }
        asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }" ::"r"(bar), "r"(k / TK & 1) : "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int step = 0; step < TK / 16; step++)
            asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0;\n"
                         "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
                         "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, p, 1, 1, 0, 0; }"
                         : REGS_8(0), REGS_8(8), REGS_8(16), REGS_8(24)
                         : "l"(descriptor(at_a + 32 * step)), "l"(descriptor(at_b + 32 * step)), "r"(k + step));
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }
    for (int i = 0; i < 32; i++) {
        int row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, col = i / 4 * 8 + t % 4 * 2 + i % 2;
        c[(blockIdx.y * TM + row) * N + blockIdx.x * TN + col] = d[i];
    }
}

static __half a[M * K], b[K * N];
static unsigned char tiles[N / TN * (K / TK) * TILE_B];
static float c[M * N];

int main()
{
    void *da, *db, *dc;
    for (auto &x : a)
        x = __float2half((float)(rand() % 9 - 4));
    for (auto &x : b)
        x = __float2half((float)(rand() % 9 - 4));
    for (int n = 0; n < N; n++) {
        for (int k = 0; k < K; k++) {
            int row = n % TN, at = k % TK * 2;
            unsigned char *tile = tiles + (n / TN * (K / TK) + k / TK) * TILE_B;
            memcpy(tile + row * 128 + (at / 16 ^ row % 8) * 16 + at % 16, &b[k * N + n], 2);
        }
    }
    cudaMalloc(&da, sizeof(a)), cudaMalloc(&db, sizeof(tiles)), cudaMalloc(&dc, sizeof(c));
    cudaMemcpy(da, a, sizeof(a), cudaMemcpyHostToDevice);
    cudaMemcpy(db, tiles, sizeof(tiles), cudaMemcpyHostToDevice);
    gemm<<<dim3(N / TN, M / TM), 128>>>((const __half *)da, (const unsigned char *)db, (float *)dc);
    cudaError_t status = cudaMemcpy(c, dc, sizeof(c), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < M * N; i++) {
        float want = 0;
        for (int k = 0; k < K; k++)
            want += __half2float(a[i / N * K + k]) * __half2float(b[k * N + i % N]);
        wrong += c[i] != want;
    }
    if (status != cudaSuccess || wrong)
        printf("%s, %d of %d wrong\n", cudaGetErrorString(status), wrong, M * N);
    else
        puts("PASS");
}
