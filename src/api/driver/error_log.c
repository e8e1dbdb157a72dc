/* The ring of lines, their file, and who is told. */
#include "api/driver/error_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"

#define LINE_B 1280 /* the longest message of hd_error(), and the head */

struct callback {
    CUlogsCallback func;
    void *user;
    uintptr_t id;
    unsigned inside; /* threads that call it */
    bool is_removed; /* not in the list any more: the last one inside frees it */
    struct callback *next;
};

static struct {
    struct hd_lock lock;
    pthread_cond_t left; /* a callback that is removed has nobody inside */
    char lines[ERROR_LOG_LINES][LINE_B];
    uint32_t end; /* lines ever written; line n is in place n % ERROR_LOG_LINES */
    bool is_open; /* `fd` was looked for */
    int fd;       /* of CUDA_LOG_FILE; -1: none */
    struct callback *callbacks;
    uintptr_t last_id;
} error_log = {
    .lock = HD_LOCK_INIT(LEAF, "error_log.lock"), .left = PTHREAD_COND_INITIALIZER, .fd = -1};

static HD_THREAD_LOCAL struct callback *calling; /* the one that this thread is in */

/* ---- lines */

/* Seconds that local time is ahead; looked up for a child before the fork: the C library's lock on
 * time zones may be another thread's then, and is not free in the child. */
static long utc_offset;
static bool is_child;

static long log_utc_offset_at(time_t time)
{
    struct tm local;

    return localtime_r(&time, &local) ? local.tm_gmtoff : 0;
}

/* "[TIME][THREAD][SOURCE][SEVERITY][CALL] MESSAGE"; returns its length. */
static size_t log_line_format(char *line, CUlogLevel level, const char *source, const char *symbol,
                              const char *message)
{
    struct timespec now;
    unsigned second;
    int len;

    clock_gettime(CLOCK_REALTIME, &now);
    second =
        (unsigned)((now.tv_sec + (is_child ? utc_offset : log_utc_offset_at(now.tv_sec))) % 86400);
    len = snprintf(line, LINE_B, "[%02u:%02u:%02u.%03d][%ld][%s][%c][%s] %s", second / 3600,
                   second / 60 % 60, second % 60, (int)(now.tv_nsec / 1000000), syscall(SYS_gettid),
                   source, level == CU_LOG_LEVEL_ERROR ? 'E' : 'W', symbol, message);
    /* One line, whatever a file name or a program's text has in it. */
    for (char *c = line; *c; c++)
        if (*c == '\n')
            *c = ' ';
    return HD_MIN((size_t)HD_MAX(len, 0), LINE_B - 1);
}

/* Looked for when there is something to write, as CUDA documents it. */
static int log_file_locked(void)
{
    const char *path = hd_env("CUDA_LOG_FILE");

    assert(hd_lock_held(&error_log.lock));
    if (error_log.is_open || !path)
        return error_log.fd;
    error_log.is_open = true;
    if (!strcmp(path, "stdout"))
        error_log.fd = STDOUT_FILENO;
    else if (!strcmp(path, "stderr"))
        error_log.fd = STDERR_FILENO;
    else
        error_log.fd = hd_log_open(path);
    if (error_log.fd < 0)
        hd_log("CUDA_LOG_FILE=%s: %s", path, strerror(errno));
    return error_log.fd;
}

uint32_t error_log_end(void)
{
    uint32_t end;

    hd_lock_acquire(&error_log.lock);
    end = error_log.end;
    hd_lock_release(&error_log.lock);
    return end;
}

/* ---- dumps */

static const char *log_line_at(uint32_t place)
{
    return error_log.lines[place % ERROR_LOG_LINES];
}

static uint32_t log_lines_kept_locked(void)
{
    return HD_MIN(error_log.end, ERROR_LOG_LINES);
}

/* The first of the lines up to the end that fit, each with its newline. */
static uint32_t log_first_that_fits_locked(uint32_t first, size_t room_B)
{
    uint32_t at = error_log.end;
    size_t used_B = 0;

    while (at != first) {
        used_B += strlen(log_line_at(at - 1)) + 1;
        if (used_B > room_B)
            break;
        at--;
    }
    return at;
}

static bool log_read_locked(uint32_t *place, size_t room_B, struct hd_buf *out_text)
{
    static const char lost[] = "... older lines of the log are not shown";
    uint32_t kept = log_lines_kept_locked();
    bool is_short = place ? error_log.end - *place > kept : error_log.end > kept;
    uint32_t wanted = place ? error_log.end - *place : kept;
    uint32_t oldest = error_log.end - HD_MIN(wanted, kept), first;

    if (wanted > INT32_MAX)
        return hd_error(HD_BAD_ARG, "the iterator is beyond the end of the log") == HD_OK;
    first = log_first_that_fits_locked(oldest, room_B);
    if (is_short || first != oldest) {
        is_short = true;
        first = log_first_that_fits_locked(oldest, room_B - HD_MIN(room_B, sizeof(lost)));
    }
    if (wanted && first == error_log.end)
        return hd_error(HD_BAD_ARG, "%zu bytes do not hold a line of the log", room_B) == HD_OK;
    if (is_short)
        hd_buf_printf(out_text, "%s\n", lost);
    for (uint32_t at = first; at != error_log.end; at++)
        hd_buf_printf(out_text, "%s\n", log_line_at(at));
    assert(out_text->failed || out_text->len <= room_B);
    if (place)
        *place = error_log.end;
    return true;
}

