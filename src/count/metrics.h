/*
 * Metrics by number, and their values for a launch (spec/metrics.def). Not part of libcuda: whoever
 * shows counters makes values of them, `heddle prof` and libcupti.
 */
#ifndef HD_COUNT_METRICS_H
#define HD_COUNT_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/count.h"
#include "ir/count.h"

enum metric_kind {
    METRIC_SUM,
    METRIC_RATIO,
    METRIC_LAUNCH,
    METRIC_TOTAL,
    METRIC_RATE,
    METRIC_MADE,
    METRIC_TIMED,
    METRIC_NEVER,
};

enum metric_section {
#define METRIC(kind, name, unit, section, label, formula, doc)
#include "metrics.def"
#define X(id, title) SECTION_##id,
    SECTION_LIST(X)
#undef X
        SECTION_COUNT
#undef METRIC
#undef SECTION_LIST
};

struct metric {
    enum metric_kind kind;
    enum metric_section section;
    const char *name, *unit, *label, *doc;
    const char *numerator, *denominator; /* of RATIO and RATE */
    double factor;
};

extern const struct metric metrics[];
extern const size_t metrics_count;
enum { METRICS_MAX = 256 };
extern const char *const metric_section_names[SECTION_COUNT];
extern const char *const metric_section_titles[SECTION_COUNT];

/* NULL: there is none. */
const struct metric *metric_find(const char *name, size_t len);

struct kernel_launch {
    uint64_t correlation, grid_id, begin_ns, end_ns;
    uint64_t grid[3], block[3], cluster[3];
    uint64_t static_B, dynamic_B, registers;
    uint64_t duration_ns;
    const char *name;
};

/* Those of SUM for an instruction, others 0: metrics_count of them. */
void metrics_of_instr(const struct heddle_counted_instr *i, double *out);
/* All of a launch; has[m]: there is a value. `values` hold those of SUM already. */
void metrics_finish(const struct kernel_launch *l, double *values, bool *has);
/* Why a metric of a launch has no value. */
void metric_reason(const struct metric *metric, const double *values, const bool *has, char *out,
                   size_t size);
/* Adds those of SUM and TOTAL, the launch as the counters tell it. */
void metrics_add(const struct heddle_counted *launch, double *values);
/* RATIO and RATE of the others, of which seconds are seconds; false: there is no value. */
bool metric_derive(const struct metric *metric, const double *values, double seconds,
                   double *out_value);

#endif
