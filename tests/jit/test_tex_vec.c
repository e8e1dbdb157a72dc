/*
 * Texture fetches with vectors against the model, bit by bit: random textures of every format,
 * geometry, filter and address mode, coordinates around their edges, far away, infinite and NaN;
 * and lanes that read neighbours of one row, with and without weights.
 */
#include <math.h>

#include "jit/rt/jit_rt_tex.h"
#include "tap.h"

enum { LANES = 32, TEXELS_B = 1 << 18, ROUNDS = 3000 };

static uint64_t state;
static unsigned char *texels;

static uint32_t below(uint32_t n)
{
    return (uint32_t)(tap_random(&state) % n);
}

/* Whether a float texel is something ordinary: infinities and NaNs are there too, but seldom. */
static void texels_fill(bool floats, unsigned channel_B)
{
    for (size_t i = 0; i < TEXELS_B; i += 8) {
        uint64_t bits = tap_random(&state);
        memcpy(texels + i, &bits, 8);
    }
    for (size_t i = 0; floats && channel_B == 4 && i < TEXELS_B; i += 4) {
        float f = (float)(int32_t)tap_random(&state) / 65536.0f;
        if (below(50))
            memcpy(texels + i, &f, 4);
    }
}

static struct ir_texture texture_any(void)
{
    static const uint8_t sizes[] = {1, 2, 4}, counts[] = {1, 2, 4};
    struct ir_texture t = {.kind = (uint8_t)below(5),
                           .channels = counts[below(3)],
                           .normalized = below(2),
                           .linear = below(2),
                           .nlevels = 1,
                           .anisotropy = 1};
    struct ir_texture_level *l = &t.level[0];
    t.channel_B = sizes[t.kind == IR_TEXEL_FLOAT ? 1 + below(2) : below(t.kind > 2 ? 2 : 3)];
    t.texel_B = (uint8_t)(t.channel_B * t.channels);
    for (unsigned d = 0; d < 3; d++) {
        t.address[d] = (uint8_t)below(4);
        if (!t.normalized && (t.address[d] == IR_ADDRESS_WRAP || t.address[d] == IR_ADDRESS_MIRROR))
            t.address[d] = IR_ADDRESS_CLAMP;
    }
    for (unsigned c = 0; c < 4; c++)
        t.border[c] = (uint32_t)tap_random(&state);
    *l = (struct ir_texture_level){.base = (uintptr_t)texels,
                                   .width = 1 + below(80),
                                   .height = 1 + below(20),
                                   .depth = 1 + below(9)};
    l->pitch_B = hd_align_up((uint64_t)l->width * t.texel_B, 64);
    l->slice_B = l->pitch_B * l->height;
    texels_fill(t.kind == IR_TEXEL_FLOAT, t.channel_B);
    return t;
}

static uint32_t coordinate(bool normalized, uint32_t extent)
{
    static const float odd[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 1e30f, -1e30f, 65536.5f, 1e-40f};
    float f = ((float)below(1u << 20) / (1u << 18) - 1.5f) * (normalized ? 1.0f : (float)extent);
    uint32_t bits;
    switch (below(12)) {
    case 0:
        f = odd[below(HD_COUNT_OF(odd))];
        break;
    case 1:
        f = below(2) ? (float)INFINITY : below(2) ? -(float)INFINITY : (float)NAN;
        break;
    case 2: /* on an edge or a centre */
        f = (float)((int)below(4 * extent) - (int)extent) * 0.5f / (normalized ? (float)extent : 1);
        break;
    default:
        break;
    }
    memcpy(&bits, &f, 4);
    return bits;
}

static struct ir_tex op_any(const struct ir_texture *t)
{
    static const enum ir_tex_geometry all[] = {IR_TEX_1D, IR_TEX_2D, IR_TEX_3D, IR_TEX_A1D,
                                               IR_TEX_A2D};
    return (struct ir_tex){.what = IR_TEX_FETCH,
                           .geometry = (uint8_t)(t->is_linear ? IR_TEX_1D : all[below(5)]),
                           .type = IR_F32,
                           .vec = (uint8_t)(1 + below(4)),
                           .flags = t->is_linear ? 1u << IR_TEX_INTEGERS : 0};
}

