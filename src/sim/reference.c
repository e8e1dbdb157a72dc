/*
 * The pure instructions, as spec/isa/semantics.def says, in one lane: the plain reference. Floating
 * point is done in integers (base/float/softfp.h), so that it does not depend on the host's mode.
 */
#include "base/float/approx.h"
#include "model/eval_private.h"
#include "sim/rows.h"

#include <assert.h>

#define M(name) (s->mod[ISA_MOD_##name])

typedef unsigned __int128 sem_u128;

/* ---- integers */

/* a + b, and from `sums` 2 on the lower word of it plus c. */
static uint64_t sem_sum(const struct sim_sem *s, const struct sim_lane *l, unsigned sums)
{
    uint64_t a = s->na ? (uint32_t)~l->a : l->a, b = s->nb ? (uint32_t)~l->b : l->b;
    uint64_t c = s->nc ? (uint32_t)~l->c : l->c;
    bool x = M(X);
    uint64_t sum = a + b + (x ? l->pa : (uint64_t)s->na + s->nb);

    return sums == 1 ? sum : (uint32_t)sum + c + (x ? l->pb : s->nc);
}

static uint64_t sem_product(const struct sim_sem *s, const struct sim_lane *l)
{
    return M(SIGN) ? (uint64_t)(uint32_t)l->a * (uint32_t)l->b
                   : (uint64_t)((int64_t)(int32_t)l->a * (int32_t)l->b);
}

static sem_u128 sem_wide_sum(const struct sim_sem *s, const struct sim_lane *l)
{
    return (sem_u128)sem_product(s, l) + (s->nc ? ~l->c : l->c) + (M(X) ? l->pa : s->nc);
}

static uint32_t sem_least(bool is_unsigned, unsigned w, uint64_t a, uint64_t b, bool want_min)
{
    int64_t sa = (int64_t)ir_int_extend(a, w), sb = (int64_t)ir_int_extend(b, w);
    bool less = is_unsigned ? a < b : sa < sb;

    return (uint32_t)(less == want_min ? a : b);
}

static uint64_t sem_minmax(const struct sim_sem *s, uint64_t a, uint64_t b, bool want_min)
{
    bool is_unsigned = M(SIGN);

    if (!M(PACKED))
        return sem_least(is_unsigned, 32, a, b, want_min);
    return sem_least(is_unsigned, 16, a & 0xffff, b & 0xffff, want_min) |
           (uint64_t)sem_least(is_unsigned, 16, a >> 16, b >> 16, want_min) << 16;
}

static bool sem_bool(const struct sim_sem *s, bool compared, bool with)
{
    return M(BOOL) == 0 ? compared && with : M(BOOL) == 1 ? compared || with : compared != with;
}

static bool sem_icmp(const struct sim_sem *s, const struct sim_lane *l)
{
    bool equal = l->a == l->b;
    bool less = M(SIGN) ? l->a < l->b : (int32_t)l->a < (int32_t)l->b;
    static const uint8_t when[3] = {1, 2, 4}; /* bits of the comparison: less, equal, greater */

    if (M(X) && equal)
        return l->pb;
    return M(CMP) & when[less ? 0 : equal ? 1 : 2];
}

static uint64_t sem_lea(const struct sim_sem *s, const struct sim_lane *l)
{
    uint32_t a = (uint32_t)l->a << s->shift;

    return (uint64_t)(s->na ? ~a : a) + l->b + s->na;
}

static uint64_t sem_lea_hi(const struct sim_sem *s, const struct sim_lane *l)
{
    uint64_t pair = (l->c << 32 | l->a) << s->shift;
    uint32_t upper = (uint32_t)(pair >> 32);

    if (s->na)
        upper = M(X) ? ~upper : (uint32_t)((0 - pair) >> 32);
    return (uint64_t)upper + l->b + (M(X) && l->pa);
}

static uint64_t sem_shf(const struct sim_sem *s, const struct sim_lane *l)
{
    enum { S64, U64, S32, U32 };
    unsigned type = M(SHF_TYPE), width = type == S64 || type == U64 ? 64 : 32;
    unsigned n = (unsigned)(M(SHF_WRAP) ? l->b & (width - 1) : HD_MIN(l->b, (uint64_t)width));
    bool is_signed = type == S64 || type == S32;
    uint64_t pair = l->c << 32 | l->a;

    if (!M(SHF_DIR))
        pair = n > 63 ? 0 : pair << n;
    else if (is_signed)
        pair = (uint64_t)((int64_t)pair >> HD_MIN(n, 63u));
    else
        pair = n > 63 ? 0 : pair >> n;
    return M(HI) ? pair >> 32 : pair;
}

