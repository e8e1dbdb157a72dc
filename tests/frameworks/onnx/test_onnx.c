/*
 * The execution provider, in the hands of a stand-in for ONNX Runtime: which nodes it takes, the
 * models that it writes, what it runs, and memory. tests/clients/onnxruntime tries the real one.
 */
#include "cuda.h"
#include "frameworks/onnx/ort.h"
#include "tap.h"

struct ort_status *CreateEpFactories(const char *name, const struct ort_base *base,
                                     const struct ort_logger *logger,
                                     struct ort_factory **factories, size_t max, size_t *out_count);
struct ort_status *ReleaseEpFactory(struct ort_factory *factory);

/* ---- the stand-in: objects */

struct ort_status {
    int code;
    char message[100];
};
struct ort_value {
    int type;
    int64_t dims[2];
    size_t ndims, size_B;
    void *at;
    bool owns;
};
struct ort_shape {
    int type;
    const int64_t *dims;
    size_t ndims;
};
struct ort_type {
    int kind;
    struct ort_shape shape;
};
struct ort_value_info {
    const char *name;
    struct ort_type type;
    const struct ort_node *producer;
    const struct ort_value *constant;
};
struct ort_attribute {
    const char *name;
    int type;
    const void *at;
    size_t size_B;
};
struct ort_node {
    size_t id;
    const char *type, *domain;
    const struct ort_value_info *in[3], *out[2], *implicit[1];
    size_t nin, nout, nimplicit, bodies;
    const struct ort_attribute *attributes[8];
    size_t nattributes;
};
struct ort_graph {
    const struct ort_node *nodes[8];
    size_t count;
};
struct ort_memory_info {
    int device, id;
};
struct ort_memory_device {
    int device;
    uint32_t vendor;
};
struct ort_kernel_context {
    const struct ort_value *in[2];
    size_t nin;
    struct ort_value out;
};
struct ort_support {
    const struct ort_node *groups[4][8];
    size_t counts[4], ngroups;
    bool drops_constants;
};
struct ort_ep_device {
    const struct ort_memory_info *memory;
};
struct ort_hardware {
    int type;
};
struct ort_pairs {
    char value[8];
};

static struct {
    unsigned statuses, values, sessions, memory_infos, envs, options;
    char model[4096];
    size_t model_B;
    bool refuses_model, fails_run;
} world;

/* ---- the stand-in: functions, by the names of their slots */

static struct ort_status *CreateStatus(int code, const char *message)
{
    struct ort_status *s = calloc(1, sizeof(*s));
    s->code = code;
    (void)snprintf(s->message, sizeof(s->message), "%s", message);
    world.statuses++;
    return s;
}

static void ReleaseStatus(struct ort_status *s)
{
    world.statuses--;
    free(s);
}

static const char *GetErrorMessage(const struct ort_status *s)
{
    return s->message;
}

#define GIVE(name, in, type, expression)                                                           \
    static struct ort_status *name(in, type *out)                                                  \
    {                                                                                              \
        *out = expression;                                                                         \
        return NULL;                                                                               \
    }
GIVE(GetValueInfoName, const struct ort_value_info *v, const char *, v->name)
GIVE(GetValueInfoTypeInfo, const struct ort_value_info *v, const struct ort_type *, &v->type)
GIVE(ValueInfo_IsConstantInitializer, const struct ort_value_info *v, bool, v->constant != NULL)
GIVE(ValueInfo_GetInitializerValue, const struct ort_value_info *v, const struct ort_value *,
     v->constant)
GIVE(CastTypeInfoToTensorInfo, const struct ort_type *t, const struct ort_shape *, &t->shape)
GIVE(GetOnnxTypeFromTypeInfo, const struct ort_type *t, int, t->kind)
GIVE(GetTensorElementType, const struct ort_shape *s, int, s->type)
GIVE(GetDimensionsCount, const struct ort_shape *s, size_t, s->ndims)
GIVE(GetTensorSizeInBytes, const struct ort_value *v, size_t, v->size_B)
GIVE(GetTensorMutableData, struct ort_value *v, void *, v->at)
GIVE(KernelContext_GetInputCount, const struct ort_kernel_context *c, size_t, c->nin)
GIVE(Graph_GetOnnxIRVersion, const struct ort_graph *g, int64_t, 9 + 0 * (int64_t)g->count)
GIVE(Graph_GetNumOperatorSets, const struct ort_graph *g, size_t, 1 + 0 * g->count)
GIVE(Graph_GetNumNodes, const struct ort_graph *g, size_t, g->count)
GIVE(Graph_GetParentNode, const struct ort_graph *g, const struct ort_node *,
     g->count ? NULL : g->nodes[0])
