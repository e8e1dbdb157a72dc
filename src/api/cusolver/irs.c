/*
 * Iterative refinement with parameters. A system is solved in the type that its elements have: so
 * there is nothing to refine, no iterations are made.
 */
#include "api/cusolver/cusolver.h"
#include "base/mem.h"

struct cusolverDnIRSParams {
    cusolverPrecType_t main_precision, lowest;
    cusolverIRSRefinement_t solver;
    double tolerance, tolerance_inner;
    cusolver_int_t max_iters, max_iters_inner;
    bool no_fallback;
};

struct cusolverDnIRSInfos {
    cusolver_int_t niters, max_iters;
    bool solved;
};

/* Sets a member; NULL: not initialised. */
#define SET(Name, type, member, cond, otherwise)                                                   \
    cusolverStatus_t cusolverDnIRSParamsSet##Name(cusolverDnIRSParams_t params, type value)        \
    {                                                                                              \
        if (!params)                                                                               \
            return CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED;                                     \
        if (!(cond))                                                                               \
            return otherwise;                                                                      \
        params->member = value;                                                                    \
        return CUSOLVER_STATUS_SUCCESS;                                                            \
    }

/* The types to solve in, 0 to 3 as solver_type(); -1. */
static int type_of(cusolverPrecType_t precision)
{
    return precision == CUSOLVER_R_32F   ? 0
           : precision == CUSOLVER_R_64F ? 1
           : precision == CUSOLVER_C_32F ? 2
           : precision == CUSOLVER_C_64F ? 3
                                         : -1;
}

static bool is_precision(cusolverPrecType_t precision)
{
    return (precision >= CUSOLVER_R_64F && precision <= CUSOLVER_R_AP) ||
           (precision >= CUSOLVER_C_64F && precision <= CUSOLVER_C_AP);
}

SET(RefinementSolver, cusolverIRSRefinement_t, solver,
    value >= CUSOLVER_IRS_REFINE_NOT_SET && value <= CUSOLVER_IRS_REFINE_GMRES_NOPCOND,
    CUSOLVER_STATUS_IRS_PARAMS_INVALID_REFINE)
SET(SolverMainPrecision, cusolverPrecType_t, main_precision, type_of(value) >= 0,
    CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC)
SET(SolverLowestPrecision, cusolverPrecType_t, lowest, is_precision(value),
    CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC)
SET(Tol, double, tolerance, true, 0)
SET(TolInner, double, tolerance_inner, true, 0)
SET(MaxIters, cusolver_int_t, max_iters, value >= 0, CUSOLVER_STATUS_IRS_PARAMS_INVALID_MAXITER)
SET(MaxItersInner, cusolver_int_t, max_iters_inner, value >= 0,
    CUSOLVER_STATUS_IRS_PARAMS_INVALID_MAXITER)

cusolverStatus_t cusolverDnIRSParamsSetSolverPrecisions(cusolverDnIRSParams_t params,
                                                        cusolverPrecType_t main_precision,
                                                        cusolverPrecType_t lowest)
{
    cusolverStatus_t status = cusolverDnIRSParamsSetSolverMainPrecision(params, main_precision);

    return status ? status : cusolverDnIRSParamsSetSolverLowestPrecision(params, lowest);
}

