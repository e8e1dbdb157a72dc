/* The queue's state machine: who may execute packets at the head, and when a job ends. */
#include <sched.h>

#include "base/log.h"
#include "base/mem.h"
#include "dev/cpu/device.h"
#include "dev/cpu/fault/fault.h"
#include "dev/cpu/native.h"

bool cpu_queue_own(struct cpu_queue *queue)
{
    uint64_t idle = CPU_QUEUE_IDLE;

    return atomic_load_explicit(&queue->state, memory_order_relaxed) == CPU_QUEUE_IDLE &&
           atomic_compare_exchange_strong(&queue->state, &idle, CPU_QUEUE_OWNED);
}

static bool queue_has_packets(struct cpu_queue *queue)
{
    struct hal_ring *ring = queue->base.ring;

    return atomic_load(&ring->submitted) !=
           atomic_load_explicit(&ring->retired, memory_order_relaxed);
}

static union hal_packet *queue_head(struct cpu_queue *queue)
{
    return hal_ring_packet(queue->base.ring, hal_queue_retired(&queue->base) + 1);
}

/* The head has begun: cheap unless somebody asked for its times, or says only now what it is. */
static void queue_begin(struct cpu_queue *queue, union hal_packet *p)
{
    struct hal_ring *ring = queue->base.ring;

    if (HD_UNLIKELY(p->head.flags & HAL_FLAG_INDIRECT))
        hal_dispatch_resolve(ring, p);
    if (HD_UNLIKELY(p->head.flags & HAL_FLAG_STAMP) && !queue->begun)
        atomic_store_explicit(&hal_ring_stamp(ring, hal_ring_retired(ring) + 1)->start_ticks,
                              hal_time_ns(), memory_order_relaxed);
}

/* Who sees the packet retired sees its stamp. */
static void queue_stamp_end(struct hal_ring *ring)
{
    struct hal_stamp *stamp = hal_ring_stamp(ring, hal_ring_retired(ring) + 1);

    atomic_store_explicit(&stamp->end_ticks, hal_time_ns(), memory_order_relaxed);
}

static void queue_release_params(struct hal_ring *ring, const union hal_packet *p)
{
    if (p->head.op == HAL_OP_DISPATCH && p->dispatch.ring_B)
        atomic_fetch_add(&ring->params_released, p->dispatch.ring_B);
}

/*
 * Whoever waits for the first n packets finds them retired. The caller is the only one who writes
 * these. Several at once have no stamps.
 */
static inline void queue_retire_heads(struct cpu_queue *queue, unsigned n)
{
    struct hal_ring *ring = queue->base.ring;
    uint64_t before = hal_ring_retired(ring);
    const union hal_packet *p = hal_ring_packet(ring, before + 1);

    if (HD_UNLIKELY(hd_debug(HD_DEBUG_QUEUE)))
        hd_log_debug(HD_DEBUG_QUEUE, "queue %p: retired %llu %s", (void *)queue,
                     (unsigned long long)(hal_queue_retired(&queue->base) + 1),
                     hal_op_name(p->head.op));
    for (unsigned i = 0; i < n; i++)
        queue_release_params(ring, hal_ring_packet(ring, before + 1 + i));
    queue->begun = false;
    if (HD_UNLIKELY(p->head.flags & HAL_FLAG_STAMP))
        queue_stamp_end(ring);
    /* Before the look at who waits, in that order: wait.c counts itself in, then looks here. */
    atomic_store(&ring->retired, before + n);
}

static inline void queue_retire(struct cpu_queue *queue, unsigned n)
{
    struct cpu_device *dev = cpu_device_of(queue->base.device);

    queue_retire_heads(queue, n);
    if (HD_UNLIKELY(atomic_load(&dev->waiters))) {
        atomic_fetch_add(&dev->progress, 1);
        cpu_futex_wake(&dev->progress, INT32_MAX);
    }
    if (HD_UNLIKELY(atomic_load(&dev->blocked)))
        cpu_ring(dev);
}

/*
 * The first n packets have been executed. They retire, unless it is one grid whose threads asked
 * for more: that is submitted by the thread that makes host calls, because it compiles and takes
 * core's locks.
 */
