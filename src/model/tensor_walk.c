/* Tensor copies: what one may ask for, and which rows its box has. */
#include "model/tensor_walk.h"

#include <assert.h>

#define SHARED_MAX_B (16u << 20)

static bool walk_has_pixels(const struct ir_tensor_copy *c)
{
    return c->what.mode >= IR_TENSOR_PIXELS;
}

static bool walk_is_wide(const struct ir_tensor_copy *c)
{
    return c->what.mode > IR_TENSOR_PIXELS;
}

/* The dimension that is W: channels come before it, but where they are slices. */
static unsigned walk_first_spatial(const struct ir_tensor_copy *c)
{
    return c->map.interleave ? 0 : 1;
}

static unsigned walk_spatial_dims(const struct ir_tensor_copy *c)
{
    return walk_is_wide(c) ? 1 : c->map.last - 1u;
}

/* ---- what may be asked for */

static const char *walk_mode_refusal(const struct ir_tensor_copy *c)
{
    static const enum ir_tensor_map_kind kinds[IR_TENSOR_MODES] = {
        IR_TENSOR_TILED, IR_TENSOR_TILED, IR_TENSOR_IM2COL, IR_TENSOR_IM2COL_W, IR_TENSOR_IM2COL_W};
    const struct ir_tensor_map *m = &c->map;

    if (m->last + 1u != c->what.rank)
        return "the tensor map has another number of dimensions";
    if (m->kind != kinds[c->what.mode])
        return "the tensor map is of another mode";
    if (c->what.mode == IR_TENSOR_ROWS4 && (m->interleave || m->box[1] != 1))
        return "the box of four rows has one in dimension 1, without interleave";
    if (c->what.mode == IR_TENSOR_PIXELS_W && !m->box[1])
        return "there are 1 to 1024 pixels of a column";
    if (c->what.mode == IR_TENSOR_PIXELS_W_128 && m->swizzle == IR_TENSOR_SWIZZLE_96B)
        return "a swizzle of 96 bytes does not go with im2col::w::128";
    return NULL;
}

static bool walk_reduces(enum ir_atom atom, enum ir_type t, enum ir_tensor_type type)
{
    bool half = t == IR_F16 || t == IR_BF16, f32 = t == IR_F32;

    switch (atom) {
    case IR_ATOM_ADD:
        return t != IR_VOID && t != IR_S64;
    case IR_ATOM_MIN:
    case IR_ATOM_MAX:
        return t != IR_VOID && !f32;
    case IR_ATOM_INC:
    case IR_ATOM_DEC:
        return t == IR_U32;
    case IR_ATOM_AND:
    case IR_ATOM_OR:
    case IR_ATOM_XOR: /* of bits: any type that has so many */
        return !half && ir_tensor_type_bits(type) >= 32;
    case IR_ATOM_EXCH:
    case IR_ATOM_CAS:
        return false;
    }
    return false;
}

static const char *walk_type_refusal(const struct ir_tensor_copy *c)
{
    enum ir_tensor_type type = (enum ir_tensor_type)c->map.type;
    bool padded = ir_tensor_type_is_padded(type), load = c->what.way == IR_TENSOR_LOAD;

    if (c->what.way == IR_TENSOR_REDUCE &&
        !walk_reduces(c->what.atom, ir_tensor_type_reduced(type), type))
        return "the reduction does not exist with the type of the tensor map";
    if (type == IR_TENSOR_B4X16_P64 && !load)
        return "this type is not copied to global memory";
    if (padded && load && c->map.swizzle && c->map.atom == IR_TENSOR_ATOM_64B)
        return "this type is not copied to swizzled atoms of 64 bytes";
    if (c->map.swizzle && c->map.atom == IR_TENSOR_ATOM_32B_FLIP_8B && !load)
        return "8 bytes are not flipped on the way to global memory";
    if (!c->map.interleave && c->at[0] % (padded ? 128 : type == IR_TENSOR_B4X16 ? 2 : 1))
        return "coordinate 0 is not a multiple of what the type asks for";
    return NULL;
}

/* To global memory: from the tensor's first element on, and images within their bounds. */
static const char *walk_store_refusal(const struct ir_tensor_copy *c)
{
    for (unsigned i = 0; i < ir_tensor_coordinates(&c->what); i++) {
        if (c->at[i] < 0)
            return "a coordinate of a copy to global memory is negative";
    }
    for (unsigned i = 0; walk_has_pixels(c) && i < walk_spatial_dims(c); i++) {
        if (c->map.lower[i] < 0 || c->map.upper[i] > 0)
            return "a box of pixels of a copy to global memory reaches out of the tensor";
    }
    return NULL;
}

