/* The device object. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dev/interp/private.h"

static void device_destroy(struct hal_device *base)
{
    struct refdev *dev = refdev_of(base);
    hal_device_fini(base);
    pthread_cond_destroy(&dev->changed);
    hd_lock_fini(&dev->lock);
    hd_free(dev);
}

static void device_describe(struct hal_device *base, int32_t values[HAL_ATTRIBUTE_END])
{
    values[HAL_ATTRIBUTE_MULTIPROCESSOR_COUNT] = (int32_t)base->info.units;
}

/* ---- domains */

static enum hd_status domain_create(struct hal_device *device, struct hal_domain **out_domain)
{
    struct refdev_domain *domain = hd_new(struct refdev_domain);
    if (!domain)
        return hd_error(HD_NO_MEMORY, "domain");
    enum hd_status status = hal_domain_init(&domain->base, device);
    if (status != HD_OK) {
        hd_free(domain);
        return status;
    }
    hd_map_init(&domain->heap);
    *out_domain = &domain->base;
    return HD_OK;
}

static void domain_printf_flush(struct hal_domain *domain)
{
    (void)domain; /* output goes straight to stdout */
    fflush(stdout);
}

static void heap_clear(struct refdev_domain *domain)
{
    struct hd_map_iter it = {0};
    while (hd_map_next(&domain->heap, &it))
        free((void *)(uintptr_t)it.key_u64);
    hd_map_fini(&domain->heap);
    domain->heap_used_B = 0;
}

static void domain_reset(struct hal_domain *base)
{
    struct refdev_domain *domain = (struct refdev_domain *)base;
    domain_printf_flush(base);
    heap_clear(domain);
    hd_map_init(&domain->heap);
    hal_domain_reset(base);
}

static void domain_destroy(struct hal_domain *base)
{
    struct refdev_domain *domain = (struct refdev_domain *)base;
    domain_printf_flush(base);
    heap_clear(domain);
    hal_domain_fini(base);
    hd_free(domain);
}

static void domain_cancel(struct hal_domain *domain)
{
    hal_domain_fail(domain, HD_CANCELLED, 0, NULL, "the work was cancelled");
    atomic_store(&domain->fault->cancelled, 1);
}

static const struct hal_device_ops device_ops = {
    .destroy = device_destroy,
    .describe = device_describe,
    .module_load = refdev_module_load,
    .module_unload = refdev_module_unload,
    .kernel_get = refdev_kernel_get,
    .kernel_info = refdev_kernel_info,
    .kernel_prepare = refdev_kernel_prepare,
    .kernel_instead = hal_kernel_set_instead,
    .domain_create = domain_create,
    .domain_destroy = domain_destroy,
    .domain_reset = domain_reset,
    .domain_cancel = domain_cancel,
    .queue_create = refdev_queue_create,
    .wait = refdev_wait,
    .mem_create = hal_host_mem_create,
    .mem_destroy = hal_host_mem_destroy,
    .mem_export = hal_host_mem_export,
    .mem_import = hal_host_mem_import,
    .mem_map = hal_host_mem_map,
    .mem_unmap = hal_host_mem_unmap,
    .mem_discard = hal_host_mem_discard,
    .printf_flush = domain_printf_flush,
};

enum hd_status refdev_create(const struct refdev_engine *engine,
                             const struct hal_client_ops *client, struct hal_device **out_device)
{
    struct refdev *dev = hd_new(struct refdev);
    pthread_condattr_t attr;
    if (!dev)
        return hd_error(HD_NO_MEMORY, "reference device");
    hd_lock_init(&dev->lock, HD_RANK_DEVICE, "interp device");
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&dev->changed, &attr);
    pthread_condattr_destroy(&attr);
    hal_device_init(&dev->base, &device_ops, client);
    dev->engine = engine;
    dev->base.info = (struct hal_device_info){.name = engine->name,
                                              .target = "common",
                                              .units = 1,
                                              .clock = HAL_CLOCK_HOST,
                                              .checks_accesses = true,
                                              .knows_registers = engine->knows_registers};
    snprintf(dev->base.info.description, sizeof dev->base.info.description, "%s",
             engine->description);
    *out_device = &dev->base;
    return HD_OK;
}

/* ---- the interpreter */

enum hd_status interp_device_create(const struct hal_client_ops *client,
                                    struct hal_device **out_device)
{
    static const struct refdev_engine engine = {.name = "interp",
                                                .description = "reference interpreter"};

    return refdev_create(&engine, client, out_device);
}
