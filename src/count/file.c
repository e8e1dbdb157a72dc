/* See file.h. */
#include "count/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
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

static int descriptor_locked(void)
{
    char path[sizeof(file.path) + 32];

    if (file.fd >= 0 && file.pid == getpid())
        return file.fd;
    if (file.fd >= 0)
        (void)close(file.fd); /* the parent's */
    file.pid = getpid();
    (void)snprintf(path, sizeof(path), "%s/%d" COUNT_FILE_SUFFIX, file.path, (int)file.pid);
    file.fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
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

static void put_launch(struct hd_buf *out, const struct count_launch *launch)
{
    const struct ir_probe_launch *l = &launch->about;

    hd_buf_puts(out, "L");
    put(out, l->correlation);
    put(out, l->grid_id);
    put(out, launch->begin_ns);
    put(out, hd_clock_ns(CLOCK_MONOTONIC));
    for (int i = 0; i < 3; i++)
        put(out, l->grid[i]);
    for (int i = 0; i < 3; i++)
        put(out, l->block[i]);
    for (int i = 0; i < 3; i++)
        put(out, l->cluster[i]);
    put(out, l->shared_B - HD_MIN(l->shared_B, l->dynamic_shared_B));
    put(out, l->dynamic_shared_B);
    put_text(out, l->kernel->name);
    hd_buf_putc(out, '\n');
}

/* How often an instruction was executed, of all groups that have it. */
struct executed {
    uint64_t issued, lanes, on;
};

static void executed_add(const struct ir_module *m, const uint64_t *words, struct executed *out)
{
    for (uint32_t g = 0; g < m->count_groups.len; g++) {
        const struct ir_count_group *group = &m->count_groups.at[g];
        const uint64_t *own = words + ir_count_group_word(g);
        for (uint32_t i = 0; i < group->count; i++) {
            uint32_t item = m->count_items.at[group->first + i];
            struct executed *e = &out[ir_count_instr(item)];
            if (ir_count_kind(item) != IR_COUNT_ON) {
                e->issued += own[IR_COUNT_WARPS];
                e->lanes += own[IR_COUNT_LANES];
            }
            if (ir_count_kind(item) != IR_COUNT_ISSUE)
                e->on += own[IR_COUNT_LANES];
        }
    }
}

static void put_instr(struct hd_buf *out, const struct ir_module *m, uint32_t i,
                      const struct executed *e, const uint64_t *words)
{
    const struct ir_counted *in = &m->counted.at[i];
    bool is_guarded_branch = in->classes & IR_COUNT_BRANCH && e->on < e->lanes;

    hd_buf_puts(out, "I");
    put(out, in->classes);
    put(out, e->issued);
    put(out, e->lanes);
    put(out, is_guarded_branch ? words[IR_COUNT_TAKEN] : e->on);
    put(out, words[IR_COUNT_TAKEN]);
    put(out, words[IR_COUNT_DIVERGENT]);
    for (uint32_t w = IR_COUNT_ACCESSES; w < IR_COUNT_INSTR_WORDS; w++)
        put(out, words[w]);
    put(out, in->ptx_line);
    put(out, in->place.line);
    put_text(out, in->form);
    put_text(out, in->function);
    put_text(out, in->place.file ? m->files.at[in->place.file - 1] : "");
    hd_buf_putc(out, '\n');
}

void count_file_write(const struct count_launch *launch, const uint64_t *words)
{
    const struct ir_module *m = launch->about.kernel->module;
    struct executed *executed = hd_alloc_array(m->counted.len + 1, sizeof(*executed));
    struct hd_buf text;

    hd_buf_init(&text);
    put_launch(&text, launch);
    if (executed)
        executed_add(m, words, executed);
    for (uint32_t i = 0; executed && i < m->counted.len; i++)
        if (executed[i].issued)
            put_instr(&text, m, i, &executed[i], words + ir_count_instr_word(m, i));
    hd_buf_puts(&text, "E\n");
    if (executed && !text.failed)
        write_all(text.ptr, text.len);
    else
        hd_log("no memory for the counters of a launch");
    hd_free(executed);
    hd_buf_fini(&text);
}
