/* Softmax of the rows of a matrix, one block of 256 threads per row: maximum, sum of
 * exponentials, scaling. */
#include "cu.h"

__global__ void softmax(const float *__restrict__ in, float *__restrict__ out, int c)
{
    __shared__ float s[256];
    int t = threadIdx.x;
    const float *x = in + (size_t)blockIdx.x * c;
    float *y = out + (size_t)blockIdx.x * c;
    float m = -INFINITY;

    for (int j = t; j < c; j += 256)
        m = fmaxf(m, x[j]);
    s[t] = m;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (t < k)
            s[t] = fmaxf(s[t], s[t + k]);
        __syncthreads();
    }
    m = s[0];
    __syncthreads();

    float a = 0;

    for (int j = t; j < c; j += 256) {
        float e = expf(x[j] - m);

        y[j] = e;
        a += e;
    }
    s[t] = a;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }

    float r = 1.0f / s[0];

    for (int j = t; j < c; j += 256)
        y[j] *= r;
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, SM_ROWS, SM_COLS);
    long r = args.size[0], c = args.size[1];
    float *x = halloc<float>(r * c), *y = halloc<float>(r * c);

    fill_f(x, r * c, 51, -8, 8);
    float *dx = dput(x, r * c), *dy = dalloc<float>(r * c);

    auto run = [&] {
        softmax<<<r, 256>>>(dx, dy, c);
        dsync();
    };
    auto check = [&] {
        d2h(y, dy, r * c);
        return chk_softmax(x, y, r, c);
    };
    bench_result(y, r * c);
    return bench_end(bench_run("softmax", args, 8.0 * r * c, bench_no_reset, run, check));
}
