/*
 * Statuses of the provider's own, as ONNX Runtime has them.
 */
#ifndef HD_FRAMEWORKS_ONNX_STATUS_H
#define HD_FRAMEWORKS_ONNX_STATUS_H

#include "cuda.h"
#include "frameworks/onnx/ort.h"

struct ort_status *status_no_memory(void);
/* A call of the driver's; NULL for CUDA_SUCCESS. */
struct ort_status *status_of_driver(const char *what, CUresult result);

#endif
