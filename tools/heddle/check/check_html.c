/*
 * Findings as one page, a group after the other, the worst first and open: what, in which kernel
 * and where, by whom, the lines of the source, and what to do. It refers to nothing outside of
 * itself, has no script, and all text that comes from the program is escaped.
 */
#include "check/check.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "common/cli.h"
#include "common/html.h"
#include "san/tool.h"

/* What is before and behind the findings (scripts/embed). */
extern const char check_page_head[], check_page_tail[];

static const char *html_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static const char *html_advice(const struct check_finding *f)
{
    static const struct {
        const char *kind, *space, *text;
    } rows[] = {
#define ADVICE(kind, space, text) {kind, space, text},
#include "check/check_advice.def"
    };

    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (strncmp(f->kind, rows[i].kind, strlen(rows[i].kind)) == 0 &&
            (!rows[i].space[0] || strcmp(f->space, rows[i].space) == 0))
            return rows[i].text;
    return NULL;
}

/* ---- parts of a finding */

/* "file.cu:41", or the function and its instruction when there is no file. */
static void html_srcloc(struct hd_buf *out, const struct check_options *options,
                        const struct check_actor *actor)
{
    const struct check_srcloc *srcloc = &actor->srclocs[0];

    assert(actor->nplaces);
    hd_buf_puts(out, "<code>");
    if (srcloc->file[0]) {
        html_put(out, check_path(options, srcloc->file));
        hd_buf_printf(out, ":%u", srcloc->line);
    } else {
        html_put(out, check_demangle(srcloc->func, options->demangle));
        hd_buf_printf(out, "+0x%llx", (unsigned long long)actor->pc);
    }
    hd_buf_puts(out, "</code>");
}

/* "Race in reduce(float *)", "Invalid __global__ write of size 4 bytes in fill(int *)" */
static void html_title(struct hd_buf *out, const struct check_options *options,
                       const struct check_finding *f)
{
    static const char between[] = " reported between"; /* the places are on the next line */
    const char *end = strstr(f->title, between);
    struct hd_buf text = {0};

    size_t len = end && !end[strlen(between)] ? (size_t)(end - f->title) : strlen(f->title);
    while (f->has_launch && len && strchr(". :", f->title[len - 1])) /* it goes on */
        len--;
    hd_buf_append(&text, f->title, len);
    if (f->has_launch)
        hd_buf_printf(&text, " in %s", check_demangle(f->kernel, options->demangle));
    html_put(out, text.ptr ? text.ptr : "");
    hd_buf_fini(&text);
}

/* The function of the host that has to do with it, when it is known. */
static void html_host(struct hd_buf *out, const struct check_options *options,
                      const struct check_finding *f)
{
    const struct check_stack *stack = check_host_stack(f);
    size_t i = 0;

    while (i < stack->n && check_frame_is_hidden(options, &stack->frames[i]))
        i++;
    const char *func = i < stack->n ? check_frame_func(&stack->frames[i]) : "";
    if (!func[0])
        return;
    hd_buf_puts(out, check_is_leak(f) ? "allocated in <code>" : "in <code>");
    html_put(out, check_demangle(func, options->demangle));
    hd_buf_puts(out, "</code>");
}

/* "Write access at A and Read access by cudaMemcpyAsync" */
static void html_srclocs(struct hd_buf *out, const struct check_options *options,
                         const struct check_finding *f)
{
    hd_buf_puts(out, "<span class=\"place\">");
    for (size_t i = 0; i < f->nactors; i++) {
        const char *verb = check_is_race(f) ? f->actors[i].verb : ""; /* others' are long */
        hd_buf_puts(out, i ? " and " : "");
        html_put(out, verb);
        hd_buf_puts(out, verb[0] ? " at " : "at ");
        html_srcloc(out, options, &f->actors[i]);
    }
    for (size_t i = 0; i < f->nsides; i++) {
        hd_buf_puts(out, i + f->nactors ? " and " : "");
        html_put(out, f->sides[i].verb);
        hd_buf_puts(out, " by ");
        html_put(out, f->sides[i].name);
    }
    if (!f->nactors && !f->nsides)
        html_host(out, options, f);
    hd_buf_puts(out, "</span>");
}

