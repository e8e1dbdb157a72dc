/*
 * Waiting for eventfds: one thread of the process watches those that streams wait for (extsem.h).
 *
 * The descriptors are watched edge-triggered: every signal wakes the thread, whoever takes it. A
 * wait begins with a look at the descriptor of its own, after it is in the list: so a signal that
 * came before is found by it, and one that comes later by the thread.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/status.h"
#include "base/thread.h"
#include "core/stream/extsem.h"

struct core_extsem_wait {
    struct core_extsem *sem; /* a reference */
    _Atomic uint64_t word;   /* 1: the signal was taken */
    struct core_extsem_wait *next, **link;
};

static struct hd_lock watch_lock = HD_LOCK_INIT(LEAF, "external semaphores");
static int watch_fd = -1;              /* watch_lock */
static struct core_extsem_wait *waits; /* watch_lock: streams are at these */

/* ---- taking signals */

/*
 * Does not block where another process is faster. The descriptor itself stays blocking: its flags
 * are those of everybody who has it.
 */
static bool take(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    uint64_t count;
    struct iovec to = {&count, sizeof(count)};
    ssize_t n = preadv2(fd, &to, 1, -1, RWF_NOWAIT);

    if (n < 0 && errno == EOPNOTSUPP && poll(&ready, 1, 0) == 1) /* Linux before 5.8 */
        n = read(fd, &count, sizeof(count));
    return n == (ssize_t)sizeof(count);
}

/* Who came first takes first. */
static void waits_try_locked(void)
{
    struct core_extsem_wait *next;

    for (struct core_extsem_wait *wait = waits; wait; wait = next) {
        next = wait->next;
        assert(hd_lock_held(&watch_lock));
        if (take(wait->sem->fd)) {
            hd_list_remove(wait);
            atomic_store(&wait->word, 1);
        }
    }
}

static void *watch_main(void *arg)
{
    struct epoll_event events[16];
    int fd = (int)(intptr_t)arg;

    pthread_setname_np(pthread_self(), "heddle-semwait");
    for (;;) {
        if (epoll_wait(fd, events, (int)HD_COUNT_OF(events), -1) < 0 && errno != EINTR)
            return NULL;
        hd_lock_acquire(&watch_lock);
        waits_try_locked();
        hd_lock_release(&watch_lock);
    }
}

/* ---- watching */

/* The thread and what it sleeps on live as long as the process. */
static enum hd_status watch_start_locked(void)
{
    pthread_t thread;
    int fd;

    assert(hd_lock_held(&watch_lock));
    if (watch_fd >= 0)
        return HD_OK;
    fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0)
        return hd_error(HD_NO_MEMORY, "external semaphores: %s", strerror(errno));
    if (hd_thread_create(&thread, NULL, watch_main, (void *)(intptr_t)fd)) {
        close(fd);
        return hd_error(HD_NO_MEMORY, "external semaphores: no thread");
    }
    pthread_detach(thread);
    watch_fd = fd;
    return HD_OK;
}

enum hd_status core_extsem_watch(struct core_extsem *sem)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    enum hd_status status;

    hd_lock_acquire(&watch_lock);
    status = watch_start_locked();
    if (status == HD_OK && epoll_ctl(watch_fd, EPOLL_CTL_ADD, sem->fd, &event))
        status = hd_error(HD_NO_MEMORY, "external semaphore: %s", strerror(errno));
    hd_lock_release(&watch_lock);
    return status;
}

/* Closing would not do: others have the same eventfd. */
void core_extsem_unwatch(const struct core_extsem *sem)
{
    hd_lock_acquire(&watch_lock);
    if (watch_fd >= 0)
        (void)epoll_ctl(watch_fd, EPOLL_CTL_DEL, sem->fd, NULL); /* it may never have been added */
    hd_lock_release(&watch_lock);
}

/* ---- waits */

struct core_extsem_wait *core_extsem_wait_create(struct core_extsem *sem)
{
    struct core_extsem_wait *wait = hd_new(struct core_extsem_wait);

    if (wait)
        wait->sem = core_extsem_ref(sem);
    return wait;
}

_Atomic uint64_t *core_extsem_wait_word(struct core_extsem_wait *wait)
{
    return &wait->word;
}

void core_extsem_wait_begin(void *arg)
{
    struct core_extsem_wait *wait = arg, **last = &waits;

    hd_lock_acquire(&watch_lock);
    while (*last)
        last = &(*last)->next;
    hd_list_push(last, wait);
    waits_try_locked();
    hd_lock_release(&watch_lock);
}

/* The list still has it when the context was given up meanwhile: then the signal is not taken. */
void core_extsem_wait_end(void *arg)
{
    struct core_extsem_wait *wait = arg;

    hd_lock_acquire(&watch_lock);
    if (wait->link)
        hd_list_remove(wait);
    hd_lock_release(&watch_lock);
    core_extsem_unref(wait->sem);
    hd_free(wait);
}
