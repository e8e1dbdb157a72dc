/*
 * Bodies on demand against the whole parse: reopen_compare() opens a text that ptx_parse() took,
 * with the extents that it found, reads the bodies in the order that `seed` says, and compares
 * everything: statements, places, operands and which declaration each operand means. ptx_verify()
 * has to agree, too. NULL when all is the same; otherwise what is not.
 */
#ifndef HD_TESTS_REOPEN_H
#define HD_TESTS_REOPEN_H

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "ptx/ptx.h"

struct reopen_funcs {
    HD_VEC(const struct ptx_func *) list;
    HD_VEC(struct ptx_extent) extents;
};

static inline bool reopen_collect(struct reopen_funcs *funcs, const struct ptx_module *module)
{
    bool done = true;
    for (const struct ptx_func *f = module->funcs; f; f = f->next_func)
        if (f->has_body)
            done &= hd_vec_push(&funcs->list, f) && hd_vec_push(&funcs->extents, f->extent);
    return done;
}

static inline void reopen_funcs_fini(struct reopen_funcs *funcs)
{
    hd_vec_fini(&funcs->list);
    hd_vec_fini(&funcs->extents);
}

static inline bool reopen_same_srcloc(struct ptx_srcloc a, struct ptx_srcloc b)
{
    return a.line == b.line && a.col == b.col;
}

static inline bool reopen_same_sym(const struct ptx_sym *a, const struct ptx_sym *b)
{
    if (!a || !b)
        return a == b;
    return a->kind == b->kind && a->depth == b->depth && a->is_range == b->is_range &&
           reopen_same_srcloc(a->srcloc, b->srcloc) && hd_str_eq(a->name, b->name);
}

static inline bool reopen_same_reg(const struct ptx_reg_decl *a, const struct ptx_reg_decl *b)
{
    return reopen_same_sym(&a->sym, &b->sym) && a->type == b->type && a->vec == b->vec &&
           a->count == b->count && a->base == b->base && a->global == b->global;
}

static inline bool reopen_same_operand(const struct ptx_operand *a, const struct ptx_operand *b)
{
    unsigned holds = a->kind == PTX_OPND_ADDR ? a->base : a->kind;
    bool same = a->kind == b->kind && a->base == b->base && a->comp == b->comp &&
                a->invert == b->invert && a->negate == b->negate &&
                a->is_unsigned == b->is_unsigned && a->is_element == b->is_element &&
                a->index == b->index && a->offset == b->offset && a->nitems == b->nitems &&
                a->index2 == b->index2 && reopen_same_srcloc(a->srcloc, b->srcloc) &&
                !a->subscript == !b->subscript;
    if (!same)
        return false;
    if (holds == PTX_OPND_REG)
        same = reopen_same_reg(a->u.reg, b->u.reg);
    else if (holds == PTX_OPND_SYM)
        same = reopen_same_sym(a->u.sym, b->u.sym);
    else if (holds == PTX_OPND_LABEL)
        same = reopen_same_sym(&a->u.label->sym, &b->u.label->sym) &&
               a->u.label->idx == b->u.label->idx;
    else
        same = a->u.bits == b->u.bits;
    for (uint32_t i = 0; same && i < a->nitems; i++)
        same = reopen_same_operand(&a->items[i], &b->items[i]);
    return same && (!a->subscript || reopen_same_operand(a->subscript, b->subscript));
}

static inline bool reopen_same_insn(const struct ptx_insn *a, const struct ptx_insn *b)
{
    bool same = hd_str_eq(a->form->text, b->form->text) && a->form->op == b->form->op &&
                a->nops == b->nops && reopen_same_operand(&a->guard, &b->guard);
    for (uint32_t i = 0; same && i < a->nops; i++)
        same = reopen_same_operand(&a->ops[i], &b->ops[i]);
    return same;
}

static inline bool reopen_same_loc(const struct ptx_loc *a, const struct ptx_loc *b)
{
    if (!a || !b)
        return a == b;
    return a->file == b->file && a->line == b->line && a->col == b->col &&
           a->has_inlined == b->has_inlined && a->inlined_line == b->inlined_line;
}

static inline bool reopen_same_stmt(const struct ptx_stmt *a, const struct ptx_stmt *b)
{
    if (a->kind != b->kind || !reopen_same_srcloc(a->srcloc, b->srcloc) ||
        !reopen_same_loc(a->loc, b->loc))
        return false;
    return a->kind != PTX_STMT_INSN ||
           reopen_same_insn((const struct ptx_insn *)a, (const struct ptx_insn *)b);
}

