/*
 * Memory of graphs: what allocation nodes give (cuGraphAddMemAllocNode).
 *
 *     node ──► core_graph_memory, an address for good ── page ──► physical memory, if it has some
 *
 * The address is known when the node is made; the memory is live from a launch that allocates it
 * until a launch, a stream or a call frees it. Memory that is not live and that nothing submitted
 * still uses may be mapped at another address too and become that one's: graphs that do not run at
 * the same time share it. Trimming gives it back.
 *
 * Owners: nodes, copies of them in executable graphs, and whoever has live memory hold references.
 * Threads: a lock of its own, rank GRAPH_MEMORY, guards all but the addresses and sizes.
 */
#ifndef HD_CORE_GRAPH_GRAPH_MEMORY_H
#define HD_CORE_GRAPH_GRAPH_MEMORY_H

#include "core/graph/graph.h"
#include "core/mem/mempool.h"

struct core_graph_memory {
    struct core_device *device;
    uint64_t va, size_B; /* as asked for */
    uint64_t room_B;     /* of granules */
    struct core_mempool_props props;
    void *said; /* the API's: what was asked for; NULL: a capture did */
    /* The lock's: */
    unsigned refs;
    struct core_graph_page *page; /* what is mapped there */
    bool is_live;
    bool is_instantiated; /* by one executable graph at a time */
    struct core_graph_memory *next, **link;
};

/* HD_BAD_ARG (0 bytes, not a device's memory), HD_NO_DEVICE_MEMORY. `said` is taken over. */
enum hd_status core_graph_memory_create(const struct core_mempool_props *props, uint64_t size_B,
                                        void *said, struct core_graph_memory **out_memory)
    HD_MUST_CHECK;
struct core_graph_memory *core_graph_memory_ref(struct core_graph_memory *memory);
void core_graph_memory_unref(struct core_graph_memory *memory);
/* What an allocation node gave at exactly this address, with a reference; NULL: none. */
struct core_graph_memory *core_graph_memory_find(uint64_t va);

/* HD_BAD_ARG: its memory belongs to another executable graph. */
enum hd_status core_graph_memory_instantiate(const struct core_program *program) HD_MUST_CHECK;
void core_graph_memory_forget(const struct core_program *program);

/* What one launch uses. */
struct core_graph_use;
/*
 * Before a launch: what it allocates is live from here on, unless it frees it as well.
 * HD_BAD_ARG: memory to allocate is live and `auto_free` is not set, or memory to free is not live;
 * HD_NO_DEVICE_MEMORY, HD_NO_MEMORY: nothing has changed.
 */
enum hd_status core_graph_memory_begin(const struct core_program *program, bool auto_free,
                                       struct core_graph_use **out_use) HD_MUST_CHECK;
/* The launch is done; a host function. */
void core_graph_memory_done(void *use);
/* There was no launch. */
void core_graph_memory_cancel(struct core_graph_use *use);
/* Frees in stream order, or at once (NULL). *out_found: false, and HD_OK: no node gave it. */
enum hd_status core_graph_memory_free(struct core_stream *stream, uint64_t va, bool *out_found)
    HD_MUST_CHECK;

/* The API's order. */
enum core_graph_memory_stat {
    CORE_GRAPH_MEMORY_USED, /* that a launch took and nobody trimmed; the most there was */
    CORE_GRAPH_MEMORY_USED_HIGH,
    CORE_GRAPH_MEMORY_RESERVED, /* with what no launch has taken yet */
    CORE_GRAPH_MEMORY_RESERVED_HIGH,
    CORE_GRAPH_MEMORY_STATS
};
uint64_t core_graph_memory_stat(const struct core_device *device, enum core_graph_memory_stat stat);
/* Of a _HIGH one. */
void core_graph_memory_stat_reset(const struct core_device *device,
                                  enum core_graph_memory_stat stat);
/* Gives back what is neither live nor in use. */
void core_graph_memory_trim(const struct core_device *device);

#endif
