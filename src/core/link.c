/* See link.h. */
#include "core/link.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "compile.h"
#include "core/core.h"
#include "obj/linked.h"
#include "obj/object.h"

enum hd_status core_link_create(void *options, struct core_link **out_link)
{
    struct core_link *link = core_handle_alloc(CORE_LINK);

    if (!link)
        return hd_error(HD_NO_MEMORY, "link");
    hd_lock_init(&link->lock, HD_RANK_MODULE, "link");
    link->inputs = hd_new(struct obj_ptx_list);
    if (!link->inputs) {
        core_link_unref(link);
        return hd_error(HD_NO_MEMORY, "link");
    }
    link->options = options;
    core_object_publish(&link->object);
    *out_link = core_link_ref(link);
    return HD_OK;
}

bool core_link_destroy(struct core_link *link)
{
    if (!core_object_retire(&link->object))
        return false;
    core_link_unref(link);
    return true;
}

void core_link_finalise(struct core_link *link)
{
    if (link->inputs)
        obj_ptx_list_fini(link->inputs);
    hd_free(link->inputs);
    hd_free(link->image);
    hd_free(link->options);
    hd_lock_fini(&link->lock);
    core_handle_free(link);
}

static struct obj_target link_target(void)
{
    const struct core_device *d = core_device_at(0);

    return (struct obj_target){.cc = (unsigned)(d->cc_major * 10 + d->cc_minor),
                               .accept_any_variant = true};
}

/* ---- inputs */

static enum hd_status load_image(const void *bytes, size_t size_B, struct obj_ptx_list *list)
{
    return obj_image_load_ptx(bytes, size_B, link_target(), list);
}

static enum hd_status load_object(const void *bytes, size_t size_B, struct obj_ptx_list *list)
{
    return obj_object_load(bytes, size_B, link_target(), list);
}

static enum hd_status load_archive(const void *bytes, size_t size_B, struct obj_ptx_list *list)
{
    return obj_archive_load(bytes, size_B, link_target(), list);
}

/* By enum core_link_input. `image` UNKNOWN: not told by its first bytes. */
static const struct input {
    const char *text;
    enum obj_image_kind image;
    enum hd_status (*load)(const void *bytes, size_t size_B, struct obj_ptx_list *list);
} inputs[] = {
    [CORE_LINK_CUBIN] = {"a cubin", OBJ_IMAGE_CUBIN, load_image},
    [CORE_LINK_PTX] = {"PTX", OBJ_IMAGE_PTX, load_image},
    [CORE_LINK_FATBIN] = {"a fat binary", OBJ_IMAGE_FATBIN, load_image},
    [CORE_LINK_OBJECT] = {"an object", OBJ_IMAGE_HOST_ELF, load_object},
    [CORE_LINK_LIBRARY] = {"an archive", OBJ_IMAGE_UNKNOWN, load_archive},
    [CORE_LINK_NVVM] = {"LTO-IR", OBJ_IMAGE_UNKNOWN, NULL},
};
_Static_assert(HD_COUNT_OF(inputs) == CORE_LINK_INPUT_COUNT, "a row per kind");

static enum hd_status input_check(const struct input *input, const void *bytes, size_t size_B,
                                  const char *name)
{
    enum obj_image_kind is = obj_image_identify(bytes, size_B);

    if (!input->load)
        return hd_error(HD_NOT_SUPPORTED,
                        "%s: LTO-IR is a private format of NVIDIA's compilers; rebuild with PTX "
                        "(-gencode arch=compute_80,code=compute_80)",
                        name);
    if (input->image != OBJ_IMAGE_UNKNOWN && input->image != is)
        return hd_error(is == OBJ_IMAGE_UNKNOWN ? HD_BAD_IMAGE : HD_BAD_ARG,
                        "%s: was added as %s, and is %s", name, input->text,
                        obj_image_kind_text(is));
    return HD_OK;
}

/* Modules that do not know their source are called after the input. */
static enum hd_status modules_name(struct obj_ptx_list *list, const char *name)
{
    for (size_t i = 0; i < list->len; i++) {
        struct obj_ptx *ptx = &list->at[i];

        if (*ptx->source)
            continue;
        hd_free(ptx->source);
        ptx->source = hd_strdup(name);
        if (!ptx->source)
            return hd_error(HD_NO_MEMORY, "linking %s", name);
    }
    return HD_OK;
}

