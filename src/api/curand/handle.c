/* Generators: settings, and the states that are made of them. */
#include <cuda.h>

#include "api/curand/rand.h"
#include "base/mem.h"
#include "klib/klib.h"

static const struct lib_status statuses[] = {
#define ROW(name) {name, #name},
    ROW(CURAND_STATUS_SUCCESS) ROW(CURAND_STATUS_NOT_INITIALIZED)
        ROW(CURAND_STATUS_ALLOCATION_FAILED) ROW(CURAND_STATUS_TYPE_ERROR)
            ROW(CURAND_STATUS_OUT_OF_RANGE) ROW(CURAND_STATUS_LENGTH_NOT_MULTIPLE)
                ROW(CURAND_STATUS_LAUNCH_FAILURE) ROW(CURAND_STATUS_INITIALIZATION_FAILED)
#undef ROW
};

const struct lib_info rand_info = {
    .name = "cuRAND",
    .version = {CURAND_VER_MAJOR, CURAND_VER_MINOR, CURAND_VER_PATCH},
    .cudart = 13000,
    .statuses = statuses,
    .nstatuses = HD_COUNT_OF(statuses),
    .unknown = "unknown"};

/* 0: there is no such type. */
static curandRngType_t type_of(curandRngType_t asked)
{
    switch (asked) {
    case CURAND_RNG_PSEUDO_DEFAULT:
        return CURAND_RNG_PSEUDO_XORWOW;
    case CURAND_RNG_QUASI_DEFAULT:
        return CURAND_RNG_QUASI_SOBOL32;
    case CURAND_RNG_PSEUDO_XORWOW:
    case CURAND_RNG_PSEUDO_MRG32K3A:
    case CURAND_RNG_PSEUDO_MTGP32:
    case CURAND_RNG_PSEUDO_MT19937:
    case CURAND_RNG_PSEUDO_PHILOX4_32_10:
    case CURAND_RNG_QUASI_SOBOL32:
    case CURAND_RNG_QUASI_SCRAMBLED_SOBOL32:
    case CURAND_RNG_QUASI_SOBOL64:
    case CURAND_RNG_QUASI_SCRAMBLED_SOBOL64:
        return asked;
    default:
        return CURAND_RNG_TEST;
    }
}

