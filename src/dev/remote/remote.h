/*
 * A device in another process: a hal_device here, and any of hal_backends in a process of its own.
 *
 *     client's process                                  device's process (heddle-device)
 *     hal_queue ── thread ─┬─ DISPATCH ── hal_client ──► hal_server ── hal_queue of the backend
 *                          └─ all other packets, here
 *     calls: module_load, mem_map ...  ── socket ──────► the same operation of the backend
 *
 * HEDDLE_DEVICE=remote-cpu, remote-interp. The rings, the faults and all device memory are memory
 * files that both processes map, device memory at the same addresses. So copies, fills, semaphores
 * and host calls are executed in the client's process, by the queue's thread, and only grids are
 * executed elsewhere: they reach device memory, pinned and managed memory, and nothing else of the
 * client's.
 *
 * Refused by name: clients that meter threads or refuse accesses (hal/client.h); kernels that have
 * probes or call the CUDA runtime. Multimem addresses are none there.
 *
 * When the process of the device is gone, whatever runs or comes fails with HD_INTERNAL, which is
 * the fault of its domain, and nobody waits for it.
 *
 * Threads: a call over the socket is one at a time (`lock`). Each queue has a thread. The device's
 * process has a thread for the socket, those of hal_server, and the backend's.
 */
#ifndef HD_DEV_REMOTE_REMOTE_H
#define HD_DEV_REMOTE_REMOTE_H

#include "hal/hal.h"

enum hd_status remote_cpu_create(const struct hal_client_ops *client,
                                 struct hal_device **out_device) HD_MUST_CHECK;
enum hd_status remote_interp_create(const struct hal_client_ops *client,
                                    struct hal_device **out_device) HD_MUST_CHECK;

/* The device's process: serves the socket until the other side closes it. */
enum hd_status remote_serve(int socket) HD_MUST_CHECK;

#endif
