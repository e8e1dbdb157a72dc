/* Initialisers of variables, and the data lines of .section. */
#include "ptx/ptx_parse.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static enum hd_status init_push(struct ptx_parser *p, const struct ptx_init *init)
{
    return hd_vec_push(&p->initstack, *init) ? HD_OK : HD_NO_MEMORY;
}

static enum hd_status init_take(struct ptx_parser *p, size_t base, struct ptx_init **out_list,
                                uint32_t *out_count)
{
    size_t count = p->initstack.len - base;
    *out_count = (uint32_t)count;
    assert(base <= p->initstack.len);
    *out_list = ptx_new_bytes(p, count * sizeof(**out_list) + 1);
    if (!*out_list)
        return HD_NO_MEMORY;
    if (count)
        memcpy(*out_list, &p->initstack.at[base], count * sizeof(**out_list));
    p->initstack.len = base;
    for (size_t i = p->insn_pending; i < p->pending.len; i++) {
        struct ptx_pending *use = &p->pending.at[i];
        if (use->stack_idx != PTX_PLACED && use->stack_idx >= base &&
            use->stack_idx - base < count) {
            use->u.init = &(*out_list)[use->stack_idx - base];
            use->stack_idx = PTX_PLACED;
        }
    }
    return HD_OK;
}

/* ---- strings ---- */

static unsigned init_escape_value(const char **at, const char *end)
{
    static const char names[] = "abfnrtv", values[] = "\a\b\f\n\r\t\v";
    const char *p = *at;
    const char *found = *p ? strchr(names, *p) : NULL;
    unsigned value = 0;
    if (found) {
        *at = p + 1;
        return (uint8_t)values[found - names];
    }
    if (*p >= '0' && *p <= '7') {
        for (unsigned n = 0; n < 3 && p < end && *p >= '0' && *p <= '7'; n++, p++)
            value = value * 8 + (unsigned)(*p - '0');
        *at = p;
        return value & 0xff;
    }
    *at = p + 1;
    return (uint8_t)*p;
}

static enum hd_status init_parse_string(struct ptx_parser *p, struct ptx_init *init)
{
    const struct ptx_tok *tok = &p->lex.tok;
    const char *at = tok->text, *end = tok->text + tok->len;
    char *text = ptx_new_bytes(p, (size_t)tok->len + 1);
    if (!text)
        return HD_NO_MEMORY;
    uint32_t len = 0;
    while (at < end) {
        if (*at == '\\' && at + 1 < end) {
            at++;
            text[len++] = (char)init_escape_value(&at, end);
        } else {
            text[len++] = *at++;
        }
    }
    assert(len <= tok->len); /* escapes only shrink */
    init->kind = PTX_INIT_STRING;
    init->u.text = text;
    init->count = len;
    return ptx_next(p);
}

/* ---- initialisers ---- */

static bool init_tok_is(const struct ptx_parser *p, const char *text)
{
    const struct ptx_tok *tok = &p->lex.tok;
    return tok->kind == PTX_TOK_IDENT && tok->len == strlen(text) &&
           memcmp(tok->text, text, tok->len) == 0;
}

/* The current IDENT is a variable or function. */
static enum hd_status init_parse_symbol(struct ptx_parser *p, struct ptx_init *init)
{
    const struct ptx_tok *tok = &p->lex.tok;
    if (!ptx_at(p, PTX_TOK_IDENT))
        return ptx_expected(p, "the name of a variable or function");
    init->kind = PTX_INIT_SYM;
    init->u.sym = ptx_scope_find(p, tok->text, tok->len, tok->hash, false);
    if (!init->u.sym)
        HD_TRY(ptx_pending_add(p, (struct ptx_pending){
                                      .kind = PTX_PENDING_INIT,
                                      .stack_idx = (uint32_t)p->initstack.len,
                                      .name = ptx_dup(p, tok->text, tok->len),
                                      .hash = tok->hash,
                                      .srcloc = init->srcloc,
                                  }));
    HD_TRY(ptx_next(p));
    return ptx_parse_offset(p, &init->offset);
}

static enum hd_status init_parse_generic(struct ptx_parser *p, struct ptx_init *init)
{
    HD_TRY(ptx_next(p));
    HD_TRY(ptx_eat(p, '(', "'(' behind generic"));
    HD_TRY(init_parse_symbol(p, init));
    HD_TRY(ptx_eat(p, ')', "')'"));
    init->generic = true;
    return ptx_parse_offset(p, &init->offset);
}

