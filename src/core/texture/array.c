/* CUDA arrays: their extents, their layout, their memory. */
#include "core/texture/array.h"

#include <assert.h>

#include "base/list.h"
#include "core/context.h"
#include "core/mem/ipc.h"
#include "core/mem/memory.h"
#include "core/notify.h"
#include "core/texture/array_map.h"
#include "model/texture.h"

/* ---- extents */

struct limits {
    enum core_attribute width, height, depth;
};

/* By what an array is; 0: not limited, or there is no such extent. */
enum shape { ONE, TWO, THREE, ONE_LAYERED, TWO_LAYERED, CUBE, CUBE_LAYERED, NO_SHAPE };

#define AT(name) CORE_ATTRIBUTE_MAXIMUM_##name
static const struct limits texture_limits[NO_SHAPE] = {
    [ONE] = {AT(TEXTURE1D_WIDTH), 0, 0},
    [TWO] = {AT(TEXTURE2D_WIDTH), AT(TEXTURE2D_HEIGHT), 0},
    [THREE] = {AT(TEXTURE3D_WIDTH), AT(TEXTURE3D_HEIGHT), AT(TEXTURE3D_DEPTH)},
    [ONE_LAYERED] = {AT(TEXTURE1D_LAYERED_WIDTH), 0, AT(TEXTURE1D_LAYERED_LAYERS)},
    [TWO_LAYERED] = {AT(TEXTURE2D_LAYERED_WIDTH), AT(TEXTURE2D_LAYERED_HEIGHT),
                     AT(TEXTURE2D_LAYERED_LAYERS)},
    [CUBE] = {AT(TEXTURECUBEMAP_WIDTH), 0, 0},
    [CUBE_LAYERED] = {AT(TEXTURECUBEMAP_LAYERED_WIDTH), 0, AT(TEXTURECUBEMAP_LAYERED_LAYERS)},
};
static const struct limits surface_limits[NO_SHAPE] = {
    [ONE] = {AT(SURFACE1D_WIDTH), 0, 0},
    [TWO] = {AT(SURFACE2D_WIDTH), AT(SURFACE2D_HEIGHT), 0},
    [THREE] = {AT(SURFACE3D_WIDTH), AT(SURFACE3D_HEIGHT), AT(SURFACE3D_DEPTH)},
    [ONE_LAYERED] = {AT(SURFACE1D_LAYERED_WIDTH), 0, AT(SURFACE1D_LAYERED_LAYERS)},
    [TWO_LAYERED] = {AT(SURFACE2D_LAYERED_WIDTH), AT(SURFACE2D_LAYERED_HEIGHT),
                     AT(SURFACE2D_LAYERED_LAYERS)},
    [CUBE] = {AT(SURFACECUBEMAP_WIDTH), 0, 0},
    [CUBE_LAYERED] = {AT(SURFACECUBEMAP_LAYERED_WIDTH), 0, AT(SURFACECUBEMAP_LAYERED_LAYERS)},
};
static const struct limits gather_limits = {AT(TEXTURE2D_GATHER_WIDTH), AT(TEXTURE2D_GATHER_HEIGHT),
                                            0};
static const struct limits mipmap_limits[NO_SHAPE] = {
    [ONE] = {AT(TEXTURE1D_MIPMAPPED_WIDTH), 0, 0},
    [TWO] = {AT(TEXTURE2D_MIPMAPPED_WIDTH), AT(TEXTURE2D_MIPMAPPED_HEIGHT), 0},
};
#undef AT

static enum shape array_shape_of(const struct core_array_desc *d)
{
    if (!d->width)
        return NO_SHAPE;
    if (d->flags & CORE_ARRAY_CUBEMAP) {
        bool layered = (d->flags & CORE_ARRAY_LAYERED) != 0;

        if (d->width != d->height || !d->depth || d->depth % 6)
            return NO_SHAPE;
        return layered ? CUBE_LAYERED : d->depth == 6 ? CUBE : NO_SHAPE;
    }
    if (d->flags & CORE_ARRAY_LAYERED)
        return !d->depth ? NO_SHAPE : d->height ? TWO_LAYERED : ONE_LAYERED;
    if (!d->height)
        return d->depth ? NO_SHAPE : ONE;
    return d->depth ? THREE : TWO;
}

