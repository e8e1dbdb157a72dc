/*
 * Integer, bit and data-movement operations.
 *
 * Nothing here may create poison in any lane: an inactive lane with poison in it would poison masks
 * and whole vectors. So no nsw/nuw flags, shifts are selected against their width, divisions never
 * see a zero divisor.
 */
#include "jit/gen/gen.h"

static LLVMTypeRef int_elem_of(LLVMValueRef x)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : t;
}

static LLVMValueRef int_k_like(struct gen *g, LLVMValueRef x, uint64_t v)
{
    return gen_k(g, LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind, int_elem_of(x), v);
}

static LLVMValueRef int_resize(struct gen *g, bool vec, LLVMValueRef x, LLVMTypeRef elem, bool sign)
{
    unsigned from = LLVMGetIntTypeWidth(int_elem_of(x)), to = LLVMGetIntTypeWidth(elem);
    LLVMTypeRef t = gen_type_as(g, vec, elem);
    if (from == to)
        return x;
    if (from > to)
        return LLVMBuildTrunc(g->b, x, t, "");
    return sign ? LLVMBuildSExt(g->b, x, t, "") : LLVMBuildZExt(g->b, x, t, "");
}

static LLVMValueRef int_select_cmp(struct gen *g, LLVMIntPredicate p, LLVMValueRef a,
                                   LLVMValueRef b)
{
    return LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, p, a, b, ""), a, b, "");
}

/* NULL: of more than one scalar. */
static LLVMValueRef int_scalar_of_splat(LLVMValueRef v)
{
    if (!LLVMIsAShuffleVectorInst(v) || !LLVMIsAInsertElementInst(LLVMGetOperand(v, 0)))
        return NULL;
    for (unsigned i = 0; i < LLVMGetNumMaskElements(v); i++)
        if (LLVMGetMaskValue(v, i))
            return NULL;
    return LLVMGetOperand(LLVMGetOperand(v, 0), 1);
}

static bool int_is_splat_constant(LLVMValueRef v)
{
    if (!LLVMIsConstant(v))
        return false;
    for (unsigned i = 1; i < LLVMGetVectorSize(LLVMTypeOf(v)); i++)
        if (LLVMGetAggregateElement(v, i) != LLVMGetAggregateElement(v, 0))
            return false;
    return true;
}

/*
 * Where the host has no instruction for them LLVM 19 makes rotations of two shifts, by n and by
 * w - n. For n = 0 the second one is by w: that gives 0 in the host's instructions, but is
 * undefined to the DAG combiner, which computes it when it knows x and the low bits of n in some
 * lane, as those of thread numbers. It also finds rotations in shifts. So counts hide behind a
 * fence. (Those that are a constant in all lanes are never w; a scalar's fence keeps what is a
 * splat one.)
 */
LLVMValueRef gen_hide_count(struct gen *g, LLVMValueRef n, unsigned width)
{
    LLVMTypeRef type = LLVMTypeOf(n), form;
    LLVMValueRef scalar;

    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind || int_is_splat_constant(n) ||
        (g->unit->avx512 && width >= 32))
        return n;
    scalar = int_scalar_of_splat(n);
    form = LLVMGetIntTypeWidth(LLVMGetElementType(type)) == 64 ? g->t->f64 : g->t->f32;
    form = gen_type_as(g, !scalar, form);
    n = LLVMBuildBitCast(g->b, scalar ? scalar : n, form, "");
    n = gen_intrinsic(g, "llvm.arithmetic.fence", &form, 1, &n, 1);
    return LLVMBuildBitCast(g->b, scalar ? gen_splat(g, n) : n, type, "");
}