static void queue_complete(struct cpu_queue *queue, unsigned n)
{
    void *children = atomic_load_explicit(&queue->job.children, memory_order_acquire);

    if (HD_LIKELY(!children)) {
        queue_retire(queue, n);
        return;
    }
    assert(n == 1 && "what calls the runtime is not short");
    assert(queue_head(queue)->head.op == HAL_OP_DISPATCH && !queue->children);
    atomic_store_explicit(&queue->job.children, NULL, memory_order_relaxed);
    queue->children = children;
    atomic_store(&queue->pending, true);
}

/*
 * Semaphores in foreign memory are looked at by workers that sleep for a short time only. The first
 * queue that needs it rings, because all of them may sleep for good: we need not be a worker.
 */
static void queue_set_blocked(struct cpu_queue *queue, bool blocked)
{
    struct cpu_device *dev = cpu_device_of(queue->base.device);

    if (atomic_load(&queue->blocked) == blocked)
        return;
    atomic_store(&queue->blocked, blocked);
    if (!blocked)
        atomic_fetch_sub(&dev->blocked, 1);
    else if (!atomic_fetch_add(&dev->blocked, 1))
        cpu_ring(dev);
}

static bool queue_sem_holds(const struct cpu_queue *queue, const union hal_packet *p)
{
    return cpu_sem_holds(queue->base.domain, &p->sem);
}

/*
 * Gives the queue up while its head has to wait. True: the caller has it still, or again, and looks
 * once more. Not at the semaphore after it gave the queue up: others may be past the wait by then,
 * and its memory freed. Whoever signals it on this device rings, because we are blocked before we
 * look.
 */
static bool queue_release_blocked(struct cpu_queue *queue, const union hal_packet *wait)
{
    struct cpu_device *dev = cpu_device_of(queue->base.device);
    uint32_t seen;

    queue_set_blocked(queue, true);
    seen = atomic_load(&dev->bell);
    if (queue_sem_holds(queue, wait))
        return true;
    atomic_store(&queue->state, CPU_QUEUE_IDLE);
    return atomic_load(&dev->bell) != seen && cpu_queue_own(queue);
}

static bool queue_job_is_worth_sharing(const union hal_packet *p)
{
    return p->head.op == HAL_OP_DISPATCH || cpu_copy_size_B(p) > CPU_INLINE_COPY_B;
}

/* Makes a dispatch or a copy at the head a job. False: it could not be, and the fault says so. */
static bool queue_setup_grid(struct cpu_queue *queue, const union hal_packet *p,
                             const struct cpu_grid *grid)
{
    enum hd_status status;

    queue->job.domain = cpu_domain_of(queue->base.domain);
    status = cpu_grid_setup(queue, &p->dispatch, grid);
    if (status != HD_OK)
        hal_domain_fail(queue->base.domain, status, 0, NULL, hd_error_message());
    return status == HD_OK;
}

static bool queue_setup_job(struct cpu_queue *queue, const union hal_packet *p)
{
    struct cpu_grid grid;

    if (p->head.op == HAL_OP_DISPATCH) {
        (void)cpu_grid_find(cpu_device_of(queue->base.device), &p->dispatch, &grid);
        return queue_setup_grid(queue, p, &grid);
    }
    queue->job.domain = cpu_domain_of(queue->base.domain);
    cpu_copy_setup(&queue->job, p);
    return true;
}

/* Executes a packet that needs no other thread. */
static void queue_execute_packet(struct cpu_queue *queue, const union hal_packet *p)
{
    switch ((enum hal_op)p->head.op) {
    case HAL_OP_COPY:
    case HAL_OP_FILL:
        queue->job.domain = cpu_domain_of(queue->base.domain);
        cpu_copy_setup(&queue->job, p);
        queue->job.run(&queue->job, NULL);
        break;
    case HAL_OP_SIGNAL:
    case HAL_OP_TIMESTAMP:
        cpu_sem_apply(queue->base.domain, &p->sem);
        break;
    case HAL_OP_NOP:
    case HAL_OP_BARRIER: /* packets retire in order */
    case HAL_OP_WAIT:    /* satisfied, or it would still be the head */
        break;
    case HAL_OP_DISPATCH: /* queue_step() and queue_run() take these before */
    case HAL_OP_HOST_CALL:
    case HAL_OP_COUNT:
        assert(!"a packet that another thread executes");
    }
}

