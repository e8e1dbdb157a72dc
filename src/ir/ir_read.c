/* Reader of the text form: module level. The grammar is in docs/ir.md. */
#include "ir/ir_read.h"

#include <ctype.h>

#include "base/mem.h"
#include "ir/ir_names.h"

static enum hd_status read_fixup_add(struct ir_reader *r, const char *name, struct ir_reloc *reloc)
{
    struct ir_fixup fixup = {.name = name, .reloc = reloc, .line = r->lex.line};

    if (!hd_vec_push(&r->fixups, fixup))
        return hd_error(HD_NO_MEMORY, "%s: no memory for symbols", r->name);
    return HD_OK;
}

/* ---- variables */

static enum hd_status read_init(struct ir_reader *r, struct ir_var *var)
{
    struct hd_str hex = r->lex.text;
    uint64_t n = hex.len / 2;

    if (r->lex.kind != IR_TOK_WORD || hex.len % 2)
        return ir_read_error(r, "bytes in hexadecimal");
    var->init = hd_arena_array(&r->module->arena, uint8_t, n);
    if (!var->init)
        return hd_error(HD_NO_MEMORY, "%s: no memory for an initialiser", r->name);
    var->init_B = n;
    for (uint64_t i = 0; i < n; i++)
        if (!ir_read_hex_byte(hex.ptr + 2 * i, hex.ptr + hex.len, &var->init[i]))
            return ir_read_error(r, "bytes in hexadecimal");
    ir_lex_next(&r->lex);
    return HD_OK;
}

static enum hd_status read_reloc(struct ir_reader *r, struct ir_reloc **tail)
{
    struct ir_reloc *reloc = hd_arena_new(&r->module->arena, struct ir_reloc);
    const char *name;

    HD_TRY(ir_read_u64(r, &reloc->offset_B));
    HD_TRY(ir_read_u32(r, &reloc->size_B));
    HD_TRY(ir_read_u32(r, &reloc->shift));
    reloc->generic = ir_lex_is_word(&r->lex, "generic");
    if (reloc->generic)
        ir_lex_next(&r->lex);
    HD_TRY(ir_read_name(r, IR_TOK_SYMBOL, &name));
    HD_TRY(ir_read_offset(r, &reloc->addend));
    *tail = reloc;
    return read_fixup_add(r, name, reloc);
}

static enum hd_status read_index(struct ir_reader *r, uint32_t *out_index)
{
    HD_TRY(ir_read_u32(r, out_index));
    return *out_index < IR_READ_INDEX_MAX ? HD_OK : ir_read_error(r, "a smaller index");
}

static enum hd_status read_var_index(struct ir_reader *r, struct ir_var *var)
{
    uint32_t index = 0;

    if (var->func)
        return ir_read_error(r, "no index of a variable inside a function");
    HD_TRY(read_index(r, &index));
    ir_var_set_index(var, index);
    return HD_OK;
}

static enum hd_status read_func_words(struct ir_reader *r, struct ir_func *func)
{
    uint32_t index = 0;

    if (ir_lex_is_word(&r->lex, "index")) {
        ir_lex_next(&r->lex);
        HD_TRY(read_index(r, &index));
        ir_func_set_index(func, index);
    }
    func->address_taken = ir_lex_is_word(&r->lex, "taken");
    if (func->address_taken)
        ir_lex_next(&r->lex);
    func->noreturn = ir_lex_is_word(&r->lex, "noreturn");
    if (func->noreturn)
        ir_lex_next(&r->lex);
    return HD_OK;
}

static enum hd_status read_reference(struct ir_reader *r, struct ir_var *var)
{
    int which = ir_read_lookup(r->lex.text, ir_reference_names, IR_REF_SURFACE + 1);

    if (which < 0)
        return ir_read_error(r, "texture, sampler or surface");
    var->reference = (enum ir_reference)which;
    ir_lex_next(&r->lex);
    return HD_OK;
}

static enum hd_status read_var_attributes(struct ir_reader *r, struct ir_var *var)
{
    struct ir_reloc **tail = &var->relocs;

