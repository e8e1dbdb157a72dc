/* Operations of a graph as values and steps: all but norms and attention. */
#include "api/cudnn/graph_lower.h"

#include <string.h>

#define IN(name)          lower_input(l, op, CUDNN_ATTR_OPERATION_##name)
#define OUT(name)         lower_output(l, op, CUDNN_ATTR_OPERATION_##name)
#define AT(body, name)    graph_body_at(body, CUDNN_ATTR_##name)
#define WHOLE(body, name) graph_whole(body, CUDNN_ATTR_##name, 0)

static struct dnn_step step_of(enum dnn_step_kind kind, const int64_t *dims)
{
    struct dnn_step s = {.kind = (uint8_t)kind};

    memcpy(s.dims, dims, sizeof(s.dims));
    for (int i = 0; i < DNN_STEP_TENSORS; i++)
        s.tensors[i] = -1;
    return s;
}

/* A copy of the dimensions, as nodes move. */
struct dims {
    int64_t at[DNN_DIMS];
};

static struct dims dims_of(struct lower *l, graph_v v)
{
    struct dims d;

    memcpy(d.at, lower_node(l, v)->dims, sizeof(d.at));
    return d;
}

/* ---- elementwise */

static const struct {
    int mode;
    enum dnn_code_op op;
    int args;
} modes[] = {
#define X(name, args, value) {CUDNN_POINTWISE_##name, DNN_##name, args},
    DNN_POINTWISE_LIST(X)
#undef X
};

static void pointwise(struct lower *l, const struct graph_body *op)
{
    const struct graph_body *pw = AT(op, OPERATION_POINTWISE_PW_DESCRIPTOR);
    int64_t mode = WHOLE(pw, POINTWISE_MODE);
    bool is_bwd = AT(op, OPERATION_POINTWISE_DYDESC) != NULL;
    graph_v x = IN(POINTWISE_XDESC), to = is_bwd ? OUT(POINTWISE_DXDESC) : OUT(POINTWISE_YDESC);
    graph_v b = is_bwd ? IN(POINTWISE_DYDESC) : IN(POINTWISE_BDESC), t = IN(POINTWISE_TDESC);
    double alpha1 = graph_real(op, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1);
    double alpha2 = graph_real(op, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1);
    double p[4] = {0};

    if (l->status)
        return;
    struct dims dims = dims_of(l, to);
    if (mode == CUDNN_POINTWISE_GEN_INDEX) {
        int64_t axis = graph_whole(pw, CUDNN_ATTR_POINTWISE_AXIS, 0);
        int rank = lower_rank(l, to);
        if (axis < 0 || axis >= rank) {
            lower_fail(l, CUDNN_STATUS_BAD_PARAM,
                       "CUDNN_ATTR_POINTWISE_AXIS is %lld of %d dimensions", (long long)axis, rank);
            return;
        }
        lower_define(l, to, lower_index(l, dims.at, DIM(rank, (int)axis)));
        return;
    }
    size_t i = 0;
    while (i < HD_COUNT_OF(modes) && modes[i].mode != mode)
        i++;
    enum dnn_code_op code = modes[i].op;
    switch (mode) {
    case CUDNN_POINTWISE_RELU_FWD:
    case CUDNN_POINTWISE_RELU_BWD:
        p[0] = graph_real(pw, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0);
        p[1] = graph_real(pw, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, 1.7976931348623157e308);
        p[2] = graph_real(pw, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0);
        break;
    case CUDNN_POINTWISE_ELU_FWD:
    case CUDNN_POINTWISE_ELU_BWD:
        p[0] = graph_real(pw, CUDNN_ATTR_POINTWISE_ELU_ALPHA, 1);
        break;
    case CUDNN_POINTWISE_SOFTPLUS_FWD:
    case CUDNN_POINTWISE_SOFTPLUS_BWD:
        p[0] = graph_real(pw, CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA, 1);
        break;
    case CUDNN_POINTWISE_SWISH_FWD:
    case CUDNN_POINTWISE_SWISH_BWD:
        p[0] = graph_real(pw, CUDNN_ATTR_POINTWISE_SWISH_BETA, 1);
        break;
    default:
        break;
    }
    const double by1[4] = {alpha1}, by2[4] = {alpha2};
    if (alpha1 != 1)
        x = lower_code(l, DNN_SCALE, lower_node(l, x)->dims, x, NONE, NONE, by1);
    if (alpha2 != 1 && b != NONE)
        b = lower_code(l, DNN_SCALE, lower_node(l, b)->dims, b, NONE, NONE, by2);
    /* Of a derivative the gradient is the first argument, the input the second. */
    graph_v first = is_bwd ? b : x, second = is_bwd ? x : b;
    lower_define(l, to,
                 lower_code(l, code, dims.at, first, modes[i].args > 1 ? second : NONE,
                            modes[i].args > 2 ? t : NONE, p));
}