static void queue_execute_simple(struct cpu_queue *queue, const union hal_packet *p)
{
    hal_serial_enter();
    queue_execute_packet(queue, p);
    hal_serial_leave();
}

enum advance { ADVANCE_NEXT, ADVANCE_JOB, ADVANCE_GONE };

/* ---- what others see of it: registry/use.h */

/* Of work of known length so much may be untold: that of a row of short grids. */
#define UNTOLD_OPS ((uint64_t)REG_SAMPLE_EVERY * CPU_INLINE_OPS)

static _Atomic uint64_t *queue_busy_word(const struct cpu_queue *queue)
{
    struct reg_use *use = queue->base.domain->use;

    return queue->job.form.code ? &use->kernel_busy : &use->copy_busy;
}

/* How much work the job is; UINT64_MAX: nobody knows before it is done. */
static uint64_t queue_job_ops(const struct cpu_job *job)
{
    const struct jit_launch *launch = &job->launch;
    const struct jit_code *code = job->form.code;

    if (!code || job->watch || code->may_spin || code->cost_ops >= UNTOLD_OPS ||
        atomic_load_explicit(&job->total, memory_order_relaxed) >= UNTOLD_OPS)
        return UINT64_MAX;
    return (code->cost_ops + 16) * launch->nwarps * launch->grid[0] * launch->grid[1] *
           launch->grid[2];
}

/* A small job of known length is left for the next one that is told of to stand for. */
static bool queue_is_left_unnotified(struct cpu_queue *queue, uint64_t ops)
{
    struct cpu_unnotified *small = &queue->small;

    if (!small->notified_ns || small->n >= REG_SAMPLE_EVERY - 1 || ops >= UNTOLD_OPS - small->ops)
        return false;
    small->n++;
    small->ops += ops;
    return true;
}

/* The busy time that jobs with nothing between them have in common ends. */
static void queue_count_pause(struct cpu_queue *queue, uint64_t now_ns)
{
    reg_end(queue->base.domain->use, queue->busy, now_ns);
    queue->busy = NULL;
}

static inline void queue_count_no_more(struct cpu_queue *queue)
{
    if (HD_UNLIKELY(queue->busy != NULL))
        queue_count_pause(queue, hal_time_ns());
}

static void queue_count_launches(struct cpu_queue *queue)
{
    reg_count(&queue->base.domain->use->launches, queue->nlaunches);
    queue->nlaunches = 0;
}

static void queue_count_begin(struct cpu_queue *queue)
{
    _Atomic uint64_t *busy = queue_busy_word(queue);

    queue->job_ops = queue_job_ops(&queue->job);
    queue->is_notified = !queue_is_left_unnotified(queue, queue->job_ops);
    if (queue->busy && (!queue->is_notified || queue->busy != busy))
        queue_count_pause(queue, queue->job.published_ns);
    if (!queue->is_notified)
        return;
    queue->nlaunches += queue->job.form.code != NULL;
    if (queue->busy)
        return;
    queue->busy = busy;
    reg_begin(queue->base.domain->use, busy, queue->job.published_ns);
    queue_count_launches(queue);
}

/* The job has ended, and is not retired yet. Behind one of unknown length the next may follow. */
static void queue_count_end(struct cpu_queue *queue)
{
    const struct hal_ring *ring = queue->base.ring;
    uint64_t end_ns;

    if (!queue->is_notified ||
        (queue->job_ops == UINT64_MAX && queue->nlaunches < REG_SAMPLE_EVERY &&
         atomic_load_explicit(&ring->submitted, memory_order_relaxed) >
             atomic_load_explicit(&ring->retired, memory_order_relaxed) + 1))
        return;
    end_ns = hal_time_ns();
    queue_count_pause(queue, end_ns);
    if (queue->job_ops != UINT64_MAX) {
        /* What the job took stands for the small ones before it. */
        struct cpu_unnotified *small = &queue->small;
        uint64_t took_ns = end_ns - queue->job.published_ns;

        if (small->ops)
            reg_sampled(
                queue->base.domain->use,
                HD_MIN((uint64_t)((double)took_ns * (double)small->ops / (double)queue->job_ops),
                       queue->job.published_ns - small->notified_ns),
                end_ns);
        queue->nlaunches += small->n;
        *small = (struct cpu_unnotified){.notified_ns = end_ns};
    }
    if (queue->nlaunches)
        queue_count_launches(queue);
}

