/*
 * cuRAND's host API: published numbers, sequences by models of their own, orders and offsets,
 * distributions by their moments and the Kolmogorov-Smirnov test, errors, capture.
 */
#include <cuda_runtime_api.h>
#include <curand.h>
#include <heddle/curand_discrete_types.h>
#include <math.h>

#include "support/tap.h"

enum { MANY = 1 << 20 };

static const curandRngType_t pseudo[] = {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A,
                                         CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_RNG_PSEUDO_MT19937,
                                         CURAND_RNG_PSEUDO_MTGP32};
static const curandRngType_t quasi[] = {
    CURAND_RNG_QUASI_SOBOL32, CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, CURAND_RNG_QUASI_SOBOL64,
    CURAND_RNG_QUASI_SCRAMBLED_SOBOL64};
static const char *const names[] = {"XORWOW", "MRG32k3a", "Philox", "MT19937", "MTGP32"};

static void *there;    /* memory of the device, for MANY doubles */
static bool is_interp; /* a device with memory of its own, where no graph has numbers */

static bool is_64(curandRngType_t type)
{
    return type == CURAND_RNG_QUASI_SOBOL64 || type == CURAND_RNG_QUASI_SCRAMBLED_SOBOL64;
}
static bool is_quasi(curandRngType_t type)
{
    return type >= CURAND_RNG_QUASI_DEFAULT;
}

/* ---- what is compared: all sorts of numbers, of a generator */

enum as { BITS, UNIFORM, UNIFORM_F64, NORMAL, NORMAL_F64, LOG_NORMAL, LOG_NORMAL_F64, POISSON, AS };
static const size_t sizes[AS] = {4, 4, 8, 4, 8, 4, 8, 4};

static curandStatus_t generate(curandGenerator_t g, curandRngType_t type, enum as as, void *to,
                               size_t n)
{
    switch (as) {
    case BITS:
        return is_64(type) ? curandGenerateLongLong(g, to, n) : curandGenerate(g, to, n);
    case UNIFORM:
        return curandGenerateUniform(g, to, n);
    case UNIFORM_F64:
        return curandGenerateUniformDouble(g, to, n);
    case NORMAL:
        return curandGenerateNormal(g, to, n, 1, 2);
    case NORMAL_F64:
        return curandGenerateNormalDouble(g, to, n, 1, 2);
    case LOG_NORMAL:
        return curandGenerateLogNormal(g, to, n, 1, 2);
    case LOG_NORMAL_F64:
        return curandGenerateLogNormalDouble(g, to, n, 1, 2);
    default:
        return curandGeneratePoisson(g, to, n, 10);
    }
}
static size_t size_of(curandRngType_t type, enum as as)
{
    return as == BITS && is_64(type) ? 8 : sizes[as];
}

static curandGenerator_t make(curandRngType_t type, bool at_host, uint64_t seed)
{
    curandGenerator_t g = NULL;
    curandStatus_t status =
        at_host ? curandCreateGeneratorHost(&g, type) : curandCreateGenerator(&g, type);

    if (!status && !is_quasi(type))
        status = curandSetPseudoRandomGeneratorSeed(g, seed);
    if (status) {
        ok(false, "a generator of type %d: status %d", type, status);
        exit(done());
    }
    return g;
}

/* n numbers, in memory of the host. */
static void *numbers(curandGenerator_t g, curandRngType_t type, enum as as, size_t n, bool at_host)
{
    size_t size_B = n * size_of(type, as);
    void *here = malloc(size_B ? size_B : 1);

    curandStatus_t status = generate(g, type, as, at_host ? here : there, n);
    if (status)
        ok(false, "type %d, sort %d, %zu numbers: status %d", type, as, n, status);
    if (!at_host)
        cudaMemcpy(here, there, size_B, cudaMemcpyDeviceToHost);
    return here;
}

static void *first_numbers(curandRngType_t type, enum as as, size_t n, uint64_t seed)
{
    curandGenerator_t g = make(type, false, seed);
    void *here = numbers(g, type, as, n, false);

    curandDestroyGenerator(g);
    return here;
}

static void near(const float *got, const double *want, int n, double within, const char *what)
{
    int wrong = 0;

    for (int i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= within * fmax(1, fabs(want[i])))) {
            if (!wrong++)
                diag("number %d is %.7f, not %.7f", i, (double)got[i], want[i]);
        }
    ok(!wrong, "%s", what);
}

/* ---- published numbers */

/*
 * What NVIDIA's samples print on a GPU: CUDALibrarySamples, cuRAND/Host, README.md of each
 * generator; seed 1234, mean 1, deviation 2, lambda 10. (Others there belong to other generators.)
 */
