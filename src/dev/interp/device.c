/* The device object. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dev/interp/private.h"

enum { STACK_DEFAULT_B = 65536, HEAP_DEFAULT_B = 8 << 20, STACK_MAX_B = 64 << 20 };

static void device_destroy(struct hal_device *base)
{
    struct refdev *dev = refdev_of(base);
    struct hd_map_iter it = {0};
    while (hd_map_next(&dev->heap, &it))
        free((void *)(uintptr_t)it.key_u64);
    hd_map_fini(&dev->heap);
    pthread_cond_destroy(&dev->changed);
    hd_lock_fini(&dev->lock);
    hd_free(dev);
}

static enum hd_status device_limit_set(struct hal_device *base, enum hal_limit limit,
                                       uint64_t value)
{
    struct refdev *dev = refdev_of(base);
    switch (limit) {
    case HAL_LIMIT_STACK_B:
        if (value > STACK_MAX_B)
            return hd_error(HD_BAD_ARG, "a stack of %llu bytes per thread is too large",
                            (unsigned long long)value);
        atomic_store(&dev->stack_B, HD_MAX(value, (uint64_t)STACK_DEFAULT_B));
        return HD_OK;
    case HAL_LIMIT_HEAP_B:
        hd_lock_acquire(&dev->lock);
        dev->heap_limit_B = value;
        hd_lock_release(&dev->lock);
        return HD_OK;
    case HAL_LIMIT_PRINTF_B:
        return HD_OK; /* output goes straight to stdout */
    }
    return hd_error(HD_BAD_ARG, "unknown limit %d", (int)limit);
}

static uint64_t device_limit_get(struct hal_device *base, enum hal_limit limit)
{
    struct refdev *dev = refdev_of(base);
    uint64_t value;
    if (limit == HAL_LIMIT_STACK_B)
        return atomic_load(&dev->stack_B);
    if (limit != HAL_LIMIT_HEAP_B)
        return 1u << 20;
    hd_lock_acquire(&dev->lock);
    value = dev->heap_limit_B;
    hd_lock_release(&dev->lock);
    return value;
}

static void device_printf_flush(struct hal_device *base)
{
    (void)base;
    fflush(stdout);
}

static const struct hal_device_ops device_ops = {
    .destroy = device_destroy,
    .module_load = refdev_module_load,
    .module_unload = refdev_module_unload,
    .kernel_get = refdev_kernel_get,
    .kernel_info = refdev_kernel_info,
    .kernel_prepare = refdev_kernel_prepare,
    .queue_create = refdev_queue_create,
    .wait = refdev_wait,
    .mem_bind = hal_host_mem_bind,
    .mem_unbind = hal_host_mem_unbind,
    .limit_set = device_limit_set,
    .limit_get = device_limit_get,
    .printf_flush = device_printf_flush,
};

enum hd_status interp_device_create(struct hal_device **out_device)
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
    hd_map_init(&dev->heap);
    dev->heap_limit_B = HEAP_DEFAULT_B;
    atomic_store(&dev->stack_B, STACK_DEFAULT_B);
    dev->base.ops = &device_ops;
    dev->base.info = (struct hal_device_info){
        .name = "interp", .units = 1, .resident_ctas = 1024, .ptx_only_reference = true};
    snprintf(dev->base.info.description, sizeof dev->base.info.description,
             "reference interpreter");
    *out_device = &dev->base;
    return HD_OK;
}
