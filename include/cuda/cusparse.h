/*
 * cuSPARSE: handles, descriptors, the generic functions and those of one type. Names and values as in
 * NVIDIA's cuSPARSE documentation. docs/cusparse.md says what differs from a GPU.
 */
#if !defined(HEDDLE_CUDA_CUSPARSE_H) && !defined(CUSPARSE_H_)
#define HEDDLE_CUDA_CUSPARSE_H

/* By this name a toolkit's headers beside the program and these know of each other. */
#define CUSPARSE_H_

#ifndef CUSPARSEAPI
#define CUSPARSEAPI
#endif

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cuComplex.h"
#include "cuda_fp16.h"
#include "driver_types.h"
#include "library_types.h"

#define CUSPARSE_VER_MAJOR 12
#define CUSPARSE_VER_MINOR 6
#define CUSPARSE_VER_PATCH 3
#define CUSPARSE_VER_BUILD 3
#define CUSPARSE_VERSION   (CUSPARSE_VER_MAJOR * 1000 + CUSPARSE_VER_MINOR * 100 + CUSPARSE_VER_PATCH)

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum {
    CUSPARSE_STATUS_SUCCESS = 0,
    CUSPARSE_STATUS_NOT_INITIALIZED = 1,
    CUSPARSE_STATUS_ALLOC_FAILED = 2,
    CUSPARSE_STATUS_INVALID_VALUE = 3,
    CUSPARSE_STATUS_ARCH_MISMATCH = 4,
    CUSPARSE_STATUS_MAPPING_ERROR = 5,
    CUSPARSE_STATUS_EXECUTION_FAILED = 6,
    CUSPARSE_STATUS_INTERNAL_ERROR = 7,
    CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED = 8,
    CUSPARSE_STATUS_ZERO_PIVOT = 9,
    CUSPARSE_STATUS_NOT_SUPPORTED = 10,
    CUSPARSE_STATUS_INSUFFICIENT_RESOURCES = 11
} cusparseStatus_t;

typedef enum {
    CUSPARSE_POINTER_MODE_HOST = 0,
    CUSPARSE_POINTER_MODE_DEVICE = 1
} cusparsePointerMode_t;
typedef enum { CUSPARSE_ACTION_SYMBOLIC = 0, CUSPARSE_ACTION_NUMERIC = 1 } cusparseAction_t;
typedef enum {
    CUSPARSE_MATRIX_TYPE_GENERAL = 0,
    CUSPARSE_MATRIX_TYPE_SYMMETRIC = 1,
    CUSPARSE_MATRIX_TYPE_HERMITIAN = 2,
    CUSPARSE_MATRIX_TYPE_TRIANGULAR = 3
} cusparseMatrixType_t;
typedef enum { CUSPARSE_FILL_MODE_LOWER = 0, CUSPARSE_FILL_MODE_UPPER = 1 } cusparseFillMode_t;
typedef enum { CUSPARSE_DIAG_TYPE_NON_UNIT = 0, CUSPARSE_DIAG_TYPE_UNIT = 1 } cusparseDiagType_t;
typedef enum { CUSPARSE_INDEX_BASE_ZERO = 0, CUSPARSE_INDEX_BASE_ONE = 1 } cusparseIndexBase_t;
typedef enum {
    CUSPARSE_OPERATION_NON_TRANSPOSE = 0,
    CUSPARSE_OPERATION_TRANSPOSE = 1,
    CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE = 2
} cusparseOperation_t;
typedef enum { CUSPARSE_DIRECTION_ROW = 0, CUSPARSE_DIRECTION_COLUMN = 1 } cusparseDirection_t;
typedef enum {
    CUSPARSE_SOLVE_POLICY_NO_LEVEL = 0,
    CUSPARSE_SOLVE_POLICY_USE_LEVEL = 1
} cusparseSolvePolicy_t;
typedef enum { CUSPARSE_CSR2CSC_ALG_DEFAULT = 1, CUSPARSE_CSR2CSC_ALG1 = 1 } cusparseCsr2CscAlg_t;
typedef enum {
    CUSPARSE_FORMAT_CSR = 1,
    CUSPARSE_FORMAT_CSC = 2,
    CUSPARSE_FORMAT_COO = 3,
    CUSPARSE_FORMAT_BLOCKED_ELL = 5,
    CUSPARSE_FORMAT_BSR = 6,
    CUSPARSE_FORMAT_SLICED_ELLPACK = 7
} cusparseFormat_t;
typedef enum { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW = 2 } cusparseOrder_t;
typedef enum {
    CUSPARSE_INDEX_16U = 1,
    CUSPARSE_INDEX_32I = 2,
    CUSPARSE_INDEX_64I = 3
} cusparseIndexType_t;
typedef enum {
    CUSPARSE_SPMAT_FILL_MODE = 0,
    CUSPARSE_SPMAT_DIAG_TYPE = 1,
    CUSPARSE_SPMAT_STORAGE = 2,
    CUSPARSE_SPMAT_SYMMETRY_TYPE = 3
} cusparseSpMatAttribute_t;
typedef enum {
    CUSPARSE_STORE_FULL = 0,
    CUSPARSE_STORE_LOWER = 1,
    CUSPARSE_STORE_UPPER = 2
} cusparseSpMatStorage_t;
typedef enum {
    CUSPARSE_GENERAL = 0,
    CUSPARSE_SYMMETRIC = 1,
    CUSPARSE_HERMITIAN = 2
} cusparseSymmetryType_t;

