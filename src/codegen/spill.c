/*
 * Virtual registers that live in local memory, each use and definition with a register of its own;
 * predicates live in a register as 0 or 1. What a MOV of a number or constant makes is made again.
 */
#include <string.h>

#include "base/mem.h"
#include "codegen/mc.h"

struct slot {
    bool is_known;
    bool is_remade;
    uint32_t at; /* in the frame; of a predicate the unit */
    struct isa_operand number;
};

struct spill {
    struct mc_func *f;
    struct slot *slots; /* by vreg */
    HD_VEC(struct mc_insn) before, after;
    uint32_t nslots;
    /* Of one instruction: units that were replaced, and by what. */
    struct {
        uint32_t from, to, count;
    } done[64];
    uint32_t ndone;
};

static unsigned size_code(unsigned words)
{
    return words == 1 ? ISA_SZ_DEFAULT : words == 2 ? ISA_SZ_64 : ISA_SZ_128;
}

/* Loads or stores of `count` words at the frame's byte `at`, in pieces that memory has. */
static void memory(struct spill *s, bool store, uint32_t unit, unsigned count, uint32_t at)
{
    uint32_t base = s->f->frame_base;

    for (unsigned i = 0, n; i < count; i += n) {
        struct mc_insn insn = mc_insn_of(store ? ISA_STL : ISA_LDL);

        insn.is_spill = true;
        n = count - i;
        n = n >= 4 && (at + 4 * i) % 16 == 0 ? 4 : n >= 2 && (at + 4 * i) % 8 == 0 ? 2 : 1;
        mc_mod_set(&insn.isa, ISA_MOD_SZ, size_code(n));
        mc_operand_set(&insn.isa, store ? ISA_FIELD_B : ISA_FIELD_D,
                       mc_operand(ISA_KIND_REG, unit + i));
        mc_operand_set(&insn.isa, ISA_FIELD_A,
                       mc_operand(ISA_KIND_REG, base ? (int64_t)base : ISA_RZ));
        mc_operand_set(&insn.isa, ISA_FIELD_OFFSET, mc_operand(ISA_KIND_SINT, at + 4 * i));
        if (store)
            s->f->failed |= !hd_vec_push(&s->after, insn);
        else
            s->f->failed |= !hd_vec_push(&s->before, insn);
    }
}

/* A predicate from its register, or to it. */
static void move_pred(struct spill *s, bool store, uint32_t pred, uint32_t unit)
{
    struct mc_insn insn = mc_insn_of(store ? ISA_SEL : ISA_ISETP);

    if (store) {
        mc_operand_set(&insn.isa, ISA_FIELD_D, mc_operand(ISA_KIND_REG, unit));
        mc_operand_set(&insn.isa, ISA_FIELD_B, mc_operand(ISA_KIND_IMMEDIATE, 1));
        mc_operand_set(&insn.isa, ISA_FIELD_PA, mc_operand(ISA_KIND_PRED, pred));
        insn.isa.operands[mc_operand_of(ISA_SEL, ISA_FIELD_PA)].negate = true;
        insn.isa.form = ISA_FORM_IMMEDIATE;
        s->f->failed |= !hd_vec_push(&s->after, insn);
        return;
    }
    mc_operand_set(&insn.isa, ISA_FIELD_PD, mc_operand(ISA_KIND_PRED, pred));
    mc_operand_set(&insn.isa, ISA_FIELD_A, mc_operand(ISA_KIND_REG, unit));
    mc_mod_set(&insn.isa, ISA_MOD_CMP, ISA_CMP_NE);
    mc_mod_set(&insn.isa, ISA_MOD_SIGN, ISA_SIGN_U32);
    s->f->failed |= !hd_vec_push(&s->before, insn);
}

static struct slot *slot_of(struct spill *s, uint32_t vreg)
{
    struct slot *slot = &s->slots[vreg];
    struct mc_vreg v = s->f->vregs.at[vreg];
    uint32_t align = v.width >= 4 ? 16 : v.width == 2 ? 8 : 4;

    if (slot->is_known)
        return slot;
    slot->is_known = true;
    if (v.class == MC_PRED) {
        slot->at = mc_vreg_create(s->f, MC_REG, 1);
        return slot;
    }
    slot->at = (s->f->frame_B + align - 1) & ~(align - 1);
    s->f->frame_B = slot->at + 4u * v.width;
    s->f->spilled_B += 4u * v.width;
    return slot;
}

