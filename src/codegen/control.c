/*
 * Control fields: the hardware checks nothing, each instruction waits as long as its word says.
 *
 * Counters. A result of variable latency raises a counter that its first reader waits for; sources
 * that are read late raise one if they may be overwritten before somebody waits for the result.
 * Results that are first needed by the same instruction share a counter; else a free one is taken,
 * in turn; if there is none the one that is waited for at about the same place. What each counter
 * stands for flows forward over blocks as two sets of registers, results and sources, which only
 * grow until nothing changes. Before a call, a return and a jump to an address in a register all
 * counters are waited for, so that functions begin with none.
 *
 * Stall counts. In a block each instruction gets the earliest cycle at which all it reads is there.
 * A block tells for each register how early it is wanted, there or in what follows; edges to it
 * stall until that is so. So a block's cycles do not depend on where it was entered from.
 */
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "codegen/mc.h"
#include "isa/access.h"
#include "isa/machine.h"

enum {
    WORDS = (ISA_UNITS + 63) / 64,
    STALL_MOST = 15,
    YIELD_FROM = 12, /* stall counts: the ISA wants the bit with them */
    LATENCY_MOST = 40,
    NEVER = INT32_MAX,
    /* How much earlier than by the largest latency of the usual readers these want a register. */
    BY_TENSOR = 9,
    BY_CONDITION = 6,
};

struct units {
    uint64_t bits[WORDS];
};

struct counters {
    struct units results[ISA_COUNTERS], sources[ISA_COUNTERS];
    uint8_t used; /* those with anything in their sets */
};

struct flight { /* of a counter: of those that raised it last */
    uint32_t block;
    int32_t wanted; /* the instruction that will wait; NEVER: none in the block */
    bool for_sources;
};

struct block {
    struct counters in;
    uint32_t first, end; /* instructions */
    uint32_t nedges;     /* of branches and its end */
    bool is_seen, is_queued;
    int8_t wants[ISA_UNITS]; /* cycles from its start on, in it or behind it */
};

struct edge {
    uint32_t insn, to;
};

struct control {
    struct mc_func *f;
    struct mc_code *code;
    struct block *blocks;
    uint32_t nblocks, ninsns;
    struct edge *edges; /* of all blocks, in their order */
    uint32_t nedges;
    struct isa_access *access; /* by instruction */
    int32_t *wanted;           /* its results are, by which instruction of the block */
    int32_t *overwritten;      /* its sources are */
    int32_t *at;               /* cycle of its block */
    int16_t *delay;            /* cycles to the next one */
    uint8_t reserved;          /* counters that selection uses */
    struct flight flights[ISA_COUNTERS];
    unsigned turn;
};

static const struct isa_insn *insn_at(const struct control *c, uint32_t i)
{
    return &c->code->insns.at[i].isa;
}

/* Control goes where this function's blocks do not tell. */
static bool goes_away(enum isa_op op)
{
    return op == ISA_CALL || op == ISA_CALL_IND || op == ISA_RET || op == ISA_BRX || op == ISA_JMX;
}

/* ---- blocks and edges */

static bool ends(const struct isa_insn *insn)
{
    bool always = insn->guard == ISA_PT && !insn->guard_not;
    int pa = mc_operand_of(insn->op, ISA_FIELD_PA);

    if (insn->op == ISA_BRA || insn->op == ISA_EXIT)
        return always && insn->operands[pa].value == ISA_PT && !insn->operands[pa].negate;
    return always && (insn->op == ISA_RET || insn->op == ISA_BRX || insn->op == ISA_JMX);
}

