/*
 * What the two programs of matrix products share. Rounds are short and run a loop of plain fused
 * multiply-adds beside each product. The fastest of each count, because other programs only ever
 * make one slower.
 */
#pragma once
#include "../cuda/cu.h"

enum { BLOCKS = 8, THREADS = 128 };

static int rounds = 100;

/* Eight chains for each thread. */
__global__ void fma_loop(float *out, int n, float x)
{
    float sum[8];
    for (int i = 0; i < 8; i++)
        sum[i] = (float)(threadIdx.x + i);
    for (int k = 0; k < n; k++) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            sum[i] = fmaf(sum[i], x, 1.0f);
    }
    for (int i = 1; i < 8; i++)
        sum[0] += sum[i];
    out[blockIdx.x * THREADS + threadIdx.x] = sum[0];
}

/* 1e9 operations in a second. */
template <class F> static double rate(double operations, F launch)
{
    double t0 = now_ms();
    launch();
    dsync();
    return operations / (now_ms() - t0) * 1e-6;
}

/* Until there is time for the best code to be there. */
template <class F> static void warm_up(F launch)
{
    double t0 = now_ms();
    while (now_ms() - t0 < 300)
        rate(1, launch);
}

/* `operations`: of one warp in one turn of the kernel's loop. */
template <class K> static void report(const char *name, double operations, int turns, K kernel)
{
    static float *out = dalloc<float>(BLOCKS * THREADS);
    const int plain_turns = 5000;
    const double warps = BLOCKS * (THREADS / 32), plain_operations = 2.0 * 8 * 32 * plain_turns;
    double fma = 0, best = 0;
    auto plain = [&] { fma_loop<<<BLOCKS, THREADS>>>(out, plain_turns, 0.5f); };
    auto product = [&] { kernel<<<BLOCKS, THREADS>>>(out, turns); };

    warm_up(plain), warm_up(product);
    for (int i = 0; i < rounds; i++) {
        fma = fmax(fma, rate(plain_operations * warps, plain));
        best = fmax(best, rate(operations * turns * warps, product));
    }
    printf("%s,%.1f,%.2f\n", name, best, best / fma);
}

static void rounds_choose(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "-q"))
        rounds = 20;
}
