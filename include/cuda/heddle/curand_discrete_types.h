/*
 * cuRAND: a distribution over whole numbers, as kernels see it. curandCreatePoissonDistribution()
 * makes one in memory of the device. The layout is NVIDIA's, as programs compiled with its headers
 * have them in their kernels.
 */
#ifndef HEDDLE_CUDA_CURAND_DISCRETE_TYPES_H
#define HEDDLE_CUDA_CURAND_DISCRETE_TYPES_H

#include "curand.h"

/* u is number j = length u if u < limits[j], else others[j]; NVIDIA's headers call them V and K. */
struct curandHistogramM2_st {
    curandHistogramM2V_t limits, host_limits;
    curandHistogramM2K_t others, host_others;
    unsigned int host_gen;
};
struct curandDistributionM2Shift_st {
    curandHistogramM2_t histogram, host_histogram;
    unsigned int shift, length;
    unsigned int host_gen;
};
struct curandDiscreteDistribution_st {
    curandDiscreteDistribution_t self_host_ptr;
    curandDistributionM2Shift_t M2, host_M2;
    double stddev, mean;
    curandMethod_t method;
    unsigned int host_gen;
};

#endif
