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

/* Elements of `size_B` bytes, 16 for each lane, anywhere? */
static bool are_anywhere(const struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                         uint64_t size_B)
{
    return gen_does(g, GEN_PASS_PIECES) && ir_type_bits(in->type) == 8 * size_B &&
           in->mem.vec * size_B == PIECE_B && !a->strong && !a->wraps &&
           (a->kind == GEN_ACCESS_V || a->kind == GEN_ACCESS_INDEX);
}

bool gen_are_pieces(const struct gen *g, const struct ir_instr *in, const struct gen_access *a)
{
    return gen_is_warp(g) && (are_anywhere(g, in, a, 4) || are_anywhere(g, in, a, 8));
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
    return gen_is_half(g) && !g->mask[0] && are_anywhere(g, in, a, 4);
}

static void lane_pointers(struct gen *g, const struct gen_access *a, LLVMValueRef out[GEN_LANES])
{
    LLVMValueRef x[GEN_HALVES];
    gen_access_addresses(g, a, x);
    for (unsigned l = 0; l < GEN_LANES; l++) {
        out[l] = LLVMBuildExtractElement(g->b, x[0], gen_i32(g, l), "");
        out[l] = LLVMBuildIntToPtr(g->b, out[l], g->t->ptr, "");
    }
}

void gen_fours_load(struct gen *g, const struct gen_access *a, LLVMValueRef out[][GEN_HALVES])
{
    LLVMValueRef at[GEN_LANES], x[4];
    lane_pointers(g, a, at);
    gen_load_pieces(g, at, x);
    for (unsigned j = 0; j < 4; j++)
        out[j][0] = x[j];
}

void gen_fours_store(struct gen *g, const struct gen_access *a, LLVMValueRef x[][GEN_HALVES])
{
    LLVMValueRef at[GEN_LANES], of_half[4] = {x[0][0], x[1][0], x[2][0], x[3][0]};
    lane_pointers(g, a, at);
    gen_store_pieces(g, at, of_half);
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
    gen_place_at(g, in);
    LLVMValueRef args[] = {gen_mask32(g), gen_prefetch_distance(g, in), from, to};
    gen_call_rt(g, "jit_rt_pieces", g->t->void_, args, HD_COUNT_OF(args));
    g->pieces_store = in->next;
    return true;
}
