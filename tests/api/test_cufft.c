/*
 * Transforms of cuFFT against plain sums over all numbers, in longer ones: sizes, types, ranks,
 * layouts, batches, in place and not. An error is the length of the difference over the length of
 * what is wanted; BOUND says what it may be.
 */
#include <cuda_runtime_api.h>
#include <cufftXt.h>
#include <math.h>
#include <stdlib.h>

#include "klib/halves.h"
#include "support/tap.h"

enum type { F32, F64, F16, BF16, TYPES };
enum kind { C2C, R2C, C2R };

/* Of floats and doubles 2.5e-7 and 6e-16 were the most; halves are rounded after each dimension. */
static const double BOUND[TYPES] = {5e-7, 1e-15, 2e-3, 1.6e-2};
static const size_t SCALAR_B[TYPES] = {4, 8, 2, 2};
static const cudaDataType REAL[TYPES] = {CUDA_R_32F, CUDA_R_64F, CUDA_R_16F, CUDA_R_16BF};
static const cudaDataType COMPLEX[TYPES] = {CUDA_C_32F, CUDA_C_64F, CUDA_C_16F, CUDA_C_16BF};

static uint64_t seed;

/* Between -1 and 1, with few bits: every type holds it. */
static double number(void)
{
    return (double)((int64_t)(tap_random(&seed) >> 40) % 127 - 63) / 64;
}

static long long below(long long n)
{
    return (long long)(tap_random(&seed) >> 20) % n;
}

static double get(enum type type, const void *at, long long i)
{
    switch (type) {
    case F32:
        return ((const float *)at)[i];
    case F64:
        return ((const double *)at)[i];
    case F16:
        return klib_f32_of_f16(((const uint16_t *)at)[i]);
    default:
        return klib_f32_of_bf16(((const uint16_t *)at)[i]);
    }
}

static void put(enum type type, void *at, long long i, double x)
{
    switch (type) {
    case F32:
        ((float *)at)[i] = (float)x;
        break;
    case F64:
        ((double *)at)[i] = x;
        break;
    case F16:
        ((uint16_t *)at)[i] = klib_f16_of_f32((float)x);
        break;
    default:
        ((uint16_t *)at)[i] = klib_bf16_of_f32((float)x);
    }
}

/* ---- the model */

struct problem {
    enum kind kind;
    enum type type;
    int rank;
    long long n[3], batch;
    bool in_place, inverse, is_embedded;
    long long inembed[3], istride, idist, onembed[3], ostride, odist;
};

/* Numbers of a side along dimension i. */
static long long size_of(const struct problem *p, int i, bool is_out)
{
    bool is_half = i == p->rank - 1 && p->kind == (is_out ? R2C : C2R);
    return is_half ? p->n[i] / 2 + 1 : p->n[i];
}

static bool is_real(const struct problem *p, bool is_out)
{
    return p->kind == (is_out ? C2R : R2C);
}

/* Where number (x, y, z) of transform b is, as the documentation says it. */
static long long place_of(const struct problem *p, bool is_out, long long b, const long long x[3])
{
    long long at = 0, size = 1, embed[3];

    for (int i = 0; i < p->rank; i++) {
        embed[i] =
            p->is_embedded ? (is_out ? p->onembed[i] : p->inembed[i]) : size_of(p, i, is_out);
        if (!p->is_embedded && p->in_place && i == p->rank - 1 && is_real(p, is_out))
            embed[i] = 2 * (p->n[i] / 2 + 1);
        at = at * embed[i] + x[i];
        size *= embed[i];
    }
    if (p->is_embedded)
        return at * (is_out ? p->ostride : p->istride) + b * (is_out ? p->odist : p->idist);
    return at + b * size;
}

static long long total_of(const struct problem *p)
{
    long long total = 1;
    for (int i = 0; i < p->rank; i++)
        total *= p->n[i];
    return total;
}

static bool next_of(const struct problem *p, long long x[3], const long long sizes[3])
{
    for (int i = p->rank - 1; i >= 0; i--) {
        if (++x[i] < sizes[i])
            return true;
        x[i] = 0;
    }
    return false;
}

