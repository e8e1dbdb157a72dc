/* Words to operations, once for a program. */
#include "base/mem.h"
#include "sim/sim_private.h"

#include <string.h>

enum { DEFAULT_STACK_B = 65536 };

/* The operand of a field, or of its counterpart in the uniform datapath; -1: there is none. */
static int operand_at(const struct isa_insn *insn, enum isa_field field, enum isa_field uniform)
{
    const struct isa_row *row = isa_row(insn->op);

    for (unsigned i = 0; i < row->noperands; i++)
        if (row->operands[i].field == field || row->operands[i].field == uniform)
            return (int)i;
    return -1;
}

/* ---- sources */

static bool same_const(const struct sim_const *a, const struct sim_const *b)
{
    return a->is_number == b->is_number && a->bank == b->bank && a->offset == b->offset &&
           a->number == b->number;
}

/* Rows of constants, one behind the other; UINT32_MAX: no memory. */
static uint32_t const_rows(struct sim_program *p, const struct sim_const *want, unsigned n)
{
    enum { LOOK_BACK = 256 };
    size_t len = p->consts.len, first = len > LOOK_BACK ? len - LOOK_BACK : 0;

    for (size_t i = first; i + n <= len; i++) {
        unsigned k = 0;

        while (k < n && same_const(&p->consts.at[i + k], &want[k]))
            k++;
        if (k == n)
            return (uint32_t)i;
    }
    for (unsigned k = 0; k < n; k++)
        if (!hd_vec_push(&p->consts, want[k]))
            return UINT32_MAX;
    return (uint32_t)len;
}

static uint64_t bank_B(const struct sim_program *p, unsigned bank)
{
    switch (bank) {
    case ISA_BANK_LAUNCH:
        return ISA_LAUNCH_PARAMS + p->kernel.params_B;
    case ISA_BANK_LITERALS:
        return p->literals.len;
    case ISA_BANK_FUNCTIONS:
        return 8 * (uint64_t)p->kernel.nfuncs;
    default:
        return 0;
    }
}

static bool source_immediate(struct sim_program *p, struct sim_op *op, unsigned i,
                             const struct isa_operand *operand)
{
    bool is_double = isa_row(op->insn->op)->immediate == ISA_IMMEDIATE_F64;
    uint32_t number = (uint32_t)operand->value;
    struct sim_const want[2] = {{.is_number = true, .number = is_double ? 0 : number},
                                {.is_number = true,
                                 .number = is_double      ? number
                                           : number >> 31 ? UINT32_MAX
                                                          : 0}};

    op->src[i].base = SIM_BASE_CONST;
    op->src[i].row = const_rows(p, want, op->src[i].n);
    return op->src[i].row != UINT32_MAX;
}

static sim_exec outside_of_bank;

static bool source_constant(struct sim_program *p, struct sim_op *op, unsigned i,
                            const struct isa_operand *operand)
{
    struct sim_const want[2] = {{.bank = operand->bank, .offset = (uint16_t)operand->value},
                                {.bank = operand->bank, .offset = (uint16_t)(operand->value + 4)}};

    if (operand->ureg != ISA_URZ) {
        op->src[i].base = SIM_BASE_UNIFORM;
        op->has_uniform_source = true;
        return true;
    }
    if (operand->value < 0 ||
        (uint64_t)operand->value + 4 * op->src[i].n > bank_B(p, operand->bank)) {
        op->exec = outside_of_bank;
        return true;
    }
    op->src[i].base = SIM_BASE_CONST;
    op->src[i].row = const_rows(p, want, op->src[i].n);
    return op->src[i].row != UINT32_MAX;
}

static enum sim_step outside_of_bank(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    (void)op;
    return sim_fail(w, (unsigned)__builtin_ctz(mask), HD_ILLEGAL_ADDRESS,
                    "read outside of a bank of constants");
}

static bool source_decode(struct sim_program *p, struct sim_op *op, unsigned i,
                          enum isa_field field, enum isa_field uniform)
{
    int at = operand_at(op->insn, field, uniform);
    const struct isa_operand *operand = &op->insn->operands[at < 0 ? 0 : at];

    if (at < 0)
        return true;
    op->src[i].n = (uint8_t)isa_registers(op->insn, (unsigned)at);
    op->src[i].at = (uint8_t)at;
    switch (operand->kind) {
    case ISA_KIND_REG:
        op->src[i].row = sim_row_of(p, (unsigned)operand->value, false);
        return true;
    case ISA_KIND_UREG:
        op->src[i].base = SIM_BASE_UNIFORM;
        op->has_uniform_source = true;
        return true;
    case ISA_KIND_IMMEDIATE:
        return source_immediate(p, op, i, operand);
    case ISA_KIND_CONSTANT:
        return source_constant(p, op, i, operand);
    default:
        assert(!"a source");
        return true;
    }
}

