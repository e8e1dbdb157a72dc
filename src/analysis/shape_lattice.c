#include "analysis/shape_lattice.h"

struct ir_shape shape_uniform(uint32_t align)
{
    return (struct ir_shape){.kind = IR_SHAPE_UNIFORM, .align = align};
}

struct ir_shape shape_varying(void)
{
    return (struct ir_shape){.kind = IR_SHAPE_VARYING, .align = 1};
}

bool shape_equal(const struct ir_shape *a, const struct ir_shape *b)
{
    return a->kind == b->kind && a->align == b->align && a->stride == b->stride &&
           a->whole == b->whole && a->warp_align == b->warp_align && a->scale == b->scale &&
           a->index == b->index && a->index_signed == b->index_signed;
}

static bool same_index(const struct ir_shape *a, const struct ir_shape *b)
{
    return a->kind == IR_SHAPE_BASE_INDEX && b->kind == IR_SHAPE_BASE_INDEX &&
           a->index == b->index && a->index_signed == b->index_signed && a->scale == b->scale;
}

struct ir_shape shape_join(const struct ir_shape *a, const struct ir_shape *b)
{
    struct ir_shape s = *a;

    if (is_uniform(a) && is_uniform(b))
        return shape_uniform(align_min(a->align, b->align));
    if (is_affine(a) && is_affine(b) && a->stride == b->stride) {
        s.kind = IR_SHAPE_AFFINE;
        s.align = align_min(a->align, b->align);
        s.whole = a->whole && b->whole;
        s.warp_align = s.whole ? align_min(a->warp_align, b->warp_align) : 0;
        return s;
    }
    if (same_index(a, b)) {
        s.align = align_min(a->align, b->align);
        return s;
    }
    return shape_varying();
}
