/*
 * curand_kernel.h: sequences against what was published of the generators, jumps against steps, moments of the
 * distributions. What is printed is the same with cuRAND's own header.
 * targets: 75 90
 */
#include <curand_kernel.h>
#include <math.h>
#include <stdio.h>
#include <vector>

static int failures;

static void expect(bool right, const char *what)
{
    if (!right) {
        printf("wrong: %s\n", what);
        failures++;
    }
}

/* What a kernel found wrong: bits. */
static __device__ unsigned int wrong;

/* Numbers of every sort from one state. */
template <class State> static __global__ void numbers(unsigned long long seed, unsigned long long seq, unsigned long long offset,
                                                      unsigned int *u, double *d)
{
    State s;
    curand_init(seed, seq, offset, &s);
    for (int i = 0; i < 16; i++)
        u[i] = curand(&s);
    for (int i = 0; i < 3; i++) {
        d[i] = curand_uniform(&s);
        d[3 + i] = curand_uniform_double(&s);
    }
    for (int i = 6; i < 9; i++)
        d[i] = curand_normal(&s);
    for (int i = 9; i < 12; i++)
        d[i] = curand_normal_double(&s);
    for (int i = 12; i < 15; i++)
        d[i] = curand_log_normal(&s, 0.5f, 0.25f);
    for (int i = 15; i < 18; i++)
        d[i] = curand_log_normal_double(&s, 0.5, 0.25);
    float2 n = curand_normal2(&s);
    double2 m = curand_normal2_double(&s);
    d[18] = n.x;
    d[19] = n.y;
    d[20] = m.x;
    d[21] = m.y;
    skipahead(1000003, &s);
    u[16] = curand(&s);
    skipahead_sequence(77, &s);
    u[17] = curand(&s);
}
enum { U = 18, D = 22 };

/* Jumping comes out where stepping does, and two jumps where their sum does. */
template <class State> static __global__ void jumps()
{
    for (unsigned int n = 0; n < 700; n += 1 + n / 3) {
        State a, b;
        curand_init(99, 3, 5, &a);
        curand_init(99, 3, 5 + n, &b);
        for (unsigned int i = 0; i < n; i++)
            (void)curand(&a);
        if (curand(&a) != curand(&b))
            atomicOr(&wrong, 1u);
    }
    State a, b;
    curand_init(5, 0, 0, &a);
    skipahead(123456789012ull, &a);
    skipahead(987654321098ull, &a);
    curand_init(5, 0, 123456789012ull + 987654321098ull, &b);
    if (curand(&a) != curand(&b) || curand(&a) != curand(&b))
        atomicOr(&wrong, 2u);
    curand_init(5, 0, 0, &a);
    skipahead_sequence(1ull << 40, &a);
    skipahead_sequence(12345, &a);
    curand_init(5, 0, 0, &b);
    skipahead_sequence((1ull << 40) + 12345, &b);
    if (curand(&a) != curand(&b) || curand(&a) != curand(&b))
        atomicOr(&wrong, 4u);
}

static __global__ void philox(uint4 *known, uint4 *words, double *d)
{
    known[0] = curand_Philox4x32_10(make_uint4(0, 0, 0, 0), make_uint2(0, 0));
    known[1] = curand_Philox4x32_10(make_uint4(~0u, ~0u, ~0u, ~0u), make_uint2(~0u, ~0u));
    known[2] = curand_Philox4x32_10(make_uint4(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344), make_uint2(0xa4093822, 0x299f31d0));
    curandStatePhilox4_32_10_t s;
    curand_init(7, 3, 2, &s);
    for (int i = 0; i < 6; i++) {
        words[i] = curand4(&s);
        (void)curand(&s);
    }
    float4 n = curand_normal4(&s), u = curand_uniform4(&s), l = curand_log_normal4(&s, 0.5f, 0.25f);
    double2 v = curand_uniform2_double(&s), w = curand_normal2_double(&s);
    const double all[] = {n.x, n.y, n.z, n.w, u.x, u.y, u.z, u.w, l.x, l.y, l.z, l.w, v.x, v.y, w.x, w.y};
    for (int i = 0; i < 16; i++)
        d[i] = all[i];
}

