/* The hazard checker (hazard.h). */
#include "sim/hazard.h"

#include <stdio.h>

#include "base/mem.h"
#include "isa/machine.h"
#include "sim/sim_private.h"

enum { NO_COUNTER = ISA_COUNTERS, COUNTERS /* with what has none */ };

struct reader {
    const struct sim_op *op; /* the last one */
    uint32_t lanes;          /* of all */
};

/* A register, predicate, uniform register or uniform predicate. */
struct unit {
    const struct sim_op *writer;     /* NULL: nobody */
    uint64_t written;                /* when it was issued */
    uint32_t lanes;                  /* of the writer */
    uint8_t counter;                 /* of the writer, of variable latency */
    bool is_pending;                 /* the writer is of variable latency, and nobody waited */
    struct reader readers[COUNTERS]; /* by the counter that says that they have read it */
};

struct sim_hazards {
    struct unit regs[256], preds[8], uregs[64], upreds[8];
    uint64_t raised[COUNTERS]; /* when, last */
    uint32_t
        raisers[COUNTERS]; /* lanes that ran then; their clock alone tells how long ago it was */
};

struct sim_hazards *sim_hazards_create(void)
{
    return hd_new(struct sim_hazards);
}

void sim_hazards_destroy(struct sim_hazards *hazards)
{
    hd_free(hazards);
}

/* One instruction that is issued. */
struct issue {
    struct sim_warp *w;
    const struct sim_op *op;
    uint32_t mask;
    uint64_t now;
    bool ok;
};

static void describe(const struct issue *x, const struct sim_op *op, char out[96])
{
    const struct sim_program *p = x->w->run->program;
    struct hd_buf text;

    hd_buf_init(&text);
    isa_print(op->insn, (uint64_t)(op - p->ops) * ISA_WORD_BYTES, &text);
    snprintf(out, 96, "%s at %#x", text.ptr ? text.ptr : "?",
             (unsigned)(op - p->ops) * ISA_WORD_BYTES);
    hd_buf_fini(&text);
}

static void hazard(struct issue *x, const char *unit, unsigned number, const char *what,
                   const struct sim_op *other)
{
    char this_one[96], that_one[96];

    describe(x, x->op, this_one);
    describe(x, other, that_one);
    sim_fail(x->w, (unsigned)__builtin_ctz(x->mask ? x->mask : sim_group_of(x->w)->mask), HD_TRAP,
             "hazard: %s %s%u %s %s", this_one, unit, number, what, that_one);
    x->ok = false;
}

/* ---- counters */

/* The counter that tells when an instruction has read its sources. */
static unsigned counter_of_reader(const struct sim_op *op)
{
    const struct isa_control *control = &op->insn->control;

    return control->read_sb != ISA_NO_SB    ? control->read_sb
           : control->write_sb != ISA_NO_SB ? control->write_sb
                                            : NO_COUNTER;
}

static void counter_done(struct unit *units, unsigned n, unsigned counter)
{
    for (unsigned i = 0; i < n; i++) {
        if (units[i].is_pending && units[i].counter == counter) {
            units[i].is_pending = false;
            units[i].writer = NULL;
        }
        units[i].readers[counter].lanes = 0;
        /* That a result is written says that the sources have been read. */
        for (unsigned k = 0; k < COUNTERS; k++) {
            struct reader *reader = &units[i].readers[k];
            if (reader->lanes && reader->op->insn->control.write_sb == counter)
                reader->lanes = 0;
        }
    }
}

static void wait_for(struct issue *x, struct sim_hazards *h, unsigned counter)
{
    if (h->raisers[counter] & sim_group_of(x->w)->mask &&
        x->now < h->raised[counter] + isa_machine_cycles(ISA_COUNTER_CYCLES))
        return; /* it looks zero still */
    counter_done(h->regs, 256, counter);
    counter_done(h->preds, 8, counter);
    counter_done(h->uregs, 64, counter);
    counter_done(h->upreds, 8, counter);
}

static void waits(struct issue *x, struct sim_hazards *h)
{
    const struct isa_insn *insn = x->op->insn;
    unsigned wait = insn->control.wait;

    if (insn->op == ISA_DEPBAR) {
        wait |= (unsigned)sim_field(insn, ISA_FIELD_OTHERS, 0);
        if (!sim_field(insn, ISA_FIELD_LIMIT, 0))
            wait |= 1u << sim_field(insn, ISA_FIELD_COUNTER, 0);
    }
    for (unsigned k = 0; k < NO_COUNTER; k++)
        if (wait >> k & 1)
            wait_for(x, h, k);
}

/* ---- reading and writing */

static void read_unit(struct issue *x, struct unit *u, const char *name, unsigned number,
                      bool as_guard)
{
    const struct sim_op *writer = u->writer;
    unsigned cycles;

    if (!x->ok || !writer || !(u->lanes & x->mask))
        return;
    if (u->is_pending) {
        hazard(x, name, number, "is read without a wait for", writer);
        return;
    }
    cycles = isa_latency(writer->insn->op, x->op->insn->op);
    if (as_guard)
        cycles = HD_MAX(cycles, isa_machine_cycles(ISA_GUARD_CYCLES));
    if (x->now < u->written + cycles)
        hazard(x, name, number, "is read too early after", writer);
}