/* Short grids on this thread, timed; what they took stands for all that were not told of yet. */
static HD_NOINLINE unsigned queue_run_row_timed(struct cpu_queue *queue, struct cpu_slot *slot)
{
    struct reg_use *use = queue->base.domain->use;
    uint64_t begin_ns = hal_time_ns();
    unsigned n = cpu_grid_run_row(queue, slot), all = queue->row.n + n;
    uint64_t end_ns = hal_time_ns(), took_ns = (end_ns - begin_ns) * all / HD_MAX(n, 1u);

    if (queue->row.notified_ns)
        reg_sampled(use, HD_MIN(took_ns, end_ns - queue->row.notified_ns), end_ns);
    reg_count(&use->launches, all);
    queue->row = (struct cpu_unnotified){.notified_ns = end_ns};
    return n;
}

static inline unsigned queue_run_row(struct cpu_queue *queue, struct cpu_slot *slot)
{
    if (HD_UNLIKELY(queue->row.n >= REG_SAMPLE_EVERY - 1))
        return queue_run_row_timed(queue, slot);
    unsigned n = cpu_grid_run_row(queue, slot);
    queue->row.n += n;
    return n;
}

static enum advance queue_publish(struct cpu_queue *queue, struct cpu_slot *slot)
{
    struct cpu_device *dev = cpu_device_of(queue->base.device);
    bool joins = slot && !atomic_load(&queue->job.spins) && cpu_slot_may(slot, queue);
    bool shared = !joins || atomic_load(&queue->job.total) > queue->job.chunk;

    assert(atomic_load_explicit(&queue->state, memory_order_relaxed) == CPU_QUEUE_OWNED);
    queue->job.published_ns = hal_time_ns();
    queue_count_begin(queue);
    if (queue->job.form.code && shared)
        queue->job.start_ns = queue->job.published_ns;
    cpu_job_partition(&queue->job, queue->partitions, dev->nslots);
    queue->generation = (queue->generation + 1) & 0x7fffffffu;
    atomic_store(&queue->state,
                 CPU_QUEUE_ACTIVE | (uint64_t)queue->generation << 32 | (joins ? 1u : 0u));
    /* Spinning workers see it by themselves; sleepers are woken once the job proves to be long. */
    if (!joins)
        cpu_ring(dev);
    else if (shared)
        cpu_ring_spinners(dev);
    return joins ? ADVANCE_JOB : ADVANCE_GONE;
}

static enum advance queue_step(struct cpu_queue *queue, struct cpu_slot *slot)
{
    union hal_packet *p = queue_head(queue);

