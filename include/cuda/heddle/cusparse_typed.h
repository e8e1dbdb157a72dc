/*
 * Part of cusparse.h: the functions of cuSPARSE that are there once for each type of elements (T, of
 * real numbers R), and those of indices.
 */
#ifndef HEDDLE_CUDA_CUSPARSE_TYPED_H
#define HEDDLE_CUDA_CUSPARSE_TYPED_H

/* ---- conversions and orders of indices */

cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t handle, const int *cooRowInd, int nnz, int m,
                                  int *csrRowPtr, cusparseIndexBase_t idxBase);
cusparseStatus_t cusparseXcsr2coo(cusparseHandle_t handle, const int *csrRowPtr, int nnz, int m,
                                  int *cooRowInd, cusparseIndexBase_t idxBase);
cusparseStatus_t cusparseCreateIdentityPermutation(cusparseHandle_t handle, int n, int *p);
cusparseStatus_t cusparseXcoosort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz,
                                                const int *cooRowsA, const int *cooColsA,
                                                size_t *pBufferSizeInBytes);
cusparseStatus_t cusparseXcoosortByRow(cusparseHandle_t handle, int m, int n, int nnz,
                                       int *cooRowsA, int *cooColsA, int *P, void *pBuffer);
cusparseStatus_t cusparseXcoosortByColumn(cusparseHandle_t handle, int m, int n, int nnz,
                                          int *cooRowsA, int *cooColsA, int *P, void *pBuffer);
cusparseStatus_t cusparseXcsrsort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz,
                                                const int *csrRowPtrA, const int *csrColIndA,
                                                size_t *pBufferSizeInBytes);
cusparseStatus_t cusparseXcsrsort(cusparseHandle_t handle, int m, int n, int nnz,
                                  const cusparseMatDescr_t descrA, const int *csrRowPtrA,
                                  int *csrColIndA, int *P, void *pBuffer);
cusparseStatus_t cusparseXcscsort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz,
                                                const int *cscColPtrA, const int *cscRowIndA,
                                                size_t *pBufferSizeInBytes);
cusparseStatus_t cusparseXcscsort(cusparseHandle_t handle, int m, int n, int nnz,
                                  const cusparseMatDescr_t descrA, const int *cscColPtrA,
                                  int *cscRowIndA, int *P, void *pBuffer);
cusparseStatus_t cusparseCsr2cscEx2_bufferSize(cusparseHandle_t handle, int m, int n, int nnz,
                                               const void *csrVal, const int *csrRowPtr,
                                               const int *csrColInd, void *cscVal, int *cscColPtr,
                                               int *cscRowInd, cudaDataType valType,
                                               cusparseAction_t copyValues,
                                               cusparseIndexBase_t idxBase,
                                               cusparseCsr2CscAlg_t alg, size_t *bufferSize);
cusparseStatus_t cusparseCsr2cscEx2(cusparseHandle_t handle, int m, int n, int nnz,
                                    const void *csrVal, const int *csrRowPtr, const int *csrColInd,
                                    void *cscVal, int *cscColPtr, int *cscRowInd,
                                    cudaDataType valType, cusparseAction_t copyValues,
                                    cusparseIndexBase_t idxBase, cusparseCsr2CscAlg_t alg,
                                    void *buffer);
cusparseStatus_t cusparseXcsrgeam2Nnz(cusparseHandle_t handle, int m, int n,
                                      const cusparseMatDescr_t descrA, int nnzA,
                                      const int *csrRowPtrA, const int *csrColIndA,
                                      const cusparseMatDescr_t descrB, int nnzB,
                                      const int *csrRowPtrB, const int *csrColIndB,
                                      const cusparseMatDescr_t descrC, int *csrRowPtrC,
                                      int *nnzTotalDevHostPtr, void *workspace);
cusparseStatus_t cusparseXcsr2bsrNnz(cusparseHandle_t handle, cusparseDirection_t dirA, int m,
                                     int n, const cusparseMatDescr_t descrA, const int *csrRowPtrA,
                                     const int *csrColIndA, int blockDim,
                                     const cusparseMatDescr_t descrC, int *bsrRowPtrC,
                                     int *nnzTotalDevHostPtr);
cusparseStatus_t cusparseXcsr2gebsrNnz(cusparseHandle_t handle, cusparseDirection_t dirA, int m,
                                       int n, const cusparseMatDescr_t descrA,
                                       const int *csrRowPtrA, const int *csrColIndA,
                                       const cusparseMatDescr_t descrC, int *bsrRowPtrC,
                                       int rowBlockDim, int colBlockDim, int *nnzTotalDevHostPtr,
                                       void *pBuffer);

