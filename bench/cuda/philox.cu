/* Uniform random numbers by Philox4x32-10: four per counter, stored together. */
#include "cu.h"

static __device__ uint4 philox(uint4 c, uint2 key)
{
#pragma unroll
    for (int r = 0; r < 10; r++) {
        unsigned hi0 = __umulhi(PHILOX_M0, c.x), lo0 = PHILOX_M0 * c.x;
        unsigned hi1 = __umulhi(PHILOX_M1, c.z), lo1 = PHILOX_M1 * c.z;

        c = make_uint4(hi1 ^ c.y ^ key.x, lo1, hi0 ^ c.w ^ key.y, lo0);
        key.x += PHILOX_W0;
        key.y += PHILOX_W1;
    }
    return c;
}

static __device__ float uniform(unsigned x)
{
    return (float)(x >> 8) * (1.0f / 16777216.0f);
}

__global__ void philox_uniform(float4 *__restrict__ out, int n4, uint2 key)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
        uint4 r = philox(make_uint4(i, 0, 0, 0), key);

        out[i] = make_float4(uniform(r.x), uniform(r.y), uniform(r.z), uniform(r.w));
    }
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, PHILOX_N);
    long n = args.size[0] & ~3l;
    float *y = halloc<float>(n), *dy = dalloc<float>(n);
    uint2 key = make_uint2(PHILOX_KEY0, PHILOX_KEY1);

    auto run = [&] {
        philox_uniform<<<1024, 256>>>((float4 *)dy, n / 4, key);
        dsync();
    };
    auto check = [&] {
        d2h(y, dy, n);
        return chk_philox(y, n);
    };
    bench_result(y, n);
    return bench_end(bench_run("philox", args, 4.0 * n, bench_no_reset, run, check));
}
