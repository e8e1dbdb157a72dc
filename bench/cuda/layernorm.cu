/* Layer normalisation of the rows of a matrix, one block per row: mean, variance, scaling with
 * gain and bias. */
#include "cu.h"

__global__ void layernorm(const float *__restrict__ in, const float *__restrict__ g,
                          const float *__restrict__ b, float *__restrict__ out, int c)
{
    __shared__ float s[256];
    int t = threadIdx.x;
    const float *x = in + (size_t)blockIdx.x * c;
    float *y = out + (size_t)blockIdx.x * c;
    float a = 0;

    for (int j = t; j < c; j += 256)
        a += x[j];
    s[t] = a;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }

    float m = s[0] / c;

    __syncthreads();
    a = 0;
    for (int j = t; j < c; j += 256) {
        float d = x[j] - m;

        a += d * d;
    }
    s[t] = a;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }

    float r = rsqrtf(s[0] / c + 1e-5f);

    for (int j = t; j < c; j += 256)
        y[j] = (x[j] - m) * r * g[j] + b[j];
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, SM_ROWS, SM_COLS);
    long r = args.size[0], c = args.size[1];
    float *x = halloc<float>(r * c), *y = halloc<float>(r * c), *g = halloc<float>(c),
          *b = halloc<float>(c);

    fill_f(x, r * c, 52, -3, 5);
    fill_f(g, c, 53, 0.5f, 1.5f);
    fill_f(b, c, 54, -1, 1);
    float *dx = dput(x, r * c), *dy = dalloc<float>(r * c), *dg = dput(g, c), *db = dput(b, c);

    auto run = [&] {
        layernorm<<<r, 256>>>(dx, dg, db, dy, c);
        dsync();
    };
    auto check = [&] {
        d2h(y, dy, r * c);
        return chk_layernorm(x, g, b, y, r, c);
    };
    bench_result(y, r * c);
    return bench_end(bench_run("layernorm", args, 8.0 * r * c, bench_no_reset, run, check));
}