/* L'Ecuyer's own first numbers: all seeds 12345. */
static __global__ void mrg(double *d)
{
    curandStateMRG32k3a_t s;
    curand_init(0, 0, 0, &s);
    for (int i = 0; i < 3; i++)
        d[i] = curand_uniform_double(&s);
    curand_init(0, 0, 0, &s);
    skipahead_sequence(1, &s); /* his next stream */
    d[3] = curand_uniform_double(&s);
}

template <class State, class Word> static __device__ void sobol_of(State *s, Word *out, double *d)
{
    for (int i = 0; i < 6; i++)
        out[i] = curand(s);
    skipahead(1000, s);
    out[6] = curand(s);
    for (int i = 0; i < 3; i++) {
        d[i] = curand_uniform(s);
        d[3 + i] = curand_uniform_double(s);
        d[6 + i] = curand_normal(s);
        d[9 + i] = curand_normal_double(s);
    }
    d[12] = curand_log_normal(s, 0.5f, 0.25f);
    d[13] = curand_log_normal_double(s, 0.5, 0.25);
}
static __global__ void sobol(unsigned int *v32, unsigned long long *v64, unsigned int *o32, unsigned long long *o64, double *d)
{
    curandStateSobol32_t a;
    curandStateScrambledSobol32_t b;
    curandStateSobol64_t e;
    curandStateScrambledSobol64_t f;
    curand_init(v32, 5u, &a);
    curand_init(v32, 0x1234567u, 9u, &b);
    curand_init(v64, 5ull, &e);
    curand_init(v64, 0x123456789abcdull, 9ull, &f);
    sobol_of(&a, o32, d);
    sobol_of(&b, o32 + 7, d + 14);
    sobol_of(&e, o64, d + 28);
    sobol_of(&f, o64 + 7, d + 42);
}

/* Sums of numbers and of their squares. */
template <class State> static __global__ void moments(int kind, double lambda, double *sums)
{
    State s;
    double sum = 0, squares = 0;
    curand_init(2024, blockIdx.x * blockDim.x + threadIdx.x, 0, &s);
    for (int i = 0; i < 64; i++) {
        double x = kind == 0   ? curand_uniform(&s)
                   : kind == 1 ? curand_normal(&s)
                   : kind == 2 ? curand_log_normal_double(&s, 0.0, 0.5)
                               : (double)curand_poisson(&s, lambda);
        sum += x;
        squares += x * x;
    }
    atomicAdd(&sums[0], sum);
    atomicAdd(&sums[1], squares);
}
template <class State> static void check_moments(const char *name)
{
    const struct {
        int kind;
        double lambda, mean, variance;
    } rows[] = {{0, 0, 0.5, 1.0 / 12}, {1, 0, 0, 1}, {2, 0, exp(0.125), (exp(0.25) - 1) * exp(0.25)},
                {3, 0.5, 0.5, 0.5}, {3, 7, 7, 7}, {3, 30, 30, 30}, {3, 500, 500, 500}, {3, 6000, 6000, 6000}};
    const double count = 64 * 64 * 8;
    double *sums_d, sums[2];
    cudaMalloc(&sums_d, sizeof(sums));
    for (const auto &row : rows) {
        cudaMemset(sums_d, 0, sizeof(sums));
        moments<State><<<8, 64>>>(row.kind, row.lambda, sums_d);
        cudaMemcpy(sums, sums_d, sizeof(sums), cudaMemcpyDeviceToHost);
        double mean = sums[0] / count, variance = sums[1] / count - mean * mean;
        bool right = fabs(mean - row.mean) < 6 * sqrt(row.variance / count) && fabs(variance / row.variance - 1) < 0.08;
        if (!right)
            printf("%s, kind %d, lambda %g: mean %g, variance %g\n", name, row.kind, row.lambda, mean, variance);
        expect(right, "moments");
    }
    cudaFree(sums_d);
}