static void reduction(struct lower *l, const struct graph_body *op)
{
    static const uint8_t reduces[] = {[CUDNN_REDUCE_TENSOR_ADD] = DNN_SUM,
                                      [CUDNN_REDUCE_TENSOR_MUL] = DNN_PRODUCT,
                                      [CUDNN_REDUCE_TENSOR_MIN] = DNN_LEAST,
                                      [CUDNN_REDUCE_TENSOR_MAX] = DNN_MOST,
                                      [CUDNN_REDUCE_TENSOR_AMAX] = DNN_AMAX,
                                      [CUDNN_REDUCE_TENSOR_AVG] = DNN_AVG,
                                      [CUDNN_REDUCE_TENSOR_NORM1] = DNN_NORM1,
                                      [CUDNN_REDUCE_TENSOR_NORM2] = DNN_NORM2,
                                      [CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS] = DNN_NONZERO};
    const struct graph_body *desc = AT(op, OPERATION_REDUCTION_DESC);
    int64_t mode = WHOLE(desc, REDUCTION_OPERATOR);
    graph_v x = IN(REDUCTION_XDESC), y = OUT(REDUCTION_YDESC);

    if (mode < 0 || mode >= (int64_t)HD_COUNT_OF(reduces)) {
        lower_fail(l, CUDNN_STATUS_NOT_SUPPORTED, "there is no reduction %lld", (long long)mode);
        return;
    }
    struct dims dims = dims_of(l, y), of = dims_of(l, x);
    int grouped = -1;
    for (int d = 0; d < DNN_DIMS; d++)
        if (dims.at[d] != 1 && dims.at[d] != of.at[d]) {
            if (grouped >= 0 || of.at[0] != 1)
                UNSUPPORTED(l, SHAPE, "a reduction of groups in more than one dimension");
            grouped = d;
        }
    if (grouped < 0) {
        lower_define(l, y, lower_reduce(l, reduces[mode], x, dims.at));
        return;
    }
    /* Groups are a dimension of their own, for which those before move. */
    int16_t memory = lower_memory(l, x);
    int64_t strides[DNN_DIMS], to[DNN_DIMS], out[DNN_DIMS];
    if (l->status)
        return;
    memcpy(strides, l->tensors.at[memory].strides, sizeof(strides));
    int64_t group = of.at[grouped] / dims.at[grouped];
    memmove(of.at, of.at + 1, (size_t)grouped * sizeof(of.at[0]));
    memmove(strides, strides + 1, (size_t)grouped * sizeof(strides[0]));
    of.at[grouped - 1] = dims.at[grouped];
    strides[grouped] = l->tensors.at[memory].strides[grouped];
    strides[grouped - 1] = strides[grouped] * group;
    of.at[grouped] = group;
    memcpy(to, of.at, sizeof(to));
    to[grouped] = 1;
    graph_v sums = lower_reduce(l, reduces[mode], lower_view(l, x, of.at, strides, 0), to);
    int64_t n = 1;
    for (int d = DNN_DIMS - 1; d >= 0; d--) {
        out[d] = n;
        n *= dims.at[d];
    }
    lower_define(l, y, lower_view(l, sums, dims.at, out, 0));
}

/* ---- products of matrices */

/* The real or imaginary part of a matrix of complex numbers in memory. */
static graph_v part_of(struct lower *l, graph_v v, int part)
{
    struct dims dims = dims_of(l, v);
    int64_t strides[DNN_DIMS];
    int16_t memory = lower_memory(l, v);

    if (l->status)
        return v;
    for (int d = 0; d < DNN_DIMS; d++)
        strides[d] = 2 * l->tensors.at[memory].strides[d];
    graph_v view = lower_view(l, v, dims.at, strides, part);
    l->tensors.at[lower_node(l, view)->memory].type = DNN_F32;
    return view;
}

static void matmul_complex(struct lower *l, graph_v a, graph_v b, graph_v c)
{
    struct dims dims = dims_of(l, c);
    int64_t strides[DNN_DIMS];
    graph_v parts[2][2];

    for (int i = 0; i < 2; i++) {
        parts[0][i] = part_of(l, a, i);
        parts[1][i] = part_of(l, b, i);
    }
    if (!lower_node(l, c)->is_real) {
        UNSUPPORTED(l, GRAPH_PATTERN, "what follows a product of complex matrices");
        return;
    }
    (void)lower_target(l, c);
    for (int i = 0; i < 2; i++) {
        graph_v x = lower_matmul(l, parts[0][0], parts[1][i], dims.at, NULL, 0);
        graph_v y = lower_matmul(l, parts[0][1], parts[1][!i], dims.at, NULL, 0);
        graph_v sum = lower_binary(l, i ? DNN_ADD : DNN_SUB, x, y);
        int16_t memory = lower_node(l, c)->memory;
        if (l->status)
            return;
        for (int d = 0; d < DNN_DIMS; d++)
            strides[d] = 2 * l->tensors.at[memory].strides[d];
        graph_v view = lower_view(l, c, dims.at, strides, i);
        int16_t to = lower_node(l, view)->memory;
        l->tensors.at[to].type = DNN_F32;
        lower_store(l, sum, to);
    }
}

