/*
 * Division of integers and floating-point numbers, and roots.
 *
 * Integers: a reciprocal of the floating-point unit, brought to full precision by integer steps.
 * 32 bits: with q' = floor(b's reciprocal * 2^32, from below), a step q' += hi(q' * -b * q') gives
 * a quotient that is at most 2 too small. 64 bits: two steps of the same kind.
 * Floating point: Newton's iteration with fused operations and Markstein's last step, which is
 * correctly rounded where nothing over- or underflows; where something might, a routine.
 */
#include "codegen/select.h"

static uint32_t emit_imad(struct sel *s, struct isa_operand a, struct isa_operand b,
                          struct isa_operand c)
{
    uint32_t d = sel_new(s, 1);

    EMIT(s, IMAD, D(d), A(a), B(b), C(c));
    return d;
}

static uint32_t emit_select(struct sel *s, uint32_t p, struct isa_operand yes,
                            struct isa_operand no)
{
    uint32_t d = sel_new(s, 1);

    EMIT(s, SEL, D(d), A(sel_unit(sel_in_unit(s, yes))), B(no), PA(sel_p(p)));
    return d;
}

static uint32_t emit_compare(struct sel *s, unsigned cmp, unsigned sign, struct isa_operand a,
                             struct isa_operand b)
{
    uint32_t p = sel_new_pred(s);

    EMIT(s, ISETP, PD(p), A(sel_unit(sel_in_unit(s, a))), B(b), MODV(CMP, cmp), MODV(SIGN, sign));
    return p;
}

struct quotient {
    uint32_t q, r; /* units; of 64 bits pairs */
};

/* Where r >= b: one more, and b less. */
static void correct32(struct sel *s, struct quotient *x, struct isa_operand b)
{
    uint32_t p = emit_compare(s, ISA_CMP_GE, ISA_SIGN_U32, sel_unit(x->r), b);
    uint32_t less = sel_new(s, 1), more = sel_new(s, 1);

    EMIT(s, IADD3, D(less), A(sel_unit(x->r)), B(sel_not(b)));
    EMIT(s, IADD3, D(more), A(sel_unit(x->q)), B(sel_number(1)));
    x->r = emit_select(s, p, sel_unit(less), sel_unit(x->r));
    x->q = emit_select(s, p, sel_unit(more), sel_unit(x->q));
}

/* Unsigned; b is a register. Of b = 0 all ones, and a. */
static struct quotient divide32(struct sel *s, struct isa_operand a, struct isa_operand b)
{
    uint32_t f = sel_new(s, 1), r = sel_new(s, 1), guess = sel_new(s, 1), q0 = sel_new(s, 1);
    uint32_t error, better = sel_new(s, 1), zero;
    struct quotient x = {sel_new(s, 1), MC_NO_UNIT};
    struct isa_operand minus_b;

    EMIT(s, I2F, D(f), B(b), MOD(FLOAT_TO, F32), MOD(INT_FROM, U32), MOD(CVT_RND, RP));
    EMIT(s, MUFU, D(r), B(sel_unit(f)), MOD(MUFU, RCP));
    /* times 2^32, and a little less: the exponent 32 up, the fraction two down */
    EMIT(s, IADD3, D(guess), A(sel_unit(r)), B(sel_number(0x0ffffffe)));
    EMIT(s, F2I, D(q0), B(sel_unit(guess)), MOD(INT_TO, U32), MOD(FLOAT_FROM, F32),
         MOD(CVT_RND, RZ));
    minus_b = sel_unit(sel_new(s, 1));
    EMIT(s, IADD3, D((uint32_t)minus_b.value), B(sel_not(b)));
    error = emit_imad(s, minus_b, sel_unit(q0), SEL_RZ);
    EMIT(s, IMAD_HI, D(better), A(sel_unit(q0)), B(sel_unit(error)), C(sel_unit(q0)),
         MOD(SIGN, U32));
    EMIT(s, IMAD_HI, D(x.q), A(sel_unit(better)), B(a), MOD(SIGN, U32));
    x.r = emit_imad(s, minus_b, sel_unit(x.q), a);
    correct32(s, &x, b);
    correct32(s, &x, b);
    zero = emit_compare(s, ISA_CMP_EQ, ISA_SIGN_U32, b, SEL_RZ);
    x.q = emit_select(s, zero, sel_number(UINT32_MAX), sel_unit(x.q));
    x.r = emit_select(s, zero, a, sel_unit(x.r));
    return x;
}

static struct isa_operand sign_extended(struct sel *s, struct isa_operand o, unsigned bits)
{
    return sel_unit(sel_masked(s, sel_in_unit(s, o), bits, true));
}

