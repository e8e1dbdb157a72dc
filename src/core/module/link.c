/* See link.h. */
#include "core/module/link.h"

#include <assert.h>

#include "base/mem.h"
#include "base/vec.h"
#include "core/device.h"
#include "linker/linker.h"

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

static unsigned link_cc(void)
{
    const struct core_device *d = core_device_at(0);

    return (unsigned)(d->cc_major * 10 + d->cc_minor);
}

/* By enum core_link_input. */
static const enum linker_input inputs[] = {
    [CORE_LINK_CUBIN] = LINKER_CUBIN,     [CORE_LINK_PTX] = LINKER_PTX,
    [CORE_LINK_FATBIN] = LINKER_FATBIN,   [CORE_LINK_OBJECT] = LINKER_OBJECT,
    [CORE_LINK_LIBRARY] = LINKER_LIBRARY, [CORE_LINK_NVVM] = LINKER_LTOIR,
};
_Static_assert(HD_COUNT_OF(inputs) == CORE_LINK_INPUT_COUNT, "a row per kind");

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

enum hd_status core_link_add(struct core_link *link, enum core_link_input kind, const void *bytes,
                             size_t size_B, const char *name)
{
    struct obj_ptx_list list = {0};
    enum hd_status status;

    assert(kind < CORE_LINK_INPUT_COUNT);
    status = linker_read(inputs[kind], bytes, size_B, name, link_cc(), &list);
    if (status == HD_OK) {
        hd_lock_acquire(&link->lock);
        status = modules_add_locked(link, &list);
        hd_lock_release(&link->lock);
    }
    obj_ptx_list_fini(&list);
    return status;
}

static enum hd_status complete_locked(struct core_link *link, const struct core_link_used *used,
                                      struct hd_buf *missing)
{
    struct obj_used all;
    struct hd_buf image;
    enum hd_status status;

    assert(hd_lock_held(&link->lock));
    if (link->complete)
        return HD_OK;
    hd_buf_init(&image);
    if (used)
        all = (struct obj_used){.kernels = {used->kernels, used->nkernels},
                                .variables = {used->variables, used->nvariables},
                                .drops_variables = used->drops_variables};
    status = linker_image(link->inputs, link_cc(), used ? &all : NULL, NULL, &image, missing);
    link->complete = status == HD_OK;
    if (link->complete) {
        link->image_B = image.len;
        link->image = hd_buf_take(&image);
        obj_ptx_list_fini(link->inputs);
    }
    hd_buf_fini(&image);
    return status;
}

enum hd_status core_link_complete(struct core_link *link, const struct core_link_used *used,
                                  const void **out_image, size_t *out_B, struct hd_buf *out_missing)
{
    enum hd_status status;

    hd_lock_acquire(&link->lock);
    status = complete_locked(link, used, out_missing);
    *out_image = link->image;
    *out_B = link->image_B;
    hd_lock_release(&link->lock);
    return status;
}
