/*
 * Module -> text. The output is canonical: one statement a line, dotted opcodes as they were
 * written, constants folded, floats as exact bit patterns. Parsing it gives an equal module.
 */
#include "ptx/ptx_print.h"

#include <inttypes.h>

/* ---- declarations ---- */

static const char *print_linkage_text(unsigned linkage)
{
    static const char *const texts[] = {"", ".extern ", ".visible ", ".weak ", ".common "};
    return texts[linkage];
}

static void print_type(struct hd_buf *buf, unsigned vec, unsigned type)
{
    if (vec > 1)
        hd_buf_printf(buf, " .v%u", vec);
    hd_buf_printf(buf, " .%s", ptx_type_name((enum ptx_type)type));
}

static void print_reg_decl(struct hd_buf *buf, const struct ptx_reg_decl *reg)
{
    hd_buf_puts(buf, ".reg");
    print_type(buf, reg->vec, reg->type);
    hd_buf_printf(buf, " %.*s", HD_STR_ARG(reg->sym.name));
    if (reg->sym.is_range)
        hd_buf_printf(buf, "<%u>", reg->count);
    hd_buf_puts(buf, ";\n");
}

static void print_string(struct hd_buf *buf, const char *text, uint32_t len)
{
    hd_buf_putc(buf, '"');
    for (uint32_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\' || c < 32 || c > 126)
            hd_buf_printf(buf, "\\%03o", c);
        else
            hd_buf_putc(buf, (char)c);
    }
    hd_buf_putc(buf, '"');
}

static void print_init(struct hd_buf *buf, const struct ptx_init *init);

static void print_init_list(struct hd_buf *buf, const struct ptx_init *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            hd_buf_puts(buf, ", ");
        print_init(buf, &list[i]);
    }
}

static void print_init_sym(struct hd_buf *buf, const struct ptx_init *init)
{
    if (init->mask)
        hd_buf_printf(buf, "0x%" PRIx64 "(", init->mask);
    if (init->generic)
        hd_buf_puts(buf, "generic(");
    ptx_put_str(buf, init->u.sym->name);
    if (init->generic)
        hd_buf_putc(buf, ')');
    ptx_put_offset(buf, init->offset);
    if (init->mask)
        hd_buf_putc(buf, ')');
}

static void print_init(struct hd_buf *buf, const struct ptx_init *init)
{
    switch (init->kind) {
    case PTX_INIT_INT:
        ptx_put_int(buf, init->u.bits, init->is_unsigned);
        break;
    case PTX_INIT_F32:
        hd_buf_printf(buf, "0f%08" PRIX32, (uint32_t)init->u.bits);
        break;
    case PTX_INIT_F64:
        hd_buf_printf(buf, "0d%016" PRIX64, init->u.bits);
        break;
    case PTX_INIT_SYM:
        print_init_sym(buf, init);
        break;
    case PTX_INIT_LIST:
        hd_buf_putc(buf, '{');
        print_init_list(buf, init->u.list, init->count);
        hd_buf_putc(buf, '}');
        break;
    case PTX_INIT_STRING:
        print_string(buf, init->u.text, init->count);
        break;
    case PTX_INIT_NAME:
        hd_buf_puts(buf, init->u.text);
        ptx_put_offset(buf, init->offset);
        break;
    case PTX_INIT_DIFF:
        hd_buf_printf(buf, "%s-%s", init->u.text, init->text2);
        break;
    case PTX_INIT_FIELD:
        hd_buf_printf(buf, "%s = %s", init->u.text, init->text2);
        break;
    default:
        break;
    }
}

static void print_attributes(struct hd_buf *buf, bool managed, bool unified, const uint64_t uuid[2])
{
    if (!managed && !unified)
        return;
    hd_buf_puts(buf, " .attribute(");
    if (managed)
        hd_buf_puts(buf, unified ? ".managed, " : ".managed");
    if (unified)
        hd_buf_printf(buf, ".unified(0x%" PRIx64 ", 0x%" PRIx64 ")", uuid[0], uuid[1]);
    hd_buf_puts(buf, ")");
}

