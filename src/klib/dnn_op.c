/*
 * What is done to tensors but for products: elementwise operations, reductions, softmax, pooling,
 * norms, dropout, spatial transformers, CTC. Each is vectors of inner dimensions, one after the
 * other (klib/dnn_blocks.h); a tile has some of them, which no other tile writes.
 */
#include "klib/dnn_op.h"
#include "klib/room.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "klib/dnn_blocks.h"
#include "klib/dnn_ctc.h"
#include "klib/philox.h"

#define TILE_ELEMENTS 16384
#define PIECE         2048 /* of a long vector */

/* What a kernel goes through: its vectors, and what is in them. */
struct walk {
    struct dnn_axes outer, inner;
    struct dnn_axes source; /* likewise of t[1], or t[2]: where its planes have other sizes */
};

static uint32_t all_dims(const struct klib_tensor *t)
{
    return (1u << t->rank) - 1;
}

/* Dimensions of a vector of t[0]'s, or of what is gone through. */
static void walk_make(const struct klib_dnn_op *op, struct walk *w)
{
    const struct klib_tensor *t[DNN_OPERANDS] = {&op->t[0], &op->t[1], &op->t[2], &op->t[3],
                                                 &op->t[4], &op->t[5], &op->t[6]};
    const struct klib_tensor *lead = &op->t[0];
    uint32_t inner = 0;
    bool is_ordered = false, has_source = false;

    switch (op->kernel) {
    case KLIB_DNN_reduce: /* the outer dimensions are the result's */
        lead = &op->t[1];
        t[0] = &op->t[1];
        t[1] = &op->t[0];
        for (int d = 0; d < lead->rank; d++)
            inner |= op->t[0].dims[d] == 1 && lead->dims[d] > 1 ? 1u << d : 0;
        is_ordered = true; /* indices count in the order of dimensions */
        break;
    case KLIB_DNN_softmax_forward:
    case KLIB_DNN_softmax_backward:
    case KLIB_DNN_norm_train:
    case KLIB_DNN_norm_backward:
        inner = (uint32_t)op->n[0];
        break;
    case KLIB_DNN_pool_forward: /* planes of the input */
    case KLIB_DNN_pool_backward:
    case KLIB_DNN_sampler_forward:
    case KLIB_DNN_sampler_data:
    case KLIB_DNN_sampler_grid:
        inner = all_dims(lead) & ~3u;
        is_ordered = has_source = true;
        break;
    case KLIB_DNN_lrn_forward:
    case KLIB_DNN_lrn_backward:
        inner = 2;
        break;
    case KLIB_DNN_dropout_forward:
    case KLIB_DNN_dropout_backward: /* masks count in the order of dimensions */
        inner = all_dims(lead);
        is_ordered = true;
        break;
    default:
        inner = all_dims(lead);
    }
    dnn_axes_make(&w->outer, t, DNN_OPERANDS, 0, all_dims(lead) & ~inner, is_ordered);
    dnn_axes_make(&w->inner, t, DNN_OPERANDS, 0, inner, is_ordered);
    if (has_source)
        dnn_axes_make(&w->source, t, DNN_OPERANDS, op->kernel == KLIB_DNN_pool_backward ? 2 : 1,
                      inner, true);
}