    if (p->head.op != HAL_OP_DISPATCH)
        queue_count_no_more(queue);
    if (HD_UNLIKELY(queue->children != NULL)) {
        queue_count_no_more(queue);
        cpu_call_push(queue);
        return ADVANCE_GONE;
    }
    if (HD_UNLIKELY(p->head.flags & HAL_FLAG_CALLER)) { /* also after a fault: it is waited for */
        queue_count_no_more(queue);
        queue_set_blocked(queue, false);
        /* The owner leaves the queue to the thread that waits to run its head. */
        assert(p->head.op == HAL_OP_DISPATCH && p->dispatch.grid_id);
        atomic_store(&queue->turn, p->dispatch.grid_id);
        cpu_futex_wake(&queue->turn, INT32_MAX);
        return ADVANCE_GONE;
    }
    if (hal_domain_status(queue->base.domain) != HD_OK) {
        queue_count_no_more(queue);
        /* The head of a domain that has faulted: only what must happen anyway does. */
        queue_begin(queue, p);
        if (p->head.op == HAL_OP_HOST_CALL && p->head.flags & HAL_FLAG_ALWAYS) {
            cpu_call_push(queue);
            return ADVANCE_GONE;
        }
        if (p->head.op == HAL_OP_TIMESTAMP || p->head.op == HAL_OP_SIGNAL)
            queue_execute_simple(queue, p);
        queue_retire(queue, 1);
        return ADVANCE_NEXT;
    }
    if (p->head.op == HAL_OP_WAIT && !queue_sem_holds(queue, p))
        return queue_release_blocked(queue, p) ? ADVANCE_NEXT : ADVANCE_GONE;
    queue_set_blocked(queue, false);
    queue_begin(queue, p);
    if (p->head.op == HAL_OP_HOST_CALL) {
        cpu_call_push(queue);
        return ADVANCE_GONE;
    }
    if ((p->head.op == HAL_OP_DISPATCH || p->head.op == HAL_OP_COPY || p->head.op == HAL_OP_FILL) &&
        queue_job_is_worth_sharing(p)) {
        if (queue_setup_job(queue, p))
            return queue_publish(queue, slot);
    } else {
        queue_execute_simple(queue, p);
    }
    queue_retire(queue, 1);
    return ADVANCE_NEXT;
}

bool cpu_queue_advance(struct cpu_queue *queue, struct cpu_slot *slot)
{
    assert(atomic_load_explicit(&queue->state, memory_order_relaxed) == CPU_QUEUE_OWNED);
    for (;;) {
        enum advance what;

        atomic_store(&queue->pending, false);
        if (!queue_has_packets(queue)) {
            queue_count_no_more(queue);
            /* Gives up the empty queue, unless it got something meanwhile and is ours again. */
            queue_set_blocked(queue, false);
            atomic_store(&queue->state, CPU_QUEUE_IDLE);
            if (!atomic_load(&queue->pending) || !cpu_queue_own(queue))
                return false;
            continue;
        }
        what = queue_step(queue, slot);
        if (what != ADVANCE_NEXT)
            return what == ADVANCE_JOB;
    }
}

bool cpu_queue_join(struct cpu_queue *queue)
{
    uint64_t state = atomic_load_explicit(&queue->state, memory_order_relaxed);

    while (state & CPU_QUEUE_ACTIVE) {
        if (cpu_job_exhausted(&queue->job))
            return false;
        if (atomic_compare_exchange_weak(&queue->state, &state, state + 1))
            return true;
    }
    return false;
}

bool cpu_queue_hold(struct cpu_queue *queue)
{
    uint64_t state = atomic_load_explicit(&queue->state, memory_order_relaxed);

    while (state & CPU_QUEUE_ACTIVE)
        if (atomic_compare_exchange_weak(&queue->state, &state, state + 1))
            return true;
    return false;
}

static HD_NOINLINE void queue_meter_end(struct cpu_queue *queue)
{
    queue->base.device->client.meter->end(queue->job.metered);
    queue->job.metered = NULL;
}

bool cpu_queue_leave(struct cpu_queue *queue)
{
    uint64_t before = atomic_fetch_sub(&queue->state, 1);
    uint64_t unused = before - 1;

    assert(before & CPU_QUEUE_ACTIVE && (uint32_t)before);
    if ((uint32_t)unused || !cpu_job_exhausted(&queue->job))
        return false;
    /* Fails when somebody joined after all, or when this job has already been ended by another. */
    if (!atomic_compare_exchange_strong(&queue->state, &unused, CPU_QUEUE_OWNED))
        return false;
    if (HD_UNLIKELY(queue->job.watch != NULL))
        cpu_watch_end(&queue->job);
    if (HD_UNLIKELY(queue->job.metered != NULL))
        queue_meter_end(queue);
    queue_count_end(queue);
    queue_complete(queue, 1);
    return true;
}

/* ---- host calls */

