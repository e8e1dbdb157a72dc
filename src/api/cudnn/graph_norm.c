/* Norms and their gradients, as sums and elementwise values. */
#include "api/cudnn/graph_lower.h"

#include <string.h>

#define IN(name)  lower_input(l, op, CUDNN_ATTR_OPERATION_##name)
#define OUT(name) lower_output(l, op, CUDNN_ATTR_OPERATION_##name)

#define ADD(a, b) lower_binary(l, DNN_ADD, a, b)
#define SUB(a, b) lower_binary(l, DNN_SUB, a, b)
#define MUL(a, b) lower_binary(l, DNN_MUL, a, b)

/*
 * The dimensions of a norm's statistics: 1 where it sums. What they are is said by tensors that
 * have them, or else by the norm's kind.
 */
static bool statistics(struct lower *l, int64_t mode, graph_v x, graph_v known, graph_v scale,
                       int64_t *dims)
{
    int rank = lower_rank(l, x);

    memcpy(dims, lower_node(l, x)->dims, DNN_DIMS * sizeof(*dims));
    switch (mode) {
    case CUDNN_LAYER_NORM:
    case CUDNN_RMS_NORM:
    case CUDNN_ADA_LAYER_NORM:
        for (int d = DIM(rank, 0); d < DNN_DIMS; d++) {
            bool sums = known != NONE ? lower_node(l, known)->dims[d] == 1
                        : mode == CUDNN_ADA_LAYER_NORM
                            ? d > DIM(rank, 0) && scale != NONE && lower_node(l, scale)->dims[d] > 1
                            : scale != NONE && lower_node(l, scale)->dims[d] > 1;
            if (sums)
                dims[d] = 1;
        }
        return true;
    case CUDNN_INSTANCE_NORM:
    case CUDNN_BATCH_NORM:
        for (int d = 0; d < rank; d++)
            if (d >= 2 || (d == 0 && mode == CUDNN_BATCH_NORM))
                dims[DIM(rank, d)] = 1;
        return true;
    default:
        UNSUPPORTED(l, GRAPH_PATTERN, "there is no engine for norm %lld", (long long)mode);
        return false;
    }
}

/* Elements that one statistic is of. */
static double count_of(struct lower *l, graph_v x, const int64_t *dims)
{
    double n = 1;

    for (int d = 0; d < DNN_DIMS; d++)
        n *= (double)lower_node(l, x)->dims[d] / (double)dims[d];
    return n;
}

/* One peer is this device: its sums are all that there are. */
static bool peers(struct lower *l, const struct graph_body *op, cudnnBackendAttributeName_t name)
{
    const struct graph_value *v = graph_find(op, name);

    if (v && v->count > 1)
        UNSUPPORTED(l, GRAPH_PATTERN, "norms across %lld devices, as there is one: %s",
                    (long long)v->count, graph_attribute_name(name));
    return l->status == CUDNN_STATUS_SUCCESS;
}

void lower_norm_forward(struct lower *l, const struct graph_body *op)
{
    int64_t mode = graph_whole(op, CUDNN_ATTR_OPERATION_NORM_FWD_MODE, 0), dims[DNN_DIMS];
    bool trains =
        graph_whole(op, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, 0) == CUDNN_NORM_FWD_TRAINING;
    graph_v x = IN(NORM_FWD_XDESC), scale = IN(NORM_FWD_SCALE_DESC), bias = IN(NORM_FWD_BIAS_DESC);
    graph_v epsilon = IN(NORM_FWD_EPSILON_DESC), y = OUT(NORM_FWD_YDESC);
    graph_v mean_to = OUT(NORM_FWD_MEAN_DESC), inverse_to = OUT(NORM_FWD_INV_VARIANCE_DESC);
    graph_v factor = IN(NORM_FWD_EXP_AVG_FACTOR_DESC), mean = NONE, inverse, variance = NONE;

    if (l->status || !peers(l, op, CUDNN_ATTR_OPERATION_NORM_FWD_PEER_STAT_DESCS))
        return;
    if (!trains && inverse_to != NONE) {
        mean = IN(NORM_FWD_MEAN_DESC);
        inverse = IN(NORM_FWD_INV_VARIANCE_DESC);
    } else {
        if (epsilon == NONE) {
            lower_fail(l, CUDNN_STATUS_BAD_PARAM,
                       "a norm needs CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC");
            return;
        }
        if (!statistics(l, mode, x, inverse_to, scale, dims))
            return;
        graph_v centred = x;
        if (mode != CUDNN_RMS_NORM) {
            mean = lower_reduce(l, DNN_AVG, x, dims);
            /* In memory: all of what follows reads it. */
            (void)lower_memory(l, mean);
            centred = SUB(x, mean);
        }
        variance = lower_reduce(l, DNN_AVG, MUL(centred, centred), dims);
        if (factor != NONE)
            (void)lower_memory(l, variance);
        inverse = lower_unary(l, DNN_RSQRT, ADD(variance, epsilon));
        (void)lower_memory(l, inverse);
    }
    graph_v result = MUL(mean == NONE ? x : SUB(x, mean), inverse);
    if (scale != NONE)
        result = MUL(result, scale);
    if (bias != NONE)
        result = ADD(result, bias);
    if (trains) {
        if (mean_to != NONE && mean != NONE)
            lower_define(l, mean_to, mean);
        if (inverse_to != NONE)
            lower_define(l, inverse_to, inverse);
    }
    if (trains && factor != NONE && variance != NONE) {
        /* Running statistics are of the unbiased variance. */
        double n = count_of(l, x, dims);
        const double unbias[4] = {n > 1 ? n / (n - 1) : 1};
        graph_v old[2] = {IN(NORM_FWD_INPUT_RUNNING_MEAN_DESC),
                          IN(NORM_FWD_INPUT_RUNNING_VAR_DESC)};
        graph_v to[2] = {OUT(NORM_FWD_OUTPUT_RUNNING_MEAN_DESC),
                         OUT(NORM_FWD_OUTPUT_RUNNING_VAR_DESC)};
        graph_v now[2] = {mean, lower_code(l, DNN_SCALE, dims, variance, NONE, NONE, unbias)};
        for (int i = 0; i < 2; i++)
            if (old[i] != NONE && to[i] != NONE && now[i] != NONE)
                lower_define(
                    l, to[i],
                    ADD(MUL(SUB(lower_number(l, 1), factor), old[i]), MUL(factor, now[i])));
    }
    lower_define(l, y, result);
}

