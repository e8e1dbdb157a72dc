/* Values of a graph: tensors of the caller, and expressions of them. See graph_lower.h. */
#include "api/cudnn/graph_lower.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void lower_fail(struct lower *l, cudnnStatus_t status, const char *fmt, ...)
{
    char text[256];
    va_list args;

    if (l->status)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    l->status = dnn_fail(status, "a graph of operations", "%s", text);
}

/* ---- values */

bool lower_same_dims(const int64_t *a, const int64_t *b)
{
    return !memcmp(a, b, DNN_DIMS * sizeof(*a));
}

int64_t lower_elements(const int64_t *dims)
{
    int64_t n = 1;

    for (int d = 0; d < DNN_DIMS; d++)
        n *= dims[d];
    return n;
}

void lower_row_major(const int64_t *dims, int64_t *strides)
{
    int64_t n = 1;

    for (int d = DNN_DIMS - 1; d >= 0; d--) {
        strides[d] = n;
        n *= dims[d];
    }
}

/* Elements from the first to the last. */
int64_t lower_span(const int64_t *dims, const int64_t *strides)
{
    int64_t n = 1;

    for (int d = 0; d < DNN_DIMS; d++)
        n += (dims[d] - 1) * strides[d];
    return n;
}

graph_v lower_resolve(struct lower *l, graph_v v)
{
    while (v >= 0 && lower_node(l, v)->state == VALUE_SAME)
        v = lower_node(l, v)->same;
    return v;
}

int lower_rank(struct lower *l, graph_v v)
{
    const struct graph_body *t = lower_node(l, v)->tensor;

    return t ? (int)graph_find(t, CUDNN_ATTR_TENSOR_DIMENSIONS)->count : DNN_DIMS;
}

enum dnn_type lower_type(struct lower *l, const struct graph_body *tensor)
{
    int64_t type = graph_whole(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, 0);

    switch (type) {
#define X(name, size_B, cudnn)                                                                     \
    case CUDNN_DATA_##cudnn:                                                                       \
        return DNN_##name;
        DNN_TYPE_LIST(X)
#undef X
    case CUDNN_DATA_FP4_E2M1:
        return DNN_E2M1;
    case CUDNN_DATA_INT4:
        return DNN_I4;
    default:
        UNSUPPORTED(l, DATA_TYPE, "lower_elements of type %lld", (long long)type);
        return DNN_F32;
    }
}

static int16_t slot_of(struct lower *l, int64_t uid)
{
    for (size_t i = 0; i < l->slots.len; i++)
        if (l->slots.at[i] == uid)
            return (int16_t)i;
    if (l->slots.len == DNN_SLOTS) {
        UNSUPPORTED(l, GRAPH_PATTERN, "a graph of more than %d tensors of the caller's", DNN_SLOTS);
        return 0;
    }
    (void)LOWER_PUSH(l, &l->slots, uid);
    return (int16_t)(l->slots.len - 1);
}

int16_t lower_add_tensor(struct lower *l, const struct dnn_graph_tensor *t, int32_t storage)
{
    if (l->tensors.len >= INT16_MAX)
        UNSUPPORTED(l, GRAPH_PATTERN, "a graph of more than %d tensors", INT16_MAX);
    if (l->status || !LOWER_PUSH(l, &l->tensors, *t) || !LOWER_PUSH(l, &l->storage_of, storage))
        return 0;
    return (int16_t)(l->tensors.len - 1);
}

/* The caller's tensor as one of the program's. */
int16_t lower_real_tensor(struct lower *l, const struct graph_node *node)
{
    const struct graph_body *t = node->tensor;
    struct dnn_graph_tensor out = {.ragged = -1, .type = (uint8_t)lower_type(l, t)};
    const struct graph_value *constant = graph_find(t, CUDNN_ATTR_TENSOR_CONSTANT_VALUE);
    const struct graph_body *ragged = graph_body_at(t, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC);
    int64_t order = graph_whole(t, CUDNN_ATTR_TENSOR_REORDERING_MODE, 0);
    int rank = (int)graph_find(t, CUDNN_ATTR_TENSOR_DIMENSIONS)->count;

    memcpy(out.dims, node->dims, sizeof(out.dims));
    memcpy(out.strides, node->strides, sizeof(out.strides));
    if (constant) {
        out.where = DNN_CONSTANT;
        out.offset = *(const int64_t *)constant->values;
        return lower_add_tensor(l, &out, -1);
    }
    out.where = graph_whole(t, CUDNN_ATTR_TENSOR_IS_BY_VALUE, 0) ? DNN_VALUE : DNN_ADDRESS;
    out.slot = (uint32_t)slot_of(l, node->uid);
    if (graph_whole(t, CUDNN_ATTR_TENSOR_VECTOR_COUNT, 1) > 1)
        UNSUPPORTED(l, LAYOUT, "tensor %lld has vectors of channels", (long long)node->uid);
    if (order == CUDNN_TENSOR_REORDERING_F8_128x4) {
        if (rank < 2)
            UNSUPPORTED(l, LAYOUT, "scales in tiles have two dimensions");
        bool last = node->strides[DNN_DIMS - 1] == 1;
        out.in_tiles = 1;
        out.column_dim = (uint8_t)(DNN_DIMS - (last ? 1 : 2));
        out.row_dim = (uint8_t)(DNN_DIMS - (last ? 2 : 1));
    } else if (order == CUDNN_TENSOR_REORDERING_INT8x32) {
        UNSUPPORTED(l, LAYOUT, "tensor %lld is reordered for INT8x32", (long long)node->uid);
    }
    if (ragged) {
        out.ragged_dim = (uint8_t)DIM(rank, 0);
        out.ragged = lower_memory(l, lower_value(l, ragged));
    }
    return lower_add_tensor(l, &out, -1);
}

