/* Device built-ins; cuda_runtime.h brings all of them, this name is kept for programs that include it. */
#ifndef HEDDLE_CUDA_MATH_FUNCTIONS_H
#define HEDDLE_CUDA_MATH_FUNCTIONS_H

#include "cuda_runtime.h"

#endif
