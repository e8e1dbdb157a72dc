#include "opt/unrolled.h"

#include "opt/passes.h"

#define NONE     IR_NO_BLOCK
#define BUDGET   4096u /* comparisons of instructions */
#define BODY_MAX 64u   /* instructions of the small loop */

static uint64_t unrolled_extended(uint64_t bits, enum ir_type type)
{
    return ir_type_bits(type) == 32 ? (uint64_t)(int64_t)(int32_t)bits : bits;
}

struct ir_value *opt_latch_of(const struct ir_instr *phi)
{
    return phi->src[phi->block->preds[0] == phi->block ? 0 : 1];
}

struct ir_value *opt_init_of(const struct ir_instr *phi)
{
    return phi->src[phi->block->preds[0] == phi->block ? 1 : 0];
}

/* value + constant */
bool opt_is_sum(const struct ir_value *v, const struct ir_value **out, uint64_t *out_const)
{
    if (!v->instr || !ir_is_plain_add(v->instr) || !opt_type_is_int(v->instr->type))
        return false;
    for (uint32_t s = 0; s < 2; s++) {
        if (ir_value_const(v->instr->src[s], out_const)) {
            *out = v->instr->src[1 - s];
            *out_const = unrolled_extended(*out_const, v->type);
            return true;
        }
    }
    return false;
}

/* What an iteration adds to the phi; 0: it is no ramp. */
uint64_t opt_step_of(const struct ir_instr *phi)
{
    const struct ir_value *from;
    uint64_t step;

    return opt_is_sum(opt_latch_of(phi), &from, &step) && from == phi->dst[0] ? step : 0;
}

struct opt_ramp opt_ramp_of(const struct ir_value *v, const struct ir_block *loop)
{
    struct opt_ramp r = {NULL, 0};
    const struct ir_value *from = v;
    uint64_t more;

    for (unsigned i = 0; i < OPT_UNROLLED_FACTOR && opt_is_sum(v, &from, &more); i++, v = from)
        r.at += more;
    if (v->instr && v->instr->op == IR_OP_PHI && v->instr->block == loop && opt_step_of(v->instr))
        r.phi = v;
    return r;
}

/* ---- the form */

static bool unrolled_is_loop(const struct ir_block *b)
{
    return b->npreds == 2 && b->nsuccs == 2 && b->last->op == IR_OP_CBR &&
           (b->preds[0] == b) != (b->preds[1] == b) && (b->succs[0] == b) != (b->succs[1] == b);
}

/* From where the loop is entered. */
static struct ir_block *unrolled_front_of(const struct ir_block *loop)
{
    return loop->preds[loop->preds[0] == loop ? 1 : 0];
}

static struct ir_block *unrolled_behind(const struct ir_block *loop)
{
    return loop->succs[loop->succs[0] == loop ? 1 : 0];
}

static bool unrolled_is_pure(const struct ir_block *b)
{
    ir_foreach_instr(in, b) {
        if (in != b->last && !ir_op_has(in->op, IR_F_PURE))
            return false;
    }
    return true;
}

/* A block that only goes on to the loop; the loop's front, else. */
static struct ir_block *unrolled_only_leads(struct ir_block *front, const struct ir_block *from)
{
    bool is = front != from && front->npreds == 1 && front->last->op == IR_OP_BR &&
              unrolled_is_pure(front);
    return is ? front : NULL;
}

static bool unrolled_is_body(const struct ir_block *b)
{
    uint32_t n = 0;

    ir_foreach_instr(in, b) {
        bool load = in->op == IR_OP_LD && in->mem.sem == IR_SEM_WEAK && !in->mem.vec;
        if (in != b->last && !load && !ir_op_has(in->op, IR_F_PURE))
            return false;
        n++;
    }
    return n <= BODY_MAX * OPT_UNROLLED_FACTOR;
}

/* Is it so when the value is (not) 0? */
static bool unrolled_compares_with_0(const struct ir_value *v, const struct ir_value **out,
                                     bool *out_eq)
{
    uint64_t bits;

    if (!v->instr || v->instr->op != IR_OP_SETP || !ir_value_const(v->instr->src[1], &bits) || bits)
        return false;
    *out = v->instr->src[0];
    *out_eq = v->instr->cmp == IR_EQ;
    return v->instr->cmp == IR_EQ || v->instr->cmp == IR_NE;
}

