/*
 * Semaphores of packets. One in memory of the program's may have gone since the packet was
 * submitted: then looking at it is the domain's fault, as for a kernel.
 */
#include "dev/cpu/device.h"
#include "dev/cpu/fault/fault.h"

struct access {
    const struct hal_sem *sem;
    struct hal_device *device;
    bool holds;
};

/*
 * A fault leaves by a jump: better from here than out of a sanitizer's own function, whose locks
 * would stay taken.
 */
CPU_READS_ANYTHING static void touch(const void *at)
{
    (void)*(const volatile char *)at;
}

static void look_body(void *arg)
{
    struct access *a = arg;

    touch((const void *)(uintptr_t)a->sem->address);
    a->holds = hal_sem_holds(a->sem, (const void *)(uintptr_t)a->sem->address);
}

static void apply_body(void *arg)
{
    const struct access *a = arg;

    touch((const void *)(uintptr_t)a->sem->address);
    hal_sem_apply(a->sem, (void *)(uintptr_t)a->sem->address, a->device);
}

/* False: it faulted, and the domain has; or the domain was cancelled. */
static bool access_guarded(void (*body)(void *), struct access *a, struct hal_domain *domain)
{
    struct cpu_job job = {.domain = cpu_domain_of(domain)};
    enum hd_status status;
    uint64_t address;

    cpu_fault_thread_init();
    if (cpu_guarded_quietly(body, a, &job, &status, &address))
        return true;
    if (status != HD_CANCELLED)
        (void)hal_domain_fail(domain, status, a->sem->address, NULL, hal_sem_gone);
    return false;
}

/* What nobody can look at holds: the domain has failed, and the packet is skipped. */
bool cpu_sem_holds(struct hal_domain *domain, const struct hal_sem *sem)
{
    struct access a = {.sem = sem, .device = domain->device};

    if (HD_LIKELY(!sem->is_guarded)) {
        look_body(&a);
        return a.holds;
    }
    return !access_guarded(look_body, &a, domain) || a.holds;
}

void cpu_sem_apply(struct hal_domain *domain, const struct hal_sem *sem)
{
    struct access a = {.sem = sem, .device = domain->device};

    if (HD_LIKELY(!sem->is_guarded))
        apply_body(&a);
    else
        (void)access_guarded(apply_body, &a, domain);
}