/* Everything but the initialiser and what ends the declaration. */
static void print_var_head(struct hd_buf *buf, const struct ptx_var *var)
{
    hd_buf_printf(buf, "%s.%s", print_linkage_text(var->linkage),
                  ptx_space_name((enum ptx_space)var->space));
    if (var->const_bank)
        hd_buf_printf(buf, "[%u]", var->const_bank);
    print_attributes(buf, var->managed, var->unified, var->uuid);
    if (var->align_written)
        hd_buf_printf(buf, " .align %u", var->align);
    print_type(buf, var->vec, var->type);
    if (var->is_ptr) {
        hd_buf_puts(buf, " .ptr");
        if (var->ptr_space)
            hd_buf_printf(buf, " .%s", ptx_space_name((enum ptx_space)var->ptr_space));
        if (var->ptr_align)
            hd_buf_printf(buf, " .align %u", var->ptr_align);
    }
    hd_buf_printf(buf, " %.*s", HD_STR_ARG(var->sym.name));
    for (unsigned i = 0; i < var->ndims; i++) {
        if (var->dims[i])
            hd_buf_printf(buf, "[%" PRIu64 "]", var->dims[i]);
        else
            hd_buf_puts(buf, i ? "[0]" : "[]");
    }
}

static void print_var(struct hd_buf *buf, const struct ptx_var *var)
{
    print_var_head(buf, var);
    if (var->init) {
        hd_buf_puts(buf, " = ");
        print_init(buf, var->init);
    }
    hd_buf_puts(buf, ";\n");
}

static void print_params(struct hd_buf *buf, const struct ptx_var *list)
{
    hd_buf_putc(buf, '(');
    for (const struct ptx_var *var = list; var; var = var->next) {
        print_var_head(buf, var);
        if (var->next)
            hd_buf_puts(buf, ", ");
    }
    hd_buf_putc(buf, ')');
}

/* ---- statements ---- */

static void print_loc(struct hd_buf *buf, const struct ptx_loc *loc)
{
    hd_buf_printf(buf, ".loc %u %u %u", loc->file, loc->line, loc->col);
    if (loc->function_name.len) {
        hd_buf_printf(buf, ", function_name %.*s", HD_STR_ARG(loc->function_name));
        ptx_put_offset(buf, loc->function_offset);
    }
    if (loc->has_inlined)
        hd_buf_printf(buf, ", inlined_at %u %u %u", loc->inlined_file, loc->inlined_line,
                      loc->inlined_col);
    hd_buf_putc(buf, '\n');
}

static void print_abi(struct hd_buf *buf, bool has_data, uint32_t data, bool has_control,
                      uint32_t control)
{
    if (has_data)
        hd_buf_printf(buf, " .abi_preserve %u", data);
    if (has_control)
        hd_buf_printf(buf, " .abi_preserve_control %u", control);
}

static void print_proto(struct hd_buf *buf, const struct ptx_proto *proto)
{
    hd_buf_printf(buf, "%.*s: .callprototype ", HD_STR_ARG(proto->sym.name));
    if (proto->rets) {
        print_params(buf, proto->rets);
        hd_buf_putc(buf, ' ');
    }
    hd_buf_puts(buf, "_ ");
    print_params(buf, proto->params);
    if (proto->noreturn)
        hd_buf_puts(buf, " .noreturn");
    print_abi(buf, proto->has_abi_preserve, proto->abi_preserve, proto->has_abi_preserve_control,
              proto->abi_preserve_control);
    hd_buf_puts(buf, ";\n");
}

