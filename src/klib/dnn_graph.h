/*
 * Programs of cuDNN's operation graphs. The front turns a graph into steps; each is one native
 * kernel, launched in the order of the program. A step makes blocks of numbers, such as a block of
 * a product of matrices or a segment of sums, and ends in code: a list of elementwise instructions
 * that runs on segments of a row and stores what is asked for. So what follows a product costs no
 * pass of its own over memory.
 *
 * A program is constant data without addresses; those that are alike are one. Launches refer to it:
 * it counts tiles of steps that were launched and those that have run, so that its owner sees when
 * none is left.
 */
#ifndef HD_KLIB_DNN_GRAPH_H
#define HD_KLIB_DNN_GRAPH_H

#include <stdbool.h>

#include "klib/dnn_level.h"
#include "klib/klib.h"

enum { DNN_DIMS = 8, DNN_BLOCK = 256, DNN_REGISTERS = 64, DNN_SLOTS = 200 };

/* name, bytes, of what cuDNN calls it */
#define DNN_TYPE_LIST(X)                                                                           \
    X(F32, 4, FLOAT)                                                                               \
    X(F64, 8, DOUBLE)                                                                              \
    X(F16, 2, HALF)                                                                                \
    X(BF16, 2, BFLOAT16)                                                                           \
    X(I8, 1, INT8)                                                                                 \
    X(U8, 1, UINT8)                                                                                \
    X(I32, 4, INT32)                                                                               \
    X(I64, 8, INT64)                                                                               \
    X(BOOL, 1, BOOLEAN)                                                                            \
    X(E4M3, 1, FP8_E4M3)                                                                           \
    X(E5M2, 1, FP8_E5M2)                                                                           \
    X(E8M0, 1, FP8_E8M0)                                                                           \
    X(C32, 8, COMPLEX_FP32)
enum dnn_type {
#define X(name, size_B, cudnn) DNN_##name,
    DNN_TYPE_LIST(X)
#undef X
    /* Two in a byte: strides count halves of bytes. */
    DNN_E2M1,
    DNN_I4,
    DNN_TYPES
};

/*
 * Where a tensor is: at an address of the call, at an offset in its workspace; one number of the
 * call; one that is in `offset`, as a double or an int64_t by its type.
 */
enum dnn_where { DNN_ADDRESS, DNN_WORKSPACE, DNN_VALUE, DNN_CONSTANT };

/* All tensors have DNN_DIMS dimensions, the first ones 1. */
struct dnn_graph_tensor {
    int64_t dims[DNN_DIMS], strides[DNN_DIMS]; /* elements */
    int64_t offset;                            /* elements; of a workspace: bytes */
    uint32_t slot;
    int16_t ragged;      /* tensor that has each first index's offset, or -1 */
    uint8_t type, where; /* enum dnn_type, enum dnn_where */
    uint8_t in_tiles;    /* scales: stored in tiles of 128 rows by 4 columns */
    uint8_t ragged_dim;  /* whose index the first one is; of pages: the batch's */
    uint8_t row_dim;     /* of tiles and pages */
    uint8_t column_dim;  /* of tiles */
    uint8_t has_pages, reserved;
    int16_t table,
        length; /* tensors: a page for each of a batch's, how many rows there are or -1 */
    int64_t page_rows, page_stride;
    uint32_t block[DNN_DIMS]; /* scales: elements of the scaled tensor that have one, 1 elsewhere */
};

/*
 * Elementwise: what cuDNN calls it, its arguments, and what it is of x, y and t, with parameters
 * p[0] to p[3]. Of derivatives x is the gradient that comes in, y the input.
 */
