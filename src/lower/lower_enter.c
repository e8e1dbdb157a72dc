/* Symbols enter the module that a job makes, when they are first named: see lower_program.c. */
#include "lower/lower_priv.h"

#include <assert.h>
#include <string.h>

struct ir_var *lower_enter_var(struct lower_job *job, const struct ir_var *decl)
{
    struct ir_var *var = hd_map_get_u64(&job->vars, (uintptr_t)decl);
    if (var)
        return var;
    var = ir_var_create(job->module, NULL, decl->name, decl->space);
    ir_var_set_index(var, decl->index);
    var->linkage = decl->linkage;
    var->size_B = decl->size_B;
    var->align_B = decl->align_B;
    var->managed = decl->managed;
    var->reference = decl->reference;
    var->is_dynamic_shared = decl->is_dynamic_shared;
    job->module->arena.failed |= !hd_map_put_u64(&job->vars, (uintptr_t)decl, var);
    return var;
}

struct ir_var *lower_find_var(struct lower_fn *f, const struct ptx_var *v)
{
    struct ir_var *own = hd_map_get_u64(&f->job->vars, (uintptr_t)v);
    const struct ir_var *decl = hd_map_get_u64(&f->job->program->vars, (uintptr_t)v);
    if (own) /* of the function itself */
        return own;
    return decl && lower_var_defined(decl) ? lower_enter_var(f->job, decl) : NULL;
}

/* Known by name and number: enough for its address. */
struct ir_func *lower_enter_func(struct lower_job *job, const struct ir_func *decl)
{
    struct ir_func *func = hd_map_get_u64(&job->funcs, (uintptr_t)decl);
    if (func)
        return func;
    assert(decl->module == job->program->decls);
    func = ir_func_create(job->module, decl->name);
    ir_func_set_index(func, decl->index);
    func->is_kernel = decl->is_kernel;
    func->noreturn = decl->noreturn;
    func->unit = decl->unit;
    func->linkage = decl->linkage;
    func->address_taken = decl->address_taken;
    memcpy(func->maxntid, decl->maxntid, sizeof(func->maxntid));
    memcpy(func->reqntid, decl->reqntid, sizeof(func->reqntid));
    func->minnctapersm = decl->minnctapersm;
    func->maxnreg = decl->maxnreg;
    memcpy(func->reqnctapercluster, decl->reqnctapercluster, sizeof(func->reqnctapercluster));
    func->maxclusterrank = decl->maxclusterrank;
    func->explicitcluster = decl->explicitcluster;
    func->blocksareclusters = decl->blocksareclusters;
    func->is_declaration = true; /* until its body is made */
    assert(func->index == decl->index && decl->module == job->program->decls);
    if (decl->is_kernel) {
        struct hd_arena *a = &func->module->arena;
        func->params = hd_arena_array(a, struct ir_param, decl->nparams + 1u);
        for (uint32_t i = 0; func->params && i < decl->nparams; i++) {
            func->params[i] = decl->params[i];
            func->params[i].name =
                hd_arena_strndup(a, decl->params[i].name, strlen(decl->params[i].name));
            func->nparams++;
        }
        func->param_size_B = decl->param_size_B;
    } else
        ir_func_set_proto(func, decl->proto.nparams, decl->proto.params, decl->proto.nresults,
                          decl->proto.results);
    job->module->arena.failed |= !hd_map_put_u64(&job->funcs, (uintptr_t)decl, func);
    return func;
}

/* Its body will be made. */
struct ir_func *lower_want_func(struct lower_job *job, const struct ir_func *decl)
{
    struct ir_func *func = lower_enter_func(job, decl);
    assert(lower_program_has_body(job->program, decl->index));
    if (hd_map_get_u64(&job->wanted, (uintptr_t)func))
        return func;
    job->module->arena.failed |=
        !hd_map_put_u64(&job->wanted, (uintptr_t)func, func) || !hd_vec_push(&job->waiting, func);
    return func;
}

struct ir_func *lower_find_func(struct lower_fn *f, const struct ptx_func *func, bool is_called)
{
    const struct ir_func *decl = lower_func_decl(f->job->program, func);
    if (!decl || !lower_program_has_body(f->job->program, decl->index))
        return NULL;
    return is_called ? lower_want_func(f->job, decl) : lower_enter_func(f->job, decl);
}
