/*
 * Tensor memory and the operations of tcgen05 on it.
 *
 * A CTA has 128 lanes of 512 columns of 32 bits. An address is a lane in its upper and a column in
 * its lower half. Columns are allocated, in all lanes, in powers of two from 32 on; what is not
 * allocated is not accessed. A warp loads and stores its own quarter of the lanes, which its number
 * modulo four gives; products and copies from shared memory see all of them.
 *
 * PAIR operations work in the tensor memory of two blocks, those of a cluster whose ranks differ
 * in the lowest bit. An allocation takes the same columns in both, when both ask; copies and shifts
 * are made in each from its own memory. Of a product, each has half of the rows of a and d, the
 * even block the first half, and half of b's columns in its shared memory.
 *
 * Sources and results are registers of 32 lanes, 32 bits each, in the order of enum ir_tensor_op's
 * list in spec/ir_enums.def. What is one thread's or one warp's is taken from lane `lane`.
 */
#ifndef HD_MODEL_TENSOR_H
#define HD_MODEL_TENSOR_H

#include "ir/payload.h"
#include "model/matrix.h"

enum {
    IR_TENSOR_LANES = 128,
    IR_TENSOR_COLUMNS = 512,
    IR_TENSOR_UNIT = 32,   /* columns */
    IR_TENSOR_M_MAX = 256, /* of a pair */
    IR_TENSOR_N_MAX = 256,
    IR_TENSOR_K_MAX = 128,
    IR_TENSOR_BLOCKS = 2,          /* of a pair */
    IR_TENSOR_REGISTERS_MAX = 130, /* of one instruction */
    IR_TENSOR_WAIT = -1            /* no address: there is not enough memory yet */
};

/* A warp of a pair that wants columns; 0: none does. */
struct ir_tensor_request {
    uint32_t columns;
    uint32_t warp;
    uint32_t address; /* what it has got; IR_TENSOR_WAIT: nothing yet */
};

struct ir_tensor_memory {
    uint64_t owner[3];  /* whose it is: what tells one CTA from all others */
    uint32_t allocated; /* a bit for each 32 columns */
    uint32_t first;     /* those that begin an allocation */
    bool relinquished;
    struct ir_tensor_request request;
    uint32_t cell[IR_TENSOR_LANES][IR_TENSOR_COLUMNS] __attribute__((aligned(64)));
    /* Room for the matrices of a product, as f32, which has all their elements. */
    float a[IR_TENSOR_M_MAX * IR_TENSOR_K_MAX] __attribute__((aligned(64)));
    float b[IR_TENSOR_K_MAX * IR_TENSOR_N_MAX] __attribute__((aligned(64)));
};

/*
 * For m rows: d (n numbers) += a (k numbers) * b (k rows of n numbers, ldb apart), in the order of
 * k, each sum rounded once; NaN is canonical in the end.
 */
struct ir_tensor_product {
    float *d[IR_TENSOR_M_MAX];
    const float *a[IR_TENSOR_M_MAX];
    const float *b;
    unsigned m, n, k, ldb;
};

/* What a device does faster than the model, with the same bits. */
struct ir_tensor_fast {
    /* False: not one that it reads, or a piece is outside of the window. */
    bool (*read)(const struct ir_matrix_panel *panel);
    void (*product)(const struct ir_tensor_product *p);
};

struct ir_tensor_block {
    struct ir_tensor_memory *memory;
    struct ir_matrix_window window;
};

struct ir_tensor_cta {
    struct ir_tensor_block block[IR_TENSOR_BLOCKS]; /* of PAIR: the even one first; else the own */
    unsigned nblocks, own;                          /* 1: there is no pair */
    unsigned warp, lane;
    const struct ir_tensor_fast *fast; /* NULL: the model */
};

struct ir_tensor_error {
    enum hd_status status;
    uint64_t at;
    const char *why;
};

/* False: nothing is done; the error says why not. */
bool ir_tensor_do(const struct ir_tensor *op, const struct ir_tensor_cta *cta, const uint32_t *src,
                  uint32_t *dst, struct ir_tensor_error *out_error) HD_MUST_CHECK;
/*
 * The pieces of shared memory that CP or MMA reads. Of `cta` only nblocks and lane count. False:
 * there is no such product.
 */
bool ir_tensor_pieces(const struct ir_tensor *op, const struct ir_tensor_cta *cta,
                      const uint32_t *src, ir_matrix_visit *visit, void *user) HD_MUST_CHECK;
/* Rows, columns and depth of the product that MMA makes, of a pair the whole; likewise. */
bool ir_tensor_shape(const struct ir_tensor *op, const struct ir_tensor_cta *cta,
                     const uint32_t *src, unsigned out_mnk[3]) HD_MUST_CHECK;
/* Cells that an operation accesses: of a block's tensor memory, or beyond its end. */
enum ir_tensor_use {
    IR_TENSOR_READS,
    IR_TENSOR_WRITES,
    IR_TENSOR_MOVES /* each lane gets what the one behind it has (ir_tensor_shifted()) */
};
struct ir_tensor_cells {
    enum ir_tensor_use use;
    unsigned block;
    unsigned lane, nlanes, column, ncolumns;
    const char *of; /* of a product: "d", "a", ...; else NULL */
};
typedef void ir_tensor_visit(void *user, const struct ir_tensor_cells *cells);
/*
 * Visits the cells of LD, ST, CP, SHIFT and MMA, some more than once. Of `cta` only nblocks, own,
 * warp and lane count; what is allocated is not asked. False: the device will refuse it whatever is
 * allocated, for the reason in the error.
 */
bool ir_tensor_cells(const struct ir_tensor *op, const struct ir_tensor_cta *cta,
                     const uint32_t *src, ir_tensor_visit *visit, void *user,
                     struct ir_tensor_error *out_error) HD_MUST_CHECK;
/* The lane below, whose row takes the row's place when rows are shifted down; quarters keep their
 * last one. */
static inline unsigned ir_tensor_shifted(unsigned lane)
{
    return lane % 32 == 31 ? lane : lane + 1;
}

/* Makes the memory that of another CTA, unless it is. */
void ir_tensor_memory_own(struct ir_tensor_memory *memory, const uint64_t owner[3]);

/* Columns that are allocated; what a CTA has when it ends is an error, and this says so. */
#define IR_TENSOR_LEFT "the block ends with tensor memory allocated"
unsigned ir_tensor_columns_left(const struct ir_tensor_memory *memory);

#endif
