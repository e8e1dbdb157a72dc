/* Factors and tables of Fourier transforms. */
#include "klib/fft_tables.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/host.h"

#define PI 3.14159265358979323846

const struct fft_ops *fft_ops_of(bool doubles)
{
#ifdef __x86_64__
    if (hd_host_has(HD_HOST_AVX512))
        return doubles ? &klib_fft_f64_avx512 : &klib_fft_f32_avx512;
    if (hd_host_has(HD_HOST_AVX2))
        return doubles ? &klib_fft_f64_avx2 : &klib_fft_f32_avx2;
#endif
    return doubles ? &klib_fft_f64_generic : &klib_fft_f32_generic;
}

void *fft_memory(size_t size_B)
{
    return aligned_alloc(64, HD_MAX((size_B + 63) / 64 * 64, (size_t)64));
}

/* ---- roots of unity */

/* exp(-2 pi i k / n), right to the last bit or nearly so: sine and cosine of at most pi / 4. */
static void root(uint64_t k, uint64_t n, double *re, double *im)
{
    assert(k < n);
    uint64_t eighth = 8 * k / n, from = eighth / 2 + eighth % 2; /* the nearest quarter */
    double angle = 2 * PI * ((double)(int64_t)(4 * k - from * n) / (4 * (double)n));
    double c = cos(angle), s = sin(angle);

    switch (from % 4) {
    case 0:
        *re = c, *im = -s;
        break;
    case 1:
        *re = -s, *im = -c;
        break;
    case 2:
        *re = -c, *im = s;
        break;
    default:
        *re = s, *im = c;
    }
}

static void put(void *table, size_t i, double x, const struct fft_ops *ops)
{
    if (ops->real_B == sizeof(float))
        ((float *)table)[i] = (float)x;
    else
        ((double *)table)[i] = x;
}

static void put_root(void *table, int64_t i, int64_t k, int64_t n, const struct fft_ops *ops)
{
    double re, im;

    root((uint64_t)k, (uint64_t)n, &re, &im);
    put(table, 2 * (size_t)i, re, ops);
    put(table, 2 * (size_t)i + 1, im, ops);
}

void *fft_roots(int64_t n, int64_t count, const struct fft_ops *ops)
{
    void *table = fft_memory((size_t)count * 2 * ops->real_B);

    for (int64_t k = 0; table && k < count; k++)
        put_root(table, k, k % n, n, ops);
    return table;
}

/* ---- factors */

bool fft_is_smooth(int64_t n)
{
    for (int64_t p = 2; p <= FFT_PRIME_MAX; p++)
        while (n % p == 0)
            n /= p;
    return n == 1;
}

/* The radices of a smooth length; returns how many. */
static unsigned radices_of(int64_t n, uint32_t radices[FFT_STAGES])
{
    unsigned count = 0, twos = 0;

    for (; n % 2 == 0; n /= 2)
        twos++;
    for (; twos >= 5 || twos == 3; twos -= 3)
        radices[count++] = 8;
    for (; twos >= 2; twos -= 2)
        radices[count++] = 4;
    if (twos)
        radices[count++] = 2;
    for (uint32_t p = 3; n > 1; p += 2)
        for (; n % p == 0; n /= p)
            radices[count++] = p;
    assert(count <= FFT_STAGES);
    return count;
}

/* The length of a convolution with a chirp: few and small factors, whole vectors. */
static int64_t convolution_of(int64_t n)
{
    static const int odds[] = {1, 3, 5, 9, 15};
    int64_t best = INT64_MAX;

    for (size_t i = 0; i < HD_COUNT_OF(odds); i++) {
        int64_t m = (int64_t)odds[i] * 16;
        while (m < 2 * n - 1)
            m *= 2;
        best = HD_MIN(best, m);
    }
    return best;
}

int64_t fft_core_span(int64_t n)
{
    return fft_is_smooth(n) ? n : convolution_of(n);
}

/* A pass of an odd radix costs more, the larger it is: numbers are multiplied with all others. */
static double passes_of(int64_t n)
{
    uint32_t radices[FFT_STAGES];
    unsigned count = radices_of(n, radices);
    double cost = 0;

    for (unsigned i = 0; i < count; i++)
        cost += radices[i] <= 8 ? 1 : radices[i] <= 13 ? 2 : radices[i] / 4.0;
    return cost;
}