/* ---- positions of zero pivots: these wait for the stream */

cusparseStatus_t cusparseXbsrsv2_zeroPivot(cusparseHandle_t handle, bsrsv2Info_t info,
                                           int *position);
cusparseStatus_t cusparseXbsrsm2_zeroPivot(cusparseHandle_t handle, bsrsm2Info_t info,
                                           int *position);
cusparseStatus_t cusparseXcsrilu02_zeroPivot(cusparseHandle_t handle, csrilu02Info_t info,
                                             int *position);
cusparseStatus_t cusparseXbsrilu02_zeroPivot(cusparseHandle_t handle, bsrilu02Info_t info,
                                             int *position);
cusparseStatus_t cusparseXcsric02_zeroPivot(cusparseHandle_t handle, csric02Info_t info,
                                            int *position);
cusparseStatus_t cusparseXbsric02_zeroPivot(cusparseHandle_t handle, bsric02Info_t info,
                                            int *position);

/* ---- for each type */

/* The matrix A in CSR, or in BSR; values that a function changes, or reads. */
#define HEDDLE_CUSPARSE_CSR(V)                                                                     \
    int m, int nnz, const cusparseMatDescr_t descrA, V *csrVal, const int *csrRowPtr,              \
        const int *csrColInd
#define HEDDLE_CUSPARSE_BSR(V)                                                                     \
    cusparseDirection_t dirA, int mb, int nnzb, const cusparseMatDescr_t descrA, V *bsrVal,        \
        const int *bsrRowPtr, const int *bsrColInd, int blockDim
#define HEDDLE_CUSPARSE_BSRSV(V)                                                                   \
    cusparseDirection_t dirA, cusparseOperation_t transA, int mb, int nnzb,                        \
        const cusparseMatDescr_t descrA, V *bsrVal, const int *bsrRowPtr, const int *bsrColInd,    \
        int blockDim, bsrsv2Info_t info
#define HEDDLE_CUSPARSE_BSRSM(V)                                                                   \
    cusparseDirection_t dirA, cusparseOperation_t transA, cusparseOperation_t transXY, int mb,     \
        int n, int nnzb, const cusparseMatDescr_t descrA, V *bsrVal, const int *bsrRowPtr,         \
        const int *bsrColInd, int blockDim, bsrsm2Info_t info

/* An incomplete factor: its three steps. `analyzed`: what the analysis is given. */
#define HEDDLE_CUSPARSE_FACTOR(P, T, name, Name, MATRIX, analyzed)                                 \
    cusparseStatus_t cusparse##P##name##_bufferSize(cusparseHandle_t handle, MATRIX(T),            \
                                                    Name##Info_t info, int *pBufferSizeInBytes);   \
    cusparseStatus_t cusparse##P##name##_analysis(cusparseHandle_t handle, MATRIX(analyzed),       \
                                                  Name##Info_t info, cusparseSolvePolicy_t policy, \
                                                  void *pBuffer);                                  \
    cusparseStatus_t cusparse##P##name(cusparseHandle_t handle, MATRIX(T), Name##Info_t info,      \
                                       cusparseSolvePolicy_t policy, void *pBuffer);

/* Three diagonals. */
#define HEDDLE_CUSPARSE_GTSV(P, T, name)                                                           \
    cusparseStatus_t cusparse##P##name##_bufferSizeExt(                                            \
        cusparseHandle_t handle, int m, int n, const T *dl, const T *d, const T *du, const T *B,   \
        int ldb, size_t *bufferSizeInBytes);                                                       \
    cusparseStatus_t cusparse##P##name(cusparseHandle_t handle, int m, int n, const T *dl,         \
                                       const T *d, const T *du, T *B, int ldb, void *pBuffer);

