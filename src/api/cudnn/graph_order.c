/* Steps in the order in which their tensors lie in memory. See graph_lower.h. */
#include "api/cudnn/graph_lower.h"

#include <assert.h>
#include <string.h>

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
    return lower_add_tensor(l, &out, l->storage_of.at[tensor]);
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
            lower_elements(l->tensors.at[c->tensor].dims) > 1)
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

void lower_order_code(struct lower *l, struct dnn_step *s)
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
void lower_order_reduce(struct lower *l, struct dnn_step *s)
{
    int perm[DNN_DIMS], order[DNN_DIMS], kept = 0, at = 0;
    int16_t first = first_tensor(l, s->operands[0], DNN_LOAD);
    int64_t of[DNN_DIMS];

    memcpy(of, s->operand_dims[0], sizeof(of));
    by_stride(first >= 0 ? &l->tensors.at[first] : NULL, of, order);
    int last = order[DNN_DIMS - 1];
    bool columns =
        of[last] > 1 && s->dims[last] == of[last] && lower_elements(s->dims) < lower_elements(of);
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