/* Counts are b32 and clamp at the width. */
static LLVMValueRef int_shift(struct gen *g, const struct gen_emit *e)
{
    LLVMValueRef x = e->src[0], n = e->src[1];
    unsigned w = LLVMGetIntTypeWidth(int_elem_of(x));
    bool sign = e->in->op == IR_OP_SHR && ir_type_is_signed(e->in->type);
    LLVMValueRef fits = LLVMBuildICmp(g->b, LLVMIntULT, n, int_k_like(g, n, w), "");
    if (sign) {
        n = LLVMBuildSelect(g->b, fits, n, int_k_like(g, n, w - 1), "");
        return LLVMBuildAShr(g->b, x, int_resize(g, e->vec, n, int_elem_of(x), false), "");
    }
    /* Counts that do not fit are replaced, not just selected away: no poison even in between. */
    LLVMValueRef m = LLVMBuildAnd(g->b, n, int_k_like(g, n, w - 1), "");
    uint64_t unused;
    m = ir_value_const(e->in->src[1], &unused) ? n : gen_hide_count(g, m, w);
    m = int_resize(g, e->vec, m, int_elem_of(x), false);
    if (ir_value_const(e->in->src[1], &unused) && (uint32_t)unused >= w)
        return int_k_like(g, x, 0);
    LLVMValueRef r =
        e->in->op == IR_OP_SHL ? LLVMBuildShl(g->b, x, m, "") : LLVMBuildLShr(g->b, x, m, "");
    return LLVMBuildSelect(g->b, fits, r, int_k_like(g, x, 0), "");
}

static LLVMValueRef int_funnel(struct gen *g, const struct gen_emit *e)
{
    LLVMValueRef n = e->src[2];
    bool left = e->in->op == IR_OP_SHFL_L;
    LLVMValueRef args[] = {e->src[1], e->src[0], gen_hide_count(g, n, 32)}; /* high, low */
    LLVMTypeRef t = LLVMTypeOf(n);
    LLVMValueRef r = gen_intrinsic(g, left ? "llvm.fshl" : "llvm.fshr", &t, 1, args, 3);
    if (ir_has(e->in, IR_MOD_WRAP))
        return r;
    LLVMValueRef over = LLVMBuildICmp(g->b, LLVMIntUGE, n, int_k_like(g, n, 32), "");
    return LLVMBuildSelect(g->b, over, left ? e->src[0] : e->src[1], r, "");
}

static LLVMValueRef int_lop3(struct gen *g, const struct gen_emit *e)
{
    LLVMValueRef r = int_k_like(g, e->src[0], 0), ones = int_k_like(g, e->src[0], ~0ull);
    if (g->unit->avx512 && e->vec) {
        LLVMValueRef args[] = {e->src[0], e->src[1], e->src[2], gen_i32(g, e->in->imm & 255)};
        return gen_intrinsic(g, "llvm.x86.avx512.pternlog.d.512", NULL, 0, args, 4);
    }
    for (unsigned row = 0; row < 8; row++) {
        if (!(e->in->imm >> row & 1))
            continue;
        LLVMValueRef term = ones;
        for (unsigned s = 0; s < 3; s++) {
            LLVMValueRef x = e->src[s];
            if (!(row >> (2 - s) & 1))
                x = LLVMBuildNot(g->b, x, "");
            term = LLVMBuildAnd(g->b, term, x, "");
        }
        r = LLVMBuildOr(g->b, r, term, "");
    }
    return r;
}

/* Constant selector in index mode: a fixed choice of bytes. */
static LLVMValueRef int_prmt(struct gen *g, const struct gen_emit *e)
{
    uint64_t sel;
    if (e->in->imm != IR_PRMT_IDX || !ir_value_const(e->in->src[2], &sel))
        return NULL;
    LLVMValueRef r = int_k_like(g, e->src[0], 0);
    for (unsigned i = 0; i < 4; i++) {
        unsigned nibble = (unsigned)(sel >> (4 * i)) & 15, byte = nibble & 7;
        LLVMValueRef x = byte < 4 ? e->src[0] : e->src[1];
        LLVMValueRef b = LLVMBuildLShr(g->b, x, int_k_like(g, x, 8 * (byte & 3)), "");
        b = LLVMBuildAnd(g->b, b, int_k_like(g, x, 0xff), "");
        if (nibble & 8) { /* replicate the sign */
            b = LLVMBuildAnd(g->b, b, int_k_like(g, x, 0x80), "");
            b = LLVMBuildLShr(g->b, b, int_k_like(g, x, 7), "");
            b = LLVMBuildMul(g->b, b, int_k_like(g, x, 0xff), "");
        }
        r = LLVMBuildOr(g->b, r, LLVMBuildShl(g->b, b, int_k_like(g, x, 8 * i), ""), "");
    }
    return r;
}

