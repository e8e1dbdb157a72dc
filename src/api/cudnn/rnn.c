/*
 * Recurrent networks. Algorithms are one. The workspace is not used; the reserve space, which is of
 * training alone, has what gradients take.
 */
#include <string.h>

#include "api/cudnn/dnn.h"
#include "base/mem.h"

struct cudnnRNNStruct {
    bool is_set;
    cudnnRNNAlgo_t algo;
    cudnnRNNMode_t cell;
    cudnnRNNBiasMode_t bias;
    cudnnDirectionMode_t direction;
    cudnnRNNInputMode_t input_mode;
    cudnnDataType_t type, precision;
    cudnnMathType_t math;
    int input, hidden, output, layers;
    cudnnDropoutDescriptor_t dropout;
    uint32_t flags;
    cudnnRNNClipMode_t clip;
    cudnnNanPropagation_t clip_nan;
    double least, most;
};

struct cudnnRNNDataStruct {
    cudnnDataType_t type;
    cudnnRNNDataLayout_t layout;
    int time, samples, width;
    int *lengths; /* owned; NULL: not set */
    double fill;
};

/* ---- the network's descriptor */

cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t *rnnDesc)
{
    DNN_NEEDS(rnnDesc);
    *rnnDesc = hd_new(struct cudnnRNNStruct);
    return *rnnDesc ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t rnnDesc)
{
    hd_free(rnnDesc);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNAlgo_t algo,
                                       cudnnRNNMode_t cellMode, cudnnRNNBiasMode_t biasMode,
                                       cudnnDirectionMode_t dirMode, cudnnRNNInputMode_t inputMode,
                                       cudnnDataType_t dataType, cudnnDataType_t mathPrec,
                                       cudnnMathType_t mathType, int32_t inputSize,
                                       int32_t hiddenSize, int32_t projSize, int32_t numLayers,
                                       cudnnDropoutDescriptor_t dropoutDesc, uint32_t auxFlags)
{
    DNN_NEEDS(rnnDesc);
    DNN_CHECK(algo < CUDNN_RNN_ALGO_COUNT && cellMode <= CUDNN_GRU &&
                  biasMode <= CUDNN_RNN_SINGLE_REC_BIAS && dirMode <= CUDNN_BIDIRECTIONAL &&
                  inputMode <= CUDNN_SKIP_INPUT && mathType <= CUDNN_FMA_MATH,
              "algorithm %d, cell %d, bias %d, direction %d, input %d, math %d", (int)algo,
              (int)cellMode, (int)biasMode, (int)dirMode, (int)inputMode, (int)mathType);
    DNN_CHECK(inputSize > 0 && hiddenSize > 0 && numLayers > 0 && projSize > 0 &&
                  projSize <= hiddenSize,
              "sizes: input %d, hidden %d, projection %d, layers %d", inputSize, hiddenSize,
              projSize, numLayers);
    DNN_CHECK(inputMode != CUDNN_SKIP_INPUT || inputSize == hiddenSize,
              "the input is taken as it is, but has %d numbers, not %d", inputSize, hiddenSize);
    DNN_SUPPORTS(projSize == hiddenSize || cellMode == CUDNN_LSTM, "a projection but of LSTM");
    DNN_SUPPORTS(dataType == CUDNN_DATA_FLOAT || dataType == CUDNN_DATA_DOUBLE ||
                     dataType == CUDNN_DATA_HALF || dataType == CUDNN_DATA_BFLOAT16,
                 "type %d", (int)dataType);
    *rnnDesc = (struct cudnnRNNStruct){.is_set = true,
                                       .algo = algo,
                                       .cell = cellMode,
                                       .bias = biasMode,
                                       .direction = dirMode,
                                       .input_mode = inputMode,
                                       .type = dataType,
                                       .precision = mathPrec,
                                       .math = mathType,
                                       .input = inputSize,
                                       .hidden = hiddenSize,
                                       .output = projSize,
                                       .layers = numLayers,
                                       .dropout = dropoutDesc,
                                       .flags = auxFlags};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNDescriptor_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNAlgo_t *algo,
                                       cudnnRNNMode_t *cellMode, cudnnRNNBiasMode_t *biasMode,
                                       cudnnDirectionMode_t *dirMode,
                                       cudnnRNNInputMode_t *inputMode, cudnnDataType_t *dataType,
                                       cudnnDataType_t *mathPrec, cudnnMathType_t *mathType,
                                       int32_t *inputSize, int32_t *hiddenSize, int32_t *projSize,
                                       int32_t *numLayers, cudnnDropoutDescriptor_t *dropoutDesc,
                                       uint32_t *auxFlags)
{
    DNN_NEEDS(rnnDesc);
#define GET(to, from)                                                                              \
    if (to)                                                                                        \
    *to = rnnDesc->from
    GET(algo, algo);
    GET(cellMode, cell);
    GET(biasMode, bias);
    GET(dirMode, direction);
    GET(inputMode, input_mode);
    GET(dataType, type);
    GET(mathPrec, precision);
    GET(mathType, math);
    GET(inputSize, input);
    GET(hiddenSize, hidden);
    GET(projSize, output);
    GET(numLayers, layers);
    GET(dropoutDesc, dropout);
    GET(auxFlags, flags);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnRNNSetClip_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNClipMode_t clipMode,
                                 cudnnNanPropagation_t clipNanOpt, double lclip, double rclip)
{
    DNN_NEEDS(rnnDesc);
    DNN_CHECK(clipMode <= CUDNN_RNN_CLIP_MINMAX && clipNanOpt <= CUDNN_PROPAGATE_NAN &&
                  (clipMode == CUDNN_RNN_CLIP_NONE || lclip <= rclip),
              "mode %d, from %g to %g", (int)clipMode, lclip, rclip);
    rnnDesc->clip = clipMode;
    rnnDesc->clip_nan = clipNanOpt;
    rnnDesc->least = lclip;
    rnnDesc->most = rclip;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnRNNSetClip_v9(cudnnRNNDescriptor_t rnnDesc, cudnnRNNClipMode_t clipMode,
                                 double lclip, double rclip)
{
    return cudnnRNNSetClip_v8(rnnDesc, clipMode, CUDNN_NOT_PROPAGATE_NAN, lclip, rclip);
}

cudnnStatus_t cudnnRNNGetClip_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNClipMode_t *clipMode,
                                 cudnnNanPropagation_t *clipNanOpt, double *lclip, double *rclip)
{
    DNN_NEEDS(rnnDesc);
    GET(clipMode, clip);
    GET(clipNanOpt, clip_nan);
    GET(lclip, least);
    GET(rclip, most);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnRNNGetClip_v9(cudnnRNNDescriptor_t rnnDesc, cudnnRNNClipMode_t *clipMode,
                                 double *lclip, double *rclip)
{
    return cudnnRNNGetClip_v8(rnnDesc, clipMode, NULL, lclip, rclip);
}
#undef GET

/* Nothing is compiled for a size of the batch. */
cudnnStatus_t cudnnBuildRNNDynamic(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                                   int miniBatch)
{
    DNN_NEEDS(handle, rnnDesc);
    DNN_CHECK(miniBatch > 0, "a batch of %d", miniBatch);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- data */

cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t *rnnDataDesc)
{
    DNN_NEEDS(rnnDataDesc);
    *rnnDataDesc = hd_new(struct cudnnRNNDataStruct);
    return *rnnDataDesc ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t rnnDataDesc)
{
    if (rnnDataDesc)
        hd_free(rnnDataDesc->lengths);
    hd_free(rnnDataDesc);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t rnnDataDesc,
                                        cudnnDataType_t dataType, cudnnRNNDataLayout_t layout,
                                        int maxSeqLength, int batchSize, int vectorSize,
                                        const int *seqLengthArray, void *paddingFill)
{
    DNN_NEEDS(rnnDataDesc, seqLengthArray);
    DNN_CHECK(layout <= CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED && dnn_type(dataType) >= 0 &&
                  maxSeqLength > 0 && batchSize > 0 && vectorSize > 0,
              "type %d, layout %d, sizes %d x %d x %d", (int)dataType, (int)layout, maxSeqLength,
              batchSize, vectorSize);
    for (int i = 0; i < batchSize; i++)
        DNN_CHECK(seqLengthArray[i] >= 0 && seqLengthArray[i] <= maxSeqLength &&
                      (layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED || !i ||
                       seqLengthArray[i] <= seqLengthArray[i - 1]),
                  "length %d of sample %d", seqLengthArray[i], i);
    int *lengths = hd_alloc_array((size_t)batchSize, sizeof(*lengths));
    if (!lengths)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    memcpy(lengths, seqLengthArray, (size_t)batchSize * sizeof(*lengths));
    hd_free(rnnDataDesc->lengths);
    *rnnDataDesc = (struct cudnnRNNDataStruct){dataType,
                                               layout,
                                               maxSeqLength,
                                               batchSize,
                                               vectorSize,
                                               lengths,
                                               paddingFill ? dnn_value(dataType, paddingFill) : 0};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNDataDescriptor(cudnnRNNDataDescriptor_t rnnDataDesc,
                                        cudnnDataType_t *dataType, cudnnRNNDataLayout_t *layout,
                                        int *maxSeqLength, int *batchSize, int *vectorSize,
                                        int arrayLengthRequested, int *seqLengthArray,
                                        void *paddingFill)
{
    DNN_NEEDS(rnnDataDesc, dataType, layout, maxSeqLength, batchSize, vectorSize);
    DNN_CHECK(arrayLengthRequested >= 0 && (seqLengthArray || !arrayLengthRequested),
              "room for %d lengths", arrayLengthRequested);
    *dataType = rnnDataDesc->type;
    *layout = rnnDataDesc->layout;
    *maxSeqLength = rnnDataDesc->time;
    *batchSize = rnnDataDesc->samples;
    *vectorSize = rnnDataDesc->width;
    for (int i = 0; i < HD_MIN(arrayLengthRequested, rnnDataDesc->samples); i++)
        seqLengthArray[i] = rnnDataDesc->lengths[i];
    if (paddingFill && rnnDataDesc->type == CUDNN_DATA_DOUBLE)
        *(double *)paddingFill = rnnDataDesc->fill;
    else if (paddingFill && rnnDataDesc->type == CUDNN_DATA_FLOAT)
        *(float *)paddingFill = (float)rnnDataDesc->fill;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- what kernels are told */

static struct klib_rnn network(const struct cudnnRNNStruct *d)
{
    static const uint8_t biases[] = {[CUDNN_RNN_NO_BIAS] = KLIB_RNN_NO_BIAS,
                                     [CUDNN_RNN_SINGLE_INP_BIAS] = KLIB_RNN_BIAS_IN,
                                     [CUDNN_RNN_DOUBLE_BIAS] =
                                         KLIB_RNN_BIAS_IN | KLIB_RNN_BIAS_RECURRENT,
                                     [CUDNN_RNN_SINGLE_REC_BIAS] = KLIB_RNN_BIAS_RECURRENT};

    return (struct klib_rnn){.cell = (uint8_t)d->cell, /* in the order of enum klib_rnn_cell */
                             .biases = biases[d->bias],
                             .type = (uint8_t)dnn_type(d->type),
                             .both_ways = d->direction == CUDNN_BIDIRECTIONAL,
                             .skips_input = d->input_mode == CUDNN_SKIP_INPUT,
                             .clips = d->clip == CUDNN_RNN_CLIP_MINMAX,
                             .layers = d->layers,
                             .input = d->input,
                             .hidden = d->hidden,
                             .output = d->output,
                             .clip = {d->least, d->most}};
}

static size_t weights_B(const struct cudnnRNNStruct *d)
{
    struct klib_rnn r = network(d);
    int pseudo = r.layers * (r.both_ways ? 2 : 1);

    return (size_t)klib_rnn_bias(&r, pseudo, 0).offset * dnn_size_B(d->type);
}

static bool is_state(cudnnTensorDescriptor_t t, const struct klib_rnn *r, int width)
{
    return !t || !t->rank ||
           (t->rank == 3 && t->dims[0] == r->layers * (r->both_ways ? 2 : 1) &&
            t->dims[1] == r->samples && t->dims[2] == width);
}

/* Sets sizes and lengths. Either of x and y may be NULL. */
static cudnnStatus_t rnn_of(const char *function, cudnnRNNDescriptor_t desc,
                            const int32_t *dev_lengths, cudnnRNNDataDescriptor_t x,
                            cudnnRNNDataDescriptor_t y, cudnnTensorDescriptor_t h,
                            cudnnTensorDescriptor_t c, size_t weights, struct klib_rnn *out)
{
    const struct cudnnRNNDataStruct *data = x ? x : y;

    if (!desc->is_set || !data->lengths || (y && !y->lengths))
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function, "a descriptor is not set");
    struct klib_rnn r = network(desc);
    r.time = data->time;
    r.samples = data->samples;
    int width = r.output * (r.both_ways ? 2 : 1);
    if ((x && (x->width != r.input || x->type != desc->type)) ||
        (y && (y->width != width || y->type != desc->type || y->time != r.time ||
               y->samples != r.samples)))
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function,
                        "x or y do not have the network's type and sizes");
    if (!is_state(h, &r, r.output) || (desc->cell == CUDNN_LSTM && !is_state(c, &r, r.hidden)))
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, function,
                        "states are not layers and directions x samples x numbers");
    if (weights < weights_B(desc))
        return dnn_fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, function,
                        "weights of %zu bytes, not %zu", weights, weights_B(desc));
    if (x)
        r.x_layout = (uint8_t)x->layout; /* in the order of enum klib_rnn_layout */
    if (y) {
        r.y_layout = (uint8_t)y->layout;
        r.fill = y->fill;
    }
    for (int i = 0; i < r.samples; i++)
        r.has_few |= data->lengths[i] != r.time;
    if (r.has_few && r.samples <= KLIB_RNN_LENGTHS) {
        memcpy(r.few, data->lengths, (size_t)r.samples * sizeof(*r.few));
    } else if (r.has_few) {
        r.has_few = 0;
        r.lengths = dev_lengths;
        if (!dev_lengths)
            return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, function,
                            "%d samples of different lengths without devSeqLengths", r.samples);
    }
    if (desc->dropout && desc->layers > 1) {
        r.dropout = desc->dropout->dropout;
        r.states = desc->dropout->states;
    }
    *out = r;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t run(const char *function, cudnnHandle_t handle, struct klib_rnn *r,
                         size_t reserve_B)
{
    static struct lib_kernel kernels[4];
    static const char *const names[] = {"cudnn_rnn_infer", "cudnn_rnn_train", "cudnn_rnn_data",
                                        "cudnn_rnn_weights"};
    const struct klib_dnn *klib = dnn_klib();
    uint64_t tiles;

    if (!klib)
        return CUDNN_STATUS_INTERNAL_ERROR;
    if (r->pass != KLIB_RNN_INFER && (!r->reserve || reserve_B < klib->rnn_reserve_B(r)))
        return dnn_fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, function,
                        "a reserve space of %zu bytes, not %llu", reserve_B,
                        (unsigned long long)klib->rnn_reserve_B(r));
    uint64_t ns = klib->rnn_plan(r, &tiles);
    return dnn_launch(handle, &kernels[r->pass], names[r->pass], klib->rnn, r, sizeof(*r), tiles,
                      ns);
}

