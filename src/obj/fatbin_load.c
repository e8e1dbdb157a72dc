/* From an image of any kind to the PTX modules that a device compiles. */
#include "obj/fatbin.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "obj/bytes.h"
#include "obj/elf.h"
#include "obj/fatbin_layout.h"
#include "obj/linked.h"

/* A list of parts without its NULL must not be followed forever. */
#define OBJ_PARTS_MAX (1u << 20)

enum {
    FIT_NONE = 0,
    FIT_OTHER_VARIANT, /* taken only on request and when nothing else fits */
    FIT_PLAIN,
    FIT_FAMILY,
    FIT_EXACT,
};

static int load_entry_fit(const struct obj_entry *entry, struct obj_target target)
{
    if (entry->kind != OBJ_ENTRY_PTX || entry->codec == OBJ_CODEC_OPAQUE)
        return FIT_NONE;
    if (entry->variant == 'a' && entry->arch == target.cc)
        return FIT_EXACT;
    if (entry->variant == 'f' && entry->arch / 10 == target.cc / 10 && entry->arch <= target.cc)
        return FIT_FAMILY;
    if (entry->variant)
        return target.accept_any_variant && entry->arch <= target.cc ? FIT_OTHER_VARIANT : FIT_NONE;
    return entry->arch <= target.cc ? FIT_PLAIN : FIT_NONE;
}

/* Better fits of the same rank are those for the newer architecture; the first one wins a tie. */
static bool load_fit_is_better(int fit, unsigned arch, int best_fit, unsigned best_arch)
{
    if (fit == FIT_NONE || best_fit == FIT_NONE)
        return fit > best_fit;
    bool other = fit == FIT_OTHER_VARIANT;
    bool best_other = best_fit == FIT_OTHER_VARIANT;
    if (other != best_other)
        return best_other;
    return arch != best_arch ? arch > best_arch : fit > best_fit;
}

static enum hd_status load_no_image_error(const struct obj_fatbin *fatbin, struct obj_target target)
{
    char found[512];
    /* "ptx 90a, cubin sm_75, cubin sm_80" of all entries that can be read. */
    const size_t buf_B = sizeof(found);
    size_t cursor_B = 0, len = 0;
    struct obj_entry entry;
    found[0] = '\0';
    while (obj_fatbin_next(fatbin, &cursor_B, &entry) == HD_OK && len + 32 < buf_B) {
        char kind[16], variant[2] = {entry.variant, '\0'};
        int n = snprintf(found + len, buf_B - len, "%s%s %s%u%s", len ? ", " : "",
                         obj_entry_kind_text(entry.kind, kind, sizeof(kind)),
                         entry.kind == OBJ_ENTRY_CUBIN ? "sm_" : "compute_", entry.arch, variant);
        len += n > 0 ? (size_t)n : 0;
    }
    return hd_error(HD_NO_IMAGE,
                    "no PTX for compute capability %u.%u; the fat binary holds: %s; rebuild with "
                    "`nvcc -gencode arch=compute_%u,code=compute_%u` (or -arch=compute_%u)",
                    target.cc / 10, target.cc % 10, found[0] ? found : "nothing", target.cc,
                    target.cc, target.cc);
}

/* HD_NOT_FOUND without a message when no entry fits. */
static enum hd_status load_choose_quietly(const struct obj_fatbin *fatbin, struct obj_target target,
                                          struct obj_entry *out_entry)
{
    int best_fit = FIT_NONE;
    size_t cursor_B = 0;
    for (;;) {
        struct obj_entry entry;
        enum hd_status status = obj_fatbin_next(fatbin, &cursor_B, &entry);
        if (status == HD_NOT_FOUND)
            break;
        HD_TRY(status);
        int fit = load_entry_fit(&entry, target);
        if (!load_fit_is_better(fit, entry.arch, best_fit, out_entry->arch))
            continue;
        assert(fit != FIT_NONE);
        best_fit = fit;
        *out_entry = entry;
    }
    return best_fit == FIT_NONE ? HD_NOT_FOUND : HD_OK;
}

enum hd_status obj_fatbin_choose(const struct obj_fatbin *fatbin, struct obj_target target,
                                 struct obj_entry *out_entry)
{
    *out_entry = (struct obj_entry){0};
    enum hd_status status = load_choose_quietly(fatbin, target, out_entry);
    return status == HD_NOT_FOUND ? load_no_image_error(fatbin, target) : status;
}

