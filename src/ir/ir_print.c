/*
 * The text form:
 *
 *     module "saxpy" sm 75
 *     file "saxpy.cu"
 *     var @table const visible align 4 size 64 init 0 3f800000 reloc 8 8 0 generic @f +0
 *
 *     kernel @saxpy visible {
 *       params 24
 *       param "n" offset 0 size 4 align 4
 *       maxntid 256 1 1
 *       var $0 "depot" local align 8 size 16
 *     bb0: ; preds: none
 *       %0:b32 = ld.u32.param [%1+8] !1:23
 *       %4:b32, %5:pred = shfl.b32.bfly %0, %1, %2, %3
 *       br bb1
 *     }
 *     func @f internal (%0:b32, %1:b64) -> (b32) { ... }
 *
 * After the operation come dotted words: types, rounding, comparison, modifiers, then memory words;
 * !file:line is the debug place; ; starts a comment. The reader accepts exactly this.
 */
#include "ir/ir.h"

#include <ctype.h>
#include <inttypes.h>

#include "ir/ir_names.h"

static bool name_is_plain(const char *name)
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
    if (name_is_plain(name))
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

static void print_mem_words(const struct ir_instr *instr, struct hd_buf *out)
{
    const struct ir_mem *mem = &instr->mem;

    if (ir_op_has_space(instr->op))
        print_word(ir_space_names[mem->space], out);
    if (instr->op == IR_OP_ATOM)
        print_word(ir_atom_names[mem->atom], out);
    if (mem->sem != IR_SEM_WEAK)
        print_word(ir_sem_names[mem->sem], out);
    if (mem->scope != IR_SCOPE_CTA)
        print_word(ir_scope_names[mem->scope], out);
    print_word(ir_cache_names[mem->cache], out);
    if (mem->vec > 1)
        hd_buf_printf(out, ".v%u", mem->vec);
    if (mem->noftz)
        print_word("noftz", out);
}

static void print_op(const struct ir_instr *instr, struct hd_buf *out)
{
    const char *const *names;
    size_t count = ir_imm_names(instr->op, &names);

    hd_buf_puts(out, ir_op_infos[instr->op].name);
    if (instr->type != IR_VOID || instr->type2 != IR_VOID)
        print_word(ir_type_name(instr->type), out);
    if (instr->type2 != IR_VOID)
        print_word(ir_type_name(instr->type2), out);
    print_word(ir_rnd_names[instr->rnd], out);
    if (instr->op == IR_OP_SETP || instr->op == IR_OP_FSETP)
        print_word(ir_cmp_names[instr->cmp], out);
    if (instr->ftz)
        print_word("ftz", out);
    if (instr->sat)
        print_word("sat", out);
    if (count && instr->op != IR_OP_SREG)
        print_word(instr->imm < count ? names[instr->imm] : "?", out);
    print_mem_words(instr, out);
}

static void print_proto(const struct ir_proto *proto, struct hd_buf *out)
{
    hd_buf_putc(out, '(');
    for (uint32_t i = 0; i < proto->nparams; i++)
        hd_buf_printf(out, "%s%s", i ? ", " : "", ir_type_name(proto->params[i]));
    hd_buf_puts(out, ") -> (");
    for (uint32_t i = 0; i < proto->nresults; i++)
        hd_buf_printf(out, "%s%s", i ? ", " : "", ir_type_name(proto->results[i]));
    hd_buf_putc(out, ')');
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
        } else if (i == 0 && ir_op_has_address(instr->op)) {
            hd_buf_putc(out, '[');
            print_value(instr->src[i], out);
            print_offset(instr->mem.offset, out);
            hd_buf_putc(out, ']');
        } else {
            print_value(instr->src[i], out);
        }
    }
}

static void print_imm(const struct ir_instr *instr, struct operands *o)
{
    const char *const *names;

    if (instr->op == IR_OP_SREG) {
        hd_buf_puts(operand_next(o), ir_sreg_name((enum ir_sreg)instr->imm));
    } else if (instr->op == IR_OP_CONST) {
        hd_buf_printf(operand_next(o), "0x%" PRIx64, instr->imm);
        if (instr->imm_hi)
            hd_buf_printf(o->out, ":0x%" PRIx64, instr->imm_hi);
    } else if (instr->imm && !ir_imm_names(instr->op, &names)) {
        hd_buf_printf(operand_next(o), "imm=0x%" PRIx64, instr->imm);
    }
}

static void print_references(const struct ir_instr *instr, struct operands *o)
{
    if (instr->op == IR_OP_VARADDR)
        print_var_ref(instr->var, operand_next(o));
    if (instr->op == IR_OP_FUNCADDR || instr->op == IR_OP_CALL)
        print_symbol(instr->callee ? instr->callee->name : "", operand_next(o));
    if (instr->op == IR_OP_CALLI && instr->proto)
        print_proto(instr->proto, operand_next(o));
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
    print_references(instr, &o);
    print_sources(instr, &o);
    print_imm(instr, &o);
    if (ir_op_has(instr->op, IR_F_TERM) && instr->block && instr->block->last == instr)
        for (uint32_t i = 0; i < instr->block->nsuccs; i++)
            print_block_ref(instr->block->succs[i], operand_next(&o));
    if (instr->file || instr->line)
        hd_buf_printf(out, " !%" PRIu32 ":%" PRIu32, instr->file, instr->line);
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

static void print_relocs(const struct ir_var *var, struct hd_buf *out)
{
    for (const struct ir_reloc *r = var->relocs; r; r = r->next) {
        hd_buf_printf(out, " reloc %" PRIu64 " %" PRIu32 " %" PRIu32 "%s ", r->offset_B, r->size_B,
                      r->shift, r->generic ? " generic" : "");
        if (r->func)
            print_symbol(r->func->name, out);
        else
            print_var_ref(r->var, out);
        print_offset(r->addend, out);
    }
}

static void print_var(const struct ir_var *var, struct hd_buf *out)
{
    hd_buf_puts(out, var->func ? "  var " : "var ");
    print_var_ref(var, out);
    if (var->func) {
        hd_buf_putc(out, ' ');
        print_quoted(var->name, out);
    }
    hd_buf_printf(out, " %s %s align %" PRIu32 " size %" PRIu64, ir_space_names[var->space],
                  ir_linkage_names[var->linkage], var->align_B, var->size_B);
    if (var->managed)
        hd_buf_puts(out, " managed");
    if (var->is_dynamic_shared)
        hd_buf_puts(out, " dynamic");
    print_init(var, out);
    print_relocs(var, out);
    hd_buf_putc(out, '\n');
}

static void print_signature(const struct ir_func *func, struct hd_buf *out)
{
    hd_buf_puts(out, func->is_kernel ? "kernel " : "func ");
    print_symbol(func->name, out);
    hd_buf_printf(out, " %s", ir_linkage_names[func->linkage]);
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
    for (const struct ir_var *var = func->vars; var; var = var->next)
        print_var(var, out);
}

void ir_print_func(const struct ir_func *func, struct hd_buf *out)
{
    print_signature(func, out);
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
    for (const struct ir_var *var = module->vars; var; var = var->next)
        print_var(var, out);
    ir_foreach_func(func, module) {
        hd_buf_putc(out, '\n');
        ir_print_func(func, out);
    }
}