/* ---- sizes and places */

cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                                         size_t *weightSpaceSize)
{
    DNN_NEEDS(handle, rnnDesc, weightSpaceSize);
    DNN_CHECK(rnnDesc->is_set, "the descriptor is not set");
    *weightSpaceSize = weights_B(rnnDesc);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                                        cudnnForwardMode_t fwdMode, cudnnRNNDataDescriptor_t xDesc,
                                        size_t *workSpaceSize, size_t *reserveSpaceSize)
{
    struct klib_rnn r;

    DNN_NEEDS(handle, rnnDesc, xDesc);
    DNN_CHECK(fwdMode <= CUDNN_FWD_MODE_TRAINING, "mode %d", (int)fwdMode);
    cudnnStatus_t status = rnn_of(__func__, rnnDesc, NULL, xDesc, NULL, NULL, NULL, SIZE_MAX, &r);
    const struct klib_dnn *klib = dnn_klib();
    if (status || !klib)
        return status ? status : CUDNN_STATUS_INTERNAL_ERROR;
    if (workSpaceSize)
        *workSpaceSize = 0;
    if (reserveSpaceSize)
        *reserveSpaceSize =
            fwdMode == CUDNN_FWD_MODE_TRAINING ? (size_t)klib->rnn_reserve_B(&r) : 0;
    return CUDNN_STATUS_SUCCESS;
}