/* ---- operations */

static void predicate_decode(const struct isa_insn *insn, enum isa_field field,
                             enum isa_field uniform, uint8_t *out_pred, uint8_t *out_not)
{
    int at = operand_at(insn, field, uniform);

    *out_pred = at < 0 ? ISA_PT : (uint8_t)insn->operands[at].value;
    if (out_not)
        *out_not = at >= 0 && insn->operands[at].negate;
}

/* Does it read or write any that is not PT, or is no carry? */
static bool has_predicates(const struct isa_insn *insn)
{
    const struct isa_row *row = isa_row(insn->op);

    for (unsigned i = 0; i < row->noperands; i++) {
        const struct isa_operand *operand = &insn->operands[i];
        bool is_usual = operand->value == ISA_PT && (row->operands[i].flags & ISA_USUALLY_NOT ||
                                                     row->operands[i].field == ISA_FIELD_PD ||
                                                     row->operands[i].field == ISA_FIELD_PE);

        if (operand->kind == ISA_KIND_PRED && !is_usual)
            return true;
    }
    return isa_mod_value(insn, ISA_MOD_X);
}

static bool op_decode(struct sim_program *p, uint32_t index)
{
    struct sim_op *op = &p->ops[index];
    const struct isa_insn *insn = &p->insns[index];
    const struct isa_row *row = isa_row(insn->op);
    int d = operand_at(insn, ISA_FIELD_D, ISA_FIELD_UD);

    op->insn = insn;
    op->exec = sim_exec_of(insn);
    op->guard = insn->guard;
    op->guard_not = insn->guard_not ? UINT32_MAX : 0;
    op->is_uniform_guard = row->pipe == ISA_PIPE_UNIFORM;
    op->is_uniform = row->pipe == ISA_PIPE_UNIFORM;
    op->ubase = (uint8_t)sim_field(insn, ISA_FIELD_UBASE, ISA_URZ);
    op->offset = (int32_t)sim_field(insn, ISA_FIELD_OFFSET, 0);
    op->target =
        (uint32_t)((int64_t)index + 1 + sim_field(insn, ISA_FIELD_TARGET, 0) / ISA_WORD_BYTES);
    predicate_decode(insn, ISA_FIELD_PD, ISA_FIELD_UPD, &op->pd, NULL);
    predicate_decode(insn, ISA_FIELD_PE, ISA_FIELD_UPE, &op->pe, NULL);
    predicate_decode(insn, ISA_FIELD_PA, ISA_FIELD_UPA, &op->pa, &op->pa_not);
    predicate_decode(insn, ISA_FIELD_PB, ISA_FIELD_UPB, &op->pb, &op->pb_not);
    predicate_decode(insn, ISA_FIELD_PC, ISA_FIELD_UPC, &op->pc, &op->pc_not);
    if (d >= 0) {
        op->nd = (uint8_t)isa_registers(insn, (unsigned)d);
        op->d = insn->operands[d].kind == ISA_KIND_REG
                    ? sim_row_of(p, (unsigned)insn->operands[d].value, true)
                    : (uint32_t)insn->operands[d].value;
    }
    op->code = (uint8_t)isa_mod_value(insn, ISA_MOD_SZ);
    op->how = (uint8_t)isa_mod_value(insn, ISA_MOD_SEM);
    op->sem = &p->sems[index];
    if (sim_sem_of(insn, &p->sems[index]))
        op->rows = sim_rows_of(insn, op);
    else
        op->sem = NULL;
    if (!source_decode(p, op, 0, ISA_FIELD_A, ISA_FIELD_UA) ||
        !source_decode(p, op, 1, ISA_FIELD_B, ISA_FIELD_UB) ||
        !source_decode(p, op, 2, ISA_FIELD_C, ISA_FIELD_UC))
        return false;
    if (op->exec == sim_exec_pure && op->rows && op->nd && !op->has_uniform_source &&
        !has_predicates(insn))
        op->exec = sim_exec_simple;
    return true;
}

/* ---- programs */

enum hd_status sim_kernel_of(const struct ir_func *kernel, struct sim_kernel *out_kernel)
{
    *out_kernel = (struct sim_kernel){.name = kernel->name,
                                      .module = kernel->module,
                                      .params_B = kernel->param_size_B,
                                      .nfuncs = kernel->module->nfuncs};
    return ir_kernel_window(kernel, &out_kernel->window);
}

static bool copy_bytes(void *vec, const void *from, size_t len, size_t elem_B)
{
    HD_VEC(char) *to = vec;

    if (!len)
        return true;
    to->at = hd_alloc_array(len, elem_B);
    if (!to->at)
        return false;
    memcpy(to->at, from, len * elem_B);
    to->len = to->cap = len;
    return true;
}
#define COPY(to, from) copy_bytes((to), (from)->at, (from)->len, sizeof(*(from)->at))

