/*
 * Findings as one page, by root cause: what, where, how often, an example, and the lines of the
 * source around it where the file can be read. It refers to nothing outside of itself, and all text
 * that comes from the program is escaped.
 */
#include "check/check.h"

#include <string.h>

#include "base/mem.h"
#include "san/tool.h"
#include "common/html.h"

enum {
    LINES_AROUND = 3,
    SOURCE_MAX_B = 4 << 20,
};

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>heddle check</title>\n<style>\n"
    "body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 "
    "1em;"
    " color: #222; background: #fff }\n"
    "h1 { font-size: 1.4em } h2 { font-size: 1.1em; margin-top: 2em }\n"
    "code, pre { font: 13px/1.4 ui-monospace, monospace }\n"
    "pre { background: #f5f5f5; padding: .7em; overflow-x: auto }\n"
    "table { border-collapse: collapse } td, th { padding: .2em .8em .2em 0; text-align: left }\n"
    "details { border: 1px solid #ddd; border-radius: 4px; margin: .5em 0; padding: .4em .8em }\n"
    "summary { cursor: pointer }\n"
    ".place { color: #555 } .count { float: right; color: #555 }\n"
    ".error, .fatal { color: #b00020; font-weight: 600 } .warning { color: #8a5a00; font-weight: "
    "600 }"
    " .info { color: #005a9c }\n"
    "mark { background: #ffe9a8 }\n"
    "@media (prefers-color-scheme: dark) { body { background: #1b1b1b; color: #ddd }"
    " pre { background: #262626 } details { border-color: #444 } .place, .count { color: #aaa }"
    " mark { background: #5a4a10; color: inherit } .error, .fatal { color: #ff8a80 }"
    " .warning { color: #e5b567 } .info { color: #7ab8f5 } }\n"
    "</style>\n</head>\n<body>\n";

static void put_escaped(struct hd_buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const char *stands = html_stands_for(text[i]);
        if (stands)
            hd_buf_puts(out, stands);
        else
            hd_buf_putc(out, text[i]);
    }
}

static void put(struct hd_buf *out, const char *text)
{
    put_escaped(out, text, strlen(text));
}

/* ---- source */

/* The lines around a place, that one marked; nothing when the file is not there. */
static void put_source(struct hd_buf *out, const struct check_place *place)
{
    struct hd_buf text = {0};
    unsigned line = 1, first = place->line > LINES_AROUND ? place->line - LINES_AROUND : 1;

    if (!place->file[0] || hd_file_read(place->file, SOURCE_MAX_B, &text) != HD_OK ||
        memchr(text.ptr, '\0', text.len)) {
        hd_buf_fini(&text);
        return;
    }
    hd_buf_puts(out, "<pre>");
    for (const char *at = text.ptr; *at && line <= place->line + LINES_AROUND; line++) {
        size_t len = strcspn(at, "\n");
        if (line >= first) {
            hd_buf_printf(out, "%s%5u  ", line == place->line ? "<mark>" : "", line);
            put_escaped(out, at, len);
            hd_buf_puts(out, line == place->line ? "</mark>\n" : "\n");
        }
        at += len + (at[len] == '\n');
    }
    hd_buf_puts(out, "</pre>\n");
    hd_buf_fini(&text);
}

/* ---- causes */

/* The lines of all that take part, both of a race, or the call; and the kernel. */
static void put_place(struct hd_buf *out, const struct check_finding *f)
{
    hd_buf_puts(out, " <span class=\"place\">");
    for (size_t i = 0; i < f->nactors; i++) {
        const struct check_place *place = &f->actors[i].places[0];
        hd_buf_puts(out, i ? " and " : "");
        put(out, place->file[0] ? place->file : check_demangle(place->func, DEMANGLE_FULL));
        if (place->file[0])
            hd_buf_printf(out, ":%u", place->line);
    }
    for (size_t i = 0; i < f->nsides; i++) {
        hd_buf_puts(out, i + f->nactors ? " and " : "");
        put(out, f->sides[i].name);
    }
    if (!f->nactors && !f->nsides)
        put(out, check_api(f));
    if (f->has_launch) {
        hd_buf_puts(out, " in ");
        put(out, check_demangle(f->kernel, DEMANGLE_FULL));
    }
    hd_buf_puts(out, "</span>");
}

