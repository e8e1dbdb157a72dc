/* Integer and bit instructions, moves, compares. */
#include "lower/lower_priv.h"

#include <assert.h>

typedef struct ir_value *val;

static bool arith_is_float(const struct ptx_form *form)
{
    return ptx_type_class(ptx_form_type(form)) == PTX_CLASS_FLOAT;
}

static enum ir_type arith_double_width(enum ir_type t)
{
    switch (t) {
    case IR_S16:
        return IR_S32;
    case IR_U16:
        return IR_U32;
    case IR_S32:
        return IR_S64;
    default:
        return IR_U64;
    }
}

/* ---- carry chains: the flag is one more register */

/* Of 16 bits, which take a carry and leave none, there are no operations: those of 32 do it. */
static void arith_add_carry_16(struct lower_fn *f, const struct ptx_insn *in, val a, val b, val c,
                               bool sub)
{
    a = lower_fit(f, a, IR_U16, IR_B32);
    b = lower_fit(f, b, IR_U16, IR_B32);
    val r = lower_op3(f, sub ? IR_OP_SUBC : IR_OP_ADDC, IR_U32, a, b, c);
    assert(!in->form->cc);
    lower_dst(f, &in->ops[0], lower_fit(f, r, IR_U32, IR_B16), IR_U16);
}

static void arith_add_carry(struct lower_fn *f, const struct ptx_insn *in, val a, val b, bool with,
                            bool sub, const struct ptx_operand *dst)
{
    enum ir_type t = lower_form_type(in);
    val c = with ? lower_reg_read(f, f->nregs - 1) : lower_const(f, IR_PRED, 0);
    if (with && sub)
        c = lower_op1(f, IR_OP_NOT, IR_PRED, c);
    if (ir_type_bits(t) == 16) {
        arith_add_carry_16(f, in, a, b, c, sub);
        return;
    }
    val r = lower_op3(f, sub ? IR_OP_SUBC : IR_OP_ADDC, t, a, b, c);
    if (in->form->cc) {
        val out = lower_op3(f, sub ? IR_OP_BORROW : IR_OP_CARRY, t, a, b, c);
        const val v = sub ? lower_op1(f, IR_OP_NOT, IR_PRED, out) : out;
        lower_reg_write(f, f->nregs - 1, v);
    }
    lower_dst(f, dst, r, t);
}

bool lower_do_add(struct lower_fn *f, const struct ptx_insn *in)
{
    unsigned op = in->form->op;
    bool sub = op == PTX_OP_SUB || op == PTX_OP_SUBC, with = op == PTX_OP_ADDC || op == PTX_OP_SUBC;
    enum ir_type t = lower_form_type(in);
    if (arith_is_float(in->form))
        return lower_float(f, in, sub ? IR_OP_FSUB : IR_OP_FADD);
    val a = lower_src(f, &in->ops[1], t), b = lower_src(f, &in->ops[2], t);
    if (with || in->form->cc) {
        arith_add_carry(f, in, a, b, with, sub, &in->ops[0]);
        return true;
    }
    struct ir_instr *r = lower_emit(f, sub ? IR_OP_SUB : IR_OP_ADD, t, 2, (val[]){a, b}, 1);
    ir_set_mod(r, IR_MOD_SAT, in->form->sat);
    lower_dst(f, &in->ops[0], r->dst[0], t);
    return true;
}

static val arith_product(struct lower_fn *f, const struct ptx_insn *in, enum ir_type t, val a,
                         val b)
{
    enum ir_op op = in->form->half == PTX_HALF_HI     ? IR_OP_MULHI
                    : in->form->half == PTX_HALF_WIDE ? IR_OP_MULWIDE
                                                      : IR_OP_MUL;
    return lower_op2(f, op, t, a, b);
}

