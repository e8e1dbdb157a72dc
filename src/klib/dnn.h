/*
 * What cuDNN computes with: tensors of any layout, and kernels on them. A kernel has one of the
 * structures below for its parameters; its tiles are what `plan` says, which sets what the kernel
 * wants to know of them, and returns about what they cost.
 *
 *     struct klib_conv conv = {.kind = KLIB_CONV_FORWARD, .x = ..., ...};
 *     uint64_t tiles, ns = klib->dnn->conv_plan(&conv, lib_threads(), &tiles);
 *     lib_launch(handle, &kernel, "conv_forward", klib->dnn->conv, &conv, sizeof(conv), tiles, ns);
 *
 * Elements are made floats, or doubles where one of the tensors is of doubles or integers, and
 * rounded to the nearest of the result's type; integers saturate. Results do not depend on the
 * order of tiles.
 */
#ifndef HD_KLIB_DNN_H
#define HD_KLIB_DNN_H

#include <heddle/native.h>
#include <stdbool.h>
#include <stdint.h>

#include "klib/dnn_level.h"

enum { KLIB_DNN_DIMS = 8, KLIB_DNN_SPATIAL = 3 };

/*
 * Element (i[0], i[1], ...) is at the sum of i[d] * strides[d], which counts elements. Of `vector`
 * channels that lie together (4 or 32, of NC/4HW4 and NC/32HW32), channel c, the second
 * dimension's, is at c / vector * strides[1] + c % vector; else it is 1, or 0.
 */
struct klib_tensor {
    void *address; /* NULL: there is none */
    int64_t dims[KLIB_DNN_DIMS];
    int64_t strides[KLIB_DNN_DIMS];
    uint8_t rank;
    uint8_t type; /* enum klib_type */
    uint8_t vector;
};

/* ---- activations */

enum klib_activation {
    KLIB_ACT_IDENTITY,
    KLIB_ACT_RELU, /* x, not below p[0], not above p[1] */
    KLIB_ACT_SIGMOID,
    KLIB_ACT_TANH,
    KLIB_ACT_ELU,   /* x, below 0: p[0] (e^x - 1) */
    KLIB_ACT_SWISH, /* x sigmoid(p[0] x) */
};

struct klib_act {
    uint32_t kind; /* enum klib_activation */
    bool no_nan;   /* relu: NaN becomes the lower bound */
    double p[2];
};

/* ---- convolutions */

enum klib_conv_kind {
    KLIB_CONV_FORWARD, /* y of x and w */
    KLIB_CONV_DATA,    /* x of w and y */
    KLIB_CONV_FILTER,  /* w of x and y */
};

/*
 * x is N x C x spatial, w is K x (C / groups) x spatial, y is N x K x spatial, with one to three
 * spatial dimensions. The result is
 *
 *     act(alpha * sum + beta * z + bias)
 *
 * where z has the result's dimensions, and may be the result; bias has a number for each channel of
 * the result (its second dimension's), and act is for FORWARD alone.
 */
struct klib_conv {
    uint32_t kind;   /* enum klib_conv_kind */
    bool is_flipped; /* a convolution, not a cross-correlation */
    bool is_double;  /* sums are: of doubles and integers; `plan` sets it */
    struct klib_tensor x, w, y, z, bias;
    double alpha, beta;
    struct klib_act act;
    /* Before the first element; what is behind the last one follows from the sizes. */
    int64_t pad[KLIB_DNN_SPATIAL];
    int64_t stride[KLIB_DNN_SPATIAL], dilation[KLIB_DNN_SPATIAL]; /* 1 or more */
    int64_t groups;
    /* Of `plan`: elements of a tile, and how many there are of each. */
    bool is_depthwise;
    int64_t pixels, channels, slice;
    int64_t pixel_blocks, channel_blocks, slices, phases;
    uint8_t engine;              /* enum klib_engine */
    bool is_direct;              /* oneDNN writes the result itself */
    int64_t images, image_block; /* of oneDNN: of a tile, and of a part of it */
};

/* ---- everything else that is done to tensors */

/*
 * Kernels of a struct klib_dnn_op: name; what it computes of tensors t, factors alpha and beta,
 * numbers f and n, addresses p, in a `mode`. A result y is alpha[0] * (...) + beta[0] * y.
 * Statistics (p) have the type of the scale.
 */
