/* Operations in their order, and the program that they make. See graph_lower.h. */
#include "api/cudnn/graph_lower.h"

#include <string.h>

#include "base/mem.h"

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
                lower_row_major(y->dims, y->strides);
        }
    }
}

/* Softmaxes that wait for a product become steps, unless one has taken them. False: there are
 * none. */
static bool expand_all(struct lower *l)
{
    bool found = false;

    for (size_t i = 0; i < l->nodes.len && !l->status; i++)
        if (l->nodes.at[i].state == VALUE_LAZY && !l->nodes.at[i].is_fused) {
            (void)lower_expanded(l, (graph_v)i);
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
        if (!lower_same_dims(lower_node(l, v)->dims, input.dims))
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

static struct dnn_program *finish(struct lower *l, const struct klib *klib)
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
    struct dnn_program *interned = graph_intern(p);
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
                          struct dnn_program **out_program)
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
        (void)LOWER_PUSH(&l, &l.nodes, nothing);
        if (!l.status)
            operations(&l, graph);
        (void)expand_all(&l);
        while (l.nroots && !l.status)
            lower_emit_roots(&l, 0);
        is_wide = l.is_wide;
        status = l.status;
        if (!status && !(*out_program = finish(&l, klib)))
            status = GRAPH_FAIL(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED,
                                "no memory for a program");
        fini(&l);
    } while (status == CUDNN_STATUS_RUNTIME_IN_PROGRESS);
    return status;
}
