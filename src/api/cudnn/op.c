/* Elementwise operations on tensors of any layout: sums, products, copies. */
#include "api/cudnn/dnn.h"
#include "base/mem.h"

cudnnStatus_t cudnnCreateOpTensorDescriptor(cudnnOpTensorDescriptor_t *opTensorDesc)
{
    DNN_NEEDS(opTensorDesc);
    *opTensorDesc = hd_new(struct cudnnOpTensorStruct);
    return *opTensorDesc ? CUDNN_STATUS_SUCCESS
                         : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t cudnnDestroyOpTensorDescriptor(cudnnOpTensorDescriptor_t opTensorDesc)
{
    hd_free(opTensorDesc);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t opTensorDesc,
                                         cudnnOpTensorOp_t opTensorOp,
                                         cudnnDataType_t opTensorCompType,
                                         cudnnNanPropagation_t opTensorNanOpt)
{
    DNN_NEEDS(opTensorDesc);
    DNN_CHECK(opTensorOp <= CUDNN_OP_TENSOR_NOT && opTensorNanOpt <= CUDNN_PROPAGATE_NAN &&
                  dnn_type(opTensorCompType) >= 0,
              "operation %d, type %d, NaN option %d", (int)opTensorOp, (int)opTensorCompType,
              (int)opTensorNanOpt);
    *opTensorDesc =
        (struct cudnnOpTensorStruct){true, opTensorOp, opTensorCompType, opTensorNanOpt};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetOpTensorDescriptor(cudnnOpTensorDescriptor_t opTensorDesc,
                                         cudnnOpTensorOp_t *opTensorOp,
                                         cudnnDataType_t *opTensorCompType,
                                         cudnnNanPropagation_t *opTensorNanOpt)
{
    DNN_NEEDS(opTensorDesc, opTensorOp, opTensorCompType, opTensorNanOpt);
    *opTensorOp = opTensorDesc->op;
    *opTensorCompType = opTensorDesc->type;
    *opTensorNanOpt = opTensorDesc->nan;
    return CUDNN_STATUS_SUCCESS;
}

/* Has a the dimensions of c, or 1? */
static bool repeats(const struct cudnnTensorStruct *a, const struct cudnnTensorStruct *c)
{
    for (int d = 0; d < c->rank; d++)
        if (a->dims[d] != 1 && a->dims[d] != c->dims[d])
            return false;
    return a->rank == c->rank && a->rank > 0;
}

cudnnStatus_t cudnnOpTensor(cudnnHandle_t handle, cudnnOpTensorDescriptor_t opTensorDesc,
                            const void *alpha1, cudnnTensorDescriptor_t aDesc, const void *A,
                            const void *alpha2, cudnnTensorDescriptor_t bDesc, const void *B,
                            const void *beta, cudnnTensorDescriptor_t cDesc, void *C)
{
    static const uint8_t modes[] = {
        [CUDNN_OP_TENSOR_ADD] = KLIB_PW_ADD,   [CUDNN_OP_TENSOR_MUL] = KLIB_PW_MUL,
        [CUDNN_OP_TENSOR_MIN] = KLIB_PW_MIN,   [CUDNN_OP_TENSOR_MAX] = KLIB_PW_MAX,
        [CUDNN_OP_TENSOR_SQRT] = KLIB_PW_SQRT, [CUDNN_OP_TENSOR_NOT] = KLIB_PW_NOT};

    DNN_NEEDS(handle, opTensorDesc, alpha1, aDesc, A, beta, cDesc, C);
    DNN_CHECK(opTensorDesc->is_set, "the operation's descriptor is not set");
    bool is_of_two = opTensorDesc->op < CUDNN_OP_TENSOR_SQRT;
    if (is_of_two)
        DNN_NEEDS(alpha2, bDesc, B);
    /* One of both may repeat; cuDNN has B do so. */
    DNN_CHECK(repeats(aDesc, cDesc) && (!is_of_two || repeats(bDesc, cDesc)),
              "dimensions of A or B are neither C's nor 1");
    struct klib_dnn_op op = {
        .kernel = KLIB_DNN_pointwise,
        .mode = modes[opTensorDesc->op],
        .no_nan = opTensorDesc->nan == CUDNN_NOT_PROPAGATE_NAN,
        .alpha = {dnn_factor(alpha1, cDesc), is_of_two ? dnn_factor(alpha2, cDesc) : 1},
        .beta = {dnn_factor(beta, cDesc)},
        .t = {dnn_tensor(cDesc, C), dnn_tensor(aDesc, A)}};
    if (is_of_two)
        op.t[2] = dnn_tensor(bDesc, B);
    return dnn_op(handle, &op);
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t aDesc,
                             const void *A, const void *beta, cudnnTensorDescriptor_t cDesc,
                             void *C)
{
    DNN_NEEDS(handle, alpha, aDesc, A, beta, cDesc, C);
    DNN_CHECK(repeats(aDesc, cDesc), "dimensions of A are neither C's nor 1");
    struct klib_dnn_op op = {.kernel = KLIB_DNN_pointwise,
                             .mode = KLIB_PW_COPY,
                             .alpha = {dnn_factor(alpha, cDesc)},
                             .beta = {dnn_factor(beta, cDesc)},
                             .t = {dnn_tensor(cDesc, C), dnn_tensor(aDesc, A)}};
    return dnn_op(handle, &op);
}

cudnnStatus_t cudnnTransformTensor(cudnnHandle_t handle, const void *alpha,
                                   cudnnTensorDescriptor_t xDesc, const void *x, const void *beta,
                                   cudnnTensorDescriptor_t yDesc, void *y)
{
    DNN_NEEDS(handle, alpha, xDesc, x, beta, yDesc, y);
    DNN_CHECK(dnn_same_dims(xDesc, yDesc), "x and y have other dimensions");
    struct klib_dnn_op op = {.kernel = KLIB_DNN_pointwise,
                             .mode = KLIB_PW_COPY,
                             .alpha = {dnn_factor(alpha, yDesc)},
                             .beta = {dnn_factor(beta, yDesc)},
                             .t = {dnn_tensor(yDesc, y), dnn_tensor(xDesc, x)}};
    return dnn_op(handle, &op);
}

cudnnStatus_t cudnnScaleTensor(cudnnHandle_t handle, cudnnTensorDescriptor_t yDesc, void *y,
                               const void *alpha)
{
    DNN_NEEDS(handle, yDesc, y, alpha);
    struct klib_dnn_op op = {.kernel = KLIB_DNN_pointwise,
                             .mode = KLIB_PW_COPY,
                             .alpha = {dnn_factor(alpha, yDesc)},
                             .t = {dnn_tensor(yDesc, y), dnn_tensor(yDesc, y)}};
    return dnn_op(handle, &op);
}

/* The value has the tensor's type. */
cudnnStatus_t cudnnSetTensor(cudnnHandle_t handle, cudnnTensorDescriptor_t yDesc, void *y,
                             const void *valuePtr)
{
    DNN_NEEDS(handle, yDesc, y, valuePtr);
    struct klib_dnn_op op = {.kernel = KLIB_DNN_pointwise,
                             .mode = KLIB_PW_FILL,
                             .alpha = {1},
                             .t = {dnn_tensor(yDesc, y)}};
    op.f[0] = dnn_value(yDesc->type, valuePtr);
    return dnn_op(handle, &op);
}
