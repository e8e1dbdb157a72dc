/*
 * Loads of neighbours become one wide load. Unrolled loops read row after row of a tile word by
 * word, and a warp's load of four words takes an LDS.128 a quarter of the instructions.
 *
 * Loads of a block are collected until something may write memory, part lanes, or order accesses
 * (volatile, acquire). Those from one
 * address value whose offsets follow each other make 16 or 8 bytes, where the address of the first
 * is a multiple of that: value facts say so, with what only the layout of windows knows, where a
 * variable of shared or local memory lies. The wide load stands where the earliest of them stood;
 * all its bytes were read anyway, by every lane that came there.
 */
#include "codegen/vectorize.h"

#include <stdlib.h>

#include "analysis/facts.h"
#include "base/vec.h"

enum {
    WIDEST_B = 16,
    SPAN = 128, /* instructions from the first to the last: how long registers wait for use */
};

struct candidate {
    const struct ir_instr *in;
    uint32_t bytes, position;
};

struct vectorize {
    struct vectorize_load **of;
    const struct ir_func *func;
    struct hd_arena *arena;
    bool frame_moves;        /* local addresses are no offsets in the frame */
    bool has_facts, is_over; /* for want of memory */
    struct facts facts;
    HD_VEC(struct candidate) run;
};

static bool is_candidate(const struct vectorize *v, const struct ir_instr *in)
{
    unsigned bits = ir_type_bits(in->type), elements = HD_MAX(in->mem.vec, 1u);

    if (in->op != IR_OP_LD || in->mem.sem != IR_SEM_WEAK || bits < 32 ||
        bits / 8 * elements >= WIDEST_B || in->ndst != elements)
        return false;
    return in->mem.space == IR_SPACE_SHARED || in->mem.space == IR_SPACE_GLOBAL ||
           in->mem.space == IR_SPACE_CONST || (in->mem.space == IR_SPACE_LOCAL && !v->frame_moves);
}

static int by_place(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;

    if (a->in->src[0] != b->in->src[0])
        return a->in->src[0]->id < b->in->src[0]->id ? -1 : 1;
    if (a->in->mem.space != b->in->mem.space)
        return a->in->mem.space < b->in->mem.space ? -1 : 1;
    if (a->in->mem.offset != b->in->mem.offset)
        return a->in->mem.offset < b->in->mem.offset ? -1 : 1;
    return a->position < b->position ? -1 : a->position > b->position;
}

static uint64_t power_in(uint64_t number)
{
    return number ? number & (0 - number) : WIDEST_B;
}

/* What divides the address always, WIDEST_B at most. */
static uint64_t alignment(struct vectorize *v, const struct ir_instr *in)
{
    uint64_t constant, most = WIDEST_B, known;
    struct facts_form form;

    if (!v->has_facts && facts_compute(v->func, NULL, v->arena, &v->facts) != HD_OK) {
        v->is_over = true;
        return 1;
    }
    v->has_facts = true;
    known = HD_MIN(facts_alignment(&v->facts, in->src[0]), power_in((uint64_t)in->mem.offset));
    form = facts_form(&v->facts, in->src[0]);
    constant = form.constant + (uint64_t)in->mem.offset;
    for (uint32_t i = 0; i < form.nterms; i++) {
        struct facts_symbol symbol = facts_symbol(&v->facts, form.terms[i].symbol);
        uint64_t by = (uint64_t)form.terms[i].coefficient, of = 1;

        if (symbol.kind == FACTS_VAR && ir_space_is_window(symbol.var->space)) {
            constant += by * symbol.var->window_offset;
            continue;
        }
        if (symbol.kind == FACTS_VAR)
            of = HD_MAX(symbol.var->align_B, 1u);
        else if (symbol.kind == FACTS_VALUE)
            of = HD_MIN(facts_alignment(&v->facts, symbol.value), (uint64_t)WIDEST_B);
        most = HD_MIN(most, power_in(by * of));
    }
    return HD_MAX(HD_MIN(most, power_in(constant)), known);
}

/* How many candidates from the first on make a load of `bytes`; 0: they do not. */
static size_t fitting(const struct candidate *c, size_t count, uint32_t bytes)
{
    uint32_t have = c->bytes, first = c->position, last = c->position;
    size_t n = 1;

    while (have < bytes && n < count) {
        const struct ir_instr *next = c[n].in;

        if (next->src[0] != c->in->src[0] || next->mem.space != c->in->mem.space ||
            next->mem.cache != c->in->mem.cache || next->mem.scope != c->in->mem.scope ||
            next->mods != c->in->mods || next->mem.offset != c->in->mem.offset + have)
            break;
        have += c[n].bytes;
        first = HD_MIN(first, c[n].position);
        last = HD_MAX(last, c[n].position);
        n++;
    }
    return have == bytes && last - first <= SPAN && n > 1 ? n : 0;
}

static void end_run(struct vectorize *v)
{
    static const uint32_t widths[] = {WIDEST_B, WIDEST_B / 2};
    struct vectorize_load *load;
    uint32_t earliest;
    size_t joined;

    if (v->run.len > 1)
        qsort(v->run.at, v->run.len, sizeof(*v->run.at), by_place);
    for (size_t i = 0; i + 1 < v->run.len && !v->is_over; i += HD_MAX(joined, (size_t)1)) {
        const struct candidate *c = &v->run.at[i];

        joined = 0;
        for (size_t w = 0; w < HD_COUNT_OF(widths) && !joined; w++) {
            joined = fitting(c, v->run.len - i, widths[w]);
            if (joined && alignment(v, c->in) < widths[w])
                joined = 0;
            if (!joined)
                continue;
            load = hd_arena_new(v->arena, struct vectorize_load);
            *load = (struct vectorize_load){
                .first = c->in, .offset = c->in->mem.offset, .bytes = widths[w]};
            earliest = c->position;
            for (size_t k = 0; k < joined; k++) {
                v->of[c[k].in->dst[0]->id] = load;
                load->first = c[k].position <= earliest ? c[k].in : load->first;
                earliest = HD_MIN(earliest, c[k].position);
            }
        }
    }
    v->run.len = 0;
}

enum hd_status vectorize(const struct ir_func *func, bool frame_moves, struct hd_arena *arena,
                         struct vectorize_load ***out_of)
{
    struct vectorize v = {.func = func, .arena = arena, .frame_moves = frame_moves};
    uint32_t position = 0;

    v.of = hd_arena_array(arena, struct vectorize_load *, func->nvalues + 1);
    v.is_over = !v.of;
    for (uint32_t b = 0; b < func->nblocks && !v.is_over; b++) {
        ir_foreach_instr(in, func->blocks[b]) {
            struct candidate c = {in, facts_access_B(in), ++position};

            if (ir_op_infos[in->op].flags & (IR_F_STORE | IR_F_ATOM | IR_F_EFFECT | IR_F_CONV) ||
                in->mem.sem != IR_SEM_WEAK) /* what comes behind an acquire stays behind it */
                end_run(&v);
            else if (is_candidate(&v, in))
                v.is_over |= !hd_vec_push(&v.run, c);
        }
        end_run(&v);
    }
    hd_vec_fini(&v.run);
    *out_of = v.of;
    return v.is_over ? hd_error(HD_NO_MEMORY, "function %s: no memory", func->name) : HD_OK;
}
