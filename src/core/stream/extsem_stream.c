/* Streams that signal external semaphores and wait for them. See extsem.h. */
#include <poll.h>
#include <unistd.h>

#include "core/graph/capture.h"
#include "core/stream/extsem.h"
#include "hal/futex.h"
#include "hal/hal.h"

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
    if (signals) {
        /* Also after a fault, as what streams write to memory: others shall not wait for ever. */
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
