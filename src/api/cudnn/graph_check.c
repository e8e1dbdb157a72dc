/* What finalising a descriptor checks, and what the library then knows of it. */
#include "api/cudnn/graph.h"

#include <string.h>

#include "base/mem.h"

#define AT(body, name)    graph_body_at(body, CUDNN_ATTR_##name)
#define WHOLE(body, name) graph_whole(body, CUDNN_ATTR_##name, 0)
#define CHECK(condition, status, ...)                                                              \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return GRAPH_FAIL(CUDNN_STATUS_##status, __VA_ARGS__);                                 \
    } while (0)

static int64_t count_of(const struct graph_body *body, cudnnBackendAttributeName_t name)
{
    const struct graph_value *v = graph_find(body, name);

    return v ? v->count : 0;
}

static const int64_t *dims_of(const struct graph_body *tensor)
{
    return graph_find(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS)->values;
}

static int rank_of(const struct graph_body *tensor)
{
    return (int)count_of(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
}

/* Is x what y is, where dimensions of 1 are for all of y's? Ranks need not be alike. */
static bool spreads(const struct graph_body *x, const struct graph_body *y)
{
    int rx = rank_of(x), ry = rank_of(y);

    for (int d = 1; d <= rx; d++) {
        int64_t of_x = dims_of(x)[rx - d], of_y = d <= ry ? dims_of(y)[ry - d] : 1;
        if (of_x != 1 && of_x != of_y)
            return false;
    }
    return true;
}

/* A constant of the host's is read now: its bits take the place of its address. */
static cudnnStatus_t read_constant(struct graph_body *b)
{
    const struct graph_value *v = graph_find(b, CUDNN_ATTR_TENSOR_CONSTANT_VALUE);
    void *bits = NULL;
    size_t size_B;

    if (!v || v->type != CUDNN_TYPE_VOID_PTR)
        return CUDNN_STATUS_SUCCESS;
    switch (WHOLE(b, TENSOR_DATA_TYPE)) {
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
        size_B = 8;
        break;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
        size_B = 2;
        break;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
        size_B = 4;
        break;
    default:
        size_B = 1;
    }
    CHECK(*(void **)v->values, BAD_PARAM_NULL_POINTER, "CUDNN_ATTR_TENSOR_CONSTANT_VALUE is NULL");
    memcpy(&bits, *(void **)v->values, size_B);
    return graph_put(b, CUDNN_ATTR_TENSOR_CONSTANT_VALUE, CUDNN_TYPE_INT64, 1, &bits);
}

static cudnnStatus_t check_tensor(struct graph_body *b)
{
    int64_t rank = count_of(b, CUDNN_ATTR_TENSOR_DIMENSIONS);
    const int64_t *strides = graph_find(b, CUDNN_ATTR_TENSOR_STRIDES)->values;
    int64_t alignment = WHOLE(b, TENSOR_BYTE_ALIGNMENT);

    CHECK(rank == count_of(b, CUDNN_ATTR_TENSOR_STRIDES), BAD_PARAM_SHAPE_MISMATCH,
          "a tensor has %lld dimensions and %lld strides", (long long)rank,
          (long long)count_of(b, CUDNN_ATTR_TENSOR_STRIDES));
    for (int64_t d = 0; d < rank; d++) {
        CHECK(dims_of(b)[d] > 0, BAD_PARAM_OUT_OF_BOUND, "dimension %lld of a tensor is %lld",
              (long long)d, (long long)dims_of(b)[d]);
        CHECK(strides[d] >= 0, BAD_PARAM_OUT_OF_BOUND, "stride %lld of a tensor is %lld",
              (long long)d, (long long)strides[d]);
    }
    CHECK(alignment > 0 && !(alignment & (alignment - 1)), BAD_PARAM_OUT_OF_BOUND,
          "the alignment of a tensor is %lld, which is no power of two", (long long)alignment);
    return read_constant(b);
}

/* As many values as there are dimensions of space. */
static cudnnStatus_t check_space(const struct graph_body *b, int64_t spatial,
                                 const cudnnBackendAttributeName_t *names, size_t n)
{
    CHECK(spatial >= 1 && spatial <= 3, NOT_SUPPORTED_SHAPE, "%s of %lld spatial dimensions",
          graph_kind_name(b->kind), (long long)spatial);
    for (size_t i = 0; i < n; i++)
        CHECK(count_of(b, names[i]) >= spatial, BAD_PARAM_SHAPE_MISMATCH,
              "%s has %lld values for %lld spatial dimensions", graph_attribute_name(names[i]),
              (long long)count_of(b, names[i]), (long long)spatial);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_convolution(const struct graph_body *b)
{
    static const cudnnBackendAttributeName_t names[] = {
        CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
        CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS};
    int64_t spatial = WHOLE(b, CONVOLUTION_SPATIAL_DIMS);
    cudnnStatus_t status = check_space(b, spatial, names, HD_COUNT_OF(names));

    for (int64_t d = 0; !status && d < spatial; d++)
        for (size_t i = 0; i < 2; i++)
            CHECK(((const int64_t *)graph_find(b, names[i])->values)[d] > 0, BAD_PARAM_OUT_OF_BOUND,
                  "%s %lld is not positive", graph_attribute_name(names[i]), (long long)d);
    return status;
}

static cudnnStatus_t check_resample(const struct graph_body *b)
{
    static const cudnnBackendAttributeName_t names[] = {CUDNN_ATTR_RESAMPLE_WINDOW_DIMS,
                                                        CUDNN_ATTR_RESAMPLE_STRIDES,
                                                        CUDNN_ATTR_RESAMPLE_PRE_PADDINGS};
    int64_t spatial = WHOLE(b, RESAMPLE_SPATIAL_DIMS);
    cudnnStatus_t status = check_space(b, spatial, names, HD_COUNT_OF(names));

    for (size_t i = 0; !status && i < HD_COUNT_OF(names); i++) {
        const cudnnFraction_t *f = graph_find(b, names[i])->values;
        for (int64_t d = 0; d < spatial; d++)
            CHECK(f[d].denominator > 0 && (f[d].numerator > 0 || (i == 2 && f[d].numerator >= 0)),
                  BAD_PARAM_OUT_OF_BOUND, "%s %lld is %lld/%lld", graph_attribute_name(names[i]),
                  (long long)d, (long long)f[d].numerator, (long long)f[d].denominator);
    }
    return status;
}

/* x, w, y of a convolution: y is what the sizes say. */
static cudnnStatus_t check_conv_op(const struct graph_body *conv, const struct graph_body *x,
                                   const struct graph_body *w, const struct graph_body *y)
{
    int64_t spatial = WHOLE(conv, CONVOLUTION_SPATIAL_DIMS);
    const int64_t *pre = graph_find(conv, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)->values;
    const int64_t *post = graph_find(conv, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)->values;
    const int64_t *stride = graph_find(conv, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)->values;
    const int64_t *dilation = graph_find(conv, CUDNN_ATTR_CONVOLUTION_DILATIONS)->values;

    CHECK(rank_of(x) == spatial + 2 && rank_of(w) == spatial + 2 && rank_of(y) == spatial + 2,
          BAD_PARAM_SHAPE_MISMATCH,
          "a convolution of %lld spatial dimensions has tensors of %d, %d and %d dimensions",
          (long long)spatial, rank_of(x), rank_of(w), rank_of(y));
    const int64_t *xd = dims_of(x), *wd = dims_of(w), *yd = dims_of(y);
    CHECK(xd[0] == yd[0] && wd[0] == yd[1] && xd[1] % wd[1] == 0 &&
              wd[0] % (xd[1] / HD_MAX(wd[1], 1)) == 0,
          BAD_PARAM_SHAPE_MISMATCH,
          "a convolution of %lld images of %lld channels by %lld filters of %lld channels has no "
          "result of %lld images of %lld channels",
          (long long)xd[0], (long long)xd[1], (long long)wd[0], (long long)wd[1], (long long)yd[0],
          (long long)yd[1]);
    for (int64_t d = 0; d < spatial; d++) {
        int64_t reach = (wd[d + 2] - 1) * dilation[d] + 1;
        int64_t size = (xd[d + 2] + pre[d] + post[d] - reach) / stride[d] + 1;
        CHECK(yd[d + 2] == size, BAD_PARAM_SHAPE_MISMATCH,
              "spatial dimension %lld of a convolution's result is %lld, not %lld", (long long)d,
              (long long)size, (long long)yd[d + 2]);
    }
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_matmul(const struct graph_body *b)
{
    const struct graph_body *x = AT(b, OPERATION_MATMUL_ADESC), *y = AT(b, OPERATION_MATMUL_BDESC);
    const struct graph_body *c = AT(b, OPERATION_MATMUL_CDESC);
    int r = rank_of(c);

    CHECK(r >= 2 && rank_of(x) == r && rank_of(y) == r, BAD_PARAM_SHAPE_MISMATCH,
          "a product has matrices of %d, %d and %d dimensions", rank_of(x), rank_of(y), r);
    const int64_t *xd = dims_of(x), *yd = dims_of(y), *cd = dims_of(c);
    CHECK(xd[r - 2] == cd[r - 2] && yd[r - 1] == cd[r - 1] && xd[r - 1] == yd[r - 2],
          BAD_PARAM_SHAPE_MISMATCH, "%lld x %lld elements times %lld x %lld make no %lld x %lld",
          (long long)xd[r - 2], (long long)xd[r - 1], (long long)yd[r - 2], (long long)yd[r - 1],
          (long long)cd[r - 2], (long long)cd[r - 1]);
    for (int d = 0; d < r - 2; d++)
        CHECK(cd[d] % xd[d] == 0 && cd[d] % yd[d] == 0, BAD_PARAM_SHAPE_MISMATCH,
              "dimension %d of a batch of products is %lld and %lld, which do not divide %lld", d,
              (long long)xd[d], (long long)yd[d], (long long)cd[d]);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_pointwise(const struct graph_body *b)
{
    const struct graph_body *pw = AT(b, OPERATION_POINTWISE_PW_DESCRIPTOR);
    int64_t mode = WHOLE(pw, POINTWISE_MODE);
    bool is_bwd = AT(b, OPERATION_POINTWISE_DYDESC) != NULL;
    const struct graph_body *to =
        is_bwd ? AT(b, OPERATION_POINTWISE_DXDESC) : AT(b, OPERATION_POINTWISE_YDESC);
    const struct graph_body *from[] = {AT(b, OPERATION_POINTWISE_XDESC),
                                       is_bwd ? AT(b, OPERATION_POINTWISE_DYDESC)
                                              : AT(b, OPERATION_POINTWISE_BDESC),
                                       AT(b, OPERATION_POINTWISE_TDESC)};
    static const struct {
        int mode, args;
    } modes[] = {
#define X(name, args, value) {CUDNN_POINTWISE_##name, args},
        DNN_POINTWISE_LIST(X)
#undef X
            {CUDNN_POINTWISE_GEN_INDEX, 1}};
    int args = 0;

    for (size_t i = 0; i < HD_COUNT_OF(modes); i++)
        if (modes[i].mode == mode)
            args = modes[i].args;
    CHECK(args, NOT_SUPPORTED, "there is no pointwise mode %lld", (long long)mode);
    CHECK(to, BAD_PARAM, "a pointwise operation has no result: it needs %s",
          is_bwd ? "CUDNN_ATTR_OPERATION_POINTWISE_DXDESC"
                 : "CUDNN_ATTR_OPERATION_POINTWISE_YDESC");
    for (int i = 0; i < args; i++) {
        CHECK(from[i], BAD_PARAM, "pointwise mode %lld has %d arguments; number %d is not set",
              (long long)mode, args, i + 1);
        CHECK(spreads(from[i], to), BAD_PARAM_SHAPE_MISMATCH,
              "argument %d of a pointwise operation does not have the result's dimensions, or 1",
              i + 1);
    }
    return CUDNN_STATUS_SUCCESS;
}

/* A dimension of the result is the operand's, or so many of its groups, down to 1. */
static cudnnStatus_t check_reduction(const struct graph_body *b)
{
    const struct graph_body *x = AT(b, OPERATION_REDUCTION_XDESC);
    const struct graph_body *y = AT(b, OPERATION_REDUCTION_YDESC);

    CHECK(rank_of(x) == rank_of(y), BAD_PARAM_SHAPE_MISMATCH,
          "a reduction of %d dimensions has a result of %d", rank_of(x), rank_of(y));
    for (int d = 0; d < rank_of(x); d++)
        CHECK(dims_of(x)[d] % dims_of(y)[d] == 0, BAD_PARAM_SHAPE_MISMATCH,
              "dimension %d of a reduction is %lld, and the result's %lld", d,
              (long long)dims_of(x)[d], (long long)dims_of(y)[d]);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_alike(const struct graph_body *x, const struct graph_body *y)
{
    CHECK(spreads(x, y) && spreads(y, x), BAD_PARAM_SHAPE_MISMATCH,
          "an operation's result does not have its operand's dimensions");
    return CUDNN_STATUS_SUCCESS;
}

/* ---- engines, configurations, plans */

/* How many uids are in which order; each once. */
static cudnnStatus_t check_pack(const struct graph_body *b)
{
    const struct graph_value *uids = graph_find(b, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const int64_t *uid = uids->values;

    CHECK(uids->count == count_of(b, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS),
          BAD_PARAM_SHAPE_MISMATCH, "a variant pack has %lld uids and %lld pointers",
          (long long)uids->count, (long long)count_of(b, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS));
    for (int64_t i = 0; i < uids->count; i++)
        for (int64_t j = 0; j < i; j++)
            CHECK(uid[i] != uid[j], BAD_PARAM_DUPLICATED_ENTRIES,
                  "a variant pack has uid %lld twice", (long long)uid[i]);
    return CUDNN_STATUS_SUCCESS;
}

static bool is_operation(enum graph_kind kind)
{
    return !strncmp(graph_kind_name(kind), "OPERATION_", strlen("OPERATION_"));
}

static cudnnStatus_t check_graph(struct graph_body *b)
{
    const struct graph_value *ops = graph_find(b, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    int64_t engines = GRAPH_ENGINES;

    for (int64_t i = 0; i < ops->count; i++) {
        enum graph_kind kind = ((struct graph_body **)ops->values)[i]->kind;
        CHECK(is_operation(kind), BAD_PARAM, "operation %lld of a graph is a descriptor of %s",
              (long long)i, graph_kind_name(kind));
    }
    return graph_put(b, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, 1,
                     &engines);
}

static cudnnStatus_t check_engine(struct graph_body *b)
{
    int64_t index = WHOLE(b, ENGINE_GLOBAL_INDEX);
    int32_t note = CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API;
    cudnnStatus_t status;

    CHECK(index >= 0 && index < GRAPH_ENGINES, BAD_PARAM_OUT_OF_BOUND,
          "there is no engine %lld: engines are 0 to %d", (long long)index, GRAPH_ENGINES - 1);
    status = graph_put(b, CUDNN_ATTR_ENGINE_KNOB_INFO, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, NULL);
    if (!status)
        status = graph_put(b, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 0, NULL);
    return status
               ? status
               : graph_put(b, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, 1, &note);
}

static cudnnStatus_t check_config(struct graph_body *b)
{
    const struct graph_body *engine = AT(b, ENGINECFG_ENGINE);
    const struct graph_value *choices = graph_find(b, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
    int32_t shared_B = 0;

    CHECK(!choices || !choices->count, NOT_SUPPORTED, "no engine has a knob to choose");
    cudnnStatus_t status =
        graph_lower(AT(engine, ENGINE_OPERATION_GRAPH),
                    (enum graph_engine)WHOLE(engine, ENGINE_GLOBAL_INDEX), NULL, 0, &b->program);
    if (status)
        return status;
    int64_t workspace_B = (int64_t)b->program->workspace_B;
    status =
        graph_put(b, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, NULL);
    if (!status)
        status =
            graph_put(b, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &workspace_B);
    return status ? status
                  : graph_put(b, CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED, CUDNN_TYPE_INT32, 1,
                              &shared_B);
}

/* A finalised configuration of an engine for a graph. */
static cudnnStatus_t config_of(struct graph_body *graph, int64_t index, struct graph_body **out)
{
    struct graph_body *engine = graph_body_create(GRAPH_ENGINE);
    struct graph_body *config = graph_body_create(GRAPH_ENGINECFG);
    cudnnStatus_t status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;

    if (engine && config)
        status = graph_put(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                           1, &graph);
    if (!status)
        status = graph_put(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
    if (!status)
        status = graph_finalize(engine);
    if (!status)
        status = graph_put(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                           &engine);
    if (!status)
        status = graph_finalize(config);
    graph_body_unref(engine);
    if (status)
        graph_body_unref(config);
    *out = status ? NULL : config;
    return status;
}

/*
 * The fallback is the engine of one operation at a time, all other modes find the fused one: who
 * builds all plans of a mode (cudnn-frontend) runs the last of them.
 */
static cudnnStatus_t check_heuristic(struct graph_body *b)
{
    struct graph_body *graph = AT(b, ENGINEHEUR_OPERATION_GRAPH), *result;
    int64_t mode = WHOLE(b, ENGINEHEUR_MODE);

    CHECK(mode >= 0 && mode < CUDNN_HEUR_MODES_COUNT, BAD_PARAM, "there is no heuristic mode %lld",
          (long long)mode);
    cudnnStatus_t status = config_of(
        graph, mode == CUDNN_HEUR_MODE_FALLBACK ? GRAPH_ENGINE_SINGLE : GRAPH_ENGINE_FUSED,
        &result);
    if (!status)
        status =
            graph_put(b, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &result);
    graph_body_unref(result);
    return status;
}

static cudnnStatus_t check_plan(struct graph_body *b)
{
    const struct graph_body *config = AT(b, EXECUTION_PLAN_ENGINE_CONFIG);
    const struct graph_value *text = graph_find(b, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    cudnnStatus_t status;

    CHECK(config || text, BAD_PARAM, "a plan needs CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG");
    if (!config) {
        struct graph_body *read;
        status = graph_json_read(text->values, (size_t)text->count, GRAPH_ENGINECFG, &read);
        if (!status)
            status = graph_put(b, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &read);
        if (status)
            return status;
        graph_body_unref(read);
        config = read;
    }
    b->program = config->program;
    int64_t workspace_B = (int64_t)b->program->workspace_B;
    return graph_put(b, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                     &workspace_B);
}

cudnnStatus_t graph_check(struct graph_body *b)
{
    switch (b->kind) {
    case GRAPH_TENSOR:
        return check_tensor(b);
    case GRAPH_CONVOLUTION:
        return check_convolution(b);
    case GRAPH_RESAMPLE:
        return check_resample(b);
    case GRAPH_OPERATION_CONVOLUTION_FORWARD:
        return check_conv_op(
            AT(b, OPERATION_CONVOLUTION_FORWARD_CONV_DESC), AT(b, OPERATION_CONVOLUTION_FORWARD_X),
            AT(b, OPERATION_CONVOLUTION_FORWARD_W), AT(b, OPERATION_CONVOLUTION_FORWARD_Y));
    case GRAPH_OPERATION_CONVOLUTION_BACKWARD_DATA:
        return check_conv_op(AT(b, OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC),
                             AT(b, OPERATION_CONVOLUTION_BWD_DATA_DX),
                             AT(b, OPERATION_CONVOLUTION_BWD_DATA_W),
                             AT(b, OPERATION_CONVOLUTION_BWD_DATA_DY));
    case GRAPH_OPERATION_CONVOLUTION_BACKWARD_FILTER:
        return check_conv_op(AT(b, OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC),
                             AT(b, OPERATION_CONVOLUTION_BWD_FILTER_X),
                             AT(b, OPERATION_CONVOLUTION_BWD_FILTER_DW),
                             AT(b, OPERATION_CONVOLUTION_BWD_FILTER_DY));
    case GRAPH_OPERATION_MATMUL:
        return check_matmul(b);
    case GRAPH_OPERATION_POINTWISE:
        return check_pointwise(b);
    case GRAPH_OPERATION_REDUCTION:
        return check_reduction(b);
    case GRAPH_OPERATION_NORM_FORWARD:
        return check_alike(AT(b, OPERATION_NORM_FWD_XDESC), AT(b, OPERATION_NORM_FWD_YDESC));
    case GRAPH_OPERATION_SOFTMAX:
        return check_alike(AT(b, OPERATION_SOFTMAX_XDESC), AT(b, OPERATION_SOFTMAX_YDESC));
    case GRAPH_OPERATIONGRAPH:
        return check_graph(b);
    case GRAPH_ENGINE:
        return check_engine(b);
    case GRAPH_ENGINECFG:
        return check_config(b);
    case GRAPH_ENGINEHEUR:
        return check_heuristic(b);
    case GRAPH_EXECUTION_PLAN:
        return check_plan(b);
    case GRAPH_VARIANT_PACK:
        return check_pack(b);
    default:
        return CUDNN_STATUS_SUCCESS;
    }
}
