/*
 * Strict mode: what a kernel may touch besides the device's memory, asked where generated code
 * found an address outside of that (jit_services.check), and for every access of the interpreter in
 * place. What is not the device's own affair, core decides (hal_client_ops.refusal).
 */
#include "dev/cpu/device.h"
#include "dev/cpu/fault/fault.h"
#include "dev/cpu/kernel.h"
#include "jit/jit_cluster.h"

static bool inside(uint64_t address, uint64_t size_B, uint64_t base, uint64_t range_B)
{
    return address >= base && address - base <= range_B && size_B <= range_B - (address - base);
}

static uint64_t va_of(const void *ptr)
{
    return (uint64_t)(uintptr_t)ptr;
}

/* Shared memory, the parameters, what all CTAs of a cooperative launch share. */
static bool in_window(const struct cpu_cta *cta, uint64_t address, uint64_t size_B)
{
    const struct cpu_job *job = cta->job;
    const struct jit_launch *launch = &job->launch;

    return jit_cluster_holds(&cta->cta, address, size_B) ||
           inside(address, size_B, va_of(launch->params), job->kernel->func->param_size_B) ||
           (job->cooperative &&
            inside(address, size_B, va_of(&job->workspace), sizeof(job->workspace)));
}

const char *cpu_strict_refusal(struct cpu_cta *cta, uint64_t address, uint64_t size_B)
{
    const struct jit_launch *launch = &cta->job->launch;
    uint64_t all_local_B = (uint64_t)launch->nwarps * 32 * launch->local_B;

    assert(cta->job && cta->job->kernel);
    if (in_window(cta, address, size_B))
        return NULL;
    if (inside(address, size_B, va_of(cta->cta.local), all_local_B))
        return "local memory of another thread";
    bool found;
    cpu_guard_hold();
    found = cpu_heap_contains(&cta->job->domain->heap, address, size_B);
    cpu_guard_release();
    if (found)
        return NULL;
    /* Core has locks. */
    struct hal_device *device = cta->job->domain->base.device;
    const char *reason;
    assert(device->client.refusal);
    cpu_guard_hold();
    reason = device->client.refusal(address, size_B);
    cpu_guard_release();
    return reason;
}

const char *cpu_strict_thread_refusal(struct cpu_cta *cta, uint32_t thread, uint64_t address,
                                      uint64_t size_B)
{
    uint64_t local_B = cta->job->launch.local_B;

    assert(cta->job->domain->base.device->client.refusal && local_B % 16 == 0);

    assert(thread < cta->job->launch.nwarps * 32);
    if (inside(address, size_B, va_of(cta->cta.local) + thread * local_B, local_B))
        return NULL;
    return cpu_strict_refusal(cta, address, size_B);
}

const char *cpu_strict_reason(struct cpu_cta *cta, uint64_t address)
{
    const struct hal_device *device = cta->job->domain->base.device;

    return device->client.refusal ? device->client.refusal(address, 1) : NULL;
}
