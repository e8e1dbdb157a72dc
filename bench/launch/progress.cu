/*
 * Whether kernels come forward while the host calls nothing: microseconds from the
 * launch call until a flag in host memory is seen, launched from idle; and what a process that has
 * a context and waits for something else costs, as CPU seconds in a second.
 * usage: progress [-q]      output: progress,grid,block,median,worst,PASS|FAIL and idle,value
 */
#include "../cuda/cu.h"
#include <unistd.h>

enum { SAMPLES = 200, LOST_US = 1000000 };

/* The last block to finish says so. */
__global__ void flag_set(volatile int *flag, int *finished, int value)
{
    if (threadIdx.x == 0 && atomicAdd(finished, 1) == (int)gridDim.x - 1) {
        *finished = 0;
        __threadfence_system();
        *flag = value;
    }
}

/* Asks the clock only: a call would move the kernel on. */
static double until_seen_us(double start_ms, const volatile int *flag, int value)
{
    double us = 0;

    while (*flag != value && us < LOST_US)
        us = (now_ms() - start_ms) * 1e3;
    return (now_ms() - start_ms) * 1e3;
}

static int progress(int grid, int block, int samples)
{
    static double us[SAMPLES];
    int *finished = dalloc<int>(1), *flag;
    bool lost = false;

    CK(cudaMallocHost((void **)&flag, sizeof(*flag)));
    *flag = 0;
    CK(cudaMemset(finished, 0, sizeof(*finished)));
    flag_set<<<grid, block>>>(flag, finished, -1); /* the first launch compiles */
    dsync();
    for (int i = 0; i < samples && !lost; i++) {
        usleep(2000);
        double t0 = now_ms();
        flag_set<<<grid, block>>>(flag, finished, i + 1);
        us[i] = until_seen_us(t0, flag, i + 1);
        lost = us[i] >= LOST_US;
        dsync();
    }
    qsort(us, samples, sizeof(us[0]), bench_compare_double);
    printf("progress,%d,%d,%.3f,%.3f,%s\n", grid, block, us[samples / 2], us[samples - 1],
           lost ? "FAIL" : "PASS");
    CK(cudaFreeHost(flag));
    CK(cudaFree(finished));
    return lost;
}

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* After the workers had time to fall asleep. */
static void idle(int wall_ms)
{
    usleep(200000);
    double t0 = now_ms(), cpu = cpu_s();
    usleep(wall_ms * 1000);
    printf("idle,%.6f\n", (cpu_s() - cpu) / ((now_ms() - t0) * 1e-3));
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && !strcmp(argv[1], "-q");
    int samples = quick ? 50 : SAMPLES, bad = 0;

    bad |= progress(1, 32, samples);
    bad |= progress(64, 256, samples);
    bad |= progress(1024, 256, samples);
    idle(quick ? 1000 : 3000);
    return bad;
}
