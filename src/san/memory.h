/*
 * The map of what kernels may touch: allocations and module variables with their exact sizes, from
 * the taps. Shared by memcheck and initcheck.
 *
 *     struct san_memory_launch l = san_memory_of_launch(correlation);
 *     const struct san_block *b = san_memory_find(l.memory, va);
 *     san_memory_unref(l.memory);
 *
 * `l.memory` is a picture of the map, which never changes: reading it needs no lock, and O(log n).
 *
 * Order. Memory of cudaMallocAsync() is freed and given again in the order of a stream, while the
 * host runs ahead. So what a launch sees is the map as it was when the launch was submitted: from
 * the first allocation in a stream on, each launch call keeps its picture. Before, the picture of
 * when the launch begins is as good, because cudaFree() waits.
 *
 * Life. A block is counted: the map, pictures and the list of freed ones have references. Fields
 * are constant but for those that say when they are set.
 *
 * Threads: any. One mutex guards the map; no other lock is taken inside. Without memory for a block
 * or a picture the map says so (san_memory_is_incomplete()), and nobody may call an access wrong
 * any more.
 */
#ifndef HD_SAN_MEMORY_H
#define HD_SAN_MEMORY_H

#include <stdatomic.h>

#include "heddle/tap.h"
#include "san/record.h"

struct san_shadow;
struct memcheck_order;

struct san_block {
    uint64_t base, size_B;
    uint64_t id;            /* counts blocks, from 1 */
    uint32_t memory;        /* as in heddle_event: 1 device, 2 pinned, 4 managed, 8 registered */
    uint32_t use;           /* enum heddle_memory_use */
    void *context, *stream; /* handles; stream: of a stream-ordered allocation, else NULL */
    char *name;             /* of a variable; NULL */
    struct san_stack allocated;
    struct san_stack freed;  /* set when is_freed is */
    bool is_freed_in_stream; /* likewise */
    _Atomic bool is_freed;
    _Atomic uint32_t refs;
    _Atomic(struct san_shadow *) shadow; /* initcheck's; goes with the block */
    struct memcheck_order *order; /* memcheck's, of memory of streams: one allocation, which goes
                                   * with the block */
    _Atomic bool is_initialised;  /* initcheck's: it does not look any more */
};

/* A picture: live blocks by address, which do not overlap. */
struct san_memory {
    _Atomic uint32_t refs;
    uint32_t n;
    uint64_t *base;           /* n, ascending */
    struct san_block **block; /* n */
};

/*
 * Of the tools that call this, the first one's san_memory_host() calls count. `gone` is called for
 * every block that goes, outside of the lock: `with_context`: because its context does, or the
 * process, so nobody freed it. May be NULL.
 */
enum { SAN_MEMORY_USERS = 5 };
typedef void san_memory_gone(struct san_block *block, bool with_context);
/* `user`: a number below SAN_MEMORY_USERS. */
void san_memory_start(unsigned user, san_memory_gone *gone);
/* Back to nothing; nobody uses it meanwhile. For tests. */
void san_memory_stop(void);
/* MEMORY, MODULE, OBJECT, PACKET of every user; others do nothing. */
void san_memory_host(unsigned user, const struct heddle_event *event);
#define SAN_MEMORY_EVENTS                                                                          \
    (HEDDLE_KIND(MEMORY) | HEDDLE_KIND(MODULE) | HEDDLE_KIND(OBJECT) | HEDDLE_KIND(PACKET))

/* ---- pictures, with a reference; NULL without memory */

struct san_memory *san_memory_now(void);
/* Of a launch: ir_probe_launch.correlation. */
struct san_memory_launch {
    struct san_memory *memory;
    void *context; /* NULL: not known */
    bool is_late;  /* the picture is that of now, and what was freed in a stream may be missing */
};
struct san_memory_launch san_memory_of_launch(uint64_t correlation);
void san_memory_unref(struct san_memory *memory);
/* The block that contains the address, borrowed from the picture; NULL: there is none. */
struct san_block *san_memory_find(const struct san_memory *memory, uint64_t va);
/* The last block that begins at or before the address; -1: there is none. */
int64_t san_memory_index(const struct san_memory *memory, uint64_t va);

/* ---- single blocks, with a reference; NULL: there is none */

struct san_block *san_memory_live(uint64_t va);
/* The one of those that were freed lately that contained the address last. */
struct san_block *san_memory_freed(uint64_t va);
void san_block_unref(struct san_block *block);

bool san_memory_is_incomplete(void);

#endif
