/* Floating-point arithmetic, comparisons and signs. */
#include "codegen/select.h"

enum { SIGN32 = 0x80000000 };

static bool is_f64(const struct ir_instr *in)
{
    return in->type == IR_F64;
}

static bool is_bf16(enum ir_type type)
{
    return ir_type_element(type) == IR_BF16;
}

static bool is_half(enum ir_type type)
{
    enum ir_type e = ir_type_element(type);

    return e == IR_F16 || e == IR_BF16;
}

static unsigned rnd_of(const struct ir_instr *in)
{
    switch (in->rnd) {
    case IR_RM:
        return ISA_RND_RM;
    case IR_RP:
        return ISA_RND_RP;
    case IR_RZ:
        return ISA_RND_RZ;
    default:
        return ISA_RND_DEFAULT;
    }
}

static unsigned htype(const struct ir_instr *in)
{
    return is_bf16(in->type) ? ISA_HTYPE_BF16_V2 : ISA_HTYPE_DEFAULT;
}

/* A half by itself has zeros above it, whatever the other half of the machine computes. */
static void finish_half(struct sel *s, uint32_t unit)
{
    sel_set_units(s, s->at->dst[0], sel_masked(s, unit, ir_type_bits(s->at->dst[0]->type), false));
}

/* ---- sums and products */

static void arithmetic_half(struct sel *s, const struct ir_instr *in)
{
    bool ftz = ir_has(in, IR_MOD_FTZ), sat = ir_has(in, IR_MOD_SAT);
    struct isa_operand a = sel_src(s, 0), b = sel_src(s, 1);
    uint32_t d = sel_new(s, 1);

    switch (in->op) {
    case IR_OP_FADD:
    case IR_OP_FSUB:
        EMIT(s, HADD2, D(d), A(a), B(in->op == IR_OP_FSUB ? sel_not(b) : b), MODV(HTYPE, htype(in)),
             MODV(FTZ, ftz), MODV(SAT, sat));
        break;
    case IR_OP_FMUL:
        EMIT(s, HMUL2, D(d), A(a), B(b), MODV(HTYPE, htype(in)), MODV(FTZ, ftz), MODV(SAT, sat));
        break;
    default:
        assert(in->op == IR_OP_FMA);
        EMIT(s, HFMA2, D(d), A(a), B(b), C(sel_src(s, 2)), MODV(HTYPE, htype(in)), MODV(FTZ, ftz),
             MODV(SAT, sat), MODV(RELU, ir_has(in, IR_MOD_RELU)));
        break;
    }
    finish_half(s, d);
}

static void arithmetic32(struct sel *s, const struct ir_instr *in)
{
    bool ftz = ir_has(in, IR_MOD_FTZ), sat = ir_has(in, IR_MOD_SAT);
    struct isa_operand a = sel_src(s, 0), b = sel_src(s, 1);
    uint32_t d = sel_def(s, 0);

    switch (in->op) {
    case IR_OP_FADD:
    case IR_OP_FSUB:
        EMIT(s, FADD, D(d), A(a), B(in->op == IR_OP_FSUB ? sel_not(b) : b), MODV(RND, rnd_of(in)),
             MODV(FTZ, ftz), MODV(SAT, sat));
        return;
    case IR_OP_FMUL:
        EMIT(s, FMUL, D(d), A(a), B(b), MODV(RND, rnd_of(in)), MODV(FTZ, ftz), MODV(SAT, sat));
        return;
    default:
        assert(in->op == IR_OP_FMA);
        EMIT(s, FFMA, D(d), A(a), B(b), C(sel_src(s, 2)), MODV(RND, rnd_of(in)), MODV(FTZ, ftz),
             MODV(SAT, sat));
        return;
    }
}

static void arithmetic64(struct sel *s, const struct ir_instr *in)
{
    struct isa_operand a = sel_src64(s, 0), b = sel_src64(s, 1);
    uint32_t d = sel_def(s, 0);

    switch (in->op) {
    case IR_OP_FADD:
    case IR_OP_FSUB:
        EMIT(s, DADD, D(d), A(a), B(in->op == IR_OP_FSUB ? sel_not(b) : b), MODV(RND, rnd_of(in)));
        return;
    case IR_OP_FMUL:
        EMIT(s, DMUL, D(d), A(a), B(b), MODV(RND, rnd_of(in)));
        return;
    default:
        assert(in->op == IR_OP_FMA);
        EMIT(s, DFMA, D(d), A(a), B(b), C(sel_src64(s, 2)), MODV(RND, rnd_of(in)));
        return;
    }
}

static void select_arithmetic(struct sel *s, const struct ir_instr *in)
{
    if (is_half(in->type))
        arithmetic_half(s, in);
    else if (is_f64(in))
        arithmetic64(s, in);
    else
        arithmetic32(s, in);
}

