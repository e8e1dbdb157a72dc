/* Between roofline.c, which plans and keeps, and roofline_measure.c, which measures. */
#ifndef HEDDLE_TOOLS_ROOFLINE_MEASURE_H
#define HEDDLE_TOOLS_ROOFLINE_MEASURE_H

#include <sched.h>

#include "prof/roofline/roofline.h"
#include "prof/roofline/roofline_loops.h"

struct roofline_plan {
    const struct roofline_loops *loops;
    uint32_t threads;                 /* that measure, at most one for each of `cpus` */
    cpu_set_t cpus;                   /* a thread each */
    size_t set_B[REPORT_LEVEL_COUNT]; /* of a thread; 0: not measured */
};

/* Fills the rates. HD_NO_MEMORY. */
enum hd_status roofline_measure(const struct roofline_plan *plan, struct roofline *out)
    HD_MUST_CHECK;

#endif