#define HEDDLE_CUSPARSE_TYPED(P, T, R)                                                             \
    cusparseStatus_t cusparse##P##csrgeam2_bufferSizeExt(                                          \
        cusparseHandle_t handle, int m, int n, const T *alpha, const cusparseMatDescr_t descrA,    \
        int nnzA, const T *csrValA, const int *csrRowPtrA, const int *csrColIndA, const T *beta,   \
        const cusparseMatDescr_t descrB, int nnzB, const T *csrValB, const int *csrRowPtrB,        \
        const int *csrColIndB, const cusparseMatDescr_t descrC, const T *csrValC,                  \
        const int *csrRowPtrC, const int *csrColIndC, size_t *pBufferSizeInBytes);                 \
    cusparseStatus_t cusparse##P##csrgeam2(                                                        \
        cusparseHandle_t handle, int m, int n, const T *alpha, const cusparseMatDescr_t descrA,    \
        int nnzA, const T *csrValA, const int *csrRowPtrA, const int *csrColIndA, const T *beta,   \
        const cusparseMatDescr_t descrB, int nnzB, const T *csrValB, const int *csrRowPtrB,        \
        const int *csrColIndB, const cusparseMatDescr_t descrC, T *csrValC, int *csrRowPtrC,       \
        int *csrColIndC, void *pBuffer);                                                           \
    cusparseStatus_t cusparse##P##bsrmv(                                                           \
        cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA, int mb,     \
        int nb, int nnzb, const T *alpha, const cusparseMatDescr_t descrA, const T *bsrVal,        \
        const int *bsrRowPtr, const int *bsrColInd, int blockDim, const T *x, const T *beta,       \
        T *y);                                                                                     \
    cusparseStatus_t cusparse##P##bsrmm(                                                           \
        cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA,             \
        cusparseOperation_t transB, int mb, int n, int kb, int nnzb, const T *alpha,               \
        const cusparseMatDescr_t descrA, const T *bsrVal, const int *bsrRowPtr,                    \
        const int *bsrColInd, const int blockSize, const T *B, const int ldb, const T *beta, T *C, \
        int ldc);                                                                                  \
    cusparseStatus_t cusparse##P##bsrsv2_bufferSize(                                               \
        cusparseHandle_t handle, HEDDLE_CUSPARSE_BSRSV(T), int *pBufferSizeInBytes);               \
    cusparseStatus_t cusparse##P##bsrsv2_analysis(cusparseHandle_t handle,                         \
                                                  HEDDLE_CUSPARSE_BSRSV(const T),                  \
                                                  cusparseSolvePolicy_t policy, void *pBuffer);    \
    cusparseStatus_t cusparse##P##bsrsv2_solve(                                                    \
        cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA, int mb,     \
        int nnzb, const T *alpha, const cusparseMatDescr_t descrA, const T *bsrVal,                \
        const int *bsrRowPtr, const int *bsrColInd, int blockDim, bsrsv2Info_t info, const T *f,   \
        T *x, cusparseSolvePolicy_t policy, void *pBuffer);                                        \
    cusparseStatus_t cusparse##P##bsrsm2_bufferSize(                                               \
        cusparseHandle_t handle, HEDDLE_CUSPARSE_BSRSM(T), int *pBufferSizeInBytes);               \
    cusparseStatus_t cusparse##P##bsrsm2_analysis(cusparseHandle_t handle,                         \
                                                  HEDDLE_CUSPARSE_BSRSM(const T),                  \
                                                  cusparseSolvePolicy_t policy, void *pBuffer);    \
    cusparseStatus_t cusparse##P##bsrsm2_solve(                                                    \
        cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA,             \
        cusparseOperation_t transXY, int mb, int n, int nnzb, const T *alpha,                      \
        const cusparseMatDescr_t descrA, const T *bsrVal, const int *bsrRowPtr,                    \
        const int *bsrColInd, int blockDim, bsrsm2Info_t info, const T *B, int ldb, T *X, int ldx, \
        cusparseSolvePolicy_t policy, void *pBuffer);                                              \
    HEDDLE_CUSPARSE_FACTOR(P, T, csrilu02, csrilu02, HEDDLE_CUSPARSE_CSR, const T)                 \
    HEDDLE_CUSPARSE_FACTOR(P, T, csric02, csric02, HEDDLE_CUSPARSE_CSR, const T)                   \
    HEDDLE_CUSPARSE_FACTOR(P, T, bsrilu02, bsrilu02, HEDDLE_CUSPARSE_BSR, T)                       \
    HEDDLE_CUSPARSE_FACTOR(P, T, bsric02, bsric02, HEDDLE_CUSPARSE_BSR, const T)                   \
    cusparseStatus_t cusparse##P##csrilu02_numericBoost(cusparseHandle_t handle,                   \
                                                        csrilu02Info_t info, int enable_boost,     \
                                                        double *tol, T *boost_val);                \
    cusparseStatus_t cusparse##P##bsrilu02_numericBoost(cusparseHandle_t handle,                   \
                                                        bsrilu02Info_t info, int enable_boost,     \
                                                        double *tol, T *boost_val);                \
    HEDDLE_CUSPARSE_GTSV(P, T, gtsv2)                                                              \
    HEDDLE_CUSPARSE_GTSV(P, T, gtsv2_nopivot)                                                      \
    cusparseStatus_t cusparse##P##gtsv2StridedBatch_bufferSizeExt(                                 \
        cusparseHandle_t handle, int m, const T *dl, const T *d, const T *du, const T *x,          \
        int batchCount, int batchStride, size_t *bufferSizeInBytes);                               \
    cusparseStatus_t cusparse##P##gtsv2StridedBatch(cusparseHandle_t handle, int m, const T *dl,   \
                                                    const T *d, const T *du, T *x, int batchCount, \
                                                    int batchStride, void *pBuffer);               \
    cusparseStatus_t cusparse##P##gtsvInterleavedBatch_bufferSizeExt(                              \
        cusparseHandle_t handle, int algo, int m, const T *dl, const T *d, const T *du,            \
        const T *x, int batchCount, size_t *pBufferSizeInBytes);                                   \
    cusparseStatus_t cusparse##P##gtsvInterleavedBatch(cusparseHandle_t handle, int algo, int m,   \
                                                       T *dl, T *d, T *du, T *x, int batchCount,   \
                                                       void *pBuffer);                             \
    cusparseStatus_t cusparse##P##gpsvInterleavedBatch_bufferSizeExt(                              \
        cusparseHandle_t handle, int algo, int m, const T *ds, const T *dl, const T *d,            \
        const T *du, const T *dw, const T *x, int batchCount, size_t *pBufferSizeInBytes);         \
    cusparseStatus_t cusparse##P##gpsvInterleavedBatch(cusparseHandle_t handle, int algo, int m,   \
                                                       T *ds, T *dl, T *d, T *du, T *dw, T *x,     \
                                                       int batchCount, void *pBuffer);             \
    cusparseStatus_t cusparse##P##nnz(cusparseHandle_t handle, cusparseDirection_t dirA, int m,    \
                                      int n, const cusparseMatDescr_t descrA, const T *A, int lda, \
                                      int *nnzPerRowCol, int *nnzTotalDevHostPtr);                 \
    cusparseStatus_t cusparse##P##nnz_compress(                                                    \
        cusparseHandle_t handle, int m, const cusparseMatDescr_t descr, const T *csrValA,          \
        const int *csrRowPtrA, int *nnzPerRow, int *nnzC, T tol);                                  \
    cusparseStatus_t cusparse##P##csr2csr_compress(                                                \
        cusparseHandle_t handle, int m, int n, const cusparseMatDescr_t descrA, const T *csrValA,  \
        const int *csrColIndA, const int *csrRowPtrA, int nnzA, const int *nnzPerRow, T *csrValC,  \
        int *csrColIndC, int *csrRowPtrC, T tol);                                                  \
    cusparseStatus_t cusparse##P##csr2bsr(                                                         \
        cusparseHandle_t handle, cusparseDirection_t dirA, int m, int n,                           \
        const cusparseMatDescr_t descrA, const T *csrValA, const int *csrRowPtrA,                  \
        const int *csrColIndA, int blockDim, const cusparseMatDescr_t descrC, T *bsrValC,          \
        int *bsrRowPtrC, int *bsrColIndC);                                                         \
    cusparseStatus_t cusparse##P##bsr2csr(                                                         \
        cusparseHandle_t handle, cusparseDirection_t dirA, int mb, int nb,                         \
        const cusparseMatDescr_t descrA, const T *bsrValA, const int *bsrRowPtrA,                  \
        const int *bsrColIndA, int blockDim, const cusparseMatDescr_t descrC, T *csrValC,          \
        int *csrRowPtrC, int *csrColIndC);                                                         \
    cusparseStatus_t cusparse##P##csr2gebsr_bufferSize(                                            \
        cusparseHandle_t handle, cusparseDirection_t dirA, int m, int n,                           \
        const cusparseMatDescr_t descrA, const T *csrValA, const int *csrRowPtrA,                  \
        const int *csrColIndA, int rowBlockDim, int colBlockDim, int *pBufferSizeInBytes);         \
    cusparseStatus_t cusparse##P##csr2gebsr(                                                       \
        cusparseHandle_t handle, cusparseDirection_t dirA, int m, int n,                           \
        const cusparseMatDescr_t descrA, const T *csrValA, const int *csrRowPtrA,                  \
        const int *csrColIndA, const cusparseMatDescr_t descrC, T *bsrValC, int *bsrRowPtrC,       \
        int *bsrColIndC, int rowBlockDim, int colBlockDim, void *pBuffer);                         \
    cusparseStatus_t cusparse##P##gebsr2csr(                                                       \
        cusparseHandle_t handle, cusparseDirection_t dirA, int mb, int nb,                         \
        const cusparseMatDescr_t descrA, const T *bsrValA, const int *bsrRowPtrA,                  \
        const int *bsrColIndA, int rowBlockDim, int colBlockDim, const cusparseMatDescr_t descrC,  \
        T *csrValC, int *csrRowPtrC, int *csrColIndC);                                             \
    cusparseStatus_t cusparse##P##csrcolor(                                                        \
        cusparseHandle_t handle, int m, int nnz, const cusparseMatDescr_t descrA,                  \
        const T *csrValA, const int *csrRowPtrA, const int *csrColIndA, const R *fractionToColor,  \
        int *ncolors, int *coloring, int *reordering, const cusparseColorInfo_t info);
