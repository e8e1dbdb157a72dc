/*
 * requires: compacted. keeps: cfg, dominance. breaks: liveness, shapes.
 *
 * Generic accesses whose address can only come from cvta of shared or of local memory become
 * accesses of that space. Compilers leave them so at -O0, and in functions that are inlined here.
 * What is known of a space is then known of them: shared memory is private to the CTA, local memory
 * to the thread.
 *
 * Every address starts as "not seen" and only rises: a space, then any. A sum keeps the space of
 * its pointer when the other side is certainly an index, as the difference of two pointers could
 * lead anywhere.
 */
#include "opt/passes.h"

#include <assert.h>

#define INDEX_DEPTH 8

enum where { NOT_SEEN, SHARED, LOCAL, ANYWHERE };

struct spaces {
    struct ir_func *func;
    struct hd_arena tmp;
    uint8_t *where;           /* enum where, by value id */
    bool *needed;             /* by value id: its window address is wanted */
    struct ir_value **window; /* by value id: that address */
    struct ir_value **stack;  /* values whose sources are to be marked */
    uint32_t depth, nvalues;
};

/* ---- where does a value point? */

static bool space_is_index(const struct ir_value *value, unsigned depth)
{
    const struct ir_instr *in = value->instr;

    if (!in || depth == INDEX_DEPTH)
        return false;
    switch (in->op) {
    case IR_OP_CONST:
    case IR_OP_MUL:
    case IR_OP_MULWIDE:
    case IR_OP_SHL:
        return true;
    case IR_OP_CVT:
        return ir_type_bits(in->type2) < 64;
    case IR_OP_NEG:
        return space_is_index(in->src[0], depth + 1);
    case IR_OP_ADD:
    case IR_OP_SUB:
        return space_is_index(in->src[0], depth + 1) && space_is_index(in->src[1], depth + 1);
    default:
        return false;
    }
}

static bool space_is_plain_sub(const struct ir_instr *instr)
{
    return instr->op == IR_OP_SUB && !instr->mods;
}

/* Which source of a sum or difference is the pointer, if the other one is an index? */
static uint32_t space_pointer_of(const struct ir_instr *instr)
{
    return instr->op == IR_OP_ADD && space_is_index(instr->src[0], 0) ? 1 : 0;
}

static enum where space_join(enum where a, enum where b)
{
    if (a == b || b == NOT_SEEN)
        return a;
    return a == NOT_SEEN ? b : ANYWHERE;
}

static enum where space_where_of(const struct spaces *s, const struct ir_value *value)
{
    return (enum where)s->where[value->id];
}

static enum where space_where_sum(const struct spaces *s, const struct ir_instr *instr)
{
    uint32_t pointer = space_pointer_of(instr);

    if (!space_is_index(instr->src[1 - pointer], 0))
        return ANYWHERE;
    return space_where_of(s, instr->src[pointer]);
}

static enum where space_where_points(const struct spaces *s, const struct ir_instr *instr)
{
    enum where all = NOT_SEEN;

    switch (instr->op) {
    case IR_OP_CVTA:
        return instr->mem.space == IR_SPACE_SHARED  ? SHARED
               : instr->mem.space == IR_SPACE_LOCAL ? LOCAL
                                                    : ANYWHERE;
    case IR_OP_ADD:
        return ir_is_plain_add(instr) ? space_where_sum(s, instr) : ANYWHERE;
    case IR_OP_SUB:
        return space_is_plain_sub(instr) ? space_where_sum(s, instr) : ANYWHERE;
    case IR_OP_PHI:
        for (uint32_t i = 0; i < instr->nsrc; i++)
            all = space_join(all, space_where_of(s, instr->src[i]));
        return all;
    case IR_OP_SELECT:
        return space_join(space_where_of(s, instr->src[1]), space_where_of(s, instr->src[2]));
    default:
        return ANYWHERE;
    }
}

