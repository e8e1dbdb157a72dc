/*
 * Reading ELF-64 files of this host: sections, symbols, needed libraries, symbol versions.
 *
 * Users: the redirector of embedded runtimes (src/preload), `heddle run` and `heddle doctor`. It
 * reads what is in the file; nothing is relocated or executed. Every offset is checked, so any file
 * may be opened: what does not fit is treated as absent, and a file that is no ELF-64 little-endian
 * file is HD_BAD_IMAGE. No allocation.
 *
 * Ownership: views point into the mapping and live until obj_elf_close().
 *
 *     struct obj_elf elf;
 *     HD_TRY(obj_elf_open_file("/proc/self/exe", &elf));
 *     struct obj_elf_symbols table;
 *     if (obj_elf_symbols(&elf, OBJ_ELF_SYMTAB, &table))
 *         for (size_t i = 0; i < table.len; i++)
 *             if (obj_elf_symbol(&table, i, &symbol))
 *                 use(symbol.name, symbol.value);
 *     obj_elf_close(&elf);
 */
#ifndef HD_OBJ_ELF_H
#define HD_OBJ_ELF_H

#include "base/status.h"
#include "base/str.h"

struct obj_elf {
    const uint8_t *bytes;
    size_t size_B;
    bool mapped;      /* by obj_elf_open_file(): unmapped on close */
    uint16_t type;    /* ET_EXEC, ET_DYN, ET_REL */
    uint16_t machine; /* EM_X86_64, EM_AARCH64, 190 = CUDA */
    size_t section_count;
    size_t segment_count;
};

struct obj_elf_section {
    struct hd_str name;
    uint32_t type;
    uint64_t flags;
    uint64_t addr;
    const uint8_t *bytes; /* NULL for SHT_NOBITS and for what leaves the file */
    size_t size_B;
    uint32_t link;
    uint32_t info;
};

struct obj_elf_segment {
    uint32_t type;
    uint32_t flags;
    uint64_t addr;
    uint64_t mem_B;
};

enum obj_elf_table {
    OBJ_ELF_SYMTAB, /* what the linker kept for debuggers; gone after strip */
    OBJ_ELF_DYNSYM, /* imports and exports */
};

struct obj_elf_symbols {
    const uint8_t *entries;
    size_t len;
    const char *names;
    size_t names_B;
    const uint8_t *versions;     /* one u16 per symbol, or NULL */
    struct obj_elf_section need; /* .gnu.version_r */
    struct hd_str need_names;
};

struct obj_elf_symbol {
    struct hd_str name;
    uint64_t value;
    uint64_t size_B;
    unsigned type;         /* STT_FUNC, STT_OBJECT, ... */
    unsigned bind;         /* STB_GLOBAL, STB_LOCAL, STB_WEAK */
    uint16_t section;      /* SHN_UNDEF = imported */
    struct hd_str version; /* of an import: "libcudart.so.13"; empty when unversioned */
    struct hd_str library; /* the file that version is wanted from; empty when unversioned */
};

/* The bytes stay the caller's. HD_BAD_IMAGE. */
enum hd_status obj_elf_open(const void *bytes, size_t size_B, struct obj_elf *out_elf)
    HD_MUST_CHECK;
/* Maps the file. HD_NOT_FOUND, HD_IO, HD_BAD_IMAGE. */
enum hd_status obj_elf_open_file(const char *path, struct obj_elf *out_elf) HD_MUST_CHECK;
void obj_elf_close(struct obj_elf *elf);

/* False when there is no such section or its header leaves the file. */
bool obj_elf_section(const struct obj_elf *elf, size_t index, struct obj_elf_section *out_section);
bool obj_elf_section_find(const struct obj_elf *elf, const char *name,
                          struct obj_elf_section *out_section);
bool obj_elf_segment(const struct obj_elf *elf, size_t index, struct obj_elf_segment *out_segment);

/* False when the file has no such table. */
bool obj_elf_symbols(const struct obj_elf *elf, enum obj_elf_table which,
                     struct obj_elf_symbols *out_symbols);
/* False when the entry's name leaves the string table. */
bool obj_elf_symbol(const struct obj_elf_symbols *symbols, size_t index,
                    struct obj_elf_symbol *out_symbol);

/* Is that the entry's name? Of thousands of symbols the other names are not read to their ends. */
bool obj_elf_symbol_named(const struct obj_elf_symbols *symbols, size_t index, struct hd_str name);

/* The n-th DT_NEEDED entry; false behind the last. */
bool obj_elf_needed(const struct obj_elf *elf, size_t n, struct hd_str *out_library);
/* True when some DT_NEEDED entry begins with the prefix, e.g. "libcudart.so". */
bool obj_elf_needs(const struct obj_elf *elf, const char *prefix);

#endif