GIVE(Node_GetId, const struct ort_node *n, size_t, n->id)
GIVE(Node_GetName, const struct ort_node *n, const char *, n->type)
GIVE(Node_GetOperatorType, const struct ort_node *n, const char *, n->type)
GIVE(Node_GetDomain, const struct ort_node *n, const char *, n->domain)
GIVE(Node_GetNumInputs, const struct ort_node *n, size_t, n->nin)
GIVE(Node_GetNumOutputs, const struct ort_node *n, size_t, n->nout)
GIVE(Node_GetNumImplicitInputs, const struct ort_node *n, size_t, n->nimplicit)
GIVE(Node_GetNumAttributes, const struct ort_node *n, size_t, n->nattributes)
GIVE(Node_GetNumSubgraphs, const struct ort_node *n, size_t, n->bodies)
GIVE(OpAttr_GetType, const struct ort_attribute *a, int, a->type)
GIVE(OpAttr_GetName, const struct ort_attribute *a, const char *, a->name)

#define LIST(name, in, type, array)                                                                \
    static struct ort_status *name(in, type *out, size_t count)                                    \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = array[i];                                                                     \
        return NULL;                                                                               \
    }
LIST(GetDimensions, const struct ort_shape *s, int64_t, s->dims)
LIST(Graph_GetNodes, const struct ort_graph *g, const struct ort_node *, g->nodes)
LIST(Node_GetInputs, const struct ort_node *n, const struct ort_value_info *, n->in)
LIST(Node_GetOutputs, const struct ort_node *n, const struct ort_value_info *, n->out)
LIST(Node_GetImplicitInputs, const struct ort_node *n, const struct ort_value_info *, n->implicit)
LIST(Node_GetAttributes, const struct ort_node *n, const struct ort_attribute *, n->attributes)

static struct ort_status *GetSymbolicDimensions(const struct ort_shape *s, const char **out,
                                                size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = s->dims[i] < 0 ? "batch" : "";
    return NULL;
}

static struct ort_status *ValueInfo_GetValueProducer(const struct ort_value_info *v,
                                                     const struct ort_node **out, size_t *index)
{
    *out = v->producer;
    *index = 0;
    return NULL;
}

static struct ort_status *Graph_GetOperatorSets(const struct ort_graph *g, const char **domains,
                                                int64_t *versions, size_t count)
{
    domains[0] = "";
    versions[0] = 17 + 0 * (int64_t)(g->count + count);
    return NULL;
}

/* Too little room is an error that tells how much it takes. */
static struct ort_status *ReadOpAttr(const struct ort_attribute *a, int type, void *to, size_t len,
                                     size_t *out_B)
{
    *out_B = a->size_B;
    if (len < a->size_B || type != a->type)
        return CreateStatus(ORT_FAIL, "too small");
    memcpy(to, a->at, a->size_B);
    return NULL;
}

static struct ort_status *OpAttr_GetTensorAttributeAsOrtValue(const struct ort_attribute *a,
                                                              struct ort_value **out)
{
    *out = calloc(1, sizeof(**out));
    **out = *(const struct ort_value *)a->at;
    world.values++;
    return NULL;
}

static struct ort_status *GetTensorTypeAndShape(const struct ort_value *v, struct ort_shape **out)
{
    *out = calloc(1, sizeof(**out));
    **out = (struct ort_shape){v->type, v->dims, v->ndims};
    return NULL;
}

static void ReleaseTensorTypeAndShapeInfo(struct ort_shape *s)
{
    free(s);
}

