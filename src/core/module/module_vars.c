/* Variables of a module: in memory of its own, of its library or the program; their values. */
#include <assert.h>

#include "base/mem.h"
#include "core/mem/memory.h"
#include "core/module/image.h"
#include "core/module/library.h"
#include "core/module/module.h"
#include "core/module/module_parts.h"
#include "hal/hal.h"
#include "heddle/tap.h"
#include "ir/ir.h"

#define VARS_MAX_B ((uint64_t)1 << 46) /* no sum of these overflows */

static bool var_has_memory(const struct ir_var *var)
{
    return var->space == IR_SPACE_GLOBAL || var->space == IR_SPACE_CONST;
}

static uint64_t var_address(const struct core_module *module, const struct ir_var *var)
{
    return var_has_memory(var) ? module->var_va[var->index] : var->window_offset;
}

/* Where the program has the variable, or NULL. */
static struct core_placed *library_placed(struct core_library *library, const char *name)
{
    for (size_t i = 0; library && i < library->placed.len; i++)
        if (strcmp(library->placed.at[i].name, name) == 0)
            return &library->placed.at[i];
    return NULL;
}

static struct core_placed *var_placed(const struct core_module *module, const struct ir_var *var)
{
    return var_has_memory(var) ? library_placed(module->library, var->name) : NULL;
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

static void var_initialise(struct core_module *module, const struct ir_var *var)
{
    char *at = (char *)(uintptr_t)module->var_va[var->index];

    if (var->init && !var->reference)
        memcpy(at, var->init, HD_MIN(var->init_B, var->size_B));
    for (const struct ir_reloc *r = var->relocs; r; r = r->next)
        if (r->offset_B + r->size_B <= var->size_B) {
            uint64_t value = r->func ? HAL_FUNC_HANDLE(r->func->index)
                                     : var_address(module, r->var) + (uint64_t)r->addend;

            if (r->size_B == 1)
                value = value >> r->shift & 0xff;
            memcpy(at + r->offset_B, &value, HD_MIN(r->size_B, 8u));
        }
}

static void vars_initialise(struct core_module *module, bool managed)
{
    for (const struct ir_var *v = core_image_decls(module->image)->vars; v; v = v->next)
        if (var_is_of(module, v, managed))
            var_initialise(module, v);
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
        /*
         * The program's own memory is managed memory of a context that uses it, of one at a time.
         */
        struct core_block block;
        if (!core_memory_find(placed->va, &block))
            HD_TRY(
                core_memory_register(module->ctx, placed->va, placed->size_B, CORE_MEM_MANAGED, 0));
        module->var_va[v->index] = placed->va;
        if (!placed->has_value)
            var_initialise(module, v);
        placed->has_value = true;
    }
    return HD_OK;
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

enum hd_status core_module_vars_create(struct core_module *module)
{
    module->var_va =
        hd_alloc_array(core_image_decls(module->image)->nvars + 1u, sizeof(*module->var_va));
    if (!module->var_va)
        return hd_error(HD_NO_MEMORY, "module variables");
    HD_TRY(vars_own(module, false));
    HD_TRY(module->library ? vars_share(module) : vars_own(module, true));
    /* Variables that are where the program has them (core_library_place()). */
    if (module->library && module->library->placed.len) {
        enum hd_status status;
        hd_lock_acquire(&module->library->lock);
        status = vars_put_locked(module);
        hd_lock_release(&module->library->lock);
        HD_TRY(status);
    }
    vars_initialise(module, false);
    if (!module->library)
        vars_initialise(module, true);
    return HD_OK;
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

void core_module_vars_leave(struct core_module *module)
{
    if (!module->library)
        return;
    hd_lock_acquire(&module->library->lock);
    vars_leave_locked(module);
    hd_lock_release(&module->library->lock);
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
