/* Instructions, functions and variables of a unit, by the addresses that GDB knows them by. */
#include "dbg/unit.h"

#include <assert.h>
#include <unistd.h>

#include "base/mem.h"

/* In front of an instruction, of the function or at its end. */
struct label {
    uint32_t insn;
    const struct dbg_func *func;
};

static enum hd_status no_memory(const struct dbg_unit *unit)
{
    return hd_error(HD_NO_MEMORY, "debugging %s", unit->name);
}

static const char *name_of(struct dbg_unit *unit, const struct ptx_sym *sym)
{
    const char *name = hd_arena_strndup(&unit->arena, sym->name.ptr, sym->name.len);

    return name ? name : "";
}

/* ---- variables */

static bool var_add(struct dbg_unit *unit, struct dbg_func *func, const struct ptx_var *v,
                    enum dbg_var_kind kind, uint64_t *next)
{
    uint64_t align_B = HD_MAX(v->align, 16u);
    struct dbg_var var = {.ptx = v, .name = name_of(unit, &v->sym), .func = func, .kind = kind};

    var.size_B = v->size_B;
    var.at = *next = hd_align_up(*next, hd_is_pow2(align_B) ? align_B : 16);
    *next += HD_MAX(v->size_B, 1u);
    return hd_vec_push(&unit->vars, var);
}

struct cursors {
    uint64_t shared, global;
};

static bool list_add(struct dbg_unit *unit, struct dbg_func *func, const struct ptx_var *list,
                     struct cursors *c)
{
    bool good = true;

    for (const struct ptx_var *v = list; v && good; v = v->next) {
        switch ((enum ptx_space)v->space) {
        case PTX_SPACE_LOCAL:
        case PTX_SPACE_PARAM:
            if (func)
                good = var_add(unit, func, v, DBG_VAR_LOCAL, &func->locals_B);
            break;
        case PTX_SPACE_SHARED:
        case PTX_SPACE_SHARED_CTA:
            good = var_add(unit, func, v, DBG_VAR_SHARED, &c->shared);
            break;
        case PTX_SPACE_GLOBAL:
        case PTX_SPACE_CONST:
            good = var_add(unit, NULL, v, DBG_VAR_GLOBAL, &c->global);
            break;
        default: /* registers, and what has no address */
            break;
        }
    }
    return good;
}

/* ---- instructions */

static uint64_t srcloc_key(uint32_t line, uint32_t col)
{
    return (uint64_t)col << 32 | line;
}

static bool insn_add(struct dbg_unit *unit, struct dbg_func *f, const struct ptx_stmt *s)
{
    uint32_t n = unit->ninsns++;

    unit->insns[n] = (struct dbg_insn){(const struct ptx_insn *)s, f};
    f->count++;
    return hd_map_put_u64(&unit->srclocs, srcloc_key(s->srcloc.line, s->srcloc.col),
                          (void *)((uintptr_t)n + 1));
}

/* Of several labels with one name the first counts: those of compilers are unique. */
static bool label_add(struct dbg_unit *unit, const struct dbg_func *f, const struct ptx_stmt *s)
{
    struct hd_str name = ((const struct ptx_stmt_decl *)s)->u.label->sym.name;
    struct label *label;

    if (hd_map_get(&unit->labels, name))
        return true;
    label = hd_arena_new(&unit->arena, struct label);
    *label = (struct label){unit->ninsns, f};
    return hd_map_put(&unit->labels, name, label);
}

static bool func_fill(struct dbg_unit *unit, const struct ptx_func *func)
{
    struct dbg_func *f = &unit->funcs[unit->nfuncs++];
    bool good = true;

    *f = (struct dbg_func){.ptx = func, .name = name_of(unit, &func->sym), .first = unit->ninsns};
    for (const struct ptx_stmt *s = func->body; s && good; s = s->next) {
        if (s->kind == PTX_STMT_INSN)
            good = insn_add(unit, f, s);
        else if (s->kind == PTX_STMT_LABEL)
            good = label_add(unit, f, s);
    }
    return good;
}

static enum hd_status insns_fill(struct dbg_unit *unit)
{
    uint64_t ninsns = 0, nfuncs = 0;
    bool good = true;

    for (const struct ptx_func *f = unit->ptx->funcs; f; f = f->next_func) {
        ninsns += f->has_body ? f->ninsns : 0;
        nfuncs += f->has_body;
    }
    if (ninsns >= ((uint64_t)1 << DBG_UNIT_SHIFT) / DBG_INSN_B)
        return hd_error(HD_NOT_SUPPORTED, "%s: too many instructions to debug", unit->name);
    unit->insns = hd_arena_array(&unit->arena, struct dbg_insn, ninsns + 1);
    unit->funcs = hd_arena_array(&unit->arena, struct dbg_func, nfuncs + 1);
    if (!unit->insns || !unit->funcs)
        return no_memory(unit);
    for (const struct ptx_func *f = unit->ptx->funcs; f && good; f = f->next_func)
        good = !f->has_body || func_fill(unit, f);
    assert(!good || (unit->ninsns == ninsns && unit->nfuncs == nfuncs));
    return good ? HD_OK : no_memory(unit);
}

static enum hd_status unit_fill(struct dbg_unit *unit, const struct dbg_text *text, uint32_t number)
{
    struct ptx_module *ptx;

