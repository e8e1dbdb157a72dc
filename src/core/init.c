/* Initialisation: taps, and devices, which are opened with what core answers to them. */
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "core/cdp/cdp.h"
#include "core/current.h"
#include "core/debug/checkpoint.h"
#include "core/debug/coredump.h"
#include "core/debug/report.h"
#include "core/debug/sampled.h"
#include "core/device_table.h"
#include "core/forked.h"
#include "core/mem/memory_parts.h"
#include "core/mem/multicast.h"
#include "core/notify.h"
#include "core/stream/retire.h"
#include "core/texture/texture_object.h"
#include "count/count.h"
#include "count/host.h"
#include "registry/registry.h"
#include "san/san.h"

/* ---- whom taps ask */

static void *current_handle(void)
{
    struct core_context *ctx = core_current();

    return ctx ? core_context_handle(ctx) : NULL;
}

/* Before main(), so that the log shows the calls of constructors too. */
__attribute__((constructor)) static void init_taps(void)
{
    tap_log_init();
    tap_owner_set(&(struct tap_owner){.context = current_handle, .settle = core_retire_settle});
}

/* ---- devices */

static struct hd_lock init_lock = HD_LOCK_INIT(RUNTIME, "device init");

/* Which devices the program sees: their indices in its order. */
static enum hd_status devices_choose(unsigned total, unsigned *out_order, unsigned *out_count)
{
    const char *list =
        hd_env_of_system("CUDA_VISIBLE_DEVICES"); /* empty is not the same as not set */
    uint8_t uuids[CORE_DEVICES_MAX][16];

    *out_count = total;
    for (unsigned i = 0; i < total; i++) {
        core_device_uuid_make(i, uuids[i]);
        out_order[i] = i;
    }
    if (!list)
        return HD_OK;
    *out_count = core_visible_parse(list, uuids, total, out_order);
    if (!*out_count)
        return hd_error(HD_NOT_FOUND, "CUDA_VISIBLE_DEVICES=%s leaves none of %u devices", list,
                        total);
    return HD_OK;
}

/* What we answer to devices. Checks, counts and the address space are ready. */
static struct hal_client_ops client_ops(void)
{
    struct hal_client_ops client = {
        .observer = san_observer() ? san_observer() : count_observer(),
        .meter = count_meter(),
        .runtime = &core_cdp_runtime,
        .sampled = core_sampled,
        .replicas = core_multicast_find,
        .program_replicas = core_multicast_find_programs,
        .failed = core_notify_fault,
    };

    core_texture_answer(&client);
    core_memory_answer(&client);
    return client;
}

/* When all devices are known. Without memory for one there are no devices. */
static enum hd_status pools_create(unsigned count)
{
    enum hd_status status = HD_OK;

    for (unsigned i = 0; i < count && status == HD_OK; i++) {
        struct core_device *d = core_device_opened(i);

        status = core_pool_create(d, &d->pool);
    }
    if (status == HD_OK)
        return HD_OK;
    for (unsigned i = 0; i < count; i++) {
        struct core_device *d = core_device_opened(i);

        core_pool_destroy(d->pool);
        d->pool = NULL;
    }
    core_devices_close(count);
    return status;
}

static enum hd_status devices_open(unsigned *out_count)
{
    unsigned order[CORE_DEVICES_MAX], count = 0;

    HD_TRY(hd_env_check());
    HD_TRY(core_dump_init());
    HD_TRY(san_start());
    HD_TRY(count_start());
    if (count_is_on() && san_probes())
        return hd_error(HD_BAD_ARG, "kernels are either checked or counted");
    unsigned total = core_devices_plan();
    /*
     * Of each of `total` devices: what HEDDLE_MEMORY says, or a share of half of the host's memory.
     */
    uint64_t memory_B = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
    memory_B = HD_MIN(memory_B, core_space_limit_B() / 4);
    memory_B = memory_B / total & ~(uint64_t)((2u << 20) - 1);
    (void)hd_env_u64("HEDDLE_MEMORY", &memory_B);
    HD_TRY(devices_choose(total, order, &count));
    HD_TRY(core_space_reserve(memory_B, count, core_devices_any_elsewhere()));
    HD_TRY(core_textures_reserve(core_devices_any_elsewhere()));
    const struct hal_client_ops client = client_ops();
    HD_TRY(core_devices_open(order, count, memory_B, &client));
    HD_TRY(pools_create(count));
    for (unsigned i = 0; i < count && core_strict(); i++)
        if (!core_device_opened(i)->hal->info.checks_accesses)
            hd_log("HEDDLE_STRICT=1: device %u does not check which memory kernels touch", i);
    *out_count = count;
    return HD_OK;
}

/* Programs rarely print more than "no device": say why, once. That CUDA_VISIBLE_DEVICES hides all
 * of them (NOT_FOUND) is what somebody wanted. */
static void say_why(enum hd_status status)
{
    static bool said;

    bool is_limited = core_space_limit_B() != UINT64_MAX;

    if (status == HD_OK || status == HD_NOT_FOUND || said ||
        (status == HD_NO_MEMORY && !is_limited))
        return;
    hd_log("no device: %s%s", hd_error_message(),
           is_limited ? "; the process may not have more addresses (RLIMIT_AS, `ulimit -v`): some "
                        "4 GiB are needed, and HEDDLE_MEMORY"
                      : "");
    said = true;
}

/* What still runs must not keep the process from ending, nor waits that destructors make. */
static void at_exit(void)
{
    if (core_is_forked())
        return;
    for (unsigned i = 0; i < core_device_count(); i++)
        hal_device_stop(core_device_opened(i)->hal, hal_stop_grace_ns());
    reg_leave();
}

enum hd_status core_init(void)
{
    enum hd_status status = HD_OK;
    unsigned count = 0;

    if (core_device_count())
        return HD_OK;
    if (core_is_forked())
        return hd_error(HD_BAD_STATE, "the parent was opening devices when it forked");
    hd_lock_acquire(&init_lock);
    if (!core_device_count()) {
        static bool warned;
        if (!warned)
            hd_env_warn();
        warned = true;
        status = devices_open(&count);
        say_why(status);
        if (status == HD_OK) {
            static bool has_handler;
            if (!has_handler)
                (void)atexit(at_exit);
            has_handler = true;
            core_devices_publish(count);
            (void)!core_checkpoint_init(); /* what fails is logged; without it all else works */
            core_report_on_interrupt();
        }
    }
    hd_lock_release(&init_lock);
    return status;
}
