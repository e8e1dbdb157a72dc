/* Launch cost in microseconds, medians over single launches:
 *   enqueue       the launch call alone, in bursts of 64 so that no queue fills up
 *   back_to_back  time per launch of 2000 launches and one synchronisation
 *   sync          launch and synchronise an empty kernel
 *   touch_sync    launch and synchronise a kernel with one addition per thread
 * usage: launch [-q]      output: name,grid,block,us */
#include "../cuda/cu.h"

enum { MANY = 2000, BURST = 64, SAMPLES = 512 };

__global__ void empty()
{
}

__global__ void touch(float *p)
{
    p[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f;
}

static double median(double *v, int n)
{
    qsort(v, n, sizeof(v[0]), bench_compare_double);
    return v[n / 2];
}

static void report(const char *name, int grid, int block, double us)
{
    printf("%s,%d,%d,%.3f\n", name, grid, block, us);
}

static void measure(int grid, int block, int samples, float *d)
{
    static double us[SAMPLES];
    double t0;

    for (int i = 0; i < samples; i++) {
        if (i % BURST == 0)
            dsync();
        t0 = now_ms();
        empty<<<grid, block>>>();
        us[i] = (now_ms() - t0) * 1e3;
    }
    dsync();
    report("enqueue", grid, block, median(us, samples));

    t0 = now_ms();
    for (int i = 0; i < MANY; i++)
        empty<<<grid, block>>>();
    dsync();
    report("back_to_back", grid, block, (now_ms() - t0) * 1e3 / MANY);

    for (int i = 0; i < samples; i++) {
        t0 = now_ms();
        empty<<<grid, block>>>();
        CK(cudaDeviceSynchronize());
        us[i] = (now_ms() - t0) * 1e3;
    }
    report("sync", grid, block, median(us, samples));

    for (int i = 0; i < samples; i++) {
        t0 = now_ms();
        touch<<<grid, block>>>(d);
        CK(cudaDeviceSynchronize());
        us[i] = (now_ms() - t0) * 1e3;
    }
    report("touch_sync", grid, block, median(us, samples));
}

int main(int argc, char **argv)
{
    static const int shapes[][2] = {{1, 32}, {1, 256}, {2, 256}, {64, 256}, {1024, 256}};
    bool quick = argc > 1 && !strcmp(argv[1], "-q");
    float *d = dalloc<float>(1024 * 256);

    CK(cudaMemset(d, 0, 1024 * 256 * sizeof(float)));
    for (const auto &s : shapes) {
        empty<<<s[0], s[1]>>>(); /* first launches compile */
        touch<<<s[0], s[1]>>>(d);
        dsync();
        measure(s[0], s[1], quick ? 64 : SAMPLES, d);
    }
    return 0;
}
