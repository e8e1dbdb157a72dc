/* Part of cuRAND in kernels: distributions over whole numbers, as kernels see them. */
#ifndef HEDDLE_CUDA_CURAND_DISCRETE_H
#define HEDDLE_CUDA_CURAND_DISCRETE_H

#include "heddle/curand_discrete_types.h"

#endif
