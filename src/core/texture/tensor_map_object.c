/* Tensor maps: see tensor_map.h. */
#include "core/texture/tensor_map_object.h"

#include <string.h>

#include "model/tensor_map.h"

_Static_assert((int)CORE_TENSOR_MAP_ALIGN_B == (int)IR_TENSOR_MAP_ALIGN_B &&
                   (int)CORE_TENSOR_W128_PIXELS == (int)IR_TENSOR_W128_PIXELS,
               "the API sees no IR");

/* In CUDA's order, which is not that of PTX. */
static const uint8_t types[] = {
    IR_TENSOR_U8,       IR_TENSOR_U16,   IR_TENSOR_U32,       IR_TENSOR_S32,
    IR_TENSOR_U64,      IR_TENSOR_S64,   IR_TENSOR_F16,       IR_TENSOR_F32,
    IR_TENSOR_F64,      IR_TENSOR_BF16,  IR_TENSOR_F32_FTZ,   IR_TENSOR_TF32,
    IR_TENSOR_TF32_FTZ, IR_TENSOR_B4X16, IR_TENSOR_B4X16_P64, IR_TENSOR_B6X16_P32,
};

static const struct {
    uint8_t swizzle, atom;
} swizzles[] = {
    {IR_TENSOR_SWIZZLE_NONE, IR_TENSOR_ATOM_16B},
    {IR_TENSOR_SWIZZLE_32B, IR_TENSOR_ATOM_16B},
    {IR_TENSOR_SWIZZLE_64B, IR_TENSOR_ATOM_16B},
    {IR_TENSOR_SWIZZLE_128B, IR_TENSOR_ATOM_16B},
    {IR_TENSOR_SWIZZLE_128B, IR_TENSOR_ATOM_32B},
    {IR_TENSOR_SWIZZLE_128B, IR_TENSOR_ATOM_32B_FLIP_8B},
    {IR_TENSOR_SWIZZLE_128B, IR_TENSOR_ATOM_64B},
};

enum { L2_PROMOTIONS = 4 };

static bool encode_layout(const struct core_tensor_spec *s, struct ir_tensor_map *m)
{
    static const uint8_t kinds[] = {[CORE_TENSOR_TILED] = IR_TENSOR_TILED,
                                    [CORE_TENSOR_IM2COL] = IR_TENSOR_IM2COL,
                                    [CORE_TENSOR_IM2COL_W] = IR_TENSOR_IM2COL_W};

    if (s->type >= HD_COUNT_OF(types) || s->swizzle >= HD_COUNT_OF(swizzles) ||
        s->interleave >= IR_TENSOR_INTERLEAVES || s->l2 >= L2_PROMOTIONS ||
        s->fill >= IR_TENSOR_FILLS)
        return false;
    m->kind = kinds[s->kind];
    m->type = types[s->type];
    m->interleave = (uint8_t)s->interleave;
    m->swizzle = swizzles[s->swizzle].swizzle;
    m->atom = swizzles[s->swizzle].atom;
    m->l2 = (uint8_t)s->l2;
    m->fill = (uint8_t)s->fill;
    return true;
}

/* As the field holds it, or a value of the field that no map may have. */
static uint16_t narrow(uint32_t x)
{
    return (uint16_t)HD_MIN(x, 0xffffu);
}

static int16_t narrow_signed(int x)
{
    return (int16_t)HD_MAX(HD_MIN(x, INT16_MAX), INT16_MIN);
}

static bool fits_signed(int x)
{
    return x == narrow_signed(x);
}

static const char *encode_pixels(const struct core_tensor_spec *s, struct ir_tensor_map *m)
{
    uint32_t n = s->kind == CORE_TENSOR_IM2COL_W ? 1 : s->rank - 2;

    m->box[0] = narrow(s->channels);
    m->box[1] = narrow(s->pixels);
    for (uint32_t i = 0; i < n; i++) {
        if (!fits_signed(s->lower[i]) || !fits_signed(s->upper[i]))
            return "a corner of the box of pixels has more than 16 bits";
        m->lower[i] = narrow_signed(s->lower[i]);
        m->upper[i] = narrow_signed(s->upper[i]);
    }
    return NULL;
}

const char *core_tensor_map_encode(const struct core_tensor_spec *spec, void *out)
{
    bool images = spec->kind != CORE_TENSOR_TILED;
    struct ir_tensor_map m = {
        .magic = IR_TENSOR_MAP_MAGIC, .address = spec->address, .last = (uint8_t)(spec->rank - 1)};
    const char *why = NULL;

    if (spec->rank < (images ? 3 : 1) || spec->rank > IR_TENSOR_RANK_MAX)
        return images ? "images have 3 to 5 dimensions" : "a tensor has 1 to 5 dimensions";
    if (!encode_layout(spec, &m))
        return "a type, layout or fill that does not exist";
    if (m.type == IR_TENSOR_B4X16_P64 && m.swizzle && m.atom == IR_TENSOR_ATOM_64B)
        return "this swizzle does not go with the type";
    for (uint32_t d = 0; d < spec->rank; d++) {
        m.dim[d] = spec->dim[d];
        m.step[d] = (uint8_t)HD_MIN(spec->step[d], 0xffu);
        if (d > 0)
            m.stride_B[d - 1] = spec->stride_B[d - 1];
        if (spec->kind == CORE_TENSOR_TILED)
            m.box[d] = narrow(spec->box[d]);
    }
    if (images)
        why = encode_pixels(spec, &m);
    if (!why)
        why = ir_tensor_map_refusal(&m);
    if (!why)
        memcpy(out, &m, sizeof(m));
    return why;
}

const char *core_tensor_map_move(void *map, uint64_t address)
{
    struct ir_tensor_map m;

    memcpy(&m, map, sizeof(m));
    m.address = address;
    const char *why = ir_tensor_map_refusal(&m);
    if (!why)
        memcpy(map, &m, sizeof(m));
    return why;
}
