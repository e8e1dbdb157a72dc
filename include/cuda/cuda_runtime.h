/*
 * CUDA C++: the runtime API with its typed C++ forms, and, under clang's CUDA mode, everything that
 * nvcc predefines on the device side. `heddle cc` includes this file in front of every CUDA source.
 */
#if !defined(HEDDLE_CUDA_RUNTIME_H) && !defined(__CUDA_RUNTIME_H__)
#define HEDDLE_CUDA_RUNTIME_H

/*
 * Programs ask by this name whether the header was included; by it a toolkit's headers beside the
 * program and these know of each other.
 */
#define __CUDA_RUNTIME_H__

#if defined(__CUDA__)
#include "heddle/device.h"
#endif

/* Programs rely on what nvcc's headers include; NVRTC has no headers of the host. */
#if !defined(__CUDACC_RTC__)
#include <assert.h>
#include <time.h>
#if defined(__cplusplus)
#include <initializer_list>
#include <typeinfo>
#endif
#endif

#include "cuda_version.h"
#include "host_defines.h"
#include "builtin_types.h"
#include "device_types.h"
#include "library_types.h"
#include "vector_functions.h"
#include "cuda_runtime_api.h"
#include "heddle/runtime_inline.h"
#include "cuda_device_runtime_api.h"

#if defined(__cplusplus)
#include "heddle/runtime_templates.h"
#endif

#if defined(__CUDA__)
#include "heddle/managed.h"
#include "heddle/math_overloads.h"
#include "heddle/device_builtins.h"
#if __cplusplus >= 201103L
#include "texture_indirect_functions.h"
#include "surface_indirect_functions.h"
#endif
#endif

#endif
