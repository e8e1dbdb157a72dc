/*
 * A linker for the one kind of object that the code generator makes: x86-64 ELF, position
 * independent, with a handful of external functions. The sections go into one mapping, followed by
 * a table of external addresses with a jump stub each; so a cached kernel needs no LLVM to run.
 *
 * Objects come from the code generator or from the cache on disk, whose checksum was right; still
 * every offset is checked, since a wrong one would write outside the image.
 */
#include "jit/jit_private.h"

#include <assert.h>
#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

#define STUB_B 16 /* jmp *target(%rip) and the 8-byte target */

struct linker {
    const uint8_t *obj;
    size_t size_B;
    const Elf64_Ehdr *eh;
    const Elf64_Shdr *sections;
    const Elf64_Sym *symbols;
    size_t nsymbols;
    const char *names;
    size_t names_B;
    uint64_t *section_at; /* offset in the image, by section */
    uint64_t *stub_at;    /* by symbol: offset of its stub, 0 = none */
    struct jit_image *image;
};

static bool link_range_ok(const struct linker *l, uint64_t offset, uint64_t size)
{
    return offset <= l->size_B && size <= l->size_B - offset;
}

static enum hd_status link_malformed(const char *what)
{
    return hd_error(HD_JIT, "kernel object: %s", what);
}

static enum hd_status link_open_object(struct linker *l)
{
    l->eh = (const Elf64_Ehdr *)l->obj;
    if (l->size_B < sizeof(*l->eh) || memcmp(l->eh->e_ident, ELFMAG, SELFMAG) ||
        l->eh->e_machine != EM_X86_64 || l->eh->e_type != ET_REL)
        return link_malformed("not an x86-64 relocatable");
    if (!link_range_ok(l, l->eh->e_shoff, (uint64_t)l->eh->e_shnum * sizeof(Elf64_Shdr)))
        return link_malformed("section table outside the file");
    l->sections = (const Elf64_Shdr *)(l->obj + l->eh->e_shoff);
    for (unsigned s = 0; s < l->eh->e_shnum; s++) {
        const Elf64_Shdr *sh = &l->sections[s];
        if (sh->sh_type != SHT_NOBITS && !link_range_ok(l, sh->sh_offset, sh->sh_size))
            return link_malformed("section outside the file");
        if (sh->sh_type != SHT_SYMTAB || sh->sh_link >= l->eh->e_shnum)
            continue;
        l->symbols = (const Elf64_Sym *)(l->obj + sh->sh_offset);
        l->nsymbols = sh->sh_size / sizeof(Elf64_Sym);
        l->names = (const char *)l->obj + l->sections[sh->sh_link].sh_offset;
        l->names_B = l->sections[sh->sh_link].sh_size;
    }
    if (!l->symbols || !l->names_B || l->names[l->names_B - 1])
        return link_malformed("no symbol table");
    return HD_OK;
}

static const char *link_symbol_name(const struct linker *l, const Elf64_Sym *sym)
{
    return sym->st_name < l->names_B ? l->names + sym->st_name : "";
}

static enum hd_status link_layout(struct linker *l)
{
    uint64_t at = 0;
    for (unsigned s = 0; s < l->eh->e_shnum; s++) {
        const Elf64_Shdr *sh = &l->sections[s];
        if (!(sh->sh_flags & SHF_ALLOC))
            continue;
        uint64_t align = sh->sh_addralign ? sh->sh_addralign : 1;
        if (!hd_is_pow2(align) || align > 4096 || sh->sh_size > (1u << 30))
            return link_malformed("odd section");
        at = hd_align_up(at, align);
        l->section_at[s] = at;
        at += sh->sh_size;
    }
    at = hd_align_up(at, STUB_B);
    for (size_t i = 1; i < l->nsymbols; i++) {
        if (l->symbols[i].st_shndx != SHN_UNDEF || !l->symbols[i].st_name)
            continue;
        l->stub_at[i] = at;
        at += STUB_B;
    }
    l->image->size_B = hd_align_up(HD_MAX(at, 1), 4096);
    return HD_OK;
}