static uint32_t index_of(const struct control *c, uint32_t word)
{
    uint32_t low = 0, high = c->nblocks;

    while (low + 1 < high) {
        uint32_t middle = (low + high) / 2;
        if (c->blocks[middle].first <= word)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void add_edge(struct control *c, struct block *b, uint32_t insn, uint32_t to)
{
    c->edges[c->nedges++] = (struct edge){insn, to};
    b->nedges++;
}

static void find_edges(struct control *c)
{
    for (uint32_t k = 0; k < c->nblocks; k++) {
        struct block *b = &c->blocks[k];
        bool open = true;

        for (uint32_t i = b->first; i < b->end; i++) {
            const struct mc_insn *insn = &c->code->insns.at[i];

            open = !ends(&insn->isa);
            if (insn->isa.op == ISA_BRA && insn->target->word < c->ninsns)
                add_edge(c, b, i, index_of(c, insn->target->word));
        }
        if (open && k + 1 < c->nblocks)
            add_edge(c, b, b->end - 1, k + 1);
    }
}

/* ---- sets of registers */

static void put(struct units *set, struct isa_span span)
{
    for (unsigned u = span.first; u < (unsigned)span.first + span.count; u++)
        set->bits[u / 64] |= UINT64_C(1) << (u % 64);
}

static bool meets(const struct units *set, struct isa_span span)
{
    for (unsigned u = span.first; u < (unsigned)span.first + span.count; u++)
        if (set->bits[u / 64] >> (u % 64) & 1)
            return true;
    return false;
}

static bool counters_join(struct counters *to, const struct counters *from)
{
    bool changed = false;

    for (unsigned k = 0; k < ISA_COUNTERS; k++) {
        if (!(from->used >> k & 1))
            continue;
        for (unsigned w = 0; w < WORDS; w++) {
            uint64_t results = to->results[k].bits[w] | from->results[k].bits[w];
            uint64_t sources = to->sources[k].bits[w] | from->sources[k].bits[w];

            changed |= results != to->results[k].bits[w] || sources != to->sources[k].bits[w];
            to->results[k].bits[w] = results;
            to->sources[k].bits[w] = sources;
        }
    }
    to->used |= from->used;
    return changed;
}

/* ---- which counter */

/* Who needs the results, and who overwrites the sources: backwards over the block. */
static void find_wanted(struct control *c, const struct block *b, int32_t *read, int32_t *write)
{
    for (unsigned u = 0; u < ISA_UNITS; u++)
        read[u] = write[u] = NEVER;
    for (uint32_t i = b->end; i-- > b->first;) {
        const struct isa_access *a = &c->access[i];
        int32_t wanted = NEVER, overwritten = NEVER;

        for (unsigned u = 0; goes_away(insn_at(c, i)->op) && u < ISA_UNITS; u++)
            read[u] = write[u] = (int32_t)i;
        for (unsigned s = 0; s < a->nwrites; s++)
            for (unsigned u = a->writes[s].first, n = a->writes[s].count; n--; u++) {
                wanted = HD_MIN(wanted, HD_MIN(read[u], write[u]));
                write[u] = (int32_t)i;
                read[u] = NEVER;
            }
        for (unsigned s = 0; s < a->nreads; s++)
            for (unsigned u = a->reads[s].first, n = a->reads[s].count; n--; u++) {
                overwritten = HD_MIN(overwritten, write[u] == (int32_t)i ? NEVER : write[u]);
                read[u] = (int32_t)i;
            }
        c->wanted[i] = wanted;
        c->overwritten[i] = overwritten;
    }
}

static unsigned distance(int32_t a, int32_t b)
{
    return (unsigned)(a > b ? a - b : b - a);
}

static uint8_t counter_take(struct control *c, const struct counters *now, uint32_t block,
                            int32_t wanted, bool for_sources)
{
    unsigned n = c->f->settings->counters, best = n;

    for (unsigned k = 0; k < n; k++) {
        const struct flight *flight = &c->flights[k];

        if (now->used >> k & 1 && !(c->reserved >> k & 1) && flight->block == block &&
            flight->wanted == wanted && flight->for_sources == for_sources)
            return (uint8_t)k;
    }
    for (unsigned i = 0; i < n && best == n; i++) {
        unsigned k = (c->turn + i) % n;
        if (!((now->used | c->reserved) >> k & 1)) {
            best = k;
            c->turn = k + 1;
        }
    }
    if (best == n) {
        for (unsigned k = 0; k < n; k++)
            if (!(c->reserved >> k & 1) &&
                (best == n || distance(c->flights[k].wanted, wanted) <
                                  distance(c->flights[best].wanted, wanted)))
                best = k;
    }
    assert(best < n && "selection leaves some");
    if (c->flights[best].block != block || !(now->used >> best & 1))
        c->flights[best] = (struct flight){block, wanted, for_sources};
    c->flights[best].wanted = HD_MIN(c->flights[best].wanted, wanted);
    return (uint8_t)best;
}

static void counters_choose(struct control *c, struct counters *now, uint32_t block, uint32_t i)
{
    struct isa_control *control = &c->code->insns.at[i].isa.control;
    const struct isa_access *a = &c->access[i];
    const struct block *b = &c->blocks[block];
    bool overwritten = c->overwritten[i] != NEVER;

    if (a->nwrites && control->write_sb == ISA_NO_SB)
        control->write_sb = counter_take(c, now, block, c->wanted[i], false);
    if (!a->nreads || control->read_sb != ISA_NO_SB)
        return;
    if (a->nwrites ? overwritten && c->overwritten[i] < c->wanted[i]
                   : overwritten || b->nedges || insn_at(c, b->end - 1)->op != ISA_EXIT)
        control->read_sb = counter_take(c, now, block, c->overwritten[i], true);
}

/* ---- what counters stand for */

static unsigned waits_for(const struct counters *now, const struct isa_access *a)
{
    unsigned wait = 0;

    for (unsigned k = 0; k < ISA_COUNTERS; k++) {
        if (!(now->used >> k & 1))
            continue;
        for (unsigned s = 0; s < a->nreads; s++)
            wait |= (unsigned)meets(&now->results[k], a->reads[s]) << k;
        for (unsigned s = 0; s < a->nwrites; s++)
            wait |= (unsigned)(meets(&now->results[k], a->writes[s]) ||
                               meets(&now->sources[k], a->writes[s]))
                    << k;
    }
    return wait;
}

static void raise_by(struct control *c, struct counters *now, uint32_t i)
{
    const struct isa_control *control = &insn_at(c, i)->control;
    const struct isa_access *a = &c->access[i];
    unsigned k = control->read_sb != ISA_NO_SB ? control->read_sb : control->write_sb;

    for (unsigned s = 0; control->write_sb != ISA_NO_SB && s < a->nwrites; s++) {
        put(&now->results[control->write_sb], a->writes[s]);
        now->used |= (uint8_t)(1u << control->write_sb);
    }
    for (unsigned s = 0; k != ISA_NO_SB && s < a->nreads; s++) {
        put(&now->sources[k], a->reads[s]);
        now->used |= (uint8_t)(1u << k);
    }
}

/* From its start to its end; what is new at the start of another block queues that. */
static void flow_block(struct control *c, uint32_t k, const struct edge *edges, bool *out_again)
{
    struct block *b = &c->blocks[k];
    struct counters now = b->in;
    bool first_time = !b->is_seen;
    uint32_t e = 0;

    b->is_seen = true;
    b->is_queued = false;
    for (uint32_t i = b->first; i < b->end; i++) {
        struct isa_insn *insn = &c->code->insns.at[i].isa;
        unsigned wait =
            goes_away(insn->op) ? now.used & ~c->reserved : waits_for(&now, &c->access[i]);

        insn->control.wait = (uint8_t)wait;
        for (unsigned left = wait; left; left &= left - 1) {
            unsigned n = (unsigned)__builtin_ctz(left);
            now.results[n] = now.sources[n] = (struct units){{0}};
        }
        now.used &= (uint8_t)~wait;
        if (isa_is_variable(insn->op)) {
            if (first_time)
                counters_choose(c, &now, k, i);
            raise_by(c, &now, i);
        }
        for (; e < b->nedges && edges[e].insn == i; e++) {
            struct block *to = &c->blocks[edges[e].to];

            if ((counters_join(&to->in, &now) || !to->is_seen) && !to->is_queued) {
                to->is_queued = true;
                *out_again |= edges[e].to <= k;
            }
        }
    }
}

static void set_counters(struct control *c)
{
    int32_t read[ISA_UNITS], write[ISA_UNITS];
    bool again = true;

    for (uint32_t i = 0; i < c->ninsns; i++) {
        const struct isa_control *control = &insn_at(c, i)->control;
        c->reserved |= (uint8_t)((1u << control->write_sb | 1u << control->read_sb) & 0x3f);
    }
    for (uint32_t k = 0; k < c->nblocks; k++) {
        find_wanted(c, &c->blocks[k], read, write);
        c->blocks[k].is_queued = true;
    }
    while (again) {
        const struct edge *edges = c->edges;

        again = false;
        for (uint32_t k = 0; k < c->nblocks; edges += c->blocks[k++].nedges)
            if (c->blocks[k].is_queued)
                flow_block(c, k, edges, &again);
    }
}

/* ---- cycles */

/* Of a block: who last wrote a register in it. */
struct writer {
    uint32_t block; /* + 1 */
    uint32_t insn;
};

static unsigned latency_most(enum isa_op op)
{
    return HD_MAX(isa_latency(op, ISA_DADD), isa_latency(op, ISA_LDG));
}

/* The first cycle at which `reader` may issue after the fixed result of instruction `i`. */
static int32_t ready_for(const struct control *c, uint32_t i, enum isa_op reader, bool condition)
{
    unsigned latency = isa_latency(insn_at(c, i)->op, reader);

    if (condition)
        latency = HD_MAX(latency, isa_machine_cycles(ISA_GUARD_CYCLES));
    return c->at[i] + (int32_t)latency;
}

static void want(struct block *b, unsigned unit, int32_t cycle)
{
    if (cycle < b->wants[unit])
        b->wants[unit] = (int8_t)HD_MAX(cycle, -LATENCY_MOST);
}

static int32_t earliest(struct control *c, struct block *b, uint32_t k, uint32_t i,
                        struct writer *writers)
{
    const struct isa_access *a = &c->access[i];
    enum isa_op op = insn_at(c, i)->op;
    bool fixed = !isa_is_variable(op);
    int32_t cycle = i > b->first ? c->at[i - 1] + c->delay[i - 1] : 0;

    for (unsigned s = 0; s < a->nreads; s++)
        for (unsigned u = a->reads[s].first, n = a->reads[s].count; n--; u++)
            if (writers[u].block == k + 1 && !isa_is_variable(insn_at(c, writers[u].insn)->op))
                cycle = HD_MAX(cycle, ready_for(c, writers[u].insn, op, a->reads[s].is_condition));
    for (unsigned s = 0; s < a->nwrites && fixed; s++)
        for (unsigned u = a->writes[s].first, n = a->writes[s].count; n--; u++)
            if (writers[u].block == k + 1 && !isa_is_variable(insn_at(c, writers[u].insn)->op)) {
                enum isa_op other = insn_at(c, writers[u].insn)->op;
                int32_t late = (int32_t)latency_most(other) - (int32_t)isa_latency(op, ISA_MOV);

                if (other != op)
                    cycle = HD_MAX(cycle, c->at[writers[u].insn] + late);
            }
    for (uint32_t j = i; insn_at(c, i)->control.wait && j-- > b->first && c->at[j] + 2 > cycle;) {
        const struct isa_control *raised = &insn_at(c, j)->control;
        unsigned counters = 1u << raised->write_sb | 1u << raised->read_sb;

        if (insn_at(c, i)->control.wait & counters)
            cycle = HD_MAX(cycle, c->at[j] + (int32_t)isa_machine_cycles(ISA_COUNTER_CYCLES));
    }
    return cycle;
}

static void note_wants(struct control *c, struct block *b, uint32_t k, uint32_t i,
                       const struct writer *writers)
{
    const struct isa_access *a = &c->access[i];
    const struct isa_insn *insn = insn_at(c, i);
    bool tensor = isa_row(insn->op)->pipe == ISA_PIPE_TENSOR, fixed = !isa_is_variable(insn->op);

    for (unsigned s = 0; s < a->nreads; s++)
        for (unsigned u = a->reads[s].first, n = a->reads[s].count; n--; u++)
            if (writers[u].block != k + 1)
                want(b, u,
                     c->at[i] - (a->reads[s].is_condition ? BY_CONDITION
                                 : tensor                 ? BY_TENSOR
                                                          : 0));
    for (unsigned s = 0; s < a->nwrites; s++)
        for (unsigned u = a->writes[s].first, n = a->writes[s].count; n--; u++)
            if (writers[u].block != k + 1)
                want(b, u, c->at[i] + (fixed ? (int32_t)isa_latency(insn->op, ISA_MOV) : 0));
}

/* Instruction i comes `more` cycles later, and what follows in the block. */
static void put_off(struct control *c, const struct block *b, uint32_t i, int32_t more)
{
    for (; i < b->end; i++)
        c->at[i] += more;
}

/* All results of the block that are not there yet are, when what comes after `i` begins. */
static void await(struct control *c, struct block *b, uint32_t i, const struct block *to)
{
    int32_t end = c->at[i] + c->delay[i], needed = end;

    for (uint32_t j = i + 1; j-- > b->first && c->at[j] + LATENCY_MOST > end;) {
        const struct isa_access *a = &c->access[j];
        enum isa_op op = insn_at(c, j)->op;

        if (isa_is_variable(op))
            continue;
        for (unsigned s = 0; s < a->nwrites; s++)
            for (unsigned u = a->writes[s].first, n = a->writes[s].count; n--; u++) {
                int32_t wants = to ? to->wants[u] : -BY_TENSOR;
                needed = HD_MAX(needed, c->at[j] + (int32_t)latency_most(op) - wants);
            }
    }
    c->delay[i] = (int16_t)(needed - c->at[i]);
    /* A branch cannot be followed by NOPs: it comes later itself. */
    if (c->delay[i] > STALL_MOST && i > b->first &&
        (insn_at(c, i)->op == ISA_BRA || goes_away(insn_at(c, i)->op))) {
        int32_t more = c->delay[i] - STALL_MOST;
        c->delay[i - 1] = (int16_t)(c->delay[i - 1] + more);
        put_off(c, b, i, more);
        c->delay[i] = STALL_MOST;
    }
}

static void time_block(struct control *c, uint32_t k, struct writer *writers)
{
    struct block *b = &c->blocks[k];

    memset(b->wants, INT8_MAX, sizeof(b->wants));
    for (uint32_t i = b->first; i < b->end; i++) {
        const struct isa_control *control = &insn_at(c, i)->control;
        bool raises = control->write_sb != ISA_NO_SB || control->read_sb != ISA_NO_SB;

        c->at[i] = earliest(c, b, k, i, writers);
        if (i > b->first)
            c->delay[i - 1] = (int16_t)(c->at[i] - c->at[i - 1]);
        c->delay[i] = i + 1 == b->end && raises ? 2 : 1;
        note_wants(c, b, k, i, writers);
        for (unsigned s = 0; s < c->access[i].nwrites; s++)
            for (unsigned u = c->access[i].writes[s].first, n = c->access[i].writes[s].count; n--;
                 u++)
                writers[u] = (struct writer){k + 1, i};
        if (goes_away(insn_at(c, i)->op)) {
            await(c, b, i, NULL);
            for (unsigned u = 0; u < ISA_UNITS; u++)
                if (writers[u].block != k + 1)
                    want(b, u, c->at[i] + c->delay[i] - BY_TENSOR);
        }
    }
}

/* What is wanted behind an edge is wanted before it; true: earlier than was known. */
static bool want_behind(struct block *b, int32_t cycles, const struct block *to)
{
    bool changed = false;

    if (cycles >= LATENCY_MOST)
        return false;
    for (unsigned u = 0; u < ISA_UNITS; u++) {
        int32_t cycle = to->wants[u] + cycles;

        changed |= cycle < b->wants[u];
        b->wants[u] = (int8_t)HD_MIN(cycle, b->wants[u]);
    }
    return changed;
}

static void set_cycles(struct control *c, struct writer *writers)
{
    const struct edge *edges = c->edges;
    bool changed = true;

    for (uint32_t k = 0; k < c->nblocks; k++)
        time_block(c, k, writers);
    while (changed) {
        changed = false;
        edges = c->edges + c->nedges;
        for (uint32_t k = c->nblocks; k-- > 0;) {
            edges -= c->blocks[k].nedges;
            for (uint32_t e = 0; e < c->blocks[k].nedges; e++)
                changed |=
                    want_behind(&c->blocks[k], c->at[edges[e].insn] + 1, &c->blocks[edges[e].to]);
        }
    }
    edges = c->edges;
    for (uint32_t k = 0; k < c->nblocks; edges += c->blocks[k++].nedges)
        for (uint32_t e = 0; e < c->blocks[k].nedges; e++)
            await(c, &c->blocks[k], edges[e].insn, &c->blocks[edges[e].to]);
}

/* ---- operands that stay in the cache */

static bool writes_unit(const struct isa_access *a, int64_t unit)
{
    for (unsigned s = 0; s < a->nwrites; s++)
        if (unit >= a->writes[s].first && unit < a->writes[s].first + a->writes[s].count)
            return true;
    return false;
}

static bool has_cache(const struct isa_insn *insn)
{
    switch (isa_row(insn->op)->pipe) {
    case ISA_PIPE_ALU:
    case ISA_PIPE_FMA:
    case ISA_PIPE_FMAHEAVY:
    case ISA_PIPE_FP16:
    case ISA_PIPE_TENSOR:
        return !isa_is_variable(insn->op);
    default:
        return false;
    }
}

/* An instruction that may not be executed fetches nothing. */
static void set_reuse(struct control *c, uint32_t i)
{
    struct isa_insn *insn = &c->code->insns.at[i].isa;
    const struct isa_insn *next = insn_at(c, i + 1);
    const struct isa_row *row = isa_row(insn->op), *other = isa_row(next->op);

    if (!has_cache(insn) || !has_cache(next) || insn->guard != ISA_PT || next->control.wait)
        return;
    for (unsigned x = 0; x < row->noperands; x++) {
        unsigned slot = isa_field((enum isa_field)row->operands[x].field)->reuse;
        const struct isa_operand *o = &insn->operands[x];

        if (slot == ISA_NO_BIT || o->kind != ISA_KIND_REG || o->value == ISA_RZ ||
            writes_unit(&c->access[i], o->value))
            continue;
        for (unsigned y = 0; y < other->noperands; y++)
            if (other->operands[y].field == row->operands[x].field &&
                next->operands[y].kind == ISA_KIND_REG && next->operands[y].value == o->value &&
                isa_registers(insn, x) == isa_registers(next, y))
                insn->control.reuse |= (uint8_t)(1u << slot);
    }
}

/* ---- fields */

/* NOPs that stall for what an instruction's field does not hold. */
static uint32_t nops_behind(const struct control *c, uint32_t i)
{
    return c->delay[i] > STALL_MOST ? (uint32_t)(c->delay[i] - 1) / STALL_MOST : 0;
}

static void write_stall(struct mc_insn *insn, int32_t stall)
{
    insn->isa.control.stall = (uint8_t)stall;
    insn->isa.control.yield = stall >= YIELD_FROM;
}

/* Makes place for the NOPs, from the last one on. */
static bool insert_nops(struct control *c, uint32_t n)
{
    struct mc_insn *insns;
    uint32_t to = c->ninsns + n;

    if (!hd_vec_reserve(&c->code->insns, to))
        return false;
    c->code->insns.len = to;
    insns = c->code->insns.at;
    for (uint32_t i = c->ninsns; n && i-- > 0;) {
        uint32_t nops = nops_behind(c, i);

        n -= nops;
        for (uint32_t k = nops; k > 0; k--) {
            struct mc_insn *nop = &insns[--to];

            *nop = mc_insn_of(ISA_NOP);
            nop->srcloc = insns[i].srcloc;
            write_stall(nop, HD_MIN(c->delay[i] - (int32_t)k * STALL_MOST, (int32_t)STALL_MOST));
        }
        insns[--to] = insns[i];
    }
    return true;
}

static bool write_fields(struct control *c)
{
    bool reuse = codegen_does(c->f->settings, CODEGEN_REUSE);
    uint32_t nops = 0, *moved = hd_arena_array(&c->f->arena, uint32_t, c->ninsns + 1);

    if (!moved)
        return false;
    for (uint32_t k = 0; k < c->nblocks; k++) {
        const struct block *b = &c->blocks[k];

        for (uint32_t i = b->first; i < b->end; i++) {
            moved[i] = i + nops;
            if (reuse && i + 1 < b->end && c->delay[i] <= STALL_MOST)
                set_reuse(c, i);
            write_stall(&c->code->insns.at[i], HD_MIN(c->delay[i], (int32_t)STALL_MOST));
            nops += nops_behind(c, i);
        }
    }
    moved[c->ninsns] = c->ninsns + nops;
    for (size_t k = 0; k < c->f->blocks.len; k++) /* those left out have any number */
        c->f->blocks.at[k]->word = moved[HD_MIN(c->f->blocks.at[k]->word, c->ninsns)];
    return insert_nops(c, nops);
}

static bool control_init(struct control *c)
{
    struct hd_arena *arena = &c->f->arena;
    uint32_t n = c->ninsns;
    size_t nbranches = 0;

    for (uint32_t i = 0; i < n; i++)
        nbranches += c->code->insns.at[i].target != NULL;
    c->blocks = hd_alloc_array(c->nblocks + 1, sizeof(*c->blocks));
    c->edges = hd_arena_array(arena, struct edge, nbranches + c->nblocks + 1);
    c->access = hd_alloc_array(n + 1, sizeof(*c->access));
    c->wanted = hd_arena_array(arena, int32_t, n + 1);
    c->overwritten = hd_arena_array(arena, int32_t, n + 1);
    c->at = hd_arena_array(arena, int32_t, n + 1);
    c->delay = hd_arena_array(arena, int16_t, n + 1);
    if (!c->blocks || !c->edges || !c->access || !c->wanted || !c->overwritten || !c->at ||
        !c->delay)
        return false;
    for (uint32_t k = 0; k < c->nblocks; k++) {
        c->blocks[k].first = c->code->blocks.at[k]->word;
        c->blocks[k].end = k + 1 < c->nblocks ? c->code->blocks.at[k + 1]->word : n;
    }
    for (uint32_t i = 0; i < n; i++)
        isa_access(&c->code->insns.at[i].isa, &c->access[i]);
    find_edges(c);
    return true;
}

enum hd_status control_set(struct mc_func *f, struct mc_code *code)
{
    struct control c = {.f = f,
                        .code = code,
                        .nblocks = (uint32_t)code->blocks.len,
                        .ninsns = (uint32_t)code->insns.len};
    struct writer *writers = hd_alloc_array(ISA_UNITS, sizeof(*writers));
    bool ok = writers && control_init(&c);

    if (ok) {
        set_counters(&c);
        set_cycles(&c, writers);
        ok = write_fields(&c);
    }
    hd_free(writers);
    hd_free(c.blocks);
    hd_free(c.access);
    return ok ? HD_OK : hd_error(HD_NO_MEMORY, "function %s: no memory", f->ir->name);
}
