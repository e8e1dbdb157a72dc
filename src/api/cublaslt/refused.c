/* Functions of cuBLASLt that there are not: each fails, and says its name once. */
#include "api/cublaslt/cublaslt.h"

/* Whatever the arguments are: they are not looked at. */
#define X(name)                                                                                    \
    HD_EXPORT cublasStatus_t name(void);                                                           \
    cublasStatus_t name(void)                                                                      \
    {                                                                                              \
        static _Atomic bool said;                                                                  \
        lib_refuse(&lt_info, #name, &said);                                                        \
        return CUBLAS_STATUS_NOT_SUPPORTED;                                                        \
    }
#include "api/cublaslt_refused.def"
