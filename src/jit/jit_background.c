/*
 * One thread per process that makes better code while programs run. It is started with the first
 * task and sleeps when there is none.
 *
 * At exit the task that is running gives its compilation up (jit_llvm.c), and the others are
 * cancelled: a program does not end later because better code is being made. After a fork the child
 * has no such thread: tasks are refused there, and whoever offers one does the work itself.
 */
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/thread.h"
#include "jit/jit_private.h"

static struct {
    struct hd_lock lock; /* all below; nothing is taken inside */
    pthread_cond_t changed;
    pthread_t thread;
    _Atomic pid_t pid; /* of the process that has the thread; 0 = none yet */
    bool stopping;
    struct jit_task *first, **last;
    const struct jit_task *running;
} background = {.lock = HD_LOCK_INIT(LEAF, "background compiler"),
                .changed = PTHREAD_COND_INITIALIZER,
                .last = &background.first};

static struct jit_task *take_locked(void)
{
    struct jit_task *task = background.first;

    assert(hd_lock_held(&background.lock));
    if (!task)
        return NULL;
    background.first = task->next;
    if (!background.first)
        background.last = &background.first;
    return task;
}

static void *background_main(void *unused)
{
    struct jit_task *task;

    (void)unused;
    pthread_setname_np(pthread_self(), "heddle-compile");
    hd_lock_acquire(&background.lock);
    while (!background.stopping) {
        task = take_locked();
        if (!task) {
            hd_lock_wait(&background.lock, &background.changed);
            continue;
        }
        assert(!background.running);
        background.running = task;
        hd_lock_release(&background.lock);
        task->run(task, false);
        hd_lock_acquire(&background.lock);
        background.running = NULL;
        pthread_cond_broadcast(&background.changed);
    }
    hd_lock_release(&background.lock);
    return NULL;
}

/* Tasks of `owner`, all when it is NULL, are taken off the list and told so. */
static void cancel_waiting(const void *owner)
{
    struct jit_task *off = NULL, *task;

    hd_lock_acquire(&background.lock);
    for (struct jit_task **link = &background.first; *link;) {
        task = *link;
        if (owner && task->owner != owner) {
            link = &task->next;
            continue;
        }
        *link = task->next;
        task->next = off;
        off = task;
    }
    background.last = &background.first;
    while (*background.last)
        background.last = &(*background.last)->next;
    hd_lock_release(&background.lock);
    while (off) {
        task = off;
        off = task->next;
        task->run(task, true);
    }
}

static void background_stop(void)
{
    if (background.pid != getpid())
        return;
    jit_codegen_end();
    cancel_waiting(NULL);
    hd_lock_acquire(&background.lock);
    background.stopping = true;
    pthread_cond_broadcast(&background.changed);
    hd_lock_release(&background.lock);
    pthread_join(background.thread, NULL);
    cancel_waiting(NULL);
}

static bool start_locked(void)
{
    assert(hd_lock_held(&background.lock));
    if (background.pid)
        return true;
    if (hd_thread_create(&background.thread, NULL, background_main, NULL))
        return false;
    background.pid = getpid();
    atexit(background_stop);
    return true;
}

bool jit_background_usable(void)
{
    return !background.pid || background.pid == getpid();
}

bool jit_background_push(struct jit_task *task)
{
    bool taken;

    assert(task->run && task->owner);
    if (!jit_background_usable())
        return false;
    hd_lock_acquire(&background.lock);
    taken = !background.stopping && start_locked();
    if (taken) {
        task->next = NULL;
        *background.last = task;
        background.last = &task->next;
        pthread_cond_broadcast(&background.changed);
    }
    hd_lock_release(&background.lock);
    return taken;
}

void jit_background_cancel(const void *owner)
{
    assert(owner);
    if (background.pid != getpid())
        return;
    cancel_waiting(owner);
    hd_lock_acquire(&background.lock);
    while (background.running && background.running->owner == owner)
        hd_lock_wait(&background.lock, &background.changed);
    hd_lock_release(&background.lock);
}
