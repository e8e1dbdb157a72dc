/* Copies of vectors and matrices between host and device. */
#include <cuda.h>

#include "api/cublas/cublas.h"

/* `rows` elements at distances, a row each; or whole columns. Pitches are bytes. */
static cublasStatus_t copy(const void *from, int64_t from_pitch, void *to, int64_t to_pitch,
                           int64_t width, int64_t height, const cudaStream_t *stream)
{
    CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                       .srcDevice = (CUdeviceptr)from,
                       .srcPitch = (size_t)from_pitch,
                       .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                       .dstDevice = (CUdeviceptr)to,
                       .dstPitch = (size_t)to_pitch,
                       .WidthInBytes = (size_t)width,
                       .Height = (size_t)height};

    if (!width || !height)
        return CUBLAS_STATUS_SUCCESS;
    if (!from || !to)
        return blas_invalid("a copy");
    int result = lib_context();
    if (result)
        return blas_status(result);
    /* Any memory of the host's is unified memory's to the driver. */
    result = stream ? cuMemcpy2DAsync(&c, (CUstream)*stream) : cuMemcpy2DUnaligned(&c);
    return result ? CUBLAS_STATUS_MAPPING_ERROR : CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t vector(int64_t n, int64_t size, const void *x, int64_t incx, void *y,
                             int64_t incy, const cudaStream_t *stream)
{
    if (n < 0 || size <= 0 || incx <= 0 || incy <= 0)
        return blas_invalid("a copy of a vector");
    return copy(x, incx * size, y, incy * size, size, n, stream);
}

static cublasStatus_t matrix(int64_t rows, int64_t columns, int64_t size, const void *a,
                             int64_t lda, void *b, int64_t ldb, const cudaStream_t *stream)
{
    if (rows < 0 || columns < 0 || size <= 0 || lda < HD_MAX(1, rows) || ldb < HD_MAX(1, rows))
        return blas_invalid("a copy of a matrix");
    return copy(a, lda * size, b, ldb * size, rows * size, columns, stream);
}

#define COPIES(I, Way, _64)                                                                        \
    cublasStatus_t cublas##Way##Vector##_64(I n, I elemSize, const void *x, I incx, void *y,       \
                                            I incy)                                                \
    {                                                                                              \
        return vector(n, elemSize, x, incx, y, incy, NULL);                                        \
    }                                                                                              \
    cublasStatus_t cublas##Way##Matrix##_64(I rows, I cols, I elemSize, const void *A, I lda,      \
                                            void *B, I ldb)                                        \
    {                                                                                              \
        return matrix(rows, cols, elemSize, A, lda, B, ldb, NULL);                                 \
    }                                                                                              \
    cublasStatus_t cublas##Way##VectorAsync##_64(I n, I elemSize, const void *x, I incx, void *y,  \
                                                 I incy, cudaStream_t stream)                      \
    {                                                                                              \
        return vector(n, elemSize, x, incx, y, incy, &stream);                                     \
    }                                                                                              \
    cublasStatus_t cublas##Way##MatrixAsync##_64(I rows, I cols, I elemSize, const void *A, I lda, \
                                                 void *B, I ldb, cudaStream_t stream)              \
    {                                                                                              \
        return matrix(rows, cols, elemSize, A, lda, B, ldb, &stream);                              \
    }
COPIES(int, Set, )
COPIES(int, Get, )
COPIES(int64_t, Set, _64)
COPIES(int64_t, Get, _64)