/* Where p holds: the negative. */
static uint32_t negate_where(struct sel *s, struct isa_operand p, uint32_t x)
{
    uint32_t minus = sel_new(s, 1), d = sel_new(s, 1);

    EMIT(s, IADD3, D(minus), B(sel_not(sel_unit(x))));
    EMIT(s, SEL, D(d), A(sel_unit(minus)), B(sel_unit(x)), PA(p));
    return d;
}

/* Signed: of magnitudes; signs of a for the rest, of both for the quotient unless b is 0. */
static struct quotient divide32_signed(struct sel *s, struct isa_operand a, struct isa_operand b)
{
    uint32_t ua = sel_new(s, 1), ub = sel_new(s, 1), both = sel_new(s, 1), negative, minus, some;
    uint32_t p = sel_new_pred(s);
    struct quotient x;

    EMIT(s, IABS, D(ua), B(a));
    EMIT(s, IABS, D(ub), B(b));
    x = divide32(s, sel_unit(ua), sel_unit(ub));
    EMIT(s, LOP3, D(both), A(a), B(b), NUMBER(LUT, LUT_XOR));
    negative = emit_compare(s, ISA_CMP_LT, ISA_SIGN_DEFAULT, sel_unit(both), SEL_RZ);
    minus = emit_compare(s, ISA_CMP_LT, ISA_SIGN_DEFAULT, a, SEL_RZ);
    some = emit_compare(s, ISA_CMP_NE, ISA_SIGN_U32, b, SEL_RZ);
    EMIT(s, PLOP3, PD(p), PA(sel_p(negative)), PB(sel_p(some)), NUMBER(LUT, LUT_AND));
    x.q = negate_where(s, sel_p(p), x.q);
    x.r = negate_where(s, sel_p(minus), x.r);
    return x;
}

/* ---- 64 bits */

static uint32_t add64(struct sel *s, struct isa_operand a, struct isa_operand b)
{
    uint32_t d = sel_new(s, 2);

    EMIT(s, IADD_64, D(d), A(a), B(b));
    return d;
}

static uint32_t product64(struct sel *s, uint32_t a, uint32_t b)
{
    uint32_t d = sel_new(s, 2);

    sel_product64(s, d, sel_unit(a), sel_unit(b));
    return d;
}

static uint32_t high_product64(struct sel *s, uint32_t a, uint32_t b)
{
    return sel_high_product64(s, sel_unit(a), sel_unit(b));
}

static uint32_t select64(struct sel *s, struct isa_operand p, struct isa_operand yes,
                         struct isa_operand no)
{
    uint32_t d = sel_new(s, 2);

    for (unsigned i = 0; i < 2; i++)
        EMIT(s, SEL, D(d + i), A(sel_unit(sel_in_unit(s, sel_half(yes, i)))), B(sel_half(no, i)),
             PA(p));
    return d;
}

static uint32_t at_least64(struct sel *s, uint32_t a, uint32_t b)
{
    uint32_t low = sel_new_pred(s), p = sel_new_pred(s);

    EMIT(s, ISETP, PD(low), A(sel_unit(a)), B(sel_unit(b)), MOD(CMP, GE), MOD(SIGN, U32));
    EMIT(s, ISETP, PD(p), A(sel_unit(a + 1)), B(sel_unit(b + 1)), PB(sel_p(low)), MOD(CMP, GE),
         MOD(SIGN, U32), MOD(X, X));
    return p;
}

static void correct64(struct sel *s, struct quotient *x, uint32_t b)
{
    uint32_t p = at_least64(s, x->r, b);
    uint32_t less = add64(s, sel_unit(x->r), sel_not(sel_unit(b)));
    uint32_t more = add64(s, sel_unit(x->q), sel_unit(sel_in_pair(s, sel_number(1))));

    x->r = select64(s, sel_p(p), sel_unit(less), sel_unit(x->r));
    x->q = select64(s, sel_p(p), sel_unit(more), sel_unit(x->q));
}

/* About 2^64 / b, from below, from the floating-point unit. */
static uint32_t reciprocal64(struct sel *s, uint32_t b)
{
    uint32_t low = sel_new(s, 1), high = sel_new(s, 1), f = sel_new(s, 1), r = sel_new(s, 1);
    uint32_t scaled = sel_new(s, 1), upper = sel_new(s, 1), whole = sel_new(s, 1);
    uint32_t rest = sel_new(s, 1), d = sel_new(s, 2);

    EMIT(s, I2F, D(low), B(sel_unit(b)), MOD(FLOAT_TO, F32), MOD(INT_FROM, U32));
    EMIT(s, I2F, D(high), B(sel_unit(b + 1)), MOD(FLOAT_TO, F32), MOD(INT_FROM, U32));
    EMIT(s, FFMA, D(f), A(sel_unit(high)), B(sel_number(0x4f800000)), C(sel_unit(low)));
    EMIT(s, MUFU, D(r), B(sel_unit(f)), MOD(MUFU, RCP));
    EMIT(s, FMUL, D(scaled), A(sel_unit(r)), B(sel_number(0x5f7ffffc))); /* 2^64 and a bit less */
    EMIT(s, FMUL, D(upper), A(sel_unit(scaled)), B(sel_number(0x2f800000)));
    EMIT(s, FRND, D(whole), B(sel_unit(upper)), MOD(FLOAT_FROM, F32), MOD(CVT_RND, RZ));
    EMIT(s, FFMA, D(rest), A(sel_unit(whole)), B(sel_number(0xcf800000)), C(sel_unit(scaled)));
    EMIT(s, F2I, D(d), B(sel_unit(rest)), MOD(INT_TO, U32), MOD(FLOAT_FROM, F32), MOD(CVT_RND, RZ));
    EMIT(s, F2I, D(d + 1), B(sel_unit(whole)), MOD(INT_TO, U32), MOD(FLOAT_FROM, F32),
         MOD(CVT_RND, RZ));
    return d;
}

