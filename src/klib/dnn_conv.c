/*
 * Convolutions as products of matrices, without a matrix of all patches: a tile takes a block of
 * the result's pixels, and puts the numbers that they depend on together, a slice of channels and
 * taps at a time, which gemm multiplies by the weights.
 *
 * The gradient by the data is such a convolution of y, too. Pixels of x that have the same rest by
 * the strides, a phase, depend on the same taps, and on y's pixels one beside the other; so nothing
 * is added up in memory, and no tile waits for another.
 *
 * Numbers lie by channels (a row of pixels for each channel and tap) or by pixels (a row of
 * channels for each tap), as the tensors have it, so that rows are copied whole. What lies as gemm
 * wants it is taken as it is.
 */
#include "klib/dnn_conv.h"
#include "klib/room.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "klib/dnn_rows.h"
#include "klib/onednn_conv.h"

/* Rows of a slice: with a block of pixels they stay in the L2. */
#define SLICE        1024
#define FILTER_SLICE 512
#define PIXELS       256
#define PIXELS_MIN   64
#define CHANNELS_MIN 32
#define GFLOPS       20.0 /* of a thread, about */

/* ---- what is the same for all types of sums */

static struct view view_of(const struct klib_tensor *t)
{
    struct view v = {.t = t, .base = t->address, .type = t->type, .spatial = {1, 1, 1}};
    int skip = KLIB_DNN_SPATIAL - (t->rank - 2);

    for (int d = 0; d < t->rank - 2; d++) {
        v.spatial[skip + d] = t->dims[2 + d];
        v.step[skip + d] = t->strides[2 + d];
    }
    v.n = t->dims[0];
    v.n_step = t->strides[0];
    v.c_step = t->vector > 1 ? 1 : t->strides[1];
    v.by_pixels = t->vector > 1 || t->strides[1] == 1;
    return v;
}

/* Spatial arrays of a convolution begin with its first dimension. */
static int64_t of_dim(const struct klib_conv *c, const int64_t *array, int d, int64_t none)
{
    int skip = KLIB_DNN_SPATIAL - (c->x.rank - 2);

    return d < skip ? none : array[d - skip];
}

/* Phase `phase` of what is gathered, with its taps. */
static void gather_phase(const struct klib_conv *c, uint64_t phase, struct gather *g)
{
    bool is_data = c->kind == KLIB_CONV_DATA;
    struct view w = view_of(&c->w);

    for (int d = KLIB_DNN_SPATIAL - 1; d >= 0; d--) {
        int64_t stride = of_dim(c, c->stride, d, 1);
        int64_t phases = HD_MIN(stride, g->out.spatial[d]);
        g->first[d] = is_data ? (int64_t)(phase % (uint64_t)phases) : 0;
        phase = is_data ? phase / (uint64_t)phases : phase;
        g->in_stride[d] = is_data ? 1 : stride;
        g->out_stride[d] = is_data ? stride : 1;
        g->lattice[d] = (g->out.spatial[d] - g->first[d] + g->out_stride[d] - 1) / g->out_stride[d];
    }
    g->ntaps = 0;
    for (int64_t a = 0; a < w.spatial[0]; a++)
        for (int64_t b = 0; b < w.spatial[1]; b++)
            for (int64_t e = 0; e < w.spatial[2]; e++) {
                int64_t r[KLIB_DNN_SPATIAL] = {a, b, e};
                struct tap *tap = &g->taps[g->ntaps];
                bool is_there = true;
                tap->w = 0;
                for (int d = 0; d < KLIB_DNN_SPATIAL; d++) {
                    int64_t far = r[d] * of_dim(c, c->dilation, d, 1);
                    int64_t pad = of_dim(c, c->pad, d, 0), stride = of_dim(c, c->stride, d, 1);
                    int64_t at = is_data ? g->first[d] + pad - far : far - pad;
                    is_there &= !is_data || at % stride == 0;
                    tap->at[d] = is_data ? at / stride : at;
                    tap->w += (c->is_flipped ? w.spatial[d] - 1 - r[d] : r[d]) * w.step[d];
                }
                g->ntaps += is_there;
            }
}

