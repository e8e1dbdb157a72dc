/* Metrics by number, and their values for a launch (spec/metrics.def). */
#ifndef HEDDLE_TOOLS_PROF_METRICS_H
#define HEDDLE_TOOLS_PROF_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/count.h"

enum metric_kind {
    METRIC_SUM,
    METRIC_RATIO,
    METRIC_LAUNCH,
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
extern const char *const metric_section_names[SECTION_COUNT];
extern const char *const metric_section_titles[SECTION_COUNT];

/* NULL: there is none. */
const struct metric *metric_find(const char *name, size_t len);

struct kernel_instr {
    uint32_t classes;
    uint64_t issued, lanes, on, taken, divergent;
    uint64_t in[IR_COUNT_SPACES][IR_COUNT_ACCESS_WORDS];
    uint32_t ptx_line, line;
    const char *form, *function, *file;
};

struct kernel_launch {
    uint64_t correlation, grid_id, begin_ns, end_ns;
    uint64_t grid[3], block[3], cluster[3];
    uint64_t static_B, dynamic_B, registers;
    uint64_t duration_ns;
    const char *name;
};

/* Those of SUM for an instruction, others 0: metrics_count of them. */
void metrics_of_instr(const struct kernel_instr *i, double *out);
/* All of a launch; has[m]: there is a value. `sums` hold those of SUM already. */
void metrics_finish(const struct kernel_launch *l, double *values, bool *has);

#endif
