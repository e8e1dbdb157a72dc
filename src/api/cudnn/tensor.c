/* Descriptors of tensors and filters: types, dimensions and strides. */
#include <limits.h>
#include <string.h>

#include "api/cudnn/dnn.h"
#include "base/mem.h"
#include "klib/halves.h"

/* ---- types */

static const struct {
    int8_t type;    /* enum klib_type */
    uint8_t size_B; /* of an element, or a vector */
    uint8_t vector; /* channels in it */
} types[] = {
    [CUDNN_DATA_FLOAT] = {KLIB_F32, 4, 1},      [CUDNN_DATA_DOUBLE] = {KLIB_F64, 8, 1},
    [CUDNN_DATA_HALF] = {KLIB_F16, 2, 1},       [CUDNN_DATA_INT8] = {KLIB_I8, 1, 1},
    [CUDNN_DATA_INT32] = {KLIB_I32, 4, 1},      [CUDNN_DATA_INT8x4] = {KLIB_I8, 4, 4},
    [CUDNN_DATA_UINT8] = {KLIB_U8, 1, 1},       [CUDNN_DATA_UINT8x4] = {KLIB_U8, 4, 4},
    [CUDNN_DATA_INT8x32] = {KLIB_I8, 32, 32},   [CUDNN_DATA_BFLOAT16] = {KLIB_BF16, 2, 1},
    [CUDNN_DATA_INT64] = {KLIB_I64, 8, 1},      [CUDNN_DATA_BOOLEAN] = {KLIB_BOOL, 1, 1},
    [CUDNN_DATA_FP8_E4M3] = {KLIB_E4M3, 1, 1},  [CUDNN_DATA_FP8_E5M2] = {KLIB_E5M2, 1, 1},
    [CUDNN_DATA_FP8_E8M0] = {KLIB_UE8M0, 1, 1},
};

static bool is_known(cudnnDataType_t type)
{
    return (unsigned)type < HD_COUNT_OF(types) && types[type].size_B;
}

int dnn_type(cudnnDataType_t type)
{
    return is_known(type) ? types[type].type : -1;
}

size_t dnn_size_B(cudnnDataType_t type)
{
    return is_known(type) ? types[type].size_B : 0;
}

int dnn_vector(cudnnDataType_t type)
{
    return is_known(type) ? types[type].vector : 1;
}

double dnn_factor(const void *factor, const struct cudnnTensorStruct *t)
{
    return t->type == CUDNN_DATA_DOUBLE ? *(const double *)factor : (double)*(const float *)factor;
}

double dnn_value(cudnnDataType_t type, const void *value)
{
    switch (dnn_type(type)) {
    case KLIB_F64:
        return *(const double *)value;
    case KLIB_F16:
        return (double)klib_f32_of_f16(*(const uint16_t *)value);
    case KLIB_BF16:
        return (double)klib_f32_of_bf16(*(const uint16_t *)value);
    case KLIB_I8:
        return *(const int8_t *)value;
    case KLIB_U8:
    case KLIB_BOOL:
        return *(const uint8_t *)value;
    case KLIB_I32:
        return *(const int32_t *)value;
    case KLIB_I64:
        return (double)*(const int64_t *)value;
    default:
        return (double)*(const float *)value;
    }
}

/* ---- layouts */

struct klib_tensor dnn_tensor(const struct cudnnTensorStruct *t, const void *address)
{
    int vector = dnn_vector(t->type);
    struct klib_tensor k = {.address = (void *)address,
                            .rank = (uint8_t)t->rank,
                            .type = (uint8_t)dnn_type(t->type),
                            .vector = (uint8_t)vector};

    for (int d = 0; d < t->rank; d++) {
        k.dims[d] = t->dims[d];
        k.strides[d] = (int64_t)t->strides[d] * vector;
    }
    return k;
}

int64_t dnn_elements(const struct cudnnTensorStruct *t)
{
    int64_t n = 1;

    for (int d = 0; d < t->rank; d++)
        n *= t->dims[d];
    return n;
}

bool dnn_same_dims(const struct cudnnTensorStruct *a, const struct cudnnTensorStruct *b)
{
    return a->rank == b->rank && !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(a->dims[0]));
}

void dnn_pack(struct cudnnTensorStruct *t, cudnnTensorFormat_t format)
{
    int vector = dnn_vector(t->type);
    int64_t step = 1;

    /* Channels are first, last, or, in vectors, first again. */
    if (format == CUDNN_TENSOR_NHWC && t->rank > 1) {
        t->strides[1] = 1;
        step = t->dims[1];
    }
    for (int d = t->rank - 1; d >= 0; d--) {
        if (format == CUDNN_TENSOR_NHWC && d == 1)
            continue;
        t->strides[d] = (int)step;
        step *= d == 1 ? (t->dims[d] + vector - 1) / vector : t->dims[d];
    }
}

