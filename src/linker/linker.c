/* See linker.h. */
#include "linker/linker.h"

#include <ar.h>
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "compile.h"
#include "obj/linked.h"
#include "obj/object.h"

/* ---- inputs */

/* By enum linker_input. `image` UNKNOWN: not told by its first bytes. */
static const struct input {
    const char *text;
    enum obj_image_kind image;
    enum hd_status (*load)(const void *bytes, size_t size_B, struct obj_target target,
                           struct obj_ptx_list *list);
} inputs[] = {
    [LINKER_CUBIN] = {"a cubin", OBJ_IMAGE_CUBIN, obj_image_load_ptx},
    [LINKER_PTX] = {"PTX", OBJ_IMAGE_PTX, obj_image_load_ptx},
    [LINKER_FATBIN] = {"a fat binary", OBJ_IMAGE_FATBIN, obj_image_load_ptx},
    [LINKER_OBJECT] = {"an object", OBJ_IMAGE_HOST_ELF, obj_object_load},
    [LINKER_LIBRARY] = {"an archive", OBJ_IMAGE_UNKNOWN, obj_archive_load},
    [LINKER_LTOIR] = {"LTO-IR", OBJ_IMAGE_UNKNOWN, NULL},
};
_Static_assert(HD_COUNT_OF(inputs) == LINKER_INPUT_COUNT, "a row per kind");

enum linker_input linker_input_detect(const void *bytes, size_t size_B)
{
    enum obj_image_kind is = obj_image_identify(bytes, size_B);

    for (unsigned i = 0; i < LINKER_INPUT_COUNT && is != OBJ_IMAGE_UNKNOWN; i++)
        if (inputs[i].image == is)
            return (enum linker_input)i;
    return size_B >= SARMAG && memcmp(bytes, ARMAG, SARMAG) == 0 ? LINKER_LIBRARY
                                                                 : LINKER_INPUT_COUNT;
}

static enum hd_status input_check(const struct input *input, const void *bytes, size_t size_B,
                                  const char *name)
{
    enum obj_image_kind is = obj_image_identify(bytes, size_B);

    if (!input->load)
        return hd_error(HD_NOT_SUPPORTED,
                        "%s: LTO-IR is a private format of NVIDIA's compilers; rebuild with PTX "
                        "(-gencode arch=compute_80,code=compute_80)",
                        name);
    if (input->image == OBJ_IMAGE_PTX && is == OBJ_IMAGE_CUBIN)
        return HD_OK; /* CuPy adds what NVRTC made as PTX, and asks NVRTC for cubins */
    if (input->image != OBJ_IMAGE_UNKNOWN && input->image != is)
        return hd_error(is == OBJ_IMAGE_UNKNOWN ? HD_BAD_IMAGE : HD_BAD_ARG,
                        "%s: was added as %s, and is %s", name, input->text,
                        obj_image_kind_text(is));
    return HD_OK;
}

static struct compile_unit unit_of(const struct obj_ptx *ptx)
{
    return (struct compile_unit){.name = ptx->source, .ptx = ptx->text, .len = ptx->len};
}

enum hd_status linker_read(enum linker_input kind, const void *bytes, size_t size_B,
                           const char *name, unsigned cc, struct obj_ptx_list *list)
{
    const struct compile_options options = {.max_arch = cc, .relocatable = true};
    const struct input *input = &inputs[kind];
    size_t first = list->len;

    assert(kind < LINKER_INPUT_COUNT);
    HD_TRY(input_check(input, bytes, size_B, name));
    HD_TRY(input->load(bytes, size_B, (struct obj_target){.cc = cc, .accept_any_variant = true},
                       list));
    for (size_t i = first; i < list->len; i++) {
        /* Modules that do not know their source are called after the input. */
        if (!*list->at[i].source) {
            hd_free(list->at[i].source);
            list->at[i].source = hd_strdup(name);
            HD_TRY(list->at[i].source ? HD_OK : hd_error(HD_NO_MEMORY, "linking %s", name));
        }
    }
    for (size_t i = first; i < list->len; i++) {
        struct compile_unit unit = unit_of(&list->at[i]);

        HD_TRY(compile_unit_check(&unit, &options));
    }
    return HD_OK;
}

