#include "core/debug/report.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/text/json.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/thread.h"
#include "core/context.h"
#include "core/device.h"
#include "core/mem/memory_parts.h"
#include "hal/hal.h"

/* A device answers one question at a time. */
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(asking, asking);

/* ---- JSON */

struct writer {
    struct hd_json *j;
    const struct core_device *device; /* whose kernels are written: others may share the HAL's */
};

static void write_running(void *arg, const struct hal_running *r)
{
    const struct writer *w = arg;
    struct hd_json *j = w->j;

    if (((const struct core_context *)r->domain->owner)->device != w->device)
        return;
    hd_json_open(j, NULL, '{');
    hd_json_str(j, "kernel", r->kernel);
    hd_json_index(j, "grid", r->grid);
    hd_json_index(j, "block", r->block);
    hd_json_u64(j, "grid_id", r->grid_id);
    hd_json_u64(j, "running_ns", r->running_ns);
    hd_json_u64(j, "blocks", r->blocks);
    hd_json_u64(j, "begun", r->begun);
    hd_json_u64(j, "threads", r->threads);
    hd_json_u64(j, "threads_of", r->of);
    hd_json_open(j, "waits", '[');
    for (size_t i = 0; i < r->nwaits; i++) {
        hd_json_open(j, NULL, '{');
        hd_json_index(j, "index", r->waits[i].index);
        hd_json_u64(j, "blocks", r->waits[i].blocks);
        hd_json_str(j, "what", r->waits[i].what);
        hd_json_close(j, '}');
    }
    hd_json_close(j, ']');
    hd_json_close(j, '}');
}

static uint64_t memory_B(const struct core_device *d)
{
    uint64_t used_B;

    hd_lock_acquire(&core_memory_lock);
    used_B = core_pool_used_locked(d->pool);
    hd_lock_release(&core_memory_lock);
    return used_B;
}

static void write_device(struct hd_json *j, struct core_device *d, unsigned index, bool has_kernels)
{
    struct writer w = {j, d};

    hd_json_open(j, NULL, '{');
    hd_json_u64(j, "device", index);
    hd_json_str(j, "name", d->hal->info.name);
    hd_json_u64(j, "memory_B", memory_B(d));
    if (d->hal->ops->report && has_kernels) {
        hd_json_open(j, "kernels", '[');
        d->hal->ops->report(d->hal, write_running, &w);
        hd_json_close(j, ']');
    } else {
        hd_json_str(j, "kernels", NULL);
    }
    hd_json_close(j, '}');
}

static void write_process(struct hd_json *j, bool has_kernels)
{
    j->on_line = true;
    hd_json_open(j, NULL, '{');
    hd_json_u64(j, "pid", (uint64_t)getpid());
    hd_json_bool(j, "truncated", !has_kernels);
    hd_json_open(j, "devices", '[');
    for (unsigned i = 0; i < core_device_count(); i++)
        write_device(j, core_device_at(i), i, has_kernels);
    hd_json_close(j, ']');
    hd_json_close(j, '}');
}

/* False: it is too long. */
static bool report_try(struct hd_buf *out, size_t max_B, bool has_kernels)
{
    struct hd_json j;

    hd_json_init(&j);
    write_process(&j, has_kernels);
    bool fits = !j.buf.failed && j.buf.len < max_B;
    if (fits)
        hd_buf_append(out, j.buf.ptr, j.buf.len);
    hd_buf_fini(&j.buf);
    return fits;
}

enum hd_status core_report(struct hd_buf *out, size_t max_B)
{
    pthread_mutex_lock(&asking);
    bool good = report_try(out, max_B, true) || report_try(out, max_B, false);
    pthread_mutex_unlock(&asking);
    return good && !out->failed ? HD_OK : hd_error(HD_NO_MEMORY, "a report of what runs");
}

/* ---- text */

static void print_running(void *arg, const struct hal_running *r)
{
    struct hd_buf *out = arg;

    hd_buf_printf(out,
                  "heddle: kernel %s<<<(%u,%u,%u),(%u,%u,%u)>>> has run for %.1f s, %llu of %llu "
                  "blocks have begun\n",
                  r->kernel, r->grid[0], r->grid[1], r->grid[2], r->block[0], r->block[1],
                  r->block[2], (double)r->running_ns * 1e-9, (unsigned long long)r->begun,
                  (unsigned long long)r->blocks);
    for (size_t i = 0; i < r->nwaits; i++) {
        const struct hal_waiting *w = &r->waits[i];
        hd_buf_printf(out, "heddle:   block (%u,%u,%u)", w->index[0], w->index[1], w->index[2]);
        if (w->blocks > 1)
            hd_buf_printf(out, " and %u more", w->blocks - 1);
        hd_buf_printf(out, ": %s\n", w->what);
    }
    if (!r->nwaits)
        hd_buf_puts(out,
                    "heddle:   its blocks wait for nothing: they compute, or have not begun\n");
}

/* Of those that share a device of the HAL. */
static bool is_first(unsigned ordinal)
{
    unsigned i = 0;

    while (core_device_at((int)i)->hal != core_device_at((int)ordinal)->hal)
        i++;
    return i == ordinal;
}

void core_report_text(struct hd_buf *out)
{
    pthread_mutex_lock(&asking);
    for (unsigned i = 0; i < core_device_count(); i++) {
        struct hal_device *hal = core_device_at((int)i)->hal;
        if (hal->ops->report && is_first(i))
            hal->ops->report(hal, print_running, out);
    }
    pthread_mutex_unlock(&asking);
}

/* ---- at Ctrl-C */

enum { PATIENCE_S = 3 };
static sem_t interrupted;
static pid_t owner;
static volatile sig_atomic_t is_notified; /* somebody who presses it again does not want to wait */

static void die(void)
{
    signal(SIGINT, SIG_DFL);
    kill(getpid(), SIGINT);
}

/*
 * A forked child has no thread that would tell. The program does not go on behind the signal, which
 * it would not have survived: this thread waits until the other one has told and ends it. If it
 * holds what the other one needs (malloc's lock), the time is over first.
 */
static void on_interrupt(int number)
{
    const struct timespec patience = {.tv_sec = PATIENCE_S};
    sigset_t self;

    if (!is_notified && getpid() == owner) {
        is_notified = 1;
        sem_post(&interrupted);
        sigemptyset(&self);
        sigaddset(&self, number);
        pthread_sigmask(SIG_UNBLOCK, &self, NULL);
        nanosleep(&patience, NULL);
    }
    die();
}

static void *interrupt_main(void *unused)
{
    (void)unused;
    while (sem_wait(&interrupted) < 0)
        ;
    struct hd_buf text;
    hd_buf_init(&text);
    core_report_text(&text);
    if (text.len)
        fwrite(text.ptr, 1, text.len, stderr);
    hd_buf_fini(&text);
    die();
    return NULL;
}

void core_report_on_interrupt(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART | SA_ONSTACK},
                     old;
    pthread_t thread;

    if (!isatty(STDERR_FILENO) && !hd_debug(HD_DEBUG_WAITS))
        return;
    if (sigaction(SIGINT, NULL, &old) < 0 || old.sa_handler != SIG_DFL)
        return;
    owner = getpid();
    if (sem_init(&interrupted, 0, 0) < 0 ||
        hd_thread_create(&thread, NULL, interrupt_main, NULL) != 0)
        return;
    pthread_detach(thread);
    sigaction(SIGINT, &action, NULL);
}
