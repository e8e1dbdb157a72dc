/* See array_map.h. */
#include "core/texture/array_map.h"

#include <assert.h>

#include "base/mem.h"
#include "core/context.h"
#include "core/mem/backing.h"
#include "core/mem/mapping.h"
#include "core/mem/memory_parts.h"
#include "core/stream/stream.h"
#include "core/texture/array.h"

struct core_array_map {
    struct core_owner owner;     /* of the granules: the array's addresses are a block */
    struct core_block block;     /* its only slot */
    struct core_backing *zeroes; /* where nothing is mapped */
    uint64_t nunits;
    struct core_allocation *units[]; /* a use of each; NULL: zeroes */
};

/* ---- tiles */

/*
 * Wide rows, because each row of a tile may be a mapping of the process, which has not many. But
 * levels that are narrower than a tile are not sparse: of mipmapped arrays three shall be.
 */
static uint64_t map_tile_row_B(const struct core_array *array)
{
    const uint64_t value = (uint64_t)array->level[0].width * array->texel_B;
    assert(value);
    uint64_t row_B = (uint64_t)1 << (63 - __builtin_clzll(value));

    if (array->is_mipmapped)
        row_B >>= 2;
    return HD_MAX(HD_MIN(row_B, (uint64_t)CORE_TILE_B), (uint64_t)CORE_PAGE_B);
}

void core_array_tiles_choose(struct core_array *array)
{
    struct core_array_tiles *t = &array->tiles;
    uint64_t row_B = map_tile_row_B(array);

    assert(hd_is_pow2(array->texel_B) && row_B % array->texel_B == 0);
    t->width = (uint32_t)(row_B / array->texel_B);
    t->height = (uint32_t)(CORE_TILE_B / row_B);
    while (t->tail_first < array->nlevels && array->level[t->tail_first].width >= t->width &&
           array->level[t->tail_first].height >= t->height)
        t->tail_first++;
}

/* Tiles of a slice of a level. */
static uint64_t map_tiles_across(const struct core_array *array, unsigned level)
{
    return hd_align_up(array->level[level].width, array->tiles.width) / array->tiles.width;
}

static uint64_t map_tiles_down(const struct core_array *array, unsigned level)
{
    return hd_align_up(array->level[level].height, array->tiles.height) / array->tiles.height;
}

/* ---- where units are */

/* `rows` pieces of row_B bytes, which are pitch_B apart. */
struct rows {
    uint64_t va, rows, row_B, pitch_B;
};

static struct rows map_rows_of(const struct core_array *array, uint64_t unit)
{
    /* The level that a unit is of; nlevels: the tail, or an array without tiles. */
    const uint64_t at_B = unit * CORE_TILE_B;
    unsigned i = 0;
    while (i < array->tiles.tail_first &&
           at_B >=
               array->level[i].base - array->va + array->level[i].slice_B * array->level[i].depth)
        i++;
    unsigned level = i < array->tiles.tail_first ? i : array->nlevels;

    if (level < array->nlevels && map_tiles_across(array, level) > 1) {
        /* A tile of a level that is wider than one. */
        const struct core_array_level *l = &array->level[level];
        uint64_t tile = unit - (l->base - array->va) / CORE_TILE_B;
        uint64_t across = map_tiles_across(array, level), down = map_tiles_down(array, level);
        uint64_t row_B = (uint64_t)array->tiles.width * array->texel_B;
        uint64_t top = tile / across % down * array->tiles.height;

        return (struct rows){.va = l->base + tile / (across * down) * l->slice_B +
                                   top * l->pitch_B + tile % across * row_B,
                             .rows = array->tiles.height,
                             .row_B = row_B,
                             .pitch_B = l->pitch_B};
    }
    return (struct rows){array->va + unit * CORE_TILE_B, 1, CORE_TILE_B, CORE_TILE_B};
}

/* ---- mapping a unit */

static enum hd_status map_zeroes_show(struct core_array_map *map, const struct core_allocation *was,
                                      const struct rows *p)
{
    for (uint64_t i = 0; i < p->rows; i++) {
        uint64_t va = p->va + i * p->pitch_B;

        core_backing_unmap(was->backing, va, p->row_B); /* the pages that come back are new */
        HD_TRY(
            core_backing_map(map->zeroes, va, va - map->owner.base, p->row_B, HAL_PROT_READ_WRITE));
    }
    return HD_OK;
}