/* Pixels [first, first + n) of the lattice, as runs of its last dimension. */
static void gather_pixels(struct gather *g, int64_t first, int64_t n)
{
    int64_t row = first / g->lattice[2], at = 0;

    g->pixels = n;
    g->nruns = 0;
    for (int64_t w = first % g->lattice[2]; at < n; w = 0, row++) {
        struct run *run = &g->runs[g->nruns++];
        *run = (struct run){.n = row / g->lattice[1] / g->lattice[0],
                            .i = {row / g->lattice[1] % g->lattice[0], row % g->lattice[1], w},
                            .at = at,
                            .len = HD_MIN(n - at, g->lattice[2] - w)};
        at += run->len;
    }
}

/* Where a run's row for a tap is in the input; false: it has none. [lo, hi): pixels that have. */
static inline bool run_at(const struct gather *g, const struct run *run, const struct tap *tap,
                          int64_t *out_offset, int64_t *lo, int64_t *hi)
{
    int64_t offset = run->n * g->in.n_step;

    for (int d = 0; d < KLIB_DNN_SPATIAL - 1; d++) {
        int64_t at = run->i[d] * g->in_stride[d] + tap->at[d];
        if (at < 0 || at >= g->in.spatial[d])
            return false;
        offset += at * g->in.step[d];
    }
    int64_t stride = g->in_stride[2], at = run->i[2] * stride + tap->at[2];
    *lo = at < 0 ? HD_MIN((-at + stride - 1) / stride, run->len) : 0;
    int64_t room = g->in.spatial[2] - at;
    *hi = room <= 0 ? *lo : HD_MAX(HD_MIN((room + stride - 1) / stride, run->len), *lo);
    *out_offset = offset + at * g->in.step[2];
    return *hi > *lo;
}

/* Are the block's pixels for a tap all there, as far apart from each other? From where on? */
static bool lies_evenly(const struct gather *g, const struct tap *tap, int64_t *out_offset)
{
    int64_t step = g->in_stride[2] * g->in.step[2], first = 0;

    for (int64_t r = 0; r < g->nruns; r++) {
        int64_t offset, lo, hi;
        if (!run_at(g, &g->runs[r], tap, &offset, &lo, &hi) || lo || hi != g->runs[r].len)
            return false;
        if (!r)
            first = offset;
        if (offset != first + g->runs[r].at * step)
            return false;
    }
    *out_offset = first;
    return true;
}

static int64_t out_at(const struct gather *g, const struct view *v, const struct run *run)
{
    int64_t offset = run->n * v->n_step;

    for (int d = 0; d < KLIB_DNN_SPATIAL; d++)
        offset += (g->first[d] + run->i[d] * g->out_stride[d]) * v->step[d];
    return offset;
}

/* Weight of the output's channel o, the input's c, at the first tap; of the group. */
static int64_t weight_at(const struct gather *g, int64_t o, int64_t c)
{
    const struct klib_tensor *w = g->w.t;

    if (g->is_data)
        return (g->group * g->in_channels + c) * w->strides[0] + dnn_channel(w, o);
    return (g->group * g->out_channels + o) * w->strides[0] + dnn_channel(w, c);
}

static bool gather_init(const struct klib_conv *c, struct gather *g)
{
    bool is_data = c->kind == KLIB_CONV_DATA;
    struct view w = view_of(&c->w);

    *g = (struct gather){.in = view_of(is_data ? &c->y : &c->x),
                         .out = view_of(is_data ? &c->x : &c->y),
                         .w = w,
                         .is_data = is_data,
                         .in_channels = is_data ? c->y.dims[1] / c->groups : c->w.dims[1],
                         .out_channels = is_data ? c->w.dims[1] : c->y.dims[1] / c->groups};
    size_t taps = (size_t)(w.spatial[0] * w.spatial[1] * w.spatial[2]);
    g->taps = malloc(taps * sizeof(*g->taps));
    g->runs = malloc((size_t)c->pixels * sizeof(*g->runs));
    g->by_pixels = g->in.by_pixels && (g->in_channels >= 8 || g->in.t->vector > 1);
    return g->taps && g->runs;
}

