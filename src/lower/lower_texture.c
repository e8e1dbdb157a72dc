/*
 * Texture and surface instructions: one IR operation, whose payload says what it does
 * (model/texture.h). Which geometries, types and operands go together is here; lower_support.c
 * leaves all of that to this file.
 */
#include "lower/lower_priv.h"

#include <assert.h>

#include "model/texture.h"

typedef struct ir_value *val;

enum { SOURCES_MAX = 26 };

/* The instruction in the making: its payload and its sources. */
struct making {
    struct ir_tex tex;
    val src[SOURCES_MAX];
    uint32_t nsrc;
};

static bool texture_bad(struct lower_fn *f, const char *why)
{
    lower_fail(f, HD_BAD_PTX, why);
    return false;
}

static void texture_add(struct making *m, val v)
{
    assert(m->nsrc < SOURCES_MAX);
    m->src[m->nsrc++] = v;
}

static void texture_flag_set(struct making *m, enum ir_tex_flag flag)
{
    m->tex.flags |= (uint8_t)(1u << flag);
}

static bool texture_has_flag(const struct making *m, enum ir_tex_flag flag)
{
    return (m->tex.flags >> flag & 1) != 0;
}

/* ---- words of the instruction */

struct word {
    enum ptx_mod mod;
    uint8_t number;
};

/* The number of the word that is written; -1: none is, or two are. */
static int texture_word_of(const struct ptx_form *form, const struct word *words, size_t n)
{
    int found = -1;
    for (size_t i = 0; i < n; i++) {
        if (!ptx_form_has(form, words[i].mod))
            continue;
        if (found >= 0)
            return -1;
        found = words[i].number;
    }
    return found;
}

static const struct word geometries[] = {
    {PTX_MOD_G1D, IR_TEX_1D},      {PTX_MOD_G2D, IR_TEX_2D},     {PTX_MOD_G3D, IR_TEX_3D},
    {PTX_MOD_A1D, IR_TEX_A1D},     {PTX_MOD_A2D, IR_TEX_A2D},    {PTX_MOD_CUBE, IR_TEX_CUBE},
    {PTX_MOD_ACUBE, IR_TEX_ACUBE}, {PTX_MOD_G2DMS, IR_TEX_2DMS}, {PTX_MOD_A2DMS, IR_TEX_A2DMS},
};
static const struct word components[] = {
    {PTX_MOD_R, 0}, {PTX_MOD_G, 1}, {PTX_MOD_B, 2}, {PTX_MOD_A, 3}};
static const struct word clamps[] = {
    {PTX_MOD_TRAP, IR_TEX_TRAP}, {PTX_MOD_CLAMP, IR_TEX_CLAMP}, {PTX_MOD_ZERO, IR_TEX_ZERO}};
static const struct word texture_queries[] = {
    {PTX_MOD_WIDTH, IR_TEX_WIDTH},
    {PTX_MOD_HEIGHT, IR_TEX_HEIGHT},
    {PTX_MOD_DEPTH, IR_TEX_DEPTH},
    {PTX_MOD_CHANNEL_DATA_TYPE, IR_TEX_CHANNEL_DATA_TYPE},
    {PTX_MOD_CHANNEL_ORDER, IR_TEX_CHANNEL_ORDER},
    {PTX_MOD_NORMALIZED_COORDS, IR_TEX_NORMALIZED_COORDS},
    {PTX_MOD_ARRAY_SIZE, IR_TEX_ARRAY_SIZE},
    {PTX_MOD_NUM_MIPMAP_LEVELS, IR_TEX_NUM_MIPMAP_LEVELS},
    {PTX_MOD_NUM_SAMPLES, IR_TEX_NUM_SAMPLES},
    {PTX_MOD_FILTER_MODE, IR_TEX_FILTER_MODE},
    {PTX_MOD_ADDR_MODE_0, IR_TEX_ADDR_MODE_0},
    {PTX_MOD_ADDR_MODE_1, IR_TEX_ADDR_MODE_1},
    {PTX_MOD_ADDR_MODE_2, IR_TEX_ADDR_MODE_2},
    {PTX_MOD_FORCE_UNNORMALIZED_COORDS, IR_TEX_FORCE_UNNORMALIZED_COORDS},
};
static const struct word surface_queries[] = {
    {PTX_MOD_WIDTH, IR_TEX_WIDTH},
    {PTX_MOD_HEIGHT, IR_TEX_HEIGHT},
    {PTX_MOD_DEPTH, IR_TEX_DEPTH},
    {PTX_MOD_CHANNEL_DATA_TYPE, IR_TEX_CHANNEL_DATA_TYPE},
    {PTX_MOD_CHANNEL_ORDER, IR_TEX_CHANNEL_ORDER},
    {PTX_MOD_ARRAY_SIZE, IR_TEX_ARRAY_SIZE},
    {PTX_MOD_MEMORY_LAYOUT, IR_TEX_MEMORY_LAYOUT},
};

