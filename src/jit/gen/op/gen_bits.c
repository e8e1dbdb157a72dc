/*
 * Integer operations that no single host instruction does: fields and masks at run-time positions,
 * byte permutation, packed halves, dot products, saturation, wide multiplication and division.
 * Definitions: spec/ir_semantics.def and src/model/eval_int.c.
 */
#include "jit/gen/gen.h"

/* The operation's form. */
struct bits {
    struct gen *g;
    const struct ir_instr *in;
    LLVMValueRef const *src;
    bool vec, sign;
    unsigned w;
    LLVMTypeRef elem;
};

static LLVMValueRef bits_k(const struct bits *o, uint64_t v)
{
    return gen_k(o->g, o->vec, o->elem, v);
}

static LLVMValueRef bits_is(const struct bits *o, LLVMIntPredicate p, LLVMValueRef a, uint64_t v)
{
    return LLVMBuildICmp(o->g->b, p, a, bits_k(o, v), "");
}

static LLVMValueRef bits_pick(const struct bits *o, LLVMValueRef c, LLVMValueRef yes,
                              LLVMValueRef no)
{
    return LLVMBuildSelect(o->g->b, c, yes, no, "");
}

/* A b32 operand in the width of the operation. */
static LLVMValueRef bits_wide(const struct bits *o, LLVMValueRef x)
{
    return o->w == 64 ? LLVMBuildZExt(o->g->b, x, gen_type_as(o->g, o->vec, o->g->t->i64), "") : x;
}

/* Shifts by counts of any size: never poison, not even where it is not picked. */
static LLVMValueRef bits_shl(const struct bits *o, LLVMValueRef x, LLVMValueRef n)
{
    LLVMValueRef m = LLVMBuildAnd(o->g->b, n, bits_k(o, o->w - 1), "");
    m = gen_hide_count(o->g, m, o->w);
    return bits_pick(o, bits_is(o, LLVMIntULT, n, o->w), LLVMBuildShl(o->g->b, x, m, ""),
                     bits_k(o, 0));
}

static LLVMValueRef bits_lshr(const struct bits *o, LLVMValueRef x, LLVMValueRef n)
{
    LLVMValueRef m = LLVMBuildAnd(o->g->b, n, bits_k(o, o->w - 1), "");
    m = gen_hide_count(o->g, m, o->w);
    return bits_pick(o, bits_is(o, LLVMIntULT, n, o->w), LLVMBuildLShr(o->g->b, x, m, ""),
                     bits_k(o, 0));
}

static LLVMValueRef bits_ashr(const struct bits *o, LLVMValueRef x, LLVMValueRef n)
{
    n = bits_pick(o, bits_is(o, LLVMIntULT, n, o->w), n, bits_k(o, o->w - 1));
    return LLVMBuildAShr(o->g->b, x, n, "");
}

/* The low `n` bits. */
static LLVMValueRef bits_low_mask(const struct bits *o, LLVMValueRef n)
{
    return LLVMBuildNot(o->g->b, bits_shl(o, bits_k(o, ~0ull), n), "");
}

/* ---- fields */

static LLVMValueRef bits_bfe(const struct bits *o)
{
    LLVMBuilderRef b = o->g->b;
    LLVMValueRef a = o->src[0], c255 = bits_k(o, 255);
    LLVMValueRef pos = LLVMBuildAnd(b, bits_wide(o, o->src[1]), c255, "");
    LLVMValueRef len = LLVMBuildAnd(b, bits_wide(o, o->src[2]), c255, "");
    if (!o->sign)
        return LLVMBuildAnd(b, bits_lshr(o, a, pos), bits_low_mask(o, len), "");
    /* The field's top bit goes to the top, then down again to where the field starts. */
    LLVMValueRef end = LLVMBuildAdd(b, pos, len, "");
    end = bits_pick(o, bits_is(o, LLVMIntULT, end, o->w), end, bits_k(o, o->w));
    LLVMValueRef up = LLVMBuildSub(b, bits_k(o, o->w), end, "");
    LLVMValueRef down = LLVMBuildAdd(b, up, pos, "");
    LLVMValueRef r = bits_ashr(o, bits_shl(o, a, up), down);
    return bits_pick(o, bits_is(o, LLVMIntEQ, len, 0), bits_k(o, 0), r);
}

