/*
 * The order in which facts are computed: blocks in layout order, which is reverse postorder with
 * loops contiguous, so that all a value depends on comes first, but for what comes back to the
 * header of a loop. An outermost loop is visited again until what its headers' phis take along back
 * edges is within what was assumed of them; then once more with what came, if that is less.
 */
#include "analysis/facts_impl.h"

/* ---- scopes */

static enum facts_scope scope_max(enum facts_scope a, enum facts_scope b)
{
    return a > b ? a : b;
}

/* Read in another loop than where it is defined, a value is of the iteration that left its loop. */
static enum facts_scope scope_in(const struct facts *f, const struct ir_value *v, uint32_t block)
{
    enum facts_scope scope = (enum facts_scope)f->of[v->id].scope;
    uint32_t loop = v->instr ? f->loops.loop_of[v->instr->block->id] : IR_NO_BLOCK;
    for (; loop != IR_NO_BLOCK && !facts_loop_contains(&f->loops, loop, block);
         loop = f->loops.loops[loop].parent)
        scope = scope_max(scope, (enum facts_scope)f->counts[loop].exit_scope);
    return scope;
}

static enum facts_scope scope_of_sreg(enum ir_sreg sreg)
{
    switch (ir_sreg_scope(sreg)) {
    case IR_SREG_GRID:
        return FACTS_GRID;
    case IR_SREG_CLUSTER:
    case IR_SREG_CTA:
        return FACTS_CTA;
    case IR_SREG_WARP:
        return FACTS_WARP;
    case IR_SREG_LANE:
    case IR_SREG_VOLATILE:
        break;
    }
    return FACTS_LANE;
}

static enum facts_scope scope_of(const struct facts_state *s, const struct ir_instr *in)
{
    enum facts_scope scope = FACTS_GRID;
    switch ((enum facts_scope_rule)facts_rows[in->op].scope) {
    case SCOPE_SREG:
        return scope_of_sreg((enum ir_sreg)in->imm);
    case SCOPE_LOAD:
        /* What nobody writes while the kernel runs. */
        if (in->mem.space != IR_SPACE_CONST &&
            !(in->mem.space == IR_SPACE_PARAM && s->f->func->is_kernel))
            return FACTS_LANE;
        break;
    case SCOPE_VARIABLE:
        if (in->var->space == IR_SPACE_LOCAL)
            return FACTS_LANE;
        return ir_space_is_shared(in->var->space) ? FACTS_CTA : FACTS_GRID;
    case SCOPE_WINDOW:
        if (in->mem.space == IR_SPACE_LOCAL)
            return FACTS_LANE;
        scope = ir_space_is_window(in->mem.space) ? FACTS_CTA : FACTS_GRID;
        break;
    case SCOPE_PHI:
    case SCOPE_LANE:
        return FACTS_LANE;
    case SCOPE_SAME:
        break;
    }
    for (uint32_t i = 0; i < in->nsrc && scope < FACTS_LANE; i++)
        scope = scope_max(scope, scope_in(s->f, in->src[i], in->block->id));
    return scope;
}

/*
 * Whose threads come to a join along the same edge. All branches between it and its dominator, in
 * layout, may decide that; of the header of a loop (else IR_NO_BLOCK) all in the loop, too.
 */
static enum facts_scope scope_of_join(const struct facts_state *s, const struct ir_block *block,
                                      uint32_t loop)
{
    const uint32_t from = s->f->dom.idom[block->id];
    enum facts_scope scope = FACTS_LANE;

    if (block->npreds < 2)
        return FACTS_GRID;
    if (s->f->loops.irreducible || from == IR_NO_BLOCK)
        return FACTS_LANE;
    /* In the first iteration they came by the one edge, in others by the other. */
    if (loop != IR_NO_BLOCK && block->npreds == 2)
        return FACTS_GRID;
    while (scope > FACTS_GRID && s->last_with[scope] <= from)
        scope--;
    if (loop != IR_NO_BLOCK)
        scope = scope_max(scope, (enum facts_scope)s->f->counts[loop].branch_scope);
    return scope;
}

