/*
 * Are control fields long enough? Each block is run through from the worst state in which it can
 * be entered: for every register the cycles until a reader of each pipe finds it, and the counters
 * that results and late readers raised. States only get worse until nothing changes. Of control.c
 * it shares the table of operands and the machine's latencies, nothing else.
 */
#include <string.h>

#include "base/mem.h"
#include "codegen/mc.h"
#include "isa/access.h"
#include "isa/machine.h"

enum { NOBODY_TELLS = 1 << ISA_COUNTERS };
/* Readers: by pipe; guards and conditions; and writers, for the order of writes. */
enum { BY_CONDITION = ISA_PIPES, BY_WRITE, READERS };

struct state {
    uint8_t left[READERS][ISA_UNITS]; /* cycles until it is there */
    uint8_t results[ISA_UNITS];       /* counters that say that it is written */
    uint8_t readers[ISA_UNITS];       /* and that it has been read */
    uint8_t rising[ISA_COUNTERS];     /* cycles until a wait sees the counter */
};

struct check {
    const struct mc_func *f;
    const struct mc_code *code;
    struct state *in; /* by block */
    bool *queued;
    bool reports;
    enum hd_status status;
    uint32_t at; /* word */
};

static void complain(struct check *c, unsigned unit, const char *what)
{
    static const struct {
        const char *name;
        unsigned first;
    } files[] = {{"UP", ISA_UNIT_UPRED}, {"UR", ISA_UNIT_UREG}, {"P", ISA_UNIT_PRED}, {"R", 0}};
    unsigned k = 0;

    if (!c->reports || c->status != HD_OK)
        return;
    while (unit < files[k].first)
        k++;
    c->status = hd_error(HD_BAD_IR, "function %s: word %u, %s: %s%u %s", c->f->ir->name, c->at,
                         isa_row(c->code->insns.at[c->at].isa.op)->name, files[k].name,
                         unit - files[k].first, what);
}

/* A reader for each pipe, to ask the machine for its latency. */
static enum isa_op op_of_pipe(unsigned pipe)
{
    static uint16_t ops[ISA_PIPES];

    for (unsigned op = 0; !ops[pipe] && op < ISA_OPS; op++)
        if (isa_row((enum isa_op)op)->pipe == pipe)
            ops[pipe] = (uint16_t)(op + 1);
    return (enum isa_op)(ops[pipe] - 1);
}

static void wait_for(struct state *s, unsigned counters)
{
    for (unsigned k = 0; k < ISA_COUNTERS; k++)
        if (s->rising[k])
            counters &= ~(1u << k);
    for (unsigned u = 0; u < ISA_UNITS; u++) {
        s->results[u] &= (uint8_t)~counters;
        s->readers[u] &= (uint8_t)~counters;
    }
}

static void check_reads(struct check *c, const struct state *s, const struct isa_insn *insn,
                        const struct isa_access *a)
{
    for (unsigned i = 0; i < a->nreads; i++)
        for (unsigned u = a->reads[i].first, n = a->reads[i].count; n--; u++) {
            if (s->results[u])
                complain(c, u, "is read without a wait for its counter");
            if (s->left[isa_row(insn->op)->pipe][u] ||
                (a->reads[i].is_condition && s->left[BY_CONDITION][u]))
                complain(c, u, "is read too early");
        }
}

static void do_writes(struct check *c, struct state *s, const struct isa_insn *insn,
                      const struct isa_access *a)
{
    bool variable = isa_is_variable(insn->op);
    unsigned latency = variable ? 0 : isa_latency(insn->op, ISA_MOV);

    for (unsigned i = 0; i < a->nwrites; i++)
        for (unsigned u = a->writes[i].first, n = a->writes[i].count; n--; u++) {
            if (s->results[u])
                complain(c, u, "is overwritten without a wait for its counter");
            if (s->readers[u])
                complain(c, u, "is overwritten before it is known to be read");
            if (!variable && s->left[BY_WRITE][u] > latency)
                complain(c, u, "is overwritten too early");
            for (unsigned pipe = 0; pipe < ISA_PIPES; pipe++) {
                enum isa_op reader = op_of_pipe(pipe);
                s->left[pipe][u] = variable ? 0 : (uint8_t)isa_latency(insn->op, reader);
            }
            s->left[BY_WRITE][u] = (uint8_t)latency;
            s->left[BY_CONDITION][u] =
                variable ? 0 : (uint8_t)HD_MAX(latency, isa_machine_cycles(ISA_GUARD_CYCLES));
            if (variable)
                s->results[u] = insn->control.write_sb == ISA_NO_SB
                                    ? NOBODY_TELLS
                                    : (uint8_t)(1u << insn->control.write_sb);
        }
}

static void note_readers(struct state *s, const struct isa_insn *insn, const struct isa_access *a)
{
    unsigned k =
        insn->control.read_sb != ISA_NO_SB ? insn->control.read_sb : insn->control.write_sb;

    for (unsigned i = 0; i < a->nreads; i++)
        for (unsigned u = a->reads[i].first, n = a->reads[i].count; n--; u++)
            s->readers[u] |= k == ISA_NO_SB ? NOBODY_TELLS : (uint8_t)(1u << k);
}

static void pass_cycles(struct state *s, unsigned cycles)
{
    uint8_t *left = &s->left[0][0];

    for (unsigned i = 0; i < READERS * ISA_UNITS; i++)
        left[i] = left[i] > cycles ? (uint8_t)(left[i] - cycles) : 0;
    for (unsigned k = 0; k < ISA_COUNTERS; k++)
        s->rising[k] = s->rising[k] > cycles ? (uint8_t)(s->rising[k] - cycles) : 0;
}

