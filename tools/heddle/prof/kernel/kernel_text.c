/* Kernel counters as text for people: a table for each section, or with --page raw a list. */
#include "prof/kernel/kernel_show.h"

#include <assert.h>
#include <string.h>

#include "prof/prof_db.h"

static const char rule[] = "---------------------------------------- --------------- "
                           "--------------------";
static const char rule_of_group[] = " -------------------- --------------------";

void kernel_text_launch(const struct show *s, const struct shown *l)
{
    fprintf(s->out, "  %s (%lld, %lld, %lld)x(%lld, %lld, %lld), ", l->name, (long long)l->grid[0],
            (long long)l->grid[1], (long long)l->grid[2], (long long)l->block[0],
            (long long)l->block[1], (long long)l->block[2]);
    if (l->count > 1)
        fprintf(s->out, "%zu launches, ", l->count);
    if (l->contexts > 1)
        fprintf(s->out, "%zu contexts, ", l->contexts);
    else
        fprintf(s->out, "Context %lld, ", (long long)l->context);
    if (l->streams > 1)
        fprintf(s->out, "%zu streams, ", l->streams);
    else
        fprintf(s->out, "Stream %lld, ", (long long)l->stream);
    fprintf(s->out, "Device %lld, CC %s\n", (long long)l->device, s->cc);
}

/* Of a group the median, and between what the values lie, where they differ. */
static void text_metric(const struct show *s, const struct shown *launch, size_t m,
                        const char *name)
{
    char value[64];

    assert(m < metrics_count && launch->count);
    kernel_put_value(value, launch, m, true);
    fprintf(s->out, "    %-40s %15s %20s", name, metrics[m].unit, value);
    if (launch->has[m] && report_spread_differs(&launch->spreads[m])) {
        kernel_put_number(value, launch->spreads[m].min, true);
        fprintf(s->out, " %20s", value);
        kernel_put_number(value, launch->spreads[m].max, true);
        fprintf(s->out, " %20s", value);
    }
    fputc('\n', s->out);
}

static void text_rule(const struct show *s, const struct shown *launch)
{
    fprintf(s->out, "    %s%s\n", rule, launch->count > 1 ? rule_of_group : "");
}

static bool text_is_missing(const struct show *s, const struct shown *launch, size_t m)
{
    return !launch->has[m] && kernel_is_wanted(s->view, &metrics[m]) &&
           (s->view->page == PROF_KERNEL_DETAILS || metrics[m].kind != METRIC_NEVER);
}

/* The metrics from `first` on that have no value for that reason. */
static void text_reason(const struct show *s, const struct shown *launch, size_t first,
                        const char *reason)
{
    char other[KERNEL_REASON_B];

    for (size_t m = first; m < metrics_count; m++) {
        if (!text_is_missing(s, launch, m))
            continue;
        kernel_reason_of(other, launch, m);
        if (!strcmp(other, reason))
            fprintf(s->out, "%s%s", m == first ? "" : ", ",
                    s->view->page == PROF_KERNEL_RAW ? metrics[m].name : metrics[m].label);
    }
}

static void text_missing(const struct show *s, const struct shown *launch)
{
    char reason[KERNEL_REASON_B], other[KERNEL_REASON_B];

    for (size_t m = 0; m < metrics_count; m++) {
        bool was_reported = false;
        if (!text_is_missing(s, launch, m))
            continue;
        kernel_reason_of(reason, launch, m);
        for (size_t i = 0; i < m && !was_reported; i++) {
            if (!text_is_missing(s, launch, i))
                continue;
            kernel_reason_of(other, launch, i);
            was_reported = !strcmp(other, reason);
        }
        if (was_reported)
            continue;
        fprintf(s->out, "    n/a (%s): ", reason);
        text_reason(s, launch, m, reason);
        fputc('\n', s->out);
    }
}

