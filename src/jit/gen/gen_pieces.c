/*
 * Accesses of 16 bytes by each lane, at addresses that nothing is known of. Gathers and scatters
 * take them apart; functions of the runtime move each as it is, and transpose (jit_rt_pieces.c). So
 * does code of half a warp itself.
 */
#include "jit/gen/gen_access.h"
#include "jit/gen/gen_flow.h"

#include <assert.h>

enum { PIECE_B = 16 };

/* ---- registers from and to memory */

bool gen_are_pieces(const struct gen *g, const struct ir_instr *in, const struct gen_access *a)
{
    const uint64_t size_B = ir_type_bits(in->type) / 8;
    return gen_does(g, GEN_PASS_PIECES) && gen_is_warp(g) && in->mem.vec * size_B == PIECE_B &&
           (size_B == 4 || size_B == 8) && !a->strong && !a->wraps &&
           (a->kind == GEN_ACCESS_V || a->kind == GEN_ACCESS_INDEX);
}

static LLVMValueRef addresses(struct gen *g, const struct gen_access *a)
{
    LLVMValueRef x[GEN_HALVES];
    gen_access_addresses(g, a, x);
    return gen_array_of(g, gen_v(g, x), IR_B64);
}

static LLVMValueRef half_at(struct gen *g, LLVMValueRef area, uint64_t size_B, unsigned j, int h)
{
    return gen_gep(g, area, (2ull * j + (unsigned)h) * size_B * GEN_LANES);
}

void gen_pieces_load(struct gen *g, const struct gen_access *a, LLVMTypeRef elem, unsigned n,
                     LLVMValueRef out[][GEN_HALVES])
{
    LLVMValueRef area = gen_registers_room(g, GEN_RESULTS, n);
    LLVMValueRef args[] = {gen_i32(g, g->unit->path), gen_i32(g, n), gen_mask32(g), addresses(g, a),
                           area};
    gen_call_rt(g, "jit_rt_pieces_load", g->t->void_, args, HD_COUNT_OF(args));
    for (unsigned j = 0; j < n; j++) {
        for (int h = 0; h < gen_halves(g); h++)
            out[j][h] =
                LLVMBuildLoad2(g->b, gen_vec(g, elem), half_at(g, area, PIECE_B / n, j, h), "");
    }
}

void gen_pieces_store(struct gen *g, const struct gen_access *a, LLVMValueRef x[][GEN_HALVES],
                      unsigned n)
{
    LLVMValueRef area = gen_registers_room(g, GEN_RESULTS, n);
    for (unsigned j = 0; j < n; j++) {
        for (int h = 0; h < gen_halves(g); h++)
            LLVMBuildStore(g->b, x[j][h], half_at(g, area, PIECE_B / n, j, h));
    }
    LLVMValueRef args[] = {gen_i32(g, g->unit->path), gen_i32(g, n), gen_mask32(g), addresses(g, a),
                           area};
    gen_call_rt(g, "jit_rt_pieces_store", g->t->void_, args, HD_COUNT_OF(args));
}

/* ---- four words of each lane, in line: where lanes of half a warp run */

bool gen_are_fours(const struct gen *g, const struct ir_instr *in, const struct gen_access *a)
{
    return gen_does(g, GEN_PASS_PIECES) && gen_is_half(g) && !g->mask[0] && in->mem.vec == 4 &&
           ir_type_bits(in->type) == 32 && !a->strong && !a->wraps &&
           (a->kind == GEN_ACCESS_V || a->kind == GEN_ACCESS_INDEX);
}

static LLVMValueRef shuffled(struct gen *g, LLVMValueRef a, LLVMValueRef b, const uint8_t *from,
                             unsigned n)
{
    LLVMValueRef pick[GEN_LANES];
    assert(n <= GEN_LANES && LLVMTypeOf(a) == LLVMTypeOf(b));
    for (unsigned i = 0; i < n; i++)
        pick[i] = gen_i32(g, from[i]);
    return LLVMBuildShuffleVector(g->b, a, b, LLVMConstVector(pick, n), "");
}

/* Of each four words of a and b: the first two of both, or the last two, word by word or pair by
 * pair. */
static LLVMValueRef interleaved(struct gen *g, LLVMValueRef a, LLVMValueRef b, bool last,
                                bool in_pairs)
{
    uint8_t from[GEN_LANES];
    for (unsigned i = 0; i < GEN_LANES; i++) {
        unsigned of_b = in_pairs ? i % 4 / 2 : i % 2;
        unsigned word = in_pairs ? i % 2 : i % 4 / 2;
        from[i] = (uint8_t)(of_b * GEN_LANES + i / 4 * 4 + 2 * last + word);
    }
    return shuffled(g, a, b, from, GEN_LANES);
}

