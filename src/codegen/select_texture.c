/* Textures and surfaces. Handles are in registers: lanes may have different ones. */
#include "codegen/select.h"
#include "ir/ir_ext.h"
#include "ir/payload.h"

enum { COMPONENTS = 4, WORDS_MAX = 8 };

/* Words that will lie side by side. */
struct words {
    struct isa_operand at[WORDS_MAX];
    unsigned n;
};

static void add(struct words *words, struct isa_operand word)
{
    assert(words->n < WORDS_MAX);
    words->at[words->n++] = word;
}

static void add_handle(struct sel *s, struct words *words, const struct ir_value *handle)
{
    add(words, sel_word(s, handle, 0));
    add(words, sel_word(s, handle, 1));
}

/* The next n sources of one word. */
static void add_sources(struct sel *s, struct words *words, unsigned *from, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        add(words, sel_src(s, (*from)++));
}

static struct isa_operand tuple(struct sel *s, const struct words *words)
{
    return sel_unit(sel_tuple(s, words->at, words->n));
}

static unsigned geometry_of(const struct ir_tex *tex)
{
    switch ((enum ir_tex_geometry)tex->geometry) {
    case IR_TEX_1D:
        return ISA_TEX_DIM_1D;
    case IR_TEX_2D:
        return ISA_TEX_DIM_2D;
    case IR_TEX_3D:
        return ISA_TEX_DIM_3D;
    case IR_TEX_A1D:
        return ISA_TEX_DIM_ARRAY_1D;
    case IR_TEX_A2D:
        return ISA_TEX_DIM_ARRAY_2D;
    case IR_TEX_CUBE:
        return ISA_TEX_DIM_CUBE;
    case IR_TEX_ACUBE:
        return ISA_TEX_DIM_ARRAY_CUBE;
    case IR_TEX_2DMS:
        return ISA_TEX_DIM_2DMS;
    case IR_TEX_A2DMS:
        return ISA_TEX_DIM_ARRAY_2DMS;
    }
    return 0;
}

/* ---- fetches */

/* Offsets of eight bits each; what lies outside of them has no form. */
static struct isa_operand offsets(struct sel *s, unsigned *from, unsigned n)
{
    struct isa_operand part[3];
    uint32_t all = 0;
    bool known = true;

    for (unsigned i = 0; i < n; i++) {
        int32_t number;

        part[i] = sel_src(s, (*from)++);
        number = (int32_t)(uint32_t)part[i].value;
        known &= part[i].kind == ISA_KIND_IMMEDIATE;
        if (part[i].kind == ISA_KIND_IMMEDIATE && (number < INT8_MIN || number > INT8_MAX))
            sel_refuse(s, "an offset of a texel that has more than eight bits");
        all |= (uint32_t)(uint8_t)number << 8 * i;
    }
    return known ? sel_number(all) : sel_packed(s, part, n, 8);
}

static void set_fetched(struct sel *s, const struct ir_instr *in, const struct ir_tex *tex,
                        uint32_t d)
{
    bool half = tex->type == IR_F16, pair = tex->type == IR_F16X2;

    for (unsigned i = 0; i < in->ndst; i++) {
        uint32_t unit = d + i;

        if (half || pair) {
            unsigned at = pair ? 2 * i : i;

            unit = sel_new(s, 1);
            EMIT(s, F2FP, D(unit), A(half ? SEL_RZ : sel_unit(d + at + 1)), B(sel_unit(d + at)),
                 C(SEL_RZ), MODV(PACK_TO, ISA_PACK_TO_F16));
        }
        sel_set_units(s, in->dst[i], unit);
    }
}

#define FETCH                                                                                      \
    D(d), A(a), B(sel_unit(behind)), MODV(TEX_DIM, geometry_of(tex)),                              \
        MODV(TEX_OFFSET, has_offsets), MODV(TEX_HANDLE, 1), MODV(TEX_SAMPLER, sampler)
#define MASKED NUMBER(TEXTURE_MASK, (1 << COMPONENTS) - 1)

