/* Textures and surfaces, lane by lane: model/texture.h says what they compute. */
#include <string.h>

#include "model/texture.h"
#include "sim/sim_private.h"

enum { WORDS_MAX = 24 };

static unsigned mod_of(const struct sim_op *op, enum isa_mod mod)
{
    return isa_mod_value(op->insn, mod);
}

static const uint8_t geometries[] = {IR_TEX_1D,  IR_TEX_2D,    IR_TEX_3D,   IR_TEX_CUBE, IR_TEX_A1D,
                                     IR_TEX_A2D, IR_TEX_ACUBE, IR_TEX_2DMS, IR_TEX_A2DMS};

/* In the pair ubase, or, B, one of each lane's own in the first pair of this source. */
static uint64_t handle_of(struct sim_warp *w, const struct sim_op *op, unsigned source,
                          unsigned lane)
{
    if (mod_of(op, ISA_MOD_TEX_HANDLE))
        return sim_pair(sim_src_rows(w, op, source), lane);
    return w->ureg[op->ubase] | (uint64_t)w->ureg[op->ubase + 1] << 32;
}

/* What lies behind the handle in this source. */
static const uint32_t *behind_handle(struct sim_warp *w, const struct sim_op *op, unsigned source)
{
    return sim_src_rows(w, op, source) + (mod_of(op, ISA_MOD_TEX_HANDLE) ? 2 * SIM_LANES : 0);
}

/* What a handle names; or what the handle names that lies where it points to. */
static const struct ir_texture *object_at(struct sim_warp *w, unsigned lane, uint64_t handle)
{
    const struct ir_texture_table *table = w->run->launch->textures;
    const struct ir_texture *object = ir_texture_find(table, handle);
    const void *at;

    if (object || IR_TEXTURE_IS_HANDLE(handle))
        return object;
    at = sim_host(w, lane, IR_SPACE_GENERIC, handle, sizeof(handle), sizeof(handle), false);
    if (!at)
        return NULL;
    memcpy(&handle, at, sizeof(handle));
    return ir_texture_find(table, handle);
}

static const struct ir_texture *object_of(struct sim_warp *w, unsigned lane, uint64_t handle,
                                          bool surface)
{
    const struct ir_texture *object = object_at(w, lane, handle);

    if (object && object->is_surface == surface)
        return object;
    if (w->run->status == HD_OK)
        sim_fail(w, lane, HD_ILLEGAL_ADDRESS, "0x%llx is not a live %s object",
                 (unsigned long long)handle, surface ? "surface" : "texture");
    return NULL;
}

static struct ir_tex fetch_of(const struct sim_op *op)
{
    enum { IMPLICIT, LZ, LL };
    enum isa_op what = op->insn->op;
    unsigned lod = mod_of(op, ISA_MOD_TEX_LOD);
    struct ir_tex tex = {.what = what == ISA_TLD4 ? IR_TEX_GATHER : IR_TEX_FETCH,
                         .geometry = geometries[mod_of(op, ISA_MOD_TEX_DIM)],
                         .select = (uint8_t)mod_of(op, ISA_MOD_TEX_COMPONENT),
                         .type = IR_F32,
                         .vec = 4};

    tex.lod = what == ISA_TXD ? IR_TEX_GRAD : lod == LL ? IR_TEX_LEVEL : IR_TEX_BASE;
    if (what == ISA_TLD || mod_of(op, ISA_MOD_TEX_INTS))
        tex.flags |= 1u << IR_TEX_INTEGERS;
    if (mod_of(op, ISA_MOD_TEX_OFFSET))
        tex.flags |= 1u << IR_TEX_OFFSETS;
    if (mod_of(op, ISA_MOD_TEX_COMPARE))
        tex.flags |= 1u << IR_TEX_COMPARE;
    return tex;
}

/*
 * a: layer or sample, coordinates. b: the handle of B, that of the sampler, the level, offsets of
 * eight bits each in one register, the reference. c of TXD: gradients by x, then by y.
 */
