/* Module header and items. */
#include "ptx/ptx_parse.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

/* ---- header ---- */

static enum hd_status module_parse_version(struct ptx_parser *p)
{
    struct ptx_module *m = p->module;
    const struct ptx_word *word = ptx_tok_word(p);
    if (!word || word->dir != PTX_DIR_VERSION)
        return ptx_expected(p, ".version");
    HD_TRY(ptx_next(p));
    const struct ptx_tok *tok = &p->lex.tok;
    char text[16] = {0}; /* sscanf() measures its input, which is the rest of the module */
    unsigned major = 0, minor = 0;
    memcpy(text, tok->text, HD_MIN(tok->len, sizeof(text) - 1));
    if (tok->kind != PTX_TOK_F64 || tok->len > 8 || sscanf(text, "%3u.%3u", &major, &minor) != 2)
        return ptx_expected(p, "a version such as 8.5");
    if (major < 1 || major > 9)
        return hd_error(HD_BAD_VERSION, "%s:%u:%u: " PTX_UNSUPPORTED_VERSION, p->lex.name,
                        tok->line, tok->col, major, minor);
    m->version_major = (uint16_t)major;
    m->version_minor = (uint16_t)minor;
    return ptx_next(p);
}

static void module_apply_target(struct ptx_module *m, const struct ptx_target *target)
{
    if (target->arch && !m->arch) {
        m->arch = target->arch;
        m->arch_suffix = target->suffix;
    }
    m->debug |= hd_str_is(target->name, "debug");
    m->texmode_independent |= hd_str_is(target->name, "texmode_independent");
    m->map_f64_to_f32 |= hd_str_is(target->name, "map_f64_to_f32");
}

static bool module_target_exists(const struct ptx_target *target)
{
    static const struct {
        uint16_t arch;
        const char *suffixes;
    } table[] = {
#define PTX_TARGET(arch, suffixes) {arch, suffixes},
#include "ptx_targets.def"
#undef PTX_TARGET
    };
    for (size_t i = 0; i < HD_COUNT_OF(table); i++)
        if (table[i].arch == target->arch)
            return !target->suffix || strchr(table[i].suffixes, target->suffix);
    return false;
}

/* sm_90a, compute_90: fills arch and suffix. False for another word. */
static bool module_target_arch(struct hd_str name, struct ptx_target *target)
{
    size_t prefix = hd_str_starts(name, "sm_") ? 3 : hd_str_starts(name, "compute_") ? 8 : 0;
    size_t digits = prefix;
    uint64_t arch;
    while (digits < name.len && name.ptr[digits] >= '0' && name.ptr[digits] <= '9')
        digits++;
    struct hd_str number = {name.ptr + prefix, digits - prefix};
    if (!prefix || !number.len || number.len > 4 || !hd_str_to_u64(number, 10, &arch))
        return false;
    if (name.len - digits > 1 ||
        (name.len > digits && name.ptr[digits] != 'a' && name.ptr[digits] != 'f'))
        return false;
    target->arch = (uint16_t)arch;
    target->suffix = name.len > digits ? name.ptr[digits] : 0;
    return module_target_exists(target);
}

static bool module_target_option(struct hd_str name)
{
    static const char *const options[] = {"texmode_unified", "texmode_independent", "debug",
                                          "map_f64_to_f32"};
    for (unsigned i = 0; i < HD_COUNT_OF(options); i++)
        if (hd_str_is(name, options[i]))
            return true;
    return false;
}

static enum hd_status module_parse_target(struct ptx_parser *p)
{
    struct ptx_module *m = p->module;
    const struct ptx_word *word = ptx_tok_word(p);
    if (!word || word->dir != PTX_DIR_TARGET)
        return ptx_expected(p, ".target");
    do {
        HD_TRY(ptx_next(p));
        struct ptx_target target = {0};
        struct hd_str name = {p->lex.tok.text, p->lex.tok.len};
        if (!ptx_at(p, PTX_TOK_IDENT) ||
            (!module_target_arch(name, &target) && !module_target_option(name)))
            return ptx_expected(p, "a target of PTX ISA 9.0, such as sm_90, or an option");
        if (m->ntargets == PTX_MAX_TARGETS)
            return ptx_expected(p, "at most 8 targets");
        target.name = ptx_dup(p, name.ptr, name.len);
        module_apply_target(m, &target);
        m->targets[m->ntargets++] = target;
        HD_TRY(ptx_next(p));
    } while (ptx_at(p, ','));
    return HD_OK;
}

