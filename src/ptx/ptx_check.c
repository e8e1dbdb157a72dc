/*
 * Checks a parsed module against the opcode table: modifiers (once per form), operand counts, kinds
 * and widths (per instruction), and calls against the signature of their target.
 *
 * Widths follow the manual's rules: an operand's register is as wide as the instruction type, only
 * ld, st and cvt allow wider ones; untyped (.b) registers fit every type of their size, and a float
 * instruction does not take an integer register or the reverse.
 */
#include "ptx/ptx_parse.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct checker {
    const struct ptx_module *module;
    const struct ptx_insn *insn;
    const struct ptx_form *form;
    const struct ptx_op_info *info;
    unsigned number;   /* operand, from 1 */
    uint32_t operands; /* ptx_syntax_operands() of the form */
};

/* `NAME:L:C: operand N of 'op': expected WHAT, found 'operand'` */
static enum hd_status check_bad_operand(const struct checker *c, const struct ptx_operand *operand,
                                        const char *what)
{
    struct hd_buf text = {0};
    ptx_print_operand(operand, &text);
    enum hd_status status =
        hd_error(HD_BAD_PTX, "%.*s:%u:%u: operand %u of '%.*s': expected %s, found '%.60s'",
                 HD_STR_ARG(c->module->name), operand->srcloc.line, operand->srcloc.col, c->number,
                 HD_STR_ARG(c->form->text), what, text.ptr ? text.ptr : "");
    hd_buf_fini(&text);
    return status;
}

static enum hd_status check_bad_insn(const struct checker *c, const char *what)
{
    return hd_error(HD_BAD_PTX, "%.*s:%u:%u: '%.*s' %s", HD_STR_ARG(c->module->name),
                    c->insn->stmt.srcloc.line, c->insn->stmt.srcloc.col, HD_STR_ARG(c->form->text),
                    what);
}

/* ---- modifiers ---- */

static bool check_own_modifier(const char *own, const char *text)
{
    size_t len = strlen(text);
    for (const char *at = own; (at = strstr(at, text)); at += len)
        if ((at == own || at[-1] == ' ') && (at[len] == 0 || at[len] == ' '))
            return true;
    return false;
}

/* Classes of modifiers that may be written once only. */
#define SINGLE_CLASSES                                                                             \
    (1ull << PTX_MC_FTZ | 1ull << PTX_MC_SAT | 1ull << PTX_MC_HALF | 1ull << PTX_MC_CC |           \
     1ull << PTX_MC_CMP | 1ull << PTX_MC_VEC | 1ull << PTX_MC_CACHE | 1ull << PTX_MC_SYNC |        \
     1ull << PTX_MC_UNI | 1ull << PTX_MC_SHFL | 1ull << PTX_MC_GEOM | 1ull << PTX_MC_NC |          \
     1ull << PTX_MC_RELU | 1ull << PTX_MC_VOLATILE | 1ull << PTX_MC_SCOPE)

static enum hd_status check_mods(struct checker *c)
{
    char buf[32], text[128];
    uint64_t seen = 0;
    assert(c->form->nmods <= PTX_FORM_MAX_MODS);
    for (unsigned i = 0; i < c->form->nmods; i++) {
        const struct ptx_mod_use *use = &c->form->mods[i];
        assert(use->id > PTX_MOD_NONE && use->id < PTX_MOD_COUNT);
        uint64_t class_bit = 1ull << ptx_mod_class((enum ptx_mod)use->id);
        const char *name = ptx_mod_text(use, buf, sizeof(buf));
        if (!(c->info->classes & class_bit) && !check_own_modifier(c->info->own, name)) {
            snprintf(text, sizeof(text), "does not take modifier '.%s'", name);
            return check_bad_insn(c, text);
        }
        if (seen & class_bit & SINGLE_CLASSES) {
            snprintf(text, sizeof(text), "has a second modifier of the kind of '.%s'", name);
            return check_bad_insn(c, text);
        }
        seen |= class_bit;
    }
    return HD_OK;
}

/* Opcodes whose type says how wide the operands are cannot do without. */
static bool check_needs_type(const struct checker *c)
{
    return strpbrk(c->info->sig, "dDwsSh") && c->info->classes & 1ull << PTX_MC_TYPE;
}

