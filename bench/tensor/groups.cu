/* How fast wgmma is: products of four warps, with both matrices in shared memory.
 * usage: groups [-q]      output: name,GFLOP/s,share of plain multiply-adds' rate */
#include "tensor.h"

#define SUMS_8(i)                                                                                  \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]),    \
        "+f"(d[i + 6]), "+f"(d[i + 7])
#define SUMS_32(i) SUMS_8(i), SUMS_8(i + 8), SUMS_8(i + 16), SUMS_8(i + 24)
#define SUMS_128   SUMS_32(0), SUMS_32(32), SUMS_32(64), SUMS_32(96)

/* Operands 0 .. 9, and ten of a number t of tens. */
#define FIRST "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,"
#define TEN(t)                                                                                     \
    "%" #t "0,%" #t "1,%" #t "2,%" #t "3,%" #t "4,%" #t "5,%" #t "6,%" #t "7,%" #t "8,%" #t "9,"
#define UP_TO_29  FIRST TEN(1) TEN(2)
#define UP_TO_119 UP_TO_29 TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11)

/* Rows of 128 bytes, swizzled. */
__device__ uint64_t descriptor(const void *at)
{
    uint32_t address = (uint32_t)__cvta_generic_to_shared(at);
    return (address & 0x3ffff) >> 4 | 1ull << 16 | (uint64_t)(1024 >> 4) << 32 | 1ull << 62;
}

/* `sums` for each thread; the elements are small numbers whatever their type. */
#define KERNEL(name, sums, fill, ...)                                                              \
    __global__ void name(float *out, int n)                                                        \
    {                                                                                              \
        __shared__ alignas(1024) unsigned sa[64 * 32], sb[256 * 32];                               \
        float d[sums] = {};                                                                        \
        for (int i = threadIdx.x; i < 64 * 32; i += THREADS)                                       \
            sa[i] = (fill) ^ (i & 0x10001);                                                        \
        for (int i = threadIdx.x; i < 256 * 32; i += THREADS)                                      \
            sb[i] = (fill) ^ (i >> 1 & 0x10001);                                                   \
        __syncthreads();                                                                           \
        uint64_t a = descriptor(sa), b = descriptor(sb);                                           \
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                                    \
        for (int k = 0; k < n; k++)                                                                \
            asm volatile(__VA_ARGS__);                                                             \
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" :::       \
                         "memory");                                                                \
        for (int i = 0; i < sums; i++)                                                             \
            out[blockIdx.x * THREADS + threadIdx.x] += d[i];                                       \
    }

#define WIDE(what)                                                                                 \
    "wgmma.mma_async.sync.aligned." what " {" UP_TO_119                                            \
    "%120,%121,%122,%123,%124,%125,%126,%127}, %128, %129, 1, 1, 1"
#define NARROW(what)                                                                               \
    "wgmma.mma_async.sync.aligned." what " {" UP_TO_29 "%30,%31}, %32, %33, 1, 1, 1"

KERNEL(bf16, 128, 0x3d803d80, WIDE("m64n256k16.f32.bf16.bf16") ", 0, 0;"
       : SUMS_128 : "l"(a), "l"(b))
KERNEL(f16, 128, 0x2c002c00, WIDE("m64n256k16.f32.f16.f16") ", 0, 0;"
       : SUMS_128 : "l"(a), "l"(b))
KERNEL(f16_narrow, 32, 0x2c002c00, NARROW("m64n64k16.f32.f16.f16") ", 0, 0;"
       : SUMS_32(0) : "l"(a), "l"(b))
KERNEL(tf32, 128, 0x3d800000, WIDE("m64n256k8.f32.tf32.tf32") ";" : SUMS_128 : "l"(a), "l"(b))
KERNEL(e4m3, 128, 0x18181818, WIDE("m64n256k32.f32.e4m3.e4m3") ";" : SUMS_128 : "l"(a), "l"(b))

/* Of the rows of one warp. */
static double operations(int n, int k)
{
    return 2.0 * 16 * n * k;
}

int main(int argc, char **argv)
{
    rounds_choose(argc, argv);
    report("wgmma bf16 m64n256k16", operations(256, 16), 20, bf16);
    report("wgmma f16 m64n256k16", operations(256, 16), 20, f16);
    report("wgmma f16 m64n64k16", operations(64, 16), 80, f16_narrow);
    report("wgmma tf32 m64n256k8", operations(256, 8), 40, tf32);
    report("wgmma e4m3 m64n256k32", operations(256, 32), 10, e4m3);
    return 0;
}
