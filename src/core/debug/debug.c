/* Debug variants of kernels: slower code that a debugger can stop in, beside the fast code. */
#include "core/debug/debug.h"

#include <assert.h>
#include <stdlib.h>

#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/vec.h"
#include "core/context.h"
#include "core/debug/coredump.h"
#include "core/debug/report.h"
#include "core/device.h"
#include "core/module/image.h"
#include "core/module/module.h"
#include "dbg/dbg.h"
#include "hal/hal.h"
#include "ir/ir.h"
#include "san/san.h"

/*
 * Kernels that have a debuggable form: which of the two a launch takes that begins follows what the
 * debugger has in the program, also when that changes while it waits in its queue.
 */
struct debug_variant {
    const struct dbg_program *program;
    struct core_module *module;
    struct hal_kernel *kernel, *other;
};
static struct {
    struct hd_lock lock;
    HD_VEC(struct debug_variant) vec;
} variants = {.lock = HD_LOCK_INIT(LEAF, "debuggable kernels")};

static void variant_choose_locked(const struct debug_variant *t)
{
    assert(hd_lock_held(&variants.lock));
    t->module->ctx->device->hal->ops->kernel_instead(t->kernel,
                                                     dbg_wanted(t->program) ? t->other : NULL);
}

static void on_wanted(const struct dbg_program *program)
{
    hd_lock_acquire(&variants.lock);
    for (size_t i = 0; i < variants.vec.len; i++)
        if (variants.vec.at[i].program == program)
            variant_choose_locked(&variants.vec.at[i]);
    hd_lock_release(&variants.lock);
}

void core_debug_forget(struct core_module *module)
{
    hd_lock_acquire(&variants.lock);
    for (size_t i = variants.vec.len; i-- > 0;)
        if (variants.vec.at[i].module == module) {
            variants.vec.at[i] = hd_vec_last(&variants.vec);
            variants.vec.len--;
        }
    hd_lock_release(&variants.lock);
}

enum hd_status core_debug_start(void)
{
    const char *where = hd_env("HEDDLE_GDBSERVER");

    if (!where)
        return HD_OK;
    /* What the program starts is not debugged. */
    enum hd_status status = dbg_start(where, on_wanted, core_report_text);
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
            dbg_program_global(program, v->name, module->var_va[v->index],
                               core_module_var_is_managed(module, v));
}

static enum hd_status kernel_make(struct core_function *f, struct hal_kernel **out_kernel)
{
    const struct ir_module *code;

    if (f->module->ctx->device->hal->info.is_elsewhere)
        return hd_error(HD_NOT_SUPPORTED, "its device runs in another process");
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

/*
 * A launch that is fast so far may begin when there is a breakpoint: the device chooses again then.
 * Kernels that cannot have the other form stay as they are.
 */
static void instead_set(struct core_function *f, const struct hal_dispatch *p,
                        struct hal_kernel *variant)
{
    struct hal_device *hal = f->module->ctx->device->hal;

    struct debug_variant entry = {core_image_debugged(f->module->image), f->module, f->kernel,
                                  variant};
    bool known = false;

    if (!hal->ops->kernel_instead ||
        hal->ops->kernel_prepare(
            variant, p->grid, (const uint32_t[3]){p->block[0], p->block[1], p->block[2]}) != HD_OK)
        return;
    hd_lock_acquire(&variants.lock);
    for (size_t i = 0; i < variants.vec.len && !known; i++)
        known = variants.vec.at[i].kernel == f->kernel;
    if (!known && hd_vec_push(&variants.vec, entry))
        variant_choose_locked(&entry);
    hd_lock_release(&variants.lock);
}

struct hal_kernel *core_debug_choose(struct core_function *f, struct hal_dispatch *p)
{
    struct dbg_program *program = core_image_debugged(f->module->image);
    bool wants = is_wanted(f->module);
    struct hal_kernel *variant;

    if (HD_UNLIKELY(f->native != NULL)) {
        /* Said once for each kernel. */
        bool is_checked = san_observer() != NULL;

        if ((!is_checked && !dbg_is_active()) || atomic_exchange(&f->was_named, true))
            return f->kernel;
        if (is_checked)
            hd_log("kernel %s is native, a function of the host: the checker does not look into it",
                   f->entry->name);
        else
            dbg_say(
                "heddle: kernel %s is native, a function of the host: the debugger does not stop "
                "in it",
                f->entry->name);
        return f->kernel;
    }
    if (HD_LIKELY(!program && !wants) || !p->kernel)
        return f->kernel;
    if (kernel_make(f, &variant) != HD_OK) {
        if (wants) {
            dbg_say("heddle: kernel %s runs without the debugger: %s", f->entry->name,
                    hd_error_message());
            if (!dbg_is_active())
                hd_log("kernel %s cannot be dumped: %s", f->entry->name, hd_error_message());
        }
        return f->kernel;
    }
    if (program)
        instead_set(f, p, variant);
    if (!wants)
        return f->kernel;
    p->kernel = variant->id;
    return variant;
}
