#include "base/lock.h"

#include <assert.h>
#include <stdlib.h>

#include "base/log.h"

void hd_lock_init(struct hd_lock *lock, enum hd_lock_rank rank, const char *name)
{
    pthread_mutex_init(&lock->mutex, NULL);
    lock->rank = rank;
    lock->name = name;
}

void hd_lock_fini(struct hd_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

#ifndef NDEBUG

#define LOCK_DEPTH_MAX 16

/* What this thread holds. Ranks increase, because every acquire was checked. */
static HD_THREAD_LOCAL const struct hd_lock *lock_stack[LOCK_DEPTH_MAX];
static HD_THREAD_LOCAL unsigned lock_depth;

static void lock_push(const struct hd_lock *lock)
{
    const struct hd_lock *top = lock_depth ? lock_stack[lock_depth - 1] : NULL;

    if (top && top->rank >= lock->rank) {
        hd_log("lock order: '%s' (rank %d) is taken while '%s' (rank %d) is held", lock->name,
               (int)lock->rank, top->name, (int)top->rank);
        abort();
    }
    assert(lock_depth < LOCK_DEPTH_MAX);
    lock_stack[lock_depth++] = lock;
}

/* Locks may be released in any order. */
static void lock_pop(const struct hd_lock *lock)
{
    unsigned i = lock_depth;

    while (i > 0 && lock_stack[i - 1] != lock)
        i--;
    assert(i > 0 && "released by a thread that does not hold it");
    for (; i < lock_depth; i++)
        lock_stack[i - 1] = lock_stack[i];
    lock_depth--;
}

bool hd_lock_held(const struct hd_lock *lock)
{
    for (unsigned i = 0; i < lock_depth; i++) {
        if (lock_stack[i] == lock)
            return true;
    }
    return false;
}

#else

static void lock_push(const struct hd_lock *lock)
{
}

static void lock_pop(const struct hd_lock *lock)
{
}

bool hd_lock_held(const struct hd_lock *lock)
{
    return true;
}

#endif

void hd_lock_acquire(struct hd_lock *lock)
{
    lock_push(lock);
    pthread_mutex_lock(&lock->mutex);
}

void hd_lock_release(struct hd_lock *lock)
{
    lock_pop(lock);
    pthread_mutex_unlock(&lock->mutex);
}

void hd_lock_wait(struct hd_lock *lock, pthread_cond_t *cond)
{
    assert(hd_lock_held(lock));
    pthread_cond_wait(cond, &lock->mutex);
}
