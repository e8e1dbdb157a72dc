/*
 * The ELF files that GDB reads: an x86-64 program whose code is PTX at our addresses (layout.h).
 * It is never executed: GDB wants symbols, lines and types of it.
 */
#include <assert.h>
#include <elf.h>

#include "base/mem.h"
#include "dbg/dwarf.h"

enum { MAX_SECTIONS = 16 };

struct section {
    const char *name;
    uint32_t type, link, info;
    uint64_t flags, address, entry_B, align_B, size_B;
    const char *bytes; /* NULL: none in the file */
};

struct image {
    struct section sections[MAX_SECTIONS];
    uint32_t nsections;
    struct hd_buf names, symbols, strings;
};

static void elf_section_add(struct image *e, struct section section)
{
    section.align_B = section.align_B ? section.align_B : 1;
    assert(e->nsections < MAX_SECTIONS);
    if (section.size_B)
        e->sections[e->nsections++] = section;
}

static void elf_symbol_add(struct image *e, const char *name, uint64_t address, uint64_t size_B,
                           unsigned type, uint16_t section)
{
    Elf64_Sym symbol = {.st_name = (uint32_t)e->strings.len,
                        .st_info = ELF64_ST_INFO(STB_GLOBAL, type),
                        .st_shndx = section,
                        .st_value = address,
                        .st_size = size_B};

    assert(section && section < e->nsections);
    dbg_put_str(&e->strings, name);
    hd_buf_append(&e->symbols, &symbol, sizeof(symbol));
}

static void elf_image_init(struct image *e, uint64_t address, uint64_t size_B)
{
    static const Elf64_Sym none;

    *e = (struct image){.nsections = 1}; /* the first is empty */
    hd_buf_init(&e->names);
    hd_buf_init(&e->symbols);
    hd_buf_init(&e->strings);
    hd_buf_putc(&e->names, '\0');
    hd_buf_putc(&e->strings, '\0');
    hd_buf_append(&e->symbols, &none, sizeof(none));
    elf_section_add(e, (struct section){.name = ".text",
                                        .type = SHT_NOBITS,
                                        .flags = SHF_ALLOC | SHF_EXECINSTR,
                                        .address = address,
                                        .align_B = DBG_INSN_B,
                                        .size_B = HD_MAX(size_B, 1u)});
}

static void elf_image_fini(struct image *e)
{
    hd_buf_fini(&e->names);
    hd_buf_fini(&e->symbols);
    hd_buf_fini(&e->strings);
}

static void elf_dwarf_add(struct image *e, const struct dbg_dwarf *dwarf)
{
#define X(field, name_)                                                                            \
    elf_section_add(e, (struct section){.name = name_,                                             \
                                        .type = SHT_PROGBITS,                                      \
                                        .bytes = dwarf->field.ptr,                                 \
                                        .size_B = dwarf->field.len});
    DBG_DWARF_LIST(X)
#undef X
}

static void elf_tables_add(struct image *e)
{
    uint32_t at = e->nsections;

    assert(e->symbols.failed || e->symbols.len); /* or .strtab is not the next one */
    elf_section_add(e, (struct section){.name = ".symtab",
                                        .type = SHT_SYMTAB,
                                        .link = at + 1,
                                        .info = 1,
                                        .align_B = 8,
                                        .entry_B = sizeof(Elf64_Sym),
                                        .bytes = e->symbols.ptr,
                                        .size_B = e->symbols.len});
    elf_section_add(e, (struct section){.name = ".strtab",
                                        .type = SHT_STRTAB,
                                        .bytes = e->strings.ptr,
                                        .size_B = e->strings.len});
    elf_section_add(e, (struct section){.name = ".shstrtab", .type = SHT_STRTAB, .size_B = 1});
}

/* Its name gets into the table of names. */
static Elf64_Shdr elf_section_header(struct image *e, const struct section *s, uint64_t at)
{
    Elf64_Shdr h = {.sh_name = (uint32_t)e->names.len,
                    .sh_type = s->type,
                    .sh_flags = s->flags,
                    .sh_addr = s->address,
                    .sh_offset = at,
                    .sh_size = s->size_B,
                    .sh_link = s->link,
                    .sh_info = s->info,
                    .sh_addralign = s->align_B,
                    .sh_entsize = s->entry_B};

    dbg_put_str(&e->names, s->name);
    return h;
}

