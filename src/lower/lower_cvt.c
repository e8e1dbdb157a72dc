/*
 * cvt. One number becomes another by IR_OP_CVT; what is packed goes through f32, which holds every
 * source exactly: two of them become a pair by IR_OP_CVTPACK, pairs of pairs are put together.
 */
#include "lower/lower_priv.h"

#include <assert.h>

typedef struct ir_value *val;

#define ROUND(mode) (1u << PTX_ROUND_##mode)

/* What pairs and fours convert to and from; everything else is one number to one number. */
static const struct packed {
    uint8_t to, from; /* enum ptx_type */
    uint8_t nops;     /* without random bits */
    uint16_t rounds;  /* 1 << enum ptx_round */
    enum { FINITE_NO, FINITE_MAY, FINITE_MUST } satfinite;
    bool relu;
} packed_forms[] = {
#define PAIR(to, from, nops, rounds, finite, relu)                                                 \
    {PTX_TYPE_##to, PTX_TYPE_##from, nops, rounds, FINITE_##finite, relu}
    PAIR(F16X2, F32, 3, ROUND(RN) | ROUND(RZ) | ROUND(RS), MAY, true),
    PAIR(BF16X2, F32, 3, ROUND(RN) | ROUND(RZ) | ROUND(RS), MAY, true),
    PAIR(E4M3X2, F32, 3, ROUND(RN), MUST, true),
    PAIR(E5M2X2, F32, 3, ROUND(RN), MUST, true),
    PAIR(E2M3X2, F32, 3, ROUND(RN), MUST, true),
    PAIR(E3M2X2, F32, 3, ROUND(RN), MUST, true),
    PAIR(E2M1X2, F32, 3, ROUND(RN), MUST, true),
    PAIR(UE8M0X2, F32, 3, ROUND(RZ) | ROUND(RP), MAY, false),
    PAIR(E4M3X2, F16X2, 2, ROUND(RN), MUST, true),
    PAIR(E5M2X2, F16X2, 2, ROUND(RN), MUST, true),
    PAIR(E2M3X2, F16X2, 2, ROUND(RN), MUST, true),
    PAIR(E3M2X2, F16X2, 2, ROUND(RN), MUST, true),
    PAIR(E2M1X2, F16X2, 2, ROUND(RN), MUST, true),
    PAIR(E4M3X2, BF16X2, 2, ROUND(RN), MUST, true),
    PAIR(E5M2X2, BF16X2, 2, ROUND(RN), MUST, true),
    PAIR(E2M3X2, BF16X2, 2, ROUND(RN), MUST, true),
    PAIR(E3M2X2, BF16X2, 2, ROUND(RN), MUST, true),
    PAIR(E2M1X2, BF16X2, 2, ROUND(RN), MUST, true),
    PAIR(UE8M0X2, BF16X2, 2, ROUND(RZ) | ROUND(RP), MAY, false),
    PAIR(F16X2, E4M3X2, 2, ROUND(RN), NO, true),
    PAIR(F16X2, E5M2X2, 2, ROUND(RN), NO, true),
    PAIR(F16X2, E2M3X2, 2, ROUND(RN), NO, true),
    PAIR(F16X2, E3M2X2, 2, ROUND(RN), NO, true),
    PAIR(F16X2, E2M1X2, 2, ROUND(RN), NO, true),
    PAIR(BF16X2, UE8M0X2, 2, ROUND(RN), NO, false),
    PAIR(E4M3X4, F32, 2, ROUND(RS), MUST, true),
    PAIR(E5M2X4, F32, 2, ROUND(RS), MUST, true),
    PAIR(E2M3X4, F32, 2, ROUND(RS), MUST, true),
    PAIR(E3M2X4, F32, 2, ROUND(RS), MUST, true),
    PAIR(E2M1X4, F32, 2, ROUND(RS), MUST, true),
#undef PAIR
};

static const struct packed *packed_find(const struct ptx_form *form)
{
    for (size_t i = 0; i < HD_COUNT_OF(packed_forms); i++) {
        if (packed_forms[i].to == form->types[0] && packed_forms[i].from == form->types[1])
            return &packed_forms[i];
    }
    return NULL;
}

static bool is_scalar(enum ptx_type t)
{
    return t == PTX_TYPE_F16 || t == PTX_TYPE_BF16 || t == PTX_TYPE_F32 || t == PTX_TYPE_F64 ||
           ptx_type_class(t) == PTX_CLASS_UINT || ptx_type_class(t) == PTX_CLASS_SINT;
}

static bool is_half(enum ptx_type t)
{
    return t == PTX_TYPE_F16 || t == PTX_TYPE_BF16;
}

bool lower_cvt_types(const struct ptx_form *form)
{
    enum ptx_type to = (enum ptx_type)form->types[0], from = (enum ptx_type)form->types[1];
    if (form->ntypes != 2)
        return false;
    if (to == PTX_TYPE_TF32)
        return from == PTX_TYPE_F32;
    return packed_find(form) ||
           (is_scalar(to) && is_scalar(from) && ptx_type_bits(to) >= 8 &&
            ptx_type_bits(from) >= 8 && lower_type(to) != IR_VOID && lower_type(from) != IR_VOID);
}

/* .relu and .satfinite of a number: from f32 only, as 9.0 has them. */
static bool scalar_in_slice(const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    enum ptx_type to = (enum ptx_type)form->types[0];
    bool tf32 = to == PTX_TYPE_TF32;
    if (in->nops != 2 || form->round == PTX_ROUND_RS)
        return false;
    if (!tf32 && form->round == PTX_ROUND_RNA)
        return false;
    if (tf32 &&
        (form->sat || form->ftz || !((ROUND(RN) | ROUND(RZ) | ROUND(RNA)) >> form->round & 1)))
        return false;
    if (form->relu && form->round == PTX_ROUND_RNA)
        return false;
    return !(form->relu || form->satfinite) || tf32 ||
           (is_half(to) && form->types[1] == PTX_TYPE_F32);
}

bool lower_cvt_variant(const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    const struct packed *p = packed_find(form);
    if (!p)
        return scalar_in_slice(in);
    uint32_t nops = p->nops + (form->round == PTX_ROUND_RS);
    return in->nops == nops && (p->rounds >> form->round & 1) && !form->ftz && !form->sat &&
           (!form->relu || p->relu) &&
           (form->satfinite ? p->satfinite != FINITE_NO : p->satfinite != FINITE_MUST);
}

static void set_words(struct ir_instr *r, const struct ptx_form *form)
{
    ir_set_mod(r, IR_MOD_SAT, form->sat);
    ir_set_mod(r, IR_MOD_FTZ, form->ftz);
    ir_set_mod(r, IR_MOD_RELU, form->relu);
    ir_set_mod(r, IR_MOD_SATFINITE, form->satfinite);
}

/* ---- packed */

static enum ir_type small_type(enum ptx_type t)
{
    switch (t) {
    case PTX_TYPE_E4M3X2:
    case PTX_TYPE_E4M3X4:
        return IR_E4M3X2;
    case PTX_TYPE_E5M2X2:
    case PTX_TYPE_E5M2X4:
        return IR_E5M2X2;
    case PTX_TYPE_E2M3X2:
    case PTX_TYPE_E2M3X4:
        return IR_E2M3X2;
    case PTX_TYPE_E3M2X2:
    case PTX_TYPE_E3M2X4:
        return IR_E3M2X2;
    case PTX_TYPE_E2M1X2:
    case PTX_TYPE_E2M1X4:
        return IR_E2M1X2;
    case PTX_TYPE_UE8M0X2:
        return IR_UE8M0X2;
    default:
        return lower_type(t);
    }
}

static bool is_four(enum ptx_type t)
{
    return t == PTX_TYPE_E4M3X4 || t == PTX_TYPE_E5M2X4 || t == PTX_TYPE_E2M3X4 ||
           t == PTX_TYPE_E3M2X4 || t == PTX_TYPE_E2M1X4;
}

/* Two f32 to a pair, the first above; random: NULL without .rs. */
static val pair(struct lower_fn *f, const struct ptx_form *form, val high, val low, val random)
{
    val src[] = {high, low, random};
    enum ir_type to = small_type((enum ptx_type)form->types[0]);
    struct ir_instr *r = lower_emit(f, IR_OP_CVTPACK, to, random ? 3 : 2, src, 1);
    r->rnd = lower_rounding(form);
    set_words(r, form);
    return r->dst[0];
}

/* A half of a packed register as f32. */
static val half_as_f32(struct lower_fn *f, val v, enum ir_type packed, unsigned i)
{
    struct ir_instr *part = lower_emit(f, IR_OP_UNPACK, IR_B16, 1, &v, 1);
    part->imm = i;
    return ir_build_cvt(&f->b, IR_F32, ir_type_element(packed), IR_RND_NONE, part->dst[0]);
}

/*
 * cvt.rs.e4m3x4.f32 d, {a, b, e, f}, rbits: a and b share the 16 random bits of the upper half, e
 * and f those of the lower; of e2m1x4 the upper bytes of both halves, and the lower ones.
 */
static val four(struct lower_fn *f, const struct ptx_insn *in)
{
    bool e2m1 = in->form->types[0] == PTX_TYPE_E2M1X4;
    uint32_t select[] = {e2m1 ? 0x2020 : 0x1010, e2m1 ? 0x3131 : 0x3232}; /* bytes */
    const struct ptx_operand *items = in->ops[1].items;
    val bits = lower_src(f, &in->ops[2], IR_B32), zero = lower_const(f, IR_B32, 0), part[2];
    assert(in->ops[1].nitems == 4);
    for (unsigned i = 0; i < 2; i++) { /* the lower pair first */
        val src[] = {bits, zero, lower_const(f, IR_B32, select[i])};
        val random = lower_op(f, IR_OP_PRMT, IR_B32, 3, src);
        const struct ptx_operand *two = &items[i ? 0 : 2];
        val lower = lower_src(f, &two[1], IR_F32), upper = lower_src(f, &two[0], IR_F32);
        part[i] = pair(f, in->form, upper, lower, random);
    }
    return lower_op(f, IR_OP_PACK, e2m1 ? IR_B16 : IR_B32, 2, part);
}

static val widen_pair(struct lower_fn *f, const struct ptx_insn *in, enum ir_type to,
                      enum ir_type from)
{
    val a = lower_src(f, &in->ops[1], ir_type_value(from));
    struct ir_instr *r = lower_emit(f, IR_OP_CVTUNPACK, to, 1, &a, 1);
    r->type2 = from;
    r->dst[0]->type = ir_type_value(to);
    set_words(r, in->form);
    return r->dst[0];
}

static val packed(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    enum ir_type to = small_type((enum ptx_type)form->types[0]);
    enum ir_type from = small_type((enum ptx_type)form->types[1]);
    if (is_four((enum ptx_type)form->types[0]))
        return four(f, in);
    if (from == IR_F16X2 || from == IR_BF16X2) {
        val a = lower_src(f, &in->ops[1], IR_B32);
        val lower = half_as_f32(f, a, from, 0), upper = half_as_f32(f, a, from, 1);
        return pair(f, form, upper, lower, NULL);
    }
    if (from != IR_F32)
        return widen_pair(f, in, to, from);
    val high = lower_src(f, &in->ops[1], IR_F32), low = lower_src(f, &in->ops[2], IR_F32);
    return pair(f, form, high, low, in->nops > 3 ? lower_src(f, &in->ops[3], IR_B32) : NULL);
}

/* ---- one number */

static val scalar(struct lower_fn *f, const struct ptx_insn *in, enum ir_type to, enum ir_type from)
{
    val a = lower_src(f, &in->ops[1], from);
    bool ints = !ir_type_is_float(to) && !ir_type_is_float(from);
    if (to == from && !in->form->sat && ints)
        return a;
    struct ir_instr *r = lower_emit(f, IR_OP_CVT, to, 1, &a, 1);
    r->type2 = from;
    r->rnd = ints ? IR_RND_NONE : lower_rounding(in->form);
    set_words(r, in->form);
    return r->dst[0];
}

bool lower_do_cvt(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    enum ptx_type type = (enum ptx_type)form->types[0];
    if (packed_find(form)) {
        if (is_four(type) != (in->ops[1].kind == PTX_OPND_VEC && in->ops[1].nitems == 4)) {
            lower_fail(f, HD_BAD_PTX, "four sources in braces go with a result of four");
            return true;
        }
        val r = packed(f, in);
        lower_dst(f, &in->ops[0], r, r->type);
        return true;
    }
    enum ir_type to = type == PTX_TYPE_TF32 ? IR_TF32 : lower_type(type);
    val r = scalar(f, in, to, lower_type((enum ptx_type)form->types[1]));
    lower_dst(f, &in->ops[0], r, to == IR_TF32 ? IR_B32 : to);
    return true;
}