static enum hd_status check_form(struct checker *c)
{
    char why[160];
    HD_TRY(check_mods(c));
    if (check_needs_type(c) && !c->form->ntypes)
        return check_bad_insn(c, "needs a type");
    if (strpbrk(c->info->sig, "1E") && c->form->ntypes < 2)
        return check_bad_insn(c, "needs two types");
    if (c->info->classes & 1ull << PTX_MC_CMP && !c->form->cmp)
        return check_bad_insn(c, "needs a comparison");
    if (!(c->operands = ptx_syntax_operands(c->form, why, sizeof(why))))
        return check_bad_insn(c, why);
    return HD_OK;
}

/* ---- operand widths ---- */

enum width { EXACT, AT_LEAST };

static bool check_is_dest(char role)
{
    return role == 'd' || role == 'D' || role == 'x';
}

static bool check_class_fits(enum ptx_type want, enum ptx_type have)
{
    enum ptx_type_class a = ptx_type_class(want), b = ptx_type_class(have);
    if ((a == PTX_CLASS_PRED) != (b == PTX_CLASS_PRED))
        return false;
    if (want == PTX_TYPE_F32 || want == PTX_TYPE_F64)
        return b == PTX_CLASS_FLOAT || b == PTX_CLASS_BITS;
    if ((a == PTX_CLASS_UINT || a == PTX_CLASS_SINT) && b == PTX_CLASS_FLOAT)
        return have != PTX_TYPE_F32 && have != PTX_TYPE_F64;
    return true;
}

static enum hd_status check_reg(struct checker *c, const struct ptx_operand *operand, unsigned bits,
                                enum ptx_type type, enum width width)
{
    char what[64];
    enum ptx_type have = (enum ptx_type)operand->u.reg->type;
    if (operand->u.reg->vec > 1 && ptx_comp_element(operand->comp) >= operand->u.reg->vec)
        return check_bad_operand(c, operand, "an element that the vector has");
    if (operand->offset && ptx_type_class(type) == PTX_CLASS_FLOAT)
        return check_bad_operand(c, operand, "a register without an offset");
    unsigned have_bits = ptx_type_bits(have);
    bool fits = width == EXACT ? have_bits == bits : have_bits >= bits;
    if (fits && (type == PTX_TYPE_NONE || width == AT_LEAST || check_class_fits(type, have)))
        return HD_OK;
    if (fits || type == PTX_TYPE_PRED)
        snprintf(what, sizeof(what), "a .%s register", ptx_type_name(type));
    else
        snprintf(what, sizeof(what), "a register of %s%u bits", width == EXACT ? "" : "at least ",
                 bits);
    return check_bad_operand(c, operand, what);
}

static unsigned check_vector_bits(const struct ptx_operand *vec)
{
    unsigned bits = 0;
    for (uint32_t i = 0; i < vec->nitems; i++) {
        const struct ptx_operand *item = &vec->items[i];
        if (item->kind != PTX_OPND_REG || ptx_operand_is_vector(item))
            return 0; /* sinks and constants take what is left */
        bits += ptx_type_bits((enum ptx_type)item->u.reg->type);
    }
    return bits;
}

static enum hd_status check_value(struct checker *c, const struct ptx_operand *operand,
                                  enum ptx_type type, unsigned bits, enum width width, bool dest);

/* {a, b}: elements of ld, st, atom; or parts of one wide value of mov. */
static enum hd_status check_vector(struct checker *c, const struct ptx_operand *operand,
                                   enum ptx_type type, unsigned bits, enum width width, bool dest)
{
    char what[64];
    if (c->form->vec > 1) {
        if (operand->nitems != c->form->vec) {
            snprintf(what, sizeof(what), "a vector of %u elements", c->form->vec);
            return check_bad_operand(c, operand, what);
        }
        /* stores of 32 bytes leave out the elements for which there is a '_' */
        bool may_skip = c->form->op == PTX_OP_ST && c->form->vec * bits == 256;
        for (uint32_t i = 0; i < operand->nitems; i++)
            if (!may_skip || operand->items[i].kind != PTX_OPND_SINK)
                HD_TRY(check_value(c, &operand->items[i], type, bits, width, dest));
        return HD_OK;
    }
    if (c->form->op != PTX_OP_MOV && c->form->op != PTX_OP_CVT)
        return check_bad_operand(c, operand, "a scalar");
    unsigned have = check_vector_bits(operand);
    if (c->form->op == PTX_OP_MOV && have && have != bits) {
        snprintf(what, sizeof(what), "registers of %u bits together", bits);
        return check_bad_operand(c, operand, what);
    }
    return HD_OK;
}

