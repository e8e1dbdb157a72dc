/*
 * requires: compacted. keeps: nothing of the cfg. breaks: dominance, liveness, shapes.
 *
 * Versions of loops for when the lanes of a warp go together.
 *
 * `for (j = tid; j < n; j += ntid)` sends each lane its own way: n may end within a warp. It hardly
 * ever does, but a device that runs a warp as vectors must keep masks, merge values and take
 * addresses that met behind such a branch for unrelated. So code between a divergent branch and the
 * place where its ways meet is made twice. The copy asks at each branch that thread numbers and
 * parameters decide whether all lanes take it alike (agree) and then branches as one; lanes that
 * part go on in the original, each from where it is, with the values that it has:
 *
 *     cbr p, T, F    ->    cbr agree p, T', N;  N: cbr agree !p, F', M;  M: cbr p, T, F
 *
 * Loops that only compute, and that lanes leave by what they have computed (escape times, roots to
 * a precision), have many iterations before the first lane leaves as a rule. There the copy asks
 * whether all lanes stay; if not, they do this iteration again in the original, which they go on in
 * then:
 *
 *     H: .. cbr p, T, out    ->    H': .. cbr agree p, T', R;  R: br H
 *
 * Whatever agree answers, each lane computes the same.
 */
#include "opt/passes.h"

#include <assert.h>

#include "base/map.h"
#include "base/mem.h"
#include "analysis/shape.h"

#define NONE       IR_NO_BLOCK
#define REGION_MAX 320u  /* instructions of a region */
#define COPIED_MAX 1024u /* of all regions of a function */
#define INSTRS_MAX 4096u /* of a function that is looked at */

/* Where a block of the new code comes from. */
struct origin {
    struct ir_block *of; /* the block whose branch it is, or whose copy */
    bool copy;           /* values of the region are those of the copy */
    bool again;          /* leads to the start of an iteration that the copy was in */
};

struct agreer {
    struct ir_func *func;
    struct hd_arena tmp;
    struct ir_shapes shapes;
    struct ir_dom postdom; /* with all edges */
    bool *by_thread;     /* by value: made of thread numbers and of what is uniform, by integers */
    uint32_t copied;     /* instructions so far */
    struct hd_map parts; /* blocks where lanes part */
    /* of one region; by id of block and value before it was copied */
    struct ir_block *entry, *join;
    bool *inside;
    bool *apart; /* lanes come there apart in the copy as well */
    struct ir_block **copy_of;
    struct ir_value **value_of;
    struct ir_block ***preds; /* as they were, with the operands of phis */
    struct ir_value ***operands;
    uint32_t nblocks, nvalues;
    struct origin *origins; /* by id of block */
    struct hd_map incoming; /* (block, value) -> the value at the block's start */
};

/* ---- what decides branches */

static bool agree_is_integer_op(enum ir_op op)
{
    switch (op) {
    case IR_OP_ADD:
    case IR_OP_SUB:
    case IR_OP_MUL:
    case IR_OP_MULWIDE:
    case IR_OP_DIV:
    case IR_OP_REM:
    case IR_OP_NEG:
    case IR_OP_NOT:
    case IR_OP_AND:
    case IR_OP_OR:
    case IR_OP_XOR:
    case IR_OP_SHL:
    case IR_OP_SHR:
    case IR_OP_MIN:
    case IR_OP_MAX:
    case IR_OP_SETP:
    case IR_OP_SELECT:
    case IR_OP_PHI:
        return true;
    default:
        return false;
    }
}

static bool agree_is_by_thread(const struct agreer *a, const struct ir_instr *in)
{
    if (a->shapes.of[in->dst[0]->id].kind == IR_SHAPE_UNIFORM)
        return true;
    if (in->op == IR_OP_SREG)
        return ir_sreg_scope((enum ir_sreg)in->imm) != IR_SREG_VOLATILE;
    if (in->op == IR_OP_CVT)
        return !ir_type_is_float(in->type) && !ir_type_is_float(in->type2) &&
               a->by_thread[in->src[0]->id];
    if (!agree_is_integer_op(in->op))
        return false;
    for (uint32_t s = 0; s < in->nsrc; s++) {
        if (!a->by_thread[in->src[s]->id])
            return false;
    }
    return true;
}

