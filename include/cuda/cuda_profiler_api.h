/* cudaProfilerStart() and cudaProfilerStop(); declared with the rest of the runtime API. */
#ifndef HEDDLE_CUDA_PROFILER_API_H
#define HEDDLE_CUDA_PROFILER_API_H

/* By this name a toolkit's headers beside the program know that they are not needed any more. */
#define __CUDA_PROFILER_API_H__

#include "cuda_runtime_api.h"

#endif
