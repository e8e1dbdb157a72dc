/* The table of devices: how many there are, and what each says about itself. */
#include "core/device.h"
#include "core/device_table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "compile.h"
#include "core/forked.h"
#include "core/mem/memory_parts.h"
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

unsigned core_device_count(void)
{
    return atomic_load_explicit(&ndevices, memory_order_acquire);
}

struct core_device *core_device_at(int ordinal)
{
    return ordinal >= 0 && (unsigned)ordinal < core_device_count() ? &devices[ordinal] : NULL;
}

/* What strict mode takes away, and a checker that reports it. */
static bool device_strict_hides(int number)
{
    return (core_strict() || san_is_bounding()) &&
           (number == CORE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS ||
            number == CORE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
}

enum hd_status core_device_attribute(const struct core_device *d, int number, int *out_value)
{
    if (device_strict_hides(number)) {
        *out_value = 0;
        return HD_OK;
    }
    if (number < 1 || number >= CORE_ATTRIBUTE_END)
        return hd_error(HD_BAD_ARG, "there is no device attribute %d", number);
    *out_value = d->attributes[number];
    return HD_OK;
}

unsigned core_devices_plan(void)
{
    unsigned nentries = hd_env_devices(plan.entry);

    plan.total = 0;
    for (unsigned e = 0; e < nentries; e++)
        for (unsigned part = 0; part < plan.entry[e].parts; part++) {
            plan.of[plan.total] = (uint8_t)e;
            plan.part[plan.total++] = (uint8_t)part;
        }
    assert(plan.total >= 1 && plan.total <= CORE_DEVICES_MAX); /* as the variable's row says */
    return plan.total;
}

void core_device_uuid_make(unsigned index, uint8_t out_uuid[16])
{
    memcpy(out_uuid, "?HEDDLE-CPU-0000", 16);
    out_uuid[0] = (uint8_t)(0x48 + index);
}

static enum hd_status device_open(struct core_device *d, unsigned index, uint64_t memory_B,
                                  const struct hal_client_ops *client)
{
    const struct core_machine *machine = core_machine();
    enum opt_target target;

    hd_lock_init(&d->lock, HD_RANK_DRIVER, "device");
    d->ordinal = (int)(d - devices);
    d->memory_B = memory_B;
    /* The device of an entry, for one more user. */
    const unsigned e = plan.of[index];
    char kind[32];
    snprintf(kind, sizeof(kind), "%.*s", HD_STR_ARG(plan.entry[e].kind));
    if (!plan.users[e])
        HD_TRY(hal_device_create(kind, client, &plan.hal[e]));
    plan.users[e]++;
    d->hal = plan.hal[e];
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
    /* Which multiprocessors of the hardware the device has. */
    const uint32_t all = d->hal->nsms;
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
    d->l2_B = d->attributes[CORE_ATTRIBUTE_L2_CACHE_SIZE];
    d->clock_khz = d->attributes[CORE_ATTRIBUTE_CLOCK_RATE];
    d->pci_bus = d->attributes[CORE_ATTRIBUTE_PCI_BUS_ID];
    core_device_uuid_make(index, d->uuid);
    return HD_OK;
}

static void device_close(struct core_device *d)
{
    assert(!d->primary && !d->pool);
    if (d->hal)
        for (unsigned e = 0; e < CORE_DEVICES_MAX; e++)
            if (plan.users[e] && plan.hal[e] == d->hal && !--plan.users[e])
                d->hal->ops->destroy(d->hal);
    hd_lock_fini(&d->lock);
    memset(d, 0, sizeof(*d));
}

bool core_devices_any_elsewhere(void)
{
    bool any = false;

    for (unsigned i = 0; i < plan.total; i++)
        any |= hd_str_starts(plan.entry[plan.of[i]].kind, "remote-");
    return any;
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

enum hd_status core_devices_open(const unsigned *order, unsigned count, uint64_t memory_B,
                                 const struct hal_client_ops *client)
{
    enum hd_status status = HD_OK;

    assert(count <= CORE_DEVICES_MAX && !core_device_count());
    for (unsigned i = 0; i < count && status == HD_OK; i++) {
        status = device_open(&devices[i], order[i], memory_B, client);
        if (status != HD_OK)
            core_devices_close(i + 1);
    }
    return status;
}

void core_devices_close(unsigned count)
{
    assert(!core_device_count());
    while (count)
        device_close(&devices[--count]);
}

struct core_device *core_device_opened(unsigned ordinal)
{
    assert(ordinal < CORE_DEVICES_MAX && devices[ordinal].hal);
    return &devices[ordinal];
}

void core_devices_publish(unsigned count)
{
    atomic_store_explicit(&ndevices, count, memory_order_release);
}

/* ---- devices in the place of others */

/* The index of the device that `uuid` names; -1: none of those that there are. */
static int device_index_of(const uint8_t uuid[16])
{
    uint8_t other[16];

    for (unsigned i = 0; i < plan.total; i++) {
        core_device_uuid_make(i, other);
        if (!memcmp(uuid, other, sizeof(other)))
            return (int)i;
    }
    return -1;
}

unsigned core_device_identity(unsigned index, uint8_t out_uuid[16], int *out_pci_bus)
{
    unsigned total = core_device_count() ? plan.total : 0;

    if (index < total) {
        core_device_uuid_make(index, out_uuid);
        *out_pci_bus = devices[0].pci_bus - device_index_of(devices[0].uuid) + (int)index;
    }
    return total;
}

static bool device_entries_match(unsigned a, unsigned b)
{
    return hd_str_eq(plan.entry[a].kind, plan.entry[b].kind) &&
           plan.entry[a].parts == plan.entry[b].parts;
}

/* For each device by its index, which one takes its place; -1: not said. */
static enum hd_status device_pairs_read(const struct core_device_pair *pairs, unsigned npairs,
                                        int out_next[CORE_DEVICES_MAX])
{
    uint64_t taken = 0;

    for (unsigned i = 0; i < CORE_DEVICES_MAX; i++)
        out_next[i] = -1;
    for (unsigned i = 0; i < npairs; i++) {
        int old = device_index_of(pairs[i].old_uuid), new = device_index_of(pairs[i].new_uuid);

        if (old < 0 || new < 0)
            return hd_error(HD_BAD_ARG, "pair %u of devices names one that is not there", i);
        if (!device_entries_match(plan.of[old], plan.of[new]))
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

    HD_TRY(device_pairs_read(pairs, npairs, next));
    for (unsigned i = 0; i < core_device_count(); i++)
        if (next[device_index_of(devices[i].uuid)] < 0)
            return hd_error(HD_BAD_ARG, "no pair says which device takes the place of device %u",
                            i);
    for (unsigned i = 0; i < core_device_count(); i++) {
        struct core_device *d = &devices[i];
        int old = device_index_of(d->uuid), new = next[old];

        d->attributes[CORE_ATTRIBUTE_PCI_BUS_ID] += new - old;
        d->pci_bus = d->attributes[CORE_ATTRIBUTE_PCI_BUS_ID];
        core_device_uuid_make((unsigned)new, d->uuid);
    }
    return HD_OK;
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
