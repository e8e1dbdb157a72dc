/* A module in a context: memory of its variables, their initial values, its functions. */
#include <assert.h>

#include "base/list.h"
#include "base/mem.h"
#include "compile.h"
#include "core/core.h"
#include "core/debug/debug.h"
#include "core/notify.h"
#include "core/texture/texref.h"
#include "dbg/dump.h"
#include "hal/hal.h"
#include "ir/device_runtime.h"
#include "ir/ir.h"

#define STATIC_SMEM_MAX_B (48u << 10)
#define VARS_MAX_B        ((uint64_t)1 << 46) /* no sum of these overflows */

/* ---- variables */

static bool var_has_memory(const struct ir_var *var)
{
    return var->space == IR_SPACE_GLOBAL || var->space == IR_SPACE_CONST;
}

static uint64_t var_address(const struct core_module *module, const struct ir_var *var)
{
    return var_has_memory(var) ? module->var_va[var->index] : var->window_offset;
}

static struct core_placed *var_placed(const struct core_module *module, const struct ir_var *var)
{
    return var_has_memory(var) ? core_library_placed(module->library, var->name) : NULL;
}

/* Of those that the module, or its library, has memory for. */
static bool var_is_of(const struct core_module *module, const struct ir_var *var, bool managed)
{
    return var_has_memory(var) && var->managed == managed && !var_placed(module, var);
}

/* What all variables of one kind take in one block, each aligned as it asks; 0: there are none. */
static enum hd_status vars_measure(const struct core_module *module, bool managed,
                                   uint64_t *out_size_B, uint64_t *out_align_B)
{
    uint64_t size_B = 0;

    *out_align_B = 256;
    for (const struct ir_var *v = core_image_decls(module->image)->vars; v; v = v->next) {
        if (!var_is_of(module, v, managed))
            continue;
        if (v->size_B > VARS_MAX_B || size_B > VARS_MAX_B)
            return hd_error(HD_NO_DEVICE_MEMORY, "variables of more than 2^46 bytes");
        size_B = hd_align_up(size_B, HD_MAX(v->align_B, 256u)) + v->size_B;
        *out_align_B = HD_MAX(*out_align_B, v->align_B);
    }
    *out_size_B = size_B ? size_B + *out_align_B : 0;
    return HD_OK;
}

/* Zeroes. */
static enum hd_status block_make(struct core_module *module, uint64_t size_B, bool managed,
                                 uint64_t *out_va)
{
    HD_TRY(core_memory_alloc_own(module->ctx, size_B, managed ? CORE_MEM_MANAGED : CORE_MEM_DEVICE,
                                 HEDDLE_MEMORY_MODULE, out_va));
    memset((void *)(uintptr_t)*out_va, 0, size_B);
    return HD_OK;
}

static void vars_place(struct core_module *module, bool managed, uint64_t va, uint64_t align_B)
{
    va = hd_align_up(va, align_B);
    for (const struct ir_var *v = core_image_decls(module->image)->vars; v; v = v->next) {
        if (!var_is_of(module, v, managed))
            continue;
        va = hd_align_up(va, HD_MAX(v->align_B, 256u));
        module->var_va[v->index] = va;
        module->const_B += v->space == IR_SPACE_CONST ? v->size_B : 0;
        va += v->size_B;
    }
}

static void reloc_apply(const struct core_module *module, char *at, const struct ir_reloc *reloc)
{
    uint64_t value = reloc->func ? HAL_FUNC_HANDLE(reloc->func->index)
                                 : var_address(module, reloc->var) + (uint64_t)reloc->addend;

    if (reloc->size_B == 1)
        value = value >> reloc->shift & 0xff;
    memcpy(at + reloc->offset_B, &value, HD_MIN(reloc->size_B, 8u));
}