static enum hd_status init_parse_number(struct ptx_parser *p, struct ptx_init *init)
{
    struct ptx_const value;
    HD_TRY(ptx_parse_const(p, &value));
    if (value.kind == PTX_TOK_INT && ptx_at(p, '(')) {
        init->mask = value.bits;
        HD_TRY(ptx_next(p));
        HD_TRY(init_tok_is(p, "generic") ? init_parse_generic(p, init)
                                         : init_parse_symbol(p, init));
        return ptx_eat(p, ')', "')' behind the masked address");
    }
    init->kind = value.kind == PTX_TOK_INT   ? PTX_INIT_INT
                 : value.kind == PTX_TOK_F32 ? PTX_INIT_F32
                                             : PTX_INIT_F64;
    init->u.bits = value.bits;
    init->is_unsigned = value.is_unsigned;
    return HD_OK;
}

/* `filter_mode = nearest` of a .samplerref */
static enum hd_status init_parse_field(struct ptx_parser *p, struct ptx_init *init)
{
    init->kind = PTX_INIT_FIELD;
    init->u.text = ptx_dup(p, p->lex.tok.text, p->lex.tok.len).ptr;
    HD_TRY(ptx_next(p));
    HD_TRY(ptx_eat(p, '=', "'=' behind the field"));
    if (!ptx_at(p, PTX_TOK_IDENT) && !ptx_at(p, PTX_TOK_INT))
        return ptx_expected(p, "a value of the field");
    init->text2 = ptx_dup(p, p->lex.tok.text, p->lex.tok.len).ptr;
    return ptx_next(p);
}

static enum hd_status init_parse_value(struct ptx_parser *p);

static enum hd_status init_parse_braces(struct ptx_parser *p, struct ptx_init *init)
{
    size_t base = p->initstack.len;
    if (++p->nesting > PTX_MAX_NESTING)
        return ptx_fail(p, init->srcloc, "initialiser is nested too deeply");
    init->kind = PTX_INIT_LIST;
    HD_TRY(ptx_next(p));
    while (!ptx_at(p, '}')) {
        HD_TRY(init_parse_value(p));
        if (!ptx_at(p, ','))
            break;
        HD_TRY(ptx_next(p));
    }
    HD_TRY(ptx_eat(p, '}', "',' or '}' in the initialiser"));
    p->nesting--;
    return init_take(p, base, &init->u.list, &init->count);
}

/* Pushes one value. */
static enum hd_status init_parse_value(struct ptx_parser *p)
{
    struct ptx_init init = {.srcloc = ptx_here(p)};
    if (ptx_at(p, '{'))
        HD_TRY(init_parse_braces(p, &init));
    else if (ptx_at(p, PTX_TOK_STRING))
        HD_TRY(init_parse_string(p, &init));
    else if (init_tok_is(p, "generic") && ptx_lex_peek(&p->lex) == '(')
        HD_TRY(init_parse_generic(p, &init));
    else if (ptx_at(p, PTX_TOK_IDENT) && ptx_lex_peek(&p->lex) == '=')
        HD_TRY(init_parse_field(p, &init));
    else if (ptx_at(p, PTX_TOK_IDENT) && !init_tok_is(p, "WARP_SZ"))
        HD_TRY(init_parse_symbol(p, &init));
    else
        HD_TRY(init_parse_number(p, &init));
    return init_push(p, &init);
}

/* Number of elements that the outermost level of an initialiser gives. */
static uint64_t init_outer_count(const struct ptx_var *var, const struct ptx_init *init)
{
    if (init->kind == PTX_INIT_STRING)
        return init->count;
    if (init->kind != PTX_INIT_LIST)
        return 1;
    uint64_t inner = var->vec;
    for (unsigned i = 1; i < var->ndims; i++)
        if (__builtin_mul_overflow(inner, var->dims[i], &inner))
            return UINT64_MAX; /* the caller finds it too big */
    if (init->count && init->u.list[0].kind == PTX_INIT_LIST)
        return init->count;
    return inner ? (init->count + inner - 1) / inner : 0;
}

enum hd_status ptx_parse_init(struct ptx_parser *p, struct ptx_var *var)
{
    struct ptx_srcloc srcloc = ptx_here(p);
    size_t base = p->initstack.len;
    uint32_t count;
    p->insn_pending = p->pending.len;
    if (var->space != PTX_SPACE_GLOBAL && var->space != PTX_SPACE_CONST &&
        var->space != PTX_SPACE_TEX)
        return ptx_fail(p, srcloc, "initialiser of a variable that is not .global or .const");
    HD_TRY(init_parse_value(p));
    assert(p->initstack.len == base + 1);
    HD_TRY(init_take(p, base, &var->init, &count));
    if (!var->is_array || var->dims[0])
        return HD_OK;
    assert(count == 1 && var->ndims);
    var->dims[0] = init_outer_count(var, var->init);
    var->size_B = (uint64_t)var->vec * ((ptx_type_bits((enum ptx_type)var->type) + 7) / 8);
    for (unsigned i = 0; i < var->ndims; i++)
        if (__builtin_mul_overflow(var->size_B, var->dims[i], &var->size_B) ||
            var->size_B > PTX_MAX_VAR_B)
            return ptx_fail(p, srcloc, "variable is too big");
    return HD_OK;
}

