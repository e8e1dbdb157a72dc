/*
 * External semaphores: what other processes and other parts of a program signal and wait for, by
 * file descriptor (docs/decisions/0098-external-semaphores.md).
 *
 *     BINARY    an eventfd; it is signalled while its counter is not 0, and a wait takes the signal
 *     TIMELINE  a memory file with a value that grows (include/heddle/timeline.h)
 *
 * A stream that waits for a timeline is a WAIT packet on its value. Nobody can wait for an eventfd
 * by comparing memory: when the stream comes to the wait, a host call tells the thread of
 * extsem_wait.c to watch the descriptor, and a WAIT packet holds the stream until that thread has
 * taken the signal. So neither workers nor the thread of host calls are stuck in a wait.
 *
 * Every operation that was submitted has a reference: a semaphore may be destroyed before.
 *
 * Threads: any.
 */
#ifndef HD_CORE_STREAM_EXTSEM_H
#define HD_CORE_STREAM_EXTSEM_H

#include "core/handle.h"
#include "heddle/timeline.h"

struct core_stream;

/* Numbers are the API's. */
enum core_extsem_kind { CORE_EXTSEM_BINARY = 1, CORE_EXTSEM_TIMELINE = 9 };

struct core_extsem {
    struct core_object object;
    enum core_extsem_kind kind;
    int fd;                           /* -1: it could not be duplicated */
    struct heddle_timeline *timeline; /* NULL: BINARY */
};

/* Duplicates the descriptor. HD_BAD_ARG: it is nothing of that kind. */
enum hd_status core_extsem_create(enum core_extsem_kind kind, int fd, struct core_extsem **out_sem)
    HD_MUST_CHECK;
/* Streams still wait for it and signal it. */
bool core_extsem_destroy(struct core_extsem *sem);

/* ---- operations of streams */

struct core_extsem_op {
    struct core_extsem *sem;
    uint64_t value; /* of a timeline */
};

/* Several at once, with what the API was given, which nodes of graphs tell again. */
struct core_extsem_ops {
    bool signals; /* else they wait */
    unsigned n;
    struct core_extsem_op *at;  /* with references */
    const void *params;         /* n times CORE_EXTSEM_TEXT_B bytes */
    const void *const *handles; /* n */
};

#define CORE_EXTSEM_TEXT_B 144

/* A copy in one piece of memory, which core_extsem_ops_fini() frees. HD_NO_MEMORY. */
enum hd_status core_extsem_ops_copy(const struct core_extsem_ops *ops,
                                    struct core_extsem_ops *out_copy) HD_MUST_CHECK;
void core_extsem_ops_fini(struct core_extsem_ops *ops);

/* ---- extsem_stream.c */

/* In stream order, or a node of a graph when the stream is capturing. */
enum hd_status core_stream_semaphores(struct core_stream *stream, const struct core_extsem_ops *ops)
    HD_MUST_CHECK;
/* For graph_run.c: `locked` says whether the stream's lock is held. */
enum hd_status core_extsem_ops_run(struct core_stream *stream, const struct core_extsem_ops *ops,
                                   bool locked) HD_MUST_CHECK;

/* ---- between extsem.c and extsem_wait.c */

struct core_extsem_wait;

/* From now on the descriptor can be watched. HD_NO_MEMORY. */
enum hd_status core_extsem_watch(struct core_extsem *sem) HD_MUST_CHECK;
void core_extsem_unwatch(const struct core_extsem *sem);
/* Takes a reference of the semaphore's. NULL: no memory. */
struct core_extsem_wait *core_extsem_wait_create(struct core_extsem *sem);
/* Becomes 1 once the signal was taken. */
_Atomic uint64_t *core_extsem_wait_word(struct core_extsem_wait *wait);
/* Host calls: the stream has come to the wait; it is past it, or never came. Both take the wait. */
void core_extsem_wait_begin(void *wait);
void core_extsem_wait_end(void *wait);

#endif
