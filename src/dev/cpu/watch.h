/* Of a launch that is observed (watch.c): who observes it, for schedule.c. */
#ifndef HD_DEV_CPU_WATCH_H
#define HD_DEV_CPU_WATCH_H

#include "dev/cpu/job.h"
#include "ir/probe.h"

const struct ir_observer *cpu_watch_observer(const struct cpu_watch *watch);
/* The observer's. */
void *cpu_watch_launch(const struct cpu_watch *watch);
/* Has nothing failed so far? */
bool cpu_watch_is_fine(const struct cpu_job *job);

/* schedule.c: what the observer is told about the order of a launch; the job that is set up. */
void cpu_schedule_tell(const struct cpu_job *job, struct ir_probe_launch *about);
void cpu_schedule_setup(struct cpu_job *job);
/* cpu_job.run: all runs, on this thread. */
void cpu_schedule_run(struct cpu_job *job, struct cpu_slot *slot);

#endif
