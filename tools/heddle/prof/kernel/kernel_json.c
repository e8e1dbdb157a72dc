/* Kernel counters as JSON: an object for each launch. */
#include "prof/kernel/kernel_show.h"

#include <assert.h>

static void json_note(struct show *s, const struct shown *launch, int section, const char *text)
{
    (void)launch;
    assert(section >= 0 && section < SECTION_COUNT);
    hd_json_open(&s->json, NULL, '{');
    hd_json_str(&s->json, "section", metric_section_names[section]);
    hd_json_str(&s->json, "text", text);
    hd_json_close(&s->json, '}');
}

void kernel_json_launch(struct show *s, const struct shown *l, bool is_source)
{
    struct hd_json *j = &s->json;
    char reason[KERNEL_REASON_B];

    assert(s->view->format == PROF_JSON && l->count == 1); /* groups are for people */
    hd_json_open(j, NULL, '{');
    hd_json_i64(j, "id", l->id);
    hd_json_i64(j, "process", l->pid);
    hd_json_str(j, "kernel", l->name);
    hd_json_i64(j, "context", l->context);
    hd_json_i64(j, "stream", l->stream);
    hd_json_i64(j, "device", l->device);
    hd_json_open(j, "grid", '[');
    for (int i = 0; i < 3; i++)
        hd_json_i64(j, NULL, l->grid[i]);
    hd_json_close(j, ']');
    hd_json_open(j, "block", '[');
    for (int i = 0; i < 3; i++)
        hd_json_i64(j, NULL, l->block[i]);
    hd_json_close(j, ']');
    if (is_source)
        return;
    hd_json_open(j, "metrics", '{');
    for (size_t m = 0; m < metrics_count; m++)
        if (l->has[m] && kernel_is_wanted(s->view, &metrics[m]))
            hd_json_double(j, metrics[m].name, l->values[m]);
    hd_json_close(j, '}');
    hd_json_open(j, "missing", '{');
    for (size_t m = 0; m < metrics_count; m++) {
        if (l->has[m] || !kernel_is_wanted(s->view, &metrics[m]))
            continue;
        kernel_reason_of(reason, l, m);
        hd_json_str(j, metrics[m].name, reason);
    }
    hd_json_close(j, '}');
    hd_json_open(j, "while_counted", '[');
    for (size_t m = 0; m < metrics_count; m++)
        if (kernel_is_while_counted(l, &metrics[m]) && kernel_is_wanted(s->view, &metrics[m]))
            hd_json_str(j, NULL, metrics[m].name);
    hd_json_close(j, ']');
    hd_json_open(j, "notes", '[');
    kernel_notes_report(s, l, -1, json_note);
    hd_json_close(j, ']');
    hd_json_close(j, '}');
}
