/*
 * Arrays whose memory is mapped later: as a whole (deferred mapping) or in parts (sparse arrays).
 *
 *     deferred   | unit | unit | ...
 *     sparse     | tiles of level 0 | tiles of level 1 | ... | units of the mip tail |
 *
 * Such an array has addresses from the beginning, with zeroes where nothing is mapped. A program
 * may read and write there; what it wrote is gone when something is mapped, or unmapped. Memory of
 * allocations (vmm.h) comes in units of 64 KiB. A unit of a sparse level is a tile: `tiles.width` x
 * `tiles.height` texels of one slice. Rows of a level lie one after another as in all arrays, so a
 * tile is mapped row by row unless it is as wide as the level; therefore its rows are pages, and
 * levels that are smaller than a tile are the mip tail, mapped by units without regard to texels.
 *
 * Mapping happens in stream order, in a host call. Everything is checked when it is submitted.
 *
 * Owners: the array has the map; a mapped unit is a use of its allocation. Threads:
 * core_memory_lock, but for what never changes.
 */
#ifndef HD_CORE_TEXTURE_ARRAY_MAP_H
#define HD_CORE_TEXTURE_ARRAY_MAP_H

#include "core/mem/vmm.h"

/* For array.c: chooses tiles for a sparse array, whose extents and texels are known. */
void core_array_tiles_choose(struct core_array *array);
/* Addresses for array->size_B; levels and `va` are set. HD_NO_MEMORY, HD_NO_DEVICE_MEMORY. */
enum hd_status core_array_map_create(struct core_array *array) HD_MUST_CHECK;
/* Nothing uses the array any more. */
void core_array_map_destroy(struct core_array *array);

/* What the API calls a subresource. */
struct core_array_part {
    bool is_tail;
    uint32_t level, layer, offset[3], extent[3]; /* not of the tail: texels */
    uint64_t tail_at_B, tail_B;                  /* of the tail */
};

/* A box of units, and what becomes of it. */
struct core_array_change {
    struct core_array *array;       /* the caller's reference */
    struct core_allocation *memory; /* the same; NULL: unmap */
    uint64_t offset_B;              /* in it */
    uint64_t first;                 /* unit */
    uint64_t n[3], step[3];         /* units and from one to the next, x first */
};

/* `part` is not looked at for deferred arrays. HD_BAD_ARG. */
enum hd_status core_array_change_make(struct core_array *array, const struct core_array_part *part,
                                      struct core_allocation *memory, uint64_t offset_B,
                                      struct core_array_change *out_change) HD_MUST_CHECK;
/* One after another, in stream order. Takes references of its own. */
enum hd_status core_array_changes_submit(struct core_stream *stream,
                                         const struct core_array_change *changes, unsigned n)
    HD_MUST_CHECK;

#endif