/* Algorithms. */
typedef enum { CUSPARSE_SPARSETODENSE_ALG_DEFAULT = 0 } cusparseSparseToDenseAlg_t;
typedef enum { CUSPARSE_DENSETOSPARSE_ALG_DEFAULT = 0 } cusparseDenseToSparseAlg_t;
typedef enum {
    CUSPARSE_SPMV_ALG_DEFAULT = 0,
    CUSPARSE_SPMV_COO_ALG1 = 1,
    CUSPARSE_SPMV_CSR_ALG1 = 2,
    CUSPARSE_SPMV_CSR_ALG2 = 3,
    CUSPARSE_SPMV_COO_ALG2 = 4,
    CUSPARSE_SPMV_SELL_ALG1 = 5,
    CUSPARSE_SPMV_BSR_ALG1 = 6
} cusparseSpMVAlg_t;
typedef enum {
    CUSPARSE_SPSV_ALG_DEFAULT = 0,
    CUSPARSE_SPSV_ALG1 = 1,
    CUSPARSE_SPSV_ALG2 = 2
} cusparseSpSVAlg_t;
typedef enum {
    CUSPARSE_SPSV_UPDATE_GENERAL = 0,
    CUSPARSE_SPSV_UPDATE_DIAGONAL = 1
} cusparseSpSVUpdate_t;
typedef enum { CUSPARSE_SPSM_ALG_DEFAULT = 0 } cusparseSpSMAlg_t;
typedef enum {
    CUSPARSE_SPSM_UPDATE_GENERAL = 0,
    CUSPARSE_SPSM_UPDATE_DIAGONAL = 1
} cusparseSpSMUpdate_t;
typedef enum {
    CUSPARSE_SPMM_ALG_DEFAULT = 0,
    CUSPARSE_SPMM_COO_ALG1 = 1,
    CUSPARSE_SPMM_COO_ALG2 = 2,
    CUSPARSE_SPMM_COO_ALG3 = 3,
    CUSPARSE_SPMM_CSR_ALG1 = 4,
    CUSPARSE_SPMM_COO_ALG4 = 5,
    CUSPARSE_SPMM_CSR_ALG2 = 6,
    CUSPARSE_SPMM_CSR_ALG3 = 12,
    CUSPARSE_SPMM_BLOCKED_ELL_ALG1 = 13,
    CUSPARSE_SPMM_BSR_ALG1 = 14
} cusparseSpMMAlg_t;
/* Two of them are spelled so. */
typedef enum {
    CUSPARSE_SPGEMM_DEFAULT = 0,
    CUSPARSE_SPGEMM_CSR_ALG_DETERMINITIC = 1,
    CUSPARSE_SPGEMM_CSR_ALG_NONDETERMINITIC = 2,
    CUSPARSE_SPGEMM_ALG1 = 3,
    CUSPARSE_SPGEMM_ALG2 = 4,
    CUSPARSE_SPGEMM_ALG3 = 5
} cusparseSpGEMMAlg_t;
typedef enum { CUSPARSE_SPGEAM_ALG_DEFAULT = 0, CUSPARSE_SPGEAM_ALG1 = 1 } cusparseSpGEAMAlg_t;
typedef enum { CUSPARSE_SDDMM_ALG_DEFAULT = 0 } cusparseSDDMMAlg_t;
typedef enum { CUSPARSE_SPMM_OP_ALG_DEFAULT = 0 } cusparseSpMMOpAlg_t;