void lower_norm_backward(struct lower *l, const struct graph_body *op)
{
    int64_t mode = graph_whole(op, CUDNN_ATTR_OPERATION_NORM_BWD_MODE, 0), dims[DNN_DIMS];
    graph_v x = IN(NORM_BWD_XDESC), dy = IN(NORM_BWD_DYDESC), scale = IN(NORM_BWD_SCALE_DESC);
    graph_v mean = IN(NORM_BWD_MEAN_DESC), inverse = IN(NORM_BWD_INV_VARIANCE_DESC);
    graph_v epsilon = IN(NORM_BWD_EPSILON_DESC), dx = OUT(NORM_BWD_DXDESC);
    graph_v dscale = OUT(NORM_BWD_DSCALE_DESC), dbias = OUT(NORM_BWD_DBIAS_DESC);

    if (l->status || !peers(l, op, CUDNN_ATTR_OPERATION_NORM_BWD_PEER_STAT_DESCS) ||
        !statistics(l, mode, x, inverse, scale, dims))
        return;
    if (inverse == NONE) {
        if (mode != CUDNN_RMS_NORM && mean == NONE)
            mean = lower_reduce(l, DNN_AVG, x, dims);
        graph_v centred = mode == CUDNN_RMS_NORM ? x : SUB(x, mean);
        graph_v variance = lower_reduce(l, DNN_AVG, MUL(centred, centred), dims);
        inverse = lower_unary(l, DNN_RSQRT, epsilon == NONE ? variance : ADD(variance, epsilon));
        (void)lower_memory(l, inverse);
    }
    graph_v normal = MUL(mode == CUDNN_RMS_NORM ? x : SUB(x, mean), inverse);
    graph_v scaled = scale == NONE ? dy : MUL(dy, scale);
    graph_v along = lower_reduce(l, DNN_AVG, MUL(scaled, normal), dims);
    (void)lower_memory(l, along);
    graph_v rest = SUB(scaled, MUL(normal, along));
    if (mode != CUDNN_RMS_NORM) {
        graph_v level = lower_reduce(l, DNN_AVG, scaled, dims);
        (void)lower_memory(l, level);
        rest = SUB(rest, level);
    }
    if (dscale != NONE) {
        int64_t to[DNN_DIMS];
        memcpy(to, lower_node(l, dscale)->dims, sizeof(to));
        lower_define(l, dscale, lower_reduce(l, DNN_SUM, MUL(dy, normal), to));
    }
    if (dbias != NONE) {
        int64_t to[DNN_DIMS];
        memcpy(to, lower_node(l, dbias)->dims, sizeof(to));
        lower_define(l, dbias, lower_reduce(l, DNN_SUM, dy, to));
    }
    lower_define(l, dx, MUL(rest, inverse));
}

void lower_genstats(struct lower *l, const struct graph_body *op)
{
    graph_v x = IN(GENSTATS_XDESC), sum = OUT(GENSTATS_SUMDESC), squares = OUT(GENSTATS_SQSUMDESC);
    int64_t dims[DNN_DIMS];

    if (l->status)
        return;
    memcpy(dims, lower_node(l, sum)->dims, sizeof(dims));
    lower_define(l, sum, lower_reduce(l, DNN_SUM, x, dims));
    lower_define(l, squares, lower_reduce(l, DNN_SUM, MUL(x, x), dims));
}

