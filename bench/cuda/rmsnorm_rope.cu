/* RMSNorm of each head and rotary embedding in one pass over queries or keys in bf16: a warp per
 * head, four elements per lane; the partner of an element is 16 lanes away. */
#include "cu.h"
#include <cuda_bf16.h>

enum { WARPS = 8 };

/* Four of them in one access. */
static __device__ float4 unpack(uint2 v)
{
    float2 lo = __bfloat1622float2(*(__nv_bfloat162 *)&v.x);
    float2 hi = __bfloat1622float2(*(__nv_bfloat162 *)&v.y);

    return make_float4(lo.x, lo.y, hi.x, hi.y);
}

static __device__ uint2 pack(float4 v)
{
    __nv_bfloat162 lo = __floats2bfloat162_rn(v.x, v.y), hi = __floats2bfloat162_rn(v.z, v.w);

    return make_uint2(*(unsigned *)&lo, *(unsigned *)&hi);
}

static __device__ float warp_sum(float x)
{
    for (int d = 16; d > 0; d >>= 1)
        x += __shfl_xor_sync(~0u, x, d);
    return x;
}

/* sine: negative in the lower half. */
static __device__ float turned(float x, float cosine, float sine)
{
    return x * cosine + __shfl_xor_sync(~0u, x, 16) * sine;
}

/* table: per token the cosines, then the sines. */
__global__ void __launch_bounds__(WARPS * 32)
    rmsnorm_rope(const uint2 *__restrict__ in, const float4 *__restrict__ weight,
                 const float4 *__restrict__ table, uint2 *__restrict__ out, int count, int heads)
{
    int lane = threadIdx.x % 32, head = blockIdx.x * WARPS + threadIdx.x / 32;

    if (head >= count)
        return;
    const float4 *angles = table + head / heads * 32 + lane % 16;
    float4 x = unpack(in[head * 32 + lane]), w = weight[lane], c = angles[0], s = angles[16];
    float squares = warp_sum(x.x * x.x + x.y * x.y + x.z * x.z + x.w * x.w);
    float scale = rsqrtf(squares / RR_D + RR_EPS), sign = lane < 16 ? -1.0f : 1.0f;

    x = make_float4(
        turned(x.x * scale * w.x, c.x, sign * s.x), turned(x.y * scale * w.y, c.y, sign * s.y),
        turned(x.z * scale * w.z, c.z, sign * s.z), turned(x.w * scale * w.w, c.w, sign * s.w));
    out[head * 32 + lane] = pack(x);
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, RR_TOKENS, RR_HEADS);
    long tokens = args.size[0], heads = args.size[1], n = tokens * heads * RR_D;
    uint16_t *x = halloc<uint16_t>(n), *y = halloc<uint16_t>(n);
    float *table = halloc<float>(tokens * RR_D), weight[RR_D];

    rope_init(x, n, weight);
    rope_table(table, tokens);
    uint16_t *dx = dput(x, n), *dy = dalloc<uint16_t>(n);
    float *dw = dput(weight, RR_D), *dt = dput(table, tokens * RR_D);

    auto run = [&] {
        rmsnorm_rope<<<cdiv(tokens * heads, WARPS), WARPS * 32>>>(
            (const uint2 *)dx, (const float4 *)dw, (const float4 *)dt, (uint2 *)dy, tokens * heads,
            heads);
        dsync();
    };
    auto check = [&] {
        d2h(y, dy, n);
        return chk_rope(x, weight, y, tokens, heads);
    };
    bench_result(y, n);
    return bench_end(bench_run("rmsnorm_rope", args, 4.0 * n, bench_no_reset, run, check));
}
