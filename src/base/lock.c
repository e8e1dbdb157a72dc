#include "base/lock.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>

#include "base/log.h"

/* ---- children of fork() */

/* How many forks are behind this process; written while it has one thread. */
static _Atomic uint32_t forks;
static pthread_t forker; /* the thread that forked last */

/* What the linker makes of HD_FORK_MUTEX(). */
extern const struct hd_fork_mutex __start_hd_fork_mutex[]
    __attribute__((weak, visibility("hidden")));
extern const struct hd_fork_mutex __stop_hd_fork_mutex[]
    __attribute__((weak, visibility("hidden")));

void hd_fork_child(void)
{
    const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    forker = pthread_self();
    atomic_store(&forks, atomic_load(&forks) + 1);
    for (const struct hd_fork_mutex *at = __start_hd_fork_mutex; at < __stop_hd_fork_mutex; at++)
        *at->mutex = mutex;
}

/* Before the constructors of modules that register handlers of their own. */
__attribute__((constructor(101))) static void fork_init(void)
{
    (void)pthread_atfork(NULL, NULL, hd_fork_child);
}

/*
 * The first time that the child looks at a lock: it is made anew, unless the thread that forked has
 * it. Threads of the child that come together wait for the one that does it.
 */
static HD_NOINLINE void lock_after_fork(struct hd_lock *lock, uint32_t now)
{
    const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    const uint32_t busy = UINT32_MAX;
    uint32_t before = atomic_load(&lock->forks);

    while (before != now) {
        if (before == busy || !atomic_compare_exchange_weak(&lock->forks, &before, busy)) {
            sched_yield();
            before = atomic_load(&lock->forks);
            continue;
        }
        if (!atomic_load(&lock->holder) || atomic_load(&lock->holder) != forker) {
            lock->mutex = mutex;
            atomic_store(&lock->holder, 0);
        }
        atomic_store(&lock->forks, now);
        return;
    }
}

/* ---- locks */

void hd_lock_init(struct hd_lock *lock, enum hd_lock_rank rank, const char *name)
{
    /* What pthread_mutex_init() would write, without its look at attributes. */
    const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    lock->mutex = mutex;
    lock->rank = rank;
    lock->name = name;
    atomic_init(&lock->forks, atomic_load_explicit(&forks, memory_order_relaxed));
    atomic_init(&lock->holder, 0);
}

void hd_lock_fini(struct hd_lock *lock)
{
    assert(atomic_load(&forks) || !atomic_load_explicit(&lock->holder, memory_order_relaxed));
    pthread_mutex_destroy(&lock->mutex);
}

#ifndef NDEBUG

#define LOCK_DEPTH_MAX 16

/* What this thread holds. Ranks increase, because every acquire was checked. */
static HD_THREAD_LOCAL struct {
    const struct hd_lock *locks[LOCK_DEPTH_MAX];
    unsigned depth;
} stack;

static void lock_push(const struct hd_lock *lock)
{
    unsigned depth = stack.depth;
    const struct hd_lock *top = depth ? stack.locks[depth - 1] : NULL;

    if (HD_UNLIKELY(top && top->rank >= lock->rank)) {
        hd_log("lock order: '%s' (rank %d) is taken while '%s' (rank %d) is held", lock->name,
               (int)lock->rank, top->name, (int)top->rank);
        abort();
    }
    assert(depth < LOCK_DEPTH_MAX);
    stack.locks[depth] = lock;
    stack.depth = depth + 1;
}

/* Locks may be released in any order. */
static void lock_pop(const struct hd_lock *lock)
{
    unsigned i = stack.depth;

    if (HD_LIKELY(i > 0 && stack.locks[i - 1] == lock)) {
        stack.depth = i - 1;
        return;
    }
    while (i > 0 && stack.locks[i - 1] != lock)
        i--;
    assert(i > 0 && "released by a thread that does not hold it");
    for (; i < stack.depth; i++)
        stack.locks[i - 1] = stack.locks[i];
    stack.depth--;
}

#else

static void lock_push(const struct hd_lock *lock)
{
}

static void lock_pop(const struct hd_lock *lock)
{
}

#endif

static void holder_set(struct hd_lock *lock, pthread_t holder)
{
    atomic_store_explicit(&lock->holder, holder, memory_order_relaxed);
}

void hd_lock_acquire(struct hd_lock *lock)
{
    uint32_t now = atomic_load_explicit(&forks, memory_order_relaxed);

    if (HD_UNLIKELY(now && atomic_load_explicit(&lock->forks, memory_order_acquire) != now))
        lock_after_fork(lock, now);
    lock_push(lock);
    pthread_mutex_lock(&lock->mutex);
    holder_set(lock, pthread_self());
}

void hd_lock_release(struct hd_lock *lock)
{
    lock_pop(lock);
    holder_set(lock, 0);
    pthread_mutex_unlock(&lock->mutex);
}

void hd_lock_wait(struct hd_lock *lock, pthread_cond_t *cond)
{
    assert(hd_lock_held(lock));
    holder_set(lock, 0);
    pthread_cond_wait(cond, &lock->mutex);
    holder_set(lock, pthread_self());
}

void hd_lock_wait_until(struct hd_lock *lock, pthread_cond_t *cond, const struct timespec *until)
{
    assert(hd_lock_held(lock));
    holder_set(lock, 0);
    pthread_cond_timedwait(cond, &lock->mutex, until);
    holder_set(lock, pthread_self());
}
