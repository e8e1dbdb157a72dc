/*
 * What the machine could do: the least time in which bytes can be read and written, and rates of
 * 32-bit multiply-adds and integer operations. No kernel that needs as much can be faster.
 *
 * usage: floor READ_B WRITE_B [-u]     output: stream,ms,GB/s,how   -u: what is written is read
 *        floor fma                     output: fma,GF/s
 *        floor int                     output: int,Gop/s
 * Threads from OMP_NUM_THREADS. The best of several ways to access memory counts, of each the
 * fastest run: other programs only ever make one slower.
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#if defined(__AVX512F__)
enum { VECTOR_B = 64 };
#elif defined(__AVX2__)
enum { VECTOR_B = 32 };
#else
enum { VECTOR_B = 16 };
#endif

typedef uint32_t words __attribute__((vector_size(VECTOR_B)));
typedef float floats __attribute__((vector_size(VECTOR_B)));

/* Reads and writes alternate by pieces, so that both are under way at any time. */
enum { PIECE_B = 1024, CHAINS = 8, AHEAD_B = 4096, RUNS = 7, TURNS = 1 << 16 };

struct way {
    const char *name;
    int nontemporal, prefetch;
};

static const struct way ways[] = {
    {"plain", 0, 0}, {"prefetched", 0, 1}, {"streamed", 1, 0}, {"streamed, prefetched", 1, 1}};

static volatile uint32_t sink; /* keeps what is computed */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Touched memory in huge pages, as the device's. */
static char *memory_create(size_t size_B)
{
    const size_t huge_B = 2 << 20;
    size_t whole_B = (size_B + huge_B - 1) / huge_B * huge_B + huge_B;
    void *p;

    if (posix_memalign(&p, huge_B, whole_B))
        exit(3);
    madvise(p, whole_B, MADV_HUGEPAGE);
    memset(p, 1, whole_B);
    return p;
}

static words piece_read(const char *from, size_t size_B, int prefetch)
{
    words sum[CHAINS] = {{0}}, all = {0};
    size_t i = 0;

    for (; i + CHAINS * VECTOR_B <= size_B; i += CHAINS * VECTOR_B) {
#pragma clang loop unroll(full)
        for (int k = 0; k < CHAINS; k++) {
            sum[k] ^= *(const words *)(from + i + k * VECTOR_B);
            if (prefetch)
                __builtin_prefetch(from + i + k * VECTOR_B + AHEAD_B);
        }
    }
    for (; i + VECTOR_B <= size_B; i += VECTOR_B)
        sum[0] ^= *(const words *)(from + i);
    for (int k = 0; k < CHAINS; k++)
        all ^= sum[k];
    return all;
}

static void piece_write(char *to, size_t size_B, words value, int nontemporal)
{
    if (nontemporal) {
        for (size_t i = 0; i + VECTOR_B <= size_B; i += VECTOR_B)
            __builtin_nontemporal_store(value, (words *)(to + i));
        return;
    }
#pragma clang loop unroll_count(8)
    for (size_t i = 0; i + VECTOR_B <= size_B; i += VECTOR_B)
        *(words *)(to + i) = value;
}

/* read_B: of `from`; in place, `to` is read as well. */
struct stream {
    const char *from;
    char *to;
    size_t read_B, write_B;
    int in_place;
};

/* Where piece `i` of `n` begins. */
static size_t piece_at(size_t size_B, size_t i, size_t n)
{
    return (size_t)((double)size_B * (double)i / (double)n) / VECTOR_B * VECTOR_B;
}

/* Zeros are written faster than other words by some CPUs. */
static words piece_run(const struct stream *s, const struct way *way, size_t i, size_t n)
{
    size_t read = piece_at(s->read_B, i, n), write = piece_at(s->write_B, i, n);
    size_t write_B = piece_at(s->write_B, i + 1, n) - write;
    words none = {0};
    words sum = piece_read(s->from + read, piece_at(s->read_B, i + 1, n) - read, way->prefetch);

    if (s->in_place)
        sum ^= piece_read(s->to + write, write_B, way->prefetch);
    piece_write(s->to + write, write_B, sum | (none + 1), way->nontemporal);
    return sum;
}