static void scope_of_branch(struct facts_state *s, const struct ir_block *block)
{
    const struct ir_instr *last = block->last;
    const struct ir_loops *loops = &s->f->loops;
    enum facts_scope scope = FACTS_GRID;

    if (last->nsrc && block->nsuccs > 1)
        scope = scope_in(s->f, last->src[0], block->id);
    for (uint32_t k = scope; k > FACTS_GRID; k--)
        s->last_with[k] = block->id + 1;
    for (uint32_t l = loops->loop_of[block->id]; l != IR_NO_BLOCK; l = loops->loops[l].parent) {
        struct facts_loop *fl = &s->f->counts[l];
        fl->branch_scope = (uint8_t)scope_max((enum facts_scope)fl->branch_scope, scope);
        for (uint32_t i = 0; i < block->nsuccs; i++)
            if (!facts_loop_contains(loops, l, block->succs[i]->id))
                fl->exit_scope = (uint8_t)scope_max((enum facts_scope)fl->exit_scope, scope);
    }
}

/* ---- roots */

static uint64_t root_number(struct facts_state *s, uint64_t key, struct facts_root root)
{
    struct facts *f = s->f;
    const uint64_t known = (uint64_t)(uintptr_t)hd_map_get_u64(&s->root_of, key);
    if (known)
        return UINT64_C(1) << (known - 1);
    if (f->nroots == FACTS_ROOTS_MAX)
        return FACTS_ROOTS_UNKNOWN;
    f->roots[f->nroots++] = root;
    if (!hd_map_put_u64(&s->root_of, key, (void *)(uintptr_t)f->nroots))
        s->failed = true;
    return UINT64_C(1) << (f->nroots - 1);
}

/* Of a load: a parameter of 64 bits. */
static uint64_t roots_of_load(struct facts_state *s, const struct ir_instr *ld, uint32_t index)
{
    uint64_t at;
    if (!ld->block->func->is_kernel || ld->mem.space != IR_SPACE_PARAM ||
        !ir_value_const(ld->src[0], &at) || ir_type_bits(ld->type) != 64)
        return FACTS_ROOTS_UNKNOWN;
    at += (uint64_t)ld->mem.offset + 8ull * index;
    const struct facts_root root = {.kind = FACTS_ROOT_PARAM, .offset_B = (uint32_t)at};
    return root_number(s, at << 1 | 1, root);
}

static uint64_t roots_of_sources(const struct facts_state *s, const struct ir_instr *in)
{
    uint64_t roots = 0;
    for (uint32_t i = 0; i < in->nsrc; i++)
        roots |= s->f->of[in->src[i]->id].roots;
    return roots;
}

static uint64_t roots_of(struct facts_state *s, const struct ir_instr *in, uint32_t index)
{
    const bool wide = ir_type_bits(in->dst[index]->type) >= 64;
    const uint64_t unknown = wide ? FACTS_ROOTS_UNKNOWN : 0;
    const struct ir_instr *from;
    uint64_t roots, count;
    switch ((enum facts_roots_rule)facts_rows[in->op].roots) {
    case ROOTS_NONE:
        return 0;
    case ROOTS_SOURCES:
        return roots_of_sources(s, in);
    case ROOTS_SCALED:
        /* A product or shifted number is an index, unless it brings the upper half of a pointer to
         * its place, or puts back what was shifted out. */
        if (in->op == IR_OP_SHL && wide && !(ir_value_const(in->src[1], &count) && count < 32))
            return FACTS_ROOTS_UNKNOWN;
        from = in->src[0]->instr;
        return from && (from->op == IR_OP_SHR || from->op == IR_OP_DIV) ? roots_of_sources(s, in)
                                                                        : 0;
    case ROOTS_VARIABLE:
        return root_number(s, (uint64_t)(uintptr_t)in->var,
                           (struct facts_root){.kind = FACTS_ROOT_VAR, .var = in->var});
    case ROOTS_ALLOCA:
        return root_number(s, (uint64_t)(uintptr_t)in,
                           (struct facts_root){.kind = FACTS_ROOT_ALLOCA, .alloca_ = in});
    case ROOTS_LOAD:
        return wide ? roots_of_load(s, in, index) : 0;
    case ROOTS_WINDOW:
        roots = roots_of_sources(s, in);
        return !roots && ir_space_is_window(in->mem.space) ? FACTS_ROOTS_OWN : roots;
    case ROOTS_OWN:
        return FACTS_ROOTS_OWN;
    case ROOTS_BUILTIN:
        return in->imm == IR_BUILTIN_MALLOC ? FACTS_ROOTS_OWN : unknown;
    case ROOTS_UNKNOWN:
        return unknown;
    }
    return unknown;
}

