/*
 * Private to src/ir: tokens of the text form (the grammar is in docs/ir.md). A token is a view into
 * the text.
 */
#ifndef HD_IR_IR_LEX_H
#define HD_IR_IR_LEX_H

#include "base/str.h"

enum ir_token {
    IR_TOK_END,
    IR_TOK_WORD,   /* ld.u32.param  bb0  0x2a  17  0123abcd */
    IR_TOK_VALUE,  /* %12: text is the number */
    IR_TOK_SYMBOL, /* @name or @"name": text is the name, still escaped */
    IR_TOK_LOCAL,  /* $3 */
    IR_TOK_STRING, /* "..": text between the quotes, still escaped */
    IR_TOK_PUNCT,  /* one of ( ) [ ] { } , : = + - ! < >; "->" is - and > */
};

struct ir_lexer {
    const char *at;
    const char *end;
    uint32_t line;
    enum ir_token kind; /* current token */
    struct hd_str text;
    bool line_start; /* the current token is the first of its line */
};

void ir_lex_init(struct ir_lexer *lex, const char *text, size_t len); /* reads the first token */
void ir_lex_next(struct ir_lexer *lex);

static inline bool ir_lex_is(const struct ir_lexer *lex, char punct)
{
    return lex->kind == IR_TOK_PUNCT && *lex->text.ptr == punct;
}

static inline bool ir_lex_is_word(const struct ir_lexer *lex, const char *word)
{
    return lex->kind == IR_TOK_WORD && hd_str_is(lex->text, word);
}

#endif
