/* See html.h. */
#include "common/html.h"

#include <assert.h>
#include <string.h>

#include "report/excess.h"

enum { LINES_AROUND = 3 };

static void put_part(struct hd_buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const char *stands = html_stands_for(text[i]);
        if (stands)
            hd_buf_puts(out, stands);
        else
            hd_buf_putc(out, text[i]);
    }
}

void html_put(struct hd_buf *out, const char *text)
{
    put_part(out, text, strlen(text));
}

static bool is_near(uint32_t line, const struct html_mark *marks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((uint64_t)line + LINES_AROUND >= marks[i].line &&
            line <= (uint64_t)marks[i].line + LINES_AROUND)
            return true;
    return false;
}

static void put_line(struct hd_buf *out, uint32_t line, const char *text, size_t len,
                     const struct html_mark *marks, size_t n)
{
    bool is_marked = false;
    const char *said = "";

    for (size_t i = 0; i < n; i++)
        is_marked |= marks[i].line == line;
    hd_buf_printf(out, "%s%5u  ", is_marked ? "<mark>" : "", line);
    put_part(out, text, len);
    hd_buf_puts(out, is_marked ? "</mark>" : "");
    for (size_t i = 0; i < n; i++) {
        if (marks[i].line != line || !marks[i].label[0] || strcmp(said, marks[i].label) == 0)
            continue;
        hd_buf_puts(out, said[0] ? ", " : " <span class=\"label\">");
        said = marks[i].label;
        html_put(out, said);
    }
    hd_buf_puts(out, said[0] ? "</span>\n" : "\n");
}

bool html_put_source(struct hd_buf *out, const char *path, const struct html_mark *marks, size_t n)
{
    struct hd_buf text = {0};
    uint32_t line = 1, last = 0;

    assert(n);
    bool is_text = report_source_read(path, &text) && !memchr(text.ptr, '\0', text.len);
    for (const char *at = is_text ? text.ptr : ""; *at; line++) {
        size_t len = strcspn(at, "\n");
        if (is_near(line, marks, n)) {
            hd_buf_puts(out, !last               ? "<pre tabindex=\"0\">"
                             : line == last + 1u ? ""
                                                 : "    &vellip;\n");
            put_line(out, line, at, len, marks, n);
            last = line;
        }
        at += len + (at[len] == '\n');
    }
    hd_buf_puts(out, last ? "</pre>\n" : "");
    hd_buf_fini(&text);
    return last != 0;
}
