/*
 * Barriers in shared memory that threads arrive at and wait for apart: CUDA C++ Programming Guide, "Memory Barrier
 * Primitives Interface". From compute capability 8.0 they are PTX's mbarrier objects.
 *
 * Before, they are words that atomics change: the arrivals that a phase begins with in bits 0 to 19, those still missing
 * in bits 20 to 39, the number of the phase above. A token is the word before the arrival.
 */
#ifndef HEDDLE_CUDA_AWBARRIER_PRIMITIVES_H
#define HEDDLE_CUDA_AWBARRIER_PRIMITIVES_H

/* By this name a toolkit's headers beside the program know that they are not needed any more. */
#define _CUDA_AWBARRIER_PRIMITIVES_H_

#include "cuda_runtime.h"

#if defined(__CUDA__) && defined(__cplusplus)

#include <stdint.h>

typedef uint64_t __mbarrier_t;
typedef uint64_t __mbarrier_token_t;

#define HEDDLE_BARRIER      static __device__ __forceinline__
#define HEDDLE_BARRIER_MASK 0xfffffull

HEDDLE_BARRIER uint32_t __mbarrier_maximum_count()
{
    return (1u << 20) - 1;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800

#define HEDDLE_AT(barrier) "r"((unsigned int)__cvta_generic_to_shared(barrier))

HEDDLE_BARRIER void __mbarrier_init(__mbarrier_t *barrier, uint32_t expected_count)
{
    __asm__ __volatile__("mbarrier.init.shared.b64 [%0], %1;" ::HEDDLE_AT(barrier),
                         "r"(expected_count)
                         : "memory");
}
HEDDLE_BARRIER void __mbarrier_inval(__mbarrier_t *barrier)
{
    __asm__ __volatile__("mbarrier.inval.shared.b64 [%0];" ::HEDDLE_AT(barrier) : "memory");
}
HEDDLE_BARRIER __mbarrier_token_t __mbarrier_arrive(__mbarrier_t *barrier)
{
    __mbarrier_token_t token;
    __asm__ __volatile__("mbarrier.arrive.shared.b64 %0, [%1];"
                         : "=l"(token)
                         : HEDDLE_AT(barrier)
                         : "memory");
    return token;
}
HEDDLE_BARRIER __mbarrier_token_t __mbarrier_arrive_and_drop(__mbarrier_t *barrier)
{
    __mbarrier_token_t token;
    __asm__ __volatile__("mbarrier.arrive_drop.shared.b64 %0, [%1];"
                         : "=l"(token)
                         : HEDDLE_AT(barrier)
                         : "memory");
    return token;
}
HEDDLE_BARRIER bool __mbarrier_test_wait(__mbarrier_t *barrier, __mbarrier_token_t token)
{
    unsigned int done;
    __asm__ __volatile__(
        "{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : HEDDLE_AT(barrier), "l"(token)
        : "memory");
    return done;
}
HEDDLE_BARRIER bool __mbarrier_test_wait_parity(__mbarrier_t *barrier, bool phase_parity)
{
    unsigned int done;
    __asm__ __volatile__(
        "{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : HEDDLE_AT(barrier), "r"((unsigned int)phase_parity)
        : "memory");
    return done;
}
HEDDLE_BARRIER uint32_t __mbarrier_token_pending_count(__mbarrier_token_t token)
{
    uint32_t count;
    __asm__("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(token));
    return count;
}

#undef HEDDLE_AT

#else

/* One arrival; `fewer` are taken off what later phases begin with. The last one starts the next phase. */
HEDDLE_BARRIER __mbarrier_token_t heddle_barrier_arrive(__mbarrier_t *barrier, unsigned int fewer)
{
    unsigned long long *word = (unsigned long long *)barrier,
                       old = *(volatile unsigned long long *)word, seen;

    __threadfence_block();
    do {
        seen = old;
        unsigned long long expected = (seen & HEDDLE_BARRIER_MASK) - fewer;
        unsigned long long missing = (seen >> 20 & HEDDLE_BARRIER_MASK) - 1, phase = seen >> 40;
        if (missing == 0) {
            missing = expected;
            phase++;
        }
        old = atomicCAS(word, seen, phase << 40 | missing << 20 | expected);
    } while (old != seen);
    __threadfence_block();
    return seen;
}
HEDDLE_BARRIER void __mbarrier_init(__mbarrier_t *barrier, uint32_t expected_count)
{
    *(volatile __mbarrier_t *)barrier = (__mbarrier_t)expected_count << 20 | expected_count;
}
HEDDLE_BARRIER void __mbarrier_inval(__mbarrier_t *barrier)
{
    *(volatile __mbarrier_t *)barrier = 0;
}
HEDDLE_BARRIER __mbarrier_token_t __mbarrier_arrive(__mbarrier_t *barrier)
{
    return heddle_barrier_arrive(barrier, 0);
}
HEDDLE_BARRIER __mbarrier_token_t __mbarrier_arrive_and_drop(__mbarrier_t *barrier)
{
    return heddle_barrier_arrive(barrier, 1);
}
HEDDLE_BARRIER bool __mbarrier_test_wait(__mbarrier_t *barrier, __mbarrier_token_t token)
{
    bool done = *(volatile __mbarrier_t *)barrier >> 40 != token >> 40;
    __threadfence_block();
    return done;
}
/* Whether the phase of this parity is over: the running one is of the other. */
HEDDLE_BARRIER bool __mbarrier_test_wait_parity(__mbarrier_t *barrier, bool phase_parity)
{
    bool done = (*(volatile __mbarrier_t *)barrier >> 40 & 1) != (unsigned int)phase_parity;
    __threadfence_block();
    return done;
}
HEDDLE_BARRIER uint32_t __mbarrier_token_pending_count(__mbarrier_token_t token)
{
    return (uint32_t)(token >> 20 & HEDDLE_BARRIER_MASK);
}

#endif

/* As above, for at least max_sleep_nanosec when it is not over yet. */
#define HEDDLE_TRY_WAIT(name, param)                                                               \
    HEDDLE_BARRIER bool __mbarrier_try_wait##name(__mbarrier_t *barrier, param value,              \
                                                  uint32_t max_sleep_nanosec)                      \
    {                                                                                              \
        unsigned long long start, now;                                                             \
        __asm__ __volatile__("mov.u64 %0, %%globaltimer;" : "=l"(start));                          \
        do {                                                                                       \
            if (__mbarrier_test_wait##name(barrier, value))                                        \
                return true;                                                                       \
            __asm__ __volatile__("mov.u64 %0, %%globaltimer;" : "=l"(now));                        \
        } while (now - start < max_sleep_nanosec);                                                 \
        return false;                                                                              \
    }
HEDDLE_TRY_WAIT(, __mbarrier_token_t)
HEDDLE_TRY_WAIT(_parity, bool)
#undef HEDDLE_TRY_WAIT

#undef HEDDLE_BARRIER_MASK
#undef HEDDLE_BARRIER

#endif

#endif
