/* The device object: slots, workers' places, ops table. */
#include <assert.h>
#include <sched.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "dev/cpu/cpu.h"
#include "dev/cpu/device.h"
#include "dev/cpu/fault/fault.h"
#include "dev/cpu/kernel.h"
#include "dev/cpu/native.h"
#include "dev/cpu/sample.h"
#include "dev/cpu/watch.h"
#include "tune/tune.h"

static void device_destroy(struct hal_device *base)
{
    struct cpu_device *dev = cpu_device_of(base);

    (void)!cpu_sample(base, 0);
    cpu_workers_stop(dev);
    cpu_call_stop(dev);
    for (uint32_t i = 0; i < atomic_load(&dev->nqueues); i++) {
        free(atomic_load(&dev->queues[i])->partitions);
        free(atomic_load(&dev->queues[i]));
    }
    for (unsigned i = 0; dev->slots && i < dev->nslots; i++) {
        cpu_cta_destroy(dev->slots[i].cta);
        while (dev->slots[i].free_blocks) {
            struct cpu_cta *cta = dev->slots[i].free_blocks;
            dev->slots[i].free_blocks = cta->next;
            cpu_cta_destroy(cta);
        }
        while (dev->slots[i].free_clusters) {
            struct cpu_cluster *cluster = dev->slots[i].free_clusters;
            dev->slots[i].free_clusters = cluster->next;
            cpu_cluster_destroy(cluster);
        }
    }
    hd_lock_fini(&dev->lock);
    hal_device_fini(base);
    free(dev->slots);
    hd_free(dev->workers);
    free(dev);
}

static void device_describe(struct hal_device *base, int32_t values[HAL_ATTRIBUTE_END])
{
    struct cpu_device *dev = cpu_device_of(base);
    long l2_B = sysconf(_SC_LEVEL2_CACHE_SIZE);

    values[HAL_ATTRIBUTE_MULTIPROCESSOR_COUNT] = (int32_t)dev->nslots;
    if (l2_B > 0)
        values[HAL_ATTRIBUTE_L2_CACHE_SIZE] = (int32_t)l2_B * (int32_t)dev->nslots;
}

static const struct hal_device_ops device_ops = {
    .destroy = device_destroy,
    .describe = device_describe,
    .module_load = cpu_module_load,
    .module_unload = cpu_module_unload,
    .kernel_get = cpu_kernel_get,
    .kernel_info = cpu_kernel_info,
    .kernel_prepare = cpu_kernel_prepare,
    .kernel_instead = hal_kernel_set_instead,
    .domain_create = cpu_domain_create,
    .domain_destroy = cpu_domain_destroy,
    .domain_reset = cpu_domain_reset,
    .domain_cancel = cpu_domain_cancel,
    .queue_create = cpu_queue_create,
    .wait = cpu_wait,
    .mem_create = hal_host_mem_create,
    .mem_destroy = hal_host_mem_destroy,
    .mem_export = hal_host_mem_export,
    .mem_import = hal_host_mem_import,
    .mem_map = hal_host_mem_map,
    .mem_unmap = hal_host_mem_unmap,
    .mem_discard = hal_host_mem_discard,
    .printf_flush = cpu_printf_flush,
    .report = cpu_device_report,
    .sample = cpu_sample,
    .samples_notify = cpu_samples_notify,
    .native_get = cpu_native_get,
};

/* HEDDLE_THREADS, or as many as there are CPUs in the affinity mask. */
static unsigned thread_count(unsigned ncpus)
{
    uint64_t value = ncpus;

    (void)hd_env_u64("HEDDLE_THREADS", &value);
    assert(value <= CPU_MAX_SLOTS); /* as the variable's row says */
    return (unsigned)value;
}

static enum hd_status device_init(struct cpu_device *dev)
{
    enum jit_path path; /* known here, so that no program begins which then cannot load a module */
    cpu_set_t mask;

    HD_TRY(jit_path_get(&path));
    HD_TRY(tune_start()); /* so is what is wrong with its file */
    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof(mask), &mask))
        CPU_SET(0, &mask);
    dev->ncpus = (unsigned)HD_MAX(CPU_COUNT(&mask), 1);
    dev->nslots = thread_count(HD_MIN(dev->ncpus, CPU_MAX_SLOTS));
    dev->slots = aligned_alloc(64, dev->nslots * sizeof(*dev->slots));
    dev->workers = hd_alloc_array(dev->nslots, sizeof(*dev->workers));
    if (dev->slots)
        memset(dev->slots, 0, dev->nslots * sizeof(*dev->slots));
    if (!dev->slots || !dev->workers)
        return hd_error(HD_NO_MEMORY, "CPU device");
    for (unsigned i = 0; i < dev->nslots; i++) {
        dev->slots[i].index = i;
        dev->slots[i].device = dev;
        dev->workers[i].index = i;
        dev->workers[i].device = dev;
    }
    /*
     * Worker i on a CPU of its own. Worker 0, which spins, is put away from the CPU of the thread
     * that creates the device: that one is likely to go on submitting from there.
     */
    int cpus[CPU_SETSIZE], count = 0, here = sched_getcpu();
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &mask) && cpu != here)
            cpus[count++] = cpu;
    if (here >= 0 && CPU_ISSET(here, &mask))
        cpus[count++] = here;
    for (unsigned i = 0; i < dev->nslots; i++)
        dev->workers[i].cpu = dev->nslots <= (unsigned)count ? cpus[i] : -1;
    cpu_services_init(&dev->services);
    dev->run_again = cpu_schedule_run;
    dev->base.info = (struct hal_device_info){
        .name = "cpu",
        .target = "cpu",
        .units = dev->nslots,
        .priority_greatest = CPU_PRIORITY_GREATEST,
        .clock = HAL_CLOCK_HOST,
        .checks_accesses = true,
    };
    snprintf(dev->base.info.description, sizeof(dev->base.info.description),
             "CPU device, %u threads", dev->nslots);
    HD_TRY(cpu_fault_install());
    return cpu_workers_start(dev);
}

enum hd_status cpu_device_create(const struct hal_client_ops *client,
                                 struct hal_device **out_device)
{
    struct cpu_device *dev = aligned_alloc(64, hd_align_up(sizeof(*dev), 64));
    enum hd_status status;

    if (!dev)
        return hd_error(HD_NO_MEMORY, "CPU device");
    memset(dev, 0, sizeof(*dev));
    hal_device_init(&dev->base, &device_ops, client);
    hd_lock_init(&dev->lock, HD_RANK_DEVICE, "cpu device");
    hd_lock_init(&dev->answers_lock, HD_RANK_LEAF, "cpu device's answers");
    cpu_call_init(dev, cpu_queue_call);
    status = device_init(dev);
    if (status != HD_OK) {
        device_destroy(&dev->base);
        return status;
    }
    *out_device = &dev->base;
    return HD_OK;
}
