/* See tune_tool.h: each run measures the next point of every kernel at once. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "common/cli.h"
#include "tune/tune_tool.h"

/* ---- kernels */

static bool is_wanted(const struct tune_session *s, const struct tune_kernel *kernel)
{
    enum tune_target target;

    return tune_device_target(hd_str_from(kernel->device), &target) &&
           target == s->evaluator->target &&
           (!s->args->kernel || !strcmp(s->args->kernel, kernel->name));
}

static bool add_kernel(struct tune_session *s, const struct tune_kernel *kernel)
{
    struct tune_found found = {.kernel = (size_t)(kernel - s->base.kernels.at),
                               .is_pinned = kernel->is_chosen && !s->args->again,
                               .best = kernel->chosen};

    if (!is_wanted(s, kernel) || hd_vec_push(&s->found, found))
        return true;
    cli_error("no memory");
    return false;
}

/* The kernels of the program, as the last run told them. */
static bool find_kernels(struct tune_session *s)
{
    bool good = true;

    for (size_t i = 0; i < s->told.kernels.len && good; i++) {
        const struct tune_kernel *k = &s->told.kernels.at[i];

        if (k->measures.len)
            good = add_kernel(s, tune_base_find(&s->base, k->device, k->name, k->hash));
    }
    if (good && !s->found.len)
        cli_error("no kernel was measured by %s%s%s", s->evaluator->name,
                  s->args->kernel ? ": is there one of the name " : "",
                  s->args->kernel ? s->args->kernel : "");
    return good && s->found.len;
}

static struct tune_kernel *kernel_of(const struct tune_session *s, const struct tune_found *found)
{
    return &s->base.kernels.at[found->kernel];
}

/* Puts the point into the base of what is tried. */
static bool choose(struct tune_base *chosen, const struct tune_kernel *kernel,
                   const struct tune_point *point)
{
    struct tune_kernel *k = tune_base_add(chosen, hd_str_from(kernel->device),
                                          hd_str_from(kernel->name), kernel->hash);

    if (k) {
        k->chosen = *point;
        k->is_chosen = true;
    }
    return k != NULL;
}

/* ---- the search */

/* Has the last run told what its point costs? */
static bool was_told(const struct tune_session *s, const struct tune_found *found)
{
    const struct tune_kernel *k = kernel_of(s, found);
    const struct tune_kernel *told = tune_base_find(&s->told, k->device, k->name, k->hash);
    uint64_t cost;
    unsigned runs;

    return told && tune_median(told, s->args->goal.evaluator, &found->best, &cost, &runs);
}

/* How many points the search may still want: each value of each parameter once. */
static unsigned left_of(const struct tune_session *s, const struct tune_found *found)
{
    unsigned n = 1;

    for (unsigned i = 0; i < TUNE_PARAMETERS; i++)
        if (tune_set_has(&kernel_of(s, found)->applies, i))
            n += tune_values((enum tune_parameter)i) - 1;
    n = HD_MIN(n, s->args->goal.points);
    return n > found->points ? n - found->points : 0;
}

static void show_progress(const struct tune_session *s, size_t open)
{
    unsigned left = 0;

    for (size_t i = 0; i < s->found.len; i++)
        if (!s->found.at[i].is_over)
            left = HD_MAX(left, left_of(s, &s->found.at[i]));
    cli_progress("run %u: %zu of %zu kernels are searched, about %.0f s left", s->runs + 1,
                 s->found.len - open, s->found.len, left * s->seconds / HD_MAX(s->runs, 1u));
}

static bool is_out_of_time(const struct tune_session *s)
{
    return s->args->budget_s > 0 && s->seconds > s->args->budget_s;
}

