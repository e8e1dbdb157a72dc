/*
 * Batch normalization, and the functions of the same by the name of normalization. There is no
 * workspace and no reserve space: gradients through an activation take the result y.
 */
#include "api/cudnn/dnn.h"

/* Dimensions that a channel's statistics go over; 0: no such mode. */
static uint32_t over(cudnnBatchNormMode_t mode, const struct cudnnTensorStruct *x)
{
    uint32_t all = (1u << x->rank) - 1;

    return mode == CUDNN_BATCHNORM_PER_ACTIVATION       ? 1
           : mode <= CUDNN_BATCHNORM_SPATIAL_PERSISTENT ? all & ~2u
                                                        : 0;
}

cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derivedBnDesc,
                                            cudnnTensorDescriptor_t xDesc,
                                            cudnnBatchNormMode_t mode)
{
    DNN_NEEDS(derivedBnDesc, xDesc);
    DNN_CHECK(xDesc->rank >= 3 && over(mode, xDesc), "mode %d of %d dimensions", (int)mode,
              xDesc->rank);
    struct cudnnTensorStruct t = *xDesc;
    t.type = xDesc->type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    for (int d = 0; d < t.rank; d++)
        if (over(mode, xDesc) >> d & 1)
            t.dims[d] = 1;
    dnn_pack(&t, CUDNN_TENSOR_NCHW);
    *derivedBnDesc = t;
    return CUDNN_STATUS_SUCCESS;
}

/* What all of them have in common; sets the tensors of x and the scale, and what is done behind. */
static cudnnStatus_t norm_of(const char *function, cudnnBatchNormMode_t mode,
                             cudnnBatchNormOps_t ops, cudnnTensorDescriptor_t x,
                             cudnnTensorDescriptor_t scale, cudnnActivationDescriptor_t act,
                             double epsilon, struct klib_dnn_op *op)
{
    struct cudnnTensorStruct derived;

    if (ops > CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION || !(epsilon >= CUDNN_BN_MIN_EPSILON))
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function, "operations %d, epsilon %g", (int)ops,
                        epsilon);
    cudnnStatus_t status = cudnnDeriveBNTensorDescriptor(&derived, x, mode);
    if (status)
        return status;
    if (!dnn_same_dims(scale, &derived) || scale->type != derived.type)
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function,
                        "the scale's descriptor is not what is derived of x's");
    if (ops != CUDNN_BATCHNORM_OPS_BN) {
        if (!act)
            return dnn_fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, function,
                            "there is no activation's descriptor");
        if (!act->is_set)
            return dnn_fail(CUDNN_STATUS_BAD_PARAM, function, "the activation's is not set");
        op->act = dnn_act(act);
    }
    op->f[0] = epsilon;
    op->n[0] = over(mode, x);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const void *alpha,
    const void *beta, cudnnTensorDescriptor_t xDesc, const void *xData,
    cudnnTensorDescriptor_t zDesc, const void *zData, cudnnTensorDescriptor_t yDesc, void *yData,
    cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc, const void *bnScale, const void *bnBias,
    double exponentialAverageFactor, void *resultRunningMean, void *resultRunningVariance,
    double epsilon, void *resultSaveMean, void *resultSaveInvVariance,
    cudnnActivationDescriptor_t activationDesc, void *workspace, size_t workSpaceSizeInBytes,
    void *reserveSpace, size_t reserveSpaceSizeInBytes)
{
    struct klib_dnn_op op = {.kernel = KLIB_DNN_norm_train};

    (void)workspace;
    (void)workSpaceSizeInBytes;
    (void)reserveSpace;
    (void)reserveSpaceSizeInBytes;
    DNN_NEEDS(handle, alpha, beta, xDesc, xData, yDesc, yData, bnScaleBiasMeanVarDesc, bnScale,
              bnBias);
    cudnnStatus_t status =
        norm_of(__func__, mode, bnOps, xDesc, bnScaleBiasMeanVarDesc, activationDesc, epsilon, &op);
    if (status)
        return status;
    DNN_CHECK(dnn_same_dims(xDesc, yDesc), "x and y have other dimensions");
    DNN_CHECK(!resultRunningMean == !resultRunningVariance &&
                  !resultSaveMean == !resultSaveInvVariance,
              "of two results one is NULL");
    op.alpha[0] = dnn_factor(alpha, yDesc);
    op.beta[0] = dnn_factor(beta, yDesc);
    op.f[1] = exponentialAverageFactor;
    op.t[0] = dnn_tensor(yDesc, yData);
    op.t[1] = dnn_tensor(xDesc, xData);
    op.t[2] = dnn_tensor(bnScaleBiasMeanVarDesc, bnScale);
    op.t[3] = dnn_tensor(bnScaleBiasMeanVarDesc, bnBias);
    if (bnOps == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION) {
        DNN_NEEDS(zDesc, zData);
        DNN_CHECK(dnn_same_dims(xDesc, zDesc), "x and z have other dimensions");
        op.t[4] = dnn_tensor(zDesc, zData);
    }
    op.p[0] = resultRunningMean;
    op.p[1] = resultRunningVariance;
    op.p[2] = resultSaveMean;
    op.p[3] = resultSaveInvVariance;
    return dnn_op(handle, &op);
}

