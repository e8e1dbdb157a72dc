/* See provider.h: a group of nodes as a kernel. */
#include "frameworks/onnx/provider.h"

#include <stdio.h>

#include <string.h>

#include "base/mem.h"
#include "frameworks/onnx/model.h"
#include "frameworks/onnx/status.h"
#include "heddle/native.h"

struct subgraph {
    struct ort_compute base;
    CUcontext context; /* the provider's, which lives longer */
    CUstream stream;
    struct heddle_native_kernel *kernel;
    CUfunction function;
    struct ort_env *env;
    struct ort_session *session; /* of the CPU provider */
    struct ort_memory_info *host;
    char **inputs; /* names, by the fused node's inputs; NULL: a constant, which the session has */
    size_t ninputs;
    char **outputs;
    size_t noutputs;
};

/* One run. */
struct run {
    const struct subgraph *subgraph;
    struct ort_kernel_context *context;
    struct ort_status *status;
};

/* ---- running */

/* The device's tensor as one of the host's, at the same place. */
static struct ort_status *view(const struct subgraph *s, const struct ort_value *value,
                               struct ort_value **out)
{
    struct ort_shape *shape;
    int64_t *dims = NULL;
    size_t count = 0, size_B = 0;
    void *at = NULL;
    int type = ORT_NO_ELEMENT;

    ORT_TRY(ORT(GetTensorTypeAndShape)(value, &shape));
    struct ort_status *status = ORT(GetDimensionsCount)(shape, &count);
    if (!status) {
        dims = hd_alloc_array(count + 1, sizeof(*dims));
        status = dims ? ORT(GetDimensions)(shape, dims, count) : status_no_memory();
    }
    if (!status)
        status = ORT(GetTensorElementType)(shape, &type);
    if (!status)
        status = ORT(GetTensorSizeInBytes)(value, &size_B);
    if (!status) /* the session only reads its inputs */
        status = ORT(GetTensorMutableData)((struct ort_value *)(uintptr_t)value, &at);
    if (!status)
        status = ORT(CreateTensorWithDataAsOrtValue)(s->host, at, size_B, dims, count, type, out);
    ORT(ReleaseTensorTypeAndShapeInfo)(shape);
    hd_free(dims);
    return status;
}

static struct ort_status *give(const struct run *r, size_t output, const struct ort_value *value)
{
    struct ort_shape *shape;
    struct ort_value *target = NULL;
    int64_t *dims = NULL;
    size_t count = 0, size_B = 0;
    void *from = NULL, *to = NULL;

    ORT_TRY(ORT(GetTensorTypeAndShape)(value, &shape));
    struct ort_status *status = ORT(GetDimensionsCount)(shape, &count);
    if (!status) {
        dims = hd_alloc_array(count + 1, sizeof(*dims));
        status = dims ? ORT(GetDimensions)(shape, dims, count) : status_no_memory();
    }
    if (!status)
        status = ORT(KernelContext_GetOutput)(r->context, output, dims, count, &target);
    if (!status)
        status = ORT(GetTensorSizeInBytes)(value, &size_B);
    if (!status)
        status = ORT(GetTensorMutableData)((struct ort_value *)(uintptr_t)value, &from);
    if (!status)
        status = ORT(GetTensorMutableData)(target, &to);
    if (!status && size_B)
        memcpy(to, from, size_B);
    ORT(ReleaseTensorTypeAndShapeInfo)(shape);
    hd_free(dims);
    return status;
}

struct values {
    const char **names;
    struct ort_value **at;
    size_t count;
};

static bool values_init(struct values *v, size_t max)
{
    *v = (struct values){.names = hd_alloc_array(max + 1, sizeof(*v->names)),
                         .at = hd_alloc_array(max + 1, sizeof(struct ort_value *))};
    return v->names && v->at;
}

static void values_fini(struct values *v)
{
    for (size_t i = 0; i < v->count; i++)
        ORT(ReleaseValue)(v->at[i]);
    hd_free(v->at);
    hd_free(v->names);
}

static struct ort_status *take_inputs(const struct run *r, struct values *in)
{
    const struct subgraph *s = r->subgraph;
    size_t given;

