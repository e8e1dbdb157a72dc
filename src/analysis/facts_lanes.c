/*
 * Lane offsets of values that are not affine: v = U + T[lane], where U is the same in the warp and
 * a multiple of 2^m, and T are 32 known numbers. Bits of a thread number that are masked, shifted
 * and mixed are of this kind: rows of a tile, swizzles.
 *
 * Sums add both parts. Where 0 <= T < 2^m nothing carries from T into U, so operations on bits take
 * them apart: (U + T) & c is (U & c) + (T & c). One visit per value in layout order; a phi has no
 * offsets but those of its shape.
 */
#include "analysis/facts_impl.h"

/* One value's parts; m = 64: U is 0. */
struct lanes {
    uint64_t t[32];
    unsigned m;
};

static uint64_t below(unsigned m)
{
    return facts_mask(m) & (m ? UINT64_MAX : 0);
}

/* Do no carries leave the low m bits? */
static bool is_apart(const struct lanes *x, unsigned m)
{
    uint64_t all = 0;
    for (unsigned l = 0; l < 32; l++)
        all |= x->t[l];
    return !(all & ~below(m));
}

static unsigned log2_of(uint64_t align)
{
    return align ? (unsigned)__builtin_ctzll(align) : 64;
}

static bool lanes_of(const struct facts *f, const struct ir_value *v, struct lanes *out)
{
    const struct ir_shape *s = &f->shapes.of[v->id];
    const struct facts_range *r = &f->of[v->id].range;
    const unsigned w = facts_width(v);

    if (f->lane_parts[v->id]) {
        memcpy(out->t, f->lane_parts[v->id]->offset, sizeof(out->t));
        out->m = f->lane_parts[v->id]->low_bits;
        return true;
    }
    if (!w || s->kind > IR_SHAPE_AFFINE)
        return false;
    const uint64_t stride = s->kind == IR_SHAPE_AFFINE ? (uint64_t)s->stride : 0;
    const bool is_whole = s->whole && f->launch.warps == 1;
    const uint64_t known = HD_MAX(HD_MAX(s->align, is_whole ? s->warp_align : 0), 1u);
    const uint64_t align = known == 1u << 31 ? 0 : known;
    for (unsigned l = 0; l < 32; l++)
        out->t[l] = l * stride & facts_mask(w);
    out->m = log2_of(align);
    if (s->kind == IR_SHAPE_UNIFORM) {
        const uint64_t may = ~r->zeros;
        out->m = HD_MAX(out->m, log2_of(may & -may));
        if (r->least == r->most) { /* all of it is known */
            out->m = 64;
            for (unsigned l = 0; l < 32; l++)
                out->t[l] = r->least;
        }
    }
    return true;
}

/* a + k * b */
static void add_scaled(struct lanes *a, const struct lanes *b, uint64_t k)
{
    const unsigned by = log2_of(k);
    a->m = HD_MIN(a->m, HD_MIN(b->m + by, 64u));
    for (unsigned l = 0; l < 32; l++)
        a->t[l] += k * b->t[l];
}

static bool shift(const struct ir_instr *in, struct lanes *a, const struct lanes *n, unsigned w)
{
    const uint64_t k = n->t[0];
    const struct lanes x = *a;

    if (n->m != 64 || !is_apart(n, 6) || k >= w)
        return false;
    for (unsigned l = 1; l < 32; l++)
        if (n->t[l] != k)
            return false;
    if (in->op == IR_OP_SHL) {
        *a = (struct lanes){.m = 64};
        add_scaled(a, &x, UINT64_C(1) << k);
        return true;
    }
    if (!is_apart(a, HD_MIN(a->m, w)) || (ir_type_is_signed(in->type) && a->m >= w))
        return false;
    a->m = a->m == 64 ? 64 : a->m - (unsigned)HD_MIN(a->m, k);
    for (unsigned l = 0; l < 32; l++)
        a->t[l] >>= k;
    return true;
}

/* Bit by bit, where nothing carries in any of them. */
static bool bitwise(const struct ir_instr *in, const struct lanes src[3], unsigned w,
                    struct lanes *out)
{
    out->m = 64;
    for (uint32_t i = 0; i < in->nsrc; i++)
        out->m = HD_MIN(out->m, src[i].m);
    for (uint32_t i = 0; i < in->nsrc; i++) {
        /* What is known of bits above m is part of U, if it is the same in all lanes. */
        for (unsigned l = 0; l < 32; l++)
            if ((src[i].t[l] ^ src[i].t[0]) & ~below(out->m) & facts_mask(w))
                return false;
        if (src[i].m < 64 && !is_apart(&src[i], src[i].m))
            return false;
    }
    for (unsigned l = 0; l < 32; l++) {
        const uint64_t a = src[0].t[l], b = in->nsrc > 1 ? src[1].t[l] : 0;
        const uint64_t c = in->nsrc > 2 ? src[2].t[l] : 0;
        uint64_t r = 0;
        for (unsigned i = 0; i < 8 && in->op == IR_OP_LOP3; i++)
            if (in->imm >> i & 1)
                r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
        r = in->op == IR_OP_AND   ? a & b
            : in->op == IR_OP_OR  ? a | b
            : in->op == IR_OP_XOR ? a ^ b
                                  : r;
        out->t[l] = r & facts_mask(w) & below(out->m);
    }
    return true;
}

