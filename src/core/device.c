/* The devices: how many there are, what each says about itself, and their creation. */
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "compile.h"
#include "core/debug/checkpoint.h"
#include "core/core.h"
#include "core/debug/coredump.h"
#include "core/cdp/cdp.h"
#include "core/forked.h"
#include "core/debug/report.h"
#include "core/mem/memory.h"
#include "core/mem/multicast.h"
#include "core/debug/sampled.h"
#include "core/notify.h"
#include "hal/hal.h"
#include "registry/registry.h"
#include "count/count.h"
#include "count/host.h"
#include "san/san.h"

_Static_assert((int)CORE_ATTRIBUTE_END == (int)HAL_ATTRIBUTE_END, "one table");

static struct core_device devices[CORE_DEVICES_MAX]; /* in the order the program sees them */
static _Atomic unsigned ndevices;                    /* 0 until all are open */
/*
 * What the environment asks for. A device's index counts all that there are, whether the program
 * sees them or not: it says which part of which entry the device is.
 */
static struct {
    struct hd_env_device entry[CORE_DEVICES_MAX];
    struct hal_device *hal[CORE_DEVICES_MAX]; /* of an entry, while `users` is not 0 */
    unsigned users[CORE_DEVICES_MAX];
    uint8_t of[CORE_DEVICES_MAX], part[CORE_DEVICES_MAX]; /* by a device's index */
    unsigned total;
} plan;
_Static_assert(CORE_DEVICES_MAX == HD_ENV_DEVICES_MAX, "one limit");
static struct hd_lock init_lock = HD_LOCK_INIT(RUNTIME, "device init");

unsigned core_device_count(void)
{
    return atomic_load_explicit(&ndevices, memory_order_acquire);
}

struct core_device *core_device_at(int ordinal)
{
    return ordinal >= 0 && (unsigned)ordinal < core_device_count() ? &devices[ordinal] : NULL;
}