static void html_row(struct hd_buf *out, const char *name, const char *text)
{
    if (!text || !text[0])
        return;
    hd_buf_puts(out, "<dt>");
    html_put(out, name);
    hd_buf_puts(out, "</dt><dd>");
    html_put(out, text);
    hd_buf_puts(out, "</dd>\n");
}

/* What happened, to whom, in which launch. */
static void html_facts(struct hd_buf *out, const struct check_options *options,
                       const struct check_group *group)
{
    static const char *const names[2][CHECK_ACTORS_MAX] = {{"Where"}, {"First", "Second"}};
    const struct check_finding *f = group->first;
    struct hd_buf text = {0};

    hd_buf_puts(out, "<dl>\n");
    for (size_t i = 0; i < f->ndetails; i++)
        html_row(out, i ? "" : "What", f->details[i]);
    for (size_t i = 0; i < f->nactors; i++) {
        const struct check_actor *a = &f->actors[i];
        hd_buf_clear(&text);
        hd_buf_printf(&text, "%s%s", a->verb, a->verb[0] ? " at " : "");
        check_text_srcloc(options, a, &text);
        hd_buf_printf(&text, ", thread (%u,%u,%u) in block (%u,%u,%u)", a->thread[0], a->thread[1],
                      a->thread[2], a->block[0], a->block[1], a->block[2]);
        html_row(out, names[f->nactors > 1][i], text.ptr);
        for (size_t p = 1; p < a->nplaces; p++) {
            hd_buf_clear(&text);
            hd_buf_printf(&text, "%s %s:%u", check_demangle(a->srclocs[p].func, options->demangle),
                          check_path(options, a->srclocs[p].file), a->srclocs[p].line);
            html_row(out, p == 1 ? "Called from" : "", text.ptr);
        }
    }
    if (f->has_address && f->nactors > 1) {
        hd_buf_clear(&text);
        hd_buf_printf(&text, "%s%s0x%llx", f->space, f->space[0] ? " memory, at " : "",
                      (unsigned long long)f->address);
        html_row(out, "Memory", text.ptr);
    }
    hd_buf_clear(&text);
    check_text_times(options, group, &text);
    html_row(out, "How often", text.ptr);
    hd_buf_clear(&text);
    check_text_addresses(group, &text);
    html_row(out, "Addresses", text.ptr);
    if (f->has_launch) {
        hd_buf_clear(&text);
        hd_buf_printf(&text, "launch %llu of %s, grid (%u,%u,%u), block (%u,%u,%u)",
                      (unsigned long long)f->launch, check_demangle(f->kernel, options->demangle),
                      f->grid[0], f->grid[1], f->grid[2], f->block[0], f->block[1], f->block[2]);
        html_row(out, "Launch", text.ptr);
    }
    hd_buf_puts(out, "</dl>\n");
    hd_buf_fini(&text);
}

/* Both places of a race in one file are shown in one piece. */
static void html_sources(struct hd_buf *out, const struct check_finding *f)
{
    struct html_mark marks[CHECK_ACTORS_MAX];

    for (size_t i = 0; i < f->nactors; i++) {
        const char *file = f->actors[i].srclocs[0].file;
        size_t n = 0;
        if (!file[0] || strcmp(file, "ptx") == 0 ||
            (i && strcmp(file, f->actors[0].srclocs[0].file) == 0))
            continue;
        for (size_t k = i; k < f->nactors; k++)
            if (strcmp(f->actors[k].srclocs[0].file, file) == 0)
                marks[n++] = (struct html_mark){f->actors[k].srclocs[0].line, f->actors[k].verb};
        assert(n);
        hd_buf_puts(out, "<h3>");
        html_put(out, file);
        hd_buf_puts(out, "</h3>\n");
        if (!html_put_source(out, file, marks, n))
            hd_buf_puts(out, "<p class=\"quiet\">The file could not be read when this page was "
                             "written, or has no such line.</p>\n");
    }
}

