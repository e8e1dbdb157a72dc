/*
 * Textures and surfaces: what an object is to a device, and what the instructions compute. One
 * model (model/texture.c, model/surface.c) that the interpreter calls lane by lane, and that faster
 * code agrees with bit by bit. What it computes and why: docs/decisions/0096-textures.md.
 *
 * A kernel has the handle of an object, or the address of 8 bytes that hold one (a variable of type
 * .texref, .samplerref, .surfref). The object is found by ir_texture_find(). The words of an
 * instruction: ir/payload.h.
 */
#ifndef HD_MODEL_TEXTURE_H
#define HD_MODEL_TEXTURE_H

#include <stdatomic.h>
#include <string.h>

#include "base/status.h"
#include "ir/payload.h"

enum ir_texel_kind {
    IR_TEXEL_UINT,
    IR_TEXEL_SINT,
    IR_TEXEL_FLOAT,
    IR_TEXEL_UNORM, /* read as fractions of the largest number */
    IR_TEXEL_SNORM
};

/* Numbers are the API's. */
enum ir_address_mode { IR_ADDRESS_WRAP, IR_ADDRESS_CLAMP, IR_ADDRESS_MIRROR, IR_ADDRESS_BORDER };

enum { IR_TEXTURE_LEVELS = 16 };

/*
 * Texels at base + z * slice_B + y * pitch_B + x * texel_B; no extent is 0. `depth` counts layers
 * and faces too.
 */
struct ir_texture_level {
    uint64_t base, pitch_B, slice_B;
    uint32_t width, height, depth;
};

/* Plain data, constant while the object lives. */
struct ir_texture {
    uint8_t kind;       /* enum ir_texel_kind: as it is read */
    uint8_t store_kind; /* as surfaces write it */
    uint8_t channel_B, channels, texel_B;
    uint8_t address[3]; /* enum ir_address_mode; wrap and mirror only with normalized */
    bool is_surface, is_linear;
    bool is_sampler; /* only that: whether coordinates are normalised is the texture's to say, .. */
    bool unnormalized; /* .. unless this says that they are not */
    bool normalized;   /* coordinates */
    bool srgb, seamless;
    bool linear, mip_linear; /* filters; linear is for kinds that read as float */
    uint8_t anisotropy;      /* 1 to 16 */
    float bias, min_level, max_level;
    uint32_t border[4]; /* as texels read */
    uint32_t nlevels;
    uint32_t array_size; /* of layered textures, for queries */
    struct ir_texture_level level[IR_TEXTURE_LEVELS];
};

/*
 * What the initialiser of a .texref or .samplerref variable says: ir_var.init of those. Numbers are
 * the API's. given: bits 0 to 2 for the address modes.
 */
struct ir_reference_init {
    uint8_t address[3];
    uint8_t linear, normalized, unnormalized;
    uint8_t given, unused;
};

/* Handles are numbers that no address is (core/handle.h). */
#define IR_TEXTURE_IS_HANDLE(handle) ((handle) >> 58 != 0)

/*
 * What handles name, in one piece of memory without pointers, which a device of another process can
 * map. Core writes, devices look, without a lock: a slot's object is there while the slot has its
 * handle. That it stays while a kernel uses it is the program's business.
 */
#define IR_TEXTURE_SLOTS        (1u << 20)
#define IR_TEXTURE_SLOT(handle) ((uint32_t)((handle) >> 4) & 0xffffff)
struct ir_texture_slot {
    _Atomic uint64_t handle; /* 0: nothing; written last when it comes, first when it goes */
    struct ir_texture texture;
};
struct ir_texture_table {
    _Atomic uint32_t used; /* slots that ever had an object are below this */
    uint32_t slot_B;
    _Alignas(64) struct ir_texture_slot slots[IR_TEXTURE_SLOTS]; /* touched as they are used */
};

/* The object, or NULL; any number may be asked for, and `table` may be NULL. */
static inline const struct ir_texture *ir_texture_find(const struct ir_texture_table *table,
                                                       uint64_t handle)
{
    uint32_t slot = IR_TEXTURE_SLOT(handle);

    if (!table || !IR_TEXTURE_IS_HANDLE(handle) ||
        slot >= atomic_load_explicit(&table->used, memory_order_acquire) ||
        atomic_load_explicit(&table->slots[slot].handle, memory_order_acquire) != handle)
        return NULL;
    return &table->slots[slot].texture;
}

/*
 * Fetch, gather, queries of textures. `sampler` is the texture itself in unified mode. Fills
 * ir_tex_result_words(op) words. Reads texels by their addresses.
 */
void ir_texture_read(const struct ir_tex *op, const struct ir_texture *texture,
                     const struct ir_texture *sampler, const uint32_t *words, uint32_t *out);

/* The address of each texel that a fetch or gather reads, some more than once. Reads none. */
struct ir_texel_list {
    void (*texel)(void *user, uint64_t address);
    void *user;
};
void ir_texture_texels(const struct ir_tex *op, const struct ir_texture *texture,
                       const struct ir_texture *sampler, const uint32_t *words,
                       const struct ir_texel_list *to);

/* IR_TEX_IS: is the object, which may be NULL, of that kind? */
bool ir_texture_is(const struct ir_tex *op, const struct ir_texture *object);

/* One texel as words, of channels that it does not have 0, 0 and 1. Coordinates are inside. */
void ir_texture_texel(const struct ir_texture *texture, const struct ir_texture_level *level,
                      uint32_t x, uint32_t y, uint32_t z, uint32_t out[4]);
/* An f32 as f16, to nearest even; NaN is canonical. */
uint16_t ir_texture_half(uint32_t bits);
/* The float of an sRGB byte. */
float ir_texture_srgb(uint8_t byte);

/*
 * Where a surface instruction goes: *out_address, 0 for nowhere (reads give 0, writes are dropped).
 * HD_ILLEGAL_ADDRESS: outside, with .trap; HD_MISALIGNED.
 */
enum hd_status ir_surface_coord(const struct ir_tex *op, const struct ir_texture *surface,
                                const uint32_t *words, uint64_t *out_address);
/* In words, for messages. */
const char *ir_surface_refusal(enum hd_status status);
/* Bytes at that place. */
unsigned ir_surface_bytes(const struct ir_tex *op, const struct ir_texture *surface);
/* What is there as result words, and source words as what will be there. */
void ir_surface_unpack(const struct ir_tex *op, const struct ir_texture *surface, const void *bytes,
                       uint32_t *out);
void ir_surface_pack(const struct ir_tex *op, const struct ir_texture *surface,
                     const uint32_t *data, void *bytes);
/* Atomically. */
void ir_surface_reduce(const struct ir_tex *op, const struct ir_texture *surface,
                       const uint32_t *data, void *at);
/* Of SUQ. */
uint32_t ir_surface_query(const struct ir_tex *op, const struct ir_texture *surface);

#endif
