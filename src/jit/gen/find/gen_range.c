/*
 * What integers of a warp can be at most, and how far its halves are apart.
 *
 * Sums and products of thread numbers, block numbers and parameters are integers that nearly never
 * leave 32 bits. Where that is so the lanes of an index are as far apart as the operations say, and
 * so are the halves. It is known while code is generated of offsets in shared memory. Of indices
 * one test of the least and of the greatest that the block can have takes the place of one for each
 * half; what it is made of does not change from warp to warp, so that LLVM moves it out of their
 * loop. A block that fails it takes the way that is right for all.
 */
#include "jit/gen/gen.h"

#include <assert.h>

enum {
    DEPTH = 8,
    TID_MAX = 2047, /* also of lanes that do not exist, behind the last thread of a block */
    MANY_TESTS = 4,
};

/* Of integers that do not wrap. */
struct range {
    int64_t least, greatest;
};

/* The same, found when the kernel runs: i64, at most 2^bits from 0. */
struct bounds {
    LLVMValueRef least, greatest;
    unsigned bits;
};

/* Bits of an integer of 32 with its sign, and of those whose sum fits into 64. */
enum { BITS = 31, SUM_BITS = 61 };

static bool range_is_integer(const struct ir_value *v)
{
    return v->type == IR_B32 && v->instr;
}

static bool range_const_of(const struct ir_value *v, int64_t *out)
{
    uint64_t bits;

    if (!ir_value_const(v, &bits))
        return false;
    *out = (int32_t)bits;
    return true;
}

static bool range_is_tid(const struct ir_instr *in)
{
    return in->op == IR_OP_SREG && in->imm <= IR_SREG_TID_Z;
}

/* Sums, differences, products and shifts to the left: what holds of integers. */
static bool range_is_ring(const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_ADD:
        return ir_is_plain_add(in);
    case IR_OP_SUB:
        return !ir_has(in, IR_MOD_SAT);
    case IR_OP_MUL:
        return true;
    default:
        return false;
    }
}

/* The power of two that a shift to the left multiplies by. */
static bool range_factor_of(const struct ir_instr *in, int64_t *out)
{
    int64_t n;

    if (in->op != IR_OP_SHL || !range_const_of(in->src[1], &n) || n < 0 || n > 30)
        return false;
    *out = (int64_t)1 << n;
    return true;
}

/* ---- known while code is generated */

static bool range_of(struct gen *g, const struct ir_value *v, unsigned depth, struct range *out);

static struct range range_ring(const struct ir_instr *in, struct range a, struct range b)
{
    int64_t p[4] = {a.least * b.least, a.least * b.greatest, a.greatest * b.least,
                    a.greatest * b.greatest};
    struct range r = {p[0], p[0]};

    if (in->op == IR_OP_ADD)
        return (struct range){a.least + b.least, a.greatest + b.greatest};
    if (in->op == IR_OP_SUB)
        return (struct range){a.least - b.greatest, a.greatest - b.least};
    for (unsigned i = 1; i < 4; i++) {
        r.least = HD_MIN(r.least, p[i]);
        r.greatest = HD_MAX(r.greatest, p[i]);
    }
    return r;
}

/* Bits that are left of any value. */
static bool range_of_bits(struct gen *g, const struct ir_instr *in, unsigned depth,
                          struct range *out)
{
    struct range x = {0, UINT32_MAX};
    int64_t c;

    if (!range_const_of(in->src[1], &c))
        return false;
    if (in->op == IR_OP_AND) {
        *out = (struct range){0, c};
        return c >= 0;
    }
    if (in->op != IR_OP_SHR || c < 1 || c > 31)
        return false;
    if (range_of(g, in->src[0], depth, &x) && x.least < 0)
        return false;
    if (x.greatest > INT32_MAX && ir_type_is_signed(in->type))
        return false;
    *out = (struct range){x.least >> c, x.greatest >> c};
    return true;
}

static bool range_of_sreg(enum ir_sreg sreg, struct range *out)
{
    bool tid = sreg <= IR_SREG_TID_Z;

    *out = (struct range){0, tid ? TID_MAX : 31};
    return tid || sreg == IR_SREG_LANEID;
}

