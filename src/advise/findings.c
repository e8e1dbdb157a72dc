/* Findings, and how times and sizes are said in them. */
#include "advise/advise.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define EXAMPLES_MAX 8u
#define MIN_GAIN_NS  INT64_C(20000) /* less is noise, whatever part of a short run it is */

const char *const advise_severity_words[ADVISE_SEVERITY_COUNT] = {
#define X(NAME, word) word,
    ADVISE_SEVERITY_LIST(X)
#undef X
};

const struct advise_rule advise_rules[] = {
#define R(id, function, title, what, remedy) {id, title, what, remedy, function, false},
#define C(id, function, title, what, remedy) {id, title, what, remedy, function, true},
#include "advise/rules.def"
#undef C
#undef R
};
const size_t advise_rule_count = HD_COUNT_OF(advise_rules);

static enum advise_severity severity_of(double gain)
{
    return gain >= 0.2 ? ADVISE_HIGH : gain >= 0.05 ? ADVISE_MEDIUM : ADVISE_LOW;
}

/* Of the steady time, and what the gain adds to it where it is not part of that. */
static double part_of(const struct advise *a, int64_t gain_ns)
{
    int64_t whole = HD_MAX(a->steady_ns, gain_ns);

    return whole > 0 ? (double)gain_ns / (double)whole : 0;
}

bool advise_is_worth(const struct advise *a, int64_t gain_ns)
{
    if (a->min_gain <= 0)
        return gain_ns > 0;
    return gain_ns >= MIN_GAIN_NS && part_of(a, gain_ns) >= a->min_gain;
}

struct advise_finding *advise_find(struct advise *a, const struct advise_rule *rule,
                                   int64_t gain_ns, uint64_t count)
{
    struct advise_finding f = {.rule = rule, .gain_ns = gain_ns, .count = count};

    if (!advise_is_worth(a, gain_ns))
        return NULL;
    f.gain = part_of(a, gain_ns);
    assert(f.gain >= 0 && f.gain <= 1);
    f.severity = severity_of(f.gain);
    if (hd_vec_push(&a->findings, f))
        return &hd_vec_last(&a->findings);
    a->out_of_memory = true;
    return NULL;
}

const char *advise_keep(struct advise *a, const char *name)
{
    char *copy = hd_strdup(name);

    if (copy && hd_vec_push(&a->names, copy))
        return copy;
    hd_free(copy);
    a->out_of_memory = true;
    return NULL;
}

void advise_say(struct advise *a, struct advise_finding *f, const char *fmt, ...)
{
    char text[1024];
    va_list args;

    assert(a->findings.len && f == &hd_vec_last(&a->findings)); /* older ones may have moved */
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    char *copy = hd_strdup(text);
    if (copy && hd_vec_push(&f->evidence, copy))
        return;
    hd_free(copy);
    a->out_of_memory = true;
}

static void add_example(struct advise *a, struct advise_finding *f,
                        const struct advise_example *example)
{
    if (f->examples.len < EXAMPLES_MAX && !hd_vec_push(&f->examples, *example))
        a->out_of_memory = true;
}

void advise_example_call(struct advise *a, struct advise_finding *f, uint32_t index)
{
    assert(index < a->calls.len);
    const struct advise_call *call = &a->calls.at[index];
    struct advise_example example = {"CUPTI_ACTIVITY_KIND_RUNTIME", call->rowid, call->start_ns,
                                     call->end_ns};

    add_example(a, f, &example);
}

void advise_example_work(struct advise *a, struct advise_finding *f, uint32_t index)
{
    static const char *const tables[] = {[ADVISE_KERNEL] = "CUPTI_ACTIVITY_KIND_KERNEL",
                                         [ADVISE_COPY] = "CUPTI_ACTIVITY_KIND_MEMCPY",
                                         [ADVISE_FILL] = "CUPTI_ACTIVITY_KIND_MEMSET"};
    assert(index < a->works.len && a->works.at[index].kind < HD_COUNT_OF(tables));
    const struct advise_work *work = &a->works.at[index];
    struct advise_example example = {tables[work->kind], work->rowid, work->start_ns, work->end_ns};

    add_example(a, f, &example);
}