    while (r->lex.kind == IR_TOK_WORD && !r->lex.line_start) {
        struct hd_str word = r->lex.text;
        ir_lex_next(&r->lex);
        if (hd_str_is(word, "align"))
            HD_TRY(ir_read_u32(r, &var->align_B));
        else if (hd_str_is(word, "size"))
            HD_TRY(ir_read_u64(r, &var->size_B));
        else if (hd_str_is(word, "index"))
            HD_TRY(read_var_index(r, var));
        else if (hd_str_is(word, "managed"))
            var->managed = true;
        else if (hd_str_is(word, "dynamic"))
            var->is_dynamic_shared = true;
        else if (hd_str_is(word, "reference"))
            HD_TRY(read_reference(r, var));
        else if (hd_str_is(word, "init"))
            HD_TRY(read_init(r, var));
        else if (hd_str_is(word, "reloc")) {
            HD_TRY(read_reloc(r, tail));
            tail = &(*tail)->next;
        } else
            return ir_read_error(r, "a variable attribute");
    }
    if (!hd_is_pow2(var->align_B))
        return ir_read_error(r, "a power of two as alignment");
    return HD_OK;
}

static enum hd_status read_space_linkage(struct ir_reader *r, struct ir_var *var)
{
    int space = ir_read_lookup(r->lex.text, ir_space_names, IR_SPACE_COUNT_);
    int linkage;

    if (space < 0)
        return ir_read_error(r, "a state space");
    ir_lex_next(&r->lex);
    linkage = ir_read_lookup(r->lex.text, ir_linkage_names, IR_LINK_COUNT_);
    if (linkage < 0)
        return ir_read_error(r, "a linkage");
    ir_lex_next(&r->lex);
    var->space = (enum ir_space)space;
    var->linkage = (enum ir_linkage)linkage;
    return read_var_attributes(r, var);
}

static bool read_symbol_taken(const struct ir_reader *r, const char *name)
{
    void *found;

    return hd_map_find(&r->module->symbols, hd_str_from(name), &found);
}

static enum hd_status read_var(struct ir_reader *r)
{
    const char *name;

    if (r->func) { /* $0 "name": positions count up by themselves */
        if (r->lex.kind != IR_TOK_LOCAL)
            return ir_read_error(r, "a function-scope variable");
        ir_lex_next(&r->lex);
        HD_TRY(ir_read_name(r, IR_TOK_STRING, &name));
    } else {
        HD_TRY(ir_read_name(r, IR_TOK_SYMBOL, &name));
        if (read_symbol_taken(r, name))
            return ir_read_error(r, "a new name");
    }
    return read_space_linkage(r, ir_var_create(r->module, r->func, name, IR_SPACE_GLOBAL));
}

/* ---- functions */

/* "(%0:b32, %1:b64)": the values go to r->args, their types to r->types. */
static enum hd_status read_arg_list(struct ir_reader *r)
{
    HD_TRY(ir_read_punct(r, '('));
    while (!ir_lex_is(&r->lex, ')')) {
        struct ir_value *arg;
        if (r->args.len)
            HD_TRY(ir_read_punct(r, ','));
        HD_TRY(ir_read_value(r, &arg));
        HD_TRY(ir_read_punct(r, ':'));
        HD_TRY(ir_read_type_push(r));
        arg->type = r->types.at[r->types.len - 1];
        arg->index = (uint32_t)r->args.len;
        if (!hd_vec_push(&r->args, arg))
            return hd_error(HD_NO_MEMORY, "%s: no memory for arguments", r->name);
    }
    ir_lex_next(&r->lex);
    return HD_OK;
}

static enum hd_status read_args(struct ir_reader *r)
{
    uint32_t nargs;

    r->types.len = r->args.len = 0;
    HD_TRY(read_arg_list(r));
    nargs = (uint32_t)r->args.len;
    HD_TRY(ir_read_punct(r, '-'));
    HD_TRY(ir_read_punct(r, '>'));
    HD_TRY(ir_read_types(r));
    ir_func_set_proto(r->func, nargs, r->types.at, (uint32_t)r->types.len - nargs,
                      nargs ? r->types.at + nargs : r->types.at);
    for (uint32_t i = 0; i < r->func->proto.nparams; i++)
        r->func->args[i] = r->args.at[i];
    return HD_OK;
}