/* Everything is taken for it until it turns out not to be. */
static void agree_by_thread_find(struct agreer *a)
{
    const struct ir_func *f = a->func;

    memset(a->by_thread, 1, f->nvalues * sizeof(bool));
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < f->nblocks; b++) {
            ir_foreach_instr(in, f->blocks[b]) {
                bool is = in->ndst && agree_is_by_thread(a, in);
                for (uint32_t d = 0; d < in->ndst; d++) {
                    changed |= a->by_thread[in->dst[d]->id] && !is;
                    a->by_thread[in->dst[d]->id] &= is;
                }
            }
        }
    }
}

/* ---- regions */

static const struct ir_loop *agree_loop_of(const struct agreer *a, const struct ir_block *b)
{
    uint32_t l = a->shapes.loops.loop_of[b->id];
    return l == NONE ? NULL : &a->shapes.loops.loops[l];
}

/* Is the loop around the block a part of the region? */
static bool agree_is_loop_inside(const struct agreer *a, const struct ir_loop *l)
{
    return l && a->inside[l->header];
}

/* Lanes may come to a loop from elsewhere at its start only, or it is no loop any more. */
static bool agree_may_enter(const struct agreer *a, const struct ir_block *to)
{
    const struct ir_loop *l = agree_loop_of(a, to);

    if (to == a->join || !agree_is_loop_inside(a, l))
        return true;
    if (to->id != l->header)
        return false;
    return l->parent == NONE || !agree_is_loop_inside(a, &a->shapes.loops.loops[l->parent]);
}

static bool agree_is_inside_loop(const struct ir_loop *l, const struct ir_block *b)
{
    return b->id >= l->header && b->id <= l->last;
}

/* Does it nothing but compute, so that an iteration of it can be done again? */
static bool agree_only_computes(const struct agreer *a, const struct ir_loop *l)
{
    for (uint32_t b = l->header; b <= l->last; b++) {
        ir_foreach_instr(in, a->func->blocks[b]) {
            if (!ir_op_has(in->op, IR_F_PURE | IR_F_TERM))
                return false;
        }
    }
    return true;
}

/* The successor that lanes take which stay in a loop that others leave; -1: nothing of the kind. */
static int agree_way_to_stay(const struct agreer *a, const struct ir_block *b)
{
    const struct ir_loop *l = agree_loop_of(a, b);

    if (!agree_is_loop_inside(a, l) || b->nsuccs != 2 ||
        agree_is_inside_loop(l, b->succs[0]) == agree_is_inside_loop(l, b->succs[1]))
        return -1;
    return agree_is_inside_loop(l, b->succs[0]) ? 0 : 1;
}

enum asks {
    ASKS_NOTHING,
    ASKS_BOTH, /* whether all lanes take one way or all the other */
    ASKS_STAY  /* whether all stay in the loop */
};

static enum asks agree_asks_of(const struct agreer *a, const struct ir_block *b)
{
    const struct ir_loop *l = agree_loop_of(a, b);

    if (b->last->op != IR_OP_CBR || !a->shapes.divergent_branch[b->id] ||
        b->succs[0] == b->succs[1])
        return ASKS_NOTHING;
    if (a->by_thread[b->last->src[0]->id] && agree_may_enter(a, b->succs[0]) &&
        agree_may_enter(a, b->succs[1]))
        return ASKS_BOTH;
    if (agree_way_to_stay(a, b) >= 0 && agree_may_enter(a, a->func->blocks[l->header]) &&
        agree_only_computes(a, l))
        return ASKS_STAY;
    return ASKS_NOTHING;
}

static bool agree_is_asked(const struct agreer *a, const struct ir_block *b)
{
    return agree_asks_of(a, b) != ASKS_NOTHING;
}

static bool agree_may_copy(const struct ir_instr *in)
{
    if (ir_op_has(in->op, IR_F_TERM))
        return in->op == IR_OP_BR || in->op == IR_OP_CBR;
    if (ir_op_has(in->op, IR_F_LOAD | IR_F_STORE | IR_F_ATOM))
        return in->mem.sem == IR_SEM_WEAK || in->mem.sem == IR_SEM_RELAXED;
    return ir_op_has(in->op, IR_F_PURE | IR_F_HINT) || in->op == IR_OP_SREG;
}

/* Everything from the entry's successors up to the join; 0: not to be copied, else its size. */
static uint32_t agree_region_mark(struct agreer *a)
{
    uint32_t size = 0, first = a->entry->id + 1;

    memset(a->inside, 0, a->nblocks * sizeof(bool));
    for (uint32_t b = a->entry->id; b < a->nblocks && b < a->join->id; b++) {
        const struct ir_block *block = a->func->blocks[b];
        if (b != a->entry->id && !a->inside[b])
            continue;
        for (uint32_t s = 0; s < block->nsuccs; s++) {
            uint32_t to = block->succs[s]->id;
            if (to < first || to > a->join->id)
                return 0;
            a->inside[to] |= to != a->join->id;
        }
        ir_foreach_instr(in, block) {
            if (b != a->entry->id && !agree_may_copy(in))
                return 0;
            size += b != a->entry->id;
        }
    }
    return size <= REGION_MAX ? size : 0;
}

