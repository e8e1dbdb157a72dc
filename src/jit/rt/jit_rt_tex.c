/*
 * Texture and surface instructions of a warp, which gen/gen_texture.c calls: operands are arrays of
 * 32 lanes. Lanes of one object go together; what they read is src/model/texture.h's to say. Faults
 * are reported here: only here is known what a handle names.
 */
#include "jit/rt/jit_rt_tex.h"

#include <assert.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { LANES = 32, WORDS_MAX = 24, TEXEL_MAX_B = 16, RESULTS = 4, MXCSR_DEFAULT = 0x1f80 };

struct call {
    struct jit_cta *cta;
    struct jit_warp *warp;
    uint32_t instr_idx;
    const struct ir_tex *op;
    const uint32_t (*words)[LANES];
    uint32_t (*out)[LANES];
};

static void fault(const struct call *c, uint32_t lanes, enum hd_status status, uint64_t address,
                  const char *reason)
{
    c->cta->launch->services->refuse(c->cta, c->warp, lanes, c->instr_idx, status, address, reason);
}

/* ---- objects */

static const struct ir_texture *find(const struct call *c, uint64_t handle)
{
    return c->cta->launch->services->texture(c->cta, handle);
}

/* What a handle names; or what the handle names that lies where it points to. */
static const struct ir_texture *object_of(const struct call *c, uint32_t lanes, uint64_t handle)
{
    const struct ir_texture *object = find(c, handle);
    bool surface = ir_tex_is_surface(c->op);
    uint64_t named = handle;
    if (!object && handle && !IR_TEXTURE_IS_HANDLE(handle)) {
        if (handle % sizeof(named))
            fault(c, lanes, HD_MISALIGNED, handle, NULL);
        memcpy(&named, (const void *)(uintptr_t)handle, sizeof(named));
        object = find(c, named);
    }
    if (!object || object->is_surface != surface)
        fault(c, lanes, HD_ILLEGAL_ADDRESS, handle,
              surface ? "it names no live surface object" : "it names no live texture object");
    return object;
}

/* ---- lanes */

