/* Operands: one grammar for all opcodes; ptx_check() knows which kinds fit where. */
#include "ptx/ptx_parse.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static enum hd_status operand_push(struct ptx_parser *p, const struct ptx_operand *operand)
{
    return hd_vec_push(&p->opstack, *operand) ? HD_OK : HD_NO_MEMORY;
}

void ptx_operands_place(struct ptx_parser *p, size_t base, struct ptx_operand *dst)
{
    size_t count = p->opstack.len - base;
    assert(base <= p->opstack.len);
    if (count)
        memcpy(dst, &p->opstack.at[base], count * sizeof(*dst));
    p->opstack.len = base;
    for (size_t i = p->insn_pending; i < p->pending.len; i++) {
        struct ptx_pending *use = &p->pending.at[i];
        if (use->stack_idx != PTX_PLACED && use->stack_idx >= base &&
            use->stack_idx - base < count) {
            use->u.operand = &dst[use->stack_idx - base];
            use->stack_idx = PTX_PLACED;
        }
    }
}

enum hd_status ptx_operands_take(struct ptx_parser *p, size_t base, struct ptx_operand **out_items,
                                 uint32_t *out_count)
{
    size_t count = p->opstack.len - base;
    *out_items = NULL;
    *out_count = (uint32_t)count;
    if (count) {
        *out_items = ptx_new_bytes(p, count * sizeof(**out_items));
        if (!*out_items)
            return HD_NO_MEMORY;
    }
    ptx_operands_place(p, base, *out_items);
    return HD_OK;
}

/* ---- names ---- */

static bool operand_single_comp(char c, enum ptx_comp *out_comp)
{
    static const char names[] = "xyzwrgba";
    const char *at = strchr(names, c);
    if (!c || !at)
        return false;
    *out_comp = (enum ptx_comp)(PTX_COMP_X + (at - names));
    return true;
}

/* .b3210 and .h10: each digit is one nibble of index2, first digit lowest; the count is its top
 * byte. */
static bool operand_selector(const char *text, size_t len, struct ptx_operand *operand)
{
    enum ptx_comp comp;
    if (len == 1 && operand_single_comp(text[0], &comp)) {
        operand->comp = (uint8_t)comp;
        return true;
    }
    assert(len);
    bool half = text[0] == 'h';
    if (len < 2 || len > 5 || (!half && text[0] != 'b'))
        return false;
    operand->index2 = (uint32_t)(len - 1) << 24 | (half ? 1u << 20 : 0);
    for (size_t i = 1; i < len; i++) {
        if (text[i] < '0' || text[i] > (half ? '3' : '7'))
            return false;
        operand->index2 |= (uint32_t)(text[i] - '0') << (4 * (i - 1));
    }
    operand->comp = PTX_COMP_MASK;
    if (len == 2 && text[1] <= (half ? '1' : '3')) {
        operand->comp = (uint8_t)((half ? PTX_COMP_H0 : PTX_COMP_B0) + (text[1] - '0'));
        operand->index2 = 0;
    }
    return true;
}

static enum hd_status operand_parse_selector(struct ptx_parser *p, struct ptx_operand *operand)
{
    const struct ptx_tok *tok = &p->lex.tok;
    uint32_t keep = operand->index2;
    bool ok = operand_selector(tok->text + 1, tok->len - 1, operand);
    if (operand->kind == PTX_OPND_SREG) {
        ok = ok && operand->comp <= PTX_COMP_W;
        operand->index2 = keep;
    }
    if (!ok)
        return ptx_expected(p, "a component such as .x or .b0");
    return ptx_next(p);
}

/* A name that is yet to come. */
static enum hd_status operand_later(struct ptx_parser *p, struct ptx_operand *operand,
                                    struct hd_str name, uint32_t hash)
{
    operand->kind = PTX_OPND_SYM;
    return ptx_pending_add(p, (struct ptx_pending){
                                  .kind = PTX_PENDING_OPERAND,
                                  .stack_idx = (uint32_t)p->opstack.len,
                                  .name = name,
                                  .hash = hash,
                                  .srcloc = operand->srcloc,
                              });
}

static enum hd_status operand_undeclared(struct ptx_parser *p, struct ptx_operand *operand)
{
    const struct ptx_tok *tok = &p->lex.tok;
    if (tok->text[0] == '%') {
        uint32_t number;
        enum ptx_sreg sreg = ptx_sreg_find(tok->text, tok->len, &number);
        if (!sreg)
            return ptx_expected(p, "a declared register");
        operand->kind = PTX_OPND_SREG;
        operand->index = number;
        operand->index2 = sreg;
        return HD_OK;
    }
    return operand_later(p, operand, ptx_dup(p, tok->text, tok->len), tok->hash);
}

