/*
 * Values live across suspend points, spilled or rematerialised: what is the same in the whole CTA
 * goes through the CTA's area (gen_cta.c), what is cheap is computed again, the rest goes through
 * the warp's frame. A value has one place in the frame for the whole kernel, so it is stored at
 * the first suspend point after it was computed and only read at later ones.
 *
 * A phi of a loop and the value that it is made from at the loop's end have one place if they are
 * never needed at the same one: an iteration that only passes the value on does not touch it.
 *
 * Many values across many suspend points make as much code as the product of both. Beyond a limit
 * only what is read before the next suspend point is restored, or stored there; the rest stays
 * where it is.
 */
#include "jit/gen/flow/gen_flow.h"

#include <assert.h>
#include <string.h>

enum live_how { LIVE_NOT, LIVE_CTA, LIVE_REMADE, LIVE_FRAME };

struct live_value {
    const struct ir_value *v;
    enum live_how how;
};

struct gen_live_set {
    const struct ir_instr *stop;
    struct live_value *values; /* needed at any time afterwards, by id */
    uint32_t nvalues;
    uint64_t *placed; /* set of those that have a place: in the frame or the CTA's areas */
    uint64_t *kept;   /* set of values whose place is up to date before the suspend point */
    /* set of those read before the next suspend point or stored at it; NULL = all */
    uint64_t *wanted;
};

struct gen_live_sets {
    struct gen_live_set *points; /* in the order of blocks */
    uint32_t nsuspends;
    uint32_t *first;                  /* by block: index of its first suspend point */
    const struct ir_value **partners; /* by id of a phi: who has its place, too; NULL = no pairs */
};

static void live_add(uint64_t *set, uint32_t id)
{
    set[id / 64] |= 1ull << (id % 64);
}

static void live_remove(uint64_t *set, uint32_t id)
{
    set[id / 64] &= ~(1ull << (id % 64));
}

/* Values needed after `instr`: live out of the block, read later in it, and indices of those that
 * have one. */
static uint64_t *live_after(struct gen *g, const struct ir_instr *instr)
{
    uint32_t words = g->live.words;
    uint64_t *set = hd_arena_array(&g->arena, uint64_t, words);
    if (!set)
        return NULL;
    ir_live_bits(&g->live, ir_live_out(&g->live, instr->block->id), set);
    for (const struct ir_instr *in = instr->next; in; in = in->next) {
        for (uint32_t s = 0; s < in->nsrc; s++)
            live_add(set, in->src[s]->id);
    }
    for (const struct ir_instr *in = instr->next; in; in = in->next) {
        for (uint32_t d = 0; d < in->ndst; d++)
            live_remove(set, in->dst[d]->id);
    }
    return set;
}

static uint64_t live_frame_slot(struct gen *g, const struct ir_value *v)
{
    if (!g->frame_at[v->id]) {
        uint64_t bits = ir_type_bits(v->type);
        bool vec = gen_shape(g, v)->kind == IR_SHAPE_VARYING;
        uint64_t one = vec ? bits * GEN_LANES / 8 : 8 * ((bits + 63) / 64);
        g->frame_at[v->id] = 1 + gen_frame_alloc(g, one * g->unit->halves, one > 64 ? 64 : one);
    }
    return g->frame_at[v->id] - 1;
}

static uint64_t live_component_stride(struct gen *g, const struct ir_value *v)
{
    uint64_t bits = ir_type_bits(v->type);
    if (gen_shape(g, v)->kind == IR_SHAPE_VARYING)
        return bits * GEN_LANES / 8;
    return 8 * ((bits + 63) / 64);
}

static void live_value_put(struct gen *g, const struct ir_value *v, const struct gen_val *val)
{
    uint64_t at = live_frame_slot(g, v);
    for (unsigned i = 0; i < gen_components(g, gen_shape(g, v)); i++) {
        LLVMValueRef x = val->c[i];
        if (LLVMTypeOf(x) == g->t->mask)
            x = gen_bits(g, x);
        LLVMBuildStore(g->b, x, gen_gep(g, g->frame, at + i * live_component_stride(g, v)));
    }
}