typedef struct cusparseContext *cusparseHandle_t;
typedef struct cusparseMatDescr *cusparseMatDescr_t;
typedef struct bsrsv2Info *bsrsv2Info_t;
typedef struct bsrsm2Info *bsrsm2Info_t;
typedef struct csric02Info *csric02Info_t;
typedef struct bsric02Info *bsric02Info_t;
typedef struct csrilu02Info *csrilu02Info_t;
typedef struct bsrilu02Info *bsrilu02Info_t;
typedef struct cusparseColorInfo *cusparseColorInfo_t;
typedef struct pruneInfo *pruneInfo_t;
typedef struct cusparseSpVecDescr *cusparseSpVecDescr_t;
typedef struct cusparseDnVecDescr *cusparseDnVecDescr_t;
typedef struct cusparseSpMatDescr *cusparseSpMatDescr_t;
typedef struct cusparseDnMatDescr *cusparseDnMatDescr_t;
typedef const struct cusparseSpVecDescr *cusparseConstSpVecDescr_t;
typedef const struct cusparseDnVecDescr *cusparseConstDnVecDescr_t;
typedef const struct cusparseSpMatDescr *cusparseConstSpMatDescr_t;
typedef const struct cusparseDnMatDescr *cusparseConstDnMatDescr_t;
typedef struct cusparseSpSVDescr *cusparseSpSVDescr_t;
typedef struct cusparseSpSMDescr *cusparseSpSMDescr_t;
typedef struct cusparseSpGEMMDescr *cusparseSpGEMMDescr_t;
typedef struct cusparseSpGEAMDescr *cusparseSpGEAMDescr_t;
typedef struct cusparseSpMMOpPlan *cusparseSpMMOpPlan_t;
typedef void (*cusparseLoggerCallback_t)(int logLevel, const char *functionName,
                                         const char *message);

/* ---- handles and the log */

cusparseStatus_t cusparseCreate(cusparseHandle_t *handle);
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle);
cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int *version);
cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int *value);
const char *cusparseGetErrorName(cusparseStatus_t status);
const char *cusparseGetErrorString(cusparseStatus_t status);
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t streamId);
cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t *streamId);
cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode);
cusparseStatus_t cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t *mode);
cusparseStatus_t cusparseLoggerSetCallback(cusparseLoggerCallback_t callback);
cusparseStatus_t cusparseLoggerSetFile(FILE *file);
cusparseStatus_t cusparseLoggerOpenFile(const char *logFile);
cusparseStatus_t cusparseLoggerSetLevel(int level);
cusparseStatus_t cusparseLoggerSetMask(int mask);
cusparseStatus_t cusparseLoggerForceDisable(void);

/* ---- descriptors of matrices of the functions of one type */

cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t *descr);
cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t descr);
#define HEDDLE_CUSPARSE_KEPT(Name, T)                                                              \
    cusparseStatus_t cusparseSet##Name(cusparseMatDescr_t descr, T value);                         \
    T cusparseGet##Name(const cusparseMatDescr_t descr);
HEDDLE_CUSPARSE_KEPT(MatType, cusparseMatrixType_t)
HEDDLE_CUSPARSE_KEPT(MatFillMode, cusparseFillMode_t)
HEDDLE_CUSPARSE_KEPT(MatDiagType, cusparseDiagType_t)
HEDDLE_CUSPARSE_KEPT(MatIndexBase, cusparseIndexBase_t)
#undef HEDDLE_CUSPARSE_KEPT

#define HEDDLE_CUSPARSE_INFO(Name, T)                                                              \
    cusparseStatus_t cusparseCreate##Name(T *info);                                                \
    cusparseStatus_t cusparseDestroy##Name(T info);
HEDDLE_CUSPARSE_INFO(Csric02Info, csric02Info_t)
HEDDLE_CUSPARSE_INFO(Bsric02Info, bsric02Info_t)
HEDDLE_CUSPARSE_INFO(Csrilu02Info, csrilu02Info_t)
HEDDLE_CUSPARSE_INFO(Bsrilu02Info, bsrilu02Info_t)
HEDDLE_CUSPARSE_INFO(Bsrsv2Info, bsrsv2Info_t)
HEDDLE_CUSPARSE_INFO(Bsrsm2Info, bsrsm2Info_t)
HEDDLE_CUSPARSE_INFO(ColorInfo, cusparseColorInfo_t)
HEDDLE_CUSPARSE_INFO(PruneInfo, pruneInfo_t)
#undef HEDDLE_CUSPARSE_INFO

