/*
 * Memory that programs have: blocks by their address, allocated, freed and looked at (memory.c,
 * block.c, registered.c), and what was advised of ranges of it (advice.c). How it is made:
 * memory_parts.h.
 *
 * A block belongs to a context and goes with it. Threads: any; what is returned of a block is a
 * copy.
 */
#ifndef HD_CORE_MEM_MEMORY_H
#define HD_CORE_MEM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct core_context;
struct core_device;

enum core_mem_kind {
    CORE_MEM_PAGEABLE = 0, /* the program's own memory, of which we know nothing */
    CORE_MEM_DEVICE = 1,
    CORE_MEM_HOST = 2, /* pinned */
    CORE_MEM_MANAGED = 4,
    CORE_MEM_REGISTERED = 8, /* the same, but registered */
};

struct core_block {
    uint64_t base;
    uint64_t size_B; /* as asked for */
    enum core_mem_kind kind;
    bool is_multicast;          /* nothing but multimem instructions reaches it */
    bool is_own;                /* core's: of a module, an array ...; programs cannot free it */
    uint8_t use;                /* enum heddle_memory_use, for taps */
    bool is_synchronous;        /* see core_memory_sync_set() */
    unsigned flags;             /* the API's */
    struct core_context *ctx;   /* NULL: a mapping (vmm.h) */
    struct core_device *device; /* the context's */
    uint64_t id;                /* never reused */
    struct core_pooled *pooled; /* of a memory pool, or NULL */
    struct core_mapped *mapped; /* of a file (ipc.h), or NULL */
};

/* 256-byte aligned. HD_NO_DEVICE_MEMORY, HD_BAD_ARG for size 0. */
enum hd_status core_memory_alloc(struct core_context *ctx, uint64_t size_B, enum core_mem_kind kind,
                                 unsigned flags, uint64_t *out_va) HD_MUST_CHECK;
/* `kinds`: those that may be freed here. HD_BAD_ARG when va is not the start of a live block. */
enum hd_status core_memory_free(uint64_t va, unsigned kinds) HD_MUST_CHECK;
/* For what core itself keeps in a context; `use`: enum heddle_memory_use, for taps. */
enum hd_status core_memory_alloc_own(struct core_context *ctx, uint64_t size_B,
                                     enum core_mem_kind kind, unsigned use, uint64_t *out_va)
    HD_MUST_CHECK;
void core_memory_free_own(uint64_t va);
/* From here on it belongs to this context, and to the device that it is of. */
void core_memory_give(uint64_t va, struct core_context *ctx);
/* REGISTERED, or MANAGED for variables: those cannot be unregistered. */
enum hd_status core_memory_register(struct core_context *ctx, uint64_t va, uint64_t size_B,
                                    enum core_mem_kind kind, unsigned flags) HD_MUST_CHECK;
enum hd_status core_memory_unregister(uint64_t va) HD_MUST_CHECK;
/* The live block that contains va, by value. */
bool core_memory_find(uint64_t va, struct core_block *out_block);
/* The context of a device's memory at va, where that is another device than ctx's: a reference. */
struct core_context *core_memory_peer(uint64_t va, const struct core_context *ctx);
/* The context of the allocation that holds the address, with a reference; NULL: there is none. */
struct core_context *core_memory_owner(uint64_t va);
/*
 * Do calls that are not asynchronous wait until the memory is written or read, also when nobody on
 * the host could tell? HD_BAD_ARG: there is no such memory.
 */
enum hd_status core_memory_sync_set(uint64_t va, bool is_synchronous) HD_MUST_CHECK;
/*
 * May the device touch [va, va + size_B)? HD_BAD_ARG for a range inside the device's address space
 * that is not within one live block; memory outside it is the program's and its own business.
 * `device_only`: it must be device, managed, pinned or registered memory.
 */
enum hd_status core_memory_check(uint64_t va, uint64_t size_B, bool device_only) HD_MUST_CHECK;
/* The same, and what the first byte is. */
enum hd_status core_memory_classify(uint64_t va, uint64_t size_B, bool device_only,
                                    enum core_mem_kind *out_kind) HD_MUST_CHECK;
void core_memory_info(const struct core_device *device, uint64_t *out_free_B,
                      uint64_t *out_total_B);
uint64_t core_memory_next_id(void);
void core_memory_release_context(struct core_context *ctx);

/* ---- advice for ranges of managed memory (advice.c) */

enum core_advise {
    CORE_ADVISE_READ_MOSTLY,
    CORE_ADVISE_PREFERRED,
    CORE_ADVISE_ACCESSED_BY,
    CORE_ADVISE_PREFETCHED
};
/* Locations have the API's types and numbers; a device's is the only one that matters here. */
#define CORE_ADVICE_DEVICE 1
struct core_advice {
    bool read_mostly, host_accesses;
    uint64_t accessed_by; /* devices, by ordinal */
    int preferred_type, preferred_id;
    int prefetch_type, prefetch_id;
};
struct core_advice_change {
    enum core_advise what;
    bool set;
    int type, id; /* of the location */
};
/* For whole pages. HD_NO_MEMORY. */
enum hd_status core_advice_set(uint64_t va, uint64_t size_B,
                               const struct core_advice_change *change) HD_MUST_CHECK;
/* What holds for all of the range. */
void core_advice_get(uint64_t va, uint64_t size_B, struct core_advice *out_advice);

#endif