/* Code and variables: each has a segment. */
static uint32_t elf_nsegments(const struct image *e)
{
    uint32_t count = 0;

    for (uint32_t i = 1; i < e->nsections; i++)
        count += (e->sections[i].flags & SHF_ALLOC) != 0;
    return count;
}

/* As libraries: when LLDB is told of a program, it forgets where everything is. */
static void elf_put_header(const struct image *e, uint64_t sections_at, struct hd_buf *out)
{
    Elf64_Ehdr h = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                                EV_CURRENT, ELFOSABI_NONE},
                    .e_type = ET_DYN,
                    .e_machine = EM_X86_64,
                    .e_version = EV_CURRENT,
                    .e_phoff = sizeof(Elf64_Ehdr),
                    .e_shoff = sections_at,
                    .e_ehsize = sizeof(Elf64_Ehdr),
                    .e_phentsize = sizeof(Elf64_Phdr),
                    .e_phnum = (uint16_t)elf_nsegments(e),
                    .e_shentsize = sizeof(Elf64_Shdr),
                    .e_shnum = (uint16_t)e->nsections,
                    .e_shstrndx = (uint16_t)(e->nsections - 1)};

    hd_buf_append(out, &h, sizeof(h));
    for (uint32_t i = 1; i < e->nsections; i++) {
        const struct section *s = &e->sections[i];
        Elf64_Phdr p = {.p_type = PT_LOAD,
                        .p_flags = PF_R | (s->flags & SHF_WRITE ? PF_W : PF_X),
                        .p_vaddr = s->address,
                        .p_paddr = s->address,
                        .p_memsz = s->size_B,
                        .p_align = s->align_B};
        if (s->flags & SHF_ALLOC)
            hd_buf_append(out, &p, sizeof(p));
    }
}

/* The headers of the sections come first, then their bytes. */
static void elf_image_put(struct image *e, struct hd_buf *out)
{
    uint64_t sections_at = sizeof(Elf64_Ehdr) + elf_nsegments(e) * sizeof(Elf64_Phdr);
    uint64_t at = sections_at + e->nsections * sizeof(Elf64_Shdr);
    static const Elf64_Shdr none;
    struct hd_buf headers;

    hd_buf_init(&headers);
    hd_buf_append(&headers, &none, sizeof(none));
    for (uint32_t i = 1; i < e->nsections; i++) {
        struct section *s = &e->sections[i];
        bool is_names = i + 1 == e->nsections;
        if (is_names) /* the last: all names but its own are there */
            s->size_B = e->names.len + strlen(s->name) + 1;
        Elf64_Shdr h = elf_section_header(e, s, at);
        assert(!is_names || e->names.failed || e->names.len == s->size_B);
        if (is_names)
            s->bytes = e->names.ptr;
        hd_buf_append(&headers, &h, sizeof(h));
        at += s->bytes ? s->size_B : 0;
    }
    elf_put_header(e, sections_at, out);
    hd_buf_append(out, headers.ptr, headers.len);
    for (uint32_t i = 1; i < e->nsections && !headers.failed && !e->names.failed; i++)
        if (e->sections[i].bytes)
            hd_buf_append(out, e->sections[i].bytes, e->sections[i].size_B);
    assert(out->failed || headers.failed || e->names.failed || out->len == at);
    out->failed |= headers.failed || e->names.failed || e->symbols.failed || e->strings.failed;
    hd_buf_fini(&headers);
}

static enum hd_status elf_image_write(struct image *e, const struct dbg_dwarf *dwarf,
                                      const char *path)
{
    struct hd_buf file;
    enum hd_status status;

    hd_buf_init(&file);
    elf_dwarf_add(e, dwarf);
    elf_tables_add(e);
    elf_image_put(e, &file);
#define X(field, name) file.failed |= dwarf->field.failed;
    DBG_DWARF_LIST(X)
#undef X
    status = file.failed ? hd_error(HD_NO_MEMORY, "debug information of %s", path)
                         : hd_file_write(path, file.ptr, file.len);
    hd_buf_fini(&file);
    return status;
}