/* ---- descriptors of the generic functions: with and without const */

#define HEDDLE_CUSPARSE_DESCRIPTORS(Const, C)                                                      \
    cusparseStatus_t cusparseCreate##Const##SpVec(                                                 \
        cusparse##Const##SpVecDescr_t *spVecDescr, int64_t size, int64_t nnz, C void *indices,     \
        C void *values, cusparseIndexType_t idxType, cusparseIndexBase_t idxBase,                  \
        cudaDataType valueType);                                                                   \
    cusparseStatus_t cusparse##Const##SpVecGet(                                                    \
        cusparse##Const##SpVecDescr_t spVecDescr, int64_t *size, int64_t *nnz, C void **indices,   \
        C void **values, cusparseIndexType_t *idxType, cusparseIndexBase_t *idxBase,               \
        cudaDataType *valueType);                                                                  \
    cusparseStatus_t cusparse##Const##SpVecGetValues(cusparse##Const##SpVecDescr_t spVecDescr,     \
                                                     C void **values);                             \
    cusparseStatus_t cusparseCreate##Const##DnVec(cusparse##Const##DnVecDescr_t *dnVecDescr,       \
                                                  int64_t size, C void *values,                    \
                                                  cudaDataType valueType);                         \
    cusparseStatus_t cusparse##Const##DnVecGet(cusparse##Const##DnVecDescr_t dnVecDescr,           \
                                               int64_t *size, C void **values,                     \
                                               cudaDataType *valueType);                           \
    cusparseStatus_t cusparse##Const##DnVecGetValues(cusparse##Const##DnVecDescr_t dnVecDescr,     \
                                                     C void **values);                             \
    cusparseStatus_t cusparse##Const##SpMatGetValues(cusparse##Const##SpMatDescr_t spMatDescr,     \
                                                     C void **values);                             \
    cusparseStatus_t cusparseCreate##Const##Csr(                                                   \
        cusparse##Const##SpMatDescr_t *spMatDescr, int64_t rows, int64_t cols, int64_t nnz,        \
        C void *csrRowOffsets, C void *csrColInd, C void *csrValues,                               \
        cusparseIndexType_t csrRowOffsetsType, cusparseIndexType_t csrColIndType,                  \
        cusparseIndexBase_t idxBase, cudaDataType valueType);                                      \
    cusparseStatus_t cusparse##Const##CsrGet(                                                      \
        cusparse##Const##SpMatDescr_t spMatDescr, int64_t *rows, int64_t *cols, int64_t *nnz,      \
        C void **csrRowOffsets, C void **csrColInd, C void **csrValues,                            \
        cusparseIndexType_t *csrRowOffsetsType, cusparseIndexType_t *csrColIndType,                \
        cusparseIndexBase_t *idxBase, cudaDataType *valueType);                                    \
    cusparseStatus_t cusparseCreate##Const##Csc(                                                   \
        cusparse##Const##SpMatDescr_t *spMatDescr, int64_t rows, int64_t cols, int64_t nnz,        \
        C void *cscColOffsets, C void *cscRowInd, C void *cscValues,                               \
        cusparseIndexType_t cscColOffsetsType, cusparseIndexType_t cscRowIndType,                  \
        cusparseIndexBase_t idxBase, cudaDataType valueType);                                      \
    cusparseStatus_t cusparse##Const##CscGet(                                                      \
        cusparse##Const##SpMatDescr_t spMatDescr, int64_t *rows, int64_t *cols, int64_t *nnz,      \
        C void **cscColOffsets, C void **cscRowInd, C void **cscValues,                            \
        cusparseIndexType_t *cscColOffsetsType, cusparseIndexType_t *cscRowIndType,                \
        cusparseIndexBase_t *idxBase, cudaDataType *valueType);                                    \
    cusparseStatus_t cusparseCreate##Const##Coo(                                                   \
        cusparse##Const##SpMatDescr_t *spMatDescr, int64_t rows, int64_t cols, int64_t nnz,        \
        C void *cooRowInd, C void *cooColInd, C void *cooValues, cusparseIndexType_t cooIdxType,   \
        cusparseIndexBase_t idxBase, cudaDataType valueType);                                      \
    cusparseStatus_t cusparse##Const##CooGet(                                                      \
        cusparse##Const##SpMatDescr_t spMatDescr, int64_t *rows, int64_t *cols, int64_t *nnz,      \
        C void **cooRowInd, C void **cooColInd, C void **cooValues, cusparseIndexType_t *idxType,  \
        cusparseIndexBase_t *idxBase, cudaDataType *valueType);                                    \
    cusparseStatus_t cusparseCreate##Const##Bsr(                                                   \
        cusparse##Const##SpMatDescr_t *spMatDescr, int64_t brows, int64_t bcols, int64_t bnnz,     \
        int64_t rowBlockSize, int64_t colBlockSize, C void *bsrRowOffsets, C void *bsrColInd,      \
        C void *bsrValues, cusparseIndexType_t bsrRowOffsetsType,                                  \
        cusparseIndexType_t bsrColIndType, cusparseIndexBase_t idxBase, cudaDataType valueType,    \
        cusparseOrder_t order);                                                                    \
    cusparseStatus_t cusparseCreate##Const##BlockedEll(                                            \
        cusparse##Const##SpMatDescr_t *spMatDescr, int64_t rows, int64_t cols,                     \
        int64_t ellBlockSize, int64_t ellCols, C void *ellColInd, C void *ellValue,                \
        cusparseIndexType_t ellIdxType, cusparseIndexBase_t idxBase, cudaDataType valueType);      \
    cusparseStatus_t cusparse##Const##BlockedEllGet(                                               \
        cusparse##Const##SpMatDescr_t spMatDescr, int64_t *rows, int64_t *cols,                    \
        int64_t *ellBlockSize, int64_t *ellCols, C void **ellColInd, C void **ellValue,            \
        cusparseIndexType_t *ellIdxType, cusparseIndexBase_t *idxBase, cudaDataType *valueType);   \
    cusparseStatus_t cusparseCreate##Const##SlicedEll(                                             \
        cusparse##Const##SpMatDescr_t *spMatDescr, int64_t rows, int64_t cols, int64_t nnz,        \
        int64_t sellValuesSize, int64_t sliceSize, C void *sellSliceOffsets, C void *sellColInd,   \
        C void *sellValues, cusparseIndexType_t sellSliceOffsetsType,                              \
        cusparseIndexType_t sellColIndType, cusparseIndexBase_t idxBase, cudaDataType valueType);  \
    cusparseStatus_t cusparseCreate##Const##DnMat(                                                 \
        cusparse##Const##DnMatDescr_t *dnMatDescr, int64_t rows, int64_t cols, int64_t ld,         \
        C void *values, cudaDataType valueType, cusparseOrder_t order);                            \
    cusparseStatus_t cusparse##Const##DnMatGet(                                                    \
        cusparse##Const##DnMatDescr_t dnMatDescr, int64_t *rows, int64_t *cols, int64_t *ld,       \
        C void **values, cudaDataType *type, cusparseOrder_t *order);                              \
    cusparseStatus_t cusparse##Const##DnMatGetValues(cusparse##Const##DnMatDescr_t dnMatDescr,     \
                                                     C void **values);
