/* Reading containers and entries. See fatbin.h for the format and the rules. */
#include "obj/fatbin.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "obj/bytes.h"
#include "obj/fatbin_layout.h"

/* A body that is larger than this cannot be mapped: the header is garbage. */
#define OBJ_BODY_MAX_B ((uint64_t)1 << 40)

enum hd_status obj_fatbin_open(const void *bytes, size_t size_B, struct obj_fatbin *out_fatbin)
{
    struct obj_container_raw head;
    if (size_B < sizeof(head))
        return hd_error(HD_BAD_IMAGE, "fat binary offset 0: header of %zu bytes is cut off at %zu",
                        sizeof(head), size_B);
    memcpy(&head, bytes, sizeof(head));
    if (head.magic != OBJ_FATBIN_MAGIC)
        return hd_error(HD_BAD_IMAGE, "fat binary offset 0: magic is 0x%08x, expected 0x%08x",
                        head.magic, OBJ_FATBIN_MAGIC);
    if (head.version != OBJ_CONTAINER_VERSION)
        return hd_error(HD_BAD_IMAGE, "fat binary offset 4: version %u is not known, expected %u",
                        head.version, OBJ_CONTAINER_VERSION);
    if (head.header_B < sizeof(head))
        return hd_error(HD_BAD_IMAGE, "fat binary offset 6: header size %u is below %zu",
                        head.header_B, sizeof(head));
    if (head.body_B > OBJ_BODY_MAX_B ||
        (size_B != OBJ_SIZE_UNKNOWN && !obj_range_fits(head.header_B, head.body_B, size_B)))
        return hd_error(
            HD_BAD_IMAGE,
            "fat binary offset 8: body of %llu bytes does not fit an image of %zu bytes",
            (unsigned long long)head.body_B, size_B);
    *out_fatbin = (struct obj_fatbin){
        .bytes = bytes,
        .size_B = head.header_B + (size_t)head.body_B,
        .first_B = head.header_B,
    };
    return HD_OK;
}

static char fatbin_entry_variant(uint64_t flags)
{
    if (flags & OBJ_FLAG_ARCH_SPECIFIC)
        return 'a';
    return flags & OBJ_FLAG_FAMILY_SPECIFIC ? 'f' : 0;
}

/* LTO-IR carries compression flags but is not a plain frame: it is never decoded here. */
static enum obj_codec fatbin_entry_codec(const struct obj_entry_raw *raw)
{
    if (raw->kind == OBJ_ENTRY_LTOIR || (raw->flags & OBJ_FLAG_LTOIR))
        return OBJ_CODEC_OPAQUE;
    if (raw->flags & OBJ_FLAG_ZSTD)
        return OBJ_CODEC_ZSTD;
    return raw->flags & OBJ_FLAG_LZ4 ? OBJ_CODEC_LZ4 : OBJ_CODEC_RAW;
}

/* Name and options are for messages only: a record that does not fit is refused all the same. */
static enum hd_status fatbin_entry_read_texts(const uint8_t *header,
                                              const struct obj_entry_raw *raw, size_t at,
                                              struct obj_entry *out_entry)
{
    if (raw->source_at) {
        if (!obj_range_fits(raw->source_at, raw->source_B, raw->header_B))
            return hd_error(HD_BAD_IMAGE, "fat binary offset %zu: source name leaves its header",
                            at + offsetof(struct obj_entry_raw, source_at));
        const char *name = (const char *)header + raw->source_at;
        out_entry->source = (struct hd_str){name, strnlen(name, raw->source_B)};
    }
    if (raw->options_at) {
        if (!obj_range_fits(raw->options_at, 8, raw->header_B))
            return hd_error(HD_BAD_IMAGE, "fat binary offset %zu: options record leaves its header",
                            at + offsetof(struct obj_entry_raw, options_at));
        uint32_t text_at = obj_load_u32(header + raw->options_at);
        uint32_t text_B = obj_load_u32(header + raw->options_at + 4);
        if (text_B && !obj_range_fits(text_at, text_B, raw->header_B))
            return hd_error(HD_BAD_IMAGE, "fat binary offset %zu: options text leaves its header",
                            at + raw->options_at);
        if (text_B)
            out_entry->options = (struct hd_str){(const char *)header + text_at, text_B};
    }
    return HD_OK;
}