/* ---- .section ---- */

/* LLVM writes names with dots here that it has replaced elsewhere: `__func__._Z1fv`. */
static enum hd_status init_parse_dotted(struct ptx_parser *p, struct ptx_init *init)
{
    const struct ptx_tok *tok = &p->lex.tok;
    while (ptx_at(p, PTX_TOK_DOT) && tok->line == init->srcloc.line) {
        init->u.text = hd_arena_printf(p->arena, "%s%.*s", init->u.text, (int)tok->len, tok->text);
        HD_TRY(ptx_next(p));
    }
    return HD_OK;
}

static enum hd_status init_parse_section_name(struct ptx_parser *p, struct ptx_init *init)
{
    const struct ptx_tok *tok = &p->lex.tok;
    init->kind = PTX_INIT_NAME;
    init->u.text = ptx_dup(p, tok->text, tok->len).ptr;
    HD_TRY(ptx_next(p));
    HD_TRY(init_parse_dotted(p, init));
    char next = ptx_lex_peek(&p->lex);
    if (ptx_at(p, '-') && (next < '0' || next > '9')) {
        HD_TRY(ptx_next(p));
        if (!ptx_at(p, PTX_TOK_IDENT) && !ptx_at(p, PTX_TOK_DOT))
            return ptx_expected(p, "a label behind '-'");
        init->kind = PTX_INIT_DIFF;
        init->text2 = ptx_dup(p, p->lex.tok.text, p->lex.tok.len).ptr;
        return ptx_next(p);
    }
    return ptx_parse_offset(p, &init->offset);
}

static enum hd_status init_parse_section_values(struct ptx_parser *p, struct ptx_dwarf_line *line)
{
    size_t base = p->initstack.len;
    for (;;) {
        struct ptx_init init = {.srcloc = ptx_here(p)};
        if (ptx_at(p, PTX_TOK_IDENT) || ptx_at(p, PTX_TOK_DOT))
            HD_TRY(init_parse_section_name(p, &init));
        else if (ptx_at(p, PTX_TOK_STRING))
            HD_TRY(init_parse_string(p, &init));
        else
            HD_TRY(init_parse_number(p, &init));
        HD_TRY(init_push(p, &init));
        if (!ptx_at(p, ','))
            break;
        HD_TRY(ptx_next(p));
    }
    return init_take(p, base, &line->values, &line->count);
}

static enum hd_status init_parse_section_line(struct ptx_parser *p, struct ptx_dwarf_line *line)
{
    if (ptx_at(p, PTX_TOK_IDENT)) {
        line->label = ptx_dup(p, p->lex.tok.text, p->lex.tok.len);
        HD_TRY(ptx_next(p));
        return ptx_eat(p, ':', "':' behind the label");
    }
    const struct ptx_word *word = ptx_tok_word(p);
    if (!word || ptx_type_class((enum ptx_type)word->type) != PTX_CLASS_BITS)
        return ptx_expected(p, "a label, .b8, .b16, .b32, .b64 or '}' in the section");
    line->type = word->type;
    HD_TRY(ptx_next(p));
    HD_TRY(init_parse_section_values(p, line));
    if (ptx_at(p, ';'))
        return ptx_next(p);
    return HD_OK;
}

enum hd_status ptx_parse_section(struct ptx_parser *p, struct ptx_section *section)
{
    struct ptx_dwarf_line **link = &section->lines;
    p->insn_pending = p->pending.len;
    if (!ptx_at(p, PTX_TOK_DOT))
        return ptx_expected(p, "the name of the section");
    section->name = ptx_dup(p, p->lex.tok.text, p->lex.tok.len);
    HD_TRY(ptx_next(p));
    HD_TRY(ptx_eat(p, '{', "'{' of the section"));
    while (!ptx_at(p, '}')) {
        struct ptx_dwarf_line *line;
        PTX_NEW(p, line);
        HD_TRY(init_parse_section_line(p, line));
        *link = line;
        link = &line->next;
    }
    return ptx_next(p);
}
