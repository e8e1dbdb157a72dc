/*
 * Findings as one page, in the order of their gain, the first open: what, in which kernel and
 * where, what it would gain, the lines of the source, and what to do. It refers to nothing outside
 * of itself, has no script, and all text that comes from the program is escaped.
 */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "advise/advise_show.h"
#include "common/html.h"
#include "report/excess.h"

/* What is before and behind the findings (scripts/embed). */
extern const char advise_page_head[], advise_page_tail[];

/* Control characters of names say nothing in a page. */
static void html_text(struct hd_buf *out, const char *text)
{
    struct hd_buf clean = {0};

    for (; *text; text++)
        hd_buf_putc(&clean, iscntrl((unsigned char)*text) ? ' ' : *text);
    out->failed |= clean.failed;
    html_put(out, clean.ptr ? clean.ptr : "");
    hd_buf_fini(&clean);
}

static void html_code(struct hd_buf *out, const char *text)
{
    hd_buf_puts(out, "<code>");
    html_text(out, text);
    hd_buf_puts(out, "</code>");
}

/* "Memory accesses of a warp are scattered in sums(float *)" */
static void html_title(struct hd_buf *out, const struct advise_finding *f)
{
    const char *title = f->rule->title;

    assert(*title);
    hd_buf_putc(out, (char)toupper((unsigned char)*title));
    html_put(out, title + 1);
    if (!f->kernel)
        return;
    hd_buf_puts(out, " in ");
    html_text(out, f->kernel);
}

/* ---- a finding */

static void html_summary(struct hd_buf *out, const struct advise_finding *f)
{
    hd_buf_puts(out, "<summary><span class=\"title\"><span>");
    html_title(out, f);
    hd_buf_printf(out,
                  "</span></span><span class=\"count\">%s: about %s (%.0f&nbsp;%%)</span>\n"
                  "<span class=\"place\">",
                  advise_severity_words[f->severity], advise_time(f->gain_ns), 100 * f->gain);
    if (f->file) {
        hd_buf_puts(out, "at ");
        html_text(out, f->file);
        hd_buf_printf(out, ":%lld", (long long)f->line);
    } else if (f->evidence.len) {
        html_text(out, f->evidence.at[0]);
    }
    hd_buf_printf(out,
                  "</span>\n<span class=\"gain\" aria-hidden=\"true\"><i style=\"width:%.1f%%\">"
                  "</i></span></summary>\n",
                  100 * f->gain);
}

static void html_rows(struct hd_buf *out, const struct advise_finding *f)
{
    if (!f->examples.len)
        return;
    hd_buf_puts(out, "<details class=\"more\"><summary>Examples: rows of the report</summary><div "
                     "class=\"wrap\" tabindex=\"0\" role=\"region\" aria-label=\"Rows of the "
                     "report\"><table>\n<thead><tr><th scope=\"col\">Table</th><th scope=\"col\" "
                     "class=\"number\">Row</th><th scope=\"col\" class=\"number\">From</th><th "
                     "scope=\"col\" class=\"number\">Takes</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < f->examples.len; i++) {
        const struct advise_example *e = &f->examples.at[i];
        hd_buf_puts(out, "<tr><td>");
        html_code(out, e->table);
        hd_buf_printf(out,
                      "</td><td class=\"number\">%lld</td><td class=\"number\">%s</td><td "
                      "class=\"number\">%s</td></tr>\n",
                      (long long)e->rowid, advise_time(e->start_ns),
                      advise_time(e->end_ns - e->start_ns));
    }
    hd_buf_puts(out, "</tbody></table></div></details>\n");
}

static void html_finding(struct hd_buf *out, const struct advise_finding *f, bool is_open)
{
    hd_buf_printf(out, "<details class=\"finding %s\"%s>\n", advise_severity_words[f->severity],
                  is_open ? " open" : "");
    html_summary(out, f);
    hd_buf_puts(out, "<p>");
    html_put(out, f->rule->what);
    hd_buf_puts(out, "</p>\n");
    if (f->file && report_is_source(f->file) && f->line > 0 && f->line <= UINT32_MAX) {
        struct html_mark mark = {(uint32_t)f->line, ""};
        (void)html_put_source(out, f->file, &mark, 1);
    }
    hd_buf_puts(out, "<h3>What was measured</h3>\n<ul>\n");
    for (size_t i = 0; i < f->evidence.len; i++) {
        hd_buf_puts(out, "<li>");
        html_text(out, f->evidence.at[i]);
        hd_buf_puts(out, "</li>\n");
    }
    hd_buf_puts(out, "</ul>\n<div class=\"next\"><h3>What to do</h3>\n<p>");
    html_put(out, f->rule->remedy);
    hd_buf_puts(out, "</p></div>\n");
    html_rows(out, f);
    hd_buf_puts(out, "<p class=\"quiet\">Rule ");
    html_code(out, f->rule->id);
    hd_buf_puts(out, "</p>\n</details>\n");
}

