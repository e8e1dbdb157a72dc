/* What a `const void *image` is, and the way from it to PTX text: wrappers, parts, bare text. */
#include "fixture.h"

static const struct obj_target cc120 = {.cc = 120};

struct wrapper {
    uint32_t magic;
    uint32_t version;
    const void *fatbin;
    const void *const *parts;
};

static char *container(const char *text, unsigned arch)
{
    struct obj_fatbin_source source = fixture_source(arch, 0, text);
    struct hd_buf out;
    hd_buf_init(&out);
    if (obj_fatbin_write(&source, text ? 1 : 0, OBJ_CODEC_ZSTD, &out) != HD_OK)
        exit(1);
    return hd_buf_take(&out);
}

static char *empty_container(void)
{
    struct hd_buf out;
    hd_buf_init(&out);
    if (obj_fatbin_write(NULL, 0, OBJ_CODEC_RAW, &out) != HD_OK)
        exit(1);
    return hd_buf_take(&out);
}

struct identify {
    const char *bytes;
    size_t size_B;
    enum obj_image_kind want;
    const char *name;
};

#define BYTES(text) (text), sizeof(text) - 1

static const struct identify identifies[] = {
    {BYTES(".version 8.0\n"), OBJ_IMAGE_PTX, "PTX"},
    {BYTES("\n\n// c\n/* d\n * e */ .version 1.0"), OBJ_IMAGE_PTX, "PTX behind comments"},
    {BYTES("\xef\xbb\xbf.version 8.0\n"), OBJ_IMAGE_PTX, "PTX behind a byte order mark"},
    {BYTES("/* .version 8.0"), OBJ_IMAGE_UNKNOWN, "comment without end"},
    {BYTES(".versio"), OBJ_IMAGE_UNKNOWN, "cut directive"},
    {BYTES("int main(void)"), OBJ_IMAGE_UNKNOWN, "C source"},
    {BYTES(""), OBJ_IMAGE_UNKNOWN, "nothing"},
    {BYTES("\x50\xed\x55\xba\x01\x00\x10\x00"), OBJ_IMAGE_FATBIN, "container"},
    {BYTES("\xb1\x43\x62\x46"), OBJ_IMAGE_UNKNOWN, "cut wrapper"},
    {BYTES("BC\xc0\xde\x35"), OBJ_IMAGE_BITCODE, "bitcode"},
    {BYTES("\x7f"
           "ELF"),
     OBJ_IMAGE_UNKNOWN, "cut ELF"},
};

static void test_identify(void)
{
    for (size_t i = 0; i < HD_COUNT_OF(identifies); i++) {
        const struct identify *t = &identifies[i];
        struct hd_buf view = {.ptr = (char *)(uintptr_t)t->bytes};
        uint8_t *exact = fixture_exact(&view, t->size_B);
        eq_u64(obj_image_identify(exact, t->size_B), t->want, "%s", t->name);
        free(exact);
        if (t->want == OBJ_IMAGE_PTX)
            eq_u64(obj_image_identify(t->bytes, OBJ_SIZE_UNKNOWN), t->want, "%s, bare", t->name);
    }
    char elf[64] = "\x7f"
                   "ELF\x02\x01\x01\x41\x08";
    elf[18] = (char)190;
    elf[49] = 90;
    eq_u64(obj_image_identify(elf, sizeof(elf)), OBJ_IMAGE_CUBIN, "cubin");
    eq_u64(obj_cubin_arch(elf, sizeof(elf)), 90, "its architecture");
    elf[8] = 7;
    elf[48] = 75;
    eq_u64(obj_cubin_arch(elf, sizeof(elf)), 75, "architecture of an older cubin");
    elf[18] = 62;
    eq_u64(obj_image_identify(elf, sizeof(elf)), OBJ_IMAGE_HOST_ELF, "host ELF");
    eq_u64(obj_cubin_arch(elf, sizeof(elf)), 0, "which has no architecture");
    eq_u64(obj_image_identify(NULL, 0), OBJ_IMAGE_UNKNOWN, "NULL");
}

