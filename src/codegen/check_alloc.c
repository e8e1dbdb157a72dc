/*
 * Does every read find what was written? Looked at after assignment, before anything is renamed:
 * forward over the blocks goes, for each unit, whether it has been written on some way there, and
 * whether something else has been written to its register since. Reading such a unit is an error;
 * one that was never written holds anything. Nothing of liveness or of the allocator is used. What
 * is in memory, spilled units, is not followed.
 */
#include <string.h>

#include "base/mem.h"
#include "codegen/mc.h"

/* Machine registers of all classes in one numbering. */
enum { PREDS_AT = MC_UNITS, BARRIERS_AT = PREDS_AT + 8, PLACES = BARRIERS_AT + 16 };

struct check {
    struct mc_func *f;
    uint32_t words;
    uint64_t *written, *lost; /* by block, at its start */
    uint64_t *now_written, *now_lost;
    uint64_t *at; /* by place: units that have it */
    bool reports;
    enum hd_status status;
    uint32_t block, insn;
};

static bool has(const uint64_t *set, uint64_t unit)
{
    return set[unit / 64] >> (unit % 64) & 1;
}

static void set_to(uint64_t *set, uint64_t unit, bool value)
{
    uint64_t bit = UINT64_C(1) << (unit % 64);

    set[unit / 64] = value ? set[unit / 64] | bit : set[unit / 64] & ~bit;
}

/* Units below MC_UNITS are registers; predicates and barriers are virtual always, but for PT. */
static uint32_t place_of(const struct check *c, uint32_t unit)
{
    const struct mc_vreg *v;
    uint32_t r;

    if (!mc_is_virtual(unit))
        return unit;
    v = mc_vreg_of(c->f, unit);
    if (v->assigned < 0)
        return PLACES;
    r = (uint32_t)v->assigned + (unit - v->first);
    return v->class == MC_REG ? r : v->class == MC_PRED ? PREDS_AT + r : BARRIERS_AT + r;
}

static void complain(struct check *c, const struct mc_insn *insn, uint32_t unit, const char *what)
{
    if (!c->reports || c->status != HD_OK)
        return;
    c->status = hd_error(HD_BAD_IR, "function %s: block %u, instruction %u, %s: unit %u %s",
                         c->f->ir->name, c->block, c->insn,
                         (unsigned)insn->isa.op < ISA_OPS ? isa_row(insn->isa.op)->name : "COPY",
                         unit, what);
}

static void overwrite(struct check *c, uint32_t place, uint32_t but)
{
    const uint64_t *there = c->at + (size_t)place * c->words;
    bool was = has(c->now_lost, but);

    for (uint32_t i = 0; i < c->words; i++)
        c->now_lost[i] |= there[i] & c->now_written[i];
    set_to(c->now_lost, but, was);
}

static void access(void *context, struct mc_insn *insn, enum mc_access kind, int64_t *first,
                   unsigned count, enum mc_class class)
{
    struct check *c = context;

    if (class != MC_REG && !mc_is_virtual(*first))
        return;
    for (unsigned i = 0; i < count; i++) {
        uint32_t unit = (uint32_t)*first + i, place = place_of(c, unit);

        if (place == PLACES) {
            complain(c, insn, unit, "has no register");
            continue;
        }
        if (kind == MC_READ && has(c->now_lost, unit))
            complain(c, insn, unit, "is read, but its register holds something else");
        if (kind == MC_WRITE) {
            overwrite(c, place, unit);
            set_to(c->now_written, unit, true);
            set_to(c->now_lost, unit, false);
        }
    }
}

/* A call destroys registers; what it leaves in those of results is theirs. */
static void clobber(struct check *c, const struct mc_insn *insn)
{
    if (!insn->clobbered)
        return;
    for (uint32_t r = 0; r < insn->clobbered; r++) {
        overwrite(c, r, r);
        set_to(c->now_written, r, true);
        set_to(c->now_lost, r, false);
    }
    for (uint32_t p = PREDS_AT; p < PREDS_AT + ISA_PT; p++)
        overwrite(c, p, 0);
}

static bool join(const struct check *c, uint64_t *to, const uint64_t *from)
{
    uint64_t changed = 0;

    for (uint32_t i = 0; i < c->words; i++) {
        changed |= from[i] & ~to[i];
        to[i] |= from[i];
    }
    return changed != 0;
}

static bool run_block(struct check *c, struct mc_block *b)
{
    size_t at = (size_t)b->id * c->words;
    bool changed = false;

    memcpy(c->now_written, c->written + at, c->words * sizeof(uint64_t));
    memcpy(c->now_lost, c->lost + at, c->words * sizeof(uint64_t));
    c->block = b->id;
    for (c->insn = 0; c->insn < b->insns.len; c->insn++) {
        mc_visit(c->f, &b->insns.at[c->insn], access, c);
        clobber(c, &b->insns.at[c->insn]);
    }
    for (uint32_t s = 0; s < b->nsuccs; s++) {
        size_t next = (size_t)mc_succs(b)[s]->id * c->words;

        changed |= join(c, c->written + next, c->now_written);
        changed |= join(c, c->lost + next, c->now_lost);
    }
    return changed;
}

static bool check_init(struct check *c)
{
    size_t nunits = MC_UNITS + c->f->units.len, n;

    c->words = (uint32_t)(nunits + 63) / 64;
    n = c->f->blocks.len * c->words;
    c->written = hd_alloc_array(n, sizeof(uint64_t));
    c->lost = hd_alloc_array(n, sizeof(uint64_t));
    c->now_written = hd_alloc_array(c->words, sizeof(uint64_t));
    c->now_lost = hd_alloc_array(c->words, sizeof(uint64_t));
    c->at = hd_alloc_array((size_t)PLACES * c->words, sizeof(uint64_t));
    if (!c->written || !c->lost || !c->now_written || !c->now_lost || !c->at)
        return false;
    for (uint32_t unit = 0; unit < nunits; unit++) {
        uint32_t place = place_of(c, unit);

        if (place < PLACES && unit != ISA_RZ)
            set_to(c->at + (size_t)place * c->words, unit, true);
    }
    return true;
}

enum hd_status check_alloc(struct mc_func *f)
{
    struct check c = {.f = f};
    bool changed = true;

    mc_number(f);
    if (!check_init(&c)) {
        c.status = hd_error(HD_NO_MEMORY, "function %s: no memory", f->ir->name);
        changed = false;
    }
    while (changed) {
        changed = false;
        for (size_t i = 0; i < f->blocks.len; i++)
            changed |= run_block(&c, f->blocks.at[i]);
    }
    c.reports = true;
    for (size_t i = 0; i < f->blocks.len && c.status == HD_OK; i++)
        run_block(&c, f->blocks.at[i]);
    hd_free(c.written);
    hd_free(c.lost);
    hd_free(c.now_written);
    hd_free(c.now_lost);
    hd_free(c.at);
    return c.status;
}