static bool texture_geometry_read(struct lower_fn *f, const struct ptx_form *form, uint32_t may_be,
                                  struct making *m)
{
    int geometry = texture_word_of(form, geometries, HD_COUNT_OF(geometries));
    if (geometry < 0 || !(may_be >> geometry & 1))
        return texture_bad(f, "this instruction does not have this geometry");
    m->tex.geometry = (uint8_t)geometry;
    return true;
}

/* ---- operands */

static val lower_handle_of_symbol(struct lower_fn *f, const struct ptx_operand *op)
{
    struct ptx_operand address = *op;
    enum ir_space space = IR_SPACE_GENERIC;
    int64_t offset = 0;
    const struct ptx_var *var = (const struct ptx_var *)op->u.sym;
    bool kernel_param = var->is_param && f->ptx->is_entry;
    address.kind = PTX_OPND_ADDR;
    address.base = PTX_OPND_SYM;
    if (kernel_param || var->space == PTX_SPACE_PARAM)
        space = IR_SPACE_PARAM;
    val at = lower_address(f, &address, &space, &offset);
    struct ir_instr *ld = lower_emit(f, IR_OP_LD, IR_B64, 1, &at, 1);
    ld->mem.space = space;
    ld->mem.offset = offset;
    return ld->dst[0];
}

/* A register has the handle or the address of one; a variable holds it. */
static bool texture_handle_read(struct lower_fn *f, const struct ptx_operand *op, struct making *m)
{
    unsigned kind = op->kind == PTX_OPND_ADDR ? op->base : op->kind;
    if (kind == PTX_OPND_SYM && op->u.sym->kind == PTX_SYM_VAR) {
        texture_add(m, lower_handle_of_symbol(f, op));
        return true;
    }
    struct ptx_operand reg = {.kind = PTX_OPND_REG, .u.reg = op->u.reg, .index = op->index};
    if (kind != PTX_OPND_REG || op->offset || !lower_is_reg(f, &reg, 64))
        return texture_bad(f,
                           "a texture, sampler or surface is a variable or a register of 64 bits");
    texture_add(m, lower_src(f, &reg, IR_B64));
    return true;
}

/* `n` words of a vector of `length`; one may stand alone, if it may. */
static bool texture_vector_read(struct lower_fn *f, const struct ptx_operand *op, unsigned n,
                                unsigned length, bool may_be_scalar, struct making *m)
{
    bool alone = op->kind != PTX_OPND_VEC;
    if (alone ? n != 1 || !may_be_scalar : op->nitems < length || op->nitems > 4 || op->nitems == 3)
        return texture_bad(f, "a vector has another number of elements");
    for (unsigned i = 0; i < n; i++)
        texture_add(m, lower_src(f, alone ? op : &op->items[i], IR_B32));
    return true;
}

/* Vectors have 1, 2 or 4 elements. */
static unsigned texture_length_of(unsigned n)
{
    return n == 3 ? 4 : n;
}

static bool texture_coordinates_read(struct lower_fn *f, const struct ptx_operand *op,
                                     struct making *m)
{
    unsigned n = ir_tex_coordinates(&m->tex);
    return texture_vector_read(f, op, n, texture_length_of(n), true, m);
}

/* [a, c] or [a, sampler, c]. */
static bool texture_address_read(struct lower_fn *f, const struct ptx_operand *op, struct making *m)
{
    bool sampler = op->kind == PTX_OPND_ADDR && op->nitems == 2;
    if (op->kind != PTX_OPND_ADDR || op->nitems < 1 || op->nitems > 2)
        return texture_bad(f, "the address is a handle, maybe a sampler, and coordinates");
    if (!texture_handle_read(f, op, m) || (sampler && !texture_handle_read(f, &op->items[0], m)))
        return false;
    if (sampler)
        texture_flag_set(m, IR_TEX_SAMPLER);
    return texture_coordinates_read(f, &op->items[op->nitems - 1], m);
}