static bool array_exceeds(const struct core_device *device, uint64_t extent,
                          enum core_attribute limit)
{
    int value = 0;

    return limit &&
           (core_device_attribute(device, (int)limit, &value) != HD_OK || extent > (uint64_t)value);
}

static bool array_fits(const struct core_device *device, const struct core_array_desc *d,
                       const struct limits *l)
{
    return !array_exceeds(device, d->width, l->width) &&
           !array_exceeds(device, d->height, l->height) &&
           !array_exceeds(device, d->depth, l->depth);
}

static enum hd_status array_too_large(const struct core_array_desc *d, const char *what)
{
    return hd_error(HD_BAD_ARG, "an array of %llu x %llu x %llu texels is too large for %s",
                    (unsigned long long)d->width, (unsigned long long)d->height,
                    (unsigned long long)d->depth, what);
}

/* CUDA maps memory later into these only. */
static enum hd_status array_check_later(const struct core_array_desc *d, enum shape shape)
{
    if (!(d->flags & (CORE_ARRAY_SPARSE | CORE_ARRAY_DEFERRED_MAPPING)))
        return HD_OK;
    if (shape != TWO && shape != TWO_LAYERED && shape != THREE)
        return hd_error(HD_BAD_ARG, "memory of arrays of two and three dimensions and of layers "
                                    "of two is mapped later, not of others");
    if (d->flags & CORE_ARRAY_SPARSE && d->flags & CORE_ARRAY_DEFERRED_MAPPING)
        return hd_error(HD_BAD_ARG, "an array is sparse, or mapped as a whole");
    return HD_OK;
}

static enum hd_status array_check_desc(const struct core_device *device,
                                       const struct core_array_desc *d, bool is_mipmapped,
                                       struct core_texel *out_texel)
{
    enum shape shape = array_shape_of(d);

    HD_TRY(core_texel_check(d->format, d->channels, out_texel));
    if (d->flags & ~0x1ffu)
        return hd_error(HD_BAD_ARG, "array flags 0x%x", d->flags);
    if (shape == NO_SHAPE)
        return hd_error(HD_BAD_ARG, "there are no arrays of %llu x %llu x %llu with flags 0x%x",
                        (unsigned long long)d->width, (unsigned long long)d->height,
                        (unsigned long long)d->depth, d->flags);
    if (d->flags & CORE_ARRAY_TEXTURE_GATHER && shape != TWO)
        return hd_error(HD_BAD_ARG, "texture gather is for arrays of two dimensions");
    HD_TRY(array_check_later(d, shape));
    if (!array_fits(device, d, &texture_limits[shape]))
        return array_too_large(d, "a texture of its kind");
    if (d->flags & CORE_ARRAY_SURFACE_LDST && !array_fits(device, d, &surface_limits[shape]))
        return array_too_large(d, "a surface of its kind");
    if (d->flags & CORE_ARRAY_TEXTURE_GATHER && !array_fits(device, d, &gather_limits))
        return array_too_large(d, "texture gather");
    if (is_mipmapped && !array_fits(device, d, &mipmap_limits[shape]))
        return array_too_large(d, "mipmap levels");
    return HD_OK;
}

/* ---- layout */

static uint32_t array_halved(uint64_t extent, unsigned level)
{
    return (uint32_t)HD_MAX(extent >> level, (uint64_t)1);
}

static bool array_depth_is_halved(const struct core_array_desc *d)
{
    return !(d->flags & (CORE_ARRAY_LAYERED | CORE_ARRAY_CUBEMAP));
}

static unsigned array_levels_most(const struct core_array_desc *d)
{
    uint64_t largest = HD_MAX(d->width, d->height);
    unsigned n = 1;

    if (array_depth_is_halved(d))
        largest = HD_MAX(largest, d->depth);
    while (largest >>= 1)
        n++;
    return HD_MIN(n, (unsigned)CORE_ARRAY_LEVELS);
}

/* Whole tiles in levels that have them. */
static void array_level_place(struct core_array *array, unsigned level)
{
    struct core_array_level *l = &array->level[level];
    bool tiled = level < array->tiles.tail_first;
    uint64_t width = hd_align_up(l->width, tiled ? array->tiles.width : 1);

    l->pitch_B = hd_align_up(width * array->texel_B, CORE_ARRAY_ROW_B);
    l->slice_B = l->pitch_B * hd_align_up(l->height, tiled ? array->tiles.height : 1);
    l->base = array->size_B;
    array->size_B += l->slice_B * l->depth;
}

