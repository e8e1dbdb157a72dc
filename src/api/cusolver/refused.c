/* Functions of cuSOLVER that there are not: each fails, and says its name once. */
#include "api/cusolver/cusolver.h"

/* Whatever the arguments are: they are not looked at. */
#define X(name)                                                                                    \
    HD_EXPORT cusolverStatus_t name(void);                                                         \
    cusolverStatus_t name(void)                                                                    \
    {                                                                                              \
        static _Atomic bool said;                                                                  \
        lib_refuse(&solver_info, #name, &said);                                                    \
        return CUSOLVER_STATUS_NOT_SUPPORTED;                                                      \
    }
#include "api/cusolver_refused.def"
