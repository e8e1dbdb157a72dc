/* Convolutions by oneDNN (onednn.h), where it is there and faster. */
#ifndef HD_KLIB_ONEDNN_CONV_H
#define HD_KLIB_ONEDNN_CONV_H

#include "base/compiler.h"
#include "klib/dnn.h"
#include "klib/klib.h"

/*
 * Cuts the convolution, of so many products, into tiles for this engine, and returns about how many
 * nanoseconds it takes; 0: it is not best oneDNN's. Makes its code if there is none yet.
 */
uint64_t klib_onednn_conv_plan(struct klib_conv *c, double products, unsigned threads,
                               uint64_t *out_tiles);

/*
 * A part: images, and channels of the result (of y for gradients of filters, which have no images;
 * with groups: groups). Sums go to `sums`, floats or of bytes int32_t, in the result's order of
 * dimensions without gaps; NULL: into the result, if the convolution is_direct.
 */
struct klib_conv_part {
    int64_t image, images, channel, channels;
    void *sums;
};

/* The weights as oneDNN had them last. Begins as zeros. */
struct klib_conv_weights {
    struct klib_dnnl_helper *room;
    const void *of;
    void *layout;
    struct klib_dnnl_kept *user;
};

/* False: no memory. */
bool klib_onednn_conv(const struct klib_conv *c, const struct klib_conv_part *p,
                      struct klib_conv_weights *weights) HD_MUST_CHECK;
void klib_conv_weights_fini(struct klib_conv_weights *w);

#endif
