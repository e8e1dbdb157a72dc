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
    int64_t pixels, channels, slice;
    int64_t pixel_blocks, channel_blocks, slices, phases;
};

/* ---- the member of struct klib */

struct klib_dnn {
    heddle_native_fn *conv; /* of a struct klib_conv */
    uint64_t (*conv_plan)(struct klib_conv *conv, unsigned threads, uint64_t *out_tiles);
};

extern const struct klib_dnn klib_dnn;

#endif