/* ---- what is above and below the findings */

static void html_sentence(struct hd_buf *out, const struct advise *a)
{
    size_t n = a->findings.len;

    hd_buf_puts(out, "<p id=\"sentence\">");
    if (!n) {
        hd_buf_printf(out, "Nothing was found that would gain %.3g&nbsp;%% or more of ",
                      100 * a->min_gain);
    } else {
        hd_buf_printf(out, "%zu finding%s would gain about %.0f&nbsp;%% of ", n,
                      n == 1 ? ", which" : "s. The first", 100 * a->findings.at[0].gain);
    }
    hd_buf_printf(out, "the steady time, which is %s.</p>\n", advise_time(a->steady_ns));
}

static void html_total(struct hd_buf *out, const char *name, int64_t ns, const char *meaning)
{
    hd_buf_printf(out,
                  "<tr><th scope=\"row\">%s</th><td class=\"number\">%s</td><td "
                  "class=\"quiet\">%s</td></tr>\n",
                  name, advise_time(ns), meaning);
}

static void html_totals(struct hd_buf *out, const struct advise *a)
{
    int64_t times[3] = {0};

    for (size_t i = 0; i < a->works.len; i++) {
        assert(a->works.at[i].kind < HD_COUNT_OF(times));
        times[a->works.at[i].kind] += a->works.at[i].end_ns - a->works.at[i].start_ns;
    }
    hd_buf_puts(out, "<table id=\"totals\" aria-label=\"Times\">\n<tbody>\n");
    html_total(out, "Steady time", a->steady_ns, "without start-up and compilation");
    html_total(out, "In all", a->span_ns, "from the first call to the last end");
    html_total(out, "Compilation", a->compile_ns, "that calls waited for");
    html_total(out, "Kernels", times[ADVISE_KERNEL], "their sum");
    html_total(out, "Copies", times[ADVISE_COPY], "their sum");
    hd_buf_puts(out, "</tbody></table>\n");
}

static void html_next(struct hd_buf *out, const struct advise *a)
{
    hd_buf_puts(out, "<section aria-labelledby=\"next\"><h2 id=\"next\">What next?</h2>\n<ul>\n");
    if (a->findings.len)
        hd_buf_puts(out,
                    "<li>Begin with the first finding. Record before and after with <code>heddle "
                    "prof -o NAME</code>, and compare with <code>heddle prof diff</code>, which "
                    "tells a change from chance.</li>\n"
                    "<li>Gains are estimated by replay, each for the case that only what is named "
                    "goes away: they do not add up.</li>\n");
    if (a->interrupted)
        hd_buf_printf(out,
                      "<li>The program was interrupted (signal %d): this is of what it did "
                      "until then.</li>\n",
                      a->interrupted);
    if (a->is_counted)
        hd_buf_puts(out, "<li>Times are of a run that counted, which takes longer: launches, gaps "
                         "and grids were not judged. <code>heddle advise --kernel PROGRAM</code> "
                         "runs it without counting, too.</li>\n");
    if (!a->has_counters)
        hd_buf_puts(out, "<li>What kernels do inside was not judged, as nothing was counted: "
                         "<code>heddle advise --kernel PROGRAM</code>.</li>\n");
    if (advise_lacks_lines(a))
        hd_buf_puts(out, "<li>Places in <code>ptx</code> are lines of the PTX: build with "
                         "<code>-lineinfo</code> for lines of the source.</li>\n");
    if (a->until_ns != INT64_MAX)
        hd_buf_printf(out,
                      "<li>Only the beginning was judged, until %s (<code>--limit</code>).</li>\n",
                      advise_time(a->until_ns));
    hd_buf_puts(out, "<li>Where the time goes, on a timeline: <code>heddle prof --html "
                     "PROGRAM</code>.</li>\n</ul>\n</section>\n");
}

void advise_html(const struct advise *a, struct hd_buf *out)
{
    hd_buf_puts(out, advise_page_head);
    hd_buf_puts(out, "<p class=\"quiet\">");
    html_code(out, a->path);
    hd_buf_puts(out, "</p>\n</div>\n</header>\n<main>\n<section aria-labelledby=\"what\"><h2 "
                     "id=\"what\">What would make it faster?</h2>\n");
    html_sentence(out, a);
    for (size_t i = 0; i < a->findings.len; i++)
        html_finding(out, &a->findings.at[i], i == 0);
    hd_buf_puts(out, "</section>\n<section aria-labelledby=\"times\"><h2 id=\"times\">Where the "
                     "time goes</h2>\n");
    html_totals(out, a);
    hd_buf_puts(out, "</section>\n");
    html_next(out, a);
    hd_buf_puts(out, "</main>\n");
    hd_buf_puts(out, advise_page_tail);
}