/* Only the region leads into it, and its values leave it through the phis of the join. */
static bool agree_is_closed(const struct agreer *a)
{
    for (uint32_t b = 0; b < a->nblocks; b++) {
        const struct ir_block *block = a->func->blocks[b];
        for (uint32_t p = 0; p < block->npreds && a->inside[b]; p++) {
            if (block->preds[p] != a->entry && !a->inside[block->preds[p]->id])
                return false;
        }
        if (a->inside[b])
            continue;
        ir_foreach_instr(in, block) {
            for (uint32_t s = 0; s < in->nsrc; s++) {
                const struct ir_instr *def = in->src[s]->instr;
                if (def && a->inside[def->block->id] && (in->op != IR_OP_PHI || block != a->join))
                    return false;
            }
        }
    }
    return true;
}

/* The outermost loop of the region that lanes leave apart: they part in `b` and meet in `end`. */
static const struct ir_loop *agree_loop_left_apart(const struct agreer *a, const struct ir_block *b,
                                                   uint32_t end)
{
    const struct ir_loop *left = NULL;

    for (const struct ir_loop *l = agree_loop_of(a, b); agree_is_loop_inside(a, l);) {
        if (end >= l->header && end <= l->last)
            break;
        left = l;
        l = l->parent == NONE ? NULL : &a->shapes.loops.loops[l->parent];
    }
    return left;
}

/* From where a branch that is not asked sends lanes apart to where they meet. */
static void agree_apart_behind(struct agreer *a, const struct ir_block *from)
{
    uint32_t end = a->postdom.idom[from->id];
    const struct ir_loop *l = agree_loop_left_apart(a, from, end);

    for (uint32_t b = l ? l->header : from->id + 1; b < a->join->id; b++) {
        const struct ir_block *block = a->func->blocks[b];
        bool is = l && b <= l->last;
        for (uint32_t p = 0; p < block->npreds; p++) {
            uint32_t pred = block->preds[p]->id;
            is |= pred == from->id || (pred < b && a->apart[pred]);
        }
        a->apart[b] |= is && a->inside[b] && b != end;
    }
}

/* Taken for apart too often, where ways back meet, costs a copy that is not made. */
static void agree_apart_find(struct agreer *a)
{
    memset(a->apart, 0, a->nblocks * sizeof(bool));
    for (uint32_t b = a->entry->id; b < a->join->id; b++) {
        const struct ir_block *block = a->func->blocks[b];
        bool is_of = block == a->entry || a->inside[b];
        if (is_of && a->shapes.divergent_branch[b] && !agree_is_asked(a, block))
            agree_apart_behind(a, block);
    }
}

/* Is there a loop that its lanes leave where they are asked, and come to together? */
static bool agree_has_loop(struct agreer *a)
{
    agree_apart_find(a);
    for (uint32_t b = 0; b < a->nblocks; b++) {
        const struct ir_block *block = a->func->blocks[b];
        const struct ir_loop *l = agree_loop_of(a, block);
        if (!a->inside[b] || a->apart[b] || !agree_is_loop_inside(a, l) ||
            !agree_is_asked(a, block))
            continue;
        for (uint32_t s = 0; s < 2; s++) {
            uint32_t to = block->succs[s]->id;
            if (to < l->header || to > l->last)
                return true;
        }
    }
    return false;
}

/* Does a region worth copying begin behind the block? */
static bool agree_region_find(struct agreer *a, struct ir_block *entry)
{
    const struct ir_shapes *s = &a->shapes;
    uint32_t join = a->postdom.idom[entry->id], size;
    bool parts = s->divergent_branch[entry->id];

    if (entry->last->op != IR_OP_CBR && entry->last->op != IR_OP_BR) /* a switch stays one */
        return false;
    for (uint32_t i = 0; i < entry->nsuccs; i++) {
        uint32_t to = entry->succs[i]->id;
        parts |= s->divergent[to] && !s->exit_only[to];
    }
    if (s->divergent[entry->id] || !parts || hd_map_get_u64(&a->parts, (uintptr_t)entry))
        return false;
    while (join != NONE && s->divergent[join] && !s->exit_only[join])
        join = a->postdom.idom[join];
    if (join == NONE || join <= entry->id)
        return false;
    a->entry = entry;
    a->join = a->func->blocks[join];
    size = agree_region_mark(a);
    if (!size || a->copied + size > COPIED_MAX || !agree_is_closed(a) || !agree_has_loop(a))
        return false;
    a->copied += size;
    return true;
}

