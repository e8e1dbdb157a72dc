/* Values of a graph, and the steps that are made of them: see graph_lower.h. */
#include "api/cudnn/graph_lower.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

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

#define PUSH(l, vec, ...)                                                                          \
    (hd_vec_push(vec, __VA_ARGS__)                                                                 \
         ? true                                                                                    \
         : (lower_fail((l), CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory"),      \
            false))

/* ---- values */

static bool same_dims(const int64_t *a, const int64_t *b)
{
    return !memcmp(a, b, DNN_DIMS * sizeof(*a));
}

static int64_t elements(const int64_t *dims)
{
    int64_t n = 1;

    for (int d = 0; d < DNN_DIMS; d++)
        n *= dims[d];
    return n;
}

static void row_major(const int64_t *dims, int64_t *strides)
{
    int64_t n = 1;

    for (int d = DNN_DIMS - 1; d >= 0; d--) {
        strides[d] = n;
        n *= dims[d];
    }
}

/* Elements from the first to the last. */
static int64_t span(const int64_t *dims, const int64_t *strides)
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
        UNSUPPORTED(l, DATA_TYPE, "elements of type %lld", (long long)type);
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
    (void)PUSH(l, &l->slots, uid);
    return (int16_t)(l->slots.len - 1);
}

static int16_t add_tensor(struct lower *l, const struct dnn_graph_tensor *t, int32_t storage)
{
    if (l->tensors.len >= INT16_MAX)
        UNSUPPORTED(l, GRAPH_PATTERN, "a graph of more than %d tensors", INT16_MAX);
    if (l->status || !PUSH(l, &l->tensors, *t) || !PUSH(l, &l->storage_of, storage))
        return 0;
    return (int16_t)(l->tensors.len - 1);
}

/* The caller's tensor as one of the program's. */
static int16_t real_tensor(struct lower *l, const struct graph_node *node)
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
        return add_tensor(l, &out, -1);
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
    return add_tensor(l, &out, -1);
}

static graph_v add_node(struct lower *l, const struct graph_node *node)
{
    static const struct graph_node empty = {0};

    if (!PUSH(l, &l->nodes, *node)) {
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
    return add_node(l, &node);
}

graph_v lower_input(struct lower *l, const struct graph_body *op, cudnnBackendAttributeName_t name)
{
    graph_v v = lower_value(l, graph_body_at(op, name));

    if (v == NONE)
        return NONE;
    struct graph_node *node = lower_node(l, v);
    if (node->state == VALUE_UNKNOWN && node->is_real) {
        int16_t memory = real_tensor(l, node);
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
    row_major(node.dims, node.strides);
    for (int i = 0; i < 3; i++) {
        node.args[i] = lower_resolve(l, node.args[i]);
        if (node.args[i] != NONE)
            lower_node(l, node.args[i])->edges++;
    }
    return add_node(l, &node);
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

/* ---- softmax */

graph_v lower_lazy(struct lower *l, const struct graph_body *op, graph_v x)
{
    struct graph_node node = {.uid = NONE,
                              .state = VALUE_LAZY,
                              .same = NONE,
                              .op = op,
                              .args = {lower_resolve(l, x), NONE, NONE}};

    memcpy(node.dims, lower_node(l, x)->dims, sizeof(node.dims));
    row_major(node.dims, node.strides);
    lower_node(l, node.args[0])->edges++;
    return l->engine == GRAPH_ENGINE_FUSED ? add_node(l, &node) : lower_softmax_apart(l, op, x);
}

/* The value itself; a softmax that waited for a product becomes steps of its own. */
static graph_v expanded(struct lower *l, graph_v v)
{
    v = lower_resolve(l, v);
    if (v == NONE || lower_node(l, v)->state != VALUE_LAZY || l->status)
        return v;
    const struct graph_node node = *lower_node(l, v);
    lower_node(l, node.args[0])->edges--;
    graph_v made = lower_softmax_apart(l, node.op, node.args[0]);
    struct graph_node *same = lower_node(l, v);
    same->state = VALUE_SAME;
    same->same = made;
    lower_node(l, made)->edges += same->edges;
    lower_node(l, made)->to_read += same->to_read;
    return lower_resolve(l, v);
}

/* ---- code of a step */

static bool mark(struct lower *l, graph_v v, const int64_t *dims, graph_v on);
static void unmark(struct lower *l);

struct builder {
    struct lower *l;
    const int64_t *dims;
    graph_v producer; /* what is in register 0, or NONE */
    graph_v root;     /* what is computed here in any case */
    bool *depends;    /* for each value: on the producer; NULL: none does */
    size_t ndepends;
    HD_VEC(struct dnn_code) code;
    struct {
        graph_v v;
        uint8_t r;
    } known[DNN_REGISTERS];
    int nknown, next; /* register */
};

/* Values that are computed again and again cost more than memory does. */
enum { COSTLY = 12, REGISTERS_LEFT = 8 };

static int size_of(struct lower *l, graph_v v, const int64_t *dims, int most)
{
    const struct graph_node *node;
    int n = 1;

    v = lower_resolve(l, v);
    if (v == NONE)
        return 0;
    node = lower_node(l, v);
    if (node->state != VALUE_CODE || !same_dims(node->dims, dims))
        return 1;
    for (int i = 0; i < 3 && n < most; i++)
        n += size_of(l, node->args[i], dims, most - n);
    return n;
}

static void build_instruction(struct builder *b, struct dnn_code c)
{
    (void)PUSH(b->l, &b->code, c);
}

static uint8_t build_load(struct builder *b, graph_v v)
{
    uint8_t r = (uint8_t)b->next++;

    build_instruction(
        b, (struct dnn_code){.op = DNN_LOAD, .r = r, .tensor = lower_node(b->l, v)->memory});
    return r;
}

/* The register that has the value. */
static uint8_t build(struct builder *b, graph_v v)
{
    struct lower *l = b->l;
    uint8_t r;

    v = expanded(l, v);
    if (l->status || v == NONE)
        return 0;
    for (int i = 0; i < b->nknown; i++)
        if (b->known[i].v == v)
            return b->known[i].r;
    const struct graph_node *node = lower_node(l, v);
    bool fits =
        node->state == VALUE_CODE && (same_dims(node->dims, b->dims) || node->code.op == DNN_CONST);
    bool stays = v == b->root || (b->depends && (size_t)v < b->ndepends && b->depends[v]);
    if (fits && !stays && b->next > DNN_REGISTERS - 4 * REGISTERS_LEFT && node->code.op < DNN_LOAD)
        fits = false;
    if (fits && !stays && node->edges + HD_MAX(node->to_read, 0) > 1 &&
        size_of(l, v, b->dims, COSTLY + 1) > COSTLY)
        fits = false;
    if (!fits) {
        if (node->state != VALUE_MEMORY)
            (void)lower_memory(l, v);
        r = build_load(b, v);
    } else {
        struct dnn_code c = node->code;
        graph_v args[3];
        memcpy(args, node->args, sizeof(args));
        c.a = args[0] == NONE ? c.a : build(b, args[0]);
        c.b = build(b, args[1]);
        c.c = build(b, args[2]);
        c.r = r = (uint8_t)b->next++;
        build_instruction(b, c);
    }
    if (b->next >= DNN_REGISTERS || b->nknown == DNN_REGISTERS) {
        UNSUPPORTED(l, GRAPH_PATTERN, "a chain of more than %d elementwise operations",
                    DNN_REGISTERS);
        return 0;
    }
    b->known[b->nknown].v = v;
    b->known[b->nknown++].r = r;
    return r;
}

/* Moves the code to the program's. */
static struct dnn_range built(struct builder *b)
{
    struct dnn_range range = {(uint32_t)b->l->code.len, (uint32_t)b->code.len};

    for (size_t i = 0; i < b->code.len; i++)
        (void)PUSH(b->l, &b->l->code, b->code.at[i]);
    hd_vec_fini(&b->code);
    return range;
}

void lower_operand(struct lower *l, struct dnn_step *step, int operand, graph_v x)
{
    int64_t dims[DNN_DIMS];
    struct builder b = {.l = l, .dims = dims, .producer = NONE, .root = NONE};

    if (x == NONE || l->status)
        return;
    memcpy(dims, lower_node(l, x)->dims, sizeof(dims));
    memcpy(step->operand_dims[operand], dims, sizeof(dims));
    uint8_t r = build(&b, x);
    /* The result is that of the last instruction. */
    if (!l->status && b.code.at[b.code.len - 1].r != r)
        build_instruction(&b, (struct dnn_code){.op = DNN_IDENTITY, .r = (uint8_t)b.next, .a = r});
    step->operands[operand] = built(&b);
}

/* ---- dimensions in another order */

/* The tensor with dimension perm[d] as dimension d. */
static int16_t permuted(struct lower *l, int16_t tensor, const int *perm)
{
    struct dnn_graph_tensor t = l->tensors.at[tensor], out = t;

    if (t.where == DNN_VALUE || t.where == DNN_CONSTANT)
        return tensor;
    for (int d = 0; d < DNN_DIMS; d++) {
        out.dims[d] = t.dims[perm[d]];
        out.strides[d] = t.strides[perm[d]];
        out.block[d] = t.block[perm[d]];
        out.row_dim = t.row_dim == perm[d] ? (uint8_t)d : out.row_dim;
        out.column_dim = t.column_dim == perm[d] ? (uint8_t)d : out.column_dim;
        out.ragged_dim = t.ragged_dim == perm[d] ? (uint8_t)d : out.ragged_dim;
    }
    /* The batch's and the rows' dimensions move as all do. */
    out.block[0] = t.block[0] ? HD_MAX(out.block[0], 1u) : 0;
    if (t.ragged >= 0)
        out.ragged = permuted(l, t.ragged, perm);
    return add_tensor(l, &out, l->storage_of.at[tensor]);
}

static void permute_code(struct lower *l, struct dnn_range range, const int *perm)
{
    for (uint32_t i = 0; i < range.count && !l->status; i++) {
        struct dnn_code *c = &l->code.at[range.first + i];
        int16_t tensor = c->tensor;
        if (c->op == DNN_LOAD || c->op == DNN_STORE || c->op == DNN_RANDOM) {
            tensor = permuted(l, tensor, perm);
            l->code.at[range.first + i].tensor = tensor;
        } else if (c->op == DNN_INDEX) {
            for (int d = 0; d < DNN_DIMS; d++)
                if (perm[d] == tensor)
                    c->tensor = (int16_t)d;
        }
    }
}

static void permute_dims(int64_t *dims, const int *perm)
{
    int64_t old[DNN_DIMS];

    memcpy(old, dims, sizeof(old));
    for (int d = 0; d < DNN_DIMS; d++)
        dims[d] = old[perm[d]];
}

/* The first tensor that the code loads or stores, of more than one element; -1: none. */
static int16_t first_tensor(struct lower *l, struct dnn_range range, enum dnn_code_op op)
{
    for (uint32_t i = 0; i < range.count; i++) {
        const struct dnn_code *c = &l->code.at[range.first + i];
        if (c->op == op && l->tensors.at[c->tensor].where <= DNN_WORKSPACE &&
            elements(l->tensors.at[c->tensor].dims) > 1)
            return c->tensor;
    }
    return -1;
}

/* Dimensions from the largest step in memory to the smallest; those of 1 first. */
static void by_stride(const struct dnn_graph_tensor *t, const int64_t *dims, int *perm)
{
    for (int d = 0; d < DNN_DIMS; d++) {
        int64_t stride = dims[d] == 1 ? INT64_MAX : t ? t->strides[d] : 0;
        int at = d;
        for (; at > 0; at--) {
            int before = perm[at - 1];
            int64_t of = dims[before] == 1 ? INT64_MAX : t ? t->strides[before] : 0;
            if (of >= stride)
                break;
            perm[at] = before;
        }
        perm[at] = d;
    }
}

/* May dimensions d and d + 1 be one, of all that the code touches? */
static bool joins(struct lower *l, struct dnn_range range, const int64_t *dims, int d)
{
    for (uint32_t i = 0; i < range.count; i++) {
        const struct dnn_code *c = &l->code.at[range.first + i];
        if (c->op == DNN_INDEX && (c->tensor == d || c->tensor == d + 1))
            return false;
        if (c->op != DNN_LOAD && c->op != DNN_STORE && c->op != DNN_RANDOM)
            continue;
        const struct dnn_graph_tensor *t = &l->tensors.at[c->tensor];
        if (t->where > DNN_WORKSPACE)
            continue;
        if (t->ragged >= 0 || t->in_tiles || t->block[0] || t->has_pages)
            return false;
        bool none = t->dims[d] == 1 && t->dims[d + 1] == 1;
        bool all = t->dims[d] == dims[d] && t->dims[d + 1] == dims[d + 1] &&
                   (dims[d] == 1 || t->strides[d] == t->strides[d + 1] * dims[d + 1]);
        if (!none && !all)
            return false;
    }
    return true;
}

/* Rows as long as may be. The tensors are of this code alone. */
static void join_dims(struct lower *l, struct dnn_step *s)
{
    for (int d = DNN_DIMS - 2; d >= 0; d--) {
        if (s->dims[d] == 1 || !joins(l, s->code, s->dims, d))
            continue;
        for (uint32_t i = 0; i < s->code.count; i++) {
            const struct dnn_code *c = &l->code.at[s->code.first + i];
            struct dnn_graph_tensor *t;
            if (c->op != DNN_LOAD && c->op != DNN_STORE && c->op != DNN_RANDOM)
                continue;
            t = &l->tensors.at[c->tensor];
            if (t->where > DNN_WORKSPACE || t->dims[d] == 1)
                continue;
            if (t->dims[d + 1] == 1)
                t->strides[d + 1] = t->strides[d];
            t->dims[d + 1] *= t->dims[d];
            t->dims[d] = 1;
        }
        s->dims[d + 1] *= s->dims[d];
        s->dims[d] = 1;
        /* What is before comes next to it. */
        int perm[DNN_DIMS];
        int at = 0;
        perm[at++] = d;
        for (int e = 0; e < DNN_DIMS; e++)
            if (e != d)
                perm[at++] = e;
        permute_code(l, s->code, perm);
        permute_dims(s->dims, perm);
        d++;
        if (d > DNN_DIMS - 1)
            d = DNN_DIMS - 1;
    }
}

static void order_code(struct lower *l, struct dnn_step *s)
{
    int perm[DNN_DIMS];
    int16_t first = first_tensor(l, s->code, DNN_STORE);

    by_stride(first >= 0 ? &l->tensors.at[first] : NULL, s->dims, perm);
    permute_code(l, s->code, perm);
    permute_dims(s->dims, perm);
    if (!l->status)
        join_dims(l, s);
}

/* Dimensions that stay first, then those that are summed; see step_reduce() in klib. */
static void order_reduce(struct lower *l, struct dnn_step *s)
{
    int perm[DNN_DIMS], order[DNN_DIMS], kept = 0, at = 0;
    int16_t first = first_tensor(l, s->operands[0], DNN_LOAD);
    int64_t of[DNN_DIMS];

    memcpy(of, s->operand_dims[0], sizeof(of));
    by_stride(first >= 0 ? &l->tensors.at[first] : NULL, of, order);
    int last = order[DNN_DIMS - 1];
    bool columns = of[last] > 1 && s->dims[last] == of[last] && elements(s->dims) < elements(of);
    for (int i = 0; i < DNN_DIMS; i++)
        if (s->dims[order[i]] == of[order[i]] && !(columns && order[i] == last)) {
            perm[at++] = order[i];
            kept++;
        }
    for (int i = 0; i < DNN_DIMS; i++)
        if (s->dims[order[i]] != of[order[i]])
            perm[at++] = order[i];
    if (columns)
        perm[at++] = last;
    assert(at == DNN_DIMS);
    /* With nothing to sum, the last dimension is one that is summed over one element. */
    if (kept == DNN_DIMS) {
        kept--;
        if (of[perm[kept]] != 1)
            for (int i = 0; i < DNN_DIMS; i++)
                if (of[perm[i]] == 1) {
                    int swap = perm[i];
                    perm[i] = perm[kept];
                    perm[kept] = swap;
                    break;
                }
    }
    s->numbers[1] = kept;
    s->numbers[2] = columns;
    permute_code(l, s->operands[0], perm);
    permute_code(l, s->code, perm);
    permute_dims(s->dims, perm);
    permute_dims(s->operand_dims[0], perm);
}

/* A matrix whose other dimension lies in memory is turned. */
void lower_order_matmul(struct lower *l, struct dnn_step *s)
{
    static const int turned[DNN_DIMS] = {0, 1, 2, 3, 4, 5, 7, 6};

    for (int o = 0; o < 2 && !l->status; o++) {
        int16_t t = first_tensor(l, s->operands[o], DNN_LOAD);
        if (t < 0 || l->tensors.at[t].strides[DNN_DIMS - 1] == 1 ||
            l->tensors.at[t].strides[DNN_DIMS - 2] != 1)
            continue;
        permute_code(l, s->operands[o], turned);
        permute_dims(s->operand_dims[o], turned);
        s->flags |= (uint8_t)(1 << o);
    }
}

/* ---- steps */

void lower_append(struct lower *l, const struct dnn_step *step)
{
    struct dnn_step s = *step;

    if (l->status)
        return;
    if (s.kind == DNN_STEP_CODE)
        order_code(l, &s);
    else if (s.kind == DNN_STEP_REDUCE)
        order_reduce(l, &s);
    s.is_wide = l->is_wide;
    (void)PUSH(l, &l->steps, s);
}

graph_v lower_step(struct lower *l, const struct dnn_step *step)
{
    struct graph_node node = {.uid = NONE, .state = VALUE_STEP, .same = NONE, .step = *step};

    memcpy(node.dims, step->dims, sizeof(node.dims));
    row_major(node.dims, node.strides);
    return add_node(l, &node);
}

static struct dnn_step new_step(enum dnn_step_kind kind, const int64_t *dims)
{
    struct dnn_step s = {.kind = (uint8_t)kind};

    memcpy(s.dims, dims, sizeof(s.dims));
    for (int i = 0; i < DNN_STEP_TENSORS; i++)
        s.tensors[i] = -1;
    return s;
}

graph_v lower_reduce(struct lower *l, enum dnn_reduce mode, graph_v x, const int64_t *to)
{
    struct dnn_step s = new_step(DNN_STEP_REDUCE, to);

    s.mode = (uint8_t)mode;
    lower_operand(l, &s, 0, x);
    return lower_step(l, &s);
}

/* Code whose register 0 is `producer`, and whose result is the last instruction's. */
static struct dnn_range build_from(struct lower *l, graph_v v, graph_v producer)
{
    int64_t dims[DNN_DIMS];
    struct builder b = {.l = l, .dims = dims, .producer = producer, .root = v, .next = 1};

    v = lower_resolve(l, v);
    if (v == producer)
        return (struct dnn_range){0, 0};
    memcpy(dims, lower_node(l, v)->dims, sizeof(dims));
    b.known[b.nknown++].v = producer;
    b.depends = hd_alloc_array(l->nodes.len, sizeof(bool));
    b.ndepends = b.depends ? l->nodes.len : 0;
    for (size_t i = 0; i < b.ndepends; i++)
        b.depends[i] = l->nodes.at[i].depends;
    unmark(l);
    uint8_t r = build(&b, v);
    if (!l->status && b.code.at[b.code.len - 1].r != r)
        build_instruction(&b, (struct dnn_code){.op = DNN_IDENTITY, .r = (uint8_t)b.next, .a = r});
    hd_free(b.depends);
    return built(&b);
}

/*
 * The value of that state that v is made of, elementwise, if nobody else reads what lies between;
 * the values are marked then.
 */
static graph_v only_source(struct lower *l, graph_v v, enum value_state state)
{
    struct root root = {v, v};
    int64_t dims[DNN_DIMS];

    v = lower_resolve(l, v);
    memcpy(dims, lower_node(l, v)->dims, sizeof(dims));
    for (graph_v p = (graph_v)l->nodes.len - 1; p >= 0; p--) {
        if (lower_node(l, p)->state != state || !same_dims(lower_node(l, p)->dims, dims))
            continue;
        (void)mark(l, root.from, dims, p);
        bool fits = lower_node(l, p)->visited;
        /* One more edge of v is who asks. */
        for (size_t i = 0; i < l->nodes.len && fits; i++)
            if (l->nodes.at[i].depends)
                fits = l->nodes.at[i].to_read <= 0 && l->nodes.at[i].edges <= l->nodes.at[i].found;
        if (fits)
            return p;
        unmark(l);
    }
    return NONE;
}

/* A softmax of a product, times a matrix, as one step; NONE if it is not that. */
static graph_v attention(struct lower *l, graph_v a, graph_v b, const int64_t *dims,
                         const graph_v limits[3])
{
    struct dnn_step s = new_step(DNN_STEP_ATTENTION, dims);
    static const cudnnBackendAttributeName_t made[] = {CUDNN_ATTR_OPERATION_SOFTMAX_STATS_DESC,
                                                       CUDNN_ATTR_OPERATION_SOFTMAX_MAX_DESC,
                                                       CUDNN_ATTR_OPERATION_SOFTMAX_SUM_EXP_DESC};

    if (l->status || l->engine != GRAPH_ENGINE_FUSED || (limits && limits[1] != NONE))
        return NONE;
    graph_v lazy = only_source(l, a, VALUE_LAZY);
    if (lazy == NONE)
        return NONE;
    unmark(l);
    graph_v x = lower_resolve(l, lower_node(l, lazy)->args[0]);
    const struct graph_body *op = lower_node(l, lazy)->op;
    graph_v product = only_source(l, x, VALUE_STEP);
    if (product == NONE)
        return NONE;
    const struct dnn_step from = lower_node(l, product)->step;
    bool has_limits = from.tensors[0] >= 0 || from.tensors[1] >= 0 || from.tensors[2] >= 0;
    if (from.kind != DNN_STEP_MATMUL || has_limits || from.flags & 1) {
        unmark(l);
        return NONE;
    }
    s.scores = build_from(l, x, product);
    (void)only_source(l, a, VALUE_LAZY);
    s.parts = build_from(l, a, lazy);
    s.flags = from.flags;
    for (int o = 0; o < 2; o++) {
        s.operands[o] = from.operands[o];
        memcpy(s.operand_dims[o], from.operand_dims[o], sizeof(s.operand_dims[o]));
    }
    lower_operand(l, &s, 2, b);
    if (op) {
        graph_v sink = lower_input(l, op, CUDNN_ATTR_OPERATION_SOFTMAX_SINK_DESC);
        s.tensors[0] = sink == NONE ? -1 : lower_memory(l, sink);
        for (int i = 0; i < 3 && !l->status; i++) {
            graph_v to = lower_output(l, op, made[i]);
            s.tensors[1 + i] = to == NONE ? -1 : lower_target(l, to);
        }
    }
    if (limits && limits[0] != NONE)
        s.tensors[4] = lower_memory(l, limits[0]);
    if (limits && limits[2] != NONE)
        s.tensors[5] = lower_memory(l, limits[2]);
    return lower_step(l, &s);
}

graph_v lower_matmul(struct lower *l, graph_v a, graph_v b, const int64_t *dims,
                     const graph_v limits[3], double padding)
{
    struct dnn_step s = new_step(DNN_STEP_MATMUL, dims);
    graph_v whole = padding == 0 ? attention(l, a, b, dims, limits) : NONE;

    if (whole != NONE)
        return whole;

    s.numbers[2] = lower_node(l, a)->dims[DNN_DIMS - 1];
    s.reals[0] = padding;
    for (int i = 0; limits && i < 3; i++)
        if (limits[i] != NONE)
            s.tensors[i] = lower_memory(l, limits[i]);
    lower_operand(l, &s, 0, a);
    lower_operand(l, &s, 1, b);
    lower_order_matmul(l, &s);
    return lower_step(l, &s);
}

/* ---- memory */

static enum dnn_type number_type(const struct lower *l)
{
    return l->is_wide ? DNN_F64 : DNN_F32;
}

/* Some of the workspace for a value. */
static int16_t new_memory(struct lower *l, const int64_t *dims, const int64_t *strides)
{
    struct dnn_graph_tensor t = {
        .where = DNN_WORKSPACE, .type = (uint8_t)number_type(l), .ragged = -1};
    struct graph_storage storage = {.first = INT32_MAX, .last = -1};

    memcpy(t.dims, dims, sizeof(t.dims));
    memcpy(t.strides, strides, sizeof(t.strides));
    if (span(dims, strides) < elements(dims))
        row_major(t.dims, t.strides);
    storage.size_B = span(t.dims, t.strides) * (l->is_wide ? 8 : 4);
    (void)PUSH(l, &l->storages, storage);
    return add_tensor(l, &t, (int32_t)l->storages.len - 1);
}

/* Marks what a root is made of: how many expressions read each value, what depends on `on`. */
static bool mark(struct lower *l, graph_v v, const int64_t *dims, graph_v on)
{
    v = lower_resolve(l, v);
    if (v == NONE)
        return false;
    struct graph_node *node = lower_node(l, v);
    node->found++;
    if (node->visited)
        return node->depends;
    node->visited = true;
    node->depends = v == on;
    if (node->state == VALUE_CODE && same_dims(node->dims, dims) && v != on)
        for (int i = 0; i < 3; i++)
            if (mark(l, node->args[i], dims, on))
                lower_node(l, v)->depends = true;
    return lower_node(l, v)->depends;
}

static void unmark(struct lower *l)
{
    for (size_t i = 0; i < l->nodes.len; i++) {
        l->nodes.at[i].visited = l->nodes.at[i].depends = false;
        l->nodes.at[i].found = 0;
    }
}

/* A step whose code may be that of these roots: nobody else reads what lies between. */
static graph_v choose_producer(struct lower *l, const struct root *roots, size_t n,
                               const int64_t *dims)
{
    for (graph_v p = (graph_v)l->nodes.len - 1; p >= 0; p--) {
        if (l->nodes.at[p].state != VALUE_STEP || !same_dims(l->nodes.at[p].dims, dims))
            continue;
        bool fits = true;
        for (size_t i = 0; i < n; i++)
            (void)mark(l, roots[i].from, dims, p);
        if (!l->nodes.at[p].visited)
            fits = false;
        for (size_t v = 0; v < l->nodes.len && fits; v++) {
            const struct graph_node *node = &l->nodes.at[v];
            bool is_root = false;
            for (size_t i = 0; i < n; i++)
                is_root = is_root || lower_resolve(l, roots[i].from) == (graph_v)v;
            if (node->depends && !is_root)
                fits = node->to_read <= 0 && node->edges <= node->found;
        }
        if (fits)
            return p; /* marked */
        unmark(l);
    }
    return NONE;
}

/* Stores values of the same dimensions, with one step. */
static void emit(struct lower *l, const struct root *roots, const int16_t *tensors, size_t n)
{
    int64_t dims[DNN_DIMS];
    struct builder b = {.l = l, .dims = dims, .producer = NONE, .root = NONE};

    if (l->status)
        return;
    memcpy(dims, lower_node(l, lower_resolve(l, roots[0].from))->dims, sizeof(dims));
    b.producer = choose_producer(l, roots, n, dims);
    b.ndepends = l->nodes.len;
    b.depends = hd_alloc_array(b.ndepends, sizeof(bool));
    for (size_t i = 0; b.depends && i < b.ndepends; i++)
        b.depends[i] = l->nodes.at[i].depends;
    unmark(l);
    if (!b.depends) {
        lower_fail(l, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory");
        return;
    }
    struct dnn_step step = new_step(DNN_STEP_CODE, dims);
    if (b.producer != NONE) {
        step = lower_node(l, b.producer)->step;
        b.known[b.nknown].v = b.producer;
        b.known[b.nknown++].r = 0;
        b.next = 1;
    }
    for (size_t i = 0; i < n && !l->status; i++) {
        b.root = lower_resolve(l, roots[i].from);
        uint8_t r = build(&b, roots[i].from);
        build_instruction(&b, (struct dnn_code){.op = DNN_STORE, .a = r, .tensor = tensors[i]});
    }
    step.code = built(&b);
    for (size_t i = 0; i < n; i++) {
        graph_v v = lower_resolve(l, roots[i].from);
        struct graph_node *from = lower_node(l, v);
        if (from->state == VALUE_STEP || (from->state == VALUE_CODE && b.depends[v])) {
            from->state = VALUE_MEMORY;
            from->memory = tensors[i];
        }
    }
    hd_free(b.depends);
    lower_append(l, &step);
}

void lower_store(struct lower *l, graph_v v, int16_t memory)
{
    struct root root = {v, v};

    emit(l, &root, &memory, 1);
}

/* Stores of the caller's tensors that wait, those of the same dimensions as root `r`. */
static void emit_roots(struct lower *l, size_t r)
{
    enum { MOST = 12 };
    struct root group[MOST];
    int16_t tensors[MOST];
    int64_t dims[DNN_DIMS];
    size_t n = 0, left = 0;

    memcpy(dims, lower_node(l, l->roots[r].to)->dims, sizeof(dims));
    struct root first = l->roots[r];
    group[n++] = first;
    for (size_t i = 0; i < l->nroots; i++) {
        struct root root = l->roots[i];
        if (i == r)
            continue;
        if (n < MOST && l->engine == GRAPH_ENGINE_FUSED &&
            same_dims(lower_node(l, root.to)->dims, dims))
            group[n++] = root;
        else
            l->roots[left++] = root;
    }
    l->nroots = left;
    for (size_t i = 0; i < n && !l->status; i++) {
        const struct graph_node to = *lower_node(l, group[i].to);
        tensors[i] = real_tensor(l, &to);
    }
    emit(l, group, tensors, n);
    for (size_t i = 0; i < n; i++) {
        struct graph_node *to = lower_node(l, group[i].to);
        to->state = VALUE_MEMORY;
        to->memory = tensors[i];
    }
}

int16_t lower_memory(struct lower *l, graph_v v)
{
    if (l->status || v == NONE)
        return 0;
    if (lower_node(l, v)->state == VALUE_UNKNOWN && lower_node(l, v)->is_real) {
        const struct graph_node node = *lower_node(l, v);
        int16_t memory = real_tensor(l, &node);
        lower_node(l, v)->memory = memory;
        lower_node(l, v)->state = VALUE_MEMORY;
    }
    for (size_t i = 0; i < l->nroots; i++)
        if (l->roots[i].to == v) {
            emit_roots(l, i);
            break;
        }
    v = expanded(l, v);
    struct graph_node *node = lower_node(l, v);
    if (node->state == VALUE_MEMORY || l->status)
        return node->memory;
    if (node->state == VALUE_UNKNOWN) {
        lower_fail(l, CUDNN_STATUS_BAD_PARAM, "virtual tensor %lld is read before it is made",
                   (long long)node->uid);
        return 0;
    }
    int64_t dims[DNN_DIMS], strides[DNN_DIMS];
    memcpy(dims, node->dims, sizeof(dims));
    memcpy(strides, node->strides, sizeof(strides));
    int16_t memory = new_memory(l, dims, strides);
    struct root root = {v, v};
    emit(l, &root, &memory, 1);
    node = lower_node(l, v);
    node->state = VALUE_MEMORY;
    node->memory = memory;
    return memory;
}

int16_t lower_target(struct lower *l, graph_v v)
{
    const struct graph_node node = *lower_node(l, v);
    int16_t memory = node.is_real ? real_tensor(l, &node) : new_memory(l, node.dims, node.strides);

    lower_node(l, v)->memory = memory;
    lower_node(l, v)->state = VALUE_MEMORY;
    return memory;
}

graph_v lower_view(struct lower *l, graph_v x, const int64_t *dims, const int64_t *strides,
                   int64_t offset)
{
    int16_t memory = lower_memory(l, x);
    struct graph_node node = {.uid = NONE, .state = VALUE_MEMORY, .same = NONE};

    memcpy(node.dims, dims, sizeof(node.dims));
    memcpy(node.strides, strides, sizeof(node.strides));
    if (l->status)
        return add_node(l, &node);
    struct dnn_graph_tensor t = l->tensors.at[memory];
    memcpy(t.dims, dims, sizeof(t.dims));
    memcpy(t.strides, strides, sizeof(t.strides));
    t.offset += offset * (t.where == DNN_WORKSPACE ? (l->is_wide ? 8 : 4) : 1);
    node.memory = add_tensor(l, &t, l->storage_of.at[memory]);
    return add_node(l, &node);
}

void lower_define(struct lower *l, graph_v to, graph_v from)
{
    if (to == NONE || l->status)
        return;
    from = lower_resolve(l, from);
    struct graph_node *node = lower_node(l, to), *of = lower_node(l, from);
    if (!same_dims(node->dims, of->dims)) {
        from = lower_code(l, DNN_IDENTITY, node->dims, from, NONE, NONE, NULL);
        node = lower_node(l, to);
        of = lower_node(l, from);
    }
    if (node->is_real && of->state == VALUE_MEMORY) {
        from = lower_unary(l, DNN_IDENTITY, from);
        node = lower_node(l, to);
        of = lower_node(l, from);
    }
    if (node->is_real && !l->is_wide && elements(node->dims) > 1) {
        enum dnn_type type = lower_type(l, node->tensor);
        if (type == DNN_I32 || type == DNN_I64) {
            /* Floats do not hold all integers: all again, with doubles. */
            l->is_wide = true;
            l->status = CUDNN_STATUS_RUNTIME_IN_PROGRESS;
            return;
        }
    }
    if (of->state != VALUE_MEMORY && !of->tensor &&
        span(node->dims, node->strides) >= elements(node->dims))
        memcpy(of->strides, node->strides, sizeof(of->strides));
    node->state = VALUE_SAME;
    node->same = from;
    of->to_read += node->to_read;
    if (node->is_real) {
        if (l->nroots == l->roots_cap) {
            size_t cap = l->roots_cap ? 2 * l->roots_cap : 16;
            struct root *more = hd_realloc(l->roots, cap * sizeof(*more));
            if (!more) {
                lower_fail(l, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory");
                return;
            }
            l->roots = more;
            l->roots_cap = cap;
        }
        of->edges++;
        l->roots[l->nroots++] = (struct root){to, from};
    }
    if (l->engine == GRAPH_ENGINE_SINGLE)
        (void)lower_memory(l, to);
}

/* ---- the graph */

static const cudnnBackendAttributeName_t outputs[] = {
    CUDNN_ATTR_OPERATION_POINTWISE_YDESC,
    CUDNN_ATTR_OPERATION_POINTWISE_DXDESC,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
    CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC,
    CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC,
    CUDNN_ATTR_OPERATION_BN_FINALIZE_EQ_SCALE_DESC,
    CUDNN_ATTR_OPERATION_BN_FINALIZE_EQ_BIAS_DESC,
    CUDNN_ATTR_OPERATION_BN_FINALIZE_UPDATED_RUNNING_MEAN_DESC,
    CUDNN_ATTR_OPERATION_BN_FINALIZE_UPDATED_RUNNING_VAR_DESC,
    CUDNN_ATTR_OPERATION_BN_FINALIZE_SAVED_MEAN_DESC,
    CUDNN_ATTR_OPERATION_BN_FINALIZE_SAVED_INV_STD_DESC,
    CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC,
    CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC,
    CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC,
    CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC,
    CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS,
    CUDNN_ATTR_OPERATION_MATMUL_CDESC,
    CUDNN_ATTR_OPERATION_REDUCTION_YDESC,
    CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC,
    CUDNN_ATTR_OPERATION_RESAMPLE_FWD_IDXDESC,
    CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC,
    CUDNN_ATTR_OPERATION_CONCAT_OUTPUT_DESC,
    CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_YDESC,
    CUDNN_ATTR_OPERATION_NORM_FWD_YDESC,
    CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC,
    CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC,
    CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC,
    CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC,
    CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC,
    CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC,
    CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC,
    CUDNN_ATTR_OPERATION_RESHAPE_YDESC,
    CUDNN_ATTR_OPERATION_RNG_YDESC,
    CUDNN_ATTR_OPERATION_BLOCK_SCALE_QUANTIZE_YDESC,
    CUDNN_ATTR_OPERATION_BLOCK_SCALE_QUANTIZE_SCALE_DESC,
    CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_YDESC,
    CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC,
    CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC,
    CUDNN_ATTR_OPERATION_SDPA_FWD_DROPOUT_RNG_DUMP_DESC,
    CUDNN_ATTR_OPERATION_MOE_GROUPED_MATMUL_OUTPUT_DESC,
    CUDNN_ATTR_OPERATION_MOE_GROUPED_MATMUL_BWD_DWEIGHT_DESC,
    CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_YDESC,
    CUDNN_ATTR_OPERATION_SOFTMAX_YDESC,
    CUDNN_ATTR_OPERATION_SOFTMAX_STATS_DESC,
    CUDNN_ATTR_OPERATION_SOFTMAX_MAX_DESC,
    CUDNN_ATTR_OPERATION_SOFTMAX_SUM_EXP_DESC,
    CUDNN_ATTR_OPERATION_TRANSPOSE_YDESC,
    CUDNN_ATTR_OPERATION_SLICE_YDESC,
};

static bool is_output(const struct graph_body *op, cudnnBackendAttributeName_t name)
{
    bool statistics = name == CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC ||
                      name == CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC;

    if (statistics &&
        graph_whole(op, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, 0) == CUDNN_NORM_FWD_INFERENCE)
        return false;
    for (size_t i = 0; i < HD_COUNT_OF(outputs); i++)
        if (outputs[i] == name)
            return true;
    return false;
}

enum part { READ, MADE };

/* Counts tensors of an operation that are read or made, in state UNKNOWN and virtual or in all. */
static int each_tensor(struct lower *l, const struct graph_body *op, enum part part, bool counts)
{
    int unknown = 0;

    for (size_t i = 0; i < op->values.len; i++) {
        const struct graph_value *v = &op->values.at[i];
        if (v->type != CUDNN_TYPE_BACKEND_DESCRIPTOR ||
            (is_output(op, v->name) ? MADE : READ) != part)
            continue;
        for (int64_t j = 0; j < v->count; j++) {
            const struct graph_body *t = ((struct graph_body **)v->values)[j];
            if (t->kind != GRAPH_TENSOR)
                continue;
            graph_v value = lower_value(l, t);
            unknown += lower_node(l, value)->state == VALUE_UNKNOWN &&
                       !(lower_node(l, value)->is_real && lower_node(l, value)->same == NONE);
            if (counts)
                lower_node(l, value)->to_read += part == READ;
            if (counts && part == MADE)
                lower_node(l, value)->same = value; /* marks what an operation makes */
        }
    }
    return unknown;
}

/* The tensor of a graph's operations with that uid, or NULL. */
static const struct graph_body *tensor_of(const struct graph_body *graph, int64_t uid)
{
    const struct graph_value *ops = graph_find(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);

    for (int64_t i = 0; i < ops->count; i++) {
        const struct graph_body *op = ((struct graph_body **)ops->values)[i];
        for (size_t j = 0; j < op->values.len; j++) {
            const struct graph_value *v = &op->values.at[j];
            for (int64_t n = 0; v->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && n < v->count; n++) {
                const struct graph_body *t = ((struct graph_body **)v->values)[n];
                if (t->kind == GRAPH_TENSOR &&
                    graph_whole(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, -1) == uid)
                    return t;
            }
        }
    }
    return NULL;
}

/*
 * Where an execution has other shapes for the caller's tensors, those of virtual ones follow: a
 * result has the dimensions of what is read, but 1 where it had 1, and m x n of a product.
 */
static void infer(struct lower *l, const struct graph_body *op)
{
    int64_t dims[DNN_DIMS];
    bool is_product = op->kind == GRAPH_OPERATION_MATMUL;
    graph_v a = lower_value(l, graph_body_at(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC));
    graph_v b = lower_value(l, graph_body_at(op, CUDNN_ATTR_OPERATION_MATMUL_BDESC));

    if (op->kind == GRAPH_OPERATION_RESHAPE || op->kind == GRAPH_OPERATION_TRANSPOSE ||
        op->kind == GRAPH_OPERATION_SLICE || op->kind == GRAPH_OPERATION_CONCAT)
        return;
    for (int d = 0; d < DNN_DIMS; d++)
        dims[d] = 1;
    for (size_t i = 0; i < op->values.len; i++) {
        const struct graph_value *v = &op->values.at[i];
        for (int64_t j = 0; v->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && j < v->count; j++) {
            const struct graph_body *t = ((struct graph_body **)v->values)[j];
            if (t->kind != GRAPH_TENSOR || is_output(op, v->name))
                continue;
            graph_v x = lower_value(l, t);
            for (int d = 0; d < DNN_DIMS; d++)
                dims[d] = HD_MAX(dims[d], lower_node(l, x)->dims[d]);
        }
    }
    if (is_product) {
        dims[DNN_DIMS - 2] = lower_node(l, a)->dims[DNN_DIMS - 2];
        dims[DNN_DIMS - 1] = lower_node(l, b)->dims[DNN_DIMS - 1];
    }
    for (size_t i = 0; i < op->values.len; i++) {
        const struct graph_value *v = &op->values.at[i];
        for (int64_t j = 0; v->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && j < v->count; j++) {
            const struct graph_body *t = ((struct graph_body **)v->values)[j];
            if (t->kind != GRAPH_TENSOR || !is_output(op, v->name))
                continue;
            struct graph_node *y = lower_node(l, lower_value(l, t));
            bool changed = false;
            for (int d = 0; d < DNN_DIMS && !y->is_real; d++) {
                changed = changed || (y->dims[d] != 1 && y->dims[d] != dims[d]);
                y->dims[d] = y->dims[d] == 1 ? 1 : dims[d];
            }
            if (changed)
                row_major(y->dims, y->strides);
        }
    }
}

/* Softmaxes that wait for a product become steps. False: there are none. */
static bool expand_all(struct lower *l)
{
    bool found = false;

    for (size_t i = 0; i < l->nodes.len && !l->status; i++)
        if (l->nodes.at[i].state == VALUE_LAZY) {
            (void)expanded(l, (graph_v)i);
            found = true;
        }
    return found;
}

/* All operations, each when what it reads is known. */
static void operations(struct lower *l, const struct graph_body *graph)
{
    const struct graph_value *ops = graph_find(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    struct graph_body *const *op = ops->values;
    bool *done = hd_alloc_array((size_t)ops->count, sizeof(bool));

    if (!done) {
        lower_fail(l, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory");
        return;
    }
    for (int64_t i = 0; i < ops->count; i++) {
        (void)each_tensor(l, op[i], READ, true);
        (void)each_tensor(l, op[i], MADE, true);
    }
    for (int64_t left = ops->count; left && !l->status;) {
        int64_t before = left;
        for (int64_t i = 0; i < ops->count && !l->status; i++) {
            if (done[i] || each_tensor(l, op[i], READ, false))
                continue;
            if (l->noverrides)
                infer(l, op[i]);
            lower_operation(l, op[i]);
            done[i] = true;
            left--;
            break;
        }
        if (left == before && !l->status && expand_all(l))
            continue;
        if (left == before && !l->status)
            lower_fail(l, CUDNN_STATUS_BAD_PARAM,
                       "a graph has a cycle, or reads a virtual tensor that nothing makes");
    }
    hd_free(done);
}

graph_v lower_nested(struct lower *l, const struct graph_body *graph, int64_t in, graph_v value,
                     int64_t out)
{
    struct graph_node input = *lower_node(l, lower_resolve(l, value));
    graph_v v = NONE;

    /* A name for the value, as the operations have it. */
    for (const struct graph_body *t = tensor_of(graph, in); t; t = NULL) {
        v = lower_value(l, t);
        if (!same_dims(lower_node(l, v)->dims, input.dims))
            lower_fail(l, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                       "the scores of attention are not what the graph on them takes");
        lower_node(l, v)->state = VALUE_SAME;
        lower_node(l, v)->same = lower_resolve(l, value);
    }
    if (v == NONE)
        lower_fail(l, CUDNN_STATUS_BAD_PARAM, "no operation on the scores of attention reads %lld",
                   (long long)in);
    if (l->status)
        return value;
    operations(l, graph);
    const struct graph_body *t = tensor_of(graph, out);
    if (!t || lower_node(l, lower_value(l, t))->state == VALUE_UNKNOWN)
        lower_fail(l, CUDNN_STATUS_BAD_PARAM, "no operation on the scores of attention makes %lld",
                   (long long)out);
    return l->status ? value : lower_resolve(l, lower_value(l, t));
}

static bool has_doubles(const struct graph_body *body)
{
    if (body->kind == GRAPH_TENSOR)
        return graph_whole(body, CUDNN_ATTR_TENSOR_DATA_TYPE, 0) == CUDNN_DATA_DOUBLE &&
               !graph_whole(body, CUDNN_ATTR_TENSOR_IS_BY_VALUE, 0);
    for (size_t i = 0; i < body->values.len; i++) {
        const struct graph_value *v = &body->values.at[i];
        for (int64_t j = 0; v->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && j < v->count; j++)
            if (has_doubles(((struct graph_body **)v->values)[j]))
                return true;
    }
    return false;
}

/* ---- the program */

static void touch(struct lower *l, int16_t tensor, int step)
{
    if (tensor < 0)
        return;
    int32_t storage = l->storage_of.at[tensor];
    if (storage >= 0) {
        struct graph_storage *s = &l->storages.at[storage];
        s->first = HD_MIN(s->first, step);
        s->last = HD_MAX(s->last, step);
    }
}

static void touch_code(struct lower *l, struct dnn_range range, int step)
{
    for (uint32_t i = 0; i < range.count; i++) {
        const struct dnn_code *c = &l->code.at[range.first + i];
        if (c->op == DNN_LOAD || c->op == DNN_STORE)
            touch(l, c->tensor, step);
        if (c->op == DNN_RANDOM) {
            touch(l, (int16_t)c->p[2], step);
            touch(l, (int16_t)c->p[3], step);
        }
    }
}

/* Each where no other is that lives at the same time. Bytes of them all. */
static int64_t place_storages(struct lower *l)
{
    enum { ALIGN = 256 };
    int64_t size_B = 0;

    for (size_t s = 0; s < l->steps.len; s++) {
        const struct dnn_step *step = &l->steps.at[s];
        touch_code(l, step->code, (int)s);
        touch_code(l, step->scores, (int)s);
        touch_code(l, step->parts, (int)s);
        for (int i = 0; i < 3; i++)
            touch_code(l, step->operands[i], (int)s);
        for (int i = 0; i < DNN_STEP_TENSORS; i++)
            touch(l, step->tensors[i], (int)s);
    }
    for (size_t i = 0; i < l->storages.len; i++) {
        struct graph_storage *s = &l->storages.at[i];
        bool moved = true;
        while (moved) {
            moved = false;
            for (size_t j = 0; j < i; j++) {
                const struct graph_storage *o = &l->storages.at[j];
                bool meets = o->first <= s->last && s->first <= o->last;
                if (meets && o->offset < s->offset + s->size_B &&
                    s->offset < o->offset + o->size_B) {
                    s->offset = (o->offset + o->size_B + ALIGN - 1) / ALIGN * ALIGN;
                    moved = true;
                }
            }
        }
        if (s->last >= 0)
            size_B = HD_MAX(size_B, s->offset + s->size_B);
    }
    for (size_t i = 0; i < l->tensors.len; i++)
        if (l->storage_of.at[i] >= 0)
            l->tensors.at[i].offset += l->storages.at[l->storage_of.at[i]].offset;
    return size_B;
}

static const struct dnn_program *finish(struct lower *l, const struct klib *klib)
{
    size_t steps_B = l->steps.len * sizeof(struct dnn_step);
    size_t tensors_B = l->tensors.len * sizeof(struct dnn_graph_tensor);
    size_t code_B = l->code.len * sizeof(struct dnn_code);
    size_t slots_B = l->slots.len * sizeof(int64_t);
    size_t size_B = sizeof(struct dnn_program) + steps_B + tensors_B + code_B + slots_B;
    struct dnn_program *p;

    int64_t workspace_B = place_storages(l);
    for (size_t s = 0; s < l->steps.len; s++)
        klib->dnn_graph->plan(&l->steps.at[s], lib_threads());
    p = hd_alloc(size_B);
    if (!p)
        return NULL;
    *p = (struct dnn_program){.size_B = (uint32_t)size_B,
                              .nslots = (uint32_t)l->slots.len,
                              .nsteps = (uint32_t)l->steps.len,
                              .ntensors = (uint32_t)l->tensors.len,
                              .ncode = (uint32_t)l->code.len,
                              .workspace_B = (uint64_t)workspace_B};
    char *to = (char *)(p + 1);
#define PART(vec, bytes)                                                                           \
    if (bytes)                                                                                     \
        memcpy(to, (vec).at, bytes);                                                               \
    to += bytes
    PART(l->steps, steps_B);
    PART(l->tensors, tensors_B);
    PART(l->code, code_B);
    PART(l->slots, slots_B);
#undef PART
    const struct dnn_program *interned = graph_intern(p);
    hd_free(p);
    return interned;
}

const int64_t *graph_slots(const struct dnn_program *program)
{
    return (const int64_t *)(dnn_code(program) + program->ncode);
}

static void fini(struct lower *l)
{
    hd_vec_fini(&l->nodes);
    hd_vec_fini(&l->steps);
    hd_vec_fini(&l->tensors);
    hd_vec_fini(&l->storage_of);
    hd_vec_fini(&l->storages);
    hd_vec_fini(&l->code);
    hd_vec_fini(&l->slots);
    hd_free(l->roots);
}

cudnnStatus_t graph_lower(const struct graph_body *graph, enum graph_engine engine,
                          const struct graph_override *overrides, size_t noverrides,
                          const struct dnn_program **out_program)
{
    const struct klib *klib = lib_klib(&dnn_info);
    bool is_wide = has_doubles(graph);
    cudnnStatus_t status;

    *out_program = NULL;
    if (!klib)
        return GRAPH_FAIL(CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE,
                          "the kernel library is not there");
    do {
        struct lower l = {.graph = graph,
                          .engine = engine,
                          .overrides = overrides,
                          .noverrides = noverrides,
                          .is_wide = is_wide};
        static const struct graph_node nothing = {.state = VALUE_UNKNOWN, .same = NONE};
        (void)PUSH(&l, &l.nodes, nothing);
        if (!l.status)
            operations(&l, graph);
        (void)expand_all(&l);
        while (l.nroots && !l.status)
            emit_roots(&l, 0);
        is_wide = l.is_wide;
        status = l.status;
        if (!status && !(*out_program = finish(&l, klib)))
            status = GRAPH_FAIL(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED,
                                "no memory for a program");
        fini(&l);
    } while (status == CUDNN_STATUS_RUNTIME_IN_PROGRESS);
    return status;
}
