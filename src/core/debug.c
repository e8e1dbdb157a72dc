/* Debuggable kernels beside fast ones. */
#include "core/debug.h"

#include <stdlib.h>

#include "base/env.h"
#include "base/log.h"
#include "core/coredump.h"
#include "dbg/dbg.h"
#include "hal/hal.h"
#include "ir/ir.h"

enum hd_status core_debug_start(void)
{
    const char *where = hd_env("HEDDLE_GDBSERVER");

    if (!where)
        return HD_OK;
    /* What the program starts is not debugged. */
    enum hd_status status = dbg_start(where);
    unsetenv("HEDDLE_GDBSERVER");
    unsetenv("HEDDLE_GDB_LOST");
    unsetenv("HEDDLE_WATCHDOG"); /* a launch that is being looked at waits for long */
    return status;
}

void core_debug_module(struct core_module *module)
{
    struct dbg_program *program = core_image_debugged(module->image);
    const struct ir_module *decls = core_image_decls(module->image);

    for (const struct ir_var *v = program ? decls->vars : NULL; v; v = v->next)
        if (module->var_va[v->index])
            dbg_program_global(program, v->name, module->var_va[v->index]);
}

static enum hd_status twin_locked(struct core_module *module, const struct core_image *twin)
{
    struct hal_device *hal = module->ctx->device->hal;
    const struct ir_module *decls = core_image_decls(twin);
    /* Without a key: nothing of it is cached. */
    struct hal_program program = {.name = decls->name,
                                  .nfuncs = decls->nfuncs,
                                  .nvars = decls->nvars,
                                  .var_va = module->var_va};

    if (module->debug_hal)
        return HD_OK;
    HD_TRY(hal->ops->module_load(hal, &program, &module->debug_hal));
    module->debug_hal->owner = module;
    return HD_OK;
}

static enum hd_status kernel_make(struct core_function *f, struct hal_kernel **out_kernel)
{
    struct core_module *module = f->module;
    struct hal_device *hal = module->ctx->device->hal;
    const struct ir_module *code;
    struct core_image *twin;
    enum hd_status status;

    HD_TRY(core_image_twin(module->image, &twin));
    HD_TRY(core_image_code(twin, core_image_entry(twin, f->entry->position), &code));
    hd_lock_acquire(&module->lock);
    status = twin_locked(module, twin);
    if (status == HD_OK)
        status = hal->ops->kernel_get(module->debug_hal, f->entry->index, code, out_kernel);
    hd_lock_release(&module->lock);
    HD_TRY(status);
    if (!core_image_debugged(module->image))
        return core_dump_code(module, code);
    return dbg_program_code(core_image_debugged(module->image), code)
               ? HD_OK
               : hd_error(HD_NO_MEMORY, "kernel %s", f->entry->name);
}

/* Who looks at kernels: a debugger, or else core dumps. */
static bool is_wanted(const struct core_module *module)
{
    struct dbg_program *program = core_image_debugged(module->image);

    return program ? dbg_wants(program) : core_dump_wants(module->ctx);
}

struct hal_kernel *core_debug_choose(struct core_function *f, uint64_t *kernel_id)
{
    struct hal_kernel *kernel = f->kernel;

    if (HD_LIKELY(!is_wanted(f->module)) || !*kernel_id)
        return kernel;
    if (kernel_make(f, &kernel) != HD_OK) {
        dbg_say("heddle: kernel %s runs without the debugger: %s", f->entry->name,
                hd_error_message());
        if (!dbg_is_active())
            hd_log("kernel %s cannot be dumped: %s", f->entry->name, hd_error_message());
    }
    *kernel_id = kernel->id;
    return kernel;
}
