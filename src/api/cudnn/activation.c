/* Activations: their descriptor. */
#include <math.h>

#include "api/cudnn/dnn.h"
#include "base/mem.h"

struct klib_act dnn_act(const struct cudnnActivationStruct *act)
{
    static const uint8_t kinds[] = {[CUDNN_ACTIVATION_SIGMOID] = KLIB_ACT_SIGMOID,
                                    [CUDNN_ACTIVATION_RELU] = KLIB_ACT_RELU,
                                    [CUDNN_ACTIVATION_TANH] = KLIB_ACT_TANH,
                                    [CUDNN_ACTIVATION_CLIPPED_RELU] = KLIB_ACT_RELU,
                                    [CUDNN_ACTIVATION_ELU] = KLIB_ACT_ELU,
                                    [CUDNN_ACTIVATION_IDENTITY] = KLIB_ACT_IDENTITY,
                                    [CUDNN_ACTIVATION_SWISH] = KLIB_ACT_SWISH};
    struct klib_act k = {.kind = kinds[act->mode], .no_nan = act->nan == CUDNN_NOT_PROPAGATE_NAN};

    if (k.kind == KLIB_ACT_RELU)
        k.p[1] = act->mode == CUDNN_ACTIVATION_RELU ? INFINITY : act->coef;
    else if (k.kind == KLIB_ACT_ELU)
        k.p[0] = act->coef;
    else if (k.kind == KLIB_ACT_SWISH)
        k.p[0] = act->swish_beta;
    return k;
}

cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t *activationDesc)
{
    DNN_NEEDS(activationDesc);
    *activationDesc = hd_new(struct cudnnActivationStruct);
    if (!*activationDesc)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    (*activationDesc)->swish_beta = 1;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t activationDesc)
{
    hd_free(activationDesc);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activationDesc,
                                           cudnnActivationMode_t mode,
                                           cudnnNanPropagation_t reluNanOpt, double coef)
{
    DNN_NEEDS(activationDesc);
    DNN_CHECK(mode <= CUDNN_ACTIVATION_SWISH && reluNanOpt <= CUDNN_PROPAGATE_NAN,
              "mode %d, NaN option %d", (int)mode, (int)reluNanOpt);
    activationDesc->mode = mode;
    activationDesc->nan = reluNanOpt;
    activationDesc->coef = coef;
    activationDesc->is_set = true;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetActivationDescriptor(cudnnActivationDescriptor_t activationDesc,
                                           cudnnActivationMode_t *mode,
                                           cudnnNanPropagation_t *reluNanOpt, double *coef)
{
    DNN_NEEDS(activationDesc, mode, reluNanOpt, coef);
    *mode = activationDesc->mode;
    *reluNanOpt = activationDesc->nan;
    *coef = activationDesc->coef;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t activationDesc,
                                                    double swish_beta)
{
    DNN_NEEDS(activationDesc);
    activationDesc->swish_beta = swish_beta;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t activationDesc,
                                                    double *swish_beta)
{
    DNN_NEEDS(activationDesc, swish_beta);
    *swish_beta = activationDesc->swish_beta;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t activation_of(const char *function, cudnnActivationDescriptor_t act,
                                   cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y)
{
    if (!act->is_set)
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function, "the descriptor is not set");
    if (!dnn_same_dims(x, y) || x->type != y->type)
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function,
                        "tensors differ in their dimensions or types");
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle,
                                     cudnnActivationDescriptor_t activationDesc, const void *alpha,
                                     cudnnTensorDescriptor_t xDesc, const void *x, const void *beta,
                                     cudnnTensorDescriptor_t yDesc, void *y)
{
    DNN_NEEDS(handle, activationDesc, alpha, xDesc, x, beta, yDesc, y);
    cudnnStatus_t status = activation_of(__func__, activationDesc, xDesc, yDesc);
    struct klib_dnn_op op = {.kernel = KLIB_DNN_pointwise,
                             .mode = KLIB_PW_ACT,
                             .act = dnn_act(activationDesc),
                             .alpha = {dnn_factor(alpha, yDesc)},
                             .beta = {dnn_factor(beta, yDesc)},
                             .t = {dnn_tensor(yDesc, y), dnn_tensor(xDesc, x)}};
    return status ? status : dnn_op(handle, &op);
}

cudnnStatus_t cudnnActivationBackward(cudnnHandle_t handle,
                                      cudnnActivationDescriptor_t activationDesc, const void *alpha,
                                      cudnnTensorDescriptor_t yDesc, const void *y,
                                      cudnnTensorDescriptor_t dyDesc, const void *dy,
                                      cudnnTensorDescriptor_t xDesc, const void *x,
                                      const void *beta, cudnnTensorDescriptor_t dxDesc, void *dx)
{
    DNN_NEEDS(handle, activationDesc, alpha, yDesc, y, dyDesc, dy, xDesc, x, beta, dxDesc, dx);
    cudnnStatus_t status = activation_of(__func__, activationDesc, yDesc, dyDesc);
    if (!status)
        status = activation_of(__func__, activationDesc, xDesc, yDesc);
    if (!status)
        status = activation_of(__func__, activationDesc, dxDesc, yDesc);
    struct klib_dnn_op op = {.kernel = KLIB_DNN_pointwise,
                             .mode = KLIB_PW_ACT_BACKWARD,
                             .act = dnn_act(activationDesc),
                             .alpha = {dnn_factor(alpha, dxDesc)},
                             .beta = {dnn_factor(beta, dxDesc)},
                             .t = {dnn_tensor(dxDesc, dx), dnn_tensor(yDesc, y),
                                   dnn_tensor(dyDesc, dy), dnn_tensor(xDesc, x)}};
    return status ? status : dnn_op(handle, &op);
}
