/* Stable radix sort of pairs, 8 bits of the key per pass: counts per tile, their scan, scatter.
 * Lanes with the same digit find each other by match. */
#include "cu.h"

enum { THREADS = 256, WARPS = THREADS / 32, ROUNDS = 8, TILE = THREADS * ROUNDS, DIGITS = 256 };

static __device__ unsigned digit_of(unsigned key, int shift)
{
    return key >> shift & (DIGITS - 1);
}

/* The sum of x over the threads before this one; *total: over all of the block. */
static __device__ unsigned block_scan(unsigned x, unsigned *total)
{
    __shared__ unsigned sums[WARPS];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned upto = x, before = 0, all = 0;

    for (int d = 1; d < 32; d <<= 1) {
        unsigned y = __shfl_up_sync(~0u, upto, d);

        if (lane >= d)
            upto += y;
    }
    __syncthreads();
    if (lane == 31)
        sums[warp] = upto;
    __syncthreads();
    for (int w = 0; w < WARPS; w++) {
        before += w < warp ? sums[w] : 0;
        all += sums[w];
    }
    *total = all;
    return before + upto - x;
}

/* counts: [digit][tile] */
__global__ void __launch_bounds__(THREADS)
    radix_count(const unsigned *__restrict__ keys, unsigned *__restrict__ counts, int n, int shift)
{
    __shared__ unsigned s[DIGITS];
    int t = threadIdx.x;

    s[t] = 0;
    __syncthreads();
    for (int r = 0; r < ROUNDS; r++) {
        int i = blockIdx.x * TILE + r * THREADS + t;

        if (i < n)
            atomicAdd(&s[digit_of(keys[i], shift)], 1u);
    }
    __syncthreads();
    counts[t * gridDim.x + blockIdx.x] = s[t];
}

/* Of one digit: how many are in the tiles before each; totals: how many in all. */
__global__ void __launch_bounds__(THREADS)
    radix_scan(unsigned *counts, unsigned *__restrict__ totals, int tiles)
{
    unsigned *c = counts + blockIdx.x * tiles, sum = 0, all;

    for (int i = threadIdx.x; i - (int)threadIdx.x < tiles; i += THREADS) {
        unsigned before = block_scan(i < tiles ? c[i] : 0, &all);

        if (i < tiles)
            c[i] = sum + before;
        sum += all;
    }
    if (threadIdx.x == 0)
        totals[blockIdx.x] = sum;
}

/* The rank of each key among those of its digit in its warp; what each digit has is added up in
 * `count`. Keys beyond the end count as the largest; being last, they move no other. */
static __device__ void warp_ranks(const unsigned *keys, int shift, unsigned *count, unsigned *rank)
{
    unsigned below = (1u << threadIdx.x % 32) - 1;

    for (int r = 0; r < ROUNDS; r++) {
        unsigned digit = digit_of(keys[r], shift), same = __match_any_sync(~0u, digit);
        unsigned base = count[digit];

        rank[r] = base + __popc(same & below);
        __syncwarp();
        if ((same & below) == 0)
            count[digit] = base + __popc(same);
        __syncwarp();
    }
}

/* A warp has 32 * ROUNDS keys in a row, which keeps their order. */
__global__ void __launch_bounds__(THREADS)
    radix_scatter(const unsigned *__restrict__ keys, const unsigned *__restrict__ vals,
                  unsigned *__restrict__ keys_out, unsigned *__restrict__ vals_out,
                  const unsigned *__restrict__ counts, const unsigned *__restrict__ totals, int n,
                  int shift)
{
    __shared__ unsigned place[WARPS][DIGITS];
    int t = threadIdx.x, warp = t / 32, first = blockIdx.x * TILE + warp * 32 * ROUNDS + t % 32;
    unsigned key[ROUNDS], rank[ROUNDS], all, at;

    for (int w = 0; w < WARPS; w++)
        place[w][t] = 0;
    at = block_scan(totals[t], &all) + counts[t * gridDim.x + blockIdx.x];
    __syncthreads();
    for (int r = 0; r < ROUNDS; r++)
        key[r] = first + r * 32 < n ? keys[first + r * 32] : ~0u;
    warp_ranks(key, shift, place[warp], rank);
    __syncthreads();
    for (int w = 0; w < WARPS; w++) {
        unsigned count = place[w][t];

        place[w][t] = at;
        at += count;
    }
    __syncthreads();
    for (int r = 0; r < ROUNDS; r++)
        if (first + r * 32 < n) {
            unsigned to = place[warp][digit_of(key[r], shift)] + rank[r];

            keys_out[to] = key[r];
            vals_out[to] = vals[first + r * 32];
        }
}

/* keys[0] and vals[0] hold the pairs, before and after. */
static void sort(unsigned *const keys[2], unsigned *const vals[2], unsigned *counts,
                 unsigned *totals, int n)
{
    int tiles = cdiv(n, TILE);

    for (int shift = 0, from = 0; shift < 32; shift += 8, from ^= 1) {
        radix_count<<<tiles, THREADS>>>(keys[from], counts, n, shift);
        radix_scan<<<DIGITS, THREADS>>>(counts, totals, tiles);
        radix_scatter<<<tiles, THREADS>>>(keys[from], vals[from], keys[from ^ 1], vals[from ^ 1],
                                          counts, totals, n, shift);
    }
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, RADIX_N);
    long n = args.size[0];
    unsigned *x = halloc<unsigned>(n), *places = halloc<unsigned>(n);
    unsigned *k = halloc<unsigned>(n), *v = halloc<unsigned>(n);
    unsigned *keys[2] = {dalloc<unsigned>(n), dalloc<unsigned>(n)};
    unsigned *vals[2] = {dalloc<unsigned>(n), dalloc<unsigned>(n)};
    unsigned *counts = dalloc<unsigned>((size_t)DIGITS * cdiv(n, TILE));
    unsigned *totals = dalloc<unsigned>(DIGITS);

    radix_init(x, places, n);
    auto reset = [&] {
        h2d(keys[0], x, n);
        h2d(vals[0], places, n);
    };
    auto run = [&] {
        sort(keys, vals, counts, totals, n);
        dsync();
    };
    auto check = [&] {
        d2h(k, keys[0], n);
        d2h(v, vals[0], n);
        return chk_radix(x, k, v, n);
    };
    bench_result(k, n);
    bench_result(v, n);
    return bench_end(bench_run("radixsort", args, 16.0 * n, reset, run, check));
}
