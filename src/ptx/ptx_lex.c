#include "ptx/ptx_lex.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    CH_START = 1,  /* begins a name */
    CH_FOLLOW = 2, /* continues a name */
    CH_DIGIT = 4,
    CH_HEX = 8,
    CH_BLANK = 16, /* blank but newline */
    CH_PUNCT = 32, /* a token of one character, whatever follows */
};

#define DIGIT  (CH_FOLLOW | CH_DIGIT | CH_HEX)
#define HEX    (CH_START | CH_FOLLOW | CH_HEX)
#define LETTER (CH_START | CH_FOLLOW)

static const uint8_t char_class[256] = {
    [' '] = CH_BLANK,       ['\t'] = CH_BLANK,      ['\r'] = CH_BLANK,   ['\f'] = CH_BLANK,
    ['\v'] = CH_BLANK,      ['0' ... '9'] = DIGIT,  ['a' ... 'f'] = HEX, ['A' ... 'F'] = HEX,
    ['g' ... 'z'] = LETTER, ['G' ... 'Z'] = LETTER, ['_'] = LETTER,      ['$'] = LETTER,
    ['%'] = CH_START,       [','] = CH_PUNCT,       [';'] = CH_PUNCT,    ['['] = CH_PUNCT,
    [']'] = CH_PUNCT,       ['{'] = CH_PUNCT,       ['}'] = CH_PUNCT,    ['('] = CH_PUNCT,
    [')'] = CH_PUNCT,       ['+'] = CH_PUNCT,       ['-'] = CH_PUNCT,
};

static inline unsigned lex_class_of(char c)
{
    return char_class[(uint8_t)c];
}

void ptx_lex_init(struct ptx_lexer *lex, const char *text, size_t len, const char *name)
{
    assert(!text[len]); /* scans end there */
    *lex = (struct ptx_lexer){
        .text = text, .next = text, .end = text + len, .line_start = text, .line = 1, .name = name};
}

static enum hd_status lex_error(struct ptx_lexer *lex, const char *at, const char *what)
{
    lex->tok.kind = PTX_TOK_BAD;
    return hd_error(HD_BAD_PTX, "%s:%u:%u: %s", lex->name, lex->line,
                    (unsigned)(at - lex->line_start) + 1, what);
}

static enum hd_status lex_skip_comment(struct ptx_lexer *lex)
{
    const char *start = lex->next;
    assert(start[0] == '/' && (start[1] == '/' || start[1] == '*'));
    if (start[1] == '/') {
        const char *newline = memchr(start, '\n', (size_t)(lex->end - start));
        lex->next = newline ? newline : lex->end;
        return HD_OK;
    }
    for (const char *p = start + 2; p < lex->end; p++) {
        if (p[0] == '*' && p[1] == '/') {
            for (const char *q = start; q < p; q++)
                if (*q == '\n') {
                    lex->line++;
                    lex->line_start = q + 1;
                }
            lex->next = p + 2;
            return HD_OK;
        }
    }
    return lex_error(lex, start, "expected '*/' before the end of the text, found an open comment");
}

static enum hd_status lex_skip_blanks(struct ptx_lexer *lex)
{
    for (;;) {
        char c = *lex->next;
        if (lex_class_of(c) & CH_BLANK) {
            lex->next++;
        } else if (c == '\n') {
            lex->line++;
            lex->line_start = ++lex->next;
        } else if (c == '/' && (lex->next[1] == '/' || lex->next[1] == '*')) {
            HD_TRY(lex_skip_comment(lex));
        } else {
            return HD_OK;
        }
    }
}

char ptx_lex_peek(const struct ptx_lexer *lex)
{
    const char *p = lex->next;
    while ((lex_class_of(*p) & CH_BLANK) || *p == '\n')
        p++;
    return *p;
}

/* Turns the digits after prefix_len into a number when they are its canonical spelling. */
static void lex_name_number(struct ptx_tok *tok)
{
    uint32_t digits = tok->len - tok->prefix_len;
    const char *p = tok->text + tok->prefix_len;
    assert(tok->prefix_len && tok->prefix_len <= tok->len);
    tok->number = UINT32_MAX;
    if (digits == 0 || digits > 9 || (p[0] == '0' && digits > 1))
        return;
    uint32_t value = 0;
    for (uint32_t i = 0; i < digits; i++)
        value = value * 10 + (uint32_t)(p[i] - '0');
    tok->number = value;
}