HEDDLE_CUSPARSE_TYPED(S, float, float)
HEDDLE_CUSPARSE_TYPED(D, double, double)
HEDDLE_CUSPARSE_TYPED(C, cuComplex, float)
HEDDLE_CUSPARSE_TYPED(Z, cuDoubleComplex, double)
#undef HEDDLE_CUSPARSE_TYPED

/* ---- what is above a threshold, or above a part of all magnitudes: of reals and halves */

/* The steps, with a threshold or a percentage and what is kept of it. */
#define HEDDLE_CUSPARSE_PRUNE_STEPS(P, T, By, LIMIT, INFO)                                         \
    cusparseStatus_t cusparse##P##pruneDense2csr##By##_bufferSizeExt(                              \
        cusparseHandle_t handle, int m, int n, const T *A, int lda, LIMIT,                         \
        const cusparseMatDescr_t descrC, const T *csrValC, const int *csrRowPtrC,                  \
        const int *csrColIndC, INFO size_t *pBufferSizeInBytes);                                   \
    cusparseStatus_t cusparse##P##pruneDense2csrNnz##By(                                           \
        cusparseHandle_t handle, int m, int n, const T *A, int lda, LIMIT,                         \
        const cusparseMatDescr_t descrC, int *csrRowPtrC, int *nnzTotalDevHostPtr,                 \
        INFO void *pBuffer);                                                                       \
    cusparseStatus_t cusparse##P##pruneDense2csr##By(                                              \
        cusparseHandle_t handle, int m, int n, const T *A, int lda, LIMIT,                         \
        const cusparseMatDescr_t descrC, T *csrValC, const int *csrRowPtrC, int *csrColIndC,       \
        INFO void *pBuffer);                                                                       \
    cusparseStatus_t cusparse##P##pruneCsr2csr##By##_bufferSizeExt(                                \
        cusparseHandle_t handle, int m, int n, int nnzA, const cusparseMatDescr_t descrA,          \
        const T *csrValA, const int *csrRowPtrA, const int *csrColIndA, LIMIT,                     \
        const cusparseMatDescr_t descrC, const T *csrValC, const int *csrRowPtrC,                  \
        const int *csrColIndC, INFO size_t *pBufferSizeInBytes);                                   \
    cusparseStatus_t cusparse##P##pruneCsr2csrNnz##By(                                             \
        cusparseHandle_t handle, int m, int n, int nnzA, const cusparseMatDescr_t descrA,          \
        const T *csrValA, const int *csrRowPtrA, const int *csrColIndA, LIMIT,                     \
        const cusparseMatDescr_t descrC, int *csrRowPtrC, int *nnzTotalDevHostPtr,                 \
        INFO void *pBuffer);                                                                       \
    cusparseStatus_t cusparse##P##pruneCsr2csr##By(                                                \
        cusparseHandle_t handle, int m, int n, int nnzA, const cusparseMatDescr_t descrA,          \
        const T *csrValA, const int *csrRowPtrA, const int *csrColIndA, LIMIT,                     \
        const cusparseMatDescr_t descrC, T *csrValC, const int *csrRowPtrC, int *csrColIndC,       \
        INFO void *pBuffer);
#define HEDDLE_CUSPARSE_INFO pruneInfo_t info,
#define HEDDLE_CUSPARSE_PRUNE(P, T)                                                                \
    HEDDLE_CUSPARSE_PRUNE_STEPS(P, T, , const T *threshold, )                                      \
    HEDDLE_CUSPARSE_PRUNE_STEPS(P, T, ByPercentage, float percentage, HEDDLE_CUSPARSE_INFO)
#if defined(__cplusplus) || defined(HEDDLE_HALF_IS_RAW)
HEDDLE_CUSPARSE_PRUNE(H, __half)
#endif
HEDDLE_CUSPARSE_PRUNE(S, float)
HEDDLE_CUSPARSE_PRUNE(D, double)
#undef HEDDLE_CUSPARSE_PRUNE
#undef HEDDLE_CUSPARSE_PRUNE_STEPS

#endif