static void access(void *context, struct mc_insn *insn, enum mc_access kind, int64_t *unit,
                   unsigned count, enum mc_class class)
{
    struct spill *s = context;
    uint32_t vreg, from = (uint32_t)*unit, offset, to = 0;
    struct slot *slot;

    (void)insn;
    if (!mc_is_virtual(*unit) || !mc_vreg_of(s->f, *unit)->is_spilled)
        return;
    vreg = s->f->units.at[from - MC_UNITS].vreg;
    offset = from - s->f->vregs.at[vreg].first;
    slot = slot_of(s, vreg);
    for (uint32_t i = 0; i < s->ndone; i++)
        if (s->done[i].from == from && s->done[i].count == count)
            to = s->done[i].to;
    if (!to) {
        to = mc_vreg_create(s->f, class, count);
        if (s->f->failed)
            return;
        mc_vreg_of(s->f, to)->is_tiny = true;
        if (s->ndone < HD_COUNT_OF(s->done)) {
            s->done[s->ndone].from = from;
            s->done[s->ndone].to = to;
            s->done[s->ndone++].count = count;
        }
        if (kind == MC_READ && slot->is_remade)
            s->f->failed |= !hd_vec_push(&s->before, mc_move(to, slot->number));
        else if (kind == MC_READ && class == MC_PRED)
            move_pred(s, false, to, slot->at);
        else if (kind == MC_READ)
            memory(s, false, to, count, slot->at + 4 * offset);
    }
    if (kind == MC_WRITE && class == MC_PRED)
        move_pred(s, true, to, slot->at);
    else if (kind == MC_WRITE && !slot->is_remade)
        memory(s, true, to, count, slot->at + 4 * offset);
    *unit = to;
}

static void rewrite_block(struct spill *s, struct mc_block *b)
{
    struct mc_block made = *b;

    made.insns.at = NULL;
    made.insns.len = made.insns.cap = 0;
    for (size_t i = 0; i < b->insns.len; i++) {
        struct mc_insn insn = b->insns.at[i];

        s->before.len = s->after.len = s->ndone = 0;
        mc_visit(s->f, &insn, access, s);
        for (size_t k = 0; k < s->before.len; k++) {
            s->before.at[k].srcloc = insn.srcloc;
            s->f->failed |= !hd_vec_push(&made.insns, s->before.at[k]);
        }
        s->f->failed |= !hd_vec_push(&made.insns, insn);
        for (size_t k = 0; k < s->after.len; k++) {
            s->after.at[k].srcloc = insn.srcloc;
            s->f->failed |= !hd_vec_push(&made.insns, s->after.at[k]);
        }
    }
    hd_vec_fini(&b->insns);
    *b = made;
}

/* ---- what a MOV makes */

struct defs {
    struct mc_func *f;
    uint8_t *count; /* by vreg; of definitions, 2 for many */
};

static void count_defs(void *context, struct mc_insn *insn, enum mc_access kind, int64_t *unit,
                       unsigned count, enum mc_class class)
{
    struct defs *d = context;
    uint32_t vreg;

    (void)insn, (void)count, (void)class;
    if (kind != MC_WRITE || !mc_is_virtual(*unit))
        return;
    vreg = d->f->units.at[*unit - MC_UNITS].vreg;
    d->count[vreg] = (uint8_t)HD_MIN(d->count[vreg] + 1, 2);
}

static void find_remade(struct spill *s, const uint8_t *count, const struct mc_insn *insn)
{
    const struct isa_operand *o = insn->isa.operands;
    uint32_t vreg;

    if (insn->isa.op != ISA_MOV || insn->guard != ISA_PT || insn->is_frame ||
        !mc_is_virtual(o[0].value) || o[1].kind == ISA_KIND_UREG ||
        (o[1].kind == ISA_KIND_REG && o[1].value != ISA_RZ))
        return;
    vreg = s->f->units.at[o[0].value - MC_UNITS].vreg;
    if (count[vreg] != 1 || s->f->vregs.at[vreg].width != 1 || !s->f->vregs.at[vreg].is_spilled)
        return;
    s->slots[vreg] = (struct slot){.is_known = true, .is_remade = true, .number = o[1]};
}

static bool find_all_remade(struct spill *s)
{
    struct defs d = {s->f, hd_alloc_array(s->f->vregs.len + 1, 1)};

    if (!d.count)
        return false;
    for (size_t i = 0; i < s->f->blocks.len; i++)
        for (size_t k = 0; k < s->f->blocks.at[i]->insns.len; k++)
            mc_visit(s->f, &s->f->blocks.at[i]->insns.at[k], count_defs, &d);
    for (size_t i = 0; i < s->f->blocks.len; i++)
        for (size_t k = 0; k < s->f->blocks.at[i]->insns.len; k++)
            find_remade(s, d.count, &s->f->blocks.at[i]->insns.at[k]);
    hd_free(d.count);
    return true;
}

enum hd_status spill_rewrite(struct mc_func *f)
{
    struct spill s = {.f = f};
    bool ok;

    s.slots = hd_alloc_array(f->vregs.len + 1, sizeof(*s.slots));
    ok = s.slots && (!codegen_does(f->settings, CODEGEN_REMATERIALIZE) || find_all_remade(&s));
    s.nslots = (uint32_t)f->vregs.len;
    for (size_t i = 0; ok && i < f->blocks.len; i++)
        rewrite_block(&s, f->blocks.at[i]);
    for (size_t i = 0; i < s.nslots && ok; i++)
        f->vregs.at[i].is_spilled = false;
    hd_vec_fini(&s.before);
    hd_vec_fini(&s.after);
    hd_free(s.slots);
    return ok && !f->failed ? HD_OK : hd_error(HD_NO_MEMORY, "function %s: no memory", f->ir->name);
}
