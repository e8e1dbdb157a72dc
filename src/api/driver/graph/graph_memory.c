/* Nodes of graphs that allocate and free memory or wait for and write values; memory of graphs. */
#include "api/driver/graph/graph.h"

#include <assert.h>

#include "base/mem.h"
#include "core/graph/graph_memory.h"

#define BODY(name) const char *const api_name_ = "graph node: " name

/* ---- operations on memory */

_Static_assert(sizeof(CUstreamBatchMemOpParams) == CORE_MEM_OP_TEXT_B, "room for them");

CUresult graph_body_batch(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, struct core_body *out_body)
{
    BODY("memory operations");
    struct core_mem_op ops[DRV_MEM_OPS_MAX] = {0};

    API_CHECK(p->count <= DRV_MEM_OPS_MAX && (p->paramArray || !p->count));
    API_CHECK(!p->flags);
    __attribute__((cleanup(core_context_unref_at))) struct core_context *ctx =
        core_context_find(p->ctx, NULL);
    if (!ctx)
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "%s: not a context", api_name_);
    for (unsigned i = 0; i < p->count; i++)
        API_TRY(drv_mem_op_decode(&p->paramArray[i], &ops[i]));
    return drv_result(core_body_batch(ctx, ops, p->count, out_body));
}

/* The array is the node's, and stays until the node changes. */
CUresult drv_cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    CUstreamBatchMemOpParams *said;

    API_CALL(cuGraphBatchMemOpNodeGetParams);
    API_CHECK(params);
    NODE_BODY(body, node, CORE_NODE_BATCH);
    if (!body->batch.said)
        body->batch.said = hd_alloc_array(HD_MAX(body->batch.n, 1u), CORE_MEM_OP_TEXT_B);
    if (!body->batch.said)
        return drv_error(CUDA_ERROR_OUT_OF_MEMORY, "%s", api_name_);
    said = (void *)body->batch.said;
    for (unsigned i = 0; i < body->batch.n; i++)
        drv_mem_op_encode(&body->batch.ops[i], &said[i]);
    *params = (CUDA_BATCH_MEM_OP_NODE_PARAMS){
        .ctx = core_context_handle(body->batch.ctx), .count = body->batch.n, .paramArray = said};
    return CUDA_SUCCESS;
}

/* ---- allocation */

static CUresult access_check(const CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    BODY("allocation");

    API_CHECK(p->accessDescs || !p->accessDescCount);
    API_CHECK(p->accessDescCount <= CORE_DEVICES_MAX);
    for (size_t i = 0; i < p->accessDescCount; i++) {
        API_CHECK(p->accessDescs[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE);
        API_CHECK(core_device_at(p->accessDescs[i].location.id));
    }
    return CUDA_SUCCESS;
}

/* What was asked for, with the access rights behind it: one block. */
static CUDA_MEM_ALLOC_NODE_PARAMS *said_make(const CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    size_t access_B = p->accessDescCount * sizeof(p->accessDescs[0]);
    CUDA_MEM_ALLOC_NODE_PARAMS *said = hd_alloc(sizeof(*said) + access_B);

    if (!said)
        return NULL;
    *said = *p;
    if (access_B)
        memcpy(said + 1, p->accessDescs, access_B);
    said->accessDescs = access_B ? (const void *)(said + 1) : NULL;
    return said;
}

CUresult graph_body_alloc(CUDA_MEM_ALLOC_NODE_PARAMS *p, struct core_body *out_body)
{
    BODY("allocation");
    CUDA_MEM_ALLOC_NODE_PARAMS *said;
    struct core_mempool_props props;
    struct core_graph_memory *memory;

    API_TRY(drv_mempool_props(&p->poolProps, &props));
    API_CHECK(!props.exportable);
    API_TRY(access_check(p));
    said = said_make(p);
    if (!said)
        return drv_error(CUDA_ERROR_OUT_OF_MEMORY, "%s", api_name_);
    API_TRY(drv_result(core_graph_memory_create(&props, p->bytesize, said, &memory)));
    p->dptr = said->dptr = memory->va;
    *out_body = core_body_memory(CORE_NODE_ALLOC, memory);
    core_graph_memory_unref(memory);
    return CUDA_SUCCESS;
}

CUresult drv_cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    const struct core_graph_memory *memory;

    API_CALL(cuGraphMemAllocNodeGetParams);
    API_CHECK(params);
    NODE_BODY(body, node, CORE_NODE_ALLOC);
    memory = body->memory;
    if (memory->said)
        *params = *(const CUDA_MEM_ALLOC_NODE_PARAMS *)memory->said;
    else
        *params = (CUDA_MEM_ALLOC_NODE_PARAMS){
            .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                          .location = {CU_MEM_LOCATION_TYPE_DEVICE, memory->device->ordinal}},
            .bytesize = memory->size_B,
            .dptr = memory->va};
    return CUDA_SUCCESS;
}

CUresult graph_body_free(CUdeviceptr va, struct core_body *out_body)
{
    struct core_graph_memory *memory = core_graph_memory_find(va);

    if (!memory)
        return drv_error(CUDA_ERROR_INVALID_VALUE,
                         "graph node: no graph allocates memory at 0x%llx", (unsigned long long)va);
    *out_body = core_body_memory(CORE_NODE_FREE, memory);
    core_graph_memory_unref(memory);
    return CUDA_SUCCESS;
}

CUresult drv_cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *va)
{
    API_CALL(cuGraphMemFreeNodeGetParams);
    API_CHECK(va);
    NODE_BODY(body, node, CORE_NODE_FREE);
    *va = body->memory->va;
    return CUDA_SUCCESS;
}

/* ---- figures */

_Static_assert((int)CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT == (int)CORE_GRAPH_MEMORY_USED &&
                   (int)CU_GRAPH_MEM_ATTR_USED_MEM_HIGH == (int)CORE_GRAPH_MEMORY_USED_HIGH &&
                   (int)CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT == (int)CORE_GRAPH_MEMORY_RESERVED &&
                   (int)CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH == (int)CORE_GRAPH_MEMORY_RESERVED_HIGH,
               "numbers are cast");

CUresult drv_cuDeviceGetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attr, void *value)
{
    API_CALL(cuDeviceGetGraphMemAttribute);
    API_CHECK(value && (unsigned)attr < CORE_GRAPH_MEMORY_STATS);
    API_DEVICE(device, dev);
    *(cuuint64_t *)value = core_graph_memory_stat(device, (enum core_graph_memory_stat)attr);
    return CUDA_SUCCESS;
}

/* The highs can be reset, to 0 only. */
CUresult drv_cuDeviceSetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attr, void *value)
{
    API_CALL(cuDeviceSetGraphMemAttribute);
    API_CHECK(value && !*(cuuint64_t *)value);
    API_CHECK(attr == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ||
              attr == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH);
    API_DEVICE(device, dev);
    core_graph_memory_stat_reset(device, (enum core_graph_memory_stat)attr);
    return CUDA_SUCCESS;
}

CUresult drv_cuDeviceGraphMemTrim(CUdevice dev)
{
    API_CALL(cuDeviceGraphMemTrim);
    API_DEVICE(device, dev);
    core_graph_memory_trim(device);
    return CUDA_SUCCESS;
}
