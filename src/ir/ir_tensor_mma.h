/*
 * Private to src/ir/ir_tensor_*.c: a product in tensor memory, step by step. The descriptor says
 * what it is (ir_tensor_describe.c), matrices, metadata and scales are read (ir_tensor_read.c),
 * then the sums are made (ir_tensor_mma.c). What can be wrong is found before anything is changed.
 */
#ifndef HD_IR_IR_TENSOR_MMA_H
#define HD_IR_IR_TENSOR_MMA_H

#include "ir/ir_tensor.h"

enum { IR_TENSOR_SCALES_MAX = 4, IR_TENSOR_SHIFT_MAX = 32 };

struct ir_tensor_kind_info {
    uint8_t k;      /* of dense products */
    uint8_t padded; /* elements below 8 bits have, in shared memory, 16 to a piece */
    uint8_t box;    /* bits of an element in tensor memory; 0: its own */
    bool scaled;
    enum ir_type types[6]; /* by number */
    enum ir_type sums[3];
};

/* How rows of d lie in lanes: one after the other; 16 in each quarter; in parts of n. */
enum ir_tensor_layout { IR_TENSOR_WHOLE, IR_TENSOR_SCATTERED, IR_TENSOR_FOLDED };

struct ir_tensor_mma {
    const struct ir_tensor *op;
    const struct ir_tensor_cta *cta;
    const uint32_t *src;
    struct ir_tensor_error *error;
    const struct ir_tensor_kind_info *kind;
    unsigned m, n, k, stored_k;
    unsigned rows;  /* of a and d in each block */
    unsigned parts; /* of n, that lie below each other; more than one: FOLDED */
    enum ir_tensor_layout layout;
    enum ir_type a, b, d;
    bool minus, trans_a, trans_b, saturates, sparse;
    unsigned selector, scale_id_a, scale_id_b;
    enum ir_type scale;
    unsigned shift;                      /* of b: its first column */
    uint64_t zeros;                      /* a descriptor: which columns of b are zero */
    struct ir_tensor_place at, metadata; /* of d */
    bool folded_scales;                  /* the matrices are scaled */
    float scale_a[IR_TENSOR_M_MAX][IR_TENSOR_SCALES_MAX];
    float scale_b[IR_TENSOR_BLOCKS][IR_TENSOR_N_MAX][IR_TENSOR_SCALES_MAX]; /* each block's */
};

/* Of the instruction and its descriptor; false: there is no such product. */
bool ir_tensor_mma_describe(struct ir_tensor_mma *p) HD_MUST_CHECK;
/* Is this column of b zero, whatever is in memory? */
bool ir_tensor_mma_is_zero(const struct ir_tensor_mma *p, unsigned column);

/* Matrices as f32 into the own block's room, scales, and where metadata is. */
bool ir_tensor_mma_read(struct ir_tensor_mma *p) HD_MUST_CHECK;
/* The column of a that its stored element `j` of a row is. */
unsigned ir_tensor_mma_column(const struct ir_tensor_mma *p, unsigned row, unsigned j);

static inline uint32_t ir_tensor_mma_source(const struct ir_tensor_mma *p, unsigned source)
{
    return p->src[source * 32 + p->cta->lane];
}

static inline const struct ir_tensor_block *ir_tensor_mma_block(const struct ir_tensor_mma *p,
                                                                unsigned row)
{
    return &p->cta->block[row / p->rows];
}

/* Of a row, in its block, from the matrix's first lane on. */
static inline unsigned ir_tensor_mma_lane(const struct ir_tensor_mma *p, unsigned row)
{
    unsigned own = row % p->rows;

    return p->layout == IR_TENSOR_SCATTERED ? own / 16 * 32 + own % 16 : own;
}

/* Lanes from the first to the last row's; with the parts of d, all. */
static inline unsigned ir_tensor_mma_lanes(const struct ir_tensor_mma *p, bool parts)
{
    if (p->layout == IR_TENSOR_FOLDED)
        return parts ? IR_TENSOR_LANES : p->rows;
    return ir_tensor_mma_lane(p, p->rows - 1) + 1;
}

#endif
