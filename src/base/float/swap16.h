/*
 * Compare and swap on 16 bytes. In assembly on x86: gcc and clang disagree on whether a function
 * may use the instruction that the baseline lacks. Any thread.
 */
#ifndef HD_BASE_FLOAT_SWAP16_H
#define HD_BASE_FLOAT_SWAP16_H

#include <stdbool.h>
#include <stdint.h>

struct hd_16 {
    uint64_t lo, hi;
};

/* `p` is aligned. True when *p was *old, and is `want` now; else *old is what it is. */
#if defined(__x86_64__)
static inline bool hd_swap_16(void *p, struct hd_16 *old, struct hd_16 want)
{
    bool done;
    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(done), "+m"(*(struct hd_16 *)p), "+a"(old->lo), "+d"(old->hi)
                     : "b"(want.lo), "c"(want.hi)
                     : "memory");
    return done;
}
#else
static inline bool hd_swap_16(void *p, struct hd_16 *old, struct hd_16 want)
{
    return __atomic_compare_exchange((struct hd_16 *)p, old, &want, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST);
}
#endif

/* Exchanges; gives what was there. */
static inline struct hd_16 hd_exchange_16(void *p, struct hd_16 want)
{
    struct hd_16 old = want;
    while (!hd_swap_16(p, &old, want))
        ;
    return old;
}

#endif