/* ---- the lesser and the greater */

static uint32_t compare64(struct sel *s, unsigned cmp, struct isa_operand a, struct isa_operand b)
{
    uint32_t p = sel_new_pred(s);

    EMIT(s, DSETP, PD(p), A(a), B(b), MODV(FCMP, cmp));
    return p;
}

static struct isa_operand select_word(struct sel *s, uint32_t p, struct isa_operand yes,
                                      struct isa_operand no)
{
    uint32_t d = sel_new(s, 1);

    EMIT(s, SEL, D(d), A(yes), B(no), PA(sel_p(p)));
    return sel_unit(d);
}

/* There is no instruction: a NaN loses, two give the first one, quieted, and -0 is less than +0. */
static void minmax64(struct sel *s, const struct ir_instr *in)
{
    struct isa_operand a = sel_unit(sel_in_pair(s, sel_src64(s, 0)));
    struct isa_operand b = sel_unit(sel_in_pair(s, sel_src64(s, 1)));
    bool max = in->op == IR_OP_FMAX;
    uint32_t wins = compare64(s, max ? ISA_FCMP_GT : ISA_FCMP_LT, a, b);
    uint32_t same = compare64(s, ISA_FCMP_EQ, a, b), nan_a = compare64(s, ISA_FCMP_NAN, a, a);
    uint32_t nan_b = compare64(s, ISA_FCMP_NAN, b, b), zero = sel_new(s, 1), quiet = sel_new(s, 1);
    uint32_t d = sel_def(s, 0), both = sel_new_pred(s);
    struct isa_operand high, low;

    EMIT(s, LOP3, D(zero), A(sel_half(a, 1)), B(sel_half(b, 1)),
         NUMBER(LUT, max ? LUT_AND : LUT_OR));
    EMIT(s, LOP3, D(quiet), A(sel_half(a, 1)), B(sel_number(0x00080000)), NUMBER(LUT, LUT_OR));
    EMIT(s, PLOP3, PD(both), PA(sel_p(nan_a)), PB(sel_p(nan_b)), NUMBER(LUT, LUT_AND));
    low = select_word(s, wins, sel_half(a, 0), sel_half(b, 0));
    high = select_word(s, wins, sel_half(a, 1), sel_half(b, 1));
    high = select_word(s, same, sel_unit(zero), high);
    low = select_word(s, nan_b, sel_half(a, 0), low);
    high = select_word(s, nan_b, sel_half(a, 1), high);
    high = select_word(s, both, sel_unit(quiet), high);
    if (ir_has(in, IR_MOD_NAN))
        sel_refuse(s, "a form that PTX does not have");
    EMIT(s, MOV, D(d), B(low));
    EMIT(s, MOV, D(d + 1), B(high));
}

static void select_minmax(struct sel *s, const struct ir_instr *in)
{
    struct isa_operand p = in->op == IR_OP_FMIN ? SEL_TRUE : sel_not(SEL_TRUE);
    bool ftz = ir_has(in, IR_MOD_FTZ), nan = ir_has(in, IR_MOD_NAN);
    bool xorsign = ir_has(in, IR_MOD_XORSIGN);
    uint32_t d;

    if (is_f64(in)) {
        minmax64(s, in);
        return;
    }
    d = sel_new(s, 1);
    if (is_half(in->type))
        EMIT(s, HMNMX2, D(d), A(sel_src(s, 0)), B(sel_src(s, 1)), PA(p), MODV(HTYPE, htype(in)),
             MODV(FTZ, ftz), MODV(MINMAX_NAN, nan), MODV(XORSIGN, xorsign));
    else
        EMIT(s, FMNMX, D(d), A(sel_src(s, 0)), B(sel_src(s, 1)), PA(p), MODV(FTZ, ftz),
             MODV(MINMAX_NAN, nan), MODV(XORSIGN, xorsign));
    finish_half(s, d);
}

/* ---- signs */

/* Zero of the same sign where exponent bits are zero, in the part of the word that `sign` is of. */
static struct isa_operand flushed(struct sel *s, struct isa_operand a, uint32_t exponent,
                                  uint32_t part, uint32_t sign)
{
    uint32_t bits = sel_new(s, 1), zero = sel_new(s, 1), p = sel_new_pred(s);

    EMIT(s, LOP3, D(bits), A(a), B(sel_number(exponent)), NUMBER(LUT, LUT_AND));
    EMIT(s, LOP3, D(zero), A(a), B(sel_number(~part | sign)), NUMBER(LUT, LUT_AND));
    EMIT(s, ISETP, PD(p), A(sel_unit(bits)), MOD(CMP, EQ), MOD(SIGN, U32));
    return select_word(s, p, sel_unit(zero), a);
}

