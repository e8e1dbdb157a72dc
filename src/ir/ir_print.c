/*
 * Printer of the text form; the grammar is in docs/ir.md. Fields of instructions are printed by one
 * function per field, named after its group in spec/ir_fields.def: a field without one fails to
 * build.
 */
#include "ir/ir.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>

#include "ir/ir_ext.h"
#include "ir/ir_names.h"

static bool print_name_is_plain(const char *name)
{
    if (!*name)
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("_$.%", *name))
            return false;
    return true;
}

static void print_quoted(const char *text, struct hd_buf *out)
{
    hd_buf_putc(out, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == '"' || c == '\\' || c >= 0x7f)
            hd_buf_printf(out, "\\x%02x", c);
        else
            hd_buf_putc(out, (char)c);
    }
    hd_buf_putc(out, '"');
}

static void print_symbol(const char *name, struct hd_buf *out)
{
    hd_buf_putc(out, '@');
    if (print_name_is_plain(name))
        hd_buf_puts(out, name);
    else
        print_quoted(name, out);
}

static void print_value(const struct ir_value *value, struct hd_buf *out)
{
    if (value)
        hd_buf_printf(out, "%%%" PRIu32, value->id);
    else
        hd_buf_puts(out, "null");
}

static void print_offset(int64_t offset, struct hd_buf *out)
{
    if (offset)
        hd_buf_printf(out, "%+" PRId64, offset);
}

/* Function-scope variables go by position: names may repeat after inlining. */
static void print_var_ref(const struct ir_var *var, struct hd_buf *out)
{
    unsigned index = 0;

    if (!var) {
        hd_buf_puts(out, "null");
        return;
    }
    if (!var->func) {
        print_symbol(var->name, out);
        return;
    }
    for (const struct ir_var *v = var->func->vars; v && v != var; v = v->next)
        index++;
    hd_buf_printf(out, "$%u", index);
}

static void print_word(const char *word, struct hd_buf *out)
{
    if (*word) {
        hd_buf_putc(out, '.');
        hd_buf_puts(out, word);
    }
}

/* ---- dotted words: word_FIELD() for every field of group WORD or MEMWORD */

static void word_type(const struct ir_instr *instr, struct hd_buf *out)
{
    if (instr->type != IR_VOID || instr->type2 != IR_VOID)
        print_word(ir_type_name(instr->type), out);
}

static void word_type2(const struct ir_instr *instr, struct hd_buf *out)
{
    if (instr->type2 != IR_VOID)
        print_word(ir_type_name(instr->type2), out);
}

static void word_rnd(const struct ir_instr *instr, struct hd_buf *out)
{
    print_word(ir_rnd_names[instr->rnd], out);
}

static void word_cmp(const struct ir_instr *instr, struct hd_buf *out)
{
    if (instr->cmp != IR_EQ || ir_op_has(instr->op, IR_F_CMP))
        print_word(ir_cmp_names[instr->cmp], out);
}

static void word_mods(const struct ir_instr *instr, struct hd_buf *out)
{
    for (unsigned i = 0; i < IR_MOD_COUNT; i++)
        if (instr->mods >> i & 1)
            print_word(ir_mod_names[i], out);
}

static void word_space(const struct ir_instr *instr, struct hd_buf *out)
{
    if (instr->mem.space != IR_SPACE_GENERIC || ir_op_has(instr->op, IR_F_SPACE))
        print_word(ir_space_names[instr->mem.space], out);
}

static void word_atom(const struct ir_instr *instr, struct hd_buf *out)
{
    if (instr->mem.atom != IR_ATOM_ADD || ir_op_combines(instr->op))
        print_word(ir_atom_names[instr->mem.atom], out);
}

static void word_sem(const struct ir_instr *instr, struct hd_buf *out)
{
    if (instr->mem.sem != IR_SEM_WEAK)
        print_word(ir_sem_names[instr->mem.sem], out);
}

static void word_scope(const struct ir_instr *instr, struct hd_buf *out)
{
    if (instr->mem.scope != IR_SCOPE_CTA)
        print_word(ir_scope_names[instr->mem.scope], out);
}

static void word_cache(const struct ir_instr *instr, struct hd_buf *out)
{
    print_word(ir_cache_names[instr->mem.cache], out);
}

static void word_vec(const struct ir_instr *instr, struct hd_buf *out)
{
    if (instr->mem.vec)
        hd_buf_printf(out, ".v%u", instr->mem.vec);
}