static void lex_name(struct ptx_lexer *lex)
{
    struct ptx_tok *tok = &lex->tok;
    const char *p = lex->next;
    uint32_t hash = ptx_hash_step(PTX_HASH_SEED, *p++);
    const char *prefix = p;
    uint32_t prefix_hash = hash;
    for (unsigned c; (c = lex_class_of(*p)) & CH_FOLLOW; p++) {
        hash = ptx_hash_step(hash, *p);
        if (!(c & CH_DIGIT)) {
            prefix = p + 1;
            prefix_hash = hash;
        }
    }
    tok->kind = PTX_TOK_IDENT;
    tok->len = (uint32_t)(p - tok->text);
    tok->hash = hash;
    tok->prefix_len = (uint32_t)(prefix - tok->text);
    tok->prefix_hash = prefix_hash;
    lex_name_number(tok);
    lex->next = p;
}

/* Scans word characters and '::' pairs. */
static const char *lex_scan_word(const char *p)
{
    for (;;) {
        if (lex_class_of(*p) & CH_FOLLOW)
            p++;
        else if (p[0] == ':' && p[1] == ':' && (lex_class_of(p[2]) & CH_FOLLOW))
            p += 2;
        else
            return p;
    }
}

void ptx_lex_opcode(struct ptx_lexer *lex)
{
    struct ptx_tok *tok = &lex->tok;
    const char *p = lex->next;
    assert(tok->kind == PTX_TOK_IDENT && tok->text + tok->len == p);
    while (*p == '.' && (lex_class_of(p[1]) & CH_FOLLOW))
        p = lex_scan_word(p + 1);
    tok->hash = ptx_hash_bytes(tok->hash, lex->next, (size_t)(p - lex->next));
    tok->len = (uint32_t)(p - tok->text);
    lex->next = p;
}

static unsigned lex_hex_value(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
}

static enum hd_status lex_float_bits(struct ptx_lexer *lex, unsigned digits, uint8_t kind)
{
    const char *p = lex->next + 2;
    uint64_t bits = 0;
    assert(digits == 8 || digits == 16);
    for (unsigned i = 0; i < digits; i++, p++) {
        if (!(lex_class_of(*p) & CH_HEX))
            return lex_error(lex, lex->next,
                             digits == 8 ? "expected 8 hexadecimal digits after 0f"
                                         : "expected 16 hexadecimal digits after 0d");
        bits = bits << 4 | lex_hex_value(*p);
    }
    if (lex_class_of(*p) & CH_FOLLOW)
        return lex_error(lex, lex->next, "too many digits in a floating-point constant");
    lex->tok.kind = kind;
    lex->tok.bits = bits;
    lex->next = p;
    return HD_OK;
}

static enum hd_status lex_decimal_float(struct ptx_lexer *lex)
{
    char text[512];
    const char *p = lex->next;
    while (lex_class_of(*p) & CH_DIGIT)
        p++;
    if (*p == '.')
        for (p++; lex_class_of(*p) & CH_DIGIT; p++)
            ;
    if ((*p | 0x20) == 'e') {
        const char *q = p + 1 + (p[1] == '+' || p[1] == '-');
        if (!(lex_class_of(*q) & CH_DIGIT))
            return lex_error(lex, lex->next, "expected digits in the exponent");
        for (p = q; lex_class_of(*p) & CH_DIGIT; p++)
            ;
    }
    size_t len = (size_t)(p - lex->next);
    if (len >= sizeof(text))
        return lex_error(lex, lex->next, "floating-point constant is too long");
    memcpy(text, lex->next, len);
    text[len] = 0;
    double value = ptx_strtod(text);
    memcpy(&lex->tok.bits, &value, sizeof(value));
    lex->tok.kind = PTX_TOK_F64;
    lex->next = p;
    return HD_OK;
}

static enum hd_status lex_digits(struct ptx_lexer *lex, const char *p, unsigned base)
{
    uint64_t value = 0;
    const char *first = p;
    assert(base == 2 || base == 8 || base == 10 || base == 16);
    for (; lex_class_of(*p) & CH_HEX; p++) {
        unsigned digit = lex_hex_value(*p);
        if (digit >= base)
            return lex_error(lex, lex->next, "bad digit in an integer constant");
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return lex_error(lex, lex->next, "integer constant exceeds 64 bits");
    }
    if (p == first)
        return lex_error(lex, lex->next, "expected digits in an integer constant");
    lex->tok.is_unsigned = *p == 'U' || value > INT64_MAX;
    p += *p == 'U';
    if (lex_class_of(*p) & CH_FOLLOW)
        return lex_error(lex, lex->next, "bad digit in an integer constant");
    lex->tok.kind = PTX_TOK_INT;
    lex->tok.bits = value;
    lex->next = p;
    return HD_OK;
}

