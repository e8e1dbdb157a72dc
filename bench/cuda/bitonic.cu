/* Bitonic sort: strides below 1024 in shared memory, larger ones through global memory. */
#include "cu.h"

__device__ __forceinline__ void cmpx(unsigned &a, unsigned &b, bool up)
{
    unsigned lo = min(a, b), hi = max(a, b);

    a = up ? lo : hi;
    b = up ? hi : lo;
}

/* 512 threads sort 1024 keys. */
__global__ void bitonic_sort_local(unsigned *k)
{
    __shared__ unsigned s[1024];
    int t = threadIdx.x, base = blockIdx.x * 1024;

    s[t] = k[base + t];
    s[t + 512] = k[base + t + 512];
    for (int size = 2; size <= 1024; size <<= 1)
        for (int st = size >> 1; st > 0; st >>= 1) {
            __syncthreads();
            int i = 2 * t - (t & (st - 1));

            cmpx(s[i], s[i + st], ((base + i) & size) == 0);
        }
    __syncthreads();
    k[base + t] = s[t];
    k[base + t + 512] = s[t + 512];
}

/* The strides 512 to 1 of a larger merge. */
__global__ void bitonic_merge_local(unsigned *k, int size)
{
    __shared__ unsigned s[1024];
    int t = threadIdx.x, base = blockIdx.x * 1024;

    s[t] = k[base + t];
    s[t + 512] = k[base + t + 512];
    for (int st = 512; st > 0; st >>= 1) {
        __syncthreads();
        int i = 2 * t - (t & (st - 1));

        cmpx(s[i], s[i + st], ((base + i) & size) == 0);
    }
    __syncthreads();
    k[base + t] = s[t];
    k[base + t + 512] = s[t + 512];
}

/* One stride of at least 1024. */
__global__ void bitonic_merge_global(unsigned *k, int size, int st)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int i = 2 * t - (t & (st - 1));
    unsigned a = k[i], b = k[i + st];

    cmpx(a, b, (i & size) == 0);
    k[i] = a;
    k[i + st] = b;
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, BIT_N);
    long n = args.size[0];

    if (n < 1024 || (n & (n - 1))) {
        fprintf(stderr, "n must be a power of two >= 1024\n");
        return 2;
    }
    unsigned *x = halloc<unsigned>(n), *y = halloc<unsigned>(n), *d = dalloc<unsigned>(n);

    fill_u(x, n, 9);
    auto reset = [&] { h2d(d, x, n); };
    auto run = [&] {
        bitonic_sort_local<<<n / 1024, 512>>>(d);
        for (long size = 2048; size <= n; size <<= 1) {
            for (long st = size / 2; st >= 1024; st >>= 1)
                bitonic_merge_global<<<n / 512, 256>>>(d, size, st);
            bitonic_merge_local<<<n / 1024, 512>>>(d, size);
        }
        dsync();
    };
    auto check = [&] {
        d2h(y, d, n);
        return chk_sorted(x, y, n);
    };
    bench_result(y, n);
    return bench_end(bench_run("bitonic", args, 8.0 * n, reset, run, check));
}
