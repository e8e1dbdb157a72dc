/*
 * What clang says, as a program reads it in NVRTC's log. Few messages have readers: Jitify looks
 * for the header that was not found, tests for an undefined name. These are said in NVRTC's words.
 */
#include "api/nvrtc/program.h"

/* Around the name in clang's text, and around it in NVRTC's. */
static const struct message {
    const char *before, *after, *said_before, *said_after;
} messages[] = {
    {"fatal error: '", "' file not found", "catastrophic error: cannot open source file \"",
     "\" (no such file or directory)"},
    /* clang finds it beside the file that includes it, where <> does not look. */
    {"error: '", "' file not found with <angled> include; use \"quotes\" instead",
     "catastrophic error: cannot open source file \"", "\" (no such file or directory)"},
    {"error: use of undeclared identifier '", "'", "error: identifier \"", "\" is undefined"},
    {"error: unknown type name '", "'", "error: identifier \"", "\" is undefined"},
    {"warning: unused variable '", "' [-Wunused-variable]", "warning #177-D: variable \"",
     "\" was declared but never referenced"},
};

static bool put_message(struct hd_buf *log, const char *line, size_t len, const struct message *m)
{
    const char *at = memmem(line, len, m->before, strlen(m->before));
    const char *name = at ? at + strlen(m->before) : NULL;
    const char *end =
        at ? memmem(name, len - (size_t)(name - line), m->after, strlen(m->after)) : NULL;

    if (!end)
        return false;
    hd_buf_append(log, line, (size_t)(at - line));
    hd_buf_printf(log, "%s%.*s%s", m->said_before, (int)(end - name), name, m->said_after);
    return true;
}

/* NVRTC tells the line and no column. Returns what is behind. */
static const char *put_place(struct hd_buf *log, const char *line, const char *end)
{
    for (const char *at = line; (at = memchr(at, ',', (size_t)(end - at))); at++) {
        /*
         * The length of a column behind a line's number, ",12" of "x.cu(3,12): "; 0: no such comma.
         */
        size_t digits = strspn(at + 1, "0123456789");
        size_t column = digits && !strncmp(at + 1 + digits, "): ", 3) ? 1 + digits : 0;

        if (column) {
            hd_buf_append(log, line, (size_t)(at - line));
            return at + column;
        }
    }
    return line;
}

static void put_line(struct hd_buf *log, const char *line, size_t len)
{
    const char *end = line + len;

    line = put_place(log, line, end);
    len = (size_t)(end - line);
    for (size_t i = 0; i < HD_COUNT_OF(messages); i++)
        if (put_message(log, line, len, &messages[i]))
            return;
    hd_buf_append(log, line, len);
}

/* A line of source that clang shows, "   14 |   T x;", or carets under it, which NVRTC does not. */
static bool is_shown(const char *line)
{
    line += strspn(line, " ");
    line += strspn(line, "0123456789");
    return !strncmp(line, " |", 2);
}

void rtc_log_put(struct hd_buf *log, const struct hd_buf *text)
{
    for (const char *line = text->ptr; line && *line;) {
        size_t len = strcspn(line, "\n");

        if (!is_shown(line)) {
            put_line(log, line, len);
            hd_buf_putc(log, '\n');
        }
        line += len + (line[len] == '\n');
    }
}
