/* Parameters of graph nodes as the API gives them, and as it wants them back. */
#include <assert.h>

#include "api/driver/graph/graph.h"
#include "core/graph/device_node.h"

#define BODY(name) const char *const api_name_ = "graph node: " name

/* ---- to bodies */

/* A CUfunction, which has its context; without one a CUkernel and the context to run in. */
static CUresult params_kernel_function(const CUDA_KERNEL_NODE_PARAMS *p,
                                       struct core_function **out_function)
{
    BODY("kernel");
    const void *handle = p->func ? (const void *)p->func : (const void *)p->kern;

    *out_function = core_function_lookup(handle);
    if (*out_function)
        return CUDA_SUCCESS;
    __attribute__((cleanup(core_context_unref_at))) struct core_context *given =
        p->ctx ? core_context_find(p->ctx, NULL) : NULL;
    if (p->ctx && !given)
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "%s: not a context", api_name_);
    if (given)
        return drv_function(given, handle, out_function);
    API_CONTEXT(ctx);
    return drv_function(ctx, handle, out_function);
}

CUresult graph_body_kernel(const CUDA_KERNEL_NODE_PARAMS *p, struct core_body *out_body)
{
    BODY("kernel");
    __attribute__((cleanup(core_function_unref_at))) struct core_function *function = NULL;
    struct core_launch launch = {
        .grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
        .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
        .dynamic_smem_B = p->sharedMemBytes,
        .params = p->kernelParams,
    };

    API_TRY(params_kernel_function(p, &function));
    API_CHECK(!p->kernelParams || !p->extra);
    if (p->extra)
        API_TRY(drv_launch_extra(p->extra, &launch));
    return drv_code_result(
        api_name_,
        core_body_kernel(function, p->func ? (void *)p->func : (void *)p->kern, &launch, out_body));
}

CUresult graph_body_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *p, struct core_body *out_body)
{
    CUDA_KERNEL_NODE_PARAMS params = {0};

    memcpy(&params, p, sizeof(*p));
    return graph_body_kernel(&params, out_body);
}
_Static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS, kern) == sizeof(CUDA_KERNEL_NODE_PARAMS_v1),
               "the second version goes on where the first one ends");

_Static_assert(sizeof(CUDA_MEMCPY3D) <= CORE_COPY_TEXT_B, "a node keeps what it was given");

CUresult graph_body_copy(const CUDA_MEMCPY3D *p, CUcontext handle, struct core_body *out_body)
{
    BODY("copy");
    uint8_t said[CORE_COPY_TEXT_B] = {0};
    struct core_copy copy;

    API_TRY(drv_copy_decode(p, &copy));
    __attribute__((cleanup(core_context_unref_at))) struct core_context *ctx =
        core_context_find(handle, NULL);
    if (!ctx)
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "%s: not a context", api_name_);
    memcpy(said, p, sizeof(*p));
    return drv_result(core_body_copy(ctx, &copy, said, out_body));
}

CUresult graph_body_fill(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext handle,
                         struct core_body *out_body)
{
    BODY("fill");
    const struct core_body_fill fill = {.dst = p->dst,
                                        .pitch_B = p->pitch,
                                        .value = p->value,
                                        .elem_B = p->elementSize,
                                        .width = p->width,
                                        .height = p->height};

    API_CHECK(p->elementSize == 1 || p->elementSize == 2 || p->elementSize == 4);
    API_CHECK(p->width && p->height);
    __attribute__((cleanup(core_context_unref_at))) struct core_context *ctx =
        core_context_find(handle, NULL);
    if (!ctx)
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "%s: not a context", api_name_);
    return drv_result(core_body_fill(ctx, &fill, out_body));
}

CUresult graph_body_host(const CUDA_HOST_NODE_PARAMS *p, struct core_body *out_body)
{
    BODY("host function");
    API_CHECK(p->fn);
    *out_body = core_body_host(p->fn, p->userData);
    return CUDA_SUCCESS;
}

CUresult graph_body_event(enum core_node_type type, CUevent handle, struct core_body *out_body)
{
    BODY("event");
    API_HANDLE(event, event, handle);
    *out_body = core_body_event(type, event);
    return CUDA_SUCCESS;
}

