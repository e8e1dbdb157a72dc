/* How fast tcgen05.mma is: products of a block, 128 x 128, in tensor memory, both matrices in shared memory.
 * usage: blocks [-q]      output: name,GFLOP/s,share of plain multiply-adds' rate */
#include "tensor.h"

enum { ROWS = 128, COLUMNS = 128, ROW_B = 32 };

static __device__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* Pieces of 16 bytes of eight rows follow each other; no swizzle. */
static __device__ uint64_t descriptor(const void *at, uint32_t lead_B, uint32_t stride_B)
{
    return (shared_address(at) & 0x3ffff) >> 4 | (uint64_t)(lead_B >> 4) << 16 |
           (uint64_t)(stride_B >> 4) << 32 | 1ull << 46;
}

static __device__ uint32_t tensor_memory(uint32_t *slot, uint64_t *bar)
{
    if (threadIdx.x < 32)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 256;" ::"r"(
                         shared_address(slot))
                     : "memory");
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(bar))
                     : "memory");
    asm volatile("fence.proxy.async; tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    return *slot;
}

static __device__ void finish(uint32_t tensor, uint64_t *bar, float *out)
{
    uint32_t sum;
    if (threadIdx.x == 0)
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 "
                     "[%0];" ::"r"(shared_address(bar))
                     : "memory");
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; "
                 "@!p bra again; }" ::"r"(shared_address(bar))
                 : "memory");
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1]; "
                 "tcgen05.wait::ld.sync.aligned;"
                 : "=r"(sum)
                 : "r"(tensor + (threadIdx.x / 32 << 21)));
    out[blockIdx.x * THREADS + threadIdx.x] += __uint_as_float(sum);
    __syncthreads();
    if (threadIdx.x < 32)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 256;" ::"r"(tensor));
}

/* `fill` sets all elements; `what` describes the product; scales lie behind the sums. */
#define KERNEL(name, fill, what_, ...)                                                             \
    __global__ void name(float *out, int n)                                                        \
    {                                                                                              \
        __shared__ alignas(128) unsigned sa[ROWS * ROW_B / 4], sb[COLUMNS * ROW_B / 4], ss[256];   \
        __shared__ uint64_t bar;                                                                   \
        __shared__ uint32_t slot;                                                                  \
        const uint32_t what = (what_) | COLUMNS / 8 << 17 | ROWS / 16 << 24;                       \
        for (int i = threadIdx.x; i < ROWS * ROW_B / 4; i += THREADS)                              \
            sa[i] = (fill) ^ (i & 0x10001), sb[i] = (fill) ^ (i >> 1 & 0x10001);                   \
        for (int i = threadIdx.x; i < 256; i += THREADS)                                           \
            ss[i] = 0x38383838;                                                                    \
        uint32_t tensor = tensor_memory(&slot, &bar), scales = tensor + COLUMNS;                   \
        uint64_t a = descriptor(sa, ROWS * 16, 128), b = descriptor(sb, COLUMNS * 16, 128);        \
        for (int i = 0; i < 2 && threadIdx.x == 0; i++)                                            \
            asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(scales + 4 * i), \
                         "l"(descriptor(ss + 128 * i, 0, 128))                                     \
                         : "memory");                                                              \
        for (int k = 0; k < n && threadIdx.x == 0; k++)                                            \
            asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; " __VA_ARGS__ " }" ::"r"(tensor),  \
                         "l"(a), "l"(b), "r"(what), "r"(k), "r"(scales), "r"(scales + 4)           \
                         : "memory");                                                              \
        finish(tensor, &bar, out);                                                                 \
    }

KERNEL(f16, 0x2c002c00, 1 << 4, "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;")
KERNEL(bf16, 0x3d803d80, 1 << 4 | 1 << 7 | 1 << 10,
       "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;")
KERNEL(e4m3, 0x18181818, 1 << 4, "tcgen05.mma.cta_group::1.kind::f8f6f4 [%0], %1, %2, %3, p;")
KERNEL(fp4, 0x11111111, 1 << 7 | 1 << 10,
       "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X "
       "[%0], %1, %2, %3, [%5], [%6], p;")

/* Of a fourth of the block, as there are four warps. */
static double operations(int k)
{
    return 2.0 * ROWS * COLUMNS * k / 4;
}

int main(int argc, char **argv)
{
    rounds_choose(argc, argv);
    report("tcgen05.mma f16 m128n128k16", operations(16), 100, f16);
    report("tcgen05.mma bf16 m128n128k16", operations(16), 100, bf16);
    report("tcgen05.mma e4m3 m128n128k32", operations(32), 50, e4m3);
    report("tcgen05.mma mxf4nvf4 m128n128k64", operations(64), 25, fp4);
    return 0;
}
