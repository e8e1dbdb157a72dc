/* The heads of functions with their directives, and prototypes. */
#include "ptx/ptx_parse.h"

#include <string.h>

static enum hd_status parse_dims3(struct ptx_parser *p, uint32_t dims[3])
{
    dims[0] = dims[1] = dims[2] = 1;
    for (unsigned i = 0; i < 3; i++) {
        HD_TRY(ptx_eat_u32(p, "a dimension", &dims[i]));
        if (!ptx_at(p, ','))
            return HD_OK;
        HD_TRY(ptx_next(p));
    }
    return ptx_expected(p, "at most three dimensions");
}

static enum hd_status parse_func_directive(struct ptx_parser *p, struct ptx_func *func,
                                           enum ptx_dir dir)
{
    if (dir == PTX_DIR_PRAGMA) {
        uint32_t count = func->npragmas;
        if ((count & (count - 1)) == 0) { /* full at powers of two: the list doubles */
            struct hd_str *list = ptx_new_bytes(p, (count ? 2 * (size_t)count : 1) * sizeof(*list));
            if (!list)
                return HD_NO_MEMORY;
            if (count)
                memcpy(list, func->pragmas, count * sizeof(*list));
            func->pragmas = list;
        }
        HD_TRY(ptx_parse_pragma(p, &func->pragmas[count]));
        func->npragmas++;
        return HD_OK;
    }
    HD_TRY(ptx_next(p));
    switch (dir) {
    case PTX_DIR_MAXNREG:
        return ptx_eat_u32(p, "a number of registers", &func->maxnreg);
    case PTX_DIR_MAXNTID:
        return parse_dims3(p, func->maxntid);
    case PTX_DIR_REQNTID:
        return parse_dims3(p, func->reqntid);
    case PTX_DIR_MINNCTAPERSM:
        return ptx_eat_u32(p, "a number of CTAs", &func->minnctapersm);
    case PTX_DIR_MAXNCTAPERSM:
        return ptx_eat_u32(p, "a number of CTAs", &func->maxnctapersm);
    case PTX_DIR_NORETURN:
        func->noreturn = true;
        return HD_OK;
    case PTX_DIR_EXPLICITCLUSTER:
        func->explicitcluster = true;
        return HD_OK;
    case PTX_DIR_BLOCKSARECLUSTERS:
        func->blocksareclusters = true;
        return HD_OK;
    case PTX_DIR_REQNCTAPERCLUSTER:
        func->has_reqnctapercluster = true;
        return ptx_at(p, PTX_TOK_INT) ? parse_dims3(p, func->reqnctapercluster) : HD_OK;
    case PTX_DIR_MAXCLUSTERRANK:
        return ptx_eat_u32(p, "a number of CTAs", &func->maxclusterrank);
    case PTX_DIR_ABI_PRESERVE:
        func->has_abi_preserve = true;
        return ptx_eat_u32(p, "a number of registers", &func->abi_preserve);
    case PTX_DIR_ABI_PRESERVE_CONTROL:
        func->has_abi_preserve_control = true;
        return ptx_eat_u32(p, "a number of registers", &func->abi_preserve_control);
    default: { /* PTX_DIR_ATTRIBUTE */
        bool managed = false;
        return ptx_parse_attributes(p, &managed, &func->unified, func->uuid);
    }
    }
}

static bool is_func_directive(const struct ptx_word *word)
{
    if (!word)
        return false;
    switch (word->dir) {
    case PTX_DIR_MAXNREG:
    case PTX_DIR_MAXNTID:
    case PTX_DIR_REQNTID:
    case PTX_DIR_MINNCTAPERSM:
    case PTX_DIR_MAXNCTAPERSM:
    case PTX_DIR_NORETURN:
    case PTX_DIR_EXPLICITCLUSTER:
    case PTX_DIR_BLOCKSARECLUSTERS:
    case PTX_DIR_REQNCTAPERCLUSTER:
    case PTX_DIR_MAXCLUSTERRANK:
    case PTX_DIR_ABI_PRESERVE:
    case PTX_DIR_ABI_PRESERVE_CONTROL:
    case PTX_DIR_ATTRIBUTE:
    case PTX_DIR_PRAGMA:
        return true;
    default:
        return false;
    }
}

static enum hd_status parse_func_directives(struct ptx_parser *p, struct ptx_func *func)
{
    for (;;) {
        const struct ptx_word *word = ptx_tok_word(p);
        if (!is_func_directive(word))
            return HD_OK;
        HD_TRY(parse_func_directive(p, func, (enum ptx_dir)word->dir));
    }
}

/* The name; return parameters come before it, so its scope is opened first. */
static enum hd_status parse_func_name(struct ptx_parser *p, struct ptx_func *func)
{
    if (!ptx_at(p, PTX_TOK_IDENT))
        return ptx_expected(p, "the name of a function");
    ptx_sym_from_tok(p, &func->sym, PTX_SYM_FUNC);
    return ptx_next(p);
}

enum hd_status ptx_parse_func_head(struct ptx_parser *p, struct ptx_func *func)
{
    p->func = func;
    HD_TRY(parse_func_directives(p, func));
    HD_TRY(ptx_scope_push(p));
    if (ptx_at(p, '(') && !func->is_entry)
        HD_TRY(ptx_parse_params(p, true, true, &func->rets, &func->nrets));
    HD_TRY(parse_func_name(p, func));
    if (ptx_at(p, '('))
        HD_TRY(ptx_parse_params(p, false, true, &func->params, &func->nparams));
    HD_TRY(parse_func_directives(p, func));
    func->has_body = ptx_at(p, '{');
    if (!func->has_body && !ptx_at(p, ';'))
        return ptx_expected(p, "a directive, '{' or ';' behind the head of the function");
    return HD_OK;
}