static enum hd_status lex_number(struct ptx_lexer *lex)
{
    const char *p = lex->next;
    if (p[0] == '0') {
        char c = (char)(p[1] | 0x20);
        if (c == 'x')
            return lex_digits(lex, p + 2, 16);
        if (c == 'f')
            return lex_float_bits(lex, 8, PTX_TOK_F32);
        if (c == 'd')
            return lex_float_bits(lex, 16, PTX_TOK_F64);
        if (c == 'b')
            return lex_digits(lex, p + 2, 2);
    }
    const char *q = p;
    while (lex_class_of(*q) & CH_DIGIT)
        q++;
    if ((*q == '.' && (lex_class_of(q[1]) & CH_DIGIT || !(lex_class_of(q[1]) & CH_FOLLOW))) ||
        (*q | 0x20) == 'e')
        return lex_decimal_float(lex);
    if (p[0] == '0' && q - p > 1)
        return lex_digits(lex, p + 1, 8);
    return lex_digits(lex, p, 10);
}

static enum hd_status lex_string(struct ptx_lexer *lex)
{
    const char *p = lex->next + 1;
    assert(*lex->next == '"' && lex->next < lex->end);
    for (; *p != '"'; p++) {
        if (p >= lex->end || *p == '\n')
            return lex_error(lex, lex->next, "expected '\"' at the end of the string");
        if (*p == '\\' && p + 1 < lex->end)
            p++;
    }
    lex->tok.kind = PTX_TOK_STRING;
    lex->tok.text = lex->next + 1;
    lex->tok.len = (uint32_t)(p - lex->tok.text);
    lex->next = p + 1;
    return HD_OK;
}

static unsigned lex_pair_token(char a, char b)
{
    static const struct {
        char a, b;
        uint8_t kind;
    } pairs[] = {
        {'<', '<', PTX_TOK_SHL},    {'>', '>', PTX_TOK_SHR},  {'<', '=', PTX_TOK_LE},
        {'>', '=', PTX_TOK_GE},     {'=', '=', PTX_TOK_EQ},   {'!', '=', PTX_TOK_NE},
        {'&', '&', PTX_TOK_ANDAND}, {'|', '|', PTX_TOK_OROR}, {':', ':', PTX_TOK_COLON2},
    };
    for (unsigned i = 0; i < HD_COUNT_OF(pairs); i++)
        if (pairs[i].a == a && pairs[i].b == b)
            return pairs[i].kind;
    return 0;
}

static enum hd_status lex_punct(struct ptx_lexer *lex)
{
    struct ptx_tok *tok = &lex->tok;
    const char *p = lex->next;
    unsigned pair = p[1] == p[0] || p[1] == '=' ? lex_pair_token(p[0], p[1]) : 0;
    if (pair) {
        tok->kind = (uint8_t)pair;
        tok->len = 2;
    } else if (p[0] == '@' && strncmp(p, "@@DWARF", 7) == 0) {
        const char *newline = memchr(p, '\n', (size_t)(lex->end - p));
        tok->kind = PTX_TOK_DWARF;
        tok->len = (uint32_t)((newline ? newline : lex->end) - p);
    } else if (p[0] && strchr(",;:{}[]()<>@!|+-*/%~&^?=", p[0])) {
        tok->kind = (uint8_t)p[0];
        tok->len = 1;
    } else {
        char what[64];
        if (p[0] > ' ' && p[0] < 127)
            snprintf(what, sizeof(what), "expected a token, found character '%c'", p[0]);
        else
            snprintf(what, sizeof(what), "expected a token, found byte 0x%02x", (uint8_t)p[0]);
        return lex_error(lex, p, what);
    }
    assert(tok->len && tok->len <= (size_t)(lex->end - p));
    lex->next = p + tok->len;
    return HD_OK;
}

enum hd_status ptx_lex_next(struct ptx_lexer *lex)
{
    const char *before = lex->next;
    assert(before <= lex->end);
    HD_TRY(lex_skip_blanks(lex));
    struct ptx_tok *tok = &lex->tok;
    const char *p = lex->next;
    tok->text = p;
    tok->line = lex->line;
    tok->col = (uint32_t)(p - lex->line_start) + 1;
    tok->spaced = p != before;
    unsigned c = lex_class_of(*p);
    if (c & CH_PUNCT) {
        tok->kind = (uint8_t)*p;
        tok->len = 1;
        lex->next = p + 1;
        return HD_OK;
    }
    if (c & CH_START) {
        if (*p != '%' || (lex_class_of(p[1]) & CH_FOLLOW)) {
            lex_name(lex);
            return HD_OK;
        }
        return lex_punct(lex);
    }
    if (c & CH_DIGIT) {
        HD_TRY(lex_number(lex));
        tok->len = (uint32_t)(lex->next - p);
        return HD_OK;
    }
    if (*p == '.' && (lex_class_of(p[1]) & CH_FOLLOW)) {
        tok->kind = PTX_TOK_DOT;
        lex->next = lex_scan_word(p + 1);
        tok->len = (uint32_t)(lex->next - p);
        return HD_OK;
    }
    if (*p == '"')
        return lex_string(lex);
    if (p >= lex->end) {
        tok->kind = PTX_TOK_EOF;
        tok->len = 0;
        return HD_OK;
    }
    return lex_punct(lex);
}
