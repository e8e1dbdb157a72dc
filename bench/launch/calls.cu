/* What short calls cost on the thread that makes them, in nanoseconds: the lower quartile over
 * batches, because other programs only ever make a batch slower.
 * usage: calls [-q]      output: name,ns */
#include "../cuda/cu.h"

__global__ void empty()
{
}

__global__ void four(float *p, int n, float a, const float *q)
{
    if (n < 0)
        p[threadIdx.x] += a + q[0];
}

enum { BATCHES = 200, COPY_MAX_B = 1 << 20 };
static int batches = BATCHES;

/* Everything is idle at the start of a batch, and no queue fills up in it. */
template <class F> static void report(const char *name, int batch, F call)
{
    static double ns[BATCHES];

    for (int i = 0; i < batches; i++) {
        CK(cudaDeviceSynchronize());
        double t0 = now_ms();
        for (int k = 0; k < batch; k++)
            call();
        ns[i] = (now_ms() - t0) * 1e6 / batch;
    }
    dsync();
    qsort(ns, batches, sizeof(ns[0]), bench_compare_double);
    printf("%s,%.1f\n", name, ns[batches / 4]);
}

template <class F> static void report_sized(const char *name, size_t size_B, F call)
{
    char text[64];

    snprintf(text, sizeof(text), "%s %zu B", name, size_B);
    report(text, size_B > 65536 ? 4 : 64, call);
}

static void launches(cudaStream_t s, cudaStream_t other)
{
    float *d = dalloc<float>(64);

    report("launch 1x32", 64, [] { empty<<<1, 32>>>(); });
    report("launch 1x32, 4 parameters", 64, [&] { four<<<1, 32>>>(d, 0, 1, d); });
    report("launch 64x256", 16, [] { empty<<<64, 256>>>(); });
    report("launch and wait 1x32", 64, [] {
        empty<<<1, 32>>>();
        CK(cudaDeviceSynchronize());
    });
    report("launch and wait 64x256", 16, [] {
        empty<<<64, 256>>>();
        CK(cudaDeviceSynchronize());
    });
    report("launch on a stream", 64, [&] { empty<<<1, 32, 0, s>>>(); });
    report("launch on a non-blocking stream", 64, [&] { empty<<<1, 32, 0, other>>>(); });
    report("launch on a stream and wait", 64, [&] {
        empty<<<1, 32, 0, s>>>();
        CK(cudaStreamSynchronize(s));
    });
    CK(cudaFree(d));
}

static void copies(size_t size_B, cudaStream_t s, char *d, char *host, char *pinned)
{
    report_sized("host to device", size_B,
                 [&] { CK(cudaMemcpy(d, host, size_B, cudaMemcpyHostToDevice)); });
    report_sized("device to host", size_B,
                 [&] { CK(cudaMemcpy(host, d, size_B, cudaMemcpyDeviceToHost)); });
    report_sized("pinned to device async", size_B,
                 [&] { CK(cudaMemcpyAsync(d, pinned, size_B, cudaMemcpyHostToDevice, s)); });
    report_sized("device to device", size_B, [&] {
        CK(cudaMemcpy(d, d + COPY_MAX_B, size_B, cudaMemcpyDeviceToDevice));
    });
    report_sized("memset", size_B, [&] { CK(cudaMemset(d, 1, size_B)); });
    report_sized("memset async", size_B, [&] { CK(cudaMemsetAsync(d, 1, size_B, s)); });
}

static void events(cudaStream_t s, cudaStream_t other)
{
    cudaEvent_t timed, untimed;

    CK(cudaEventCreate(&timed));
    CK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    report("event record", 64, [&] { CK(cudaEventRecord(timed, s)); });
    report("event record, untimed", 64, [&] { CK(cudaEventRecord(untimed, s)); });
    report("event query", 64, [&] { CK(cudaEventQuery(timed)); });
    report("event record and wait by a stream", 64, [&] {
        CK(cudaEventRecord(timed, s));
        CK(cudaStreamWaitEvent(other, timed, 0));
    });
    report("event record and synchronise", 64, [&] {
        CK(cudaEventRecord(timed, s));
        CK(cudaEventSynchronize(timed));
    });
    CK(cudaEventDestroy(timed));
    CK(cudaEventDestroy(untimed));
}

int main(int argc, char **argv)
{
    static const size_t sizes_B[] = {64, 4096, COPY_MAX_B};
    char *d = dalloc<char>(2 * COPY_MAX_B), *host = halloc<char>(COPY_MAX_B), *pinned;
    cudaStream_t s, other;

    if (argc > 1 && !strcmp(argv[1], "-q"))
        batches = 20;
    memset(host, 1, COPY_MAX_B);
    CK(cudaMallocHost((void **)&pinned, COPY_MAX_B));
    empty<<<1, 32>>>(); /* first launches compile */
    empty<<<64, 256>>>();
    four<<<1, 32>>>((float *)d, 0, 0, (float *)d);
    dsync();
    report("launch 1x32, the only stream", 64, [] { empty<<<1, 32>>>(); });
    report("synchronise, nothing to do", 64, [] { CK(cudaDeviceSynchronize()); });
    CK(cudaStreamCreate(&s));
    CK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    launches(s, other);
    for (size_t size_B : sizes_B)
        copies(size_B, s, d, host, pinned);
    events(s, other);
    return 0;
}