/* Quotient and remainder without a trap: 32-bit lanes through exact f64 division. */
static LLVMValueRef int_divide32(struct gen *g, const struct gen_emit *e, bool sign)
{
    LLVMTypeRef fv = gen_type_as(g, true, g->t->f64);
    LLVMTypeRef wide = gen_type_as(g, true, g->t->i64), iv = gen_type_as(g, true, g->t->i32);
    LLVMValueRef a = e->src[0], b = e->src[1];
    LLVMValueRef zero = LLVMBuildICmp(g->b, LLVMIntEQ, b, int_k_like(g, b, 0), "");
    LLVMValueRef safe = LLVMBuildSelect(g->b, zero, int_k_like(g, b, 1), b, "");
    LLVMValueRef fa = sign ? LLVMBuildSIToFP(g->b, a, fv, "") : LLVMBuildUIToFP(g->b, a, fv, "");
    LLVMValueRef fb =
        sign ? LLVMBuildSIToFP(g->b, safe, fv, "") : LLVMBuildUIToFP(g->b, safe, fv, "");
    /* |quotient| <= 2^32 fits i64, so INT_MIN / -1 wraps in the truncation. */
    LLVMValueRef q = LLVMBuildFPToSI(g->b, LLVMBuildFDiv(g->b, fa, fb, ""), wide, "");
    q = LLVMBuildTrunc(g->b, q, iv, "");
    if (e->in->op == IR_OP_DIV)
        return LLVMBuildSelect(g->b, zero, int_k_like(g, a, ~0ull), q, "");
    LLVMValueRef r = LLVMBuildSub(g->b, a, LLVMBuildMul(g->b, q, safe, ""), "");
    return LLVMBuildSelect(g->b, zero, a, r, "");
}

static LLVMValueRef int_divide(struct gen *g, const struct gen_emit *e)
{
    unsigned w = ir_type_bits(e->in->type);
    bool sign = ir_type_is_signed(e->in->type);
    if (e->vec && w == 64)
        return NULL;
    if (e->vec) {
        struct gen_emit wide = *e;
        for (int s = 0; s < 2; s++)
            wide.src[s] = int_resize(g, true, e->src[s], g->t->i32, sign);
        return int_resize(g, true, int_divide32(g, &wide, sign), int_elem_of(e->src[0]), false);
    }
    LLVMTypeRef wide = g->t->i64;
    LLVMValueRef a = int_resize(g, false, e->src[0], wide, sign),
                 b = int_resize(g, false, e->src[1], wide, sign);
    LLVMValueRef zero = LLVMBuildICmp(g->b, LLVMIntEQ, b, int_k_like(g, b, 0), "");
    /* INT_MIN / -1 would trap: by -1 the quotient is the negated dividend. */
    LLVMValueRef minus =
        w == 64 && sign ? LLVMBuildICmp(g->b, LLVMIntEQ, b, int_k_like(g, b, ~0ull), "") : NULL;
    LLVMValueRef bad = minus ? LLVMBuildOr(g->b, zero, minus, "") : zero;
    LLVMValueRef safe = LLVMBuildSelect(g->b, bad, int_k_like(g, b, 1), b, "");
    LLVMValueRef r;
    if (e->in->op == IR_OP_DIV)
        r = sign ? LLVMBuildSDiv(g->b, a, safe, "") : LLVMBuildUDiv(g->b, a, safe, "");
    else
        r = sign ? LLVMBuildSRem(g->b, a, safe, "") : LLVMBuildURem(g->b, a, safe, "");
    if (minus && e->in->op == IR_OP_DIV)
        r = LLVMBuildSelect(g->b, minus, LLVMBuildNeg(g->b, a, ""), r, "");
    r = LLVMBuildSelect(g->b, zero, e->in->op == IR_OP_DIV ? int_k_like(g, a, ~0ull) : a, r, "");
    return int_resize(g, false, r, int_elem_of(e->src[0]), false);
}

