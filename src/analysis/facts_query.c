/* Questions about values: constants of the kind that clients would else work out for themselves. */
#include "analysis/facts_impl.h"

/* ---- ranges */

bool facts_is_zero_extended(const struct facts *f, const struct ir_value *v,
                            const struct ir_block *at)
{
    return facts_range_at(f, v, at).most <= UINT32_MAX;
}

bool facts_is_sign_extended(const struct facts *f, const struct ir_value *v,
                            const struct ir_block *at)
{
    const struct facts_range r = facts_range_at(f, v, at);
    return r.sleast >= INT32_MIN && r.smost <= INT32_MAX;
}

/* Integers without limits between which the result is; false: another operation. */
static bool exact_bounds(const struct ir_instr *in, const struct facts_range *a,
                         const struct facts_range *b, bool sgn, facts_wide *least, facts_wide *most)
{
    const facts_wide al = sgn ? (facts_wide)a->sleast : (facts_wide)a->least;
    const facts_wide am = sgn ? (facts_wide)a->smost : (facts_wide)a->most;
    const facts_wide bl = sgn ? (facts_wide)b->sleast : (facts_wide)b->least;
    const facts_wide bm = sgn ? (facts_wide)b->smost : (facts_wide)b->most;

    switch (in->op) {
    case IR_OP_ADD:
        *least = al + bl;
        *most = am + bm;
        return !ir_has(in, IR_MOD_SAT);
    case IR_OP_SUB:
        *least = al - bm;
        *most = am - bl;
        return !ir_has(in, IR_MOD_SAT);
    case IR_OP_NEG:
        *least = -am;
        *most = -al;
        return true;
    case IR_OP_MUL: {
        if (!sgn) { /* of 64 bits that may be more than 127 */
            *least = 0;
            *most = (facts_wide)1 << 64;
            uint64_t product;
            if (!__builtin_mul_overflow(a->most, b->most, &product))
                *most = product;
            return true;
        }
        const facts_wide p[] = {al * bl, al * bm, am * bl, am * bm};
        *least = HD_MIN(HD_MIN(p[0], p[1]), HD_MIN(p[2], p[3]));
        *most = HD_MAX(HD_MAX(p[0], p[1]), HD_MAX(p[2], p[3]));
        return true;
    }
    case IR_OP_SHL:
        if (b->most >= 63)
            return false;
        *least = al * ((facts_wide)1 << (al < 0 ? b->most : b->least));
        *most = am * ((facts_wide)1 << (am < 0 ? b->least : b->most));
        return true;
    default:
        return false;
    }
}

bool facts_no_wrap(const struct facts *f, const struct ir_instr *in, bool is_signed)
{
    const unsigned w = in->ndst == 1 ? facts_width(in->dst[0]) : 0;
    facts_wide least, most;

    if (w < 8 || ir_type_lanes(in->type) > 1)
        return false;
    const struct facts_range a = facts_range_at(f, in->src[0], in->block);
    const struct facts_range b = in->nsrc > 1 ? facts_range_at(f, in->src[1], in->block) : a;
    if (!exact_bounds(in, &a, &b, is_signed, &least, &most))
        return false;
    const facts_wide half = (facts_wide)1 << (w - 1);
    return least >= (is_signed ? -half : 0) && most < (is_signed ? half : 2 * half);
}

uint64_t facts_alignment(const struct facts *f, const struct ir_value *v)
{
    const uint64_t may = ~facts_range(f, v).zeros;
    return may ? may & -may : UINT64_C(1) << 63;
}

/* ---- forms */

uint32_t facts_symbol_sreg(enum ir_sreg sreg)
{
    return (uint32_t)sreg;
}

uint32_t facts_symbol_iteration(const struct facts *f, uint32_t loop)
{
    assert(loop < f->loops.nloops);
    return IR_SREG_COUNT + loop;
}

struct facts_symbol facts_symbol(const struct facts *f, uint32_t symbol)
{
    if (symbol < IR_SREG_COUNT)
        return (struct facts_symbol){
            .kind = FACTS_SREG, .index = symbol, .type = ir_sreg_type((enum ir_sreg)symbol)};
    if (symbol < f->first_value)
        return (struct facts_symbol){
            .kind = FACTS_ITERATION, .index = symbol - IR_SREG_COUNT, .type = IR_B64};
    assert(symbol < f->first_extra + HD_MAX(f->nextras, 1u));
    if (symbol >= f->first_extra)
        return f->extras[symbol - f->first_extra];
    const struct ir_value *v = f->values[symbol - f->first_value];
    return (struct facts_symbol){.kind = FACTS_VALUE, .index = v->id, .type = v->type, .value = v};
}

struct facts_form facts_form(const struct facts *f, const struct ir_value *v)
{
    assert(v->id < f->nvalues && f->has_lanes); /* facts_compute_ranges() makes none */
    return f->of[v->id].form;
}

