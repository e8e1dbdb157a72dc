/* Device built-ins: all come with cuda_runtime.h; the name is kept for programs that include it. */
#ifndef HEDDLE_CUDA_DEVICE_DOUBLE_FUNCTIONS_H
#define HEDDLE_CUDA_DEVICE_DOUBLE_FUNCTIONS_H

#include "cuda_runtime.h"

#endif
