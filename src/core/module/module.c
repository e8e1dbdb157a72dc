/* A module in a context: an image that is loaded there. */
#include <assert.h>

#include "base/list.h"
#include "base/mem.h"
#include "core/context.h"
#include "core/debug/debug.h"
#include "core/device.h"
#include "core/mem/memory.h"
#include "core/module/image.h"
#include "core/module/library.h"
#include "core/module/module.h"
#include "core/module/module_parts.h"
#include "core/notify.h"
#include "core/texture/texref.h"
#include "dbg/dump/dump.h"
#include "hal/hal.h"
#include "ir/ir.h"

static enum hd_status module_load(struct core_module *module)
{
    struct hal_device *hal = module->ctx->device->hal;
    const struct ir_module *ir = core_image_decls(module->image);
    uint8_t key[16], assembled_key[16];
    struct hal_program program = {.name = ir->name,
                                  .key = key,
                                  .ptx = core_image_ptx(module->image),
                                  .nfuncs = ir->nfuncs,
                                  .nvars = ir->nvars,
                                  .assembled_key = assembled_key};

    module->functions =
        hd_alloc_array(core_image_count(module->image) + 1u, sizeof(struct core_function *));
    if (!module->functions)
        return hd_error(HD_NO_MEMORY, "module");
    HD_TRY(core_module_vars_create(module));
    HD_TRY(core_module_samplers_create(module));
    program.var_va = module->var_va;
    core_image_code_key(module->image, module->ctx->device, key);
    program.assembled = core_image_assembled(module->image, module->ctx->device,
                                             &program.assembled_B, assembled_key);
    HD_TRY(hal->ops->module_load(hal, &program, &module->hal));
    module->hal->owner = module;
    core_debug_module(module);
    return HD_OK;
}

/* ---- life */

/* A call may have launched after core_module_destroy() waited: the code goes when all is done. */
void core_module_finalise(struct core_module *module)
{
    struct core_context *ctx = module->ctx;

    assert(!module->link);
    core_module_vars_leave(module); /* unless it was destroyed before */
    core_module_references_destroy(module);
    if (module->hal) {
        (void)!core_context_synchronize(ctx);
        core_debug_forget(module);
        ctx->device->hal->ops->module_unload(module->hal);
    }
    dump_program_destroy(module->dump);
    for (int form = 0; form < CORE_FORM_COUNT; form++)
        if (module->forms[form])
            ctx->device->hal->ops->module_unload(module->forms[form]);
    for (size_t i = 0; i < module->blocks.len; i++)
        core_memory_free_own(module->blocks.at[i]);
    hd_vec_fini(&module->blocks);
    hd_free(module->var_va);
    hd_free(module->functions);
    core_image_unref(module->image);
    core_library_unref(module->library);
    hd_lock_fini(&module->lock);
    core_handle_free(module);
    core_context_unref(ctx);
}

static bool module_link(struct core_context *ctx, struct core_module *module)
{
    bool closing;

    hd_lock_acquire(&ctx->lock);
    closing = ctx->closing;
    if (!closing) {
        hd_list_push(&ctx->modules, module);
        core_object_publish(&module->object);
        core_module_ref(module);
    }
    hd_lock_release(&ctx->lock);
    return !closing;
}

enum hd_status core_module_create(struct core_context *ctx, struct core_image *image,
                                  struct core_library *library, struct core_module **out_module)
{
    struct core_module *module = core_handle_alloc(CORE_MODULE);
    enum hd_status status;

    if (!module)
        return hd_error(HD_NO_MEMORY, "module");
    core_image_ref(image);
    module->ctx = core_context_ref(ctx);
    module->image = image;
    module->library = library ? core_library_ref(library) : NULL;
    hd_lock_init(&module->lock, HD_RANK_MODULE, "module");
    status = module_load(module);
    if (status == HD_OK && !module_link(ctx, module))
        status = hd_error(HD_BAD_ARG, "the context was destroyed");
    if (status != HD_OK) {
        core_module_unref(module);
        return status;
    }
    *out_module = module;
    if (tap_wants(HEDDLE_KIND(MODULE)))
        core_notify_module(module);
    return HD_OK;
}

/* The functions' references to the module go with them. */
static void functions_destroy(struct core_module *module)
{
    hd_lock_acquire(&module->lock);
    module->closing = true; /* from here on nobody else writes `functions` */
    hd_lock_release(&module->lock);
    for (uint32_t i = 0; i < core_image_count(module->image); i++) {
        struct core_function *function = module->functions[i];

        if (!function)
            continue;
        core_object_retire(&function->object);
        core_function_unref(function);
    }
}

void core_module_unlist(struct core_module *module)
{
    struct core_library *library = module->library;

    if (!library)
        return;
    hd_lock_acquire(&library->lock);
    for (size_t i = 0; i < library->modules.len; i++)
        if (library->modules.at[i] == module)
            library->modules.at[i] = library->modules.at[--library->modules.len];
    hd_lock_release(&library->lock);
}

bool core_module_destroy(struct core_module *module)
{
    if (!core_object_retire(&module->object))
        return false;
    if (tap_wants(HEDDLE_KIND(MODULE)))
        core_notify_object(CORE_MODULE, module->ctx, core_module_handle(module), true);
    core_module_unlist(module);
    core_module_vars_leave(module);
    (void)!core_context_synchronize(module->ctx);
    struct core_context *ctx = module->ctx;
    hd_lock_acquire(&ctx->lock);
    hd_list_remove(module);
    hd_lock_release(&ctx->lock);
    functions_destroy(module);
    core_module_references_destroy(module); /* `closing` keeps new ones away */
    core_module_unref(module);
    return true;
}