cudnnStatus_t cudnnBatchNormalizationForwardTraining(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
    cudnnTensorDescriptor_t xDesc, const void *x, cudnnTensorDescriptor_t yDesc, void *y,
    cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc, const void *bnScale, const void *bnBias,
    double exponentialAverageFactor, void *resultRunningMean, void *resultRunningVariance,
    double epsilon, void *resultSaveMean, void *resultSaveInvVariance)
{
    return cudnnBatchNormalizationForwardTrainingEx(
        handle, mode, CUDNN_BATCHNORM_OPS_BN, alpha, beta, xDesc, x, NULL, NULL, yDesc, y,
        bnScaleBiasMeanVarDesc, bnScale, bnBias, exponentialAverageFactor, resultRunningMean,
        resultRunningVariance, epsilon, resultSaveMean, resultSaveInvVariance, NULL, NULL, 0, NULL,
        0);
}

static cudnnStatus_t infer(const char *function, cudnnHandle_t handle, cudnnBatchNormMode_t mode,
                           cudnnBatchNormOps_t ops, const void *alpha, const void *beta,
                           cudnnTensorDescriptor_t x_desc, const void *x,
                           cudnnTensorDescriptor_t y_desc, void *y,
                           cudnnTensorDescriptor_t scale_desc, const void *scale, const void *bias,
                           const void *mean, const void *variance, cudnnTensorDescriptor_t z_desc,
                           const void *z, cudnnActivationDescriptor_t act, double epsilon)
{
    struct klib_dnn_op op = {.kernel = KLIB_DNN_norm_infer};
    cudnnStatus_t status = norm_of(function, mode, ops, x_desc, scale_desc, act, epsilon, &op);

    if (status)
        return status;
    if (!dnn_same_dims(x_desc, y_desc) || (z && !dnn_same_dims(x_desc, z_desc)))
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function, "x and y, or z, have other dimensions");
    op.alpha[0] = dnn_factor(alpha, y_desc);
    op.beta[0] = dnn_factor(beta, y_desc);
    op.t[0] = dnn_tensor(y_desc, y);
    op.t[1] = dnn_tensor(x_desc, x);
    op.t[2] = dnn_tensor(scale_desc, scale);
    op.t[3] = dnn_tensor(scale_desc, bias);
    if (z)
        op.t[4] = dnn_tensor(z_desc, z);
    op.t[5] = dnn_tensor(scale_desc, mean);
    op.t[6] = dnn_tensor(scale_desc, variance);
    return dnn_op(handle, &op);
}

cudnnStatus_t cudnnBatchNormalizationForwardInference(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
    cudnnTensorDescriptor_t xDesc, const void *x, cudnnTensorDescriptor_t yDesc, void *y,
    cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc, const void *bnScale, const void *bnBias,
    const void *estimatedMean, const void *estimatedVariance, double epsilon)
{
    DNN_NEEDS(handle, alpha, beta, xDesc, x, yDesc, y, bnScaleBiasMeanVarDesc, bnScale, bnBias,
              estimatedMean, estimatedVariance);
    return infer(__func__, handle, mode, CUDNN_BATCHNORM_OPS_BN, alpha, beta, xDesc, x, yDesc, y,
                 bnScaleBiasMeanVarDesc, bnScale, bnBias, estimatedMean, estimatedVariance, NULL,
                 NULL, NULL, epsilon);
}

cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps,
    const void *alphaDataDiff, const void *betaDataDiff, const void *alphaParamDiff,
    const void *betaParamDiff, cudnnTensorDescriptor_t xDesc, const void *xData,
    cudnnTensorDescriptor_t yDesc, const void *yData, cudnnTensorDescriptor_t dyDesc,
    const void *dyData, cudnnTensorDescriptor_t dzDesc, void *dzData,
    cudnnTensorDescriptor_t dxDesc, void *dxData, cudnnTensorDescriptor_t dBnScaleBiasDesc,
    const void *bnScaleData, const void *bnBiasData, void *dBnScaleData, void *dBnBiasData,
    double epsilon, const void *savedMean, const void *savedInvVariance,
    cudnnActivationDescriptor_t activationDesc, void *workSpace, size_t workSpaceSizeInBytes,
    void *reserveSpace, size_t reserveSpaceSizeInBytes)
{
    struct klib_dnn_op op = {.kernel = KLIB_DNN_norm_backward};

    (void)workSpace;
    (void)workSpaceSizeInBytes;
    (void)reserveSpace;
    (void)reserveSpaceSizeInBytes;
    (void)bnBiasData;
    DNN_NEEDS(handle, alphaDataDiff, betaDataDiff, alphaParamDiff, betaParamDiff, xDesc, xData,
              dyDesc, dyData, dxDesc, dxData, dBnScaleBiasDesc, bnScaleData, dBnScaleData,
              dBnBiasData);
    cudnnStatus_t status =
        norm_of(__func__, mode, bnOps, xDesc, dBnScaleBiasDesc, activationDesc, epsilon, &op);
    if (status)
        return status;
    DNN_CHECK(dnn_same_dims(xDesc, dyDesc) && dnn_same_dims(xDesc, dxDesc),
              "x and its gradient, or y's, have other dimensions");
    DNN_CHECK(!savedMean == !savedInvVariance, "of the saved mean and variance one is NULL");
    op.alpha[0] = dnn_factor(alphaDataDiff, dxDesc);
    op.beta[0] = dnn_factor(betaDataDiff, dxDesc);
    op.alpha[1] = dnn_factor(alphaParamDiff, dxDesc);
    op.beta[1] = dnn_factor(betaParamDiff, dxDesc);
    op.t[0] = dnn_tensor(dxDesc, dxData);
    op.t[1] = dnn_tensor(xDesc, xData);
    op.t[2] = dnn_tensor(dyDesc, dyData);
    op.t[3] = dnn_tensor(dBnScaleBiasDesc, bnScaleData);
    if (op.act.kind != KLIB_ACT_IDENTITY) {
        DNN_NEEDS(yDesc, yData);
        DNN_CHECK(dnn_same_dims(xDesc, yDesc), "x and y have other dimensions");
        DNN_SUPPORTS(op.act.kind != KLIB_ACT_SWISH && op.act.kind != KLIB_ACT_ELU,
                     "an activation whose derivative is not y's");
        op.t[4] = dnn_tensor(yDesc, yData);
    }
    if (bnOps == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION) {
        DNN_NEEDS(dzDesc, dzData);
        DNN_CHECK(dnn_same_dims(xDesc, dzDesc), "x and z's gradient have other dimensions");
        op.t[5] = dnn_tensor(dzDesc, dzData);
    }
    op.p[0] = dBnScaleData;
    op.p[1] = dBnBiasData;
    op.p[2] = (void *)savedMean;
    op.p[3] = (void *)savedInvVariance;
    return dnn_op(handle, &op);
}

