/* External semaphores: what they are made of, and lists of operations on them (extsem.h). */
#include "core/stream/extsem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
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