/* One dimension of a dense complex array, by sums over all: longer ones than the numbers are. */
static void transform_lines(double *z, const long long *n, int rank, int dim, bool inverse)
{
    long long len = n[dim], inner = 1, outer = 1;
    long double *roots = malloc((size_t)len * 2 * sizeof(*roots));
    double *line = malloc((size_t)len * 2 * sizeof(*line));

    for (int i = dim + 1; i < rank; i++)
        inner *= n[i];
    for (int i = 0; i < dim; i++)
        outer *= n[i];
    for (long long k = 0; k < len; k++) {
        long double angle =
            2 * 3.14159265358979323846264338328L * (long double)k / (long double)len;
        roots[2 * k] = cosl(angle);
        roots[2 * k + 1] = (inverse ? 1 : -1) * sinl(angle);
    }
    for (long long o = 0; o < outer * inner; o++) {
        double *at = z + 2 * (o / inner * len * inner + o % inner);
        for (long long k = 0; k < len; k++) {
            long double re = 0, im = 0;
            for (long long j = 0, r = 0; j < len; j++, r = r + k >= len ? r + k - len : r + k) {
                const double *x = at + 2 * j * inner;
                re += x[0] * roots[2 * r] - x[1] * roots[2 * r + 1];
                im += x[0] * roots[2 * r + 1] + x[1] * roots[2 * r];
            }
            line[2 * k] = (double)re;
            line[2 * k + 1] = (double)im;
        }
        for (long long k = 0; k < len; k++) {
            at[2 * k * inner] = line[2 * k];
            at[2 * k * inner + 1] = line[2 * k + 1];
        }
    }
    free(roots);
    free(line);
}

/* Transform b of what `in` has, as complex numbers; of C2R along the last dimension at the end. */
static double *model(const struct problem *p, const void *in, long long b)
{
    double *z = calloc((size_t)total_of(p), 16);
    long long x[3] = {0}, sizes[3], last = p->rank - 1, n[3] = {1, 1, 1}, full = p->n[last];
    bool inverse = p->kind == C2R || (p->kind == C2C && p->inverse);

    for (int i = 0; i < p->rank; i++)
        n[i] = sizes[i] = size_of(p, i, false);
    do {
        long long at = place_of(p, false, b, x), to = 0;
        for (int i = 0; i < p->rank; i++)
            to = to * n[i] + x[i];
        z[2 * to] = get(p->type, in, is_real(p, false) ? at : 2 * at);
        z[2 * to + 1] = is_real(p, false) ? 0 : get(p->type, in, 2 * at + 1);
    } while (next_of(p, x, sizes));
    for (int dim = 0; dim < last; dim++)
        transform_lines(z, n, p->rank, dim, inverse);
    if (p->kind == C2R) { /* what is not there are conjugates */
        double *whole = calloc((size_t)total_of(p), 16);
        for (long long row = 0; row < total_of(p) / full; row++)
            for (long long k = 0; k < full; k++) {
                long long from = row * n[last] + (k < n[last] ? k : full - k);
                bool is_zero = k == 0 || 2 * k == full;
                whole[2 * (row * full + k)] = z[2 * from];
                whole[2 * (row * full + k) + 1] =
                    is_zero ? 0 : z[2 * from + 1] * (k < n[last] ? 1 : -1);
            }
        free(z);
        z = whole;
        n[last] = full;
    }
    transform_lines(z, n, p->rank, (int)last, inverse);
    return z;
}

/* ---- runs */

static cufftResult make(cufftHandle *plan, struct problem *p)
{
    size_t work = 0;
    cudaDataType in = is_real(p, false) ? REAL[p->type] : COMPLEX[p->type];
    cudaDataType out = is_real(p, true) ? REAL[p->type] : COMPLEX[p->type];
    cufftResult status = cufftCreate(plan);

    return status
               ? status
               : cufftXtMakePlanMany(*plan, p->rank, p->n, p->is_embedded ? p->inembed : NULL,
                                     p->istride, p->idist, in, p->is_embedded ? p->onembed : NULL,
                                     p->ostride, p->odist, out, p->batch, &work, COMPLEX[p->type]);
}

static size_t bytes_of(const struct problem *p, bool is_out)
{
    long long last[3] = {0};

    for (int i = 0; i < p->rank; i++)
        last[i] = size_of(p, i, is_out) - 1;
    return (size_t)(place_of(p, is_out, p->batch - 1, last) + 1) * SCALAR_B[p->type] *
           (is_real(p, is_out) ? 1 : 2);
}

