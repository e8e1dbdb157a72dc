/* The transfer function of every operation. */
#include "analysis/shape_lattice.h"

#include <assert.h>

/* ---- sources */

static struct ir_shape transfer_source_sreg(const struct shape_state *s, enum ir_sreg sreg)
{
    const struct ir_launch_facts *l = &s->launch;
    bool one_d = l->extents == IR_BLOCK_1D, several = l->warps > 1;
    bool rows = l->extents == IR_BLOCK_X16 || l->extents == IR_BLOCK_16; /* of 16, 48, .. lanes */
    bool unknown = l->extents == IR_BLOCK_ANY || (rows && l->group > 16);
    uint32_t lanes = (uint32_t)warp_lanes(s), in_warp = l->group < 32 ? l->group : IR_ALIGN_ZERO;

    switch (sreg) {
    case IR_SREG_LANEID:
        return several ? shape_affine(1, in_warp, 0, 32) : shape_affine(1, 0, IR_ALIGN_ZERO, 32);
    case IR_SREG_TID_X:
        if (unknown)
            return shape_varying();
        if (rows)
            return shape_affine(1, l->extents == IR_BLOCK_16 ? IR_ALIGN_ZERO : 16, 0, 32);
        return one_d || !several ? shape_affine(1, 0, lanes, 32) : shape_affine(1, in_warp, 0, 32);
    case IR_SREG_TID_Y:
    case IR_SREG_TID_Z:
        if (unknown)
            return shape_varying();
        if (rows || (several && !one_d))
            return shape_affine(0, 1, 0, 32);
        return shape_uniform(one_d ? IR_ALIGN_ZERO : 1);
    case IR_SREG_NTID_X:
        if (l->extents == IR_BLOCK_X32 || (one_d && l->full))
            return shape_uniform(one_d ? lanes : 32);
        return shape_uniform(rows ? 16 : 1);
    default: /* the lanes of a warp read even a clock together */
        if (several && ir_sreg_scope(sreg) == IR_SREG_WARP)
            return shape_affine(0, 1, 0, 64);
        return ir_sreg_scope(sreg) == IR_SREG_LANE ? shape_varying() : shape_uniform(1);
    }
}

/* ---- operations. a, b: shapes of the first two sources */

struct op {
    const struct shape_state *s;
    const struct ir_instr *instr;
    const struct ir_shape *a;
    const struct ir_shape *b;
    unsigned bits;
};

static const struct ir_shape *transfer_source(const struct op *o, uint32_t i)
{
    return &o->s->out->of[o->instr->src[i]->id];
}

/* Any PURE operation on values that are the same across the warp, or across each group. */
static struct ir_shape transfer_op_flat(const struct op *o, uint32_t align)
{
    bool uniform = true;

    for (uint32_t i = 0; i < o->instr->nsrc; i++) {
        const struct ir_shape *src = transfer_source(o, i);
        if (!is_flat(src))
            return shape_varying();
        uniform &= is_uniform(src);
    }
    return uniform ? shape_uniform(align) : shape_affine(0, align, 0, 64);
}

static struct ir_shape transfer_op_base_index(const struct ir_shape *from, uint32_t base_align)
{
    struct ir_shape s = *from;

    s.align = base_align;
    return s;
}

static struct ir_shape transfer_op_add(const struct op *o, bool subtract)
{
    const struct ir_shape *a = o->a, *b = o->b;
    uint32_t align = align_min(a->align, b->align);
    uint32_t wa = warp_align(a), wb = warp_align(b);

    if (ir_has(o->instr, IR_MOD_SAT))
        return transfer_op_flat(o, 1);
    if (is_affine(a) && is_affine(b)) {
        int64_t stride = (int64_t)(subtract ? (uint64_t)a->stride - (uint64_t)b->stride
                                            : (uint64_t)a->stride + (uint64_t)b->stride);
        if (is_uniform(a) && is_uniform(b))
            return shape_uniform(align);
        return shape_affine(stride, align, wa && wb ? align_min(wa, wb) : 0, o->bits);
    }
    if (a->kind == IR_SHAPE_BASE_INDEX && is_uniform(b))
        return transfer_op_base_index(a, align);
    if (!subtract && b->kind == IR_SHAPE_BASE_INDEX && is_uniform(a))
        return transfer_op_base_index(b, align);
    return shape_varying();
}

