/* See metrics.h. */
#include "count/metrics.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- the table */

#define PARTS_SUM(...)                                 NULL, NULL, 0
#define PARTS_LAUNCH(...)                              NULL, NULL, 0
#define PARTS_TOTAL(...)                               NULL, NULL, 0
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
_Static_assert(sizeof(metrics) / sizeof(metrics[0]) <= METRICS_MAX, "arrays of values");

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
#define LOADS           (OF(LOAD) * !OF(COPY))
#define READS           OF(LOAD)
#define WRITES          OF(STORE)
/* Each lane for itself, from or to registers. */
#define LANES      ((double)!(i->classes & (IR_COUNT_COPY | IR_COUNT_BULK)))
#define TMA        (OF(BULK) * !OF(MULTIMEM))
#define ANY_ATOMIC (LANES * ((i->classes & (IR_COUNT_ATOMIC | IR_COUNT_REDUCTION)) != 0))
#define PLAIN      (1 - ANY_ATOMIC)
#define CONFLICTS  (IN(SHARED, WAVEFRONTS) - IN(SHARED, IDEAL_WAVEFRONTS))

#define SUM_SUM(formula)    (double)(formula)
#define SUM_RATIO(formula)  0
#define SUM_RATE(formula)   0
#define SUM_LAUNCH(formula) 0
#define SUM_TOTAL(formula)  0
#define SUM_MADE(formula)   0
#define SUM_TIMED(formula)  0
#define SUM_NEVER(formula)  0

void metrics_of_instr(const struct heddle_counted_instr *i, double *out)
{
    const double by_metric[] = {
#define METRIC(kind, name, unit, section, label, formula, doc) SUM_##kind(formula),
#include "metrics.def"
#undef METRIC
#undef SECTION_LIST
    };

    memcpy(out, by_metric, sizeof(by_metric));
}

#define BLOCKS  (l->grid[0] * l->grid[1] * l->grid[2])
#define THREADS (l->block[0] * l->block[1] * l->block[2])

#define OWN_SUM(formula)    0
#define OWN_RATIO(formula)  0
#define OWN_RATE(formula)   0
#define OWN_LAUNCH(formula) (double)(formula)
#define OWN_TOTAL(formula)  (double)(formula)
#define OWN_MADE(formula)   0
#define OWN_TIMED(formula)  0
#define OWN_NEVER(formula)  0

static void launch_values(const struct kernel_launch *l, double *out)
{
    const double own[] = {
#define METRIC(kind, name, unit, section, label, formula, doc) OWN_##kind(formula),
#include "metrics.def"
#undef METRIC
#undef SECTION_LIST
    };

    memcpy(out, own, sizeof(own));
}

static double value_of(const char *name, const double *values)
{
    const struct metric *metric = metric_find(name, strlen(name));

    assert(metric); /* spec/metrics.def names what it has */
    return values[metric - metrics];
}

void metric_reason(const struct metric *metric, const double *values, const bool *has, char *out,
                   size_t size)
{
    const struct metric *by = metric->kind == METRIC_RATIO
                                  ? metric_find(metric->denominator, strlen(metric->denominator))
                                  : NULL;

    if (metric->kind == METRIC_NEVER)
        (void)snprintf(out, size, "%s", metric->doc);
    else if (by && has[by - metrics] && !values[by - metrics])
        (void)snprintf(out, size, "%s: 0", by->label);
    else if (metric->kind == METRIC_MADE || metric->kind == METRIC_TIMED)
        (void)snprintf(out, size, "see the section's notes");
    else
        (void)snprintf(out, size, "not in the report");
}

bool metric_derive(const struct metric *metric, const double *values, double seconds,
                   double *out_value)
{
    double by = 0;

    assert(metric >= metrics && metric < metrics + metrics_count);
    if (metric->kind == METRIC_RATIO)
        by = value_of(metric->denominator, values);
    if (metric->kind == METRIC_RATE)
        by = seconds;
    if (!(by > 0))
        return false;
    *out_value = value_of(metric->numerator, values) / by * metric->factor;
    return true;
}

void metrics_finish(const struct kernel_launch *l, double *values, bool *has)
{
    double own[METRICS_MAX];

    launch_values(l, own);
    for (size_t m = 0; m < metrics_count; m++) {
        has[m] = metrics[m].kind == METRIC_SUM;
        if (metrics[m].kind != METRIC_LAUNCH && metrics[m].kind != METRIC_TOTAL)
            continue;
        values[m] = own[m];
        has[m] = true;
    }
    for (size_t m = 0; m < metrics_count; m++)
        if (metric_derive(&metrics[m], values, (double)l->duration_ns / 1e9, &values[m]))
            has[m] = true;
}

/* ---- launches as they are told */

static struct kernel_launch launch_of(const struct heddle_counted *c)
{
    return (struct kernel_launch){
        .grid = {c->grid[0], c->grid[1], c->grid[2]},
        .block = {c->block[0], c->block[1], c->block[2]},
        .cluster = {c->cluster[0], c->cluster[1], c->cluster[2]},
        .static_B = c->static_shared_B,
        .dynamic_B = c->dynamic_shared_B,
        .duration_ns = c->end_ns - c->begin_ns,
        .name = c->kernel,
    };
}

void metrics_add(const struct heddle_counted *launch, double *values)
{
    const struct kernel_launch l = launch_of(launch);
    double own[METRICS_MAX];

    launch_values(&l, own);
    for (size_t m = 0; m < metrics_count; m++)
        if (metrics[m].kind == METRIC_TOTAL)
            values[m] += own[m];
    for (uint32_t i = 0; i < launch->ninstrs; i++) {
        metrics_of_instr(&launch->instrs[i], own);
        for (size_t m = 0; m < metrics_count; m++)
            values[m] += own[m];
    }
}
