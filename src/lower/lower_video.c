/*
 * Video instructions and cvt.pack: parts of registers as integers that nothing overflows, an
 * operation, then a second one with c or a place in c. The scalar ones compute in 64 bits, the
 * packed ones each element in 32.
 */
#include "lower/lower_priv.h"

#include <assert.h>

typedef struct ir_value *val;

static bool video_bad(struct lower_fn *f, const char *why)
{
    lower_fail(f, HD_BAD_PTX, why);
    return true;
}

static bool video_is_signed(const struct ptx_insn *in, unsigned type)
{
    return ptx_type_class((enum ptx_type)in->form->types[type]) == PTX_CLASS_SINT;
}

/* None takes a negated operand, nor a selector of c. */
static bool video_operands_are_plain(const struct ptx_insn *in)
{
    for (unsigned i = 0; i < in->nops; i++) {
        if (in->ops[i].negate || (i == 3 && in->ops[i].comp))
            return false;
    }
    return true;
}

/* ---- pieces */

/* The operand as a whole, without selector and sign. */
static val video_whole(struct lower_fn *f, const struct ptx_operand *op)
{
    struct ptx_operand plain = *op;
    plain.comp = PTX_COMP_NONE;
    plain.negate = false;
    return lower_src(f, &plain, IR_B32);
}

struct field {
    unsigned pos, bits;
};

/* What a selector of a scalar instruction names. */
static struct field video_field_of(const struct ptx_operand *op)
{
    if (op->comp >= PTX_COMP_B0 && op->comp <= PTX_COMP_B3)
        return (struct field){8u * (op->comp - PTX_COMP_B0), 8};
    if (op->comp == PTX_COMP_H0 || op->comp == PTX_COMP_H1)
        return (struct field){16u * (op->comp - PTX_COMP_H0), 16};
    return (struct field){0, 32};
}

static bool video_names_field(const struct ptx_operand *op)
{
    return !op->comp || (op->comp >= PTX_COMP_B0 && op->comp <= PTX_COMP_H1);
}

static val video_extract(struct lower_fn *f, val v, struct field at, bool sign)
{
    if (at.bits == 32)
        return v;
    return lower_op3(f, IR_OP_BFE, sign ? IR_S32 : IR_U32, v, lower_const(f, IR_B32, at.pos),
                     lower_const(f, IR_B32, at.bits));
}

static val video_insert(struct lower_fn *f, val piece, val into, struct field at)
{
    val src[] = {piece, into, lower_const(f, IR_B32, at.pos), lower_const(f, IR_B32, at.bits)};
    return lower_op(f, IR_OP_BFI, IR_B32, 4, src);
}

static val video_widen(struct lower_fn *f, val v, bool sign)
{
    return lower_fit(f, v, sign ? IR_S32 : IR_U32, IR_B64);
}

/* Clamps the signed number to what `bits` bits hold. */
static val video_clamp(struct lower_fn *f, enum ir_type t, val v, bool sign, unsigned bits)
{
    uint64_t max = (1ull << (bits - sign)) - 1, min = sign ? ~max : 0;
    v = lower_op2(f, IR_OP_MAX, t, v, lower_const(f, t, min));
    return lower_op2(f, IR_OP_MIN, t, v, lower_const(f, t, max));
}

/* ---- scalar instructions */

static bool video_is_shift(unsigned op)
{
    return op == PTX_OP_VSHL || op == PTX_OP_VSHR;
}

static val video_shift_count(struct lower_fn *f, const struct ptx_insn *in, val n)
{
    if (ptx_form_has(in->form, PTX_MOD_CLAMP))
        return lower_op2(f, IR_OP_MIN, IR_U32, n, lower_const(f, IR_B32, 32));
    return lower_op2(f, IR_OP_AND, IR_B32, n, lower_const(f, IR_B32, 31));
}

static val video_compare(struct lower_fn *f, const struct ptx_insn *in, enum ir_type t, val a,
                         val b)
{
    static const enum ir_cmp table[] = {
        [PTX_CMP_EQ] = IR_EQ, [PTX_CMP_NE] = IR_NE, [PTX_CMP_LT] = IR_LT,
        [PTX_CMP_LE] = IR_LE, [PTX_CMP_GT] = IR_GT, [PTX_CMP_GE] = IR_GE};
    struct ir_instr *p = lower_emit(f, IR_OP_SETP, t, 2, (val[]){a, b}, 1);
    assert(in->form->cmp < HD_COUNT_OF(table));
    p->cmp = table[in->form->cmp];
    return lower_op3(f, IR_OP_SELECT, ir_type_value(t), p->dst[0], lower_const(f, t, 1),
                     lower_const(f, t, 0));
}

