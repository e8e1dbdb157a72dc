/* See tune_tool.h. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/demangle.h"
#include "base/text/json.h"
#include "common/cli.h"
#include "tune/tune_tool.h"

static const struct tune_kernel *kernel_of(const struct tune_session *s,
                                           const struct tune_found *found)
{
    assert(found->kernel < s->base.kernels.len);
    return &s->base.kernels.at[found->kernel];
}

/* ---- what is behind a choice */

static const char *state_of(const struct tune_session *s, const struct tune_found *f)
{
    if (s->args->replay)
        return f->is_over ? "searched" : "not measured on";
    return f->is_lost ? "lost" : f->is_pinned ? "pinned" : f->is_over ? "searched" : "time over";
}

static void show_json(const struct tune_session *s)
{
    struct hd_buf text = {0};
    struct hd_json j;

    hd_json_init(&j);
    hd_json_open(&j, NULL, '{');
    hd_json_str(&j, "file", s->args->file);
    hd_json_str(&j, "evaluator", s->evaluator->name);
    hd_json_str(&j, "unit", s->evaluator->unit);
    hd_json_str(&j, "strategy", s->args->strategy->name);
    hd_json_u64(&j, "runs", s->runs);
    hd_json_open(&j, "kernels", '[');
    for (size_t i = 0; i < s->found.len; i++) {
        const struct tune_found *f = &s->found.at[i];
        const struct tune_kernel *k = kernel_of(s, f);
        char hash[17];

        (void)snprintf(hash, sizeof(hash), "%016" PRIx64, k->hash);
        hd_json_open(&j, NULL, '{');
        hd_json_str(&j, "name", k->name);
        hd_json_str(&j, "device", k->device);
        hd_json_str(&j, "hash", hash);
        hd_json_str(&j, "state", state_of(s, f));
        hd_json_u64(&j, "points", f->points);
        hd_buf_clear(&text);
        tune_point_print(&f->best, &text);
        hd_json_str(&j, f->is_over || !s->args->replay ? "chosen" : "next", text.ptr);
        if (f->has_costs) {
            hd_json_u64(&j, "before", f->before);
            hd_json_u64(&j, "after", f->after);
        }
        hd_json_close(&j, '}');
    }
    hd_json_close(&j, ']');
    hd_json_close(&j, '}');
    (void)hd_json_print(&j);
    hd_buf_fini(&text);
}

static void show_row(const struct tune_session *s, const struct tune_found *f, struct hd_buf *text)
{
    const struct tune_kernel *k = kernel_of(s, f);
    bool is_known = f->has_costs && f->after;

    printf("%6u  ", f->points);
    if (is_known)
        printf("%14" PRIu64 "  %14" PRIu64 "  %6.3f", f->before, f->after,
               (double)f->before / (double)f->after);
    else
        printf("%14s  %14s  %6s", "-", "-", "-");
    hd_buf_clear(text);
    hd_demangle_or_name(k->name, HD_DEMANGLE_SIMPLE, text);
    hd_buf_puts(text, !f->is_over && s->args->replay ? ": next " : ": ");
    tune_point_print(&f->best, text);
    printf("  %-10s  %s\n", state_of(s, f), text->ptr ? text->ptr : k->name);
}

static void show_table(const struct tune_session *s)
{
    uint64_t before = 0, after = 0;
    struct hd_buf text = {0};
    bool any = false;

    printf("%6s  %14s  %14s  %6s  %-10s  kernel: what is chosen\n", "points", "before", "after",
           "ratio", "");
    for (size_t i = 0; i < s->found.len; i++) {
        const struct tune_found *f = &s->found.at[i];

        show_row(s, f, &text);
        before += f->has_costs ? f->before : 0;
        after += f->has_costs ? f->after : 0;
        any |= !tune_is_auto(&f->best);
    }
    assert(!after || before);
    if (after)
        printf("%6s  %14" PRIu64 "  %14" PRIu64 "  %6.3f  all, in %s\n", "", before, after,
               (double)before / (double)after, s->evaluator->unit);
    hd_buf_fini(&text);
    if (s->args->replay)
        return;
    printf("%u runs, %.1f s. %s: HEDDLE_TUNING=%s\n", s->runs, s->seconds,
           any ? "To use what was chosen" : "Nothing is better than the code as it is",
           s->args->file);
}

bool tune_show(const struct tune_session *s)
{
    if (s->args->json)
        show_json(s);
    else
        show_table(s);
    if (!fflush(stdout) && !ferror(stdout))
        return true;
    cli_error("the result cannot be written");
    return false;
}

/* ---- what may be chosen */

static const char *const target_names[TUNE_TARGETS] = {"cpu", "isa"};

static void parameters_json(void)
{
    struct hd_json j;

    hd_json_init(&j);
    hd_json_open(&j, NULL, '{');
    hd_json_open(&j, "parameters", '[');
    for (unsigned i = 0; i < TUNE_PARAMETERS; i++) {
        enum tune_parameter p = (enum tune_parameter)i;

        hd_json_open(&j, NULL, '{');
        hd_json_str(&j, "name", tune_name(p));
        hd_json_str(&j, "device", target_names[tune_target_of(p)]);
        hd_json_open(&j, "values", '[');
        for (unsigned v = 0; v < tune_values(p); v++) {
            char text[16];

            tune_value_text(p, v, text);
            hd_json_str(&j, NULL, text);
        }
        hd_json_close(&j, ']');
        hd_json_close(&j, '}');
    }
    hd_json_close(&j, ']');
    hd_json_open(&j, "evaluators", '[');
    for (unsigned i = 0; i < TUNE_EVALUATORS; i++) {
        const struct tune_evaluator_info *e = tune_evaluator((enum tune_evaluator)i);

        hd_json_open(&j, NULL, '{');
        hd_json_str(&j, "name", e->name);
        hd_json_str(&j, "unit", e->unit);
        hd_json_str(&j, "device", target_names[e->target]);
        hd_json_close(&j, '}');
    }
    hd_json_close(&j, ']');
    hd_json_close(&j, '}');
    (void)hd_json_print(&j);
}

static void parameters_text(void)
{
    for (unsigned i = 0; i < TUNE_PARAMETERS; i++) {
        enum tune_parameter p = (enum tune_parameter)i;

        printf("%-4s %-20s", target_names[tune_target_of(p)], tune_name(p));
        for (unsigned v = 0; v < tune_values(p); v++) {
            char text[16];

            tune_value_text(p, v, text);
            printf(" %s", text);
        }
        putchar('\n');
    }
    for (unsigned i = 0; i < TUNE_EVALUATORS; i++) {
        const struct tune_evaluator_info *e = tune_evaluator((enum tune_evaluator)i);

        printf("%-4s judged by %-12s %s, in %s\n", target_names[e->target], e->name, e->doc,
               e->unit);
    }
}

bool tune_show_parameters(bool as_json)
{
    if (as_json)
        parameters_json();
    else
        parameters_text();
    return !fflush(stdout) && !ferror(stdout);
}
