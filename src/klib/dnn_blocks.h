/*
 * Walking through tensors of any layout. The dimensions of a kernel's tensors are of two kinds:
 * `outer` ones, along which it does the same again and again, and `inner` ones, whose elements it
 * sees together, as a vector. A block has some vectors, or pieces of them, as floats or doubles,
 * one behind the other; it is loaded along whatever lies together in memory.
 *
 * Vectors of channels (NC/32HW32) become dimensions of their own, dimensions of 1 go, and those
 * that lie in all tensors as one dimension would, become one.
 */
#ifndef HD_KLIB_DNN_BLOCKS_H
#define HD_KLIB_DNN_BLOCKS_H

#include <string.h>

#include "base/compiler.h"
#include "klib/dnn.h"
#include "klib/dnn_rows.h"

enum { DNN_AXES = KLIB_DNN_DIMS + 2, DNN_OPERANDS = 7, DNN_BLOCK = 32 };

struct dnn_axes {
    int rank; /* 1 or more */
    int64_t dims[DNN_AXES];
    int64_t strides[DNN_OPERANDS][DNN_AXES]; /* of each tensor; 0: the same along the dimension */
    int64_t n;                               /* all of them multiplied */
};

/*
 * The axes of the dimensions that `mask` has a bit for. Tensor number `leader`'s dimensions are
 * gone through, in its order in memory unless `is_ordered`; where another one has 1, or fewer
 * dimensions, its element is taken again and again.
 */
static inline void dnn_axes_make(struct dnn_axes *a, const struct klib_tensor *const *tensors,
                                 int n, int leader, uint32_t mask, bool is_ordered)
{
    const struct klib_tensor *lead = tensors[leader];
    struct dnn_axes all = {0};
    int widest = 1, narrowest = 32;

    for (int t = 0; t < n; t++)
        if (tensors[t]->vector > 1) {
            widest = HD_MAX(widest, tensors[t]->vector);
            narrowest = HD_MIN(narrowest, tensors[t]->vector);
        }
    for (int d = 0; d < lead->rank; d++) {
        /* Channels: by the widest vector, in it by the narrowest, in that one by one. */
        int64_t parts[3] = {lead->dims[d], 1, 1}, width[3] = {1, 1, 1};
        int nparts = 1;
        if (!(mask & 1u << d))
            continue;
        if (d == 1 && widest > 1) {
            nparts = 3;
            parts[0] = lead->dims[d] / widest;
            parts[1] = widest / narrowest;
            parts[2] = narrowest;
            width[0] = widest;
            width[1] = narrowest;
        }
        for (int p = 0; p < nparts; p++) {
            if (parts[p] == 1)
                continue;
            all.dims[all.rank] = parts[p];
            for (int t = 0; t < n; t++) {
                const struct klib_tensor *x = tensors[t];
                int64_t vector = d == 1 ? HD_MAX(x->vector, 1) : 1;
                bool is_there = d < x->rank && x->dims[d] > 1;
                all.strides[t][all.rank] = !is_there            ? 0
                                           : width[p] >= vector ? width[p] / vector * x->strides[d]
                                                                : width[p];
            }
            all.rank++;
        }
    }
    for (int i = 1; i < all.rank && !is_ordered; i++)
        for (int j = i; j > 0 && all.strides[leader][j - 1] < all.strides[leader][j]; j--) {
            int64_t swap = all.dims[j];
            all.dims[j] = all.dims[j - 1];
            all.dims[j - 1] = swap;
            for (int t = 0; t < n; t++) {
                swap = all.strides[t][j];
                all.strides[t][j] = all.strides[t][j - 1];
                all.strides[t][j - 1] = swap;
            }
        }
    *a = (struct dnn_axes){.n = 1};
    for (int i = 0; i < all.rank; i++) {
        bool is_one = a->rank > 0;
        a->n *= all.dims[i];
        for (int t = 0; t < n && is_one; t++)
            is_one = a->strides[t][a->rank - 1] == all.strides[t][i] * all.dims[i];
        int to = is_one ? a->rank - 1 : a->rank++;
        a->dims[to] = (is_one ? a->dims[to] : 1) * all.dims[i];
        for (int t = 0; t < n; t++)
            a->strides[t][to] = all.strides[t][i];
    }
    if (!a->rank)
        a->dims[a->rank++] = 1;
}

/* Where element i of the axes is in a tensor. */
static inline int64_t dnn_axes_offset(const struct dnn_axes *a, int tensor, int64_t i)
{
    int64_t offset = 0;

    for (int d = a->rank - 1; d >= 0; d--) {
        offset += i % a->dims[d] * a->strides[tensor][d];
        i /= a->dims[d];
    }
    return offset;
}

/* Vectors that are best loaded together: several, where those of one lie apart. */
static inline int64_t dnn_block_of(const struct dnn_axes *outer, const struct dnn_axes *inner)
{
    int64_t o = outer->strides[0][outer->rank - 1], i = inner->strides[0][inner->rank - 1];

    return outer->dims[outer->rank - 1] > 1 && o < i ? DNN_BLOCK : 1;
}

#define REAL           float
#define DNN_NAME(name) name##_f32
#include "klib/dnn_blocks.inc"
#undef REAL
#undef DNN_NAME
#define REAL           double
#define DNN_NAME(name) name##_f64
#include "klib/dnn_blocks.inc"
#undef REAL
#undef DNN_NAME

#endif