static struct isa_operand flush(struct sel *s, enum ir_type type, struct isa_operand a)
{
    uint32_t exponent = is_bf16(type) ? 0x7f80 : 0x7c00;

    if (!is_half(type))
        return flushed(s, a, 0x7f800000, UINT32_MAX, SIGN32);
    a = flushed(s, a, exponent, 0xffff, 0x8000);
    return ir_type_lanes(type) > 1 ? flushed(s, a, exponent << 16, 0xffff0000, SIGN32) : a;
}

static uint32_t signs_of(enum ir_type type)
{
    return !is_half(type) ? SIGN32 : ir_type_lanes(type) > 1 ? 0x80008000 : 0x8000;
}

static void select_sign(struct sel *s, const struct ir_instr *in)
{
    bool negate = in->op == IR_OP_FNEG;
    uint32_t sign = signs_of(in->type), d = sel_def(s, 0);
    struct isa_operand a = is_f64(in) ? sel_half(sel_src64(s, 0), 1) : sel_src(s, 0);

    if (ir_has(in, IR_MOD_FTZ))
        a = flush(s, in->type, sel_unit(sel_in_unit(s, a)));
    if (is_f64(in))
        EMIT(s, MOV, D(d++), B(sel_half(sel_src64(s, 0), 0)));
    EMIT(s, LOP3, D(d), A(a), B(sel_number(negate ? sign : ~sign)),
         NUMBER(LUT, negate ? LUT_XOR : LUT_AND));
}

static void select_copysign(struct sel *s, const struct ir_instr *in)
{
    bool wide = is_f64(in);
    struct isa_operand a = wide ? sel_half(sel_src64(s, 0), 1) : sel_src(s, 0);
    struct isa_operand b = wide ? sel_half(sel_src64(s, 1), 1) : sel_src(s, 1);
    uint32_t d = sel_def(s, 0);

    if (wide)
        EMIT(s, MOV, D(d++), B(sel_half(sel_src64(s, 1), 0)));
    EMIT(s, LOP3, D(d), A(a), B(sel_number(SIGN32)), C(b), NUMBER(LUT, LUT_BY_B));
}

/* ---- comparisons */

static unsigned fcmp_of(enum ir_cmp cmp)
{
    static const uint8_t codes[] = {
        [IR_EQ] = ISA_FCMP_EQ,   [IR_NE] = ISA_FCMP_NE,   [IR_LT] = ISA_FCMP_LT,
        [IR_LE] = ISA_FCMP_LE,   [IR_GT] = ISA_FCMP_GT,   [IR_GE] = ISA_FCMP_GE,
        [IR_EQU] = ISA_FCMP_EQU, [IR_NEU] = ISA_FCMP_NEU, [IR_LTU] = ISA_FCMP_LTU,
        [IR_LEU] = ISA_FCMP_LEU, [IR_GTU] = ISA_FCMP_GTU, [IR_GEU] = ISA_FCMP_GEU,
        [IR_NUM] = ISA_FCMP_NUM, [IR_NAN] = ISA_FCMP_NAN,
    };
    return codes[cmp];
}

static void select_compare(struct sel *s, const struct ir_instr *in)
{
    unsigned cmp = fcmp_of(in->cmp);
    bool ftz = ir_has(in, IR_MOD_FTZ), high = ir_has(in, IR_MOD_HI);
    uint32_t p = sel_def(s, 0);

    if (is_f64(in))
        EMIT(s, DSETP, PD(p), A(sel_src64(s, 0)), B(sel_src64(s, 1)), MODV(FCMP, cmp));
    else if (is_half(in->type))
        EMIT(s, HSETP2, PD(high ? ISA_PT : p), PE(high ? p : ISA_PT), A(sel_src(s, 0)),
             B(sel_src(s, 1)), MODV(FCMP, cmp), MODV(HTYPE, htype(in)), MODV(FTZ, ftz));
    else
        EMIT(s, FSETP, PD(p), A(sel_src(s, 0)), B(sel_src(s, 1)), MODV(FCMP, cmp), MODV(FTZ, ftz));
}

/* ---- classes: where the magnitude, as a number, lies */

static void in_range(struct sel *s, uint32_t p, bool wide, struct isa_operand magnitude,
                     uint32_t least_high, unsigned cmp)
{
    uint32_t low;

    if (!wide) {
        EMIT(s, ISETP, PD(p), A(magnitude), B(sel_number(least_high)), MODV(CMP, cmp),
             MOD(SIGN, U32));
        return;
    }
    low = sel_new_pred(s);
    EMIT(s, ISETP, PD(low), A(sel_half(magnitude, 0)), B(SEL_RZ), MODV(CMP, cmp), MOD(SIGN, U32));
    EMIT(s, ISETP, PD(p), A(sel_half(magnitude, 1)), B(sel_number(least_high)), PB(sel_p(low)),
         MODV(CMP, cmp), MOD(SIGN, U32), MOD(X, X));
}

