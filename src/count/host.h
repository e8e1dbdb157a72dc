/*
 * What host threads do while they execute launches: processor time, context switches and page
 * faults, which every thread may know of itself, and counters of the processor where the kernel
 * permits them (perf.h). Of all launches, counted or not, whose blocks do not wait for each other;
 * only with `host` in HEDDLE_COUNT. Lines go where those of kernel counters go (file.h).
 */
#ifndef HD_COUNT_HOST_H
#define HD_COUNT_HOST_H

#include "hal/hal.h"

/* For devices; NULL: nobody asked. */
const struct hal_meter *count_meter(void);

/* X(id, config, name): counters of the processor, in groups of two as they stand here. */
#define COUNT_HOST_LIST(X)                                                                         \
    X(CYCLES, PERF_COUNT_HW_CPU_CYCLES, "cycles")                                                  \
    X(INSTRUCTIONS, PERF_COUNT_HW_INSTRUCTIONS, "instructions")                                    \
    X(LLC_REFERENCES, PERF_COUNT_HW_CACHE_REFERENCES, "LLC references")                            \
    X(LLC_MISSES, PERF_COUNT_HW_CACHE_MISSES, "LLC misses")                                        \
    X(BRANCH_MISSES, PERF_COUNT_HW_BRANCH_MISSES, "branch misses")

enum count_host {
#define X(id, config, name) COUNT_HOST_##id,
    COUNT_HOST_LIST(X)
#undef X
        COUNT_HOST_COUNT
};

#endif