static curandStatus_t create(curandGenerator_t *generator, curandRngType_t asked, bool is_host)
{
    curandRngType_t type = type_of(asked);

    if (!generator)
        return CURAND_STATUS_NOT_INITIALIZED;
    *generator = NULL;
    if (!type) {
        lib_error(&rand_info, "there is no generator of type %d", (int)asked);
        return CURAND_STATUS_TYPE_ERROR;
    }
    const struct klib *klib = lib_klib(&rand_info);
    if (!klib || (!is_host && lib_context()))
        return CURAND_STATUS_INITIALIZATION_FAILED;
    struct curandGenerator_st *g = hd_new(struct curandGenerator_st);
    if (!g)
        return CURAND_STATUS_ALLOCATION_FAILED;
    lib_handle_init(&g->base, &rand_info);
    g->klib = klib->curand;
    g->type = type;
    g->is_host = is_host;
    g->order = rand_is_quasi(type) ? CURAND_ORDERING_QUASI_DEFAULT : CURAND_ORDERING_PSEUDO_DEFAULT;
    g->dimensions = 1;
    *generator = g;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandCreateGenerator(curandGenerator_t *generator, curandRngType_t rng_type)
{
    return create(generator, rng_type, false);
}

curandStatus_t curandCreateGeneratorHost(curandGenerator_t *generator, curandRngType_t rng_type)
{
    return create(generator, rng_type, true);
}

/* Frees retired states: all, or those that nobody uses any more. */
static void sweep(curandGenerator_t g, bool all)
{
    struct rand_retired **link = &g->retired, *retired;

    while ((retired = *link)) {
        if (!all && (g->is_captured || !g->klib->is_idle(retired->state))) {
            link = &retired->next;
            continue;
        }
        *link = retired->next;
        g->klib->destroy(retired->state);
        hd_free(retired);
    }
}

curandStatus_t curandDestroyGenerator(curandGenerator_t generator)
{
    if (!generator)
        return CURAND_STATUS_NOT_INITIALIZED;
    bool is_idle = !generator->retired && !generator->is_captured;
    if (generator->state)
        is_idle &= generator->klib->is_idle(generator->state);
    if (!is_idle)
        (void)lib_wait(&generator->base);
    sweep(generator, true);
    generator->klib->destroy(generator->state);
    for (struct rand_table *table = generator->tables, *next; table; table = next) {
        next = table->next;
        hd_free((void *)table->discrete.limit);
        hd_free(table);
    }
    hd_free(generator);
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGetVersion(int *version)
{
    if (!version)
        return CURAND_STATUS_OUT_OF_RANGE;
    *version = CURAND_VERSION;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGetProperty(libraryPropertyType type, int *value)
{
    return value && lib_property(&rand_info, (int)type, value) ? CURAND_STATUS_SUCCESS
                                                               : CURAND_STATUS_OUT_OF_RANGE;
}

/* ---- settings */

/* The next call begins anew: with a state of its own where kernels may still use this one. */
static curandStatus_t restart(curandGenerator_t g)
{
    if (!g->state)
        return CURAND_STATUS_SUCCESS;
    if (!g->is_captured && g->klib->is_idle(g->state)) {
        g->klib->destroy(g->state);
    } else {
        struct rand_retired *retired = hd_new(struct rand_retired);
        if (!retired)
            return CURAND_STATUS_ALLOCATION_FAILED;
        *retired = (struct rand_retired){g->state, g->retired};
        g->retired = retired;
    }
    g->state = NULL;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream)
{
    if (!generator)
        return CURAND_STATUS_NOT_INITIALIZED;
    generator->base.stream = stream;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator,
                                                  unsigned long long seed)
{
    if (!generator)
        return CURAND_STATUS_NOT_INITIALIZED;
    if (rand_is_quasi(generator->type))
        return CURAND_STATUS_TYPE_ERROR;
    generator->seed = seed;
    return restart(generator);
}

curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset)
{
    if (!generator)
        return CURAND_STATUS_NOT_INITIALIZED;
    if (offset && (generator->type == CURAND_RNG_PSEUDO_MT19937 ||
                   generator->type == CURAND_RNG_PSEUDO_MTGP32)) {
        lib_error(&rand_info, "MT19937 and MTGP32 cannot skip ahead: their offset is 0");
        return CURAND_STATUS_TYPE_ERROR;
    }
    generator->offset = offset;
    return restart(generator);
}

curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order)
{
    if (!generator)
        return CURAND_STATUS_NOT_INITIALIZED;
    bool is_possible = rand_is_quasi(generator->type) ? order == CURAND_ORDERING_QUASI_DEFAULT
                                                      : order >= CURAND_ORDERING_PSEUDO_BEST &&
                                                            order <= CURAND_ORDERING_PSEUDO_DYNAMIC;
    if (!is_possible)
        return CURAND_STATUS_OUT_OF_RANGE;
    generator->order = order;
    return restart(generator);
}

curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator,
                                                       unsigned int num_dimensions)
{
    if (!generator)
        return CURAND_STATUS_NOT_INITIALIZED;
    if (!rand_is_quasi(generator->type))
        return CURAND_STATUS_TYPE_ERROR;
    if (!num_dimensions || num_dimensions > RAND_DIMENSIONS) {
        lib_error(&rand_info, "%u dimensions: Sobol's sequences have 1 to %d", num_dimensions,
                  RAND_DIMENSIONS);
        return CURAND_STATUS_OUT_OF_RANGE;
    }
    generator->dimensions = num_dimensions;
    return restart(generator);
}

static struct klib_rand_setup setup_of(const struct curandGenerator_st *g)
{
    struct klib_rand_setup setup = {.seed = g->seed, .offset = g->offset};
    bool is_legacy = g->order == CURAND_ORDERING_PSEUDO_LEGACY;

    setup.is_seeded = g->order == CURAND_ORDERING_PSEUDO_SEEDED;
    switch (g->type) {
    case CURAND_RNG_PSEUDO_MRG32K3A:
        setup.type = KLIB_RAND_MRG32K3A;
        setup.streams = is_legacy ? 4096 : 81920;
        break;
    case CURAND_RNG_PSEUDO_MTGP32:
        setup.type = KLIB_RAND_MTGP32;
        setup.streams = is_legacy ? 64 : 192;
        break;
    case CURAND_RNG_PSEUDO_MT19937:
        setup.type = KLIB_RAND_MT19937;
        setup.streams = 8192;
        break;
    case CURAND_RNG_PSEUDO_PHILOX4_32_10:
        setup.type = KLIB_RAND_PHILOX;
        setup.streams = 65536;
        break;
    case CURAND_RNG_QUASI_SOBOL32:
    case CURAND_RNG_QUASI_SCRAMBLED_SOBOL32:
        setup.type = KLIB_RAND_SOBOL32;
        break;
    case CURAND_RNG_QUASI_SOBOL64:
    case CURAND_RNG_QUASI_SCRAMBLED_SOBOL64:
        setup.type = KLIB_RAND_SOBOL64;
        break;
    default:
        setup.type = KLIB_RAND_XORWOW;
        setup.streams = 4096;
    }
    return setup;
}

curandStatus_t rand_ready(curandGenerator_t g)
{
    if (g->state)
        return CURAND_STATUS_SUCCESS;
    struct klib_rand_setup setup = setup_of(g);
    sweep(g, false);
    g->state = g->klib->create(&setup);
    return g->state ? CURAND_STATUS_SUCCESS : CURAND_STATUS_ALLOCATION_FAILED;
}

curandStatus_t curandGenerateSeeds(curandGenerator_t generator)
{
    return generator ? rand_ready(generator) : CURAND_STATUS_NOT_INITIALIZED;
}