bool lower_do_mul(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_type t = lower_form_type(in);
    unsigned op = in->form->op;
    bool wide = in->form->half == PTX_HALF_WIDE;
    if (arith_is_float(in->form))
        return lower_float(f, in, op == PTX_OP_MUL ? IR_OP_FMUL : IR_OP_FMA);
    val a = lower_src(f, &in->ops[1], t), b = lower_src(f, &in->ops[2], t);
    enum ir_type rt = wide ? arith_double_width(t) : t;
    if (op == PTX_OP_MUL) {
        lower_dst(f, &in->ops[0], arith_product(f, in, t, a, b), rt);
        return true;
    }
    val c = lower_src(f, &in->ops[3], rt);
    if (op == PTX_OP_MADC || in->form->cc) {
        arith_add_carry(f, in, arith_product(f, in, t, a, b), c, op == PTX_OP_MADC, false,
                        &in->ops[0]);
        return true;
    }
    if (in->form->sat) {
        lower_dst(f, &in->ops[0], lower_op3(f, IR_OP_MADHI_SAT, t, a, b, c), t);
        return true;
    }
    lower_dst(f, &in->ops[0], lower_op2(f, IR_OP_ADD, rt, arith_product(f, in, t, a, b), c), rt);
    return true;
}

bool lower_do_mul24(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_type t = lower_form_type(in);
    enum ir_op op = in->form->half == PTX_HALF_HI ? IR_OP_MUL24HI : IR_OP_MUL24LO;
    val r = lower_op2(f, op, t, lower_src(f, &in->ops[1], t), lower_src(f, &in->ops[2], t));
    if (in->form->op == PTX_OP_MAD24) {
        struct ir_instr *s =
            lower_emit(f, IR_OP_ADD, t, 2, (val[]){r, lower_src(f, &in->ops[3], t)}, 1);
        ir_set_mod(s, IR_MOD_SAT, in->form->sat);
        r = s->dst[0];
    }
    lower_dst(f, &in->ops[0], r, t);
    return true;
}

static val arith_combine(struct lower_fn *f, const struct ptx_insn *in, val p, val c)
{
    enum ir_op op = in->form->subop == PTX_SUBOP_AND  ? IR_OP_AND
                    : in->form->subop == PTX_SUBOP_OR ? IR_OP_OR
                                                      : IR_OP_XOR;
    return lower_op2(f, op, IR_PRED, p, c);
}

/* lop3.and.b32 d|p, a, b, c, lut, q: p = (d != 0) and q */
static void arith_lop3_pred(struct lower_fn *f, const struct ptx_insn *in, val d)
{
    bool pair = in->ops[0].kind == PTX_OPND_PAIR;
    struct ir_instr *r =
        lower_emit(f, IR_OP_SETP, IR_B32, 2, (val[]){d, lower_const(f, IR_B32, 0)}, 1);
    r->cmp = IR_NE;
    val p = arith_combine(f, in, r->dst[0], lower_pred(f, &in->ops[5]));
    lower_dst(f, pair ? &in->ops[0].items[0] : &in->ops[0], d, IR_B32);
    if (pair)
        lower_dst(f, &in->ops[0].items[1], p, IR_PRED);
}

bool lower_do_lop3(struct lower_fn *f, const struct ptx_insn *in)
{
    struct ir_instr *r = lower_simple_emit(f, in, IR_OP_LOP3);
    r->imm = in->ops[4].kind == PTX_OPND_INT ? in->ops[4].u.bits & 255 : 0;
    if (in->form->subop)
        arith_lop3_pred(f, in, r->dst[0]);
    else
        lower_simple_dst(f, in, r);
    return true;
}

bool lower_do_shf(struct lower_fn *f, const struct ptx_insn *in)
{
    bool left = ptx_form_has(in->form, PTX_MOD_L);
    struct ir_instr *r = lower_simple_emit(f, in, left ? IR_OP_SHFL_L : IR_OP_SHFL_R);
    ir_set_mod(r, IR_MOD_WRAP, !ptx_form_has(in->form, PTX_MOD_CLAMP));
    lower_simple_dst(f, in, r);
    return true;
}

bool lower_do_prmt(struct lower_fn *f, const struct ptx_insn *in)
{
    static const uint16_t modes[] = {
        [IR_PRMT_F4E] = PTX_MOD_F4E, [IR_PRMT_B4E] = PTX_MOD_B4E, [IR_PRMT_RC8] = PTX_MOD_RC8,
        [IR_PRMT_ECL] = PTX_MOD_ECL, [IR_PRMT_ECR] = PTX_MOD_ECR, [IR_PRMT_RC16] = PTX_MOD_RC16};
    struct ir_instr *r = lower_simple_emit(f, in, IR_OP_PRMT);
    for (unsigned m = IR_PRMT_F4E; m < HD_COUNT_OF(modes); m++) {
        if (in->form->mode == modes[m])
            r->imm = m;
    }
    lower_simple_dst(f, in, r);
    return true;
}

