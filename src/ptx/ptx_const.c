/*
 * Constant expressions: C's operators on 64-bit integers, and + - * / on doubles. A value is
 * unsigned when a U suffix, a big literal or an unsigned operand made it so, as in C.
 */
#include "ptx/ptx_parse.h"

#include <assert.h>
#include <string.h>

static enum hd_status const_parse_binary(struct ptx_parser *p, unsigned level,
                                         struct ptx_const *out);

static double const_as_double(const struct ptx_const *value)
{
    double d;
    float f;
    uint32_t low = (uint32_t)value->bits;
    if (value->kind == PTX_TOK_F64) {
        memcpy(&d, &value->bits, sizeof(d));
        return d;
    }
    if (value->kind == PTX_TOK_F32) {
        memcpy(&f, &low, sizeof(f));
        return f;
    }
    return value->is_unsigned ? (double)value->bits : (double)(int64_t)value->bits;
}

static struct ptx_const const_from_double(double d)
{
    struct ptx_const value = {.kind = PTX_TOK_F64};
    memcpy(&value.bits, &d, sizeof(d));
    return value;
}

static struct ptx_const const_from_int(uint64_t bits, bool is_unsigned)
{
    return (struct ptx_const){bits, PTX_TOK_INT, is_unsigned};
}

/* (.s64) and (.u64) casts; the current token is the .word. */
static enum hd_status const_parse_cast(struct ptx_parser *p, bool *out_unsigned)
{
    const struct ptx_word *word = ptx_tok_word(p);
    if (!word || (word->type != PTX_TYPE_S64 && word->type != PTX_TYPE_U64))
        return ptx_expected(p, "cast .s64 or .u64");
    *out_unsigned = word->type == PTX_TYPE_U64;
    HD_TRY(ptx_next(p));
    return ptx_eat(p, ')', "')' behind the cast");
}

static enum hd_status const_parse_unary(struct ptx_parser *p, struct ptx_const *out);

static enum hd_status const_parse_paren(struct ptx_parser *p, struct ptx_const *out)
{
    HD_TRY(ptx_next(p));
    if (ptx_at(p, PTX_TOK_DOT)) {
        bool is_unsigned = false;
        HD_TRY(const_parse_cast(p, &is_unsigned));
        HD_TRY(const_parse_unary(p, out));
        if (out->kind != PTX_TOK_INT)
            return ptx_fail(p, ptx_here(p), "cast of a floating-point constant");
        out->is_unsigned = is_unsigned;
        return HD_OK;
    }
    HD_TRY(ptx_parse_const(p, out));
    return ptx_eat(p, ')', "')'");
}

static enum hd_status const_parse_primary(struct ptx_parser *p, struct ptx_const *out)
{
    const struct ptx_tok *tok = &p->lex.tok;
    if (tok->kind == PTX_TOK_INT || tok->kind == PTX_TOK_F32 || tok->kind == PTX_TOK_F64) {
        *out =
            (struct ptx_const){tok->bits, tok->kind, tok->is_unsigned && tok->kind == PTX_TOK_INT};
        return ptx_next(p);
    }
    if (tok->kind == PTX_TOK_IDENT && tok->len == 7 && memcmp(tok->text, "WARP_SZ", 7) == 0) {
        *out = const_from_int(32, false);
        return ptx_next(p);
    }
    if (tok->kind == '(')
        return const_parse_paren(p, out);
    return ptx_expected(p, "a constant");
}

static enum hd_status const_apply_unary(struct ptx_parser *p, unsigned op, struct ptx_const *value)
{
    if (value->kind != PTX_TOK_INT) {
        if (op == '-')
            value->bits ^= value->kind == PTX_TOK_F32 ? 1ull << 31 : 1ull << 63;
        else if (op != '+')
            return ptx_fail(p, ptx_here(p), "operator '%c' on a floating-point constant", (char)op);
        return HD_OK;
    }
    if (op == '-')
        value->bits = -value->bits;
    else if (op == '~')
        value->bits = ~value->bits;
    else if (op == '!')
        *value = const_from_int(!value->bits, false);
    return HD_OK;
}

