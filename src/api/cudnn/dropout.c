/*
 * Dropout. States are memory of the device, which kernels read and advance in the order of the
 * stream: each launch, a graph's too, draws further numbers of Philox. Masks are bits.
 */
#include "api/cudnn/dnn.h"
#include "base/mem.h"

cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t *dropoutDesc)
{
    DNN_NEEDS(dropoutDesc);
    *dropoutDesc = hd_new(struct cudnnDropoutStruct);
    return *dropoutDesc ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc)
{
    hd_free(dropoutDesc);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t *sizeInBytes)
{
    DNN_NEEDS(handle, sizeInBytes);
    *sizeInBytes = DNN_DROPOUT_STATES_B;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t xdesc, size_t *sizeInBytes)
{
    DNN_NEEDS(xdesc, sizeInBytes);
    *sizeInBytes = dnn_mask_B(dnn_elements(xdesc));
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t set(const char *function, cudnnDropoutDescriptor_t desc, float dropout,
                         void *states, size_t states_B, unsigned long long seed)
{
    if (!(dropout >= 0 && dropout <= 1))
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function, "a probability of %g", (double)dropout);
    if (states && states_B < DNN_DROPOUT_STATES_B)
        return dnn_fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, function,
                        "states of %zu bytes, not %d", states_B, DNN_DROPOUT_STATES_B);
    *desc = (struct cudnnDropoutStruct){dropout, states, seed};
    return CUDNN_STATUS_SUCCESS;
}

/* Without states the probability alone is set. */
cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc, cudnnHandle_t handle,
                                        float dropout, void *states, size_t stateSizeInBytes,
                                        unsigned long long seed)
{
    DNN_NEEDS(dropoutDesc, handle);
    struct cudnnDropoutStruct before = *dropoutDesc;
    cudnnStatus_t status = set(__func__, dropoutDesc, dropout, states, stateSizeInBytes, seed);
    if (!status && !states) {
        dropoutDesc->states = before.states;
        dropoutDesc->seed = before.seed;
    }
    if (status || !states)
        return status;
    struct klib_dnn_op op = {.kernel = KLIB_DNN_dropout_seed, .n = {(int64_t)seed}, .p = {states}};
    return dnn_op(handle, &op);
}

cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc,
                                            cudnnHandle_t handle, float dropout, void *states,
                                            size_t stateSizeInBytes, unsigned long long seed)
{
    DNN_NEEDS(dropoutDesc, handle, states);
    return set(__func__, dropoutDesc, dropout, states, stateSizeInBytes, seed);
}

cudnnStatus_t cudnnGetDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc, cudnnHandle_t handle,
                                        float *dropout, void **states, unsigned long long *seed)
{
    DNN_NEEDS(dropoutDesc, handle, dropout, states, seed);
    *dropout = dropoutDesc->dropout;
    *states = dropoutDesc->states;
    *seed = dropoutDesc->seed;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t run(const char *function, cudnnHandle_t handle, enum klib_dnn_kernel kernel,
                         cudnnDropoutDescriptor_t desc, cudnnTensorDescriptor_t from_desc,
                         const void *from, cudnnTensorDescriptor_t to_desc, void *to, void *mask,
                         size_t mask_B)
{
    if (!from_desc->rank || !dnn_same_dims(from_desc, to_desc))
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function, "tensors have other dimensions");
    if (mask_B < dnn_mask_B(dnn_elements(from_desc)))
        return dnn_fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, function,
                        "a reserve space of %zu bytes, not %zu", mask_B,
                        dnn_mask_B(dnn_elements(from_desc)));
    struct klib_dnn_op op = {.kernel = kernel,
                             .alpha = {1},
                             .f = {(double)desc->dropout},
                             .p = {desc->states, mask},
                             .t = {dnn_tensor(to_desc, to), dnn_tensor(from_desc, from)}};
    return dnn_op(handle, &op);
}

cudnnStatus_t cudnnDropoutForward(cudnnHandle_t handle, cudnnDropoutDescriptor_t dropoutDesc,
                                  cudnnTensorDescriptor_t xdesc, const void *x,
                                  cudnnTensorDescriptor_t ydesc, void *y, void *reserveSpace,
                                  size_t reserveSpaceSizeInBytes)
{
    DNN_NEEDS(handle, dropoutDesc, xdesc, x, ydesc, y, reserveSpace);
    DNN_CHECK(dropoutDesc->states, "the descriptor has no states");
    return run(__func__, handle, KLIB_DNN_dropout_forward, dropoutDesc, xdesc, x, ydesc, y,
               reserveSpace, reserveSpaceSizeInBytes);
}

cudnnStatus_t cudnnDropoutBackward(cudnnHandle_t handle, cudnnDropoutDescriptor_t dropoutDesc,
                                   cudnnTensorDescriptor_t dydesc, const void *dy,
                                   cudnnTensorDescriptor_t dxdesc, void *dx, void *reserveSpace,
                                   size_t reserveSpaceSizeInBytes)
{
    DNN_NEEDS(handle, dropoutDesc, dydesc, dy, dxdesc, dx, reserveSpace);
    return run(__func__, handle, KLIB_DNN_dropout_backward, dropoutDesc, dydesc, dy, dxdesc, dx,
               reserveSpace, reserveSpaceSizeInBytes);
}
