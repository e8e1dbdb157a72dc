/*
 * What looks at a program from its first call on: the recorder of `heddle prof` (src/prof), which
 * asks here for devices, the counting of requests (src/requests), and what kernels take, for
 * `heddle tune` (src/tune).
 */
#include <string.h>
#include <unistd.h>

#include "api/driver/driver.h"
#include "base/log.h"
#include "core/debug/counted.h"
#include "prof/prof.h"
#include "requests/requests.h"
#include "tune/tune.h"

static uint32_t attribute(const struct core_device *d, CUdevice_attribute number)
{
    int value = 0;

    return core_device_attribute(d, (int)number, &value) == HD_OK ? (uint32_t)value : 0;
}

static void describe(uint32_t ordinal, struct prof_device *out, char text[PROF_DEVICE_NAME_B])
{
    const struct core_device *d = core_device_at((int)ordinal);

    if (!d)
        return;
    (void)snprintf(text, PROF_DEVICE_NAME_B, "%s", d->name);
    memcpy(out->uuid, d->uuid, sizeof(out->uuid));
    out->memory_B = d->memory_B;
    out->cc_major = (uint32_t)d->cc_major;
    out->cc_minor = (uint32_t)d->cc_minor;
    out->sms = (uint32_t)d->units;
    out->l2_B = (uint32_t)d->l2_B;
    out->clock_kHz = (uint32_t)d->clock_khz;
    out->pci_bus = (uint32_t)d->pci_bus;
    out->memory_clock_kHz = attribute(d, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
    out->bus_width = attribute(d, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
    out->const_B = attribute(d, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
    out->max_threads_per_sm = attribute(d, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    out->max_blocks_per_sm = attribute(d, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    out->shared_per_block_B = attribute(d, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    out->shared_per_sm_B = attribute(d, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    out->regs_per_block = attribute(d, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
}

__attribute__((constructor)) static void profiler_start(void)
{
    if (prof_start(describe) == HD_OK && requests_start() == HD_OK &&
        core_counted_start() == HD_OK && tune_listen() == HD_OK)
        return;
    hd_log("%s", hd_error_message());
    _exit(1); /* nothing of the program has begun */
}