/* Dimensions of a type and format, without gaps. */
static cudnnStatus_t set_packed(const char *function, struct cudnnTensorStruct *t,
                                cudnnTensorFormat_t format, cudnnDataType_t type, int rank,
                                const int *dims)
{
    struct cudnnTensorStruct made = {.type = type, .rank = rank};
    int vector = dnn_vector(type);
    int64_t n = 1;

    if (!is_known(type) || format > CUDNN_TENSOR_NCHW_VECT_C)
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function, "type %d, format %d", (int)type,
                        (int)format);
    if (rank < 3 || rank > CUDNN_DIM_MAX)
        return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, function, "%d dimensions, not 3 to %d", rank,
                        CUDNN_DIM_MAX);
    for (int d = 0; d < rank; d++) {
        if (dims[d] <= 0)
            return dnn_fail(CUDNN_STATUS_BAD_PARAM, function, "dimension %d is %d", d, dims[d]);
        made.dims[d] = dims[d];
        n *= dims[d];
        if (n > INT_MAX)
            return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, function, "more than 2^31 - 1 elements");
    }
    if ((vector > 1) != (format == CUDNN_TENSOR_NCHW_VECT_C) || dims[1] % vector)
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function,
                        "%d channels in vectors of %d, with format %d", dims[1], vector,
                        (int)format);
    dnn_pack(&made, format);
    *t = made;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t set_strided(const char *function, struct cudnnTensorStruct *t,
                                 cudnnDataType_t type, int rank, const int *dims,
                                 const int *strides)
{
    struct cudnnTensorStruct made = {.type = type, .rank = rank};
    int64_t span = 1;

    if (!is_known(type))
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function, "type %d", (int)type);
    if (rank < 3 || rank > CUDNN_DIM_MAX)
        return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, function, "%d dimensions, not 3 to %d", rank,
                        CUDNN_DIM_MAX);
    for (int d = 0; d < rank; d++) {
        if (dims[d] <= 0 || strides[d] < 0)
            return dnn_fail(CUDNN_STATUS_BAD_PARAM, function, "dimension %d is %d, its stride %d",
                            d, dims[d], strides[d]);
        made.dims[d] = dims[d];
        made.strides[d] = strides[d];
        span += (int64_t)(dims[d] - 1) * strides[d];
        if (span > INT_MAX)
            return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, function, "more than 2^31 - 1 elements");
    }
    *t = made;
    return CUDNN_STATUS_SUCCESS;
}

static size_t bytes_of(const struct cudnnTensorStruct *t)
{
    int64_t span = 1;

    for (int d = 0; d < t->rank; d++)
        span +=
            (int64_t)((d == 1 ? t->dims[d] / dnn_vector(t->type) : t->dims[d]) - 1) * t->strides[d];
    return (size_t)span * dnn_size_B(t->type);
}

/* ---- tensors */

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *tensorDesc)
{
    DNN_NEEDS(tensorDesc);
    *tensorDesc = hd_new(struct cudnnTensorStruct);
    return *tensorDesc ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensorDesc)
{
    hd_free(tensorDesc);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensorDesc,
                                         cudnnTensorFormat_t format, cudnnDataType_t dataType,
                                         int n, int c, int h, int w)
{
    DNN_NEEDS(tensorDesc);
    return set_packed(__func__, tensorDesc, format, dataType, 4, (const int[]){n, c, h, w});
}

cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensorDesc,
                                           cudnnDataType_t dataType, int n, int c, int h, int w,
                                           int nStride, int cStride, int hStride, int wStride)
{
    DNN_NEEDS(tensorDesc);
    return set_strided(__func__, tensorDesc, dataType, 4, (const int[]){n, c, h, w},
                       (const int[]){nStride, cStride, hStride, wStride});
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensorDesc,
                                         cudnnDataType_t dataType, int nbDims, const int *dimA,
                                         const int *strideA)
{
    DNN_NEEDS(tensorDesc, dimA, strideA);
    return set_strided(__func__, tensorDesc, dataType, nbDims, dimA, strideA);
}

cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensorDesc,
                                           cudnnTensorFormat_t format, cudnnDataType_t dataType,
                                           int nbDims, const int *dimA)
{
    DNN_NEEDS(tensorDesc, dimA);
    return set_packed(__func__, tensorDesc, format, dataType, nbDims, dimA);
}

