/* Texels of arrays and textures: the formats that there are (texel_formats.def). */
#ifndef HD_CORE_TEXTURE_TEXEL_H
#define HD_CORE_TEXTURE_TEXEL_H

#include <stdbool.h>

#include "base/status.h"

/* A format by its number; false: not one that arrays have. *channels may be replaced. */
struct core_texel {
    unsigned kind; /* enum ir_texel_kind */
    unsigned bits; /* of a channel */
    unsigned channels;
};
bool core_texel_find(unsigned format, unsigned channels, struct core_texel *out_texel);
/* The same, or the error that says what is wrong. */
enum hd_status core_texel_check(unsigned format, unsigned channels, struct core_texel *out_texel)
    HD_MUST_CHECK;

#endif
