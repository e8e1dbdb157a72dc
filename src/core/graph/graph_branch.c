/* How a conditional node runs. See graph_condition.h. */
#include <assert.h>

#include "base/mem.h"
#include "core/context.h"
#include "core/graph/graph_condition.h"
#include "hal/hal.h"

struct core_branch {
    enum core_condition_kind kind;
    uint64_t va;    /* of the condition */
    uint32_t value; /* copied from there */
    struct core_join join;
    struct core_stream *stream; /* a reference */
    struct core_feed feed;      /* of what was chosen */
    size_t n;
    struct core_program programs[];
};

static enum hd_status body_done(struct core_feed *feed);

enum hd_status core_branch_create(const struct core_body_conditional *body,
                                  struct core_branch **out_branch)
{
    size_t size_B = sizeof(struct core_branch) + body->n * sizeof(struct core_program);
    struct core_branch *branch = hd_alloc(size_B);
    enum hd_status status;

    if (!branch)
        return hd_error(HD_NO_MEMORY, "conditional node");
    memset(branch, 0, size_B);
    branch->kind = body->kind;
    branch->va = body->condition->va;
    branch->n = body->n;
    status = core_stream_create(body->condition->ctx, CORE_STREAM_NON_BLOCKING, 0, &branch->stream);
    branch->feed = (struct core_feed){.stream = branch->stream, .behind = body_done};
    if (status != HD_OK)
        core_branch_destroy(branch);
    else
        *out_branch = branch;
    return status;
}

void core_branch_destroy(struct core_branch *branch)
{
    if (branch->stream) {
        (void)core_stream_destroy(branch->stream);
        core_stream_unref(branch->stream);
    }
    hd_free(branch);
}

struct core_program *core_branch_programs(struct core_branch *branch, size_t *out_n)
{
    *out_n = branch->n;
    return branch->programs;
}

/* What the value chooses; NULL: nothing. */
static struct core_program *chosen(struct core_branch *branch)
{
    switch (branch->kind) {
    case CORE_CONDITION_IF:
        if (branch->value)
            return &branch->programs[0];
        return branch->n > 1 ? &branch->programs[1] : NULL;
    case CORE_CONDITION_WHILE:
        return branch->value ? &branch->programs[0] : NULL;
    case CORE_CONDITION_SWITCH:
        return branch->value < branch->n ? &branch->programs[branch->value] : NULL;
    }
    assert(!"a condition has a kind");
    return NULL;
}

static enum hd_status finish(struct core_branch *branch)
{
    union hal_packet done = {.sem = {.head.op = HAL_OP_SIGNAL, .value = 1}};

    done.sem.signal = HAL_SIGNAL_ADD;
    done.sem.address = (uintptr_t)&branch->join.done;
    return core_stream_submit(branch->stream, &done, 1, NULL, 0, NULL);
}

/* Behind the body: the next round, or the end. */
static enum hd_status body_done(struct core_feed *feed)
{
    struct core_branch *branch = HD_CONTAINER_OF(feed, struct core_branch, feed);
    union hal_packet packets[2];

    if (branch->kind != CORE_CONDITION_WHILE)
        return finish(branch);
    core_branch_packets(branch, packets);
    return core_stream_submit(branch->stream, packets, 2, NULL, 0, NULL);
}

/*
 * Runs on the thread of host calls, with the copied value. The branch's own queue has at most this
 * call in it, so submitting a part of the body never waits. After a fault nobody calls, and nobody
 * waits.
 */
static void decide(void *arg)
{
    struct core_branch *branch = arg;
    struct core_context *ctx = branch->stream->ctx;
    struct core_program *program = chosen(branch);
    enum hd_status status;

    if (program) {
        branch->feed.run = core_run_begin(ctx, program);
        status = core_feed_run(&branch->feed);
    } else {
        status = finish(branch);
    }
    if (status != HD_OK)
        (void)hal_domain_fail(ctx->domain, status, 0, NULL, hd_error_message());
}

void core_branch_packets(struct core_branch *branch, union hal_packet *out_packets)
{
    const struct core_copy copy = {.dst = (uintptr_t)&branch->value,
                                   .src = branch->va,
                                   .width_B = sizeof(branch->value),
                                   .height = 1,
                                   .depth = 1,
                                   .src_is_device = true};

    core_copy_packet(&copy, &out_packets[0]);
    out_packets[1] = (union hal_packet){.host_call = {.head.op = HAL_OP_HOST_CALL}};
    out_packets[1].host_call.func = (uintptr_t)decide;
    out_packets[1].host_call.arg = (uintptr_t)branch;
}

struct core_join *core_branch_join(struct core_branch *branch)
{
    return &branch->join;
}