double fft_core_cost(int64_t n, const struct fft_ops *ops)
{
    int64_t span = fft_core_span(n);
    double passes =
        span == n ? passes_of(n) + 2 : (2 * passes_of(span) + 4) * (double)span / (double)n + 2;
    double buffers_B = 4.0 * (double)span * (double)(ops->width * ops->real_B);

    return passes * (buffers_B < 40e3 ? 1 : buffers_B < 1.5e6 ? 1.5 : 4);
}

/* The cheapest way to write n as a product of two; 0: there is none. */
static double split(int64_t n, const struct fft_ops *ops, int64_t *out_n1)
{
    double best = 0;
    int64_t divisors[4096];
    size_t count = 1;

    divisors[0] = 1;
    for (int64_t p = 2, rest = n; rest > 1; p++) {
        size_t before = count;
        int64_t power = 1;
        for (; rest % p == 0; rest /= p) {
            power *= p;
            for (size_t i = 0; i < before && count < HD_COUNT_OF(divisors); i++)
                divisors[count++] = divisors[i] * power;
        }
    }
    for (size_t i = 0; i < count; i++) {
        int64_t n1 = divisors[i], n2 = n / n1;
        if (n1 == 1 || n2 == 1)
            continue;
        /* Not all vectors are full. */
        double columns = (double)fft_ceil(n2, ops->width) * ops->width / (double)n2;
        double rows = (double)fft_ceil(n1, ops->width) * ops->width / (double)n1;
        double cost = columns * (fft_core_cost(n1, ops) + 1.5) + rows * fft_core_cost(n2, ops);
        if (!best || cost < best) {
            best = cost;
            *out_n1 = n1;
        }
    }
    return best;
}

double fft_line_cost(int64_t n, const struct fft_ops *ops)
{
    int64_t n1;

    if (fft_is_smooth(n))
        return split(n, ops, &n1);
    int64_t m = convolution_of(n);
    return (2 * split(m, ops, &n1) + 4) * (double)m / (double)n + 16;
}

/* ---- Bluestein's */

/*
 * With chirp c[j] = exp(-pi i j^2 / n) the transform of x is c times the convolution of c x with
 * conj(c); the filter is the transform of that, over m for the inverse.
 */
static bool chirp_create(int64_t n, int64_t m, const struct fft_ops *ops, void **chirp,
                         void **filter)
{
    const struct fft_ops *doubles = fft_ops_of(true);
    struct fft_line *line = fft_line_create(m, doubles);
    double *numbers = fft_memory((size_t)m * 2 * sizeof(*numbers));
    void *scratch = line ? fft_memory(line->scratch_B) : NULL;
    bool done = false;

    *chirp = fft_memory((size_t)n * 2 * ops->real_B);
    *filter = fft_memory((size_t)m * 2 * ops->real_B);
    if (line && numbers && scratch && *chirp && *filter) {
        memset(numbers, 0, (size_t)m * 2 * sizeof(*numbers));
        /* j^2 modulo 2 n, from one to the next: squares of long lines do not fit 64 bits */
        for (uint64_t j = 0, square = 0; j < (uint64_t)n; j++) {
            double re, im;
            root(square, 2 * (uint64_t)n, &re, &im);
            put(*chirp, 2 * j, re, ops);
            put(*chirp, 2 * j + 1, im, ops);
            uint64_t mirrored = j ? (uint64_t)m - j : 0;
            numbers[2 * j] = numbers[2 * mirrored] = re / (double)m;
            numbers[2 * j + 1] = numbers[2 * mirrored + 1] = -im / (double)m;
            square = (square + 2 * j + 1) % (2 * (uint64_t)n);
        }
        doubles->line(line, numbers, numbers, scratch);
        for (size_t i = 0; i < 2 * (size_t)m; i++)
            put(*filter, i, numbers[i], ops);
        done = true;
    }
    free(numbers);
    free(scratch);
    fft_line_destroy(line);
    return done;
}

/* ---- cores */

