/* Do streams overlap? A kernel of one block alone, two of them in two streams, copies alone, and a
 * kernel beside copies. Times in milliseconds, medians of turns.
 * usage: overlap      output: name,ms and the ratios: two kernels to one, both to the longer */
#include "../cuda/cu.h"

__global__ void spin(float *out, int n)
{
    float x = threadIdx.x, y = 0;

    for (int i = 0; i < n; i++)
        y = y * 0.5f + x;
    out[threadIdx.x] = y;
}

enum { ROUNDS = 21, COPY_B = 64 << 20, BLOCK = 256 };

static float *out[2];
static char *host, *device;
static cudaStream_t streams[2];
static int steps = 1 << 20, copies = 1;

static void kernel(int which)
{
    spin<<<1, BLOCK, 0, streams[which]>>>(out[which], steps);
}

static void copy(int which)
{
    for (int i = 0; i < copies; i++)
        CK(cudaMemcpyAsync(device, host, COPY_B, cudaMemcpyHostToDevice, streams[which]));
}

template <class F> static double time_of(F call)
{
    CK(cudaDeviceSynchronize());
    double start = now_ms();
    call();
    CK(cudaDeviceSynchronize());
    return now_ms() - start;
}

static double report(const char *name, double *ms)
{
    qsort(ms, ROUNDS, sizeof(double), bench_compare_double);
    printf("%s,%.2f\n", name, ms[ROUNDS / 2]);
    return ms[ROUNDS / 2];
}

/* Kernels of about 20 ms, and about as much to copy. */
static void calibrate()
{
    time_of([] { kernel(0); });
    double ms = time_of([] { kernel(0); });
    steps = (int)(steps * 20 / (ms > 0.1 ? ms : 0.1));
    time_of([] { copy(0); });
    ms = time_of([] { copy(0); });
    copies = ms < 20 ? (int)(20 / ms) + 1 : 1;
}

int main()
{
    static double one[ROUNDS], two[ROUNDS], moved[ROUNDS], both[ROUNDS];

    for (int i = 0; i < 2; i++) {
        CK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        CK(cudaMalloc(&out[i], BLOCK * sizeof(float)));
    }
    CK(cudaMallocHost(&host, COPY_B));
    CK(cudaMalloc(&device, COPY_B));
    memset(host, 1, COPY_B);
    calibrate();
    /* In turns: what else the machine does harms all of them. */
    for (int i = 0; i < ROUNDS; i++) {
        one[i] = time_of([] { kernel(0); });
        two[i] = time_of([] { kernel(0), kernel(1); });
        moved[i] = time_of([] { copy(1); });
        both[i] = time_of([] { kernel(0), copy(1); });
    }
    double alone = report("one kernel", one), pair = report("two kernels in two streams", two);
    double copied = report("copies", moved), beside = report("a kernel beside copies", both);
    printf("two to one,%.2f\n", pair / alone);
    printf("both to the longer,%.2f\n", beside / (alone > copied ? alone : copied));
    return 0;
}
