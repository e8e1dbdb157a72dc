/*
 * Native kernels on the CPU device: functions of the host as jobs (heddle/native.h).
 *
 * A native kernel is a cpu_kernel without IR. Its code in all launch classes is a jit_code that has
 * nothing but `cost_ops`, not known, so the queue treats its dispatches as long grids of the kind;
 * what differs is job.run, job.chunk, and who may join: `spins` keeps threads that only help away.
 *
 * Threads: a function runs on workers, or inside hal_queue_ops.run, on the thread that launched.
 */
#ifndef HD_DEV_CPU_NATIVE_H
#define HD_DEV_CPU_NATIVE_H

#include "dev/cpu/kernel.h"
#include "dev/cpu/queue.h"
#include "heddle/native.h"

/* The HAL's op. */
enum hd_status cpu_native_get(struct hal_module *module, uint32_t index,
                              const struct hal_native *native, struct hal_kernel **out_kernel)
    HD_MUST_CHECK;
/* What kernel_info says of one. */
struct hal_kernel_info cpu_native_info(const struct cpu_kernel *kernel);
/* Before a job: HD_NATIVE when the kernel was unregistered. */
enum hd_status cpu_native_check(const struct cpu_kernel *kernel) HD_MUST_CHECK;
/* The rest of the job's setup. */
void cpu_native_setup(struct cpu_job *job, const struct cpu_device *dev, uint64_t tiles);
/* Would this dispatch run on the submitting thread in less time than it takes to hand it over? */
bool cpu_native_is_short(const struct cpu_grid *grid);
/*
 * All tiles of a job that nobody else can join, on this thread; raises what goes wrong in the
 * domain. With out_end, on the thread that launched: it says so, too, and the domain is left alone
 * when the kernel recovers.
 */
void cpu_native_run_all(struct cpu_job *job, struct hal_native_end *out_end);

/* ---- native_frame.c */

/* What left a function: an exception, or else the thread was to end (pthread_exit). */
struct cpu_native_thrown {
    void *exception; /* NULL: nothing */
    uint64_t is_end; /* the thread's */
};

/*
 * function(call). When an exception leaves it, its frames are unwound, *out_thrown says so and the
 * result means nothing; give it to cpu_native_catch(). Inside a guard: where the process's unwinder
 * cannot be found the guard is left instead, with HD_NATIVE.
 */
int cpu_native_enter(heddle_native_fn *function, struct heddle_native_call *call,
                     struct cpu_native_thrown *out_thrown);
/* What it is, in words; destroys the exception. */
void cpu_native_catch(const struct cpu_native_thrown *thrown, char *text, size_t size_B);

#endif
