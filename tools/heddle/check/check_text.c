/* A finding as the lines that compute-sanitizer prints. The prefix is the session's. */
#include "check/check.h"

#include <assert.h>
#include <string.h>

static const char *const severities[] = {
    [SAN_INFO] = "Info", [SAN_WARNING] = "Warning", [SAN_ERROR] = "Error", [SAN_FATAL] = "Fatal"};

_Static_assert((int)SAN_BACKTRACE_YES == ((int)SAN_BACKTRACE_HOST | (int)SAN_BACKTRACE_DEVICE),
               "a set of bits");

static void text_put_file(const struct check_options *options, const struct check_srcloc *srcloc,
                          struct hd_buf *out)
{
    if (srcloc->file[0])
        hd_buf_printf(out, " in %s:%u", check_path(options, srcloc->file), srcloc->line);
}

void check_text_srcloc(const struct check_options *options, const struct check_actor *actor,
                       struct hd_buf *out)
{
    const struct check_srcloc *srcloc = &actor->srclocs[0];

    hd_buf_printf(out, "%s+0x%llx", check_demangle(srcloc->func, options->demangle),
                  (unsigned long long)actor->pc);
    text_put_file(options, srcloc, out);
}

/* "(0,0,0)" */
static void text_put_index(const struct check_options *options, const uint32_t at[3],
                           struct hd_buf *out)
{
    uint32_t first = options->language; /* Fortran counts from 1 */

    hd_buf_printf(out, "(%u,%u,%u)", at[0] + first, at[1] + first, at[2] + first);
}

/* Where the function with the instruction was called, and so on. */
static void text_put_callers(const struct check_options *options, const struct check_actor *actor,
                             struct hd_buf *out)
{
    size_t most = options->num_callers_device ? options->num_callers_device : SIZE_MAX;

    if (!(options->san.show_backtrace & SAN_BACKTRACE_DEVICE))
        return;
    for (size_t i = 1; i < actor->nplaces && i <= most; i++) {
        const struct check_srcloc *srcloc = &actor->srclocs[i];
        hd_buf_printf(out, "        Device Frame: %s",
                      check_demangle(srcloc->func, options->demangle));
        text_put_file(options, srcloc, out);
        hd_buf_putc(out, '\n');
    }
}

static void text_put_stack(const struct check_options *options, const struct check_stack *stack,
                           const char *when, struct hd_buf *out)
{
    size_t n =
        (options->san.show_backtrace & SAN_BACKTRACE_HOST) ? check_stack_shown(options, stack) : 0;

    if (n)
        hd_buf_printf(out, "    Saved host backtrace up to driver entry point at %s\n", when);
    for (size_t i = 0; i < n; i++) {
        const struct check_frame *frame = &stack->frames[i];
        const char *func = check_frame_func(frame);
        if (check_frame_is_hidden(options, frame))
            continue;
        hd_buf_printf(out, "        Host Frame: %s%s[0x%llx]%s%s\n",
                      check_demangle(func, options->demangle), func[0] ? " " : "",
                      (unsigned long long)frame->pc, frame->module[0] ? " in " : "",
                      check_path(options, frame->module));
    }
}

/* ---- what a group has in common */

void check_text_range(const struct check_options *options, const uint32_t range[2][3],
                      struct hd_buf *out)
{
    uint32_t from = options->language; /* Fortran counts from 1 */

    for (int i = 0; i < 3; i++) {
        assert(range[0][i] <= range[1][i]);
        hd_buf_printf(out, "%c%u", i ? ',' : '(', range[0][i] + from);
        if (range[0][i] < range[1][i])
            hd_buf_printf(out, "-%u", range[1][i] + from);
    }
    hd_buf_putc(out, ')');
}

static bool text_is_range(const uint32_t range[2][3])
{
    return memcmp(range[0], range[1], sizeof(range[0])) != 0;
}

/* A race is between two places, whichever threads they were of. */
static bool text_is_between(const struct check_finding *f)
{
    size_t len = strlen(f->title);

    return f->nactors + f->nsides == 2 && len > 8 && strcmp(f->title + len - 8, " between") == 0;
}

/* Of a launch there is one of its places, whichever and how many threads met there. */
static bool text_is_of_launch(const struct check_finding *f)
{
    return text_is_between(f) || strcmp(f->tool, "schedcheck") == 0;
}

void check_text_times(const struct check_options *options, const struct check_group *group,
                      struct hd_buf *out)
{
    const struct check_finding *f = group->first;
    const struct san_extent *e = &group->extent;
    uint64_t times = text_is_of_launch(f) ? group->findings : group->count;

