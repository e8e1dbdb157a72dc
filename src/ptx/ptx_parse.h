/*
 * The PTX parser's state and the functions its files share. Private to ptx/.
 *
 *   ptx_module.c   module header and items, ptx_parse()
 *   ptx_decl.c     variables, registers, parameters      ptx_func.c   functions' heads
 *   ptx_init.c     initialisers and .section data
 *   ptx_stmt.c     function bodies: scopes, labels, directives, instructions
 *   ptx_operand.c  operands            ptx_const.c  constant expressions
 *   ptx_form.c     dotted opcodes      ptx_scope.c  names
 *   ptx_later.c    bodies on demand    ptx_verify.c  checking a text of which nothing is kept
 *
 * The grammar is parsed by recursive descent with one token of look-ahead: on entry of a
 * ptx_parse_x() the current token is the first one of x, on exit the first one behind it. Lists of
 * unknown length are collected on stacks (opstack, initstack) and copied into the arena when they
 * close.
 */
#ifndef HD_PTX_PTX_PARSE_H
#define HD_PTX_PTX_PARSE_H

#include "base/vec.h"
#include "ptx/ptx_lex.h"

/*
 * Nesting of initialisers, scopes and parenthesised constants; keeps recursion off the stack's end.
 */
#define PTX_MAX_NESTING     200
#define PTX_MAX_LABEL_RANGE 65536u /* of .branchtargets L<n> */
#define PTX_MAX_REGS        (1u << 27)
#define PTX_MAX_VAR_B       (1ull << 47)
/* name<N> outside .reg: N, and the sum of all N of a module. */
#define PTX_MAX_VAR_RANGE 4096
#define PTX_MAX_EXPANDED  65536

enum ptx_pending_kind {
    PTX_PENDING_OPERAND, /* becomes LABEL or SYM */
    PTX_PENDING_INIT,
    PTX_PENDING_ALIAS,
};

/* A use of a name that is not declared yet. */
struct ptx_pending {
    uint8_t kind;
    bool is_alias_decl; /* ALIAS: the alias's own prototype rather than its target */
    uint16_t depth;     /* innermost scope the name may still be declared in */
    uint32_t stack_idx; /* position on opstack or initstack until the list is copied */
    union {
        struct ptx_operand *operand;
        struct ptx_init *init;
        struct ptx_alias *alias;
    } u;
    struct hd_str name;
    uint32_t hash;
    struct ptx_srcloc srcloc;
};
#define PTX_PLACED UINT32_MAX

struct ptx_parser {
    struct ptx_lexer lex;
    struct hd_arena *arena;
    struct ptx_module *module;

    struct ptx_sym **buckets; /* names in scope; newest first in each chain */
    uint32_t nbuckets;
    uint32_t depth;
    uint32_t deep_names; /* live names at depth >= 3: shadowing of registers is possible */
    HD_VEC(struct ptx_sym *) live;
    HD_VEC(size_t) scopes; /* live.len when each open scope began */
    HD_VEC(struct ptx_pending) pending;
    size_t insn_pending; /* pending.len when the current list began */

    struct ptx_form **form_slots;
    uint32_t form_cap;
    HD_VEC(const struct ptx_form *) forms;

    struct ptx_func *func; /* the one being parsed; NULL outside */
    struct ptx_stmt *last_stmt;
    struct ptx_reg_decl *last_reg, *last_module_reg;
    struct ptx_var *last_var, *last_module_var;
    struct ptx_item *last_item;
    struct ptx_func *last_func;
    struct ptx_file *last_file;
    const struct ptx_loc *loc;

    HD_VEC(struct ptx_operand) opstack;
    HD_VEC(struct ptx_init) initstack;
    unsigned nesting;
    uint32_t expanded_vars;

    /* ptx_open(): where bodies end, which are passed over; then what the module has, behind `live`,
     * but nothing that comes later in the text than the body that is read (horizon). */
    const struct ptx_extent *extents;
    size_t nextents, extent;
    const struct ptx_symtab *outer;
    struct ptx_srcloc horizon;
    struct ptx_verify *verify; /* ptx_verify() */
};

/* ---- tokens and errors (ptx_parser.c) ---- */

/* `NAME:L:C: expected WHAT, found 'token'` at the current token. */
enum hd_status ptx_expected(struct ptx_parser *p, const char *what) HD_MUST_CHECK;
/* `NAME:L:C: message` at a place. */
enum hd_status ptx_fail(struct ptx_parser *p, struct ptx_srcloc srcloc, const char *fmt, ...)
    HD_PRINTF(3, 4) HD_MUST_CHECK;