enum { MARGIN_B = 256, FILL = 0x5a };

/* The error, or infinity: something failed, or was written where nothing is to be. */
static double error_of(struct problem *p)
{
    cufftHandle plan;
    double difference = 0, wanted = 0;
    size_t in_B = bytes_of(p, false), out_B = bytes_of(p, true);
    size_t size_B = (in_B > out_B ? in_B : out_B) + MARGIN_B;
    char *in, *out, *copy = malloc(size_B), *seen = calloc(1, size_B);

    if (make(&plan, p))
        return INFINITY;
    cudaMallocManaged((void **)&in, size_B, cudaMemAttachGlobal);
    out = in;
    if (!p->in_place)
        cudaMallocManaged((void **)&out, size_B, cudaMemAttachGlobal);
    memset(out, FILL, size_B);
    memset(in, FILL, size_B);
    long long x[3] = {0}, sizes[3] = {0};
    for (int i = 0; i < p->rank; i++)
        sizes[i] = size_of(p, i, false);
    for (long long b = 0; b < p->batch; b++)
        do {
            long long at = place_of(p, false, b, x);
            for (int part = 0; part < 2 - is_real(p, false); part++)
                put(p->type, in, is_real(p, false) ? at : 2 * at + part, number());
        } while (next_of(p, x, sizes));
    memcpy(copy, in, size_B);
    if (cufftXtExec(plan, in, out, p->inverse ? CUFFT_INVERSE : CUFFT_FORWARD) ||
        cudaDeviceSynchronize())
        return INFINITY;
    for (int i = 0; i < p->rank; i++)
        sizes[i] = size_of(p, i, true);
    for (long long b = 0; b < p->batch; b++) {
        double *z = model(p, copy, b);
        do {
            long long at = place_of(p, true, b, x), from = 0;
            for (int i = 0; i < p->rank; i++)
                from = from * p->n[i] + x[i];
            for (int part = 0; part < 2 - is_real(p, true); part++) {
                long long scalar = is_real(p, true) ? at : 2 * at + part;
                double got = get(p->type, out, scalar), want = z[2 * from + part];
                difference += (got - want) * (got - want);
                wanted += want * want;
                memset(seen + (size_t)scalar * SCALAR_B[p->type], 1, SCALAR_B[p->type]);
            }
        } while (next_of(p, x, sizes));
        free(z);
    }
    bool is_clean = true;
    for (size_t i = 0; i < size_B; i++) /* padding in place belongs to the transform */
        is_clean &= seen[i] || out[i] == FILL || (p->in_place && i < size_B - MARGIN_B);
    if (!p->in_place)
        is_clean &= !memcmp(in, copy, size_B);
    cudaFree(in);
    if (!p->in_place)
        cudaFree(out);
    free(copy);
    free(seen);
    cufftDestroy(plan);
    return is_clean ? sqrt(difference / (wanted + 1e-300)) : INFINITY;
}

static void check(struct problem *p, double *worst)
{
    double error = error_of(p);

    if (!(error <= BOUND[p->type]))
        diag("kind %d type %d rank %d n %lld %lld %lld batch %lld in place %d inverse %d embed %d: "
             "%g",
             p->kind, p->type, p->rank, p->n[0], p->n[1], p->n[2], p->batch, p->in_place,
             p->inverse, p->is_embedded, error);
    if (!(error <= *worst))
        *worst = error;
}

/* Every kind of a size, in place and not. */
static void check_all(int rank, const long long *n, long long batch, enum type type, double *worst)
{
    for (int way = 0; way < 8; way++) {
        struct problem p = {.kind = way / 2 == 3 ? C2C : (enum kind)(way / 2),
                            .type = type,
                            .rank = rank,
                            .batch = batch,
                            .in_place = way % 2,
                            .inverse = way / 2 == 3};
        memcpy(p.n, n, (size_t)rank * sizeof(*n));
        check(&p, worst);
    }
}

static void test_sizes(enum type type, const char *name)
{
    static const long long more[] = {128, 132,  169,  179,  221,  243,  256, 262, 289,
                                     343, 360,  374,  499,  509,  512,  551, 625, 720,
                                     961, 1000, 1009, 1024, 1331, 2048, 2310};
    double worst = 0;

    for (long long n = 1; n <= 100; n++)
        check_all(1, &n, n % 7 == 0 ? 33 : 3, type, &worst);
    for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++)
        check_all(1, &more[i], i % 8 == 0 ? 2 : 1, type, &worst);
    ok(worst <= BOUND[type], "%s, one dimension: an error of %.1e", name, worst);
}

