/* Convolutions: what dnn_conv.c and its instances for floats and doubles have in common. */
#ifndef HD_KLIB_DNN_CONV_H
#define HD_KLIB_DNN_CONV_H

#include "klib/dnn.h"

/* A tensor with three spatial dimensions, the first of which may be 1. */
struct view {
    const struct klib_tensor *t;
    void *base;
    uint8_t type;
    bool by_pixels; /* channels lie together */
    int64_t n, n_step, c_step;
    int64_t spatial[KLIB_DNN_SPATIAL], step[KLIB_DNN_SPATIAL];
};

/* An element of the filter: input pixel = lattice pixel * in_stride + at. */
struct tap {
    int64_t at[KLIB_DNN_SPATIAL];
    int64_t w; /* of its weights */
};

/* Pixels of a block that lie in one row of the lattice. */
struct run {
    int64_t n, i[KLIB_DNN_SPATIAL];
    int64_t at, len; /* in the block */
};

struct gather {
    struct view in, out, w;
    bool is_data, by_pixels;
    int64_t group, in_channels, out_channels; /* of a group */
    int64_t lattice[KLIB_DNN_SPATIAL]; /* output pixel = first + lattice pixel * out_stride */
    int64_t first[KLIB_DNN_SPATIAL], out_stride[KLIB_DNN_SPATIAL], in_stride[KLIB_DNN_SPATIAL];
    struct tap *taps;
    int64_t ntaps;
    struct run *runs; /* of a block */
    int64_t nruns, pixels;
};

int klib_conv_run(struct heddle_native_call *call);
uint64_t klib_conv_plan(struct klib_conv *c, unsigned threads, uint64_t *out_tiles);

#endif
