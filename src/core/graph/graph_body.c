/* What nodes of graphs do, but for graphs inside: parameters, checked and copied when given. */
#include <assert.h>

#include "base/mem.h"
#include "core/context.h"
#include "core/graph/device_node.h"
#include "core/graph/graph.h"
#include "core/graph/graph_condition.h"
#include "core/graph/graph_memory.h"
#include "core/graph/graph_parts.h"
#include "core/stream/event.h"
#include "core/stream/mem_op.h"
#include "hal/packet.h"

/* ---- kernels */

static void body_kernel_fini(struct core_body_kernel *kernel)
{
    core_device_node_drop(kernel->device_node);
    hd_free(kernel->block);
    hd_free(kernel->attributes);
    core_function_unref(kernel->function);
}

/* The pointers that the API shows stand behind the packed parameters. */
static size_t body_kernel_params_at(const struct core_entry *entry)
{
    return hd_align_up(HD_MAX(entry->params_B, 1u), sizeof(void *));
}

static enum hd_status body_kernel_block_make(struct core_body_kernel *kernel)
{
    const struct core_entry *entry = kernel->function->entry;
    void **params;

    kernel->block = hd_alloc(body_kernel_params_at(entry) + (entry->nparams + 1) * sizeof(void *));
    if (!kernel->block)
        return hd_error(HD_NO_MEMORY, "parameters of a kernel node");
    params = (void **)(void *)(kernel->block + body_kernel_params_at(entry));
    for (uint32_t i = 0; i < entry->nparams; i++)
        params[i] = kernel->block + entry->params[i].offset_B;
    kernel->launch.params = params;
    kernel->launch.buffer = NULL;
    kernel->launch.buffer_B = 0;
    return HD_OK;
}

enum hd_status core_body_kernel(struct core_function *function, void *handle,
                                const struct core_launch *launch, struct core_body *out_body)
{
    struct core_body body = {.type = CORE_NODE_KERNEL,
                             .kernel = {.handle = handle, .launch = *launch}};
    enum hd_status status;

    HD_TRY(core_launch_check(function, launch));
    body.kernel.function = core_function_ref(function);
    status = body_kernel_block_make(&body.kernel);
    if (status == HD_OK)
        status = core_launch_pack(function->entry, launch, body.kernel.block);
    body.kernel.launch.out_device_node = NULL;
    if (status == HD_OK && launch->out_device_node) {
        status = core_body_make_updatable(&body.kernel);
        if (status == HD_OK)
            *launch->out_device_node = core_device_node_handle(body.kernel.device_node);
    }
    if (status != HD_OK)
        body_kernel_fini(&body.kernel);
    else
        *out_body = body;
    return status;
}

enum hd_status core_body_make_updatable(struct core_body_kernel *kernel)
{
    if (kernel->device_node)
        return HD_OK;
    kernel->device_node = core_device_node_create(kernel->function->module->ctx->device,
                                                  kernel->function->entry->params_B);
    return kernel->device_node ? HD_OK : hd_error(HD_NO_MEMORY, "device-updatable node");
}

static enum hd_status body_kernel_attributes_clone(const struct core_body_kernel *from,
                                                   struct core_body_kernel *to)
{
    size_t size_B = CORE_NODE_ATTRIBUTES * sizeof(from->attributes[0]);

    to->attributes = NULL;
    if (!from->attributes)
        return HD_OK;
    to->attributes = hd_alloc(size_B);
    if (!to->attributes)
        return hd_error(HD_NO_MEMORY, "attributes of a kernel node");
    memcpy(to->attributes, from->attributes, size_B);
    return HD_OK;
}

static enum hd_status body_kernel_clone(const struct core_body_kernel *from,
                                        struct core_body_kernel *to)
{
    enum hd_status status;

    *to = *from;
    core_function_ref(to->function);
    if (to->device_node)
        core_device_node_hold(to->device_node);
    to->block = NULL;
    status = body_kernel_attributes_clone(from, to);
    if (status == HD_OK)
        status = body_kernel_block_make(to);
    if (status == HD_OK)
        memcpy(to->block, from->block, from->function->entry->params_B);
    else
        body_kernel_fini(to);
    return status;
}