/* Places relative to the array's memory, and how much of it there is. */
static void array_layout(struct core_array *array)
{
    const struct core_array_desc *d = &array->desc;

    for (unsigned i = 0; i < array->nlevels; i++) {
        struct core_array_level *l = &array->level[i];

        l->width = array_halved(d->width, i);
        l->height = array_halved(d->height, i);
        l->depth = array_halved(d->depth, array_depth_is_halved(d) ? i : 0);
    }
    if (array->desc.flags & CORE_ARRAY_SPARSE)
        core_array_tiles_choose(array);
    for (unsigned i = 0; i < array->nlevels; i++) {
        array_level_place(array, i);
        if (i + 1 == array->tiles.tail_first)
            array->tiles.tail_at_B = array->size_B;
    }
    if (array->desc.flags & (CORE_ARRAY_SPARSE | CORE_ARRAY_DEFERRED_MAPPING))
        array->size_B = hd_align_up(array->size_B, CORE_TILE_B);
}

/* ---- life */

static struct core_array *array_new(struct core_context *ctx, const struct core_array_desc *desc,
                                    uint32_t texel_B)
{
    struct core_array *array = core_handle_alloc(CORE_ARRAY);

    if (array) {
        array->ctx = core_context_ref(ctx);
        array->desc = *desc;
        array->texel_B = texel_B;
        array->nlevels = 1;
    }
    return array;
}

/* With a second reference, for the caller. */
static enum hd_status array_publish(struct core_array *array, struct core_array **out_array)
{
    struct core_context *ctx = array->ctx;
    bool closing;

    hd_lock_acquire(&ctx->lock);
    closing = ctx->closing;
    if (!closing) {
        hd_list_push(&ctx->arrays, array);
        core_object_publish(&array->object);
        *out_array = core_array_ref(array);
    }
    hd_lock_release(&ctx->lock);
    if (closing) {
        core_array_unref(array);
        return hd_error(HD_BAD_ARG, "the context was destroyed");
    }
    if (tap_wants(HEDDLE_KIND(OBJECT)))
        core_notify_object(CORE_ARRAY, ctx, core_array_handle(array), false);
    return HD_OK;
}

/* Where an array's memory comes from. */
struct source {
    struct core_extmem *extmem; /* NULL: the device's memory, now or later */
    uint64_t offset_B;
};

static enum hd_status array_memory_find(struct core_array *array, const struct source *from)
{
    if (array->desc.flags & (CORE_ARRAY_SPARSE | CORE_ARRAY_DEFERRED_MAPPING))
        return core_array_map_create(array);
    array->is_external = from->extmem != NULL;
    if (from->extmem)
        return core_extmem_map(array->ctx, from->extmem, from->offset_B, array->size_B, &array->va);
    return core_memory_alloc_own(array->ctx, array->size_B, CORE_MEM_DEVICE, HEDDLE_MEMORY_ARRAY,
                                 &array->va);
}

static enum hd_status array_memory_take(struct core_array *array, const struct source *from)
{
    array_layout(array);
    HD_TRY(array_memory_find(array, from));
    for (unsigned i = 0; i < array->nlevels; i++)
        array->level[i].base += array->va;
    return HD_OK;
}

static void array_memory_give(struct core_array *array)
{
    if (array->map)
        core_array_map_destroy(array);
    else if (array->va && array->is_external)
        (void)!core_memory_free(array->va, CORE_MEM_DEVICE);
    else if (array->va)
        core_memory_free_own(array->va);
    array->va = 0;
}

static enum hd_status array_create(struct core_context *ctx, const struct core_array_desc *desc,
                                   unsigned nlevels, const struct source *from,
                                   struct core_array **out_array)
{
    struct core_texel texel;
    struct core_array *array;
    enum hd_status status;