/* ---- values */

enum { SOURCES_MAX = 16 }; /* of a PACK */

static struct facts_range range_of(const struct facts_state *s, const struct ir_instr *in,
                                   const struct ir_value *v)
{
    const unsigned w = facts_width(v);
    struct facts_range src[SOURCES_MAX];
    struct facts_op o = {.in = in, .src = src, .w = w, .sw = w, .f = s->f};

    if (!w || facts_rows[in->op].range == facts_rule_any || in->nsrc > SOURCES_MAX ||
        ir_type_lanes(in->type) > 1)
        return facts_any_of(w ? w : 64);
    for (uint32_t i = 0; i < in->nsrc; i++)
        src[i] = facts_range_at(s->f, in->src[i], in->block);
    if (in->nsrc && in->op != IR_OP_SELECT && in->op != IR_OP_PACK && in->op != IR_OP_UNPACK)
        o.sw = facts_width(in->src[0]);
    if (in->nsrc && in->op == IR_OP_UNPACK && !facts_width(in->src[0]))
        return facts_any_of(w);
    o.is_signed = ir_type_is_signed(in->type);
    return facts_rows[in->op].range(&o);
}

/* ---- phis */

static bool comes_back(const struct ir_block *block, uint32_t pred)
{
    return block->preds[pred]->id >= block->id;
}

/* What comes along all edges, or along those that were visited. */
struct joined {
    struct facts_range range;
    uint64_t roots;
    enum facts_scope scope;
    const struct facts_form *form; /* NULL: they differ, or some comes along a back edge */
};

static struct joined join_of(const struct facts_state *s, const struct ir_instr *phi, bool all)
{
    const struct ir_block *block = phi->block;
    struct joined j = {0};
    bool any = false, same = true;

    for (uint32_t p = 0; p < phi->nsrc; p++) {
        const struct ir_value *x = phi->src[p];
        const struct facts_value *fx = &s->f->of[x->id];
        const bool back = comes_back(block, p);
        if ((back && !all) || x == phi->dst[0])
            continue;
        const struct facts_range r =
            facts_width(x) ? facts_range_on(s->f, x, block->preds[p], block) : facts_any_of(64);
        j.range = any ? facts_join(&j.range, &r) : r;
        j.roots |= fx->roots;
        j.scope = scope_max(j.scope, scope_in(s->f, x, block->id));
        same = same && !back && (!any || facts_form_equal(j.form, &fx->form));
        j.form = &fx->form;
        any = true;
    }
    if (!any)
        j.range = facts_any_of(facts_width(phi->dst[0]) ? facts_width(phi->dst[0]) : 64);
    if (!any || !same)
        j.form = NULL;
    return j;
}

static void set_phi(struct facts_state *s, const struct ir_instr *phi, const struct joined *j)
{
    const struct ir_value *v = phi->dst[0];
    struct facts_value *fv = &s->f->of[v->id];
    uint64_t c;

    s->f->visits++;
    fv->range = j->range;
    fv->scope = (uint8_t)j->scope;
    fv->roots = j->roots;
    if (!facts_width(v) || !s->f->has_lanes)
        return;
    if (facts_is_constant(&fv->range, &c))
        facts_form_set(s, v, c, NULL, 0);
    else if (j->form)
        facts_form_set(s, v, j->form->constant, j->form->terms, j->form->nterms);
    else
        facts_form_symbol(s, v);
}

/* Nothing is known of what comes back. */
static void give_up_phi(struct facts_state *s, const struct ir_instr *phi)
{
    const unsigned w = facts_width(phi->dst[0]);
    struct joined j = {.range = facts_any_of(w ? w : 64),
                       .roots = w == 64 ? FACTS_ROOTS_UNKNOWN : 0,
                       .scope = FACTS_LANE};
    set_phi(s, phi, &j);
}

/* ---- loops */

/* How phis of headers are visited. */
enum pass {
    PASS_FIRST, /* as if nothing came back */
    PASS_AGAIN, /* as they are: raise() has set them */
    PASS_GIVE_UP
};

