/* See mc.h. */
#include "codegen/mc.h"
#include "isa/access.h"

#include <string.h>

#include "base/mem.h"
#include "isa/machine.h"

void mc_init(struct mc_func *f, const struct ir_func *ir, const struct codegen_settings *settings,
             const struct ir_profile_func *profile)
{
    *f = (struct mc_func){
        .ir = ir, .settings = settings, .profile = profile, .is_kernel = ir->is_kernel};
    for (size_t i = 0;
         profile && codegen_does(settings, CODEGEN_PROFILE) && i < profile->blocks.len; i++)
        f->count_most = HD_MAX(f->count_most, profile->blocks.at[i].warps);
    hd_arena_init(&f->arena);
}

void mc_fini(struct mc_func *f)
{
    for (size_t i = 0; i < f->blocks.len; i++)
        hd_vec_fini(&f->blocks.at[i]->insns);
    hd_vec_fini(&f->blocks);
    hd_vec_fini(&f->spare_block.insns);
    hd_vec_fini(&f->vregs);
    hd_vec_fini(&f->units);
    hd_vec_fini(&f->copies);
    hd_arena_fini(&f->arena);
}

struct mc_block *mc_block_create(struct mc_func *f)
{
    struct mc_block *b = hd_arena_new(&f->arena, struct mc_block);

    if (!b || !hd_vec_push(&f->blocks, b)) {
        f->failed = true;
        return &f->spare_block;
    }
    *b = (struct mc_block){.id = (uint32_t)f->blocks.len - 1};
    return b;
}

struct mc_block *mc_through(const struct mc_func *f, struct mc_block *b)
{
    for (int i = codegen_does(f->settings, CODEGEN_JUMPS) ? 0 : 8;
         i < 8 && b->insns.len == 1 && mc_is_jump(&b->insns.at[0]); i++)
        b = b->insns.at[0].target;
    return b;
}

/* Ten times for each loop around it. */
static uint64_t weight_by_loops(const struct mc_block *b)
{
    uint64_t weight = 1;

    for (uint32_t i = 0; i < HD_MIN(b->loop_depth, 8u); i++)
        weight *= 10;
    return weight;
}

double mc_warps_of(uint32_t registers)
{
    uint32_t step = isa_subcore(ISA_SUBCORE_REGISTERS_STEP);

    registers = (HD_MAX(registers, 1u) + step - 1) / step * step;
    return HD_MIN((double)isa_subcore(ISA_SUBCORE_REGISTERS) / registers,
                  isa_subcore(ISA_SUBCORE_WARPS));
}

uint64_t mc_block_count(const struct mc_func *f, const struct mc_block *b)
{
    return f->profile ? b->count : weight_by_loops(b);
}

uint64_t mc_block_weight(const struct mc_func *f, const struct mc_block *b)
{
    if (!f->count_most)
        return weight_by_loops(b);
    return 1 + (uint64_t)((double)b->count / (double)f->count_most * 1e6);
}

/* Pairs begin at an even register, more at a multiple of four: as the ISA has it. */
static uint8_t align_of(unsigned width)
{
    return width <= 1 ? 1 : width == 2 ? 2 : 4;
}

uint32_t mc_vreg_create(struct mc_func *f, enum mc_class class, unsigned width)
{
    uint32_t first = MC_UNITS + (uint32_t)f->units.len;
    struct mc_vreg vreg = {.first = first,
                           .width = (uint16_t)width,
                           .class = (uint8_t)class,
                           .align = align_of(width),
                           .assigned = -1};

    assert(width && width < MC_UNITS);
    f->failed |= !hd_vec_push(&f->vregs, vreg);
    for (unsigned i = 0; i < width; i++)
        f->failed |= !hd_vec_push(&f->units, (struct mc_unit){(uint32_t)f->vregs.len - 1});
    return f->failed ? MC_UNITS : first;
}

struct mc_insn mc_insn_of(enum isa_op op)
{
    struct mc_insn insn = {.isa = {.op = op, .guard = ISA_PT}, .guard = ISA_PT};

    if ((unsigned)op < ISA_OPS)
        insn.isa = isa_insn_of(op);
    return insn;
}

