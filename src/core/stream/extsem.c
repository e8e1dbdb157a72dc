/* External semaphores: what they are made of, and streams that signal them and wait (extsem.h). */
#include "core/stream/extsem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/graph/capture.h"
#include "hal/futex.h"
#include "hal/hal.h"

_Static_assert(offsetof(struct heddle_timeline, value) == 64, "published layout");
_Static_assert(sizeof(_Atomic uint64_t) == sizeof(uint64_t), "the value is accessed atomically");

/* ---- life */

/* What the descriptor is, as the kernel calls it: "anon_inode:[eventfd]", "/memfd:name". */
static void describe(int fd, char out_text[64])
{
    char path[32];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    n = readlink(path, out_text, 63);
    snprintf(out_text + HD_MAX(n, 0), 64 - (size_t)HD_MAX(n, 0), "%s", n < 0 ? "not open" : "");
}

static enum hd_status binary_open(struct core_extsem *sem)
{
    char what[64];

    describe(sem->fd, what);
    if (strcmp(what, "anon_inode:[eventfd]") != 0)
        return hd_error(HD_BAD_ARG, "external semaphore: the descriptor is no eventfd but %s",
                        what);
    return core_extsem_watch(sem);
}

static enum hd_status timeline_open(struct core_extsem *sem)
{
    char what[64];

    sem->timeline = heddle_timeline_map(sem->fd);
    if (sem->timeline)
        return HD_OK;
    describe(sem->fd, what);
    return hd_error(HD_BAD_ARG,
                    "external semaphore: the descriptor is no timeline semaphore "
                    "(heddle/timeline.h) but %s",
                    what);
}

static enum hd_status open_copy(struct core_extsem *sem, int fd)
{
    sem->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (sem->fd < 0)
        return errno == EBADF
                   ? hd_error(HD_BAD_ARG, "external semaphore: %d is no open descriptor", fd)
                   : hd_error(HD_NO_MEMORY, "external semaphore: %s", strerror(errno));
    return sem->kind == CORE_EXTSEM_BINARY ? binary_open(sem) : timeline_open(sem);
}

enum hd_status core_extsem_create(enum core_extsem_kind kind, int fd, struct core_extsem **out_sem)
{
    struct core_extsem *sem = core_handle_alloc(CORE_EXTSEM);
    enum hd_status status;

    if (!sem)
        return hd_error(HD_NO_MEMORY, "external semaphore");
    sem->kind = kind;
    status = open_copy(sem, fd);
    if (status != HD_OK) {
        core_extsem_unref(sem);
        return status;
    }
    core_object_publish(&sem->object);
    *out_sem = core_extsem_ref(sem);
    return HD_OK;
}

bool core_extsem_destroy(struct core_extsem *sem)
{
    if (!core_object_retire(&sem->object))
        return false;
    core_extsem_unref(sem);
    return true;
}

void core_extsem_finalise(struct core_extsem *sem)
{
    if (sem->timeline)
        heddle_timeline_unmap(sem->timeline);
    if (sem->kind == CORE_EXTSEM_BINARY)
        core_extsem_unwatch(sem);
    if (sem->fd >= 0)
        close(sem->fd);
    core_handle_free(sem);
}

/* ---- several at once */

enum hd_status core_extsem_ops_copy(const struct core_extsem_ops *ops,
                                    struct core_extsem_ops *out_copy)
{
    size_t ops_B = ops->n * sizeof(*ops->at), handles_B = ops->n * sizeof(*ops->handles);
    uint8_t *at = hd_alloc(ops_B + handles_B + (size_t)ops->n * CORE_EXTSEM_TEXT_B + 1);

    if (!at)
        return hd_error(HD_NO_MEMORY, "operations on external semaphores");
    *out_copy = *ops;
    out_copy->at = (void *)at;
    out_copy->handles = (void *)(at + ops_B);
    out_copy->params = at + ops_B + handles_B;
    for (unsigned i = 0; i < ops->n; i++) {
        out_copy->at[i] = ops->at[i];
        core_extsem_ref(ops->at[i].sem);
    }
    if (ops->n) {
        memcpy(at + ops_B, ops->handles, handles_B);
        memcpy(at + ops_B + handles_B, ops->params, (size_t)ops->n * CORE_EXTSEM_TEXT_B);
    }
    return HD_OK;
}

void core_extsem_ops_fini(struct core_extsem_ops *ops)
{
    for (unsigned i = 0; i < ops->n; i++)
        core_extsem_unref(ops->at[i].sem);
    hd_free(ops->at);
    *ops = (struct core_extsem_ops){0};
}

/* ---- packets */