static struct ort_status *CreateTensorWithDataAsOrtValue(const struct ort_memory_info *m, void *at,
                                                         size_t size_B, const int64_t *dims,
                                                         size_t ndims, int type,
                                                         struct ort_value **out)
{
    *out = calloc(1, sizeof(**out));
    **out = (struct ort_value){.type = type, .ndims = ndims, .size_B = size_B, .at = at};
    memcpy((*out)->dims, dims, ndims * sizeof(*dims));
    world.values++;
    return m->device == ORT_MEMORY_CPU ? NULL : CreateStatus(ORT_FAIL, "not the host's");
}

static void ReleaseValue(struct ort_value *v)
{
    if (!v)
        return;
    if (v->owns)
        free(v->at);
    world.values--;
    free(v);
}

static struct ort_status *CreateEnv(int level, const char *id, struct ort_env **out)
{
    *out = (struct ort_env *)&world;
    world.envs++;
    return level && *id ? NULL : CreateStatus(ORT_FAIL, "no name");
}

static void ReleaseEnv(struct ort_env *env)
{
    world.envs -= (void *)env == (void *)&world;
}

static struct ort_status *CreateSessionOptions(struct ort_session_options **out)
{
    *out = (struct ort_session_options *)&world.options;
    world.options++;
    return NULL;
}

static void ReleaseSessionOptions(struct ort_session_options *o)
{
    world.options -= (void *)o == (void *)&world.options;
}

static struct ort_status *AddSessionConfigEntry(struct ort_session_options *o, const char *key,
                                                const char *value)
{
    return o && !strcmp(key, "session.intra_op.allow_spinning") && *value == '0'
               ? NULL
               : CreateStatus(ORT_FAIL, key);
}

static struct ort_status *CreateSessionFromArray(const struct ort_env *env, const void *model,
                                                 size_t size_B,
                                                 const struct ort_session_options *options,
                                                 struct ort_session **out)
{
    if (world.refuses_model || !env || !options || size_B > sizeof(world.model))
        return CreateStatus(ORT_FAIL, "no such operator");
    memcpy(world.model, model, size_B);
    world.model_B = size_B;
    world.sessions++;
    *out = (struct ort_session *)&world;
    return NULL;
}

static void ReleaseSession(struct ort_session *s)
{
    world.sessions -= (void *)s == (void *)&world;
}

/* Twice the input "x". */
static struct ort_status *Run(struct ort_session *s, const struct ort_run_options *o,
                              const char *const *in, const struct ort_value *const *values,
                              size_t nin, const char *const *out, size_t nout,
                              struct ort_value **results)
{
    if (world.fails_run || !s || o || nin != 1 || strcmp(in[0], "x") != 0 || nout != 1 ||
        strcmp(out[0], "y") != 0)
        return CreateStatus(ORT_FAIL, "index out of bounds");
    struct ort_value *v = results[0] = calloc(1, sizeof(*v));
    *v = *values[0];
    v->owns = true;
    v->at = malloc(v->size_B);
    world.values++;
    for (size_t i = 0; i < v->size_B / sizeof(float); i++)
        ((float *)v->at)[i] = 2 * ((const float *)values[0]->at)[i];
    return NULL;
}

static struct ort_status *CreateCpuMemoryInfo(int allocator, int type, struct ort_memory_info **out)
{
    *out = calloc(1, sizeof(**out));
    (*out)->device = ORT_MEMORY_CPU + allocator + type;
    world.memory_infos++;
    return NULL;
}

static struct ort_status *CreateMemoryInfo_V2(const char *name, int device, uint32_t vendor,
                                              int32_t id, int type, size_t alignment_B,
                                              int allocator, struct ort_memory_info **out)
{
    *out = calloc(1, sizeof(**out));
    **out = (struct ort_memory_info){device, id};
    world.memory_infos++;
    return vendor == 0x10de && *name && !type && !alignment_B && !allocator
               ? NULL
               : CreateStatus(ORT_FAIL, "not the device's");
}

static void ReleaseMemoryInfo(struct ort_memory_info *m)
{
    world.memory_infos -= m != NULL;
    free(m);
}

static struct ort_status *KernelContext_GetInput(const struct ort_kernel_context *c, size_t i,
                                                 const struct ort_value **out)
{
    *out = c->in[i];
    return NULL;
}