static void html_group(struct hd_buf *out, const struct check_options *options,
                       const struct check_group *group, bool is_open)
{
    const struct check_finding *f = group->first;
    const char *advice = html_advice(f);
    struct hd_buf text = {0};

    assert(group->severity < SAN_SEVERITY_COUNT);
    hd_buf_printf(out, "<details class=\"finding %s\"%s>\n<summary><span class=\"title\"><span>",
                  san_severity_words[group->severity], is_open ? " open" : "");
    html_title(out, options, f);
    hd_buf_puts(out, "</span></span><span class=\"count\">");
    html_put(out, f->tool);
    hd_buf_printf(out, check_is_race(f) ? ", %llu hazard%s</span>" : ", %llu time%s</span>",
                  (unsigned long long)group->count, html_plural(group->count));
    html_srclocs(out, options, f);
    hd_buf_puts(out, "</summary>\n");
    html_facts(out, options, group);
    html_sources(out, f);
    if (advice) {
        hd_buf_puts(out, "<div class=\"next\"><h3>What to do</h3><p>");
        html_put(out, advice);
        hd_buf_puts(out, "</p></div>\n");
    }
    check_text_finding(options, f, group, &text);
    hd_buf_puts(out, "<details class=\"more\"><summary>As text, with the host's stacks</summary>"
                     "<pre tabindex=\"0\">");
    html_put(out, text.ptr ? text.ptr : "");
    hd_buf_puts(out, "</pre></details>\n</details>\n");
    hd_buf_fini(&text);
}

/* ---- the page */

static bool html_is_shown(const struct check_group *group)
{
    return !group->suppressed && !group->is_aftermath;
}

/* The worst first; of the same severity in the order in which they were found. */
static int html_worse(const void *a, const void *b)
{
    const struct check_group *x = *(struct check_group *const *)a;
    const struct check_group *y = *(struct check_group *const *)b;

    if (x->severity != y->severity)
        return x->severity > y->severity ? -1 : 1;
    return x < y ? -1 : x > y;
}

static bool html_groups(struct hd_buf *out, const struct check_session *s)
{
    const struct check_group **order = hd_alloc((s->groups.len + 1) * sizeof(*order));
    size_t n = 0;

    if (!order)
        return false;
    for (size_t i = 0; i < s->groups.len; i++)
        if (html_is_shown(&s->groups.at[i]))
            order[n++] = &s->groups.at[i];
    qsort(order, n, sizeof(*order), html_worse);
    if (n)
        hd_buf_puts(out, "<section aria-labelledby=\"found\"><h2 id=\"found\">Findings</h2>\n");
    for (size_t i = 0; i < n; i++)
        html_group(out, s->options, order[i], i == 0);
    if (n)
        hd_buf_puts(out, "</section>\n");
    hd_free(order);
    return true;
}

static void html_sentence(struct hd_buf *out, const struct check_session *s)
{
    const struct check_totals *t = &s->totals;
    uint64_t all = t->errors + t->hazards + t->orders, srclocs = 0;
    struct hd_buf unchecked = {0};

    for (size_t i = 0; i < s->groups.len; i++)
        srclocs += html_is_shown(&s->groups.at[i]);
    hd_buf_puts(out, "<p id=\"sentence\">");
    if (!srclocs)
        hd_buf_puts(out, "Nothing was found.");
    else
        hd_buf_printf(out, "%llu place%s to look at, found %llu time%s%s.",
                      (unsigned long long)srclocs, html_plural(srclocs), (unsigned long long)all,
                      html_plural(all), srclocs > 1 ? "; the worst is open" : "");
    hd_buf_puts(out, " What a tool finds depends on what the program did in this run.</p>\n");
    check_session_unchecked(s, &unchecked);
    if (unchecked.len) {
        hd_buf_puts(out, "<p id=\"unchecked\">");
        html_put(out, unchecked.ptr);
        hd_buf_puts(out, ".</p>\n");
    }
    hd_buf_fini(&unchecked);
}

