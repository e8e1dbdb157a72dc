/*
 * Where kernels spend their time: a thread looks at each period which slots run CTAs, and has their
 * threads say where they are (CPU_SIGNAL_CANCEL with another mark). The handler notes the program
 * counter in the kernel's table; which instruction that is is found when somebody asks, or before
 * the kernel goes.
 *
 * Threads: the handler takes no lock and touches nothing that is freed: tables stay, and kernels
 * that come later take over those of kernels that went. The rest is under one lock.
 */
#ifndef HD_DEV_CPU_SAMPLE_H
#define HD_DEV_CPU_SAMPLE_H

#include "dev/cpu/device.h"

struct cpu_samples;

/* The HAL's ops. */
enum hd_status cpu_sample(struct hal_device *device, uint64_t period_ns) HD_MUST_CHECK;
void cpu_samples_notify(struct hal_device *device);

extern _Atomic bool cpu_is_sampling; /* some device */

/* The table that a launch of the kernel uses; NULL: nobody samples, or no memory. */
struct cpu_samples *cpu_samples_of(const struct cpu_kernel *kernel);
static inline struct cpu_samples *cpu_samples_for(const struct cpu_kernel *kernel)
{
    return HD_LIKELY(!atomic_load_explicit(&cpu_is_sampling, memory_order_relaxed))
               ? NULL
               : cpu_samples_of(kernel);
}
/* Tells what is known of the kernel, which is about to go. */
void cpu_samples_leave(const struct cpu_kernel *kernel);

/*
 * In a signal handler: the thread, which runs a CTA of the kernel with that table, is at `pc`;
 * between `sp` and `frame` is what has been called since the CTA began.
 */
void cpu_samples_note(struct cpu_samples *samples, uintptr_t pc, uintptr_t sp, uintptr_t frame);

#endif
