/*
 * Texture and surface objects (texture_object.c): what a program says about one, checked and turned
 * into what a device reads (model/texture.h). The handle is what kernels get; devices find the
 * object by it without a lock, in a table (ir_texture_find()).
 *
 * An object refers to its array or memory by address and has no reference to either: CUDA leaves
 * what happens undefined when these go first. Numbers are the API's.
 */
#ifndef HD_CORE_TEXTURE_TEXTURE_OBJECT_H
#define HD_CORE_TEXTURE_TEXTURE_OBJECT_H

#include <stdalign.h>

#include "core/texture/array.h"

#define CORE_TEXTURE_ALIGN_B 256u /* of memory: as all blocks are */
#define CORE_TEXTURE_API_B   400

/* CU_RESOURCE_TYPE_* */
enum core_resource {
    CORE_RESOURCE_ARRAY,
    CORE_RESOURCE_MIPMAP,
    CORE_RESOURCE_LINEAR,
    CORE_RESOURCE_PITCH2D
};

/* CU_TRSF_* */
enum core_texture_flag {
    CORE_TEXTURE_READ_AS_INTEGER = 0x01,
    CORE_TEXTURE_NORMALIZED = 0x02,
    CORE_TEXTURE_SRGB = 0x10,
    CORE_TEXTURE_NO_TRILINEAR = 0x20,
    CORE_TEXTURE_SEAMLESS = 0x40,
};

struct core_texture_desc {
    enum core_resource resource;
    const struct core_array *array; /* ARRAY, MIPMAP */
    uint64_t va, size_B;            /* LINEAR, PITCH2D: of PITCH2D width, height and pitch */
    unsigned format, channels;
    uint64_t width, height, pitch_B;
    /* how it is read; not of surfaces */
    unsigned address[3], filter, mip_filter, flags, anisotropy;
    float bias, min_level, max_level, border[4];
    bool unnormalized; /* of samplers */
    /* a view of an array */
    bool has_view;
    unsigned view_format; /* CU_RES_VIEW_FORMAT_*, 0: the array's */
    uint64_t view_width, view_height, view_depth;
    unsigned first_level, last_level, first_layer, last_layer;
};

struct core_texture {
    struct core_object object;
    struct core_context *ctx;
    bool is_surface;
    alignas(8) unsigned char api[CORE_TEXTURE_API_B]; /* what the API was told, for the API */
    struct core_texture *next, **link;                /* ctx->lock */
};

/*
 * HD_BAD_ARG, HD_NOT_SUPPORTED (formats of blocks). `api`, of api_B bytes, is kept.
 */
enum hd_status core_texture_create(struct core_context *ctx, const struct core_texture_desc *desc,
                                   const void *api, size_t api_B, struct core_texture **out_texture)
    HD_MUST_CHECK;
enum hd_status core_surface_create(struct core_context *ctx, const struct core_array *array,
                                   const void *api, size_t api_B, struct core_texture **out_surface)
    HD_MUST_CHECK;
/* How a .samplerref variable reads; as a texture it is the word at `va`. HD_NO_MEMORY. */
enum hd_status core_sampler_create(struct core_context *ctx, const struct core_texture_desc *desc,
                                   uint64_t va, struct core_texture **out_sampler) HD_MUST_CHECK;
/* The device must be done with it. */
bool core_texture_destroy(struct core_texture *texture);

/*
 * The table of what handles name, for devices. HD_NO_MEMORY. `shared`: in memory that a device of
 * another process can map; else a child of fork() has its own, as of everything else.
 */
enum hd_status core_textures_reserve(bool shared) HD_MUST_CHECK;
struct hal_client_ops;
void core_texture_answer(struct hal_client_ops *client);

#endif
