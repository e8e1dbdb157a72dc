/* Exclusive prefix sum: work-efficient up and down sweep over 1024 elements per block, block
 * sums scanned recursively. */
#include "cu.h"

/* One padding word per 32 avoids shared memory bank conflicts. */
#define P(i) ((i) + ((i) >> 5))

__global__ void scan_block(const unsigned *__restrict__ in, unsigned *__restrict__ out,
                           unsigned *__restrict__ sums, int n)
{
    __shared__ unsigned s[1024 + 32];
    int t = threadIdx.x, base = blockIdx.x * 1024;
    int off = 1;

    s[P(t)] = base + t < n ? in[base + t] : 0u;
    s[P(t + 512)] = base + t + 512 < n ? in[base + t + 512] : 0u;
    for (int d = 512; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int i = P(off * (2 * t + 1) - 1), j = P(off * (2 * t + 2) - 1);

            s[j] += s[i];
        }
        off <<= 1;
    }
    if (t == 0) {
        sums[blockIdx.x] = s[P(1023)];
        s[P(1023)] = 0;
    }
    for (int d = 1; d < 1024; d <<= 1) {
        off >>= 1;
        __syncthreads();
        if (t < d) {
            int i = P(off * (2 * t + 1) - 1), j = P(off * (2 * t + 2) - 1);
            unsigned x = s[i];

            s[i] = s[j];
            s[j] += x;
        }
    }
    __syncthreads();
    if (base + t < n)
        out[base + t] = s[P(t)];
    if (base + t + 512 < n)
        out[base + t + 512] = s[P(t + 512)];
}

__global__ void scan_add(unsigned *__restrict__ out, const unsigned *__restrict__ sums, int n)
{
    int i = blockIdx.x * 1024 + threadIdx.x;
    unsigned a = sums[blockIdx.x];

    if (i < n)
        out[i] += a;
    if (i + 512 < n)
        out[i + 512] += a;
}

/* tmp: pairs of buffers for the block sums and their scan, one pair per level. */
static void scan(const unsigned *in, unsigned *out, unsigned **tmp, long n)
{
    int blocks = cdiv(n, 1024);

    scan_block<<<blocks, 512>>>(in, out, tmp[0], n);
    if (blocks > 1) {
        scan(tmp[0], tmp[1], tmp + 2, blocks);
        scan_add<<<blocks, 512>>>(out, tmp[1], n);
    }
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, SCAN_N);
    long n = args.size[0], m = n;
    unsigned *x = halloc<unsigned>(n), *y = halloc<unsigned>(n), *tmp[16];

    fill_u(x, n, 5);
    unsigned *dx = dput(x, n), *dy = dalloc<unsigned>(n);

    for (int i = 0; i < 16; i += 2) {
        m = cdiv(m, 1024);
        tmp[i] = dalloc<unsigned>(m);
        tmp[i + 1] = dalloc<unsigned>(m);
    }
    auto run = [&] {
        scan(dx, dy, tmp, n);
        dsync();
    };
    auto check = [&] {
        d2h(y, dy, n);
        return chk_scan(x, y, n);
    };
    bench_result(y, n);
    return bench_end(bench_run("scan", args, 8.0 * n, bench_no_reset, run, check));
}
