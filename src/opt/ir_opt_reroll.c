/*
 * requires: compacted. keeps: nothing of the cfg. breaks: dominance, liveness, shapes.
 *
 * Loops that a compiler has unrolled, rolled up again where lanes run one by one.
 *
 * `for (k = row[i]; k < row[i + 1]; k++) s += a[k] * x[col[k]]` comes unrolled: a loop for the rest
 * in front, another for four iterations at once. For a GPU that is less work; a CPU that runs the
 * lanes of such a gathering loop one by one finds two branches in each row that nobody can predict,
 * not one, and what it had begun behind them is lost. So when the big loop does just what several
 * iterations of the small one do, and how often each will run is known in front of both, the small
 * one is made once more, for all iterations. The new version is taken when that count is exact and
 * the addresses of the big loop go on where the small one ends, which a test finds each time:
 *
 *     cbr r == 0, M, pre;  pre: rest x r;  M: cbr p, out, start;  start: main x n
 *  -> cbr r + factor * n is exact, F, old;  F: rest x (r + factor * n), to out;  old: as before
 */
#include "opt/passes.h"

#include "base/map.h"
#include "analysis/shape.h"
#include "opt/unrolled.h"

struct roller {
    struct ir_func *func;
    struct opt_unrolled u;
    struct ir_builder b;
    struct hd_map made;    /* value -> the same in front of all, or in the new loop */
    struct hd_map aligned; /* value -> its bits that the new loop is only for when they are 0 */
};

/* ---- the new version */

static struct ir_value *made(const struct roller *r, const struct ir_value *v)
{
    return hd_map_get_u64(&r->made, (uintptr_t)v);
}

static struct ir_value *reroll_make(struct roller *r, const struct ir_value *v, struct ir_value *as)
{
    if (!hd_map_put_u64(&r->made, (uintptr_t)v, as))
        opt_failed(r->func);
    return as;
}

static struct ir_value *reroll_constant(struct roller *r, enum ir_type type, uint64_t bits)
{
    return ir_build_const(&r->b, ir_type_value(type), bits & opt_mask(type));
}

static enum ir_type reroll_unsigned_of(enum ir_type type)
{
    return ir_type_bits(type) == 64 ? IR_U64 : IR_U32;
}

/* An unsigned number in another width. */
static struct ir_value *reroll_resized(struct roller *r, struct ir_value *v, enum ir_type to)
{
    enum ir_type from = reroll_unsigned_of(v->type);

    to = reroll_unsigned_of(to);
    return from == to ? v : ir_build_cvt(&r->b, to, from, IR_RND_NONE, v);
}

/* start + step * iterations */
static struct ir_value *reroll_ramp_at(struct roller *r, struct ir_value *start, uint64_t step,
                                       struct ir_value *iterations)
{
    enum ir_type type = reroll_unsigned_of(start->type);
    struct ir_value *far = reroll_resized(r, iterations, type);

    if (step != 1)
        far = ir_build2(&r->b, IR_OP_MUL, type, far, reroll_constant(r, type, step));
    return ir_build2(&r->b, IR_OP_ADD, type, start, far);
}

static struct ir_value *reroll_copy(struct roller *r, const struct ir_instr *from)
{
    struct ir_instr *in =
        ir_build_instr(&r->b, from->op, from->type, from->nsrc, from->src, from->ndst);

    ir_instr_copy_fields(in, from);
    for (uint32_t s = 0; s < in->nsrc; s++) {
        struct ir_value *as = made(r, in->src[s]);
        in->src[s] = as ? as : in->src[s];
    }
    for (uint32_t d = 0; d < in->ndst; d++) {
        in->dst[d]->type = from->dst[d]->type;
        reroll_make(r, from->dst[d], in->dst[d]);
    }
    return in->ndst ? in->dst[0] : NULL;
}

