/*
 * Findings as one page, in the order of their gain. It refers to nothing outside of itself, and all
 * text that comes from the program is escaped.
 */
#include <string.h>

#include "advise/advise.h"
#include "common/html.h"

enum {
    LINES_AROUND = 3,
    SOURCE_MAX_B = 4 << 20,
};

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>heddle advise</title>\n<style>\n"
    ":root { color-scheme: light dark; --text: #222; --page: #fff; --soft: #555; --box: #f5f5f5;\n"
    "  --line: #ddd; --high: #b00020; --medium: #8a5a00; --low: #005a9c }\n"
    "@media (prefers-color-scheme: dark) { :root { --text: #ddd; --page: #1b1b1b; --soft: #aaa;\n"
    "  --box: #262626; --line: #444; --high: #ff8a93; --medium: #f0c060; --low: #7fbfff } }\n"
    "body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 60em;\n"
    "  padding: 0 1em; color: var(--text); background: var(--page); overflow-wrap: anywhere }\n"
    "h1 { font-size: 1.4em } h2 { font-size: 1.1em; margin: 0 }\n"
    "code, pre { font: 13px/1.4 ui-monospace, monospace }\n"
    "pre { background: var(--box); padding: .7em; overflow-x: auto; overflow-wrap: normal }\n"
    "mark { background: #ffe9a8; color: #222 }\n"
    "table { border-collapse: collapse } td, th { padding: .2em 1em .2em 0; text-align: left;\n"
    "  vertical-align: top; font-weight: normal } th { color: var(--soft) }\n"
    "td { font-variant-numeric: tabular-nums }\n"
    "article { border: 1px solid var(--line); border-radius: 6px; margin: 1em 0;\n"
    "  padding: .9em 1.1em }\n"
    ".top { display: flex; flex-wrap: wrap; gap: .2em 1em; align-items: baseline }\n"
    ".top h2 { flex: 1 1 16em } .gain { font-variant-numeric: tabular-nums; font-weight: 600 }\n"
    ".high { color: var(--high) } .medium { color: var(--medium) } .low { color: var(--low) }\n"
    ".bar { height: 6px; background: var(--box); border-radius: 3px; margin: .6em 0 }\n"
    ".bar i { display: block; height: 6px; border-radius: 3px; background: currentColor }\n"
    ".soft { color: var(--soft) } dl { margin: .6em 0 0 } dt { color: var(--soft) }\n"
    "dd { margin: 0 0 .5em 0 } ul { margin: 0; padding-left: 1.2em }\n"
    "summary { cursor: pointer; color: var(--soft) } .wide { overflow-x: auto }\n"
    "</style>\n</head>\n<body>\n<main>\n";

static void put_escaped(struct hd_buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const char *stands = html_stands_for(text[i]);
        if (stands)
            hd_buf_puts(out, stands);
        else
            hd_buf_putc(out, (unsigned char)text[i] < ' ' && text[i] != '\t' ? ' ' : text[i]);
    }
}

static void put(struct hd_buf *out, const char *text)
{
    put_escaped(out, text, strlen(text));
}

/* The lines around a place, that one marked; nothing when the file is not there. */
static void put_source(struct hd_buf *out, const char *path, int64_t at_line)
{
    struct hd_buf text = {0};
    int64_t line = 1, first = at_line - LINES_AROUND;

    if (hd_file_read(path, SOURCE_MAX_B, &text) != HD_OK || !text.ptr ||
        memchr(text.ptr, '\0', text.len)) {
        hd_buf_fini(&text);
        return;
    }
    hd_buf_puts(out, "<pre tabindex=\"0\" role=\"region\" aria-label=\"Source\">");
    for (const char *at = text.ptr; *at && line <= at_line + LINES_AROUND; line++) {
        size_t len = strcspn(at, "\n");
        if (line >= first) {
            hd_buf_printf(out, "%s%5lld  ", line == at_line ? "<mark>" : "", (long long)line);
            put_escaped(out, at, len);
            hd_buf_puts(out, line == at_line ? "</mark>\n" : "\n");
        }
        at += len + (at[len] == '\n');
    }
    hd_buf_puts(out, "</pre>\n");
    hd_buf_fini(&text);
}

static void put_place(struct hd_buf *out, const struct advise_finding *f)
{
    if (f->kernel) {
        hd_buf_puts(out, "<dt>kernel</dt><dd><code>");
        put(out, f->kernel);
        hd_buf_puts(out, "</code></dd>\n");
    }
    if (f->file) {
        hd_buf_puts(out, "<dt>source</dt><dd><code>");
        put(out, f->file);
        hd_buf_printf(out, ":%lld</code>", (long long)f->line);
        put_source(out, f->file, f->line);
        hd_buf_puts(out, "</dd>\n");
    }
}

