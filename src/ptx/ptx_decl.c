/* Declarations: variables, registers and parameters. */
#include "ptx/ptx_parse.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* What stands between the state space and the names. */
struct decl_type {
    enum ptx_space space;
    enum ptx_linkage linkage;
    enum ptx_type type;
    unsigned vec;
    uint32_t align;
    bool align_written;
    bool is_ptr;
    enum ptx_space ptr_space;
    uint32_t ptr_align;
    bool managed, unified;
    uint64_t uuid[2];
    uint8_t const_bank;
};

static enum hd_status decl_parse_align(struct ptx_parser *p, uint32_t *out_align)
{
    struct ptx_srcloc srcloc = ptx_here(p);
    HD_TRY(ptx_eat_u32(p, "an alignment", out_align));
    if (!hd_is_pow2(*out_align))
        return ptx_fail(p, srcloc, "alignment %u is not a power of two", *out_align);
    return HD_OK;
}

/* `( .managed )`, `( .unified(uuid1, uuid2) )`; the current token is '('. */
enum hd_status ptx_parse_attributes(struct ptx_parser *p, bool *out_managed, bool *out_unified,
                                    uint64_t uuid[2])
{
    HD_TRY(ptx_eat(p, '(', "'(' behind .attribute"));
    for (;;) {
        const struct ptx_word *word = ptx_tok_word(p);
        if (word && word->dir == PTX_DIR_MANAGED) {
            *out_managed = true;
            HD_TRY(ptx_next(p));
        } else if (word && word->dir == PTX_DIR_UNIFIED) {
            *out_unified = true;
            HD_TRY(ptx_next(p));
            HD_TRY(ptx_eat(p, '(', "'(' behind .unified"));
            HD_TRY(ptx_parse_const_u64(p, "an identifier of .unified", &uuid[0]));
            HD_TRY(ptx_eat(p, ',', "',' in .unified"));
            HD_TRY(ptx_parse_const_u64(p, "an identifier of .unified", &uuid[1]));
            HD_TRY(ptx_eat(p, ')', "')' behind .unified"));
        } else {
            return ptx_expected(p, "attribute .managed or .unified");
        }
        if (!ptx_at(p, ','))
            return ptx_eat(p, ')', "')' behind the attributes");
        HD_TRY(ptx_next(p));
    }
}

/* `.ptr .space .align n` behind a parameter's type. */
static enum hd_status decl_parse_ptr(struct ptx_parser *p, struct decl_type *decl)
{
    decl->is_ptr = true;
    const struct ptx_word *word = ptx_tok_word(p);
    if (word && word->space) {
        decl->ptr_space = (enum ptx_space)word->space;
        HD_TRY(ptx_next(p));
        word = ptx_tok_word(p);
    }
    if (word && word->dir == PTX_DIR_ALIGN) {
        HD_TRY(ptx_next(p));
        HD_TRY(decl_parse_align(p, &decl->ptr_align));
    }
    return HD_OK;
}

static enum hd_status parse_decl_word(struct ptx_parser *p, const struct ptx_word *word,
                                      struct decl_type *decl)
{
    HD_TRY(ptx_next(p));
    if (word->type) {
        decl->type = (enum ptx_type)word->type;
        return HD_OK;
    }
    switch (word->mod) {
    case PTX_MOD_V2:
        decl->vec = 2;
        return HD_OK;
    case PTX_MOD_V4:
        decl->vec = 4;
        return HD_OK;
    case PTX_MOD_V8:
        decl->vec = 8;
        return HD_OK;
    default:
        break;
    }
    switch (word->dir) {
    case PTX_DIR_ALIGN:
        decl->align_written = true;
        return decl_parse_align(p, &decl->align);
    case PTX_DIR_ATTRIBUTE:
        return ptx_parse_attributes(p, &decl->managed, &decl->unified, decl->uuid);
    default:
        return decl_parse_ptr(p, decl);
    }
}

static bool is_decl_word(const struct ptx_word *word)
{
    return word && (word->type || word->mod == PTX_MOD_V2 || word->mod == PTX_MOD_V4 ||
                    word->mod == PTX_MOD_V8 || word->dir == PTX_DIR_ALIGN ||
                    word->dir == PTX_DIR_ATTRIBUTE || word->dir == PTX_DIR_PTR);
}

