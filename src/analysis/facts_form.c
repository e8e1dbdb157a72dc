/*
 * Linear forms: constant + sum of coefficient * symbol, exact modulo 2^width; the column `form` of
 * spec/ir_facts.def. A symbol stands for its value extended by zeroes.
 *
 * Going to a wider type is exact where the sum, as an integer without limits, is between the ends
 * of the narrower one, which the ranges of its symbols tell. Where they do not, the wider value is
 * a symbol.
 */
#include "analysis/facts_impl.h"

static int64_t cut(uint64_t x, unsigned w)
{
    return facts_extend(x & facts_mask(w), w);
}

static const struct facts_form *form_of(const struct facts_state *s, const struct ir_value *v)
{
    return &s->f->of[v->id].form;
}

void facts_form_set(struct facts_state *s, const struct ir_value *v, uint64_t constant,
                    const struct facts_term *terms, uint32_t nterms)
{
    struct facts_value *fv = &s->f->of[v->id];

    assert(nterms <= FACTS_TERMS_MAX);
    if (nterms > fv->terms_cap) {
        fv->form.terms = hd_arena_alloc(s->arena, nterms * sizeof(*terms));
        fv->terms_cap = (uint8_t)nterms;
    }
    if (nterms)
        memcpy((struct facts_term *)fv->form.terms, terms, nterms * sizeof(*terms));
    fv->form.nterms = nterms;
    fv->form.constant = constant & facts_mask(facts_width(v));
}

static void set_symbol(struct facts_state *s, const struct ir_value *v, uint32_t symbol,
                       uint64_t constant)
{
    const struct facts_term term = {symbol, 1};
    facts_form_set(s, v, constant, &term, 1);
}

void facts_form_symbol(struct facts_state *s, const struct ir_value *v)
{
    if (facts_width(v))
        set_symbol(s, v, s->f->first_value + v->id, 0);
}

/* v = c + ka * a + kb * b; b may be NULL. */
static void set_sum(struct facts_state *s, const struct ir_value *v, uint64_t c,
                    const struct facts_form *a, uint64_t ka, const struct facts_form *b,
                    uint64_t kb)
{
    static const struct facts_form none;
    const unsigned w = facts_width(v);
    struct facts_term terms[2 * FACTS_TERMS_MAX];
    uint32_t n = 0, i = 0, j = 0;

    b = b ? b : &none;
    while (i < a->nterms || j < b->nterms) {
        const uint32_t x = i < a->nterms ? a->terms[i].symbol : UINT32_MAX;
        const uint32_t y = j < b->nterms ? b->terms[j].symbol : UINT32_MAX;
        uint64_t k = 0;
        if (x <= y)
            k += ka * (uint64_t)a->terms[i++].coefficient;
        if (y <= x)
            k += kb * (uint64_t)b->terms[j++].coefficient;
        if (cut(k, w))
            terms[n++] = (struct facts_term){HD_MIN(x, y), cut(k, w)};
    }
    if (n > FACTS_TERMS_MAX) {
        s->f->forms_cut++;
        facts_form_symbol(s, v);
        return;
    }
    facts_form_set(s, v, c + ka * a->constant + kb * b->constant, terms, n);
}

void facts_form_counter(struct facts_state *s, const struct ir_value *phi,
                        const struct facts_counter *c)
{
    const struct facts_term term = {facts_symbol_iteration(s->f, c->loop), 1};
    const struct facts_form iterations = {0, 1, &term};
    set_sum(s, phi, 0, form_of(s, c->init), 1, &iterations, (uint64_t)c->step);
}

/* ---- bounds */

static struct facts_range symbol_range(const struct facts *f, uint32_t symbol,
                                       const struct ir_block *at)
{
    const struct facts_symbol y = facts_symbol(f, symbol);
    struct facts_range r = facts_any(y.type);
    switch (y.kind) {
    case FACTS_SREG:
        return f->sregs[y.index];
    case FACTS_ITERATION:
        r.most = f->counts[y.index].counted ? f->counts[y.index].most : INT64_MAX;
        return r;
    case FACTS_VALUE:
        return at ? facts_range_at(f, y.value, at) : facts_range(f, y.value);
    case FACTS_VAR:
        if (ir_space_is_window(y.var->space))
            r.most = INT32_MAX >> 1;
        return r;
    case FACTS_PARAM:
        return r;
    }
    return r;
}