static struct ir_shape transfer_op_scale(const struct op *o, const struct ir_shape *x,
                                         uint64_t factor)
{
    int64_t f = stride_wrap((int64_t)factor, o->bits);
    uint32_t fa = align_of(factor);

    if (is_affine(x)) {
        uint32_t w = warp_align(x);
        int64_t stride = (int64_t)((uint64_t)x->stride * (uint64_t)f);
        if (is_uniform(x))
            return shape_uniform(align_mul(x->align, fa));
        return shape_affine(stride, align_mul(x->align, fa), w ? align_mul(w, fa) : 0, o->bits);
    }
    if (x->kind == IR_SHAPE_BASE_INDEX && f) {
        struct ir_shape s = transfer_op_base_index(x, align_mul(x->align, fa));
        if (!__builtin_mul_overflow(x->scale, f, &s.scale))
            return s;
    }
    return shape_varying();
}

static struct ir_shape transfer_op_mul(const struct op *o)
{
    uint64_t c;

    if (ir_value_const(o->instr->src[1], &c))
        return transfer_op_scale(o, o->a, c);
    if (ir_value_const(o->instr->src[0], &c))
        return transfer_op_scale(o, o->b, c);
    return transfer_op_flat(o, align_mul(o->a->align, o->b->align));
}

static struct ir_shape transfer_op_shl(const struct op *o)
{
    uint64_t k;

    if (!ir_value_const(o->instr->src[1], &k))
        return transfer_op_flat(o, o->a->align);
    return k < o->bits ? transfer_op_scale(o, o->a, 1ull << k) : shape_uniform(IR_ALIGN_ZERO);
}

/* A 64-bit value made from a 32-bit one by extension and a constant factor. */
static struct ir_shape transfer_op_extend(const struct op *o, const struct ir_value *x,
                                          bool is_signed, int64_t factor)
{
    const struct ir_shape *xs = &o->s->out->of[x->id];
    uint32_t fa = align_of((uint64_t)factor);
    unsigned from = ir_type_bits(x->type);

    /* Extension is exact lane by lane when no lane of the group wraps. */
    if (is_flat(xs) || (is_affine(xs) && group_fits(o->s, xs, 1ull << (from - 1)))) {
        bool warp = is_uniform(xs) || warp_fits(o->s, xs, 1ull << (from - 1));
        uint32_t w = warp ? align_mul(warp_align(xs), fa) : 0;
        if (is_uniform(xs))
            return shape_uniform(w);
        return shape_affine(xs->stride * factor, align_mul(xs->align, fa), w, o->bits);
    }
    if (o->bits != 64 || from != 32 || xs->kind == IR_SHAPE_BASE_INDEX || !factor)
        return shape_varying();
    return (struct ir_shape){.kind = IR_SHAPE_BASE_INDEX,
                             .index = x,
                             .index_signed = is_signed,
                             .scale = factor,
                             .align = IR_ALIGN_ZERO};
}

static struct ir_shape transfer_op_mulwide(const struct op *o)
{
    bool is_signed = ir_type_is_signed(o->instr->type);
    unsigned from = ir_type_bits(o->instr->type);
    const struct ir_value *x = o->instr->src[0];
    struct op wide = *o;
    uint64_t c;

    wide.bits = 2 * from;
    if (!ir_value_const(o->instr->src[1], &c)) {
        x = o->instr->src[1];
        if (!ir_value_const(o->instr->src[0], &c))
            return transfer_op_flat(o, align_mul(o->a->align, o->b->align));
    }
    return transfer_op_extend(&wide, x, is_signed,
                              is_signed ? stride_wrap((int64_t)c, from) : (int64_t)c);
}

static bool transfer_is_integer(enum ir_type type)
{
    return type != IR_VOID && type != IR_PRED && !ir_type_is_float(type) && type != IR_B128;
}

static struct ir_shape transfer_op_cvt(const struct op *o)
{
    enum ir_type to = o->instr->type, from = o->instr->type2;

