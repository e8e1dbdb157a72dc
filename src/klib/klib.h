/*
 * The kernel library: what cuBLAS and its like compute with. On the CPU device its kernels are
 * native kernels (heddle/native.h) over libraries of the host; they are in a library of their own,
 * libheddle-klib.so, which a front opens when something is computed first.
 *
 * A kernel has one of the structures below for its parameters. Matrices are stored by columns, as
 * BLAS has them; sizes and leading dimensions count elements.
 */
#ifndef HD_KLIB_KLIB_H
#define HD_KLIB_KLIB_H

#include <heddle/native.h>
#include <stdint.h>

/* ---- routines of BLAS and LAPACK */

enum klib_routine_id {
#include <klib_routines.inc>
    KLIB_ROUTINES
};

struct klib_routine {
    const char *name; /* of BLAS: "sgemv" */
    /* Each argument is an address, as in Fortran; what is an array is its own address. */
    void (*run)(void *const *args);
};

enum { KLIB_ARGS = 20 };

/* Where an argument is. */
enum klib_where {
    KLIB_HERE,   /* in the argument itself: a size, a letter, a factor of the host's */
    KLIB_MORE,   /* in `more` of the call */
    KLIB_THERE,  /* in memory of the device */
    KLIB_STEPS,  /* there, `step` bytes further for each problem of a batch */
    KLIB_LISTED, /* there: an array has the address for each problem of a batch */
};

struct klib_arg {
    union {
        int64_t number;
        char letter;
        void *address;
        double factor[2]; /* or floats */
    } v;
    int64_t step; /* bytes */
};

/* A routine on each problem of a batch: a tile is one problem. */
struct klib_call {
    uint32_t routine; /* enum klib_routine_id */
    uint32_t nargs;
    uint8_t where[KLIB_ARGS]; /* enum klib_where */
    struct klib_arg args[KLIB_ARGS];
    double more[5]; /* five factors of the host's: rotm's */
};

/* ---- products of matrices */

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
    union {
        const void *address;
        double value[2]; /* or floats, a half, an int32_t */
    } alpha, beta;
};

/* ---- the library */

/*
 * Of further libraries: klib/curand.h, klib/dnn.h, klib/dnn_graph.h, klib/fft.h, klib/lt.h,
 * klib/solver.h, klib/sparse.h.
 */
struct klib_curand;
struct klib_dnn;
struct klib_dnn_graph;
struct klib_fft_api;
struct klib_lt;
struct klib_solver;
struct klib_sparse_library;

/* What libheddle-klib.so exports as KLIB_ENTRY. */
struct klib {
    heddle_native_fn *blas; /* of a struct klib_call */
    heddle_native_fn *gemm; /* of a struct klib_gemm */
    /* Sets how many blocks of rows and columns the product of each problem is best cut into. */
    void (*gemm_blocks)(struct klib_gemm *g, uint64_t problems, unsigned threads);
    /* About: whether it is worth the device's threads. */
    uint64_t (*gemm_ns)(const struct klib_gemm *g, uint64_t problems);
    const struct klib_routine *routines;
    const struct klib_curand *curand;
    const struct klib_dnn *dnn;
    const struct klib_dnn_graph *dnn_graph;
    const struct klib_fft_api *fft;
    const struct klib_lt *lt;
    const struct klib_solver *solver;
    const struct klib_sparse_library *sparse;
};

#define KLIB_ENTRY "heddle_klib"

#endif