/* The start of a variable in shared memory, as 32 bits. */
static bool range_of_window(const struct gen *g, const struct ir_instr *in, struct range *out)
{
    const struct ir_instr *at = in->op == IR_OP_CVT ? in->src[0]->instr : NULL;

    if (!at || at->op != IR_OP_VARADDR || at->var->space != IR_SPACE_SHARED || g->unit->clusters)
        return false;
    int64_t start = (int64_t)(at->var->window_offset + at->imm);
    *out = (struct range){start, start};
    return true;
}

static bool range_of_instr(struct gen *g, const struct ir_instr *in, unsigned depth,
                           struct range *out)
{
    struct range a, b;
    int64_t k;

    if (range_is_ring(in)) {
        if (!range_of(g, in->src[0], depth, &a) || !range_of(g, in->src[1], depth, &b))
            return false;
        *out = range_ring(in, a, b);
        return true;
    }
    if (range_factor_of(in, &k)) {
        if (!range_of(g, in->src[0], depth, &a))
            return false;
        *out = (struct range){a.least * k, a.greatest * k};
        return true;
    }
    if (in->op == IR_OP_SREG)
        return range_of_sreg((enum ir_sreg)in->imm, out);
    return in->nsrc == 2 ? range_of_bits(g, in, depth, out) : range_of_window(g, in, out);
}

/* As signed integers, in all lanes, whether they run or not. */
static bool range_of(struct gen *g, const struct ir_value *v, unsigned depth, struct range *out)
{
    int64_t c;

    if (!range_is_integer(v) || depth == DEPTH)
        return false;
    if (range_const_of(v, &c)) {
        *out = (struct range){c, c};
        return true;
    }
    return range_of_instr(g, v->instr, depth + 1, out) && out->least >= INT32_MIN &&
           out->greatest <= INT32_MAX;
}

unsigned gen_bits_at_most(struct gen *g, const struct ir_value *v)
{
    struct range x;

    if (!range_of(g, v, 0, &x) || x.least < 0)
        return ir_type_bits(v->type);
    return x.greatest ? 64 - (unsigned)__builtin_clzll((unsigned long long)x.greatest) : 0;
}

/* ---- values that can be had anywhere */

/* Is it made of constants, parameters and what the whole block has in common? */
static bool range_is_fact(struct gen *g, const struct ir_value *v, unsigned depth)
{
    const struct ir_instr *in = v->instr;

    if (!in || depth == DEPTH || gen_shape(g, v)->kind != IR_SHAPE_UNIFORM || in->ndst != 1)
        return false;
    if (in->op == IR_OP_PHI)
        return false; /* which of its sources is known where it lies only */
    if (in->op == IR_OP_SREG) {
        enum ir_sreg_scope scope = ir_sreg_scope((enum ir_sreg)in->imm);
        return scope == IR_SREG_CTA || scope == IR_SREG_GRID;
    }
    if (in->op == IR_OP_LD
            ? in->mem.space != IR_SPACE_PARAM || !g->is_kernel
            : !ir_op_has(in->op, IR_F_PURE) || in->op == IR_OP_DIV || in->op == IR_OP_REM)
        return false;
    for (uint32_t s = 0; s < in->nsrc; s++) {
        if (!range_is_fact(g, in->src[s], depth + 1))
            return false;
    }
    return true;
}

static bool range_is_at_hand(const struct gen *g, const struct ir_value *v)
{
    return g->cache_epoch[v->id] == g->epoch;
}

/* It need not be live here: what gen_instr() gives is what it has been before. */
static void range_fact_make(struct gen *g, const struct ir_value *v)
{
    if (v->instr->op == IR_OP_CONST || range_is_at_hand(g, v))
        return;
    for (uint32_t s = 0; s < v->instr->nsrc; s++)
        range_fact_make(g, v->instr->src[s]);
    gen_instr(g, v->instr);
}

/* Of a value that is the same in all lanes: i64, with its sign. */
static LLVMValueRef range_point(struct gen *g, const struct ir_value *v)
{
    if (!range_is_at_hand(g, v))
        range_fact_make(g, v);
    return LLVMBuildSExt(g->b, gen_scalar(g, v), g->t->i64, "");
}

/* ---- known when the kernel runs */

struct finder {
    struct gen *g;
    bool facts_only;   /* nothing that changes from iteration to iteration of a loop */
    LLVMValueRef fits; /* i1: what is not larger than has been demanded */
};

