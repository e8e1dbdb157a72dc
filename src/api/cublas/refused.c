/* Functions of cuBLAS that there are not: each fails, and says its name once. */
#include "api/cublas/cublas.h"

#define X(name) LIB_REFUSED(cublasStatus_t, name, &blas_info, CUBLAS_STATUS_NOT_SUPPORTED)
#include "api/cublas_refused.def"
