/* Part of cuRAND in kernels: what the host prepares for MTGP32. */
#ifndef HEDDLE_CUDA_CURAND_MTGP32DC_P_11213_H
#define HEDDLE_CUDA_CURAND_MTGP32DC_P_11213_H

#include "heddle/curand_mtgp32.h"

#endif
