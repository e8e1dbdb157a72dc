/* ELF reader: this very program, and every damage to a small object made by hand. */
#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include "obj/elf.h"
#include "tap.h"

int obj_test_marker(int x);
int obj_test_marker(int x)
{
    return x + 1;
}

/* Asking for a name is reading it and comparing: not a part of it, and no more. */
static void test_names(const struct obj_elf_symbols *table)
{
    const struct hd_str asked[] = {HD_STR("obj_test_marker"), HD_STR("obj_test_marke"),
                                   HD_STR("obj_test_marker_"), HD_STR("")};
    struct obj_elf_symbol symbol;
    unsigned wrong = 0;
    for (size_t i = 0; i < table->len; i++)
        for (size_t n = 0; n < HD_COUNT_OF(asked); n++)
            wrong += obj_elf_symbol_named(table, i, asked[n]) !=
                     (obj_elf_symbol(table, i, &symbol) && hd_str_eq(symbol.name, asked[n]));
    ok(table->len && !wrong, "names are told without reading them");
    ok(!obj_elf_symbol_named(table, table->len, asked[0]), "behind the last");
}

static void test_self(void)
{
    struct obj_elf elf;
    struct obj_elf_symbols table;
    struct obj_elf_symbol symbol;
    struct obj_elf_section section;
    struct obj_elf_segment segment;
    ok(getppid() >= 0 && obj_elf_open_file("/proc/self/exe", &elf) == HD_OK, "opens itself");
    ok(obj_elf_section_find(&elf, ".text", &section) && section.bytes && section.size_B,
       "finds .text");
    ok(obj_elf_section_find(&elf, ".bss", &section) && !section.bytes, ".bss has no bytes");
    ok(!obj_elf_section_find(&elf, ".nv_fatbin", &section), "no .nv_fatbin");
    ok(obj_elf_segment(&elf, 0, &segment) && !obj_elf_segment(&elf, 9999, &segment), "segments");
    ok(obj_elf_needs(&elf, "libc.so") && !obj_elf_needs(&elf, "libcudart.so"), "needs libc");
    size_t found = 0;
    if (obj_elf_symbols(&elf, OBJ_ELF_SYMTAB, &table))
        for (size_t i = 0; i < table.len; i++)
            found += obj_elf_symbol(&table, i, &symbol) &&
                     hd_str_is(symbol.name, "obj_test_marker") && symbol.type == STT_FUNC &&
                     symbol.section != SHN_UNDEF;
    eq_u64(found, 1, "finds a function of its own");
    test_names(&table);
    found = 0;
    if (obj_elf_symbols(&elf, OBJ_ELF_DYNSYM, &table))
        for (size_t i = 0; i < table.len; i++)
            found += obj_elf_symbol(&table, i, &symbol) && hd_str_is(symbol.name, "getppid") &&
                     hd_str_starts(symbol.version, "GLIBC_") &&
                     hd_str_is(symbol.library, "libc.so.6");
    eq_u64(found, 1, "an import with its version and library");
    obj_elf_close(&elf);
}

static void walk_everything(const struct obj_elf *elf)
{
    struct obj_elf_section section;
    struct obj_elf_segment segment;
    struct obj_elf_symbols table;
    struct obj_elf_symbol symbol;
    struct hd_str library;
    size_t sum = 0;
    for (size_t i = 0; obj_elf_section(elf, i, &section); i++)
        sum += section.name.len + (section.bytes && section.size_B ? section.bytes[0] : 0);
    for (size_t i = 0; obj_elf_segment(elf, i, &segment); i++)
        sum += segment.type;
    for (enum obj_elf_table which = OBJ_ELF_SYMTAB; which <= OBJ_ELF_DYNSYM; which++)
        if (obj_elf_symbols(elf, which, &table))
            for (size_t i = 0; i < table.len; i++)
                sum += (obj_elf_symbol(&table, i, &symbol) ? symbol.name.len : 1) +
                       obj_elf_symbol_named(&table, i, HD_STR("obj_test_marker"));
    for (size_t i = 0; obj_elf_needed(elf, i, &library); i++)
        sum += library.len;
    if (sum == SIZE_MAX) /* keeps the reads */
        diag("impossible");
}

static void append_section(Elf64_Shdr *shdr, uint32_t name, uint32_t type, uint64_t offset,
                           uint64_t size_B, uint32_t link)
{
    *shdr = (Elf64_Shdr){
        .sh_name = name, .sh_type = type, .sh_offset = offset, .sh_size = size_B, .sh_link = link};
}

struct small_file {
    Elf64_Ehdr head;
    Elf64_Phdr segment;
    Elf64_Shdr sections[7];
    Elf64_Sym symbols[2];
    uint16_t versions[2];
    uint32_t padding;
    Elf64_Verneed need;
    Elf64_Vernaux aux;
    Elf64_Dyn dynamic[2];
    char names[64];
};

