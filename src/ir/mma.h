/*
 * Private to src/ir: where the elements of a matrix product are, in registers and in matrices.
 * struct ir_mma in ir.h describes the layout, ir_mma.c follows it.
 */
#ifndef HD_IR_MMA_H
#define HD_IR_MMA_H

#include "ir/ir.h"

enum {
    IR_MMA_LANES = 32,
    IR_MMA_A_MAX = 1024, /* elements that the model has room for */
    IR_MMA_B_MAX = 1024,
    IR_MMA_C_MAX = 256,
};

static inline bool ir_mma_has(const struct ir_mma *mma, enum ir_mma_flag flag)
{
    return (mma->flags >> flag & 1) != 0;
}

/* Columns of a as it is stored, in elements: half of k when sparse. B1 counts words of 32. */
unsigned ir_mma_stored_k(const struct ir_mma *mma);
/* Rows of b. */
unsigned ir_mma_full_k(const struct ir_mma *mma);
/* Rows of a and c, columns of b: four matrices of QUADS lie under and beside each other. */
unsigned ir_mma_rows(const struct ir_mma *mma);
unsigned ir_mma_b_columns(const struct ir_mma *mma);
/* Bits that an element of an operand takes in a register; B1: a word of elements. */
unsigned ir_mma_width(const struct ir_mma *mma, char operand);
/* Bits of metadata that belong to a row of a: 16, 32 or 64. */
unsigned ir_mma_metadata_bits(const struct ir_mma *mma);
/* Column of a that its stored element `j` of `row` is; `metadata` is a register of 32 lanes. */
unsigned ir_mma_sparse_column(const struct ir_mma *mma, const uint32_t *metadata, unsigned row,
                              unsigned j);

#endif
