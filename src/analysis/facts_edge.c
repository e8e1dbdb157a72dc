/*
 * What a branch that was taken says of values: guards of blocks, and of edges.
 *
 * A block that is entered by one edge of a conditional branch, and all that it dominates, runs only
 * when the predicate was so: a guard. Conjunctions that are true and disjunctions that are false
 * say so of each part. A guard speaks of its predicate; of what a comparison compares; and of x
 * where x + constant is compared, and the other way round.
 */
#include "analysis/facts_impl.h"

enum ir_cmp facts_cmp_mirror(enum ir_cmp cmp)
{
    static const enum ir_cmp mirror[] = {[IR_EQ] = IR_EQ, [IR_NE] = IR_NE, [IR_LT] = IR_GT,
                                         [IR_LE] = IR_GE, [IR_GT] = IR_LT, [IR_GE] = IR_LE};
    assert(cmp <= IR_GE);
    return mirror[cmp];
}

enum ir_cmp facts_cmp_not(enum ir_cmp cmp)
{
    static const enum ir_cmp inverse[] = {[IR_EQ] = IR_NE, [IR_NE] = IR_EQ, [IR_LT] = IR_GE,
                                          [IR_LE] = IR_GT, [IR_GT] = IR_LE, [IR_GE] = IR_LT};
    assert(cmp <= IR_GE);
    return inverse[cmp];
}

bool facts_test_of(const struct ir_value *pred, bool holds, const struct ir_instr **out_setp,
                   enum ir_cmp *out_cmp)
{
    const struct ir_instr *in = pred->instr;
    if (!in || in->op != IR_OP_SETP || in->type == IR_PRED || in->cmp > IR_GE)
        return false;
    assert(ir_type_lanes(in->type) == 1);
    *out_setp = in;
    *out_cmp = holds ? in->cmp : facts_cmp_not(in->cmp);
    return true;
}

bool facts_is_sum(const struct ir_value *v, const struct ir_value **out_x, int64_t *out_c)
{
    const struct ir_instr *in = v->instr;
    uint64_t c;
    if (!in || !ir_is_plain_add(in) || !ir_value_const(in->src[1], &c))
        return false;
    *out_x = in->src[0];
    *out_c = facts_extend(c & facts_mask(ir_type_bits(v->type)), ir_type_bits(v->type));
    return true;
}

/* ---- guards of blocks */

uint32_t facts_guard_parts(const struct ir_value *pred, bool holds,
                           struct facts_guard out[FACTS_PARTS_MAX])
{
    uint32_t n = 0;
    out[n++] = (struct facts_guard){pred, holds};
    for (uint32_t i = 0; i < n; i++) {
        const struct ir_instr *in = out[i].pred->instr;
        if (!in || in->ndst != 1)
            continue;
        const bool all =
            (in->op == IR_OP_AND && out[i].holds) || (in->op == IR_OP_OR && !out[i].holds);
        if (in->op == IR_OP_NOT && n < FACTS_PARTS_MAX)
            out[n++] = (struct facts_guard){in->src[0], !out[i].holds};
        for (unsigned k = 0; all && k < 2 && n < FACTS_PARTS_MAX; k++)
            out[n++] = (struct facts_guard){in->src[k], out[i].holds};
    }
    return n;
}

/* On the edge from -> to, if it is one side of a conditional branch. */
static uint32_t edge_parts(const struct ir_block *from, const struct ir_block *to,
                           struct facts_guard out[FACTS_PARTS_MAX])
{
    if (!from->last || from->last->op != IR_OP_CBR || from->succs[0] == from->succs[1])
        return 0;
    return facts_guard_parts(from->last->src[0], from->succs[0] == to, out);
}

static void guard_mark(struct facts *f, const struct ir_value *v)
{
    const struct ir_value *x;
    int64_t c;
    f->guarded[v->id] = true;
    if (facts_is_sum(v, &x, &c))
        f->guarded[x->id] = true;
}

static void guard_mark_all(struct facts *f, const struct facts_guard *g)
{
    const struct ir_instr *setp;
    enum ir_cmp cmp;
    f->guarded[g->pred->id] = true;
    if (!facts_test_of(g->pred, g->holds, &setp, &cmp))
        return;
    guard_mark(f, setp->src[0]);
    guard_mark(f, setp->src[1]);
}

bool facts_guards_compute(struct facts_state *s)
{
    struct facts *f = s->f;
    const uint32_t n = f->func->nblocks;
    struct facts_guard parts[FACTS_PARTS_MAX];
    uint32_t total = 0;

    for (uint32_t b = 0; b < n; b++)
        total += f->func->blocks[b]->last->op == IR_OP_CBR ? 2 * FACTS_PARTS_MAX : 0;
    f->blocks = hd_arena_array(s->arena, struct facts_block, n);
    f->guards = hd_arena_array(s->arena, struct facts_guard, (size_t)total + 1);
    f->guarded = hd_arena_array(s->arena, bool, (size_t)f->nvalues + 1);
    if (!f->blocks || !f->guards || !f->guarded)
        return false;
    total = 0;
    for (uint32_t b = 0; b < n; b++) {
        const struct ir_block *block = f->func->blocks[b];
        struct facts_block *fb = &f->blocks[b];
        const uint32_t up = f->dom.idom[b];
        *fb = (struct facts_block){.first = total, .above = IR_NO_BLOCK};
        if (up != IR_NO_BLOCK)
            fb->above = f->blocks[up].count ? up : f->blocks[up].above;
        if (block->npreds == 1)
            fb->count = edge_parts(block->preds[0], block, f->guards + total);
        for (uint32_t i = 0; i < fb->count; i++)
            guard_mark_all(f, &f->guards[total + i]);
        total += fb->count;
        /* Edges into joins speak of what phis take along them. */
        for (uint32_t p = 0; block->npreds > 1 && p < block->npreds; p++) {
            const uint32_t k = edge_parts(block->preds[p], block, parts);
            for (uint32_t i = 0; i < k; i++)
                guard_mark_all(f, &parts[i]);
        }
    }
    return true;
}

