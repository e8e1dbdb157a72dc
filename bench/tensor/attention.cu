/*
 * Fused attention by mma.sync as libraries have it for sm_80: a warp has 16 queries, a block 64;
 * keys and values come by cp.async in tiles of 64, values while scores are made, keys while sums
 * are; softmax goes along (maximum and sum of each row so far), scores never leave the registers.
 * usage: attention [seq] [-r reps -w warmups -n]      seq: a multiple of 64; default 2048
 */
#include "../cuda/cu.h"
#include "attention.h"
#include <cuda_bf16.h>
#include <cuda_pipeline_primitives.h>

enum { TILE = 64, WARPS = 4, PIECE_B = 16, PIECE = 8 /* elements */ };

typedef __nv_bfloat16 bf16;

/* Where a piece of a tile is: eight rows are in different banks. */
template <int D> static __device__ bf16 *piece_of(bf16 *tile, int row, int piece)
{
    return tile + row * D + (piece ^ row % 8) * PIECE;
}

template <int D> static __device__ void tile_start(bf16 *tile, const bf16 *from)
{
    for (int i = threadIdx.x; i < TILE * D / PIECE; i += WARPS * 32) {
        int row = i / (D / PIECE), piece = i % (D / PIECE);
        __pipeline_memcpy_async(piece_of<D>(tile, row, piece), from + i * PIECE, PIECE_B);
    }
    __pipeline_commit();
}

static __device__ void tile_wait(void)
{
    __pipeline_wait_prior(0);
    __syncthreads();
}

static __device__ void rows_load(unsigned *r, const bf16 *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)));
}

static __device__ void columns_load(unsigned *r, const bf16 *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)));
}

static __device__ void multiply(float *d, const unsigned *a, unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

static __device__ float power_of_2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

static __device__ unsigned pair(float low, float high)
{
    __nv_bfloat162 two = __floats2bfloat162_rn(low, high);
    return *(unsigned *)&two;
}

/* Four neighbouring lanes have a row. */
static __device__ float row_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
    return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

static __device__ float row_sum(float x)
{
    x += __shfl_xor_sync(~0u, x, 1);
    return x + __shfl_xor_sync(~0u, x, 2);
}

/* 16 queries by the tile's 64 keys. */
template <int D>
static __device__ void scores_make(float (*s)[4], const unsigned (*q)[4], bf16 *keys, int lane)
{
#pragma unroll
    for (int i = 0; i < TILE / 8; i++)
        s[i][0] = s[i][1] = s[i][2] = s[i][3] = 0;
#pragma unroll
    for (int k = 0; k < D / 16; k++) {
#pragma unroll
        for (int i = 0; i < TILE / 16; i++) {
            unsigned b[4];
            rows_load(b,
                      piece_of<D>(keys, 16 * i + lane % 8 + lane / 16 * 8, 2 * k + lane / 8 % 2));
            multiply(s[2 * i], q[k], b[0], b[1]);
            multiply(s[2 * i + 1], q[k], b[2], b[3]);
        }
    }
}

/* Scores become weights. `most` and `total` are of the thread's two rows, `out` are its sums. */
template <int D>
static __device__ void weights_make(float (*s)[4], float *most, float *total, float (*out)[4],
                                    float scale)
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float top = most[r], sum = 0;
#pragma unroll
        for (int i = 0; i < TILE / 8; i++)
            top = fmaxf(top, fmaxf(s[i][2 * r], s[i][2 * r + 1]));
        top = row_max(top);
        float shrink = power_of_2((most[r] - top) * scale);
#pragma unroll
        for (int i = 0; i < TILE / 8; i++) {
#pragma unroll
            for (int e = 2 * r; e < 2 * r + 2; e++) {
                s[i][e] = power_of_2(fmaf(s[i][e], scale, -top * scale));
                sum += s[i][e];
            }
        }
#pragma unroll
        for (int i = 0; i < D / 8; i++)
            out[i][2 * r] *= shrink, out[i][2 * r + 1] *= shrink;
        total[r] = fmaf(total[r], shrink, sum), most[r] = top;
    }
}

