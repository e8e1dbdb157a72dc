#include "ir/ir_lex.h"

#include <assert.h>
#include <ctype.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$' || c == '%';
}

static void skip_blank(struct ir_lexer *lex)
{
    for (; lex->at < lex->end; lex->at++) {
        if (*lex->at == ';') {
            while (lex->at + 1 < lex->end && lex->at[1] != '\n')
                lex->at++;
        } else if (*lex->at == '\n') {
            lex->line++;
            lex->line_start = true;
        } else if (!isspace((unsigned char)*lex->at)) {
            return;
        }
    }
}

static void take_word(struct ir_lexer *lex, enum ir_token kind)
{
    const char *start = lex->at;

    while (lex->at < lex->end && is_word(*lex->at))
        lex->at++;
    lex->kind = kind;
    lex->text = (struct hd_str){start, (size_t)(lex->at - start)};
}

/* At the opening quote. An unterminated string ends the input: the parser then reports that. */
static void take_string(struct ir_lexer *lex, enum ir_token kind)
{
    const char *start = ++lex->at;

    assert(start[-1] == '"');
    while (lex->at < lex->end && *lex->at != '"' && *lex->at != '\n')
        lex->at++;
    lex->kind = lex->at < lex->end && *lex->at == '"' ? kind : IR_TOK_END;
    lex->text = (struct hd_str){start, (size_t)(lex->at - start)};
    if (lex->kind == kind)
        lex->at++;
    else
        lex->at = lex->end;
}

void ir_lex_next(struct ir_lexer *lex)
{
    lex->line_start = false;
    skip_blank(lex);
    assert(lex->at <= lex->end);
    if (lex->at >= lex->end) {
        lex->kind = IR_TOK_END;
        lex->text = HD_STR("end of text");
        return;
    }
    switch (*lex->at) {
    case '%':
        lex->at++;
        take_word(lex, IR_TOK_VALUE);
        return;
    case '$':
        lex->at++;
        take_word(lex, IR_TOK_LOCAL);
        return;
    case '@':
        lex->at++;
        if (lex->at < lex->end && *lex->at == '"')
            take_string(lex, IR_TOK_SYMBOL);
        else
            take_word(lex, IR_TOK_SYMBOL);
        return;
    case '"':
        take_string(lex, IR_TOK_STRING);
        return;
    default:
        break;
    }
    if (is_word(*lex->at)) {
        take_word(lex, IR_TOK_WORD);
        return;
    }
    lex->kind = IR_TOK_PUNCT;
    lex->text = (struct hd_str){lex->at++, 1};
}

void ir_lex_init(struct ir_lexer *lex, const char *text, size_t len)
{
    *lex = (struct ir_lexer){.at = text, .end = text + len, .line = 1};
    ir_lex_next(lex);
    lex->line_start = true;
}
