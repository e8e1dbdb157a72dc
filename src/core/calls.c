#include "core/calls.h"

#include <assert.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/list.h"
#include "base/stack.h"
#include "hal/hal.h"

#define LOOK_AGAIN_NS 50000

static HD_THREAD_LOCAL struct core_caller self;
static _Atomic bool stopped;

static struct {
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t resumed;
    struct core_caller *first;
} callers = {.lock = PTHREAD_MUTEX_INITIALIZER, .resumed = PTHREAD_COND_INITIALIZER};

static pthread_key_t exit_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- threads */

/* A call in a later destructor of the thread makes it known again, and this run again. */
static void thread_exit(void *arg)
{
    struct core_caller *caller = arg;

    pthread_mutex_lock(&callers.lock);
    hd_list_remove(caller);
    pthread_mutex_unlock(&callers.lock);
    caller->is_known = false;
}

static void fork_prepare(void)
{
    pthread_mutex_lock(&callers.lock);
}

static void fork_parent(void)
{
    pthread_mutex_unlock(&callers.lock);
}

/* The child has this thread alone, and nobody who could let calls go on. */
static void fork_child(void)
{
    callers.first = NULL;
    if (self.is_known)
        hd_list_push(&callers.first, &self);
    atomic_store(&stopped, false);
    pthread_mutex_unlock(&callers.lock);
}

static void init(void)
{
    if (pthread_key_create(&exit_key, thread_exit))
        abort(); /* no keys are left: nothing a library can work with */
    pthread_atfork(fork_prepare, fork_parent, fork_child);
}

/* ---- waiting */

/* The thread is not known yet, or has to wait. */
static HD_NOINLINE struct core_caller *enter_slow(struct core_caller *caller)
{
    assert(caller == &self);
    if (!caller->is_known) {
        pthread_once(&once, init);
        pthread_mutex_lock(&callers.lock);
        hd_list_push(&callers.first, caller);
        pthread_mutex_unlock(&callers.lock);
        caller->is_known = true;
        if (pthread_setspecific(exit_key, caller))
            abort(); /* the list would keep a thread that is gone */
    }
    if (atomic_load_explicit(&caller->inside, memory_order_relaxed) > 1)
        return caller;
    /* It may have been made known after core_calls_stop() looked through the list: look again. */
    atomic_thread_fence(memory_order_seq_cst);
    while (atomic_load(&stopped)) {
        atomic_store(&caller->inside, 0);
        pthread_mutex_lock(&callers.lock);
        while (atomic_load(&stopped))
            pthread_cond_wait(&callers.resumed, &callers.lock);
        pthread_mutex_unlock(&callers.lock);
        atomic_store(&caller->inside, 1);
    }
    return caller;
}

/* Not inline: see meson.build. */
struct core_caller *core_call_enter(void)
{
    struct core_caller *caller = &self;

    if (HD_UNLIKELY(!hd_stack_is_surely_enough()) && hd_stack_is_short())
        return NULL;
    uint32_t inside = atomic_load_explicit(&caller->inside, memory_order_relaxed);

    atomic_store_explicit(&caller->inside, inside + 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* the other half is core_calls_stop()'s */
    if (HD_UNLIKELY(atomic_load_explicit(&stopped, memory_order_acquire) || !caller->is_known))
        return enter_slow(caller);
    return caller;
}

/* ---- stopping */

static bool barrier_everywhere(void)
{
    return !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) &&
           !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

static bool somebody_inside(void)
{
    bool found = false;

    pthread_mutex_lock(&callers.lock);
    for (struct core_caller *c = callers.first; c && !found; c = c->next)
        found = atomic_load_explicit(&c->inside, memory_order_acquire);
    pthread_mutex_unlock(&callers.lock);
    return found;
}

enum hd_status core_calls_stop(uint64_t deadline_ns)
{
    const struct timespec pause = {0, LOOK_AGAIN_NS};
    enum hd_status status = HD_OK;

    assert(!atomic_load(&stopped));
    atomic_store(&stopped, true);
    if (!barrier_everywhere())
        status = hd_error(HD_NOT_SUPPORTED, "this system has no membarrier()");
    while (status == HD_OK && somebody_inside()) {
        if (hal_time_ns() >= deadline_ns)
            status = HD_TIMEOUT;
        else
            nanosleep(&pause, NULL);
    }
    if (status != HD_OK)
        core_calls_resume();
    return status;
}

void core_calls_resume(void)
{
    pthread_mutex_lock(&callers.lock);
    atomic_store(&stopped, false);
    pthread_cond_broadcast(&callers.resumed);
    pthread_mutex_unlock(&callers.lock);
}