bool error_log_read(uint32_t *place, size_t room_B, struct hd_buf *out_text)
{
    bool is_read;

    hd_lock_acquire(&error_log.lock);
    is_read = log_read_locked(place, room_B, out_text);
    hd_lock_release(&error_log.lock);
    return is_read;
}

/* ---- callbacks */

static void log_callback_leave_locked(struct callback *callback)
{
    assert(callback->inside > 0);
    if (--callback->inside)
        return;
    if (callback->is_removed)
        hd_free(callback);
    else
        pthread_cond_broadcast(&error_log.left);
}

/* The one registered next after `id`. */
static struct callback *log_callback_after_locked(uintptr_t id)
{
    struct callback *next = NULL;

    for (struct callback *c = error_log.callbacks; c; c = c->next)
        if (c->id > id && (!next || c->id < next->id))
            next = c;
    return next;
}

/* Callbacks may change the list: it is looked through anew after each. */
static void log_notify(CUlogLevel level, char *line, size_t len)
{
    struct callback *callback;
    uintptr_t id = 0;

    hd_lock_acquire(&error_log.lock);
    while ((callback = log_callback_after_locked(id))) {
        id = callback->id;
        callback->inside++;
        calling = callback;
        hd_lock_release(&error_log.lock);
        callback->func(callback->user, level, line, len);
        hd_lock_acquire(&error_log.lock);
        calling = NULL;
        log_callback_leave_locked(callback);
    }
    hd_lock_release(&error_log.lock);
}

void error_log_add(CUlogLevel level, const char *source, const char *symbol, const char *message)
{
    char line[LINE_B];
    size_t len = log_line_format(line, level, source, symbol, message);

    hd_lock_acquire(&error_log.lock);
    memcpy(error_log.lines[error_log.end % ERROR_LOG_LINES], line, len + 1);
    error_log.end++;
    /* With one write(), so that lines of several processes stay whole. */
    int fd = log_file_locked();
    if (fd >= 0) {
        char text[LINE_B + 1];
        memcpy(text, line, len);
        text[len] = '\n';
        while (write(fd, text, len + 1) < 0 && errno == EINTR)
            ;
    }
    hd_lock_release(&error_log.lock);
    if (!calling)
        log_notify(level, line, len);
}

uintptr_t error_log_subscribe(CUlogsCallback func, void *user)
{
    struct callback *callback = hd_new(struct callback);
    uintptr_t id;

    if (!callback)
        return 0;
    hd_lock_acquire(&error_log.lock);
    id = ++error_log.last_id;
    *callback = (struct callback){func, user, id, 0, false, error_log.callbacks};
    error_log.callbacks = callback;
    hd_lock_release(&error_log.lock);
    return id;
}

static struct callback *log_callback_take_locked(uintptr_t id)
{
    for (struct callback **at = &error_log.callbacks; *at; at = &(*at)->next) {
        struct callback *callback = *at;
        if (callback->id == id) {
            *at = callback->next;
            return callback;
        }
    }
    return NULL;
}

bool error_log_unsubscribe(uintptr_t id)
{
    struct callback *callback;

    hd_lock_acquire(&error_log.lock);
    callback = log_callback_take_locked(id);
    if (callback && calling && callback->inside) {
        callback->is_removed = true; /* whoever is inside last frees it */
    } else if (callback) {
        while (callback->inside)
            hd_lock_wait(&error_log.lock, &error_log.left);
        hd_free(callback);
    }
    hd_lock_release(&error_log.lock);
    return callback != NULL;
}

/* ---- children */

static void log_fork_prepare(void)
{
    if (!is_child)
        utc_offset = log_utc_offset_at(time(NULL));
    hd_lock_acquire(&error_log.lock);
}

static void log_fork_parent(void)
{
    hd_lock_release(&error_log.lock);
}

/* Only this thread is inside a callback. */
static void log_fork_child(void)
{
    const pthread_cond_t left = PTHREAD_COND_INITIALIZER;

    is_child = true;
    error_log.left = left;
    for (struct callback *c = error_log.callbacks; c; c = c->next)
        c->inside = c == calling;
    hd_lock_release(&error_log.lock);
}

__attribute__((constructor)) static void error_log_init(void)
{
    pthread_atfork(log_fork_prepare, log_fork_parent, log_fork_child);
}