static void var_initialise(struct core_module *module, const struct ir_var *var)
{
    char *at = (char *)(uintptr_t)module->var_va[var->index];

    if (var->init && !var->reference)
        memcpy(at, var->init, HD_MIN(var->init_B, var->size_B));
    for (const struct ir_reloc *r = var->relocs; r; r = r->next)
        if (r->offset_B + r->size_B <= var->size_B)
            reloc_apply(module, at, r);
}

static void vars_initialise(struct core_module *module, bool managed)
{
    for (const struct ir_var *v = core_image_decls(module->image)->vars; v; v = v->next)
        if (var_is_of(module, v, managed))
            var_initialise(module, v);
}

/* The program's own memory is managed memory of a context that uses it, of one at a time. */
static enum hd_status placed_register(struct core_module *module, const struct core_placed *placed)
{
    struct core_block block;

    if (core_memory_find(placed->va, &block))
        return HD_OK;
    return core_memory_register(module->ctx, placed->va, placed->size_B, CORE_MEM_MANAGED, 0);
}

static enum hd_status vars_put_locked(struct core_module *module)
{
    assert(hd_lock_held(&module->library->lock));
    for (const struct ir_var *v = core_image_decls(module->image)->vars; v; v = v->next) {
        struct core_placed *placed = var_placed(module, v);

        if (!placed)
            continue;
        if (placed->size_B < v->size_B)
            return hd_error(HD_BAD_ARG, "variable %s has %llu bytes in the program and %llu in PTX",
                            v->name, (unsigned long long)placed->size_B,
                            (unsigned long long)v->size_B);
        HD_TRY(placed_register(module, placed));
        module->var_va[v->index] = placed->va;
        if (!placed->has_value)
            var_initialise(module, v);
        placed->has_value = true;
    }
    return HD_OK;
}

/* Variables that are where the program has them (core_library_place()). */
static enum hd_status vars_put(struct core_module *module)
{
    enum hd_status status;

    if (!module->library || !module->library->placed.len)
        return HD_OK;
    hd_lock_acquire(&module->library->lock);
    status = vars_put_locked(module);
    hd_lock_release(&module->library->lock);
    return status;
}

static enum hd_status vars_own(struct core_module *module, bool managed)
{
    uint64_t size_B, align_B, va;

    HD_TRY(vars_measure(module, managed, &size_B, &align_B));
    if (!size_B)
        return HD_OK;
    HD_TRY(block_make(module, size_B, managed, &va));
    if (!hd_vec_push(&module->blocks, va)) {
        core_memory_free_own(va);
        return hd_error(HD_NO_MEMORY, "module variables");
    }
    vars_place(module, managed, va, align_B);
    return HD_OK;
}

/* lock of the library: no other module sees the variables before they have their values. */
static enum hd_status vars_share_locked(struct core_module *module, uint64_t size_B,
                                        uint64_t align_B)
{
    struct core_library *library = module->library;
    bool is_first = !library->managed_va;

    assert(hd_lock_held(&library->lock) && is_first == !library->managed_users.len);
    if (!hd_vec_push(&library->managed_users, module))
        return hd_error(HD_NO_MEMORY, "module variables");
    if (is_first) {
        enum hd_status status = block_make(module, size_B, true, &library->managed_va);
        if (status != HD_OK) {
            library->managed_users.len = 0;
            return status;
        }
    }
    vars_place(module, true, library->managed_va, align_B);
    if (is_first)
        vars_initialise(module, true);
    return HD_OK;
}

/* Of a library, managed variables are the same in all contexts (cuLibraryGetManaged()). */
static enum hd_status vars_share(struct core_module *module)
{
    uint64_t size_B, align_B;
    enum hd_status status;

    HD_TRY(vars_measure(module, true, &size_B, &align_B));
    if (!size_B)
        return HD_OK;
    hd_lock_acquire(&module->library->lock);
    status = vars_share_locked(module, size_B, align_B);
    hd_lock_release(&module->library->lock);
    return status;
}

