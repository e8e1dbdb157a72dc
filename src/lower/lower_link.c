/*
 * Linking: several PTX modules become one program. Which definition of a name counts, what numbers
 * functions and variables have, what the variables hold at first. Bodies are not looked at.
 */
#include "lower/lower_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The modules of a program one after the other. */
struct linker {
    struct lower_program *program;
    const struct ptx_module *ptx;
    uint32_t unit; /* its number */
};

static enum ir_linkage link_linkage_of(unsigned ptx)
{
    switch ((enum ptx_linkage)ptx) {
    case PTX_LINK_EXTERN:
        return IR_LINK_EXTERN;
    case PTX_LINK_VISIBLE:
        return IR_LINK_VISIBLE;
    case PTX_LINK_WEAK:
        return IR_LINK_WEAK;
    case PTX_LINK_COMMON:
        return IR_LINK_COMMON;
    case PTX_LINK_NONE:
        break;
    }
    return IR_LINK_LOCAL;
}

/* Internal names of different modules must not clash. */
static const char *link_unique_name(struct linker *l, struct hd_str name, bool internal)
{
    struct ir_module *decls = l->program->decls;
    const char *plain = hd_arena_strndup(&decls->arena, name.ptr, name.len);
    const char *text = plain;
    void *unused;
    for (unsigned n = 1; internal && hd_map_find(&decls->symbols, hd_str_from(text), &unused); n++)
        text = hd_arena_printf(&decls->arena, "%s$%u", plain, n);
    return text;
}

static enum hd_status link_place_error(const struct linker *l, enum hd_status status,
                                       const struct ptx_sym *sym, const char *what)
{
    return hd_error(status, "%.*s:%u:%u: %s %.*s", HD_STR_ARG(l->ptx->name), sym->srcloc.line,
                    sym->srcloc.col, what, HD_STR_ARG(sym->name));
}

static enum ir_reference link_reference_of(unsigned type)
{
    return type == PTX_TYPE_TEXREF       ? IR_REF_TEXTURE
           : type == PTX_TYPE_SAMPLERREF ? IR_REF_SAMPLER
           : type == PTX_TYPE_SURFREF    ? IR_REF_SURFACE
                                         : IR_REF_NONE;
}

void lower_var_fill(struct ir_var *ir, const struct ptx_var *v)
{
    ir->reference = v->is_array ? IR_REF_NONE : link_reference_of(v->type);
    ir->size_B = v->size_B;
    ir->align_B = v->align ? v->align : 1;
    ir->managed = v->managed;
    ir->is_dynamic_shared = ir->space == IR_SPACE_SHARED && !v->size_B;
}

static bool link_is_weak(unsigned linkage)
{
    return linkage == IR_LINK_WEAK || linkage == IR_LINK_COMMON;
}

/* The variable holds at first what this one says. */
static enum hd_status link_var_defines(struct linker *l, struct ir_var *ir, const struct ptx_var *v)
{
    if (hd_map_put_u64(&l->program->definitions, (uintptr_t)ir, (void *)(uintptr_t)v))
        return HD_OK;
    return hd_error(HD_NO_MEMORY, "linking %s", ir->name);
}

/* One name, several declarations: the strongest definition wins. */
static enum hd_status link_var_merge(struct linker *l, struct ir_var *ir, const struct ptx_var *v)
{
    enum ir_linkage now = link_linkage_of(v->linkage);
    bool defines = now != IR_LINK_EXTERN, defined = ir->linkage != IR_LINK_EXTERN;
    if (ir->space != lower_space((enum ptx_space)v->space))
        return link_place_error(l, HD_BAD_PTX, &v->sym, "declared before in another state space:");
    bool weak = link_is_weak(now), was_weak = link_is_weak(ir->linkage);
    if (defines && defined && !weak && !was_weak)
        return link_place_error(l, HD_BAD_PTX, &v->sym, "second definition of variable");
    if (defines && (!defined || (was_weak && !weak))) {
        ir->linkage = now;
        lower_var_fill(ir, v);
        HD_TRY(link_var_defines(l, ir, v));
    }
    ir->size_B = HD_MAX(ir->size_B, v->size_B);
    ir->align_B = HD_MAX(ir->align_B, v->align);
    return HD_OK;
}