static bool range_is_point(const struct finder *f, const struct ir_value *v)
{
    return gen_shape(f->g, v)->kind == IR_SHAPE_UNIFORM &&
           (range_is_fact(f->g, v, 0) || (!f->facts_only && range_is_at_hand(f->g, v)));
}

/* Can range_bounds_of() tell? */
static bool range_has_bounds(const struct finder *f, const struct ir_value *v, unsigned depth)
{
    struct range unused;
    int64_t k;

    if (!range_is_integer(v) || depth++ == DEPTH)
        return false;
    if (range_of(f->g, v, 0, &unused) || range_is_point(f, v))
        return true;
    const struct ir_instr *in = v->instr;
    if (range_factor_of(in, &k))
        return range_has_bounds(f, in->src[0], depth);
    if (in->op == IR_OP_MUL && !range_is_point(f, in->src[0]) && !range_is_point(f, in->src[1]))
        return false;
    return range_is_ring(in) && range_has_bounds(f, in->src[0], depth) &&
           range_has_bounds(f, in->src[1], depth);
}

static LLVMValueRef range_compare(struct finder *f, LLVMIntPredicate p, LLVMValueRef a, int64_t b)
{
    return LLVMBuildICmp(f->g->b, p, a, gen_i64(f->g, (uint64_t)b), "");
}

/* Adds to `fits` that x is between them. */
static void range_demand(struct finder *f, struct bounds *x, int64_t least, int64_t greatest)
{
    LLVMValueRef above = range_compare(f, LLVMIntSGE, x->least, least);
    LLVMValueRef below = range_compare(f, LLVMIntSLE, x->greatest, greatest);

    f->fits = LLVMBuildAnd(f->g->b, f->fits, LLVMBuildAnd(f->g->b, above, below, ""), "");
}

/* An operand must not be so large that 64 bits do not hold the result. */
static void range_demand_bits(struct finder *f, struct bounds *x, unsigned bits)
{
    if (x->bits <= bits)
        return;
    range_demand(f, x, INT32_MIN, INT32_MAX);
    x->bits = BITS;
}

static struct bounds range_scaled(struct finder *f, struct bounds x, int64_t k)
{
    LLVMValueRef by = gen_i64(f->g, (uint64_t)k);

    range_demand_bits(f, &x, BITS);
    x.bits += (unsigned)__builtin_ctzll((uint64_t)k);
    x.least = LLVMBuildMul(f->g->b, x.least, by, "");
    x.greatest = LLVMBuildMul(f->g->b, x.greatest, by, "");
    return x;
}

static LLVMValueRef range_lesser(struct finder *f, LLVMValueRef a, LLVMValueRef b, bool greater)
{
    LLVMIntPredicate p = greater ? LLVMIntSGT : LLVMIntSLT;

    return LLVMBuildSelect(f->g->b, LLVMBuildICmp(f->g->b, p, a, b, ""), a, b, "");
}

static struct bounds range_product(struct finder *f, struct bounds x, struct bounds by)
{
    range_demand_bits(f, &x, BITS);
    range_demand_bits(f, &by, BITS);
    LLVMValueRef p = LLVMBuildMul(f->g->b, x.least, by.least, "");
    LLVMValueRef q = LLVMBuildMul(f->g->b, x.greatest, by.least, "");
    return (struct bounds){range_lesser(f, p, q, false), range_lesser(f, p, q, true),
                           x.bits + by.bits};
}

static struct bounds range_sum(struct finder *f, const struct ir_instr *in, struct bounds a,
                               struct bounds b)
{
    LLVMBuilderRef build = f->g->b;

    range_demand_bits(f, &a, SUM_BITS);
    range_demand_bits(f, &b, SUM_BITS);
    unsigned bits = HD_MAX(a.bits, b.bits) + 1;
    if (in->op == IR_OP_ADD)
        return (struct bounds){LLVMBuildAdd(build, a.least, b.least, ""),
                               LLVMBuildAdd(build, a.greatest, b.greatest, ""), bits};
    return (struct bounds){LLVMBuildSub(build, a.least, b.greatest, ""),
                           LLVMBuildSub(build, a.greatest, b.least, ""), bits};
}

/* Thread numbers are below the block's size: lanes beyond do not exist. */
static struct bounds range_bounds_of_tid(struct finder *f, enum ir_sreg sreg)
{
    struct gen *g = f->g;
    uint64_t at = offsetof(struct jit_launch, block) + 4 * (uint64_t)(sreg - IR_SREG_TID_X);
    LLVMValueRef n = gen_load_ctx(g, g->t->i32, g->launch, at);

