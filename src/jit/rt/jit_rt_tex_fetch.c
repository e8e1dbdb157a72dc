/*
 * Texture fetches with vectors: points and linear filters in one, two and three dimensions, layers
 * too, without levels and offsets. Bits are those of src/model/texture.c, whose operations stand
 * here in the same order. Compiled once for each level of the processor, as JIT_TEX_FETCH.
 *
 * Texels that lie side by side are read as a row. Others are read as aligned words of 32 bits: rows
 * of arrays are padded, and elsewhere a word that holds a byte of a texel lies on its page.
 * Coordinates of lanes that do not take part may be anything: what is read is inside the texture
 * whatever they are.
 */
#include "jit/rt/jit_rt_tex.h"
#include "jit/rt/jit_rt_tex_level.h"

#include <assert.h>

enum { LANES = 32, CHANNELS = 4, ONE = 256 };

static const vi lanes = {LANES_OF};

/* ---- coordinates */

INLINE vf scaled(const struct ir_texture *t, unsigned d, vf x, uint32_t extent)
{
    if (t->normalized) {
        vf whole = floor_f(x), part = x - whole;
        if (t->address[d] == IR_ADDRESS_WRAP) {
            x = part;
        } else if (t->address[d] == IR_ADDRESS_MIRROR) {
            vf half = whole * 0.5f;
            x = pick_f(half == floor_f(half), part, 1.0f - part);
        }
        x = x * (float)extent;
    }
    x = (vf)((vi)x & (x == x));
    return least_f(most_f(x, all_f(-4194304.0f)), all_f(4194304.0f));
}

/* From -1 to the extent unless clamped or bordered; *border gets lanes that are outside. */
INLINE vi addressed(enum ir_address_mode mode, vi i, uint32_t extent, vi *border)
{
    int32_t n = (int32_t)extent;
    if (mode == IR_ADDRESS_WRAP)
        return i + (n & (i < 0)) - (n & (i >= n));
    if (mode == IR_ADDRESS_BORDER)
        *border |= (i < 0) | (i >= n);
    return least(most(i, all(0)), all(n - 1));
}

/* ---- texels */

/* The constants of a call that loops are made for. */
struct shape {
    unsigned dimensions, channels;
    bool linear;
    bool words; /* a texel is `channels` words as they read */
};

struct image {
    const struct ir_texture *t;
    const struct ir_texture_level *l;
    vi slice; /* byte offset of the layer */
};

INLINE vf half_value(vi bits)
{
    vi sign = (bits & 0x8000) << 16, magnitude = bits & 0x7fff;
    vi special = 0x7f800000 | (magnitude & 0x3ff) << 13;
    vi normal = (magnitude << 13) + (112 << 23);
    vi tiny = (vi)(to_float(magnitude) * 0x1p-24f);
    vi value = pick(magnitude >= 0x7c00, special, pick(magnitude >= 0x400, normal, tiny));
    return (vf)(sign | value);
}

INLINE vi converted(const struct ir_texture *t, vi x)
{
    unsigned bits = 8u * t->channel_B;
    vi is_signed = x << (32 - bits) >> (32 - bits);
    switch ((enum ir_texel_kind)t->kind) {
    case IR_TEXEL_UINT:
        return x;
    case IR_TEXEL_SINT:
        return is_signed;
    case IR_TEXEL_FLOAT:
        return t->channel_B == 2 ? (vi)half_value(x) : x;
    case IR_TEXEL_UNORM:
        return (vi)(to_float(x) / (bits == 8 ? 255.0f : 65535.0f));
    case IR_TEXEL_SNORM: {
        vf f = to_float(is_signed) / (bits == 8 ? 127.0f : 32767.0f);
        return (vi)pick_f(f < -1.0f, all_f(-1.0f), f);
    }
    }
    return x;
}

/* The words of PART texels that lie side by side; of small ones a texel for each word. */
INLINE void row_read(const char *at, unsigned texel_B, vi out[CHANNELS])
{
    if (texel_B == 1) {
        out[0] = load_bytes(at);
    } else if (texel_B == 2) {
        out[0] = load_shorts(at);
    } else if (texel_B == 4) {
        out[0] = load_i(at);
    } else if (texel_B == 8) {
        vi a = load_i(at), next = load_i(at + VECTOR_B);
        out[0] = evens(a, next);
        out[1] = odds(a, next);
    } else {
        vi a = load_i(at), b = load_i(at + VECTOR_B);
        vi c = load_i(at + 2 * VECTOR_B), d = load_i(at + 3 * VECTOR_B);
        vi even[2] = {evens(a, b), evens(c, d)}, odd[2] = {odds(a, b), odds(c, d)};
        out[0] = evens(even[0], even[1]);
        out[1] = evens(odd[0], odd[1]);
        out[2] = odds(even[0], even[1]);
        out[3] = odds(odd[0], odd[1]);
    }
}

