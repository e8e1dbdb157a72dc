/* What surface instructions compute: where they go, and what is there (model/texture.h). */
#include <assert.h>
#include <math.h>
#include <stdatomic.h>

#include "model/texture.h"

static float as_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

static bool by_texel(const struct ir_tex *op)
{
    return op->what == IR_TEX_SUST_P || op->what == IR_TEX_SURED_P;
}

static unsigned element_B(const struct ir_tex *op)
{
    return ir_type_bits((enum ir_type)op->type) / 8;
}

unsigned ir_surface_bytes(const struct ir_tex *op, const struct ir_texture *surface)
{
    return by_texel(op) ? surface->texel_B : element_B(op) * op->vec;
}

/* ---- places */

struct coord {
    int64_t at[3]; /* x in bytes */
    int64_t most[3];
};

static struct coord coord_of(const struct ir_tex *op, const struct ir_texture *s,
                             const uint32_t *words, unsigned bytes)
{
    const struct ir_texture_level *l = &s->level[0];
    bool layered = op->geometry == IR_TEX_A1D || op->geometry == IR_TEX_A2D;
    const uint32_t *at = words + layered;
    unsigned n = ir_tex_dimensions(op);
    int64_t unit = by_texel(op) ? s->texel_B : 1;
    struct coord p = {{(int64_t)(int32_t)at[0] * unit, n > 1 ? (int32_t)at[1] : 0,
                       n > 2     ? (int32_t)at[2]
                       : layered ? (int32_t)words[0]
                                 : 0},
                      {(int64_t)l->width * s->texel_B - bytes, l->height - 1, l->depth - 1}};
    return p;
}

static int64_t clamped(int64_t i, int64_t most)
{
    return i < 0 ? 0 : i > most ? most : i;
}

enum hd_status ir_surface_coord(const struct ir_tex *op, const struct ir_texture *surface,
                                const uint32_t *words, uint64_t *out_address)
{
    const struct ir_texture_level *l = &surface->level[0];
    unsigned bytes = ir_surface_bytes(op, surface);
    struct coord p = coord_of(op, surface, words, bytes);
    bool outside = false;

    *out_address = 0;
    if (p.at[0] & (by_texel(op) ? 0 : bytes - 1))
        return HD_MISALIGNED;
    for (unsigned d = 0; d < 3; d++) {
        outside |= p.at[d] < 0 || p.at[d] > p.most[d];
        if (op->clamp == IR_TEX_CLAMP && p.most[d] >= 0)
            p.at[d] = clamped(p.at[d], p.most[d]);
    }
    if (outside && op->clamp == IR_TEX_TRAP)
        return HD_ILLEGAL_ADDRESS;
    if (p.most[0] < 0 || (outside && op->clamp == IR_TEX_ZERO))
        return HD_OK;
    *out_address = l->base + (uint64_t)p.at[2] * l->slice_B + (uint64_t)p.at[1] * l->pitch_B +
                   (uint64_t)p.at[0];
    return HD_OK;
}

const char *ir_surface_refusal(enum hd_status status)
{
    return status == HD_MISALIGNED ? "the place in the surface is not aligned to what is accessed"
                                   : "the place is outside of the surface";
}

/* ---- contents */

void ir_surface_unpack(const struct ir_tex *op, const struct ir_texture *surface, const void *bytes,
                       uint32_t *out)
{
    unsigned n = element_B(op), total = n * op->vec;
    (void)surface;
    if (n >= 4) {
        memcpy(out, bytes, total);
        return;
    }
    for (unsigned i = 0; i < op->vec; i++) {
        out[i] = 0;
        memcpy(&out[i], (const char *)bytes + (size_t)i * n, n);
    }
}

uint16_t ir_texture_half(uint32_t bits)
{
    uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff, shift, m;
    if (magnitude > 0x7f800000)
        return 0x7fff;
    if (magnitude >= 0x477ff000) /* rounds to infinity */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude >= 0x38800000) { /* normal */
        m = magnitude - (112u << 23);
        return (uint16_t)(sign | ((m + 0xfff + (m >> 13 & 1)) >> 13));
    }
    if (magnitude < 0x33000000)
        return (uint16_t)sign;
    shift = 126 - (magnitude >> 23);
    m = (magnitude & 0x7fffff) | 0x800000;
    return (uint16_t)(sign | ((m + (1u << (shift - 1)) - 1 + (m >> shift & 1)) >> shift));
}

