/*
 * The packets of a graph in an order that respects its edges. Packets stand side by side so that a
 * launch copies them as they are; what depends on the moment of the launch is a step of its own.
 */
#include <assert.h>

#include "base/mem.h"
#include "core/debug/counted.h"
#include "core/graph/device_node.h"
#include "core/graph/graph_condition.h"
#include "core/graph/graph_parts.h"
#include "hal/hal.h"
#include "ir/device_runtime.h"

static bool program_step_add(struct core_program *program, struct core_step step)
{
    struct core_step *last = program->steps.len ? &hd_vec_last(&program->steps) : NULL;

    if (step.kind == CORE_STEP_PACKETS && last && last->kind == CORE_STEP_PACKETS) {
        assert(last->first + last->count == step.first);
        last->count += step.count;
        return true;
    }
    return hd_vec_push(&program->steps, step);
}

/* Of the node that was added last. */
static bool program_packet_add(struct core_program *program, const union hal_packet *p,
                               struct core_step step)
{
    step.first = (uint32_t)program->packets.len;
    step.count = 1;
    return hd_vec_push(&program->packets, *p) &&
           hd_vec_push(&program->nodes, (uint32_t)program->first.len - 1) &&
           program_step_add(program, step);
}

static bool program_plain_add(struct core_program *program, const union hal_packet *p)
{
    return program_packet_add(program, p, (struct core_step){.kind = CORE_STEP_PACKETS});
}

/* Several nodes often need the same. */
static bool program_need_add(struct core_program *program, struct hal_kernel *kernel,
                             const struct hal_dispatch *p)
{
    struct core_need need = {.kernel = kernel};

    for (int i = 0; i < 3; i++) {
        need.grid[i] = p->grid[i];
        need.block[i] = p->block[i];
    }
    for (size_t i = 0; i < program->needs.len; i++) {
        const struct core_need *other = &program->needs.at[i];

        if (other->kernel == need.kernel && !memcmp(other->block, need.block, sizeof(need.block)))
            return true;
    }
    return hd_vec_push(&program->needs, need);
}

static bool program_kernel_add(struct core_program *program, const struct core_node *owner)
{
    const struct core_body_kernel *node = &owner->body.kernel;
    uint32_t params_B = node->function->entry->params_B;
    struct hal_kernel *kernel;
    union hal_packet p = {0};

    core_launch_packet(node->function, &node->launch, &p);
    kernel = core_kernel_choose(node->function, &p.dispatch);
    p.dispatch.params_B = params_B;
    program->ngrids++;
    program->asks |= (node->function->calls & IR_RUNTIME_GRAPHS) != 0;
    if (node->device_node)
        core_device_node_set(node->device_node, &p.dispatch, node->block, !owner->is_disabled);
    program->is_updatable |= node->device_node != NULL;
    if (!program_need_add(program, kernel, &p.dispatch))
        return false;
    memcpy(p.dispatch.params, node->block, HD_MIN(params_B, HAL_INLINE_PARAMS_B));
    if (node->device_node) {
        /* The dispatch reads what it runs from the device node's block. */
        uint64_t address = (uintptr_t)node->device_node->block;

        p.dispatch.head.flags |= HAL_FLAG_INDIRECT;
        memcpy(p.dispatch.params, &address, sizeof(address));
    }
    if (params_B > HAL_INLINE_PARAMS_B)
        return program_packet_add(program, &p,
                                  (struct core_step){.kind = CORE_STEP_DISPATCH,
                                                     .params = node->block,
                                                     .params_B = params_B});
    return program_plain_add(program, &p);
}

static bool program_copy_add(struct core_program *program, const struct core_copy *copy)
{
    union hal_packet p;

    if (!copy->width_B || !copy->height || !copy->depth)
        return true;
    core_copy_packet(copy, &p);
    core_copy_add_bytes(copy, &program->bytes);
    return program_plain_add(program, &p);
}

static bool program_fill_add(struct core_program *program, const struct core_body_fill *fill)
{
    union hal_packet p;

    if (!fill->width || !fill->height)
        return true;
    core_fill_packet(fill->dst, fill->pitch_B, fill->value, fill->elem_B, fill->width, fill->height,
                     &p);
    return program_plain_add(program, &p);
}