/* What a batch norm needs of its sums: statistics, and the norm as a factor and a summand. */
void lower_bn_finalize(struct lower *l, const struct graph_body *op)
{
    bool trains = graph_whole(op, CUDNN_ATTR_OPERATION_BN_FINALIZE_STATS_MODE, 0) ==
                  CUDNN_BN_FINALIZE_STATISTICS_TRAINING;
    graph_v sum = IN(BN_FINALIZE_Y_SUM_DESC), squares = IN(BN_FINALIZE_Y_SQ_SUM_DESC);
    graph_v scale = IN(BN_FINALIZE_SCALE_DESC), bias = IN(BN_FINALIZE_BIAS_DESC);
    graph_v epsilon = IN(BN_FINALIZE_EPSILON_DESC), count = IN(BN_FINALIZE_ACCUM_COUNT_DESC);
    graph_v factor = IN(BN_FINALIZE_EXP_AVERATE_FACTOR_DESC);
    graph_v old[2] = {IN(BN_FINALIZE_PREV_RUNNING_MEAN_DESC),
                      IN(BN_FINALIZE_PREV_RUNNING_VAR_DESC)};
    graph_v to[2] = {OUT(BN_FINALIZE_UPDATED_RUNNING_MEAN_DESC),
                     OUT(BN_FINALIZE_UPDATED_RUNNING_VAR_DESC)};
    graph_v mean, variance;

    if (l->status)
        return;
    if (trains && (sum == NONE || squares == NONE || count == NONE)) {
        lower_fail(l, CUDNN_STATUS_BAD_PARAM,
                   "statistics of a batch need its sums and their count");
        return;
    }
    if (!trains && (old[0] == NONE || old[1] == NONE)) {
        lower_fail(l, CUDNN_STATUS_BAD_PARAM, "statistics of inference need the running ones");
        return;
    }
    mean = trains ? lower_binary(l, DNN_DIV, sum, count) : old[0];
    variance = trains ? SUB(lower_binary(l, DNN_DIV, squares, count), MUL(mean, mean)) : old[1];
    if (trains)
        variance = lower_binary(l, DNN_MAX, variance, lower_number(l, 0));
    graph_v inverse = lower_unary(l, DNN_RSQRT, ADD(variance, epsilon));
    graph_v times = MUL(scale, inverse);
    if (trains && factor != NONE) {
        graph_v less = SUB(count, lower_number(l, 1));
        graph_v unbias =
            lower_binary(l, DNN_DIV, count, lower_binary(l, DNN_MAX, less, lower_number(l, 1)));
        graph_v now[2] = {mean, MUL(variance, unbias)};
        for (int i = 0; i < 2; i++)
            if (old[i] != NONE && to[i] != NONE)
                lower_define(
                    l, to[i],
                    ADD(MUL(SUB(lower_number(l, 1), factor), old[i]), MUL(factor, now[i])));
    }
    lower_define(l, OUT(BN_FINALIZE_SAVED_MEAN_DESC), mean);
    lower_define(l, OUT(BN_FINALIZE_SAVED_INV_STD_DESC), inverse);
    lower_define(l, OUT(BN_FINALIZE_EQ_SCALE_DESC), times);
    lower_define(l, OUT(BN_FINALIZE_EQ_BIAS_DESC), SUB(bias, MUL(mean, times)));
}

/*
 * Gradients of a batch norm's factor and summand; and of its operand as
 * dx = eq_dy dy + eq_x x + eq_b.
 */
void lower_bn_weights(struct lower *l, const struct graph_body *op)
{
    graph_v x = IN(BN_BWD_WEIGHTS_X_DESC), dy = IN(BN_BWD_WEIGHTS_DY_DESC);
    graph_v mean = IN(BN_BWD_WEIGHTS_MEAN_DESC), inverse = IN(BN_BWD_WEIGHTS_INVSTD_DESC);
    graph_v scale = IN(BN_BWD_WEIGHTS_BN_SCALE_DESC);
    int64_t dims[DNN_DIMS];

    if (l->status)
        return;
    memcpy(dims, lower_node(l, mean)->dims, sizeof(dims));
    double n = count_of(l, x, dims);
    graph_v dscale = lower_reduce(l, DNN_SUM, MUL(dy, MUL(SUB(x, mean), inverse)), dims);
    graph_v dbias = lower_reduce(l, DNN_SUM, dy, dims);
    (void)lower_memory(l, dscale);
    (void)lower_memory(l, dbias);
    lower_define(l, OUT(BN_BWD_WEIGHTS_DBN_SCALE_DESC), dscale);
    lower_define(l, OUT(BN_BWD_WEIGHTS_DBN_BIAS_DESC), dbias);
    graph_v by = scale == NONE ? inverse : MUL(scale, inverse);
    const double part[4] = {-1 / n};
    graph_v eq_x = lower_code(l, DNN_SCALE, dims, MUL(MUL(by, inverse), dscale), NONE, NONE, part);
    graph_v level = lower_code(l, DNN_SCALE, dims, MUL(by, dbias), NONE, NONE, part);
    lower_define(l, OUT(BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC), by);
    lower_define(l, OUT(BN_BWD_WEIGHTS_EQ_X_SCALE_DESC), eq_x);
    lower_define(l, OUT(BN_BWD_WEIGHTS_EQ_BIAS), SUB(level, MUL(eq_x, mean)));
}
