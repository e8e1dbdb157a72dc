/* Barriers and warp operations. */
#include "lower/lower_priv.h"

typedef struct ir_value *val;

static bool barrier(struct lower_fn *f, const struct ptx_insn *in, enum ir_bar kind)
{
    val src[3];
    uint32_t n = 0;
    bool red = kind >= IR_BAR_RED_POPC;
    uint32_t last = in->nops - (red ? 1u : 0u);
    for (uint32_t i = red ? 1 : 0; i < last; i++)
        src[n++] = lower_src(f, &in->ops[i], IR_U32);
    if (red && n == 1)
        src[n++] = lower_const(f, IR_B32, 0);
    if (red)
        src[n++] = lower_pred(f, &in->ops[last]);
    struct ir_instr *r = lower_emit(f, IR_OP_BAR, IR_VOID, n, src, red);
    r->imm = kind;
    if (!red)
        return true;
    enum ir_type t = kind == IR_BAR_RED_POPC ? IR_B32 : IR_PRED;
    r->dst[0]->type = t;
    lower_dst(f, &in->ops[0], r->dst[0], t == IR_B32 ? IR_U32 : IR_PRED);
    return true;
}

static enum ir_bar reduction(const struct ptx_insn *in)
{
    return in->form->subop == PTX_SUBOP_POPC  ? IR_BAR_RED_POPC
           : in->form->subop == PTX_SUBOP_AND ? IR_BAR_RED_AND
                                              : IR_BAR_RED_OR;
}

bool lower_do_shfl(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_shfl mode = in->form->mode == PTX_MOD_UP     ? IR_SHFL_UP
                        : in->form->mode == PTX_MOD_DOWN ? IR_SHFL_DOWN
                        : in->form->mode == PTX_MOD_BFLY ? IR_SHFL_BFLY
                                                         : IR_SHFL_IDX;
    val src[] = {lower_src(f, &in->ops[1], IR_B32), lower_src(f, &in->ops[2], IR_U32),
                 lower_src(f, &in->ops[3], IR_U32),
                 in->nops > 4 ? lower_src(f, &in->ops[4], IR_U32) : lower_const(f, IR_B32, ~0u)};
    struct ir_instr *r = lower_emit(f, IR_OP_SHFL, IR_B32, 4, src, 2);
    r->imm = mode;
    r->dst[0]->type = IR_B32;
    r->dst[1]->type = IR_PRED;
    bool pair = in->ops[0].kind == PTX_OPND_PAIR;
    lower_dst(f, pair ? &in->ops[0].items[0] : &in->ops[0], r->dst[0], IR_B32);
    if (pair)
        lower_dst(f, &in->ops[0].items[1], r->dst[1], IR_PRED);
    return true;
}

bool lower_do_vote(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_vote mode = in->form->mode == PTX_MOD_BALLOT ? IR_VOTE_BALLOT
                        : in->form->mode == PTX_MOD_ALL  ? IR_VOTE_ALL
                        : in->form->mode == PTX_MOD_ANY  ? IR_VOTE_ANY
                                                         : IR_VOTE_UNI;
    val src[] = {lower_pred(f, &in->ops[1]),
                 in->nops > 2 ? lower_src(f, &in->ops[2], IR_U32) : lower_const(f, IR_B32, ~0u)};
    struct ir_instr *r = lower_emit(f, IR_OP_VOTE, IR_VOID, 2, src, 1);
    enum ir_type t = mode == IR_VOTE_BALLOT ? IR_B32 : IR_PRED;
    r->imm = mode;
    r->dst[0]->type = t;
    lower_dst(f, &in->ops[0], r->dst[0], t == IR_B32 ? IR_U32 : t);
    return true;
}

bool lower_do_match(struct lower_fn *f, const struct ptx_insn *in)
{
    bool all = in->form->mode == PTX_MOD_ALL, pair = in->ops[0].kind == PTX_OPND_PAIR;
    enum ir_type t = lower_type(ptx_form_type(in->form));
    val src[] = {lower_src(f, &in->ops[1], t), lower_src(f, &in->ops[2], IR_U32)};
    struct ir_instr *r = lower_emit(f, IR_OP_MATCH, t, 2, src, all ? 2 : 1);
    r->imm = all;
    r->dst[0]->type = IR_B32;
    if (all)
        r->dst[1]->type = IR_PRED;
    lower_dst(f, pair ? &in->ops[0].items[0] : &in->ops[0], r->dst[0], IR_U32);
    if (pair && all)
        lower_dst(f, &in->ops[0].items[1], r->dst[1], IR_PRED);
    return true;
}

static val pick(struct lower_fn *f, val cond, uint64_t yes, val no)
{
    return lower_op(f, IR_OP_SELECT, IR_B32, 3, (val[]){cond, lower_const(f, IR_B32, yes), no});
}

/* f32 as s32 of the same order, -0 below +0, and back again. */
static val ordered(struct lower_fn *f, val x)
{
    val sign = lower_op2(f, IR_OP_SHR, IR_S32, x, lower_const(f, IR_B32, 31));
    sign = lower_op2(f, IR_OP_AND, IR_B32, sign, lower_const(f, IR_B32, INT32_MAX));
    return lower_op2(f, IR_OP_XOR, IR_B32, x, sign);
}