static void select_test(struct sel *s, const struct ir_instr *in)
{
    bool wide = is_f64(in);
    struct isa_operand a = wide ? sel_src64(s, 0) : sel_src(s, 0), m;
    uint32_t infinity = wide ? 0x7ff00000 : 0x7f800000, least = wide ? 0x00100000 : 0x00800000;
    uint32_t unit = sel_new(s, wide ? 2 : 1), p = sel_def(s, 0);
    uint32_t zero = sel_new_pred(s), q = sel_new_pred(s), r = sel_new_pred(s);

    if (wide)
        EMIT(s, MOV, D(unit), B(sel_half(a, 0)));
    EMIT(s, LOP3, D(wide ? unit + 1 : unit), A(wide ? sel_half(a, 1) : a),
         B(sel_number(~(uint32_t)SIGN32)), NUMBER(LUT, LUT_AND));
    m = sel_unit(unit);
    switch ((enum ir_testp)in->imm) {
    case IR_TESTP_FINITE:
        in_range(s, p, wide, m, infinity, ISA_CMP_LT);
        return;
    case IR_TESTP_INFINITE:
        in_range(s, p, wide, m, infinity, ISA_CMP_EQ);
        return;
    case IR_TESTP_NUMBER:
        in_range(s, p, wide, m, infinity, ISA_CMP_LE);
        return;
    case IR_TESTP_NOTANUMBER:
        in_range(s, p, wide, m, infinity, ISA_CMP_GT);
        return;
    case IR_TESTP_NORMAL: /* zero, or between */
    case IR_TESTP_SUBNORMAL:
        in_range(s, zero, wide, m, 0, ISA_CMP_EQ);
        in_range(s, q, wide, m, least, ISA_CMP_LT);
        in_range(s, r, wide, m, infinity, ISA_CMP_LT);
        /* normal: r & (zero | !q); subnormal: q & !zero */
        EMIT(s, PLOP3, PD(p), PA(sel_p(zero)), PB(sel_p(q)), PC(sel_p(r)),
             NUMBER(LUT,
                    in->imm == IR_TESTP_NORMAL ? 0xaa & (0xf0 | (0xff & ~0xcc)) : 0xcc & ~0xf0));
        return;
    }
}

/* ---- division, roots and the special function unit */

static struct isa_operand mode_of(const struct ir_instr *in)
{
    return sel_number(rnd_of(in) | (ir_has(in, IR_MOD_FTZ) ? 4u : 0u));
}

/* Where p holds, what the routine says instead of what is in d. */
static void unless_routine(struct sel *s, struct isa_operand p, const char *name,
                           const struct isa_operand *args, unsigned nargs, uint32_t d,
                           unsigned words)
{
    struct mc_block *slow = sel_block(s), *done = sel_block(s);
    uint32_t barrier = sel_part(s, done);

    sel_branch(s, p, slow, done);
    s->b = slow;
    sel_routine(s, name, args, nargs, d, words);
    sel_jump(s, done);
    sel_meet(s, done, barrier);
}

/*
 * Where p holds, what the routine says, in d, and nothing else is executed: until it ends with
 * others_end(), what comes is for the others.
 */
struct others {
    struct mc_block *done;
    uint32_t barrier;
};

static struct others others_begin(struct sel *s, struct isa_operand p, const char *name,
                                  const struct isa_operand *args, unsigned nargs, uint32_t d)
{
    struct mc_block *slow = sel_block(s), *fast = sel_block(s);
    struct others o = {.done = sel_block(s)};

    o.barrier = sel_part(s, o.done);
    sel_branch(s, p, slow, fast);
    s->b = slow;
    sel_routine(s, name, args, nargs, d, 1);
    sel_jump(s, o.done);
    s->b = fast;
    return o;
}

static void others_end(struct sel *s, struct others o)
{
    sel_jump(s, o.done);
    sel_meet(s, o.done, o.barrier);
}

/*
 * A reciprocal to the last bit, a quotient, and what it lacks: correctly rounded where FCHK says
 * nothing. Only where a / b is within 3 / 2b ulp of the middle between two numbers could it be
 * wrong, and it is right for each of these (tests/codegen/test_sequences.c).
 */
static void divide_near(struct sel *s, const struct ir_instr *in, uint32_t d, struct isa_operand a,
                        struct isa_operand b)
{
    uint32_t y0 = sel_new(s, 1), e = sel_new(s, 1), y = sel_new(s, 1), q = sel_new(s, 1);
    uint32_t rest = sel_new(s, 1), p = sel_new_pred(s);
    struct isa_operand args[] = {a, b, mode_of(in)};