HEDDLE_CUSPARSE_DESCRIPTORS(, )
HEDDLE_CUSPARSE_DESCRIPTORS(Const, const)
#undef HEDDLE_CUSPARSE_DESCRIPTORS

cusparseStatus_t cusparseDestroySpVec(cusparseConstSpVecDescr_t spVecDescr);
cusparseStatus_t cusparseSpVecGetIndexBase(cusparseConstSpVecDescr_t spVecDescr,
                                           cusparseIndexBase_t *idxBase);
cusparseStatus_t cusparseSpVecSetValues(cusparseSpVecDescr_t spVecDescr, void *values);
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t dnVecDescr);
cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t dnVecDescr, void *values);
cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t spMatDescr);
cusparseStatus_t cusparseSpMatGetFormat(cusparseConstSpMatDescr_t spMatDescr,
                                        cusparseFormat_t *format);
cusparseStatus_t cusparseSpMatGetIndexBase(cusparseConstSpMatDescr_t spMatDescr,
                                           cusparseIndexBase_t *idxBase);
cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t spMatDescr, void *values);
cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t spMatDescr, int64_t *rows,
                                      int64_t *cols, int64_t *nnz);
cusparseStatus_t cusparseSpMatGetStridedBatch(cusparseConstSpMatDescr_t spMatDescr,
                                              int *batchCount);