static inline const char *reopen_compare_func(const struct ptx_func *a, const struct ptx_func *b)
{
    const struct ptx_stmt *s = a->body, *t = b->body;
    const struct ptx_reg_decl *r = a->regs, *q = b->regs;
    const struct ptx_var *v = a->vars, *w = b->vars;

    for (; s && t && reopen_same_stmt(s, t); s = s->next, t = t->next)
        ;
    for (; r && q && reopen_same_reg(r, q); r = r->next, q = q->next)
        ;
    for (; v && w && reopen_same_sym(&v->sym, &w->sym); v = v->next, w = w->next)
        ;
    if (s || t)
        return "a statement";
    if (r || q || a->nregs != b->nregs)
        return "the registers";
    if (v || w)
        return "the variables";
    return a->nlabels != b->nlabels || a->ninsns != b->ninsns ? "a count" : NULL;
}

/* Bodies are read from some function on, round and round, `step` at a time. */
static inline const char *reopen_read(const struct reopen_funcs *whole,
                                      const struct ptx_module *module, uint64_t seed)
{
    struct reopen_funcs later = {0};
    const char *why = NULL;
    size_t count;

    if (!reopen_collect(&later, module))
        return NULL;
    count = later.list.len;
    if (count != whole->list.len)
        why = "the number of functions";
    for (size_t i = 0; i < count && !why; i++) {
        size_t at = (size_t)((seed % count + (seed & 1 ? i : count - 1 - i)) % count);
        enum hd_status status = ptx_func_read(later.list.at[at]);

        if (status == HD_OK)
            why = reopen_compare_func(whole->list.at[at], later.list.at[at]);
        else if (status != HD_NO_MEMORY)
            why = hd_error_message();
    }
    reopen_funcs_fini(&later);
    return why;
}

/* When all bodies are there, the texts must be the same, too. */
static inline const char *reopen_print(const struct ptx_module *whole,
                                       const struct ptx_module *later)
{
    struct hd_buf a = {0}, b = {0};
    bool same;

    ptx_print(whole, &a);
    ptx_print(later, &b);
    same = a.failed || b.failed || (a.len == b.len && (!a.len || !memcmp(a.ptr, b.ptr, a.len)));
    hd_buf_fini(&a);
    hd_buf_fini(&b);
    return same ? NULL : "the printed text";
}

static inline bool reopen_found(void *user, const struct ptx_extent *extent)
{
    struct reopen_funcs *funcs = user;
    return hd_vec_push(&funcs->extents, *extent);
}

/* ptx_verify() against ptx_check(), which gave `want`: the same verdict, the same extents. */
static inline const char *reopen_verify(const char *text, size_t len,
                                        const struct reopen_funcs *whole, enum hd_status want)
{
    struct reopen_funcs found = {0};
    size_t size_B = whole->extents.len * sizeof(struct ptx_extent);
    enum hd_status status = ptx_verify(text, len, "t", reopen_found, &found);
    const char *why = NULL;

    if (status != HD_NO_MEMORY && want != HD_NO_MEMORY && status != want)
        why = "the verdict";
    else if (status == HD_OK && (found.extents.len != whole->extents.len ||
                                 (size_B && memcmp(found.extents.at, whole->extents.at, size_B))))
        why = "the extents that were verified";
    reopen_funcs_fini(&found);
    return why;
}

static inline const char *reopen_compare(const char *text, size_t len,
                                         const struct ptx_module *whole, uint64_t seed)
{
    struct reopen_funcs funcs = {0};
    struct ptx_module *module = NULL;
    char *copy = hd_alloc(len + 1); /* the text may have no NUL behind it */
    const char *why = NULL;
    enum hd_status status;

    if (copy && reopen_collect(&funcs, whole)) {
        memcpy(copy, text, len);
        why = reopen_verify(copy, len, &funcs, ptx_check(whole));
        status = ptx_open(copy, len, "t", funcs.extents.at, funcs.extents.len, &module);
        if (status == HD_OK && !why)
            why = reopen_read(&funcs, module, seed);
        else if (status != HD_OK && status != HD_NO_MEMORY)
            why = hd_error_message();
        if (status == HD_OK && !why)
            why = reopen_print(whole, module);
    }
    ptx_close(module);
    reopen_funcs_fini(&funcs);
    hd_free(copy);
    return why;
}

#endif
