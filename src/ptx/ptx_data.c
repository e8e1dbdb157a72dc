/* Initial bytes of variables, and the addresses in them. */
#include "ptx/ptx.h"

#include <assert.h>
#include <string.h>

struct writer {
    const struct ptx_var *var;
    uint8_t *dst;
    uint64_t size_B;
    unsigned elem_B;
    ptx_reloc_fn reloc;
    void *ctx;
};

static enum hd_status bad_init(const struct writer *w, const char *why)
{
    return hd_error(HD_BAD_PTX, "initialiser of '%.*s' (line %u): %s", HD_STR_ARG(w->var->sym.name),
                    w->var->sym.place.line, why);
}

/* Round to nearest even; enough for the rare .f16 initialiser given as a decimal. */
static uint16_t half_from_double(double value)
{
    _Float16 half = (_Float16)value;
    uint16_t bits;
    memcpy(&bits, &half, sizeof(bits));
    return bits;
}

static double init_double(const struct ptx_init *init)
{
    double d;
    float f;
    uint32_t low = (uint32_t)init->u.bits;
    if (init->kind == PTX_INIT_INT)
        return (double)(int64_t)init->u.bits;
    if (init->kind == PTX_INIT_F32) {
        memcpy(&f, &low, sizeof(f));
        return f;
    }
    memcpy(&d, &init->u.bits, sizeof(d));
    return d;
}

static uint64_t number_bits(const struct ptx_init *init, enum ptx_type type)
{
    double d = init_double(init);
    float f = (float)d;
    uint32_t low;
    uint64_t bits;
    switch (type) {
    case PTX_TYPE_F64:
        memcpy(&bits, &d, sizeof(bits));
        return bits;
    case PTX_TYPE_F32:
        if (init->kind == PTX_INIT_F32)
            return init->u.bits;
        memcpy(&low, &f, sizeof(low));
        return low;
    case PTX_TYPE_F16:
        return init->kind == PTX_INIT_INT ? init->u.bits : half_from_double(d);
    default:
        return init->u.bits;
    }
}

static enum hd_status write_scalar(struct writer *w, const struct ptx_init *init, uint64_t at)
{
    assert(w->elem_B);
    if (at + w->elem_B > w->size_B)
        return bad_init(w, "more values than the variable holds");
    if (init->kind == PTX_INIT_SYM) {
        if (!w->reloc)
            return bad_init(w, "contains an address");
        w->reloc(w->ctx, at, w->elem_B, init->u.sym, init->offset, init->generic, init->mask);
        return HD_OK;
    }
    if (init->kind != PTX_INIT_INT && init->kind != PTX_INIT_F32 && init->kind != PTX_INIT_F64)
        return bad_init(w, "expected a number or an address");
    uint64_t bits = number_bits(init, (enum ptx_type)w->var->type);
    assert(at <= w->size_B - w->elem_B);
    for (unsigned i = 0; i < w->elem_B && i < 8; i++) /* PTX memory is little-endian */
        w->dst[at + i] = (uint8_t)(bits >> (8 * i));
    return HD_OK;
}

/* `level` counts dimensions; a flat list in an outer level fills its elements in order. */
static enum hd_status write_value(struct writer *w, const struct ptx_init *init, uint64_t at,
                                  uint64_t span_B, unsigned level)
{
    if (init->kind == PTX_INIT_STRING) {
        if (w->elem_B != 1 || at + init->count > w->size_B)
            return bad_init(w, "the string does not fit");
        memcpy(w->dst + at, init->u.text, init->count);
        return HD_OK;
    }
    if (init->kind != PTX_INIT_LIST)
        return write_scalar(w, init, at);
    const struct ptx_var *var = w->var;
    uint64_t inner_B = w->elem_B;
    if (init->count && init->u.list[0].kind == PTX_INIT_LIST) {
        uint64_t dim = level < var->ndims ? var->dims[level] : var->vec;
        inner_B = dim ? span_B / dim : w->elem_B;
    }
    for (uint32_t i = 0; i < init->count; i++) {
        const struct ptx_init *each = &init->u.list[i];
        if (each->kind == PTX_INIT_STRING)
            inner_B = HD_MAX(inner_B, 1u);
        HD_TRY(write_value(w, each, at, inner_B, level + 1));
        at += inner_B;
    }
    return HD_OK;
}

enum hd_status ptx_var_image(const struct ptx_var *var, uint8_t *dst, uint64_t size_B,
                             ptx_reloc_fn reloc, void *ctx)
{
    struct writer w = {var,   dst, size_B, (ptx_type_bits((enum ptx_type)var->type) + 7) / 8,
                       reloc, ctx};
    if (!var->init)
        return HD_OK;
    if (ptx_type_class((enum ptx_type)var->type) == PTX_CLASS_OPAQUE)
        return hd_error(HD_NOT_SUPPORTED, "initialiser of .%s '%.*s' (line %u) is not supported",
                        ptx_type_name((enum ptx_type)var->type), HD_STR_ARG(var->sym.name),
                        var->sym.place.line);
    return write_value(&w, var->init, 0, size_B, 0);
}