static LLVMValueRef bits_bfi(const struct bits *o)
{
    LLVMBuilderRef b = o->g->b;
    LLVMValueRef pos = LLVMBuildAnd(b, bits_wide(o, o->src[2]), bits_k(o, 255), "");
    LLVMValueRef len = LLVMBuildAnd(b, bits_wide(o, o->src[3]), bits_k(o, 255), "");
    LLVMValueRef mask = bits_shl(o, bits_low_mask(o, len), pos);
    LLVMValueRef field = LLVMBuildAnd(b, bits_shl(o, o->src[0], pos), mask, "");
    return LLVMBuildOr(b, field, LLVMBuildAnd(b, o->src[1], LLVMBuildNot(b, mask, ""), ""), "");
}

/* Numbers beyond 32 act like 32, or only their low five bits count. */
static LLVMValueRef bits_count32(const struct bits *o, LLVMValueRef n)
{
    if (ir_has(o->in, IR_MOD_WRAP))
        return LLVMBuildAnd(o->g->b, n, bits_k(o, 31), "");
    return bits_pick(o, bits_is(o, LLVMIntUGT, n, 32), bits_k(o, 32), n);
}

static LLVMValueRef bits_bmsk(const struct bits *o)
{
    return bits_shl(o, bits_low_mask(o, bits_count32(o, o->src[1])), bits_count32(o, o->src[0]));
}

static LLVMValueRef bits_szext(const struct bits *o)
{
    LLVMBuilderRef b = o->g->b;
    LLVMValueRef len = bits_count32(o, o->src[1]);
    if (!o->sign)
        return LLVMBuildAnd(b, o->src[0], bits_low_mask(o, len), "");
    LLVMValueRef n = LLVMBuildSub(b, bits_k(o, 32), len, "");
    LLVMValueRef r = bits_ashr(o, bits_shl(o, o->src[0], n), n);
    return bits_pick(o, bits_is(o, LLVMIntEQ, len, 0), bits_k(o, 0), r);
}

static LLVMValueRef bits_bfind(const struct bits *o)
{
    LLVMBuilderRef b = o->g->b;
    LLVMValueRef a = o->src[0];
    LLVMTypeRef t = LLVMTypeOf(a), i32 = gen_type_as(o->g, o->vec, o->g->t->i32);
    if (o->sign)
        a = LLVMBuildXor(b, a, LLVMBuildAShr(b, a, bits_k(o, o->w - 1), ""), "");
    LLVMValueRef args[] = {a, gen_ci(o->g->t->i1, 0)};
    LLVMValueRef clz = gen_intrinsic(o->g, "llvm.ctlz", &t, 1, args, 2);
    LLVMValueRef r =
        ir_has(o->in, IR_MOD_SHIFTAMT) ? clz : LLVMBuildSub(b, bits_k(o, o->w - 1), clz, "");
    r = bits_pick(o, bits_is(o, LLVMIntEQ, a, 0), bits_k(o, ~0ull), r);
    return o->w == 64 ? LLVMBuildTrunc(b, r, i32, "") : r;
}

/* ---- bytes */

/* Which of the eight source bytes goes to byte i; the bit of value 8 replicates its sign. */
static LLVMValueRef bits_prmt_source(const struct bits *o, unsigned i)
{
    LLVMBuilderRef b = o->g->b;
    LLVMValueRef c = o->src[2], sel = LLVMBuildAnd(b, c, bits_k(o, 3), "");
    switch (o->in->imm) {
    case IR_PRMT_IDX:
        return LLVMBuildAnd(b, LLVMBuildLShr(b, c, bits_k(o, 4 * i), ""), bits_k(o, 15), "");
    case IR_PRMT_F4E:
        return LLVMBuildAdd(b, sel, bits_k(o, i), "");
    case IR_PRMT_B4E:
        return LLVMBuildAnd(b, LLVMBuildSub(b, sel, bits_k(o, i), ""), bits_k(o, 7), "");
    case IR_PRMT_RC8:
        return sel;
    case IR_PRMT_ECL:
        return bits_pick(o, bits_is(o, LLVMIntULT, sel, i), bits_k(o, i), sel);
    case IR_PRMT_ECR:
        return bits_pick(o, bits_is(o, LLVMIntUGT, sel, i), bits_k(o, i), sel);
    default:
        sel = LLVMBuildShl(b, LLVMBuildAnd(b, c, bits_k(o, 1), ""), bits_k(o, 1), "");
        return LLVMBuildOr(b, sel, bits_k(o, i & 1), "");
    }
}

