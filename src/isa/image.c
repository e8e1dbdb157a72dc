/* See image.h. */
#include "isa/image.h"

#include <assert.h>
#include <elf.h>
#include <string.h>

#include "base/mem.h"
#include "obj/elf.h"

#define TEXT_PREFIX ".text."
#define INFO_PREFIX ".heddle.info."

const struct isa_property_row isa_properties[ISA_PROPERTIES] = {
#define ISA_PROPERTY(name, text, most, doc) {text, most, doc},
    ISA_PROPERTY_LIST(ISA_PROPERTY)
#undef ISA_PROPERTY
};

_Static_assert(sizeof(struct isa_word) == ISA_WORD_BYTES, "words are as they are in files");

void isa_image_init(struct isa_image *image)
{
    *image = (struct isa_image){0};
    hd_map_init(&image->by_name);
}

void isa_image_fini(struct isa_image *image)
{
    for (size_t i = 0; i < image->kernels.len; i++) {
        hd_free(image->kernels.at[i].name);
        hd_vec_fini(&image->kernels.at[i].words);
    }
    hd_vec_fini(&image->kernels);
    hd_map_fini(&image->by_name);
}

struct isa_kernel *isa_image_find(const struct isa_image *image, struct hd_str name)
{
    uintptr_t number = (uintptr_t)hd_map_get(&image->by_name, name);

    return number ? &image->kernels.at[number - 1] : NULL;
}

struct isa_kernel *isa_image_add(struct isa_image *image, struct hd_str name)
{
    struct isa_kernel kernel = {.name = hd_alloc(name.len + 1)};

    assert(!isa_image_find(image, name));
    if (!kernel.name)
        return NULL;
    memcpy(kernel.name, name.ptr, name.len);
    kernel.name[name.len] = '\0';
    if (hd_vec_push(&image->kernels, kernel)) {
        if (hd_map_put(&image->by_name, (struct hd_str){kernel.name, name.len},
                       (void *)image->kernels.len))
            return &hd_vec_last(&image->kernels);
        image->kernels.len--;
    }
    hd_free(kernel.name);
    return NULL;
}

/* ---- writing */

/* What grows while a file is written: itself, headers of sections, symbols, names. */
struct writer {
    struct hd_buf *out;
    struct hd_buf headers, symbols, names, section_names;
    unsigned sections;
};

static void pad(struct hd_buf *out, size_t align)
{
    while (out->len % align && !out->failed)
        hd_buf_putc(out, '\0');
}

static uint32_t name_add(struct hd_buf *names, const char *prefix, const char *name)
{
    uint32_t at = (uint32_t)names->len;

    hd_buf_puts(names, prefix);
    hd_buf_puts(names, name);
    hd_buf_putc(names, '\0');
    return at;
}

static void section_add(struct writer *w, Elf64_Shdr header, const void *bytes, size_t size_B)
{
    pad(w->out, header.sh_addralign);
    header.sh_offset = w->out->len;
    header.sh_size = size_B;
    if (size_B)
        hd_buf_append(w->out, bytes, size_B);
    hd_buf_append(&w->headers, &header, sizeof(header));
    w->sections++;
}

static void kernel_write(struct writer *w, const struct isa_kernel *kernel)
{
    uint32_t info[2 * ISA_PROPERTIES];
    Elf64_Sym symbol = {.st_name = name_add(&w->names, "", kernel->name),
                        .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                        .st_shndx = (uint16_t)w->sections,
                        .st_size = kernel->words.len * sizeof(struct isa_word)};

    section_add(w,
                (Elf64_Shdr){.sh_name = name_add(&w->section_names, TEXT_PREFIX, kernel->name),
                             .sh_type = SHT_PROGBITS,
                             .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                             .sh_addralign = 128},
                kernel->words.at, symbol.st_size);
    for (uint32_t i = 0; i < ISA_PROPERTIES; i++) {
        info[2 * i] = i;
        info[2 * i + 1] = kernel->properties[i];
    }
    section_add(w,
                (Elf64_Shdr){.sh_name = name_add(&w->section_names, INFO_PREFIX, kernel->name),
                             .sh_type = SHT_PROGBITS,
                             .sh_addralign = 4},
                info, sizeof(info));
    hd_buf_append(&w->symbols, &symbol, sizeof(symbol));
}

