/*
 * What a program could gain, by a report of heddle prof (or of Nsight Systems): the logic of
 * `heddle advise`, which reads reports (advise_load.c there) and prints findings.
 *
 *     struct advise a = {.path = "run.sqlite", .min_gain = 0.02, .until_ns = INT64_MAX};
 *     fill in names, calls, works, streams ... counted, compiled
 *     advise_judge(&a);
 *     look_at(a.findings);
 *     advise_fini(&a);
 *
 * A trace is what happened: calls of the host's threads, work of the devices, counters. A plan is
 * what the replay (model.c) needs to know to tell how long that takes: the plan made from
 * the trace gives the trace's own times again, a changed copy those of a program with a limit less.
 * A rule (rules.def) looks for its pattern, changes a copy, and reports the difference.
 *
 * All times are nanoseconds. Calls lie in the order of their start, work in that of its calls.
 *
 * Threads: one.
 */
#ifndef HD_ADVISE_ADVISE_H
#define HD_ADVISE_ADVISE_H

#include "base/map.h"
#include "base/status.h"
#include "base/str.h"
#include "base/vec.h"

#define ADVISE_NONE UINT32_MAX

#define ADVISE_SEVERITY_LIST(X) X(LOW, "low") X(MEDIUM, "medium") X(HIGH, "high")
enum advise_severity {
#define X(NAME, word) ADVISE_##NAME,
    ADVISE_SEVERITY_LIST(X)
#undef X
        ADVISE_SEVERITY_COUNT
};
extern const char *const advise_severity_words[ADVISE_SEVERITY_COUNT];

enum advise_call_kind {
    ADVISE_CALL_OTHER,
    ADVISE_CALL_LAUNCH,
    ADVISE_CALL_GRAPH,
    ADVISE_CALL_COPY,
    ADVISE_CALL_FILL,
    ADVISE_CALL_SYNC,
    ADVISE_CALL_ALLOC,
    ADVISE_CALL_MODULE,
    ADVISE_CALL_NONE, /* work whose call is not in the report */
};

enum advise_wait {
    ADVISE_WAIT_NOTHING,
    ADVISE_WAIT_WORK,    /* a call's `wait_work`: of an event, or its own copy */
    ADVISE_WAIT_STREAM,  /* all of `wait_stream` */
    ADVISE_WAIT_PROCESS, /* all that the process has submitted */
};

struct advise_call {
    int64_t start_ns, end_ns;
    int64_t compile_ns; /* in it, on its thread */
    int64_t rowid;      /* of CUPTI_ACTIVITY_KIND_RUNTIME */
    uint64_t key;       /* process and correlation */
    uint32_t thread, process;
    uint32_t before; /* the thread's call before; of its first one: a call of the process's first
                        thread that had ended; ADVISE_NONE */
    uint32_t next;   /* of the thread; ADVISE_NONE */
    uint32_t name;   /* of `names` */
    uint32_t first_work, work_count;
    uint32_t wait_work, wait_stream;
    uint8_t kind, wait;
    bool is_async; /* by its name */
};

enum advise_work_kind { ADVISE_KERNEL, ADVISE_COPY, ADVISE_FILL };
enum advise_copy_kind { ADVISE_TO_DEVICE = 1, ADVISE_TO_HOST = 2, ADVISE_ON_DEVICE = 8 };
enum { ADVISE_MEMORY_PAGEABLE = 0, ADVISE_MIGRATION_FIRST = 11, ADVISE_MIGRATION_LAST = 13 };

struct advise_work {
    int64_t start_ns, end_ns;
    int64_t rowid;
    uint64_t key;
    int64_t bytes;
    double blocks; /* of a kernel's grid */
    uint32_t stream, call;
    uint32_t name; /* of `names`; a kernel's */
    uint32_t device;
    uint32_t threads;                        /* of a block */
    uint8_t kind, copy_kind, source, target; /* ENUM_CUDA_MEMCPY_OPER, ENUM_CUDA_MEM_KIND */
};

struct advise_stream {
    uint32_t process, device;
    int64_t context, id;
    bool is_null; /* the context's default stream: others wait for it, and it for them */
    int64_t busy_ns;
    uint32_t count;
};

struct advise_plan_call {
    int64_t gap_ns;  /* the host's own time before it */
    int64_t own_ns;  /* what it takes when it waits for nothing */
    int64_t tail_ns; /* from the end of what it waits for to its own */
    uint8_t wait;
    bool is_idle;    /* what it could wait for had ended when it began */
    bool waits_late; /* not before the thread's next call */
};

