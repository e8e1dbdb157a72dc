/* Conversions between types. */
#include "codegen/select.h"

static bool is_integral(enum ir_rnd rnd)
{
    return rnd == IR_RNI || rnd == IR_RZI || rnd == IR_RMI || rnd == IR_RPI;
}

static unsigned rnd_of(enum ir_rnd rnd)
{
    switch (rnd) {
    case IR_RM:
    case IR_RMI:
        return ISA_CVT_RND_RM;
    case IR_RP:
    case IR_RPI:
        return ISA_CVT_RND_RP;
    case IR_RZ:
    case IR_RZI:
        return ISA_CVT_RND_RZ;
    case IR_RNA:
        return ISA_CVT_RND_RNA;
    case IR_RS:
        return ISA_CVT_RND_RS;
    default:
        return ISA_CVT_RND_DEFAULT;
    }
}

static unsigned float_code(enum ir_type type)
{
    switch (ir_type_element(type)) {
    case IR_F16:
        return ISA_FLOAT_TO_F16;
    case IR_F32:
        return ISA_FLOAT_TO_F32;
    case IR_F64:
        return ISA_FLOAT_TO_F64;
    case IR_BF16:
        return ISA_FLOAT_TO_BF16;
    default:
        assert(type == IR_TF32);
        return ISA_FLOAT_TO_TF32;
    }
}

static unsigned int_code(enum ir_type type)
{
    unsigned bits = ir_type_bits(type);

    return 2 * (bits == 8 ? 0u : bits == 16 ? 1u : bits == 32 ? 2u : 3u) + ir_type_is_signed(type);
}

static unsigned width(enum ir_type type)
{
    return ir_type_bits(type);
}

/* ---- integers */

/* 32 or 64 bits of the source, extended to `bits` by its own sign. */
static struct isa_operand extended(struct sel *s, enum ir_type from, unsigned bits)
{
    bool is_signed = ir_type_is_signed(from);
    struct isa_operand o = width(from) == 64 ? sel_src64(s, 0) : sel_src(s, 0), high = SEL_RZ;
    uint32_t sign;

    if (width(from) == 64)
        return o;
    if (o.kind == ISA_KIND_IMMEDIATE) {
        uint64_t v = (uint64_t)o.value;
        if (is_signed)
            v = (uint64_t)((int64_t)(v << (64 - width(from))) >> (64 - width(from)));
        return sel_number(bits == 64 ? v : (uint32_t)v);
    }
    if (is_signed && width(from) < 32)
        o = sel_unit(sel_masked(s, sel_in_unit(s, o), width(from), true));
    if (bits == 32)
        return o;
    if (is_signed) {
        sign = sel_new(s, 1);
        EMIT(s, SHF, D(sign), A(SEL_RZ), B(sel_number(31)), C(o), MOD(SHF_DIR, R),
             MOD(SHF_TYPE, S32), MOD(HI, HI));
        high = sel_unit(sign);
    }
    return sel_unit(sel_tuple(s, (struct isa_operand[]){o, high}, 2));
}

/* p ? a : b of 32 or 64 bits */
static struct isa_operand choose(struct sel *s, uint32_t p, struct isa_operand a,
                                 struct isa_operand b, unsigned words)
{
    uint32_t d = sel_new(s, words);

    for (unsigned i = 0; i < words; i++)
        EMIT(s, SEL, D(d + i), A(sel_unit(sel_in_unit(s, sel_half(a, i)))), B(sel_half(b, i)),
             PA(sel_p(p)));
    return sel_unit(d);
}

/* The lesser (or the greater) of x and a limit. */
static struct isa_operand limited(struct sel *s, struct isa_operand x, uint64_t limit, bool least,
                                  bool is_signed, unsigned words)
{
    unsigned cmp = least ? ISA_CMP_LT : ISA_CMP_GT;
    unsigned sign = is_signed ? ISA_SIGN_DEFAULT : ISA_SIGN_U32;
    uint32_t p = sel_new_pred(s), low = sel_new_pred(s);

    if (words == 1) {
        EMIT(s, ISETP, PD(p), A(x), B(sel_number((uint32_t)limit)), MODV(CMP, cmp),
             MODV(SIGN, sign));
    } else {
        EMIT(s, ISETP, PD(low), A(sel_half(x, 0)), B(sel_number((uint32_t)limit)), MODV(CMP, cmp),
             MOD(SIGN, U32));
        EMIT(s, ISETP, PD(p), A(sel_half(x, 1)), B(sel_number(limit >> 32)), PB(sel_p(low)),
             MODV(CMP, cmp), MODV(SIGN, sign), MOD(X, X));
    }
    return choose(s, p, sel_number(words == 1 ? (uint32_t)limit : limit), x, words);
}

static struct isa_operand clamped(struct sel *s, const struct ir_instr *in, struct isa_operand x,
                                  unsigned words)
{
    bool from_signed = ir_type_is_signed(in->type2), to_signed = ir_type_is_signed(in->type);
    unsigned to = width(in->type), bits = 32 * words;
    uint64_t half = UINT64_C(1) << (to - 1), top = to_signed ? half - 1 : half - 1 + half;
    uint64_t bottom = to_signed ? 0 - half : 0;

    if (from_signed && (to < bits || !to_signed))
        x = limited(s, x, bottom, true, true, words);
    if (to < bits || (!from_signed && to_signed))
        x = limited(s, x, top, false, from_signed, words);
    return x;
}