/* Everything of blocks between the loops, and in front of each, as it will be; sums are not. */
static bool reroll_make_front(struct roller *r, const struct ir_block *block,
                              struct ir_value *iterations)
{
    for (const struct ir_instr *in = block ? block->first : NULL; in && in != block->last;
         in = in->next) {
        if (in->op != IR_OP_PHI) {
            for (uint32_t s = 0; s < in->nsrc; s++) {
                if (opt_unrolled_has(&r->u, in->src[s]) && !made(r, in->src[s]))
                    return false;
            }
            reroll_copy(r, in);
            continue;
        }
        const struct ir_instr *rest = opt_unrolled_goes_on(&r->u, in->dst[0]);
        if (rest && opt_step_of(rest))
            reroll_make(r, in->dst[0],
                        reroll_ramp_at(r, opt_init_of(rest), opt_step_of(rest), iterations));
    }
    return true;
}

static struct ir_value *reroll_as_made(struct roller *r, struct ir_value *v)
{
    struct ir_value *as = made(r, v);

    return as ? as : v;
}

static struct ir_value *reroll_both(struct roller *r, struct ir_value *a, struct ir_value *b)
{
    return ir_build2(&r->b, IR_OP_AND, IR_PRED, a, b);
}

/* What both loops together may need: less is no matter of how often they run. */
static struct ir_value *reroll_is_few(struct roller *r, struct ir_value *iterations)
{
    uint64_t most = UINT64_C(1) << (ir_type_bits(iterations->type) - 6);

    return ir_build_setp(&r->b, IR_OP_SETP, reroll_unsigned_of(iterations->type), IR_LE, iterations,
                         reroll_constant(r, iterations->type, most));
}

/* How often the big loop runs if it does; where that may be wrong *ok becomes false. */
static struct ir_value *reroll_main_trip_count(struct roller *r, struct ir_value **ok)
{
    bool down = (int64_t)r->u.step < 0;
    uint64_t size = down ? -r->u.step : r->u.step;
    struct ir_value *from = reroll_as_made(r, opt_init_of(r->u.last)), *to = r->u.bound, *d;
    enum ir_type type = reroll_unsigned_of(r->u.bound_type);

    to = reroll_as_made(r, to);
    d = ir_build2(&r->b, IR_OP_SUB, type, down ? from : to, down ? to : from);
    *ok = reroll_is_few(r, d);
    if (r->u.cmp == IR_NE) {
        struct ir_value *odd = reroll_constant(r, type, size - 1),
                        *zero = reroll_constant(r, type, 0);
        odd = ir_build2(&r->b, IR_OP_AND, type, d, odd);
        *ok = reroll_both(r, *ok, ir_build_setp(&r->b, IR_OP_SETP, type, IR_EQ, odd, zero));
        *ok = reroll_both(r, *ok, ir_build_setp(&r->b, IR_OP_SETP, type, IR_NE, d, zero));
    } else {
        uint64_t most = (opt_mask(r->u.bound_type) >> ir_type_is_signed(r->u.bound_type)) - size;
        *ok =
            reroll_both(r, *ok, ir_build_setp(&r->b, IR_OP_SETP, r->u.bound_type, IR_LT, from, to));
        *ok = reroll_both(r, *ok,
                          ir_build_setp(&r->b, IR_OP_SETP, r->u.bound_type, IR_LE, to,
                                        reroll_constant(r, r->u.bound_type, most)));
        d = ir_build2(&r->b, IR_OP_ADD, type, d, reroll_constant(r, type, size - 1));
    }
    struct ir_value *shift = reroll_constant(r, IR_B32, (uint64_t)__builtin_ctzll(size));
    return size == 1 ? d : ir_build2(&r->b, IR_OP_SHR, type, d, shift);
}

/* What two values differ in: constants go into *distance, what both add to goes. */
static void reroll_without_common(const struct ir_value **a, const struct ir_value **b,
                                  uint64_t *distance)
{
    const struct ir_value *from;
    uint64_t more;

    for (bool changed = true; changed;) {
        changed = false;
        while (opt_is_sum(*a, &from, &more)) {
            *a = from;
            *distance -= more;
        }
        while (opt_is_sum(*b, &from, &more)) {
            *b = from;
            *distance += more;
        }
        const struct ir_instr *x = (*a)->instr, *y = (*b)->instr;
        if (!x || !y || !ir_is_plain_add(x) || !ir_is_plain_add(y))
            return;
        for (uint32_t s = 0; s < 4 && !changed; s++) {
            changed = x->src[s / 2] == y->src[s % 2];
            if (changed) {
                *a = x->src[1 - s / 2];
                *b = y->src[1 - s % 2];
            }
        }
    }
}

