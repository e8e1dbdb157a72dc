/*
 * Asynchronous copies from global to shared memory in batches: CUDA C++ Programming Guide, "Pipeline Primitives Interface".
 * From compute capability 8.0 by cp.async; before, the copy is done at once, and waiting has nothing to wait for.
 */
#ifndef HEDDLE_CUDA_PIPELINE_PRIMITIVES_H
#define HEDDLE_CUDA_PIPELINE_PRIMITIVES_H

/* By this name a toolkit's headers beside the program know that they are not needed any more. */
#define _CUDA_PIPELINE_PRIMITIVES_H_

#include "cuda_runtime.h"

#if defined(__CUDA__) && defined(__cplusplus)

#include "cuda_awbarrier_primitives.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define HEDDLE_HAS_CP_ASYNC 1
#else
#define HEDDLE_HAS_CP_ASYNC 0
#endif

/*
 * Copies size_and_align bytes (4, 8 or 16, which both addresses are multiples of), the last zfill of which are zeros
 * instead. The batch that __pipeline_commit() closes holds it.
 */
static __device__ __forceinline__ void __pipeline_memcpy_async(void *__restrict__ dst_shared,
                                                               const void *__restrict__ src_global,
                                                               size_t size_and_align,
                                                               size_t zfill = 0)
{
#if HEDDLE_HAS_CP_ASYNC
    unsigned int to = (unsigned int)__cvta_generic_to_shared(dst_shared);
    unsigned int count = (unsigned int)(size_and_align - zfill);
    if (size_and_align == 16)
        __asm__ __volatile__("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
                             "l"(src_global), "r"(count)
                             : "memory");
    else if (size_and_align == 8)
        __asm__ __volatile__("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to),
                             "l"(src_global), "r"(count)
                             : "memory");
    else if (size_and_align == 4)
        __asm__ __volatile__("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to),
                             "l"(src_global), "r"(count)
                             : "memory");
    else
        __trap();
#else
    unsigned char bytes[16];
    if (size_and_align != 4 && size_and_align != 8 && size_and_align != 16)
        __trap();
    for (size_t i = 0; i < size_and_align; i++)
        bytes[i] = i < size_and_align - zfill ? ((const unsigned char *)src_global)[i] : 0;
    for (size_t i = 0; i < size_and_align; i++)
        ((unsigned char *)dst_shared)[i] = bytes[i];
#endif
}

/* Closes the calling thread's batch. */
static __device__ __forceinline__ void __pipeline_commit()
{
#if HEDDLE_HAS_CP_ASYNC
    __asm__ __volatile__("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits for all of the thread's batches but the last `prior`. */
static __device__ __forceinline__ void __pipeline_wait_prior(size_t prior)
{
#if HEDDLE_HAS_CP_ASYNC
#define HEDDLE_WAIT(n)                                                                             \
    case n:                                                                                        \
        __asm__ __volatile__("cp.async.wait_group " #n ";" ::: "memory");                          \
        break;
    switch (prior) {
        HEDDLE_WAIT(0)
        HEDDLE_WAIT(1)
        HEDDLE_WAIT(2)
        HEDDLE_WAIT(3)
        HEDDLE_WAIT(4)
        HEDDLE_WAIT(5)
        HEDDLE_WAIT(6)
        HEDDLE_WAIT(7)
    default: /* more may be complete than was asked for, never less */
        __asm__ __volatile__("cp.async.wait_group 8;" ::: "memory");
    }
#undef HEDDLE_WAIT
#else
    (void)prior;
#endif
}

/* Makes the barrier's phase wait for the thread's copies so far. */
static __device__ __forceinline__ void __pipeline_arrive_on(__mbarrier_t *barrier)
{
#if HEDDLE_HAS_CP_ASYNC
    __asm__ __volatile__("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(
                             (unsigned int)__cvta_generic_to_shared(barrier))
                         : "memory");
#else
    /* The copies are done: nothing is added to what the phase waits for. */
    (void)barrier;
#endif
}

#undef HEDDLE_HAS_CP_ASYNC

#endif

#endif
