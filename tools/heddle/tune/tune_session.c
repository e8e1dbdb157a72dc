/* See tune_tool.h: each run measures the next point of every kernel at once. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "common/cli.h"
#include "tune/tune_tool.h"

/* ---- kernels */

static bool add_kernel(struct tune_session *s, const struct tune_kernel *kernel)
{
    struct tune_found found = {.kernel = (size_t)(kernel - s->base.kernels.at),
                               .is_pinned = kernel->is_chosen && !s->args->again,
                               .best = kernel->chosen};
    enum tune_target target;
    bool is_wanted = tune_device_target(hd_str_from(kernel->device), &target) &&
                     target == s->evaluator->target &&
                     (!s->args->kernel || !strcmp(s->args->kernel, kernel->name));

    if (!is_wanted || hd_vec_push(&s->found, found))
        return true;
    cli_error("no memory");
    return false;
}

/* The kernels of the program, as the last run had them. */
static bool find_kernels(struct tune_session *s)
{
    size_t unmeasured = 0;
    bool good = true;

    for (size_t i = 0; i < s->measured.kernels.len && good; i++) {
        const struct tune_kernel *k = &s->measured.kernels.at[i];

        unmeasured += !k->measures.len;
        if (k->measures.len)
            good = add_kernel(s, tune_base_find(&s->base, k->device, k->name, k->hash));
    }
    if (unmeasured)
        cli_note("%zu kernels have no costs: they were not launched, or several have one name",
                 unmeasured);
    if (good && !s->found.len)
        cli_error("no kernel was measured by %s%s%s", s->evaluator->name,
                  s->args->kernel ? ": is there one of the name " : "",
                  s->args->kernel ? s->args->kernel : "");
    return good && s->found.len;
}

static struct tune_kernel *kernel_of(const struct tune_session *s, const struct tune_found *found)
{
    assert(found->kernel < s->base.kernels.len);
    return &s->base.kernels.at[found->kernel];
}

/* Puts the point into the base of what is tried. */
static bool choose(struct tune_base *chosen, const struct tune_kernel *kernel,
                   const struct tune_point *point)
{
    struct tune_kernel *k =
        tune_base_add(chosen, hd_str_from(kernel->device), hd_str_from(kernel->name), kernel->hash);

    if (k) {
        k->chosen = *point;
        k->is_chosen = true;
    }
    return k != NULL;
}

/* ---- the search */

/* What the last run measured of a point; false: nothing. */
static bool last_cost(const struct tune_session *s, const struct tune_found *found,
                      const struct tune_point *point, uint64_t *out_cost)
{
    const struct tune_kernel *k = kernel_of(s, found);
    const struct tune_kernel *last = tune_base_find(&s->measured, k->device, k->name, k->hash);
    unsigned runs;

    return last && tune_median(last, s->args->goal.evaluator, point, out_cost, &runs);
}

/* The longest search may still want each value of each parameter once. */
static void show_progress(const struct tune_session *s, size_t open)
{
    unsigned left = 0;

    for (size_t i = 0; i < s->found.len; i++) {
        const struct tune_found *f = &s->found.at[i];
        unsigned points = 1;

        for (unsigned p = 0; p < TUNE_PARAMETERS; p++)
            if (tune_set_has(&kernel_of(s, f)->applies, p))
                points += tune_values((enum tune_parameter)p) - 1;
        points = HD_MIN(points, s->args->goal.points);
        if (!f->is_over && points > f->points)
            left = HD_MAX(left, points - f->points);
    }
    cli_progress("run %u: %zu of %zu kernels are searched, about %.0f s left", s->runs + 1,
                 s->found.len - open, s->found.len, left * s->seconds / HD_MAX(s->runs, 1u));
}

/* The next point of each kernel whose search goes on; *out_open: how many. */
static bool next_points(struct tune_session *s, struct tune_base *tried, size_t *out_open)
{
    const struct tune_args *args = s->args;
    bool good = true;

    assert(args->strategy && args->goal.runs && args->goal.points);
    *out_open = 0;
    for (size_t i = 0; i < s->found.len; i++) {
        struct tune_found *f = &s->found.at[i];
        struct tune_point point;
        uint64_t cost;

        f->is_lost |= f->points && !f->is_over && !last_cost(s, f, &f->best, &cost);
        if (f->is_lost)
            f->best = (struct tune_point){0};
        f->is_over |= f->is_pinned || f->is_lost;
        if (f->is_over) {
            good = good && choose(tried, kernel_of(s, f), &f->best);
            continue;
        }
        f->is_over = !args->strategy->next(kernel_of(s, f), &args->goal, &point, &f->points);
        f->best = point; /* the best, or the next: it is measured now */
        *out_open += !f->is_over;
        good = good && choose(tried, kernel_of(s, f), &point);
    }
    return good;
}

static bool search(struct tune_session *s)
{
    const struct tune_args *args = s->args;
    bool good = true, is_over = false;

    while (good && !is_over) {
        struct tune_base points;
        size_t open;

        tune_base_init(&points);
        good = next_points(s, &points, &open);
        is_over = !open || (args->budget_s > 0 && s->seconds > args->budget_s);
        if (is_over && open)
            cli_note("the time is over: %zu kernels are left as they are", open);
        if (good && !is_over) {
            show_progress(s, open);
            good = tune_run(s, &points);
        }
        tune_base_fini(&points);
    }
    return good;
}

/* ---- the choice */

static const struct tune_point none_chosen;

