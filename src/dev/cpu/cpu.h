/*
 * The CPU device: a hal_device whose workers run CTAs as host code made by src/jit.
 *
 * HEDDLE_THREADS (default: the CPUs this process may use) says how many CTAs run at once.
 */
#ifndef HD_DEV_CPU_CPU_H
#define HD_DEV_CPU_CPU_H

#include "hal/hal.h"

enum hd_status cpu_device_create(const struct hal_client_ops *client,
                                 struct hal_device **out_device) HD_MUST_CHECK;

#endif
