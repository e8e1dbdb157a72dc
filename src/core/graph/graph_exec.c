/* Executable graphs: made of a graph, and launched. */
#include <assert.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/context.h"
#include "core/device.h"
#include "core/graph/capture.h"
#include "core/graph/device_node.h"
#include "core/graph/graph_condition.h"
#include "core/graph/graph_env.h"
#include "core/graph/graph_memory.h"
#include "core/graph/graph_parts.h"
#include "hal/hal.h"

/* ---- what can be executed */

/* The first node whose work belongs to another context, or NULL. */
static const struct core_node *exec_find_foreign(const struct core_graph *graph,
                                                 const struct core_context *ctx)
{
    for (size_t i = 0; i < graph->nodes.len; i++) {
        const struct core_node *node = graph->nodes.at[i], *foreign;
        const struct core_context *its = core_body_context(&node->body);
        size_t n;
        struct core_graph *const *inner = core_body_graphs(&node->body, &n);

        if (its && its != ctx && node->body.type != CORE_NODE_WAIT)
            return node;
        for (size_t k = 0; k < n; k++)
            if ((foreign = exec_find_foreign(inner[k], ctx)))
                return foreign;
    }
    return NULL;
}

/* The node at which an order that respects the edges ends: one of a cycle. */
static enum hd_status exec_check_order(struct core_graph *graph, struct core_exec_failure *out_why)
{
    struct core_node **order = hd_alloc_array(graph->nodes.len + 1, sizeof(*order));
    enum hd_status status;

    if (!order)
        return hd_error(HD_NO_MEMORY, "order of a graph");
    status = core_graph_order(graph, order);
    for (size_t i = 0; i < graph->nodes.len && status != HD_OK && !out_why->node; i++) {
        size_t k = 0;

        while (order[k] && order[k] != graph->nodes.at[i])
            k++;
        if (!order[k])
            out_why->node = graph->nodes.at[i]->handle;
    }
    hd_free(order);
    return status;
}

/* What CUDA allows in the graphs of a conditional node. */
static bool exec_is_conditional_work(enum core_node_type type)
{
    return type == CORE_NODE_KERNEL || type == CORE_NODE_EMPTY || type == CORE_NODE_CHILD ||
           type == CORE_NODE_FILL || type == CORE_NODE_COPY || type == CORE_NODE_CONDITIONAL;
}

static bool exec_is_conditional(const struct core_graph *graph)
{
    while (graph->owner && graph->owner->body.type == CORE_NODE_CHILD)
        graph = graph->owner->graph;
    return graph->owner != NULL;
}

static enum hd_status exec_check_structure(struct core_graph *graph,
                                           struct core_exec_failure *out_why)
{
    HD_TRY(exec_check_order(graph, out_why));
    for (size_t i = 0; i < graph->nodes.len; i++) {
        size_t n;
        struct core_graph *const *inner = core_body_graphs(&graph->nodes.at[i]->body, &n);

        for (size_t k = 0; k < n; k++)
            HD_TRY(exec_check_structure(inner[k], out_why));
    }
    for (size_t i = 0; i < graph->nodes.len && exec_is_conditional(graph); i++)
        if (!exec_is_conditional_work(graph->nodes.at[i]->body.type)) {
            out_why->result = CORE_INSTANTIATE_UNSUPPORTED;
            out_why->node = graph->nodes.at[i]->handle;
            return hd_error(HD_NOT_SUPPORTED, "a node that cannot be conditional");
        }
    for (size_t i = 0; i < graph->conditions.len; i++)
        if (!graph->conditions.at[i]->is_used) {
            out_why->result = CORE_INSTANTIATE_CONDITION;
            return hd_error(HD_BAD_ARG, "a conditional handle of the graph has no node");
        }
    return HD_OK;
}

static enum hd_status exec_check(struct core_graph *graph, const struct core_context *ctx,
                                 unsigned flags, struct core_exec_failure *out_why)
{
    const struct core_node *foreign;

    out_why->result = CORE_INSTANTIATE_STRUCTURE;
    HD_TRY(exec_check_structure(graph, out_why));
    foreign = exec_find_foreign(graph, ctx);
    out_why->result = foreign ? CORE_INSTANTIATE_CONTEXTS : CORE_INSTANTIATE_OK;
    out_why->node = foreign ? foreign->handle : NULL;
    if (foreign)
        return hd_error(HD_NOT_SUPPORTED, "the nodes of the graph are of several contexts");
    return flags & CORE_EXEC_DEVICE_LAUNCH ? core_upload_check(graph, out_why) : HD_OK;
}

/* ---- life */

/* The context that its nodes belong to. */
static struct core_context *exec_context_of(const struct core_graph *graph)
{
    struct core_context *ctx = NULL;

