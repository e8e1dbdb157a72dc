/* Debuggable kernels beside fast ones. */
#include "core/debug.h"

#include <stdlib.h>

#include "base/env.h"
#include "base/log.h"
#include "core/coredump.h"
#include "dbg/dbg.h"
#include "hal/hal.h"
#include "ir/ir.h"
#include "san/san.h"

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

static enum hd_status kernel_make(struct core_function *f, struct hal_kernel **out_kernel)
{
    const struct ir_module *code;

    HD_TRY(core_function_form(f, CORE_FORM_DEBUG, out_kernel, &code));
    if (!core_image_debugged(f->module->image))
        return core_dump_code(f->module, code);
    return dbg_program_code(core_image_debugged(f->module->image), code)
               ? HD_OK
               : hd_error(HD_NO_MEMORY, "kernel %s", f->entry->name);
}

/* Who looks at kernels: a debugger, or else core dumps. */
static bool is_wanted(const struct core_module *module)
{
    struct dbg_program *program = core_image_debugged(module->image);

    return program ? dbg_wants(program) : core_dump_wants(module->ctx);
}

static void say_without(const struct core_function *f)
{
    dbg_say("heddle: kernel %s runs without the debugger: %s", f->entry->name, hd_error_message());
    if (!dbg_is_active())
        hd_log("kernel %s cannot be dumped: %s", f->entry->name, hd_error_message());
}

/*
 * A launch that is fast so far may begin when there is a breakpoint: the device chooses again then.
 * Kernels that cannot have the other form stay as they are.
 */
static void instead_set(struct core_function *f, const struct hal_dispatch *p,
                        struct hal_kernel *twin)
{
    struct hal_device *hal = f->module->ctx->device->hal;

    if (hal->ops->kernel_prepare(
            twin, p->grid, (const uint32_t[3]){p->block[0], p->block[1], p->block[2]}) != HD_OK)
        return;
    if (atomic_load_explicit(&f->kernel->instead, memory_order_acquire))
        return;
    f->kernel->when = dbg_wanted(core_image_debugged(f->module->image));
    atomic_store_explicit(&f->kernel->instead, twin, memory_order_release);
}

/* Said once for each kernel. */
static struct hal_kernel *native_chosen(struct core_function *f)
{
    bool is_checked = san_observer() != NULL;

    if ((!is_checked && !dbg_is_active()) || atomic_exchange(&f->was_named, true))
        return f->kernel;
    if (is_checked)
        hd_log("kernel %s is native, a function of the host: the checker does not look into it",
               f->entry->name);
    else
        dbg_say("heddle: kernel %s is native, a function of the host: the debugger does not stop "
                "in it",
                f->entry->name);
    return f->kernel;
}

struct hal_kernel *core_debug_choose(struct core_function *f, struct hal_dispatch *p)
{
    struct dbg_program *program = core_image_debugged(f->module->image);
    bool wants = is_wanted(f->module);
    struct hal_kernel *twin;

    if (HD_UNLIKELY(f->native != NULL))
        return native_chosen(f);
    if (HD_LIKELY(!program && !wants) || !p->kernel)
        return f->kernel;
    if (kernel_make(f, &twin) != HD_OK) {
        if (wants)
            say_without(f);
        return f->kernel;
    }
    if (program)
        instead_set(f, p, twin);
    if (!wants)
        return f->kernel;
    p->kernel = twin->id;
    return twin;
}
