/* Attention: softmax, masks, caches in pages, and all of them as one operation. */
#include "api/cudnn/graph_lower.h"

#include <math.h>
#include <string.h>

#define IN(name)  lower_input(l, op, CUDNN_ATTR_OPERATION_##name)
#define OUT(name) lower_output(l, op, CUDNN_ATTR_OPERATION_##name)

#define ADD(a, b) lower_binary(l, DNN_ADD, a, b)
#define SUB(a, b) lower_binary(l, DNN_SUB, a, b)
#define MUL(a, b) lower_binary(l, DNN_MUL, a, b)

/*
 * Along the last dimension. A row that is masked whole has a sum of 0 and becomes 0. `op`: NULL, or
 * has what else is asked for. The value, before it is stored.
 */
graph_v lower_softmax_apart(struct lower *l, const struct graph_body *op, graph_v x)
{
    graph_v sink = op ? IN(SOFTMAX_SINK_DESC) : NONE;
    graph_v stats = op ? OUT(SOFTMAX_STATS_DESC) : NONE, max = op ? OUT(SOFTMAX_MAX_DESC) : NONE;
    graph_v sums = op ? OUT(SOFTMAX_SUM_EXP_DESC) : NONE;
    int64_t dims[DNN_DIMS];

    if (l->status)
        return x;
    memcpy(dims, lower_node(l, x)->dims, sizeof(dims));
    dims[DNN_DIMS - 1] = 1;
    (void)lower_memory(l, x);
    graph_v most = lower_reduce(l, DNN_MOST, x, dims);
    if (sink != NONE)
        most = lower_binary(l, DNN_MAX, most, sink);
    /* Minus infinity less itself is no number. */
    graph_v is_masked = lower_binary(l, DNN_CMP_EQ, most, lower_number(l, -INFINITY));
    graph_v level = lower_select(l, is_masked, lower_number(l, 0), most);
    (void)lower_memory(l, level);
    graph_v power = lower_unary(l, DNN_EXP, SUB(x, level));
    graph_v sum = lower_reduce(l, DNN_SUM, power, dims);
    if (sink != NONE)
        sum = ADD(sum, lower_unary(l, DNN_EXP, SUB(sink, level)));
    (void)lower_memory(l, sum);
    if (stats != NONE)
        lower_define(l, stats, ADD(level, lower_unary(l, DNN_LOG, sum)));
    if (max != NONE)
        lower_define(l, max, level);
    if (sums != NONE)
        lower_define(l, sums, sum);
    graph_v is_none = lower_binary(l, DNN_CMP_EQ, sum, lower_number(l, 0));
    graph_v by = lower_select(l, is_none, lower_number(l, 0), lower_unary(l, DNN_RECIPROCAL, sum));
    (void)lower_memory(l, by);
    return MUL(power, by);
}

void lower_softmax(struct lower *l, const struct graph_body *op, graph_v x, graph_v y)
{
    lower_define(l, y, lower_lazy(l, op, x));
}

