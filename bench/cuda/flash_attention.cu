/* Attention without its matrix of scores (FlashAttention-2; Dao, 2023): 64 queries per CTA, 16 per
 * warp; keys and values come in blocks of 64, the softmax is corrected as they come. f16 into
 * mma.sync, sums in f32. */
#include "cu.h"
#include <cuda_fp16.h>

enum { ROWS = 64, WARPS = ROWS / 16, PIECES = FA_D / 8 /* of 16 bytes, to a row */ };

/* 64 rows; pieces are swapped so that eight rows of a column of pieces are in different banks. */
struct tile {
    uint4 piece[ROWS][PIECES];
};

static __device__ void tile_load(tile &s, const __half *from)
{
    for (int i = threadIdx.x; i < ROWS * PIECES; i += WARPS * 32) {
        int row = i / PIECES, piece = i % PIECES;

        s.piece[row][piece ^ row % 8] = ((const uint4 *)from)[i];
    }
}

/* Four matrices of 8 x 8; each lane names a row of one. */
static __device__ void matrices_load(unsigned *r, const tile &s, int row, int piece)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(&s.piece[row][piece ^ row % 8])));
}

static __device__ void matrices_load_turned(unsigned *r, const tile &s, int row, int piece)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(&s.piece[row][piece ^ row % 8])));
}

/* d += a b of 16 x 8 x 16; sm_75 has half of its depth. */
static __device__ void multiply(float *d, const unsigned *a, unsigned b0, unsigned b1)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
                 " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};\n\t"
                 "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
                 " {%0, %1, %2, %3}, {%7, %8}, {%9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b0), "r"(a[2]), "r"(a[3]), "r"(b1));
#endif
}

/* What a warp knows of its 16 queries. A lane has two rows, lane / 4 and 8 more; of 8 columns its
 * elements are 0 and 1 of the first row, 2 and 3 of the second. */
struct warp_state {
    unsigned q[FA_D / 16][4];
    float out[FA_D / 8][4];
    float max[2], sum[2];
};

static __device__ void scores(float (*s)[4], const warp_state &w, const tile &keys, int lane)
{
    for (int j = 0; j < ROWS / 8; j += 2)
        for (int k = 0; k < FA_D / 16; k++) {
            unsigned b[4];

            matrices_load(b, keys, j * 8 + lane % 8 + lane / 16 * 8, 2 * k + lane / 8 % 2);
            multiply(s[j], w.q[k], b[0], b[1]);
            multiply(s[j + 1], w.q[k], b[2], b[3]);
        }
}

/* Over the four lanes that share a row. */
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

/* Makes weights of the scores of one row (half 0 or 1 of the elements); what was added up before
 * is scaled to the new maximum. */
static __device__ void softmax_row(float (*s)[4], warp_state &w, int half, float scale)
{
    float max = w.max[half], sum = 0, rescale;

    for (int j = 0; j < ROWS / 8; j++)
        max = fmaxf(max, fmaxf(s[j][2 * half], s[j][2 * half + 1]));
    max = row_max(max);
    rescale = exp2f((w.max[half] - max) * scale);
    for (int j = 0; j < ROWS / 8; j++)
        for (int e = 2 * half; e < 2 * half + 2; e++) {
            s[j][e] = exp2f((s[j][e] - max) * scale);
            sum += s[j][e];
        }
    for (int d = 0; d < FA_D / 8; d++)
        for (int e = 2 * half; e < 2 * half + 2; e++)
            w.out[d][e] *= rescale;
    w.max[half] = max;
    w.sum[half] = w.sum[half] * rescale + sum;
}

static __device__ unsigned pack(float lo, float hi)
{
    __half2 h = __floats2half2_rn(lo, hi);

    return *(unsigned *)&h;
}

