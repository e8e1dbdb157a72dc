/*
 * Who has tensor memory: warps that wait for what others give back, pairs of blocks (.cta_group::2) with a product of
 * both, an arrival in every block of a cluster, an answer for all of them. With an argument: what is wrong, and how the
 * launch ends.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_fp16.h>

enum { M = 256, N = 64, K = 64 };

__device__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ uint32_t allocate(uint32_t *slot, uint32_t columns)
{
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(slot)), "r"(columns) : "memory");
    __syncwarp();
    return *slot;
}

__device__ void give_back(uint32_t at, uint32_t columns)
{
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(at), "r"(columns) : "memory");
}

__device__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

__device__ void wait_for(uint64_t *bar, int phase)
{
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }" ::"r"(shared_address(bar)), "r"(phase) : "memory");
}

/* Eight warps, each of which wants half of the memory, several times: two have it at a time. */
__global__ void takes_turns(unsigned *out)
{
    __shared__ uint32_t slot[8];
    __shared__ unsigned most, now;
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0)
        most = now = 0;
    __syncthreads();
    for (unsigned round = 0; round < 5; round++) {
        uint32_t at = allocate(&slot[warp], 256), x = threadIdx.x + round, y;
        if (lane == 0)
            atomicMax(&most, atomicAdd(&now, 1) + 1);
        at += warp % 4 << 21;
        asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1}; tcgen05.wait::st.sync.aligned;" ::"r"(at), "r"(x));
        __nanosleep(20);
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1]; tcgen05.wait::ld.sync.aligned;" : "=r"(y) : "r"(at));
        if (x != y)
            atomicAdd(&out[0], 1);
        if (lane == 0)
            atomicSub(&now, 1);
        __syncwarp();
        give_back(slot[warp], 256);
    }
    __syncthreads();
    if (threadIdx.x == 0 && (most < 1 || most > 2))
        atomicAdd(&out[1], 1);
}

/* Descriptor of rows of 16 f16: pieces of 16 bytes, eight rows after each other. */
__device__ uint64_t descriptor(const void *p, uint32_t rows)
{
    return (shared_address(p) & 0x3ffff) >> 4 | (uint64_t)rows << 16 | (uint64_t)(128 >> 4) << 32 | 1ull << 46;
}

__device__ void tile(unsigned char *to, const __half *from, int rows)
{
    for (int i = threadIdx.x; i < rows * 2; i += blockDim.x)
        memcpy(to + i % 2 * rows * 16 + i / 2 * 16, from + i / 2 * K + i % 2 * 8, 16);
}

/* Each block has half of the rows of a and of d, and half of the columns of b; the even one makes the product. */
__global__ void __cluster_dims__(2, 1, 1) pair(const __half *a, const __half *bt, float *c)
{
    __shared__ alignas(128) unsigned char sa[M / 2 * 32], sb[N / 2 * 32];
    __shared__ uint64_t bar;
    __shared__ uint32_t slot;
    unsigned rank = blockIdx.x % 2, x[8];
    const uint32_t what = 1 << 4 | N / 8 << 17 | M / 16 << 24;
    if (threadIdx.x < 32)
        asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 64; tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::"r"(shared_address(&slot)) : "memory");
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&bar)) : "memory");
    for (int k = 0; k < K; k += 16) {
        tile(sa, a + rank * (M / 2) * K + k, M / 2);
        tile(sb, bt + rank * (N / 2) * K + k, N / 2);
        asm volatile("fence.proxy.async;" ::: "memory");
        cluster_sync();
        if (rank == 0 && threadIdx.x == 0)
            asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p;"
                         "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%5], %6; }" ::"r"(slot),
                         "l"(descriptor(sa, M / 2)), "l"(descriptor(sb, N / 2)), "r"(what), "r"(k), "r"(shared_address(&bar)), "h"((short)3) : "memory");
        wait_for(&bar, k / 16 & 1);
    }
    for (int col = 0; col < N; col += 8) {
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8]; tcgen05.wait::ld.sync.aligned;"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]), "=r"(x[4]), "=r"(x[5]), "=r"(x[6]), "=r"(x[7]) : "r"(slot + (threadIdx.x / 32 << 21) + col));
        memcpy(c + (rank * (M / 2) + threadIdx.x) * N + col, x, sizeof(x));
    }
    cluster_sync();
    if (threadIdx.x < 32)
        asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 64;" ::"r"(slot) : "memory");
}

/* Rank 1 tells ranks 0, 2 and 3, by a generic address too. */
__global__ void __cluster_dims__(4, 1, 1) tells(unsigned *out)
{
    __shared__ uint64_t bar;
    __shared__ uint32_t slot;
    unsigned rank = blockIdx.x % 4, passed = 0;
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(shared_address(&bar)) : "memory");
    uint32_t at = allocate(&slot, 32);
    cluster_sync();
    if (rank == 1 && threadIdx.x == 0)
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %2;"
                     "tcgen05.commit.cta_group::1.mbarrier::arrive::one.multicast::cluster.b64 [%1], %2;" ::"r"(shared_address(&bar)), "l"(&bar), "h"((short)13) : "memory");
    if (rank != 1)
        wait_for(&bar, 0);
    cluster_sync();
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(passed) : "r"(shared_address(&bar)) : "memory");
    give_back(at, 32);
    if (threadIdx.x == 0)
        out[blockIdx.x] = passed;
}