/* What strict mode takes away, and a checker that reports it. */
static bool strict_hides(int number)
{
    return (core_strict() || san_is_bounding()) &&
           (number == CORE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS ||
            number == CORE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
}

enum hd_status core_device_attribute(const struct core_device *d, int number, int *out_value)
{
    if (strict_hides(number)) {
        *out_value = 0;
        return HD_OK;
    }
    if (number < 1 || number >= CORE_ATTRIBUTE_END)
        return hd_error(HD_BAD_ARG, "there is no device attribute %d", number);
    *out_value = d->attributes[number];
    return HD_OK;
}

/* Of each of `count` devices: what HEDDLE_MEMORY says, or a share of half of the host's memory. */
static uint64_t memory_size_B(unsigned count)
{
    uint64_t size_B = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;

    size_B = HD_MIN(size_B, core_space_limit_B() / 4);
    size_B = size_B / count & ~(uint64_t)((2u << 20) - 1);
    (void)hd_env_u64("HEDDLE_MEMORY", &size_B);
    return size_B;
}

static void plan_make(void)
{
    unsigned nentries = hd_env_devices(plan.entry);

    plan.total = 0;
    for (unsigned e = 0; e < nentries; e++)
        for (unsigned part = 0; part < plan.entry[e].parts; part++) {
            plan.of[plan.total] = (uint8_t)e;
            plan.part[plan.total++] = (uint8_t)part;
        }
    assert(plan.total >= 1 && plan.total <= CORE_DEVICES_MAX); /* as the variable's row says */
}

/* Tells devices apart from the first digits on, as CUDA_VISIBLE_DEVICES abbreviates them. */
static void uuid_make(unsigned index, uint8_t out_uuid[16])
{
    memcpy(out_uuid, "?HEDDLE-CPU-0000", 16);
    out_uuid[0] = (uint8_t)(0x48 + index);
}

/* Which devices the program sees: their indices in its order. */
static enum hd_status devices_choose(unsigned total, unsigned *out_order, unsigned *out_count)
{
    const char *list =
        hd_env_of_system("CUDA_VISIBLE_DEVICES"); /* empty is not the same as not set */
    uint8_t uuids[CORE_DEVICES_MAX][16];

    *out_count = total;
    for (unsigned i = 0; i < total; i++) {
        uuid_make(i, uuids[i]);
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

/* The device of an entry, for one more user. */
static enum hd_status hal_take(unsigned e, struct hal_device **out_hal)
{
    const struct hal_client_ops client = client_ops();
    char kind[32];

    snprintf(kind, sizeof(kind), "%.*s", HD_STR_ARG(plan.entry[e].kind));
    if (!plan.users[e])
        HD_TRY(hal_device_create(kind, &client, &plan.hal[e]));
    plan.users[e]++;
    *out_hal = plan.hal[e];
    return HD_OK;
}

static void hal_give(struct hal_device *hal)
{
    for (unsigned e = 0; e < CORE_DEVICES_MAX; e++)
        if (plan.users[e] && plan.hal[e] == hal && !--plan.users[e])
            hal->ops->destroy(hal);
}

/* Which multiprocessors the device has of `all`. */
static enum hd_status part_take(struct core_device *d, unsigned index, uint32_t all)
{
    unsigned part = plan.part[index];

    d->parts = plan.entry[plan.of[index]].parts;
    if (d->parts > all)
        return hd_error(HD_BAD_ARG,
                        "HEDDLE_DEVICES: %u devices share one of kind %s, which has %u "
                        "multiprocessors",
                        d->parts, d->hal->info.name, all);
    d->sm_first = all * part / d->parts;
    d->units = (int)(all * (part + 1) / d->parts - d->sm_first);
    d->attributes[CORE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = d->units;
    return HD_OK;
}

static enum hd_status device_open(struct core_device *d, unsigned index, uint64_t memory_B)
{
    const struct core_machine *machine = core_machine();
    enum opt_target target;

    hd_lock_init(&d->lock, HD_RANK_DRIVER, "device");
    d->ordinal = (int)(d - devices);
    d->memory_B = memory_B;
    HD_TRY(hal_take(plan.of[index], &d->hal));
    HD_TRY(opt_target_find(d->hal->info.target, &target));
    d->target = target;
    d->use = &d->hal->own_use;
    snprintf(d->name, sizeof(d->name), "Heddle %s", d->hal->info.description);
    hal_device_attributes(d->hal, d->attributes);
    if (machine)
        snprintf(d->name, sizeof(d->name), "Heddle %s on %s",
                 core_machine_apply(machine, d->attributes), d->hal->info.description);
    if (plan.entry[plan.of[index]].parts > 1)
        snprintf(d->name + strlen(d->name), sizeof(d->name) - strlen(d->name), ", part %u of %u",
                 plan.part[index] + 1u, plan.entry[plan.of[index]].parts);
    d->priority_greatest = d->hal->info.priority_greatest;
    d->attributes[CORE_ATTRIBUTE_PCI_BUS_ID] += (int)index;
    d->cc_major = d->attributes[CORE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR];
    d->cc_minor = d->attributes[CORE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR];
    d->hal->nsms = (uint32_t)d->attributes[CORE_ATTRIBUTE_MULTIPROCESSOR_COUNT];
    assert(d->hal->nsms && d->hal->nsms <= HAL_SMS_MAX);
    HD_TRY(part_take(d, index, d->hal->nsms));
    d->l2_B = d->attributes[CORE_ATTRIBUTE_L2_CACHE_SIZE];
    d->clock_khz = d->attributes[CORE_ATTRIBUTE_CLOCK_RATE];
    d->pci_bus = d->attributes[CORE_ATTRIBUTE_PCI_BUS_ID];
    uuid_make(index, d->uuid);
    return HD_OK;
}

static void device_close(struct core_device *d)
{
    assert(!d->primary && !d->pool);
    if (d->hal)
        hal_give(d->hal);
    hd_lock_fini(&d->lock);
    memset(d, 0, sizeof(*d));
}

unsigned core_devices_elsewhere(const struct hal_device *but,
                                struct hal_device *out[CORE_DEVICES_MAX])
{
    unsigned n = 0;

    for (unsigned e = 0; e < CORE_DEVICES_MAX; e++)
        if (plan.users[e] && plan.hal[e] != but && plan.hal[e]->info.is_elsewhere)
            out[n++] = plan.hal[e];
    return n;
}

static bool any_elsewhere(void)
{
    bool any = false;

    for (unsigned i = 0; i < plan.total; i++)
        any |= hd_str_starts(plan.entry[plan.of[i]].kind, "remote-");
    return any;
}

static enum hd_status devices_open(unsigned *out_count)
{
    unsigned order[CORE_DEVICES_MAX], count = 0, open = 0;
    enum hd_status status = HD_OK;

    HD_TRY(hd_env_check());
    HD_TRY(core_dump_init());
    HD_TRY(san_start());
    HD_TRY(count_start());
    if (count_is_on() && san_probes())
        return hd_error(HD_BAD_ARG, "kernels are either checked or counted");
    plan_make();
    uint64_t memory_B = memory_size_B(plan.total);
    HD_TRY(devices_choose(plan.total, order, &count));
    HD_TRY(core_space_reserve(memory_B, count));
    HD_TRY(core_textures_reserve(any_elsewhere()));
    while (open < count && status == HD_OK) {
        status = device_open(&devices[open], order[open], memory_B);
        open++;
    }
    for (unsigned i = 0; i < open && status == HD_OK; i++) /* all devices are known */
        status = core_pool_create(&devices[i], &devices[i].pool);
    for (unsigned i = 0; i < open && status != HD_OK; i++) {
        core_pool_destroy(devices[i].pool);
        devices[i].pool = NULL;
    }
    while (status != HD_OK && open)
        device_close(&devices[--open]);
    for (unsigned i = 0; i < count && status == HD_OK && core_strict(); i++)
        if (!devices[i].hal->info.checks_accesses)
            hd_log("HEDDLE_STRICT=1: device %u does not check which memory kernels touch", i);
    *out_count = count;
    return status;
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

/* ---- devices in the place of others */

/* The index of the device that `uuid` names; -1: none of those that there are. */
static int index_of(const uint8_t uuid[16])
{
    uint8_t other[16];

    for (unsigned i = 0; i < plan.total; i++) {
        uuid_make(i, other);
        if (!memcmp(uuid, other, sizeof(other)))
            return (int)i;
    }
    return -1;
}

unsigned core_device_identity(unsigned index, uint8_t out_uuid[16], int *out_pci_bus)
{
    unsigned total = core_device_count() ? plan.total : 0;

    if (index < total) {
        uuid_make(index, out_uuid);
        *out_pci_bus = devices[0].pci_bus - index_of(devices[0].uuid) + (int)index;
    }
    return total;
}

static bool entries_match(unsigned a, unsigned b)
{
    return hd_str_eq(plan.entry[a].kind, plan.entry[b].kind) &&
           plan.entry[a].parts == plan.entry[b].parts;
}

/* For each device by its index, which one takes its place; -1: not said. */
static enum hd_status pairs_read(const struct core_device_pair *pairs, unsigned npairs,
                                 int out_next[CORE_DEVICES_MAX])
{
    uint64_t taken = 0;

    for (unsigned i = 0; i < CORE_DEVICES_MAX; i++)
        out_next[i] = -1;
    for (unsigned i = 0; i < npairs; i++) {
        int old = index_of(pairs[i].old_uuid), new = index_of(pairs[i].new_uuid);

        if (old < 0 || new < 0)
            return hd_error(HD_BAD_ARG, "pair %u of devices names one that is not there", i);
        if (!entries_match(plan.of[old], plan.of[new]))
            return hd_error(
                HD_NOT_SUPPORTED,
                "pair %u: a device of kind %.*s, a part of %u, cannot "
                "take the place of one of kind %.*s, a part of %u",
                i, HD_STR_ARG(plan.entry[plan.of[new]].kind), plan.entry[plan.of[new]].parts,
                HD_STR_ARG(plan.entry[plan.of[old]].kind), plan.entry[plan.of[old]].parts);
        if (out_next[old] >= 0 || taken >> new & 1)
            return hd_error(HD_BAD_ARG, "pair %u names a device that another pair has named", i);
        out_next[old] = new;
        taken |= 1ull << new;
    }
    return HD_OK;
}

enum hd_status core_devices_replace(const struct core_device_pair *pairs, unsigned npairs)
{
    int next[CORE_DEVICES_MAX];

    HD_TRY(pairs_read(pairs, npairs, next));
    for (unsigned i = 0; i < core_device_count(); i++)
        if (next[index_of(devices[i].uuid)] < 0)
            return hd_error(HD_BAD_ARG, "no pair says which device takes the place of device %u",
                            i);
    for (unsigned i = 0; i < core_device_count(); i++) {
        struct core_device *d = &devices[i];
        int old = index_of(d->uuid), new = next[old];

        d->attributes[CORE_ATTRIBUTE_PCI_BUS_ID] += new - old;
        d->pci_bus = d->attributes[CORE_ATTRIBUTE_PCI_BUS_ID];
        uuid_make((unsigned)new, d->uuid);
    }
    return HD_OK;
}

/* What still runs must not keep the process from ending, nor waits that destructors make. */
static void at_exit(void)
{
    if (core_is_forked())
        return;
    for (unsigned i = 0; i < core_device_count(); i++)
        hal_device_stop(devices[i].hal, hal_stop_grace_ns());
    reg_leave();
}

/*
 * Nobody uses the devices that were opened to be looked at: the next who asks opens others. The
 * parent's have threads that are not here, so they are left as they are, where leak checkers see
 * them.
 */
void core_device_in_child(void)
{
    static struct core_device left[CORE_DEVICES_MAX];
    static struct hal_device *left_hal[CORE_DEVICES_MAX];

    if (core_is_forked())
        return;
    memcpy(left, devices, sizeof(left));
    memcpy(left_hal, plan.hal, sizeof(left_hal));
    memset(devices, 0, sizeof(devices));
    memset(plan.users, 0, sizeof(plan.users));
    atomic_store(&ndevices, 0);
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
            atomic_store_explicit(&ndevices, count, memory_order_release);
            (void)!core_checkpoint_init(); /* what fails is logged; without it all else works */
            core_report_on_interrupt();
        }
    }
    hd_lock_release(&init_lock);
    return status;
}
