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