static enum hd_status module_parse_header(struct ptx_parser *p)
{
    struct ptx_module *m = p->module;
    HD_TRY(ptx_next(p));
    HD_TRY(module_parse_version(p));
    HD_TRY(module_parse_target(p));
    m->address_size = m->version_major < 3 && m->arch < 20 ? 32 : 64;
    const struct ptx_word *word = ptx_tok_word(p);
    if (!word || word->dir != PTX_DIR_ADDRESS_SIZE)
        return HD_OK;
    HD_TRY(ptx_next(p));
    if (!ptx_at(p, PTX_TOK_INT) || (p->lex.tok.bits != 32 && p->lex.tok.bits != 64))
        return ptx_expected(p, "address size 32 or 64");
    m->address_size = (uint8_t)p->lex.tok.bits;
    m->address_size_written = true;
    return ptx_next(p);
}

/* ---- items ---- */

/* A second declaration of a function joins the first; two bodies are an error. */
static enum hd_status module_declare_func(struct ptx_parser *p, struct ptx_func *func)
{
    struct hd_str name = func->sym.name;
    struct ptx_sym *old = ptx_scope_find(p, name.ptr, name.len, func->sym.hash, false);
    func->def = func;
    if (!old || old->kind != PTX_SYM_FUNC)
        return ptx_scope_declare(p, &func->sym);
    struct ptx_func *first = (struct ptx_func *)old;
    if (first->is_entry != func->is_entry || first->nparams != func->nparams ||
        first->nrets != func->nrets)
        return ptx_fail(p, func->sym.srcloc, "'%.*s' was declared differently at line %u",
                        HD_STR_ARG(name), old->srcloc.line);
    if (func->has_body && first->def->has_body)
        return ptx_scope_declare(p, &func->sym); /* reports the duplicate */
    if (func->has_body)
        first->def = func;
    else
        func->def = first; /* the definition may still come: see module_finish_funcs() */
    return HD_OK;
}

static enum hd_status module_parse_func(struct ptx_parser *p, enum ptx_linkage linkage,
                                        bool is_entry)
{
    struct ptx_func *func;
    struct ptx_item *item;
    PTX_NEW(p, func);
    HD_TRY(ptx_item_add(p, &item, PTX_ITEM_FUNC));
    item->u.func = func;
    func->srcloc = ptx_here(p);
    func->is_entry = is_entry;
    func->linkage = (uint8_t)linkage;
    p->last_reg = NULL;
    p->last_var = NULL;
    p->loc = NULL;
    HD_TRY(ptx_next(p));
    HD_TRY(ptx_parse_func_head(p, func));
    /* Declares the function's name outside the scope that its parameters have opened. */
    HD_TRY(ptx_scope_pop(p));
    HD_TRY(module_declare_func(p, func));
    if (p->last_func)
        p->last_func->next_func = func;
    else
        p->module->funcs = func;
    p->last_func = func;
    if (!func->has_body)
        HD_TRY(ptx_next(p)); /* ';' */
    else if (p->extents)
        HD_TRY(ptx_skip_body(p, func));
    else if (p->verify)
        HD_TRY(ptx_verify_body(p, func));
    else
        HD_TRY(ptx_parse_scoped_body(p, func));
    p->func = NULL;
    p->loc = NULL;
    return HD_OK;
}

static enum hd_status module_parse_alias_name(struct ptx_parser *p, struct ptx_alias *alias,
                                              bool is_decl)
{
    const struct ptx_tok *tok = &p->lex.tok;
    if (!ptx_at(p, PTX_TOK_IDENT))
        return ptx_expected(p, "the name of a function");
    if (is_decl)
        ptx_sym_from_tok(p, &alias->sym, PTX_SYM_ALIAS);
    HD_TRY(ptx_pending_add(p, (struct ptx_pending){.kind = PTX_PENDING_ALIAS,
                                                   .is_alias_decl = is_decl,
                                                   .stack_idx = PTX_PLACED,
                                                   .u.alias = alias,
                                                   .name = ptx_dup(p, tok->text, tok->len),
                                                   .hash = tok->hash,
                                                   .srcloc = ptx_here(p)}));
    return ptx_next(p);
}

