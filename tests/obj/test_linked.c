/* Linked images, and device code in objects and archives of them. */
#include <ar.h>
#include <elf.h>

#include "fixture.h"
#include "obj/linked.h"
#include "obj/object.h"

static const struct obj_target cc120 = {.cc = 120};

static void append_container(struct hd_buf *out, enum obj_entry_kind kind, unsigned arch,
                             const char *text)
{
    struct obj_fatbin_source source = fixture_source(arch, 0, text);

    source.kind = kind;
    source.source_name = "part.cu";
    if (obj_fatbin_write(&source, 1, OBJ_CODEC_ZSTD, out) != HD_OK)
        exit(1);
    while (out->len % 8)
        hd_buf_putc(out, '\0');
}

/* An object of one section that holds these bytes. */
static void append_object(struct hd_buf *out, const char *section, const struct hd_buf *bytes)
{
    size_t base = out->len, names_B = strlen(section) + 2;
    Elf64_Shdr sections[3] = {
        [1] = {.sh_name = 1,
               .sh_type = SHT_PROGBITS,
               .sh_offset = sizeof(Elf64_Ehdr),
               .sh_size = bytes->len},
        [2] = {.sh_type = SHT_STRTAB,
               .sh_offset = sizeof(Elf64_Ehdr) + bytes->len,
               .sh_size = names_B},
    };
    Elf64_Ehdr head = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_REL,
        .e_machine = EM_X86_64,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = 3,
        .e_shstrndx = 2,
        .e_shoff = (sizeof(head) + bytes->len + names_B + 7) / 8 * 8,
    };

    hd_buf_append(out, &head, sizeof(head));
    hd_buf_append(out, bytes->ptr, bytes->len);
    hd_buf_putc(out, '\0');
    hd_buf_append(out, section, names_B - 1);
    while (out->len - base < head.e_shoff)
        hd_buf_putc(out, '\0');
    hd_buf_append(out, sections, sizeof(sections));
}

static void append_member(struct hd_buf *out, const char *name, const struct hd_buf *bytes)
{
    hd_buf_printf(out, "%-16s%-12d%-6d%-6d%-8d%-10zu" ARFMAG, name, 0, 0, 0, 644, bytes->len);
    hd_buf_append(out, bytes->ptr, bytes->len);
    if (bytes->len % 2)
        hd_buf_putc(out, '\n');
}

static void test_linked(void)
{
    struct obj_ptx modules[] = {
        {.text = ".version 8.0 // a", .len = 17, .arch = 80, .source = "a.cu", .options = ""},
        {.text = ".version 8.0 // bc",
         .len = 18,
         .arch = 90,
         .variant = 'a',
         .source = "",
         .options = ""},
    };
    struct obj_ptx_list in = {.at = modules, .len = 2}, list = {0};
    struct hd_buf out;

    hd_buf_init(&out);
    eq_u64(obj_linked_write(&in, 90, &out), HD_OK, "write");
    eq_u64(obj_image_identify(out.ptr, out.len), OBJ_IMAGE_CUBIN, "is a cubin to programs");
    eq_u64(obj_cubin_arch(out.ptr, out.len), 90, "of its architecture");
    for (unsigned exact = 0; exact < 2; exact++) {
        eq_u64(obj_image_load_ptx(out.ptr, exact ? out.len : OBJ_SIZE_UNKNOWN, cc120, &list), HD_OK,
               "load");
        eq_u64(list.len, 2, "both modules");
        eq_str(list.at[0].text, modules[0].text, "text of the first");
        eq_str(list.at[0].source, "a.cu", "its source");
        eq_str(list.at[1].text, modules[1].text, "text of the second");
        eq_u64(list.at[1].variant, 'a', "its variant");
        obj_ptx_list_fini(&list);
    }
    unsigned taken = 0;
    for (size_t cut = 64; cut < out.len; cut += 8) {
        uint8_t *exact = fixture_exact(&out, cut);
        taken += obj_image_load_ptx(exact, cut, cc120, &list) == HD_OK;
        free(exact);
    }
    eq_u64(taken, 0, "cut images that load");
    hd_buf_fini(&out);
}

