/*
 * Children of fork(). CUDA is not to be used in the child of a process that has initialised it, and
 * here it cannot be: the child has no workers, and device memory is shared with its parent. Calls
 * answer CUDA_ERROR_NOT_INITIALIZED there (cudaErrorInitializationError), exit() waits for nobody,
 * and no thread's end gives anything back. docs/decisions/0145-children-of-fork.md
 *
 * Until the program has initialised CUDA its children may, also when it has opened devices to look
 * at them (NVML): then they open their own.
 */
#ifndef HD_CORE_FORKED_H
#define HD_CORE_FORKED_H

#include <stdatomic.h>
#include <stdbool.h>

extern _Atomic bool core_forked;

/* Is this the child of a process that had begun to initialise CUDA? */
static inline bool core_is_forked(void)
{
    return atomic_load_explicit(&core_forked, memory_order_relaxed);
}

/* The program initialises CUDA: children from here on are children of such a process. */
void core_fork_mark(void);

/* What each file sees to in the child, in which this thread is the only one. */
void core_device_in_child(void);
void core_control_in_child(void);
void core_retire_in_child(void);

#endif