    HD_TRY(array_check_desc(ctx->device, desc, nlevels > 0, &texel));
    array = array_new(ctx, desc, texel.bits / 8 * texel.channels);
    if (!array)
        return hd_error(HD_NO_MEMORY, "array");
    array->is_mipmapped = nlevels > 0;
    array->nlevels = HD_MIN(HD_MAX(nlevels, 1u), array_levels_most(desc));
    status = array_memory_take(array, from);
    if (status == HD_OK)
        return array_publish(array, out_array);
    core_array_unref(array);
    return status;
}

enum hd_status core_array_create(struct core_context *ctx, const struct core_array_desc *desc,
                                 unsigned nlevels, struct core_array **out_array)
{
    return array_create(ctx, desc, nlevels, &(struct source){NULL, 0}, out_array);
}

enum hd_status core_array_create_external(struct core_context *ctx,
                                          const struct core_array_desc *desc, unsigned nlevels,
                                          struct core_extmem *extmem, uint64_t offset_B,
                                          struct core_array **out_array)
{
    if (desc->flags & (CORE_ARRAY_SPARSE | CORE_ARRAY_DEFERRED_MAPPING))
        return hd_error(HD_BAD_ARG, "an array in external memory has its memory");
    if (offset_B % CORE_ARRAY_ROW_B)
        return hd_error(HD_BAD_ARG, "an array in external memory begins at a multiple of %u bytes",
                        CORE_ARRAY_ROW_B);
    return array_create(ctx, desc, nlevels, &(struct source){extmem, offset_B}, out_array);
}

bool core_array_destroy(struct core_array *array)
{
    struct core_array *levels[CORE_ARRAY_LEVELS];

    if (!core_object_retire(&array->object))
        return false;
    if (tap_wants(HEDDLE_KIND(OBJECT)))
        core_notify_object(CORE_ARRAY, array->ctx, core_array_handle(array), true);
    hd_lock_acquire(&array->ctx->lock);
    memcpy(levels, array->levels, sizeof(levels));
    memset(array->levels, 0, sizeof(array->levels));
    hd_lock_release(&array->ctx->lock);
    for (unsigned i = 0; i < CORE_ARRAY_LEVELS; i++) {
        if (levels[i])
            core_array_destroy(levels[i]);
        core_array_unref(levels[i]);
    }
    array_memory_give(array);
    core_array_unref(array);
    return true;
}

void core_array_finalise(struct core_array *array)
{
    struct core_context *ctx = array->ctx;

    hd_lock_acquire(&ctx->lock);
    if (array->link)
        hd_list_remove(array);
    hd_lock_release(&ctx->lock);
    array_memory_give(array);
    core_handle_free(array);
    core_context_unref(ctx);
}

/* ---- levels */

static struct core_array_desc array_level_desc(const struct core_array *array, unsigned level)
{
    struct core_array_desc d = array->desc;

    d.width = array->level[level].width;
    d.height = d.height ? array->level[level].height : 0;
    d.depth = d.depth ? array->level[level].depth : 0;
    return d;
}

/* What was made before, with a reference, or NULL; else notes `made`, if that is not NULL. */
static struct core_array *array_level_get(struct core_array *array, unsigned level,
                                          struct core_array *made)
{
    struct core_array *found;

    hd_lock_acquire(&array->ctx->lock);
    found = array->levels[level];
    if (found)
        core_array_ref(found);
    else if (made && core_array_is_live(array))
        array->levels[level] = core_array_ref(made);
    hd_lock_release(&array->ctx->lock);
    return found;
}

enum hd_status core_array_level(struct core_array *mipmapped, unsigned level,
                                struct core_array **out_array)
{
    struct core_array *array, *first;
    struct core_array_desc desc;

    if (level >= mipmapped->nlevels)
        return hd_error(HD_BAD_ARG, "level %u of %u", level, mipmapped->nlevels);
    *out_array = array_level_get(mipmapped, level, NULL);
    if (*out_array)
        return HD_OK;
    desc = array_level_desc(mipmapped, level);
    array = array_new(mipmapped->ctx, &desc, mipmapped->texel_B);
    if (!array)
        return hd_error(HD_NO_MEMORY, "array");
    array->is_level = true;
    array->level[0] = mipmapped->level[level];
    HD_TRY(array_publish(array, out_array));
    first = array_level_get(mipmapped, level, array);
    if (first) { /* another thread was faster */
        core_array_destroy(array);
        core_array_unref(array);
        *out_array = first;
    }
    return HD_OK;
}
