#include "san/host.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/mem.h"

/* Stacks of the last calls that submitted work: devices fall behind by what a queue holds. */
#define STACKS 4096u

struct call {
    uint64_t correlation;
    struct san_stack stack;
};

static struct {
    const struct san_tool *const *tools;
    unsigned set;
    struct hd_lock lock; /* calls */
    struct call *calls;  /* by correlation modulo STACKS */
} host = {.lock = HD_LOCK_INIT(LEAF, "launch stacks")};

bool san_host_stack(uint64_t correlation, struct san_stack *out)
{
    const struct call *call = &host.calls[correlation % STACKS];
    bool found;

    if (!correlation)
        return false;
    hd_lock_acquire(&host.lock);
    found = call->correlation == correlation;
    if (found)
        *out = call->stack;
    hd_lock_release(&host.lock);
    return found;
}

static void on_event(void *user, const struct heddle_event *event)
{
    (void)user;
    assert(host.set && host.calls);
    if (event->kind == HEDDLE_EVENT_PACKET && event->correlation) {
        const uint64_t correlation = event->correlation;
        struct call *call = &host.calls[correlation % STACKS];
        struct san_stack stack;

        san_stack_take(&stack);
        hd_lock_acquire(&host.lock);
        *call = (struct call){correlation, stack};
        hd_lock_release(&host.lock);
    }
    if (event->kind == HEDDLE_EVENT_FAULT) {
        /*
         * A context is over: nothing that is launched in it from now on runs, so no tool sees it.
         * "ended: " and the kernel's name when a finding tells why, else "fault: ".
         */
        bool is_ended = event->fault.message && strstr(event->fault.message, IR_PROBE_ENDED);
        struct hd_buf name = {0};

        hd_buf_printf(&name, "%s: %s", is_ended ? "ended" : "fault",
                      event->fault.kernel ? event->fault.kernel : "");
        if (!name.failed)
            san_summary("", name.ptr, 1);
        hd_buf_fini(&name);
    }
    for (unsigned i = 0; i < SAN_TOOL_COUNT; i++) {
        const struct san_tool *tool = host.tools[i];

        if (host.set >> i & 1 && tool->host && tool->events >> event->kind & 1)
            tool->host(event);
    }
}

static void at_exit(void)
{
    for (unsigned i = 0; i < SAN_TOOL_COUNT; i++)
        if (host.set >> i & 1 && host.tools[i]->finish)
            host.tools[i]->finish();
    san_record_stop();
}

enum hd_status san_host_start(const struct san_tool *const *tools, unsigned set)
{
    uint32_t kinds = HEDDLE_KIND(PACKET) | HEDDLE_KIND(FAULT);

    if (!set)
        return HD_OK;
    assert(!host.set && !(set >> SAN_TOOL_COUNT));
    host.calls = calloc(STACKS, sizeof(*host.calls));
    host.tools = tools;
    host.set = set;
    for (unsigned i = 0; i < SAN_TOOL_COUNT; i++)
        if (set >> i & 1)
            kinds |= tools[i]->events;
    if (!host.calls || !heddle_tap_subscribe(kinds, on_event, NULL) || atexit(at_exit))
        return hd_error(HD_NO_MEMORY, "no memory for the checker");
    return HD_OK;
}
