/*
 * Products of matrices as libraries make them for sm_80: tiles come by cp.async, three stages deep, fragments by
 * ldmatrix, products are mma.sync. A step of k is 32 bytes for every type.
 * usage: gemm [n] [-r reps -w warmups -n]      n: of the square matrices, a multiple of 128; default 1024
 */
#include "gemm.h"
#include <cuda_pipeline_primitives.h>

enum {
    TILE = 128, /* rows of a and of b of a block; a warp has 64 x 32 */
    DEPTH_B = 64,
    PIECE_B = 16,
    STAGES = 3,
    WARPS = 8
};

struct stage {
    unsigned char a[TILE][DEPTH_B], b[TILE][DEPTH_B];
};

/* Eight rows are in different banks. */
static __device__ int place(int row, int piece)
{
    return (piece ^ row / 2 % 4) * PIECE_B;
}

#define MMA(type, shape, D)                                                                        \
    asm volatile("mma.sync.aligned." shape                                                         \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                \
                 : "+" D(d[0]), "+" D(d[1]), "+" D(d[2]), "+" D(d[3])                              \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))

static __device__ void multiply(__half, float *d, const unsigned *a, unsigned b0, unsigned b1)
{
    MMA(f16, "m16n8k16.row.col.f32.f16.f16.f32", "f");
}

static __device__ void multiply(__nv_bfloat16, float *d, const unsigned *a, unsigned b0,
                                unsigned b1)
{
    MMA(bf16, "m16n8k16.row.col.f32.bf16.bf16.f32", "f");
}

static __device__ void multiply(float, float *d, const unsigned *a, unsigned b0, unsigned b1)
{
    MMA(tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", "f");
}

static __device__ void multiply(signed char, int *d, const unsigned *a, unsigned b0, unsigned b1)
{
    MMA(s8, "m16n8k32.row.col.s32.s8.s8.s32", "r");
}

static __device__ void rows_load(unsigned *r, const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)));
}

/* Of a and b, by rows of `row_B`. */
static __device__ void tiles_start(stage *s, const unsigned char *a, const unsigned char *b,
                                   size_t row_B)
{
    for (int i = threadIdx.x; i < TILE * DEPTH_B / PIECE_B; i += WARPS * 32) {
        int row = i / 4, piece = i % 4;
        __pipeline_memcpy_async(&s->a[row][place(row, piece)], a + row * row_B + piece * PIECE_B,
                                PIECE_B);
        __pipeline_memcpy_async(&s->b[row][place(row, piece)], b + row * row_B + piece * PIECE_B,
                                PIECE_B);
    }
}

template <class T>
__global__ void __launch_bounds__(WARPS * 32)
    gemm(const T *a, const T *b, typename sums<T>::type *c, int n)
{
    __shared__ __align__(128) stage stages[STAGES];
    const size_t row_B = n * sizeof(T);
    const unsigned char *from_a = (const unsigned char *)a + blockIdx.y * TILE * row_B,
                        *from_b = (const unsigned char *)b + blockIdx.x * TILE * row_B;
    const int lane = threadIdx.x % 32, top = threadIdx.x / 128 * 64,
              left = threadIdx.x / 32 % 4 * 32, steps = (int)(row_B / DEPTH_B);
    typename sums<T>::type d[4][4][4] = {};

    for (int i = 0; i < STAGES - 1; i++) {
        if (i < steps)
            tiles_start(&stages[i], from_a + i * DEPTH_B, from_b + i * DEPTH_B, row_B);
        __pipeline_commit();
    }
    for (int step = 0; step < steps; step++) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();
        int next = step + STAGES - 1;
        if (next < steps)
            tiles_start(&stages[next % STAGES], from_a + (size_t)next * DEPTH_B,
                        from_b + (size_t)next * DEPTH_B, row_B);
        __pipeline_commit();
        const stage *s = &stages[step % STAGES];
#pragma unroll
        for (int k = 0; k < 2; k++) {
            unsigned fa[4][4], fb[2][4];
            for (int i = 0; i < 4; i++) {
                int row = top + 16 * i + lane % 16;
                rows_load(fa[i], &s->a[row][place(row, 2 * k + lane / 16)]);
            }
            for (int i = 0; i < 2; i++) {
                int row = left + 16 * i + lane % 8 + lane / 16 * 8;
                rows_load(fb[i], &s->b[row][place(row, 2 * k + lane / 8 % 2)]);
            }
            for (int i = 0; i < 4; i++) {
                for (int j = 0; j < 4; j++)
                    multiply(T(), d[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
            }
        }
    }
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            for (int e = 0; e < 4; e += 2) {
                size_t row = blockIdx.y * TILE + top + 16 * i + lane / 4 + e / 2 * 8,
                       col = blockIdx.x * TILE + left + 8 * j + lane % 4 * 2;
                c[row * n + col] = d[i][j][e], c[row * n + col + 1] = d[i][j][e + 1];
            }
        }
    }
}

template <class T> static int run(const char *name, const bench_args &args)
{
    int n = (int)args.size[0];
    return product<T>(name, args, [n](const T *a, const T *b, typename sums<T>::type *c) {
        gemm<T><<<dim3(n / TILE, n / TILE), WARPS * 32>>>(a, b, c, n);
    });
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, 1024);

    if (args.size[0] < TILE || args.size[0] % TILE) {
        fprintf(stderr, "gemm: n is a multiple of %d\n", TILE);
        return 2;
    }
    int bad = run<__half>("gemm f16", args);
    bad |= run<__nv_bfloat16>("gemm bf16", args);
    bad |= run<float>("gemm tf32", args);
    bad |= run<signed char>("gemm s8", args);
    return bad;
}
