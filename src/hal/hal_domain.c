/* The common part of fault domains: the fault, the limits, the end of their work. */
#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/env.h"
#include "base/list.h"
#include "base/log.h"
#include "hal/hal.h"

#define CANCEL_WAIT_NS 1000000000u
_Static_assert(sizeof(struct hal_fault) <= HAL_DOMAIN_B, "the fault fits its memory");

static const struct {
    const char *name;
    uint64_t value, max;
} limits[] = {
#define X(name, value, max, doc) {#name, value, max},
#include "limits.def"
#undef X
};

enum hd_status hal_domain_init(struct hal_domain *domain, struct hal_device *device)
{
    domain->device = device;
    domain->fault = &domain->own_fault;
    domain->memfd = -1;
    domain->owner = NULL;
    domain->use = &device->own_use;
    hal_domain_reset(domain);
    hd_lock_init(&domain->lock, HD_RANK_LEAF, "domain");
    domain->queues = NULL;
    hd_lock_acquire(&device->domains_lock);
    hd_list_push(&device->domains, domain);
    hd_lock_release(&device->domains_lock);
    return HD_OK;
}

void hal_domain_fini(struct hal_domain *domain)
{
    struct hal_device *device = domain->device;

    assert(!domain->queues);
    hd_lock_acquire(&device->domains_lock);
    hd_list_remove(domain);
    hd_lock_release(&device->domains_lock);
    hd_lock_fini(&domain->lock);
    if (domain->memfd >= 0)
        hal_shared_destroy(domain->memfd, domain->fault, HAL_DOMAIN_B);
    domain->fault = NULL;
    domain->memfd = -1;
}

enum hd_status hal_domain_share(struct hal_domain *domain, int *out_fd)
{
    void *at = NULL;
    bool busy;

    if (domain->memfd < 0) {
        hd_lock_acquire(&domain->lock);
        busy = domain->queues != NULL;
        hd_lock_release(&domain->lock);
        if (busy)
            return hd_error(HD_BUSY, "a domain is shared before its first queue");
        HD_TRY(hal_shared_create("heddle-domain", HAL_DOMAIN_B, &domain->memfd, &at));
        memcpy(at, domain->fault, sizeof(*domain->fault));
        domain->fault = at;
    }
    *out_fd = domain->memfd;
    return HD_OK;
}

void hal_domain_reset(struct hal_domain *domain)
{
    /* Others may be looking. What belongs to a fault is written before its status is. */
    atomic_store(&domain->fault->cancelled, 0);
    atomic_store_explicit(&domain->fault->status, HD_OK, memory_order_release);
    for (unsigned i = 0; i < HAL_LIMIT_COUNT; i++)
        atomic_store(&domain->limits[i], limits[i].value);
}

bool hal_domain_fail(struct hal_domain *domain, enum hd_status status, uint64_t address,
                     const struct hal_fault_site *site, const char *message)
{
    static const struct hal_fault_site unknown;

    site = site ? site : &unknown;
    /* From now on no call waits for the domain: what kernels printed about it is shown. */
    domain->device->ops->printf_flush(domain);
    if (!hal_fault_raise_at(domain->fault, status, address, site, message))
        return false;
    if (domain->device->client.failed)
        domain->device->client.failed(domain, site);
    return true;
}

enum hd_status hal_limit_set(struct hal_domain *domain, enum hal_limit limit, uint64_t value)
{
    assert((unsigned)limit < HAL_LIMIT_COUNT);
    if (value > limits[limit].max)
        return hd_error(HD_BAD_ARG, "limit %s: %llu is above %llu", limits[limit].name,
                        (unsigned long long)value, (unsigned long long)limits[limit].max);
    atomic_store(&domain->limits[limit], value);
    return HD_OK;
}

/* ---- stopping */

static bool domain_is_idle(struct hal_domain *domain)
{
    bool idle = true;

    hd_lock_acquire(&domain->lock);
    for (const struct hal_queue *q = domain->queues; q && idle; q = q->next)
        idle = hal_queue_is_idle(q);
    hd_lock_release(&domain->lock);
    return idle;
}

enum hd_status hal_domain_wait(struct hal_domain *domain, uint64_t timeout_ns)
{
    uint64_t start_ns = hal_time_ns();
    struct timespec nap = {.tv_nsec = 20000};

    while (!domain_is_idle(domain)) {
        if (hal_time_ns() - start_ns >= timeout_ns)
            return HD_TIMEOUT;
        nanosleep(&nap, NULL);
        nap.tv_nsec = HD_MIN(nap.tv_nsec * 2, 1000000);
    }
    return HD_OK;
}

/* Work that is still there after grace_ns has been told to end. */
static void cancel_after(struct hal_domain *domain, uint64_t grace_ns)
{
    if (hal_domain_wait(domain, grace_ns) == HD_OK)
        return;
    hd_log("work is still running %.1f s after its context was given up: cancelled "
           "(HEDDLE_EXIT_WAIT sets this time)",
           (double)grace_ns * 1e-9);
    domain->device->ops->domain_cancel(domain);
}

void hal_domain_stop(struct hal_domain *domain, uint64_t grace_ns)
{
    cancel_after(domain, grace_ns);
    (void)!hal_domain_wait(domain, UINT64_MAX);
}

/* Other threads still run: a domain may go at any time but while we hold the list. */
void hal_device_stop(struct hal_device *device, uint64_t grace_ns)
{
    uint64_t end_ns = hal_time_ns() + grace_ns, now_ns;

    hd_lock_acquire(&device->domains_lock);
    for (struct hal_domain *d = device->domains; d; d = d->next) {
        now_ns = hal_time_ns();
        cancel_after(d, now_ns < end_ns ? end_ns - now_ns : 0);
        (void)!hal_domain_wait(d, CANCEL_WAIT_NS); /* a host call may never return */
    }
    hd_lock_release(&device->domains_lock);
}

uint64_t hal_patience_ns(void)
{
    uint64_t seconds = 0;

    (void)hd_env_u64("HEDDLE_WATCHDOG", &seconds);
    return seconds * 1000000000u;
}

bool hal_watchdog_bites(struct hal_watchdog *dog, uint64_t events, uint64_t patience_ns)
{
    uint64_t now_ns;

    if (HD_LIKELY(!patience_ns))
        return false;
    now_ns = hal_time_ns();
    if (!dog->since_ns || dog->events != events) {
        *dog = (struct hal_watchdog){events, now_ns};
        return false;
    }
    return now_ns - dog->since_ns > patience_ns;
}

uint64_t hal_stop_grace_ns(void)
{
    uint64_t ms = 5000;

    (void)hd_env_u64("HEDDLE_EXIT_WAIT", &ms);
    return ms * 1000000u;
}
