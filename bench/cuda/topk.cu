/* The 32 largest values of each row and their columns, in order: one row per warp, which holds the
 * best so far, one per lane, and merges 32 more when one of them is better than the worst. */
#include "cu.h"

enum { WARPS = 4 };

/* Larger is better: the value's bits in the order of floats, then the smaller column. */
typedef unsigned long long entry;

static __device__ entry entry_make(float value, unsigned col)
{
    unsigned b = __float_as_uint(value);

    return (entry)(b & 0x80000000u ? ~b : b | 0x80000000u) << 32 | ~col;
}

static __device__ float entry_value(entry e)
{
    unsigned b = e >> 32;

    return __uint_as_float(b & 0x80000000u ? b & 0x7fffffffu : ~b);
}

static __device__ entry exchange(entry e, int stride, bool larger)
{
    entry other = __shfl_xor_sync(~0u, e, stride);

    return (e > other) == larger ? e : other;
}

/* Bitonic: ascending over the lanes. */
static __device__ entry sort(entry e, int lane)
{
#pragma unroll
    for (int size = 2; size <= 32; size <<= 1)
#pragma unroll
        for (int stride = size >> 1; stride > 0; stride >>= 1)
            e = exchange(e, stride, ((lane & stride) != 0) == ((lane & size) == 0));
    return e;
}

/* best: descending; more: ascending. The larger of each pair are the best of both, and bitonic. */
static __device__ entry merge(entry best, entry more, int lane)
{
    entry e = best > more ? best : more;

#pragma unroll
    for (int stride = 16; stride > 0; stride >>= 1)
        e = exchange(e, stride, (lane & stride) == 0);
    return e;
}

__global__ void __launch_bounds__(WARPS * 32)
    topk(const float *__restrict__ in, float *__restrict__ vals, int *__restrict__ cols, int r,
         int c)
{
    int lane = threadIdx.x % 32, row = blockIdx.x * WARPS + threadIdx.x / 32;
    const float *x = in + (size_t)row * c;
    entry best = 0;

    if (row >= r)
        return;
    for (int i = lane; i - lane < c; i += 32) {
        entry e = i < c ? entry_make(x[i], i) : 0, worst = __shfl_sync(~0u, best, 31);

        if (__any_sync(~0u, e > worst))
            best = merge(best, sort(e, lane), lane);
    }
    vals[row * TOPK_K + lane] = entry_value(best);
    cols[row * TOPK_K + lane] = ~(unsigned)best;
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, TOPK_R, TOPK_C);
    long r = args.size[0], c = args.size[1];
    float *x = halloc<float>(r * c), *vals = halloc<float>(r * TOPK_K);
    int *cols = halloc<int>(r * TOPK_K);

    topk_init(x, r * c);
    float *dx = dput(x, r * c), *dv = dalloc<float>(r * TOPK_K);
    int *dc = dalloc<int>(r * TOPK_K);

    auto run = [&] {
        topk<<<cdiv(r, WARPS), WARPS * 32>>>(dx, dv, dc, r, c);
        dsync();
    };
    auto check = [&] {
        d2h(vals, dv, r * TOPK_K);
        d2h(cols, dc, r * TOPK_K);
        return chk_topk(x, vals, cols, r, c);
    };
    bench_result(vals, r * TOPK_K);
    bench_result(cols, r * TOPK_K);
    return bench_end(bench_run("topk", args, 4.0 * r * c, bench_no_reset, run, check));
}