/* The variant of the operation that imm stands for. */
static void word_variant(const struct ir_instr *instr, struct hd_buf *out)
{
    const char *const *names;
    size_t count = ir_imm_names(instr->op, &names);

    if (count && instr->op != IR_OP_SREG)
        print_word(instr->imm < count ? names[instr->imm] : "?", out);
}

static void print_op(const struct ir_instr *instr, struct hd_buf *out)
{
    assert(instr->op < IR_OP_COUNT);
    hd_buf_puts(out, ir_op_infos[instr->op].name);
#define WORD(type, name) word_##name(instr, out);
#include "ir_fields.def"
    word_variant(instr, out);
#define MEMWORD(type, name) word_##name(instr, out);
#include "ir_fields.def"
}

static void print_block_ref(const struct ir_block *block, struct hd_buf *out)
{
    hd_buf_printf(out, "bb%" PRIu32, block->id);
}

/* One operand after another, with commas from the second on. */
struct operands {
    struct hd_buf *out;
    bool any;
};

static struct hd_buf *operand_next(struct operands *o)
{
    hd_buf_puts(o->out, o->any ? ", " : " ");
    o->any = true;
    return o->out;
}

/* ---- address_FIELD(), ref_FIELD(), operand_FIELD(), srcloc_FIELD(): by group */

static void address_offset(const struct ir_instr *instr, struct hd_buf *out)
{
    print_offset(instr->mem.offset, out);
}

static void ref_var(const struct ir_instr *instr, struct operands *o)
{
    if (instr->var || instr->op == IR_OP_VARADDR)
        print_var_ref(instr->var, operand_next(o));
}

static void ref_callee(const struct ir_instr *instr, struct operands *o)
{
    if (instr->callee || instr->op == IR_OP_FUNCADDR || instr->op == IR_OP_CALL)
        print_symbol(instr->callee ? instr->callee->name : "", operand_next(o));
}

static void ref_ext(const struct ir_instr *instr, struct operands *o)
{
    if (!instr->ext)
        return;
    switch (instr->op) {
#define X(op_, name, type)                                                                         \
    case IR_OP_##op_:                                                                              \
        ir_ext_print_##name(instr->ext, operand_next(o));                                          \
        break;
#include "ir_ext.def"
#undef X
    default:
        hd_buf_puts(operand_next(o), "(?)");
    }
}

static void operand_imm(const struct ir_instr *instr, struct operands *o)
{
    const char *const *names;

    if (instr->op == IR_OP_SREG)
        hd_buf_puts(operand_next(o), ir_sreg_name((enum ir_sreg)instr->imm));
    else if (instr->op == IR_OP_CONST)
        hd_buf_printf(operand_next(o), "0x%" PRIx64, instr->imm);
    else if (instr->imm && !ir_imm_names(instr->op, &names))
        hd_buf_printf(operand_next(o), "imm=0x%" PRIx64, instr->imm);
}

static void operand_imm_hi(const struct ir_instr *instr, struct operands *o)
{
    if (instr->imm_hi)
        hd_buf_printf(operand_next(o), "hi=0x%" PRIx64, instr->imm_hi);
}

static void srcloc_file(const struct ir_srcloc *srcloc, struct hd_buf *out)
{
    hd_buf_printf(out, " !%" PRIu32, srcloc->file);
}

static void srcloc_line(const struct ir_srcloc *srcloc, struct hd_buf *out)
{
    hd_buf_printf(out, ":%" PRIu32, srcloc->line);
}

static void srcloc_col(const struct ir_srcloc *srcloc, struct hd_buf *out)
{
    if (srcloc->col)
        hd_buf_printf(out, ":%" PRIu32, srcloc->col);
}

static void srcloc_inlined(const struct ir_srcloc *srcloc, struct hd_buf *out)
{
    if (srcloc->inlined)
        hd_buf_printf(out, "@%" PRIu32, srcloc->inlined);
}

static void print_srcloc(const struct ir_srcloc *srcloc, struct hd_buf *out)
{
    bool known = false;

#define SRCLOC(type, name) known |= srcloc->name != 0;
#include "ir_fields.def"
    if (!known)
        return;
#define SRCLOC(type, name) srcloc_##name(srcloc, out);
#include "ir_fields.def"
}

static void print_address(const struct ir_instr *instr, struct hd_buf *out)
{
    hd_buf_putc(out, '[');
    print_value(instr->src[0], out);
#define ADDRESS(type, name) address_##name(instr, out);
#include "ir_fields.def"
    hd_buf_putc(out, ']');
}

