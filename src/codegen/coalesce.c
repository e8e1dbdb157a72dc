/*
 * Copies whose two sides can be one register: their segments do not overlap, and where a side is a
 * part of a wider register the other one fits into it. Copies that run most come first.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codegen/mc.h"

struct merge {
    struct mc_func *f;
    struct live live;
    uint32_t
        *into; /* by vreg: the first unit that it begins at now; its own where it is by itself */
};

/* The unit that this one is now. Ways are halved, so that long chains of copies stay cheap. */
static uint32_t now(struct merge *m, uint32_t unit)
{
    for (;;) {
        uint32_t vreg = m->f->units.at[unit - MC_UNITS].vreg, first = m->f->vregs.at[vreg].first;
        uint32_t *into = &m->into[vreg], next;

        if (*into == first)
            return unit;
        next = m->f->units.at[*into - MC_UNITS].vreg;
        *into = m->into[next] + (*into - m->f->vregs.at[next].first);
        unit = *into + (unit - first);
    }
}

/* Can `part` lie in `whole`, `at` units from its start? */
static bool fits(const struct merge *m, const struct mc_vreg *part, const struct mc_vreg *whole,
                 int64_t at)
{
    if (at < 0 || at + part->width > whole->width || at % part->align ||
        part->align > whole->align || part->class != whole->class)
        return false;
    for (uint32_t i = 0; i < part->width; i++)
        if (live_overlap(&m->live, part->first + i, whole->first + (uint32_t)at + i))
            return false;
    return true;
}

static bool join(struct merge *m, const struct mc_vreg *part, const struct mc_vreg *whole,
                 int64_t at)
{
    if (!fits(m, part, whole, at))
        return false;
    for (uint32_t i = 0; i < part->width; i++)
        live_join(&m->live, whole->first + (uint32_t)at + i, part->first + i);
    m->into[part - m->f->vregs.at] = whole->first + (uint32_t)at;
    return true;
}

static void try_copy(struct merge *m, int64_t to, int64_t from)
{
    const struct mc_vreg *a, *b;
    uint32_t x, y;

    if (!mc_is_virtual(to) || !mc_is_virtual(from))
        return;
    x = now(m, (uint32_t)to);
    y = now(m, (uint32_t)from);
    a = mc_vreg_of(m->f, x);
    b = mc_vreg_of(m->f, y);
    if (a == b)
        return;
    int64_t at = (int64_t)(x - a->first) - (int64_t)(y - b->first);
    if (a->width >= b->width)
        (void)(join(m, b, a, at) || (a->width == b->width && join(m, a, b, -at)));
    else
        join(m, a, b, -at);
}

static bool is_move(const struct mc_insn *insn)
{
    return insn->isa.op == ISA_MOV && insn->isa.form == ISA_FORM_REGISTER &&
           insn->guard == ISA_PT && !insn->is_frame;
}

static void try_insn(struct merge *m, const struct mc_insn *insn)
{
    if (is_move(insn)) {
        try_copy(m, insn->isa.operands[0].value, insn->isa.operands[1].value);
        return;
    }
    if (insn->isa.op != (enum isa_op)MC_COPY)
        return;
    for (uint32_t i = 0; i < insn->ncopies; i++) {
        const struct mc_copy *copy = &m->f->copies.at[insn->first_copy + i];

        if (copy->from.kind == ISA_KIND_REG ||
            (copy->from.kind == ISA_KIND_PRED && !copy->from.negate &&
             mc_is_virtual(copy->from.value)))
            try_copy(m, copy->to, copy->from.value);
    }
}

static void rename_unit(void *context, struct mc_insn *insn, enum mc_access access, int64_t *unit,
                        unsigned count, enum mc_class class)
{
    struct merge *m = context;

    (void)insn, (void)access, (void)count, (void)class;
    if (mc_is_virtual(*unit))
        *unit = now(m, (uint32_t)*unit);
}

static bool is_idle(struct mc_func *f, struct mc_insn *insn)
{
    uint32_t n = 0;

    if (is_move(insn))
        return insn->isa.operands[0].value == insn->isa.operands[1].value;
    if (insn->isa.op != (enum isa_op)MC_COPY)
        return false;
    for (uint32_t i = 0; i < insn->ncopies; i++) {
        struct mc_copy copy = f->copies.at[insn->first_copy + i];

        if ((copy.from.kind != ISA_KIND_REG && copy.from.kind != ISA_KIND_PRED) ||
            copy.from.value != copy.to || copy.from.negate)
            f->copies.at[insn->first_copy + n++] = copy;
    }
    insn->ncopies = n;
    return !n;
}

static void clean(struct mc_func *f, struct mc_block *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->insns.len; i++)
        if (!is_idle(f, &b->insns.at[i]))
            b->insns.at[n++] = b->insns.at[i];
    b->insns.len = n;
}

static int by_weight(const void *x, const void *y, void *context)
{
    const struct mc_block *a = *(struct mc_block *const *)x, *b = *(struct mc_block *const *)y;
    uint64_t v = mc_block_weight(context, a), w = mc_block_weight(context, b);

    if (v != w)
        return v > w ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

enum hd_status coalesce(struct mc_func *f)
{
    struct merge m = {.f = f};
    struct mc_block **order;

    HD_TRY(live_compute(f, &m.live));
    m.into = hd_alloc_array(f->vregs.len + 1, sizeof(*m.into));
    order = hd_arena_array(&f->arena, struct mc_block *, f->blocks.len);
    if (!m.into || !order) {
        hd_free(m.into);
        live_fini(&m.live);
        return hd_error(HD_NO_MEMORY, "function %s: no memory", f->ir->name);
    }
    for (size_t i = 0; i < f->vregs.len; i++)
        m.into[i] = f->vregs.at[i].first;
    memcpy(order, f->blocks.at, f->blocks.len * sizeof(struct mc_block *));
    qsort_r(order, f->blocks.len, sizeof(struct mc_block *), by_weight, f);
    for (size_t i = 0; i < f->blocks.len; i++)
        for (size_t k = 0; k < order[i]->insns.len; k++)
            try_insn(&m, &order[i]->insns.at[k]);
    for (size_t i = 0; i < f->blocks.len; i++) {
        struct mc_block *b = f->blocks.at[i];

        for (size_t k = 0; k < b->insns.len; k++)
            mc_visit(f, &b->insns.at[k], rename_unit, &m);
        clean(f, b);
    }
    if (f->frame_base)
        f->frame_base = now(&m, f->frame_base);
    live_fini(&m.live);
    hd_free(m.into);
    return HD_OK;
}