/* clang-format off */
#define KLIB_DNN_LIST(X)                                                                           \
    X(pointwise, "t[0] of t[1], t[2], t[3], which repeat along dimensions of 1: enum klib_pointwise")  \
    X(reduce, "t[0] of t[1], over dimensions that are 1 in t[0]: enum klib_reduce; p[0]: indices of n[0] bytes") \
    X(softmax_forward, "t[0] of t[1], along dimensions n[0] (bits); mode 1: less the largest, 2: its logarithm") \
    X(softmax_backward, "gradient t[0] of the result t[1] and its gradient t[2]")                  \
    X(pool_forward, "t[0] of t[1]: enum klib_pool; n: windows, pads, strides, 3 each")             \
    X(pool_backward, "gradient t[0] of t[1] (x), t[2] (y's gradient)")                             \
    X(norm_train, "t[0] of t[1], scale t[2], bias t[3], added t[4]; n[0]: dimensions of a channel; " \
      "p: running mean, variance, saved mean, 1/deviation; f: epsilon, weight of the new")         \
    X(norm_infer, "t[0] of t[1], scale t[2], bias t[3], added t[4], mean t[5], variance t[6]; f[0]: epsilon") \
    X(norm_backward, "t[0] of x t[1], y's gradient t[2], scale t[3], y t[4]; gradient t[5] of what was added; " \
      "p: gradients of scale, bias, saved mean, 1/deviation; n[0], f[0] as before")                \
    X(lrn_forward, "t[0] of t[1] across n[0] channels; f: alpha, beta, k")                         \
    X(lrn_backward, "gradient t[0] of x t[1], y t[2], y's gradient t[3]")                          \
    X(dropout_forward, "t[0] of t[1]; p: state, mask; f[0]: probability")                          \
    X(dropout_backward, "t[0] of t[1], p[1]: mask")                                                \
    X(dropout_seed, "p[0]: a state of seed n[0]")                                                  \
    X(grid_forward, "p[0]: grid N H W 2 of p[1], N 2 3, in t[0]'s dimensions and type")            \
    X(grid_backward, "p[1] of p[0]")                                                               \
    X(sampler_forward, "t[0] of t[1] at grid p[0]")                                                \
    X(sampler_data, "gradient t[0] of x, of y's gradient t[1], at grid p[0]")                      \
    X(sampler_grid, "gradient p[1] = alpha[0] (...) + beta[0] p[1] of x t[1], y's gradient t[0], grid p[0]") \
    X(ctc, "costs p[0] and gradient t[0] of t[1]; p: labels, their lengths, inputs' lengths; " \
      "mode 1: inputs are activations; n[0]: gradients of what cannot be are kept")                \
    X(copy, "n[0] bytes to p[0] from p[1]")
/* clang-format on */
enum klib_dnn_kernel {
#define X(name, what) KLIB_DNN_##name,
    KLIB_DNN_LIST(X)
#undef X
        KLIB_DNN_KERNELS
};

/* a, b: alpha[0] * t[1], alpha[1] * t[2]; beta[0] * t[0] is added to all. */
enum klib_pointwise {
    KLIB_PW_COPY, /* a */
    KLIB_PW_FILL, /* f[0] */
    KLIB_PW_ADD,  /* a + b */
    KLIB_PW_MUL,  /* a b */
    KLIB_PW_MIN,  /* of a, b */
    KLIB_PW_MAX,
    KLIB_PW_SQRT,         /* of a */
    KLIB_PW_NOT,          /* 1 - a */
    KLIB_PW_ACT,          /* alpha[0] * act(t[1]) */
    KLIB_PW_ACT_BACKWARD, /* alpha[0] * its derivative by y t[1], x t[3], times t[2] */
};

enum klib_reduce {
    KLIB_REDUCE_ADD,
    KLIB_REDUCE_MUL,
    KLIB_REDUCE_MIN,
    KLIB_REDUCE_MAX,
    KLIB_REDUCE_AMAX,
    KLIB_REDUCE_AVG,
    KLIB_REDUCE_NORM1,
    KLIB_REDUCE_NORM2,
    KLIB_REDUCE_MUL_NO_ZEROS,
};

enum klib_pool { KLIB_POOL_MAX, KLIB_POOL_AVERAGE, KLIB_POOL_AVERAGE_INSIDE };

/* What a dropout's states begin with: the rest is not used. */
struct klib_dropout_state {
    uint64_t seed, offset;
    _Atomic uint64_t done; /* tiles of the kernel that runs */
};

struct klib_dnn_op {
    uint32_t kernel; /* enum klib_dnn_kernel */
    uint32_t mode;
    bool is_double, no_nan;
    struct klib_act act;
    double alpha[2], beta[2], f[4];
    int64_t n[9];
    void *p[5];
    struct klib_tensor t[7];
    /* Of `plan`. */
    int64_t block, tile; /* vectors that are loaded together, and of a tile */
    uint64_t tiles;
};

/* ---- recurrent networks */

enum klib_rnn_cell { KLIB_RNN_RELU, KLIB_RNN_TANH, KLIB_RNN_LSTM, KLIB_RNN_GRU };
enum klib_rnn_pass { KLIB_RNN_INFER, KLIB_RNN_TRAIN, KLIB_RNN_DATA, KLIB_RNN_WEIGHTS };
enum klib_rnn_layout { KLIB_RNN_BY_TIME, KLIB_RNN_PACKED, KLIB_RNN_BY_SAMPLE };
enum { KLIB_RNN_NO_BIAS = 0, KLIB_RNN_BIAS_IN = 1, KLIB_RNN_BIAS_RECURRENT = 2 }; /* bits */
enum { KLIB_RNN_LENGTHS = 768 };

