/* Integers, bits, predicates and moves. */
#include "codegen/select.h"

static unsigned bits_of(const struct ir_instr *in)
{
    return ir_type_bits(in->type);
}

static unsigned sign_mod(enum ir_type type)
{
    return ir_type_is_signed(type) ? ISA_SIGN_DEFAULT : ISA_SIGN_U32;
}

static uint64_t extended(uint64_t bits, unsigned width)
{
    return (uint64_t)((int64_t)(bits << (64 - width)) >> (64 - width));
}

uint32_t sel_masked(struct sel *s, uint32_t unit, unsigned bits, bool is_signed)
{
    uint32_t d;

    if (bits >= 32)
        return unit;
    d = sel_new(s, 1);
    if (is_signed)
        EMIT(s, SGXT, D(d), A(sel_unit(unit)), B(sel_number(bits)));
    else
        EMIT(s, LOP3, D(d), A(sel_unit(unit)), B(sel_number((1u << bits) - 1)),
             NUMBER(LUT, LUT_AND));
    return d;
}

/* Source i as 32 bits: of a narrower signed type with its sign. */
static struct isa_operand wide_src(struct sel *s, unsigned i)
{
    unsigned bits = bits_of(s->at);
    struct isa_operand o = sel_src(s, i);

    if (bits >= 32 || !ir_type_is_signed(s->at->type) || ir_type_lanes(s->at->type) > 1)
        return o;
    if (o.kind == ISA_KIND_IMMEDIATE)
        return sel_number((uint32_t)extended((uint64_t)o.value, bits));
    return sel_unit(sel_masked(s, sel_in_unit(s, o), bits, true));
}

/* The result, whose 32 bits are in `unit`: narrower ones are cut. */
static void finish(struct sel *s, uint32_t unit)
{
    unsigned bits = ir_type_bits(s->at->dst[0]->type);

    sel_set_units(s, s->at->dst[0], sel_masked(s, unit, bits, false));
}

static struct isa_operand half(struct sel *s, unsigned i, unsigned word)
{
    return sel_half(sel_src64(s, i), word);
}

/* ---- sums of 64 bits */

static bool in_registers(struct isa_operand o)
{
    return o.kind == ISA_KIND_REG;
}

static void add64(struct sel *s, uint32_t d, struct isa_operand a, struct isa_operand b)
{
    uint32_t carry;

    if (in_registers(a) && in_registers(b)) {
        EMIT(s, IADD_64, D(d), A(a), B(b));
        return;
    }
    carry = sel_new_pred(s);
    EMIT(s, IADD3, D(d), PD(carry), A(sel_half(a, 0)), B(sel_half(b, 0)));
    EMIT(s, IADD3, D(d + 1), A(sel_half(a, 1)), B(sel_half(b, 1)), PA(sel_p(carry)), MOD(X, X));
}

static struct isa_operand negative(struct sel *s, struct isa_operand pair)
{
    if (pair.kind == ISA_KIND_IMMEDIATE)
        return sel_number(0 - (uint64_t)pair.value);
    return sel_not(sel_unit(sel_in_pair(s, pair)));
}

static void sub64(struct sel *s, uint32_t d, struct isa_operand a, struct isa_operand b)
{
    struct isa_operand minus = negative(s, b);

    if (minus.kind == ISA_KIND_IMMEDIATE)
        add64(s, d, a, minus);
    else
        EMIT(s, IADD_64, D(d), A(sel_unit(sel_in_pair(s, a))), B(minus));
}

/* ---- comparisons */

static unsigned cmp_mod(enum ir_cmp cmp)
{
    switch (cmp) {
    case IR_EQ:
        return ISA_CMP_EQ;
    case IR_NE:
        return ISA_CMP_NE;
    case IR_LT:
        return ISA_CMP_LT;
    case IR_LE:
        return ISA_CMP_LE;
    case IR_GT:
        return ISA_CMP_GT;
    default:
        assert(cmp == IR_GE);
        return ISA_CMP_GE;
    }
}

static enum ir_cmp swapped(enum ir_cmp cmp)
{
    switch (cmp) {
    case IR_LT:
        return IR_GT;
    case IR_LE:
        return IR_GE;
    case IR_GT:
        return IR_LT;
    case IR_GE:
        return IR_LE;
    default:
        return cmp;
    }
}

static void compare32(struct sel *s, uint32_t p, enum ir_cmp cmp, unsigned sign,
                      struct isa_operand a, struct isa_operand b)
{
    if (!in_registers(a) && in_registers(b)) {
        compare32(s, p, swapped(cmp), sign, b, a);
        return;
    }
    EMIT(s, ISETP, PD(p), A(a), B(b), MODV(CMP, cmp_mod(cmp)), MODV(SIGN, sign));
}

/* The lower words decide where the upper ones are equal. */
static void compare64(struct sel *s, uint32_t p, enum ir_cmp cmp, unsigned sign,
                      struct isa_operand a, struct isa_operand b)
{
    uint32_t low = sel_new_pred(s);

    if (!in_registers(a) && in_registers(b)) {
        compare64(s, p, swapped(cmp), sign, b, a);
        return;
    }
    EMIT(s, ISETP, PD(low), A(sel_half(a, 0)), B(sel_half(b, 0)), MODV(CMP, cmp_mod(cmp)),
         MOD(SIGN, U32));
    EMIT(s, ISETP, PD(p), A(sel_half(a, 1)), B(sel_half(b, 1)), PB(sel_p(low)),
         MODV(CMP, cmp_mod(cmp)), MODV(SIGN, sign), MOD(X, X));
}

static void preds(struct sel *s, uint32_t p, struct isa_operand a, struct isa_operand b,
                  struct isa_operand c, unsigned lut)
{
    EMIT(s, PLOP3, PD(p), PA(a), PB(b), PC(c), NUMBER(LUT, lut));
}

