/*
 * Timeline semaphores without a GPU: what cuImportExternalSemaphore() takes as
 * CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, and how other programs use it.
 *
 * A timeline semaphore is a memory file of HEDDLE_TIMELINE_B bytes that nobody can shrink (sealed with
 * F_SEAL_SHRINK), and begins with a struct heddle_timeline. Who signals stores the new value, which
 * is larger than the one before, and then wakes all threads that sleep on the futex at the low half
 * of `value`, which is shared between processes. Who waits compares all 64 bits.
 *
 *     int fd;
 *     struct heddle_timeline *t = heddle_timeline_create(&fd);     NULL: errno says why
 *     ...                                                          dup(fd) goes to cuImportExternal-
 *     heddle_timeline_wait(t, 1);                                  Semaphore(), or to another process
 *     heddle_timeline_signal(t, 2);
 *
 * Needs _GNU_SOURCE, and works in C and C++. Threads: any; the value is only accessed atomically.
 */
#ifndef HEDDLE_TIMELINE_H
#define HEDDLE_TIMELINE_H

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEDDLE_TIMELINE_MAGIC   0x656e696c656d6974u /* "timeline" */
#define HEDDLE_TIMELINE_VERSION 1u
#define HEDDLE_TIMELINE_B       4096u

struct heddle_timeline {
    uint64_t magic;
    uint32_t version;
    uint32_t reserved[13]; /* 0 */
    uint64_t value;        /* in a cache line of its own */
};

/* The semaphore behind a descriptor, which stays the caller's; NULL: it is none. */
static inline struct heddle_timeline *heddle_timeline_map(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct heddle_timeline *t;
    void *at;

    if (seals < 0 || !(seals & F_SEAL_SHRINK) || lseek(fd, 0, SEEK_END) < (off_t)HEDDLE_TIMELINE_B)
        return NULL;
    at = mmap(NULL, HEDDLE_TIMELINE_B, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return NULL;
    t = (struct heddle_timeline *)at;
    if (t->magic == HEDDLE_TIMELINE_MAGIC && t->version == HEDDLE_TIMELINE_VERSION)
        return t;
    munmap(at, HEDDLE_TIMELINE_B);
    return NULL;
}

/* A new one with value 0; NULL: errno says why not. */
static inline struct heddle_timeline *heddle_timeline_create(int *out_fd)
{
    const uint64_t head[2] = {HEDDLE_TIMELINE_MAGIC, HEDDLE_TIMELINE_VERSION};
    int fd = memfd_create("timeline", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct heddle_timeline *t = NULL;

    if (fd < 0)
        return NULL;
    if (!ftruncate(fd, HEDDLE_TIMELINE_B) && !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) &&
        pwrite(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head))
        t = heddle_timeline_map(fd);
    if (!t)
        close(fd);
    else
        *out_fd = fd;
    return t;
}

static inline void heddle_timeline_unmap(struct heddle_timeline *t)
{
    munmap(t, HEDDLE_TIMELINE_B);
}

static inline uint64_t heddle_timeline_value(const struct heddle_timeline *t)
{
    return __atomic_load_n(&t->value, __ATOMIC_ACQUIRE);
}

/* All that is written before is seen by whoever waited for the value. */
static inline void heddle_timeline_signal(struct heddle_timeline *t, uint64_t value)
{
    __atomic_store_n(&t->value, value, __ATOMIC_RELEASE);
    syscall(SYS_futex, &t->value, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Until the value is at least as large. */
static inline void heddle_timeline_wait(struct heddle_timeline *t, uint64_t value)
{
    uint64_t seen;

    while ((seen = heddle_timeline_value(t)) < value)
        syscall(SYS_futex, &t->value, FUTEX_WAIT, (uint32_t)seen, NULL, NULL, 0);
}

#endif
