/* Algorithms: there is one, number 0, for every product that there is. It needs no workspace. */
#include <string.h>

#include "api/cublaslt/cublaslt.h"

static void init(cublasLtMatmulAlgo_t *algo)
{
    struct lt_algo value = {.magic = LT_ALGO, .split_k = 1};

    memset(algo, 0, sizeof(*algo));
    memcpy(algo, &value, sizeof(value));
}

static cublasStatus_t check(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                            cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                            cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                            const char *function)
{
    struct klib_lt_matmul plan;
    uint64_t problems;

    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!desc || !a || !b || !c || !d)
        return lt_error(CUBLAS_STATUS_INVALID_VALUE, function, "a descriptor is NULL");
    return lt_plan((const struct lt_desc *)desc, lt_layout(a), lt_layout(b), lt_layout(c),
                   lt_layout(d), function, &plan, &problems);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc, cublasLtMatrixLayout_t Adesc,
    cublasLtMatrixLayout_t Bdesc, cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
    cublasLtMatmulPreference_t preference, int requestedAlgoCount,
    cublasLtMatmulHeuristicResult_t heuristicResultsArray[], int *returnAlgoCount)
{
    if (returnAlgoCount)
        *returnAlgoCount = 0;
    if (!preference || requestedAlgoCount <= 0 || !heuristicResultsArray || !returnAlgoCount)
        return lt_error(CUBLAS_STATUS_INVALID_VALUE, __func__, "an argument is NULL or 0");
    cublasStatus_t status = check(lightHandle, operationDesc, Adesc, Bdesc, Cdesc, Ddesc, __func__);
    if (status)
        return status;
    heuristicResultsArray[0] = (cublasLtMatmulHeuristicResult_t){.wavesCount = 1};
    init(&heuristicResultsArray[0].algo);
    *returnAlgoCount = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t lightHandle,
                                        cublasComputeType_t computeType, cudaDataType_t scaleType,
                                        cudaDataType_t Atype, cudaDataType_t Btype,
                                        cudaDataType_t Ctype, cudaDataType_t Dtype,
                                        int requestedAlgoCount, int algoIdsArray[],
                                        int *returnAlgoCount)
{
    if (!lightHandle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (requestedAlgoCount <= 0 || !algoIdsArray)
        return CUBLAS_STATUS_INVALID_VALUE;
    bool has = lt_has_types(computeType, scaleType, Atype, Btype, Ctype, Dtype);
    if (returnAlgoCount)
        *returnAlgoCount = has;
    if (!has)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    algoIdsArray[0] = 0;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t lightHandle, cublasComputeType_t computeType,
                                      cudaDataType_t scaleType, cudaDataType_t Atype,
                                      cudaDataType_t Btype, cudaDataType_t Ctype,
                                      cudaDataType_t Dtype, int algoId, cublasLtMatmulAlgo_t *algo)
{
    if (!lightHandle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!algo || algoId)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!lt_has_types(computeType, scaleType, Atype, Btype, Ctype, Dtype))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    init(algo);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t lightHandle,
                                       cublasLtMatmulDesc_t operationDesc,
                                       cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                       cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                       const cublasLtMatmulAlgo_t *algo,
                                       cublasLtMatmulHeuristicResult_t *result)
{
    if (!algo || !result)
        return CUBLAS_STATUS_INVALID_VALUE;
    *result = (cublasLtMatmulHeuristicResult_t){.algo = *algo, .wavesCount = 1};
    if (((const struct lt_algo *)algo)->magic != LT_ALGO)
        result->state = CUBLAS_STATUS_INVALID_VALUE;
    else
        result->state = check(lightHandle, operationDesc, Adesc, Bdesc, Cdesc, Ddesc, __func__);
    return result->state;
}