static enum hd_status fatbin_entry_check(const struct obj_entry_raw *raw, size_t at, size_t left_B)
{
    if (raw->header_B < sizeof(*raw) || raw->header_B > OBJ_ENTRY_HEADER_MAX_B ||
        raw->header_B > left_B)
        return hd_error(HD_BAD_IMAGE, "fat binary offset %zu: entry header size %u is not possible",
                        at + offsetof(struct obj_entry_raw, header_B), raw->header_B);
    assert(raw->header_B <= left_B);
    if (raw->padded_B > left_B - raw->header_B)
        return hd_error(
            HD_BAD_IMAGE, "fat binary offset %zu: payload of %llu bytes leaves the container",
            at + offsetof(struct obj_entry_raw, padded_B), (unsigned long long)raw->padded_B);
    if (raw->stored_B > raw->padded_B)
        return hd_error(HD_BAD_IMAGE,
                        "fat binary offset %zu: compressed size %u exceeds the payload's %llu",
                        at + offsetof(struct obj_entry_raw, stored_B), raw->stored_B,
                        (unsigned long long)raw->padded_B);
    return HD_OK;
}

enum hd_status obj_fatbin_next(const struct obj_fatbin *fatbin, size_t *cursor_B,
                               struct obj_entry *out_entry)
{
    size_t at = *cursor_B ? *cursor_B : fatbin->first_B;
    assert(at >= fatbin->first_B && at <= fatbin->size_B); /* a cursor of this one */
    size_t left_B = fatbin->size_B - at;
    if (left_B == 0)
        return HD_NOT_FOUND;
    struct obj_entry_raw raw;
    if (left_B < sizeof(raw))
        return hd_error(HD_BAD_IMAGE,
                        "fat binary offset %zu: entry header is cut off, %zu bytes left", at,
                        left_B);
    const uint8_t *header = fatbin->bytes + at;
    memcpy(&raw, header, sizeof(raw));
    HD_TRY(fatbin_entry_check(&raw, at, left_B));

    enum obj_codec codec = fatbin_entry_codec(&raw);
    bool packed = codec == OBJ_CODEC_LZ4 || codec == OBJ_CODEC_ZSTD;
    *out_entry = (struct obj_entry){
        .kind = raw.kind,
        .arch = raw.arch,
        .variant = fatbin_entry_variant(raw.flags),
        .version_major = raw.major,
        .version_minor = raw.minor,
        .flags = raw.flags,
        .codec = codec,
        .payload = header + raw.header_B,
        .stored_B = packed && raw.stored_B ? raw.stored_B : (size_t)raw.padded_B,
        .raw_B = packed ? (size_t)raw.raw_B : (size_t)raw.padded_B,
        .offset_B = at,
        .end_B = at + raw.header_B + (size_t)raw.padded_B,
    };
    assert(out_entry->end_B <= fatbin->size_B && out_entry->end_B > at);
    assert(out_entry->stored_B <= raw.padded_B);
    HD_TRY(fatbin_entry_read_texts(header, &raw, at, out_entry));
    *cursor_B = out_entry->end_B;
    return HD_OK;
}

bool obj_fatbin_scan(const void *bytes, size_t size_B, size_t *at_B, struct obj_fatbin *out_fatbin)
{
    const uint8_t *base = bytes;
    for (size_t at = (size_t)hd_align_up(*at_B, 8); obj_range_fits(at, 16, size_B); at += 8) {
        struct obj_container_raw head;
        memcpy(&head, base + at, sizeof(head));
        if (head.magic != OBJ_FATBIN_MAGIC || head.version != OBJ_CONTAINER_VERSION ||
            head.header_B < sizeof(head))
            continue;
        if (!obj_range_fits(head.header_B, head.body_B, size_B - at))
            continue;
        *out_fatbin = (struct obj_fatbin){
            .bytes = base + at,
            .size_B = head.header_B + (size_t)head.body_B,
            .first_B = head.header_B,
        };
        assert(out_fatbin->size_B <= size_B - at);
        *at_B = at + out_fatbin->size_B;
        return true;
    }
    *at_B = size_B;
    return false;
}

const char *obj_entry_kind_text(unsigned kind, char *buf, size_t buf_B)
{
    switch (kind) {
#define X(name, value, text)                                                                       \
    case value:                                                                                    \
        return text;
        OBJ_ENTRY_KIND_LIST(X)
#undef X
    default:
        snprintf(buf, buf_B, "kind %u", kind);
        return buf;
    }
}

const char *obj_codec_text(enum obj_codec codec)
{
    static const char *const texts[] = {
#define X(name, text) text,
        OBJ_CODEC_LIST(X)
#undef X
    };
    assert((size_t)codec < HD_COUNT_OF(texts));
    return texts[codec];
}