/* From the state space up to the first name. */
static enum hd_status parse_decl_type(struct ptx_parser *p, struct decl_type *decl)
{
    const struct ptx_word *word = ptx_tok_word(p);
    assert(word && word->space);
    *decl = (struct decl_type){.space = (enum ptx_space)word->space, .vec = 1};
    HD_TRY(ptx_next(p));
    if (decl->space == PTX_SPACE_CONST && ptx_at(p, '[')) {
        uint64_t bank;
        HD_TRY(ptx_next(p));
        HD_TRY(ptx_parse_const_u64(p, "a constant bank", &bank));
        decl->const_bank = (uint8_t)HD_MIN(bank, 255u);
        HD_TRY(ptx_eat(p, ']', "']' behind the bank"));
    }
    while (ptx_at(p, PTX_TOK_DOT)) {
        struct ptx_srcloc srcloc = ptx_here(p);
        enum ptx_type before = decl->type;
        word = ptx_tok_word(p);
        if (!is_decl_word(word))
            return ptx_expected(p, "a type, .align, .v2, .v4 or a name in the declaration");
        HD_TRY(parse_decl_word(p, word, decl));
        if (before && word->type)
            return ptx_fail(p, srcloc, "second type in one declaration");
    }
    if (!decl->type)
        return ptx_expected(p, "a type in the declaration");
    if (ptx_type_bits(decl->type) < 8 && decl->type != PTX_TYPE_PRED)
        return ptx_fail(p, ptx_here(p), "type .%s cannot be declared", ptx_type_name(decl->type));
    if (decl->type == PTX_TYPE_PRED && decl->space != PTX_SPACE_REG)
        return ptx_fail(p, ptx_here(p), "a .pred variable must be in .reg");
    return HD_OK;
}

/* ---- registers ---- */

static enum hd_status decl_check_reg_vector(struct ptx_parser *p, const struct decl_type *decl,
                                            const struct ptx_sym *name)
{
    bool fits = decl->type != PTX_TYPE_PRED && decl->vec <= 4 &&
                ptx_type_bits(decl->type) * decl->vec <= 128;
    if (decl->vec == 1 || fits)
        return HD_OK;
    return ptx_fail(p, name->srcloc, "a vector register has 2 or 4 elements, 128 bits at most");
}

/* The register `decl` called by the current IDENT; `%r<100>` when allowed. */
static enum hd_status decl_parse_reg(struct ptx_parser *p, const struct decl_type *decl,
                                     bool is_param, struct ptx_reg_decl **out_reg)
{
    struct ptx_reg_decl *reg;
    uint64_t count = 1;
    if (!ptx_at(p, PTX_TOK_IDENT))
        return ptx_expected(p, "the name of a register");
    PTX_NEW(p, reg);
    ptx_sym_from_tok(p, &reg->sym, PTX_SYM_REG);
    HD_TRY(ptx_next(p));
    if (ptx_at(p, '<') && !is_param) {
        HD_TRY(ptx_next(p));
        if (!ptx_at(p, PTX_TOK_INT))
            return ptx_expected(p, "the number of registers");
        count = p->lex.tok.bits;
        HD_TRY(ptx_next(p));
        HD_TRY(ptx_eat(p, '>', "'>' behind the number of registers"));
        reg->sym.is_range = true;
    }
    /* Special registers are predefined (PTX ISA 4.4): a register of that name would hide one. */
    char first[64];
    uint32_t number;
    int len = snprintf(first, sizeof(first), "%.*s%s", HD_STR_ARG(reg->sym.name),
                       reg->sym.is_range ? "0" : "");
    if (len >= 0 && len < (int)sizeof(first) && ptx_sreg_find(first, (size_t)len, &number))
        HD_TRY(ptx_fail(p, reg->sym.srcloc, "'%s' is a special register", first));
    uint32_t *total = p->func ? &p->func->nregs : &p->module->nregs;
    HD_TRY(decl_check_reg_vector(p, decl, &reg->sym));
    uint64_t numbers = count * decl->vec;
    if (count > PTX_MAX_REGS || *total + numbers > PTX_MAX_REGS)
        return ptx_fail(p, reg->sym.srcloc, "too many registers");
    reg->type = (uint8_t)decl->type;
    reg->vec = (uint8_t)decl->vec;
    reg->count = (uint32_t)count;
    reg->global = !p->func;
    reg->is_param = is_param;
    reg->base = *total;
    *total += (uint32_t)numbers;
    assert(reg->base + reg->count * reg->vec == *total && *total <= PTX_MAX_REGS);
    HD_TRY(ptx_scope_declare(p, &reg->sym));
    ptx_reg_append(p, reg);
    *out_reg = reg;
    return HD_OK;
}

