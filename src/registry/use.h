/*
 * What one process does with one device, as the devices and core write it down: counters in memory
 * that other processes read (registry.h). Everything is written by relaxed operations of one word,
 * so nothing is half done when the process is killed.
 *
 * Busy time. One word holds how many jobs run (the high 11 bits) and, modulo 2^53 ns, the sum of
 * the ends less the sum of the begins of the times in which at least one ran: with a job running,
 * the busy time is that sum plus the time now. A begin or an end is one compare and swap, and a
 * reader needs one load.
 *
 * Jobs that take less time than two looks at the clock are worth are timed one in
 * REG_SAMPLE_EVERY, for all of them.
 */
#ifndef HD_REGISTRY_USE_H
#define HD_REGISTRY_USE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/compiler.h"

#define REG_POINTS       16u
#define REG_POINT_NS     ((uint64_t)75 * 1000 * 1000) /* apart, at least */
#define REG_SAMPLE_EVERY 61u /* a prime: programs repeat launches in rows of other lengths */

#define REG_BUSY_BITS 53
#define REG_BUSY_MASK (((uint64_t)1 << REG_BUSY_BITS) - 1)

/* The totals at a time: CLOCK_MONOTONIC, in ns. 0: none, or it is being written. */
struct reg_point {
    _Atomic uint64_t time_ns;
    _Atomic uint64_t kernel_ns, copy_ns; /* busy with these */
    _Atomic uint64_t to_device_B, to_host_B;
};

struct reg_use {
    uint8_t uuid[16];    /* of the device; this and the next are set before the slot is published */
    uint64_t claimed_ns; /* CLOCK_BOOTTIME: the process began before */
    /* In which its number means something. 0 before the first point: to ask takes 20 us. */
    _Atomic uint64_t namespace_inode;
    _Atomic uint64_t memory_B; /* of the device's, that the process has allocated */
    _Atomic uint64_t contexts;
    _Atomic uint64_t launches;               /* kernels; the last of them may be missing yet */
    _Atomic uint64_t to_device_B, to_host_B; /* copied */
    _Alignas(64) _Atomic uint64_t kernel_busy;
    _Atomic uint64_t copy_busy;
    _Atomic uint64_t idle_ns;  /* since when, if neither runs */
    _Atomic uint64_t point_ns; /* the last point's time */
    _Atomic uint64_t npoints;  /* ever: the last is at (npoints - 1) % REG_POINTS */
    struct reg_point points[REG_POINTS];
};

/* Busy time of a word; below 2^53. */
static inline uint64_t reg_busy_ns(uint64_t word, uint64_t now_ns)
{
    return (word + (word >> REG_BUSY_BITS ? now_ns : 0)) & REG_BUSY_MASK;
}

static inline void reg_count(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/* use.c: keeps the totals as a point if the last one is old. */
void reg_point_add(struct reg_use *use, uint64_t now_ns);

static inline void reg_point(struct reg_use *use, uint64_t now_ns)
{
    uint64_t last_ns = atomic_load_explicit(&use->point_ns, memory_order_relaxed);

    if (HD_UNLIKELY(now_ns - last_ns >= REG_POINT_NS && now_ns > last_ns))
        reg_point_add(use, now_ns);
}

/*
 * A job begins, or has ended, at that time of CLOCK_MONOTONIC; `busy` is one of the use's. A thread
 * that the system stops between its look at the clock and this may count time of others again.
 */
static inline void reg_begin(struct reg_use *use, _Atomic uint64_t *busy, uint64_t now_ns)
{
    uint64_t old = atomic_load_explicit(busy, memory_order_relaxed), sum;

    do
        sum = (old >> REG_BUSY_BITS ? old : old - now_ns) & REG_BUSY_MASK;
    while (!atomic_compare_exchange_weak_explicit(
        busy, &old, ((old >> REG_BUSY_BITS) + 1) << REG_BUSY_BITS | sum, memory_order_relaxed,
        memory_order_relaxed));
    reg_point(use, now_ns);
}

static inline void reg_end(struct reg_use *use, _Atomic uint64_t *busy, uint64_t now_ns)
{
    uint64_t old = atomic_load_explicit(busy, memory_order_relaxed), sum;

    do
        sum = (old >> REG_BUSY_BITS == 1 ? old + now_ns : old) & REG_BUSY_MASK;
    while (!atomic_compare_exchange_weak_explicit(
        busy, &old, ((old >> REG_BUSY_BITS) - 1) << REG_BUSY_BITS | sum, memory_order_relaxed,
        memory_order_relaxed));
    atomic_store_explicit(&use->idle_ns, now_ns, memory_order_relaxed);
    reg_point(use, now_ns);
}

/* Short jobs took so long, up to that time, all together. While others run, they add nothing. */
static inline void reg_sampled(struct reg_use *use, uint64_t took_ns, uint64_t now_ns)
{
    uint64_t old = atomic_load_explicit(&use->kernel_busy, memory_order_relaxed);

    while (!(old >> REG_BUSY_BITS) && !atomic_compare_exchange_weak_explicit(
                                          &use->kernel_busy, &old, (old + took_ns) & REG_BUSY_MASK,
                                          memory_order_relaxed, memory_order_relaxed))
        ;
    atomic_store_explicit(&use->idle_ns, now_ns, memory_order_relaxed);
    reg_point(use, now_ns);
}

#endif