void cpu_queue_call(struct cpu_queue *queue)
{
    const union hal_packet *p = queue_head(queue);

    assert(atomic_load(&queue->state) == CPU_QUEUE_OWNED);
    if (queue->children) {
        /* Submits what the grid at the head has asked for, and makes the head wait for it. */
        union hal_packet *head = queue_head(queue), wait;
        void *children = queue->children;

        queue->children = NULL;
        queue->base.device->client.runtime->submit(&queue->base, children, &wait);
        assert(wait.head.op == HAL_OP_WAIT && head->head.op == HAL_OP_DISPATCH);
        wait.head.flags = head->head.flags & HAL_FLAG_STAMP;
        wait.head.correlation = head->head.correlation;
        queue_release_params(queue->base.ring, head);
        *head = wait;
        queue->begun = true;
    } else {
        assert(p->head.op == HAL_OP_HOST_CALL);
        void (*func)(void *) = (void (*)(void *))(uintptr_t)p->host_call.func;

        func((void *)(uintptr_t)p->host_call.arg);
        queue_retire(queue, 1);
    }
    cpu_call_made(cpu_device_of(queue->base.device));
    if (cpu_queue_advance(queue, NULL)) {
        /* Cannot happen: without a slot jobs are only published. */
        (void)cpu_queue_leave(queue);
    }
}

/* ---- submission */

/* Of what is not a dispatch. */
static bool queue_packet_is_short(const struct cpu_queue *queue, const union hal_packet *p)
{
    switch ((enum hal_op)p->head.op) {
    case HAL_OP_COPY:
    case HAL_OP_FILL:
        return cpu_copy_size_B(p) <= CPU_INLINE_COPY_B;
    case HAL_OP_WAIT:
        return queue_sem_holds(queue, p);
    case HAL_OP_NOP:
    case HAL_OP_SIGNAL:
    case HAL_OP_TIMESTAMP:
    case HAL_OP_BARRIER:
        return true;
    case HAL_OP_HOST_CALL:
    case HAL_OP_DISPATCH:
    case HAL_OP_COUNT:
        break;
    }
    return false;
}

static unsigned queue_run_native(struct cpu_queue *queue, union hal_packet *p,
                                 const struct cpu_grid *grid)
{
    queue_begin(queue, p);
    queue->row.n++;
    if (queue_setup_grid(queue, p, grid)) {
        cpu_queue_here_begin(queue);
        cpu_native_run_all(&queue->job, NULL);
        cpu_queue_here_end(queue);
    }
    return 1;
}

/*
 * Runs the head and other short dispatches behind it on this thread, which owns the queue. How many
 * were run; 0: the head is left to the workers.
 */
static unsigned queue_run_grids(struct cpu_queue *queue, union hal_packet *p,
                                struct cpu_slot **slot)
{
    struct cpu_device *dev = cpu_device_of(queue->base.device);
    struct cpu_grid grid;

    if (!cpu_grid_find(dev, &p->dispatch, &grid))
        return 0;
    if (!cpu_grid_is_short(&grid))
        return grid.kernel->native && cpu_native_is_short(&grid) ? queue_run_native(queue, p, &grid)
                                                                 : 0;
    if (!*slot)
        *slot = cpu_slot_take_for(queue);
    if (!*slot)
        return 0;
    queue_begin(queue, p);
    if (!queue_setup_grid(queue, p, &grid))
        return 1;
    return queue_run_row(queue, *slot);
}

/* It comes next, on this thread: queue_run(). */
static HD_NOINLINE void queue_leave_to_caller(struct cpu_queue *queue, const union hal_packet *p,
                                              struct cpu_slot *slot)
{
    atomic_store_explicit(&queue->pending, false, memory_order_relaxed);
    atomic_store(&queue->turn, p->dispatch.grid_id);
    if (slot)
        cpu_slot_give_ring(slot);
}

