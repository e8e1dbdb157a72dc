/*
 * What operations say that they read, for checkers: texels (ir_texture_texels) and pieces of shared
 * memory (ir_mma_pieces, ir_tensor_pieces). When all else changes, the result must not; and what is
 * named must count: one change in it changes the result of some round.
 */
#include <string.h>

#include "model/matrix.h"
#include "model/tensor.h"
#include "model/texture.h"
#include "tap.h"

enum { TEXELS_B = 1 << 16, WINDOW_B = 1 << 16, ROUNDS = 400, LANES = 32 };

static uint64_t state;
static unsigned char memory[TEXELS_B], other[TEXELS_B];
static bool named[TEXELS_B];

static uint32_t below(uint32_t n)
{
    return (uint32_t)(tap_random(&state) % n);
}

static void fill(unsigned char *at, size_t size_B)
{
    for (size_t i = 0; i < size_B; i++)
        at[i] = (unsigned char)tap_random(&state);
}

/* Everything but what is named becomes something else. */
static void change_the_rest(void)
{
    for (size_t i = 0; i < TEXELS_B; i++)
        memory[i] = named[i] ? memory[i] : other[i];
}

static void change_named(void)
{
    for (size_t i = 0; i < TEXELS_B; i++)
        memory[i] ^= named[i] ? 0x2d : 0;
}

/* ---- textures */

static void name_texel(void *user, uint64_t address)
{
    const struct ir_texture *t = user;
    uint64_t at = address - (uintptr_t)memory;

    assert(at + t->texel_B <= TEXELS_B);
    memset(named + at, true, t->texel_B);
}

static struct ir_texture texture_any(void)
{
    struct ir_texture t = {.kind = IR_TEXEL_UNORM,
                           .channel_B = 1,
                           .channels = 4,
                           .texel_B = 4,
                           .normalized = below(2),
                           .linear = below(2),
                           .mip_linear = below(2),
                           .seamless = below(2),
                           .anisotropy = (uint8_t)(below(2) ? 1 : 4),
                           .max_level = 3,
                           .nlevels = 1 + below(3)};
    uint64_t base = (uintptr_t)memory;

    for (unsigned d = 0; d < 3; d++)
        t.address[d] = (uint8_t)(t.normalized ? below(4) : 1 + 2 * below(2));
    for (uint32_t i = 0; i < t.nlevels; i++) {
        struct ir_texture_level *l = &t.level[i];
        *l = (struct ir_texture_level){.base = base, .width = 8, .height = 8, .depth = 12};
        l->pitch_B = 64;
        l->slice_B = l->pitch_B * l->height;
        base += l->slice_B * l->depth;
    }
    return t;
}

static struct ir_tex op_any(void)
{
    static const uint8_t all[] = {IR_TEX_1D,  IR_TEX_2D,   IR_TEX_3D,   IR_TEX_A1D,
                                  IR_TEX_A2D, IR_TEX_CUBE, IR_TEX_ACUBE};
    struct ir_tex op = {.what = IR_TEX_FETCH, .geometry = all[below(7)], .type = IR_F32, .vec = 4};

    op.lod = (uint8_t)below(3);
    if (op.geometry == IR_TEX_2D && below(3) == 0) {
        op.what = IR_TEX_GATHER;
        op.lod = IR_TEX_BASE;
    }
    return op;
}

static void words_any(const struct ir_tex *op, const struct ir_texture *t, uint32_t *words)
{
    unsigned leading = ir_tex_coordinates(op) - ir_tex_dimensions(op);

    for (unsigned i = 0; i < ir_tex_source_words(op); i++) {
        float f = ((float)below(4096) / 1024.0f - 1.5f) * (t->normalized ? 1.0f : 8.0f);
        memcpy(&words[i], &f, 4);
        if (i < leading)
            words[i] = below(14);
    }
}

static void test_textures(void)
{
    unsigned wrong = 0, counted = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        struct ir_texture t = texture_any();
        const struct ir_tex op = op_any();
        const struct ir_texel_list list = {name_texel, &t};
        uint32_t words[24], want[4], got[4];
        fill(memory, TEXELS_B);
        words_any(&op, &t, words);
        memset(named, false, sizeof named);
        ir_texture_texels(&op, &t, &t, words, &list);
        ir_texture_read(&op, &t, &t, words, want);
        change_the_rest();
        ir_texture_read(&op, &t, &t, words, got);
        wrong += memcmp(want, got, sizeof got) != 0;
        change_named();
        ir_texture_read(&op, &t, &t, words, got);
        counted += memcmp(want, got, sizeof got) != 0;
    }
    ok(!wrong, "textures read nothing but the texels that they name");
    ok(counted > ROUNDS / 2, "and those: in %u of %u rounds", counted, ROUNDS);
}

/* ---- matrices in shared memory */

static void name_piece(void *user, unsigned block, uint32_t offset)
{
    uint64_t *pieces = user;

    assert(!block && offset + IR_MATRIX_PIECE_B <= WINDOW_B);
    memset(named + offset, true, IR_MATRIX_PIECE_B);
    ++*pieces;
}

/* Of any swizzle, in the first half of the window. */
static uint64_t descriptor_any(void)
{
    return (uint64_t)(below(64) * 8) | (uint64_t)(8 * (1 + below(8))) << 16 |
           (uint64_t)(8 * (1 + below(16))) << 32 | (uint64_t)below(4) << 62;
}