/* Makes `t` say what a part is; without rows it has no dimensions. */
static void describe(struct cudnnTensorStruct *t, cudnnDataType_t type, int64_t rows,
                     int64_t columns)
{
    *t = (struct cudnnTensorStruct){.type = type};
    if (!rows)
        return;
    t->rank = 3;
    t->dims[0] = 1;
    t->dims[1] = (int)rows;
    t->dims[2] = (int)columns;
    dnn_pack(t, CUDNN_TENSOR_NCHW);
}

cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                                      int32_t pseudoLayer, size_t weightSpaceSize,
                                      const void *weightSpace, int32_t linLayerID,
                                      cudnnTensorDescriptor_t mDesc, void **mAddr,
                                      cudnnTensorDescriptor_t bDesc, void **bAddr)
{
    DNN_NEEDS(handle, rnnDesc, mDesc, mAddr, bDesc, bAddr);
    DNN_CHECK(rnnDesc->is_set, "the descriptor is not set");
    struct klib_rnn r = network(rnnDesc);
    int gates = klib_rnn_gates(r.cell);
    bool is_projection = linLayerID == 2 * gates && r.cell == KLIB_RNN_LSTM;
    DNN_CHECK(pseudoLayer >= 0 && pseudoLayer < r.layers * (r.both_ways ? 2 : 1) &&
                  linLayerID >= 0 && (linLayerID < 2 * gates || is_projection),
              "pseudo-layer %d, matrix %d", pseudoLayer, linLayerID);
    if (weightSpaceSize < weights_B(rnnDesc))
        return dnn_fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, __func__,
                        "weights of %zu bytes, not %zu", weightSpaceSize, weights_B(rnnDesc));
    int which = linLayerID / gates, gate = is_projection ? 0 : linLayerID % gates;
    struct klib_rnn_part m = klib_rnn_matrix(&r, pseudoLayer, which), b = {0};
    if (!is_projection)
        b = klib_rnn_bias(&r, pseudoLayer, which);
    int64_t rows = is_projection ? m.rows : m.rows / gates,
            size_B = (int64_t)dnn_size_B(rnnDesc->type);
    char *base = (char *)weightSpace;
    describe(mDesc, rnnDesc->type, rows, m.columns);
    describe(bDesc, rnnDesc->type, b.rows / gates, 1);
    *mAddr = rows ? base + (m.offset + gate * rows * m.columns) * size_B : NULL;
    *bAddr = b.rows ? base + (b.offset + gate * (b.rows / gates)) * size_B : NULL;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- runs */

cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                              cudnnForwardMode_t fwdMode, const int32_t *devSeqLengths,
                              cudnnRNNDataDescriptor_t xDesc, const void *x,
                              cudnnRNNDataDescriptor_t yDesc, void *y,
                              cudnnTensorDescriptor_t hDesc, const void *hx, void *hy,
                              cudnnTensorDescriptor_t cDesc, const void *cx, void *cy,
                              size_t weightSpaceSize, const void *weightSpace, size_t workSpaceSize,
                              void *workSpace, size_t reserveSpaceSize, void *reserveSpace)
{
    struct klib_rnn r;

    (void)workSpaceSize;
    (void)workSpace;
    DNN_NEEDS(handle, rnnDesc, xDesc, x, yDesc, y, weightSpace);
    DNN_CHECK(fwdMode <= CUDNN_FWD_MODE_TRAINING, "mode %d", (int)fwdMode);
    cudnnStatus_t status =
        rnn_of(__func__, rnnDesc, devSeqLengths, xDesc, yDesc, hDesc, cDesc, weightSpaceSize, &r);
    if (status)
        return status;
    r.pass = fwdMode == CUDNN_FWD_MODE_TRAINING ? KLIB_RNN_TRAIN : KLIB_RNN_INFER;
    r.x = x;
    r.y = y;
    r.hx = hx;
    r.cx = cx;
    r.hy = hy;
    r.cy = cy;
    r.weights = weightSpace;
    if (r.pass == KLIB_RNN_TRAIN)
        r.reserve = reserveSpace;
    else
        r.dropout = 0;
    if (r.pass == KLIB_RNN_TRAIN && r.dropout > 0 && !r.states)
        return dnn_fail(CUDNN_STATUS_BAD_PARAM, __func__, "dropout's descriptor has no states");
    return run(__func__, handle, &r, reserveSpaceSize);
}

cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                                      const int32_t *devSeqLengths, cudnnRNNDataDescriptor_t yDesc,
                                      const void *y, const void *dy, cudnnRNNDataDescriptor_t xDesc,
                                      void *dx, cudnnTensorDescriptor_t hDesc, const void *hx,
                                      const void *dhy, void *dhx, cudnnTensorDescriptor_t cDesc,
                                      const void *cx, const void *dcy, void *dcx,
                                      size_t weightSpaceSize, const void *weightSpace,
                                      size_t workSpaceSize, void *workSpace,
                                      size_t reserveSpaceSize, void *reserveSpace)
{
    struct klib_rnn r;

    (void)workSpaceSize;
    (void)workSpace;
    (void)y;
    DNN_NEEDS(handle, rnnDesc, yDesc, dy, xDesc, dx, weightSpace, reserveSpace);
    cudnnStatus_t status =
        rnn_of(__func__, rnnDesc, devSeqLengths, xDesc, yDesc, hDesc, cDesc, weightSpaceSize, &r);
    if (status)
        return status;
    r.pass = KLIB_RNN_DATA;
    r.fill = 0; /* what is behind the end has no part in y */
    r.dy = dy;
    r.dx = dx;
    r.hx = hx;
    r.cx = cx;
    r.dhy = dhy;
    r.dcy = dcy;
    r.dhx = dhx;
    r.dcx = dcx;
    r.weights = weightSpace;
    r.reserve = reserveSpace;
    return run(__func__, handle, &r, reserveSpaceSize);
}

cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                                         cudnnWgradMode_t addGrad, const int32_t *devSeqLengths,
                                         cudnnRNNDataDescriptor_t xDesc, const void *x,
                                         cudnnTensorDescriptor_t hDesc, const void *hx,
                                         cudnnRNNDataDescriptor_t yDesc, const void *y,
                                         size_t weightSpaceSize, void *dweightSpace,
                                         size_t workSpaceSize, void *workSpace,
                                         size_t reserveSpaceSize, void *reserveSpace)
{
    struct klib_rnn r;

    (void)workSpaceSize;
    (void)workSpace;
    (void)x; /* it is in the reserve space, as y is */
    (void)y;
    DNN_NEEDS(handle, rnnDesc, xDesc, yDesc, dweightSpace, reserveSpace);
    DNN_CHECK(addGrad <= CUDNN_WGRAD_MODE_SET, "mode %d", (int)addGrad);
    cudnnStatus_t status =
        rnn_of(__func__, rnnDesc, devSeqLengths, xDesc, yDesc, hDesc, NULL, weightSpaceSize, &r);
    if (status)
        return status;
    r.pass = KLIB_RNN_WEIGHTS;
    r.adds = addGrad == CUDNN_WGRAD_MODE_ADD;
    r.hx = hx;
    r.dweights = dweightSpace;
    r.reserve = reserveSpace;
    return run(__func__, handle, &r, reserveSpaceSize);
}