static void matmul(struct lower *l, const struct graph_body *op)
{
    graph_v a = IN(MATMUL_ADESC), b = IN(MATMUL_BDESC), c = OUT(MATMUL_CDESC);
    const graph_v limits[3] = {IN(MATMUL_GEMM_M_OVERRIDE_DESC), IN(MATMUL_GEMM_N_OVERRIDE_DESC),
                               IN(MATMUL_GEMM_K_OVERRIDE_DESC)};
    double padding = graph_real(AT(op, OPERATION_MATMUL_DESC), CUDNN_ATTR_MATMUL_PADDING_VALUE, 0);

    if (l->status)
        return;
    if (lower_type(l, lower_node(l, a)->tensor) == DNN_C32) {
        matmul_complex(l, a, b, c);
        return;
    }
    struct dims dims = dims_of(l, c);
    lower_define(l, c, lower_matmul(l, a, b, dims.at, limits, padding));
}

/* ---- convolutions */

static void convolution(struct lower *l, const struct graph_body *desc, enum klib_conv_kind kind,
                        graph_v x, graph_v w, graph_v y, double alpha, double beta)
{
    struct dnn_step s = step_of(DNN_STEP_CONV, lower_node(l, y)->dims);
    int64_t spatial = WHOLE(desc, CONVOLUTION_SPATIAL_DIMS);
    const int64_t *pre = graph_find(desc, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)->values;
    const int64_t *stride = graph_find(desc, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)->values;
    const int64_t *dilation = graph_find(desc, CUDNN_ATTR_CONVOLUTION_DILATIONS)->values;
    const graph_v made[] = {y, x, w};
    graph_v to = made[kind];

    if (l->status)
        return;
    if (beta != 0 && !lower_node(l, to)->is_real) {
        UNSUPPORTED(l, GRAPH_PATTERN, "a convolution that is added to a virtual tensor");
        return;
    }
    s.mode = (uint8_t)kind;
    s.flags = WHOLE(desc, CONVOLUTION_CONV_MODE) == CUDNN_CONVOLUTION;
    s.numbers[3] = spatial;
    for (int64_t d = 0; d < spatial; d++) {
        s.numbers[4 + d] = pre[d];
        s.numbers[7 + d] = stride[d];
        s.numbers[10 + d] = dilation[d];
    }
    s.numbers[13] =
        lower_node(l, x)->dims[DIM(spatial + 2, 1)] / lower_node(l, w)->dims[DIM(spatial + 2, 1)];
    s.reals[0] = alpha;
    s.reals[1] = beta;
    const graph_v all[] = {x, w, y};
    for (int i = 0; i < 3; i++)
        if (all[i] != to)
            s.tensors[i] = lower_memory(l, all[i]);
    if (l->engine == GRAPH_ENGINE_FUSED && lower_node(l, to)->is_real &&
        lower_node(l, to)->to_read > 0) {
        /* What reads the result gets it as it is, not rounded to the caller's type. */
        struct graph_node ours = {.uid = NONE, .same = NONE};
        memcpy(ours.dims, lower_node(l, to)->dims, sizeof(ours.dims));
        memcpy(ours.strides, lower_node(l, to)->strides, sizeof(ours.strides));
        ours.to_read = lower_node(l, to)->to_read;
        if (beta == 0 && hd_vec_push(&l->nodes, ours)) {
            graph_v v = (graph_v)l->nodes.len - 1;
            for (int i = 0; i < 3; i++)
                if (all[i] == to)
                    s.tensors[i] = lower_target(l, v);
            lower_append(l, &s);
            lower_define(l, to, v);
            return;
        }
    }
    for (int i = 0; i < 3; i++)
        if (all[i] == to)
            s.tensors[i] = lower_target(l, to);
    lower_append(l, &s);
}

/* ---- windows */

static double fraction(const cudnnFraction_t *f)
{
    return (double)f->numerator / (double)f->denominator;
}

static bool window_of(struct lower *l, const struct graph_body *desc, struct dnn_step *s)
{
    static const uint8_t resamples[] = {[CUDNN_RESAMPLE_NEAREST] = DNN_RESAMPLE_NEAREST,
                                        [CUDNN_RESAMPLE_BILINEAR] = DNN_RESAMPLE_BILINEAR,
                                        [CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING] = DNN_RESAMPLE_AVG,
                                        [CUDNN_RESAMPLE_MAXPOOL] = DNN_RESAMPLE_MAX,
                                        [CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING] =
                                            DNN_RESAMPLE_AVG_INSIDE};
    int64_t mode = WHOLE(desc, RESAMPLE_MODE);
    int64_t spatial = WHOLE(desc, RESAMPLE_SPATIAL_DIMS);
    const cudnnFraction_t *size = graph_find(desc, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS)->values;
    const cudnnFraction_t *stride = graph_find(desc, CUDNN_ATTR_RESAMPLE_STRIDES)->values;
    const cudnnFraction_t *pre = graph_find(desc, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS)->values;

    if (mode < 0 || mode >= (int64_t)HD_COUNT_OF(resamples)) {
        lower_fail(l, CUDNN_STATUS_NOT_SUPPORTED, "there is no resampling %lld", (long long)mode);
        return false;
    }
    s->mode = resamples[mode];
    s->numbers[2] = WHOLE(desc, RESAMPLE_PADDING_MODE);
    s->numbers[3] = spatial;
    for (int64_t d = 0; d < spatial; d++) {
        s->window[d] =
            (struct dnn_window){fraction(&size[d]), fraction(&pre[d]), fraction(&stride[d])};
        bool whole = size[d].numerator % size[d].denominator == 0 &&
                     stride[d].numerator % stride[d].denominator == 0 &&
                     pre[d].numerator % pre[d].denominator == 0;
        if (!whole && s->mode > DNN_RESAMPLE_BILINEAR) {
            UNSUPPORTED(l, SHAPE, "pooling with windows, strides or paddings that are fractions");
            return false;
        }
    }
    return !l->status;
}

