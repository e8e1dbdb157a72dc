/* Containers: what is written is read back; layout as programs have it; choice of the PTX entry. */
#include "fixture.h"

/* A container spelled out byte by byte, as nvcc lays it out, so that reader and writer cannot agree
 * on a wrong layout: one raw PTX entry with options and a source name. */
static const uint8_t by_hand[] = {
    0x50, 0xed, 0x55, 0xba, 1,    0,   16,  0,
    0x80, 0,    0,    0,    0,    0,   0,   0, /* container */
    1,    0,    1,    1,    0x60, 0,   0,   0,
    0x20, 0,    0,    0,    0,    0,   0,   0, /* kind header padded */
    0,    0,    0,    0,    0x48, 0,   0,   0,
    4,    0,    8,    0,    90,   0,   0,   0, /* options 8.4 sm_90 */
    0x40, 0,    0,    0,    4,    0,   0,   0,
    0x13, 0,    0x10, 0,    0,    0,   0,   0, /* name flags */
    0,    0,    0,    0,    0,    0,   0,   0,
    0,    0,    0,    0,    0,    0,   0,   0, /* reserved raw size */
    'v',  'a',  '.',  'c',  0,    0,   0,   0,
    0x50, 0,    0,    0,    3,    0,   0,   0, /* record */
    '-',  'v',  ' ',  0,    0,    0,   0,   0,
    0,    0,    0,    0,    0,    0,   0,   0, /* text */
    '.',  'v',  'e',  'r',  's',  'i', 'o', 'n',
    ' ',  '8',  '.',  '4',  '\n', 0,   0,   0, /* payload */
    0,    0,    0,    0,    0,    0,   0,   0,
    0,    0,    0,    0,    0,    0,   0,   0,
};

static void test_layout(void)
{
    struct obj_fatbin fatbin;
    struct obj_entry entry;
    size_t cursor_B = 0;
    ok(obj_fatbin_open(by_hand, sizeof(by_hand), &fatbin) == HD_OK, "container by hand opens");
    eq_u64(fatbin.size_B, sizeof(by_hand), "its size comes from the header");
    ok(obj_fatbin_next(&fatbin, &cursor_B, &entry) == HD_OK, "its entry is read");
    eq_u64(entry.kind, OBJ_ENTRY_PTX, "kind");
    eq_u64(entry.arch, 90, "arch");
    eq_u64(entry.variant, 'a', "variant");
    eq_u64(entry.version_major * 10 + entry.version_minor, 84, "PTX version");
    ok(hd_str_is(entry.source, "va.c"), "source name");
    ok(hd_str_is(entry.options, "-v "), "options");
    ok(entry.flags & OBJ_FLAG_DEBUG, "debug flag");
    eq_u64(entry.codec, OBJ_CODEC_RAW, "codec");
    struct hd_buf buf;
    hd_buf_init(&buf);
    ok(obj_entry_read(&entry, &buf) == HD_OK, "payload is read");
    eq_u64(buf.len, 13, "and cut at its NUL");
    hd_buf_fini(&buf);
    ok(obj_fatbin_next(&fatbin, &cursor_B, &entry) == HD_NOT_FOUND, "one entry only");
}

static void test_round_trip(enum obj_codec codec)
{
    const char *name = obj_codec_text(codec);
    struct hd_buf long_text, out, back;
    hd_buf_init(&long_text);
    hd_buf_init(&out);
    hd_buf_init(&back);
    for (int i = 0; i < 2000; i++)
        hd_buf_printf(&long_text, "\tadd.s32 \t%%r%d, %%r%d, %d;\n", i, i / 2, i * 7919);
    struct obj_fatbin_source sources[2] = {fixture_cubin(120),
                                           fixture_source(120, 'f', long_text.ptr)};
    sources[1].options = "--compile-only  ";
    sources[1].source_name = "kernels/stencil.cu";
    ok(obj_fatbin_write(sources, 2, codec, &out) == HD_OK, "%s: written", name);
    eq_u64(out.len % 8, 0, "%s: size is a multiple of 8", name);
    struct obj_fatbin fatbin;
    struct obj_entry entry;
    size_t cursor_B = 0;
    ok(obj_fatbin_open(out.ptr, OBJ_SIZE_UNKNOWN, &fatbin) == HD_OK, "%s: opened", name);
    ok(obj_fatbin_next(&fatbin, &cursor_B, &entry) == HD_OK && entry.kind == OBJ_ENTRY_CUBIN,
       "%s: cubin first", name);
    ok(obj_fatbin_next(&fatbin, &cursor_B, &entry) == HD_OK, "%s: then PTX", name);
    ok(hd_str_is(entry.options, "--compile-only  "), "%s: options", name);
    ok(hd_str_is(entry.source, "kernels/stencil.cu"), "%s: source name", name);
    eq_u64(entry.variant, 'f', "%s: variant", name);
    eq_u64(entry.codec, codec, "%s: codec", name);
    ok(obj_entry_read(&entry, &back) == HD_OK, "%s: payload read", name);
    ok(back.len == long_text.len && !memcmp(back.ptr, long_text.ptr, back.len), "%s: same text",
       name);
    ok(obj_fatbin_next(&fatbin, &cursor_B, &entry) == HD_NOT_FOUND, "%s: end", name);
    hd_buf_fini(&long_text);
    hd_buf_fini(&out);
    hd_buf_fini(&back);
}

struct choice {
    const char *archs; /* "75 90a 120f c90": entries in order, c = cubin */
    unsigned cc;
    bool any_variant;
    const char *want; /* "90a", or NULL for none */
};

