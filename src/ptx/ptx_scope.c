/*
 * Names: one hash table for all open scopes. Each chain holds the newest declaration first, so the
 * first match is the innermost one, and leaving a scope pops names in reverse order of declaration.
 */
#include "ptx/ptx_parse.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_BUCKETS 1024u

enum hd_status ptx_scope_init(struct ptx_parser *p)
{
    p->buckets = hd_alloc_array(FIRST_BUCKETS, sizeof(struct ptx_sym *));
    p->nbuckets = FIRST_BUCKETS;
    return p->buckets ? HD_OK : HD_NO_MEMORY;
}

void ptx_scope_fini(struct ptx_parser *p)
{
    hd_free(p->buckets);
    hd_vec_fini(&p->live);
    hd_vec_fini(&p->scopes);
    hd_vec_fini(&p->pending);
}

void ptx_scope_clear(struct ptx_parser *p)
{
    memset(p->buckets, 0, p->nbuckets * sizeof(struct ptx_sym *));
    p->live.len = p->scopes.len = p->pending.len = 0;
    p->depth = p->deep_names = 0;
    p->outer = p->module->symtab;
}

static struct ptx_sym **bucket_of(const struct ptx_parser *p, uint32_t hash)
{
    return &p->buckets[ptx_hash_slot(hash) & (p->nbuckets - 1)];
}

/* Oldest first, so that chains keep the newest name in front. */
static enum hd_status grow(struct ptx_parser *p)
{
    uint32_t want = p->nbuckets * 4;
    assert(hd_is_pow2(want) && want > p->nbuckets);
    struct ptx_sym **buckets = hd_alloc_array(want, sizeof(struct ptx_sym *));
    if (!buckets)
        return HD_NO_MEMORY;
    hd_free(p->buckets);
    p->buckets = buckets;
    p->nbuckets = want;
    for (size_t i = 0; i < p->live.len; i++) {
        struct ptx_sym **bucket = bucket_of(p, p->live.at[i]->hash);
        p->live.at[i]->chain = *bucket;
        *bucket = p->live.at[i];
    }
    return HD_OK;
}

static struct ptx_sym *find_in(struct ptx_sym *chain, struct hd_str name, uint32_t hash,
                               bool is_range)
{
    for (struct ptx_sym *sym = chain; sym; sym = sym->chain)
        if (sym->hash == hash && sym->is_range == is_range && sym->name.len == name.len &&
            memcmp(sym->name.ptr, name.ptr, name.len) == 0)
            return sym;
    return NULL;
}

/* Of the module, when its bodies are read later: what stands behind the body is not known yet. */
static struct ptx_sym *find_outer(const struct ptx_parser *p, struct hd_str name, uint32_t hash,
                                  bool is_range)
{
    const struct ptx_symtab *tab = p->outer;
    struct ptx_sym *sym =
        find_in(tab->buckets[ptx_hash_slot(hash) & (tab->nbuckets - 1)], name, hash, is_range);
    bool later = sym && (sym->srcloc.line > p->horizon.line ||
                         (sym->srcloc.line == p->horizon.line && sym->srcloc.col > p->horizon.col));
    return later ? NULL : sym;
}

struct ptx_sym *ptx_scope_find(const struct ptx_parser *p, const char *name, size_t len,
                               uint32_t hash, bool is_range)
{
    const struct hd_str text = {name, len};
    struct ptx_sym *sym = find_in(*bucket_of(p, hash), text, hash, is_range);
    return sym || !p->outer ? sym : find_outer(p, text, hash, is_range);
}

struct ptx_sym *ptx_scope_resolve(const struct ptx_parser *p, uint32_t *out_index)
{
    const struct ptx_tok *tok = &p->lex.tok;
    struct ptx_sym *range = NULL;
    assert(tok->kind == PTX_TOK_IDENT);
    *out_index = 0;
    if (tok->number != UINT32_MAX) {
        range = ptx_scope_find(p, tok->text, tok->prefix_len, tok->prefix_hash, true);
        assert(!range || range->kind == PTX_SYM_REG); /* only registers have ranges */
        if (range && tok->number >= ((struct ptx_reg_decl *)range)->count)
            range = NULL;
        if (range && !p->deep_names) {
            *out_index = tok->number;
            return range;
        }
    }
    struct ptx_sym *sym = ptx_scope_find(p, tok->text, tok->len, tok->hash, false);
    if (!range || (sym && sym->depth > range->depth))
        return sym;
    *out_index = tok->number;
    return range;
}