static void stream_run(const struct stream *s, const struct way *way)
{
    size_t most_B = s->read_B > s->write_B ? s->read_B : s->write_B, n = most_B / PIECE_B + 1;

#pragma omp parallel
    {
        size_t id = (size_t)omp_get_thread_num(), count = (size_t)omp_get_num_threads();
        words sum = {0};
        for (size_t i = n * id / count; i < n * (id + 1) / count; i++)
            sum ^= piece_run(s, way, i, n);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        sink = sum[0];
    }
}

static int stream_report(size_t read_B, size_t write_B, int in_place)
{
    struct stream s = {NULL, NULL, in_place ? read_B - write_B : read_B, write_B, in_place};
    const int count = sizeof(ways) / sizeof(ways[0]);
    double best_ms = 1e30;
    const char *how = "";

    s.from = memory_create(s.read_B), s.to = memory_create(write_B);
    for (int run = 0; run < RUNS; run++) {
        for (int i = 0; i < count; i++) {
            double t0 = now_ms(), ms;
            stream_run(&s, &ways[i]);
            ms = now_ms() - t0;
            if (run && ms < best_ms)
                best_ms = ms, how = ways[i].name;
        }
    }
    printf("stream,%.4f,%.2f,%s\n", best_ms, (double)(read_B + write_B) / best_ms * 1e-6, how);
    return 0;
}

/* ---- arithmetic: enough chains for two units of four cycles, few enough for 16 registers */

enum { FMA_CHAINS = VECTOR_B == 64 ? 16 : 12, INT_CHAINS = 8 };

static float fma_turns(int turns, float x)
{
    floats sum[FMA_CHAINS], factor = (floats){0} + x, one = (floats){0} + 1.0f;
    float all = 0;

    for (int i = 0; i < FMA_CHAINS; i++)
        sum[i] = one * (float)i;
    for (int t = 0; t < turns; t++) {
#pragma clang loop unroll(full)
        for (int i = 0; i < FMA_CHAINS; i++)
            sum[i] = sum[i] * factor + one;
    }
    for (int i = 0; i < FMA_CHAINS; i++)
        all += sum[i][0];
    return all;
}

/* A step of MD5: three logic operations, four additions, a rotation. */
static uint32_t int_turns(int turns, uint32_t x)
{
    words a[INT_CHAINS], b = (words){0} + x, c = b * 3, k = b * 5;
    uint32_t all = 0;

    for (int i = 0; i < INT_CHAINS; i++)
        a[i] = b * (uint32_t)(2 * i + 1);
    for (int t = 0; t < turns; t++) {
        c += k;
#pragma clang loop unroll(full)
        for (int i = 0; i < INT_CHAINS; i++) {
            words f = a[i] + (b ^ (a[i] & (c ^ b))) + k + c;
            a[i] = (f << 7 | f >> 25) + b;
        }
    }
    for (int i = 0; i < INT_CHAINS; i++)
        all += a[i][0];
    return all;
}

static int rate_report(const char *name, double operations, int is_fma)
{
    double best_ms = 1e30;

    for (int run = 0; run < 3 * RUNS; run++) {
        double t0 = now_ms(), ms;
#pragma omp parallel
        {
            uint32_t x = is_fma ? (uint32_t)fma_turns(TURNS, 0.5f + (float)run * 1e-3f)
                                : int_turns(TURNS, (uint32_t)run);
            sink = x;
        }
        ms = now_ms() - t0;
        best_ms = ms < best_ms ? ms : best_ms;
    }
    printf("%s,%.2f\n", name, operations * TURNS * omp_get_max_threads() / best_ms * 1e-6);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "fma"))
        return rate_report("fma", 2.0 * FMA_CHAINS * VECTOR_B / 4, 1);
    if (argc == 2 && !strcmp(argv[1], "int"))
        return rate_report("int", 8.0 * INT_CHAINS * VECTOR_B / 4, 0);
    if (argc == 3 || (argc == 4 && !strcmp(argv[3], "-u")))
        return stream_report(strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10), argc == 4);
    fprintf(stderr, "usage: floor READ_B WRITE_B [-u] | fma | int\n");
    return 2;
}