/* The layout of sums is that of a left operand, two tiles of eight columns side by side. */
template <int D>
static __device__ void sums_add(float (*out)[4], const float (*s)[4], bf16 *values, int lane)
{
#pragma unroll
    for (int k = 0; k < TILE / 16; k++) {
        const float *left = s[2 * k], *right = s[2 * k + 1];
        unsigned a[4] = {pair(left[0], left[1]), pair(left[2], left[3]), pair(right[0], right[1]),
                         pair(right[2], right[3])};
#pragma unroll
        for (int i = 0; i < D / 16; i++) {
            unsigned b[4];
            columns_load(b, piece_of<D>(values, 16 * k + lane % 16, 2 * i + lane / 16));
            multiply(out[2 * i], a, b[0], b[1]);
            multiply(out[2 * i + 1], a, b[2], b[3]);
        }
    }
}

template <int D>
static __device__ void rows_store(bf16 *to, const float (*out)[4], const float *total, int lane)
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float share = 1.0f / row_sum(total[r]);
        unsigned *row = (unsigned *)(to + (lane / 4 + 8 * r) * D) + lane % 4;
#pragma unroll
        for (int i = 0; i < D / 8; i++)
            row[4 * i] = pair(out[i][2 * r] * share, out[i][2 * r + 1] * share);
    }
}

template <int D>
__global__ void __launch_bounds__(WARPS * 32)
    attention(const bf16 *q, const bf16 *k, const bf16 *v, bf16 *to, int seq)
{
    __shared__ __align__(128) bf16 keys[TILE * D], values[TILE * D];
    const size_t head = (size_t)blockIdx.y * seq * D, first = head + (size_t)blockIdx.x * TILE * D;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float scale = 1.4426950408889634f / sqrtf((float)D);
    float s[TILE / 8][4], out[D / 8][4] = {}, most[2] = {-1e30f, -1e30f}, total[2] = {};
    unsigned queries[D / 16][4];

    tile_start<D>(values, q + first); /* queries, until they are in registers */
    tile_start<D>(keys, k + head);
    tile_wait();
#pragma unroll
    for (int i = 0; i < D / 16; i++)
        rows_load(queries[i], piece_of<D>(values, 16 * warp + lane % 16, 2 * i + lane / 16));
    for (int j = 0; j < seq; j += TILE) {
        tile_wait();
        tile_start<D>(values, v + head + (size_t)j * D);
        scores_make<D>(s, queries, keys, lane);
        tile_wait();
        if (j + TILE < seq)
            tile_start<D>(keys, k + head + (size_t)(j + TILE) * D);
        weights_make<D>(s, most, total, out, scale);
        sums_add<D>(out, s, values, lane);
    }
    rows_store<D>(to + first + 16 * warp * D, out, total, lane);
}

template <int D> static int run(const char *name, const bench_args &args)
{
    attention_case c = attention_create(args.size[0], D);
    size_t n = attention_elements(c);
    uint16_t *q = dput(c.q, n), *k = dput(c.k, n), *v = dput(c.v, n), *out = dalloc<uint16_t>(n);
    int rc = bench_run(
        name, args, attention_flops(c), bench_no_reset,
        [&] {
            attention<D><<<dim3((unsigned)c.seq / TILE, ATTENTION_HEADS), WARPS * 32>>>(
                (bf16 *)q, (bf16 *)k, (bf16 *)v, (bf16 *)out, (int)c.seq);
            dsync();
        },
        [&] {
            d2h(c.out, out, n);
            return attention_right(c);
        });

    CK(cudaFree(q));
    CK(cudaFree(k));
    CK(cudaFree(v));
    CK(cudaFree(out));
    attention_destroy(c);
    return bench_end(rc);
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, ATTENTION_SEQ);

    if (args.size[0] < TILE || args.size[0] % TILE) {
        fprintf(stderr, "attention: seq is a multiple of %d\n", TILE);
        return 2;
    }
    int bad = run<64>("attention d64", args);
    return bad | run<128>("attention d128", args);
}
