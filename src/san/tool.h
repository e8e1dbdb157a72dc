/*
 * What a tool of the checker is: a table of functions, called by observe.c for what kernels do and
 * by host.c for what the host does. A tool keeps what it wants in `own` words of the process, the
 * launch and the CTA; it reports by san_report() (record.h).
 *
 * Threads: a CTA's functions run on the thread of one worker at a time, those of different CTAs at
 * once; host events on their own threads (heddle/tap.h says what they must not do).
 */
#ifndef HD_SAN_TOOL_H
#define HD_SAN_TOOL_H

#include "heddle/tap.h"
#include "ir/probe.h"
#include "san/record.h"

/* name of the variable, the option's word; in the order in which they see an access */
#define SAN_TOOL_LIST(X)                                                                           \
    X(MEMCHECK, memcheck)                                                                          \
    X(INITCHECK, initcheck)                                                                        \
    X(RACECHECK, racecheck)                                                                        \
    X(SYNCCHECK, synccheck)                                                                        \
    X(SCHEDCHECK, schedcheck)
enum san_tool_id {
#define X(NAME, name) SAN_##NAME,
    SAN_TOOL_LIST(X)
#undef X
        SAN_TOOL_COUNT
};

enum { SAN_WARPS = 32 }; /* of a CTA */

struct san_tensor_memories;
struct san_launch {
    struct ir_probe_launch about;
    uint64_t number;              /* of the process's launches that were observed, from 1 */
    const struct san_stack *from; /* the host's stack at the launch call; NULL: not known */
    struct san_stack stack;       /* that */
    unsigned tools;               /* that look at it: bits 1 << enum san_tool_id */
    uint32_t nthreads;            /* of a CTA */
    bool is_quiet;                /* the filters do not take it: nothing of it may be reported */
    bool is_running;              /* of schedcheck: it is run again */
    struct san_tensor_memories *tensor; /* tensor_memory.h; NULL: nobody looks at it */
    unsigned tools_first;               /* those of its first run, when that is over; else 0 */
    void *own[SAN_TOOL_COUNT];
};

struct san_cta {
    struct ir_probe_cta *base;
    struct san_launch *launch;
    uint32_t rank;  /* in its cluster */
    uint32_t ended; /* threads, where that is told */
    uint32_t ended_lanes[SAN_WARPS];
    void *own[SAN_TOOL_COUNT];
};

enum san_what { SAN_READ, SAN_WRITE, SAN_ATOMIC };

/*
 * One access of some lanes of a warp. Generic addresses are resolved: `space` is GLOBAL, CONST,
 * PARAM, SHARED or LOCAL; in the windows addresses are offsets. What one instruction does to
 * several spaces, or reads and writes, comes as several accesses.
 */
struct san_access {
    const struct ir_instr *probe; /* its place, type and mem (order, scope, volatile) */
    uint32_t number;              /* of the probe in its module */
    uint32_t warp, lanes;
    enum san_what what;
    enum ir_space space;
    bool is_async;           /* a copy that ends when something waits for it: cp.async and kin */
    uint64_t size_B;         /* of each lane's bytes */
    uint64_t align_B;        /* that the instruction asks for */
    const uint64_t *address; /* 32 */
    const uint64_t *const *operands; /* the probe's; NULL: not known */
    uint32_t peer; /* SHARED: rank + 1 of another CTA of the cluster whose window it is; 0: own */
};

/* What a device will not do, and that no address says: the first of `access`'s lanes. */
struct san_refusal {
    const struct san_access *access;
    enum hd_status status;
    const char *space;      /* "surface" */
    const char *details[2]; /* where it is, and of what */
    uint64_t base;          /* address of that */
};

/* What synchronises, by ir_probe_op(probe): BAR, WARPSYNC, SHFL and other collectives, FENCE,
 * MBARRIER, EXIT. Operands are the instruction's, as ir/probe.h says. */
struct san_sync {
    const struct ir_instr *probe;
    uint32_t number;
    uint32_t warp, lanes;
    const uint64_t *const *operands;
};

/* The operand of a lane; `missing` where the instruction has none. */
static inline uint64_t san_operand(const struct san_sync *sync, unsigned i, uint32_t lane,
                                   uint64_t missing)
{
    return sync->operands && sync->probe->nsrc > i && sync->operands[i] ? sync->operands[i][lane]
                                                                        : missing;
}

struct san_tool {
    enum san_tool_id id;
    unsigned probes;         /* the set that it wants */
    bool sees_all;           /* also launches that the filters do not take: those are quiet */
    unsigned (*wants)(void); /* of `probes` what the options ask for; NULL: all */
    /* After the options are read; false: no memory. May be NULL, as may all below. */
    bool (*start)(void);
    bool (*launch_begin)(struct san_launch *launch);
    void (*launch_end)(struct san_launch *launch);
    bool (*cta_begin)(struct san_cta *cta);
    void (*cta_end)(struct san_cta *cta);
    /* HD_OK or what the CTA fails with. The access happens after all tools have seen it. */
    enum hd_status (*access)(struct san_cta *cta, const struct san_access *access);
    enum hd_status (*sync)(struct san_cta *cta, const struct san_sync *sync);
    /* TENSOR and TENSOR_WARP. */
    enum hd_status (*tensor)(struct san_cta *cta, const struct san_sync *at);
    /* Nothing is accessed; what the CTA fails with. */
    enum hd_status (*refused)(struct san_cta *cta, const struct san_refusal *refusal);
    /* The CTA fails, by what was reported in this tool's name. */
    void (*failed)(struct san_cta *cta);
    /* malloc() of kernels, also of quiet launches: `address` of size_B bytes for each lane, after;
     * 0: none was left. */
    void (*heap_alloc)(struct san_cta *cta, const struct san_sync *at, const uint64_t *address,
                       const uint64_t *size_B);
    /* free() of kernels, before. */
    enum hd_status (*heap_free)(struct san_cta *cta, const struct san_sync *at,
                                const uint64_t *address);
    /* Of the one tool that has launches run again (struct ir_observer), which nobody else sees. */
    bool (*wants_runs)(struct san_launch *launch);
    const struct ir_schedule *(*next_run)(struct san_launch *launch, enum hd_status ended);
    void (*give_up)(struct san_launch *launch, bool waits);
    unsigned events; /* HEDDLE_KIND()s that it wants */
    void (*host)(const struct heddle_event *event);
    /* The process ends, or its last context has: leaks, summaries of its own. */
    void (*finish)(void);
};

#define X(NAME, name) extern const struct san_tool san_##name;
SAN_TOOL_LIST(X)
#undef X

/* May ranges (struct ir_probe_range) be set? One tool alone that can do without seeing every
 * access. */
bool san_ranges_allowed(void);

/* The number in the grid (ir_cta_number()) of the CTA with this rank in the cluster. */
static inline uint64_t san_peer(const struct san_cta *cta, uint32_t rank)
{
    const struct ir_probe_launch *l = &cta->launch->about;
    uint32_t at[3];

    for (int i = 0; i < 3; i++) {
        uint32_t size = HD_MAX(l->cluster[i], 1u), own = cta->base->ctaid[i];
        at[i] = own - own % size + rank % size;
        rank /= size;
    }
    return ir_cta_number(l->grid, at);
}

/* The thread index of a lane. */
void san_thread(const struct san_cta *cta, uint32_t warp, uint32_t lane, uint32_t out[3]);

#endif