#define DNN_POINTWISE_LIST(X)                                                                      \
    X(ADD, 2, x + y)                                                                               \
    X(MUL, 2, x *y)                                                                                \
    X(MIN, 2, x < y || x != x ? x : y)                                                             \
    X(MAX, 2, x > y || x != x ? x : y)                                                             \
    X(SQRT, 1, F(sqrt)(x))                                                                         \
    X(ADD_SQUARE, 2, x + y * y)                                                                    \
    X(DIV, 2, x / y)                                                                               \
    X(MOD, 2, F(fmod)(x, y))                                                                       \
    X(POW, 2, F(pow)(x, y))                                                                        \
    X(SUB, 2, x - y)                                                                               \
    X(ABS, 1, F(fabs)(x))                                                                          \
    X(CEIL, 1, F(ceil)(x))                                                                         \
    X(COS, 1, F(cos)(x))                                                                           \
    X(EXP, 1, N(dnn_exp)(x))                                                                       \
    X(FLOOR, 1, F(floor)(x))                                                                       \
    X(LOG, 1, F(log)(x))                                                                           \
    X(NEG, 1, -x)                                                                                  \
    X(RSQRT, 1, 1 / F(sqrt)(x))                                                                    \
    X(SIN, 1, F(sin)(x))                                                                           \
    X(TAN, 1, F(tan)(x))                                                                           \
    X(ERF, 1, F(erf)(x))                                                                           \
    X(IDENTITY, 1, x)                                                                              \
    X(RECIPROCAL, 1, 1 / x)                                                                        \
    X(RELU_FWD, 1, x != x ? x : x < p[0] ? p[0] + p[2] * (x - p[0]) : x > p[1] ? p[1] : x)         \
    X(TANH_FWD, 1, N(dnn_tanh)(x))                                                                 \
    X(SIGMOID_FWD, 1, 1 / (1 + N(dnn_exp)(-x)))                                                    \
    X(ELU_FWD, 1, x > 0 ? x : p[0] * F(expm1)(x))                                                  \
    X(GELU_FWD, 1, x *(REAL)0.5 * (1 + F(erf)(x * (REAL)0.70710678118654752)))                     \
    X(SOFTPLUS_FWD, 1, (x * p[0] > 0 ? x : 0) + F(log1p)(N(dnn_exp)(-F(fabs)(x * p[0]))) / p[0])   \
    X(SWISH_FWD, 1, x / (1 + N(dnn_exp)(-p[0] * x)))                                               \
    X(GELU_APPROX_TANH_FWD, 1,                                                                     \
      (REAL)0.5 * x *                                                                              \
          (1 + N(dnn_tanh)((REAL)0.79788456080286536 * (x + (REAL)0.044715 * x * x * x))))         \
    X(RELU_BWD, 2, y > p[0] && y < p[1] ? x : y <= p[0] ? x * p[2] : 0)                            \
    X(TANH_BWD, 2, x * (1 - N(dnn_tanh)(y) * N(dnn_tanh)(y)))                                      \
    X(SIGMOID_BWD, 2,                                                                              \
      x *N(dnn_exp)(-F(fabs)(y)) /                                                                 \
          ((1 + N(dnn_exp)(-F(fabs)(y))) * (1 + N(dnn_exp)(-F(fabs)(y)))))                         \
    X(ELU_BWD, 2, y > 0 ? x : x * p[0] * N(dnn_exp)(y))                                            \
    X(GELU_BWD, 2,                                                                                 \
      x *((REAL)0.5 * (1 + F(erf)(y * (REAL)0.70710678118654752)) +                                \
          y * N(dnn_exp)(y * y * (REAL) - 0.5) * (REAL)0.39894228040143268))                       \
    X(SOFTPLUS_BWD, 2, x / (1 + N(dnn_exp)(-p[0] * y)))                                            \
    X(SWISH_BWD, 2,                                                                                \
      x * (1 / (1 + N(dnn_exp)(-p[0] * y)) +                                                       \
           p[0] * y * N(dnn_exp)(-F(fabs)(p[0] * y)) /                                             \
               ((1 + N(dnn_exp)(-F(fabs)(p[0] * y))) * (1 + N(dnn_exp)(-F(fabs)(p[0] * y))))))     \
    X(GELU_APPROX_TANH_BWD, 2, x *gelu_tanh_slope(y))                                              \
    X(CMP_EQ, 2, x == y)                                                                           \
    X(CMP_NEQ, 2, x != y)                                                                          \
    X(CMP_GT, 2, x > y)                                                                            \
    X(CMP_GE, 2, x >= y)                                                                           \
    X(CMP_LT, 2, x < y)                                                                            \
    X(CMP_LE, 2, x <= y)                                                                           \
    X(LOGICAL_AND, 2, x != 0 && y != 0)                                                            \
    X(LOGICAL_OR, 2, x != 0 || y != 0)                                                             \
    X(LOGICAL_NOT, 1, x == 0)                                                                      \
    X(BINARY_SELECT, 3, t != 0 ? x : y)

enum dnn_code_op {
#define X(name, args, value) DNN_##name,
    DNN_POINTWISE_LIST(X)
#undef X
        DNN_LOAD, /* elements of a tensor; dimensions of 1 are for all */
    DNN_STORE,
    DNN_INDEX,  /* along dimension `tensor` */
    DNN_RANDOM, /* Philox's, by an element's offset in `tensor`; seed and counter: p[2], p[3] */
    DNN_CONST,  /* p[0] */
    DNN_SCALE,  /* x times p[0] */
    DNN_CODE_OPS
};

