/* All types that CUDA C++ predefines, in one include. */
#ifndef HEDDLE_CUDA_BUILTIN_TYPES_H
#define HEDDLE_CUDA_BUILTIN_TYPES_H

#include "driver_types.h"
#include "surface_types.h"
#include "texture_types.h"
#include "vector_types.h"

#endif
