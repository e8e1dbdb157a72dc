/* Functions of cuSOLVER that there are not: each fails, and says its name once. */
#include "api/cusolver/cusolver.h"

#define X(name) LIB_REFUSED(cusolverStatus_t, name, &solver_info, CUSOLVER_STATUS_NOT_SUPPORTED)
#include "api/cusolver_refused.def"
