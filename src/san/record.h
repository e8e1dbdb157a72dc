/*
 * Findings of the checker and how they leave the process: as records, one JSON object each, which
 * `heddle check` formats, filters, counts and suppresses. The process itself prints nothing.
 *
 * Transport: an abstract unix socket of type SOCK_SEQPACKET whose name is in HEDDLE_CHECK; each
 * process connects by itself, so forks and programs that close descriptors do no harm. A record is
 * a message. When nobody receives any more, records are dropped and the program goes on.
 *
 * A process that finds the same again and again sends so many findings as the option record-limit
 * says, and of every cause (tool, kind, place, kernel) the first; what is not sent is counted, and
 * the counts are sent by and by. docs/check.md has the members of each record.
 *
 * Threads: any; a record is sent under a lock of its own, which may be taken with any other held. A
 * receiver that does not receive is waited for, but not for ever: then records are lost, counted,
 * and the number is sent when it is possible.
 */
#ifndef HD_SAN_RECORD_H
#define HD_SAN_RECORD_H

#include "base/compiler.h"
#include "base/status.h"
#include "ir/ir.h"

struct san_cta;
struct san_launch;

/*
 * Reads HEDDLE_CHECK, connects and tells that a process begins. HD_OK without the variable, and in
 * a process that is not to be checked. HD_BAD_ARG: it is malformed, or nobody receives.
 */
enum hd_status san_record_start(void) HD_MUST_CHECK;
/* Is this process checked? A child that was forked is, unless only the application is. */
bool san_record_is_on(void);
/* Counts that are left, and that the process ends; nothing is sent afterwards. */
void san_record_stop(void);

/* A host stack: return addresses, innermost first. Names are looked up when it is sent. */
enum { SAN_STACK_MAX = 32 };
struct san_stack {
    uint32_t n;
    uintptr_t pc[SAN_STACK_MAX];
};
/* The caller's; frames of Heddle's own libraries are left out when it is sent. */
void san_stack_take(struct san_stack *out);

/* word: also what suppressions and --print-level know. */
#define SAN_SEVERITY_LIST(X)                                                                       \
    X(INFO, "info")                                                                                \
    X(WARNING, "warning")                                                                          \
    X(ERROR, "error")                                                                              \
    X(FATAL, "fatal")
enum san_severity {
#define X(name, word) SAN_##name,
    SAN_SEVERITY_LIST(X)
#undef X
        SAN_SEVERITY_COUNT
};
extern const char
    *const san_severity_words[SAN_SEVERITY_COUNT]; /* options.c: the tool has them too */

/* Who did what where in a kernel. */
struct san_actor {
    const struct san_cta *cta;
    const struct ir_instr *at; /* a probe; its module is that of the launch's kernel */
    uint32_t warp, lane;
    const char *verb; /* races: "Write access", "Read access"; "Write Thread", "Read Thread" */
    uint64_t value;   /* what is or was in memory, up to 8 bytes */
    uint32_t value_B; /* 0: not known */
};

enum { SAN_DETAILS_MAX = 6, SAN_DETAIL_B = 200 };
struct san_finding {
    const char *tool; /* "memcheck" */
    const char *kind; /* a stable word for suppressions and JSON: "invalid-write" */
    enum san_severity severity;
    /*
     * "Invalid __global__ write of size 4 bytes". Of two actors, either "Race reported between",
     * whose actors' verbs go on with "at PLACE", and `count` hazards; or "Potential WAW hazard
     * detected at __shared__ 0x0 in block (0,0,0) :", whose verbs are followed by the thread and
     * the place.
     */
    char title[SAN_DETAIL_B];
    struct san_actor actors[2]; /* the second: races */
    uint32_t nactors;           /* 0: the host's affair */
    uint64_t address;
    bool has_address;
    char details[SAN_DETAILS_MAX][SAN_DETAIL_B]; /* lines below */
    uint32_t ndetails;
    const struct san_launch *launch;           /* its number and stack; NULL: the host's affair */
    const struct san_stack *stack;             /* of the host call that it is about; NULL: none */
    const struct san_stack *allocated, *freed; /* where memory came from and went; NULL: none */
    uint64_t count;                            /* how many of the same this stands for; 0 is 1 */
    /* Where they apply, for XML and suppressions. */
    const char *space;     /* "global", "shared", "local" */
    const char *direction; /* "read", "write", "atomic" */
    uint64_t size_B;       /* of the access; of what leaked */
    /*
     * Of "Race .. between": sides that are no threads of a kernel, behind the actors; with these
     * there are two. `stack` is of the first one's call, or the launch's; `other` of the second's.
     */
    struct san_side {
        const char *verb; /* "Write access" */
        const char *name; /* of what did it: "cudaMemcpyAsync", "the host" */
    } sides[2];
    uint32_t nsides;
    const struct san_stack *other;
    struct {
        const char *name;    /* "cudaMalloc"; NULL: it is not about a call */
        const char *error;   /* "cudaErrorMemoryAllocation" */
        const char *message; /* "out of memory" */
        int64_t code;
    } call;
};
/* Appends a line to the details; what does not fit is cut. */
void san_detail(struct san_finding *finding, const char *fmt, ...) HD_PRINTF(2, 3);
void san_report(const struct san_finding *finding);
/* Tells of what was only counted: a launch has ended, so somebody may be shown all it found. */
void san_record_settle(void);

/*
 * A number of the process for the last lines of the output, added up over processes. memcheck:
 * "leaked_B", "leaked_allocations". Of no tool, "": a context that is over (host.c).
 */
void san_summary(const char *tool, const char *name, uint64_t value);

#endif