/* The section of a unit's variables of a kind; 0: it has none. */
static uint16_t elf_vars_section(struct image *e, const struct dbg_unit *unit,
                                 enum dbg_var_kind kind, const char *name)
{
    uint64_t from = UINT64_MAX, to = 0;

    for (size_t i = 0; i < unit->vars.len; i++) {
        const struct dbg_var *v = &unit->vars.at[i];
        if (v->kind != kind)
            continue;
        from = HD_MIN(from, v->at);
        to = HD_MAX(to, v->at + HD_MAX(v->size_B, 1u));
    }
    if (from >= to)
        return 0;
    elf_section_add(e, (struct section){.name = name,
                                        .type = SHT_NOBITS,
                                        .flags = SHF_ALLOC | SHF_WRITE,
                                        .address = from,
                                        .size_B = to - from});
    return (uint16_t)(e->nsections - 1);
}

/* Variables have sections, too, or GDB looks for code at their addresses and tells of an internal
 * error when it finds none. */
static void elf_unit_symbols(struct image *e, const struct dbg_unit *unit)
{
    uint16_t globals = elf_vars_section(e, unit, DBG_VAR_GLOBAL, ".global");
    uint16_t shared = elf_vars_section(e, unit, DBG_VAR_SHARED, ".shared");

    for (uint32_t i = 0; i < unit->nfuncs; i++) {
        const struct dbg_func *f = &unit->funcs[i];
        elf_symbol_add(e, f->name, dbg_unit_pc(unit, f->first), (uint64_t)f->count * DBG_INSN_B,
                       STT_FUNC, 1);
    }
    for (size_t i = 0; i < unit->vars.len; i++) {
        const struct dbg_var *v = &unit->vars.at[i];
        if (v->kind != DBG_VAR_LOCAL)
            elf_symbol_add(e, v->name, v->at, v->size_B, STT_OBJECT,
                           v->kind == DBG_VAR_GLOBAL ? globals : shared);
    }
}

enum hd_status dbg_elf_write(struct dbg_unit *unit, const char *folder)
{
    char *path = NULL;
    struct dbg_dwarf dwarf;
    struct image e;
    struct hd_buf name;
    enum hd_status status;

    hd_buf_init(&name);
    hd_buf_printf(&name, "%s/unit-%llu.elf", folder,
                  (unsigned long long)((unit->base - DBG_TEXT) >> DBG_UNIT_SHIFT));
    path = hd_buf_take(&name);
    if (!path)
        return hd_error(HD_NO_MEMORY, "debugging %s", unit->name);
    dbg_dwarf_init(&dwarf);
    elf_image_init(&e, unit->base, (uint64_t)unit->ninsns * DBG_INSN_B);
    elf_unit_symbols(&e, unit);
    if (!dbg_dwarf_copy(unit, &dwarf))
        dbg_dwarf_make(unit, unit->source ? unit->source : unit->name, &dwarf);
    dbg_dwarf_lines(unit, unit->source ? unit->source : unit->name, &dwarf);
    dbg_dwarf_frames(unit, &dwarf);
    status = elf_image_write(&e, &dwarf, path);
    elf_image_fini(&e);
    dbg_dwarf_fini(&dwarf);
    if (status != HD_OK)
        hd_free(path);
    else
        unit->path = path;
    return status;
}

enum hd_status dbg_elf_write_builtins(const char *path)
{
    struct dbg_dwarf dwarf;
    struct image e;
    enum hd_status status;

    dbg_dwarf_init(&dwarf);
    elf_image_init(&e, DBG_HOST_PC, DBG_INSN_B);
    elf_symbol_add(&e, "host_program", DBG_HOST_PC, DBG_INSN_B, STT_FUNC, 1);
    dbg_dwarf_make_builtins(&dwarf);
    status = elf_image_write(&e, &dwarf, path);
    elf_image_fini(&e);
    dbg_dwarf_fini(&dwarf);
    return status;
}