/* Each half of the warp is somewhere in a row. */
static void rows_fill(const struct ir_tex *op, const struct ir_texture *t, uint32_t words[4][LANES])
{
    const struct ir_texture_level *l = &t->level[0];
    const uint32_t extents[] = {l->width, l->height, l->depth};
    bool layered = op->geometry == IR_TEX_A1D || op->geometry == IR_TEX_A2D;
    float at[3] = {0}, beside = below(2) ? 0.5f : (float)below(256) / 256;
    for (unsigned lane = 0; lane < LANES; lane++) {
        for (unsigned d = 0; d < 3 && lane % (LANES / 2) == 0; d++)
            at[d] = (float)((int)below(extents[d] + 2) - 1) + (below(3) ? 0.5f : beside);
        words[0][lane] = t->is_linear ? (uint32_t)(int)at[0] + lane : (uint32_t)(int)at[2];
        for (unsigned d = 0; d < ir_tex_dimensions(op) && !t->is_linear; d++) {
            float x = at[d] + (d ? 0.0f : (float)(lane % (LANES / 2)));
            x = t->normalized ? x / (float)extents[d] : x;
            memcpy(&words[layered + d][lane], &x, 4);
        }
    }
}

static void words_fill(const struct ir_tex *op, const struct ir_texture *t,
                       uint32_t words[4][LANES])
{
    const struct ir_texture_level *l = &t->level[0];
    const uint32_t extents[] = {l->width, l->height, l->depth};
    bool layered = op->geometry == IR_TEX_A1D || op->geometry == IR_TEX_A2D;
    for (unsigned lane = 0; lane < LANES; lane++) {
        if (t->is_linear) {
            words[0][lane] = below(8) ? below(l->width + 2) : (uint32_t)tap_random(&state);
            continue;
        }
        words[0][lane] = below(8) ? below(l->depth + 2) : (uint32_t)tap_random(&state);
        for (unsigned d = 0; d < ir_tex_dimensions(op); d++)
            words[layered + d][lane] = coordinate(t->normalized, extents[d]);
    }
}

static bool differs(const struct ir_tex *op, const struct ir_texture *t,
                    const uint32_t (*words)[LANES], const uint32_t (*got)[LANES])
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        uint32_t own[4], want[4];
        for (unsigned i = 0; i < ir_tex_source_words(op); i++)
            own[i] = words[i][lane];
        ir_texture_read(op, t, t, own, want);
        for (unsigned c = 0; c < op->vec; c++) {
            float a, b;
            memcpy(&a, &want[c], 4);
            memcpy(&b, &got[c][lane], 4);
            if (want[c] == got[c][lane] || (isnan(a) && isnan(b)))
                continue;
            diag("lane %u, channel %u: got %#x, want %#x; kind %u of %u bytes x %u, geometry %u, "
                 "linear %u, normalized %u, %u x %u x %u, words %#x %#x %#x",
                 lane, c, got[c][lane], want[c], t->kind, t->channel_B, t->channels, op->geometry,
                 t->linear, t->normalized, t->level[0].width, t->level[0].height, t->level[0].depth,
                 own[0], own[1], own[2]);
            return true;
        }
    }
    return false;
}

static void test_path(enum jit_path path)
{
    static uint32_t words[4][LANES], got[4][LANES];
    unsigned wrong = 0, taken = 0;
    for (unsigned i = 0; i < ROUNDS && wrong < 3; i++) {
        struct ir_texture t = texture_any();
        t.is_linear = !below(8);
        const struct ir_tex op = op_any(&t);
        (i % 2 ? rows_fill : words_fill)(&op, &t, words);
        if (!jit_tex_vectors(&op, &t, path, words, got))
            continue;
        taken++;
        wrong += differs(&op, &t, words, got);
    }
    ok(!wrong && taken == ROUNDS, "%s: %u random fetches of 32 lanes are the model's",
       jit_path_name(path), taken);
}

int main(void)
{
    static const enum jit_path paths[] = {JIT_GENERIC, JIT_AVX2, JIT_AVX512};
    state = tap_seed();
    texels = aligned_alloc(4096, TEXELS_B);
    if (!texels)
        return 1;
    for (size_t i = 0; i < HD_COUNT_OF(paths); i++) {
        if (jit_path_runs_here(paths[i]))
            test_path(paths[i]);
        else
            skip("the host lacks the level");
    }
    free(texels);
    return done();
}
