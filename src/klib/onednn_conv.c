/*
 * Convolutions by oneDNN. Its code wants tensors in layouts of its own, in blocks of channels, or
 * with channels last; so a part of a convolution is a reorder of each operand that lies otherwise,
 * which makes halves floats as well, the convolution, and a reorder of the result. All of them are
 * kept together, by shape.
 *
 * A part is some images, so that what is reordered stays in the cache, and all channels of the
 * result or some of them. Weights are reordered once for all images of a tile.
 */
#include "klib/onednn_conv.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "klib/onednn.h"
#include "klib/onednn_open.h"

enum { X, W, Y, OPERANDS };
enum { CONV_DIMS = KLIB_DNN_SPATIAL + 2, GROUPED_DIMS = CONV_DIMS + 1 };

/* Bytes of a part's reordered images: they stay in the L2. */
#define PART_B (1 << 20)
/* Channels that its code takes together. */
#define CHANNELS_UNIT   16
#define ALIGNED(size_B) (((size_B) + 4095) & ~(size_t)4095)

/*
 * Types of elements, what the processor has to have for them (one of the bits), from how many
 * products on oneDNN is faster, and about how many a nanosecond it makes.
 */
static const struct {
    uint8_t type;
    uint32_t isa;
    double products, rate;
} limits[] = {
    {KLIB_F32, DNNL_AVX2, 64.0 * 64 * 64, 50},
    {KLIB_BF16, DNNL_AVX2, 64.0 * 64 * 64, 50},
    {KLIB_F16, DNNL_AVX2, 64.0 * 64 * 64, 50},
    {KLIB_I8, DNNL_AVX2_VNNI | DNNL_AVX512_VNNI, 32.0 * 32 * 32, 200},
    {KLIB_U8, DNNL_AVX2_VNNI | DNNL_AVX512_VNNI, 32.0 * 32 * 32, 200},
};

/* Longer sums of products of bytes may overflow: 255 times 128 each. */
#define K_MAX_BYTES 65793

/* What is made once for a shape; compared as bytes. */
struct shape {
    int64_t dims[OPERANDS][GROUPED_DIMS], strides[OPERANDS][GROUPED_DIMS];
    int64_t pad[KLIB_DNN_SPATIAL], behind[KLIB_DNN_SPATIAL], stride[KLIB_DNN_SPATIAL],
        dilation[KLIB_DNN_SPATIAL]; /* dilation: 0 is none */
    int64_t kind, spatial, has_groups;
    int64_t types[OPERANDS]; /* as they lie; enum klib_type */
    int64_t inner[OPERANDS]; /* as they are multiplied, or summed */
    int64_t by_pixels[OPERANDS];
};

struct operand {
    dnnl_handle user, own; /* layouts; own: of the convolution's descriptor */
    dnnl_handle asked;     /* what that was made with */
    dnnl_handle desc, reorder, scratch;
    size_t own_B;
};

struct conv {
    struct klib_dnnl_kept kept;
    struct shape shape;
    struct operand operands[OPERANDS];
    dnnl_handle hint, desc, primitive; /* primitive NULL: there is none */
    dnnl_handle scratch;
    size_t scratch_B; /* the largest of all primitives */
};

static int made_by(int64_t kind)
{
    return kind == KLIB_CONV_FORWARD ? Y : kind == KLIB_CONV_DATA ? X : W;
}

/* ---- what is kept for a shape */

static bool describe(const struct shape *s, int o, struct operand *to)
{
    int n = (int)s->spatial + 2 + (o == W && s->has_groups);
    int64_t dense[GROUPED_DIMS], step = s->dims[o][1];

    if (klib_dnnl.memory_desc_create_with_strides(
            &to->user, n, s->dims[o], klib_dnnl_type((enum klib_type)s->types[o]), s->strides[o]))
        return false;
    int type = klib_dnnl_type((enum klib_type)s->inner[o]);
    if (!s->by_pixels[o])
        return !klib_dnnl.memory_desc_create_with_tag(&to->asked, n, s->dims[o], type,
                                                      DNNL_FORMAT_ANY);
    dense[1] = 1;
    for (int d = n - 1; d >= 2; d--) {
        dense[d] = step;
        step *= s->dims[o][d];
    }
    dense[0] = step;
    return !klib_dnnl.memory_desc_create_with_strides(&to->asked, n, s->dims[o], type, dense);
}