/* Consumes the punctuation `kind`, or fails with "expected WHAT". */
enum hd_status ptx_eat(struct ptx_parser *p, unsigned kind, const char *what) HD_MUST_CHECK;
enum hd_status ptx_eat_u32(struct ptx_parser *p, const char *what, uint32_t *out_value)
    HD_MUST_CHECK;
struct hd_str ptx_dup(struct ptx_parser *p, const char *text, size_t len);

static inline enum hd_status ptx_next(struct ptx_parser *p)
{
    return ptx_lex_next(&p->lex);
}

static inline struct ptx_srcloc ptx_here(const struct ptx_parser *p)
{
    return (struct ptx_srcloc){p->lex.tok.line, p->lex.tok.col};
}

static inline bool ptx_at(const struct ptx_parser *p, unsigned kind)
{
    return p->lex.tok.kind == kind;
}

/* The table entry of the current .word; NULL for other tokens and unknown words. */
const struct ptx_word *ptx_tok_word(const struct ptx_parser *p);

/* NULL when memory is short. The arena's own scratch block must not get into lists and chains. */
void *ptx_new_bytes(struct ptx_parser *p, size_t size_B);
#define PTX_NEW(p, ptr)                                                                            \
    do {                                                                                           \
        (ptr) = ptx_new_bytes((p), sizeof(*(ptr)));                                                \
        if (HD_UNLIKELY(!(ptr)))                                                                   \
            return HD_NO_MEMORY;                                                                   \
    } while (0)

/* ---- names (ptx_scope.c) ---- */

enum hd_status ptx_scope_init(struct ptx_parser *p) HD_MUST_CHECK;
void ptx_scope_fini(struct ptx_parser *p);
/* Forgets every name and use: the module's are in its symtab, which is asked from now on. */
void ptx_scope_clear(struct ptx_parser *p);
enum hd_status ptx_scope_push(struct ptx_parser *p) HD_MUST_CHECK;
/* Closes the innermost scope; uses that it did not resolve move outwards. */
enum hd_status ptx_scope_pop(struct ptx_parser *p) HD_MUST_CHECK;
/* Fails with a message when the name is taken in this scope. */
enum hd_status ptx_scope_declare(struct ptx_parser *p, struct ptx_sym *sym) HD_MUST_CHECK;
struct ptx_sym *ptx_scope_find(const struct ptx_parser *p, const char *name, size_t len,
                               uint32_t hash, bool is_range);
/* What the current IDENT means; a register range with *out_index set. NULL when undeclared. */
struct ptx_sym *ptx_scope_resolve(const struct ptx_parser *p, uint32_t *out_index);
/* Resolves what is left at the end of the module, or fails with the first undeclared name. */
enum hd_status ptx_scope_finish(struct ptx_parser *p) HD_MUST_CHECK;
enum hd_status ptx_pending_add(struct ptx_parser *p, struct ptx_pending pending) HD_MUST_CHECK;
/* Fills a symbol's head from the current IDENT. */
void ptx_sym_from_tok(struct ptx_parser *p, struct ptx_sym *sym, enum ptx_sym_kind kind);

/* ---- checks (ptx_check.c) ---- */

/* Of forms that were seen, by number: ptx_syntax_operands(). */
struct ptx_checks {
    uint32_t *at;
    size_t len, cap;
};
enum hd_status ptx_check_func(struct ptx_checks *checks, const struct ptx_module *module,
                              const struct ptx_func *func) HD_MUST_CHECK;

/* A text that is checked body by body (ptx_verify.c). */
struct ptx_verify {
    struct hd_arena bodies;
    struct ptx_checks checks;
    bool keep; /* some use of a name waits in a body */
};

struct ptx_symtab {
    struct hd_arena *arena;
    struct ptx_sym **buckets;
    uint32_t nbuckets; /* power of two */
};

/* ---- the rest ---- */

/* Form of a dotted text; decodes it on first sight. `hash` is FNV of the text. */
enum hd_status ptx_form_get(struct ptx_parser *p, const char *text, size_t len, uint32_t hash,
                            struct ptx_srcloc srcloc, const struct ptx_form **out_form)
    HD_MUST_CHECK;

struct ptx_const {
    uint64_t bits;
    uint8_t kind; /* PTX_TOK_INT, PTX_TOK_F32, PTX_TOK_F64 */
    bool is_unsigned;
};
/* A constant expression; registers and symbols are not part of it. */
enum hd_status ptx_parse_const(struct ptx_parser *p, struct ptx_const *out_value) HD_MUST_CHECK;
/* The part of a constant expression that may follow '+' or '-' in an address: a product. */
enum hd_status ptx_parse_offset(struct ptx_parser *p, int64_t *inout_offset) HD_MUST_CHECK;
enum hd_status ptx_parse_const_u64(struct ptx_parser *p, const char *what, uint64_t *out_value)
    HD_MUST_CHECK;