static enum hd_status parse_reg_decl(struct ptx_parser *p, const struct decl_type *decl)
{
    for (;;) {
        struct ptx_reg_decl *reg = NULL;
        HD_TRY(decl_parse_reg(p, decl, false, &reg));
        if (p->func) {
            struct ptx_stmt_decl *stmt;
            HD_TRY(ptx_stmt_add_decl(p, PTX_STMT_REG, &stmt));
            stmt->u.reg = reg;
        } else {
            struct ptx_item *item;
            HD_TRY(ptx_item_add(p, &item, PTX_ITEM_REG));
            item->u.reg = reg;
        }
        if (!ptx_at(p, ','))
            return ptx_eat(p, ';', "',' or ';' behind the declaration");
        HD_TRY(ptx_next(p));
    }
}

/* ---- variables ---- */

static enum hd_status decl_parse_dims(struct ptx_parser *p, struct ptx_var *var)
{
    while (ptx_at(p, '[')) {
        if (var->ndims == PTX_MAX_DIMS)
            return ptx_fail(p, ptx_here(p), "more than %u dimensions", PTX_MAX_DIMS);
        HD_TRY(ptx_next(p));
        uint64_t dim = 0;
        if (!ptx_at(p, ']'))
            HD_TRY(ptx_parse_const_u64(p, "an array size", &dim));
        else if (var->ndims > 0)
            return ptx_expected(p, "an array size");
        var->is_array = true;
        var->dims[var->ndims++] = dim;
        HD_TRY(ptx_eat(p, ']', "']' behind the array size"));
    }
    return HD_OK;
}

static enum hd_status decl_set_layout(struct ptx_parser *p, struct ptx_var *var,
                                      const struct decl_type *decl)
{
    uint64_t size_B = (uint64_t)decl->vec * ((ptx_type_bits(decl->type) + 7) / 8);
    var->align = decl->align_written ? decl->align : (uint32_t)size_B;
    var->size_B = size_B;
    for (unsigned i = 0; i < var->ndims; i++)
        if (__builtin_mul_overflow(var->size_B, var->dims[i], &var->size_B) ||
            var->size_B > PTX_MAX_VAR_B)
            return ptx_fail(p, var->sym.srcloc, "variable is too big");
    return HD_OK;
}

static void decl_fill_var(struct ptx_var *var, const struct decl_type *decl)
{
    var->space = (uint8_t)decl->space;
    var->linkage = (uint8_t)decl->linkage;
    var->type = (uint8_t)decl->type;
    var->vec = (uint8_t)decl->vec;
    var->is_ptr = decl->is_ptr;
    var->ptr_space = (uint8_t)decl->ptr_space;
    var->ptr_align = decl->ptr_align;
    var->managed = decl->managed;
    var->unified = decl->unified;
    memcpy(var->uuid, decl->uuid, sizeof(var->uuid));
    var->const_bank = decl->const_bank;
    var->align_written = decl->align_written;
    var->def = var;
}

/* Registers are no arrays; a vector in .param is only an array's element. */
static enum hd_status decl_check_shape(struct ptx_parser *p, const struct decl_type *decl,
                                       const struct ptx_var *var)
{
    if (decl->space == PTX_SPACE_REG && var->is_array)
        return ptx_fail(p, var->sym.srcloc, "a register cannot be an array");
    if (decl->space == PTX_SPACE_PARAM && decl->vec > 1 && !var->is_array)
        return ptx_fail(p, var->sym.srcloc, "a vector cannot be in .param, but for arrays of them");
    if (ptx_type_class(decl->type) == PTX_CLASS_OPAQUE &&
        (decl->vec > 1 || (decl->space != PTX_SPACE_GLOBAL && decl->space != PTX_SPACE_PARAM)))
        return ptx_fail(p, var->sym.srcloc, "textures, samplers and surfaces are in .global");
    return decl->space == PTX_SPACE_REG ? decl_check_reg_vector(p, decl, &var->sym) : HD_OK;
}

/* The name, dimensions and layout of one variable; declares nothing. */
static enum hd_status decl_parse_var_name(struct ptx_parser *p, const struct decl_type *decl,
                                          struct ptx_var **out_var)
{
    struct ptx_var *var;
    if (!ptx_at(p, PTX_TOK_IDENT))
        return ptx_expected(p, "the name of a variable");
    PTX_NEW(p, var);
    ptx_sym_from_tok(p, &var->sym, PTX_SYM_VAR);
    var->func = p->func;
    decl_fill_var(var, decl);
    HD_TRY(ptx_next(p));
    HD_TRY(decl_parse_dims(p, var));
    HD_TRY(decl_check_shape(p, decl, var));
    HD_TRY(decl_set_layout(p, var, decl));
    *out_var = var;
    return HD_OK;
}