    EMIT(s, MUFU, D(y0), B(b), MOD(MUFU, RCP));
    EMIT(s, FCHK, PD(p), A(a), B(b), MOD(CHK, DIVIDE));
    EMIT(s, FFMA, D(e), A(sel_not(b)), B(sel_unit(y0)), C(sel_number(0x3f800000)));
    EMIT(s, FFMA, D(y), A(sel_unit(y0)), B(sel_unit(e)), C(sel_unit(y0)));
    EMIT(s, FFMA, D(q), A(a), B(sel_unit(y)), C(SEL_RZ));
    EMIT(s, FFMA, D(rest), A(sel_not(b)), B(sel_unit(q)), C(a));
    EMIT(s, FFMA, D(d), A(sel_unit(y)), B(sel_unit(rest)), C(sel_unit(q)));
    unless_routine(s, sel_p(p), "hd_div32", args, 3, d, 1);
}

/*
 * One of Newton's steps from a guess of almost all bits; exponents 1 to 252 of b have normal ones.
 * Operations are those that profiles of a GPU show: the error is negated by one of its own.
 */
static void reciprocal_near(struct sel *s, const struct ir_instr *in, uint32_t d,
                            struct isa_operand b)
{
    uint32_t y = sel_new(s, 1), minus = sel_new(s, 1), e = sel_new(s, 1), p = sel_new_pred(s);
    uint32_t exponent = sel_new(s, 1), field = sel_new(s, 1);
    struct isa_operand args[] = {sel_number(0x3f800000), b, mode_of(in)};

    struct others others;

    EMIT(s, IADD3, D(exponent), A(b), B(sel_number(3u << 23)));
    EMIT(s, LOP3, D(field), A(sel_unit(exponent)), B(sel_number(0x7f800000)), NUMBER(LUT, LUT_AND));
    EMIT(s, ISETP, PD(p), A(sel_unit(field)), B(sel_number(0x01ffffff)), MOD(CMP, LE),
         MOD(SIGN, U32));
    others = others_begin(s, sel_p(p), "hd_div32", args, 3, d);
    EMIT(s, MUFU, D(y), B(b), MOD(MUFU, RCP));
    EMIT(s, FFMA, D(minus), A(b), B(sel_unit(y)), C(sel_number(0xbf800000)));
    EMIT(s, FADD, D(e), A(sel_not(sel_unit(minus))), B(sel_not(SEL_RZ)));
    EMIT(s, FFMA, D(d), A(sel_unit(y)), B(sel_unit(e)), C(sel_unit(y)));
    others_end(s, others);
}

static struct isa_operand in_unit(struct sel *s, struct isa_operand o)
{
    return sel_unit(sel_in_unit(s, o));
}

static void divide32(struct sel *s, const struct ir_instr *in, struct isa_operand a,
                     struct isa_operand b)
{
    struct isa_operand args[] = {a, b, mode_of(in)};
    uint32_t d = sel_def(s, 0), q;

    if (in->rnd == IR_RZ || in->rnd == IR_RM || in->rnd == IR_RP) {
        sel_routine(s, "hd_div32", args, 3, d, 1);
        return;
    }
    b = in_unit(s, b);
    if (in->op == IR_OP_FRCP) {
        reciprocal_near(s, in, d, b);
        return;
    }
    a = in_unit(s, a);
    if (in->rnd != IR_APPROX) {
        divide_near(s, in, d, a, b);
        return;
    }
    /* div.approx: beyond 2^126 it is a times a zero. */
    uint32_t zero = sel_new(s, 1), nothing = sel_new(s, 1), p = sel_new_pred(s);
    bool ftz = ir_has(in, IR_MOD_FTZ);
    q = sel_new(s, 1);
    divide_near(s, in, q, a, b);
    EMIT(s, LOP3, D(zero), A(b), B(sel_number(SIGN32)), NUMBER(LUT, LUT_AND));
    EMIT(s, FMUL, D(nothing), A(a), B(sel_unit(zero)), MODV(FTZ, ftz));
    EMIT(s, FSETP, PD(p), A(sel_abs(b)), B(sel_number(0x7e800000)), MOD(FCMP, GT));
    EMIT(s, SEL, D(d), A(sel_unit(nothing)), B(sel_unit(q)), PA(sel_p(p)));
}

static const uint64_t one64 = 0x3ff0000000000000, half64 = 0x3fe0000000000000;

