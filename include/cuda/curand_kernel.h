/*
 * cuRAND in kernels: random numbers where they are used. XORWOW (curandState), Philox4x32-10, MRG32k3a, MTGP32 and
 * Sobol's sequences, with their distributions, as in the cuRAND library manual, "Device API". Sequences are those of
 * cuRAND; Poisson numbers have the distribution only.
 */
#ifndef HEDDLE_CUDA_CURAND_KERNEL_H
#define HEDDLE_CUDA_CURAND_KERNEL_H

/* By this name a toolkit's headers beside the program know that they are not needed any more. */
#define CURAND_KERNEL_H_

#include "cuda_runtime.h"

#if defined(__cplusplus) && defined(__CUDA__)
#include "heddle/curand_distributions.h"
#undef HEDDLE_RAND
#endif

#endif