static const struct choice choices[] = {
    {"75", 120, false, "75"},
    {"75 90 80", 120, false, "90"},
    {"75 121 90", 120, false, "90"},
    {"121", 120, false, NULL},
    {"120 120a", 120, false, "120a"},
    {"120a 120", 120, false, "120a"},
    {"120 120f 120a", 120, false, "120a"},
    {"120 120f", 120, false, "120f"},
    {"120f 90", 121, false, "120f"},
    {"121f 90", 120, false, "90"},
    {"100f 90", 120, false, "90"},
    {"90a 75", 120, false, "75"},
    {"90a", 120, false, NULL},
    {"90a", 120, true, "90a"},
    {"90a 75", 120, true, "75"},
    {"90a 100a", 120, true, "100a"},
    {"90a 90", 90, false, "90a"},
    {"90 120a", 90, true, "90"},
    {"c75 c120 75", 120, false, "75"},
    {"c75 c120", 120, false, NULL},
    {"", 120, false, NULL},
};

static size_t parse_archs(const char *text, struct obj_fatbin_source *sources)
{
    size_t count = 0;
    while (*text) {
        bool cubin = *text == 'c';
        char *end;
        unsigned arch = (unsigned)strtoul(text + cubin, &end, 10);
        char variant = *end == 'a' || *end == 'f' ? *end++ : 0;
        sources[count++] = cubin ? fixture_cubin(arch) : fixture_source(arch, variant, fixture_ptx);
        text = *end ? end + 1 : end;
    }
    return count;
}

static void test_choice(const struct choice *c)
{
    struct obj_fatbin_source sources[8];
    size_t count = parse_archs(c->archs, sources);
    struct hd_buf out;
    hd_buf_init(&out);
    struct obj_fatbin fatbin;
    struct obj_entry entry;
    struct obj_target target = {.cc = c->cc, .accept_any_variant = c->any_variant};
    char got[16] = "";
    if (obj_fatbin_write(sources, count, OBJ_CODEC_RAW, &out) == HD_OK &&
        obj_fatbin_open(out.ptr, out.len, &fatbin) == HD_OK) {
        enum hd_status status = obj_fatbin_choose(&fatbin, target, &entry);
        if (status == HD_OK)
            snprintf(got, sizeof(got), "%u%.1s", entry.arch, (char[2]){entry.variant, '\0'});
        else
            snprintf(got, sizeof(got), "%s", status == HD_NO_IMAGE ? "none" : "error");
    }
    eq_str(got, c->want ? c->want : "none", "[%s] on %u%s", c->archs, c->cc,
           c->any_variant ? ", any variant" : "");
    hd_buf_fini(&out);
}

static void test_message(void)
{
    struct obj_fatbin_source sources[2] = {fixture_cubin(75), fixture_cubin(90)};
    struct hd_buf out;
    hd_buf_init(&out);
    struct obj_fatbin fatbin;
    struct obj_entry entry;
    ok(obj_fatbin_write(sources, 2, OBJ_CODEC_RAW, &out) == HD_OK &&
           obj_fatbin_open(out.ptr, out.len, &fatbin) == HD_OK &&
           obj_fatbin_choose(&fatbin, (struct obj_target){.cc = 120}, &entry) == HD_NO_IMAGE,
       "cubins alone are refused");
    eq_str(hd_error_message(),
           "no PTX for compute capability 12.0; the fat binary holds: cubin sm_75, cubin sm_90; "
           "rebuild with `nvcc -gencode arch=compute_120,code=compute_120` (or -arch=compute_120)",
           "the message says what was found and what to do");
    hd_buf_fini(&out);
}

static void test_scan(void)
{
    struct obj_fatbin_source source = fixture_source(75, 0, fixture_ptx);
    struct hd_buf out;
    hd_buf_init(&out);
    hd_buf_append(&out, "\0\0\0\0\0\0\0\0", 8);
    for (int i = 0; i < 3; i++)
        if (obj_fatbin_write(&source, 1, OBJ_CODEC_ZSTD, &out) != HD_OK)
            break;
    size_t at_B = 0, count = 0;
    struct obj_fatbin fatbin;
    while (obj_fatbin_scan(out.ptr, out.len, &at_B, &fatbin))
        count++;
    eq_u64(count, 3, "a section with three containers is scanned");
    at_B = 0;
    ok(!obj_fatbin_scan(out.ptr, 24, &at_B, &fatbin), "a cut one is passed over");
    hd_buf_fini(&out);
}

static bool write_and_load(void *arg)
{
    struct obj_fatbin_source source = fixture_source(75, 0, fixture_ptx);
    source.options = "-v";
    struct hd_buf out;
    hd_buf_init(&out);
    struct obj_ptx_list list = {0};
    bool worked =
        obj_fatbin_write(&source, 1, *(enum obj_codec *)arg, &out) == HD_OK &&
        obj_image_load_ptx(out.ptr, out.len, (struct obj_target){.cc = 120}, &list) == HD_OK;
    obj_ptx_list_fini(&list);
    hd_buf_fini(&out);
    return worked;
}

int main(void)
{
    test_layout();
    for (enum obj_codec codec = OBJ_CODEC_RAW; codec <= OBJ_CODEC_ZSTD; codec++)
        test_round_trip(codec);
    for (size_t i = 0; i < HD_COUNT_OF(choices); i++)
        test_choice(&choices[i]);
    test_message();
    test_scan();
    for (enum obj_codec codec = OBJ_CODEC_RAW; codec <= OBJ_CODEC_ZSTD; codec++)
        tap_oom_loop(write_and_load, &codec, obj_codec_text(codec));
    return done();
}