/* q &= least <= x < least + n, of words without sign */
static uint32_t and_between(struct sel *s, uint32_t q, uint32_t x, uint32_t least, uint32_t n)
{
    uint32_t d = sel_new(s, 1), p = sel_new_pred(s);

    EMIT(s, IADD3, D(d), A(sel_unit(x)), B(sel_number(0 - least)));
    EMIT(s, ISETP, PD(p), A(sel_unit(d)), B(sel_number(n)), PA(sel_p(q)), MOD(CMP, LT),
         MOD(SIGN, U32));
    return p;
}

/*
 * Are a, b and the quotient far enough from the ends of the range that no step over- or underflows?
 * Upper words are compared as f32: their exponents from 0x7f8 on are NaNs, which are never greater,
 * and the sum is one as soon as b is. A quotient that came to nothing is not greater either.
 */
static uint32_t can_divide64(struct sel *s, struct isa_operand a, struct isa_operand b,
                             struct isa_operand quotient)
{
    uint32_t p = sel_new_pred(s), q = sel_new_pred(s), sum = sel_new(s, 1);

    EMIT(s, FSETP, PD(p), A(sel_abs(sel_half(a, 1))), B(sel_number(60u << 20)), MOD(FCMP, GEU));
    EMIT(s, FFMA, D(sum), A(SEL_RZ), B(sel_half(b, 1)), C(sel_half(quotient, 1)));
    EMIT(s, FSETP, PD(q), A(sel_abs(sel_unit(sum))), B(sel_number(1u << 20)), PA(sel_p(p)),
         MOD(FCMP, GT));
    return q;
}

static uint32_t dfma(struct sel *s, struct isa_operand a, struct isa_operand b,
                     struct isa_operand c)
{
    uint32_t d = sel_new(s, 2);

    EMIT(s, DFMA, D(d), A(a), B(b), C(c));
    return d;
}

static uint32_t dmul(struct sel *s, struct isa_operand a, struct isa_operand b)
{
    uint32_t d = sel_new(s, 2);

    EMIT(s, DMUL, D(d), A(a), B(b));
    return d;
}

/* The upper word from the special function unit, the lower one zero. */
static uint32_t guess64(struct sel *s, unsigned function, struct isa_operand a)
{
    uint32_t d = sel_new(s, 2);

    EMIT(s, MUFU, D(d + 1), B(sel_half(a, 1)), MODV(MUFU, function));
    EMIT(s, MOV, D(d), B(SEL_RZ));
    return d;
}

/* Twenty bits, sixty by a step of third order, all by one of second; then Markstein's. */
static void divide64(struct sel *s, const struct ir_instr *in, struct isa_operand a,
                     struct isa_operand b, uint32_t d)
{
    struct isa_operand one = sel_number(one64);
    uint32_t y, e, q, r;

    a = sel_unit(sel_in_whole_pair(s, a));
    b = sel_unit(sel_in_whole_pair(s, b));
    struct isa_operand args[] = {sel_half(a, 0), sel_half(a, 1), sel_half(b, 0), sel_half(b, 1),
                                 sel_number(rnd_of(in))};
    if (rnd_of(in) != ISA_RND_DEFAULT) {
        sel_routine(s, "hd_div64", args, 5, d, 2);
        return;
    }
    y = guess64(s, ISA_MUFU_RCP64H, b);
    e = dfma(s, sel_not(b), sel_unit(y), one);
    e = dfma(s, sel_unit(e), sel_unit(e), sel_unit(e));
    y = dfma(s, sel_unit(y), sel_unit(e), sel_unit(y));
    e = dfma(s, sel_not(b), sel_unit(y), one);
    if (in->op == IR_OP_FRCP) {
        uint32_t exponent = sel_new(s, 1), fits;

        EMIT(s, DFMA, D(d), A(sel_unit(y)), B(sel_unit(e)), C(sel_unit(y)));
        EMIT(s, LOP3, D(exponent), A(sel_half(b, 1)), B(sel_number(0x7ff00000)),
             NUMBER(LUT, LUT_AND));
        fits = and_between(s, ISA_PT, exponent, 3u << 20, 2035u << 20);
        unless_routine(s, sel_not(sel_p(fits)), "hd_div64", args, 5, d, 2);
        return;
    }
    y = dfma(s, sel_unit(y), sel_unit(e), sel_unit(y));
    q = dmul(s, a, sel_unit(y));
    r = dfma(s, sel_not(b), sel_unit(q), a);
    EMIT(s, DFMA, D(d), A(sel_unit(r)), B(sel_unit(y)), C(sel_unit(q)));
    unless_routine(s, sel_not(sel_p(can_divide64(s, a, b, sel_unit(d)))), "hd_div64", args, 5, d,
                   2);
}