bool facts_form_equal(const struct facts_form *a, const struct facts_form *b)
{
    if (a->constant != b->constant || a->nterms != b->nterms)
        return false;
    for (uint32_t i = 0; i < a->nterms; i++)
        if (a->terms[i].symbol != b->terms[i].symbol ||
            a->terms[i].coefficient != b->terms[i].coefficient)
            return false;
    return true;
}

int64_t facts_coefficient(const struct facts_form *form, uint32_t symbol)
{
    for (uint32_t i = 0; i < form->nterms; i++)
        if (form->terms[i].symbol == symbol)
            return form->terms[i].coefficient;
    return 0;
}

bool facts_difference(const struct facts *f, const struct ir_value *a, const struct ir_value *b,
                      int64_t *out)
{
    const unsigned w = facts_width(a);
    if (!w || a->type != b->type || a->id >= f->nvalues || b->id >= f->nvalues)
        return false;
    struct facts_form x = f->of[a->id].form;
    const struct facts_form y = f->of[b->id].form;
    *out = facts_extend((x.constant - y.constant) & facts_mask(w), w);
    x.constant = y.constant;
    return facts_form_equal(&x, &y);
}

bool facts_loop_step(const struct facts *f, const struct ir_value *v, uint32_t loop, int64_t *out)
{
    const struct facts_form form = facts_form(f, v);

    if (f->loops.irreducible || !facts_width(v))
        return false;
    *out = facts_coefficient(&form, facts_symbol_iteration(f, loop));
    for (uint32_t i = 0; i < form.nterms; i++) {
        const struct facts_symbol y = facts_symbol(f, form.terms[i].symbol);
        if (y.kind == FACTS_VALUE && y.value->instr &&
            facts_loop_contains(&f->loops, loop, y.value->instr->block->id))
            return false;
    }
    return true;
}

/* ---- lanes */

enum facts_scope facts_scope(const struct facts *f, const struct ir_value *v,
                             const struct ir_block *at)
{
    if (v->id >= f->nvalues)
        return v->instr && v->instr->op == IR_OP_CONST ? FACTS_GRID : FACTS_LANE;
    enum facts_scope scope = (enum facts_scope)f->of[v->id].scope;
    uint32_t loop = v->instr && at ? f->loops.loop_of[v->instr->block->id] : IR_NO_BLOCK;
    for (; loop != IR_NO_BLOCK && !facts_loop_contains(&f->loops, loop, at->id);
         loop = f->loops.loops[loop].parent) {
        enum facts_scope left = (enum facts_scope)f->counts[loop].exit_scope;
        /* What lanes know when they leave at different times the shapes say of the value. */
        if (left == FACTS_LANE && f->has_lanes && f->shapes.of[v->id].kind == IR_SHAPE_UNIFORM)
            left = FACTS_WARP;
        scope = HD_MAX(scope, left);
    }
    return scope;
}

bool facts_uniform(const struct facts *f, const struct ir_value *v)
{
    return facts_scope(f, v, NULL) <= FACTS_WARP;
}

/* Thread numbers of a known block, relative to lane 0: alike in all warps, or not known. */
static bool tid_offsets_in(const uint32_t block[3], unsigned axis, int64_t out[32])
{
    const uint32_t threads = block[0] * block[1] * block[2];
    uint32_t first[3], tid[3];

    if (threads % 32)
        return false;
    for (uint32_t t = 0; t < threads; t++) {
        ir_thread_index(block, t & ~31u, first);
        ir_thread_index(block, t, tid);
        const int64_t off = (int64_t)tid[axis] - first[axis];
        if (t >= 32 && out[t % 32] != off)
            return false;
        out[t % 32] = off;
    }
    return true;
}

static bool tid_offsets(const struct facts *f, unsigned axis, int64_t out[32])
{
    const enum ir_block_extents e = (enum ir_block_extents)f->launch.extents;
    const uint32_t *n = f->func->reqntid; /* extents of every block that a launch may have */
    const uint32_t block[3] = {n[0], HD_MAX(n[1], 1u), HD_MAX(n[2], 1u)};
    if (f->func->is_kernel && n[0] && tid_offsets_in(block, axis, out))
        return true;
    const bool rows = e == IR_BLOCK_1D || e == IR_BLOCK_X32;
    if (!rows && (axis || e != IR_BLOCK_16))
        return false;
    for (unsigned l = 0; l < 32; l++)
        out[l] = axis ? 0 : rows ? l : l % 16;
    return true;
}

static bool parts_offsets(const struct facts_lanes *parts, unsigned w, int64_t out[32])
{
    for (unsigned l = 0; l < 32; l++)
        out[l] = facts_extend((parts->offset[l] - parts->offset[0]) & facts_mask(w), w);
    return true;
}

