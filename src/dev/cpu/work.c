/* One job: running it, leaving it, and what follows in its queue. */
#include "dev/cpu/worker.h"

void cpu_work_on(struct cpu_queue *queue, struct cpu_slot *slot)
{
    do {
        bool is_copy = !queue->job.form.code;

        if (is_copy)
            hal_serial_enter();
        if (HD_UNLIKELY(queue->job.metered != NULL)) {
            const struct hal_meter *meter = queue->base.device->client.meter;
            void *launch = queue->job.metered;

            meter->enter(launch);
            queue->job.run(&queue->job, slot);
            meter->leave(launch);
        } else
            queue->job.run(&queue->job, slot);
        if (is_copy)
            hal_serial_leave();
    } while (cpu_queue_leave(queue) && cpu_queue_advance(queue, slot));
}

void cpu_work_leave(struct cpu_queue *queue, struct cpu_slot *slot)
{
    if (cpu_queue_leave(queue) && cpu_queue_advance(queue, slot))
        cpu_work_on(queue, slot);
}
