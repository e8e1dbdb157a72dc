/* Between the files of src/count. */
#ifndef HD_COUNT_PRIVATE_H
#define HD_COUNT_PRIVATE_H

#include "base/lock.h"
#include "count/count.h"
#include "ir/count.h"

enum { COUNT_WARP = IR_COUNT_WARP };

struct count_slab {
    struct count_slab *next;
    uint64_t words[];
};

struct count_launch {
    struct ir_probe_launch about;
    uint32_t nthreads;
    size_t nwords;
    uint64_t begin_ns; /* CLOCK_MONOTONIC */
    struct count_sweep *sweep;
    struct hd_lock lock;     /* below */
    struct count_slab *free; /* counters that no CTA uses now */
    uint64_t *total;         /* of those whose CTA failed to give them back: none */
};

static inline const struct ir_module *count_module(const struct count_launch *launch)
{
    return launch->about.kernel->module;
}

/* access.c: lanes together; the operands are arrays of 32 words. */
struct count_cta;
void count_together(struct count_cta *cta, uint32_t warp, uint32_t lanes,
                    const struct ir_instr *probe, const uint64_t *const *operands);
/* Of a generic address; parameters are global here. */
enum ir_count_space count_space_of(const struct count_cta *cta, uint64_t address);

/*
 * payload.c: what lanes do each for itself, whoever tells of it. False: it is no such operation.
 */
bool count_by_lane(struct count_cta *cta, uint32_t lanes, const struct ir_instr *probe,
                   const uint64_t *const *operands);

struct count_cta {
    struct count_launch *launch;
    const struct ir_probe_cta *base;
    struct count_slab *slab;
    struct count_trace *traces; /* by warp; NULL: lanes are told together */
    bool no_memory;
};

/*
 * sweep.c. The order in which the warp of one that is told lane by lane would have run: the sweep
 * of structured code (jit/gen/flow/gen_flow.c) over the blocks of the module.
 */
struct count_sweep *count_sweep_create(const struct ir_module *module);
void count_sweep_destroy(struct count_sweep *sweep);
/* A lane comes to a probe. False: no memory. */
bool count_trace_add(struct count_cta *cta, uint32_t warp, uint32_t lane,
                     const struct ir_instr *probe, const uint64_t *const *operands) HD_MUST_CHECK;
/* All that was told; the CTA is over. */
void count_trace_finish(struct count_cta *cta);

/* choose.c; NULL: there is none. */
const struct heddle_count_listener *count_listener(void);

/* tell.c: a launch is over; to whoever wants to know. The counters are its own. */
void count_report(const struct count_launch *launch, const uint64_t *words);

/* file.c */
enum hd_status count_file_open(const char *folder) HD_MUST_CHECK;
bool count_file_is_open(void);
void count_file_write(const struct heddle_counted *launch);
/* A line of one kind; its fields, which tabulators separate. */
void count_file_line(char kind, const char *text);

#endif
