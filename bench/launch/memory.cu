/*
 * Copies and fills on the device beside the C library's, in turns, on memory of the same kind:
 * touched, in huge pages. GB/s of the bytes that are copied (not read and written) or filled.
 * usage: memory [-q]      output: name,size_B,device,C,PASS|FAIL
 */
#include "../cuda/cu.h"
#include <sys/mman.h>

enum { MAX_BATCHES = 101 };
static const size_t least_B = 64 << 10, most_B = 256 << 20;
static int batches = 31;

static char *pages_create(size_t size_B)
{
    void *p = NULL;

    if (posix_memalign(&p, 2 << 20, size_B))
        exit(3);
    madvise(p, size_B, MADV_HUGEPAGE);
    return (char *)p;
}

struct memories {
    char *from, *to, *host_from, *host_to; /* the first two are the device's */
};

/* Short calls are repeated, so that the clock does not matter. */
template <class F> static double batch_ms(int calls, F call)
{
    double t0 = now_ms();

    for (int i = 0; i < calls; i++)
        call();
    return (now_ms() - t0) / calls;
}

/* GB/s of the median. */
static double rate(size_t size_B, double *ms, int n)
{
    qsort(ms, n, sizeof(ms[0]), bench_compare_double);
    return (double)size_B / ms[n / 2] * 1e-6;
}

template <class Device, class Host>
static void report(const char *name, size_t size_B, int good, Device device, Host host)
{
    static double device_ms[MAX_BATCHES], host_ms[MAX_BATCHES];
    int calls = size_B >= 8 << 20 ? 1 : (8 << 20) / (int)size_B;
    int n = size_B >= 64 << 20 ? batches / 2 : batches;

    batch_ms(1, device), batch_ms(1, host);
    for (int i = 0; i < n; i++) {
        batch_ms(1, device); /* brings back what the other turned out of the caches */
        device_ms[i] = batch_ms(calls, device);
        batch_ms(1, host);
        host_ms[i] = batch_ms(calls, host);
    }
    printf("%s,%zu,%.2f,%.2f,%s\n", name, size_B, rate(size_B, device_ms, n),
           rate(size_B, host_ms, n), good ? "PASS" : "FAIL");
    fflush(stdout);
}

static void copy(const memories &m, size_t size_B)
{
    CK(cudaMemcpy(m.to, m.from, size_B, cudaMemcpyDeviceToDevice));
    CK(cudaDeviceSynchronize());
}

static void fill(const memories &m, size_t size_B)
{
    CK(cudaMemset(m.to, 0x5a, size_B));
    CK(cudaDeviceSynchronize());
}

static int copied(const memories &m, size_t size_B)
{
    copy(m, size_B);
    CK(cudaMemcpy(m.host_to, m.to, size_B, cudaMemcpyDeviceToHost));
    return !memcmp(m.host_to, m.host_from, size_B);
}

static int filled(const memories &m, size_t size_B)
{
    fill(m, size_B);
    CK(cudaMemcpy(m.host_to, m.to, size_B, cudaMemcpyDeviceToHost));
    return m.host_to[0] == 0x5a && !memcmp(m.host_to, m.host_to + 1, size_B - 1);
}

static void *(*volatile c_copy)(void *, const void *, size_t) = memcpy;
static void *(*volatile c_fill)(void *, int, size_t) = memset;

int main(int argc, char **argv)
{
    memories m = {dalloc<char>(most_B), dalloc<char>(most_B), pages_create(most_B),
                  pages_create(most_B)};
    int bad = 0;

    if (argc > 1 && !strcmp(argv[1], "-q"))
        batches = 7;
    for (size_t i = 0; i < most_B; i++)
        m.host_from[i] = (char)hash32((uint32_t)i);
    CK(cudaMemcpy(m.from, m.host_from, most_B, cudaMemcpyHostToDevice));
    for (size_t size_B = least_B; size_B <= most_B; size_B *= 4) {
        int good = copied(m, size_B);
        bad |= !good;
        report(
            "copy", size_B, good, [&] { copy(m, size_B); },
            [&] { c_copy(m.host_to, m.host_from, size_B); });
    }
    for (size_t size_B = least_B; size_B <= most_B; size_B *= 4) {
        int good = filled(m, size_B);
        bad |= !good;
        report(
            "fill", size_B, good, [&] { fill(m, size_B); },
            [&] { c_fill(m.host_to, 0x5a, size_B); });
    }
    return bad;
}