cusolverStatus_t cusolverDnIRSParamsCreate(cusolverDnIRSParams_t *params)
{
    if (!params)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *params = hd_new(struct cusolverDnIRSParams);
    if (!*params)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    (*params)->solver = CUSOLVER_IRS_REFINE_NOT_SET;
    (*params)->max_iters = (*params)->max_iters_inner = 50;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnIRSParamsDestroy(cusolverDnIRSParams_t params)
{
    if (!params)
        return CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED;
    hd_free(params);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnIRSParamsGetMaxIters(cusolverDnIRSParams_t params,
                                                cusolver_int_t *maxiters)
{
    if (!params)
        return CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED;
    *maxiters = params->max_iters;
    return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t set_fallback(cusolverDnIRSParams_t params, bool is_on)
{
    if (!params)
        return CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED;
    params->no_fallback = !is_on;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnIRSParamsEnableFallback(cusolverDnIRSParams_t params)
{
    return set_fallback(params, true);
}
cusolverStatus_t cusolverDnIRSParamsDisableFallback(cusolverDnIRSParams_t params)
{
    return set_fallback(params, false);
}

cusolverStatus_t cusolverDnIRSInfosCreate(cusolverDnIRSInfos_t *infos)
{
    if (!infos)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *infos = hd_new(struct cusolverDnIRSInfos);
    return *infos ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

cusolverStatus_t cusolverDnIRSInfosDestroy(cusolverDnIRSInfos_t infos)
{
    if (!infos)
        return CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED;
    hd_free(infos);
    return CUSOLVER_STATUS_SUCCESS;
}

#define GET(Name, member)                                                                          \
    cusolverStatus_t cusolverDnIRSInfosGet##Name(cusolverDnIRSInfos_t infos,                       \
                                                 cusolver_int_t *value)                            \
    {                                                                                              \
        if (!infos || !infos->solved)                                                              \
            return CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED;                                      \
        *value = infos->member;                                                                    \
        return CUSOLVER_STATUS_SUCCESS;                                                            \
    }
GET(Niters, niters)
GET(OuterNiters, niters)
GET(MaxIters, max_iters)

/* What is to be so before it is solved. */
static cusolverStatus_t check(cusolverDnHandle_t handle, cusolverDnIRSParams_t params)
{
    if (!handle)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (!params)
        return CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED;
    if (type_of(params->main_precision) < 0 || !is_precision(params->lowest))
        return CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC;
    return CUSOLVER_STATUS_SUCCESS;
}

static void note(cusolverDnIRSParams_t params, cusolverDnIRSInfos_t infos, cusolver_int_t niters)
{
    if (infos)
        *infos = (struct cusolverDnIRSInfos){
            .niters = niters, .max_iters = params->max_iters, .solved = true};
}

cusolverStatus_t cusolverDnIRSXgesv_bufferSize(cusolverDnHandle_t handle,
                                               cusolverDnIRSParams_t params, cusolver_int_t n,
                                               cusolver_int_t nrhs, size_t *workspace_B)
{
    cusolverStatus_t status = check(handle, params);

    if (status)
        return status;
    SOLVER_CHECK(handle, n >= 0 && nrhs >= 0 && workspace_B);
    *workspace_B = SOLVER_WORKSPACE;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnIRSXgels_bufferSize(cusolverDnHandle_t handle,
                                               cusolverDnIRSParams_t params, cusolver_int_t m,
                                               cusolver_int_t n, cusolver_int_t nrhs,
                                               size_t *workspace_B)
{
    SOLVER_CHECK(handle, m >= 0);
    return cusolverDnIRSXgesv_bufferSize(handle, params, n, nrhs, workspace_B);
}

/* The routine of the main precision. */
#define OF_TYPE(name, ...)                                                                         \
    (type_of(params->main_precision) == 0   ? cusolverDnSS##name(handle, __VA_ARGS__)              \
     : type_of(params->main_precision) == 1 ? cusolverDnDD##name(handle, __VA_ARGS__)              \
     : type_of(params->main_precision) == 2 ? cusolverDnCC##name(handle, __VA_ARGS__)              \
                                            : cusolverDnZZ##name(handle, __VA_ARGS__))

cusolverStatus_t cusolverDnIRSXgesv(cusolverDnHandle_t handle, cusolverDnIRSParams_t params,
                                    cusolverDnIRSInfos_t infos, cusolver_int_t n,
                                    cusolver_int_t nrhs, void *A, cusolver_int_t lda, void *B,
                                    cusolver_int_t ldb, void *X, cusolver_int_t ldx,
                                    void *workspace, size_t workspace_B, cusolver_int_t *niters,
                                    cusolver_int_t *info)
{
    cusolverStatus_t status = check(handle, params);

    if (!status)
        status = OF_TYPE(gesv, n, nrhs, A, lda, NULL, B, ldb, X, ldx, workspace, workspace_B,
                         niters, info);
    if (!status)
        note(params, infos, *niters);
    return status;
}

cusolverStatus_t cusolverDnIRSXgels(cusolverDnHandle_t handle, cusolverDnIRSParams_t params,
                                    cusolverDnIRSInfos_t infos, cusolver_int_t m, cusolver_int_t n,
                                    cusolver_int_t nrhs, void *A, cusolver_int_t lda, void *B,
                                    cusolver_int_t ldb, void *X, cusolver_int_t ldx,
                                    void *workspace, size_t workspace_B, cusolver_int_t *niters,
                                    cusolver_int_t *info)
{
    cusolverStatus_t status = check(handle, params);

    if (!status)
        status =
            OF_TYPE(gels, m, n, nrhs, A, lda, B, ldb, X, ldx, workspace, workspace_B, niters, info);
    if (!status)
        note(params, infos, *niters);
    return status;
}