/* register r becomes what `op` makes of registers a, b, c. */
struct dnn_code {
    uint16_t op; /* enum dnn_code_op */
    uint8_t r, a, b, c;
    int16_t tensor;
    double p[4];
};

enum dnn_step_kind {
    DNN_STEP_CODE,   /* nothing before the code */
    DNN_STEP_REDUCE, /* sums, or their like, of what x's code makes */
    DNN_STEP_MATMUL,
    DNN_STEP_CONV,
    DNN_STEP_RESAMPLE,
    DNN_STEP_RESAMPLE_BWD,
    DNN_STEP_QUANTIZE,
    DNN_STEP_GROUPED,
    DNN_STEP_ATTENTION,
    DNN_STEP_KINDS
};

enum dnn_reduce {
    DNN_SUM,
    DNN_PRODUCT,
    DNN_LEAST,
    DNN_MOST,
    DNN_AMAX,
    DNN_AVG,
    DNN_NORM1,
    DNN_NORM2,
    DNN_NONZERO
};

enum dnn_resample {
    DNN_RESAMPLE_NEAREST,
    DNN_RESAMPLE_BILINEAR,
    DNN_RESAMPLE_AVG,
    DNN_RESAMPLE_MAX,
    DNN_RESAMPLE_AVG_INSIDE
};
enum dnn_padding { DNN_PAD_ZERO, DNN_PAD_LEAST, DNN_PAD_EDGE };

/* Of resampling, in each of the last dimensions. */
struct dnn_window {
    double size, pre, stride;
};

/* A piece of the program's code. */
struct dnn_range {
    uint32_t first, count;
};

enum { DNN_STEP_TENSORS = 12, DNN_STEP_NUMBERS = 20 };

/*
 * One kernel. `dims` is what it makes; `code` runs on segments of its last dimension, with what was
 * made in register 0. Operands are code, too, over dimensions of their own, whose result is in the
 * register of the last instruction.
 */
struct dnn_step {
    uint8_t kind;    /* enum dnn_step_kind */
    uint8_t is_wide; /* computed as doubles, else floats */
    uint8_t mode;
    uint8_t flags;
    uint32_t tiles_reserved;
    uint64_t tiles, work_ns;
    int64_t dims[DNN_DIMS];
    struct dnn_range code;
    struct dnn_range operands[3];
    struct dnn_range scores, parts; /* of attention: code on scores, and on their softmax */
    int64_t operand_dims[3][DNN_DIMS];
    int16_t tensors[DNN_STEP_TENSORS]; /* or -1 */
    int64_t numbers[DNN_STEP_NUMBERS];
    struct dnn_window window[3];
    double reals[4];
};

struct dnn_program {
    uint64_t hash;
    _Atomic uint64_t launched, done; /* tiles; done: by the kernel, when it needs it no longer */
    uint32_t owners;                 /* of the front's */
    bool is_captured;                /* by a CUDA graph, which may launch it at any time */
    uint32_t size_B;
    uint32_t nslots, nsteps, ntensors, ncode;
    uint32_t reserved;
    uint64_t workspace_B;
    /* Then steps, tensors and code, in this order. */
};

static inline const struct dnn_step *dnn_steps(const struct dnn_program *p)
{
    return (const struct dnn_step *)(p + 1);
}
static inline const struct dnn_graph_tensor *dnn_tensors(const struct dnn_program *p)
{
    return (const struct dnn_graph_tensor *)(dnn_steps(p) + p->nsteps);
}
static inline const struct dnn_code *dnn_code(const struct dnn_program *p)
{
    return (const struct dnn_code *)(dnn_tensors(p) + p->ntensors);
}

/* Parameters of a launch: the addresses follow, as many as the program has slots. */
struct dnn_graph_call {
    struct dnn_program *program;
    uint32_t step;
    uint32_t nslots;
    char *workspace;
    union dnn_slot {
        void *address;
        double number;
        int64_t whole;
    } slots[DNN_SLOTS];
};

struct klib_dnn_graph {
    heddle_native_fn *run; /* of a struct dnn_graph_call */
    /* Fills a step's `tiles` and `work_ns`. */
    void (*plan)(struct dnn_step *step, unsigned threads);
};

#ifdef DNN_LEVEL
extern const struct klib_dnn_graph klib_dnn_graph;
#else
extern const struct klib_dnn_graph klib_dnn_graph_generic, klib_dnn_graph_avx2,
    klib_dnn_graph_avx512;
#endif

#endif