void facts_form_bounds(const struct facts *f, const struct facts_form *form, unsigned w,
                       const struct ir_block *at, facts_wide *out_least, facts_wide *out_most)
{
    *out_least = *out_most = cut(form->constant, w);
    for (uint32_t i = 0; i < form->nterms; i++) {
        const struct facts_range r = symbol_range(f, form->terms[i].symbol, at);
        const facts_wide k = form->terms[i].coefficient;
        *out_least += k * (facts_wide)(k < 0 ? r.most : r.least);
        *out_most += k * (facts_wide)(k < 0 ? r.least : r.most);
    }
}

/* The form of x at a wider type, if no sum wraps. */
static bool lifted(struct facts_state *s, const struct ir_value *x, bool is_signed,
                   const struct ir_block *at, struct facts_form *out)
{
    const unsigned w = facts_width(x);
    const facts_wide half = (facts_wide)1 << (w - 1);
    facts_wide least, most;

    if (w == 1 || w > 32)
        return false;
    *out = *form_of(s, x);
    facts_form_bounds(s->f, out, w, at, &least, &most);
    out->constant = (uint64_t)cut(out->constant, w);
    if (is_signed)
        return least >= -half && most < half;
    if (least < 0) {
        out->constant += (uint64_t)(2 * half);
        least += 2 * half;
        most += 2 * half;
    }
    return least >= 0 && most < 2 * half;
}

/* ---- operations */

static uint32_t extra_symbol(struct facts_state *s, uint64_t key, struct facts_symbol symbol)
{
    struct facts *f = s->f;
    const uint64_t known = (uint64_t)(uintptr_t)hd_map_get_u64(&s->symbols, key);
    if (known)
        return f->first_extra + (uint32_t)known - 1;
    if (!hd_map_put_u64(&s->symbols, key, (void *)(uintptr_t)(f->nextras + 1ull))) {
        s->failed = true;
        return f->first_extra;
    }
    f->extras[f->nextras++] = symbol;
    return f->first_extra + f->nextras - 1;
}

/* A parameter of the kernel at a known place. */
static bool form_load(struct facts_state *s, const struct ir_instr *in)
{
    uint64_t at;
    if (!s->f->func->is_kernel || in->mem.space != IR_SPACE_PARAM || in->ndst != 1 ||
        !ir_value_const(in->src[0], &at))
        return false;
    at += (uint64_t)in->mem.offset;
    const enum ir_type type = in->dst[0]->type;
    set_symbol(s, in->dst[0],
               extra_symbol(
                   s, at << 8 | (uint64_t)type << 1 | 1,
                   (struct facts_symbol){.kind = FACTS_PARAM, .index = (uint32_t)at, .type = type}),
               0);
    return true;
}

/* k * form(x), where x is extended. */
static bool form_wide(struct facts_state *s, const struct ir_instr *in)
{
    const bool sgn = ir_type_is_signed(in->type);
    struct facts_form f;
    uint64_t k;
    for (unsigned i = 0; i < 2; i++) {
        if (!facts_is_constant(&s->f->of[in->src[1 - i]->id].range, &k) ||
            !lifted(s, in->src[i], sgn, in->block, &f))
            continue;
        if (sgn)
            k = (uint64_t)facts_extend(k, facts_width(in->src[1 - i]));
        set_sum(s, in->dst[0], 0, &f, k, NULL, 0);
        return true;
    }
    return false;
}

static bool form_convert(struct facts_state *s, const struct ir_instr *in)
{
    const unsigned from = facts_width(in->src[0]), to = facts_width(in->dst[0]);
    struct facts_form f = *form_of(s, in->src[0]);
    if (!from || !to || from == 1 || ir_has(in, IR_MOD_SAT) || ir_type_is_float(in->type) ||
        ir_type_is_float(in->type2) || in->type == IR_TF32 || ir_type_lanes(in->type) > 1 ||
        ir_type_lanes(in->type2) > 1)
        return false;
    if (to > from && !lifted(s, in->src[0], ir_type_is_signed(in->type2), in->block, &f))
        return false;
    set_sum(s, in->dst[0], 0, &f, 1, NULL, 0);
    return true;
}