enum hd_status ptx_scope_push(struct ptx_parser *p)
{
    assert(p->scopes.len == p->depth);
    if (p->depth >= PTX_MAX_NESTING)
        return ptx_fail(p, ptx_here(p), "scopes are nested too deeply");
    if (!hd_vec_push(&p->scopes, p->live.len))
        return HD_NO_MEMORY;
    p->depth++;
    return HD_OK;
}

static enum hd_status bind(struct ptx_parser *p, const struct ptx_pending *use, struct ptx_sym *sym)
{
    if (use->kind == PTX_PENDING_INIT) {
        assert(use->stack_idx == PTX_PLACED);
        use->u.init->u.sym = sym;
        return HD_OK;
    }
    if (use->kind == PTX_PENDING_OPERAND) {
        struct ptx_operand *operand = use->u.operand;
        assert(use->stack_idx == PTX_PLACED); /* its list is in the arena by now */
        if (sym->kind == PTX_SYM_REG)
            return ptx_fail(p, use->srcloc, "register '%.*s' is used before its declaration",
                            HD_STR_ARG(use->name));
        if (sym->kind == PTX_SYM_LABEL && operand->kind != PTX_OPND_ADDR) {
            operand->kind = PTX_OPND_LABEL;
            operand->u.label = (struct ptx_label *)sym;
            return HD_OK;
        }
        operand->u.sym = sym;
        return HD_OK;
    }
    if (sym->kind != PTX_SYM_FUNC)
        return ptx_fail(p, use->srcloc, "expected a function, found '%.*s'", HD_STR_ARG(use->name));
    assert(use->kind == PTX_PENDING_ALIAS);
    if (use->is_alias_decl)
        use->u.alias->decl = (struct ptx_func *)sym;
    else
        use->u.alias->target = (struct ptx_func *)sym;
    return HD_OK;
}

/* Binds uses whose innermost possible scope is the current one; the others move one scope out. */
static enum hd_status settle(struct ptx_parser *p)
{
    size_t keep = p->pending.len;
    while (keep > 0 && p->pending.at[keep - 1].depth >= p->depth)
        keep--;
    size_t left = keep;
    for (size_t i = keep; i < p->pending.len; i++) {
        struct ptx_pending use = p->pending.at[i];
        struct ptx_sym *sym = ptx_scope_find(p, use.name.ptr, use.name.len, use.hash, false);
        if (sym && sym->depth == p->depth) {
            HD_TRY(bind(p, &use, sym));
            continue;
        }
        use.depth = (uint16_t)(p->depth ? p->depth - 1 : 0);
        p->pending.at[left++] = use;
    }
    assert(left <= p->pending.len);
    p->pending.len = left;
    return HD_OK;
}

enum hd_status ptx_scope_pop(struct ptx_parser *p)
{
    assert(p->depth && p->scopes.len == p->depth);
    HD_TRY(settle(p));
    size_t first = hd_vec_pop(&p->scopes);
    while (p->live.len > first) {
        struct ptx_sym *sym = hd_vec_pop(&p->live);
        assert(*bucket_of(p, sym->hash) == sym && sym->depth == p->depth);
        *bucket_of(p, sym->hash) = sym->chain;
        p->deep_names -= sym->depth >= 3;
    }
    p->depth--;
    return HD_OK;
}

enum hd_status ptx_scope_finish(struct ptx_parser *p)
{
    assert(!p->depth && !p->scopes.len);
    HD_TRY(settle(p));
    if (p->pending.len == 0)
        return HD_OK;
    const struct ptx_pending *use = &p->pending.at[0];
    return ptx_fail(p, use->srcloc, "expected a declared name, found '%.*s'",
                    HD_STR_ARG(use->name));
}

