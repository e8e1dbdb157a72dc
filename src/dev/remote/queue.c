/*
 * A queue is a thread that executes packets in order. Grids go to the other process; all else is
 * done here, where the program's own memory is.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "dev/remote/private.h"
#include "hal/futex.h"

#define POLL_NS 200000u    /* how often a semaphore that others may set is looked at */
#define LOOK_NS 100000000u /* how often a thread looks whether the other process is there */

static void queue_doze(struct remote_device *dev, const _Atomic uint64_t *semaphore, uint64_t value,
                       uint64_t time_ns)
{
    uint64_t at_ns = hal_time_ns() + time_ns;
    struct timespec until = {(time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u)};

    hd_lock_acquire(&dev->retire_lock);
    if (!semaphore || atomic_load(semaphore) < value)
        hd_lock_wait_until(&dev->retire_lock, &dev->retired, &until);
    hd_lock_release(&dev->retire_lock);
}

enum hd_status remote_wait(struct hal_device *device, const _Atomic uint64_t *semaphore,
                           uint64_t value, uint64_t timeout_ns)
{
    uint64_t start_ns = hal_time_ns(), spent_ns;

    while (atomic_load_explicit(semaphore, memory_order_acquire) < value) {
        spent_ns = hal_time_ns() - start_ns;
        if (timeout_ns != UINT64_MAX && spent_ns >= timeout_ns)
            return HD_TIMEOUT;
        queue_doze(remote_of(device), semaphore, value,
                   HD_MIN(timeout_ns - HD_MIN(spent_ns, timeout_ns), (uint64_t)POLL_NS));
    }
    return HD_OK;
}

/* ---- memory of this process, which may not be there */

/* memcpy() by the system: false when a byte of either is not accessible. Sandboxes forbid it. */
static bool queue_move(uint64_t dst, uint64_t src, uint64_t size_B)
{
    while (size_B) {
        size_t part_B = HD_MIN(size_B, (uint64_t)1 << 30);
        struct iovec to = {(void *)(uintptr_t)dst, part_B}, from = {(void *)(uintptr_t)src, part_B};
        ssize_t done_B = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

        if (done_B < 0 && (errno == ENOSYS || errno == EPERM)) {
            memmove(to.iov_base, from.iov_base, part_B);
            done_B = (ssize_t)part_B;
        }
        if (done_B <= 0)
            return false;
        dst += (uint64_t)done_B;
        src += (uint64_t)done_B;
        size_B -= (uint64_t)done_B;
    }
    return true;
}

static bool queue_accessible(uint64_t va, bool write)
{
    char byte;

    return queue_move((uintptr_t)&byte, va, 1) && (!write || queue_move(va, (uintptr_t)&byte, 1));
}

static void queue_fail_address(struct remote_queue *queue, uint64_t address, const char *message)
{
    hal_domain_fail(queue->base.domain, HD_ILLEGAL_ADDRESS, address, NULL, message);
}

static void queue_run_copy(struct remote_queue *queue, const struct hal_copy *c)
{
    for (uint64_t z = 0; z < c->depth; z++)
        for (uint64_t y = 0; y < c->height; y++) {
            uint64_t dst = c->dst + z * c->dst_slice_B + y * c->dst_pitch_B;
            uint64_t src = c->src + z * c->src_slice_B + y * c->src_pitch_B;

            if (queue_move(dst, src, c->width_B))
                continue;
            queue_fail_address(queue, queue_accessible(src, false) ? dst : src,
                               "copy from or to an address that is not accessible");
            return;
        }
}

static void queue_run_fill(struct remote_queue *queue, const struct hal_fill *f)
{
    char pattern[16384];
    uint64_t row_B = f->width * f->elem_B;

    for (uint64_t at = 0; at < HD_MIN(row_B, sizeof(pattern)); at += f->elem_B)
        memcpy(pattern + at, &f->value, f->elem_B);
    for (uint64_t y = 0; y < f->height && row_B; y++)
        for (uint64_t at = 0; at < row_B; at += sizeof(pattern)) {
            uint64_t dst = f->dst + y * f->pitch_B + at;

            if (queue_move(dst, (uintptr_t)pattern, HD_MIN(row_B - at, sizeof(pattern))))
                continue;
            queue_fail_address(queue, dst, "fill of an address that is not accessible");
            return;
        }
}