/* Rounds halves away from zero: the sum is one less when it is negative. */
static val video_average(struct lower_fn *f, val sum)
{
    val low = lower_op2(f, IR_OP_SHR, IR_S32, sum, lower_const(f, IR_B32, 31));
    val one = lower_const(f, IR_B32, 1);
    val up = lower_op2(f, IR_OP_ADD, IR_S32, lower_op2(f, IR_OP_ADD, IR_S32, sum, one), low);
    return lower_op2(f, IR_OP_SHR, IR_S32, up, one);
}

/* The first operation, of numbers that `t` holds with two bits to spare. */
static val video_primary(struct lower_fn *f, const struct ptx_insn *in, enum ir_type t, val a,
                         val b)
{
    switch (in->form->op) {
    case PTX_OP_VADD:
    case PTX_OP_VADD2:
    case PTX_OP_VADD4:
        return lower_op2(f, IR_OP_ADD, t, a, b);
    case PTX_OP_VSUB:
    case PTX_OP_VSUB2:
    case PTX_OP_VSUB4:
        return lower_op2(f, IR_OP_SUB, t, a, b);
    case PTX_OP_VABSDIFF:
    case PTX_OP_VABSDIFF2:
    case PTX_OP_VABSDIFF4:
        return lower_op1(f, IR_OP_ABS, t, lower_op2(f, IR_OP_SUB, t, a, b));
    case PTX_OP_VMIN:
    case PTX_OP_VMIN2:
    case PTX_OP_VMIN4:
        return lower_op2(f, IR_OP_MIN, t, a, b);
    case PTX_OP_VMAX:
    case PTX_OP_VMAX2:
    case PTX_OP_VMAX4:
        return lower_op2(f, IR_OP_MAX, t, a, b);
    case PTX_OP_VAVRG2:
    case PTX_OP_VAVRG4:
        return video_average(f, lower_op2(f, IR_OP_ADD, t, a, b));
    default:
        return video_compare(f, in, t, a, b);
    }
}

/* .sat of the first operation. An unsigned number shifted left may need all 64 bits. */
static val video_saturate(struct lower_fn *f, const struct ptx_insn *in, val v, bool sign,
                          unsigned bits)
{
    if (in->form->op == PTX_OP_VSHL && !video_is_signed(in, 1)) {
        uint64_t max = (1ull << (bits - sign)) - 1;
        return lower_op2(f, IR_OP_MIN, IR_U64, v, lower_const(f, IR_B64, max));
    }
    return video_clamp(f, IR_S64, v, sign, bits);
}

/* .add, .min or .max with c. What does not saturate is cut to 33 bits, which c has too. */
static val video_secondary(struct lower_fn *f, const struct ptx_insn *in, val v, val c)
{
    if (in->form->subop == PTX_SUBOP_ADD)
        return lower_op2(f, IR_OP_ADD, IR_S64, v, c);
    if (!in->form->sat)
        v = lower_op3(f, IR_OP_BFE, IR_S64, v, lower_const(f, IR_B32, 0),
                      lower_const(f, IR_B32, 33));
    return lower_op2(f, in->form->subop == PTX_SUBOP_MIN ? IR_OP_MIN : IR_OP_MAX, IR_S64, v, c);
}

static const char *video_scalar_fault(const struct ptx_insn *in)
{
    const struct ptx_operand *d = &in->ops[0];
    unsigned subop = in->form->subop;
    if (video_is_shift(in->form->op) &&
        ptx_form_has(in->form, PTX_MOD_CLAMP) == ptx_form_has(in->form, PTX_MOD_WRAP))
        return "a shift has .clamp or .wrap";
    if (!video_names_field(d) || !video_names_field(&in->ops[1]) || !video_names_field(&in->ops[2]))
        return "a selector of a scalar instruction is .b0 to .b3, .h0 or .h1";
    if (d->comp && subop)
        return "a selector of the destination and a second operation exclude each other";
    if ((d->comp || subop) && in->nops < 4)
        return "operand c is missing";
    if (!video_operands_are_plain(in))
        return "an operand that cannot be negated or have a selector";
    return NULL;
}

