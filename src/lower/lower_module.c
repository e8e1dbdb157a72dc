/* Modules: variables, functions, and linking several relocatable modules into one. */
#include "lower/lower_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static enum ir_linkage linkage_of(unsigned ptx)
{
    switch (ptx) {
    case PTX_LINK_EXTERN:
        return IR_LINK_EXTERN;
    case PTX_LINK_VISIBLE:
        return IR_LINK_VISIBLE;
    case PTX_LINK_WEAK:
        return IR_LINK_WEAK;
    case PTX_LINK_COMMON:
        return IR_LINK_COMMON;
    default:
        return IR_LINK_LOCAL;
    }
}

/* Internal names of different modules must not clash. */
static const char *unique_name(struct lower_link *l, struct hd_str name, bool internal)
{
    struct hd_arena *a = &l->module->arena;
    const char *plain = hd_arena_strndup(a, name.ptr, name.len);
    const char *text = plain;
    void *unused;
    for (unsigned n = 1; internal && hd_map_find(&l->module->symbols, hd_str_from(text), &unused);
         n++)
        text = hd_arena_printf(a, "%s$%u", plain, n);
    return text;
}

static enum hd_status place_error(struct lower_link *l, enum hd_status status,
                                  const struct ptx_sym *sym, const char *what)
{
    return hd_error(status, "%.*s:%u:%u: %s %.*s", HD_STR_ARG(l->ptx->name), sym->place.line,
                    sym->place.col, what, HD_STR_ARG(sym->name));
}

static void var_fill(struct ir_var *ir, const struct ptx_var *v)
{
    ir->size_B = v->size_B;
    ir->align_B = v->align ? v->align : 1;
    ir->managed = v->managed;
    ir->is_dynamic_shared = ir->space == IR_SPACE_SHARED && !v->size_B;
}

/* One name, several declarations: the strongest definition wins. */
static enum hd_status var_merge(struct lower_link *l, struct ir_var *ir, const struct ptx_var *v)
{
    enum ir_linkage now = linkage_of(v->linkage);
    bool defines = now != IR_LINK_EXTERN, defined = ir->linkage != IR_LINK_EXTERN;
    bool weak = now == IR_LINK_WEAK || now == IR_LINK_COMMON;
    bool was_weak = ir->linkage == IR_LINK_WEAK || ir->linkage == IR_LINK_COMMON;
    if (defines && defined && !weak && !was_weak)
        return place_error(l, HD_BAD_PTX, &v->sym, "second definition of variable");
    if (defines && (!defined || (was_weak && !weak))) {
        ir->linkage = now;
        var_fill(ir, v);
        ir->init = NULL;
    }
    ir->size_B = HD_MAX(ir->size_B, v->size_B);
    ir->align_B = HD_MAX(ir->align_B, v->align);
    return HD_OK;
}

static enum hd_status var_add(struct lower_link *l, const struct ptx_var *v, struct ir_func *owner)
{
    enum ir_space space = lower_space((enum ptx_space)v->space);
    bool internal = v->linkage == PTX_LINK_NONE;
    const char *name;
    struct ir_var *ir = NULL;
    if (v->def && v->def != v)
        return HD_OK;
    if (space == IR_SPACE_PARAM)
        space = IR_SPACE_LOCAL;
    if (space == IR_SPACE_GENERIC)
        return place_error(l, HD_NOT_SUPPORTED, &v->sym, "variable in an unsupported state space:");
    if (owner && space != IR_SPACE_LOCAL && space != IR_SPACE_SHARED)
        owner = NULL;
    name = unique_name(l, v->sym.name, internal && !owner);
    if (!owner && !internal)
        ir = ir_module_find_var(l->module, name);
    if (ir) {
        HD_TRY(var_merge(l, ir, v));
    } else {
        ir = ir_var_create(l->module, owner, name, space);
        ir->linkage = owner ? IR_LINK_LOCAL : linkage_of(v->linkage);
        var_fill(ir, v);
    }
    if (!hd_map_put_u64(&l->vars, (uint64_t)(uintptr_t)v, ir))
        return hd_error(HD_NO_MEMORY, "lowering %s", name);
    return HD_OK;
}

/* ---- initial images */

struct image {
    struct lower_link *link;
    struct ir_var *var;
    enum hd_status status;
};

