/*
 * What the link of device code would leave unresolved: functions and variables that a module uses
 * and none defines. Relocatable modules of a program are linked together, others stand alone.
 */
#include "doctor/doctor.h"

#include <assert.h>

#include "base/map.h"
#include "lower/lower.h"

struct link {
    struct doctor_report *report;
    struct hd_map defined;  /* names to anything */
    struct hd_map reported; /* names that have been reported */
};

static bool note(struct hd_map *names, struct hd_str name)
{
    return hd_map_put(names, name, names);
}

static bool define_module(struct link *l, const struct ptx_module *m)
{
    bool good = true;
    for (const struct ptx_item *i = m->items; i; i = i->next) {
        if (i->kind == PTX_ITEM_FUNC && i->u.func->has_body)
            good &= note(&l->defined, i->u.func->sym.name);
        else if (i->kind == PTX_ITEM_VAR && i->u.var->linkage != PTX_LINK_EXTERN)
            good &= note(&l->defined, i->u.var->sym.name);
        else if (i->kind == PTX_ITEM_ALIAS)
            good &= note(&l->defined, i->u.alias->sym.name);
    }
    return good;
}

/* A name that only the link can supply: of a function without body, or of an extern variable. */
static bool is_external(const struct ptx_sym *sym)
{
    if (sym->kind == PTX_SYM_FUNC) {
        const struct ptx_func *func = (const struct ptx_func *)sym;
        return !func->has_body && !(func->def && func->def->has_body) &&
               !lower_is_builtin(sym->name);
    }
    if (sym->kind != PTX_SYM_VAR)
        return false;
    const struct ptx_var *var = (const struct ptx_var *)sym;
    return var->linkage == PTX_LINK_EXTERN && (!var->def || var->def == var) &&
           (var->space == PTX_SPACE_GLOBAL || var->space == PTX_SPACE_CONST);
}

static void check_symbol(struct link *l, const struct ptx_func *func, const struct ptx_sym *sym,
                         unsigned line)
{
    if (!is_external(sym) || hd_map_get(&l->defined, sym->name) ||
        hd_map_get(&l->reported, sym->name))
        return;
    if (!note(&l->reported, sym->name))
        return;
    const char *meaning = lower_unresolved_meaning(sym->name);
    doctor_problem(l->report, "device code uses %.*s (%.*s line %u), which is not defined%s%s",
                   HD_STR_ARG(sym->name), HD_STR_ARG(func->sym.name), line, meaning ? ": " : "",
                   meaning ? meaning : " in any device code of the program");
}

static void check_operand(struct link *l, const struct ptx_func *func, const struct ptx_operand *op,
                          unsigned line)
{
    if (op->kind == PTX_OPND_SYM || (op->kind == PTX_OPND_ADDR && op->base == PTX_OPND_SYM))
        check_symbol(l, func, op->u.sym, line);
    for (uint32_t i = 0; i < op->nitems; i++)
        check_operand(l, func, &op->items[i], line);
}

static void check_func(struct link *l, const struct ptx_func *func)
{
    for (const struct ptx_stmt *s = func->body; s; s = s->next) {
        if (s->kind != PTX_STMT_INSN)
            continue;
        const struct ptx_insn *insn = (const struct ptx_insn *)s;
        for (uint32_t i = 0; i < insn->nops; i++)
            check_operand(l, func, &insn->ops[i], s->srcloc.line);
    }
}

static void check_group(struct doctor_report *r, const struct doctor_module *modules, size_t len)
{
    struct link l = {.report = r};
    bool good = true;
    assert(len);
    hd_map_init(&l.defined);
    hd_map_init(&l.reported);
    for (size_t i = 0; i < len; i++)
        good &= define_module(&l, modules[i].ptx);
    for (size_t i = 0; good && i < len; i++)
        for (const struct ptx_func *f = modules[i].ptx->funcs; f; f = f->next_func)
            check_func(&l, f);
    hd_map_fini(&l.defined);
    hd_map_fini(&l.reported);
}

static void check_lowering(struct doctor_report *r, const struct doctor_module *modules, size_t len)
{
    const struct ptx_module **ptx = hd_arena_array(&r->arena, const struct ptx_module *, len);
    for (size_t i = 0; ptx && i < len; i++)
        ptx[i] = modules[i].ptx;
    if (ptx)
        doctor_check_program(r, ptx, len);
}

void doctor_check_links(struct doctor_report *r)
{
    size_t first = 0;
    while (first < r->parsed.len) {
        size_t end = first + 1;
        while (r->parsed.at[first].relocatable && end < r->parsed.len &&
               r->parsed.at[end].relocatable)
            end++;
        assert(end > first && end <= r->parsed.len);
        check_group(r, r->parsed.at + first, end - first);
        check_lowering(r, r->parsed.at + first, end - first);
        first = end;
    }
}
