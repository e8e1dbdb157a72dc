/*
 * What texture instructions compute, one lane at a time (docs/decisions/0096-textures.md). Code
 * that does the same for many lanes must give these bits: no operation here is fused or reordered.
 */
#include "model/texture.h"

#include <assert.h>
#include <math.h>

enum { CHANNELS = 4, CORNERS = 8, ONE = 256 /* of a weight */, COORDINATES = 3 };
/* Coordinates in texels are cut to this: what is further is outside anyway. */
static const float far_away = 4194304.0f;

static float texture_as_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

static uint32_t texture_as_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

/* ---- texels */

float ir_texture_srgb(uint8_t byte)
{
    double c = byte / 255.0;
    return (float)(c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
}

static float texture_half_value(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7fff;
    if (magnitude >= 0x7c00)
        return texture_as_float(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude >= 0x400)
        return texture_as_float(sign | ((magnitude << 13) + (112u << 23)));
    return texture_as_float(sign | texture_as_bits((float)magnitude * 0x1p-24f));
}

static uint32_t texture_channel_unsigned(const struct ir_texture *t, const void *at)
{
    uint8_t b;
    uint16_t h;
    uint32_t w;
    switch (t->channel_B) {
    case 1:
        memcpy(&b, at, 1);
        return b;
    case 2:
        memcpy(&h, at, 2);
        return h;
    default:
        memcpy(&w, at, 4);
        return w;
    }
}

static int32_t texture_sign_extended(uint32_t x, unsigned bytes)
{
    return bytes == 1 ? (int8_t)x : bytes == 2 ? (int16_t)x : (int32_t)x;
}

static uint32_t texture_channel_word(const struct ir_texture *t, unsigned channel, const char *at)
{
    uint32_t x = texture_channel_unsigned(t, at + (size_t)channel * t->channel_B);
    switch ((enum ir_texel_kind)t->kind) {
    case IR_TEXEL_UINT:
        return x;
    case IR_TEXEL_SINT:
        return (uint32_t)texture_sign_extended(x, t->channel_B);
    case IR_TEXEL_FLOAT:
        return t->channel_B == 2 ? texture_as_bits(texture_half_value((uint16_t)x)) : x;
    case IR_TEXEL_UNORM:
        if (t->srgb && t->channel_B == 1 && channel < 3)
            return texture_as_bits(ir_texture_srgb((uint8_t)x));
        return texture_as_bits((float)x / (t->channel_B == 1 ? 255.0f : 65535.0f));
    case IR_TEXEL_SNORM:
        return texture_as_bits(fmaxf((float)texture_sign_extended(x, t->channel_B) /
                                         (t->channel_B == 1 ? 127.0f : 32767.0f),
                                     -1.0f));
    }
    return 0;
}

static bool texture_is_integer(const struct ir_texture *t)
{
    return t->kind == IR_TEXEL_UINT || t->kind == IR_TEXEL_SINT;
}

/* What a channel is that a texture does not have. */
static uint32_t texture_absent(const struct ir_texture *t, unsigned channel)
{
    return channel < 3 ? 0 : texture_is_integer(t) ? 1 : texture_as_bits(1.0f);
}

static uint64_t texture_texel_address(const struct ir_texture *t, const struct ir_texture_level *l,
                                      uint32_t x, uint32_t y, uint32_t z)
{
    assert(x < l->width && y < l->height && z < l->depth);
    return l->base + z * l->slice_B + y * l->pitch_B + x * t->texel_B;
}

void ir_texture_texel(const struct ir_texture *t, const struct ir_texture_level *l, uint32_t x,
                      uint32_t y, uint32_t z, uint32_t out[4])
{
    const char *at = (const char *)(uintptr_t)texture_texel_address(t, l, x, y, z);
    for (unsigned c = 0; c < CHANNELS; c++)
        out[c] = c < t->channels ? texture_channel_word(t, c, at) : texture_absent(t, c);
}

static void texture_outside_texel(const struct ir_texture *t, const uint32_t border[4],
                                  uint32_t out[4])
{
    for (unsigned c = 0; c < CHANNELS; c++)
        out[c] = c < t->channels ? border[c] : texture_absent(t, c);
}

/* ---- coordinates */

/* One lane's instruction. */
struct fetch {
    const struct ir_tex *op;
    const struct ir_texture *texture, *sampler;
    bool linear, normalized;
    uint8_t address[COORDINATES]; /* enum ir_address_mode */
    float at[COORDINATES];
    int32_t offset[COORDINATES];
    uint32_t layer;      /* z of the image; 0 for 3d */
    unsigned dimensions; /* of the image: 2 for cubes */
    bool in_cube;        /* layer is the first face of the cube that seams are crossed in */
    const struct ir_texel_list *list; /* NULL: texels are read */
};

static void texture_texel_take(const struct fetch *f, const struct ir_texture_level *l, uint32_t x,
                               uint32_t y, uint32_t z, uint32_t out[4])
{
    if (!f->list) {
        ir_texture_texel(f->texture, l, x, y, z, out);
        return;
    }
    memset(out, 0, CHANNELS * sizeof(*out));
    f->list->texel(f->list->user, texture_texel_address(f->texture, l, x, y, z));
}

static const uint32_t *texture_extents(const struct ir_texture_level *l)
{
    return &l->width;
}
_Static_assert(offsetof(struct ir_texture_level, depth) ==
                   offsetof(struct ir_texture_level, width) + 8,
               "extents are an array");

static float texture_wrapped(float x)
{
    return x - floorf(x);
}

static float texture_mirrored(float x)
{
    float whole = floorf(x), half = whole * 0.5f, part = x - whole;
    return half == floorf(half) ? part : 1.0f - part;
}

/* In texels, NaN as 0. */
static float texture_scaled(const struct fetch *f, unsigned dimension, float x, uint32_t extent)
{
    if (f->normalized) {
        if (f->address[dimension] == IR_ADDRESS_WRAP)
            x = texture_wrapped(x);
        else if (f->address[dimension] == IR_ADDRESS_MIRROR)
            x = texture_mirrored(x);
        x = x * (float)extent;
    }
    if (!(x == x))
        return 0.0f;
    return x < -far_away ? -far_away : x > far_away ? far_away : x;
}

static int32_t texture_modulo(int32_t i, int32_t n)
{
    int32_t r = i % n;
    return r < 0 ? r + n : r;
}

/* Inside, or -1 for the border. */
static int32_t texture_addressed(enum ir_address_mode mode, int32_t i, uint32_t extent)
{
    int32_t n = (int32_t)extent;
    switch (mode) {
    case IR_ADDRESS_WRAP:
        return texture_modulo(i, n);
    case IR_ADDRESS_CLAMP:
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    case IR_ADDRESS_MIRROR:
        i = texture_modulo(i, 2 * n);
        return i < n ? i : 2 * n - 1 - i;
    case IR_ADDRESS_BORDER:
        return i < 0 || i >= n ? -1 : i;
    }
    return -1;
}

/* ---- cubes */

struct face {
    unsigned number;
    float s, t; /* -1 to 1 */
    float major;
};

static struct face texture_face_of(const float v[3])
{
    float x = fabsf(v[0]), y = fabsf(v[1]), z = fabsf(v[2]);
    if (z >= x && z >= y)
        return v[2] < 0 ? (struct face){5, -v[0] / z, -v[1] / z, z}
                        : (struct face){4, v[0] / z, -v[1] / z, z};
    if (y >= x)
        return v[1] < 0 ? (struct face){3, v[0] / y, -v[2] / y, y}
                        : (struct face){2, v[0] / y, v[2] / y, y};
    return v[0] < 0 ? (struct face){1, v[2] / x, -v[1] / x, x}
                    : (struct face){0, -v[2] / x, -v[1] / x, x};
}

/* The inverse, for places beside a face. */
static void texture_direction_of(unsigned face, float s, float t, float v[3])
{
    const float all[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t},
                             {s, -1, -t}, {s, -t, 1},  {-s, -t, -1}};
    memcpy(v, all[face], sizeof(all[face]));
}

