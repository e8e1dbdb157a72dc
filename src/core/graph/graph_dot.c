/* Graphs as text in the DOT language, for people and their tools. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/graph/graph_condition.h"
#include "core/graph/graph_memory.h"
#include "core/graph/graph_parts.h"
#include "core/stream/mem_op.h"

/* Bits of the API's flags. */
enum {
    DOT_VERBOSE = 1,
    DOT_KERNELS = 4,
    DOT_COPIES = 8,
    DOT_FILLS = 16,
    DOT_HOST = 32,
    DOT_EVENTS = 64,
    DOT_SIGNALS = 128,
    DOT_WAITS = 256,
    DOT_ATTRIBUTES = 512,
    DOT_HANDLES = 1024,
    DOT_ALLOCS = 2048,
    DOT_FREES = 4096,
    DOT_BATCHES = 8192,
    DOT_CONDITIONS = 32768
};

static const char *type_text(enum core_node_type type)
{
    switch (type) {
#define X(NAME, value, body, text)                                                                 \
    case CORE_NODE_##NAME:                                                                         \
        return text;
        CORE_NODE_LIST(X)
#undef X
    }
    assert(!"a node has a type");
    return "";
}

static bool wants(unsigned flags, unsigned bit)
{
    return flags & (DOT_VERBOSE | bit);
}

static void dot_copy(FILE *f, const struct core_copy *copy)
{
    fprintf(f, "\\n0x%" PRIx64 " from 0x%" PRIx64 "\\n%" PRIu64 " x %" PRIu64 " x %" PRIu64,
            copy->dst, copy->src, copy->width_B, copy->height, copy->depth);
}

static void dot_fill(FILE *f, const struct core_body_fill *fill)
{
    fprintf(f, "\\n0x%" PRIx64 " = 0x%x\\n%" PRIu64 " x %" PRIu64 " of %u bytes", fill->dst,
            fill->value, fill->width, fill->height, fill->elem_B);
}

static void dot_batch(FILE *f, const struct core_body_batch *batch)
{
    for (unsigned i = 0; i < batch->n; i++)
        fprintf(f, "\\n%s 0x%" PRIx64 " 0x%" PRIx64,
                batch->ops[i].kind == CORE_MEM_OP_WAIT    ? "wait"
                : batch->ops[i].kind == CORE_MEM_OP_WRITE ? "write"
                                                          : "barrier",
                batch->ops[i].va, batch->ops[i].value);
}

static void dot_condition(FILE *f, const struct core_body_conditional *c)
{
    static const char *const kinds[] = {[CORE_CONDITION_IF] = "if",
                                        [CORE_CONDITION_WHILE] = "while",
                                        [CORE_CONDITION_SWITCH] = "switch"};

    assert((unsigned)c->kind < HD_COUNT_OF(kinds));
    fprintf(f, "\\n%s 0x%" PRIx64 " of %zu", kinds[c->kind], c->condition->va, c->n);
}

/* What a flag shows of the node; 0: nothing does. */
static unsigned flag_of(enum core_node_type type)
{
    static const unsigned flags[] = {[CORE_NODE_COPY] = DOT_COPIES,
                                     [CORE_NODE_FILL] = DOT_FILLS,
                                     [CORE_NODE_HOST] = DOT_HOST,
                                     [CORE_NODE_WAIT] = DOT_EVENTS,
                                     [CORE_NODE_RECORD] = DOT_EVENTS,
                                     [CORE_NODE_ALLOC] = DOT_ALLOCS,
                                     [CORE_NODE_FREE] = DOT_FREES,
                                     [CORE_NODE_BATCH] = DOT_BATCHES,
                                     [CORE_NODE_CONDITIONAL] = DOT_CONDITIONS,
                                     [CORE_NODE_SIGNAL_SEMAPHORES] = DOT_SIGNALS,
                                     [CORE_NODE_WAIT_SEMAPHORES] = DOT_WAITS};

    return flags[type];
}

static void dot_semaphores(FILE *f, const struct core_extsem_ops *ops)
{
    for (unsigned i = 0; i < ops->n; i++)
        fprintf(f, "\\n%p %s %" PRIu64, ops->handles[i],
                ops->signals ? "=" : ">=", ops->at[i].value);
}