/* false < true */
static unsigned lut_of(enum ir_cmp cmp)
{
    switch (cmp) {
    case IR_EQ:
        return 0xff & ~LUT_XOR;
    case IR_NE:
        return LUT_XOR;
    case IR_LT:
        return LUT_NOT & LUT_B;
    case IR_LE:
        return LUT_NOT | LUT_B;
    case IR_GT:
        return LUT_A & ~LUT_B;
    default:
        return LUT_A | (0xff & ~LUT_B);
    }
}

static void select_setp(struct sel *s, const struct ir_instr *in)
{
    uint32_t p = sel_def(s, 0);
    unsigned sign = sign_mod(in->type);

    if (in->type == IR_PRED)
        preds(s, p, sel_srcp(s, 0), sel_srcp(s, 1), SEL_TRUE, lut_of(in->cmp));
    else if (bits_of(in) == 64)
        compare64(s, p, in->cmp, sign, sel_src64(s, 0), sel_src64(s, 1));
    else
        compare32(s, p, in->cmp, sign, wide_src(s, 0), wide_src(s, 1));
}

/* d = p ? a : b, of words */
static void choose(struct sel *s, uint32_t d, struct isa_operand p, struct isa_operand a,
                   struct isa_operand b)
{
    if (!in_registers(a) && in_registers(b))
        EMIT(s, SEL, D(d), A(b), B(a), PA(sel_not(p)));
    else
        EMIT(s, SEL, D(d), A(a), B(b), PA(p));
}

static void select_select(struct sel *s, const struct ir_instr *in)
{
    const struct ir_value *v = in->dst[0];
    struct isa_operand p = sel_srcp(s, 0);
    uint32_t d = sel_def(s, 0);

    if (v->type == IR_PRED) {
        preds(s, d, p, sel_srcp(s, 1), sel_srcp(s, 2), LUT_CHOOSE);
        return;
    }
    for (unsigned i = 0; i < HD_MAX(ir_type_bits(v->type) / 32, 1u); i++)
        choose(s, d + i, p, sel_word(s, in->src[1], i), sel_word(s, in->src[2], i));
}

/* ---- sums and products */

/* Clamps a sum or difference that wrapped: where `flags` are negative, to the side of a. */
static uint32_t saturated(struct sel *s, struct isa_operand a, uint32_t sum, uint32_t flags)
{
    uint32_t limit = sel_new(s, 1), d = sel_new(s, 1), p = sel_new_pred(s);

    EMIT(s, SHF, D(limit), A(SEL_RZ), B(sel_number(31)), C(a), MOD(SHF_DIR, R), MOD(SHF_TYPE, S32),
         MOD(HI, HI));
    EMIT(s, LOP3, D(limit), A(sel_unit(limit)), B(sel_number(0x7fffffff)), NUMBER(LUT, LUT_XOR));
    compare32(s, p, IR_LT, ISA_SIGN_DEFAULT, sel_unit(flags), sel_number(0));
    choose(s, d, sel_p(p), sel_unit(limit), sel_unit(sum));
    return d;
}

static uint32_t sat_add(struct sel *s, struct isa_operand a, struct isa_operand b, bool minus)
{
    uint32_t sum = sel_new(s, 1), flags = sel_new(s, 1);

    a = sel_unit(sel_in_unit(s, a));
    b = sel_unit(sel_in_unit(s, b));
    EMIT(s, IADD3, D(sum), A(a), B(minus ? sel_not(b) : b));
    /* (a ^ sum) & (b ^ sum); of a difference (a ^ b) & (a ^ difference) */
    EMIT(
        s, LOP3, D(flags), A(a), B(b), C(sel_unit(sum)),
        NUMBER(LUT, minus ? (LUT_A ^ LUT_B) & (LUT_A ^ LUT_C) : (LUT_A ^ LUT_C) & (LUT_B ^ LUT_C)));
    return saturated(s, a, sum, flags);
}

static void select_add(struct sel *s, const struct ir_instr *in)
{
    bool minus = in->op == IR_OP_SUB;
    struct isa_operand a, b;
    uint32_t d;

    if (bits_of(in) == 64) {
        (minus ? sub64 : add64)(s, sel_def(s, 0), sel_src64(s, 0), sel_src64(s, 1));
        return;
    }
    a = sel_src(s, 0);
    b = sel_src(s, 1);
    if (ir_has(in, IR_MOD_SAT)) {
        sel_set_units(s, in->dst[0], sat_add(s, a, b, minus));
        return;
    }
    d = sel_new(s, 1);
    if (ir_type_lanes(in->type) > 1)
        EMIT(s, IADD2, D(d), A(a), B(minus ? sel_not(b) : b));
    else
        EMIT(s, IADD3, D(d), A(a), B(minus ? sel_not(b) : b));
    finish(s, d);
}

void sel_product64(struct sel *s, uint32_t d, struct isa_operand a, struct isa_operand b)
{
    uint32_t wide = sel_new(s, 2), high = sel_new(s, 1);

    EMIT(s, IMAD_WIDE, D(wide), A(sel_half(a, 0)), B(sel_half(b, 0)), MOD(SIGN, U32));
    EMIT(s, IMAD, D(high), A(sel_half(a, 0)), B(sel_half(b, 1)), C(sel_unit(wide + 1)));
    EMIT(s, MOV, D(d), B(sel_unit(wide)));
    EMIT(s, IMAD, D(d + 1), A(sel_half(a, 1)), B(sel_half(b, 0)), C(sel_unit(high)));
}

/* a * b + word, all unsigned; never more than 64 bits */
static uint32_t wide_plus(struct sel *s, struct isa_operand a, struct isa_operand b,
                          struct isa_operand word)
{
    uint32_t c = sel_tuple(s, (struct isa_operand[]){word, SEL_RZ}, 2), d = sel_new(s, 2);

    EMIT(s, IMAD_WIDE, D(d), A(a), B(b), C(sel_unit(c)), MOD(SIGN, U32));
    return d;
}