static void root64(struct sel *s, const struct ir_instr *in, struct isa_operand a, uint32_t d)
{
    uint32_t y, e, p, q, h, r, fits;

    a = sel_unit(sel_in_whole_pair(s, a));
    struct isa_operand args[] = {sel_half(a, 0), sel_half(a, 1), sel_number(rnd_of(in))};
    if (rnd_of(in) != ISA_RND_DEFAULT) {
        sel_routine(s, "hd_sqrt64", args, 3, d, 2);
        return;
    }
    y = guess64(s, ISA_MUFU_RSQ64H, a);
    e = dfma(s, sel_not(a), sel_unit(dmul(s, sel_unit(y), sel_unit(y))), sel_number(one64));
    p = dfma(s, sel_unit(e), sel_number(0x3fd8000000000000), sel_number(half64)); /* 3/8 */
    y = dfma(s, sel_unit(p), sel_unit(dmul(s, sel_unit(y), sel_unit(e))), sel_unit(y));
    q = dmul(s, a, sel_unit(y));
    h = dmul(s, sel_unit(y), sel_number(half64));
    r = dfma(s, sel_not(sel_unit(q)), sel_unit(q), a);
    EMIT(s, DFMA, D(d), A(sel_unit(r)), B(sel_unit(h)), C(sel_unit(q)));
    fits = and_between(s, ISA_PT, (uint32_t)sel_half(a, 1).value, 0x03800000, 0x7c600000);
    unless_routine(s, sel_not(sel_p(fits)), "hd_sqrt64", args, 3, d, 2);
}

static void root32(struct sel *s, const struct ir_instr *in, struct isa_operand a, uint32_t d)
{
    uint32_t y = sel_new(s, 1), q = sel_new(s, 1), h = sel_new(s, 1), r = sel_new(s, 1), fits;
    struct others others;

    a = sel_unit(sel_in_unit(s, a));
    struct isa_operand args[] = {a, mode_of(in)};
    if (rnd_of(in) != ISA_RND_DEFAULT) {
        sel_routine(s, "hd_sqrt32", args, 2, d, 1);
        return;
    }
    fits = and_between(s, ISA_PT, (uint32_t)a.value, 0x0d000000, 0x72800000);
    others = others_begin(s, sel_not(sel_p(fits)), "hd_sqrt32", args, 2, d);
    EMIT(s, MUFU, D(y), B(a), MOD(MUFU, RSQ));
    EMIT(s, FMUL, D(q), A(a), B(sel_unit(y)));
    EMIT(s, FMUL, D(h), A(sel_unit(y)), B(sel_number(0x3f000000)));
    EMIT(s, FFMA, D(r), A(sel_not(sel_unit(q))), B(sel_unit(q)), C(a));
    EMIT(s, FFMA, D(d), A(sel_unit(r)), B(sel_unit(h)), C(sel_unit(q)));
    others_end(s, others);
}

/* Approximations of f64 take the upper word, and give it. */
static void head64(struct sel *s, unsigned function)
{
    uint32_t d = sel_def(s, 0);

    EMIT(s, MUFU, D(d + 1), B(sel_half(sel_src64(s, 0), 1)), MODV(MUFU, function));
    EMIT(s, MOV, D(d), B(SEL_RZ));
}

static void select_divide64(struct sel *s, const struct ir_instr *in)
{
    bool ftz = ir_has(in, IR_MOD_FTZ);
    uint32_t root;

    switch (in->op) {
    case IR_OP_FDIV:
        divide64(s, in, sel_src64(s, 0), sel_src64(s, 1), sel_def(s, 0));
        return;
    case IR_OP_FRCP:
        if (in->rnd == IR_APPROX)
            head64(s, ISA_MUFU_RCP64H);
        else
            divide64(s, in, sel_number(one64), sel_src64(s, 0), sel_def(s, 0));
        return;
    case IR_OP_FSQRT:
        root64(s, in, sel_src64(s, 0), sel_def(s, 0));
        return;
    default:
        assert(in->op == IR_OP_FRSQRT);
        if (ftz) {
            head64(s, ISA_MUFU_RSQ64H);
            return;
        }
        root = sel_new(s, 2);
        root64(s, in, sel_src64(s, 0), root);
        divide64(s, in, sel_number(one64), sel_unit(root), sel_def(s, 0));
        return;
    }
}

/*
 * d = f(a), with .ftz subnormal numbers on both sides are zeros. A root's subnormal operand is
 * scaled by an even power of two, which changes no bit of the result.
 */