/* ---- results */

/* Word `i` and, of 64 bits, the next one as a value of the instruction's type. */
static val texture_result_at(struct lower_fn *f, const struct making *m, const struct ir_instr *r,
                             unsigned i)
{
    enum ir_type type = (enum ir_type)m->tex.type;
    if (ir_type_bits(type) == 64) {
        val pair[] = {r->dst[2 * i], r->dst[2 * i + 1]};
        return lower_op(f, IR_OP_PACK, IR_B64, 2, pair);
    }
    return lower_fit(f, r->dst[i], IR_U32, type);
}

static bool texture_results_write(struct lower_fn *f, const struct ptx_operand *op,
                                  const struct making *m, struct ir_instr *r)
{
    enum ir_type type = (enum ir_type)m->tex.type;
    const struct ptx_operand *to = op;
    val v[4];
    if (op->kind == PTX_OPND_PAIR) /* resident: what is not cannot be made */
        to = &op->items[0];
    for (unsigned i = 0; i < m->tex.vec; i++)
        v[i] = texture_result_at(f, m, r, i);
    if (to->kind == PTX_OPND_VEC ? to->nitems != m->tex.vec : m->tex.vec != 1)
        return texture_bad(f, "the results are of another number");
    for (unsigned i = 0; i < m->tex.vec; i++)
        lower_dst(f, to->kind == PTX_OPND_VEC ? &to->items[i] : to, v[i], type);
    if (op->kind == PTX_OPND_PAIR)
        lower_dst(f, &op->items[1], lower_const(f, IR_PRED, 1), IR_PRED);
    return true;
}

static struct ir_instr *texture_emit(struct lower_fn *f, const struct making *m)
{
    struct ir_tex *tex = hd_arena_new(&f->job->module->arena, struct ir_tex);
    struct ir_instr *r =
        lower_emit(f, IR_OP_TEX, IR_VOID, m->nsrc, m->src, ir_tex_result_words(&m->tex));
    if (tex)
        *tex = m->tex;
    r->ext = tex;
    return r;
}

static bool texture_finish(struct lower_fn *f, const struct ptx_operand *to, const struct making *m)
{
    assert(!ir_tex_check(&m->tex));
    struct ir_instr *r = texture_emit(f, m);
    return !to || texture_results_write(f, to, m, r);
}

/* ---- tex and tld4 */

static bool texture_takes_compare(enum ir_tex_geometry g)
{
    return g != IR_TEX_3D && g != IR_TEX_2DMS && g != IR_TEX_A2DMS;
}

/* The operands behind level and gradients: offsets, a vector, or of one dimension a word that is no
 * float; then what is compared. */
static bool texture_extras_read(struct lower_fn *f, const struct ptx_insn *in, unsigned at,
                                struct making *m)
{
    enum ir_tex_geometry g = (enum ir_tex_geometry)m->tex.geometry;
    unsigned n = ir_tex_dimensions(&m->tex);
    const struct ptx_operand *op = &in->ops[at];
    bool is_float = at < in->nops && op->kind == PTX_OPND_REG && op->u.reg->type == PTX_TYPE_F32;
    bool offsets = at < in->nops && (op->kind == PTX_OPND_VEC || (n == 1 && !is_float));
    if (offsets) {
        if (g > IR_TEX_A2D)
            return texture_bad(f, "this geometry does not have offsets");
        if (!texture_vector_read(f, op, n, texture_length_of(n), true, m))
            return false;
        texture_flag_set(m, IR_TEX_OFFSETS);
        at++;
    }
    if (at < in->nops) {
        if (!texture_takes_compare(g))
            return texture_bad(f, "this geometry does not compare");
        texture_add(m, lower_src(f, &in->ops[at++], IR_F32));
        texture_flag_set(m, IR_TEX_COMPARE);
    }
    return at == in->nops || texture_bad(f, "there are too many operands");
}