/* The registers that there are. */
static void registers_count(struct sim_program *p, const struct isa_insn *insn)
{
    const struct isa_row *row = isa_row(insn->op);

    for (unsigned i = 0; i < row->noperands; i++) {
        uint32_t first = (uint32_t)insn->operands[i].value, n = isa_registers(insn, i);

        if (insn->operands[i].kind != ISA_KIND_REG)
            continue;
        if (first == ISA_RZ)
            p->nsinks = HD_MAX(p->nsinks, n);
        else
            p->sink = HD_MAX(p->sink, SIM_R0 + first + n);
    }
}

static enum hd_status words_decode(struct sim_program *p, const struct isa_code *code)
{
    p->sink = SIM_R0;
    for (uint32_t i = 0; i < p->nops; i++) {
        const char *why = isa_decode(code->words.at[i], &p->insns[i]);

        if (why)
            return hd_error(HD_BAD_IMAGE, "kernel %s: word %u: %s", p->name, i, why);
        registers_count(p, &p->insns[i]);
    }
    p->nrows = p->sink;
    for (uint32_t i = 0; i < p->nops; i++) {
        enum isa_op op = p->insns[i].op;

        if (!op_decode(p, i))
            return hd_error(HD_NO_MEMORY, "kernel %s: no memory for its constants", p->name);
        if (!p->ops[i].exec)
            return hd_error(HD_NOT_SUPPORTED, "kernel %s: word %u: %s is not executed yet", p->name,
                            i, isa_row(op)->name);
        p->has_calls |= op == ISA_CALL || op == ISA_CALL_IND;
    }
    p->ops[p->nops] = (struct sim_op){.exec = sim_exec_end, .insn = &p->insns[0], .guard = ISA_PT};
    return HD_OK;
}

enum hd_status sim_program_create(const struct isa_code *code, const struct sim_kernel *kernel,
                                  struct sim_program **out_program)
{
    struct sim_program *p = hd_new(struct sim_program);
    uint32_t nops = (uint32_t)code->words.len;
    enum hd_status status;

    *out_program = NULL;
    if (!p)
        return hd_error(HD_NO_MEMORY, "kernel %s: no memory for its program", kernel->name);
    p->kernel = *kernel;
    p->name = hd_strdup(kernel->name);
    p->kernel.name = p->name;
    p->nops = nops;
    p->local_B = code->local_B;
    p->registers = code->registers;
    p->ops = hd_alloc_array(nops + 1u, sizeof(*p->ops));
    p->insns = hd_alloc_array(nops + 1u, sizeof(*p->insns));
    p->sems = hd_alloc_array(nops + 1u, sizeof(*p->sems));
    if (p->name && p->ops && p->insns && p->sems && COPY(&p->literals, &code->literals) &&
        COPY(&p->relocs, &code->relocs) && COPY(&p->functions, &code->functions) &&
        COPY(&p->lines, &code->lines))
        status = words_decode(p, code);
    else
        status = hd_error(HD_NO_MEMORY, "kernel %s: no memory for its program", kernel->name);
    if (status == HD_OK && kernel->module && kernel->module->has_probes) {
        p->probes = ir_probes_by_number(kernel->module, &p->nprobes);
        if (!p->probes)
            status = hd_error(HD_NO_MEMORY, "kernel %s: no memory for its probes", kernel->name);
    }
    if (status != HD_OK) {
        sim_program_destroy(p);
        return status;
    }
    *out_program = p;
    return HD_OK;
}

void sim_program_destroy(struct sim_program *p)
{
    if (!p)
        return;
    hd_vec_fini(&p->consts);
    hd_vec_fini(&p->literals);
    hd_vec_fini(&p->relocs);
    hd_vec_fini(&p->functions);
    hd_vec_fini(&p->lines);
    hd_free(p->name);
    hd_free(p->ops);
    hd_free(p->insns);
    hd_free(p->sems);
    hd_free(p->probes);
    hd_free(p);
}

uint32_t sim_program_registers(const struct sim_program *p)
{
    return p->registers;
}

uint32_t sim_program_words(const struct sim_program *p)
{
    return p->nops;
}

uint32_t sim_program_frame_B(const struct sim_program *p)
{
    return p->local_B;
}

uint64_t sim_program_local_B(const struct sim_program *p, uint64_t stack_B)
{
    uint64_t own_B = p->local_B;

    if (!p->has_calls && !p->kernel.window.recursive)
        return own_B;
    return HD_MAX(own_B, HD_MAX(p->kernel.window.local_B, stack_B ? stack_B : DEFAULT_STACK_B));
}
