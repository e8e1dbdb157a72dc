/* Function bodies: scopes, labels, directives and instructions. */
#include "ptx/ptx_parse.h"

#include <assert.h>
#include <string.h>

#define MAX_OPERANDS 64

/* ---- directives ---- */

static bool stmt_tok_is(const struct ptx_parser *p, const char *text)
{
    const struct ptx_tok *tok = &p->lex.tok;
    return tok->kind == PTX_TOK_IDENT && tok->len == strlen(text) &&
           memcmp(tok->text, text, tok->len) == 0;
}

/* `, function_name label+off, inlined_at file line col` */
static enum hd_status stmt_parse_loc_inline(struct ptx_parser *p, struct ptx_loc *loc)
{
    HD_TRY(ptx_next(p));
    if (stmt_tok_is(p, "function_name")) {
        HD_TRY(ptx_next(p));
        if (!ptx_at(p, PTX_TOK_IDENT))
            return ptx_expected(p, "a label behind function_name");
        loc->function_name = ptx_dup(p, p->lex.tok.text, p->lex.tok.len);
        HD_TRY(ptx_next(p));
        HD_TRY(ptx_parse_offset(p, &loc->function_offset));
        HD_TRY(ptx_eat(p, ',', "',' behind the function name"));
    }
    if (!stmt_tok_is(p, "inlined_at"))
        return ptx_expected(p, "function_name or inlined_at");
    HD_TRY(ptx_next(p));
    loc->has_inlined = true;
    HD_TRY(ptx_eat_u32(p, "a file number", &loc->inlined_file));
    HD_TRY(ptx_eat_u32(p, "a line number", &loc->inlined_line));
    return ptx_eat_u32(p, "a column number", &loc->inlined_col);
}

enum hd_status ptx_parse_loc(struct ptx_parser *p, struct ptx_loc **out_loc)
{
    struct ptx_loc *loc;
    PTX_NEW(p, loc);
    HD_TRY(ptx_next(p));
    HD_TRY(ptx_eat_u32(p, "a file number", &loc->file));
    HD_TRY(ptx_eat_u32(p, "a line number", &loc->line));
    HD_TRY(ptx_eat_u32(p, "a column number", &loc->col));
    if (ptx_at(p, ','))
        HD_TRY(stmt_parse_loc_inline(p, loc));
    if (ptx_at(p, ';'))
        HD_TRY(ptx_next(p));
    *out_loc = loc;
    p->loc = loc;
    return HD_OK;
}

static enum hd_status stmt_parse_directive(struct ptx_parser *p)
{
    const struct ptx_word *word = ptx_tok_word(p);
    struct ptx_stmt_decl *stmt;
    if (word && word->space)
        return ptx_parse_var_decl(p, PTX_LINK_NONE);
    switch (word ? word->dir : PTX_DIR_NONE) {
    case PTX_DIR_LOC:
        HD_TRY(ptx_stmt_add_decl(p, PTX_STMT_LOC, &stmt));
        return ptx_parse_loc(p, &stmt->u.loc);
    case PTX_DIR_PRAGMA:
        HD_TRY(ptx_stmt_add_decl(p, PTX_STMT_PRAGMA, &stmt));
        return ptx_parse_pragma(p, &stmt->u.text);
    default:
        return ptx_expected(p, "a declaration, .loc, .pragma or an instruction");
    }
}

/* ---- labels ---- */

static enum hd_status stmt_parse_targets(struct ptx_parser *p, struct ptx_targets *targets,
                                         bool is_branch)
{
    size_t base = p->opstack.len;
    targets->is_branch = is_branch;
    p->insn_pending = p->pending.len;
    HD_TRY(ptx_next(p));
    for (;;) {
        if (!ptx_at(p, PTX_TOK_IDENT))
            return ptx_expected(p, is_branch ? "a label" : "a function");
        HD_TRY(is_branch && ptx_lex_peek(&p->lex) == '<' ? ptx_parse_label_range(p)
                                                         : ptx_parse_operand(p));
        if (!ptx_at(p, ','))
            break;
        HD_TRY(ptx_next(p));
    }
    HD_TRY(ptx_operands_take(p, base, &targets->items, &targets->count));
    return ptx_eat(p, ';', "',' or ';' behind the list of targets");
}