static double stat_get(const void *p, enum klib_type type, int64_t i)
{
    return type == KLIB_F64 ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

static void stat_put(void *p, enum klib_type type, int64_t i, double v)
{
    if (type == KLIB_F64)
        ((double *)p)[i] = v;
    else
        ((float *)p)[i] = (float)v;
}

/* Uniform in [0, 1) of element i: four of each counter. */
static void dropout_draw(const struct klib_dropout_state *state, uint64_t four, float *to)
{
    uint32_t words[4];

    klib_philox(state->seed, state->offset / 4 + four, 0, words);
    for (int i = 0; i < 4; i++)
        to[i] = (float)(words[i] >> 8) * 0x1p-24f;
}

/* The order of `pool`'s arrays is that of the last dimensions. */
struct pool {
    int64_t in[3], out[3], window[3], pad[3], stride[3], in_n, out_n;
};

static void pool_make(const struct klib_dnn_op *op, const struct klib_tensor *in,
                      const struct klib_tensor *out, struct pool *p)
{
    int skip = 3 - (in->rank - 2);

    p->in_n = p->out_n = 1;
    for (int d = 0; d < 3; d++) {
        bool is_there = d >= skip;
        p->in[d] = is_there ? in->dims[2 + d - skip] : 1;
        p->out[d] = is_there ? out->dims[2 + d - skip] : 1;
        p->window[d] = is_there ? op->n[d - skip] : 1;
        p->pad[d] = is_there ? op->n[3 + d - skip] : 0;
        p->stride[d] = is_there ? op->n[6 + d - skip] : 1;
        p->in_n *= p->in[d];
        p->out_n *= p->out[d];
    }
}

/* The window of output o: [lo, hi) inside of the input; `whole`: and the pads that exist. */
static int64_t pool_window(const struct pool *p, int64_t o, int64_t *lo, int64_t *hi)
{
    int64_t at[3] = {o / p->out[2] / p->out[1], o / p->out[2] % p->out[1], o % p->out[2]};
    int64_t whole = 1;

    for (int d = 0; d < 3; d++) {
        int64_t first = at[d] * p->stride[d] - p->pad[d];
        int64_t last = HD_MIN(first + p->window[d], p->in[d] + p->pad[d]);
        whole *= last - first;
        lo[d] = HD_MAX(first, 0);
        hi[d] = HD_MAX(HD_MIN(last, p->in[d]), lo[d]);
    }
    return whole;
}

#define load_block    DNN_NAME(dnn_load_block)
#define store_block   DNN_NAME(dnn_store_block)
#define load_row      DNN_NAME(dnn_load)
#define store_row     DNN_NAME(dnn_store)
#define act_row       DNN_NAME(dnn_act)
#define act_back      DNN_NAME(dnn_act_backward)
#define finish_block  DNN_NAME(finish_block)
#define pointwise     DNN_NAME(pointwise)
#define reduce_more   DNN_NAME(reduce_more)
#define reduce        DNN_NAME(reduce)
#define softmax       DNN_NAME(softmax)
#define pool_forward  DNN_NAME(pool_forward)
#define pool_backward DNN_NAME(pool_backward)
#define norm_train    DNN_NAME(norm_train)
#define norm_infer    DNN_NAME(norm_infer)
#define norm_backward DNN_NAME(norm_backward)
#define lrn_forward   DNN_NAME(lrn_forward)
#define lrn_backward  DNN_NAME(lrn_backward)
#define power         DNN_NAME(power)
#define dropout       DNN_NAME(dropout)
#define grid_forward  DNN_NAME(grid_forward)
#define grid_backward DNN_NAME(grid_backward)
#define corners       DNN_NAME(corners)
#define sampler       DNN_NAME(sampler)
#define sampler_grid  DNN_NAME(sampler_grid)
#define run_tile      DNN_NAME(run_tile)

#define REAL           float
#define DNN_NAME(name) name##_f32
#define DNN_MATH(name) name##f
#include "klib/dnn_op.inc"
#undef REAL
#undef DNN_NAME
#undef DNN_MATH
#define REAL           double
#define DNN_NAME(name) name##_f64
#define DNN_MATH(name) name
#include "klib/dnn_op.inc"

int klib_dnn_op_run(struct heddle_native_call *call)
{
    const struct klib_dnn_op *op = call->params;
    struct walk walk;

    walk_make(op, &walk);
    for (uint64_t tile = call->first; tile < call->last && !call->code; tile++)
        if (!(op->is_double ? run_tile_f64 : run_tile_f32)(op, &walk, (int64_t)tile))
            return heddle_native_fail(call, 1, "no memory for a block of a tensor");
    return call->code;
}

/* ---- how the work is cut */

static bool is_wide(const struct klib_tensor *t)
{
    return t->type == KLIB_F64 || t->type == KLIB_I32 || t->type == KLIB_I64;
}

uint64_t klib_dnn_op_plan(struct klib_dnn_op *op, unsigned threads, uint64_t *out_tiles)
{
    struct walk walk;
    int64_t vectors, elements;
    double cost = 1; /* ns for each element */

    for (size_t i = 0; i < HD_COUNT_OF(op->t); i++)
        op->is_double |= is_wide(&op->t[i]);
    walk_make(op, &walk);
    vectors = walk.outer.n;
    elements = walk.inner.n;
    op->block = dnn_block_of(&walk.outer, &walk.inner);
    switch (op->kernel) {
    case KLIB_DNN_pointwise: /* vectors are rows: pieces of the inner dimensions */
    case KLIB_DNN_norm_infer:
    case KLIB_DNN_dropout_forward:
    case KLIB_DNN_dropout_backward:
        op->block = 1;
        vectors = (elements + PIECE - 1) / PIECE;
        elements = HD_MIN(elements, PIECE);
        cost = op->mode >= KLIB_PW_ACT ? 4 : 1;
        break;
    case KLIB_DNN_pool_forward:
    case KLIB_DNN_pool_backward: {
        struct pool p;
        bool is_forward = op->kernel == KLIB_DNN_pool_forward;
        pool_make(op, &op->t[is_forward], &op->t[is_forward ? 0 : 2], &p);
        elements = p.in_n;
        cost = (double)(p.window[0] * p.window[1] * p.window[2]) * (double)p.out_n /
               (double)HD_MAX(p.in_n, 1);
        break;
    }
    case KLIB_DNN_ctc: /* a vector is a sample */
        vectors = op->t[1].dims[1];
        elements = op->t[1].dims[0] * op->t[1].dims[2];
        op->block = 1;
        cost = 20;
        break;
    case KLIB_DNN_sampler_grid:
    case KLIB_DNN_grid_forward: /* pixels of an image; t[0] is y */
        vectors = op->t[0].dims[0];
        elements = op->t[0].dims[2] * op->t[0].dims[3];
        op->block = 1;
        cost = op->kernel == KLIB_DNN_grid_forward ? 4 : 10.0 * (double)op->t[0].dims[1];
        break;
    case KLIB_DNN_grid_backward:
        vectors = op->t[0].dims[0];
        elements = op->t[0].dims[2] * op->t[0].dims[3];
        op->block = 1;
        break;
    case KLIB_DNN_dropout_seed:
    case KLIB_DNN_copy:
        vectors = op->block = 1;
        elements = op->n[0] / 16;
        break;
    default:
        cost = 4;
    }
    int64_t most = HD_MAX(vectors / (4 * (int64_t)threads), 1);
    op->tile = HD_MAX(HD_MIN(TILE_ELEMENTS / HD_MAX(elements, 1), most), 1);
    op->tile = (op->tile + op->block - 1) / op->block * op->block;
    *out_tiles = op->tiles = (uint64_t)((vectors + op->tile - 1) / op->tile);
    return (uint64_t)(cost * (double)vectors * (double)elements);
}
