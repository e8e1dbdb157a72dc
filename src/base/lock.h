/*
 * Mutexes with ranks. A thread may only take locks in increasing rank; debug builds assert it and
 * print both names. A rank says who may be waiting for whom, so there is one table, below.
 *
 * A child of fork() has one thread. A lock that another one held at the fork is free in the child,
 * and what it guards is as that thread left it: who goes on using it there sees to that, and nobody
 * waits for ever. Plain mutexes that live as long as the process say HD_FORK_MUTEX() for the same.
 */
#ifndef HD_BASE_LOCK_H
#define HD_BASE_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/compiler.h"

/* Outermost first. */
/* clang-format off */
#define HD_LOCK_RANK_LIST(X)                                                                       \
    X(RUNTIME)  /* api/runtime: registration tables, primary context creation */                   \
    X(DRIVER)   /* api/driver: handle tables */                                                    \
    X(EXEC)     /* core: one executable graph */                                                   \
    X(GRAPH)    /* core: graphs and captures */                                                    \
    X(GRAPH_MEMORY) /* core: memory of graphs */                                                   \
    X(CONTEXT)  /* core: one context's modules, streams, events */                                 \
    X(MODULE)   /* core: lazy loading of one module */                                             \
    X(STREAM)   /* core: one stream's order */                                                     \
    X(QUEUE)    /* hal: one queue's ring */                                                        \
    X(DEVICE)   /* dev: scheduler */                                                               \
    X(COMPILE)  /* jit: one kernel's variants */                                                   \
    X(MEMORY)   /* core: address space and pools */                                                \
    X(RETIRE)   /* core: listeners are told of work that is done */                                \
    X(LEAF)     /* held for a few instructions, nothing is taken inside but the checker's: */      \
    X(SAN_HOST)    /* san: what the host must not access yet */                                    \
    X(SAN_STREAMS) /* san: launches and copies that may race */                                    \
    X(SAN_ORDER)   /* san: clocks of streams */                                                    \
    X(SAN_MEMORY)  /* san: the map of allocations */                                               \
    X(RECORD)   /* san: a finding is sent, which may be with any other held */
/* clang-format on */

enum hd_lock_rank {
#define X(name) HD_RANK_##name,
    HD_LOCK_RANK_LIST(X)
#undef X
};

struct hd_lock {
    pthread_mutex_t mutex;
    enum hd_lock_rank rank;
    const char *name;
    _Atomic uint32_t forks;    /* forks behind the process when the mutex was last made */
    _Atomic(pthread_t) holder; /* whose it is; 0: nobody's */
};

#define HD_LOCK_INIT(rank_, name_) {PTHREAD_MUTEX_INITIALIZER, HD_RANK_##rank_, (name_), 0, 0}

/* After the definition of a mutex that is no hd_lock: it is free in a child of fork(). */
#define HD_FORK_MUTEX(tag, mutex_)                                                                 \
    __attribute__((                                                                                \
        used, section("hd_fork_mutex"))) static const struct hd_fork_mutex hd_fork_mutex_##tag = { \
        &(mutex_), hd_fork_child}

struct hd_fork_mutex {
    pthread_mutex_t *mutex;
    void (*handler)(void); /* here so that the linker takes lock.c, which registers it */
};

void hd_fork_child(void);

void hd_lock_init(struct hd_lock *lock, enum hd_lock_rank rank, const char *name);
void hd_lock_fini(struct hd_lock *lock);
void hd_lock_acquire(struct hd_lock *lock);
void hd_lock_release(struct hd_lock *lock);
/* True when this thread holds the lock; always true in release builds: for assert() only. */
static inline bool hd_lock_held(const struct hd_lock *lock)
{
#ifdef NDEBUG
    (void)lock;
    return true;
#else
    /* Inline and without thread-local data: every launch asks several times. */
    return atomic_load_explicit(&lock->holder, memory_order_relaxed) == pthread_self();
#endif
}
/* Waits on cond; the lock's rank stays accounted. */
void hd_lock_wait(struct hd_lock *lock, pthread_cond_t *cond);
/* The same until `until` at most, by the clock of cond. */
void hd_lock_wait_until(struct hd_lock *lock, pthread_cond_t *cond, const struct timespec *until);

#endif