static enum hd_status stmt_parse_named_proto(struct ptx_parser *p, const struct ptx_sym *head)
{
    struct ptx_stmt_decl *stmt;
    struct ptx_proto *proto;
    PTX_NEW(p, proto);
    proto->sym = *head;
    proto->sym.kind = PTX_SYM_PROTO;
    HD_TRY(ptx_scope_declare(p, &proto->sym));
    HD_TRY(ptx_stmt_add_decl(p, PTX_STMT_PROTO, &stmt));
    stmt->u.proto = proto;
    HD_TRY(ptx_next(p));
    return ptx_parse_proto(p, proto);
}

static enum hd_status stmt_parse_named_targets(struct ptx_parser *p, const struct ptx_sym *head,
                                               bool is_branch)
{
    struct ptx_stmt_decl *stmt;
    struct ptx_targets *targets;
    PTX_NEW(p, targets);
    targets->sym = *head;
    targets->sym.kind = PTX_SYM_TARGETS;
    HD_TRY(ptx_scope_declare(p, &targets->sym));
    HD_TRY(ptx_stmt_add_decl(p, PTX_STMT_TARGETS, &stmt));
    stmt->u.targets = targets;
    return stmt_parse_targets(p, targets, is_branch);
}

static enum hd_status stmt_parse_label(struct ptx_parser *p)
{
    struct ptx_sym head = {0};
    ptx_sym_from_tok(p, &head, PTX_SYM_LABEL);
    HD_TRY(ptx_next(p));
    HD_TRY(ptx_eat(p, ':', "':' behind the label"));
    const struct ptx_word *word = ptx_tok_word(p);
    if (word && word->dir == PTX_DIR_CALLPROTOTYPE)
        return stmt_parse_named_proto(p, &head);
    if (word && (word->dir == PTX_DIR_CALLTARGETS || word->dir == PTX_DIR_BRANCHTARGETS))
        return stmt_parse_named_targets(p, &head, word->dir == PTX_DIR_BRANCHTARGETS);
    struct ptx_stmt_decl *stmt;
    struct ptx_label *label;
    PTX_NEW(p, label);
    label->sym = head;
    label->idx = p->func->nlabels++;
    HD_TRY(ptx_scope_declare(p, &label->sym));
    HD_TRY(ptx_stmt_add_decl(p, PTX_STMT_LABEL, &stmt));
    stmt->stmt.srcloc = head.srcloc;
    stmt->u.label = label;
    label->stmt = &stmt->stmt;
    return HD_OK;
}

/* ---- instructions ---- */

/* Modifiers set apart by blanks: `ld .global .u32`. Joins them with the opcode. */
static enum hd_status stmt_parse_spaced_form(struct ptx_parser *p, const char *opcode, size_t len,
                                             struct ptx_srcloc srcloc,
                                             const struct ptx_form **out_form)
{
    char text[512];
    assert(len <= sizeof(text));
    while (ptx_at(p, PTX_TOK_DOT)) {
        const struct ptx_tok *tok = &p->lex.tok;
        if (len + tok->len > sizeof(text))
            return ptx_fail(p, srcloc, "opcode is too long");
        if (opcode != text)
            memcpy(text, opcode, len);
        opcode = text;
        memcpy(text + len, tok->text, tok->len);
        len += tok->len;
        HD_TRY(ptx_next(p));
    }
    return ptx_form_get(p, opcode, len, ptx_hash_bytes(PTX_HASH_SEED, opcode, len), srcloc,
                        out_form);
}

/* The current token is the opcode's first word. */
static enum hd_status stmt_parse_form(struct ptx_parser *p, const struct ptx_form **out_form)
{
    ptx_lex_opcode(&p->lex);
    const struct ptx_tok tok = p->lex.tok;
    struct ptx_srcloc srcloc = ptx_here(p);
    HD_TRY(ptx_next(p));
    if (HD_UNLIKELY(ptx_at(p, PTX_TOK_DOT)) && tok.len < 256)
        return stmt_parse_spaced_form(p, tok.text, tok.len, srcloc, out_form);
    return ptx_form_get(p, tok.text, tok.len, tok.hash, srcloc, out_form);
}

static enum hd_status stmt_parse_guard(struct ptx_parser *p, struct ptx_operand *guard)
{
    HD_TRY(ptx_next(p));
    *guard = (struct ptx_operand){.kind = PTX_OPND_REG, .srcloc = ptx_here(p)};
    if (ptx_at(p, '!')) {
        guard->invert = true;
        HD_TRY(ptx_next(p));
    }
    uint32_t index;
    struct ptx_sym *sym = ptx_at(p, PTX_TOK_IDENT) ? ptx_scope_resolve(p, &index) : NULL;
    if (!sym || sym->kind != PTX_SYM_REG)
        return ptx_expected(p, "a predicate register behind '@'");
    guard->u.reg = (struct ptx_reg_decl *)sym;
    guard->index = index;
    if (guard->u.reg->type != PTX_TYPE_PRED)
        return ptx_expected(p, "a predicate register behind '@'");
    return ptx_next(p);
}

