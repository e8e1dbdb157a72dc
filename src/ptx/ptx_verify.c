/*
 * A text that is to be read on demand is parsed and checked as a whole once, but its bodies need
 * not all be there at once: each is checked behind its '}' and forgotten, in memory that the caches
 * still hold. A body with a name in it that nothing has declared yet is kept to the end, and with
 * it all that come later.
 */
#include "ptx/ptx_parse.h"

#include <assert.h>

struct ptx_verify {
    struct hd_arena bodies;
    struct ptx_checks checks;
    bool keep; /* some use of a name waits in a body */
};

void ptx_func_forget(struct ptx_func *func, const struct ptx_func *before)
{
    struct ptx_reg_decl *last = before->regs;
    for (; last && last->next && last->next->is_param; last = last->next)
        ;
    assert(!before->body && (!last || last->is_param));
    if (last)
        last->next = NULL;
    *func = *before;
}

enum hd_status ptx_verify_body(struct ptx_parser *p, struct ptx_func *func)
{
    struct ptx_verify *verify = p->verify;
    struct hd_arena *outer = p->arena;
    struct ptx_func before = *func;
    size_t uses = p->pending.len;
    p->arena = &verify->bodies;
    enum hd_status status = ptx_parse_scoped_body(p, func);
    p->arena = outer;
    HD_TRY(status);
    HD_TRY(hd_arena_status(&verify->bodies));
    verify->keep |= p->pending.len > uses;
    if (verify->keep)
        return HD_OK;
    HD_TRY(ptx_check_func(&verify->checks, p->module, func));
    before.extent = func->extent;
    ptx_func_forget(func, &before);
    hd_arena_fini(&verify->bodies);
    return HD_OK;
}

/* Also the bodies that were kept. */
static enum hd_status verify_module(struct ptx_parser *p, const char *name, ptx_extent_fn *found,
                                    void *user)
{
    HD_TRY(ptx_parse_module(p, name));
    for (struct ptx_func *func = p->module->funcs; func; func = func->next_func) {
        if (!func->has_body)
            continue;
        HD_TRY(ptx_check_func(&p->verify->checks, p->module, func));
        if (!found(user, &func->extent))
            return HD_NO_MEMORY;
    }
    return HD_OK;
}

enum hd_status ptx_verify(const char *text, size_t len, const char *name, ptx_extent_fn *found,
                          void *user)
{
    struct hd_arena arena;
    struct ptx_verify verify = {0};
    struct ptx_parser p = {.arena = &arena, .verify = &verify};
    HD_TRY(ptx_text_trim(text, &len, name));
    assert(!text[len]);
    hd_arena_init(&arena);
    hd_arena_init(&verify.bodies);
    ptx_lex_init(&p.lex, text, len, name);
    enum hd_status status = verify_module(&p, name, found, user);
    ptx_parser_fini(&p);
    hd_vec_fini(&verify.checks);
    hd_arena_fini(&verify.bodies);
    hd_arena_fini(&arena);
    return status;
}