static int32_t texture_nearest(float s, int32_t n)
{
    int32_t i = (int32_t)floorf((s + 1.0f) * 0.5f * (float)n);
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* The texel beside a face is one of the neighbour's. */
static void texture_cross_seam(const struct ir_texture_level *l, int32_t *x, int32_t *y,
                               uint32_t *z)
{
    int32_t n = (int32_t)l->width;
    float v[3], size = (float)n;
    if (*x >= 0 && *y >= 0 && *x < n && *y < n)
        return;
    texture_direction_of(*z % 6, (2.0f * (float)*x + 1.0f) / size - 1.0f,
                         (2.0f * (float)*y + 1.0f) / size - 1.0f, v);
    struct face f = texture_face_of(v);
    *x = texture_nearest(f.s, n);
    *y = texture_nearest(f.t, n);
    *z = *z - *z % 6 + f.number;
}

/* ---- filters */

static void texture_texel_at(const struct fetch *f, const struct ir_texture_level *l,
                             const int32_t at[3], uint32_t out[4])
{
    int32_t coord[3] = {at[0], at[1], at[2]};
    uint32_t z = f->layer;
    if (f->in_cube)
        texture_cross_seam(l, &coord[0], &coord[1], &z);
    for (unsigned d = 0; d < f->dimensions; d++) {
        coord[d] =
            texture_addressed((enum ir_address_mode)f->address[d], coord[d], texture_extents(l)[d]);
        if (coord[d] < 0) {
            texture_outside_texel(f->texture, f->sampler->border, out);
            return;
        }
    }
    if (f->dimensions == 3)
        z = (uint32_t)coord[2];
    texture_texel_take(f, l, (uint32_t)coord[0], f->dimensions > 1 ? (uint32_t)coord[1] : 0, z,
                       out);
}

/* A texel that counts nothing is not looked at: it may be infinite. */
static float texture_mixed(float a, float b, unsigned weight)
{
    float w = (float)weight * (1.0f / (float)ONE);
    return weight ? (1.0f - w) * a + w * b : a;
}

static void texture_mix(const uint32_t a[4], const uint32_t b[4], unsigned weight, uint32_t out[4])
{
    for (unsigned c = 0; c < CHANNELS; c++)
        out[c] =
            texture_as_bits(texture_mixed(texture_as_float(a[c]), texture_as_float(b[c]), weight));
}

/* In 1 / 256 of a texel: the place between the centres of two. */
static int32_t texture_fixed_coord(float u)
{
    return (int32_t)floorf(u * (float)ONE + 0.5f) - ONE / 2;
}

static void texture_compare(uint32_t reference, uint32_t texel[4])
{
    uint32_t one =
        texture_as_bits(texture_as_float(reference) <= texture_as_float(texel[0]) ? 1.0f : 0.0f);
    for (unsigned c = 0; c < 3; c++)
        texel[c] = one;
    texel[3] = texture_as_bits(1.0f);
}

struct footprint {
    int32_t first[3];
    unsigned weight[3];
};

static struct footprint texture_footprint_of(const struct fetch *f,
                                             const struct ir_texture_level *l)
{
    struct footprint p = {{0}, {0}};
    for (unsigned d = 0; d < f->dimensions; d++) {
        float u = texture_scaled(f, d, f->at[d], texture_extents(l)[d]);
        int32_t fixed = f->linear ? texture_fixed_coord(u) : (int32_t)floorf(u) * ONE;
        p.first[d] = (fixed >> 8) + f->offset[d];
        p.weight[d] = (unsigned)fixed & (ONE - 1);
    }
    return p;
}

static void texture_sample_level(const struct fetch *f, unsigned level, const uint32_t *reference,
                                 uint32_t out[4])
{
    const struct ir_texture_level *l = &f->texture->level[level];
    struct footprint p = texture_footprint_of(f, l);
    unsigned n = f->linear ? 1u << f->dimensions : 1;
    uint32_t texel[CORNERS][4];
    for (unsigned i = 0; i < n; i++) {
        int32_t at[3] = {p.first[0] + (int32_t)(i & 1), p.first[1] + (int32_t)(i >> 1 & 1),
                         p.first[2] + (int32_t)(i >> 2)};
        texture_texel_at(f, l, at, texel[i]);
        if (reference)
            texture_compare(*reference, texel[i]);
    }
    for (unsigned d = 0; n > 1; d++, n /= 2) {
        for (unsigned i = 0; i < n / 2; i++)
            texture_mix(texel[2 * i], texel[2 * i + 1], p.weight[d], texel[i]);
    }
    memcpy(out, texel[0], sizeof(texel[0]));
}

/* ---- levels */

static float texture_clamped_level(const struct fetch *f, float lod)
{
    float most = (float)(f->texture->nlevels - 1);
    lod = lod + f->sampler->bias;
    lod = lod == lod ? lod : 0.0f;
    lod = fmaxf(fminf(lod, f->sampler->max_level), f->sampler->min_level);
    return fmaxf(fminf(lod, most), 0.0f);
}

static void texture_sample_lod(const struct fetch *f, float lod, const uint32_t *reference,
                               uint32_t out[4])
{
    uint32_t next[4];
    lod = texture_clamped_level(f, lod);
    if (!f->sampler->mip_linear) {
        texture_sample_level(f, (unsigned)(lod + 0.5f), reference, out);
        return;
    }
    unsigned fixed = (unsigned)(lod * (float)ONE + 0.5f), level = fixed / ONE;
    texture_sample_level(f, level, reference, out);
    if (fixed % ONE && !texture_is_integer(f->texture)) {
        texture_sample_level(f, level + 1, reference, next);
        texture_mix(out, next, fixed % ONE, out);
    }
}

/* Length of a gradient in texels of level 0. */
static float texture_gradient_length(const struct fetch *f, const float *gradient, unsigned n,
                                     float major)
{
    const struct ir_texture_level *l = &f->texture->level[0];
    float sum = 0;
    for (unsigned i = 0; i < n; i++) {
        float scale = !f->normalized ? 1.0f : (float)texture_extents(l)[i];
        float d = gradient[i] * (major > 0 ? (float)l->width * 0.5f / major : scale);
        sum += d * d;
    }
    return sqrtf(sum);
}

static void texture_sample_gradients(struct fetch *f, const float *dx, const float *dy, unsigned n,
                                     float major, const uint32_t *reference, uint32_t out[4])
{
    float x = texture_gradient_length(f, dx, n, major),
          y = texture_gradient_length(f, dy, n, major);
    float longer = fmaxf(x, y), shorter = fminf(x, y);
    const float *along = x >= y ? dx : dy;
    float centre[COORDINATES], probes = 1;
    uint32_t one[4];
    if (f->sampler->anisotropy > 1 && shorter < longer && f->linear && !major)
        probes = fminf(ceilf(longer / fmaxf(shorter, 1e-30f)), f->sampler->anisotropy);
    float lod = longer > 0 ? (float)log2((double)(longer / probes)) : 0.0f;
    memcpy(centre, f->at, sizeof(centre));
    texture_sample_lod(f, lod, reference, out);
    for (unsigned i = 0; probes > 1 && i < (unsigned)probes; i++) {
        for (unsigned d = 0; d < n; d++)
            f->at[d] = centre[d] + along[d] * (((float)i + 0.5f) / probes - 0.5f);
        texture_sample_lod(f, lod, reference, one);
        for (unsigned c = 0; c < CHANNELS; c++) {
            float sum = (i ? texture_as_float(out[c]) : 0.0f) + texture_as_float(one[c]) / probes;
            out[c] = texture_as_bits(sum);
        }
    }
}

/* ---- instructions */

/* Of layered cubes, the first face of the layer. */
static uint32_t texture_layer_of(const struct ir_tex *op, const struct ir_texture *t,
                                 uint32_t number)
{
    uint32_t unit = op->geometry == IR_TEX_ACUBE ? 6 : 1, n = t->level[0].depth / unit;
    return n && number >= n ? (n - 1) * unit : number * unit;
}

static float texture_coordinate(const struct ir_tex *op, uint32_t word)
{
    return ir_tex_has(op, IR_TEX_INTEGERS) ? (float)(int32_t)word : texture_as_float(word);
}

/* Texel numbers as they are: not filtered, not normalised. */
static void texture_fetch_integers(const struct fetch *f, const uint32_t *words, float lod,
                                   uint32_t out[4])
{
    const struct ir_texture *t = f->texture;
    const struct ir_texture_level *l = &t->level[(unsigned)texture_clamped_level(f, lod)];
    int32_t at[3] = {0};
    for (unsigned d = 0; d < f->dimensions; d++) {
        int64_t i = (int64_t)(int32_t)words[d] + f->offset[d];
        bool inside = i >= 0 && i < texture_extents(l)[d];
        if (t->is_linear && !inside) {
            memset(out, 0, 4 * sizeof(*out));
            return;
        }
        at[d] = (int32_t)(i < INT32_MIN ? INT32_MIN : i > INT32_MAX ? INT32_MAX : i);
    }
    if (t->is_linear)
        texture_texel_take(f, l, (uint32_t)at[0], (uint32_t)at[1], f->layer, out);
    else
        texture_texel_at(f, l, at, out);
}

static void texture_cube_coord(struct fetch *f, float *out_major)
{
    struct face face = texture_face_of(f->at);
    f->at[0] = (face.s + 1.0f) * 0.5f;
    f->at[1] = (face.t + 1.0f) * 0.5f;
    f->dimensions = 2;
    f->in_cube = f->sampler->seamless;
    f->layer += face.number;
    if (f->layer >= f->texture->level[0].depth)
        f->layer = 0;
    *out_major = face.major;
}

/* Lower left first, then against the clock: (0, 1), (1, 1), (1, 0), (0, 0). */
static void texture_gather(struct fetch *f, uint32_t *out, const uint32_t *reference)
{
    static const int32_t order[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    const struct ir_texture_level *l = &f->texture->level[0];
    f->linear = true;
    struct footprint p = texture_footprint_of(f, l);
    for (unsigned i = 0; i < 4; i++) {
        int32_t at[3] = {p.first[0] + order[i][0], p.first[1] + order[i][1], 0};
        uint32_t texel[4];
        texture_texel_at(f, l, at, texel);
        if (reference)
            texture_compare(*reference, texel);
        out[i] = texel[f->op->select];
    }
}

static void read_texture(struct fetch *f, const uint32_t *words, uint32_t *out)
{
    const struct ir_tex *op = f->op;
    unsigned n = ir_tex_dimensions(op);
    const uint32_t *at = words + ir_tex_leading_words(op), *lod = at + n, *rest = lod;
    const uint32_t *reference = NULL;
    float dx[COORDINATES], dy[COORDINATES], major = 0;
    uint32_t texel[4];

    rest += op->lod == IR_TEX_LEVEL ? 1 : op->lod == IR_TEX_GRAD ? 2 * n : 0;
    for (unsigned d = 0; d < n; d++) {
        f->at[d] = texture_coordinate(op, at[d]);
        f->offset[d] = ir_tex_has(op, IR_TEX_OFFSETS) ? (int32_t)rest[d] : 0;
        dx[d] = op->lod == IR_TEX_GRAD ? texture_as_float(lod[d]) : 0;
        dy[d] = op->lod == IR_TEX_GRAD ? texture_as_float(lod[n + d]) : 0;
    }
    if (ir_tex_has(op, IR_TEX_COMPARE))
        reference = rest + (ir_tex_has(op, IR_TEX_OFFSETS) ? n : 0);
    if (ir_tex_is_cube(op))
        texture_cube_coord(f, &major);
    if (op->what == IR_TEX_GATHER)
        texture_gather(f, texel, reference);
    else if (ir_tex_has(op, IR_TEX_INTEGERS))
        texture_fetch_integers(f, at, op->lod == IR_TEX_LEVEL ? (float)(int32_t)lod[0] : 0.0f,
                               texel);
    else if (op->lod == IR_TEX_GRAD)
        texture_sample_gradients(f, dx, dy, n, major, reference, texel);
    else if (op->lod == IR_TEX_LEVEL)
        texture_sample_lod(f, texture_as_float(lod[0]), reference, texel);
    else
        texture_sample_level(f, 0, reference, texel);
    enum ir_type type = (enum ir_type)op->type;
    for (unsigned i = 0; i < op->vec; i++) {
        if (type == IR_F16)
            out[i] = ir_texture_half(texel[i]);
        else if (type == IR_F16X2)
            out[i] = ir_texture_half(texel[2 * i]) | (uint32_t)ir_texture_half(texel[2 * i + 1])
                                                         << 16;
        else
            out[i] = texel[i];
    }
}

/* ---- queries */

/* As OpenCL numbers them, which PTX takes over. */
static uint32_t texture_data_type(const struct ir_texture *t)
{
    uint32_t by_size = t->channel_B == 1 ? 0 : t->channel_B == 2 ? 1 : 2;
    switch ((enum ir_texel_kind)t->store_kind) {
    case IR_TEXEL_SNORM:
        return 0x10d0 + by_size;
    case IR_TEXEL_UNORM:
        return 0x10d2 + by_size;
    case IR_TEXEL_SINT:
        return 0x10d7 + by_size;
    case IR_TEXEL_UINT:
        return 0x10da + by_size;
    case IR_TEXEL_FLOAT:
        return t->channel_B == 2 ? 0x10dd : 0x10de;
    }
    return 0;
}

static uint32_t texture_address_mode(const struct ir_texture *sampler, unsigned dimension)
{
    static const uint8_t numbers[] = {[IR_ADDRESS_WRAP] = 0,
                                      [IR_ADDRESS_MIRROR] = 1,
                                      [IR_ADDRESS_CLAMP] = 3,
                                      [IR_ADDRESS_BORDER] = 4};
    return numbers[sampler->address[dimension]];
}

static uint32_t texture_query(enum ir_tex_query what, const struct ir_texture *t, int32_t level)
{
    const struct ir_texture_level none = {0};
    const struct ir_texture_level *l =
        level >= 0 && (uint32_t)level < t->nlevels ? &t->level[level] : &none;
    switch (what) {
    case IR_TEX_WIDTH:
        return l->width;
    case IR_TEX_HEIGHT:
        return l->height;
    case IR_TEX_DEPTH:
        return t->array_size ? 1 : l->depth;
    case IR_TEX_CHANNEL_DATA_TYPE:
        return texture_data_type(t);
    case IR_TEX_CHANNEL_ORDER:
        return t->channels == 1 ? 0x10b0 : t->channels == 2 ? 0x10b2 : 0x10b5;
    case IR_TEX_NORMALIZED_COORDS:
        return t->normalized;
    case IR_TEX_FORCE_UNNORMALIZED_COORDS:
        return !t->normalized;
    case IR_TEX_ARRAY_SIZE:
        return t->array_size;
    case IR_TEX_NUM_MIPMAP_LEVELS:
        return t->nlevels;
    case IR_TEX_NUM_SAMPLES:
        return 1;
    case IR_TEX_FILTER_MODE:
        return t->linear;
    case IR_TEX_ADDR_MODE_0:
    case IR_TEX_ADDR_MODE_1:
    case IR_TEX_ADDR_MODE_2:
        return texture_address_mode(t, what - IR_TEX_ADDR_MODE_0);
    case IR_TEX_MEMORY_LAYOUT:
        return 0;
    }
    return 0;
}

uint32_t ir_surface_query(const struct ir_tex *op, const struct ir_texture *surface)
{
    return texture_query((enum ir_tex_query)op->select, surface, 0);
}

bool ir_texture_is(const struct ir_tex *op, const struct ir_texture *object)
{
    bool surface = !ir_tex_has(op, IR_TEX_OF_TEXTURE) && !ir_tex_has(op, IR_TEX_OF_SAMPLER);
    return object && object->is_surface == surface;
}

static void texture_fetch(struct fetch *f, const uint32_t *words, uint32_t *out)
{
    const struct ir_tex *op = f->op;
    assert(op->what == IR_TEX_FETCH || op->what == IR_TEX_GATHER);
    f->dimensions = ir_tex_dimensions(op);
    f->linear = f->sampler->linear && !texture_is_integer(f->texture);
    /* A sampler by itself wraps and mirrors when the texture's coordinates are normalised. */
    const struct ir_texture *s = f->sampler;
    f->normalized = s->is_sampler ? f->texture->normalized && !s->unnormalized : s->normalized;
    for (unsigned d = 0; d < COORDINATES; d++) {
        bool folds = s->address[d] == IR_ADDRESS_WRAP || s->address[d] == IR_ADDRESS_MIRROR;
        f->address[d] = folds && !f->normalized ? IR_ADDRESS_CLAMP : s->address[d];
    }
    if (ir_tex_leading_words(op) && op->geometry != IR_TEX_2DMS)
        f->layer = texture_layer_of(op, f->texture, words[ir_tex_leading_words(op) - 1]);
    read_texture(f, words, out);
}

void ir_texture_read(const struct ir_tex *op, const struct ir_texture *texture,
                     const struct ir_texture *sampler, const uint32_t *words, uint32_t *out)
{
    struct fetch f = {.op = op, .texture = texture, .sampler = sampler};
    if (op->what == IR_TEX_QUERY)
        out[0] = texture_query((enum ir_tex_query)op->select, texture,
                               ir_tex_has(op, IR_TEX_LEVELED) ? (int32_t)words[0] : 0);
    else
        texture_fetch(&f, words, out);
}

void ir_texture_texels(const struct ir_tex *op, const struct ir_texture *texture,
                       const struct ir_texture *sampler, const uint32_t *words,
                       const struct ir_texel_list *to)
{
    struct fetch f = {.op = op, .texture = texture, .sampler = sampler, .list = to};
    uint32_t unused[CHANNELS];
    texture_fetch(&f, words, unused);
}
