/* Pooling over two or three dimensions of space. */
#include <string.h>

#include "api/cudnn/dnn.h"
#include "base/mem.h"

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t *poolingDesc)
{
    DNN_NEEDS(poolingDesc);
    *poolingDesc = hd_new(struct cudnnPoolingStruct);
    return *poolingDesc ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t poolingDesc)
{
    hd_free(poolingDesc);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t poolingDesc,
                                          cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t maxpoolingNanOpt, int nbDims,
                                          const int *windowDimA, const int *paddingA,
                                          const int *strideA)
{
    DNN_NEEDS(poolingDesc, windowDimA, paddingA, strideA);
    DNN_CHECK(mode <= CUDNN_POOLING_MAX_DETERMINISTIC && maxpoolingNanOpt <= CUDNN_PROPAGATE_NAN,
              "mode %d, NaN option %d", (int)mode, (int)maxpoolingNanOpt);
    DNN_CHECK(nbDims > 0, "%d dimensions", nbDims);
    DNN_SUPPORTS(nbDims <= KLIB_DNN_SPATIAL, "%d dimensions of space, not 1 to %d", nbDims,
                 KLIB_DNN_SPATIAL);
    for (int d = 0; d < nbDims; d++)
        DNN_CHECK(windowDimA[d] > 0 && strideA[d] > 0 && paddingA[d] >= 0 &&
                      paddingA[d] < windowDimA[d],
                  "dimension %d: window %d, pad %d, stride %d", d, windowDimA[d], paddingA[d],
                  strideA[d]);
    *poolingDesc =
        (struct cudnnPoolingStruct){.rank = nbDims, .mode = mode, .nan = maxpoolingNanOpt};
    memcpy(poolingDesc->window, windowDimA, (size_t)nbDims * sizeof(int));
    memcpy(poolingDesc->pad, paddingA, (size_t)nbDims * sizeof(int));
    memcpy(poolingDesc->stride, strideA, (size_t)nbDims * sizeof(int));
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t poolingDesc,
                                          cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t maxpoolingNanOpt, int windowHeight,
                                          int windowWidth, int verticalPadding,
                                          int horizontalPadding, int verticalStride,
                                          int horizontalStride)
{
    return cudnnSetPoolingNdDescriptor(poolingDesc, mode, maxpoolingNanOpt, 2,
                                       (const int[]){windowHeight, windowWidth},
                                       (const int[]){verticalPadding, horizontalPadding},
                                       (const int[]){verticalStride, horizontalStride});
}

