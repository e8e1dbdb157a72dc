/* What lanes of a warp, threads of a CTA and CTAs of a cluster do together. */
#include "codegen/select.h"

/*
 * Those of the mask must be here, and nobody else be with them. Where all lanes of the warp run
 * together and all are meant there is nothing to do; else lanes of one mask part from the others
 * until the operation is done.
 */
struct together {
    uint32_t barrier; /* MC_NO_UNIT: none */
    struct mc_block *behind;
};

static struct together together_begin(struct sel *s, const struct ir_value *mask)
{
    bool apart = s->meets.apart[s->at->block->id];
    struct together t = {MC_NO_UNIT, NULL};
    struct isa_operand m = mask ? sel_word(s, mask, 0) : sel_number(UINT32_MAX);
    bool all = m.kind == ISA_KIND_IMMEDIATE && (uint32_t)m.value == UINT32_MAX;

    if (all && !apart)
        return t;
    if (!all) {
        t.behind = sel_block(s);
        t.barrier = sel_part(s, t.behind);
    }
    EMIT(s, WARPSYNC, B(m));
    return t;
}

static void together_end(struct sel *s, struct together t)
{
    if (t.barrier == MC_NO_UNIT)
        return;
    sel_jump(s, t.behind);
    sel_meet(s, t.behind, t.barrier);
}

static void select_shfl(struct sel *s, const struct ir_instr *in)
{
    static const uint8_t kinds[] = {[IR_SHFL_UP] = ISA_SHFL_UP,
                                    [IR_SHFL_DOWN] = ISA_SHFL_DOWN,
                                    [IR_SHFL_BFLY] = ISA_SHFL_BFLY,
                                    [IR_SHFL_IDX] = ISA_SHFL_IDX};
    struct together t = together_begin(s, in->src[3]);
    uint32_t d = sel_def(s, 0), p = in->ndst > 1 ? sel_def(s, 1) : ISA_PT;
    struct isa_operand b = sel_src(s, 1), c = sel_src(s, 2);
    unsigned kind = kinds[in->imm], limits = (unsigned)c.value & 0x1f1f;

    if (c.kind != ISA_KIND_IMMEDIATE)
        EMIT(s, SHFL_R, PD(p), D(d), A(sel_src(s, 0)), B(b), C(c), MODV(SHFL, kind));
    else if (b.kind == ISA_KIND_IMMEDIATE)
        EMIT(s, SHFL_I, PD(p), D(d), A(sel_src(s, 0)), NUMBER(LANE, b.value & 31),
             NUMBER(LANES, limits), MODV(SHFL, kind));
    else
        EMIT(s, SHFL, PD(p), D(d), A(sel_src(s, 0)), B(b), NUMBER(LANES, limits), MODV(SHFL, kind));
    together_end(s, t);
}

static void select_vote(struct sel *s, const struct ir_instr *in)
{
    struct together t = together_begin(s, in->src[1]);
    struct isa_operand p = sel_srcp(s, 0);

    switch ((enum ir_vote)in->imm) {
    case IR_VOTE_ALL:
        EMIT(s, VOTE, PD(sel_def(s, 0)), PA(p), MOD(VOTE, ALL));
        break;
    case IR_VOTE_ANY:
        EMIT(s, VOTE, PD(sel_def(s, 0)), PA(p), MOD(VOTE, ANY));
        break;
    case IR_VOTE_UNI:
        EMIT(s, VOTE, PD(sel_def(s, 0)), PA(p), MOD(VOTE, EQ));
        break;
    case IR_VOTE_BALLOT:
        EMIT(s, VOTE, D(sel_def(s, 0)), PA(p), MOD(VOTE, ANY));
        break;
    }
    together_end(s, t);
}

static void select_match(struct sel *s, const struct ir_instr *in)
{
    struct together t = together_begin(s, in->src[1]);
    bool wide = ir_type_bits(in->type) == 64;
    uint32_t d = sel_def(s, 0), p = in->ndst > 1 ? sel_def(s, 1) : ISA_PT;
    uint32_t a = wide ? sel_in_pair(s, sel_src64(s, 0)) : sel_in_unit(s, sel_src(s, 0));

    EMIT(s, MATCH, D(d), PD(p), A(sel_unit(a)), MODV(MATCH, in->imm), MODV(MATCH64, wide));
    together_end(s, t);
}