/* A row for each tool: what it found, and of others how they are asked for. */
static void html_tools(struct hd_buf *out, const struct check_session *s)
{
    static const char *const finds[] = {
        [SAN_MEMCHECK] = "accesses outside of memory, misaligned ones, calls that fail, leaks",
        [SAN_RACECHECK] = "accesses of the same memory that nothing orders",
        [SAN_INITCHECK] = "reads of what nothing wrote",
        [SAN_SYNCCHECK] = "barriers that are used wrongly",
        [SAN_SCHEDCHECK] = "results that depend on the order of blocks or warps",
    };
    static const char *const names[] = {
#define X(NAME, name) [SAN_##NAME] = #name,
        SAN_TOOL_LIST(X)
#undef X
    };

    hd_buf_puts(out, "<div class=\"wrap\"><table class=\"tools\">\n<thead><tr><th scope=\"col\">"
                     "Tool</th><th scope=\"col\">Found</th><th scope=\"col\">What it looks for"
                     "</th></tr></thead>\n<tbody>\n");
    for (unsigned i = 0; i < SAN_TOOL_COUNT; i++) {
        uint64_t found = 0;
        for (size_t g = 0; g < s->groups.len; g++)
            if (!s->groups.at[g].suppressed && !strcmp(s->groups.at[g].first->tool, names[i]))
                found += check_is_race(s->groups.at[g].first) ? s->groups.at[g].findings
                                                              : s->groups.at[g].count;
        hd_buf_printf(out, "<tr><td>%s</td><td>", names[i]);
        if (s->tools & 1u << i)
            hd_buf_printf(out, "%llu", (unsigned long long)found);
        else
            hd_buf_printf(out, "did not run: <code>--tool %s</code>", names[i]);
        hd_buf_printf(out, "</td><td>%s</td></tr>\n", finds[i]);
    }
    hd_buf_puts(out, "</tbody>\n</table></div>\n");
}

static void html_notes(struct hd_buf *out, const struct check_session *s)
{
    const struct check_totals *t = &s->totals;
    bool in_ptx = false;

    for (size_t i = 0; i < s->groups.len; i++)
        in_ptx |= check_is_in_ptx(s->groups.at[i].first);
    hd_buf_puts(out, "<section aria-labelledby=\"notes\"><h2 id=\"notes\">Notes</h2>\n<ul>\n");
    if (in_ptx)
        hd_buf_puts(out, "<li>Places in <code>ptx</code> are lines of the PTX: build with "
                         "<code>-lineinfo</code> for lines of the source.</li>\n");
    if (s->leak_check)
        hd_buf_printf(out, "<li>%llu bytes leaked in %llu allocation%s.</li>\n",
                      (unsigned long long)t->leaked_B, (unsigned long long)t->leaked_allocations,
                      html_plural(t->leaked_allocations));
    if (t->aftermath) {
        hd_buf_printf(out, "<li>%llu more call%s failed with ", (unsigned long long)t->aftermath,
                      html_plural(t->aftermath));
        html_put(out, s->lasting->error);
        hd_buf_puts(out, ", as all do behind a kernel that failed.</li>\n");
    }
    if (t->suppressed)
        hd_buf_printf(out, "<li>%llu finding%s suppressed.</li>\n",
                      (unsigned long long)t->suppressed, t->suppressed == 1 ? " was" : "s were");
    if (t->lost)
        hd_buf_printf(out, "<li>%llu record%s of the program did not arrive in time.</li>\n",
                      (unsigned long long)t->lost, html_plural(t->lost));
    hd_buf_printf(out,
                  "<li>%llu process%s checked, by heddle %s.</li>\n"
                  "<li>A finding that is meant to be: <code>--save FILE --xml</code> writes what "
                  "<code>--suppressions FILE</code> reads.</li>\n</ul>\n</section>\n",
                  (unsigned long long)t->processes, t->processes == 1 ? " was" : "es were",
                  cli_version());
}

enum hd_status check_html_write(const struct check_session *s, const char *path)
{
    struct hd_buf out = {0};

    hd_buf_puts(&out, check_page_head);
    hd_buf_puts(&out, "<p class=\"quiet\"><code>");
    for (char **word = s->options->command; *word; word++) {
        hd_buf_puts(&out, word == s->options->command ? "" : " ");
        html_put(&out, *word);
    }
    if (s->options->read)
        html_put(&out, s->options->read);
    hd_buf_puts(&out, "</code></p>\n</div>\n</header>\n<main>\n<section aria-labelledby=\"what\">"
                      "<h2 id=\"what\">What is wrong?</h2>\n");
    html_sentence(&out, s);
    html_tools(&out, s);
    hd_buf_puts(&out, "</section>\n");
    out.failed |= !html_groups(&out, s);
    html_notes(&out, s);
    hd_buf_puts(&out, "</main>\n");
    hd_buf_puts(&out, check_page_tail);
    enum hd_status status = out.failed ? hd_error(HD_NO_MEMORY, "%s: out of memory", path)
                                       : hd_file_write(path, out.ptr, out.len);
    hd_buf_fini(&out);
    return status;
}