bool lower_do_min_max(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_type t = lower_form_type(in);
    if (ir_type_is_float(t))
        return lower_float_min_max(f, in);
    enum ir_op op = in->form->op == PTX_OP_MAX ? IR_OP_MAX : IR_OP_MIN;
    val r = lower_op2(f, op, t, lower_src(f, &in->ops[1], t), lower_src(f, &in->ops[2], t));
    if (in->form->relu)
        r = lower_op2(f, IR_OP_MAX, t, r, lower_const(f, t, 0));
    lower_dst(f, &in->ops[0], r, t);
    return true;
}

bool lower_do_dot_product(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_type t = lower_form_type(in), t2 = lower_type((enum ptx_type)in->form->types[1]);
    val src[] = {lower_src(f, &in->ops[1], IR_B32), lower_src(f, &in->ops[2], IR_B32),
                 lower_src(f, &in->ops[3], IR_B32)};
    struct ir_instr *r =
        lower_emit(f, in->form->op == PTX_OP_DP4A ? IR_OP_DP4A : IR_OP_DP2A, t, 3, src, 1);
    r->type2 = t2;
    ir_set_mod(r, IR_MOD_HI, in->form->half == PTX_HALF_HI);
    lower_dst(f, &in->ops[0], r->dst[0], t);
    return true;
}

/* ---- compares */

static enum ir_cmp arith_compare_of(const struct ptx_form *form, enum ir_type *t)
{
    static const enum ir_cmp table[] = {
        [PTX_CMP_EQ] = IR_EQ,   [PTX_CMP_NE] = IR_NE,   [PTX_CMP_LT] = IR_LT,
        [PTX_CMP_LE] = IR_LE,   [PTX_CMP_GT] = IR_GT,   [PTX_CMP_GE] = IR_GE,
        [PTX_CMP_LO] = IR_LT,   [PTX_CMP_LS] = IR_LE,   [PTX_CMP_HI] = IR_GT,
        [PTX_CMP_HS] = IR_GE,   [PTX_CMP_EQU] = IR_EQU, [PTX_CMP_NEU] = IR_NEU,
        [PTX_CMP_LTU] = IR_LTU, [PTX_CMP_LEU] = IR_LEU, [PTX_CMP_GTU] = IR_GTU,
        [PTX_CMP_GEU] = IR_GEU, [PTX_CMP_NUM] = IR_NUM, [PTX_CMP_NAN] = IR_NAN};
    if (form->cmp >= PTX_CMP_LO && form->cmp <= PTX_CMP_HS)
        *t = *t == IR_S16 ? IR_U16 : *t == IR_S32 ? IR_U32 : *t == IR_S64 ? IR_U64 : *t;
    return table[form->cmp];
}

static val arith_compare(struct lower_fn *f, const struct ptx_insn *in, enum ir_type t, bool high)
{
    enum ir_cmp cmp = arith_compare_of(in->form, &t);
    val a = lower_src(f, &in->ops[1], t), b = lower_src(f, &in->ops[2], t);
    bool fp = ir_type_is_float(t);
    struct ir_instr *r = lower_emit(f, fp ? IR_OP_FSETP : IR_OP_SETP, t, 2, (val[]){a, b}, 1);
    r->cmp = cmp;
    ir_set_mod(r, IR_MOD_FTZ, fp && in->form->ftz);
    ir_set_mod(r, IR_MOD_HI, high);
    return r->dst[0];
}

bool lower_do_setp(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_type t = lower_form_type(in);
    bool packed = t == IR_F16X2 || t == IR_BF16X2, pair = in->ops[0].kind == PTX_OPND_PAIR;
    val p = arith_compare(f, in, t, false);
    val q = packed ? arith_compare(f, in, t, true)
            : pair ? lower_op1(f, IR_OP_NOT, IR_PRED, p)
                   : NULL;
    if (in->nops > 3 && in->form->subop) {
        val c = lower_pred(f, &in->ops[3]);
        p = arith_combine(f, in, p, c);
        q = q ? arith_combine(f, in, q, c) : NULL;
    }
    lower_dst(f, pair ? &in->ops[0].items[0] : &in->ops[0], p, IR_PRED);
    if (pair)
        lower_dst(f, &in->ops[0].items[1], q, IR_PRED);
    return true;
}