/* The memory that a primitive wants while it runs, or NULL. */
static dnnl_handle scratch_of(struct conv *c, dnnl_handle desc)
{
    dnnl_handle md = klib_dnnl.primitive_desc_query_md(desc, DNNL_QUERY_SCRATCHPAD, 0);
    size_t size_B = md ? klib_dnnl.memory_desc_get_size(md) : 0;

    c->scratch_B = HD_MAX(c->scratch_B, size_B);
    return size_B ? md : NULL;
}

static bool make(struct conv *c)
{
    static const int queries[][OPERANDS] = {
        [KLIB_CONV_FORWARD] = {DNNL_QUERY_SRC, DNNL_QUERY_WEIGHTS, DNNL_QUERY_DST},
        [KLIB_CONV_DATA] = {DNNL_QUERY_DIFF_SRC, DNNL_QUERY_WEIGHTS, DNNL_QUERY_DIFF_DST},
        [KLIB_CONV_FILTER] = {DNNL_QUERY_SRC, DNNL_QUERY_DIFF_WEIGHTS, DNNL_QUERY_DIFF_DST}};
    const struct shape *s = &c->shape;
    struct operand *o = c->operands;
    dnnl_handle attr = klib_dnnl_attr();
    bool is_made = attr != NULL;

    for (int i = 0; i < OPERANDS && is_made; i++)
        is_made = describe(s, i, &o[i]);
    is_made = is_made && !klib_dnnl.convolution_forward_primitive_desc_create(
                             &c->hint, klib_dnnl.engine, DNNL_FORWARD_TRAINING,
                             DNNL_CONVOLUTION_DIRECT, o[X].asked, o[W].asked, NULL, o[Y].asked,
                             s->stride, s->dilation, s->pad, s->behind, attr);
    if (is_made && s->kind == KLIB_CONV_FORWARD) {
        c->desc = c->hint;
        c->hint = NULL;
    } else if (is_made && s->kind == KLIB_CONV_DATA) {
        is_made = !klib_dnnl.convolution_backward_data_primitive_desc_create(
            &c->desc, klib_dnnl.engine, DNNL_CONVOLUTION_DIRECT, o[X].asked, o[W].asked, o[Y].asked,
            s->stride, s->dilation, s->pad, s->behind, c->hint, attr);
    } else if (is_made) {
        is_made = !klib_dnnl.convolution_backward_weights_primitive_desc_create(
            &c->desc, klib_dnnl.engine, DNNL_CONVOLUTION_DIRECT, o[X].asked, o[W].asked, NULL,
            o[Y].asked, s->stride, s->dilation, s->pad, s->behind, c->hint, attr);
    }
    /* oneDNN's own reference is slower than anything else. */
    const char *name = NULL;
    is_made = is_made &&
              !klib_dnnl.primitive_desc_query(c->desc, DNNL_QUERY_IMPLEMENTATION, 0, &name) &&
              name && strncmp(name, "ref", 3) != 0;
    for (int i = 0; i < OPERANDS && is_made; i++) {
        o[i].own = klib_dnnl.primitive_desc_query_md(c->desc, queries[s->kind][i], 0);
        is_made = o[i].own != NULL;
        if (!is_made || klib_dnnl.memory_desc_equal(o[i].user, o[i].own))
            continue;
        bool is_result = i == made_by(s->kind);
        dnnl_handle from = is_result ? o[i].own : o[i].user;
        dnnl_handle to = is_result ? o[i].user : o[i].own;
        o[i].own_B = ALIGNED(klib_dnnl.memory_desc_get_size(o[i].own));
        is_made = !klib_dnnl.reorder_primitive_desc_create(&o[i].desc, from, klib_dnnl.engine, to,
                                                           klib_dnnl.engine, attr) &&
                  !klib_dnnl.primitive_create(&o[i].reorder, o[i].desc);
        if (is_made)
            o[i].scratch = scratch_of(c, o[i].desc);
    }
    is_made = is_made && !klib_dnnl.primitive_create(&c->primitive, c->desc);
    if (is_made)
        c->scratch = scratch_of(c, c->desc);
    if (attr)
        (void)klib_dnnl.primitive_attr_destroy(attr);
    return is_made;
}