    n = LLVMBuildZExt(g->b, n, g->t->i64, "");
    return (struct bounds){gen_i64(g, 0), LLVMBuildSub(g->b, n, gen_i64(g, 1), ""), BITS};
}

static struct bounds range_bounds_of(struct finder *f, const struct ir_value *v)
{
    const struct ir_instr *in = v->instr;
    struct range range;
    int64_t k;

    if (range_is_tid(in))
        return range_bounds_of_tid(f, (enum ir_sreg)in->imm);
    if (range_of(f->g, v, 0, &range))
        return (struct bounds){gen_i64(f->g, (uint64_t)range.least),
                               gen_i64(f->g, (uint64_t)range.greatest), BITS};
    if (range_is_point(f, v)) {
        LLVMValueRef x = range_point(f->g, v);
        return (struct bounds){x, x, BITS};
    }
    if (range_factor_of(in, &k))
        return range_scaled(f, range_bounds_of(f, in->src[0]), k);
    struct bounds a = range_bounds_of(f, in->src[0]), b = range_bounds_of(f, in->src[1]);
    if (in->op != IR_OP_MUL)
        return range_sum(f, in, a, b);
    return range_is_point(f, in->src[1]) ? range_product(f, a, b) : range_product(f, b, a);
}

LLVMValueRef gen_index_fits(struct gen *g, const struct ir_value *v, bool is_signed, unsigned tests)
{
    struct finder f = {.g = g, .facts_only = tests < MANY_TESTS, .fits = gen_ci(g->t->i1, 1)};

    if (!gen_does(g, GEN_PASS_RANGE) || !range_has_bounds(&f, v, 0))
        return NULL;
    struct bounds x = range_bounds_of(&f, v);
    range_demand(&f, &x, is_signed ? INT32_MIN : 0, is_signed ? INT32_MAX : UINT32_MAX);
    gen_fired(g, GEN_PASS_RANGE);
    return f.fits;
}

/* ---- conditions of the whole block */

/* Is a < b (a <= b) in all threads? Unsigned numbers must not be beyond the signed ones. */
static LLVMValueRef range_is_below(struct finder *f, const struct ir_instr *cmp, uint32_t a,
                                   bool equal)
{
    struct bounds x = range_bounds_of(f, cmp->src[a]), y = range_bounds_of(f, cmp->src[1 - a]);
    int64_t least = ir_type_is_signed(cmp->type) ? INT32_MIN : 0;

    range_demand(f, &x, least, INT32_MAX);
    range_demand(f, &y, least, INT32_MAX);
    LLVMIntPredicate p = equal ? LLVMIntSLE : LLVMIntSLT;
    return LLVMBuildAnd(f->g->b, f->fits, LLVMBuildICmp(f->g->b, p, x.greatest, y.least, ""), "");
}

/* Is it made of the block's number? What threads' numbers alone decide parts every block. */
static bool range_is_by_block(const struct ir_value *v, unsigned depth)
{
    const struct ir_instr *in = v->instr;

    if (!in || depth++ == DEPTH)
        return false;
    if (in->op == IR_OP_SREG)
        return in->imm >= IR_SREG_CTAID_X && in->imm <= IR_SREG_CTAID_Z;
    for (uint32_t s = 0; s < in->nsrc && ir_op_has(in->op, IR_F_PURE); s++) {
        if (range_is_by_block(in->src[s], depth))
            return true;
    }
    return false;
}

static LLVMValueRef range_compares_as(struct gen *g, const struct ir_instr *cmp, bool want)
{
    struct finder f = {.g = g, .facts_only = true, .fits = gen_ci(g->t->i1, 1)};
    enum ir_cmp is = cmp->cmp;
    bool less = is == IR_LT || is == IR_LE;

    if (!(less || is == IR_GT || is == IR_GE) ||
        !(range_is_by_block(cmp->src[0], 0) || range_is_by_block(cmp->src[1], 0)) ||
        !range_has_bounds(&f, cmp->src[0], 0) || !range_has_bounds(&f, cmp->src[1], 0))
        return NULL;
    return range_is_below(&f, cmp, less == want ? 0 : 1, (is == IR_LE || is == IR_GE) == want);
}