static void visit_header(struct facts_state *s, const struct ir_block *block, uint32_t loop,
                         enum pass pass)
{
    const enum facts_scope way = scope_of_join(s, block, loop);

    facts_loop_count(s, loop);
    for (const struct ir_instr *phi = block->first; phi && phi->op == IR_OP_PHI; phi = phi->next) {
        const struct facts_counter *c = facts_counter_of(s, phi->dst[0]);
        if (c) {
            const struct facts_value *init = &s->f->of[c->init->id];
            struct joined j = {.range = facts_counter_range(s, c), .roots = init->roots};
            j.scope = scope_in(s->f, c->init, block->id); /* whichever edge it was */
            set_phi(s, phi, &j);
            if (s->f->has_lanes)
                facts_form_counter(s, phi->dst[0], c);
        } else if (pass == PASS_FIRST) {
            struct joined j = join_of(s, phi, false);
            j.scope = scope_max(j.scope, way);
            j.form = NULL;
            set_phi(s, phi, &j);
        } else if (pass == PASS_GIVE_UP) {
            give_up_phi(s, phi);
        } else {
            s->f->visits++;
        }
    }
}

/* What grew becomes everything on that side; of bits those above the lowest that changed, since
 * sums carry upwards. */
static struct facts_range widened(const struct facts_range *old, const struct facts_range *r,
                                  unsigned w)
{
    const struct facts_range any = facts_any_of(w);
    struct facts_range out = facts_join(old, r);
    const uint64_t lost = (old->zeros | old->ones) & ~(out.zeros | out.ones) & facts_mask(w);
    const uint64_t keep = lost ? (lost & -lost) - 1 : UINT64_MAX;

    out.zeros = (out.zeros & (keep | ~facts_mask(w)));
    out.ones &= keep;
    if (r->least < old->least)
        out.least = any.least;
    if (r->most > old->most)
        out.most = any.most;
    if (r->sleast < old->sleast)
        out.sleast = any.sleast;
    if (r->smost > old->smost)
        out.smost = any.smost;
    return facts_close(&out, w) ? out : any;
}

static bool within(const struct facts_range *r, const struct facts_range *of)
{
    return r->least >= of->least && r->most <= of->most && r->sleast >= of->sleast &&
           r->smost <= of->smost && !(of->zeros & ~r->zeros) && !(of->ones & ~r->ones);
}

enum change { CHANGE_NONE, CHANGE_LESS, CHANGE_MORE };

/*
 * Compares what a header's phis take with what was assumed; assumes more where that is not within
 * (with `widen` all that it can grow to), or exactly what came with `lower`.
 */
static enum change raise_header(struct facts_state *s, const struct ir_block *block, uint32_t loop,
                                bool widen, bool lower)
{
    const enum facts_scope way = scope_of_join(s, block, loop);
    enum change change = CHANGE_NONE;

    for (const struct ir_instr *phi = block->first; phi && phi->op == IR_OP_PHI; phi = phi->next) {
        struct facts_value *fv = &s->f->of[phi->dst[0]->id];
        const unsigned w = facts_width(phi->dst[0]);
        if (facts_counter_of(s, phi->dst[0]))
            continue;
        struct joined j = join_of(s, phi, true);
        j.scope = scope_max(j.scope, way);
        j.form = NULL;
        const bool more =
            (w && !within(&j.range, &fv->range)) || (j.roots & ~fv->roots) || j.scope > fv->scope;
        const bool less = w && !facts_same(&j.range, &fv->range);
        if (more) {
            j.roots |= fv->roots;
            j.scope = scope_max(j.scope, (enum facts_scope)fv->scope);
            if (w)
                j.range =
                    widen ? widened(&fv->range, &j.range, w) : facts_join(&fv->range, &j.range);
            set_phi(s, phi, &j);
            change = CHANGE_MORE;
        } else if (less && change != CHANGE_MORE) {
            change = CHANGE_LESS;
            if (lower)
                set_phi(s, phi, &j);
        }
    }
    return change;
}