template <class T> static T *managed(int n)
{
    T *p = nullptr;
    expect(cudaMallocManaged(&p, n * sizeof(T)) == cudaSuccess, "memory");
    return p;
}
static void show(const double *d, int n)
{
    for (int i = 0; i < n; i++)
        printf("%.5g%s", d[i], i + 1 < n ? " " : "\n");
}
template <class State> static void check(const char *name)
{
    const unsigned long long starts[][3] = {{0, 0, 0}, {1234, 0, 0}, {1234, 5, 0}, {0x123456789abcdefull, 0, 129},
                                            {42, (1ull << 40) + 12345, (1ull << 35) + 3}, {9, 100000, 77}};
    unsigned int *u = managed<unsigned int>(U);
    double *d = managed<double>(D);
    for (const auto &start : starts) {
        numbers<State><<<1, 1>>>(start[0], start[1], start[2], u, d);
        expect(cudaDeviceSynchronize() == cudaSuccess, name);
        printf("%s %llx %llx %llx:", name, start[0], start[1], start[2]);
        for (int i = 0; i < U; i++)
            printf(" %08x", u[i]);
        printf("\n");
        show(d, D);
    }
    jumps<State><<<1, 1>>>();
    unsigned int found = 0;
    cudaMemcpyFromSymbol(&found, wrong, sizeof(found));
    expect(found == 0, "jumps");
    check_moments<State>(name);
}
static bool same(uint4 a, unsigned int x, unsigned int y, unsigned int z, unsigned int w)
{
    return a.x == x && a.y == y && a.z == z && a.w == w;
}

int main()
{
    check<curandStateXORWOW_t>("xorwow");
    check<curandStatePhilox4_32_10_t>("philox");
    check<curandStateMRG32k3a_t>("mrg32k3a");

    uint4 *known = managed<uint4>(3), *words = managed<uint4>(6);
    double *d = managed<double>(64);
    philox<<<1, 1>>>(known, words, d);
    expect(cudaDeviceSynchronize() == cudaSuccess, "philox");
    expect(same(known[0], 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8), "Random123: zeros");
    expect(same(known[1], 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd), "Random123: ones");
    expect(same(known[2], 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1), "Random123: pi");
    for (int i = 0; i < 6; i++)
        printf("%08x %08x %08x %08x\n", words[i].x, words[i].y, words[i].z, words[i].w);
    show(d, 16);

    mrg<<<1, 1>>>(d);
    expect(cudaDeviceSynchronize() == cudaSuccess, "mrg");
    expect(fabs(d[0] - 0.127011122046577) < 1e-9 && fabs(d[1] - 0.318527565396795) < 1e-9 &&
               fabs(d[2] - 0.309186015655127) < 1e-9, "L'Ecuyer's first numbers");
    expect(fabs(d[3] - 0.759581862248720) < 1e-9, "L'Ecuyer's second stream");
    printf("%.12g %.12g %.12g %.12g\n", d[0], d[1], d[2], d[3]);

    unsigned int *v32 = managed<unsigned int>(32), *o32 = managed<unsigned int>(14);
    unsigned long long *v64 = managed<unsigned long long>(64), *o64 = managed<unsigned long long>(14);
    for (int i = 0; i < 64; i++) {
        v64[i] = 1ull << (63 - i) ^ (i > 2 ? v64[i - 2] >> 2 : 0);
        if (i < 32)
            v32[i] = 1u << (31 - i) ^ (i > 2 ? v32[i - 2] >> 2 : 0);
    }
    sobol<<<1, 1>>>(v32, v64, o32, o64, d);
    expect(cudaDeviceSynchronize() == cudaSuccess, "sobol");
    for (int i = 0; i < 14; i++)
        printf("%08x %016llx\n", o32[i], o64[i]);
    show(d, 56);
    printf(failures ? "%d wrong\n" : "all right\n", failures);
    return failures != 0;
}
