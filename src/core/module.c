/* A module in a context: memory of its variables, their initial values, its functions. */
#include "base/mem.h"
#include "core/core.h"

#define STATIC_SMEM_MAX_B (48u << 10)
#define VARS_MAX_B        ((uint64_t)1 << 46) /* no sum of these overflows */

/* ---- variables */

static bool var_has_memory(const struct ir_var *var)
{
    return var->space == IR_SPACE_GLOBAL || var->space == IR_SPACE_CONST;
}

static uint32_t func_position(const struct ir_module *ir, const struct ir_func *func)
{
    uint32_t position = 0;

    for (const struct ir_func *f = ir->funcs; f && f != func; f = f->next)
        position++;
    return position;
}

static uint64_t var_address(const struct core_module *module, const struct ir_var *var)
{
    size_t i = 0;

    for (const struct ir_var *v = module->image->ir->vars; v; v = v->next, i++)
        if (v == var)
            return var_has_memory(var) ? module->var_va[i] : var->window_offset;
    return 0;
}

/* Memory of all variables of one kind in one block, each aligned as it asks. */
static enum hd_status vars_place(struct core_module *module, bool managed)
{
    uint64_t size_B = 0, va = 0, align_max = 256;
    size_t i = 0;

    for (const struct ir_var *v = module->image->ir->vars; v; v = v->next) {
        if (!var_has_memory(v) || v->managed != managed)
            continue;
        if (v->size_B > VARS_MAX_B || size_B > VARS_MAX_B)
            return hd_error(HD_NO_DEVICE_MEMORY, "variables of more than 2^46 bytes");
        size_B = hd_align_up(size_B, HD_MAX(v->align_B, 256u)) + v->size_B;
        align_max = HD_MAX(align_max, v->align_B);
        if (v->space == IR_SPACE_CONST)
            module->const_B += v->size_B;
    }
    if (!size_B)
        return HD_OK;
    HD_TRY(core_memory_alloc(module->ctx, size_B + align_max,
                             managed ? CORE_MEM_MANAGED : CORE_MEM_DEVICE, 0, &va));
    if (!hd_vec_push(&module->blocks, va)) {
        (void)!core_memory_free(va, CORE_MEM_DEVICE | CORE_MEM_MANAGED);
        return hd_error(HD_NO_MEMORY, "module variables");
    }
    memset((void *)(uintptr_t)va, 0, size_B + align_max);
    va = hd_align_up(va, align_max);
    for (const struct ir_var *v = module->image->ir->vars; v; v = v->next, i++) {
        if (!var_has_memory(v) || v->managed != managed)
            continue;
        va = hd_align_up(va, HD_MAX(v->align_B, 256u));
        module->var_va[i] = va;
        va += v->size_B;
    }
    return HD_OK;
}

static void reloc_apply(const struct core_module *module, char *at, const struct ir_reloc *reloc)
{
    uint64_t value = reloc->func ? HAL_FUNC_HANDLE(func_position(module->image->ir, reloc->func))
                                 : var_address(module, reloc->var) + (uint64_t)reloc->addend;

    if (reloc->size_B == 1)
        value = value >> reloc->shift & 0xff;
    memcpy(at + reloc->offset_B, &value, HD_MIN(reloc->size_B, 8u));
}

static void vars_initialise(struct core_module *module)
{
    size_t i = 0;

    for (const struct ir_var *v = module->image->ir->vars; v; v = v->next, i++) {
        char *at = (char *)(uintptr_t)module->var_va[i];

        if (!var_has_memory(v))
            continue;
        if (v->init)
            memcpy(at, v->init, HD_MIN(v->init_B, v->size_B));
        for (const struct ir_reloc *r = v->relocs; r; r = r->next)
            if (r->offset_B + r->size_B <= v->size_B)
                reloc_apply(module, at, r);
    }
}

static enum hd_status module_load(struct core_module *module)
{
    struct hal_device *hal = module->ctx->device->hal;
    size_t count = 0;

    for (const struct ir_var *v = module->image->ir->vars; v; v = v->next)
        count++;
    module->var_va = hd_alloc_array(count + 1, sizeof(*module->var_va));
    if (!module->var_va)
        return hd_error(HD_NO_MEMORY, "module variables");
    HD_TRY(vars_place(module, false));
    HD_TRY(vars_place(module, true));
    vars_initialise(module);
    return hal->ops->module_load(hal, module->image->ir, module->image->key, module->var_va, count,
                                 &module->hal);
}

