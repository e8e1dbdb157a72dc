/* See excess.h. */
#include "report/excess.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#define SOURCE_MAX_B ((size_t)4 << 20)

static bool excess_is_same_line(const struct report_sectors *a, const struct report_sectors *b)
{
    return a->line == b->line && strcmp(a->file, b->file) == 0;
}

bool report_excess_find(const struct report_sectors *lines, size_t n, struct report_excess *out)
{
    double most = 0;

    *out = (struct report_excess){0};
    for (size_t i = 0; i < n; i++) {
        double all = 0, ideal = 0;
        if (lines[i].all > 0)
            out->all += lines[i].all;
        if (!(lines[i].all > lines[i].ideal))
            continue;
        out->excess += lines[i].all - lines[i].ideal;
        for (size_t k = 0; k < n; k++)
            if (excess_is_same_line(&lines[i], &lines[k])) {
                all += lines[k].all;
                ideal += lines[k].ideal;
            }
        if (all - ideal > most) {
            most = all - ideal;
            out->first = i;
            out->line_all = all;
            out->line_ideal = ideal;
        }
    }
    assert(out->excess >= 0);
    return most > 0 && out->excess >= REPORT_EXCESS_LEAST * out->all;
}

bool report_is_source(const char *file)
{
    return *file && strcmp(file, "ptx") != 0;
}

bool report_source_read(const char *file, struct hd_buf *out)
{
    struct stat st;

    /* The name is the program's: what it is of may be a pipe, which would be waited for. */
    return stat(file, &st) == 0 && S_ISREG(st.st_mode) &&
           hd_file_read(file, SOURCE_MAX_B, out) == HD_OK && out->ptr;
}

void report_text_line(struct hd_str text, unsigned line, struct hd_buf *out)
{
    const char *at = line ? text.ptr : NULL, *end = text.ptr + text.len;

    for (unsigned i = 1; at && i < line; i++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    const char *stop = at;
    while (stop && stop < end && *stop && *stop != '\r' && *stop != '\n')
        stop++;
    while (at < stop && isspace((unsigned char)*at))
        at++;
    while (at < stop && isspace((unsigned char)stop[-1]))
        stop--;
    assert(!at || (at <= stop && stop <= end));
    for (; at < stop; at++) /* nothing in it moves a terminal's cursor */
        hd_buf_putc(out, iscntrl((unsigned char)*at) ? ' ' : *at);
}

void report_source_line(const char *file, unsigned line, struct hd_buf *out)
{
    struct hd_buf text = {0};

    if (line && report_source_read(file, &text))
        report_text_line((struct hd_str){text.ptr, text.len}, line, out);
    hd_buf_fini(&text);
}