static void test_ranks(enum type type, const char *name)
{
    static const long long sizes[][3] = {{4, 6, 1},   {5, 7, 1},   {1, 8, 1},   {8, 1, 1},
                                         {37, 3, 1},  {16, 40, 1}, {64, 33, 1}, {101, 20, 1},
                                         {2, 3, 4},   {3, 5, 7},   {8, 8, 8},   {1, 1, 1},
                                         {17, 2, 32}, {20, 9, 38}, {6, 41, 5}};
    double worst = 0;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        for (long long batch = 1; batch <= 3; batch += 2)
            check_all(i < 8 ? 2 : 3, sizes[i], batch, type, &worst);
    ok(worst <= BOUND[type], "%s, two and three dimensions: an error of %.1e", name, worst);
}

/* Strides, distances and embed at random: side by side, apart, one transform within another. */
static void test_layouts(enum type type, const char *name)
{
    double worst = 0;

    for (int i = 0; i < 300; i++) {
        struct problem p = {.kind = (enum kind)below(3),
                            .type = type,
                            .rank = 1 + (int)below(3),
                            .batch = 1 + below(20),
                            .inverse = below(2),
                            .is_embedded = true};
        long long in_size = 1, out_size = 1;
        for (int d = 0; d < p.rank; d++) {
            p.n[d] = 1 + below(p.rank == 1 ? 300 : p.rank == 2 ? 40 : 12);
            p.inembed[d] = size_of(&p, d, false) + below(3);
            p.onembed[d] = size_of(&p, d, true) + below(3);
        }
        for (int d = 0; d < p.rank; d++) { /* size_of() knows the last dimension now */
            p.inembed[d] += size_of(&p, d, false);
            p.onembed[d] += size_of(&p, d, true);
            in_size *= p.inembed[d];
            out_size *= p.onembed[d];
        }
        if (below(2)) { /* transforms are columns */
            p.istride = p.batch + below(2);
            p.idist = 1;
        } else {
            p.istride = 1 + below(3);
            p.idist = in_size * p.istride + below(3);
        }
        if (below(2)) {
            p.ostride = p.batch;
            p.odist = 1;
        } else {
            p.ostride = 1 + below(3);
            p.odist = out_size * p.ostride + below(3);
        }
        if (p.kind == C2C && below(2)) {
            p.in_place = true;
            memcpy(p.onembed, p.inembed, sizeof(p.onembed));
            p.ostride = p.istride;
            p.odist = p.idist;
        }
        check(&p, &worst);
    }
    ok(worst <= BOUND[type], "%s, layouts: an error of %.1e", name, worst);
}

/* ---- large ones: some numbers against sums, and there and back */