static enum hd_status map_memory_show(const struct core_allocation *memory, uint64_t offset_B,
                                      const struct rows *p)
{
    for (uint64_t i = 0; i < p->rows; i++)
        HD_TRY(core_backing_map(memory->backing, p->va + i * p->pitch_B, offset_B + i * p->row_B,
                                p->row_B, HAL_PROT_READ_WRITE));
    return HD_OK;
}

/* *out_over: an allocation that nobody has any more. */
static enum hd_status map_unit_set_locked(struct core_array *array, uint64_t unit,
                                          struct core_allocation *memory, uint64_t offset_B,
                                          struct core_allocation **out_over)
{
    struct core_array_map *map = array->map;
    struct rows p = map_rows_of(array, unit);
    struct core_allocation *was;

    assert(hd_lock_held(&core_memory_lock) && unit < map->nunits);
    was = map->units[unit];
    if (memory)
        HD_TRY(map_memory_show(memory, offset_B, &p));
    else if (was)
        HD_TRY(map_zeroes_show(map, was, &p));
    if (memory)
        core_allocation_use_locked(memory);
    map->units[unit] = memory;
    *out_over = was && core_allocation_unuse_locked(was) ? was : NULL;
    return HD_OK;
}

/* Nothing happens to an array that was destroyed. */
static enum hd_status map_unit_set(struct core_array *array, uint64_t unit,
                                   struct core_allocation *memory, uint64_t offset_B)
{
    struct core_allocation *over = NULL;
    enum hd_status status = HD_OK;

    hd_lock_acquire(&core_memory_lock);
    if (array->map)
        status = map_unit_set_locked(array, unit, memory, offset_B, &over);
    hd_lock_release(&core_memory_lock);
    core_allocation_unref(over); /* takes the lock */
    return status;
}

/* ---- life */

static struct core_array_map *map_new(const struct core_array *array)
{
    uint64_t n = array->size_B / CORE_TILE_B;
    struct core_array_map *map;

    assert(array->size_B % CORE_TILE_B == 0);
    if (n > core_space_size() / CORE_TILE_B)
        return NULL;
    map = hd_alloc(sizeof(*map) + n * sizeof(map->units[0]));
    if (map)
        map->nunits = n;
    return map;
}

/* Pages of what was there before may have been kept: they must read as zeroes. */
static enum hd_status map_zeroes_make(struct core_array *array, struct core_array_map *map)
{
    struct hal_device *hal = array->ctx->device->hal;
    uint64_t size_B = map->owner.slot_B;

    HD_TRY(core_backing_create(hal, size_B, false, &map->zeroes));
    HD_TRY(core_backing_map(map->zeroes, map->owner.base, 0, size_B, HAL_PROT_READ_WRITE));
    core_backing_discard(map->zeroes, 0, size_B);
    return HD_OK;
}

static void map_space_give_locked(const struct core_array_map *map)
{
    core_space_owner_set_locked(map->owner.base, map->owner.granules, NULL);
    core_space_give_locked(map->owner.base, map->owner.granules);
}

static enum hd_status map_rows(struct core_array *array, struct core_array_map *map)
{
    uint64_t granules = hd_align_up(array->size_B, CORE_GRANULE_B) / CORE_GRANULE_B, va = 0;
    enum hd_status status = HD_NO_DEVICE_MEMORY;

    hd_lock_acquire(&core_memory_lock);
    if (core_space_take_locked(granules, &va)) {
        map->owner = (struct core_owner){.base = va,
                                         .granules = granules,
                                         .slot_B = granules * CORE_GRANULE_B,
                                         .slots = 1,
                                         .is_array = true,
                                         .blocks = &map->block};
        map->block = (struct core_block){.base = va,
                                         .size_B = array->size_B,
                                         .kind = CORE_MEM_DEVICE,
                                         .device = array->ctx->device,
                                         .id = core_memory_next_id()};
        core_space_owner_set_locked(va, granules, &map->owner);
        status = map_zeroes_make(array, map);
        if (status != HD_OK)
            map_space_give_locked(map);
    }
    hd_lock_release(&core_memory_lock);
    return status == HD_OK ? HD_OK
                           : hd_error(status, "there are no addresses for an array of %llu bytes",
                                      (unsigned long long)array->size_B);
}

enum hd_status core_array_map_create(struct core_array *array)
{
    struct core_array_map *map = map_new(array);
    enum hd_status status;