static bool queue_is_well(const struct remote_queue *queue)
{
    return hal_domain_status(queue->base.domain) == HD_OK;
}

static void queue_run_wait(struct remote_queue *queue, const struct hal_sem *sem)
{
    struct remote_device *dev = remote_of(queue->base.device);

    while (queue_is_well(queue)) {
        if (sem->is_guarded && !queue_accessible(sem->address, false)) {
            hal_domain_fail(queue->base.domain, HD_ILLEGAL_ADDRESS, sem->address, NULL,
                            hal_sem_gone);
            return;
        }
        if (hal_sem_holds(sem, (const void *)(uintptr_t)sem->address))
            return;
        queue_doze(dev, NULL, 0, POLL_NS);
    }
}

static void queue_run_signal(struct remote_queue *queue, const struct hal_sem *sem)
{
    if (sem->is_guarded && !queue_accessible(sem->address, true))
        hal_domain_fail(queue->base.domain, HD_ILLEGAL_ADDRESS, sem->address, NULL, hal_sem_gone);
    else
        hal_sem_apply(sem, (void *)(uintptr_t)sem->address, queue->base.device);
}

/* ---- grids */

/* Until the other side has retired what was submitted. */
static enum hd_status queue_far_wait(struct remote_queue *queue)
{
    struct remote_device *dev = remote_of(queue->base.device);
    uint64_t position = hal_ring_submitted(queue->far.ring);

    for (unsigned i = 0; i < 2000; i++) /* a short grid is over before a thread sleeps */
        if (hal_ring_retired(queue->far.ring) >= position)
            return HD_OK;
    while (hal_client_wait(&queue->far, position, LOOK_NS) == HD_TIMEOUT)
        if (remote_is_gone(dev))
            return hd_error(HD_INTERNAL, "the process of the device is gone");
    return HD_OK;
}

/* Limits and multiprocessors are set without an operation. */
static enum hd_status queue_sms_send(struct remote_queue *queue)
{
    struct remote_message m = {.op = REMOTE_QUEUE_SMS, .id = queue->id};
    struct hal_sms sms;
    bool is_limited = hal_queue_sms(&queue->base, &sms);

    if (is_limited == queue->is_limited && !memcmp(&sms, &queue->sms, sizeof(sms)))
        return HD_OK;
    m.a = is_limited;
    m.sms = sms;
    HD_TRY(remote_call(remote_of(queue->base.device), &m, -1, NULL));
    queue->is_limited = is_limited;
    queue->sms = sms;
    return HD_OK;
}

static enum hd_status queue_limits_send(struct remote_domain *domain)
{
    enum hd_status status = HD_OK;

    hd_lock_acquire(&domain->limits_lock);
    for (unsigned i = 0; i < HAL_LIMIT_COUNT && status == HD_OK; i++) {
        uint64_t value = hal_limit_get(&domain->base, (enum hal_limit)i);
        struct remote_message m = {.op = REMOTE_DOMAIN_LIMIT, .id = domain->id, .a = i, .b = value};

        if (value == domain->limits[i])
            continue;
        status = remote_call(remote_of(domain->base.device), &m, -1, NULL);
        if (status == HD_OK)
            domain->limits[i] = value;
    }
    hd_lock_release(&domain->limits_lock);
    return status;
}

static void queue_notify_failed(struct remote_queue *queue)
{
    static const struct hal_fault_site unknown;
    struct remote_domain *domain = (struct remote_domain *)queue->base.domain;
    const struct hal_client_ops *client = &queue->base.device->client;

    if (!queue_is_well(queue) && !atomic_exchange(&domain->is_notified, true) && client->failed)
        client->failed(&domain->base, &unknown);
}