static enum hd_status load_open_wrapper(const void *image, struct obj_image *out_image)
{
    struct obj_wrapper_raw raw;
    memcpy(&raw, image, sizeof(raw));
    if (raw.version != 1 && raw.version != 2)
        return hd_error(HD_BAD_IMAGE,
                        "fat binary wrapper offset 4: version %u is not known, expected 1 or 2",
                        raw.version);
    if (!raw.fatbin)
        return hd_error(HD_BAD_IMAGE, "fat binary wrapper offset 8: no fat binary");
    HD_TRY(obj_fatbin_open(raw.fatbin, OBJ_SIZE_UNKNOWN, &out_image->fatbin));
    if (raw.version == 1 || !raw.parts)
        return HD_OK;
    assert(raw.version == 2 && !out_image->part_count);
    out_image->parts = raw.parts;
    while (raw.parts[out_image->part_count])
        if (++out_image->part_count > OBJ_PARTS_MAX)
            return hd_error(HD_BAD_IMAGE, "fat binary wrapper offset 16: list of parts has no end");
    return HD_OK;
}

enum hd_status obj_image_open(const void *image, size_t size_B, struct obj_image *out_image)
{
    *out_image = (struct obj_image){
        .kind = obj_image_identify(image, size_B),
        .bytes = image,
        .size_B = size_B,
    };
    switch (out_image->kind) {
    case OBJ_IMAGE_WRAPPER:
        return load_open_wrapper(image, out_image);
    case OBJ_IMAGE_FATBIN:
        return obj_fatbin_open(image, size_B, &out_image->fatbin);
    case OBJ_IMAGE_PTX:
        out_image->size_B = size_B == OBJ_SIZE_UNKNOWN ? strlen(image) : strnlen(image, size_B);
        return HD_OK;
    case OBJ_IMAGE_CUBIN:
    case OBJ_IMAGE_HOST_ELF:
    case OBJ_IMAGE_BITCODE:
        return HD_OK;
    case OBJ_IMAGE_UNKNOWN:
        break;
    }
    if (!image || size_B < 4)
        return hd_error(HD_BAD_IMAGE, "offset 0: the image is empty");
    const uint8_t *b = image;
    uint8_t first[4] = {b[0]};
    for (size_t i = 1; i < 4 && first[i - 1]; i++)
        first[i] = b[i];
    return hd_error(
        HD_BAD_IMAGE,
        "offset 0: neither a fat binary nor PTX nor a cubin (begins %02x %02x %02x %02x)", first[0],
        first[1], first[2], first[3]);
}

static char *load_dup_view(struct hd_str view)
{
    char *copy = hd_alloc(view.len + 1);
    if (copy && view.len)
        memcpy(copy, view.ptr, view.len);
    return copy;
}

static void load_drop_code(struct obj_ptx_list *list)
{
    hd_free(list->image);
    list->image = NULL;
    list->image_B = 0;
}

/* Takes `text`. */
static enum hd_status load_list_add(struct obj_ptx_list *list, char *text, size_t len,
                                    const struct obj_entry *entry)
{
    assert(!text || !text[len]); /* texts end in NUL */
    load_drop_code(list);        /* another module is linked with it */
    struct obj_ptx ptx = {
        .text = text,
        .len = len,
        .arch = entry->arch,
        .variant = entry->variant,
        .flags = entry->flags,
        .source = load_dup_view(entry->source),
        .options = load_dup_view(entry->options),
    };
    if (text && ptx.source && ptx.options && hd_vec_push(list, ptx))
        return HD_OK;
    hd_free(ptx.text);
    hd_free(ptx.source);
    hd_free(ptx.options);
    return hd_error(HD_NO_MEMORY, "no memory for a PTX module of %zu bytes", len);
}

static enum hd_status load_list_add_entry(struct obj_ptx_list *list, const struct obj_entry *entry)
{
    struct hd_buf buf;
    hd_buf_init(&buf);
    enum hd_status status = obj_entry_read(entry, &buf);
    if (status != HD_OK) {
        hd_buf_fini(&buf);
        return status;
    }
    size_t len = buf.len;
    hd_log_debug(HD_DEBUG_LOAD, "chose PTX compute_%u%s, %zu bytes, %s %.*s", entry->arch,
                 (char[2]){entry->variant, '\0'}, len, obj_codec_text(entry->codec),
                 HD_STR_ARG(entry->source));
    char *text = len ? hd_buf_take(&buf) : hd_strdup("");
    hd_buf_fini(&buf);
    return load_list_add(list, text, len, entry);
}