static void test_large(long long n, bool doubles)
{
    cufftHandle plan;
    enum type type = doubles ? F64 : F32;
    void *x, *y, *copy;
    size_t size_B = (size_t)n * 2 * SCALAR_B[type];
    double worst = 0, back = 0, size = 0;

    cudaMallocManaged(&x, size_B, cudaMemAttachGlobal);
    cudaMallocManaged(&y, size_B, cudaMemAttachGlobal);
    copy = malloc(size_B);
    for (long long i = 0; i < 2 * n; i++)
        put(type, x, i, number());
    memcpy(copy, x, size_B);
    if (cufftPlan1d(&plan, (int)n, doubles ? CUFFT_Z2Z : CUFFT_C2C, 1) ||
        cufftXtExec(plan, x, y, CUFFT_FORWARD) || cudaDeviceSynchronize())
        worst = INFINITY;
    for (int i = 0; i < 6; i++) {
        long long k = i == 0 ? 1 : i == 1 ? n - 1 : below(n);
        long double re = 0, im = 0;
        for (long long j = 0; j < n; j++) {
            long double turn = (long double)((__int128)j * k % n) / (long double)n;
            long double angle = -2 * 3.14159265358979323846264338328L * turn;
            long double c = cosl(angle), s = sinl(angle);
            re += get(type, x, 2 * j) * c - get(type, x, 2 * j + 1) * s;
            im += get(type, x, 2 * j) * s + get(type, x, 2 * j + 1) * c;
        }
        /* over the length that a number has on the average */
        double far = hypot(get(type, y, 2 * k) - (double)re, get(type, y, 2 * k + 1) - (double)im) /
                     sqrt((double)n);
        worst = fmax(worst, far);
    }
    ok(worst <= 4 * BOUND[type], "%lld numbers: errors of %.1e", n, worst);
    cufftXtExec(plan, y, y, CUFFT_INVERSE);
    cudaDeviceSynchronize();
    for (long long i = 0; i < 2 * n; i++) {
        double far = get(type, y, i) / (double)n - get(type, copy, i);
        back += far * far;
        size += get(type, copy, i) * get(type, copy, i);
    }
    ok(sqrt(back / size) <= 2 * BOUND[type], "there and back in place: %.1e", sqrt(back / size));
    ok(!memcmp(x, copy, size_B), "and what came in is as it was");
    cufftDestroy(plan);

    /* Real numbers: the other half of the transform are conjugates. */
    cufftHandle to, from;
    long long h = n / 2 + 1;
    void *z;
    cudaMallocManaged(&z, (size_t)h * 2 * SCALAR_B[type], cudaMemAttachGlobal);
    cufftPlan1d(&to, (int)n, doubles ? CUFFT_D2Z : CUFFT_R2C, 1);
    cufftPlan1d(&from, (int)n, doubles ? CUFFT_Z2D : CUFFT_C2R, 1);
    cufftPlan1d(&plan, (int)n, doubles ? CUFFT_Z2Z : CUFFT_C2C, 1);
    for (long long i = n - 1; i >= 0; i--) {
        put(type, x, 2 * i, get(type, copy, i));
        put(type, x, 2 * i + 1, 0);
    }
    cufftXtExec(plan, x, x, CUFFT_FORWARD);
    memcpy(y, copy, (size_t)n * SCALAR_B[type]);
    cufftXtExec(to, y, z, 0);
    cudaDeviceSynchronize();
    for (long long i = 0, first = 1; i < 2 * h; i++) {
        double far = get(type, z, i) - get(type, x, i), want = get(type, x, i);
        back = first ? far * far : back + far * far;
        size = first ? want * want : size + want * want;
        first = 0;
    }
    ok(sqrt(back / size) <= 2 * BOUND[type], "of real numbers: %.1e", sqrt(back / size));
    cufftXtExec(from, z, y, 0);
    cudaDeviceSynchronize();
    back = size = 0;
    for (long long i = 0; i < n; i++) {
        double far = get(type, y, i) / (double)n - get(type, copy, i);
        back += far * far;
        size += get(type, copy, i) * get(type, copy, i);
    }
    ok(sqrt(back / size) <= 2 * BOUND[type], "and back: %.1e", sqrt(back / size));
    cufftDestroy(to);
    cufftDestroy(from);
    cufftDestroy(plan);
    cudaFree(x);
    cudaFree(y);
    cudaFree(z);
    free(copy);
}

/* ---- what is not numbers */

static cufftComplex *ramp(int n)
{
    cufftComplex *x;

    cudaMallocManaged((void **)&x, (size_t)n * sizeof(*x), cudaMemAttachGlobal);
    for (int i = 0; i < n; i++)
        x[i] = (cufftComplex){(float)(i % 5), (float)(i % 3)};
    return x;
}