uint32_t sel_high_product64(struct sel *s, struct isa_operand a, struct isa_operand b)
{
    struct isa_operand al = sel_half(a, 0), ah = sel_half(a, 1);
    struct isa_operand bl = sel_half(b, 0), bh = sel_half(b, 1);
    uint32_t p0 = wide_plus(s, al, bl, SEL_RZ);
    uint32_t p1 = wide_plus(s, ah, bl, sel_unit(p0 + 1));
    uint32_t p2 = wide_plus(s, al, bh, sel_unit(p1));
    uint32_t p3 = wide_plus(s, ah, bh, sel_unit(p1 + 1)), d = sel_new(s, 2);
    uint32_t c = sel_tuple(s, (struct isa_operand[]){sel_unit(p2 + 1), SEL_RZ}, 2);

    EMIT(s, IADD_64, D(d), A(sel_unit(p3)), B(sel_unit(c)));
    return d;
}

/* Of the signed product: less b where a is negative, less a where b is. */
static uint32_t signed_correction(struct sel *s, uint32_t high, struct isa_operand a,
                                  struct isa_operand b)
{
    uint32_t p = sel_new_pred(s), part = sel_new(s, 2), d = sel_new(s, 2);

    compare32(s, p, IR_LT, ISA_SIGN_DEFAULT, sel_half(a, 1), sel_number(0));
    for (unsigned i = 0; i < 2; i++)
        choose(s, part + i, sel_p(p), sel_half(b, i), SEL_RZ);
    EMIT(s, IADD_64, D(d), A(sel_unit(high)), B(sel_not(sel_unit(part))));
    return d;
}

static void select_high64(struct sel *s, const struct ir_instr *in)
{
    struct isa_operand a = sel_unit(sel_in_pair(s, sel_src64(s, 0)));
    struct isa_operand b = sel_unit(sel_in_pair(s, sel_src64(s, 1)));
    uint32_t d = sel_high_product64(s, a, b);

    if (ir_type_is_signed(in->type))
        d = signed_correction(s, signed_correction(s, d, a, b), b, a);
    sel_set_units(s, in->dst[0], d);
}

static void select_product(struct sel *s, const struct ir_instr *in)
{
    unsigned bits = bits_of(in), sign = sign_mod(in->type);
    uint32_t d;

    if (bits == 64 && in->op == IR_OP_MUL) {
        sel_product64(s, sel_def(s, 0), sel_src64(s, 0), sel_src64(s, 1));
    } else if (bits == 64) {
        select_high64(s, in);
    } else if (bits == 32 && in->op == IR_OP_MULWIDE) {
        d = sel_def(s, 0);
        EMIT(s, IMAD_WIDE, D(d), A(sel_src(s, 0)), B(sel_src(s, 1)), MODV(SIGN, sign));
    } else if (bits == 32 && in->op == IR_OP_MULHI) {
        d = sel_def(s, 0);
        EMIT(s, IMAD_HI, D(d), A(sel_src(s, 0)), B(sel_src(s, 1)), MODV(SIGN, sign));
    } else {
        d = sel_new(s, 1);
        EMIT(s, IMAD, D(d), A(wide_src(s, 0)), B(wide_src(s, 1)));
        if (in->op == IR_OP_MULHI) {
            uint32_t high = sel_new(s, 1);
            EMIT(s, SHF, D(high), A(SEL_RZ), B(sel_number(bits)), C(sel_unit(d)), MOD(SHF_DIR, R),
                 MOD(SHF_TYPE, U32), MOD(HI, HI));
            d = high;
        }
        finish(s, d);
    }
}

static void select_mul24(struct sel *s, const struct ir_instr *in)
{
    bool is_signed = ir_type_is_signed(in->type);
    struct isa_operand a = sel_unit(sel_masked(s, sel_in_unit(s, sel_src(s, 0)), 24, is_signed));
    struct isa_operand b = sel_unit(sel_masked(s, sel_in_unit(s, sel_src(s, 1)), 24, is_signed));
    uint32_t d = sel_def(s, 0), wide;

    if (in->op == IR_OP_MUL24LO) {
        EMIT(s, IMAD, D(d), A(a), B(b));
        return;
    }
    wide = sel_new(s, 2);
    EMIT(s, IMAD_WIDE, D(wide), A(a), B(b), MODV(SIGN, sign_mod(in->type)));
    EMIT(s, SHF, D(d), A(sel_unit(wide)), B(sel_number(16)), C(sel_unit(wide + 1)), MOD(SHF_DIR, R),
         MOD(SHF_TYPE, U32));
}

static void select_minmax(struct sel *s, const struct ir_instr *in)
{
    struct isa_operand p = in->op == IR_OP_MIN ? SEL_TRUE : SEL_FALSE;
    uint32_t d = sel_def(s, 0), q;

    if (bits_of(in) == 64) {
        struct isa_operand a = sel_src64(s, 0), b = sel_src64(s, 1);
        q = sel_new_pred(s);
        compare64(s, q, in->op == IR_OP_MIN ? IR_LT : IR_GT, sign_mod(in->type), a, b);
        for (unsigned i = 0; i < 2; i++)
            choose(s, d + i, sel_p(q), sel_half(a, i), sel_half(b, i));
        return;
    }
    bool packed = ir_type_lanes(in->type) > 1;
    unsigned sign = sign_mod(ir_type_element(in->type));
    uint32_t t = sel_new(s, 1);
    EMIT(s, IMNMX, D(t), A(wide_src(s, 0)), B(wide_src(s, 1)), PA(p), MODV(SIGN, sign),
         MODV(PACKED, packed));
    sel_set_units(s, in->dst[0], sel_masked(s, t, ir_type_bits(in->dst[0]->type), false));
}