static const char *texture_tex_types(const struct ptx_form *form, struct making *m)
{
    enum ptx_type d = (enum ptx_type)form->types[0], c = (enum ptx_type)form->types[1];
    bool packed = d == PTX_TYPE_F16X2, integers = c == PTX_TYPE_S32;
    enum ir_tex_geometry g = (enum ir_tex_geometry)m->tex.geometry;
    if (form->ntypes != 2 || (c != PTX_TYPE_S32 && c != PTX_TYPE_F32))
        return "coordinates are .s32 or .f32";
    if (d != PTX_TYPE_U32 && d != PTX_TYPE_S32 && d != PTX_TYPE_F32 && d != PTX_TYPE_F16 && !packed)
        return "a texture is read as .u32, .s32, .f32, .f16 or .f16x2";
    if (form->vec != (packed ? 2 : 4))
        return "a texture is read as .v4, .f16x2 as .v2";
    if (integers && (g == IR_TEX_CUBE || g == IR_TEX_ACUBE))
        return "cubes have coordinates of .f32";
    if (!integers && (g == IR_TEX_2DMS || g == IR_TEX_A2DMS))
        return "samples have coordinates of .s32";
    if (m->tex.lod != IR_TEX_BASE && (g == IR_TEX_2DMS || g == IR_TEX_A2DMS))
        return "samples have no levels";
    if (integers)
        texture_flag_set(m, IR_TEX_INTEGERS);
    m->tex.type = (uint8_t)lower_type(d);
    m->tex.vec = form->vec;
    return NULL;
}

static bool texture_lod_read(struct lower_fn *f, const struct ptx_insn *in, struct making *m,
                             unsigned *out_at)
{
    unsigned n = ir_tex_dimensions(&m->tex), words = m->tex.lod;
    *out_at = 2 + words;
    if (in->nops < *out_at)
        return texture_bad(f, "the level, or the gradients, are missing");
    if (m->tex.lod == IR_TEX_LEVEL)
        texture_add(
            m, lower_src(f, &in->ops[2], texture_has_flag(m, IR_TEX_INTEGERS) ? IR_B32 : IR_F32));
    for (unsigned i = 0; m->tex.lod == IR_TEX_GRAD && i < 2; i++)
        if (!texture_vector_read(f, &in->ops[2 + i], n, texture_length_of(n), false, m))
            return false;
    return true;
}
_Static_assert(IR_TEX_BASE == 0 && IR_TEX_LEVEL == 1 && IR_TEX_GRAD == 2,
               "a level is an operand, gradients are two");

bool lower_do_tex(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    struct making m = {.tex = {.what = IR_TEX_FETCH}};
    unsigned at;
    m.tex.lod = ptx_form_has(form, PTX_MOD_LEVEL)  ? IR_TEX_LEVEL
                : ptx_form_has(form, PTX_MOD_GRAD) ? IR_TEX_GRAD
                                                   : IR_TEX_BASE;
    if (!texture_geometry_read(f, form, UINT32_MAX, &m))
        return true;
    const char *why = texture_tex_types(form, &m);
    if (why)
        return texture_bad(f, why) || true;
    if (texture_address_read(f, &in->ops[1], &m) && texture_lod_read(f, in, &m, &at) &&
        texture_extras_read(f, in, at, &m))
        (void)texture_finish(f, &in->ops[0], &m);
    return true;
}

bool lower_do_tld4(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    enum ptx_type d = ptx_form_type(form);
    struct making m = {.tex = {.what = IR_TEX_GATHER, .vec = 4, .type = (uint8_t)lower_type(d)}};
    int component = texture_word_of(form, components, HD_COUNT_OF(components));
    uint32_t may_be = 1u << IR_TEX_2D | 1u << IR_TEX_A2D | 1u << IR_TEX_CUBE | 1u << IR_TEX_ACUBE;
    if (component < 0 || form->vec != 4 || form->ntypes != 2 || form->types[1] != PTX_TYPE_F32 ||
        (d != PTX_TYPE_F32 && d != PTX_TYPE_U32 && d != PTX_TYPE_S32))
        return texture_bad(f,
                           "tld4 is of one component, .v4, of 32 bits, with coordinates of .f32") ||
               true;
    m.tex.select = (uint8_t)component;
    if (texture_geometry_read(f, form, may_be, &m) && texture_address_read(f, &in->ops[1], &m) &&
        texture_extras_read(f, in, 2, &m))
        (void)texture_finish(f, &in->ops[0], &m);
    return true;
}

/* ---- queries */

