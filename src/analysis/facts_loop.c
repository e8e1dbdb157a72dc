/*
 * Counters of loops, and how often a loop may repeat.
 *
 * A phi of a header that gets the same constant more along every back edge is a counter: in
 * iteration k it is init + k * step, modulo 2^width. Where a block that every iteration passes
 * leaves the loop by comparing it with something that has an end, and no sum can wrap before that,
 * the number of iterations has an end too; and that of one counter bounds all of its loop.
 */
#include "analysis/facts_impl.h"

/* ---- counters */

/* The one value that comes along all edges from inside the loop, or outside; NULL: several. */
static const struct ir_value *source_of(const struct ir_instr *phi, const struct ir_loops *loops,
                                        uint32_t loop, bool inside)
{
    const struct ir_value *v = NULL;
    for (uint32_t p = 0; p < phi->nsrc; p++) {
        if (facts_loop_contains(loops, loop, phi->block->preds[p]->id) != inside)
            continue;
        if (v && phi->src[p] != v)
            return NULL;
        v = phi->src[p];
    }
    return v;
}

static void find_counter(struct facts_state *s, const struct ir_instr *phi, uint32_t loop)
{
    struct facts_counter c = {.loop = loop};
    const struct ir_value *v = phi->dst[0], *x;
    const unsigned w = facts_width(v);

    if (w < 8 || ir_type_is_float(phi->type))
        return;
    const struct ir_value *next = source_of(phi, &s->f->loops, loop, true);
    c.init = source_of(phi, &s->f->loops, loop, false);
    if (!next || !c.init || !facts_is_sum(next, &x, &c.step) || x != v || !c.step)
        return;
    c.limit = facts_any_of(w);
    if (!s->counter_of[v->id]) {
        if (!hd_vec_push(&s->counters, c)) {
            s->failed = true;
            return;
        }
        s->counter_of[v->id] = (uint32_t)s->counters.len;
    }
    s->counters.at[s->counter_of[v->id] - 1] = c;
}

/* ---- tests */

/* The loop is left at the latest in this iteration. */
static void loop_ends(struct facts_loop *l, facts_wide most)
{
    if (most > INT64_MAX)
        return;
    if (!l->counted || (uint64_t)most < l->most)
        l->most = (uint64_t)most;
    l->counted = true;
}

/* The counter P goes on while P + d cmp y. */
struct test {
    enum ir_cmp cmp;
    bool is_signed;
    facts_wide d;
    const struct facts_range *y;
};

/* Rising while P + d <= end: P_k+1 <= end - d + step, and nothing wraps on the way. */
static void test_rising(const struct test *t, facts_wide end, facts_wide low, facts_wide high,
                        const facts_wide init[2], struct facts_counter *c, struct facts_loop *l)
{
    const facts_wide most = HD_MAX(init[1], end - t->d + c->step), left = end - t->d - init[0];
    if (most > high || most + t->d > high || init[0] + t->d < low)
        return;
    if (t->is_signed) {
        c->limit.sleast = (int64_t)init[0];
        c->limit.smost = (int64_t)most;
    } else {
        c->limit.least = (uint64_t)init[0];
        c->limit.most = (uint64_t)most;
    }
    loop_ends(l, left < 0 ? 0 : left / c->step + 1);
}

static void test_falling(const struct test *t, facts_wide end, facts_wide low, facts_wide high,
                         const facts_wide init[2], struct facts_counter *c, struct facts_loop *l)
{
    const facts_wide least = HD_MIN(init[0], end - t->d + c->step), left = init[1] + t->d - end;
    if (least < low || least + t->d < low || init[1] + t->d > high)
        return;
    if (t->is_signed) {
        c->limit.sleast = (int64_t)least;
        c->limit.smost = (int64_t)init[1];
    } else {
        c->limit.least = (uint64_t)least;
        c->limit.most = (uint64_t)init[1];
    }
    loop_ends(l, left < 0 ? 0 : left / -c->step + 1);
}

/* Until P + d is y exactly: from one number to another in whole steps. */
static void test_exact(const struct test *t, const struct facts_range *init, unsigned w,
                       const struct facts_counter *c, struct facts_loop *l)
{
    uint64_t from, to;
    if (!facts_is_constant(init, &from) || !facts_is_constant(t->y, &to))
        return;
    from += (uint64_t)t->d;
    const uint64_t step = c->step < 0 ? 0 - (uint64_t)c->step : (uint64_t)c->step;
    const uint64_t way = (c->step < 0 ? from - to : to - from) & facts_mask(w);
    if (way % step == 0)
        loop_ends(l, (facts_wide)(way / step));
}

static void use_test(struct facts_state *s, const struct test *t, struct facts_counter *c)
{
    const unsigned w = facts_width(c->init);
    const struct facts_range *i = &s->f->of[c->init->id].range, *y = t->y;
    const bool sgn = t->is_signed;
    const facts_wide half = (facts_wide)1 << (w - 1);
    const facts_wide low = sgn ? -half : 0, high = sgn ? half - 1 : 2 * half - 1;
    const facts_wide init[2] = {sgn ? (facts_wide)i->sleast : (facts_wide)i->least,
                                sgn ? (facts_wide)i->smost : (facts_wide)i->most};
    const facts_wide y_least = sgn ? (facts_wide)y->sleast : (facts_wide)y->least;
    const facts_wide y_most = sgn ? (facts_wide)y->smost : (facts_wide)y->most;
    struct facts_loop *l = &s->f->counts[c->loop];

    if (t->cmp == IR_NE)
        test_exact(t, i, w, c, l);
    else if (c->step > 0 && (t->cmp == IR_LT || t->cmp == IR_LE))
        test_rising(t, y_most - (t->cmp == IR_LT), low, high, init, c, l);
    else if (c->step < 0 && (t->cmp == IR_GT || t->cmp == IR_GE))
        test_falling(t, y_least + (t->cmp == IR_GT), low, high, init, c, l);
}

