/* A queue is a thread that executes packets in order. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/thread.h"
#include "dev/interp/private.h"

enum { POLL_NS = 200000 /* how often a semaphore that others may set is looked at */ };

/* Sleeps until something retires or time_ns have passed. The caller holds dev->lock. */
static void queue_doze_locked(struct refdev *dev, uint64_t time_ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + time_ns % 1000000000u;
    until.tv_sec += (time_t)(time_ns / 1000000000u + ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    assert(hd_lock_held(&dev->lock));
    hd_lock_wait_until(&dev->lock, &dev->changed, &until);
}

enum hd_status refdev_wait(struct hal_device *device, const _Atomic uint64_t *semaphore,
                           uint64_t value, uint64_t timeout_ns)
{
    struct refdev *dev = refdev_of(device);
    uint64_t start_ns = hal_time_ns();
    enum hd_status status = HD_OK;
    hd_lock_acquire(&dev->lock);
    while (atomic_load_explicit(semaphore, memory_order_acquire) < value && status == HD_OK) {
        uint64_t spent_ns = hal_time_ns() - start_ns;
        if (timeout_ns != UINT64_MAX && spent_ns >= timeout_ns)
            status = HD_TIMEOUT;
        else
            queue_doze_locked(dev, HD_MIN(timeout_ns - spent_ns, (uint64_t)POLL_NS));
    }
    hd_lock_release(&dev->lock);
    return status;
}

/* ---- packets */

static bool queue_copy_row(struct refdev_queue *queue, struct refdev_maps *maps, uint64_t dst,
                           uint64_t src, uint64_t size_B)
{
    bool readable = refdev_maps_check(maps, src, size_B, false);

    if (readable && refdev_maps_check(maps, dst, size_B, true) && refdev_move(dst, src, size_B))
        return true;
    hal_domain_fail(queue->base.domain, HD_ILLEGAL_ADDRESS, readable ? dst : src, NULL,
                    "copy from or to an address that is not accessible");
    return false;
}

/* Up to the first row that faults: there may be billions. */
static void queue_run_copy(struct refdev_queue *queue, const struct hal_copy *c)
{
    struct refdev_maps maps = {0};
    bool fine = true;

    for (uint64_t z = 0; z < c->depth && fine; z++)
        for (uint64_t y = 0; y < c->height && fine; y++)
            fine = queue_copy_row(queue, &maps, c->dst + z * c->dst_slice_B + y * c->dst_pitch_B,
                                  c->src + z * c->src_slice_B + y * c->src_pitch_B, c->width_B);
    refdev_maps_fini(&maps);
}

static bool queue_fill_move(const struct hal_fill *f, uint64_t dst)
{
    char pattern[4096];
    uint64_t size_B = f->width * f->elem_B, step_B = sizeof(pattern) / f->elem_B * f->elem_B;

    for (uint64_t at = 0; at < HD_MIN(size_B, step_B); at += f->elem_B)
        memcpy(pattern + at, &f->value, f->elem_B);
    for (uint64_t at = 0; at < size_B; at += step_B)
        if (!refdev_move(dst + at, (uintptr_t)pattern, HD_MIN(step_B, size_B - at)))
            return false;
    return true;
}

static bool queue_fill_row(struct refdev_queue *queue, struct refdev_maps *maps,
                           const struct hal_fill *f, uint64_t dst)
{
    if (refdev_maps_check(maps, dst, f->width * f->elem_B, true) && queue_fill_move(f, dst))
        return true;
    hal_domain_fail(queue->base.domain, HD_ILLEGAL_ADDRESS, dst, NULL,
                    "memset of an address that is not accessible");
    return false;
}

static void queue_run_fill(struct refdev_queue *queue, const struct hal_fill *f)
{
    struct refdev_maps maps = {0};
    bool fine = true;

    for (uint64_t y = 0; y < f->height && fine; y++)
        fine = queue_fill_row(queue, &maps, f, f->dst + y * f->pitch_B);
    refdev_maps_fini(&maps);
}

static void queue_run_host_call(const struct hal_host_call *call)
{
    void (*func)(void *) = (void (*)(void *))(uintptr_t)call->func;
    func((void *)(uintptr_t)call->arg);
}

/*
 * False: the semaphore's memory has gone, and the domain has failed. Reading the map of the process
 * takes long enough for another thread to unmap it meanwhile, so it is read once more behind it;
 * between that and the atomic access are some nanoseconds.
 */
static bool queue_sem_check(struct refdev_queue *queue, const struct hal_sem *sem, bool write)
{
    struct refdev_maps maps = {0};
    uint64_t word, size_B = sem->is_32 ? 4 : 8;
    bool fine = !sem->is_guarded || (refdev_maps_check(&maps, sem->address, size_B, write) &&
                                     refdev_move((uintptr_t)&word, sem->address, size_B));

    refdev_maps_fini(&maps);
    if (!fine)
        hal_domain_fail(queue->base.domain, HD_ILLEGAL_ADDRESS, sem->address, NULL, hal_sem_gone);
    return fine;
}

static bool queue_sem_holds(struct refdev_queue *queue, const struct hal_sem *sem)
{
    return !queue_sem_check(queue, sem, false) ||
           hal_sem_holds(sem, (const void *)(uintptr_t)sem->address);
}

/* Waits in short naps: the domain may fault meanwhile. */
static void queue_run_wait(struct refdev_queue *queue, const union hal_packet *p)
{
    struct refdev *dev = refdev_of(queue->base.device);
    while (!queue_sem_holds(queue, &p->sem) && hal_domain_status(queue->base.domain) == HD_OK) {
        hd_lock_acquire(&dev->lock);
        if (p->sem.is_guarded || !hal_sem_holds(&p->sem, (const void *)(uintptr_t)p->sem.address))
            queue_doze_locked(dev, POLL_NS);
        hd_lock_release(&dev->lock);
    }
}

static void queue_run_signal(struct refdev_queue *queue, const struct hal_sem *sem)
{
    hal_serial_enter();
    if (queue_sem_check(queue, sem, true))
        hal_sem_apply(sem, (void *)(uintptr_t)sem->address, queue->base.device);
    hal_serial_leave();
}

/* With what the grid launched. */
static void queue_run_dispatch(struct refdev_queue *queue, const struct hal_dispatch *p)
{
    union hal_packet wait;

    if (refdev_dispatch(queue, p, &wait))
        queue_run_wait(queue, &wait);
}

/* After a fault packets are retired without effect, but for those that others wait for. */
static bool queue_must_happen(const struct hal_head *head)
{
    return head->op == HAL_OP_SIGNAL || head->op == HAL_OP_TIMESTAMP ||
           (head->op == HAL_OP_HOST_CALL && head->flags & HAL_FLAG_ALWAYS);
}

static void queue_execute(struct refdev_queue *queue, const union hal_packet *p)
{
    struct reg_use *use = queue->base.domain->use;

    if (hal_domain_status(queue->base.domain) != HD_OK && !queue_must_happen(&p->head))
        return;
    switch ((enum hal_op)p->head.op) {
    case HAL_OP_NOP:
    case HAL_OP_BARRIER: /* a queue executes one packet after the other */
        return;
    case HAL_OP_DISPATCH:
        reg_begin(use, &use->kernel_busy, hal_time_ns());
        queue_run_dispatch(queue, &p->dispatch);
        reg_end(use, &use->kernel_busy, hal_time_ns());
        reg_count(&use->launches, 1);
        return;
    case HAL_OP_COPY:
        hal_serial_enter();
        reg_begin(use, &use->copy_busy, hal_time_ns());
        queue_run_copy(queue, &p->copy);
        reg_end(use, &use->copy_busy, hal_time_ns());
        hal_serial_leave();
        return;
    case HAL_OP_FILL:
        hal_serial_enter();
        reg_begin(use, &use->copy_busy, hal_time_ns());
        queue_run_fill(queue, &p->fill);
        reg_end(use, &use->copy_busy, hal_time_ns());
        hal_serial_leave();
        return;
    case HAL_OP_WAIT:
        queue_run_wait(queue, p);
        return;
    case HAL_OP_SIGNAL:
    case HAL_OP_TIMESTAMP:
        queue_run_signal(queue, &p->sem);
        return;
    case HAL_OP_HOST_CALL:
        queue_run_host_call(&p->host_call);
        return;
    case HAL_OP_COUNT:
        break;
    }
    assert(!"a packet");
}

static void queue_retire(struct refdev_queue *queue, const union hal_packet *p)
{
    struct refdev *dev = refdev_of(queue->base.device);
    struct hal_ring *ring = queue->base.ring;
    assert(!hal_queue_is_idle(&queue->base));
    if (p->head.op == HAL_OP_DISPATCH && p->dispatch.ring_B)
        atomic_fetch_add(&ring->params_released, p->dispatch.ring_B);
    if (p->head.flags & HAL_FLAG_STAMP)
        atomic_store(&hal_ring_stamp(ring, hal_ring_retired(ring) + 1)->end_ticks,
                     hal_device_now(queue->base.device));
    hd_lock_acquire(&dev->lock);
    atomic_fetch_add(&ring->retired, 1);
    pthread_cond_broadcast(&dev->changed);
    hd_lock_release(&dev->lock);
}

static void queue_stamp_start(struct refdev_queue *queue, const union hal_packet *p)
{
    struct hal_ring *ring = queue->base.ring;
    if (p->head.flags & HAL_FLAG_STAMP)
        atomic_store(&hal_ring_stamp(ring, hal_ring_retired(ring) + 1)->start_ticks,
                     hal_device_now(queue->base.device));
}

static void *queue_main(void *arg)
{
    struct refdev_queue *queue = arg;
    struct refdev *dev = refdev_of(queue->base.device);
    for (;;) {
        hd_lock_acquire(&dev->lock);
        while (hal_queue_is_idle(&queue->base) && !queue->stop)
            hd_lock_wait(&dev->lock, &dev->changed);
        bool stop = hal_queue_is_idle(&queue->base);
        hd_lock_release(&dev->lock);
        if (stop)
            return NULL;
        union hal_packet *p =
            hal_ring_packet(queue->base.ring, hal_queue_retired(&queue->base) + 1);
        if (p->head.flags & HAL_FLAG_INDIRECT)
            hal_dispatch_resolve(queue->base.ring, p);
        queue_stamp_start(queue, p);
        queue_execute(queue, p);
        queue_retire(queue, p);
    }
}

static enum hd_status queue_submit(struct hal_queue *base, const union hal_packet *packets,
                                   unsigned n)
{
    struct refdev *dev = refdev_of(base->device);
    struct hal_ring *ring = base->ring;
    uint64_t submitted = atomic_load_explicit(&ring->submitted, memory_order_relaxed);
    assert(n <= HAL_RING_SLOTS && submitted >= hal_queue_retired(base));
    if (submitted + n - hal_queue_retired(base) > HAL_RING_SLOTS)
        return HD_BUSY;
    for (unsigned i = 0; i < n; i++)
        *hal_ring_packet(ring, submitted + 1 + i) = packets[i];
    hd_lock_acquire(&dev->lock);
    atomic_store(&ring->submitted, submitted + n);
    pthread_cond_broadcast(&dev->changed);
    hd_lock_release(&dev->lock);
    return HD_OK;
}

static void queue_destroy(struct hal_queue *base)
{
    struct refdev_queue *queue = (struct refdev_queue *)base;
    struct refdev *dev = refdev_of(base->device);
    hd_lock_acquire(&dev->lock);
    assert(!queue->stop);
    queue->stop = true;
    pthread_cond_broadcast(&dev->changed);
    hd_lock_release(&dev->lock);
    pthread_join(queue->thread, NULL);
    hal_queue_fini(base);
    hd_free(queue);
}

static const struct hal_queue_ops queue_ops = {.submit = queue_submit, .destroy = queue_destroy};

enum hd_status refdev_queue_create(struct hal_domain *domain, int priority,
                                   struct hal_queue **out_queue)
{
    struct refdev_queue *queue = hd_new(struct refdev_queue);
    if (!queue)
        return hd_error(HD_NO_MEMORY, "queue");
    enum hd_status status = hal_queue_init(&queue->base, &queue_ops, domain, priority);
    if (status != HD_OK) {
        hd_free(queue);
        return status;
    }
    int error = hd_thread_create(&queue->thread, NULL, queue_main, queue);
    if (error) {
        hal_queue_fini(&queue->base);
        hd_free(queue);
        return hd_error(HD_NO_MEMORY, "thread of a queue: %s", strerror(error));
    }
    *out_queue = &queue->base;
    return HD_OK;
}
