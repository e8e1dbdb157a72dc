// Products of wgmma (compute_90a) and tcgen05 (compute_100a), which read shared memory by descriptors. products CASE
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

enum { THREADS = 128, ROWS = 128, COLUMNS = 8, K = 16 };

// Matrices of f16 in pieces of 8 x 16 bytes: two along k, then the next eight rows.
struct Buffers {
    alignas(128) uint16_t a[2][ROWS * K], b[2][COLUMNS * K];
    alignas(8) uint64_t barrier;
    uint32_t columns;
};

__device__ float out[THREADS];

static __device__ uint32_t in_window(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

static __device__ uint64_t descriptor(uint32_t at)
{
    return (at >> 4 & 0x3fff) | (uint64_t)(128 >> 4) << 16 | (uint64_t)(256 >> 4) << 32;
}

enum What { FINE, EARLY, OVERWRITTEN, FIRST_AGAIN, SECOND_AGAIN, BEYOND, UNWRITTEN, COPIED_EARLY };

static __device__ void fill(uint16_t *matrix, int n)
{
    for (int i = threadIdx.x; i < n; i += THREADS)
        matrix[i] = 0x3c00;
}

static __device__ void fill_all(Buffers &s, What what)
{
    for (int i = 0; i < 2; i++) {
        fill(s.a[i], ROWS * K);
        if (what != UNWRITTEN)
            fill(s.b[i], COLUMNS * K);
    }
}

static __device__ void wait(uint64_t *barrier, uint32_t parity)
{
    uint32_t done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(in_window(barrier)), "r"(parity) : "memory");
}

#ifdef TENSOR_MEMORY

// One thread multiplies, then tells a barrier; another one may write when it has waited there.
__global__ void multiply(What what)
{
    __shared__ Buffers s;
    uint64_t b = descriptor(what == BEYOND ? 0x3fff0 : in_window(s.b[0]));
    uint32_t idesc = 1 << 4 | COLUMNS / 8 << 17 | ROWS / 16 << 24;

    if (threadIdx.x < 32)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(in_window(&s.columns)) : "memory");
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(in_window(&s.barrier)) : "memory");
    fill_all(s, what);
    if (what != EARLY)
        __syncthreads();
    if (threadIdx.x == 0 && what == COPIED_EARLY)
        asm volatile("tcgen05.cp.cta_group::1.128x128b [%0], %1;" ::"r"(s.columns + 16), "l"(descriptor(in_window(s.a[0]))) : "memory");
    else if (threadIdx.x == 0)
        asm volatile("{ .reg .pred p; setp.ne.u32 p, 0, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }"
                     ::"r"(s.columns), "l"(descriptor(in_window(s.a[0]))), "l"(b), "r"(idesc) : "memory");
    if (threadIdx.x == 0)
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(in_window(&s.barrier)) : "memory");
    if (what != OVERWRITTEN && what != COPIED_EARLY)
        wait(&s.barrier, 0);
    if (threadIdx.x == 64)
        s.a[0][0] = 0;
    __syncthreads();
    if (threadIdx.x < 32)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(s.columns) : "memory");
}

static __device__ void meet()
{
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

// Two blocks have half of the rows of a and half of the columns of b each; one thread of the first multiplies.
__global__ void __cluster_dims__(2) pair(bool early)
{
    __shared__ Buffers s;
    uint32_t rank, idesc = 1 << 4 | 2 * COLUMNS / 8 << 17 | 2 * ROWS / 16 << 24;

    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x < 32)
        asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(in_window(&s.columns)) : "memory");
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(in_window(&s.barrier)) : "memory");
    fill_all(s, FINE);
    if (early && rank == 0)
        __syncthreads();
    else if (!early)
        meet();
    if (rank == 0 && threadIdx.x == 0) {
        asm volatile("{ .reg .pred p; setp.ne.u32 p, 0, 0; tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p; }"
                     ::"r"(s.columns), "l"(descriptor(in_window(s.a[0]))), "l"(descriptor(in_window(s.b[0]))), "r"(idesc) : "memory");
        asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(in_window(&s.barrier)) : "memory");
    }
    if (rank == 0)
        wait(&s.barrier, 0);
    meet();
    s.a[0][threadIdx.x] = 0;
    if (threadIdx.x < 32)
        asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 32;" ::"r"(s.columns) : "memory");
    meet();
}
#else
static __device__ void product(float d[4], uint64_t a, uint64_t b)
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, 0, 0;\n"
                 "wgmma.fence.sync.aligned;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;\n"
                 "wgmma.commit_group.sync.aligned; }"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b) : "memory");
}

__global__ void multiply(What what)
{
    __shared__ Buffers s;
    float d[4] = {0};

    fill_all(s, what);
    if (what != EARLY)
        __syncthreads();
    product(d, descriptor(in_window(s.a[0])), descriptor(what == BEYOND ? 0x3fff0 : in_window(s.b[0])));
    product(d, descriptor(in_window(s.a[1])), descriptor(in_window(s.b[1])));
    if (what == FIRST_AGAIN || what == SECOND_AGAIN)
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    else if (what != OVERWRITTEN)
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 64)
        s.a[what == SECOND_AGAIN][5] = 0;
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    out[threadIdx.x] = d[0];
}

static __device__ void arrive(uint64_t *barrier)
{
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(in_window(barrier)) : "memory");
}

// A fifth warp fills the buffer again and again. That it may one thread of the other four says, for all of them.
__global__ void pipeline(bool early)
{
    __shared__ Buffers s;
    __shared__ uint64_t full, empty;
    float d[4] = {0};

    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 32; mbarrier.init.shared.b64 [%1], 1;" ::"r"(in_window(&full)), "r"(in_window(&empty)) : "memory");
    __syncthreads();
    for (int i = 0; i < 6; i++) {
        if (threadIdx.x >= THREADS) {
            if (i)
                wait(&empty, (i - 1) & 1);
            for (int j = threadIdx.x % 32; j < 64 * K; j += 32)
                s.a[0][j] = s.b[0][j % (COLUMNS * K)] = 0x3c00 + i;
            asm volatile("fence.proxy.async;" ::: "memory");
            arrive(&full);
            continue;
        }
        wait(&full, i & 1);
        product(d, descriptor(in_window(s.a[0])), descriptor(in_window(s.b[0])));
        if (!early)
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (threadIdx.x == 37)
            arrive(&empty);
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    if (threadIdx.x < THREADS)
        out[threadIdx.x] = d[0];
}
#endif

int main(int argc, char **argv)
{
    static const char *const names[] = {"fine", "early", "overwritten", "first_again", "second_again", "beyond", "unwritten", "copied_early"};
    for (int i = 0; argc == 2 && i < 8; i++)
        if (!strcmp(argv[1], names[i]))
            multiply<<<1, THREADS>>>((What)i);
#ifdef TENSOR_MEMORY
    if (argc == 2 && !strncmp(argv[1], "pair", 4))
        pair<<<2, THREADS>>>(!strcmp(argv[1], "pair_early"));
#else
    if (argc == 2 && !strncmp(argv[1], "pipeline", 8))
        pipeline<<<1, THREADS + 32>>>(!strcmp(argv[1], "pipeline_early"));
#endif
    puts(cudaGetErrorString(cudaDeviceSynchronize()));
}