static void visit_block(struct facts_state *s, uint32_t b, enum pass pass)
{
    const struct ir_block *block = s->f->func->blocks[b];
    const uint32_t loop = s->f->loops.loop_of[b];
    bool back = false;

    for (uint32_t p = 0; p < block->npreds; p++)
        back |= comes_back(block, p);
    if (loop != IR_NO_BLOCK && s->f->loops.loops[loop].header == b && !s->f->loops.irreducible) {
        visit_header(s, block, loop, pass);
    } else if (back) { /* of a cycle that is no loop */
        for (const struct ir_instr *p = block->first; p && p->op == IR_OP_PHI; p = p->next)
            give_up_phi(s, p);
    } else {
        const enum facts_scope way = scope_of_join(s, block, IR_NO_BLOCK);
        for (const struct ir_instr *p = block->first; p && p->op == IR_OP_PHI; p = p->next) {
            struct joined j = join_of(s, p, true);
            j.scope = scope_max(j.scope, way);
            set_phi(s, p, &j);
        }
    }
    ir_foreach_instr(in, block) {
        for (uint32_t d = 0; in->op != IR_OP_PHI && d < in->ndst; d++) {
            struct facts_value *fv = &s->f->of[in->dst[d]->id];
            s->f->visits++;
            fv->range = range_of(s, in, in->dst[d]);
            if (!s->f->has_lanes)
                continue;
            fv->scope = (uint8_t)scope_of(s, in);
            fv->roots = roots_of(s, in, d);
            facts_form_visit(s, in, d);
        }
    }
    if (s->f->has_lanes)
        scope_of_branch(s, block);
}

static enum change raise_loops(struct facts_state *s, uint32_t loop, bool widen, bool lower)
{
    const struct ir_loops *loops = &s->f->loops;
    enum change change = CHANGE_NONE;
    for (uint32_t l = loop; l < loops->nloops && loops->loops[l].header <= loops->loops[loop].last;
         l++) {
        const enum change c =
            raise_header(s, s->f->func->blocks[loops->loops[l].header], l, widen, lower);
        change = HD_MAX(change, c);
    }
    return change;
}

static void visit_blocks(struct facts_state *s, uint32_t first, uint32_t last, enum pass pass)
{
    for (uint32_t b = first; b <= last; b++)
        visit_block(s, b, pass);
}

/* An outermost loop, with all that is in it. */
static void visit_loop(struct facts_state *s, uint32_t loop)
{
    const struct ir_loop *l = &s->f->loops.loops[loop];
    uint32_t last_with[HD_COUNT_OF(s->last_with)];
    enum change change;

    memcpy(last_with, s->last_with, sizeof(last_with));
    visit_blocks(s, l->header, l->last, PASS_FIRST);
    for (unsigned n = 1;
         (change = raise_loops(s, loop, n + 1 >= FACTS_WIDEN_VISITS, false)) == CHANGE_MORE; n++) {
        memcpy(s->last_with, last_with, sizeof(last_with));
        if (n == FACTS_VISITS_MAX) {
            s->f->loops_given_up++;
            visit_blocks(s, l->header, l->last, PASS_GIVE_UP);
            return;
        }
        visit_blocks(s, l->header, l->last, PASS_AGAIN);
    }
    if (change == CHANGE_NONE)
        return;
    /* What was assumed holds, and so does what follows of it. */
    raise_loops(s, loop, false, true);
    memcpy(s->last_with, last_with, sizeof(last_with));
    visit_blocks(s, l->header, l->last, PASS_AGAIN);
}

/* ---- set-up */

static bool facts_alloc(struct facts_state *s)
{
    struct facts *f = s->f;
    uint32_t extras = 0;

    f->nvalues = f->func->nvalues;
    f->of = hd_arena_array(s->arena, struct facts_value, (size_t)f->nvalues + 1);
    f->values = hd_arena_array(s->arena, const struct ir_value *, (size_t)f->nvalues + 1);
    f->counts = hd_arena_array(s->arena, struct facts_loop, (size_t)f->loops.nloops + 1);
    f->sregs = hd_arena_array(s->arena, struct facts_range, IR_SREG_COUNT);
    s->counter_of = hd_arena_array(&s->tmp, uint32_t, (size_t)f->nvalues + 1);
    if (!f->of || !f->values || !f->counts || !f->sregs || !s->counter_of)
        return false;
    for (uint32_t b = 0; b < f->func->nblocks; b++) {
        ir_foreach_instr(in, f->func->blocks[b]) {
            extras += in->op == IR_OP_VARADDR || in->op == IR_OP_LD;
            for (uint32_t d = 0; d < in->ndst; d++)
                f->values[in->dst[d]->id] = in->dst[d];
        }
    }
    f->extras = hd_arena_array(s->arena, struct facts_symbol, (size_t)extras + 1);
    f->first_value = IR_SREG_COUNT + f->loops.nloops;
    f->first_extra = f->first_value + f->nvalues;
    for (unsigned i = 0; i < IR_SREG_COUNT; i++)
        f->sregs[i] = facts_sreg_range(f->func, f->launch, (enum ir_sreg)i);
    return f->extras && facts_guards_compute(s);
}