/* Where the row, moved by lengths and a bound, compares with the column; else what B is. */
void lower_band_mask(struct lower *l, const struct graph_body *op)
{
    static const struct {
        int mode;
        enum dnn_code_op op;
    } compares[] = {{CUDNN_POINTWISE_CMP_EQ, DNN_CMP_EQ}, {CUDNN_POINTWISE_CMP_NEQ, DNN_CMP_NEQ},
                    {CUDNN_POINTWISE_CMP_GT, DNN_CMP_GT}, {CUDNN_POINTWISE_CMP_GE, DNN_CMP_GE},
                    {CUDNN_POINTWISE_CMP_LT, DNN_CMP_LT}, {CUDNN_POINTWISE_CMP_LE, DNN_CMP_LE}};
    int64_t mode = graph_whole(op, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_COMPARISON_MODE,
                               CUDNN_POINTWISE_CMP_GE);
    graph_v x = IN(DIAGONAL_BAND_MASK_XDESC), otherwise = IN(DIAGONAL_BAND_MASK_BDESC);
    graph_v q = IN(DIAGONAL_BAND_MASK_SEQ_LEN_QDESC), kv = IN(DIAGONAL_BAND_MASK_SEQ_LEN_KVDESC);
    graph_v left = IN(DIAGONAL_BAND_MASK_LEFT_BOUND_DESC);
    graph_v shift = IN(DIAGONAL_BAND_MASK_SHIFT_RIGHT_BOUND_DESC);
    graph_v y = OUT(DIAGONAL_BAND_MASK_YDESC);
    int64_t dims[DNN_DIMS];
    size_t i = 0;

    if (l->status)
        return;
    while (i < HD_COUNT_OF(compares) && compares[i].mode != mode)
        i++;
    if (i == HD_COUNT_OF(compares)) {
        lower_fail(l, CUDNN_STATUS_BAD_PARAM, "a band mask compares by pointwise mode %lld",
                   (long long)mode);
        return;
    }
    memcpy(dims, lower_node(l, y)->dims, sizeof(dims));
    graph_v row = lower_index(l, dims, DNN_DIMS - 2), column = lower_index(l, dims, DNN_DIMS - 1);
    if (left != NONE) {
        column = ADD(column, left);
        column = kv == NONE ? column : SUB(column, kv);
        column = q == NONE ? column : ADD(column, q);
    } else {
        row = kv == NONE ? row : ADD(row, kv);
        row = q == NONE ? row : SUB(row, q);
        row = shift == NONE ? row : ADD(row, shift);
    }
    graph_v keeps = left != NONE ? lower_binary(l, compares[i].op, column, row)
                                 : lower_binary(l, compares[i].op, row, column);
    lower_define(
        l, y,
        lower_select(l, keeps, x, otherwise == NONE ? lower_number(l, -INFINITY) : otherwise));
}

/* Rows of a cache in pages, seen as one tensor of the dimensions that are given. */
static graph_v paged(struct lower *l, graph_v pages, graph_v table, graph_v length,
                     const int64_t *dims, bool rows_last)
{
    int16_t from = lower_memory(l, pages), of = lower_memory(l, table);
    int16_t rows = length == NONE ? -1 : lower_memory(l, length);
    int64_t strides[DNN_DIMS];

    if (l->status)
        return pages;
    const struct dnn_graph_tensor p = l->tensors.at[from];
    memcpy(strides, p.strides, sizeof(strides));
    if (rows_last) {
        strides[6] = p.strides[7];
        strides[7] = p.strides[6];
    }
    graph_v v = lower_view(l, pages, dims, strides, 0);
    struct dnn_graph_tensor *t = &l->tensors.at[lower_node(l, v)->memory];
    t->has_pages = 1;
    t->ragged_dim = 4;
    t->row_dim = rows_last ? 7 : 6;
    t->table = of;
    t->length = rows;
    t->page_rows = p.dims[6];
    t->page_stride = p.strides[4];
    return v;
}

void lower_paged(struct lower *l, const struct graph_body *op)
{
    graph_v pages = IN(PAGED_CACHE_LOAD_CONTAINER_DESC),
            table = IN(PAGED_CACHE_LOAD_PAGE_TABLE_DESC);
    graph_v length = IN(PAGED_CACHE_LOAD_SEQUENCE_DESC), y = OUT(PAGED_CACHE_LOAD_YDESC);
    int64_t dims[DNN_DIMS];

    if (l->status)
        return;
    if (lower_rank(l, pages) != 4 || lower_rank(l, y) != 4) {
        UNSUPPORTED(l, SHAPE, "caches in pages that are not of four dimensions");
        return;
    }
    memcpy(dims, lower_node(l, y)->dims, sizeof(dims));
    /* Keys come transposed, which their strides tell. */
    bool rows_last = lower_node(l, y)->strides[DNN_DIMS - 2] == 1 && dims[DNN_DIMS - 1] > 1;
    lower_define(l, y, paged(l, pages, table, length, dims, rows_last));
}

