/*
 * The simulated GPU: a hal_device that compiles kernels to Heddle's own machine code (src/codegen)
 * and runs it (src/sim).
 *
 * HEDDLE_DEVICE=sim. Everything but the kernels is the reference device's (dev/interp): each queue
 * has a thread, a grid runs on it, and every access is checked for its address and alignment.
 */
#ifndef HD_DEV_SIM_SIM_DEVICE_H
#define HD_DEV_SIM_SIM_DEVICE_H

#include "hal/hal.h"

enum hd_status sim_device_create(const struct hal_client_ops *client,
                                 struct hal_device **out_device) HD_MUST_CHECK;

#endif