enum hd_status core_body_attribute_set(struct core_body_kernel *kernel, unsigned number,
                                       const void *value)
{
    assert(number < CORE_NODE_ATTRIBUTES);
    if (!kernel->attributes)
        kernel->attributes = hd_alloc(CORE_NODE_ATTRIBUTES * sizeof(kernel->attributes[0]));
    if (!kernel->attributes)
        return hd_error(HD_NO_MEMORY, "attributes of a kernel node");
    memcpy(kernel->attributes[number], value, CORE_STREAM_ATTRIBUTE_B);
    kernel->attribute_mask |= 1u << number;
    return HD_OK;
}

void core_body_attribute_get(const struct core_body_kernel *kernel, unsigned number,
                             void *out_value)
{
    assert(number < CORE_NODE_ATTRIBUTES);
    if (kernel->attributes)
        memcpy(out_value, kernel->attributes[number], CORE_STREAM_ATTRIBUTE_B);
    else
        memset(out_value, 0, CORE_STREAM_ATTRIBUTE_B);
}

/* ---- copies and fills */

enum hd_status core_body_copy(struct core_context *ctx, const struct core_copy *copy,
                              const void *said, struct core_body *out_body)
{
    struct core_body body = {.type = CORE_NODE_COPY, .copy = {.copy = *copy}};

    HD_TRY(core_copy_check(copy));
    if (said) {
        body.copy.said = hd_alloc(CORE_COPY_TEXT_B);
        if (!body.copy.said)
            return hd_error(HD_NO_MEMORY, "parameters of a copy node");
        memcpy(body.copy.said, said, CORE_COPY_TEXT_B);
    }
    body.copy.ctx = core_context_ref(ctx);
    *out_body = body;
    return HD_OK;
}

static enum hd_status body_copy_clone(const struct core_body_copy *from, struct core_body *to)
{
    to->type = CORE_NODE_COPY;
    to->copy = *from;
    to->copy.said = NULL;
    if (from->said) {
        to->copy.said = hd_alloc(CORE_COPY_TEXT_B);
        if (!to->copy.said)
            return hd_error(HD_NO_MEMORY, "parameters of a copy node");
        memcpy(to->copy.said, from->said, CORE_COPY_TEXT_B);
    }
    core_context_ref(from->ctx);
    return HD_OK;
}

enum hd_status core_body_fill(struct core_context *ctx, const struct core_body_fill *fill,
                              struct core_body *out_body)
{
    HD_TRY(core_fill_check(fill->dst, fill->pitch_B, fill->elem_B, fill->width, fill->height));
    *out_body = (struct core_body){.type = CORE_NODE_FILL, .fill = *fill};
    out_body->fill.ctx = core_context_ref(ctx);
    return HD_OK;
}

/* ---- operations on memory */

static void body_batch_fini(struct core_body_batch *batch)
{
    hd_free(batch->ops);
    hd_free(batch->packets);
    hd_free(batch->said);
    core_context_unref(batch->ctx);
}

/* A batch of as many operations. */
static enum hd_status body_batch_make(struct core_context *ctx, unsigned n,
                                      struct core_body_batch *out_batch)
{
    *out_batch = (struct core_body_batch){
        .ctx = core_context_ref(ctx),
        .ops = hd_alloc_array(HD_MAX(n, 1u), sizeof(*out_batch->ops)),
        .packets = hd_alloc_array(HD_MAX(n, 1u), sizeof(*out_batch->packets)),
        .n = n};
    if (out_batch->ops && out_batch->packets)
        return HD_OK;
    body_batch_fini(out_batch);
    return hd_error(HD_NO_MEMORY, "parameters of a batch node");
}

enum hd_status core_body_batch(struct core_context *ctx, const struct core_mem_op *ops, unsigned n,
                               struct core_body *out_body)
{
    struct core_body body = {.type = CORE_NODE_BATCH};
    enum hd_status status;

    status = body_batch_make(ctx, n, &body.batch);
    for (unsigned i = 0; i < n && status == HD_OK; i++) {
        body.batch.ops[i] = ops[i];
        status = core_mem_op_packet(&ops[i], &body.batch.packets[i]);
        if (status != HD_OK)
            body_batch_fini(&body.batch);
    }
    if (status == HD_OK)
        *out_body = body;
    return status;
}

static enum hd_status body_batch_clone(const struct core_body_batch *from,
                                       struct core_body_batch *to)
{
    HD_TRY(body_batch_make(from->ctx, from->n, to));
    memcpy(to->ops, from->ops, from->n * sizeof(*to->ops));
    memcpy(to->packets, from->packets, from->n * sizeof(*to->packets));
    return HD_OK;
}