static bool texture_query(struct lower_fn *f, const struct ptx_insn *in, const struct word *words,
                          size_t n, struct making *m)
{
    int what = texture_word_of(in->form, words, n);
    if (what < 0 || in->form->ntypes != 1 || ptx_form_type(in->form) != PTX_TYPE_B32)
        return texture_bad(f, "it asks for one property, as .b32");
    m->tex.select = (uint8_t)what;
    m->tex.type = IR_B32;
    m->tex.vec = 1;
    return texture_handle_read(f, &in->ops[1], m);
}

bool lower_do_txq(struct lower_fn *f, const struct ptx_insn *in)
{
    struct making m = {.tex = {.what = IR_TEX_QUERY}};
    bool leveled = ptx_form_has(in->form, PTX_MOD_LEVEL);
    if (!texture_query(f, in, texture_queries, HD_COUNT_OF(texture_queries), &m))
        return true;
    if (leveled != (in->nops == 3) || (leveled && m.tex.select > IR_TEX_DEPTH))
        return texture_bad(f, "with .level it asks for an extent, and has the level") || true;
    if (leveled) {
        texture_flag_set(&m, IR_TEX_LEVELED);
        texture_add(&m, lower_src(f, &in->ops[2], IR_B32));
    }
    (void)texture_finish(f, &in->ops[0], &m);
    return true;
}

bool lower_do_suq(struct lower_fn *f, const struct ptx_insn *in)
{
    struct making m = {.tex = {.what = IR_TEX_SUQ}};
    if (texture_query(f, in, surface_queries, HD_COUNT_OF(surface_queries), &m))
        (void)texture_finish(f, &in->ops[0], &m);
    return true;
}

bool lower_do_istypep(struct lower_fn *f, const struct ptx_insn *in)
{
    struct making m = {.tex = {.what = IR_TEX_IS, .type = IR_B32, .vec = 1}};
    enum ptx_type type = ptx_form_type(in->form);
    if (type == PTX_TYPE_TEXREF || type == PTX_TYPE_SAMPLERREF)
        texture_flag_set(&m, type == PTX_TYPE_TEXREF ? IR_TEX_OF_TEXTURE : IR_TEX_OF_SAMPLER);
    else if (type != PTX_TYPE_SURFREF)
        return texture_bad(f, "it asks for .texref, .samplerref or .surfref") || true;
    if (!texture_handle_read(f, &in->ops[1], &m))
        return true;
    val is[] = {texture_emit(f, &m)->dst[0], lower_const(f, IR_B32, 0)};
    struct ir_instr *p = lower_emit(f, IR_OP_SETP, IR_U32, 2, is, 1);
    p->cmp = IR_NE;
    lower_dst(f, &in->ops[0], p->dst[0], IR_PRED);
    return true;
}

/* ---- surfaces */

static bool texture_surface_read(struct lower_fn *f, const struct ptx_insn *in,
                                 const struct ptx_operand *address, uint32_t may_be,
                                 struct making *m)
{
    int clamp = texture_word_of(in->form, clamps, HD_COUNT_OF(clamps));
    if (clamp < 0)
        return texture_bad(f, ".trap, .clamp or .zero says what happens outside");
    m->tex.clamp = (uint8_t)clamp;
    m->tex.vec = in->form->vec ? in->form->vec : 1;
    m->tex.type = (uint8_t)lower_type(ptx_form_type(in->form));
    if (address->kind != PTX_OPND_ADDR || address->nitems != 1)
        return texture_bad(f, "the address is a surface and coordinates");
    return texture_geometry_read(f, in->form, may_be, m) && texture_handle_read(f, address, m) &&
           texture_coordinates_read(f, &address->items[0], m);
}

#define SURFACES                                                                                   \
    (1u << IR_TEX_1D | 1u << IR_TEX_2D | 1u << IR_TEX_3D | 1u << IR_TEX_A1D | 1u << IR_TEX_A2D)

static bool texture_bytes_type(const struct ptx_form *form)
{
    enum ptx_type t = ptx_form_type(form);
    unsigned vec = form->vec ? form->vec : 1;
    return form->ntypes == 1 && vec <= 4 && vec * ptx_type_bits(t) <= 128 &&
           (t == PTX_TYPE_B8 || t == PTX_TYPE_B16 || t == PTX_TYPE_B32 || t == PTX_TYPE_B64);
}