static void gather_fini(struct gather *g)
{
    free(g->taps);
    free(g->runs);
}

#define GEMM(name)                                                                                 \
    void name(const char *transa, const char *transb, const int64_t *m, const int64_t *n,          \
              const int64_t *k, const void *alpha, const void *a, const int64_t *lda,              \
              const void *b, const int64_t *ldb, const void *beta, void *c, const int64_t *ldc);
GEMM(sgemm_)
GEMM(dgemm_)
#undef GEMM

/* Names of functions that are there for floats and for doubles. */
#define act_row          DNN_NAME(dnn_act)
#define channels_at      DNN_NAME(channels_at)
#define depthwise_tile   DNN_NAME(depthwise_tile)
#define conv_tiles       DNN_NAME(conv)
#define filter_tile      DNN_NAME(filter_tile)
#define finish           DNN_NAME(finish)
#define finish_filter    DNN_NAME(finish_filter)
#define kept             DNN_NAME(kept)
#define load_channels    DNN_NAME(load_channels)
#define load_row         DNN_NAME(dnn_load)
#define onednn_end       DNN_NAME(onednn_end)
#define onednn_tiles     DNN_NAME(onednn_tiles)
#define multiply         DNN_NAME(multiply)
#define pack_by_channels DNN_NAME(pack_by_channels)
#define pack_by_pixels   DNN_NAME(pack_by_pixels)
#define panel            DNN_NAME(panel)
#define pixels_of        DNN_NAME(pixels_of)
#define result_tile      DNN_NAME(tile)
#define scale            DNN_NAME(scale)
#define slice_rows       DNN_NAME(slice_rows)
#define store_channels   DNN_NAME(store_channels)
#define store_row        DNN_NAME(dnn_store)
#define taps_lie         DNN_NAME(taps_lie)
#define weights_of       DNN_NAME(weights_of)

#define REAL           float
#define REAL_TYPE      KLIB_F32
#define REAL_GEMM      sgemm_
#define DNN_NAME(name) name##_f32
#include "klib/dnn_conv.inc"
#undef REAL
#undef REAL_TYPE
#undef REAL_GEMM
#undef DNN_NAME
#define REAL           double
#define REAL_TYPE      KLIB_F64
#define REAL_GEMM      dgemm_
#define DNN_NAME(name) name##_f64
#include "klib/dnn_conv.inc"

int klib_conv_run(struct heddle_native_call *call)
{
    const struct klib_conv *c = call->params;

    if (c->engine == KLIB_ONEDNN)
        return c->is_double ? onednn_tiles_f64(call, c) : onednn_tiles_f32(call, c);
    return c->is_double ? conv_f64(call, c) : conv_f32(call, c);
}

/* ---- how the work is cut */

static bool wants_double(const struct klib_tensor *t)
{
    return t->address && (t->type == KLIB_F64 || t->type == KLIB_I8 || t->type == KLIB_U8 ||
                          t->type == KLIB_I32 || t->type == KLIB_I64);
}

static int64_t parts(int64_t n, int64_t of)
{
    return (n + of - 1) / of;
}

/* A filter for each channel, and the channels of all pixels lie together. */
static bool is_depthwise(const struct klib_conv *c)
{
    const struct klib_tensor *const tensors[] = {&c->x, &c->y};
    bool is_same = c->kind != KLIB_CONV_FILTER || !c->z.address || c->beta == 0;

    for (int i = 0; i < 2; i++)
        if (tensors[i]->vector > 1 || tensors[i]->strides[1] != 1 ||
            tensors[i]->dims[1] != c->groups)
            return false;
    if (!is_same)
        is_same = !memcmp(c->z.strides, c->w.strides, c->w.rank * sizeof(c->w.strides[0]));
    return is_same && c->groups >= 4 && c->w.vector <= 1;
}

