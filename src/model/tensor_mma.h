/*
 * Private to src/model/tensor_*.c: a product in tensor memory, step by step. The descriptor says
 * what it is (model/tensor_describe.c), matrices, metadata and scales are read
 * (model/tensor_read.c), then the sums are made (model/tensor_mma.c). What can be wrong is found
 * before anything is changed.
 */
#ifndef HD_MODEL_TENSOR_MMA_H
#define HD_MODEL_TENSOR_MMA_H

#include "model/tensor_private.h"

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
    struct ir_tensor_coord at, metadata; /* of d */
    bool folded_scales;                  /* the matrices are scaled */
    float scale_a[IR_TENSOR_M_MAX][IR_TENSOR_SCALES_MAX];
    float scale_b[IR_TENSOR_BLOCKS][IR_TENSOR_N_MAX][IR_TENSOR_SCALES_MAX]; /* each block's */
};

/* Of the instruction and its descriptor; false: there is no such product. */
bool ir_tensor_mma_describe(struct ir_tensor_mma *p) HD_MUST_CHECK;
/* Is this column of b zero, whatever is in memory? */
bool ir_tensor_mma_is_zero(const struct ir_tensor_mma *p, unsigned column);

/* Where things are in tensor memory. Columns of a, of metadata, and bits of an element. */
unsigned ir_tensor_mma_a_columns(const struct ir_tensor_mma *p);
unsigned ir_tensor_mma_metadata_columns(const struct ir_tensor_mma *p);
unsigned ir_tensor_mma_bits(enum ir_type type);
/* Is a row of d, in this lane, not to be written? */
bool ir_tensor_mma_is_off(const struct ir_tensor_mma *p, unsigned row, unsigned lane);

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

/* Of a row of a part of d. */
static inline unsigned ir_tensor_mma_d_lane(const struct ir_tensor_mma *p, unsigned part,
                                            unsigned row)
{
    return p->at.lane + ir_tensor_mma_lane(p, row) + part * p->rows;
}

/* Columns of the scales of a row of a; of the products of 128 rows that a pair makes, both blocks
 * have all rows' scales. */
static inline unsigned ir_tensor_mma_a_scale_columns(const struct ir_tensor_mma *p)
{
    return (p->layout == IR_TENSOR_FOLDED ? p->m : p->rows) / 32;
}

static inline struct ir_tensor_coord ir_tensor_mma_a_scale(const struct ir_tensor_mma *p,
                                                           struct ir_tensor_coord at, unsigned row)
{
    unsigned lane = at.lane + row % p->rows / 32 * 32 + row % 32;
    unsigned count = ir_tensor_mma_a_scale_columns(p) * 32;

    return (struct ir_tensor_coord){lane % IR_TENSOR_LANES, at.column + row % count / 32};
}

/* Each block has those of all columns; of parts of n, each part's lanes have the part's. */
static inline struct ir_tensor_coord ir_tensor_mma_b_scale(const struct ir_tensor_mma *p,
                                                           struct ir_tensor_coord at, unsigned col)
{
    unsigned width = p->n / p->parts, in_part = col % width;
    unsigned lane = at.lane + col / width * p->rows + in_part % 32;

    return (struct ir_tensor_coord){lane % IR_TENSOR_LANES, at.column + in_part / 32};
}

#define IR_TENSOR_SCALE_ADDRESS_MASK 0x3fffffffu /* the upper bits are in the descriptor */

#endif