static void fetch_words(struct sim_warp *w, const struct sim_op *op, const struct ir_tex *tex,
                        unsigned lane, uint32_t words[WORDS_MAX])
{
    const uint32_t *a = sim_src_rows(w, op, 0), *b = behind_handle(w, op, 1);
    const uint32_t *c = sim_src_rows(w, op, 2);
    unsigned n = 0, at = mod_of(op, ISA_MOD_TEX_SAMPLER) ? 2 : 0;

    for (unsigned i = 0; i < ir_tex_coordinates(tex); i++)
        words[n++] = a[i * SIM_LANES + lane];
    if (tex->lod == IR_TEX_LEVEL)
        words[n++] = b[at++ * SIM_LANES + lane];
    for (unsigned i = 0; tex->lod == IR_TEX_GRAD && i < 2 * ir_tex_dimensions(tex); i++)
        words[n++] = c[i * SIM_LANES + lane];
    if (ir_tex_has(tex, IR_TEX_OFFSETS)) {
        uint32_t packed = b[at++ * SIM_LANES + lane];

        for (unsigned i = 0; i < ir_tex_dimensions(tex); i++)
            words[n++] = (uint32_t)(int8_t)(packed >> 8 * i);
    }
    if (ir_tex_has(tex, IR_TEX_COMPARE))
        words[n++] = b[at * SIM_LANES + lane];
    assert(n <= WORDS_MAX);
}

/* Components that are wanted, one behind the other. */
static void put_wanted(struct sim_warp *w, unsigned lane, unsigned wanted, const uint32_t out[4])
{
    unsigned n = 0;

    for (unsigned i = 0; i < 4; i++)
        if (wanted >> i & 1)
            w->scratch[n++][lane] = out[i];
}

enum sim_step sim_exec_tex(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const struct ir_tex tex = fetch_of(op);
    unsigned wanted = (unsigned)sim_field(op->insn, ISA_FIELD_TEXTURE_MASK, 15);

    sim_mode(w->run, 0);
    SIM_FOR_LANES(lane, mask)
    {
        const struct ir_texture *object = object_of(w, lane, handle_of(w, op, 1, lane), false);
        const struct ir_texture *sampler = object;
        uint32_t words[WORDS_MAX], out[4] = {0};

        if (object && mod_of(op, ISA_MOD_TEX_SAMPLER))
            sampler = object_of(w, lane, sim_pair(behind_handle(w, op, 1), lane), false);
        if (!object || !sampler)
            return SIM_STOP;
        fetch_words(w, op, &tex, lane, words);
        ir_texture_read(&tex, object, sampler, words, out);
        put_wanted(w, lane, wanted, out);
    }
    sim_blend(w, w->regs + op->d * SIM_LANES, w->scratch[0], (unsigned)__builtin_popcount(wanted),
              mask);
    sim_set_pred(w, op, op->pd, mask, UINT32_MAX);
    return SIM_NEXT;
}

/* Of a texture, or of a surface. a: the level, where the property has one. */
enum sim_step sim_exec_txq(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    static const uint8_t queries[] = {IR_TEX_WIDTH,         IR_TEX_HEIGHT,
                                      IR_TEX_DEPTH,         IR_TEX_CHANNEL_DATA_TYPE,
                                      IR_TEX_CHANNEL_ORDER, IR_TEX_NORMALIZED_COORDS,
                                      IR_TEX_ARRAY_SIZE,    IR_TEX_NUM_MIPMAP_LEVELS,
                                      IR_TEX_NUM_SAMPLES,   IR_TEX_FILTER_MODE,
                                      IR_TEX_ADDR_MODE_0,   IR_TEX_ADDR_MODE_1,
                                      IR_TEX_ADDR_MODE_2,   IR_TEX_FORCE_UNNORMALIZED_COORDS,
                                      IR_TEX_MEMORY_LAYOUT};
    enum { IS = HD_COUNT_OF(queries) };
    const uint32_t *a = behind_handle(w, op, 0);
    unsigned query = mod_of(op, ISA_MOD_TEX_QUERY);
    bool surface = mod_of(op, ISA_MOD_TEX_OF);
    struct ir_tex tex = {.what = IR_TEX_QUERY,
                         .select = query == IS ? 0 : queries[query],
                         .type = IR_B32,
                         .flags = 1u << IR_TEX_LEVELED,
                         .vec = 1};

    SIM_FOR_LANES(lane, mask)
    {
        uint64_t handle = handle_of(w, op, 0, lane);
        uint32_t words[WORDS_MAX] = {a[lane]}, out[4] = {0};
        const struct ir_texture *object;

        if (query == IS) {
            object = ir_texture_find(w->run->launch->textures, handle);
            w->scratch[0][lane] = object && object->is_surface == surface;
            continue;
        }
        object = object_of(w, lane, handle, surface);
        if (!object)
            return SIM_STOP;
        if (object->is_surface)
            out[0] = ir_surface_query(&tex, object);
        else
            ir_texture_read(&tex, object, object, words, out);
        w->scratch[0][lane] = out[0];
    }
    sim_blend(w, w->regs + op->d * SIM_LANES, w->scratch[0], 1, mask);
    return SIM_NEXT;
}

