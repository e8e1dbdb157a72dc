// What is in tensor memory (compute_100a): allocation, stores, loads, copies, products. tensor CASE
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

enum { THREADS = 128, ROWS = 128, N = 8, K = 16, COLUMNS = 64 };

// Matrices of f16 in pieces of 8 x 16 bytes: two along k, then the next eight rows.
struct Buffers {
    alignas(128) uint16_t a[ROWS * K], b[N * K];
    alignas(8) uint64_t barrier;
    uint32_t at[2];
};

__device__ uint32_t out[THREADS];

static __device__ uint32_t in_window(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

static __device__ uint64_t descriptor(const void *p)
{
    return (in_window(p) >> 4 & 0x3fff) | (uint64_t)(128 >> 4) << 16 | (uint64_t)(256 >> 4) << 32;
}

// By a whole warp.
static __device__ void alloc(uint32_t *at, uint32_t columns)
{
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(in_window(at)), "r"(columns) : "memory");
}

static __device__ void dealloc(uint32_t at, uint32_t columns)
{
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(at), "r"(columns) : "memory");
}

// Four columns of the warp's own lanes.
static __device__ uint32_t own_lanes()
{
    return threadIdx.x / 32 * 32 << 16;
}

static __device__ void store(uint32_t at, bool waits = true)
{
    asm volatile("tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1, %1, %1, %1};" ::"r"(at), "r"(threadIdx.x) : "memory");
    if (waits)
        asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}

static __device__ uint32_t load(uint32_t at, bool waits = true)
{
    uint32_t x[4];

    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at) : "memory");
    if (waits)
        asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    return x[0] + x[1] + x[2] + x[3];
}

static __device__ void wait(uint64_t *barrier, uint32_t parity)
{
    uint32_t done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(in_window(barrier)), "r"(parity) : "memory");
}

static __device__ void begin(Buffers &s)
{
    for (int i = threadIdx.x; i < ROWS * K; i += THREADS)
        s.a[i] = 0x3c00;
    s.b[threadIdx.x] = 0x3c00;
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(in_window(&s.barrier)) : "memory");
    if (threadIdx.x < 32)
        alloc(&s.at[0], COLUMNS);
    __syncthreads();
}

static __device__ void end(Buffers &s)
{
    __syncthreads();
    if (threadIdx.x < 32)
        dealloc(s.at[0], COLUMNS);
}

// ---- by warps

enum Move { FINE, BEYOND, OUTSIDE, LANES, UNWRITTEN, HALF_WRITTEN };

__global__ void move(Move what)
{
    __shared__ Buffers s;

    begin(s);
    uint32_t at = s.at[0] + own_lanes();
    store(at);
    uint32_t from = at + (what == BEYOND ? COLUMNS : what == OUTSIDE ? 510 : what == UNWRITTEN ? 4 : what == HALF_WRITTEN ? 2 : 0);
    if (what == LANES)
        from ^= 32 << 16;
    out[threadIdx.x] = load(from);
    end(s);
}

enum Life { LEAK, FREED, TWICE, PART, ODD, LATE, HALF_WARP, AGAIN };

__global__ void live(Life what)
{
    __shared__ uint32_t at[2];

    if (threadIdx.x >= 32)
        return;
    if (what == HALF_WARP) {
        if (threadIdx.x < 16)
            alloc(&at[0], COLUMNS);
    } else {
        alloc(&at[0], what == ODD ? 48 : COLUMNS);
    }
    __syncwarp();
    store(at[0]);
    if (what == LATE) {
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
        alloc(&at[1], 32);
    }
    if (what == LEAK)
        return;
    dealloc(at[0], what == PART ? 32 : COLUMNS);
    if (what == FREED)
        out[threadIdx.x] = load(at[0]);
    if (what == TWICE)
        dealloc(at[0], COLUMNS);
    if (what == AGAIN) {
        alloc(&at[1], COLUMNS);
        __syncwarp();
        out[threadIdx.x] = load(at[1]);
        dealloc(at[1], COLUMNS);
    }
}

// ---- by one thread

enum Product { PRODUCT, SUM, SUM_OF_NOTHING, OF_COPY, OF_NOTHING, TOO_FAR, BESIDE };

static __device__ void issue(Buffers &s, Product what)
{
    uint32_t idesc = 1 << 4 | N / 8 << 17 | ROWS / 16 << 24, d = s.at[0] + (what == TOO_FAR ? COLUMNS - 4 : 0), a = s.at[0] + 32;
    uint32_t sums = what == SUM || what == SUM_OF_NOTHING;

    if (what == OF_COPY)
        for (int i = 0; i < 2; i++)
            asm volatile("tcgen05.cp.cta_group::1.128x128b [%0], %1;" ::"r"(a + 4 * i), "l"(descriptor(s.a)) : "memory");
    if (what == OF_COPY || what == OF_NOTHING)
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p; }"
                     ::"r"(d), "r"(a), "l"(descriptor(s.b)), "r"(idesc), "r"(sums) : "memory");
    else
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }"
                     ::"r"(d), "l"(descriptor(s.a)), "l"(descriptor(s.b)), "r"(idesc), "r"(sums) : "memory");
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(in_window(&s.barrier)) : "memory");
}

