/* requires: nothing. keeps: cfg, dominance. breaks: nothing. */
#include "opt/passes.h"

struct reach {
    struct hd_map seen; /* functions */
    HD_VEC(struct ir_func *) work;
    bool failed;
};

static void reach_func(struct reach *r, struct ir_func *func)
{
    void *found;

    if (!func || hd_map_find_u64(&r->seen, (uintptr_t)func, &found))
        return;
    r->failed |= !hd_map_put_u64(&r->seen, (uintptr_t)func, func) || !hd_vec_push(&r->work, func);
}

static void reach_all(struct reach *r, struct ir_module *module)
{
    ir_foreach_func(func, module)
        if (func->is_kernel || func->address_taken)
            reach_func(r, func);
    for (const struct ir_var *var = module->vars; var; var = var->next)
        for (const struct ir_reloc *reloc = var->relocs; reloc; reloc = reloc->next)
            reach_func(r, reloc->func);
    while (r->work.len && !r->failed) {
        struct ir_func *func = hd_vec_pop(&r->work);
        for (uint32_t b = 0; b < func->nblocks; b++)
            ir_foreach_instr(instr, func->blocks[b])
                reach_func(r, instr->callee);
    }
}

/* A module without kernels is a library that somebody still links or tests: it stays whole. */
static bool has_kernel(const struct ir_module *module)
{
    ir_foreach_func(func, module)
        if (func->is_kernel)
            return true;
    return false;
}

bool ir_opt_dead_funcs(struct ir_module *module)
{
    struct reach r = {0};
    struct ir_func **link = &module->funcs;
    bool changed = false;

    if (!has_kernel(module))
        return false;
    hd_map_init(&r.seen);
    reach_all(&r, module);
    module->arena.failed |= r.failed;
    module->last_func = NULL;
    while (*link) {
        void *found;
        if (r.failed || hd_map_find_u64(&r.seen, (uintptr_t)*link, &found)) {
            module->last_func = *link;
            link = &(*link)->next;
            continue;
        }
        hd_map_remove(&module->symbols, hd_str_from((*link)->name));
        *link = (*link)->next;
        changed = true;
    }
    hd_map_fini(&r.seen);
    hd_vec_fini(&r.work);
    return changed;
}