static enum hd_status read_triple(struct ir_reader *r, uint32_t v[3])
{
    for (unsigned i = 0; i < 3; i++)
        HD_TRY(ir_read_u32(r, &v[i]));
    return HD_OK;
}

static enum hd_status read_param(struct ir_reader *r, uint32_t *cap)
{
    static const char *const fields[] = {"offset", "size", "align"};
    struct ir_func *func = r->func;
    struct ir_param p = {0};
    uint32_t *const into[] = {&p.offset_B, &p.size_B, &p.align_B};

    HD_TRY(ir_read_name(r, IR_TOK_STRING, &p.name));
    for (unsigned i = 0; i < HD_COUNT_OF(fields); i++) {
        if (!ir_lex_is_word(&r->lex, fields[i]))
            return ir_read_error(r, fields[i]);
        ir_lex_next(&r->lex);
        HD_TRY(ir_read_u32(r, into[i]));
    }
    if (func->nparams == *cap) {
        uint32_t grown = *cap ? *cap * 2 : 8;
        struct ir_param *params = hd_arena_array(&r->module->arena, struct ir_param, grown);
        if (!params)
            return hd_error(HD_NO_MEMORY, "%s: no memory for parameters", r->name);
        if (func->nparams)
            memcpy(params, func->params, func->nparams * sizeof(*params));
        func->params = params;
        *cap = grown;
    }
    func->params[func->nparams++] = p;
    return HD_OK;
}

static enum hd_status read_func_attributes(struct ir_reader *r)
{
    struct ir_func *func = r->func;
    uint32_t cap = 0;

    while (r->lex.kind == IR_TOK_WORD && !hd_str_starts(r->lex.text, "bb")) {
        struct hd_str word = r->lex.text;
        ir_lex_next(&r->lex);
        if (hd_str_is(word, "params"))
            HD_TRY(ir_read_u32(r, &func->param_size_B));
        else if (hd_str_is(word, "param"))
            HD_TRY(read_param(r, &cap));
        else if (hd_str_is(word, "maxntid"))
            HD_TRY(read_triple(r, func->maxntid));
        else if (hd_str_is(word, "reqntid"))
            HD_TRY(read_triple(r, func->reqntid));
        else if (hd_str_is(word, "minnctapersm"))
            HD_TRY(ir_read_u32(r, &func->minnctapersm));
        else if (hd_str_is(word, "maxnreg"))
            HD_TRY(ir_read_u32(r, &func->maxnreg));
        else if (hd_str_is(word, "reqnctapercluster"))
            HD_TRY(read_triple(r, func->reqnctapercluster));
        else if (hd_str_is(word, "maxclusterrank"))
            HD_TRY(ir_read_u32(r, &func->maxclusterrank));
        else if (hd_str_is(word, "explicitcluster"))
            func->explicitcluster = true;
        else if (hd_str_is(word, "blocksareclusters"))
            func->blocksareclusters = true;
        else if (hd_str_is(word, "registers"))
            HD_TRY(read_index(r, &func->nregs));
        else if (hd_str_is(word, "var"))
            HD_TRY(read_var(r));
        else
            return ir_read_error(r, "a function attribute");
    }
    return HD_OK;
}

static enum hd_status read_func(struct ir_reader *r, bool kernel)
{
    const char *name;
    int linkage;

    HD_TRY(ir_read_name(r, IR_TOK_SYMBOL, &name));
    if (read_symbol_taken(r, name))
        return ir_read_error(r, "a new name");
    r->func = ir_func_create(r->module, name);
    r->func->is_kernel = kernel;
    r->values.len = r->blocks.len = r->order.len = 0;
    linkage = ir_read_lookup(r->lex.text, ir_linkage_names, IR_LINK_COUNT_);
    if (linkage < 0)
        return ir_read_error(r, "a linkage");
    r->func->linkage = (enum ir_linkage)linkage;
    ir_lex_next(&r->lex);
    HD_TRY(read_func_words(r, r->func));
    if (!kernel)
        HD_TRY(read_args(r));
    if (ir_lex_is_word(&r->lex, "declared")) {
        r->func->is_declaration = true;
        r->func->nvalues = (uint32_t)r->values.len;
        ir_lex_next(&r->lex);
    } else {
        HD_TRY(ir_read_punct(r, '{'));
        HD_TRY(read_func_attributes(r));
        HD_TRY(ir_read_body(r));
    }
    r->func = NULL;
    return HD_OK;
}

