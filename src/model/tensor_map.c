/* What tensor maps may say (CUDA driver API, Tensor Map Object Management; PTX ISA 5.5). */
#include "model/tensor_map.h"

#include <assert.h>

#define DIM_MAX    (1ull << 32)
#define STRIDE_END (1ull << 40)

unsigned ir_tensor_type_bits(enum ir_tensor_type type)
{
    static const uint8_t bits[IR_TENSOR_TYPES] = {
#define X(name, bits, type) bits,
        IR_TENSOR_TYPE_LIST(X)
#undef X
    };
    assert(type < IR_TENSOR_TYPES);
    return bits[type];
}

enum ir_type ir_tensor_type_reduced(enum ir_tensor_type type)
{
    static const enum ir_type types[IR_TENSOR_TYPES] = {
#define X(name, bits, type) IR_##type,
        IR_TENSOR_TYPE_LIST(X)
#undef X
    };
    assert(type < IR_TENSOR_TYPES);
    return types[type];
}

static bool is_float(enum ir_tensor_type t)
{
    return t == IR_TENSOR_F16 || t == IR_TENSOR_BF16 || t == IR_TENSOR_F64 || t == IR_TENSOR_F32 ||
           t == IR_TENSOR_F32_FTZ || t == IR_TENSOR_TF32 || t == IR_TENSOR_TF32_FTZ;
}

/* Numbers that say what, before anything is looked up by them. */
static const char *words_refusal(const struct ir_tensor_map *m)
{
    if (m->magic != IR_TENSOR_MAP_MAGIC && (m->magic || !m->dim[0]))
        return "not a tensor map of cuTensorMapEncode";
    if (m->last >= IR_TENSOR_RANK_MAX)
        return "a tensor has 1 to 5 dimensions";
    if (m->type >= IR_TENSOR_TYPES || m->kind >= IR_TENSOR_KINDS)
        return "no such type of elements";
    if (m->interleave >= IR_TENSOR_INTERLEAVES)
        return "no such interleave";
    if (m->swizzle >= IR_TENSOR_SWIZZLES || m->atom >= IR_TENSOR_ATOMS)
        return "no such swizzle";
    if (m->fill >= IR_TENSOR_FILLS)
        return "no such fill of what is outside";
    return NULL;
}

static const char *global_refusal(const struct ir_tensor_map *m)
{
    bool padded = ir_tensor_type_is_padded((enum ir_tensor_type)m->type);
    uint64_t unit = m->interleave == IR_TENSOR_INTERLEAVE_32B || padded ? 32 : 16;

    if (m->address % unit)
        return unit == 32 ? "the tensor is not aligned to 32 bytes"
                          : "the tensor is not aligned to 16 bytes";
    for (unsigned d = 0; d <= m->last; d++) {
        if (m->dim[d] - 1 >= DIM_MAX)
            return "a dimension has 1 to 2^32 elements";
        if (d && (m->stride_B[d - 1] % unit || m->stride_B[d - 1] >= STRIDE_END))
            return unit == 32 ? "strides are multiples of 32 below 2^40"
                              : "strides are multiples of 16 below 2^40";
    }
    if (padded && m->dim[0] % 128)
        return "dimension 0 of this type is a multiple of 128";
    if (m->type == IR_TENSOR_B4X16 && m->dim[0] % 2)
        return "dimension 0 of this type is a multiple of 2";
    return NULL;
}

static const char *steps_refusal(const struct ir_tensor_map *m)
{
    for (unsigned d = m->interleave ? 0 : 1; d <= m->last; d++) {
        if (!m->step[d] || m->step[d] > IR_TENSOR_STEP_MAX)
            return "element strides are 1 to 8";
    }
    return NULL;
}

/* Is the innermost row of the box as long as the type and the swizzle want it? */
static const char *row_refusal(const struct ir_tensor_map *m)
{
    enum ir_tensor_type type = (enum ir_tensor_type)m->type;
    unsigned bits = m->box[0] * ir_tensor_type_bits(type), span_B = ir_tensor_span_B(m);
    bool padded = ir_tensor_type_is_padded(type);

    if (padded && m->box[0] != 128)
        return "the box has 128 elements of this type in dimension 0";
    if (m->interleave)
        return NULL;
    if (bits % 128)
        return "the box has a multiple of 16 bytes in dimension 0";
    if (span_B && (padded ? m->box[0] : bits / 8) > span_B)
        return "the box has more bytes in dimension 0 than are swizzled";
    return NULL;
}

