/*
 * Recurrent networks. Samples are independent of each other but for the gradients of weights, so a
 * tile is some samples, through all layers, directions and times; of those gradients a tile is a
 * matrix. What a tile keeps is together: for each layer and direction matrices with a row for each
 * time and sample of the tile.
 *
 * A sample that has ended keeps its state while the others go on: times behind its end are passed
 * over, in the other direction those before its begin.
 */
#include "klib/dnn_rnn.h"
#include "klib/room.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "klib/dnn_rows.h"
#include "klib/philox.h"

#define SAMPLES 16 /* of a tile */
#define GFLOPS  15.0

/* What there is for a row, in the order in memory; widths of each layer and direction. */
enum kept {
    GATES,  /* activated */
    CELL,   /* LSTM: the cell; GRU: the state's part of the new gate */
    OUT,    /* the state */
    INPUT,  /* of a layer, after dropout: of the first direction alone */
    MASK,   /* of dropout, likewise: 0, or what it is multiplied by */
    DGATES, /* gradients before activation */
    DSTATE, /* GRU: of the state's part of the new gate */
    DOUT,   /* with a projection: of its result */
    KEPT
};

static int64_t width_of(const struct klib_rnn *r, int pseudo, enum kept kind)
{
    int ways = r->both_ways ? 2 : 1;
    bool is_first = pseudo % ways == 0, is_gated = r->cell >= KLIB_RNN_LSTM;

    switch (kind) {
    case GATES:
    case DGATES:
        return (int64_t)klib_rnn_gates(r->cell) * r->hidden;
    case CELL:
        return is_gated ? r->hidden : 0;
    case OUT:
        return r->output;
    case INPUT:
        return is_first ? klib_rnn_inputs(r, pseudo / ways) : 0;
    case MASK:
        return is_first && pseudo >= ways && r->dropout > 0 ? klib_rnn_inputs(r, pseudo / ways) : 0;
    case DSTATE:
        return r->cell == KLIB_RNN_GRU ? r->hidden : 0;
    default:
        return r->output < r->hidden ? r->output : 0;
    }
}

static int64_t row_of(const struct klib_rnn *r)
{
    int64_t n = 0;

    for (int p = 0; p < r->layers * (r->both_ways ? 2 : 1); p++)
        for (int k = 0; k < KEPT; k++)
            n += width_of(r, p, (enum kept)k);
    return n;
}

uint64_t klib_rnn_reserve_B(const struct klib_rnn *r)
{
    return (uint64_t)(row_of(r) * r->time * r->samples) * (r->type == KLIB_F64 ? 8 : 4);
}

static int64_t length_of(const struct klib_rnn *r, int64_t sample)
{
    int64_t n = r->lengths ? r->lengths[sample] : r->has_few ? r->few[sample] : r->time;

    return n < 0 ? 0 : HD_MIN(n, r->time);
}

/* The element where a sample's vector is; -1: packed tensors have none behind the end. */
static int64_t vector_at(const struct klib_rnn *r, int layout, int64_t t, int64_t sample,
                         int64_t width, const int64_t *packed)
{
    switch (layout) {
    case KLIB_RNN_BY_SAMPLE:
        return (sample * r->time + t) * width;
    case KLIB_RNN_PACKED: /* longest first */
        return t < length_of(r, sample) ? (packed[t] + sample) * width : -1;
    default:
        return (t * r->samples + sample) * width;
    }
}

#define GEMM(name)                                                                                 \
    void name(const char *transa, const char *transb, const int64_t *m, const int64_t *n,          \
              const int64_t *k, const void *alpha, const void *a, const int64_t *lda,              \
              const void *b, const int64_t *ldb, const void *beta, void *c, const int64_t *ldc);
GEMM(sgemm_)
GEMM(dgemm_)
#undef GEMM

#define load_row     DNN_NAME(dnn_load)
#define store_row    DNN_NAME(dnn_store)
#define area         DNN_NAME(area)
#define area_init    DNN_NAME(area_init)
#define area_fini    DNN_NAME(area_fini)
#define part_of      DNN_NAME(part_of)
#define times        DNN_NAME(times)
#define times_t      DNN_NAME(times_t)
#define weights_of   DNN_NAME(weights_of)
#define sigmoid      DNN_NAME(sigmoid)
#define state_row    DNN_NAME(state_row)
#define cell_forward DNN_NAME(cell_forward)
#define cell_back    DNN_NAME(cell_back)
#define forward      DNN_NAME(forward)
#define backward     DNN_NAME(backward)
#define state_before DNN_NAME(state_before)
#define gradients    DNN_NAME(gradients)
#define rnn_tiles    DNN_NAME(rnn_tiles)
#define vectors      DNN_NAME(vectors)

#define REAL           float
#define REAL_TYPE      KLIB_F32
#define REAL_GEMM      sgemm_
#define DNN_NAME(name) name##_f32
#define DNN_MATH(name) name##f
#include "klib/dnn_rnn.inc"
#undef REAL
#undef REAL_TYPE
#undef REAL_GEMM
#undef DNN_NAME
#undef DNN_MATH
#define REAL           double
#define REAL_TYPE      KLIB_F64
#define REAL_GEMM      dgemm_
#define DNN_NAME(name) name##_f64
#define DNN_MATH(name) name
#include "klib/dnn_rnn.inc"

int klib_rnn_run(struct heddle_native_call *call)
{
    const struct klib_rnn *r = call->params;

    if (!(r->is_double ? rnn_tiles_f64 : rnn_tiles_f32)(r, call->first, call->last))
        return heddle_native_fail(call, 1, "no memory for a recurrent network");
    return 0;
}

uint64_t klib_rnn_plan(struct klib_rnn *r, uint64_t *out_tiles)
{
    int ways = r->both_ways ? 2 : 1;
    double weights = (double)klib_rnn_bias(r, r->layers * ways, 0).offset;

    r->is_double = r->type == KLIB_F64;
    /* Gradients of weights: for each layer and direction three matrices, and the biases. */
    r->tiles = r->pass == KLIB_RNN_WEIGHTS ? (uint64_t)(4 * r->layers * ways)
                                           : (uint64_t)(r->samples + SAMPLES - 1) / SAMPLES;
    *out_tiles = r->tiles;
    return (uint64_t)(2 * weights * r->time * r->samples / GFLOPS);
}
