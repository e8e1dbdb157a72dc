#include "ir/ir.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

enum hd_status ir_module_create(const char *name, struct ir_module **out_module)
{
    struct ir_module *module = hd_new(struct ir_module);

    if (!module)
        return hd_error(HD_NO_MEMORY, "%s: no memory for an IR module", name);
    hd_arena_init(&module->arena);
    hd_map_init(&module->symbols);
    module->name = hd_arena_strndup(&module->arena, name, strlen(name));
    module->frame_align_B = IR_WINDOW_ALIGN_B;
    *out_module = module;
    return HD_OK;
}

void ir_module_destroy(struct ir_module *module)
{
    if (!module)
        return;
    hd_map_fini(&module->symbols);
    hd_vec_fini(&module->files);
    hd_vec_fini(&module->inlines);
    hd_vec_fini(&module->counted);
    hd_vec_fini(&module->count_items);
    hd_vec_fini(&module->count_groups);
    hd_arena_fini(&module->arena);
    hd_free(module);
}

static struct ir_symbol *module_symbol(const struct ir_module *module, const char *name)
{
    return hd_map_get(&module->symbols, hd_str_from(name));
}

struct ir_func *ir_module_find_func(const struct ir_module *module, const char *name)
{
    struct ir_symbol *symbol = module_symbol(module, name);
    return symbol ? symbol->func : NULL;
}

struct ir_var *ir_module_find_var(const struct ir_module *module, const char *name)
{
    struct ir_symbol *symbol = module_symbol(module, name);
    return symbol ? symbol->var : NULL;
}

struct ir_func *ir_module_func_at(const struct ir_module *module, uint32_t index)
{
    ir_foreach_func(func, module)
        if (func->index == index)
            return func;
    return NULL;
}

void ir_func_set_index(struct ir_func *func, uint32_t index)
{
    assert(func->index < func->module->nfuncs);
    if (func->index + 1 == func->module->nfuncs) /* the number it got by itself is free again */
        func->module->nfuncs--;
    func->index = index;
    func->module->nfuncs = HD_MAX(func->module->nfuncs, index + 1);
}

void ir_var_set_index(struct ir_var *var, uint32_t index)
{
    assert(!var->func); /* variables of functions have no number */
    if (var->index + 1 == var->module->nvars)
        var->module->nvars--;
    var->index = index;
    var->module->nvars = HD_MAX(var->module->nvars, index + 1);
}

static void module_add_symbol(struct ir_module *module, const char *name, struct ir_func *func,
                              struct ir_var *var)
{
    struct ir_symbol *symbol = hd_arena_new(&module->arena, struct ir_symbol);

    assert(module->arena.failed || !module_symbol(module, name));
    symbol->func = func;
    symbol->var = var;
    if (!hd_map_put(&module->symbols, hd_str_from(name), symbol))
        module->arena.failed = true;
}

struct ir_func *ir_func_create(struct ir_module *module, const char *name)
{
    struct ir_func *func = hd_arena_new(&module->arena, struct ir_func);

    func->module = module;
    func->name = hd_arena_strndup(&module->arena, name, strlen(name));
    func->index = module->nfuncs++;
    assert(!module->last_func == !module->funcs);
    if (module->last_func)
        module->last_func->next = func;
    else
        module->funcs = func;
    module->last_func = func;
    module_add_symbol(module, func->name, func, NULL);
    return func;
}

const char *const ir_reference_names[] = {"none", "texture", "sampler", "surface"};

struct ir_var *ir_var_create(struct ir_module *module, struct ir_func *owner, const char *name,
                             enum ir_space space)
{
    struct ir_var *var = hd_arena_new(&module->arena, struct ir_var);
    struct ir_var **first = owner ? &owner->vars : &module->vars;
    struct ir_var **last = owner ? &owner->last_var : &module->last_var;

    assert(!owner || owner->module == module);
    var->module = module;
    var->func = owner;
    var->name = hd_arena_strndup(&module->arena, name, strlen(name));
    var->space = space;
    var->align_B = 1;
    assert(!*last == !*first);
    if (*last)
        (*last)->next = var;
    else
        *first = var;
    *last = var;
    if (!owner) {
        var->index = module->nvars++;
        module_add_symbol(module, var->name, NULL, var);
    }
    return var;
}

static const enum ir_type *types_copy(struct ir_module *module, uint32_t n,
                                      const enum ir_type *types)
{
    enum ir_type *copy;

    if (!n || !(copy = hd_arena_array(&module->arena, enum ir_type, n)))
        return NULL;
    memcpy(copy, types, n * sizeof(*types));
    return copy;
}

void ir_func_set_proto(struct ir_func *func, uint32_t nparams, const enum ir_type *params,
                       uint32_t nresults, const enum ir_type *results)
{
    struct ir_module *module = func->module;

    assert(!func->nblocks); /* a declaration may get that of its definition */
    func->proto.params = types_copy(module, nparams, params);
    func->proto.nparams = func->proto.params ? nparams : 0;
    func->proto.results = types_copy(module, nresults, results);
    func->proto.nresults = func->proto.results ? nresults : 0;
    if (!func->proto.nparams)
        return;
    func->args = hd_arena_array(&module->arena, struct ir_value *, nparams);
    for (uint32_t i = 0; func->args && i < nparams; i++) {
        struct ir_value *arg = hd_arena_new(&module->arena, struct ir_value);
        arg->id = func->nvalues++;
        arg->type = params[i];
        arg->index = i;
        func->args[i] = arg;
    }
    if (!func->args)
        func->proto.nparams = 0;
}

uint32_t ir_module_file(struct ir_module *module, const char *path)
{
    for (size_t i = 0; i < module->files.len; i++)
        if (!strcmp(module->files.at[i], path))
            return (uint32_t)i + 1;
    path = hd_arena_strndup(&module->arena, path, strlen(path));
    if (!hd_vec_push(&module->files, path)) {
        module->arena.failed = true;
        return 0;
    }
    return (uint32_t)module->files.len;
}

static bool srcloc_same(const struct ir_srcloc *a, const struct ir_srcloc *b)
{
#define SRCLOC(type, name) &&a->name == b->name
    return true
#include "ir_fields.def"
        ;
}

uint32_t ir_module_inline(struct ir_module *module, const char *func, const struct ir_srcloc *at)
{
    struct ir_inline entry = {.func = func, .at = *at};
    size_t n = module->inlines.len;

    assert(at->inlined <= n);
    /* The same call as a rule goes on for many lines. */
    for (size_t i = n; i-- > 0 && i + 16 > n;)
        if (srcloc_same(&module->inlines.at[i].at, at) && !strcmp(module->inlines.at[i].func, func))
            return (uint32_t)i + 1;
    entry.func = hd_arena_strndup(&module->arena, func, strlen(func));
    if (!hd_vec_push(&module->inlines, entry)) {
        module->arena.failed = true;
        return 0;
    }
    return (uint32_t)module->inlines.len;
}
