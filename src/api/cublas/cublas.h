/* What the files of libcublas share. */
#ifndef HD_API_CUBLAS_CUBLAS_H
#define HD_API_CUBLAS_CUBLAS_H

/* Elements of two bytes, which C has no type for. */
#include <stdint.h>
#define __half             uint16_t
#define HEDDLE_HALF_IS_RAW 1
#pragma GCC visibility push(default) /* what the header declares is what the library exports */
#include <cublas_api.h>
#pragma GCC visibility pop

#include <stdbool.h>

#include "api/lib_base/lib_call.h"
#include "api/lib_base/lib_compute.h"
#include "base/compiler.h"
#include "klib/klib.h"

struct cublasContext {
    struct lib_handle base;
    int atomics, sm_count;
    int emulation, mantissa_control, mantissa_max, mantissa_offset;
    unsigned special_values;
    int *mantissa_count;
};

extern const struct lib_info blas_info;

/* ---- of both libraries, cuBLAS and cuBLASLt: context.c */

#define BLAS_CUDART_VERSION 13000
enum { BLAS_STATUSES = 10 };
extern const struct lib_status blas_statuses[BLAS_STATUSES];
const char *blas_status_text(cublasStatus_t status);
/* The status of a driver's CUresult. */
cublasStatus_t blas_status(int cuda_result);
cublasStatus_t blas_context_create(cublasHandle_t *handle, const struct lib_info *info);
cublasStatus_t blas_context_destroy(cublasHandle_t handle);

/* ---- of cuBLAS */

/* INVALID_VALUE, and the log says of which function. */
cublasStatus_t blas_invalid(const char *function);

/* At the begin of a function: a handle, and arguments that are in order. */
#define BLAS_CHECK(handle, cond)                                                                   \
    do {                                                                                           \
        if (!(handle))                                                                             \
            return CUBLAS_STATUS_NOT_INITIALIZED;                                                  \
        if (!(cond))                                                                               \
            return blas_invalid(__func__);                                                         \
        lib_log(&blas_info, LIB_LEVEL_INFO, "%s", __func__);                                       \
    } while (0)

/* ---- a call of the engine's: arguments in BLAS's order */

struct blas_call {
    struct klib_call packed;
    double work; /* the product of its sizes, less 1 */
};

void blas_size(struct blas_call *call, int64_t value);
/* `n` ints for each problem; NULL: none. */
void blas_ints(struct blas_call *call, const int *ints, int64_t n);
/* Read now or, in the pointer mode of the device, when the call runs. At most 40 bytes. */
void blas_factor(struct blas_call *call, cublasHandle_t handle, const void *factor, size_t size_B);

/* Launches; with a result for the host it waits for it. */
cublasStatus_t blas_run(cublasHandle_t handle, const struct blas_call *call, bool has_result);
cublasStatus_t blas_run_batch(cublasHandle_t handle, const struct blas_call *call,
                              int64_t problems);

#endif