static void queue_run_dispatch(struct remote_queue *queue, const struct hal_dispatch *packet)
{
    union hal_packet p = {.dispatch = *packet};
    const struct remote_kernel *kernel =
        (struct remote_kernel *)hal_kernel_find(queue->base.device, packet->kernel);
    const struct hal_extension *extension = hal_dispatch_extension(queue->base.ring, packet);
    enum hd_status status;
    void *params;

    if (packet->ring_B) {
        p.head.flags &= (uint16_t)~HAL_FLAG_EXTENSION;
        params = hal_client_params(&queue->far, &p.dispatch, extension, packet->params_B);
        assert(params); /* nothing else is in that ring */
        memcpy(params, hal_dispatch_params(queue->base.ring, packet), packet->params_B);
    }
    p.dispatch.kernel = kernel ? kernel->dispatched : 0; /* 0: the other side says so */
    p.head.flags &= (uint16_t)~(HAL_FLAG_INDIRECT | HAL_FLAG_STAMP);
    status = queue_sms_send(queue);
    if (status == HD_OK)
        status = queue_limits_send((struct remote_domain *)queue->base.domain);
    if (status == HD_OK) {
        status = hal_client_submit(&queue->far, &p, 1);
        assert(status == HD_OK); /* one at a time */
        status = queue_far_wait(queue);
    }
    if (status != HD_OK) {
        /*
         * A grid does not get to the other side: its process is gone, or it refuses what the grid
         * needs, and the error says what. Whatever comes is skipped, and nobody waits.
         */
        char why[1024]; /* to tell the domain makes calls of its own */

        snprintf(why, sizeof(why), "%s", hd_error_message());
        if (remote_is_gone(remote_of(queue->base.device)))
            hal_domain_fail(queue->base.domain, HD_INTERNAL, 0, NULL,
                            "the process of the device is gone: its contexts are lost");
        else
            hal_domain_fail(queue->base.domain, status, 0, NULL, why);
    } else
        queue_notify_failed(queue);
}

/* ---- the thread */

static bool queue_must_happen(const struct hal_head *head)
{
    return head->op == HAL_OP_SIGNAL || head->op == HAL_OP_TIMESTAMP ||
           (head->op == HAL_OP_HOST_CALL && head->flags & HAL_FLAG_ALWAYS);
}

static void queue_execute(struct remote_queue *queue, union hal_packet *p)
{
    struct reg_use *use = queue->base.domain->use;

    if (!queue_is_well(queue) && !queue_must_happen(&p->head))
        return;
    if (p->head.flags & HAL_FLAG_INDIRECT)
        hal_dispatch_resolve(queue->base.ring, p);
    switch ((enum hal_op)p->head.op) {
    case HAL_OP_DISPATCH:
        reg_begin(use, &use->kernel_busy, hal_time_ns());
        queue_run_dispatch(queue, &p->dispatch);
        reg_end(use, &use->kernel_busy, hal_time_ns());
        reg_count(&use->launches, 1);
        return;
    case HAL_OP_COPY:
        queue_run_copy(queue, &p->copy);
        return;
    case HAL_OP_FILL:
        queue_run_fill(queue, &p->fill);
        return;
    case HAL_OP_WAIT:
        queue_run_wait(queue, &p->sem);
        return;
    case HAL_OP_SIGNAL:
    case HAL_OP_TIMESTAMP:
        queue_run_signal(queue, &p->sem);
        return;
    case HAL_OP_HOST_CALL:
        ((void (*)(void *))(uintptr_t)p->host_call.func)((void *)(uintptr_t)p->host_call.arg);
        return;
    default: /* NOP, BARRIER: a queue executes one packet after the other */
        return;
    }
}