static void select_negate(struct sel *s, const struct ir_instr *in)
{
    uint32_t d, p;

    if (bits_of(in) == 64 && in->op == IR_OP_NEG) {
        sub64(s, sel_def(s, 0), SEL_RZ, sel_src64(s, 0));
    } else if (bits_of(in) == 64) {
        struct isa_operand a = sel_unit(sel_in_pair(s, sel_src64(s, 0)));
        uint32_t minus = sel_new(s, 2);
        d = sel_def(s, 0);
        p = sel_new_pred(s);
        sub64(s, minus, SEL_RZ, a);
        compare32(s, p, IR_LT, ISA_SIGN_DEFAULT, sel_half(a, 1), sel_number(0));
        for (unsigned i = 0; i < 2; i++)
            choose(s, d + i, sel_p(p), sel_unit(minus + i), sel_half(a, i));
    } else {
        d = sel_new(s, 1);
        if (in->op == IR_OP_NEG)
            EMIT(s, IADD3, D(d), B(sel_not(sel_src(s, 0))));
        else
            EMIT(s, IABS, D(d), B(wide_src(s, 0)));
        finish(s, d);
    }
}

static void select_sad(struct sel *s, const struct ir_instr *in)
{
    uint32_t d = sel_new(s, 1);

    if (bits_of(in) == 64) {
        struct isa_operand a = sel_unit(sel_in_pair(s, sel_src64(s, 0)));
        struct isa_operand b = sel_unit(sel_in_pair(s, sel_src64(s, 1)));
        uint32_t p = sel_new_pred(s), x = sel_new(s, 2), y = sel_new(s, 2), z = sel_new(s, 2);
        compare64(s, p, IR_LT, sign_mod(in->type), a, b);
        sub64(s, x, a, b);
        sub64(s, y, b, a);
        for (unsigned i = 0; i < 2; i++)
            choose(s, z + i, sel_p(p), sel_unit(y + i), sel_unit(x + i));
        add64(s, sel_def(s, 0), sel_unit(z), sel_src64(s, 2));
        return;
    }
    EMIT(s, VABSDIFF, D(d), A(wide_src(s, 0)), B(wide_src(s, 1)), C(sel_src(s, 2)),
         MODV(SIGN, sign_mod(in->type)));
    finish(s, d);
}

static void select_dot(struct sel *s, const struct ir_instr *in)
{
    uint32_t d = sel_def(s, 0);
    unsigned dp = in->op == IR_OP_DP4A    ? ISA_DP_4A
                  : ir_has(in, IR_MOD_HI) ? ISA_DP_2A_HI
                                          : ISA_DP_2A_LO;

    EMIT(s, IDP, D(d), A(sel_src(s, 0)), B(sel_src(s, 1)), C(sel_src(s, 2)), MODV(DP, dp),
         MODV(SIGN_A, !ir_type_is_signed(in->type)), MODV(SIGN_B, !ir_type_is_signed(in->type2)));
}

/* ---- sums with a carry from below */

static void carry_chain(struct sel *s, const struct ir_instr *in, uint32_t d, uint32_t out,
                        bool minus)
{
    unsigned words = bits_of(in) / 32;
    struct isa_operand in_carry = sel_srcp(s, 2);

    if (minus)
        in_carry = sel_not(in_carry);
    for (unsigned i = 0; i < words; i++) {
        struct isa_operand a = sel_word(s, in->src[0], i), b = sel_word(s, in->src[1], i);
        bool last = i + 1 == words;
        uint32_t carry = last && out == MC_NO_UNIT ? ISA_PT : last ? out : sel_new_pred(s);

        if (minus && b.kind == ISA_KIND_IMMEDIATE) {
            b = sel_number(~(uint32_t)b.value);
        } else if (minus) {
            uint32_t inverted = sel_new(s, 1);
            EMIT(s, LOP3, D(inverted), A(b), NUMBER(LUT, LUT_NOT));
            b = sel_unit(inverted);
        }
        EMIT(s, IADD3, D(d == MC_NO_UNIT ? ISA_RZ : d + i), PD(carry), A(a), B(b), PA(in_carry),
             MOD(X, X));
        in_carry = sel_p(carry);
    }
}

static void select_carry(struct sel *s, const struct ir_instr *in)
{
    uint32_t p;

    switch (in->op) {
    case IR_OP_ADDC:
        carry_chain(s, in, sel_def(s, 0), MC_NO_UNIT, false);
        return;
    case IR_OP_SUBC:
        carry_chain(s, in, sel_def(s, 0), MC_NO_UNIT, true);
        return;
    case IR_OP_CARRY:
        carry_chain(s, in, MC_NO_UNIT, sel_def(s, 0), false);
        return;
    default:
        assert(in->op == IR_OP_BORROW);
        p = sel_new_pred(s);
        carry_chain(s, in, MC_NO_UNIT, p, true);
        preds(s, sel_def(s, 0), sel_p(p), SEL_TRUE, SEL_TRUE, LUT_NOT);
        return;
    }
}

/* ---- bits */

static void select_logic(struct sel *s, const struct ir_instr *in)
{
    unsigned lut = in->op == IR_OP_AND   ? LUT_AND
                   : in->op == IR_OP_OR  ? LUT_OR
                   : in->op == IR_OP_XOR ? LUT_XOR
                                         : LUT_NOT_B;
    bool one = in->op == IR_OP_NOT;
    uint32_t d, t;

    if (in->type == IR_PRED) {
        preds(s, sel_def(s, 0), sel_srcp(s, 0), one ? SEL_TRUE : sel_srcp(s, 1), SEL_TRUE,
              one ? LUT_NOT : lut);
        return;
    }
    if (bits_of(in) < 32 && one) {
        t = sel_new(s, 1);
        EMIT(s, LOP3, D(t), B(sel_src(s, 0)), NUMBER(LUT, lut));
        finish(s, t);
        return;
    }
    d = sel_def(s, 0);
    for (unsigned i = 0; i < HD_MAX(bits_of(in) / 32, 1u); i++) {
        struct isa_operand a = one ? SEL_RZ : sel_word(s, in->src[1], i);
        struct isa_operand b = sel_word(s, in->src[0], i);
        if (!in_registers(a) && in_registers(b))
            EMIT(s, LOP3, D(d + i), A(b), B(a), NUMBER(LUT, lut));
        else
            EMIT(s, LOP3, D(d + i), A(a), B(b), NUMBER(LUT, lut));
    }
}

