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
    } done[ISA_MOST_OPERANDS + 1 /* the guard */];
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

/* A predicate's register becomes 0 or 1. */
static void keep_pred(struct spill *s, struct isa_operand pred, uint32_t unit)
{
    struct mc_insn insn = mc_insn_of(ISA_SEL);

    pred.negate = !pred.negate;
    mc_operand_set(&insn.isa, ISA_FIELD_D, mc_operand(ISA_KIND_REG, unit));
    mc_operand_set(&insn.isa, ISA_FIELD_B, mc_operand(ISA_KIND_IMMEDIATE, 1));
    mc_operand_set(&insn.isa, ISA_FIELD_PA, pred);
    insn.isa.form = ISA_FORM_IMMEDIATE;
    s->f->failed |= !hd_vec_push(&s->after, insn);
}

static void fetch_pred(struct spill *s, uint32_t pred, uint32_t unit)
{
    struct mc_insn insn = mc_insn_of(ISA_ISETP);

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

static bool is_kept(const struct spill *s, int64_t unit)
{
    return mc_is_virtual(unit) && mc_vreg_of(s->f, unit)->is_spilled;
}

/* Registers for the moment that an instruction needs them. */
static uint32_t tiny(struct spill *s, enum mc_class class, unsigned count)
{
    uint32_t unit = mc_vreg_create(s->f, class, count);

    mc_vreg_of(s->f, unit)->is_tiny = true;
    return unit;
}

static void access(void *context, struct mc_insn *insn, enum mc_access kind, int64_t *unit,
                   unsigned count, enum mc_class class)
{
    struct spill *s = context;
    uint32_t vreg, from = (uint32_t)*unit, offset, to = 0;
    struct slot *slot;

    (void)insn;
    if (!is_kept(s, *unit))
        return;
    vreg = s->f->units.at[from - MC_UNITS].vreg;
    offset = from - s->f->vregs.at[vreg].first;
    slot = slot_of(s, vreg);
    for (uint32_t i = 0; i < s->ndone; i++)
        if (s->done[i].from == from && s->done[i].count == count)
            to = s->done[i].to;
    if (!to) {
        to = tiny(s, class, count);
        if (s->f->failed)
            return;
        assert(s->ndone < HD_COUNT_OF(s->done));
        s->done[s->ndone].from = from;
        s->done[s->ndone].to = to;
        s->done[s->ndone++].count = count;
        if (kind == MC_READ && slot->is_remade)
            s->f->failed |= !hd_vec_push(&s->before, mc_move(to, slot->number));
        else if (kind == MC_READ && class == MC_PRED)
            fetch_pred(s, to, slot->at);
        else if (kind == MC_READ)
            memory(s, false, to, count, slot->at + 4 * offset);
    }
    if (kind == MC_WRITE && class == MC_PRED)
        keep_pred(s, mc_operand(ISA_KIND_PRED, to), slot->at);
    else if (kind == MC_WRITE && !slot->is_remade)
        memory(s, true, to, count, slot->at + 4 * offset);
    *unit = to;
}

/* What is to come before the instruction, itself (NULL: nothing), what is to come behind it. */
static void flush(struct spill *s, struct mc_block *made, const struct mc_insn *insn,
                  struct ir_srcloc srcloc)
{
    for (size_t k = 0; k < s->before.len; k++) {
        s->before.at[k].srcloc = srcloc;
        s->f->failed |= !hd_vec_push(&made->insns, s->before.at[k]);
    }
    if (insn)
        s->f->failed |= !hd_vec_push(&made->insns, *insn);
    for (size_t k = 0; k < s->after.len; k++) {
        s->after.at[k].srcloc = srcloc;
        s->f->failed |= !hd_vec_push(&made->insns, s->after.at[k]);
    }
    s->before.len = s->after.len = s->ndone = 0;
}

/* ---- copies at once: each by itself, as registers for all of them may not be there */

struct copies {
    struct spill *s;
    struct mc_block *made;
    struct ir_srcloc srcloc;
    struct mc_copy *at;
    uint32_t n;
};

static bool is_from_kept(const struct spill *s, const struct mc_copy *c)
{
    return (c->from.kind == ISA_KIND_REG || c->from.kind == ISA_KIND_PRED) &&
           is_kept(s, c->from.value);
}

/* Loads what is kept of a source to a register, MC_NO_UNIT: a new one; the source is that then. */
static void fetch(struct copies *c, struct mc_copy *copy, uint32_t to)
{
    struct spill *s = c->s;
    uint32_t unit = (uint32_t)copy->from.value, vreg = s->f->units.at[unit - MC_UNITS].vreg;
    bool pred = copy->from.kind == ISA_KIND_PRED;
    struct slot *slot = slot_of(s, vreg);

    if (to == MC_NO_UNIT)
        to = tiny(s, pred ? MC_PRED : MC_REG, 1);
    if (pred)
        fetch_pred(s, to, slot->at);
    else
        memory(s, false, to, 1, slot->at + 4 * (unit - s->f->vregs.at[vreg].first));
    flush(s, c->made, NULL, c->srcloc);
    copy->from.value = to;
}

/* Stores a source where the copy's result is kept. */
static void keep(struct copies *c, const struct mc_copy *copy)
{
    struct spill *s = c->s;
    uint32_t vreg = s->f->units.at[copy->to - MC_UNITS].vreg;
    struct slot *slot = slot_of(s, vreg);
    int64_t from = copy->from.value;

    if (copy->from.kind == ISA_KIND_PRED) {
        keep_pred(s, copy->from, slot->at);
    } else {
        if (copy->from.kind != ISA_KIND_REG) {
            from = tiny(s, MC_REG, 1);
            s->f->failed |= !hd_vec_push(&s->before, mc_move(from, copy->from));
        }
        memory(s, true, (uint32_t)from, 1, slot->at + 4 * (copy->to - s->f->vregs.at[vreg].first));
    }
    flush(s, c->made, NULL, c->srcloc);
}

/* Another copy that still reads what is kept for the result of this one; c->n: none. */
static uint32_t reader_of(const struct copies *c, uint32_t i)
{
    uint32_t k = 0;

    while (k < c->n &&
           (k == i || !is_from_kept(c->s, &c->at[k]) || c->at[k].from.value != c->at[i].to))
        k++;
    return k;
}

/* Each store comes behind the loads of what was there; what waits in a ring is loaded before. */
static void keep_all(struct copies *c)
{
    uint32_t waiting = 0, first = 0;

    do {
        bool any = false;

        waiting = 0;
        for (uint32_t i = 0; i < c->n; i++) {
            if (!is_kept(c->s, c->at[i].to))
                continue;
            if (reader_of(c, i) < c->n) {
                first = waiting++ ? first : i;
                continue;
            }
            if (is_from_kept(c->s, &c->at[i]))
                fetch(c, &c->at[i], MC_NO_UNIT);
            keep(c, &c->at[i]);
            c->at[i] = (struct mc_copy){ISA_RZ, mc_operand(ISA_KIND_IMMEDIATE, 0)};
            any = true;
        }
        if (waiting && !any)
            fetch(c, &c->at[reader_of(c, first)], MC_NO_UNIT);
    } while (waiting && !c->s->f->failed);
}

/* Stores of what is kept, then copies of registers, then loads: no register is lost before. */
static void rewrite_copies(struct spill *s, struct mc_block *made, const struct mc_insn *insn)
{
    struct mc_func *f = s->f;
    struct copies c = {.s = s, .made = made, .srcloc = insn->srcloc, .n = insn->ncopies};
    struct mc_insn rest = *insn;

    c.at = hd_arena_array(&f->arena, struct mc_copy, c.n + 1);
    if (!c.at) {
        f->failed = true;
        return;
    }
    for (uint32_t i = 0; i < c.n; i++) {
        struct mc_copy *copy = &c.at[i];

        *copy = f->copies.at[insn->first_copy + i];
        if (is_from_kept(s, copy)) {
            const struct slot *slot = &s->slots[f->units.at[copy->from.value - MC_UNITS].vreg];

            if (slot->is_remade)
                copy->from = slot->number;
        }
    }
    keep_all(&c);
    for (uint32_t i = 0; i < c.n; i++)
        if (is_from_kept(s, &c.at[i]) && c.at[i].from.negate)
            fetch(&c, &c.at[i], MC_NO_UNIT);
    rest.first_copy = (uint32_t)f->copies.len;
    for (uint32_t i = 0; i < c.n; i++)
        if (c.at[i].to != ISA_RZ && !is_from_kept(s, &c.at[i]))
            f->failed |= !hd_vec_push(&f->copies, c.at[i]);
    rest.ncopies = (uint32_t)f->copies.len - rest.first_copy;
    if (rest.ncopies)
        f->failed |= !hd_vec_push(&made->insns, rest);
    for (uint32_t i = 0; i < c.n; i++)
        if (is_from_kept(s, &c.at[i]))
            fetch(&c, &c.at[i], c.at[i].to);
}

static void rewrite_block(struct spill *s, struct mc_block *b)
{
    struct mc_block made = *b;

    made.insns.at = NULL;
    made.insns.len = made.insns.cap = 0;
    for (size_t i = 0; i < b->insns.len && !s->f->failed; i++) {
        struct mc_insn insn = b->insns.at[i];

        if (insn.isa.op == (enum isa_op)MC_COPY) {
            rewrite_copies(s, &made, &insn);
            continue;
        }
        mc_visit(s->f, &insn, access, s);
        flush(s, &made, &insn, insn.srcloc);
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