static void conv_destroy(struct klib_dnnl_kept *kept)
{
    struct conv *c = (struct conv *)kept;

    for (int i = 0; i < OPERANDS; i++) {
        struct operand *o = &c->operands[i];
        if (o->reorder)
            (void)klib_dnnl.primitive_destroy(o->reorder);
        if (o->desc)
            (void)klib_dnnl.primitive_desc_destroy(o->desc);
        if (o->user)
            (void)klib_dnnl.memory_desc_destroy(o->user);
        if (o->asked)
            (void)klib_dnnl.memory_desc_destroy(o->asked);
    }
    if (c->primitive)
        (void)klib_dnnl.primitive_destroy(c->primitive);
    if (c->desc)
        (void)klib_dnnl.primitive_desc_destroy(c->desc);
    if (c->hint)
        (void)klib_dnnl.primitive_desc_destroy(c->hint);
    free(c);
}

static struct klib_dnnl_kept *conv_create(const void *key)
{
    struct conv *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->shape = *(const struct shape *)key;
    c->kept = (struct klib_dnnl_kept){
        .key = &c->shape, .key_B = sizeof(c->shape), .destroy = conv_destroy};
    if (!make(c))
        hd_log_debug(HD_DEBUG_LOAD, "oneDNN has no convolution of kind %lld like this one",
                     (long long)c->shape.kind);
    return &c->kept;
}

/* ---- parts of a convolution */

static const struct klib_tensor *tensor_of(const struct klib_conv *c, int o)
{
    return o == X ? &c->x : o == W ? &c->w : &c->y;
}

/* Channels of the part are the result's; of gradients of filters y's; with groups: groups. */
static bool has_part(const struct klib_conv *c, int o, int d)
{
    if (c->groups > 1)
        return o == W ? d == 0 : d == 1;
    return c->kind == KLIB_CONV_DATA ? (o == X && d == 1) || (o == W && d == 1)
                                     : (o == W && d == 0) || (o == Y && d == 1);
}

static int64_t channels_each(const struct klib_conv *c, int o)
{
    return c->groups == 1 ? 1 : o == X ? c->w.dims[1] : c->y.dims[1] / c->groups;
}

static bool is_direct(const struct klib_conv *c)
{
    const struct klib_tensor *to = tensor_of(c, made_by(c->kind));
    bool is_plain = c->alpha == 1 && (!c->z.address || c->beta == 0) && !c->bias.address &&
                    c->act.kind == KLIB_ACT_IDENTITY;

    return is_plain && klib_dnnl_type(to->type) &&
           (!c->is_double || to->type == KLIB_F32 || to->type == KLIB_I32);
}

/* The part's shape, and where its operands begin. */
static void shape_of(const struct klib_conv *c, const struct klib_conv_part *p, struct shape *s,
                     char **at)
{
    int spatial = c->x.rank - 2, made = made_by(c->kind);
    bool is_whole = p->sums == NULL;

    *s = (struct shape){.kind = c->kind, .spatial = spatial, .has_groups = c->groups > 1};
    for (int d = 0; d < spatial; d++) {
        int64_t reach = (c->w.dims[2 + d] - 1) * c->dilation[d] + 1;
        s->pad[d] = c->pad[d];
        s->stride[d] = c->stride[d];
        s->dilation[d] = c->dilation[d] - 1;
        s->behind[d] = (c->y.dims[2 + d] - 1) * c->stride[d] + reach - c->x.dims[2 + d] - c->pad[d];
    }
    for (int o = 0; o < OPERANDS; o++) {
        const struct klib_tensor *t = tensor_of(c, o);
        int64_t *dims = s->dims[o], *strides = s->strides[o], offset = 0;
        int skip = o == W && s->has_groups;
        s->types[o] = t->type;
        s->inner[o] = c->is_double ? o == made ? KLIB_I32 : t->type : KLIB_F32;
        s->by_pixels[o] = o != W && t->strides[1] == 1 && t->dims[1] > 1;
        for (int d = 0; d < t->rank; d++) {
            dims[skip + d] = t->dims[d];
            strides[skip + d] = t->strides[d];
            if (d == 0 && o != W) {
                offset += p->image * t->strides[0];
                dims[0] = p->images;
            }
            if (has_part(c, o, d)) {
                int64_t each = channels_each(c, o);
                offset += p->channel * each * t->strides[d];
                dims[skip + d] = p->channels * each;
            }
        }
        if (skip) {
            dims[0] = p->channels;
            dims[1] = channels_each(c, Y);
            strides[0] = dims[1] * t->strides[0];
        }
        at[o] = (char *)t->address + klib_bytes(t->type, offset);
        if (o != made || is_whole)
            continue;
        /* Sums, one behind the other. */
        int n = t->rank + skip;
        int64_t step = 1;
        s->types[o] = s->inner[o];
        at[o] = p->sums;
        if (s->by_pixels[o]) {
            strides[1] = 1;
            step = dims[1];
        }
        for (int d = n - 1; d >= 0; d--) {
            if (d == 1 && s->by_pixels[o])
                continue;
            strides[d] = step;
            step *= dims[d];
        }
    }
    if (c->is_double && is_whole)
        s->inner[made] = s->types[made];
}

