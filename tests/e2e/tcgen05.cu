/* tcgen05: a product of f16 matrices in tensor memory, and one of FP4 with a scale for 16 elements. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_fp16.h>

enum { M = 128, N = 64, K = 128, FP4_K = 64 };

__device__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* Pieces of 16 bytes, eight rows after each other, without swizzle. */
__device__ uint64_t descriptor(uint32_t address, uint32_t lead_B, uint32_t stride_B)
{
    return (address & 0x3ffff) >> 4 | (uint64_t)(lead_B >> 4) << 16 | (uint64_t)(stride_B >> 4) << 32 | 1ull << 46;
}

__device__ uint32_t allocate(uint32_t *slot)
{
    if (threadIdx.x < 32)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;" ::"r"(shared_address(slot)) : "memory");
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    return *slot;
}

__device__ void commit_and_wait(uint64_t *bar, int phase)
{
    uint32_t at = shared_address(bar);
    if (threadIdx.x == 0)
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(at) : "memory");
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }" ::"r"(at), "r"(phase) : "memory");
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

__device__ void store_rows(uint32_t tensor, float *c)
{
    uint32_t x[8], at = tensor + (threadIdx.x / 32 << 21);
    for (int col = 0; col < N; col += 8) {
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8]; tcgen05.wait::ld.sync.aligned;"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]), "=r"(x[4]), "=r"(x[5]), "=r"(x[6]), "=r"(x[7]) : "r"(at + col));
        memcpy(c + threadIdx.x * N + col, x, sizeof(x));
    }
    __syncthreads();
    if (threadIdx.x < 32)
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 128;" ::"r"(tensor));
}

__device__ void start(uint64_t *bar)
{
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(bar)) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
}

/* 16 bytes of a row of `row_B`, as the descriptor has them: pieces of all rows after each other. */
__device__ void tile_load(unsigned char *to, const void *from, int rows, int row_B)
{
    for (int i = threadIdx.x; i < rows * row_B / 16; i += blockDim.x) {
        int row = i / (row_B / 16), piece = i % (row_B / 16);
        memcpy(to + piece * rows * 16 + row * 16, (const char *)from + row * row_B + piece * 16, 16);
    }
}

__global__ void halves(const __half *a, const __half *bt, float *c)
{
    __shared__ alignas(128) unsigned char sa[M * 32], sb[N * 32];
    __shared__ uint64_t bar;
    __shared__ uint32_t slot;
    const uint32_t what = 1 << 4 | N / 8 << 17 | M / 16 << 24;
    uint32_t tensor = allocate(&slot);
    for (int k = 0; k < K; k += 16) {
        for (int i = threadIdx.x; i < M + N; i += 128) {
            int row = i < M ? i : i - M, rows = i < M ? M : N;
            const __half *from = (i < M ? a : bt) + row * K + k;
            memcpy((i < M ? sa : sb) + row * 16, from, 16);
            memcpy((i < M ? sa : sb) + rows * 16 + row * 16, from + 8, 16);
        }
        if (k == 0)
            start(&bar);
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0)
            asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }" ::"r"(tensor),
                         "l"(descriptor(shared_address(sa), M * 16, 128)), "l"(descriptor(shared_address(sb), N * 16, 128)), "r"(what), "r"(k) : "memory");
        commit_and_wait(&bar, k / 16 & 1);
        __syncthreads();
    }
    store_rows(tensor, c);
}

/* Scales: of row r, four bytes at r % 32 * 16 + r / 32 * 4; a copy brings them to all four quarters. */
__global__ void fp4(const unsigned char *a, const unsigned char *bt, const unsigned char *scales, float *c)
{
    __shared__ alignas(128) unsigned char sa[M * 32], sb[N * 32], ss[1024];
    __shared__ uint64_t bar;
    __shared__ uint32_t slot;
    const uint32_t what = 1 << 7 | 1 << 10 | N / 8 << 17 | M / 16 << 24; /* e2m1, ue4m3 */
    uint32_t tensor = allocate(&slot);
    tile_load(sa, a, M, 32);
    tile_load(sb, bt, N, 32);
    tile_load(ss, scales, 64, 16);
    start(&bar);
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++)
            asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(tensor + 64 + 4 * i), "l"(descriptor(shared_address(ss + 512 * i), 0, 128)) : "memory");
        asm volatile("{ .reg .pred p; setp.ne.b32 p, 0, 0; tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%0], %1, %2, %3, [%4], [%5], p; }" ::"r"(tensor),
                     "l"(descriptor(shared_address(sa), M * 16, 128)), "l"(descriptor(shared_address(sb), N * 16, 128)), "r"(what), "r"(tensor + 64), "r"(tensor + 68) : "memory");
    }
    commit_and_wait(&bar, 0);
    store_rows(tensor, c);
}

static __half a[M * K], bt[N * K];
static unsigned char a4[M * 32], b4[N * 32], scales[1024];
static float c[M * N], values[16] = {0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.f, -.5f, -1, -1.5f, -2, -3, -4, -6};

static float nibble(const unsigned char *row, int k)
{
    return values[row[k / 2] >> k % 2 * 4 & 15];
}

/* 1 and 2 as ue4m3 are 0x38 and 0x40. */
static float scale(const unsigned char *from, int row, int k)
{
    return from[row % 32 * 16 + row / 32 * 4 + k / 16] == 0x38 ? 1 : 2;
}

static void *device(const void *from, size_t size)
{
    void *p;
    cudaMalloc(&p, size);
    cudaMemcpy(p, from, size, cudaMemcpyHostToDevice);
    return p;
}

static int report(const char *name, void *dc, float (*want)(int row, int col))
{
    cudaError_t status = cudaMemcpy(c, dc, sizeof(c), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < M * N; i++)
        wrong += c[i] != want(i / N, i % N);
    if (status != cudaSuccess || wrong)
        printf("%s: %s, %d of %d wrong\n", name, cudaGetErrorString(status), wrong, M * N);
    return status != cudaSuccess || wrong;
}

static float want_halves(int row, int col)
{
    float sum = 0;
    for (int k = 0; k < K; k++)
        sum += __half2float(a[row * K + k]) * __half2float(bt[col * K + k]);
    return sum;
}

static float want_fp4(int row, int col)
{
    float sum = 0;
    for (int k = 0; k < FP4_K; k++)
        sum += nibble(a4 + row * 32, k) * nibble(b4 + col * 32, k) * scale(scales, row, k) * scale(scales + 512, col, k);
    return sum;
}

int main()
{
    for (auto &x : a)
        x = __float2half((float)(rand() % 9 - 4));
    for (auto &x : bt)
        x = __float2half((float)(rand() % 9 - 4));
    for (auto &x : a4)
        x = (unsigned char)rand();
    for (auto &x : b4)
        x = (unsigned char)rand();
    for (auto &x : scales)
        x = rand() % 2 ? 0x38 : 0x40;
    float *dc = (float *)device(c, sizeof(c));
    halves<<<1, 128>>>((__half *)device(a, sizeof(a)), (__half *)device(bt, sizeof(bt)), dc);
    int bad = report("halves", dc, want_halves);
    fp4<<<1, 128>>>((unsigned char *)device(a4, sizeof(a4)), (unsigned char *)device(b4, sizeof(b4)), (unsigned char *)device(scales, sizeof(scales)), dc);
    bad |= report("fp4", dc, want_fp4);
    if (!bad)
        puts("PASS");
}