/* ---- the copy */

static struct ir_value *agree_value_in_copy(const struct agreer *a, struct ir_value *v)
{
    return v->id < a->nvalues && a->value_of[v->id] ? a->value_of[v->id] : v;
}

static struct ir_block *agree_block_in_copy(const struct agreer *a, struct ir_block *b)
{
    return b->id < a->nblocks && a->copy_of[b->id] ? a->copy_of[b->id] : b;
}

static struct ir_block *agree_new_block(struct agreer *a, struct ir_block *of, bool copy)
{
    struct ir_block *b = ir_block_create(a->func);

    a->origins[b->id] = (struct origin){.of = of, .copy = copy};
    return b;
}

static void agree_copy_instr(struct agreer *a, struct ir_block *to, const struct ir_instr *from)
{
    struct ir_builder b = {.func = a->func, .block = to};
    uint32_t nsrc = from->op == IR_OP_PHI ? 0 : from->nsrc;
    struct ir_instr *in = ir_build_instr(&b, from->op, from->type, nsrc, from->src, from->ndst);

    ir_instr_copy_fields(in, from);
    for (uint32_t d = 0; d < in->ndst; d++) {
        in->dst[d]->type = from->dst[d]->type;
        a->value_of[from->dst[d]->id] = in->dst[d];
    }
}

static void agree_note_part(struct agreer *a, struct ir_block *part)
{
    if (!hd_map_put_u64(&a->parts, (uintptr_t)part, a))
        opt_failed(a->func);
}

/* Where not all lanes stay in the loop, they do the iteration again in the original. */
static void agree_branch_to_stay(struct agreer *a, struct ir_builder *b, struct ir_block *of,
                                 struct ir_value *p)
{
    int way = agree_way_to_stay(a, of);
    struct ir_block *again = agree_new_block(a, of, true);

    a->origins[again->id].again = true;
    if (way)
        p = ir_build1(b, IR_OP_NOT, IR_PRED, p);
    ir_build_cbr(b, ir_build1(b, IR_OP_AGREE, IR_PRED, p), agree_block_in_copy(a, of->succs[way]),
                 again);
    b->block = again;
    ir_build_br(b, a->func->blocks[agree_loop_of(a, of)->header]);
    agree_note_part(a, again);
}

/*
 * Ends `block`, which is `of` or its copy, with the branch of `of`, asking first where that is to
 * be done.
 */
static void agree_branch(struct agreer *a, struct ir_block *block, struct ir_block *of, bool copy)
{
    struct ir_builder b = {.func = a->func, .block = block, .srcloc = of->last->srcloc};
    struct ir_block *const *to = of->succs;

    if (of->last->op == IR_OP_BR) {
        ir_build_br(&b, agree_block_in_copy(a, to[0]));
        return;
    }
    struct ir_value *p = of->last->src[0];
    if (copy)
        p = agree_value_in_copy(a, p);
    if (!agree_is_asked(a, of)) {
        ir_build_cbr(&b, p, agree_block_in_copy(a, to[0]), agree_block_in_copy(a, to[1]));
        return;
    }
    if (agree_asks_of(a, of) == ASKS_STAY) {
        agree_branch_to_stay(a, &b, of, p);
        return;
    }
    struct ir_block *no = agree_new_block(a, of, copy), *part = agree_new_block(a, of, copy);
    ir_build_cbr(&b, ir_build1(&b, IR_OP_AGREE, IR_PRED, p), agree_block_in_copy(a, to[0]), no);
    b.block = no;
    struct ir_value *not_p = ir_build1(&b, IR_OP_NOT, IR_PRED, p);
    ir_build_cbr(&b, ir_build1(&b, IR_OP_AGREE, IR_PRED, not_p), agree_block_in_copy(a, to[1]),
                 part);
    b.block = part;
    ir_build_cbr(&b, p, to[0], to[1]);
    agree_note_part(a, part);
}