void mc_mod_set(struct isa_insn *insn, enum isa_mod mod, unsigned value)
{
    const struct isa_row *row = isa_row(insn->op);

    for (unsigned i = 0; i < row->nall_mods; i++) {
        if (row->mods[i] == mod) {
            insn->mods[i] = (uint8_t)value;
            return;
        }
    }
    assert(!value && "the instruction has this modifier");
}

int mc_operand_of(enum isa_op op, enum isa_field field)
{
    const struct isa_row *row = isa_row(op);

    for (unsigned i = 0; i < row->noperands; i++)
        if (row->operands[i].field == field)
            return (int)i;
    return -1;
}

void mc_operand_set(struct isa_insn *insn, enum isa_field field, struct isa_operand operand)
{
    int at = mc_operand_of(insn->op, field);

    assert(at >= 0);
    insn->operands[at] = operand;
}

enum isa_form mc_form_of(const struct isa_operand *b)
{
    return b->kind == ISA_KIND_IMMEDIATE  ? ISA_FORM_IMMEDIATE
           : b->kind == ISA_KIND_CONSTANT ? ISA_FORM_CONSTANT
                                          : ISA_FORM_REGISTER;
}

struct mc_insn mc_move(int64_t to, struct isa_operand from)
{
    struct mc_insn insn = mc_insn_of(ISA_MOV);

    mc_operand_set(&insn.isa, ISA_FIELD_D, mc_operand(ISA_KIND_REG, to));
    mc_operand_set(&insn.isa, ISA_FIELD_B, from);
    insn.isa.form = mc_form_of(&from);
    return insn;
}

/* ---- what is read and written */

struct visit {
    mc_visit_fn *fn;
    void *context;
    struct mc_insn *insn;
};

/* RZ and PT: most operands of most instructions. */
static bool is_none(int64_t unit, enum mc_class class)
{
    return class == MC_REG ? unit == ISA_RZ : class == MC_PRED && unit == ISA_PT;
}

static void tell(const struct visit *v, enum mc_access access, int64_t *unit, unsigned count,
                 enum mc_class class)
{
    if (!is_none(*unit, class) && count)
        v->fn(v->context, v->insn, access, unit, count, class);
}

static bool class_of(unsigned kind, enum mc_class *out)
{
    switch (kind) {
    case ISA_KIND_REG:
        *out = MC_REG;
        return true;
    case ISA_KIND_PRED:
        *out = MC_PRED;
        return true;
    case ISA_KIND_BARRIER:
        *out = MC_BARRIER;
        return true;
    default:
        return false;
    }
}

static void visit_copies(struct mc_func *f, const struct visit *v, enum mc_access access)
{
    for (uint32_t i = 0; i < v->insn->ncopies; i++) {
        struct mc_copy *copy = &f->copies.at[v->insn->first_copy + i];
        enum mc_class class = copy->from.kind == ISA_KIND_PRED ? MC_PRED : MC_REG;
        int64_t to = copy->to;

        if (access == MC_READ && class_of(copy->from.kind, &class))
            tell(v, MC_READ, &copy->from.value, 1, class);
        if (access == MC_WRITE) {
            tell(v, MC_WRITE, &to, 1, class);
            copy->to = (uint32_t)to;
        }
    }
}