static void resample(struct lower *l, const struct graph_body *op)
{
    graph_v x = IN(RESAMPLE_FWD_XDESC), y = OUT(RESAMPLE_FWD_YDESC);
    graph_v index = OUT(RESAMPLE_FWD_IDXDESC);
    struct dnn_step s = step_of(DNN_STEP_RESAMPLE, lower_node(l, y)->dims);

    if (l->status || !window_of(l, AT(op, OPERATION_RESAMPLE_FWD_DESC), &s))
        return;
    if (graph_real(op, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_ALPHA, 1) != 1 ||
        graph_real(op, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_BETA, 0) != 0)
        UNSUPPORTED(l, GRAPH_PATTERN, "resampling with alpha other than 1 or beta other than 0");
    memcpy(s.operand_dims[0], lower_node(l, x)->dims, sizeof(s.operand_dims[0]));
    s.tensors[0] = lower_memory(l, x);
    if (index != NONE)
        s.tensors[1] = lower_target(l, index);
    lower_define(l, y, lower_step(l, &s));
}

static void resample_bwd(struct lower *l, const struct graph_body *op)
{
    graph_v dy = IN(RESAMPLE_BWD_DYDESC), dx = OUT(RESAMPLE_BWD_DXDESC);
    graph_v index = IN(RESAMPLE_BWD_IDXDESC), x = IN(RESAMPLE_BWD_XDESC);
    struct dnn_step s = step_of(DNN_STEP_RESAMPLE_BWD, lower_node(l, dx)->dims);

    (void)IN(RESAMPLE_BWD_YDESC);
    if (l->status || !window_of(l, AT(op, OPERATION_RESAMPLE_BWD_DESC), &s))
        return;
    if (s.mode <= DNN_RESAMPLE_BILINEAR ||
        (s.mode == DNN_RESAMPLE_MAX && index == NONE && x == NONE) ||
        graph_real(op, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_ALPHA, 1) != 1 ||
        graph_real(op, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_BETA, 0) != 0) {
        UNSUPPORTED(l, GRAPH_PATTERN,
                    "the gradient of interpolation, of maxima without indices or "
                    "inputs, or with alpha other than 1 or beta other than 0");
        return;
    }
    memcpy(s.operand_dims[0], s.dims, sizeof(s.dims));
    memcpy(s.operand_dims[1], lower_node(l, dy)->dims, sizeof(s.operand_dims[1]));
    s.tensors[0] = lower_memory(l, dy);
    s.tensors[1] = index == NONE ? -1 : lower_memory(l, index);
    s.tensors[2] = x == NONE ? -1 : lower_memory(l, x);
    lower_define(l, dx, lower_step(l, &s));
}

/* ---- views */

static void reshape(struct lower *l, const struct graph_body *op)
{
    graph_v x = IN(RESHAPE_XDESC), y = OUT(RESHAPE_YDESC);
    bool logical = WHOLE(op, OPERATION_RESHAPE_MODE) == CUDNN_RESHAPE_LOGICAL;

    if (l->status)
        return;
    struct dims to = dims_of(l, y), from = dims_of(l, x);
    int64_t strides[DNN_DIMS], n = 1, count[2] = {1, 1};
    for (int d = 0; d < DNN_DIMS; d++) {
        count[0] *= to.at[d];
        count[1] *= from.at[d];
    }
    if (count[0] != count[1]) {
        lower_fail(l, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                   "%lld elements cannot be reshaped to %lld", (long long)count[1],
                   (long long)count[0]);
        return;
    }
    memcpy(strides, lower_node(l, y)->strides, sizeof(strides));
    if (logical) {
        /* Elements in the order of their indices: a copy that lies so, seen in another way. */
        int16_t memory = lower_memory(l, x);
        bool lies = true;
        if (l->status)
            return;
        for (int d = DNN_DIMS - 1; d >= 0; d--) {
            lies = lies && (from.at[d] == 1 || l->tensors.at[memory].strides[d] == n);
            n *= from.at[d];
        }
        if (!lies) {
            x = lower_unary(l, DNN_IDENTITY, x);
            (void)lower_memory(l, x);
        }
        n = 1;
        for (int d = DNN_DIMS - 1; d >= 0; d--) {
            strides[d] = n;
            n *= to.at[d];
        }
    }
    lower_define(l, y, lower_view(l, x, to.at, strides, 0));
}

