/* Plans run: in a stream, or as nodes of a CUDA graph. */
#include "api/cudnn/graph.h"

#include <cuda.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"

#define AT(body, name) graph_body_at(body, CUDNN_ATTR_##name)

/* ---- the variant pack */

static const struct graph_value *value_of(const struct graph_body *pack,
                                          cudnnBackendAttributeName_t name)
{
    static const struct graph_value none = {.count = 0};
    const struct graph_value *v = graph_find(pack, name);

    return v ? v : &none;
}

static cudnnStatus_t fill(struct dnn_program *p, const struct graph_body *pack,
                          struct dnn_graph_call *call)
{
    const struct graph_value *uids = value_of(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const struct graph_value *pointers = value_of(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    const struct graph_value *workspace = value_of(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
    const int64_t *slots = graph_slots(p), *uid = uids->values;
    static const uint8_t size_B[] = {
#define X(name, size, cudnn) [DNN_##name] = size,
        DNN_TYPE_LIST(X)
#undef X
            [DNN_E2M1] = 1,
        [DNN_I4] = 1};

    *call = (struct dnn_graph_call){.program = p, .nslots = p->nslots};
    call->workspace = workspace->count ? *(char **)workspace->values : NULL;
    if (p->workspace_B && !call->workspace)
        return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
                          "the plan needs a workspace of %llu bytes, and the variant pack has none",
                          (unsigned long long)p->workspace_B);
    for (uint32_t s = 0; s < p->nslots; s++) {
        int64_t i = 0;
        while (i < uids->count && uid[i] != slots[s])
            i++;
        if (i == uids->count)
            return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM, "the variant pack lacks tensor %lld",
                              (long long)slots[s]);
        call->slots[s].address = ((void **)pointers->values)[i];
        if (!call->slots[s].address)
            return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
                              "the variant pack's pointer of tensor %lld is NULL",
                              (long long)slots[s]);
    }
    /* Numbers of the host's are read now; each once, though several tensors may be views of it. */
    bool read[DNN_SLOTS] = {false};
    for (uint32_t t = 0; t < p->ntensors; t++) {
        const struct dnn_graph_tensor *tensor = &dnn_tensors(p)[t];
        if (tensor->where != DNN_VALUE || read[tensor->slot])
            continue;
        const void *from = call->slots[tensor->slot].address;
        call->slots[tensor->slot].whole = 0;
        memcpy(&call->slots[tensor->slot], from, size_B[tensor->type]);
        read[tensor->slot] = true;
    }
    return CUDNN_STATUS_SUCCESS;
}

/*
 * The program, with an owner more, for shapes that the pack has in place of the graph's.
 * cudnn-frontend gives them as
 * the first of its vectors of numbers, as C++'s library lays them out: begin, end, end of memory.
 */
static cudnnStatus_t overridden(const struct graph_body *plan, const struct graph_body *pack,
                                struct dnn_program **out)
{
    struct vector {
        const int64_t *begin, *end, *cap;
    };
    const struct graph_value *uids = value_of(pack, CUDNN_ATTR_VARIANT_PACK_OVERRIDE_UNIQUE_IDS);
    const struct graph_value *shapes = value_of(pack, CUDNN_ATTR_VARIANT_PACK_OVERRIDE_SHAPES);
    const struct graph_value *strides = value_of(pack, CUDNN_ATTR_VARIANT_PACK_OVERRIDE_STRIDES);
    const struct graph_body *engine = AT(AT(plan, EXECUTION_PLAN_ENGINE_CONFIG), ENGINECFG_ENGINE);

    *out = NULL;
    if (!uids->count) {
        *out = graph_own(plan->program);
        return CUDNN_STATUS_SUCCESS;
    }
    if (!shapes->count || !strides->count)
        return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM, "overridden tensors need shapes and strides");
    const struct vector *shape = *(const struct vector **)shapes->values;
    const struct vector *stride = *(const struct vector **)strides->values;
    struct graph_override *o = hd_alloc_array((size_t)uids->count, sizeof(*o));
    if (!o)
        return GRAPH_FAIL(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory");
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    for (int64_t i = 0; i < uids->count && !status; i++) {
        o[i].uid = ((const int64_t *)uids->values)[i];
        o[i].rank = (int)(shape[i].end - shape[i].begin);
        if (o[i].rank < 1 || o[i].rank > DNN_DIMS || stride[i].end - stride[i].begin != o[i].rank) {
            status =
                GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                           "tensor %lld is overridden by %d dimensions and %d strides",
                           (long long)o[i].uid, o[i].rank, (int)(stride[i].end - stride[i].begin));
            break;
        }
        memcpy(o[i].dims, shape[i].begin, (size_t)o[i].rank * sizeof(int64_t));
        memcpy(o[i].strides, stride[i].begin, (size_t)o[i].rank * sizeof(int64_t));
    }
    if (!status)
        status =
            graph_lower(AT(engine, ENGINE_OPERATION_GRAPH),
                        (enum graph_engine)graph_whole(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 0),
                        o, (size_t)uids->count, out);
    hd_free(o);
    if (!status && (*out)->workspace_B > plan->program->workspace_B)
        status = GRAPH_FAIL(CUDNN_STATUS_NOT_SUPPORTED_INVALID_DYNAMIC_SHAPE,
                            "these shapes need a workspace of %llu bytes, and the plan has %llu",
                            (unsigned long long)(*out)->workspace_B,
                            (unsigned long long)plan->program->workspace_B);
    return status;
}