static uint64_t sem_i2ip(const struct sim_sem *s, const struct sim_lane *l)
{
    unsigned w = M(INT_TO) < 2 ? 8 : 16, half = w;
    uint64_t mask = (1u << w) - 1;
    bool is_signed = M(INT_TO) & 1;
    int64_t max = is_signed ? (int64_t)(mask >> 1) : (int64_t)mask, min = is_signed ? -max - 1 : 0;
    int64_t a = (int32_t)l->a, b = (int32_t)l->b;

    if (M(SAT)) {
        a = a > max ? max : a < min ? min : a;
        b = b > max ? max : b < min ? min : b;
    }
    return (w == 8 ? l->c << 16 : 0) | ((uint64_t)a & mask) << half | ((uint64_t)b & mask);
}

static uint64_t sem_piece(uint64_t v, unsigned index, unsigned bits, bool is_unsigned)
{
    uint64_t piece = v >> (index * bits) & ((UINT64_C(1) << bits) - 1);

    return is_unsigned ? piece : ir_int_extend(piece, bits);
}

static uint64_t sem_idp(const struct sim_sem *s, const struct sim_lane *l)
{
    unsigned n = M(DP) ? 2 : 4, first = M(DP) == 2 ? 2 : 0;
    uint64_t sum = l->c;

    for (unsigned i = 0; i < n; i++)
        sum += sem_piece(l->a, i, 32 / n, M(SIGN_A)) * sem_piece(l->b, first + i, 8, M(SIGN_B));
    return sum;
}

/* ---- floating point */

static uint64_t sem_signed(const struct hd_fp_format *fmt, uint64_t v, bool negate, bool clear)
{
    uint64_t sign = hd_fp_sign_mask(fmt);

    v = clear ? v & ~sign : v;
    return negate ? v ^ sign : v;
}

/* Sums and products of doubles give the NaN that they find, and it as it was. */
static uint64_t sem_signed64(uint64_t v, bool negate, bool clear)
{
    return hd_fp_is_nan(&hd_fp_f64, v) ? v : sem_signed(&hd_fp_f64, v, negate, clear);
}

static uint64_t sem_flush(const struct ir_fp *f, uint64_t v)
{
    return f->ftz && hd_fp_is_denormal(f->fmt, v) ? v & hd_fp_sign_mask(f->fmt) : v;
}

static struct ir_fp sem_fp(const struct sim_sem *s, const struct hd_fp_format *fmt)
{
    static const uint8_t rounds[4] = {HD_FP_RN, HD_FP_RM, HD_FP_RP, HD_FP_RZ};

    return (struct ir_fp){&s->in, fmt, (enum hd_fp_round)rounds[M(RND) & 3], M(FTZ)};
}

/* Bits of a floating-point comparison: less, equal, greater, unordered. */
static bool sem_fcmp(const struct sim_sem *s, const struct hd_fp_format *fmt, uint64_t a,
                     uint64_t b)
{
    struct ir_fp f = sem_fp(s, fmt);
    int order = hd_fp_compare(fmt, sem_flush(&f, a), sem_flush(&f, b));

    return M(FCMP) >> (order == 2 ? 3 : order + 1) & 1;
}

static unsigned sem_exponent(uint32_t v)
{
    return v >> 23 & 255;
}

/*
 * Whether something on the way of a division or root by multiplications can leave the range of
 * normal numbers.
 */
static bool sem_fchk(const struct sim_sem *s, uint32_t a, uint32_t b)
{
    int ea = (int)sem_exponent(a), eb = (int)sem_exponent(b);

    if (M(CHK))
        return a >> 31 || ea < 26 || ea == 255;
    return ea < 26 || ea == 255 || eb < 2 || eb > 252 || ea - eb > 126 || ea - eb < -124;
}

static uint64_t sem_mufu(const struct sim_sem *s, uint64_t b)
{
    enum { SQRT = 2, RCP64H = 8, RSQ64H, TANH_F16, TANH_BF16, EX2_F16, EX2_BF16 };
    struct ir_fp f = {&s->in, &hd_fp_f32, HD_FP_RN, false};

    switch (M(MUFU)) {
    case SQRT:
        return ir_fp_sqrt(&f, b);
    case RCP64H:
        return hd_approx_rcp64(b << 32) >> 32;
    case RSQ64H:
        return hd_approx_rsqrt64(b << 32) >> 32;
    case TANH_F16:
    case TANH_BF16:
    case EX2_F16:
    case EX2_BF16:
        f.fmt = M(MUFU) & 1 ? &hd_fp_bf16 : &hd_fp_f16;
        return ir_fp_approx(&f, b & 0xffff) | ir_fp_approx(&f, b >> 16 & 0xffff) << 16;
    default:
        return ir_fp_approx(&f, b);
    }
}