/* Special registers are read by mov, and by conversions between integers. */
static enum hd_status check_sreg(struct checker *c, const struct ptx_operand *operand)
{
    bool mov = c->form->op == PTX_OP_MOV;
    bool cvt = c->form->op == PTX_OP_CVT && !c->form->round;
    bool is_vector = ptx_sreg_info((enum ptx_sreg)operand->index2)->comps > 1 && !operand->comp;
    if (is_vector != (c->form->vec > 1) && operand == &c->insn->ops[1])
        return check_bad_operand(c, operand, "as many components as the instruction moves");
    return mov || cvt ? HD_OK : check_bad_operand(c, operand, "a register or constant");
}

/* Floating-point types take floating-point literals, untyped ones those of their size. */
static enum hd_status check_literal(struct checker *c, const struct ptx_operand *operand,
                                    enum ptx_type type)
{
    enum ptx_type_class class_ = ptx_type_class(type);
    bool is_int = operand->kind == PTX_OPND_INT, is_f64 = operand->kind == PTX_OPND_F64;
    unsigned bits = ptx_type_bits(type);
    if (is_int)
        return class_ != PTX_CLASS_FLOAT
                   ? HD_OK
                   : check_bad_operand(c, operand, "a floating-point constant");
    if (class_ == PTX_CLASS_UINT || class_ == PTX_CLASS_SINT)
        return check_bad_operand(c, operand, "an integer");
    if (class_ == PTX_CLASS_BITS && bits != (is_f64 ? 64u : 32u))
        return check_bad_operand(c, operand, "a constant of the size of the type");
    if (class_ == PTX_CLASS_FLOAT && type != PTX_TYPE_F32 && type != PTX_TYPE_F64)
        return check_bad_operand(c, operand, "a register");
    return HD_OK;
}

static enum hd_status check_value(struct checker *c, const struct ptx_operand *operand,
                                  enum ptx_type type, unsigned bits, enum width width, bool dest)
{
    switch (operand->kind) {
    case PTX_OPND_REG:
        if (ptx_operand_is_vector(operand)) {
            /* A vector register stands for the list of its elements. */
            struct ptx_operand items[PTX_MAX_VECTOR];
            const struct ptx_operand list = ptx_operand_elements(operand, items);
            return check_vector(c, &list, type, bits, width, dest);
        }
        return check_reg(c, operand, bits, type, width);
    case PTX_OPND_SINK:
        return dest ? HD_OK : check_bad_operand(c, operand, "a value");
    case PTX_OPND_VEC:
        return check_vector(c, operand, type, bits, width, dest);
    case PTX_OPND_PAIR: /* d|p */
        if (!dest)
            return check_bad_operand(c, operand, "a value");
        HD_TRY(check_value(c, &operand->items[0], type, bits, width, true));
        return check_value(c, &operand->items[1], PTX_TYPE_PRED, 1, EXACT, true);
    case PTX_OPND_SREG:
        return dest ? check_bad_operand(c, operand, "a register") : check_sreg(c, operand);
    case PTX_OPND_SYM:
        return dest ? check_bad_operand(c, operand, "a register") : HD_OK;
    case PTX_OPND_INT:
    case PTX_OPND_F32:
    case PTX_OPND_F64:
        return dest ? check_bad_operand(c, operand, "a register") : check_literal(c, operand, type);
    default:
        return check_bad_operand(c, operand, dest ? "a register" : "a value");
    }
}

static enum hd_status check_pred_dest(struct checker *c, const struct ptx_operand *operand)
{
    if (operand->kind == PTX_OPND_PAIR) {
        HD_TRY(check_value(c, &operand->items[0], PTX_TYPE_PRED, 1, EXACT, true));
        return check_value(c, &operand->items[1], PTX_TYPE_PRED, 1, EXACT, true);
    }
    return check_value(c, operand, PTX_TYPE_PRED, 1, EXACT, true);
}

/* ---- roles ---- */

static enum hd_status check_typed(struct checker *c, const struct ptx_operand *operand, char role)
{
    const struct ptx_form *form = c->form;
    enum ptx_type type = (enum ptx_type)form->types[0];
    enum width width = role == 'D' || role == 'S' || role == 'E' ? AT_LEAST : EXACT;
    if (role == '1' || role == 'E' ||
        (role == 'h' && form->ntypes == 2 && c->number < c->insn->nops))
        type = (enum ptx_type)form->types[1];
    if (type == PTX_TYPE_NONE)
        return HD_OK;
    unsigned bits = ptx_type_bits(type);
    if (role == 'w' && form->half == PTX_HALF_WIDE) {
        bits *= 2;
        type = PTX_TYPE_NONE;
    }
    bool dest = check_is_dest(role) || (role == 'w' && c->number == 1);
    return check_value(c, operand, type, bits, width, dest);
}