/* The small loop counts down to 0 from a number that the entry knows not to be 0. */
static bool unrolled_find_trip_count(struct opt_unrolled *u)
{
    const struct ir_value *count, *tested, *phi;
    bool eq;
    uint64_t step;

    if (!unrolled_compares_with_0(u->rest->last->src[0], &count, &eq) ||
        eq != (u->rest->succs[1] == u->rest) || !opt_is_sum(count, &phi, &step) ||
        step != UINT64_MAX || !phi->instr || phi->instr->op != IR_OP_PHI ||
        phi->instr->block != u->rest || opt_latch_of(phi->instr) != count)
        return false;
    u->iterations = opt_init_of(phi->instr);
    return unrolled_compares_with_0(u->entry->last->src[0], &tested, &eq) &&
           tested == u->iterations && u->entry->succs[eq ? 0 : 1] == u->mid;
}

static bool unrolled_find_bound(struct opt_unrolled *u)
{
    const struct ir_instr *test = u->main->last->src[0]->instr;
    bool loops_if = u->main->succs[0] == u->main;
    const struct ir_value *from;

    if (!test || test->op != IR_OP_SETP || !opt_is_sum(test->src[0], &from, &u->step) ||
        !from->instr || from->instr->op != IR_OP_PHI || from->instr->block != u->main ||
        opt_latch_of(from->instr) != test->src[0])
        return false;
    u->last = from->instr;
    u->bound = test->src[1];
    u->bound_type = test->type;
    u->cmp = test->cmp == (loops_if ? IR_NE : IR_EQ)   ? IR_NE
             : test->cmp == (loops_if ? IR_LT : IR_GE) ? IR_LT
                                                       : IR_NUM;
    uint64_t size = (int64_t)u->step < 0 ? -u->step : u->step;
    return (u->cmp == IR_NE || (u->cmp == IR_LT && size == u->step)) && size &&
           !(size & (size - 1)) && size <= 1u << 20 && opt_type_is_int(u->bound_type) &&
           ir_type_bits(u->bound_type) >= 32 &&
           (!u->bound->instr || u->bound->instr->block != u->main);
}

static bool unrolled_has_form(struct opt_unrolled *u, struct ir_block *main)
{
    struct ir_block *front;

    u->main = main;
    u->out = unrolled_behind(main);
    front = unrolled_front_of(main);
    u->start = front->last->op == IR_OP_BR ? unrolled_only_leads(front, NULL) : NULL;
    u->mid = u->start ? front->preds[0] : front;
    if (u->mid->npreds != 2 || u->mid->last->op != IR_OP_CBR || !unrolled_is_pure(u->mid))
        return false;
    u->rest = u->mid->preds[unrolled_is_loop(u->mid->preds[0]) ? 0 : 1];
    u->entry = u->mid->preds[u->rest == u->mid->preds[0] ? 1 : 0];
    if (!unrolled_is_loop(u->rest) || u->rest == u->main || u->entry->last->op != IR_OP_CBR ||
        unrolled_behind(u->rest) != u->mid)
        return false;
    front = unrolled_front_of(u->rest);
    u->pre = unrolled_only_leads(front, u->entry);
    if ((u->pre ? front->preds[0] : front) != u->entry)
        return false;
    front = u->start ? u->start : u->main;
    u->main_if = u->mid->succs[0] == front;
    return u->mid->succs[u->main_if ? 0 : 1] == front &&
           u->mid->succs[u->main_if ? 1 : 0] == u->out && unrolled_is_body(u->rest) &&
           unrolled_is_body(u->main) && unrolled_find_trip_count(u) && unrolled_find_bound(u);
}

/* ---- is the big loop's body that of the small one, several times? */

static bool unrolled_same(struct opt_unrolled *u, const struct ir_value *one,
                          const struct ir_value *many, uint32_t iteration);

