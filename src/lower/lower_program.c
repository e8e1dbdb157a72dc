/*
 * Bodies on demand: a job makes one module, for a kernel and what it reaches or for a whole
 * program. Functions and variables enter it when they are first named; every function that enters
 * is waiting to be lowered until the job is done.
 */
#include "lower/lower_priv.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

static enum hd_status job_init(struct lower_job *job, struct lower_program *program)
{
    *job = (struct lower_job){.program = program};
    hd_map_init(&job->vars);
    hd_map_init(&job->funcs);
    hd_map_init(&job->wanted);
    HD_TRY(ir_module_create(program->decls->name, &job->module));
    job->module->sm = program->decls->sm;
    job->module->debug = program->decls->debug;
    job->module->has_notes = program->notes;
    job->module->has_counts = program->counts;
    return HD_OK;
}

/* Hands the module over when all went well. */
static enum hd_status job_fini(struct lower_job *job, enum hd_status status,
                               struct ir_module **out_module)
{
    hd_map_fini(&job->vars);
    hd_map_fini(&job->funcs);
    hd_map_fini(&job->wanted);
    hd_vec_fini(&job->waiting);
    hd_vec_fini(&job->indirect);
    if (status == HD_OK)
        status = hd_arena_status(&job->module->arena);
    if (status == HD_OK)
        *out_module = job->module;
    else
        ir_module_destroy(job->module);
    return status;
}

/* ---- bodies */

static enum hd_status own_var(struct lower_job *job, const struct ptx_module *unit,
                              const struct ptx_var *v, struct ir_func *owner)
{
    enum ir_space space = lower_space((enum ptx_space)v->space);
    if ((v->def && v->def != v) || v->space == PTX_SPACE_REG ||
        hd_map_get_u64(&job->program->vars, (uintptr_t)v))
        return HD_OK;
    assert(!hd_map_get_u64(&job->vars, (uintptr_t)v)); /* each once */
    if (space == IR_SPACE_PARAM)
        space = IR_SPACE_LOCAL;
    if (space != IR_SPACE_LOCAL && space != IR_SPACE_SHARED)
        return HD_OK; /* whoever names it fails */
    if (space == IR_SPACE_SHARED && v->size_B > LOWER_SHARED_MAX_B)
        return hd_error(HD_BAD_PTX,
                        "%.*s:%u:%u: %.*s: %llu bytes of shared memory, a kernel has %u",
                        HD_STR_ARG(unit->name), v->sym.srcloc.line, v->sym.srcloc.col,
                        HD_STR_ARG(v->sym.name), (unsigned long long)v->size_B, LOWER_SHARED_MAX_B);
    const char *name = hd_arena_strndup(&job->module->arena, v->sym.name.ptr, v->sym.name.len);
    struct ir_var *var = ir_var_create(job->module, owner, name, space);
    var->linkage = IR_LINK_LOCAL;
    lower_var_fill(var, v);
    if (!hd_map_put_u64(&job->vars, (uintptr_t)v, var))
        return hd_error(HD_NO_MEMORY, "lowering %s", name);
    return HD_OK;
}

static enum hd_status own_vars(struct lower_job *job, const struct ptx_module *unit,
                               const struct ptx_var *list, struct ir_func *owner)
{
    for (const struct ptx_var *v = list; v; v = v->next)
        HD_TRY(own_var(job, unit, v, owner));
    return HD_OK;
}

static enum hd_status body_lower(struct lower_job *job, struct ir_func *func)
{
    const struct lower_body *body = &job->program->bodies.at[func->index];
    struct ir_proto proto;
    assert(func->is_declaration && body->ptx);
    HD_TRY(ptx_func_read(body->ptx));
    func->is_declaration = false;
    if (!func->is_kernel) { /* a signature that is not supported was left out when linking */
        HD_TRY(lower_proto(body->ptx->params, body->ptx->rets, &job->module->arena, &proto));
        HD_TRY(own_vars(job, body->module, body->ptx->params, func));
    }
    HD_TRY(own_vars(job, body->module, body->ptx->rets, func));
    HD_TRY(own_vars(job, body->module, body->ptx->vars, func));
    return lower_function(job, body, func);
}

/* A survey goes on with the next function. */
static enum hd_status body_settle(struct lower_job *job, const struct ir_func *func,
                                  enum hd_status status)
{
    struct lower_refusal refusal = {.func = job->program->bodies.at[func->index].ptx,
                                    .status = status,
                                    .why = hd_error_message()};

    if (status == HD_OK || status == HD_NO_MEMORY || !job->refused)
        return status;
    if (!job->reported)
        job->refused(job->user, &refusal);
    return HD_OK;
}

static enum hd_status waiting_lower(struct lower_job *job)
{
    while (job->next < job->waiting.len && !job->module->arena.failed) {
        struct ir_func *func = job->waiting.at[job->next++];
        job->reported = false;
        HD_TRY(body_settle(job, func, body_lower(job, func)));
    }
    return hd_arena_status(&job->module->arena);
}

/* ---- calls through pointers */

static void take_operand(struct lower_program *p, const struct ptx_operand *op)
{
    if (op->kind == PTX_OPND_SYM && op->u.sym->kind == PTX_SYM_FUNC) {
        struct ir_func *decl = lower_func_decl(p, (const struct ptx_func *)op->u.sym);
        if (decl)
            decl->address_taken = true;
    }
    for (uint32_t i = 0; i < op->nitems; i++)
        take_operand(p, &op->items[i]);
}