    for (size_t i = 0; i < graph->nodes.len && !ctx; i++) {
        const struct core_body *body = &graph->nodes.at[i]->body;

        ctx = body->type == CORE_NODE_CHILD  ? exec_context_of(body->child)
              : body->type == CORE_NODE_WAIT ? NULL
                                             : core_body_context(body);
    }
    return ctx;
}

static enum hd_status exec_fill_locked(struct core_exec *exec, struct core_graph *graph,
                                       struct core_exec_failure *out_why)
{
    struct core_context *ctx = exec_context_of(graph);
    enum hd_status status;

    HD_TRY(core_graph_check_locked(graph));
    if (graph->is_moved)
        return hd_error(HD_BAD_ARG, "the graph was moved into another");
    if (ctx && ctx != exec->ctx) {
        core_context_unref(exec->ctx);
        exec->ctx = core_context_ref(ctx);
    }
    exec->ctx_id = exec->ctx->id;
    HD_TRY(exec_check(graph, exec->ctx, exec->flags, out_why));
    out_why->result = CORE_INSTANTIATE_ERROR;
    HD_TRY(core_graph_updatable_take_locked(graph));
    status = core_graph_clone_locked(graph, false, &exec->graph);
    if (status != HD_OK)
        core_graph_updatable_give_locked(graph);
    HD_TRY(status);
    HD_TRY(core_program_make(exec->graph, &exec->program));
    HD_TRY(core_graph_memory_instantiate(&exec->program));
    exec->has_memory = exec->program.allocs.len || exec->program.frees.len;
    return HD_OK;
}

enum hd_status core_exec_create(struct core_graph *graph, struct core_context *ctx, unsigned flags,
                                struct core_exec **out_exec, struct core_exec_failure *out_why)
{
    struct core_exec *exec = core_handle_alloc(CORE_EXEC);
    enum hd_status status;

    *out_why = (struct core_exec_failure){.result = CORE_INSTANTIATE_ERROR};
    if (!exec)
        return hd_error(HD_NO_MEMORY, "executable graph");
    hd_lock_init(&exec->lock, HD_RANK_EXEC, "executable graph");
    exec->ctx = core_context_ref(ctx);
    exec->flags = flags;
    hd_lock_acquire(&core_graph_lock);
    status = exec_fill_locked(exec, graph, out_why);
    hd_lock_release(&core_graph_lock);
    if (status != HD_OK) {
        core_exec_unref(exec);
        return status;
    }
    out_why->result = CORE_INSTANTIATE_OK;
    core_object_publish(&exec->object);
    *out_exec = core_exec_ref(exec);
    return HD_OK;
}

bool core_exec_destroy(struct core_exec *exec)
{
    if (!core_object_retire(&exec->object))
        return false;
    core_upload_forget(exec);
    core_exec_unref(exec);
    return true;
}

void core_exec_finalise(struct core_exec *exec)
{
    struct core_context *ctx = exec->ctx;

    if (exec->has_memory)
        core_graph_memory_forget(&exec->program);
    core_upload_forget(exec); /* a launch may have made one after it was destroyed */
    if (exec->graph) {
        hd_lock_acquire(&core_graph_lock);
        core_graph_updatable_give_locked(exec->graph);
        core_graph_discard_locked(exec->graph);
        hd_lock_release(&core_graph_lock);
    }
    core_program_fini(&exec->program);
    hd_lock_fini(&exec->lock);
    core_handle_free(exec);
    core_context_unref(ctx);
}

/* ---- launches */

static enum hd_status exec_program_refresh_locked(struct core_exec *exec)
{
    struct hal_device *hal = exec->ctx->device->hal;
    bool shares = exec->program.branches.len || exec->program.is_updatable;

    assert(hd_lock_held(&exec->lock));
    if (exec->is_stale && shares && exec->last_queue) /* with a launch that may be running */
        HD_TRY(hal->ops->wait(hal, exec->last_queue, exec->last_position, UINT64_MAX));
    if (exec->is_stale)
        HD_TRY(core_program_make(exec->graph, &exec->program));
    exec->is_stale = false;
    return HD_OK;
}

static enum hd_status exec_needs_prepare(struct hal_device *hal, const struct core_program *program)
{
    for (size_t i = 0; i < program->needs.len; i++) {
        const struct core_need *need = &program->needs.at[i];

        HD_TRY(hal->ops->kernel_prepare(need->kernel, need->grid, need->block));
    }
    for (size_t i = 0; i < program->branches.len; i++) {
        size_t n;
        const struct core_program *inner = core_branch_programs(program->branches.at[i], &n);

        while (n--)
            HD_TRY(exec_needs_prepare(hal, &inner[n]));
    }
    return HD_OK;
}