static bool unrolled_pair_is(struct opt_unrolled *u, const struct opt_ramp *one,
                             const struct opt_ramp *many, uint32_t iteration)
{
    const struct ir_instr *phi = one->phi->instr;
    uint64_t step = opt_step_of(phi), distance = many->at - one->at - iteration * step;

    distance = unrolled_extended(distance, one->phi->type);
    if (one->phi->type != many->phi->type || opt_step_of(many->phi->instr) != u->factor * step)
        return false;
    for (uint32_t i = 0; i < u->npairs; i++) {
        if (u->pairs[i].rest == phi && u->pairs[i].main == many->phi->instr)
            return u->pairs[i].distance == distance;
    }
    if (u->npairs == OPT_UNROLLED_PHIS)
        return false;
    u->pairs[u->npairs++] = (struct opt_pair){phi, many->phi->instr, distance};
    return true;
}

static bool unrolled_same_sources(struct opt_unrolled *u, const struct ir_instr *one,
                                  const struct ir_instr *many, uint32_t iteration)
{
    bool address = one->op == IR_OP_LD;
    struct opt_ramp a = address ? opt_ramp_of(one->src[0], u->rest) : (struct opt_ramp){NULL, 0};
    struct ir_instr bare = *one;

    if (one->nsrc != many->nsrc || one->ndst != many->ndst)
        return false;
    if (a.phi) {
        struct opt_ramp b = opt_ramp_of(many->src[0], u->main);
        bare.mem.offset = many->mem.offset;
        a.at += (uint64_t)one->mem.offset;
        b.at += (uint64_t)many->mem.offset;
        return b.phi && ir_instr_same(&bare, many) && unrolled_pair_is(u, &a, &b, iteration);
    }
    if (!ir_instr_same(one, many))
        return false;
    for (uint32_t s = 0; s < one->nsrc; s++) {
        if (!unrolled_same(u, one->src[s], many->src[s], iteration))
            return false;
    }
    return true;
}

/* The phi of sums that the small loop's hands over to. */
static const struct ir_instr *unrolled_sum_partner(const struct opt_unrolled *u,
                                                   const struct ir_instr *one)
{
    for (uint32_t i = 0; i < u->nsums; i++) {
        if (u->sums[i].rest == one)
            return u->sums[i].main;
    }
    return NULL;
}

static bool unrolled_same(struct opt_unrolled *u, const struct ir_value *one,
                          const struct ir_value *many, uint32_t iteration)
{
    const struct ir_instr *a = one->instr, *b = many->instr;
    uint64_t x, y;

    if (!u->budget || !u->budget--)
        return false;
    if (ir_value_const(one, &x) && ir_value_const(many, &y))
        return x == y && one->type == many->type;
    if (!a || a->block != u->rest)
        return one == many;
    struct opt_ramp ramp = opt_ramp_of(one, u->rest), ramps = opt_ramp_of(many, u->main);
    if (ramp.phi)
        return ramps.phi && unrolled_pair_is(u, &ramp, &ramps, iteration);
    if (a->op == IR_OP_PHI) {
        const struct ir_instr *partner = unrolled_sum_partner(u, a);
        if (iteration)
            return unrolled_same(u, opt_latch_of(a), many, iteration - 1);
        return partner && many == partner->dst[0];
    }
    return b && b->block == u->main && b->op != IR_OP_PHI && one->index == many->index &&
           unrolled_same_sources(u, a, b, iteration);
}

/* The phi of the small loop that a phi between the loops goes on with, or NULL. */
const struct ir_instr *opt_unrolled_goes_on(const struct opt_unrolled *u, const struct ir_value *v)
{
    const struct ir_instr *m = v->instr;

    if (!m || m->op != IR_OP_PHI || m->block != u->mid)
        return NULL;
    uint32_t from = u->mid->preds[0] == u->rest ? 0 : 1;
    ir_foreach_instr(phi, u->rest) {
        if (phi->op != IR_OP_PHI)
            break;
        if (opt_latch_of(phi) == m->src[from] && opt_init_of(phi) == m->src[1 - from])
            return phi;
    }
    return NULL;
}

/* Phis of both loops that are no ramps: what the iterations add up. */
static bool unrolled_find_sums(struct opt_unrolled *u)
{
    u->nsums = 0;
    ir_foreach_instr(phi, u->main) {
        if (phi->op != IR_OP_PHI)
            break;
        if (opt_step_of(phi))
            continue;
        const struct ir_instr *rest = opt_unrolled_goes_on(u, opt_init_of(phi));
        if (!rest || u->nsums == OPT_UNROLLED_PHIS)
            return false;
        u->sums[u->nsums++] = (struct opt_pair){rest, phi, 0};
    }
    ir_foreach_instr(phi, u->rest) {
        if (phi->op == IR_OP_PHI && !opt_step_of(phi) && !unrolled_sum_partner(u, phi))
            return false;
    }
    return u->nsums > 0;
}

