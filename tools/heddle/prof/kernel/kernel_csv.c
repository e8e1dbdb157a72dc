/* Kernel counters as comma-separated values: the columns of Nsight Compute's `--csv`. */
#include "prof/kernel/kernel_show.h"

#include <assert.h>
#include <string.h>

#include "prof/prof_stats.h"

void kernel_csv_cell(FILE *out, bool first, const char *text)
{
    if (!first)
        fputc(',', out);
    prof_csv_quoted(text, out);
}

static void csv_launch(const struct show *s, const struct shown *launch)
{
    char text[96];

    (void)snprintf(text, sizeof(text), "%lld", (long long)launch->id);
    kernel_csv_cell(s->out, true, text);
    (void)snprintf(text, sizeof(text), "%lld", (long long)launch->pid);
    kernel_csv_cell(s->out, false, text);
    kernel_csv_cell(s->out, false, s->process);
    kernel_csv_cell(s->out, false, s->host);
    kernel_csv_cell(s->out, false, launch->name);
    (void)snprintf(text, sizeof(text), "%lld", (long long)launch->context);
    kernel_csv_cell(s->out, false, text);
    (void)snprintf(text, sizeof(text), "%lld", (long long)launch->stream);
    kernel_csv_cell(s->out, false, text);
    (void)snprintf(text, sizeof(text), "(%lld, %lld, %lld)", (long long)launch->block[0],
                   (long long)launch->block[1], (long long)launch->block[2]);
    kernel_csv_cell(s->out, false, text);
    (void)snprintf(text, sizeof(text), "(%lld, %lld, %lld)", (long long)launch->grid[0],
                   (long long)launch->grid[1], (long long)launch->grid[2]);
    kernel_csv_cell(s->out, false, text);
    (void)snprintf(text, sizeof(text), "%lld", (long long)launch->device);
    kernel_csv_cell(s->out, false, text);
    kernel_csv_cell(s->out, false, s->cc);
}

static const char launch_columns[] =
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\","
    "\"Block Size\",\"Grid Size\",\"Device\",\"CC\"";

/* As a rule's: Nsight Compute has rows of these, without a metric. */
static void csv_note(struct show *s, const struct shown *launch, int section, const char *text)
{
    assert(section >= 0 && section < SECTION_COUNT);
    csv_launch(s, launch);
    kernel_csv_cell(s->out, false, metric_section_titles[section]);
    fputs(",\"\",\"\",\"\"", s->out);
    kernel_csv_cell(s->out, false, metric_section_names[section]);
    kernel_csv_cell(s->out, false, "INF");
    kernel_csv_cell(s->out, false, text);
    fputs(",\"\",\"\"\n", s->out);
}

void kernel_csv_details(struct show *s, const struct shown *launch)
{
    char value[64], label[96], reason[KERNEL_REASON_B] = "";

    for (int section = 0; section < SECTION_COUNT; section++)
        for (size_t m = 0; m < metrics_count; m++) {
            if ((int)metrics[m].section != section || !kernel_is_wanted(s->view, &metrics[m]))
                continue;
            csv_launch(s, launch);
            kernel_csv_cell(s->out, false, metric_section_titles[section]);
            kernel_csv_cell(s->out, false, kernel_label_of(launch, &metrics[m], label));
            kernel_csv_cell(s->out, false, metrics[m].unit);
            kernel_put_value(value, launch, m, false);
            kernel_csv_cell(s->out, false, value);
            if (!launch->has[m])
                kernel_reason_of(reason, launch, m);
            fputs(",\"\",\"\"", s->out);
            kernel_csv_cell(s->out, false, launch->has[m] ? "" : reason);
            fputs(",\"\",\"\"\n", s->out);
        }
    kernel_notes_report(s, launch, -1, csv_note);
}

static void csv_raw_head(const struct show *s)
{
    fputs(launch_columns, s->out);
    for (size_t m = 0; m < metrics_count; m++)
        if (kernel_is_wanted(s->view, &metrics[m]))
            kernel_csv_cell(s->out, false, metrics[m].name);
    fputs("\n\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"", s->out);
    for (size_t m = 0; m < metrics_count; m++)
        if (kernel_is_wanted(s->view, &metrics[m]))
            kernel_csv_cell(s->out, false, metrics[m].unit);
    fputc('\n', s->out);
}

void kernel_csv_head(const struct show *s)
{
    assert(s->view->format == PROF_CSV);
    if (s->view->page == PROF_KERNEL_RAW)
        csv_raw_head(s);
    if (s->view->page == PROF_KERNEL_DETAILS)
        fprintf(s->out,
                "%s,\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\","
                "\"Rule Name\",\"Rule Type\",\"Rule Description\",\"Estimated Speedup Type\","
                "\"Estimated Speedup\"\n",
                launch_columns);
}

static void csv_missing(char out[KERNEL_REASON_B + 8], const struct shown *launch, size_t m)
{
    char reason[KERNEL_REASON_B];

    kernel_reason_of(reason, launch, m);
    (void)snprintf(out, KERNEL_REASON_B + 8, "n/a (%s)", reason);
}

void kernel_csv_raw(const struct show *s, const struct shown *launch)
{
    char value[KERNEL_REASON_B + 8];

    csv_launch(s, launch);
    for (size_t m = 0; m < metrics_count; m++) {
        if (!kernel_is_wanted(s->view, &metrics[m]))
            continue;
        kernel_put_value(value, launch, m, false);
        if (!launch->has[m])
            csv_missing(value, launch, m);
        kernel_csv_cell(s->out, false, value);
    }
    fputc('\n', s->out);
}
