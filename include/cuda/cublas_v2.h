/* cuBLAS by the names that programs write: those of the second version of its interface. */
#if !defined(HEDDLE_CUDA_CUBLAS_V2_H) && !defined(CUBLAS_V2_H_)
#define HEDDLE_CUDA_CUBLAS_V2_H

/* By this name a toolkit's headers beside the program and these know of each other. */
#define CUBLAS_V2_H_

#include "cublas_api.h"
#include "heddle/cublas_names.h"

#define cublasCreate         cublasCreate_v2
#define cublasDestroy        cublasDestroy_v2
#define cublasGetVersion     cublasGetVersion_v2
#define cublasSetWorkspace   cublasSetWorkspace_v2
#define cublasSetStream      cublasSetStream_v2
#define cublasGetStream      cublasGetStream_v2
#define cublasGetPointerMode cublasGetPointerMode_v2
#define cublasSetPointerMode cublasSetPointerMode_v2

#endif