CUresult graph_body_child(CUgraph handle, struct core_body *out_body)
{
    BODY("child graph");
    API_GRAPH(graph, graph, handle);
    GRAPH_LOCK();
    API_TRY(drv_result(core_graph_check_locked(graph)));
    return drv_result(core_body_child_locked(graph, out_body));
}

static CUresult params_body_moved(CUgraph parent_handle, CUgraph handle, struct core_body *out_body)
{
    BODY("child graph");
    API_GRAPH(graph, parent, parent_handle);
    API_GRAPH(graph, graph, handle);
    GRAPH_LOCK();
    API_TRY(drv_result(core_graph_check_locked(parent)));
    API_TRY(drv_result(core_graph_check_locked(graph)));
    return drv_result(core_body_moved_locked(graph, parent, out_body));
}

static CUresult params_kernel_of_any(const CUDA_KERNEL_NODE_PARAMS_v3 *p,
                                     struct core_body *out_body)
{
    CUDA_KERNEL_NODE_PARAMS params;

    _Static_assert(sizeof(params) == sizeof(*p), "the same members");
    memcpy(&params, p, sizeof(params));
    return graph_body_kernel(&params, out_body);
}

static CUcontext params_context_or_current(CUcontext ctx)
{
    return ctx ? ctx : core_context_handle(core_current());
}

static CUresult params_fill_of_any(const CUDA_MEMSET_NODE_PARAMS_v2 *p, struct core_body *out_body)
{
    const CUDA_MEMSET_NODE_PARAMS params = {.dst = p->dst,
                                            .pitch = p->pitch,
                                            .value = p->value,
                                            .elementSize = p->elementSize,
                                            .width = p->width,
                                            .height = p->height};

    return graph_body_fill(&params, params_context_or_current(p->ctx), out_body);
}

static CUresult params_child_of_any(CUgraph parent, const CUDA_CHILD_GRAPH_NODE_PARAMS *p,
                                    struct core_body *out_body)
{
    if (p->ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE)
        return graph_body_child(p->graph, out_body);
    if (p->ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE && parent)
        return params_body_moved(parent, p->graph, out_body);
    return drv_error(CUDA_ERROR_INVALID_VALUE, "graph node: ownership %d", (int)p->ownership);
}

CUresult graph_params_check(const CUgraphNodeParams *p)
{
    bool is_zero = !p->reserved2;

    for (size_t i = 0; i < HD_COUNT_OF(p->reserved0); i++)
        is_zero &= !p->reserved0[i];
    return is_zero ? CUDA_SUCCESS
                   : drv_error(CUDA_ERROR_INVALID_VALUE, "graph node: reserved words are not 0");
}

CUresult graph_body_any(CUgraph parent, CUgraphNodeParams *p, struct core_body *out_body)
{
    const CUDA_HOST_NODE_PARAMS host = {p->host.fn, p->host.userData};

    API_TRY(graph_params_check(p));
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return params_kernel_of_any(&p->kernel, out_body);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        if (p->memcpy.flags || p->memcpy.reserved)
            return drv_error(CUDA_ERROR_INVALID_VALUE, "graph node: copies have no flags");
        return graph_body_copy(&p->memcpy.copyParams, params_context_or_current(p->memcpy.copyCtx),
                               out_body);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return params_fill_of_any(&p->memset, out_body);
    case CU_GRAPH_NODE_TYPE_HOST:
        return graph_body_host(&host, out_body);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return params_child_of_any(parent, &p->graph, out_body);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        *out_body = (struct core_body){.type = CORE_NODE_EMPTY};
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return graph_body_event(CORE_NODE_WAIT, p->eventWait.event, out_body);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return graph_body_event(CORE_NODE_RECORD, p->eventRecord.event, out_body);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return graph_body_alloc((CUDA_MEM_ALLOC_NODE_PARAMS *)&p->alloc, out_body);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return graph_body_free(p->free.dptr, out_body);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return graph_body_batch((const CUDA_BATCH_MEM_OP_NODE_PARAMS *)&p->memOp, out_body);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: /* drv_cuGraphAddNode_v2() takes it before */
        return drv_error(CUDA_ERROR_INVALID_VALUE, "graph node: conditional nodes do not change");
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
        return graph_body_signals((const void *)&p->extSemSignal, out_body);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        return graph_body_waits((const void *)&p->extSemWait, out_body);
    }
    return drv_error(CUDA_ERROR_INVALID_VALUE, "graph node: type %d", (int)p->type);
}

