/* What the device can launch. See graph_env.h. */
#include <assert.h>

#include "base/list.h"
#include "base/mem.h"
#include "core/context.h"
#include "core/graph/graph_env.h"
#include "ir/device_runtime.h"

static struct core_upload *uploads; /* core_env_lock */

/* ---- what the guide allows */

/* Device memory, or memory of the host that devices can reach by mapping it. */
static bool is_reachable(uint64_t va)
{
    struct core_block block;

    return core_memory_find(va, &block);
}

bool core_upload_is_work(const struct core_body *body)
{
    switch (body->type) {
    case CORE_NODE_KERNEL:
        return !body->kernel.function->native && !(body->kernel.function->calls & IR_RUNTIME_WORK);
    case CORE_NODE_COPY:
        return !body->copy.copy.names_array && is_reachable(body->copy.copy.src) &&
               is_reachable(body->copy.copy.dst);
    case CORE_NODE_FILL:
    case CORE_NODE_CHILD:
        return true;
    default:
        return false;
    }
}

/* Counts what is more than a frame around others. */
static enum hd_status nodes_check(const struct core_graph *graph, size_t *work,
                                  struct core_exec_failure *out_why)
{
    for (size_t i = 0; i < graph->nodes.len; i++) {
        const struct core_node *node = graph->nodes.at[i];

        if (!core_upload_is_work(&node->body)) {
            out_why->node = node->handle;
            if (node->body.type == CORE_NODE_KERNEL && node->body.kernel.function->native)
                return hd_error(HD_NOT_SUPPORTED,
                                "kernel %s is native: graphs launched by the device lack these",
                                node->body.kernel.function->entry->name);
            return hd_error(HD_NOT_SUPPORTED, "a node that graphs launched by the device lack");
        }
        *work += node->body.type != CORE_NODE_CHILD;
        if (node->body.type == CORE_NODE_CHILD)
            HD_TRY(nodes_check(node->body.child, work, out_why));
    }
    return HD_OK;
}

enum hd_status core_upload_check(const struct core_graph *graph, struct core_exec_failure *out_why)
{
    size_t work = 0;

    out_why->result = CORE_INSTANTIATE_UNSUPPORTED;
    HD_TRY(nodes_check(graph, &work, out_why));
    out_why->result = CORE_INSTANTIATE_STRUCTURE;
    return work ? HD_OK : hd_error(HD_BAD_ARG, "an empty graph cannot be launched by the device");
}

/* ---- life */

static void upload_free(struct core_upload *upload)
{
    if (upload->stream) {
        (void)core_stream_destroy(upload->stream);
        core_stream_unref(upload->stream);
    }
    if (upload->graph) {
        hd_lock_acquire(&core_graph_lock);
        core_graph_discard_locked(upload->graph);
        hd_lock_release(&core_graph_lock);
    }
    core_program_fini(&upload->program);
    hd_free(upload);
}

void core_upload_unref(struct core_upload *upload)
{
    bool last;

    if (!upload)
        return;
    hd_lock_acquire(&core_env_lock);
    last = --upload->refs == 0;
    hd_lock_release(&core_env_lock);
    if (last)
        upload_free(upload);
}

/* Unlisted yet; half of one on failure. The caller holds the locks of graphs and of `exec`. */
static enum hd_status upload_create_locked(const struct core_exec *exec, int priority,
                                           struct core_upload **out_upload)
{
    struct core_upload *upload = hd_new(struct core_upload);
    enum hd_status status;

    if (!upload)
        return hd_error(HD_NO_MEMORY, "upload of a graph");
    upload->ctx = exec->ctx;
    upload->ctx_id = exec->ctx_id;
    upload->exec = core_exec_handle(exec);
    upload->refs = 1;
    status = core_graph_clone_locked(exec->graph, false, &upload->graph);
    if (status == HD_OK)
        status = core_program_make(upload->graph, &upload->program);
    if (status == HD_OK)
        status = core_stream_create(exec->ctx, CORE_STREAM_NON_BLOCKING, priority, &upload->stream);
    *out_upload = upload;
    return status;
}

/* Out of the list, with the executable graph's reference. */
static struct core_upload *upload_take(struct core_exec *exec)
{
    struct core_upload *upload;

    hd_lock_acquire(&core_env_lock);
    upload = exec->upload;
    exec->upload = NULL;
    if (upload)
        hd_list_remove(upload);
    hd_lock_release(&core_env_lock);
    return upload;
}

/* The one that is there no more, which cannot be freed under the locks. */
static struct core_upload *upload_replace(struct core_exec *exec, struct core_upload *made)
{
    struct core_upload *before = upload_take(exec);

    hd_lock_acquire(&core_env_lock);
    assert(!exec->upload);
    exec->upload = made;
    hd_list_push(&uploads, made);
    hd_lock_release(&core_env_lock);
    exec->is_uploaded = true;
    return before;
}

enum hd_status core_upload_make(struct core_exec *exec, int priority)
{
    struct core_upload *made = NULL;
    enum hd_status status = HD_OK;

    hd_lock_acquire(&exec->lock);
    hd_lock_acquire(&core_graph_lock);
    if (!exec->is_uploaded) {
        status = upload_create_locked(exec, priority, &made);
        if (status == HD_OK)
            made = upload_replace(exec, made);
    }
    hd_lock_release(&core_graph_lock);
    hd_lock_release(&exec->lock);
    core_upload_unref(made);
    return status;
}

void core_upload_forget(struct core_exec *exec)
{
    core_upload_unref(upload_take(exec));
}

struct core_upload *core_upload_find_locked(const struct core_context *ctx, const void *exec)
{
    struct core_upload *upload = uploads;

    assert(hd_lock_held(&core_env_lock));
    while (upload && (upload->exec != exec || upload->ctx != ctx || upload->ctx_id != ctx->id))
        upload = upload->next;
    return upload;
}