static bool unrolled_is_factor(struct opt_unrolled *u, uint32_t factor)
{
    u->factor = factor;
    u->budget = BUDGET;
    u->npairs = 0;
    for (uint32_t i = 0; i < u->nsums; i++) {
        const struct opt_pair *s = &u->sums[i];
        if (!unrolled_same(u, opt_latch_of(s->rest), opt_latch_of(s->main), factor - 1))
            return false;
    }
    return true;
}

static bool unrolled_find_factor(struct opt_unrolled *u)
{
    for (uint32_t factor = 2; factor <= OPT_UNROLLED_FACTOR; factor *= 2) {
        if (unrolled_is_factor(u, factor))
            return true;
    }
    return false;
}

/* ---- what leaves the loops */

bool opt_unrolled_has(const struct opt_unrolled *u, const struct ir_value *v)
{
    const struct ir_block *b = v->instr ? v->instr->block : NULL;

    return b && (b == u->pre || b == u->rest || b == u->mid || b == u->start || b == u->main);
}

static struct ir_value *unrolled_operand_of(const struct ir_instr *phi, const struct ir_block *pred)
{
    uint32_t p = 0;

    while (phi->block->preds[p] != pred)
        p++;
    return phi->src[p];
}

/* What a phi of the exit takes from the new loop: a value of the small one; NULL: nothing fits. */
struct ir_value *opt_unrolled_leaves(const struct opt_unrolled *u, const struct ir_instr *phi)
{
    struct ir_value *v = unrolled_operand_of(phi, u->main),
                    *early = unrolled_operand_of(phi, u->mid);

    if (!opt_unrolled_has(u, v))
        return v == early ? v : NULL;
    for (uint32_t i = 0; i < u->nsums; i++) {
        const struct opt_pair *s = &u->sums[i];
        if (v == opt_latch_of(s->main) && early == opt_init_of(s->main))
            return opt_latch_of(s->rest);
    }
    return NULL;
}

static bool unrolled_may_leave(const struct opt_unrolled *u)
{
    for (uint32_t b = 0; b < u->func->nblocks; b++) {
        const struct ir_block *block = u->func->blocks[b];
        if (block == u->pre || block == u->rest || block == u->mid || block == u->start ||
            block == u->main)
            continue;
        ir_foreach_instr(in, block) {
            bool phi = in->op == IR_OP_PHI && block == u->out;
            if (phi && !opt_unrolled_leaves(u, in))
                return false;
            for (uint32_t s = 0; s < in->nsrc; s++) {
                if (!phi && opt_unrolled_has(u, in->src[s]))
                    return false;
            }
        }
    }
    return true;
}

/* ---- does it pay? */

/* Is it made, in the loop, of something that the loop loads? */
static bool unrolled_is_loaded(const struct ir_value *v, const struct ir_block *loop,
                               unsigned depth)
{
    const struct ir_instr *in = v->instr;

    if (!in || in->block != loop || in->op == IR_OP_PHI || !depth)
        return false;
    if (in->op == IR_OP_LD)
        return true;
    for (uint32_t s = 0; s < in->nsrc; s++) {
        if (unrolled_is_loaded(in->src[s], loop, depth - 1))
            return true;
    }
    return false;
}

bool opt_unrolled_find(struct opt_unrolled *u, struct ir_block *main)
{
    /* Lanes leave it apart, and what they load is scattered: gen_lane_serial.c will run them one by
     * one. */
    if (!unrolled_is_loop(main) || !unrolled_has_form(u, main) || !unrolled_find_sums(u) ||
        !unrolled_find_factor(u) || !unrolled_may_leave(u))
        return false;
    uint32_t loop = u->shapes->loops.loop_of[u->rest->id];

    if (loop == NONE || !u->shapes->divergent_loop[loop] ||
        u->shapes->loops.loops[loop].header != u->rest->id)
        return false;
    ir_foreach_instr(in, u->rest) {
        if (in->op == IR_OP_LD && unrolled_is_loaded(in->src[0], u->rest, 6))
            return true;
    }
    return false;
}