    if (!transfer_is_integer(to) || !transfer_is_integer(from))
        return transfer_op_flat(o, 1);
    if (ir_has(o->instr, IR_MOD_SAT))
        return transfer_op_flat(o, 1);
    if (ir_type_bits(to) <= ir_type_bits(from)) {
        if (is_uniform(o->a))
            return *o->a;
        if (o->a->kind == IR_SHAPE_AFFINE)
            return shape_affine(o->a->stride, o->a->align, o->a->warp_align, o->bits);
        return ir_type_bits(to) == ir_type_bits(from) ? *o->a : shape_varying();
    }
    return transfer_op_extend(o, o->instr->src[0], ir_type_is_signed(from), 1);
}

/* x & (2^k - 1), also x % 2^k. */
static struct ir_shape transfer_op_low_bits(const struct op *o, const struct ir_shape *x,
                                            uint64_t size)
{
    uint32_t align = x->align >= size ? IR_ALIGN_ZERO : x->align;

    if (is_uniform(x))
        return shape_uniform(align);
    if (!is_affine(x) || !group_fits(o->s, x, size))
        return shape_varying();
    if (warp_fits(o->s, x, size))
        return shape_affine(x->stride, 0, x->warp_align >= size ? IR_ALIGN_ZERO : x->warp_align,
                            o->bits);
    return shape_affine(x->stride, align, 0, o->bits);
}

/* x & ~(2^k - 1). */
static struct ir_shape transfer_op_high_bits(const struct op *o, const struct ir_shape *x,
                                             uint64_t size)
{
    uint32_t sa = align_of(size);
    uint32_t align = x->align > sa ? x->align : sa;

    if (is_uniform(x) || (is_affine(x) && warp_fits(o->s, x, size)))
        return shape_uniform(align);
    if (is_affine(x) && group_fits(o->s, x, size))
        return shape_affine(0, align, 0, o->bits);
    if (is_affine(x) && x->align >= size && x->stride % (int64_t)size == 0)
        return *x;
    return shape_varying();
}

/* x >> k, also x / 2^k. */
static struct ir_shape transfer_op_shift_right(const struct op *o, const struct ir_shape *x,
                                               unsigned k)
{
    uint64_t size = 1ull << k;

    if (is_uniform(x))
        return shape_uniform(align_shr(x->align, k));
    if (!is_affine(x) || x->stride < 0)
        return shape_varying();
    if (warp_fits(o->s, x, size))
        return shape_uniform(align_shr(x->warp_align, k));
    if (group_fits(o->s, x, size))
        return shape_affine(0, align_shr(x->align, k), 0, o->bits);
    if (!group_fits(o->s, x, 1ull << (o->bits - 1)) || x->stride % (int64_t)size != 0 ||
        x->align < size)
        return shape_varying();
    return shape_affine(x->stride >> k, align_shr(x->align, k),
                        warp_fits(o->s, x, 1ull << (o->bits - 1)) ? align_shr(x->warp_align, k) : 0,
                        o->bits);
}

static struct ir_shape transfer_op_shr(const struct op *o)
{
    uint64_t k;

    if (ir_value_const(o->instr->src[1], &k) && k < o->bits)
        return transfer_op_shift_right(o, o->a, (unsigned)k);
    return transfer_op_flat(o, 1);
}

static struct ir_shape transfer_op_div_rem(const struct op *o)
{
    uint64_t c;
    bool rem = o->instr->op == IR_OP_REM;

    if (ir_type_is_signed(o->instr->type) || !ir_value_const(o->instr->src[1], &c) ||
        !hd_is_pow2(c))
        return transfer_op_flat(o, rem ? align_min(o->a->align, o->b->align) : 1);
    if (rem)
        return transfer_op_low_bits(o, o->a, c);
    return transfer_op_shift_right(o, o->a, (unsigned)__builtin_ctzll(c));
}

/* Low bits that are zero in every lane, as the power of two above them. */
static uint64_t transfer_zero_below(const struct ir_shape *x)
{
    return x->stride ? align_min(x->align, align_of((uint64_t)x->stride)) : x->align;
}

/*
 * x & mask for a mask that is one run of ones, apart from bits that are zero in x anyway:
 * ((tid << 4) & 0xf0) is an `and` with 0xff.
 */
