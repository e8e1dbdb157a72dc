/* Calls, arguments, results and system functions: docs/abi.md. */
#include "codegen/select.h"
#include "ir/probe.h"

uint32_t sel_place(enum ir_type type, uint32_t *next)
{
    unsigned words = sel_words(type), align = words <= 2 ? words : 4;
    uint32_t at = (*next + align - 1) & ~(align - 1);

    *next = at + words;
    return at;
}

static bool fits(struct sel *s, uint32_t next)
{
    if (next <= ISA_REG_ARGUMENTS + ISA_ARGUMENT_REGS)
        return true;
    sel_refuse(s, "a call with more than 240 bytes of arguments or results");
    return false;
}

/* A predicate is 0 or 1. */
static struct isa_operand argument_word(struct sel *s, const struct ir_value *v, unsigned i)
{
    uint32_t d;

    if (v->type != IR_PRED)
        return sel_word(s, v, i);
    d = sel_new(s, 1);
    EMIT(s, SEL, D(d), A(SEL_RZ), B(sel_number(1)), PA(sel_not(sel_pred(s, v))));
    return sel_unit(d);
}

static void copies_begin(struct sel *s, struct mc_insn *insn)
{
    *insn = mc_insn_of((enum isa_op)MC_COPY);
    insn->first_copy = (uint32_t)s->f->copies.len;
    if (s->at)
        insn->srcloc = s->at->srcloc;
}

static void copies_add(struct sel *s, uint32_t to, struct isa_operand from)
{
    s->f->failed |= !hd_vec_push(&s->f->copies, (struct mc_copy){to, from});
}

static void copies_end(struct sel *s, struct mc_insn *insn)
{
    insn->ncopies = (uint32_t)s->f->copies.len - insn->first_copy;
    if (insn->ncopies)
        s->f->failed |= !hd_vec_push(&s->b->insns, *insn);
}

/* Values go to, or come from, the registers of arguments; how many these are. */
static uint32_t pass_values(struct sel *s, struct ir_value *const *values, uint32_t n)
{
    uint32_t next = ISA_REG_ARGUMENTS;
    struct isa_operand words[ISA_ARGUMENT_REGS];
    uint32_t to[ISA_ARGUMENT_REGS], count = 0;
    struct mc_insn copies;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t at = sel_place(values[k]->type, &next);

        if (!fits(s, next))
            return 0;
        for (unsigned i = 0; i < sel_words(values[k]->type); i++, count++) {
            to[count] = at + i;
            words[count] = argument_word(s, values[k], i);
        }
    }
    copies_begin(s, &copies);
    for (uint32_t i = 0; i < count; i++)
        copies_add(s, to[i], words[i]);
    copies_end(s, &copies);
    return next - ISA_REG_ARGUMENTS;
}

static void take_values(struct sel *s, struct ir_value *const *values, uint32_t n)
{
    uint32_t next = ISA_REG_ARGUMENTS, preds = 0;
    uint32_t pred_unit[ISA_ARGUMENT_REGS];
    const struct ir_value *pred[ISA_ARGUMENT_REGS];
    struct mc_insn copies;

    copies_begin(s, &copies);
    for (uint32_t k = 0; k < n; k++) {
        const struct ir_value *v = values[k];
        uint32_t at = sel_place(v->type, &next), unit = sel_new(s, sel_words(v->type));

        if (!fits(s, next))
            return;
        for (unsigned i = 0; i < sel_words(v->type); i++)
            copies_add(s, unit + i, sel_unit(at + i));
        if (v->type == IR_PRED) {
            pred_unit[preds] = unit;
            pred[preds++] = v;
        } else {
            sel_set_units(s, v, unit);
        }
    }
    copies_end(s, &copies);
    for (uint32_t k = 0; k < preds; k++) {
        uint32_t p = sel_new_pred(s);
        EMIT(s, ISETP, PD(p), A(sel_unit(pred_unit[k])), MOD(CMP, NE), MOD(SIGN, U32));
        sel_set_units(s, pred[k], p);
    }
}

static bool allocates(const struct ir_func *func)
{
    for (uint32_t i = 0; i < func->nblocks; i++)
        ir_foreach_instr(in, func->blocks[i])
            if (in->op == IR_OP_ALLOCA)
                return true;
    return false;
}

static void frame_begin(struct sel *s)
{
    struct mc_func *f = s->f;
    struct mc_insn *raise;

    f->has_stack = true;
    s->allocates = allocates(s->ir);
    s->frame_base = sel_new(s, 1);
    mc_vreg_of(f, s->frame_base)->is_tiny = true;
    f->frame_base = s->frame_base;
    EMIT(s, MOV, D(s->frame_base), B(sel_unit(ISA_REG_STACK)));
    raise = EMIT(s, IADD3, D(ISA_REG_STACK), A(sel_unit(s->frame_base)), B(sel_number(1)));
    raise->is_frame = true;
    sel_check_stack(s);
}

