/* A bounds-checked reader of ELF-64 files: see elf.h. */
#include "obj/elf.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "obj/bytes.h"

/* Copies a file structure out, since nothing in a file is known to be aligned. */
static bool elf_copy(const struct obj_elf *elf, uint64_t offset, void *out, size_t len)
{
    if (!obj_range_fits(offset, len, elf->size_B))
        return false;
    memcpy(out, elf->bytes + offset, len);
    return true;
}

static Elf64_Ehdr elf_header(const struct obj_elf *elf)
{
    Elf64_Ehdr head;
    assert(elf->size_B >= sizeof(head)); /* obj_elf_open() looked */
    memcpy(&head, elf->bytes, sizeof(head));
    return head;
}

/* The NUL-terminated text at an offset of a string table; false when it has no end inside. */
static bool elf_text(const char *names, size_t names_B, uint64_t at, struct hd_str *out_text)
{
    if (!names || at >= names_B)
        return false;
    assert(at < names_B);
    size_t left_B = names_B - (size_t)at;
    size_t len = strnlen(names + at, left_B);
    if (len == left_B)
        return false;
    *out_text = (struct hd_str){names + at, len};
    return true;
}

static bool elf_raw_section(const struct obj_elf *elf, size_t index, Elf64_Shdr *out_raw)
{
    if (index >= elf->section_count)
        return false;
    Elf64_Ehdr head = elf_header(elf);
    return elf_copy(elf, head.e_shoff + index * sizeof(*out_raw), out_raw, sizeof(*out_raw));
}

/* How many table rows lie inside the file. */
static size_t elf_rows_inside(const struct obj_elf *elf, uint64_t offset, uint64_t count,
                              size_t row_B)
{
    if (!offset || offset > elf->size_B)
        return 0;
    assert(row_B && offset <= elf->size_B);
    uint64_t fit = (elf->size_B - offset) / row_B;
    return (size_t)HD_MIN(count, fit);
}

enum hd_status obj_elf_open(const void *bytes, size_t size_B, struct obj_elf *out_elf)
{
    *out_elf = (struct obj_elf){.bytes = bytes, .size_B = size_B};
    Elf64_Ehdr head;
    if (!elf_copy(out_elf, 0, &head, sizeof(head)))
        return hd_error(HD_BAD_IMAGE, "offset 0: an ELF header has 64 bytes, there are %zu",
                        size_B);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return hd_error(HD_BAD_IMAGE, "offset 0: not an ELF file");
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB)
        return hd_error(HD_BAD_IMAGE, "offset 4: not a 64-bit little-endian ELF file");
    out_elf->type = head.e_type;
    out_elf->machine = head.e_machine;
    if (head.e_phentsize == sizeof(Elf64_Phdr))
        out_elf->segment_count =
            elf_rows_inside(out_elf, head.e_phoff, head.e_phnum, sizeof(Elf64_Phdr));
    if (head.e_shentsize != sizeof(Elf64_Shdr))
        return HD_OK;
    /* More sections than 16 bits hold: section 0 has the number. */
    uint64_t count = head.e_shnum;
    Elf64_Shdr first;
    if (!count && head.e_shoff && elf_copy(out_elf, head.e_shoff, &first, sizeof(first)))
        count = first.sh_size;
    assert(out_elf->segment_count <= size_B / sizeof(Elf64_Phdr));
    out_elf->section_count = elf_rows_inside(out_elf, head.e_shoff, count, sizeof(Elf64_Shdr));
    return HD_OK;
}

static enum hd_status elf_map_file(const char *path, int fd, struct obj_elf *out_elf)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return hd_error(HD_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return hd_error(HD_BAD_IMAGE, "%s: not a regular file", path);
    if (st.st_size == 0)
        return hd_error(HD_BAD_IMAGE, "%s: the file is empty", path);
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return hd_error(HD_IO, "%s: %s", path, strerror(errno));
    enum hd_status status = obj_elf_open(map, (size_t)st.st_size, out_elf);
    out_elf->mapped = true;
    if (status != HD_OK)
        obj_elf_close(out_elf);
    return status;
}