static uint64_t sem_f32x2(const struct sim_sem *s, const struct sim_lane *l, enum isa_op op)
{
    struct ir_fp f = sem_fp(s, &hd_fp_f32);
    uint64_t d = 0;

    for (unsigned i = 0; i < 2; i++) {
        uint64_t a = sem_signed(f.fmt, (uint32_t)(l->a >> 32 * i), s->na, false);
        uint64_t b = sem_signed(f.fmt, (uint32_t)(l->b >> 32 * i), s->nb, false);
        uint64_t c = sem_signed(f.fmt, (uint32_t)(l->c >> 32 * i), s->nc, false);
        uint64_t one = op == ISA_FADD   ? ir_fp_add(&f, a, b)
                       : op == ISA_FMUL ? ir_fp_mul(&f, a, b)
                                        : ir_fp_fma(&f, a, b, c);
        d |= one << 32 * i;
    }
    return d;
}

/* A half of a source: 0 the lower of those that `which` takes, 1 the upper. */
static uint64_t sem_half(uint64_t v, unsigned which, unsigned i)
{
    enum { BOTH, H0_H0, H1_H1 };

    return v >> 16 * (which == H0_H0 ? 0 : which == H1_H1 ? 1 : i) & 0xffff;
}

static const struct hd_fp_format *sem_half_format(const struct sim_sem *s)
{
    return M(HTYPE) == 2 ? &hd_fp_bf16 : &hd_fp_f16;
}

enum { HTYPE_F32 = 1, HALF_F32 = 3 };

/* Source of an instruction on halves, as its format, or f32, wants it. */
static uint64_t sem_half_source(const struct sim_sem *s, uint64_t v, unsigned which, unsigned i,
                                bool negate, bool clear)
{
    const struct hd_fp_format *fmt = sem_half_format(s);

    if (which == HALF_F32)
        return sem_signed(&hd_fp_f32, v, negate, clear);
    v = sem_signed(fmt, sem_half(v, which, i), negate, clear);
    return M(HTYPE) == HTYPE_F32 ? hd_fp_pack(&hd_fp_f32, hd_fp_unpack(fmt, v), HD_FP_RN, false)
                                 : v;
}

static uint64_t sem_one_half(const struct sim_sem *s, const struct sim_lane *l, unsigned i)
{
    struct ir_fp f = sem_fp(s, M(HTYPE) == HTYPE_F32 ? &hd_fp_f32 : sem_half_format(s));
    uint64_t a = sem_half_source(s, l->a, M(HALF_A), i, s->na, s->aa);
    uint64_t b = sem_half_source(s, l->b, M(HALF_B), i, s->nb, s->ab);

    f.rnd = HD_FP_RN;
    switch (s->op) {
    case ISA_HADD2:
        return ir_fp_add(&f, a, b);
    case ISA_HMUL2:
        return ir_fp_mul(&f, a, b);
    case ISA_HMNMX2:
        return ir_fp_min(&f, a, b, !l->pa);
    default:
        return ir_fp_fma(&f, a, b, sem_half_source(s, l->c, M(HALF_C), i, s->nc, false));
    }
}

static uint64_t sem_halves(const struct sim_sem *s, const struct sim_lane *l)
{
    if (M(HTYPE) == HTYPE_F32)
        return sem_one_half(s, l, 0);
    return sem_one_half(s, l, 0) | sem_one_half(s, l, 1) << 16;
}

/* H1: pd the comparison of the upper halves, pe its opposite; else pd that of the lower ones, pe
 * that of the upper ones. */
static bool sem_hsetp(const struct sim_sem *s, const struct sim_lane *l, bool second)
{
    unsigned i = second || M(HALF_CMP);
    const struct hd_fp_format *fmt = M(HTYPE) == HTYPE_F32 ? &hd_fp_f32 : sem_half_format(s);
    bool compared = sem_fcmp(s, fmt, sem_half_source(s, l->a, M(HALF_A), i, s->na, s->aa),
                             sem_half_source(s, l->b, M(HALF_B), i, s->nb, s->ab));

    return sem_bool(s, compared != (second && M(HALF_CMP)), l->pa);
}

/* ---- conversions */

