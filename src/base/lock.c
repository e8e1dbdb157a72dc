#include "base/lock.h"

#include <assert.h>
#include <stdlib.h>

#include "base/log.h"

void hd_lock_init(struct hd_lock *lock, enum hd_lock_rank rank, const char *name)
{
    /* What pthread_mutex_init() would write, without its look at attributes. */
    const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    lock->mutex = mutex;
    lock->rank = rank;
    lock->name = name;
    atomic_init(&lock->holder, 0);
}

void hd_lock_fini(struct hd_lock *lock)
{
    assert(!atomic_load_explicit(&lock->holder, memory_order_relaxed));
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

static void holder_set(struct hd_lock *lock, pthread_t holder)
{
    atomic_store_explicit(&lock->holder, holder, memory_order_relaxed);
}

#else

static void lock_push(const struct hd_lock *lock)
{
}

static void lock_pop(const struct hd_lock *lock)
{
}

static void holder_set(struct hd_lock *lock, pthread_t holder)
{
}

#endif

void hd_lock_acquire(struct hd_lock *lock)
{
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