/* Rank 2 asks for more work; nobody has any, which all ranks hear. */
__global__ void __cluster_dims__(4, 1, 1) asks(unsigned *out)
{
    __shared__ alignas(16) uint4 answer;
    __shared__ uint64_t bar;
    unsigned rank = blockIdx.x % 4;
    if (threadIdx.x == 0) {
        answer = make_uint4(1, 2, 3, 4);
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;" ::"r"(shared_address(&bar)) : "memory");
    }
    cluster_sync();
    if (rank == 2 && threadIdx.x == 0)
        asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%0], [%1];" ::"r"(shared_address(&answer)),
                     "r"(shared_address(&bar)) : "memory");
    wait_for(&bar, 0);
    if (threadIdx.x == 0)
        out[blockIdx.x] = answer.x | answer.y | answer.z | answer.w;
    cluster_sync();
}

/* ---- what is wrong */

__global__ void forgets()
{
    __shared__ uint32_t slot;
    allocate(&slot, 64);
}

__global__ void __cluster_dims__(2, 1, 1) one_forgets()
{
    __shared__ uint32_t slot;
    uint32_t at = allocate(&slot, 64);
    cluster_sync();
    if (blockIdx.x % 2 == 0)
        give_back(at, 64);
}

__global__ void waits_for_itself()
{
    __shared__ uint32_t slot;
    uint32_t at = allocate(&slot, 512);
    allocate(&slot, 32);
    give_back(at, 512);
}

__global__ void __cluster_dims__(2, 1, 1) waits_for_the_other()
{
    __shared__ uint32_t slot;
    if (blockIdx.x % 2)
        asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(shared_address(&slot)) : "memory");
}

__global__ void __cluster_dims__(2, 1, 1) others_want_more()
{
    __shared__ uint32_t slot;
    asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(&slot)), "r"(blockIdx.x % 2 ? 32 : 64) : "memory");
}

__global__ void alone()
{
    __shared__ uint32_t slot;
    asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(shared_address(&slot)) : "memory");
}

static int go_wrong(const char *how)
{
    static const struct {
        const char *how;
        void (*kernel)();
    } ways[] = {{"forgets", forgets}, {"one_forgets", one_forgets}, {"waits_for_itself", waits_for_itself},
                {"waits_for_the_other", waits_for_the_other}, {"others_want_more", others_want_more}, {"alone", alone}};
    for (auto &way : ways) {
        if (!strcmp(way.how, how))
            way.kernel<<<2, 32>>>();
    }
    puts(cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}

/* ---- what is right */

static __half a[M * K], bt[N * K];
static float c[M * N];

static void *device(const void *from, size_t size)
{
    void *p;
    cudaMalloc(&p, size);
    cudaMemcpy(p, from, size, cudaMemcpyHostToDevice);
    return p;
}

static int report(const char *name, int wrong)
{
    cudaError_t status = cudaDeviceSynchronize();
    if (status != cudaSuccess || wrong)
        printf("%s: %s, %d wrong\n", name, cudaGetErrorString(status), wrong);
    return status != cudaSuccess || wrong;
}

static int check_turns()
{
    unsigned out[2] = {0, 0}, *there = (unsigned *)device(out, sizeof(out));
    takes_turns<<<3, 256>>>(there);
    cudaMemcpy(out, there, sizeof(out), cudaMemcpyDeviceToHost);
    return report("takes_turns", out[0] + out[1]);
}

static int check_pair()
{
    int wrong = 0;
    for (auto &x : a)
        x = __float2half((float)(rand() % 9 - 4));
    for (auto &x : bt)
        x = __float2half((float)(rand() % 9 - 4));
    float *there = (float *)device(c, sizeof(c));
    pair<<<2, 128>>>((__half *)device(a, sizeof(a)), (__half *)device(bt, sizeof(bt)), there);
    cudaMemcpy(c, there, sizeof(c), cudaMemcpyDeviceToHost);
    for (int i = 0; i < M * N; i++) {
        float sum = 0;
        for (int k = 0; k < K; k++)
            sum += __half2float(a[i / N * K + k]) * __half2float(bt[i % N * K + k]);
        wrong += c[i] != sum;
    }
    return report("pair", wrong);
}

static int check_tells()
{
    unsigned out[8] = {0}, *there = (unsigned *)device(out, sizeof(out)), wrong = 0;
    tells<<<8, 32>>>(there);
    cudaMemcpy(out, there, sizeof(out), cudaMemcpyDeviceToHost);
    for (int i = 0; i < 8; i++)
        wrong += out[i] != (i % 4 != 1);
    return report("tells", wrong);
}

static int check_asks()
{
    unsigned out[8], *there, wrong = 0;
    memset(out, 1, sizeof(out));
    there = (unsigned *)device(out, sizeof(out));
    asks<<<8, 32>>>(there);
    cudaMemcpy(out, there, sizeof(out), cudaMemcpyDeviceToHost);
    for (unsigned x : out)
        wrong += x != 0;
    return report("asks", wrong);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return go_wrong(argv[1]);
    int bad = check_turns() + check_pair() + check_tells() + check_asks();
    if (!bad)
        puts("PASS");
    return bad;
}