/* The weights are the left factor as they lie: the layout of results is that of operands. */
static __device__ void weigh(const float (*s)[4], warp_state &w, const tile &values, int lane)
{
    for (int k = 0; k < ROWS / 16; k++) {
        const float *lo = s[2 * k], *hi = s[2 * k + 1];
        unsigned a[4] = {pack(lo[0], lo[1]), pack(lo[2], lo[3]), pack(hi[0], hi[1]),
                         pack(hi[2], hi[3])};

        for (int d = 0; d < FA_D / 8; d += 2) {
            unsigned b[4];

            matrices_load_turned(b, values, k * 16 + lane % 16, d + lane / 16);
            multiply(w.out[d], a, b[0], b[1]);
            multiply(w.out[d + 1], a, b[2], b[3]);
        }
    }
}

static __device__ void store(__half *out, const warp_state &w, int lane)
{
    for (int half = 0; half < 2; half++) {
        float scale = 1 / row_sum(w.sum[half]);
        unsigned *row = (unsigned *)(out + (lane / 4 + 8 * half) * FA_D);

        for (int d = 0; d < FA_D / 8; d++)
            row[d * 4 + lane % 4] =
                pack(w.out[d][2 * half] * scale, w.out[d][2 * half + 1] * scale);
    }
}

/* blockIdx: 64 queries, head. scale: of scores, for powers of 2. */
__global__ void __launch_bounds__(WARPS * 32)
    flash_attention(const __half *q, const __half *k, const __half *v, __half *out, int n,
                    float scale)
{
    __shared__ tile keys, values;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    size_t head = (size_t)blockIdx.y * n * FA_D, first = head + blockIdx.x * ROWS * FA_D;
    warp_state w = {{}, {}, {-INFINITY, -INFINITY}, {}};

    tile_load(keys, q + first);
    __syncthreads();
#pragma unroll
    for (int d = 0; d < FA_D / 16; d++)
        matrices_load(w.q[d], keys, warp * 16 + lane % 16, 2 * d + lane / 16);
    for (int j = 0; j < n; j += ROWS) {
        float s[ROWS / 8][4] = {};

        __syncthreads();
        tile_load(keys, k + head + j * FA_D);
        tile_load(values, v + head + j * FA_D);
        __syncthreads();
        scores(s, w, keys, lane);
        softmax_row(s, w, 0, scale);
        softmax_row(s, w, 1, scale);
        weigh(s, w, values, lane);
    }
    store(out + first + warp * 16 * FA_D, w, lane);
}

/* A device copy in f16. */
static __half *put_f16(const float *x, long n)
{
    uint16_t *h = halloc<uint16_t>(n), *d;

    f16_pack(h, x, n);
    d = dput(h, n);
    free(h);
    return (__half *)d;
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, FA_N, FA_HEADS);
    long n = args.size[0], heads = args.size[1], size = n * heads * FA_D;

    if (n < ROWS || n % ROWS) {
        fprintf(stderr, "n must be a multiple of %d\n", ROWS);
        return 2;
    }
    float *q = halloc<float>(size), *k = halloc<float>(size), *v = halloc<float>(size);
    float *o = halloc<float>(size);
    uint16_t *h = halloc<uint16_t>(size);

    attention_init(q, k, v, n, heads);
    __half *dq = put_f16(q, size), *dk = put_f16(k, size), *dv = put_f16(v, size);
    __half *out = (__half *)dalloc<uint16_t>(size);
    const float scale = 1.44269504f / 8; /* log2(e) / sqrt(FA_D) */

    auto run = [&] {
        flash_attention<<<dim3(n / ROWS, heads), WARPS * 32>>>(dq, dk, dv, out, n, scale);
        dsync();
    };
    auto check = [&] {
        d2h(h, (uint16_t *)out, size);
        for (long i = 0; i < size; i++)
            o[i] = f16_value(h[i]);
        return chk_attention(q, k, v, o, n, heads);
    };
    bench_result(h, size);
    return bench_end(
        bench_run("flash_attention", args, 4.0 * n * size, bench_no_reset, run, check));
}
