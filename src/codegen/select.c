/* Selection of instructions for a function: blocks, branches, phis, and where lanes meet. */
#include "codegen/select.h"

#include <string.h>

#include "base/mem.h"

/* ---- phis */

/* Operand of the phis of succs[edge] that belongs to this edge. */
static uint32_t phi_slot(const struct ir_block *from, uint32_t edge)
{
    const struct ir_block *to = from->succs[edge];
    uint32_t same = 0;

    for (uint32_t i = 0; i < edge; i++)
        same += from->succs[i] == to;
    for (uint32_t i = 0; i < to->npreds; i++)
        if (to->preds[i] == from && same-- == 0)
            return i;
    assert(!"an edge has an operand in each phi");
    return 0;
}

static bool has_phis(const struct ir_block *b)
{
    return b->first && b->first->op == IR_OP_PHI;
}

/* Copies for the phis behind an edge, at the end of the current block. */
static void edge_copies(struct sel *s, const struct ir_block *from, uint32_t edge)
{
    const struct ir_block *to = from->succs[edge];
    uint32_t slot = phi_slot(from, edge);
    struct mc_insn insn = mc_insn_of((enum isa_op)MC_COPY);

    insn.first_copy = (uint32_t)s->f->copies.len;
    for (const struct ir_instr *phi = to->first; phi && phi->op == IR_OP_PHI; phi = phi->next) {
        const struct ir_value *v = phi->src[slot], *d = phi->dst[0];
        uint32_t unit = s->values[d->id].unit;

        for (unsigned i = 0; i < sel_words(d->type); i++) {
            struct isa_operand o = d->type == IR_PRED ? sel_pred(s, v) : sel_word(s, v, i);
            s->f->failed |= !hd_vec_push(&s->f->copies, (struct mc_copy){unit + i, o});
        }
    }
    insn.ncopies = (uint32_t)s->f->copies.len - insn.first_copy;
    if (insn.ncopies)
        sel_push(s, insn);
}

/* Where an edge leads: into a loop that lanes are remembered for, by way of its entry. */
static struct mc_block *edge_target(struct sel *s, const struct ir_block *from, uint32_t edge)
{
    const struct ir_block *to = from->succs[edge];
    const struct ir_loops *loops = &s->meets.shapes->loops;
    uint32_t l = loops->loop_of[to->id];

    if (s->entries[to->id] && l != IR_NO_BLOCK &&
        !(from->id >= loops->loops[l].header && from->id <= loops->loops[l].last))
        return s->entries[to->id];
    return s->begin[to->id];
}

/* Warps that came to a block of the IR, by the profile. */
static uint64_t count_of(const struct sel *s, uint32_t block)
{
    const struct ir_profile_func *profile = s->f->profile;

    return profile && block != IR_NO_BLOCK ? profile->blocks.at[block].warps : 0;
}

/*
 * And along an edge: at least what did not go the other way, in warps, some of which go both, or as
 * few of them as have its lanes.
 */
static uint64_t count_of_edge(const struct sel *s, const struct ir_block *from, uint32_t edge)
{
    const struct ir_profile_func *profile = s->f->profile;
    const struct ir_block *to = from->succs[edge];
    uint64_t most = HD_MIN(count_of(s, from->id), count_of(s, to->id));
    struct ir_profile_count left;

    if (!profile || to->npreds == 1)
        return most;
    left = profile->blocks.at[from->id];
    for (uint32_t i = 0; i < from->nsuccs; i++) {
        const struct ir_profile_count *other = &profile->blocks.at[from->succs[i]->id];

        if (i == edge)
            continue;
        if (from->succs[i]->npreds != 1)
            return most;
        left.warps -= HD_MIN(left.warps, other->warps);
        left.lanes -= HD_MIN(left.lanes, other->lanes);
    }
    return HD_MIN(most, HD_MAX(left.warps, (left.lanes + 31) / 32));
}

/* A block for the copies of an edge, whose source has others. */
static struct mc_block *edge_block(struct sel *s, const struct ir_block *from, uint32_t edge)
{
    struct mc_block *to = edge_target(s, from, edge), *saved = s->b, *b;

    if (!has_phis(from->succs[edge]))
        return to;
    b = sel_block(s);
    b->count = count_of_edge(s, from, edge);
    s->b = b;
    edge_copies(s, from, edge);
    sel_jump(s, to);
    s->b = saved;
    return b;
}

/*
 * Lanes from outside of a loop meet before it where its header is the place: in the block on the
 * way in, so that each round does not ask for them again.
 */