static struct compile_unit unit_of(const struct obj_ptx *ptx)
{
    return (struct compile_unit){.name = ptx->source, .ptx = ptx->text, .len = ptx->len};
}

static enum hd_status modules_check(const struct obj_ptx_list *list)
{
    const struct compile_options options = {.max_arch = link_target().cc};

    for (size_t i = 0; i < list->len; i++) {
        struct compile_unit unit = unit_of(&list->at[i]);

        HD_TRY(compile_unit_check(&unit, &options));
    }
    return HD_OK;
}

/* Takes the modules of `list`, which is empty then. */
static enum hd_status modules_add_locked(struct core_link *link, struct obj_ptx_list *list)
{
    assert(hd_lock_held(&link->lock));
    if (link->complete)
        return hd_error(HD_BAD_ARG, "the link is complete: nothing can be added");
    if (!hd_vec_reserve(link->inputs, link->inputs->len + list->len + 1))
        return hd_error(HD_NO_MEMORY, "link");
    for (size_t i = 0; i < list->len; i++)
        link->inputs->at[link->inputs->len++] = list->at[i];
    list->len = 0;
    return HD_OK;
}

static enum hd_status input_load(struct core_link *link, const struct input *input,
                                 const void *bytes, size_t size_B, const char *name,
                                 struct obj_ptx_list *list)
{
    HD_TRY(input_check(input, bytes, size_B, name));
    HD_TRY(input->load(bytes, size_B, list));
    HD_TRY(modules_name(list, name));
    HD_TRY(modules_check(list));
    hd_lock_acquire(&link->lock);
    enum hd_status status = modules_add_locked(link, list);
    hd_lock_release(&link->lock);
    return status;
}

enum hd_status core_link_add(struct core_link *link, enum core_link_input kind, const void *bytes,
                             size_t size_B, const char *name)
{
    struct obj_ptx_list list = {0};
    enum hd_status status;

    assert(kind < CORE_LINK_INPUT_COUNT);
    status = input_load(link, &inputs[kind], bytes, size_B, name, &list);
    obj_ptx_list_fini(&list);
    return status;
}

/* ---- the result */

static enum hd_status link_check_locked(struct core_link *link, struct compile_program **out)
{
    const struct compile_options options = {.max_arch = link_target().cc};
    struct compile_unit *units = hd_alloc_array(link->inputs->len + 1, sizeof(*units));
    enum hd_status status;

    if (!units)
        return hd_error(HD_NO_MEMORY, "link");
    for (size_t i = 0; i < link->inputs->len; i++)
        units[i] = unit_of(&link->inputs->at[i]);
    status = compile_program_create(units, link->inputs->len, &options, out);
    hd_free(units);
    return status;
}

static enum hd_status image_make_locked(struct core_link *link, struct compile_program *program,
                                        struct hd_buf *missing)
{
    struct hd_buf out;
    enum hd_status status;

    if (compile_program_undefined(program, missing))
        return hd_error(HD_UNRESOLVED, "%s", missing->ptr ? missing->ptr : "undefined references");
    hd_buf_init(&out);
    status = obj_linked_write(link->inputs, compile_program_decls(program)->sm, &out);
    link->image_B = status == HD_OK ? out.len : 0;
    link->image = status == HD_OK ? hd_buf_take(&out) : NULL;
    hd_buf_fini(&out);
    return status;
}

static enum hd_status complete_locked(struct core_link *link, struct hd_buf *missing)
{
    struct compile_program *program;
    enum hd_status status;

    assert(hd_lock_held(&link->lock));
    if (link->complete)
        return HD_OK;
    if (!link->inputs->len)
        return hd_error(HD_BAD_ARG, "there is nothing to link");
    HD_TRY(link_check_locked(link, &program));
    status = image_make_locked(link, program, missing);
    compile_program_destroy(program);
    link->complete = status == HD_OK;
    if (link->complete)
        obj_ptx_list_fini(link->inputs);
    return status;
}

enum hd_status core_link_complete(struct core_link *link, const void **out_image, size_t *out_B,
                                  struct hd_buf *out_missing)
{
    enum hd_status status;

    hd_lock_acquire(&link->lock);
    status = complete_locked(link, out_missing);
    *out_image = link->image;
    *out_B = link->image_B;
    hd_lock_release(&link->lock);
    return status;
}
