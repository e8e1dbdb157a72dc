/* Calls that generate numbers. */
#include <cuda.h>
#include <math.h>
#include <string.h>

#include "api/curand/rand.h"
#include "base/mem.h"

static curandStatus_t status_of(int result)
{
    switch (result) {
    case CUDA_SUCCESS:
        return CURAND_STATUS_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY:
        return CURAND_STATUS_ALLOCATION_FAILED;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_NO_DEVICE:
        return CURAND_STATUS_INITIALIZATION_FAILED;
    default:
        return CURAND_STATUS_LAUNCH_FAILURE;
    }
}

static void run_here(curandGenerator_t g, const struct klib_rand *call)
{
    struct heddle_native_call native = {.size_B = sizeof(native),
                                        .last = call->tiles,
                                        .params_B = sizeof(*call),
                                        .params = call,
                                        .is_inline = 1};

    g->klib->launched(g->state, 1);
    (void)g->klib->generate(&native);
}

/* A device that cannot call functions of this process gets the numbers as a copy. */
static int run_and_copy(curandGenerator_t g, struct klib_rand *call, size_t size_B)
{
    CUdeviceptr to = (CUdeviceptr)call->to;
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    int result = cuStreamIsCapturing(g->base.stream, &capture);

    if (result || capture != CU_STREAM_CAPTURE_STATUS_NONE)
        return result ? result : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    call->to = hd_alloc(size_B);
    if (!call->to)
        return CUDA_ERROR_OUT_OF_MEMORY;
    run_here(g, call);
    result = cuMemcpyHtoDAsync(to, call->to, size_B, g->base.stream);
    int waited = lib_wait(&g->base);
    hd_free(call->to);
    return result ? result : waited;
}

static int run(curandGenerator_t g, struct klib_rand *call, size_t size_B)
{
    static struct lib_kernel kernels[KLIB_RAND_SOBOL64 + 1];
    static const char *const names[] = {
        [KLIB_RAND_XORWOW] = "curand_xorwow",   [KLIB_RAND_MRG32K3A] = "curand_mrg32k3a",
        [KLIB_RAND_PHILOX] = "curand_philox",   [KLIB_RAND_MT19937] = "curand_mt19937",
        [KLIB_RAND_MTGP32] = "curand_mtgp32",   [KLIB_RAND_SOBOL32] = "curand_sobol32",
        [KLIB_RAND_SOBOL64] = "curand_sobol64",
    };
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    uint32_t type = g->klib->type(g->state);
    uint64_t work_ns = g->klib->plan(call);

    if (g->is_host) {
        run_here(g, call);
        return CUDA_SUCCESS;
    }
    int result = lib_context();
    if (!result)
        result = cuStreamIsCapturing(g->base.stream, &capture);
    if (result)
        return result;
    bool is_captured = capture != CU_STREAM_CAPTURE_STATUS_NONE;
    g->is_captured |= is_captured;
    if (!is_captured) /* a graph may run any number of times */
        g->klib->launched(g->state, 1);
    /* It may be refused, which is no failure: then the numbers are copied. */
    int was_quiet = heddle_native_quiet(1);
    result = lib_launch(&g->base, &kernels[type], names[type], g->klib->generate, call,
                        sizeof(*call), call->tiles, work_ns);
    (void)heddle_native_quiet(was_quiet);
    if (result && !is_captured)
        g->klib->launched(g->state, -1);
    return result == CUDA_ERROR_NOT_SUPPORTED ? run_and_copy(g, call, size_B) : result;
}

/* What all calls check; has n numbers of size_B made. */
static curandStatus_t generate(curandGenerator_t g, void *to, size_t n, size_t size_B,
                               enum klib_rand_as as, double mean, double deviation,
                               const struct klib_discrete *discrete)
{
    struct klib_rand call = {.to = to, .n = n, .as = as, .mean = mean, .deviation = deviation};
    bool is_quasi = rand_is_quasi(g->type);
    bool in_pairs = as >= KLIB_RAND_NORMAL && as <= KLIB_RAND_LOG_NORMAL_F64;

    call.dimensions = g->dimensions;
    if (is_quasi ? n % g->dimensions : in_pairs && n % 2) {
        lib_error(&rand_info, "%zu numbers: not a multiple of %u", n, is_quasi ? g->dimensions : 2);
        return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
    }
    if (!n)
        return CURAND_STATUS_SUCCESS;
    if (!to)
        return CURAND_STATUS_OUT_OF_RANGE;
    if (is_quasi) {
        int bits = rand_is_64(g->type) ? 64 : 32;
        bool is_scrambled = g->type == CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 ||
                            g->type == CURAND_RNG_QUASI_SCRAMBLED_SOBOL64;
        call.vectors = rand_vectors(bits, is_scrambled);
        if (is_scrambled)
            call.constants = rand_constants(bits);
        if (!call.vectors || (is_scrambled && !call.constants))
            return CURAND_STATUS_ALLOCATION_FAILED;
    }
    if (discrete)
        call.discrete = *discrete;
    curandStatus_t status = rand_ready(g);
    if (status)
        return status;
    call.state = g->state;
    return status_of(run(g, &call, n * size_B));
}

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned int *outputPtr, size_t num)
{
    if (!generator)
        return CURAND_STATUS_NOT_INITIALIZED;
    if (rand_is_64(generator->type))
        return CURAND_STATUS_TYPE_ERROR;
    return generate(generator, outputPtr, num, sizeof(*outputPtr), KLIB_RAND_BITS, 0, 0, NULL);
}