static void *queue_main(void *arg)
{
    struct remote_queue *queue = arg;
    struct hal_ring *ring = queue->base.ring;

    for (;;) {
        uint32_t seen = atomic_load(&queue->bell);
        uint64_t position = hal_ring_retired(ring) + 1;

        if (hal_ring_submitted(ring) < position) {
            if (atomic_load(&queue->stop))
                return NULL;
            hal_futex_wait(&queue->bell, seen, UINT64_MAX);
            continue;
        }
        union hal_packet *p = hal_ring_packet(ring, position);

        if (p->head.flags & HAL_FLAG_STAMP)
            atomic_store(&hal_ring_stamp(ring, position)->start_ticks,
                         hal_device_now(queue->base.device));
        queue_execute(queue, p);
        struct remote_device *dev = remote_of(queue->base.device);
        if (p->head.flags & HAL_FLAG_STAMP)
            atomic_store(&hal_ring_stamp(ring, hal_ring_retired(ring) + 1)->end_ticks,
                         hal_device_now(&dev->base));
        if (p->head.op == HAL_OP_DISPATCH) /* what is NOP now has given them back */
            atomic_fetch_add(&ring->params_released, p->dispatch.ring_B);
        hd_lock_acquire(&dev->retire_lock);
        atomic_fetch_add(&ring->retired, 1);
        pthread_cond_broadcast(&dev->retired);
        hd_lock_release(&dev->retire_lock);
    }
}

static void queue_bell_ring(struct remote_queue *queue)
{
    atomic_fetch_add(&queue->bell, 1);
    hal_futex_wake(&queue->bell);
}

static enum hd_status queue_submit(struct hal_queue *base, const union hal_packet *packets,
                                   unsigned n)
{
    struct hal_ring *ring = base->ring;
    uint64_t submitted = hal_ring_submitted(ring);

    assert(n <= HAL_RING_SLOTS);
    if (submitted + n - hal_ring_retired(ring) > HAL_RING_SLOTS)
        return HD_BUSY;
    for (unsigned i = 0; i < n; i++)
        *hal_ring_packet(ring, submitted + 1 + i) = packets[i];
    atomic_store(&ring->submitted, submitted + n);
    queue_bell_ring((struct remote_queue *)base);
    return HD_OK;
}

/* ---- life */

static void queue_far_destroy(struct remote_queue *queue)
{
    struct remote_message m = {.op = REMOTE_QUEUE_DESTROY, .id = queue->id};

    if (queue->id && remote_call(remote_of(queue->base.device), &m, -1, NULL) != HD_OK)
        hd_error_clear();
    hal_client_fini(&queue->far);
    hal_queue_fini(&queue->base);
    hd_free(queue);
}

static void queue_destroy(struct hal_queue *base)
{
    struct remote_queue *queue = (struct remote_queue *)base;

    atomic_store(&queue->stop, true);
    queue_bell_ring(queue);
    pthread_join(queue->thread, NULL);
    queue_far_destroy(queue);
}

static const struct hal_queue_ops queue_ops = {.submit = queue_submit, .destroy = queue_destroy};

enum hd_status remote_queue_create(struct hal_domain *domain, int priority,
                                   struct hal_queue **out_queue)
{
    struct remote_queue *queue = hd_new(struct remote_queue);
    struct remote_message m = {.op = REMOTE_QUEUE_CREATE,
                               .id = ((struct remote_domain *)domain)->id,
                               .a = (uint64_t)(int64_t)priority};
    enum hd_status status;
    int error;

    if (!queue)
        return hd_error(HD_NO_MEMORY, "queue");
    queue->far.memfd = -1;
    status = hal_queue_init(&queue->base, &queue_ops, domain, priority);
    if (status == HD_OK)
        status = hal_client_init(&queue->far);
    if (status == HD_OK)
        status = remote_call(remote_of(domain->device), &m, queue->far.memfd, NULL);
    if (status == HD_OK) {
        queue->id = m.id;
        error = hd_thread_create(&queue->thread, NULL, queue_main, queue);
        if (error)
            status = hd_error(HD_NO_MEMORY, "thread of a queue: %s", strerror(error));
    }
    if (status != HD_OK) {
        queue->base.device = domain->device;
        queue_far_destroy(queue);
        return status;
    }
    *out_queue = &queue->base;
    return HD_OK;
}
