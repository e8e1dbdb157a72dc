/* From an image to compiled IR: choose, decompress, compile, link. */
#include "base/mem.h"
#include "compile.h"
#include "core/core.h"
#include "obj/fatbin.h"

static void image_key(const struct obj_ptx_list *list, uint8_t out_key[16])
{
    uint64_t hash[2] = {0x48656464, 0x6c65};

    for (size_t i = 0; i < list->len; i++)
        for (int k = 0; k < 2; k++)
            hash[k] = hd_hash(list->at[i].text, list->at[i].len, hash[k] + (uint64_t)k);
    memcpy(out_key, hash, sizeof(hash));
}

static enum hd_status image_compile(const struct obj_ptx_list *list, struct core_image *image)
{
    struct compile_options options = {0};
    struct compile_unit *units = hd_alloc_array(list->len + 1, sizeof(*units));
    enum hd_status status;

    if (!units)
        return hd_error(HD_NO_MEMORY, "module");
    for (size_t i = 0; i < list->len; i++)
        units[i] = (struct compile_unit){.name = *list->at[i].source ? list->at[i].source : "ptx",
                                         .ptx = list->at[i].text,
                                         .len = list->at[i].len};
    status = compile_ptx(units, list->len, &options, &image->ir);
    hd_free(units);
    return status;
}

enum hd_status core_image_load(const void *bytes, size_t size_B, struct core_image **out_image)
{
    const struct core_device *d = core_device_get();
    struct obj_target target = {.cc = (unsigned)(d->cc_major * 10 + d->cc_minor),
                                .accept_any_variant = true};
    struct obj_ptx_list list = {0};
    struct core_image *image;
    enum hd_status status;

    HD_TRY(obj_image_load_ptx(bytes, size_B, target, &list));
    image = hd_new(struct core_image);
    if (!image) {
        obj_ptx_list_fini(&list);
        return hd_error(HD_NO_MEMORY, "module");
    }
    atomic_store(&image->refs, 1);
    image_key(&list, image->key);
    status = image_compile(&list, image);
    obj_ptx_list_fini(&list);
    if (status != HD_OK) {
        core_image_unref(image);
        return status;
    }
    ir_foreach_func(f, image->ir)
        image->nkernels += f->is_kernel && !f->is_declaration;
    *out_image = image;
    return HD_OK;
}

void core_image_unref(struct core_image *image)
{
    if (atomic_fetch_sub(&image->refs, 1) != 1)
        return;
    if (image->ir)
        ir_module_destroy(image->ir);
    hd_free(image);
}