    ORT_TRY(ORT(KernelContext_GetInputCount)(r->context, &given));
    for (size_t i = 0; i < s->ninputs && i < given; i++) {
        const struct ort_value *value = NULL;
        if (!s->inputs[i])
            continue;
        ORT_TRY(ORT(KernelContext_GetInput)(r->context, i, &value));
        if (!value)
            continue; /* an optional one that is left out */
        ORT_TRY(view(s, value, &in->at[in->count]));
        in->names[in->count++] = s->inputs[i];
    }
    return NULL;
}

static struct ort_status *run_session(const struct run *r)
{
    const struct subgraph *s = r->subgraph;
    struct values in, out;

    bool good = values_init(&in, s->ninputs);
    good = values_init(&out, s->noutputs) && good;
    struct ort_status *status = good ? take_inputs(r, &in) : status_no_memory();
    if (!status) {
        for (; out.count < s->noutputs; out.count++) {
            out.names[out.count] = s->outputs[out.count];
            out.at[out.count] = NULL; /* the session allocates it: its shape is not known before */
        }
        status = ORT(Run)(s->session, NULL, in.names, (const struct ort_value *const *)in.at,
                          in.count, out.names, out.count, out.at);
    }
    for (size_t i = 0; i < out.count && !status; i++)
        status = give(r, i, out.at[i]);
    values_fini(&in);
    values_fini(&out);
    return status;
}

/* What goes wrong in ONNX Runtime is a status of its own, and leaves the context well. */
static int kernel(struct heddle_native_call *call)
{
    struct run *r = *(struct run *const *)call->params;

    r->status = run_session(r);
    return 0;
}

static struct ort_status *compute(struct ort_compute *base, void *state,
                                  struct ort_kernel_context *context)
{
    const struct subgraph *s = (const struct subgraph *)base;
    struct run run = {.subgraph = s, .context = context}, *at = &run;
    void *params[] = {&at};

    ORT_TRY(status_of_driver("cuCtxPushCurrent", cuCtxPushCurrent(s->context)));
    /* what the program put into the default stream may be what makes the inputs */
    CUresult result = cuStreamSynchronize(CU_STREAM_LEGACY);
    if (result == CUDA_SUCCESS)
        result = cuLaunchKernel(s->function, 1, 1, 1, 1, 1, 1, 0, s->stream, params, NULL);
    (void)cuCtxPopCurrent(NULL);
    struct ort_status *status = status_of_driver("a subgraph's kernel", result);
    if (status && run.status)
        ORT(ReleaseStatus)(run.status);
    return status ? status : run.status;
}

static struct ort_status *create_state(struct ort_compute *base,
                                       struct ort_compute_context *context, void **out_state)
{
    *out_state = base;
    return NULL;
}

static void release_state(struct ort_compute *base, void *state)
{
}

/* ---- making one */

static struct ort_status *copy_names(const struct ort_value_info *const *values, size_t count,
                                     char ***out)
{
    *out = hd_alloc_array(count + 1, sizeof(**out));
    if (!*out)
        return status_no_memory();
    memset(*out, 0, (count + 1) * sizeof(**out));
    for (size_t i = 0; i < count; i++) {
        bool is_constant = false;
        const char *name;
        if (!values[i])
            continue;
        ORT_TRY(ORT(ValueInfo_IsConstantInitializer)(values[i], &is_constant));
        ORT_TRY(ORT(GetValueInfoName)(values[i], &name));
        if (is_constant)
            continue;
        (*out)[i] = hd_strdup(name);
        if (!(*out)[i])
            return status_no_memory();
    }
    return NULL;
}

static struct ort_status *make_session(struct subgraph *s, const struct ort_graph *graph,
                                       const struct ort_node *fused)
{
    struct ort_session_options *options = NULL;
    struct hd_buf model;

    ORT_TRY(ORT(CreateEnv)(2 /* warnings, if it is the first */, "heddle", &s->env));
    ORT_TRY(ORT(CreateCpuMemoryInfo)(ORT_DEVICE_ALLOCATOR, 0, &s->host));
    ORT_TRY(ORT(CreateSessionOptions)(&options));
    /* the device has threads of its own, which wait without a processor */
    struct ort_status *status =
        ORT(AddSessionConfigEntry)(options, "session.intra_op.allow_spinning", "0");
    hd_buf_init(&model);
    if (!status)
        status = model_write(&model, graph, fused);
    if (!status)
        status = ORT(CreateSessionFromArray)(s->env, model.ptr, model.len, options, &s->session);
    hd_buf_fini(&model);
    ORT(ReleaseSessionOptions)(options);
    return status;
}

