/* The one device: what it says about itself, and its creation. */
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "core/core.h"

static struct core_device the_device;
static _Atomic bool ready;
static struct hd_lock init_lock = HD_LOCK_INIT(RUNTIME, "device init");

struct core_device *core_device_get(void)
{
    return atomic_load_explicit(&ready, memory_order_acquire) ? &the_device : NULL;
}

enum hd_status core_device_attribute(const struct core_device *d, int number, int *out_value)
{
    (void)d;
    switch (number) {
#define X(name, number_, value)                                                                    \
    case number_:                                                                                  \
        *out_value = (int)(value);                                                                 \
        return HD_OK;
#include "device.def"
#undef X
    default:
        return hd_error(HD_BAD_ARG, "there is no device attribute %d", number);
    }
}

/* "4G", "512M", "123456" */
static enum hd_status parse_size(const char *text, uint64_t *out_B)
{
    static const char units[] = "KMGT";
    const char *at;
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    unsigned shift = 0;

    if (*end && (at = strchr(units, *end & ~0x20))) {
        shift = 10 * (unsigned)(at - units + 1);
        end++;
    }
    if (end == text || *end || !value || value > (UINT64_MAX >> shift >> 1))
        return hd_error(HD_BAD_ARG, "HEDDLE_MEMORY=%s is not a size such as 4G", text);
    *out_B = (uint64_t)value << shift;
    return HD_OK;
}

static enum hd_status memory_size(uint64_t *out_B)
{
    const char *text = hd_env("HEDDLE_MEMORY");

    *out_B = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
    *out_B &= ~(uint64_t)((2u << 20) - 1);
    return text ? parse_size(text, out_B) : HD_OK;
}

static enum hd_status device_open(struct core_device *d)
{
    const char *kind = hd_env("HEDDLE_DEVICE");
    long l2_B = sysconf(_SC_LEVEL2_CACHE_SIZE);

    hd_lock_init(&d->lock, HD_RANK_DRIVER, "device");
    HD_TRY(hal_device_create(kind ? kind : "cpu", &d->hal));
    HD_TRY(memory_size(&d->memory_B));
    snprintf(d->name, sizeof(d->name), "Heddle %s", d->hal->info.description);
    d->cc_major = 12;
    d->cc_minor = 0;
    d->units = (int)d->hal->info.units;
    d->l2_B = l2_B > 0 ? (int)l2_B * d->units : 2 << 20;
    d->clock_khz = 2000000;
    d->pci_bus = 1;
    memcpy(d->uuid, "HEDDLE-CPU-00000", sizeof(d->uuid));
    return core_memory_init(d, d->memory_B);
}

enum hd_status core_init(void)
{
    enum hd_status status = HD_OK;

    if (core_device_get())
        return HD_OK;
    hd_lock_acquire(&init_lock);
    if (!atomic_load(&ready)) {
        status = device_open(&the_device);
        atomic_store(&ready, status == HD_OK);
    }
    hd_lock_release(&init_lock);
    return status;
}
