/* Local response normalization, across channels. */
#include "api/cudnn/dnn.h"
#include "base/mem.h"

cudnnStatus_t cudnnCreateLRNDescriptor(cudnnLRNDescriptor_t *normDesc)
{
    DNN_NEEDS(normDesc);
    *normDesc = hd_new(struct cudnnLRNStruct);
    if (!*normDesc)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    **normDesc = (struct cudnnLRNStruct){5, 1e-4, 0.75, 2};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyLRNDescriptor(cudnnLRNDescriptor_t lrnDesc)
{
    hd_free(lrnDesc);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetLRNDescriptor(cudnnLRNDescriptor_t normDesc, unsigned lrnN, double lrnAlpha,
                                    double lrnBeta, double lrnK)
{
    DNN_NEEDS(normDesc);
    DNN_CHECK(lrnN >= CUDNN_LRN_MIN_N && lrnN <= CUDNN_LRN_MAX_N && lrnBeta >= CUDNN_LRN_MIN_BETA &&
                  lrnK >= CUDNN_LRN_MIN_K,
              "n %u, beta %g, k %g", lrnN, lrnBeta, lrnK);
    *normDesc = (struct cudnnLRNStruct){lrnN, lrnAlpha, lrnBeta, lrnK};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetLRNDescriptor(cudnnLRNDescriptor_t normDesc, unsigned *lrnN, double *lrnAlpha,
                                    double *lrnBeta, double *lrnK)
{
    DNN_NEEDS(normDesc, lrnN, lrnAlpha, lrnBeta, lrnK);
    *lrnN = normDesc->n;
    *lrnAlpha = normDesc->alpha;
    *lrnBeta = normDesc->beta;
    *lrnK = normDesc->k;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnLRNCrossChannelForward(cudnnHandle_t handle, cudnnLRNDescriptor_t normDesc,
                                          cudnnLRNMode_t lrnMode, const void *alpha,
                                          cudnnTensorDescriptor_t xDesc, const void *x,
                                          const void *beta, cudnnTensorDescriptor_t yDesc, void *y)
{
    DNN_NEEDS(handle, normDesc, alpha, xDesc, x, beta, yDesc, y);
    DNN_CHECK(lrnMode == CUDNN_LRN_CROSS_CHANNEL_DIM1, "mode %d", (int)lrnMode);
    DNN_CHECK(xDesc->rank && dnn_same_dims(xDesc, yDesc), "x and y have other dimensions");
    struct klib_dnn_op op = {.kernel = KLIB_DNN_lrn_forward,
                             .alpha = {dnn_factor(alpha, yDesc)},
                             .beta = {dnn_factor(beta, yDesc)},
                             .n = {normDesc->n},
                             .f = {normDesc->alpha, normDesc->beta, normDesc->k},
                             .t = {dnn_tensor(yDesc, y), dnn_tensor(xDesc, x)}};
    return dnn_op(handle, &op);
}

cudnnStatus_t cudnnLRNCrossChannelBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t normDesc,
                                           cudnnLRNMode_t lrnMode, const void *alpha,
                                           cudnnTensorDescriptor_t yDesc, const void *y,
                                           cudnnTensorDescriptor_t dyDesc, const void *dy,
                                           cudnnTensorDescriptor_t xDesc, const void *x,
                                           const void *beta, cudnnTensorDescriptor_t dxDesc,
                                           void *dx)
{
    DNN_NEEDS(handle, normDesc, alpha, yDesc, y, dyDesc, dy, xDesc, x, beta, dxDesc, dx);
    DNN_CHECK(lrnMode == CUDNN_LRN_CROSS_CHANNEL_DIM1, "mode %d", (int)lrnMode);
    DNN_CHECK(xDesc->rank && dnn_same_dims(xDesc, yDesc) && dnn_same_dims(xDesc, dyDesc) &&
                  dnn_same_dims(xDesc, dxDesc),
              "tensors have other dimensions than x");
    struct klib_dnn_op op = {.kernel = KLIB_DNN_lrn_backward,
                             .alpha = {dnn_factor(alpha, dxDesc)},
                             .beta = {dnn_factor(beta, dxDesc)},
                             .n = {normDesc->n},
                             .f = {normDesc->alpha, normDesc->beta, normDesc->k},
                             .t = {dnn_tensor(dxDesc, dx), dnn_tensor(xDesc, x),
                                   dnn_tensor(yDesc, y), dnn_tensor(dyDesc, dy)}};
    return dnn_op(handle, &op);
}
