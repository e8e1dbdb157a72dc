/* Search for the key whose MD5 is known: integer arithmetic in registers only. */
#include "cu.h"

#define MD5_U         unsigned
#define MD5_ROL(x, s) __funnelshift_l((x), (x), (s))
#include "../common/md5_steps.h"

__global__ void md5(unsigned base, int n, uint4 target, unsigned *found)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= n)
        return;
    unsigned key = base + i, A, B, C, D;

    MD5_BODY(key, A, B, C, D);
    if (A == target.x && B == target.y && C == target.z && D == target.w)
        *found = key;
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, MD5_N);
    long n = args.size[0];
    uint32_t hash[4], secret = md5_secret(n), zero = 0, found = 0;

    md5_host(secret, hash);
    uint4 target = make_uint4(hash[0], hash[1], hash[2], hash[3]);
    unsigned *d = dput(&zero, 1);

    auto reset = [&] { h2d(d, &zero, 1); };
    auto run = [&] {
        md5<<<cdiv(n, 256), 256>>>(MD5_BASE, n, target, d);
        dsync();
    };
    auto check = [&] {
        d2h(&found, d, 1);
        return found == secret;
    };
    bench_result(&found, 1);
    return bench_end(bench_run("md5", args, MD5_OPS * n, reset, run, check));
}
