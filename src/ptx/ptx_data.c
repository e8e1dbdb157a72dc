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
                    w->var->sym.srcloc.line, why);
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

/* ---- references to textures and samplers */

struct reference_field {
    const char *name;
    unsigned at;        /* byte */
    const char *values; /* "name=number ..", besides numbers; NULL: passed over */
};

static const char address_modes[] =
    "wrap=0 clamp_to_edge=1 clamp_ogl=1 mirror=2 clamp_to_border=3 0=0 1=2 2=1 3=1 4=3 ";
static const char filters[] = "nearest=0 linear=1 0=0 1=1 ";
static const char bools[] = "0=0 1=1 ";
static const struct reference_field reference_fields[] = {
    {"addr_mode_0", 0, address_modes},
    {"addr_mode_1", 1, address_modes},
    {"addr_mode_2", 2, address_modes},
    {"filter_mode", 3, filters},
    {"normalized_coords", 4, bools},
    {"force_unnormalized_coords", 5, bools},
    {"width", 0, NULL},
    {"height", 0, NULL},
    {"depth", 0, NULL},
    {"channel_data_type", 0, NULL},
    {"channel_order", 0, NULL},
    {"array_size", 0, NULL},
    {"num_mipmap_levels", 0, NULL},
    {"num_samples", 0, NULL},
    {"memory_layout", 0, NULL},
};

/* The number behind `name=`; -1: there is none. */
static int value_of(const char *values, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = values; *at; at = strchr(at, ' ') + 1)
        if (!strncmp(at, name, len) && at[len] == '=')
            return at[len + 1] - '0';
    return -1;
}

static bool is_of(enum ptx_type type, const struct reference_field *field)
{
    if (type == PTX_TYPE_SAMPLERREF)
        return field->values && field->at != 4;
    return type == PTX_TYPE_TEXREF ? field->at != 5 : !field->values;
}

static bool reference_set(enum ptx_type type, const struct ptx_init *init, uint8_t *dst)
{
    for (size_t i = 0; i < HD_COUNT_OF(reference_fields); i++) {
        const struct reference_field *f = &reference_fields[i];
        if (strcmp(f->name, init->u.text) || !is_of(type, f))
            continue;
        int value = f->values ? value_of(f->values, init->text2) : 0;
        if (f->values && value >= 0) {
            dst[f->at] = (uint8_t)value;
            dst[6] |= (uint8_t)(f->at < 3 ? 1 << f->at : 0);
        }
        return value >= 0;
    }
    return false;
}

enum hd_status ptx_var_image(const struct ptx_var *var, uint8_t *dst, uint64_t size_B,
                             ptx_reloc_fn reloc, void *ctx)
{
    struct writer w = {var,   dst, size_B, (ptx_type_bits((enum ptx_type)var->type) + 7) / 8,
                       reloc, ctx};
    if (!var->init)
        return HD_OK;
    if (ptx_type_class((enum ptx_type)var->type) == PTX_CLASS_OPAQUE) {
        enum ptx_type type = (enum ptx_type)var->type;
        const struct ptx_init *list = var->init;
        bool good = list->kind == PTX_INIT_LIST && !var->is_array;
        for (uint32_t i = 0; good && i < list->count; i++) {
            const struct ptx_init *each = &list->u.list[i];
            if (each->kind != PTX_INIT_FIELD || !reference_set(type, each, dst))
                return hd_error(HD_BAD_PTX,
                                "line %u: .%s '%.*s' has no such field, or no such value",
                                each->srcloc.line, ptx_type_name(type), HD_STR_ARG(var->sym.name));
        }
        return good
                   ? HD_OK
                   : hd_error(HD_NOT_SUPPORTED,
                              "initialiser of .%s '%.*s' (line %u) is not supported",
                              ptx_type_name(type), HD_STR_ARG(var->sym.name), var->sym.srcloc.line);
    }
    return write_value(&w, var->init, 0, size_B, 0);
}