cudnnStatus_t cudnnGetPoolingNdDescriptor(cudnnPoolingDescriptor_t poolingDesc, int nbDimsRequested,
                                          cudnnPoolingMode_t *mode,
                                          cudnnNanPropagation_t *maxpoolingNanOpt, int *nbDims,
                                          int *windowDimA, int *paddingA, int *strideA)
{
    DNN_NEEDS(poolingDesc, mode, maxpoolingNanOpt, nbDims, windowDimA, paddingA, strideA);
    *mode = poolingDesc->mode;
    *maxpoolingNanOpt = poolingDesc->nan;
    *nbDims = poolingDesc->rank;
    for (int d = 0; d < HD_MIN(nbDimsRequested, poolingDesc->rank); d++) {
        windowDimA[d] = poolingDesc->window[d];
        paddingA[d] = poolingDesc->pad[d];
        strideA[d] = poolingDesc->stride[d];
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetPooling2dDescriptor(cudnnPoolingDescriptor_t poolingDesc,
                                          cudnnPoolingMode_t *mode,
                                          cudnnNanPropagation_t *maxpoolingNanOpt,
                                          int *windowHeight, int *windowWidth, int *verticalPadding,
                                          int *horizontalPadding, int *verticalStride,
                                          int *horizontalStride)
{
    DNN_NEEDS(poolingDesc, mode, maxpoolingNanOpt, windowHeight, windowWidth, verticalPadding,
              horizontalPadding, verticalStride, horizontalStride);
    DNN_CHECK(poolingDesc->rank == 2, "the descriptor has %d dimensions of space",
              poolingDesc->rank);
    *mode = poolingDesc->mode;
    *maxpoolingNanOpt = poolingDesc->nan;
    *windowHeight = poolingDesc->window[0];
    *windowWidth = poolingDesc->window[1];
    *verticalPadding = poolingDesc->pad[0];
    *horizontalPadding = poolingDesc->pad[1];
    *verticalStride = poolingDesc->stride[0];
    *horizontalStride = poolingDesc->stride[1];
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetPoolingNdForwardOutputDim(cudnnPoolingDescriptor_t poolingDesc,
                                                cudnnTensorDescriptor_t inputTensorDesc, int nbDims,
                                                int *outputTensorDimA)
{
    DNN_NEEDS(poolingDesc, inputTensorDesc, outputTensorDimA);
    const struct cudnnTensorStruct *x = inputTensorDesc;
    DNN_CHECK(poolingDesc->rank && nbDims == poolingDesc->rank + 2 && x->rank == nbDims,
              "%d dimensions; pooling has %d, the input %d", nbDims, poolingDesc->rank + 2,
              x->rank);
    outputTensorDimA[0] = x->dims[0];
    outputTensorDimA[1] = x->dims[1];
    for (int d = 2; d < nbDims; d++) {
        int room = x->dims[d] + 2 * poolingDesc->pad[d - 2] - poolingDesc->window[d - 2];
        DNN_CHECK(room >= 0, "the window is larger than the padded input");
        outputTensorDimA[d] = room / poolingDesc->stride[d - 2] + 1;
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetPooling2dForwardOutputDim(cudnnPoolingDescriptor_t poolingDesc,
                                                cudnnTensorDescriptor_t inputTensorDesc, int *n,
                                                int *c, int *h, int *w)
{
    int dims[4];

    DNN_NEEDS(n, c, h, w);
    cudnnStatus_t status = cudnnGetPoolingNdForwardOutputDim(poolingDesc, inputTensorDesc, 4, dims);
    if (status)
        return status;
    *n = dims[0];
    *c = dims[1];
    *h = dims[2];
    *w = dims[3];
    return CUDNN_STATUS_SUCCESS;
}

/* y may have fewer rows than fit, or more: then windows reach over the edge. */
static cudnnStatus_t pool_of(const char *function, cudnnPoolingDescriptor_t pool,
                             cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y,
                             struct klib_dnn_op *out)
{
    static const uint8_t modes[] = {
        [CUDNN_POOLING_MAX] = KLIB_POOL_MAX,
        [CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING] = KLIB_POOL_AVERAGE,
        [CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING] = KLIB_POOL_AVERAGE_INSIDE,
        [CUDNN_POOLING_MAX_DETERMINISTIC] = KLIB_POOL_MAX};
    int dims[CUDNN_DIM_MAX];
    cudnnStatus_t status = cudnnGetPoolingNdForwardOutputDim(pool, x, pool->rank + 2, dims);

    if (status)
        return status;
    if (y->rank != x->rank || memcmp(dims, y->dims, (size_t)y->rank * sizeof(int)) != 0 ||
        x->type != y->type)
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function,
                        "y does not have the result's dimensions");
    *out = (struct klib_dnn_op){.mode = modes[pool->mode],
                                .no_nan = pool->nan == CUDNN_NOT_PROPAGATE_NAN};
    for (int d = 0; d < pool->rank; d++) {
        out->n[d] = pool->window[d];
        out->n[3 + d] = pool->pad[d];
        out->n[6 + d] = pool->stride[d];
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, cudnnPoolingDescriptor_t poolingDesc,
                                  const void *alpha, cudnnTensorDescriptor_t xDesc, const void *x,
                                  const void *beta, cudnnTensorDescriptor_t yDesc, void *y)
{
    struct klib_dnn_op op;

    DNN_NEEDS(handle, poolingDesc, alpha, xDesc, x, beta, yDesc, y);
    cudnnStatus_t status = pool_of(__func__, poolingDesc, xDesc, yDesc, &op);
    if (status)
        return status;
    op.kernel = KLIB_DNN_pool_forward;
    op.alpha[0] = dnn_factor(alpha, yDesc);
    op.beta[0] = dnn_factor(beta, yDesc);
    op.t[0] = dnn_tensor(yDesc, y);
    op.t[1] = dnn_tensor(xDesc, x);
    return dnn_op(handle, &op);
}

cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, cudnnPoolingDescriptor_t poolingDesc,
                                   const void *alpha, cudnnTensorDescriptor_t yDesc, const void *y,
                                   cudnnTensorDescriptor_t dyDesc, const void *dy,
                                   cudnnTensorDescriptor_t xDesc, const void *x, const void *beta,
                                   cudnnTensorDescriptor_t dxDesc, void *dx)
{
    struct klib_dnn_op op;

    DNN_NEEDS(handle, poolingDesc, alpha, dyDesc, dy, xDesc, beta, dxDesc, dx);
    (void)y; /* what is largest is found in x again */
    (void)yDesc;
    cudnnStatus_t status = pool_of(__func__, poolingDesc, dxDesc, dyDesc, &op);
    if (status)
        return status;
    DNN_CHECK(dnn_same_dims(xDesc, dxDesc), "x and dx have other dimensions");
    if (op.mode == KLIB_POOL_MAX)
        DNN_NEEDS(x);
    op.kernel = KLIB_DNN_pool_backward;
    op.alpha[0] = dnn_factor(alpha, dxDesc);
    op.beta[0] = dnn_factor(beta, dxDesc);
    op.t[0] = dnn_tensor(dxDesc, dx);
    op.t[1] = dnn_tensor(xDesc, x);
    op.t[2] = dnn_tensor(dyDesc, dy);
    return dnn_op(handle, &op);
}
