/* make_cudaExtent() and its like: all come with cuda_runtime.h; the name is kept for programs that include it. */
#ifndef HEDDLE_CUDA_DRIVER_FUNCTIONS_H
#define HEDDLE_CUDA_DRIVER_FUNCTIONS_H

#include "cuda_runtime.h"

#endif
