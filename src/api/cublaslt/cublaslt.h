/* What the files of libcublasLt share. */
#ifndef HD_API_CUBLASLT_CUBLASLT_H
#define HD_API_CUBLASLT_CUBLASLT_H

#include "api/cublas/cublas.h"
#pragma GCC visibility push(default) /* what the header declares is what the library exports */
#include <cublasLt.h>
#pragma GCC visibility pop

#include "klib/lt.h"

extern const struct lib_info lt_info;

/* The handle, which is cuBLAS's. */
static inline cublasHandle_t lt_handle(cublasLtHandle_t handle)
{
    return (cublasHandle_t)handle;
}

/* ---- descriptors: what is in the opaque structures, at most as large as CUDA 12.0's */

struct lt_layout {
    uint32_t type; /* cudaDataType */
    int32_t order;
    uint64_t rows, cols;
    int64_t ld;
    int64_t stride, plane;
    int32_t batch;
    uint32_t batch_mode;
};

struct lt_desc {
    void *bias, *aux, *a_scale, *b_scale, *c_scale, *d_scale, *amax_d, *aux_scale, *aux_amax;
    void *d_out, *emulation;
    int64_t bias_stride, aux_ld, aux_stride, alpha_stride;
    int32_t sm_count;
    uint16_t epilogue;
    int8_t compute, scale, pointer_mode, transa, transb, transc, fill;
    int8_t aux_type, bias_type; /* -1: of D */
    int8_t fast_accum;
    int8_t a_mode, b_mode, c_mode, d_mode, aux_mode, d_out_mode;
};

struct lt_preference {
    uint64_t workspace_B, implementations;
    uint32_t search, reductions, align_a, align_b, align_c, align_d;
    float waves;
};

struct lt_transform_desc {
    int32_t scale, pointer_mode, transa, transb;
};

struct lt_emulation {
    int32_t strategy, special_values, control, bits, offset;
    int32_t *bits_used;
};

struct lt_algo {
    uint32_t magic; /* LT_ALGO */
    int32_t id, split_k;
    uint32_t tile, reduction, swizzling, option, stages;
    uint16_t inner_shape, cluster_shape;
};
#define LT_ALGO 0x4c744130u

static inline const struct lt_layout *lt_layout(cublasLtMatrixLayout_t layout)
{
    return (const struct lt_layout *)layout;
}

/* ---- errors and the log */

enum lt_level { LT_ERROR = 1, LT_TRACE, LT_HINT, LT_INFO, LT_CALL, LT_LEVELS };

void lt_log(enum lt_level level, const char *function, const char *fmt, ...) HD_PRINTF(3, 4);
/* Logs why, and returns `status`. */
cublasStatus_t lt_error(cublasStatus_t status, const char *function, const char *fmt, ...)
    HD_PRINTF(3, 4);

/* ---- products */

/*
 * What the descriptors describe, all but addresses of A, B, C, D and what alpha and beta are. 0 of
 * *out_problems: there is nothing to compute.
 */
cublasStatus_t lt_plan(const struct lt_desc *desc, const struct lt_layout *a,
                       const struct lt_layout *b, const struct lt_layout *c,
                       const struct lt_layout *d, const char *function,
                       struct klib_lt_matmul *out_plan, uint64_t *out_problems);
/* Is there such a product at all? */
bool lt_has_types(int compute, int scale, int a, int b, int c, int d);

#endif