static enum hd_status name_operand(struct ptx_parser *p, struct ptx_operand *operand)
{
    uint32_t index;
    struct ptx_sym *sym = ptx_scope_resolve(p, &index);
    if (HD_LIKELY(sym && sym->kind == PTX_SYM_REG)) {
        operand->kind = PTX_OPND_REG;
        operand->u.reg = (struct ptx_reg_decl *)sym;
        operand->index = index;
    } else if (!sym || (sym->kind == PTX_SYM_LABEL && sym->depth < p->depth)) {
        /* A label further out may be shadowed by one that still comes in this scope. */
        HD_TRY(operand_undeclared(p, operand));
    } else if (sym->kind == PTX_SYM_LABEL) {
        operand->kind = PTX_OPND_LABEL;
        operand->u.label = (struct ptx_label *)sym;
    } else {
        operand->kind = PTX_OPND_SYM;
        operand->u.sym = sym;
    }
    return ptx_next(p);
}

static bool operand_at_name(const struct ptx_parser *p)
{
    const struct ptx_tok *tok = &p->lex.tok;
    return ptx_at(p, PTX_TOK_IDENT) && !(tok->len == 7 && memcmp(tok->text, "WARP_SZ", 7) == 0);
}

static bool operand_is_index(const struct ptx_operand *operand)
{
    if (operand->kind != PTX_OPND_REG || operand->u.reg->vec > 1 || operand->comp)
        return false;
    enum ptx_type type = (enum ptx_type)operand->u.reg->type;
    enum ptx_type_class class_ = ptx_type_class(type);
    unsigned bits = ptx_type_bits(type);
    return (class_ == PTX_CLASS_BITS || class_ == PTX_CLASS_UINT || class_ == PTX_CLASS_SINT) &&
           bits >= 8 && bits <= 64;
}

/* `%r1+4` between the brackets. */
static enum hd_status operand_parse_register_index(struct ptx_parser *p,
                                                   struct ptx_operand *operand)
{
    size_t base = p->opstack.len;
    uint32_t count;
    HD_TRY(ptx_parse_operand(p));
    HD_TRY(ptx_operands_take(p, base, &operand->subscript, &count));
    assert(count == 1);
    if (operand_is_index(operand->subscript))
        return HD_OK;
    return ptx_fail(p, operand->subscript->srcloc,
                    "expected a constant or an integer register as index");
}

/* `array[3]` means the address of that element. */
static enum hd_status operand_parse_subscript(struct ptx_parser *p, struct ptx_operand *operand)
{
    struct ptx_var *var = (struct ptx_var *)operand->u.sym;
    uint64_t index;
    assert(var->sym.kind == PTX_SYM_VAR && var->ndims <= PTX_MAX_DIMS);
    HD_TRY(ptx_next(p));
    if (operand_at_name(p)) {
        HD_TRY(operand_parse_register_index(p, operand));
    } else {
        HD_TRY(ptx_parse_const_u64(p, "an index", &index));
        operand->offset = (int64_t)(index * ptx_var_element_B(var));
    }
    operand->is_element = true;
    return ptx_eat(p, ']', "']' behind the index");
}

static enum hd_status operand_parse_name(struct ptx_parser *p, struct ptx_operand *operand)
{
    const struct ptx_tok *tok = &p->lex.tok;
    if (tok->len == 1 && tok->text[0] == '_') {
        operand->kind = PTX_OPND_SINK;
        return ptx_next(p);
    }
    HD_TRY(name_operand(p, operand));
    if (HD_LIKELY(ptx_at(p, ',') || ptx_at(p, ';')))
        return HD_OK;
    if (ptx_at(p, PTX_TOK_DOT) && !p->lex.tok.spaced)
        HD_TRY(operand_parse_selector(p, operand));
    if (operand->kind == PTX_OPND_REG && ptx_at(p, '+'))
        return ptx_parse_offset(p, &operand->offset);
    if (operand->kind != PTX_OPND_SYM)
        return HD_OK;
    if (ptx_at(p, '[') && operand->u.sym && operand->u.sym->kind == PTX_SYM_VAR)
        HD_TRY(operand_parse_subscript(p, operand));
    return ptx_parse_offset(p, &operand->offset);
}

