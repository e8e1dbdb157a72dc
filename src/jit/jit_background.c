/*
 * Threads of a process that make better code while programs run: one for kernels that are
 * interpreted meanwhile, which is urgent, and one for those that run in quick code. LLVM takes
 * seconds for the best code of a large kernel; what is interpreted does not wait for that. A thread
 * is started with its first task and sleeps when there is none.
 *
 * At exit the tasks that are running give their compilation up (jit_llvm.c), and the others are
 * cancelled: a program does not end later because better code is being made. After a fork the child
 * has no such threads: tasks are refused there, and whoever offers one does the work itself.
 */
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/thread.h"
#include "jit/jit_private.h"

enum { URGENT, BETTER, LANES };

struct lane {
    pthread_t thread;
    bool started;
    struct jit_task *first, **last;
    const struct jit_task *running;
};

static struct {
    struct hd_lock lock; /* all below; nothing is taken inside */
    pthread_cond_t changed;
    _Atomic pid_t pid; /* of the process that has the threads; 0 = none yet */
    bool stopping;
    struct lane lanes[LANES];
} background = {.lock = HD_LOCK_INIT(LEAF, "background compiler"),
                .changed = PTHREAD_COND_INITIALIZER,
                .lanes = {{.last = &background.lanes[URGENT].first},
                          {.last = &background.lanes[BETTER].first}}};

static struct jit_task *take_locked(struct lane *lane)
{
    struct jit_task *task = lane->first;

    assert(hd_lock_held(&background.lock));
    if (!task)
        return NULL;
    lane->first = task->next;
    if (!lane->first)
        lane->last = &lane->first;
    return task;
}

static void *lane_main(void *arg)
{
    struct lane *lane = arg;
    struct jit_task *task;

    pthread_setname_np(pthread_self(), "heddle-compile");
    hd_lock_acquire(&background.lock);
    while (!background.stopping) {
        task = take_locked(lane);
        if (!task) {
            hd_lock_wait(&background.lock, &background.changed);
            continue;
        }
        assert(!lane->running);
        lane->running = task;
        hd_lock_release(&background.lock);
        task->run(task, false);
        hd_lock_acquire(&background.lock);
        lane->running = NULL;
        pthread_cond_broadcast(&background.changed);
    }
    hd_lock_release(&background.lock);
    return NULL;
}

/* Takes tasks of `owner`, all when it is NULL, off a lane and puts them in front of `off`. */
static struct jit_task *take_waiting_locked(struct lane *lane, const void *owner,
                                            struct jit_task *off)
{
    struct jit_task *task;

    assert(hd_lock_held(&background.lock));
    lane->last = &lane->first;
    while ((task = *lane->last)) {
        if (owner && task->owner != owner) {
            lane->last = &task->next;
            continue;
        }
        *lane->last = task->next;
        task->next = off;
        off = task;
    }
    return off;
}

/* They are told so. */
static void cancel_waiting(const void *owner)
{
    struct jit_task *off = NULL, *task;

    hd_lock_acquire(&background.lock);
    for (unsigned l = 0; l < LANES; l++)
        off = take_waiting_locked(&background.lanes[l], owner, off);
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
    for (unsigned l = 0; l < LANES; l++) { /* none is started any more */
        if (background.lanes[l].started)
            pthread_join(background.lanes[l].thread, NULL);
    }
    cancel_waiting(NULL);
}

static bool start_locked(struct lane *lane)
{
    assert(hd_lock_held(&background.lock) && !background.stopping);
    if (lane->started)
        return true;
    if (hd_thread_create(&lane->thread, NULL, lane_main, lane))
        return false;
    lane->started = true;
    if (!background.pid) {
        background.pid = getpid();
        atexit(background_stop);
    }
    return true;
}

bool jit_background_usable(void)
{
    return !background.pid || background.pid == getpid();
}

bool jit_background_push(struct jit_task *task)
{
    struct lane *lane = &background.lanes[task->is_urgent ? URGENT : BETTER];
    bool taken;

    assert(task->run && task->owner);
    if (!jit_background_usable())
        return false;
    hd_lock_acquire(&background.lock);
    taken = !background.stopping && start_locked(lane);
    if (taken) {
        task->next = NULL;
        *lane->last = task;
        lane->last = &task->next;
        pthread_cond_broadcast(&background.changed);
    }
    hd_lock_release(&background.lock);
    return taken;
}

bool jit_background_take(const struct jit_task *task)
{
    bool found = false;

    hd_lock_acquire(&background.lock);
    for (unsigned l = 0; l < LANES && !found; l++) {
        struct lane *lane = &background.lanes[l];
        struct jit_task **link = &lane->first;

        while (*link && *link != task)
            link = &(*link)->next;
        found = *link != NULL;
        if (found)
            *link = task->next;
        if (found && !*link)
            lane->last = link;
    }
    hd_lock_release(&background.lock);
    return found;
}

static bool is_running_locked(const void *owner)
{
    bool running = false;

    assert(hd_lock_held(&background.lock));
    for (unsigned l = 0; l < LANES; l++) {
        const struct jit_task *task = background.lanes[l].running;
        running |= task && task->owner == owner;
    }
    return running;
}

void jit_background_cancel(const void *owner)
{
    assert(owner);
    if (background.pid != getpid())
        return;
    cancel_waiting(owner);
    hd_lock_acquire(&background.lock);
    while (is_running_locked(owner))
        hd_lock_wait(&background.lock, &background.changed);
    hd_lock_release(&background.lock);
}