/* Same space, type and element count, as a redeclaration must have. */
static bool decl_same_shape(const struct ptx_var *a, const struct ptx_var *b)
{
    return a->space == b->space && a->type == b->type && a->vec == b->vec &&
           a->is_array == b->is_array && (a->size_B == b->size_B || !a->size_B || !b->size_B);
}

/* Declares a variable, or joins it with an .extern one of the same name. */
static enum hd_status decl_declare_var(struct ptx_parser *p, struct ptx_var *var)
{
    struct ptx_sym *old =
        ptx_scope_find(p, var->sym.name.ptr, var->sym.name.len, var->sym.hash, false);
    if (!old || old->depth != p->depth || old->kind != PTX_SYM_VAR || p->depth > 0)
        return ptx_scope_declare(p, &var->sym);
    struct ptx_var *first = (struct ptx_var *)old;
    assert(first->def && first->def->def == first->def);
    bool redeclares = var->linkage == PTX_LINK_EXTERN || first->def->linkage == PTX_LINK_EXTERN;
    if (!redeclares)
        return ptx_scope_declare(p, &var->sym); /* reports the duplicate */
    if (!decl_same_shape(var, first))
        return ptx_fail(p, var->sym.srcloc, "'%.*s' was declared differently at line %u",
                        HD_STR_ARG(var->sym.name), old->srcloc.line);
    if (var->linkage != PTX_LINK_EXTERN)
        first->def = var;
    return HD_OK;
}

static enum hd_status decl_append_var(struct ptx_parser *p, struct ptx_var *var)
{
    struct ptx_var **last = p->func ? &p->last_var : &p->last_module_var;
    assert(!var->next && (!*last || !(*last)->next));
    if (*last)
        (*last)->next = var;
    else if (p->func)
        p->func->vars = var;
    else
        p->module->vars = var;
    *last = var;
    if (p->func) {
        struct ptx_stmt_decl *stmt;
        HD_TRY(ptx_stmt_add_decl(p, PTX_STMT_VAR, &stmt));
        stmt->u.var = var;
    } else {
        struct ptx_item *item;
        HD_TRY(ptx_item_add(p, &item, PTX_ITEM_VAR));
        item->u.var = var;
    }
    return HD_OK;
}

static enum hd_status decl_finish_var(struct ptx_parser *p, struct ptx_var *var)
{
    HD_TRY(decl_declare_var(p, var));
    if (ptx_at(p, '=')) {
        HD_TRY(ptx_next(p));
        HD_TRY(ptx_parse_init(p, var));
    }
    return decl_append_var(p, var);
}

/* `name<4>` outside .reg declares name0 .. name3. A short text must not become a huge module. */
static enum hd_status decl_parse_var_range(struct ptx_parser *p, const struct ptx_var *var)
{
    HD_TRY(ptx_next(p));
    uint64_t count = p->lex.tok.bits;
    if (!ptx_at(p, PTX_TOK_INT) || count > PTX_MAX_VAR_RANGE ||
        (p->expanded_vars += (uint32_t)count) > PTX_MAX_EXPANDED)
        return ptx_expected(p, "a number of variables up to 4096, 65536 in the module");
    HD_TRY(ptx_next(p));
    HD_TRY(ptx_eat(p, '>', "'>' behind the number of variables"));
    for (uint64_t i = 0; i < count; i++) {
        struct ptx_var *each;
        PTX_NEW(p, each);
        *each = *var;
        each->def = each;
        /* Names may be longer than what hd_arena_printf() takes. */
        struct ptx_sym *sym = &each->sym;
        const unsigned number = (unsigned)i;
        char digits[12];
        size_t tail = (size_t)snprintf(digits, sizeof(digits), "%u", number);
        char *name = ptx_new_bytes(p, sym->name.len + tail + 1);
        if (!name)
            return HD_NO_MEMORY;
        memcpy(name, sym->name.ptr, sym->name.len);
        memcpy(name + sym->name.len, digits, tail);
        sym->name = (struct hd_str){name, sym->name.len + tail};
        sym->hash = ptx_hash_bytes(PTX_HASH_SEED, name, sym->name.len);
        HD_TRY(decl_finish_var(p, each));
    }
    return HD_OK;
}

