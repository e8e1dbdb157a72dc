/*
 * Devices as programs see them (device.c, init.c, visible.c, machine.c): what there is, what they
 * say about themselves, and the primary context of each. They live as long as the process.
 * Threads: any; they are constant but for their primary contexts.
 */
#ifndef HD_CORE_DEVICE_H
#define HD_CORE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "base/status.h"

struct core_context;
struct core_pool;
struct hal_device;
struct reg_use;

#define CORE_DEVICES_MAX 64

/* What launches are checked against and the API reports: CUdevice_attribute numbers. */
enum core_attribute {
#define X(name, number, value) CORE_ATTRIBUTE_##name = (number),
#include "device.def"
#undef X
    CORE_ATTRIBUTE_END
};

/*
 * machine.c: the machine that devices identify as; NULL: the default. Applying one changes what a
 * device says about itself, and gives the product's name.
 */
struct core_machine;
const struct core_machine *core_machine(void);
const char *core_machine_apply(const struct core_machine *machine, int32_t *attributes);

/*
 * What a program takes for a device: a device of the HAL, or a part of one, which has some of its
 * multiprocessors, a memory budget and an identity of its own, and nothing else that is its own:
 * contexts of several parts are fault domains of one device. (docs/decisions/0141)
 */
struct core_device {
    int ordinal; /* as the program counts */
    struct hal_device *hal;
    unsigned parts;    /* devices that share it; 1: nobody else has it */
    uint32_t sm_first; /* `units` of its multiprocessors from this one on */
    struct reg_use *use;
    struct core_pool *pool;
    char name[128];
    int cc_major, cc_minor;
    int units; /* multiprocessors */
    int l2_B;
    int clock_khz;
    int pci_bus;
    uint64_t memory_B;
    int priority_greatest;                  /* of streams; 0 is the least */
    int32_t attributes[CORE_ATTRIBUTE_END]; /* what hal says about itself */
    unsigned target;                        /* enum opt_target: what code is made for */
    uint8_t uuid[16];
    struct core_context *primary; /* NULL until retained once; live while primary_refs is not 0 */
    unsigned primary_refs;
    unsigned primary_flags;
    struct hd_lock lock; /* primary_* */
};

/*
 * Creates the devices on first use: what HEDDLE_DEVICES and HEDDLE_DEVICE say, those of them that
 * CUDA_VISIBLE_DEVICES names. HD_NOT_FOUND, HD_BAD_ARG (environment), HD_NO_MEMORY.
 */
enum hd_status core_init(void) HD_MUST_CHECK;
/* 0 before core_init(). They live as long as the process. */
unsigned core_device_count(void);
/* NULL when there is none of that number. */
struct core_device *core_device_at(int ordinal);
/*
 * What tells a device apart from all that there are, also those that CUDA_VISIBLE_DEVICES hides.
 * How many there are; 0 before core_init(). Nothing is written
 * when `index` is not below that.
 */
unsigned core_device_identity(unsigned index, uint8_t out_uuid[16], int *out_pci_bus);
/* Devices in other processes, but for one: how many. Also while devices are opened. */
unsigned core_devices_elsewhere(const struct hal_device *but,
                                struct hal_device *out[CORE_DEVICES_MAX]);
/* Value of a CUdevice_attribute number. HD_BAD_ARG when there is no such attribute. */
enum hd_status core_device_attribute(const struct core_device *d, int number, int *out_value)
    HD_MUST_CHECK;

/*
 * CUDA_VISIBLE_DEVICES (visible.c): the indices of the devices that `list` names, in its order; the
 * result is how many. `uuids` are those of the `count` devices there are.
 */
unsigned core_visible_parse(const char *list, const uint8_t (*uuids)[16], unsigned count,
                            unsigned *out_order);
/* A device takes the place of another one. */
struct core_device_pair {
    uint8_t old_uuid[16], new_uuid[16];
};
/*
 * After a checkpoint: what the process knows as one device is another one from now on, which is
 * told by identifiers alone. HD_BAD_ARG, and nothing changes: a device of the process is in no
 * pair, one is in two, or there is none with an identifier. HD_NOT_SUPPORTED: the other is of
 * another kind, or has another share of its multiprocessors. Nobody
 * is inside a call.
 */
enum hd_status core_devices_replace(const struct core_device_pair *pairs, unsigned npairs)
    HD_MUST_CHECK;
/* "GPU-48454444-4c45-..." */
#define CORE_UUID_TEXT_B 41
void core_uuid_text(const uint8_t uuid[16], char out_text[CORE_UUID_TEXT_B]);

#endif