static void agree_copy_region(struct agreer *a)
{
    for (uint32_t b = 0; b < a->nblocks; b++) {
        if (a->inside[b])
            a->copy_of[b] = agree_new_block(a, a->func->blocks[b], true);
    }
    for (uint32_t b = 0; b < a->nblocks; b++) {
        if (!a->inside[b])
            continue;
        ir_foreach_instr(in, a->func->blocks[b]) {
            if (!ir_op_has(in->op, IR_F_TERM))
                agree_copy_instr(a, a->copy_of[b], in);
        }
    }
    for (uint32_t b = 0; b < a->nblocks; b++) {
        if (!a->inside[b])
            continue;
        ir_foreach_instr(in, a->copy_of[b]) {
            for (uint32_t s = 0; s < in->nsrc; s++)
                in->src[s] = agree_value_in_copy(a, in->src[s]);
        }
        agree_branch(a, a->copy_of[b], a->func->blocks[b], true);
    }
    /* The old branch is needed until the new one is there. */
    struct ir_instr *old = a->entry->last;
    struct ir_block *succs[2] = {a->entry->succs[0], a->entry->succs[a->entry->nsuccs - 1]};
    struct ir_block was = *a->entry;
    was.succs = succs;
    was.last = old;
    agree_branch(a, a->entry, &was, false);
    ir_instr_remove(old);
    for (uint32_t b = a->nblocks; b < a->func->nblocks; b++) {
        if (a->origins[b].of == &was)
            a->origins[b].of = a->entry;
    }
}

/* ---- phis */

static void agree_phis_save(struct agreer *a, const struct ir_block *b)
{
    a->preds[b->id] = hd_arena_array(&a->tmp, struct ir_block *, b->npreds + 1);
    for (uint32_t p = 0; a->preds[b->id] && p < b->npreds; p++)
        a->preds[b->id][p] = b->preds[p];
    ir_foreach_instr(in, b) {
        if (in->op != IR_OP_PHI)
            break;
        struct ir_value **was = hd_arena_array(&a->tmp, struct ir_value *, in->nsrc + 1);
        for (uint32_t s = 0; was && s < in->nsrc; s++)
            was[s] = in->src[s];
        a->operands[in->dst[0]->id] = was;
    }
}

/* What the phi of an old block, which `from` led to, took from there. */
static struct ir_value *agree_operand_from(const struct agreer *a, const struct ir_instr *phi,
                                           const struct ir_block *old, const struct ir_block *from)
{
    uint32_t p = 0;

    while (a->preds[old->id][p] != from)
        p++;
    return a->operands[phi->dst[0]->id][p];
}

static struct ir_value *agree_value_at_end(struct agreer *a, struct ir_block *b,
                                           struct ir_value *v);

/* The value of the region where an old block begins, that its copy may have led to. */
static struct ir_value *agree_value_at_start(struct agreer *a, struct ir_block *b,
                                             struct ir_value *v)
{
    uint64_t key = (uint64_t)b->id << 32 | v->id;
    struct ir_value *known = hd_map_get_u64(&a->incoming, key);

    if (known || !b->npreds)
        return known ? known : v;
    struct ir_instr *phi = ir_build_phi(b, v->type);
    if (!hd_map_put_u64(&a->incoming, key, phi->dst[0]))
        opt_failed(a->func);
    for (uint32_t p = 0; p < b->npreds && !a->func->module->arena.failed; p++)
        phi->src[p] = agree_value_at_end(a, b->preds[p], v);
    return phi->dst[0];
}

static struct ir_value *agree_value_at_end(struct agreer *a, struct ir_block *b, struct ir_value *v)
{
    if (!v->instr || v->id >= a->nvalues || !a->inside[v->instr->block->id])
        return v;
    if (b->id >= a->nblocks)
        return a->origins[b->id].copy ? agree_value_in_copy(a, v) : v;
    return b == v->instr->block || b == a->entry ? v : agree_value_at_start(a, b, v);
}

/* Phis that were there: operands of edges old and new. */
static void agree_phis_fill(struct agreer *a, struct ir_block *b, struct ir_block *old)
{
    struct ir_instr *was = old->first;

    for (struct ir_instr *in = b->first; in && in->op == IR_OP_PHI; in = in->next) {
        if (b == old)
            was = in;
        if (was->dst[0]->id >= a->nvalues)
            continue; /* one of agree_value_at_start() */
        for (uint32_t p = 0; p < in->nsrc; p++) {
            struct ir_block *from = b->preds[p];
            bool is_new = from->id >= a->nblocks;
            if (is_new && a->origins[from->id].again) {
                in->src[p] = agree_value_in_copy(a, was->dst[0]);
                continue;
            }
            struct ir_block *of = is_new ? a->origins[from->id].of : from;
            struct ir_value *v = agree_operand_from(a, was, old, of);
            in->src[p] = agree_value_at_end(a, from, v);
        }
        if (b != old)
            was = was->next;
    }
}