struct advise_plan_work {
    int64_t time_ns;
    int64_t launch_ns; /* from the start of its call to its own, when the device is free */
    int64_t queue_ns;  /* from the end of the stream's work before it */
    int64_t extra_ns;  /* more, which nothing explains */
    float demand;      /* share of its engine that it takes */
    uint32_t stream;   /* in whose order it runs */
    uint32_t engine;
    uint32_t after[2]; /* more work that it waits for */
};

struct advise_plan {
    struct advise_plan_call *calls;
    struct advise_plan_work *works;
};

/* Sums of counters over all launches of a kernel that were counted. */
struct advise_counted {
    char *kernel;
    int64_t time_ns;
    uint64_t launches;
    double insts, lanes;
    double uniform; /* branches at which all lanes went the same way; percent */
    double requests, sectors, all_sectors, ideal; /* of global memory */
    double passes, conflicts;                     /* of shared memory */
    double local;
    double atomics, atomic_passes; /* one for each address that lanes of a warp share */
    double barriers;
    double slots; /* by advise_counted_finish() */
};

/* X(KIND, what the values of a line are called): what lines are told of. */
#define ADVISE_LINE_LIST(X)                                                                        \
    X(DIVERGENT, "branches that part the lanes")                                                   \
    X(SECTORS, "sectors")                                                                          \
    X(CONFLICTS, "bank conflicts")                                                                 \
    X(LOCAL, "loads and stores of local memory")                                                   \
    X(ATOMIC, "passes")                                                                            \
    X(BARRIERS, "barriers")
enum advise_line_kind {
#define X(KIND, what) ADVISE_LINE_##KIND,
    ADVISE_LINE_LIST(X)
#undef X
        ADVISE_LINE_COUNT
};

struct advise_line {
    size_t counted; /* index of the kernel */
    enum advise_line_kind kind;
    char *file;
    int64_t line;
    double value;
};

/* A kernel that was compiled in more calls than it was granted (repeated-jit). */
struct advise_compiled {
    char *kernel;
    int64_t rowid, start_ns, end_ns; /* the first time, and the end of the last */
    uint64_t calls, again;           /* in how many, and how many too often */
    int64_t time_ns, again_ns;
};

struct advise_example {
    const char *table;
    int64_t rowid;
    int64_t start_ns, end_ns;
};

struct advise_rule;

struct advise_finding {
    const struct advise_rule *rule;
    enum advise_severity severity;
    int64_t gain_ns;
    double gain;        /* of the steady time */
    const char *kernel; /* NULL: of none in particular */
    char *file;         /* NULL: unknown */
    int64_t line;
    uint64_t count; /* of places */
    HD_VEC(char *) evidence;
    HD_VEC(struct advise_example) examples;
};

struct advise {
    const char *path; /* for messages */
    uint64_t limit;   /* the most calls and work that are read, about */
    int64_t until_ns; /* what starts later is not; INT64_MAX: all is */
    double min_gain;  /* share of the steady time below which nothing is reported */
    HD_VEC(char *) names;
    HD_VEC(struct advise_call) calls;
    HD_VEC(struct advise_work) works;
    HD_VEC(struct advise_stream) streams;
    HD_VEC(uint64_t) threads;
    HD_VEC(uint64_t) processes;
    HD_VEC(uint32_t) sms; /* of devices by number; 0: unknown */
    HD_VEC(struct advise_counted) counted;
    HD_VEC(struct advise_line) lines;
    HD_VEC(struct advise_compiled) compiled; /* the most time again first */
    int64_t warps_per_sm, blocks_per_sm;     /* 0: a multiprocessor has one block, as Heddle's */
    HD_VEC(struct advise_finding) findings;
    uint32_t own_streams; /* that plans may use, behind `streams` */
    uint32_t engine_count;
    struct advise_plan base, trial;
    int64_t span_ns;    /* from the first call's start to the end of all */
    int64_t steady_ns;  /* of that, replayed without what happens once: compilation, start-up */
    int64_t replay_ns;  /* what the replay says of that: more, where the model packs work worse */
    int64_t compile_ns; /* while a call waited for it */
    bool has_counters;  /* of kernels */
    bool is_counted;    /* the timeline is of the run that counted: rules of time are not asked */
    int interrupted;    /* the signal that ended the recording; 0: none */
    bool out_of_memory;
};