static void print_targets(struct hd_buf *buf, const struct ptx_targets *targets)
{
    hd_buf_printf(buf, "%.*s: .%s ", HD_STR_ARG(targets->sym.name),
                  targets->is_branch ? "branchtargets" : "calltargets");
    for (uint32_t i = 0; i < targets->count; i++) {
        if (i)
            hd_buf_puts(buf, ", ");
        ptx_print_operand(&targets->items[i], buf);
    }
    hd_buf_puts(buf, ";\n");
}

static void print_decl_stmt(struct hd_buf *buf, const struct ptx_stmt_decl *stmt)
{
    switch (stmt->stmt.kind) {
    case PTX_STMT_LABEL:
        hd_buf_printf(buf, "%.*s:\n", HD_STR_ARG(stmt->u.label->sym.name));
        break;
    case PTX_STMT_REG:
        print_reg_decl(buf, stmt->u.reg);
        break;
    case PTX_STMT_VAR:
        print_var(buf, stmt->u.var);
        break;
    case PTX_STMT_PROTO:
        print_proto(buf, stmt->u.proto);
        break;
    case PTX_STMT_TARGETS:
        print_targets(buf, stmt->u.targets);
        break;
    case PTX_STMT_PRAGMA:
        hd_buf_printf(buf, ".pragma \"%.*s\";\n", HD_STR_ARG(stmt->u.text));
        break;
    case PTX_STMT_LOC:
        print_loc(buf, stmt->u.loc);
        break;
    default:
        break;
    }
}

static void print_stmt(struct hd_buf *buf, const struct ptx_stmt *stmt)
{
    switch (stmt->kind) {
    case PTX_STMT_INSN:
        hd_buf_putc(buf, '\t');
        ptx_print_insn((const struct ptx_insn *)stmt, buf);
        hd_buf_putc(buf, '\n');
        break;
    case PTX_STMT_BLOCK_BEGIN:
        hd_buf_puts(buf, "{\n");
        break;
    case PTX_STMT_BLOCK_END:
        hd_buf_puts(buf, "}\n");
        break;
    default:
        if (stmt->kind != PTX_STMT_LABEL)
            hd_buf_putc(buf, '\t');
        print_decl_stmt(buf, (const struct ptx_stmt_decl *)stmt);
        break;
    }
}

/* ---- functions ---- */

static void print_dims(struct hd_buf *buf, const char *name, const uint32_t dims[3])
{
    if (dims[0])
        hd_buf_printf(buf, "%s %u, %u, %u\n", name, dims[0], dims[1], dims[2]);
}

static void print_count(struct hd_buf *buf, const char *name, uint32_t value)
{
    if (value)
        hd_buf_printf(buf, "%s %u\n", name, value);
}

static void print_directives(struct hd_buf *buf, const struct ptx_func *func)
{
    print_count(buf, ".maxnreg", func->maxnreg);
    print_dims(buf, ".maxntid", func->maxntid);
    print_dims(buf, ".reqntid", func->reqntid);
    print_count(buf, ".minnctapersm", func->minnctapersm);
    print_count(buf, ".maxnctapersm", func->maxnctapersm);
    print_count(buf, ".maxclusterrank", func->maxclusterrank);
    if (func->explicitcluster)
        hd_buf_puts(buf, ".explicitcluster\n");
    if (func->has_reqnctapercluster && !func->reqnctapercluster[0])
        hd_buf_puts(buf, ".reqnctapercluster\n");
    print_dims(buf, ".reqnctapercluster", func->reqnctapercluster);
    if (func->blocksareclusters)
        hd_buf_puts(buf, ".blocksareclusters\n");
    if (func->noreturn)
        hd_buf_puts(buf, ".noreturn\n");
    print_abi(buf, func->has_abi_preserve, func->abi_preserve, func->has_abi_preserve_control,
              func->abi_preserve_control);
    for (uint32_t i = 0; i < func->npragmas; i++)
        hd_buf_printf(buf, ".pragma \"%.*s\";\n", HD_STR_ARG(func->pragmas[i]));
}