/* ---- the result */

static enum hd_status program_make(const struct obj_ptx_list *list, unsigned cc,
                                   struct compile_program **out)
{
    const struct compile_options options = {.max_arch = cc};
    struct compile_unit *units = hd_alloc_array(list->len + 1, sizeof(*units));
    enum hd_status status;

    if (!units)
        return hd_error(HD_NO_MEMORY, "link");
    for (size_t i = 0; i < list->len; i++)
        units[i] = unit_of(&list->at[i]);
    status = compile_program_create(units, list->len, &options, out);
    hd_free(units);
    return status;
}

/* The list with other texts, which are the buffers'; modules of which nothing is left are not in
 * it. */
static enum hd_status image_reduce(const struct obj_ptx_list *list, const struct obj_used *used,
                                   struct obj_removed *removed, struct hd_buf *texts,
                                   struct obj_ptx_list *out)
{
    struct compile_unit *units = hd_alloc_array(list->len, sizeof(*units));
    enum hd_status status;

    if (!units || !hd_vec_reserve(out, list->len)) {
        hd_free(units);
        return hd_error(HD_NO_MEMORY, "link");
    }
    for (size_t i = 0; i < list->len; i++)
        units[i] = unit_of(&list->at[i]);
    status = compile_reduce(units, list->len, used, texts, removed);
    hd_free(units);
    for (size_t i = 0; status == HD_OK && i < list->len; i++) {
        if (!texts[i].len)
            continue;
        out->at[out->len] = list->at[i];
        out->at[out->len].text = texts[i].ptr;
        out->at[out->len++].len = texts[i].len;
    }
    return status;
}

static enum hd_status image_write_reduced(const struct obj_ptx_list *list, unsigned sm,
                                          const struct obj_used *used,
                                          struct obj_removed *out_removed, struct hd_buf *out_image)
{
    struct hd_buf *texts = hd_alloc_array(list->len, sizeof(*texts));
    struct obj_removed removed = {0};
    struct obj_ptx_list reduced = {0};
    enum hd_status status;

    if (!texts)
        return hd_error(HD_NO_MEMORY, "link");
    for (size_t i = 0; i < list->len; i++)
        hd_buf_init(&texts[i]);
    status = image_reduce(list, used, &removed, texts, &reduced);
    if (status == HD_OK && !reduced.len)
        status = hd_error(HD_NOT_FOUND, "none of the kernels that are said to be used is there");
    if (status == HD_OK)
        status = obj_linked_write(&reduced, sm, out_image);
    if (out_removed)
        *out_removed = removed;
    for (size_t i = 0; i < list->len; i++)
        hd_buf_fini(&texts[i]);
    hd_free(texts);
    hd_vec_fini(&reduced);
    return status;
}

enum hd_status linker_image(const struct obj_ptx_list *list, unsigned cc,
                            const struct obj_used *used, struct obj_removed *out_removed,
                            struct hd_buf *out_image, struct hd_buf *out_missing)
{
    struct compile_program *program;
    enum hd_status status;

    if (!list->len)
        return hd_error(HD_BAD_ARG, "there is nothing to link");
    HD_TRY(program_make(list, cc, &program));
    if (compile_program_undefined(program, out_missing))
        status = hd_error(HD_UNRESOLVED, "%s",
                          out_missing->ptr ? out_missing->ptr : "undefined references");
    else if (used)
        status = image_write_reduced(list, compile_program_decls(program)->sm, used, out_removed,
                                     out_image);
    else
        status = obj_linked_write(list, compile_program_decls(program)->sm, out_image);
    compile_program_destroy(program);
    return status;
}
