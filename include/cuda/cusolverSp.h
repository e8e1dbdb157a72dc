/*
 * cuSOLVER for sparse matrices: systems and an eigenvalue. Names and values as in NVIDIA's cuSOLVER
 * documentation; docs/cusolver.md says what is there.
 */
#if !defined(HEDDLE_CUDA_CUSOLVERSP_H) && !defined(CUSOLVERSP_H_)
#define HEDDLE_CUDA_CUSOLVERSP_H

/* By this name a toolkit's headers beside the program and these know of each other. */
#define CUSOLVERSP_H_

#include "cusolver_common.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct cusolverSpContext *cusolverSpHandle_t;
typedef struct cusparseMatDescr *cusparseMatDescr_t; /* cuSPARSE's */

typedef struct csrqrInfo *csrqrInfo_t;

cusolverStatus_t cusolverSpCreate(cusolverSpHandle_t *handle);
cusolverStatus_t cusolverSpDestroy(cusolverSpHandle_t handle);
cusolverStatus_t cusolverSpSetStream(cusolverSpHandle_t handle, cudaStream_t streamId);
cusolverStatus_t cusolverSpGetStream(cusolverSpHandle_t handle, cudaStream_t *streamId);

/* A x = b; with matrices and vectors at the device, or (Host) at the host. */
#define HEDDLE_CUSOLVERSP_LSV(P, T, R, name)                                                       \
    cusolverStatus_t cusolverSp##P##csrlsv##name(                                                  \
        cusolverSpHandle_t handle, int m, int nnz, const cusparseMatDescr_t descrA,                \
        const T *csrVal, const int *csrRowPtr, const int *csrColInd, const T *b, R tol,            \
        int reorder, T *x, int *singularity);
/* The eigenvalue that is next to mu0. */
#define HEDDLE_CUSOLVERSP_EIG(P, T, R, Host)                                                       \
    cusolverStatus_t cusolverSp##P##csreigvsi##Host(                                               \
        cusolverSpHandle_t handle, int m, int nnz, const cusparseMatDescr_t descrA,                \
        const T *csrValA, const int *csrRowPtrA, const int *csrColIndA, T mu0, const T *x0,        \
        int maxite, R eps, T *mu, T *x);
/* A x = b of matrices that have elements in the same places. */
#define HEDDLE_CUSOLVERSP_QR(P, T)                                                                 \
    cusolverStatus_t cusolverSp##P##csrqrBufferInfoBatched(                                        \
        cusolverSpHandle_t handle, int m, int n, int nnz, const cusparseMatDescr_t descrA,         \
        const T *csrVal, const int *csrRowPtr, const int *csrColInd, int batchSize,                \
        csrqrInfo_t info, size_t *internalDataInBytes, size_t *workspaceInBytes);                  \
    cusolverStatus_t cusolverSp##P##csrqrsvBatched(                                                \
        cusolverSpHandle_t handle, int m, int n, int nnz, const cusparseMatDescr_t descrA,         \
        const T *csrValA, const int *csrRowPtrA, const int *csrColIndA, const T *b, T *x,          \
        int batchSize, csrqrInfo_t info, void *pBuffer);
cusolverStatus_t cusolverSpCreateCsrqrInfo(csrqrInfo_t *info);
cusolverStatus_t cusolverSpDestroyCsrqrInfo(csrqrInfo_t info);
cusolverStatus_t cusolverSpXcsrqrAnalysisBatched(cusolverSpHandle_t handle, int m, int n, int nnz,
                                                 const cusparseMatDescr_t descrA,
                                                 const int *csrRowPtrA, const int *csrColIndA,
                                                 csrqrInfo_t info);
#define HEDDLE_CUSOLVERSP(P, T, R)                                                                 \
    HEDDLE_CUSOLVERSP_LSV(P, T, R, qr)                                                             \
    HEDDLE_CUSOLVERSP_LSV(P, T, R, qrHost)                                                         \
    HEDDLE_CUSOLVERSP_LSV(P, T, R, chol)                                                           \
    HEDDLE_CUSOLVERSP_LSV(P, T, R, cholHost)                                                       \
    HEDDLE_CUSOLVERSP_LSV(P, T, R, luHost)                                                         \
    HEDDLE_CUSOLVERSP_QR(P, T)                                                                     \
    HEDDLE_CUSOLVERSP_EIG(P, T, R, )                                                               \
    HEDDLE_CUSOLVERSP_EIG(P, T, R, Host)
HEDDLE_CUSOLVERSP(S, float, float)
HEDDLE_CUSOLVERSP(D, double, double)
HEDDLE_CUSOLVERSP(C, cuComplex, float)
HEDDLE_CUSOLVERSP(Z, cuDoubleComplex, double)
#undef HEDDLE_CUSOLVERSP
#undef HEDDLE_CUSOLVERSP_LSV
#undef HEDDLE_CUSOLVERSP_QR
#undef HEDDLE_CUSOLVERSP_EIG

#if defined(__cplusplus)
}
#endif

#endif
