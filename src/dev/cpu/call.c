/*
 * Host calls run on one thread of their own: they may take long, or take locks that a program's
 * thread holds while it waits, so neither workers nor helping threads may be stuck in one.
 */
#include "base/thread.h"
#include "dev/cpu/device.h"
#include "dev/cpu/fault.h"

static void call_run(struct cpu_queue *queue)
{
    const union hal_packet *p =
        hal_ring_packet(queue->base.ring, hal_queue_retired(&queue->base) + 1);
    assert(atomic_load(&queue->state) == CPU_QUEUE_OWNED);
    if (queue->children) {
        cpu_queue_submit_children(queue);
    } else {
        assert(p->head.op == HAL_OP_HOST_CALL);
        void (*func)(void *) = (void (*)(void *))(uintptr_t)p->host_call.func;

        func((void *)(uintptr_t)p->host_call.arg);
        cpu_queue_retire(queue);
    }
    if (cpu_queue_advance(queue, NULL)) {
        /* Cannot happen: without a slot jobs are only published. */
        (void)cpu_queue_leave(queue);
    }
}

static void *call_main(void *arg)
{
    struct cpu_device *dev = arg;

    cpu_fault_thread_init();
    pthread_setname_np(pthread_self(), "heddle-call");
    hd_lock_acquire(&dev->lock);
    while (!atomic_load(&dev->stopping) || dev->calls) {
        struct cpu_queue *queue = dev->calls;

        if (!queue) {
            hd_lock_wait(&dev->lock, &dev->call_cond);
            continue;
        }
        dev->calls = queue->next_call;
        if (!dev->calls)
            dev->last_call = &dev->calls;
        hd_lock_release(&dev->lock);
        call_run(queue);
        hd_lock_acquire(&dev->lock);
    }
    hd_lock_release(&dev->lock);
    return NULL;
}

void cpu_call_push(struct cpu_queue *queue)
{
    struct cpu_device *dev = cpu_device_of(queue->base.device);

    hd_lock_acquire(&dev->lock);
    queue->next_call = NULL;
    *dev->last_call = queue;
    dev->last_call = &queue->next_call;
    if (!dev->call_thread_started)
        dev->call_thread_started = !hd_thread_create(&dev->call_thread, NULL, call_main, dev);
    pthread_cond_signal(&dev->call_cond);
    hd_lock_release(&dev->lock);
}

void cpu_call_stop(struct cpu_device *dev)
{
    hd_lock_acquire(&dev->lock);
    pthread_cond_signal(&dev->call_cond);
    hd_lock_release(&dev->lock);
    if (dev->call_thread_started)
        pthread_join(dev->call_thread, NULL);
}