/* ---- assembled images where machine code would be: nvcc with Heddle's ptxas makes such entries */

bool obj_entry_is_linked(const struct obj_entry *entry)
{
    struct hd_buf image;
    bool is_linked;

    if (entry->kind != OBJ_ENTRY_CUBIN || entry->codec == OBJ_CODEC_OPAQUE)
        return false;
    hd_buf_init(&image);
    is_linked = obj_entry_read(entry, &image) == HD_OK && obj_linked_is(image.ptr, image.len);
    hd_buf_fini(&image);
    return is_linked;
}

bool obj_entry_is_empty(const struct obj_entry *entry)
{
    struct hd_buf image;
    struct obj_elf elf;
    struct obj_elf_section section;
    bool is_empty;

    if (entry->kind != OBJ_ENTRY_CUBIN || entry->codec == OBJ_CODEC_OPAQUE)
        return false;
    hd_buf_init(&image);
    is_empty = obj_entry_read(entry, &image) == HD_OK &&
               obj_elf_open(image.ptr, image.len, &elf) == HD_OK && elf.section_count > 0;
    for (size_t i = 0; is_empty && i < elf.section_count; i++)
        is_empty = obj_elf_section(&elf, i, &section) &&
                   (section.name.len < 5 || memcmp(section.name.ptr, ".text", 5) != 0);
    hd_buf_fini(&image);
    return is_empty;
}

/* Everything in a linked image is wanted. */
static enum hd_status load_linked_image(const void *bytes, size_t size_B, struct obj_ptx_list *list)
{
    bool is_first = !list->len;
    const void *modules;
    size_t modules_B, image_B;

    HD_TRY(obj_linked_open(bytes, size_B, &modules, &modules_B));
    if (!modules_B && obj_linked_has_code(bytes))
        return hd_error(HD_NO_IMAGE, "the image is machine code for Heddle's own GPU (heddle as) "
                                     "without PTX, which says what a program has");
    HD_TRY(obj_fatbins_load(modules, modules_B,
                            (struct obj_target){.cc = OBJ_CC_OF_LINKED, .accept_any_variant = true},
                            list));
    /* Code is of the program that an image holds, and of no other. */
    image_B = obj_linked_size(bytes, size_B);
    if (!is_first || !obj_linked_has_code(bytes) || !image_B)
        return HD_OK;
    list->image = hd_alloc(image_B);
    if (!list->image)
        return hd_error(HD_NO_MEMORY, "no memory for an image of %zu bytes", image_B);
    memcpy(list->image, bytes, image_B);
    list->image_B = image_B;
    return HD_OK;
}

static enum hd_status load_add_linked_entry(struct obj_ptx_list *list,
                                            const struct obj_entry *entry)
{
    struct hd_buf image;
    enum hd_status status;

    hd_buf_init(&image);
    status = obj_entry_read(entry, &image);
    if (status == HD_OK)
        status = load_linked_image(image.ptr, image.len, list);
    hd_buf_fini(&image);
    return status;
}

/* Adds the one for the newest architecture that fits, if there is any. They hold no others. */
static enum hd_status load_linked(const struct obj_fatbin *fatbin, struct obj_target target,
                                  struct obj_ptx_list *list)
{
    struct obj_entry entry, best = {0};
    size_t cursor_B = 0;

    if (target.cc == OBJ_CC_OF_LINKED)
        return HD_OK;
    while (obj_fatbin_next(fatbin, &cursor_B, &entry) == HD_OK)
        if (entry.arch <= target.cc && entry.arch > best.arch && obj_entry_is_linked(&entry))
            best = entry;
    return best.arch ? load_add_linked_entry(list, &best) : HD_OK;
}

static bool load_text_contains(const struct hd_buf *buf, const char *word)
{
    return buf->ptr && memmem(buf->ptr, buf->len, word, strlen(word));
}

/*
 * NVIDIA's device runtime library (dynamic parallelism) comes as one PTX for the newest
 * architecture that calls private system calls: its functions are built into Heddle instead.
 */
static bool load_part_is_device_runtime(const struct obj_fatbin *part)
{
    size_t cursor_B = 0;
    struct obj_entry entry;
    bool found = false;
    while (!found && obj_fatbin_next(part, &cursor_B, &entry) == HD_OK) {
        if (entry.kind != OBJ_ENTRY_PTX || entry.codec == OBJ_CODEC_OPAQUE)
            continue;
        struct hd_buf buf;
        hd_buf_init(&buf);
        found =
            obj_entry_read(&entry, &buf) == HD_OK && load_text_contains(&buf, "__cuda_syscall_cnp");
        hd_buf_fini(&buf);
    }
    return found;
}

