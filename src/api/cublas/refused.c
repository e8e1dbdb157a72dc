/* Functions of cuBLAS that there are not: each fails, and says its name once. */
#include "api/cublas/cublas.h"

/* Whatever the arguments are: they are not looked at. */
#define X(name)                                                                                    \
    HD_EXPORT cublasStatus_t name(void);                                                           \
    cublasStatus_t name(void)                                                                      \
    {                                                                                              \
        static _Atomic bool said;                                                                  \
        lib_refuse(&blas_info, #name, &said);                                                      \
        return CUBLAS_STATUS_NOT_SUPPORTED;                                                        \
    }
#include "api/cublas_refused.def"