/* What it shared goes to another module's context; what nobody shares any more goes with it. */
static void vars_leave_locked(struct core_module *module)
{
    struct core_library *library = module->library;
    size_t i = 0;

    assert(hd_lock_held(&library->lock));
    while (i < library->managed_users.len && library->managed_users.at[i] != module)
        i++;
    if (i == library->managed_users.len)
        return;
    library->managed_users.at[i] = library->managed_users.at[--library->managed_users.len];
    if (library->managed_users.len) {
        core_memory_give(library->managed_va, library->managed_users.at[0]->ctx);
        return;
    }
    /* Without memory for the list it stays until its context ends. */
    (void)!hd_vec_push(&module->blocks, library->managed_va);
    library->managed_va = 0;
}

static void vars_leave(struct core_module *module)
{
    if (!module->library)
        return;
    hd_lock_acquire(&module->library->lock);
    vars_leave_locked(module);
    hd_lock_release(&module->library->lock);
}

static enum hd_status module_load(struct core_module *module)
{
    struct hal_device *hal = module->ctx->device->hal;
    const struct ir_module *ir = core_image_decls(module->image);
    uint8_t key[16];
    struct hal_program program = {.name = ir->name,
                                  .key = key,
                                  .ptx = core_image_ptx(module->image),
                                  .nfuncs = ir->nfuncs,
                                  .nvars = ir->nvars};