static void transpose(struct lower *l, const struct graph_body *op)
{
    graph_v x = IN(TRANSPOSE_XDESC), y = OUT(TRANSPOSE_YDESC);
    const struct graph_value *perm = graph_find(op, CUDNN_ATTR_OPERATION_TRANSPOSE_PERMUTATION);
    const int64_t *from = perm->values;
    int rank = lower_rank(l, x);
    int16_t memory = lower_memory(l, x);
    int64_t strides[DNN_DIMS] = {0};

    if (l->status)
        return;
    struct dims dims = dims_of(l, y), of = dims_of(l, x);
    for (int d = 0; d < rank && d < perm->count; d++) {
        if (from[d] < 0 || from[d] >= rank ||
            dims.at[DIM(rank, d)] != of.at[DIM(rank, (int)from[d])]) {
            lower_fail(l, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                       "dimension %d of a transposed tensor is not the operand's %lld", d,
                       (long long)from[d]);
            return;
        }
        strides[DIM(rank, d)] = l->tensors.at[memory].strides[DIM(rank, (int)from[d])];
    }
    lower_define(l, y, lower_view(l, x, dims.at, strides, 0));
}

static void slice(struct lower *l, const struct graph_body *op)
{
    graph_v x = IN(SLICE_XDESC), y = OUT(SLICE_YDESC);
    const struct graph_value *begin = graph_find(op, CUDNN_ATTR_OPERATION_SLICE_START_INDICES);
    const struct graph_value *step = graph_find(op, CUDNN_ATTR_OPERATION_SLICE_STRIDES);
    int rank = lower_rank(l, x);
    int16_t memory = lower_memory(l, x);
    int64_t strides[DNN_DIMS] = {0}, offset = 0;

    if (l->status)
        return;
    struct dims dims = dims_of(l, y), of = dims_of(l, x);
    if (begin->count < rank) {
        lower_fail(l, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                   "a slice of %d dimensions has %lld starts", rank, (long long)begin->count);
        return;
    }
    for (int d = 0; d < rank; d++) {
        int64_t first = ((const int64_t *)begin->values)[d];
        int64_t by = step && d < step->count ? ((const int64_t *)step->values)[d] : 1;
        int at = DIM(rank, d);
        if (first < 0 || by < 1 || first + (dims.at[at] - 1) * by >= of.at[at]) {
            lower_fail(l, CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND,
                       "dimension %d of a slice ends behind the operand's", d);
            return;
        }
        strides[at] = l->tensors.at[memory].strides[at] * by;
        offset += l->tensors.at[memory].strides[at] * first;
    }
    lower_define(l, y, lower_view(l, x, dims.at, strides, offset));
}

static void concat(struct lower *l, const struct graph_body *op)
{
    const struct graph_value *inputs = graph_find(op, CUDNN_ATTR_OPERATION_CONCAT_INPUT_DESCS);
    struct graph_body *const *body = inputs->values;
    graph_v y = OUT(CONCAT_OUTPUT_DESC);
    int64_t axis = WHOLE(op, OPERATION_CONCAT_AXIS), at = 0;
    int rank = lower_rank(l, y);

    if (axis < 0 || axis >= rank) {
        lower_fail(l, CUDNN_STATUS_BAD_PARAM,
                   "CUDNN_ATTR_OPERATION_CONCAT_AXIS is %lld of %d dimensions", (long long)axis,
                   rank);
        return;
    }
    int16_t memory = lower_target(l, y);
    for (int64_t i = 0; i < inputs->count && !l->status; i++) {
        graph_v x = lower_value(l, body[i]);
        if (lower_node(l, x)->state == VALUE_UNKNOWN)
            (void)lower_memory(l, x);
        int64_t strides[DNN_DIMS];
        struct dims dims = dims_of(l, x);
        if (l->status)
            return;
        memcpy(strides, l->tensors.at[memory].strides, sizeof(strides));
        int d = DIM(rank, (int)axis);
        if (at + dims.at[d] > lower_node(l, y)->dims[d]) {
            lower_fail(l, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                       "what is concatenated is longer than the result");
            return;
        }
        graph_v view = lower_view(l, y, dims.at, strides, at * strides[d]);
        at += dims.at[d];
        lower_store(l, lower_unary(l, DNN_IDENTITY, x), lower_node(l, view)->memory);
    }
}

/* ---- random numbers */

