/*
 * Sleeping on a word of memory that processes share. The word is the low half of a position, or a
 * doorbell; hosts are little endian, as the wire format is.
 */
#ifndef HD_HAL_FUTEX_H
#define HD_HAL_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the low half comes first");

/* Sleeps while *word == seen, at most timeout_ns. May return early. */
static inline void hal_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
    uint64_t capped_ns = timeout_ns < 3600000000000u ? timeout_ns : 3600000000000u;
    struct timespec timeout = {(time_t)(capped_ns / 1000000000u), (long)(capped_ns % 1000000000u)};

    syscall(SYS_futex, word, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

static inline void hal_futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

#endif