static void test_interface(void)
{
    cufftHandle plan = 0, second = 0;
    int n[3] = {4, 4, 4}, bad[3] = {4, 0, 4}, value;
    size_t work = 99;
    cufftComplex *x = ramp(64), *y = ramp(64);
    long long property;

    ok(!cufftGetVersion(&value) && value == CUFFT_VERSION, "a version");
    ok(!cufftGetProperty(MAJOR_VERSION, &value) && value == CUFFT_VER_MAJOR, "and its parts");
    eq_u64(cufftGetVersion(NULL), CUFFT_INVALID_VALUE, "nowhere to put it");
    eq_u64(cufftPlan1d(NULL, 4, CUFFT_C2C, 1), CUFFT_INVALID_VALUE, "no plan");
    eq_u64(cufftPlan1d(&plan, 0, CUFFT_C2C, 1), CUFFT_INVALID_SIZE, "no numbers");
    eq_u64(cufftPlan1d(&plan, 4, CUFFT_C2C, 0), CUFFT_INVALID_SIZE, "no transforms");
    eq_u64(cufftPlan1d(&plan, 4, (cufftType)1, 1), CUFFT_INVALID_TYPE, "no such type");
    eq_u64(cufftPlanMany(&plan, 4, n, NULL, 1, 1, NULL, 1, 1, CUFFT_C2C, 1), CUFFT_INVALID_VALUE,
           "a rank of 4");
    eq_u64(cufftPlanMany(&plan, 3, bad, NULL, 1, 1, NULL, 1, 1, CUFFT_C2C, 1), CUFFT_INVALID_SIZE,
           "a size of 0");
    eq_u64(cufftPlanMany(&plan, 2, n, n, 0, 16, n, 1, 16, CUFFT_C2C, 1), CUFFT_INVALID_VALUE,
           "a stride of 0");
    eq_u64(cufftPlanMany(&plan, 2, n, NULL, 0, -3, n, 0, -16, CUFFT_C2C, 1), CUFFT_SUCCESS,
           "without embed strides are not looked at");
    eq_u64(cufftExecC2C(plan, x, y, 0), CUFFT_INVALID_VALUE, "no such direction");
    eq_u64(cufftExecC2C(plan, NULL, y, CUFFT_FORWARD), CUFFT_INVALID_VALUE, "no numbers");
    eq_u64(cufftExecR2C(plan, (cufftReal *)x, y), CUFFT_INVALID_VALUE, "another type");
    eq_u64(cufftMakePlan1d(plan, 4, CUFFT_C2C, 1, &work), CUFFT_INVALID_PLAN, "made twice");
    eq_u64(cufftDestroy(plan), CUFFT_SUCCESS, "a plan goes");
    eq_u64(cufftDestroy(plan), CUFFT_INVALID_PLAN, "once");
    eq_u64(cufftExecC2C(plan, x, y, CUFFT_FORWARD), CUFFT_INVALID_PLAN, "and is no more");
    eq_u64(cufftSetStream(-1, NULL), CUFFT_INVALID_PLAN, "no such plan");
    ok(!cufftCreate(&plan) && !cufftCreate(&second) && plan != second && plan > 0, "two plans");
    eq_u64(cufftExecC2C(plan, x, y, CUFFT_FORWARD), CUFFT_INVALID_PLAN, "not made");
    eq_u64(cufftMakePlan1d(plan, 4, CUFFT_C2C, 1, NULL), CUFFT_INVALID_VALUE, "no work size");
    eq_u64(cufftSetPlanPropertyInt64(plan, NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT, 1), CUFFT_SUCCESS,
           "a property");
    ok(!cufftGetPlanPropertyInt64(plan, NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT, &property) &&
           property == 1,
       "is kept");
    eq_u64(cufftGetSizeMany(plan, 3, n, NULL, 1, 1, NULL, 1, 1, CUFFT_C2R, 1, &work), CUFFT_SUCCESS,
           "a size");
    ok(work >= 4 * 4 * 3 * 8, "of what is between passes");
    eq_u64(cufftEstimate2d(4, 4, CUFFT_C2C, &work), CUFFT_SUCCESS, "an estimate");
    eq_u64(work, 0, "of nothing");

    /* A work area of the program's. */
    cufftSetAutoAllocation(plan, 0);
    eq_u64(cufftMakePlan3d(plan, 4, 4, 4, CUFFT_C2R, &work), CUFFT_SUCCESS, "without a work area");
    float *reals = (float *)y;
    eq_u64(cufftExecC2R(plan, x, reals), CUFFT_NO_WORKSPACE, "nothing runs");
    void *area;
    cudaMalloc(&area, work);
    cufftSetWorkArea(plan, area);
    eq_u64(cufftExecC2R(plan, x, reals), CUFFT_SUCCESS, "with one it does");
    cudaDeviceSynchronize();
    eq_u64(cufftXtSetCallback(plan, NULL, CUFFT_CB_LD_COMPLEX, NULL), CUFFT_NOT_SUPPORTED,
           "callbacks are refused");
    int both[2] = {0, 0}, none[1] = {77};
    eq_u64(cufftXtSetGPUs(second, 2, both), CUFFT_NOT_SUPPORTED, "so are two devices");
    eq_u64(cufftXtSetGPUs(second, 1, none), CUFFT_INVALID_DEVICE, "and one that there is not");
    eq_u64(cufftXtSetGPUs(second, 1, both), CUFFT_SUCCESS, "one is fine");
    long long wide[1] = {8};
    eq_u64(cufftXtMakePlanMany(second, 1, wide, NULL, 1, 8, CUDA_C_32F, NULL, 1, 8, CUDA_C_64F, 1,
                               &work, CUDA_C_32F),
           CUFFT_INVALID_TYPE, "types that do not go together");
    cufftDestroy(plan);
    cufftDestroy(second);
    cudaFree(area);
    cudaFree(x);
    cudaFree(y);
}

