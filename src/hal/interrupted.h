/*
 * Which kernel a thread executes at the moment, for who interrupts it: the profiler's samples of
 * host code are not of generated code, which has no names there and no tables for unwinding.
 *
 * Threads: hal_interrupted_get() is for a signal's handler, about the thread that it interrupted.
 */
#ifndef HD_HAL_INTERRUPTED_H
#define HD_HAL_INTERRUPTED_H

#include <stdbool.h>
#include <stdint.h>

/* Where the host goes on behind the kernel: registers of who called the device. */
struct hal_interrupted {
    const char *kernel;   /* valid while the thread is interrupted */
    uintptr_t pc, sp, fp; /* behind the call, as after its return */
};

/* False: none. */
typedef bool hal_interrupted_fn(struct hal_interrupted *out);
bool hal_interrupted_get(struct hal_interrupted *out);
/* For a device that executes kernels on the process's threads. */
void hal_interrupted_serve(hal_interrupted_fn *fn);

#endif
