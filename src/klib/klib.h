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

#include "klib/gemm.h"

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

/* oneDNN, where it was found. */
struct klib_onednn {
    const char *path;
    unsigned major, minor, patch;
    uint32_t isa; /* as its dnnl_get_effective_cpu_isa() says */
};

/* ---- the library */

/*
 * In heddle-klib.ptx (kernels.cu), which lies beside the library: takes a struct klib_gemm, as the
 * native kernel does.
 */
#define KLIB_PTX_GEMM         "klib_gemm_kernel"
#define KLIB_PTX_GEMM_THREADS 256

/* Of further libraries: klib/NAME.h. */
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
    /* Chooses the engine, and how many blocks of rows and columns the product of each problem is
     * best cut into. */
    void (*gemm_blocks)(struct klib_gemm *g, uint64_t problems, unsigned threads);
    /* About: whether it is worth the device's threads. */
    uint64_t (*gemm_ns)(const struct klib_gemm *g, uint64_t problems);
    const struct klib_onednn *(*onednn)(void); /* NULL: not found */
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