static void select_fetch(struct sel *s, const struct ir_instr *in, const struct ir_tex *tex)
{
    bool sampler = ir_tex_has(tex, IR_TEX_SAMPLER), has_offsets = ir_tex_has(tex, IR_TEX_OFFSETS);
    bool compares = ir_tex_has(tex, IR_TEX_COMPARE), ints = ir_tex_has(tex, IR_TEX_INTEGERS);
    unsigned lod = tex->lod == IR_TEX_LEVEL ? ISA_TEX_LOD_LL : ISA_TEX_LOD_LZ, at = 1 + sampler;
    struct words coordinates = {.n = 0}, b = {.n = 0}, gradients = {.n = 0};
    struct isa_operand a;
    uint32_t d, behind;

    if (tex->what == IR_TEX_GATHER && (ints || tex->lod != IR_TEX_BASE)) {
        sel_refuse(s, "a gather of integer coordinates, or of another level");
        return;
    }
    add_sources(s, &coordinates, &at, ir_tex_coordinates(tex));
    a = tuple(s, &coordinates);
    for (unsigned i = 0; i <= sampler; i++)
        add_handle(s, &b, in->src[i]);
    if (tex->lod == IR_TEX_LEVEL)
        add_sources(s, &b, &at, 1);
    if (tex->lod == IR_TEX_GRAD)
        add_sources(s, &gradients, &at, 2 * ir_tex_dimensions(tex));
    if (has_offsets)
        add(&b, offsets(s, &at, ir_tex_dimensions(tex)));
    if (compares)
        add_sources(s, &b, &at, 1);
    behind = sel_tuple(s, b.at, b.n);
    d = sel_new(s, COMPONENTS);
    if (tex->what == IR_TEX_GATHER)
        EMIT(s, TLD4, FETCH, MASKED, MODV(TEX_COMPARE, compares), MODV(TEX_COMPONENT, tex->select));
    else if (tex->lod == IR_TEX_GRAD && !ints) /* texels by number are those of level 0 */
        EMIT(s, TXD, FETCH, C(tuple(s, &gradients)), MODV(TEX_COMPARE, compares));
    else if (ints && !compares)
        EMIT(s, TLD, FETCH, MASKED, MODV(TEX_LOD, lod));
    else
        EMIT(s, TEX, FETCH, MASKED, MODV(TEX_LOD, lod), MODV(TEX_COMPARE, compares),
             MODV(TEX_INTS, ints));
    set_fetched(s, in, tex, d);
}

/* ---- queries */

static unsigned query_of(const struct ir_tex *tex)
{
    switch ((enum ir_tex_query)tex->select) {
    case IR_TEX_WIDTH:
        return ISA_TEX_QUERY_WIDTH;
    case IR_TEX_HEIGHT:
        return ISA_TEX_QUERY_HEIGHT;
    case IR_TEX_DEPTH:
        return ISA_TEX_QUERY_DEPTH;
    case IR_TEX_CHANNEL_DATA_TYPE:
        return ISA_TEX_QUERY_FORMAT;
    case IR_TEX_CHANNEL_ORDER:
        return ISA_TEX_QUERY_ORDER;
    case IR_TEX_NORMALIZED_COORDS:
        return ISA_TEX_QUERY_NORMALIZED;
    case IR_TEX_ARRAY_SIZE:
        return ISA_TEX_QUERY_LAYERS;
    case IR_TEX_NUM_MIPMAP_LEVELS:
        return ISA_TEX_QUERY_LEVELS;
    case IR_TEX_NUM_SAMPLES:
        return ISA_TEX_QUERY_SAMPLES;
    case IR_TEX_FILTER_MODE:
        return ISA_TEX_QUERY_FILTER;
    case IR_TEX_ADDR_MODE_0:
        return ISA_TEX_QUERY_ADDRESS_0;
    case IR_TEX_ADDR_MODE_1:
        return ISA_TEX_QUERY_ADDRESS_1;
    case IR_TEX_ADDR_MODE_2:
        return ISA_TEX_QUERY_ADDRESS_2;
    case IR_TEX_FORCE_UNNORMALIZED_COORDS:
        return ISA_TEX_QUERY_UNNORMALIZED;
    case IR_TEX_MEMORY_LAYOUT:
        return ISA_TEX_QUERY_LAYOUT;
    }
    assert(!"a query");
    return ISA_TEX_QUERY_IS;
}

/* The handle, and the level that is asked about. */
static struct isa_operand asked(struct sel *s, const struct ir_instr *in, const struct ir_tex *tex)
{
    struct words a = {.n = 0};

    add_handle(s, &a, in->src[0]);
    add(&a, ir_tex_has(tex, IR_TEX_LEVELED) ? sel_src(s, in->nsrc - 1) : SEL_RZ);
    return tuple(s, &a);
}

static void select_query(struct sel *s, const struct ir_instr *in, const struct ir_tex *tex)
{
    bool is = tex->what == IR_TEX_IS;
    bool surface = is ? !ir_tex_has(tex, IR_TEX_OF_TEXTURE) && !ir_tex_has(tex, IR_TEX_OF_SAMPLER)
                      : tex->what == IR_TEX_SUQ;
    struct isa_operand a = asked(s, in, tex);

    EMIT(s, TXQ, D(sel_def(s, 0)), A(a), MODV(TEX_QUERY, is ? ISA_TEX_QUERY_IS : query_of(tex)),
         MODV(TEX_OF, surface), MODV(TEX_HANDLE, 1));
}