static enum hd_status link_place(struct linker *l)
{
    uint8_t *base = l->image->base;
    for (unsigned s = 0; s < l->eh->e_shnum; s++) {
        const Elf64_Shdr *sh = &l->sections[s];
        if (!(sh->sh_flags & SHF_ALLOC))
            continue;
        assert(l->section_at[s] + sh->sh_size <= l->image->size_B); /* link_layout() made room */
        if (sh->sh_type != SHT_NOBITS)
            memcpy(base + l->section_at[s], l->obj + sh->sh_offset, sh->sh_size);
    }
    for (size_t i = 1; i < l->nsymbols; i++) {
        if (!l->stub_at[i])
            continue;
        const char *name = link_symbol_name(l, &l->symbols[i]);
        void *target = jit_rt_lookup(name);
        if (!target)
            return hd_error(HD_JIT, "kernel object: unknown external function %s", name);
        assert(l->stub_at[i] % STUB_B == 0 && l->stub_at[i] + STUB_B <= l->image->size_B);
        /* jmp *2(%rip); nop; nop; target */
        static const uint8_t jump[8] = {0xff, 0x25, 0x02, 0, 0, 0, 0x66, 0x90};
        memcpy(base + l->stub_at[i], jump, sizeof(jump));
        memcpy(base + l->stub_at[i] + 8, &target, 8);
    }
    return HD_OK;
}

/* Address a relocation's symbol stands for: a place in the image, or the stub of an external. */
static enum hd_status link_symbol_address(struct linker *l, uint64_t index, uint64_t *out_address)
{
    if (index >= l->nsymbols)
        return link_malformed("bad symbol index");
    const Elf64_Sym *sym = &l->symbols[index];
    uint64_t base = (uint64_t)(uintptr_t)l->image->base;
    if (sym->st_shndx == SHN_UNDEF) {
        *out_address = base + l->stub_at[index];
        return HD_OK;
    }
    if (sym->st_shndx >= l->eh->e_shnum)
        return link_malformed("symbol in no section");
    *out_address = base + l->section_at[sym->st_shndx] + sym->st_value;
    return HD_OK;
}

static enum hd_status link_relocate_one(struct linker *l, const Elf64_Rela *r, uint64_t section,
                                        uint64_t section_B)
{
    uint64_t symbol = 0, place_at = l->section_at[section] + r->r_offset;
    unsigned type = (unsigned)ELF64_R_TYPE(r->r_info);
    unsigned width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
    HD_TRY(link_symbol_address(l, ELF64_R_SYM(r->r_info), &symbol));
    if (r->r_offset > section_B || width > section_B - r->r_offset)
        return link_malformed("relocation outside its section");
    assert(place_at + width <= l->image->size_B);
    uint8_t *where = l->image->base + place_at;
    uint64_t pc = (uint64_t)(uintptr_t)where, value = symbol + (uint64_t)r->r_addend;
    switch (type) {
    case R_X86_64_64:
        memcpy(where, &value, 8);
        return HD_OK;
    case R_X86_64_PC64:
        value -= pc;
        memcpy(where, &value, 8);
        return HD_OK;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
        value -= pc;
        break;
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
        if (l->symbols[ELF64_R_SYM(r->r_info)].st_shndx != SHN_UNDEF)
            return link_malformed("GOT entry for a local symbol");
        value += 8 - pc; /* the stub's second half holds the address */
        break;
    default:
        return hd_error(HD_JIT, "kernel object: relocation type %u", type);
    }
    if ((int64_t)value != (int32_t)value)
        return link_malformed("relocation out of range");
    uint32_t low = (uint32_t)value;
    memcpy(where, &low, 4);
    return HD_OK;
}