/* ---- module */

static enum hd_status read_resolve_fixups(struct ir_reader *r)
{
    for (size_t i = 0; i < r->fixups.len; i++) {
        struct ir_fixup *f = &r->fixups.at[i];
        struct ir_func *func = ir_module_find_func(r->module, f->name);
        struct ir_var *var = ir_module_find_var(r->module, f->name);
        bool wants_var = f->instr && f->instr->op == IR_OP_VARADDR;
        if (f->reloc ? !func && !var : wants_var ? !var : !func)
            return hd_error(HD_BAD_IR, "%s:%u: unknown symbol %s", r->name, f->line, f->name);
        if (f->reloc) {
            f->reloc->func = func;
            f->reloc->var = var;
        } else if (wants_var) {
            f->instr->var = var;
        } else {
            f->instr->callee = func;
        }
    }
    return HD_OK;
}

static enum hd_status read_header(struct ir_reader *r)
{
    if (!ir_lex_is_word(&r->lex, "module"))
        return ir_read_error(r, "module");
    ir_lex_next(&r->lex);
    HD_TRY(ir_read_name(r, IR_TOK_STRING, &r->module->name));
    if (!ir_lex_is_word(&r->lex, "sm"))
        return ir_read_error(r, "sm");
    ir_lex_next(&r->lex);
    HD_TRY(ir_read_u32(r, &r->module->sm));
    r->module->debug = ir_lex_is_word(&r->lex, "debug");
    if (r->module->debug)
        ir_lex_next(&r->lex);
    return HD_OK;
}

static enum hd_status read_file(struct ir_reader *r)
{
    const char *path;

    HD_TRY(ir_read_name(r, IR_TOK_STRING, &path));
    if (!hd_vec_push(&r->module->files, path))
        return hd_error(HD_NO_MEMORY, "%s: no memory for files", r->name);
    return HD_OK;
}

/* inline "func" !file:line */
static enum hd_status read_inline(struct ir_reader *r)
{
    struct ir_inline entry = {0};

    HD_TRY(ir_read_name(r, IR_TOK_STRING, &entry.func));
    if (ir_lex_is(&r->lex, '!'))
        HD_TRY(ir_read_srcloc(r, &entry.at));
    if (!hd_vec_push(&r->module->inlines, entry))
        return hd_error(HD_NO_MEMORY, "%s: no memory for inlined calls", r->name);
    return HD_OK;
}

static enum hd_status read_module(struct ir_reader *r)
{
    HD_TRY(read_header(r));
    while (r->lex.kind != IR_TOK_END) {
        struct hd_str word = r->lex.kind == IR_TOK_WORD ? r->lex.text : HD_STR("");
        if (!word.len)
            return ir_read_error(r, "file, inline, var, func or kernel");
        ir_lex_next(&r->lex);
        if (hd_str_is(word, "file"))
            HD_TRY(read_file(r));
        else if (hd_str_is(word, "inline"))
            HD_TRY(read_inline(r));
        else if (hd_str_is(word, "var"))
            HD_TRY(read_var(r));
        else if (hd_str_is(word, "func"))
            HD_TRY(read_func(r, false));
        else if (hd_str_is(word, "kernel"))
            HD_TRY(read_func(r, true));
        else
            return ir_read_error(r, "file, inline, var, func or kernel");
    }
    HD_TRY(read_resolve_fixups(r));
    return ir_validate(r->module);
}

enum hd_status ir_read_module(const char *text, size_t len, const char *name,
                              struct ir_module **out_module)
{
    struct ir_reader r = {.name = name};
    enum hd_status status;

    HD_TRY(ir_module_create(name, &r.module));
    ir_lex_init(&r.lex, text, len);
    status = read_module(&r);
    hd_vec_fini(&r.values);
    hd_vec_fini(&r.blocks);
    hd_vec_fini(&r.order);
    hd_vec_fini(&r.fixups);
    hd_vec_fini(&r.types);
    hd_vec_fini(&r.args);
    if (status != HD_OK) {
        ir_module_destroy(r.module);
        return status;
    }
    ir_align_frames(r.module);
    *out_module = r.module;
    return HD_OK;
}