/* Executes short work on the submitting thread. The caller owns the queue and gives it up here. */
static void queue_run_inline(struct cpu_queue *queue)
{
    struct cpu_slot *slot = NULL;
    bool is_ready = false;

    while (queue_has_packets(queue) && hal_domain_status(queue->base.domain) == HD_OK) {
        union hal_packet *p = queue_head(queue);

        if (HD_UNLIKELY(p->head.flags & (HAL_FLAG_INDIRECT | HAL_FLAG_CALLER))) {
            if (p->head.flags & HAL_FLAG_CALLER) {
                queue_leave_to_caller(queue, p, slot);
                return;
            }
            hal_dispatch_resolve(queue->base.ring, p);
        }
        if (!is_ready)
            cpu_fault_thread_init();
        is_ready = true;
        if (p->head.op == HAL_OP_DISPATCH) {
            unsigned n = queue_run_grids(queue, p, &slot);

            if (!n)
                break;
            queue_complete(queue, n);
            if (HD_UNLIKELY(queue->children != NULL))
                break;
            continue;
        } else if (queue_packet_is_short(queue, p)) {
            queue_begin(queue, p);
            queue_execute_simple(queue, p);
        } else {
            break;
        }
        queue_retire(queue, 1);
    }
    /* Only we submit here: nobody else has to find the queue idle with something pending. */
    atomic_store_explicit(&queue->pending, queue_has_packets(queue), memory_order_relaxed);
    atomic_store_explicit(&queue->state, CPU_QUEUE_IDLE, memory_order_release);
    if (slot)
        cpu_slot_give_ring(slot);
}

static enum hd_status queue_submit(struct hal_queue *base, const union hal_packet *packets,
                                   unsigned n)
{
    struct cpu_queue *queue = cpu_queue_of(base);
    struct hal_ring *ring = base->ring;
    uint64_t submitted = atomic_load_explicit(&ring->submitted, memory_order_relaxed);
    uint64_t retired = atomic_load_explicit(&ring->retired, memory_order_acquire);

    if (submitted + n - retired > HAL_RING_SLOTS)
        return HD_BUSY;
    for (unsigned i = 0; i < n; i++)
        *hal_ring_packet(ring, submitted + 1 + i) = packets[i];
    if (submitted != retired) {
        atomic_store(&ring->submitted, submitted + n);
        /* Rung already: who answers clears `pending` first and looks at `submitted` then. */
        if (atomic_load(&queue->pending))
            return HD_OK;
        atomic_store(&queue->pending, true);
    } else {
        atomic_store_explicit(&ring->submitted, submitted + n, memory_order_release);
        if (cpu_queue_own(queue))
            queue_run_inline(queue);
        else
            atomic_store(&queue->pending, true);
        if (!atomic_load_explicit(&queue->pending, memory_order_relaxed))
            return HD_OK;
    }
    cpu_ring(cpu_device_of(base->device));
    return HD_OK;
}

/* ---- on the thread that launched */

/* How long it looks before it sleeps; and at most until it looks again. */
#define TURN_SPINS    2000
#define TURN_SLEEP_NS 2000000u

/* The HAL's op. */
static void queue_run(struct hal_queue *base, uint32_t grid_id, struct hal_native_end *out_end)
{
    struct cpu_queue *queue = cpu_queue_of(base);
    union hal_packet *p;
    struct cpu_grid grid;

    cpu_fault_thread_init();
    for (int i = 0; i < TURN_SPINS && atomic_load(&queue->turn) != grid_id; i++)
        cpu_relax();
    for (;;) {
        uint32_t seen = atomic_load(&queue->turn);
        if (seen == grid_id)
            break;
        cpu_futex_wait(&queue->turn, seen, TURN_SLEEP_NS);
    }
    atomic_store_explicit(&queue->turn, 0, memory_order_relaxed);
    assert(atomic_load_explicit(&queue->state, memory_order_relaxed) == CPU_QUEUE_OWNED);
    p = queue_head(queue);
    assert(p->head.op == HAL_OP_DISPATCH && p->dispatch.grid_id == grid_id);
    out_end->status = hal_domain_status(base->domain);
    queue_begin(queue, p);
    if (out_end->status == HD_OK) {
        (void)cpu_grid_find(cpu_device_of(base->device), &p->dispatch, &grid);
        if (queue_setup_grid(queue, p, &grid)) {
            /*
             * The job is set up, and its tiles are all this thread's. It is published for who looks
             * at it.
             */
            struct hal_inside inside;

            cpu_job_end(&queue->job);
            queue->job.published_ns = hal_time_ns();
            queue_count_begin(queue);
            queue->generation = (queue->generation + 1) & 0x7fffffffu;
            atomic_store(&queue->state, CPU_QUEUE_ACTIVE | (uint64_t)queue->generation << 32 | 1u);
            hal_inside_enter(&inside, &queue->base);
            cpu_native_run_all(&queue->job, out_end);
            hal_inside_leave(&inside);
            if (cpu_queue_leave(queue))
                (void)cpu_queue_advance(queue, NULL);
            return;
        }
        out_end->status = hal_domain_status(base->domain);
    }
    snprintf(out_end->message, sizeof(out_end->message), "%.*s", (int)sizeof(out_end->message) - 1,
             base->domain->fault->message);
    queue_retire(queue, 1);
    (void)cpu_queue_advance(queue, NULL);
}

