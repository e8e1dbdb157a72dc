/* See late.h. */
#include "sim/late.h"

#include <string.h>

#include "base/mem.h"
#include "isa/access.h"
#include "isa/machine.h"
#include "sim/sim_private.h"

enum { VARIABLE_CYCLES = 400 };

struct result {
    uint64_t due; /* of the clock of its lanes */
    uint32_t lanes;
    uint16_t unit;
    uint8_t counter; /* a wait for it brings the result; ISA_NO_SB: none does */
    uint32_t values[SIM_LANES];
};

struct sim_late {
    HD_VEC(struct result) results; /* in the order of issue */
    uint32_t old[ISA_UNITS][SIM_LANES];
    uint64_t raised[ISA_COUNTERS];
    uint32_t raisers[ISA_COUNTERS]; /* lanes whose clock that was */
    bool failed;                    /* for want of memory */
};

struct sim_late *sim_late_create(void)
{
    return hd_new(struct sim_late);
}

void sim_late_destroy(struct sim_late *late)
{
    if (late)
        hd_vec_fini(&late->results);
    hd_free(late);
}

/* Registers and predicates of lanes; those of the warp are not late. */
static void get(struct sim_warp *w, unsigned unit, uint32_t values[SIM_LANES])
{
    if (unit < ISA_UNIT_PRED)
        memcpy(values, sim_reg_rows(w, unit, true), sizeof(uint32_t[SIM_LANES]));
    else
        SIM_FOR_LANES(lane, UINT32_MAX) values[lane] = w->pred[unit - ISA_UNIT_PRED] >> lane & 1;
}

static void put(struct sim_warp *w, unsigned unit, const uint32_t values[SIM_LANES], uint32_t lanes)
{
    uint32_t *row = unit < ISA_UNIT_PRED ? sim_reg_rows(w, unit, true) : NULL;

    SIM_FOR_LANES(lane, lanes)
    {
        uint32_t *pred = &w->pred[unit < ISA_UNIT_PRED ? ISA_PT : unit - ISA_UNIT_PRED];

        if (row)
            row[lane] = values[lane];
        else
            *pred = (*pred & ~(1u << lane)) | values[lane] << lane;
    }
}

void sim_late_begin(struct sim_warp *w, const struct sim_op *op)
{
    struct sim_late *late = w->late;
    const struct sim_group *g = sim_group_of(w);
    struct isa_access access;
    unsigned seen = 0;
    size_t kept = 0;

    for (unsigned k = 0; k < ISA_COUNTERS; k++)
        if (op->insn->control.wait >> k & 1 &&
            (!(late->raisers[k] & g->mask) ||
             g->cycle >= late->raised[k] + isa_machine_cycles(ISA_COUNTER_CYCLES)))
            seen |= 1u << k;
    for (size_t i = 0; i < late->results.len; i++) {
        struct result *r = &late->results.at[i];

        if (g->cycle >= r->due || seen >> r->counter & 1) {
            put(w, r->unit, r->values, r->lanes & g->mask);
            r->lanes &= ~g->mask;
        }
        r->lanes &= w->live;
        if (r->lanes)
            late->results.at[kept++] = *r;
    }
    late->results.len = kept;
    isa_access(op->insn, &access);
    for (unsigned s = 0; s < access.nwrites; s++)
        for (unsigned u = access.writes[s].first, n = access.writes[s].count; n--; u++)
            if (u < ISA_UNIT_UREG)
                get(w, u, late->old[u]);
}

/* When the first reader may have it: which pipe reads is not known here. */
static unsigned cycles_of(enum isa_op op)
{
    static const uint16_t readers[] = {ISA_MOV, ISA_FFMA, ISA_IMAD, ISA_HFMA2, ISA_MUFU, ISA_BMOV};
    unsigned cycles = VARIABLE_CYCLES;

    for (unsigned i = 0; i < HD_COUNT_OF(readers) && !isa_is_variable(op); i++)
        cycles = HD_MIN(cycles, isa_latency(op, (enum isa_op)readers[i]));
    return cycles;
}

void sim_late_end(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_late *late = w->late;
    const struct isa_insn *insn = op->insn;
    unsigned pipe = isa_row(insn->op)->pipe;
    bool variable = isa_is_variable(insn->op);
    struct isa_access access;

    /* These write where control goes, or when the others have come. */
    if (pipe == ISA_PIPE_BRANCH || pipe == ISA_PIPE_CONTROL || pipe == ISA_PIPE_BARRIER ||
        pipe == ISA_PIPE_UNIFORM)
        return;
    isa_access(insn, &access);
    for (unsigned s = 0; s < access.nwrites; s++)
        for (unsigned u = access.writes[s].first, n = access.writes[s].count; n--; u++) {
            struct result r = {.due = sim_group_of(w)->cycle + cycles_of(insn->op),
                               .lanes = mask,
                               .unit = (uint16_t)u,
                               .counter = variable ? insn->control.write_sb : ISA_NO_SB};

            if (u >= ISA_UNIT_UREG)
                continue;
            get(w, u, r.values);
            put(w, u, late->old[u], mask);
            late->failed |= !hd_vec_push(&late->results, r);
        }
}

bool sim_late_pass(struct sim_warp *w, const struct sim_op *op)
{
    const struct isa_control *control = &op->insn->control;
    struct sim_group *g = sim_group_of(w);

    for (unsigned k = 0; k < ISA_COUNTERS; k++)
        if (control->write_sb == k || control->read_sb == k) {
            w->late->raised[k] = g->cycle;
            w->late->raisers[k] = g->mask;
        }
    g->cycle += HD_MAX(control->stall, 1u);
    return !w->late->failed;
}