static enum hd_status check_label(struct checker *c, const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPND_LABEL ? HD_OK : check_bad_operand(c, operand, "a label");
}

static enum hd_status check_targets(struct checker *c, const struct ptx_operand *operand)
{
    bool ok = operand->kind == PTX_OPND_SYM && operand->u.sym->kind == PTX_SYM_TARGETS &&
              ((struct ptx_targets *)operand->u.sym)->is_branch;
    return ok ? HD_OK : check_bad_operand(c, operand, "the name of a .branchtargets list");
}

static enum hd_status check_role(struct checker *c, const struct ptx_operand *operand, char role)
{
    switch (role) {
    case 'A':
        return operand->kind == PTX_OPND_ADDR
                   ? HD_OK
                   : check_bad_operand(c, operand, "an address in brackets");
    case 'L':
        return check_label(c, operand);
    case 'T':
        return check_targets(c, operand);
    case 'i':
        return operand->kind == PTX_OPND_INT ? HD_OK
                                             : check_bad_operand(c, operand, "an integer constant");
    case 'P':
        return check_pred_dest(c, operand);
    case 'p':
        return check_value(c, operand, PTX_TYPE_PRED, 1, EXACT, false);
    case 'x':
        return check_value(c, operand, PTX_TYPE_NONE, 32, EXACT, true);
    case 'u':
        return check_value(c, operand, PTX_TYPE_NONE, 32, EXACT, false);
    case 'l':
        return check_value(c, operand, PTX_TYPE_NONE, 64, EXACT, false);
    case 'm':
        return operand->kind == PTX_OPND_LABEL ? HD_OK : check_typed(c, operand, 's');
    case '*':
    case '+':
        return HD_OK;
    default:
        return check_typed(c, operand, role);
    }
}

/* ---- calls ---- */

static enum hd_status check_arity(struct checker *c, const struct ptx_operand *list, uint32_t want,
                                  const char *what)
{
    char text[64];
    if (list->nitems == want)
        return HD_OK;
    snprintf(text, sizeof(text), "%u %s", want, what);
    return check_bad_operand(c, list, text);
}

/* What a register of the callee gets or gives, whole vectors for vectors. */
static enum hd_status check_passed(struct checker *c, const struct ptx_operand *item,
                                   const struct ptx_var *param, bool dest)
{
    char what[48];
    enum ptx_type type = (enum ptx_type)param->type;
    unsigned vec = ptx_operand_is_vector(item) ? item->u.reg->vec : 1;
    if (param->space != PTX_SPACE_REG || item->kind == PTX_OPND_SYM ||
        (item->kind == PTX_OPND_SINK && dest))
        return HD_OK;
    snprintf(what, sizeof(what), "a vector register of %u elements", param->vec);
    if (vec != param->vec)
        return check_bad_operand(c, item, param->vec > 1 ? what : "a scalar");
    if (item->kind == PTX_OPND_REG)
        return check_reg(c, item, ptx_type_bits(type), type, EXACT);
    return check_value(c, item, type, ptx_type_bits(type), EXACT, dest);
}

static enum hd_status check_list(struct checker *c, unsigned operand, uint32_t want,
                                 const struct ptx_var *params, const char *what)
{
    const struct ptx_operand *list = &c->insn->ops[operand];
    c->number = operand + 1;
    HD_TRY(check_arity(c, list, want, what));
    for (uint32_t i = 0; i < want; i++, params = params->next)
        HD_TRY(check_passed(c, &list->items[i], params, operand == 0));
    return HD_OK;
}

static enum hd_status check_signature(struct checker *c, const struct ptx_var *rets, uint32_t nrets,
                                      const struct ptx_var *params, uint32_t nparams)
{
    HD_TRY(check_list(c, 0, nrets, rets, "return values"));
    return check_list(c, 2, nparams, params, "arguments");
}

static enum hd_status check_call(struct checker *c)
{
    const struct ptx_operand *ops = c->insn->ops;
    const struct ptx_sym *target = ops[1].kind == PTX_OPND_SYM ? ops[1].u.sym : NULL;
    c->number = 2;
    if (target && target->kind == PTX_SYM_FUNC) {
        const struct ptx_func *func = (const struct ptx_func *)target;
        if (func->is_entry)
            return check_bad_operand(c, &ops[1], "a function, not a kernel");
        return check_signature(c, func->rets, func->nrets, func->params, func->nparams);
    }
    if (ops[1].kind != PTX_OPND_REG)
        return check_bad_operand(c, &ops[1], "a function or a register");
    const struct ptx_sym *proto = ops[3].kind == PTX_OPND_SYM ? ops[3].u.sym : NULL;
    c->number = 4;
    if (proto && proto->kind == PTX_SYM_PROTO) {
        const struct ptx_proto *sig = (const struct ptx_proto *)proto;
        return check_signature(c, sig->rets, sig->nrets, sig->params, sig->nparams);
    }
    if (proto && proto->kind == PTX_SYM_TARGETS && !((const struct ptx_targets *)proto)->is_branch)
        return HD_OK;
    return check_bad_operand(c, &ops[3], "a .callprototype or .calltargets of the indirect call");
}