static void visit_args(struct facts_state *s)
{
    struct facts *f = s->f;
    for (uint32_t i = 0; i < f->func->proto.nparams && !f->func->is_kernel; i++) {
        const struct ir_value *v = f->func->args[i];
        struct facts_value *fv = &f->of[v->id];
        f->values[v->id] = v;
        fv->range = facts_any_of(facts_width(v) ? facts_width(v) : 64);
        fv->roots = facts_width(v) == 64 ? FACTS_ROOTS_UNKNOWN : 0;
        fv->scope = FACTS_LANE;
        facts_form_symbol(s, v);
    }
}

static enum hd_status compute(struct facts_state *s)
{
    struct facts *f = s->f;

    if (f->has_lanes) {
        HD_TRY(ir_shapes_compute(f->func, f->launch, s->arena, &f->shapes));
        f->dom = f->shapes.dom;
        f->loops = f->shapes.loops;
    } else {
        HD_TRY(ir_dom_compute(f->func, s->arena, &f->dom));
        HD_TRY(ir_loops_compute(f->func, &f->dom, s->arena, &f->loops));
    }
    if (!facts_alloc(s))
        return hd_error(HD_NO_MEMORY, "%s: no memory for facts", f->func->name);
    visit_args(s);
    for (uint32_t b = 0; b < f->func->nblocks;) {
        const uint32_t loop = f->loops.loop_of[b];
        if (loop != IR_NO_BLOCK && !f->loops.irreducible) {
            assert(f->loops.loops[loop].header == b);
            visit_loop(s, loop);
            b = f->loops.loops[loop].last + 1;
        } else {
            visit_block(s, b++, PASS_FIRST);
        }
    }
    /* What lanes of a warp have alike the shape analysis knows better. */
    for (uint32_t v = 0; f->has_lanes && v < f->nvalues; v++)
        if (f->of[v].scope == FACTS_LANE && f->shapes.of[v].kind == IR_SHAPE_UNIFORM)
            f->of[v].scope = FACTS_WARP;
    if (f->has_lanes && !facts_lanes_compute(s))
        s->failed = true;
    if (s->failed)
        return hd_error(HD_NO_MEMORY, "%s: no memory for facts", f->func->name);
    HD_TRY(hd_arena_status(&s->tmp));
    return hd_arena_status(s->arena);
}

static enum hd_status facts_start(const struct ir_func *func, struct ir_launch_facts launch,
                                  bool lanes, struct hd_arena *arena, struct facts *out)
{
    struct facts_state s = {.f = out, .arena = arena};

    *out = (struct facts){.func = func, .launch = launch, .has_lanes = lanes};
    hd_arena_init(&s.tmp);
    hd_map_init(&s.symbols);
    hd_map_init(&s.root_of);
    const enum hd_status status = compute(&s);
    hd_map_fini(&s.root_of);
    hd_map_fini(&s.symbols);
    hd_vec_fini(&s.counters);
    hd_arena_fini(&s.tmp);
    return status;
}

enum hd_status facts_compute(const struct ir_func *func, const struct ir_launch_facts *launch,
                             struct hd_arena *arena, struct facts *out)
{
    struct ir_launch_facts l = {.warps = 1, .extents = IR_BLOCK_ANY};
    if (launch)
        l = *launch;
    l.group = 32;
    return facts_start(func, l, true, arena, out);
}

enum hd_status facts_compute_ranges(const struct ir_func *func, struct hd_arena *arena,
                                    struct facts *out)
{
    const struct ir_launch_facts l = {.group = 32, .warps = 1, .extents = IR_BLOCK_ANY};
    return facts_start(func, l, false, arena, out);
}