cusparseStatus_t cusparseCooSetStridedBatch(cusparseSpMatDescr_t spMatDescr, int batchCount,
                                            int64_t batchStride);
cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t spMatDescr, int batchCount,
                                            int64_t offsetsBatchStride,
                                            int64_t columnsValuesBatchStride);
cusparseStatus_t cusparseBsrSetStridedBatch(cusparseSpMatDescr_t spMatDescr, int batchCount,
                                            int64_t offsetsBatchStride, int64_t columnsBatchStride,
                                            int64_t ValuesBatchStride);
cusparseStatus_t cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t spMatDescr,
                                           cusparseSpMatAttribute_t attribute, void *data,
                                           size_t dataSize);
cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t spMatDescr,
                                           cusparseSpMatAttribute_t attribute, void *data,
                                           size_t dataSize);
cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t spMatDescr, void *csrRowOffsets,
                                        void *csrColInd, void *csrValues);
cusparseStatus_t cusparseCscSetPointers(cusparseSpMatDescr_t spMatDescr, void *cscColOffsets,
                                        void *cscRowInd, void *cscValues);
cusparseStatus_t cusparseCooSetPointers(cusparseSpMatDescr_t spMatDescr, void *cooRows,
                                        void *cooColumns, void *cooValues);
cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t dnMatDescr);
cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t dnMatDescr, void *values);
cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t dnMatDescr, int batchCount,
                                              int64_t batchStride);
cusparseStatus_t cusparseDnMatGetStridedBatch(cusparseConstDnMatDescr_t dnMatDescr, int *batchCount,
                                              int64_t *batchStride);

/* ---- generic functions */

cusparseStatus_t cusparseAxpby(cusparseHandle_t handle, const void *alpha,
                               cusparseConstSpVecDescr_t vecX, const void *beta,
                               cusparseDnVecDescr_t vecY);
cusparseStatus_t cusparseGather(cusparseHandle_t handle, cusparseConstDnVecDescr_t vecY,
                                cusparseSpVecDescr_t vecX);
cusparseStatus_t cusparseScatter(cusparseHandle_t handle, cusparseConstSpVecDescr_t vecX,
                                 cusparseDnVecDescr_t vecY);
cusparseStatus_t cusparseRot(cusparseHandle_t handle, const void *c_coeff, const void *s_coeff,
                             cusparseSpVecDescr_t vecX, cusparseDnVecDescr_t vecY);
cusparseStatus_t cusparseSpVV_bufferSize(cusparseHandle_t handle, cusparseOperation_t opX,
                                         cusparseConstSpVecDescr_t vecX,
                                         cusparseConstDnVecDescr_t vecY, const void *result,
                                         cudaDataType computeType, size_t *bufferSize);
cusparseStatus_t cusparseSpVV(cusparseHandle_t handle, cusparseOperation_t opX,
                              cusparseConstSpVecDescr_t vecX, cusparseConstDnVecDescr_t vecY,
                              void *result, cudaDataType computeType, void *externalBuffer);
cusparseStatus_t cusparseSparseToDense_bufferSize(cusparseHandle_t handle,
                                                  cusparseConstSpMatDescr_t matA,
                                                  cusparseDnMatDescr_t matB,
                                                  cusparseSparseToDenseAlg_t alg,
                                                  size_t *bufferSize);
cusparseStatus_t cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t matA,
                                       cusparseDnMatDescr_t matB, cusparseSparseToDenseAlg_t alg,
                                       void *externalBuffer);
cusparseStatus_t cusparseDenseToSparse_bufferSize(cusparseHandle_t handle,
                                                  cusparseConstDnMatDescr_t matA,
                                                  cusparseSpMatDescr_t matB,
                                                  cusparseDenseToSparseAlg_t alg,
                                                  size_t *bufferSize);
cusparseStatus_t cusparseDenseToSparse_analysis(cusparseHandle_t handle,
                                                cusparseConstDnMatDescr_t matA,
                                                cusparseSpMatDescr_t matB,
                                                cusparseDenseToSparseAlg_t alg,
                                                void *externalBuffer);
cusparseStatus_t cusparseDenseToSparse_convert(cusparseHandle_t handle,
                                               cusparseConstDnMatDescr_t matA,
                                               cusparseSpMatDescr_t matB,
                                               cusparseDenseToSparseAlg_t alg,
                                               void *externalBuffer);

