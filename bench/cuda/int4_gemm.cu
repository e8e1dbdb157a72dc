/* Eight rows of activations in f16 times 4-bit weights with a scale per 128: a warp per column of
 * the result, 32 weights of it per lane and step. Weights become f16 by their bits: 0x6400 | q is
 * 1024 + q. */
#include "cu.h"
#include <cuda_fp16.h>

enum { WARPS = 8, STEP = 32 /* weights */ };

static __device__ float warp_sum(float x)
{
    for (int d = 16; d > 0; d >>= 1)
        x += __shfl_xor_sync(~0u, x, d);
    return x;
}

static __device__ __half2 as_half2(unsigned bits)
{
    return *(__half2 *)&bits;
}

/* The weights of a word, less 8: pairs of neighbours. */
static __device__ void dequantise(float2 *w, unsigned word)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        unsigned biased = (word >> 4 * i & 0x000f000fu) | 0x64006400u;

        w[i] = __half22float2(__hsub2(as_half2(biased), as_half2(0x64086408u)));
    }
}

/* Eight activations with as many weights. */
static __device__ float dot8(const __half *a, const float2 *w)
{
    uint4 v = *(const uint4 *)a;
    unsigned pairs[4] = {v.x, v.y, v.z, v.w};
    float sum = 0;

#pragma unroll
    for (int i = 0; i < 4; i++) {
        float2 x = __half22float2(as_half2(pairs[i]));

        sum += x.x * w[i].x + x.y * w[i].y;
    }
    return sum;
}

/* Rows of a with 32 weights from k. */
static __device__ void step(float *acc, const __half *__restrict__ a, uint4 weights, float scale,
                            int k, int row_elements)
{
    unsigned words[4] = {weights.x, weights.y, weights.z, weights.w};
    float2 w[4][4];

#pragma unroll
    for (int i = 0; i < 4; i++)
        dequantise(w[i], words[i]);
#pragma unroll
    for (int m = 0; m < I4_M; m++) {
        const __half *row = a + m * row_elements + k;
        float sum = 0;

#pragma unroll
        for (int i = 0; i < 4; i++)
            sum += dot8(row + 8 * i, w[i]);
        acc[m] += sum * scale;
    }
}

__global__ void __launch_bounds__(WARPS * 32)
    int4_gemm(const __half *__restrict__ a, const unsigned *__restrict__ weights,
              const __half *__restrict__ scales, float *__restrict__ c, int n, int k)
{
    int lane = threadIdx.x % 32, column = blockIdx.x * WARPS + threadIdx.x / 32;
    float acc[I4_M] = {};

    if (column >= n)
        return;
    const uint4 *w = (const uint4 *)(weights + (size_t)column * k / 8);
    const __half *s = scales + (size_t)column * k / I4_GROUP;
    for (int i = lane; i < k / STEP; i += 32)
        step(acc, a, w[i], __half2float(s[i * STEP / I4_GROUP]), i * STEP, k);
#pragma unroll
    for (int m = 0; m < I4_M; m++) {
        float sum = warp_sum(acc[m]);

        if (lane == 0)
            c[m * n + column] = sum;
    }
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
    bench_args args = bench_start(argc, argv, I4_N, I4_K);
    long n = args.size[0], k = args.size[1];

    if (k % I4_GROUP) {
        fprintf(stderr, "k must be a multiple of %d\n", I4_GROUP);
        return 2;
    }
    i4_problem p = i4_make(n, k);
    __half *a = put_f16(p.a, I4_M * k), *scales = put_f16(p.scales, n * k / I4_GROUP);
    unsigned *w = dput(p.w, n * k / 8);
    float *dc = dalloc<float>(I4_M * n), *c = halloc<float>(I4_M * n);

    auto run = [&] {
        int4_gemm<<<cdiv(n, WARPS), WARPS * 32>>>(a, w, scales, dc, n, k);
        dsync();
    };
    auto check = [&] {
        d2h(c, dc, I4_M * n);
        return chk_int4(p, c);
    };
    bench_result(c, I4_M * n);
    return bench_end(bench_run("int4_gemm", args, 2.0 * I4_M * n * k, bench_no_reset, run, check));
}
