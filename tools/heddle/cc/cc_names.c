/* heddle cc: the names by which relocatable modules are linked. */
#include "cc/cc.h"

#include "ptx/ptx.h"

static void report_item(const struct ptx_item *item, cc_name_fn *report, void *user)
{
    const struct ptx_func *func = item->kind == PTX_ITEM_FUNC ? item->u.func : NULL;
    if (func && (func->has_body || !func->def))
        report(user, func->sym.name, func->has_body);
    else if (item->kind == PTX_ITEM_VAR)
        report(user, item->u.var->sym.name, item->u.var->linkage != PTX_LINK_EXTERN);
    else if (item->kind == PTX_ITEM_ALIAS)
        report(user, item->u.alias->sym.name, true);
}

/* PTX with mistakes is reported where it is loaded. */
void cc_ptx_names(const char *text, size_t len, cc_name_fn *report, void *user)
{
    struct ptx_module *module;
    struct hd_arena arena;
    hd_arena_init(&arena);
    if (ptx_parse(&arena, text, len, "device code", &module) == HD_OK)
        for (const struct ptx_item *item = module->items; item; item = item->next)
            report_item(item, report, user);
    hd_arena_fini(&arena);
}