static void shift_left(struct sel *s, uint32_t d, struct isa_operand a, struct isa_operand n)
{
    EMIT(s, SHF, D(d), A(a), B(n), C(SEL_RZ), MOD(SHF_DIR, L), MOD(SHF_TYPE, U32));
}

static void shift_right(struct sel *s, uint32_t d, struct isa_operand a, struct isa_operand n,
                        bool is_signed)
{
    EMIT(s, SHF, D(d), A(SEL_RZ), B(n), C(a), MOD(SHF_DIR, R),
         MODV(SHF_TYPE, is_signed ? ISA_SHF_TYPE_S32 : ISA_SHF_TYPE_U32), MOD(HI, HI));
}

static void shift_left64(struct sel *s, uint32_t d, struct isa_operand a, struct isa_operand n)
{
    EMIT(s, SHF, D(d + 1), A(sel_half(a, 0)), B(n), C(sel_half(a, 1)), MOD(SHF_DIR, L),
         MOD(SHF_TYPE, U64), MOD(HI, HI));
    shift_left(s, d, sel_half(a, 0), n);
}

static void shift_right64(struct sel *s, uint32_t d, struct isa_operand a, struct isa_operand n,
                          bool is_signed)
{
    EMIT(s, SHF, D(d), A(sel_half(a, 0)), B(n), C(sel_half(a, 1)), MOD(SHF_DIR, R),
         MODV(SHF_TYPE, is_signed ? ISA_SHF_TYPE_S64 : ISA_SHF_TYPE_U64));
    shift_right(s, d + 1, sel_half(a, 1), n, is_signed);
}

static void select_shift(struct sel *s, const struct ir_instr *in)
{
    struct isa_operand n = sel_src(s, 1);
    bool is_signed = ir_type_is_signed(in->type);
    uint32_t d;

    if (bits_of(in) == 64) {
        struct isa_operand a = sel_unit(sel_in_pair(s, sel_src64(s, 0)));
        if (in->op == IR_OP_SHL)
            shift_left64(s, sel_def(s, 0), a, n);
        else
            shift_right64(s, sel_def(s, 0), a, n, is_signed);
        return;
    }
    d = sel_new(s, 1);
    if (in->op == IR_OP_SHL)
        shift_left(s, d, sel_src(s, 0), n);
    else
        shift_right(s, d, wide_src(s, 0), n, is_signed);
    if (in->op == IR_OP_SHL || is_signed)
        finish(s, d);
    else
        sel_set_units(s, in->dst[0], d);
}

static void select_funnel(struct sel *s, const struct ir_instr *in)
{
    bool left = in->op == IR_OP_SHFL_L;

    EMIT(s, SHF, D(sel_def(s, 0)), A(sel_src(s, 0)), B(sel_src(s, 2)), C(sel_src(s, 1)),
         MODV(SHF_DIR, left ? ISA_SHF_DIR_L : ISA_SHF_DIR_R), MOD(SHF_TYPE, U32), MODV(HI, left),
         MODV(SHF_WRAP, ir_has(in, IR_MOD_WRAP)));
}

static struct isa_operand low_byte(struct sel *s, struct isa_operand o)
{
    if (o.kind == ISA_KIND_IMMEDIATE)
        return sel_number((uint64_t)o.value & 0xff);
    return sel_unit(sel_masked(s, sel_in_unit(s, o), 8, false));
}

/* 64 - n, at least 0, of a number of 8 bits. */
static struct isa_operand rest_of_64(struct sel *s, struct isa_operand n)
{
    uint32_t d, t;

    if (n.kind == ISA_KIND_IMMEDIATE)
        return sel_number(n.value < 64 ? 64 - (uint64_t)n.value : 0);
    t = sel_new(s, 1);
    d = sel_new(s, 1);
    EMIT(s, IMNMX, D(t), A(n), B(sel_number(64)), MOD(SIGN, U32));
    EMIT(s, IADD3, D(d), A(sel_not(sel_unit(t))), B(sel_number(64)));
    return sel_unit(d);
}

static void select_extract(struct sel *s, const struct ir_instr *in)
{
    struct isa_operand at = low_byte(s, sel_src(s, 1)), n = low_byte(s, sel_src(s, 2));
    bool is_signed = ir_type_is_signed(in->type);
    uint32_t t, d = sel_def(s, 0);

    if (bits_of(in) == 32) {
        t = sel_new(s, 1);
        shift_right(s, t, sel_src(s, 0), at, is_signed);
        EMIT(s, SGXT, D(d), A(sel_unit(t)), B(n), MODV(SIGN, sign_mod(in->type)));
        return;
    }
    uint32_t u = sel_new(s, 2);
    struct isa_operand rest = rest_of_64(s, n);
    t = sel_new(s, 2);
    shift_right64(s, t, sel_unit(sel_in_pair(s, sel_src64(s, 0))), at, is_signed);
    shift_left64(s, u, sel_unit(t), rest);
    shift_right64(s, d, sel_unit(u), rest, is_signed);
}

