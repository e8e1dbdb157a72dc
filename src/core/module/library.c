/* Libraries: images without a context. Each context that uses one gets a module of it. */
#include <assert.h>

#include "base/mem.h"
#include "core/handle.h"
#include "core/module/image.h"
#include "core/module/library.h"
#include "core/module/module.h"
#include "core/module/module_parts.h"
#include "obj/fatbin.h"

enum hd_status core_library_create(const void *image, size_t size_B, bool preserved,
                                   struct core_library **out_library)
{
    struct core_library *library = core_handle_alloc(CORE_LIBRARY);
    enum hd_status status = HD_OK;

    if (!library)
        return hd_error(HD_NO_MEMORY, "library");
    hd_lock_init(&library->lock, HD_RANK_MODULE, "library");
    if (preserved) {
        library->bytes = image;
        library->size_B = size_B;
    } else {
        status = core_image_load(image, size_B, &library->image);
    }
    if (status != HD_OK) {
        core_library_unref(library);
        return status;
    }
    core_object_publish(&library->object);
    *out_library = core_library_ref(library);
    return HD_OK;
}

enum hd_status core_library_create_of(struct core_image *image, struct core_library **out_library)
{
    struct core_library *library = core_handle_alloc(CORE_LIBRARY);

    if (!library)
        return hd_error(HD_NO_MEMORY, "library");
    hd_lock_init(&library->lock, HD_RANK_MODULE, "library");
    library->image = image;
    core_object_publish(&library->object);
    *out_library = core_library_ref(library);
    return HD_OK;
}

/* One of the modules, with a reference, or NULL. */
static struct core_module *module_any(struct core_library *library)
{
    struct core_module *module = NULL;

    hd_lock_acquire(&library->lock);
    if (library->modules.len)
        module = core_module_ref(hd_vec_last(&library->modules));
    hd_lock_release(&library->lock);
    return module;
}

static void kernels_destroy(struct core_library *library)
{
    assert(library->closing); /* nobody else writes `kernels` */
    for (uint32_t i = 0; library->kernels && i < core_image_count(library->image); i++) {
        struct core_kernel *kernel = library->kernels[i];

        if (!kernel)
            continue;
        core_object_retire(&kernel->object);
        core_kernel_unref(kernel);
    }
}

bool core_library_destroy(struct core_library *library)
{
    struct core_module *module;

    if (!core_object_retire(&library->object))
        return false;
    hd_lock_acquire(&library->lock);
    library->closing = true;
    hd_lock_release(&library->lock);
    while ((module = module_any(library))) {
        core_module_destroy(module);
        core_module_unlist(module); /* another thread may be destroying it */
        core_module_unref(module);
    }
    kernels_destroy(library);
    core_library_unref(library);
    return true;
}

enum hd_status core_library_place(struct core_library *library, const char *name, uint64_t va,
                                  uint64_t size_B)
{
    struct core_placed placed = {.name = name, .va = va, .size_B = size_B};
    enum hd_status status = HD_OK;

    hd_lock_acquire(&library->lock);
    if (library->modules.len)
        status = hd_error(HD_BUSY, "variable %s has its place already", name);
    else if (!hd_vec_push(&library->placed, placed))
        status = hd_error(HD_NO_MEMORY, "module variables");
    hd_lock_release(&library->lock);
    return status;
}

/* Modules and kernels have references: none is left. */
void core_library_finalise(struct core_library *library)
{
    assert(!library->modules.len && !library->managed_users.len);
    hd_vec_fini(&library->modules);
    hd_vec_fini(&library->managed_users);
    hd_vec_fini(&library->placed);
    hd_free(library->kernels);
    if (library->image)
        core_image_unref(library->image);
    hd_lock_fini(&library->lock);
    core_handle_free(library);
}

void core_kernel_finalise(struct core_kernel *kernel)
{
    struct core_library *library = kernel->library;

    core_handle_free(kernel);
    core_library_unref(library);
}

static enum hd_status closing_error(void)
{
    return hd_error(HD_BAD_ARG, "the library was unloaded");
}

static enum hd_status image_locked(struct core_library *library)
{
    assert(hd_lock_held(&library->lock));
    if (library->failed != HD_OK)
        return hd_error(library->failed, "the library could not be loaded before");
    if (!library->image)
        library->failed = core_image_load(library->bytes, library->size_B, &library->image);
    return library->failed;
}

enum hd_status core_library_image(struct core_library *library, struct core_image **out_image)
{
    enum hd_status status;