static enum hd_status load_container(const struct obj_fatbin *part, struct obj_target target,
                                     struct obj_ptx_list *list)
{
    if (part->size_B == part->first_B)
        return HD_OK;
    struct obj_entry entry = {0};
    size_t before = list->len;
    enum hd_status status = load_choose_quietly(part, target, &entry);
    if (status == HD_NOT_FOUND) {
        HD_TRY(load_linked(part, target, list));
        return list->len > before || load_part_is_device_runtime(part)
                   ? HD_OK
                   : load_no_image_error(part, target);
    }
    HD_TRY(status);
    HD_TRY(load_list_add_entry(list, &entry));
    assert(list->len == before + 1);
    if (strstr(list->at[before].text, "__cuda_syscall_cnp")) {
        struct obj_ptx *last = &list->at[--list->len];
        hd_free(last->text);
        hd_free(last->source);
        hd_free(last->options);
    }
    return HD_OK;
}

enum hd_status obj_fatbins_load(const void *bytes, size_t size_B, struct obj_target target,
                                struct obj_ptx_list *list)
{
    struct obj_fatbin part;
    size_t at_B = 0;
    while (obj_fatbin_scan(bytes, size_B, &at_B, &part))
        HD_TRY(load_container(&part, target, list));
    return HD_OK;
}

static enum hd_status load_fatbin(const struct obj_image *image, struct obj_target target,
                                  struct obj_ptx_list *list)
{
    struct obj_entry entry = {0};
    enum hd_status status = load_choose_quietly(&image->fatbin, target, &entry);
    if (status == HD_OK)
        return load_list_add_entry(list, &entry);
    if (status != HD_NOT_FOUND)
        return status;
    HD_TRY(load_linked(&image->fatbin, target, list));
    if (list->len)
        return HD_OK;
    for (size_t i = 0; i < image->part_count; i++) {
        struct obj_fatbin part;
        HD_TRY(obj_fatbin_open(image->parts[i], OBJ_SIZE_UNKNOWN, &part));
        HD_TRY(load_container(&part, target, list));
    }
    return list->len ? HD_OK : load_no_image_error(&image->fatbin, target);
}

static enum hd_status load_ptx_text(const struct obj_image *image, struct obj_ptx_list *list)
{
    struct obj_entry none = {0};
    char *text = load_dup_view((struct hd_str){(const char *)image->bytes, image->size_B});
    return load_list_add(list, text, image->size_B, &none);
}

static enum hd_status load_opened(const struct obj_image *image, struct obj_target target,
                                  struct obj_ptx_list *list)
{
    switch (image->kind) {
    case OBJ_IMAGE_WRAPPER:
    case OBJ_IMAGE_FATBIN:
        return load_fatbin(image, target, list);
    case OBJ_IMAGE_PTX:
        return load_ptx_text(image, list);
    case OBJ_IMAGE_CUBIN:
        if (obj_linked_is(image->bytes, image->size_B))
            return load_linked_image(image->bytes, image->size_B, list);
        return hd_error(HD_NO_IMAGE,
                        "the image is machine code (cubin) for sm_%u without PTX, which only that "
                        "GPU can run; rebuild with `nvcc -gencode arch=compute_%u,"
                        "code=compute_%u`, or assemble it with `heddle ptxas`",
                        obj_cubin_arch(image->bytes, image->size_B), target.cc, target.cc);
    default:
        return hd_error(HD_NO_IMAGE, "the image is an %s, which holds no PTX",
                        obj_image_kind_text(image->kind));
    }
}

enum hd_status obj_image_load_ptx(const void *image, size_t size_B, struct obj_target target,
                                  struct obj_ptx_list *out_list)
{
    *out_list = (struct obj_ptx_list){0};
    struct obj_image opened;
    HD_TRY(obj_image_open(image, size_B, &opened));
    enum hd_status status = load_opened(&opened, target, out_list);
    if (status != HD_OK)
        obj_ptx_list_fini(out_list);
    return status;
}

void obj_ptx_list_fini(struct obj_ptx_list *list)
{
    for (size_t i = 0; i < list->len; i++) {
        hd_free(list->at[i].text);
        hd_free(list->at[i].source);
        hd_free(list->at[i].options);
    }
    load_drop_code(list);
    hd_vec_fini(list);
}
