/*
 * Accesses of 16 bytes by each lane, at addresses that nothing is known of. Gathers and scatters
 * take them apart; functions of the runtime move each as it is, and transpose (jit_rt_pieces.c). So
 * does code of half a warp itself.
 */
#include "jit/gen/access/gen_access.h"
#include "jit/gen/flow/gen_flow.h"

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
    gen_fired(g, GEN_PASS_PIECES);
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
    gen_fired(g, GEN_PASS_PIECES);
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
    gen_fired(g, GEN_PASS_PIECES);
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

static struct gen_access checked_access(struct gen *g, const struct ir_instr *in)
{
    struct gen_access a = gen_access_of(g, in);
    gen_srcloc_at(g, in);
    if (a.wraps)
        gen_access_to_index(g, &a, in);
    gen_access_check(g, in, &a, PIECE_B);
    return a;
}

/* Checked addresses, in memory. */
static LLVMValueRef piece_addresses(struct gen *g, const struct ir_instr *in)
{
    const struct gen_access a = checked_access(g, in);
    return addresses(g, &a);
}

/*
 * Programs copy rows of tiles, four or more lanes a row: each four lanes load 64 bytes, which are
 * neighbours, and store them in other places, which are known, swizzled or not. So a vector is
 * loaded for four lanes, and stored as it is or in another order, or in four pieces. Or for two
 * lanes, where a swizzle exchanges pairs as the warp's number says.
 */

enum { LANES = 2 * GEN_LANES, LINES_MAX = LANES / 2, IN_LINE_MAX = 4 };

struct lines {
    unsigned n; /* lanes of each */
    LLVMValueRef from[LINES_MAX], to[LINES_MAX];
    int64_t more_B[LANES]; /* from `to` to where the lane's piece goes */
};

/* Are n pieces at these distances neighbours, in some order? order: by place, which is there. */
static bool fill_line(unsigned n, const int64_t *more_B, unsigned order[IN_LINE_MAX],
                      int64_t *first_B)
{
    unsigned found = 0;
    *first_B = more_B[0];
    for (unsigned i = 1; i < n; i++)
        *first_B = HD_MIN(*first_B, more_B[i]);
    for (unsigned i = 0; i < n; i++) {
        const int64_t at = (more_B[i] - *first_B) / PIECE_B;
        if (at >= n)
            return false;
        order[at] = i;
        found |= 1u << at;
    }
    return found == (1u << n) - 1;
}

/* Pieces of a line, n of them. */
static LLVMValueRef pieces_pick(struct gen *g, LLVMValueRef line, const unsigned *from, unsigned n)
{
    LLVMValueRef at[2 * IN_LINE_MAX];
    for (unsigned i = 0; i < 2 * n; i++)
        at[i] = gen_i32(g, 2 * from[i / 2] + i % 2);
    return LLVMBuildShuffleVector(g->b, line, LLVMGetPoison(LLVMTypeOf(line)),
                                  LLVMConstVector(at, 2 * n), "");
}

static void piece_store(struct gen *g, LLVMValueRef x, LLVMValueRef to, int64_t more_B)
{
    LLVMSetAlignment(LLVMBuildStore(g->b, x, gen_gep(g, to, (uint64_t)more_B)), PIECE_B);
}

static void line_store(struct gen *g, unsigned n, LLVMValueRef line, LLVMValueRef to,
                       const int64_t *more_B)
{
    unsigned order[IN_LINE_MAX];
    int64_t first_B;
    if (fill_line(n, more_B, order, &first_B)) {
        piece_store(g, pieces_pick(g, line, order, n), to, first_B);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        piece_store(g, pieces_pick(g, line, &i, 1), to, more_B[i]);
}

/* Programs start copies iterations before they use them, as GPUs do not wait for them. Here the
 * copy itself waits, so what it takes in the next iteration is asked for in this one. */
static void line_prefetch(struct gen *g, LLVMValueRef from, LLVMValueRef far)
{
    if (LLVMIsAConstantInt(far) && !LLVMConstIntGetZExtValue(far))
        return;
    LLVMValueRef at = LLVMBuildGEP2(g->b, g->t->i8, from, &far, 1, "");
    LLVMValueRef args[] = {at, gen_i32(g, 0), gen_i32(g, 2), gen_i32(g, 1)};
    gen_intrinsic(g, "llvm.prefetch", &g->t->ptr, 1, args, HD_COUNT_OF(args));
}

static LLVMValueRef line_load(struct gen *g, unsigned n, LLVMValueRef from)
{
    LLVMValueRef x = LLVMBuildLoad2(g->b, LLVMVectorType(g->t->i64, 2 * n), from, "");
    LLVMSetAlignment(x, PIECE_B);
    return x;
}

/* Of the first of each n lanes, checked for all. */
static void line_addresses(struct gen *g, const struct ir_instr *in, unsigned n, LLVMValueRef *out)
{
    LLVMValueRef x[GEN_HALVES];
    const struct gen_access a = checked_access(g, in);
    gen_access_addresses(g, &a, x);
    for (unsigned i = 0; i < LANES / n; i++) {
        const unsigned l = n * i;
        out[i] = LLVMBuildExtractElement(g->b, x[l / GEN_LANES], gen_i32(g, l % GEN_LANES), "");
        out[i] = LLVMBuildIntToPtr(g->b, out[i], g->t->ptr, "");
    }
}

/* Where they go: of all lanes as far as is known from one of them, or of each n. */
static bool line_places(struct gen *g, const struct ir_instr *store, struct lines *lines)
{
    if (gen_row_distances(g, store, lines->more_B)) {
        gen_srcloc_at(g, store);
        lines->to[0] = gen_first_row(g, store);
        for (unsigned i = 1; i < LANES / lines->n; i++)
            lines->to[i] = lines->to[0];
        return true;
    }
    if (!gen_group_distances(g, store, lines->n, lines->more_B))
        return false;
    line_addresses(g, store, lines->n, lines->to);
    return true;
}

static bool copy_lines(struct gen *g, const struct ir_instr *in, unsigned n)
{
    struct lines lines = {.n = n};
    int64_t step_B;
    if (!gen_group_step(g, in->src[0], n, &step_B) || step_B != PIECE_B ||
        !line_places(g, in->next, &lines))
        return false;
    gen_fired(g, GEN_PASS_ROWS);
    line_addresses(g, in, n, lines.from);
    gen_srcloc_at(g, in);
    LLVMValueRef far = gen_prefetch_distance(g, in);
    for (unsigned i = 0; i < LANES / n; i++) {
        const LLVMValueRef x = line_load(g, n, lines.from[i]);
        line_store(g, n, x, lines.to[i], lines.more_B + (size_t)n * i);
        if (n * i % IN_LINE_MAX == 0)
            line_prefetch(g, lines.from[i], far);
    }
    return true;
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
    g->pieces_store = in->next;
    gen_fired(g, GEN_PASS_PIECES);
    if (copy_lines(g, in, 4) || copy_lines(g, in, 2))
        return true;
    LLVMValueRef from = piece_addresses(g, in), to = piece_addresses(g, in->next);
    gen_srcloc_at(g, in);
    LLVMValueRef args[] = {gen_mask32(g), gen_prefetch_distance(g, in), from, to};
    gen_call_rt(g, "jit_rt_pieces", g->t->void_, args, HD_COUNT_OF(args));
    return true;
}