static const char *walk_info_refusal(const struct ir_tensor_copy *c)
{
    static const uint8_t bits[] = {16, 8, 5};
    uint32_t halo_end = c->what.mode == IR_TENSOR_PIXELS_W ? 512 : 32;

    if (walk_is_wide(c))
        return c->info[0] < halo_end && c->info[1] < 32 ? NULL : "wHalo or wOffset is out of range";
    for (unsigned i = 0; i < walk_spatial_dims(c); i++) {
        if (c->info[i] >> bits[walk_spatial_dims(c) - 1])
            return "an im2col offset is out of range";
    }
    return NULL;
}

/* One past the last place that the filter may be at. */
static int64_t walk_upper_of(const struct ir_tensor_copy *c, unsigned i)
{
    return (int64_t)c->map.dim[walk_first_spatial(c) + i] + c->map.upper[i];
}

/* It starts in its box; along W alone it may start left of that. */
static const char *walk_start_refusal(const struct ir_tensor_copy *c)
{
    for (unsigned i = 0; i < walk_spatial_dims(c); i++) {
        int64_t at = c->at[walk_first_spatial(c) + i];
        if (at >= walk_upper_of(c, i) || (!walk_is_wide(c) && at < c->map.lower[i]))
            return "the first pixel is outside of the box of pixels";
    }
    return NULL;
}

static const char *walk_refusal(const struct ir_tensor_copy *c)
{
    const char *why = ir_tensor_map_refusal(&c->map);

    why = why ? why : walk_mode_refusal(c);
    why = why ? why : walk_type_refusal(c);
    if (!why && c->what.way != IR_TENSOR_LOAD)
        why = walk_store_refusal(c);
    if (!why && walk_has_pixels(c))
        why = walk_info_refusal(c);
    if (!why && walk_has_pixels(c))
        why = walk_start_refusal(c);
    return why;
}

/* ---- how large it is */

/* Of dimension `d`: a slice of channels is chosen, not walked along. */
uint32_t ir_tensor_count(const struct ir_tensor_copy *c, unsigned d)
{
    if (c->map.interleave && d == c->map.last - 1u)
        return 1;
    return ((uint32_t)c->map.box[d] + c->map.step[d] - 1) / c->map.step[d];
}

static uint64_t walk_rows_of(const struct ir_tensor_copy *c)
{
    uint64_t n = 1;

    switch (c->what.mode) {
    case IR_TENSOR_ROWS4:
        return 4;
    case IR_TENSOR_PIXELS:
        return c->map.box[1];
    case IR_TENSOR_PIXELS_W:
        return (uint64_t)c->map.box[1] + c->info[0];
    case IR_TENSOR_PIXELS_W_128:
        return IR_TENSOR_W128_PIXELS + 4 * c->info[0];
    default:
        for (unsigned d = 1; d <= c->map.last; d++)
            n *= ir_tensor_count(c, d);
        return n;
    }
}

/* The first of elements at, at + step, .. that is not below `bound`; at most n. */
static uint32_t walk_steps_to(int64_t at, int64_t bound, uint32_t step, uint32_t n)
{
    if (at >= bound)
        return 0;
    return (uint32_t)HD_MIN((uint64_t)(bound - at + step - 1) / step, n);
}

static const char *walk_measure(struct ir_tensor_copy *c)
{
    uint64_t nrows = walk_rows_of(c);
    const struct ir_tensor_map *m = &c->map;
    uint32_t span_B = ir_tensor_span_B(m), slice_B = ir_tensor_slice_B(m);
    bool slices = slice_B && walk_has_pixels(c); /* one of each pixel */

    c->element_bits = slice_B ? 8 * slice_B : ir_tensor_type_bits((enum ir_tensor_type)m->type);
    c->inner = slices ? 1 : ir_tensor_count(c, 0);
    c->first = slices ? 0 : walk_steps_to(c->at[0], 0, m->step[0], c->inner);
    c->end = slices ? 1 : walk_steps_to(c->at[0], (int64_t)m->dim[0], m->step[0], c->inner);
    c->row_B = c->inner * c->element_bits / 8;
    c->padded_row_B = ir_tensor_type_is_padded((enum ir_tensor_type)m->type) ? c->inner : c->row_B;
    c->pitch_B = HD_MAX(c->padded_row_B, span_B);
    if (nrows > SHARED_MAX_B / c->pitch_B)
        return "the box is larger than shared memory can be";
    c->nrows = (uint32_t)nrows;
    c->shared_B = (uint32_t)hd_align_up((uint64_t)c->nrows * c->pitch_B,
                                        span_B == 96 ? 32 : HD_MAX(span_B, 1u));
    c->bytes = (uint64_t)c->nrows * c->row_B;
    assert(c->row_B <= IR_TENSOR_ROW_MAX_B && c->padded_row_B <= IR_TENSOR_ROW_MAX_B);
    return NULL;
}