/* Words of texels at byte offsets, and by how many bits the texel lies above a word's first. */
INLINE vi words_read(const char *base, vi offset, unsigned texel_B, unsigned n, vi out[CHANNELS])
{
    if (are_alike(offset - offset[0], lanes * (int32_t)texel_B)) {
        row_read(base + offset[0], texel_B, out);
        return all(0);
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < CHANNELS; i++) {
        if (i < n)
            out[i] = gather(base, (offset & ~3) + (int32_t)(4 * i));
    }
    return texel_B < 4 ? (offset & 3) * 8 : all(0);
}

/* Channels of the texels at these places, as they read. */
INLINE void texels(const struct shape *s, const struct image *m, const vi at[3], vi border,
                   vi out[CHANNELS])
{
    const struct ir_texture *t = m->t;
    unsigned texel_B = s->words ? 4 * s->channels : t->texel_B,
             channel_B = s->words ? 4 : t->channel_B;
    vi offset = at[0] * (int32_t)texel_B + at[1] * (int32_t)m->l->pitch_B + m->slice;
    vi word[CHANNELS] = {{0}};
    if (s->dimensions == 3)
        offset += at[2] * (int32_t)m->l->slice_B;
    vi shift = words_read((const char *)(uintptr_t)m->l->base, offset, texel_B,
                          (s->channels * channel_B + 3u) / 4u, word);
#pragma GCC unroll 4
    for (unsigned c = 0; c < CHANNELS; c++) {
        unsigned byte = c * channel_B;
        if (c >= s->channels)
            break;
        vi x = word[byte / 4 % CHANNELS];
        if (channel_B < 4)
            x = x >> (shift + (int32_t)(8 * (byte % 4))) & (int32_t)((1u << 8 * channel_B) - 1);
        if (!s->words)
            x = converted(t, x);
        out[c] = pick(border, all((int32_t)t->border[c]), x);
    }
}

/* ---- filters */

INLINE vi mixed(vi a, vi b, vi weight)
{
    vf w = to_float(weight) * (1.0f / (float)ONE);
    vf sum = (1.0f - w) * (vf)a + w * (vf)b;
    return pick(weight == 0, a, (vi)sum);
}

struct footprint {
    vi at[3][2], border[3][2], weight[3];
};

INLINE void footprint_find(const struct shape *s, const struct image *m, const vf *x,
                           struct footprint *p)
{
    const uint32_t *extents = &m->l->width;
#pragma GCC unroll 4
    for (unsigned d = 0; d < s->dimensions; d++) {
        vf u = scaled(m->t, d, x[d], extents[d]);
        vi first = floor_i(u);
        p->weight[d] = all(0);
        if (s->linear) {
            vi fixed = floor_i(u * (float)ONE + 0.5f) - ONE / 2;
            first = fixed >> 8;
            p->weight[d] = fixed & (ONE - 1);
        }
#pragma GCC unroll 4
        for (unsigned i = 0; i < 2; i++) {
            p->border[d][i] = all(0);
            p->at[d][i] = addressed((enum ir_address_mode)m->t->address[d], first + (int32_t)i,
                                    extents[d], &p->border[d][i]);
        }
    }
}

INLINE void corner(const struct shape *s, const struct image *m, const struct footprint *p,
                   unsigned number, vi out[CHANNELS])
{
    vi at[3] = {{0}, {0}, {0}}, border = {0};
#pragma GCC unroll 4
    for (unsigned d = 0; d < s->dimensions; d++) {
        at[d] = p->at[d][number >> d & 1];
        border |= p->border[d][number >> d & 1];
    }
    texels(s, m, at, border, out);
}

INLINE void mix_all(const struct shape *s, vi a[CHANNELS], const vi b[CHANNELS], vi weight)
{
#pragma GCC unroll 4
    for (unsigned c = 0; c < CHANNELS; c++) {
        if (c < s->channels)
            a[c] = mixed(a[c], b[c], weight);
    }
}

/* Texels that count nothing in any lane are not read: pictures are often read at their centres. */
INLINE bool is_one(const struct shape *s, const struct footprint *p, unsigned dimension)
{
    return !s->linear || s->dimensions <= dimension || are_alike(p->weight[dimension], all(0));
}

/* Two texels along x, or one. */
INLINE void row(const struct shape *s, const struct image *m, const struct footprint *p,
                unsigned number, vi out[CHANNELS])
{
    vi next[CHANNELS] = {{0}};
    corner(s, m, p, number, out);
    if (is_one(s, p, 0))
        return;
    corner(s, m, p, number | 1, next);
    mix_all(s, out, next, p->weight[0]);
}

INLINE void plane(const struct shape *s, const struct image *m, const struct footprint *p,
                  unsigned number, vi out[CHANNELS])
{
    vi next[CHANNELS] = {{0}};
    row(s, m, p, number, out);
    if (is_one(s, p, 1))
        return;
    row(s, m, p, number | 2, next);
    mix_all(s, out, next, p->weight[1]);
}

