/* See file.h. */
#include "count/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "count/private.h"

static struct {
    struct hd_lock lock; /* below */
    char path[4096];     /* of the folder */
    int fd;
    pid_t pid; /* whose file it is: children of fork() have their own */
} file = {.lock = HD_LOCK_INIT(LEAF, "counts"), .fd = -1};

enum hd_status count_file_open(const char *folder)
{
    int n = snprintf(file.path, sizeof(file.path), "%s", folder);

    return n > 0 && (size_t)n < sizeof(file.path)
               ? HD_OK
               : hd_error(HD_BAD_ARG, "HEDDLE_COUNT: the folder's name is too long");
}

bool count_file_is_open(void)
{
    return *file.path != '\0';
}

static int descriptor_locked(void)
{
    char path[sizeof(file.path) + 32];

    assert(hd_lock_held(&file.lock) && count_file_is_open());
    if (file.fd >= 0 && file.pid == getpid())
        return file.fd;
    if (file.fd >= 0)
        (void)close(file.fd); /* the parent's */
    file.pid = getpid();
    (void)snprintf(path, sizeof(path), "%s/%d" COUNT_FILE_SUFFIX, file.path, (int)file.pid);
    file.fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    return file.fd;
}

static void write_all(const char *text, size_t len)
{
    hd_lock_acquire(&file.lock);
    int fd = descriptor_locked();
    while (len) {
        ssize_t n = fd < 0 ? -1 : write(fd, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        text += n;
        len -= (size_t)n;
    }
    hd_lock_release(&file.lock);
    if (len)
        hd_log("counters of a launch cannot be written: %s", strerror(errno));
}

/* ---- lines */

void count_file_line(char kind, const char *text)
{
    struct hd_buf line;

    assert(!strchr(text, '\n')); /* it would be one more */
    hd_buf_init(&line);
    hd_buf_printf(&line, "%c\t%s\n", kind, text);
    if (!line.failed)
        write_all(line.ptr, line.len);
    hd_buf_fini(&line);
}

static void put_text(struct hd_buf *out, const char *text)
{
    hd_buf_putc(out, '\t');
    for (; text && *text; text++)
        hd_buf_putc(out, *text == '\t' || *text == '\n' ? ' ' : *text);
}

static void put(struct hd_buf *out, uint64_t n)
{
    char text[24];
    size_t at = sizeof(text);

    do
        text[--at] = (char)('0' + n % 10);
    while (n /= 10);
    text[--at] = '\t';
    hd_buf_append(out, text + at, sizeof(text) - at);
}

static void put_launch(struct hd_buf *out, const struct heddle_counted *l)
{
    hd_buf_puts(out, "L");
    put(out, l->correlation);
    put(out, l->grid_id);
    put(out, l->begin_ns);
    put(out, l->end_ns);
    for (int i = 0; i < 3; i++)
        put(out, l->grid[i]);
    for (int i = 0; i < 3; i++)
        put(out, l->block[i]);
    for (int i = 0; i < 3; i++)
        put(out, l->cluster[i]);
    put(out, l->static_shared_B);
    put(out, l->dynamic_shared_B);
    put_text(out, l->kernel);
    hd_buf_putc(out, '\n');
}

static void put_instr(struct hd_buf *out, const struct heddle_counted_instr *in)
{
    hd_buf_puts(out, "I");
    put(out, in->classes);
    put(out, in->issued);
    put(out, in->lanes);
    put(out, in->on);
    put(out, in->taken);
    put(out, in->divergent);
    put(out, in->ops);
    put(out, in->window_B);
    for (int s = 0; s < IR_COUNT_SPACES; s++)
        for (int w = 0; w < IR_COUNT_ACCESS_WORDS; w++)
            put(out, in->in[s][w]);
    put(out, in->ptx_line);
    put(out, in->line);
    put_text(out, in->form);
    put_text(out, in->function);
    put_text(out, in->file);
    hd_buf_putc(out, '\n');
}

void count_file_write(const struct heddle_counted *launch)
{
    struct hd_buf text;

    hd_buf_init(&text);
    put_launch(&text, launch);
    for (uint32_t i = 0; i < launch->ninstrs; i++)
        put_instr(&text, &launch->instrs[i]);
    hd_buf_puts(&text, "E\n");
    if (!text.failed)
        write_all(text.ptr, text.len);
    else
        hd_log("no memory for the counters of a launch");
    hd_buf_fini(&text);
}