static void select_insert(struct sel *s, const struct ir_instr *in)
{
    struct isa_operand at = low_byte(s, sel_src(s, 2)), n = low_byte(s, sel_src(s, 3));
    unsigned words = bits_of(in) / 32;
    uint32_t shifted = sel_new(s, words), mask = sel_new(s, words), d = sel_def(s, 0);

    if (words == 1) {
        shift_left(s, shifted, sel_src(s, 0), at);
        EMIT(s, BMSK, D(mask), A(at), B(n));
    } else {
        uint32_t ones = sel_in_pair(s, sel_number(UINT64_MAX)), low = sel_new(s, 2);
        uint32_t inverted = sel_new(s, 2);
        shift_left64(s, shifted, sel_unit(sel_in_pair(s, sel_src64(s, 0))), at);
        shift_left64(s, low, sel_unit(ones), n);
        for (unsigned i = 0; i < 2; i++)
            EMIT(s, LOP3, D(inverted + i), A(sel_unit(low + i)), NUMBER(LUT, LUT_NOT));
        shift_left64(s, mask, sel_unit(inverted), at);
    }
    for (unsigned i = 0; i < words; i++)
        EMIT(s, LOP3, D(d + i), A(sel_unit(shifted + i)), B(sel_unit(mask + i)),
             C(sel_word(s, in->src[1], i)), NUMBER(LUT, LUT_BY_B));
}

/* Number of the highest one, or all ones, of 64 bits. */
static uint32_t highest64(struct sel *s, struct isa_operand a)
{
    uint32_t low = sel_new(s, 1), high = sel_new(s, 1), d = sel_new(s, 1), p = sel_new_pred(s);

    EMIT(s, FLO, D(low), B(sel_half(a, 0)), MOD(SIGN, U32));
    EMIT(s, FLO, D(high), B(sel_half(a, 1)), MOD(SIGN, U32));
    EMIT(s, IADD3, D(high), A(sel_unit(high)), B(sel_number(32)));
    compare32(s, p, IR_EQ, ISA_SIGN_U32, sel_half(a, 1), sel_number(0));
    choose(s, d, sel_p(p), sel_unit(low), sel_unit(high));
    return d;
}

static void select_find(struct sel *s, const struct ir_instr *in)
{
    bool is_signed = ir_type_is_signed(in->type), shift = ir_has(in, IR_MOD_SHIFTAMT);
    uint32_t d = sel_def(s, 0), at, p;

    if (bits_of(in) == 32) {
        EMIT(s, FLO, D(d), B(sel_src(s, 0)), MODV(SIGN, sign_mod(in->type)), MODV(FLO_SH, shift));
        return;
    }
    struct isa_operand a = sel_unit(sel_in_pair(s, sel_src64(s, 0)));
    if (is_signed) {
        uint32_t sign = sel_new(s, 1), x = sel_new(s, 2);
        shift_right(s, sign, sel_half(a, 1), sel_number(31), true);
        for (unsigned i = 0; i < 2; i++)
            EMIT(s, LOP3, D(x + i), A(sel_half(a, i)), B(sel_unit(sign)), NUMBER(LUT, LUT_XOR));
        a = sel_unit(x);
    }
    at = highest64(s, a);
    if (!shift) {
        EMIT(s, MOV, D(d), B(sel_unit(at)));
        return;
    }
    p = sel_new_pred(s);
    compare32(s, p, IR_LT, ISA_SIGN_DEFAULT, sel_unit(at), sel_number(0));
    uint32_t distance = sel_new(s, 1);
    EMIT(s, IADD3, D(distance), A(sel_not(sel_unit(at))), B(sel_number(63)));
    choose(s, d, sel_p(p), sel_unit(at), sel_unit(distance));
}

static void select_count(struct sel *s, const struct ir_instr *in)
{
    bool wide = bits_of(in) == 64;
    uint32_t d = sel_def(s, 0), t = sel_new(s, 1), u;

    switch (in->op) {
    case IR_OP_CLZ:
        if (wide)
            t = highest64(s, sel_unit(sel_in_pair(s, sel_src64(s, 0))));
        else
            EMIT(s, FLO, D(t), B(sel_src(s, 0)), MOD(SIGN, U32));
        EMIT(s, IADD3, D(d), A(sel_not(sel_unit(t))), B(sel_number(wide ? 63 : 31)));
        return;
    case IR_OP_POPC:
        if (!wide) {
            EMIT(s, POPC, D(d), B(sel_src(s, 0)));
            return;
        }
        u = sel_new(s, 1);
        EMIT(s, POPC, D(t), B(half(s, 0, 0)));
        EMIT(s, POPC, D(u), B(half(s, 0, 1)));
        EMIT(s, IADD3, D(d), A(sel_unit(t)), B(sel_unit(u)));
        return;
    default:
        assert(in->op == IR_OP_BREV);
        if (!wide) {
            EMIT(s, BREV, D(d), B(sel_src(s, 0)));
            return;
        }
        EMIT(s, BREV, D(d), B(half(s, 0, 1)));
        EMIT(s, BREV, D(d + 1), B(half(s, 0, 0)));
        return;
    }
}

static void select_bits(struct sel *s, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_CNOT: {
        uint32_t p = sel_new_pred(s), d = sel_def(s, 0);
        if (bits_of(in) == 64) {
            compare64(s, p, IR_EQ, ISA_SIGN_U32, sel_src64(s, 0), sel_number(0));
            EMIT(s, MOV, D(d + 1), B(SEL_RZ));
        } else {
            compare32(s, p, IR_EQ, ISA_SIGN_U32, sel_src(s, 0), sel_number(0));
        }
        choose(s, d, sel_p(p), sel_number(1), SEL_RZ);
        return;
    }
    case IR_OP_LOP3:
        EMIT(s, LOP3, D(sel_def(s, 0)), A(sel_src(s, 0)), B(sel_src(s, 1)), C(sel_src(s, 2)),
             NUMBER(LUT, in->imm));
        return;
    case IR_OP_PRMT:
        EMIT(s, PRMT, D(sel_def(s, 0)), A(sel_src(s, 0)), B(sel_src(s, 2)), C(sel_src(s, 1)),
             MODV(PRMT, in->imm));
        return;
    case IR_OP_BMSK:
        EMIT(s, BMSK, D(sel_def(s, 0)), A(sel_src(s, 0)), B(sel_src(s, 1)),
             MODV(SHF_WRAP, ir_has(in, IR_MOD_WRAP)));
        return;
    default:
        assert(in->op == IR_OP_SZEXT);
        EMIT(s, SGXT, D(sel_def(s, 0)), A(sel_src(s, 0)), B(sel_src(s, 1)),
             MODV(SHF_WRAP, ir_has(in, IR_MOD_WRAP)), MODV(SIGN, sign_mod(in->type)));
        return;
    }
}