static struct ort_status *KernelContext_GetOutput(struct ort_kernel_context *c, size_t i,
                                                  const int64_t *dims, size_t ndims,
                                                  struct ort_value **out)
{
    memcpy(c->out.dims, dims, ndims * sizeof(*dims));
    c->out.ndims = ndims;
    *out = &c->out;
    return i ? CreateStatus(ORT_FAIL, "no such output") : NULL;
}

static void CreateKeyValuePairs(struct ort_pairs **out)
{
    *out = calloc(1, sizeof(**out));
}

static void AddKeyValuePair(struct ort_pairs *p, const char *key, const char *value)
{
    (void)snprintf(p->value, sizeof(p->value), "%s", *key ? value : "");
}

static void ReleaseKeyValuePairs(struct ort_pairs *p)
{
    free(p);
}

static int HardwareDevice_Type(const struct ort_hardware *h)
{
    return h->type;
}

static struct ort_status *CreateEpDevice(struct ort_factory *f, const struct ort_hardware *h,
                                         const struct ort_pairs *metadata,
                                         const struct ort_pairs *options,
                                         struct ort_ep_device **out)
{
    *out = calloc(1, sizeof(**out));
    return f && h && metadata && !options ? NULL : CreateStatus(ORT_FAIL, "no device");
}

static struct ort_status *EpGraphSupportInfo_AddNodesToFuse(struct ort_support *s,
                                                            const struct ort_node *const *nodes,
                                                            size_t count,
                                                            const struct ort_fusion *fusion)
{
    memcpy(s->groups[s->ngroups], nodes, count * sizeof(*nodes));
    s->counts[s->ngroups++] = count;
    s->drops_constants = fusion->drops_constants;
    return NULL;
}

static struct ort_status *EpDevice_AddAllocatorInfo(struct ort_ep_device *d,
                                                    const struct ort_memory_info *m)
{
    d->memory = m; /* kept, as ONNX Runtime does */
    return NULL;
}

static int MemoryDevice_GetDeviceType(const struct ort_memory_device *m)
{
    return m->device;
}

static uint32_t MemoryDevice_GetVendorId(const struct ort_memory_device *m)
{
    return m->vendor;
}

static const void *table[320 + 80], *ep_table[32];

static const void *GetEpApi(void)
{
    return ep_table;
}

static const void *const *get_api(uint32_t version)
{
    return version <= ORT_VERSION ? table : NULL;
}

static const void *const *get_old_api(uint32_t version)
{
    return version < ORT_VERSION ? table : NULL;
}

static void fill_tables(void)
{
#define X(name, at, result, parameters)                                                            \
    {                                                                                              \
        result(*function) parameters = name;                                                       \
        memcpy(&table[at], &function, sizeof(function));                                           \
    }
    ORT_FUNCTIONS(X)
#undef X
#define X(name, at, result, parameters)                                                            \
    {                                                                                              \
        result(*function) parameters = name;                                                       \
        memcpy(&ep_table[at], &function, sizeof(function));                                        \
    }
    ORT_EP_FUNCTIONS(X)
#undef X
}

/* ---- graphs: x -> Relu -> a -> If (reads e, too) -> c; Add(c, w) -> y; Exp(x) -> e; Foreign(x) */

static const int64_t dims_x[] = {-1, 4};
#define FLOATS {ORT_TENSOR, {1, dims_x, 2}}
static struct ort_node relu, exp_, if_, add, foreign, words;
static float weights[4] = {1, 2, 3, 4};
static const struct ort_value w_value = {
    .type = 1, .dims = {4}, .ndims = 1, .size_B = sizeof(weights), .at = weights};
static const struct ort_value_info x = {"x", FLOATS, NULL, NULL}, a = {"a", FLOATS, &relu, NULL},
                                   e = {"e", FLOATS, &exp_, NULL}, c = {"c", FLOATS, &if_, NULL},
                                   y = {"y", FLOATS, &add, NULL}, z = {"z", FLOATS, &foreign, NULL},
                                   w = {"w", {ORT_TENSOR, {1, w_value.dims, 1}}, NULL, &w_value},
                                   text = {
                                       "text", {ORT_TENSOR, {ORT_STRING, dims_x, 2}}, NULL, NULL};