/* The target of a call is named, not taken. */
static void take_insn(struct lower_program *p, const struct ptx_insn *insn)
{
    for (uint32_t i = 0; i < insn->nops; i++) {
        if (insn->form->op != PTX_OP_CALL || i != 1)
            take_operand(p, &insn->ops[i]);
    }
}

enum hd_status lower_find_taken(struct lower_program *p)
{
    for (size_t i = 0; i < p->bodies.len; i++)
        if (p->bodies.at[i].ptx)
            HD_TRY(ptx_func_read(p->bodies.at[i].ptx));
    hd_lock_acquire(&p->lock);
    for (size_t i = 0; i < p->bodies.len && !p->taken_known; i++) {
        const struct ptx_func *func = p->bodies.at[i].ptx;
        for (const struct ptx_stmt *s = func ? func->body : NULL; s; s = s->next) {
            if (s->kind == PTX_STMT_INSN)
                take_insn(p, (const struct ptx_insn *)s);
        }
    }
    assert(hd_lock_held(&p->lock));
    p->taken_known = true;
    hd_lock_release(&p->lock);
    return HD_OK;
}

static bool called_like(const struct lower_job *job, const struct ir_proto *proto)
{
    for (size_t i = 0; i < job->indirect.len; i++) {
        if (ir_proto_equals(job->indirect.at[i], proto))
            return true;
    }
    return false;
}

/* A function that enters may bring signatures that nobody called before. */
static enum hd_status reached_lower(struct lower_job *job)
{
    size_t known = 0;
    HD_TRY(waiting_lower(job));
    while (job->indirect.len > known) {
        known = job->indirect.len;
        /* Whatever may be behind the pointers: functions of a signature that is called. */
        HD_TRY(lower_find_taken(job->program));
        ir_foreach_func(decl, job->program->decls) {
            if (!decl->address_taken || decl->is_kernel ||
                !lower_program_has_body(job->program, decl->index) ||
                !called_like(job, &decl->proto))
                continue;
            lower_want_func(job, decl)->address_taken = true;
        }
        HD_TRY(waiting_lower(job));
    }
    return HD_OK;
}

enum hd_status lower_kernel(struct lower_program *program, uint32_t index,
                            struct ir_module **out_module)
{
    struct lower_job job;
    if (!lower_program_is_kernel(program, index))
        return hd_error(HD_NOT_FOUND, "function %u of %s is not a kernel with a body", index,
                        program->decls->name);
    enum hd_status status = job_init(&job, program);
    if (status == HD_OK) {
        assert(index < program->bodies.len);
        job.is_kernel = true;
        lower_want_func(&job, program->bodies.at[index].decl);
        status = reached_lower(&job);
    }
    return job_fini(&job, status, out_module);
}

/* ---- all of it */

static void image_copy(struct lower_job *job, struct ir_var *var, const struct ir_var *decl)
{
    if (decl->init)
        var->init = hd_arena_array(&job->module->arena, uint8_t, decl->init_B);
    if (var->init) {
        memcpy(var->init, decl->init, decl->init_B);
        var->init_B = decl->init_B;
    }
    struct ir_reloc **tail = &var->relocs;
    for (const struct ir_reloc *r = decl->relocs; r; r = r->next) {
        struct ir_reloc *copy = hd_arena_new(&job->module->arena, struct ir_reloc);
        *copy = *r;
        copy->next = NULL;
        copy->var = r->var ? lower_enter_var(job, r->var) : NULL;
        copy->func = r->func ? lower_enter_func(job, r->func) : NULL;
        *tail = copy;
        tail = &copy->next;
    }
}

enum hd_status lower_all(struct lower_program *program, struct ir_module **out_module)
{
    struct lower_job job;
    enum hd_status status = job_init(&job, program);
    for (const struct ir_var *v = program->decls->vars; status == HD_OK && v; v = v->next)
        lower_enter_var(&job, v);
    if (status == HD_OK)
        status = lower_find_taken(program);
    if (status == HD_OK) {
        ir_foreach_func(decl, program->decls)
            lower_enter_func(&job, decl);
        ir_foreach_func(decl, program->decls)
            if (lower_program_has_body(program, decl->index))
                lower_want_func(&job, decl);
        for (const struct ir_var *v = program->decls->vars; v; v = v->next)
            image_copy(&job, lower_enter_var(&job, v), v);
        status = waiting_lower(&job);
    }
    return job_fini(&job, status, out_module);
}

enum hd_status lower_survey(struct lower_program *program, lower_refused_fn *refused, void *user)
{
    struct lower_job job;
    struct ir_module *module = NULL;
    enum hd_status status = job_init(&job, program);

    assert(refused);
    job.refused = refused;
    job.user = user;
    if (status == HD_OK) {
        ir_foreach_func(decl, program->decls)
            if (lower_program_has_body(program, decl->index))
                lower_want_func(&job, decl);
        status = waiting_lower(&job);
    }
    status = job_fini(&job, status, &module);
    ir_module_destroy(module);
    return status;
}

enum hd_status lower_ptx(const struct ptx_module *const *modules, size_t count, const char *name,
                         struct ir_module **out_module)
{
    struct lower_program *program = NULL;
    HD_TRY(lower_program_create(modules, count, name, &program));
    enum hd_status status = lower_all(program, out_module);
    lower_program_destroy(program);
    return status;
}
