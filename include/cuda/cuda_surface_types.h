/* Surface functions: all come with cuda_runtime.h; the name is kept for programs that include it. */
#ifndef HEDDLE_CUDA_CUDA_SURFACE_TYPES_H
#define HEDDLE_CUDA_CUDA_SURFACE_TYPES_H

#include "cuda_runtime.h"

#endif
