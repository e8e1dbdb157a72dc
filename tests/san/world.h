/*
 * A process, a launch and a CTA that exist only as structures: tests of memcheck and initcheck call
 * a tool as observe.c and host.c do, and look at what it reports.
 *
 * This file has what tools need of the rest of san: include it in one file of a program.
 */
#ifndef HD_TESTS_SAN_WORLD_H
#define HD_TESTS_SAN_WORLD_H

#include <pthread.h>

#include "hal/packet.h"
#include "san/lanes.h"
#include "san/memory.h"
#include "san/options.h"
#include "tap.h"

/* ---- what is reported */

enum { REPORTS_MAX = 256 };
static struct {
    pthread_mutex_t lock;
    unsigned n;
    struct san_finding at[REPORTS_MAX];
    uint64_t leaked_B, leaked_allocations;
} reports = {.lock = PTHREAD_MUTEX_INITIALIZER};

void san_report(const struct san_finding *finding)
{
    pthread_mutex_lock(&reports.lock);
    if (reports.n < REPORTS_MAX)
        reports.at[reports.n] = *finding;
    reports.n++;
    pthread_mutex_unlock(&reports.lock);
}

void san_detail(struct san_finding *finding, const char *fmt, ...)
{
    va_list args;

    if (finding->ndetails == SAN_DETAILS_MAX)
        return;
    va_start(args, fmt);
    vsnprintf(finding->details[finding->ndetails++], SAN_DETAIL_B, fmt, args);
    va_end(args);
}

void san_summary(const char *tool, const char *name, uint64_t value)
{
    (void)tool;
    if (!strcmp(name, "leaked_B"))
        reports.leaked_B = value;
    else
        reports.leaked_allocations = value;
}

void san_stack_take(struct san_stack *out)
{
    out->n = 1;
    out->pc[0] = (uintptr_t)__builtin_return_address(0);
}

static struct san_options options;

const struct san_options *san_options(void)
{
    return &options;
}

static inline bool says(unsigned i, const char *part)
{
    if (i >= reports.n) {
        diag("there are %u reports", reports.n);
        return false;
    }
    if (strstr(reports.at[i].title, part))
        return true;
    for (unsigned d = 0; d < reports.at[i].ndetails; d++)
        if (strstr(reports.at[i].details[d], part))
            return true;
    diag("no \"%s\" in: %s", part, reports.at[i].title);
    for (unsigned d = 0; d < reports.at[i].ndetails; d++)
        diag("    %s", reports.at[i].details[d]);
    return false;
}

static inline unsigned reports_take(void)
{
    unsigned n = reports.n;

    reports.n = 0;
    return n;
}

/* ---- the host */

enum { DEVICE = 1, PINNED = 2, MANAGED = 4, REGISTERED = 8 };
static int contexts[2], streams[2];
static const struct san_tool *the_tool;

static inline void report(struct heddle_event event)
{
    event.size_B = sizeof(event);
    if (the_tool->events >> event.kind & 1)
        the_tool->host(&event);
}

static inline void report_memory(uint64_t va, uint64_t size_B, unsigned memory, unsigned use,
                                 void *stream, bool is_freed)
{
    struct heddle_event event = {.kind = HEDDLE_EVENT_MEMORY,
                                 .phase = HEDDLE_PHASE_POINT,
                                 .context = &contexts[0],
                                 .stream = stream};

    event.memory.va = va;
    event.memory.size_B = size_B;
    event.memory.memory = memory;
    event.memory.use = use;
    event.memory.is_freed = is_freed;
    report(event);
}

static inline void alloc(uint64_t va, uint64_t size_B)
{
    report_memory(va, size_B, DEVICE, HEDDLE_MEMORY_PROGRAM, NULL, false);
}

static inline void release(uint64_t va, uint64_t size_B)
{
    report_memory(va, size_B, DEVICE, HEDDLE_MEMORY_PROGRAM, NULL, true);
}

static inline void report_object(enum heddle_event_kind kind, const char *type, void *handle,
                                 bool is_destroyed, const struct heddle_variable *variables,
                                 uint32_t n)
{
    struct heddle_event event = {
        .kind = (uint8_t)kind, .phase = HEDDLE_PHASE_POINT, .context = &contexts[0]};

    event.object.handle = handle;
    event.object.type = type;
    event.object.is_destroyed = is_destroyed;
    event.object.variables = variables;
    event.object.nvariables = n;
    report(event);
}

