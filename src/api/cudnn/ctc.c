/*
 * CTC. Costs of samples whose labels do not fit into their time are 0, as their gradients are,
 * unless those are to stay as they were.
 */
#include <cuda.h>

#include "api/cudnn/dnn.h"
#include "base/mem.h"

cudnnStatus_t cudnnCreateCTCLossDescriptor(cudnnCTCLossDescriptor_t *ctcLossDesc)
{
    DNN_NEEDS(ctcLossDesc);
    *ctcLossDesc = hd_new(struct cudnnCTCLossStruct);
    return *ctcLossDesc ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t cudnnDestroyCTCLossDescriptor(cudnnCTCLossDescriptor_t ctcLossDesc)
{
    hd_free(ctcLossDesc);
    return CUDNN_STATUS_SUCCESS;
}

/* Without a mode inputs are probabilities. */
cudnnStatus_t cudnnSetCTCLossDescriptor(cudnnCTCLossDescriptor_t ctcLossDesc,
                                        cudnnDataType_t compType)
{
    DNN_NEEDS(ctcLossDesc);
    DNN_CHECK(compType == CUDNN_DATA_FLOAT, "type %d, or a mode that there is not", (int)compType);
    *ctcLossDesc = (struct cudnnCTCLossStruct){
        .is_set = true, .type = compType, .nan = CUDNN_NOT_PROPAGATE_NAN};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t ctcLossDesc,
                                          cudnnDataType_t compType,
                                          cudnnLossNormalizationMode_t normMode,
                                          cudnnNanPropagation_t gradMode)
{
    DNN_NEEDS(ctcLossDesc);
    DNN_CHECK(compType == CUDNN_DATA_FLOAT && normMode <= CUDNN_LOSS_NORMALIZATION_SOFTMAX &&
                  gradMode <= CUDNN_PROPAGATE_NAN,
              "type %d, or a mode that there is not", (int)compType);
    *ctcLossDesc = (struct cudnnCTCLossStruct){
        .is_set = true, .type = compType, .norm = normMode, .nan = gradMode};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t ctcLossDesc,
                                           cudnnDataType_t compType,
                                           cudnnLossNormalizationMode_t normMode,
                                           cudnnNanPropagation_t gradMode, int maxLabelLength)
{
    DNN_NEEDS(ctcLossDesc);
    DNN_CHECK(compType == CUDNN_DATA_FLOAT && normMode <= CUDNN_LOSS_NORMALIZATION_SOFTMAX &&
                  gradMode <= CUDNN_PROPAGATE_NAN && maxLabelLength >= 0,
              "type %d, or a mode that there is not", (int)compType);
    *ctcLossDesc = (struct cudnnCTCLossStruct){.is_set = true,
                                               .type = compType,
                                               .norm = normMode,
                                               .nan = gradMode,
                                               .max_label = maxLabelLength};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t ctcLossDesc,
                                           cudnnDataType_t compType,
                                           cudnnLossNormalizationMode_t normMode,
                                           cudnnCTCGradMode_t ctcGradMode, int maxLabelLength)
{
    DNN_NEEDS(ctcLossDesc);
    DNN_CHECK(compType == CUDNN_DATA_FLOAT && normMode <= CUDNN_LOSS_NORMALIZATION_SOFTMAX &&
                  ctcGradMode <= CUDNN_CTC_SKIP_OOB_GRADIENTS && maxLabelLength >= 0,
              "type %d, or a mode that there is not", (int)compType);
    *ctcLossDesc = (struct cudnnCTCLossStruct){.is_set = true,
                                               .type = compType,
                                               .norm = normMode,
                                               .grad = ctcGradMode,
                                               .max_label = maxLabelLength};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetCTCLossDescriptor(cudnnCTCLossDescriptor_t ctcLossDesc,
                                        cudnnDataType_t *compType)
{
    DNN_NEEDS(ctcLossDesc, compType);
    *compType = ctcLossDesc->type;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t ctcLossDesc,
                                          cudnnDataType_t *compType,
                                          cudnnLossNormalizationMode_t *normMode,
                                          cudnnNanPropagation_t *gradMode)
{
    DNN_NEEDS(ctcLossDesc, compType, normMode, gradMode);
    *compType = ctcLossDesc->type;
    *normMode = ctcLossDesc->norm;
    *gradMode = ctcLossDesc->nan;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t ctcLossDesc,
                                           cudnnDataType_t *compType,
                                           cudnnLossNormalizationMode_t *normMode,
                                           cudnnNanPropagation_t *gradMode, int *maxLabelLength)
{
    DNN_NEEDS(ctcLossDesc, compType, normMode, gradMode, maxLabelLength);
    *compType = ctcLossDesc->type;
    *normMode = ctcLossDesc->norm;
    *gradMode = ctcLossDesc->nan;
    *maxLabelLength = ctcLossDesc->max_label;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t ctcLossDesc,
                                           cudnnDataType_t *compType,
                                           cudnnLossNormalizationMode_t *normMode,
                                           cudnnCTCGradMode_t *ctcGradMode, int *maxLabelLength)
{
    DNN_NEEDS(ctcLossDesc, compType, normMode, ctcGradMode, maxLabelLength);
    *compType = ctcLossDesc->type;
    *normMode = ctcLossDesc->norm;
    *ctcGradMode = ctcLossDesc->grad;
    *maxLabelLength = ctcLossDesc->max_label;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t ctc_of(const char *function, cudnnCTCLossAlgo_t algo,
                            cudnnCTCLossDescriptor_t desc, cudnnTensorDescriptor_t probs,
                            cudnnTensorDescriptor_t gradients)
{
    if (!desc->is_set || algo > CUDNN_CTC_LOSS_ALGO_NON_DETERMINISTIC)
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function,
                        "algorithm %d, or a descriptor that is not set", (int)algo);
    if (probs->rank != 3 || probs->type != CUDNN_DATA_FLOAT ||
        (gradients && (!dnn_same_dims(probs, gradients) || gradients->type != probs->type)))
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function,
                        "inputs are not times x samples x letters of floats, or gradients differ");
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t run(cudnnHandle_t handle, cudnnCTCLossDescriptor_t desc,
                         cudnnTensorDescriptor_t probs_desc, const void *probs, const int *labels,
                         const int *label_lengths, const int *input_lengths, void *costs,
                         cudnnTensorDescriptor_t gradients_desc, void *gradients)
{
    struct klib_dnn_op op = {
        .kernel = KLIB_DNN_ctc,
        .mode = desc->norm == CUDNN_LOSS_NORMALIZATION_SOFTMAX,
        .n = {desc->grad == CUDNN_CTC_SKIP_OOB_GRADIENTS},
        .p = {costs, (void *)labels, (void *)label_lengths, (void *)input_lengths},
        .t = {dnn_tensor(gradients ? gradients_desc : probs_desc, gradients),
              dnn_tensor(probs_desc, probs)}};
    return dnn_op(handle, &op);
}

/* The host's labels and lengths, in the workspace. */
static size_t host_B(const int *label_lengths, int64_t samples)
{
    int64_t labels = 0;

    for (int64_t i = 0; i < samples; i++)
        labels += label_lengths[i];
    return (size_t)(labels + 2 * samples) * sizeof(int);
}

cudnnStatus_t cudnnGetCTCLossWorkspaceSize(cudnnHandle_t handle, cudnnTensorDescriptor_t probsDesc,
                                           cudnnTensorDescriptor_t gradientsDesc, const int *labels,
                                           const int *labelLengths, const int *inputLengths,
                                           cudnnCTCLossAlgo_t algo,
                                           cudnnCTCLossDescriptor_t ctcLossDesc,
                                           size_t *sizeInBytes)
{
    DNN_NEEDS(handle, probsDesc, labels, labelLengths, inputLengths, ctcLossDesc, sizeInBytes);
    *sizeInBytes = host_B(labelLengths, probsDesc->dims[1]);
    return ctc_of(__func__, algo, ctcLossDesc, probsDesc, gradientsDesc);
}

cudnnStatus_t cudnnGetCTCLossWorkspaceSize_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t algo,
                                              cudnnCTCLossDescriptor_t ctcLossDesc,
                                              cudnnTensorDescriptor_t probsDesc,
                                              cudnnTensorDescriptor_t gradientsDesc,
                                              size_t *sizeInBytes)
{
    DNN_NEEDS(handle, probsDesc, ctcLossDesc, sizeInBytes);
    *sizeInBytes = 0;
    return ctc_of(__func__, algo, ctcLossDesc, probsDesc, gradientsDesc);
}

cudnnStatus_t cudnnCTCLoss(cudnnHandle_t handle, cudnnTensorDescriptor_t probsDesc,
                           const void *probs, const int *hostLabels, const int *hostLabelLengths,
                           const int *hostInputLengths, void *costs,
                           cudnnTensorDescriptor_t gradientsDesc, void *gradients,
                           cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t ctcLossDesc,
                           void *workspace, size_t workSpaceSizeInBytes)
{
    DNN_NEEDS(handle, probsDesc, probs, hostLabels, hostLabelLengths, hostInputLengths, costs,
              ctcLossDesc, workspace);
    if (gradients)
        DNN_NEEDS(gradientsDesc);
    cudnnStatus_t status = ctc_of(__func__, algo, ctcLossDesc, probsDesc, gradientsDesc);
    if (status)
        return status;
    int64_t samples = probsDesc->dims[1];
    size_t size_B = host_B(hostLabelLengths, samples), each_B = (size_t)samples * sizeof(int);
    if (workSpaceSizeInBytes < size_B)
        return dnn_fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, __func__,
                        "a workspace of %zu bytes, not %zu", workSpaceSizeInBytes, size_B);
    char *to = workspace;
    int result = lib_context();
    const struct {
        const int *from;
        size_t size_B;
    } copies[] = {
        {hostLabelLengths, each_B}, {hostInputLengths, each_B}, {hostLabels, size_B - 2 * each_B}};
    for (int i = 0; i < 3 && !result; to += copies[i++].size_B)
        if (copies[i].size_B)
            result = cuMemcpyHtoDAsync((CUdeviceptr)to, copies[i].from, copies[i].size_B,
                                       handle->base.stream);
    if (result)
        return dnn_status(result);
    const int *there = workspace;
    return run(handle, ctcLossDesc, probsDesc, probs, there + 2 * samples, there, there + samples,
               costs, gradientsDesc, gradients);
}

cudnnStatus_t cudnnCTCLoss_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t algo,
                              cudnnCTCLossDescriptor_t ctcLossDesc,
                              cudnnTensorDescriptor_t probsDesc, const void *probs,
                              const int *labels, const int *labelLengths, const int *inputLengths,
                              void *costs, cudnnTensorDescriptor_t gradientsDesc, void *gradients,
                              size_t workSpaceSizeInBytes, void *workspace)
{
    (void)workSpaceSizeInBytes;
    (void)workspace;
    DNN_NEEDS(handle, ctcLossDesc, probsDesc, probs, labels, labelLengths, inputLengths, costs);
    if (gradients)
        DNN_NEEDS(gradientsDesc);
    cudnnStatus_t status = ctc_of(__func__, algo, ctcLossDesc, probsDesc, gradientsDesc);
    return status ? status
                  : run(handle, ctcLossDesc, probsDesc, probs, labels, labelLengths, inputLengths,
                        costs, gradientsDesc, gradients);
}
