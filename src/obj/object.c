/* See object.h. */
#include "obj/object.h"

#include <ar.h>
#include <assert.h>
#include <string.h>

#include "obj/bytes.h"
#include "obj/elf.h"

/* Where nvcc puts fat binaries: relocatable device code has a section of its own. */
static const char *const device_sections[] = {"__nv_relfatbin", ".nv_fatbin"};

enum hd_status obj_object_load(const void *bytes, size_t size_B, struct obj_target target,
                               struct obj_ptx_list *list)
{
    struct obj_elf_section section;
    struct obj_elf elf;

    HD_TRY(obj_elf_open(bytes, size_B, &elf));
    for (size_t i = 0; i < HD_COUNT_OF(device_sections); i++) {
        if (obj_elf_section_find(&elf, device_sections[i], &section) && section.bytes)
            HD_TRY(obj_fatbins_load(section.bytes, section.size_B, target, list));
    }
    return HD_OK;
}

/* The member at *at_B, and *at_B behind it; false at the end. */
static bool archive_next(const uint8_t *bytes, size_t size_B, size_t *at_B, struct hd_str *out)
{
    struct ar_hdr head;
    uint64_t member_B;
    size_t digits;

    if (!obj_range_fits(*at_B, sizeof(head), size_B))
        return false;
    memcpy(&head, bytes + *at_B, sizeof(head));
    digits = strnlen(head.ar_size, sizeof(head.ar_size));
    while (digits && head.ar_size[digits - 1] == ' ')
        digits--;
    *at_B += sizeof(head);
    if (memcmp(head.ar_fmag, ARFMAG, sizeof(head.ar_fmag)) != 0 ||
        !hd_str_to_u64((struct hd_str){head.ar_size, digits}, 10, &member_B) ||
        !obj_range_fits(*at_B, member_B, size_B))
        return false;
    *out = (struct hd_str){(const char *)bytes + *at_B, (size_t)member_B};
    *at_B += (size_t)(member_B + member_B % 2);
    return true;
}

enum hd_status obj_archive_load(const void *bytes, size_t size_B, struct obj_target target,
                                struct obj_ptx_list *list)
{
    size_t at_B = SARMAG;
    struct hd_str member;

    if (size_B < SARMAG || memcmp(bytes, ARMAG, SARMAG) != 0)
        return hd_error(HD_BAD_IMAGE, "offset 0: not an archive of objects");
    while (archive_next(bytes, size_B, &at_B, &member)) {
        assert(at_B > SARMAG);
        if (obj_image_identify(member.ptr, member.len) == OBJ_IMAGE_HOST_ELF)
            HD_TRY(obj_object_load(member.ptr, member.len, target, list));
    }
    return at_B >= size_B
               ? HD_OK
               : hd_error(HD_BAD_IMAGE, "offset %zu: the archive's next member does not fit", at_B);
}