static enum hd_status module_parse_alias(struct ptx_parser *p)
{
    struct ptx_item *item;
    struct ptx_alias *alias;
    PTX_NEW(p, alias);
    HD_TRY(ptx_item_add(p, &item, PTX_ITEM_ALIAS));
    item->u.alias = alias;
    HD_TRY(ptx_next(p));
    HD_TRY(module_parse_alias_name(p, alias, true));
    HD_TRY(ptx_eat(p, ',', "',' in .alias"));
    HD_TRY(module_parse_alias_name(p, alias, false));
    return ptx_eat(p, ';', "';' behind .alias");
}

static enum hd_status module_parse_file(struct ptx_parser *p)
{
    struct ptx_item *item;
    struct ptx_file *file;
    PTX_NEW(p, file);
    HD_TRY(ptx_item_add(p, &item, PTX_ITEM_FILE));
    item->u.file = file;
    HD_TRY(ptx_next(p));
    HD_TRY(ptx_eat_u32(p, "a file number", &file->idx));
    if (!ptx_at(p, PTX_TOK_STRING))
        return ptx_expected(p, "the name of the file");
    file->path = ptx_dup(p, p->lex.tok.text, p->lex.tok.len);
    HD_TRY(ptx_next(p));
    if (ptx_at(p, ',')) {
        file->has_time = true;
        HD_TRY(ptx_next(p));
        HD_TRY(ptx_parse_const_u64(p, "a timestamp", &file->mtime));
        HD_TRY(ptx_eat(p, ',', "',' behind the timestamp"));
        HD_TRY(ptx_parse_const_u64(p, "a file size", &file->size_B));
    }
    assert(!file->next);
    if (p->last_file)
        p->last_file->next = file;
    else
        p->module->files = file;
    p->last_file = file;
    return ptx_at(p, ';') ? ptx_next(p) : HD_OK;
}

/* .visible, .extern ... in front of a function or variable. */
static enum hd_status module_parse_linkage(struct ptx_parser *p, enum ptx_linkage *out_linkage)
{
    *out_linkage = PTX_LINK_NONE;
    for (;;) {
        const struct ptx_word *word = ptx_tok_word(p);
        enum ptx_linkage linkage = PTX_LINK_NONE;
        switch (word ? word->dir : PTX_DIR_NONE) {
        case PTX_DIR_EXTERN:
            linkage = PTX_LINK_EXTERN;
            break;
        case PTX_DIR_VISIBLE:
            linkage = PTX_LINK_VISIBLE;
            break;
        case PTX_DIR_WEAK:
            linkage = PTX_LINK_WEAK;
            break;
        case PTX_DIR_COMMON:
            linkage = PTX_LINK_COMMON;
            break;
        default:
            return HD_OK;
        }
        if (*out_linkage)
            return ptx_expected(p, "one linking directive");
        *out_linkage = linkage;
        HD_TRY(ptx_next(p));
    }
}

static enum hd_status module_parse_other_item(struct ptx_parser *p, enum ptx_dir dir)
{
    struct ptx_item *item;
    switch (dir) {
    case PTX_DIR_ALIAS:
        return module_parse_alias(p);
    case PTX_DIR_FILE:
        return module_parse_file(p);
    case PTX_DIR_SECTION: {
        struct ptx_section *section;
        PTX_NEW(p, section);
        HD_TRY(ptx_item_add(p, &item, PTX_ITEM_SECTION));
        item->u.section = section;
        HD_TRY(ptx_next(p));
        return ptx_parse_section(p, section);
    }
    case PTX_DIR_PRAGMA:
        HD_TRY(ptx_item_add(p, &item, PTX_ITEM_PRAGMA));
        return ptx_parse_pragma(p, &item->u.text);
    case PTX_DIR_LOC:
        HD_TRY(ptx_item_add(p, &item, PTX_ITEM_LOC));
        return ptx_parse_loc(p, &item->u.loc);
    default:
        return ptx_expected(p, "a function, a variable or a directive");
    }
}