/* In lines of so many columns. */
static void text_note(struct show *s, const struct shown *launch, int section, const char *text)
{
    (void)launch, (void)section;
    for (const char *lead = "    INF "; *text; lead = "        ") {
        size_t n = strlen(text), room = strlen(rule) - 4;
        while (n > room) {
            const char *blank = memrchr(text, ' ', n);
            n = blank && blank > text ? (size_t)(blank - text) : room;
        }
        assert(n && n <= strlen(text)); /* or the loop does not end */
        fprintf(s->out, "%s%.*s\n", lead, (int)n, text);
        text += n;
        text += *text == ' ';
    }
}

static void text_head(const struct show *s, const struct shown *launch)
{
    bool is_group = launch->count > 1;

    text_rule(s, launch);
    fprintf(s->out, "    %-40s %15s %20s", "Metric Name", "Metric Unit",
            is_group ? "Median" : "Metric Value");
    if (is_group)
        fprintf(s->out, " %20s %20s", "Minimum", "Maximum");
    fputc('\n', s->out);
    text_rule(s, launch);
}

/* Nothing was counted of it, in no launch of the group. */
static bool text_is_zero(const struct show *s, const struct shown *launch, size_t m)
{
    return launch->has[m] && launch->values[m] == 0 && !kernel_is_named(s->view, &metrics[m]) &&
           !report_spread_differs(&launch->spreads[m]);
}

void kernel_text_details(struct show *s, const struct shown *launch)
{
    char label[96];

    kernel_text_launch(s, launch);
    for (int section = 0; section < SECTION_COUNT; section++) {
        bool is_wanted = false, has_head = false;
        size_t zeros = 0;
        for (size_t m = 0; m < metrics_count; m++) {
            if ((int)metrics[m].section != section || !kernel_is_wanted(s->view, &metrics[m]))
                continue;
            if (!is_wanted)
                fprintf(s->out, "    Section: %s\n", metric_section_titles[section]);
            is_wanted = true;
            if (text_is_zero(s, launch, m)) {
                zeros++;
                continue;
            }
            if (!has_head)
                text_head(s, launch);
            has_head = true;
            text_metric(s, launch, m, kernel_label_of(launch, &metrics[m], label));
        }
        if (!is_wanted)
            continue;
        if (has_head)
            text_rule(s, launch);
        if (zeros)
            fprintf(s->out, "    %zu %sare 0\n", zeros, has_head ? "more " : "");
        kernel_notes_report(s, launch, section, text_note);
        fputc('\n', s->out);
    }
    text_missing(s, launch);
    fputc('\n', s->out);
}

void kernel_text_raw(const struct show *s, const struct shown *launch)
{
    kernel_text_launch(s, launch);
    if (launch->count > 1)
        text_head(s, launch);
    for (size_t m = 0; m < metrics_count; m++)
        if (kernel_is_wanted(s->view, &metrics[m]) && metrics[m].kind != METRIC_NEVER)
            text_metric(s, launch, m, metrics[m].name);
    text_missing(s, launch);
    fputc('\n', s->out);
}

/* What a reader has to know of all that follows. */
void kernel_text_hints(const struct show *s, bool is_grouped)
{
    bool is_ptx =
        !prof_db_has_rows(s->db,
                          "SELECT 1 FROM HEDDLE_SOURCE_METRICS WHERE file NOT IN (?, '') LIMIT 1",
                          "ptx") &&
        prof_db_has_rows(s->db, "SELECT 1 FROM HEDDLE_SOURCE_METRICS WHERE ? <> '' LIMIT 1", "ptx");

    if (is_grouped)
        fputs("Launches of a kernel with the same grid, block and settings are shown together: "
              "medians, and\nleast and greatest values where they differ. --print-summary none "
              "shows each.\n",
              s->out);
    if (is_ptx)
        fputs("Places are lines of the PTX: with -lineinfo (nvcc, heddle cc) they are those of the "
              "source.\n",
              s->out);
    if (s->view->page == PROF_KERNEL_DETAILS)
        fputs("Metrics that are 0 in a launch are only counted: --page raw lists them.\n", s->out);
    if (is_grouped || is_ptx || s->view->page == PROF_KERNEL_DETAILS)
        fputc('\n', s->out);
}