static enum hd_status exec_check_stream(const struct core_exec *exec,
                                        const struct core_stream *stream)
{
    if (stream->ctx != exec->ctx)
        return hd_error(HD_BAD_ARG, "the graph and the stream are of different contexts");
    if (exec->ctx_id != exec->ctx->id)
        return hd_error(HD_BAD_HANDLE, "the device was reset after the graph was instantiated");
    return HD_OK;
}

/* What the graph keeps alive, it keeps alive until the launch is done. */
static void exec_launch_done(void *arg)
{
    core_exec_unref(arg);
}

static enum hd_status exec_packets_run_locked(struct core_exec *exec, struct core_stream *stream,
                                              struct core_run *run)
{
    return core_stream_run(stream, run, CORE_PART_ALL, exec->last_queue, exec->last_position,
                           &exec->last_position);
}

/* Its end is that of everything that kernels launch. */
static enum hd_status exec_run_in_env_locked(struct core_exec *exec, struct core_stream *stream,
                                             struct core_run *run)
{
    struct core_env *env;
    enum hd_status status;

    HD_TRY(core_env_begin(exec, run->grid_id, &env));
    status = exec_packets_run_locked(exec, stream, run);
    status = core_env_end(env, stream, status);
    exec->last_position = hal_queue_submitted(stream->queue);
    return status;
}

static enum hd_status exec_run_locked(struct core_exec *exec, struct core_stream *stream)
{
    struct core_run run = core_run_begin(exec->ctx, &exec->program);

    assert(hd_lock_held(&exec->lock));
    HD_TRY((exec->program.asks ? exec_run_in_env_locked : exec_packets_run_locked)(exec, stream,
                                                                                   &run));
    exec->last_queue = &stream->queue->ring->retired;
    return HD_OK;
}

/* With memory that it allocates or frees, which is in use until the launch is done. */
static enum hd_status exec_run_with_memory_locked(struct core_exec *exec,
                                                  struct core_stream *stream)
{
    struct core_graph_use *use;
    enum hd_status status;

    HD_TRY(core_graph_memory_begin(&exec->program, exec->flags & CORE_EXEC_AUTO_FREE, &use));
    status = exec_run_locked(exec, stream);
    if (status != HD_OK) {
        core_graph_memory_cancel(use);
        return status;
    }
    status = core_stream_call(stream, core_graph_memory_done, use, true);
    if (status != HD_OK)
        core_graph_memory_done(use);
    return status;
}

static enum hd_status exec_launch_locked(struct core_exec *exec, struct core_stream *stream)
{
    assert(hd_lock_held(&exec->lock));
    HD_TRY(exec_program_refresh_locked(exec));
    HD_TRY(exec_needs_prepare(exec->ctx->device->hal, &exec->program));
    return exec->has_memory ? exec_run_with_memory_locked(exec, stream)
                            : exec_run_locked(exec, stream);
}

enum hd_status core_exec_launch(struct core_exec *exec, struct core_stream *stream)
{
    enum hd_status status;
    bool keeps;

    HD_TRY(exec_check_stream(exec, stream));
    if (core_stream_is_capturing(stream))
        return core_capture_exec(stream, exec);
    if (exec->flags & CORE_EXEC_DEVICE_LAUNCH)
        HD_TRY(core_upload_make(exec, stream->priority));
    hd_lock_acquire(&exec->lock);
    status = exec_launch_locked(exec, stream);
    keeps = exec->graph->users.len || exec->program.branches.len || exec->program.asks;
    hd_lock_release(&exec->lock);
    HD_TRY(status);
    if (keeps) {
        status = core_stream_call(stream, exec_launch_done, core_exec_ref(exec), true);
        if (status != HD_OK)
            core_exec_unref(exec);
    }
    if (status == HD_OK)
        core_launch_settle(stream);
    return status == HD_OK && hd_debug(HD_DEBUG_SYNC) ? core_stream_synchronize(stream) : status;
}

enum hd_status core_exec_upload(struct core_exec *exec, struct core_stream *stream)
{
    enum hd_status status;

    HD_TRY(exec_check_stream(exec, stream));
    hd_lock_acquire(&exec->lock);
    status = exec_program_refresh_locked(exec);
    if (status == HD_OK)
        status = exec_needs_prepare(exec->ctx->device->hal, &exec->program);
    hd_lock_release(&exec->lock);
    if (status == HD_OK && exec->flags & CORE_EXEC_DEVICE_LAUNCH)
        status = core_upload_make(exec, stream->priority);
    return status;
}

void core_exec_changed(struct core_exec *exec)
{
    assert(hd_lock_held(&exec->lock));
    exec->is_stale = true;
    exec->is_uploaded = false;
}