struct core_body core_body_memory(enum core_node_type type, struct core_graph_memory *memory)
{
    assert(type == CORE_NODE_ALLOC || type == CORE_NODE_FREE);
    return (struct core_body){.type = type, .memory = core_graph_memory_ref(memory)};
}

/* ---- the others */

enum hd_status core_body_semaphores(const struct core_extsem_ops *ops, struct core_body *out_body)
{
    struct core_body body = {.type = ops->signals ? CORE_NODE_SIGNAL_SEMAPHORES
                                                  : CORE_NODE_WAIT_SEMAPHORES};

    HD_TRY(core_extsem_ops_copy(ops, &body.semaphores));
    *out_body = body;
    return HD_OK;
}

struct core_body core_body_host(void (*func)(void *), void *arg)
{
    return (struct core_body){.type = CORE_NODE_HOST, .host = {func, arg}};
}

struct core_body core_body_event(enum core_node_type type, struct core_event *event)
{
    return (struct core_body){.type = type, .event = core_event_ref(event)};
}

enum hd_status core_body_leaf_clone(const struct core_body *body, struct core_body *out_body)
{
    *out_body = *body;
    switch (body->type) {
    case CORE_NODE_KERNEL:
        return body_kernel_clone(&body->kernel, &out_body->kernel);
    case CORE_NODE_COPY:
        return body_copy_clone(&body->copy, out_body);
    case CORE_NODE_FILL:
        core_context_ref(body->fill.ctx);
        return HD_OK;
    case CORE_NODE_WAIT:
    case CORE_NODE_RECORD:
        core_event_ref(body->event);
        return HD_OK;
    case CORE_NODE_BATCH:
        return body_batch_clone(&body->batch, &out_body->batch);
    case CORE_NODE_SIGNAL_SEMAPHORES:
    case CORE_NODE_WAIT_SEMAPHORES:
        return core_extsem_ops_copy(&body->semaphores, &out_body->semaphores);
    case CORE_NODE_ALLOC:
    case CORE_NODE_FREE:
        core_graph_memory_ref(body->memory);
        return HD_OK;
    case CORE_NODE_CHILD:
    case CORE_NODE_CONDITIONAL:
        assert(!"graphs inside are graph_clone.c's");
        break;
    case CORE_NODE_HOST:
    case CORE_NODE_EMPTY:
        break;
    }
    return HD_OK;
}

void core_body_leaf_fini(struct core_body *body)
{
    switch (body->type) {
    case CORE_NODE_KERNEL:
        body_kernel_fini(&body->kernel);
        break;
    case CORE_NODE_COPY:
        hd_free(body->copy.said);
        core_context_unref(body->copy.ctx);
        break;
    case CORE_NODE_FILL:
        core_context_unref(body->fill.ctx);
        break;
    case CORE_NODE_WAIT:
    case CORE_NODE_RECORD:
        core_event_unref(body->event);
        break;
    case CORE_NODE_BATCH:
        body_batch_fini(&body->batch);
        break;
    case CORE_NODE_SIGNAL_SEMAPHORES:
    case CORE_NODE_WAIT_SEMAPHORES:
        core_extsem_ops_fini(&body->semaphores);
        break;
    case CORE_NODE_ALLOC:
    case CORE_NODE_FREE:
        core_graph_memory_unref(body->memory);
        break;
    case CORE_NODE_CHILD:
    case CORE_NODE_CONDITIONAL:
        assert(!"graphs inside are graph.c's");
        break;
    case CORE_NODE_HOST:
    case CORE_NODE_EMPTY:
        break;
    }
}

struct core_context *core_body_context(const struct core_body *body)
{
    switch (body->type) {
    case CORE_NODE_KERNEL:
        return body->kernel.function->module->ctx;
    case CORE_NODE_COPY:
        return body->copy.ctx;
    case CORE_NODE_FILL:
        return body->fill.ctx;
    case CORE_NODE_WAIT:
    case CORE_NODE_RECORD:
        return body->event->ctx;
    case CORE_NODE_BATCH:
        return body->batch.ctx;
    case CORE_NODE_CONDITIONAL:
        return body->conditional.condition->ctx;
    case CORE_NODE_SIGNAL_SEMAPHORES:
    case CORE_NODE_WAIT_SEMAPHORES:
    case CORE_NODE_ALLOC:
    case CORE_NODE_FREE:
    case CORE_NODE_CHILD:
    case CORE_NODE_HOST:
    case CORE_NODE_EMPTY:
        break;
    }
    return NULL;
}
