/*
 * Convolutions. All algorithms are one: it needs no workspace, and its results are the same from
 * run to run. Those that a client asks for by their numbers compute the same, but for the one that
 * cuDNN does not have, either.
 */
#include <string.h>
#include <time.h>

#include "api/cudnn/dnn.h"
#include "base/mem.h"

/* ---- the descriptor */

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *convDesc)
{
    DNN_NEEDS(convDesc);
    *convDesc = hd_new(struct cudnnConvolutionStruct);
    if (!*convDesc)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    (*convDesc)->groups = 1;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convDesc)
{
    hd_free(convDesc);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convDesc,
                                              int arrayLength, const int *padA,
                                              const int *filterStrideA, const int *dilationA,
                                              cudnnConvolutionMode_t mode,
                                              cudnnDataType_t computeType)
{
    DNN_NEEDS(convDesc, padA, filterStrideA, dilationA);
    DNN_CHECK(mode == CUDNN_CONVOLUTION || mode == CUDNN_CROSS_CORRELATION, "mode %d", (int)mode);
    DNN_CHECK(dnn_type(computeType) >= 0, "type %d", (int)computeType);
    DNN_CHECK(arrayLength > 0, "%d dimensions", arrayLength);
    DNN_SUPPORTS(arrayLength <= KLIB_DNN_SPATIAL, "%d dimensions of space, not 1 to %d",
                 arrayLength, KLIB_DNN_SPATIAL);
    for (int d = 0; d < arrayLength; d++)
        DNN_CHECK(padA[d] >= 0 && filterStrideA[d] > 0 && dilationA[d] > 0,
                  "dimension %d: pad %d, stride %d, dilation %d", d, padA[d], filterStrideA[d],
                  dilationA[d]);
    for (int d = 0; d < arrayLength; d++) {
        convDesc->pad[d] = padA[d];
        convDesc->stride[d] = filterStrideA[d];
        convDesc->dilation[d] = dilationA[d];
    }
    convDesc->rank = arrayLength;
    convDesc->mode = mode;
    convDesc->type = computeType;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convDesc, int pad_h,
                                              int pad_w, int u, int v, int dilation_h,
                                              int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t computeType)
{
    return cudnnSetConvolutionNdDescriptor(
        convDesc, 2, (const int[]){pad_h, pad_w}, (const int[]){u, v},
        (const int[]){dilation_h, dilation_w}, mode, computeType);
}

