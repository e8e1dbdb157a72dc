/* Fat binaries, bare images, ELF files and scanned sections: any bytes must be read without
 * harm. */
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "obj/elf.h"
#include "obj/fatbin.h"
#include "obj/registered.h"

static void read_entries(const struct obj_fatbin *fatbin)
{
    size_t cursor_B = 0;
    struct obj_entry entry;
    while (obj_fatbin_next(fatbin, &cursor_B, &entry) == HD_OK) {
        /* Claims of large sizes are legal; they only cost the fuzzer time. */
        if (entry.raw_B > 1 << 20)
            continue;
        struct hd_buf buf;
        hd_buf_init(&buf);
        if (obj_entry_read(&entry, &buf) == HD_OK && buf.len > entry.raw_B)
            __builtin_trap();
        hd_buf_fini(&buf);
    }
}

static void read_registered(const struct obj_elf *elf)
{
    size_t count = obj_registered_count(elf);
    const void **parts = count ? hd_alloc_array(count + 1, sizeof(*parts)) : NULL;
    uint8_t wrapper[OBJ_WRAPPER_B];
    struct obj_image image;

    if (!parts)
        return;
    obj_registered_wrap(elf, parts, wrapper);
    if (obj_image_open(wrapper, sizeof(wrapper), &image) != HD_OK || image.part_count != count)
        __builtin_trap();
    hd_free(parts);
}

static void read_elf(const uint8_t *bytes, size_t size_B)
{
    struct obj_elf elf;
    if (obj_elf_open(bytes, size_B, &elf) != HD_OK)
        return;
    struct obj_elf_section section;
    struct obj_elf_symbols table;
    struct obj_elf_symbol symbol;
    struct hd_str library;
    for (size_t i = 0; obj_elf_section(&elf, i, &section); i++)
        continue;
    for (enum obj_elf_table which = OBJ_ELF_SYMTAB; which <= OBJ_ELF_DYNSYM; which++)
        if (obj_elf_symbols(&elf, which, &table))
            for (size_t i = 0; i < table.len; i++)
                (void)obj_elf_symbol(&table, i, &symbol);
    for (size_t i = 0; i < 100 && obj_elf_needed(&elf, i, &library); i++)
        continue;
    read_registered(&elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B)
{
    enum obj_image_kind kind = obj_image_identify(bytes, size_B);
    /* A wrapper holds pointers: it is trusted memory of the program, not a file. */
    if (kind == OBJ_IMAGE_WRAPPER)
        return 0;
    struct obj_fatbin fatbin;
    if (obj_fatbin_open(bytes, size_B, &fatbin) == HD_OK)
        read_entries(&fatbin);
    for (size_t at_B = 0; obj_fatbin_scan(bytes, size_B, &at_B, &fatbin);)
        read_entries(&fatbin);
    struct obj_ptx_list list;
    if (obj_image_load_ptx(bytes, size_B, (struct obj_target){.cc = 120}, &list) == HD_OK) {
        for (size_t i = 0; i < list.len; i++)
            if (list.at[i].text[list.at[i].len] != '\0')
                __builtin_trap();
        obj_ptx_list_fini(&list);
    }
    read_elf(bytes, size_B);
    return 0;
}