static struct ort_node relu = {10, "Relu", "", {&x}, {&a}, {0}, 1, 1, 0, 0, {0}, 0},
                       exp_ = {11, "Exp", "", {&x}, {&e}, {0}, 1, 1, 0, 0, {0}, 0},
                       if_ = {12, "If", "", {&a}, {&c}, {&e}, 1, 1, 1, 2, {0}, 0},
                       add = {13, "Add", "", {&c, &w, NULL}, {&y}, {0}, 3, 1, 0, 0, {0}, 0},
                       foreign = {14, "Foreign", "my.own", {&x}, {&z}, {0}, 1, 1, 0, 0, {0}, 0},
                       words = {15, "Words", "", {&text}, {&z}, {0}, 1, 1, 0, 0, {0}, 0};

static void test_capability(struct ort_ep *ep)
{
    struct ort_graph graph = {{&relu, &exp_, &if_, &add, &foreign, &words}, 6};
    struct ort_graph body = {{&relu}, 0};
    struct ort_support s = {0}, none = {0};

    ok(!ep->get_capability(ep, &graph, &s), "a graph is looked at");
    eq_u64(s.ngroups, 2, "two groups");
    ok(s.drops_constants, "constants are dropped");
    ok(s.counts[0] == 2 && s.groups[0][0] == &relu && s.groups[0][1] == &exp_,
       "what is before the branch");
    ok(s.counts[1] == 1 && s.groups[1][0] == &add, "and what is behind it");
    ok(!ep->get_capability(ep, &body, &none), "so is a body");
    eq_u64(none.ngroups, 0, "of a body nothing is taken");
}

/* ---- models, read again */

static uint64_t varint(const uint8_t **at)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

struct field {
    const uint8_t *at;
    uint64_t len, value; /* of bytes; of a number */
};

/* The n-th field of that number in a message. */
static struct field find(struct field message, unsigned number, unsigned n)
{
    for (const uint8_t *at = message.at, *end = at + message.len; at < end;) {
        uint64_t key = varint(&at);
        struct field f = {at, 0, 0};
        if ((key & 7) == 0)
            f.value = varint(&at);
        else if ((key & 7) == 2) {
            f.len = varint(&at);
            f.at = at;
            at += f.len;
        } else {
            at += 4;
        }
        if (key >> 3 == number && !n--)
            return f;
    }
    return (struct field){NULL, 0, 0};
}

static bool is(struct field f, const char *want)
{
    return f.at && f.len == strlen(want) && !memcmp(f.at, want, f.len);
}

static void test_model(void)
{
    struct field model = {(const uint8_t *)world.model, world.model_B, 0};
    struct field graph = find(model, 7, 0), node = find(graph, 1, 0), node2 = find(graph, 1, 1);

    eq_u64(find(model, 1, 0).value, 9, "the version of the format");
    eq_u64(find(find(model, 8, 0), 2, 0).value, 17, "and of the operators");
    ok(is(find(node, 4, 0), "Mul") && is(find(node, 1, 0), "x") && is(find(node, 1, 1), "w"),
       "a node and its inputs");
    ok(is(find(node, 1, 2), ""), "an input that is left out");
    ok(is(find(node2, 4, 0), "Act") && is(find(node2, 2, 0), "y") && !find(graph, 1, 2).at,
       "the next node gives the output");

    struct field tensor = find(graph, 5, 0);
    ok(is(find(tensor, 8, 0), "w") && find(tensor, 9, 0).len == 16 && !find(graph, 5, 1).at,
       "the constant, once");
    ok(!memcmp(find(tensor, 9, 0).at, weights, 16), "the constant's data");
    struct field input = find(graph, 11, 0);
    ok(is(find(input, 1, 0), "x") && !find(graph, 11, 1).at, "one input, the constant is none");
    struct field shape = find(find(find(input, 2, 0), 1, 0), 2, 0);
    ok(is(find(find(shape, 1, 0), 2, 0), "batch"), "a dimension without a number has a name");
    eq_u64(find(find(shape, 1, 1), 1, 0).value, 4, "a dimension");
    ok(is(find(find(graph, 12, 0), 1, 0), "y"), "one output");

    static const unsigned types[] = {2, 7, 1, 6, 3, 8, 4};
    for (unsigned i = 0; i < 7; i++)
        eq_u64(find(find(node2, 5, i), 20, 0).value, types[i], "the type of an attribute");
    eq_u64(find(find(node2, 5, 0), 3, 0).value, (uint64_t)-3, "a negative integer");
    eq_u64(find(find(node2, 5, 1), 8, 1).value, 300, "the second of two integers");
    ok(!memcmp(find(find(node2, 5, 2), 2, 0).at, &weights[1], 4), "a number");
    ok(!memcmp(find(find(node2, 5, 3), 7, 3).at, &weights[3], 4), "the last of four");
    ok(is(find(find(node2, 5, 4), 4, 0), "linear"), "a text");
    ok(is(find(find(node2, 5, 5), 9, 1), "Tanh") && !find(find(node2, 5, 5), 9, 2).at,
       "the second of two texts, and no more");
    eq_u64(find(find(find(node2, 5, 6), 5, 0), 9, 0).len, 16, "a tensor");
}