const char *ir_tensor_copy_init(struct ir_tensor_copy *c, const struct ir_tensor_map *map,
                                uint64_t imm, const int32_t *coordinates, const uint32_t *infos)
{
    c->map = *map;
    c->what = ir_tensor_unpack(imm);
    assert(c->what.rank >= 1 && c->what.rank <= IR_TENSOR_RANK_MAX);
    for (unsigned i = 0; i < IR_TENSOR_RANK_MAX; i++)
        c->at[i] = i < ir_tensor_coordinates(&c->what) ? coordinates[i] : 0;
    for (unsigned i = 0; i < IR_TENSOR_INFO_MAX; i++)
        c->info[i] = i < ir_tensor_infos(&c->what) ? infos[i] & 0xffff : 0;
    if (!c->map.interleave)
        c->map.step[0] = 1; /* whatever it says */
    const char *why = walk_refusal(c);
    return why ? why : walk_measure(c);
}

/* ---- which rows there are */

/* `at` along dimension d + 1, or where that ends along the next, and so on. */
static void walk_tile_next(const struct ir_tensor_copy *c, uint32_t *counts, int64_t *at)
{
    for (unsigned d = 1; d <= c->map.last; d++) {
        at[d] += c->map.step[d];
        if (++counts[d] < ir_tensor_count(c, d))
            return;
        counts[d] = 0;
        at[d] = c->at[d];
    }
}

static bool walk_tile(const struct ir_tensor_copy *c, ir_tensor_visit *visit, void *user)
{
    uint32_t counts[IR_TENSOR_RANK_MAX] = {0};
    int64_t at[IR_TENSOR_RANK_MAX];

    memcpy(at, c->at, sizeof(at));
    for (uint32_t row = 0; row < c->nrows; row++) {
        if (!visit(user, row, at))
            return false;
        walk_tile_next(c, counts, at);
    }
    return true;
}

static bool walk_rows4(const struct ir_tensor_copy *c, ir_tensor_visit *visit, void *user)
{
    for (uint32_t row = 0; row < 4; row++) {
        const int64_t at[IR_TENSOR_RANK_MAX] = {c->at[0], c->at[1 + row]};
        if (!visit(user, row, at))
            return false;
    }
    return true;
}

/* The next pixel: along W, H and D within their box, then the next image. */
static void walk_pixel_next(const struct ir_tensor_copy *c, int64_t shift, int64_t *at)
{
    const struct ir_tensor_map *m = &c->map;

    for (unsigned i = 0; i < walk_spatial_dims(c); i++) {
        unsigned d = walk_first_spatial(c) + i;
        at[d] += m->step[d];
        if (at[d] < walk_upper_of(c, i) + shift)
            return;
        at[d] = m->lower[i] + shift;
    }
    at[m->last] += m->step[m->last];
}

static bool walk_pixels(const struct ir_tensor_copy *c, ir_tensor_visit *visit, void *user)
{
    int64_t at[IR_TENSOR_RANK_MAX], from[IR_TENSOR_RANK_MAX];

    memcpy(at, c->at, sizeof(at));
    for (uint32_t row = 0; row < c->nrows; row++) {
        memcpy(from, at, sizeof(from));
        for (unsigned i = 0; i < walk_spatial_dims(c); i++)
            from[walk_first_spatial(c) + i] += c->info[i];
        if (!visit(user, row, from))
            return false;
        walk_pixel_next(c, 0, at);
    }
    return true;
}

/*
 * Along W, shifted by wOffset. The halo goes on where the pixels end; of four groups of 32 each has
 * its own, and these lie behind all pixels, the first ones of all groups first.
 */
static bool walk_wide(const struct ir_tensor_copy *c, ir_tensor_visit *visit, void *user)
{
    bool by_32 = c->what.mode == IR_TENSOR_PIXELS_W_128;
    uint32_t groups = by_32 ? 4 : 1, n = by_32 ? 32 : c->map.box[1], halo = c->info[0];
    int64_t at[IR_TENSOR_RANK_MAX], beyond[IR_TENSOR_RANK_MAX], shift = c->info[1];
    bool ok = true;

    memcpy(at, c->at, sizeof(at));
    at[walk_first_spatial(c)] += shift;
    for (uint32_t g = 0; ok && g < groups; g++) {
        for (uint32_t i = 0; ok && i < n; i++) {
            ok = visit(user, g * n + i, at);
            walk_pixel_next(c, shift, at);
        }
        memcpy(beyond, at, sizeof(beyond));
        for (uint32_t i = 0; ok && i < halo; i++) {
            ok = visit(user, groups * n + i * groups + g, beyond);
            walk_pixel_next(c, shift, beyond);
        }
    }
    return ok;
}

bool ir_tensor_walk(const struct ir_tensor_copy *c, ir_tensor_visit *visit, void *user)
{
    switch (c->what.mode) {
    case IR_TENSOR_TILE:
        return walk_tile(c, visit, user);
    case IR_TENSOR_ROWS4:
        return walk_rows4(c, visit, user);
    case IR_TENSOR_PIXELS:
        return walk_pixels(c, visit, user);
    default:
        return walk_wide(c, visit, user);
    }
}
