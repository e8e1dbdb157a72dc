/*
 * The reference device: a hal_device that runs kernels in the interpreter (src/interp).
 *
 * HEDDLE_DEVICE=interp. Slow and strict: every access is checked for its address and alignment, so
 * an error has the thread and the source line. The oracle that other devices are compared with.
 *
 * Threads: every queue has one thread, which executes its packets in order, host calls included.
 * Queues run at the same time; a grid runs on one thread.
 */
#ifndef HD_DEV_INTERP_INTERP_DEVICE_H
#define HD_DEV_INTERP_INTERP_DEVICE_H

#include "hal/hal.h"

enum hd_status interp_device_create(const struct hal_client_ops *client,
                                    struct hal_device **out_device) HD_MUST_CHECK;

#endif
