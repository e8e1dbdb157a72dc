/* Malformed containers: every truncation, every flipped bit, and each diagnostic by name. */
#include "fixture.h"

static void build(enum obj_codec codec, struct hd_buf *out)
{
    struct obj_fatbin_source sources[2] = {fixture_source(75, 0, fixture_ptx),
                                           fixture_source(120, 'a', fixture_ptx)};
    sources[0].options = "--generate-line-info";
    sources[1].source_name = "x.cu";
    hd_buf_init(out);
    if (obj_fatbin_write(sources, 2, codec, out) != HD_OK)
        exit(1);
}

static void test_truncations(enum obj_codec codec)
{
    struct hd_buf out;
    build(codec, &out);
    size_t accepted = 0;
    for (size_t size_B = 0; size_B < out.len; size_B++) {
        uint8_t *cut = fixture_exact(&out, size_B);
        accepted += fixture_read_all(cut, size_B) == HD_OK;
        /* Also with the container's own size cut, so that the entries are what does not fit. */
        if (size_B >= 16) {
            uint64_t body_B = size_B - 16;
            memcpy(cut + 8, &body_B, sizeof(body_B));
            enum hd_status status = fixture_read_all(cut, size_B);
            accepted += status == HD_OK && body_B != 0;
        }
        free(cut);
    }
    /* The cut right behind the first entry leaves a valid container of one entry. */
    eq_u64(accepted, 1, "%s: every truncation but one is refused", obj_codec_text(codec));
    ok(fixture_read_all(out.ptr, out.len) == HD_OK, "%s: the whole is accepted",
       obj_codec_text(codec));
    hd_buf_fini(&out);
}

static void test_bit_flips(enum obj_codec codec)
{
    struct hd_buf out;
    build(codec, &out);
    size_t refused = 0, other = 0;
    uint8_t *copy = fixture_exact(&out, out.len);
    for (size_t bit = 0; bit < out.len * 8; bit++) {
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        enum hd_status status = fixture_read_all(copy, out.len);
        refused += status == HD_BAD_IMAGE;
        other += status != HD_BAD_IMAGE && status != HD_OK && status != HD_NOT_SUPPORTED &&
                 status != HD_NO_MEMORY;
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    diag("%s: %zu of %zu flips refused", obj_codec_text(codec), refused, out.len * 8);
    eq_u64(other, 0, "%s: a flipped bit is harmless or a clean error", obj_codec_text(codec));
    ok(refused > out.len / 8, "%s: and often noticed", obj_codec_text(codec));
    free(copy);
    hd_buf_fini(&out);
}

struct damage {
    size_t at;
    unsigned width;
    uint64_t value;
    const char *message;
};

/* Offsets into the zstd container of build(): its first entry begins at 16. */
static const struct damage damages[] = {
    {0, 4, 0x12345678, "fat binary offset 0: magic is 0x12345678, expected 0xba55ed50"},
    {4, 2, 2, "fat binary offset 4: version 2 is not known, expected 1"},
    {6, 2, 8, "fat binary offset 6: header size 8 is below 16"},
    {8, 8, UINT64_MAX, "fat binary offset 8: body of 18446744073709551615 bytes does not fit an"},
    {20, 4, 63, "fat binary offset 20: entry header size 63 is not possible"},
    {20, 4, UINT32_MAX, "fat binary offset 20: entry header size 4294967295 is not possible"},
    {24, 8, UINT64_MAX - 7, "fat binary offset 24: payload of 18446744073709551608 bytes leaves"},
    {32, 4, UINT32_MAX, "fat binary offset 32: compressed size 4294967295 exceeds the payload's"},
    {36, 4, 0xfffffff8, "fat binary offset 36: options record leaves its header"},
    {80, 4, 0xffffffff, "fat binary offset 80: options text leaves its header"},
    {48, 4, 0xffffffff, NULL},
    {72, 8, 0, "fat binary offset 16: zstd payload: decompressed size is not possible"},
    {72, 8, 1u << 30, "fat binary offset 16: zstd payload: decompressed size is not possible"},
    {72, 8, 5, "fat binary offset 16: zstd payload: frame and header disagree about the size"},
    {56, 8, OBJ_FLAG_LZ4, "fat binary offset 16: lz4 payload: not a valid block"},
};

static void test_messages(void)
{
    for (size_t i = 0; i < HD_COUNT_OF(damages); i++) {
        const struct damage *d = &damages[i];
        struct hd_buf out;
        build(OBJ_CODEC_ZSTD, &out);
        uint8_t *copy = fixture_exact(&out, out.len);
        memcpy(copy + d->at, &d->value, d->width);
        if (d->at == 48) { /* source name: offset and length lie side by side */
            memcpy(copy + 52, &d->value, 4);
            ok(fixture_read_all(copy, out.len) == HD_BAD_IMAGE &&
                   !strcmp(hd_error_message(),
                           "fat binary offset 48: source name leaves its header"),
               "offset 48: %s", hd_error_message());
        } else {
            hd_error_clear();
            ok(fixture_read_all(copy, out.len) == HD_BAD_IMAGE &&
                   !strncmp(hd_error_message(), d->message, strlen(d->message)),
               "offset %zu: %s", d->at, hd_error_message());
        }
        free(copy);
        hd_buf_fini(&out);
    }
}

static void test_short(void)
{
    ok(fixture_read_all("\x50\xed\x55\xba", 4) == HD_BAD_IMAGE &&
           !strcmp(hd_error_message(), "fat binary offset 0: header of 16 bytes is cut off at 4"),
       "cut container header: %s", hd_error_message());
    static const uint8_t tail[] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 5, 0, 0,
                                   0,    0,    0,    0,    0, 1, 0,  1, 1, 0};
    ok(fixture_read_all(tail, sizeof(tail)) == HD_BAD_IMAGE &&
           !strcmp(hd_error_message(),
                   "fat binary offset 16: entry header is cut off, 5 bytes left"),
       "cut entry header: %s", hd_error_message());
}