static void value_save(struct gen *g, const struct ir_value *v)
{
    struct gen_val val = gen_get_raw(g, v);
    live_value_put(g, v, &val);
}

static void live_value_set_restored(struct gen *g, const struct ir_value *v,
                                    const struct gen_val *val)
{
    assert(val->kind == val->shape->kind && val->shape == gen_shape(g, v));
    for (unsigned i = 0; i < gen_components(g, val->shape); i++) {
        LLVMValueRef x = val->c[i];
        if (LLVMTypeOf(x) == g->t->mask)
            x = gen_bits(g, x);
        if (g->slots[v->id].ptr[i])
            LLVMBuildStore(g->b, x, g->slots[v->id].ptr[i]);
    }
    g->cache[v->id] = *val;
    g->cache_epoch[v->id] = g->epoch;
}

static void value_restore(struct gen *g, const struct ir_value *v)
{
    const struct ir_shape *shape = gen_shape(g, v);
    struct gen_val val = {.kind = shape->kind, .stride = shape->stride, .shape = shape};
    uint64_t at = live_frame_slot(g, v);
    for (unsigned i = 0; i < gen_components(g, shape); i++) {
        LLVMValueRef ptr = gen_gep(g, g->frame, at + i * live_component_stride(g, v));
        val.c[i] = LLVMBuildLoad2(g->b, gen_component_type(g, v), ptr, "");
        if (v->type == IR_PRED && shape->kind == IR_SHAPE_VARYING)
            val.c[i] = gen_mask_from_bits(g, val.c[i]);
    }
    live_value_set_restored(g, v, &val);
}

static const struct ir_value **live_values_by_id(struct gen *g)
{
    const struct ir_func *f = g->func;
    const struct ir_value **map = hd_arena_array(&g->arena, const struct ir_value *, f->nvalues);
    if (!map)
        return NULL;
    for (uint32_t b = 0; b < f->nblocks; b++) {
        ir_foreach_instr(in, f->blocks[b]) {
            for (uint32_t d = 0; d < in->ndst; d++)
                map[in->dst[d]->id] = in->dst[d];
        }
    }
    return map;
}

/* Who only arrives goes on. */
static bool live_is_suspend(const struct ir_instr *in)
{
    return in->op == IR_OP_BAR && ir_bar_waits((enum ir_bar)in->imm);
}

static bool live_sreg_is_remade(enum ir_sreg sreg, enum ir_shape_kind kind)
{
    enum ir_sreg_scope scope = ir_sreg_scope(sreg);
    return kind != IR_SHAPE_VARYING &&
           (scope == IR_SREG_LANE || scope == IR_SREG_CTA || scope == IR_SREG_GRID);
}

static bool live_op_is_remade(struct gen *g, const struct ir_instr *in)
{
    enum ir_shape_kind kind = gen_shape(g, in->dst[0])->kind;
    switch (in->op) {
    case IR_OP_SREG:
        return live_sreg_is_remade((enum ir_sreg)in->imm, kind);
    case IR_OP_LD:
        return in->mem.space == IR_SPACE_PARAM && in->ndst == 1;
    case IR_OP_VARADDR:
        return true;
    case IR_OP_DIV:
    case IR_OP_REM:
        return false;
    default:
        return ir_op_has(in->op, IR_F_PURE) && in->ndst == 1;
    }
}

static const struct ir_value *live_index_of(struct gen *g, const struct ir_value *v)
{
    const struct ir_shape *shape = gen_shape(g, v);
    return shape->kind == IR_SHAPE_BASE_INDEX ? shape->index : NULL;
}

/*
 * Can `v` be computed again after the suspend point from what gets across it (`set`), within the
 * budget? A few scalar operations cost no more than a trip through memory.
 */
