/* See linked.h. */
#include "obj/linked.h"

#include <assert.h>
#include <elf.h>
#include <string.h>

#include "base/mem.h"
#include "obj/bytes.h"

#define OSABI_CUDA  0x41
#define ABI_VERSION 8 /* CUDA 13: the architecture is in the second byte of e_flags */

static const char magic[EI_NIDENT - EI_PAD] = {'h', 'e', 'd', 'd', 'l', 'e', 1};

enum { SECTION_NULL, SECTION_PTX, SECTION_NAMES, SECTION_COUNT };

static const char names[] = "\0.heddle.ptx\0.shstrtab";
enum { NAME_PTX = 1, NAME_NAMES = 13 };

_Static_assert(sizeof(Elf64_Ehdr) == OBJ_LINKED_HEAD_B, "a header");

enum hd_status obj_linked_modules(const struct obj_ptx_list *list, struct hd_buf *out)
{
    for (size_t i = 0; i < list->len; i++) {
        const struct obj_ptx *ptx = &list->at[i];
        const struct obj_fatbin_source source = {
            .kind = OBJ_ENTRY_PTX,
            .arch = ptx->arch,
            .variant = ptx->variant,
            .flags = ptx->flags & OBJ_FLAG_DEBUG,
            .payload = ptx->text,
            .size_B = ptx->len,
            .source_name = *ptx->source ? ptx->source : NULL,
        };

        HD_TRY(obj_fatbin_write(&source, 1, OBJ_CODEC_RAW, out));
        while (out->len % 8)
            hd_buf_putc(out, '\0');
    }
    return HD_OK;
}

void obj_linked_head(unsigned arch, uint64_t sections_at, unsigned count,
                     uint8_t out_head[OBJ_LINKED_HEAD_B])
{
    Elf64_Ehdr head = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT,
                    OSABI_CUDA, ABI_VERSION},
        .e_type = ET_EXEC,
        .e_machine = OBJ_LINKED_MACHINE,
        .e_version = EV_CURRENT,
        .e_shoff = sections_at,
        .e_flags = arch << 8,
        .e_ehsize = sizeof(head),
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = (uint16_t)count,
        .e_shstrndx = (uint16_t)(count - 1),
    };

    assert(count > SECTION_PTX && count <= UINT16_MAX);
    memcpy(head.e_ident + EI_PAD, magic, sizeof(magic));
    memcpy(out_head, &head, sizeof(head));
}

enum hd_status obj_linked_write(const struct obj_ptx_list *list, unsigned arch, struct hd_buf *out)
{
    Elf64_Shdr sections[SECTION_COUNT] = {
        [SECTION_PTX] = {.sh_name = NAME_PTX, .sh_type = SHT_PROGBITS, .sh_addralign = 8},
        [SECTION_NAMES] = {.sh_name = NAME_NAMES, .sh_type = SHT_STRTAB, .sh_addralign = 1},
    };
    uint8_t head[OBJ_LINKED_HEAD_B] = {0};

    assert(!out->len);
    hd_buf_append(out, head, sizeof(head));
    sections[SECTION_PTX].sh_offset = out->len;
    HD_TRY(obj_linked_modules(list, out));
    sections[SECTION_PTX].sh_size = out->len - sections[SECTION_PTX].sh_offset;
    sections[SECTION_NAMES].sh_offset = out->len;
    sections[SECTION_NAMES].sh_size = sizeof(names);
    hd_buf_append(out, names, sizeof(names));
    while (out->len % 8)
        hd_buf_putc(out, '\0');
    obj_linked_head(arch, out->len, SECTION_COUNT, head);
    hd_buf_append(out, sections, sizeof(sections));
    if (out->failed)
        return hd_error(HD_NO_MEMORY, "no memory for a linked image");
    memcpy(out->ptr, head, sizeof(head));
    return HD_OK;
}

bool obj_linked_is(const void *bytes, size_t size_B)
{
    return size_B >= sizeof(Elf64_Ehdr) &&
           memcmp((const char *)bytes + EI_PAD, magic, sizeof(magic)) == 0;
}

bool obj_linked_has_code(const void *bytes)
{
    Elf64_Ehdr head;

    memcpy(&head, bytes, sizeof(head));
    return head.e_shnum > SECTION_COUNT;
}

size_t obj_linked_size(const void *bytes, size_t size_B)
{
    Elf64_Ehdr head;
    size_t table_B;

    assert(obj_linked_is(bytes, size_B));
    memcpy(&head, bytes, sizeof(head));
    table_B = (size_t)head.e_shnum * sizeof(Elf64_Shdr);
    return obj_range_fits(head.e_shoff, table_B, size_B) ? head.e_shoff + table_B : 0;
}

enum hd_status obj_linked_open(const void *bytes, size_t size_B, const void **out_modules,
                               size_t *out_size_B)
{
    const uint8_t *base = bytes;
    Elf64_Shdr section;
    Elf64_Ehdr head;

    assert(obj_linked_is(bytes, size_B));
    memcpy(&head, base, sizeof(head));
    if (head.e_shnum < SECTION_COUNT || head.e_shentsize != sizeof(section) ||
        !obj_range_fits(head.e_shoff, sizeof(section) * head.e_shnum, size_B))
        return hd_error(HD_BAD_IMAGE, "linked image offset 40: it has no section headers");
    memcpy(&section, base + head.e_shoff + SECTION_PTX * sizeof(section), sizeof(section));
    if (!obj_range_fits(section.sh_offset, section.sh_size, head.e_shoff))
        return hd_error(HD_BAD_IMAGE, "linked image offset %llu: .heddle.ptx leaves the image",
                        (unsigned long long)head.e_shoff);
    *out_modules = base + section.sh_offset;
    *out_size_B = section.sh_size;
    return HD_OK;
}