static void put_evidence(struct hd_buf *out, const struct advise_finding *f)
{
    hd_buf_puts(out, "<dt>evidence</dt><dd><ul>\n");
    for (size_t i = 0; i < f->evidence.len; i++) {
        hd_buf_puts(out, "<li>");
        put(out, f->evidence.at[i]);
        hd_buf_puts(out, "</li>\n");
    }
    hd_buf_puts(out, "</ul></dd>\n");
}

static void put_rows(struct hd_buf *out, const struct advise_finding *f)
{
    if (!f->examples.len)
        return;
    hd_buf_puts(out, "<details><summary>rows of the report</summary><div class=\"wide\" "
                     "tabindex=\"0\" role=\"region\" aria-label=\"Rows of the report\"><table>\n"
                     "<tr><th scope=\"col\">table</th><th "
                     "scope=\"col\">row</th><th scope=\"col\">from</th><th scope=\"col\">takes</th>"
                     "</tr>\n");
    for (size_t i = 0; i < f->examples.len; i++) {
        const struct advise_example *e = &f->examples.at[i];
        hd_buf_puts(out, "<tr><td><code>");
        put(out, e->table);
        hd_buf_printf(out, "</code></td><td>%lld</td><td>%s</td><td>%s</td></tr>\n",
                      (long long)e->rowid, advise_time(e->start_ns),
                      advise_time(e->end_ns - e->start_ns));
    }
    hd_buf_puts(out, "</table></div></details>\n");
}

static void put_finding(struct hd_buf *out, const struct advise_finding *f)
{
    const char *word = advise_severity_words[f->severity];

    hd_buf_puts(out, "<article>\n<div class=\"top\"><h2>");
    put(out, f->rule->title);
    hd_buf_printf(
        out,
        "</h2> <span class=\"gain %s\">%s: up to %s (%.0f&nbsp;%%)</span></div>\n"
        "<div class=\"bar %s\" aria-hidden=\"true\"><i style=\"width:%.1f%%\"></i></div>\n",
        word, word, advise_time(f->gain_ns), 100 * f->gain, word, 100 * f->gain);
    hd_buf_puts(out, "<p>");
    put(out, f->rule->what);
    hd_buf_puts(out, "</p>\n<dl>\n");
    put_place(out, f);
    put_evidence(out, f);
    hd_buf_puts(out, "<dt>remedy</dt><dd>");
    put(out, f->rule->remedy);
    hd_buf_puts(out, "</dd>\n</dl>\n");
    put_rows(out, f);
    hd_buf_printf(out, "<p class=\"soft\">rule <code>%s</code></p>\n</article>\n", f->rule->id);
}

static void put_total(struct hd_buf *out, const char *name, const char *value)
{
    hd_buf_printf(out, "<tr><th scope=\"row\">%s</th><td>%s</td></tr>\n", name, value);
}

static void put_totals(struct hd_buf *out, const struct advise *a)
{
    int64_t times[3] = {0};

    for (size_t i = 0; i < a->works.len; i++)
        times[a->works.at[i].kind] += a->works.at[i].end_ns - a->works.at[i].start_ns;
    hd_buf_puts(out, "<table>\n");
    put_total(out, "steady time", advise_time(a->steady_ns));
    put_total(out, "in all", advise_time(a->span_ns));
    put_total(out, "compiling", advise_time(a->compile_ns));
    put_total(out, "kernels", advise_time(times[ADVISE_KERNEL]));
    put_total(out, "copies", advise_time(times[ADVISE_COPY]));
    hd_buf_puts(out, "</table>\n");
}

void advise_html(const struct advise *a, struct hd_buf *out)
{
    hd_buf_puts(out, head);
    hd_buf_puts(out, "<h1>heddle advise</h1>\n<p><code>");
    put(out, a->path);
    hd_buf_puts(out, "</code></p>\n");
    put_totals(out, a);
    if (a->until_ns != INT64_MAX)
        hd_buf_printf(out, "<p>Only the beginning was judged, until %s (--limit).</p>\n",
                      advise_time(a->until_ns));
    if (a->findings.len)
        hd_buf_puts(out, "<p class=\"soft\">Gains are upper bounds, parts of the steady time, each "
                         "by itself: they do not add up.</p>\n");
    else
        hd_buf_printf(out, "<p>Nothing found that would gain %.3g&nbsp;%% or more.</p>\n",
                      100 * a->min_gain);
    for (size_t i = 0; i < a->findings.len; i++)
        put_finding(out, &a->findings.at[i]);
    hd_buf_puts(out, "</main>\n</body>\n</html>\n");
}