static enum hd_status const_parse_unary(struct ptx_parser *p, struct ptx_const *out)
{
    unsigned op = p->lex.tok.kind;
    if (op != '-' && op != '+' && op != '~' && op != '!')
        return const_parse_primary(p, out);
    if (++p->nesting > PTX_MAX_NESTING)
        return ptx_fail(p, ptx_here(p), "constant expression is nested too deeply");
    HD_TRY(ptx_next(p));
    HD_TRY(const_parse_unary(p, out));
    p->nesting--;
    return const_apply_unary(p, op, out);
}

/* 0 when the token is no binary operator; else its precedence, 1 binds loosest. */
static unsigned const_binary_level(unsigned kind)
{
    switch (kind) {
    case PTX_TOK_OROR:
        return 1;
    case PTX_TOK_ANDAND:
        return 2;
    case '|':
        return 3;
    case '^':
        return 4;
    case '&':
        return 5;
    case PTX_TOK_EQ:
    case PTX_TOK_NE:
        return 6;
    case '<':
    case '>':
    case PTX_TOK_LE:
    case PTX_TOK_GE:
        return 7;
    case PTX_TOK_SHL:
    case PTX_TOK_SHR:
        return 8;
    case '+':
    case '-':
        return 9;
    case '*':
    case '/':
    case '%':
        return 10;
    default:
        return 0;
    }
}

static enum hd_status const_apply_divide(struct ptx_parser *p, unsigned op, struct ptx_const *a,
                                         const struct ptx_const *b, bool is_unsigned)
{
    assert(op == '/' || op == '%');
    if (b->bits == 0)
        return ptx_fail(p, ptx_here(p), "division by zero in a constant expression");
    int64_t x = (int64_t)a->bits, y = (int64_t)b->bits;
    uint64_t result;
    if (is_unsigned)
        result = op == '/' ? a->bits / b->bits : a->bits % b->bits;
    else if (y == -1) /* INT64_MIN / -1 traps */
        result = op == '/' ? -a->bits : 0;
    else
        result = (uint64_t)(op == '/' ? x / y : x % y);
    *a = const_from_int(result, is_unsigned);
    return HD_OK;
}

static bool const_compare(unsigned op, int order)
{
    switch (op) {
    case PTX_TOK_EQ:
        return order == 0;
    case PTX_TOK_NE:
        return order != 0;
    case '<':
        return order < 0;
    case '>':
        return order > 0;
    case PTX_TOK_LE:
        return order <= 0;
    default:
        return order >= 0;
    }
}

static enum hd_status const_apply_int(struct ptx_parser *p, unsigned op, struct ptx_const *a,
                                      const struct ptx_const *b)
{
    bool is_unsigned = a->is_unsigned || b->is_unsigned;
    uint64_t x = a->bits, y = b->bits;
    int64_t sx = (int64_t)x, sy = (int64_t)y;
    switch (op) {
    case '+':
        *a = const_from_int(x + y, is_unsigned);
        return HD_OK;
    case '-':
        *a = const_from_int(x - y, is_unsigned);
        return HD_OK;
    case '*':
        *a = const_from_int(x * y, is_unsigned);
        return HD_OK;
    case '/':
    case '%':
        return const_apply_divide(p, op, a, b, is_unsigned);
    case '&':
        *a = const_from_int(x & y, is_unsigned);
        return HD_OK;
    case '|':
        *a = const_from_int(x | y, is_unsigned);
        return HD_OK;
    case '^':
        *a = const_from_int(x ^ y, is_unsigned);
        return HD_OK;
    case PTX_TOK_SHL:
        *a = const_from_int(y < 64 ? x << y : 0, a->is_unsigned);
        return HD_OK;
    case PTX_TOK_SHR:
        if (a->is_unsigned)
            *a = const_from_int(y < 64 ? x >> y : 0, true);
        else
            *a = const_from_int((uint64_t)(sx >> (y < 64 ? y : 63)), false);
        return HD_OK;
    case PTX_TOK_ANDAND:
        *a = const_from_int(x && y, false);
        return HD_OK;
    case PTX_TOK_OROR:
        *a = const_from_int(x || y, false);
        return HD_OK;
    default:
        assert(const_binary_level(op));
        *a = const_from_int(
            const_compare(op, is_unsigned ? (x > y) - (x < y) : (sx > sy) - (sx < sy)), false);
        return HD_OK;
    }
}

