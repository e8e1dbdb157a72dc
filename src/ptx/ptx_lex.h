/*
 * PTX lexer: pull one token at a time from NUL-terminated text. Private to ptx/.
 *
 * Opcodes with their modifiers are one unit of PTX but several tokens of C-like grammars; the
 * parser asks for them with ptx_lex_opcode() after an identifier that begins a statement. Names are
 * hashed while they are scanned, twice: the whole name, and the part before trailing digits, which
 * names a register range (`%r12` in `%r<100>`).
 */
#ifndef HD_PTX_PTX_LEX_H
#define HD_PTX_PTX_LEX_H

#include "ptx/ptx_table.h"

enum ptx_tok_kind {
    PTX_TOK_EOF,
    PTX_TOK_IDENT,
    PTX_TOK_DOT, /* .word */
    PTX_TOK_INT,
    PTX_TOK_F32,
    PTX_TOK_F64,
    PTX_TOK_STRING, /* text between the quotes */
    PTX_TOK_DWARF,  /* @@DWARF: the rest of the line */
    PTX_TOK_BAD,    /* the lexer reported an error */
    PTX_TOK_SHL,    /* two-character operators; single ones are their character */
    PTX_TOK_SHR,
    PTX_TOK_LE,
    PTX_TOK_GE,
    PTX_TOK_EQ,
    PTX_TOK_NE,
    PTX_TOK_ANDAND,
    PTX_TOK_OROR,
    PTX_TOK_COLON2,
};

struct ptx_tok {
    uint8_t kind; /* enum ptx_tok_kind or a character */
    bool is_unsigned;
    bool spaced;  /* blanks in front */
    uint32_t len; /* DOT: with the dot */
    const char *text;
    uint32_t line, col;
    uint64_t bits; /* numbers */
    uint32_t hash;
    uint32_t prefix_len; /* IDENT: length without trailing digits; == len when it has none */
    uint32_t prefix_hash;
    uint32_t number; /* value of the trailing digits; UINT32_MAX unless canonical and small */
};

struct ptx_lexer {
    const char *text;
    const char *next;
    const char *end;
    const char *line_start;
    uint32_t line;
    const char *name;
    struct ptx_tok tok; /* current */
};

void ptx_lex_init(struct ptx_lexer *lex, const char *text, size_t len, const char *name);
/* Advances. A lexical error has been reported when HD_BAD_PTX comes back. */
enum hd_status ptx_lex_next(struct ptx_lexer *lex) HD_MUST_CHECK;
/* Extends the current IDENT by the modifiers that follow it without blanks. */
void ptx_lex_opcode(struct ptx_lexer *lex);
/* The next character that is not blank; does not look behind comments. */
char ptx_lex_peek(const struct ptx_lexer *lex);

#endif
