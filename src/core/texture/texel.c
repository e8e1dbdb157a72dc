/* Texels: the formats that arrays and textures have. */
#include "core/texture/texel.h"

#include "base/compiler.h"
#include "base/status.h"
#include "model/texture.h"

static const struct {
    unsigned number, bits, channels, kind;
} formats[] = {
#define X(NAME, number, bits, channels, kind) {number, bits, channels, IR_TEXEL_##kind},
#include "texel_formats.def"
#undef X
};

bool core_texel_find(unsigned format, unsigned channels, struct core_texel *out_texel)
{
    for (size_t i = 0; i < HD_COUNT_OF(formats); i++) {
        if (formats[i].number != format)
            continue;
        if (formats[i].channels && formats[i].channels != channels)
            return false;
        *out_texel = (struct core_texel){formats[i].kind, formats[i].bits, channels};
        return channels == 1 || channels == 2 || channels == 4;
    }
    return false;
}

enum hd_status core_texel_check(unsigned format, unsigned channels, struct core_texel *out_texel)
{
    if (core_texel_find(format, channels, out_texel))
        return HD_OK;
    /* Those that the API names and we lack: blocks, planes, packed YUV. */
    if (format == 80 || (format >= 145 && format <= 181))
        return hd_error(HD_NOT_SUPPORTED,
                        "array format %u: texels in blocks, in planes and of packed channels are "
                        "not supported",
                        format);
    return hd_error(HD_BAD_ARG, "there are no arrays of format %u with %u channels", format,
                    channels);
}