static bool live_can_remake(struct gen *g, const uint64_t *set, const struct ir_value *v,
                            int *budget)
{
    const struct ir_instr *in = v->instr;
    const struct ir_value *index = live_index_of(g, v);
    if (!in || in->op == IR_OP_PHI || (g->shapes.temporal && g->shapes.temporal[v->id]))
        return false;
    if (in->op == IR_OP_CONST)
        return true;
    if (in->op != IR_OP_SREG && in->op != IR_OP_VARADDR) /* which are there */
        *budget -= gen_shape(g, v)->kind == IR_SHAPE_VARYING ? 2 : 1;
    if (*budget < 0 || !live_op_is_remade(g, in))
        return false;
    for (uint32_t s = 0; s < in->nsrc; s++) {
        const struct ir_value *src = in->src[s];
        if (!ir_live_test(set, src->id) && !live_can_remake(g, set, src, budget))
            return false;
    }
    return !index || ir_live_test(set, index->id) || live_can_remake(g, set, index, budget);
}

/* One scalar for the whole CTA? */
static bool live_is_of_cta(const struct gen *g, const struct ir_value *v)
{
    return g->body.by_region && (g->cta_uniform[v->id] || g->cta_base[v->id]);
}

static enum live_how live_how_of(struct gen *g, const uint64_t *set, const struct ir_value *v)
{
    int budget = gen_shape(g, v)->kind == IR_SHAPE_VARYING ? 4 : 8;
    if (!ir_live_test(set, v->id) || (v->instr && v->instr->op == IR_OP_CONST) ||
        gen_slot_is_shared(g, v)) /* which is in the frame */
        return LIVE_NOT;
    if (live_is_of_cta(g, v))
        return LIVE_CTA;
    return live_can_remake(g, set, v, &budget) ? LIVE_REMADE : LIVE_FRAME;
}

static uint64_t live_cta_slot(struct gen *g, const struct ir_value *v)
{
    assert(live_is_of_cta(g, v) && gen_components(g, gen_shape(g, v)) == 1);
    if (!g->cta_at[v->id]) {
        g->cta_at[v->id] = 1 + g->body.cta_area_B;
        g->body.cta_area_B += ir_type_bits(v->type) == 128 ? 16 : 8;
    }
    return g->cta_at[v->id] - 1;
}

static void live_value_save(struct gen *g, enum live_how how, const struct ir_value *v)
{
    if (how == LIVE_CTA)
        LLVMBuildStore(g->b, gen_get_raw(g, v).c[0], gen_gep(g, g->cta_out, live_cta_slot(g, v)));
    else if (how == LIVE_FRAME)
        value_save(g, v);
}

static void live_value_restore(struct gen *g, enum live_how how, const struct ir_value *v)
{
    if (how == LIVE_CTA) {
        const struct ir_shape *shape = gen_shape(g, v);
        LLVMTypeRef type = gen_scalar_type(g, v->type);
        LLVMValueRef at = gen_gep(g, g->cta_in, live_cta_slot(g, v));
        struct gen_val val = {.kind = shape->kind, .stride = shape->stride, .shape = shape};
        val.c[0] = LLVMBuildLoad2(g->b, type, at, "");
        live_value_set_restored(g, v, &val);
    } else if (how == LIVE_FRAME) {
        value_restore(g, v);
    }
}

/* ---- what is needed after each stop */

static bool live_is_placed(enum live_how how)
{
    return how == LIVE_FRAME || how == LIVE_CTA;
}

static void live_value_add(struct gen *g, struct gen_live_set *c, const uint64_t *set, uint32_t id)
{
    const struct ir_value *v = g->values[id];
    enum live_how how = v && ir_live_test(set, id) ? live_how_of(g, set, v) : LIVE_NOT;

    if (how == LIVE_NOT)
        return;
    assert(how != LIVE_CTA || gen_components(g, gen_shape(g, v)) == 1);
    c->values[c->nvalues++] = (struct live_value){v, how};
    if (live_is_placed(how))
        live_add(c->placed, id);
}

static uint32_t live_set_count(const uint64_t *set, uint32_t words)
{
    uint32_t n = 0;
    for (uint32_t w = 0; w < words; w++)
        n += (uint32_t)__builtin_popcountll(set[w]);
    return n;
}