static void check_published(void)
{
    static const struct {
        curandRngType_t type;
        enum as as;
        int n;
        double want[12];
        const char *what;
    } rows[] = {
        {CURAND_RNG_PSEUDO_XORWOW,
         UNIFORM,
         10,
         {0.145468, 0.820181, 0.550399, 0.294830, 0.914733, 0.868979, 0.321921, 0.782857, 0.011302,
          0.285450},
         "XORWOW, uniform"},
        {CURAND_RNG_PSEUDO_XORWOW,
         NORMAL,
         10,
         {2.561947, -2.603156, 0.438303, 2.127093, -1.022666, 1.828078, 3.916651, -0.124272,
          0.702847, 0.209629},
         "XORWOW, normal"},
        {CURAND_RNG_PSEUDO_XORWOW,
         LOG_NORMAL,
         10,
         {12.961033, 0.074040, 1.550074, 8.390439, 0.359635, 6.221916, 50.231937, 0.883139,
          2.019495, 1.233220},
         "XORWOW, log-normal"},
        {CURAND_RNG_PSEUDO_PHILOX4_32_10,
         UNIFORM,
         12,
         {0.127208, 0.853469, 0.265649, 0.796055, 0.816736, 0.324165, 0.781055, 0.058918, 0.543999,
          0.923496, 0.441505, 0.258264},
         "Philox, uniform"},
        {CURAND_RNG_PSEUDO_PHILOX4_32_10,
         NORMAL,
         12,
         {-2.232981, 3.458309, -2.121081, 1.929241, 2.136910, 0.428208, 1.508686, 2.310768,
          -0.020450, 2.956819, 3.553997, 0.867263},
         "Philox, normal"},
        {CURAND_RNG_PSEUDO_PHILOX4_32_10,
         LOG_NORMAL,
         12,
         {0.107208, 31.763233, 0.119902, 6.884281, 8.473219, 1.534505, 4.520784, 10.082161,
          0.979758, 19.236685, 34.952747, 2.380388},
         "Philox, log-normal"},
        {CURAND_RNG_PSEUDO_MRG32K3A,
         UNIFORM,
         10,
         {0.786752, 0.152112, 0.934182, 0.986567, 0.988028, 0.304493, 0.926525, 0.432048, 0.346986,
          0.840585},
         "MRG32k3a, uniform"},
        {CURAND_RNG_PSEUDO_MRG32K3A,
         NORMAL,
         10,
         {0.278693, -0.182563, -2.437073, -0.803224, 1.687799, 1.267587, 1.275932, 1.179040,
          0.875920, 1.284532},
         "MRG32k3a, normal"},
        {CURAND_RNG_PSEUDO_MRG32K3A,
         LOG_NORMAL,
         10,
         {1.321401, 0.833133, 0.087416, 0.447883, 5.407565, 3.552269, 3.582037, 3.251252, 2.401084,
          3.612975},
         "MRG32k3a, log-normal"},
        {CURAND_RNG_PSEUDO_MT19937,
         UNIFORM,
         12,
         {0.191519, 0.068085, 0.149834, 0.657769, 0.593411, 0.759158, 0.658873, 0.109174, 0.434190,
          0.135581, 0.658952, 0.996097},
         "MT19937, uniform, with the second generator's"},
        {CURAND_RNG_PSEUDO_MTGP32,
         NORMAL,
         10,
         {1.415674, 0.817308, 1.588038, 6.369638, -1.367920, -0.242695, 3.866537, 2.142646,
          -0.471517, 0.531867},
         "MTGP32, normal"},
        {CURAND_RNG_PSEUDO_MTGP32,
         LOG_NORMAL,
         10,
         {4.119263, 2.264397, 4.894139, 583.846680, 0.254636, 0.784510, 47.776642, 8.521960,
          0.624055, 1.702106},
         "MTGP32, log-normal"},
        {CURAND_RNG_QUASI_SOBOL32,
         NORMAL,
         12,
         {-11.675915, 1.000000, 2.348979, -0.348979, 0.362721, 3.300699, 1.637279, -1.300699,
          -0.774293, 1.977553, 4.068241, 0.685379},
         "Sobol32, normal"},
        {CURAND_RNG_QUASI_SOBOL64,
         LOG_NORMAL,
         10,
         {0.000008, 2.718282, 10.474874, 0.705408, 1.437235, 27.131592, 5.141160, 0.272341,
          0.461030, 7.225041},
         "Sobol64, log-normal"},
    };
    static const uint32_t poisson[] = {0, 10, 12, 8, 9, 14, 11, 6, 7, 11, 15, 9};
    /* Seed 0: forums.developer.nvidia.com/t/44909. */
    static const uint32_t xorwow[] = {3179217846, 3955638199, 167591721, 4161663997, 3973448494,
                                      1917059131, 2866113984, 472148682, 2019573489, 2204150021};

    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        float *got = first_numbers(rows[i].type, rows[i].as, (size_t)rows[i].n, 1234);
        near(got, rows[i].want, rows[i].n, 4e-6, rows[i].what);
        free(got);
    }
    uint32_t *words = first_numbers(CURAND_RNG_QUASI_SOBOL32, POISSON, HD_COUNT_OF(poisson), 0);
    eq_mem(words, poisson, sizeof(poisson), "Sobol32, Poisson");
    free(words);
    words = first_numbers(CURAND_RNG_PSEUDO_DEFAULT, BITS, HD_COUNT_OF(xorwow), 0);
    eq_mem(words, xorwow, sizeof(xorwow), "the default generator is XORWOW");
    free(words);
    /* mt19937ar.c's init_genrand(5489), as std::mt19937 has it */
    words = first_numbers(CURAND_RNG_PSEUDO_MT19937, BITS, 1, 5489);
    eq_u64(words[0], 3499211612u, "MT19937's first word of the usual seed");
    free(words);
}

