/*
 * What listening costs a launch: nanoseconds per launch of an empty kernel, medians of bursts, with
 * nobody listening and with kinds of CUPTI's enabled, side by side in one run.
 *   enqueue      the launch calls alone
 *   whole        until the work is done
 * usage: cupti      output: kinds,enqueue,whole
 * cc -O2 -Iinclude/cuda bench/launch/cupti.c -Lbuild/src/api/driver -Lbuild/src/api/cupti \
 *     -lcuda -lcupti
 */
#include <cuda.h>
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BURST = 64, ROUNDS = 400 };

static const char ptx[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
                          ".visible .entry nothing()\n{\nret;\n}\n";
static CUfunction kernel;

static void on_request(uint8_t **buffer, size_t *size, size_t *max)
{
    *size = 1 << 20;
    *buffer = aligned_alloc(8, *size);
    *max = 0;
}

static void on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                        size_t valid)
{
    (void)context, (void)stream, (void)size, (void)valid;
    free(buffer);
}

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(const char *name)
{
    static double enqueue[ROUNDS], whole[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        double begin = now_ns();

        for (int j = 0; j < BURST; j++)
            cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
        enqueue[i] = (now_ns() - begin) / BURST;
        cuCtxSynchronize();
        whole[i] = (now_ns() - begin) / BURST;
    }
    qsort(enqueue, ROUNDS, sizeof(double), compare);
    qsort(whole, ROUNDS, sizeof(double), compare);
    printf("%s,%.0f,%.0f\n", name, enqueue[ROUNDS / 2], whole[ROUNDS / 2]);
}

int main(void)
{
    CUcontext context;
    CUmodule module;

    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
        cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&kernel, module, "nothing"))
        return 1;
    cuptiActivityRegisterCallbacks(on_request, on_complete);
    measure("warm");
    for (int i = 0; i < 3; i++) {
        measure("none");
        cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER);
        measure("driver");
        cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
        measure("driver+kernel");
        cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER);
        measure("kernel");
        cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    }
    return 0;
}
