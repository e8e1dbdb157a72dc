/* Fork-join cost of OpenMP: an empty parallel region, back to back and after an idle gap.
 * output: name,threads,gap_us,us (median). Threads and waiting policy from OMP_NUM_THREADS,
 * KMP_BLOCKTIME. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SAMPLES = 501 };

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + 1e-3 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(long gap_us, int samples)
{
    double us[SAMPLES];
    volatile int sink = 0;

    for (int i = 0; i < samples; i++) {
        double t = now_us();

        while (now_us() - t < (double)gap_us)
            ;
        t = now_us();
#pragma omp parallel
        {
            if (omp_get_thread_num() == 99)
                sink = 1;
        }
        us[i] = now_us() - t;
    }
    qsort(us, (size_t)samples, sizeof(us[0]), compare);
    printf("forkjoin,%d,%ld,%.3f\n", omp_get_max_threads(), gap_us, us[samples / 2]);
}

int main(void)
{
    measure(0, SAMPLES);
    measure(100, SAMPLES);
    measure(1000, 101);
    measure(10000, 21);
    return 0;
}