static struct ir_shape transfer_op_and_run(const struct op *o, const struct ir_shape *x,
                                           uint64_t mask)
{
    uint64_t ones = o->bits < 64 ? (1ull << o->bits) - 1 : UINT64_MAX;
    uint64_t low = mask & -mask;
    struct ir_shape s = *x;

    if (low <= transfer_zero_below(x)) {
        mask |= low - 1;
        low = 1;
    }
    if (!hd_is_pow2(mask + low) && ((mask + low) & ones) != 0)
        return shape_varying();
    if (((mask + low) & ones) != 0)
        s = transfer_op_low_bits(o, &s, mask + low);
    return low > 1 ? transfer_op_high_bits(o, &s, low) : s;
}

/* The power of two below which lanes of a group differ, as x goes by its stride; 0: not known. */
static uint64_t transfer_group_size(const struct op *o, const struct ir_shape *x)
{
    uint64_t size;

    if (!is_affine(x) || x->stride <= 0 || x->stride > IR_ALIGN_MAX)
        return 0;
    size = pow2_ceil(o->s->launch.group * (uint64_t)x->stride);
    return group_fits(o->s, x, size) ? size : 0;
}

/*
 * x & mask for any mask: the bits that differ between the lanes of a group, from the stride up, are
 * all kept, or all left out.
 */
static struct ir_shape transfer_op_and_bits(const struct op *o, const struct ir_shape *x,
                                            uint64_t mask)
{
    uint64_t below = transfer_zero_below(x), size = transfer_group_size(o, x);

    if (!size)
        return shape_varying();
    if (((mask | (below - 1)) & (size - 1)) == size - 1)
        return shape_affine(x->stride, x->align, 0, o->bits);
    if (!(mask & (size - 1) & ~(below - 1)))
        return shape_affine(0, align_of(mask & -mask), 0, o->bits);
    return shape_varying();
}

/*
 * (tid >> k) & mask, or | ~mask, where the mask leaves out what differs between the lanes of a
 * half. A thread number does not change in loops, so that what is shifted need not be looked at
 * where it is used.
 */
static bool transfer_is_high_part_of_tid(const struct op *o, const struct ir_value *v,
                                         uint64_t mask)
{
    const struct ir_instr *shift = v->instr;
    uint64_t k, size;

    if (!shift || shift->op != IR_OP_SHR || ir_type_is_signed(shift->type) ||
        !ir_value_const(shift->src[1], &k) || !shift->src[0]->instr ||
        shift->src[0]->instr->op != IR_OP_SREG || k >= o->bits)
        return false;
    size = transfer_group_size(o, &o->s->out->of[shift->src[0]->id]);
    return size && !(mask & ((size - 1) >> k));
}

static struct ir_shape transfer_op_and(const struct op *o)
{
    const struct ir_value *v = o->instr->src[0];
    const struct ir_shape *x = o->a;
    uint64_t mask;
    uint32_t align = o->a->align > o->b->align ? o->a->align : o->b->align;

    if (!ir_value_const(o->instr->src[1], &mask)) {
        x = o->b;
        v = o->instr->src[1];
        if (!ir_value_const(o->instr->src[0], &mask))
            return transfer_op_flat(o, align);
    }
    if (!mask)
        return shape_uniform(IR_ALIGN_ZERO);
    if (is_affine(x) && !is_flat(x)) {
        struct ir_shape s = transfer_op_and_run(o, x, mask);
        return s.kind == IR_SHAPE_VARYING ? transfer_op_and_bits(o, x, mask) : s;
    }
    if (x->kind == IR_SHAPE_VARYING && transfer_is_high_part_of_tid(o, v, mask))
        return shape_affine(0, align_of(mask & -mask), 0, o->bits);
    return transfer_op_flat(o, align);
}

/* x | y with no bit in common is x + y. */
static bool transfer_bits_disjoint(const struct ir_shape *x, const struct ir_shape *y,
                                   const struct ir_value *y_value)
{
    uint64_t c, low = transfer_zero_below(x);

    if (ir_value_const(y_value, &c))
        return c < low;
    /* laneid and the like: 0, s, 2s .. below the low zero bits of a uniform x */
    return y->kind == IR_SHAPE_AFFINE && y->whole && y->warp_align == IR_ALIGN_ZERO &&
           y->stride >= 0 && y->stride < IR_ALIGN_MAX && 31 * (uint64_t)y->stride < low;
}

static struct ir_shape transfer_op_or(const struct op *o)
{
    uint64_t ones;