static void add_reloc(void *ctx, uint64_t at, unsigned width_B, const struct ptx_sym *sym,
                      int64_t addend, bool generic, uint64_t mask)
{
    struct image *im = ctx;
    struct ir_reloc *r = hd_arena_new(&im->link->module->arena, struct ir_reloc);
    const void *key = sym;
    if (sym->kind == PTX_SYM_VAR && ((const struct ptx_var *)sym)->def)
        key = ((const struct ptx_var *)sym)->def;
    if (sym->kind == PTX_SYM_FUNC && ((const struct ptx_func *)sym)->def)
        key = ((const struct ptx_func *)sym)->def;
    if (sym->kind == PTX_SYM_VAR)
        r->var = hd_map_get_u64(&im->link->vars, (uint64_t)(uintptr_t)key);
    else if (sym->kind == PTX_SYM_FUNC)
        r->func = hd_map_get_u64(&im->link->funcs, (uint64_t)(uintptr_t)key);
    if (!r->var && !r->func && im->status == HD_OK)
        im->status = place_error(im->link, HD_UNRESOLVED, sym, "initialiser names unknown symbol");
    r->offset_B = at;
    r->size_B = mask ? 1 : width_B;
    r->shift = mask ? (uint32_t)__builtin_ctzll(mask) : 0;
    r->generic = generic;
    r->addend = addend;
    r->next = im->var->relocs;
    im->var->relocs = r;
}

static enum hd_status var_init(struct lower_link *l, const struct ptx_var *v)
{
    struct ir_var *ir = hd_map_get_u64(&l->vars, (uint64_t)(uintptr_t)v);
    if (!ir || !v->init || ir->init || !v->size_B)
        return HD_OK;
    struct image im = {.link = l, .var = ir};
    uint8_t *bytes = hd_arena_array(&l->module->arena, uint8_t, v->size_B);
    if (!bytes)
        return hd_error(HD_NO_MEMORY, "initial image of %s", ir->name);
    HD_TRY(ptx_var_image(v, bytes, v->size_B, add_reloc, &im));
    ir->init = bytes;
    ir->init_B = v->size_B;
    return im.status;
}

/* ---- functions */

static void kernel_params(struct lower_link *l, struct ir_func *ir, const struct ptx_func *p)
{
    uint64_t at = 0;
    struct hd_arena *a = &l->module->arena;
    ir->params = hd_arena_array(a, struct ir_param, p->nparams + 1u);
    for (const struct ptx_var *v = p->params; v && ir->params && ir->nparams < p->nparams;
         v = v->next) {
        uint32_t align = v->align ? v->align : 1;
        at = hd_align_up(at, align);
        ir->params[ir->nparams++] = (struct ir_param){
            .name = hd_arena_strndup(a, v->sym.name.ptr, v->sym.name.len),
            .offset_B = (uint32_t)at,
            .size_B = (uint32_t)v->size_B,
            .align_B = align,
        };
        at += v->size_B;
    }
    ir->param_size_B = (uint32_t)at;
}

static enum hd_status func_declare(struct lower_link *l, const struct ptx_func *p)
{
    if (p->def && p->def != p)
        return HD_OK;
    bool internal = p->linkage == PTX_LINK_NONE && !p->is_entry;
    const char *name = unique_name(l, p->sym.name, internal);
    struct ir_func *ir = internal ? NULL : ir_module_find_func(l->module, name);
    if (ir && p->has_body && !ir->is_declaration && p->linkage != PTX_LINK_WEAK &&
        ir->linkage != IR_LINK_WEAK)
        return place_error(l, HD_BAD_PTX, &p->sym, "second definition of function");
    bool mine = !ir || (ir->is_declaration && p->has_body);
    if (!ir) {
        ir = ir_func_create(l->module, name);
        ir->is_declaration = true;
        ir->linkage = linkage_of(p->linkage);
    }
    if (mine) {
        struct ir_proto proto = {0};
        ir->is_kernel = p->is_entry;
        ir->noreturn = p->noreturn;
        ir->linkage = linkage_of(p->linkage);
        memcpy(ir->maxntid, p->maxntid, sizeof(ir->maxntid));
        memcpy(ir->reqntid, p->reqntid, sizeof(ir->reqntid));
        ir->minnctapersm = p->minnctapersm;
        ir->maxnreg = p->maxnreg;
        if (p->is_entry)
            kernel_params(l, ir, p);
        else
            HD_TRY(lower_proto(p->params, p->rets, &l->module->arena, &proto));
        if (!p->is_entry && (p->has_body || !ir->args))
            ir_func_set_proto(ir, proto.nparams, proto.params, proto.nresults, proto.results);
    }
    if (!hd_map_put_u64(&l->funcs, (uint64_t)(uintptr_t)p, ir))
        return hd_error(HD_NO_MEMORY, "lowering %s", name);
    return HD_OK;
}