/* Rounded to nearest, even if halfway; NaN is 0. */
static uint32_t normalised(float f, float low, float most)
{
    f = f == f ? f : 0.0f;
    f = f < low ? low : f > 1.0f ? 1.0f : f;
    return (uint32_t)(int32_t)rintf(f * most);
}

static uint32_t saturated_unsigned(uint32_t x, unsigned bytes)
{
    uint32_t most = bytes == 4 ? UINT32_MAX : (1u << 8 * bytes) - 1;
    return x > most ? most : x;
}

static uint32_t saturated_signed(int32_t x, unsigned bytes)
{
    int32_t most = bytes == 4 ? INT32_MAX : (1 << (8 * bytes - 1)) - 1;
    return (uint32_t)(x > most ? most : x < -most - 1 ? -most - 1 : x);
}

static uint32_t channel_bits(const struct ir_texture *s, uint32_t word)
{
    unsigned n = s->channel_B;
    switch ((enum ir_texel_kind)s->store_kind) {
    case IR_TEXEL_UINT:
        return saturated_unsigned(word, n);
    case IR_TEXEL_SINT:
        return saturated_signed((int32_t)word, n);
    case IR_TEXEL_FLOAT:
        return n == 2 ? ir_texture_half(word) : word;
    case IR_TEXEL_UNORM:
        return normalised(as_float(word), 0.0f, n == 1 ? 255.0f : 65535.0f);
    case IR_TEXEL_SNORM:
        return normalised(as_float(word), -1.0f, n == 1 ? 127.0f : 32767.0f);
    }
    return word;
}

void ir_surface_pack(const struct ir_tex *op, const struct ir_texture *surface,
                     const uint32_t *data, void *bytes)
{
    bool converts = by_texel(op);
    unsigned n = converts ? surface->channel_B : element_B(op);
    unsigned count = converts ? surface->channels : op->vec;

    if (!converts && n >= 4) {
        memcpy(bytes, data, (size_t)n * op->vec);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        uint32_t word = i < op->vec ? data[i] : 0;
        word = converts ? channel_bits(surface, word) : word;
        memcpy((char *)bytes + (size_t)i * n, &word, n);
    }
}

/* ---- reductions */

static uint64_t reduced(const struct ir_tex *op, const struct ir_texture *surface, uint64_t old,
                        uint64_t x)
{
    bool is_signed = op->type == IR_S32 || op->type == IR_S64 ||
                     (by_texel(op) && surface->store_kind == IR_TEXEL_SINT);
    bool less = is_signed
                    ? (element_B(op) == 4 ? (int32_t)x < (int32_t)old : (int64_t)x < (int64_t)old)
                    : x < old;
    switch ((enum ir_atom)op->select) {
    case IR_ATOM_ADD:
        return old + x;
    case IR_ATOM_MIN:
        return less ? x : old;
    case IR_ATOM_MAX:
        return less ? old : x;
    case IR_ATOM_AND:
        return old & x;
    case IR_ATOM_OR:
        return old | x;
    default:
        assert(!"a reduction of surfaces");
        return old;
    }
}

void ir_surface_reduce(const struct ir_tex *op, const struct ir_texture *surface,
                       const uint32_t *data, void *at)
{
    uint64_t x = data[0];
    if (element_B(op) == 8) {
        _Atomic uint64_t *p = at;
        uint64_t old = atomic_load(p);
        x |= (uint64_t)data[1] << 32;
        while (!atomic_compare_exchange_weak(p, &old, reduced(op, surface, old, x)))
            ;
        return;
    }
    _Atomic uint32_t *p = at;
    uint32_t old = atomic_load(p);
    while (!atomic_compare_exchange_weak(p, &old, (uint32_t)reduced(op, surface, old, x)))
        ;
}
