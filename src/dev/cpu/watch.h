/* Of a launch that is observed (watch.c): who observes it, and what schedule.c asks. */
#ifndef HD_DEV_CPU_WATCH_H
#define HD_DEV_CPU_WATCH_H

#include "dev/cpu/job.h"
#include "ir/probe.h"

const struct ir_observer *cpu_watch_observer(const struct cpu_watch *watch);
/* The observer's. */
void *cpu_watch_launch(const struct cpu_watch *watch);
/* Has nothing failed so far? */
bool cpu_watch_is_fine(const struct cpu_job *job);

/* May its CTAs wait for each other? How many of `total` then take turns at most. */
bool cpu_watch_may_wait(const struct cpu_job *job);
uint32_t cpu_watch_residents_max(const struct cpu_job *job, uint64_t total);

/* schedule.c: cpu_job.run of what may be run again (cpu_device.run_again): all runs, on this
 * thread. */
void cpu_schedule_run(struct cpu_job *job, struct cpu_slot *slot);

#endif
