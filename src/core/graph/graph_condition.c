/* See graph_condition.h. */
#include "core/graph/graph_condition.h"

#include <assert.h>

#include "base/mem.h"
#include "core/context.h"
#include "core/notify.h"

enum hd_status core_condition_create(struct core_graph *graph, struct core_context *ctx,
                                     bool has_initial, uint32_t initial, uint64_t *out_va)
{
    struct core_condition *c = hd_new(struct core_condition);
    enum hd_status status = c ? HD_OK : hd_error(HD_NO_MEMORY, "condition of a graph");

    if (status == HD_OK)
        status = core_memory_alloc_own(ctx, sizeof(uint32_t), CORE_MEM_DEVICE, HEDDLE_MEMORY_OWN,
                                       &c->va);
    if (status != HD_OK) {
        hd_free(c);
        return status;
    }
    c->ctx = core_context_ref(ctx);
    c->ctx_id = ctx->id;
    c->has_initial = has_initial;
    c->initial = initial;
    c->refs = 1;
    *out_va = c->va;
    hd_lock_acquire(&core_graph_lock);
    status = core_graph_check_locked(graph);
    if (status == HD_OK && !hd_vec_push(&graph->conditions, c))
        status = hd_error(HD_NO_MEMORY, "condition of a graph");
    if (status != HD_OK)
        core_condition_unref_locked(c);
    hd_lock_release(&core_graph_lock);
    return status;
}

struct core_condition *core_condition_ref_locked(struct core_condition *c)
{
    assert(hd_lock_held(&core_graph_lock));
    c->refs++;
    return c;
}

void core_condition_unref_locked(struct core_condition *c)
{
    struct core_context *ctx = c->ctx;

    assert(hd_lock_held(&core_graph_lock) && c->refs > 0);
    if (--c->refs)
        return;
    if (c->ctx_id == ctx->id) /* else it went with the context */
        core_memory_free_own(c->va);
    hd_free(c);
    core_context_unref(ctx);
}

struct core_condition *core_condition_find_locked(const struct core_graph *graph, uint64_t va)
{
    assert(hd_lock_held(&core_graph_lock));
    for (; graph; graph = graph->owner ? graph->owner->graph : NULL)
        for (size_t i = 0; i < graph->conditions.len; i++)
            if (graph->conditions.at[i]->va == va)
                return graph->conditions.at[i];
    return NULL;
}
