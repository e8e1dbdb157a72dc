/* Pi by throwing darts. Every thread has its own linear congruential generator, started far
 * apart in one sequence, so
 * the result is the same on every run and every device. */
#include "example.h"

#define THREADS (64 * 256)
#define DARTS   200 /* per thread */

typedef unsigned long long u64;

#define LCG_A 6364136223846793005ull /* Knuth's MMIX multiplier */
#define LCG_C 1442695040888963407ull

/* The state after n more steps, in log2(n) operations (Brown 1994). */
__host__ __device__ inline u64 lcg_skip(u64 state, u64 n)
{
    u64 a = LCG_A, c = LCG_C;

    for (; n; n >>= 1) {
        if (n & 1)
            state = a * state + c;
        c *= a + 1;
        a *= a;
    }
    return state;
}

__host__ __device__ inline unsigned count_hits(unsigned thread)
{
    u64 state = lcg_skip(2026, (u64)thread * 2 * DARTS);
    unsigned hits = 0;

    for (int i = 0; i < DARTS; i++) {
        u64 x = (state = LCG_A * state + LCG_C) >> 40;
        u64 y = (state = LCG_A * state + LCG_C) >> 40;

        hits += x * x + y * y < 1ull << 48; /* coordinates have 24 bits */
    }
    return hits;
}

__global__ void throw_darts(u64 *total)
{
    unsigned hits = count_hits(blockIdx.x * blockDim.x + threadIdx.x);

    atomicAdd(total, (u64)hits);
}

int main()
{
    u64 got = 0, want = 0, *dev_total;

    CHECK(cudaMalloc(&dev_total, sizeof(u64)));
    CHECK(cudaMemset(dev_total, 0, sizeof(u64)));
    throw_darts<<<THREADS / 256, 256>>>(dev_total);
    CHECK_KERNEL();
    CHECK(cudaMemcpy(&got, dev_total, sizeof(got), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(dev_total));
    for (unsigned t = 0; t < THREADS; t++)
        want += count_hits(t);

    double pi = 4.0 * got / ((double)THREADS * DARTS);

    return verdict(got == want && fabs(pi - 3.14159265) < 0.005,
                   "montecarlo: %d darts, pi is about %.5f", THREADS * DARTS, pi);
}
