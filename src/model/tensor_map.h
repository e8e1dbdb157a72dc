/*
 * A tensor map (PTX ISA 5.5.8): 128 bytes that programs may not look into. They describe a tensor
 * in global memory and the box of it that one copy moves. The driver makes maps
 * (cuTensorMapEncode..), programs hand them to kernels in parameters or memory, tensormap.replace
 * stores into single fields, and tensor copies read them (model/tensor_copy.h).
 *
 * Fields hold what the manual says, not what fits: a store of tensormap.replace may leave anything
 * in them, so whoever uses a map asks ir_tensor_map_refusal() first. Element 0 of arrays is the
 * innermost dimension, whose elements lie side by side.
 *
 * Interleaved tensors: dimension 0 is W, and its elements are slices of 16 or 32 bytes of channels;
 * the last dimension but one counts slices, of which a copy moves one.
 */
#ifndef HD_MODEL_TENSOR_MAP_H
#define HD_MODEL_TENSOR_MAP_H

#include "ir/payload.h"

enum {
    IR_TENSOR_MAP_B = 128,
    IR_TENSOR_MAP_ALIGN_B = 64,
    IR_TENSOR_BOX_MAX = 256,    /* elements in one dimension; channels of a pixel */
    IR_TENSOR_PIXEL_MAX = 1024, /* pixels of a column */
    IR_TENSOR_STEP_MAX = 8,
    IR_TENSOR_W128_PIXELS = 128,
};

/*
 * Name, bits of an element in global memory, what a reduction works on (VOID: none does). In the
 * order of tensormap.replace's .elemtype.
 */
#define IR_TENSOR_TYPE_LIST(X)                                                                     \
    X(U8, 8, VOID)                                                                                 \
    X(U16, 16, VOID)                                                                               \
    X(U32, 32, U32)                                                                                \
    X(S32, 32, S32)                                                                                \
    X(U64, 64, U64)                                                                                \
    X(S64, 64, S64)                                                                                \
    X(F16, 16, F16)                                                                                \
    X(F32, 32, F32)                                                                                \
    X(F32_FTZ, 32, F32)                                                                            \
    X(F64, 64, VOID)                                                                               \
    X(BF16, 16, BF16)                                                                              \
    X(TF32, 32, VOID)                                                                              \
    X(TF32_FTZ, 32, VOID)                                                                          \
    X(B4X16, 4, VOID)                                                                              \
    X(B4X16_P64, 4, VOID)                                                                          \
    X(B6X16_P32, 6, VOID) /* and b6p2x16, on the way out of shared memory */

enum ir_tensor_type {
#define X(name, bits, type) IR_TENSOR_##name,
    IR_TENSOR_TYPE_LIST(X)
#undef X
        IR_TENSOR_TYPES
};

/* As tensormap.replace counts them. */
enum ir_tensor_interleave {
    IR_TENSOR_INTERLEAVE_NONE,
    IR_TENSOR_INTERLEAVE_16B,
    IR_TENSOR_INTERLEAVE_32B,
    IR_TENSOR_INTERLEAVES
};
enum ir_tensor_swizzle {
    IR_TENSOR_SWIZZLE_NONE,
    IR_TENSOR_SWIZZLE_32B,
    IR_TENSOR_SWIZZLE_64B,
    IR_TENSOR_SWIZZLE_128B,
    IR_TENSOR_SWIZZLE_96B,
    IR_TENSOR_SWIZZLES
};
enum ir_tensor_atom {
    IR_TENSOR_ATOM_16B,
    IR_TENSOR_ATOM_32B,
    IR_TENSOR_ATOM_32B_FLIP_8B,
    IR_TENSOR_ATOM_64B,
    IR_TENSOR_ATOMS
};
enum ir_tensor_fill { IR_TENSOR_FILL_ZERO, IR_TENSOR_FILL_NAN, IR_TENSOR_FILLS };

/* How the box walks: along all dimensions, or along the pixels of a batch of images. */
enum ir_tensor_map_kind {
    IR_TENSOR_TILED,
    IR_TENSOR_IM2COL,
    IR_TENSOR_IM2COL_W, /* along W only */
    IR_TENSOR_KINDS
};

/* Or 0: a kernel filled zeroed memory by tensormap.replace, every field that it needs. */
#define IR_TENSOR_MAP_MAGIC 0x70614d726f736e54ull

struct ir_tensor_map {
    uint64_t magic;
    /*
     * Small numbers: CUTLASS clears bit 21 of the second word of maps of small tensors, as a way
     * around an error of a driver. Nothing here ever has it.
     */
    uint8_t kind, type, interleave, swizzle, atom, fill;
    uint8_t l2;                                /* a hint */
    uint8_t last;                              /* rank - 1 */
    uint64_t address;                          /* of element 0 */
    uint64_t dim[IR_TENSOR_RANK_MAX];          /* elements of the tensor */
    uint64_t stride_B[IR_TENSOR_RANK_MAX - 1]; /* of dimensions 1 and up */
    uint16_t box[IR_TENSOR_RANK_MAX]; /* im2col: [0] channels of a pixel, [1] pixels of a column */
    uint8_t step[IR_TENSOR_RANK_MAX]; /* of which elements one in so many is copied */
    uint8_t unused;
    int16_t lower[IR_TENSOR_RANK_MAX - 2]; /* im2col: corners of the box of pixels: W, H, D; */
    int16_t upper[IR_TENSOR_RANK_MAX - 2]; /* upper ones from the end of the tensor */
    uint8_t unused_too[4];
};
_Static_assert(sizeof(struct ir_tensor_map) == IR_TENSOR_MAP_B, "programs reserve so much");
_Static_assert(offsetof(struct ir_tensor_map, interleave) == 10,
               "bits 16 to 23 of the second word");

/* What is wrong with it; NULL: nothing. */
const char *ir_tensor_map_refusal(const struct ir_tensor_map *map);

unsigned ir_tensor_type_bits(enum ir_tensor_type type);
enum ir_type ir_tensor_type_reduced(enum ir_tensor_type type);
/* Sub-byte elements with gaps between each 16 of them in shared memory. */
static inline bool ir_tensor_type_is_padded(enum ir_tensor_type type)
{
    return type == IR_TENSOR_B4X16_P64 || type == IR_TENSOR_B6X16_P32;
}
/* Bytes of a slice; 0: not interleaved. */
static inline unsigned ir_tensor_slice_B(const struct ir_tensor_map *map)
{
    return map->interleave ? 8u << map->interleave : 0;
}
/* Bytes that a pattern of swizzled atoms repeats after; 0: not swizzled. */
static inline unsigned ir_tensor_span_B(const struct ir_tensor_map *map)
{
    static const uint8_t spans[IR_TENSOR_SWIZZLES] = {0, 32, 64, 128, 96};
    return spans[map->swizzle];
}

#endif
