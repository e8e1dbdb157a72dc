/* Sum of an array: tree in shared memory, then the same kernel over the partial sums until one
 * is left. */
#include "cu.h"

#define BS 256

__global__ void reduce(const float *__restrict__ in, float *__restrict__ out, int n)
{
    __shared__ float s[BS];
    int t = threadIdx.x;
    int i = blockIdx.x * (BS * 2) + t;
    float v = 0.0f;

    if (i < n)
        v = in[i];
    if (i + BS < n)
        v += in[i + BS];
    s[t] = v;
    __syncthreads();
    for (int k = BS / 2; k > 0; k >>= 1) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, VEC_N);
    long n = args.size[0];
    float *x = halloc<float>(n), sum = 0;

    fill_f(x, n, 1, 0, 1);
    float *dx = dput(x, n);
    float *ping = dalloc<float>(cdiv(n, 512)), *pong = dalloc<float>(cdiv(n, 512));

    auto run = [&] {
        const float *in = dx;
        float *out = ping;

        for (long m = n; m > 1;) {
            int blocks = cdiv(m, 512);

            reduce<<<blocks, BS>>>(in, out, m);
            in = out;
            out = out == ping ? pong : ping;
            m = blocks;
        }
        dsync();
        d2h(&sum, in, 1);
    };
    auto check = [&] { return chk_reduce(x, n, sum); };
    bench_result(&sum, 1);
    return bench_end(bench_run("reduce", args, 4.0 * n, bench_no_reset, run, check));
}
