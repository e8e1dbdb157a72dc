/*
 * Handles and statuses as cuBLAS and cuBLASLt both have them: programs hand a handle of the one to
 * the other, and destroy it with either.
 */
#include <cuda.h>

#include "api/cublas/cublas.h"
#include "base/mem.h"

#define ALL_SPECIAL_VALUES 0xffff

const struct lib_status blas_statuses[BLAS_STATUSES] = {
#define ROW(name) {name, #name},
    ROW(CUBLAS_STATUS_SUCCESS) ROW(CUBLAS_STATUS_NOT_INITIALIZED) ROW(CUBLAS_STATUS_ALLOC_FAILED)
        ROW(CUBLAS_STATUS_INVALID_VALUE) ROW(CUBLAS_STATUS_ARCH_MISMATCH)
            ROW(CUBLAS_STATUS_MAPPING_ERROR) ROW(CUBLAS_STATUS_EXECUTION_FAILED)
                ROW(CUBLAS_STATUS_INTERNAL_ERROR) ROW(CUBLAS_STATUS_NOT_SUPPORTED)
                    ROW(CUBLAS_STATUS_LICENSE_ERROR)
#undef ROW
};

const char *blas_status_text(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_ARCH_MISMATCH:
        return "the function requires an architectural feature absent from the device";
    case CUBLAS_STATUS_MAPPING_ERROR:
        return "an access to GPU memory space failed";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "the function failed to launch on the device";
    case CUBLAS_STATUS_INTERNAL_ERROR:
        return "an internal operation failed";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "the functionality requested is not supported";
    case CUBLAS_STATUS_LICENSE_ERROR:
        return "the functionality requested requires some license and an error was detected";
    }
    return "unknown";
}

cublasStatus_t blas_status(int cuda_result)
{
    switch (cuda_result) {
    case CUDA_SUCCESS:
        return CUBLAS_STATUS_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY:
        return CUBLAS_STATUS_ALLOC_FAILED;
    case CUDA_ERROR_NOT_SUPPORTED:
        return CUBLAS_STATUS_NOT_SUPPORTED;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_NO_DEVICE:
        return CUBLAS_STATUS_NOT_INITIALIZED;
    default:
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
}

cublasStatus_t blas_context_create(cublasHandle_t *handle, const struct lib_info *info)
{
    if (!handle)
        return CUBLAS_STATUS_INVALID_VALUE;
    *handle = NULL;
    int result = lib_context();
    if (result)
        return blas_status(result);
    *handle = hd_new(struct cublasContext);
    if (!*handle)
        return CUBLAS_STATUS_ALLOC_FAILED;
    lib_handle_init(&(*handle)->base, info);
    (*handle)->special_values = ALL_SPECIAL_VALUES;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t blas_context_destroy(cublasHandle_t handle)
{
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    (void)lib_wait(&handle->base); /* as documented: it waits for the work of the handle */
    hd_free(handle);
    return CUBLAS_STATUS_SUCCESS;
}
