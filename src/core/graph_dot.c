/* Graphs as text in the DOT language, for people and their tools. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/graph_parts.h"

/* Bits of the API's flags. */
enum { DOT_VERBOSE = 1, DOT_KERNELS = 4, DOT_COPIES = 8, DOT_FILLS = 16, DOT_HANDLES = 1024 };

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

static void dot_kernel(FILE *f, const struct core_body_kernel *k, bool params)
{
    const struct core_launch *l = &k->launch;

    fprintf(f, "\\n%s", k->function->entry->name);
    if (params)
        fprintf(f, "\\ngrid (%u,%u,%u) block (%u,%u,%u) shared %u", l->grid[0], l->grid[1],
                l->grid[2], l->block[0], l->block[1], l->block[2], l->dynamic_smem_B);
}

static void dot_body(FILE *f, const struct core_body *body, unsigned flags)
{
    const struct core_copy *copy = &body->copy.copy;
    const struct core_body_fill *fill = &body->fill;

    if (body->type == CORE_NODE_KERNEL)
        dot_kernel(f, &body->kernel, flags & (DOT_VERBOSE | DOT_KERNELS));
    else if (body->type == CORE_NODE_COPY && flags & (DOT_VERBOSE | DOT_COPIES))
        fprintf(f, "\\n0x%" PRIx64 " from 0x%" PRIx64 "\\n%" PRIu64 " x %" PRIu64 " x %" PRIu64,
                copy->dst, copy->src, copy->width_B, copy->height, copy->depth);
    else if (body->type == CORE_NODE_FILL && flags & (DOT_VERBOSE | DOT_FILLS))
        fprintf(f, "\\n0x%" PRIx64 " = 0x%x\\n%" PRIu64 " x %" PRIu64 " of %u bytes", fill->dst,
                fill->value, fill->width, fill->height, fill->elem_B);
}

static void dot_graph(FILE *f, const struct core_graph *graph, unsigned flags);

static void dot_node(FILE *f, const struct core_node *node, unsigned flags)
{
    struct core_graph *const *inner;
    size_t n;

    fprintf(f, "\"n%" PRIu64 "\" [shape=box label=\"%zu %s", node->id, node->place,
            type_text(node->body.type));
    dot_body(f, &node->body, flags);
    if (flags & (DOT_VERBOSE | DOT_HANDLES))
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