enum hd_status isa_image_write(const struct isa_image *image, struct hd_buf *out)
{
    Elf64_Ehdr head = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_EXEC,
        .e_machine = ISA_ELF_MACHINE,
        .e_version = EV_CURRENT,
        .e_flags = ISA_VERSION,
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_shentsize = sizeof(Elf64_Shdr)};
    struct writer w = {.out = out};
    uint32_t names;
    bool failed;

    if (image->kernels.len > UINT16_MAX / 2 - 8)
        return hd_error(HD_NOT_SUPPORTED, "an image has at most %d kernels", UINT16_MAX / 2 - 8);
    assert(!out->len);
    hd_buf_append(out, &head, sizeof(head));
    hd_buf_append(&w.headers, &(Elf64_Shdr){0}, sizeof(Elf64_Shdr));
    hd_buf_append(&w.symbols, &(Elf64_Sym){0}, sizeof(Elf64_Sym));
    hd_buf_putc(&w.names, '\0');
    hd_buf_putc(&w.section_names, '\0');
    w.sections = 1;
    for (size_t i = 0; i < image->kernels.len; i++)
        kernel_write(&w, &image->kernels.at[i]);
    names = name_add(&w.section_names, "", ".symtab");
    name_add(&w.section_names, "", ".strtab");
    name_add(&w.section_names, "", ".shstrtab");
    section_add(&w,
                (Elf64_Shdr){.sh_name = names,
                             .sh_type = SHT_SYMTAB,
                             .sh_addralign = 8,
                             .sh_entsize = sizeof(Elf64_Sym),
                             .sh_link = w.sections + 1,
                             .sh_info = 1},
                w.symbols.ptr, w.symbols.len);
    names += sizeof(".symtab");
    section_add(&w, (Elf64_Shdr){.sh_name = names, .sh_type = SHT_STRTAB, .sh_addralign = 1},
                w.names.ptr, w.names.len);
    names += sizeof(".strtab");
    head.e_shstrndx = (uint16_t)w.sections;
    section_add(&w, (Elf64_Shdr){.sh_name = names, .sh_type = SHT_STRTAB, .sh_addralign = 1},
                w.section_names.ptr, w.section_names.len);
    pad(out, 8);
    head.e_shoff = out->len;
    head.e_shnum = (uint16_t)w.sections;
    hd_buf_append(out, w.headers.ptr, w.headers.len);
    failed = out->failed || w.headers.failed || w.symbols.failed || w.names.failed ||
             w.section_names.failed;
    if (!failed)
        memcpy(out->ptr, &head, sizeof(head));
    hd_buf_fini(&w.headers);
    hd_buf_fini(&w.symbols);
    hd_buf_fini(&w.names);
    hd_buf_fini(&w.section_names);
    return failed ? hd_error(HD_NO_MEMORY, "no memory for an image") : HD_OK;
}

/* ---- reading */

/* The number at index `at` of `bytes`. */
static uint32_t number_at(const uint8_t *bytes, size_t at)
{
    uint32_t number;

    memcpy(&number, bytes + at * sizeof(number), sizeof(number));
    return number;
}

static enum hd_status words_read(struct isa_kernel *kernel, const struct obj_elf_section *section)
{
    size_t count = section->size_B / ISA_WORD_BYTES;

    if (!section->bytes || section->size_B % ISA_WORD_BYTES || count > ISA_MOST_WORDS)
        return hd_error(HD_BAD_IMAGE, "kernel %s: its code is %zu bytes long", kernel->name,
                        section->size_B);
    if (!hd_vec_reserve(&kernel->words, count))
        return hd_error(HD_NO_MEMORY, "no memory for the code of kernel %s", kernel->name);
    for (size_t i = 0; i < count; i++) {
        struct isa_insn insn;
        const char *why;

        memcpy(&kernel->words.at[i], section->bytes + i * ISA_WORD_BYTES, ISA_WORD_BYTES);
        why = isa_decode(kernel->words.at[i], &insn);
        if (why)
            return hd_error(HD_BAD_IMAGE, "kernel %s, offset 0x%zx: %s", kernel->name,
                            i * ISA_WORD_BYTES, why);
    }
    kernel->words.len = count;
    return HD_OK;
}