cudnnStatus_t cudnnBatchNormalizationBackward(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alphaDataDiff,
    const void *betaDataDiff, const void *alphaParamDiff, const void *betaParamDiff,
    cudnnTensorDescriptor_t xDesc, const void *x, cudnnTensorDescriptor_t dyDesc, const void *dy,
    cudnnTensorDescriptor_t dxDesc, void *dx, cudnnTensorDescriptor_t dBnScaleBiasDesc,
    const void *bnScale, void *dBnScaleResult, void *dBnBiasResult, double epsilon,
    const void *savedMean, const void *savedInvVariance)
{
    return cudnnBatchNormalizationBackwardEx(
        handle, mode, CUDNN_BATCHNORM_OPS_BN, alphaDataDiff, betaDataDiff, alphaParamDiff,
        betaParamDiff, xDesc, x, NULL, NULL, dyDesc, dy, NULL, NULL, dxDesc, dx, dBnScaleBiasDesc,
        bnScale, NULL, dBnScaleResult, dBnBiasResult, epsilon, savedMean, savedInvVariance, NULL,
        NULL, 0, NULL, 0);
}

/* ---- sizes */

cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps,
    cudnnTensorDescriptor_t xDesc, cudnnTensorDescriptor_t zDesc, cudnnTensorDescriptor_t yDesc,
    cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc, cudnnActivationDescriptor_t activationDesc,
    size_t *sizeInBytes)
{
    (void)zDesc;
    (void)activationDesc;
    DNN_NEEDS(handle, xDesc, yDesc, bnScaleBiasMeanVarDesc, sizeInBytes);
    DNN_CHECK(over(mode, xDesc) && bnOps <= CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION,
              "mode %d, operations %d", (int)mode, (int)bnOps);
    *sizeInBytes = 0;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps,
    cudnnTensorDescriptor_t xDesc, cudnnTensorDescriptor_t yDesc, cudnnTensorDescriptor_t dyDesc,
    cudnnTensorDescriptor_t dzDesc, cudnnTensorDescriptor_t dxDesc,
    cudnnTensorDescriptor_t dBnScaleBiasDesc, cudnnActivationDescriptor_t activationDesc,
    size_t *sizeInBytes)
{
    (void)yDesc;
    (void)dzDesc;
    (void)activationDesc;
    DNN_NEEDS(handle, xDesc, dyDesc, dxDesc, dBnScaleBiasDesc, sizeInBytes);
    DNN_CHECK(over(mode, xDesc) && bnOps <= CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION,
              "mode %d, operations %d", (int)mode, (int)bnOps);
    *sizeInBytes = 0;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps,
    cudnnActivationDescriptor_t activationDesc, cudnnTensorDescriptor_t xDesc, size_t *sizeInBytes)
{
    (void)activationDesc;
    DNN_NEEDS(handle, xDesc, sizeInBytes);
    DNN_CHECK(over(mode, xDesc) && bnOps <= CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION,
              "mode %d, operations %d", (int)mode, (int)bnOps);
    *sizeInBytes = 0;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- by the name of normalization: the same modes and operations, in groups of 1 */

static cudnnStatus_t mode_of(const char *function, cudnnNormMode_t mode, cudnnNormAlgo_t algo,
                             int groups, cudnnBatchNormMode_t *out)
{
    if (mode > CUDNN_NORM_PER_CHANNEL || algo > CUDNN_NORM_ALGO_PERSIST)
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function, "mode %d, algorithm %d", (int)mode,
                        (int)algo);
    if (groups != 1)
        return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, function, "%d groups, not 1", groups);
    *out =
        mode == CUDNN_NORM_PER_CHANNEL ? CUDNN_BATCHNORM_SPATIAL : CUDNN_BATCHNORM_PER_ACTIVATION;
    return CUDNN_STATUS_SUCCESS;
}

/* The same of a layer with a descriptor for scale and bias, and one for mean and variance. */
static cudnnStatus_t layer_of(const char *function, cudnnNormMode_t mode, cudnnNormAlgo_t algo,
                              int groups, cudnnTensorDescriptor_t scale,
                              cudnnTensorDescriptor_t mean, cudnnBatchNormMode_t *out)
{
    if (!dnn_same_dims(scale, mean) || scale->type != mean->type)
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function,
                        "the scale and the mean have other dimensions or types");
    return mode_of(function, mode, algo, groups, out);
}

