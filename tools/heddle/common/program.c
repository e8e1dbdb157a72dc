/* See program.h. */
#include "common/program.h"

#include <assert.h>
#include <elf.h>
#include <string.h>

#include "obj/linked.h"

/* Largest bare image that is read. */
#define IMAGE_MAX_B ((size_t)1 << 30)

static const char *const fatbin_sections[] = {".nv_fatbin", "__nv_relfatbin"};

static void add_container(struct program *p, const struct obj_fatbin *fatbin, const char *section,
                          const uint8_t *section_bytes)
{
    size_t cursor_B = 0;
    enum hd_status status;
    struct program_image image = {
        .fatbin = *fatbin, .section = section, .container = p->containers++};
    while ((status = obj_fatbin_next(fatbin, &cursor_B, &image.entry)) == HD_OK) {
        assert(fatbin->bytes >= section_bytes);
        image.offset_B = (uint64_t)(fatbin->bytes - section_bytes) + image.entry.offset_B;
        if (!hd_vec_push(&p->images, image))
            break;
    }
    p->damaged |= status != HD_NOT_FOUND;
}

static void scan_sections(struct program *p)
{
    for (size_t i = 0; i < HD_COUNT_OF(fatbin_sections); i++) {
        struct obj_elf_section section;
        struct obj_fatbin fatbin;
        size_t at_B = 0;
        if (!obj_elf_section_find(&p->elf, fatbin_sections[i], &section) || !section.bytes)
            continue;
        while (obj_fatbin_scan(section.bytes, section.size_B, &at_B, &fatbin))
            add_container(p, &fatbin, fatbin_sections[i], section.bytes);
    }
}

static void add_bare_entry(struct program *p, enum obj_entry_kind kind)
{
    const uint8_t *bytes = (const uint8_t *)p->file.ptr;
    struct program_image image = {
        .section = "",
        .entry = {.kind = kind, .payload = bytes, .stored_B = p->file.len, .raw_B = p->file.len},
    };
    if (kind == OBJ_ENTRY_CUBIN)
        image.entry.arch = obj_cubin_arch(bytes, p->file.len);
    p->damaged |= !hd_vec_push(&p->images, image);
}

static enum hd_status open_bare(struct program *p)
{
    struct obj_image image;
    HD_TRY(hd_file_read(p->path, IMAGE_MAX_B, &p->file));
    p->kind = obj_image_identify(p->file.ptr, p->file.len);
    switch (p->kind) {
    case OBJ_IMAGE_FATBIN:
        HD_TRY(obj_image_open(p->file.ptr, p->file.len, &image));
        add_container(p, &image.fatbin, "", (const uint8_t *)p->file.ptr);
        return HD_OK;
    case OBJ_IMAGE_PTX:
        add_bare_entry(p, OBJ_ENTRY_PTX);
        return HD_OK;
    case OBJ_IMAGE_CUBIN:
        add_bare_entry(p, OBJ_ENTRY_CUBIN);
        return HD_OK;
    default:
        return hd_error(HD_BAD_IMAGE, "%s is no program, library or device image", p->path);
    }
}

static enum hd_status open_any(struct program *p)
{
    enum hd_status status = obj_elf_open_file(p->path, &p->elf);
    bool host =
        status == HD_OK && obj_image_identify(p->elf.bytes, p->elf.size_B) == OBJ_IMAGE_HOST_ELF;
    if (!host && (status == HD_OK || status == HD_BAD_IMAGE))
        return open_bare(p);
    HD_TRY(status);
    p->kind = OBJ_IMAGE_HOST_ELF;
    p->runtime = obj_program_runtime(&p->elf);
    p->cuda_version = obj_program_cuda_version(&p->elf);
    scan_sections(p);
    return HD_OK;
}

enum hd_status program_open(const char *path, struct program *out_program)
{
    *out_program = (struct program){.path = path};
    hd_buf_init(&out_program->file);
    enum hd_status status = open_any(out_program);
    if (status != HD_OK)
        program_close(out_program);
    return status;
}

void program_close(struct program *program)
{
    hd_vec_fini(&program->images);
    hd_buf_fini(&program->file);
    obj_elf_close(&program->elf);
}

bool program_image_modules(const struct hd_buf *image, program_ptx_fn *call, void *user)
{
    const void *modules;
    struct obj_fatbin fatbin;
    struct obj_entry entry;
    size_t modules_B, at_B = 0;

    assert(obj_linked_is(image->ptr, image->len));
    if (obj_linked_open(image->ptr, image->len, &modules, &modules_B) == HD_OK)
        while (obj_fatbin_scan(modules, modules_B, &at_B, &fatbin))
            for (size_t cursor_B = 0; obj_fatbin_next(&fatbin, &cursor_B, &entry) == HD_OK;)
                call(user, &entry);
    return obj_linked_has_code(image->ptr);
}

bool program_is_elf(const char *path)
{
    char magic[4] = {0};
    FILE *file = fopen(path, "rb");
    bool is = file && fread(magic, 1, sizeof(magic), file) == sizeof(magic) &&
              !memcmp(magic, ELFMAG, SELFMAG);

    if (file)
        fclose(file);
    return is;
}

bool program_is_static(const struct program *program)
{
    struct obj_elf_segment segment;
    struct hd_str library;

    if (program->kind != OBJ_IMAGE_HOST_ELF || program->runtime != OBJ_RUNTIME_EMBEDDED)
        return false;
    for (size_t i = 0; obj_elf_segment(&program->elf, i, &segment); i++)
        if (segment.type == PT_INTERP)
            return false;
    return !obj_elf_needed(&program->elf, 0, &library); /* libraries have no interpreter either */
}

bool program_has_code(const struct program *program)
{
    for (size_t i = 0; i < program->images.len; i++)
        if (!obj_entry_is_empty(&program->images.at[i].entry))
            return true;
    return false;
}

size_t program_count_usable(const struct program *program, unsigned cc)
{
    size_t count = 0;
    for (size_t i = 0; i < program->images.len; i++) {
        const struct obj_entry *entry = &program->images.at[i].entry;
        bool is_ptx = entry->kind == OBJ_ENTRY_PTX && entry->codec != OBJ_CODEC_OPAQUE;
        count += (!cc || entry->arch <= cc) && (is_ptx || obj_entry_is_linked(entry));
    }
    return count;
}

void program_describe_images(const struct program *program, struct hd_buf *out_text)
{
    for (size_t i = 0; i < program->images.len; i++) {
        const struct obj_entry *entry = &program->images.at[i].entry;
        char kind[16], item[64];
        snprintf(item, sizeof(item), "%s %s%u%.1s", obj_entry_kind_text(entry->kind, kind, 16),
                 entry->kind == OBJ_ENTRY_CUBIN ? "sm_" : "compute_", entry->arch,
                 (char[2]){entry->variant, '\0'});
        if (out_text->ptr && strstr(out_text->ptr, item))
            continue;
        hd_buf_printf(out_text, "%s%s", out_text->len ? ", " : "", item);
    }
}