static void note_reader(struct issue *x, struct unit *u)
{
    struct reader *reader;

    if (!isa_is_variable(x->op->insn->op))
        return;
    reader = &u->readers[counter_of_reader(x->op)];
    reader->op = x->op;
    reader->lanes |= x->mask;
}

static void write_unit(struct issue *x, struct unit *u, const char *name, unsigned number)
{
    bool variable = isa_is_variable(x->op->insn->op);

    if (!x->ok)
        return;
    for (unsigned k = 0; k < COUNTERS && x->ok; k++)
        if (u->readers[k].lanes & x->mask && u->readers[k].op != x->op)
            hazard(x, name, number, "is overwritten before it is known to be read by",
                   u->readers[k].op);
    if (!x->ok)
        return;
    if (u->writer && u->is_pending && u->lanes & x->mask)
        hazard(x, name, number, "is overwritten without a wait for", u->writer);
    else if (u->writer && !variable && u->lanes & x->mask &&
             x->now + isa_latency(x->op->insn->op, ISA_MOV) <
                 u->written + isa_latency(u->writer->insn->op, ISA_MOV))
        hazard(x, name, number, "is overwritten too early after", u->writer);
    u->writer = x->op;
    u->written = x->now;
    u->lanes = x->mask;
    u->is_pending = variable;
    u->counter = variable && x->op->insn->control.write_sb != ISA_NO_SB
                     ? x->op->insn->control.write_sb
                     : NO_COUNTER;
}

/* ---- operands */

static bool is_result(const struct isa_insn *insn, unsigned field)
{
    enum isa_op op = insn->op;

    if (field == ISA_FIELD_UD && /* an address in tensor memory */
        (op == ISA_UTCMMA || op == ISA_UTCCP || op == ISA_UTCSHIFT ||
         (op == ISA_UTCALLOC && isa_mod_value(insn, ISA_MOD_TC_ALLOC) == ISA_TC_ALLOC_FREE)))
        return false;
    return (op == ISA_LDTM && field == ISA_FIELD_E) || field == ISA_FIELD_D ||
           field == ISA_FIELD_PD || field == ISA_FIELD_PE || field == ISA_FIELD_UD ||
           field == ISA_FIELD_UPD || field == ISA_FIELD_UPE;
}

enum { READ, NOTE, WRITE };

static void operand_units(struct issue *x, struct sim_hazards *h, unsigned at, unsigned what)
{
    const struct isa_insn *insn = x->op->insn;
    const struct isa_operand *operand = &insn->operands[at];
    unsigned n = isa_registers(insn, at), first = (unsigned)operand->value, limit;
    bool is_condition = insn->op == ISA_BRA || insn->op == ISA_EXIT;
    const char *name;
    struct unit *units;

    switch (operand->kind) {
    case ISA_KIND_REG:
        units = h->regs, limit = ISA_RZ, name = "R";
        break;
    case ISA_KIND_UREG:
        units = h->uregs, limit = ISA_URZ, name = "UR";
        break;
    case ISA_KIND_PRED:
        units = h->preds, limit = ISA_PT, name = "P", n = 1;
        break;
    case ISA_KIND_UPRED:
        units = h->upreds, limit = ISA_PT, name = "UP", n = 1;
        break;
    case ISA_KIND_CONSTANT:
        units = h->uregs, limit = ISA_URZ, name = "UR", n = 1, first = operand->ureg;
        break;
    default:
        return;
    }
    for (unsigned i = first; i < first + n && i < limit; i++) {
        if (what == READ)
            read_unit(x, &units[i], name, i, is_condition);
        else if (what == NOTE)
            note_reader(x, &units[i]);
        else
            write_unit(x, &units[i], name, i);
    }
}

static void all_operands(struct issue *x, struct sim_hazards *h, unsigned what)
{
    const struct isa_row *row = isa_row(x->op->insn->op);

    for (unsigned i = 0; i < row->noperands && x->ok; i++)
        if (is_result(x->op->insn, row->operands[i].field) == (what == WRITE) ||
            (x->op->insn->op == ISA_GMMA && what != WRITE))
            operand_units(x, h, i, what);
    for (unsigned p = 0; p < ISA_PT && x->ok; p++) {
        if (x->op->insn->op == ISA_P2R && what == READ)
            read_unit(x, &h->preds[p], "P", p, false);
        if (x->op->insn->op == ISA_R2P && what == WRITE)
            write_unit(x, &h->preds[p], "P", p);
    }
}

bool sim_hazards_issue(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_hazards *h = w->hazards;
    const struct isa_control *control = &op->insn->control;
    struct sim_group *g = sim_group_of(w);
    struct issue x = {w, op, mask, g->cycle, true};
    struct unit *guard = op->is_uniform_guard ? &h->upreds[op->guard] : &h->preds[op->guard];

    waits(&x, h);
    if (op->guard != ISA_PT) {
        x.mask = g->mask;
        read_unit(&x, guard, op->is_uniform_guard ? "UP" : "P", op->guard, true);
        x.mask = mask;
    }
    if (mask && x.ok) {
        all_operands(&x, h, READ);
        all_operands(&x, h, NOTE);
        all_operands(&x, h, WRITE);
    }
    for (unsigned k = 0; k < NO_COUNTER; k++)
        if (control->write_sb == k || control->read_sb == k) {
            h->raised[k] = x.now;
            h->raisers[k] = g->mask;
        }
    g->cycle += HD_MAX(control->stall, 1u);
    return x.ok;
}
