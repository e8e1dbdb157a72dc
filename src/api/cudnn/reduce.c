/* Reductions, and the gradient of a convolution's bias, which is one. */
#include "api/cudnn/dnn.h"
#include "base/mem.h"

cudnnStatus_t cudnnCreateReduceTensorDescriptor(cudnnReduceTensorDescriptor_t *reduceTensorDesc)
{
    DNN_NEEDS(reduceTensorDesc);
    *reduceTensorDesc = hd_new(struct cudnnReduceTensorStruct);
    return *reduceTensorDesc ? CUDNN_STATUS_SUCCESS
                             : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t cudnnDestroyReduceTensorDescriptor(cudnnReduceTensorDescriptor_t reduceTensorDesc)
{
    hd_free(reduceTensorDesc);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t reduceTensorDesc,
                                             cudnnReduceTensorOp_t reduceTensorOp,
                                             cudnnDataType_t reduceTensorCompType,
                                             cudnnNanPropagation_t reduceTensorNanOpt,
                                             cudnnReduceTensorIndices_t reduceTensorIndices,
                                             cudnnIndicesType_t reduceTensorIndicesType)
{
    DNN_NEEDS(reduceTensorDesc);
    DNN_CHECK(reduceTensorOp <= CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS &&
                  reduceTensorNanOpt <= CUDNN_PROPAGATE_NAN &&
                  reduceTensorIndices <= CUDNN_REDUCE_TENSOR_FLATTENED_INDICES &&
                  reduceTensorIndicesType <= CUDNN_8BIT_INDICES &&
                  dnn_type(reduceTensorCompType) >= 0,
              "operation %d, type %d, NaN option %d, indices %d of type %d", (int)reduceTensorOp,
              (int)reduceTensorCompType, (int)reduceTensorNanOpt, (int)reduceTensorIndices,
              (int)reduceTensorIndicesType);
    *reduceTensorDesc = (struct cudnnReduceTensorStruct){true,
                                                         reduceTensorOp,
                                                         reduceTensorCompType,
                                                         reduceTensorNanOpt,
                                                         reduceTensorIndices,
                                                         reduceTensorIndicesType};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t reduceTensorDesc,
                                             cudnnReduceTensorOp_t *reduceTensorOp,
                                             cudnnDataType_t *reduceTensorCompType,
                                             cudnnNanPropagation_t *reduceTensorNanOpt,
                                             cudnnReduceTensorIndices_t *reduceTensorIndices,
                                             cudnnIndicesType_t *reduceTensorIndicesType)
{
    DNN_NEEDS(reduceTensorDesc, reduceTensorOp, reduceTensorCompType, reduceTensorNanOpt,
              reduceTensorIndices, reduceTensorIndicesType);
    *reduceTensorOp = reduceTensorDesc->op;
    *reduceTensorCompType = reduceTensorDesc->type;
    *reduceTensorNanOpt = reduceTensorDesc->nan;
    *reduceTensorIndices = reduceTensorDesc->indices;
    *reduceTensorIndicesType = reduceTensorDesc->indices_type;
    return CUDNN_STATUS_SUCCESS;
}

/* Bytes of an index, 0: there are none. */
static size_t index_B(const struct cudnnReduceTensorStruct *r)
{
    static const uint8_t sizes[] = {[CUDNN_32BIT_INDICES] = 4,
                                    [CUDNN_64BIT_INDICES] = 8,
                                    [CUDNN_16BIT_INDICES] = 2,
                                    [CUDNN_8BIT_INDICES] = 1};
    bool has = r->indices == CUDNN_REDUCE_TENSOR_FLATTENED_INDICES &&
               r->op >= CUDNN_REDUCE_TENSOR_MIN && r->op <= CUDNN_REDUCE_TENSOR_AMAX;

    return has ? sizes[r->indices_type] : 0;
}

cudnnStatus_t cudnnGetReductionIndicesSize(cudnnHandle_t handle,
                                           cudnnReduceTensorDescriptor_t reduceTensorDesc,
                                           cudnnTensorDescriptor_t aDesc,
                                           cudnnTensorDescriptor_t cDesc, size_t *sizeInBytes)
{
    DNN_NEEDS(handle, reduceTensorDesc, aDesc, cDesc, sizeInBytes);
    *sizeInBytes = index_B(reduceTensorDesc) * (size_t)dnn_elements(cDesc);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetReductionWorkspaceSize(cudnnHandle_t handle,
                                             cudnnReduceTensorDescriptor_t reduceTensorDesc,
                                             cudnnTensorDescriptor_t aDesc,
                                             cudnnTensorDescriptor_t cDesc, size_t *sizeInBytes)
{
    DNN_NEEDS(handle, reduceTensorDesc, aDesc, cDesc, sizeInBytes);
    *sizeInBytes = 0;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnReduceTensor(cudnnHandle_t handle,
                                cudnnReduceTensorDescriptor_t reduceTensorDesc, void *indices,
                                size_t indicesSizeInBytes, void *workspace,
                                size_t workspaceSizeInBytes, const void *alpha,
                                cudnnTensorDescriptor_t aDesc, const void *A, const void *beta,
                                cudnnTensorDescriptor_t cDesc, void *C)
{
    (void)workspace;
    (void)workspaceSizeInBytes;
    DNN_NEEDS(handle, reduceTensorDesc, alpha, aDesc, A, beta, cDesc, C);
    DNN_CHECK(reduceTensorDesc->is_set, "the reduction's descriptor is not set");
    DNN_CHECK(aDesc->rank == cDesc->rank, "A has %d dimensions, C %d", aDesc->rank, cDesc->rank);
    for (int d = 0; d < aDesc->rank; d++)
        DNN_CHECK(cDesc->dims[d] == 1 || cDesc->dims[d] == aDesc->dims[d],
                  "dimension %d of C is neither A's nor 1", d);
    size_t each_B = index_B(reduceTensorDesc);
    DNN_CHECK(!each_B || (indices && indicesSizeInBytes >= each_B * (size_t)dnn_elements(cDesc)),
              "room for indices: %zu bytes", indicesSizeInBytes);
    struct klib_dnn_op op = {.kernel = KLIB_DNN_reduce,
                             .mode = reduceTensorDesc->op, /* in the order of enum klib_reduce */
                             .no_nan = reduceTensorDesc->nan == CUDNN_NOT_PROPAGATE_NAN,
                             .alpha = {dnn_factor(alpha, cDesc)},
                             .beta = {dnn_factor(beta, cDesc)},
                             .n = {(int64_t)each_B},
                             .p = {each_B ? indices : NULL},
                             .t = {dnn_tensor(cDesc, C), dnn_tensor(aDesc, A)}};
    return dnn_op(handle, &op);
}

cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void *alpha,
                                           cudnnTensorDescriptor_t dyDesc, const void *dy,
                                           const void *beta, cudnnTensorDescriptor_t dbDesc,
                                           void *db)
{
    DNN_NEEDS(handle, alpha, dyDesc, dy, beta, dbDesc, db);
    DNN_CHECK(dyDesc->rank == dbDesc->rank && dyDesc->rank && dbDesc->dims[1] == dyDesc->dims[1] &&
                  dnn_elements(dbDesc) == dbDesc->dims[1],
              "db does not have a number for each of %d channels", dyDesc->dims[1]);
    struct klib_dnn_op op = {.kernel = KLIB_DNN_reduce,
                             .mode = KLIB_REDUCE_ADD,
                             .alpha = {dnn_factor(alpha, dbDesc)},
                             .beta = {dnn_factor(beta, dbDesc)},
                             .t = {dnn_tensor(dbDesc, db), dnn_tensor(dyDesc, dy)}};
    return dnn_op(handle, &op);
}