INLINE void sample(const struct shape *s, const struct image *m, const vf *x, vi out[CHANNELS])
{
    struct footprint p;
    vi next[CHANNELS] = {{0}};
    footprint_find(s, m, x, &p);
    plane(s, m, &p, 0, out);
    if (is_one(s, &p, 2))
        return;
    plane(s, m, &p, 4, next);
    mix_all(s, out, next, p.weight[2]);
}

/* ---- instructions */

INLINE vi layer_offset(const struct ir_texture_level *l, vi layer)
{
    vi most = all((int32_t)l->depth - 1);
    vi inside = (layer >= 0) & (layer <= most);
    return pick(inside, layer, most) * (int32_t)l->slice_B;
}

INLINE void absent_set(const struct ir_texture *t, unsigned channel, uint32_t *out)
{
    bool integer = t->kind == IR_TEXEL_UINT || t->kind == IR_TEXEL_SINT;
    vi x = channel < 3 ? all(0) : integer ? all(1) : (vi)all_f(1.0f);
    memcpy(out, &x, sizeof(x));
}

INLINE void fetch_part(const struct shape *s, const struct ir_tex *op, const struct ir_texture *t,
                       const uint32_t (*words)[32], unsigned part, uint32_t (*out)[32])
{
    bool layered = op->geometry == IR_TEX_A1D || op->geometry == IR_TEX_A2D;
    struct image m = {t, &t->level[0], {0}};
    vf x[3];
    vi texel[CHANNELS] = {{0}};
    if (layered)
        m.slice = layer_offset(m.l, load_i(&words[0][part]));
#pragma GCC unroll 4
    for (unsigned d = 0; d < s->dimensions; d++)
        x[d] = load_f(&words[layered + d][part]);
    sample(s, &m, x, texel);
#pragma GCC unroll 4
    for (unsigned c = 0; c < CHANNELS; c++) {
        if (c < s->channels)
            memcpy(&out[c][part], &texel[c], sizeof(texel[c]));
    }
    for (unsigned c = s->channels; c < op->vec; c++)
        absent_set(t, c, &out[c][part]);
}

/* Integer places in memory of one dimension: what is outside is 0. */
INLINE void fetch_linear(const struct ir_tex *op, const struct ir_texture *t, unsigned channels,
                         const uint32_t (*words)[32], unsigned part, uint32_t (*out)[32])
{
    const struct shape s = {.dimensions = 1, .channels = channels};
    const struct image m = {t, &t->level[0], {0}};
    vi i = load_i(&words[0][part]), texel[CHANNELS] = {{0}};
    vi inside = (i >= 0) & (i < (int32_t)m.l->width);
    const vi at[3] = {i & inside, {0}, {0}};
    texels(&s, &m, at, all(0), texel);
    for (unsigned c = 0; c < op->vec; c++) {
        if (c >= channels)
            absent_set(t, c, &out[c][part]);
        vi x = c < channels ? texel[c] : load_i(&out[c][part]);
        x &= inside;
        memcpy(&out[c][part], &x, sizeof(x));
    }
}

/* A loop of its own for each of what is frequent. */
INLINE void fetch_shape(struct shape s, const struct ir_tex *op, const struct ir_texture *t,
                        const uint32_t (*words)[32], uint32_t (*out)[32])
{
    const struct shape one = {s.dimensions, 1, s.linear, true};
    const struct shape texels = {s.dimensions, 4, s.linear, true};
    bool is_words = t->channel_B == 4 && t->texel_B == 4 * s.channels;
    for (unsigned part = 0; part < LANES; part += PART) {
        if (is_words && s.channels == 1)
            fetch_part(&one, op, t, words, part, out);
        else if (is_words && s.channels == 4)
            fetch_part(&texels, op, t, words, part, out);
        else
            fetch_part(&s, op, t, words, part, out);
    }
}

jit_tex_fetch_fn JIT_TEX_FETCH;
void JIT_TEX_FETCH(const struct ir_tex *op, const struct ir_texture *t, const uint32_t (*words)[32],
                   uint32_t (*out)[32])
{
    unsigned channels = HD_MIN(op->vec, t->channels), dimensions = ir_tex_dimensions(op);
    bool linear = t->linear && t->kind >= IR_TEXEL_FLOAT;
    if (op->flags) {
        for (unsigned part = 0; part < LANES; part += PART)
            fetch_linear(op, t, channels, words, part, out);
        return;
    }
    if (dimensions == 2 && linear)
        fetch_shape((struct shape){2, channels, true, false}, op, t, words, out);
    else if (dimensions == 2)
        fetch_shape((struct shape){2, channels, false, false}, op, t, words, out);
    else if (dimensions == 1)
        fetch_shape((struct shape){1, channels, linear, false}, op, t, words, out);
    else
        fetch_shape((struct shape){3, channels, linear, false}, op, t, words, out);
}