bool lower_do_video(struct lower_fn *f, const struct ptx_insn *in)
{
    bool set = in->form->op == PTX_OP_VSET, shift = video_is_shift(in->form->op);
    bool sign = !set && video_is_signed(in, 0), sign_a = video_is_signed(in, set ? 0 : 1);
    bool sign_b = video_is_signed(in, set ? 1 : 2);
    const char *fault = video_scalar_fault(in);
    if (fault)
        return video_bad(f, fault);
    struct field to = video_field_of(&in->ops[0]);
    val a = video_extract(f, video_whole(f, &in->ops[1]), video_field_of(&in->ops[1]), sign_a),
        wide;
    val b = video_extract(f, video_whole(f, &in->ops[2]), video_field_of(&in->ops[2]), sign_b);
    if (shift) {
        val count = video_shift_count(f, in, b);

        wide = lower_op2(f, in->form->op == PTX_OP_VSHL ? IR_OP_SHL : IR_OP_SHR, IR_S64,
                         video_widen(f, a, sign_a), count);
    } else
        wide = video_primary(f, in, IR_S64, video_widen(f, a, sign_a), video_widen(f, b, sign_b));
    if (in->form->sat)
        wide = video_saturate(f, in, wide, sign, to.bits);
    if (in->form->subop)
        wide = video_secondary(f, in, wide, video_widen(f, video_whole(f, &in->ops[3]), sign));
    val d = lower_fit(f, wide, IR_U64, IR_B32);
    if (to.bits < 32)
        d = video_insert(f, d, video_whole(f, &in->ops[3]), to);
    struct ptx_operand dst = in->ops[0];
    dst.comp = PTX_COMP_NONE;
    lower_dst(f, &dst, d, IR_U32);
    return true;
}

/* ---- vmad */

static const char *video_vmad_fault(const struct ptx_insn *in)
{
    const struct ptx_operand *ops = in->ops;
    bool product = ops[1].negate != ops[2].negate;
    if (ops[0].comp || ops[3].comp || !video_names_field(&ops[1]) || !video_names_field(&ops[2]))
        return "only a and b have selectors, .b0 to .b3, .h0 or .h1";
    if (ops[0].negate || (product && ops[3].negate))
        return "a or b or c may be negated";
    if (ptx_form_has(in->form, PTX_MOD_PO) && (ops[1].negate || ops[2].negate || ops[3].negate))
        return ".po and a negated operand exclude each other";
    return NULL;
}

static unsigned video_vmad_scale(const struct ptx_form *form)
{
    return ptx_form_has(form, PTX_MOD_SHR7) ? 7 : ptx_form_has(form, PTX_MOD_SHR15) ? 15 : 0;
}

/*
 * In 64 bits, which is exact but for the negated product of unsigned numbers, of which only what
 * .sat does with it needs more: beyond 2^62 it clamps whatever is added to it and however it is
 * scaled.
 */
bool lower_do_vmad(struct lower_fn *f, const struct ptx_insn *in)
{
    const char *fault = video_vmad_fault(in);
    if (fault)
        return video_bad(f, fault);
    bool sign_a = video_is_signed(in, 1), sign_b = video_is_signed(in, 2);
    bool negate = in->ops[1].negate != in->ops[2].negate, negate_c = in->ops[3].negate;
    bool sign = sign_a || sign_b || negate || negate_c;
    val a = video_extract(f, video_whole(f, &in->ops[1]), video_field_of(&in->ops[1]), sign_a);
    val b = video_extract(f, video_whole(f, &in->ops[2]), video_field_of(&in->ops[2]), sign_b);
    val r = lower_op2(f, IR_OP_MUL, IR_S64, video_widen(f, a, sign_a), video_widen(f, b, sign_b));
    if (in->form->sat && sign && !sign_a && !sign_b)
        r = lower_op2(f, IR_OP_MIN, IR_U64, r, lower_const(f, IR_B64, 1ull << 62));
    if (negate)
        r = lower_op1(f, IR_OP_NEG, IR_S64, r);
    val c = video_widen(f, video_whole(f, &in->ops[3]), sign);
    r = lower_op2(f, negate_c ? IR_OP_SUB : IR_OP_ADD, IR_S64, r, c);
    if (ptx_form_has(in->form, PTX_MOD_PO))
        r = lower_op2(f, IR_OP_ADD, IR_S64, r, lower_const(f, IR_B64, 1));
    r = lower_op2(f, IR_OP_SHR, sign ? IR_S64 : IR_U64, r,
                  lower_const(f, IR_B32, video_vmad_scale(in->form)));
    if (in->form->sat && sign)
        r = video_clamp(f, IR_S64, r, true, 32);
    else if (in->form->sat)
        r = lower_op2(f, IR_OP_MIN, IR_U64, r, lower_const(f, IR_B64, UINT32_MAX));
    lower_dst(f, &in->ops[0], lower_fit(f, r, IR_U64, IR_B32), IR_U32);
    return true;
}

/* ---- packed instructions */

enum { ELEMENTS_MAX = 4 };

static unsigned video_elements_of(unsigned op)
{
    switch (op) {
    case PTX_OP_VADD2:
    case PTX_OP_VSUB2:
    case PTX_OP_VAVRG2:
    case PTX_OP_VABSDIFF2:
    case PTX_OP_VMIN2:
    case PTX_OP_VMAX2:
    case PTX_OP_VSET2:
        return 2;
    default:
        return 4;
    }
}