static enum hd_status module_parse_item(struct ptx_parser *p)
{
    struct ptx_item *item;
    enum ptx_linkage linkage;
    assert(!p->func && !p->depth && !p->opstack.len && !p->initstack.len);
    p->nesting = 0;
    if (ptx_at(p, ';'))
        return ptx_next(p);
    if (ptx_at(p, PTX_TOK_DWARF)) {
        HD_TRY(ptx_item_add(p, &item, PTX_ITEM_DWARF));
        item->u.text = ptx_dup(p, p->lex.tok.text, p->lex.tok.len);
        return ptx_next(p);
    }
    HD_TRY(module_parse_linkage(p, &linkage));
    const struct ptx_word *word = ptx_tok_word(p);
    enum ptx_dir dir = word ? (enum ptx_dir)word->dir : PTX_DIR_NONE;
    if (dir == PTX_DIR_ENTRY || dir == PTX_DIR_FUNC)
        return module_parse_func(p, linkage, dir == PTX_DIR_ENTRY);
    if (word && word->space)
        return ptx_parse_var_decl(p, linkage);
    if (linkage)
        return ptx_expected(p, "a function or a variable behind the linking directive");
    return module_parse_other_item(p, dir);
}

/* ---- the whole ---- */

static void module_finish_funcs(struct ptx_module *m)
{
    for (struct ptx_func *func = m->funcs; func; func = func->next_func)
        func->def = func->def->def;
}

static enum hd_status module_finish_symtab(struct ptx_parser *p)
{
    struct ptx_symtab *tab;
    PTX_NEW(p, tab);
    uint32_t want = 16;
    while (want < 2 * p->live.len)
        want *= 2;
    assert(hd_is_pow2(want) && !p->depth);
    tab->arena = p->arena;
    tab->nbuckets = want;
    tab->buckets = ptx_new_bytes(p, want * sizeof(tab->buckets[0]));
    if (!tab->buckets)
        return HD_NO_MEMORY;
    for (size_t i = 0; i < p->live.len; i++) {
        struct ptx_sym **bucket = &tab->buckets[ptx_hash_slot(p->live.at[i]->hash) & (want - 1)];
        p->live.at[i]->chain = *bucket;
        *bucket = p->live.at[i];
    }
    p->module->symtab = tab;
    return HD_OK;
}

static enum hd_status parse_module(struct ptx_parser *p)
{
    HD_TRY(ptx_scope_init(p));
    HD_TRY(module_parse_header(p));
    while (!ptx_at(p, PTX_TOK_EOF))
        HD_TRY(module_parse_item(p));
    HD_TRY(ptx_scope_finish(p));
    module_finish_funcs(p->module);
    HD_TRY(module_finish_symtab(p));
    struct ptx_module *m = p->module;
    m->nforms = (uint32_t)p->forms.len;
    assert(m->nforms == p->forms.len && !m->forms);
    m->forms = ptx_new_bytes(p, p->forms.len * sizeof(m->forms[0]) + 1);
    if (!m->forms)
        return HD_NO_MEMORY;
    if (m->nforms)
        memcpy(m->forms, p->forms.at, m->nforms * sizeof(m->forms[0]));
    return hd_arena_status(p->arena);
}

enum hd_status ptx_text_trim(const char *text, size_t *inout_len, const char *name)
{
    while (*inout_len && text[*inout_len - 1] == 0)
        (*inout_len)--;
    if (*inout_len > UINT32_MAX / 2)
        return hd_error(HD_BAD_PTX, "%s: text is longer than 2 GiB", name);
    return HD_OK;
}

void ptx_parser_fini(struct ptx_parser *p)
{
    ptx_scope_fini(p);
    hd_free(p->form_slots);
    hd_vec_fini(&p->forms);
    hd_vec_fini(&p->opstack);
    hd_vec_fini(&p->initstack);
}

enum hd_status ptx_parse_module(struct ptx_parser *p, const char *name)
{
    p->module = ptx_new_bytes(p, sizeof(*p->module));
    if (!p->module)
        return HD_NO_MEMORY;
    p->module->arena = p->arena;
    p->module->name = ptx_dup(p, name, strlen(name));
    return parse_module(p);
}

/*
 * The lexer wants a NUL behind the text and the parse outlives no caller's buffer: work on a copy.
 */
enum hd_status ptx_parse(struct hd_arena *arena, const char *text, size_t len, const char *name,
                         struct ptx_module **out_module)
{
    HD_TRY(ptx_text_trim(text, &len, name));
    char *copy = hd_alloc(len + 8);
    if (!copy)
        return HD_NO_MEMORY;
    memcpy(copy, text, len);
    struct ptx_parser p = {.arena = arena};
    ptx_lex_init(&p.lex, copy, len, name);
    enum hd_status status = ptx_parse_module(&p, name);
    ptx_parser_fini(&p);
    hd_free(copy);
    *out_module = status == HD_OK ? p.module : NULL;
    return status;
}