/* ---- the other kinds ---- */

static enum hd_status operand_parse_constant(struct ptx_parser *p, struct ptx_operand *operand)
{
    struct ptx_const value;
    const struct ptx_tok *tok = &p->lex.tok;
    char next = *p->lex.next;
    if (ptx_at(p, PTX_TOK_INT) && (next == ';' || next == ',' || next == ']')) { /* most of them */
        operand->kind = PTX_OPND_INT;
        operand->u.bits = tok->bits;
        operand->is_unsigned = tok->is_unsigned;
        return ptx_next(p);
    }
    if (!ptx_at(p, PTX_TOK_INT) && !ptx_at(p, PTX_TOK_F32) && !ptx_at(p, PTX_TOK_F64) &&
        !ptx_at(p, '-') && !ptx_at(p, '+') && !ptx_at(p, '~') && !ptx_at(p, '(') &&
        !ptx_at(p, '!') && !(tok->kind == PTX_TOK_IDENT && tok->text[0] == 'W'))
        return ptx_expected(p, "an operand");
    HD_TRY(ptx_parse_const(p, &value));
    operand->kind = value.kind == PTX_TOK_INT   ? PTX_OPND_INT
                    : value.kind == PTX_TOK_F32 ? PTX_OPND_F32
                                                : PTX_OPND_F64;
    operand->u.bits = value.bits;
    operand->is_unsigned = value.is_unsigned;
    return HD_OK;
}

/* Operands up to `close`, with commas between; pops them into the arena. */
static enum hd_status operand_parse_items(struct ptx_parser *p, unsigned close,
                                          struct ptx_operand *operand)
{
    size_t base = p->opstack.len;
    if (!ptx_at(p, close)) {
        for (;;) {
            HD_TRY(ptx_parse_operand(p));
            if (!ptx_at(p, ','))
                break;
            HD_TRY(ptx_next(p));
        }
    }
    if (!ptx_at(p, close))
        return ptx_expected(p, close == '}'   ? "',' or '}'"
                               : close == ']' ? "',' or ']'"
                                              : "',' or ')'");
    HD_TRY(ptx_next(p));
    return ptx_operands_take(p, base, &operand->items, &operand->nitems);
}

static enum hd_status operand_parse_list(struct ptx_parser *p, struct ptx_operand *operand)
{
    unsigned close = ptx_at(p, '{') ? '}' : ')';
    operand->kind = close == '}' ? PTX_OPND_VEC : PTX_OPND_TUPLE;
    HD_TRY(ptx_next(p));
    return operand_parse_items(p, close, operand);
}

static enum hd_status operand_parse_address_base(struct ptx_parser *p, struct ptx_operand *operand)
{
    if (operand_at_name(p)) {
        HD_TRY(name_operand(p, operand));
        if (operand->kind != PTX_OPND_REG && operand->kind != PTX_OPND_SYM)
            return ptx_fail(p, operand->srcloc,
                            "expected a register, variable or constant as address");
        if (ptx_at(p, PTX_TOK_DOT) && !p->lex.tok.spaced)
            HD_TRY(operand_parse_selector(p, operand));
        if (!ptx_at(p, ']'))
            HD_TRY(ptx_parse_offset(p, &operand->offset));
    } else {
        HD_TRY(operand_parse_constant(p, operand));
        if (operand->kind != PTX_OPND_INT)
            return ptx_fail(p, operand->srcloc,
                            "expected a register, variable or constant as address");
    }
    assert(operand->kind == PTX_OPND_REG || operand->kind == PTX_OPND_SYM ||
           operand->kind == PTX_OPND_INT);
    operand->base = operand->kind;
    operand->kind = PTX_OPND_ADDR;
    return HD_OK;
}

static enum hd_status operand_parse_address(struct ptx_parser *p, struct ptx_operand *operand)
{
    assert(ptx_at(p, '['));
    HD_TRY(ptx_next(p));
    HD_TRY(operand_parse_address_base(p, operand));
    if (ptx_at(p, ',')) {
        /* The slot that the address itself will take must not be reused by its items. */
        HD_TRY(operand_push(p, operand));
        HD_TRY(ptx_next(p));
        HD_TRY(operand_parse_items(p, ']', operand));
        p->opstack.len--;
    } else {
        HD_TRY(ptx_eat(p, ']', "',', '+' or ']'"));
    }
    const struct ptx_word *word = ptx_tok_word(p);
    if (word && word->dir == PTX_DIR_UNIFIED) {
        operand->comp = PTX_COMP_UNIFIED;
        return ptx_next(p);
    }
    return HD_OK;
}

