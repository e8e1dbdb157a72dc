/*
 * Stores of which each four lanes have a row: sums of matrix products, as four lanes have eight
 * columns of a row, and tiles that four threads write a row of. How far rows are apart is in a
 * parameter, so addresses are anything, but within four lanes they are neighbours (gen_rows.c):
 * eight vectors instead of a scatter of 32 lanes. Two stores side by side, which have the lane's
 * two columns, are made as one.
 */
#include "jit/gen/access/gen_access.h"
#include "jit/gen/find/gen_tuples.h"

#include <assert.h>

enum { FOUR = 4, LANE_MAX_B = 8, MOST = 2 };

static bool is_plain(const struct ir_instr *in)
{
    return in->op == IR_OP_ST && in->mem.space == IR_SPACE_GLOBAL && in->mem.sem == IR_SEM_WEAK &&
           ir_type_bits(in->type) == ir_type_bits(in->src[1]->type) &&
           (ir_type_bits(in->type) == 32 || ir_type_bits(in->type) == 64);
}

static uint64_t element_B(const struct ir_instr *in)
{
    return ir_type_bits(in->type) / 8;
}

static unsigned elements(const struct ir_instr *in)
{
    return in->mem.vec ? in->mem.vec : 1;
}

/* Does the next instruction store what is behind it? */
static bool has_neighbour(const struct ir_instr *in)
{
    const struct ir_instr *next = in->next;
    return next && is_plain(next) && next->type == in->type && elements(in) == 1 &&
           elements(next) == 1 && next->src[0] == in->src[0] &&
           next->mem.offset == in->mem.offset + (int64_t)element_B(in);
}

/* What four lanes store, `n` elements each, of half h: vectors of half a warp. */
static LLVMValueRef row_of(struct gen *g, LLVMValueRef x[][GEN_HALVES], unsigned n, int h,
                           unsigned first)
{
    LLVMValueRef at[FOUR * MOST];
    assert(n <= MOST);
    for (unsigned i = 0; i < FOUR * n; i++)
        at[i] = gen_i32(g, i % n * GEN_LANES + first + i / n);
    return LLVMBuildShuffleVector(g->b, x[0][h], x[n - 1][h], LLVMConstVector(at, FOUR * n), "");
}

static void rows_store(struct gen *g, const struct gen_access *a, LLVMValueRef x[][GEN_HALVES],
                       unsigned n, unsigned align_B)
{
    LLVMValueRef to[GEN_HALVES];
    gen_access_addresses(g, a, to);
    for (unsigned l = 0; l < 2 * GEN_LANES; l += FOUR) {
        int h = l / GEN_LANES;
        LLVMValueRef at = LLVMBuildExtractElement(g->b, to[h], gen_i32(g, l % GEN_LANES), "");
        at = LLVMBuildIntToPtr(g->b, at, g->t->ptr, "");
        LLVMSetAlignment(LLVMBuildStore(g->b, row_of(g, x, n, h, l % GEN_LANES), at), align_B);
    }
}

/* Elements of each lane that are stored at once, with those of the next instruction; 0: none. */
static unsigned in_a_row(struct gen *g, const struct ir_instr *in)
{
    const uint64_t size_B = element_B(in);
    const unsigned n = elements(in);
    int64_t step_B;
    if (n > MOST || n * size_B > LANE_MAX_B || gen_tuple_of(g, in->src[1]) ||
        gen_shape(g, in->src[0])->kind == IR_SHAPE_AFFINE ||
        !gen_group_step(g, in->src[0], FOUR, &step_B))
        return 0;
    if (step_B == (int64_t)(n * size_B))
        return n;
    return step_B == (int64_t)(2 * size_B) && has_neighbour(in) && !g->unit->req->strict ? 2 : 0;
}

bool gen_quads_store(struct gen *g, const struct ir_instr *in)
{
    if (in == g->quads_store) {
        g->quads_store = NULL;
        return true;
    }
    const uint64_t size_B = element_B(in);
    const unsigned n = is_plain(in) && gen_does(g, GEN_PASS_QUADS) ? in_a_row(g, in) : 0;
    LLVMValueRef x[MOST][GEN_HALVES];
    if (!n)
        return false;
    gen_fired(g, GEN_PASS_QUADS);
    struct gen_access a = gen_access_of(g, in);
    if (a.wraps)
        gen_access_to_index(g, &a, in);
    gen_access_check(g, in, &a, elements(in) * size_B);
    for (unsigned j = 0; j < elements(in); j++)
        gen_vector(g, in->src[1 + j], x[j]);
    if (n > elements(in)) {
        gen_vector(g, in->next->src[1], x[1]);
        g->quads_store = in->next;
    }
    rows_store(g, &a, x, n, (unsigned)(elements(in) * size_B));
    return true;
}