static bool program_host_add(struct core_program *program, const struct core_body_host *host)
{
    union hal_packet p = {.host_call = {.head.op = HAL_OP_HOST_CALL}};

    p.host_call.func = (uintptr_t)host->func;
    p.host_call.arg = (uintptr_t)host->arg;
    return program_plain_add(program, &p);
}

static bool program_event_add(struct core_program *program, const struct core_body *body)
{
    return program_step_add(program, (struct core_step){.kind = body->type == CORE_NODE_RECORD
                                                                    ? CORE_STEP_RECORD
                                                                    : CORE_STEP_WAIT,
                                                        .first = (uint32_t)program->packets.len,
                                                        .event = body->event});
}

static bool program_batch_add(struct core_program *program, const struct core_body_batch *batch)
{
    bool ok = true;

    for (unsigned i = 0; i < batch->n && ok; i++)
        ok = program_plain_add(program, &batch->packets[i]);
    return ok;
}

static bool program_semaphores_add(struct core_program *program, const struct core_extsem_ops *ops)
{
    return program_step_add(program, (struct core_step){.kind = CORE_STEP_SEMAPHORES,
                                                        .first = (uint32_t)program->packets.len,
                                                        .semaphores = ops});
}

/* What a failure leaves goes with the program. */
static bool program_conditional_add(struct core_program *program,
                                    const struct core_body_conditional *body)
{
    struct core_branch *branch;
    struct core_program *inner;
    union hal_packet packets[2];
    size_t n;

    if (!hd_vec_reserve(&program->branches, program->branches.len + 1) ||
        core_branch_create(body, &branch) != HD_OK)
        return false;
    program->branches.at[program->branches.len++] = branch;
    inner = core_branch_programs(branch, &n);
    for (size_t i = 0; i < n; i++)
        if (core_program_make(body->graphs[i], &inner[i]) != HD_OK)
            return false;
    core_branch_packets(branch, packets);
    return program_plain_add(program, &packets[0]) && program_plain_add(program, &packets[1]) &&
           program_step_add(program, (struct core_step){.kind = CORE_STEP_JOIN,
                                                        .first = (uint32_t)program->packets.len,
                                                        .join = core_branch_join(branch)});
}

/* Values that conditions have at the beginning. */
static bool program_conditions_add(struct core_program *program, const struct core_graph *graph)
{
    union hal_packet p;
    bool ok = true;

    for (size_t i = 0; i < graph->conditions.len && ok; i++) {
        const struct core_condition *c = graph->conditions.at[i];

        if (!c->has_initial)
            continue;
        core_fill_packet(c->va, 0, c->initial, sizeof(c->initial), 1, 1, &p);
        ok = program_plain_add(program, &p);
    }
    return ok;
}

/* ---- edges, for listeners: a node's number in the program is its `mark` */

/* A node; what it comes after is pushed to `after` next. */
static bool program_node_add(struct core_program *program)
{
    return hd_vec_push(&program->first, (uint32_t)program->after.len);
}

static bool program_node_add_behind(struct core_program *program, const struct core_node *node,
                                    uint32_t begin)
{
    bool ok = program_node_add(program);

    if (!node->from.len)
        return ok && hd_vec_push(&program->after, begin);
    for (size_t i = 0; i < node->from.len && ok; i++)
        ok = hd_vec_push(&program->after, node->from.at[i].node->mark);
    return ok;
}

/* Behind all that ends in the graph, which began with node `begin`. */
static bool program_node_add_end(struct core_program *program, const struct core_graph *graph,
                                 uint32_t begin)
{
    bool ok = program_node_add(program) && hd_vec_push(&program->after, begin);

    for (size_t i = 0; i < graph->nodes.len && ok; i++)
        if (!graph->nodes.at[i]->to.len)
            ok = hd_vec_push(&program->after, graph->nodes.at[i]->mark);
    return ok;
}

static uint32_t program_last_node(const struct core_program *program)
{
    return (uint32_t)program->first.len - 1;
}

static bool program_graph_add(struct core_program *program, struct core_graph *graph);