/*
 * Layers of a cell, in one direction or both. Weights, for each layer and direction: the gates'
 * matrices for the input, those for the state, the projection; behind all of them likewise biases,
 * for the input and for the state. Rows are a gate's numbers, columns the input's. Gates of LSTM:
 * input, forget, cell, output; of GRU: reset, update, new.
 *
 * TRAIN leaves in the reserve what DATA needs, which leaves what WEIGHTS needs.
 */
struct klib_rnn {
    uint8_t pass, cell, biases; /* enums */
    uint8_t type;               /* of all elements */
    bool is_double, both_ways, skips_input, clips, adds;
    uint8_t x_layout, y_layout;
    int32_t layers, input, hidden, output; /* output: with a projection less than hidden */
    int32_t time, samples;
    double clip[2], fill; /* fill: what y has behind the end of a sample */
    float dropout;        /* between layers */
    struct klib_dropout_state *states;
    /* States: layers and directions x samples x output, or hidden. NULL: zeros, or not wanted. */
    const void *x, *hx, *cx, *dy, *dhy, *dcy;
    void *y, *hy, *cy, *dx, *dhx, *dcx;
    const void *weights;
    void *dweights, *reserve;
    /* Of each sample; NULL: `few` of them, or if they are 0 all have `time`. */
    const int32_t *lengths;
    int32_t has_few;
    int32_t few[KLIB_RNN_LENGTHS];
    uint64_t tiles; /* of `plan` */
};

/* ---- the member of struct klib */

struct klib_dnn {
    heddle_native_fn *conv; /* of a struct klib_conv */
    uint64_t (*conv_plan)(struct klib_conv *conv, unsigned threads, uint64_t *out_tiles);
    heddle_native_fn *op; /* of a struct klib_dnn_op */
    uint64_t (*op_plan)(struct klib_dnn_op *op, unsigned threads, uint64_t *out_tiles);
    heddle_native_fn *rnn; /* of a struct klib_rnn */
    uint64_t (*rnn_plan)(struct klib_rnn *rnn, uint64_t *out_tiles);
    uint64_t (*rnn_reserve_B)(const struct klib_rnn *rnn);
    const char *names[KLIB_DNN_KERNELS];
};

#ifdef DNN_LEVEL
extern const struct klib_dnn klib_dnn;
#else
extern const struct klib_dnn klib_dnn_generic, klib_dnn_avx2, klib_dnn_avx512;
#endif

/* Elements of a matrix, or of a bias, and where they begin; false: it is not there. */
struct klib_rnn_part {
    int64_t offset, rows, columns;
};

static inline int klib_rnn_gates(uint8_t cell)
{
    return cell == KLIB_RNN_LSTM ? 4 : cell == KLIB_RNN_GRU ? 3 : 1;
}

static inline int64_t klib_rnn_inputs(const struct klib_rnn *r, int layer)
{
    return layer ? (int64_t)r->output * (r->both_ways ? 2 : 1) : r->input;
}

/* Where the parameters of a layer and direction are: 0: input, 1: state, 2: projection. */
static inline struct klib_rnn_part klib_rnn_matrix(const struct klib_rnn *r, int pseudo, int which)
{
    int ways = r->both_ways ? 2 : 1, gates = klib_rnn_gates(r->cell);
    struct klib_rnn_part part = {0};

    for (int p = 0; p <= pseudo; p++)
        for (int w = 0; w < 3 && (p < pseudo || w <= which); w++) {
            bool is_skipped = w == 0 && p / ways == 0 && r->skips_input;
            part.offset += part.rows * part.columns;
            part.rows = w == 2 ? r->output : (int64_t)gates * r->hidden;
            part.columns = w == 0 ? klib_rnn_inputs(r, p / ways) : w == 1 ? r->output : r->hidden;
            if (is_skipped || (w == 2 && r->output == r->hidden))
                part.rows = part.columns = 0;
        }
    return part;
}

/* Likewise biases, of the input and the state; pseudo: as many as there are: the end. */
static inline struct klib_rnn_part klib_rnn_bias(const struct klib_rnn *r, int pseudo, int which)
{
    int ways = r->both_ways ? 2 : 1, last = r->layers * ways - 1;
    int64_t each = (int64_t)klib_rnn_gates(r->cell) * r->hidden;
    struct klib_rnn_part end = klib_rnn_matrix(r, last, 2);
    int64_t kinds = (r->biases & 1) + (r->biases >> 1 & 1);
    bool is_there = which == 0 ? r->biases & KLIB_RNN_BIAS_IN : r->biases & KLIB_RNN_BIAS_RECURRENT;

    return (struct klib_rnn_part){.offset = end.offset + end.rows * end.columns +
                                            (pseudo * kinds + (which == 1 && kinds == 2)) * each,
                                  .rows = is_there ? each : 0,
                                  .columns = is_there};
}

#endif