    module->var_va = hd_alloc_array(ir->nvars + 1u, sizeof(*module->var_va));
    module->functions =
        hd_alloc_array(core_image_count(module->image) + 1u, sizeof(struct core_function *));
    if (!module->var_va || !module->functions)
        return hd_error(HD_NO_MEMORY, "module");
    HD_TRY(vars_own(module, false));
    HD_TRY(module->library ? vars_share(module) : vars_own(module, true));
    HD_TRY(vars_put(module));
    vars_initialise(module, false);
    if (!module->library)
        vars_initialise(module, true);
    HD_TRY(core_module_samplers_create(module));
    program.var_va = module->var_va;
    core_image_code_key(module->image, module->ctx->device, key);
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
    vars_leave(module); /* unless it was destroyed before */
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

static void module_unlink(struct core_module *module)
{
    struct core_context *ctx = module->ctx;

    hd_lock_acquire(&ctx->lock);
    hd_list_remove(module);
    hd_lock_release(&ctx->lock);
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

bool core_module_destroy(struct core_module *module)
{
    if (!core_object_retire(&module->object))
        return false;
    if (tap_wants(HEDDLE_KIND(MODULE)))
        core_notify_object(CORE_MODULE, module->ctx, core_module_handle(module), true);
    if (module->library)
        core_library_forget(module->library, module);
    vars_leave(module);
    (void)!core_context_synchronize(module->ctx);
    module_unlink(module);
    functions_destroy(module);
    core_module_references_destroy(module); /* `closing` keeps new ones away */
    core_module_unref(module);
    return true;
}

/* ---- symbols */

void core_function_finalise(struct core_function *function)
{
    struct core_module *module = function->module;

    hd_free(function->setup);
    core_handle_free(function);
    core_module_unref(module);
}

static enum hd_status function_create_locked(struct core_module *module, uint32_t position)
{
    struct core_function *function = core_handle_alloc(CORE_FUNCTION);

    assert(hd_lock_held(&module->lock) && !module->functions[position]);
    if (!function)
        return hd_error(HD_NO_MEMORY, "function");
    function->module = core_module_ref(module);
    function->entry = core_image_entry(module->image, position);
    function->max_dynamic_B = CORE_DYNAMIC_DEFAULT;
    function->carveout = -1;
    module->functions[position] = function;
    core_object_publish(&function->object);
    return HD_OK;
}

enum hd_status core_module_function_at(struct core_module *module, uint32_t position,
                                       struct core_function **out_function)
{
    enum hd_status status = HD_OK;

    hd_lock_acquire(&module->lock);
    if (module->closing)
        status = hd_error(HD_BAD_ARG, "the module was unloaded");
    else if (!module->functions[position])
        status = function_create_locked(module, position);
    if (status == HD_OK)
        *out_function = core_function_ref(module->functions[position]);
    hd_lock_release(&module->lock);
    return status;
}

enum hd_status core_module_function(struct core_module *module, const char *name,
                                    struct core_function **out_function)
{
    const struct core_entry *entry = core_image_find(module->image, name);

    if (!entry)
        return hd_error(HD_NOT_FOUND, "there is no kernel %s in the module", name);
    return core_module_function_at(module, entry->position, out_function);
}

uint32_t core_function_threads(const struct core_function *function)
{
    const struct core_device *device = function->module->ctx->device;
    uint64_t limit = (uint64_t)device->attributes[CORE_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
    const uint32_t *req = function->entry->reqntid;
    uint64_t threads = req[0] ? (uint64_t)req[0] * HD_MAX(req[1], 1u) * HD_MAX(req[2], 1u)
                              : function->entry->max_threads;

    return (uint32_t)(threads ? HD_MIN(threads, limit) : limit);
}

static void function_describe_locked(struct core_function *function,
                                     const struct core_function_info *info)
{
    uint32_t want = CORE_DYNAMIC_DEFAULT, fits = 0;

    assert(hd_lock_held(&function->module->lock));
    if (core_function_is_described(function))
        return;
    function->info = *info;
    if (info->shared_B < STATIC_SMEM_MAX_B)
        fits = (uint32_t)(STATIC_SMEM_MAX_B - info->shared_B);
    atomic_compare_exchange_strong(&function->max_dynamic_B, &want, fits);
    atomic_store_explicit(&function->is_described, true, memory_order_release);
}

/* `kernel` is written last: whoever sees it sees the rest. `code`: NULL of a native kernel. */
static enum hd_status function_load_locked(struct core_function *function,
                                           const struct ir_module *code,
                                           struct core_function_info info)
{
    struct core_module *module = function->module;
    const struct hal_device_ops *ops = module->ctx->device->hal->ops;
    const struct core_entry *entry = function->entry;
    struct hal_kernel_info native;
    struct hal_kernel *kernel;

    assert(hd_lock_held(&module->lock));
    if (code) {
        HD_TRY(ops->kernel_get(module->hal, entry->index, code, &kernel));
    } else {
        HD_TRY(ops->native_get(module->hal, entry->index, entry->native, &kernel));
        HD_TRY(ops->kernel_info(kernel, &native));
        info = (struct core_function_info){.shared_B = native.shared_B,
                                           .local_B = native.local_B,
                                           .regs = native.regs,
                                           .max_threads = native.max_threads};
    }
    function->native = code ? NULL : entry->native;
    function->calls = code ? ir_module_runtime_calls(code) : 0;
    function_describe_locked(function, &info);
    atomic_store_explicit(&function->kernel, kernel, memory_order_release);
    return HD_OK;
}

static enum hd_status function_load_as(struct core_function *function, const struct ir_module *code,
                                       const struct core_function_info *info)
{
    struct core_module *module = function->module;
    enum hd_status status = HD_OK;

    hd_lock_acquire(&module->lock);
    if (!core_function_is_loaded(function))
        status = function_load_locked(function, code, *info);
    hd_lock_release(&module->lock);
    return status;
}

static enum hd_status refuse_native(const struct core_function *f)
{
    return hd_error(HD_NOT_SUPPORTED,
                    "kernel %s is a function of the host with no PTX in its place: the device "
                    "\"%s\" cannot run it",
                    f->entry->name, f->module->ctx->device->hal->info.name);
}

static enum hd_status sizes_get(const struct core_function *function,
                                struct core_function_info *out_info, bool *out_doubtful)
{
    struct ir_kernel_sizes sizes;

    HD_TRY(core_image_sizes(function->module->image, function->entry, &sizes));
    *out_info = (struct core_function_info){.shared_B = sizes.shared_B,
                                            .local_B = sizes.local_B,
                                            .regs = hal_regs_estimate(function->entry->max_regs),
                                            .max_threads = core_function_threads(function)};
    *out_doubtful = sizes.is_doubtful;
    return HD_OK;
}

enum hd_status core_function_load(struct core_function *function)
{
    const struct core_entry *entry = function->entry;
    struct core_function_info info = {0};
    const struct ir_module *code;
    enum hd_status status;

    if (HD_LIKELY(core_function_is_loaded(function)))
        return HD_OK;
    if (entry->native) {
        bool can = function->module->ctx->device->hal->ops->native_get;

        status = can ? function_load_as(function, NULL, &info) : HD_NOT_SUPPORTED;
        if (status != HD_NOT_SUPPORTED)
            return status;
        if (entry->is_only_native)
            return refuse_native(function);
    }
    HD_TRY(core_image_code(function->module->image, entry, function->module->ctx->device, &code));
    if (!core_function_is_described(function))
        HD_TRY(sizes_get(function, &info, &(bool){false}));
    return function_load_as(function, code, &info);
}

enum hd_status core_function_describe(struct core_function *function)
{
    const struct core_device *device = function->module->ctx->device;
    const struct core_entry *entry = function->entry;
    struct core_function_info info;
    bool is_doubtful;

    if (HD_LIKELY(core_function_is_loaded(function)))
        return HD_OK;
    if (entry->is_only_native || (entry->native && device->hal->ops->native_get))
        return core_function_load(function);
    HD_TRY(core_image_code_error(function->module->image, entry, device));
    if (core_function_is_described(function))
        return HD_OK;
    HD_TRY(sizes_get(function, &info, &is_doubtful));
    if (is_doubtful)
        return core_function_load(function);
    hd_lock_acquire(&function->module->lock);
    function_describe_locked(function, &info);
    hd_lock_release(&function->module->lock);
    return HD_OK;
}

static enum hd_status form_load_locked(struct core_module *module, const struct core_image *image,
                                       enum core_form form)
{
    struct hal_device *hal = module->ctx->device->hal;
    const struct ir_module *decls = core_image_decls(image);
    uint8_t key[16];
    struct hal_program program = {.name = decls->name,
                                  .key = key,
                                  .nfuncs = decls->nfuncs,
                                  .nvars = decls->nvars,
                                  .var_va = module->var_va};

    assert(hd_lock_held(&module->lock));
    if (module->forms[form])
        return HD_OK;
    core_image_code_key(image, module->ctx->device, key);
    HD_TRY(hal->ops->module_load(hal, &program, &module->forms[form]));
    module->forms[form]->owner = module;
    return HD_OK;
}

enum hd_status core_function_form(struct core_function *f, enum core_form form,
                                  struct hal_kernel **out_kernel, const struct ir_module **out_code)
{
    struct core_module *module = f->module;
    struct core_image *image;
    enum hd_status status;

    HD_TRY(core_image_form(module->image, form, &image));
    HD_TRY(core_image_code(image, core_image_entry(image, f->entry->position), module->ctx->device,
                           out_code));
    hd_lock_acquire(&module->lock);
    status = form_load_locked(module, image, form);
    if (status == HD_OK)
        status = module->ctx->device->hal->ops->kernel_get(module->forms[form], f->entry->index,
                                                           *out_code, out_kernel);
    hd_lock_release(&module->lock);
    return status;
}

bool core_module_var_is_managed(const struct core_module *module, const struct ir_var *var)
{
    return var->managed || var_placed(module, var);
}

enum hd_status core_module_var(struct core_module *module, const char *name,
                               struct core_var *out_var)
{
    const struct ir_var *var = ir_module_find_var(core_image_decls(module->image), name);

    if (!var || !var_has_memory(var))
        return hd_error(HD_NOT_FOUND, "there is no variable %s in the module", name);
    *out_var = (struct core_var){var_address(module, var), var->size_B,
                                 core_module_var_is_managed(module, var)};
    return HD_OK;
}