static graph_v whole_number(struct lower *l, int64_t number)
{
    struct dnn_graph_tensor t = {
        .where = DNN_CONSTANT, .type = DNN_I64, .ragged = -1, .offset = number};
    struct graph_node node = {.uid = NONE, .state = VALUE_MEMORY, .same = NONE};

    for (int d = 0; d < DNN_DIMS; d++)
        t.dims[d] = node.dims[d] = 1;
    if (!hd_vec_push(&l->tensors, t) || !hd_vec_push(&l->storage_of, -1)) {
        lower_fail(l, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory");
        return 0;
    }
    node.memory = (int16_t)(l->tensors.len - 1);
    if (!hd_vec_push(&l->nodes, node)) {
        lower_fail(l, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory");
        return 0;
    }
    return (graph_v)l->nodes.len - 1;
}

graph_v lower_random(struct lower *l, const int64_t *dims, int distribution, double p0, double p1,
                     graph_v seed, graph_v offset)
{
    struct dnn_graph_tensor order = {.where = DNN_WORKSPACE, .ragged = -1};
    int64_t n = 1;

    if (seed == NONE)
        seed = whole_number(l, 0);
    if (offset == NONE)
        offset = whole_number(l, 0);
    double p[4] = {p0, p1, lower_memory(l, seed), lower_memory(l, offset)};
    for (int d = DNN_DIMS - 1; d >= 0; d--) {
        order.dims[d] = dims[d];
        order.strides[d] = n;
        n *= dims[d];
    }
    if (!hd_vec_push(&l->tensors, order) || !hd_vec_push(&l->storage_of, -1))
        lower_fail(l, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory");
    graph_v v = lower_code(l, DNN_RANDOM, dims, NONE, NONE, NONE, p);
    lower_node(l, v)->code.tensor = (int16_t)(l->tensors.len - 1);
    lower_node(l, v)->code.a = (uint8_t)distribution;
    return v;
}

static void rng(struct lower *l, const struct graph_body *op)
{
    const struct graph_body *desc = AT(op, OPERATION_RNG_DESC);
    const struct graph_value *given = graph_find(op, CUDNN_ATTR_OPERATION_RNG_SEED);
    int64_t distribution = WHOLE(desc, RNG_DISTRIBUTION);
    graph_v y = OUT(RNG_YDESC), seed = NONE, offset = IN(RNG_OFFSET_DESC);
    double p[2] = {0, 0};

    if (given && given->type == CUDNN_TYPE_INT64)
        seed = whole_number(l, *(const int64_t *)given->values);
    else
        seed = IN(RNG_SEED);
    switch (distribution) {
    case CUDNN_RNG_DISTRIBUTION_BERNOULLI:
        p[1] = graph_real(desc, CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, 0.5);
        break;
    case CUDNN_RNG_DISTRIBUTION_UNIFORM:
        p[0] = graph_real(desc, CUDNN_ATTR_RNG_UNIFORM_DIST_MINIMUM, 0);
        p[1] = graph_real(desc, CUDNN_ATTR_RNG_UNIFORM_DIST_MAXIMUM, 1);
        break;
    case CUDNN_RNG_DISTRIBUTION_NORMAL:
        p[0] = graph_real(desc, CUDNN_ATTR_RNG_NORMAL_DIST_MEAN, 0);
        p[1] = graph_real(desc, CUDNN_ATTR_RNG_NORMAL_DIST_STANDARD_DEVIATION, 1);
        break;
    default:
        lower_fail(l, CUDNN_STATUS_NOT_SUPPORTED, "there is no distribution %lld",
                   (long long)distribution);
        return;
    }
    struct dims dims = dims_of(l, y);
    lower_define(l, y, lower_random(l, dims.at, (int)distribution, p[0], p[1], seed, offset));
}

/* ---- blocks with scales */

static void dequantize(struct lower *l, const struct graph_body *op)
{
    graph_v x = IN(BLOCK_SCALE_DEQUANTIZE_XDESC), y = OUT(BLOCK_SCALE_DEQUANTIZE_YDESC);
    graph_v scale = IN(BLOCK_SCALE_DEQUANTIZE_SCALE_DESC);
    const struct graph_value *block =
        graph_find(op, CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_BLOCK_SIZE);
    const int32_t *size = block->values;

    if (l->status)
        return;
    struct dims dims = dims_of(l, y), of = dims_of(l, scale);
    int16_t memory = lower_memory(l, scale);
    if (l->status)
        return;
    struct dnn_graph_tensor t = l->tensors.at[memory];
    for (int d = 0; d < DNN_DIMS; d++)
        t.block[d] = 1;
    /* Sizes are of the last dimensions; one size is of the one that has fewer scales. */
    int rank = lower_rank(l, x);
    for (int d = 0; d < DNN_DIMS; d++) {
        int i = d - (DNN_DIMS - rank) - (rank - (int)block->count);
        bool mine = block->count > 1
                        ? i >= 0
                        : (of.at[d] - 1) * size[0] < dims.at[d] &&
                              of.at[d] * size[0] >= dims.at[d] && of.at[d] < dims.at[d];
        if (mine)
            t.block[d] = (uint32_t)HD_MAX(size[block->count > 1 ? i : 0], 1);
        if (of.at[d] != 1 && (of.at[d] - 1) * t.block[d] >= dims.at[d] && !t.in_tiles)
            lower_fail(l, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                       "%lld scales for blocks of %u of %lld elements", (long long)of.at[d],
                       t.block[d], (long long)dims.at[d]);
    }
    struct graph_node node = *lower_node(l, lower_resolve(l, scale));
    memcpy(node.dims, dims.at, sizeof(node.dims));
    node.tensor = NULL;
    node.uid = NONE;
    if (!hd_vec_push(&l->tensors, t) || !hd_vec_push(&l->storage_of, l->storage_of.at[memory]) ||
        !hd_vec_push(&l->nodes, node)) {
        lower_fail(l, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory");
        return;
    }
    graph_v scales = (graph_v)l->nodes.len - 1;
    lower_node(l, scales)->memory = (int16_t)(l->tensors.len - 1);
    lower_node(l, scales)->state = VALUE_MEMORY;
    graph_v product = lower_binary(l, DNN_MUL, x, scales);
    if (WHOLE(op, OPERATION_BLOCK_SCALE_DEQUANTIZE_NEG_SCALE))
        product = lower_unary(l, DNN_NEG, product);
    lower_define(l, y, product);
}

static void quantize(struct lower *l, const struct graph_body *op)
{
    graph_v x = IN(BLOCK_SCALE_QUANTIZE_XDESC), y = OUT(BLOCK_SCALE_QUANTIZE_YDESC);
    graph_v scale = OUT(BLOCK_SCALE_QUANTIZE_SCALE_DESC);
    int64_t block = WHOLE(op, OPERATION_BLOCK_SCALE_QUANTIZE_BLOCK_SIZE);
    int axis = -1;

    if (l->status)
        return;
    struct dims dims = dims_of(l, x), of = dims_of(l, scale);
    if (!lower_node(l, y)->is_real || !lower_node(l, scale)->is_real || block < 1 ||
        block > DNN_BLOCK) {
        UNSUPPORTED(l, GRAPH_PATTERN,
                    "quantised blocks that are virtual, or of more than %d elements", DNN_BLOCK);
        return;
    }
    /* Scales in tiles may be padded: the axis is the one with fewer of them. */
    for (int d = 0; d < DNN_DIMS; d++)
        if (of.at[d] < dims.at[d])
            axis = d;
    if (axis < 0) {
        UNSUPPORTED(l, SHAPE, "quantised blocks of one element");
        return;
    }
    struct dnn_step s = step_of(DNN_STEP_QUANTIZE, dims.at);
    s.dims[axis] = (dims.at[axis] + block - 1) / block;
    s.numbers[1] = axis;
    s.numbers[2] = block;
    lower_operand(l, &s, 0, x);
    s.tensors[0] = lower_target(l, y);
    s.tensors[1] = lower_target(l, scale);
    lower_append(l, &s);
}

/* ---- experts */

static bool whole_type(enum dnn_type type)
{
    return type == DNN_I32 || type == DNN_I64;
}

static void grouped(struct lower *l, const struct graph_body *op, bool is_bwd)
{
    graph_v token =
        is_bwd ? IN(MOE_GROUPED_MATMUL_BWD_TOKEN_DESC) : IN(MOE_GROUPED_MATMUL_TOKEN_DESC);
    graph_v other =
        is_bwd ? IN(MOE_GROUPED_MATMUL_BWD_DOUTPUT_DESC) : IN(MOE_GROUPED_MATMUL_WEIGHT_DESC);
    graph_v first = is_bwd ? IN(MOE_GROUPED_MATMUL_BWD_FIRST_TOKEN_OFFSET_DESC)
                           : IN(MOE_GROUPED_MATMUL_FIRST_TOKEN_OFFSET_DESC);
    graph_v y =
        is_bwd ? OUT(MOE_GROUPED_MATMUL_BWD_DWEIGHT_DESC) : OUT(MOE_GROUPED_MATMUL_OUTPUT_DESC);
    struct dnn_step s = step_of(DNN_STEP_GROUPED, lower_node(l, y)->dims);

    if (l->status)
        return;
    if (!is_bwd &&
        WHOLE(op, OPERATION_MOE_GROUPED_MATMUL_MODE) != CUDNN_MOE_GROUPED_MATMUL_MODE_NONE) {
        UNSUPPORTED(l, GRAPH_PATTERN, "a grouped product that gathers or scatters its rows");
        return;
    }
    if (!whole_type(lower_type(l, lower_node(l, first)->tensor))) {
        UNSUPPORTED(l, DATA_TYPE, "offsets of groups that are no integers");
        return;
    }
    struct dims rows = dims_of(l, token), dims = dims_of(l, y), of = dims_of(l, other);
    bool fits = is_bwd
                    ? dims.at[6] == rows.at[7] && dims.at[7] == of.at[7] && of.at[6] == rows.at[6]
                    : rows.at[7] == of.at[6] && dims.at[7] == of.at[7] && dims.at[6] == rows.at[6];
    if (!fits || rows.at[5] != 1 || lower_rank(l, y) != 3) {
        lower_fail(l, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                   "the matrices of a grouped product do not fit");
        return;
    }
    s.mode = is_bwd;
    s.numbers[2] = rows.at[7];
    s.numbers[3] = rows.at[6];
    s.numbers[4] = lower_node(l, first)->dims[5];
    s.tensors[0] = lower_memory(l, first);
    if (is_bwd) {
        /* Rows are what is summed: tokens are turned. */
        int16_t memory = lower_memory(l, token);
        if (l->status)
            return;
        struct dims turned = {{1, 1, 1, 1, 1, 1, rows.at[7], rows.at[6]}};
        int64_t strides[DNN_DIMS] = {
            [6] = l->tensors.at[memory].strides[7], [7] = l->tensors.at[memory].strides[6]};
        token = lower_view(l, token, turned.at, strides, 0);
    }
    lower_operand(l, &s, 0, token);
    lower_operand(l, &s, 1, other);
    lower_order_matmul(l, &s);
    lower_define(l, y, lower_step(l, &s));
}

/* ---- all */

void lower_operation(struct lower *l, const struct graph_body *op)
{
    switch (op->kind) {
    case GRAPH_OPERATION_POINTWISE:
        pointwise(l, op);
        break;
    case GRAPH_OPERATION_REDUCTION:
        reduction(l, op);
        break;
    case GRAPH_OPERATION_MATMUL:
        matmul(l, op);
        break;
    case GRAPH_OPERATION_CONVOLUTION_FORWARD:
        convolution(l, AT(op, OPERATION_CONVOLUTION_FORWARD_CONV_DESC), KLIB_CONV_FORWARD,
                    IN(CONVOLUTION_FORWARD_X), IN(CONVOLUTION_FORWARD_W),
                    OUT(CONVOLUTION_FORWARD_Y),
                    graph_real(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1),
                    graph_real(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0));
        break;
    case GRAPH_OPERATION_CONVOLUTION_BACKWARD_DATA:
        convolution(l, AT(op, OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC), KLIB_CONV_DATA,
                    OUT(CONVOLUTION_BWD_DATA_DX), IN(CONVOLUTION_BWD_DATA_W),
                    IN(CONVOLUTION_BWD_DATA_DY),
                    graph_real(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 1),
                    graph_real(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 0));
        break;
    case GRAPH_OPERATION_CONVOLUTION_BACKWARD_FILTER:
        convolution(l, AT(op, OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC), KLIB_CONV_FILTER,
                    IN(CONVOLUTION_BWD_FILTER_X), OUT(CONVOLUTION_BWD_FILTER_DW),
                    IN(CONVOLUTION_BWD_FILTER_DY),
                    graph_real(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 1),
                    graph_real(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, 0));
        break;
    case GRAPH_OPERATION_RESAMPLE_FWD:
        resample(l, op);
        break;
    case GRAPH_OPERATION_RESAMPLE_BWD:
        resample_bwd(l, op);
        break;
    case GRAPH_OPERATION_RESHAPE:
        reshape(l, op);
        break;
    case GRAPH_OPERATION_TRANSPOSE:
        transpose(l, op);
        break;
    case GRAPH_OPERATION_SLICE:
        slice(l, op);
        break;
    case GRAPH_OPERATION_CONCAT:
        concat(l, op);
        break;
    case GRAPH_OPERATION_RNG:
        rng(l, op);
        break;
    case GRAPH_OPERATION_BLOCK_SCALE_QUANTIZE:
        quantize(l, op);
        break;
    case GRAPH_OPERATION_BLOCK_SCALE_DEQUANTIZE:
        dequantize(l, op);
        break;
    case GRAPH_OPERATION_MOE_GROUPED_MATMUL:
        grouped(l, op, false);
        break;
    case GRAPH_OPERATION_MOE_GROUPED_MATMUL_BWD:
        grouped(l, op, true);
        break;
    case GRAPH_OPERATION_NORM_FORWARD:
        lower_norm_forward(l, op);
        break;
    case GRAPH_OPERATION_NORM_BACKWARD:
        lower_norm_backward(l, op);
        break;
    case GRAPH_OPERATION_BN_FINALIZE_STATISTICS:
        lower_bn_finalize(l, op);
        break;
    case GRAPH_OPERATION_BN_BWD_WEIGHTS:
        lower_bn_weights(l, op);
        break;
    case GRAPH_OPERATION_GEN_STATS:
        lower_genstats(l, op);
        break;
    case GRAPH_OPERATION_SOFTMAX:
        lower_softmax(l, op, IN(SOFTMAX_XDESC), OUT(SOFTMAX_YDESC));
        break;
    case GRAPH_OPERATION_DIAGONAL_BAND_MASK:
        lower_band_mask(l, op);
        break;
    case GRAPH_OPERATION_PAGED_CACHE_LOAD:
        lower_paged(l, op);
        break;
    case GRAPH_OPERATION_SDPA_FWD:
        lower_sdpa(l, op);
        break;
    default:
        UNSUPPORTED(l, GRAPH_PATTERN, "there is no engine for %s", graph_kind_name(op->kind));
    }
}