/* The next point of each kernel whose search goes on; *out_open: how many. */
static bool next_points(struct tune_session *s, struct tune_base *tried, size_t *out_open)
{
    const struct tune_args *args = s->args;
    bool good = true;

    *out_open = 0;
    for (size_t i = 0; i < s->found.len; i++) {
        struct tune_found *f = &s->found.at[i];
        struct tune_point point;

        if (f->is_pinned || f->is_lost)
            f->is_over = true;
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

/* One run. False: it failed. */
static bool search_once(struct tune_session *s, const struct tune_base *tried)
{
    if (!tune_run(s, tried))
        return false;
    for (size_t i = 0; i < s->found.len; i++) {
        struct tune_found *f = &s->found.at[i];

        f->is_lost |= !f->is_over && !was_told(s, f);
        if (f->is_lost)
            f->best = (struct tune_point){0};
    }
    return true;
}

static bool search(struct tune_session *s)
{
    size_t open = 1;
    bool good = true;

    while (good && open) {
        struct tune_base tried;

        tune_base_init(&tried);
        good = next_points(s, &tried, &open);
        if (good && is_out_of_time(s)) {
            for (size_t i = 0; i < s->found.len; i++)
                if (!s->found.at[i].is_over)
                    s->found.at[i].best = (struct tune_point){0};
            cli_note("the time is over: %zu kernels are left as they are", open);
            open = 0;
        }
        if (good && open) {
            show_progress(s, open);
            good = search_once(s, &tried);
        }
        tune_base_fini(&tried);
    }
    return good;
}

/* ---- the choice */

/* Medians of the last measurements of both points, `n` of each. */
static bool compare(struct tune_session *s, struct tune_found *f, size_t from)
{
    const struct tune_kernel *k = kernel_of(s, f);
    struct tune_kernel recent = {.measures = {.at = k->measures.at + from,
                                              .len = k->measures.len - from}};
    static const struct tune_point none;
    unsigned runs;

    f->has_costs =
        tune_median(&recent, s->args->goal.evaluator, &none, &f->before, &runs) &&
        tune_median(&recent, s->args->goal.evaluator, &f->best, &f->after, &runs);
    return f->has_costs && (double)f->after < (double)f->before * (1 - s->args->goal.margin);
}

/* Runs of which every other has the points that seemed best: times of a search are hours apart. */
static bool confirm(struct tune_session *s)
{
    struct tune_base points, none;
    bool good = true;

    tune_base_init(&points);
    tune_base_init(&none);
    for (size_t i = 0; i < s->found.len; i++)
        good = good && choose(&points, kernel_of(s, &s->found.at[i]), &s->found.at[i].best);
    for (unsigned i = 0; i < 2 * s->args->goal.runs && good; i++) {
        cli_progress("run %u: the choice is measured beside the code as it was, %u of %u",
                     s->runs + 1, 2 * i + 1, 4 * s->args->goal.runs);
        good = tune_run(s, &none) && tune_run(s, &points);
    }
    tune_base_fini(&points);
    tune_base_fini(&none);
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
    HD_AUTOFREE size_t *from = hd_alloc_array(s->found.len + 1, sizeof(*from));
    bool repeated = s->evaluator->kind == TUNE_REPEATED, any = false;

    if (!from)
        return false;
    for (size_t i = 0; i < s->found.len; i++) {
        from[i] = repeated ? kernel_of(s, &s->found.at[i])->measures.len : 0;
        any |= !tune_is_auto(&s->found.at[i].best);
    }
    if (repeated && any && !confirm(s))
        return false;
    for (size_t i = 0; i < s->found.len; i++) {
        struct tune_found *f = &s->found.at[i];

        if (!compare(s, f, repeated && any ? from[i] : 0) && !f->is_pinned)
            f->best = (struct tune_point){0};
        if (tune_is_auto(&f->best))
            f->after = f->before;
    }
    return write_choice(s);
}

int tune_session_run(struct tune_session *s)
{
    struct tune_base none;
    enum hd_status status = tune_base_read(s->args->file, &s->base);
    bool good = status == HD_OK || status == HD_NOT_FOUND;

    if (status != HD_OK)
        tune_base_init(&s->base);
    tune_base_init(&none);
    if (!good)
        cli_error("%s", hd_error_message());
    cli_progress("run 1: which kernels there are");
    good = good && tune_run_prepare(s) && tune_run(s, &none) && find_kernels(s) && search(s) &&
           decide(s);
    cli_progress_end();
    tune_base_fini(&none);
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
        f->is_over =
            !args->strategy->next(kernel_of(s, f), &args->goal, &f->best, &f->points);
        (void)compare(s, f, 0);
    }
    return true;
}

void tune_session_fini(struct tune_session *s)
{
    tune_base_fini(&s->base);
    tune_base_fini(&s->told);
    hd_vec_fini(&s->found);
}