static enum hd_status link_into(struct linker *l)
{
    HD_TRY(link_open_object(l));
    l->section_at = hd_alloc_array(l->eh->e_shnum + 1u, sizeof(*l->section_at));
    l->stub_at = hd_alloc_array(l->nsymbols + 1, sizeof(*l->stub_at));
    if (!l->section_at || !l->stub_at)
        return hd_error(HD_NO_MEMORY, "linking a kernel");
    HD_TRY(link_layout(l));
    void *map =
        mmap(NULL, l->image->size_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return hd_error(HD_NO_MEMORY, "mapping %zu bytes of code", l->image->size_B);
    l->image->base = map;
    HD_TRY(link_place(l));
    for (unsigned s = 0; s < l->eh->e_shnum; s++) {
        const Elf64_Shdr *sh = &l->sections[s];
        if (sh->sh_type != SHT_RELA || sh->sh_info >= l->eh->e_shnum)
            continue;
        const Elf64_Shdr *target = &l->sections[sh->sh_info];
        if (!(target->sh_flags & SHF_ALLOC))
            continue;
        const Elf64_Rela *r = (const Elf64_Rela *)(l->obj + sh->sh_offset);
        for (size_t i = 0; i < sh->sh_size / sizeof(*r); i++)
            HD_TRY(link_relocate_one(l, &r[i], sh->sh_info, target->sh_size));
    }
    if (mprotect(map, l->image->size_B, PROT_READ | PROT_EXEC))
        return hd_error(HD_JIT, "the system refuses executable memory");
    return HD_OK;
}

enum hd_status jit_link(const uint8_t *object, size_t size_B, struct jit_image *out_image)
{
    struct linker l = {.obj = object, .size_B = size_B, .image = out_image};
    *out_image = (struct jit_image){0};
    enum hd_status status = link_into(&l);
    hd_free(l.section_at);
    hd_free(l.stub_at);
    if (status != HD_OK)
        jit_image_fini(out_image);
    return status;
}

void jit_image_fini(struct jit_image *image)
{
    if (image->base)
        munmap(image->base, image->size_B);
    *image = (struct jit_image){0};
}

void *jit_image_symbol(const uint8_t *object, size_t size_B, const struct jit_image *image,
                       const char *name)
{
    struct jit_image scratch = *image;
    struct linker l = {.obj = object, .size_B = size_B, .image = &scratch};
    void *found = NULL;
    if (link_open_object(&l) != HD_OK)
        return NULL;
    l.section_at = hd_alloc_array(l.eh->e_shnum + 1u, sizeof(*l.section_at));
    l.stub_at = hd_alloc_array(l.nsymbols + 1, sizeof(*l.stub_at));
    if (l.section_at && l.stub_at && link_layout(&l) == HD_OK) {
        for (size_t i = 1; i < l.nsymbols && !found; i++) {
            const Elf64_Sym *sym = &l.symbols[i];
            if (sym->st_shndx != SHN_UNDEF && sym->st_shndx < l.eh->e_shnum &&
                !strcmp(link_symbol_name(&l, sym), name))
                found = image->base + l.section_at[sym->st_shndx] + sym->st_value;
        }
    }
    hd_free(l.section_at);
    hd_free(l.stub_at);
    return found;
}

/* ---- for those who ask about an image later */

/* Fills in the places of the object's sections; link_linker_fini() in any case. */
static enum hd_status link_linker_init(struct linker *l, struct jit_image *scratch,
                                       const uint8_t *object, size_t size_B)
{
    *l = (struct linker){.obj = object, .size_B = size_B, .image = scratch};
    HD_TRY(link_open_object(l));
    l->section_at = hd_alloc_array(l->eh->e_shnum + 1u, sizeof(*l->section_at));
    l->stub_at = hd_alloc_array(l->nsymbols + 1, sizeof(*l->stub_at));
    if (!l->section_at || !l->stub_at)
        return hd_error(HD_NO_MEMORY, "kernel object");
    return link_layout(l);
}

static void link_linker_fini(struct linker *l)
{
    hd_free(l->section_at);
    hd_free(l->stub_at);
}

bool jit_image_same_code(const uint8_t *object, size_t size_B, const struct jit_image *a,
                         const struct jit_image *b)
{
    struct jit_image scratch = {0};
    struct linker l;
    bool same = link_linker_init(&l, &scratch, object, size_B) == HD_OK && a->size_B == b->size_B &&
                scratch.size_B == a->size_B;

    for (unsigned s = 0; same && s < l.eh->e_shnum; s++) {
        const Elf64_Shdr *sh = &l.sections[s];
        uint64_t at = l.section_at[s];

        if (sh->sh_flags & SHF_ALLOC && sh->sh_flags & SHF_EXECINSTR)
            same = !memcmp(a->base + at, b->base + at, sh->sh_size);
    }
    link_linker_fini(&l);
    return same;
}

/* Index of the section; 0: there is none. */
static unsigned link_find_section(const struct linker *l, const char *name)
{
    const Elf64_Shdr *names;

    if (l->eh->e_shstrndx >= l->eh->e_shnum)
        return 0;
    names = &l->sections[l->eh->e_shstrndx];
    for (unsigned s = 1; s < l->eh->e_shnum; s++) {
        uint64_t at = l->sections[s].sh_name, room = at < names->sh_size ? names->sh_size - at : 0;

        if (strlen(name) < room && !strcmp((const char *)l->obj + names->sh_offset + at, name))
            return s;
    }
    return 0;
}

/* Addresses only: what refers to other such sections is left alone. */
static enum hd_status link_section_relocate(const struct linker *l, const Elf64_Shdr *rela,
                                            uint8_t *section, uint64_t section_B)
{
    const Elf64_Rela *r = (const Elf64_Rela *)(l->obj + rela->sh_offset);

    for (size_t i = 0; i < rela->sh_size / sizeof(*r); i++) {
        uint64_t index = ELF64_R_SYM(r[i].r_info), value;

        if (ELF64_R_TYPE(r[i].r_info) != R_X86_64_64)
            continue;
        if (index >= l->nsymbols || l->symbols[index].st_shndx >= l->eh->e_shnum || section_B < 8 ||
            r[i].r_offset > section_B - 8)
            return link_malformed("relocation of a line table");
        value = l->section_at[l->symbols[index].st_shndx] + l->symbols[index].st_value +
                (uint64_t)r[i].r_addend;
        memcpy(section + r[i].r_offset, &value, 8);
    }
    return HD_OK;
}

static enum hd_status link_section_copy(const struct linker *l, unsigned which, uint8_t *copy)
{
    const Elf64_Shdr *sh = &l->sections[which];