static void test_descriptors(void)
{
    cufftHandle plan;
    size_t work;
    int device = 0;
    cudaLibXtDesc *array;
    cufftComplex in[8] = {{0, 0}}, out[8] = {{0, 0}};

    in[1].x = 1;
    cufftCreate(&plan);
    cufftXtSetGPUs(plan, 1, &device);
    cufftMakePlan1d(plan, 8, CUFFT_C2C, 1, &work);
    eq_u64(cufftXtMalloc(plan, &array, CUFFT_XT_FORMAT_INPLACE), CUFFT_SUCCESS, "an array");
    eq_u64(array->descriptor->size[0], sizeof(in), "of the numbers' size");
    eq_u64(cufftXtMemcpy(plan, array, in, CUFFT_COPY_HOST_TO_DEVICE), CUFFT_SUCCESS, "filled");
    eq_u64(cufftXtExecDescriptorC2C(plan, array, array, CUFFT_FORWARD), CUFFT_SUCCESS,
           "transformed");
    eq_u64(cufftXtMemcpy(plan, out, array, CUFFT_COPY_DEVICE_TO_HOST), CUFFT_SUCCESS, "and read");
    bool right = true;
    for (int k = 0; k < 8; k++)
        right &= hypot(out[k].x - cos(M_PI * k / 4), out[k].y + sin(M_PI * k / 4)) < 1e-6;
    ok(right, "a root of unity");
    eq_u64(cufftXtFree(array), CUFFT_SUCCESS, "freed");
    cufftDestroy(plan);
}

/* Graphs keep the plans that they were captured with. */
static void test_capture(int n)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cufftHandle plan, other;
    cufftComplex *x = ramp(n), *y = ramp(n), *want = ramp(n);

    cudaStreamCreate(&stream);
    cufftPlan1d(&plan, n, CUFFT_C2C, 1);
    cufftExecC2C(plan, x, want, CUFFT_FORWARD);
    cudaDeviceSynchronize();
    cufftSetStream(plan, stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    eq_u64(cufftExecC2C(plan, x, y, CUFFT_FORWARD), CUFFT_SUCCESS, "%d numbers, captured", n);
    eq_u64(cudaStreamEndCapture(stream, &graph), cudaSuccess, "to the end");
    cufftDestroy(plan);
    cufftPlan1d(&other, n + 1, CUFFT_C2C, 1); /* memory is used again */
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphDestroy(graph);
    memset(y, 0, (size_t)n * sizeof(*y));
    cudaGraphLaunch(exec, stream);
    eq_u64(cudaStreamSynchronize(stream), cudaSuccess, "it runs without the plan");
    eq_mem(y, want, (size_t)n * sizeof(*y), "with the same result");
    cudaGraphExecDestroy(exec);
    cufftDestroy(other);
    cudaStreamDestroy(stream);
    cudaFree(x);
    cudaFree(y);
    cudaFree(want);
}

int main(void)
{
    static const char *const names[] = {"floats", "doubles", "halves", "bfloat16"};

    seed = tap_seed();
    for (int type = F32; type < TYPES; type++) {
        if (type < F16)
            test_sizes((enum type)type, names[type]);
        test_ranks((enum type)type, names[type]);
        test_layouts((enum type)type, names[type]);
    }
    test_large(1 << 17, false);
    test_large(1 << 18, true);
    test_large(3 * 5 * 7 * 11 * 13 * 17, false);
    test_large(100003, false);
    test_large(100003, true);
    test_interface();
    test_descriptors();
    test_capture(60);
    test_capture(1 << 16);
    return done();
}