static bool meets_outside(const struct sel *s, const struct converge_point *p)
{
    const struct ir_loops *loops = &s->meets.shapes->loops;
    uint32_t l = loops->loop_of[p->meet];

    if (l == IR_NO_BLOCK || loops->loops[l].header != p->meet)
        return false;
    return p->at < loops->loops[l].header || p->at > loops->loops[l].last ||
           (p->at_entry && p->at == p->meet);
}

static void remember_lanes(struct sel *s, uint32_t block, bool at_entry)
{
    for (uint32_t i = 0; i < s->meets.npoints; i++) {
        const struct converge_point *p = &s->meets.points[i];

        if (p->at == block && p->at_entry == at_entry)
            EMIT(s, BSSY, OPERAND(BAR, sel_barrier(s->barriers[i])))->target =
                meets_outside(s, p) ? s->entries[p->meet] : s->begin[p->meet];
    }
}

/* Inner ones first: whoever waits for the outer ones has met the inner ones. */
static void meet_lanes(struct sel *s, uint32_t block, bool outside)
{
    for (uint32_t i = s->meets.npoints; i-- > 0;)
        if (s->meets.points[i].meet == block && meets_outside(s, &s->meets.points[i]) == outside)
            EMIT(s, BSYNC, OPERAND(BAR, sel_barrier(s->barriers[i])));
}

static void select_cbr(struct sel *s, const struct ir_block *b)
{
    struct isa_operand pred = sel_pred(s, b->last->src[0]);
    struct mc_block *yes, *no;

    if (b->succs[0] == b->succs[1] && !has_phis(b->succs[0])) {
        sel_jump(s, edge_target(s, b, 0));
        return;
    }
    yes = edge_block(s, b, 0);
    no = edge_block(s, b, 1);
    sel_branch(s, pred, yes, no);
}

/* One comparison after the other: tables of addresses would need relocations. */
static void select_switch(struct sel *s, const struct ir_block *b)
{
    struct isa_operand index = sel_word(s, b->last->src[0], 0);

    for (uint32_t i = 0; i + 1 < b->nsuccs; i++) {
        struct mc_block *to = edge_block(s, b, i), *next = sel_block(s);
        uint32_t p = sel_new_pred(s);

        EMIT(s, ISETP, PD(p), A(sel_unit(sel_in_unit(s, index))), B(sel_number(i)), MOD(CMP, EQ),
             MOD(SIGN, U32));
        sel_branch(s, sel_p(p), to, next);
        s->b = next;
    }
    sel_jump(s, edge_block(s, b, b->nsuccs - 1));
}

static void select_terminator(struct sel *s, const struct ir_block *b)
{
    const struct ir_instr *in = b->last;

    s->at = in;
    remember_lanes(s, b->id, false);
    switch (in->op) {
    case IR_OP_BR:
        edge_copies(s, b, 0);
        sel_jump(s, edge_target(s, b, 0));
        return;
    case IR_OP_CBR:
        select_cbr(s, b);
        return;
    case IR_OP_SWITCH:
        select_switch(s, b);
        return;
    case IR_OP_RET:
        if (!s->f->is_kernel) {
            select_return(s, in);
            return;
        }
        EMIT(s, EXIT);
        return;
    case IR_OP_EXIT:
        EMIT(s, EXIT);
        return;
    case IR_OP_TRAP:
        EMIT(s, BPT, NUMBER(IMM16, ISA_TRAP_USER), MODV(TRAP_KIND, in->imm ? 1 : 0));
        EMIT(s, EXIT);
        return;
    default:
        assert(in->op == IR_OP_UNREACHABLE);
        EMIT(s, BPT, NUMBER(IMM16, ISA_TRAP_UNREACHABLE));
        EMIT(s, EXIT);
        return;
    }
}

/* ---- a function */

static bool select_move(struct sel *s, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_CONST:
        s->values[in->dst[0]->id] =
            (struct sel_value){.kind = SEL_NUMBER, .lo = in->imm, .hi = in->imm_hi};
        return true;
    case IR_OP_UNDEF:
        s->values[in->dst[0]->id] = (struct sel_value){.kind = SEL_NUMBER};
        return true;
    case IR_OP_PHI:
        return true;
    default:
        return false;
    }
}

static void select_instr(struct sel *s, const struct ir_instr *in)
{
    static bool (*const all[])(struct sel *, const struct ir_instr *) = {
        select_move, select_int,  select_divide, select_float, select_convert, select_memory,
        select_warp, select_call, select_matrix, select_async, select_texture, select_tensor,
    };

    s->at = in;
    for (size_t i = 0; i < HD_COUNT_OF(all); i++)
        if (all[i](s, in))
            return;
    sel_refuse(s, "an operation without a form");
}

