/*
 * CUDA arrays and mipmapped arrays (array.c). Rows lie one after another, each at a multiple of
 * CORE_ARRAY_ROW_B; slices, which are the depth of three dimensions, layers or faces of cubes, and
 * mipmap levels do too.
 *
 * A mipmapped array is an array with levels; an array that stands for one level of it belongs to
 * it, is made when it is asked for and goes with it. Memory is the device's, accounted like any
 * other.
 *
 * Numbers of formats and flags are the API's. Extents of 0 are dimensions that there are not.
 */
#ifndef HD_CORE_TEXTURE_ARRAY_H
#define HD_CORE_TEXTURE_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/handle.h"
#include "core/texture/texel.h"

struct core_array_map;
struct core_context;
struct core_extmem;

#define CORE_ARRAY_LEVELS 16
#define CORE_ARRAY_ROW_B  64u

/* CUDA_ARRAY3D_*: what of them means something here. */
enum core_array_flag {
    CORE_ARRAY_LAYERED = 0x01,
    CORE_ARRAY_SURFACE_LDST = 0x02,
    CORE_ARRAY_CUBEMAP = 0x04,
    CORE_ARRAY_TEXTURE_GATHER = 0x08,
    CORE_ARRAY_DEPTH_TEXTURE = 0x10,
    CORE_ARRAY_COLOR_ATTACHMENT = 0x20,
    CORE_ARRAY_SPARSE = 0x40,
    CORE_ARRAY_DEFERRED_MAPPING = 0x80,
    CORE_ARRAY_VIDEO = 0x100,
};

/* What a program asks for. */
struct core_array_desc {
    uint64_t width, height, depth;
    unsigned format, channels, flags;
};

/*
 * What is mapped at a time in a sparse array: CORE_TILE_B bytes, of levels before `tail_first` as
 * many texels. The rest is the mip tail, which lies behind them.
 */
#define CORE_TILE_B 65536u

struct core_array_tiles {
    uint32_t width, height; /* 0: the array is not sparse */
    uint32_t tail_first;
    uint64_t tail_at_B; /* from the array's beginning to its end */
};

/* Texels at base + z * slice_B + y * pitch_B + x * texel size; no extent is 0. */
struct core_array_level {
    uint64_t base, pitch_B, slice_B;
    uint32_t width, height, depth;
};

struct core_array {
    struct core_object object;
    struct core_context *ctx;
    struct core_array_desc desc; /* of the first level */
    uint32_t texel_B;
    bool is_mipmapped;
    uint32_t nlevels; /* 1 unless mipmapped */
    struct core_array_level level[CORE_ARRAY_LEVELS];
    struct core_array_tiles tiles;
    uint64_t size_B; /* of all levels */
    uint64_t va;     /* 0: it has no memory, or is a level */
    bool is_level;
    bool is_external;           /* the memory is */
    struct core_array_map *map; /* its memory is mapped later (array_map.h); core_memory_lock */
    struct core_array *levels[CORE_ARRAY_LEVELS]; /* made so far, with references; ctx->lock */
    struct core_array *next, **link;              /* ctx->lock */
};

/*
 * HD_BAD_ARG for extents, formats and flags that do not go together or exceed the device's limits;
 * HD_NOT_SUPPORTED for formats of blocks and planes; HD_NO_DEVICE_MEMORY. `nlevels` 0: not
 * mipmapped; more than there can be: as many as there can be.
 */
enum hd_status core_array_create(struct core_context *ctx, const struct core_array_desc *desc,
                                 unsigned nlevels, struct core_array **out_array) HD_MUST_CHECK;
/* The same in external memory (ipc.h), laid out like any array. */
enum hd_status core_array_create_external(struct core_context *ctx,
                                          const struct core_array_desc *desc, unsigned nlevels,
                                          struct core_extmem *extmem, uint64_t offset_B,
                                          struct core_array **out_array) HD_MUST_CHECK;
/* The device must be done with it. */
bool core_array_destroy(struct core_array *array);
/* The array of one level, with a reference. HD_BAD_ARG: there is no such level. */
enum hd_status core_array_level(struct core_array *mipmapped, unsigned level,
                                struct core_array **out_array) HD_MUST_CHECK;

#endif
