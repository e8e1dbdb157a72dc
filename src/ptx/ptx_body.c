/* Bodies as the module meets them: with the scope of the parameters, or looked at and forgotten. */
#include "ptx/ptx_parse.h"

#include <assert.h>

enum hd_status ptx_parse_scoped_body(struct ptx_parser *p, struct ptx_func *func)
{
    /* Parameters were dropped together with their scope; brings them back for the body. */
    assert(!p->depth && func->has_body);
    HD_TRY(ptx_scope_push(p));
    for (struct ptx_reg_decl *reg = func->regs; reg; reg = reg->next)
        HD_TRY(ptx_scope_declare(p, &reg->sym));
    struct ptx_var *lists[] = {func->rets, func->params};
    for (unsigned i = 0; i < HD_COUNT_OF(lists); i++)
        for (struct ptx_var *var = lists[i]; var; var = var->next)
            if (var->space != PTX_SPACE_REG && !hd_str_is(var->sym.name, "_"))
                HD_TRY(ptx_scope_declare(p, &var->sym));
    HD_TRY(ptx_parse_body(p, func));
    return ptx_scope_pop(p);
}

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