/* ---- life */

static const struct hal_queue_ops queue_ops = {
    .submit = queue_submit,
    .destroy = cpu_queue_destroy,
    .run = queue_run,
};

/* A dead queue's struct, or a new one in the table. The caller holds dev->lock. */
static struct cpu_queue *queue_reuse_locked(struct cpu_device *dev)
{
    uint32_t count = atomic_load(&dev->nqueues);
    struct cpu_queue *queue;

    assert(hd_lock_held(&dev->lock) && count <= CPU_MAX_QUEUES);
    for (uint32_t i = 0; i < count; i++) {
        queue = atomic_load(&dev->queues[i]);
        if (atomic_load(&queue->state) == CPU_QUEUE_DEAD)
            return queue;
    }
    if (count == CPU_MAX_QUEUES)
        return NULL;
    queue = aligned_alloc(64, sizeof(*queue));
    if (!queue)
        return NULL;
    memset(queue, 0, sizeof(*queue));
    queue->partitions = aligned_alloc(64, dev->nslots * sizeof(*queue->partitions));
    if (!queue->partitions) {
        free(queue);
        return NULL;
    }
    atomic_store(&queue->state, CPU_QUEUE_DEAD);
    atomic_store(&dev->queues[count], queue);
    atomic_store(&dev->nqueues, count + 1);
    return queue;
}

enum hd_status cpu_queue_create(struct hal_domain *domain, int priority,
                                struct hal_queue **out_queue)
{
    struct cpu_device *dev = cpu_device_of(domain->device);
    enum hd_status status = HD_OK;
    struct cpu_queue *queue;

    hd_lock_acquire(&dev->lock);
    queue = queue_reuse_locked(dev);
    if (!queue)
        status = hd_error(HD_NO_MEMORY, "more than %d queues", CPU_MAX_QUEUES);
    else
        status = hal_queue_init(&queue->base, &queue_ops, domain, priority);
    if (status == HD_OK) {
        atomic_store(&queue->pending, false);
        atomic_store(&queue->blocked, false);
        atomic_store(&queue->turn, 0);
        queue->row = queue->small = (struct cpu_unnotified){0};
        queue->busy = NULL;
        queue->nlaunches = 0;
        atomic_store(&queue->level, (uint32_t)-queue->base.priority);
        atomic_fetch_or(&dev->levels, 1u << -queue->base.priority);
        atomic_store(&queue->state, CPU_QUEUE_IDLE);
        *out_queue = &queue->base;
    }
    hd_lock_release(&dev->lock);
    return status;
}

void cpu_queue_destroy(struct hal_queue *base)
{
    struct cpu_queue *queue = cpu_queue_of(base);
    uint64_t idle = CPU_QUEUE_IDLE;

    assert(hal_queue_is_idle(base));
    /* Somebody may be looking at the empty queue just now. */
    while (!atomic_compare_exchange_weak(&queue->state, &idle, CPU_QUEUE_OWNED)) {
        idle = CPU_QUEUE_IDLE;
        sched_yield();
    }
    queue_set_blocked(queue, false);
    hal_queue_fini(base);
    atomic_store(&queue->pending, false);
    atomic_store(&queue->state, CPU_QUEUE_DEAD);
}
