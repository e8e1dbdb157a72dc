/* Softmax, along the channels or all of an image. */
#include "api/cudnn/dnn.h"

static cudnnStatus_t softmax_of(const char *function, cudnnSoftmaxAlgorithm_t algo,
                                cudnnSoftmaxMode_t mode, cudnnTensorDescriptor_t x,
                                cudnnTensorDescriptor_t y)
{
    if (algo > CUDNN_SOFTMAX_LOG || mode > CUDNN_SOFTMAX_MODE_CHANNEL)
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function, "algorithm %d, mode %d", (int)algo,
                        (int)mode);
    if (!x->rank || !dnn_same_dims(x, y) || x->type != y->type)
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function,
                        "tensors differ in their dimensions or types");
    return CUDNN_STATUS_SUCCESS;
}

/* Dimensions that a sum goes along. */
static int64_t along(cudnnSoftmaxMode_t mode, cudnnTensorDescriptor_t x)
{
    return mode == CUDNN_SOFTMAX_MODE_CHANNEL ? 2 : (1 << x->rank) - 2;
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo,
                                  cudnnSoftmaxMode_t mode, const void *alpha,
                                  cudnnTensorDescriptor_t xDesc, const void *x, const void *beta,
                                  cudnnTensorDescriptor_t yDesc, void *y)
{
    DNN_NEEDS(handle, alpha, xDesc, x, beta, yDesc, y);
    cudnnStatus_t status = softmax_of(__func__, algo, mode, xDesc, yDesc);
    struct klib_dnn_op op = {.kernel = KLIB_DNN_softmax_forward,
                             .mode = algo,
                             .alpha = {dnn_factor(alpha, yDesc)},
                             .beta = {dnn_factor(beta, yDesc)},
                             .n = {along(mode, xDesc)},
                             .t = {dnn_tensor(yDesc, y), dnn_tensor(xDesc, x)}};
    return status ? status : dnn_op(handle, &op);
}

cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo,
                                   cudnnSoftmaxMode_t mode, const void *alpha,
                                   cudnnTensorDescriptor_t yDesc, const void *y,
                                   cudnnTensorDescriptor_t dyDesc, const void *dy, const void *beta,
                                   cudnnTensorDescriptor_t dxDesc, void *dx)
{
    DNN_NEEDS(handle, alpha, yDesc, y, dyDesc, dy, beta, dxDesc, dx);
    cudnnStatus_t status = softmax_of(__func__, algo, mode, yDesc, dyDesc);
    if (!status)
        status = softmax_of(__func__, algo, mode, yDesc, dxDesc);
    struct klib_dnn_op op = {
        .kernel = KLIB_DNN_softmax_backward,
        .mode = algo,
        .alpha = {dnn_factor(alpha, dxDesc)},
        .beta = {dnn_factor(beta, dxDesc)},
        .n = {along(mode, yDesc)},
        .t = {dnn_tensor(dxDesc, dx), dnn_tensor(yDesc, y), dnn_tensor(dyDesc, dy)}};
    return status ? status : dnn_op(handle, &op);
}