static void set_int(struct sel *s, const struct ir_instr *in, struct isa_operand x)
{
    unsigned to = width(in->type);

    if (to < 64)
        x = sel_half(x, 0);
    if (to >= 32 || x.kind == ISA_KIND_IMMEDIATE) {
        if (to < 64 && x.kind == ISA_KIND_IMMEDIATE)
            x = sel_number((uint64_t)x.value & (to == 32 ? UINT32_MAX : (1u << to) - 1));
        if (x.kind == ISA_KIND_REG && x.value == ISA_RZ)
            x = sel_number(0);
        sel_set(s, in->dst[0], x);
    } else {
        sel_set_units(s, in->dst[0], sel_masked(s, sel_in_unit(s, x), to, false));
    }
}

static void int_to_int(struct sel *s, const struct ir_instr *in)
{
    unsigned bits = width(in->type) == 64 || width(in->type2) == 64 ? 64 : 32;
    struct isa_operand x = extended(s, in->type2, bits);

    if (ir_has(in, IR_MOD_SAT)) {
        x = sel_unit(bits == 64 ? sel_in_pair(s, x) : sel_in_unit(s, x));
        if (x.value == ISA_RZ)
            x = sel_number(0);
        else
            x = clamped(s, in, x, bits / 32);
    }
    set_int(s, in, x);
}

/* ---- floating point */

/* Into [0, 1]; NaN becomes 0. */
static uint32_t saturated(struct sel *s, enum ir_type type, uint32_t unit)
{
    uint32_t d = sel_new(s, type == IR_F64 ? 2 : 1), p = sel_new_pred(s), q = sel_new_pred(s);
    struct isa_operand one = sel_number(UINT64_C(0x3ff0000000000000)), x;

    switch (ir_type_element(type)) {
    case IR_F64:
        EMIT(s, DSETP, PD(p), A(sel_unit(unit)), B(SEL_RZ), MOD(FCMP, GT));
        EMIT(s, DSETP, PD(q), A(sel_unit(unit)), B(one), MOD(FCMP, GT));
        x = choose(s, p, sel_unit(unit), sel_number(0), 2);
        return (uint32_t)choose(s, q, one, x, 2).value;
    case IR_F32:
        EMIT(s, FADD, D(d), A(sel_unit(unit)), B(SEL_RZ), MOD(SAT, SAT));
        return d;
    default:
        EMIT(s, HADD2, D(d), A(sel_unit(unit)), B(SEL_RZ), MOD(SAT, SAT),
             MODV(HTYPE, ir_type_element(type) == IR_BF16 ? ISA_HTYPE_BF16_V2 : 0));
        return d;
    }
}

static void int_to_float(struct sel *s, const struct ir_instr *in)
{
    bool wide = width(in->type2) == 64;
    uint32_t d = sel_new(s, in->type == IR_F64 ? 2 : 1);

    EMIT(s, I2F, D(d), B(wide ? sel_src64(s, 0) : sel_src(s, 0)),
         MODV(FLOAT_TO, float_code(in->type)), MODV(INT_FROM, int_code(in->type2)),
         MODV(CVT_RND, rnd_of(in->rnd)));
    sel_set_units(s, in->dst[0], ir_has(in, IR_MOD_SAT) ? saturated(s, in->type, d) : d);
}

static struct isa_operand float_src(struct sel *s, const struct ir_instr *in)
{
    return in->type2 == IR_F64 ? sel_src64(s, 0) : sel_src(s, 0);
}

static void float_to_int(struct sel *s, const struct ir_instr *in)
{
    uint32_t d = sel_new(s, width(in->type) == 64 ? 2 : 1);

    EMIT(s, F2I, D(d), B(float_src(s, in)), MODV(INT_TO, int_code(in->type)),
         MODV(FLOAT_FROM, float_code(in->type2)),
         MODV(CVT_RND, in->rnd == IR_RND_NONE ? ISA_CVT_RND_RZ : rnd_of(in->rnd)),
         MODV(FTZ, ir_has(in, IR_MOD_FTZ)));
    sel_set_units(s, in->dst[0], sel_masked(s, d, width(in->type), false));
}

static unsigned pack_code(enum ir_type type)
{
    switch (ir_type_element(type)) {
    case IR_F16:
        return ISA_PACK_TO_F16;
    case IR_BF16:
        return ISA_PACK_TO_BF16;
    case IR_E4M3:
        return ISA_PACK_TO_E4M3;
    case IR_E5M2:
        return ISA_PACK_TO_E5M2;
    case IR_E2M3:
        return ISA_PACK_TO_E2M3;
    case IR_E3M2:
        return ISA_PACK_TO_E3M2;
    case IR_E2M1:
        return ISA_PACK_TO_E2M1;
    case IR_UE8M0:
        return ISA_PACK_TO_UE8M0;
    default:
        assert(type == IR_TF32);
        return ISA_PACK_TO_TF32;
    }
}

