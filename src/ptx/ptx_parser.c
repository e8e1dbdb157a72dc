/* What all files of the parser share: errors, tokens, and lists that grow at their end. */
#include "ptx/ptx_parse.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- errors and tokens ---- */

enum hd_status ptx_expected(struct ptx_parser *p, const char *what)
{
    const struct ptx_tok *tok = &p->lex.tok;
    const char *cut = tok->len > 80 ? "..." : "";
    if (tok->kind == PTX_TOK_EOF)
        return hd_error(HD_BAD_PTX, "%s:%u:%u: expected %s, found the end of the text", p->lex.name,
                        tok->line, tok->col, what);
    if (tok->kind == PTX_TOK_STRING)
        return hd_error(HD_BAD_PTX, "%s:%u:%u: expected %s, found string \"%.*s%s\"", p->lex.name,
                        tok->line, tok->col, what, (int)HD_MIN(tok->len, 80u), tok->text, cut);
    return hd_error(HD_BAD_PTX, "%s:%u:%u: expected %s, found '%.*s%s'", p->lex.name, tok->line,
                    tok->col, what, (int)HD_MIN(tok->len, 80u), tok->text, cut);
}

enum hd_status ptx_fail(struct ptx_parser *p, struct ptx_srcloc srcloc, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return hd_error(HD_BAD_PTX, "%s:%u:%u: %s", p->lex.name, srcloc.line, srcloc.col, text);
}

enum hd_status ptx_eat(struct ptx_parser *p, unsigned kind, const char *what)
{
    if (HD_UNLIKELY(!ptx_at(p, kind)))
        return ptx_expected(p, what);
    return ptx_next(p);
}

enum hd_status ptx_eat_u32(struct ptx_parser *p, const char *what, uint32_t *out_value)
{
    if (!ptx_at(p, PTX_TOK_INT) || p->lex.tok.bits > UINT32_MAX)
        return ptx_expected(p, what);
    *out_value = (uint32_t)p->lex.tok.bits;
    return ptx_next(p);
}

const struct ptx_word *ptx_tok_word(const struct ptx_parser *p)
{
    const struct ptx_tok *tok = &p->lex.tok;
    return tok->kind == PTX_TOK_DOT ? ptx_word_find(tok->text + 1, tok->len - 1) : NULL;
}

void *ptx_new_bytes(struct ptx_parser *p, size_t size_B)
{
    return hd_arena_try_alloc(p->arena, size_B);
}

struct hd_str ptx_dup(struct ptx_parser *p, const char *text, size_t len)
{
    char *copy = ptx_new_bytes(p, len + 1);
    if (!copy)
        return HD_STR("");
    memcpy(copy, text, len);
    return (struct hd_str){copy, len};
}

/* ---- lists ---- */

enum hd_status ptx_item_add(struct ptx_parser *p, struct ptx_item **out_item,
                            enum ptx_item_kind kind)
{
    struct ptx_item *item;
    PTX_NEW(p, item);
    item->kind = (uint8_t)kind;
    if (p->last_item)
        p->last_item->next = item;
    else
        p->module->items = item;
    p->last_item = item;
    *out_item = item;
    return HD_OK;
}

void ptx_stmt_append(struct ptx_parser *p, struct ptx_stmt *stmt)
{
    assert(!stmt->next && !p->last_stmt == !p->func->body);
    stmt->loc = p->loc;
    if (p->last_stmt)
        p->last_stmt->next = stmt;
    else
        p->func->body = stmt;
    p->last_stmt = stmt;
}

void ptx_reg_append(struct ptx_parser *p, struct ptx_reg_decl *reg)
{
    struct ptx_reg_decl **last = p->func ? &p->last_reg : &p->last_module_reg;
    assert(!reg->next && (!*last || !(*last)->next));
    if (*last)
        (*last)->next = reg;
    else if (p->func)
        p->func->regs = reg;
    else
        p->module->regs = reg;
    *last = reg;
}

enum hd_status ptx_stmt_add_decl(struct ptx_parser *p, enum ptx_stmt_kind kind,
                                 struct ptx_stmt_decl **out_stmt)
{
    struct ptx_stmt_decl *stmt;
    PTX_NEW(p, stmt);
    stmt->stmt.kind = (uint8_t)kind;
    stmt->stmt.srcloc = ptx_here(p);
    ptx_stmt_append(p, &stmt->stmt);
    *out_stmt = stmt;
    return HD_OK;
}

/* ---- directives of modules, functions and bodies ---- */

enum hd_status ptx_parse_pragma(struct ptx_parser *p, struct hd_str *out_text)
{
    HD_TRY(ptx_next(p));
    if (!ptx_at(p, PTX_TOK_STRING))
        return ptx_expected(p, "a string behind .pragma");
    const char *first = p->lex.tok.text;
    const char *end = first + p->lex.tok.len;
    HD_TRY(ptx_next(p));
    while (ptx_at(p, ',')) { /* a list of strings is kept as one text with its quotes and commas */
        HD_TRY(ptx_next(p));
        if (!ptx_at(p, PTX_TOK_STRING))
            return ptx_expected(p, "a string behind ','");
        end = p->lex.tok.text + p->lex.tok.len;
        HD_TRY(ptx_next(p));
    }
    *out_text = ptx_dup(p, first, (size_t)(end - first));
    return ptx_eat(p, ';', "';' behind .pragma");
}
