/* Spatial transformers: grids of affine maps, and bilinear sampling at them. */
#include <string.h>

#include "api/cudnn/dnn.h"
#include "base/mem.h"

cudnnStatus_t cudnnCreateSpatialTransformerDescriptor(cudnnSpatialTransformerDescriptor_t *stDesc)
{
    DNN_NEEDS(stDesc);
    *stDesc = hd_new(struct cudnnSpatialTransformerStruct);
    return *stDesc ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t cudnnDestroySpatialTransformerDescriptor(cudnnSpatialTransformerDescriptor_t stDesc)
{
    hd_free(stDesc);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetSpatialTransformerNdDescriptor(cudnnSpatialTransformerDescriptor_t stDesc,
                                                     cudnnSamplerType_t samplerType,
                                                     cudnnDataType_t dataType, int nbDims,
                                                     const int *dimA)
{
    DNN_NEEDS(stDesc, dimA);
    DNN_CHECK(samplerType == CUDNN_SAMPLER_BILINEAR && dnn_type(dataType) >= 0,
              "sampler %d, type %d", (int)samplerType, (int)dataType);
    DNN_SUPPORTS(nbDims == 4, "%d dimensions, not 4", nbDims);
    for (int d = 0; d < 4; d++)
        DNN_CHECK(dimA[d] > 0, "dimension %d is %d", d, dimA[d]);
    stDesc->is_set = true;
    stDesc->type = dataType;
    memcpy(stDesc->dims, dimA, sizeof(stDesc->dims));
    return CUDNN_STATUS_SUCCESS;
}

/* A grid's dimensions and type, as a tensor has them. */
static struct klib_tensor grid_tensor(cudnnSpatialTransformerDescriptor_t st)
{
    struct cudnnTensorStruct t = {.type = st->type, .rank = 4};

    memcpy(t.dims, st->dims, sizeof(st->dims));
    dnn_pack(&t, CUDNN_TENSOR_NCHW);
    return dnn_tensor(&t, NULL);
}

cudnnStatus_t cudnnSpatialTfGridGeneratorForward(cudnnHandle_t handle,
                                                 cudnnSpatialTransformerDescriptor_t stDesc,
                                                 const void *theta, void *grid)
{
    DNN_NEEDS(handle, stDesc, theta, grid);
    DNN_CHECK(stDesc->is_set, "the descriptor is not set");
    struct klib_dnn_op op = {
        .kernel = KLIB_DNN_grid_forward, .p = {grid, (void *)theta}, .t = {grid_tensor(stDesc)}};
    return dnn_op(handle, &op);
}

cudnnStatus_t cudnnSpatialTfGridGeneratorBackward(cudnnHandle_t handle,
                                                  cudnnSpatialTransformerDescriptor_t stDesc,
                                                  const void *dgrid, void *dtheta)
{
    DNN_NEEDS(handle, stDesc, dgrid, dtheta);
    DNN_CHECK(stDesc->is_set, "the descriptor is not set");
    struct klib_dnn_op op = {
        .kernel = KLIB_DNN_grid_backward, .p = {(void *)dgrid, dtheta}, .t = {grid_tensor(stDesc)}};
    return dnn_op(handle, &op);
}

/* y has the descriptor's dimensions; x has as many images and channels. */
static cudnnStatus_t sampler_of(const char *function, cudnnSpatialTransformerDescriptor_t st,
                                cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y)
{
    bool is_fine = st->is_set && x->rank == 4 && y->rank == 4 &&
                   !memcmp(y->dims, st->dims, sizeof(st->dims)) && x->dims[0] == y->dims[0] &&
                   x->dims[1] == y->dims[1] && x->type == y->type;

    return is_fine ? CUDNN_STATUS_SUCCESS
                   : dnn_fail(CUDNN_STATUS_BAD_PARAM, function,
                              "the dimensions of x, y and the descriptor do not fit");
}

cudnnStatus_t cudnnSpatialTfSamplerForward(cudnnHandle_t handle,
                                           cudnnSpatialTransformerDescriptor_t stDesc,
                                           const void *alpha, cudnnTensorDescriptor_t xDesc,
                                           const void *x, const void *grid, const void *beta,
                                           cudnnTensorDescriptor_t yDesc, void *y)
{
    DNN_NEEDS(handle, stDesc, alpha, xDesc, x, grid, beta, yDesc, y);
    cudnnStatus_t status = sampler_of(__func__, stDesc, xDesc, yDesc);
    struct klib_dnn_op op = {.kernel = KLIB_DNN_sampler_forward,
                             .alpha = {dnn_factor(alpha, yDesc)},
                             .beta = {dnn_factor(beta, yDesc)},
                             .p = {(void *)grid},
                             .t = {dnn_tensor(yDesc, y), dnn_tensor(xDesc, x)}};
    return status ? status : dnn_op(handle, &op);
}

cudnnStatus_t
cudnnSpatialTfSamplerBackward(cudnnHandle_t handle, cudnnSpatialTransformerDescriptor_t stDesc,
                              const void *alpha, cudnnTensorDescriptor_t xDesc, const void *x,
                              const void *beta, cudnnTensorDescriptor_t dxDesc, void *dx,
                              const void *alphaDgrid, cudnnTensorDescriptor_t dyDesc,
                              const void *dy, const void *grid, const void *betaDgrid, void *dgrid)
{
    DNN_NEEDS(handle, stDesc, alpha, xDesc, x, beta, dxDesc, dx, alphaDgrid, dyDesc, dy, grid,
              betaDgrid, dgrid);
    cudnnStatus_t status = sampler_of(__func__, stDesc, xDesc, dyDesc);
    if (!status)
        status = sampler_of(__func__, stDesc, dxDesc, dyDesc);
    if (status)
        return status;
    struct klib_dnn_op op = {.kernel = KLIB_DNN_sampler_grid,
                             .alpha = {dnn_factor(alphaDgrid, dyDesc)},
                             .beta = {dnn_factor(betaDgrid, dyDesc)},
                             .p = {(void *)grid, dgrid},
                             .t = {dnn_tensor(dyDesc, dy), dnn_tensor(xDesc, x)}};
    status = dnn_op(handle, &op);
    if (status)
        return status;
    op = (struct klib_dnn_op){.kernel = KLIB_DNN_sampler_data,
                              .alpha = {dnn_factor(alpha, dxDesc)},
                              .beta = {dnn_factor(beta, dxDesc)},
                              .p = {(void *)grid},
                              .t = {dnn_tensor(dxDesc, dx), dnn_tensor(dyDesc, dy)}};
    return dnn_op(handle, &op);
}
