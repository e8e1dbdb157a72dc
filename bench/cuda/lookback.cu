/* Exclusive prefix sum in one pass with decoupled look-back (Merrill and Garland, 2016): a tile
 * publishes its own sum at once, and the sum up to its end when it knows those of the tiles
 * before. */
#include "cu.h"

enum { THREADS = 256, WARPS = THREADS / 32, ITEMS = 8, TILE = THREADS * ITEMS };

/* A status word: the state in its upper half and a sum in the lower one, so that one store
 * publishes both. */
enum { NOTHING, AGGREGATE, PREFIX };
typedef volatile unsigned long long status_word;

static __device__ void publish(status_word *word, unsigned state, unsigned sum)
{
    *word = (unsigned long long)state << 32 | sum;
}

static __device__ unsigned long long wait_for(status_word *word)
{
    unsigned long long w;

    do
        w = *word;
    while (w >> 32 == NOTHING);
    return w;
}

static __device__ unsigned warp_sum(unsigned x)
{
    for (int d = 16; d > 0; d >>= 1)
        x += __shfl_xor_sync(~0u, x, d);
    return x;
}

static __device__ unsigned warp_scan(unsigned x)
{
    for (int d = 1; d < 32; d <<= 1) {
        unsigned y = __shfl_up_sync(~0u, x, d);

        if (threadIdx.x % 32 >= d)
            x += y;
    }
    return x;
}

/* The sum of all tiles before this one: a warp looks at 32 of them at a time, back to the nearest
 * whose prefix is known. */
static __device__ unsigned look_back(status_word *status, int tile)
{
    unsigned sum = 0;

    for (int at = tile - 1 - (int)threadIdx.x;; at -= 32) {
        unsigned long long w = at >= 0 ? wait_for(&status[at]) : (unsigned long long)PREFIX << 32;
        unsigned known = __ballot_sync(~0u, w >> 32 == PREFIX);

        /* lanes up to the lowest of `known` */
        sum += warp_sum((known & ((1u << threadIdx.x) - 1)) == 0 ? (unsigned)w : 0);
        if (known)
            return sum;
    }
}

static __device__ void items_load(unsigned *x, const unsigned *in, int base, int n)
{
    if (base + ITEMS <= n) {
        *(uint4 *)&x[0] = *(const uint4 *)&in[base];
        *(uint4 *)&x[4] = *(const uint4 *)&in[base + 4];
    } else {
        for (int i = 0; i < ITEMS; i++)
            x[i] = base + i < n ? in[base + i] : 0;
    }
}

/* Their exclusive prefix sums, beginning with `sum`. */
static __device__ void items_store(const unsigned *x, unsigned sum, unsigned *out, int base, int n)
{
    __align__(16) unsigned y[ITEMS];

    for (int i = 0; i < ITEMS; i++) {
        y[i] = sum;
        sum += x[i];
    }
    if (base + ITEMS <= n) {
        *(uint4 *)&out[base] = *(uint4 *)&y[0];
        *(uint4 *)&out[base + 4] = *(uint4 *)&y[4];
    } else {
        for (int i = 0; i < ITEMS && base + i < n; i++)
            out[base + i] = y[i];
    }
}

/* A tile takes the next number when it starts: those before it have started then, in whatever
 * order blocks come. */
__global__ void __launch_bounds__(THREADS)
    lookback(const unsigned *__restrict__ in, unsigned *__restrict__ out, status_word *status,
             unsigned *next_tile, int n)
{
    __shared__ unsigned warp_sums[WARPS], tile_number, before;
    __align__(16) unsigned x[ITEMS];
    int t = threadIdx.x, warp = t / 32;
    unsigned sum = 0, upto, total = 0, start = 0;

    if (t == 0)
        tile_number = atomicAdd(next_tile, 1);
    __syncthreads();
    int tile = tile_number, base = tile * TILE + t * ITEMS;

    items_load(x, in, base, n);
    for (int i = 0; i < ITEMS; i++)
        sum += x[i];
    upto = warp_scan(sum);
    if (t % 32 == 31)
        warp_sums[warp] = upto;
    __syncthreads();
    for (int w = 0; w < WARPS; w++) {
        start += w < warp ? warp_sums[w] : 0;
        total += warp_sums[w];
    }
    if (warp == 0) {
        if (t == 0)
            publish(&status[tile], AGGREGATE, total);
        unsigned all_before = look_back(status, tile);
        if (t == 0) {
            publish(&status[tile], PREFIX, all_before + total);
            before = all_before;
        }
    }
    __syncthreads();
    items_store(x, before + start + upto - sum, out, base, n);
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, SCAN_N);
    long n = args.size[0], tiles = cdiv(n, TILE);
    unsigned *x = halloc<unsigned>(n), *y = halloc<unsigned>(n);

    fill_u(x, n, 5);
    unsigned *dx = dput(x, n), *dy = dalloc<unsigned>(n);
    /* the status words, then the number of the next tile */
    unsigned long long *status = dalloc<unsigned long long>(tiles + 1);

    auto run = [&] {
        CK(cudaMemsetAsync(status, 0, (tiles + 1) * sizeof(*status)));
        lookback<<<tiles, THREADS>>>(dx, dy, status, (unsigned *)(status + tiles), n);
        dsync();
    };
    auto check = [&] {
        d2h(y, dy, n);
        return chk_scan(x, y, n);
    };
    bench_result(y, n);
    return bench_end(bench_run("lookback", args, 8.0 * n, bench_no_reset, run, check));
}
