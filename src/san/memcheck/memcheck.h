/*
 * memcheck, inside: what kernels do wrong with memory, and the host's calls that fail.
 *
 *     memcheck.c         accesses of kernels: the quick test, then lane by lane
 *     memcheck_report.c  what is said of a wrong access
 *     memcheck_heap.c    malloc() and free() of kernels, and what is wrong with them
 *     memcheck_order.c   memory of streams that is used outside of its life
 *     memcheck_api.c     calls that fail, faults that no probe announced, leaks
 */
#ifndef HD_SAN_MEMCHECK_MEMCHECK_H
#define HD_SAN_MEMCHECK_MEMCHECK_H

#include "san/memory.h"
#include "san/order.h"
#include "san/tool.h"

/* Blocks that were found last, by probe: any block of the picture may stand anywhere. */
enum { MEMCHECK_NEAR = 1024 };

struct memcheck_launch {
    struct san_memory *memory;
    void *context;                      /* NULL: not known */
    bool is_late;                       /* as struct san_memory_launch */
    struct san_order_position position; /* of the launch; number 0: not known */
    _Atomic bool failed;
    _Atomic(struct san_block *) near[MEMCHECK_NEAR];
};

static inline struct memcheck_launch *memcheck_launch_of(const struct san_cta *cta)
{
    return cta->launch->own[SAN_MEMCHECK];
}

/* ---- memcheck_report.c */

/* What is wrong with a lane; EARLY, LATE: before the allocation, after the free by a stream. */
enum memcheck_why {
    MEMCHECK_FINE,
    MEMCHECK_OUTSIDE,
    MEMCHECK_MISALIGNED,
    MEMCHECK_EARLY,
    MEMCHECK_LATE
};
void memcheck_report(const struct san_cta *cta, const struct san_access *access, uint32_t lane,
                     enum memcheck_why why);
void memcheck_report_refused(const struct san_cta *cta, const struct san_refusal *refusal);

/* ---- memcheck_order.c; threads: any */

/* MEMORY events, before and after the map knows of them; PACKET. */
void memcheck_order_memory(const struct heddle_event *event, bool before);
void memcheck_order_packet(const struct heddle_event *event);
struct san_order_position memcheck_order_of_launch(uint64_t correlation);
/* A launch there uses the block, which its picture has: FINE, EARLY or, told once, LATE. */
enum memcheck_why memcheck_order_use(const struct san_block *block,
                                     const struct san_order_position *position);

/* ---- memcheck_heap.c; threads: any */

bool memcheck_heap_is_used(void);
/* Is all of [va, va + size_B) in one live block? */
bool memcheck_heap_has(uint64_t va, uint64_t size_B);
struct memcheck_heap_near {
    uint64_t base, size_B;
    bool is_freed;
};
/* The block at the address, live or freed, else one close by. False: there is none. */
bool memcheck_heap_near(uint64_t va, struct memcheck_heap_near *out);
void memcheck_heap_alloc(struct san_cta *cta, const struct san_sync *at, const uint64_t *address,
                         const uint64_t *size_B);
/* HD_TRAP: something was wrong, and has been reported. */
enum hd_status memcheck_heap_free(struct san_cta *cta, const struct san_sync *at,
                                  const uint64_t *address) HD_MUST_CHECK;
/* Forgets a block of the context's heap, NULL: of any. False: there is none left. */
bool memcheck_heap_take(const void *context, struct memcheck_heap_near *out);

/* ---- memcheck_api.c */

/* A launch fails, with this status, by what memcheck has reported: its fault is no news. */
void memcheck_fault_expect(const struct san_launch *launch);
void memcheck_host(const struct heddle_event *event);
/* A block went; for san_memory_start(). */
void memcheck_gone(struct san_block *block, bool with_context);
void memcheck_finish(void);

#endif
