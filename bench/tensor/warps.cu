/* How fast mma.sync is: a warp has two fragments of a, four of b and eight of sums.
 * usage: warps [-q]      output: name,GFLOP/s,share of plain multiply-adds' rate */
#include "tensor.h"

#define A4(i) "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3])
#define A2(i) "r"(a[i][0]), "r"(a[i][1])
#define B2(j) "r"(b[j][0]), "r"(b[j][1])
#define D4(T) "+" T(d[i][j][0]), "+" T(d[i][j][1]), "+" T(d[i][j][2]), "+" T(d[i][j][3])
#define LONG  "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"

/* A kernel of one instruction; `what` fills all registers of a and b. */
#define KERNEL(name, type, what, ...)                                                              \
    __global__ void name(float *out, int n)                                                        \
    {                                                                                              \
        unsigned a[2][4], b[4][2];                                                                 \
        type d[2][4][4] = {};                                                                      \
        for (int i = 0; i < 8; i++) {                                                              \
            a[i / 4][i % 4] = (what) ^ (threadIdx.x << i & 0x10001);                               \
            b[i / 2][i % 2] = (what) ^ (threadIdx.x >> i & 0x10001);                               \
        }                                                                                          \
        for (int k = 0; k < n; k++) {                                                              \
            _Pragma("unroll") for (int i = 0; i < 2; i++)                                          \
            {                                                                                      \
                _Pragma("unroll") for (int j = 0; j < 4; j++) asm volatile(__VA_ARGS__);           \
            }                                                                                      \
        }                                                                                          \
        for (int i = 0; i < 32; i++)                                                               \
            out[blockIdx.x * THREADS + threadIdx.x] += (float)d[i / 16][i / 4 % 4][i % 4];         \
    }

KERNEL(f16, float, 0x2c002c00, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " LONG
       : D4("f") : A4(i), B2(j))
KERNEL(bf16, float, 0x3d803d80, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " LONG
       : D4("f") : A4(i), B2(j))
KERNEL(f16_short, float, 0x2c002c00,
       "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
       : D4("f") : A2(i), "r"(b[j][0]))
KERNEL(f16_sums, unsigned, 0x2c002c00,
       "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
       : "+r"(d[i][j][0]), "+r"(d[i][j][1]) : A4(i), B2(j))
KERNEL(tf32, float, 0x3d800000, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 " LONG
       : D4("f") : A4(i), B2(j))
KERNEL(e4m3, float, 0x18181818, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 " LONG
       : D4("f") : A4(i), B2(j))
KERNEL(s8, int, 0x01ff02fe, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 " LONG
       : D4("r") : A4(i), B2(j))

__global__ void f64(float *out, int n)
{
    double a = threadIdx.x * 0.001, b = 0.5, d[8][2] = {};
    for (int k = 0; k < n; k++) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                         : "+d"(d[i][0]), "+d"(d[i][1]) : "d"(a), "d"(b));
    }
    for (int i = 0; i < 16; i++)
        out[blockIdx.x * THREADS + threadIdx.x] += (float)d[i / 2][i % 2];
}

static double operations(int m, int n, int k)
{
    return 8 * 2.0 * m * n * k;
}

int main(int argc, char **argv)
{
    rounds_choose(argc, argv);
    report("mma.sync f16 m16n8k16", operations(16, 8, 16), 100, f16);
    report("mma.sync bf16 m16n8k16", operations(16, 8, 16), 100, bf16);
    report("mma.sync f16 m16n8k16, sums of f16", operations(16, 8, 16), 100, f16_sums);
    report("mma.sync f16 m16n8k8", operations(16, 8, 8), 100, f16_short);
    report("mma.sync tf32 m16n8k8", operations(16, 8, 8), 100, tf32);
    report("mma.sync e4m3 m16n8k32", operations(16, 8, 32), 60, e4m3);
    report("mma.sync s8 m16n8k32", operations(16, 8, 32), 60, s8);
    report("mma.sync f64 m8n8k4", operations(8, 8, 4), 100, f64);
    return 0;
}
