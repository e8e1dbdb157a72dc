/* Tensors of any type and layout for tests of cuDNN, read and written an element at a time. */
#ifndef HD_TESTS_CUDNN_FIXTURE_H
#define HD_TESTS_CUDNN_FIXTURE_H

#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "klib/halves.h"
#include "support/tap.h"

#define works(expr)         eq_u64((expr), CUDNN_STATUS_SUCCESS, "%s", #expr)
#define fails(expr, status) eq_u64((expr), CUDNN_STATUS_##status, "%s: %s", #expr, #status)
/* For what a test needs to go on. */
#define need(expr)                                                                                 \
    do {                                                                                           \
        cudnnStatus_t status_ = (expr);                                                            \
        if (status_) {                                                                             \
            char text_[256];                                                                       \
            cudnnGetLastErrorString(text_, sizeof(text_));                                         \
            ok(false, "%s: %s, %s", #expr, cudnnGetErrorString(status_), text_);                   \
        }                                                                                          \
    } while (0)

static cudnnHandle_t handle;
static uint32_t random_state = 99;

static inline int below(int n)
{
    random_state = random_state * 1664525 + 1013904223;
    return (int)(random_state >> 10) % n;
}

/* In [-1, 1]. */
static inline double real_number(void)
{
    return (below(20001) - 10000) / 10000.0;
}

enum layout { NCHW, NHWC, VECT_C, ODD, LAYOUTS };
static const char *const layout_names[] = {"NCHW", "NHWC", "VECT_C", "odd strides"};

struct tensor {
    cudnnDataType_t type;
    int rank, vector;
    int dims[CUDNN_DIM_MAX], strides[CUDNN_DIM_MAX]; /* strides count elements */
    int64_t span;
    void *at;
    cudnnTensorDescriptor_t desc;
    cudnnFilterDescriptor_t filter; /* a filter has no layout ODD */
};

static inline size_t size_of(cudnnDataType_t type)
{
    switch (type) {
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
        return 8;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
        return 2;
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_INT8x4:
    case CUDNN_DATA_INT8x32:
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_UINT8x4:
        return 1;
    default:
        return 4;
    }
}

static inline double get_at(cudnnDataType_t type, const void *at, int64_t i)
{
    switch (type) {
    case CUDNN_DATA_DOUBLE:
        return ((const double *)at)[i];
    case CUDNN_DATA_INT64:
        return (double)((const int64_t *)at)[i];
    case CUDNN_DATA_INT32:
        return ((const int32_t *)at)[i];
    case CUDNN_DATA_HALF:
        return klib_f32_of_f16(((const uint16_t *)at)[i]);
    case CUDNN_DATA_BFLOAT16:
        return klib_f32_of_bf16(((const uint16_t *)at)[i]);
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_UINT8x4:
        return ((const uint8_t *)at)[i];
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_INT8x4:
    case CUDNN_DATA_INT8x32:
        return ((const int8_t *)at)[i];
    default:
        return (double)((const float *)at)[i];
    }
}

static inline void put_at(cudnnDataType_t type, void *at, int64_t i, double v)
{
    switch (type) {
    case CUDNN_DATA_DOUBLE:
        ((double *)at)[i] = v;
        break;
    case CUDNN_DATA_INT64:
        ((int64_t *)at)[i] = (int64_t)v;
        break;
    case CUDNN_DATA_INT32:
        ((int32_t *)at)[i] = (int32_t)v;
        break;
    case CUDNN_DATA_HALF:
        ((uint16_t *)at)[i] = klib_f16_of_f32((float)v);
        break;
    case CUDNN_DATA_BFLOAT16:
        ((uint16_t *)at)[i] = klib_bf16_of_f32((float)v);
        break;
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_UINT8x4:
        ((uint8_t *)at)[i] = (uint8_t)v;
        break;
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_INT8x4:
    case CUDNN_DATA_INT8x32:
        ((int8_t *)at)[i] = (int8_t)v;
        break;
    default:
        ((float *)at)[i] = (float)v;
    }
}

/* As far as values of the type, and sums of some, are from what they should be. */
static inline double tolerance(cudnnDataType_t type)
{
    return type == CUDNN_DATA_HALF       ? 2e-3
           : type == CUDNN_DATA_BFLOAT16 ? 1.6e-2
           : type == CUDNN_DATA_DOUBLE   ? 1e-12
                                         : 2e-5;
}

static inline int64_t elements(const struct tensor *t)
{
    int64_t n = 1;

    for (int d = 0; d < t->rank; d++)
        n *= t->dims[d];
    return n;
}

/* Element number i, last dimension fastest. */
static inline int64_t offset_of(const struct tensor *t, int64_t i)
{
    int64_t offset = 0;

    for (int d = t->rank - 1; d >= 0; d--) {
        int64_t at = i % t->dims[d];
        i /= t->dims[d];
        offset += d == 1 && t->vector > 1 ? at / t->vector * t->strides[d] + at % t->vector
                                          : at * t->strides[d];
    }
    return offset;
}

static inline double get(const struct tensor *t, int64_t i)
{
    return get_at(t->type, t->at, offset_of(t, i));
}

static inline void put(struct tensor *t, int64_t i, double v)
{
    put_at(t->type, t->at, offset_of(t, i), v);
}

/* Element (n, c, a, b, e) of a tensor of up to three spatial dimensions, which are its last. */
static inline int64_t number5(const struct tensor *t, int n, int c, int a, int b, int e)
{
    int space[] = {a, b, e};
    int64_t i = (int64_t)n * t->dims[1] + c;

    for (int d = 2; d < t->rank; d++)
        i = i * t->dims[d] + space[d + 3 - t->rank];
    return i;
}

static inline int dim3_of(const struct tensor *t, int d) /* of space */
{
    return d + t->rank - 3 < 2 ? 1 : t->dims[d + t->rank - 3];
}

static inline void *memory(size_t size_B)
{
    void *p = NULL;

    if (cudaMallocManaged(&p, size_B + 64, cudaMemAttachGlobal))
        abort();
    memset(p, 0xee, size_B + 64);
    return p;
}

static inline struct tensor tensor_of(cudnnDataType_t type, enum layout layout, int rank,
                                      const int *dims)
{
    struct tensor t = {.type = type,
                       .rank = rank,
                       .vector = type == CUDNN_DATA_INT8x4 || type == CUDNN_DATA_UINT8x4 ? 4
                                 : type == CUDNN_DATA_INT8x32                            ? 32
                                                                                         : 1};
    int64_t step = layout == ODD ? 2 : t.vector, gap = layout == ODD ? 3 : 0;

    memcpy(t.dims, dims, (size_t)rank * sizeof(int));
    if (layout == NHWC) {
        t.strides[1] = 1;
        step = dims[1];
    }
    for (int i = 0; i < rank; i++) {
        /* ODD: the first dimension is the innermost. */
        int d = layout == ODD ? (i + 1) % rank : rank - 1 - i;
        if (layout == NHWC && d == 1)
            continue;
        t.strides[d] = (int)step;
        step = step * (d == 1 ? (dims[d] + t.vector - 1) / t.vector : dims[d]) + gap;
    }
    t.span = step;
    t.at = memory((size_t)step * size_of(type));
    need(cudnnCreateTensorDescriptor(&t.desc));
    int strides[CUDNN_DIM_MAX];
    for (int d = 0; d < rank; d++)
        strides[d] = t.strides[d] / t.vector;
    need(cudnnSetTensorNdDescriptor(t.desc, type, rank, dims, strides));
    if (layout != ODD) {
        need(cudnnCreateFilterDescriptor(&t.filter));
        need(cudnnSetFilterNdDescriptor(t.filter, type,
                                        t.vector > 1     ? CUDNN_TENSOR_NCHW_VECT_C
                                        : layout == NHWC ? CUDNN_TENSOR_NHWC
                                                         : CUDNN_TENSOR_NCHW,
                                        rank, dims));
    }
    return t;
}

static inline void tensor_free(struct tensor *t)
{
    cudaFree(t->at);
    cudnnDestroyTensorDescriptor(t->desc);
    if (t->filter)
        cudnnDestroyFilterDescriptor(t->filter);
}

/* Small whole numbers: their sums are exact in every type. */
static inline void fill_whole(struct tensor *t, int most)
{
    bool is_unsigned = t->type == CUDNN_DATA_UINT8 || t->type == CUDNN_DATA_UINT8x4;

    for (int64_t i = 0; i < elements(t); i++)
        put(t, i, is_unsigned ? below(most + 1) : below(2 * most + 1) - most);
}

static inline void fill_real(struct tensor *t)
{
    for (int64_t i = 0; i < elements(t); i++)
        put(t, i, real_number());
}

/* A copy as doubles, by element number. */
static inline double *values_of(const struct tensor *t)
{
    double *v = malloc((size_t)elements(t) * sizeof(*v));

    for (int64_t i = 0; i < elements(t); i++)
        v[i] = get(t, i);
    return v;
}

/* Whether a tensor is `want`, relative to the largest of it. */
static inline bool is_near(const struct tensor *t, const double *want, double allowed)
{
    double largest = 1;

    for (int64_t i = 0; i < elements(t); i++)
        if (isfinite(want[i]) && fabs(want[i]) > largest)
            largest = fabs(want[i]);
    for (int64_t i = 0; i < elements(t); i++) {
        double got = get(t, i);
        if (isnan(want[i]) ? isnan(got)
                           : got == want[i] || fabs(got - want[i]) <= allowed * largest)
            continue;
        diag("element %lld is %.9g, not %.9g", (long long)i, got, want[i]);
        return false;
    }
    return true;
}

/* Gaps of a layout keep what they had. */
static inline bool has_gaps_kept(const struct tensor *t)
{
    unsigned char *used = calloc((size_t)t->span, 1);
    size_t size_B = size_of(t->type);
    bool is_kept = true;

    for (int64_t i = 0; i < elements(t); i++)
        used[offset_of(t, i)] = 1;
    for (int64_t i = 0; i < t->span; i++)
        for (size_t b = 0; !used[i] && b < size_B; b++)
            is_kept &= ((unsigned char *)t->at)[(size_t)i * size_B + b] == 0xee;
    free(used);
    return is_kept;
}

static inline double factor_of(const struct tensor *t, double v, void *room)
{
    if (t->type == CUDNN_DATA_DOUBLE)
        *(double *)room = v;
    else
        *(float *)room = (float)v;
    return v;
}

#endif
