/*
 * Dead code across modules at link time. A name is live when a root reaches it; a name that is not
 * internal is live in every module that declares it, whichever definition will count.
 */
#include "compile.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "compile/checked.h"
#include "obj/linked.h"
#include "ptx/ptx.h"

/* A definition or declaration, and where it is. */
struct reduce_node {
    struct ptx_module *module;
    struct ptx_sym *sym;
};

struct reduce {
    struct hd_arena arena; /* of the modules */
    struct ptx_module **modules;
    size_t count;
    struct hd_map live; /* struct ptx_sym of functions and variables: the definition's, if any */
    HD_VEC(struct reduce_node) work;
    bool failed;
};

/* ---- names */

/* `*` stands for any text; anything may stand before and behind a pattern. */
static bool reduce_matches(const char *pattern, struct hd_str name)
{
    size_t at = 0;

    while (*pattern) {
        size_t n = strcspn(pattern, "*");

        if (n) {
            const char *found =
                at <= name.len ? memmem(name.ptr + at, name.len - at, pattern, n) : NULL;
            if (!found)
                return false;
            at = (size_t)(found - name.ptr) + n;
        }
        pattern += n + (pattern[n] == '*');
    }
    return true;
}

static bool reduce_names(const struct obj_names *names, struct hd_str name)
{
    for (size_t i = 0; i < names->count; i++)
        if (reduce_matches(names->at[i], name))
            return true;
    return false;
}

/* ---- what is live */

static struct ptx_sym *reduce_definition(struct ptx_sym *sym)
{
    if (sym->kind == PTX_SYM_FUNC && ((struct ptx_func *)sym)->def)
        return &((struct ptx_func *)sym)->def->sym;
    if (sym->kind == PTX_SYM_VAR && ((struct ptx_var *)sym)->def)
        return &((struct ptx_var *)sym)->def->sym;
    return sym;
}

static bool reduce_is_internal(const struct ptx_sym *sym)
{
    if (sym->kind == PTX_SYM_FUNC)
        return ((const struct ptx_func *)sym)->linkage == PTX_LINK_NONE &&
               !((const struct ptx_func *)sym)->is_entry;
    return ((const struct ptx_var *)sym)->linkage == PTX_LINK_NONE;
}

static void reduce_mark_one(struct reduce *r, struct ptx_module *module, struct ptx_sym *sym)
{
    void *unused;

    sym = reduce_definition(sym);
    if (hd_map_find_u64(&r->live, (uintptr_t)sym, &unused))
        return;
    r->failed |= !hd_map_put_u64(&r->live, (uintptr_t)sym, sym) ||
                 !hd_vec_push(&r->work, (struct reduce_node){module, sym});
}

static void reduce_mark(struct reduce *r, struct ptx_module *module, struct ptx_sym *sym)
{
    if (sym->kind != PTX_SYM_FUNC && sym->kind != PTX_SYM_VAR)
        return;
    reduce_mark_one(r, module, sym);
    if (sym->depth || reduce_is_internal(reduce_definition(sym)))
        return;
    for (size_t i = 0; i < r->count; i++) {
        struct ptx_sym *other = ptx_module_find(r->modules[i], sym->name);

        if (other && (other->kind == PTX_SYM_FUNC || other->kind == PTX_SYM_VAR) &&
            !reduce_is_internal(reduce_definition(other)))
            reduce_mark_one(r, r->modules[i], other);
    }
}

static void reduce_mark_operand(struct reduce *r, struct ptx_module *module,
                                const struct ptx_operand *op)
{
    if (op->kind == PTX_OPND_SYM || (op->kind == PTX_OPND_ADDR && op->base == PTX_OPND_SYM))
        reduce_mark(r, module, op->u.sym);
    for (uint32_t i = 0; i < op->nitems; i++)
        reduce_mark_operand(r, module, &op->items[i]);
    if (op->subscript)
        reduce_mark_operand(r, module, op->subscript);
}

static void reduce_mark_init(struct reduce *r, struct ptx_module *module,
                             const struct ptx_init *init)
{
    if (init && init->kind == PTX_INIT_SYM)
        reduce_mark(r, module, init->u.sym);
    for (uint32_t i = 0; init && init->kind == PTX_INIT_LIST && i < init->count; i++)
        reduce_mark_init(r, module, &init->u.list[i]);
}

static void reduce_mark_body(struct reduce *r, struct ptx_module *module,
                             const struct ptx_func *func)
{
    for (const struct ptx_stmt *s = func->body; s; s = s->next) {
        const struct ptx_insn *insn = (const struct ptx_insn *)s;
        const struct ptx_stmt_decl *decl = (const struct ptx_stmt_decl *)s;

        for (uint32_t i = 0; s->kind == PTX_STMT_INSN && i < insn->nops; i++)
            reduce_mark_operand(r, module, &insn->ops[i]);
        for (uint32_t i = 0; s->kind == PTX_STMT_TARGETS && i < decl->u.targets->count; i++)
            reduce_mark_operand(r, module, &decl->u.targets->items[i]);
        if (s->kind == PTX_STMT_VAR)
            reduce_mark_init(r, module, decl->u.var->init);
    }
}

/* ---- roots */

/* Does debug information name places of code? Without its functions the text would be wrong. */
static bool reduce_is_bound(const struct ptx_module *module)
{
    for (const struct ptx_item *i = module->items; i; i = i->next) {
        if (i->kind == PTX_ITEM_DWARF)
            return true;
        const struct ptx_dwarf_line *line =
            i->kind == PTX_ITEM_SECTION ? i->u.section->lines : NULL;
        for (; line; line = line->next)
            for (uint32_t v = 0; v < line->count; v++)
                if (line->values[v].kind != PTX_INIT_INT)
                    return true;
    }
    return false;
}