static void agree_values_mend(struct agreer *a)
{
    ir_func_link_cfg(a->func);
    if (a->func->module->arena.failed)
        return;
    for (uint32_t b = 0; b < a->nblocks; b++) {
        if (a->inside[b])
            agree_phis_fill(a, a->copy_of[b], a->func->blocks[b]);
    }
    for (uint32_t b = 0; b < a->nblocks; b++) {
        struct ir_block *block = a->func->blocks[b];
        if (!a->inside[b] && block != a->join)
            continue;
        if (a->inside[b])
            ir_foreach_instr(in, block) {
                for (uint32_t s = 0; s < in->nsrc && in->op != IR_OP_PHI; s++) {
                    const struct ir_instr *def = in->src[s]->instr;
                    if (def && in->src[s]->id < a->nvalues && a->inside[def->block->id] &&
                        def->block != block)
                        in->src[s] = agree_value_at_start(a, block, in->src[s]);
                }
            }
        agree_phis_fill(a, block, block);
    }
}

static bool agree_region_init(struct agreer *a)
{
    /* A copy of each block, two more where lanes are asked. */
    a->origins = hd_arena_array(&a->tmp, struct origin, 4 * (size_t)a->nblocks + 4);
    a->copy_of = hd_arena_array(&a->tmp, struct ir_block *, a->nblocks);
    a->value_of = hd_arena_array(&a->tmp, struct ir_value *, a->nvalues + 1);
    a->preds = hd_arena_array(&a->tmp, struct ir_block **, a->nblocks);
    a->operands = hd_arena_array(&a->tmp, struct ir_value **, a->nvalues + 1);
    for (uint32_t b = 0; b < a->nblocks && a->preds && a->operands; b++) {
        if (a->inside[b] || a->func->blocks[b] == a->join)
            agree_phis_save(a, a->func->blocks[b]);
    }
    return !a->tmp.failed;
}

/* ---- */

static bool agree_analyse(struct agreer *a)
{
    struct ir_func *f = a->func;

    a->nblocks = f->nblocks;
    a->nvalues = f->nvalues;
    if (ir_shapes_compute(f, opt_cpu_launch, &a->tmp, &a->shapes) != HD_OK ||
        ir_postdom_compute(f, NULL, NULL, &a->tmp, &a->postdom) != HD_OK)
        return false;
    a->inside = hd_arena_array(&a->tmp, bool, a->nblocks);
    a->apart = hd_arena_array(&a->tmp, bool, a->nblocks);
    a->by_thread = hd_arena_array(&a->tmp, bool, a->nvalues + 1);
    if (a->tmp.failed)
        return false;
    agree_by_thread_find(a);
    return true;
}

/* One region; false: there is none (more). */
static bool agree_step(struct agreer *a)
{
    bool found = false;

    hd_arena_init(&a->tmp);
    if (!agree_analyse(a))
        opt_failed(a->func);
    else if (!a->shapes.needs_dispatch && !a->shapes.rejoins && !a->shapes.loops.irreducible) {
        for (uint32_t b = 0; b < a->nblocks && !found; b++)
            found = agree_region_find(a, a->func->blocks[b]);
    }
    if (found) {
        hd_map_init(&a->incoming);
        if (agree_region_init(a)) {
            agree_copy_region(a);
            agree_values_mend(a);
        } else {
            opt_failed(a->func);
        }
        hd_map_fini(&a->incoming);
        if (!a->func->module->arena.failed)
            ir_func_compact(a->func);
    }
    hd_arena_fini(&a->tmp);
    return found && !a->func->module->arena.failed;
}

static uint32_t agree_size_of(const struct ir_func *f)
{
    uint32_t n = 0;

    for (uint32_t b = 0; b < f->nblocks; b++)
        ir_foreach_instr(in, f->blocks[b])
            n++;
    return n;
}

bool ir_opt_agree(struct ir_func *func)
{
    struct agreer a = {.func = func};
    bool changed = false;

    if (!func->is_kernel || func->module->runs_apart || agree_size_of(func) > INSTRS_MAX)
        return false;
    hd_map_init(&a.parts);
    while (agree_step(&a))
        changed = true;
    hd_map_fini(&a.parts);
    return changed;
}