cudnnStatus_t cudnnDeriveNormTensorDescriptor(cudnnTensorDescriptor_t derivedNormScaleBiasDesc,
                                              cudnnTensorDescriptor_t derivedNormMeanVarDesc,
                                              cudnnTensorDescriptor_t xDesc, cudnnNormMode_t mode,
                                              int groupCnt)
{
    cudnnBatchNormMode_t bn = CUDNN_BATCHNORM_SPATIAL;

    DNN_NEEDS(derivedNormScaleBiasDesc, derivedNormMeanVarDesc, xDesc);
    cudnnStatus_t status = mode_of(__func__, mode, CUDNN_NORM_ALGO_STANDARD, groupCnt, &bn);
    if (!status)
        status = cudnnDeriveBNTensorDescriptor(derivedNormScaleBiasDesc, xDesc, bn);
    if (!status)
        *derivedNormMeanVarDesc = *derivedNormScaleBiasDesc;
    return status;
}

cudnnStatus_t cudnnNormalizationForwardInference(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t normOps, cudnnNormAlgo_t algo,
    const void *alpha, const void *beta, cudnnTensorDescriptor_t xDesc, const void *x,
    cudnnTensorDescriptor_t normScaleBiasDesc, const void *normScale, const void *normBias,
    cudnnTensorDescriptor_t normMeanVarDesc, const void *estimatedMean,
    const void *estimatedVariance, cudnnTensorDescriptor_t zDesc, const void *z,
    cudnnActivationDescriptor_t activationDesc, cudnnTensorDescriptor_t yDesc, void *y,
    double epsilon, int groupCnt)
{
    cudnnBatchNormMode_t bn = CUDNN_BATCHNORM_SPATIAL;

    DNN_NEEDS(handle, alpha, beta, xDesc, x, normScaleBiasDesc, normScale, normBias,
              normMeanVarDesc, estimatedMean, estimatedVariance, yDesc, y);
    bool has_z = normOps == CUDNN_NORM_OPS_NORM_ADD_ACTIVATION;
    if (has_z)
        DNN_NEEDS(zDesc, z);
    cudnnStatus_t status =
        layer_of(__func__, mode, algo, groupCnt, normScaleBiasDesc, normMeanVarDesc, &bn);
    return status ? status
                  : infer(__func__, handle, bn, (cudnnBatchNormOps_t)normOps, alpha, beta, xDesc, x,
                          yDesc, y, normScaleBiasDesc, normScale, normBias, estimatedMean,
                          estimatedVariance, has_z ? zDesc : NULL, has_z ? z : NULL, activationDesc,
                          epsilon);
}

cudnnStatus_t cudnnNormalizationForwardTraining(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t normOps, cudnnNormAlgo_t algo,
    const void *alpha, const void *beta, cudnnTensorDescriptor_t xDesc, const void *xData,
    cudnnTensorDescriptor_t normScaleBiasDesc, const void *normScale, const void *normBias,
    double exponentialAverageFactor, cudnnTensorDescriptor_t normMeanVarDesc,
    void *resultRunningMean, void *resultRunningVariance, double epsilon, void *resultSaveMean,
    void *resultSaveInvVariance, cudnnActivationDescriptor_t activationDesc,
    cudnnTensorDescriptor_t zDesc, const void *zData, cudnnTensorDescriptor_t yDesc, void *yData,
    void *workspace, size_t workSpaceSizeInBytes, void *reserveSpace,
    size_t reserveSpaceSizeInBytes, int groupCnt)
{
    cudnnBatchNormMode_t bn = CUDNN_BATCHNORM_SPATIAL;

    DNN_NEEDS(normScaleBiasDesc, normMeanVarDesc);
    cudnnStatus_t status =
        layer_of(__func__, mode, algo, groupCnt, normScaleBiasDesc, normMeanVarDesc, &bn);
    return status ? status
                  : cudnnBatchNormalizationForwardTrainingEx(
                        handle, bn, (cudnnBatchNormOps_t)normOps, alpha, beta, xDesc, xData, zDesc,
                        zData, yDesc, yData, normScaleBiasDesc, normScale, normBias,
                        exponentialAverageFactor, resultRunningMean, resultRunningVariance, epsilon,
                        resultSaveMean, resultSaveInvVariance, activationDesc, workspace,
                        workSpaceSizeInBytes, reserveSpace, reserveSpaceSizeInBytes);
}