/* Lives in the frame or the window of the function that declares it. */
static bool link_is_in_function(enum ir_space space, const struct ptx_func *owner)
{
    return owner &&
           (space == IR_SPACE_LOCAL || space == IR_SPACE_SHARED || space == IR_SPACE_PARAM);
}

/*
 * A variable of module scope; of a function, when it keeps its value between calls (.global inside
 * a body). One in a state space that we lack is left out: whoever names it fails.
 */
static enum hd_status link_var_declare(struct linker *l, const struct ptx_var *v,
                                       const struct ptx_func *owner)
{
    struct lower_program *p = l->program;
    enum ir_space space = lower_space((enum ptx_space)v->space);
    bool internal = v->linkage == PTX_LINK_NONE;
    if ((v->def && v->def != v) || link_is_in_function(space, owner) || space == IR_SPACE_GENERIC)
        return HD_OK;
    if (space == IR_SPACE_PARAM)
        space = IR_SPACE_LOCAL;
    const char *name = link_unique_name(l, v->sym.name, internal);
    struct ir_var *ir = internal ? NULL : ir_module_find_var(p->decls, name);
    if (!internal && ir_module_find_func(p->decls, name))
        return link_place_error(l, HD_BAD_PTX, &v->sym, "declared before as a function:");
    if (ir) {
        HD_TRY(link_var_merge(l, ir, v));
    } else {
        ir = ir_var_create(p->decls, NULL, name, space);
        ir->linkage = link_linkage_of(v->linkage);
        lower_var_fill(ir, v);
        HD_TRY(link_var_defines(l, ir, v));
    }
    if (!hd_map_put_u64(&p->vars, (uintptr_t)v, ir))
        return hd_error(HD_NO_MEMORY, "linking %s", name);
    return HD_OK;
}

/* ---- initial images */

#define IMAGE_MAX_B (1ull << 30)

struct image {
    const struct linker *linker;
    struct ir_var *var;
    enum hd_status status;
};

/* The target of a relocation; false when nobody defines it. */
static bool link_reloc_target(struct lower_program *p, const struct ptx_sym *sym,
                              struct ir_reloc *r)
{
    if (sym->kind == PTX_SYM_VAR) {
        const struct ptx_var *var = (const struct ptx_var *)sym;
        r->var = hd_map_get_u64(&p->vars, (uintptr_t)(var->def ? var->def : var));
        return r->var && lower_var_defined(r->var);
    }
    if (sym->kind != PTX_SYM_FUNC)
        return false;
    r->func = lower_func_decl(p, (const struct ptx_func *)sym);
    if (!r->func || !lower_program_has_body(p, r->func->index))
        return false;
    r->func->address_taken = true;
    return true;
}

static void link_add_reloc(void *ctx, uint64_t at, unsigned width_B, const struct ptx_sym *sym,
                           int64_t addend, bool generic, uint64_t mask)
{
    struct image *im = ctx;
    struct lower_program *p = im->linker->program;
    struct ir_reloc *r = hd_arena_new(&p->decls->arena, struct ir_reloc);
    bool found = link_reloc_target(p, sym, r);
    if (!found && im->status == HD_OK)
        im->status =
            link_place_error(im->linker, HD_UNRESOLVED, sym, "initialiser names undefined symbol");
    if (r->var && r->var->space != IR_SPACE_GLOBAL && r->var->space != IR_SPACE_CONST &&
        im->status == HD_OK)
        im->status = link_place_error(im->linker, HD_BAD_PTX, sym,
                                      "initialiser names a variable that has no fixed address:");
    r->offset_B = at;
    r->size_B = mask ? 1 : width_B;
    r->shift = mask ? (uint32_t)__builtin_ctzll(mask) : 0;
    r->generic = generic;
    r->addend = addend;
    r->next = im->var->relocs;
    im->var->relocs = r;
}

