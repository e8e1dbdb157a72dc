/* Texture and surface objects: descriptions to what devices read. */
#include "core/texture/texture_object.h"

#include <assert.h>
#include <errno.h>
#include <sys/mman.h>

#include "base/list.h"
#include "core/context.h"
#include "core/device.h"
#include "core/mem/memory.h"
#include "core/notify.h"
#include "hal/hal.h"
#include "model/texture.h"

_Static_assert(sizeof(struct ir_texture_level) == sizeof(struct core_array_level) &&
                   offsetof(struct ir_texture_level, depth) ==
                       offsetof(struct core_array_level, depth),
               "levels of arrays are levels of textures");
_Static_assert((int)CORE_ARRAY_LEVELS == (int)IR_TEXTURE_LEVELS, "arrays have as many levels");

/* ---- formats */

/* CU_RES_VIEW_FORMAT_*: kinds of 1, 2 and 4 channels each, from 1 on. */
static const struct {
    uint8_t kind, bits;
} view_formats[] = {{IR_TEXEL_UINT, 8},   {IR_TEXEL_SINT, 8},  {IR_TEXEL_UINT, 16},
                    {IR_TEXEL_SINT, 16},  {IR_TEXEL_UINT, 32}, {IR_TEXEL_SINT, 32},
                    {IR_TEXEL_FLOAT, 16}, {IR_TEXEL_FLOAT, 32}};
enum { VIEW_FORMATS = 3 * HD_COUNT_OF(view_formats), VIEW_FORMATS_ALL = 34 };

static enum hd_status texture_view_format(unsigned format, struct core_texel *texel)
{
    static const uint8_t channels[] = {1, 2, 4};
    struct core_texel seen;

    if (!format)
        return HD_OK;
    if (format > VIEW_FORMATS)
        return hd_error(format <= VIEW_FORMATS_ALL ? HD_NOT_SUPPORTED : HD_BAD_ARG,
                        "a resource view of format %u", format);
    seen = (struct core_texel){view_formats[(format - 1) / 3].kind,
                               view_formats[(format - 1) / 3].bits, channels[(format - 1) % 3]};
    if (seen.bits * seen.channels != texel->bits * texel->channels)
        return hd_error(HD_BAD_ARG, "a resource view has texels of another size");
    *texel = seen;
    return HD_OK;
}

static void texture_texel_set(struct ir_texture *t, const struct core_texel *texel, unsigned flags)
{
    bool fraction = !(flags & CORE_TEXTURE_READ_AS_INTEGER) && texel->bits < 32;

    t->store_kind = (uint8_t)texel->kind;
    t->kind = t->store_kind;
    if (texel->kind == IR_TEXEL_UINT && fraction)
        t->kind = IR_TEXEL_UNORM;
    if (texel->kind == IR_TEXEL_SINT && fraction)
        t->kind = IR_TEXEL_SNORM;
    t->channel_B = (uint8_t)(texel->bits / 8);
    t->channels = (uint8_t)texel->channels;
    t->texel_B = (uint8_t)(t->channel_B * t->channels);
    t->srgb = (flags & CORE_TEXTURE_SRGB) && t->kind == IR_TEXEL_UNORM && texel->bits == 8;
}

/* ---- samplers */

