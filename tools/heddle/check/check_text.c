/* A finding as the lines that compute-sanitizer prints. The prefix is the session's. */
#include "check/check.h"

#include <string.h>

static const char *const severities[] = {
    [SAN_INFO] = "Info", [SAN_WARNING] = "Warning", [SAN_ERROR] = "Error", [SAN_FATAL] = "Fatal"};

static bool shows_host(const struct check_options *options)
{
    return options->san.show_backtrace & SAN_BACKTRACE_HOST;
}

static bool shows_device(const struct check_options *options)
{
    return options->san.show_backtrace & SAN_BACKTRACE_DEVICE;
}
_Static_assert((int)SAN_BACKTRACE_YES == ((int)SAN_BACKTRACE_HOST | (int)SAN_BACKTRACE_DEVICE),
               "a set of bits");

static void put_file(const struct check_options *options, const struct check_place *place,
                     struct hd_buf *out)
{
    if (place->file[0])
        hd_buf_printf(out, " in %s:%u", check_path(options, place->file), place->line);
}

void check_text_place(const struct check_options *options, const struct check_actor *actor,
                      struct hd_buf *out)
{
    const struct check_place *place = &actor->places[0];

    hd_buf_printf(out, "%s+0x%llx", check_demangle(place->func, options->demangle),
                  (unsigned long long)actor->pc);
    put_file(options, place, out);
}

/* "(0,0,0)" */
static void put_index(const struct check_options *options, const uint32_t at[3], struct hd_buf *out)
{
    uint32_t first = options->language; /* Fortran counts from 1 */

    hd_buf_printf(out, "(%u,%u,%u)", at[0] + first, at[1] + first, at[2] + first);
}

static void put_triple(const uint32_t n[3], struct hd_buf *out)
{
    hd_buf_printf(out, "(%u,%u,%u)", n[0], n[1], n[2]);
}

/* Where the function with the instruction was called, and so on. */
static void put_callers(const struct check_options *options, const struct check_actor *actor,
                        struct hd_buf *out)
{
    size_t most = options->num_callers_device ? options->num_callers_device : SIZE_MAX;

    for (size_t i = 1; shows_device(options) && i < actor->nplaces && i <= most; i++) {
        const struct check_place *place = &actor->places[i];
        hd_buf_printf(out, "        Device Frame: %s",
                      check_demangle(place->func, options->demangle));
        put_file(options, place, out);
        hd_buf_putc(out, '\n');
    }
}

static void put_stack(const struct check_options *options, const struct check_stack *stack,
                      const char *when, struct hd_buf *out)
{
    size_t n = shows_host(options) ? check_stack_shown(options, stack) : 0;

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

static void put_details(const struct check_finding *f, struct hd_buf *out)
{
    for (size_t i = 0; i < f->ndetails; i++)
        hd_buf_printf(out, "    %s\n", f->details[i]);
}

/* "Write access at K+0x90 in f.cu:41", "Read access by cudaMemcpyAsync" */
static void put_side(const struct check_options *options, const struct check_finding *f, size_t i,
                     struct hd_buf *out)
{
    if (i < f->nactors) {
        hd_buf_printf(out, "%s at ", f->actors[i].verb);
        check_text_place(options, &f->actors[i], out);
        return;
    }
    i -= f->nactors;
    hd_buf_printf(out, "%s by %s", f->sides[i].verb, f->sides[i].name);
}

/*
 * "Race reported between Write access at K+0x90 in f.cu:41", "and Read access at .. [508 hazards]"
 */
static void put_race(const struct check_options *options, const struct check_finding *f,
                     struct hd_buf *out)
{
    size_t n = f->nactors + f->nsides;

    hd_buf_printf(out, "%s: %s ", severities[f->severity], f->title);
    for (size_t i = 0; i < n; i++) {
        hd_buf_puts(out, i ? "    and " : "");
        put_side(options, f, i, out);
        if (i + 1 == n)
            hd_buf_printf(out, " [%llu hazard%s]", (unsigned long long)f->count,
                          f->count == 1 ? "" : "s");
        hd_buf_putc(out, '\n');
    }
    put_details(f, out);
}

/* "Potential WAW hazard ..:", "Write Thread (0,0,0) at K+0x90 in f.cu:20" */
static void put_hazard(const struct check_options *options, const struct check_finding *f,
                       struct hd_buf *out)
{
    hd_buf_printf(out, "%s: %s\n", severities[f->severity], f->title);
    for (size_t i = 0; i < f->nactors; i++) {
        hd_buf_printf(out, "    %s ", f->actors[i].verb);
        put_index(options, f->actors[i].thread, out);
        hd_buf_puts(out, " at ");
        check_text_place(options, &f->actors[i], out);
        hd_buf_putc(out, '\n');
    }
    put_details(f, out);
}

/* Of schedcheck: the launch, how results differ, and who wrote what differs. */
static void put_order(const struct check_options *options, const struct check_finding *f,
                      struct hd_buf *out)
{
    hd_buf_printf(out, "%s: %s\n    in launch %llu of %s, grid ", severities[f->severity], f->title,
                  (unsigned long long)f->launch, check_demangle(f->kernel, options->demangle));
    put_triple(f->grid, out);
    hd_buf_puts(out, ", block ");
    put_triple(f->block, out);
    hd_buf_putc(out, '\n');
    put_details(f, out);
    for (size_t i = 0; i < f->nactors; i++) {
        hd_buf_printf(out, "    %s ", f->actors[i].verb);
        put_index(options, f->actors[i].thread, out);
        hd_buf_puts(out, " in block ");
        put_index(options, f->actors[i].block, out);
        hd_buf_puts(out, " at ");
        check_text_place(options, &f->actors[i], out);
        hd_buf_putc(out, '\n');
        put_callers(options, &f->actors[i], out);
    }
}

static void put_plain(const struct check_options *options, const struct check_finding *f,
                      struct hd_buf *out)
{
    hd_buf_printf(out, "%s\n", f->title);
    if (f->nactors) {
        hd_buf_puts(out, "    at ");
        check_text_place(options, &f->actors[0], out);
        hd_buf_puts(out, "\n    by thread ");
        put_index(options, f->actors[0].thread, out);
        hd_buf_puts(out, " in block ");
        put_index(options, f->actors[0].block, out);
        hd_buf_putc(out, '\n');
    }
    put_details(f, out);
    if (f->nactors)
        put_callers(options, &f->actors[0], out);
}

void check_text_finding(const struct check_options *options, const struct check_finding *f,
                        struct hd_buf *out)
{
    size_t title = strlen(f->title);

    if (strcmp(f->tool, "schedcheck") == 0)
        put_order(options, f, out);
    else if (f->nactors + f->nsides == 2 && title > 8 &&
             strcmp(f->title + title - 8, " between") == 0)
        put_race(options, f, out);
    else if (f->nactors == 2)
        put_hazard(options, f, out);
    else
        put_plain(options, f, out);
    put_stack(options, &f->launched, "kernel launch time", out);
    put_stack(options, &f->host, f->nsides ? "the first call" : "error", out);
    put_stack(options, &f->other, "the other call", out);
    put_stack(options, &f->allocated, "allocation time", out);
    put_stack(options, &f->freed, "free time", out);
}
