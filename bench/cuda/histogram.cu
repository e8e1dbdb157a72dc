/* Histogram of bytes: shared memory atomics per block, then one global atomic per bin. */
#include "cu.h"

__global__ void histogram(const unsigned *__restrict__ d, unsigned *__restrict__ h, int n4)
{
    __shared__ unsigned s[256];

    s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n4; i += gridDim.x * 256) {
        unsigned v = d[i];

        atomicAdd(&s[v & 255], 1u);
        atomicAdd(&s[(v >> 8) & 255], 1u);
        atomicAdd(&s[(v >> 16) & 255], 1u);
        atomicAdd(&s[v >> 24], 1u);
    }
    __syncthreads();
    atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, HIST_N);
    long n = args.size[0] & ~3l;
    uint8_t *x = halloc<uint8_t>(n);
    unsigned zero[256] = {0}, h[256];

    hist_init(x, n);
    uint8_t *dx = dput(x, n);
    unsigned *dh = dalloc<unsigned>(256);

    auto reset = [&] { h2d(dh, zero, 256); };
    auto run = [&] {
        histogram<<<256, 256>>>((const unsigned *)dx, dh, n / 4);
        dsync();
    };
    auto check = [&] {
        d2h(h, dh, 256);
        return chk_hist(x, n, h);
    };
    bench_result(h, 256);
    return bench_end(bench_run("histogram", args, 1.0 * n, reset, run, check));
}