static void test_lz4_claim(void)
{
    struct hd_buf out;
    build(OBJ_CODEC_LZ4, &out);
    uint64_t claim = 100000000;
    memcpy(out.ptr + 72, &claim, 8);
    ok(fixture_read_all(out.ptr, out.len) == HD_BAD_IMAGE &&
           strstr(hd_error_message(), "claims more than the format can expand to"),
       "LZ4 bomb: %s", hd_error_message());
    claim = strlen(fixture_ptx) + 10;
    memcpy(out.ptr + 72, &claim, 8);
    ok(fixture_read_all(out.ptr, out.len) == HD_BAD_IMAGE &&
           strstr(hd_error_message(), "lz4 payload: ends early"),
       "LZ4 block that is too short: %s", hd_error_message());
    hd_buf_fini(&out);
}

static void test_ltoir(void)
{
    struct obj_fatbin_source source = fixture_cubin(90);
    source.kind = OBJ_ENTRY_LTOIR;
    struct hd_buf out;
    hd_buf_init(&out);
    ok(obj_fatbin_write(&source, 1, OBJ_CODEC_RAW, &out) == HD_OK &&
           fixture_read_all(out.ptr, out.len) == HD_NOT_SUPPORTED &&
           !strcmp(hd_error_message(), "fat binary offset 16: LTO-IR cannot be read"),
       "LTO-IR: %s", hd_error_message());
    hd_buf_fini(&out);
    ok(obj_fatbin_write(&source, 1, OBJ_CODEC_OPAQUE, &out) == HD_BAD_ARG,
       "an opaque codec cannot be written");
}

int main(void)
{
    for (enum obj_codec codec = OBJ_CODEC_RAW; codec <= OBJ_CODEC_ZSTD; codec++) {
        test_truncations(codec);
        test_bit_flips(codec);
    }
    test_messages();
    test_short();
    test_lz4_claim();
    test_ltoir();
    return done();
}