/* ---- and back */

static CUDA_KERNEL_NODE_PARAMS kernel_params(const struct core_body_kernel *k)
{
    bool is_kernel = core_handle_is(CORE_KERNEL, k->handle);

    return (CUDA_KERNEL_NODE_PARAMS){
        .func = is_kernel ? NULL : k->handle,
        .gridDimX = k->launch.grid[0],
        .gridDimY = k->launch.grid[1],
        .gridDimZ = k->launch.grid[2],
        .blockDimX = k->launch.block[0],
        .blockDimY = k->launch.block[1],
        .blockDimZ = k->launch.block[2],
        .sharedMemBytes = k->launch.dynamic_smem_B,
        .kernelParams = k->launch.params,
        .kern = is_kernel ? k->handle : NULL,
        .ctx = core_context_handle(k->function->module->ctx),
    };
}

CUresult drv_cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
    API_CALL(cuGraphKernelNodeGetParams_v2);
    API_CHECK(params);
    NODE_BODY(body, node, CORE_NODE_KERNEL);
    *params = kernel_params(&body->kernel);
    return CUDA_SUCCESS;
}

/* It knows functions only: a kernel's is the one in its context. */
CUresult drv_cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    CUDA_KERNEL_NODE_PARAMS all;

    API_CALL(cuGraphKernelNodeGetParams);
    API_CHECK(params);
    NODE_BODY(body, node, CORE_NODE_KERNEL);
    all = kernel_params(&body->kernel);
    all.func = core_function_handle(body->kernel.function);
    memcpy(params, &all, sizeof(*params));
    return CUDA_SUCCESS;
}

/* Of a copy that was captured: one that does the same. */
static CUDA_MEMCPY3D copy_params(const struct core_copy *c)
{
    return (CUDA_MEMCPY3D){
        .srcMemoryType = c->src_is_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_UNIFIED,
        .srcHost = (const void *)(uintptr_t)c->src,
        .srcDevice = c->src,
        .srcPitch = c->src_pitch_B,
        .srcHeight = c->src_pitch_B ? c->src_slice_B / c->src_pitch_B : 0,
        .dstMemoryType = c->dst_is_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_UNIFIED,
        .dstHost = (void *)(uintptr_t)c->dst,
        .dstDevice = c->dst,
        .dstPitch = c->dst_pitch_B,
        .dstHeight = c->dst_pitch_B ? c->dst_slice_B / c->dst_pitch_B : 0,
        .WidthInBytes = c->width_B,
        .Height = c->height,
        .Depth = c->depth,
    };
}

CUresult drv_cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *params)
{
    API_CALL(cuGraphMemcpyNodeGetParams);
    API_CHECK(params);
    NODE_BODY(body, node, CORE_NODE_COPY);
    if (body->copy.said)
        memcpy(params, body->copy.said, sizeof(*params));
    else
        *params = copy_params(&body->copy.copy);
    return CUDA_SUCCESS;
}

CUresult drv_cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *params)
{
    API_CALL(cuGraphMemsetNodeGetParams);
    API_CHECK(params);
    NODE_BODY(body, node, CORE_NODE_FILL);
    *params = (CUDA_MEMSET_NODE_PARAMS){.dst = body->fill.dst,
                                        .pitch = body->fill.pitch_B,
                                        .value = body->fill.value,
                                        .elementSize = body->fill.elem_B,
                                        .width = body->fill.width,
                                        .height = body->fill.height};
    return CUDA_SUCCESS;
}

CUresult drv_cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *params)
{
    API_CALL(cuGraphHostNodeGetParams);
    API_CHECK(params);
    NODE_BODY(body, node, CORE_NODE_HOST);
    *params = (CUDA_HOST_NODE_PARAMS){body->host.func, body->host.arg};
    return CUDA_SUCCESS;
}

CUresult drv_cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph)
{
    API_CALL(cuGraphChildGraphNodeGetGraph);
    API_CHECK(graph);
    NODE_BODY(body, node, CORE_NODE_CHILD);
    *graph = core_graph_handle(body->child);
    return CUDA_SUCCESS;
}