curandStatus_t curandGenerateLongLong(curandGenerator_t generator, unsigned long long *outputPtr,
                                      size_t num)
{
    if (!generator)
        return CURAND_STATUS_NOT_INITIALIZED;
    if (!rand_is_64(generator->type))
        return CURAND_STATUS_TYPE_ERROR;
    return generate(generator, outputPtr, num, sizeof(*outputPtr), KLIB_RAND_BITS, 0, 0, NULL);
}

#define UNIFORM(name, type, as)                                                                    \
    curandStatus_t name(curandGenerator_t generator, type *outputPtr, size_t num)                  \
    {                                                                                              \
        if (!generator)                                                                            \
            return CURAND_STATUS_NOT_INITIALIZED;                                                  \
        return generate(generator, outputPtr, num, sizeof(type), as, 0, 0, NULL);                  \
    }
UNIFORM(curandGenerateUniform, float, KLIB_RAND_UNIFORM)
UNIFORM(curandGenerateUniformDouble, double, KLIB_RAND_UNIFORM_F64)
#undef UNIFORM

#define NORMAL(name, type, as)                                                                     \
    curandStatus_t name(curandGenerator_t generator, type *outputPtr, size_t n, type mean,         \
                        type stddev)                                                               \
    {                                                                                              \
        if (!generator)                                                                            \
            return CURAND_STATUS_NOT_INITIALIZED;                                                  \
        return generate(generator, outputPtr, n, sizeof(type), as, mean, stddev, NULL);            \
    }
NORMAL(curandGenerateNormal, float, KLIB_RAND_NORMAL)
NORMAL(curandGenerateNormalDouble, double, KLIB_RAND_NORMAL_F64)
NORMAL(curandGenerateLogNormal, float, KLIB_RAND_LOG_NORMAL)
NORMAL(curandGenerateLogNormalDouble, double, KLIB_RAND_LOG_NORMAL_F64)
#undef NORMAL

/* ---- Poisson */

#define LAMBDA_MAX 400000.0

/* For the generator's life, as kernels may use it at any time. */
static const struct klib_discrete *table_of(curandGenerator_t g, double lambda)
{
    struct rand_table *table = g->tables;

    while (table && table->lambda != lambda)
        table = table->next;
    if (table)
        return &table->discrete;
    table = hd_new(struct rand_table);
    if (table && rand_discrete_create(lambda, &table->discrete)) {
        table->lambda = lambda;
        table->next = g->tables;
        g->tables = table;
        return &table->discrete;
    }
    hd_free(table);
    return NULL;
}

curandStatus_t curandGeneratePoissonMethod(curandGenerator_t generator, unsigned int *outputPtr,
                                           size_t n, double lambda, curandMethod_t method)
{
    if (!generator)
        return CURAND_STATUS_NOT_INITIALIZED;
    if (!(lambda > 0 && lambda <= LAMBDA_MAX) || (unsigned)method > CURAND_POISSON)
        return CURAND_STATUS_OUT_OF_RANGE;
    const struct klib_discrete *table = table_of(generator, lambda);
    if (!table)
        return CURAND_STATUS_ALLOCATION_FAILED;
    return generate(generator, outputPtr, n, sizeof(*outputPtr), KLIB_RAND_POISSON, 0, 0, table);
}

curandStatus_t curandGeneratePoisson(curandGenerator_t generator, unsigned int *outputPtr, size_t n,
                                     double lambda)
{
    return curandGeneratePoissonMethod(generator, outputPtr, n, lambda, CURAND_CHOOSE_BEST);
}

/*
 * Column i of the histogram is as high as all, 1 / count: with number i below, and another above
 * it. A column that is too low is filled up from one that is too high.
 */
static void level(const double *share, uint32_t count, double *limit, uint32_t *other,
                  uint32_t *stack, double *left)
{
    uint32_t low = 0, high = count; /* two stacks that grow towards each other */

    for (uint32_t i = 0; i < count; i++) {
        left[i] = share[i] * count;
        stack[left[i] < 1 ? low++ : --high] = i;
    }
    while (low && high < count) {
        uint32_t i = stack[--low], j = stack[high];
        limit[i] = (i + left[i]) / count;
        other[i] = j;
        left[j] -= 1 - left[i];
        if (left[j] < 1) {
            high++;
            stack[low++] = j;
        }
    }
    /* What is left is full, but for rounding. */
    for (uint32_t i = 0; i < count; i++)
        if (i < low || i >= high) {
            uint32_t full = stack[i];
            limit[full] = 2;
            other[full] = full;
        }
}

bool rand_discrete_create(double lambda, struct klib_discrete *out)
{
    double reach = 9 * sqrt(lambda) + 12, first = floor(fmax(lambda - reach, 0));
    uint32_t count = (uint32_t)(ceil(lambda + reach) - first) + 1;
    /* limits, sums, and for a while shares and heights; others, and for a while the stacks */
    double *doubles = hd_alloc_array(count, 2 * sizeof(double) + sizeof(uint32_t));
    double *work = hd_alloc_array(count, 2 * sizeof(double) + sizeof(uint32_t));
    double sum = 0;

    if (!doubles || !work) {
        hd_free(doubles);
        hd_free(work);
        return false;
    }
    double *limit = doubles, *sums = doubles + count;
    uint32_t *other = (uint32_t *)(sums + count);
    for (uint32_t i = 0; i < count; i++) {
        double k = first + i;
        work[i] = exp(k * log(lambda) - lambda - lgamma(k + 1));
        sum += work[i];
    }
    double up_to = 0;
    for (uint32_t i = 0; i < count; i++) {
        work[i] /= sum;
        up_to += work[i];
        sums[i] = up_to;
    }
    level(work, count, limit, other, (uint32_t *)(work + 2 * (size_t)count), work + count);
    hd_free(work);
    *out = (struct klib_discrete){
        .shift = (uint32_t)first, .count = count, .limit = limit, .other = other, .sums = sums};
    return true;
}