/* The host sees what outlives a kernel. */
static bool reduce_is_hosts(const struct ptx_var *var, const struct obj_used *used)
{
    switch (var->space) {
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_CONST:
    case PTX_SPACE_TEX:
        return var->managed || !used->drops_variables ||
               reduce_names(&used->variables, var->sym.name);
    default:
        return false;
    }
}

static void reduce_mark_roots(struct reduce *r, const struct obj_used *used)
{
    for (size_t m = 0; m < r->count; m++) {
        struct ptx_module *module = r->modules[m];
        bool whole = reduce_is_bound(module);

        for (const struct ptx_item *i = module->items; i; i = i->next) {
            if (i->kind == PTX_ITEM_FUNC &&
                (whole ||
                 (i->u.func->is_entry && i->u.func->has_body &&
                  (!used->kernels.count || reduce_names(&used->kernels, i->u.func->sym.name)))))
                reduce_mark(r, module, &i->u.func->sym);
            if (i->kind == PTX_ITEM_VAR && (whole || reduce_is_hosts(i->u.var, used)))
                reduce_mark(r, module, &i->u.var->sym);
            if (i->kind == PTX_ITEM_ALIAS) {
                reduce_mark(r, module, &i->u.alias->target->sym);
                if (i->u.alias->decl)
                    reduce_mark(r, module, &i->u.alias->decl->sym);
            }
        }
    }
}

static void reduce_mark_all(struct reduce *r, const struct obj_used *used)
{
    reduce_mark_roots(r, used);
    while (r->work.len && !r->failed) {
        struct reduce_node node = hd_vec_pop(&r->work);

        if (node.sym->kind == PTX_SYM_VAR)
            reduce_mark_init(r, node.module, ((const struct ptx_var *)node.sym)->init);
        else
            reduce_mark_body(r, node.module, (const struct ptx_func *)node.sym);
    }
}

/* ---- what is left */

static bool reduce_is_live(const struct reduce *r, struct ptx_sym *sym)
{
    void *unused;

    return hd_map_find_u64(&r->live, (uintptr_t)reduce_definition(sym), &unused);
}

/* Takes out what is not live; false: no definition is left. */
static bool reduce_module(const struct reduce *r, struct ptx_module *module,
                          struct obj_removed *counts)
{
    struct ptx_item **link = &module->items;
    bool any = false;

    for (struct ptx_item *i; (i = *link);) {
        bool is_func = i->kind == PTX_ITEM_FUNC, is_var = i->kind == PTX_ITEM_VAR;

        if ((is_func && !reduce_is_live(r, &i->u.func->sym)) ||
            (is_var && !reduce_is_live(r, &i->u.var->sym))) {
            counts->functions += is_func && i->u.func->has_body && !i->u.func->is_entry;
            counts->kernels += is_func && i->u.func->has_body && i->u.func->is_entry;
            counts->variables += is_var && i->u.var->linkage != PTX_LINK_EXTERN;
            *link = i->next;
            continue;
        }
        any |= (is_func && i->u.func->has_body) || i->kind == PTX_ITEM_ALIAS ||
               (is_var && i->u.var->linkage != PTX_LINK_EXTERN);
        link = &i->next;
    }
    return any;
}

static bool reduce_has_kernel(const struct reduce *r)
{
    for (size_t m = 0; m < r->count; m++)
        for (const struct ptx_func *f = r->modules[m]->funcs; f; f = f->next_func)
            if (f->is_entry && f->has_body)
                return true;
    return false;
}

static enum hd_status reduce_all(struct reduce *r, const struct compile_unit *units,
                                 const struct obj_used *used, struct hd_buf *out_texts,
                                 struct obj_removed *out_counts)
{
    for (size_t i = 0; i < r->count; i++)
        HD_TRY(compile_parse_whole(&units[i], 0, &r->arena, &r->modules[i]));
    if (reduce_has_kernel(r)) {
        reduce_mark_all(r, used);
        if (r->failed)
            return hd_error(HD_NO_MEMORY, "removing what is unused");
    }
    for (size_t i = 0; i < r->count; i++) {
        struct obj_removed before = *out_counts;

        if (!reduce_has_kernel(r)) { /* a library, of which somebody may want anything */
            hd_buf_append(&out_texts[i], units[i].ptx, units[i].len);
        } else if (reduce_module(r, r->modules[i], out_counts)) {
            if (memcmp(&before, out_counts, sizeof(before)) == 0)
                hd_buf_append(&out_texts[i], units[i].ptx, units[i].len);
            else
                ptx_print(r->modules[i], &out_texts[i]);
        }
        if (out_texts[i].failed)
            return hd_error(HD_NO_MEMORY, "removing what is unused");
    }
    return HD_OK;
}

enum hd_status compile_reduce(const struct compile_unit *units, size_t count,
                              const struct obj_used *used, struct hd_buf *out_texts,
                              struct obj_removed *out_counts)
{
    struct reduce r = {.count = count};
    enum hd_status status;

    *out_counts = (struct obj_removed){0};
    hd_arena_init(&r.arena);
    hd_map_init(&r.live);
    r.modules = hd_arena_array(&r.arena, struct ptx_module *, count + 1);
    status = r.modules ? reduce_all(&r, units, used, out_texts, out_counts)
                       : hd_error(HD_NO_MEMORY, "removing what is unused");
    hd_vec_fini(&r.work);
    hd_map_fini(&r.live);
    hd_arena_fini(&r.arena);
    return status;
}
