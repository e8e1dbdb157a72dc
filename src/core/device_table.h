/*
 * The table of devices, while init.c fills it. Until it is published core_device_count() is 0, and
 * the thread in core_init() alone knows of it.
 */
#ifndef HD_CORE_DEVICE_TABLE_H
#define HD_CORE_DEVICE_TABLE_H

#include "hal/hal.h"

/* Reads what the environment asks for; how many devices that are, seen by the program or not. */
unsigned core_devices_plan(void);
/* Whether one of them runs in a process of its own. */
bool core_devices_any_elsewhere(void);
/* That of the device with this index in the plan. Tells devices apart from the first digits on, as
 * CUDA_VISIBLE_DEVICES abbreviates them. */
void core_device_uuid_make(unsigned index, uint8_t out_uuid[16]);
/* `order`: which of the plan, in the program's order. All or none. */
enum hd_status core_devices_open(const unsigned *order, unsigned count, uint64_t memory_B,
                                 const struct hal_client_ops *client) HD_MUST_CHECK;
void core_devices_close(unsigned count);
/* One that core_devices_open() has opened. */
struct core_device *core_device_opened(unsigned ordinal);
/* From here on everybody sees them. */
void core_devices_publish(unsigned count);

#endif