cudnnStatus_t cudnnGetTensor4dDescriptor(cudnnTensorDescriptor_t tensorDesc,
                                         cudnnDataType_t *dataType, int *n, int *c, int *h, int *w,
                                         int *nStride, int *cStride, int *hStride, int *wStride)
{
    DNN_NEEDS(tensorDesc, dataType, n, c, h, w, nStride, cStride, hStride, wStride);
    DNN_CHECK(tensorDesc->rank == 4, "the descriptor has %d dimensions", tensorDesc->rank);
    *dataType = tensorDesc->type;
    *n = tensorDesc->dims[0];
    *c = tensorDesc->dims[1];
    *h = tensorDesc->dims[2];
    *w = tensorDesc->dims[3];
    *nStride = tensorDesc->strides[0];
    *cStride = tensorDesc->strides[1];
    *hStride = tensorDesc->strides[2];
    *wStride = tensorDesc->strides[3];
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetTensorNdDescriptor(cudnnTensorDescriptor_t tensorDesc, int nbDimsRequested,
                                         cudnnDataType_t *dataType, int *nbDims, int *dimA,
                                         int *strideA)
{
    DNN_NEEDS(tensorDesc, dataType, nbDims);
    DNN_CHECK(nbDimsRequested >= 0 && nbDimsRequested <= CUDNN_DIM_MAX, "%d dimensions",
              nbDimsRequested);
    *dataType = tensorDesc->type;
    *nbDims = tensorDesc->rank;
    for (int d = 0; d < HD_MIN(nbDimsRequested, tensorDesc->rank); d++) {
        if (dimA)
            dimA[d] = tensorDesc->dims[d];
        if (strideA)
            strideA[d] = tensorDesc->strides[d];
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetTensorSizeInBytes(cudnnTensorDescriptor_t tensorDesc, size_t *size)
{
    DNN_NEEDS(tensorDesc, size);
    *size = tensorDesc->rank ? bytes_of(tensorDesc) : 0;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- filters */

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *filterDesc)
{
    DNN_NEEDS(filterDesc);
    *filterDesc = hd_new(struct cudnnFilterStruct);
    return *filterDesc ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filterDesc)
{
    hd_free(filterDesc);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filterDesc,
                                         cudnnDataType_t dataType, cudnnTensorFormat_t format,
                                         int k, int c, int h, int w)
{
    DNN_NEEDS(filterDesc);
    filterDesc->format = format;
    return set_packed(__func__, &filterDesc->t, format, dataType, 4, (const int[]){k, c, h, w});
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filterDesc,
                                         cudnnDataType_t dataType, cudnnTensorFormat_t format,
                                         int nbDims, const int *filterDimA)
{
    DNN_NEEDS(filterDesc, filterDimA);
    filterDesc->format = format;
    return set_packed(__func__, &filterDesc->t, format, dataType, nbDims, filterDimA);
}

cudnnStatus_t cudnnGetFilter4dDescriptor(cudnnFilterDescriptor_t filterDesc,
                                         cudnnDataType_t *dataType, cudnnTensorFormat_t *format,
                                         int *k, int *c, int *h, int *w)
{
    DNN_NEEDS(filterDesc, dataType, format, k, c, h, w);
    DNN_CHECK(filterDesc->t.rank == 4, "the descriptor has %d dimensions", filterDesc->t.rank);
    *dataType = filterDesc->t.type;
    *format = filterDesc->format;
    *k = filterDesc->t.dims[0];
    *c = filterDesc->t.dims[1];
    *h = filterDesc->t.dims[2];
    *w = filterDesc->t.dims[3];
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetFilterNdDescriptor(cudnnFilterDescriptor_t filterDesc, int nbDimsRequested,
                                         cudnnDataType_t *dataType, cudnnTensorFormat_t *format,
                                         int *nbDims, int *filterDimA)
{
    DNN_NEEDS(filterDesc, dataType, format, nbDims, filterDimA);
    DNN_CHECK(nbDimsRequested >= 0 && nbDimsRequested <= CUDNN_DIM_MAX, "%d dimensions",
              nbDimsRequested);
    *dataType = filterDesc->t.type;
    *format = filterDesc->format;
    *nbDims = filterDesc->t.rank;
    for (int d = 0; d < HD_MIN(nbDimsRequested, filterDesc->t.rank); d++)
        filterDimA[d] = filterDesc->t.dims[d];
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetFilterSizeInBytes(cudnnFilterDescriptor_t filterDesc, size_t *size)
{
    DNN_NEEDS(filterDesc, size);
    *size = filterDesc->t.rank ? bytes_of(&filterDesc->t) : 0;
    return CUDNN_STATUS_SUCCESS;
}
