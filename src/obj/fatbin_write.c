/* Writing containers: used by `heddle cc` and by tests. */
#include "obj/fatbin.h"

#include <assert.h>
#include <lz4.h>
#include <string.h>
#include <zstd.h>

#include "base/mem.h"
#include "obj/fatbin_layout.h"

/* PTX compresses 5:1 at the default level in about 5 ms per megabyte. */
#define ZSTD_LEVEL 9

/* Compresses into a new buffer of *out_B bytes; NULL when memory is short. */
static char *pack(enum obj_codec codec, const char *bytes, size_t len, size_t *out_B)
{
    assert(codec == OBJ_CODEC_LZ4 || codec == OBJ_CODEC_ZSTD);
    size_t bound_B =
        codec == OBJ_CODEC_LZ4 ? (size_t)LZ4_compressBound((int)len) : ZSTD_compressBound(len);
    char *out = hd_alloc(bound_B);
    if (!out)
        return NULL;
    if (codec == OBJ_CODEC_LZ4) {
        *out_B = (size_t)LZ4_compress_default(bytes, out, (int)len, (int)bound_B);
    } else {
        size_t n = ZSTD_compress(out, bound_B, bytes, len, ZSTD_LEVEL);
        *out_B = ZSTD_isError(n) ? 0 : n;
    }
    assert(*out_B <= bound_B);
    if (*out_B)
        return out;
    hd_free(out);
    return NULL;
}

static uint64_t codec_flags(enum obj_codec codec)
{
    if (codec == OBJ_CODEC_ZSTD)
        return OBJ_FLAG_ZSTD;
    return codec == OBJ_CODEC_LZ4 ? OBJ_FLAG_LZ4 : 0;
}

static uint64_t variant_flags(char variant)
{
    if (variant == 'a')
        return OBJ_FLAG_ARCH_SPECIFIC;
    return variant == 'f' ? OBJ_FLAG_FAMILY_SPECIFIC : 0;
}

static void append_zeros(struct hd_buf *out, size_t count)
{
    while (count--)
        hd_buf_putc(out, '\0');
}

/* Header: fixed part, options record {offset, length}, options text, source name, padding to 8. */
static void append_header(struct hd_buf *out, const struct obj_fatbin_source *src,
                          struct obj_entry_raw raw)
{
    size_t options_B = src->options ? strlen(src->options) : 0;
    size_t source_B = src->source_name ? strlen(src->source_name) + 1 : 0;
    uint32_t at = sizeof(raw);
    uint32_t record[2] = {at + sizeof(record), (uint32_t)options_B};
    raw.options_at = options_B ? at : 0;
    at += options_B ? (uint32_t)(sizeof(record) + options_B) : 0;
    raw.source_at = source_B ? at : 0;
    raw.source_B = source_B ? (uint32_t)source_B - 1 : 0;
    at += (uint32_t)source_B;
    raw.header_B = (uint32_t)hd_align_up(at, 8);

    assert(raw.header_B >= at && raw.header_B - at < 8);
    hd_buf_append(out, &raw, sizeof(raw));
    if (options_B) {
        hd_buf_append(out, record, sizeof(record));
        hd_buf_append(out, src->options, options_B);
    }
    if (source_B)
        hd_buf_append(out, src->source_name, source_B);
    append_zeros(out, raw.header_B - at);
}

static enum hd_status append_entry(struct hd_buf *out, const struct obj_fatbin_source *src,
                                   enum obj_codec codec)
{
    bool ends_in_nul = src->kind == OBJ_ENTRY_PTX;
    size_t raw_B = src->size_B + ends_in_nul;
    if (raw_B > OBJ_PAYLOAD_MAX_B || (src->options && strlen(src->options) > 4096))
        return hd_error(HD_BAD_ARG, "fat binary: payload or options are too large");
    char *text HD_AUTOFREE = hd_alloc(raw_B);
    if (!text)
        return hd_error(HD_NO_MEMORY, "no memory to write a fat binary");
    memcpy(text, src->payload, src->size_B);

    size_t stored_B = raw_B;
    char *packed HD_AUTOFREE = NULL;
    if (codec != OBJ_CODEC_RAW) {
        packed = pack(codec, text, raw_B, &stored_B);
        if (!packed)
            return hd_error(HD_NO_MEMORY, "no memory to compress %zu bytes", raw_B);
    }
    struct obj_entry_raw raw = {
        .kind = (uint16_t)src->kind,
        .version = OBJ_ENTRY_VERSION,
        .padded_B = hd_align_up(stored_B, 8),
        .stored_B = packed ? (uint32_t)stored_B : 0,
        .minor = src->version_minor,
        .major = src->version_major,
        .arch = src->arch,
        .flags = OBJ_FLAG_64BIT | OBJ_FLAG_LINUX | src->flags | codec_flags(codec) |
                 variant_flags(src->variant),
        .raw_B = packed ? raw_B : 0,
    };
    assert(raw.padded_B >= stored_B && raw.padded_B % 8 == 0);
    append_header(out, src, raw);
    hd_buf_append(out, packed ? packed : text, stored_B);
    append_zeros(out, (size_t)raw.padded_B - stored_B);
    return HD_OK;
}

enum hd_status obj_fatbin_write(const struct obj_fatbin_source *sources, size_t count,
                                enum obj_codec codec, struct hd_buf *out)
{
    if (codec == OBJ_CODEC_OPAQUE)
        return hd_error(HD_BAD_ARG, "fat binary: cannot write this compression");
    struct hd_buf body;
    hd_buf_init(&body);
    enum hd_status status = HD_OK;
    for (size_t i = 0; status == HD_OK && i < count; i++)
        status = append_entry(&body, &sources[i], codec);
    if (status == HD_OK) {
        struct obj_container_raw head = {
            .magic = OBJ_FATBIN_MAGIC,
            .version = OBJ_CONTAINER_VERSION,
            .header_B = sizeof(head),
            .body_B = body.len,
        };
        hd_buf_append(out, &head, sizeof(head));
        hd_buf_append(out, body.ptr, body.len);
        if (out->failed || body.failed)
            status = hd_error(HD_NO_MEMORY, "no memory to write a fat binary");
    }
    hd_buf_fini(&body);
    return status;
}
