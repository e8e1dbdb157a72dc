#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#define LOG_LINE_B 2048

uint32_t hd_debug_flags;

static int log_fd = STDERR_FILENO;

struct debug_flag_row {
    const char *name;
    const char *doc;
};

static const struct debug_flag_row debug_flag_rows[] = {
#define X(name, text, doc) {text, doc},
    HD_DEBUG_FLAG_LIST(X)
#undef X
};

_Static_assert(HD_DEBUG_FLAG_COUNT <= 32, "hd_debug_flags is one word");

static void log_write(const char *text, size_t len)
{
    while (len) {
        ssize_t put = write(log_fd, text, len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return;
        text += put;
        len -= (size_t)put;
    }
}

/* One write() per line; a longer line than the buffer is cut, its newline kept. */
static void log_line(const char *flag, const char *fmt, va_list args)
{
    int saved_errno = errno;
    char line[LOG_LINE_B];
    size_t room = sizeof(line) - 1;
    int head = flag ? snprintf(line, room, "heddle[%s]: ", flag) : snprintf(line, room, "heddle: ");
    int body = vsnprintf(line + head, room - (size_t)head, fmt, args);
    size_t len = HD_MIN((size_t)head + (size_t)HD_MAX(body, 0), room - 1);

    line[len++] = '\n';
    assert(len <= sizeof(line));
    log_write(line, len);
    errno = saved_errno;
}

static const char *debug_flag_name(enum hd_debug_flag flag)
{
    assert(flag && !((unsigned)flag & ((unsigned)flag - 1))); /* one flag, which has a row */
    assert((unsigned)__builtin_ctz((unsigned)flag) < HD_DEBUG_FLAG_COUNT);
    return debug_flag_rows[__builtin_ctz((unsigned)flag)].name;
}

void hd_log(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    log_line(NULL, fmt, args);
    va_end(args);
}

void hd_log_debug(enum hd_debug_flag flag, const char *fmt, ...)
{
    va_list args;

    if (!hd_debug(flag))
        return;
    va_start(args, fmt);
    log_line(debug_flag_name(flag), fmt, args);
    va_end(args);
}

void hd_log_dump(enum hd_debug_flag flag, const char *heading, const char *text)
{
    struct hd_buf buf = {0};

    if (!hd_debug(flag))
        return;
    hd_buf_printf(&buf, "heddle[%s]: %s\n%s", debug_flag_name(flag), heading, text);
    if (buf.len && buf.ptr[buf.len - 1] != '\n')
        hd_buf_putc(&buf, '\n');
    if (!buf.failed)
        log_write(buf.ptr, buf.len);
    hd_buf_fini(&buf);
}

static void debug_help(void)
{
    hd_log("HEDDLE_DEBUG is a comma list of:");
    for (size_t i = 0; i < HD_COUNT_OF(debug_flag_rows); i++)
        hd_log("  %-9s %s", debug_flag_rows[i].name, debug_flag_rows[i].doc);
}

/* The bit of a flag; 0 when there is no such flag. */
static uint32_t debug_flag_find(struct hd_str word)
{
    for (size_t i = 0; i < HD_COUNT_OF(debug_flag_rows); i++)
        if (hd_str_is(word, debug_flag_rows[i].name))
            return 1u << i;
    return 0;
}

/* The next word of a comma list; false at its end. */
static bool next_word(const char **list, struct hd_str *out_word)
{
    while (**list) {
        *out_word = (struct hd_str){*list, strcspn(*list, ",")};
        *list += out_word->len + ((*list)[out_word->len] == ',');
        if (out_word->len)
            return true;
    }
    return false;
}

void hd_debug_parse(const char *list)
{
    struct hd_str word;

    while (next_word(&list, &word))
        hd_debug_flags |= debug_flag_find(word);
}

void hd_debug_check(void)
{
    const char *list = hd_env("HEDDLE_DEBUG");
    struct hd_str word;

    while (list && next_word(&list, &word)) {
        if (hd_str_is(word, "help"))
            debug_help();
        else if (!debug_flag_find(word))
            hd_log("HEDDLE_DEBUG: there is no flag '%.*s'; HEDDLE_DEBUG=help lists them",
                   HD_STR_ARG(word));
    }
}

int hd_log_open(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
    int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

    if (flags >= 0)
        (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    return fd;
}

/* Before main(), and before the constructors of modules that log. */
__attribute__((constructor(101))) static void log_from_env(void)
{
    const char *path = hd_env("HEDDLE_LOG");
    const char *flags = hd_env("HEDDLE_DEBUG");
    struct hd_buf why;

    hd_buf_init(&why);
    if (path && hd_env_allows("HEDDLE_LOG", path, &why)) {
        int fd = hd_log_open(path);
        if (fd >= 0)
            log_fd = fd;
        else
            hd_log("HEDDLE_LOG=%s: %s", path, strerror(errno));
    }
    hd_buf_fini(&why);
    if (flags)
        hd_debug_parse(flags);
}