/* What its operation alone says of a value: of those in a loop, before they have been visited. */
static struct facts_range range_alone(const struct ir_value *v)
{
    struct facts_range src[4];
    uint64_t c;

    if (!v->instr || !ir_op_has(v->instr->op, IR_F_PURE) || v->instr->nsrc > HD_COUNT_OF(src) ||
        ir_op_infos[v->instr->op].dst[0] == 'v')
        return facts_any(v->type);
    for (uint32_t i = 0; i < v->instr->nsrc; i++) {
        const struct ir_value *x = v->instr->src[i];
        if (!facts_width(x))
            return facts_any(v->type);
        src[i] = ir_value_const(x, &c) ? facts_exactly(x->type, c) : facts_any(x->type);
    }
    return facts_eval(v->instr, src);
}

/* Operand k of a comparison that holds when the loop goes on. */
static void use_operand(struct facts_state *s, uint32_t loop, const struct ir_instr *setp,
                        enum ir_cmp cmp, unsigned k)
{
    const struct ir_value *x = setp->src[k], *y = setp->src[1 - k];
    const struct ir_loops *loops = &s->f->loops;
    int64_t d = 0;

    if (!s->counter_of[x->id] && !facts_is_sum(x, &x, &d))
        return;
    if (!s->counter_of[x->id])
        return;
    struct facts_counter *c = &s->counters.at[s->counter_of[x->id] - 1];
    if (c->loop != loop)
        return;
    const bool inside = y->instr && facts_loop_contains(loops, loop, y->instr->block->id);
    const struct facts_range range = inside ? range_alone(y) : s->f->of[y->id].range;
    const struct test t = {k ? facts_cmp_mirror(cmp) : cmp, ir_type_is_signed(setp->type), d,
                           &range};
    use_test(s, &t, c);
}

static void use_exit(struct facts_state *s, uint32_t loop, const struct ir_block *b)
{
    struct facts_guard parts[FACTS_PARTS_MAX];
    const struct ir_instr *setp;
    enum ir_cmp cmp;
    bool in[2];

    if (b->last->op != IR_OP_CBR)
        return;
    for (unsigned i = 0; i < 2; i++)
        in[i] = facts_loop_contains(&s->f->loops, loop, b->succs[i]->id);
    if (in[0] == in[1])
        return;
    const uint32_t n = facts_guard_parts(b->last->src[0], in[0], parts);
    for (uint32_t i = 0; i < n; i++) {
        if (!facts_test_of(parts[i].pred, parts[i].holds, &setp, &cmp))
            continue;
        use_operand(s, loop, setp, cmp, 0);
        use_operand(s, loop, setp, cmp, 1);
    }
}

void facts_loop_count(struct facts_state *s, uint32_t loop)
{
    const struct ir_loop *l = &s->f->loops.loops[loop];
    const struct ir_block *header = s->f->func->blocks[l->header];
    const struct ir_dom *dom = &s->f->dom;
    const size_t before = s->counters.len;
    uint32_t latch = IR_NO_BLOCK;

    s->f->counts[loop].counted = false;
    s->f->counts[loop].most = INT64_MAX;
    bool any = false;
    for (const struct ir_instr *phi = header->first; phi && phi->op == IR_OP_PHI; phi = phi->next) {
        find_counter(s, phi, loop);
        any |= s->counter_of[phi->dst[0]->id] != 0;
    }
    assert(s->counters.len >= before);
    if (!any)
        return;
    for (uint32_t p = 0; p < header->npreds; p++) {
        const uint32_t from = header->preds[p]->id;
        if (!facts_loop_contains(&s->f->loops, loop, from))
            continue;
        latch = latch == IR_NO_BLOCK ? from : latch;
        while (!ir_dominates(dom, latch, from))
            latch = dom->idom[latch];
    }
    for (uint32_t b = latch;; b = dom->idom[b]) {
        use_exit(s, loop, s->f->func->blocks[b]);
        if (b == l->header)
            break;
    }
}

struct facts_range facts_counter_range(const struct facts_state *s, const struct facts_counter *c)
{
    const struct facts_range *init = &s->f->of[c->init->id].range;
    const struct facts_loop *l = &s->f->counts[c->loop];
    const unsigned w = facts_width(c->init);
    struct facts_range r = c->limit;
    const uint64_t below = ((uint64_t)c->step & (0 - (uint64_t)c->step)) - 1;
    const uint64_t unknown = ~(init->zeros | init->ones);

    /* Low bits that neither the start nor the step changes. */
    const uint64_t kept = (unknown ? (unknown & -unknown) - 1 : UINT64_MAX) & below & facts_mask(w);
    r.zeros |= init->zeros & kept;
    r.ones |= init->ones & kept;
    if (!facts_close(&r, w))
        r = facts_any_of(w);
    if (!l->counted)
        return r;
    const facts_wide way = (facts_wide)l->most * c->step, up = HD_MAX(way, 0),
                     down = HD_MIN(way, 0);
    const struct facts_range u = facts_wrapped(init->least + down, init->most + up, w);
    const struct facts_range t = facts_wrapped(init->sleast + down, init->smost + up, w);
    r = facts_meet(&r, &u, w);
    return facts_meet(&r, &t, w);
}