static uint64_t sem_float(const struct sim_sem *s, uint64_t b)
{
    const struct hd_fp_format *fmt = ir_fp_format(s->in.type2);
    unsigned bits = ir_type_bits(s->in.type2);

    return sem_signed(fmt, bits == 64 ? b : b & ((UINT64_C(1) << bits) - 1), s->nb, s->ab);
}

static uint64_t sem_f2i(const struct sim_sem *s, uint64_t b)
{
    unsigned bits = ir_type_bits(s->in.type);
    uint64_t v = ir_cvt(&s->in, sem_float(s, b));

    if (ir_type_is_signed(s->in.type))
        return ir_int_extend(v, bits);
    return bits == 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}

static uint64_t sem_f2fp(const struct sim_sem *s, const struct sim_lane *l)
{
    enum { TO_TF32 = 8 };
    uint64_t bits = ir_type_bits(s->in.type), rest;

    if (M(PACK_TO) == TO_TF32)
        return ir_cvt(&s->in, l->b);
    rest = bits < 32 && s->in.rnd != IR_RS ? l->c >> bits << bits : 0;
    return rest | ir_cvtpack(&s->in, l->a, l->b, l->c);
}

/* ---- rows */

#define NONE 0

void sim_sem_lane(const struct sim_sem *s, struct sim_lane *l)
{
    const uint64_t a = l->a, b = l->b, c = l->c;
    const bool na = s->na, nb = s->nb, nc = s->nc, pa = l->pa, pb = l->pb, pc = l->pc;
    const bool is_double = s->in.type == IR_F64 && !s->in.type2;
    const struct ir_fp fp = sem_fp(s, is_double ? &hd_fp_f64 : &hd_fp_f32), *f = &fp;
    const uint64_t fa = sem_signed(&hd_fp_f32, a, na, s->aa);
    const uint64_t fb = sem_signed(&hd_fp_f32, b, nb, s->ab);
    const uint64_t fc = sem_signed(&hd_fp_f32, c, nc, s->ac);
    const uint64_t da = sem_signed64(a, na, s->aa);
    const uint64_t db = sem_signed64(b, nb, s->ab);
    const uint64_t dc = sem_signed64(c, nc, s->ac);

    switch (s->op) {
#define SEM(name, of_d, of_pd, of_pe)                                                              \
    case ISA_##name:                                                                               \
        l->d = (uint64_t)(of_d);                                                                   \
        l->pd = (of_pd);                                                                           \
        l->pe = (of_pe);                                                                           \
        return;
#define UNIFORM(name, of)
#include "isa/semantics.def"
#undef SEM
#undef UNIFORM
    default:
        assert(!"a pure instruction");
    }
}

/* ---- what an instruction is */

static bool sem_op_of(enum isa_op op, enum isa_op *out_op)
{
    switch (op) {
#define SEM(name, d, pd, pe)                                                                       \
    case ISA_##name:                                                                               \
        *out_op = op;                                                                              \
        return true;
#define UNIFORM(name, of)                                                                          \
    case ISA_##name:                                                                               \
        *out_op = ISA_##of;                                                                        \
        return true;
#include "isa/semantics.def"
#undef SEM
#undef UNIFORM
    default:
        return false;
    }
}