static LLVMValueRef int_mul_high(struct gen *g, const struct gen_emit *e)
{
    unsigned w = ir_type_bits(e->in->type);
    bool sign = ir_type_is_signed(e->in->type);
    LLVMTypeRef elem = int_elem_of(e->src[0]);
    if (w == 64 && e->vec)
        return NULL;
    LLVMTypeRef wide = w == 64 ? g->t->i128 : w == 32 ? g->t->i64 : g->t->i32;
    LLVMValueRef a = int_resize(g, e->vec, e->src[0], wide, sign);
    LLVMValueRef b = int_resize(g, e->vec, e->src[1], wide, sign);
    LLVMValueRef p = LLVMBuildMul(g->b, a, b, "");
    if (e->in->op == IR_OP_MULWIDE)
        return p;
    p = LLVMBuildLShr(g->b, p, gen_k(g, e->vec, wide, w), "");
    return int_resize(g, e->vec, p, elem, false);
}

static LLVMIntPredicate int_predicate(enum ir_cmp cmp, bool sign)
{
    switch (cmp) {
    case IR_EQ:
        return LLVMIntEQ;
    case IR_NE:
        return LLVMIntNE;
    case IR_LT:
        return sign ? LLVMIntSLT : LLVMIntULT;
    case IR_LE:
        return sign ? LLVMIntSLE : LLVMIntULE;
    case IR_GT:
        return sign ? LLVMIntSGT : LLVMIntUGT;
    default:
        return sign ? LLVMIntSGE : LLVMIntUGE;
    }
}

static LLVMValueRef int_bool_to(struct gen *g, const struct gen_emit *e, LLVMValueRef p,
                                LLVMTypeRef elem)
{
    return LLVMBuildZExt(g->b, p, gen_type_as(g, e->vec, elem), "");
}

/* ADDC, CARRY, SUBC, BORROW */
static LLVMValueRef int_with_carry(struct gen *g, const struct gen_emit *e)
{
    LLVMTypeRef elem = int_elem_of(e->src[0]);
    LLVMValueRef a = e->src[0], b = e->src[1], c = int_bool_to(g, e, e->src[2], elem);
    if (e->in->op == IR_OP_ADDC)
        return LLVMBuildAdd(g->b, LLVMBuildAdd(g->b, a, b, ""), c, "");
    if (e->in->op == IR_OP_SUBC)
        return LLVMBuildSub(g->b, LLVMBuildSub(g->b, a, b, ""), c, "");
    if (e->in->op == IR_OP_CARRY) {
        LLVMValueRef s = LLVMBuildAdd(g->b, a, b, "");
        LLVMValueRef over = LLVMBuildICmp(g->b, LLVMIntULT, s, a, "");
        LLVMValueRef t = LLVMBuildAdd(g->b, s, c, "");
        return LLVMBuildOr(g->b, over, LLVMBuildICmp(g->b, LLVMIntULT, t, s, ""), "");
    }
    LLVMValueRef d = LLVMBuildSub(g->b, a, b, "");
    LLVMValueRef under = LLVMBuildICmp(g->b, LLVMIntULT, a, b, "");
    return LLVMBuildOr(g->b, under, LLVMBuildICmp(g->b, LLVMIntULT, d, c, ""), "");
}

/* Bit field with clamped position and length; 32 and 64 bits. */
static LLVMValueRef int_bfe(struct gen *g, const struct gen_emit *e)
{
    uint64_t pos, len;
    unsigned w = ir_type_bits(e->in->type);
    if (!ir_value_const(e->in->src[1], &pos) || !ir_value_const(e->in->src[2], &len))
        return NULL;
    pos &= 255;
    len &= 255;
    if (len == 0 || pos + len > w || pos >= w)
        return NULL;
    LLVMValueRef x = LLVMBuildShl(g->b, e->src[0], int_k_like(g, e->src[0], w - pos - len), "");
    LLVMValueRef n = int_k_like(g, x, w - len);
    return ir_type_is_signed(e->in->type) ? LLVMBuildAShr(g->b, x, n, "")
                                          : LLVMBuildLShr(g->b, x, n, "");
}