/* ---- models */

static uint32_t xorwow_next(uint32_t *v)
{
    uint32_t t = v[0] ^ v[0] >> 2;

    memmove(v, v + 1, 4 * sizeof(*v));
    v[4] = v[4] ^ v[4] << 4 ^ t ^ t << 1;
    v[5] += 362437;
    return v[4] + v[5];
}

static uint32_t mrg_next(uint64_t s[6])
{
    uint64_t m1 = 4294967087, m2 = 4294944443;
    uint64_t p = (1403580 * s[1] + (m1 - 810728) * s[0] % m1) % m1;
    uint64_t q = (527612 * s[5] + (m2 - 1370589) * s[3] % m2) % m2;

    memmove(s, s + 1, 5 * sizeof(*s));
    s[2] = p;
    s[5] = q;
    return (uint32_t)(p > q ? p - q : p + m1 - q);
}

static void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t k0 = key[0], k1 = key[1], c[4];

    memcpy(c, counter, sizeof(c));
    for (int round = 0; round < 10; round++, k0 += 0x9e3779b9, k1 += 0xbb67ae85) {
        uint64_t a = (uint64_t)c[0] * 0xd2511f53, b = (uint64_t)c[2] * 0xcd9e8d57;
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k0, (uint32_t)b,
                            (uint32_t)(a >> 32) ^ c[3] ^ k1, (uint32_t)a};
        memcpy(c, next, sizeof(c));
    }
    memcpy(out, c, sizeof(c));
}