static enum hd_status const_apply_float(struct ptx_parser *p, unsigned op, struct ptx_const *a,
                                        const struct ptx_const *b)
{
    double x = const_as_double(a), y = const_as_double(b);
    switch (op) {
    case '+':
        *a = const_from_double(x + y);
        return HD_OK;
    case '-':
        *a = const_from_double(x - y);
        return HD_OK;
    case '*':
        *a = const_from_double(x * y);
        return HD_OK;
    case '/':
        *a = const_from_double(x / y);
        return HD_OK;
    default:
        return ptx_fail(p, ptx_here(p), "this operator does not take floating-point constants");
    }
}

static enum hd_status const_parse_binary(struct ptx_parser *p, unsigned level,
                                         struct ptx_const *out)
{
    HD_TRY(const_parse_unary(p, out));
    for (;;) {
        unsigned op = p->lex.tok.kind;
        unsigned op_level = const_binary_level(op);
        if (!op_level || op_level < level)
            return HD_OK;
        struct ptx_const right;
        HD_TRY(ptx_next(p));
        HD_TRY(const_parse_binary(p, op_level + 1, &right));
        if (out->kind == PTX_TOK_INT && right.kind == PTX_TOK_INT)
            HD_TRY(const_apply_int(p, op, out, &right));
        else
            HD_TRY(const_apply_float(p, op, out, &right));
    }
}

enum hd_status ptx_parse_const(struct ptx_parser *p, struct ptx_const *out_value)
{
    if (++p->nesting > PTX_MAX_NESTING)
        return ptx_fail(p, ptx_here(p), "constant expression is nested too deeply");
    HD_TRY(const_parse_binary(p, 1, out_value));
    if (ptx_at(p, '?')) {
        struct ptx_const yes, no;
        HD_TRY(ptx_next(p));
        HD_TRY(ptx_parse_const(p, &yes));
        HD_TRY(ptx_eat(p, ':', "':' of the conditional"));
        HD_TRY(ptx_parse_const(p, &no));
        *out_value = out_value->bits ? yes : no;
    }
    p->nesting--;
    return HD_OK;
}

enum hd_status ptx_parse_offset(struct ptx_parser *p, int64_t *inout_offset)
{
    while (ptx_at(p, '+') || ptx_at(p, '-')) {
        bool minus = ptx_at(p, '-');
        struct ptx_const value;
        HD_TRY(ptx_next(p));
        HD_TRY(const_parse_binary(p, 10, &value));
        if (value.kind != PTX_TOK_INT)
            return ptx_fail(p, ptx_here(p), "expected an integer offset");
        uint64_t sum = (uint64_t)*inout_offset + (minus ? -value.bits : value.bits);
        *inout_offset = (int64_t)sum;
    }
    return HD_OK;
}

enum hd_status ptx_parse_const_u64(struct ptx_parser *p, const char *what, uint64_t *out_value)
{
    struct ptx_const value;
    struct ptx_srcloc srcloc = ptx_here(p);
    if (ptx_at(p, PTX_TOK_EOF) || ptx_at(p, ';'))
        return ptx_expected(p, what);
    HD_TRY(ptx_parse_const(p, &value));
    if (value.kind != PTX_TOK_INT)
        return ptx_fail(p, srcloc, "expected %s, found a floating-point constant", what);
    *out_value = value.bits;
    return HD_OK;
}
