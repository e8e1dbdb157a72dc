/*
 * A text that is to be read on demand is parsed and checked as a whole once, but its bodies need
 * not all be there at once: each is checked behind its '}' and forgotten, in memory that the caches
 * still hold. A body with a name in it that nothing has declared yet is kept to the end, and with
 * it all that come later.
 */
#include "ptx/ptx_parse.h"

#include <assert.h>

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