__global__ void multiply(Product what)
{
    __shared__ Buffers s;

    begin(s);
    if (what == SUM) {
        store(s.at[0] + own_lanes());
        store(s.at[0] + own_lanes() + 4);
        asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
        __syncthreads();
    }
    if (threadIdx.x == 0)
        issue(s, what);
    wait(&s.barrier, 0);
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    out[threadIdx.x] = load(s.at[0] + own_lanes() + (what == BESIDE ? N : 0));
    end(s);
}

enum Order { IN_ORDER, EARLY, STORED, STORED_EARLY, STORED_NO_WAIT, AGAIN_LATER, AGAIN_EARLY, AGAIN_NO_WAIT };

// Stores of all warps before a product that adds to them, its result, and another product there.
__global__ void order(Order what)
{
    __shared__ Buffers s;
    bool stores = what >= STORED && what <= STORED_NO_WAIT;

    begin(s);
    uint32_t at = s.at[0] + own_lanes();
    for (int i = 0; stores && i < 2; i++)
        store(at + 4 * i, what != STORED_NO_WAIT);
    if (stores && what != STORED_EARLY)
        __syncthreads();
    if (threadIdx.x == 0)
        issue(s, stores ? SUM : PRODUCT);
    if (what != EARLY)
        wait(&s.barrier, 0);
    __syncthreads();
    out[threadIdx.x] = load(at, what != AGAIN_NO_WAIT);
    if (what >= AGAIN_LATER) {
        if (what != AGAIN_EARLY)
            __syncthreads();
        if (threadIdx.x == 0)
            issue(s, PRODUCT);
        wait(&s.barrier, 1);
        out[threadIdx.x] += load(at);
    }
    end(s);
}

static __device__ void meet()
{
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

// Half of the rows of d lie in each block's tensor memory.
__global__ void __cluster_dims__(2) pair(bool sums)
{
    __shared__ Buffers s;
    uint32_t rank, idesc = 1 << 4 | 2 * N / 8 << 17 | 2 * ROWS / 16 << 24;

    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x < 32)
        asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(in_window(&s.at[0])) : "memory");
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(in_window(&s.barrier)) : "memory");
    for (int i = threadIdx.x; i < ROWS * K; i += THREADS)
        s.a[i] = 0x3c00;
    s.b[threadIdx.x] = 0x3c00;
    meet();
    if (sums && rank == 1)
        for (int i = 0; i < 4; i++)
            store(s.at[0] + own_lanes() + 4 * i);
    meet();
    if (rank == 1 && threadIdx.x == 0) {
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p; }"
                     ::"r"(s.at[0]), "l"(descriptor(s.a)), "l"(descriptor(s.b)), "r"(idesc), "r"((uint32_t)sums) : "memory");
        asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(in_window(&s.barrier)) : "memory");
    }
    if (rank == 1)
        wait(&s.barrier, 0);
    meet();
    out[threadIdx.x] = load(s.at[0] + own_lanes());
    __syncthreads();
    if (threadIdx.x < 32)
        asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 32;" ::"r"(s.at[0]) : "memory");
    meet();
}

int main(int argc, char **argv)
{
    static const char *const moves[] = {"fine", "beyond", "outside", "lanes", "unwritten", "half_written"};
    static const char *const lives[] = {"leak", "freed", "twice", "part", "odd", "late", "half_warp", "again"};
    static const char *const products[] = {"product", "sum", "sum_of_nothing", "of_copy", "of_nothing", "too_far", "beside"};
    static const char *const orders[] = {"in_order", "early", "stored", "stored_early", "stored_no_wait", "again_later", "again_early", "again_no_wait"};

    for (int i = 0; argc == 2 && i < 8; i++) {
        if (i < 6 && !strcmp(argv[1], moves[i]))
            move<<<1, THREADS>>>((Move)i);
        if (!strcmp(argv[1], lives[i]))
            live<<<1, THREADS>>>((Life)i);
        if (!strcmp(argv[1], orders[i]))
            order<<<1, THREADS>>>((Order)i);
        if (i < 7 && !strcmp(argv[1], products[i]))
            multiply<<<1, THREADS>>>((Product)i);
    }
    if (argc == 2 && !strncmp(argv[1], "pair", 4))
        pair<<<2, THREADS>>>(!strcmp(argv[1], "pair_sum"));
    puts(cudaGetErrorString(cudaDeviceSynchronize()));
}
