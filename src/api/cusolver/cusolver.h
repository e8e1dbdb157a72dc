/* What the files of libcusolver share. */
#ifndef HD_API_CUSOLVER_CUSOLVER_H
#define HD_API_CUSOLVER_CUSOLVER_H

#include "api/lib_base/lib_call.h"

#pragma GCC visibility push(default) /* what the headers declare is what the library exports */
#include <cusolverDn.h>
#pragma GCC visibility pop

#include "api/lib_base/lib_compute.h"
#include "base/compiler.h"
#include "klib/solver.h"

struct cusolverDnContext {
    struct lib_handle base;
    int deterministic;
    int emulation, mantissa_control, mantissa_max, mantissa_offset;
    unsigned special_values;
};

extern const struct lib_info solver_info;

/* The status of a driver's CUresult. */
cusolverStatus_t solver_status(int cuda_result);
/* INVALID_VALUE, and the log says of which function. */
cusolverStatus_t solver_invalid(const char *function);
/* INVALID_VALUE: types of elements that do not go together. */
cusolverStatus_t solver_no_type(const char *function);

/* At the begin of a function: a handle, and arguments that are in order. */
#define SOLVER_CHECK(handle, cond)                                                                 \
    do {                                                                                           \
        if (!(handle))                                                                             \
            return CUSOLVER_STATUS_NOT_INITIALIZED;                                                \
        if (!(cond))                                                                               \
            return solver_invalid(__func__);                                                       \
        lib_log(&solver_info, LIB_LEVEL_INFO, "%s", __func__);                                     \
    } while (0)

/*
 * What _bufferSize functions say: the routines take the memory that they need themselves. One, so
 * that what a program allocates has an address.
 */
#define SOLVER_WORKSPACE 1

/* ---- letters of LAPACK; 0: no such one */

static inline char solver_job(cusolverEigMode_t job)
{
    return job == CUSOLVER_EIG_MODE_NOVECTOR ? 'N' : job == CUSOLVER_EIG_MODE_VECTOR ? 'V' : 0;
}
static inline char solver_range(cusolverEigRange_t range)
{
    return range == CUSOLVER_EIG_RANGE_ALL ? 'A'
           : range == CUSOLVER_EIG_RANGE_I ? 'I'
           : range == CUSOLVER_EIG_RANGE_V ? 'V'
                                           : 0;
}
static inline char solver_direct(cusolverDirectMode_t direct)
{
    return direct == CUBLAS_DIRECT_FORWARD ? 'F' : direct == CUBLAS_DIRECT_BACKWARD ? 'B' : 0;
}
static inline char solver_storev(cusolverStorevMode_t storev)
{
    return storev == CUBLAS_STOREV_COLUMNWISE ? 'C' : storev == CUBLAS_STOREV_ROWWISE ? 'R' : 0;
}
/* Of gesvd's jobs. */
static inline bool solver_letter(signed char job)
{
    return job == 'A' || job == 'S' || job == 'O' || job == 'N';
}
/* Of gesvdr's: are vectors wanted? */
static inline char solver_any(signed char jobu, signed char jobv)
{
    return jobu == 'S' || jobv == 'S' ? 'V' : 'N';
}

/* ---- the least leading dimensions of what is wanted; 0: it is not */

static inline int64_t solver_u(signed char job, int64_t m)
{
    return job == 'A' || job == 'S' ? HD_MAX(m, 1) : 0;
}
static inline int64_t solver_vt(signed char job, int64_t m, int64_t n)
{
    return job == 'A' ? HD_MAX(n, 1) : job == 'S' ? HD_MAX(HD_MIN(m, n), 1) : 0;
}
static inline int64_t solver_v(cusolverEigMode_t job, int64_t n)
{
    return job == CUSOLVER_EIG_MODE_VECTOR ? HD_MAX(n, 1) : 0;
}

/* ---- types of elements */

/* 0 to 3: float, double, complex, double complex; -1: no type to solve in. */
int solver_type(cudaDataType type);
size_t solver_size(cudaDataType type);
/* The real type of it. */
cudaDataType solver_real(cudaDataType type);
/* Is `type` that of `of`, or of complex numbers of it? */
bool solver_is_kin(cudaDataType type, cudaDataType of);
/* A number of the host's, of a real type. */
double solver_value(const void *value, cudaDataType type);

/* ---- parameters of Jacobi's methods */

/* Where the kernel leaves the residual. */
double *solver_residual(const void *params);

/* ---- a call of the engine's: arguments in its order */

struct solver_call {
    struct klib_call packed;
    int64_t largest; /* of its sizes */
    bool waits;      /* it has a result for the host */
};

void solver_size_arg(struct solver_call *call, int64_t value);
/* Launches; with a result for the host it waits for it. */
cusolverStatus_t solver_run(cusolverDnHandle_t handle, const struct solver_call *call,
                            int64_t problems);

#endif