    hd_lock_acquire(&library->lock);
    status = image_locked(library);
    *out_image = library->image;
    hd_lock_release(&library->lock);
    return status;
}

static enum hd_status kernel_find_locked(struct core_library *library, uint32_t position,
                                         struct core_kernel **out_kernel)
{
    assert(hd_lock_held(&library->lock) && position < core_image_count(library->image));
    if (library->closing)
        return closing_error();
    if (!library->kernels)
        library->kernels =
            hd_alloc_array(core_image_count(library->image) + 1u, sizeof(struct core_kernel *));
    if (!library->kernels)
        return hd_error(HD_NO_MEMORY, "kernel");
    if (!library->kernels[position]) {
        struct core_kernel *kernel = core_handle_alloc(CORE_KERNEL);
        assert(!library->kernels[position]);
        if (!kernel)
            return hd_error(HD_NO_MEMORY, "kernel");
        kernel->library = core_library_ref(library);
        kernel->entry = core_image_entry(library->image, position);
        kernel->max_dynamic_B = -1;
        kernel->carveout = -1;
        library->kernels[position] = kernel;
        core_object_publish(&kernel->object);
    }
    *out_kernel = core_kernel_ref(library->kernels[position]);
    return HD_OK;
}

enum hd_status core_library_kernel_at(struct core_library *library, uint32_t position,
                                      struct core_kernel **out_kernel)
{
    enum hd_status status;

    hd_lock_acquire(&library->lock);
    status = image_locked(library);
    if (status == HD_OK)
        status = kernel_find_locked(library, position, out_kernel);
    hd_lock_release(&library->lock);
    return status;
}

enum hd_status core_library_kernel(struct core_library *library, const char *name,
                                   struct core_kernel **out_kernel)
{
    const struct core_entry *entry;
    struct core_image *image;

    HD_TRY(core_library_image(library, &image));
    entry = core_image_find(image, name);
    if (!entry)
        return hd_error(HD_NOT_FOUND, "there is no kernel %s in the library", name);
    return core_library_kernel_at(library, entry->position, out_kernel);
}

/* The live module of a context, with a reference, or NULL. */
static struct core_module *module_find_locked(struct core_library *library,
                                              const struct core_context *ctx)
{
    assert(hd_lock_held(&library->lock));
    for (size_t i = 0; i < library->modules.len; i++) {
        struct core_module *module = library->modules.at[i];

        /* Whoever retires it calls core_module_unlist() next, so it exists while it is here. */
        if (module->ctx == ctx && core_module_is_live(module))
            return core_module_ref(module);
    }
    return NULL;
}

/* Adds `made` unless the context has a module by now. Returns the one that counts, referenced. */
static enum hd_status module_add(struct core_library *library, struct core_module *made,
                                 struct core_module **out_module)
{
    enum hd_status status = HD_OK;

    hd_lock_acquire(&library->lock);
    *out_module = module_find_locked(library, made->ctx);
    if (!*out_module) {
        if (library->closing || !core_module_is_live(made))
            status = closing_error();
        else if (!hd_vec_push(&library->modules, made))
            status = hd_error(HD_NO_MEMORY, "library");
        else
            *out_module = core_module_ref(made);
    }
    hd_lock_release(&library->lock);
    return status;
}

enum hd_status core_library_module(struct core_library *library, struct core_context *ctx,
                                   struct core_module **out_module)
{
    struct core_module *made;
    struct core_image *image;
    enum hd_status status;

    hd_lock_acquire(&library->lock);
    *out_module = module_find_locked(library, ctx);
    hd_lock_release(&library->lock);
    if (*out_module)
        return HD_OK;
    /* Made without the lock, because making it takes the context's. */
    HD_TRY(core_library_image(library, &image));
    HD_TRY(core_module_create(ctx, image, library, &made));
    status = module_add(library, made, out_module);
    if (*out_module != made)
        core_module_destroy(made);
    core_module_unref(made);
    return status;
}

enum hd_status core_kernel_function(struct core_kernel *kernel, struct core_context *ctx,
                                    struct core_function **out_function)
{
    struct core_module *module;
    enum hd_status status;

    HD_TRY(core_library_module(kernel->library, ctx, &module));
    status = core_module_function_at(module, kernel->entry->position, out_function);
    core_module_unref(module);
    if (status == HD_OK && kernel->max_dynamic_B >= 0)
        atomic_store(&(*out_function)->max_dynamic_B, (uint32_t)kernel->max_dynamic_B);
    return status;
}