/* ---- steps */

/* A tensor of the program as the convolution's kernel has it. */
static struct klib_tensor conv_tensor(const struct dnn_graph_call *call, int tensor, int rank)
{
    static const uint8_t types[] = {
        [DNN_F32] = KLIB_F32,   [DNN_F64] = KLIB_F64,  [DNN_F16] = KLIB_F16,
        [DNN_BF16] = KLIB_BF16, [DNN_I8] = KLIB_I8,    [DNN_U8] = KLIB_U8,
        [DNN_I32] = KLIB_I32,   [DNN_I64] = KLIB_I64,  [DNN_BOOL] = KLIB_BOOL,
        [DNN_E4M3] = KLIB_E4M3, [DNN_E5M2] = KLIB_E5M2};
    const struct dnn_graph_tensor *t = &dnn_tensors(call->program)[tensor];
    struct klib_tensor out = {.rank = (uint8_t)rank, .type = types[t->type]};

    for (int d = 0; d < rank; d++) {
        out.dims[d] = t->dims[DNN_DIMS - rank + d];
        out.strides[d] = t->strides[DNN_DIMS - rank + d];
    }
    out.address =
        t->where == DNN_WORKSPACE ? call->workspace + t->offset : call->slots[t->slot].address;
    return out;
}

static int launch_conv(const struct lib_handle *handle, const struct klib *klib,
                       const struct dnn_graph_call *call, const struct dnn_step *s)
{
    static struct lib_kernel kernels[3];
    static const char *const names[] = {"conv_forward", "conv_data", "conv_filter"};
    int spatial = (int)s->numbers[3];
    struct klib_conv conv = {.kind = s->mode,
                             .is_flipped = s->flags,
                             .x = conv_tensor(call, s->tensors[0], spatial + 2),
                             .w = conv_tensor(call, s->tensors[1], spatial + 2),
                             .y = conv_tensor(call, s->tensors[2], spatial + 2),
                             .alpha = s->reals[0],
                             .beta = s->reals[1],
                             .groups = s->numbers[13]};
    uint64_t tiles;

    for (int d = 0; d < spatial; d++) {
        conv.pad[d] = s->numbers[4 + d];
        conv.stride[d] = s->numbers[7 + d];
        conv.dilation[d] = s->numbers[10 + d];
    }
    if (conv.beta != 0)
        conv.z = s->mode == KLIB_CONV_FORWARD ? conv.y
                 : s->mode == KLIB_CONV_DATA  ? conv.x
                                              : conv.w;
    uint64_t ns = klib->dnn->conv_plan(&conv, lib_threads(), &tiles);
    return lib_launch(handle, &kernels[s->mode], names[s->mode], klib->dnn->conv, &conv,
                      sizeof(conv), tiles, ns);
}

static cudnnStatus_t launch(const struct lib_handle *handle, const struct graph_body *plan,
                            const struct graph_body *pack)
{
    static struct lib_kernel kernels[DNN_STEP_KINDS];
    static const char *const names[DNN_STEP_KINDS] = {[DNN_STEP_CODE] = "graph_pointwise",
                                                      [DNN_STEP_REDUCE] = "graph_reduction",
                                                      [DNN_STEP_MATMUL] = "graph_matmul",
                                                      [DNN_STEP_RESAMPLE] = "graph_resample",
                                                      [DNN_STEP_RESAMPLE_BWD] =
                                                          "graph_resample_bwd",
                                                      [DNN_STEP_QUANTIZE] = "graph_quantize",
                                                      [DNN_STEP_GROUPED] = "graph_grouped_matmul",
                                                      [DNN_STEP_ATTENTION] = "graph_attention"};
    const struct klib *klib = lib_klib(&dnn_info);
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    struct dnn_program *p;
    struct dnn_graph_call call;
    int result = lib_context();

    if (!klib)
        return GRAPH_FAIL(CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE,
                          "the kernel library is not there");
    cudnnStatus_t status = overridden(plan, pack, &p);
    if (!status)
        status = fill(p, pack, &call);
    if (!status && !result)
        result = cuStreamIsCapturing(handle->stream, &capture);
    if (status || result) {
        graph_disown(p);
        return status ? status : dnn_status(result);
    }
    bool is_captured = capture != CU_STREAM_CAPTURE_STATUS_NONE;
    if (is_captured)
        graph_captured(p);
    for (uint32_t i = 0; i < p->nsteps && !result; i++) {
        const struct dnn_step *s = &dnn_steps(p)[i];
        call.step = i;
        if (s->kind == DNN_STEP_CONV) {
            result = launch_conv(handle, klib, &call, s);
            continue;
        }
        if (!is_captured)
            atomic_fetch_add(&p->launched, s->tiles);
        result = lib_launch(handle, &kernels[s->kind], names[s->kind], klib->dnn_graph->run, &call,
                            sizeof(call), s->tiles, s->work_ns);
        if (result && !is_captured)
            atomic_fetch_sub(&p->launched, s->tiles);
    }
    graph_disown(p);
    return dnn_status(result);
}

