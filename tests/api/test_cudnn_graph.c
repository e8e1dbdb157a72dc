/* cuDNN's backend: descriptors, plans, texts, CUDA graphs; elementwise operations, sums, views. */
#include "cudnn_graph_fixture.h"

#include <cuda.h>
#include <malloc.h>

/* ---- descriptors */

static void test_attributes(void)
{
    int64_t dims[3] = {2, 3, 5}, strides[2] = {3, 1}, values[4] = {7, 7, 7, 7}, n = -1;
    desc_t t, other;
    char text[256];
    bool yes = true;

    fails(cudnnBackendCreateDescriptor(D(TENSOR), NULL), BAD_PARAM_NULL_POINTER);
    fails(cudnnBackendCreateDescriptor((cudnnBackendDescriptorType_t)9999, &other), NOT_SUPPORTED);
    t = new_desc(D(TENSOR));
    fails(cudnnBackendSetAttribute(NULL, A(TENSOR_DIMENSIONS), CUDNN_TYPE_INT64, 3, dims),
          BAD_PARAM_NULL_POINTER);
    fails(cudnnBackendSetAttribute(t, A(TENSOR_DIMENSIONS), CUDNN_TYPE_INT64, 3, NULL),
          BAD_PARAM_NULL_POINTER);
    fails(cudnnBackendSetAttribute(t, A(TENSOR_DIMENSIONS), CUDNN_TYPE_INT64, -1, dims),
          BAD_PARAM_OUT_OF_BOUND);
    fails(cudnnBackendSetAttribute(t, A(TENSOR_DIMENSIONS), CUDNN_TYPE_INT64, 9, dims),
          BAD_PARAM_OUT_OF_BOUND);
    fails(cudnnBackendSetAttribute(t, A(TENSOR_DIMENSIONS), CUDNN_TYPE_INT32, 3, dims),
          BAD_PARAM_ATTRIBUTE_TYPE);
    fails(cudnnBackendSetAttribute(t, A(MATMUL_COMP_TYPE), CUDNN_TYPE_DATA_TYPE, 1, dims),
          BAD_PARAM);
    cudnnGetLastErrorString(text, sizeof(text));
    ok(strstr(text, "CUDNN_ATTR_MATMUL_COMP_TYPE") && strstr(text, "TENSOR"),
       "the error names both: %s", text);
    fails(cudnnBackendSetAttribute(t, (cudnnBackendAttributeName_t)4321, CUDNN_TYPE_INT64, 1, dims),
          BAD_PARAM);
    set(t, A(TENSOR_DIMENSIONS), CUDNN_TYPE_INT64, 3, dims);
    dims[1] = 4;
    set(t, A(TENSOR_DIMENSIONS), CUDNN_TYPE_INT64, 3, dims);
    fails(cudnnBackendGetAttribute(t, A(TENSOR_DIMENSIONS), CUDNN_TYPE_INT64, 3, &n, values),
          BAD_PARAM_NOT_FINALIZED);
    fails(cudnnBackendFinalize(t), BAD_PARAM);
    cudnnGetLastErrorString(text, sizeof(text));
    ok(strstr(text, "CUDNN_ATTR_TENSOR_"), "the error names what is missing: %s", text);
    set(t, A(TENSOR_STRIDES), CUDNN_TYPE_INT64, 2, strides);
    set_whole(t, A(TENSOR_UNIQUE_ID), 5);
    set_whole(t, A(TENSOR_BYTE_ALIGNMENT), 16);
    set_enum(t, A(TENSOR_DATA_TYPE), CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    fails(cudnnBackendFinalize(t), BAD_PARAM_SHAPE_MISMATCH);
    set(t, A(TENSOR_STRIDES), CUDNN_TYPE_INT64, 3, (int64_t[]){20, 5, 1});
    set_whole(t, A(TENSOR_BYTE_ALIGNMENT), 12);
    fails(cudnnBackendFinalize(t), BAD_PARAM_OUT_OF_BOUND);
    set_whole(t, A(TENSOR_BYTE_ALIGNMENT), 16);
    set(t, A(TENSOR_DIMENSIONS), CUDNN_TYPE_INT64, 3, (int64_t[]){2, 0, 5});
    fails(cudnnBackendFinalize(t), BAD_PARAM_OUT_OF_BOUND);
    set(t, A(TENSOR_DIMENSIONS), CUDNN_TYPE_INT64, 3, dims);
    other = new_desc(D(OPERATION_RESHAPE));
    fails(cudnnBackendSetAttribute(other, A(OPERATION_RESHAPE_XDESC), CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                   1, &t),
          BAD_PARAM_NOT_FINALIZED);
    works(cudnnBackendFinalize(t));
    works(cudnnBackendFinalize(t));
    fails(cudnnBackendSetAttribute(t, A(TENSOR_IS_VIRTUAL), CUDNN_TYPE_BOOLEAN, 1, &yes),
          BAD_PARAM);
    works(cudnnBackendGetAttribute(t, A(TENSOR_DIMENSIONS), CUDNN_TYPE_INT64, 2, &n, values));
    ok(n == 3 && values[0] == 2 && values[1] == 4 && values[2] == 7, "two of three dimensions");
    fails(cudnnBackendGetAttribute(t, A(TENSOR_IS_VIRTUAL), CUDNN_TYPE_BOOLEAN, 1, &n, values),
          BAD_PARAM);
    fails(cudnnBackendGetAttribute(t, A(TENSOR_DIMENSIONS), CUDNN_TYPE_INT32, 4, &n, values),
          BAD_PARAM_ATTRIBUTE_TYPE);
    /* A descriptor of another kind. */
    fails(cudnnBackendSetAttribute(other, A(OPERATION_RESHAPE_XDESC), CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                   1, (desc_t[]){NULL}),
          BAD_PARAM_NULL_POINTER);
    desc_t matmul = new_desc(D(OPERATION_MATMUL));
    fails(cudnnBackendSetAttribute(matmul, A(OPERATION_MATMUL_DESC), CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                   1, &t),
          BAD_PARAM_DESCRIPTOR_TYPE);
    works(cudnnBackendInitialize(t));
    set(t, A(TENSOR_DIMENSIONS), CUDNN_TYPE_INT64, 3, dims);
    works(cudnnBackendDestroyDescriptor(NULL));
    clear();
}

static void fails_to_end(desc_t op, cudnnStatus_t status, const char *what)
{
    eq_u64(cudnnBackendFinalize(op), status, "%s", what);
}

static void test_wrong_shapes(void)
{
    struct gt *a = TENSOR(FLOAT, ROWS, 2, 3, 4), *b = TENSOR(FLOAT, ROWS, 2, 5, 6);
    struct gt *c = TENSOR(FLOAT, ROWS, 2, 3, 6), *v = TENSOR(FLOAT, VIRTUAL, 2, 3, 4);
    desc_t m = new_desc(D(MATMUL)), op = new_desc(D(OPERATION_MATMUL)), graph, config;
    desc_t pw = pointwise_desc(CUDNN_POINTWISE_ADD), plan;

    set_enum(m, A(MATMUL_COMP_TYPE), CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    need(cudnnBackendFinalize(m));
    need(cudnnBackendFinalize(pw));
    fails_to_end(op, CUDNN_STATUS_BAD_PARAM, "a product of nothing");
    set_desc(op, A(OPERATION_MATMUL_DESC), m);
    (void)op_tensors(op, A(OPERATION_MATMUL_ADESC), a, A(OPERATION_MATMUL_BDESC), b,
                     A(OPERATION_MATMUL_CDESC), c, -1);
    fails_to_end(op, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "3 x 4 times 5 x 6");
    op = new_desc(D(OPERATION_POINTWISE));
    set_desc(op, A(OPERATION_POINTWISE_PW_DESCRIPTOR), pw);
    (void)op_tensors(op, A(OPERATION_POINTWISE_XDESC), a, A(OPERATION_POINTWISE_YDESC), a, -1);
    fails_to_end(op, CUDNN_STATUS_BAD_PARAM, "a sum of one thing");
    (void)op_tensors(op, A(OPERATION_POINTWISE_BDESC), b, -1);
    fails_to_end(op, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "a sum of different shapes");
    /* A virtual tensor that nothing makes: told by whoever looks for an engine. */
    op_pointwise(CUDNN_POINTWISE_ABS, v, NULL, NULL, a);
    need(graph_of(&graph));
    config = new_desc(D(ENGINEHEUR));
    set_desc(config, A(ENGINEHEUR_OPERATION_GRAPH), graph);
    set_enum(config, A(ENGINEHEUR_MODE), CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
    fails(cudnnBackendFinalize(config), BAD_PARAM);
    eq_u64(plan_of(0, &plan), CUDNN_STATUS_BAD_PARAM, "no plan, either");
    desc_t engine = new_desc(D(ENGINE));
    set_desc(engine, A(ENGINE_OPERATION_GRAPH), graph);
    set_whole(engine, A(ENGINE_GLOBAL_INDEX), 2);
    fails(cudnnBackendFinalize(engine), BAD_PARAM_OUT_OF_BOUND);
    graph = new_desc(D(OPERATIONGRAPH));
    fails(cudnnBackendFinalize(graph), BAD_PARAM);
    set(graph, A(OPERATIONGRAPH_OPS), CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &a->desc);
    fails(cudnnBackendFinalize(graph), BAD_PARAM);
    clear();
}

/* y = |x| + 1, in two operations. */
static void small_graph(struct gt **x, struct gt **y)
{
    struct gt *v = TENSOR(FLOAT, VIRTUAL, 4, 2, 300, 1);

    *x = filled(TENSOR(FLOAT, ROWS, 4, 2, 300, 1));
    *y = TENSOR(FLOAT, ROWS, 4, 2, 300, 1);
    op_pointwise(CUDNN_POINTWISE_ABS, *x, NULL, NULL, v);
    op_pointwise(CUDNN_POINTWISE_ADD, v, number(1), NULL, *y);
}

static bool is_right(const struct gt *x, const struct gt *y)
{
    for (int64_t i = 0; i < x->n; i++)
        if (got(y, i) != (double)(float)(fabs(got(x, i)) + 1))
            return false;
    return true;
}

static void test_heuristics(void)
{
    struct gt *x, *y;
    desc_t graph, heuristic, configs[2], engine = new_desc(D(ENGINE)), plan, fallback = NULL;
    int64_t n = -1, index = -1, size_B = -1;
    int32_t notes[10];

    small_graph(&x, &y);
    need(graph_of(&graph));
    works(cudnnBackendGetAttribute(graph, A(OPERATIONGRAPH_ENGINE_GLOBAL_COUNT), CUDNN_TYPE_INT64,
                                   1, &n, &index));
    ok(n == 1 && index == 2, "two engines");
    for (int mode = 0; mode < CUDNN_HEUR_MODES_COUNT; mode++) {
        heuristic = new_desc(D(ENGINEHEUR));
        set_desc(heuristic, A(ENGINEHEUR_OPERATION_GRAPH), graph);
        set_enum(heuristic, A(ENGINEHEUR_MODE), CUDNN_TYPE_HEUR_MODE, mode);
        works(cudnnBackendFinalize(heuristic));
        works(cudnnBackendGetAttribute(heuristic, A(ENGINEHEUR_RESULTS),
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &n, NULL));
        eq_u64((uint64_t)n, 1, "one configuration of mode %d", mode);
        for (int i = 0; i < 2; i++)
            configs[i] = new_desc(D(ENGINECFG));
        works(cudnnBackendGetAttribute(heuristic, A(ENGINEHEUR_RESULTS),
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 2, &n, configs));
        eq_u64((uint64_t)n, 1, "one is filled");
        fails(cudnnBackendGetAttribute(heuristic, A(ENGINEHEUR_RESULTS),
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &engine),
              BAD_PARAM);
        works(cudnnBackendGetAttribute(configs[0], A(ENGINECFG_ENGINE),
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &engine));
        works(cudnnBackendGetAttribute(engine, A(ENGINE_GLOBAL_INDEX), CUDNN_TYPE_INT64, 1, &n,
                                       &index));
        eq_u64((uint64_t)index, mode == CUDNN_HEUR_MODE_FALLBACK, "the engine of mode %d", mode);
        works(cudnnBackendGetAttribute(configs[0], A(ENGINECFG_WORKSPACE_SIZE), CUDNN_TYPE_INT64, 1,
                                       &n, &size_B));
        ok(mode == CUDNN_HEUR_MODE_FALLBACK ? size_B >= 4 * x->n : size_B == 0,
           "one pass needs no workspace, an operation after the other %lld bytes",
           (long long)size_B);
        if (mode == CUDNN_HEUR_MODE_FALLBACK)
            fallback = configs[0];
        engine = new_desc(D(ENGINE));
    }
    set_desc(engine, A(ENGINE_OPERATION_GRAPH), graph);
    set_whole(engine, A(ENGINE_GLOBAL_INDEX), 0);
    works(cudnnBackendFinalize(engine));
    works(cudnnBackendGetAttribute(engine, A(ENGINE_BEHAVIOR_NOTE), CUDNN_TYPE_BEHAVIOR_NOTE, 10,
                                   &n, notes));
    ok(n == 1 && notes[0] == CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API,
       "it can be part of a CUDA graph");
    works(cudnnBackendGetAttribute(engine, A(ENGINE_NUMERICAL_NOTE), CUDNN_TYPE_NUMERICAL_NOTE, 10,
                                   &n, notes));
    eq_u64((uint64_t)n, 0, "no notes on numbers");
    plan = new_desc(D(EXECUTION_PLAN));
    fails(cudnnBackendFinalize(plan), BAD_PARAM);
    set_desc(plan, A(EXECUTION_PLAN_ENGINE_CONFIG), fallback);
    need(cudnnBackendFinalize(plan));
    fails(cudnnBackendExecute(handle, plan, pack_of(NULL)), BAD_PARAM_NULL_POINTER);
    fails(cudnnBackendExecute(handle, graph, pack_of(NULL)), BAD_PARAM_DESCRIPTOR_TYPE);
    fails(cudnnBackendExecute(NULL, plan, pack_of(NULL)), BAD_PARAM_NULL_POINTER);
    need(plan_of(0, &plan));
    desc_t pack = new_desc(D(VARIANT_PACK));
    fails(cudnnBackendFinalize(pack), BAD_PARAM);
    set(pack, A(VARIANT_PACK_UNIQUE_IDS), CUDNN_TYPE_INT64, 2, (int64_t[]){x->uid, x->uid});
    set(pack, A(VARIANT_PACK_DATA_POINTERS), CUDNN_TYPE_VOID_PTR, 1, (void *[]){x->at});
    fails(cudnnBackendFinalize(pack), BAD_PARAM_SHAPE_MISMATCH);
    set(pack, A(VARIANT_PACK_DATA_POINTERS), CUDNN_TYPE_VOID_PTR, 2, (void *[]){x->at, x->at});
    fails(cudnnBackendFinalize(pack), BAD_PARAM_DUPLICATED_ENTRIES);
    set(pack, A(VARIANT_PACK_UNIQUE_IDS), CUDNN_TYPE_INT64, 2, (int64_t[]){x->uid, 1});
    fails(cudnnBackendExecute(handle, plan, pack), BAD_PARAM_NOT_FINALIZED);
    works(cudnnBackendFinalize(pack));
    fails(cudnnBackendExecute(handle, plan, pack), BAD_PARAM);
    need(cudnnBackendExecute(handle, plan, pack_of(NULL)));
    eq_u64(cudaDeviceSynchronize(), cudaSuccess, "it runs");
    ok(is_right(x, y), "and is right");
    clear();
}

/* Attention's scores by a graph that is not there any more when the plan is read again. */
static void test_text(void)
{
    struct gt *x, *y;
    desc_t plan, read, config = new_desc(D(ENGINECFG));
    int64_t n = 0, m = 0;
    char *text;

    small_graph(&x, &y);
    need(plan_of(0, &plan));
    works(cudnnBackendGetAttribute(plan, A(EXECUTION_PLAN_JSON_REPRESENTATION), CUDNN_TYPE_CHAR, 0,
                                   &n, NULL));
    ok(n > 100, "the text has %lld characters", (long long)n);
    text = calloc(1, (size_t)n + 1);
    works(cudnnBackendGetAttribute(plan, A(EXECUTION_PLAN_JSON_REPRESENTATION), CUDNN_TYPE_CHAR, n,
                                   &m, text));
    ok(m == n && strstr(text, "CUDNN_ATTR_POINTWISE_MODE"), "it names attributes");
    read = new_desc(D(EXECUTION_PLAN));
    set(read, A(EXECUTION_PLAN_JSON_REPRESENTATION), CUDNN_TYPE_CHAR, n, text);
    need(cudnnBackendFinalize(read));
    need(cudnnBackendExecute(handle, read, pack_of(NULL)));
    (void)cudaDeviceSynchronize();
    ok(is_right(x, y), "a plan of its text is right");
    works(cudnnBackendGetAttribute(read, A(EXECUTION_PLAN_ENGINE_CONFIG),
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &m, &config));
    /* Text that is cut, or where a character is another one, is refused or a plan. */
    for (int64_t i = 0; i < n; i += 3) {
        desc_t bad;
        char kept = text[i];
        need(cudnnBackendCreateDescriptor(D(EXECUTION_PLAN), &bad));
        if (i % 2)
            text[i] = (char)('0' + i % 70);
        set(bad, A(EXECUTION_PLAN_JSON_REPRESENTATION), CUDNN_TYPE_CHAR, i % 2 ? n : i, text);
        cudnnStatus_t status = cudnnBackendFinalize(bad);
        if (i % 2 == 0 && !status)
            ok(false, "text that is cut at %lld makes a plan", (long long)i);
        text[i] = kept;
        (void)cudnnBackendDestroyDescriptor(bad);
    }
    char *format = strstr(text, "\"heddle_cudnn\": 1");
    ok(format, "the format");
    if (format)
        format[strlen("\"heddle_cudnn\": ")] = '7';
    read = new_desc(D(EXECUTION_PLAN));
    set(read, A(EXECUTION_PLAN_JSON_REPRESENTATION), CUDNN_TYPE_CHAR, n, text);
    fails(cudnnBackendFinalize(read), SERIALIZATION_VERSION_MISMATCH);
    free(text);
    clear();
}

static void test_cuda_graph(void)
{
    struct gt *x, *y, *z;
    desc_t plan;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStream_t stream;
    void *workspace = NULL, *at;
    size_t nodes = 0;

    small_graph(&x, &y);
    z = TENSOR(FLOAT, ROWS, 4, 2, 300, 1);
    need(plan_of(1, &plan));
    (void)cudaMalloc(&workspace, (size_t)workspace_of(plan));
    (void)cudaStreamCreate(&stream);
    eq_u64(cudaGraphCreate(&graph, 0), cudaSuccess, "a graph");
    fails(cudnnBackendPopulateCudaGraph(handle, plan, pack_of(workspace), NULL),
          BAD_PARAM_NULL_POINTER);
    need(cudnnBackendPopulateCudaGraph(handle, plan, pack_of(workspace), graph));
    eq_u64(cudaGraphGetNodes(graph, NULL, &nodes), cudaSuccess, "nodes");
    eq_u64(nodes, 2, "one for each operation");
    eq_u64(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess, "instantiated");
    ok(!is_right(x, y), "nothing has run yet");
    eq_u64(cudaGraphLaunch(exec, stream), cudaSuccess, "launched");
    (void)cudaStreamSynchronize(stream);
    ok(is_right(x, y), "the graph is right");
    (void)cudaGraphExecDestroy(exec);
    at = y->at;
    y->at = z->at;
    z->at = at;
    need(cudnnBackendUpdateCudaGraph(handle, plan, pack_of(workspace), graph));
    eq_u64(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess, "instantiated again");
    ok(!is_right(x, y), "its result is not there yet");
    (void)cudaGraphLaunch(exec, stream);
    (void)cudaStreamSynchronize(stream);
    ok(is_right(x, y), "the updated graph writes elsewhere");
    need(plan_of(0, &plan));
    fails(cudnnBackendUpdateCudaGraph(handle, plan, pack_of(workspace), graph),
          BAD_PARAM_CUDA_GRAPH_MISMATCH);
    (void)cudaGraphExecDestroy(exec);
    (void)cudaGraphDestroy(graph);
    (void)cudaStreamDestroy(stream);
    (void)cudaFree(workspace);
    clear();
}

/* Shapes that an execution has in place of the graph's, as C++'s vectors of vectors. */
static void test_overrides(void)
{
    struct gt *x, *y;
    struct {
        int64_t *begin, *end, *cap;
    } shapes[2], strides[2];
    int64_t dims[4] = {4, 2, 10, 1}, of[4] = {20, 10, 1, 1};
    desc_t plan, pack;
    void *first_shape = shapes, *first_stride = strides;

    small_graph(&x, &y);
    need(plan_of(0, &plan));
    for (int i = 0; i < 2; i++) {
        shapes[i].begin = dims;
        strides[i].begin = of;
        shapes[i].end = shapes[i].cap = dims + 4;
        strides[i].end = strides[i].cap = of + 4;
    }
    pack = new_desc(D(VARIANT_PACK));
    int64_t uids[3] = {x->uid, y->uid, g.tensors[3].uid};
    void *pointers[3] = {x->at, y->at, g.tensors[3].at};
    set(pack, A(VARIANT_PACK_UNIQUE_IDS), CUDNN_TYPE_INT64, 3, uids);
    set(pack, A(VARIANT_PACK_DATA_POINTERS), CUDNN_TYPE_VOID_PTR, 3, pointers);
    set(pack, A(VARIANT_PACK_OVERRIDE_UNIQUE_IDS), CUDNN_TYPE_INT64, 3,
        (int64_t[]){x->uid, y->uid, g.tensors[0].uid});
    /* Three uids, for the virtual tensor as well. */
    struct {
        int64_t *begin, *end, *cap;
    } three[2][3];
    for (int i = 0; i < 3; i++) {
        memcpy(&three[0][i], &shapes[0], sizeof(shapes[0]));
        memcpy(&three[1][i], &strides[0], sizeof(strides[0]));
    }
    first_shape = three[0];
    first_stride = three[1];
    set(pack, A(VARIANT_PACK_OVERRIDE_SHAPES), CUDNN_TYPE_VOID_PTR, 1, &first_shape);
    set(pack, A(VARIANT_PACK_OVERRIDE_STRIDES), CUDNN_TYPE_VOID_PTR, 1, &first_stride);
    need(cudnnBackendFinalize(pack));
    need(cudnnBackendExecute(handle, plan, pack));
    (void)cudaDeviceSynchronize();
    bool right = true, rest = true;
    for (int i = 0; i < 80; i++)
        right = right && ((float *)y->at)[i] == fabsf(((float *)x->at)[i]) + 1;
    for (int i = 80; i < 2400; i++)
        rest = rest && ((float *)y->at)[i] == 0;
    ok(right && rest, "80 elements, and no others");
    clear();
}

/* ---- elementwise */

static double erf_slope(double x)
{
    return 0.5 * (1 + erf(x / sqrt(2))) + x * exp(-x * x / 2) / sqrt(2 * M_PI);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

/* x and b are the operands; t selects. Parameters are those that test_modes() sets. */
static double model(cudnnPointwiseMode_t mode, double x, double b, double t)
{
    const double h = 1e-5;

    switch (mode) {
    case CUDNN_POINTWISE_ADD:
        return x + b;
    case CUDNN_POINTWISE_MUL:
        return x * b;
    case CUDNN_POINTWISE_MIN:
        return fmin(x, b);
    case CUDNN_POINTWISE_MAX:
        return fmax(x, b);
    case CUDNN_POINTWISE_SQRT:
        return sqrt(x);
    case CUDNN_POINTWISE_ADD_SQUARE:
        return x + b * b;
    case CUDNN_POINTWISE_DIV:
        return x / b;
    case CUDNN_POINTWISE_MOD:
        return fmod(x, b);
    case CUDNN_POINTWISE_POW:
        return pow(x, b);
    case CUDNN_POINTWISE_SUB:
        return x - b;
    case CUDNN_POINTWISE_ABS:
        return fabs(x);
    case CUDNN_POINTWISE_CEIL:
        return ceil(x);
    case CUDNN_POINTWISE_COS:
        return cos(x);
    case CUDNN_POINTWISE_EXP:
        return exp(x);
    case CUDNN_POINTWISE_FLOOR:
        return floor(x);
    case CUDNN_POINTWISE_LOG:
        return log(x);
    case CUDNN_POINTWISE_NEG:
        return -x;
    case CUDNN_POINTWISE_RSQRT:
        return 1 / sqrt(x);
    case CUDNN_POINTWISE_SIN:
        return sin(x);
    case CUDNN_POINTWISE_TAN:
        return tan(x);
    case CUDNN_POINTWISE_ERF:
        return erf(x);
    case CUDNN_POINTWISE_IDENTITY:
        return x;
    case CUDNN_POINTWISE_RECIPROCAL:
        return 1 / x;
    case CUDNN_POINTWISE_RELU_FWD:
        return x < 0.25 ? 0.25 + 0.125 * (x - 0.25) : fmin(x, 0.75);
    case CUDNN_POINTWISE_TANH_FWD:
        return tanh(x);
    case CUDNN_POINTWISE_SIGMOID_FWD:
        return sigmoid(x);
    case CUDNN_POINTWISE_ELU_FWD:
        return x > 0 ? x : 0.5 * (exp(x) - 1);
    case CUDNN_POINTWISE_GELU_FWD:
        return x * 0.5 * (1 + erf(x / sqrt(2)));
    case CUDNN_POINTWISE_SOFTPLUS_FWD:
        return log(1 + exp(2 * x)) / 2;
    case CUDNN_POINTWISE_SWISH_FWD:
        return x * sigmoid(1.5 * x);
    case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
        return gelu_tanh(x);
    /* Gradients: b is the one that comes in. */
    case CUDNN_POINTWISE_RELU_BWD:
        return x > 0.25 && x < 0.75 ? b : x <= 0.25 ? 0.125 * b : 0;
    case CUDNN_POINTWISE_TANH_BWD:
        return b * (1 - tanh(x) * tanh(x));
    case CUDNN_POINTWISE_SIGMOID_BWD:
        return b * sigmoid(x) * (1 - sigmoid(x));
    case CUDNN_POINTWISE_ELU_BWD:
        return x > 0 ? b : 0.5 * b * exp(x);
    case CUDNN_POINTWISE_GELU_BWD:
        return b * erf_slope(x);
    case CUDNN_POINTWISE_SOFTPLUS_BWD:
        return b * sigmoid(2 * x);
    case CUDNN_POINTWISE_SWISH_BWD:
        return b * (sigmoid(1.5 * x) + 1.5 * x * sigmoid(1.5 * x) * (1 - sigmoid(1.5 * x)));
    case CUDNN_POINTWISE_GELU_APPROX_TANH_BWD:
        return b * (gelu_tanh(x + h) - gelu_tanh(x - h)) / (2 * h);
    case CUDNN_POINTWISE_CMP_EQ:
        return x == b;
    case CUDNN_POINTWISE_CMP_NEQ:
        return x != b;
    case CUDNN_POINTWISE_CMP_GT:
        return x > b;
    case CUDNN_POINTWISE_CMP_GE:
        return x >= b;
    case CUDNN_POINTWISE_CMP_LT:
        return x < b;
    case CUDNN_POINTWISE_CMP_LE:
        return x <= b;
    case CUDNN_POINTWISE_LOGICAL_AND:
        return x != 0 && b != 0;
    case CUDNN_POINTWISE_LOGICAL_OR:
        return x != 0 || b != 0;
    case CUDNN_POINTWISE_LOGICAL_NOT:
        return x == 0;
    default: /* CUDNN_POINTWISE_BINARY_SELECT */
        return t != 0 ? x : b;
    }
}

static void test_modes(void)
{
    static const cudnnPointwiseMode_t modes[] = {CUDNN_POINTWISE_ADD,
                                                 CUDNN_POINTWISE_MUL,
                                                 CUDNN_POINTWISE_MIN,
                                                 CUDNN_POINTWISE_MAX,
                                                 CUDNN_POINTWISE_SQRT,
                                                 CUDNN_POINTWISE_ADD_SQUARE,
                                                 CUDNN_POINTWISE_DIV,
                                                 CUDNN_POINTWISE_MOD,
                                                 CUDNN_POINTWISE_POW,
                                                 CUDNN_POINTWISE_SUB,
                                                 CUDNN_POINTWISE_ABS,
                                                 CUDNN_POINTWISE_CEIL,
                                                 CUDNN_POINTWISE_COS,
                                                 CUDNN_POINTWISE_EXP,
                                                 CUDNN_POINTWISE_FLOOR,
                                                 CUDNN_POINTWISE_LOG,
                                                 CUDNN_POINTWISE_NEG,
                                                 CUDNN_POINTWISE_RSQRT,
                                                 CUDNN_POINTWISE_SIN,
                                                 CUDNN_POINTWISE_TAN,
                                                 CUDNN_POINTWISE_ERF,
                                                 CUDNN_POINTWISE_IDENTITY,
                                                 CUDNN_POINTWISE_RECIPROCAL,
                                                 CUDNN_POINTWISE_RELU_FWD,
                                                 CUDNN_POINTWISE_TANH_FWD,
                                                 CUDNN_POINTWISE_SIGMOID_FWD,
                                                 CUDNN_POINTWISE_ELU_FWD,
                                                 CUDNN_POINTWISE_GELU_FWD,
                                                 CUDNN_POINTWISE_SOFTPLUS_FWD,
                                                 CUDNN_POINTWISE_SWISH_FWD,
                                                 CUDNN_POINTWISE_GELU_APPROX_TANH_FWD,
                                                 CUDNN_POINTWISE_RELU_BWD,
                                                 CUDNN_POINTWISE_TANH_BWD,
                                                 CUDNN_POINTWISE_SIGMOID_BWD,
                                                 CUDNN_POINTWISE_ELU_BWD,
                                                 CUDNN_POINTWISE_GELU_BWD,
                                                 CUDNN_POINTWISE_SOFTPLUS_BWD,
                                                 CUDNN_POINTWISE_SWISH_BWD,
                                                 CUDNN_POINTWISE_GELU_APPROX_TANH_BWD,
                                                 CUDNN_POINTWISE_CMP_EQ,
                                                 CUDNN_POINTWISE_CMP_NEQ,
                                                 CUDNN_POINTWISE_CMP_GT,
                                                 CUDNN_POINTWISE_CMP_GE,
                                                 CUDNN_POINTWISE_CMP_LT,
                                                 CUDNN_POINTWISE_CMP_LE,
                                                 CUDNN_POINTWISE_LOGICAL_AND,
                                                 CUDNN_POINTWISE_LOGICAL_OR,
                                                 CUDNN_POINTWISE_LOGICAL_NOT,
                                                 CUDNN_POINTWISE_BINARY_SELECT};

    for (size_t m = 0; m < sizeof(modes) / sizeof(*modes); m++) {
        /* b is one number for each channel; doubles and floats take turns. */
        bool wide = m % 2;
        cudnnDataType_t type = wide ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
        bool is_bwd = modes[m] >= CUDNN_POINTWISE_RELU_BWD &&
                      modes[m] <= CUDNN_POINTWISE_GELU_APPROX_TANH_BWD;
        bool positive = modes[m] == CUDNN_POINTWISE_SQRT || modes[m] == CUDNN_POINTWISE_LOG ||
                        modes[m] == CUDNN_POINTWISE_RSQRT || modes[m] == CUDNN_POINTWISE_POW;
        struct gt *x = filled(gt_of(type, CHANNELS_LAST, DIMS(2, 5, 3, 7), NULL));
        struct gt *b = filled(is_bwd ? gt_of(type, ROWS, DIMS(2, 5, 3, 7), NULL)
                                     : gt_of(type, ROWS, DIMS(1, 5, 1, 1), NULL));
        struct gt *t = filled(gt_of(CUDNN_DATA_BOOLEAN, ROWS, DIMS(2, 1, 3, 7), NULL));
        struct gt *y = gt_of(type, ROWS, DIMS(2, 5, 3, 7), NULL);
        double expected[210];
        desc_t pw = pointwise_desc(modes[m]), op = new_desc(D(OPERATION_POINTWISE));
        for (int64_t i = 0; positive && i < x->n; i++)
            give(x, i, fabs(got(x, i)) + 0.01);
        set_real(pw, A(POINTWISE_RELU_LOWER_CLIP), 0.25);
        set_real(pw, A(POINTWISE_RELU_UPPER_CLIP), 0.75);
        set_real(pw, A(POINTWISE_RELU_LOWER_CLIP_SLOPE), 0.125);
        set_real(pw, A(POINTWISE_ELU_ALPHA), 0.5);
        set_real(pw, A(POINTWISE_SOFTPLUS_BETA), 2);
        set_real(pw, A(POINTWISE_SWISH_BETA), 1.5);
        need(cudnnBackendFinalize(pw));
        set_desc(op, A(OPERATION_POINTWISE_PW_DESCRIPTOR), pw);
        if (is_bwd)
            (void)op_tensors(op, A(OPERATION_POINTWISE_XDESC), x, A(OPERATION_POINTWISE_DYDESC), b,
                             A(OPERATION_POINTWISE_DXDESC), y, -1);
        else
            (void)op_tensors(op, A(OPERATION_POINTWISE_XDESC), x, A(OPERATION_POINTWISE_BDESC), b,
                             A(OPERATION_POINTWISE_TDESC), t, A(OPERATION_POINTWISE_YDESC), y, -1);
        op_end(op);
        for (int64_t i = 0; i < y->n; i++)
            expected[i] = model(modes[m], got(x, i), is_bwd ? got(b, i) : got(b, i / 21 % 5),
                                got(t, i / 105 * 21 + i % 21));
        run(0);
        char what[40];
        (void)snprintf(what, sizeof(what), "pointwise mode %d", (int)modes[m]);
        expect(y, expected, wide && modes[m] != CUDNN_POINTWISE_GELU_APPROX_TANH_BWD ? 1e-12 : 3e-6,
               what);
        clear();
    }
    /* alpha1 x + alpha2 b, and an index. */
    struct gt *x = filled(TENSOR(FLOAT, ROWS, 2, 300)), *b = filled(TENSOR(HALF, ROWS, 2, 300));
    struct gt *i = TENSOR(FLOAT, VIRTUAL, 2, 300), *s = TENSOR(FLOAT, VIRTUAL, 2, 300);
    struct gt *y = TENSOR(FLOAT, ROWS, 2, 300);
    desc_t pw = pointwise_desc(CUDNN_POINTWISE_ADD), op = new_desc(D(OPERATION_POINTWISE));
    float two = 2, three = 3;
    double expected[600];
    need(cudnnBackendFinalize(pw));
    set_desc(op, A(OPERATION_POINTWISE_PW_DESCRIPTOR), pw);
    set(op, A(OPERATION_POINTWISE_ALPHA1), CUDNN_TYPE_FLOAT, 1, &two);
    set(op, A(OPERATION_POINTWISE_ALPHA2), CUDNN_TYPE_FLOAT, 1, &three);
    op_end(op_tensors(op, A(OPERATION_POINTWISE_XDESC), x, A(OPERATION_POINTWISE_BDESC), b,
                      A(OPERATION_POINTWISE_YDESC), s, -1));
    pw = pointwise_desc(CUDNN_POINTWISE_GEN_INDEX);
    set_whole(pw, A(POINTWISE_AXIS), 1);
    op_pointwise_of(pw, x, NULL, NULL, i);
    op_pointwise(CUDNN_POINTWISE_ADD, s, i, NULL, y);
    for (int64_t e = 0; e < 600; e++)
        expected[e] = 2 * got(x, e) + 3 * got(b, e) + (double)(e % 300);
    for (int engine = 0; engine < 2; engine++) {
        run(engine);
        expect(y, expected, 1e-6, "factors of both, and an index");
    }
    clear();
}

/* A value of every type goes in and comes out, rounded and saturated. */
static void test_types(void)
{
    static const struct {
        cudnnDataType_t type;
        double least, most, step; /* of which it holds all */
    } types[] = {{CUDNN_DATA_FLOAT, -100, 100, 0.25},  {CUDNN_DATA_HALF, -100, 100, 0.25},
                 {CUDNN_DATA_BFLOAT16, -16, 16, 0.25}, {CUDNN_DATA_DOUBLE, -100, 100, 0.25},
                 {CUDNN_DATA_INT8, -128, 127, 1},      {CUDNN_DATA_UINT8, 0, 255, 1},
                 {CUDNN_DATA_INT32, -300, 300, 1},     {CUDNN_DATA_INT64, -300, 300, 1},
                 {CUDNN_DATA_FP8_E4M3, -15, 15, 1},    {CUDNN_DATA_BOOLEAN, 0, 1, 1}};

    for (size_t k = 0; k < sizeof(types) / sizeof(*types); k++) {
        struct gt *x = TENSOR(FLOAT, ROWS, 3, 333),
                  *y = gt_of(types[k].type, ROWS, DIMS(3, 333), NULL);
        struct gt *z = TENSOR(FLOAT, ROWS, 3, 333);
        double expected[999];
        for (int64_t i = 0; i < x->n; i++) {
            double v = (double)(below(1200) - 600) * types[k].step;
            give(x, i, v);
            bool is_whole = types[k].step == 1 && types[k].type != CUDNN_DATA_FP8_E4M3;
            expected[i] = types[k].type == CUDNN_DATA_BOOLEAN ? v != 0
                          : is_whole ? fmin(fmax(v, types[k].type == CUDNN_DATA_INT8    ? -128
                                                    : types[k].type == CUDNN_DATA_UINT8 ? 0
                                                                                        : -1e9),
                                            types[k].type == CUDNN_DATA_INT8    ? 127
                                            : types[k].type == CUDNN_DATA_UINT8 ? 255
                                                                                : 1e9)
                                     : v;
            if (!is_whole && types[k].type != CUDNN_DATA_BOOLEAN &&
                (v < types[k].least || v > types[k].most)) {
                give(x, i, types[k].most);
                expected[i] = types[k].most;
            }
        }
        op_pointwise(CUDNN_POINTWISE_IDENTITY, x, NULL, NULL, y);
        run(0);
        expect(y, expected, 0, "an element's type");
        g.nops = 0;
        op_pointwise(CUDNN_POINTWISE_IDENTITY, y, NULL, NULL, z);
        run(0);
        expect(z, expected, 0, "and back");
        clear();
    }
}

/* ---- sums and views */

static double reduced(cudnnReduceTensorOp_t mode, double sum, double x, bool first)
{
    switch (mode) {
    case CUDNN_REDUCE_TENSOR_MUL:
        return first ? x : sum * x;
    case CUDNN_REDUCE_TENSOR_MIN:
        return first ? x : fmin(sum, x);
    case CUDNN_REDUCE_TENSOR_MAX:
        return first ? x : fmax(sum, x);
    case CUDNN_REDUCE_TENSOR_AMAX:
        return first ? fabs(x) : fmax(sum, fabs(x));
    case CUDNN_REDUCE_TENSOR_NORM1:
        return first ? fabs(x) : sum + fabs(x);
    case CUDNN_REDUCE_TENSOR_NORM2:
        return first ? x * x : sum + x * x;
    case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS:
        return (first ? 1 : sum) * (x == 0 ? 1 : x);
    default:
        return first ? x : sum + x;
    }
}

static void test_reductions(void)
{
    const int64_t dims[4] = {3, 4, 5, 270};

    for (int mode = 0; mode <= CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS; mode++)
        for (int axes = 0; axes < 16; axes += mode % 2 + 1) {
            int64_t to[4];
            double *expected = calloc(17000, sizeof(double));
            bool *seen = calloc(17000, sizeof(bool));
            bool product =
                mode == CUDNN_REDUCE_TENSOR_MUL || mode == CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS;
            for (int d = 0; d < 4; d++)
                to[d] = axes >> d & 1 ? 1 : dims[d];
            struct gt *x =
                filled(gt_of(CUDNN_DATA_FLOAT, mode % 3 ? CHANNELS_LAST : ROWS, 4, dims, NULL));
            struct gt *v = TENSOR(FLOAT, VIRTUAL, 3, 4, 5, 270);
            struct gt *y = gt_of(CUDNN_DATA_FLOAT, ROWS, 4, to, NULL);
            for (int64_t i = 0; i < x->n; i++) {
                /* Factors near 1: products stay numbers. */
                if (product)
                    give(x, i,
                         i % 7 == 3 && mode == CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS
                             ? 0
                             : 1 + got(x, i) / 1e4);
                int64_t rest = i, at = 0, step = 1;
                for (int d = 3; d >= 0; d--) {
                    at += (to[d] == 1 ? 0 : rest % dims[d]) * step;
                    step *= to[d];
                    rest /= dims[d];
                }
                expected[at] = reduced((cudnnReduceTensorOp_t)mode, expected[at],
                                       (product ? 1 : 2) * got(x, i), !seen[at]);
                seen[at] = true;
            }
            double n = (double)x->n / (double)y->n;
            for (int64_t i = 0; i < y->n; i++)
                expected[i] = mode == CUDNN_REDUCE_TENSOR_AVG     ? expected[i] / n
                              : mode == CUDNN_REDUCE_TENSOR_NORM2 ? sqrt(expected[i])
                                                                  : expected[i];
            op_pointwise(CUDNN_POINTWISE_MUL, x, number(product ? 1 : 2), NULL, v);
            op_reduce((cudnnReduceTensorOp_t)mode, v, y);
            run(axes % 2);
            char what[60];
            (void)snprintf(what, sizeof(what), "reduction %d of axes %d", mode, axes);
            expect(y, expected, 2e-5, what);
            free(expected);
            free(seen);
            clear();
        }
}

static void test_views(void)
{
    struct gt *x = filled(TENSOR(FLOAT, CHANNELS_LAST, 2, 6, 4)), *y, *v;
    double expected[96];
    desc_t op;

    /* Elements in the order of their indices, as another shape, which is used. */
    v = TENSOR(FLOAT, VIRTUAL, 4, 12);
    y = TENSOR(FLOAT, ROWS, 4, 12);
    op = new_desc(D(OPERATION_RESHAPE));
    set_enum(op, A(OPERATION_RESHAPE_MODE), CUDNN_TYPE_RESHAPE_MODE, CUDNN_RESHAPE_LOGICAL);
    op_end(op_tensors(op, A(OPERATION_RESHAPE_XDESC), x, A(OPERATION_RESHAPE_YDESC), v, -1));
    op_pointwise(CUDNN_POINTWISE_NEG, v, NULL, NULL, y);
    for (int64_t i = 0; i < 48; i++)
        expected[i] = -got(x, i);
    for (int engine = 0; engine < 2; engine++) {
        run(engine);
        expect(y, expected, 0, "reshaped by indices");
    }
    g.nops = 0;
    /* As they lie in memory. */
    struct gt *z = TENSOR(FLOAT, ROWS, 48, 1);
    op_end(op_tensors(new_desc(D(OPERATION_RESHAPE)), A(OPERATION_RESHAPE_XDESC), x,
                      A(OPERATION_RESHAPE_YDESC), z, -1));
    run(0);
    eq_mem(z->at, x->at, 48 * sizeof(float), "reshaped as it lies");
    g.nops = 0;
    struct gt *t = TENSOR(HALF, ROWS, 4, 2, 6);
    op = new_desc(D(OPERATION_TRANSPOSE));
    set(op, A(OPERATION_TRANSPOSE_PERMUTATION), CUDNN_TYPE_INT64, 3, (int64_t[]){2, 0, 1});
    op_end(op_tensors(op, A(OPERATION_TRANSPOSE_XDESC), x, A(OPERATION_TRANSPOSE_YDESC), t, -1));
    for (int64_t a = 0; a < 4; a++)
        for (int64_t b = 0; b < 2; b++)
            for (int64_t c = 0; c < 6; c++)
                expected[(a * 2 + b) * 6 + c] = got(x, (b * 6 + c) * 4 + a);
    run(0);
    expect(t, expected, 1e-3, "transposed");
    g.nops = 0;
    struct gt *s = TENSOR(FLOAT, ROWS, 1, 3, 2);
    op = new_desc(D(OPERATION_SLICE));
    set(op, A(OPERATION_SLICE_START_INDICES), CUDNN_TYPE_INT64, 3, (int64_t[]){1, 0, 1});
    set(op, A(OPERATION_SLICE_LIMIT_INDICES), CUDNN_TYPE_INT64, 3, (int64_t[]){2, 6, 3});
    set(op, A(OPERATION_SLICE_STRIDES), CUDNN_TYPE_INT64, 3, (int64_t[]){1, 2, 1});
    op_end(op_tensors(op, A(OPERATION_SLICE_XDESC), x, A(OPERATION_SLICE_YDESC), s, -1));
    for (int64_t b = 0; b < 3; b++)
        for (int64_t c = 0; c < 2; c++)
            expected[b * 2 + c] = got(x, (6 + 2 * b) * 4 + 1 + c);
    run(0);
    expect(s, expected, 0, "a slice");
    g.nops = 0;
    struct gt *w = filled(TENSOR(HALF, ROWS, 2, 6, 1)), *joined = TENSOR(FLOAT, ROWS, 2, 6, 9);
    desc_t parts[3] = {x->desc, w->desc, x->desc};
    op = new_desc(D(OPERATION_CONCAT));
    set_whole(op, A(OPERATION_CONCAT_AXIS), 2);
    set(op, A(OPERATION_CONCAT_INPUT_DESCS), CUDNN_TYPE_BACKEND_DESCRIPTOR, 3, parts);
    op_end(op_tensors(op, A(OPERATION_CONCAT_OUTPUT_DESC), joined, -1));
    double all[108];
    for (int64_t r = 0; r < 12; r++)
        for (int64_t c = 0; c < 9; c++)
            all[r * 9 + c] = c < 4 ? got(x, r * 4 + c) : c == 4 ? got(w, r) : got(x, r * 4 + c - 5);
    run(0);
    expect(joined, all, 0, "concatenated");
    clear();
}

static void test_random(void)
{
    struct gt *y = TENSOR(FLOAT, ROWS, 4, 5000), *z = TENSOR(FLOAT, ROWS, 4, 5000);
    double mean[3] = {0.3, 1, 5}, variance[3] = {0.21, 4.0 / 3, 4};

    for (int distribution = 0; distribution < 3; distribution++) {
        desc_t r = new_desc(D(RNG)), op = new_desc(D(OPERATION_RNG));
        double sum = 0, squares = 0;
        set_enum(r, A(RNG_DISTRIBUTION), CUDNN_TYPE_RNG_DISTRIBUTION, distribution);
        set_real(r, A(RNG_BERNOULLI_DIST_PROBABILITY), 0.3);
        set_real(r, A(RNG_UNIFORM_DIST_MINIMUM), -1);
        set_real(r, A(RNG_UNIFORM_DIST_MAXIMUM), 3);
        set_real(r, A(RNG_NORMAL_DIST_MEAN), 5);
        set_real(r, A(RNG_NORMAL_DIST_STANDARD_DEVIATION), 2);
        need(cudnnBackendFinalize(r));
        set_desc(op, A(OPERATION_RNG_DESC), r);
        set_whole(op, A(OPERATION_RNG_SEED), 1234);
        g.nops = 0;
        op_end(op_tensors(op, A(OPERATION_RNG_YDESC), distribution ? z : y, -1));
        struct gt *t = distribution ? z : y;
        run(0);
        for (int64_t i = 0; i < t->n; i++) {
            sum += got(t, i);
            squares += got(t, i) * got(t, i);
        }
        sum /= (double)t->n;
        ok(fabs(sum - mean[distribution]) < 0.06 &&
               fabs(squares / (double)t->n - sum * sum - variance[distribution]) < 0.15,
           "distribution %d has mean %g and variance %g", distribution, sum,
           squares / (double)t->n - sum * sum);
        float first = ((float *)t->at)[7];
        run(1);
        ok(((float *)t->at)[7] == first, "the same seed makes the same numbers");
    }
    clear();
}

/* Plans of many shapes: what they run goes with them, once it has run. */
static void test_programs_go(void)
{
    enum { SHAPES = 1500 };
    size_t before_B = 0;
    bool is_fine = true;

    for (int i = 0; i < SHAPES; i++) {
        int64_t dims[4] = {1, 1, 1, i + 1};
        struct gt *x = filled(gt_of(CUDNN_DATA_FLOAT, ROWS, 4, dims, NULL)),
                  *v = gt_of(CUDNN_DATA_FLOAT, VIRTUAL, 4, dims, NULL),
                  *y = gt_of(CUDNN_DATA_FLOAT, ROWS, 4, dims, NULL);
        desc_t plan, pack;
        op_pointwise(CUDNN_POINTWISE_ABS, x, NULL, NULL, v);
        op_pointwise(CUDNN_POINTWISE_ADD, v, number(1), NULL, y);
        need(plan_of(0, &plan));
        pack = pack_of(NULL);
        need(cudnnBackendExecute(handle, plan, pack));
        /* It may run still. */
        for (int d = 0; d < g.nkept; d++)
            need(cudnnBackendDestroyDescriptor(g.kept[d]));
        g.nkept = 0;
        is_fine = is_fine && !cudaDeviceSynchronize() && is_right(x, y);
        clear();
        if (i == SHAPES / 3)
            before_B = mallinfo2().uordblks;
    }
    size_t more_B = mallinfo2().uordblks - before_B;
    ok(is_fine, "each plan is right, though it goes before it has run");
    /* Each has more than a kilobyte. */
    ok((int64_t)more_B < SHAPES * 2 / 3 * 512, "%zu bytes more for %d plans", more_B,
       SHAPES * 2 / 3);
}

int main(void)
{
    need(cudnnCreate(&handle));
    test_attributes();
    test_wrong_shapes();
    test_heuristics();
    test_text();
    test_cuda_graph();
    test_overrides();
    test_modes();
    test_types();
    test_reductions();
    test_views();
    test_random();
    test_programs_go();
    works(cudnnDestroy(handle));
    return done();
}
