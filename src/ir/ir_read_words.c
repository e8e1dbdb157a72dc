/* Reader of the text form: words, numbers, names, types and values. */
#include <string.h>

#include "ir/ir_names.h"
#include "ir/ir_read.h"

enum hd_status ir_read_error(const struct ir_reader *r, const char *expected)
{
    return hd_error(HD_BAD_IR, "%s:%u: expected %s before `%.*s`", r->name, r->lex.line, expected,
                    (int)HD_MIN(r->lex.text.len, 60), r->lex.text.ptr);
}

enum hd_status ir_read_punct(struct ir_reader *r, char c)
{
    char expected[] = {'`', c, '`', 0};

    if (!ir_lex_is(&r->lex, c))
        return ir_read_error(r, expected);
    ir_lex_next(&r->lex);
    return HD_OK;
}

enum hd_status ir_read_u64(struct ir_reader *r, uint64_t *out)
{
    unsigned base = hd_str_starts(r->lex.text, "0x") ? 0 : 10;

    if (r->lex.kind == IR_TOK_PUNCT || !hd_str_to_u64(r->lex.text, base, out))
        return ir_read_error(r, "a number");
    ir_lex_next(&r->lex);
    return HD_OK;
}

enum hd_status ir_read_u32(struct ir_reader *r, uint32_t *out)
{
    uint64_t value;

    HD_TRY(ir_read_u64(r, &value));
    if (value > UINT32_MAX)
        return ir_read_error(r, "a 32-bit number");
    *out = (uint32_t)value;
    return HD_OK;
}

enum hd_status ir_read_offset(struct ir_reader *r, int64_t *out)
{
    bool negative = ir_lex_is(&r->lex, '-');
    uint64_t value;

    *out = 0;
    if (!negative && !ir_lex_is(&r->lex, '+'))
        return HD_OK;
    ir_lex_next(&r->lex);
    HD_TRY(ir_read_u64(r, &value));
    *out = (int64_t)(negative ? 0 - value : value);
    return HD_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

bool ir_read_hex_byte(const char *p, const char *end, uint8_t *out)
{
    if (end - p < 2 || hex_digit(p[0]) < 0 || hex_digit(p[1]) < 0)
        return false;
    *out = (uint8_t)(hex_digit(p[0]) * 16 + hex_digit(p[1]));
    return true;
}

enum hd_status ir_read_name(struct ir_reader *r, enum ir_token kind, const char **out)
{
    const char *p = r->lex.text.ptr, *end = p + r->lex.text.len;
    char *name, *at;

    if (r->lex.kind != kind)
        return ir_read_error(r, kind == IR_TOK_SYMBOL ? "a symbol" : "a string");
    at = name = hd_arena_strndup(&r->module->arena, p, r->lex.text.len);
    for (; p < end; p++) {
        uint8_t byte = (uint8_t)*p;
        if (*p == '\\') {
            if (end - p < 4 || p[1] != 'x' || !ir_read_hex_byte(p + 2, end, &byte) || !byte)
                return ir_read_error(r, "a string with \\xNN escapes");
            p += 3;
        }
        *at++ = (char)byte;
    }
    *at = 0;
    *out = name;
    ir_lex_next(&r->lex);
    return HD_OK;
}

int ir_read_lookup(struct hd_str text, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (*names[i] && hd_str_is(text, names[i]))
            return (int)i;
    return -1;
}

enum hd_status ir_read_type(struct ir_reader *r, enum ir_type *out)
{
    for (unsigned t = 0; r->lex.kind == IR_TOK_WORD && t < IR_TYPE_COUNT; t++) {
        if (!hd_str_is(r->lex.text, ir_type_name((enum ir_type)t)))
            continue;
        *out = (enum ir_type)t;
        ir_lex_next(&r->lex);
        return HD_OK;
    }
    return ir_read_error(r, "a type");
}

enum hd_status ir_read_type_push(struct ir_reader *r)
{
    enum ir_type type;

    HD_TRY(ir_read_type(r, &type));
    if (!hd_vec_push(&r->types, type))
        return hd_error(HD_NO_MEMORY, "%s: no memory for types", r->name);
    return HD_OK;
}

/* "(b32, b64)" */
enum hd_status ir_read_types(struct ir_reader *r)
{
    HD_TRY(ir_read_punct(r, '('));
    for (bool any = false; !ir_lex_is(&r->lex, ')'); any = true) {
        if (any)
            HD_TRY(ir_read_punct(r, ','));
        HD_TRY(ir_read_type_push(r));
    }
    ir_lex_next(&r->lex);
    return HD_OK;
}

enum hd_status ir_read_value(struct ir_reader *r, struct ir_value **out)
{
    uint64_t id;

    if (r->lex.kind != IR_TOK_VALUE || !hd_str_to_u64(r->lex.text, 10, &id) ||
        id > (uint64_t)(r->lex.end - r->lex.at) + r->values.len + 4096)
        return ir_read_error(r, "a value");
    ir_lex_next(&r->lex);
    while (r->values.len <= id)
        if (!hd_vec_push(&r->values, (struct ir_value *)NULL))
            return hd_error(HD_NO_MEMORY, "%s: no memory for values", r->name);
    if (!r->values.at[id]) {
        r->values.at[id] = hd_arena_new(&r->module->arena, struct ir_value);
        r->values.at[id]->id = (uint32_t)id;
    }
    *out = r->values.at[id];
    return HD_OK;
}