    memcpy(copy, l->obj + sh->sh_offset, sh->sh_size);
    for (unsigned s = 1; s < l->eh->e_shnum; s++)
        if (l->sections[s].sh_type == SHT_RELA && l->sections[s].sh_info == which)
            HD_TRY(link_section_relocate(l, &l->sections[s], copy, sh->sh_size));
    return HD_OK;
}

enum hd_status jit_object_section(const uint8_t *object, size_t size_B, const char *name,
                                  uint8_t **out_section, size_t *out_section_B)
{
    struct jit_image scratch = {0};
    struct linker l;
    enum hd_status status = link_linker_init(&l, &scratch, object, size_B);
    unsigned which = status == HD_OK ? link_find_section(&l, name) : 0;
    uint8_t *copy = NULL;

    if (status == HD_OK && (!which || l.sections[which].sh_type == SHT_NOBITS))
        status = hd_error(HD_NOT_FOUND, "kernel object: no section %s", name);
    if (status == HD_OK) {
        *out_section_B = l.sections[which].sh_size;
        copy = hd_alloc(*out_section_B + 1);
        status = copy ? link_section_copy(&l, which, copy) : hd_error(HD_NO_MEMORY, "%s", name);
    }
    if (status != HD_OK) {
        hd_free(copy);
        copy = NULL;
    }
    *out_section = copy;
    link_linker_fini(&l);
    return status;
}