static bool space_raise_instr(struct spaces *s, const struct ir_instr *instr)
{
    bool changed = false;

    for (uint32_t d = 0; d < instr->ndst; d++) {
        uint8_t *at = &s->where[instr->dst[d]->id];
        enum where now = instr->dst[d]->type == IR_B64 ? space_where_points(s, instr) : ANYWHERE;
        assert(space_join((enum where) * at, now) == now); /* never falls */
        changed |= *at != now;
        *at = (uint8_t)now;
    }
    return changed;
}

static bool space_raise_all(struct spaces *s)
{
    bool changed = false;

    for (uint32_t b = 0; b < s->func->nblocks; b++)
        ir_foreach_instr(instr, s->func->blocks[b])
            changed |= space_raise_instr(s, instr);
    return changed;
}

/* ---- who wants to know? */

static bool space_is_known(enum where where)
{
    return where == SHARED || where == LOCAL;
}

static enum ir_space space_of(enum where where)
{
    assert(space_is_known(where));
    return where == SHARED ? IR_SPACE_SHARED : IR_SPACE_LOCAL;
}

/* Atomic and ordered accesses of local memory have no form of their own. */
static bool space_is_access(const struct spaces *s, const struct ir_instr *instr)
{
    if (!ir_op_has(instr->op, IR_F_LOAD | IR_F_STORE) || !ir_op_has(instr->op, IR_F_ADDR) ||
        instr->mem.space != IR_SPACE_GENERIC)
        return false;
    enum where where = space_where_of(s, instr->src[0]);
    return where == SHARED || (where == LOCAL && !ir_op_has(instr->op, IR_F_ATOM) &&
                               instr->mem.sem == IR_SEM_WEAK && !instr->mods);
}

static bool space_is_back(const struct spaces *s, const struct ir_instr *instr)
{
    enum where where = space_where_of(s, instr->src[0]);
    return instr->op == IR_OP_CVTA_TO && space_is_known(where) &&
           instr->mem.space == space_of(where) && instr->dst[0]->type == IR_B64;
}

static void space_need(struct spaces *s, const struct ir_value *value)
{
    assert(value->id < s->nvalues);
    if (s->needed[value->id])
        return;
    s->needed[value->id] = true;
    s->stack[s->depth++] = (struct ir_value *)value;
}

static bool space_find_needed(struct spaces *s)
{
    for (uint32_t b = 0; b < s->func->nblocks; b++)
        ir_foreach_instr(instr, s->func->blocks[b])
            if (instr->nsrc && instr->src[0]->type == IR_B64 &&
                (space_is_access(s, instr) || space_is_back(s, instr)))
                space_need(s, instr->src[0]);
    bool any = s->depth;
    while (s->depth) {
        const struct ir_instr *instr = s->stack[--s->depth]->instr;
        if (instr->op == IR_OP_CVTA)
            continue;
        if (instr->op == IR_OP_ADD || instr->op == IR_OP_SUB) {
            space_need(s, instr->src[space_pointer_of(instr)]);
            continue;
        }
        for (uint32_t i = instr->op == IR_OP_SELECT; i < instr->nsrc; i++)
            space_need(s, instr->src[i]);
    }
    return any;
}

/* ---- window addresses */

static struct ir_value *space_window_start(struct ir_instr *cvta)
{
    struct ir_builder b = opt_before(cvta);
    struct ir_value *address = cvta->src[0];

    return address->type == IR_B64 ? address
                                   : ir_build_cvt(&b, IR_U64, IR_U32, IR_RND_NONE, address);
}

/* Sources dominate, so all but those of phis have their windows. */
static struct ir_value *space_window_make(struct spaces *s, struct ir_instr *instr)
{
    struct ir_builder b = opt_before(instr);
    uint32_t pointer;

    switch (instr->op) {
    case IR_OP_CVTA:
        return space_window_start(instr);
    case IR_OP_SELECT:
        return ir_build3(&b, IR_OP_SELECT, IR_B64, instr->src[0], s->window[instr->src[1]->id],
                         s->window[instr->src[2]->id]);
    case IR_OP_PHI: {
        struct ir_instr *phi = ir_build_phi(instr->block, IR_B64);
        return phi->ndst ? phi->dst[0] : NULL;
    }
    default:
        pointer = space_pointer_of(instr);
        assert(instr->op == IR_OP_ADD || (instr->op == IR_OP_SUB && !pointer));
        return ir_build2(&b, instr->op, instr->type, s->window[instr->src[pointer]->id],
                         instr->src[1 - pointer]);
    }
}