cudnnStatus_t cudnnGetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convDesc, int *pad_h,
                                              int *pad_w, int *u, int *v, int *dilation_h,
                                              int *dilation_w, cudnnConvolutionMode_t *mode,
                                              cudnnDataType_t *computeType)
{
    DNN_NEEDS(convDesc, pad_h, pad_w, u, v, dilation_h, dilation_w, mode, computeType);
    DNN_CHECK(convDesc->rank == 2, "the descriptor has %d dimensions of space", convDesc->rank);
    *pad_h = convDesc->pad[0];
    *pad_w = convDesc->pad[1];
    *u = convDesc->stride[0];
    *v = convDesc->stride[1];
    *dilation_h = convDesc->dilation[0];
    *dilation_w = convDesc->dilation[1];
    *mode = convDesc->mode;
    *computeType = convDesc->type;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convDesc,
                                              int arrayLengthRequested, int *arrayLength, int *padA,
                                              int *strideA, int *dilationA,
                                              cudnnConvolutionMode_t *mode,
                                              cudnnDataType_t *computeType)
{
    DNN_NEEDS(convDesc, arrayLength, padA, strideA, dilationA, mode, computeType);
    DNN_CHECK(arrayLengthRequested >= 0, "%d dimensions", arrayLengthRequested);
    *arrayLength = convDesc->rank;
    for (int d = 0; d < HD_MIN(arrayLengthRequested, convDesc->rank); d++) {
        padA[d] = convDesc->pad[d];
        strideA[d] = convDesc->stride[d];
        dilationA[d] = convDesc->dilation[d];
    }
    *mode = convDesc->mode;
    *computeType = convDesc->type;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convDesc,
                                          cudnnMathType_t mathType)
{
    DNN_NEEDS(convDesc);
    DNN_CHECK(mathType <= CUDNN_FMA_MATH, "type %d", (int)mathType);
    convDesc->math = mathType;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionMathType(cudnnConvolutionDescriptor_t convDesc,
                                          cudnnMathType_t *mathType)
{
    DNN_NEEDS(convDesc, mathType);
    *mathType = convDesc->math;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convDesc, int groupCount)
{
    DNN_NEEDS(convDesc);
    DNN_CHECK(groupCount > 0, "%d groups", groupCount);
    convDesc->groups = groupCount;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionGroupCount(cudnnConvolutionDescriptor_t convDesc, int *groupCount)
{
    DNN_NEEDS(convDesc, groupCount);
    *groupCount = convDesc->groups;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionReorderType(cudnnConvolutionDescriptor_t convDesc,
                                             cudnnReorderType_t reorderType)
{
    DNN_NEEDS(convDesc);
    DNN_CHECK(reorderType <= CUDNN_NO_REORDER, "type %d", (int)reorderType);
    convDesc->reorder = reorderType;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionReorderType(cudnnConvolutionDescriptor_t convDesc,
                                             cudnnReorderType_t *reorderType)
{
    DNN_NEEDS(convDesc, reorderType);
    *reorderType = convDesc->reorder;
    return CUDNN_STATUS_SUCCESS;
}

static int out_size(const struct cudnnConvolutionStruct *conv, int d, int in, int filter)
{
    int64_t reach = (int64_t)(filter - 1) * conv->dilation[d] + 1;
    int64_t room = in + 2 * (int64_t)conv->pad[d] - reach;

    return room < 0 ? 0 : (int)(room / conv->stride[d] + 1);
}

cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(cudnnConvolutionDescriptor_t convDesc,
                                                    cudnnTensorDescriptor_t inputTensorDesc,
                                                    cudnnFilterDescriptor_t filterDesc, int nbDims,
                                                    int *tensorOuputDimA)
{
    DNN_NEEDS(convDesc, inputTensorDesc, filterDesc, tensorOuputDimA);
    const struct cudnnTensorStruct *x = inputTensorDesc, *w = &filterDesc->t;
    DNN_CHECK(convDesc->rank + 2 == nbDims && x->rank == nbDims && w->rank == nbDims,
              "%d dimensions; the convolution has %d, the input %d, the filter %d", nbDims,
              convDesc->rank + 2, x->rank, w->rank);
    DNN_CHECK(x->dims[1] == w->dims[1] * convDesc->groups && w->dims[0] % convDesc->groups == 0,
              "%d channels, a filter of %d x %d, %d groups", x->dims[1], w->dims[0], w->dims[1],
              convDesc->groups);
    tensorOuputDimA[0] = x->dims[0];
    tensorOuputDimA[1] = w->dims[0];
    for (int d = 2; d < nbDims; d++) {
        tensorOuputDimA[d] = out_size(convDesc, d - 2, x->dims[d], w->dims[d]);
        DNN_CHECK(tensorOuputDimA[d] > 0, "the filter is larger than the padded input");
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(cudnnConvolutionDescriptor_t convDesc,
                                                    cudnnTensorDescriptor_t inputTensorDesc,
                                                    cudnnFilterDescriptor_t filterDesc, int *n,
                                                    int *c, int *h, int *w)
{
    int dims[4];

    DNN_NEEDS(n, c, h, w);
    cudnnStatus_t status =
        cudnnGetConvolutionNdForwardOutputDim(convDesc, inputTensorDesc, filterDesc, 4, dims);
    if (status)
        return status;
    *n = dims[0];
    *c = dims[1];
    *h = dims[2];
    *w = dims[3];
    return CUDNN_STATUS_SUCCESS;
}

/* ---- what a convolution is */

static bool is_byte(cudnnDataType_t type)
{
    int t = dnn_type(type);

    return t == KLIB_I8 || t == KLIB_U8;
}

/* Sets the tensors and shapes of `out`: x is N x C, w is the filter, y is the result of forward. */
static cudnnStatus_t conv_of(const char *function, cudnnConvolutionDescriptor_t desc,
                             cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                             cudnnTensorDescriptor_t y, enum klib_conv_kind kind,
                             struct klib_conv *out)
{
    int dims[CUDNN_DIM_MAX];
    bool is_forward = kind == KLIB_CONV_FORWARD;

    if (!desc || !x || !w || !y)
        return dnn_fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, function, "a descriptor is NULL");
    if (!desc->rank || !y->rank)
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function, "a descriptor is not set");
    cudnnStatus_t status = cudnnGetConvolutionNdForwardOutputDim(desc, x, w, desc->rank + 2, dims);
    if (status)
        return status;
    if (y->rank != x->rank || memcmp(dims, y->dims, (size_t)x->rank * sizeof(dims[0])) != 0)
        return dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, function,
                        "y has %d x %d x %d ..., not %d x %d x %d ...", y->dims[0], y->dims[1],
                        y->dims[2], dims[0], dims[1], dims[2]);
    bool is_fine =
        is_forward && is_byte(x->type)
            ? is_byte(w->t.type) &&
                  (is_byte(y->type) || y->type == CUDNN_DATA_FLOAT || y->type == CUDNN_DATA_INT32)
            : x->type == w->t.type && x->type == y->type && x->type != CUDNN_DATA_INT32 &&
                  x->type != CUDNN_DATA_INT64 && x->type != CUDNN_DATA_BOOLEAN;
    if (!is_fine)
        return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, function,
                        "types %d of x, %d of the filter, %d of y", (int)x->type, (int)w->t.type,
                        (int)y->type);
    *out = (struct klib_conv){.kind = kind,
                              .is_flipped = desc->mode == CUDNN_CONVOLUTION,
                              .x = dnn_tensor(x, NULL),
                              .w = dnn_tensor(&w->t, NULL),
                              .y = dnn_tensor(y, NULL),
                              .alpha = 1,
                              .groups = desc->groups};
    for (int d = 0; d < desc->rank; d++) {
        out->pad[d] = desc->pad[d];
        out->stride[d] = desc->stride[d];
        out->dilation[d] = desc->dilation[d];
    }
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t run(cudnnHandle_t handle, struct klib_conv *conv)
{
    static struct lib_kernel kernels[3];
    static const char *const names[] = {"cudnn_convolution_forward", "cudnn_convolution_data",
                                        "cudnn_convolution_filter"};
    const struct klib_dnn *klib = dnn_klib();
    uint64_t tiles;

    if (!klib)
        return CUDNN_STATUS_INTERNAL_ERROR;
    uint64_t ns = klib->conv_plan(conv, lib_threads(), &tiles);
    return dnn_launch(handle, &kernels[conv->kind], names[conv->kind], klib->conv, conv,
                      sizeof(*conv), tiles, ns);
}

/* result = alpha * sums + beta * result */
static cudnnStatus_t run_scaled(cudnnHandle_t handle, struct klib_conv *conv,
                                const struct cudnnTensorStruct *t, const void *alpha,
                                const void *beta)
{
    const struct klib_tensor *result = conv->kind == KLIB_CONV_FORWARD ? &conv->y
                                       : conv->kind == KLIB_CONV_DATA  ? &conv->x
                                                                       : &conv->w;
    conv->alpha = dnn_factor(alpha, t);
    conv->beta = dnn_factor(beta, t);
    if (conv->beta != 0)
        conv->z = *result;
    return run(handle, conv);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                      cudnnTensorDescriptor_t xDesc, const void *x,
                                      cudnnFilterDescriptor_t wDesc, const void *w,
                                      cudnnConvolutionDescriptor_t convDesc,
                                      cudnnConvolutionFwdAlgo_t algo, void *workSpace,
                                      size_t workSpaceSizeInBytes, const void *beta,
                                      cudnnTensorDescriptor_t yDesc, void *y)
{
    struct klib_conv conv;

    (void)workSpace;
    (void)workSpaceSizeInBytes;
    DNN_NEEDS(handle, alpha, beta, x, w, y);
    DNN_CHECK(algo < CUDNN_CONVOLUTION_FWD_ALGO_COUNT, "algorithm %d", (int)algo);
    DNN_SUPPORTS(algo != CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, "algorithm %d", (int)algo);
    cudnnStatus_t status =
        conv_of(__func__, convDesc, xDesc, wDesc, yDesc, KLIB_CONV_FORWARD, &conv);
    if (status)
        return status;
    conv.x.address = (void *)x;
    conv.w.address = (void *)w;
    conv.y.address = y;
    return run_scaled(handle, &conv, xDesc, alpha, beta);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
                                           cudnnFilterDescriptor_t wDesc, const void *w,
                                           cudnnTensorDescriptor_t dyDesc, const void *dy,
                                           cudnnConvolutionDescriptor_t convDesc,
                                           cudnnConvolutionBwdDataAlgo_t algo, void *workSpace,
                                           size_t workSpaceSizeInBytes, const void *beta,
                                           cudnnTensorDescriptor_t dxDesc, void *dx)
{
    struct klib_conv conv;

    (void)workSpace;
    (void)workSpaceSizeInBytes;
    DNN_NEEDS(handle, alpha, beta, w, dy, dx);
    DNN_CHECK(algo < CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, "algorithm %d", (int)algo);
    cudnnStatus_t status =
        conv_of(__func__, convDesc, dxDesc, wDesc, dyDesc, KLIB_CONV_DATA, &conv);
    if (status)
        return status;
    conv.x.address = dx;
    conv.w.address = (void *)w;
    conv.y.address = (void *)dy;
    return run_scaled(handle, &conv, dxDesc, alpha, beta);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha,
                                             cudnnTensorDescriptor_t xDesc, const void *x,
                                             cudnnTensorDescriptor_t dyDesc, const void *dy,
                                             cudnnConvolutionDescriptor_t convDesc,
                                             cudnnConvolutionBwdFilterAlgo_t algo, void *workSpace,
                                             size_t workSpaceSizeInBytes, const void *beta,
                                             cudnnFilterDescriptor_t dwDesc, void *dw)
{
    struct klib_conv conv;

    (void)workSpace;
    (void)workSpaceSizeInBytes;
    DNN_NEEDS(handle, alpha, beta, x, dy, dw);
    DNN_CHECK(algo < CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT, "algorithm %d", (int)algo);
    cudnnStatus_t status =
        conv_of(__func__, convDesc, xDesc, dwDesc, dyDesc, KLIB_CONV_FILTER, &conv);
    if (status)
        return status;
    conv.x.address = (void *)x;
    conv.w.address = dw;
    conv.y.address = (void *)dy;
    return run_scaled(handle, &conv, xDesc, alpha, beta);
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void *alpha1, cudnnTensorDescriptor_t xDesc, const void *x,
    cudnnFilterDescriptor_t wDesc, const void *w, cudnnConvolutionDescriptor_t convDesc,
    cudnnConvolutionFwdAlgo_t algo, void *workSpace, size_t workSpaceSizeInBytes,
    const void *alpha2, cudnnTensorDescriptor_t zDesc, const void *z,
    cudnnTensorDescriptor_t biasDesc, const void *bias, cudnnActivationDescriptor_t activationDesc,
    cudnnTensorDescriptor_t yDesc, void *y)
{
    struct klib_conv conv;

    (void)workSpace;
    (void)workSpaceSizeInBytes;
    DNN_NEEDS(handle, alpha1, alpha2, x, w, y, zDesc, z, biasDesc, bias, activationDesc);
    DNN_CHECK(algo < CUDNN_CONVOLUTION_FWD_ALGO_COUNT, "algorithm %d", (int)algo);
    DNN_SUPPORTS(algo != CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, "algorithm %d", (int)algo);
    cudnnStatus_t status =
        conv_of(__func__, convDesc, xDesc, wDesc, yDesc, KLIB_CONV_FORWARD, &conv);
    if (status)
        return status;
    DNN_CHECK(activationDesc->is_set, "the activation's descriptor is not set");
    DNN_CHECK(dnn_same_dims(zDesc, yDesc), "z does not have y's dimensions");
    DNN_CHECK(biasDesc->rank == yDesc->rank && biasDesc->dims[1] == yDesc->dims[1] &&
                  dnn_elements(biasDesc) == yDesc->dims[1],
              "the bias does not have a number for each of %d channels", yDesc->dims[1]);
    conv.x.address = (void *)x;
    conv.w.address = (void *)w;
    conv.y.address = y;
    conv.alpha = dnn_factor(alpha1, xDesc);
    conv.beta = dnn_factor(alpha2, xDesc);
    if (conv.beta != 0)
        conv.z = dnn_tensor(zDesc, z);
    conv.bias = dnn_tensor(biasDesc, bias);
    conv.act = dnn_act(activationDesc);
    return run(handle, &conv);
}

/* ---- algorithms: first those that are recommended, then those that a GPU has */

struct perf {
    int algo;
    bool is_recommended;
};

static const struct perf forward[] = {{CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, true},
                                      {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, true},
                                      {CUDNN_CONVOLUTION_FWD_ALGO_GEMM, true},
                                      {CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, false},
                                      {CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, false},
                                      {CUDNN_CONVOLUTION_FWD_ALGO_FFT, false},
                                      {CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING, false},
                                      {CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, false}};
static const struct perf data[] = {{CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, true},
                                   {CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, true},
                                   {CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, false},
                                   {CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, false},
                                   {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, false},
                                   {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING, false}};
static const struct perf filter[] = {{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, true},
                                     {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, true},
                                     {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3, true},
                                     {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD, false},
                                     {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, false},
                                     {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, false},
                                     {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING, false}};

/* The three structures of results differ in the type of `algo` alone. */
static void list(const struct perf *perfs, int n, float ms, cudnnMathType_t math, void *results)
{
    cudnnConvolutionFwdAlgoPerf_t *to = results;

    for (int i = 0; i < n; i++)
        to[i] = (cudnnConvolutionFwdAlgoPerf_t){
            .algo = (cudnnConvolutionFwdAlgo_t)perfs[i].algo,
            .status = perfs[i].is_recommended ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED,
            .time = perfs[i].is_recommended ? ms : -1,
            .determinism = CUDNN_DETERMINISTIC,
            .mathType = math};
}

/* Time of one run, in milliseconds; what there was in the result is lost. */
static cudnnStatus_t measure(cudnnHandle_t handle, struct klib_conv *conv, float *out_ms)
{
    struct timespec begin, end;
    cudnnStatus_t status = dnn_status(lib_wait(&handle->base));

    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (!status)
        status = run(handle, conv);
    if (!status)
        status = dnn_status(lib_wait(&handle->base));
    clock_gettime(CLOCK_MONOTONIC, &end);
    *out_ms =
        (float)(end.tv_sec - begin.tv_sec) * 1e3f + (float)(end.tv_nsec - begin.tv_nsec) * 1e-6f;
    return status;
}

/* Memory for tensors that the caller does not bring. */
static cudnnStatus_t measure_alone(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                   cudnnTensorDescriptor_t w, cudnnTensorDescriptor_t y,
                                   struct klib_conv *conv, float *out_ms)
{
    cudnnTensorDescriptor_t descs[] = {x, w, y};
    struct klib_tensor *tensors[] = {&conv->x, &conv->w, &conv->y};
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

    for (int i = 0; i < 3 && !status; i++) {
        size_t size_B;
        (void)cudnnGetTensorSizeInBytes(descs[i], &size_B);
        status = dnn_alloc(&tensors[i]->address, size_B);
    }
    if (!status)
        status = measure(handle, conv, out_ms);
    for (int i = 0; i < 3; i++)
        dnn_free(tensors[i]->address);
    return status;
}

/*
 * The six queries of a kind: how many algorithms there are, what is recommended, what a run takes,
 * and the workspace. X, W and Y are the descriptors, DIFF the order of a function's arguments.
 */
#define QUERIES(Kind, Perf, Algo, KIND, table, X, W, Y, ARGS, DATA_ARGS, XD, WD, YD)               \
    cudnnStatus_t cudnnGetConvolution##Kind##AlgorithmMaxCount(cudnnHandle_t handle, int *count)   \
    {                                                                                              \
        DNN_NEEDS(handle, count);                                                                  \
        *count = (int)HD_COUNT_OF(table);                                                          \
        return CUDNN_STATUS_SUCCESS;                                                               \
    }                                                                                              \
    cudnnStatus_t cudnnGetConvolution##Kind##Algorithm_v7(ARGS, const int requestedAlgoCount,      \
                                                          int *returnedAlgoCount,                  \
                                                          cudnnConvolution##Perf##_t *perfResults) \
    {                                                                                              \
        struct klib_conv conv;                                                                     \
        DNN_NEEDS(handle, returnedAlgoCount, perfResults);                                         \
        DNN_CHECK(requestedAlgoCount > 0, "%d results", requestedAlgoCount);                       \
        cudnnStatus_t status = conv_of(__func__, convDesc, X, W, Y, KIND, &conv);                  \
        if (status)                                                                                \
            return status;                                                                         \
        *returnedAlgoCount = HD_MIN(requestedAlgoCount, (int)HD_COUNT_OF(table));                  \
        list(table, *returnedAlgoCount, -1, convDesc->math, perfResults);                          \
        return CUDNN_STATUS_SUCCESS;                                                               \
    }                                                                                              \
    cudnnStatus_t cudnnFindConvolution##Kind##Algorithm(ARGS, const int requestedAlgoCount,        \
                                                        int *returnedAlgoCount,                    \
                                                        cudnnConvolution##Perf##_t *perfResults)   \
    {                                                                                              \
        struct klib_conv conv;                                                                     \
        float ms;                                                                                  \
        DNN_NEEDS(handle, returnedAlgoCount, perfResults);                                         \
        DNN_CHECK(requestedAlgoCount > 0, "%d results", requestedAlgoCount);                       \
        cudnnStatus_t status = conv_of(__func__, convDesc, X, W, Y, KIND, &conv);                  \
        if (!status)                                                                               \
            status = measure_alone(handle, X, &W->t, Y, &conv, &ms);                               \
        if (status)                                                                                \
            return status;                                                                         \
        *returnedAlgoCount = HD_MIN(requestedAlgoCount, (int)HD_COUNT_OF(table));                  \
        list(table, *returnedAlgoCount, ms, convDesc->math, perfResults);                          \
        return CUDNN_STATUS_SUCCESS;                                                               \
    }                                                                                              \
    cudnnStatus_t cudnnFindConvolution##Kind##AlgorithmEx(                                         \
        DATA_ARGS, const int requestedAlgoCount, int *returnedAlgoCount,                           \
        cudnnConvolution##Perf##_t *perfResults, void *workSpace, size_t workSpaceSizeInBytes)     \
    {                                                                                              \
        struct klib_conv conv;                                                                     \
        float ms;                                                                                  \
        (void)workSpace;                                                                           \
        (void)workSpaceSizeInBytes;                                                                \
        DNN_NEEDS(handle, XD, WD, YD, returnedAlgoCount, perfResults);                             \
        DNN_CHECK(requestedAlgoCount > 0, "%d results", requestedAlgoCount);                       \
        cudnnStatus_t status = conv_of(__func__, convDesc, X, W, Y, KIND, &conv);                  \
        if (status)                                                                                \
            return status;                                                                         \
        conv.x.address = (void *)XD;                                                               \
        conv.w.address = (void *)WD;                                                               \
        conv.y.address = (void *)YD;                                                               \
        status = measure(handle, &conv, &ms);                                                      \
        if (status)                                                                                \
            return status;                                                                         \
        *returnedAlgoCount = HD_MIN(requestedAlgoCount, (int)HD_COUNT_OF(table));                  \
        list(table, *returnedAlgoCount, ms, convDesc->math, perfResults);                          \
        return CUDNN_STATUS_SUCCESS;                                                               \
    }                                                                                              \
    cudnnStatus_t cudnnGetConvolution##Kind##WorkspaceSize(ARGS, cudnnConvolution##Algo##_t algo,  \
                                                           size_t *sizeInBytes)                    \
    {                                                                                              \
        struct klib_conv conv;                                                                     \
        DNN_NEEDS(handle, sizeInBytes);                                                            \
        DNN_CHECK((unsigned)algo < HD_COUNT_OF(table), "algorithm %d", (int)algo);                 \
        DNN_SUPPORTS(KIND != KLIB_CONV_FORWARD || (int)algo != CUDNN_CONVOLUTION_FWD_ALGO_DIRECT,  \
                     "algorithm %d", (int)algo);                                                   \
        *sizeInBytes = 0;                                                                          \
        return conv_of(__func__, convDesc, X, W, Y, KIND, &conv);                                  \
    }

#define ARGS                                                                                       \
    cudnnHandle_t handle, cudnnTensorDescriptor_t xDesc, cudnnFilterDescriptor_t wDesc,            \
        cudnnConvolutionDescriptor_t convDesc, cudnnTensorDescriptor_t yDesc
#define DATA_ARGS                                                                                  \
    cudnnHandle_t handle, cudnnTensorDescriptor_t xDesc, const void *x,                            \
        cudnnFilterDescriptor_t wDesc, const void *w, cudnnConvolutionDescriptor_t convDesc,       \
        cudnnTensorDescriptor_t yDesc, void *y
QUERIES(Forward, FwdAlgoPerf, FwdAlgo, KLIB_CONV_FORWARD, forward, xDesc, wDesc, yDesc, ARGS,
        DATA_ARGS, x, w, y)
#undef ARGS
#undef DATA_ARGS

#define ARGS                                                                                       \
    cudnnHandle_t handle, cudnnFilterDescriptor_t wDesc, cudnnTensorDescriptor_t dyDesc,           \
        cudnnConvolutionDescriptor_t convDesc, cudnnTensorDescriptor_t dxDesc
#define DATA_ARGS                                                                                  \
    cudnnHandle_t handle, cudnnFilterDescriptor_t wDesc, const void *w,                            \
        cudnnTensorDescriptor_t dyDesc, const void *dy, cudnnConvolutionDescriptor_t convDesc,     \
        cudnnTensorDescriptor_t dxDesc, void *dx
QUERIES(BackwardData, BwdDataAlgoPerf, BwdDataAlgo, KLIB_CONV_DATA, data, dxDesc, wDesc, dyDesc,
        ARGS, DATA_ARGS, dx, w, dy)
#undef ARGS
#undef DATA_ARGS

#define ARGS                                                                                       \
    cudnnHandle_t handle, cudnnTensorDescriptor_t xDesc, cudnnTensorDescriptor_t dyDesc,           \
        cudnnConvolutionDescriptor_t convDesc, cudnnFilterDescriptor_t dwDesc
#define DATA_ARGS                                                                                  \
    cudnnHandle_t handle, cudnnTensorDescriptor_t xDesc, const void *x,                            \
        cudnnTensorDescriptor_t dyDesc, const void *y, cudnnConvolutionDescriptor_t convDesc,      \
        cudnnFilterDescriptor_t dwDesc, void *dw
QUERIES(BackwardFilter, BwdFilterAlgoPerf, BwdFilterAlgo, KLIB_CONV_FILTER, filter, xDesc, dwDesc,
        dyDesc, ARGS, DATA_ARGS, x, dw, y)
#undef ARGS
#undef DATA_ARGS