CUresult drv_cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event)
{
    API_CALL(cuGraphEventRecordNodeGetEvent);
    API_CHECK(event);
    NODE_BODY(body, node, CORE_NODE_RECORD);
    *event = core_event_handle(body->event);
    return CUDA_SUCCESS;
}

CUresult drv_cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event)
{
    API_CALL(cuGraphEventWaitNodeGetEvent);
    API_CHECK(event);
    NODE_BODY(body, node, CORE_NODE_WAIT);
    *event = core_event_handle(body->event);
    return CUDA_SUCCESS;
}

/* ---- attributes of kernel nodes */

static CUresult params_attribute_check(CUkernelNodeAttrID attr)
{
    switch ((int)attr) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        return CUDA_SUCCESS;
    default:
        return drv_error(CUDA_ERROR_INVALID_VALUE, "%d is no attribute of a kernel node",
                         (int)attr);
    }
}

static void params_device_node_get(const struct core_body_kernel *kernel,
                                   CUkernelNodeAttrValue *value)
{
    value->deviceUpdatableKernelNode.deviceUpdatable = kernel->device_node != NULL;
    value->deviceUpdatableKernelNode.devNode = core_device_node_handle(kernel->device_node);
}

CUresult drv_cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attr,
                                           CUkernelNodeAttrValue *value)
{
    API_CALL(cuGraphKernelNodeGetAttribute);
    API_CHECK(value);
    NODE_BODY(body, node, CORE_NODE_KERNEL);
    API_TRY(params_attribute_check(attr));
    core_body_attribute_get(&body->kernel, (unsigned)attr, value);
    if ((int)attr == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
        value->cooperative = body->kernel.launch.cooperative;
    if ((int)attr == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE)
        params_device_node_get(&body->kernel, value);
    return CUDA_SUCCESS;
}

/* Changes the launch only when the kernel can be launched so. */
static CUresult params_attribute_apply(struct core_body_kernel *kernel, CUkernelNodeAttrID attr,
                                       const CUkernelNodeAttrValue *value)
{
    CUlaunchAttribute attribute = {.id = attr, .value = *value};
    struct core_launch launch = kernel->launch;

    API_TRY(params_attribute_check(attr));
    if ((int)attr == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
        /* The handle goes to where the program asked for it, as to any other output. */
        int wanted = value->deviceUpdatableKernelNode.deviceUpdatable;

        if ((wanted != 0 && wanted != 1) || (!wanted && kernel->device_node))
            return drv_error(CUDA_ERROR_INVALID_VALUE,
                             "deviceUpdatable is 0 or 1, and a node that is updatable stays so");
        if (!wanted)
            return CUDA_SUCCESS;
        API_TRY(drv_result(core_body_make_updatable(kernel)));
        params_device_node_get(kernel, (CUkernelNodeAttrValue *)(uintptr_t)value);
        return CUDA_SUCCESS;
    }
    API_TRY(drv_launch_attribute(&attribute, &launch));
    API_TRY(drv_result(core_launch_check(kernel->function, &launch)));
    API_TRY(drv_result(core_body_attribute_set(kernel, (unsigned)attr, value)));
    kernel->launch = launch;
    return CUDA_SUCCESS;
}

CUresult drv_cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attr,
                                           const CUkernelNodeAttrValue *value)
{
    API_CALL(cuGraphKernelNodeSetAttribute);
    API_CHECK(value);
    NODE_BODY(body, node, CORE_NODE_KERNEL);
    return params_attribute_apply(&body_node_->body.kernel, attr, value);
}

CUresult drv_cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from)
{
    API_CALL(cuGraphKernelNodeCopyAttributes);
    API_GRAPH(node, dst, to);
    NODE_BODY(src, from, CORE_NODE_KERNEL);
    API_TRY(drv_result(core_node_check_locked(dst)));
    API_CHECK(dst->body.type == CORE_NODE_KERNEL);
    API_CHECK(!dst->body.kernel.device_node && !src->kernel.device_node);
    for (unsigned i = 0; i < CORE_NODE_ATTRIBUTES; i++)
        if (src->kernel.attribute_mask >> i & 1)
            API_TRY(params_attribute_apply(
                &dst->body.kernel, (CUkernelNodeAttrID)i,
                (const CUkernelNodeAttrValue *)(const void *)src->kernel.attributes[i]));
    return CUDA_SUCCESS;
}