/* At the start: the frame, where to return to, arguments. */
void select_arguments(struct sel *s)
{
    struct mc_func *f = s->f;
    struct mc_insn *raise;

    f->frame_B = (uint32_t)ir_func_frame_B(s->ir);
    f->has_stack = s->unit->has_stack;
    if (f->is_kernel) {
        if (f->has_stack) {
            raise = EMIT(s, MOV, D(ISA_REG_STACK), B(sel_number(1)));
            raise->is_frame = true;
        }
        return;
    }
    if (!codegen_is_routine(s->ir))
        frame_begin(s); /* first: what is spilled comes there */
    s->return_to = sel_new(s, 2);
    sel_copy(s, s->return_to, sel_unit(ISA_REG_RETURN));
    sel_copy(s, s->return_to + 1, sel_unit(ISA_REG_RETURN + 1));
    take_values(s, s->ir->args, s->ir->proto.nparams);
}

void select_return(struct sel *s, const struct ir_instr *in)
{
    uint32_t results = pass_values(s, in->src, in->nsrc);
    struct mc_insn *ret;

    if (s->frame_base != MC_NO_UNIT)
        EMIT(s, MOV, D(ISA_REG_STACK), B(sel_unit(s->frame_base)));
    ret = EMIT(s, RET, A(sel_unit(s->return_to)));
    ret->arguments = results;
}

/* ---- calls */

/*
 * The frame's base is never spilled, since spilled values are found by it, and does not outlive a
 * call: it is R1 less the frame again. Where the function has moved R1 any further it waits on the
 * stack.
 */
static uint32_t base_size(const struct sel *s)
{
    return HD_MAX(s->ir->module->frame_align_B, 16u);
}

static void base_save(struct sel *s)
{
    if (s->frame_base == MC_NO_UNIT || !s->allocates)
        return;
    EMIT(s, IADD3, D(ISA_REG_STACK), A(sel_unit(ISA_REG_STACK)), B(sel_number(base_size(s))));
    sel_check_stack(s);
    EMIT(s, STL, B(sel_unit(s->frame_base)), A(sel_unit(ISA_REG_STACK)),
         NUMBER(OFFSET, -(int64_t)base_size(s)));
}

static void base_restore(struct sel *s)
{
    struct mc_insn *lower;

    if (s->frame_base == MC_NO_UNIT)
        return;
    if (!s->allocates) {
        lower = EMIT(s, IADD3, D(s->frame_base), A(sel_unit(ISA_REG_STACK)),
                     B(sel_number((uint32_t)-1)));
        lower->is_frame = true;
        return;
    }
    EMIT(s, LDL, D(s->frame_base), A(sel_unit(ISA_REG_STACK)),
         NUMBER(OFFSET, -(int64_t)base_size(s)));
    EMIT(s, IADD3, D(ISA_REG_STACK), A(sel_unit(ISA_REG_STACK)),
         B(sel_number((uint32_t)(0 - base_size(s)))));
}

static void emit_call(struct sel *s, const struct ir_func *callee, uint32_t arguments)
{
    struct mc_insn *call = EMIT(s, CALL, D(ISA_REG_RETURN));

    call->callee = callee;
    call->arguments = arguments;
    call->clobbered = codegen_is_routine(callee) ? CODEGEN_ROUTINE_REGS : ISA_RZ;
    s->f->failed |= !codegen_want(s->unit, callee);
}

void sel_routine(struct sel *s, const char *name, const struct isa_operand *args, unsigned nargs,
                 uint32_t result, unsigned nresults)
{
    const struct ir_func *routine = codegen_routine(name);
    struct mc_insn copies;

    if (!routine) {
        s->f->failed = true;
        return;
    }
    copies_begin(s, &copies);
    for (unsigned i = 0; i < nargs; i++)
        copies_add(s, ISA_REG_ARGUMENTS + i, args[i]);
    copies_end(s, &copies);
    emit_call(s, routine, nargs);
    copies_begin(s, &copies);
    for (unsigned i = 0; i < nresults; i++)
        copies_add(s, result + i, sel_unit(ISA_REG_ARGUMENTS + i));
    copies_end(s, &copies);
}

static void select_direct(struct sel *s, const struct ir_instr *in)
{
    if (in->callee->is_declaration) {
        sel_refuse(s, "a call of a function that nobody defines");
        return;
    }
    base_save(s);
    emit_call(s, in->callee, pass_values(s, in->src, in->nsrc));
    base_restore(s);
    take_values(s, in->dst, in->ndst);
}

