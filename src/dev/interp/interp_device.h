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

/*
 * What runs the kernels: everything else of the device, its queues, copies, checks and services, is
 * the same for all engines (dev/sim has another). Kernels without code of an engine are
 * interpreted: all of the interpreter's, and those of modules for a debugger
 * (ir_module.has_notes).
 */
struct ir_func;
struct interp_launch;
struct interp_fault;
struct refdev_engine {
    const char *name, *description;
    bool knows_registers; /* of hal_device_info */
    /* What the engine keeps of a module; NULL: no memory, it does without. `close` ends it with the
     * module. NULL: it keeps nothing. */
    void *(*open)(const struct hal_program *program);
    void (*close)(void *kept);
    /* Makes code of a kernel; any thread. `kept`: of `open`, or NULL. NULL: it has none, and
     * nothing of what is below. */
    enum hd_status (*compile)(const struct ir_func *kernel, void *kept, void **out_code);
    void (*release)(void *code);
    /* What code tells of a kernel, beside what its IR does. */
    void (*describe)(const void *code, struct hal_kernel_info *info);
    /* *out_instructions, which is 0: of warps; stays so where the engine counts none. */
    enum hd_status (*launch)(const void *code, const struct interp_launch *launch,
                             struct interp_fault *out_fault, uint64_t *out_instructions);
};

enum hd_status refdev_create(const struct refdev_engine *engine,
                             const struct hal_client_ops *client, struct hal_device **out_device)
    HD_MUST_CHECK;

enum hd_status interp_device_create(const struct hal_client_ops *client,
                                    struct hal_device **out_device) HD_MUST_CHECK;

#endif