/* ---- surfaces */

static unsigned size_of(unsigned bits)
{
    switch (bits) {
    case 8:
        return ISA_SURFACE_SIZE_8;
    case 16:
        return ISA_SURFACE_SIZE_16;
    case 32:
        return ISA_SURFACE_SIZE_32;
    case 64:
        return ISA_SURFACE_SIZE_64;
    default:
        assert(bits == 128);
        return ISA_SURFACE_SIZE_128;
    }
}

static unsigned surface_bits(const struct ir_tex *tex)
{
    return ir_type_bits((enum ir_type)tex->type) * tex->vec;
}

#define PLACE                                                                                      \
    A(a), MODV(TEX_DIM, geometry_of(tex)), MODV(SURFACE_CLAMP, tex->clamp), MODV(TEX_HANDLE, 1)

static void select_surface_load(struct sel *s, const struct ir_instr *in, const struct ir_tex *tex,
                                struct isa_operand a)
{
    unsigned bits = HD_MIN(ir_type_bits((enum ir_type)tex->type), 32u), all = surface_bits(tex);
    uint32_t d = sel_new(s, HD_MAX(all / 32, 1u));

    EMIT(s, SULD, D(d), PLACE, MODV(SURFACE_SIZE, size_of(all)));
    for (unsigned i = 0; i < in->ndst; i++) {
        uint32_t unit = all > bits ? sel_part_of(s, d, i, bits) : d;

        sel_set_units(s, in->dst[i], unit);
    }
}

/* Of texels each source is a word; of bytes they lie side by side. */
static struct isa_operand stored(struct sel *s, const struct ir_tex *tex, unsigned from)
{
    unsigned bits = HD_MIN(ir_type_bits((enum ir_type)tex->type), 32u);
    unsigned n = ir_tex_data_words(tex), each = 32 / bits;
    struct words data = {.n = 0};

    for (unsigned i = 0; i < n; i += each) {
        struct isa_operand part[4];
        unsigned parts = HD_MIN(each, n - i);

        for (unsigned k = 0; k < parts; k++)
            part[k] = sel_src(s, from + i + k);
        add(&data, sel_packed(s, part, parts, bits));
    }
    return tuple(s, &data);
}

static void select_surface(struct sel *s, const struct ir_instr *in, const struct ir_tex *tex)
{
    bool by_texel = tex->what == IR_TEX_SUST_P || tex->what == IR_TEX_SURED_P;
    int type = sel_atom_type((enum ir_type)tex->type);
    unsigned from = 1;
    struct words place = {.n = 0};
    struct isa_operand a;

    add_handle(s, &place, in->src[0]);
    add_sources(s, &place, &from, ir_tex_coordinates(tex));
    a = tuple(s, &place);
    switch ((enum ir_tex_what)tex->what) {
    case IR_TEX_SULD:
        select_surface_load(s, in, tex, a);
        return;
    case IR_TEX_SUST:
    case IR_TEX_SUST_P:
        if (by_texel && tex->type != IR_B32) {
            sel_refuse(s, "texels of words that have not 32 bits");
            return;
        }
        EMIT(s, SUST, PLACE, B(stored(s, tex, from)),
             MODV(SURFACE_SIZE, size_of(surface_bits(tex))), MODV(SURFACE_KIND, by_texel));
        return;
    default:
        if (ir_type_is_float((enum ir_type)tex->type) || type < 0 || tex->vec != 1) {
            sel_refuse(s, "a reduction of surfaces of another type");
            return;
        }
        EMIT(s, SUATOM, D(ISA_RZ), PLACE, B(stored(s, tex, from)), MODV(ATOM_OP, tex->select),
             MODV(ATOM_TYPE, type), MODV(SURFACE_KIND, by_texel));
        return;
    }
}

bool select_texture(struct sel *s, const struct ir_instr *in)
{
    const struct ir_tex *tex;

    if (in->op != IR_OP_TEX)
        return false;
    tex = ir_ext_tex(in);
    switch ((enum ir_tex_what)tex->what) {
    case IR_TEX_FETCH:
    case IR_TEX_GATHER:
        select_fetch(s, in, tex);
        break;
    case IR_TEX_QUERY:
    case IR_TEX_SUQ:
    case IR_TEX_IS:
        select_query(s, in, tex);
        break;
    default:
        select_surface(s, in, tex);
        break;
    }
    return true;
}
