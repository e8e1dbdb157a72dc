/* Fault domains: what the CPU device keeps for each. */
#include "base/mem.h"
#include "dev/cpu/device.h"
#include "dev/cpu/signals.h"

enum hd_status cpu_domain_create(struct hal_device *device, struct hal_domain **out_domain)
{
    struct cpu_domain *domain = hd_new(struct cpu_domain);
    enum hd_status status;

    if (!domain)
        return hd_error(HD_NO_MEMORY, "domain");
    status = hal_domain_init(&domain->base, device);
    if (status != HD_OK) {
        hd_free(domain);
        return status;
    }
    cpu_heap_init(&domain->heap);
    hd_lock_init(&domain->output.lock, HD_RANK_LEAF, "printf output");
    hd_buf_init(&domain->output.text);
    *out_domain = &domain->base;
    return HD_OK;
}

void cpu_domain_destroy(struct hal_domain *base)
{
    struct cpu_domain *domain = cpu_domain_of(base);

    cpu_printf_flush(base);
    hd_buf_fini(&domain->output.text);
    hd_lock_fini(&domain->output.lock);
    cpu_heap_fini(&domain->heap);
    hal_domain_fini(base);
    hd_free(domain);
}

void cpu_domain_reset(struct hal_domain *base)
{
    struct cpu_domain *domain = cpu_domain_of(base);

    cpu_printf_flush(base);
    cpu_heap_fini(&domain->heap);
    memset(&domain->heap, 0, sizeof(domain->heap));
    cpu_heap_init(&domain->heap);
    hal_domain_reset(base);
}

/*
 * First the flag, then the signals: a thread that activates its guard after the signal has come
 * finds the flag (cpu_guard_run). Threads that work for other domains ignore it.
 */
void cpu_domain_cancel(struct hal_domain *domain)
{
    struct cpu_device *dev = cpu_device_of(domain->device);

    hal_domain_fail(domain, HD_CANCELLED, 0, NULL, "the work was cancelled");
    atomic_store(&domain->fault->cancelled, 1);
    for (unsigned i = 0; i < dev->nslots; i++)
        if (atomic_load(&dev->slots[i].busy))
            cpu_signals_cancel(atomic_load(&dev->slots[i].tid));
    cpu_ring(dev);
}