static bool program_child_add(struct core_program *program, struct core_graph *graph)
{
    uint32_t begin = program_last_node(program);

    return program_graph_add(program, graph) && program_node_add_end(program, graph, begin);
}

static bool program_body_add(struct core_program *program, const struct core_node *node)
{
    const struct core_body *body = &node->body;

    switch (body->type) {
    case CORE_NODE_KERNEL:
        return program_kernel_add(program, node);
    case CORE_NODE_COPY:
        return program_copy_add(program, &body->copy.copy);
    case CORE_NODE_FILL:
        return program_fill_add(program, &body->fill);
    case CORE_NODE_HOST:
        return program_host_add(program, &body->host);
    case CORE_NODE_CHILD:
        return program_child_add(program, body->child);
    case CORE_NODE_WAIT:
    case CORE_NODE_RECORD:
        return program_event_add(program, body);
    case CORE_NODE_BATCH:
        return program_batch_add(program, &body->batch);
    case CORE_NODE_SIGNAL_SEMAPHORES:
    case CORE_NODE_WAIT_SEMAPHORES:
        return program_semaphores_add(program, &body->semaphores);
    case CORE_NODE_ALLOC: /* nothing happens on the device: core_exec_launch() sees to them */
        return hd_vec_push(&program->allocs, body->memory);
    case CORE_NODE_FREE:
        return hd_vec_push(&program->frees, body->memory);
    case CORE_NODE_CONDITIONAL:
        return program_conditional_add(program, &body->conditional);
    case CORE_NODE_EMPTY:
        break;
    }
    return true;
}

/* A kernel may enable what the host has disabled. */
static bool program_is_skipped(const struct core_node *node)
{
    return node->is_disabled &&
           !(node->body.type == CORE_NODE_KERNEL && node->body.kernel.device_node);
}

/* One queue executes it, so a child graph is its nodes. All come after the node added last. */
static bool program_graph_add(struct core_program *program, struct core_graph *graph)
{
    struct core_node **order = hd_alloc_array(HD_MAX(graph->nodes.len, 1), sizeof(*order));
    uint32_t begin = program_last_node(program);
    bool ok = order && program_conditions_add(program, graph);

    if (ok && core_graph_order(graph, order) != HD_OK)
        assert(!"it was checked");
    for (size_t i = 0; i < graph->nodes.len && ok; i++) {
        ok = program_node_add_behind(program, order[i], begin) &&
             (program_is_skipped(order[i]) || program_body_add(program, order[i]));
        order[i]->mark = program_last_node(program);
    }
    hd_free(order);
    return ok;
}

/* All nodes are behind one without work. */
static bool program_fill(struct core_program *program, struct core_graph *graph)
{
    bool ok =
        program_node_add(program) && program_graph_add(program, graph) && program_node_add(program);

    program->graph =
        (struct heddle_graph){program_last_node(program), program->first.at, program->after.at};
    return ok;
}

static void program_branches_clear(struct core_program *program)
{
    while (program->branches.len) {
        struct core_branch *branch = hd_vec_pop(&program->branches);
        size_t n;
        struct core_program *inner = core_branch_programs(branch, &n);

        while (n--)
            core_program_fini(&inner[n]);
        core_branch_destroy(branch);
    }
}

enum hd_status core_program_make(struct core_graph *graph, struct core_program *program)
{
    program_branches_clear(program);
    program->packets.len = program->steps.len = program->needs.len = 0;
    program->allocs.len = program->frees.len = 0;
    program->nodes.len = program->first.len = program->after.len = 0;
    program->ngrids = 0;
    program->asks = program->is_updatable = false;
    return program_fill(program, graph) ? HD_OK : hd_error(HD_NO_MEMORY, "executable graph");
}

void core_program_fini(struct core_program *program)
{
    program_branches_clear(program);
    hd_vec_fini(&program->branches);
    hd_vec_fini(&program->packets);
    hd_vec_fini(&program->nodes);
    hd_vec_fini(&program->first);
    hd_vec_fini(&program->after);
    hd_vec_fini(&program->steps);
    hd_vec_fini(&program->needs);
    hd_vec_fini(&program->allocs);
    hd_vec_fini(&program->frees);
}