/* Pushes one operand onto opstack. */
enum hd_status ptx_parse_operand(struct ptx_parser *p) HD_MUST_CHECK;
/* `L<3>` of .branchtargets: pushes the labels L0, L1, L2. The current token is the name. */
enum hd_status ptx_parse_label_range(struct ptx_parser *p) HD_MUST_CHECK;
/* Moves opstack[base..] to `dst`, which has room. */
void ptx_operands_place(struct ptx_parser *p, size_t base, struct ptx_operand *dst);
/* Pops opstack[base..] into an arena array. */
enum hd_status ptx_operands_take(struct ptx_parser *p, size_t base, struct ptx_operand **out_items,
                                 uint32_t *out_count) HD_MUST_CHECK;

/* `= initialiser` of a variable; infers the size of `name[]`. */
enum hd_status ptx_parse_init(struct ptx_parser *p, struct ptx_var *var) HD_MUST_CHECK;
enum hd_status ptx_parse_section(struct ptx_parser *p, struct ptx_section *section) HD_MUST_CHECK;

/* A declaration that begins with a state space; at module scope `linkage` may precede it. */
enum hd_status ptx_parse_var_decl(struct ptx_parser *p, enum ptx_linkage linkage) HD_MUST_CHECK;
/* `( .managed, .unified(uuid1, uuid2) )`; the current token is '('. */
enum hd_status ptx_parse_attributes(struct ptx_parser *p, bool *out_managed, bool *out_unified,
                                    uint64_t uuid[2]) HD_MUST_CHECK;
/* `( parameter, ... )`; names enter the current scope when `declare`. */
enum hd_status ptx_parse_params(struct ptx_parser *p, bool is_ret, bool declare,
                                struct ptx_var **out_list, uint32_t *out_count) HD_MUST_CHECK;
/* `.entry` or `.func` up to its body's '{' or the ';' behind a declaration. */
enum hd_status ptx_parse_func_head(struct ptx_parser *p, struct ptx_func *func) HD_MUST_CHECK;
enum hd_status ptx_parse_proto(struct ptx_parser *p, struct ptx_proto *proto) HD_MUST_CHECK;
/* Current token is '{'. */
enum hd_status ptx_parse_body(struct ptx_parser *p, struct ptx_func *func) HD_MUST_CHECK;
/* The scope of the parameters with the body's in it. Current token is '{'. */
enum hd_status ptx_parse_scoped_body(struct ptx_parser *p, struct ptx_func *func) HD_MUST_CHECK;
/* Passes over the body as p->extents says. Current token is '{'. */
enum hd_status ptx_skip_body(struct ptx_parser *p, struct ptx_func *func) HD_MUST_CHECK;
/* Parses and checks the body, of which only the extent stays. Current token is '{'. */
enum hd_status ptx_verify_body(struct ptx_parser *p, struct ptx_func *func) HD_MUST_CHECK;
/* Gives up a body whose memory goes: the function is as it was `before`, behind its head. */
void ptx_func_forget(struct ptx_func *func, const struct ptx_func *before);
/* The length without NULs at the end; HD_BAD_PTX: offsets and lines of the text need 32 bits. */
enum hd_status ptx_text_trim(const char *text, size_t *inout_len, const char *name) HD_MUST_CHECK;
/* Everything behind ptx_lex_init(). */
enum hd_status ptx_parse_module(struct ptx_parser *p, const char *name) HD_MUST_CHECK;
void ptx_parser_fini(struct ptx_parser *p);
enum hd_status ptx_parse_loc(struct ptx_parser *p, struct ptx_loc **out_loc) HD_MUST_CHECK;
enum hd_status ptx_parse_pragma(struct ptx_parser *p, struct hd_str *out_text) HD_MUST_CHECK;

enum hd_status ptx_item_add(struct ptx_parser *p, struct ptx_item **out_item,
                            enum ptx_item_kind kind) HD_MUST_CHECK;
enum hd_status ptx_stmt_add_decl(struct ptx_parser *p, enum ptx_stmt_kind kind,
                                 struct ptx_stmt_decl **out_stmt) HD_MUST_CHECK;
void ptx_stmt_append(struct ptx_parser *p, struct ptx_stmt *stmt);
void ptx_reg_append(struct ptx_parser *p, struct ptx_reg_decl *reg);

#endif
