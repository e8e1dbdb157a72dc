/* Selection: which sections and metrics a page of kernel counters has, by names that users give. */
#include "prof/kernel/kernel_show.h"

#include <assert.h>
#include <string.h>

#include "count/range_filter.h"
#include "prof/prof_db.h"

static bool select_lists(const char *list, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = list; at && *at;) {
        size_t n = strcspn(at, ",");
        if (n == len && !memcmp(at, name, n))
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

bool kernel_is_named(const struct prof_kernel_view *view, const struct metric *metric)
{
    return view->metrics && select_lists(view->metrics, metric->name);
}

bool kernel_is_wanted(const struct prof_kernel_view *view, const struct metric *metric)
{
    assert(metric->section < SECTION_COUNT);
    if (kernel_is_named(view, metric))
        return true;
    if (view->sections)
        return select_lists(view->sections, metric_section_names[metric->section]);
    return !view->metrics && !(view->absent >> metric->section & 1);
}

static bool select_is_section(const char *name, size_t len)
{
    for (int s = 0; s < SECTION_COUNT; s++)
        if (strlen(metric_section_names[s]) == len && !memcmp(metric_section_names[s], name, len))
            return true;
    return false;
}

enum hd_status prof_kernel_check_ranges(const char *text)
{
    struct count_filter filter;

    return count_filter_read(text, strlen(text), &filter);
}

enum hd_status prof_kernel_check(const struct prof_kernel_view *view)
{
    for (const char *at = view->sections; at && *at;) {
        size_t n = strcspn(at, ",");
        if (!select_is_section(at, n))
            return hd_error(HD_BAD_ARG, "there is no section '%.*s' (--list-sections)", (int)n, at);
        at += n + (at[n] == ',');
    }
    for (const char *at = view->metrics; at && *at;) {
        size_t n = strcspn(at, ",");
        if (!metric_find(at, n))
            return hd_error(HD_BAD_ARG, "there is no metric '%.*s' (--query-metrics)", (int)n, at);
        at += n + (at[n] == ',');
    }
    return HD_OK;
}

void prof_kernel_list_sections(FILE *out)
{
    for (int s = 0; s < SECTION_COUNT; s++)
        fprintf(out, "  %-26s %s\n", metric_section_names[s], metric_section_titles[s]);
}

void prof_kernel_list_metrics(FILE *out)
{
    for (size_t m = 0; m < metrics_count; m++)
        if (metrics[m].kind != METRIC_NEVER)
            fprintf(out, "%-72s %-16s %s\n", metrics[m].name, metrics[m].unit, metrics[m].doc);
}

/* Sections that only reports of some runs have. */
unsigned kernel_sections_absent(sqlite3 *db)
{
    static const struct {
        enum metric_section section;
        const char *names;
    } made[] = {{SECTION_SpeedOfLight_RooflineChart, "heddle__roofline_*"},
                {SECTION_HostCounters, "heddle__host_*"}};
    unsigned absent = 0;

    for (size_t i = 0; i < HD_COUNT_OF(made); i++)
        if (!prof_db_has_rows(db, "SELECT 1 FROM HEDDLE_METRICS WHERE name GLOB ? LIMIT 1",
                              made[i].names) &&
            !prof_db_has_rows(db, "SELECT 1 FROM HEDDLE_NOTES WHERE section = ? LIMIT 1",
                              metric_section_names[made[i].section]))
            absent |= 1u << made[i].section;
    return absent;
}
