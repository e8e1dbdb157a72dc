/*
 * Names of metrics as CUPTI has them: a base name, and behind its first dot what is made of it. The
 * names of spec/metrics.def are of that kind, but for a few that have no dot; these take a ".sum".
 */
#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "api/cupti/profiler.h"

#define SUM        ".sum"
#define PER_SECOND ".per_second"

/* Names of each type, and of each metric what follows; made once. */
static struct {
    pthread_once_t once;
    char names[METRICS_MAX][128]; /* base name, by metric */
    const char *bases[CUPTI_METRIC_TYPE__COUNT][METRICS_MAX];
    size_t nbases[CUPTI_METRIC_TYPE__COUNT];
    /* Of the metrics with the base name of this one, which is the first of them. */
    const char *subs[METRICS_MAX][4];
    size_t nsubs[METRICS_MAX];
} all = {.once = PTHREAD_ONCE_INIT};

static bool is_offered(const struct metric *m)
{
    return m->kind == METRIC_SUM || m->kind == METRIC_TOTAL || m->kind == METRIC_RATIO ||
           m->kind == METRIC_RATE;
}

static bool is_counter(const struct metric *m)
{
    return m->kind == METRIC_SUM || m->kind == METRIC_TOTAL;
}

CUpti_MetricType cupti_metric_type(const struct metric *metric)
{
    return metric->kind == METRIC_RATIO ? CUPTI_METRIC_TYPE_RATIO : CUPTI_METRIC_TYPE_COUNTER;
}

static size_t base_length(const char *name)
{
    return strcspn(name, ".");
}

static bool same_base(const char *a, const char *b)
{
    return base_length(a) == base_length(b) && !memcmp(a, b, base_length(a));
}

/* ---- lists */

static size_t first_of(const char *name)
{
    size_t m = 0;

    while (m < metrics_count && (!is_offered(&metrics[m]) || !same_base(metrics[m].name, name)))
        m++;
    return m;
}

static void sub_add(size_t first, const char *sub)
{
    for (size_t i = 0; i < all.nsubs[first]; i++)
        if (!strcmp(all.subs[first][i], sub))
            return;
    assert(all.nsubs[first] < HD_COUNT_OF(all.subs[0]));
    all.subs[first][all.nsubs[first]++] = sub;
}

static void lists_make(void)
{
    for (size_t m = 0; m < metrics_count; m++)
        if (is_offered(&metrics[m])) {
            const struct metric *metric = &metrics[m];
            const size_t len = base_length(metric->name), first = first_of(metric->name);
            CUpti_MetricType type = cupti_metric_type(metric);

            assert(first <= m && len < sizeof(all.names[m]));
            if (first == m) {
                (void)snprintf(all.names[m], sizeof(all.names[m]), "%.*s", (int)len, metric->name);
                all.bases[type][all.nbases[type]++] = all.names[m];
            }
            sub_add(first, metric->name[len] ? metric->name + len : SUM);
            if (is_counter(metric))
                sub_add(first, SUM PER_SECOND);
        }
}

const char **cupti_base_metrics(CUpti_MetricType type, size_t *out_count)
{
    pthread_once(&all.once, lists_make);
    *out_count = all.nbases[type];
    return all.bases[type];
}

const struct metric *cupti_metric_by_base(const char *name)
{
    size_t first = first_of(name);

    return first < metrics_count ? &metrics[first] : NULL;
}

const char **cupti_sub_metrics(const char *name, CUpti_MetricType type, size_t *out_count)
{
    const struct metric *metric = cupti_metric_by_base(name);

    pthread_once(&all.once, lists_make);
    if (!metric || cupti_metric_type(metric) != type)
        return NULL;
    *out_count = all.nsubs[metric - metrics];
    return all.subs[metric - metrics];
}

/* ---- values */

static bool ends_with(const char *name, size_t len, const char *end)
{
    return len > strlen(end) && !memcmp(name + len - strlen(end), end, strlen(end));
}

/* The counter of that name, which may be one without a dot in the table. */
static const struct metric *counter_find(const char *name, size_t len)
{
    const struct metric *m = metric_find(name, len);

    if (!m && ends_with(name, len, SUM) && !memchr(name, '.', len - strlen(SUM)))
        m = metric_find(name, len - strlen(SUM));
    return m && is_counter(m) ? m : NULL;
}

bool cupti_value_find(const char *name, struct cupti_value *out_value)
{
    const size_t len = name ? strlen(name) : 0;
    const struct metric *m = name ? metric_find(name, len) : NULL;

    *out_value = (struct cupti_value){.metric = m && is_offered(m) ? m : NULL};
    if (!out_value->metric && name)
        out_value->metric = counter_find(name, len);
    if (!out_value->metric && name && ends_with(name, len, PER_SECOND)) {
        out_value->metric = counter_find(name, len - strlen(PER_SECOND));
        out_value->per_second = true;
    }
    return out_value->metric != NULL;
}

static void column_add(const char *name, struct cupti_columns *columns)
{
    const struct metric *named = metric_find(name, strlen(name));
    const uint16_t metric = (uint16_t)(named - metrics);
    uint32_t at = 0;

    assert(named); /* spec/metrics.def names what it has */
    while (at < columns->count && columns->metric[at] < metric)
        at++;
    if (at < columns->count && columns->metric[at] == metric)
        return;
    assert(columns->count < METRICS_MAX);
    memmove(&columns->metric[at + 1], &columns->metric[at],
            (columns->count - at) * sizeof(columns->metric[0]));
    columns->metric[at] = metric;
    columns->count++;
}

void cupti_value_columns(const struct cupti_value *value, struct cupti_columns *columns)
{
    const struct metric *m = value->metric;

    assert(m && is_offered(m));
    if (is_counter(m))
        column_add(m->name, columns);
    if (m->numerator)
        column_add(m->numerator, columns);
    if (m->denominator)
        column_add(m->denominator, columns);
}

double cupti_value_of(const struct cupti_value *value, const double *values, uint64_t duration_ns)
{
    const double seconds = (double)duration_ns / 1e9;
    double out = NAN;

    assert(value->metric && (!value->per_second || is_counter(value->metric)));
    if (!is_counter(value->metric))
        return metric_derive(value->metric, values, seconds, &out) ? out : NAN;
    out = values[value->metric - metrics];
    if (value->per_second)
        out = seconds > 0 ? out / seconds : NAN;
    return out;
}