static enum hd_status link_var_init(const struct linker *l, const struct ptx_var *v)
{
    struct lower_program *p = l->program;
    struct ir_var *ir = hd_map_get_u64(&p->vars, (uintptr_t)v);
    if (!ir || !v->init || !v->size_B || hd_map_get_u64(&p->definitions, (uintptr_t)ir) != v)
        return HD_OK;
    struct image im = {.linker = l, .var = ir};
    if (v->size_B > IMAGE_MAX_B)
        return link_place_error(l, HD_NOT_SUPPORTED, &v->sym,
                                "initialised variable of more than 1 GiB:");
    uint8_t *bytes = hd_arena_array(&p->decls->arena, uint8_t, v->size_B);
    if (!bytes)
        return hd_error(HD_NO_MEMORY, "initial image of %s", ir->name);
    HD_TRY(ptx_var_image(v, bytes, v->size_B, link_add_reloc, &im));
    ir->init = bytes;
    ir->init_B = v->size_B;
    assert(ir->init_B <= ir->size_B);
    return im.status;
}

/* ---- functions */

/* PTX ISA, .entry: 4352 bytes, since version 8.1 32764. */
#define KERNEL_PARAM_MAX_B 32764

static enum hd_status link_kernel_params(struct linker *l, struct ir_func *ir,
                                         const struct ptx_func *p)
{
    uint64_t at = 0;
    struct hd_arena *a = &l->program->decls->arena;
    ir->nparams = 0; /* of a declaration that came before the definition */
    ir->params = hd_arena_array(a, struct ir_param, p->nparams + 1u);
    for (const struct ptx_var *v = p->params; v && ir->params && ir->nparams < p->nparams;
         v = v->next) {
        uint32_t align = v->align ? v->align : 1;
        at = hd_align_up(at, align);
        if (at > KERNEL_PARAM_MAX_B || v->size_B > KERNEL_PARAM_MAX_B - at)
            return link_place_error(l, HD_BAD_PTX, &v->sym, "more than 32764 bytes of parameters:");
        ir->params[ir->nparams++] = (struct ir_param){
            .name = hd_arena_strndup(a, v->sym.name.ptr, v->sym.name.len),
            .offset_B = (uint32_t)at,
            .size_B = (uint32_t)v->size_B,
            .align_B = align,
        };
        at += v->size_B;
    }
    ir->param_size_B = (uint32_t)at;
    return ir->params ? HD_OK : hd_error(HD_NO_MEMORY, "lowering %s", ir->name);
}

bool lower_program_has_body(const struct lower_program *program, uint32_t index)
{
    return index < program->bodies.len && program->bodies.at[index].ptx;
}

bool lower_program_is_kernel(const struct lower_program *program, uint32_t index)
{
    return lower_program_has_body(program, index) && program->bodies.at[index].decl->is_kernel;
}

bool lower_var_defined(const struct ir_var *var)
{
    return var->linkage != IR_LINK_EXTERN || var->is_dynamic_shared;
}

struct ir_func *lower_func_decl(const struct lower_program *program, const struct ptx_func *func)
{
    return hd_map_get_u64(&program->funcs, (uintptr_t)(func->def ? func->def : func));
}

/*
 * Attributes and signature come from the definition, or from the first declaration. A signature
 * that we do not support is left empty: calls of the function fail with the reason.
 */
