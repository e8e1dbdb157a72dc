/* See prof_metrics.h. */
#include "prof_metrics.h"

#include <string.h>

/* ---- the table */

#define PARTS_SUM(...)                                 NULL, NULL, 0
#define PARTS_LAUNCH(...)                              NULL, NULL, 0
#define PARTS_MADE(...)                                NULL, NULL, 0
#define PARTS_TIMED(...)                               NULL, NULL, 0
#define PARTS_NEVER(...)                               NULL, NULL, 0
#define PARTS_RATIO(formula)                           PARTS_OF_RATIO formula
#define PARTS_RATE(formula)                            PARTS_OF_RATE formula
#define PARTS_OF_RATIO(numerator, denominator, factor) numerator, denominator, factor
#define PARTS_OF_RATE(numerator, factor)               numerator, NULL, factor

const struct metric metrics[] = {
#define METRIC(kind, name, unit, section, label, formula, doc)                                     \
    {METRIC_##kind, SECTION_##section, name, unit, label, doc, PARTS_##kind(formula)},
#include "metrics.def"
#undef METRIC
#undef SECTION_LIST
};
const size_t metrics_count = sizeof(metrics) / sizeof(metrics[0]);

#define METRIC(kind, name, unit, section, label, formula, doc)
#include "metrics.def"
#undef METRIC
const char *const metric_section_names[SECTION_COUNT] = {
#define X(id, title) #id,
    SECTION_LIST(X)
#undef X
};
const char *const metric_section_titles[SECTION_COUNT] = {
#define X(id, title) title,
    SECTION_LIST(X)
#undef X
};
#undef SECTION_LIST

const struct metric *metric_find(const char *name, size_t len)
{
    for (size_t m = 0; m < metrics_count; m++)
        if (strlen(metrics[m].name) == len && !memcmp(metrics[m].name, name, len))
            return &metrics[m];
    return NULL;
}

/* ---- formulas */

#define OF(class_)      ((double)((i->classes & IR_COUNT_##class_) != 0))
#define IN(space, word) ((double)i->in[IR_COUNT_IN_##space][IR_COUNT_##word])
/* Not cp.async, which reads global memory. */
#define LOADS      (OF(LOAD) * ((i->classes & (IR_COUNT_SHARED | IR_COUNT_GENERIC)) != 0))
#define READS      OF(LOAD)
#define WRITES     OF(STORE)
#define ANY_ATOMIC ((double)((i->classes & (IR_COUNT_ATOMIC | IR_COUNT_REDUCTION)) != 0))
#define PLAIN      (1 - ANY_ATOMIC)
#define CONFLICTS  (IN(SHARED, WAVEFRONTS) - IN(SHARED, IDEAL_WAVEFRONTS))

#define SUM_SUM(formula)    (double)(formula)
#define SUM_RATIO(formula)  0
#define SUM_RATE(formula)   0
#define SUM_LAUNCH(formula) 0
#define SUM_MADE(formula)   0
#define SUM_TIMED(formula)  0
#define SUM_NEVER(formula)  0

void metrics_of_instr(const struct kernel_instr *i, double *out)
{
    const double by_metric[] = {
#define METRIC(kind, name, unit, section, label, formula, doc) SUM_##kind(formula),
#include "metrics.def"
#undef METRIC
#undef SECTION_LIST
    };

    memcpy(out, by_metric, sizeof(by_metric));
}

#define OWN_SUM(formula)    0
#define OWN_RATIO(formula)  0
#define OWN_RATE(formula)   0
#define OWN_LAUNCH(formula) (double)(formula)
#define OWN_MADE(formula)   0
#define OWN_TIMED(formula)  0
#define OWN_NEVER(formula)  0

static void launch_values(const struct kernel_launch *l, double *values, bool *has)
{
    const double own[] = {
#define METRIC(kind, name, unit, section, label, formula, doc) OWN_##kind(formula),
#include "metrics.def"
#undef METRIC
#undef SECTION_LIST
    };

    for (size_t m = 0; m < metrics_count; m++) {
        if (metrics[m].kind == METRIC_LAUNCH)
            values[m] = own[m];
        has[m] = metrics[m].kind == METRIC_LAUNCH || metrics[m].kind == METRIC_SUM;
    }
}

static double value_of(const char *name, const double *values)
{
    return values[metric_find(name, strlen(name)) - metrics];
}

void metrics_finish(const struct kernel_launch *l, double *values, bool *has)
{
    launch_values(l, values, has);
    for (size_t m = 0; m < metrics_count; m++) {
        const struct metric *metric = &metrics[m];
        double by = 0;

        if (metric->kind == METRIC_RATIO)
            by = value_of(metric->denominator, values);
        if (metric->kind == METRIC_RATE)
            by = (double)l->duration_ns / 1e9;
        if (by > 0) {
            values[m] = value_of(metric->numerator, values) / by * metric->factor;
            has[m] = true;
        }
    }
}