/* ---- all rules */

static int by_gain(const void *a, const void *b)
{
    const struct advise_finding *x = a, *y = b;

    if (x->gain_ns != y->gain_ns)
        return x->gain_ns > y->gain_ns ? -1 : 1;
    return x->rule < y->rule ? -1 : x->rule > y->rule;
}

enum hd_status advise_judge(struct advise *a)
{
    assert(!a->findings.len);
    HD_TRY(advise_model_init(a));
    if (!a->calls.len) { /* counters without a timeline: their launches are all the time there is */
        a->steady_ns = 0;
        for (size_t i = 0; i < a->counted.len; i++)
            a->steady_ns += a->counted.at[i].time_ns;
        a->span_ns = a->steady_ns;
    }
    for (size_t i = 0; i < advise_rule_count; i++)
        if (advise_rules[i].is_of_counters || !a->is_counted)
            advise_rules[i].find(a, &advise_rules[i]);
    if (a->findings.len)
        qsort(a->findings.at, a->findings.len, sizeof(a->findings.at[0]), by_gain);
    return a->out_of_memory ? hd_error(HD_NO_MEMORY, "%s: out of memory", a->path) : HD_OK;
}

void advise_fini(struct advise *a)
{
    for (size_t i = 0; i < a->names.len; i++)
        hd_free(a->names.at[i]);
    for (size_t i = 0; i < a->findings.len; i++) {
        struct advise_finding *f = &a->findings.at[i];
        for (size_t n = 0; n < f->evidence.len; n++)
            hd_free(f->evidence.at[n]);
        hd_vec_fini(&f->evidence);
        hd_vec_fini(&f->examples);
        hd_free(f->file);
    }
    hd_free(a->base.calls);
    hd_free(a->base.works);
    hd_free(a->trial.calls);
    hd_free(a->trial.works);
    hd_vec_fini(&a->names);
    hd_vec_fini(&a->calls);
    hd_vec_fini(&a->works);
    hd_vec_fini(&a->streams);
    hd_vec_fini(&a->threads);
    hd_vec_fini(&a->processes);
    hd_vec_fini(&a->sms);
    hd_vec_fini(&a->findings);
    for (size_t i = 0; i < a->counted.len; i++)
        hd_free(a->counted.at[i].kernel);
    for (size_t i = 0; i < a->lines.len; i++)
        hd_free(a->lines.at[i].file);
    for (size_t i = 0; i < a->compiled.len; i++)
        hd_free(a->compiled.at[i].kernel);
    hd_vec_fini(&a->counted);
    hd_vec_fini(&a->lines);
    hd_vec_fini(&a->compiled);
}

/* ---- numbers as text */

static char *slot(void)
{
    static char texts[4][32];
    static unsigned next;

    return texts[next++ % HD_COUNT_OF(texts)];
}

const char *advise_time(int64_t ns)
{
    char *text = slot();
    double value = (double)ns;

    if (ns < 1000)
        (void)snprintf(text, 32, "%lld ns", (long long)ns);
    else if (ns < 1000000)
        (void)snprintf(text, 32, "%.1f us", value / 1e3);
    else if (ns < 1000000000)
        (void)snprintf(text, 32, "%.1f ms", value / 1e6);
    else
        (void)snprintf(text, 32, "%.2f s", value / 1e9);
    return text;
}

const char *advise_bytes(double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    char *text = slot();
    size_t unit = 0;

    for (; bytes >= 1024 && unit + 1 < HD_COUNT_OF(units); unit++)
        bytes /= 1024;
    (void)snprintf(text, 32, bytes == (double)(int64_t)bytes ? "%.0f %s" : "%.1f %s", bytes,
                   units[unit]);
    return text;
}