static void print_func(struct hd_buf *buf, const struct ptx_func *func)
{
    hd_buf_printf(buf, "%s%s", print_linkage_text(func->linkage),
                  func->is_entry ? ".entry" : ".func");
    print_attributes(buf, false, func->unified, func->uuid);
    hd_buf_putc(buf, ' ');
    if (func->rets) {
        print_params(buf, func->rets);
        hd_buf_putc(buf, ' ');
    }
    ptx_put_str(buf, func->sym.name);
    print_params(buf, func->params);
    hd_buf_putc(buf, '\n');
    print_directives(buf, func);
    if (!func->has_body) {
        hd_buf_puts(buf, ";\n\n");
        return;
    }
    hd_buf_puts(buf, "{\n");
    for (const struct ptx_stmt *stmt = func->body; stmt; stmt = stmt->next)
        print_stmt(buf, stmt);
    hd_buf_puts(buf, "}\n\n");
}

/* ---- module ---- */

static void print_section(struct hd_buf *buf, const struct ptx_section *section)
{
    hd_buf_printf(buf, ".section %.*s\n{\n", HD_STR_ARG(section->name));
    for (const struct ptx_dwarf_line *line = section->lines; line; line = line->next) {
        if (line->label.len) {
            hd_buf_printf(buf, "%.*s:\n", HD_STR_ARG(line->label));
            continue;
        }
        hd_buf_printf(buf, ".%s ", ptx_type_name((enum ptx_type)line->type));
        print_init_list(buf, line->values, line->count);
        hd_buf_putc(buf, '\n');
    }
    hd_buf_puts(buf, "}\n");
}

static void print_file(struct hd_buf *buf, const struct ptx_file *file)
{
    hd_buf_printf(buf, ".file %u \"%.*s\"", file->idx, HD_STR_ARG(file->path));
    if (file->has_time) {
        hd_buf_puts(buf, ", ");
        ptx_put_int(buf, file->mtime, false);
        hd_buf_puts(buf, ", ");
        ptx_put_int(buf, file->size_B, false);
    }
    hd_buf_putc(buf, '\n');
}

static void print_item(struct hd_buf *buf, const struct ptx_item *item)
{
    switch (item->kind) {
    case PTX_ITEM_FUNC:
        print_func(buf, item->u.func);
        break;
    case PTX_ITEM_VAR:
        print_var(buf, item->u.var);
        break;
    case PTX_ITEM_REG:
        print_reg_decl(buf, item->u.reg);
        break;
    case PTX_ITEM_ALIAS:
        hd_buf_printf(buf, ".alias %.*s, %.*s;\n", HD_STR_ARG(item->u.alias->sym.name),
                      HD_STR_ARG(item->u.alias->target->sym.name));
        break;
    case PTX_ITEM_FILE:
        print_file(buf, item->u.file);
        break;
    case PTX_ITEM_SECTION:
        print_section(buf, item->u.section);
        break;
    case PTX_ITEM_PRAGMA:
        hd_buf_printf(buf, ".pragma \"%.*s\";\n", HD_STR_ARG(item->u.text));
        break;
    case PTX_ITEM_LOC:
        print_loc(buf, item->u.loc);
        break;
    case PTX_ITEM_DWARF:
        hd_buf_printf(buf, "%.*s\n", HD_STR_ARG(item->u.text));
        break;
    default:
        break;
    }
}

void ptx_print(const struct ptx_module *module, struct hd_buf *buf)
{
    hd_buf_printf(buf, ".version %u.%u\n.target ", module->version_major, module->version_minor);
    for (unsigned i = 0; i < module->ntargets; i++)
        hd_buf_printf(buf, "%s%.*s", i ? ", " : "", HD_STR_ARG(module->targets[i].name));
    hd_buf_putc(buf, '\n');
    if (module->address_size_written)
        hd_buf_printf(buf, ".address_size %u\n", module->address_size);
    hd_buf_putc(buf, '\n');
    for (const struct ptx_item *item = module->items; item; item = item->next)
        print_item(buf, item);
}