/* A written list of elements, the one for the lowest first; -1 when it is none of this size. */
static int video_element_list(const struct ptx_operand *op, unsigned n, unsigned out[ELEMENTS_MAX])
{
    bool half = n == 2;
    unsigned low = half ? PTX_COMP_H0 : PTX_COMP_B0;
    if (op->comp >= low && op->comp < low + n) {
        out[0] = op->comp - low;
        return 1;
    }
    unsigned count = op->index2 >> 24;
    if (op->comp != PTX_COMP_MASK || ((op->index2 >> 20) & 1) != half || count > n)
        return -1;
    for (unsigned i = 0; i < count; i++)
        out[i] = (op->index2 >> (4 * (count - 1 - i))) & 15;
    return (int)count;
}

/* Which elements the result has, as bits; 0 when the list is none or not in falling order. */
static unsigned video_mask_of(const struct ptx_operand *op, unsigned n)
{
    unsigned list[ELEMENTS_MAX], mask = 0;
    if (!op->comp)
        return (1u << n) - 1;
    int count = video_element_list(op, n, list);
    for (int i = 0; i < count; i++) {
        if (list[i] >= n || mask >> list[i])
            return 0;
        mask |= 1u << list[i];
    }
    return mask;
}

/* Where the elements come from: numbers from n up are in b. */
static bool video_sources_of(const struct ptx_operand *op, unsigned n, unsigned first,
                             unsigned out[ELEMENTS_MAX])
{
    for (unsigned i = 0; i < n; i++)
        out[i] = first + i;
    return op->kind == PTX_OPND_REG && (!op->comp || video_element_list(op, n, out) == (int)n);
}

struct packed {
    unsigned n, mask, from[2][ELEMENTS_MAX];
};

static const char *video_packed_take(const struct ptx_insn *in, struct packed *p)
{
    assert(!in->form->sat || !in->form->subop); /* spec/ptx_forms.def */
    p->n = video_elements_of(in->form->op);
    p->mask = video_mask_of(&in->ops[0], p->n);
    if (!p->mask)
        return "the mask of the destination names elements in falling order, such as .h1 or .b31";
    if (!video_sources_of(&in->ops[1], p->n, 0, p->from[0]) ||
        !video_sources_of(&in->ops[2], p->n, p->n, p->from[1]))
        return "a and b are registers; their selectors name one source for each element";
    if (!video_operands_are_plain(in))
        return "an operand that cannot be negated or have a selector";
    return NULL;
}

bool lower_do_video_packed(struct lower_fn *f, const struct ptx_insn *in)
{
    struct packed p;
    const char *fault = video_packed_take(in, &p);
    if (fault)
        return video_bad(f, fault);
    unsigned bits = 32 / p.n, set = in->form->ntypes == 2;
    val from[] = {video_whole(f, &in->ops[1]), video_whole(f, &in->ops[2])};
    val d = video_whole(f, &in->ops[3]);
    for (unsigned i = 0; i < p.n; i++) {
        val x[2];
        if (!((p.mask >> i) & 1))
            continue;
        for (unsigned s = 0; s < 2; s++) {
            unsigned e = p.from[s][i];
            x[s] = video_extract(f, from[e / p.n], (struct field){e % p.n * bits, bits},
                                 video_is_signed(in, s + !set));
        }
        val r = video_primary(f, in, IR_S32, x[0], x[1]);
        if (in->form->sat)
            r = video_clamp(f, IR_S32, r, video_is_signed(in, 0), bits);
        d = in->form->subop ? lower_op2(f, IR_OP_ADD, IR_S32, d, r)
                            : video_insert(f, r, d, (struct field){i * bits, bits});
    }
    struct ptx_operand dst = in->ops[0];
    dst.comp = PTX_COMP_NONE;
    lower_dst(f, &dst, d, IR_U32);
    return true;
}

/* ---- cvt.pack.sat.u8.s32.b32 d, a, b, c: a above b, above them the low bits of c */

bool lower_do_cvt_pack(struct lower_fn *f, const struct ptx_insn *in)
{
    unsigned bits = ptx_type_bits(ptx_form_type(in->form));
    bool sign = video_is_signed(in, 0);
    val a = video_clamp(f, IR_S32, lower_src(f, &in->ops[1], IR_B32), sign, bits);
    val b = video_clamp(f, IR_S32, lower_src(f, &in->ops[2], IR_B32), sign, bits);
    val d = video_insert(f, a, b, (struct field){bits, 32 - bits});
    if (in->nops > 3)
        d = video_insert(f, lower_src(f, &in->ops[3], IR_B32), d,
                         (struct field){2 * bits, 32 - 2 * bits});
    lower_dst(f, &in->ops[0], d, IR_U32);
    return true;
}