/* Arguments that a function's steps share. */
#define HEDDLE_CUSPARSE_SPMV                                                                       \
    cusparseHandle_t handle, cusparseOperation_t opA, const void *alpha,                           \
        cusparseConstSpMatDescr_t matA, cusparseConstDnVecDescr_t vecX, const void *beta,          \
        cusparseDnVecDescr_t vecY, cudaDataType computeType, cusparseSpMVAlg_t alg
cusparseStatus_t cusparseSpMV_bufferSize(HEDDLE_CUSPARSE_SPMV, size_t *bufferSize);
cusparseStatus_t cusparseSpMV_preprocess(HEDDLE_CUSPARSE_SPMV, void *externalBuffer);
cusparseStatus_t cusparseSpMV(HEDDLE_CUSPARSE_SPMV, void *externalBuffer);

#define HEDDLE_CUSPARSE_SPMM                                                                       \
    cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void *alpha,  \
        cusparseConstSpMatDescr_t matA, cusparseConstDnMatDescr_t matB, const void *beta,          \
        cusparseDnMatDescr_t matC, cudaDataType computeType, cusparseSpMMAlg_t alg
cusparseStatus_t cusparseSpMM_bufferSize(HEDDLE_CUSPARSE_SPMM, size_t *bufferSize);
cusparseStatus_t cusparseSpMM_preprocess(HEDDLE_CUSPARSE_SPMM, void *externalBuffer);
cusparseStatus_t cusparseSpMM(HEDDLE_CUSPARSE_SPMM, void *externalBuffer);

#define HEDDLE_CUSPARSE_SPSV                                                                       \
    cusparseHandle_t handle, cusparseOperation_t opA, const void *alpha,                           \
        cusparseConstSpMatDescr_t matA, cusparseConstDnVecDescr_t vecX, cusparseDnVecDescr_t vecY, \
        cudaDataType computeType, cusparseSpSVAlg_t alg, cusparseSpSVDescr_t spsvDescr
cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t *descr);
cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t descr);
cusparseStatus_t cusparseSpSV_bufferSize(HEDDLE_CUSPARSE_SPSV, size_t *bufferSize);
cusparseStatus_t cusparseSpSV_analysis(HEDDLE_CUSPARSE_SPSV, void *externalBuffer);
cusparseStatus_t cusparseSpSV_solve(HEDDLE_CUSPARSE_SPSV);
cusparseStatus_t cusparseSpSV_updateMatrix(cusparseHandle_t handle, cusparseSpSVDescr_t spsvDescr,
                                           void *newValues, cusparseSpSVUpdate_t updatePart);

#define HEDDLE_CUSPARSE_SPSM                                                                       \
    cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void *alpha,  \
        cusparseConstSpMatDescr_t matA, cusparseConstDnMatDescr_t matB, cusparseDnMatDescr_t matC, \
        cudaDataType computeType, cusparseSpSMAlg_t alg, cusparseSpSMDescr_t spsmDescr
cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t *descr);
cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t descr);
cusparseStatus_t cusparseSpSM_bufferSize(HEDDLE_CUSPARSE_SPSM, size_t *bufferSize);
cusparseStatus_t cusparseSpSM_analysis(HEDDLE_CUSPARSE_SPSM, void *externalBuffer);
cusparseStatus_t cusparseSpSM_solve(HEDDLE_CUSPARSE_SPSM);
cusparseStatus_t cusparseSpSM_updateMatrix(cusparseHandle_t handle, cusparseSpSMDescr_t spsmDescr,
                                           void *newValues, cusparseSpSMUpdate_t updatePart);

#define HEDDLE_CUSPARSE_SPGEMM                                                                     \
    cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void *alpha,  \
        cusparseConstSpMatDescr_t matA, cusparseConstSpMatDescr_t matB, const void *beta,          \
        cusparseSpMatDescr_t matC, cudaDataType computeType, cusparseSpGEMMAlg_t alg,              \
        cusparseSpGEMMDescr_t spgemmDescr
#define HEDDLE_CUSPARSE_SPGEMM_REUSE                                                               \
    cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB,                     \
        cusparseConstSpMatDescr_t matA, cusparseConstSpMatDescr_t matB, cusparseSpMatDescr_t matC, \
        cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t spgemmDescr
cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t *descr);
cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t descr);
cusparseStatus_t cusparseSpGEMM_workEstimation(HEDDLE_CUSPARSE_SPGEMM, size_t *bufferSize1,
                                               void *externalBuffer1);