/* Functions begin and end with everything there. */
static void check_nothing_left(struct check *c, const struct state *s)
{
    for (unsigned u = 0; u < ISA_UNITS; u++) {
        if (s->results[u] || s->readers[u])
            complain(c, u, "is not waited for before control leaves");
        for (unsigned r = 0; r < READERS; r++)
            if (s->left[r][u])
                complain(c, u, "is not there yet where control comes to");
    }
}

static void step(struct check *c, struct state *s, const struct isa_insn *insn)
{
    const struct isa_control *control = &insn->control;
    unsigned wait = control->wait;
    struct isa_access a;
    bool leaves = insn->op == ISA_CALL || insn->op == ISA_CALL_IND || insn->op == ISA_RET ||
                  insn->op == ISA_BRX || insn->op == ISA_JMX;

    isa_access(insn, &a);
    if (insn->op == ISA_DEPBAR && !insn->operands[mc_operand_of(ISA_DEPBAR, ISA_FIELD_LIMIT)].value)
        wait |= 1u << insn->operands[mc_operand_of(ISA_DEPBAR, ISA_FIELD_COUNTER)].value;
    wait_for(s, wait);
    check_reads(c, s, insn, &a);
    do_writes(c, s, insn, &a);
    if (isa_is_variable(insn->op))
        note_readers(s, insn, &a);
    for (unsigned k = 0; k < ISA_COUNTERS; k++)
        if (control->write_sb == k || control->read_sb == k)
            s->rising[k] = (uint8_t)isa_machine_cycles(ISA_COUNTER_CYCLES);
    pass_cycles(s, HD_MAX(control->stall, 1u));
    if (leaves)
        check_nothing_left(c, s);
}

static bool worsen(struct state *to, const struct state *from)
{
    const uint8_t *x = &from->left[0][0];
    uint8_t *y = &to->left[0][0], changed = 0;

    for (unsigned i = 0; i < READERS * ISA_UNITS; i++) {
        changed |= x[i] > y[i];
        y[i] = HD_MAX(x[i], y[i]);
    }
    for (unsigned u = 0; u < ISA_UNITS; u++) {
        changed |= (from->results[u] & ~to->results[u]) || (from->readers[u] & ~to->readers[u]);
        to->results[u] |= from->results[u];
        to->readers[u] |= from->readers[u];
    }
    for (unsigned k = 0; k < ISA_COUNTERS; k++) {
        changed |= from->rising[k] > to->rising[k];
        to->rising[k] = HD_MAX(from->rising[k], to->rising[k]);
    }
    return changed;
}

static uint32_t block_at(const struct check *c, uint32_t word)
{
    uint32_t low = 0, high = (uint32_t)c->code->blocks.len;

    while (low + 1 < high) {
        uint32_t middle = (low + high) / 2;
        if (c->code->blocks.at[middle]->word <= word)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* What comes behind it is not executed by any lane. */
static bool is_last(const struct isa_insn *insn)
{
    int pa = mc_operand_of(insn->op, ISA_FIELD_PA);

    if (insn->guard != ISA_PT || insn->guard_not)
        return false;
    if (insn->op == ISA_BRA || insn->op == ISA_EXIT)
        return insn->operands[pa].value == ISA_PT && !insn->operands[pa].negate;
    return insn->op == ISA_RET || insn->op == ISA_BRX || insn->op == ISA_JMX;
}

/* True: a block in front of it, or itself, is entered in a worse state than before. */
static bool run_block(struct check *c, uint32_t k)
{
    const struct mc_code *code = c->code;
    bool last_block = k + 1 == code->blocks.len, open = true, back = false;
    uint32_t end = last_block ? (uint32_t)code->insns.len : code->blocks.at[k + 1]->word;
    struct state s = c->in[k];

    c->queued[k] = false;
    for (c->at = code->blocks.at[k]->word; c->at < end && open; c->at++) {
        const struct mc_insn *insn = &code->insns.at[c->at];
        enum isa_op op = insn->isa.op;

        step(c, &s, &insn->isa);
        open = !is_last(&insn->isa);
        if (op == ISA_BRA && insn->target->word < code->insns.len) {
            uint32_t to = block_at(c, insn->target->word);

            if (worsen(&c->in[to], &s) && !c->queued[to]) {
                c->queued[to] = true;
                back |= to <= k;
            }
        }
    }
    if (open && !last_block && worsen(&c->in[k + 1], &s))
        c->queued[k + 1] = true;
    return back;
}

enum hd_status check_control(const struct mc_func *f, const struct mc_code *code)
{
    struct check c = {.f = f, .code = code};
    uint32_t n = (uint32_t)code->blocks.len;
    bool again = true;

    c.in = hd_alloc_array(n + 1, sizeof(*c.in));
    c.queued = hd_alloc_array(n + 1, sizeof(*c.queued));
    if (!c.in || !c.queued)
        c.status = hd_error(HD_NO_MEMORY, "function %s: no memory", f->ir->name);
    for (uint32_t k = 0; k < n && c.status == HD_OK; k++)
        c.queued[k] = true;
    while (again && c.status == HD_OK) {
        again = false;
        for (uint32_t k = 0; k < n; k++)
            if (c.queued[k])
                again |= run_block(&c, k);
    }
    c.reports = true;
    for (uint32_t k = 0; k < n && c.status == HD_OK; k++)
        run_block(&c, k);
    hd_free(c.in);
    hd_free(c.queued);
    return c.status;
}
