/*
 * Modules and kernels of the CPU device: the HAL's ops over src/jit (module.c).
 *
 * A kernel's code exists per launch class. The JIT writes codes[], better code over worse, and
 * whoever runs a dispatch reads it without a lock.
 */
#ifndef HD_DEV_CPU_KERNEL_H
#define HD_DEV_CPU_KERNEL_H

#include "hal/hal.h"
#include "ir/ir.h"
#include "jit/launch_class.h"
#include "jit/jit.h"

struct cpu_kernel {
    struct hal_kernel base;
    struct jit_module *jit;          /* its module's */
    const struct ir_func *func;      /* NULL: a native kernel */
    const struct hal_native *native; /* NULL: a compiled one */
    struct jit_code native_code;     /* in all classes: native.h */
    const char *name;
    struct ir_window window;
    const uint64_t *vars;
    jit_slot codes[JIT_CLASS_COUNT]; /* the best code so far, set by the JIT */
    /* By place, with an observer; else NULL. */
    const struct ir_instr **probes;
    bool is_metered; /* device.meter is told of its launches */
    uint32_t ninstrs;
    struct ir_conflicts *conflicts; /* if the observer wants them; NULL: no memory for them */
};

/* watch.c: fills in what observers need; false: no memory. */
bool cpu_kernel_find_probes(struct cpu_kernel *kernel, const struct ir_observer *observer)
    HD_MUST_CHECK;

enum hd_status cpu_module_load(struct hal_device *device, const struct hal_program *program,
                               struct hal_module **out_module) HD_MUST_CHECK;
void cpu_module_unload(struct hal_module *module);
enum hd_status cpu_kernel_get(struct hal_module *module, uint32_t index,
                              const struct ir_module *code, struct hal_kernel **out_kernel)
    HD_MUST_CHECK;
enum hd_status cpu_kernel_info(struct hal_kernel *kernel, struct hal_kernel_info *out_info)
    HD_MUST_CHECK;
enum hd_status cpu_kernel_prepare(struct hal_kernel *kernel, const uint32_t grid[3],
                                  const uint32_t block[3]) HD_MUST_CHECK;

#endif
