/* Functions of cuBLASLt that there are not: each fails, and says its name once. */
#include "api/cublaslt/cublaslt.h"

#define X(name) LIB_REFUSED(cublasStatus_t, name, &lt_info, CUBLAS_STATUS_NOT_SUPPORTED)
#include "api/cublaslt_refused.def"