/* ---- instructions and modules ---- */

/* Forms that differ by their number of operands: predicate inputs, masks. */
static enum hd_status check_count(struct checker *c)
{
    char text[64];
    uint32_t nops = c->insn->nops;
    nops -= nops && ptx_form_has(c->form, PTX_MOD_L2_CACHE_HINT);
    if (c->operands & 1 || (nops < 32 && c->operands >> nops & 1))
        return HD_OK;
    snprintf(text, sizeof(text), "does not have a form of %u operands", nops);
    return check_bad_insn(c, text);
}

static bool check_has_subscript(const struct ptx_operand *operand)
{
    bool found = operand->subscript != NULL;
    for (uint32_t i = 0; i < operand->nitems && !found; i++)
        found = check_has_subscript(&operand->items[i]);
    return found;
}

/* An operand array[%r1] by itself; the vendor's assembler has it in these, too. */
static enum hd_status check_subscripts(struct checker *c)
{
    unsigned op = c->form->op;
    bool takes = op == PTX_OP_LD || op == PTX_OP_LDU || op == PTX_OP_ST || op == PTX_OP_MOV;
    for (uint32_t i = 0; i < c->insn->nops; i++) {
        const struct ptx_operand *operand = &c->insn->ops[i];
        c->number = i + 1;
        if (check_has_subscript(operand) && !(takes && operand->subscript))
            return check_bad_operand(c, operand, "an index that is a constant");
    }
    return HD_OK;
}

static enum hd_status check_insn(struct checker *c)
{
    const struct ptx_op_info *info = c->info;
    uint32_t nops = c->insn->nops;
    char text[64];
    HD_TRY(check_subscripts(c));
    if (c->form->op == PTX_OP_CALL)
        return check_call(c);
    if (nops < info->min_ops || nops > info->max_ops) {
        if (info->min_ops == info->max_ops)
            snprintf(text, sizeof(text), "takes %u operands, found %u", info->min_ops, nops);
        else
            snprintf(text, sizeof(text), "takes %u to %u operands, found %u", info->min_ops,
                     info->max_ops, nops);
        return check_bad_insn(c, text);
    }
    HD_TRY(check_count(c));
    const char *sig = info->sig;
    for (uint32_t i = 0; i < nops && *sig; i++) {
        c->number = i + 1;
        HD_TRY(check_role(c, &c->insn->ops[i], *sig));
        sig += *sig != '+';
    }
    return HD_OK;
}

/* What is known about the form of that number; 0: nothing yet. NULL when memory is short. */
static uint32_t *check_seen_at(struct ptx_checks *checks, uint32_t id)
{
    while (checks->len <= id)
        if (!hd_vec_push(checks, 0u))
            return NULL;
    return &checks->at[id];
}

enum hd_status ptx_check_func(struct ptx_checks *checks, const struct ptx_module *module,
                              const struct ptx_func *func)
{
    struct checker c = {.module = module};
    for (const struct ptx_stmt *stmt = func->body; stmt; stmt = stmt->next) {
        if (stmt->kind != PTX_STMT_INSN)
            continue;
        c.insn = (const struct ptx_insn *)stmt;
        c.form = c.insn->form;
        c.info = ptx_op_info((enum ptx_op)c.form->op);
        uint32_t *seen = check_seen_at(checks, c.form->id);
        if (!seen)
            return HD_NO_MEMORY;
        c.operands = *seen;
        if (!c.operands)
            HD_TRY(check_form(&c));
        *seen = c.operands;
        HD_TRY(check_insn(&c));
    }
    return HD_OK;
}

enum hd_status ptx_check(const struct ptx_module *module)
{
    struct ptx_checks checks = {0};
    enum hd_status status = HD_OK;
    for (const struct ptx_func *func = module->funcs; func && status == HD_OK;
         func = func->next_func)
        status = ptx_check_func(&checks, module, func);
    hd_vec_fini(&checks);
    return status;
}