cudnnStatus_t cudnnNormalizationBackward(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t normOps, cudnnNormAlgo_t algo,
    const void *alphaDataDiff, const void *betaDataDiff, const void *alphaParamDiff,
    const void *betaParamDiff, cudnnTensorDescriptor_t xDesc, const void *xData,
    cudnnTensorDescriptor_t yDesc, const void *yData, cudnnTensorDescriptor_t dyDesc,
    const void *dyData, cudnnTensorDescriptor_t dzDesc, void *dzData,
    cudnnTensorDescriptor_t dxDesc, void *dxData, cudnnTensorDescriptor_t dNormScaleBiasDesc,
    const void *normScaleData, const void *normBiasData, void *dNormScaleData, void *dNormBiasData,
    double epsilon, cudnnTensorDescriptor_t normMeanVarDesc, const void *savedMean,
    const void *savedInvVariance, cudnnActivationDescriptor_t activationDesc, void *workSpace,
    size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes, int groupCnt)
{
    cudnnBatchNormMode_t bn = CUDNN_BATCHNORM_SPATIAL;

    DNN_NEEDS(dNormScaleBiasDesc, normMeanVarDesc);
    cudnnStatus_t status =
        layer_of(__func__, mode, algo, groupCnt, dNormScaleBiasDesc, normMeanVarDesc, &bn);
    return status ? status
                  : cudnnBatchNormalizationBackwardEx(
                        handle, bn, (cudnnBatchNormOps_t)normOps, alphaDataDiff, betaDataDiff,
                        alphaParamDiff, betaParamDiff, xDesc, xData, yDesc, yData, dyDesc, dyData,
                        dzDesc, dzData, dxDesc, dxData, dNormScaleBiasDesc, normScaleData,
                        normBiasData, dNormScaleData, dNormBiasData, epsilon, savedMean,
                        savedInvVariance, activationDesc, workSpace, workSpaceSizeInBytes,
                        reserveSpace, reserveSpaceSizeInBytes);
}

/* The size of a workspace, and of the reserve space, by this name. */
#define NORM_SIZE(name, ...)                                                                       \
    cudnnStatus_t name(cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t normOps,         \
                       cudnnNormAlgo_t algo, __VA_ARGS__)                                          \
    {                                                                                              \
        cudnnBatchNormMode_t bn = CUDNN_BATCHNORM_SPATIAL;                                         \
        DNN_NEEDS(handle, xDesc, sizeInBytes);                                                     \
        DNN_CHECK(normOps <= CUDNN_NORM_OPS_NORM_ADD_ACTIVATION, "operations %d", (int)normOps);   \
        cudnnStatus_t status = mode_of(__func__, mode, algo, groupCnt, &bn);                       \
        if (!status)                                                                               \
            *sizeInBytes = 0;                                                                      \
        return status;                                                                             \
    }
NORM_SIZE(cudnnGetNormalizationForwardTrainingWorkspaceSize, cudnnTensorDescriptor_t xDesc,
          cudnnTensorDescriptor_t zDesc, cudnnTensorDescriptor_t yDesc,
          cudnnTensorDescriptor_t normScaleBiasDesc, cudnnActivationDescriptor_t activationDesc,
          cudnnTensorDescriptor_t normMeanVarDesc, size_t *sizeInBytes, int groupCnt)
NORM_SIZE(cudnnGetNormalizationBackwardWorkspaceSize, cudnnTensorDescriptor_t xDesc,
          cudnnTensorDescriptor_t yDesc, cudnnTensorDescriptor_t dyDesc,
          cudnnTensorDescriptor_t dzDesc, cudnnTensorDescriptor_t dxDesc,
          cudnnTensorDescriptor_t dNormScaleBiasDesc, cudnnActivationDescriptor_t activationDesc,
          cudnnTensorDescriptor_t normMeanVarDesc, size_t *sizeInBytes, int groupCnt)
NORM_SIZE(cudnnGetNormalizationTrainingReserveSpaceSize, cudnnActivationDescriptor_t activationDesc,
          cudnnTensorDescriptor_t xDesc, size_t *sizeInBytes, int groupCnt)