static bool live_set_fill(struct gen *g, struct gen_live_set *c)
{
    uint32_t n = g->func->nvalues, words = g->live.words;
    uint64_t *set = live_after(g, c->stop);
    c->placed = hd_arena_array(&g->arena, uint64_t, words);
    c->kept = hd_arena_array(&g->arena, uint64_t, words);
    if (!set || !c->placed || !c->kept)
        return false;
    for (uint32_t d = 0; d < c->stop->ndst; d++) /* results come after the suspend point */
        live_remove(set, c->stop->dst[d]->id);
    for (uint32_t id = 0; id < n; id++) {
        const struct ir_value *v = g->values[id];
        if (v && ir_live_test(set, id) && live_index_of(g, v))
            live_add(set, live_index_of(g, v)->id); /* addresses need their indices */
    }
    c->values = hd_arena_array(&g->arena, struct live_value, live_set_count(set, words) + 1);
    for (uint32_t id = 0; c->values && id < n; id++)
        live_value_add(g, c, set, id);
    return c->values != NULL;
}

/* ---- phis in the place of what goes round their loop */

static bool live_has_suspend_after(const struct ir_instr *in)
{
    while ((in = in->next)) {
        if (live_is_suspend(in))
            return true;
    }
    return false;
}

/*
 * What `phi` is made from at the end of its loop, where that is in the frame by then; all other
 * ways to it are its own. NULL: there is no such value.
 */
static const struct ir_value *live_partner_of(const struct gen *g, const struct ir_instr *phi)
{
    const struct ir_value *partner = NULL;

    for (uint32_t p = 0; p < phi->nsrc; p++) {
        const struct ir_block *pred = phi->block->preds[p];
        const struct ir_instr *in = phi->src[p]->instr;
        if (g->shapes.divergent[pred->id])
            return NULL;
        if (pred->id < phi->block->id) {
            if (pred->nsuccs != 1)
                return NULL;
            continue;
        }
        if (partner || !in || in->op == IR_OP_PHI || in->block != pred ||
            !live_has_suspend_after(in))
            return NULL;
        partner = phi->src[p];
    }
    return partner;
}

/* The same bits in the same form, whichever lanes run? */
static bool live_are_alike(struct gen *g, const struct ir_value *phi,
                           const struct ir_value *partner)
{
    uint32_t header = phi->instr->block->id;

    return phi->type == partner->type && phi->type != IR_PRED &&
           gen_shape(g, phi)->kind == IR_SHAPE_VARYING &&
           gen_shape(g, partner)->kind == IR_SHAPE_VARYING &&
           (g->nan_raw[phi->id] || !g->nan_raw[partner->id]) && !g->shapes.divergent[header] &&
           !g->shapes.divergent_join[header] &&
           !(g->shapes.temporal && g->shapes.temporal[phi->id]);
}

/* Is each in the frame at some suspend points, and at none both? */
static bool live_are_coalesced(const struct gen *g, const struct ir_value *phi,
                               const struct ir_value *partner)
{
    bool any_phi = false, any_partner = false;

    for (uint32_t i = 0; i < g->live_sets->nsuspends; i++) {
        const struct gen_live_set *c = &g->live_sets->points[i];
        bool has_phi = false, has_partner = false;
        for (uint32_t k = 0; k < c->nvalues; k++) {
            const struct live_value *it = &c->values[k];
            if (it->v != phi && it->v != partner)
                continue;
            if (it->how != LIVE_FRAME)
                return false;
            *(it->v == phi ? &has_phi : &has_partner) = true;
        }
        if (has_phi && has_partner)
            return false;
        any_phi |= has_phi;
        any_partner |= has_partner;
    }
    return any_phi && any_partner;
}

static void live_partner_find(struct gen *g, const struct ir_instr *phi)
{
    const struct ir_value *v = phi->dst[0], *partner = live_partner_of(g, phi);

    if (!partner || g->frame_at[partner->id] || g->frame_at[v->id] ||
        !live_are_alike(g, v, partner) || !live_are_coalesced(g, v, partner))
        return;
    gen_fired(g, GEN_PASS_PHI_SLOTS);
    live_frame_slot(g, v);
    g->frame_at[partner->id] = g->frame_at[v->id];
    g->live_sets->partners[v->id] = partner;
}