static LLVMValueRef bits_prmt(const struct bits *o)
{
    LLVMBuilderRef b = o->g->b;
    LLVMValueRef r = bits_k(o, 0);
    for (unsigned i = 0; i < 4; i++) {
        LLVMValueRef from = bits_prmt_source(o, i);
        LLVMValueRef high = LLVMBuildAnd(b, from, bits_k(o, 4), "");
        LLVMValueRef at =
            LLVMBuildShl(b, LLVMBuildAnd(b, from, bits_k(o, 3), ""), bits_k(o, 3), "");
        LLVMValueRef x = bits_pick(o, bits_is(o, LLVMIntNE, high, 0), o->src[1], o->src[0]);
        x = LLVMBuildShl(b, LLVMBuildLShr(b, x, at, ""), bits_k(o, 24), ""); /* the byte on top */
        if (o->in->imm == IR_PRMT_IDX) {
            LLVMValueRef sign = LLVMBuildAnd(b, from, bits_k(o, 8), "");
            x = bits_pick(o, bits_is(o, LLVMIntNE, sign, 0), LLVMBuildAShr(b, x, bits_k(o, 7), ""),
                          x);
        }
        x = LLVMBuildLShr(b, x, bits_k(o, 24), "");
        r = LLVMBuildOr(b, r, LLVMBuildShl(b, x, bits_k(o, 8 * i), ""), "");
    }
    return r;
}

/* Piece `index` of `width` bits, extended to 32. */
static LLVMValueRef bits_extended(const struct bits *o, LLVMValueRef x, unsigned index,
                                  unsigned width, bool sign)
{
    LLVMValueRef n = bits_k(o, 32 - width);
    x = LLVMBuildShl(o->g->b, x, bits_k(o, 32 - width * (index + 1)), "");
    return sign ? LLVMBuildAShr(o->g->b, x, n, "") : LLVMBuildLShr(o->g->b, x, n, "");
}

static LLVMValueRef bits_dot(const struct bits *o)
{
    bool four = o->in->op == IR_OP_DP4A, signed1 = o->in->type2 == IR_S32;
    unsigned first = !four && ir_has(o->in, IR_MOD_HI) ? 2 : 0, n = four ? 4 : 2;
    LLVMValueRef r = o->src[2];
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef a = bits_extended(o, o->src[0], i, 32 / n, o->in->type == IR_S32);
        LLVMValueRef b = bits_extended(o, o->src[1], first + i, 8, signed1);
        r = LLVMBuildAdd(o->g->b, r, LLVMBuildMul(o->g->b, a, b, ""), "");
    }
    return r;
}

static LLVMValueRef packed(const struct bits *o)
{
    LLVMBuilderRef b = o->g->b;
    LLVMTypeRef pt = LLVMVectorType(o->g->t->i16, o->vec ? 2 * GEN_LANES : 2);
    LLVMValueRef x = LLVMBuildBitCast(b, o->src[0], pt, "");
    LLVMValueRef y = LLVMBuildBitCast(b, o->src[1], pt, ""), r;
    if (o->in->op == IR_OP_ADD) {
        r = LLVMBuildAdd(b, x, y, "");
    } else {
        LLVMIntPredicate p = o->in->op == IR_OP_MIN ? (o->sign ? LLVMIntSLT : LLVMIntULT)
                                                    : (o->sign ? LLVMIntSGT : LLVMIntUGT);
        r = LLVMBuildSelect(b, LLVMBuildICmp(b, p, x, y, ""), x, y, "");
    }
    return LLVMBuildBitCast(b, r, LLVMTypeOf(o->src[0]), "");
}

/* ---- arithmetic */

static LLVMValueRef bits_saturating(const struct bits *o, const char *name, LLVMValueRef a,
                                    LLVMValueRef c)
{
    LLVMTypeRef t = LLVMTypeOf(a);
    LLVMValueRef args[] = {a, c};
    return gen_intrinsic(o->g, name, &t, 1, args, 2);
}

/* Bits from `shift` on of the 64-bit product of 32-bit numbers. */
static LLVMValueRef product_bits(const struct bits *o, LLVMValueRef a, LLVMValueRef c, bool sign,
                                 unsigned shift)
{
    LLVMBuilderRef b = o->g->b;
    LLVMTypeRef i64 = gen_type_as(o->g, o->vec, o->g->t->i64);
    a = sign ? LLVMBuildSExt(b, a, i64, "") : LLVMBuildZExt(b, a, i64, "");
    c = sign ? LLVMBuildSExt(b, c, i64, "") : LLVMBuildZExt(b, c, i64, "");
    LLVMValueRef p = LLVMBuildMul(b, a, c, "");
    p = LLVMBuildLShr(b, p, gen_k(o->g, o->vec, o->g->t->i64, shift), "");
    return LLVMBuildTrunc(b, p, gen_type_as(o->g, o->vec, o->g->t->i32), "");
}

static LLVMValueRef bits_mul24hi(const struct bits *o)
{
    LLVMValueRef x[2];
    for (int s = 0; s < 2; s++)
        x[s] = bits_extended(o, o->src[s], 0, 24, o->sign);
    return product_bits(o, x[0], x[1], o->sign, 16);
}