enum hd_status ptx_pending_add(struct ptx_parser *p, struct ptx_pending pending)
{
    assert(pending.stack_idx == PTX_PLACED || pending.kind != PTX_PENDING_ALIAS);
    pending.depth = (uint16_t)p->depth;
    return hd_vec_push(&p->pending, pending) ? HD_OK : HD_NO_MEMORY;
}

/* Is a name of a range taken by a single register, or the reverse, in the same scope? */
static struct ptx_sym *range_clash(struct ptx_parser *p, const struct ptx_sym *sym)
{
    uint32_t prefix = (uint32_t)sym->name.len;
    uint64_t number;
    while (prefix && sym->name.ptr[prefix - 1] >= '0' && sym->name.ptr[prefix - 1] <= '9')
        prefix--;
    struct hd_str tail = {sym->name.ptr + prefix, sym->name.len - prefix};
    if (sym->is_range || !tail.len || (tail.ptr[0] == '0' && tail.len > 1) ||
        !hd_str_to_u64(tail, 10, &number))
        return NULL;
    uint32_t hash = ptx_hash_bytes(PTX_HASH_SEED, sym->name.ptr, prefix);
    struct ptx_sym *range = ptx_scope_find(p, sym->name.ptr, prefix, hash, true);
    if (range && range->depth == p->depth && number < ((struct ptx_reg_decl *)range)->count)
        return range;
    return NULL;
}

enum hd_status ptx_scope_declare(struct ptx_parser *p, struct ptx_sym *sym)
{
    if (p->arena->failed)
        return HD_NO_MEMORY;
    assert(sym->name.len);
    if (hd_str_is(sym->name, "_")) /* the operand that is nowhere */
        return ptx_fail(p, sym->srcloc, "'_' cannot be a name");
    struct ptx_sym *old = ptx_scope_find(p, sym->name.ptr, sym->name.len, sym->hash, sym->is_range);
    if (!old || old->depth != p->depth)
        old = range_clash(p, sym);
    if (old)
        return ptx_fail(p, sym->srcloc, "duplicate name '%.*s', first declared at line %u",
                        HD_STR_ARG(sym->name), old->srcloc.line);
    if (p->live.len >= 2 * (size_t)p->nbuckets)
        HD_TRY(grow(p));
    if (!hd_vec_push(&p->live, sym))
        return HD_NO_MEMORY;
    sym->depth = (uint16_t)p->depth;
    struct ptx_sym **bucket = bucket_of(p, sym->hash);
    sym->chain = *bucket;
    *bucket = sym;
    p->deep_names += sym->depth >= 3;
    return HD_OK;
}

void ptx_sym_from_tok(struct ptx_parser *p, struct ptx_sym *sym, enum ptx_sym_kind kind)
{
    const struct ptx_tok *tok = &p->lex.tok;
    assert(tok->kind == PTX_TOK_IDENT);
    sym->name = ptx_dup(p, tok->text, tok->len);
    sym->kind = (uint8_t)kind;
    sym->hash = tok->hash;
    sym->srcloc = ptx_here(p);
}

struct ptx_sym *ptx_module_find(const struct ptx_module *module, struct hd_str name)
{
    const struct ptx_symtab *tab = module->symtab;
    assert(hd_is_pow2(tab->nbuckets));
    uint32_t hash = ptx_hash_bytes(PTX_HASH_SEED, name.ptr, name.len);
    struct ptx_sym *sym = tab->buckets[ptx_hash_slot(hash) & (tab->nbuckets - 1)];
    for (; sym; sym = sym->chain)
        if (sym->hash == hash && !sym->is_range && hd_str_eq(sym->name, name))
            break;
    if (sym && sym->kind == PTX_SYM_FUNC)
        return &((struct ptx_func *)sym)->def->sym;
    if (sym && sym->kind == PTX_SYM_VAR)
        return &((struct ptx_var *)sym)->def->sym;
    return sym;
}