static val arith_set_result(struct lower_fn *f, enum ir_type t, val p)
{
    uint64_t one = t == IR_F32    ? 0x3f800000u
                   : t == IR_F16  ? 0x3c00u
                   : t == IR_BF16 ? 0x3f80u
                                  : ~0ull;
    val pick[] = {p, lower_const(f, t, one), lower_const(f, t, 0)};
    return lower_op(f, IR_OP_SELECT, ir_type_value(t), 3, pick);
}

bool lower_do_set(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_type t = lower_form_type(in), st = lower_type((enum ptx_type)in->form->types[1]);
    val c = in->nops > 3 && in->form->subop ? lower_pred(f, &in->ops[3]) : NULL;
    if (st != IR_F16X2 && st != IR_BF16X2) {
        val p = arith_compare(f, in, st, 0);
        lower_dst(f, &in->ops[0], arith_set_result(f, t, c ? arith_combine(f, in, p, c) : p), t);
        return true;
    }
    enum ir_type half = t == IR_F16X2 ? IR_F16 : t == IR_BF16X2 ? IR_BF16 : IR_B16;
    val part[2];
    for (unsigned h = 0; h < 2; h++) {
        val p = arith_compare(f, in, st, h);
        part[h] = arith_set_result(f, half, c ? arith_combine(f, in, p, c) : p);
    }
    lower_dst(f, &in->ops[0], lower_op(f, IR_OP_PACK, IR_B32, 2, part), IR_B32);
    return true;
}

bool lower_do_slct(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_type t = lower_form_type(in), ct = lower_type((enum ptx_type)in->form->types[1]);
    val c = lower_src(f, &in->ops[3], ct), zero = lower_const(f, ct, 0);
    struct ir_instr *p =
        lower_emit(f, ct == IR_F32 ? IR_OP_FSETP : IR_OP_SETP, ct, 2, (val[]){c, zero}, 1);
    p->cmp = IR_GE;
    ir_set_mod(p, IR_MOD_FTZ, in->form->ftz);
    val pick[] = {p->dst[0], lower_src(f, &in->ops[1], t), lower_src(f, &in->ops[2], t)};
    lower_dst(f, &in->ops[0], lower_op(f, IR_OP_SELECT, ir_type_value(t), 3, pick), t);
    return true;
}

/* Element i of a list, or of a special register that is a vector. */
static struct ptx_operand arith_element(const struct ptx_operand *op, unsigned i)
{
    if (op->kind == PTX_OPND_VEC && i < op->nitems)
        return op->items[i];
    struct ptx_operand part = *op;
    part.comp = (uint8_t)(PTX_COMP_X + i);
    return part;
}

/* mov.v4.u32 {a, b, c, d}, %ntid: all are read before one is written. */
static void arith_mov_vector(struct lower_fn *f, const struct ptx_insn *in, enum ir_type t)
{
    val v[PTX_MAX_VECTOR];
    unsigned n = in->form->vec;
    assert(n <= PTX_MAX_VECTOR && in->ops[0].kind == PTX_OPND_VEC);
    for (unsigned i = 0; i < n; i++) {
        const struct ptx_operand part = arith_element(&in->ops[1], i);
        v[i] = lower_src(f, &part, t);
    }
    for (unsigned i = 0; i < n; i++)
        lower_dst(f, &in->ops[0].items[i], v[i], t);
}

bool lower_do_mov(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_type t = lower_form_type(in);
    if (in->form->vec > 1) {
        bool lists = in->ops[0].kind == PTX_OPND_VEC &&
                     (in->ops[1].kind == PTX_OPND_VEC || in->ops[1].kind == PTX_OPND_SREG);
        if (lists)
            arith_mov_vector(f, in, t);
        return lists;
    }
    if (in->ops[0].kind == PTX_OPND_VEC && in->ops[1].kind == PTX_OPND_REG &&
        ir_type_bits(t) == 128) {
        lower_dst(f, &in->ops[0], lower_src(f, &in->ops[1], IR_B128), IR_B128);
        return true;
    }
    lower_dst(f, &in->ops[0], lower_src(f, &in->ops[1], t), t);
    return true;
}

bool lower_do_selp(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_type t = lower_form_type(in);
    val pick[] = {lower_pred(f, &in->ops[3]), lower_src(f, &in->ops[1], t),
                  lower_src(f, &in->ops[2], t)};
    lower_dst(f, &in->ops[0], lower_op(f, IR_OP_SELECT, ir_type_value(t), 3, pick), t);
    return true;
}