/* The upper half of a 64-bit product from four products of halves; the sign is put right after. */
static LLVMValueRef bits_mulhi64(const struct bits *o)
{
    LLVMBuilderRef b = o->g->b;
    LLVMValueRef a = o->src[0], c = o->src[1], n = bits_k(o, 32), low = bits_k(o, 0xffffffffu);
    LLVMValueRef a0 = LLVMBuildAnd(b, a, low, ""), a1 = LLVMBuildLShr(b, a, n, "");
    LLVMValueRef c0 = LLVMBuildAnd(b, c, low, ""), c1 = LLVMBuildLShr(b, c, n, "");
    LLVMValueRef t = LLVMBuildLShr(b, LLVMBuildMul(b, a0, c0, ""), n, "");
    t = LLVMBuildAdd(b, LLVMBuildMul(b, a1, c0, ""), t, "");
    LLVMValueRef u = LLVMBuildAnd(b, t, low, "");
    u = LLVMBuildAdd(b, LLVMBuildMul(b, a0, c1, ""), u, "");
    LLVMValueRef r = LLVMBuildMul(b, a1, c1, "");
    r = LLVMBuildAdd(b, r, LLVMBuildLShr(b, t, n, ""), "");
    r = LLVMBuildAdd(b, r, LLVMBuildLShr(b, u, n, ""), "");
    if (!o->sign)
        return r;
    r = LLVMBuildSub(b, r, bits_pick(o, bits_is(o, LLVMIntSLT, a, 0), c, bits_k(o, 0)), "");
    return LLVMBuildSub(b, r, bits_pick(o, bits_is(o, LLVMIntSLT, c, 0), a, bits_k(o, 0)), "");
}

/* Sixteen lanes by a helper: the host has no such vector instruction. */
static LLVMValueRef bits_divide64(const struct bits *o)
{
    LLVMTypeRef t = gen_vec(o->g, o->g->t->i64);
    LLVMValueRef a = gen_alloca(o->g, t, 64, ""), b = gen_alloca(o->g, t, 64, "");
    LLVMBuildStore(o->g->b, o->src[0], a);
    LLVMBuildStore(o->g->b, o->src[1], b);
    LLVMValueRef how = gen_i32(o->g, (o->in->op == IR_OP_REM) | (unsigned)o->sign << 1);
    LLVMValueRef args[] = {how, a, b};
    gen_call_rt(o->g, "jit_rt_divide64", o->g->t->void_, args, 3);
    return LLVMBuildLoad2(o->g->b, t, a, "");
}

LLVMValueRef gen_emit_bits(struct gen *g, const struct gen_emit *e)
{
    const struct ir_instr *in = e->in;
    unsigned w = ir_type_bits(in->type);
    struct bits o = {.g = g,
                     .in = in,
                     .src = e->src,
                     .vec = e->vec,
                     .sign = ir_type_is_signed(in->type),
                     .w = w,
                     .elem = w == 64 ? g->t->i64 : g->t->i32};
    switch (in->op) {
    case IR_OP_BFE:
        return bits_bfe(&o);
    case IR_OP_BFI:
        return bits_bfi(&o);
    case IR_OP_BMSK:
        return bits_bmsk(&o);
    case IR_OP_SZEXT:
        return bits_szext(&o);
    case IR_OP_BFIND:
        return bits_bfind(&o);
    case IR_OP_PRMT:
        return bits_prmt(&o);
    case IR_OP_DP4A:
    case IR_OP_DP2A:
        return bits_dot(&o);
    case IR_OP_MIN:
    case IR_OP_MAX:
        return packed(&o);
    case IR_OP_ADD:
        if (ir_type_lanes(in->type) > 1)
            return packed(&o);
        return bits_saturating(&o, "llvm.sadd.sat", e->src[0], e->src[1]);
    case IR_OP_SUB:
        return bits_saturating(&o, "llvm.ssub.sat", e->src[0], e->src[1]);
    case IR_OP_MADHI_SAT:
        return bits_saturating(&o, "llvm.sadd.sat",
                               product_bits(&o, e->src[0], e->src[1], true, 32), e->src[2]);
    case IR_OP_MUL24HI:
        return bits_mul24hi(&o);
    case IR_OP_MULHI:
        return w == 64 && e->vec ? bits_mulhi64(&o) : NULL;
    case IR_OP_DIV:
    case IR_OP_REM:
        return w == 64 && e->vec ? bits_divide64(&o) : NULL;
    default:
        return NULL;
    }
}