static bool live_partners_find(struct gen *g)
{
    const struct ir_func *f = g->func;

    if (!g->body.by_region || !gen_does(g, GEN_PASS_PHI_SLOTS))
        return true;
    g->live_sets->partners = hd_arena_array(&g->arena, const struct ir_value *, f->nvalues + 1);
    for (uint32_t b = 0; g->live_sets->partners && b < f->nblocks; b++) {
        ir_foreach_instr(in, f->blocks[b]) {
            if (in->op == IR_OP_PHI)
                live_partner_find(g, in);
        }
    }
    return g->live_sets->partners != NULL;
}

static const struct ir_value *live_partner_at(const struct gen *g, const struct ir_value *phi)
{
    return g->live_sets->partners ? g->live_sets->partners[phi->id] : NULL;
}

/* ---- which places are up to date */

/* Sets of values at the blocks' ends that a walk over the function settles. */
struct walk {
    struct gen *g;
    uint64_t *at;  /* by block: what holds at its start (forward) or end (backward) */
    uint64_t *now; /* what holds where the walk is */
};

static bool live_walk_init(struct gen *g, struct walk *w)
{
    uint32_t words = g->live.words;

    w->g = g;
    w->at = hd_arena_array(&g->arena, uint64_t, (size_t)g->func->nblocks *words);
    w->now = hd_arena_array(&g->arena, uint64_t, words);
    return w->at && w->now;
}

static uint64_t *live_walk_at(const struct walk *w, uint32_t block)
{
    return w->at + (size_t)block * w->g->live.words;
}

/* Through `b` with the set of values whose place is up to date. */
static void live_places_walk(struct walk *w, const struct ir_block *b)
{
    struct gen_live_set *c = w->g->live_sets->points + w->g->live_sets->first[b->id];
    size_t size_B = w->g->live.words * sizeof(*w->now);

    memcpy(w->now, live_walk_at(w, b->id), size_B);
    ir_foreach_instr(in, b) {
        if (live_is_suspend(in)) {
            assert(c->stop == in);
            memcpy(c->kept, w->now, size_B);
            memcpy(w->now, c++->placed, size_B);
        }
        for (uint32_t d = 0; d < in->ndst; d++)
            live_remove(w->now, in->dst[d]->id);
        if (in->op == IR_OP_PHI && live_partner_at(w->g, in->dst[0])) { /* gen_live_phi() */
            live_add(w->now, in->dst[0]->id);
            live_remove(w->now, live_partner_at(w->g, in->dst[0])->id);
        }
    }
}

/* Forward, intersection at joins; starts from "everything" and settles. */
static bool live_places_find(struct gen *g)
{
    const struct ir_func *f = g->func;
    uint32_t words = g->live.words;
    struct walk walk;
    bool changed = true;
    if (!live_walk_init(g, &walk))
        return false;
    memset(live_walk_at(&walk, 0) + words, 0xff,
           (size_t)(f->nblocks - 1) * words * sizeof(*walk.at));
    while (changed) {
        changed = false;
        for (uint32_t b = 0; b < f->nblocks; b++) {
            live_places_walk(&walk, f->blocks[b]);
            for (uint32_t s = 0; s < f->blocks[b]->nsuccs; s++) {
                uint64_t *to = live_walk_at(&walk, f->blocks[b]->succs[s]->id);
                for (uint32_t w = 0; w < words; w++) {
                    changed |= (to[w] & ~walk.now[w]) != 0;
                    to[w] &= walk.now[w];
                }
            }
        }
    }
    return true;
}

/* ---- what is read before the next suspend point */

static void live_want(struct walk *w, const struct ir_value *v)
{
    live_add(w->now, v->id);
    if (live_index_of(w->g, v))
        live_add(w->now, live_index_of(w->g, v)->id);
}

static bool live_is_stored(const struct gen_live_set *c, const struct live_value *it)
{
    return live_is_placed(it->how) && !ir_live_test(c->kept, it->v->id);
}

/* At the suspend point: only what it stores itself is wanted before it. */
static void live_wants_at_suspend(struct walk *w, struct gen_live_set *c)
{
    size_t size_B = w->g->live.words * sizeof(*w->now);

    memcpy(c->wanted, w->now, size_B);
    memset(w->now, 0, size_B);
    for (uint32_t i = 0; i < c->nvalues; i++) {
        if (live_is_stored(c, &c->values[i]))
            live_want(w, c->values[i].v);
    }
}