static enum hd_status link_func_describe(struct linker *l, struct ir_func *ir,
                                         const struct ptx_func *p)
{
    struct ir_proto proto = {0};
    ir->is_kernel = p->is_entry;
    ir->noreturn = p->noreturn;
    ir->linkage = link_linkage_of(p->linkage);
    memcpy(ir->maxntid, p->maxntid, sizeof(ir->maxntid));
    memcpy(ir->reqntid, p->reqntid, sizeof(ir->reqntid));
    ir->minnctapersm = p->minnctapersm;
    ir->maxnreg = p->maxnreg;
    memcpy(ir->reqnctapercluster, p->reqnctapercluster, sizeof(ir->reqnctapercluster));
    ir->maxclusterrank = p->maxclusterrank;
    ir->explicitcluster =
        p->explicitcluster || (p->has_reqnctapercluster && !p->reqnctapercluster[0]);
    ir->blocksareclusters = p->blocksareclusters;
    if (p->is_entry)
        return link_kernel_params(l, ir, p);
    enum hd_status status = lower_proto(p->params, p->rets, &l->program->decls->arena, &proto);
    if (status == HD_NOT_SUPPORTED)
        return HD_OK;
    HD_TRY(status);
    ir_func_set_proto(ir, proto.nparams, proto.params, proto.nresults, proto.results);
    return HD_OK;
}

static struct ir_func *link_func_create(struct linker *l, const char *name)
{
    struct ir_func *ir = ir_func_create(l->program->decls, name);
    struct lower_body none = {.decl = ir};
    ir->is_declaration = true;
    if (!hd_vec_push(&l->program->bodies, none))
        return NULL;
    assert(l->program->bodies.len == ir->index + 1u);
    return ir;
}

static enum hd_status link_func_declare(struct linker *l, const struct ptx_func *p)
{
    if (p->def && p->def != p)
        return HD_OK;
    bool internal = p->linkage == PTX_LINK_NONE && !p->is_entry;
    const char *name = link_unique_name(l, p->sym.name, internal);
    struct ir_func *ir = internal ? NULL : ir_module_find_func(l->program->decls, name);
    bool mine = !ir;
    if (!internal && ir_module_find_var(l->program->decls, name))
        return link_place_error(l, HD_BAD_PTX, &p->sym, "declared before as a variable:");
    if (!ir)
        ir = link_func_create(l, name);
    if (!ir || !hd_map_put_u64(&l->program->funcs, (uintptr_t)p, ir))
        return hd_error(HD_NO_MEMORY, "linking %s", name);
    if (p->has_body) {
        /* Decides whose body `ir` gets: the first strong one, else the first weak one. */
        struct lower_body *body = &l->program->bodies.at[ir->index];
        const struct ptx_func *other = body->ptx;
        mine = !other || (other->linkage == PTX_LINK_WEAK && p->linkage != PTX_LINK_WEAK);
        if (other && other->linkage != PTX_LINK_WEAK && p->linkage != PTX_LINK_WEAK)
            return hd_error(
                HD_BAD_PTX,
                "%.*s:%u:%u: second definition of function %.*s, the first is in %.*s:%u",
                HD_STR_ARG(l->ptx->name), p->sym.srcloc.line, p->sym.srcloc.col,
                HD_STR_ARG(p->sym.name), HD_STR_ARG(body->module->name), other->sym.srcloc.line);
        if (mine) {
            *body = (struct lower_body){.decl = body->decl, .ptx = p, .module = l->ptx};
            ir->unit = l->unit;
        }
    }
    for (const struct ptx_var *v = p->vars; v; v = v->next)
        HD_TRY(link_var_declare(l, v, p));
    return mine ? link_func_describe(l, ir, p) : HD_OK;
}

/* Does what the file defines in constant memory fit there? One variable follows the other. */
static enum hd_status link_const_list_fits(const struct linker *l, const struct ptx_var *list,
                                           uint64_t *at)
{
    for (const struct ptx_var *v = list; v; v = v->next) {
        if (v->space != PTX_SPACE_CONST || v->linkage == PTX_LINK_EXTERN || (v->def && v->def != v))
            continue;
        *at = hd_align_up(*at, v->align ? v->align : 1);
        if (*at > LOWER_CONST_MAX_B || v->size_B > LOWER_CONST_MAX_B - *at)
            return link_place_error(l, HD_BAD_PTX, &v->sym,
                                    "more than 65536 bytes of constant memory:");
        *at += v->size_B;
    }
    return HD_OK;
}