static void select_redux(struct sel *s, const struct ir_instr *in)
{
    struct together t = together_begin(s, in->src[1]);

    EMIT(s, REDUX, D(sel_def(s, 0)), A(sel_src(s, 0)), MODV(REDUX, in->imm),
         MODV(REDUX_TYPE, in->type == IR_S32 ? ISA_REDUX_TYPE_S32 : ISA_REDUX_TYPE_DEFAULT));
    together_end(s, t);
}

static void select_elect(struct sel *s, const struct ir_instr *in)
{
    struct together t = together_begin(s, in->src[0]);

    EMIT(s, ELECT, D(sel_def(s, 0)), PD(in->ndst > 1 ? sel_def(s, 1) : ISA_PT));
    together_end(s, t);
}

static unsigned bar_op(enum ir_bar bar)
{
    switch (bar) {
    case IR_BAR_ARRIVE:
        return ISA_BAR_OP_ARV;
    case IR_BAR_RED_POPC:
        return ISA_BAR_OP_RED_POPC;
    case IR_BAR_RED_AND:
        return ISA_BAR_OP_RED_AND;
    case IR_BAR_RED_OR:
        return ISA_BAR_OP_RED_OR;
    default:
        return ISA_BAR_OP_SYNC;
    }
}

static void select_bar(struct sel *s, const struct ir_instr *in)
{
    enum ir_bar bar = (enum ir_bar)in->imm;
    struct isa_operand id = in->nsrc > 0 ? sel_src(s, 0) : sel_number(0);
    struct isa_operand n = in->nsrc > 1 ? sel_src(s, 1) : sel_number(0);
    struct isa_operand p = in->nsrc > 2 ? sel_srcp(s, 2) : SEL_TRUE;
    uint32_t d = ISA_RZ, q = ISA_PT;

    if (ir_bar_is_cluster(bar)) {
        static const uint8_t sems[] = {[IR_SEM_RELAXED] = ISA_CLUSTER_SEM_RELAXED,
                                       [IR_SEM_ACQUIRE] = ISA_CLUSTER_SEM_ACQ,
                                       [IR_SEM_RELEASE] = ISA_CLUSTER_SEM_REL,
                                       [IR_SEM_VOLATILE] = 0};
        EMIT(s, UCGABAR, MODV(CLUSTER_BAR, bar == IR_BAR_CLUSTER_WAIT),
             MODV(CLUSTER_SEM, sems[in->mem.sem]));
        return;
    }
    if (in->ndst && in->dst[0]->type == IR_PRED)
        q = sel_def(s, 0);
    else if (in->ndst)
        d = sel_def(s, 0);
    if (id.kind == ISA_KIND_IMMEDIATE && n.kind == ISA_KIND_IMMEDIATE && id.value < 16 &&
        n.value < 4096)
        EMIT(s, BAR, D(d), PD(q), NUMBER(CTA_BAR, id.value), NUMBER(THREADS, n.value), PA(p),
             MODV(BAR_OP, bar_op(bar)));
    else
        EMIT(s, BAR_R, D(d), PD(q), B(sel_unit(sel_in_unit(s, id))), C(sel_unit(sel_in_unit(s, n))),
             PA(p), MODV(BAR_OP, bar_op(bar)));
}

bool select_warp(struct sel *s, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_SHFL:
        select_shfl(s, in);
        return true;
    case IR_OP_VOTE:
        select_vote(s, in);
        return true;
    case IR_OP_MATCH:
        select_match(s, in);
        return true;
    case IR_OP_REDUX:
        select_redux(s, in);
        return true;
    case IR_OP_ELECT:
        select_elect(s, in);
        return true;
    case IR_OP_ACTIVEMASK:
        EMIT(s, VOTE, D(sel_def(s, 0)), PA(SEL_TRUE));
        return true;
    case IR_OP_WARPSYNC: {
        struct together t = together_begin(s, in->src[0]);
        together_end(s, t);
        return true;
    }
    case IR_OP_BAR:
        select_bar(s, in);
        return true;
    case IR_OP_NANOSLEEP:
        EMIT(s, NANOSLEEP, B(sel_src(s, 0)));
        return true;
    case IR_OP_PMEVENT:
        EMIT(s, PMTRIG, NUMBER(IMM16, in->imm & 0xffff));
        return true;
    case IR_OP_NOTE: /* for debuggers: the line table says it */
    case IR_OP_ASYNC:
        return true;
    default:
        return false;
    }
}