/* Word j of vector q, in each group of four, becomes word q of vector j. */
static void squares_turn(struct gen *g, LLVMValueRef x[4])
{
    LLVMValueRef low = interleaved(g, x[0], x[1], false, false);
    LLVMValueRef high = interleaved(g, x[0], x[1], true, false);
    LLVMValueRef low2 = interleaved(g, x[2], x[3], false, false);
    LLVMValueRef high2 = interleaved(g, x[2], x[3], true, false);
    x[0] = interleaved(g, low, low2, false, true);
    x[1] = interleaved(g, low, low2, true, true);
    x[2] = interleaved(g, high, high2, false, true);
    x[3] = interleaved(g, high, high2, true, true);
}

static LLVMValueRef lane_ptr(struct gen *g, LLVMValueRef addresses, unsigned lane)
{
    LLVMValueRef x = LLVMBuildExtractElement(g->b, addresses, gen_i32(g, lane), "");
    return LLVMBuildIntToPtr(g->b, x, g->t->ptr, "");
}

void gen_fours_load(struct gen *g, const struct gen_access *a, LLVMValueRef out[][GEN_HALVES])
{
    static const uint8_t order[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    LLVMValueRef addresses[GEN_HALVES], x[4];
    gen_access_addresses(g, a, addresses);
    for (unsigned q = 0; q < 4; q++) { /* lanes q, q + 4, q + 8, q + 12 */
        LLVMValueRef piece[4];
        for (unsigned i = 0; i < 4; i++) {
            LLVMValueRef at = lane_ptr(g, addresses[0], 4 * i + q);
            piece[i] = LLVMBuildLoad2(g->b, LLVMVectorType(g->t->i32, 4), at, "");
            LLVMSetAlignment(piece[i], PIECE_B);
        }
        x[q] = shuffled(g, shuffled(g, piece[0], piece[1], order, 8),
                        shuffled(g, piece[2], piece[3], order, 8), order, 16);
    }
    squares_turn(g, x);
    for (unsigned j = 0; j < 4; j++)
        out[j][0] = x[j];
}

void gen_fours_store(struct gen *g, const struct gen_access *a, LLVMValueRef x[][GEN_HALVES])
{
    LLVMValueRef addresses[GEN_HALVES], z[4] = {x[0][0], x[1][0], x[2][0], x[3][0]};
    gen_access_addresses(g, a, addresses);
    squares_turn(g, z);
    for (unsigned lane = 0; lane < GEN_LANES; lane++) { /* the last one's words stay */
        uint8_t first = (uint8_t)(lane / 4 * 4);
        const uint8_t words[] = {first, first + 1, first + 2, first + 3};
        LLVMValueRef piece = shuffled(g, z[lane % 4], z[lane % 4], words, 4);
        LLVMValueRef to = LLVMBuildStore(g->b, piece, lane_ptr(g, addresses[0], lane));
        LLVMSetAlignment(to, PIECE_B);
    }
}

/* ---- cp.async: from memory to memory */

static bool is_piece(const struct ir_instr *in, enum ir_space space)
{
    return in->mem.space == space && in->mem.vec == 2 && in->type == IR_B64 &&
           in->mem.sem == IR_SEM_WEAK;
}

/* Stores what `load` loads, which nobody else takes; neither sees what the other does. */
static bool takes_all(struct gen *g, const struct ir_instr *load, const struct ir_instr *store)
{
    return store && store->op == IR_OP_ST && is_piece(store, IR_SPACE_SHARED) &&
           is_piece(load, IR_SPACE_GLOBAL) && store->src[1] == load->dst[0] &&
           store->src[2] == load->dst[1] && gen_used_once(g, load->dst[0]) &&
           gen_used_once(g, load->dst[1]);
}

/* As the lanes' addresses are neighbours, or all the same, vectors are better. */
static bool is_regular(struct gen *g, const struct ir_instr *in)
{
    return gen_shape(g, in->src[0])->kind != IR_SHAPE_VARYING;
}

/* Checked addresses, in memory. */
static LLVMValueRef piece_addresses(struct gen *g, const struct ir_instr *in)
{
    struct gen_access a = gen_access_of(g, in);
    gen_place_at(g, in);
    if (a.wraps)
        gen_access_to_index(g, &a, in);
    gen_access_check(g, in, &a, PIECE_B);
    return addresses(g, &a);
}

bool gen_pieces(struct gen *g, const struct ir_instr *in)
{
    if (in == g->pieces_store) {
        g->pieces_store = NULL;
        return true;
    }
    if (in->op != IR_OP_LD || !gen_does(g, GEN_PASS_PIECES) || !gen_is_warp(g) ||
        !takes_all(g, in, in->next) || (is_regular(g, in) && is_regular(g, in->next)))
        return false;
    LLVMValueRef from = piece_addresses(g, in), to = piece_addresses(g, in->next);
    LLVMValueRef args[] = {gen_mask32(g), from, to};
    gen_place_at(g, in);
    gen_call_rt(g, "jit_rt_pieces", g->t->void_, args, HD_COUNT_OF(args));
    g->pieces_store = in->next;
    return true;
}