static void put_example(struct hd_buf *out, const struct check_options *options,
                        const struct check_finding *f)
{
    struct hd_buf text = {0};

    check_text_finding(options, f, NULL, &text);
    hd_buf_puts(out, "<pre>");
    put(out, text.ptr ? text.ptr : "");
    hd_buf_puts(out, "</pre>\n");
    hd_buf_fini(&text);
    if (!f->has_launch)
        return;
    hd_buf_printf(out, "<p>Launch %llu of <code>", (unsigned long long)f->launch);
    put(out, check_demangle(f->kernel, DEMANGLE_FULL));
    hd_buf_printf(out, "</code>: grid (%u,%u,%u), block (%u,%u,%u)</p>\n", f->grid[0], f->grid[1],
                  f->grid[2], f->block[0], f->block[1], f->block[2]);
}

static void put_group(struct hd_buf *out, const struct check_options *options,
                      const struct check_group *group, bool is_open)
{
    const struct check_finding *f = group->first;

    hd_buf_printf(
        out, "<details%s>\n<summary><span class=\"count\">%llu &times;</span><span class=\"%s\">",
        is_open ? " open" : "", (unsigned long long)group->count,
        san_severity_words[group->severity]);
    put(out, f->title);
    hd_buf_puts(out, "</span>");
    put_place(out, f);
    hd_buf_puts(out, "</summary>\n");
    put_example(out, options, f);
    if (group->causes > 1)
        hd_buf_printf(out, "<p>%llu instructions of these lines do so.</p>\n",
                      (unsigned long long)group->causes);
    for (size_t i = 0; i < f->nactors; i++)
        put_source(out, &f->actors[i].places[0]);
    hd_buf_puts(out, "</details>\n");
}

/* Those of one tool, in the order in which they were found. */
static void put_tool(struct hd_buf *out, const struct check_session *s, const char *tool,
                     bool is_first)
{
    bool any = false;

    for (size_t i = 0; i < s->groups.len; i++) {
        const struct check_group *group = &s->groups.at[i];
        if (group->suppressed || strcmp(group->first->tool, tool) != 0)
            continue;
        if (!any) {
            hd_buf_puts(out, "<h2>");
            put(out, tool);
            hd_buf_puts(out, "</h2>\n");
        }
        put_group(out, s->options, group, is_first && !any);
        any = true;
    }
}

static bool is_first_of_tool(const struct check_session *s, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(s->groups.at[i].first->tool, s->groups.at[index].first->tool) == 0)
            return false;
    return true;
}

static void put_total(struct hd_buf *out, const char *name, uint64_t number)
{
    hd_buf_printf(out, "<tr><th>%s</th><td>%llu</td></tr>\n", name, (unsigned long long)number);
}

static void put_totals(struct hd_buf *out, const struct check_session *s)
{
    const struct check_totals *t = &s->totals;

    hd_buf_puts(out, "<table>\n");
    put_total(out, "errors", t->errors);
    put_total(out, "hazards", t->hazards);
    if (s->tools & 1u << SAN_SCHEDCHECK)
        put_total(out, "results that depend on the order", t->orders);
    if (s->leak_check)
        put_total(out, "bytes leaked", t->leaked_B);
    put_total(out, "suppressed", t->suppressed);
    put_total(out, "processes", t->processes);
    if (t->lost)
        put_total(out, "records lost", t->lost);
    hd_buf_puts(out, "</table>\n");
}

enum hd_status check_html_write(const struct check_session *s, const char *path)
{
    struct hd_buf out = {0};

    hd_buf_puts(&out, head);
    hd_buf_puts(&out, "<h1>heddle check</h1>\n<p><code>");
    for (char **word = s->options->command; *word; word++) {
        put(&out, *word);
        hd_buf_putc(&out, ' ');
    }
    hd_buf_puts(&out, "</code></p>\n");
    put_totals(&out, s);
    for (size_t i = 0; i < s->groups.len; i++)
        if (is_first_of_tool(s, i))
            put_tool(&out, s, s->groups.at[i].first->tool, i == 0);
    hd_buf_puts(&out, "</body>\n</html>\n");
    enum hd_status status = out.failed ? hd_error(HD_NO_MEMORY, "%s: out of memory", path)
                                       : hd_file_write(path, out.ptr, out.len);
    hd_buf_fini(&out);
    return status;
}