static void print_sources(const struct ir_instr *instr, struct operands *o)
{
    for (uint32_t i = 0; i < instr->nsrc; i++) {
        struct hd_buf *out = operand_next(o);
        if (instr->op == IR_OP_PHI) {
            hd_buf_putc(out, '[');
            if (i < instr->block->npreds)
                print_block_ref(instr->block->preds[i], out);
            hd_buf_puts(out, ": ");
            print_value(instr->src[i], out);
            hd_buf_putc(out, ']');
        } else if (i == 0 && ir_op_has(instr->op, IR_F_ADDR)) {
            print_address(instr, out);
        } else {
            print_value(instr->src[i], out);
        }
    }
}

static void print_operands(const struct ir_instr *instr, struct operands *o)
{
#define REF(type, name) ref_##name(instr, o);
#define EXT(type, name) ref_##name(instr, o);
#include "ir_fields.def"
    print_sources(instr, o);
#define OPERAND(type, name) operand_##name(instr, o);
#include "ir_fields.def"
}

void ir_print_instr(const struct ir_instr *instr, struct hd_buf *out)
{
    struct operands o = {.out = out};

    for (uint32_t i = 0; i < instr->ndst; i++)
        hd_buf_printf(out, "%s%%%" PRIu32 ":%s", i ? ", " : "", instr->dst[i]->id,
                      ir_type_name(instr->dst[i]->type));
    if (instr->ndst)
        hd_buf_puts(out, " = ");
    print_op(instr, out);
    print_operands(instr, &o);
    if (ir_op_has(instr->op, IR_F_TERM) && instr->block && instr->block->last == instr)
        for (uint32_t i = 0; i < instr->block->nsuccs; i++)
            print_block_ref(instr->block->succs[i], operand_next(&o));
    print_srcloc(&instr->srcloc, out);
}

static void print_block(const struct ir_block *block, struct hd_buf *out)
{
    print_block_ref(block, out);
    hd_buf_putc(out, ':');
    for (uint32_t i = 0; i < block->npreds; i++) {
        hd_buf_puts(out, i ? " " : " ; preds: ");
        print_block_ref(block->preds[i], out);
    }
    hd_buf_putc(out, '\n');
    ir_foreach_instr(instr, block) {
        hd_buf_puts(out, "  ");
        ir_print_instr(instr, out);
        hd_buf_putc(out, '\n');
    }
}

static void print_init(const struct ir_var *var, struct hd_buf *out)
{
    if (!var->init_B)
        return;
    hd_buf_puts(out, " init ");
    for (uint64_t i = 0; i < var->init_B; i++)
        hd_buf_printf(out, "%02x", var->init[i]);
}

static void print_var(const struct ir_var *var, uint32_t next_index, struct hd_buf *out)
{
    hd_buf_puts(out, var->func ? "  var " : "var ");
    print_var_ref(var, out);
    if (var->func) {
        hd_buf_putc(out, ' ');
        print_quoted(var->name, out);
    }
    hd_buf_printf(out, " %s %s align %" PRIu32 " size %" PRIu64, ir_space_names[var->space],
                  ir_linkage_names[var->linkage], var->align_B, var->size_B);
    if (!var->func && var->index != next_index)
        hd_buf_printf(out, " index %" PRIu32, var->index);
    if (var->managed)
        hd_buf_puts(out, " managed");
    if (var->is_dynamic_shared)
        hd_buf_puts(out, " dynamic");
    if (var->reference)
        hd_buf_printf(out, " reference %s", ir_reference_names[var->reference]);
    print_init(var, out);
    for (const struct ir_reloc *r = var->relocs; r; r = r->next) {
        hd_buf_printf(out, " reloc %" PRIu64 " %" PRIu32 " %" PRIu32 "%s ", r->offset_B, r->size_B,
                      r->shift, r->generic ? " generic" : "");
        if (r->func)
            print_symbol(r->func->name, out);
        else
            print_var_ref(r->var, out);
        print_offset(r->addend, out);
    }
    hd_buf_putc(out, '\n');
}