/* The big loop's ramps go on where those of the small one end. */
static struct ir_value *reroll_ramps_meet(struct roller *r, struct ir_value *ok,
                                          struct ir_value *iterations)
{
    struct {
        const struct ir_value *rest, *main;
        uint64_t distance, step;
    } met[OPT_UNROLLED_PHIS];
    uint32_t n = 0, known;

    for (uint32_t i = 0; i < r->u.npairs; i++) {
        const struct opt_pair *p = &r->u.pairs[i];
        met[n].rest = opt_init_of(p->rest);
        met[n].main = opt_init_of(p->main);
        met[n].distance = p->distance;
        met[n].step = opt_step_of(p->rest);
        reroll_without_common(&met[n].rest, &met[n].main, &met[n].distance);
        for (known = 0; known < n; known++) {
            if (met[known].rest == met[n].rest && met[known].main == met[n].main &&
                met[known].distance == met[n].distance && met[known].step == met[n].step)
                break;
        }
        if (known < n)
            continue;
        struct ir_value *begin = reroll_as_made(r, (struct ir_value *)met[n].rest);
        struct ir_value *on = reroll_as_made(r, (struct ir_value *)met[n].main);
        enum ir_type type = ir_type_bits(begin->type) == 64 ? IR_U64 : IR_U32;
        struct ir_value *end = reroll_ramp_at(r, begin, met[n].step, iterations);
        on = ir_build2(&r->b, IR_OP_ADD, type, on, reroll_constant(r, type, met[n].distance));
        ok = reroll_both(r, ok, ir_build_setp(&r->b, IR_OP_SETP, type, IR_EQ, end, on));
        n++;
    }
    return ok;
}

/* ---- alignment: tested once, in front of the loop */

/* Is the value a multiple of `size_B` whatever it is made of? */
static bool reroll_is_multiple(const struct ir_value *v, uint64_t size_B)
{
    const struct ir_instr *in = v->instr;
    uint64_t x;

    if (!in || (in->op != IR_OP_MULWIDE && in->op != IR_OP_MUL && in->op != IR_OP_SHL) ||
        !ir_value_const(in->src[1], &x))
        return false;
    return in->op == IR_OP_SHL ? x < 32 && (UINT64_C(1) << x) % size_B == 0 : x % size_B == 0;
}

/*
 * The value of which the low bits are those of the address that the loop loads from, in front of
 * the loop; NULL: there is none.
 */
static const struct ir_value *reroll_aligned_with(const struct roller *r,
                                                  const struct ir_instr *load)
{
    uint64_t size_B = ir_type_bits(load->type) / 8;
    const struct ir_value *v = load->src[0];
    struct opt_ramp ramp = opt_ramp_of(v, r->u.rest);

    if ((uint64_t)load->mem.offset % size_B)
        return NULL;
    if (ramp.phi)
        return ramp.at % size_B || opt_step_of(ramp.phi->instr) % size_B
                   ? NULL
                   : opt_init_of(ramp.phi->instr);
    if (!v->instr || !ir_is_plain_add(v->instr) || v->instr->block != r->u.rest)
        return NULL;
    for (uint32_t s = 0; s < 2; s++) {
        const struct ir_value *base = v->instr->src[s];
        bool outside = !base->instr || base->instr->block != r->u.rest;
        if (outside && reroll_is_multiple(v->instr->src[1 - s], size_B))
            return base;
    }
    return NULL;
}

/* Are all of them? The new loop says so by masks, so that code generators know. */
static struct ir_value *reroll_are_aligned(struct roller *r, struct ir_value *ok)
{
    ir_foreach_instr(in, r->u.rest) {
        const struct ir_value *v = in->op == IR_OP_LD ? reroll_aligned_with(r, in) : NULL;
        uint64_t low = ir_type_bits(in->type) / 8 - 1;
        if (!v || !low || v->type != IR_B64 || hd_map_get_u64(&r->aligned, (uintptr_t)v))
            continue;
        struct ir_value *bits = reroll_as_made(r, (struct ir_value *)v);
        bits = ir_build2(&r->b, IR_OP_AND, IR_B64, bits, reroll_constant(r, IR_B64, low));
        ok = reroll_both(
            r, ok,
            ir_build_setp(&r->b, IR_OP_SETP, IR_U64, IR_EQ, bits, reroll_constant(r, IR_U64, 0)));
        if (!hd_map_put_u64(&r->aligned, (uintptr_t)v, (void *)(uintptr_t)low))
            opt_failed(r->func);
    }
    return ok;
}