bool lower_do_suld(struct lower_fn *f, const struct ptx_insn *in)
{
    struct making m = {.tex = {.what = IR_TEX_SULD}};
    if (!texture_bytes_type(in->form))
        return texture_bad(f, "a surface is read as .b8 to .b64, at most 128 bits") || true;
    if (texture_surface_read(f, in, &in->ops[1], SURFACES, &m))
        (void)texture_finish(f, &in->ops[0], &m);
    return true;
}

static void texture_data_add(struct lower_fn *f, const struct ptx_operand *op, struct making *m)
{
    enum ir_type type = (enum ir_type)m->tex.type;
    val v = lower_src(f, op, type);
    if (ir_type_bits(type) < 64) {
        texture_add(m, lower_fit(f, v, type, IR_B32));
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        struct ir_instr *half = lower_emit(f, IR_OP_UNPACK, IR_B32, 1, &v, 1);
        half->imm = i;
        texture_add(m, half->dst[0]);
    }
}

static bool texture_data_read(struct lower_fn *f, const struct ptx_operand *op, struct making *m)
{
    bool alone = op->kind != PTX_OPND_VEC;
    if (alone ? m->tex.vec != 1 : op->nitems != m->tex.vec)
        return texture_bad(f, "a vector has another number of elements");
    for (unsigned i = 0; i < m->tex.vec; i++)
        texture_data_add(f, alone ? op : &op->items[i], m);
    return true;
}

bool lower_do_sust(struct lower_fn *f, const struct ptx_insn *in)
{
    bool texels = in->form->op == PTX_OP_SUST_P;
    struct making m = {.tex = {.what = texels ? IR_TEX_SUST_P : IR_TEX_SUST}};
    if (!texture_bytes_type(in->form) || (texels && ptx_form_type(in->form) != PTX_TYPE_B32))
        return texture_bad(
                   f, "a surface is written as .b8 to .b64, texels as .b32, at most 128 bits") ||
               true;
    if (texture_surface_read(f, in, &in->ops[0], SURFACES, &m) &&
        texture_data_read(f, &in->ops[1], &m))
        (void)texture_finish(f, NULL, &m);
    return true;
}

static int texture_reduction_of(const struct ptx_form *form)
{
    enum ptx_type t = ptx_form_type(form);
    bool texels = form->op == PTX_OP_SURED_P, logic = false;
    int atom = -1;
    switch ((enum ptx_subop)form->subop) {
    case PTX_SUBOP_ADD:
        atom = t != PTX_TYPE_S64 ? IR_ATOM_ADD : -1;
        break;
    case PTX_SUBOP_MIN:
        atom = IR_ATOM_MIN;
        break;
    case PTX_SUBOP_MAX:
        atom = IR_ATOM_MAX;
        break;
    case PTX_SUBOP_AND:
    case PTX_SUBOP_OR:
        logic = true;
        atom = form->subop == PTX_SUBOP_AND ? IR_ATOM_AND : IR_ATOM_OR;
        break;
    default:
        return -1;
    }
    if (texels)
        return t == PTX_TYPE_B32 ||
                       (t == PTX_TYPE_B64 && (atom == IR_ATOM_MIN || atom == IR_ATOM_MAX))
                   ? atom
                   : -1;
    return logic == (t == PTX_TYPE_B32) && t != PTX_TYPE_B64 && ptx_type_bits(t) >= 32 &&
                   ptx_type_class(t) != PTX_CLASS_FLOAT
               ? atom
               : -1;
}

bool lower_do_sured(struct lower_fn *f, const struct ptx_insn *in)
{
    bool texels = in->form->op == PTX_OP_SURED_P;
    struct making m = {.tex = {.what = texels ? IR_TEX_SURED_P : IR_TEX_SURED}};
    int atom = in->form->ntypes == 1 && in->form->vec <= 1 ? texture_reduction_of(in->form) : -1;
    if (atom < 0)
        return texture_bad(f, "there is no reduction of surfaces with this operation and type") ||
               true;
    m.tex.select = (uint8_t)atom;
    if (texture_surface_read(f, in, &in->ops[0],
                             1u << IR_TEX_1D | 1u << IR_TEX_2D | 1u << IR_TEX_3D, &m) &&
        texture_data_read(f, &in->ops[1], &m))
        (void)texture_finish(f, NULL, &m);
    return true;
}
