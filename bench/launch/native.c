/*
 * What a launch of an empty native kernel costs beside one of an empty compiled kernel: nanoseconds
 * per launch in bursts of one run, in turns; medians of the rounds.
 *   empty       compiled
 *   inline      native, HEDDLE_NATIVE_INLINE: on the launching thread
 *   any_thread  native, HEDDLE_NATIVE_ANY_THREAD: short, so on the launching thread as well
 * usage: native      output: name,ns,ns over empty
 * cc -O2 -Iinclude -Iinclude/cuda bench/launch/native.c -Lbuild/src/api/driver -lcuda
 */
#include <cuda.h>
#include <heddle/native.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BURST = 64, ROUNDS = 2000, KINDS = 3 };

static const char ptx[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
                          ".visible .entry nothing()\n{\nret;\n}\n";
static const char *const names[KINDS] = {"empty", "inline", "any_thread"};
static double ns[KINDS][ROUNDS];

static int nothing(struct heddle_native_call *call)
{
    (void)call;
    return 0;
}

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void check(int result)
{
    if (!result)
        return;
    fprintf(stderr, "error %d\n", result);
    exit(1);
}

static CUfunction native(unsigned flags)
{
    struct heddle_native desc = {.size_B = sizeof(desc),
                                 .flags = flags,
                                 .name = "nothing",
                                 .function = nothing,
                                 .ptx = ptx,
                                 .tile_ns = 1};
    struct heddle_native_kernel *kernel;
    CUfunction function;

    check(heddle_native_register(&desc, &kernel));
    check(heddle_native_get_function(kernel, &function));
    return function;
}

int main(void)
{
    CUfunction kernels[KINDS];
    CUcontext context;
    CUmodule module;

    check(cuInit(0));
    check(cuDevicePrimaryCtxRetain(&context, 0));
    check(cuCtxSetCurrent(context));
    check(cuModuleLoadData(&module, ptx));
    check(cuModuleGetFunction(&kernels[0], module, "nothing"));
    kernels[1] = native(HEDDLE_NATIVE_INLINE);
    kernels[2] = native(HEDDLE_NATIVE_ANY_THREAD);
    for (int round = -10; round < ROUNDS; round++)
        for (int kind = 0; kind < KINDS; kind++) {
            double begin = now_ns();

            for (int i = 0; i < BURST; i++)
                check(cuLaunchKernel(kernels[kind], 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
            if (round >= 0)
                ns[kind][round] = (now_ns() - begin) / BURST;
            check(cuCtxSynchronize());
        }
    for (int kind = 0; kind < KINDS; kind++)
        qsort(ns[kind], ROUNDS, sizeof(double), compare);
    for (int kind = 0; kind < KINDS; kind++)
        printf("%s,%.0f,%.0f\n", names[kind], ns[kind][ROUNDS / 2],
               ns[kind][ROUNDS / 2] - ns[0][ROUNDS / 2]);
    return 0;
}