static void test_wrapper_v1(void)
{
    char *fatbin = container(fixture_ptx, 75);
    struct wrapper w = {OBJ_WRAPPER_MAGIC, 1, fatbin, NULL};
    struct obj_ptx_list list;
    ok(obj_image_load_ptx(&w, OBJ_SIZE_UNKNOWN, cc120, &list) == HD_OK, "wrapper version 1");
    eq_u64(list.len, 1, "one module");
    eq_str(list.at[0].text, fixture_ptx, "its text");
    eq_u64(list.at[0].arch, 75, "its arch");
    obj_ptx_list_fini(&list);
    w.version = 3;
    ok(obj_image_load_ptx(&w, OBJ_SIZE_UNKNOWN, cc120, &list) == HD_BAD_IMAGE, "version 3: %s",
       hd_error_message());
    w = (struct wrapper){OBJ_WRAPPER_MAGIC, 1, NULL, NULL};
    ok(obj_image_load_ptx(&w, OBJ_SIZE_UNKNOWN, cc120, &list) == HD_BAD_IMAGE, "no container: %s",
       hd_error_message());
    hd_free(fatbin);
}

static void test_wrapper_v2(void)
{
    char *linked = empty_container(), *a = container(fixture_ptx, 75);
    char *b = container(".version 9.0\n.extern .func f;\n", 90);
    char *runtime = container(".version 9.0\n.extern .func __cuda_syscall_cnpv2Launch;\n", 121);
    const void *parts[] = {a, empty_container(), b, runtime, NULL};
    struct wrapper w = {OBJ_WRAPPER_MAGIC, 2, linked, parts};
    struct obj_ptx_list list;
    ok(obj_image_load_ptx(&w, OBJ_SIZE_UNKNOWN, cc120, &list) == HD_OK, "wrapper version 2");
    eq_u64(list.len, 2, "two modules: the empty part and the device runtime are left out");
    eq_str(list.at[1].text, ".version 9.0\n.extern .func f;\n", "in order");
    obj_ptx_list_fini(&list);
    ok(obj_image_load_ptx(&w, OBJ_SIZE_UNKNOWN, (struct obj_target){.cc = 121}, &list) == HD_OK &&
           list.len == 2,
       "the device runtime is left out where its architecture fits, too");
    obj_ptx_list_fini(&list);
    ok(obj_image_load_ptx(&w, OBJ_SIZE_UNKNOWN, (struct obj_target){.cc = 80}, &list) ==
           HD_NO_IMAGE,
       "a part that does not fit fails the whole: %s", hd_error_message());
    w.fatbin = a;
    ok(obj_image_load_ptx(&w, OBJ_SIZE_UNKNOWN, cc120, &list) == HD_OK && list.len == 1,
       "PTX in the linked container wins over the parts");
    obj_ptx_list_fini(&list);
    hd_free(linked);
    for (size_t i = 0; parts[i]; i++)
        hd_free((void *)(uintptr_t)parts[i]);
}

static void test_others(void)
{
    struct obj_ptx_list list;
    ok(obj_image_load_ptx(fixture_ptx, OBJ_SIZE_UNKNOWN, cc120, &list) == HD_OK && list.len == 1 &&
           list.at[0].len == strlen(fixture_ptx),
       "bare PTX");
    obj_ptx_list_fini(&list);
    ok(obj_image_load_ptx("\x01\x02\x03\x04", 4, cc120, &list) == HD_BAD_IMAGE, "garbage: %s",
       hd_error_message());
    ok(obj_image_load_ptx("", 0, cc120, &list) == HD_BAD_IMAGE, "empty: %s", hd_error_message());
    ok(obj_image_load_ptx(NULL, OBJ_SIZE_UNKNOWN, cc120, &list) == HD_BAD_IMAGE, "NULL: %s",
       hd_error_message());
    char elf[64] = "\x7f"
                   "ELF\x02\x01\x01\x41\x08";
    elf[18] = (char)190;
    elf[49] = 90;
    ok(obj_image_load_ptx(elf, sizeof(elf), cc120, &list) == HD_NO_IMAGE &&
           strstr(hd_error_message(), "machine code (cubin) for sm_90 without PTX") &&
           strstr(hd_error_message(), "code=compute_120"),
       "cubin: %s", hd_error_message());
    elf[18] = 62;
    ok(obj_image_load_ptx(elf, sizeof(elf), cc120, &list) == HD_NO_IMAGE, "host ELF: %s",
       hd_error_message());
    char *empty = empty_container();
    ok(obj_image_load_ptx(empty, 16, cc120, &list) == HD_NO_IMAGE, "empty container: %s",
       hd_error_message());
    hd_free(empty);
}

int main(void)
{
    test_identify();
    test_wrapper_v1();
    test_wrapper_v2();
    test_others();
    return done();
}
