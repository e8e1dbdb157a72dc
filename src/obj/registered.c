/* See registered.h. */
#include "obj/registered.h"

#include <assert.h>
#include <elf.h>
#include <string.h>

#include "obj/bytes.h"
#include "obj/fatbin.h"
#include "obj/fatbin_layout.h"

_Static_assert(sizeof(struct obj_wrapper_raw) == OBJ_WRAPPER_B, "ABI of .nvFatBinSegment");

/* The addend of a relocation that makes an address there. */
static bool registered_relocated(const struct obj_elf *elf, uint64_t address, uint64_t *out_value)
{
    struct obj_elf_section section;
    Elf64_Rela rela;

    for (size_t i = 0; obj_elf_section(elf, i, &section); i++) {
        if (section.type != SHT_RELA || !(section.flags & SHF_ALLOC) || !section.bytes)
            continue;
        for (size_t at = 0; at + sizeof(rela) <= section.size_B; at += sizeof(rela)) {
            memcpy(&rela, section.bytes + at, sizeof(rela));
            if (rela.r_offset != address || ELF64_R_TYPE(rela.r_info) != R_X86_64_RELATIVE)
                continue;
            *out_value = (uint64_t)rela.r_addend;
            return true;
        }
    }
    return false;
}

/* The container of the wrapper at `address`, whole in its section; NULL: there is none. */
static const uint8_t *registered_container(const struct obj_elf *elf, uint64_t address,
                                           const struct obj_wrapper_raw *raw)
{
    uint64_t field = address + offsetof(struct obj_wrapper_raw, fatbin), at;
    struct obj_elf_section section;
    struct obj_fatbin fatbin;

    if (!registered_relocated(elf, field, &at)) /* packed ones add to what is there */
        at = (uint64_t)(uintptr_t)raw->fatbin;
    for (size_t i = 0; obj_elf_section(elf, i, &section); i++) {
        const uint8_t *bytes;

        if (!(section.flags & SHF_ALLOC) || !section.bytes || at < section.addr ||
            at - section.addr >= section.size_B)
            continue;
        bytes = section.bytes + (at - section.addr);
        return obj_fatbin_open(bytes, section.size_B - (at - section.addr), &fatbin) == HD_OK
                   ? bytes
                   : NULL;
    }
    return NULL;
}

/* What .nvFatBinSegment says; `out_parts`: NULL, or room for all. */
struct registered {
    const void *linked; /* code that a linker made of the units, or NULL */
    size_t nlinked, nparts;
};

static struct registered registered_read(const struct obj_elf *elf, const void **out_parts)
{
    struct obj_elf_section wrappers, units;
    struct registered r = {0};
    struct obj_wrapper_raw raw;

    if (!obj_elf_section_find(elf, "__nv_relfatbin", &units) || !units.bytes ||
        !obj_elf_section_find(elf, ".nvFatBinSegment", &wrappers) || !wrappers.bytes)
        return r;
    for (size_t at = 0; at + sizeof(raw) <= wrappers.size_B; at += sizeof(raw)) {
        const uint8_t *container;

        memcpy(&raw, wrappers.bytes + at, sizeof(raw));
        if (raw.magic != OBJ_WRAPPER_MAGIC)
            continue;
        container = registered_container(elf, wrappers.addr + at, &raw);
        if (raw.version == 2) {
            r.linked = container;
            r.nlinked++;
        } else if (container >= units.bytes && container < units.bytes + units.size_B) {
            if (out_parts)
                out_parts[r.nparts] = container;
            r.nparts++;
        }
    }
    return r;
}

size_t obj_registered_count(const struct obj_elf *elf)
{
    struct registered r = registered_read(elf, NULL);

    return r.nlinked > 1 ? 0 : r.nparts; /* several programs in one file: whose are the units? */
}

void obj_registered_wrap(const struct obj_elf *elf, const void **out_parts, void *out_wrapper)
{
    static const struct obj_container_raw empty = {
        .magic = OBJ_FATBIN_MAGIC, .version = OBJ_CONTAINER_VERSION, .header_B = sizeof(empty)};
    struct registered r = registered_read(elf, out_parts);
    struct obj_wrapper_raw raw = {.magic = OBJ_WRAPPER_MAGIC,
                                  .version = 2,
                                  .fatbin = r.linked ? r.linked : &empty,
                                  .parts = out_parts};

    assert(r.nparts);
    out_parts[r.nparts] = NULL;
    memcpy(out_wrapper, &raw, sizeof(raw));
}
