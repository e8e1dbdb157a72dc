/*
 * Bodies on demand. A text that was parsed and checked once needs no second look at every
 * instruction: its declarations are parsed, bodies are passed over by what is known about their
 * extents, and the parser waits for those that are asked for. It then sees of the module what it
 * would have seen in the midst of the text: names that stand further down are uses to be settled at
 * the body's end, because a label of the body may have such a name, too.
 */
#include "ptx/ptx_parse.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "base/mem.h"

struct ptx_later {
    struct hd_arena arena; /* of the module and whatever is read later */
    struct hd_lock lock;   /* parser, arena, functions that are read */
    struct ptx_parser parser;
};

struct ptx_unread {
    struct ptx_later *later;
    struct ptx_func *func;
    uint32_t line, line_start; /* at extent.begin */
    atomic_bool done;
};

/* ---- passing over */

static enum hd_status not_this_text(const struct ptx_parser *p)
{
    return hd_error(HD_NOT_FOUND, "%s: what is known about its functions is about another text",
                    p->lex.name);
}

/* Could the body at the current token have this extent? A damaged one must lead nowhere. */
static bool extent_fits(const struct ptx_parser *p, const struct ptx_extent *extent)
{
    const struct ptx_lexer *lex = &p->lex;
    size_t len = (size_t)(lex->end - lex->text);
    return extent->begin == (size_t)(lex->tok.text - lex->text) && extent->end > extent->begin &&
           extent->end <= len && lex->text[extent->end - 1] == '}' &&
           extent->line >= lex->tok.line && extent->line_start < extent->end;
}

enum hd_status ptx_skip_body(struct ptx_parser *p, struct ptx_func *func)
{
    if (p->extent == p->nextents || !extent_fits(p, &p->extents[p->extent]))
        return not_this_text(p);
    func->extent = p->extents[p->extent++];
    struct ptx_unread *unread;
    PTX_NEW(p, unread);
    unread->later = HD_CONTAINER_OF(p, struct ptx_later, parser);
    unread->func = func;
    unread->line = p->lex.tok.line;
    unread->line_start = func->extent.begin - (p->lex.tok.col - 1);
    func->unread = unread;
    p->lex.next = p->lex.text + func->extent.end;
    p->lex.line = func->extent.line;
    p->lex.line_start = p->lex.text + func->extent.line_start;
    return ptx_next(p);
}

/* ---- a module */

static enum hd_status open_text(struct ptx_later *later, const char *name)
{
    struct ptx_parser *p = &later->parser;
    HD_TRY(ptx_parse_module(p, name));
    if (p->extent != p->nextents)
        return not_this_text(p);
    p->module->later = later;
    p->lex.name = p->module->name.ptr;
    p->extents = NULL;
    ptx_scope_clear(p);
    return HD_OK;
}

static void later_destroy(struct ptx_later *later)
{
    ptx_parser_fini(&later->parser);
    hd_lock_fini(&later->lock);
    hd_arena_fini(&later->arena);
    hd_free(later);
}

enum hd_status ptx_open(const char *text, size_t len, const char *name,
                        const struct ptx_extent *extents, size_t count,
                        struct ptx_module **out_module)
{
    HD_TRY(ptx_text_trim(text, &len, name));
    struct ptx_later *later = hd_new(struct ptx_later);
    if (!later)
        return hd_error(HD_NO_MEMORY, "%s", name);
    assert(!text[len] && (extents || !count));
    hd_arena_init(&later->arena);
    hd_lock_init(&later->lock, HD_RANK_COMPILE, "ptx bodies");
    later->parser =
        (struct ptx_parser){.arena = &later->arena, .extents = extents, .nextents = count};
    ptx_lex_init(&later->parser.lex, text, len, name);
    enum hd_status status = open_text(later, name);
    if (status != HD_OK) {
        later_destroy(later);
        return status;
    }
    *out_module = later->parser.module;
    return HD_OK;
}

void ptx_close(struct ptx_module *module)
{
    if (module && module->later)
        later_destroy(module->later);
}

/* ---- reading */

/* As it stands behind the head of the function. */
static void parser_rewind(struct ptx_parser *p, const struct ptx_unread *unread)
{
    struct ptx_func *func = unread->func;
    p->lex.next = p->lex.text + func->extent.begin;
    p->lex.line = unread->line;
    p->lex.line_start = p->lex.text + unread->line_start;
    p->horizon = func->sym.srcloc;
    p->loc = NULL;
    p->nesting = p->expanded_vars = 0;
    p->opstack.len = p->initstack.len = 0;
    p->last_var = NULL;
    p->last_reg = func->regs; /* those that are parameters */
    while (p->last_reg && p->last_reg->next)
        p->last_reg = p->last_reg->next;
}

static enum hd_status read_body(struct ptx_parser *p, struct ptx_func *func)
{
    HD_TRY(ptx_next(p));
    HD_TRY(ptx_parse_scoped_body(p, func));
    p->horizon = (struct ptx_srcloc){UINT32_MAX, UINT32_MAX};
    HD_TRY(ptx_scope_finish(p));
    return hd_arena_status(p->arena);
}

static enum hd_status read_locked(struct ptx_unread *unread)
{
    struct ptx_parser *p = &unread->later->parser;
    struct ptx_func before = *unread->func;
    assert(hd_lock_held(&unread->later->lock) && !p->depth && !p->live.len);
    parser_rewind(p, unread);
    enum hd_status status = read_body(p, unread->func);
    if (status != HD_OK) {
        /*
         * What a body that could not be finished has left; its memory stays until the module goes.
         */
        ptx_func_forget(unread->func, &before);
        ptx_scope_clear(p);
        p->arena->failed = false;
    }
    p->func = NULL;
    return status;
}

enum hd_status ptx_func_read(const struct ptx_func *func)
{
    struct ptx_unread *unread = func->unread;
    enum hd_status status = HD_OK;
    if (!unread || atomic_load_explicit(&unread->done, memory_order_acquire))
        return HD_OK;
    hd_lock_acquire(&unread->later->lock);
    if (!atomic_load_explicit(&unread->done, memory_order_relaxed))
        status = read_locked(unread);
    if (status == HD_OK)
        atomic_store_explicit(&unread->done, true, memory_order_release);
    hd_lock_release(&unread->later->lock);
    return status;
}
