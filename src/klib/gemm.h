/*
 * What a product of matrices is told: the parameters of the kernel library's GEMM, native (gemm.c)
 * and as PTX (kernels.cu). C and CUDA C++.
 */
#ifndef HD_KLIB_GEMM_H
#define HD_KLIB_GEMM_H

#include <stdint.h>

/* Types of elements. */
enum klib_type {
    KLIB_F32,
    KLIB_F64,
    KLIB_C32,
    KLIB_C64,
    KLIB_F16,
    KLIB_BF16,
    KLIB_I8,
    KLIB_I32,
    KLIB_E4M3,
    KLIB_E5M2,
    KLIB_E2M1, /* two in a byte, the first in its low half */
    KLIB_U8,
    KLIB_I64,
    KLIB_BOOL,  /* a byte: 0 or 1 */
    KLIB_UE8M0, /* a power of two */
};

struct klib_matrix {
    void *address;    /* or an array of them */
    int64_t ld, step; /* step: elements from problem to problem */
    uint8_t type;     /* enum klib_type */
    uint8_t op;       /* 'N', 'T', 'C'; 'R': conjugated, not transposed */
    uint8_t is_listed;
};

/* Elements that are not the engine's become floats. */
enum klib_engine {
    KLIB_OPENBLAS,
    KLIB_ONEDNN,        /* elements as they are */
    KLIB_ONEDNN_FLOATS, /* floats that elements have become */
    KLIB_CORES,         /* as a GPU's tensor cores add (HEDDLE_MMA) */
};

/*
 * C = alpha op(A) op(B) + beta C, for each problem of a batch; C is m x n. Sums have the type
 * `sums`: F32 for halves and bytes, I32 for bytes with an I32 result, else that of the elements.
 * Tiles: problems x row blocks x column blocks, rows fastest.
 */
struct klib_gemm {
    struct klib_matrix a, b, c;
    int64_t m, n, k;
    uint32_t row_blocks, column_blocks;
    uint8_t sums;          /* enum klib_type */
    uint8_t factors;       /* likewise: as `sums`, or F16 */
    uint8_t factors_there; /* in memory of the device */
    uint8_t is_pedantic;   /* elements of 16 bits are multiplied as floats, subnormal ones too */
    uint8_t engine;        /* enum klib_engine; gemm_blocks() sets it */
    union {
        const void *address;
        double value[2]; /* or floats, a half, an int32_t */
    } alpha, beta;
};

#endif