/* ---- compiled, run and freed */

static void test_run(struct ort_ep *ep, struct ort_allocator *allocator)
{
    static const int64_t number[] = {-3}, numbers[] = {2, 300};
    static const struct ort_attribute attributes[] = {
        {"i", ORT_ATTRIBUTE_INT, number, sizeof(number)},
        {"is", ORT_ATTRIBUTE_INTS, numbers, sizeof(numbers)},
        {"f", ORT_ATTRIBUTE_FLOAT, &weights[1], 4},
        {"fs", ORT_ATTRIBUTE_FLOATS, weights, 16},
        {"s", ORT_ATTRIBUTE_STRING, "linear", 7},
        {"ss", ORT_ATTRIBUTE_STRINGS, "Sigmoid\0Tanh", 13},
        {"t", ORT_ATTRIBUTE_TENSOR, &w_value, 0},
    };
    struct ort_value_info m = {"m", FLOATS, NULL, NULL};
    struct ort_node mul = {0, "Mul", "", {&x, &w, NULL}, {&m}, {0}, 3, 1, 0, 0, {0}, 0};
    struct ort_node act = {1, "Act", "", {&m, &w, NULL}, {&y}, {0}, 2, 1, 0, 0, {0}, 7};
    struct ort_node fused = {2, "Fused", "", {&x, &w, NULL}, {&y}, {0}, 2, 1, 0, 0, {0}, 0};
    struct ort_graph graph = {{&mul, &act}, 2};
    const struct ort_graph *graphs[] = {&graph, &graph};
    const struct ort_node *fuseds[] = {&fused, &fused};
    struct ort_compute *computes[2] = {NULL, NULL};
    void *state = NULL;

    for (unsigned i = 0; i < 7; i++)
        act.attributes[i] = &attributes[i];
    world.refuses_model = true;
    struct ort_status *status = ep->compile(ep, graphs, fuseds, 2, computes, NULL);
    ok(status && !strcmp(status->message, "no such operator"), "what no session takes");
    ReleaseStatus(status);
    world.refuses_model = false;
    ok(!ep->compile(ep, graphs, fuseds, 1, computes, NULL), "it compiles");
    eq_u64(world.sessions, 1, "one session");
    test_model();

    float *in = allocator->alloc(allocator, 32), *out = allocator->alloc(allocator, 32);
    struct ort_value value = {.type = 1, .dims = {2, 4}, .ndims = 2, .size_B = 32, .at = in};
    struct ort_kernel_context context = {{&value, NULL}, 1, {.at = out, .size_B = 32}};
    for (unsigned i = 0; i < 8; i++)
        in[i] = (float)i;
    ok(!computes[0]->create_state(computes[0], NULL, &state), "a state");
    ok(!computes[0]->compute(computes[0], state, &context), "a run");
    ok(out[0] == 0 && out[7] == 14 && context.out.ndims == 2 && context.out.dims[0] == 2,
       "twice the input, in the output's place");
    world.fails_run = true;
    status = computes[0]->compute(computes[0], state, &context);
    ok(status && !strcmp(status->message, "index out of bounds"), "the session's own error");
    ReleaseStatus(status);
    world.fails_run = false;
    ok(!computes[0]->compute(computes[0], state, &context), "and it goes on");
    computes[0]->release_state(computes[0], state);
    ep->release_computes(ep, computes, 1);
    allocator->free(allocator, in);
    allocator->free(allocator, out);
}