/* ---- surfaces */

static struct ir_tex surface_of(const struct sim_op *op)
{
    enum { SIZE_8, SIZE_16, SIZE_32, SIZE_64, SIZE_128 };
    static const uint8_t types[] = {IR_B8, IR_B16, IR_B32, IR_B32, IR_B32};
    static const uint8_t vecs[] = {1, 1, 1, 2, 4};
    static const uint8_t atoms[] = {IR_U32, IR_S32, IR_U64, IR_S64};
    unsigned size = mod_of(op, ISA_MOD_SURFACE_SIZE), type = mod_of(op, ISA_MOD_ATOM_TYPE);
    bool by_texel = mod_of(op, ISA_MOD_SURFACE_KIND);
    struct ir_tex tex = {.geometry = geometries[mod_of(op, ISA_MOD_TEX_DIM)],
                         .clamp = (uint8_t)mod_of(op, ISA_MOD_SURFACE_CLAMP),
                         .select = (uint8_t)mod_of(op, ISA_MOD_ATOM_OP),
                         .type = types[size],
                         .vec = vecs[size]};

    switch (op->insn->op) {
    case ISA_SULD:
        tex.what = IR_TEX_SULD;
        break;
    case ISA_SUST:
        tex.what = by_texel ? IR_TEX_SUST_P : IR_TEX_SUST;
        break;
    default:
        tex.what = by_texel ? IR_TEX_SURED_P : IR_TEX_SURED;
        tex.type = type < HD_COUNT_OF(atoms) ? atoms[type] : IR_U32;
        tex.vec = 1;
        break;
    }
    return tex;
}

/* a: the handle of B, coordinates. b: what is stored. */
static bool surface_lane(struct sim_warp *w, const struct sim_op *op, unsigned lane,
                         const struct ir_tex *tex, uint32_t out[4])
{
    const uint32_t *a = behind_handle(w, op, 0), *b = sim_src_rows(w, op, 1);
    const struct ir_texture *object = object_of(w, lane, handle_of(w, op, 0, lane), true);
    uint32_t words[WORDS_MAX], data[4] = {0};
    enum hd_status status;
    uint64_t address;
    unsigned bytes;
    void *at;

    if (!object)
        return false;
    for (unsigned i = 0; i < ir_tex_coordinates(tex); i++)
        words[i] = a[i * SIM_LANES + lane];
    for (unsigned i = 0; i < op->src[1].n && i < 4; i++)
        data[i] = b[i * SIM_LANES + lane];
    status = ir_surface_coord(tex, object, words, &address);
    if (status != HD_OK) {
        sim_fail(w, lane, status, "%s", ir_surface_refusal(status));
        return false;
    }
    if (!address)
        return true;
    bytes = ir_surface_bytes(tex, object);
    at = sim_host(w, lane, IR_SPACE_GENERIC, address, bytes, bytes, tex->what != IR_TEX_SULD);
    if (!at)
        return false;
    if (tex->what == IR_TEX_SULD)
        ir_surface_unpack(tex, object, at, out);
    else if (tex->what == IR_TEX_SURED || tex->what == IR_TEX_SURED_P)
        ir_surface_reduce(tex, object, data, at);
    else
        ir_surface_pack(tex, object, data, at);
    return true;
}

enum sim_step sim_exec_surface(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const struct ir_tex tex = surface_of(op);

    sim_mode(w->run, 0);
    SIM_FOR_LANES(lane, mask)
    {
        uint32_t out[4] = {0};

        if (!surface_lane(w, op, lane, &tex, out))
            return SIM_STOP;
        for (unsigned k = 0; k < op->nd; k++)
            w->scratch[k][lane] = out[k];
    }
    if (op->insn->op == ISA_SULD)
        sim_blend(w, w->regs + op->d * SIM_LANES, w->scratch[0], tex.vec, mask);
    sim_set_pred(w, op, op->pd, mask, UINT32_MAX);
    return SIM_NEXT;
}