static bool core_tables(struct fft_core *core, const struct fft_ops *ops)
{
    uint32_t radices[FFT_STAGES];
    size_t size = 0;
    int64_t m = core->n, s = 1;

    core->nstages = radices_of(core->n, radices);
    for (unsigned i = 0; i < core->nstages; i++) {
        struct fft_stage *stage = &core->stages[i];
        m /= radices[i];
        *stage = (struct fft_stage){.radix = radices[i], .m = m, .s = s, .turns = size};
        size += (size_t)m * 2 * (radices[i] - 1);
        stage->powers = size;
        size += radices[i] % 2 ? 2 * (size_t)radices[i] : 0;
        s *= radices[i];
    }
    core->roots = fft_memory(size * ops->real_B);
    if (!core->roots)
        return false;
    for (unsigned i = 0; i < core->nstages; i++) {
        const struct fft_stage *stage = &core->stages[i];
        int64_t radix = stage->radix;
        char *turns = (char *)core->roots + stage->turns * ops->real_B;
        char *powers = (char *)core->roots + stage->powers * ops->real_B;
        for (int64_t p = 0; p < stage->m; p++)
            for (int64_t t = 1; t < radix; t++)
                put_root(turns, p * (radix - 1) + t - 1, p * t, radix * stage->m, ops);
        for (int64_t j = 0; radix % 2 && j < radix; j++) {
            double re, im;
            root((uint64_t)j, (uint64_t)radix, &re, &im);
            put(powers, 2 * (size_t)j, re, ops);
            put(powers, 2 * (size_t)j + 1, -im, ops);
        }
    }
    return true;
}

struct fft_core *fft_core_create(int64_t n, const struct fft_ops *ops)
{
    struct fft_core *core = calloc(1, sizeof(*core));
    bool is_whole = core != NULL;

    if (!core)
        return NULL;
    core->n = n;
    core->span = fft_core_span(n);
    if (core->span == n) {
        is_whole = core_tables(core, ops);
    } else {
        core->inner = fft_core_create(core->span, ops);
        is_whole = core->inner && chirp_create(n, core->span, ops, &core->chirp, &core->filter);
    }
    if (is_whole)
        return core;
    fft_core_destroy(core);
    return NULL;
}

void fft_core_destroy(struct fft_core *core)
{
    if (!core)
        return;
    fft_core_destroy(core->inner);
    free(core->roots);
    free(core->chirp);
    free(core->filter);
    free(core);
}

/* ---- lines alone */

static bool line_tables(struct fft_line *line, const struct fft_ops *ops)
{
    int64_t width = ops->width, groups;
    size_t lanes_B = 2 * (size_t)width * ops->real_B;

    if (split(line->n, ops, &line->n1) == 0)
        return false;
    line->n2 = line->n / line->n1;
    groups = fft_ceil(line->n2, width);
    line->columns = fft_core_create(line->n1, ops);
    line->rows = fft_core_create(line->n2, ops);
    line->fixed = fft_memory((size_t)line->n1 * lanes_B);
    line->moving = fft_memory((size_t)(groups * line->n1) * 2 * ops->real_B);
    if (!line->columns || !line->rows || !line->fixed || !line->moving)
        return false;
    for (int64_t k = 0; k < line->n1; k++)
        for (int64_t l = 0; l < width; l++) {
            double re, im;
            root((uint64_t)(k * l % line->n), (uint64_t)line->n, &re, &im);
            put(line->fixed, (size_t)(2 * k * width + l), re, ops);
            put(line->fixed, (size_t)((2 * k + 1) * width + l), im, ops);
        }
    for (int64_t g = 0; g < groups; g++)
        for (int64_t k = 0; k < line->n1; k++)
            put_root(line->moving, g * line->n1 + k, g * width * k % line->n, line->n, ops);
    line->scratch_B =
        (size_t)(fft_ceil(line->n1, width) * line->n2 + 2 * HD_MAX(line->n1, line->n2)) * lanes_B +
        64 * 3;
    return true;
}

struct fft_line *fft_line_create(int64_t n, const struct fft_ops *ops)
{
    struct fft_line *line = calloc(1, sizeof(*line));
    bool is_whole;

    if (!line)
        return NULL;
    line->n = n;
    if (fft_is_smooth(n)) {
        is_whole = line_tables(line, ops);
    } else {
        int64_t m = convolution_of(n);
        line->inner = fft_line_create(m, ops);
        is_whole = line->inner && chirp_create(n, m, ops, &line->chirp, &line->filter);
        if (is_whole)
            line->scratch_B = (size_t)m * 2 * ops->real_B + 64 + line->inner->scratch_B;
    }
    if (is_whole)
        return line;
    fft_line_destroy(line);
    return NULL;
}

void fft_line_destroy(struct fft_line *line)
{
    if (!line)
        return;
    fft_core_destroy(line->columns);
    fft_core_destroy(line->rows);
    fft_line_destroy(line->inner);
    free(line->fixed);
    free(line->moving);
    free(line->chirp);
    free(line->filter);
    free(line);
}