static uint32_t texture_bits_of(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

/* As a texel of the kind would read. */
static uint32_t texture_border_word(const struct ir_texture *t, float f)
{
    f = f == f ? f : 0;
    switch ((enum ir_texel_kind)t->kind) {
    case IR_TEXEL_UINT:
        return f <= 0 ? 0 : f >= 0x1p32f ? UINT32_MAX : (uint32_t)f;
    case IR_TEXEL_SINT:
        return (uint32_t)(f <= -0x1p31f ? INT32_MIN : f >= 0x1p31f ? INT32_MAX : (int32_t)f);
    default:
        return texture_bits_of(f);
    }
}

/* Wrapping and mirroring are for normalised coordinates; without them they are clamping. */
static uint8_t texture_address_mode(unsigned mode, bool normalized)
{
    bool folds = mode == IR_ADDRESS_WRAP || mode == IR_ADDRESS_MIRROR;

    return (uint8_t)(folds && !normalized ? IR_ADDRESS_CLAMP : mode);
}

static void object_sampler_set(struct ir_texture *t, const struct core_texture_desc *d)
{
    t->normalized = (d->flags & CORE_TEXTURE_NORMALIZED) != 0;
    t->seamless = (d->flags & CORE_TEXTURE_SEAMLESS) != 0;
    t->linear = d->filter == 1;
    t->mip_linear = d->mip_filter == 1;
    t->anisotropy = (uint8_t)HD_MIN(HD_MAX(d->anisotropy, 1u), 16u);
    t->bias = d->bias;
    t->min_level = d->min_level;
    t->max_level = d->max_level;
    for (unsigned i = 0; i < 3; i++)
        t->address[i] = texture_address_mode(d->address[i], t->normalized);
    for (unsigned i = 0; i < 4; i++)
        t->border[i] = texture_border_word(t, d->border[i]);
}

static enum hd_status object_check_sampler(const struct core_texture_desc *d,
                                           const struct ir_texture *t)
{
    bool integers = t->kind == IR_TEXEL_UINT || t->kind == IR_TEXEL_SINT;

    for (unsigned i = 0; i < 3; i++)
        if (d->address[i] > IR_ADDRESS_BORDER)
            return hd_error(HD_BAD_ARG, "texture: address mode %u", d->address[i]);
    if (d->filter > 1 || d->mip_filter > 1)
        return hd_error(HD_BAD_ARG, "texture: filter mode %u, between levels %u", d->filter,
                        d->mip_filter);
    if (d->flags & ~(CORE_TEXTURE_READ_AS_INTEGER | CORE_TEXTURE_NORMALIZED | CORE_TEXTURE_SRGB |
                     CORE_TEXTURE_NO_TRILINEAR | CORE_TEXTURE_SEAMLESS))
        return hd_error(HD_BAD_ARG, "texture: flags 0x%x", d->flags);
    if (integers && d->filter == 1 && d->resource != CORE_RESOURCE_LINEAR)
        return hd_error(HD_BAD_ARG, "texture: integers are not filtered");
    return HD_OK;
}

/* ---- memory */

static int texture_attribute(const struct core_device *device, enum core_attribute number)
{
    return device->attributes[number];
}

static enum hd_status texture_check_memory(uint64_t va, uint64_t size_B)
{
    if (!va || va % CORE_TEXTURE_ALIGN_B)
        return hd_error(HD_BAD_ARG, "texture: 0x%llx is not aligned to %u bytes",
                        (unsigned long long)va, CORE_TEXTURE_ALIGN_B);
    return core_memory_check(va, size_B, false);
}

static enum hd_status texture_linear_set(const struct core_device *device,
                                         const struct core_texture_desc *d, struct ir_texture *t)
{
    uint64_t width = d->size_B / t->texel_B;

    HD_TRY(texture_check_memory(d->va, d->size_B));
    if (!width ||
        width > (uint64_t)texture_attribute(device, CORE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH))
        return hd_error(HD_BAD_ARG, "texture: %llu texels in linear memory",
                        (unsigned long long)width);
    t->is_linear = true;
    t->level[0] = (struct ir_texture_level){.base = d->va,
                                            .pitch_B = 0,
                                            .slice_B = 0,
                                            .width = (uint32_t)width,
                                            .height = 1,
                                            .depth = 1};
    return HD_OK;
}

static enum hd_status texture_pitch_set(const struct core_device *device,
                                        const struct core_texture_desc *d, struct ir_texture *t)
{
    uint64_t pitch_align =
        (uint64_t)texture_attribute(device, CORE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
    uint64_t row_B = d->width * t->texel_B;

    if (!d->width || !d->height ||
        d->width >
            (uint64_t)texture_attribute(device, CORE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH) ||
        d->height >
            (uint64_t)texture_attribute(device, CORE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT))
        return hd_error(HD_BAD_ARG, "texture: %llu x %llu texels with a pitch",
                        (unsigned long long)d->width, (unsigned long long)d->height);
    if (d->pitch_B % pitch_align || d->pitch_B < row_B ||
        d->pitch_B >
            (uint64_t)texture_attribute(device, CORE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH))
        return hd_error(HD_BAD_ARG, "texture: a pitch of %llu bytes for rows of %llu",
                        (unsigned long long)d->pitch_B, (unsigned long long)row_B);
    HD_TRY(texture_check_memory(d->va, (d->height - 1) * d->pitch_B + row_B));
    t->level[0] = (struct ir_texture_level){.base = d->va,
                                            .pitch_B = d->pitch_B,
                                            .slice_B = d->pitch_B * d->height,
                                            .width = (uint32_t)d->width,
                                            .height = (uint32_t)d->height,
                                            .depth = 1};
    return HD_OK;
}

/* ---- arrays */

static bool texture_is_layered(const struct core_array *array)
{
    return (array->desc.flags & (CORE_ARRAY_LAYERED | CORE_ARRAY_CUBEMAP)) != 0;
}

static void texture_levels_set(struct ir_texture *t, const struct core_array *array, unsigned first,
                               unsigned count)
{
    t->nlevels = count;
    memcpy(t->level, &array->level[first], count * sizeof(t->level[0]));
    if (array->desc.flags & CORE_ARRAY_LAYERED)
        t->array_size = t->level[0].depth / (array->desc.flags & CORE_ARRAY_CUBEMAP ? 6 : 1);
}

static bool texture_extent_differs(uint64_t seen, uint64_t is)
{
    return seen && seen != is;
}

static enum hd_status texture_view_set(struct ir_texture *t, const struct core_texture_desc *d)
{
    const struct core_array *a = d->array;
    uint32_t layers = texture_is_layered(a) ? a->level[0].depth : 1;

    if (texture_extent_differs(d->view_width, a->desc.width) ||
        texture_extent_differs(d->view_height, a->desc.height) ||
        (!texture_is_layered(a) && texture_extent_differs(d->view_depth, a->desc.depth)))
        return hd_error(HD_BAD_ARG, "a resource view has another extent than its array");
    if (d->first_level > d->last_level || d->last_level >= a->nlevels ||
        d->first_layer > d->last_layer || d->last_layer >= layers)
        return hd_error(HD_BAD_ARG, "a resource view of levels %u to %u, layers %u to %u",
                        d->first_level, d->last_level, d->first_layer, d->last_layer);
    texture_levels_set(t, a, d->first_level, d->last_level - d->first_level + 1);
    for (unsigned i = 0; layers > 1 && i < t->nlevels; i++) {
        t->level[i].base += d->first_layer * t->level[i].slice_B;
        t->level[i].depth = d->last_layer - d->first_layer + 1;
    }
    if (t->array_size)
        t->array_size = t->level[0].depth / (a->desc.flags & CORE_ARRAY_CUBEMAP ? 6 : 1);
    return HD_OK;
}

static enum hd_status texture_resource_set(const struct core_device *device,
                                           const struct core_texture_desc *d, struct ir_texture *t)
{
    t->nlevels = 1;
    if (d->resource == CORE_RESOURCE_LINEAR)
        return texture_linear_set(device, d, t);
    if (d->resource == CORE_RESOURCE_PITCH2D)
        return texture_pitch_set(device, d, t);
    if (d->has_view)
        return texture_view_set(t, d);
    texture_levels_set(t, d->array, 0, d->array->nlevels);
    return HD_OK;
}

static enum hd_status texture_texel_of(const struct core_texture_desc *d,
                                       struct core_texel *out_texel)
{
    bool in_array = d->resource <= CORE_RESOURCE_MIPMAP;
    const struct core_array_desc *a = in_array ? &d->array->desc : NULL;

    if (d->has_view && !in_array)
        return hd_error(HD_BAD_ARG, "resource views are of arrays");
    HD_TRY(core_texel_check(a ? a->format : d->format, a ? a->channels : d->channels, out_texel));
    return d->has_view ? texture_view_format(d->view_format, out_texel) : HD_OK;
}

/* ---- what devices see */

static struct {
    struct ir_texture_table *table; /* constant once there are devices */
    int fd;
} seen = {.fd = -1};

enum hd_status core_textures_reserve(bool shared)
{
    void *at = NULL;

    if (seen.table)
        return HD_OK; /* opening the devices failed before and is tried again */
    if (shared) {
        HD_TRY(hal_shared_create("heddle-textures", sizeof(*seen.table), &seen.fd, &at));
    } else {
        at = mmap(NULL, sizeof(*seen.table), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED)
            return hd_error(HD_NO_MEMORY, "table of textures: %s", strerror(errno));
    }
    seen.table = at;
    seen.table->slot_B = sizeof(struct ir_texture_slot);
    return HD_OK;
}

void core_texture_answer(struct hal_client_ops *client)
{
    client->textures = seen.table;
    client->textures_fd = seen.fd;
}

static struct ir_texture_slot *texture_slot_of(const struct core_texture *texture)
{
    uint64_t handle = (uintptr_t)core_texture_handle(texture);

    return &seen.table->slots[IR_TEXTURE_SLOT(handle)];
}

/* ---- life */

static enum hd_status texture_publish(struct core_texture *texture, const struct ir_texture *view,
                                      struct core_texture **out_texture)
{
    struct core_context *ctx = texture->ctx;
    bool closing;

    hd_lock_acquire(&ctx->lock);
    closing = ctx->closing;
    if (!closing) {
        hd_list_push(&ctx->textures, texture);
        core_object_publish(&texture->object);
        /* Nobody but who makes the texture, or who destroys it, writes its slot. */
        uint64_t handle = (uintptr_t)core_texture_handle(texture);
        uint32_t slot = IR_TEXTURE_SLOT(handle), used = atomic_load(&seen.table->used);
        assert(slot < IR_TEXTURE_SLOTS && !atomic_load(&texture_slot_of(texture)->handle));
        texture_slot_of(texture)->texture = *view;
        atomic_store_explicit(&texture_slot_of(texture)->handle, handle, memory_order_release);
        while (used <= slot && !atomic_compare_exchange_weak(&seen.table->used, &used, slot + 1))
            ;
        *out_texture = core_texture_ref(texture);
    }
    hd_lock_release(&ctx->lock);
    if (closing) {
        core_texture_unref(texture);
        return hd_error(HD_BAD_ARG, "the context was destroyed");
    }
    if (tap_wants(HEDDLE_KIND(OBJECT)))
        core_notify_object(CORE_TEXTURE, ctx, core_texture_handle(texture), false);
    return HD_OK;
}

static enum hd_status texture_make(struct core_context *ctx, const struct ir_texture *view,
                                   const void *api, size_t api_B, struct core_texture **out_texture)
{
    struct core_texture *texture = core_handle_alloc(CORE_TEXTURE);

    assert(api_B <= CORE_TEXTURE_API_B);
    if (!texture)
        return hd_error(HD_NO_MEMORY, "texture");
    texture->ctx = core_context_ref(ctx);
    if (texture->object.index >= IR_TEXTURE_SLOTS) {
        core_texture_unref(texture);
        return hd_error(HD_NO_MEMORY, "more than %u textures and surfaces", IR_TEXTURE_SLOTS);
    }
    texture->is_surface = view->is_surface;
    memcpy(texture->api, api, api_B);
    return texture_publish(texture, view, out_texture);
}

enum hd_status core_texture_create(struct core_context *ctx, const struct core_texture_desc *desc,
                                   const void *api, size_t api_B, struct core_texture **out_texture)
{
    struct ir_texture view = {0};
    struct core_texel texel;

    HD_TRY(texture_texel_of(desc, &texel));
    texture_texel_set(&view, &texel, desc->flags);
    HD_TRY(object_check_sampler(desc, &view));
    HD_TRY(texture_resource_set(ctx->device, desc, &view));
    object_sampler_set(&view, desc);
    return texture_make(ctx, &view, api, api_B, out_texture);
}

enum hd_status core_surface_create(struct core_context *ctx, const struct core_array *array,
                                   const void *api, size_t api_B, struct core_texture **out_surface)
{
    struct ir_texture view = {.is_surface = true};
    struct core_texel texel;

    if (!(array->desc.flags & CORE_ARRAY_SURFACE_LDST) && !array->is_level)
        return hd_error(HD_BAD_ARG, "the array was not created for surfaces");
    HD_TRY(core_texel_check(array->desc.format, array->desc.channels, &texel));
    texture_texel_set(&view, &texel, CORE_TEXTURE_READ_AS_INTEGER);
    texture_levels_set(&view, array, 0, 1);
    return texture_make(ctx, &view, api, api_B, out_surface);
}

enum hd_status core_sampler_create(struct core_context *ctx, const struct core_texture_desc *desc,
                                   uint64_t va, struct core_texture **out_sampler)
{
    struct core_texel texel = {IR_TEXEL_FLOAT, 32, 1};
    struct ir_texture view = {.is_sampler = true, .unnormalized = desc->unnormalized, .nlevels = 1};

    texture_texel_set(&view, &texel, 0);
    object_sampler_set(&view, desc);
    for (unsigned i = 0; i < 3; i++)
        view.address[i] = (uint8_t)desc->address[i]; /* what folds depends on the texture */
    view.level[0] = (struct ir_texture_level){.base = va, .width = 1, .height = 1, .depth = 1};
    return texture_make(ctx, &view, "", 0, out_sampler);
}

bool core_texture_destroy(struct core_texture *texture)
{
    if (!core_object_retire(&texture->object))
        return false;
    atomic_store(&texture_slot_of(texture)->handle, 0);
    if (tap_wants(HEDDLE_KIND(OBJECT)))
        core_notify_object(CORE_TEXTURE, texture->ctx, core_texture_handle(texture), true);
    core_texture_unref(texture);
    return true;
}

void core_texture_finalise(struct core_texture *texture)
{
    struct core_context *ctx = texture->ctx;

    hd_lock_acquire(&ctx->lock);
    if (texture->link)
        hd_list_remove(texture);
    hd_lock_release(&ctx->lock);
    core_handle_free(texture);
    core_context_unref(ctx);
}