static struct ir_mma mma_any(void)
{
    static const struct {
        enum ir_type type;
        uint16_t k;
    } kinds[] = {{IR_F16, 16}, {IR_TF32, 8}, {IR_E4M3, 32}, {IR_S8, 32}};
    unsigned i = below(4);
    struct ir_mma mma = {.m = 16,
                         .n = (uint16_t)(8 * (1 + below(4))),
                         .k = kinds[i].k,
                         .a = kinds[i].type,
                         .b = kinds[i].type,
                         .c = i == 3 ? IR_S32 : IR_F32,
                         .d = i == 3 ? IR_S32 : IR_F32};

    mma.flags = 1u << IR_MMA_B_WINDOW | 1u << IR_MMA_A_WINDOW;
    if (i == 0)
        mma.flags |= (uint16_t)(below(2) << IR_MMA_A_COLUMNS | below(2) << IR_MMA_B_ROWS);
    return mma;
}

static void test_products(void)
{
    static uint32_t src[64 * LANES], want[64 * LANES], got[64 * LANES];
    unsigned wrong = 0, counted = 0, outside = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        const struct ir_mma mma = mma_any();
        const struct ir_matrix_access at = {{(char *)memory, WINDOW_B}, below(8), 0};
        uint64_t descriptor[2] = {descriptor_any(), descriptor_any()}, bad_B, pieces = 0;
        size_t out_B = 4 * LANES * ir_mma_registers(&mma, 'd');
        memset(src, 0, sizeof src);
        for (unsigned d = 0; d < 2; d++) {
            src[2 * d * LANES] = (uint32_t)descriptor[d];
            src[(2 * d + 1) * LANES] = (uint32_t)(descriptor[d] >> 32);
        }
        fill(memory, WINDOW_B);
        if (!ir_eval_mma_window(&mma, &at, src, want, &bad_B)) {
            outside++;
            continue;
        }
        memset(named, false, sizeof named);
        ir_mma_pieces(&mma, 'a', at.warp, descriptor[0], name_piece, &pieces);
        ir_mma_pieces(&mma, 'b', at.warp, descriptor[1], name_piece, &pieces);
        change_the_rest();
        wrong += !ir_eval_mma_window(&mma, &at, src, got, &bad_B) || memcmp(want, got, out_B) != 0;
        change_named();
        counted += ir_eval_mma_window(&mma, &at, src, got, &bad_B) && memcmp(want, got, out_B) != 0;
    }
    ok(!wrong, "products of warps read nothing but the pieces that they name");
    ok(counted > ROUNDS / 2, "and those: in %u of %u rounds, %u outside", counted, ROUNDS, outside);
}

/* ---- tcgen05 */

static void src_set(uint32_t *src, unsigned reg, uint64_t descriptor)
{
    src[reg * LANES] = (uint32_t)descriptor;
    src[(reg + 1) * LANES] = (uint32_t)(descriptor >> 32);
}

static bool tensor_differs(const struct ir_tensor *op, const struct ir_tensor_cta *cta,
                           const uint32_t *src, uint32_t *sums)
{
    struct ir_tensor_memory *m = cta->block[0].memory;
    struct ir_tensor_error error;
    bool differs;

    memset(m->cell, 0, sizeof m->cell);
    if (!ir_tensor_do(op, cta, src, NULL, &error))
        return true;
    differs = memcmp(sums, m->cell, sizeof m->cell) != 0;
    memcpy(sums, m->cell, sizeof m->cell);
    return differs;
}

static void test_tensor(void)
{
    static struct ir_tensor_memory m;
    static uint32_t src[IR_TENSOR_MMA_SOURCES * LANES], sums[IR_TENSOR_LANES * IR_TENSOR_COLUMNS];
    const struct ir_tensor_cta cta = {.block[0] = {&m, {(char *)memory, WINDOW_B}}, .nblocks = 1};
    unsigned wrong = 0, counted = 0;

    m.allocated = m.first = UINT32_MAX;
    for (unsigned i = 0; i < ROUNDS / 4; i++) {
        struct ir_tensor op = {.op = i % 2 ? IR_TENSOR_CP : IR_TENSOR_MMA,
                               .shape = (uint8_t)(IR_TENSOR_CP_128X256B + below(5)),
                               .kind = IR_TENSOR_KIND_F16};
        uint64_t pieces = 0;
        memset(src, 0, sizeof src);
        src_set(src, 1, descriptor_any());
        if (op.op == IR_TENSOR_MMA) {
            src_set(src, IR_TENSOR_B, descriptor_any());
            src[IR_TENSOR_IDESC * LANES] =
                1u << 4 | below(4) << 15 | (1 + below(8)) << 17 | (below(2) ? 8u : 4u) << 24;
        }
        fill(memory, WINDOW_B);
        memset(named, false, sizeof named);
        if (!ir_tensor_pieces(&op, &cta, src, name_piece, &pieces)) {
            wrong++;
            continue;
        }
        (void)tensor_differs(&op, &cta, src, sums);
        change_the_rest();
        wrong += tensor_differs(&op, &cta, src, sums);
        change_named();
        counted += tensor_differs(&op, &cta, src, sums);
    }
    ok(!wrong, "products in tensor memory and copies read nothing but the pieces that they name");
    ok(counted > ROUNDS / 8, "and those: in %u of %u rounds", counted, ROUNDS / 4);
}

int main(void)
{
    state = tap_seed();
    fill(other, TEXELS_B);
    test_textures();
    test_products();
    test_tensor();
    return done();
}
