/* Handles of cuBLASLt, versions, and what a GPU's heuristics would keep. */
#include "api/cublaslt/cublaslt.h"

const struct lib_info lt_info = {.name = "cuBLASLt",
                                 .version = {CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH},
                                 .cudart = BLAS_CUDART_VERSION,
                                 .statuses = blas_statuses,
                                 .nstatuses = BLAS_STATUSES,
                                 .unknown = "unknown"};

cublasStatus_t cublasLtCreate(cublasLtHandle_t *lightHandle)
{
    cublasHandle_t handle = NULL;
    cublasStatus_t status = blas_context_create(lightHandle ? &handle : NULL, &lt_info);

    if (lightHandle)
        *lightHandle = (cublasLtHandle_t)handle;
    return status;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t lightHandle)
{
    return blas_context_destroy(lt_handle(lightHandle));
}

size_t cublasLtGetVersion(void)
{
    return CUBLAS_VERSION;
}

size_t cublasLtGetCudartVersion(void)
{
    return BLAS_CUDART_VERSION;
}

cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int *value)
{
    return value && lib_property(&lt_info, (int)type, value) ? CUBLAS_STATUS_SUCCESS
                                                             : CUBLAS_STATUS_INVALID_VALUE;
}

const char *cublasLtGetStatusName(cublasStatus_t status)
{
    return lib_status_name(&lt_info, (int)status);
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return blas_status_text(status);
}

/* Of results of heuristics: there is nothing to keep, so the number is kept alone. */
static _Atomic size_t capacity_set = 8192;

cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t *capacity)
{
    if (!capacity)
        return CUBLAS_STATUS_INVALID_VALUE;
    *capacity = atomic_load(&capacity_set);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity)
{
    atomic_store(&capacity_set, capacity);
    return CUBLAS_STATUS_SUCCESS;
}

/* The mask that was set before; what heuristics use of the processor is of no consequence here. */
unsigned cublasLtDisableCpuInstructionsSetMask(unsigned mask)
{
    static _Atomic unsigned set;

    return atomic_exchange(&set, mask);
}