graph_v lower_add_node(struct lower *l, const struct graph_node *node)
{
    static const struct graph_node empty = {0};

    if (!LOWER_PUSH(l, &l->nodes, *node)) {
        /* There is always one, for callers that go on until the end. */
        assert(l->nodes.len);
        l->nodes.at[0] = empty;
        return 0;
    }
    return (graph_v)(l->nodes.len - 1);
}

graph_v lower_value(struct lower *l, const struct graph_body *tensor)
{
    if (!tensor)
        return NONE;
    int64_t uid = graph_whole(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
    for (size_t i = 0; i < l->nodes.len; i++)
        if (l->nodes.at[i].tensor && l->nodes.at[i].uid == uid)
            return (graph_v)i;
    const struct graph_value *dims = graph_find(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
    const struct graph_value *strides = graph_find(tensor, CUDNN_ATTR_TENSOR_STRIDES);
    struct graph_node node = {.uid = uid, .tensor = tensor, .same = NONE};
    const int64_t *dim = dims->values, *stride = strides->values;
    int rank = (int)dims->count;
    for (size_t i = 0; i < l->noverrides; i++)
        if (l->overrides[i].uid == uid && l->overrides[i].rank == rank) {
            dim = l->overrides[i].dims;
            stride = l->overrides[i].strides;
        }
    for (int d = 0; d < DNN_DIMS; d++)
        node.dims[d] = 1;
    for (int d = 0; d < rank; d++) {
        node.dims[DIM(rank, d)] = dim[d];
        node.strides[DIM(rank, d)] = stride[d];
    }
    node.is_real = !graph_whole(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0);
    return lower_add_node(l, &node);
}

graph_v lower_input(struct lower *l, const struct graph_body *op, cudnnBackendAttributeName_t name)
{
    graph_v v = lower_value(l, graph_body_at(op, name));

    if (v == NONE)
        return NONE;
    struct graph_node *node = lower_node(l, v);
    if (node->state == VALUE_UNKNOWN && node->is_real) {
        int16_t memory = lower_real_tensor(l, node);
        node = lower_node(l, v);
        node->memory = memory;
        node->state = VALUE_MEMORY;
    }
    if (node->state == VALUE_UNKNOWN)
        lower_fail(l, CUDNN_STATUS_BAD_PARAM,
                   "virtual tensor %lld, %s of %s, is read, and no operation before makes it",
                   (long long)node->uid, graph_attribute_name(name), graph_kind_name(op->kind));
    lower_node(l, lower_resolve(l, v))->to_read--;
    return v;
}

graph_v lower_output(struct lower *l, const struct graph_body *op, cudnnBackendAttributeName_t name)
{
    return lower_value(l, graph_body_at(op, name));
}

/* ---- expressions */

graph_v lower_code(struct lower *l, enum dnn_code_op op, const int64_t *dims, graph_v a, graph_v b,
                   graph_v c, const double p[4])
{
    struct graph_node node = {.uid = NONE, .state = VALUE_CODE, .same = NONE, .args = {a, b, c}};

    node.code.op = (uint16_t)op;
    node.code.tensor = -1;
    if (p)
        memcpy(node.code.p, p, sizeof(node.code.p));
    memcpy(node.dims, dims, sizeof(node.dims));
    lower_row_major(node.dims, node.strides);
    for (int i = 0; i < 3; i++) {
        node.args[i] = lower_resolve(l, node.args[i]);
        if (node.args[i] != NONE)
            lower_node(l, node.args[i])->edges++;
    }
    return lower_add_node(l, &node);
}

static void larger_dims(struct lower *l, graph_v a, graph_v b, int64_t *dims)
{
    for (int d = 0; d < DNN_DIMS; d++)
        dims[d] = HD_MAX(lower_node(l, a)->dims[d], lower_node(l, b)->dims[d]);
}

graph_v lower_binary(struct lower *l, enum dnn_code_op op, graph_v a, graph_v b)
{
    int64_t dims[DNN_DIMS];

    larger_dims(l, a, b, dims);
    return lower_code(l, op, dims, a, b, NONE, NULL);
}

graph_v lower_unary(struct lower *l, enum dnn_code_op op, graph_v a)
{
    int64_t dims[DNN_DIMS];

    larger_dims(l, a, a, dims);
    return lower_code(l, op, dims, a, NONE, NONE, NULL);
}

graph_v lower_select(struct lower *l, graph_v condition, graph_v yes, graph_v no)
{
    int64_t dims[DNN_DIMS];

    larger_dims(l, yes, no, dims);
    for (int d = 0; d < DNN_DIMS; d++)
        dims[d] = HD_MAX(dims[d], lower_node(l, condition)->dims[d]);
    return lower_code(l, DNN_BINARY_SELECT, dims, yes, no, condition, NULL);
}

graph_v lower_number(struct lower *l, double x)
{
    static const int64_t one[DNN_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
    const double p[4] = {x};

    return lower_code(l, DNN_CONST, one, NONE, NONE, NONE, p);
}

graph_v lower_index(struct lower *l, const int64_t *dims, int dim)
{
    graph_v v = lower_code(l, DNN_INDEX, dims, NONE, NONE, NONE, NULL);

    lower_node(l, v)->code.tensor = (int16_t)dim;
    return v;
}