cusparseStatus_t cusparseSpGEMM_getNumProducts(cusparseSpGEMMDescr_t spgemmDescr,
                                               int64_t *num_prods);
cusparseStatus_t cusparseSpGEMM_estimateMemory(HEDDLE_CUSPARSE_SPGEMM, float chunk_fraction,
                                               size_t *bufferSize3, void *externalBuffer3,
                                               size_t *bufferSize2);
cusparseStatus_t cusparseSpGEMM_compute(HEDDLE_CUSPARSE_SPGEMM, size_t *bufferSize2,
                                        void *externalBuffer2);
cusparseStatus_t cusparseSpGEMM_copy(HEDDLE_CUSPARSE_SPGEMM);
cusparseStatus_t cusparseSpGEMMreuse_workEstimation(HEDDLE_CUSPARSE_SPGEMM_REUSE,
                                                    size_t *bufferSize1, void *externalBuffer1);
cusparseStatus_t cusparseSpGEMMreuse_nnz(HEDDLE_CUSPARSE_SPGEMM_REUSE, size_t *bufferSize2,
                                         void *externalBuffer2, size_t *bufferSize3,
                                         void *externalBuffer3, size_t *bufferSize4,
                                         void *externalBuffer4);
cusparseStatus_t cusparseSpGEMMreuse_copy(HEDDLE_CUSPARSE_SPGEMM_REUSE, size_t *bufferSize5,
                                          void *externalBuffer5);
cusparseStatus_t cusparseSpGEMMreuse_compute(HEDDLE_CUSPARSE_SPGEMM);

#define HEDDLE_CUSPARSE_SPGEAM                                                                     \
    cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void *alpha,  \
        cusparseSpMatDescr_t matA, const void *beta, cusparseSpMatDescr_t matB,                    \
        cusparseSpMatDescr_t matC, cudaDataType computeType, cusparseSpGEAMAlg_t alg,              \
        cusparseSpGEAMDescr_t spgeamDescr
cusparseStatus_t cusparseSpGEAM_createDescr(cusparseSpGEAMDescr_t *descr);
cusparseStatus_t cusparseSpGEAM_destroyDescr(cusparseSpGEAMDescr_t descr);
cusparseStatus_t cusparseSpGEAM_bufferSize(HEDDLE_CUSPARSE_SPGEAM, size_t *bufferSize);
cusparseStatus_t cusparseSpGEAM_nnz(HEDDLE_CUSPARSE_SPGEAM, void *externalBuffer);
cusparseStatus_t cusparseSpGEAM(HEDDLE_CUSPARSE_SPGEAM, void *externalBuffer);

#define HEDDLE_CUSPARSE_SDDMM                                                                      \
    cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void *alpha,  \
        cusparseConstDnMatDescr_t matA, cusparseConstDnMatDescr_t matB, const void *beta,          \
        cusparseSpMatDescr_t matC, cudaDataType computeType, cusparseSDDMMAlg_t alg
cusparseStatus_t cusparseSDDMM_bufferSize(HEDDLE_CUSPARSE_SDDMM, size_t *bufferSize);
cusparseStatus_t cusparseSDDMM_preprocess(HEDDLE_CUSPARSE_SDDMM, void *externalBuffer);
cusparseStatus_t cusparseSDDMM(HEDDLE_CUSPARSE_SDDMM, void *externalBuffer);

/* The product with operators of the program's own: libcusparse refuses it. */
cusparseStatus_t cusparseSpMMOp_createPlan(
    cusparseHandle_t handle, cusparseSpMMOpPlan_t *plan, cusparseOperation_t opA,
    cusparseOperation_t opB, cusparseConstSpMatDescr_t matA, cusparseConstDnMatDescr_t matB,
    cusparseDnMatDescr_t matC, cudaDataType computeType, cusparseSpMMOpAlg_t alg,
    const void *addOperationLtoirBuffer, size_t addOperationBufferSize,
    const void *mulOperationLtoirBuffer, size_t mulOperationBufferSize,
    const void *epilogueLtoirBuffer, size_t epilogueBufferSize, size_t *SpMMWorkspaceSize);
cusparseStatus_t cusparseSpMMOp(cusparseSpMMOpPlan_t plan, void *externalBuffer);
cusparseStatus_t cusparseSpMMOp_destroyPlan(cusparseSpMMOpPlan_t plan);

/* ---- functions of one type */

#include "heddle/cusparse_typed.h"

#if defined(__cplusplus)
}
#endif
#endif