/* Known answers of Random123 (tests/kat_vectors), for the model. */
static void check_philox(void)
{
    static const uint32_t counter[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
    static const uint32_t key[2] = {0xa4093822, 0x299f31d0};
    static const uint32_t want[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    enum { N = 4 * 65536 * 2 };
    uint32_t out[4], wrong = 0, seed[2] = {0x89abcdef, 0x01234567};

    philox(counter, key, out);
    eq_mem(out, want, sizeof(want), "Random123's known answer");
    uint32_t *got = first_numbers(CURAND_RNG_PSEUDO_PHILOX4_32_10, BITS, N, 0x0123456789abcdef);
    for (uint32_t i = 0; i < N; i += 4) {
        uint32_t at[4] = {i / 4 / 65536, 0, i / 4 % 65536, 0};
        philox(at, seed, out);
        wrong += memcmp(out, got + i, sizeof(out)) != 0;
    }
    eq_u64(wrong, 0, "Philox: four words of each of 65,536 subsequences by turns");
    free(got);
}

/* The first stream is the generator's plain sequence. */
static void check_first_streams(void)
{
    enum { STREAMS = 4096, STEPS = 61 };
    uint32_t v[6], wrong = 0, low = (1234u ^ 0xaad26b49) * 1099087573;
    uint32_t high = 0xf7dcefddu * 2591861531u;
    uint32_t start[] = {123456789 + low, 362436069 ^ low, 521288629 + high,
                        88675123 ^ high, 5783321 + low,   6615241 + high + low};

    memcpy(v, start, sizeof(v));
    uint32_t *got = first_numbers(CURAND_RNG_PSEUDO_XORWOW, BITS, STREAMS * STEPS, 1234);
    for (int i = 0; i < STEPS; i++)
        wrong += got[i * STREAMS] != xorwow_next(v);
    eq_u64(wrong, 0, "XORWOW's first stream is Marsaglia's");
    free(got);

    uint64_t s[6] = {12345, 12345, 12345, 12345, 12345, 12345};
    curandGenerator_t g = make(CURAND_RNG_PSEUDO_MRG32K3A, false, 0);
    curandSetGeneratorOrdering(g, CURAND_ORDERING_PSEUDO_LEGACY);
    double *u = numbers(g, CURAND_RNG_PSEUDO_MRG32K3A, UNIFORM_F64, STREAMS * STEPS, false);
    for (int i = 0; i < STEPS; i++)
        wrong += fabs(u[i * STREAMS] - mrg_next(s) / 4294967087.0) > 1e-15;
    eq_u64(wrong, 0, "MRG32k3a's first stream is L'Ecuyer's");
    /* L'Ecuyer et al. print the first of all seeds 12345; his next substream is the next stream */
    ok(fabs(u[0] - 0.127011122046577) < 1e-9, "which begins at 0.12701");
    free(u);
    curandDestroyGenerator(g);
}

/* ---- orders, offsets, calls */

static void check_calls(void)
{
    static const size_t parts[] = {2, 8190, 2, 6, 4096, 12002, 20000, 64};

    for (size_t t = 0; t < HD_COUNT_OF(pseudo); t++)
        for (enum as as = 0; as < AS; as++) {
            curandRngType_t type = pseudo[t];
            /* MT19937 takes long to seed its 8,192 generators: some of them */
            size_t less = type == CURAND_RNG_PSEUDO_MT19937 ? 32 : 1, all = 0;
            for (size_t i = 0; i < HD_COUNT_OF(parts); i++)
                all += (parts[i] / less + 1) & ~1ul;
            char *whole = first_numbers(type, as, all, 99), *at = whole;
            curandGenerator_t g = make(type, false, 99), host = make(type, true, 99);
            bool same = true;
            for (size_t i = 0; i < HD_COUNT_OF(parts); i++) {
                size_t n = (parts[i] / less + 1) & ~1ul;
                void *part = numbers(g, type, as, n, false);
                same &= !memcmp(part, at, n * sizes[as]);
                at += n * sizes[as];
                free(part);
            }
            ok(same, "%s, sort %d: many calls are one", names[t], as);
            void *here = numbers(host, type, as, all, true);
            eq_mem(here, whole, all * sizes[as], "%s, sort %d: the same on the host", names[t], as);
            free(here);
            /* back to the beginning, with kernels on their way */
            generate(g, type, as, there, all);
            curandSetPseudoRandomGeneratorSeed(g, 99);
            here = numbers(g, type, as, all, false);
            eq_mem(here, whole, all * sizes[as], "%s, sort %d: seeded again", names[t], as);
            free(here);
            free(whole);
            curandDestroyGenerator(g);
            curandDestroyGenerator(host);
        }
}

static void check_offsets(void)
{
    static const curandRngType_t types[] = {
        CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A, CURAND_RNG_PSEUDO_PHILOX4_32_10,
        CURAND_RNG_QUASI_SOBOL32, CURAND_RNG_QUASI_SCRAMBLED_SOBOL64};
    static const size_t offsets[] = {1, 5, 4095, 4173, 81925, 300001};
    enum { N = 9000 };

    for (size_t t = 0; t < HD_COUNT_OF(types); t++) {
        curandGenerator_t g = make(types[t], false, 7);
        bool same = true;
        float *whole = numbers(g, types[t], UNIFORM, offsets[5] + N, false);
        for (size_t i = 0; i < HD_COUNT_OF(offsets); i++) {
            same &= !curandSetGeneratorOffset(g, offsets[i]);
            float *part = numbers(g, types[t], UNIFORM, N, false);
            same &= !memcmp(part, whole + offsets[i], N * sizeof(*part));
            free(part);
        }
        ok(same, "type %d: an offset skips as many numbers", types[t]);
        free(whole);
        curandDestroyGenerator(g);
    }
    /* far ahead: twice half as far */
    uint64_t far = 1ull << 45;
    curandGenerator_t a = make(CURAND_RNG_PSEUDO_XORWOW, false, 7);
    curandSetGeneratorOffset(a, far * 4096 + 3);
    uint32_t *got = numbers(a, CURAND_RNG_PSEUDO_XORWOW, BITS, 4096, false);
    curandSetGeneratorOffset(a, far * 4096);
    uint32_t *before = numbers(a, CURAND_RNG_PSEUDO_XORWOW, BITS, 8192, false);
    eq_mem(got, before + 3, 4096 * sizeof(*got), "an offset of 2^57 + 3");
    free(got);
    free(before);
    curandDestroyGenerator(a);
}

static void check_orders(void)
{
    enum { N = 100000 };
    const struct {
        curandRngType_t type;
        size_t legacy; /* so many numbers are as by default */
    } rows[] = {{CURAND_RNG_PSEUDO_XORWOW, N},
                {CURAND_RNG_PSEUDO_MRG32K3A, 4096},
                {CURAND_RNG_PSEUDO_PHILOX4_32_10, N},
                {CURAND_RNG_PSEUDO_MTGP32, 64 * 256}};

    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        curandRngType_t type = rows[i].type;
        curandGenerator_t g = make(type, false, 5);
        uint32_t *by_default = numbers(g, type, BITS, N, false);
        curandSetGeneratorOrdering(g, CURAND_ORDERING_PSEUDO_BEST);
        uint32_t *best = numbers(g, type, BITS, N, false);
        eq_mem(best, by_default, N * 4, "type %d: the best order is the default", type);
        curandSetGeneratorOrdering(g, CURAND_ORDERING_PSEUDO_LEGACY);
        uint32_t *legacy = numbers(g, type, BITS, N, false);
        size_t same = 0;
        while (same < N && legacy[same] == by_default[same])
            same++;
        eq_u64(same, rows[i].legacy, "type %d: the legacy order", type);
        curandSetGeneratorOrdering(g, CURAND_ORDERING_PSEUDO_SEEDED);
        uint32_t *seeded = numbers(g, type, BITS, N, false);
        bool differs = memcmp(seeded + 1, by_default + 1, 4096) != 0;
        ok(differs == (type == CURAND_RNG_PSEUDO_XORWOW || type == CURAND_RNG_PSEUDO_MRG32K3A),
           "type %d: streams with seeds of their own", type);
        free(by_default);
        free(best);
        free(legacy);
        free(seeded);
        curandDestroyGenerator(g);
    }
}

/* ---- distributions */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double distribution(enum as as, double x)
{
    switch (as) {
    case UNIFORM:
    case UNIFORM_F64:
        return fmin(fmax(x, 0), 1);
    case NORMAL:
    case NORMAL_F64:
        return erfc(-(x - 1) / 2 / sqrt(2)) / 2;
    default:
        return x > 0 ? erfc(-(log(x) - 1) / 2 / sqrt(2)) / 2 : 0;
    }
}

/* Kolmogorov and Smirnov: sqrt(n) times the distance is above 1.95 once in a thousand times. */
static void check_distributions(void)
{
    enum { N = 100000 };

    for (size_t t = 0; t < HD_COUNT_OF(pseudo) + HD_COUNT_OF(quasi); t++) {
        curandRngType_t type = t < HD_COUNT_OF(pseudo) ? pseudo[t] : quasi[t - HD_COUNT_OF(pseudo)];
        curandGenerator_t g = make(type, false, 2024);
        for (enum as as = UNIFORM; as < POISSON; as++) {
            void *got = numbers(g, type, as, N, false);
            double *x = malloc(N * sizeof(*x)), distance = 0, joint = 0;
            for (int i = 0; i < N; i++)
                x[i] = sizes[as] == 4 ? ((float *)got)[i] : ((double *)got)[i];
            for (int i = 0; i + 1 < N; i += 2)
                joint += (distribution(as, x[i]) - 0.5) * (distribution(as, x[i + 1]) - 0.5);
            qsort(x, N, sizeof(*x), by_value);
            for (int i = 0; i < N; i++) {
                double f = distribution(as, x[i]);
                distance = fmax(distance, fmax(fabs(f - i / (double)N), fabs(f - (i + 1.0) / N)));
            }
            ok(distance * sqrt(N) < (is_quasi(type) ? 0.1 : 1.95),
               "type %d, sort %d: distance %.5f", type, as, distance);
            /* variance of a product: 1/144 */
            if (!is_quasi(type))
                ok(fabs(joint) < 4.5 * sqrt(N / 2 / 144.0), "neighbours: %.1f", joint);
            free(x);
            free(got);
        }
        curandDestroyGenerator(g);
    }
}

static void check_poisson(void)
{
    static const double lambdas[] = {0.01, 0.7, 5, 10, 63.5, 1000, 400000};
    enum { N = 100000 };

    for (size_t t = 0; t < HD_COUNT_OF(pseudo); t++) {
        curandGenerator_t g = make(pseudo[t], false, 11);
        for (size_t l = 0; l < HD_COUNT_OF(lambdas); l++) {
            double lambda = lambdas[l], sum = 0, squares = 0, third = 0;
            uint32_t *x = malloc(N * sizeof(*x));
            if (curandGeneratePoisson(g, there, N, lambda))
                ok(false, "lambda %g", lambda);
            cudaMemcpy(x, there, N * sizeof(*x), cudaMemcpyDeviceToHost);
            for (int i = 0; i < N; i++)
                sum += x[i];
            double mean = sum / N;
            for (int i = 0; i < N; i++) {
                double d = x[i] - lambda;
                squares += d * d;
                third += d * d * d;
            }
            double variance = squares / N, wide = lambda * (1 + 3 * lambda) - lambda * lambda;
            double sixth = lambda + 25 * lambda * lambda + 15 * lambda * lambda * lambda;
            ok(fabs(mean - lambda) < 4.5 * sqrt(lambda / N) &&
                   fabs(variance - lambda) < 4.5 * sqrt(wide / N) &&
                   fabs(third / N - lambda) < 4.5 * sqrt(sixth / N),
               "%s, lambda %g: moments %g, %g, %g", names[t], lambda, mean, variance, third / N);
            free(x);
        }
        curandDestroyGenerator(g);
    }
}

/* For curand_discrete(): shares of the histogram's columns are the distribution's. */
static void check_discrete(void)
{
    curandDiscreteDistribution_t made = NULL;
    struct curandDiscreteDistribution_st all;
    struct curandDistributionM2Shift_st shift;
    struct curandHistogramM2_st histogram;
    double v[200], shares[200] = {0}, wrong = 0;
    unsigned k[200];

    eq_u64(curandCreatePoissonDistribution(7, &made), CURAND_STATUS_SUCCESS, "a distribution");
    cudaMemcpy(&all, made, sizeof(all), cudaMemcpyDeviceToHost);
    cudaMemcpy(&shift, all.M2, sizeof(shift), cudaMemcpyDeviceToHost);
    cudaMemcpy(&histogram, shift.histogram, sizeof(histogram), cudaMemcpyDeviceToHost);
    ok(all.method == CURAND_M2 && all.mean == 7 && shift.shift == 0 && shift.length < 200,
       "its method, mean and size");
    cudaMemcpy(v, histogram.limits, shift.length * sizeof(*v), cudaMemcpyDeviceToHost);
    cudaMemcpy(k, histogram.others, shift.length * sizeof(*k), cudaMemcpyDeviceToHost);
    for (unsigned i = 0; i < shift.length; i++) {
        double low = i / (double)shift.length, high = (i + 1.0) / shift.length;
        double limit = fmin(v[i], high);
        shares[i] += limit - low;
        shares[k[i]] += high - limit;
    }
    for (unsigned i = 0; i < shift.length; i++)
        wrong = fmax(wrong, fabs(shares[i] - exp(i * log(7) - 7 - lgamma(i + 1.0))));
    ok(wrong < 1e-12, "its shares: within %g", wrong);
    eq_u64(curandDestroyDistribution(made), CURAND_STATUS_SUCCESS, "and its end");
    eq_u64(curandDestroyDistribution(NULL), CURAND_STATUS_NOT_INITIALIZED, "no distribution");
    eq_u64(curandCreatePoissonDistribution(0, &made), CURAND_STATUS_OUT_OF_RANGE, "lambda 0");
    eq_u64(curandCreatePoissonDistribution(5, NULL), CURAND_STATUS_NOT_INITIALIZED, "no place");
}

/* ---- Sobol */

static void check_sobol(void)
{
    /* Points 4 and 6 of ten dimensions, by scipy.stats.qmc.Sobol, which has the same numbers. */
    static const float points[2][10] = {
        {0.375, 0.375, 0.625, 0.875, 0.375, 0.125, 0.375, 0.875, 0.875, 0.625},
        {0.625, 0.125, 0.875, 0.625, 0.625, 0.875, 0.125, 0.125, 0.125, 0.375}};
    enum { N = 256, DIMENSIONS = 1111 };
    float *x = malloc(sizeof(*x) * N * DIMENSIONS);
    curandDirectionVectors32_t *vectors;
    curandDirectionVectors64_t *longs;
    unsigned *constants;
    unsigned long long *long_constants;

    for (size_t t = 0; t < HD_COUNT_OF(quasi); t++) {
        curandGenerator_t g = make(quasi[t], false, 0);
        eq_u64(curandSetQuasiRandomGeneratorDimensions(g, DIMENSIONS), 0, "%d dimensions",
               DIMENSIONS);
        eq_u64(curandGenerateUniform(g, there, N * DIMENSIONS), 0, "points");
        cudaMemcpy(x, there, sizeof(*x) * N * DIMENSIONS, cudaMemcpyDeviceToHost);
        int crowded = 0;
        curandSetGeneratorOffset(g, 0);
        unsigned char *top = numbers(g, quasi[t], BITS, N * DIMENSIONS, false);
        size_t word_B = size_of(quasi[t], BITS);
        for (int d = 0; d < DIMENSIONS; d++) {
            bool taken[N] = {false};
            for (int i = 0; i < N; i++) {
                bool *at = &taken[top[(size_t)(d * N + i + 1) * word_B - 1]];
                crowded += *at;
                *at = true;
            }
        }
        free(top);
        eq_u64(crowded, 0, "type %d: one of 256 points in each 256th of each dimension", quasi[t]);
        if (t % 2 == 0) {
            int wrong = 0;
            for (int d = 0; d < 10; d++)
                wrong += fabsf(x[d * N + 4] - points[0][d]) > 1e-7f ||
                         fabsf(x[d * N + 6] - points[1][d]) > 1e-7f;
            eq_u64(wrong, 0, "type %d: Joe's and Kuo's points", quasi[t]);
        }
        curandDestroyGenerator(g);
    }
    free(x);
    eq_u64(curandGetDirectionVectors32(&vectors, CURAND_DIRECTION_VECTORS_32_JOEKUO6), 0,
           "vectors");
    eq_u64(curandGetDirectionVectors64(&longs, CURAND_DIRECTION_VECTORS_64_JOEKUO6), 0,
           "vectors of 64 bits");
    int wrong = 0;
    for (int d = 0; d < DIMENSIONS; d++)
        for (int k = 0; k < 32; k++) /* the first bit is k's, and there are none below it */
            wrong += vectors[d][k] != longs[d][k] >> 32 || __builtin_ctz(vectors[d][k]) != 31 - k;
    eq_u64(wrong, 0, "which agree");
    eq_u64(curandGetDirectionVectors32(&vectors, CURAND_DIRECTION_VECTORS_64_JOEKUO6),
           CURAND_STATUS_OUT_OF_RANGE, "another set");
    eq_u64(curandGetScrambleConstants32(&constants), 0, "constants");
    eq_u64(curandGetScrambleConstants64(&long_constants), 0, "constants of 64 bits");
    float *first = first_numbers(CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, UNIFORM, 1, 0);
    ok(fabs(first[0] - constants[0] * 0x1p-32) < 1e-7, "a scrambled sequence begins at its own");
    free(first);
}

/* ---- errors */

static void check_errors(void)
{
    curandGenerator_t g = NULL, x, s;
    float *p = there;
    int value = 0;

    eq_u64(curandCreateGenerator(NULL, CURAND_RNG_PSEUDO_XORWOW), CURAND_STATUS_NOT_INITIALIZED,
           "no place for a generator");
    eq_u64(curandCreateGenerator(&g, (curandRngType_t)7), CURAND_STATUS_TYPE_ERROR, "no such type");
    eq_u64(curandDestroyGenerator(NULL), CURAND_STATUS_NOT_INITIALIZED, "no generator");
    eq_u64(curandGenerateUniform(NULL, p, 2), CURAND_STATUS_NOT_INITIALIZED, "none generates");
    eq_u64(curandGenerateNormal(NULL, p, 2, 0, 1), CURAND_STATUS_NOT_INITIALIZED, "nor normal");
    eq_u64(curandGeneratePoisson(NULL, there, 2, 1), CURAND_STATUS_NOT_INITIALIZED, "nor Poisson");
    eq_u64(curandSetStream(NULL, NULL), CURAND_STATUS_NOT_INITIALIZED, "nor has a stream");
    x = make(CURAND_RNG_PSEUDO_XORWOW, false, 0);
    s = make(CURAND_RNG_QUASI_SOBOL64, false, 0);
    eq_u64(curandGenerateNormal(x, p, 3, 0, 1), CURAND_STATUS_LENGTH_NOT_MULTIPLE, "odd normals");
    eq_u64(curandGenerateLogNormalDouble(x, there, 3, 0, 1), CURAND_STATUS_LENGTH_NOT_MULTIPLE,
           "odd log-normals");
    eq_u64(curandGenerateUniform(x, p, 3), CURAND_STATUS_SUCCESS, "odd uniform numbers are fine");
    eq_u64(curandGenerateUniform(x, NULL, 0), CURAND_STATUS_SUCCESS, "so is none");
    eq_u64(curandGenerateUniform(x, NULL, 1), CURAND_STATUS_OUT_OF_RANGE, "nowhere");
    eq_u64(curandGenerateLongLong(x, there, 1), CURAND_STATUS_TYPE_ERROR, "64 bits of XORWOW");
    eq_u64(curandGenerate(s, there, 1), CURAND_STATUS_TYPE_ERROR, "32 bits of Sobol64");
    eq_u64(curandSetPseudoRandomGeneratorSeed(s, 1), CURAND_STATUS_TYPE_ERROR, "Sobol's seed");
    eq_u64(curandSetQuasiRandomGeneratorDimensions(x, 2), CURAND_STATUS_TYPE_ERROR,
           "XORWOW's dimensions");
    eq_u64(curandSetQuasiRandomGeneratorDimensions(s, 0), CURAND_STATUS_OUT_OF_RANGE, "none");
    eq_u64(curandSetQuasiRandomGeneratorDimensions(s, 20001), CURAND_STATUS_OUT_OF_RANGE,
           "too many");
    eq_u64(curandSetQuasiRandomGeneratorDimensions(s, 3), CURAND_STATUS_SUCCESS, "three");
    eq_u64(curandGenerateNormal(s, p, 4, 0, 1), CURAND_STATUS_LENGTH_NOT_MULTIPLE,
           "four numbers of three dimensions");
    eq_u64(curandGenerateNormal(s, p, 3, 0, 1), CURAND_STATUS_SUCCESS, "three are fine");
    eq_u64(curandSetGeneratorOrdering(s, CURAND_ORDERING_PSEUDO_BEST), CURAND_STATUS_OUT_OF_RANGE,
           "an order of others");
    eq_u64(curandSetGeneratorOrdering(x, CURAND_ORDERING_QUASI_DEFAULT), CURAND_STATUS_OUT_OF_RANGE,
           "and another");
    eq_u64(curandGeneratePoisson(x, there, 4, 0), CURAND_STATUS_OUT_OF_RANGE, "lambda 0");
    eq_u64(curandGeneratePoisson(x, there, 4, 400001), CURAND_STATUS_OUT_OF_RANGE, "too large");
    eq_u64(curandGeneratePoisson(x, there, 4, NAN), CURAND_STATUS_OUT_OF_RANGE, "no number");
    eq_u64(curandGeneratePoissonMethod(x, there, 4, 5, CURAND_M2), CURAND_STATUS_SUCCESS,
           "a method");
    eq_u64(curandGenerateSeeds(x), CURAND_STATUS_SUCCESS, "seeds");
    curandDestroyGenerator(x);
    curandDestroyGenerator(s);
    x = make(CURAND_RNG_PSEUDO_MT19937, false, 0);
    eq_u64(curandSetGeneratorOffset(x, 5), CURAND_STATUS_TYPE_ERROR, "MT19937 does not skip");
    eq_u64(curandSetGeneratorOffset(x, 0), CURAND_STATUS_SUCCESS, "but begins");
    curandDestroyGenerator(x);
    ok(!curandGetVersion(&value) && value == CURAND_VERSION, "the version");
    ok(!curandGetProperty(MAJOR_VERSION, &value) && value == 10, "the major version");
    eq_u64(curandGetProperty((libraryPropertyType)9, &value), CURAND_STATUS_OUT_OF_RANGE,
           "no property");
}

/* ---- capture */

/* Each launch of a graph goes on in the sequence; calls beside it, too. */
static void check_capture(void)
{
    enum { N = 1000 };
    const size_t size_B = N * sizeof(float);

    for (size_t t = 0; t < HD_COUNT_OF(pseudo); t++) {
        float *whole = first_numbers(pseudo[t], NORMAL, 4 * N, 3), *here = malloc(size_B);
        curandGenerator_t g = make(pseudo[t], false, 3);
        cudaStream_t stream;
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        cudaStreamCreate(&stream);
        curandSetStream(g, stream);
        bool right = true;
        curandGenerateNormal(g, there, N, 1, 2);
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
        right &= !curandGenerateNormal(g, there, N, 1, 2);
        right &= !cudaStreamEndCapture(stream, &graph);
        right &= !cudaGraphInstantiate(&exec, graph, 0);
        for (int i = 1; i < 4; i++) {
            if (i == 2)
                curandGenerateNormal(g, there, N, 1, 2);
            else
                cudaGraphLaunch(exec, stream);
            cudaMemcpyAsync(here, there, size_B, cudaMemcpyDeviceToHost, stream);
            cudaStreamSynchronize(stream);
            right &= !memcmp(here, whole + i * N, size_B);
        }
        /* a new seed leaves the graph its own state */
        curandSetPseudoRandomGeneratorSeed(g, 3);
        curandGenerateNormal(g, there, N, 1, 2);
        cudaMemcpyAsync(here, there, size_B, cudaMemcpyDeviceToHost, stream);
        cudaStreamSynchronize(stream);
        right &= !memcmp(here, whole, size_B);
        ok(right, "%s: a graph goes on", names[t]);
        cudaGraphExecDestroy(exec);
        cudaGraphDestroy(graph);
        curandDestroyGenerator(g);
        cudaStreamDestroy(stream);
        free(whole);
        free(here);
    }
}

int main(void)
{
    const char *device = getenv("HEDDLE_DEVICE");

    is_interp = device && !strcmp(device, "interp");
    cudaMalloc(&there, MANY * sizeof(double));
    check_published();
    check_philox();
    check_first_streams();
    check_errors();
    check_discrete();
    if (is_interp) /* numbers are the same, and copied */
        return done();
    check_calls();
    check_offsets();
    check_orders();
    check_distributions();
    check_poisson();
    check_sobol();
    check_capture();
    cudaFree(there);
    return done();
}