static bool reorder(const struct operand *o, bool is_made, const struct klib_dnnl_helper *h,
                    void *user, void *own)
{
    const struct klib_dnnl_operand operands[] = {
        {DNNL_ARG_SRC, is_made ? o->own : o->user, is_made ? own : user},
        {DNNL_ARG_DST, is_made ? o->user : o->own, is_made ? user : own},
        {DNNL_ARG_SCRATCHPAD, o->scratch, h->scratch}};

    return klib_dnnl_execute(o->reorder, h, operands, o->scratch ? 3 : 2);
}

bool klib_onednn_conv(const struct klib_conv *c, const struct klib_conv_part *p,
                      struct klib_conv_weights *weights)
{
    static const int args[][OPERANDS] = {
        [KLIB_CONV_FORWARD] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
        [KLIB_CONV_DATA] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
        [KLIB_CONV_FILTER] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST}};
    struct shape shape;
    char *at[OPERANDS];
    int made = made_by(c->kind);

    shape_of(c, p, &shape, at);
    struct conv *conv = (struct conv *)klib_dnnl_get(&shape, sizeof(shape), conv_create);
    if (!conv)
        return false;
    struct operand *o = conv->operands;
    size_t scratch_B = ALIGNED(conv->scratch_B);
    bool has_weights = made != W && o[W].reorder;
    for (int i = 0; i < OPERANDS; i++)
        scratch_B += i == W && has_weights ? 0 : o[i].own_B;
    struct klib_dnnl_helper *h = conv->primitive ? klib_dnnl_helper_get(scratch_B) : NULL;
    if (!h) {
        klib_dnnl_put(&conv->kept);
        return false;
    }
    int threads = klib_dnnl_enter();
    char *room = (char *)h->scratch + ALIGNED(conv->scratch_B);
    struct klib_dnnl_operand operands[OPERANDS + 1];
    bool done = true;
    for (int i = 0; i < OPERANDS && done; i++) {
        operands[i] = (struct klib_dnnl_operand){args[shape.kind][i], o[i].own, at[i]};
        if (!o[i].reorder)
            continue;
        bool is_there = false;
        if (i == W && has_weights) {
            is_there =
                weights->of == at[W] && klib_dnnl.memory_desc_equal(weights->layout, o[W].own);
            if (!is_there && weights->room)
                klib_dnnl_helper_put(weights->room);
            if (!is_there)
                weights->room = klib_dnnl_helper_get(o[W].own_B);
            done = weights->room != NULL;
            operands[i].address = done ? weights->room->scratch : NULL;
        } else {
            operands[i].address = room;
            room += o[i].own_B;
        }
        if (done && i != made && !is_there)
            done = reorder(&o[i], false, h, at[i], operands[i].address);
    }
    operands[OPERANDS] = (struct klib_dnnl_operand){DNNL_ARG_SCRATCHPAD, conv->scratch, h->scratch};
    done = done && klib_dnnl_execute(conv->primitive, h, operands, OPERANDS + !!conv->scratch);
    if (done && o[made].reorder)
        done = reorder(&o[made], true, h, at[made], operands[made].address);
    klib_dnnl_leave(threads);
    klib_dnnl_helper_put(h);
    /* The layout is a part of what is kept, which this call's next part finds again. */
    if (has_weights) {
        if (weights->user)
            klib_dnnl_put(weights->user);
        weights->user = &conv->kept;
        weights->layout = o[W].own;
        weights->of = done ? at[W] : NULL;
    } else {
        klib_dnnl_put(&conv->kept);
    }
    return done;
}

void klib_conv_weights_fini(struct klib_conv_weights *w)
{
    if (w->room)
        klib_dnnl_helper_put(w->room);
    if (w->user)
        klib_dnnl_put(w->user);
}

/* ---- is it best its, and how is it cut? */