/* ---- findings.c */
/* Makes the plan, asks all rules, and sorts their findings by gain. HD_NO_MEMORY. */
enum hd_status advise_judge(struct advise *a) HD_MUST_CHECK;
void advise_fini(struct advise *a);

/* ---- trace.c */
/* Of a call of the CUDA API, by its name. */
enum advise_call_kind advise_call_kind_of(const char *name);
const char *advise_call_name(const struct advise *a, const struct advise_call *call);
/* Of its thread; NULL behind the last. */
const struct advise_call *advise_next(const struct advise *a, const struct advise_call *call);
bool advise_submits(const struct advise_call *call);

/* ---- join.c: from rows of a report to a timeline. Calls and work are added first, then joined:
 *
 *     calls by thread, start, and the longer first; advise_join_calls();
 *     work, in any order; advise_join_work();
 *     waits that the report tells; advise_find_waits();
 */
struct advise_join {
    struct hd_map outer; /* key of a call inside another: that one's key */
    struct hd_map calls; /* key: index + 1 */
};
void advise_join_init(struct advise_join *j);
void advise_join_fini(struct advise_join *j);
/* Leaves out calls that other calls make, whose work is the outer one's; sorts the others by their
 * start. False: no memory. */
bool advise_join_calls(struct advise_join *j, struct advise *a) HD_MUST_CHECK;
/* Work gets its call, or one that stands in for it, calls their work and the calls of their thread
 * beside them. There is a name. False: no memory. */
bool advise_join_work(struct advise_join *j, struct advise *a) HD_MUST_CHECK;
/* The call with the key; ADVISE_NONE. */
uint32_t advise_join_find(const struct advise_join *j, uint64_t key);
/* Calls that no row says it of, but that ended only when work did. */
void advise_find_waits(struct advise *a);
/* Adds a compilation to the call that waited for it. `thread`: as in a->threads. */
void advise_add_compile(struct advise *a, uint64_t thread, int64_t start_ns, int64_t end_ns);

/* ---- rules_counters.c: from metrics to counters */
/* The sum of a metric over a kernel's launches, and the mean; a metric that no rule asks for does
 * nothing. */
void advise_counted_add(struct advise_counted *c, const char *metric, double sum, double mean);
/* When all are added. */
void advise_counted_finish(struct advise_counted *c);
/* What lines are told of by that metric; ADVISE_LINE_COUNT: nothing. */
enum advise_line_kind advise_line_kind_of(const char *metric);

/* ---- model.c */
/* Makes the plan of the trace. HD_NO_MEMORY. */
enum hd_status advise_model_init(struct advise *a) HD_MUST_CHECK;
/* Puts the plan of the trace into a->trial. */
void advise_trial_begin(struct advise *a);
/* How much shorter the trial is; 0 when it is not. */
int64_t advise_trial_gain(struct advise *a);

/* ---- findings: a rule makes one, adds evidence, and drops or keeps it by its gain */
struct advise_rule {
    const char *id, *title, *what, *remedy;
    void (*find)(struct advise *a, const struct advise_rule *rule);
    bool is_of_counters;
};
extern const struct advise_rule advise_rules[];
extern const size_t advise_rule_count;

bool advise_is_worth(const struct advise *a, int64_t gain_ns);
/* NULL: the gain is below the threshold, or memory is short. Valid until the next one is made. */
struct advise_finding *advise_find(struct advise *a, const struct advise_rule *rule,
                                   int64_t gain_ns, uint64_t count);
/* A copy of a name that lives as long as the findings; NULL without memory. */
const char *advise_keep(struct advise *a, const char *name);
void advise_say(struct advise *a, struct advise_finding *f, const char *fmt, ...) HD_PRINTF(3, 4);
/* Rows that are examples; only the first few are kept. */
void advise_example_call(struct advise *a, struct advise_finding *f, uint32_t call);
void advise_example_work(struct advise *a, struct advise_finding *f, uint32_t work);

/* "12.3 us"; valid until the fourth call behind. */
const char *advise_time(int64_t ns);
const char *advise_bytes(double bytes);

#define R(id, function, title, what, remedy)                                                       \
    void function(struct advise *a, const struct advise_rule *rule);
#define C R
#include "advise/rules.def"
#undef C
#undef R

#endif