static void special(struct sel *s, const struct ir_instr *in, unsigned function)
{
    bool ftz = ir_has(in, IR_MOD_FTZ);
    bool scales = !ftz && (function == ISA_MUFU_SQRT || function == ISA_MUFU_RSQ);
    uint32_t back = function == ISA_MUFU_SQRT ? 0x39800000 : 0x45800000; /* 2^-12, 2^12 */
    struct isa_operand a = sel_src(s, 0);
    uint32_t d = sel_new(s, 1), x = sel_new(s, 1), p = sel_new_pred(s);

    if (ftz)
        a = flush(s, in->type, in_unit(s, a));
    if (scales) {
        a = in_unit(s, a);
        EMIT(s, FSETP, PD(p), A(sel_abs(a)), B(sel_number(0x00800000)), MOD(FCMP, LT));
        EMIT(s, MOV, D(x), B(a));
        a = sel_unit(x);
        EMIT(s, FMUL, D(x), A(a), B(sel_number(0x4b800000)), GUARD(sel_p(p))); /* 2^24 */
    }
    EMIT(s, MUFU, D(d), B(a), MODV(MUFU, function));
    if (scales)
        EMIT(s, FMUL, D(d), A(sel_unit(d)), B(sel_number(back)), GUARD(sel_p(p)));
    if (ftz)
        d = (uint32_t)flush(s, in->type, sel_unit(d)).value;
    sel_set_units(s, in->dst[0], d);
}

static void special_half(struct sel *s, const struct ir_instr *in)
{
    bool ex2 = in->op == IR_OP_FEX2, bf16 = is_bf16(in->type), ftz = ir_has(in, IR_MOD_FTZ);
    unsigned function = ex2 ? (bf16 ? ISA_MUFU_EX2_BF16 : ISA_MUFU_EX2_F16)
                            : (bf16 ? ISA_MUFU_TANH_BF16 : ISA_MUFU_TANH_F16);
    struct isa_operand a = in_unit(s, sel_src(s, 0)), r;
    uint32_t low = sel_new(s, 1), high = sel_new(s, 1), upper = sel_new(s, 1), d = sel_new(s, 1);

    if (ftz)
        a = flush(s, in->type, a);
    EMIT(s, MUFU, D(low), B(a), MODV(MUFU, function));
    r = sel_unit(sel_masked(s, low, 16, false));
    if (ir_type_lanes(in->type) > 1) {
        EMIT(s, SHF, D(upper), B(sel_number(16)), C(a), MOD(SHF_DIR, R), MOD(SHF_TYPE, U32),
             MOD(HI, HI));
        EMIT(s, MUFU, D(high), B(sel_unit(upper)), MODV(MUFU, function));
        EMIT(s, PRMT, D(d), A(r), B(sel_number(0x5410)), C(sel_unit(high)));
        r = sel_unit(d);
    }
    if (ftz)
        r = flush(s, in->type, r);
    sel_set_units(s, in->dst[0], (uint32_t)r.value);
}

static bool select_special(struct sel *s, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_FSIN:
        special(s, in, ISA_MUFU_SIN);
        return true;
    case IR_OP_FCOS:
        special(s, in, ISA_MUFU_COS);
        return true;
    case IR_OP_FLG2:
        special(s, in, ISA_MUFU_LG2);
        return true;
    case IR_OP_FEX2:
    case IR_OP_FTANH:
        if (is_half(in->type))
            special_half(s, in);
        else
            special(s, in, in->op == IR_OP_FEX2 ? ISA_MUFU_EX2 : ISA_MUFU_TANH);
        return true;
    case IR_OP_FDIV:
    case IR_OP_FRCP:
    case IR_OP_FSQRT:
    case IR_OP_FRSQRT:
        if (is_f64(in))
            select_divide64(s, in);
        else if (in->op == IR_OP_FDIV)
            divide32(s, in, sel_src(s, 0), sel_src(s, 1));
        else if (in->op == IR_OP_FRCP && in->rnd != IR_APPROX)
            divide32(s, in, sel_number(0x3f800000), sel_src(s, 0));
        else if (in->op == IR_OP_FSQRT && in->rnd != IR_APPROX)
            root32(s, in, sel_src(s, 0), sel_def(s, 0));
        else
            special(s, in,
                    in->op == IR_OP_FRCP    ? ISA_MUFU_RCP
                    : in->op == IR_OP_FSQRT ? ISA_MUFU_SQRT
                                            : ISA_MUFU_RSQ);
        return true;
    default:
        return false;
    }
}

bool select_float(struct sel *s, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_FADD:
    case IR_OP_FSUB:
    case IR_OP_FMUL:
    case IR_OP_FMA:
        select_arithmetic(s, in);
        return true;
    case IR_OP_FMIN:
    case IR_OP_FMAX:
        select_minmax(s, in);
        return true;
    case IR_OP_FNEG:
    case IR_OP_FABS:
        select_sign(s, in);
        return true;
    case IR_OP_FCOPYSIGN:
        select_copysign(s, in);
        return true;
    case IR_OP_FSETP:
        select_compare(s, in);
        return true;
    case IR_OP_FTESTP:
        select_test(s, in);
        return true;
    default:
        return select_special(s, in);
    }
}