/* Phis read at the ends of the blocks before theirs. */
static void live_wants_of_phis(struct walk *w, const struct ir_block *b)
{
    for (uint32_t p = 0; p < b->npreds; p++) {
        uint64_t *end = live_walk_at(w, b->preds[p]->id);
        ir_foreach_instr(phi, b) {
            if (phi->op != IR_OP_PHI)
                break;
            live_add(end, phi->src[p]->id);
            if (live_index_of(w->g, phi->src[p]))
                live_add(end, live_index_of(w->g, phi->src[p])->id);
        }
    }
}

static void live_wants_walk(struct walk *w, const struct ir_block *b)
{
    const struct gen_live_sets *all = w->g->live_sets;
    uint32_t stop = b->id + 1 < w->g->func->nblocks ? all->first[b->id + 1] : all->nsuspends;

    memcpy(w->now, live_walk_at(w, b->id), w->g->live.words * sizeof(*w->now));
    for (const struct ir_instr *in = b->last; in; in = in->prev) {
        for (uint32_t d = 0; d < in->ndst; d++)
            live_remove(w->now, in->dst[d]->id);
        if (live_is_suspend(in))
            live_wants_at_suspend(w, &all->points[--stop]);
        for (uint32_t s = 0; s < in->nsrc && in->op != IR_OP_PHI; s++)
            live_want(w, in->src[s]);
    }
    assert(stop == all->first[b->id]);
}

/* Backward, union at branches. */
static bool live_wants_find(struct gen *g)
{
    const struct ir_func *f = g->func;
    struct walk walk;
    bool changed = true;
    for (uint32_t i = 0; i < g->live_sets->nsuspends; i++) {
        g->live_sets->points[i].wanted = hd_arena_array(&g->arena, uint64_t, g->live.words);
        if (!g->live_sets->points[i].wanted)
            return false;
    }
    if (!live_walk_init(g, &walk))
        return false;
    for (uint32_t b = 0; b < f->nblocks; b++)
        live_wants_of_phis(&walk, f->blocks[b]);
    while (changed) {
        changed = false;
        for (uint32_t b = f->nblocks; b-- > 0;) {
            live_wants_walk(&walk, f->blocks[b]);
            for (uint32_t p = 0; p < f->blocks[b]->npreds; p++) {
                uint64_t *to = live_walk_at(&walk, f->blocks[b]->preds[p]->id);
                for (uint32_t w = 0; w < g->live.words; w++) {
                    changed |= (walk.now[w] & ~to[w]) != 0;
                    to[w] |= walk.now[w];
                }
            }
        }
    }
    return true;
}

/* ---- all suspend points */

static bool live_suspends_list(struct gen *g)
{
    const struct ir_func *f = g->func;
    struct gen_live_sets *all = hd_arena_array(&g->arena, struct gen_live_sets, 1);
    uint32_t n = 0;
    if (!all)
        return false;
    all->first = hd_arena_array(&g->arena, uint32_t, f->nblocks);
    for (uint32_t b = 0; all->first && b < f->nblocks; b++) {
        all->first[b] = n;
        ir_foreach_instr(in, f->blocks[b])
            n += live_is_suspend(in);
    }
    all->points = hd_arena_array(&g->arena, struct gen_live_set, n + 1);
    if (!all->first || !all->points)
        return false;
    for (uint32_t b = 0; b < f->nblocks; b++) {
        ir_foreach_instr(in, f->blocks[b]) {
            if (live_is_suspend(in))
                all->points[all->nsuspends++].stop = in;
        }
    }
    g->live_sets = all;
    return true;
}

/* Would restoring everything at every stop be much more than the kernel itself? */
static bool live_is_much(const struct gen *g)
{
    uint64_t all = 0, own = 0;
    for (uint32_t i = 0; i < g->live_sets->nsuspends; i++)
        all += g->live_sets->points[i].nvalues;
    for (uint32_t b = 0; b < g->func->nblocks; b++)
        ir_foreach_instr(in, g->func->blocks[b])
            own++;
    return all > 2 * own + 500;
}

