/* Floating-point instructions that are more than one IR operation. */
#include "model/tensor_copy.h"
#include "lower/lower_priv.h"

#include <assert.h>

typedef struct ir_value *val;

static struct ir_instr *emit_rounded(struct lower_fn *f, const struct ptx_form *form, enum ir_op op,
                                     uint32_t n, val *src)
{
    struct ir_instr *r = lower_emit(f, op, IR_F32, n, src, 1);
    r->rnd = form->round ? lower_rounding(form) : IR_RN;
    ir_set_mod(r, IR_MOD_FTZ, form->ftz);
    ir_set_mod(r, IR_MOD_SAT, form->sat);
    return r;
}

/* add.rn.f32x2 and the like: the same for the lower and the upper f32 of 64-bit registers. */
static void two_f32(struct lower_fn *f, const struct ptx_insn *in, enum ir_op op)
{
    uint32_t n = in->nops - 1;
    val whole[3], src[3], part[2];
    assert(n <= HD_COUNT_OF(src));
    for (uint32_t s = 0; s < n; s++)
        whole[s] = lower_src(f, &in->ops[1 + s], IR_B64);
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t s = 0; s < n; s++) {
            struct ir_instr *piece = lower_emit(f, IR_OP_UNPACK, IR_B32, 1, &whole[s], 1);
            piece->imm = i;
            src[s] = piece->dst[0];
        }
        part[i] = emit_rounded(f, in->form, op, n, src)->dst[0];
    }
    lower_dst(f, &in->ops[0], lower_op(f, IR_OP_PACK, IR_B64, 2, part), IR_B64);
}

/* add.f32.bf16 d, a, c; fma.rn.f32.f16 d, a, b, c: all but the last are halves, exact in f32. */
static void mixed(struct lower_fn *f, const struct ptx_insn *in, enum ir_op op)
{
    enum ir_type half = lower_type((enum ptx_type)in->form->types[1]);
    uint32_t n = in->nops - 1;
    val src[3];
    assert(n <= HD_COUNT_OF(src));
    for (uint32_t s = 0; s + 1 < n; s++)
        src[s] =
            ir_build_cvt(&f->b, IR_F32, half, IR_RND_NONE, lower_src(f, &in->ops[1 + s], half));
    src[n - 1] = lower_src(f, &in->ops[n], IR_F32);
    lower_dst(f, &in->ops[0], emit_rounded(f, in->form, op, n, src)->dst[0], IR_F32);
}

bool lower_float(struct lower_fn *f, const struct ptx_insn *in, enum ir_op op)
{
    if (ptx_form_type(in->form) == PTX_TYPE_F32X2)
        two_f32(f, in, op);
    else if (in->form->ntypes == 2)
        mixed(f, in, op);
    else
        return lower_simple(f, in, op);
    return true;
}

/* The 16 bits of element i of x, which has one or two. */
static val element(struct lower_fn *f, val x, unsigned i)
{
    if (ir_type_bits(x->type) == 16)
        return x;
    struct ir_instr *r = lower_emit(f, IR_OP_UNPACK, IR_B16, 1, &x, 1);
    r->imm = i;
    return r->dst[0];
}

static val is_outside(struct lower_fn *f, val x, unsigned i)
{
    val both[] = {element(f, x, i), lower_const(f, IR_B16, IR_TENSOR_OOB_NAN)};
    return lower_emit(f, IR_OP_SETP, IR_B16, 2, both, 1)->dst[0];
}

/* fma.oob: +0 where a or b is what tensor copies put in place of elements outside the tensor. */
static bool fma_in_bounds(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_type t = lower_form_type(in);
    unsigned n = t == IR_F16X2 || t == IR_BF16X2 ? 2 : 1;
    val a = lower_src(f, &in->ops[1], t), b = lower_src(f, &in->ops[2], t), part[2];
    val r = lower_simple_emit(f, in, IR_OP_FMA)->dst[0];
    for (unsigned i = 0; i < n; i++) {
        val both[] = {is_outside(f, a, i), is_outside(f, b, i)};
        val outside = lower_op(f, IR_OP_OR, IR_PRED, 2, both);
        val pick[] = {outside, lower_const(f, IR_B16, 0), element(f, r, i)};
        part[i] = lower_op(f, IR_OP_SELECT, IR_B16, 3, pick);
    }
    lower_dst(f, &in->ops[0], n == 2 ? lower_op(f, IR_OP_PACK, IR_B32, 2, part) : part[0], t);
    return true;
}

bool lower_do_fma(struct lower_fn *f, const struct ptx_insn *in)
{
    return ptx_form_has(in->form, PTX_MOD_OOB) ? fma_in_bounds(f, in)
                                               : lower_float(f, in, IR_OP_FMA);
}

/* Three sources, with .abs of their magnitudes. */
static val min_max_three(struct lower_fn *f, const struct ptx_insn *in, enum ir_op op)
{
    val r = NULL;
    for (uint32_t s = 1; s <= 3; s++) {
        val x = lower_src(f, &in->ops[s], IR_F32);
        if (ptx_form_has(in->form, PTX_MOD_ABS))
            x = lower_op(f, IR_OP_FABS, IR_F32, 1, &x);
        if (!r) {
            r = x;
            continue;
        }
        struct ir_instr *next = lower_emit(f, op, IR_F32, 2, (val[]){r, x}, 1);
        ir_set_mod(next, IR_MOD_FTZ, in->form->ftz);
        ir_set_mod(next, IR_MOD_NAN, ptx_form_has(in->form, PTX_MOD_PROPAGATE_NAN));
        r = next->dst[0];
    }
    return r;
}

bool lower_float_min_max(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_op op = in->form->op == PTX_OP_MAX ? IR_OP_FMAX : IR_OP_FMIN;
    if (in->nops <= 3)
        return lower_simple(f, in, op);
    lower_dst(f, &in->ops[0], min_max_three(f, in, op), IR_F32);
    return true;
}

bool lower_do_testp(struct lower_fn *f, const struct ptx_insn *in)
{
    static const uint16_t modes[] = {PTX_MOD_FINITE,     PTX_MOD_INFINITE, PTX_MOD_NUMBER,
                                     PTX_MOD_NOTANUMBER, PTX_MOD_NORMAL,   PTX_MOD_SUBNORMAL};
    struct ir_instr *r = lower_simple_emit(f, in, IR_OP_FTESTP);
    for (unsigned m = 0; m < HD_COUNT_OF(modes); m++) {
        if (in->form->mode == modes[m])
            r->imm = m;
    }
    lower_dst(f, &in->ops[0], r->dst[0], IR_PRED);
    return true;
}