static void select_block(struct sel *s, const struct ir_block *b)
{
    s->b = s->begin[b->id];
    s->at = b->first;
    meet_lanes(s, b->id, false);
    if (s->unit->recorded)
        EMIT(s, NOP)->mark = b->id + 1;
    ir_foreach_instr(in, b)
        if (in != b->last && s->status == HD_OK)
            select_instr(s, in);
    if (s->status == HD_OK)
        select_terminator(s, b);
}

static void create_blocks(struct sel *s)
{
    const struct ir_func *ir = s->ir;
    const struct ir_loops *loops = &s->meets.shapes->loops;

    for (uint32_t i = 0; i < ir->nblocks; i++) {
        uint32_t l = loops->loop_of[i];

        for (uint32_t k = 0; k < s->meets.npoints; k++) {
            const struct converge_point *p = &s->meets.points[k];

            if (((p->at_entry && p->at == i) || (p->meet == i && meets_outside(s, p))) &&
                !s->entries[i])
                s->entries[i] = mc_block_create(s->f);
        }
        s->begin[i] = mc_block_create(s->f);
        s->begin[i]->loop_depth = l == IR_NO_BLOCK ? 0 : loops->loops[l].depth;
        s->begin[i]->count = count_of(s, i);
        if (!s->entries[i])
            continue;
        /* As often as what dominates the loop, about. */
        s->entries[i]->loop_depth = s->begin[i]->loop_depth - 1;
        s->entries[i]->count =
            HD_MIN(s->begin[i]->count, count_of(s, s->meets.shapes->dom.idom[i]));
    }
}

static void create_phis(struct sel *s)
{
    for (uint32_t i = 0; i < s->ir->nblocks; i++) {
        for (const struct ir_instr *phi = s->ir->blocks[i]->first; phi && phi->op == IR_OP_PHI;
             phi = phi->next) {
            s->at = phi;
            sel_def(s, 0);
        }
    }
}

static void select_entries(struct sel *s)
{
    for (uint32_t i = 0; i < s->ir->nblocks; i++) {
        if (!s->entries[i])
            continue;
        s->b = s->entries[i];
        s->at = s->ir->blocks[i]->first;
        meet_lanes(s, i, true);
        remember_lanes(s, i, true);
        sel_jump(s, s->begin[i]);
    }
}

static bool prepare(struct sel *s)
{
    struct hd_arena *arena = &s->f->arena;
    uint32_t n = s->ir->nblocks;

    s->values = hd_arena_array(arena, struct sel_value, s->ir->nvalues + 1);
    s->begin = hd_arena_array(arena, struct mc_block *, n);
    s->entries = hd_arena_array(arena, struct mc_block *, n);
    s->barriers = hd_arena_array(arena, uint32_t, s->meets.npoints + 1);
    if (!s->values || !s->begin || !s->entries || !s->barriers)
        return false;
    memset(s->values, 0, (s->ir->nvalues + 1) * sizeof(*s->values));
    memset(s->entries, 0, n * sizeof(struct mc_block *));
    for (uint32_t i = 0; i < s->meets.npoints; i++)
        s->barriers[i] = mc_vreg_create(s->f, MC_BARRIER, 1);
    create_blocks(s);
    return !s->f->failed;
}

enum hd_status select_func(struct codegen_unit *unit, const struct ir_func *func, bool vectorizes,
                           struct mc_func *out)
{
    struct sel s = {.unit = unit, .f = out, .ir = func};

    mc_init(out, func, &unit->settings, unit->profile);
    HD_TRY(converge_compute(func, &out->arena, &s.meets));
    if (!prepare(&s))
        return hd_error(HD_NO_MEMORY, "function %s: no memory", func->name);
    s.b = s.begin[0];
    select_arguments(&s);
    if (vectorizes)
        HD_TRY(vectorize(func, s.frame_base != MC_NO_UNIT, &out->arena, &s.wide));
    create_phis(&s);
    for (uint32_t i = 0; i < func->nblocks && s.status == HD_OK; i++)
        select_block(&s, func->blocks[i]);
    if (s.status == HD_OK)
        select_entries(&s);
    HD_TRY(s.status);
    if (out->failed)
        return hd_error(HD_NO_MEMORY, "function %s: no memory", func->name);
    return hd_arena_status(&out->arena);
}
