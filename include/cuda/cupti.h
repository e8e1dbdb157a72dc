/* CUPTI: what programs are told of what CUDA does. Interface: NVIDIA's manual of CUPTI 13.0. */
#ifndef HEDDLE_CUDA_CUPTI_H
#define HEDDLE_CUDA_CUPTI_H

#include <cuda.h>

#include "cupti_activity.h"
#include "cupti_callbacks.h"
#include "cupti_driver_cbid.h"
#include "cupti_nvtx_cbid.h"
#include "cupti_result.h"
#include "cupti_runtime_cbid.h"
#include "cupti_version.h"
#include "generated_cuda_meta.h"
#include "generated_cuda_runtime_api_meta.h"

#endif
