/* cuSOLVER for sparse matrices: systems and an eigenvalue, solved directly by the engine. */
#include <dlfcn.h>

#include "api/cusolver/cusolver.h"
#include "base/mem.h"

#pragma GCC visibility push(default)
#include <cusolverSp.h>
#pragma GCC visibility pop

struct cusolverSpContext {
    struct cusolverDnContext dense; /* solver_run() takes one */
};

cusolverStatus_t cusolverSpCreate(cusolverSpHandle_t *handle)
{
    if (!handle)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *handle = NULL;
    int result = lib_context();
    if (result)
        return solver_status(result);
    *handle = hd_new(struct cusolverSpContext);
    if (!*handle)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    lib_handle_init(&(*handle)->dense.base, &solver_info);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverSpDestroy(cusolverSpHandle_t handle)
{
    if (!handle)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    hd_free(handle);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverSpSetStream(cusolverSpHandle_t handle, cudaStream_t streamId)
{
    SOLVER_CHECK(handle, true);
    handle->dense.base.stream = streamId;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverSpGetStream(cusolverSpHandle_t handle, cudaStream_t *streamId)
{
    SOLVER_CHECK(handle, streamId);
    *streamId = handle->dense.base.stream;
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- cuSPARSE's descriptions of matrices */

/* cuSPARSE made it and is there, in the program or beside it. -1: it cannot be asked. */
static int ask(const char *function, const cusparseMatDescr_t descr)
{
    void *library = dlopen("libcusparse.so.12", RTLD_NOW | RTLD_NOLOAD);
    int (*getter)(const cusparseMatDescr_t) = NULL;

    *(void **)&getter = dlsym(library ? library : RTLD_DEFAULT, function);
    int value = getter && descr ? getter(descr) : -1;
    if (library)
        (void)dlclose(library);
    return value;
}

/* What of the arguments is as it has to be; the base of indices. */
static cusolverStatus_t check(cusolverSpHandle_t handle, const char *function, int m, int nnz,
                              const cusparseMatDescr_t descr, bool has_arrays, int64_t *out_base)
{
    if (!handle)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (m < 0 || nnz < 0 || !descr || !has_arrays)
        return solver_invalid(function);
    *out_base = ask("cusparseGetMatIndexBase", descr);
    int type = ask("cusparseGetMatType", descr);
    if (*out_base < 0 || type < 0) {
        lib_error(&solver_info, "%s: there is no cuSPARSE to ask what the matrix is", function);
        return CUSOLVER_STATUS_INTERNAL_ERROR;
    }
    if (type) /* CUSPARSE_MATRIX_TYPE_GENERAL is what is documented */
        return CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
    lib_log(&solver_info, LIB_LEVEL_INFO, "%s", function);
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- what is known of the matrices of a batch: nothing is kept but that somebody looked */

struct csrqrInfo {
    bool is_analysed;
};

cusolverStatus_t cusolverSpCreateCsrqrInfo(csrqrInfo_t *info)
{
    if (!info)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *info = hd_new(struct csrqrInfo);
    return *info ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

cusolverStatus_t cusolverSpDestroyCsrqrInfo(csrqrInfo_t info)
{
    hd_free(info);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverSpXcsrqrAnalysisBatched(cusolverSpHandle_t handle, int m, int n, int nnz,
                                                 const cusparseMatDescr_t descrA,
                                                 const int *csrRowPtrA, const int *csrColIndA,
                                                 csrqrInfo_t info)
{
    int64_t base;
    cusolverStatus_t status =
        check(handle, __func__, m, nnz, descrA, csrRowPtrA && csrColIndA && info && n >= 0, &base);

    if (!status)
        info->is_analysed = true;
    return status;
}

/* ---- routines */

/* `singularity` is at the host, so that all of these wait. */
static cusolverStatus_t solve(cusolverSpHandle_t handle, uint32_t routine, int m, int64_t base,
                              const void *values, const int *rows, const int *columns,
                              const void *b, double tol, int reorder, void *x, int *singularity,
                              bool is_cholesky)
{
    struct solver_call call = {.packed.routine = routine, .waits = true};

    solver_size_arg(&call, m);
    lib_call_pointer(&call.packed, values);
    lib_call_pointer(&call.packed, rows);
    lib_call_pointer(&call.packed, columns);
    lib_call_int(&call.packed, base);
    lib_call_pointer(&call.packed, b);
    lib_call_real(&call.packed, tol);
    lib_call_int(&call.packed, reorder);
    lib_call_pointer(&call.packed, x);
    lib_call_pointer(&call.packed, singularity);
    lib_call_int(&call.packed, is_cholesky);
    return solver_run(&handle->dense, &call, 1);
}

/* Problems of a batch have their values, b and x one behind the other. */
static cusolverStatus_t solve_batch(cusolverSpHandle_t handle, uint32_t routine, int n, int nnz,
                                    int64_t base, const void *values, const int *rows,
                                    const int *columns, const void *b, void *x, int64_t size_B,
                                    int problems)
{
    struct solver_call call = {.packed.routine = routine};

    solver_size_arg(&call, n);
    lib_call_stepped(&call.packed, values, nnz * size_B);
    lib_call_pointer(&call.packed, rows);
    lib_call_pointer(&call.packed, columns);
    lib_call_int(&call.packed, base);
    lib_call_stepped(&call.packed, b, n * size_B);
    lib_call_real(&call.packed, 0);
    lib_call_int(&call.packed, true);
    lib_call_stepped(&call.packed, x, n * size_B);
    lib_call_pointer(&call.packed, NULL);
    lib_call_int(&call.packed, false);
    return solver_run(&handle->dense, &call, problems);
}

static cusolverStatus_t eigenvalue(cusolverSpHandle_t handle, uint32_t routine, int m, int64_t base,
                                   const void *values, const int *rows, const int *columns,
                                   const void *mu0, size_t size_B, const void *x0, int maxite,
                                   double eps, void *mu, void *x, bool waits)
{
    struct solver_call call = {.packed.routine = routine, .waits = waits};

    solver_size_arg(&call, m);
    lib_call_pointer(&call.packed, values);
    lib_call_pointer(&call.packed, rows);
    lib_call_pointer(&call.packed, columns);
    lib_call_int(&call.packed, base);
    lib_call_value(&call.packed, mu0, size_B);
    lib_call_pointer(&call.packed, x0);
    lib_call_int(&call.packed, maxite);
    lib_call_real(&call.packed, eps);
    lib_call_pointer(&call.packed, mu);
    lib_call_pointer(&call.packed, x);
    return solver_run(&handle->dense, &call, 1);
}

/* luHost solves by QR, too: it has the same result, and needs no pivots. */
#define LSV(P, p, T, R, name, is_cholesky)                                                         \
    cusolverStatus_t cusolverSp##P##csrlsv##name(                                                  \
        cusolverSpHandle_t handle, int m, int nnz, const cusparseMatDescr_t descrA,                \
        const T *csrVal, const int *csrRowPtr, const int *csrColInd, const T *b, R tol,            \
        int reorder, T *x, int *singularity)                                                       \
    {                                                                                              \
        int64_t base;                                                                              \
        cusolverStatus_t status =                                                                  \
            check(handle, __func__, m, nnz, descrA,                                                \
                  csrVal && csrRowPtr && csrColInd && b && x && singularity, &base);               \
                                                                                                   \
        return status ? status                                                                     \
                      : solve(handle, KLIB_SOLVE_##p##csrlsv, m, base, csrVal, csrRowPtr,          \
                              csrColInd, b, (double)tol, reorder, x, singularity, is_cholesky);    \
    }
/* Systems of as many rows as columns. */
#define QR(P, p, T)                                                                                \
    cusolverStatus_t cusolverSp##P##csrqrBufferInfoBatched(                                        \
        cusolverSpHandle_t handle, int m, int n, int nnz, const cusparseMatDescr_t descrA,         \
        const T *csrVal, const int *csrRowPtr, const int *csrColInd, int batchSize,                \
        csrqrInfo_t info, size_t *internalDataInBytes, size_t *workspaceInBytes)                   \
    {                                                                                              \
        SOLVER_CHECK(handle, m >= 0 && n >= 0 && batchSize >= 0 && info && info->is_analysed &&    \
                                 internalDataInBytes && workspaceInBytes);                         \
        *internalDataInBytes = *workspaceInBytes = SOLVER_WORKSPACE;                               \
        return CUSOLVER_STATUS_SUCCESS;                                                            \
    }                                                                                              \
    cusolverStatus_t cusolverSp##P##csrqrsvBatched(                                                \
        cusolverSpHandle_t handle, int m, int n, int nnz, const cusparseMatDescr_t descrA,         \
        const T *csrValA, const int *csrRowPtrA, const int *csrColIndA, const T *b, T *x,          \
        int batchSize, csrqrInfo_t info, void *pBuffer)                                            \
    {                                                                                              \
        static _Atomic bool said;                                                                  \
        int64_t base;                                                                              \
        cusolverStatus_t status = check(handle, __func__, m, nnz, descrA,                          \
                                        csrValA && csrRowPtrA && csrColIndA && b && x &&           \
                                            batchSize >= 0 && info && info->is_analysed,           \
                                        &base);                                                    \
                                                                                                   \
        if (!status && m != n) {                                                                   \
            lib_refuse(&solver_info, __func__, &said);                                             \
            return CUSOLVER_STATUS_NOT_SUPPORTED;                                                  \
        }                                                                                          \
        return status ? status                                                                     \
                      : solve_batch(handle, KLIB_SOLVE_##p##csrlsv, n, nnz, base, csrValA,         \
                                    csrRowPtrA, csrColIndA, b, x, sizeof(T), batchSize);           \
    }
#define EIG(P, p, T, R, Host, waits)                                                               \
    cusolverStatus_t cusolverSp##P##csreigvsi##Host(                                               \
        cusolverSpHandle_t handle, int m, int nnz, const cusparseMatDescr_t descrA,                \
        const T *csrValA, const int *csrRowPtrA, const int *csrColIndA, T mu0, const T *x0,        \
        int maxite, R eps, T *mu, T *x)                                                            \
    {                                                                                              \
        int64_t base;                                                                              \
        cusolverStatus_t status =                                                                  \
            check(handle, __func__, m, nnz, descrA,                                                \
                  csrValA && csrRowPtrA && csrColIndA && x0 && mu && x, &base);                    \
                                                                                                   \
        return status ? status                                                                     \
                      : eigenvalue(handle, KLIB_SOLVE_##p##csreigvsi, m, base, csrValA,            \
                                   csrRowPtrA, csrColIndA, &mu0, sizeof(mu0), x0, maxite,          \
                                   (double)eps, mu, x, waits);                                     \
    }
#define ALL(P, p, T, R)                                                                            \
    LSV(P, p, T, R, qr, false)                                                                     \
    LSV(P, p, T, R, qrHost, false)                                                                 \
    LSV(P, p, T, R, chol, true)                                                                    \
    LSV(P, p, T, R, cholHost, true)                                                                \
    LSV(P, p, T, R, luHost, false)                                                                 \
    QR(P, p, T)                                                                                    \
    EIG(P, p, T, R, , false)                                                                       \
    EIG(P, p, T, R, Host, true)
ALL(S, s, float, float)
ALL(D, d, double, double)
ALL(C, c, cuComplex, float)
ALL(Z, z, cuDoubleComplex, double)