static struct small_file small_file(void)
{
    struct small_file f = {.names = "\0.dynsym\0cudaMalloc\0libcudart.so.13\0"};
    memcpy(f.head.e_ident, ELFMAG, SELFMAG);
    f.head.e_ident[EI_CLASS] = ELFCLASS64;
    f.head.e_ident[EI_DATA] = ELFDATA2LSB;
    f.head.e_phoff = offsetof(struct small_file, segment);
    f.head.e_phentsize = sizeof(Elf64_Phdr);
    f.head.e_phnum = 1;
    f.head.e_shoff = offsetof(struct small_file, sections);
    f.head.e_shentsize = sizeof(Elf64_Shdr);
    f.head.e_shnum = 7;
    f.head.e_shstrndx = 2;
    append_section(&f.sections[1], 1, SHT_DYNSYM, offsetof(struct small_file, symbols),
                   sizeof(f.symbols), 2);
    append_section(&f.sections[2], 1, SHT_STRTAB, offsetof(struct small_file, names),
                   sizeof(f.names), 0);
    append_section(&f.sections[3], 1, SHT_GNU_versym, offsetof(struct small_file, versions),
                   sizeof(f.versions), 1);
    append_section(&f.sections[4], 1, SHT_GNU_verneed, offsetof(struct small_file, need),
                   sizeof(f.need) + sizeof(f.aux), 2);
    append_section(&f.sections[5], 1, SHT_DYNAMIC, offsetof(struct small_file, dynamic),
                   sizeof(f.dynamic), 2);
    append_section(&f.sections[6], 1, SHT_SYMTAB, offsetof(struct small_file, symbols),
                   sizeof(f.symbols), 2);
    f.symbols[1] = (Elf64_Sym){.st_name = 9, .st_info = STT_FUNC};
    f.versions[1] = 2;
    f.need = (Elf64_Verneed){
        .vn_version = 1, .vn_cnt = 1, .vn_file = 20, .vn_aux = sizeof(Elf64_Verneed)};
    f.aux = (Elf64_Vernaux){.vna_other = 2, .vna_name = 20};
    f.dynamic[0] = (Elf64_Dyn){.d_tag = DT_NEEDED, .d_un.d_val = 20};
    return f;
}

static void test_small(void)
{
    struct small_file f = small_file();
    struct obj_elf elf;
    struct obj_elf_symbols table;
    struct obj_elf_symbol symbol = {0};
    ok(obj_elf_open(&f, sizeof(f), &elf) == HD_OK, "small file opens");
    ok(obj_elf_needs(&elf, "libcudart.so"), "needs libcudart");
    ok(obj_elf_symbols(&elf, OBJ_ELF_DYNSYM, &table) && obj_elf_symbol(&table, 1, &symbol) &&
           hd_str_is(symbol.name, "cudaMalloc") && hd_str_is(symbol.version, "libcudart.so.13") &&
           hd_str_is(symbol.library, "libcudart.so.13"),
       "imports cudaMalloc@libcudart.so.13");
    obj_elf_close(&elf);
}

static void test_damage(void)
{
    struct small_file f = small_file();
    size_t opened = 0;
    for (size_t size_B = 0; size_B < sizeof(f); size_B++) {
        uint8_t *cut = malloc(size_B ? size_B : 1);
        memcpy(cut, &f, size_B);
        struct obj_elf elf;
        if (obj_elf_open(cut, size_B, &elf) == HD_OK) {
            walk_everything(&elf);
            opened++;
        }
        free(cut);
    }
    eq_u64(opened, sizeof(f) - sizeof(Elf64_Ehdr), "truncated files open from the header on");
    uint8_t *copy = malloc(sizeof(f));
    static const uint8_t flips[] = {0x01, 0x10, 0x80, 0xff};
    for (size_t at = 0; at < sizeof(f); at++) {
        for (size_t k = 0; k < HD_COUNT_OF(flips); k++) {
            memcpy(copy, &f, sizeof(f));
            copy[at] ^= flips[k];
            struct obj_elf elf;
            if (obj_elf_open(copy, sizeof(f), &elf) == HD_OK)
                walk_everything(&elf);
        }
    }
    free(copy);
    ok(true, "damaged files are read without harm");
}

static void test_errors(void)
{
    struct obj_elf elf;
    char file[64] = "\x7f"
                    "ELF\x01\x01";
    ok(obj_elf_open("abc", 3, &elf) == HD_BAD_IMAGE &&
           !strcmp(hd_error_message(), "offset 0: an ELF header has 64 bytes, there are 3"),
       "%s", hd_error_message());
    ok(obj_elf_open(file, sizeof(file), &elf) == HD_BAD_IMAGE &&
           !strcmp(hd_error_message(), "offset 4: not a 64-bit little-endian ELF file"),
       "%s", hd_error_message());
    file[0] = 0;
    ok(obj_elf_open(file, sizeof(file), &elf) == HD_BAD_IMAGE &&
           !strcmp(hd_error_message(), "offset 0: not an ELF file"),
       "%s", hd_error_message());
    ok(obj_elf_open_file(tap_missing_path(), &elf) == HD_NOT_FOUND, "%s", hd_error_message());
    ok(obj_elf_open_file("/", &elf) == HD_BAD_IMAGE, "%s", hd_error_message());
    ok(obj_elf_open_file("/dev/null", &elf) == HD_BAD_IMAGE, "%s", hd_error_message());
}

int main(void)
{
    test_self();
    test_small();
    test_damage();
    test_errors();
    return done();
}