static const char *tile_refusal(const struct ir_tensor_map *m)
{
    for (unsigned d = 0; d <= m->last; d++) {
        if (!m->box[d] || m->box[d] > IR_TENSOR_BOX_MAX)
            return "the box has 1 to 256 elements in a dimension";
    }
    return row_refusal(m);
}

/* Corners have 16 bits, shared by as many dimensions as an image has. */
static const char *corner_refusal(const struct ir_tensor_map *m)
{
    static const uint8_t all_bits[] = {16, 8, 5};
    bool wide = m->kind == IR_TENSOR_IM2COL_W;
    unsigned n = wide ? 1 : m->last - 1u, first = m->interleave ? 0 : 1;
    int end = 1 << (all_bits[n - 1] - 1);

    for (unsigned i = 0; i < n; i++) {
        if (m->lower[i] < -end || m->lower[i] >= end || m->upper[i] < -end || m->upper[i] >= end)
            return "a corner of the box of pixels has too many bits for so many dimensions";
        if (m->lower[i] >= (int64_t)m->dim[first + i] + m->upper[i])
            return "the box of pixels is empty";
    }
    return NULL;
}

static const char *im2col_refusal(const struct ir_tensor_map *m)
{
    bool wide = m->kind == IR_TENSOR_IM2COL_W;

    if (m->last < 2)
        return "images have 3 to 5 dimensions";
    if (!m->box[0] || m->box[0] > IR_TENSOR_BOX_MAX)
        return "there are 1 to 256 channels of a pixel";
    if ((!m->box[1] && !wide) || m->box[1] > IR_TENSOR_PIXEL_MAX)
        return "there are 1 to 1024 pixels of a column";
    if (wide && (m->interleave || m->swizzle == IR_TENSOR_SWIZZLE_NONE ||
                 m->swizzle == IR_TENSOR_SWIZZLE_32B || m->atom >= IR_TENSOR_ATOM_32B_FLIP_8B))
        return "this interleave or swizzle does not go with im2col::w";
    const char *why = corner_refusal(m);
    return why ? why : row_refusal(m);
}

static const char *swizzle_refusal(const struct ir_tensor_map *m)
{
    bool padded = ir_tensor_type_is_padded((enum ir_tensor_type)m->type);

    if (m->interleave && m->last < 2)
        return "an interleaved tensor has 3 to 5 dimensions";
    if (m->interleave && (padded || m->swizzle == IR_TENSOR_SWIZZLE_96B))
        return "this type or swizzle does not go with interleave";
    if (m->interleave == IR_TENSOR_INTERLEAVE_32B && m->swizzle != IR_TENSOR_SWIZZLE_32B)
        return "an interleave of 32 bytes has a swizzle of 32 bytes";
    if (m->atom != IR_TENSOR_ATOM_16B && m->swizzle && m->swizzle != IR_TENSOR_SWIZZLE_128B)
        return "a swizzle of atoms of other than 16 bytes is one of 128 bytes";
    if (padded && m->swizzle &&
        (m->swizzle != IR_TENSOR_SWIZZLE_128B || m->atom == IR_TENSOR_ATOM_32B_FLIP_8B))
        return "this swizzle does not go with the type";
    if (m->fill == IR_TENSOR_FILL_NAN && !is_float((enum ir_tensor_type)m->type))
        return "only floats are filled with NaN";
    return NULL;
}

const char *ir_tensor_map_refusal(const struct ir_tensor_map *map)
{
    const char *why = words_refusal(map);

    why = why ? why : swizzle_refusal(map);
    why = why ? why : global_refusal(map);
    why = why ? why : steps_refusal(map);
    if (why)
        return why;
    return map->kind == IR_TENSOR_TILED ? tile_refusal(map) : im2col_refusal(map);
}