static struct quotient divide64(struct sel *s, uint32_t a, uint32_t b)
{
    uint32_t y = reciprocal64(s, b), zero, low = sel_new(s, 1);
    uint32_t minus_b = add64(s, SEL_RZ, sel_not(sel_unit(b)));
    struct quotient x;

    for (int i = 0; i < 2; i++)
        y = add64(s, sel_unit(y), sel_unit(high_product64(s, y, product64(s, minus_b, y))));
    x.q = high_product64(s, a, y);
    x.r = add64(s, sel_unit(a), sel_not(sel_unit(product64(s, b, x.q))));
    correct64(s, &x, b);
    correct64(s, &x, b);
    EMIT(s, LOP3, D(low), A(sel_unit(b)), B(sel_unit(b + 1)), NUMBER(LUT, LUT_OR));
    zero = emit_compare(s, ISA_CMP_EQ, ISA_SIGN_U32, sel_unit(low), SEL_RZ);
    x.q = select64(s, sel_p(zero), sel_number(UINT64_MAX), sel_unit(x.q));
    x.r = select64(s, sel_p(zero), sel_unit(a), sel_unit(x.r));
    return x;
}

static uint32_t negate64_where(struct sel *s, struct isa_operand p, uint32_t x)
{
    return select64(s, p, sel_unit(add64(s, SEL_RZ, sel_not(sel_unit(x)))), sel_unit(x));
}

static struct quotient divide64_signed(struct sel *s, uint32_t a, uint32_t b)
{
    uint32_t pa = emit_compare(s, ISA_CMP_LT, ISA_SIGN_DEFAULT, sel_unit(a + 1), SEL_RZ);
    uint32_t pb = emit_compare(s, ISA_CMP_LT, ISA_SIGN_DEFAULT, sel_unit(b + 1), SEL_RZ);
    uint32_t any = sel_new(s, 1), some, p = sel_new_pred(s);
    struct quotient x =
        divide64(s, negate64_where(s, sel_p(pa), a), negate64_where(s, sel_p(pb), b));

    EMIT(s, LOP3, D(any), A(sel_unit(b)), B(sel_unit(b + 1)), NUMBER(LUT, LUT_OR));
    some = emit_compare(s, ISA_CMP_NE, ISA_SIGN_U32, sel_unit(any), SEL_RZ);
    EMIT(s, PLOP3, PD(p), PA(sel_p(pa)), PB(sel_p(pb)), PC(sel_p(some)),
         NUMBER(LUT, (LUT_A ^ LUT_B) & LUT_C));
    x.q = negate64_where(s, sel_p(p), x.q);
    x.r = negate64_where(s, sel_p(pa), x.r);
    return x;
}

bool select_divide(struct sel *s, const struct ir_instr *in)
{
    unsigned bits = ir_type_bits(in->type);
    bool is_signed = ir_type_is_signed(in->type);
    struct quotient x;

    if (in->op != IR_OP_DIV && in->op != IR_OP_REM)
        return false;
    if (bits == 64) {
        uint32_t a = sel_in_whole_pair(s, sel_src64(s, 0));
        uint32_t b = sel_in_whole_pair(s, sel_src64(s, 1));
        x = (is_signed ? divide64_signed : divide64)(s, a, b);
    } else {
        struct isa_operand a = sel_unit(sel_in_unit(s, sel_src(s, 0)));
        struct isa_operand b = sel_unit(sel_in_unit(s, sel_src(s, 1)));
        if (is_signed && bits < 32) {
            a = sign_extended(s, a, bits);
            b = sign_extended(s, b, bits);
        }
        x = (is_signed ? divide32_signed : divide32)(s, a, b);
        x.q = sel_masked(s, x.q, bits, false);
        x.r = sel_masked(s, x.r, bits, false);
    }
    sel_set_units(s, in->dst[0], in->op == IR_OP_DIV ? x.q : x.r);
    return true;
}