    if (!map)
        return hd_error(HD_NO_MEMORY, "array of %llu bytes", (unsigned long long)array->size_B);
    status = map_rows(array, map);
    if (status == HD_OK) {
        array->map = map;
        array->va = map->owner.base;
        return HD_OK;
    }
    core_backing_destroy(map->zeroes);
    hd_free(map);
    return status;
}

static bool map_unit_is_mapped(const struct core_array_map *map, uint64_t unit)
{
    bool mapped;

    hd_lock_acquire(&core_memory_lock);
    mapped = map->units[unit] != NULL;
    hd_lock_release(&core_memory_lock);
    return mapped;
}

void core_array_map_destroy(struct core_array *array)
{
    struct core_array_map *map = array->map;

    for (uint64_t i = 0; i < map->nunits; i++)
        if (map_unit_is_mapped(map, i))
            (void)!map_unit_set(array, i, NULL, 0); /* at worst its addresses show nothing */
    hd_lock_acquire(&core_memory_lock);
    array->map = NULL;
    core_backing_discard(map->zeroes, 0, map->owner.slot_B);
    core_backing_unmap(map->zeroes, map->owner.base, map->owner.slot_B);
    map_space_give_locked(map);
    hd_lock_release(&core_memory_lock);
    core_backing_destroy(map->zeroes);
    hd_free(map);
}

/* ---- changes */

static enum hd_status map_bad_part(const char *what)
{
    return hd_error(HD_BAD_ARG, "part of an array: %s", what);
}

/* From one edge of a tile to another, or to the end. */
static bool map_is_tiled(uint32_t offset, uint32_t extent, uint32_t tile, uint32_t size)
{
    uint64_t end = (uint64_t)offset + extent;

    return extent && offset % tile == 0 &&
           (end == size || (end % tile == 0 && end <= hd_align_up(size, tile)));
}

static enum hd_status map_check_slices(const struct core_array *array,
                                       const struct core_array_part *part, uint32_t depth)
{
    bool layered = array->desc.flags & CORE_ARRAY_LAYERED;

    if (layered && (part->layer >= depth || part->offset[2] || part->extent[2] != 1))
        return map_bad_part("a layer that there is not");
    if (!layered && (part->layer || !part->extent[2] || part->offset[2] >= depth ||
                     part->extent[2] > depth - part->offset[2]))
        return map_bad_part("a depth that there is not");
    return HD_OK;
}

static enum hd_status map_tiles_make(const struct core_array *array,
                                     const struct core_array_part *part,
                                     struct core_array_change *c)
{
    const struct core_array_tiles *t = &array->tiles;
    const struct core_array_level *level = &array->level[part->level];

    if (part->level >= t->tail_first)
        return map_bad_part("the level is of the mip tail, or there is no such level");
    if (!map_is_tiled(part->offset[0], part->extent[0], t->width, level->width) ||
        !map_is_tiled(part->offset[1], part->extent[1], t->height, level->height))
        return map_bad_part("offsets and extents are not of whole tiles of the level");
    HD_TRY(map_check_slices(array, part, level->depth));
    c->step[0] = 1;
    c->step[1] = map_tiles_across(array, part->level);
    c->step[2] = c->step[1] * map_tiles_down(array, part->level);
    c->n[0] = hd_align_up(part->extent[0], t->width) / t->width;
    c->n[1] = hd_align_up(part->extent[1], t->height) / t->height;
    c->n[2] = part->extent[2];
    c->first = (level->base - array->va) / CORE_TILE_B + part->offset[0] / t->width +
               part->offset[1] / t->height * c->step[1] +
               (part->layer + part->offset[2]) * c->step[2];
    return HD_OK;
}

/* Units in a row. */
static void map_row_make(struct core_array_change *c, uint64_t at_B, uint64_t size_B)
{
    c->first = at_B / CORE_TILE_B;
    c->n[0] = size_B / CORE_TILE_B;
    c->n[1] = c->n[2] = c->step[0] = 1;
    c->step[1] = c->step[2] = 0;
}

static enum hd_status map_tail_make(const struct core_array *array,
                                    const struct core_array_part *part, struct core_array_change *c)
{
    uint64_t tail_B = array->size_B - array->tiles.tail_at_B;

    if (part->layer)
        return map_bad_part("all layers have one mip tail");
    if (!part->tail_B || part->tail_at_B % CORE_TILE_B || part->tail_B % CORE_TILE_B ||
        part->tail_at_B > tail_B || part->tail_B > tail_B - part->tail_at_B)
        return map_bad_part("not whole tiles of the mip tail");
    map_row_make(c, array->tiles.tail_at_B + part->tail_at_B, part->tail_B);
    return HD_OK;
}