static bool form_of_two(struct facts_state *s, const struct ir_instr *in, enum facts_form_rule rule)
{
    const struct ir_value *v = in->dst[0];
    const struct facts_form *a = form_of(s, in->src[0]), *b = form_of(s, in->src[1]);
    const struct facts_range *ra = &s->f->of[in->src[0]->id].range;
    const struct facts_range *rb = &s->f->of[in->src[1]->id].range;
    uint64_t k;

    if (ir_has(in, IR_MOD_SAT))
        return false;
    switch (rule) {
    case FORM_SUM:
    case FORM_DIFFERENCE:
        set_sum(s, v, 0, a, 1, b, rule == FORM_SUM ? 1 : UINT64_MAX);
        return true;
    case FORM_PRODUCT:
        if (a->nterms && b->nterms)
            return false;
        set_sum(s, v, 0, b->nterms ? b : a, b->nterms ? a->constant : b->constant, NULL, 0);
        return true;
    case FORM_SHIFT:
        if (!facts_is_constant(rb, &k) || k >= facts_width(v))
            return false;
        set_sum(s, v, 0, a, UINT64_C(1) << k, NULL, 0);
        return true;
    case FORM_MASK: {
        const bool keeps_a = !(~ra->zeros & ~rb->ones);
        if (!keeps_a && (~rb->zeros & ~ra->ones))
            return false;
        set_sum(s, v, 0, keeps_a ? a : b, 1, NULL, 0);
        return true;
    }
    case FORM_DISJOINT:
        if (in->op == IR_OP_XOR && facts_is_constant(rb, &k) && k == facts_mask(facts_width(v))) {
            set_sum(s, v, UINT64_MAX, a, UINT64_MAX, NULL, 0);
            return true;
        }
        if (~ra->zeros & ~rb->zeros)
            return false;
        set_sum(s, v, 0, a, 1, b, 1);
        return true;
    default:
        return false;
    }
}

/* False: the value is a symbol. */
static bool form_visit(struct facts_state *s, const struct ir_instr *in)
{
    const struct ir_value *v = in->dst[0];
    const enum facts_form_rule rule = facts_rows[in->op].form;

    switch (rule) {
    case FORM_CONSTANT:
        facts_form_set(s, v, in->op == IR_OP_CONST ? in->imm : 0, NULL, 0);
        return true;
    case FORM_SREG:
        if (ir_sreg_scope((enum ir_sreg)in->imm) == IR_SREG_VOLATILE)
            return false;
        set_symbol(s, v, facts_symbol_sreg((enum ir_sreg)in->imm), 0);
        return true;
    case FORM_LOAD:
        return form_load(s, in);
    case FORM_VARIABLE: {
        const struct facts_symbol symbol = {.kind = FACTS_VAR, .type = IR_B64, .var = in->var};
        set_symbol(s, v, extra_symbol(s, (uint64_t)(uintptr_t)in->var, symbol), in->imm);
        return true;
    }
    case FORM_WINDOW:
        if (ir_space_is_window(in->mem.space) || facts_width(in->src[0]) != 64)
            return false;
        set_sum(s, v, 0, form_of(s, in->src[0]), 1, NULL, 0);
        return true;
    case FORM_NEGATION:
        set_sum(s, v, 0, form_of(s, in->src[0]), UINT64_MAX, NULL, 0);
        return true;
    case FORM_INVERSE:
        if (facts_width(v) == 1)
            return false;
        set_sum(s, v, UINT64_MAX, form_of(s, in->src[0]), UINT64_MAX, NULL, 0);
        return true;
    case FORM_CHOICE:
        if (!facts_form_equal(form_of(s, in->src[1]), form_of(s, in->src[2])))
            return false;
        set_sum(s, v, 0, form_of(s, in->src[1]), 1, NULL, 0);
        return true;
    case FORM_WIDE:
        return form_wide(s, in);
    case FORM_CONVERT:
        return form_convert(s, in);
    case FORM_SUM:
    case FORM_DIFFERENCE:
    case FORM_PRODUCT:
    case FORM_SHIFT:
    case FORM_MASK:
    case FORM_DISJOINT:
        return facts_width(v) > 1 && form_of_two(s, in, rule);
    case FORM_SYMBOL:
    case FORM_PHI:
        return false;
    }
    return false;
}

void facts_form_visit(struct facts_state *s, const struct ir_instr *in, uint32_t index)
{
    const struct ir_value *v = in->dst[index];
    uint64_t c;

    if (!facts_width(v))
        return;
    if (facts_is_constant(&s->f->of[v->id].range, &c))
        facts_form_set(s, v, c, NULL, 0);
    else if (index || ir_type_lanes(in->type) > 1 || !form_visit(s, in))
        facts_form_symbol(s, v);
}
