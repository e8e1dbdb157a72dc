/*
 * cuBLASLt's kernels: a product of matrices that ends in an epilogue (a bias, an activation, a
 * conversion with factors), and sums of matrices in other layouts.
 */
#ifndef HD_KLIB_LT_H
#define HD_KLIB_LT_H

#include "klib/klib.h"

/* Factors of a matrix. What is `outer` is a row of op(A), a column of op(B). */
enum klib_lt_scale {
    KLIB_LT_NONE,
    KLIB_LT_SCALAR,   /* one float */
    KLIB_LT_OUTER,    /* a float for each outer */
    KLIB_LT_VEC16,    /* UE4M3 for 16 of k, in tiles of 128 outer by 4 blocks of k */
    KLIB_LT_VEC32,    /* UE8M0 for 32 of k, likewise */
    KLIB_LT_VEC128,   /* a float for 128 of k: outer fastest */
    KLIB_LT_BLOCK128, /* a float for 128 outer by 128 of k: k fastest, rows padded to 4 floats */
};

struct klib_lt_factors {
    const void *address;
    uint8_t mode; /* enum klib_lt_scale */
};

/* Epilogues, as cuBLASLt's bits. */
enum klib_lt_epilogue {
    KLIB_LT_RELU = 2,
    KLIB_LT_BIAS = 4,
    KLIB_LT_DRELU = 8,
    KLIB_LT_BGRAD = 16,
    KLIB_LT_GELU = 32,
    KLIB_LT_DGELU = 64,
    KLIB_LT_AUX = 128,
    KLIB_LT_BGRADA = 256,
    KLIB_LT_BGRADB = 512,
};

/* Matrices beside the product; `step` counts elements from problem to problem. */
struct klib_lt_beside {
    void *address;
    int64_t ld, step;
    uint8_t type;
};

/*
 * D = epilogue(alpha op(A) op(B) + beta C) in blocks of block_rows x block_columns. g.c is D.
 * Tiles: problems x row blocks x column blocks, rows fastest.
 *
 * D is stored by columns. One that is stored by rows is the transposed product, whose `is_turned`
 * says that vectors along D's rows (bias, alpha) are along columns here.
 */
struct klib_lt_matmul {
    struct klib_gemm g;
    struct klib_matrix c; /* not transposed */
    int64_t block_rows, block_columns;
    uint16_t epilogue;
    uint8_t is_turned;
    uint8_t alpha_vector, beta_vector; /* in memory of the device, an element for each row of D */
    uint8_t alpha_there, beta_there;   /* one element, in memory of the device */
    int64_t vector_step;               /* elements from problem to problem */
    struct klib_lt_factors a_factors, b_factors;
    const float *c_factor, *d_factor, *aux_factor; /* or NULL */
    float *d_amax, *aux_amax;                      /* or NULL; 0 before */
    void *d_out;                                   /* factors that are made for D */
    uint8_t d_out_mode;                            /* NONE, VEC16 or VEC32 */
    struct klib_lt_beside bias, aux;
};

/* C = alpha op(A) + beta op(B), element by element; tiles are 64 columns of C each. */
struct klib_lt_transform {
    struct {
        void *address;
        int64_t row, column, step; /* elements to the next one */
        uint8_t type;
    } a, b, c; /* b.address NULL: none */
    int64_t m, n;
    uint8_t factors, factors_there; /* enum klib_type */
    union {
        const void *address;
        double value;
    } alpha, beta;
};
enum { KLIB_LT_TRANSFORM_COLUMNS = 64 };

struct klib_lt {
    heddle_native_fn *matmul;    /* of a struct klib_lt_matmul */
    heddle_native_fn *transform; /* of a struct klib_lt_transform */
    /* Sets the blocks' sizes; the number of tiles. */
    uint64_t (*blocks)(struct klib_lt_matmul *p, uint64_t problems, unsigned threads);
};

extern const struct klib_lt klib_lt;

#endif
