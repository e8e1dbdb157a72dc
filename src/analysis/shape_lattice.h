/* Private to src/analysis: arithmetic on alignments and affine shapes, for the shape analysis. */
#ifndef HD_ANALYSIS_SHAPE_LATTICE_H
#define HD_ANALYSIS_SHAPE_LATTICE_H

#include "analysis/shape_impl.h"

/* ---- alignment: powers of two; IR_ALIGN_ZERO is the number 0 itself */

static inline uint32_t align_min(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t align_of(uint64_t value)
{
    uint64_t low = value & -value;

    if (!value)
        return IR_ALIGN_ZERO;
    return low > IR_ALIGN_MAX ? IR_ALIGN_MAX : (uint32_t)low;
}

static inline uint32_t align_mul(uint32_t a, uint32_t b)
{
    if (a == IR_ALIGN_ZERO || b == IR_ALIGN_ZERO)
        return IR_ALIGN_ZERO;
    return (uint64_t)a * b > IR_ALIGN_MAX ? IR_ALIGN_MAX : a * b;
}

static inline uint32_t align_shr(uint32_t a, unsigned k)
{
    if (a == IR_ALIGN_ZERO)
        return a;
    return k < 31 && a >> k ? a >> k : 1;
}

/* Smallest power of two >= x; saturates. */
static inline uint64_t pow2_ceil(uint64_t x)
{
    uint64_t p = 1;

    while (p < x && p < 1ull << 62)
        p <<= 1;
    return p;
}

/* ---- affine shapes */

static inline int64_t stride_wrap(int64_t stride, unsigned bits)
{
    unsigned drop = 64 - bits;

    return (int64_t)((uint64_t)stride << drop) >> drop;
}

/* warp_align 0: the groups have nothing to do with each other, and group_align holds for each. */
static inline struct ir_shape shape_affine(int64_t stride, uint32_t group_align,
                                           uint32_t warp_align, unsigned bits)
{
    struct ir_shape s = {.kind = IR_SHAPE_AFFINE, .stride = stride_wrap(stride, bits)};

    if (warp_align) {
        s.whole = true;
        s.warp_align = warp_align;
        group_align = align_min(warp_align, align_of((uint64_t)s.stride * 16));
        if (!s.stride)
            return shape_uniform(warp_align);
    }
    s.align = group_align;
    return s;
}

static inline bool is_uniform(const struct ir_shape *s)
{
    return s->kind == IR_SHAPE_UNIFORM;
}

/* One value per group: UNIFORM, or AFFINE with stride 0. */
static inline bool is_flat(const struct ir_shape *s)
{
    return s->kind == IR_SHAPE_UNIFORM || (s->kind == IR_SHAPE_AFFINE && s->stride == 0);
}

/* UNIFORM reads as AFFINE 0. */
static inline bool is_affine(const struct ir_shape *s)
{
    return s->kind <= IR_SHAPE_AFFINE;
}

/* Alignment of the first lane's value if the shape spans the warp, else 0. */
static inline uint32_t warp_align(const struct ir_shape *s)
{
    return is_uniform(s) ? s->align : s->warp_align;
}

/* Lanes of a warp, or of the warps that run at once. */
static inline uint64_t warp_lanes(const struct shape_state *s)
{
    return 32u * s->launch.warps;
}

/*
 * No lane of a group (of the warp) leaves the aligned block of `size` that lane 0 lies in, so
 * adding stride * lane carries nothing out of the low bits. Negative strides count as unknown.
 */
static inline bool group_fits(const struct shape_state *state, const struct ir_shape *s,
                              uint64_t size)
{
    uint64_t span =
        s->stride >= 0 ? pow2_ceil(state->launch.group * (uint64_t)s->stride) : UINT64_MAX;

    /* Where a group is all there is, base[0] is its base. */
    uint32_t align =
        state->launch.group == warp_lanes(state) ? HD_MAX(s->align, s->warp_align) : s->align;

    return span <= size && align >= span;
}

static inline bool warp_fits(const struct shape_state *state, const struct ir_shape *s,
                             uint64_t size)
{
    uint64_t span =
        s->stride >= 0 ? pow2_ceil(warp_lanes(state) * (uint64_t)s->stride) : UINT64_MAX;

    return s->whole && span <= size && s->warp_align >= span;
}

#endif
