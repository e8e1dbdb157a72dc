/* What the files of libcusparse share. */
#ifndef HD_API_CUSPARSE_SPARSE_H
#define HD_API_CUSPARSE_SPARSE_H

/* Elements of two bytes, which C has no type for. */
#include <stdint.h>
#define __half             uint16_t
#define HEDDLE_HALF_IS_RAW 1
#pragma GCC visibility push(default) /* what the header declares is what the library exports */
#include <cusparse.h>
#pragma GCC visibility pop

#include <stdbool.h>

#include "api/lib_base/lib_compute.h"
#include "base/compiler.h"
#include "klib/klib.h"
#include "klib/sparse.h"

struct cusparseContext {
    struct lib_handle base;
};

/* Of the functions of one type. */
struct cusparseMatDescr {
    cusparseMatrixType_t type;
    cusparseFillMode_t fill;
    cusparseDiagType_t diag;
    cusparseIndexBase_t base;
};

struct cusparseSpVecDescr {
    int64_t size, nnz;
    void *indices, *values;
    cusparseIndexType_t index_type;
    cusparseIndexBase_t base;
    cudaDataType type;
};

struct cusparseDnVecDescr {
    int64_t size;
    void *values;
    cudaDataType type;
};

struct cusparseSpMatDescr {
    cusparseFormat_t format;
    int64_t rows, cols, nnz;          /* BSR: of elements */
    void *offsets, *columns, *values; /* CSC: column offsets and rows; COO: rows */
    cusparseIndexType_t offsets_type, columns_type;
    cusparseIndexBase_t base;
    cudaDataType type;
    cusparseOrder_t order;          /* of a block */
    int64_t block_rows, block_cols; /* BSR, BLOCKED_ELL; SLICED_ELLPACK: a slice */
    int64_t stored;                 /* BLOCKED_ELL: columns; SLICED_ELLPACK: values */
    int batches;
    int64_t offsets_step, columns_step, values_step;
    cusparseFillMode_t fill;
    cusparseDiagType_t diag;
    cusparseSpMatStorage_t storage;
    cusparseSymmetryType_t symmetry;
};

struct cusparseDnMatDescr {
    int64_t rows, cols, ld;
    void *values;
    cudaDataType type;
    cusparseOrder_t order;
    int batches;
    int64_t step;
};

extern const struct lib_info sparse_info;

/* The status of a driver's CUresult. */
cusparseStatus_t sparse_status(int cuda_result);
/* INVALID_VALUE, and NOT_SUPPORTED: the log says of which function, and what. */
cusparseStatus_t sparse_invalid(const char *function);
cusparseStatus_t sparse_unsupported(const char *function, const char *what);

/* At the begin of a function: a handle, and arguments that are in order. */
#define SPARSE_CHECK(handle, cond)                                                                 \
    do {                                                                                           \
        if (!(handle))                                                                             \
            return CUSPARSE_STATUS_NOT_INITIALIZED;                                                \
        if (!(cond))                                                                               \
            return sparse_invalid(__func__);                                                       \
        lib_log(&sparse_info, LIB_LEVEL_INFO, "%s", __func__);                                     \
    } while (0)

/* enum klib_type; -1: the kernels have no such elements. */
int sparse_type(cudaDataType type);
size_t sparse_size_B(int klib_type);
static inline bool sparse_op_ok(cusparseOperation_t op)
{
    return (unsigned)op <= CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
}

/* ---- parameters of kernels */

/* As the kernels read it: by rows. *out_transposed: it is the matrix's transposed. */
struct klib_sparse_matrix sparse_matrix(cusparseConstSpMatDescr_t a, bool *out_transposed);
/* op(b). */
struct klib_dense_matrix sparse_dense(cusparseConstDnMatDescr_t b, cusparseOperation_t op);
struct klib_dense_matrix sparse_vector(cusparseConstDnVecDescr_t x);
/* CSR with ints. */
struct klib_sparse_matrix sparse_csr(int64_t rows, int64_t cols, int64_t entries,
                                     const cusparseMatDescr_t descr, const int *offsets,
                                     const int *columns, const void *values, int type);
struct klib_sparse_matrix sparse_bsr(int mb, int nb, int nnzb, const cusparseMatDescr_t descr,
                                     cusparseDirection_t dir, const int *offsets,
                                     const int *columns, const void *values, int rows_of_block,
                                     int cols_of_block, int type);
/* Read now or, in the pointer mode of the device, when the kernel runs. */
struct klib_sparse_factor sparse_factor(cusparseHandle_t handle, const void *factor, int type);
struct klib_sparse_factor sparse_constant(double value, int type);

/* Sets row_tiles, for work on so many entries. */
void sparse_tile_rows(struct klib_sparse *p, int64_t rows, double entries);
/* In the handle's stream; `entries`: how much it is. Nothing for no tiles. */
cusparseStatus_t sparse_run(cusparseHandle_t handle, struct klib_sparse *p,
                            enum klib_sparse_kernel kernel, uint64_t tiles, double entries);
/* For a result that the host reads: waits. NOT_SUPPORTED, by the function's name, in a capture. */
cusparseStatus_t sparse_wait(cusparseHandle_t handle, const char *function);
bool sparse_is_captured(cusparseHandle_t handle);
/* With a result in `result`: waits where the pointer mode says so. */
cusparseStatus_t sparse_result(cusparseHandle_t handle, cusparseStatus_t status);
cusparseStatus_t sparse_copy(cusparseHandle_t handle, void *to, const void *from, size_t size_B);

/*
 * Runs a kernel that counts into p->c's offsets, and makes offsets of the counts. The sum goes to
 * `total`, for which it waits where the pointer mode says so.
 */
cusparseStatus_t sparse_count(cusparseHandle_t handle, struct klib_sparse *p,
                              enum klib_sparse_kernel kernel, int64_t rows, double entries,
                              int *total);

/* ---- functions of one type */

#define EACH(X)                                                                                    \
    X(S, float, float, KLIB_F32)                                                                   \
    X(D, double, double, KLIB_F64)                                                                 \
    X(C, cuComplex, float, KLIB_C32)                                                               \
    X(Z, cuDoubleComplex, double, KLIB_C64)

/* What a buffer is: kernels take the memory they need themselves, and programs ask for some. */
#define SOME_B 16

#define NO_BUFFER(size)                                                                            \
    do {                                                                                           \
        SPARSE_CHECK(handle, size);                                                                \
        *(size) = SOME_B;                                                                          \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    } while (0)

#endif