static bool symbol_offsets(const struct facts *f, uint32_t symbol, const struct ir_value *of,
                           int64_t out[32])
{
    const struct facts_symbol y = facts_symbol(f, symbol);
    const struct ir_shape *s;

    memset(out, 0, 32 * sizeof(*out));
    switch (y.kind) {
    case FACTS_SREG:
        if (y.index == IR_SREG_TID_X || y.index == IR_SREG_TID_Y || y.index == IR_SREG_TID_Z)
            return tid_offsets(f, y.index - IR_SREG_TID_X, out);
        for (unsigned l = 0; l < 32 && y.index == IR_SREG_LANEID; l++)
            out[l] = l;
        return y.index == IR_SREG_LANEID || ir_sreg_scope((enum ir_sreg)y.index) != IR_SREG_LANE;
    case FACTS_ITERATION:
        return !f->shapes.needs_dispatch &&
               (!f->shapes.divergent_loop[y.index] ||
                (of->instr && facts_loop_contains(&f->loops, y.index, of->instr->block->id)));
    case FACTS_VALUE:
        s = &f->shapes.of[y.index];
        if (f->lane_parts[y.index])
            return parts_offsets(f->lane_parts[y.index], facts_width(y.value), out);
        for (unsigned l = 0; l < 32 && s->kind == IR_SHAPE_AFFINE; l++)
            out[l] = (int64_t)l * s->stride;
        return s->kind <= IR_SHAPE_AFFINE;
    case FACTS_PARAM:
        return true;
    case FACTS_VAR:
        return true;
    }
    return false;
}

bool facts_lane_offsets(const struct facts *f, const struct ir_value *v, int64_t out[32])
{
    const unsigned w = facts_width(v);
    int64_t of_symbol[32];

    if (!f->has_lanes || v->id >= f->nvalues || w < 8)
        return false;
    const struct ir_shape *s = &f->shapes.of[v->id];
    for (unsigned l = 0; l < 32; l++)
        out[l] = s->kind == IR_SHAPE_AFFINE ? (int64_t)l * s->stride : 0;
    if (s->kind <= IR_SHAPE_AFFINE)
        return true;
    if (f->lane_parts[v->id])
        return parts_offsets(f->lane_parts[v->id], w, out);
    const struct facts_form form = facts_form(f, v);
    for (uint32_t i = 0; i < form.nterms; i++) {
        if (!symbol_offsets(f, form.terms[i].symbol, v, of_symbol))
            return false;
        for (unsigned l = 0; l < 32; l++)
            out[l] = (int64_t)((uint64_t)out[l] +
                               (uint64_t)of_symbol[l] * (uint64_t)form.terms[i].coefficient);
    }
    for (unsigned l = 0; l < 32; l++)
        out[l] = facts_extend((uint64_t)out[l] & facts_mask(w), w);
    return true;
}

bool facts_lane_step(const struct facts *f, const struct ir_value *v, int64_t *out)
{
    int64_t off[32];
    if (!facts_lane_offsets(f, v, off))
        return false;
    for (unsigned l = 2; l < 32; l++)
        if ((uint64_t)off[l] != l * (uint64_t)off[1])
            return false;
    *out = off[1];
    return true;
}

/* ---- roots */

struct facts_root facts_root(const struct facts *f, const struct ir_value *address)
{
    const uint64_t roots = address->id < f->nvalues ? f->of[address->id].roots : 0;
    if (!roots || (roots & (roots - 1)) || roots >= FACTS_ROOTS_OWN)
        return (struct facts_root){.kind = FACTS_ROOT_UNKNOWN};
    return f->roots[__builtin_ctzll(roots)];
}

/* Memory of the thread or the CTA, which no pointer from outside leads to. */
static bool is_own(const struct facts_root *r)
{
    return r->kind == FACTS_ROOT_ALLOCA || r->kind == FACTS_ROOT_OWN ||
           (r->kind == FACTS_ROOT_VAR && ir_space_is_window(r->var->space));
}

static bool roots_may_meet(const struct facts_root *a, const struct facts_root *b)
{
    if (a->kind == FACTS_ROOT_PARAM || b->kind == FACTS_ROOT_PARAM)
        return !is_own(a) && !is_own(b);
    if (a->kind == FACTS_ROOT_OWN || b->kind == FACTS_ROOT_OWN)
        return is_own(a) && is_own(b);
    if (a->kind != b->kind)
        return false;
    if (a->kind == FACTS_ROOT_ALLOCA)
        return a->alloca_ == b->alloca_;
    return a->var == b->var || (a->var->is_dynamic_shared && b->var->is_dynamic_shared);
}

bool facts_may_alias(const struct facts *f, const struct ir_value *a, const struct ir_value *b)
{
    const uint64_t ra = a->id < f->nvalues ? f->of[a->id].roots : 0;
    const uint64_t rb = b->id < f->nvalues ? f->of[b->id].roots : 0;
    const struct facts_root some = {.kind = FACTS_ROOT_OWN};

    if (!ra || !rb || ((ra | rb) & FACTS_ROOTS_UNKNOWN))
        return true;
    for (uint32_t i = 0; i <= FACTS_ROOTS_MAX; i++) {
        for (uint32_t k = 0; (ra >> i & 1) && k <= FACTS_ROOTS_MAX; k++) {
            const struct facts_root *x = i < f->nroots ? &f->roots[i] : &some;
            const struct facts_root *y = k < f->nroots ? &f->roots[k] : &some;
            if ((rb >> k & 1) && roots_may_meet(x, y))
                return true;
        }
    }
    return false;
}