static enum hd_status stmt_push_empty(struct ptx_parser *p, enum ptx_operand_kind kind)
{
    struct ptx_operand operand = {.kind = (uint8_t)kind, .srcloc = ptx_here(p)};
    return hd_vec_push(&p->opstack, operand) ? HD_OK : HD_NO_MEMORY;
}

/* A tuple of call operands in parentheses. */
static enum hd_status stmt_push_tuple(struct ptx_parser *p)
{
    struct ptx_operand tuple = {.kind = PTX_OPND_TUPLE, .srcloc = ptx_here(p)};
    size_t base = p->opstack.len;
    HD_TRY(ptx_next(p));
    while (!ptx_at(p, ')')) {
        HD_TRY(ptx_parse_operand(p));
        if (!ptx_at(p, ','))
            break;
        HD_TRY(ptx_next(p));
    }
    HD_TRY(ptx_eat(p, ')', "',' or ')' in the call"));
    HD_TRY(ptx_operands_take(p, base, &tuple.items, &tuple.nitems));
    return hd_vec_push(&p->opstack, tuple) ? HD_OK : HD_NO_MEMORY;
}

/* Brings every call to four operands: returns, target, arguments, prototype. */
static enum hd_status stmt_parse_call(struct ptx_parser *p)
{
    if (ptx_at(p, '(')) {
        HD_TRY(stmt_push_tuple(p));
        HD_TRY(ptx_eat(p, ',', "',' behind the return list"));
    } else {
        HD_TRY(stmt_push_empty(p, PTX_OPND_TUPLE));
    }
    if (!ptx_at(p, PTX_TOK_IDENT))
        return ptx_expected(p, "a function or register to call");
    HD_TRY(ptx_parse_operand(p));
    bool more = ptx_at(p, ',');
    if (more)
        HD_TRY(ptx_next(p));
    if (more && ptx_at(p, '(')) {
        HD_TRY(stmt_push_tuple(p));
        more = ptx_at(p, ',');
        if (more)
            HD_TRY(ptx_next(p));
    } else {
        HD_TRY(stmt_push_empty(p, PTX_OPND_TUPLE));
    }
    if (!more)
        return stmt_push_empty(p, PTX_OPND_NONE);
    if (!ptx_at(p, PTX_TOK_IDENT))
        return ptx_expected(p, "a prototype or list of targets");
    return ptx_parse_operand(p);
}

static enum hd_status stmt_parse_operands(struct ptx_parser *p, size_t base)
{
    for (;;) {
        HD_TRY(ptx_parse_operand(p));
        if (!ptx_at(p, ','))
            return HD_OK;
        if (p->opstack.len - base >= MAX_OPERANDS)
            return ptx_fail(p, ptx_here(p), "more than %u operands", MAX_OPERANDS);
        HD_TRY(ptx_next(p));
    }
}

/* Loads and stores of one element take it in braces, too, as ptxas does: `st.b32 [a], {%r1};`. */
static void stmt_lists_of_one_to_elements(struct ptx_insn *insn)
{
    enum ptx_op op = (enum ptx_op)insn->form->op;
    if ((op != PTX_OP_LD && op != PTX_OP_LDU && op != PTX_OP_ST) || insn->form->vec > 1)
        return;
    for (uint32_t i = 0; i < insn->nops; i++) {
        struct ptx_operand *operand = &insn->ops[i];
        if (operand->kind == PTX_OPND_VEC && operand->nitems == 1)
            *operand = operand->items[0];
    }
}