    if (is_flat(o->a) && is_flat(o->b))
        return transfer_op_flat(o, align_min(o->a->align, o->b->align));
    if (o->a->kind == IR_SHAPE_VARYING && ir_value_const(o->instr->src[1], &ones) &&
        transfer_is_high_part_of_tid(o, o->instr->src[0], ~ones))
        return shape_affine(0, 1, 0, o->bits);
    if (is_affine(o->a) && is_affine(o->b) &&
        (transfer_bits_disjoint(o->a, o->b, o->instr->src[1]) ||
         transfer_bits_disjoint(o->b, o->a, o->instr->src[0])))
        return transfer_op_add(o, false);
    return shape_varying();
}

static struct ir_shape transfer_op_select(const struct op *o)
{
    const struct ir_shape *t = transfer_source(o, 1), *f = transfer_source(o, 2);
    struct ir_shape s;

    if (is_uniform(o->a))
        return shape_join(t, f);
    if (o->instr->src[1] == o->instr->src[2])
        return *t;
    if (!is_flat(o->a) || !is_affine(t) || !is_affine(f) || t->stride != f->stride)
        return shape_varying();
    s = shape_affine(t->stride, align_min(t->align, f->align), 0, o->bits);
    return s;
}

/* ---- comparisons: x against a bound that no lane of the group (warp) straddles */

/* May all lanes x in [B, B + span) with B and span multiples of `size` be replaced by B? */
static bool transfer_bound_aligned(enum ir_cmp cmp, const struct ir_shape *y,
                                   const struct ir_value *value, uint64_t size)
{
    uint64_t c;

    switch (cmp) {
    case IR_LT:
    case IR_GE:
        return y->align >= size;
    case IR_LE:
    case IR_GT: /* x > 31 is x >= 32 */
        return ir_value_const(value, &c) && ((c + 1) & (size - 1)) == 0;
    default:
        return false;
    }
}

static enum ir_cmp transfer_cmp_swap(enum ir_cmp cmp)
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

static struct ir_shape transfer_op_setp(const struct op *o)
{
    const struct ir_shape *x = o->a, *y = o->b;
    const struct ir_value *bound = o->instr->src[1];
    enum ir_cmp cmp = o->instr->cmp;
    uint64_t group, warp;

    if (is_flat(x) && is_flat(y))
        return transfer_op_flat(o, 1);
    if (is_flat(x)) {
        x = o->b;
        y = o->a;
        bound = o->instr->src[0];
        cmp = transfer_cmp_swap(cmp);
    }
    if (x->kind != IR_SHAPE_AFFINE || !is_flat(y) || x->stride <= 0 || x->stride > IR_ALIGN_MAX ||
        o->instr->type == IR_PRED)
        return shape_varying();
    group = pow2_ceil(o->s->launch.group * (uint64_t)x->stride);
    warp = pow2_ceil(warp_lanes(o->s) * (uint64_t)x->stride);
    if (is_uniform(y) && warp_fits(o->s, x, warp) && transfer_bound_aligned(cmp, y, bound, warp))
        return shape_uniform(1);
    if (group_fits(o->s, x, group) && transfer_bound_aligned(cmp, y, bound, group))
        return shape_affine(0, 1, 0, 64);
    return shape_varying();
}

/* ---- memory, addresses, warp operations */

static struct ir_shape transfer_op_load(const struct op *o)
{
    const struct ir_mem *mem = &o->instr->mem;

    if (mem->space == IR_SPACE_LOCAL || mem->sem != IR_SEM_WEAK)
        return shape_varying();
    return transfer_op_flat(o, 1);
}

static struct ir_shape transfer_op_cvta(const struct op *o)
{
    switch (o->instr->mem.space) {
    case IR_SPACE_GLOBAL:
    case IR_SPACE_CONST:
    case IR_SPACE_GENERIC:
    case IR_SPACE_PARAM:
        return ir_type_bits(o->instr->src[0]->type) == 64 ? *o->a
                                                          : transfer_op_flat(o, o->a->align);
    case IR_SPACE_SHARED:
    case IR_SPACE_SHARED_CLUSTER: {
        /* The window's start is uniform; offsets are far too small to wrap. */
        struct ir_shape s = *o->a;
        s.align = 1;
        if (s.whole)
            s.warp_align = 1;
        return s;
    }
    case IR_SPACE_LOCAL: /* every lane has its own window */
    case IR_SPACE_TENSOR:
        break;
    }
    return shape_varying();
}