static union hal_packet host_call(void (*func)(void *), void *arg, uint16_t flags)
{
    union hal_packet p = {.host_call = {.head = {.op = HAL_OP_HOST_CALL, .flags = flags}}};

    p.host_call.func = (uintptr_t)func;
    p.host_call.arg = (uintptr_t)arg;
    return p;
}

static union hal_packet sem_packet(enum hal_op op, const void *at, uint64_t value)
{
    union hal_packet p = {.sem = {.head.op = (uint8_t)op, .value = value}};

    p.sem.address = (uintptr_t)at;
    p.sem.compare = HAL_COMPARE_GEQ;
    p.sem.signal = HAL_SIGNAL_SET;
    return p;
}

static enum hd_status submit(struct core_stream *stream, union hal_packet *p, unsigned n,
                             bool locked)
{
    return locked ? core_stream_submit_locked(stream, p, n)
                  : core_stream_submit(stream, p, n, NULL, 0, NULL);
}

/* A counter at its maximum is signalled as much as it can be: writing would block. */
static void binary_raise(const struct core_extsem *sem)
{
    struct pollfd ready = {.fd = sem->fd, .events = POLLOUT};
    const uint64_t one = 1;

    if (poll(&ready, 1, 0) == 1 && ready.revents & POLLOUT)
        (void)!write(sem->fd, &one, sizeof(one));
}

static void signal_call(void *arg)
{
    struct core_extsem *sem = arg;

    if (sem->timeline) /* a packet stored the value: who sleeps shall see it */
        hal_futex_wake((_Atomic uint32_t *)(void *)&sem->timeline->value);
    else
        binary_raise(sem);
    core_extsem_unref(sem);
}

/* Also after a fault, as what streams write to memory: others shall not wait for ever. */
static enum hd_status signal_run(struct core_stream *stream, const struct core_extsem_op *op,
                                 bool locked)
{
    union hal_packet p[2];
    unsigned n = 0;
    enum hd_status status;

    if (op->sem->timeline)
        p[n++] = sem_packet(HAL_OP_SIGNAL, &op->sem->timeline->value, op->value);
    p[n++] = host_call(signal_call, core_extsem_ref(op->sem), HAL_FLAG_ALWAYS);
    status = submit(stream, p, n, locked);
    if (status != HD_OK)
        core_extsem_unref(op->sem);
    return status;
}

static void release_call(void *sem)
{
    core_extsem_unref(sem);
}

static enum hd_status timeline_wait_run(struct core_stream *stream, const struct core_extsem_op *op,
                                        bool locked)
{
    union hal_packet p[2];
    enum hd_status status;

    p[0] = sem_packet(HAL_OP_WAIT, &op->sem->timeline->value, op->value);
    p[1] = host_call(release_call, core_extsem_ref(op->sem), HAL_FLAG_ALWAYS);
    status = submit(stream, p, 2, locked);
    if (status != HD_OK)
        core_extsem_unref(op->sem);
    return status;
}

static enum hd_status binary_wait_run(struct core_stream *stream, const struct core_extsem_op *op,
                                      bool locked)
{
    struct core_extsem_wait *wait = core_extsem_wait_create(op->sem);
    union hal_packet p[3];
    enum hd_status status;

    if (!wait)
        return hd_error(HD_NO_MEMORY, "wait for an external semaphore");
    p[0] = host_call(core_extsem_wait_begin, wait, 0);
    p[1] = sem_packet(HAL_OP_WAIT, core_extsem_wait_word(wait), 1);
    p[2] = host_call(core_extsem_wait_end, wait, HAL_FLAG_ALWAYS);
    status = submit(stream, p, 3, locked);
    if (status != HD_OK)
        core_extsem_wait_end(wait);
    return status;
}

static enum hd_status op_run(struct core_stream *stream, bool signals,
                             const struct core_extsem_op *op, bool locked)
{
    if (signals)
        return signal_run(stream, op, locked);
    return op->sem->timeline ? timeline_wait_run(stream, op, locked)
                             : binary_wait_run(stream, op, locked);
}

enum hd_status core_extsem_ops_run(struct core_stream *stream, const struct core_extsem_ops *ops,
                                   bool locked)
{
    for (unsigned i = 0; i < ops->n; i++)
        HD_TRY(op_run(stream, ops->signals, &ops->at[i], locked));
    return HD_OK;
}

enum hd_status core_stream_semaphores(struct core_stream *stream, const struct core_extsem_ops *ops)
{
    struct core_body body;

    if (!core_stream_is_capturing(stream))
        return core_extsem_ops_run(stream, ops, false);
    HD_TRY(core_body_semaphores(ops, &body));
    return core_capture_add(stream, &body);
}