void mc_visit(struct mc_func *f, struct mc_insn *insn, mc_visit_fn *fn, void *context)
{
    const struct visit v = {fn, context, insn};
    struct isa_insn *isa = &insn->isa;

    int64_t guard = insn->guard;
    bool guarded = guard != ISA_PT;

    tell(&v, MC_READ, &guard, 1, MC_PRED);
    insn->guard = (uint32_t)guard;
    if ((unsigned)isa->op >= ISA_OPS) {
        visit_copies(f, &v, MC_READ);
        visit_copies(f, &v, MC_WRITE);
        return;
    }
    if (insn->arguments) {
        int64_t first = ISA_REG_ARGUMENTS;
        tell(&v, MC_READ, &first, insn->arguments, MC_REG);
    }
    const struct isa_row *row = isa_row(isa->op);
    struct {
        uint8_t at, count, class;
    } results[ISA_MOST_OPERANDS];
    unsigned nresults = 0;
    for (unsigned i = 0; i < row->noperands; i++) {
        enum isa_field field = (enum isa_field)row->operands[i].field;
        int64_t *unit = &isa->operands[i].value, kept = *unit;
        enum mc_class class;
        unsigned count;

        if (!class_of(isa->operands[i].kind, &class) || is_none(kept, class))
            continue;
        count = isa_registers(isa, i);
        if (!isa_is_result(isa, field) && (isa->op != ISA_BSSY || field != ISA_FIELD_BAR)) {
            tell(&v, MC_READ, unit, count, class);
            continue;
        }
        results[nresults].at = (uint8_t)i;
        results[nresults].count = (uint8_t)count;
        results[nresults++].class = (uint8_t)class;
        /* A guarded result keeps what was there in other lanes; a product adds to it. */
        if (guarded || isa->op == ISA_GMMA)
            tell(&v, MC_READ, &kept, count, class);
    }
    for (unsigned i = 0; i < nresults; i++)
        tell(&v, MC_WRITE, &isa->operands[results[i].at].value, results[i].count,
             (enum mc_class)results[i].class);
}

void mc_number(struct mc_func *f)
{
    f->ninsns = 0;
    for (size_t i = 0; i < f->blocks.len; i++) {
        f->blocks.at[i]->id = (uint32_t)i;
        f->blocks.at[i]->first = f->ninsns;
        f->ninsns += (uint32_t)f->blocks.at[i]->insns.len;
    }
}

/* ---- text, for HEDDLE_DEBUG=isa */

static void print_operand(const struct isa_operand *o, struct hd_buf *out)
{
    static const char *const letters[] = {
        [ISA_KIND_REG] = "v", [ISA_KIND_PRED] = "p", [ISA_KIND_BARRIER] = "b"};
    const char *sign = o->negate ? "-" : "";

    if (o->kind == ISA_KIND_REG && !mc_is_virtual(o->value))
        hd_buf_printf(out, " %sR%d", sign, (int)o->value);
    else if (o->kind == ISA_KIND_REG || o->kind == ISA_KIND_PRED || o->kind == ISA_KIND_BARRIER)
        hd_buf_printf(out, " %s%s%d", sign, letters[o->kind], (int)o->value);
    else if (o->kind == ISA_KIND_CONSTANT)
        hd_buf_printf(out, " %sc[%u][%#x]", sign, o->bank, (unsigned)o->value);
    else
        hd_buf_printf(out, " %#llx", (unsigned long long)o->value);
}

static void print_insn(const struct mc_func *f, const struct mc_insn *insn, struct hd_buf *out)
{
    if (insn->isa.op == (enum isa_op)MC_COPY) {
        hd_buf_puts(out, "    COPY");
        for (uint32_t i = 0; i < insn->ncopies; i++) {
            const struct mc_copy *copy = &f->copies.at[insn->first_copy + i];
            hd_buf_printf(out, "%s %u =", i ? "," : "", copy->to);
            print_operand(&copy->from, out);
        }
        hd_buf_puts(out, "\n");
        return;
    }
    const struct isa_row *row = isa_row(insn->isa.op);
    hd_buf_puts(out, "    ");
    if (insn->guard != ISA_PT)
        hd_buf_printf(out, "@%sp%u ", insn->isa.guard_not ? "!" : "", insn->guard);
    hd_buf_puts(out, row->name);
    for (unsigned i = 0; i < row->nall_mods; i++)
        if (insn->isa.mods[i])
            hd_buf_printf(out, ".%s", isa_mod(row->mods[i])->values[insn->isa.mods[i]]);
    for (unsigned i = 0; i < row->noperands; i++)
        print_operand(&insn->isa.operands[i], out);
    if (insn->target)
        hd_buf_printf(out, " -> %u", insn->target->id);
    hd_buf_puts(out, "\n");
}

void mc_print(const struct mc_func *f, struct hd_buf *out)
{
    hd_buf_printf(out, "%s:\n", f->ir->name);
    for (size_t i = 0; i < f->blocks.len; i++) {
        const struct mc_block *b = f->blocks.at[i];
        hd_buf_printf(out, "  %u:\n", b->id);
        for (size_t k = 0; k < b->insns.len; k++)
            print_insn(f, &b->insns.at[k], out);
    }
}
