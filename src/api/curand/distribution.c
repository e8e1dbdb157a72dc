/* Distributions for curand_discrete(): one block of the device's memory, copied from the host's. */
#include "api/curand/rand.h"

#include <cuda.h>
#include <heddle/curand_discrete_types.h>
#include <math.h>

#include "base/mem.h"

curandStatus_t curandCreatePoissonDistribution(double lambda,
                                               curandDiscreteDistribution_t *discrete_distribution)
{
    struct klib_discrete made;
    CUdeviceptr device;

    if (!discrete_distribution)
        return CURAND_STATUS_NOT_INITIALIZED;
    if (!(lambda > 0 && lambda <= 400000.0))
        return CURAND_STATUS_OUT_OF_RANGE;
    if (lib_context())
        return CURAND_STATUS_INITIALIZATION_FAILED;
    if (!rand_discrete_create(lambda, &made))
        return CURAND_STATUS_ALLOCATION_FAILED;
    struct block {
        struct curandDiscreteDistribution_st all;
        struct curandDistributionM2Shift_st shift;
        struct curandHistogramM2_st histogram;
        double limits[];
    };
    /* u may be 1: number `count` is the last one once more */
    uint32_t count = made.count, limits = count + 1;
    size_t size_B = sizeof(struct block) + limits * (sizeof(double) + sizeof(uint32_t));
    struct block *block = hd_alloc(size_B);
    CUresult result = block ? cuMemAlloc(&device, size_B) : CUDA_ERROR_OUT_OF_MEMORY;
    if (!result) {
        struct block *there = (struct block *)device;
        uint32_t *others = (uint32_t *)(block->limits + limits);
        for (uint32_t i = 0; i < limits; i++) {
            block->limits[i] = i < count ? made.limit[i] : 0;
            others[i] = i < count ? made.other[i] : count - 1;
        }
        block->histogram.limits = there->limits;
        block->histogram.others = (uint32_t *)(there->limits + limits);
        block->shift.histogram = &there->histogram;
        block->shift.shift = made.shift;
        block->shift.length = count;
        block->all.M2 = &there->shift;
        block->all.mean = lambda;
        block->all.stddev = sqrt(lambda);
        block->all.method = CURAND_M2;
        *discrete_distribution = &there->all;
        result = cuMemcpyHtoD(device, block, size_B);
    }
    hd_free(block);
    hd_free((void *)made.limit);
    return result ? CURAND_STATUS_ALLOCATION_FAILED : CURAND_STATUS_SUCCESS;
}

curandStatus_t curandDestroyDistribution(curandDiscreteDistribution_t discrete_distribution)
{
    if (!discrete_distribution)
        return CURAND_STATUS_NOT_INITIALIZED;
    return cuMemFree((CUdeviceptr)discrete_distribution) ? CURAND_STATUS_NOT_INITIALIZED
                                                         : CURAND_STATUS_SUCCESS;
}
