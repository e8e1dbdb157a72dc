/* Libraries: images without a context. Each context that uses one gets a module of it. */
#include "base/mem.h"
#include "core/core.h"
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
        hd_lock_fini(&library->lock);
        core_handle_free(library);
        return status;
    }
    *out_library = library;
    return HD_OK;
}

void core_library_destroy(struct core_library *library)
{
    while (library->modules.len) {
        struct core_module *module = hd_vec_pop(&library->modules);
        module->library = NULL;
        core_module_destroy(module);
    }
    hd_vec_fini(&library->modules);
    while (library->kernels) {
        struct core_kernel *kernel = library->kernels;
        library->kernels = kernel->next;
        core_handle_free(kernel);
    }
    if (library->image)
        core_image_unref(library->image);
    hd_lock_fini(&library->lock);
    core_handle_free(library);
}

static enum hd_status image_locked(struct core_library *library)
{
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

static struct core_kernel *kernel_find_locked(struct core_library *library,
                                              const struct ir_func *func)
{
    struct core_kernel *kernel = library->kernels;

    while (kernel && kernel->func != func)
        kernel = kernel->next;
    if (kernel)
        return kernel;
    kernel = core_handle_alloc(CORE_KERNEL);
    if (!kernel)
        return NULL;
    kernel->library = library;
    kernel->func = func;
    kernel->max_dynamic_B = -1;
    kernel->carveout = -1;
    kernel->next = library->kernels;
    library->kernels = kernel;
    return kernel;
}

enum hd_status core_library_kernel(struct core_library *library, const char *name,
                                   struct core_kernel **out_kernel)
{
    const struct ir_func *func;
    enum hd_status status;

    hd_lock_acquire(&library->lock);
    status = image_locked(library);
    if (status == HD_OK) {
        func = ir_module_find_func(library->image->ir, name);
        if (!func || !func->is_kernel || func->is_declaration)
            status = hd_error(HD_NOT_FOUND, "there is no kernel %s in the library", name);
        else if (!(*out_kernel = kernel_find_locked(library, func)))
            status = hd_error(HD_NO_MEMORY, "kernel");
    }
    hd_lock_release(&library->lock);
    return status;
}

/* A module of the context, or NULL. */
static struct core_module *module_find_locked(struct core_library *library,
                                              const struct core_context *ctx)
{
    for (size_t i = 0; i < library->modules.len; i++)
        if (library->modules.at[i]->ctx == ctx)
            return library->modules.at[i];
    return NULL;
}

enum hd_status core_library_module(struct core_library *library, struct core_context *ctx,
                                   struct core_module **out_module)
{
    struct core_module *module, *made;
    struct core_image *image;

    hd_lock_acquire(&library->lock);
    module = module_find_locked(library, ctx);
    hd_lock_release(&library->lock);
    if (module) {
        *out_module = module;
        return HD_OK;
    }
    /* Made without the lock, because making it takes the context's. */
    HD_TRY(core_library_image(library, &image));
    HD_TRY(core_module_create(ctx, image, &made));
    hd_lock_acquire(&library->lock);
    module = module_find_locked(library, ctx);
    if (!module && hd_vec_push(&library->modules, made)) {
        made->library = library;
        module = made;
    }
    hd_lock_release(&library->lock);
    if (module != made)
        core_module_destroy(made);
    if (!module)
        return hd_error(HD_NO_MEMORY, "library");
    *out_module = module;
    return HD_OK;
}

void core_library_forget(struct core_library *library, struct core_module *module)
{
    hd_lock_acquire(&library->lock);
    for (size_t i = 0; i < library->modules.len; i++)
        if (library->modules.at[i] == module)
            library->modules.at[i] = library->modules.at[--library->modules.len];
    hd_lock_release(&library->lock);
}

enum hd_status core_kernel_function(struct core_kernel *kernel, struct core_context *ctx,
                                    struct core_function **out_function)
{
    struct core_function *function;
    struct core_module *module;

    HD_TRY(core_library_module(kernel->library, ctx, &module));
    HD_TRY(core_module_function(module, kernel->func->name, &function));
    if (kernel->max_dynamic_B >= 0)
        function->max_dynamic_B = (uint32_t)kernel->max_dynamic_B;
    *out_function = function;
    return HD_OK;
}
