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
    if (ir->space != lower_space((enum ptx_space)v->space))
        return place_error(l, HD_BAD_PTX, &v->sym, "declared before in another state space:");
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

#define IMAGE_MAX_B (1ull << 30)

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
    bool found =
        r->var ? lower_var_defined(r->var) : r->func && lower_func_defined(im->link, r->func);
    if (!found && im->status == HD_OK)
        im->status =
            place_error(im->link, HD_UNRESOLVED, sym, "initialiser names undefined symbol");
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
    if (v->size_B > IMAGE_MAX_B)
        return place_error(l, HD_NOT_SUPPORTED, &v->sym,
                           "initialised variable of more than 1 GiB:");
    uint8_t *bytes = hd_arena_array(&l->module->arena, uint8_t, v->size_B);
    if (!bytes)
        return hd_error(HD_NO_MEMORY, "initial image of %s", ir->name);
    HD_TRY(ptx_var_image(v, bytes, v->size_B, add_reloc, &im));
    ir->init = bytes;
    ir->init_B = v->size_B;
    return im.status;
}

/* ---- functions */

/* PTX ISA, .entry: 4352 bytes, since version 8.1 32764. */
#define KERNEL_PARAM_MAX_B 32764

static enum hd_status kernel_params(struct lower_link *l, struct ir_func *ir,
                                    const struct ptx_func *p)
{
    uint64_t at = 0;
    struct hd_arena *a = &l->module->arena;
    ir->params = hd_arena_array(a, struct ir_param, p->nparams + 1u);
    for (const struct ptx_var *v = p->params; v && ir->params && ir->nparams < p->nparams;
         v = v->next) {
        uint32_t align = v->align ? v->align : 1;
        at = hd_align_up(at, align);
        if (at > KERNEL_PARAM_MAX_B || v->size_B > KERNEL_PARAM_MAX_B - at)
            return place_error(l, HD_BAD_PTX, &v->sym, "more than 32764 bytes of parameters:");
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

bool lower_func_defined(const struct lower_link *link, const struct ir_func *func)
{
    return hd_map_get_u64(link->bodies, (uint64_t)(uintptr_t)func);
}

bool lower_var_defined(const struct ir_var *var)
{
    return var->linkage != IR_LINK_EXTERN || var->is_dynamic_shared;
}

/* Decides whose body `ir` gets: the first strong one, else the first weak one. */
static enum hd_status claim_body(struct lower_link *l, struct ir_func *ir, const struct ptx_func *p,
                                 bool *out_mine)
{
    const struct ptx_func *other = hd_map_get_u64(l->bodies, (uint64_t)(uintptr_t)ir);
    *out_mine = !other || (other->linkage == PTX_LINK_WEAK && p->linkage != PTX_LINK_WEAK);
    if (other && other->linkage != PTX_LINK_WEAK && p->linkage != PTX_LINK_WEAK)
        return place_error(l, HD_BAD_PTX, &p->sym, "second definition of function");
    if (*out_mine && !hd_map_put_u64(l->bodies, (uint64_t)(uintptr_t)ir, (void *)(uintptr_t)p))
        return hd_error(HD_NO_MEMORY, "lowering %s", ir->name);
    return HD_OK;
}

/* Attributes and signature come from the definition, or from the first declaration. */
static enum hd_status func_describe(struct lower_link *l, struct ir_func *ir,
                                    const struct ptx_func *p)
{
    struct ir_proto proto = {0};
    ir->is_kernel = p->is_entry;
    ir->noreturn = p->noreturn;
    ir->linkage = linkage_of(p->linkage);
    memcpy(ir->maxntid, p->maxntid, sizeof(ir->maxntid));
    memcpy(ir->reqntid, p->reqntid, sizeof(ir->reqntid));
    ir->minnctapersm = p->minnctapersm;
    ir->maxnreg = p->maxnreg;
    if (p->is_entry)
        return kernel_params(l, ir, p);
    HD_TRY(lower_proto(p->params, p->rets, &l->module->arena, &proto));
    ir_func_set_proto(ir, proto.nparams, proto.params, proto.nresults, proto.results);
    return HD_OK;
}

static enum hd_status func_declare(struct lower_link *l, const struct ptx_func *p)
{
    if (p->def && p->def != p)
        return HD_OK;
    bool internal = p->linkage == PTX_LINK_NONE && !p->is_entry;
    const char *name = unique_name(l, p->sym.name, internal);
    struct ir_func *ir = internal ? NULL : ir_module_find_func(l->module, name);
    bool mine = !ir;
    if (!ir) {
        ir = ir_func_create(l->module, name);
        ir->is_declaration = true;
    }
    if (p->has_body)
        HD_TRY(claim_body(l, ir, p, &mine));
    if (mine)
        HD_TRY(func_describe(l, ir, p));
    if (!hd_map_put_u64(&l->funcs, (uint64_t)(uintptr_t)p, ir))
        return hd_error(HD_NO_MEMORY, "lowering %s", name);
    return HD_OK;
}

static enum hd_status func_define(struct lower_link *l, const struct ptx_func *p)
{
    struct ir_func *ir = hd_map_get_u64(&l->funcs, (uint64_t)(uintptr_t)p);
    if (!p->has_body || hd_map_get_u64(l->bodies, (uint64_t)(uintptr_t)ir) != p)
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

static enum hd_status link_all(const struct ptx_module *const *modules, size_t count,
                               struct lower_link *links, struct hd_map *bodies,
                               struct ir_module *ir)
{
    for (size_t i = 0; i < count; i++) {
        links[i].module = ir;
        links[i].ptx = modules[i];
        links[i].bodies = bodies;
        hd_map_init(&links[i].vars);
        hd_map_init(&links[i].funcs);
        ir->sm = HD_MAX(ir->sm, modules[i]->arch);
        ir->debug |= modules[i]->debug;
    }
    for (size_t i = 0; i < count; i++)
        HD_TRY(module_symbols(&links[i]));
    for (size_t i = 0; i < count; i++)
        HD_TRY(module_bodies(&links[i]));
    return HD_OK;
}

enum hd_status lower_ptx(const struct ptx_module *const *modules, size_t count, const char *name,
                         struct ir_module **out_module)
{
    struct ir_module *ir = NULL;
    struct hd_map bodies;
    struct lower_link *links = hd_alloc_array(count + 1, sizeof(*links));
    *out_module = NULL;
    hd_map_init(&bodies);
    if (!links)
        return hd_error(HD_NO_MEMORY, "lowering %s", name);
    enum hd_status status = ir_module_create(name, &ir);
    if (status == HD_OK)
        status = link_all(modules, count, links, &bodies, ir);
    hd_map_fini(&bodies);
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