const char *obj_image_kind_text(enum obj_image_kind kind)
{
    static const char *const texts[] = {
#define X(name, text) text,
        OBJ_IMAGE_KIND_LIST(X)
#undef X
    };
    assert((size_t)kind < HD_COUNT_OF(texts));
    return texts[kind];
}

/* ELF header fields that tell host files and device images apart (ELF-64). */
enum { ELF_ABI_VERSION_AT = 8, ELF_MACHINE_AT = 18, ELF_FLAGS_AT = 48, ELF_HEADER_B = 64 };
#define ELF_MACHINE_CUDA 190

unsigned obj_cubin_arch(const void *bytes, size_t size_B)
{
    const uint8_t *elf = bytes;
    if (size_B < ELF_HEADER_B || memcmp(elf,
                                        "\x7f"
                                        "ELF",
                                        4) != 0)
        return 0;
    if (obj_load_u16(elf + ELF_MACHINE_AT) != ELF_MACHINE_CUDA)
        return 0;
    /* ABI version 8 (CUDA 13) moved the number from the low byte to the next one. */
    uint32_t flags = obj_load_u32(elf + ELF_FLAGS_AT);
    return elf[ELF_ABI_VERSION_AT] >= 8 ? (flags >> 8) & 0xff : flags & 0xff;
}

/* A text that ends at its NUL or after left_B bytes, whichever comes first: it may lie right before
 * unmapped memory, so no byte behind either is touched. */
struct text_cursor {
    const char *at;
    size_t left_B;
};

static char fatbin_text_peek(const struct text_cursor *text)
{
    return text->left_B ? *text->at : '\0';
}

static void fatbin_text_step(struct text_cursor *text)
{
    assert(text->left_B);
    text->at++;
    text->left_B--;
}

/* Behind the opening of a comment: skips to its end. */
static void fatbin_text_skip_comment(struct text_cursor *text, bool to_line_end)
{
    for (char before = 0, c; (c = fatbin_text_peek(text)); before = c) {
        fatbin_text_step(text);
        if (to_line_end ? c == '\n' : before == '*' && c == '/')
            return;
    }
}

static void fatbin_text_skip_blank(struct text_cursor *text)
{
    for (char c; (c = fatbin_text_peek(text));) {
        if (c == '/') {
            fatbin_text_step(text);
            char second = fatbin_text_peek(text);
            if (second != '/' && second != '*')
                return;
            fatbin_text_step(text);
            fatbin_text_skip_comment(text, second == '/');
        } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            fatbin_text_step(text);
        } else {
            return;
        }
    }
}

static bool fatbin_text_starts(struct text_cursor *text, const char *word)
{
    for (; *word; word++, fatbin_text_step(text))
        if (fatbin_text_peek(text) != *word)
            return false;
    return true;
}

static bool fatbin_image_is_ptx(const char *image, size_t size_B)
{
    struct text_cursor text = {image, size_B};
    if (fatbin_text_peek(&text) == '\xef' && !fatbin_text_starts(&text, "\xef\xbb\xbf"))
        return false;
    fatbin_text_skip_blank(&text);
    return fatbin_text_starts(&text, ".version");
}

enum obj_image_kind obj_image_identify(const void *image, size_t size_B)
{
    const uint8_t *bytes = image;
    if (!image)
        return OBJ_IMAGE_UNKNOWN;
    /* PTX first, byte by byte: a short text may end right before unmapped memory. */
    if (fatbin_image_is_ptx(image, size_B))
        return OBJ_IMAGE_PTX;
    for (size_t i = 0; i < 4; i++)
        if (i >= size_B || (i < 3 && !bytes[i]))
            return OBJ_IMAGE_UNKNOWN;
    uint32_t magic = obj_load_u32(bytes);
    if (magic == OBJ_WRAPPER_MAGIC)
        return size_B >= sizeof(struct obj_wrapper_raw) ? OBJ_IMAGE_WRAPPER : OBJ_IMAGE_UNKNOWN;
    if (magic == OBJ_FATBIN_MAGIC)
        return OBJ_IMAGE_FATBIN;
    if (memcmp(bytes, "BC\xc0\xde", 4) == 0)
        return OBJ_IMAGE_BITCODE;
    if (memcmp(bytes,
               "\x7f"
               "ELF",
               4) == 0 &&
        size_B >= ELF_HEADER_B)
        return obj_load_u16(bytes + ELF_MACHINE_AT) == ELF_MACHINE_CUDA ? OBJ_IMAGE_CUBIN
                                                                        : OBJ_IMAGE_HOST_ELF;
    return OBJ_IMAGE_UNKNOWN;
}