/*
 * fns: one step for each bit, up or down. The position leaves 0 to 31 when there is none; without
 * an offset the bit itself is asked.
 */
static void select_nth(struct sel *s, const struct ir_instr *in)
{
    struct isa_operand mask = sel_unit(sel_in_unit(s, sel_src(s, 0)));
    struct isa_operand offset = sel_unit(sel_in_unit(s, sel_src(s, 2)));
    uint32_t d = sel_def(s, 0), left = sel_new(s, 1), at = sel_new(s, 1), step = sel_new(s, 1);
    uint32_t bit = sel_new(s, 1), p = sel_new_pred(s), inside = sel_new_pred(s);
    uint32_t found = sel_new_pred(s), barrier, sign = sel_new(s, 1);
    struct mc_block *loop = sel_block(s), *look = sel_block(s), *done = sel_block(s);

    /* left = max(|offset|, 1), step = the sign of offset or 1 */
    EMIT(s, IABS, D(left), B(offset));
    EMIT(s, IMNMX, D(left), A(sel_unit(left)), B(sel_number(1)), PA(SEL_FALSE), MOD(SIGN, U32));
    shift_right(s, sign, offset, sel_number(31), true);
    EMIT(s, LOP3, D(step), A(sel_unit(sign)), B(sel_number(1)), NUMBER(LUT, LUT_OR));
    EMIT(s, MOV, D(at), B(sel_src(s, 1)));
    EMIT(s, MOV, D(d), B(sel_number(UINT32_MAX)));
    barrier = sel_part(s, done);
    sel_jump(s, loop);
    s->b = loop;
    compare32(s, inside, IR_LT, ISA_SIGN_U32, sel_unit(at), sel_number(32));
    sel_branch(s, sel_p(inside), look, done);
    s->b = look;
    shift_right(s, bit, mask, sel_unit(at), false);
    EMIT(s, LOP3, D(bit), A(sel_unit(bit)), B(sel_number(1)), NUMBER(LUT, LUT_AND));
    EMIT(s, IADD3, D(left), A(sel_unit(left)), B(sel_not(sel_unit(bit))));
    compare32(s, found, IR_EQ, ISA_SIGN_U32, sel_unit(left), SEL_RZ);
    compare32(s, p, IR_EQ, ISA_SIGN_U32, offset, SEL_RZ);
    EMIT(s, SEL, D(d), A(sel_unit(at)), B(sel_unit(d)), PA(sel_p(found)));
    EMIT(s, IADD3, D(at), A(sel_unit(at)), B(sel_unit(step)));
    preds(s, found, sel_p(found), sel_p(p), SEL_TRUE, LUT_OR);
    sel_branch(s, sel_p(found), done, loop);
    sel_meet(s, done, barrier);
}

/* ---- parts and wholes */

/* low | high << bits, of words whose upper bits are zero */
static struct isa_operand joined(struct sel *s, struct isa_operand low, struct isa_operand high,
                                 unsigned bits)
{
    uint32_t d;

    if (low.kind == ISA_KIND_IMMEDIATE && high.kind == ISA_KIND_IMMEDIATE)
        return sel_number((uint32_t)low.value | (uint32_t)high.value << bits);
    d = sel_new(s, 1);
    EMIT(s, PRMT, D(d), A(low), B(sel_number(bits == 16 ? 0x5410 : 0x1140)), C(high));
    return sel_unit(d);
}

static struct isa_operand joined_preds(struct sel *s, unsigned first, unsigned n)
{
    uint32_t d = ISA_RZ;

    for (unsigned i = 0; i < n; i++) {
        uint32_t bit = sel_new(s, 1), sum = sel_new(s, 1);
        choose(s, bit, sel_srcp(s, first + i), sel_number(1u << i), SEL_RZ);
        EMIT(s, LOP3, D(sum), A(sel_unit(bit)), B(sel_unit(d)), NUMBER(LUT, LUT_OR));
        d = sum;
    }
    return sel_unit(d);
}

/* Word i of the whole. */
static struct isa_operand packed_word(struct sel *s, const struct ir_instr *in, unsigned i)
{
    unsigned bits = ir_type_bits(in->src[0]->type), n = 32 / bits, first = i * n;
    struct isa_operand part[4];

    if (in->src[0]->type == IR_PRED)
        return joined_preds(s, first, HD_MIN(32u, in->nsrc - first));
    if (bits >= 32)
        return sel_word(s, in->src[i / (bits / 32)], i % (bits / 32));
    for (unsigned k = 0; k < n; k++)
        part[k] = first + k < in->nsrc ? sel_src(s, first + k) : sel_number(0);
    if (bits == 16)
        return joined(s, part[0], part[1], 16);
    return joined(s, joined(s, part[0], part[1], 8), joined(s, part[2], part[3], 8), 16);
}

static void select_pack(struct sel *s, const struct ir_instr *in)
{
    unsigned words = HD_MAX(ir_type_bits(in->dst[0]->type) / 32, 1u);
    struct isa_operand word[4];
    uint32_t d;

    for (unsigned i = 0; i < words; i++)
        word[i] = packed_word(s, in, i);
    if (words == 1) {
        sel_set(s, in->dst[0], word[0]);
        return;
    }
    d = sel_tuple(s, word, words);
    sel_set_units(s, in->dst[0], d);
}