static LLVMValueRef int_bfi(struct gen *g, const struct gen_emit *e)
{
    uint64_t pos, len;
    unsigned w = ir_type_bits(e->in->type);
    if (!ir_value_const(e->in->src[2], &pos) || !ir_value_const(e->in->src[3], &len))
        return NULL;
    pos &= 255;
    len &= 255;
    if (len == 0 || len > 63 || pos + len > w || pos >= w)
        return NULL;
    uint64_t mask = ((1ull << len) - 1) << pos;
    LLVMValueRef x = LLVMBuildShl(g->b, e->src[0], int_k_like(g, e->src[0], pos), "");
    x = LLVMBuildAnd(g->b, x, int_k_like(g, x, mask), "");
    return LLVMBuildOr(g->b, x, LLVMBuildAnd(g->b, e->src[1], int_k_like(g, x, ~mask), ""), "");
}

static LLVMValueRef int_count_bits(struct gen *g, const struct gen_emit *e, const char *name,
                                   bool zero_arg)
{
    LLVMTypeRef t = LLVMTypeOf(e->src[0]);
    LLVMValueRef args[] = {e->src[0], gen_ci(g->t->i1, 0)};
    LLVMValueRef r = gen_intrinsic(g, name, &t, 1, args, zero_arg ? 2 : 1);
    return int_resize(g, e->vec, r, g->t->i32, false);
}

static LLVMValueRef int_pack(struct gen *g, const struct gen_emit *e)
{
    unsigned w = ir_type_bits(e->in->src[0]->type);
    LLVMTypeRef elem = gen_scalar_type(g, e->in->dst[0]->type);
    LLVMValueRef r = int_resize(g, e->vec, e->src[0], elem, false);
    for (uint32_t s = 1; s < e->in->nsrc; s++) {
        LLVMValueRef x = int_resize(g, e->vec, e->src[s], elem, false);
        r = LLVMBuildOr(g->b, r, LLVMBuildShl(g->b, x, int_k_like(g, x, (uint64_t)w * s), ""), "");
    }
    return r;
}

static LLVMValueRef int_unpack(struct gen *g, const struct gen_emit *e)
{
    LLVMTypeRef elem = gen_scalar_type(g, e->in->dst[0]->type);
    unsigned w = ir_type_bits(e->in->dst[0]->type);
    LLVMValueRef x = LLVMBuildLShr(g->b, e->src[0], int_k_like(g, e->src[0], w * e->in->imm), "");
    return int_resize(g, e->vec, x, elem, false);
}

static LLVMValueRef int_absolute(struct gen *g, LLVMValueRef x)
{
    LLVMValueRef neg = LLVMBuildICmp(g->b, LLVMIntSLT, x, int_k_like(g, x, 0), "");
    return LLVMBuildSelect(g->b, neg, LLVMBuildNeg(g->b, x, ""), x, "");
}

static LLVMValueRef int_mul24lo(struct gen *g, const struct gen_emit *e)
{
    LLVMValueRef x[2];
    for (int s = 0; s < 2; s++) {
        LLVMValueRef n = int_k_like(g, e->src[s], 8);
        x[s] = LLVMBuildShl(g->b, e->src[s], n, "");
        x[s] = ir_type_is_signed(e->in->type) ? LLVMBuildAShr(g->b, x[s], n, "")
                                              : LLVMBuildLShr(g->b, x[s], n, "");
    }
    return LLVMBuildMul(g->b, x[0], x[1], "");
}

static LLVMValueRef int_sad(struct gen *g, const struct gen_emit *e)
{
    LLVMIntPredicate gt = ir_type_is_signed(e->in->type) ? LLVMIntSGT : LLVMIntUGT;
    LLVMValueRef a = e->src[0], b = e->src[1];
    LLVMValueRef d =
        LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, gt, a, b, ""), LLVMBuildSub(g->b, a, b, ""),
                        LLVMBuildSub(g->b, b, a, ""), "");
    return LLVMBuildAdd(g->b, d, e->src[2], "");
}

