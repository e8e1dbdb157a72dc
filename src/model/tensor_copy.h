/*
 * One tensor copy (PTX ISA 9.7.9.27, cp.async.bulk.tensor and cp.reduce.async.bulk.tensor): the box
 * that a tensor map describes, between global memory and the shared memory of one block. Every
 * device makes copies with this code; only how it reaches global memory is its own.
 *
 *     struct ir_tensor_copy c;
 *     why = ir_tensor_copy_init(&c, &map, in->imm, coordinates, info);
 *     ...                                  check that c.shared_B bytes are there, aligned
 *     ok = ir_tensor_copy_run(&c, shared, offset_of_shared_in_its_window, memory);
 *
 * A box is rows of elements that lie side by side: of dimension 0, or the channels of a pixel. Rows
 * lie in shared memory one after the other, at least as far apart as the pattern of the swizzle is
 * wide. Which atom goes where is a matter of the address in the shared window, so a box need not
 * start where the pattern does.
 *
 * What the manual leaves open is as on hardware where others have measured it: OOB-NaN is 0x7ff7 in
 * every 16 bits, elements of tf32 are rounded to nearest even on their way in (NaN: 0x7fffe000),
 * .ftz matters for reductions only, the halo pixels of im2col::w::128 follow behind all others, one
 * of each group of 32 after the other, gaps between packed elements are not written, and bytes that
 * an mbarrier is told are those without gaps.
 */
#ifndef HD_MODEL_TENSOR_COPY_H
#define HD_MODEL_TENSOR_COPY_H

#include "model/tensor_map.h"

#define IR_TENSOR_OOB_NAN 0x7ff7u /* also what fma.oob looks for */

enum { IR_TENSOR_SHARED_ALIGN_B = 128, IR_TENSOR_INFO_MAX = 3 };

struct ir_tensor_copy {
    struct ir_tensor_map map; /* programs may change theirs meanwhile */
    struct ir_tensor_what what;
    int64_t at[IR_TENSOR_RANK_MAX]; /* ROWS4: column, then four rows */
    uint32_t info[IR_TENSOR_INFO_MAX];
    uint32_t element_bits;      /* bits of what lies side by side in a row: elements or slices */
    uint32_t inner, first, end; /* elements of a row, and which of them are inside the tensor */
    uint32_t nrows;
    uint32_t row_B, padded_row_B; /* in global and in shared memory */
    uint32_t pitch_B;
    uint32_t shared_B; /* what it touches there */
    uint64_t bytes;    /* what an mbarrier is told */
};

/*
 * `infos` are im2col offsets by dimension from W on, or wHalo and wOffset. What is wrong, for the
 * fault of the kernel; NULL: nothing.
 */
const char *ir_tensor_copy_init(struct ir_tensor_copy *c, const struct ir_tensor_map *map,
                                uint64_t imm, const int32_t *coordinates, const uint32_t *infos);

/* How global memory is reached; without, its addresses are pointers. */
struct ir_tensor_global {
    /* NULL ends the copy. No request crosses a multiple of piece_B, a power of two. */
    void *(*translate)(void *user, uint64_t address, uint64_t size_B, bool write);
    void *user;
    uint64_t piece_B;
};

/* `shared` has c->shared_B bytes, at offset `shared_at` of its window. False: `memory` said so. */
bool ir_tensor_copy_run(const struct ir_tensor_copy *c, char *shared, uint64_t shared_at,
                        const struct ir_tensor_global *memory);
/* The stretches of global memory that it would access, in their order. False: no memory. */
typedef void ir_tensor_stretch(void *user, uint64_t va, uint64_t size_B, bool write);
bool ir_tensor_copy_stretches(const struct ir_tensor_copy *c, ir_tensor_stretch *visit, void *user)
    HD_MUST_CHECK;

#endif