/*
 * redux.min and .max of f32, in integers. A NaN is at the end where it loses, and only wins against
 * others; with .NaN at the end where it wins. Both ends are NaNs, which become the canonical one.
 */
static bool redux_float(struct lower_fn *f, const struct ptx_insn *in)
{
    bool max = in->form->subop == PTX_SUBOP_MAX;
    bool wins = ptx_form_has(in->form, PTX_MOD_PROPAGATE_NAN);
    uint64_t end = max == wins ? INT32_MAX : (uint32_t)INT32_MIN;
    val x = lower_src(f, &in->ops[1], IR_F32), member = lower_src(f, &in->ops[2], IR_U32);
    if (ptx_form_has(in->form, PTX_MOD_ABS))
        x = lower_op2(f, IR_OP_AND, IR_B32, x, lower_const(f, IR_B32, INT32_MAX));
    struct ir_instr *nan = lower_emit(f, IR_OP_FSETP, IR_F32, 2, (val[]){x, x}, 1);
    nan->cmp = IR_NAN;
    val src[] = {pick(f, nan->dst[0], end, ordered(f, x)), member};
    struct ir_instr *r = lower_emit(f, IR_OP_REDUX, IR_S32, 2, src, 1);
    r->imm = max ? IR_REDUX_MAX : IR_REDUX_MIN;
    struct ir_instr *none =
        lower_emit(f, IR_OP_SETP, IR_B32, 2, (val[]){r->dst[0], lower_const(f, IR_B32, end)}, 1);
    none->cmp = IR_EQ;
    lower_dst(f, &in->ops[0], pick(f, none->dst[0], INT32_MAX, ordered(f, r->dst[0])), IR_F32);
    return true;
}

bool lower_do_redux(struct lower_fn *f, const struct ptx_insn *in)
{
    static const struct {
        unsigned ptx;
        enum ir_redux ir;
    } table[] = {{PTX_SUBOP_ADD, IR_REDUX_ADD}, {PTX_SUBOP_MIN, IR_REDUX_MIN},
                 {PTX_SUBOP_MAX, IR_REDUX_MAX}, {PTX_SUBOP_AND, IR_REDUX_AND},
                 {PTX_SUBOP_OR, IR_REDUX_OR},   {PTX_SUBOP_XOR, IR_REDUX_XOR}};
    enum ir_type t = lower_type(ptx_form_type(in->form));
    if (t == IR_F32)
        return redux_float(f, in);
    if (ir_type_bits(t) != 32)
        return false;
    val src[] = {lower_src(f, &in->ops[1], t), lower_src(f, &in->ops[2], IR_U32)};
    struct ir_instr *r = lower_emit(f, IR_OP_REDUX, t, 2, src, 1);
    for (size_t i = 0; i < HD_COUNT_OF(table); i++) {
        if (table[i].ptx == in->form->subop)
            r->imm = table[i].ir;
    }
    lower_dst(f, &in->ops[0], r->dst[0], t);
    return true;
}

bool lower_do_elect(struct lower_fn *f, const struct ptx_insn *in)
{
    val member = lower_src(f, &in->ops[1], IR_U32);
    struct ir_instr *r = lower_emit(f, IR_OP_ELECT, IR_VOID, 1, &member, 2);
    r->dst[0]->type = IR_B32;
    r->dst[1]->type = IR_PRED;
    if (in->ops[0].kind != PTX_OPND_PAIR)
        return false;
    lower_dst(f, &in->ops[0].items[0], r->dst[0], IR_U32);
    lower_dst(f, &in->ops[0].items[1], r->dst[1], IR_PRED);
    return true;
}

bool lower_do_bar_sync(struct lower_fn *f, const struct ptx_insn *in)
{
    return barrier(f, in, IR_BAR_SYNC);
}

bool lower_do_bar_arrive(struct lower_fn *f, const struct ptx_insn *in)
{
    return barrier(f, in, IR_BAR_ARRIVE);
}

bool lower_do_bar_red(struct lower_fn *f, const struct ptx_insn *in)
{
    return barrier(f, in, reduction(in));
}

bool lower_do_bar_warp(struct lower_fn *f, const struct ptx_insn *in)
{
    val m = lower_src(f, &in->ops[0], IR_U32);
    lower_emit(f, IR_OP_WARPSYNC, IR_VOID, 1, &m, 0);
    return true;
}

bool lower_do_activemask(struct lower_fn *f, const struct ptx_insn *in)
{
    lower_dst(f, &in->ops[0], lower_op(f, IR_OP_ACTIVEMASK, IR_VOID, 0, NULL), IR_U32);
    return true;
}

bool lower_do_nanosleep(struct lower_fn *f, const struct ptx_insn *in)
{
    val t = lower_src(f, &in->ops[0], IR_U32);
    lower_emit(f, IR_OP_NANOSLEEP, IR_VOID, 1, &t, 0);
    return true;
}