/* Of two that decide it; `both`: only together. */
static LLVMValueRef range_either(struct gen *g, LLVMValueRef a, LLVMValueRef b, bool both)
{
    if (!a || !b)
        return both ? NULL : a ? a : b;
    return both ? LLVMBuildAnd(g->b, a, b, "") : LLVMBuildOr(g->b, a, b, "");
}

static LLVMValueRef range_block_has(struct gen *g, const struct ir_value *v, bool want,
                                    unsigned depth)
{
    const struct ir_instr *in = v->instr;

    if (!in || v->type != IR_PRED || depth++ == DEPTH)
        return NULL;
    switch (in->op) {
    case IR_OP_NOT:
        return range_block_has(g, in->src[0], !want, depth);
    case IR_OP_AND:
    case IR_OP_OR:
        return range_either(g, range_block_has(g, in->src[0], want, depth),
                            range_block_has(g, in->src[1], want, depth),
                            (in->op == IR_OP_AND) == want);
    case IR_OP_SETP:
        return in->nsrc == 2 ? range_compares_as(g, in, want) : NULL;
    default:
        return NULL;
    }
}

LLVMValueRef gen_block_has(struct gen *g, const struct ir_value *p, bool want)
{
    if (!gen_does(g, GEN_PASS_RANGE) || !gen_does(g, GEN_PASS_WHOLE) || !g->is_kernel)
        return NULL;
    LLVMValueRef has = range_block_has(g, p, want, 0);
    if (has)
        gen_fired(g, GEN_PASS_WHOLE);
    return has;
}

/* ---- halves */

/* Thread numbers of rows that are run at once (gen_cta.c). */
static bool range_tid_apart(const struct gen *g, enum ir_sreg sreg, unsigned h, int64_t *out)
{
    unsigned in_row = jit_launch_class_single(g->unit->cls) == JIT_CLASS_X16_FULL ? 1 : 2;

    *out = sreg == IR_SREG_TID_X ? h % in_row * GEN_LANES : sreg == IR_SREG_TID_Y ? h / in_row : 0;
    return gen_is_coarse(g);
}

/* i64: what the integer of half h is more than that of half 0; NULL = not known. */
static LLVMValueRef range_apart(struct finder *f, const struct ir_value *v, unsigned h,
                                unsigned depth)
{
    struct gen *g = f->g;
    const struct ir_shape *shape = gen_shape(g, v);
    const struct ir_instr *in = v->instr;
    int64_t k;

    if (shape->kind == IR_SHAPE_UNIFORM)
        return gen_i64(g, 0);
    if (shape->kind != IR_SHAPE_AFFINE || !range_is_integer(v) || depth++ == DEPTH)
        return NULL;
    if (shape->whole)
        return gen_i64(g, (uint64_t)(shape->stride * (int64_t)h * GEN_LANES));
    if (range_is_tid(in))
        return range_tid_apart(g, (enum ir_sreg)in->imm, h, &k) ? gen_i64(g, (uint64_t)k) : NULL;
    if (!range_is_ring(in) && !range_factor_of(in, &k))
        return NULL;
    LLVMValueRef a = range_apart(f, in->src[0], h, depth);
    if (!a || range_factor_of(in, &k))
        return a ? LLVMBuildMul(g->b, a, gen_i64(g, (uint64_t)k), "") : NULL;
    LLVMValueRef b = range_apart(f, in->src[1], h, depth);
    if (!b)
        return NULL;
    if (in->op != IR_OP_MUL)
        return in->op == IR_OP_ADD ? LLVMBuildAdd(g->b, a, b, "") : LLVMBuildSub(g->b, a, b, "");
    unsigned factor = range_is_point(f, in->src[1]) ? 1 : 0;
    if (!range_is_point(f, in->src[factor]))
        return NULL;
    return LLVMBuildMul(g->b, factor ? a : b, range_point(g, in->src[factor]), "");
}

LLVMValueRef gen_half_apart(struct gen *g, const struct ir_value *v, int h, bool wraps)
{
    struct finder f = {.g = g};
    struct range unused;

    if (!gen_does(g, GEN_PASS_RANGE) || v->type != IR_B32 ||
        (!wraps && !range_of(g, v, 0, &unused)))
        return NULL;
    LLVMValueRef more = range_apart(&f, v, (unsigned)h, 0);
    if (more)
        gen_fired(g, GEN_PASS_RANGE);
    return more;
}
