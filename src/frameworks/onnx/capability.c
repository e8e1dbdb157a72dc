/* See provider.h: which nodes are taken. */
#include "frameworks/onnx/provider.h"

#include <string.h>

#include "base/mem.h"
#include "frameworks/onnx/model.h"
#include "frameworks/onnx/status.h"

/*
 * A group must have no path that leaves it and comes back. So each node has a level: one more than
 * before behind a node that is not taken, else that of what it reads. Nodes of one level are a
 * group.
 */
struct node {
    const struct ort_node *node;
    bool is_taken;
    unsigned level;
};

struct nodes {
    struct node *at; /* in topological order, as ONNX Runtime lists them */
    size_t count;
    size_t *index_of; /* by id */
    size_t ids;
};

static struct ort_status *are_plain(const struct ort_value_info *const *values, size_t count,
                                    bool *out)
{
    for (size_t i = 0; i < count && *out; i++) {
        int element = ORT_NO_ELEMENT;
        if (!values[i])
            continue;
        ORT_TRY(model_element_of(values[i], &element));
        *out = element != ORT_NO_ELEMENT && element != ORT_STRING;
    }
    return NULL;
}

static bool is_known_domain(const char *domain)
{
    static const char *const domains[] = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft",
                                          "com.microsoft.nchwc"};

    for (size_t i = 0; i < HD_COUNT_OF(domains); i++)
        if (!strcmp(domain, domains[i]))
            return true;
    return false;
}

/* Tensors of numbers in and out, of an operator that every session knows, without a body. */
static struct ort_status *is_taken(const struct ort_node *node, bool *out)
{
    const struct ort_value_info **in = NULL, **values = NULL;
    size_t nin = 0, nout = 0, bodies;
    const char *domain;

    ORT_TRY(ORT(Node_GetNumSubgraphs)(node, &bodies));
    ORT_TRY(ORT(Node_GetDomain)(node, &domain));
    *out = !bodies && is_known_domain(domain);
    struct ort_status *status = model_inputs(node, &in, &nin);
    if (!status)
        status = are_plain(in, nin, out);
    if (!status)
        status = model_outputs(node, &values, &nout);
    if (!status)
        status = are_plain(values, nout, out);
    hd_free(in);
    hd_free(values);
    return status;
}

static struct ort_status *raise_level(const struct nodes *nodes, struct node *n,
                                      const struct ort_value_info *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct ort_node *producer = NULL;
        size_t output, id;
        if (!values[i])
            continue;
        ORT_TRY(ORT(ValueInfo_GetValueProducer)(values[i], &producer, &output));
        if (!producer)
            continue;
        ORT_TRY(ORT(Node_GetId)(producer, &id));
        const struct node *from =
            id < nodes->ids && nodes->index_of[id] ? &nodes->at[nodes->index_of[id] - 1] : NULL;
        if (!from)
            continue; /* of the graph around this one */
        unsigned level = from->level + (from->is_taken && !n->is_taken);
        n->level = level > n->level ? level : n->level;
    }
    return NULL;
}

static struct ort_status *find_level(const struct nodes *nodes, struct node *n)
{
    const struct ort_value_info **values = NULL;
    size_t count = 0;

    struct ort_status *status = model_inputs(n->node, &values, &count);
    if (!status)
        status = raise_level(nodes, n, values, count);
    hd_free(values);
    values = NULL;
    if (!status)
        status = ORT(Node_GetNumImplicitInputs)(n->node, &count);
    if (!status && count) {
        values = hd_alloc_array(count, sizeof(*values));
        status = values ? ORT(Node_GetImplicitInputs)(n->node, values, count) : status_no_memory();
        if (!status)
            status = raise_level(nodes, n, values, count);
        hd_free(values);
    }
    return status;
}

static struct ort_status *read_nodes(const struct ort_graph *graph, struct nodes *nodes)
{
    ORT_TRY(ORT(Graph_GetNumNodes)(graph, &nodes->count));
    const struct ort_node **at = hd_alloc_array(nodes->count + 1, sizeof(*at));
    nodes->at = hd_alloc_array(nodes->count + 1, sizeof(*nodes->at));
    struct ort_status *status =
        at && nodes->at ? ORT(Graph_GetNodes)(graph, at, nodes->count) : status_no_memory();
    for (size_t i = 0; i < nodes->count && !status; i++) {
        size_t id = 0;
        nodes->at[i] = (struct node){.node = at[i]};
        status = is_taken(at[i], &nodes->at[i].is_taken);
        if (!status)
            status = ORT(Node_GetId)(at[i], &id);
        nodes->ids = id >= nodes->ids ? id + 1 : nodes->ids;
    }
    if (!status) {
        nodes->index_of = hd_alloc_array(nodes->ids + 1, sizeof(*nodes->index_of));
        if (nodes->index_of)
            memset(nodes->index_of, 0, (nodes->ids + 1) * sizeof(*nodes->index_of));
        else
            status = status_no_memory();
    }
    for (size_t i = 0; i < nodes->count && !status; i++) {
        size_t id;
        status = ORT(Node_GetId)(at[i], &id);
        if (!status)
            nodes->index_of[id] = i + 1;
    }
    hd_free(at);
    return status;
}

static struct ort_status *add_groups(const struct nodes *nodes, unsigned last,
                                     struct ort_support *support)
{
    static const struct ort_fusion fusion = {.version = ORT_VERSION, .drops_constants = true};
    struct ort_status *status = NULL;
    const struct ort_node **group = hd_alloc_array(nodes->count + 1, sizeof(*group));

    if (!group)
        return status_no_memory();
    for (unsigned level = 0; level <= last && !status; level++) {
        size_t count = 0;
        for (size_t i = 0; i < nodes->count; i++)
            if (nodes->at[i].is_taken && nodes->at[i].level == level)
                group[count++] = nodes->at[i].node;
        if (count)
            status = ORT(EpGraphSupportInfo_AddNodesToFuse)(support, group, count, &fusion);
    }
    hd_free(group);
    return status;
}

struct ort_status *capability_find(const struct ort_graph *graph, struct ort_support *support)
{
    const struct ort_node *parent = NULL;
    struct nodes nodes = {0};
    unsigned last = 0;

    /* bodies of loops and branches are run by ONNX Runtime, as the nodes that have them */
    ORT_TRY(ORT(Graph_GetParentNode)(graph, &parent));
    if (parent)
        return NULL;
    struct ort_status *status = read_nodes(graph, &nodes);
    for (size_t i = 0; i < nodes.count && !status; i++) {
        status = find_level(&nodes, &nodes.at[i]);
        last = nodes.at[i].level > last ? nodes.at[i].level : last;
    }
    if (!status)
        status = add_groups(&nodes, last, support);
    hd_free(nodes.at);
    hd_free(nodes.index_of);
    return status;
}