static enum hd_status info_read(struct isa_kernel *kernel, const struct obj_elf_section *section)
{
    size_t pairs = section->size_B / (2 * sizeof(uint32_t));

    if (!section->bytes || section->size_B % (2 * sizeof(uint32_t)))
        return hd_error(HD_BAD_IMAGE, "kernel %s: its properties are %zu bytes long", kernel->name,
                        section->size_B);
    for (size_t i = 0; i < pairs; i++) {
        uint32_t property = number_at(section->bytes, 2 * i);
        uint32_t value = number_at(section->bytes, 2 * i + 1);

        if (property >= ISA_PROPERTIES)
            return hd_error(HD_BAD_VERSION, "kernel %s: property %u is not known to this version",
                            kernel->name, property);
        if (value > isa_properties[property].most)
            return hd_error(HD_BAD_IMAGE, "kernel %s: %u %s, at most %u", kernel->name, value,
                            isa_properties[property].text, isa_properties[property].most);
        kernel->properties[property] = value;
    }
    return HD_OK;
}

/* The kernel whose code is section `at`; its properties are the next one. */
static enum hd_status kernel_read(const struct obj_elf *elf, size_t at, struct hd_str name,
                                  struct isa_image *image)
{
    struct obj_elf_section text, info;
    struct isa_kernel *kernel;

    if (isa_image_find(image, name))
        return hd_error(HD_BAD_IMAGE, "two kernels have the name %.*s", HD_STR_ARG(name));
    kernel = isa_image_add(image, name);
    if (!kernel)
        return hd_error(HD_NO_MEMORY, "no memory for a kernel");
    if (!obj_elf_section(elf, at, &text) || !obj_elf_section(elf, at + 1, &info) ||
        !hd_str_starts(info.name, INFO_PREFIX) ||
        !hd_str_is((struct hd_str){info.name.ptr + strlen(INFO_PREFIX),
                                   info.name.len - strlen(INFO_PREFIX)},
                   kernel->name))
        return hd_error(HD_BAD_IMAGE, "kernel %s has no properties", kernel->name);
    HD_TRY(words_read(kernel, &text));
    return info_read(kernel, &info);
}

static enum hd_status kernels_read(const struct obj_elf *elf, struct isa_image *image)
{
    size_t prefix = strlen(TEXT_PREFIX);

    for (size_t i = 0; i < elf->section_count; i++) {
        struct obj_elf_section section;

        if (obj_elf_section(elf, i, &section) && hd_str_starts(section.name, TEXT_PREFIX))
            HD_TRY(kernel_read(
                elf, i, (struct hd_str){section.name.ptr + prefix, section.name.len - prefix},
                image));
    }
    return HD_OK;
}

enum hd_status isa_image_read(const void *bytes, size_t size_B, struct isa_image *out_image)
{
    struct isa_image image;
    struct obj_elf elf;
    Elf64_Ehdr head;
    enum hd_status status;

    HD_TRY(obj_elf_open(bytes, size_B, &elf));
    memcpy(&head, bytes, sizeof(head));
    if (head.e_machine != ISA_ELF_MACHINE)
        return hd_error(HD_BAD_IMAGE, "an ELF file of machine %u, not of Heddle's GPU",
                        head.e_machine);
    if (elf.section_count != head.e_shnum)
        return hd_error(HD_BAD_IMAGE, "the image ends before its table of sections");
    if (head.e_flags != ISA_VERSION)
        return hd_error(HD_BAD_VERSION, "version %u of the instruction set; this is version %d",
                        head.e_flags, ISA_VERSION);
    isa_image_init(&image);
    status = kernels_read(&elf, &image);
    if (status != HD_OK)
        isa_image_fini(&image);
    else
        *out_image = image;
    return status;
}