static struct ir_shape transfer_op_warp(const struct op *o, uint32_t index)
{
    const struct ir_instr *instr = o->instr;
    uint32_t mask_src = instr->op == IR_OP_ELECT ? 0 : 1;

    if (o->s->out->divergent[instr->block->id])
        return shape_varying();
    switch (instr->op) {
    case IR_OP_ACTIVEMASK:
    case IR_OP_BAR:
        return shape_uniform(1);
    case IR_OP_MATCH:
        if (instr->imm == 0)
            return shape_varying();
        break;
    case IR_OP_ELECT:
        if (index == 1)
            return shape_varying();
        break;
    case IR_OP_SHFL:
        return index == 0 && is_uniform(o->a) ? *o->a : shape_varying();
    default:
        break;
    }
    return is_uniform(transfer_source(o, mask_src)) ? shape_uniform(1) : shape_varying();
}

static struct ir_shape transfer_op_varaddr(const struct ir_instr *instr)
{
    uint32_t align = instr->var->align_B ? instr->var->align_B : 1;

    return shape_uniform(instr->imm ? align_min(align, align_of(instr->imm)) : align);
}

static struct ir_shape transfer_int(const struct op *o)
{
    if (ir_type_lanes(o->instr->type) > 1)
        return transfer_op_flat(o, 1);
    switch (o->instr->op) {
    case IR_OP_ADD:
        return transfer_op_add(o, false);
    case IR_OP_SUB:
        return transfer_op_add(o, true);
    case IR_OP_MUL:
        return transfer_op_mul(o);
    case IR_OP_MULWIDE:
        return transfer_op_mulwide(o);
    case IR_OP_NEG:
        return transfer_op_scale(o, o->a, UINT64_MAX);
    case IR_OP_SHL:
        return transfer_op_shl(o);
    case IR_OP_SHR:
        return transfer_op_shr(o);
    case IR_OP_DIV:
    case IR_OP_REM:
        return transfer_op_div_rem(o);
    case IR_OP_AND:
        return o->instr->type == IR_PRED ? transfer_op_flat(o, 1) : transfer_op_and(o);
    case IR_OP_OR:
        return o->instr->type == IR_PRED ? transfer_op_flat(o, 1) : transfer_op_or(o);
    case IR_OP_MIN:
    case IR_OP_MAX:
        return transfer_op_flat(o, align_min(o->a->align, o->b->align));
    case IR_OP_SELECT:
        return transfer_op_select(o);
    case IR_OP_SETP:
        return transfer_op_setp(o);
    case IR_OP_CVT:
        return transfer_op_cvt(o);
    default:
        return transfer_op_flat(o, 1);
    }
}

struct ir_shape shape_transfer(const struct shape_state *s, const struct ir_instr *instr,
                               uint32_t index)
{
    struct op o = {.s = s, .instr = instr, .bits = ir_type_bits(instr->dst[index]->type)};

    assert(index < instr->ndst);
    o.a = instr->nsrc > 0 ? transfer_source(&o, 0) : NULL;
    o.b = instr->nsrc > 1 ? transfer_source(&o, 1) : NULL;
    switch (instr->op) {
    case IR_OP_CONST:
        return shape_uniform(instr->type == IR_B128 ? 1 : align_of(instr->imm));
    case IR_OP_UNDEF:
        return shape_uniform(IR_ALIGN_ZERO);
    case IR_OP_SREG:
        return transfer_source_sreg(s, (enum ir_sreg)instr->imm);
    case IR_OP_VARADDR:
        return transfer_op_varaddr(instr);
    case IR_OP_FUNCADDR:
    case IR_OP_AGREE:
        return shape_uniform(1);
    case IR_OP_LD:
        return transfer_op_load(&o);
    case IR_OP_CVTA:
    case IR_OP_CVTA_TO:
        return transfer_op_cvta(&o);
    case IR_OP_SHFL:
    case IR_OP_VOTE:
    case IR_OP_MATCH:
    case IR_OP_REDUX:
    case IR_OP_ACTIVEMASK:
    case IR_OP_ELECT:
    case IR_OP_BAR:
        return transfer_op_warp(&o, index);
    default:
        break;
    }
    if (!ir_op_has(instr->op, IR_F_PURE))
        return shape_varying();
    return transfer_int(&o);
}