static LLVMValueRef int_bits_op(struct gen *g, const struct gen_emit *e)
{
    const struct ir_instr *in = e->in;
    LLVMValueRef a = e->src[0], b = e->src[1];
    switch (in->op) {
    case IR_OP_AND:
        return LLVMBuildAnd(g->b, a, b, "");
    case IR_OP_OR:
        return LLVMBuildOr(g->b, a, b, "");
    case IR_OP_XOR:
        return LLVMBuildXor(g->b, a, b, "");
    case IR_OP_NOT:
        return LLVMBuildNot(g->b, a, "");
    case IR_OP_CNOT:
        return int_bool_to(g, e, LLVMBuildICmp(g->b, LLVMIntEQ, a, int_k_like(g, a, 0), ""),
                           int_elem_of(a));
    case IR_OP_SHL:
    case IR_OP_SHR:
        return int_shift(g, e);
    case IR_OP_SHFL_L:
    case IR_OP_SHFL_R:
        return int_funnel(g, e);
    case IR_OP_LOP3:
        return int_lop3(g, e);
    case IR_OP_PRMT:
        return int_prmt(g, e);
    case IR_OP_BFE:
        return int_bfe(g, e);
    case IR_OP_BFI:
        return int_bfi(g, e);
    case IR_OP_CLZ:
        return int_count_bits(g, e, "llvm.ctlz", true);
    case IR_OP_POPC:
        return int_count_bits(g, e, "llvm.ctpop", false);
    case IR_OP_BREV: {
        LLVMTypeRef t = LLVMTypeOf(a);
        return gen_intrinsic(g, "llvm.bitreverse", &t, 1, &a, 1);
    }
    case IR_OP_SETP:
        return LLVMBuildICmp(g->b, int_predicate(in->cmp, ir_type_is_signed(in->type)), a, b, "");
    default:
        return NULL;
    }
}

LLVMValueRef gen_emit_int(struct gen *g, const struct gen_emit *e)
{
    const struct ir_instr *in = e->in;
    LLVMValueRef a = e->src[0], b = e->src[1];
    bool sign = ir_type_is_signed(in->type), packed = ir_type_lanes(in->type) > 1;
    switch (in->op) {
    case IR_OP_UNDEF:
        return LLVMConstNull(gen_type_as(g, e->vec, gen_scalar_type(g, in->dst[0]->type)));
    case IR_OP_SELECT:
        return LLVMBuildSelect(g->b, a, b, e->src[2], "");
    case IR_OP_PACK:
        return int_pack(g, e);
    case IR_OP_UNPACK:
        return int_unpack(g, e);
    case IR_OP_ADD:
        return ir_has(in, IR_MOD_SAT) || packed ? NULL : LLVMBuildAdd(g->b, a, b, "");
    case IR_OP_SUB:
        return ir_has(in, IR_MOD_SAT) ? NULL : LLVMBuildSub(g->b, a, b, "");
    case IR_OP_MUL:
        return LLVMBuildMul(g->b, a, b, "");
    case IR_OP_MULHI:
    case IR_OP_MULWIDE:
        return int_mul_high(g, e);
    case IR_OP_MUL24LO:
        return int_mul24lo(g, e);
    case IR_OP_DIV:
    case IR_OP_REM:
        return int_divide(g, e);
    case IR_OP_MIN:
        return packed ? NULL : int_select_cmp(g, sign ? LLVMIntSLT : LLVMIntULT, a, b);
    case IR_OP_MAX:
        return packed ? NULL : int_select_cmp(g, sign ? LLVMIntSGT : LLVMIntUGT, a, b);
    case IR_OP_NEG:
        return LLVMBuildNeg(g->b, a, "");
    case IR_OP_ABS:
        return int_absolute(g, a);
    case IR_OP_SAD:
        return int_sad(g, e);
    case IR_OP_ADDC:
    case IR_OP_SUBC:
    case IR_OP_CARRY:
    case IR_OP_BORROW:
        return int_with_carry(g, e);
    default:
        return int_bits_op(g, e);
    }
}