/* In a fat binary, where machine code would be: taken when no PTX fits. */
static void test_linked_entry(void)
{
    struct obj_ptx module = {
        .text = ".version 8.0 // a", .len = 17, .arch = 80, .source = "a.cu", .options = ""};
    struct obj_ptx_list in = {.at = &module, .len = 1}, list = {0};
    struct obj_fatbin_source sources[3] = {fixture_cubin(90),
                                           {.kind = OBJ_ENTRY_CUBIN, .arch = 80}};
    struct hd_buf image, out;

    hd_buf_init(&image);
    hd_buf_init(&out);
    eq_u64(obj_linked_write(&in, 80, &image), HD_OK, "an image");
    sources[1].payload = image.ptr;
    sources[1].size_B = image.len;
    sources[2] = fixture_source(75, 0, ".version 8.0 // ptx");
    for (unsigned codec = OBJ_CODEC_RAW; codec <= OBJ_CODEC_ZSTD; codec++) {
        hd_buf_clear(&out);
        eq_u64(obj_fatbin_write(sources, 2, (enum obj_codec)codec, &out), HD_OK, "a fat binary");
        eq_u64(obj_image_load_ptx(out.ptr, out.len, cc120, &list), HD_OK, "it loads");
        eq_u64(list.len, 1, "one module");
        eq_str(list.at[0].text, module.text, "the image's");
        obj_ptx_list_fini(&list);
        eq_u64(obj_image_load_ptx(out.ptr, out.len, (struct obj_target){.cc = 75}, &list),
               HD_NO_IMAGE, "not for an older device");
        list = (struct obj_ptx_list){0};
        eq_u64(obj_fatbins_load(out.ptr, out.len, cc120, &list), HD_OK, "relocatable, too");
        eq_u64(list.len, 1, "one module");
        obj_ptx_list_fini(&list);
    }
    hd_buf_clear(&out);
    eq_u64(obj_fatbin_write(sources, 3, OBJ_CODEC_ZSTD, &out), HD_OK, "with PTX beside it");
    eq_u64(obj_image_load_ptx(out.ptr, out.len, cc120, &list), HD_OK, "it loads");
    eq_str(list.at[0].text, ".version 8.0 // ptx", "the PTX comes first");
    obj_ptx_list_fini(&list);
    hd_buf_fini(&image);
    hd_buf_fini(&out);
}

static void test_object(void)
{
    struct hd_buf section, object;
    struct obj_ptx_list list = {0};

    hd_buf_init(&section);
    hd_buf_init(&object);
    append_container(&section, OBJ_ENTRY_PTX, 80, ".version 8.0 // 1");
    append_container(&section, OBJ_ENTRY_PTX, 90, ".version 8.0 // 2");
    append_object(&object, "__nv_relfatbin", &section);
    eq_u64(obj_object_load(object.ptr, object.len, cc120, &list), HD_OK, "object");
    eq_u64(list.len, 2, "a module per fat binary");
    eq_str(list.at[1].text, ".version 8.0 // 2", "the second");
    obj_ptx_list_fini(&list);
    hd_buf_clear(&section);
    hd_buf_clear(&object);
    append_container(&section, OBJ_ENTRY_LTOIR, 80, "private");
    append_object(&object, "__nv_relfatbin", &section);
    eq_u64(obj_object_load(object.ptr, object.len, cc120, &list), HD_NO_IMAGE, "LTO-IR alone");
    ok(strstr(hd_error_message(), "lto-ir compute_80") != NULL, "is named");
    hd_buf_clear(&object);
    append_object(&object, ".text", &section);
    eq_u64(obj_object_load(object.ptr, object.len, cc120, &list), HD_OK, "no device code");
    eq_u64(list.len, 0, "adds nothing");
    obj_ptx_list_fini(&list);
    hd_buf_fini(&object);
    hd_buf_fini(&section);
}

static void test_archive(void)
{
    struct hd_buf section, object, names, archive;
    struct obj_ptx_list list = {0};
    unsigned taken = 0;

    hd_buf_init(&section);
    hd_buf_init(&object);
    hd_buf_init(&names);
    hd_buf_init(&archive);
    append_container(&section, OBJ_ENTRY_PTX, 80, ".version 8.0 // m");
    append_object(&object, ".nv_fatbin", &section);
    hd_buf_puts(&names, "a long name.o/\n");
    hd_buf_puts(&archive, ARMAG);
    append_member(&archive, "//", &names);
    append_member(&archive, "a.o/", &object);
    append_member(&archive, "/0", &object);
    eq_u64(obj_archive_load(archive.ptr, archive.len, cc120, &list), HD_OK, "archive");
    eq_u64(list.len, 2, "both objects");
    obj_ptx_list_fini(&list);
    for (size_t cut = SARMAG + 1; cut < archive.len; cut += 61) {
        uint8_t *exact = fixture_exact(&archive, cut);
        enum hd_status status = obj_archive_load(exact, cut, cc120, &list);
        taken += status == HD_OK && list.len == 2;
        obj_ptx_list_fini(&list);
        free(exact);
    }
    eq_u64(taken, 0, "cut archives that load whole");
    eq_u64(obj_archive_load("!<arch>", 7, cc120, &list), HD_BAD_IMAGE, "no archive");
    hd_buf_fini(&archive);
    hd_buf_fini(&names);
    hd_buf_fini(&object);
    hd_buf_fini(&section);
}

int main(void)
{
    test_linked();
    test_linked_entry();
    test_object();
    test_archive();
    return done();
}