static bool live_sets_find(struct gen *g)
{
    g->values = live_values_by_id(g);
    if (!g->values || !live_suspends_list(g))
        return false;
    for (uint32_t i = 0; i < g->live_sets->nsuspends; i++) {
        if (!live_set_fill(g, &g->live_sets->points[i]))
            return false;
    }
    bool much = live_is_much(g);
    return (much || live_partners_find(g)) && live_places_find(g) && (!much || live_wants_find(g));
}

void gen_live_phi(struct gen *g, const struct ir_value *phi, const struct ir_value *source,
                  const struct gen_val *val)
{
    if (!g->body.by_region || (!g->live_sets && !live_sets_find(g)))
        return;
    const struct ir_value *partner = live_partner_at(g, phi);
    if (partner && source != partner)
        live_value_put(g, phi, val);
}

const struct gen_live_set *gen_live_at(struct gen *g, const struct ir_instr *stop)
{
    if (!g->live_sets && !live_sets_find(g))
        return NULL;
    struct gen_live_set *c = g->live_sets->points + g->live_sets->first[stop->block->id];
    while (c->stop != stop)
        c++;
    assert(c < g->live_sets->points + g->live_sets->nsuspends);
    return c;
}

uint32_t gen_live_number(const struct gen *g, const struct gen_live_set *c)
{
    return (uint32_t)(c - g->live_sets->points);
}

bool gen_live_saves(const struct gen *g, const struct gen_live_set *c)
{
    for (uint32_t i = 0; i < c->nvalues; i++) {
        const struct live_value *it = &c->values[i];
        if (it->how == LIVE_FRAME && (live_is_stored(c, it) || live_partner_at(g, it->v)))
            return true;
    }
    return false;
}

bool gen_live_keeps(struct gen *g, const struct ir_instr *bar, const struct ir_value *v)
{
    const struct gen_live_set *c = live_is_suspend(bar) ? gen_live_at(g, bar) : NULL;
    for (uint32_t i = 0; c && i < c->nvalues; i++) {
        if (c->values[i].v == v)
            return !c->wanted || ir_live_test(c->wanted, v->id);
    }
    return false;
}

void gen_live_save(struct gen *g, const struct gen_live_set *c)
{
    for (uint32_t i = 0; i < c->nvalues; i++) {
        const struct live_value *it = &c->values[i];
        /* Areas of the CTA become registers: writing again costs nothing, and code is the same. */
        if (live_is_stored(c, it) || (it->how == LIVE_CTA && !c->wanted))
            live_value_save(g, it->how, it->v);
    }
}

/*
 * Computes it again, from what is restored for it when only what is read is. Sums of matrix
 * products that have a place of their own are there.
 */
static void live_remake(struct gen *g, const struct gen_live_set *c, const struct ir_value *v)
{
    const struct ir_value *index = live_index_of(g, v);
    if ((v->instr && v->instr->op == IR_OP_CONST) || g->cache_epoch[v->id] == g->epoch ||
        gen_slot_is_shared(g, v))
        return;
    if (ir_live_test(c->placed, v->id)) {
        live_value_restore(g, live_is_of_cta(g, v) ? LIVE_CTA : LIVE_FRAME, v);
        return;
    }
    assert(v->instr && v->instr->op != IR_OP_PHI);
    for (uint32_t s = 0; s < v->instr->nsrc; s++)
        live_remake(g, c, v->instr->src[s]);
    if (index)
        live_remake(g, c, index);
    gen_instr(g, v->instr);
}

void gen_live_restore(struct gen *g, const struct gen_live_set *c)
{
    for (uint32_t i = 0; i < c->nvalues; i++) {
        const struct live_value *it = &c->values[i];
        if (live_is_placed(it->how) && (!c->wanted || ir_live_test(c->wanted, it->v->id)))
            live_value_restore(g, it->how, it->v);
    }
    for (uint32_t i = 0; i < c->nvalues; i++) {
        const struct live_value *it = &c->values[i];
        if (it->how == LIVE_REMADE && (!c->wanted || ir_live_test(c->wanted, it->v->id)))
            live_remake(g, c, it->v);
    }
}