    assert(group->causes);
    if (times < 2)
        return;
    hd_buf_printf(out, "%llu times", (unsigned long long)times);
    if (group->causes > 1)
        hd_buf_printf(out, ", by %llu instructions of %s", (unsigned long long)group->causes,
                      text_is_between(f) ? "these lines" : "the line");
    /* Of a finding that stands for several threads only the first is known. */
    bool by_thread = e->has_threads && !text_is_of_launch(f) && group->count == group->findings;
    if (by_thread && (text_is_range(e->thread) || text_is_range(e->block))) {
        /* The box may have threads that did nothing wrong. */
        bool some = san_extent_threads(e) > group->findings * f->nactors;
        hd_buf_printf(out, ", by %sthread%s ", some ? "some of " : "",
                      text_is_range(e->thread) ? "s" : "");
        check_text_range(options, e->thread, out);
        hd_buf_puts(out, text_is_range(e->block) ? " in blocks " : " in block ");
        check_text_range(options, e->block, out);
    } else if (e->has_threads && !text_is_of_launch(f) && text_is_range(e->block)) {
        hd_buf_puts(out, ", in blocks ");
        check_text_range(options, e->block, out);
    }
    if (e->has_launches && e->launch[0] < e->launch[1])
        hd_buf_printf(out, ", in launches %llu to %llu", (unsigned long long)e->launch[0],
                      (unsigned long long)e->launch[1]);
    if (check_is_leak(f))
        hd_buf_printf(out, ", %llu bytes together", (unsigned long long)e->size_B);
}

void check_text_addresses(const struct check_group *group, struct hd_buf *out)
{
    const struct san_extent *e = &group->extent;
    uint64_t low = UINT64_MAX, high = 0;

    if (!e->has_addresses || e->address[0] == e->address[1])
        return;
    if (group->naddresses < 2) {
        hd_buf_printf(out, "0x%llx to 0x%llx", (unsigned long long)e->address[0],
                      (unsigned long long)e->address[1]);
        return;
    }
    for (size_t i = 0; i < group->naddresses; i++) {
        hd_buf_printf(out, "%s0x%llx", i ? ", " : "", (unsigned long long)group->addresses[i]);
        low = HD_MIN(low, group->addresses[i]);
        high = HD_MAX(high, group->addresses[i]);
    }
    if (low > e->address[0] || high < e->address[1])
        hd_buf_printf(out, ", all from 0x%llx to 0x%llx", (unsigned long long)e->address[0],
                      (unsigned long long)e->address[1]);
}

static void text_put_details(const struct check_options *options, const struct check_finding *f,
                             const struct check_group *group, struct hd_buf *out)
{
    struct hd_buf line = {0};

    assert(f->ndetails <= SAN_DETAILS_MAX);
    for (size_t i = 0; i < f->ndetails; i++)
        hd_buf_printf(out, "    %s\n", f->details[i]);
    if (!group)
        return;
    check_text_times(options, group, &line);
    if (line.len)
        hd_buf_printf(out, "    %s\n", line.ptr);
    hd_buf_clear(&line);
    check_text_addresses(group, &line);
    if (line.len)
        hd_buf_printf(out, "    at %s\n", line.ptr);
    hd_buf_fini(&line);
}

/* ---- kinds of findings */

/* "Write access at K+0x90 in f.cu:41", "Read access by cudaMemcpyAsync" */
static void text_put_side(const struct check_options *options, const struct check_finding *f,
                          size_t i, struct hd_buf *out)
{
    if (i < f->nactors) {
        hd_buf_printf(out, "%s at ", f->actors[i].verb);
        check_text_srcloc(options, &f->actors[i], out);
        return;
    }
    i -= f->nactors;
    hd_buf_printf(out, "%s by %s", f->sides[i].verb, f->sides[i].name);
}

/*
 * "Race reported between Write access at K+0x90 in f.cu:41", "and Read access at .. [508 hazards]"
 */
static void text_put_race(const struct check_options *options, const struct check_finding *f,
                          const struct check_group *group, struct hd_buf *out)
{
    size_t n = f->nactors + f->nsides;
    uint64_t hazards = group ? group->count : f->count;

    hd_buf_printf(out, "%s: %s ", severities[f->severity], f->title);
    for (size_t i = 0; i < n; i++) {
        hd_buf_puts(out, i ? "    and " : "");
        text_put_side(options, f, i, out);
        if (i + 1 == n)
            hd_buf_printf(out, " [%llu hazard%s]", (unsigned long long)hazards,
                          hazards == 1 ? "" : "s");
        hd_buf_putc(out, '\n');
    }
    text_put_details(options, f, group, out);
}