/* By medians of what was measured from there on; where runs differ also run by run. */
static bool is_better(struct tune_session *s, struct tune_found *f, size_t from)
{
    const struct tune_goal *goal = &s->args->goal;
    const struct tune_kernel *k = kernel_of(s, f);
    struct tune_kernel recent = {
        .measures = {.at = k->measures.at + from, .len = k->measures.len - from}};
    unsigned runs;

    assert(from <= k->measures.len);
    f->has_costs = tune_median(&recent, goal->evaluator, &none_chosen, &f->before, &runs) &&
                   tune_median(&recent, goal->evaluator, &f->best, &f->after, &runs);
    return f->has_costs && 4 * f->better >= 3 * f->pairs &&
           (double)f->after < (double)f->before * (1 - goal->margin);
}

/* A run without, then one with what seemed best: noise that lasts longer than both meets both. */
static bool run_pair(struct tune_session *s, const struct tune_base *points)
{
    static const struct tune_base none;

    if (!tune_run(s, &none))
        return false;
    for (size_t i = 0; i < s->found.len; i++)
        if (!last_cost(s, &s->found.at[i], &none_chosen, &s->found.at[i].last))
            s->found.at[i].last = 0;
    if (!tune_run(s, points))
        return false;
    for (size_t i = 0; i < s->found.len; i++) {
        struct tune_found *f = &s->found.at[i];
        uint64_t cost;

        f->pairs++;
        f->better += last_cost(s, f, &f->best, &cost) && cost < f->last;
    }
    return true;
}

static bool confirm(struct tune_session *s)
{
    unsigned pairs = 2 * s->args->goal.runs;
    struct tune_base points;
    bool good = true;

    tune_base_init(&points);
    for (size_t i = 0; i < s->found.len; i++)
        good = good && choose(&points, kernel_of(s, &s->found.at[i]), &s->found.at[i].best);
    for (unsigned i = 0; i < pairs && good; i++) {
        cli_progress("run %u: the choice is measured beside the code as it was, %u of %u",
                     s->runs + 1, i + 1, pairs);
        good = run_pair(s, &points);
    }
    tune_base_fini(&points);
    return good;
}

static bool write_choice(struct tune_session *s)
{
    struct tune_base chosen;
    enum hd_status status = HD_OK;
    bool good = true;

    tune_base_init(&chosen);
    for (size_t i = 0; i < s->found.len; i++)
        if (!s->found.at[i].is_pinned && s->found.at[i].is_over && !s->found.at[i].is_lost)
            good = good && choose(&chosen, kernel_of(s, &s->found.at[i]), &s->found.at[i].best);
    if (good)
        status = tune_base_write(&chosen, s->args->file);
    tune_base_fini(&chosen);
    if (!good || status != HD_OK)
        cli_error("%s", good ? hd_error_message() : "no memory");
    return good && status == HD_OK;
}

static bool decide(struct tune_session *s)
{
    assert(s->evaluator == tune_evaluator(s->args->goal.evaluator));
    HD_AUTOFREE size_t *from = hd_alloc_array(s->found.len + 1, sizeof(*from));
    bool repeated = s->evaluator->kind == TUNE_REPEATED, any = false;

    if (!from)
        return false;
    for (size_t i = 0; i < s->found.len; i++) {
        if (!s->found.at[i].is_over)
            s->found.at[i].best = (struct tune_point){0};
        from[i] = repeated ? kernel_of(s, &s->found.at[i])->measures.len : 0;
        any |= !tune_is_auto(&s->found.at[i].best);
    }
    if (repeated && any && !confirm(s))
        return false;
    for (size_t i = 0; i < s->found.len; i++) {
        struct tune_found *f = &s->found.at[i];

        if (!is_better(s, f, repeated && any ? from[i] : 0) && !f->is_pinned)
            f->best = (struct tune_point){0};
        if (tune_is_auto(&f->best))
            f->after = f->before;
    }
    return write_choice(s);
}

int tune_session_run(struct tune_session *s)
{
    static const struct tune_base none;
    enum hd_status status = tune_base_read(s->args->file, &s->base);
    bool good = status == HD_OK || status == HD_NOT_FOUND;

    if (status != HD_OK)
        tune_base_init(&s->base);
    if (!good)
        cli_error("%s", hd_error_message());
    cli_progress("run 1: which kernels there are");
    good = good && tune_run_prepare(s) && tune_run(s, &none) && find_kernels(s) && search(s) &&
           decide(s);
    cli_progress_end();
    return good && tune_show(s) ? CLI_OK : CLI_FAILED;
}

/* ---- on what is stored */

bool tune_session_replay(struct tune_session *s)
{
    const struct tune_args *args = s->args;

    if (tune_base_read(args->file, &s->base) != HD_OK) {
        tune_base_init(&s->base);
        cli_error("%s", hd_error_message());
        return false;
    }
    for (size_t i = 0; i < s->base.kernels.len; i++)
        if (!add_kernel(s, &s->base.kernels.at[i]))
            return false;
    for (size_t i = 0; i < s->found.len; i++) {
        struct tune_found *f = &s->found.at[i];

        f->is_pinned = false;
        f->is_over = !args->strategy->next(kernel_of(s, f), &args->goal, &f->best, &f->points);
        (void)is_better(s, f, 0);
    }
    return true;
}

void tune_session_fini(struct tune_session *s)
{
    tune_base_fini(&s->base);
    tune_base_fini(&s->measured);
    hd_vec_fini(&s->found);
}