static enum hd_status map_units_make(const struct core_array *array,
                                     const struct core_array_part *part,
                                     struct core_array_change *c)
{
    if (array->is_level || !(array->desc.flags & (CORE_ARRAY_SPARSE | CORE_ARRAY_DEFERRED_MAPPING)))
        return hd_error(HD_BAD_ARG, "the array's memory was not to be mapped later");
    if (array->desc.flags & CORE_ARRAY_SPARSE)
        return part->is_tail ? map_tail_make(array, part, c) : map_tiles_make(array, part, c);
    map_row_make(c, 0, array->size_B);
    return HD_OK;
}

enum hd_status core_array_change_make(struct core_array *array, const struct core_array_part *part,
                                      struct core_allocation *memory, uint64_t offset_B,
                                      struct core_array_change *out_change)
{
    struct core_array_change c = {.array = array, .memory = memory, .offset_B = offset_B};

    HD_TRY(map_units_make(array, part, &c));
    if (memory && (offset_B % CORE_TILE_B || offset_B > memory->size_B ||
                   c.n[0] * c.n[1] * c.n[2] > (memory->size_B - offset_B) / CORE_TILE_B))
        return hd_error(HD_BAD_ARG, "%llu tiles from %llu on are not in memory of %llu bytes",
                        (unsigned long long)(c.n[0] * c.n[1] * c.n[2]),
                        (unsigned long long)offset_B, (unsigned long long)memory->size_B);
    *out_change = c;
    return HD_OK;
}

static enum hd_status map_change_apply(const struct core_array_change *c)
{
    uint64_t offset_B = c->offset_B;

    for (uint64_t z = 0; z < c->n[2]; z++)
        for (uint64_t y = 0; y < c->n[1]; y++)
            for (uint64_t x = 0; x < c->n[0]; x++, offset_B += CORE_TILE_B)
                HD_TRY(map_unit_set(c->array,
                                    c->first + x * c->step[0] + y * c->step[1] + z * c->step[2],
                                    c->memory, offset_B));
    return HD_OK;
}

/* ---- in stream order */

struct changes {
    struct core_context *ctx; /* a reference */
    unsigned n;
    struct core_array_change at[]; /* references, and a use of each memory */
};

static void map_changes_free(struct changes *changes)
{
    for (unsigned i = 0; i < changes->n; i++) {
        const struct core_array_change *c = &changes->at[i];
        bool over = false;

        if (c->memory) {
            hd_lock_acquire(&core_memory_lock);
            over = core_allocation_unuse_locked(c->memory);
            hd_lock_release(&core_memory_lock);
        }
        if (over)
            core_allocation_unref(c->memory);
        core_allocation_unref(c->memory);
        core_array_unref(c->array);
    }
    core_context_unref(changes->ctx);
    hd_free(changes);
}

/* On a thread of the device, whatever happened before: then only what they hold goes. */
static void map_changes_call(void *arg)
{
    struct changes *changes = arg;
    enum hd_status status = core_context_status(changes->ctx);
    bool failed = status != HD_OK;

    for (unsigned i = 0; i < changes->n && status == HD_OK; i++)
        status = map_change_apply(&changes->at[i]);
    if (status != HD_OK && !failed)
        hal_domain_fail(changes->ctx->domain, status, 0, NULL, hd_error_message());
    map_changes_free(changes);
}

enum hd_status core_array_changes_submit(struct core_stream *stream,
                                         const struct core_array_change *changes, unsigned n)
{
    struct changes *copy = hd_alloc(sizeof(*copy) + n * sizeof(copy->at[0]));
    enum hd_status status;

    if (!copy)
        return hd_error(HD_NO_MEMORY, "changes of arrays");
    copy->ctx = core_context_ref(stream->ctx);
    copy->n = n;
    for (unsigned i = 0; i < n; i++) {
        copy->at[i] = changes[i];
        core_array_ref(copy->at[i].array);
        if (copy->at[i].memory) {
            core_allocation_ref(copy->at[i].memory);
            hd_lock_acquire(&core_memory_lock);
            core_allocation_use_locked(copy->at[i].memory);
            hd_lock_release(&core_memory_lock);
        }
    }
    status = core_stream_call(stream, map_changes_call, copy, true);
    if (status != HD_OK)
        map_changes_free(copy);
    return status;
}