uint64_t klib_conv_plan(struct klib_conv *c, unsigned threads, uint64_t *out_tiles)
{
    const struct klib_tensor *out = c->kind == KLIB_CONV_DATA ? &c->x : &c->y;
    struct view o = view_of(out), w = view_of(&c->w);
    int64_t taps = w.spatial[0] * w.spatial[1] * w.spatial[2];
    int64_t lattice = o.n, wanted = 2 * (int64_t)threads;
    struct gather g = {.is_data = c->kind == KLIB_CONV_DATA};

    c->groups = HD_MAX(c->groups, 1);
    /* Sums of bytes are exact. */
    c->is_double = c->kind == KLIB_CONV_FORWARD ? wants_double(&c->x) || wants_double(&c->w)
                   : c->kind == KLIB_CONV_DATA  ? wants_double(&c->y) || wants_double(&c->w)
                                                : wants_double(&c->x) || wants_double(&c->y);
    c->phases = 1;
    for (int d = 0; d < KLIB_DNN_SPATIAL; d++) {
        int64_t phases = g.is_data ? HD_MIN(of_dim(c, c->stride, d, 1), o.spatial[d]) : 1;
        c->phases *= phases;
        lattice *= phases ? parts(o.spatial[d], phases) : 0;
    }
    int64_t out_channels = g.is_data ? c->w.dims[1] : c->y.dims[1] / c->groups;
    int64_t in_channels = g.is_data ? c->y.dims[1] / c->groups : c->w.dims[1];
    double work = (double)c->phases * (double)lattice * (double)c->groups * (double)out_channels *
                  (double)in_channels * (double)taps / (g.is_data ? (double)c->phases : 1);

    c->pixels = HD_MAX(HD_MIN(lattice, PIXELS), 1);
    uint64_t ns = klib_onednn_conv_plan(c, work, threads, out_tiles);
    c->engine = ns ? KLIB_ONEDNN : KLIB_OPENBLAS;
    if (ns)
        return ns;
    c->channels = HD_MAX(out_channels, 1);
    c->slice = c->slices = 1;
    c->is_depthwise = is_depthwise(c);
    if (c->is_depthwise) {
        int64_t tiles = c->kind == KLIB_CONV_FILTER ? 1 : c->phases * parts(lattice, c->pixels);
        c->channels = c->groups;
        while (c->channels > CHANNELS_MIN && tiles * parts(c->groups, c->channels) < wanted)
            c->channels = (c->channels + 1) / 2;
        c->pixel_blocks = parts(lattice, c->pixels);
        c->channel_blocks = parts(c->groups, c->channels);
        *out_tiles = (uint64_t)(tiles * c->channel_blocks);
    } else if (c->kind == KLIB_CONV_FILTER) {
        struct view x = view_of(&c->x);
        bool by_pixels = x.by_pixels && (in_channels >= 8 || c->x.vector > 1);
        int64_t rows = by_pixels ? taps : in_channels, row = by_pixels ? in_channels : taps;
        c->slice = HD_MAX(FILTER_SLICE / HD_MAX(row, 1), 1);
        while (c->slice > 1 && c->groups * parts(rows, c->slice) < wanted && c->slice * row > 64)
            c->slice = (c->slice + 1) / 2;
        c->slices = parts(rows, c->slice);
        while (c->channels > CHANNELS_MIN / 2 &&
               c->groups * c->slices * parts(out_channels, c->channels) < wanted)
            c->channels = (c->channels + 1) / 2;
        c->channel_blocks = parts(out_channels, c->channels);
        c->pixel_blocks = parts(lattice, c->pixels);
        *out_tiles = (uint64_t)(c->groups * c->channel_blocks * c->slices);
    } else {
        int64_t others = c->phases * c->groups;
        while (c->pixels > PIXELS_MIN && others * parts(lattice, c->pixels) < wanted)
            c->pixels = (c->pixels + 1) / 2;
        while (c->channels > CHANNELS_MIN &&
               others * parts(lattice, c->pixels) * parts(out_channels, c->channels) < wanted)
            c->channels = (c->channels + 1) / 2;
        c->pixel_blocks = parts(lattice, c->pixels);
        c->channel_blocks = parts(out_channels, c->channels);
        *out_tiles = (uint64_t)(others * c->pixel_blocks * c->channel_blocks);
    }
    return (uint64_t)(work * 2 / GFLOPS);
}
