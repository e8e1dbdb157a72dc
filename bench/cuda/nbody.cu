/* All-pairs gravity: 256 bodies at a time in shared memory. */
#include "cu.h"

__global__ void nbody(const float4 *__restrict__ p, float4 *__restrict__ acc, int n)
{
    __shared__ float4 s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 me = p[i];
    float ax = 0, ay = 0, az = 0;

    for (int b = 0; b < n; b += 256) {
        s[threadIdx.x] = p[b + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 256; j++) {
            float4 q = s[j];
            float dx = q.x - me.x, dy = q.y - me.y, dz = q.z - me.z;
            float r2 = dx * dx + dy * dy + dz * dz + NB_EPS;
            float inv = rsqrtf(r2);
            float f = q.w * inv * inv * inv;

            ax += dx * f;
            ay += dy * f;
            az += dz * f;
        }
        __syncthreads();
    }
    acc[i] = make_float4(ax, ay, az, 0.0f);
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, NB_N);
    long n = args.size[0] & ~255l;
    float *p = halloc<float>(4 * n), *a = halloc<float>(4 * n);

    nb_init(p, n);
    float *dp = dput(p, 4 * n), *da = dalloc<float>(4 * n);

    auto run = [&] {
        nbody<<<n / 256, 256>>>((const float4 *)dp, (float4 *)da, n);
        dsync();
    };
    auto check = [&] {
        d2h(a, da, 4 * n);
        return chk_nbody(p, a, n);
    };
    bench_result(a, 4 * n);
    return bench_end(bench_run("nbody", args, 20.0 * n * n, bench_no_reset, run, check));
}