/* The last two dimensions in the other order. */
static graph_v turned(struct lower *l, graph_v v)
{
    int64_t dims[DNN_DIMS], strides[DNN_DIMS];
    int16_t memory = lower_memory(l, v);

    if (l->status)
        return v;
    memcpy(dims, l->tensors.at[memory].dims, sizeof(dims));
    memcpy(strides, l->tensors.at[memory].strides, sizeof(strides));
    int64_t d = dims[6], s = strides[6];
    dims[6] = dims[7];
    dims[7] = d;
    strides[6] = strides[7];
    strides[7] = s;
    bool has_pages = l->tensors.at[memory].has_pages;
    graph_v view = lower_view(l, v, dims, strides, 0);
    if (has_pages && !l->status)
        l->tensors.at[lower_node(l, view)->memory].row_dim = 7;
    return view;
}

/* Operations on the scores, given as a graph of their own. */
static graph_v modified(struct lower *l, const struct graph_body *op, graph_v scores)
{
    const struct graph_body *graph = graph_body_at(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH);
    int64_t in = graph_whole(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID, -1);
    int64_t out = graph_whole(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH_OUTPUT_UID, -1);

    if (!graph)
        return scores;
    return lower_nested(l, graph, in, scores, out);
}

static graph_v dropped(struct lower *l, const struct graph_body *op, graph_v p)
{
    double probability = graph_real(op, CUDNN_ATTR_OPERATION_SDPA_FWD_DROPOUT_PROBABILITY, 0);
    graph_v seed = IN(SDPA_FWD_DROPOUT_SEED_DESC), offset = IN(SDPA_FWD_DROPOUT_OFFSET_DESC);
    graph_v dump = OUT(SDPA_FWD_DROPOUT_RNG_DUMP_DESC);
    int64_t dims[DNN_DIMS];

    if (probability <= 0 || l->status)
        return p;
    memcpy(dims, lower_node(l, p)->dims, sizeof(dims));
    graph_v keeps =
        lower_random(l, dims, CUDNN_RNG_DISTRIBUTION_BERNOULLI, 0, 1 - probability, seed, offset);
    if (dump != NONE)
        lower_define(l, dump, keeps);
    const double by[4] = {probability < 1 ? 1 / (1 - probability) : 0};
    return lower_code(l, DNN_SCALE, dims, MUL(p, keeps), NONE, NONE, by);
}

/*
 * Scores of blocks of 128 rows by 128 columns whose bit is 0 are masked. Bits are in bytes, the
 * first column's lowest: a byte is of 1024 columns.
 */
static graph_v blocked(struct lower *l, const struct graph_body *op, graph_v scores)
{
    enum { EDGE = 128, BITS = 8 };
    graph_v mask = IN(SDPA_FWD_BLOCK_MASK_DESC);
    int64_t dims[DNN_DIMS];

    if (mask == NONE || l->status)
        return scores;
    memcpy(dims, lower_node(l, scores)->dims, sizeof(dims));
    int16_t memory = lower_memory(l, mask);
    if (l->status)
        return scores;
    struct dnn_graph_tensor t = l->tensors.at[memory];
    bool fits = t.dims[6] == (dims[6] + EDGE - 1) / EDGE &&
                t.dims[7] == (dims[7] + EDGE * BITS - 1) / (EDGE * BITS);
    for (int d = 0; d < 6; d++)
        fits = fits && (t.dims[d] == 1 || t.dims[d] == dims[d]);
    if (!fits || (t.type != DNN_U8 && t.type != DNN_I8)) {
        lower_fail(l, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                   "a mask of blocks of %lld x %lld scores has a byte for each 128 rows and 1024 "
                   "columns, not %lld x %lld",
                   (long long)dims[6], (long long)dims[7], (long long)t.dims[6],
                   (long long)t.dims[7]);
        return scores;
    }
    graph_v bytes = lower_view(l, mask, t.dims, t.strides, 0);
    if (l->status)
        return scores;
    struct dnn_graph_tensor *view = &l->tensors.at[lower_node(l, bytes)->memory];
    view->type = DNN_U8; /* the sign is a bit */
    for (int d = 0; d < DNN_DIMS; d++)
        view->block[d] = d == 6 ? EDGE : d == 7 ? EDGE * BITS : 1;
    memcpy(lower_node(l, bytes)->dims, dims, sizeof(dims));
    /* Its bit: byte / 2^(column / 128 mod 8) is odd. */
    graph_v column =
        lower_unary(l, DNN_FLOOR, MUL(lower_index(l, dims, 7), lower_number(l, 1.0 / EDGE)));
    graph_v bit = lower_binary(l, DNN_MOD, column, lower_number(l, BITS));
    graph_v above =
        lower_binary(l, DNN_DIV, bytes, lower_binary(l, DNN_POW, lower_number(l, 2), bit));
    graph_v keeps = lower_binary(l, DNN_MOD, lower_unary(l, DNN_FLOOR, above), lower_number(l, 2));
    return lower_select(l, keeps, scores, lower_number(l, -INFINITY));
}

