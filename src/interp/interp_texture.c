/* Texture and surface instructions, lane by lane: model/texture.h says what they compute. */
#include <string.h>

#include "interp/interp_priv.h"
#include "model/texture.h"

enum { WORDS_MAX = 24, TEXEL_MAX_B = 16 };

static const struct ir_texture *find(struct interp_thread *t, uint64_t handle)
{
    const struct interp_launch *l = t->cta->run->launch;
    return ir_texture_find(l->textures, handle);
}

/* What a handle names; or what the handle names that lies where it points to. */
static const struct ir_texture *object_at(struct interp_thread *t, uint64_t handle)
{
    const struct ir_texture *object = find(t, handle);
    void *at;
    if (object || IR_TEXTURE_IS_HANDLE(handle))
        return object;
    at = interp_host_at(t, IR_SPACE_GENERIC, handle, sizeof(handle), sizeof(handle), false);
    if (at)
        memcpy(&handle, at, sizeof(handle));
    return at ? find(t, handle) : NULL;
}

static const struct ir_texture *object_of(struct interp_thread *t, unsigned source,
                                          const struct ir_tex *op)
{
    uint64_t handle = interp_src(t, source);
    const struct ir_texture *object = object_at(t, handle);
    bool surface = ir_tex_is_surface(op);
    if (object && object->is_surface == surface)
        return object;
    if (t->cta->run->status == HD_OK)
        (void)interp_fail(t, HD_ILLEGAL_ADDRESS, "0x%llx is not a live %s object",
                          (unsigned long long)handle, surface ? "surface" : "texture");
    return NULL;
}

static void results_set(struct interp_thread *t, const uint32_t *words)
{
    for (uint32_t i = 0; i < t->frame->pc->ndst; i++)
        interp_set(t, i, words[i]);
}

static enum interp_step read_texture(struct interp_thread *t, const struct ir_tex *op,
                                     const uint32_t *words)
{
    const struct ir_texture *texture = object_of(t, 0, op), *sampler = texture;
    uint32_t out[4];
    if (texture && op->flags >> IR_TEX_SAMPLER & 1)
        sampler = object_of(t, 1, op);
    if (!texture || !sampler)
        return INTERP_FAULTED;
    ir_texture_read(op, texture, sampler, words, out);
    results_set(t, out);
    return INTERP_NEXT;
}

static void access(const struct ir_tex *op, const struct ir_texture *surface, void *at,
                   const uint32_t *data, uint32_t *out)
{
    switch ((enum ir_tex_what)op->what) {
    case IR_TEX_SULD:
        ir_surface_unpack(op, surface, at, out);
        return;
    case IR_TEX_SURED:
    case IR_TEX_SURED_P:
        ir_surface_reduce(op, surface, data, at);
        return;
    default:
        ir_surface_pack(op, surface, data, at);
        return;
    }
}

static enum interp_step surface(struct interp_thread *t, const struct ir_tex *op,
                                const uint32_t *words)
{
    const struct ir_texture *surface = object_of(t, 0, op);
    const uint32_t *data = words + ir_tex_coordinates(op);
    uint32_t out[4] = {0};
    uint64_t address;
    void *at;
    if (!surface)
        return INTERP_FAULTED;
    enum hd_status status = ir_surface_coord(op, surface, words, &address);
    if (status != HD_OK)
        return interp_fail(t, status, "%s", ir_surface_refusal(status));
    if (address) {
        unsigned bytes = ir_surface_bytes(op, surface);
        at = interp_host_at(t, IR_SPACE_GENERIC, address, bytes, bytes, op->what != IR_TEX_SULD);
        if (!at)
            return INTERP_FAULTED;
        access(op, surface, at, data, out);
    }
    results_set(t, out);
    return INTERP_NEXT;
}

static enum interp_step query(struct interp_thread *t, const struct ir_tex *op)
{
    const struct ir_texture *object = object_of(t, 0, op);
    if (!object)
        return INTERP_FAULTED;
    interp_set(t, 0, ir_surface_query(op, object));
    return INTERP_NEXT;
}

enum interp_step interp_tex(struct interp_thread *t)
{
    const struct ir_instr *in = t->frame->pc;
    const struct ir_tex *op = ir_ext_tex(in);
    uint32_t words[WORDS_MAX], first = 1 + (op->flags >> IR_TEX_SAMPLER & 1);
    assert(in->nsrc - first <= WORDS_MAX);
    for (uint32_t i = first; i < in->nsrc; i++)
        words[i - first] = (uint32_t)interp_src(t, i);
    switch ((enum ir_tex_what)op->what) {
    case IR_TEX_FETCH:
    case IR_TEX_GATHER:
    case IR_TEX_QUERY:
        return read_texture(t, op, words);
    case IR_TEX_IS:
        interp_set(t, 0, ir_texture_is(op, find(t, interp_src(t, 0))));
        return INTERP_NEXT;
    case IR_TEX_SUQ:
        return query(t, op);
    default:
        return surface(t, op, words);
    }
}