/* Is what the count is made of there, in front of both? */
static bool reroll_is_made(const struct roller *r, const struct ir_value *v)
{
    return !opt_unrolled_has(&r->u, v) || made(r, v);
}

static bool reroll_all_made(const struct roller *r)
{
    bool is = reroll_is_made(r, r->u.bound) && reroll_is_made(r, r->u.mid->last->src[0]) &&
              reroll_is_made(r, opt_init_of(r->u.last));

    for (uint32_t i = 0; i < r->u.npairs; i++)
        is = is && reroll_is_made(r, opt_init_of(r->u.pairs[i].main));
    return is;
}

/* All iterations of both, in front of them; NULL: it cannot be said. */
static struct ir_value *reroll_whole_trip_count(struct roller *r, struct ir_value **out_ok)
{
    struct ir_value *rest = r->u.iterations, *ok, *all;
    enum ir_type type = reroll_unsigned_of(r->u.bound_type);

    if (!reroll_make_front(r, r->u.pre, rest) || !reroll_make_front(r, r->u.mid, rest) ||
        !reroll_make_front(r, r->u.start, rest) || !reroll_all_made(r))
        return NULL;
    if (ir_type_bits(rest->type) == 64)
        type = IR_U64;
    struct ir_value *runs = reroll_as_made(r, r->u.mid->last->src[0]);
    struct ir_value *main = reroll_resized(r, reroll_main_trip_count(r, &ok), type),
                    *zero = reroll_constant(r, type, 0);
    main = ir_build2(&r->b, IR_OP_MUL, type, main, reroll_constant(r, type, r->u.factor));
    ok = reroll_ramps_meet(r, ok, rest);
    if (r->u.main_if)
        runs = ir_build1(&r->b, IR_OP_NOT, IR_PRED, runs);
    ok = ir_build2(&r->b, IR_OP_OR, IR_PRED, ok, runs); /* it does not run */
    ok = reroll_both(r, ok, reroll_is_few(r, rest));
    main = ir_build3(&r->b, IR_OP_SELECT, ir_type_value(type), runs, zero, main);
    all = ir_build2(&r->b, IR_OP_ADD, type, reroll_resized(r, rest, type), main);
    ok = reroll_both(r, ok, ir_build_setp(&r->b, IR_OP_SETP, type, IR_NE, all, zero));
    *out_ok = reroll_are_aligned(r, ok);
    return all;
}

static struct ir_instr *reroll_new_phi(struct roller *r, struct ir_block *loop, enum ir_type type,
                                       struct ir_value *start)
{
    struct ir_instr *phi = ir_build_phi(loop, type);

    if (r->func->module->arena.failed)
        return NULL;
    phi->src[loop->preds[0] == loop ? 1 : 0] = start;
    return phi;
}

static void reroll_end_phi(struct ir_instr *phi, struct ir_value *next)
{
    phi->src[phi->block->preds[0] == phi->block ? 0 : 1] = next;
}

/* Iteration number `j` is that of the small loop. */
static void reroll_make_iteration(struct roller *r, struct ir_block *loop, struct ir_value *j)
{
    struct ir_instr *phis[OPT_UNROLLED_PHIS];
    for (uint32_t i = 0; i < r->u.nsums; i++) {
        const struct ir_instr *of = r->u.sums[i].rest;
        phis[i] = reroll_new_phi(r, loop, of->dst[0]->type, reroll_as_made(r, opt_init_of(of)));
        if (!phis[i])
            return;
        reroll_make(r, of->dst[0], phis[i]->dst[0]);
    }
    struct hd_map_iter it = {0};
    while (hd_map_next(&r->aligned, &it)) {
        const struct ir_value *v = (const struct ir_value *)(uintptr_t)it.key_u64;
        struct ir_value *is = reroll_as_made(r, (struct ir_value *)v);
        struct ir_value *mask = reroll_constant(r, IR_B64, ~(uint64_t)(uintptr_t)it.value);
        reroll_make(r, v, ir_build2(&r->b, IR_OP_AND, IR_B64, is, mask));
    }
    ir_foreach_instr(in, r->u.rest) {
        if (in->op == IR_OP_PHI && opt_step_of(in))
            reroll_make(r, in->dst[0],
                        reroll_ramp_at(r, reroll_as_made(r, opt_init_of(in)), opt_step_of(in), j));
        else if (in->op != IR_OP_PHI && in != r->u.rest->last)
            reroll_copy(r, in);
    }
    for (uint32_t i = 0; i < r->u.nsums; i++)
        reroll_end_phi(phis[i], reroll_as_made(r, opt_latch_of(r->u.sums[i].rest)));
}