static bool is_its(const struct klib_conv *c, double products, double *out_rate)
{
    int made = made_by(c->kind);
    uint8_t type = KLIB_F32;

    if (c->is_flipped)
        return false;
    for (int o = 0; o < OPERANDS; o++) {
        const struct klib_tensor *t = tensor_of(c, o);
        if (t->vector > 1 || t->rank != c->x.rank)
            return false;
        for (int d = 0; d < t->rank; d++)
            if (t->dims[d] < 1 || (t->dims[d] > 1 && t->strides[d] < 1))
                return false;
        if (o == made)
            continue;
        if (!klib_dnnl_type(t->type) || t->type == KLIB_I32)
            return false;
        if (c->is_double)
            type = o == W && t->type != KLIB_I8 ? KLIB_F64 : t->type;
    }
    int64_t k = c->w.dims[1];
    for (int d = 2; d < c->w.rank; d++)
        k *= c->w.dims[d];
    if (c->is_double && (c->kind != KLIB_CONV_FORWARD || k > K_MAX_BYTES ||
                         (c->x.type != KLIB_I8 && c->x.type != KLIB_U8)))
        return false;
    if (c->is_double && c->w.type != KLIB_I8)
        return false;
    for (size_t i = 0; i < HD_COUNT_OF(limits); i++)
        if (limits[i].type == type) {
            const struct klib_onednn *info =
                products >= limits[i].products ? klib_onednn_info() : NULL;
            *out_rate = limits[i].rate;
            return info && (info->isa & limits[i].isa);
        }
    return false;
}

static int64_t parts(int64_t n, int64_t of)
{
    return (n + of - 1) / of;
}

uint64_t klib_onednn_conv_plan(struct klib_conv *c, double products, unsigned threads,
                               uint64_t *out_tiles)
{
    const struct klib_tensor *to = tensor_of(c, made_by(c->kind));
    bool is_filter = c->kind == KLIB_CONV_FILTER;
    /* Tiles of a filter reorder all images: no more than there are threads. */
    int64_t wanted = threads > 1 ? (is_filter ? 1 : 2) * (int64_t)threads : 1, image = 0;
    double rate;

    if (!is_its(c, products, &rate))
        return 0;
    for (int o = X; o <= Y; o += Y - X) {
        int64_t n = 1;
        for (int d = 1; d < tensor_of(c, o)->rank; d++)
            n *= tensor_of(c, o)->dims[d];
        image += n * 4;
    }
    int64_t images = c->x.dims[0], channels = c->groups > 1 ? c->groups
                                              : is_filter   ? c->w.dims[0]
                                                            : to->dims[1];
    int64_t unit = c->groups > 1 ? 1 : CHANNELS_UNIT, weights = c->w.dims[0];
    for (int d = 1; d < c->w.rank; d++)
        weights *= c->w.dims[d];
    c->images = images;
    c->channels = channels;
    c->pixel_blocks = c->channel_blocks = 1;
    /* Tiles of other images reorder the weights again, those of other channels the images. */
    while (c->pixel_blocks * c->channel_blocks < wanted) {
        bool by_channels = c->channels >= 4 * unit, by_images = !is_filter && c->images > 1;
        if (by_images && (!by_channels || weights * 4 <= image * images))
            c->images = (c->images + 1) / 2;
        else if (by_channels)
            c->channels = parts(c->channels, 2 * unit) * unit;
        else
            break;
        c->pixel_blocks = parts(images, c->images);
        c->channel_blocks = parts(channels, c->channels);
    }
    c->image_block = is_filter ? images : HD_MIN(HD_MAX(PART_B / HD_MAX(image, 1), 1), c->images);
    c->is_direct = is_direct(c);
    /* Is there such a primitive? */
    float none;
    struct klib_conv_part part = {.images = c->image_block,
                                  .channels = HD_MIN(c->channels, channels),
                                  .sums = c->is_direct ? NULL : &none};
    struct shape shape;
    char *at[OPERANDS];
    shape_of(c, &part, &shape, at);
    struct conv *conv = (struct conv *)klib_dnnl_get(&shape, sizeof(shape), conv_create);
    bool is_there = conv && conv->primitive;
    if (conv)
        klib_dnnl_put(&conv->kept);
    if (!is_there)
        return 0;
    *out_tiles = (uint64_t)(c->pixel_blocks * c->channel_blocks);
    return HD_MAX((uint64_t)(products / rate), 1);
}
