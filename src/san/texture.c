/* What texture and surface instructions access. */
#include <assert.h>
#include <stdio.h>

#include "model/texture.h"
#include "san/lanes.h"
#include "san/payload.h"

enum { WORDS_MAX = IR_PROBE_OPERANDS_MAX, TEXELS = 8 /* of a lane, told with those of others */ };

struct texels {
    const struct san_access *issued;
    const struct san_payload_to *to;
    const struct ir_tex *op;
    uint32_t lane, n;
    uint64_t texel_B[SAN_LANES];
    uint64_t at[TEXELS][SAN_LANES];
    uint32_t lanes[TEXELS]; /* that have so many */
    enum hd_status status;
};

static void note(struct texels *t, enum hd_status said)
{
    t->status = t->status == HD_OK ? said : t->status;
}

/* ---- objects */

static bool has_sampler(const struct ir_tex *op)
{
    return op->flags >> IR_TEX_SAMPLER & 1;
}

/* ---- telling */

/* Lanes of one size together. */
static void report(struct texels *t, const uint64_t *address, uint32_t lanes)
{
    struct san_access part = *t->issued;

    part.space = IR_SPACE_GLOBAL;
    part.address = address;
    part.align_B = 1;
    while (lanes) {
        part.size_B = t->texel_B[__builtin_ctz(lanes)];
        part.lanes = 0;
        san_foreach_lane(lane, lanes)
            part.lanes |= (uint32_t)(t->texel_B[lane] == part.size_B) << lane;
        lanes &= ~part.lanes;
        note(t, t->to->access(t->to->user, &part));
    }
}

static void take(void *user, uint64_t address)
{
    struct texels *t = user;
    uint64_t one[SAN_LANES];

    if (t->n < TEXELS) {
        t->lanes[t->n] |= 1u << t->lane;
        t->at[t->n++][t->lane] = address;
        return;
    }
    one[t->lane] = address;
    report(t, one, 1u << t->lane);
}

/* ---- outside of a surface */

static const char *const axes[] = {"x", "y", "z"};

static void say_where(const struct texels *t, const uint32_t *words, char *out, size_t size)
{
    unsigned n = ir_tex_coordinates(t->op), dimensions = ir_tex_dimensions(t->op);
    int at = snprintf(out, size, "Access at ");

    for (unsigned i = 0; i < n; i++) {
        unsigned axis = i - (n - dimensions);
        at += snprintf(out + at, size - (size_t)at, "%s%s %d", i ? ", " : "",
                       i < n - dimensions ? "layer" : axes[axis], (int32_t)words[i]);
    }
}

static void refuse(struct texels *t, const struct ir_texture *surface, const uint32_t *words,
                   enum hd_status status)
{
    const struct ir_texture_level *l = &surface->level[0];
    struct san_access access = *t->issued;
    char where[100], extents[100];
    const struct san_refusal refusal = {
        &access, status, "surface", {where, extents}, surface->level[0].base};
    size_t n;

    say_where(t, words, where, sizeof where);
    n = strlen(where);
    snprintf(where + n, sizeof where - n, " is %s",
             status == HD_MISALIGNED ? "misaligned" : "out of bounds");
    snprintf(extents, sizeof extents, "of a surface of %u x %u x %u texels of %u bytes each",
             l->width, l->height, l->depth, surface->texel_B);
    access.lanes = 1u << t->lane;
    access.size_B = ir_surface_bytes(t->op, surface);
    note(t, t->to->refused(t->to->user, &refusal));
}

/* ---- lanes */

static void surface_lane(struct texels *t, const struct ir_texture *surface, const uint32_t *words)
{
    uint64_t address;
    enum hd_status status = ir_surface_coord(t->op, surface, words, &address);

    t->texel_B[t->lane] = ir_surface_bytes(t->op, surface);
    if (status != HD_OK)
        refuse(t, surface, words, status);
    else if (address)
        take(t, address);
}

static void texture_lane(struct texels *t, const struct ir_probe_launch *about,
                         const struct ir_texture *texture, const uint32_t *words)
{
    const struct ir_texel_list list = {take, t};
    const struct ir_texture *sampler = texture;

    if (has_sampler(t->op))
        sampler = ir_probed_object(about, t->issued->operands[1][t->lane]);
    t->texel_B[t->lane] = texture->texel_B;
    if (sampler && !sampler->is_surface)
        ir_texture_texels(t->op, texture, sampler, words, &list);
}

static enum san_what what_of(const struct ir_tex *op)
{
    if (op->what == IR_TEX_SURED || op->what == IR_TEX_SURED_P)
        return SAN_ATOMIC;
    return ir_tex_data_words(op) ? SAN_WRITE : SAN_READ;
}

enum hd_status san_texture_access(const struct san_cta *cta, const struct san_access *access,
                                  const struct san_payload_to *to)
{
    const struct ir_probe_launch *about = &cta->launch->about;
    struct san_access issued = *access;
    struct texels t = {
        .issued = &issued, .to = to, .op = ir_ext_tex(ir_probed(access->probe)), .status = HD_OK};
    uint32_t words[WORDS_MAX];

    issued.what = what_of(t.op);
    san_foreach_lane(lane, access->lanes) {
        const struct ir_texture *object = ir_probed_object(about, access->operands[0][lane]);
        t.lane = lane;
        t.n = 0;
        const uint64_t *const *operands = t.issued->operands + 1 + has_sampler(t.op);
        for (unsigned i = 0; operands[i]; i++) {
            assert(i < WORDS_MAX);
            words[i] = (uint32_t)operands[i][t.lane];
        }
        if (!object || object->is_surface != ir_tex_is_surface(t.op))
            continue;
        if (object->is_surface)
            surface_lane(&t, object, words);
        else
            texture_lane(&t, about, object, words);
    }
    for (uint32_t i = 0; i < TEXELS && t.lanes[i]; i++)
        report(&t, t.at[i], t.lanes[i]);
    return t.status;
}