void lower_sdpa(struct lower *l, const struct graph_body *op)
{
    graph_v q = IN(SDPA_FWD_QDESC), k = IN(SDPA_FWD_KDESC), v = IN(SDPA_FWD_VDESC);
    graph_v o = OUT(SDPA_FWD_ODESC), scale = IN(SDPA_FWD_SCALEDESC);
    graph_v table_k = IN(SDPA_FWD_PAGE_TABLE_KDESC), table_v = IN(SDPA_FWD_PAGE_TABLE_VDESC);
    graph_v length_q = IN(SDPA_FWD_SEQ_LEN_QDESC), length_kv = IN(SDPA_FWD_SEQ_LEN_KVDESC);
    graph_v stats = OUT(SDPA_FWD_STATSDESC);
    const struct graph_body *softmax =
        graph_body_at(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SOFTMAX_DESC);
    int64_t dims[DNN_DIMS], out[DNN_DIMS];

    if (l->status)
        return;
    if (lower_rank(l, q) != 4 || lower_rank(l, k) != 4 || lower_rank(l, v) != 4) {
        UNSUPPORTED(l, SHAPE, "attention of tensors that do not have four dimensions");
        return;
    }
    if (table_k != NONE || table_v != NONE) {
        /* As many rows as pages have together. */
        for (int i = 0; i < 2; i++) {
            graph_v table = i ? table_v : table_k, *pages = i ? &v : &k;
            if (table == NONE)
                continue;
            memcpy(dims, lower_node(l, *pages)->dims, sizeof(dims));
            dims[4] = lower_node(l, q)->dims[4];
            dims[6] *= lower_node(l, table)->dims[6];
            *pages = paged(l, *pages, table, length_kv, dims, false);
        }
    }
    memcpy(dims, lower_node(l, q)->dims, sizeof(dims));
    dims[7] = lower_node(l, k)->dims[6];
    if (lower_node(l, q)->dims[7] != lower_node(l, k)->dims[7] ||
        lower_node(l, k)->dims[6] != lower_node(l, v)->dims[6] ||
        dims[5] % lower_node(l, k)->dims[5] || dims[5] % lower_node(l, v)->dims[5]) {
        lower_fail(l, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                   "queries, keys and values of attention do not fit");
        return;
    }
    graph_v scores = lower_matmul(l, q, turned(l, k), dims, NULL, 0);
    if (scale != NONE)
        scores = MUL(scores, scale);
    scores = modified(l, op, scores);
    scores = blocked(l, op, scores);
    if (length_kv != NONE) {
        graph_v is_there = lower_binary(l, DNN_CMP_LT, lower_index(l, dims, 7), length_kv);
        scores = lower_select(l, is_there, scores, lower_number(l, -INFINITY));
    }
    graph_v p = lower_lazy(l, softmax, scores);
    if (stats != NONE && !softmax)
        UNSUPPORTED(l, GRAPH_PATTERN, "statistics of attention without its softmax");
    p = dropped(l, op, p);
    memcpy(out, lower_node(l, o)->dims, sizeof(out));
    const graph_v limits[3] = {length_q, NONE, length_kv};
    lower_define(l, o, lower_matmul(l, p, v, out, limits, 0));
}
