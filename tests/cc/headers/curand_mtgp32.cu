/*
 * curand_kernel.h with the library: MTGP32's states, which the host prepares, beside the host's generator; distributions
 * that the library makes; Sobol's vectors. What is printed is the same with cuRAND's own headers.
 * targets: 75 90
 * libraries: curand
 */
#include <curand.h>
#include <curand_kernel.h>
#include <curand_mtgp32_host.h>
#include <curand_mtgp32dc_p_11213.h>
#include <math.h>
#include <stdio.h>

static int failures;

static void expect(bool right, const char *what)
{
    if (!right) {
        printf("wrong: %s\n", what);
        failures++;
    }
}

enum { BLOCKS = 64, THREADS = 256, ALL = BLOCKS * THREADS };

/* All threads of a block draw together. */
static __global__ void draw(curandStateMtgp32_t *states, unsigned int *words, double *numbers)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    curandStateMtgp32_t *s = &states[blockIdx.x];
    for (int k = 0; k < 5; k++)
        words[k * ALL + i] = curand(s);
    numbers[i] = curand_uniform(s);
    numbers[ALL + i] = curand_uniform_double(s);
    numbers[2 * ALL + i] = curand_normal(s);
    numbers[3 * ALL + i] = curand_normal_double(s);
    numbers[4 * ALL + i] = curand_log_normal(s, 0.5f, 0.25f);
    numbers[5 * ALL + i] = curand_mtgp32_single(s);
}
/* Fewer threads: the next words, as many. */
static __global__ void draw_some(curandStateMtgp32_t *states, unsigned int *words)
{
    words[threadIdx.x] = curand(states);
    words[64 + threadIdx.x] = curand_mtgp32_specific(states, (unsigned char)threadIdx.x, (unsigned char)blockDim.x);
}

template <class State> static __global__ void discrete(curandDiscreteDistribution_t distribution, unsigned int *words)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    State s;
    curand_init(77, i, 0, &s);
    words[i] = curand_discrete(&s, distribution);
}
static __global__ void points(unsigned int *vectors, unsigned int *constant, unsigned int *words)
{
    curandStateSobol32_t s;
    curandStateScrambledSobol32_t t;
    curand_init(vectors, 3u, &s);
    curand_init(vectors, *constant, 3u, &t);
    for (int i = 0; i < 20; i++) {
        words[i] = curand(&s);
        words[20 + i] = curand(&t);
    }
}

template <class T> static T *managed(size_t n)
{
    T *p = nullptr;
    expect(cudaMallocManaged(&p, n * sizeof(T)) == cudaSuccess, "memory");
    return p;
}
template <class State> static void check_discrete(const char *name, curandDiscreteDistribution_t distribution, unsigned int *words)
{
    double sum = 0, squares = 0;
    discrete<State><<<BLOCKS, THREADS>>>(distribution, words);
    expect(cudaDeviceSynchronize() == cudaSuccess, name);
    for (int i = 0; i < ALL; i++) {
        sum += words[i];
        squares += (double)words[i] * words[i];
    }
    double mean = sum / ALL, variance = squares / ALL - mean * mean;
    expect(fabs(mean - 12.5) < 5 * sqrt(12.5 / ALL) && fabs(variance / 12.5 - 1) < 0.06, "moments");
    printf("%s: %u %u %u %u, mean %.6f\n", name, words[0], words[1], words[2], words[3], mean);
}