static inline void report_packet(enum heddle_event_kind kind, uint64_t id, uint64_t correlation,
                                 const union hal_packet *packet)
{
    struct heddle_event event = {.kind = (uint8_t)kind,
                                 .phase = HEDDLE_PHASE_POINT,
                                 .correlation = correlation,
                                 .context = &contexts[0]};

    event.packet.id = id;
    event.packet.packet = kind == HEDDLE_EVENT_PACKET ? packet : NULL;
    event.packet.op = packet->head.op;
    report(event);
}

static inline void submit(uint64_t correlation)
{
    const union hal_packet p = {.head.op = HAL_OP_DISPATCH};

    report_packet(HEDDLE_EVENT_PACKET, correlation + 1000, correlation, &p);
}

static inline void world_init(const struct san_tool *tool)
{
    san_options_init(&options);
    the_tool = tool;
    ok(!tool->start || tool->start(), "%s starts",
       tool->id == SAN_MEMCHECK ? "memcheck" : "initcheck");
}

/* ---- a launch */

enum { PROBES = 64 };
struct world {
    struct ir_module module;
    struct ir_func kernel;
    struct ir_instr probes[PROBES];
    struct ir_probe_range ranges[PROBES];
    struct san_launch launch;
    struct ir_probe_cta base;
    struct san_cta cta;
    char local[32 * 256];
};

static inline void world_launch(struct world *w, uint64_t correlation)
{
    *w = (struct world){.kernel = {.name = "_Z1kPi", .is_kernel = true, .param_size_B = 20}};
    w->kernel.module = &w->module;
    w->launch.about = (struct ir_probe_launch){.kernel = &w->kernel,
                                               .grid = {1, 1, 1},
                                               .block = {32, 1, 1},
                                               .cluster = {1, 1, 1},
                                               .shared_B = 1000,
                                               .ranges = w->ranges,
                                               .correlation = correlation};
    w->launch.nthreads = 32;
    w->base.local = w->local;
    w->base.local_B = 256;
    w->cta = (struct san_cta){.base = &w->base, .launch = &w->launch};
    ok(the_tool->launch_begin(&w->launch) && (!the_tool->cta_begin || the_tool->cta_begin(&w->cta)),
       "a launch begins");
}

static inline void world_end(struct world *w)
{
    if (the_tool->cta_end)
        the_tool->cta_end(&w->cta);
    the_tool->launch_end(&w->launch);
}

/* An access of probe `number` by the lanes, `size_B` each, at addresses that are `stride` apart. */
struct shot {
    enum san_what what;
    enum ir_space space;
    uint32_t lanes, number;
    uint64_t va, stride, size_B, align_B;
    const uint64_t *address; /* instead of va and stride */
    int64_t offset;          /* mem.offset, which the addresses have */
    uint32_t peer;
    enum ir_space its_space; /* of the instruction; GENERIC as well: 0 */
};

static inline enum hd_status shoot(struct world *w, struct shot s)
{
    struct ir_instr *probe = &w->probes[s.number];
    enum ir_op op = s.what == SAN_READ ? IR_OP_LD : s.what == SAN_WRITE ? IR_OP_ST : IR_OP_ATOM;
    uint64_t address[32];
    struct san_access a = {.probe = probe,
                           .number = s.number,
                           .lanes = s.lanes ? s.lanes : UINT32_MAX,
                           .what = s.what,
                           .space = s.space,
                           .size_B = s.size_B,
                           .align_B = s.align_B ? s.align_B : 1,
                           .address = s.address ? s.address : address,
                           .peer = s.peer};

    for (unsigned i = 0; i < 32; i++)
        address[i] = s.va + i * s.stride;
    *probe = (struct ir_instr){.op = IR_OP_PROBE_ACCESS,
                               .imm = ir_probe_imm(op, false, 0) | (uint64_t)s.number << 32};
    probe->mem.space = s.its_space;
    probe->mem.offset = s.offset;
    return the_tool->access(&w->cta, &a);
}

#endif