/* To another width; up only where the low bits are apart from what is extended. */
static bool convert(const struct ir_instr *in, struct lanes *a, unsigned from, unsigned to)
{
    if (ir_has(in, IR_MOD_SAT) || ir_type_is_float(in->type) || ir_type_is_float(in->type2) ||
        in->type == IR_TF32)
        return false;
    if (to <= from)
        return true;
    for (unsigned l = 0; l < 32 && a->m == 64 && ir_type_is_signed(in->type2); l++)
        a->t[l] = (uint64_t)facts_extend(a->t[l], from);
    return a->m == 64 || (a->m < from && is_apart(a, a->m));
}

/* By a constant. */
static bool multiply(const struct facts *f, const struct ir_instr *in, struct lanes src[2],
                     struct lanes *out)
{
    const unsigned from = facts_width(in->src[0]);
    const bool sgn = ir_type_is_signed(in->type);
    uint64_t c;
    unsigned k = 1;

    if (!facts_is_constant(&f->of[in->src[1]->id].range, &c)) {
        k = 0;
        if (!facts_is_constant(&f->of[in->src[0]->id].range, &c))
            return false;
    }
    struct lanes *x = &src[1 - k];
    if (in->op == IR_OP_MULWIDE) {
        if (x->m < 64 && (x->m >= from || !is_apart(x, x->m)))
            return false;
        for (unsigned l = 0; l < 32 && x->m == 64 && sgn; l++)
            x->t[l] = (uint64_t)facts_extend(x->t[l], from);
        c = sgn ? (uint64_t)facts_extend(c, from) : c;
    }
    *out = (struct lanes){.m = 64};
    add_scaled(out, x, c);
    return true;
}

static bool lanes_visit(const struct facts *f, const struct ir_instr *in, struct lanes *out)
{
    const unsigned w = facts_width(in->dst[0]);
    struct lanes src[3];

    if (!in->nsrc || in->nsrc > HD_COUNT_OF(src) || ir_has(in, IR_MOD_SAT))
        return false;
    for (uint32_t i = 0; i < in->nsrc; i++)
        if (!lanes_of(f, in->src[i], &src[i]))
            return false;
    *out = src[0];
    switch (in->op) {
    case IR_OP_ADD:
        add_scaled(out, &src[1], 1);
        return true;
    case IR_OP_SUB:
        add_scaled(out, &src[1], UINT64_MAX);
        return true;
    case IR_OP_MUL:
    case IR_OP_MULWIDE:
        return multiply(f, in, src, out);
    case IR_OP_SHL:
    case IR_OP_SHR:
        return shift(in, out, &src[1], w);
    case IR_OP_AND:
    case IR_OP_OR:
    case IR_OP_XOR:
    case IR_OP_LOP3:
        return bitwise(in, src, w, out);
    case IR_OP_CVT:
        return convert(in, out, facts_width(in->src[0]), w);
    case IR_OP_CVTA:
    case IR_OP_CVTA_TO:
        return !ir_space_is_window(in->mem.space);
    default:
        return false;
    }
}

bool facts_lanes_compute(struct facts_state *s)
{
    struct facts *f = s->f;
    struct lanes lanes;

    f->lane_parts = hd_arena_array(s->arena, struct facts_lanes *, (size_t)f->nvalues + 1);
    if (!f->lane_parts)
        return false;
    for (uint32_t b = 0; b < f->func->nblocks; b++) {
        ir_foreach_instr(in, f->func->blocks[b]) {
            const struct ir_value *v = in->ndst == 1 ? in->dst[0] : NULL;
            const unsigned w = v ? facts_width(v) : 0;
            /* Lanes that leave a loop at different times have different U outside. */
            if (w < 8 || f->shapes.of[v->id].kind <= IR_SHAPE_AFFINE || f->shapes.temporal[v->id] ||
                !ir_op_has(in->op, IR_F_PURE) || ir_type_lanes(in->type) > 1 ||
                !lanes_visit(f, in, &lanes))
                continue;
            /* Bits of U that are known to be zero. */
            const uint64_t may = ~f->of[v->id].range.zeros & ~below(lanes.m);
            if (lanes.m < 64 && is_apart(&lanes, lanes.m))
                lanes.m = log2_of(may & -may);
            struct facts_lanes *parts = hd_arena_new(s->arena, struct facts_lanes);
            assert(lanes.m <= 64);
            parts->low_bits = (uint8_t)lanes.m;
            for (unsigned l = 0; l < 32; l++)
                parts->offset[l] = lanes.t[l] & facts_mask(w);
            f->lane_parts[v->id] = parts;
        }
    }
    return true;
}