enum hd_status ptx_parse_var_decl(struct ptx_parser *p, enum ptx_linkage linkage)
{
    struct decl_type decl;
    struct ptx_srcloc srcloc = ptx_here(p);
    HD_TRY(parse_decl_type(p, &decl));
    decl.linkage = linkage;
    if (decl.space == PTX_SPACE_REG)
        return parse_reg_decl(p, &decl);
    if (decl.space == PTX_SPACE_SREG || decl.space >= PTX_SPACE_PARAM_ENTRY) {
        if (decl.space != PTX_SPACE_SHARED && decl.space != PTX_SPACE_TEX)
            return ptx_fail(p, srcloc, "variables cannot be declared in .%s",
                            ptx_space_name(decl.space));
    }
    for (;;) {
        struct ptx_var *var;
        HD_TRY(decl_parse_var_name(p, &decl, &var));
        if (ptx_at(p, '<'))
            HD_TRY(decl_parse_var_range(p, var));
        else
            HD_TRY(decl_finish_var(p, var));
        if (!ptx_at(p, ','))
            return ptx_eat(p, ';', "',' or ';' behind the declaration");
        HD_TRY(ptx_next(p));
    }
}

/* ---- parameters ---- */

/* A .reg parameter is a register and also stands in the list, with space REG. */
static enum hd_status decl_declare_param(struct ptx_parser *p, const struct decl_type *decl,
                                         struct ptx_var *var)
{
    if (p->func->is_entry && hd_str_is(var->sym.name, "_")) /* as the assembler has it */
        return HD_OK;
    if (decl->space != PTX_SPACE_REG)
        return ptx_scope_declare(p, &var->sym);
    struct ptx_reg_decl *reg;
    PTX_NEW(p, reg);
    reg->sym = var->sym;
    reg->sym.kind = PTX_SYM_REG;
    reg->type = (uint8_t)decl->type;
    reg->vec = (uint8_t)decl->vec;
    reg->count = 1;
    reg->is_param = true;
    reg->base = p->func->nregs;
    p->func->nregs += decl->vec;
    ptx_reg_append(p, reg);
    return ptx_scope_declare(p, &reg->sym);
}

/* `( parameter, ... )`; names enter the current scope when `declare`. */
enum hd_status ptx_parse_params(struct ptx_parser *p, bool is_ret, bool declare,
                                struct ptx_var **out_list, uint32_t *out_count)
{
    struct ptx_var **link = out_list;
    uint32_t count = 0;
    HD_TRY(ptx_next(p));
    while (!ptx_at(p, ')')) {
        const struct ptx_word *word = ptx_tok_word(p);
        struct decl_type decl;
        struct ptx_var *var;
        if (!word || (word->space != PTX_SPACE_PARAM && word->space != PTX_SPACE_REG))
            return ptx_expected(p, ".param, .reg or ')' in the parameter list");
        HD_TRY(parse_decl_type(p, &decl));
        HD_TRY(decl_parse_var_name(p, &decl, &var));
        var->is_param = true;
        var->is_ret = is_ret;
        var->param_idx = count++;
        if (declare)
            HD_TRY(decl_declare_param(p, &decl, var));
        *link = var;
        link = &var->next;
        if (!ptx_at(p, ','))
            break;
        HD_TRY(ptx_next(p));
        if (ptx_at(p, ')'))
            return ptx_expected(p, "a parameter behind ','");
    }
    *out_count = count;
    return ptx_eat(p, ')', "',' or ')' in the parameter list");
}

enum hd_status ptx_parse_proto(struct ptx_parser *p, struct ptx_proto *proto)
{
    if (ptx_at(p, '('))
        HD_TRY(ptx_parse_params(p, true, false, &proto->rets, &proto->nrets));
    if (!ptx_at(p, PTX_TOK_IDENT))
        return ptx_expected(p, "'_' in the prototype");
    HD_TRY(ptx_next(p));
    if (ptx_at(p, '('))
        HD_TRY(ptx_parse_params(p, false, false, &proto->params, &proto->nparams));
    for (;;) {
        const struct ptx_word *word = ptx_tok_word(p);
        enum ptx_dir dir = word ? (enum ptx_dir)word->dir : PTX_DIR_NONE;
        if (dir != PTX_DIR_NORETURN && dir != PTX_DIR_ABI_PRESERVE &&
            dir != PTX_DIR_ABI_PRESERVE_CONTROL)
            return ptx_eat(p, ';', "';' behind the prototype");
        HD_TRY(ptx_next(p));
        proto->noreturn |= dir == PTX_DIR_NORETURN;
        if (dir == PTX_DIR_ABI_PRESERVE) {
            proto->has_abi_preserve = true;
            HD_TRY(ptx_eat_u32(p, "a number of registers", &proto->abi_preserve));
        } else if (dir == PTX_DIR_ABI_PRESERVE_CONTROL) {
            proto->has_abi_preserve_control = true;
            HD_TRY(ptx_eat_u32(p, "a number of registers", &proto->abi_preserve_control));
        }
    }
}