/* ---- look-ups */

/* x cmp y: what x may be. */
static struct facts_range compared(struct facts_range r, enum ir_cmp cmp, bool sgn,
                                   const struct facts_range *y, unsigned w)
{
    struct facts_range by = facts_any_of(w);
    switch (cmp) {
    case IR_EQ:
        by = *y;
        break;
    case IR_NE:
        if (y->least != y->most)
            return r;
        if (r.least == y->least && r.least < r.most)
            by.least = r.least + 1;
        if (r.most == y->least && r.least < r.most)
            by.most = r.most - 1;
        if (r.sleast == y->sleast && r.sleast < r.smost)
            by.sleast = r.sleast + 1;
        if (r.smost == y->sleast && r.sleast < r.smost)
            by.smost = r.smost - 1;
        break;
    case IR_LT:
        if (sgn)
            by.smost = y->smost - (y->smost > by.sleast);
        else
            by.most = y->most - (y->most > 0);
        break;
    case IR_LE:
        if (sgn)
            by.smost = y->smost;
        else
            by.most = y->most;
        break;
    case IR_GT:
        if (sgn)
            by.sleast = y->sleast + (y->sleast < by.smost);
        else
            by.least = y->least + (y->least < by.most);
        break;
    case IR_GE:
        if (sgn)
            by.sleast = y->sleast;
        else
            by.least = y->least;
        break;
    default:
        return r;
    }
    return facts_meet(&r, &by, w);
}

/* What the comparison with operand number k says of v: of that operand, or a constant apart. */
static struct facts_range by_test(const struct facts *f, const struct ir_value *v,
                                  struct facts_range r, const struct ir_instr *setp,
                                  enum ir_cmp cmp, unsigned k)
{
    const struct ir_value *t = setp->src[k], *x;
    const struct facts_range y = facts_range(f, setp->src[1 - k]);
    const bool sgn = ir_type_is_signed(setp->type);
    const unsigned w = facts_width(t);
    int64_t c = 0;

    if (k)
        cmp = facts_cmp_mirror(cmp);
    if (t == v)
        return compared(r, cmp, sgn, &y, w);
    /* t is v + c: what is known of t is known of v. Or v is t + c. */
    if (!(facts_is_sum(t, &x, &c) && x == v)) {
        if (!facts_is_sum(v, &x, &c) || x != t)
            return r;
        c = -c;
    }
    const struct facts_range of_t = compared(facts_range(f, t), cmp, sgn, &y, w);
    const struct facts_range of_v = facts_shifted(&of_t, (int64_t)(0 - (uint64_t)c), w);
    return facts_meet(&r, &of_v, w);
}

static struct facts_range by_guard(const struct facts *f, const struct ir_value *v,
                                   struct facts_range r, const struct facts_guard *g)
{
    const struct ir_instr *setp;
    enum ir_cmp cmp;
    if (g->pred == v)
        return facts_exactly_of(g->holds, 1);
    if (!facts_test_of(g->pred, g->holds, &setp, &cmp) || setp->src[0]->type != v->type)
        return r;
    r = by_test(f, v, r, setp, cmp, 0);
    return by_test(f, v, r, setp, cmp, 1);
}

static bool may_be_guarded(const struct facts *f, const struct ir_value *v)
{
    const struct ir_value *x;
    int64_t c;
    return f->guarded[v->id] ||
           (facts_is_sum(v, &x, &c) && x->id < f->nvalues && f->guarded[x->id]);
}

struct facts_range facts_range(const struct facts *f, const struct ir_value *v)
{
    uint64_t c;
    if (v->id < f->nvalues)
        return f->of[v->id].range;
    return ir_value_const(v, &c) ? facts_exactly(v->type, c) : facts_any(v->type);
}

struct facts_range facts_range_at(const struct facts *f, const struct ir_value *v,
                                  const struct ir_block *at)
{
    struct facts_range r = facts_range(f, v);
    const uint32_t home = v->instr ? v->instr->block->id : 0;

    if (v->id >= f->nvalues || at->id >= f->func->nblocks || !facts_width(v) ||
        !may_be_guarded(f, v))
        return r;
    /* Blocks in which the value does not exist yet say nothing of this one. */
    for (uint32_t b = at->id; b != IR_NO_BLOCK && (b != home || !v->instr);
         b = f->blocks[b].above) {
        if (!ir_dominates(&f->dom, home, b))
            break;
        for (uint32_t i = 0; i < f->blocks[b].count; i++)
            r = by_guard(f, v, r, &f->guards[f->blocks[b].first + i]);
    }
    return r;
}

struct facts_range facts_range_on(const struct facts *f, const struct ir_value *v,
                                  const struct ir_block *pred, const struct ir_block *block)
{
    struct facts_range r = facts_range_at(f, v, pred);
    struct facts_guard parts[FACTS_PARTS_MAX];

    if (v->id >= f->nvalues || !facts_width(v) || !may_be_guarded(f, v))
        return r;
    const uint32_t n = edge_parts(pred, block, parts);
    for (uint32_t i = 0; i < n; i++)
        r = by_guard(f, v, r, &parts[i]);
    return r;
}