/* "onnx: Gemm x3, Relu x2": operators in the order of their first nodes. */
static struct ort_status *describe(const struct ort_graph *graph, char *text, size_t size_B)
{
    struct {
        const char *type;
        unsigned nodes;
    } kinds[8];
    size_t count, known = 0, len = 0;
    bool more = false;

    ORT_TRY(ORT(Graph_GetNumNodes)(graph, &count));
    const struct ort_node **at = hd_alloc_array(count + 1, sizeof(*at));
    struct ort_status *status = at ? ORT(Graph_GetNodes)(graph, at, count) : status_no_memory();
    for (size_t i = 0; i < count && !status; i++) {
        const char *type = "";
        size_t k = 0;
        status = ORT(Node_GetOperatorType)(at[i], &type);
        while (k < known && strcmp(kinds[k].type, type) != 0)
            k++;
        if (k < known)
            kinds[k].nodes++;
        else if (known < HD_COUNT_OF(kinds))
            kinds[known].type = type, kinds[known++].nodes = 1;
        else
            more = true;
    }
    len = (size_t)snprintf(text, size_B, "onnx:");
    for (size_t k = 0; k < known && !status && len < size_B; k++)
        len +=
            (size_t)snprintf(text + len, size_B - len, kinds[k].nodes > 1 ? "%s %s x%u" : "%s %s",
                             k ? "," : "", kinds[k].type, kinds[k].nodes);
    if (more && len < size_B)
        (void)snprintf(text + len, size_B - len, " ...");
    hd_free(at);
    return status;
}

static struct ort_status *make_kernel(struct subgraph *s, const struct ort_graph *graph)
{
    char name[256];
    struct heddle_native desc = {.size_B = sizeof(desc),
                                 .flags = HEDDLE_NATIVE_INLINE | HEDDLE_NATIVE_WAIT,
                                 .name = name,
                                 .function = kernel,
                                 .params_B = sizeof(struct run *)};

    ORT_TRY(describe(graph, name, sizeof(name)));
    ORT_TRY(status_of_driver("cuCtxPushCurrent", cuCtxPushCurrent(s->context)));
    int result = heddle_native_register(&desc, &s->kernel);
    if (!result)
        result = heddle_native_get_function(s->kernel, &s->function);
    (void)cuCtxPopCurrent(NULL);
    return status_of_driver("a native kernel", (CUresult)result);
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; names && i < count; i++)
        hd_free(names[i]);
    hd_free(names);
}

void subgraph_destroy(struct ort_compute *base)
{
    struct subgraph *s = (struct subgraph *)base;

    if (!s)
        return;
    if (s->kernel)
        (void)heddle_native_unregister(s->kernel);
    if (s->session)
        ORT(ReleaseSession)(s->session);
    if (s->host)
        ORT(ReleaseMemoryInfo)(s->host);
    if (s->env)
        ORT(ReleaseEnv)(s->env);
    free_names(s->inputs, s->ninputs);
    free_names(s->outputs, s->noutputs);
    hd_free(s);
}

struct ort_status *subgraph_create(CUcontext context, CUstream stream,
                                   const struct ort_graph *graph, const struct ort_node *fused,
                                   struct ort_compute **out)
{
    struct subgraph *s = hd_alloc(sizeof(*s));

    if (!s)
        return status_no_memory();
    *s = (struct subgraph){.base = {.version = ORT_VERSION,
                                    .create_state = create_state,
                                    .compute = compute,
                                    .release_state = release_state},
                           .context = context,
                           .stream = stream};
    const struct ort_value_info **in = NULL, **values = NULL;
    struct ort_status *status = model_inputs(fused, &in, &s->ninputs);
    if (!status)
        status = copy_names(in, s->ninputs, &s->inputs);
    if (!status)
        status = model_outputs(fused, &values, &s->noutputs);
    if (!status)
        status = copy_names(values, s->noutputs, &s->outputs);
    hd_free(in);
    hd_free(values);
    if (!status)
        status = make_session(s, graph, fused);
    if (!status)
        status = make_kernel(s, graph);
    if (status)
        subgraph_destroy(&s->base);
    else
        *out = &s->base;
    return status;
}
