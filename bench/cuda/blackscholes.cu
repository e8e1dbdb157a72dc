/* European option prices in closed form: exp, log, sqrt and divisions. */
#include "cu.h"

/* Cumulative normal distribution, Abramowitz & Stegun 26.2.17. */
__device__ __forceinline__ float cnd(float d)
{
    const float A1 = 0.31938153f, A2 = -0.356563782f, A3 = 1.781477937f, A4 = -1.821255978f,
                A5 = 1.330274429f;
    const float RS = 0.39894228040143267793994605993438f;
    float K = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float c = RS * expf(-0.5f * d * d) * (K * (A1 + K * (A2 + K * (A3 + K * (A4 + K * A5)))));

    return d > 0 ? 1.0f - c : c;
}

__global__ void blackscholes(const float *__restrict__ S, const float *__restrict__ X,
                             const float *__restrict__ T, float *__restrict__ C,
                             float *__restrict__ P, int n, float r, float v)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= n)
        return;
    float s = S[i], x = X[i], t = T[i];
    float sq = sqrtf(t);
    float d1 = (logf(s / x) + (r + 0.5f * v * v) * t) / (v * sq), d2 = d1 - v * sq;
    float n1 = cnd(d1), n2 = cnd(d2), e = expf(-r * t);

    C[i] = s * n1 - x * e * n2;
    P[i] = x * e * (1.0f - n2) - s * (1.0f - n1);
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, BS_N);
    long n = args.size[0];
    float *s = halloc<float>(n), *x = halloc<float>(n), *t = halloc<float>(n);
    float *c = halloc<float>(n), *p = halloc<float>(n);

    bs_init(s, x, t, n);
    float *ds = dput(s, n), *dx = dput(x, n), *dt = dput(t, n), *dc = dalloc<float>(n),
          *dp = dalloc<float>(n);

    auto run = [&] {
        blackscholes<<<cdiv(n, 256), 256>>>(ds, dx, dt, dc, dp, n, BS_R, BS_V);
        dsync();
    };
    auto check = [&] {
        d2h(c, dc, n);
        d2h(p, dp, n);
        return chk_bs(s, x, t, c, p, n);
    };
    bench_result(c, n);
    bench_result(p, n);
    return bench_end(bench_run("blackscholes", args, 20.0 * n, bench_no_reset, run, check));
}