enum hd_status obj_elf_open_file(const char *path, struct obj_elf *out_elf)
{
    *out_elf = (struct obj_elf){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return hd_error(errno == ENOENT ? HD_NOT_FOUND : HD_IO, "%s: %s", path, strerror(errno));
    enum hd_status status = elf_map_file(path, fd, out_elf);
    close(fd);
    return status;
}

void obj_elf_close(struct obj_elf *elf)
{
    if (elf->mapped)
        munmap((void *)(uintptr_t)elf->bytes, elf->size_B);
    *elf = (struct obj_elf){0};
}

/* The section's bytes as a string table; empty when it is none. */
static struct hd_str elf_string_table(const struct obj_elf *elf, size_t index)
{
    Elf64_Shdr raw;
    if (!elf_raw_section(elf, index, &raw) || raw.sh_type != SHT_STRTAB ||
        !obj_range_fits(raw.sh_offset, raw.sh_size, elf->size_B))
        return (struct hd_str){0};
    return (struct hd_str){(const char *)elf->bytes + raw.sh_offset, (size_t)raw.sh_size};
}

bool obj_elf_section(const struct obj_elf *elf, size_t index, struct obj_elf_section *out_section)
{
    Elf64_Shdr raw, first;
    if (!elf_raw_section(elf, index, &raw))
        return false;
    bool inside = raw.sh_type != SHT_NOBITS && raw.sh_type != SHT_NULL &&
                  obj_range_fits(raw.sh_offset, raw.sh_size, elf->size_B);
    *out_section = (struct obj_elf_section){
        .type = raw.sh_type,
        .flags = raw.sh_flags,
        .addr = raw.sh_addr,
        .bytes = inside ? elf->bytes + raw.sh_offset : NULL,
        .size_B = inside ? (size_t)raw.sh_size : 0,
        .link = raw.sh_link,
        .info = raw.sh_info,
    };
    size_t names_at = elf_header(elf).e_shstrndx;
    if (names_at == SHN_XINDEX && elf_raw_section(elf, 0, &first))
        names_at = first.sh_link;
    struct hd_str names = elf_string_table(elf, names_at);
    if (!elf_text(names.ptr, names.len, raw.sh_name, &out_section->name))
        out_section->name = HD_STR("");
    return true;
}

bool obj_elf_section_find(const struct obj_elf *elf, const char *name,
                          struct obj_elf_section *out_section)
{
    for (size_t i = 0; obj_elf_section(elf, i, out_section); i++)
        if (hd_str_is(out_section->name, name))
            return true;
    return false;
}

static bool elf_section_of_type(const struct obj_elf *elf, uint32_t type,
                                struct obj_elf_section *out_section)
{
    for (size_t i = 0; obj_elf_section(elf, i, out_section); i++)
        if (out_section->type == type)
            return true;
    return false;
}

bool obj_elf_segment(const struct obj_elf *elf, size_t index, struct obj_elf_segment *out_segment)
{
    Elf64_Phdr raw;
    if (index >= elf->segment_count ||
        !elf_copy(elf, elf_header(elf).e_phoff + index * sizeof(raw), &raw, sizeof(raw)))
        return false;
    *out_segment = (struct obj_elf_segment){
        .type = raw.p_type, .flags = raw.p_flags, .addr = raw.p_vaddr, .mem_B = raw.p_memsz};
    return true;
}

bool obj_elf_symbols(const struct obj_elf *elf, enum obj_elf_table which,
                     struct obj_elf_symbols *out_symbols)
{
    struct obj_elf_section section, versions;
    *out_symbols = (struct obj_elf_symbols){0};
    if (!elf_section_of_type(elf, which == OBJ_ELF_SYMTAB ? SHT_SYMTAB : SHT_DYNSYM, &section))
        return false;
    struct hd_str names = elf_string_table(elf, section.link);
    if (!section.bytes || !names.ptr)
        return false;
    assert(section.bytes >= elf->bytes && section.size_B <= elf->size_B);
    out_symbols->entries = section.bytes;
    out_symbols->len = section.size_B / sizeof(Elf64_Sym);
    out_symbols->names = names.ptr;
    out_symbols->names_B = names.len;
    if (which == OBJ_ELF_DYNSYM && elf_section_of_type(elf, SHT_GNU_versym, &versions) &&
        versions.size_B / 2 >= out_symbols->len &&
        elf_section_of_type(elf, SHT_GNU_verneed, &out_symbols->need)) {
        out_symbols->versions = versions.bytes;
        out_symbols->need_names = elf_string_table(elf, out_symbols->need.link);
    }
    return true;
}

/* Looks one library's wanted versions through for an index. `at` is the library's row. */
static bool elf_find_version(const struct obj_elf_symbols *symbols, uint64_t at, Elf64_Verneed need,
                             uint16_t index, struct obj_elf_symbol *out_symbol)
{
    const struct obj_elf_section *section = &symbols->need;
    assert(obj_range_fits(at, sizeof(need), section->size_B));
    uint64_t aux_at = at + need.vn_aux;
    for (unsigned i = 0; i < need.vn_cnt; i++) {
        Elf64_Vernaux aux;
        if (!obj_range_fits(aux_at, sizeof(aux), section->size_B))
            return false;
        memcpy(&aux, section->bytes + aux_at, sizeof(aux));
        if ((aux.vna_other & 0x7fff) == index) {
            struct hd_str names = symbols->need_names;
            return elf_text(names.ptr, names.len, aux.vna_name, &out_symbol->version) &&
                   elf_text(names.ptr, names.len, need.vn_file, &out_symbol->library);
        }
        if (!aux.vna_next)
            return false;
        aux_at += aux.vna_next;
    }
    return false;
}

static void elf_symbol_read_version(const struct obj_elf_symbols *symbols, size_t index,
                                    struct obj_elf_symbol *out_symbol)
{
    assert(index < symbols->len);
    uint16_t wanted = obj_load_u16(symbols->versions + index * 2) & 0x7fff;
    if (wanted < 2)
        return;
    uint64_t at = 0;
    Elf64_Verneed need;
    while (obj_range_fits(at, sizeof(need), symbols->need.size_B)) {
        memcpy(&need, symbols->need.bytes + at, sizeof(need));
        if (elf_find_version(symbols, at, need, wanted, out_symbol) || !need.vn_next)
            return;
        at += need.vn_next;
    }
}

bool obj_elf_symbol_named(const struct obj_elf_symbols *symbols, size_t index, struct hd_str name)
{
    if (index >= symbols->len)
        return false;
    assert(symbols->entries && symbols->names);
    Elf64_Sym raw;
    memcpy(&raw, symbols->entries + index * sizeof(raw), sizeof(raw));
    if (!obj_range_fits(raw.st_name, name.len + 1, symbols->names_B))
        return false;
    const char *text = symbols->names + raw.st_name;
    return memcmp(text, name.ptr, name.len) == 0 && !text[name.len];
}

bool obj_elf_symbol(const struct obj_elf_symbols *symbols, size_t index,
                    struct obj_elf_symbol *out_symbol)
{
    if (index >= symbols->len)
        return false;
    assert(symbols->entries && symbols->names);
    Elf64_Sym raw;
    memcpy(&raw, symbols->entries + index * sizeof(raw), sizeof(raw));
    *out_symbol = (struct obj_elf_symbol){
        .value = raw.st_value,
        .size_B = raw.st_size,
        .type = ELF64_ST_TYPE(raw.st_info),
        .bind = ELF64_ST_BIND(raw.st_info),
        .section = raw.st_shndx,
    };
    if (!elf_text(symbols->names, symbols->names_B, raw.st_name, &out_symbol->name))
        return false;
    if (symbols->versions && raw.st_shndx == SHN_UNDEF)
        elf_symbol_read_version(symbols, index, out_symbol);
    return true;
}

bool obj_elf_needed(const struct obj_elf *elf, size_t n, struct hd_str *out_library)
{
    struct obj_elf_section dynamic;
    if (!elf_section_of_type(elf, SHT_DYNAMIC, &dynamic))
        return false;
    struct hd_str names = elf_string_table(elf, dynamic.link);
    for (size_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.size_B; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        memcpy(&entry, dynamic.bytes + at, sizeof(entry));
        if (entry.d_tag == DT_NULL)
            return false;
        if (entry.d_tag == DT_NEEDED && n-- == 0)
            return elf_text(names.ptr, names.len, entry.d_un.d_val, out_library);
    }
    return false;
}

bool obj_elf_needs(const struct obj_elf *elf, const char *prefix)
{
    struct hd_str library;
    for (size_t n = 0; obj_elf_needed(elf, n, &library); n++)
        if (hd_str_starts(library, prefix))
            return true;
    return false;
}