static enum hd_status stmt_parse_insn(struct ptx_parser *p)
{
    struct ptx_operand guard = {.kind = PTX_OPND_NONE};
    const struct ptx_form *form;
    size_t base = p->opstack.len;
    p->insn_pending = p->pending.len;
    if (ptx_at(p, '@'))
        HD_TRY(stmt_parse_guard(p, &guard));
    if (!ptx_at(p, PTX_TOK_IDENT))
        return ptx_expected(p, "an instruction");
    struct ptx_srcloc srcloc = ptx_here(p);
    HD_TRY(stmt_parse_form(p, &form));
    if (form->op == PTX_OP_CALL)
        HD_TRY(stmt_parse_call(p));
    else if (!ptx_at(p, ';'))
        HD_TRY(stmt_parse_operands(p, base));
    if (HD_UNLIKELY(!ptx_at(p, ';')))
        return ptx_expected(p, "',' or ';' behind an operand");
    size_t nops = p->opstack.len - base;
    assert(p->opstack.len >= base && (form->op != PTX_OP_CALL || nops == 4));
    struct ptx_insn *insn = ptx_new_bytes(p, sizeof(*insn) + nops * sizeof(insn->ops[0]));
    if (!insn)
        return HD_NO_MEMORY;
    insn->stmt.kind = PTX_STMT_INSN;
    insn->stmt.srcloc = srcloc;
    insn->form = form;
    insn->guard = guard;
    insn->nops = (uint32_t)nops;
    ptx_operands_place(p, base, insn->ops);
    /* `array[2]` is an element's address where brackets are expected, too. */
    const char *roles = ptx_op_info((enum ptx_op)insn->form->op)->sig;
    for (uint32_t i = 0; i < insn->nops && roles[i] && roles[i] != '+'; i++) {
        struct ptx_operand *operand = &insn->ops[i];
        if (operand->kind == PTX_OPND_SYM && operand->is_element && roles[i] == 'A') {
            operand->base = operand->kind;
            operand->kind = PTX_OPND_ADDR;
        }
    }
    stmt_lists_of_one_to_elements(insn);
    ptx_stmt_append(p, &insn->stmt);
    p->func->ninsns++;
    return ptx_next(p);
}

/* ---- bodies ---- */

static enum hd_status stmt_parse_block_mark(struct ptx_parser *p, enum ptx_stmt_kind kind)
{
    struct ptx_stmt *stmt;
    PTX_NEW(p, stmt);
    stmt->kind = (uint8_t)kind;
    stmt->srcloc = ptx_here(p);
    assert(kind == PTX_STMT_BLOCK_BEGIN || kind == PTX_STMT_BLOCK_END);
    ptx_stmt_append(p, stmt);
    HD_TRY(kind == PTX_STMT_BLOCK_BEGIN ? ptx_scope_push(p) : ptx_scope_pop(p));
    return ptx_next(p);
}

static bool stmt_at_label(const struct ptx_parser *p)
{
    const char *next = p->lex.next;
    if (*next == '.')
        return false;
    return *next == ':' || (p->lex.tok.len && ptx_lex_peek(&p->lex) == ':');
}

static enum hd_status parse_stmt(struct ptx_parser *p)
{
    switch (p->lex.tok.kind) {
    case PTX_TOK_IDENT:
        if (stmt_at_label(p))
            return stmt_parse_label(p);
        return stmt_parse_insn(p);
    case '@':
        return stmt_parse_insn(p);
    case PTX_TOK_DOT:
        return stmt_parse_directive(p);
    case '{':
        return stmt_parse_block_mark(p, PTX_STMT_BLOCK_BEGIN);
    case ';':
        return ptx_next(p);
    default:
        return ptx_expected(p, "an instruction, a declaration, a label or '}'");
    }
}

/* The current token is the body's '}'. */
static void stmt_extent_end(const struct ptx_parser *p, struct ptx_extent *extent)
{
    const struct ptx_lexer *lex = &p->lex;
    extent->end = (uint32_t)(lex->next - lex->text);
    extent->line = lex->line;
    extent->line_start = (uint32_t)(lex->line_start - lex->text);
    assert(extent->end > extent->begin && extent->line_start < extent->end);
    for (const struct ptx_var *var = p->func->vars; var; var = var->next)
        extent->outlives |= var->space != PTX_SPACE_LOCAL && var->space != PTX_SPACE_PARAM &&
                            var->space != PTX_SPACE_SHARED;
}

enum hd_status ptx_parse_body(struct ptx_parser *p, struct ptx_func *func)
{
    p->func = func;
    p->last_stmt = NULL;
    func->extent.begin = (uint32_t)(p->lex.tok.text - p->lex.text);
    assert(!func->body);
    uint32_t outer = p->depth;
    HD_TRY(ptx_scope_push(p));
    HD_TRY(ptx_next(p));
    for (;;) {
        p->nesting = 0;
        if (!ptx_at(p, '}')) {
            HD_TRY(parse_stmt(p));
            continue;
        }
        if (p->depth == outer + 1)
            break;
        HD_TRY(stmt_parse_block_mark(p, PTX_STMT_BLOCK_END));
    }
    assert(p->depth == outer + 1 && !p->opstack.len);
    stmt_extent_end(p, &func->extent);
    HD_TRY(ptx_scope_pop(p));
    return ptx_next(p);
}