/* "Potential WAW hazard ..:", "Write Thread (0,0,0) at K+0x90 in f.cu:20" */
static void text_put_hazard(const struct check_options *options, const struct check_finding *f,
                            const struct check_group *group, struct hd_buf *out)
{
    hd_buf_printf(out, "%s: %s\n", severities[f->severity], f->title);
    for (size_t i = 0; i < f->nactors; i++) {
        hd_buf_printf(out, "    %s ", f->actors[i].verb);
        text_put_index(options, f->actors[i].thread, out);
        hd_buf_puts(out, " at ");
        check_text_srcloc(options, &f->actors[i], out);
        hd_buf_putc(out, '\n');
    }
    text_put_details(options, f, group, out);
}

/* Of schedcheck: the launch, how results differ, and who wrote what differs. */
static void text_put_order(const struct check_options *options, const struct check_finding *f,
                           const struct check_group *group, struct hd_buf *out)
{
    hd_buf_printf(out, "%s: %s\n    in launch %llu of %s, ", severities[f->severity], f->title,
                  (unsigned long long)f->launch, check_demangle(f->kernel, options->demangle));
    hd_buf_printf(out, "grid (%u,%u,%u), block (%u,%u,%u)\n", f->grid[0], f->grid[1], f->grid[2],
                  f->block[0], f->block[1], f->block[2]);
    text_put_details(options, f, group, out);
    for (size_t i = 0; i < f->nactors; i++) {
        hd_buf_printf(out, "    %s ", f->actors[i].verb);
        text_put_index(options, f->actors[i].thread, out);
        hd_buf_puts(out, " in block ");
        text_put_index(options, f->actors[i].block, out);
        hd_buf_puts(out, " at ");
        check_text_srcloc(options, &f->actors[i], out);
        hd_buf_putc(out, '\n');
        text_put_callers(options, &f->actors[i], out);
    }
}

static void text_put_plain(const struct check_options *options, const struct check_finding *f,
                           const struct check_group *group, struct hd_buf *out)
{
    hd_buf_printf(out, "%s\n", f->title);
    if (f->nactors) {
        hd_buf_puts(out, "    at ");
        check_text_srcloc(options, &f->actors[0], out);
        hd_buf_puts(out, "\n    by thread ");
        text_put_index(options, f->actors[0].thread, out);
        hd_buf_puts(out, " in block ");
        text_put_index(options, f->actors[0].block, out);
        hd_buf_putc(out, '\n');
    }
    text_put_details(options, f, group, out);
    if (f->nactors)
        text_put_callers(options, &f->actors[0], out);
}

void check_text_finding(const struct check_options *options, const struct check_finding *f,
                        const struct check_group *group, struct hd_buf *out)
{
    assert(f->nactors + f->nsides <= CHECK_ACTORS_MAX);
    if (strcmp(f->tool, "schedcheck") == 0)
        text_put_order(options, f, group, out);
    else if (text_is_between(f))
        text_put_race(options, f, group, out);
    else if (f->nactors == 2)
        text_put_hazard(options, f, group, out);
    else
        text_put_plain(options, f, group, out);
    text_put_stack(options, &f->launched, "kernel launch time", out);
    text_put_stack(options, &f->host, f->nsides ? "the first call" : "error", out);
    text_put_stack(options, &f->other, "the other call", out);
    text_put_stack(options, &f->allocated, "allocation time", out);
    text_put_stack(options, &f->freed, "free time", out);
}

void check_text_short(const struct check_options *options, const struct check_finding *f,
                      struct hd_buf *out)
{
    size_t n = text_is_between(f) ? f->nactors + f->nsides : 0;

    hd_buf_puts(out, f->title);
    for (size_t i = 0; i < n; i++) {
        hd_buf_puts(out, i ? " and " : " ");
        text_put_side(options, f, i, out);
    }
    if (n || !f->nactors)
        return;
    hd_buf_puts(out, " at ");
    check_text_srcloc(options, &f->actors[0], out);
}

bool check_is_in_ptx(const struct check_finding *f)
{
    for (size_t i = 0; i < f->nactors; i++) {
        const char *file = f->actors[i].srclocs[0].file;
        assert(f->actors[i].nplaces);
        if (!file[0] || strcmp(file, "ptx") == 0)
            return true;
    }
    return false;
}