/* The handle is the number plus one, times 16; eight bytes for each number. */
static void select_indirect(struct sel *s, const struct ir_instr *in)
{
    uint32_t at = sel_new(s, 1), to = sel_new(s, 2), index = sel_new(s, 1);
    struct mc_insn *call;

    EMIT(s, SHF, D(at), B(sel_number(1)), C(sel_word(s, in->src[0], 0)), MOD(SHF_DIR, R),
         MOD(SHF_TYPE, U32), MOD(HI, HI));
    EMIT(s, IADD3, D(index), A(sel_unit(at)), B(sel_number((uint32_t)-8)));
    EMIT(s, LDC, D(to), NUMBER(BANK, ISA_BANK_FUNCTIONS), A(sel_unit(index)), MOD(SZ, 64));
    base_save(s);
    uint32_t arguments = pass_values(s, in->src + 1, in->nsrc - 1);
    call = EMIT(s, CALL_IND, D(ISA_REG_RETURN), A(sel_unit(to)));
    call->arguments = arguments;
    call->clobbered = ISA_RZ;
    base_restore(s);
    take_values(s, in->dst, in->ndst);
}

/* ---- system functions */

uint32_t sel_frame(struct sel *s, uint32_t size_B, uint32_t align_B)
{
    uint32_t at = (s->f->frame_B + align_B - 1) & ~(align_B - 1);

    s->f->frame_B = at + size_B;
    return at;
}

static struct isa_operand frame(const struct sel *s)
{
    return s->frame_base == MC_NO_UNIT ? SEL_RZ : sel_unit(s->frame_base);
}

static void put_word(struct sel *s, uint32_t at, const struct isa_operand word[2])
{
    EMIT(s, STL, A(frame(s)), NUMBER(OFFSET, at), B(sel_unit(sel_tuple(s, word, 2))), MOD(SZ, 64));
}

/* The sources, each as 64 bits, in the frame from `at` on. */
static void put_sources(struct sel *s, const struct ir_instr *in, uint32_t at)
{
    for (uint32_t i = 0; i < in->nsrc; i++) {
        bool wide = ir_type_bits(in->src[i]->type) >= 64;
        struct isa_operand word[2] = {argument_word(s, in->src[i], 0),
                                      wide ? sel_word(s, in->src[i], 1) : SEL_RZ};

        put_word(s, at + 8 * i, word);
    }
}

static void call_system(struct sel *s, uint32_t d, uint32_t at, uint64_t function)
{
    uint32_t address = sel_new(s, 2);

    EMIT(s, IADD3, D(address), A(frame(s)), B(sel_number(at)));
    EMIT(s, MOV, D(address + 1), B(SEL_RZ));
    EMIT(s, SYSCALL, D(d), A(sel_unit(address)), NUMBER(IMM16, function));
}

static void select_builtin(struct sel *s, const struct ir_instr *in)
{
    uint32_t at = sel_frame(s, 8 * HD_MAX(in->nsrc, 1u), 8), d = sel_new(s, 2);

    put_sources(s, in, at);
    call_system(s, d, at, in->imm);
    if (in->ndst)
        sel_set_units(s, in->dst[0], d);
}

/* Lanes that have parted meet at an operation of the whole warp: so they do at what tells of it. */
static void select_probe(struct sel *s, const struct ir_instr *in)
{
    const struct isa_operand number[2] = {sel_number(ir_probe_number(in)), SEL_RZ};
    enum ir_op op = ir_probe_op(in);

    assert(in->nsrc <= IR_PROBE_OPERANDS_MAX);
    if (op == IR_OP_MMA || op == IR_OP_LDMATRIX || op == IR_OP_STMATRIX || op == IR_OP_MOVMATRIX ||
        op == IR_OP_TENSOR_WARP)
        sel_come_together(s);
    if (!s->has_probes)
        s->probe_at = sel_frame(s, 8 * (1 + IR_PROBE_OPERANDS_MAX), 8);
    s->has_probes = true;
    put_word(s, s->probe_at, number);
    put_sources(s, in, s->probe_at + 8);
    call_system(s, ISA_RZ, s->probe_at, ISA_SYSCALL_PROBE);
}

bool select_call(struct sel *s, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_CALL:
        select_direct(s, in);
        return true;
    case IR_OP_CALLI:
        select_indirect(s, in);
        return true;
    case IR_OP_FUNCADDR:
        sel_set(s, in->dst[0], sel_number(((uint64_t)in->callee->index + 1) << 4));
        if (codegen_is_callable(in->callee)) /* others are launched */
            s->f->failed |= !codegen_want(s->unit, in->callee);
        return true;
    case IR_OP_BUILTIN:
        select_builtin(s, in);
        return true;
    case IR_OP_PROBE:
    case IR_OP_PROBE_ACCESS:
        select_probe(s, in);
        return true;
    default:
        return false;
    }
}