/* A finalised descriptor of that kind. */
static cudnnStatus_t check(const struct graph_body *body, enum graph_kind kind)
{
    if (body->kind != kind)
        return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
                          "a descriptor of %s is given for one of %s", graph_kind_name(body->kind),
                          graph_kind_name(kind));
    if (!body->finalized)
        return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                          "the descriptor of %s is not finalised", graph_kind_name(kind));
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_both(const struct graph_body *plan, const struct graph_body *pack)
{
    cudnnStatus_t status = check(plan, GRAPH_EXECUTION_PLAN);

    return status ? status : check(pack, GRAPH_VARIANT_PACK);
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
                                  cudnnBackendDescriptor_t variantPack)
{
    DNN_NEEDS(handle, executionPlan, variantPack);
    cudnnStatus_t status = check_both(executionPlan->body, variantPack->body);
    return status ? status : launch(&handle->base, executionPlan->body, variantPack->body);
}

/* ---- CUDA graphs */

/* Captures the plan's launches into a graph. */
static cudnnStatus_t capture(cudnnHandle_t handle, const struct graph_body *plan,
                             const struct graph_body *pack, CUgraph graph)
{
    struct lib_handle in_capture = handle->base;
    CUstream stream = NULL;
    CUgraph captured;

    int result = lib_context();
    if (!result)
        result = cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (!result)
        result = cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0,
                                             CU_STREAM_CAPTURE_MODE_RELAXED);
    if (result) {
        if (stream)
            (void)cuStreamDestroy(stream);
        return dnn_status(result);
    }
    in_capture.stream = stream;
    cudnnStatus_t status = launch(&in_capture, plan, pack);
    result = cuStreamEndCapture(stream, &captured);
    (void)cuStreamDestroy(stream);
    return status ? status : dnn_status(result);
}

cudnnStatus_t cudnnBackendPopulateCudaGraph(cudnnHandle_t handle,
                                            cudnnBackendDescriptor_t executionPlan,
                                            cudnnBackendDescriptor_t variantPack, cudaGraph_t graph)
{
    DNN_NEEDS(handle, executionPlan, variantPack, graph);
    cudnnStatus_t status = check_both(executionPlan->body, variantPack->body);
    return status ? status
                  : capture(handle, executionPlan->body, variantPack->body, (CUgraph)graph);
}

/* Kernel nodes of both, in the order in which they were made, get the second one's parameters. */
static cudnnStatus_t copy_nodes(CUgraph to, CUgraph from)
{
    size_t n = 0, m = 0;
    int result = cuGraphGetNodes(from, NULL, &n);

    if (!result)
        result = cuGraphGetNodes(to, NULL, &m);
    if (result)
        return dnn_status(result);
    if (n != m)
        return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM_CUDA_GRAPH_MISMATCH,
                          "the graph has %zu nodes, and the plan makes %zu", m, n);
    CUgraphNode *nodes = hd_alloc_array(2 * n + 1, sizeof(*nodes));
    if (!nodes)
        return GRAPH_FAIL(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory");
    result = cuGraphGetNodes(from, nodes, &n);
    if (!result)
        result = cuGraphGetNodes(to, nodes + n, &m);
    for (size_t i = 0; i < n && !result; i++) {
        CUDA_KERNEL_NODE_PARAMS params;
        result = cuGraphKernelNodeGetParams(nodes[i], &params);
        if (!result)
            result = cuGraphKernelNodeSetParams(nodes[n + i], &params);
    }
    hd_free(nodes);
    return dnn_status(result);
}

cudnnStatus_t cudnnBackendUpdateCudaGraph(cudnnHandle_t handle,
                                          cudnnBackendDescriptor_t executionPlan,
                                          cudnnBackendDescriptor_t variantPack, cudaGraph_t graph)
{
    CUgraph fresh;

    DNN_NEEDS(handle, executionPlan, variantPack, graph);
    cudnnStatus_t status = check_both(executionPlan->body, variantPack->body);
    if (status)
        return status;
    int result = lib_context();
    if (!result)
        result = cuGraphCreate(&fresh, 0);
    if (result)
        return dnn_status(result);
    status = capture(handle, executionPlan->body, variantPack->body, fresh);
    if (!status)
        status = copy_nodes((CUgraph)graph, fresh);
    (void)cuGraphDestroy(fresh);
    return status;
}