static bool space_is_needed(const struct spaces *s, const struct ir_instr *instr)
{
    return instr->ndst && instr->dst[0]->id < s->nvalues && s->needed[instr->dst[0]->id];
}

static bool space_windows_make(struct spaces *s)
{
    for (uint32_t b = 0; b < s->func->nblocks; b++) {
        ir_foreach_instr_safe(instr, s->func->blocks[b]) {
            if (!space_is_needed(s, instr))
                continue;
            struct ir_value *window = space_window_make(s, instr);
            if (!window)
                return false;
            s->window[instr->dst[0]->id] = window;
        }
    }
    return true;
}

static void space_phis_fill(struct spaces *s)
{
    for (uint32_t b = 0; b < s->func->nblocks; b++) {
        ir_foreach_instr(phi, s->func->blocks[b]) {
            if (phi->op != IR_OP_PHI)
                break;
            for (uint32_t i = 0; space_is_needed(s, phi) && i < phi->nsrc; i++)
                s->window[phi->dst[0]->id]->instr->src[i] = s->window[phi->src[i]->id];
        }
    }
}

/* isspacep of an address whose space is known. */
static bool space_answer(struct spaces *s, struct ir_instr *instr)
{
    if (instr->op != IR_OP_ISSPACEP || !space_is_known(space_where_of(s, instr->src[0])))
        return false;
    enum ir_space asked = instr->mem.space, own = space_of(space_where_of(s, instr->src[0]));
    opt_make_const(instr,
                   asked == own || (own == IR_SPACE_SHARED && asked == IR_SPACE_SHARED_CLUSTER), 0);
    return true;
}

static bool space_answer_all(struct spaces *s)
{
    bool changed = false;

    for (uint32_t b = 0; b < s->func->nblocks; b++)
        ir_foreach_instr(instr, s->func->blocks[b])
            changed |= space_answer(s, instr);
    return changed;
}

static void space_rewrite(struct spaces *s, struct opt_replace *r, struct ir_instr *instr)
{
    if (!instr->nsrc || instr->src[0]->id >= s->nvalues || !s->needed[instr->src[0]->id])
        return;
    struct ir_value *window = s->window[instr->src[0]->id];
    if (space_is_access(s, instr)) {
        instr->mem.space = space_of(space_where_of(s, instr->src[0]));
        instr->src[0] = window;
    } else if (space_is_back(s, instr)) {
        opt_replace_set(r, instr->dst[0], window);
    }
}

static bool space_find(struct spaces *s)
{
    uint32_t n = s->nvalues + 1;

    s->where = hd_arena_array(&s->tmp, uint8_t, n);
    s->needed = hd_arena_array(&s->tmp, bool, n);
    s->window = hd_arena_array(&s->tmp, struct ir_value *, n);
    s->stack = hd_arena_array(&s->tmp, struct ir_value *, n);
    if (s->tmp.failed) {
        opt_failed(s->func);
        return false;
    }
    for (uint32_t p = 0; p < s->func->proto.nparams; p++)
        s->where[s->func->args[p]->id] = ANYWHERE;
    while (space_raise_all(s))
        ;
    return true;
}

bool ir_opt_space(struct ir_func *func)
{
    struct spaces s = {.func = func, .nvalues = func->nvalues};

    hd_arena_init(&s.tmp);
    bool changed = space_find(&s) && space_answer_all(&s);
    if (!s.tmp.failed && space_find_needed(&s) && space_windows_make(&s)) {
        space_phis_fill(&s);
        struct opt_replace r;
        if (opt_replace_init(&r, s.func)) {
            for (uint32_t b = 0; b < s.func->nblocks; b++)
                ir_foreach_instr(instr, s.func->blocks[b])
                    space_rewrite(&s, &r, instr);
            opt_replace_fini(&r);
        }
        changed = true;
    }
    hd_arena_fini(&s.tmp);
    return changed;
}