    unit->name = hd_arena_strndup(&unit->arena, text->name, strlen(text->name));
    HD_TRY(hd_arena_status(&unit->arena));
    HD_TRY(ptx_parse(&unit->arena, text->ptx, text->len, unit->name, &ptx));
    unit->ptx = ptx;
    unit->base = DBG_TEXT + ((uint64_t)number << DBG_UNIT_SHIFT);
    HD_TRY(insns_fill(unit));
    uint64_t unit_at = (uint64_t)number << DBG_UNIT_SHIFT;
    struct cursors c = {DBG_SHARED + unit_at, DBG_GLOBAL + unit_at};
    bool good = list_add(unit, NULL, unit->ptx->vars, &c);
    for (uint32_t i = 0; i < unit->nfuncs && good; i++) {
        struct dbg_func *f = &unit->funcs[i];
        good = list_add(unit, f, f->ptx->params, &c) && list_add(unit, f, f->ptx->rets, &c) &&
               list_add(unit, f, f->ptx->vars, &c);
    }
    if (!good)
        return no_memory(unit);
    return hd_arena_status(&unit->arena);
}

enum hd_status dbg_unit_create(const struct dbg_text *text, uint32_t number,
                               struct dbg_unit **out_unit)
{
    struct dbg_unit *unit = hd_new(struct dbg_unit);
    enum hd_status status;

    if (!unit)
        return hd_error(HD_NO_MEMORY, "debugging %s", text->name);
    hd_arena_init(&unit->arena);
    hd_map_init(&unit->srclocs);
    hd_map_init(&unit->labels);
    status = unit_fill(unit, text, number);
    if (status != HD_OK) {
        dbg_unit_destroy(unit);
        return status;
    }
    *out_unit = unit;
    return HD_OK;
}

void dbg_unit_forget_files(struct dbg_unit *unit)
{
    if (unit->path)
        unlink(unit->path);
    hd_free(unit->path);
    if (unit->source)
        unlink(unit->source);
    hd_free(unit->source);
    unit->path = unit->source = NULL;
}

void dbg_unit_destroy(struct dbg_unit *unit)
{
    dbg_unit_forget_files(unit);
    hd_vec_fini(&unit->vars);
    hd_map_fini(&unit->srclocs);
    hd_map_fini(&unit->labels);
    hd_arena_fini(&unit->arena);
    hd_free(unit);
}

/* ---- questions */

const struct dbg_insn *dbg_unit_insn(const struct dbg_unit *unit, uint64_t pc)
{
    uint64_t offset = pc - unit->base;

    return pc >= unit->base && offset % DBG_INSN_B == 0 && offset / DBG_INSN_B < unit->ninsns
               ? &unit->insns[offset / DBG_INSN_B]
               : NULL;
}

uint64_t dbg_unit_find(const struct dbg_unit *unit, const char *func, uint32_t line, uint32_t col)
{
    uintptr_t n = (uintptr_t)hd_map_get_u64(&unit->srclocs, srcloc_key(line, col));

    assert(n <= unit->ninsns);
    if (!n || strcmp(unit->insns[n - 1].func->name, func) != 0)
        return 0;
    return dbg_unit_pc(unit, (uint32_t)(n - 1));
}

bool dbg_unit_label(const struct dbg_unit *unit, struct hd_str name, uint64_t *out_pc,
                    const struct dbg_func **out_func)
{
    const struct label *label = hd_map_get(&unit->labels, name);

    if (label) {
        *out_pc = dbg_unit_pc(unit, label->insn);
        *out_func = label->func;
        return true;
    }
    for (uint32_t i = 0; i < unit->nfuncs; i++) {
        if (hd_str_is(name, unit->funcs[i].name)) {
            *out_pc = dbg_unit_pc(unit, unit->funcs[i].first);
            *out_func = &unit->funcs[i];
            return true;
        }
    }
    return false;
}

const struct dbg_var *dbg_unit_var(const struct dbg_unit *unit, const struct dbg_func *func,
                                   struct hd_str name)
{
    const struct dbg_var *found = NULL;

    for (size_t i = 0; i < unit->vars.len; i++) {
        const struct dbg_var *v = &unit->vars.at[i];
        if (!hd_str_is(name, v->name))
            continue;
        if (func && v->func == func)
            return v;
        if (!found || !v->func)
            found = v;
    }
    return found;
}

const struct dbg_var *dbg_unit_var_at(const struct dbg_unit *unit, uint64_t address)
{
    for (size_t i = 0; i < unit->vars.len; i++) {
        const struct dbg_var *v = &unit->vars.at[i];
        if (v->kind != DBG_VAR_LOCAL && address >= v->at &&
            (address - v->at < v->size_B || address == v->at))
            return v;
    }
    return NULL;
}

bool dbg_func_reg(const struct dbg_func *func, struct hd_str name, uint32_t *out_reg,
                  const struct ptx_reg_decl **out_decl)
{
    for (const struct ptx_reg_decl *r = func->ptx->regs; r; r = r->next) {
        struct hd_str base = r->sym.name;
        uint64_t index = 0;
        size_t i = base.len;

        if (name.len < base.len || memcmp(name.ptr, base.ptr, base.len) != 0)
            continue;
        if (r->sym.is_range != (name.len > base.len))
            continue;
        for (; i < name.len && name.ptr[i] >= '0' && name.ptr[i] <= '9' && index < r->count; i++)
            index = index * 10 + (uint64_t)(name.ptr[i] - '0');
        if (i < name.len || index >= r->count)
            continue;
        *out_reg = r->base + (uint32_t)index * r->vec;
        *out_decl = r;
        return true;
    }
    return false;
}