/* With .ftz a subnormal number becomes a zero; NaN stays. */
static struct isa_operand flushed(struct sel *s, struct isa_operand a)
{
    uint32_t d = sel_new(s, 1);

    EMIT(s, F2F, D(d), B(a), MOD(FLOAT_TO, F32), MOD(FLOAT_FROM, F32), MOD(FTZ, FTZ));
    return sel_unit(d);
}

static void pack(struct sel *s, const struct ir_instr *in, struct isa_operand high,
                 struct isa_operand low, struct isa_operand random)
{
    unsigned bits = ir_type_bits(in->dst[0]->type);
    uint32_t d = sel_new(s, 1);

    if (ir_has(in, IR_MOD_FTZ)) {
        high = flushed(s, high);
        low = flushed(s, low);
    }
    EMIT(s, F2FP, D(d), A(high), B(low), C(random), MODV(PACK_TO, pack_code(in->type)),
         MODV(CVT_RND, rnd_of(in->rnd)), MODV(RELU, ir_has(in, IR_MOD_RELU)),
         MODV(SATFINITE, ir_has(in, IR_MOD_SATFINITE)));
    if (ir_has(in, IR_MOD_SAT))
        d = saturated(s, in->type, d);
    sel_set_units(s, in->dst[0], sel_masked(s, d, bits, false));
}

static void float_to_float(struct sel *s, const struct ir_instr *in)
{
    struct isa_operand a = float_src(s, in);
    bool ftz = ir_has(in, IR_MOD_FTZ);
    uint32_t d;

    if (ir_has(in, IR_MOD_RELU) || ir_has(in, IR_MOD_SATFINITE)) {
        pack(s, in, SEL_RZ, a, SEL_RZ);
        return;
    }
    if (is_integral(in->rnd)) {
        d = sel_new(s, in->type2 == IR_F64 ? 2 : 1);
        EMIT(s, FRND, D(d), B(a), MODV(FLOAT_FROM, float_code(in->type2)),
             MODV(CVT_RND, rnd_of(in->rnd)), MODV(FTZ, ftz));
        if (in->type == in->type2) {
            d = ir_has(in, IR_MOD_SAT) ? saturated(s, in->type, d) : d;
            sel_set_units(s, in->dst[0], sel_masked(s, d, width(in->type), false));
            return;
        }
        a = sel_unit(d);
    }
    d = sel_new(s, in->type == IR_F64 ? 2 : 1);
    EMIT(s, F2F, D(d), B(a), MODV(FLOAT_TO, float_code(in->type)),
         MODV(FLOAT_FROM, float_code(in->type2)),
         MODV(CVT_RND, is_integral(in->rnd) ? 0 : rnd_of(in->rnd)), MODV(FTZ, ftz),
         MODV(SAT, ir_has(in, IR_MOD_SAT)));
    sel_set_units(s, in->dst[0], sel_masked(s, d, ir_type_bits(in->dst[0]->type), false));
}

static unsigned unpack_code(enum ir_type type)
{
    switch (ir_type_element(type)) {
    case IR_E4M3:
        return ISA_UNPACK_FROM_E4M3;
    case IR_E5M2:
        return ISA_UNPACK_FROM_E5M2;
    case IR_E2M3:
        return ISA_UNPACK_FROM_E2M3;
    case IR_E3M2:
        return ISA_UNPACK_FROM_E3M2;
    case IR_E2M1:
        return ISA_UNPACK_FROM_E2M1;
    default:
        return ISA_UNPACK_FROM_UE8M0;
    }
}

static void unpack(struct sel *s, const struct ir_instr *in)
{
    uint32_t d = sel_new(s, 1), positive = sel_new(s, 1);

    EMIT(s, F2FP_UNPACK, D(d), B(sel_unit(sel_in_unit(s, sel_src(s, 0)))),
         MODV(UNPACK_FROM, unpack_code(in->type2)));
    if (ir_has(in, IR_MOD_RELU)) {
        EMIT(s, HMNMX2, D(positive), A(sel_unit(d)), B(SEL_RZ), PA(sel_not(SEL_TRUE)),
             MOD(MINMAX_NAN, NAN));
        d = positive;
    }
    sel_set_units(s, in->dst[0], d);
}

bool select_convert(struct sel *s, const struct ir_instr *in)
{
    bool from, to;

    if (in->op == IR_OP_CVTPACK) {
        pack(s, in, sel_src(s, 0), sel_src(s, 1), in->nsrc > 2 ? sel_src(s, 2) : SEL_RZ);
        return true;
    }
    if (in->op == IR_OP_CVTUNPACK) {
        unpack(s, in);
        return true;
    }
    if (in->op != IR_OP_CVT)
        return false;
    from = ir_type_is_float(in->type2) || in->type2 == IR_TF32;
    to = ir_type_is_float(in->type) || in->type == IR_TF32;
    if (from && to)
        float_to_float(s, in);
    else if (from)
        float_to_int(s, in);
    else if (to)
        int_to_float(s, in);
    else
        int_to_int(s, in);
    return true;
}