/* ---- life */

static void module_free(struct core_module *module)
{
    while (module->functions) {
        struct core_function *function = module->functions;
        module->functions = function->next;
        core_handle_free(function);
    }
    if (module->hal)
        module->ctx->device->hal->ops->module_unload(module->hal);
    for (size_t i = 0; i < module->blocks.len; i++)
        (void)!core_memory_free(module->blocks.at[i], CORE_MEM_DEVICE | CORE_MEM_MANAGED);
    hd_vec_fini(&module->blocks);
    hd_free(module->var_va);
    core_image_unref(module->image);
    hd_lock_fini(&module->lock);
    core_handle_free(module);
}

enum hd_status core_module_create(struct core_context *ctx, struct core_image *image,
                                  struct core_module **out_module)
{
    struct core_module *module = core_handle_alloc(CORE_MODULE);
    enum hd_status status;

    if (!module)
        return hd_error(HD_NO_MEMORY, "module");
    atomic_fetch_add(&image->refs, 1);
    module->ctx = ctx;
    module->image = image;
    hd_lock_init(&module->lock, HD_RANK_MODULE, "module");
    status = module_load(module);
    if (status != HD_OK) {
        module_free(module);
        return status;
    }
    hd_lock_acquire(&ctx->lock);
    module->next = ctx->modules;
    module->link = &ctx->modules;
    if (module->next)
        module->next->link = &module->next;
    ctx->modules = module;
    hd_lock_release(&ctx->lock);
    *out_module = module;
    return HD_OK;
}

void core_module_destroy(struct core_module *module)
{
    struct core_context *ctx = module->ctx;

    if (module->library)
        core_library_forget(module->library, module);
    (void)!core_context_synchronize(ctx);
    hd_lock_acquire(&ctx->lock);
    *module->link = module->next;
    if (module->next)
        module->next->link = module->link;
    hd_lock_release(&ctx->lock);
    module_free(module);
}

/* ---- symbols */

/* The caller holds module->lock. */
static enum hd_status function_create_locked(struct core_module *module, const struct ir_func *func,
                                             struct core_function **out_function)
{
    const struct hal_device_ops *ops = module->ctx->device->hal->ops;
    struct core_function *function = core_handle_alloc(CORE_FUNCTION);
    enum hd_status status;

    if (!function)
        return hd_error(HD_NO_MEMORY, "function");
    function->module = module;
    function->func = func;
    function->carveout = -1;
    status = ops->kernel_get(module->hal, func, &function->kernel);
    if (status == HD_OK)
        status = ops->kernel_info(function->kernel, &function->info);
    if (status != HD_OK) {
        core_handle_free(function);
        return status;
    }
    if (function->info.shared_B < STATIC_SMEM_MAX_B)
        function->max_dynamic_B = (uint32_t)(STATIC_SMEM_MAX_B - function->info.shared_B);
    function->next = module->functions;
    module->functions = function;
    *out_function = function;
    return HD_OK;
}

enum hd_status core_module_function(struct core_module *module, const char *name,
                                    struct core_function **out_function)
{
    const struct ir_func *func = ir_module_find_func(module->image->ir, name);
    enum hd_status status = HD_OK;
    struct core_function *function;

    if (!func || !func->is_kernel || func->is_declaration)
        return hd_error(HD_NOT_FOUND, "there is no kernel %s in the module", name);
    hd_lock_acquire(&module->lock);
    for (function = module->functions; function && function->func != func;
         function = function->next)
        ;
    if (!function)
        status = function_create_locked(module, func, &function);
    hd_lock_release(&module->lock);
    if (status == HD_OK)
        *out_function = function;
    return status;
}

enum hd_status core_module_var(struct core_module *module, const char *name,
                               struct core_var *out_var)
{
    const struct ir_var *var = ir_module_find_var(module->image->ir, name);

    if (!var || !var_has_memory(var))
        return hd_error(HD_NOT_FOUND, "there is no variable %s in the module", name);
    *out_var = (struct core_var){var_address(module, var), var->size_B, var->managed};
    return HD_OK;
}
