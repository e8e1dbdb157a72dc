/*
 * schedcheck, inside: does a launch have another result when its blocks or warps run in another
 * order?
 *
 *     schedcheck.c     launches: what is run again, and what not; the tool
 *     sched_kernels.c  kernels that were launched before; how many runs were made
 *     sched_memory.c   what a launch writes: as it was, as it became, how results differ
 *     sched_order.c    orders to try, and the schedules of runs
 *     sched_search.c   which order is next; which blocks or warps it depends on
 *     sched_report.c   findings
 *
 * The device runs the grid again as long as this asks for it (ir_observer.next_run), on one thread
 * and with nothing else beside. Memory is saved when it is first written to: probes tell of writes
 * before they happen.
 */
#ifndef HD_SAN_SCHED_SCHEDCHECK_H
#define HD_SAN_SCHED_SCHEDCHECK_H

#include "base/vec.h"
#include "san/memory.h"
#include "san/tool.h"

/* name, what is said of so many launches: "were not run again: they ..". */
#define SCHED_SKIP_LIST(X)                                                                         \
    X(NONE, "")                                                                                    \
    X(SINGLE, "")                                                                                  \
    X(HEAP, "allocate or free memory in the kernel")                                               \
    X(RUNTIME, "launch kernels, or call the runtime otherwise")                                    \
    X(MEMORY, "write to more memory than --schedule-memory says")                                  \
    X(UNKNOWN, "write to memory that is neither registered nor managed")                           \
    X(WAITING, "wait for something outside of the launch")                                         \
    X(BUSY, "could not be alone: other work did not end")                                          \
    X(UNREPEATABLE, "have another result each time, also in the same order")
enum sched_skip {
#define X(name, text) SCHED_##name,
    SCHED_SKIP_LIST(X)
#undef X
        SCHED_SKIP_COUNT
};

/* ---- memory */

/* An allocation, a variable, or a block of the kernels' heap, that the launch has written to. */
struct sched_part {
    uint64_t base, size_B;
    struct san_block *block; /* of the launch's picture; NULL: of the heap */
    char *before;            /* as it was */
    char *after;             /* the usual result; `before`: that run did not write to it */
    char *reference;         /* what results are compared with; mostly `after` */
};

/* How a result differs from the reference. */
struct sched_diff {
    enum hd_status failed;         /* the run did; then there is no result */
    uint64_t bytes;                /* that differ; 0: none does */
    uint32_t parts;                /* that do */
    const struct sched_part *part; /* of the first one */
    uint64_t at;                   /* where in it; a multiple of `width` */
    unsigned width;                /* of a word there: 2, 4, 8 */
    uint8_t was[8], is[8];         /* the words there, in the reference and now */
    bool is_rounding;              /* all of it may be rounding of floating-point numbers: */
    uint64_t ulps;                 /* so many units in the last place at most */
    bool is_moved;                 /* in each part it is the same words in other places */
};
/* A warning: sums of floating-point numbers, lists in the order of arrival. */
static inline bool sched_diff_is_mild(const struct sched_diff *diff)
{
    return diff->is_rounding || diff->is_moved;
}

struct sched_memory {
    HD_VEC(struct sched_part *) parts; /* by base */
    struct san_memory *picture;
    uint64_t saved_B;
    unsigned floats; /* widths of floating-point numbers that the kernel works on, a set: 2, 4, 8 */
    bool is_known;   /* `after` is there */
};

/* The part with this byte, which is saved when it is new; SCHED_NONE or why it cannot be. NULL and
 * SCHED_NONE: there is nothing at all. */
enum sched_skip sched_memory_touch(struct sched_memory *m, uint64_t va,
                                   struct sched_part **out_part);
/* The same of everything that is in the picture. */
enum sched_skip sched_memory_touch_all(struct sched_memory *m);
/* The first run is over. False: no memory. */
bool sched_memory_know(struct sched_memory *m);
/* What is in memory now is the reference from here on. False: no memory. */
bool sched_memory_refer(struct sched_memory *m);
void sched_memory_compare(const struct sched_memory *m, struct sched_diff *out_diff);
/* Memory becomes what it was before the launch; what the first run made of it. */
void sched_memory_rewind(struct sched_memory *m);
void sched_memory_finish(struct sched_memory *m);
void sched_memory_fini(struct sched_memory *m);
/* The heap of kernels. */
void sched_heap_add(uint64_t va, uint64_t size_B);
void sched_heap_remove(uint64_t va);

/* ---- orders */

/* name, the word of findings, what differs. */
#define SCHED_KIND_LIST(X)                                                                         \
    X(BLOCKS, "block-order", "the order of blocks")                                                \
    X(WARPS, "warp-order", "the order of warps")                                                   \
    X(TURNS, "interleaving", "how warps are interleaved")
enum sched_kind {
#define X(name, word, text) SCHED_KIND_##name,
    SCHED_KIND_LIST(X)
#undef X
        SCHED_KIND_COUNT
};