#define FOR_LANES(lane, mask)                                                                      \
    for (uint32_t lane##_left = (mask), lane = 0;                                                  \
         lane##_left && (lane = (uint32_t)__builtin_ctz(lane##_left), true);                       \
         lane##_left &= lane##_left - 1)

static void words_of(const struct call *c, uint32_t lane, uint32_t out[WORDS_MAX])
{
    unsigned n = ir_tex_source_words(c->op);
    assert(n <= WORDS_MAX);
    for (unsigned i = 0; i < n; i++)
        out[i] = c->words[i][lane];
}

static void results_set(const struct call *c, uint32_t lane, const uint32_t *words)
{
    unsigned n = ir_tex_result_words(c->op);
    for (unsigned i = 0; i < n; i++)
        c->out[i][lane] = words[i];
}

static void read_lane(const struct call *c, uint32_t lane, const struct ir_texture *texture,
                      const struct ir_texture *sampler)
{
    uint32_t words[WORDS_MAX], out[RESULTS];
    words_of(c, lane, words);
    ir_texture_read(c->op, texture, sampler, words, out);
    results_set(c, lane, out);
}

static void surface_access(const struct call *c, const struct ir_texture *surface, uint64_t address,
                           const uint32_t *words, uint32_t *out)
{
    const uint32_t *data = words + ir_tex_coordinates(c->op);
    unsigned bytes = ir_surface_bytes(c->op, surface);
    void *at = (void *)(uintptr_t)address;
    uint8_t texel[TEXEL_MAX_B];
    assert(bytes <= TEXEL_MAX_B);
    switch ((enum ir_tex_what)c->op->what) {
    case IR_TEX_SULD:
        ir_surface_unpack(c->op, surface, at, out);
        return;
    case IR_TEX_SURED:
    case IR_TEX_SURED_P:
        ir_surface_reduce(c->op, surface, data, at);
        return;
    default:
        ir_surface_pack(c->op, surface, data, texel);
        memcpy(at, texel, bytes);
        return;
    }
}

static void surface_lane(const struct call *c, uint32_t lane, const struct ir_texture *surface)
{
    uint32_t words[WORDS_MAX], out[RESULTS] = {0};
    uint64_t address;
    words_of(c, lane, words);
    enum hd_status status = ir_surface_coord(c->op, surface, words, &address);
    if (status != HD_OK)
        fault(c, 1u << lane, status, surface->level[0].base, ir_surface_refusal(status));
    if (address)
        surface_access(c, surface, address, words, out);
    results_set(c, lane, out);
}

static void query_lanes(const struct call *c, uint32_t lanes, const struct ir_texture *object)
{
    uint32_t word = ir_surface_query(c->op, object);
    FOR_LANES(lane, lanes)
    results_set(c, lane, &word);
}

/* ---- lanes that have the same handles */

static void read_lanes(const struct call *c, uint32_t lanes, const struct ir_texture *texture,
                       const struct ir_texture *sampler)
{
    FOR_LANES(lane, lanes)
    read_lane(c, lane, texture, sampler);
}

static void do_lanes(const struct call *c, uint32_t lanes, const uint64_t *handle,
                     const uint64_t *sampler_handle, bool whole, enum jit_path path)
{
    const struct ir_texture *object = object_of(c, lanes, *handle), *sampler = object;
    if (c->op->what == IR_TEX_SUQ) {
        query_lanes(c, lanes, object);
        return;
    }
    if (ir_tex_is_surface(c->op)) {
        FOR_LANES(lane, lanes)
        surface_lane(c, lane, object);
        return;
    }
    if (sampler_handle)
        sampler = object_of(c, lanes, *sampler_handle);
    if (!(whole && sampler == object && jit_tex_vectors(c->op, object, path, c->words, c->out)))
        read_lanes(c, lanes, object, sampler);
}

/* Of `lanes`, those whose handles are those of `lane`. */
static uint32_t alike(uint32_t lanes, uint32_t lane, const uint64_t *handles,
                      const uint64_t *samplers)
{
    uint32_t same = 0;
    for (uint32_t i = 0; i < LANES; i++) {
        bool is = handles[i] == handles[lane] && (!samplers || samplers[i] == samplers[lane]);
        same |= (uint32_t)is << i;
    }
    return same & lanes;
}

static void is_lanes(const struct call *c, uint32_t lanes, const uint64_t *handles, bool one)
{
    FOR_LANES(lane, lanes)
    {
        uint32_t word = ir_texture_is(c->op, find(c, handles[one ? 0 : lane]));
        results_set(c, lane, &word);
    }
}

static void do_all(const struct call *c, uint32_t mask, uint32_t how, const uint64_t *handles,
                   const uint64_t *samplers)
{
    enum jit_path path = (enum jit_path)(how & ~(uint32_t)JIT_TEX_ONE);
    bool one = (how & JIT_TEX_ONE) != 0;
    if (c->op->what == IR_TEX_IS) {
        is_lanes(c, mask, handles, one);
        return;
    }
    if (one && mask) {
        do_lanes(c, mask, handles, samplers, true, path);
        return;
    }
    for (uint32_t left = mask; left;) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        uint32_t lanes = alike(left, lane, handles, samplers);
        do_lanes(c, lanes, &handles[lane], samplers ? &samplers[lane] : NULL, lanes == mask, path);
        left &= ~lanes;
    }
}

/* `how`: the path, JIT_FLUSHES, JIT_TEX_ONE: then only the first lane's handles are there. */
void jit_rt_tex(struct jit_cta *cta, struct jit_warp *warp, uint32_t instr_idx, uint32_t mask,
                uint64_t what, uint32_t how, const uint64_t *handles, const uint64_t *samplers,
                const uint32_t (*words)[32], uint32_t (*out)[32]);
void jit_rt_tex(struct jit_cta *cta, struct jit_warp *warp, uint32_t instr_idx, uint32_t mask,
                uint64_t what, uint32_t how, const uint64_t *handles, const uint64_t *samplers,
                const uint32_t (*words)[32], uint32_t (*out)[32])
{
    struct ir_tex op;
    memcpy(&op, &what, sizeof(op));
    const struct call c = {cta, warp, instr_idx, &op, words, out};
#if defined(__x86_64__)
    if (how & JIT_FLUSHES) { /* the model keeps denormals */
        unsigned mode = _mm_getcsr();
        _mm_setcsr(MXCSR_DEFAULT);
        do_all(&c, mask, how & ~(uint32_t)JIT_FLUSHES, handles, samplers);
        _mm_setcsr(mode);
        return;
    }
#endif
    do_all(&c, mask, how & ~(uint32_t)JIT_FLUSHES, handles, samplers);
}

void *jit_rt_tex_lookup(const char *name)
{
    return strcmp(name, "jit_rt_tex") ? NULL : (void *)jit_rt_tex;
}