static enum hd_status link_declare_all(struct linker *l)
{
    uint64_t at = 0;
    HD_TRY(link_const_list_fits(l, l->ptx->vars, &at));
    for (const struct ptx_func *p = l->ptx->funcs; p; p = p->next_func)
        HD_TRY(link_const_list_fits(l, p->vars, &at));
    for (const struct ptx_var *v = l->ptx->vars; v; v = v->next)
        HD_TRY(link_var_declare(l, v, NULL));
    for (const struct ptx_func *p = l->ptx->funcs; p; p = p->next_func)
        HD_TRY(link_func_declare(l, p));
    for (const struct ptx_item *i = l->ptx->items; i; i = i->next) {
        if (i->kind != PTX_ITEM_ALIAS)
            continue;
        const struct ptx_alias *alias = i->u.alias;
        struct ir_func *target = lower_func_decl(l->program, alias->target);
        if (target && alias->decl &&
            !hd_map_put_u64(&l->program->funcs, (uintptr_t)alias->decl, target))
            return hd_error(HD_NO_MEMORY, "aliases");
    }
    return HD_OK;
}

static enum hd_status link_all(struct lower_program *p, const struct ptx_module *const *modules,
                               size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct linker l = {p, modules[i], (uint32_t)i};
        p->decls->sm = HD_MAX(p->decls->sm, modules[i]->arch);
        p->decls->debug |= modules[i]->debug;
        HD_TRY(link_declare_all(&l));
    }
    for (size_t i = 0; i < count; i++) {
        struct linker l = {p, modules[i], (uint32_t)i};
        for (const struct ptx_var *v = l.ptx->vars; v; v = v->next)
            HD_TRY(link_var_init(&l, v));
        for (const struct ptx_func *k = l.ptx->funcs; k; k = k->next_func)
            for (const struct ptx_var *v = k->vars; v; v = v->next)
                HD_TRY(link_var_init(&l, v));
    }
    return hd_arena_status(&p->decls->arena);
}

/* ---- life */

enum hd_status lower_program_create(const struct ptx_module *const *modules, size_t count,
                                    const char *name, struct lower_program **out_program)
{
    struct lower_program *p = hd_new(struct lower_program);
    if (!p)
        return hd_error(HD_NO_MEMORY, "linking %s", name);
    hd_lock_init(&p->lock, HD_RANK_COMPILE, "lower program");
    hd_map_init(&p->vars);
    hd_map_init(&p->funcs);
    hd_map_init(&p->definitions);
    enum hd_status status = ir_module_create(name, &p->decls);
    if (status == HD_OK)
        status = link_all(p, modules, count);
    if (status != HD_OK) {
        lower_program_destroy(p);
        return status;
    }
    assert(p->bodies.len == p->decls->nfuncs);
    *out_program = p;
    return HD_OK;
}

void lower_program_is_whole(struct lower_program *program)
{
    for (struct ir_var *v = program->decls->vars; v; v = v->next)
        if (v->space == IR_SPACE_SHARED && v->linkage == IR_LINK_EXTERN && v->size_B)
            v->linkage = IR_LINK_VISIBLE;
}

void lower_program_keep_ptx_lines(struct lower_program *program)
{
    program->ptx_lines = true;
}

void lower_program_keep_notes(struct lower_program *program)
{
    program->notes = true;
}

void lower_program_keep_counts(struct lower_program *program)
{
    program->counts = true;
}

void lower_program_keep_asyncs(struct lower_program *program)
{
    program->asyncs = true;
}

void lower_program_destroy(struct lower_program *p)
{
    if (!p)
        return;
    ir_module_destroy(p->decls);
    lower_reaches_destroy(p);
    hd_map_fini(&p->vars);
    hd_map_fini(&p->funcs);
    hd_map_fini(&p->definitions);
    hd_vec_fini(&p->bodies);
    hd_lock_fini(&p->lock);
    hd_free(p);
}

const struct ir_module *lower_program_decls(const struct lower_program *program)
{
    return program->decls;
}