enum { SCHED_PLANS_MAX = 256 };
struct sched_plan {
    enum sched_kind kind;
    uint64_t seed; /* 0: backwards */
};

/* Who wrote the word that differs last, in one of two runs. */
struct sched_writer {
    const struct ir_instr *at; /* NULL: nobody */
    struct ir_probe_cta base;
    struct san_cta cta;
    uint32_t warp, lane;
};

enum sched_phase {
    SCHED_USUAL,      /* the first run */
    SCHED_SEQUENTIAL, /* one after the other, where the first run was in turns */
    SCHED_EXPLORE,
    SCHED_REPEAT, /* what was first, once more */
    SCHED_STAGE,  /* how many units, from the first on, have to be in the other order */
    SCHED_MOVE,   /* how far the last of these has to move */
    SCHED_PAIR,   /* does the pair alone show it, all others in their usual order? */
    SCHED_PAIR_LOW,
    SCHED_FRONT,   /* the second of the pair in front of all others, in their usual order? */
    SCHED_NARROW,  /* warps of fewer blocks */
    SCHED_CONFIRM, /* the second of the two orders, with who writes */
    SCHED_TRACE,   /* the first */
    SCHED_OVER,
};

/*
 * On the way from the usual order to another one: the first `stage` units (or warps) are in the
 * other order; unit number `stage` has moved `moves` places to the front; all others ascend. From
 * one to the next place two neighbours change.
 */
struct sched_step {
    uint32_t stage, moves;
};

struct sched_search {
    enum sched_phase phase;
    struct sched_plan plans[SCHED_PLANS_MAX];
    uint32_t nplans, at;
    uint32_t runs, shrinks;
    bool found[SCHED_KIND_COUNT], warned; /* errors; what is mild */
    bool is_repeatable;                   /* seen */
    struct sched_diff diff;               /* what is being looked into */
    uint32_t *rank;                       /* of each unit in the plan's order */
    uint32_t n;
    /* The first order gives the reference's result, the second another one. */
    struct sched_step low, high, trial;
    struct sched_step far[2];    /* the two that were found first, while simpler ones are tried */
    bool has_pair;               /* they differ by two neighbours: */
    uint32_t pair[2];            /* in their usual order */
    bool is_simple;              /* all others ascend: the first units of a step do */
    uint64_t first, end;         /* NARROW: CTAs whose warps are out of order */
    uint64_t try_first, try_end; /* those of the trial */
    bool upper;
    struct ir_schedule schedule; /* of the run */
    uint32_t *units;
    uint8_t warps[32];
    struct sched_writer writers[2]; /* in the first order, in the second one */
    uint64_t traced;                /* address; 0: no */
};

struct sched_launch {
    struct sched_memory memory;
    struct sched_search search;
    enum sched_skip skip;
    uint64_t begin_ns;
    uint32_t nwarps;
    struct sched_part *near[1024]; /* by number of the probe */
    HD_VEC(uint32_t) ranged;       /* probes with a range */
};

static inline struct sched_launch *sched_launch_of(const struct san_launch *launch)
{
    return launch->own[SAN_SCHEDCHECK];
}

/* ---- sched_order.c: of the plan that the search is at */

uint64_t sched_ctas_of(const struct san_launch *launch);
bool sched_is_of_warps(const struct sched_search *s);
/* Room for n units or warps; false: no memory. */
bool sched_order_alloc(struct sched_search *s, uint32_t n);
/* The plan's order, as the place of each unit in it. */
void sched_ranks_make(struct sched_search *s, uint64_t seed);
/* s->units in the order of a step. */
void sched_order_make(struct sched_search *s, const struct sched_step *step);
/* How many of the first units come behind unit `stage` in the plan's order: it passes them. */
uint32_t sched_moves_of(const struct sched_search *s, uint32_t stage);
/* The schedule of the next run: with s->units; of the first or the second of two orders; of the
 * ascending one. */
void sched_schedule_units(struct sched_search *s);
void sched_schedule_side(struct sched_search *s, bool high);
void sched_schedule_plain(struct sched_search *s, bool in_turns);

/* ---- the search */

/* Is there any other order? Plans those that are tried. */
bool sched_search_begin(const struct san_launch *launch);
/* A run has ended; the schedule of the next one, NULL: none. */
const struct ir_schedule *sched_search_next(struct san_launch *launch, enum hd_status ended);
void sched_search_fini(struct sched_search *s);
/* An access of the launch writes. */
void sched_trace(struct san_cta *cta, const struct san_access *a);
/* How often is there something to do for this kernel: the first times only. */
bool sched_kernel_allows(const struct san_launch *launch, enum sched_kind kind, uint64_t times);

void sched_report(const struct san_launch *launch);

/* Totals of the process. */
void sched_count_runs(uint32_t runs, bool finished);
void sched_runs_summary(void);

#endif