/* The conversion, or approximation, of the IR that it is. */
static void sem_set_instr(struct sim_sem *s)
{
    static const uint8_t floats[] = {IR_F16, IR_F32, IR_F64, IR_BF16, IR_TF32};
    static const uint8_t ints[] = {IR_U8, IR_S8, IR_U16, IR_S16, IR_U32, IR_S32, IR_U64, IR_S64};
    static const uint8_t packed[] = {IR_F16X2,  IR_BF16X2, IR_E4M3X2,  IR_E5M2X2, IR_E2M3X2,
                                     IR_E3M2X2, IR_E2M1X2, IR_UE8M0X2, IR_TF32};
    static const uint8_t unpacked[] = {IR_E4M3X2, IR_E5M2X2, IR_E2M3X2,
                                       IR_E3M2X2, IR_E2M1X2, IR_UE8M0X2};
    static const uint8_t rounds[] = {IR_RN, IR_RM, IR_RP, IR_RZ, IR_RNA, IR_RS};
    static const uint8_t integral[] = {IR_RNI, IR_RMI, IR_RPI, IR_RZI, IR_RNI, IR_RNI};
    static const uint8_t functions[] = {
        IR_OP_FRCP,  IR_OP_FRSQRT, IR_OP_FSQRT,  IR_OP_FEX2,  IR_OP_FLG2,  IR_OP_FSIN, IR_OP_FCOS,
        IR_OP_FTANH, IR_OP_FRCP,   IR_OP_FRSQRT, IR_OP_FTANH, IR_OP_FTANH, IR_OP_FEX2, IR_OP_FEX2};
    struct ir_instr *in = &s->in;

    in->op = IR_OP_CVT;
    in->rnd = (enum ir_rnd)rounds[M(CVT_RND)];
    switch (s->op) {
    case ISA_F2F:
        in->type = (enum ir_type)floats[M(FLOAT_TO)];
        in->type2 = (enum ir_type)floats[M(FLOAT_FROM)];
        break;
    case ISA_F2I:
        in->type = (enum ir_type)ints[M(INT_TO)];
        in->type2 = (enum ir_type)floats[M(FLOAT_FROM)];
        in->rnd = (enum ir_rnd)integral[M(CVT_RND)];
        break;
    case ISA_I2F:
        in->type = (enum ir_type)floats[M(FLOAT_TO)];
        in->type2 = (enum ir_type)ints[M(INT_FROM)];
        break;
    case ISA_FRND:
        in->type = in->type2 = (enum ir_type)floats[M(FLOAT_FROM)];
        in->rnd = (enum ir_rnd)integral[M(CVT_RND)];
        break;
    case ISA_F2FP:
        in->type = (enum ir_type)packed[M(PACK_TO)];
        in->type2 = IR_F32;
        break;
    case ISA_F2FP_UNPACK:
        in->type2 = (enum ir_type)unpacked[M(UNPACK_FROM)];
        in->type = in->type2 == IR_UE8M0X2 ? IR_BF16X2 : IR_F16X2;
        break;
    case ISA_MUFU:
        in->op = (enum ir_op)functions[M(MUFU)];
        in->rnd = IR_APPROX;
        break;
    case ISA_DADD:
    case ISA_DMUL:
    case ISA_DFMA:
    case ISA_DSETP:
        in->type = IR_F64;
        break;
    default:
        break;
    }
}

int64_t sim_field(const struct isa_insn *insn, enum isa_field field, int64_t none)
{
    const struct isa_row *row = isa_row(insn->op);

    for (unsigned i = 0; i < row->noperands; i++)
        if (row->operands[i].field == field)
            return insn->operands[i].value;
    return none;
}

/* An operand of a field, or of the same one in the uniform datapath; NULL: there is none. */
static const struct isa_operand *sem_operand(const struct isa_insn *insn, enum isa_field field,
                                             enum isa_field uniform)
{
    const struct isa_row *row = isa_row(insn->op);

    for (unsigned i = 0; i < row->noperands; i++)
        if (row->operands[i].field == field || row->operands[i].field == uniform)
            return &insn->operands[i];
    return NULL;
}

bool sim_sem_of(const struct isa_insn *insn, struct sim_sem *s)
{
    const struct isa_row *row = isa_row(insn->op);
    const struct isa_operand *a = sem_operand(insn, ISA_FIELD_A, ISA_FIELD_UA);
    const struct isa_operand *b = sem_operand(insn, ISA_FIELD_B, ISA_FIELD_UB);
    const struct isa_operand *c = sem_operand(insn, ISA_FIELD_C, ISA_FIELD_UC);

    *s = (struct sim_sem){0};
    if (!sem_op_of(insn->op, &s->op))
        return false;
    for (unsigned i = 0; i < row->nall_mods; i++)
        s->mod[row->mods[i]] = insn->mods[i];
    s->na = a && a->negate;
    s->nb = b && b->negate;
    s->nc = c && c->negate;
    s->aa = a && a->absolute;
    s->ab = b && b->absolute;
    s->ac = c && c->absolute;
    s->lut = (uint8_t)sim_field(insn, ISA_FIELD_LUT, 0);
    s->plut = (uint8_t)sim_field(insn, ISA_FIELD_PLUT, 0);
    s->shift = (uint8_t)sim_field(insn, ISA_FIELD_SHIFT, 0);
    ir_set_mod(&s->in, IR_MOD_SAT, M(SAT));
    ir_set_mod(&s->in, IR_MOD_FTZ, M(FTZ));
    ir_set_mod(&s->in, IR_MOD_RELU, M(RELU));
    ir_set_mod(&s->in, IR_MOD_NAN, M(MINMAX_NAN));
    ir_set_mod(&s->in, IR_MOD_XORSIGN, M(XORSIGN));
    ir_set_mod(&s->in, IR_MOD_SATFINITE, M(SATFINITE));
    sem_set_instr(s);
    return true;
}
