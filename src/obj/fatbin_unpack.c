/* Decompression of entry payloads. */
#include "obj/fatbin.h"

#include <assert.h>
#include <lz4.h>
#include <string.h>
#include <zstd.h>

#include "base/mem.h"

/* An LZ4 block never expands by more than 255: larger claims are refused before allocating. */
#define LZ4_RATIO_MAX 255

static enum hd_status unpack_error(const struct obj_entry *entry, const char *why)
{
    return hd_error(HD_BAD_IMAGE, "fat binary offset %zu: %s payload: %s", entry->offset_B,
                    obj_codec_text(entry->codec), why);
}

static enum hd_status unpack_lz4(const struct obj_entry *entry, char *out)
{
    assert(entry->stored_B <= INT_MAX && entry->raw_B <= INT_MAX); /* unpack_check() */
    int n = LZ4_decompress_safe((const char *)entry->payload, out, (int)entry->stored_B,
                                (int)entry->raw_B);
    if (n < 0)
        return unpack_error(entry, "not a valid block");
    return (size_t)n == entry->raw_B ? HD_OK : unpack_error(entry, "ends early");
}

static enum hd_status unpack_zstd(const struct obj_entry *entry, char *out)
{
    size_t n = ZSTD_decompress(out, entry->raw_B, entry->payload, entry->stored_B);
    if (ZSTD_isError(n))
        return unpack_error(entry, ZSTD_getErrorName(n));
    return n == entry->raw_B ? HD_OK : unpack_error(entry, "ends early");
}

/* Refuses impossible sizes before memory is asked for. */
static enum hd_status unpack_check(const struct obj_entry *entry)
{
    if (entry->raw_B == 0 || entry->raw_B > OBJ_PAYLOAD_MAX_B)
        return unpack_error(entry, "decompressed size is not possible");
    if (entry->codec == OBJ_CODEC_LZ4 &&
        (entry->stored_B > LZ4_MAX_INPUT_SIZE ||
         entry->raw_B > entry->stored_B * LZ4_RATIO_MAX + LZ4_RATIO_MAX))
        return unpack_error(entry, "claims more than the format can expand to");
    if (entry->codec == OBJ_CODEC_ZSTD) {
        unsigned long long size_B = ZSTD_getFrameContentSize(entry->payload, entry->stored_B);
        if (size_B == ZSTD_CONTENTSIZE_ERROR)
            return unpack_error(entry, "no zstd frame");
        if (size_B != ZSTD_CONTENTSIZE_UNKNOWN && size_B != entry->raw_B)
            return unpack_error(entry, "frame and header disagree about the size");
    }
    return HD_OK;
}

static enum hd_status unpack_packed(const struct obj_entry *entry, struct hd_buf *out_buf)
{
    assert(entry->codec == OBJ_CODEC_LZ4 || entry->codec == OBJ_CODEC_ZSTD);
    HD_TRY(unpack_check(entry));
    char *bytes = hd_alloc(entry->raw_B + 1);
    if (!bytes)
        return hd_error(HD_NO_MEMORY, "no memory for %zu bytes of device code", entry->raw_B);
    enum hd_status status =
        entry->codec == OBJ_CODEC_LZ4 ? unpack_lz4(entry, bytes) : unpack_zstd(entry, bytes);
    if (status != HD_OK) {
        hd_free(bytes);
        return status;
    }
    hd_buf_fini(out_buf);
    *out_buf = (struct hd_buf){.ptr = bytes, .len = entry->raw_B, .cap = entry->raw_B + 1};
    return HD_OK;
}

enum hd_status obj_entry_read(const struct obj_entry *entry, struct hd_buf *out_buf)
{
    switch (entry->codec) {
    case OBJ_CODEC_OPAQUE:
        return hd_error(HD_NOT_SUPPORTED, "fat binary offset %zu: LTO-IR cannot be read",
                        entry->offset_B);
    case OBJ_CODEC_RAW:
        hd_buf_append(out_buf, entry->payload, entry->stored_B);
        if (out_buf->failed)
            return hd_error(HD_NO_MEMORY, "no memory for %zu bytes of device code", entry->raw_B);
        break;
    case OBJ_CODEC_LZ4:
    case OBJ_CODEC_ZSTD:
        HD_TRY(unpack_packed(entry, out_buf));
        break;
    }
    assert(!out_buf->ptr || out_buf->len < out_buf->cap);
    if (entry->kind == OBJ_ENTRY_PTX && out_buf->ptr)
        out_buf->len = strnlen(out_buf->ptr, out_buf->len);
    return HD_OK;
}