int main()
{
    mtgp32_kernel_params_t *params = managed<mtgp32_kernel_params_t>(1);
    curandStateMtgp32_t *states = managed<curandStateMtgp32_t>(BLOCKS);
    unsigned int *words = managed<unsigned int>(5 * ALL), *host = managed<unsigned int>(5 * ALL + THREADS);
    double *numbers = managed<double>(6 * ALL);
    expect(curandMakeMTGP32Constants(mtgp32dc_params_fast_11213, params) == CURAND_STATUS_SUCCESS, "constants");
    expect(curandMakeMTGP32KernelState(states, mtgp32dc_params_fast_11213, params, BLOCKS, 1234) == CURAND_STATUS_SUCCESS, "states");
    draw<<<BLOCKS, THREADS>>>(states, words, numbers);
    expect(cudaDeviceSynchronize() == cudaSuccess, "draws");
    printf("%08x %08x %08x\n", words[0], words[1], words[5 * ALL - 1]);
    for (int i = 0; i < 5; i++)
        printf("%.5g %.5g %.5g\n", numbers[i * ALL], numbers[i * ALL + 1], numbers[i * ALL + ALL - 1]);

    double sum = 0;
    for (int i = 0; i < ALL; i++) {
        double single = numbers[5 * ALL + i];
        expect(single >= 1 && single < 2, "a float from 1 to 2");
        sum += single - 1.5;
    }
    expect(fabs(sum) < 5 * sqrt(ALL / 12.0), "around 1.5");

    curandGenerator_t generator;
    expect(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_MTGP32) == CURAND_STATUS_SUCCESS, "generator");
    curandSetGeneratorOrdering(generator, CURAND_ORDERING_PSEUDO_LEGACY);
    curandSetPseudoRandomGeneratorSeed(generator, 1234);
    curandGenerate(generator, host, 5 * ALL);
    cudaDeviceSynchronize();
    int wrong = 0;
    for (int i = 0; i < 5 * ALL; i++)
        wrong += words[i] != host[i];
    expect(wrong == 0, "the host's generator of 64 sets is 64 blocks");
    float *uniform = (float *)host;
    curandGenerateUniform(generator, uniform, ALL);
    cudaDeviceSynchronize();
    wrong = 0;
    for (int i = 0; i < ALL; i++)
        wrong += uniform[i] != (float)numbers[i];
    expect(wrong == 0, "uniform numbers, too");
    curandDestroyGenerator(generator);

    curandMakeMTGP32KernelState(states, mtgp32dc_params_fast_11213, params, 1, 1234);
    draw_some<<<1, 64>>>(states, host);
    expect(cudaDeviceSynchronize() == cudaSuccess, "some draws");
    wrong = 0;
    for (int i = 0; i < 128; i++)
        wrong += host[i] != words[i];
    expect(wrong == 0, "64 threads get 64 words each time");

    curandDiscreteDistribution_t distribution;
    expect(curandCreatePoissonDistribution(12.5, &distribution) == CURAND_STATUS_SUCCESS, "distribution");
    check_discrete<curandStateXORWOW_t>("xorwow", distribution, words);
    check_discrete<curandStatePhilox4_32_10_t>("philox", distribution, words);
    check_discrete<curandStateMRG32k3a_t>("mrg32k3a", distribution, words);
    curandDestroyDistribution(distribution);

    curandDirectionVectors32_t *all;
    unsigned int *constants, *vectors = managed<unsigned int>(33);
    curandGetDirectionVectors32(&all, CURAND_DIRECTION_VECTORS_32_JOEKUO6);
    curandGetScrambleConstants32(&constants);
    for (int i = 0; i < 32; i++)
        vectors[i] = all[6][i];
    vectors[32] = constants[6];
    points<<<1, 1>>>(vectors, vectors + 32, words);
    expect(cudaDeviceSynchronize() == cudaSuccess, "points");
    curandCreateGenerator(&generator, CURAND_RNG_QUASI_SOBOL32);
    curandSetQuasiRandomGeneratorDimensions(generator, 7);
    curandSetGeneratorOffset(generator, 3);
    curandGenerate(generator, host, 7 * 20);
    cudaDeviceSynchronize();
    wrong = 0;
    for (int i = 0; i < 20; i++)
        wrong += host[6 * 20 + i] != words[i] || words[20 + i] != (words[i] ^ vectors[32]);
    expect(wrong == 0, "points of the seventh dimension");
    curandDestroyGenerator(generator);
    printf("%08x %08x\n", words[0], words[19]);
    printf(failures ? "%d wrong\n" : "all right\n", failures);
    return failures != 0;
}