static void select_unpack(struct sel *s, const struct ir_instr *in)
{
    const struct ir_value *d = in->dst[0];
    unsigned bits = ir_type_bits(d->type), first = bits * (unsigned)in->imm, at = first % 32;
    struct isa_operand word = sel_word(s, in->src[0], first / 32);

    if (d->type == IR_PRED) {
        EMIT(s, LOP3, D(ISA_RZ), PD(sel_def(s, 0)), A(word), B(sel_number(1u << at)),
             NUMBER(LUT, LUT_AND), PA(SEL_FALSE));
        return;
    }
    if (bits >= 64) {
        if (s->values[in->src[0]->id].kind == SEL_NUMBER)
            word = sel_number(first ? s->values[in->src[0]->id].hi : s->values[in->src[0]->id].lo);
        sel_set(s, d, word);
    } else if (bits == 32) {
        sel_set(s, d, word);
    } else if (word.kind == ISA_KIND_IMMEDIATE) {
        sel_set(s, d, sel_number((uint32_t)word.value >> at & ((1u << bits) - 1)));
    } else if (bits == 16 && !at) {
        sel_set_units(s, d, sel_masked(s, sel_in_unit(s, word), 16, false));
    } else {
        static const unsigned bytes[] = {0x4440, 0x4441, 0x4442, 0x4443};
        unsigned how = bits == 16 ? 0x4432 : bytes[at / 8];
        EMIT(s, PRMT, D(sel_def(s, 0)), A(word), B(sel_number(how)), C(SEL_RZ));
    }
}

/* ---- special registers */

static const uint8_t sregs[IR_SREG_COUNT] = {
#define SR(number, name) [IR_SREG_##name] = number,
#include "isa/sregs.def"
#undef SR
};

unsigned sel_sreg(enum ir_sreg sreg)
{
    return sregs[sreg];
}

static void select_sreg(struct sel *s, const struct ir_instr *in)
{
    enum ir_sreg sreg = (enum ir_sreg)in->imm;

    if (sreg >= IR_SREG_NTID_X && sreg <= IR_SREG_NTID_Z)
        sel_set(s, in->dst[0],
                sel_constant(ISA_BANK_LAUNCH, ISA_LAUNCH_NTID + 4 * (sreg - IR_SREG_NTID_X)));
    else if (sreg >= IR_SREG_NCTAID_X && sreg <= IR_SREG_NCTAID_Z)
        sel_set(s, in->dst[0],
                sel_constant(ISA_BANK_LAUNCH, ISA_LAUNCH_NCTAID + 4 * (sreg - IR_SREG_NCTAID_X)));
    else if (ir_sreg_type(sreg) == IR_B64)
        EMIT(s, CS2R, D(sel_def(s, 0)), NUMBER(SR, sel_sreg(sreg)), MOD(CS2R, 64));
    else
        EMIT(s, S2R, D(sel_def(s, 0)), NUMBER(SR, sel_sreg(sreg)));
}

static bool select_values(struct sel *s, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_SREG:
        select_sreg(s, in);
        return true;
    case IR_OP_SELECT:
        select_select(s, in);
        return true;
    case IR_OP_AGREE:
        s->values[in->dst[0]->id] = s->values[in->src[0]->id];
        return true;
    case IR_OP_PACK:
        select_pack(s, in);
        return true;
    case IR_OP_UNPACK:
        select_unpack(s, in);
        return true;
    default:
        return false;
    }
}

static bool select_arithmetic(struct sel *s, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_ADD:
    case IR_OP_SUB:
        select_add(s, in);
        return true;
    case IR_OP_MUL:
    case IR_OP_MULHI:
    case IR_OP_MULWIDE:
        select_product(s, in);
        return true;
    case IR_OP_MUL24LO:
    case IR_OP_MUL24HI:
        select_mul24(s, in);
        return true;
    case IR_OP_MADHI_SAT: {
        uint32_t high = sel_new(s, 1);
        EMIT(s, IMAD_HI, D(high), A(sel_src(s, 0)), B(sel_src(s, 1)));
        sel_set_units(s, in->dst[0], sat_add(s, sel_unit(high), sel_src(s, 2), false));
        return true;
    }
    case IR_OP_MIN:
    case IR_OP_MAX:
        select_minmax(s, in);
        return true;
    case IR_OP_NEG:
    case IR_OP_ABS:
        select_negate(s, in);
        return true;
    case IR_OP_SAD:
        select_sad(s, in);
        return true;
    case IR_OP_DP4A:
    case IR_OP_DP2A:
        select_dot(s, in);
        return true;
    case IR_OP_ADDC:
    case IR_OP_CARRY:
    case IR_OP_SUBC:
    case IR_OP_BORROW:
        select_carry(s, in);
        return true;
    case IR_OP_SETP:
        select_setp(s, in);
        return true;
    default:
        return false;
    }
}

bool select_int(struct sel *s, const struct ir_instr *in)
{
    if (select_values(s, in) || select_arithmetic(s, in))
        return true;
    switch (in->op) {
    case IR_OP_AND:
    case IR_OP_OR:
    case IR_OP_XOR:
    case IR_OP_NOT:
        select_logic(s, in);
        return true;
    case IR_OP_SHL:
    case IR_OP_SHR:
        select_shift(s, in);
        return true;
    case IR_OP_SHFL_L:
    case IR_OP_SHFL_R:
        select_funnel(s, in);
        return true;
    case IR_OP_CNOT:
    case IR_OP_LOP3:
    case IR_OP_PRMT:
    case IR_OP_BMSK:
    case IR_OP_SZEXT:
        select_bits(s, in);
        return true;
    case IR_OP_BFE:
        select_extract(s, in);
        return true;
    case IR_OP_BFI:
        select_insert(s, in);
        return true;
    case IR_OP_BFIND:
        select_find(s, in);
        return true;
    case IR_OP_FNS:
        select_nth(s, in);
        return true;
    case IR_OP_CLZ:
    case IR_OP_POPC:
    case IR_OP_BREV:
        select_count(s, in);
        return true;
    default:
        return false;
    }
}