static void reroll_make_loop(struct roller *r, struct ir_value *iterations, struct ir_value *ok)
{
    struct ir_block *old = ir_block_split_before(r->u.entry->last);
    struct ir_block *loop = ir_block_create(r->func), *succs[] = {loop, r->u.out};

    if (r->func->module->arena.failed)
        return;
    r->b.before = NULL;
    ir_build_cbr(&r->b, ok, loop, old);
    ir_block_set_succs(loop, 2, succs);
    r->b.block = r->u.entry;
    ir_func_link_cfg(r->func);
    if (r->func->module->arena.failed)
        return;
    struct ir_builder at_entry = {
        .func = r->func, .block = r->u.entry, .before = r->u.entry->last, .srcloc = r->b.srcloc};
    struct ir_value *zero = ir_build_const(&at_entry, IR_B64, 0);
    struct ir_instr *count = reroll_new_phi(r, loop, IR_B64, zero);
    r->b.block = loop;
    if (!count)
        return;
    reroll_make_iteration(r, loop, count->dst[0]);
    if (r->func->module->arena.failed)
        return;
    struct ir_value *next =
        ir_build2(&r->b, IR_OP_ADD, IR_U64, count->dst[0], reroll_constant(r, IR_U64, 1));
    reroll_end_phi(count, next);
    iterations = reroll_resized(r, iterations, IR_U64);
    ir_build_cbr(&r->b, ir_build_setp(&r->b, IR_OP_SETP, IR_U64, IR_NE, next, iterations), loop,
                 r->u.out);
    ir_foreach_instr(phi, r->u.out) {
        for (uint32_t p = 0; phi->op == IR_OP_PHI && p < phi->nsrc; p++) {
            if (r->u.out->preds[p] == loop)
                phi->src[p] = reroll_as_made(r, opt_unrolled_leaves(&r->u, phi));
        }
    }
}

static void reroll_roll(struct roller *r)
{
    struct ir_value *ok, *iterations;

    r->b = (struct ir_builder){.func = r->func,
                               .block = r->u.entry,
                               .before = r->u.entry->last,
                               .srcloc = r->u.entry->last->srcloc};
    hd_map_init(&r->made);
    hd_map_init(&r->aligned);
    iterations = reroll_whole_trip_count(r, &ok);
    if (iterations && !r->func->module->arena.failed)
        reroll_make_loop(r, iterations, ok);
    hd_map_fini(&r->made);
    hd_map_fini(&r->aligned);
}

/* ---- */

bool ir_opt_reroll(struct ir_func *func)
{
    struct roller r = {.func = func};
    struct ir_shapes shapes;
    struct hd_arena tmp;
    uint32_t nblocks = func->nblocks;
    bool changed = false;

    if (!func->is_kernel || func->module->has_notes)
        return false;
    hd_arena_init(&tmp);
    if (ir_shapes_compute(func, opt_cpu_launch, &tmp, &shapes) != HD_OK)
        opt_failed(func);
    for (uint32_t b = 0; b < nblocks && !func->module->arena.failed; b++) {
        r.u = (struct opt_unrolled){.func = func, .shapes = &shapes};
        if (shapes.needs_dispatch || !opt_unrolled_find(&r.u, func->blocks[b]))
            continue;
        reroll_roll(&r);
        changed = true;
    }
    hd_arena_fini(&tmp);
    if (changed && !func->module->arena.failed)
        ir_func_compact(func);
    return changed;
}
