/* Convolution with 33 taps: input tile and halo in shared memory, taps in constant memory. */
#include "cu.h"

#define R CONV_R

__constant__ float taps[2 * R + 1];

__global__ void conv1d(const float *__restrict__ in, float *__restrict__ out, int n)
{
    __shared__ float s[256 + 2 * R];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    float a = 0;

    s[t + R] = i < n ? in[i] : 0.0f;
    if (t < R) {
        int j = i - R;

        s[t] = j >= 0 ? in[j] : 0.0f;
    }
    if (t >= 256 - R) {
        int j = i + R;

        s[t + 2 * R] = j < n ? in[j] : 0.0f;
    }
    __syncthreads();
    for (int k = 0; k < 2 * R + 1; k++)
        a += taps[k] * s[t + k];
    if (i < n)
        out[i] = a;
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, CONV_N);
    long n = args.size[0];
    float *x = halloc<float>(n), *y = halloc<float>(n), host_taps[2 * R + 1];

    conv_taps(host_taps);
    fill_f(x, n, 6, -1, 1);
    float *dx = dput(x, n), *dy = dalloc<float>(n);

    CK(cudaMemcpyToSymbol(taps, host_taps, sizeof(host_taps)));
    auto run = [&] {
        conv1d<<<cdiv(n, 256), 256>>>(dx, dy, n);
        dsync();
    };
    auto check = [&] {
        d2h(y, dy, n);
        return chk_conv(x, host_taps, y, n);
    };
    bench_result(y, n);
    return bench_end(bench_run("conv1d", args, 2.0 * (2 * R + 1) * n, bench_no_reset, run, check));
}