static enum hd_status operand_parse_one(struct ptx_parser *p, struct ptx_operand *operand);

static enum hd_status operand_parse_prefixed(struct ptx_parser *p, struct ptx_operand *operand)
{
    bool invert = ptx_at(p, '!');
    char next = ptx_lex_peek(&p->lex);
    bool name =
        next == '%' || next == '_' || next == '$' || ((next | 0x20) >= 'a' && (next | 0x20) <= 'z');
    if (!name || next == 'W')
        return operand_parse_constant(p, operand);
    HD_TRY(ptx_next(p));
    if (!ptx_at(p, PTX_TOK_IDENT)) /* a '%' by itself */
        return ptx_expected(p, "a declared register");
    HD_TRY(operand_parse_name(p, operand));
    if (operand->kind == PTX_OPND_SINK)
        return ptx_fail(p, operand->srcloc, "expected a register, found '_'");
    operand->invert = invert;
    operand->negate = !invert;
    return HD_OK;
}

static enum hd_status operand_parse_one(struct ptx_parser *p, struct ptx_operand *operand)
{
    const struct ptx_tok *tok = &p->lex.tok;
    *operand = (struct ptx_operand){.srcloc = ptx_here(p)};
    switch (tok->kind) {
    case PTX_TOK_IDENT:
        return operand_at_name(p) ? operand_parse_name(p, operand)
                                  : operand_parse_constant(p, operand);
    case '[':
        return operand_parse_address(p, operand);
    case '{':
        return operand_parse_list(p, operand);
    case '!':
    case '-':
        return operand_parse_prefixed(p, operand);
    default:
        return operand_parse_constant(p, operand);
    }
}

/* `a|b`: the first is on the stack, the current token is '|'. */
static enum hd_status operand_parse_pair(struct ptx_parser *p, size_t base)
{
    struct ptx_operand second;
    struct ptx_operand pair = {.kind = PTX_OPND_PAIR, .srcloc = p->opstack.at[base].srcloc};
    HD_TRY(ptx_next(p));
    HD_TRY(operand_parse_one(p, &second));
    HD_TRY(operand_push(p, &second));
    assert(p->opstack.len == base + 2);
    HD_TRY(ptx_operands_take(p, base, &pair.items, &pair.nitems));
    return operand_push(p, &pair);
}

enum hd_status ptx_parse_operand(struct ptx_parser *p)
{
    struct ptx_operand operand;
    size_t base = p->opstack.len;
    if (++p->nesting > PTX_MAX_NESTING)
        return ptx_fail(p, ptx_here(p), "operands are nested too deeply");
    HD_TRY(operand_parse_one(p, &operand));
    HD_TRY(operand_push(p, &operand));
    p->nesting--;
    assert(p->opstack.len == base + 1);
    if (HD_UNLIKELY(ptx_at(p, '|')))
        return operand_parse_pair(p, base);
    return HD_OK;
}

enum hd_status ptx_parse_label_range(struct ptx_parser *p)
{
    char name[256];
    struct ptx_operand operand = {.srcloc = ptx_here(p)};
    const struct hd_str stem = ptx_dup(p, p->lex.tok.text, p->lex.tok.len);
    HD_TRY(ptx_next(p));
    HD_TRY(ptx_next(p)); /* the '<' that the caller saw */
    if (!ptx_at(p, PTX_TOK_INT))
        return ptx_expected(p, "the number of labels");
    uint64_t count = p->lex.tok.bits;
    HD_TRY(ptx_next(p));
    if (!count || count > PTX_MAX_LABEL_RANGE || stem.len > sizeof(name) - 12)
        return ptx_fail(p, operand.srcloc, "too many labels, or none");
    for (unsigned i = 0; i < count; i++) {
        int len = snprintf(name, sizeof(name), "%.*s%u", HD_STR_ARG(stem), i);
        uint32_t hash = ptx_hash_bytes(PTX_HASH_SEED, name, (size_t)len);
        HD_TRY(operand_later(p, &operand, ptx_dup(p, name, (size_t)len), hash));
        HD_TRY(operand_push(p, &operand));
    }
    return ptx_eat(p, '>', "'>' behind the number of labels");
}