/* The body comes from the first definition seen; a weak one after that is dropped. */
static enum hd_status func_define(struct lower_link *l, const struct ptx_func *p)
{
    struct ir_func *ir = hd_map_get_u64(&l->funcs, (uint64_t)(uintptr_t)p);
    if (!p->has_body || !ir || !ir->is_declaration)
        return HD_OK;
    ir->is_declaration = false;
    for (const struct ptx_var *v = p->params; v && !p->is_entry; v = v->next) {
        if (v->space != PTX_SPACE_REG)
            HD_TRY(var_add(l, v, ir));
    }
    for (const struct ptx_var *v = p->rets; v; v = v->next) {
        if (v->space != PTX_SPACE_REG)
            HD_TRY(var_add(l, v, ir));
    }
    for (const struct ptx_var *v = p->vars; v; v = v->next)
        HD_TRY(var_add(l, v, ir));
    for (const struct ptx_var *v = p->vars; v; v = v->next)
        HD_TRY(var_init(l, v));
    return lower_function(l, p, ir);
}

static enum hd_status module_symbols(struct lower_link *l)
{
    for (const struct ptx_var *v = l->ptx->vars; v; v = v->next)
        HD_TRY(var_add(l, v, NULL));
    for (const struct ptx_func *p = l->ptx->funcs; p; p = p->next_func)
        HD_TRY(func_declare(l, p));
    for (const struct ptx_item *i = l->ptx->items; i; i = i->next) {
        if (i->kind != PTX_ITEM_ALIAS)
            continue;
        const struct ptx_alias *alias = i->u.alias;
        void *target =
            hd_map_get_u64(&l->funcs, (uint64_t)(uintptr_t)(alias->target->def ? alias->target->def
                                                                               : alias->target));
        if (target && alias->decl &&
            !hd_map_put_u64(&l->funcs, (uint64_t)(uintptr_t)alias->decl, target))
            return hd_error(HD_NO_MEMORY, "aliases");
    }
    return HD_OK;
}

static enum hd_status module_bodies(struct lower_link *l)
{
    for (const struct ptx_var *v = l->ptx->vars; v; v = v->next)
        HD_TRY(var_init(l, v));
    for (const struct ptx_func *p = l->ptx->funcs; p; p = p->next_func)
        HD_TRY(func_define(l, p));
    return HD_OK;
}

/* Everything that is called or named must have a body or storage by now. */
static enum hd_status check_resolved(const struct ir_module *m)
{
    ir_foreach_func(f, m) {
        for (uint32_t b = 0; b < f->nblocks; b++) {
            ir_foreach_instr(in, f->blocks[b]) {
                if (in->callee && in->callee->is_declaration)
                    return hd_error(HD_UNRESOLVED,
                                    "%s: unresolved external function %s (used in %s)", m->name,
                                    in->callee->name, f->name);
                if (in->var && in->var->linkage == IR_LINK_EXTERN && !in->var->is_dynamic_shared)
                    return hd_error(HD_UNRESOLVED,
                                    "%s: unresolved external variable %s (used in %s)", m->name,
                                    in->var->name, f->name);
            }
        }
    }
    return HD_OK;
}

static enum hd_status link_all(const struct ptx_module *const *modules, size_t count,
                               struct lower_link *links, struct ir_module *ir)
{
    for (size_t i = 0; i < count; i++) {
        links[i].module = ir;
        links[i].ptx = modules[i];
        hd_map_init(&links[i].vars);
        hd_map_init(&links[i].funcs);
        ir->sm = HD_MAX(ir->sm, modules[i]->arch);
        ir->debug |= modules[i]->debug;
    }
    for (size_t i = 0; i < count; i++)
        HD_TRY(module_symbols(&links[i]));
    for (size_t i = 0; i < count; i++)
        HD_TRY(module_bodies(&links[i]));
    return check_resolved(ir);
}

enum hd_status lower_ptx(const struct ptx_module *const *modules, size_t count, const char *name,
                         struct ir_module **out_module)
{
    struct ir_module *ir = NULL;
    struct lower_link *links = hd_alloc_array(count + 1, sizeof(*links));
    *out_module = NULL;
    if (!links)
        return hd_error(HD_NO_MEMORY, "lowering %s", name);
    enum hd_status status = ir_module_create(name, &ir);
    if (status == HD_OK)
        status = link_all(modules, count, links, ir);
    for (size_t i = 0; i < count; i++) {
        hd_map_fini(&links[i].vars);
        hd_map_fini(&links[i].funcs);
    }
    hd_free(links);
    if (status != HD_OK) {
        ir_module_destroy(ir);
        return status;
    }
    *out_module = ir;
    return HD_OK;
}