static void print_signature(const struct ir_func *func, uint32_t next_index, struct hd_buf *out)
{
    hd_buf_puts(out, func->is_kernel ? "kernel " : "func ");
    print_symbol(func->name, out);
    hd_buf_printf(out, " %s", ir_linkage_names[func->linkage]);
    if (func->index != next_index)
        hd_buf_printf(out, " index %" PRIu32, func->index);
    if (func->address_taken)
        hd_buf_puts(out, " taken");
    if (func->noreturn)
        hd_buf_puts(out, " noreturn");
    if (func->is_kernel)
        return;
    hd_buf_puts(out, " (");
    for (uint32_t i = 0; i < func->proto.nparams; i++)
        hd_buf_printf(out, "%s%%%" PRIu32 ":%s", i ? ", " : "", func->args[i]->id,
                      ir_type_name(func->args[i]->type));
    hd_buf_puts(out, ") -> (");
    for (uint32_t i = 0; i < func->proto.nresults; i++)
        hd_buf_printf(out, "%s%s", i ? ", " : "", ir_type_name(func->proto.results[i]));
    hd_buf_putc(out, ')');
}

static void print_triple(const char *word, const uint32_t v[3], struct hd_buf *out)
{
    if (v[0] || v[1] || v[2])
        hd_buf_printf(out, "  %s %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", word, v[0], v[1], v[2]);
}

static void print_header(const struct ir_func *func, struct hd_buf *out)
{
    if (func->param_size_B)
        hd_buf_printf(out, "  params %" PRIu32 "\n", func->param_size_B);
    for (uint32_t i = 0; i < func->nparams; i++) {
        const struct ir_param *p = &func->params[i];
        hd_buf_puts(out, "  param ");
        print_quoted(p->name ? p->name : "", out);
        hd_buf_printf(out, " offset %" PRIu32 " size %" PRIu32 " align %" PRIu32 "\n", p->offset_B,
                      p->size_B, p->align_B);
    }
    print_triple("maxntid", func->maxntid, out);
    print_triple("reqntid", func->reqntid, out);
    if (func->minnctapersm)
        hd_buf_printf(out, "  minnctapersm %" PRIu32 "\n", func->minnctapersm);
    if (func->maxnreg)
        hd_buf_printf(out, "  maxnreg %" PRIu32 "\n", func->maxnreg);
    print_triple("reqnctapercluster", func->reqnctapercluster, out);
    if (func->maxclusterrank)
        hd_buf_printf(out, "  maxclusterrank %" PRIu32 "\n", func->maxclusterrank);
    if (func->explicitcluster)
        hd_buf_puts(out, "  explicitcluster\n");
    if (func->blocksareclusters)
        hd_buf_puts(out, "  blocksareclusters\n");
    if (func->nregs)
        hd_buf_printf(out, "  registers %" PRIu32 "\n", func->nregs);
    for (const struct ir_var *var = func->vars; var; var = var->next)
        print_var(var, 0, out);
}

/* An index that follows all before is left out: it is what the reader takes by itself. */
static void print_func(const struct ir_func *func, uint32_t next_index, struct hd_buf *out)
{
    print_signature(func, next_index, out);
    if (func->is_declaration) {
        hd_buf_puts(out, " declared\n");
        return;
    }
    hd_buf_puts(out, " {\n");
    print_header(func, out);
    for (uint32_t i = 0; i < func->nblocks; i++)
        print_block(func->blocks[i], out);
    hd_buf_puts(out, "}\n");
}

void ir_print_func(const struct ir_func *func, struct hd_buf *out)
{
    print_func(func, func->index, out);
}

void ir_print_module(const struct ir_module *module, struct hd_buf *out)
{
    hd_buf_puts(out, "module ");
    print_quoted(module->name, out);
    hd_buf_printf(out, " sm %u%s\n", module->sm, module->debug ? " debug" : "");
    for (size_t i = 0; i < module->files.len; i++) {
        hd_buf_puts(out, "file ");
        print_quoted(module->files.at[i], out);
        hd_buf_putc(out, '\n');
    }
    for (size_t i = 0; i < module->inlines.len; i++) {
        hd_buf_puts(out, "inline ");
        print_quoted(module->inlines.at[i].func, out);
        print_srcloc(&module->inlines.at[i].at, out);
        hd_buf_putc(out, '\n');
    }
    uint32_t next = 0;
    for (const struct ir_var *var = module->vars; var; var = var->next) {
        print_var(var, next, out);
        next = HD_MAX(next, var->index + 1);
    }
    next = 0;
    ir_foreach_func(func, module) {
        hd_buf_putc(out, '\n');
        print_func(func, next, out);
        next = HD_MAX(next, func->index + 1);
    }
}