static void test_memory(struct ort_factory *f, struct ort_allocator *allocator)
{
    const struct ort_memory_device host = {ORT_MEMORY_CPU, 0}, device = {ORT_MEMORY_GPU, 0x10de},
                                   other = {ORT_MEMORY_GPU, 0x1002};
    struct ort_transfer *t = NULL;
    float here[4] = {5, 6, 7, 8}, back[4] = {0};
    float *there = allocator->alloc(allocator, sizeof(here));
    struct ort_value from = {.type = 1, .size_B = 16, .at = here};
    struct ort_value to = {.type = 1, .size_B = 16, .at = there},
                     last = {.type = 1, .size_B = 16, .at = back};
    const struct ort_value *sources[] = {&from, &to};
    struct ort_value *targets[] = {&to, &last};

    ok(!f->create_transfer(f, &t) && t, "a transfer");
    ok(t->can_copy(t, &host, &device) && t->can_copy(t, &device, &host) &&
           t->can_copy(t, &device, &device),
       "between host and device");
    ok(!t->can_copy(t, &host, &host) && !t->can_copy(t, &other, &host) &&
           !t->can_copy(t, &device, &other),
       "of nobody else's memory");
    ok(!t->copy(t, sources, targets, NULL, 2) && back[3] == 8, "there and back");
    t->release(t);
    unsigned kind = 0;
    ok(cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                             (CUdeviceptr)(uintptr_t)there) == CUDA_SUCCESS &&
           kind == CU_MEMORYTYPE_DEVICE,
       "it is CUDA's memory");
    allocator->free(allocator, there);
    ok(!allocator->alloc(allocator, 0) && allocator->info(allocator)->device == ORT_MEMORY_GPU,
       "no memory for nothing, and whose it is");
}

int main(void)
{
    const struct ort_base base = {get_api, NULL}, old = {get_old_api, NULL};
    struct ort_factory *factories[4];
    const struct ort_hardware gpu = {ORT_HARDWARE_GPU}, cpu = {ORT_HARDWARE_CPU};
    const struct ort_hardware *hardware[] = {&gpu, &cpu};
    struct ort_ep_device *devices[4];
    struct ort_allocator *allocator = NULL;
    struct ort_ep *ep = NULL;
    size_t count = 7, ndevices = 7;

    fill_tables();
    struct ort_status *status = CreateEpFactories("any", &old, NULL, factories, 4, &count);
    ok(status && !count && strstr(status->message, "1.23 or newer"), "an old one is told so");
    ReleaseStatus(status);
    ok(!CreateEpFactories("any", &base, NULL, factories, 4, &count), "factories");
    ok(count == 2, "one for each device of HEDDLE_DEVICES=2");
    struct ort_factory *f = factories[1];
    eq_str(f->name(f), "CUDAExecutionProvider", "the factory's name");
    ok(!f->has_streams(f) && f->vendor_id(f) == 0x10de && *f->vendor(f) && *f->own_version(f),
       "no streams; names");
    ok(!f->devices(f, hardware, 2, devices, 4, &ndevices) && ndevices == 1, "a device");
    eq_u64(world.memory_infos, 2, "memory of each device");
    ok(devices[0]->memory->id == 1, "the device's memory");
    ok(!f->create_ep(f, NULL, NULL, 0, NULL, NULL, &ep) && ep, "a provider");
    eq_str(ep->name(ep), "CUDAExecutionProvider", "the provider's name");
    ok(!f->create_allocator(f, devices[0]->memory, NULL, &allocator) && allocator, "an allocator");

    test_capability(ep);
    test_run(ep, allocator);
    test_memory(f, allocator);

    f->release_allocator(f, allocator);
    f->release_ep(f, ep);
    free(devices[0]);
    for (size_t i = 0; i < count; i++)
        ok(!ReleaseEpFactory(factories[i]), "released");
    ok(!world.statuses && !world.values && !world.sessions && !world.memory_infos && !world.envs &&
           !world.options,
       "nothing is left");
    return done();
}