static void dot_params(FILE *f, const struct core_body *body)
{
    switch (body->type) {
    case CORE_NODE_COPY:
        dot_copy(f, &body->copy.copy);
        break;
    case CORE_NODE_FILL:
        dot_fill(f, &body->fill);
        break;
    case CORE_NODE_HOST:
        fprintf(f, "\\n0x%" PRIxPTR "(%p)", (uintptr_t)body->host.func, body->host.arg);
        break;
    case CORE_NODE_WAIT:
    case CORE_NODE_RECORD:
        fprintf(f, "\\nevent %p", core_event_handle(body->event));
        break;
    case CORE_NODE_ALLOC:
    case CORE_NODE_FREE:
        fprintf(f, "\\n0x%" PRIx64 " %" PRIu64 " bytes", body->memory->va, body->memory->size_B);
        break;
    case CORE_NODE_BATCH:
        dot_batch(f, &body->batch);
        break;
    case CORE_NODE_CONDITIONAL:
        dot_condition(f, &body->conditional);
        break;
    case CORE_NODE_SIGNAL_SEMAPHORES:
    case CORE_NODE_WAIT_SEMAPHORES:
        dot_semaphores(f, &body->semaphores);
        break;
    case CORE_NODE_KERNEL:
    case CORE_NODE_CHILD:
    case CORE_NODE_EMPTY:
        break;
    }
}

static void dot_graph(FILE *f, const struct core_graph *graph, unsigned flags);

static void dot_node(FILE *f, const struct core_node *node, unsigned flags)
{
    struct core_graph *const *inner;
    size_t n;

    fprintf(f, "\"n%" PRIu64 "\" [shape=box label=\"%zu %s", node->id, node->index,
            type_text(node->body.type));
    const struct core_body *body = &node->body;
    if (body->type == CORE_NODE_KERNEL) {
        const struct core_launch *l = &body->kernel.launch;
        fprintf(f, "\\n%s", body->kernel.function->entry->name);
        if (wants(flags, DOT_KERNELS))
            fprintf(f, "\\ngrid (%u,%u,%u) block (%u,%u,%u) shared %u", l->grid[0], l->grid[1],
                    l->grid[2], l->block[0], l->block[1], l->block[2], l->dynamic_smem_B);
        if (wants(flags, DOT_ATTRIBUTES))
            fprintf(f, "\\ncooperative %d cluster (%u,%u,%u) device-updatable %d", l->cooperative,
                    l->cluster[0], l->cluster[1], l->cluster[2], body->kernel.device_node != NULL);
    } else if (flag_of(body->type) && wants(flags, flag_of(body->type)))
        dot_params(f, body);
    if (wants(flags, DOT_HANDLES))
        fprintf(f, "\\n%p", node->handle);
    fprintf(f, "\"];\n");
    for (size_t i = 0; i < node->to.len; i++)
        fprintf(f, "\"n%" PRIu64 "\" -> \"n%" PRIu64 "\"%s;\n", node->id, node->to.at[i].node->id,
                node->to.at[i].data.type ? " [style=dashed]" : "");
    inner = core_body_graphs(&node->body, &n);
    for (size_t i = 0; i < n; i++)
        dot_graph(f, inner[i], flags);
}

static void dot_graph(FILE *f, const struct core_graph *graph, unsigned flags)
{
    fprintf(f, "subgraph \"cluster_%" PRIu64 "\" {\nlabel=\"graph %" PRIu64 "\";\n", graph->id,
            graph->id);
    for (size_t i = 0; i < graph->nodes.len; i++)
        dot_node(f, graph->nodes.at[i], flags);
    fprintf(f, "}\n");
}

enum hd_status core_graph_dot(struct core_graph *graph, const char *path, unsigned flags)
{
    FILE *f = fopen(path, "w");
    enum hd_status status;
    bool written;

    if (!f)
        return hd_error(HD_IO, "%s: %s", path, strerror(errno));
    hd_lock_acquire(&core_graph_lock);
    status = core_graph_check_locked(graph);
    fprintf(f, "digraph dot {\n");
    if (status == HD_OK)
        dot_graph(f, graph, flags);
    fprintf(f, "}\n");
    hd_lock_release(&core_graph_lock);
    written = !ferror(f);
    if (fclose(f) || !written)
        return hd_error(HD_IO, "%s: %s", path, strerror(errno));
    return status;
}
